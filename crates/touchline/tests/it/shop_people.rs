//! Tests of who may sell, buy and see what.

use testkit::{World, both, json};

use crate::events::team_client;
use crate::roster::audit_entries;
use crate::roster_access::client_with_all_scopes;
use crate::shop::{order_api_path, order_body, product};
use crate::shop_orders::csv_order_rows;

both! {
    async fn families_order_for_themselves_and_see_only_their_orders(w: &World) {
        let club = w.club().await;
        let (pat, lia, kim) = (client_with_all_scopes(w, club.parent.id).await, client_with_all_scopes(w, club.player.id).await, client_with_all_scopes(w, club.coach.id).await);
        let kit = product(w, &club.hawks, json!({})).await;
        let otter_kit = product(w, &club.otters, json!({ "name": "Otter kit" })).await;
        w.owner.post("/products", json!({ "name": "Scarf", "price": 900 })).await.created();
        assert_eq!(pat.get("/products").await.ok().names(), ["Home kit", "Scarf"]);
        pat.get(&format!("/products/{}", otter_kit.id())).await.assert_problem(404, "not_found");
        let line = json!([{ "product_id": kit.id(), "quantity": 1 }]);
        // Without a buyer, the caller is the buyer; a parent may also order for their child.
        let own_order = pat.post("/orders", json!({ "lines": line })).await.created();
        assert_eq!(own_order.data()["buyer"]["person_id"], json!(club.pat));
        let child_order = pat.post("/orders", json!({ "lines": line, "buyer": { "member_id": club.max.member } })).await.created();
        assert_eq!(child_order.data()["buyer"]["name"], "Max");
        let refused = pat.post("/orders", json!({ "lines": line, "buyer": { "member_id": club.zoe.member } })).await;
        refused.assert_problem(403, "forbidden");
        pat.post("/orders", json!({ "lines": line, "buyer": { "name": "Somebody" } })).await.assert_problem(403, "forbidden");
        pat.post("/orders", json!({ "lines": line, "buyer": { "member_id": club.ole.member } })).await.assert_problem(422, "validation_failed");
        pat.post("/orders", json!({ "lines": line, "buyer": { "person_id": club.lia.person } })).await.assert_problem(422, "validation_failed");
        let other_team_order = json!({ "lines": [{ "product_id": otter_kit.id(), "quantity": 1 }] });
        assert_eq!(pat.post("/orders", other_team_order).await.assert_problem(422, "validation_failed").pointers(), ["/lines/0/product_id"]);
        // Families see their own orders, the coach those of the team.
        assert_eq!(pat.get("/orders").await.ok().data().as_array().unwrap().len(), 2);
        assert_eq!(lia.get("/orders").await.ok().data(), &json!([]));
        lia.get(&order_api_path(&own_order, "")).await.assert_problem(404, "not_found");
        lia.post(&order_api_path(&own_order, "/cancel"), json!({})).await.assert_problem(404, "not_found");
        pat.post(&order_api_path(&own_order, "/pay"), json!({ "method": "cash" })).await.assert_problem(403, "forbidden");
        pat.post(&order_api_path(&own_order, "/cancel"), json!({})).await.ok();
        assert_eq!(kim.get("/orders").await.ok().data().as_array().unwrap().len(), 2);
        kim.post(&order_api_path(&child_order, "/pay"), json!({ "method": "cash" })).await.ok();
        kim.post(&order_api_path(&child_order, "/fulfill"), json!({})).await.ok();
        pat.post(&order_api_path(&child_order, "/refund"), json!({})).await.assert_problem(403, "forbidden");
        kim.post(&order_api_path(&child_order, "/refund"), json!({})).await.ok();
        // The coach sells to anybody, but only products of the team.
        kim.post("/orders", json!({ "lines": line, "buyer": { "name": "Somebody" } })).await.created();
        kim.post("/orders", json!({ "lines": line, "buyer": { "person_id": club.pat } })).await.created();
        let scarf = w.owner.post("/products", json!({ "name": "Scarf", "price": 900, "currency": "EUR" })).await.created();
        let both_lines = json!([line[0], { "product_id": scarf.id(), "quantity": 1 }]);
        let refused = kim.post("/orders", json!({ "lines": both_lines, "buyer": { "name": "Somebody" } })).await.assert_problem(403, "forbidden");
        assert_eq!(refused.pointers(), ["/lines/1/product_id"]);
        w.owner.post("/orders", json!({ "lines": both_lines, "buyer": { "name": "Somebody" } })).await.created();
        kim.patch(&format!("/products/{}", kit.id()), json!({ "stock": 5 })).await.ok();
        kim.post("/products", json!({ "name": "Club", "price": 1 })).await.assert_problem(403, "forbidden");
        kim.patch(&format!("/products/{}", otter_kit.id()), json!({ "stock": 5 })).await.assert_problem(404, "not_found");
        kim.get("/discounts").await.assert_problem(403, "forbidden");
    }

    async fn products_can_be_limited_to_members_or_staff(w: &World) {
        let club = w.club().await;
        let members = product(w, &club.hawks, json!({ "name": "Members", "available_to": "members" })).await;
        let staff = product(w, &club.hawks, json!({ "name": "Staff", "available_to": "staff" })).await;
        let place_order = async |product: &str, buyer: serde_json::Value| {
            let mut body = order_body(product, 1);
            body["buyer"] = buyer;
            w.owner.post("/orders", body).await
        };
        for buyer in [&club.max.person, &club.pat, &club.kim.person] {
            place_order(members.id(), json!({ "person_id": buyer })).await.created();
        }
        place_order(staff.id(), json!({ "person_id": club.kim.person })).await.created();
        for (product, buyer) in [
            (&members, json!({ "person_id": club.ole.person })),
            (&members, json!({ "name": "Somebody" })),
            (&staff, json!({ "person_id": club.max.person })),
            (&staff, json!({ "person_id": club.pat })),
        ] {
            let refused = place_order(product.id(), buyer).await.assert_problem(409, "conflict");
            assert_eq!(refused.body["errors"][0]["code"], "not_for_buyer");
        }
    }

    async fn team_key_sells_only_for_its_team(w: &World) {
        let club = w.club().await;
        let key = team_client(w, &club.hawks, "orders:read orders:write").await;
        let kit = product(w, &club.hawks, json!({})).await;
        let otter_kit = product(w, &club.otters, json!({ "name": "Otter kit" })).await;
        let scarf = w.owner.post("/products", json!({ "name": "Scarf", "price": 900 })).await.created();
        assert_eq!(key.get("/products").await.ok().names(), ["Home kit", "Scarf"]);
        key.post("/orders", order_body(kit.id(), 1)).await.created();
        key.post("/orders", order_body(otter_kit.id(), 1)).await.assert_problem(422, "validation_failed");
        assert_eq!(key.post("/orders", order_body(scarf.id(), 1)).await.assert_problem(422, "validation_failed").pointers(), ["/team_id"]);
        let mut body = order_body(scarf.id(), 1);
        body["team_id"] = json!(club.hawks);
        key.post("/orders", body).await.created();
        let other = w.owner.post("/orders", order_body(otter_kit.id(), 1)).await.created();
        key.get(&order_api_path(&other, "")).await.assert_problem(404, "not_found");
        assert_eq!(key.get("/orders").await.ok().data().as_array().unwrap().len(), 2);
        key.patch(&format!("/products/{}", scarf.id()), json!({ "price": 1 })).await.assert_problem(403, "forbidden");
        assert_eq!(csv_order_rows(&key.get("/exports/orders.csv").await.ok()), 2);
    }

    async fn exports_and_erases_a_persons_orders(w: &World) {
        let club = w.club().await;
        let kit = product(w, &club.hawks, json!({})).await;
        let mut body = order_body(kit.id(), 1);
        body["buyer"] = json!({ "member_id": club.lia.member });
        body["note"] = json!("Zorblax");
        let with_key = w.owner.with_header("Idempotency-Key", "once");
        let bought = with_key.post("/orders", body).await.created();
        w.owner.post(&order_api_path(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
        let export = w.owner.get(&format!("/people/{}/export", club.lia.person)).await.ok();
        let orders = &export.data()["store"]["orders"];
        assert_eq!((&orders[0]["id"], &orders[0]["note"]), (&json!(bought.id()), &json!("Zorblax")));
        w.owner.post(&format!("/people/{}/erase", club.lia.person), json!({})).await.ok();
        let order_after = w.owner.get(&order_api_path(&bought, "")).await.ok();
        assert_eq!((&order_after.data()["buyer"]["name"], &order_after.data()["note"], &order_after.data()["total"]), (&json!("Erased"), &json!(null), &json!(2499)));
        let order_events = w.notifications().await.into_iter().filter(|row| row["type"].as_str().unwrap().starts_with("order."));
        for row in order_events {
            assert_eq!(row["data"]["object"]["buyer"]["name"], "Erased", "{row}");
        }
        let entries = format!("{:?}", audit_entries(w).await);
        assert!(!entries.contains("Zorblax") && !entries.contains("\"name\":\"Lia\""), "{entries}");
    }
    async fn erasing_a_person_clears_reasons_and_references(w: &World) {
        let club = w.club().await;
        let kit = product(w, &club.hawks, json!({})).await;
        let mut body = order_body(kit.id(), 1);
        body["buyer"] = json!({ "member_id": club.lia.member });
        body["metadata"] = json!({ "said": "Zorblax" });
        let bought = w.owner.post("/orders", body.clone()).await.created();
        w.owner.post(&order_api_path(&bought, "/pay"), json!({ "method": "cash", "reference": "Zorblax" })).await.ok();
        w.owner.post(&order_api_path(&bought, "/refund"), json!({ "amount": 100, "reason": "Zorblax" })).await.ok();
        let other = w.owner.post("/orders", body).await.created();
        w.owner.post(&order_api_path(&other, "/cancel"), json!({ "reason": "Zorblax" })).await.ok();
        let export = w.owner.get(&format!("/people/{}/export", club.lia.person)).await.ok();
        assert_eq!(export.data()["store"]["orders"][0]["payments"][0]["reference"], "Zorblax");
        w.owner.post(&format!("/people/{}/erase", club.lia.person), json!({})).await.ok();
        for path in [order_api_path(&bought, ""), order_api_path(&bought, "/payments"), order_api_path(&bought, "/refunds"), order_api_path(&other, "")] {
            let after = w.owner.get(&path).await.ok();
            assert!(!after.text.contains("Zorblax") && !after.text.contains("Lia"), "{}", after.text);
        }
        assert!(!format!("{:?} {:?}", w.notifications().await, audit_entries(w).await).contains("Zorblax"));
    }

    async fn erases_a_buyer_who_is_not_a_member(w: &World) {
        let club = w.club().await;
        let kit = product(w, &club.hawks, json!({})).await;
        let mut body = order_body(kit.id(), 1);
        body["buyer"] = json!({ "name": "Zorblax", "email": "zorblax@example.org" });
        body["note"] = json!("Zorblax");
        let with_key = w.owner.with_header("Idempotency-Key", "once");
        let bought = with_key.post("/orders", body.clone()).await.created();
        w.owner.post(&order_api_path(&bought, "/cancel"), json!({ "reason": "Zorblax" })).await.ok();
        let erase = order_api_path(&bought, "/erase_buyer");
        client_with_all_scopes(w, club.coach.id).await.post(&erase, json!({})).await.assert_problem(403, "forbidden");
        w.stranger.post(&erase, json!({})).await.assert_problem(404, "not_found");
        let erased = w.owner.post(&erase, json!({})).await.ok();
        assert_eq!((&erased.data()["buyer"]["name"], &erased.data()["total"]), (&json!("Erased"), &json!(2499)));
        assert_eq!(erased.data()["status"], "cancelled");
        let replayed = with_key.post("/orders", body).await.created();
        for text in [erased.text, w.owner.get(&order_api_path(&bought, "")).await.ok().text, replayed.text] {
            assert!(!text.to_lowercase().contains("zorblax"), "{text}");
        }
        let logs = format!("{:?} {:?}", w.notifications().await, audit_entries(w).await).to_lowercase();
        assert!(!logs.contains("zorblax"), "{logs}");
        let mut member_order = order_body(kit.id(), 1);
        member_order["buyer"] = json!({ "member_id": club.lia.member });
        let member_order = w.owner.post("/orders", member_order).await.created();
        w.owner.post(&order_api_path(&member_order, "/erase_buyer"), json!({})).await.assert_problem(409, "invalid_state");
    }
}
