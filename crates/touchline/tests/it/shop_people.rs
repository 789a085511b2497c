//! Stories about who may sell, buy and see what.

use testkit::{World, both, json};

use crate::events::narrowed;
use crate::roster::audit;
use crate::shop::{below, product, wanted};
use crate::shop_orders::rows;
use crate::standing::acting;

both! {
    async fn families_order_for_themselves_and_see_what_is_theirs(w: &World) {
        let cast = w.cast().await;
        let (pat, lia, kim) = (acting(w, cast.parent.id).await, acting(w, cast.player.id).await, acting(w, cast.coach.id).await);
        let kit = product(w, &cast.hawks, json!({})).await;
        let hidden = product(w, &cast.otters, json!({ "name": "Otter kit" })).await;
        w.owner.post("/products", json!({ "name": "Scarf", "price": 900 })).await.created();
        assert_eq!(pat.get("/products").await.ok().names(), ["Home kit", "Scarf"]);
        pat.get(&format!("/products/{}", hidden.id())).await.refused(404, "not_found");
        let line = json!([{ "product_id": kit.id(), "quantity": 1 }]);
        // Whoever says nothing means themselves; a parent also orders for their child.
        let own = pat.post("/orders", json!({ "lines": line })).await.created();
        assert_eq!(own.data()["buyer"]["person_id"], json!(cast.pat));
        let ward = pat.post("/orders", json!({ "lines": line, "buyer": { "member_id": cast.max.member } })).await.created();
        assert_eq!(ward.data()["buyer"]["name"], "Max");
        let foreign = pat.post("/orders", json!({ "lines": line, "buyer": { "member_id": cast.zoe.member } })).await;
        foreign.refused(403, "forbidden");
        pat.post("/orders", json!({ "lines": line, "buyer": { "name": "Somebody" } })).await.refused(403, "forbidden");
        pat.post("/orders", json!({ "lines": line, "buyer": { "member_id": cast.ole.member } })).await.refused(422, "validation_failed");
        pat.post("/orders", json!({ "lines": line, "buyer": { "person_id": cast.lia.person } })).await.refused(422, "validation_failed");
        let elsewhere = json!({ "lines": [{ "product_id": hidden.id(), "quantity": 1 }] });
        assert_eq!(pat.post("/orders", elsewhere).await.refused(422, "validation_failed").pointers(), ["/lines/0/product_id"]);
        // Everybody sees their own, the coach all of the team.
        assert_eq!(pat.get("/orders").await.ok().data().as_array().unwrap().len(), 2);
        assert_eq!(lia.get("/orders").await.ok().data(), &json!([]));
        lia.get(&below(&own, "")).await.refused(404, "not_found");
        lia.post(&below(&own, "/cancel"), json!({})).await.refused(404, "not_found");
        pat.post(&below(&own, "/pay"), json!({ "method": "cash" })).await.refused(403, "forbidden");
        pat.post(&below(&own, "/cancel"), json!({})).await.ok();
        assert_eq!(kim.get("/orders").await.ok().data().as_array().unwrap().len(), 2);
        kim.post(&below(&ward, "/pay"), json!({ "method": "cash" })).await.ok();
        kim.post(&below(&ward, "/fulfil"), json!({})).await.ok();
        pat.post(&below(&ward, "/refund"), json!({})).await.refused(403, "forbidden");
        kim.post(&below(&ward, "/refund"), json!({})).await.ok();
        // The coach sells to anybody, but only what is the team's.
        kim.post("/orders", json!({ "lines": line, "buyer": { "name": "Somebody" } })).await.created();
        kim.post("/orders", json!({ "lines": line, "buyer": { "person_id": cast.pat } })).await.created();
        let scarf = w.owner.post("/products", json!({ "name": "Scarf", "price": 900, "currency": "EUR" })).await.created();
        let both = json!([line[0], { "product_id": scarf.id(), "quantity": 1 }]);
        let refused = kim.post("/orders", json!({ "lines": both, "buyer": { "name": "Somebody" } })).await.refused(403, "forbidden");
        assert_eq!(refused.pointers(), ["/lines/1/product_id"]);
        w.owner.post("/orders", json!({ "lines": both, "buyer": { "name": "Somebody" } })).await.created();
        kim.patch(&format!("/products/{}", kit.id()), json!({ "stock": 5 })).await.ok();
        kim.post("/products", json!({ "name": "Club", "price": 1 })).await.refused(403, "forbidden");
        kim.patch(&format!("/products/{}", hidden.id()), json!({ "stock": 5 })).await.refused(404, "not_found");
        kim.get("/discounts").await.refused(403, "forbidden");
    }

    async fn some_products_are_not_for_everyone(w: &World) {
        let cast = w.cast().await;
        let members = product(w, &cast.hawks, json!({ "name": "Members", "buyers": "members" })).await;
        let staff = product(w, &cast.hawks, json!({ "name": "Staff", "buyers": "staff" })).await;
        let place = async |product: &str, buyer: serde_json::Value| {
            let mut body = wanted(product, 1);
            body["buyer"] = buyer;
            w.owner.post("/orders", body).await
        };
        for buyer in [&cast.max.person, &cast.pat, &cast.kim.person] {
            place(members.id(), json!({ "person_id": buyer })).await.created();
        }
        place(staff.id(), json!({ "person_id": cast.kim.person })).await.created();
        for (product, buyer) in [
            (&members, json!({ "person_id": cast.ole.person })),
            (&members, json!({ "name": "Somebody" })),
            (&staff, json!({ "person_id": cast.max.person })),
            (&staff, json!({ "person_id": cast.pat })),
        ] {
            let refused = place(product.id(), buyer).await.refused(409, "conflict");
            assert_eq!(refused.body["errors"][0]["code"], "not_for_buyer");
        }
    }

    async fn a_narrow_key_sells_for_its_team_only(w: &World) {
        let cast = w.cast().await;
        let key = narrowed(w, &cast.hawks, "orders:read orders:write").await;
        let kit = product(w, &cast.hawks, json!({})).await;
        let hidden = product(w, &cast.otters, json!({ "name": "Otter kit" })).await;
        let scarf = w.owner.post("/products", json!({ "name": "Scarf", "price": 900 })).await.created();
        assert_eq!(key.get("/products").await.ok().names(), ["Home kit", "Scarf"]);
        key.post("/orders", wanted(kit.id(), 1)).await.created();
        key.post("/orders", wanted(hidden.id(), 1)).await.refused(422, "validation_failed");
        assert_eq!(key.post("/orders", wanted(scarf.id(), 1)).await.refused(422, "validation_failed").pointers(), ["/team_id"]);
        let mut body = wanted(scarf.id(), 1);
        body["team_id"] = json!(cast.hawks);
        key.post("/orders", body).await.created();
        let other = w.owner.post("/orders", wanted(hidden.id(), 1)).await.created();
        key.get(&below(&other, "")).await.refused(404, "not_found");
        assert_eq!(key.get("/orders").await.ok().data().as_array().unwrap().len(), 2);
        key.patch(&format!("/products/{}", scarf.id()), json!({ "price": 1 })).await.refused(403, "forbidden");
        assert_eq!(rows(&key.get("/exports/orders.csv").await.ok()), 2);
    }

    async fn what_was_bought_is_handed_over_and_forgotten_with_the_person(w: &World) {
        let cast = w.cast().await;
        let kit = product(w, &cast.hawks, json!({})).await;
        let mut body = wanted(kit.id(), 1);
        body["buyer"] = json!({ "member_id": cast.lia.member });
        body["note"] = json!("Zorblax");
        let once = w.owner.with("Idempotency-Key", "once");
        let bought = once.post("/orders", body).await.created();
        w.owner.post(&below(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
        let held = w.owner.get(&format!("/people/{}/export", cast.lia.person)).await.ok();
        let orders = &held.data()["shop"]["orders"];
        assert_eq!((&orders[0]["id"], &orders[0]["note"]), (&json!(bought.id()), &json!("Zorblax")));
        w.owner.post(&format!("/people/{}/erase", cast.lia.person), json!({})).await.ok();
        let left = w.owner.get(&below(&bought, "")).await.ok();
        assert_eq!((&left.data()["buyer"]["name"], &left.data()["note"], &left.data()["total"]), (&json!("Erased"), &json!(null), &json!(2499)));
        let told = w.news().await.into_iter().filter(|news| news["type"].as_str().unwrap().starts_with("order."));
        for news in told {
            assert_eq!(news["data"]["object"]["buyer"]["name"], "Erased", "{news}");
        }
        let entered = format!("{:?}", audit(w).await);
        assert!(!entered.contains("Zorblax") && !entered.contains("\"name\":\"Lia\""), "{entered}");
    }
    async fn reasons_and_references_go_with_the_person(w: &World) {
        let cast = w.cast().await;
        let kit = product(w, &cast.hawks, json!({})).await;
        let mut body = wanted(kit.id(), 1);
        body["buyer"] = json!({ "member_id": cast.lia.member });
        body["metadata"] = json!({ "said": "Zorblax" });
        let bought = w.owner.post("/orders", body.clone()).await.created();
        w.owner.post(&below(&bought, "/pay"), json!({ "method": "cash", "reference": "Zorblax" })).await.ok();
        w.owner.post(&below(&bought, "/refund"), json!({ "amount": 100, "reason": "Zorblax" })).await.ok();
        let other = w.owner.post("/orders", body).await.created();
        w.owner.post(&below(&other, "/cancel"), json!({ "reason": "Zorblax" })).await.ok();
        let held = w.owner.get(&format!("/people/{}/export", cast.lia.person)).await.ok();
        assert_eq!(held.data()["shop"]["orders"][0]["payments"][0]["reference"], "Zorblax");
        w.owner.post(&format!("/people/{}/erase", cast.lia.person), json!({})).await.ok();
        for path in [below(&bought, ""), below(&bought, "/payments"), below(&bought, "/refunds"), below(&other, "")] {
            let left = w.owner.get(&path).await.ok();
            assert!(!left.text.contains("Zorblax") && !left.text.contains("Lia"), "{}", left.text);
        }
        assert!(!format!("{:?} {:?}", w.news().await, audit(w).await).contains("Zorblax"));
    }

    async fn a_buyer_who_was_only_named_can_be_erased(w: &World) {
        let cast = w.cast().await;
        let kit = product(w, &cast.hawks, json!({})).await;
        let mut body = wanted(kit.id(), 1);
        body["buyer"] = json!({ "name": "Zorblax", "email": "zorblax@example.org" });
        body["note"] = json!("Zorblax");
        let once = w.owner.with("Idempotency-Key", "once");
        let bought = once.post("/orders", body.clone()).await.created();
        w.owner.post(&below(&bought, "/cancel"), json!({ "reason": "Zorblax" })).await.ok();
        let erase = below(&bought, "/erase_buyer");
        acting(w, cast.coach.id).await.post(&erase, json!({})).await.refused(403, "forbidden");
        w.stranger.post(&erase, json!({})).await.refused(404, "not_found");
        let left = w.owner.post(&erase, json!({})).await.ok();
        assert_eq!((&left.data()["buyer"]["name"], &left.data()["total"]), (&json!("Erased"), &json!(2499)));
        assert_eq!(left.data()["status"], "cancelled");
        let replayed = once.post("/orders", body).await.created();
        for text in [left.text, w.owner.get(&below(&bought, "")).await.ok().text, replayed.text] {
            assert!(!text.to_lowercase().contains("zorblax"), "{text}");
        }
        let logs = format!("{:?} {:?}", w.news().await, audit(w).await).to_lowercase();
        assert!(!logs.contains("zorblax"), "{logs}");
        let mut known = wanted(kit.id(), 1);
        known["buyer"] = json!({ "member_id": cast.lia.member });
        let known = w.owner.post("/orders", known).await.created();
        w.owner.post(&below(&known, "/erase_buyer"), json!({})).await.refused(409, "invalid_state");
    }
}
