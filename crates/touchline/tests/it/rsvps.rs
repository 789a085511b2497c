//! Tests of RSVPs: capacity, the waiting list, deadlines and notifications.

use futures_util::future::join_all;
use store::{Scope, bind};
use testkit::{TestResponse, Value, World, both, json, seconds};
use touchline::ids::EventId;

use crate::events::{
    event_path, field_texts, field_values, hawks, notifications_of, practice, squad, team,
    team_client, with,
};

/// Creates a practice tomorrow with this capacity.
async fn tomorrow(w: &World, team: &str, capacity: Value) -> TestResponse {
    let body = practice(team, "2026-09-06T18:30", "2026-09-06T20:00");
    w.owner.post("/events", with(body, json!({ "capacity": capacity }))).await.created()
}

async fn answer_rsvp(w: &World, event: &TestResponse, member: &str, answer: &str) -> TestResponse {
    w.owner
        .put(&event_path(event, &format!("/rsvps/{member}")), json!({ "answer": answer }))
        .await
        .ok()
}

/// The members with this answer, in roster order.
async fn members_with(w: &World, event: &TestResponse, answer: &str) -> Vec<String> {
    field_texts(
        &w.owner.get(&event_path(event, &format!("/rsvps?answer={answer}&limit=100"))).await.ok(),
        "member_id",
    )
}

async fn counts(w: &World, event: &TestResponse) -> Value {
    w.owner.get(&event_path(event, "")).await.ok().data()["rsvp_counts"].clone()
}

/// The waiting list in order, read from the database.
async fn waiting_list(w: &World, event: &TestResponse) -> Vec<String> {
    let event: EventId = event.id().parse().unwrap();
    let read = w.db().read(Scope::account(w.harbour, "test"), move |db| {
        db.all::<(touchline::ids::MemberId,)>(
            "select member_id from rsvp where account_id = :account and event_id = :event
               and answer = 'waitlisted' order by place",
            bind! { event },
        )
    });
    read.await.unwrap().into_iter().map(|(member,)| member.to_string()).collect()
}

/// Asserts that the event's counts match its RSVPs.
async fn assert_counts_match(w: &World, event: &TestResponse) {
    let rsvp_counts = counts(w, event).await;
    for answer in ["yes", "no", "maybe", "waitlisted"] {
        assert_eq!(
            rsvp_counts[answer],
            members_with(w, event, answer).await.len(),
            "{answer}: {rsvp_counts}"
        );
    }
    let unanswered = w.owner.get(&event_path(event, "/unanswered?limit=100")).await.ok();
    assert_eq!(
        rsvp_counts["unanswered"],
        field_values(&unanswered, "member_id").len(),
        "{rsvp_counts}"
    );
}

both! {
    async fn concurrent_answers_never_exceed_the_capacity(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 70).await;
        let event = tomorrow(w, &team, json!(10)).await;
        let requests = members.iter().map(|member| answer_rsvp(w, &event, member, "yes"));
        let answers = join_all(requests).await;
        let count_of = |answer: &str| answers.iter().filter(|response| response.data()["answer"] == answer).count();
        assert_eq!((count_of("yes"), count_of("waitlisted")), (10, 60));
        assert_eq!(counts(w, &event).await, json!({ "yes": 10, "no": 0, "maybe": 0, "waitlisted": 60, "unanswered": 0 }));
        assert_counts_match(w, &event).await;
        // They wait in the order of their notifications.
        let notifications = notifications_of(w, "rsvp.answered").await;
        let waiting = notifications.iter().filter(|row| row["data"]["object"]["answer"] == "waitlisted");
        let order: Vec<_> = waiting.map(|row| row["data"]["object"]["member_id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(waiting_list(w, &event).await, order);
        // Thirty decline concurrently: ten with a place and twenty on the waiting list.
        let (coming, published_count) = (members_with(w, &event, "yes").await, notifications.len());
        let leaving: Vec<_> = order.iter().step_by(3).cloned().collect();
        join_all(coming.iter().chain(&leaving).map(|member| answer_rsvp(w, &event, member, "no"))).await;
        assert_counts_match(w, &event).await;
        assert_eq!(counts(w, &event).await["yes"], 10);
        let after: Vec<_> = notifications_of(w, "rsvp.answered").await.into_iter().skip(published_count).collect();
        // Each member who moved up was first on the waiting list at that moment.
        let mut expected_queue = order;
        let mut moved_up = 0;
        for row in &after {
            let object = &row["data"]["object"];
            let member = object["member_id"].as_str().unwrap();
            if object["answer"] == "yes" {
                assert_eq!((expected_queue[0].as_str(), &row["data"]["previous"]["answer"]), (member, &json!("waitlisted")));
                moved_up += 1;
            }
            expected_queue.retain(|waiting| waiting != member);
        }
        assert!(moved_up >= 10, "{moved_up}");
        assert_eq!(waiting_list(w, &event).await, expected_queue);
    }

    async fn waiting_list_moves_up_in_order(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 8).await;
        let event = tomorrow(w, &team, json!(2)).await;
        for member in members.iter().rev() {
            answer_rsvp(w, &event, member, "yes").await;
        }
        // 7 and 6 have places; 5, 4, 3, 2, 1, 0 wait.
        assert_eq!(members_with(w, &event, "yes").await, members[6..]);
        answer_rsvp(w, &event, &members[6], "no").await;
        assert_eq!(members_with(w, &event, "yes").await, [&members[5], &members[7]].map(String::clone));
        // "Maybe" takes no place, and a member who returns goes to the end of the waiting list.
        answer_rsvp(w, &event, &members[7], "maybe").await;
        assert_eq!(answer_rsvp(w, &event, &members[6], "yes").await.data()["answer"], "waitlisted");
        // Repeating the answer keeps the position, and a note can be added.
        let path = event_path(&event, &format!("/rsvps/{}", members[3]));
        let noted = w.owner.put(&path, json!({ "answer": "yes", "note": "please" })).await.ok();
        assert_eq!((&noted.data()["answer"], &noted.data()["version"]), (&json!("waitlisted"), &json!(2)));
        let expected_queue = [3, 2, 1, 0, 6].map(|number: usize| members[number].clone());
        assert_eq!(waiting_list(w, &event).await, expected_queue);
        // Leaving the waiting list moves nobody up.
        answer_rsvp(w, &event, &members[2], "no").await;
        assert_eq!(members_with(w, &event, "yes").await, [&members[4], &members[5]].map(String::clone));
        answer_rsvp(w, &event, &members[5], "no").await;
        let moved = w.owner.get(&path).await.ok();
        assert_eq!((&moved.data()["answer"], &moved.data()["note"]), (&json!("yes"), &json!("please")));
        assert_counts_match(w, &event).await;
    }

    async fn raising_the_capacity_admits_members_and_lowering_it_removes_none(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 8).await;
        let event = tomorrow(w, &team, json!(3)).await;
        for member in &members {
            answer_rsvp(w, &event, member, "yes").await;
        }
        let raised = w.owner.patch(&event_path(&event, ""), json!({ "capacity": 5 })).await.ok();
        assert_eq!(raised.data()["rsvp_counts"], json!({ "yes": 5, "no": 0, "maybe": 0, "waitlisted": 3, "unanswered": 0 }));
        assert_eq!(members_with(w, &event, "yes").await, members[..5]);
        let lowered = w.owner.patch(&event_path(&event, ""), json!({ "capacity": 2 })).await.ok();
        assert_eq!(lowered.data()["rsvp_counts"]["yes"], 5);
        // Existing places are kept; nobody moves up while the event is over capacity.
        answer_rsvp(w, &event, &members[0], "no").await;
        assert_eq!(members_with(w, &event, "yes").await, members[1..5]);
        let open = w.owner.patch(&event_path(&event, ""), json!({ "capacity": null })).await.ok();
        assert_eq!(open.header("etag").unwrap(), format!("\"{}\"", open.data()["version"]));
        assert_eq!(open.data()["rsvp_counts"], json!({ "yes": 7, "no": 1, "maybe": 0, "waitlisted": 0, "unanswered": 0 }));
        assert_counts_match(w, &event).await;
        let last = notifications_of(w, "rsvp.answered").await.pop().unwrap();
        assert_eq!((&last["data"]["object"]["member_id"], &last["data"]["previous"]["answer"]), (&json!(members[7]), &json!("waitlisted")));
    }

    async fn leaving_the_team_frees_the_place(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 6).await;
        let (event, other) = (tomorrow(w, &team, json!(2)).await, tomorrow(w, &team, json!(null)).await);
        for member in &members[..5] {
            answer_rsvp(w, &event, member, "yes").await;
            answer_rsvp(w, &other, member, "maybe").await;
        }
        assert_eq!(counts(w, &event).await["unanswered"], 1);
        let member_path = |number: usize| format!("/teams/{team}/roster/{}", members[number]);
        w.owner.delete(&member_path(0)).await.ok();
        assert_eq!(members_with(w, &event, "yes").await, members[1..3]);
        w.owner.patch(&member_path(1), json!({ "status": "inactive" })).await.ok();
        assert_eq!(members_with(w, &event, "yes").await, members[2..4]);
        // Injured members stay: they may still come and watch.
        w.owner.patch(&member_path(2), json!({ "status": "injured" })).await.ok();
        assert_eq!(members_with(w, &event, "yes").await, members[2..4]);
        for event in [&event, &other] {
            assert_counts_match(w, event).await;
        }
        assert_eq!(counts(w, &other).await, json!({ "yes": 0, "no": 0, "maybe": 3, "waitlisted": 0, "unanswered": 1 }));
        let withdrawn = notifications_of(w, "rsvp.answered").await.into_iter().find(|row| row["data"]["object"]["answer"].is_null()).unwrap();
        assert_eq!(withdrawn["data"]["previous"]["answer"], "yes");
        let refused = w.owner.put(&event_path(&event, &format!("/rsvps/{}", members[1])), json!({ "answer": "yes" })).await;
        assert!(refused.assert_problem(409, "invalid_state").body["detail"].as_str().unwrap().contains("inactive"));
        let history = w.owner.get(&event_path(&event, &format!("/rsvps/{}/history", members[1]))).await.ok();
        assert_eq!(field_values(&history, "answer"), [&json!("yes"), &json!(null)]);
    }

    async fn new_answer_after_a_withdrawn_one_has_a_new_etag(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 1).await;
        let event = tomorrow(w, &team, json!(null)).await;
        let (path, member_path) = (event_path(&event, &format!("/rsvps/{}", members[0])), format!("/teams/{team}/roster/{}", members[0]));
        answer_rsvp(w, &event, &members[0], "yes").await;
        let etag = w.owner.get(&path).await.ok().header("etag").unwrap().to_owned();
        w.owner.patch(&member_path, json!({ "status": "inactive" })).await.ok();
        w.owner.get(&path).await.assert_problem(404, "not_found");
        w.owner.patch(&member_path, json!({ "status": "active" })).await.ok();
        assert_eq!(counts(w, &event).await["unanswered"], 1);
        answer_rsvp(w, &event, &members[0], "no").await;
        let read = w.owner.with_header("If-None-Match", &etag).get(&path).await.ok();
        assert_eq!(read.data()["answer"], "no");
        w.owner.with_header("If-Match", &etag).put(&path, json!({ "answer": "maybe" })).await.assert_problem(412, "precondition_failed");
    }

    async fn erasing_a_person_removes_their_notes(w: &World) {
        let team = hawks(w).await;
        let member = w.owner.post(&format!("/teams/{team}/roster"), json!({ "first_name": "Ana" })).await.created();
        let event = tomorrow(w, &team, json!(null)).await;
        let path = event_path(&event, &format!("/rsvps/{}", member.id()));
        let answer = w.owner.put(&path, json!({ "answer": "yes", "note": "knee" })).await.ok();
        // The answer to a past event stays when the person is erased; the note does not.
        w.advance_clock(seconds(3 * 86_400));
        w.owner.post(&format!("/people/{}/erase", member.data()["person_id"].as_str().unwrap()), json!({})).await.ok();
        let read = w.owner.with_header("If-None-Match", answer.header("etag").unwrap()).get(&path).await.ok();
        assert_eq!((&read.data()["answer"], &read.data()["note"]), (&json!("yes"), &json!(null)));
        let history = w.owner.get(&format!("{path}/history")).await.ok();
        assert_eq!(field_values(&history, "note"), [&json!(null)]);
    }

    async fn rescheduled_event_asks_the_current_members(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 4).await;
        let event = tomorrow(w, &team, json!(2)).await;
        for member in &members[..3] {
            answer_rsvp(w, &event, member, "yes").await;
        }
        w.owner.send("POST", &event_path(&event, "/postpone"), None).await.ok();
        w.owner.put(&event_path(&event, &format!("/rsvps/{}", members[3])), json!({ "answer": "yes" })).await.assert_problem(409, "invalid_state");
        // The old date passes, one member leaves, two join; then the event gets a new date.
        w.advance_clock(seconds(3 * 86_400));
        w.owner.delete(&format!("/teams/{team}/roster/{}", members[0])).await.ok();
        squad(w, &team, 2).await;
        let rescheduled = w.owner.patch(&event_path(&event, ""), json!({ "starts_at": "2026-09-20T18:30" })).await.ok();
        assert_eq!(rescheduled.data()["status"], "scheduled");
        assert_eq!(rescheduled.data()["rsvp_counts"], json!({ "yes": 2, "no": 0, "maybe": 0, "waitlisted": 0, "unanswered": 3 }));
        assert_eq!(members_with(w, &event, "yes").await, members[1..3]);
        assert_counts_match(w, &event).await;
        assert_eq!(rescheduled.header("etag"), w.owner.get(&event_path(&event, "")).await.ok().header("etag"));
    }
}

both! {
    async fn rejects_late_and_unsolicited_answers(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 1).await;
        let body = |more: Value| with(practice(&team, "2026-09-06T18:30", "2026-09-06T20:00"), more);
        let without_rsvp = w.owner.post("/events", body(json!({ "rsvp_enabled": false }))).await.created();
        let with_deadline = w.owner.post("/events", body(json!({ "rsvp_deadline": "2026-09-05T12:00" }))).await.created();
        let open = w.owner.post("/events", body(json!({}))).await.created();
        assert_eq!(with_deadline.data()["rsvp_deadline"], "2026-09-05T11:00:00.000000Z");
        assert_eq!(counts(w, &without_rsvp).await["unanswered"], 0);
        assert_eq!(w.owner.get(&event_path(&without_rsvp, "/unanswered")).await.ok().data(), &json!([]));
        let try_answer = async |event: &TestResponse, answer: &str| {
            w.owner.put(&event_path(event, &format!("/rsvps/{}", members[0])), json!({ "answer": answer })).await
        };
        try_answer(&without_rsvp, "yes").await.assert_problem(409, "invalid_state");
        w.advance_clock(seconds(3600));
        try_answer(&with_deadline, "yes").await.ok();
        w.advance_clock(seconds(1));
        let refused = try_answer(&with_deadline, "no").await.assert_problem(409, "invalid_state");
        assert!(refused.body["detail"].as_str().unwrap().contains("deadline"));
        assert_eq!(members_with(w, &with_deadline, "yes").await, members);
        try_answer(&open, "yes").await.ok();
        w.advance_clock(seconds(2 * 86_400));
        try_answer(&open, "no").await.assert_problem(409, "invalid_state");
        let cancelled = tomorrow(w, &team, json!(null)).await;
        w.owner.post(&event_path(&cancelled, "/cancel"), json!({})).await.ok();
        try_answer(&cancelled, "yes").await.assert_problem(409, "invalid_state");
    }

    async fn accepts_answers_only_for_members_of_the_team(w: &World) {
        let (team, owls) = (hawks(w).await, team(w, "Owls").await);
        let (members, others) = (squad(w, &team, 1).await, squad(w, &owls, 1).await);
        let event = tomorrow(w, &team, json!(null)).await;
        let theirs = w.stranger.post("/teams", json!({ "name": "Foreign" })).await.created().id().to_owned();
        let other_club_member = w.stranger.post(&format!("/teams/{theirs}/roster"), json!({ "first_name": "Zé" })).await.created();
        for stranger in [others[0].as_str(), other_club_member.id(), "mem_00000000000000000000000000"] {
            let path = event_path(&event, &format!("/rsvps/{stranger}"));
            w.owner.put(&path, json!({ "answer": "yes" })).await.assert_problem(404, "not_found");
            w.owner.get(&path).await.assert_problem(404, "not_found");
        }
        let team_key = team_client(w, &owls, "events:read events:write").await;
        let path = event_path(&event, &format!("/rsvps/{}", members[0]));
        team_key.put(&path, json!({ "answer": "yes" })).await.assert_problem(404, "not_found");
        w.stranger.put(&path, json!({ "answer": "yes" })).await.assert_problem(404, "not_found");
        for below in ["", "/rsvps", "/unanswered"] {
            team_key.get(&event_path(&event, below)).await.assert_problem(404, "not_found");
        }
        assert_eq!(notifications_of(w, "rsvp.answered").await.len(), 0);
        let wrong = w.owner.put(&path, json!({ "answer": "waitlisted", "note": "n".repeat(501), "by": 1 })).await;
        wrong.assert_problem(400, "invalid_parameter");
        let wrong = w.owner.put(&path, json!({ "answer": "waitlisted", "note": "n".repeat(501) })).await;
        assert_eq!(wrong.assert_problem(422, "validation_failed").pointers(), ["/answer", "/note"]);
        assert_eq!(w.owner.put(&path, json!({})).await.assert_problem(422, "validation_failed").pointers(), ["/answer"]);
    }

    async fn records_who_answered(w: &World) {
        let team = hawks(w).await;
        let child = w.owner.post(&format!("/teams/{team}/roster"), json!({ "first_name": "Inês",
            "guardians": [{ "first_name": "Rita", "relationship": "mother" }] })).await.created();
        let coach = w.owner.post(&format!("/teams/{team}/roster"), json!({ "first_name": "Tomás", "role": "coach" })).await.created();
        let teammate = w.owner.post(&format!("/teams/{team}/roster"), json!({ "first_name": "Noa" })).await.created();
        let person = |member: &TestResponse| member.data()["person_id"].as_str().unwrap().to_owned();
        let mother = child.data()["guardians"][0]["id"].as_str().unwrap().to_owned();
        let event = tomorrow(w, &team, json!(null)).await;
        let path = event_path(&event, &format!("/rsvps/{}", child.id()));
        let try_answer = async |by: &str, answer: &str| {
            w.owner.put(&path, json!({ "answer": answer, "on_behalf_of": by })).await
        };
        for (by, answer) in [(person(&child), "yes"), (mother.clone(), "no"), (person(&coach), "maybe")] {
            assert_eq!(try_answer(&by, answer).await.ok().data()["answered_by"], by);
        }
        for person_id in [person(&teammate), "per_00000000000000000000000000".to_owned()] {
            let refused = try_answer(&person_id, "yes").await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/on_behalf_of"]);
        }
        // Without `on_behalf_of` the key answers.
        let by_key = w.owner.put(&path, json!({ "answer": "yes" })).await.ok();
        assert!(by_key.data()["answered_by"].as_str().unwrap().starts_with("key_"), "{}", by_key.text);
        // A mother answers only for her own child; a former coach answers for nobody.
        let teammate_path = event_path(&event, &format!("/rsvps/{}", teammate.id()));
        w.owner.put(&teammate_path, json!({ "answer": "yes", "on_behalf_of": mother })).await.assert_problem(422, "validation_failed");
        w.owner.delete(&format!("/teams/{team}/roster/{}", coach.id())).await.ok();
        try_answer(&person(&coach), "no").await.assert_problem(422, "validation_failed");
        let history = w.owner.get(&format!("{path}/history")).await.ok();
        assert_eq!(field_texts(&history, "answer"), ["yes", "no", "maybe", "yes"]);
        assert_eq!(field_texts(&history, "answered_by")[..3], [person(&child), mother, person(&coach)]);
        let last = w.owner.get(&format!("{path}/history?order=desc&limit=1")).await.ok();
        assert_eq!((&last.data()[0]["position"], &last.body["has_more"]), (&json!(4), &json!(true)));
    }

    async fn notes_are_not_in_notifications(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 2).await;
        let event = tomorrow(w, &team, json!(1)).await;
        let path = |number: usize| event_path(&event, &format!("/rsvps/{}", members[number]));
        w.owner.put(&path(0), json!({ "answer": "yes", "note": "knee xyzzy 🤕" })).await.ok();
        w.owner.put(&path(1), json!({ "answer": "yes", "note": "xyzzy asthma" })).await.ok();
        w.owner.put(&path(0), json!({ "answer": "no", "note": "xyzzy fever" })).await.ok();
        w.owner.delete(&format!("/teams/{team}/roster/{}", members[1])).await.ok();
        assert_eq!(w.owner.get(&path(0)).await.ok().data()["note"], "xyzzy fever");
        let history = w.owner.get(&format!("{}/history", path(0))).await.ok();
        assert_eq!(field_values(&history, "note"), ["knee xyzzy 🤕", "xyzzy fever"]);
        let notifications = w.notifications().await;
        assert!(notifications.iter().all(|row| !row.to_string().contains("xyzzy")), "{notifications:?}");
        let audit = w.db().read(Scope::account(w.harbour, "test"), |db| {
            db.all::<(Option<String>,)>("select details from audit_entry where account_id = :account order by position", bind! {})
        });
        assert!(!format!("{:?}", audit.await.unwrap()).contains("xyzzy"));
    }

    async fn repeated_answer_changes_nothing(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 1).await;
        let event = tomorrow(w, &team, json!(1)).await;
        let path = event_path(&event, &format!("/rsvps/{}", members[0]));
        let first = w.owner.put(&path, json!({ "answer": "yes" })).await.ok();
        let notification_count = w.notifications().await.len();
        let repeated = w.owner.put(&path, json!({ "answer": "yes", "note": null })).await.ok();
        assert_eq!((repeated.data(), w.notifications().await.len()), (first.data(), notification_count));
        // Repeating the answer or changing the note does not lose the place.
        let noted = w.owner.put(&path, json!({ "answer": "yes", "note": "late" })).await.ok();
        assert_eq!((&noted.data()["answer"], &noted.data()["version"]), (&json!("yes"), &json!(2)));
        let stale = w.owner.with_header("If-Match", "\"1\"");
        stale.put(&path, json!({ "answer": "no" })).await.assert_problem(412, "precondition_failed");
        w.owner.with_header("If-Match", "\"2\"").put(&path, json!({ "answer": "no" })).await.ok();
    }

    async fn lists_events_that_lack_answers(w: &World) {
        let (team, owls) = (hawks(w).await, team(w, "Owls").await);
        let (members, others) = (squad(w, &team, 2).await, squad(w, &owls, 1).await);
        let mut events = Vec::new();
        for day in 6..10 {
            let body = practice(&team, &format!("2026-09-{day:02}T18:30"), &format!("2026-09-{day:02}T20:00"));
            let more = json!({ "title": day.to_string(), "rsvp_enabled": day != 9 });
            events.push(w.owner.post("/events", with(body, more)).await.created());
        }
        let owls_event = w.owner.post("/events", with(practice(&owls, "2026-09-06T18:30", "2026-09-06T20:00"), json!({ "title": "owls" }))).await.created();
        let titles_lacking_answers = async |query: &str| field_texts(&w.owner.get(&format!("/events?needs_rsvp=true{query}")).await.ok(), "title");
        assert_eq!(titles_lacking_answers(&format!("&team_id={team}")).await, ["6", "7", "8"]);
        answer_rsvp(w, &events[0], &members[0], "yes").await;
        answer_rsvp(w, &events[0], &members[1], "no").await;
        answer_rsvp(w, &events[1], &members[0], "maybe").await;
        w.owner.post(&event_path(&events[2], "/cancel"), json!({})).await.ok();
        assert_eq!(titles_lacking_answers(&format!("&team_id={team}")).await, ["7"]);
        assert_eq!(titles_lacking_answers("&from=2026-09-06T00:00:00Z&to=2026-09-07T00:00:00Z").await, ["owls"]);
        assert_eq!(titles_lacking_answers(&format!("&member_id={}", members[0])).await, Vec::<String>::new());
        assert_eq!(titles_lacking_answers(&format!("&member_id={}", members[1])).await, ["7"]);
        assert_eq!(titles_lacking_answers(&format!("&member_id={}", others[0])).await, ["owls"]);
        let unanswered = w.owner.get(&event_path(&owls_event, "/unanswered")).await.ok();
        assert_eq!((&unanswered.data()[0]["member_id"], &unanswered.data()[0]["first_name"]), (&json!(others[0]), &json!("P0")));
        w.owner.get(&format!("/events?member_id={}", members[0])).await.assert_problem(400, "invalid_parameter");
        // A new member has not answered yet.
        squad(w, &team, 1).await;
        assert_eq!(titles_lacking_answers(&format!("&team_id={team}")).await, ["6", "7"]);
        let page = w.owner.get(&event_path(&events[1], "/unanswered?limit=1")).await.ok();
        assert_eq!(field_values(&page, "member_id"), [&json!(members[1])]);
        let next = page.body["next_cursor"].as_str().unwrap();
        w.owner.get(&event_path(&events[1], &format!("/unanswered?limit=1&cursor={next}"))).await.ok();
    }
}
