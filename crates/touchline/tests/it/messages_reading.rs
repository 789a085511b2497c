//! Tests of reading messages: receipts, unread counts, lists and visibility.

use futures_util::future::join_all;
use testkit::{World, both, json, seconds};
use touchline::ids::PersonId;

use crate::messages::{
    announce, client_for_team, list_message_ids, message_event_types, message_notifications,
    message_path, post_message,
};
use crate::messages_fixtures::TeamFixture;

both! {
    async fn counts_each_reader_once(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let (ana, bob) = (club.add_member("Ana", "player", None).await, club.add_member("Bob", "player", None).await);
        let sent = announce(w, &club, json!({})).await.created();
        let receipt_path = |person: PersonId| format!("{}/receipts/{person}", message_path(&sent));
        w.advance_clock(seconds(60));
        let read = w.owner.send("PUT", &receipt_path(ana.person), None).await.ok();
        assert_eq!(*read.data(), json!({ "object": "receipt", "message_id": sent.id(), "person_id": ana.person, "name": "Ana Sousa",
            "delivered_at": "2026-09-05T10:00:00.000000Z", "read_at": "2026-09-05T10:01:00.000000Z" }));
        w.advance_clock(seconds(60));
        assert_eq!(w.owner.put(&receipt_path(ana.person), json!({})).await.ok().data(), read.data());
        let now = w.owner.get(&message_path(&sent)).await.ok();
        assert_eq!((&now.data()["receipt_counts"], &now.data()["version"]), (&json!({ "delivered": 2, "read": 1 }), &json!(2)));
        let receipts = async |query: &str| {
            let list = w.owner.get(&format!("{}/receipts?{query}", message_path(&sent))).await.ok();
            list.names().join(",")
        };
        assert_eq!(receipts("read=true").await, "Ana Sousa");
        assert_eq!(receipts("read=false").await, "Bob Sousa");
        assert_eq!(receipts("order=desc").await, "Bob Sousa,Ana Sousa");
        let page = w.owner.get(&format!("{}/receipts?limit=1", message_path(&sent))).await.ok();
        let next = page.body["next_cursor"].as_str().unwrap().to_owned();
        assert_eq!(receipts(&format!("limit=1&cursor={next}")).await, "Bob Sousa");
        w.owner.get(&format!("{}/receipts?read=perhaps", message_path(&sent))).await.assert_problem(400, "invalid_parameter");
        let new_member = club.add_member("Late", "player", None).await;
        w.owner.send("PUT", &receipt_path(new_member.person), None).await.assert_problem(404, "not_found");
        let notifications = message_notifications(w).await;
        assert_eq!(notifications.last().unwrap()["type"], "message.read");
        let object = &notifications.last().unwrap()["data"]["object"];
        assert_eq!((&object["person_id"], &object["team_id"]), (&json!(ana.person), &json!(club.team)));
        assert!(object.get("name").is_none() && object.get("body").is_none());
        let counts = w.owner.get(&format!("/messages/unread?person_id={}", bob.person)).await.ok();
        assert_eq!(*counts.data(), json!({ "person_id": bob.person, "total": 1, "teams": [{ "team_id": club.team, "count": 1 }] }));
    }

    async fn counts_fifty_concurrent_readers(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let mut everybody = Vec::new();
        for number in 0..50 {
            everybody.push(club.add_member(&format!("P{number}"), "player", None).await.person);
        }
        let sent = announce(w, &club, json!({})).await.created();
        let other = w.node(|_| {}).await;
        // Each person reads twice, through two nodes.
        let reads = everybody.iter().flat_map(|person| {
            let receipt_path = format!("{}/receipts/{person}", message_path(&sent));
            [w.owner.clone(), w.owner.at(other.address)].map(|client| {
                let receipt_path = receipt_path.clone();
                async move { client.send("PUT", &receipt_path, None).await.ok(); }
            })
        });
        join_all(reads).await;
        let now = w.owner.get(&message_path(&sent)).await.ok();
        assert_eq!((&now.data()["receipt_counts"], &now.data()["version"]), (&json!({ "delivered": 50, "read": 50 }), &json!(51)));
        let events = message_event_types(w).await.into_iter().filter(|kind| kind == "message.read").count();
        assert_eq!(events, 50);
        other.stop().await;
    }

    async fn counts_and_lists_unread_messages_per_person(w: &World) {
        let (club, other) = (TeamFixture::new(w, "Hawks", "open").await, TeamFixture::new(w, "Kraken", "open").await);
        let ana = club.add_member("Ana", "player", None).await;
        other.add_existing(ana.person, "player").await;
        let bob = club.add_member("Bob", "player", None).await;
        let first = announce(w, &club, json!({})).await.created();
        let second = announce(w, &other, json!({})).await.created();
        let third = announce(w, &club, json!({ "to": "members", "member_ids": [bob.member] })).await.created();
        let fourth = post_message(w, &club, Some(ana.person), json!({})).await.created();
        let unread = async |person: PersonId| w.owner.get(&format!("/messages/unread?person_id={person}")).await.ok().data().clone();
        assert_eq!(unread(ana.person).await["teams"], json!([{ "team_id": club.team, "count": 1 }, { "team_id": other.team, "count": 1 }]));
        assert_eq!(unread(bob.person).await["total"], 3);
        let query = |more: &str| format!("person_id={}{more}", ana.person);
        assert_eq!(list_message_ids(&w.owner, &query("")).await, [second.id(), first.id()]);
        w.owner.send("PUT", &format!("{}/receipts/{}", message_path(&first), ana.person), None).await.ok();
        assert_eq!(list_message_ids(&w.owner, &query("&unread=true")).await, [second.id()]);
        assert_eq!(list_message_ids(&w.owner, &query("&unread=false")).await, [first.id()]);
        assert_eq!(list_message_ids(&w.owner, &query(&format!("&team_id={}", other.team))).await, [second.id()]);
        assert_eq!(unread(ana.person).await["total"], 1);
        w.owner.delete(&message_path(&second)).await.ok();
        assert!(list_message_ids(&w.owner, &query("&unread=true")).await.is_empty());
        assert_eq!(unread(ana.person).await["total"], 0);
        assert_eq!(list_message_ids(&w.owner, "kind=message").await, [fourth.id()]);
        assert_eq!(list_message_ids(&w.owner, &format!("team_id={}&kind=announcement", club.team)).await, [third.id(), first.id()]);
        w.owner.get("/messages?unread=true").await.assert_problem(400, "invalid_parameter");
        w.owner.get("/messages?person_id=ana").await.assert_problem(400, "invalid_parameter");
        w.owner.get("/messages/unread").await.assert_problem(400, "invalid_parameter");
        w.owner.get("/messages/unread?person_id=per_00000000000000000000000001").await.assert_problem(404, "not_found");
        w.owner.send("PATCH", "/messages/unread", Some("{}")).await.assert_problem(405, "method_not_allowed");
    }

    async fn pages_messages_newest_first(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        club.add_member("Ana", "player", None).await;
        let mut posted = Vec::new();
        for _ in 0..5 {
            posted.push(announce(w, &club, json!({})).await.created().id().to_owned());
        }
        posted.reverse();
        for (order, expected) in [("desc", posted.clone()), ("asc", posted.iter().rev().cloned().collect())] {
            for filter in [String::new(), format!("&team_id={}", club.team)] {
                let (mut seen, mut cursor) = (Vec::new(), String::new());
                loop {
                    let page = w.owner.get(&format!("/messages?limit=2&order={order}{filter}{cursor}")).await.ok();
                    seen.extend(page.data().as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()));
                    let Some(next) = page.body["next_cursor"].as_str() else { break };
                    cursor = format!("&cursor={next}");
                }
                assert_eq!(seen, expected, "{order}{filter}");
            }
        }
    }

    async fn team_key_sees_only_messages_of_its_teams(w: &World) {
        let (club, other) = (TeamFixture::new(w, "Hawks", "open").await, TeamFixture::new(w, "Kraken", "open").await);
        let ana = club.add_member("Ana", "player", None).await;
        other.add_existing(ana.person, "player").await;
        let (ours, theirs) = (announce(w, &club, json!({})).await.created(), announce(w, &other, json!({})).await.created());
        let talk = post_message(w, &other, None, json!({})).await.created();
        let key = client_for_team(w, &club).await;
        assert_eq!(list_message_ids(&key, "").await, [ours.id()]);
        key.get(&format!("/messages?team_id={}", other.team)).await.assert_problem(404, "not_found");
        assert!(list_message_ids(&key, &format!("thread_id={}", talk.id())).await.is_empty());
        assert_eq!(list_message_ids(&key, &format!("person_id={}", ana.person)).await, [ours.id()]);
        let unread = key.get(&format!("/messages/unread?person_id={}", ana.person)).await.ok();
        assert_eq!(unread.data()["total"], 1);
        key.get(&message_path(&ours)).await.ok();
        let receipt = format!("{}/receipts/{}", message_path(&theirs), ana.person);
        for client in [&key, &w.stranger] {
            client.get(&message_path(&theirs)).await.assert_problem(404, "not_found");
            client.patch(&message_path(&theirs), json!({ "pinned": true })).await.assert_problem(404, "not_found");
            client.delete(&message_path(&theirs)).await.assert_problem(404, "not_found");
            client.get(&format!("{}/receipts", message_path(&theirs))).await.assert_problem(404, "not_found");
            client.send("PUT", &receipt, None).await.assert_problem(404, "not_found");
            let body = json!({ "team_id": other.team, "kind": "message", "body": "x" });
            client.post("/messages", body).await.assert_problem(422, "validation_failed");
            client.post("/messages", json!({ "parent_id": talk.id(), "body": "x" })).await.assert_problem(422, "validation_failed");
        }
        w.stranger.get(&format!("/messages/unread?person_id={}", ana.person)).await.assert_problem(404, "not_found");
        assert!(list_message_ids(&w.stranger, "status=all").await.is_empty());
        let body = json!({ "team_id": club.team, "kind": "message", "body": "x" });
        key.post("/messages", body).await.created();
    }
}
