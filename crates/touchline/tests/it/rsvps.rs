//! Stories about answers: who comes, who waits, who moves up, and what is told of it.

use futures_util::future::join_all;
use store::{Scope, bind};
use testkit::{Answer, Value, World, both, json, seconds};
use touchline::ids::EventId;

use crate::events::{at, each, hawks, narrowed, practice, squad, team, texts, told, with};

/// A practice tomorrow with room for so many.
async fn tomorrow(w: &World, team: &str, capacity: Value) -> Answer {
    let body = practice(team, "2026-09-06T18:30", "2026-09-06T20:00");
    w.owner.post("/events", with(body, json!({ "capacity": capacity }))).await.created()
}

async fn says(w: &World, event: &Answer, member: &str, answer: &str) -> Answer {
    w.owner.put(&at(event, &format!("/rsvps/{member}")), json!({ "answer": answer })).await.ok()
}

/// The members who answered so, in the order of the roster.
async fn who(w: &World, event: &Answer, answer: &str) -> Vec<String> {
    texts(
        &w.owner.get(&at(event, &format!("/rsvps?answer={answer}&limit=100"))).await.ok(),
        "member_id",
    )
}

async fn counts(w: &World, event: &Answer) -> Value {
    w.owner.get(&at(event, "")).await.ok().data()["rsvp_counts"].clone()
}

/// The members who wait, the next one first, as the rows have it.
async fn queue(w: &World, event: &Answer) -> Vec<String> {
    let event: EventId = event.id().parse().unwrap();
    let read = w.db().read(Scope::account(w.harbour, "test"), move |db| {
        db.all::<(touchline::ids::MemberId,)>(
            "select member_id from rsvp where account_id = :account and event_id = :event
               and answer = 'waiting' order by place",
            bind! { event },
        )
    });
    read.await.unwrap().into_iter().map(|(member,)| member.to_string()).collect()
}

/// The event's counts are those of the rows.
async fn agrees(w: &World, event: &Answer) {
    let shown = counts(w, event).await;
    for answer in ["yes", "no", "maybe", "waiting"] {
        assert_eq!(shown[answer], who(w, event, answer).await.len(), "{answer}: {shown}");
    }
    let silent = w.owner.get(&at(event, "/unanswered?limit=100")).await.ok();
    assert_eq!(shown["unanswered"], each(&silent, "member_id").len(), "{shown}");
}

both! {
    async fn ten_places_are_given_to_ten_of_seventy_who_ask_at_once(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 70).await;
        let event = tomorrow(w, &team, json!(10)).await;
        let yes = members.iter().map(|member| says(w, &event, member, "yes"));
        let answers = join_all(yes).await;
        let given = |word: &str| answers.iter().filter(|answer| answer.data()["answer"] == word).count();
        assert_eq!((given("yes"), given("waiting")), (10, 60));
        assert_eq!(counts(w, &event).await, json!({ "yes": 10, "no": 0, "maybe": 0, "waiting": 60, "unanswered": 0 }));
        agrees(w, &event).await;
        // They wait in the order in which their answers were told.
        let news = told(w, "rsvp.answered").await;
        let waiting = news.iter().filter(|news| news["data"]["object"]["answer"] == "waiting");
        let order: Vec<_> = waiting.map(|news| news["data"]["object"]["member_id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(queue(w, &event).await, order);
        // Thirty give up at once: ten who had places and twenty who only waited.
        let (coming, first) = (who(w, &event, "yes").await, news.len());
        let waits_no_more: Vec<_> = order.iter().step_by(3).cloned().collect();
        join_all(coming.iter().chain(&waits_no_more).map(|member| says(w, &event, member, "no"))).await;
        agrees(w, &event).await;
        assert_eq!(counts(w, &event).await["yes"], 10);
        let after: Vec<_> = told(w, "rsvp.answered").await.into_iter().skip(first).collect();
        // Whoever moved up was, at that moment, the first of those who still waited.
        let mut line = order;
        let mut moved = 0;
        for news in &after {
            let object = &news["data"]["object"];
            let member = object["member_id"].as_str().unwrap();
            if object["answer"] == "yes" {
                assert_eq!((line[0].as_str(), &news["data"]["previous"]["answer"]), (member, &json!("waiting")));
                moved += 1;
            }
            line.retain(|waiting| waiting != member);
        }
        assert!(moved >= 10, "{moved}");
        assert_eq!(queue(w, &event).await, line);
    }

    async fn one_by_one_they_move_up_in_order(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 8).await;
        let event = tomorrow(w, &team, json!(2)).await;
        for member in members.iter().rev() {
            says(w, &event, member, "yes").await;
        }
        // 7 and 6 have places; 5, 4, 3, 2, 1, 0 wait.
        assert_eq!(who(w, &event, "yes").await, members[6..]);
        says(w, &event, &members[6], "no").await;
        assert_eq!(who(w, &event, "yes").await, [&members[5], &members[7]].map(String::clone));
        // Maybe is no place either, and whoever comes back goes to the end of the line.
        says(w, &event, &members[7], "maybe").await;
        assert_eq!(says(w, &event, &members[6], "yes").await.data()["answer"], "waiting");
        // Asking again does not lose the place in the line, and a note can be added there.
        let path = at(&event, &format!("/rsvps/{}", members[3]));
        let noted = w.owner.put(&path, json!({ "answer": "yes", "note": "please" })).await.ok();
        assert_eq!((&noted.data()["answer"], &noted.data()["version"]), (&json!("waiting"), &json!(2)));
        let line = [3, 2, 1, 0, 6].map(|number: usize| members[number].clone());
        assert_eq!(queue(w, &event).await, line);
        // Whoever gives up waiting moves nobody.
        says(w, &event, &members[2], "no").await;
        assert_eq!(who(w, &event, "yes").await, [&members[4], &members[5]].map(String::clone));
        says(w, &event, &members[5], "no").await;
        let moved = w.owner.get(&path).await.ok();
        assert_eq!((&moved.data()["answer"], &moved.data()["note"]), (&json!("yes"), &json!("please")));
        agrees(w, &event).await;
    }

    async fn more_room_lets_people_in_and_less_throws_nobody_out(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 8).await;
        let event = tomorrow(w, &team, json!(3)).await;
        for member in &members {
            says(w, &event, member, "yes").await;
        }
        let raised = w.owner.patch(&at(&event, ""), json!({ "capacity": 5 })).await.ok();
        assert_eq!(raised.data()["rsvp_counts"], json!({ "yes": 5, "no": 0, "maybe": 0, "waiting": 3, "unanswered": 0 }));
        assert_eq!(who(w, &event, "yes").await, members[..5]);
        let lowered = w.owner.patch(&at(&event, ""), json!({ "capacity": 2 })).await.ok();
        assert_eq!(lowered.data()["rsvp_counts"]["yes"], 5);
        // Those who came before stay; nobody moves up while there are too many.
        says(w, &event, &members[0], "no").await;
        assert_eq!(who(w, &event, "yes").await, members[1..5]);
        let open = w.owner.patch(&at(&event, ""), json!({ "capacity": null })).await.ok();
        assert_eq!(open.header("etag").unwrap(), format!("\"{}\"", open.data()["version"]));
        assert_eq!(open.data()["rsvp_counts"], json!({ "yes": 7, "no": 1, "maybe": 0, "waiting": 0, "unanswered": 0 }));
        agrees(w, &event).await;
        let last = told(w, "rsvp.answered").await.pop().unwrap();
        assert_eq!((&last["data"]["object"]["member_id"], &last["data"]["previous"]["answer"]), (&json!(members[7]), &json!("waiting")));
    }

    async fn whoever_leaves_the_team_makes_room(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 6).await;
        let (event, other) = (tomorrow(w, &team, json!(2)).await, tomorrow(w, &team, json!(null)).await);
        for member in &members[..5] {
            says(w, &event, member, "yes").await;
            says(w, &other, member, "maybe").await;
        }
        assert_eq!(counts(w, &event).await["unanswered"], 1);
        let place = |number: usize| format!("/teams/{team}/roster/{}", members[number]);
        w.owner.delete(&place(0)).await.ok();
        assert_eq!(who(w, &event, "yes").await, members[1..3]);
        w.owner.patch(&place(1), json!({ "status": "inactive" })).await.ok();
        assert_eq!(who(w, &event, "yes").await, members[2..4]);
        // The injured stay: they may still come and watch.
        w.owner.patch(&place(2), json!({ "status": "injured" })).await.ok();
        assert_eq!(who(w, &event, "yes").await, members[2..4]);
        for event in [&event, &other] {
            agrees(w, event).await;
        }
        assert_eq!(counts(w, &other).await, json!({ "yes": 0, "no": 0, "maybe": 3, "waiting": 0, "unanswered": 1 }));
        let gone = told(w, "rsvp.answered").await.into_iter().find(|news| news["data"]["object"]["answer"].is_null()).unwrap();
        assert_eq!(gone["data"]["previous"]["answer"], "yes");
        let refused = w.owner.put(&at(&event, &format!("/rsvps/{}", members[1])), json!({ "answer": "yes" })).await;
        assert!(refused.refused(409, "invalid_state").body["detail"].as_str().unwrap().contains("inactive"));
        let history = w.owner.get(&at(&event, &format!("/rsvps/{}/history", members[1]))).await.ok();
        assert_eq!(each(&history, "answer"), [&json!("yes"), &json!(null)]);
    }

    async fn an_answer_after_one_that_was_taken_back_is_never_taken_for_it(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 1).await;
        let event = tomorrow(w, &team, json!(null)).await;
        let (path, place) = (at(&event, &format!("/rsvps/{}", members[0])), format!("/teams/{team}/roster/{}", members[0]));
        says(w, &event, &members[0], "yes").await;
        let tag = w.owner.get(&path).await.ok().header("etag").unwrap().to_owned();
        w.owner.patch(&place, json!({ "status": "inactive" })).await.ok();
        w.owner.get(&path).await.refused(404, "not_found");
        w.owner.patch(&place, json!({ "status": "active" })).await.ok();
        assert_eq!(counts(w, &event).await["unanswered"], 1);
        says(w, &event, &members[0], "no").await;
        let read = w.owner.with("If-None-Match", &tag).get(&path).await.ok();
        assert_eq!(read.data()["answer"], "no");
        w.owner.with("If-Match", &tag).put(&path, json!({ "answer": "maybe" })).await.refused(412, "precondition_failed");
    }

    async fn no_copy_with_a_note_outlives_the_person_who_wrote_it(w: &World) {
        let team = hawks(w).await;
        let member = w.owner.post(&format!("/teams/{team}/roster"), json!({ "first_name": "Ana" })).await.created();
        let event = tomorrow(w, &team, json!(null)).await;
        let path = at(&event, &format!("/rsvps/{}", member.id()));
        let answer = w.owner.put(&path, json!({ "answer": "yes", "note": "knee" })).await.ok();
        // An answer to an event that is over stays when the person is erased; the note does not.
        w.pass(seconds(3 * 86_400));
        w.owner.post(&format!("/people/{}/erase", member.data()["person_id"].as_str().unwrap()), json!({})).await.ok();
        let read = w.owner.with("If-None-Match", answer.header("etag").unwrap()).get(&path).await.ok();
        assert_eq!((&read.data()["answer"], &read.data()["note"]), (&json!("yes"), &json!(null)));
        let history = w.owner.get(&format!("{path}/history")).await.ok();
        assert_eq!(each(&history, "note"), [&json!(null)]);
    }

    async fn an_event_that_comes_again_asks_those_who_are_there_now(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 4).await;
        let event = tomorrow(w, &team, json!(2)).await;
        for member in &members[..3] {
            says(w, &event, member, "yes").await;
        }
        w.owner.send("POST", &at(&event, "/postpone"), None).await.ok();
        w.owner.put(&at(&event, &format!("/rsvps/{}", members[3])), json!({ "answer": "yes" })).await.refused(409, "invalid_state");
        // Its old day passes, somebody leaves, two join; then it is given a new day.
        w.pass(seconds(3 * 86_400));
        w.owner.delete(&format!("/teams/{team}/roster/{}", members[0])).await.ok();
        squad(w, &team, 2).await;
        let again = w.owner.patch(&at(&event, ""), json!({ "starts_at": "2026-09-20T18:30" })).await.ok();
        assert_eq!(again.data()["status"], "scheduled");
        assert_eq!(again.data()["rsvp_counts"], json!({ "yes": 2, "no": 0, "maybe": 0, "waiting": 0, "unanswered": 3 }));
        assert_eq!(who(w, &event, "yes").await, members[1..3]);
        agrees(w, &event).await;
        assert_eq!(again.header("etag"), w.owner.get(&at(&event, "")).await.ok().header("etag"));
    }
}

both! {
    async fn no_answer_is_taken_too_late_or_unasked(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 1).await;
        let body = |more: Value| with(practice(&team, "2026-09-06T18:30", "2026-09-06T20:00"), more);
        let unasked = w.owner.post("/events", body(json!({ "asks_rsvp": false }))).await.created();
        let closing = w.owner.post("/events", body(json!({ "rsvp_deadline": "2026-09-05T12:00" }))).await.created();
        let open = w.owner.post("/events", body(json!({}))).await.created();
        assert_eq!(closing.data()["rsvp_deadline"], "2026-09-05T11:00:00.000000Z");
        assert_eq!(counts(w, &unasked).await["unanswered"], 0);
        assert_eq!(w.owner.get(&at(&unasked, "/unanswered")).await.ok().data(), &json!([]));
        let yes = async |event: &Answer, answer: &str| {
            w.owner.put(&at(event, &format!("/rsvps/{}", members[0])), json!({ "answer": answer })).await
        };
        yes(&unasked, "yes").await.refused(409, "invalid_state");
        w.pass(seconds(3600));
        yes(&closing, "yes").await.ok();
        w.pass(seconds(1));
        let late = yes(&closing, "no").await.refused(409, "invalid_state");
        assert!(late.body["detail"].as_str().unwrap().contains("deadline"));
        assert_eq!(who(w, &closing, "yes").await, members);
        yes(&open, "yes").await.ok();
        w.pass(seconds(2 * 86_400));
        yes(&open, "no").await.refused(409, "invalid_state");
        let cancelled = tomorrow(w, &team, json!(null)).await;
        w.owner.post(&at(&cancelled, "/cancel"), json!({})).await.ok();
        yes(&cancelled, "yes").await.refused(409, "invalid_state");
    }

    async fn only_members_of_the_team_are_answered_for(w: &World) {
        let (team, owls) = (hawks(w).await, team(w, "Owls").await);
        let (members, others) = (squad(w, &team, 1).await, squad(w, &owls, 1).await);
        let event = tomorrow(w, &team, json!(null)).await;
        let theirs = w.stranger.post("/teams", json!({ "name": "Foreign" })).await.created().id().to_owned();
        let foreign = w.stranger.post(&format!("/teams/{theirs}/roster"), json!({ "first_name": "Zé" })).await.created();
        for stranger in [others[0].as_str(), foreign.id(), "mem_00000000000000000000000000"] {
            let path = at(&event, &format!("/rsvps/{stranger}"));
            w.owner.put(&path, json!({ "answer": "yes" })).await.refused(404, "not_found");
            w.owner.get(&path).await.refused(404, "not_found");
        }
        let narrow = narrowed(w, &owls, "events:read events:write").await;
        let path = at(&event, &format!("/rsvps/{}", members[0]));
        narrow.put(&path, json!({ "answer": "yes" })).await.refused(404, "not_found");
        w.stranger.put(&path, json!({ "answer": "yes" })).await.refused(404, "not_found");
        for below in ["", "/rsvps", "/unanswered"] {
            narrow.get(&at(&event, below)).await.refused(404, "not_found");
        }
        assert_eq!(told(w, "rsvp.answered").await.len(), 0);
        let wrong = w.owner.put(&path, json!({ "answer": "waiting", "note": "n".repeat(501), "by": 1 })).await;
        wrong.refused(400, "invalid_parameter");
        let wrong = w.owner.put(&path, json!({ "answer": "waiting", "note": "n".repeat(501) })).await;
        assert_eq!(wrong.refused(422, "validation_failed").pointers(), ["/answer", "/note"]);
        assert_eq!(w.owner.put(&path, json!({})).await.refused(422, "validation_failed").pointers(), ["/answer"]);
    }

    async fn members_guardians_and_staff_answer_and_it_is_kept_who_did(w: &World) {
        let team = hawks(w).await;
        let child = w.owner.post(&format!("/teams/{team}/roster"), json!({ "first_name": "Inês",
            "guardians": [{ "first_name": "Rita", "relationship": "mother" }] })).await.created();
        let coach = w.owner.post(&format!("/teams/{team}/roster"), json!({ "first_name": "Tomás", "role": "coach" })).await.created();
        let mate = w.owner.post(&format!("/teams/{team}/roster"), json!({ "first_name": "Noa" })).await.created();
        let person = |member: &Answer| member.data()["person_id"].as_str().unwrap().to_owned();
        let mother = child.data()["guardians"][0]["id"].as_str().unwrap().to_owned();
        let event = tomorrow(w, &team, json!(null)).await;
        let path = at(&event, &format!("/rsvps/{}", child.id()));
        let said = async |by: &str, answer: &str| {
            w.owner.put(&path, json!({ "answer": answer, "on_behalf_of": by })).await
        };
        for (by, answer) in [(person(&child), "yes"), (mother.clone(), "no"), (person(&coach), "maybe")] {
            assert_eq!(said(&by, answer).await.ok().data()["answered_by"], by);
        }
        for nobody in [person(&mate), "per_00000000000000000000000000".to_owned()] {
            let refused = said(&nobody, "yes").await.refused(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/on_behalf_of"]);
        }
        // Without a name it is the key that answers.
        let keyed = w.owner.put(&path, json!({ "answer": "yes" })).await.ok();
        assert!(keyed.data()["answered_by"].as_str().unwrap().starts_with("key_"), "{}", keyed.text);
        // A mother answers for her own child only; a coach who left answers for nobody.
        let mates = at(&event, &format!("/rsvps/{}", mate.id()));
        w.owner.put(&mates, json!({ "answer": "yes", "on_behalf_of": mother })).await.refused(422, "validation_failed");
        w.owner.delete(&format!("/teams/{team}/roster/{}", coach.id())).await.ok();
        said(&person(&coach), "no").await.refused(422, "validation_failed");
        let history = w.owner.get(&format!("{path}/history")).await.ok();
        assert_eq!(texts(&history, "answer"), ["yes", "no", "maybe", "yes"]);
        assert_eq!(texts(&history, "answered_by")[..3], [person(&child), mother, person(&coach)]);
        let last = w.owner.get(&format!("{path}/history?order=desc&limit=1")).await.ok();
        assert_eq!((&last.data()[0]["position"], &last.body["has_more"]), (&json!(4), &json!(true)));
    }

    async fn a_note_is_for_the_team_and_not_for_subscribers(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 2).await;
        let event = tomorrow(w, &team, json!(1)).await;
        let path = |number: usize| at(&event, &format!("/rsvps/{}", members[number]));
        w.owner.put(&path(0), json!({ "answer": "yes", "note": "knee xyzzy 🤕" })).await.ok();
        w.owner.put(&path(1), json!({ "answer": "yes", "note": "xyzzy asthma" })).await.ok();
        w.owner.put(&path(0), json!({ "answer": "no", "note": "xyzzy fever" })).await.ok();
        w.owner.delete(&format!("/teams/{team}/roster/{}", members[1])).await.ok();
        assert_eq!(w.owner.get(&path(0)).await.ok().data()["note"], "xyzzy fever");
        let history = w.owner.get(&format!("{}/history", path(0))).await.ok();
        assert_eq!(each(&history, "note"), ["knee xyzzy 🤕", "xyzzy fever"]);
        let news = w.news().await;
        assert!(news.iter().all(|news| !news.to_string().contains("xyzzy")), "{news:?}");
        let audit = w.db().read(Scope::account(w.harbour, "test"), |db| {
            db.all::<(Option<String>,)>("select details from audit_entry where account_id = :account order by position", bind! {})
        });
        assert!(!format!("{:?}", audit.await.unwrap()).contains("xyzzy"));
    }

    async fn the_same_answer_again_changes_nothing(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 1).await;
        let event = tomorrow(w, &team, json!(1)).await;
        let path = at(&event, &format!("/rsvps/{}", members[0]));
        let first = w.owner.put(&path, json!({ "answer": "yes" })).await.ok();
        let news = w.news().await.len();
        let again = w.owner.put(&path, json!({ "answer": "yes", "note": null })).await.ok();
        assert_eq!((again.data(), w.news().await.len()), (first.data(), news));
        // A place that one has is not lost by saying so again, nor by changing the note.
        let noted = w.owner.put(&path, json!({ "answer": "yes", "note": "late" })).await.ok();
        assert_eq!((&noted.data()["answer"], &noted.data()["version"]), (&json!("yes"), &json!(2)));
        let stale = w.owner.with("If-Match", "\"1\"");
        stale.put(&path, json!({ "answer": "no" })).await.refused(412, "precondition_failed");
        w.owner.with("If-Match", "\"2\"").put(&path, json!({ "answer": "no" })).await.ok();
    }

    async fn events_that_lack_answers_are_found(w: &World) {
        let (team, owls) = (hawks(w).await, team(w, "Owls").await);
        let (members, others) = (squad(w, &team, 2).await, squad(w, &owls, 1).await);
        let mut events = Vec::new();
        for day in 6..10 {
            let body = practice(&team, &format!("2026-09-{day:02}T18:30"), &format!("2026-09-{day:02}T20:00"));
            let more = json!({ "title": day.to_string(), "asks_rsvp": day != 9 });
            events.push(w.owner.post("/events", with(body, more)).await.created());
        }
        let elsewhere = w.owner.post("/events", with(practice(&owls, "2026-09-06T18:30", "2026-09-06T20:00"), json!({ "title": "owls" }))).await.created();
        let lacking = async |query: &str| texts(&w.owner.get(&format!("/events?needs_answer=true{query}")).await.ok(), "title");
        assert_eq!(lacking(&format!("&team_id={team}")).await, ["6", "7", "8"]);
        says(w, &events[0], &members[0], "yes").await;
        says(w, &events[0], &members[1], "no").await;
        says(w, &events[1], &members[0], "maybe").await;
        w.owner.post(&at(&events[2], "/cancel"), json!({})).await.ok();
        assert_eq!(lacking(&format!("&team_id={team}")).await, ["7"]);
        assert_eq!(lacking("&from=2026-09-06T00:00:00Z&to=2026-09-07T00:00:00Z").await, ["owls"]);
        assert_eq!(lacking(&format!("&member_id={}", members[0])).await, Vec::<String>::new());
        assert_eq!(lacking(&format!("&member_id={}", members[1])).await, ["7"]);
        assert_eq!(lacking(&format!("&member_id={}", others[0])).await, ["owls"]);
        let silent = w.owner.get(&at(&elsewhere, "/unanswered")).await.ok();
        assert_eq!((&silent.data()[0]["member_id"], &silent.data()[0]["first_name"]), (&json!(others[0]), &json!("P0")));
        w.owner.get(&format!("/events?member_id={}", members[0])).await.refused(400, "invalid_parameter");
        // Whoever joins has not answered.
        squad(w, &team, 1).await;
        assert_eq!(lacking(&format!("&team_id={team}")).await, ["6", "7"]);
        let page = w.owner.get(&at(&events[1], "/unanswered?limit=1")).await.ok();
        assert_eq!(each(&page, "member_id"), [&json!(members[1])]);
        let next = page.body["next_cursor"].as_str().unwrap();
        w.owner.get(&at(&events[1], &format!("/unanswered?limit=1&cursor={next}"))).await.ok();
    }
}
