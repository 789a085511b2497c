//! Tests of invalid products and orders: all errors are reported and nothing is changed.

use testkit::{World, both, json};

use crate::roster::create_team;
use crate::shop::{order, order_api_path, order_body, product, stock_of};

both! {
    async fn rejects_invalid_products(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let before = w.notifications().await;
        for (changes, pointer) in [
            (json!({ "price": -1 }), "/price"),
            (json!({ "price": 10.5 }), "/price"),
            (json!({ "price": "10" }), "/price"),
            (json!({ "price": 1_000_000_000_001i64 }), "/price"),
            (json!({ "price": 1e30 }), "/price"),
            (json!({ "price": null }), "/price"),
            (json!({ "currency": "XXY" }), "/currency"),
            (json!({ "currency": "eur" }), "/currency"),
            (json!({ "tax_rate_bps": 10_001 }), "/tax_rate_bps"),
            (json!({ "tax_rate_bps": -1 }), "/tax_rate_bps"),
            (json!({ "stock": -1 }), "/stock"),
            (json!({ "stock": 0.5 }), "/stock"),
            (json!({ "max_per_order": 0 }), "/max_per_order"),
            (json!({ "available_to": "nobody" }), "/available_to"),
            (json!({ "stock": 1, "variants": [{ "name": "S" }] }), "/stock"),
            (json!({ "variants": [{ "name": "S" }, { "name": "s" }] }), "/variants/1/name"),
            (json!({ "variants": [{ "price": 1 }] }), "/variants/0/name"),
            (json!({ "variants": [{ "id": "var_01kbm2x5q8f7vr0n3hd9tzc4wy", "name": "S" }] }), "/variants/0/id"),
            (json!({ "variants": [{ "name": "S", "stock": -1 }] }), "/variants/0/stock"),
            (json!({ "on_sale_from": "2026-09-06T10:00:00Z", "on_sale_until": "2026-09-05T10:00:00Z" }), "/on_sale_until"),
        ] {
            let mut body = json!({ "team_id": hawks.id(), "name": "Kit", "price": 1 });
            body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            let refused = w.owner.post("/products", body.clone()).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), [pointer], "{body}");
        }
        assert_eq!(w.notifications().await, before);
        // Amounts are in the smallest unit of the currency.
        for currency in ["JPY", "KWD"] {
            let created = product(w, hawks.id(), json!({ "currency": currency, "price": 1 })).await;
            assert_eq!(order(w, created.id(), 3).await.data()["total"], 3);
        }
    }

    async fn rejects_invalid_orders_with_all_errors(w: &World) {
        let (hawks, otters) = (create_team(w, "Hawks").await, create_team(w, "Otters").await);
        let kit = product(w, hawks.id(), json!({ "stock": 5, "max_per_order": 3 })).await;
        let sized = product(w, hawks.id(), json!({ "name": "Sized", "variants": [{ "name": "S", "stock": 1 }] })).await;
        let yen = product(w, hawks.id(), json!({ "name": "Yen", "currency": "JPY" })).await;
        let archived = product(w, hawks.id(), json!({ "name": "Gone" })).await;
        w.owner.delete(&format!("/products/{}", archived.id())).await.ok();
        let other = product(w, otters.id(), json!({ "name": "Other" })).await;
        let expensive = product(w, hawks.id(), json!({ "name": "Dear", "price": 1_000_000_000_000i64 })).await;
        let theirs = w.stranger.post("/products", json!({ "name": "Theirs", "price": 1 })).await.created();
        let limited = product(w, hawks.id(), json!({ "name": "Scarce", "max_per_order": 3, "variants": [{ "name": "S" }, { "name": "M" }] })).await;
        let two_of = |product: &testkit::TestResponse, variant: usize| json!({ "product_id": product.id(), "variant_id": product.data()["variants"][variant]["id"], "quantity": 2 });
        let ben = w.add_member(hawks.id(), json!({ "first_name": "Ben" })).await;
        let before = w.notifications().await;
        let line = |product: &str| json!({ "product_id": product, "quantity": 1 });
        let lines_with = |quantity: serde_json::Value| json!([{ "product_id": kit.id(), "quantity": quantity }]);
        let buyer = json!({ "name": "Rui" });
        for (body, status, pointers) in [
            (json!({ "buyer": buyer, "lines": [] }), 422, vec!["/lines"]),
            (json!({ "buyer": buyer }), 422, vec!["/lines"]),
            (json!({ "lines": [line(kit.id())] }), 422, vec!["/buyer"]),
            (json!({ "buyer": {}, "lines": [line(kit.id())] }), 422, vec!["/buyer"]),
            (json!({ "buyer": { "member_id": "mem_01kbm2x5q8f7vr0n3hd9tzc4wy" }, "lines": [line(kit.id())] }), 422, vec!["/buyer/member_id"]),
            (json!({ "buyer": { "name": "Rui", "email": "nowhere" }, "lines": [line(kit.id())] }), 422, vec!["/buyer/email"]),
            (json!({ "buyer": buyer, "lines": lines_with(json!(0)) }), 422, vec!["/lines/0/quantity"]),
            (json!({ "buyer": buyer, "lines": lines_with(json!(-1)) }), 422, vec!["/lines/0/quantity"]),
            (json!({ "buyer": buyer, "lines": lines_with(json!(1_000_000_000)) }), 422, vec!["/lines/0/quantity"]),
            (json!({ "buyer": buyer, "lines": lines_with(json!(1.5)) }), 422, vec!["/lines/0/quantity"]),
            (json!({ "buyer": buyer, "lines": lines_with(json!(4)) }), 422, vec!["/lines/0/quantity"]),
            (json!({ "buyer": buyer, "lines": [line(kit.id()), line(kit.id())] }), 422, vec!["/lines/1/product_id"]),
            (json!({ "buyer": buyer, "lines": [line(sized.id())] }), 422, vec!["/lines/0/variant_id"]),
            // The limit per order counts all variants together.
            (json!({ "buyer": buyer, "lines": [two_of(&limited, 0), two_of(&limited, 1)] }), 422, vec!["/lines/0/quantity", "/lines/1/quantity"]),
            (json!({ "buyer": buyer, "lines": [{ "product_id": kit.id(), "variant_id": sized.data()["variants"][0]["id"], "quantity": 1 }] }), 422, vec!["/lines/0/variant_id"]),
            (json!({ "buyer": buyer, "lines": [line(kit.id()), line(yen.id())] }), 422, vec!["/lines/1/product_id"]),
            (json!({ "buyer": buyer, "currency": "USD", "lines": [line(kit.id())] }), 422, vec!["/lines/0/product_id"]),
            (json!({ "buyer": buyer, "currency": "XTS", "lines": [line(kit.id())] }), 422, vec!["/currency"]),
            (json!({ "buyer": buyer, "lines": [line(theirs.id())] }), 422, vec!["/lines/0/product_id"]),
            (json!({ "buyer": buyer, "lines": [line(kit.id()), line(other.id())] }), 422, vec!["/lines/1/product_id"]),
            (json!({ "buyer": buyer, "team_id": otters.id(), "lines": [line(kit.id())] }), 422, vec!["/lines/0/product_id"]),
            (json!({ "buyer": buyer, "lines": [{ "product_id": expensive.id(), "quantity": 1000 }] }), 422, vec!["/lines"]),
            (json!({ "buyer": buyer, "lines": [line(archived.id())] }), 409, vec!["/lines/0/product_id"]),
            (json!({ "buyer": { "member_id": ben.member, "email": "ben@example.org" }, "lines": [line(kit.id())] }), 422, vec!["/buyer/email"]),
            (json!({ "buyer": buyer, "discount_code": "NONE", "lines": [line(theirs.id()), line(sized.id())] }), 422,
                vec!["/lines/0/product_id", "/lines/1/variant_id", "/discount_code"]),
        ] {
            let code = if status == 422 { "validation_failed" } else { "conflict" };
            let refused = w.owner.post("/orders", body.clone()).await.assert_problem(status, code);
            assert_eq!(refused.pointers(), pointers, "{body}");
        }
        // An order is not placed in part.
        let size = &sized.data()["variants"][0]["id"];
        let body = json!({ "buyer": buyer, "lines": [line(kit.id()), { "product_id": sized.id(), "variant_id": size, "quantity": 2 }] });
        assert_eq!(w.owner.post("/orders", body).await.assert_problem(409, "conflict").pointers(), ["/lines/1/quantity"]);
        assert_eq!((stock_of(w, kit.id()).await, w.notifications().await), (json!(5), before));
        // An archived team sells nothing.
        w.owner.delete(&otters.path("")).await.ok();
        w.owner.post("/orders", json!({ "buyer": buyer, "lines": [line(other.id())] })).await.assert_problem(409, "invalid_state");
    }

    async fn rejects_invalid_order_actions(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({})).await;
        let placed = order(w, kit.id(), 2).await;
        let before = w.notifications().await;
        for (action, body, pointer) in [
            ("/pay", json!({}), "/method"),
            ("/pay", json!({ "method": "barter" }), "/method"),
            ("/pay", json!({ "method": "credit" }), "/method"),
            ("/pay", json!({ "method": "cash", "amount": 4997 }), "/amount"),
            ("/pay", json!({ "method": "cash", "amount": 0 }), "/amount"),
            ("/pay", json!({ "method": "cash", "amount": 49.98 }), "/amount"),
            ("/fulfill", json!({ "lines": [] }), "/lines"),
            ("/refund", json!({ "amount": 0 }), "/amount"),
            ("/refund", json!({ "amount": -5 }), "/amount"),
            ("/refund", json!({ "amount": 0.5 }), "/amount"),
            ("/refund", json!({ "lines": [{ "line_id": "lin_01kbm2x5q8f7vr0n3hd9tzc4wy", "quantity": 0 }] }), "/lines/0/quantity"),
        ] {
            let refused = w.owner.post(&order_api_path(&placed, action), body.clone()).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), [pointer], "{action} {body}");
        }
        w.owner.post(&order_api_path(&placed, "/refund"), json!({})).await.assert_problem(409, "invalid_state");
        w.owner.with_header("If-Match", "\"7\"").post(&order_api_path(&placed, "/pay"), json!({ "method": "cash" })).await.assert_problem(412, "precondition_failed");
        assert_eq!(w.notifications().await, before);
        w.owner.post(&order_api_path(&placed, "/pay"), json!({ "method": "cash" })).await.ok();
        let unknown = json!({ "lines": [{ "line_id": "lin_01kbm2x5q8f7vr0n3hd9tzc4wy", "quantity": 1 }] });
        for action in ["/fulfill", "/refund"] {
            let refused = w.owner.post(&order_api_path(&placed, action), unknown.clone()).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/lines/0/line_id"]);
        }
        let line = &placed.data()["lines"][0]["id"];
        let repeated = json!({ "lines": [{ "line_id": line, "quantity": 1 }, { "line_id": line, "quantity": 1 }] });
        assert_eq!(w.owner.post(&order_api_path(&placed, "/refund"), repeated).await.assert_problem(422, "validation_failed").pointers(), ["/lines/1/line_id"]);
        w.owner.post(&order_api_path(&placed, "/refund"), json!({ "amount": 4999 })).await.assert_problem(409, "invalid_state");
        // The same order, sent twice with one key, is one order.
        let with_key = w.owner.with_header("Idempotency-Key", "once");
        let (first, second) = (with_key.post("/orders", order_body(kit.id(), 1)).await.created(), with_key.post("/orders", order_body(kit.id(), 1)).await.created());
        assert_eq!((first.id(), second.header("idempotent-replayed")), (second.id(), Some("true")));
    }
}
