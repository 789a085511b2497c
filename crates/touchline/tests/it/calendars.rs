//! Tests of calendar feeds: what other programs read in them, and who may read them.

use std::path::Path;
use std::process::Command;

use store::{Scope, bind};
use testkit::process::Program;
use testkit::{Client, TestResponse, Value, World, both, json, seconds};
use touchline::jobs;

use crate::events::{
    event_path, field_texts, field_values, hawks, practice, team, team_client, with,
};

/// Creates a feed; the second value is its path.
async fn feed(w: &World, body: Value) -> (TestResponse, String) {
    let created = w.owner.post("/calendar_feeds", body).await.created();
    let url = created.data()["url"].as_str().unwrap().to_owned();
    let path = url[url.find("/calendar/").unwrap()..].to_owned();
    (created, path)
}

/// The titles in a feed, in order.
async fn summaries(client: &Client, path: &str) -> Vec<String> {
    let text = client.get(path).await.ok().text.replace("\r\n ", "");
    let lines = text.lines().filter_map(|line| line.strip_prefix("SUMMARY:"));
    lines.map(str::to_owned).collect()
}

/// The value of a property in the text of a feed with one event.
fn value<'t>(text: &'t str, name: &str) -> &'t str {
    let (_, event) = text.split_once("BEGIN:VEVENT").expect("an event");
    let line = event.lines().find(|line| line.starts_with(&format!("{name}:")));
    line.unwrap_or_else(|| panic!("{name} is not in {event}")).split_once(':').unwrap().1
}

/// The Python interpreter that `cargo xtask test` prepared.
#[expect(clippy::print_stderr, reason = "a skipped test must not go unnoticed")]
fn python() -> Option<String> {
    if let Ok(python) = std::env::var("TOUCHLINE_TEST_PYTHON") {
        return Some(python);
    }
    let required =
        ["TOUCHLINE_TEST_REQUIRE_PYTHON", "CI"].iter().any(|name| std::env::var(name).is_ok());
    assert!(!required, "there is no Python to test with; run `cargo xtask test`");
    eprintln!("SKIPPED: there is no Python to test with; run `cargo xtask test`");
    None
}

/// The events of a feed as an independent parser (`tests/web/ics.py`) reads them.
async fn parse_with_python(w: &World, path: &str) -> Option<Vec<Value>> {
    let python = python()?;
    let file = w.database.folder.path().join("feed.ics");
    std::fs::write(&file, w.nobody.get(path).await.ok().text).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/web/ics.py");
    let output = Command::new(python).arg(script).arg(&file).output().expect("Python starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    let lines = String::from_utf8(output.stdout).unwrap();
    Some(lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Asserts that the feed of a team has the same events as the API's list.
async fn assert_feed_matches_api(w: &World, team: &str, path: &str) {
    let Some(entries) = parse_with_python(w, path).await else { return };
    let mut events = Vec::new();
    let mut next = format!("/events?team_id={team}&limit=100");
    loop {
        let page = w.owner.get(&next).await.ok();
        events.extend(page.data().as_array().unwrap().clone());
        let Some(cursor) = page.body["next_cursor"].as_str() else { break };
        next = format!("/events?team_id={team}&limit=100&cursor={cursor}");
    }
    assert_eq!(entries.len(), events.len());
    for event in &events {
        let uid = format!("{}@touchline", event["id"].as_str().unwrap());
        let entry =
            entries.iter().find(|entry| entry["uid"] == uid).expect("every event is in the feed");
        let all_day = event["all_day"] == true;
        let time = |utc: &str, local: &str| {
            let day = event[local].as_str().unwrap()[..10].to_owned();
            let moment = event[utc].as_str().unwrap().replace(".000000Z", "Z");
            if all_day { day } else { moment }
        };
        assert_eq!(
            (&entry["start"], &entry["end"]),
            (&json!(time("starts_at", "starts_local")), &json!(time("ends_at", "ends_local"))),
            "{event}"
        );
        let (status, before) = match event["status"].as_str().unwrap() {
            "cancelled" => ("CANCELLED", "Cancelled: "),
            "postponed" => ("TENTATIVE", "Postponed: "),
            _ => ("CONFIRMED", ""),
        };
        assert_eq!((&entry["status"], &entry["all_day"]), (&json!(status), &json!(all_day)));
        assert_eq!(entry["summary"], format!("{before}{}", event["title"].as_str().unwrap()));
    }
}

both! {
    async fn an_independent_parser_reads_the_same_schedule(w: &World) {
        let team = hawks(w).await;
        let notes = "Bring water, fruit; and \"tape\" \\ back\nSecond line ⚽ ".repeat(40);
        let pitch = w.owner.post("/locations", json!({ "name": "Pitch, lower; \"A\"", "address": "12 Quay Street\nHarbour",
            "latitude": 38.7071, "longitude": -9.1355, "url": "https://maps.example.org/?q=a;b,c" })).await.created();
        let bodies = [
            practice(&team, "2026-10-20T18:30", "2026-10-20T20:00"),
            with(practice(&team, "2026-10-25T01:30+01:00", "2026-10-25T01:30+00:00"), json!({ "title": "From the first to the second hour" })),
            with(practice(&team, "2026-10-25T01:30+00:00", "2026-10-25T02:30+00:00"), json!({ "title": "The second hour" })),
            with(practice(&team, "2026-11-05T23:30", "2026-11-06T01:00"), json!({ "title": "⚽ مباراة 👩‍👩‍👧‍👦 ".repeat(4).trim(), "notes": notes, "location_id": pitch.id() })),
            json!({ "team_id": team, "type": "tournament", "all_day": true, "starts_at": "2026-10-24", "ends_at": "2026-10-25" }),
            with(practice(&team, "2026-10-20T18:30", "2026-10-20T20:00"), json!({ "timezone": "UTC" })),
            with(practice(&team, "2026-10-20T18:30", "2026-10-20T20:00"), json!({ "timezone": "Asia/Kathmandu" })),
            json!({ "team_id": team, "type": "other", "all_day": true, "starts_at": "2027-04-30", "timezone": "Africa/Cairo" }),
        ];
        let mut events = Vec::new();
        for body in bodies {
            events.push(w.owner.post("/events", body).await.created());
        }
        let (_, path) = feed(w, json!({ "team_id": team })).await;
        assert_feed_matches_api(w, &team, &path).await;
        w.owner.post(&event_path(&events[0], "/cancel"), json!({ "reason": "Rain, much" })).await.ok();
        w.owner.send("POST", &event_path(&events[3], "/postpone"), None).await.ok();
        w.owner.patch(&event_path(&events[4], ""), json!({ "starts_at": "2026-10-31" })).await.ok();
        assert_feed_matches_api(w, &team, &path).await;
    }

    async fn an_independent_parser_reads_every_time_zone_correctly(w: &World) {
        let team = hawks(w).await;
        for (index, zone) in ["Europe/Lisbon", "America/New_York", "Australia/Lord_Howe", "Europe/Dublin", "Africa/Casablanca", "Pacific/Auckland",
            "America/Sao_Paulo", "Asia/Tehran", "Pacific/Apia", "Africa/Cairo"].into_iter().enumerate() {
            let start = format!("2026-01-{:02}T{:02}:15", index + 1, 7 + index);
            let body = json!({ "team_id": team, "type": "practice", "starts_at": start, "timezone": zone, "recurrence": "FREQ=WEEKLY;COUNT=110" });
            w.owner.post("/events", body).await.created();
        }
        let (_, path) = feed(w, json!({ "team_id": team })).await;
        assert_feed_matches_api(w, &team, &path).await;
    }

    async fn moving_a_series_updates_its_events_in_feeds(w: &World) {
        let team = hawks(w).await;
        let body = with(practice(&team, "2026-10-13T18:30", "2026-10-13T20:00"), json!({ "recurrence": "FREQ=WEEKLY;BYDAY=TU,TH;COUNT=40" }));
        let first = w.owner.post("/events", body).await.created();
        let ids = field_texts(&w.owner.get(&format!("/events?team_id={team}")).await.ok(), "id");
        let (_, path) = feed(w, json!({ "team_id": team })).await;
        assert_feed_matches_api(w, &team, &path).await;
        w.owner.patch(&event_path(&first, ""), json!({ "starts_at": "2026-10-14T07:00", "timezone": "America/New_York", "apply_to": "all" })).await.ok();
        w.owner.post(&format!("/events/{}/cancel", ids[20]), json!({ "apply_to": "following" })).await.ok();
        assert_feed_matches_api(w, &team, &path).await;
        let Some(entries) = parse_with_python(w, &path).await else { return };
        let sequence = |number: usize| {
            let uid = format!("{}@touchline", ids[number]);
            entries.iter().find(|entry| entry["uid"] == uid).unwrap()["sequence"].clone()
        };
        assert_eq!((sequence(0), sequence(19), sequence(20), sequence(39)), (json!(1), json!(1), json!(2), json!(2)));
    }

    async fn sequence_rises_with_event_changes_but_not_with_rsvps(w: &World) {
        let team = hawks(w).await;
        let member = w.owner.post(&format!("/teams/{team}/roster"), json!({ "first_name": "Ana" })).await.created();
        let pitch = w.owner.post("/locations", json!({ "name": "Pitch" })).await.created();
        let body = with(practice(&team, "2026-10-20T18:30", "2026-10-20T20:00"), json!({ "location_id": pitch.id(), "arrival_minutes": 45, "uniform": "blue",
            "duties": [{ "name": "Tent" }] }));
        let event = w.owner.post("/events", body).await.created();
        let (_, path) = feed(w, json!({ "team_id": team })).await;
        let first = w.nobody.get(&path).await.ok();
        assert_eq!((value(&first.text, "SEQUENCE"), value(&first.text, "LAST-MODIFIED")), ("0", "20260905T100000Z"));
        assert_eq!(value(&first.text, "DESCRIPTION"), "Arrive by 17:45.\\nUniform: blue");
        let tag = first.header("etag").unwrap().to_owned();
        // RSVPs, duties and changes to other resources do not change the feed.
        w.advance_clock(seconds(60));
        w.owner.put(&event_path(&event, &format!("/rsvps/{}", member.id())), json!({ "answer": "yes" })).await.ok();
        let duty = event.data()["duties"][0]["id"].as_str().unwrap();
        w.owner.send("PUT", &event_path(&event, &format!("/duties/{duty}/assignees/{}", member.data()["person_id"].as_str().unwrap())), None).await.ok();
        w.owner.post("/teams", json!({ "name": "Elsewhere" })).await.created();
        let same = w.nobody.with_header("If-None-Match", &tag).get(&path).await;
        assert_eq!((same.status, same.header("etag"), same.text.as_str()), (304, Some(tag.as_str()), ""));
        assert!(same.header("cache-control").is_some());
        let steps = [
            ("PATCH", event_path(&event, ""), json!({ "starts_at": "2026-10-21T18:30" })),
            ("PATCH", format!("/locations/{}", pitch.id()), json!({ "name": "Upper pitch" })),
            ("PATCH", event_path(&event, ""), json!({ "notes": "Water" })),
            ("POST", event_path(&event, "/postpone"), json!({})),
            ("POST", event_path(&event, "/cancel"), json!({ "reason": "Rain" })),
        ];
        let mut tags = vec![tag];
        for (number, (method, target, body)) in steps.into_iter().enumerate() {
            w.advance_clock(seconds(60));
            w.owner.send(method, &target, Some(&body.to_string())).await.ok();
            let now = w.nobody.with_header("If-None-Match", tags.last().unwrap()).get(&path).await.ok();
            assert_eq!(value(&now.text, "SEQUENCE"), (number + 1).to_string(), "{method} {target}");
            assert_eq!(value(&now.text, "UID"), format!("{}@touchline", event.id()));
            assert_eq!(value(&now.text, "LAST-MODIFIED"), format!("20260905T10{:02}00Z", number + 2));
            let tag = now.header("etag").unwrap().to_owned();
            assert!(!tags.contains(&tag));
            tags.push(tag);
        }
        let last = w.nobody.get(&path).await.ok().text;
        assert_eq!((value(&last, "STATUS"), value(&last, "LOCATION"), value(&last, "SUMMARY")), ("CANCELLED", "Upper pitch", "Cancelled: Practice"));
        for hint in ["REFRESH-INTERVAL;VALUE=DURATION:PT1H", "X-PUBLISHED-TTL:PT1H", "METHOD:PUBLISH", "X-WR-CALNAME:Hawks", "TZID:Europe/Lisbon"] {
            assert!(last.contains(&format!("{hint}\r\n")), "{hint} is not in {last}");
        }
    }

    async fn feeds_omit_old_events(w: &World) {
        let team = hawks(w).await;
        w.owner.post("/events", with(practice(&team, "2026-09-10T18:30", "2026-09-10T20:00"), json!({ "title": "old" }))).await.created();
        w.owner.post("/events", with(practice(&team, "2027-09-20T18:30", "2027-09-20T20:00"), json!({ "title": "new" }))).await.created();
        let (_, path) = feed(w, json!({ "team_id": team })).await;
        assert_eq!(summaries(&w.nobody, &path).await, ["old", "new"]);
        w.advance_clock(seconds(375 * 86_400));
        assert_eq!(summaries(&w.nobody, &path).await, ["new"]);
    }
}

both! {
    async fn a_persons_feed_has_their_own_and_their_childrens_teams(w: &World) {
        let (hawks, owls, crows) = (hawks(w).await, team(w, "Owls").await, team(w, "Crows").await);
        let child = w.owner.post(&format!("/teams/{hawks}/roster"), json!({ "first_name": "Inês", "guardians": [{ "first_name": "Rita" }] })).await.created();
        let mother = child.data()["guardians"][0]["id"].as_str().unwrap().to_owned();
        for (team, kind, day) in [(&hawks, "practice", 10), (&hawks, "game", 11), (&owls, "meeting", 12), (&owls, "tournament", 13), (&crows, "game", 14)] {
            let body = json!({ "team_id": team, "type": kind, "starts_at": format!("2026-09-{day}T18:00:00Z") });
            w.owner.post("/events", body).await.created();
        }
        let (_, path) = feed(w, json!({ "person_id": mother })).await;
        let (_, games) = feed(w, json!({ "person_id": mother, "games_only": true })).await;
        let (_, child_feed) = feed(w, json!({ "person_id": child.data()["person_id"] })).await;
        let of_hawks = ["Hawks: Practice", "Hawks: Game"];
        assert_eq!(summaries(&w.nobody, &path).await, of_hawks);
        // Once she coaches a team herself, her feed contains it, and the child's does not.
        let coach = w.owner.post(&format!("/teams/{owls}/roster"), json!({ "person_id": mother, "role": "coach" })).await.created();
        assert_eq!(summaries(&w.nobody, &path).await, ["Hawks: Practice", "Hawks: Game", "Owls: Meeting", "Owls: Tournament"]);
        assert_eq!(summaries(&w.nobody, &games).await, ["Hawks: Game", "Owls: Tournament"]);
        assert_eq!(summaries(&w.nobody, &child_feed).await, of_hawks);
        assert!(w.nobody.get(&games).await.ok().text.contains("X-WR-CALNAME:My teams (games)\r\n"));
        // The child leaves and she stops coaching: the feed is empty, but still valid.
        w.owner.delete(&format!("/teams/{hawks}/roster/{}", child.id())).await.ok();
        w.owner.patch(&format!("/teams/{owls}/roster/{}", coach.id()), json!({ "status": "inactive" })).await.ok();
        assert_eq!(summaries(&w.nobody, &path).await, Vec::<String>::new());
        assert!(w.nobody.get(&path).await.ok().text.ends_with("END:VCALENDAR\r\n"));
        assert_eq!(parse_with_python(w, &path).await.unwrap_or_default(), Vec::<Value>::new());
        // The feeds of an erased person no longer exist.
        w.owner.send("POST", &format!("/people/{mother}/erase"), None).await.ok();
        for path in [&path, &games] {
            w.nobody.get(path).await.assert_problem(404, "not_found");
        }
        let (_, crow_games) = feed(w, json!({ "team_id": crows, "games_only": true })).await;
        assert_eq!(summaries(&w.nobody, &crow_games).await, ["Game"]);
    }

    async fn a_feed_belongs_to_one_team_or_person_and_lists_hide_its_url(w: &World) {
        let (hawks, owls) = (hawks(w).await, team(w, "Owls").await);
        let person = w.owner.post(&format!("/teams/{hawks}/roster"), json!({ "first_name": "Ana" })).await.created().data()["person_id"].clone();
        let foreign = w.stranger.post("/teams", json!({ "name": "Foreign" })).await.created().id().to_owned();
        let none = json!({ "team_id": "team_00000000000000000000000000" });
        for (wrong, pointer) in [(json!({}), "/team_id"), (json!({ "team_id": hawks, "person_id": person }), "/person_id"), (json!({ "team_id": foreign }), "/team_id"),
            (none, "/team_id"), (json!({ "person_id": "per_00000000000000000000000000" }), "/person_id")] {
            let refused = w.owner.post("/calendar_feeds", wrong).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), [pointer]);
        }
        let (own, _) = feed(w, json!({ "team_id": hawks, "name": "For the parents" })).await;
        let (other, _) = feed(w, json!({ "team_id": owls })).await;
        let (hers, _) = feed(w, json!({ "person_id": person })).await;
        let list = w.owner.get("/calendar_feeds").await.ok();
        assert_eq!(field_texts(&list, "id"), [own.id(), other.id(), hers.id()]);
        assert!(!list.text.contains("/calendar/") && !list.text.contains("token"), "{}", list.text);
        assert_eq!(field_texts(&w.owner.get(&format!("/calendar_feeds?team_id={owls}")).await.ok(), "id"), [other.id()]);
        assert_eq!(field_texts(&w.owner.get(&format!("/calendar_feeds?person_id={}", person.as_str().unwrap())).await.ok(), "id"), [hers.id()]);
        // A key limited to one team creates, sees and revokes feeds of that team only.
        let narrow = team_client(w, &hawks, "events:read events:write").await;
        assert_eq!(field_texts(&narrow.get("/calendar_feeds").await.ok(), "id"), [own.id()]);
        for feed in [&other, &hers] {
            narrow.get(&format!("/calendar_feeds/{}", feed.id())).await.assert_problem(404, "not_found");
            narrow.delete(&format!("/calendar_feeds/{}", feed.id())).await.assert_problem(404, "not_found");
        }
        let created = narrow.post("/calendar_feeds", json!({ "team_id": hawks })).await.created();
        narrow.delete(&format!("/calendar_feeds/{}", created.id())).await.ok();
        for (wrong, pointer) in [(json!({ "team_id": owls }), "/team_id"), (json!({ "person_id": person }), "/person_id")] {
            assert_eq!(narrow.post("/calendar_feeds", wrong).await.assert_problem(422, "validation_failed").pointers(), [pointer]);
        }
        let revoked = w.owner.delete(&format!("/calendar_feeds/{}", own.id())).await.ok();
        assert_eq!((&revoked.data()["revoked_at"], &revoked.data()["version"]), (&json!("2026-09-05T10:00:00.000000Z"), &json!(2)));
        w.owner.delete(&format!("/calendar_feeds/{}", own.id())).await.assert_problem(409, "invalid_state");
    }

    async fn only_the_complete_url_opens_a_feed(w: &World) {
        let team = hawks(w).await;
        w.owner.post("/events", practice(&team, "2026-10-20T18:30", "2026-10-20T20:00")).await.created();
        let (created, path) = feed(w, json!({ "team_id": team })).await;
        w.nobody.get(&path).await.ok();
        // An API key is not needed and makes no difference.
        w.stranger.get(&path).await.ok();
        let token = path.trim_start_matches("/calendar/").trim_end_matches(".ics");
        assert_eq!(token.len(), 43);
        let other_letter = if token.starts_with('A') { "B" } else { "A" };
        for wrong in [format!("/calendar/{token}"), format!("/calendar/{}.ics", &token[1..]), format!("/calendar/{other_letter}{}.ics", &token[1..]), "/calendar/.ics".to_owned(),
            format!("/calendar/{}.ics", "A".repeat(43)), format!("/calendar/{}.ics", "A".repeat(4000)), format!("/calendar/{}", created.id())] {
            w.nobody.get(&wrong).await.assert_problem(404, "not_found");
        }
        assert_eq!(w.nobody.send("HEAD", &path, None).await.ok().text, "");
        w.nobody.post(&path, json!({})).await.assert_problem(405, "method_not_allowed");
        let tag = w.nobody.get(&path).await.ok().header("etag").unwrap().to_owned();
        w.owner.delete(&format!("/calendar_feeds/{}", created.id())).await.ok();
        // A revoked feed is 404, not 304, on every node.
        let second = w.node(|_| {}).await;
        for client in [w.nobody.clone(), w.nobody.at(second.address)] {
            client.with_header("If-None-Match", &tag).get(&path).await.assert_problem(404, "not_found");
        }
        second.stop().await;
    }

    async fn feed_tokens_are_in_no_log_notification_or_table(w: &World) {
        let program = Program::new(env!("CARGO_BIN_EXE_touchline"), w.database.folder.path()).flag("--database", &w.database.url);
        let service = program.variable("TOUCHLINE_LOG", "trace").serve(&[]);
        let (owner, nobody) = (w.owner.at(service.address), w.nobody.at(service.address));
        let team = hawks(w).await;
        let created = owner.post("/calendar_feeds", json!({ "team_id": team })).await.created();
        let url = created.data()["url"].as_str().unwrap().to_owned();
        let path = &url[url.find("/calendar/").unwrap()..];
        let token = path["/calendar/".len()..].trim_end_matches(".ics").to_owned();
        nobody.get(path).await.ok();
        nobody.get(&format!("{path}?x=1")).await;
        let again = nobody.get(&format!("{path}x")).await.assert_problem(404, "not_found");
        assert!(!format!("{again:?}").contains(&token));
        let log = tokio::task::spawn_blocking(|| service.stop().1).await.unwrap();
        assert!(log.contains("/api/public/v1/calendar_feeds") && log.contains("/calendar/"), "the log was on: {log}");
        assert!(!log.contains(&token), "the log tells the address");
        let notifications = w.notifications().await;
        assert!(!format!("{notifications:?}").contains(&token));
        let dump = w.db().snapshot(Scope::system("dump"), |db| {
            let mut dump = String::new();
            for table in db.tables()? {
                db.rows(&table, |row| {
                    dump += &format!("{row:?}");
                    Ok(())
                })?;
            }
            Ok::<_, store::Error>(dump)
        }).await.unwrap();
        assert!(dump.contains("Hawks") && !dump.contains(&token), "only a hash of the address is kept");
        assert_eq!(field_values(&w.owner.get("/calendar_feeds").await.ok(), "object"), ["calendar_feed"]);
    }

    async fn a_repeated_creation_shows_the_feed_url(w: &World) {
        let team = hawks(w).await;
        let keyed = w.owner.with_header("Idempotency-Key", "feed");
        let created = keyed.post("/calendar_feeds", json!({ "team_id": team })).await.created();
        let url = created.data()["url"].as_str().unwrap().to_owned();
        // The first response may have been lost.
        let again = keyed.post("/calendar_feeds", json!({ "team_id": team })).await.created();
        assert_eq!((again.data(), again.header("idempotent-replayed")), (created.data(), Some("true")));
        assert_eq!(again.header("location"), created.header("location"));
        let stored = w.db().read(Scope::account(w.harbour, "test"), |db| {
            db.all::<(String,)>("select data from idempotency where account_id = :account order by key", bind! {})
        });
        let (stored, (_, token)) = (format!("{:?}", stored.await.unwrap()), url.rsplit_once('/').unwrap());
        assert!(stored.contains(created.id()) && !stored.contains(token.trim_end_matches(".ics")), "{stored}");
        let sealed = w.db().read(Scope::account(w.harbour, "test"), |db| {
            db.all::<(Vec<u8>,)>("select data from idempotency_secret where account_id = :account", bind! {})
        });
        let sealed = sealed.await.unwrap();
        assert!(sealed.len() == 1 && !String::from_utf8_lossy(&sealed[0].0).contains("url"), "encrypted");
        w.advance_clock(seconds(25 * 60 * 60));
        jobs::delete_expired_idempotency_keys(&w.node.app).await;
        assert_eq!(w.count("idempotency_secret").await, 0);
    }
}
