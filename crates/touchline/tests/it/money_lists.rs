//! Tests of the lists of payments and refunds, of refund responses, and of changes to orders.

use testkit::{Value, World, both, json, seconds};

use crate::dues::{charge_member, due_path};
use crate::events::field_texts;
use crate::shop::{event_types_since, order, order_api_path, product};

fn id(object: &Value) -> &str {
    object["id"].as_str().unwrap()
}

both! {
    async fn lists_payments_and_refunds_of_orders_and_dues(w: &World) {
        let club = w.club().await;
        let kit = product(w, &club.hawks, json!({ "price": 1000 })).await;
        let bought = order(w, kit.id(), 2).await;
        w.owner.post(&order_api_path(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
        w.advance_clock(seconds(60));
        let due = charge_member(w, &club.hawks, &club.max.member, json!({ "amount": 5000 })).await;
        let paid = w.owner.post(&due_path(&due, "/payments"), json!({ "method": "bank_transfer", "amount": 3000 })).await.created();
        let other = charge_member(w, &club.otters, &club.ole.member, json!({ "amount": 700 })).await;
        w.owner.post(&due_path(&other, "/payments"), json!({ "method": "cash", "amount": 700 })).await.created();
        let subjects = async |query: &str| field_texts(&w.owner.get(&format!("/payments{query}")).await.ok(), "subject_id");
        assert_eq!(subjects("").await, [id(&other), id(&due), bought.id()]);
        assert_eq!(subjects("?order=asc&limit=1").await, [bought.id()]);
        assert_eq!(subjects(&format!("?team_id={}", club.otters)).await, [id(&other)]);
        assert_eq!(subjects("?method=cash").await, [id(&other), bought.id()]);
        assert_eq!(subjects(&format!("?subject_id={}", id(&due))).await, [id(&due)]);
        assert_eq!(subjects(&format!("?payer_id={}", club.pat)).await, [id(&due)]);
        assert_eq!(subjects("?to=2026-09-05T10:00:30Z").await, [bought.id()]);
        assert_eq!(subjects("?from=2026-09-05T10:00:30Z").await, [id(&other), id(&due)]);
        w.advance_clock(seconds(60));
        // A refund responds with the order or payment, and the refund.
        let refunded = w.owner.post(&order_api_path(&bought, "/refund"), json!({ "amount": 500, "reason": "Torn" })).await.ok();
        assert_eq!((&refunded.data()["object"], &refunded.data()["refunded"]), (&json!("order"), &json!(500)));
        let refund = &refunded.data()["refund"];
        assert_eq!((&refund["object"], &refund["amount"], &refund["status"], &refund["reason"]), (&json!("refund"), &json!(500), &json!("succeeded"), &json!("Torn")));
        let path = due_path(&due, &format!("/payments/{}/refund", paid.id()));
        let back = w.owner.post(&path, json!({ "amount": 1000 })).await.ok();
        assert_eq!((&back.data()["object"], &back.data()["refund"]["amount"]), (&json!("payment"), &json!(1000)));
        assert_eq!(subjects("?updated_since=2026-09-05T10:01:30Z").await, [id(&due), bought.id()]);
        let refunds = async |query: &str| field_texts(&w.owner.get(&format!("/refunds{query}")).await.ok(), "subject_id");
        assert_eq!(refunds("").await, [id(&due), bought.id()]);
        assert_eq!(refunds(&format!("?payment_id={}", paid.id())).await, [id(&due)]);
        assert_eq!(refunds("?status=failed").await, Vec::<String>::new());
        assert_eq!(refunds(&format!("?subject_id={}", bought.id())).await, [bought.id()]);
        let wrong = w.owner.get("/payments?subject_id=team_x&method=gold").await.assert_problem(400, "invalid_parameter");
        assert_eq!(wrong.parameters(), ["subject_id", "method"]);
    }

    async fn families_and_coaches_see_their_own_payments(w: &World) {
        let club = w.club().await;
        for (team, member) in [(&club.hawks, &club.max.member), (&club.otters, &club.ole.member)] {
            let due = charge_member(w, team, member, json!({ "amount": 500 })).await;
            let payment = w.owner.post(&due_path(&due, "/payments"), json!({ "method": "cash", "amount": 500 })).await.created();
            let path = due_path(&due, &format!("/payments/{}/refund", payment.id()));
            w.owner.post(&path, json!({ "amount": 100 })).await.ok();
        }
        let parent = w.client_for_user(club.parent.id, "orders:read").await;
        let coach = w.client_for_user(club.coach.id, "orders:read").await;
        for client in [parent, coach] {
            for list in ["/payments", "/refunds"] {
                assert_eq!(field_texts(&client.get(list).await.ok(), "team_id"), [club.hawks.as_str()], "{list}");
            }
            let other = client.get(&format!("/payments?team_id={}", club.otters)).await.ok();
            assert_eq!(other.data(), &json!([]));
        }
    }

    async fn note_and_metadata_of_an_order_can_be_changed(w: &World) {
        let club = w.club().await;
        let kit = product(w, &club.hawks, json!({})).await;
        let bought = order(w, kit.id(), 1).await;
        let since = w.notifications().await.len();
        let path = order_api_path(&bought, "");
        let changed = w.owner.patch(&path, json!({ "note": "Ring twice", "metadata": { "invoice": "17" } })).await.ok();
        assert_eq!((&changed.data()["note"], &changed.data()["metadata"], &changed.data()["version"]), (&json!("Ring twice"), &json!({ "invoice": "17" }), &json!(2)));
        assert_eq!(w.owner.get(&path).await.ok().data(), changed.data());
        // The same again changes nothing.
        let same = w.owner.patch(&path, json!({ "note": "Ring twice" })).await.ok();
        assert_eq!(same.data()["version"], 2);
        assert_eq!(event_types_since(w, since).await, ["order.updated"]);
        let stale = w.owner.with_header("If-Match", "\"1\"").patch(&path, json!({ "note": null })).await;
        stale.assert_problem(412, "precondition_failed");
        assert_eq!(w.owner.patch(&path, json!({ "note": null })).await.ok().data()["note"], json!(null));
        let wrong = w.owner.patch(&path, json!({ "total": 1 })).await.assert_problem(400, "invalid_parameter");
        assert_eq!(wrong.pointers(), ["/total"]);
    }

    async fn the_last_day_of_the_calendar_is_a_valid_filter(w: &World) {
        for list in ["/orders?from=", "/payments?to=", "/events?from=", "/teams?updated_since=", "/dues?updated_since="] {
            w.owner.get(&format!("{list}9999-12-31")).await.ok();
            w.owner.get(&format!("{list}0001-01-01")).await.ok();
        }
    }

    async fn detail_names_the_first_problem(w: &World) {
        let body = json!({ "code": "a b", "percent_bps": 500 });
        let refused = w.owner.post("/discounts", body).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.body["detail"], "`/code`: A code must not contain spaces.");
        let refused = w.owner.get("/notifications?after=99999").await.assert_problem(400, "invalid_parameter");
        assert_eq!(refused.parameters(), ["after"]);
    }

    async fn a_discount_reports_everything_that_is_missing(w: &World) {
        let missing = w.owner.post("/discounts", json!({})).await.assert_problem(422, "validation_failed");
        let mut pointers = missing.pointers();
        pointers.sort_unstable();
        assert_eq!(pointers, ["/amount", "/code"]);
        let body = json!({ "code": "a b", "amount": 1, "percent_bps": 20000, "valid_from": "2027-01-01T00:00:00Z", "valid_until": "2026-01-01T00:00:00Z" });
        let wrong = w.owner.post("/discounts", body).await.assert_problem(422, "validation_failed");
        let mut pointers = wrong.pointers();
        pointers.sort_unstable();
        assert_eq!(pointers, ["/code", "/currency", "/percent_bps", "/valid_until"]);
    }
}
