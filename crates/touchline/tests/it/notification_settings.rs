//! Tests of the settings for emails: daily summaries, quiet hours, urgent emails, and what cannot be switched off.

use store::{Scope, bind};
use testkit::{MailServer, Node, Value, World, both, json, seconds};
use touchline::accounts::user::Role;
use touchline::ids::{AccountId, EmailId, PersonId, UserId};
use touchline::jobs::send_daily_summaries;
use touchline::mail::email::{self, NewEmail};
use touchline::roster::notification_settings::{
    EmailKind, Frequency, NotificationSettingsChange, change_for_person, change_for_user,
};
use touchline::roster::preferences;
use touchline::smtp::server::SendOutcome;

use crate::mail::{
    create_person, email_to, get_email, mailer, node_with_mail, queue_email, stranger_account,
};
use crate::mail_sending::header;
use crate::safeguarding::setup;

const HOUR: u64 = 3600;

fn daily() -> NotificationSettingsChange {
    NotificationSettingsChange {
        announcements: Some(Frequency::Daily),
        ..NotificationSettingsChange::default()
    }
}

async fn change_settings(w: &World, person: PersonId, change: NotificationSettingsChange) {
    let scope = Scope::account(w.harbour, "test");
    w.db().write(scope, move |tx| change_for_person(tx, person, change)).await.unwrap();
}

/// Creates a person who gets announcements in a daily summary at 18:00 UTC.
async fn reader_of_summaries(w: &World) -> PersonId {
    let ana = create_person(w, w.harbour, "ana@example.org").await;
    change_settings(w, ana, daily()).await;
    ana
}

/// Creates a person of a club who is this user.
async fn person_of_user(w: &World, club: AccountId, user: UserId) -> PersonId {
    let person = create_person(w, club, "ana@example.org").await;
    let link = w.db().write(Scope::account(club, "test"), move |tx| {
        tx.execute(
            "update person set user_id = :user where account_id = :account and id = :person",
            bind! { user, person },
        )
    });
    link.await.unwrap();
    person
}

async fn queue(w: &World, person: PersonId, subject: &str, kind: EmailKind) -> EmailId {
    let new = NewEmail { subject: subject.to_owned(), kind, ..email_to(person) };
    queue_email(w, w.harbour, new).await
}

/// Runs the job that creates summaries, and sends what is due.
async fn run_jobs(node: &Node) {
    send_daily_summaries(&node.app).await;
    mailer(node).send_due().await;
}

/// The plain text of an email that arrived.
fn text_of(arrived: &Value) -> String {
    arrived["text"].as_str().unwrap().replace("\r\n", "\n")
}

async fn status(w: &World, id: EmailId) -> Value {
    get_email(w, id).await["status"].clone()
}

both! {
    async fn two_nodes_send_one_summary_a_day(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = reader_of_summaries(w).await;
        let team = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created().id().to_owned();
        let first = NewEmail { team_id: Some(team.parse().unwrap()), subject: "[Hawks] Snow".to_owned(), ..email_to(ana) };
        let first = queue_email(w, w.harbour, first).await;
        let second = queue(w, ana, "Fair", EmailKind::Announcement).await;
        let at_once = queue(w, ana, "Moved", EmailKind::EventChange).await;
        let email = get_email(w, first).await;
        assert_eq!((&email["status"], &email["next_attempt_at"]), (&json!("pending"), &json!("2026-09-05T18:00:00.000000Z")));

        let nodes = [node_with_mail(w, &server.url()).await, node_with_mail(w, &server.url()).await];
        run_jobs(&nodes[0]).await;
        assert!(text_of(&server.emails(1)[0]).starts_with("We meet at six."));
        assert_eq!((status(w, at_once).await, status(w, first).await), (json!("sent"), json!("pending")));

        w.advance_clock(seconds(8 * HOUR));
        tokio::join!(run_jobs(&nodes[0]), run_jobs(&nodes[1]));
        run_jobs(&nodes[0]).await;
        let text = text_of(&server.emails(1)[0]);
        assert!(text.starts_with("Harbour\n=======\n\n* Fair\n\nWe meet at six."), "{text}");
        assert!(text.contains("Harbour · Hawks\n===============\n\n* Snow\n"), "{text}");
        assert!(text.contains("https://club.example.org/messages/msg_") && text.contains("/settings"), "{text}");
        assert!(server.is_empty(), "there is one summary");
        let (first, second) = (get_email(w, first).await, get_email(w, second).await);
        assert_eq!((&first["status"], &second["status"]), (&json!("sent"), &json!("sent")));
        assert_eq!(first["summary_id"], second["summary_id"]);

        // What is queued now waits for the next day.
        let next = queue(w, ana, "Later", EmailKind::Announcement).await;
        assert_eq!(get_email(w, next).await["next_attempt_at"], "2026-09-06T18:00:00.000000Z");
        for node in nodes {
            node.stop().await;
        }
    }

    async fn a_user_gets_one_summary_for_all_clubs(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let other = stranger_account(w).await;
        let user = w.user(Role::Member, "ana@example.org").await.id;
        w.user_of(other, Role::Member, "ana@example.org").await;
        let (here, there) = (person_of_user(w, w.harbour, user).await, person_of_user(w, other, user).await);
        let change = move |tx: &store::Tx<'_>| change_for_user(tx, user, &touchline::if_match::IfMatch::Absent, daily());
        w.db().write(Scope::system("test"), change).await.unwrap();
        queue(w, here, "Ours", EmailKind::Announcement).await;
        let theirs = NewEmail { subject: "Theirs".to_owned(), body_text: "Secret".to_owned(), ..email_to(there) };
        let theirs = queue_email(w, other, theirs).await;
        w.advance_clock(seconds(8 * HOUR));
        let node = node_with_mail(w, &server.url()).await;
        run_jobs(&node).await;
        let text = text_of(&server.emails(1)[0]);
        assert!(text.contains("* Ours") && text.contains("* Theirs") && text.contains("?all"), "{text}");
        assert!(server.is_empty());
        let outbox = w.owner.get("/emails").await.ok().text;
        assert!(!outbox.contains("Theirs") && !outbox.contains("Secret"), "{outbox}");
        assert_eq!(w.stranger.get(&format!("/emails/{theirs}")).await.ok().data()["status"], "sent");

        // The link in the summary stops the emails of both clubs, and brings them back.
        let link = text.lines().find_map(|line| line.strip_prefix("Stop these emails: https://club.example.org")).unwrap();
        let wants = async || {
            let read = async |account, person| {
                let read = w.db().read(Scope::account(account, "test"), move |db| preferences::email_opt_in(db, person));
                read.await.unwrap()
            };
            (read(w.harbour, here).await, read(other, there).await)
        };
        w.nobody.send("POST", link, None).await.ok();
        assert_eq!(wants().await, (false, false));
        w.nobody.send("POST", &format!("{link}&again"), None).await.ok();
        assert_eq!(wants().await, (true, true));
        node.stop().await;
    }

    async fn nothing_in_a_summary_is_lost_in_a_crash(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = reader_of_summaries(w).await;
        let kept = queue(w, ana, "Kept", EmailKind::Announcement).await;
        let dropped = NewEmail { about: "msg_2".to_owned(), subject: "Dropped".to_owned(), ..email_to(ana) };
        let dropped = queue_email(w, w.harbour, dropped).await;
        w.advance_clock(seconds(8 * HOUR));
        let (crashing, surviving) = (node_with_mail(w, &server.url()).await, node_with_mail(w, &server.url()).await);
        send_daily_summaries(&crashing.app).await;
        let summary: EmailId = get_email(w, kept).await["summary_id"].as_str().unwrap().parse().unwrap();
        let scope = || Scope::account(w.harbour, "mailer");
        // A message is retracted before the summary is sent.
        w.db().write(scope(), |tx| email::cancel(tx, "msg_2")).await.unwrap();
        let leased = crashing.app.db.write(scope(), move |tx| email::lease(tx, summary)).await.unwrap().unwrap();
        assert!(matches!(mailer(&crashing).send(&leased).await, SendOutcome::Sent));
        crashing.stop().await;
        w.advance_clock(seconds(121));
        run_jobs(&surviving).await;
        let copies = server.emails(2);
        for copy in &copies {
            let text = text_of(copy);
            assert!(text.contains("* Kept") && !text.contains("Dropped"), "{text}");
        }
        assert_eq!(header(&copies[0], "Message-ID"), header(&copies[1], "Message-ID"));
        assert_eq!((status(w, kept).await, status(w, dropped).await), (json!("sent"), json!("cancelled")));

        // A summary whose emails were all cancelled is not sent, and neither is one to somebody who stopped emails.
        queue(w, ana, "Gone", EmailKind::Announcement).await;
        w.advance_clock(seconds(24 * HOUR));
        send_daily_summaries(&surviving.app).await;
        w.db().write(scope(), move |tx| preferences::set_email_opt_in(tx, ana, false)).await.unwrap();
        run_jobs(&surviving).await;
        run_jobs(&surviving).await;
        assert!(server.is_empty());
        assert_eq!(w.owner.get("/emails?status=pending").await.ok().data(), &json!([]));
        surviving.stop().await;
    }

    async fn emails_wait_for_the_end_of_the_quiet_hours(w: &World) {
        let ana = create_person(w, w.harbour, "ana@example.org").await;
        let zone = kit::Change::Set("Europe/Lisbon".parse().unwrap());
        let time = |text: &str| kit::Change::Set(text.parse().unwrap());
        let quiet = NotificationSettingsChange { quiet_from: time("10:30"), quiet_until: time("02:00"), timezone: zone, ..daily() };
        change_settings(w, ana, quiet).await;
        // It is 11:00 in Lisbon.
        let held = queue(w, ana, "Moved", EmailKind::EventChange).await;
        let new = NewEmail { is_urgent: true, kind: EmailKind::EventChange, ..email_to(ana) };
        let urgent = queue_email(w, w.harbour, new).await;
        let security = queue(w, ana, "Changed", EmailKind::Security).await;
        mailer(&w.node).send_due().await;
        assert_eq!((status(w, held).await, status(w, urgent).await, status(w, security).await), (json!("pending"), json!("unsent"), json!("unsent")));
        w.advance_clock(seconds(15 * HOUR - 1));
        mailer(&w.node).send_due().await;
        assert_eq!(status(w, held).await, "pending");
        w.advance_clock(seconds(1));
        mailer(&w.node).send_due().await;
        assert_eq!(status(w, held).await, "unsent");
    }

    async fn a_childs_settings_do_not_stop_emails_to_guardians(w: &World) {
        let s = setup(w).await;
        // The child has the address of her mother, and wants no emails.
        w.owner.patch(&s.member_path(), json!({ "email": "rita@example.org" })).await.ok();
        w.confirm_email(&s.rita).await;
        let (never, mia, rita) = (Some(Frequency::Never), s.mia.parse().unwrap(), s.rita.parse().unwrap());
        let nothing = || NotificationSettingsChange {
            announcements: never,
            conversations: never,
            dues_reminders: never,
            ..NotificationSettingsChange::default()
        };
        change_settings(w, mia, nothing()).await;
        let body = json!({ "team_id": s.team.id, "kind": "announcement", "subject": "Snow", "body": "No game" });
        let sent = w.owner.post("/messages", body.clone()).await.created();
        let to = async |id: &str| {
            let emails = w.owner.get(&format!("/emails?related_id={id}")).await.ok();
            let all = emails.data().as_array().unwrap().clone();
            all.iter().map(|email| (email["person_id"].clone(), email["kind"].clone())).collect::<Vec<_>>()
        };
        assert!(to(sent.id()).await.contains(&(json!(s.rita), json!("announcement"))));

        // Her mother can choose to get no announcements, but always sees conversations with her child.
        change_settings(w, rita, nothing()).await;
        let sent = w.owner.post("/messages", body).await.created();
        assert!(!to(sent.id()).await.iter().any(|(person, _)| *person == json!(s.rita)));
        let sent = s.send_message(&s.cora, &[&s.mia_member]).await.created();
        assert_eq!(to(sent.id()).await, [(json!(s.rita), json!("safeguarding"))]);

        // Emails about the protection of the child cannot be stopped at all.
        let unsubscribe = move |tx: &store::Tx<'_>| preferences::set_email_opt_in(tx, rita, false);
        w.db().write(Scope::account(w.harbour, "test"), unsubscribe).await.unwrap();
        let notice = queue(w, rita, "A change that affects Mia", EmailKind::Security).await;
        mailer(&w.node).send_due().await;
        assert_eq!(status(w, notice).await, "unsent");
    }

    async fn users_change_their_settings_with_an_app(w: &World) {
        let path = "/me/notification_settings";
        let user = w.user(Role::Member, "ana@example.org").await;
        person_of_user(w, w.harbour, user.id).await;
        let client = w.client_for_user(user.id, "messages:read messages:write").await;
        let before = client.get(path).await.ok();
        assert_eq!(before.data(), &json!({
            "object": "notification_settings", "announcements": "at_once", "conversations": "never", "event_changes": "at_once",
            "rsvp_reminders": "at_once", "dues_reminders": "at_once", "summary_at": "18:00", "quiet_from": null, "quiet_until": null,
            "timezone": null, "updated_at": null, "version": 1
        }));
        let change = json!({ "announcements": "daily", "quiet_from": "22:00", "quiet_until": "06:30", "timezone": "Europe/Lisbon" });
        let after = client.patch(path, change).await.ok();
        assert_eq!((&after.data()["quiet_until"], &after.data()["version"]), (&json!("06:30"), &json!(2)));
        assert_eq!(client.get(path).await.ok().data(), after.data());
        for (change, pointer) in [
            (json!({ "quiet_until": null }), "/quiet_until"),
            (json!({ "quiet_from": "06:30" }), "/quiet_until"),
            (json!({ "summary_at": "18:15" }), "/summary_at"),
            (json!({ "announcements": null }), "/announcements"),
            (json!({ "dues_reminders": "weekly" }), "/dues_reminders"),
        ] {
            assert_eq!(client.patch(path, change).await.assert_problem(422, "validation_failed").pointers(), [pointer]);
        }
        let outdated = client.with_header("If-Match", "\"1\"");
        outdated.patch(path, json!({ "summary_at": "08:00" })).await.assert_problem(412, "precondition_failed");
        w.owner.get(path).await.assert_problem(403, "forbidden");
        let reader = w.client_for_user(user.id, "messages:read").await;
        reader.patch(path, json!({ "announcements": "never" })).await.assert_problem(403, "insufficient_scope");
    }

    async fn the_page_saves_settings_and_stops_all_emails(w: &World) {
        let user = w.user(Role::Member, "ana@example.org").await;
        let person = person_of_user(w, w.harbour, user.id).await;
        let mut browser = w.browser(user.id).await;
        let page = "/account/notifications";
        browser.get(page).await.ok().shows("Quiet hours").shows("cannot be switched off").shows("Stop all emails");
        let fields = |until: &'static str| [
            ("announcements", "daily"), ("conversations", "at_once"), ("event_changes", "at_once"), ("rsvp_reminders", "never"),
            ("dues_reminders", "at_once"), ("summary_at", "07:30"), ("quiet_from", "22:00"), ("quiet_until", until), ("timezone", "Asia/Tokyo"),
        ];
        let wrong = browser.post(page, &fields("")).await;
        assert_eq!(wrong.status, 422);
        wrong.shows("Enter when the quiet hours end.").shows("<option value=\"07:30\" selected>").shows("<option value=\"Asia/Tokyo\" selected>");
        browser.post(page, &fields("06:00")).await.redirects_to("/account/notifications?done=saved");
        browser.get(page).await.ok().shows("<option value=\"06:00\" selected>");

        let wants = async || {
            let read = w.db().read(Scope::account(w.harbour, "test"), move |db| preferences::email_opt_in(db, person));
            read.await.unwrap()
        };
        browser.post("/account/notifications/emails", &[("wants", "no")]).await.redirects_to("/account/notifications?done=stopped");
        assert!(!wants().await);
        browser.get(page).await.ok().shows("You get no emails from this club");
        browser.post("/account/notifications/emails", &[("wants", "yes")]).await.redirects_to("/account/notifications?done=resumed");
        assert!(wants().await);
    }

    async fn people_without_a_user_choose_with_the_link_in_their_emails(w: &World) {
        let ana = create_person(w, w.harbour, "ana@example.org").await;
        let link = format!("/unsubscribe/{}", w.node.app.unsubscribe_key.token(w.harbour, ana, "ana@example.org"));
        w.nobody.get(&link).await.ok().shows(&format!("{link}/settings"));
        let page = w.nobody.get(&format!("{link}/settings")).await.ok().shows("a***@example.org");
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        let form = w.nobody.with_header("Content-Type", "application/x-www-form-urlencoded");
        let body = "announcements=never&conversations=daily&event_changes=at_once&rsvp_reminders=at_once&dues_reminders=at_once\
                    &summary_at=18%3A00&quiet_from=&quiet_until=&timezone=UTC";
        let saved = form.send("POST", &format!("{link}/settings"), Some(body)).await;
        saved.redirects_to(&format!("{link}/settings?done=saved"));
        let enqueue = move |tx: &store::Tx<'_>| email::enqueue(tx, email_to(ana));
        let queued = w.db().write(Scope::account(w.harbour, "test"), enqueue).await.unwrap();
        assert_eq!(queued, None, "announcements are not sent");
        let other = if link.ends_with('x') { 'y' } else { 'x' };
        let forged = format!("{}{other}/settings", &link[..link.len() - 1]);
        for method in ["GET", "POST"] {
            assert_eq!(w.nobody.send(method, &forged, Some("")).await.status, 404, "{method}");
        }
        // Users change their settings when they are signed in.
        let user = w.user(Role::Member, "ana@example.org").await;
        w.link(&ana.to_string(), user.id).await;
        let page = w.nobody.get(&format!("{link}/settings")).await;
        page.redirects_to("/account/notifications");
        assert_eq!(form.send("POST", &format!("{link}/settings"), Some(body)).await.status, 404);
    }

    async fn adults_get_an_announcement_to_one_child_whatever_they_chose(w: &World) {
        let club = w.club().await;
        let id: PersonId = club.pat.parse().unwrap();
        let stop = w.db().write(Scope::account(w.harbour, "test"), move |tx| preferences::set_email_opt_in(tx, id, false));
        stop.await.unwrap();
        let audience = json!({ "to": "members", "member_ids": [club.max.member] });
        let body = json!({ "team_id": club.hawks, "kind": "announcement", "subject": "Lift", "body": "I can drive you.", "audience": audience });
        let sent = w.owner.post("/messages", body.clone()).await.created();
        let emails = w.owner.get(&format!("/emails?related_id={}", sent.id())).await.ok();
        let to: Vec<_> = emails.data().as_array().unwrap().iter().map(|one| (&one["to_address"], &one["kind"])).collect();
        assert!(to.contains(&(&json!("pat@example.org"), &json!("safeguarding"))), "{to:?}");
        let everybody = json!({ "to": "all" });
        let sent = w.owner.post("/messages", crate::events::with(body, json!({ "audience": everybody }))).await.created();
        let emails = w.owner.get(&format!("/emails?related_id={}", sent.id())).await.ok();
        assert!(!emails.data().to_string().contains("pat@example.org"), "{}", emails.data());
    }

    async fn copies_of_conversations_with_a_child_cannot_be_stopped(w: &World) {
        let club = w.club().await;
        for person in [&club.kim.person, &club.pat, &club.lia.person] {
            let id: PersonId = person.parse().unwrap();
            let stop = w.db().write(Scope::account(w.harbour, "test"), move |tx| preferences::set_email_opt_in(tx, id, false));
            stop.await.unwrap();
        }
        let talk = |to: &str| json!({ "team_id": club.hawks, "kind": "message", "body": "Hello", "audience": { "to": "members", "member_ids": [to] } });
        let sent = w.owner.post("/messages", talk(&club.max.member)).await.created();
        let emails = w.owner.get(&format!("/emails?related_id={}", sent.id())).await.ok();
        let to: Vec<_> = emails.data().as_array().unwrap().iter().map(|one| (&one["to_address"], &one["kind"])).collect();
        assert_eq!(to, [(&json!("pat@example.org"), &json!("safeguarding"))]);
        let adults = w.owner.post("/messages", talk(&club.lia.member)).await.created();
        assert_eq!(w.owner.get(&format!("/emails?related_id={}", adults.id())).await.ok().data(), &json!([]));
        let mut parent = w.browser(club.parent.id).await;
        parent.get("/account/notifications").await.ok().shows("not even by stopping all emails").shows("Messages in a conversation with a child");
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let node = node_with_mail(w, &server.url()).await;
        mailer(&node).send_due().await;
        let [mail] = &server.emails(1)[..] else { panic!("one email") };
        assert_eq!((&mail["to"], header(mail, "List-Unsubscribe")), (&json!(["pat@example.org"]), None), "{mail}");
        assert!(mail.to_string().contains("every adult in it gets a copy"), "{mail}");
        node.stop().await;
    }
}
