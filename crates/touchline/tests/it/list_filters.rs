//! Tests of filters that many lists share: the time of the last change, several teams or types, and external ids.

use testkit::{TestResponse, World, both, json, seconds};

use crate::dues::{charge_member, due_path};
use crate::events::{event_path, field_texts, practice, team, team_client};
use crate::messages::{announce, message_path};
use crate::messages_fixtures::TeamFixture;
use crate::roster::create_team;
use crate::shop::{code, order, order_api_path, order_body, product};

/// The ids of the objects in a list.
async fn list_ids(w: &World, path: &str) -> Vec<String> {
    field_texts(&w.owner.get(path).await.ok(), "id")
}

/// Creates a location with this name.
async fn location(w: &World, name: &str) -> TestResponse {
    w.owner.post("/locations", json!({ "name": name })).await.created()
}

/// Creates a practice on this day of September.
async fn practice_on(w: &World, team: &str, day: u8) -> TestResponse {
    let (start, end) = (format!("2026-09-{day}T18:00:00Z"), format!("2026-09-{day}T19:00:00Z"));
    w.owner.post("/events", practice(team, &start, &end)).await.created()
}

both! {
    async fn updated_since_lists_only_what_changed(w: &World) {
        let club = TeamFixture::new(w, "Hawks", "open").await;
        let (hawks, owls) = (club.team.to_string(), create_team(w, "Owls").await);
        let ana = club.add_member("Ana", "player", None).await;
        let bob = club.add_member("Bob", "player", None).await;
        let (game, _) = (practice_on(w, &hawks, 10).await, practice_on(w, &hawks, 11).await);
        let (pitch, _) = (location(w, "Pitch").await, location(w, "Hall").await);
        let news = announce(w, &club, json!({})).await.created();
        announce(w, &club, json!({})).await.created();
        let kit = product(w, &hawks, json!({ "name": "Kit" })).await;
        let ball = product(w, &hawks, json!({ "name": "Ball" })).await;
        let (bought, _) = (order(w, ball.id(), 1).await, order(w, ball.id(), 2).await);
        let (tenth, _) = (code(w, json!({})).await, code(w, json!({ "code": "OTHER" })).await);
        let due = charge_member(w, &hawks, &ana.member.to_string(), json!({})).await;
        charge_member(w, &hawks, &bob.member.to_string(), json!({})).await;

        w.advance_clock(seconds(60));
        for (path, change) in [
            (owls.path(""), json!({ "sport": "rugby" })),
            // The member changes together with the person.
            (format!("/people/{}", ana.person), json!({ "preferred_name": "Anni" })),
            (event_path(&game, ""), json!({ "notes": "Bring water" })),
            (format!("/locations/{}", pitch.id()), json!({ "notes": "Behind the school" })),
            (message_path(&news), json!({ "pinned": true })),
            (format!("/products/{}", kit.id()), json!({ "price": 2799 })),
            (format!("/discounts/{}", tenth.id()), json!({ "max_uses": 5 })),
            (due_path(&due, ""), json!({ "title": "Autumn fee" })),
        ] {
            w.owner.patch(&path, change).await.ok();
        }
        w.owner.post(&order_api_path(&bought, "/pay"), json!({ "method": "cash" })).await.ok();

        for (list, changed) in [
            ("/teams".to_owned(), owls.id().to_owned()),
            (format!("/teams/{hawks}/roster"), ana.member.to_string()),
            ("/people".to_owned(), ana.person.to_string()),
            ("/events".to_owned(), game.id().to_owned()),
            ("/locations".to_owned(), pitch.id().to_owned()),
            ("/messages".to_owned(), news.id().to_owned()),
            ("/products".to_owned(), kit.id().to_owned()),
            ("/orders".to_owned(), bought.id().to_owned()),
            ("/discounts".to_owned(), tenth.id().to_owned()),
            ("/dues".to_owned(), due["id"].as_str().unwrap().to_owned()),
        ] {
            let since = async |time: &str| list_ids(w, &format!("{list}?updated_since={time}")).await;
            assert_eq!(since("2026-09-05T10:01:00Z").await, [changed], "{list}");
            assert_eq!(since("2026-09-05T10:01:00.000001Z").await, Vec::<String>::new(), "{list}");
            assert_eq!(since("2026-09-05T10:00:00Z").await.len(), 2, "{list}");
            assert_eq!(since("2026-09-05").await.len(), 2, "{list}");
            let refused = w.owner.get(&format!("{list}?updated_since=yesterday")).await;
            assert_eq!(refused.assert_problem(400, "invalid_parameter").parameters(), ["updated_since"], "{list}");
        }
    }

    async fn lists_take_several_teams_and_types(w: &World) {
        let (hawks, owls, crows) = (team(w, "Hawks").await, team(w, "Owls").await, team(w, "Crows").await);
        for (team, kind) in [(&hawks, "game"), (&owls, "practice"), (&crows, "meeting")] {
            let body = json!({ "team_id": team, "type": kind, "title": kind, "starts_at": "2026-09-10T18:00:00Z" });
            w.owner.post("/events", body).await.created();
            let sold = product(w, team, json!({ "name": kind })).await;
            order(w, sold.id(), 1).await;
        }
        let titles = async |query: &str| field_texts(&w.owner.get(&format!("/events?{query}")).await.ok(), "title");
        assert_eq!(titles(&format!("team_id={hawks},{crows}")).await, ["game", "meeting"]);
        assert_eq!(titles(&format!("team_id={crows}%2C{hawks}&order=desc")).await, ["meeting", "game"]);
        assert_eq!(titles(&format!("team_id={owls},{owls}")).await, ["practice"]);
        assert_eq!(titles("type=practice,meeting").await, ["practice", "meeting"]);
        assert_eq!(titles("type=game").await, ["game"]);
        assert_eq!(titles(&format!("team_id={hawks},{owls}&type=practice,meeting")).await, ["practice"]);
        // The cursor continues the same list.
        let query = format!("team_id={hawks},{crows}&limit=1");
        let page = w.owner.get(&format!("/events?{query}")).await.ok();
        let cursor = page.body["next_cursor"].as_str().unwrap();
        assert_eq!(titles(&format!("{query}&cursor={cursor}")).await, ["meeting"]);
        let both = format!("team_id={hawks},{crows}&order=asc");
        assert_eq!(w.owner.get(&format!("/products?{both}")).await.ok().names(), ["game", "meeting"]);
        let sold = w.owner.get(&format!("/orders?{both}")).await.ok();
        assert_eq!(field_texts(&sold, "team_id"), [hawks.clone(), crows.clone()]);

        let wrong = [format!("{hawks},team_x"), format!("{hawks},"), String::new(), vec![hawks.clone(); 51].join(",")];
        for list in ["/events", "/messages", "/products", "/orders", "/dues"] {
            for ids in &wrong {
                let refused = w.owner.get(&format!("{list}?team_id={ids}")).await;
                assert_eq!(refused.assert_problem(400, "invalid_parameter").parameters(), ["team_id"], "{list} {ids}");
            }
        }
        for types in ["game,party", "game,", "", "game,game,game,game,game,game"] {
            let refused = w.owner.get(&format!("/events?type={types}")).await;
            assert_eq!(refused.assert_problem(400, "invalid_parameter").parameters(), ["type"], "{types}");
        }
        // A key for one team gets the same response as for a single team that it cannot access.
        let key = team_client(w, &hawks, "events:read messages:read orders:read").await;
        for list in ["/events", "/messages", "/products", "/orders"] {
            key.get(&format!("{list}?team_id={hawks},{owls}")).await.assert_problem(404, "not_found");
            key.get(&format!("{list}?team_id={hawks}")).await.ok();
        }
    }

    async fn messages_and_dues_take_several_teams(w: &World) {
        let (mut messages, mut dues, mut teams) = (Vec::new(), Vec::new(), Vec::new());
        for (name, players) in [("Hawks", ["Ana", "Bob"]), ("Owls", ["Cora", "Dan"]), ("Crows", ["Eva", "Finn"])] {
            let club = TeamFixture::new(w, name, "open").await;
            let first = club.add_member(players[0], "player", None).await;
            club.add_member(players[1], "player", None).await;
            let (team, member) = (club.team.to_string(), first.member.to_string());
            messages.push(announce(w, &club, json!({})).await.created().id().to_owned());
            let due = charge_member(w, &team, &member, json!({})).await;
            dues.push(due["id"].as_str().unwrap().to_owned());
            teams.push(team);
        }
        let query = format!("team_id={},{}&order=asc", teams[0], teams[2]);
        assert_eq!(list_ids(w, &format!("/messages?{query}")).await, [messages[0].as_str(), messages[2].as_str()]);
        assert_eq!(list_ids(w, &format!("/dues?{query}")).await, [dues[0].as_str(), dues[2].as_str()]);
        assert_eq!(list_ids(w, &format!("/dues?team_id={}", teams[1])).await, [dues[1].as_str()]);
    }

    async fn finds_an_order_by_its_external_id(w: &World) {
        let hawks = team(w, "Hawks").await;
        let kit = product(w, &hawks, json!({})).await;
        let mut body = order_body(kit.id(), 1);
        body["external_id"] = json!("till-17");
        let bought = w.owner.post("/orders", body).await.created();
        order(w, kit.id(), 2).await;
        assert_eq!(list_ids(w, "/orders?external_id=till-17").await, [bought.id()]);
        assert_eq!(list_ids(w, &format!("/orders?external_id=till-17&team_id={hawks}")).await, [bought.id()]);
        assert_eq!(list_ids(w, "/orders?external_id=till-18").await, Vec::<String>::new());
        let refused = w.owner.get("/orders?external_id=").await.assert_problem(400, "invalid_parameter");
        assert_eq!(refused.parameters(), ["external_id"]);
    }
}
