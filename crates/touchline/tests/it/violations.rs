//! Tests that an error names all problems of a request: also those that only the database shows.

use testkit::{World, both, json};

use crate::events::{hawks, team_client};
use crate::roster::field_errors;

const UNKNOWN_TEAM: &str = "team_01kbm2x5q8f7vr0n3hd9tzc4wy";
const UNKNOWN_LOCATION: &str = "loc_01kbm2x5q8f7vr0n3hd9tzc4wy";

both! {
    async fn an_unknown_team_does_not_hide_other_problems(w: &World) {
        let event = json!({ "team_id": UNKNOWN_TEAM, "type": "practice", "starts_at": "2026-09-08T18:00", "ends_at": "2026-09-08T17:00",
            "location_id": UNKNOWN_LOCATION, "recurrence": "FREQ=SOMETIMES" });
        let refused = w.owner.post("/events", event).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/team_id", "not_found"), ("/ends_at", "ends_before_start"), ("/location_id", "not_found"),
            ("/recurrence", "invalid_recurrence")]);
        let due = json!({ "team_id": UNKNOWN_TEAM, "all": true, "title": "Fee", "amount": 100, "due_on": "2026-10-01", "discount": { "amount": 100 } });
        let refused = w.owner.post("/dues", due).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/team_id", "/discount"]);
        let product = json!({ "team_id": UNKNOWN_TEAM, "name": "Cap", "price": 100, "stock": 1, "variants": [{ "name": "S" }] });
        let refused = w.owner.post("/products", product).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/team_id", "/stock"]);
        let message = json!({ "team_id": UNKNOWN_TEAM, "kind": "announcement", "subject": "s", "body": "b", "publish_at": "2020-01-01T00:00:00Z" });
        let refused = w.owner.post("/messages", message).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/publish_at", "/team_id"]);
    }

    async fn an_unknown_team_in_a_body_is_an_invalid_field(w: &World) {
        let team = UNKNOWN_TEAM;
        for (path, body) in [
            ("/calendar_feeds", json!({ "team_id": team })),
            ("/discounts", json!({ "team_id": team, "code": "A", "percent_bps": 100 })),
            ("/dues/remind", json!({ "team_id": team })),
            ("/roster/batch", json!({ "members": [{ "team_id": team, "first_name": "A" }] })),
            ("/webhooks", json!({ "url": "https://hooks.example.org/a", "events": ["*"], "team_ids": [team] })),
        ] {
            let refused = w.owner.post(path, body).await.assert_problem(422, "validation_failed");
            let [(pointer, code)] = field_errors(&refused)[..] else { panic!("{}", refused.text) };
            assert!(pointer.contains("/team_id"), "{path}: {pointer}");
            assert_eq!(code, "not_found", "{path}");
        }
        let both = json!({ "team_id": team, "person_id": "per_01kbm2x5q8f7vr0n3hd9tzc4wy" });
        let refused = w.owner.post("/calendar_feeds", both).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/person_id", "mutually_exclusive")]);
    }

    async fn a_webhook_with_several_problems_gets_all_of_them(w: &World) {
        let webhook = json!({ "url": "hooks", "events": ["event.created", "nothing"], "ordering": "random" });
        let refused = w.owner.post("/webhooks", webhook).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/ordering", "/url", "/events/1"]);
        let webhook = json!({ "url": "https://192.168.1.1/", "events": ["*"], "team_ids": [UNKNOWN_TEAM] });
        let refused = w.owner.post("/webhooks", webhook).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/url", "/team_ids/0"]);
    }

    async fn a_filter_by_a_foreign_team_names_the_parameter(w: &World) {
        let team = hawks(w).await;
        let key = team_client(w, &team, "events:read messages:read orders:read").await;
        for path in ["/events", "/messages", "/orders", "/dues", "/products", "/payments", "/refunds", "/exports/dues.csv"] {
            for teams in [UNKNOWN_TEAM.to_owned(), format!("{team},{UNKNOWN_TEAM}")] {
                if teams.contains(',') && path.starts_with("/exports") {
                    continue;
                }
                let refused = key.get(&format!("{path}?team_id={teams}")).await.assert_problem(404, "not_found");
                assert_eq!(refused.parameters(), ["team_id"], "{path}");
            }
        }
        let feed = w.owner.post("/calendar_feeds", json!({ "team_id": team })).await.created();
        let feeds = w.owner.get(&format!("/calendar_feeds?team_id={team},{UNKNOWN_TEAM}")).await.ok();
        assert_eq!(feeds.data()[0]["id"], feed.id());
    }

    async fn rules_between_fields_are_reported_with_other_problems(w: &World) {
        let team = hawks(w).await;
        let roster = format!("/teams/{team}/roster");
        let time = |hour: u8| format!("2027-03-01T{hour:02}:00:00Z");
        for (path, body, expected) in [
            ("/events", json!({ "team_id": team, "type": "game", "starts_at": time(10), "ends_at": time(9), "capacity": 0, "recurrence": "x" }),
                vec!["/capacity", "/ends_at", "/recurrence"]),
            (&roster, json!({ "first_name": "A", "joined_on": "2026-05-05", "left_on": "2026-05-04", "role": "x" }), vec!["/role", "/left_on"]),
            ("/products", json!({ "name": "x", "price": 1, "on_sale_from": time(9), "on_sale_until": time(8), "stock": -1, "variants": [{}] }),
                vec!["/stock", "/on_sale_until", "/variants/0/name"]),
            ("/products", json!({ "name": "x", "price": 1, "stock": 5, "variants": [{ "name": "A" }], "tax_rate_bps": -1 }), vec!["/tax_rate_bps", "/stock"]),
            ("/locations", json!({ "name": "", "longitude": 1 }), vec!["/name", "/latitude"]),
            ("/discounts", json!({ "code": "A", "amount": 99_999_999_999_999_999_999_f64, "currency": "EUR", "max_uses": 0 }), vec!["/amount", "/max_uses"]),
        ] {
            let refused = w.owner.post(path, body).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), expected, "{}", refused.text);
        }
        let discount = w.owner.post("/discounts", json!({ "code": "A", "percent_bps": 100 })).await.created();
        let change = json!({ "amount": 5, "percent_bps": 5, "valid_from": time(9), "valid_until": time(8), "max_uses": 0 });
        let refused = w.owner.patch(&format!("/discounts/{}", discount.id()), change).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/max_uses", "/percent_bps", "/valid_until"]);
    }

    async fn the_detail_describes_the_first_listed_problem(w: &World) {
        let refused = w.owner.post("/teams", json!({ "name": 1, "color": "red", "foo": 1 })).await.assert_problem(400, "invalid_parameter");
        assert_eq!(refused.pointers()[0], "/foo");
        assert!(refused.body["detail"].as_str().unwrap().starts_with("`/foo`"), "{}", refused.text);
        let refused = w.owner.get("/teams?cursor=x").await.assert_problem(400, "invalid_cursor");
        assert_eq!(refused.parameters(), ["cursor"]);
        let refused = w.owner.get("/teams?status=x").await.assert_problem(400, "invalid_parameter");
        assert!(refused.body["detail"].as_str().unwrap().contains("active, archived, all"), "{}", refused.text);
    }

    async fn a_parameter_of_a_deletion_is_reported_as_one(w: &World) {
        let team = hawks(w).await;
        let event = json!({ "team_id": team, "type": "meeting", "starts_at": "2027-03-01T10:00:00Z" });
        let event = w.owner.post("/events", event).await.created();
        let refused = w.owner.delete(&format!("/events/{}?apply_to=all", event.id())).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.parameters(), ["apply_to"]);
    }

    async fn an_invalid_person_id_does_not_ask_for_a_name(w: &World) {
        let team = hawks(w).await;
        let body = json!({ "person_id": team, "role": 5 });
        let refused = w.owner.post(&format!("/teams/{team}/roster"), body).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/person_id", "/role"]);
    }
}
