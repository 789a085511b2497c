//! Tests of lists of events: paging by start, bounds, keys that are limited to one team, and versions that rise with
//! every visible change.

use testkit::{Client, TestResponse, World, both, json, seconds};

use crate::events::{
    event_path, field_texts, field_values, hawks, practice, squad, team, team_client, with,
};

/// Creates a practice with this title.
async fn create_practice(w: &World, team: &str, title: &str, start: &str) -> TestResponse {
    let body = json!({ "team_id": team, "type": "practice", "title": title, "starts_at": start });
    w.owner.post("/events", body).await.created()
}

/// The titles on all pages of a list.
async fn titles_on_all_pages(client: &Client, path: &str, limit: usize) -> Vec<String> {
    let (mut seen, mut next) = (Vec::new(), format!("{path}&limit={limit}"));
    loop {
        let page = client.get(&next).await.ok();
        seen.extend(field_texts(&page, "title"));
        assert!(field_values(&page, "title").len() <= limit);
        let Some(cursor) = page.body["next_cursor"].as_str() else { return seen };
        next = format!("{path}&limit={limit}&cursor={cursor}");
    }
}

both! {
    async fn pages_events_by_start_even_if_many_start_at_once(w: &World) {
        let (hawks, owls) = (hawks(w).await, team(w, "Owls").await);
        for number in 0..7 {
            let team = if number % 2 == 0 { &hawks } else { &owls };
            create_practice(w, team, &format!("same {number}"), "2026-09-10T18:00:00Z").await;
        }
        create_practice(w, &hawks, "last", "2026-09-20T18:00:00Z").await;
        create_practice(w, &owls, "first", "2026-09-01T18:00:00Z").await;
        let order = ["first", "same 0", "same 1", "same 2", "same 3", "same 4", "same 5", "same 6", "last"];
        for limit in [1, 2, 3, 100] {
            assert_eq!(titles_on_all_pages(&w.owner, "/events?order=asc", limit).await, order);
            let reversed: Vec<_> = order.iter().rev().copied().collect();
            assert_eq!(titles_on_all_pages(&w.owner, "/events?order=desc", limit).await, reversed);
        }
        // `from` is inclusive and `to` is exclusive, in both directions.
        let bounds = "from=2026-09-01T18:00:00Z&to=2026-09-20T18:00:00Z";
        assert_eq!(titles_on_all_pages(&w.owner, &format!("/events?{bounds}"), 2).await, order[..8]);
        let reversed: Vec<_> = order[..8].iter().rev().copied().collect();
        assert_eq!(titles_on_all_pages(&w.owner, &format!("/events?order=desc&{bounds}"), 2).await, reversed);
        let moment = "from=2026-09-10T18:00:00Z&to=2026-09-10T18:00:00.000001Z";
        assert_eq!(titles_on_all_pages(&w.owner, &format!("/events?{moment}"), 3).await, order[1..8]);
        assert_eq!(titles_on_all_pages(&w.owner, "/events?from=2026-09-20T18:00:01Z", 3).await, Vec::<String>::new());
        assert_eq!(titles_on_all_pages(&w.owner, "/events?from=2027-01-01T00:00:00Z&to=2026-01-01T00:00:00Z", 3).await, Vec::<String>::new());
        let of_team = titles_on_all_pages(&w.owner, &format!("/events?team_id={owls}&type=practice&status=scheduled"), 2).await;
        assert_eq!(of_team, ["first", "same 1", "same 3", "same 5"]);
        // A date means its start in UTC.
        assert_eq!(titles_on_all_pages(&w.owner, "/events?from=2026-09-10&to=2026-09-11", 3).await, order[1..8]);
        for wrong in ["from=2026-13-10", "to=yesterday", "type=party", "status=gone", "team_id=x", "order=up", "needs_rsvp=2", "limit=0", "place=1"] {
            w.owner.get(&format!("/events?{wrong}")).await.assert_problem(400, "invalid_parameter");
        }
    }

    async fn a_cursor_stays_valid_when_its_event_changes(w: &World) {
        let team = hawks(w).await;
        let mut events = Vec::new();
        for day in 10..16 {
            events.push(create_practice(w, &team, &day.to_string(), &format!("2026-09-{day}T18:00:00Z")).await);
        }
        let page = w.owner.get("/events?limit=2").await.ok();
        let next = format!("/events?limit=2&cursor={}", page.body["next_cursor"].as_str().unwrap());
        // The event at the cursor moves to the front, and the one before it is deleted.
        w.owner.patch(&event_path(&events[1], ""), json!({ "starts_at": "2026-09-01T18:00:00Z" })).await.ok();
        w.owner.delete(&event_path(&events[0], "")).await.ok();
        let page = w.owner.get(&next).await.ok();
        assert_eq!(field_texts(&page, "title"), ["12", "13"]);
        // An event that is moved behind the cursor appears again at its new position.
        let next = format!("/events?limit=2&cursor={}", page.body["next_cursor"].as_str().unwrap());
        w.owner.patch(&event_path(&events[2], ""), json!({ "starts_at": "2026-09-14T19:00:00Z" })).await.ok();
        assert_eq!(field_texts(&w.owner.get(&next).await.ok(), "title"), ["14", "12"]);
        for other in ["&order=desc", "&type=practice", "&from=2026-01-01T00:00:00Z"] {
            w.owner.get(&format!("{next}{other}")).await.assert_problem(400, "invalid_cursor");
        }
        w.stranger.get(&next).await.assert_problem(400, "invalid_cursor");
    }

    async fn a_team_key_sees_only_events_of_its_team(w: &World) {
        let (hawks, owls) = (hawks(w).await, team(w, "Owls").await);
        let pitch = w.owner.post("/locations", json!({ "name": "Pitch" })).await.created();
        let (own, other) = (create_practice(w, &hawks, "own", "2026-09-10T18:00:00Z").await, create_practice(w, &owls, "other", "2026-09-10T18:00:00Z").await);
        let narrow = team_client(w, &hawks, "events:read events:write").await;
        assert_eq!(field_texts(&narrow.get("/events").await.ok(), "title"), ["own"]);
        assert_eq!(field_texts(&narrow.get("/events?order=desc").await.ok(), "title"), ["own"]);
        narrow.get(&format!("/events?team_id={owls}")).await.assert_problem(404, "not_found");
        assert_eq!(narrow.get("/events?external_id=x").await.ok().data(), &json!([]));
        narrow.get(&event_path(&own, "")).await.ok();
        for (method, below, body) in [("GET", "", None), ("PATCH", "", Some("{}")), ("DELETE", "", None), ("POST", "/cancel", Some("{}")), ("POST", "/postpone", None)] {
            narrow.send(method, &event_path(&other, below), body).await.assert_problem(404, "not_found");
        }
        let refused = narrow.post("/events", practice(&owls, "2026-09-11T18:00:00Z", "2026-09-11T19:00:00Z")).await;
        assert_eq!(refused.assert_problem(422, "validation_failed").pointers(), ["/team_id"]);
        narrow.post("/events", practice(&hawks, "2026-09-11T18:00:00Z", "2026-09-11T19:00:00Z")).await.created();
        // It does not see locations that its team does not use, and cannot change any.
        narrow.get(&format!("/locations/{}", pitch.id())).await.assert_problem(404, "not_found");
        narrow.patch(&format!("/locations/{}", pitch.id()), json!({ "name": "x" })).await.assert_problem(403, "forbidden");
        narrow.delete(&format!("/locations/{}", pitch.id())).await.assert_problem(403, "forbidden");
    }

    async fn every_visible_change_of_an_event_changes_its_etag(w: &World) {
        let team = hawks(w).await;
        let members = squad(w, &team, 2).await;
        let pitch = w.owner.post("/locations", json!({ "name": "Pitch" })).await.created();
        let body = practice(&team, "2026-09-10T18:00", "2026-09-10T19:00");
        let more = json!({ "location_id": pitch.id(), "capacity": 1, "duties": [{ "name": "Tent" }] });
        let event = w.owner.post("/events", with(body, more)).await.created();
        let (event_url, location_url) = (event_path(&event, ""), format!("/locations/{}", pitch.id()));
        let (roster, people) = (format!("/teams/{team}/roster"), field_texts(&w.owner.get(&format!("/teams/{team}/roster")).await.ok(), "person_id"));
        let duty = event.data()["duties"][0]["id"].as_str().unwrap().to_owned();
        let rsvp = |number: usize| event_path(&event, &format!("/rsvps/{}", members[number]));
        let member = format!("{roster}/{}", members[0]);
        let assignees = event_path(&event, &format!("/duties/{duty}/assignees/{}", people[1]));
        let steps = [
            ("PUT", rsvp(0), json!({ "answer": "yes" })),
            ("PUT", rsvp(1), json!({ "answer": "yes" })),
            ("PATCH", member.clone(), json!({ "status": "inactive" })),
            ("PATCH", member, json!({ "status": "active" })),
            ("POST", roster, json!({ "first_name": "New" })),
            ("PATCH", location_url.clone(), json!({ "notes": "Gate 2" })),
            ("PUT", assignees.clone(), json!(null)),
            ("DELETE", assignees, json!(null)),
            ("PATCH", event_url.clone(), json!({ "notes": "Bring water" })),
            ("DELETE", location_url, json!(null)),
            ("POST", event_path(&event, "/postpone"), json!(null)),
            ("POST", event_path(&event, "/cancel"), json!({})),
        ];
        let mut seen = vec![w.owner.get(&event_url).await.ok()];
        for (method, path, body) in steps {
            w.advance_clock(seconds(1));
            let body = (!body.is_null()).then(|| body.to_string());
            let answer = w.owner.send(method, &path, body.as_deref()).await;
            assert!(matches!(answer.status, 200 | 201), "{method} {path}: {}", answer.text);
            let last = seen.last().unwrap();
            let tag = last.header("etag").unwrap();
            let now = w.owner.with_header("If-None-Match", tag).get(&event_url).await;
            assert_eq!(now.status, 200, "{method} {path} left the old copy valid");
            assert_ne!(now.data(), last.data());
            assert!(now.data()["version"].as_i64() > last.data()["version"].as_i64());
            let tag = now.header("etag").unwrap();
            assert_eq!(w.owner.with_header("If-None-Match", tag).get(&event_url).await.status, 304);
            w.owner.with_header("If-Match", last.header("etag").unwrap()).patch(&event_url, json!({})).await.assert_problem(412, "precondition_failed");
            seen.push(now);
        }
        let location = &seen.last().unwrap().data()["location"];
        assert_eq!((&location["notes"], &location["status"]), (&json!("Gate 2"), &json!("archived")));
    }
}
