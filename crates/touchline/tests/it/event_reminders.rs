//! Tests of reminders of events: when they are sent, to whom, and only once.

use store::Scope;
use testkit::{TestClub, TestResponse, Value, World, both, json, seconds};
use touchline::events::reminders::{ReminderSummary, ReminderTimes};
use touchline::ids::{EventId, PersonId};
use touchline::rights::TeamAccess;
use touchline::roster::notification_settings::{
    Frequency, NotificationSettingsChange, change_for_person,
};
use touchline::roster::preferences;
use touchline::{event_reminders, events, jobs};

use crate::events::{event_path, practice, with};
use crate::mail::DAY;

const HOUR: u64 = 3600;

/// A practice on 15 September at 18:00 with a deadline one day before.
async fn create(w: &World, club: &TestClub, more: Value) -> TestResponse {
    let body = practice(&club.hawks, "2026-09-15T18:00:00Z", "2026-09-15T19:00:00Z");
    w.owner
        .post("/events", with(with(body, json!({ "rsvp_deadline": "2026-09-14T18:00:00Z" })), more))
        .await
        .created()
}

/// The reminders of an event, without emails that it was moved.
async fn emails(w: &World, event: &TestResponse) -> Vec<Value> {
    reminders(w, &format!("/emails?related_id={}&order=asc", event.id())).await
}

async fn reminders(w: &World, path: &str) -> Vec<Value> {
    let list = w.owner.get(path).await.ok();
    let is_reminder = |one: &&Value| one["kind"] == "rsvp_reminder";
    list.data().as_array().unwrap().iter().filter(is_reminder).cloned().collect()
}

async fn addresses(w: &World, event: &TestResponse) -> Vec<String> {
    let all = emails(w, event).await;
    let mut all: Vec<_> =
        all.iter().map(|one| one["to_address"].as_str().unwrap().to_owned()).collect();
    all.sort_unstable();
    all
}

async fn times(w: &World, event: &TestResponse) -> ReminderTimes {
    let id: EventId = event.id().parse().unwrap();
    let read = w.db().read(Scope::account(w.harbour, "test"), move |db| {
        let event = events::event::find(db, &TeamAccess::AllTeams, id)?;
        event_reminders::reminder_times(db, &event)
    });
    read.await.unwrap()
}

async fn remind(w: &World, event: &TestResponse) -> touchline::error::Result<ReminderSummary> {
    let id: EventId = event.id().parse().unwrap();
    let work = move |tx: &store::Tx<'_>| {
        event_reminders::remind_unanswered(tx, &TeamAccess::AllTeams, id, "https://club.example/e")
    };
    w.db().write(Scope::account(w.harbour, "test"), work).await
}

both! {
    async fn reminds_everybody_who_has_not_answered_once(w: &World) {
        let club = w.club().await;
        // A second child of the same father, and a guardian who gets no messages.
        let pat = json!({ "id": club.pat });
        w.add_member(&club.hawks, json!({ "first_name": "Leo", "birth_date": "2015-01-01", "guardians": [pat] })).await;
        let gus = json!({ "first_name": "Gus", "email": "gus@example.org", "receives_messages": false });
        w.add_member(&club.hawks, json!({ "first_name": "Ida", "birth_date": "2015-01-01", "guardians": [gus] })).await;
        let event = create(w, &club, json!({})).await;
        let cancelled = create(w, &club, json!({})).await;
        w.owner.post(&event_path(&cancelled, "/cancel"), json!({})).await.ok();
        let off = create(w, &club, json!({ "rsvp_enabled": false })).await;
        w.owner.put(&event_path(&event, &format!("/rsvps/{}", club.lia.member)), json!({ "answer": "maybe" })).await.ok();
        let other = w.node(|_| {}).await;
        let send_on_both_nodes = async || {
            tokio::join!(jobs::send_event_reminders(&w.node.app), jobs::send_event_reminders(&other.app));
        };
        assert_eq!(times(w, &event).await.next, Some("2026-09-12T18:00:00Z".parse().unwrap()));
        w.advance_clock(seconds(7 * DAY + 8 * HOUR - 1));
        send_on_both_nodes().await;
        assert!(emails(w, &event).await.is_empty());
        w.advance_clock(seconds(1));
        send_on_both_nodes().await;
        send_on_both_nodes().await;
        assert_eq!(addresses(w, &event).await, ["kim@example.org", "mia@example.org", "pat@example.org"]);
        for quiet in [&cancelled, &off] {
            assert!(emails(w, quiet).await.is_empty());
        }
        let sent = emails(w, &event).await;
        let to_pat = sent.iter().find(|one| one["to_address"] == "pat@example.org").unwrap();
        assert_eq!(to_pat["subject"], "[Hawks] Please answer: Practice");
        let text = to_pat["body_text"].as_str().unwrap();
        for part in ["Hello Pat,", "There is no answer yet for Max and Leo:", "15 Sep 2026", "by Mon, 14 Sep 2026, 18:00", &format!("/events/{}", event.id())] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let now = times(w, &event).await;
        assert_eq!((now.last, now.next), (Some("2026-09-12T18:00:00Z".parse().unwrap()), None));
        // The event moves: only who was not reminded yet gets a reminder.
        w.db().write(Scope::account(w.harbour, "test"), |tx| {
            tx.execute("update mail set status = 'sent' where account_id = :account", store::bind! {})
        }).await.unwrap();
        w.owner.patch(&event_path(&event, ""), json!({ "starts_at": "2026-09-20T18:00:00Z" })).await.ok();
        let new = json!({ "first_name": "Uma", "birth_date": "1990-01-01", "email": "uma@example.org", "role": "staff" });
        w.add_member(&club.hawks, new).await;
        w.advance_clock(seconds(6 * DAY));
        send_on_both_nodes().await;
        assert_eq!(addresses(w, &event).await, ["kim@example.org", "mia@example.org", "pat@example.org", "uma@example.org"]);
        other.stop().await;
    }

    async fn catches_up_but_never_after_the_deadline(w: &World) {
        let club = w.club().await;
        let (late, missed) = (create(w, &club, json!({})).await, create(w, &club, json!({ "rsvp_deadline": "2026-09-13T18:00:00Z" })).await);
        let series = with(practice(&club.hawks, "2026-09-15T18:00:00Z", "2026-09-15T19:00:00Z"), json!({ "recurrence": "FREQ=WEEKLY;COUNT=3" }));
        let series = w.owner.post("/events", series).await.created();
        // All events of the series move by one day before their reminder.
        w.owner.patch(&event_path(&series, ""), json!({ "starts_at": "2026-09-16T18:00:00Z", "apply_to": "all" })).await.ok();
        // Nothing ran until two hours before the deadline.
        w.advance_clock(seconds(9 * DAY + 6 * HOUR));
        jobs::send_event_reminders(&w.node.app).await;
        assert_eq!(emails(w, &late).await.len(), 4);
        assert!(emails(w, &missed).await.is_empty() && emails(w, &series).await.is_empty());
        w.advance_clock(seconds(2 * HOUR));
        jobs::send_event_reminders(&w.node.app).await;
        assert_eq!(emails(w, &series).await.len(), 4);
        // The team turns reminders off, and on again.
        let team = format!("/teams/{}", club.hawks);
        assert_eq!(w.owner.get(&team).await.ok().data()["rsvp_reminder_hours"], 48);
        w.owner.patch(&team, json!({ "rsvp_reminder_hours": null })).await.ok();
        w.owner.patch(&team, json!({ "rsvp_reminder_hours": 169 })).await.assert_problem(422, "validation_failed");
        w.advance_clock(seconds(7 * DAY));
        jobs::send_event_reminders(&w.node.app).await;
        let count = async || reminders(w, "/emails?limit=100").await.len();
        assert_eq!(count().await, 8);
        w.owner.patch(&team, json!({ "rsvp_reminder_hours": 24 })).await.ok();
        jobs::send_event_reminders(&w.node.app).await;
        assert_eq!(count().await, 8);
        w.advance_clock(seconds(DAY));
        jobs::send_event_reminders(&w.node.app).await;
        assert_eq!(count().await, 12);
        // An event that was just created is left alone for an hour.
        let new = practice(&club.hawks, "2026-09-22T23:00:00Z", "2026-09-22T23:30:00Z");
        let new = w.owner.post("/events", new).await.created();
        jobs::send_event_reminders(&w.node.app).await;
        assert!(emails(w, &new).await.is_empty());
        w.advance_clock(seconds(HOUR));
        jobs::send_event_reminders(&w.node.app).await;
        assert_eq!(emails(w, &new).await.len(), 4);
    }

    async fn a_minor_is_not_reminded_without_an_adult(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Foxes" })).await.created();
        let gil = json!({ "first_name": "Gil", "email": "gil@example.org", "receives_messages": false });
        let child = json!({ "first_name": "Tom", "birth_date": "2014-01-01", "email": "tom@example.org", "guardians": [gil] });
        let child = w.add_member(team.id(), child).await;
        let body = practice(team.id(), "2026-09-06T18:00:00Z", "2026-09-06T19:00:00Z");
        let event = w.owner.post("/events", body).await.created();
        // The guardian gets no messages, and a child alone gets no text that a coach has written.
        let nobody = ReminderSummary { unreachable: 1, ..ReminderSummary::default() };
        assert_eq!(remind(w, &event).await.unwrap(), nobody);
        w.advance_clock(seconds(2 * HOUR));
        jobs::send_event_reminders(&w.node.app).await;
        assert!(emails(w, &event).await.is_empty());
        let guardian = w.owner.get(&format!("/people/{}", child.person)).await.ok().data()["guardians"][0]["id"].clone();
        let change = json!({ "guardians": [{ "id": guardian, "receives_messages": true }] });
        w.owner.patch(&format!("/teams/{}/roster/{}", team.id(), child.member), change).await.ok();
        w.confirm_guardians(&child.person).await;
        let both = ReminderSummary { reminded: 1, emails: 2, ..ReminderSummary::default() };
        assert_eq!(remind(w, &event).await.unwrap(), both);
        assert_eq!(addresses(w, &event).await, ["gil@example.org", "tom@example.org"]);
        // Not again within an hour.
        let recent = ReminderSummary { recent: 1, ..ReminderSummary::default() };
        assert_eq!(remind(w, &event).await.unwrap(), recent);
        w.advance_clock(seconds(HOUR + 1));
        assert_eq!(remind(w, &event).await.unwrap(), both);
        w.owner.post(&event_path(&event, "/cancel"), json!({})).await.ok();
        assert!(remind(w, &event).await.is_err());
    }

    async fn guardians_who_opted_out_are_not_reminded(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Foxes" })).await.created();
        let guardian = |name: &str| json!({ "first_name": name, "email": format!("{name}@example.org") });
        let guardians = ["gil", "eva", "ian"].map(guardian);
        let child = w.add_member(team.id(), json!({ "first_name": "Tom", "birth_date": "2014-01-01", "guardians": guardians })).await;
        w.confirm_guardians(&child.person).await;
        let child = w.owner.get(&format!("/people/{}", child.person)).await.ok();
        let ids = child.data()["guardians"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().parse().unwrap());
        let [gil, eva, _]: [PersonId; 3] = ids.collect::<Vec<_>>().try_into().unwrap();
        // Gil stopped all emails, and Eva those with reminders.
        let opt_out = move |tx: &store::Tx<'_>| {
            preferences::set_email_opt_in(tx, gil, false)?;
            let rsvp_reminders = Some(Frequency::Never);
            change_for_person(tx, eva, NotificationSettingsChange { rsvp_reminders, ..NotificationSettingsChange::default() })
        };
        w.db().write(Scope::account(w.harbour, "test"), opt_out).await.unwrap();
        let body = practice(team.id(), "2026-09-06T18:00:00Z", "2026-09-06T19:00:00Z");
        let event = w.owner.post("/events", body).await.created();
        w.advance_clock(seconds(2 * HOUR));
        jobs::send_event_reminders(&w.node.app).await;
        assert_eq!(addresses(w, &event).await, ["ian@example.org"]);
        let ian = child.data()["guardians"][2]["id"].as_str().unwrap().parse().unwrap();
        w.db().write(Scope::account(w.harbour, "test"), move |tx| preferences::set_email_opt_in(tx, ian, false)).await.unwrap();
        w.advance_clock(seconds(2 * HOUR));
        let nobody = ReminderSummary { unreachable: 1, ..ReminderSummary::default() };
        assert_eq!(remind(w, &event).await.unwrap(), nobody);
    }

    async fn queued_reminders_of_an_event_that_is_off_are_not_sent(w: &World) {
        let club = w.club().await;
        // Far ahead, so that nobody is told of the change by email.
        let body = practice(&club.hawks, "2026-12-15T18:00:00Z", "2026-12-15T19:00:00Z");
        let off: [(&str, Value); 3] = [("/cancel", json!({})), ("/postpone", json!({})), ("", json!({ "rsvp_enabled": false }))];
        for (below, change) in off {
            let event = w.owner.post("/events", body.clone()).await.created();
            assert!(remind(w, &event).await.unwrap().emails > 0);
            match below {
                "" => w.owner.patch(&event_path(&event, below), change).await.ok(),
                _ => w.owner.post(&event_path(&event, below), change).await.ok(),
            };
            let all = emails(w, &event).await;
            assert!(all.iter().all(|one| one["status"] == "cancelled"), "{below}: {all:?}");
        }
        let event = w.owner.post("/events", body.clone()).await.created();
        assert!(remind(w, &event).await.unwrap().emails > 0);
        w.owner.patch(&event_path(&event, ""), json!({ "title": "Training" })).await.ok();
        assert!(emails(w, &event).await.iter().all(|one| one["status"] == "pending"));
        w.owner.delete(&event_path(&event, "")).await.ok();
        assert!(emails(w, &event).await.iter().all(|one| one["status"] == "cancelled"));
        let event = w.owner.post("/events", body.clone()).await.created();
        assert!(remind(w, &event).await.unwrap().emails > 0);
        // The last missing answer cancels the reminder.
        w.owner.put(&event_path(&event, &format!("/rsvps/{}", club.max.member)), json!({ "answer": "yes" })).await.ok();
        let cancelled: Vec<_> = emails(w, &event).await.into_iter().filter(|one| one["status"] == "cancelled").collect();
        assert_eq!(cancelled.iter().map(|one| &one["to_address"]).collect::<Vec<_>>(), ["pat@example.org"]);
        // People whose reminder was cancelled by the postponement get one for the new date.
        w.owner.post(&event_path(&event, "/postpone"), json!({})).await.ok();
        w.owner.patch(&event_path(&event, ""), json!({ "starts_at": "2026-12-16T18:00:00Z", "ends_at": "2026-12-16T19:00:00Z" })).await.ok();
        assert!(remind(w, &event).await.unwrap().emails > 0);
    }
}
