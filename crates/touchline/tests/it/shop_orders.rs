//! Tests of orders: placing, paying, fulfilling, cancelling and refunding.

use store::{Scope, bind};
use testkit::{TestResponse, Value, World, both, json, seconds};

use crate::roster::{audit_entries, create_team};
use crate::shop::{code, event_types_since, order, order_api_path, order_body, product, stock_of};

/// The ledger balances of an order, by account book.
pub(crate) async fn ledger_balances(w: &World, order: &str) -> Vec<(String, i64)> {
    let subject = order.to_owned();
    let scope = Scope::account(w.harbour, "test");
    let read = w.db().read(scope, move |db| {
        db.all(
            "select book, cast(sum(amount) as bigint) as amount from ledger_entry
             where account_id = :account and subject = :subject group by book order by book",
            bind! { subject },
        )
    });
    read.await.unwrap()
}

/// The number of order lines in a CSV file.
pub(crate) fn csv_order_rows(csv: &TestResponse) -> usize {
    csv.text.lines().filter(|line| line.starts_with("ord_")).count()
}

fn sums(order: &TestResponse) -> [i64; 4] {
    ["subtotal", "discount", "tax", "total"].map(|name| order.data()[name].as_i64().unwrap())
}

both! {
    async fn order_is_placed_paid_and_fulfilled(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let variants = json!([{ "name": "M", "price": 2499, "stock": 5 }]);
        let kit = product(w, hawks.id(), json!({ "variants": variants, "tax_rate_bps": 2300 })).await;
        let drink = product(w, hawks.id(), json!({ "name": "Drink", "price": 150, "tax_rate_bps": 600, "tax_included": false })).await;
        w.owner.post("/discounts", json!({ "code": "FIVER", "amount": 500, "currency": "EUR" })).await.created();
        let since = w.notifications().await.len();
        let body = json!({ "buyer": { "name": "Rui Duarte", "email": "rui@example.org" }, "note": "By the door", "discount_code": "fiver",
            "lines": [{ "product_id": kit.id(), "variant_id": kit.data()["variants"][0]["id"], "quantity": 2 }, { "product_id": drink.id(), "quantity": 3 }] });
        let placed = w.owner.post("/orders", body).await.created();
        let data = placed.data();
        assert_eq!(sums(&placed), [5_448, 500, 873, 4_972]);
        assert_eq!((&data["status"], &data["number"], &data["team_id"], &data["currency"]), (&json!("placed"), &json!(1), &json!(hawks.id()), &json!("EUR")));
        assert_eq!(data["buyer"], json!({ "member_id": null, "person_id": null, "name": "Rui Duarte", "email": "rui@example.org" }));
        assert_eq!((&data["note"], &data["discount_code"], &data["expires_at"]), (&json!("By the door"), &json!("FIVER"), &json!("2026-09-07T10:00:00.000000Z")));
        let line = &data["lines"][0];
        assert_eq!((&line["name"], &line["variant_name"], &line["unit_price"], &line["total"]), (&json!("Home kit"), &json!("M"), &json!(2499), &json!(4540)));
        assert_eq!(w.owner.get(&order_api_path(&placed, "")).await.ok().data(), data);
        let product_after = w.owner.get(&format!("/products/{}", kit.id())).await.ok();
        assert_eq!((&product_after.data()["variants"][0]["stock"], &product_after.data()["version"]), (&json!(3), &json!(2)));
        // An order keeps its prices.
        w.owner.patch(&format!("/products/{}", drink.id()), json!({ "price": 900 })).await.ok();
        w.owner.post(&order_api_path(&placed, "/fulfill"), json!({})).await.assert_problem(409, "invalid_state");
        let paid = w.owner.post(&order_api_path(&placed, "/pay"), json!({ "method": "bank_transfer", "reference": "X 1", "amount": 4972 })).await.ok();
        assert_eq!((&paid.data()["status"], &paid.data()["paid"], &paid.data()["expires_at"]), (&json!("paid"), &json!(4972), &json!(null)));
        w.owner.post(&order_api_path(&placed, "/pay"), json!({ "method": "cash" })).await.assert_problem(409, "invalid_state");
        w.owner.post(&order_api_path(&placed, "/cancel"), json!({})).await.assert_problem(409, "invalid_state");
        let two_drinks = json!({ "lines": [{ "line_id": data["lines"][1]["id"], "quantity": 2 }] });
        let partly_fulfilled = w.owner.post(&order_api_path(&placed, "/fulfill"), two_drinks.clone()).await.ok();
        assert_eq!((&partly_fulfilled.data()["status"], &partly_fulfilled.data()["lines"][1]["fulfilled"]), (&json!("paid"), &json!(2)));
        assert_eq!(w.owner.post(&order_api_path(&placed, "/fulfill"), two_drinks).await.assert_problem(422, "validation_failed").pointers(), ["/lines/0/quantity"]);
        let fulfilled = w.owner.post(&order_api_path(&placed, "/fulfill"), json!({})).await.ok();
        assert_eq!((&fulfilled.data()["status"], &fulfilled.data()["lines"][0]["fulfilled"]), (&json!("fulfilled"), &json!(2)));
        w.owner.post(&order_api_path(&placed, "/fulfill"), json!({})).await.assert_problem(409, "invalid_state");
        assert_eq!(event_types_since(w, since).await, ["order.placed", "product.updated", "order.paid", "order.fulfilled", "order.fulfilled"]);
        assert_eq!(ledger_balances(w, placed.id()).await, [("bank".to_owned(), 4972), ("sales".to_owned(), -4099), ("tax".to_owned(), -873)]);
        let notifications = w.notifications().await[since..].iter().map(Value::to_string).collect::<String>();
        assert!(!notifications.contains("rui@example.org") && !notifications.contains("By the door") && notifications.contains("Rui Duarte"));
        let entries = audit_entries(w).await;
        assert!(entries.iter().any(|entry| format!("{entry:?}").contains("order.paid")), "{entries:?}");
    }

    async fn refunding_the_rest_completes_an_order(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "price": 1000, "stock": 10 })).await;
        let bought = w.owner.post("/orders", order_body(kit.id(), 3)).await.created();
        w.owner.post(&order_api_path(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
        let units = |quantity: i64| json!({ "lines": [{ "line_id": bought.data()["lines"][0]["id"], "quantity": quantity }] });
        w.owner.post(&order_api_path(&bought, "/fulfill"), units(1)).await.ok();
        let partly_refunded = w.owner.post(&order_api_path(&bought, "/refund"), units(1)).await.ok();
        assert!(partly_refunded.data()["fulfilled_at"].is_null(), "one unit is not fulfilled yet");
        let refunded = w.owner.post(&order_api_path(&bought, "/refund"), units(1)).await.ok();
        assert_eq!(refunded.data()["status"], "partially_refunded");
        assert!(refunded.data()["fulfilled_at"].is_string());
        w.owner.post(&order_api_path(&bought, "/fulfill"), json!({})).await.assert_problem(409, "invalid_state");
        // Returning a free item fulfills the order instead of leaving it open.
        let gift = product(w, hawks.id(), json!({ "price": 0, "stock": 10 })).await;
        let mut body = order_body(kit.id(), 1);
        body["lines"].as_array_mut().unwrap().push(json!({ "product_id": gift.id(), "quantity": 1 }));
        let bought = w.owner.post("/orders", body).await.created();
        w.owner.post(&order_api_path(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
        let line = |index: usize| json!({ "lines": [{ "line_id": bought.data()["lines"][index]["id"], "quantity": 1 }] });
        w.owner.post(&order_api_path(&bought, "/fulfill"), line(0)).await.ok();
        let refunded = w.owner.post(&order_api_path(&bought, "/refund"), line(1)).await.ok();
        assert_eq!((&refunded.data()["status"], &refunded.data()["refunded"]), (&json!("fulfilled"), &json!(0)));
        assert!(refunded.data()["fulfilled_at"].is_string());
    }

    async fn refund_lines_add_up_to_the_refund(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let (kit, drink) = (product(w, hawks.id(), json!({ "price": 500 })).await, product(w, hawks.id(), json!({ "price": 499 })).await);
        let mut body = order_body(kit.id(), 3);
        body["lines"].as_array_mut().unwrap().push(json!({ "product_id": drink.id(), "quantity": 1 }));
        let bought = w.owner.post("/orders", body).await.created();
        w.owner.post(&order_api_path(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
        let one_unit = json!({ "lines": [{ "line_id": bought.data()["lines"][0]["id"], "quantity": 1 }] });
        for refund in [one_unit, json!({ "amount": 1200 }), json!({})] {
            w.owner.post(&order_api_path(&bought, "/refund"), refund).await.ok();
        }
        let list = w.owner.get(&order_api_path(&bought, "/refunds")).await.ok();
        let refunds = list.data().as_array().unwrap();
        let line_amounts = |refund: &Value| refund["lines"].as_array().unwrap().iter().map(|line| line["amount"].as_i64().unwrap()).collect::<Vec<_>>();
        assert_eq!(refunds.iter().map(|refund| (refund["amount"].as_i64().unwrap(), line_amounts(refund))).collect::<Vec<_>>(),
            [(500, vec![500]), (1200, vec![]), (299, vec![199, 100])]);
        assert_eq!(w.owner.get(&order_api_path(&bought, "")).await.ok().data()["status"], "refunded");
    }

    async fn full_refund_returns_unfulfilled_units(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "price": 1000, "stock": 10 })).await;
        for (restock, expected_stock) in [(None, 9), (Some(false), 6)] {
            let bought = w.owner.post("/orders", order_body(kit.id(), 3)).await.created();
            w.owner.post(&order_api_path(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
            let one_unit = json!({ "lines": [{ "line_id": bought.data()["lines"][0]["id"], "quantity": 1 }] });
            w.owner.post(&order_api_path(&bought, "/fulfill"), one_unit).await.ok();
            let partly_refunded = w.owner.post(&order_api_path(&bought, "/refund"), json!({ "amount": 1000 })).await.ok();
            assert_eq!((&partly_refunded.data()["status"], &partly_refunded.data()["lines"][0]["returned"]), (&json!("partially_refunded"), &json!(0)));
            let refunded = w.owner.post(&order_api_path(&bought, "/refund"), json!({ "amount": 2000, "restock": restock })).await.ok();
            let line = &refunded.data()["lines"][0];
            assert_eq!((&refunded.data()["status"], &line["returned"], &line["fulfilled"]), (&json!("refunded"), &json!(2), &json!(1)));
            assert_eq!(stock_of(w, kit.id()).await, expected_stock);
        }
        // However the last part is refunded, and including free items.
        let gift = product(w, hawks.id(), json!({ "price": 0, "stock": 5 })).await;
        let mut body = order_body(kit.id(), 2);
        body["lines"].as_array_mut().unwrap().push(json!({ "product_id": gift.id(), "quantity": 1 }));
        let bought = w.owner.post("/orders", body).await.created();
        w.owner.post(&order_api_path(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
        w.owner.post(&order_api_path(&bought, "/refund"), json!({ "amount": 1000 })).await.ok();
        assert_eq!((stock_of(w, kit.id()).await, stock_of(w, gift.id()).await), (json!(4), json!(4)));
        let one_unit = json!({ "lines": [{ "line_id": bought.data()["lines"][0]["id"], "quantity": 1 }] });
        let fully_refunded = w.owner.post(&order_api_path(&bought, "/refund"), one_unit).await.ok();
        assert_eq!(fully_refunded.data()["status"], "refunded");
        assert_eq!((stock_of(w, kit.id()).await, stock_of(w, gift.id()).await), (json!(6), json!(5)));
    }

    async fn refunds_by_line_by_amount_and_in_full(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "price": 1000, "stock": 10, "tax_rate_bps": 1900 })).await;
        code(w, json!({ "code": "ODD", "percent_bps": null, "amount": 1, "currency": "EUR" })).await;
        let mut body = order_body(kit.id(), 3);
        body["discount_code"] = json!("ODD");
        let bought = w.owner.post("/orders", body).await.created();
        w.owner.post(&order_api_path(&bought, "/refund"), json!({})).await.assert_problem(409, "invalid_state");
        w.owner.post(&order_api_path(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
        let line = &bought.data()["lines"][0]["id"];
        let units = |quantity: i64, restock: bool| json!({ "lines": [{ "line_id": line, "quantity": quantity }], "restock": restock });
        // 29.99 in three: 9.99, 9.99 and the rest.
        let first = w.owner.post(&order_api_path(&bought, "/refund"), units(1, true)).await.ok();
        assert_eq!((&first.data()["refunded"], &first.data()["status"]), (&json!(999), &json!("partially_refunded")));
        assert_eq!(stock_of(w, kit.id()).await, 8);
        let second = w.owner.post(&order_api_path(&bought, "/refund"), units(1, false)).await.ok();
        assert_eq!((&second.data()["refunded"], &second.data()["lines"][0]["returned"]), (&json!(1998), &json!(2)));
        assert_eq!(stock_of(w, kit.id()).await, 8);
        w.owner.post(&order_api_path(&bought, "/refund"), units(2, true)).await.assert_problem(422, "validation_failed");
        w.owner.post(&order_api_path(&bought, "/refund"), json!({ "amount": 1002 })).await.assert_problem(409, "invalid_state");
        w.owner.post(&order_api_path(&bought, "/refund"), json!({ "amount": 1, "restock": true })).await.assert_problem(422, "validation_failed");
        w.owner.post(&order_api_path(&bought, "/refund"), json!({ "amount": 1, "lines": units(1, true)["lines"] })).await.assert_problem(422, "validation_failed");
        let amount = w.owner.post(&order_api_path(&bought, "/refund"), json!({ "amount": 500, "reason": "Late" })).await.ok();
        assert_eq!((&amount.data()["refunded"], &amount.data()["lines"][0]["returned"]), (&json!(2498), &json!(2)));
        // The rest can still be fulfilled.
        let fulfilled = w.owner.post(&order_api_path(&bought, "/fulfill"), json!({})).await.ok();
        assert_eq!((&fulfilled.data()["status"], &fulfilled.data()["lines"][0]["fulfilled"]), (&json!("partially_refunded"), &json!(1)));
        w.owner.post(&order_api_path(&bought, "/refund"), units(1, true)).await.assert_problem(409, "invalid_state");
        let refunded = w.owner.post(&order_api_path(&bought, "/refund"), json!({})).await.ok();
        assert_eq!((&refunded.data()["refunded"], &refunded.data()["status"]), (&json!(2999), &json!("refunded")));
        assert_eq!((&refunded.data()["lines"][0]["returned"], &refunded.data()["lines"][0]["fulfilled"]), (&json!(3), &json!(0)));
        assert_eq!(stock_of(w, kit.id()).await, 9);
        w.owner.post(&order_api_path(&bought, "/refund"), json!({})).await.assert_problem(409, "invalid_state");
        // Every amount returned to where it came from.
        assert_eq!(ledger_balances(w, bought.id()).await, [("cash".to_owned(), 0), ("sales".to_owned(), 0), ("tax".to_owned(), 0)]);
    }

    async fn refund_includes_the_tax_of_the_line(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let book = product(w, hawks.id(), json!({ "price": 1000, "tax_rate_bps": 0 })).await;
        let kit = product(w, hawks.id(), json!({ "price": 1230, "tax_rate_bps": 2300 })).await;
        let mut body = order_body(book.id(), 1);
        body["lines"].as_array_mut().unwrap().push(json!({ "product_id": kit.id(), "quantity": 2 }));
        let bought = w.owner.post("/orders", body).await.created();
        w.owner.post(&order_api_path(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
        let refund = async |body: Value| w.owner.post(&order_api_path(&bought, "/refund"), body).await.ok();
        let line = |index: usize| bought.data()["lines"][index]["id"].clone();
        let amounts = async || ledger_balances(w, bought.id()).await.into_iter().map(|(_, amount)| amount).collect::<Vec<_>>();
        assert_eq!(amounts().await, [3460, -3000, -460]);
        refund(json!({ "lines": [{ "line_id": line(1), "quantity": 1 }] })).await;
        assert_eq!(amounts().await, [2230, -2000, -230]);
        // An amount contains a proportional part of the tax; the remaining tax never exceeds the
        // remaining money.
        refund(json!({ "amount": 1200 })).await;
        assert_eq!(amounts().await, [1030, -923, -107]);
        refund(json!({ "lines": [{ "line_id": line(0), "quantity": 1 }] })).await;
        assert_eq!(amounts().await, [30, 0, -30]);
        refund(json!({})).await;
        assert_eq!(amounts().await, [0, 0, 0]);
    }

    async fn unpaid_order_expires_and_releases_stock_and_code(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "stock": 3 })).await;
        let tenth = code(w, json!({ "max_uses": 1 })).await;
        w.owner.patch("/payment_settings", json!({ "unpaid_order_ttl_minutes": 30 })).await.ok();
        let mut body = order_body(kit.id(), 3);
        body["discount_code"] = json!("TENTH");
        let unpaid = w.owner.post("/orders", body).await.created();
        let refused = w.owner.post("/orders", order_body(kit.id(), 1)).await.assert_problem(409, "conflict");
        assert_eq!((refused.pointers(), &refused.body["errors"][0]["code"]), (vec!["/lines/0/quantity"], &json!("sold_out")));
        w.advance_clock(seconds(29 * 60));
        touchline::jobs::expire_orders(&w.node.app).await;
        assert_eq!(w.owner.get(&order_api_path(&unpaid, "")).await.ok().data()["status"], "placed");
        w.advance_clock(seconds(60));
        // Both nodes try; only one of them cancels it.
        let since = w.notifications().await.len();
        let other = w.node(|_| {}).await;
        tokio::join!(touchline::jobs::expire_orders(&w.node.app), touchline::jobs::expire_orders(&other.app));
        other.stop().await;
        assert_eq!(event_types_since(w, since).await, ["order.cancelled"]);
        let cancelled = w.owner.get(&order_api_path(&unpaid, "")).await.ok();
        assert_eq!((&cancelled.data()["status"], &cancelled.data()["cancel_reason"]), (&json!("cancelled"), &json!("The order was not paid in time.")));
        assert_eq!(stock_of(w, kit.id()).await, 3);
        assert_eq!(w.owner.get(&format!("/discounts/{}", tenth.id())).await.ok().data()["use_count"], 0);
        w.owner.post(&order_api_path(&unpaid, "/pay"), json!({ "method": "cash" })).await.assert_problem(409, "invalid_state");
        w.owner.post(&order_api_path(&unpaid, "/cancel"), json!({})).await.assert_problem(409, "invalid_state");
        w.owner.post(&order_api_path(&unpaid, "/fulfill"), json!({})).await.assert_problem(409, "invalid_state");
        w.owner.post(&order_api_path(&unpaid, "/refund"), json!({})).await.assert_problem(409, "invalid_state");
        // Without a time limit orders do not expire.
        w.owner.patch("/payment_settings", json!({ "unpaid_order_ttl_minutes": null })).await.ok();
        let without_limit = order(w, kit.id(), 1).await;
        assert_eq!(without_limit.data()["expires_at"], json!(null));
    }

    async fn free_order_is_paid_immediately(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "stock": 3 })).await;
        code(w, json!({ "code": "ALL", "percent_bps": 10_000 })).await;
        let mut body = order_body(kit.id(), 2);
        body["discount_code"] = json!("ALL");
        let since = w.notifications().await.len();
        let free = w.owner.post("/orders", body).await.created();
        assert_eq!((sums(&free), &free.data()["status"], &free.data()["paid"]), ([4998, 4998, 0, 0], &json!("paid"), &json!(0)));
        assert_eq!(event_types_since(w, since).await, ["order.placed", "order.paid"]);
        assert_eq!((ledger_balances(w, free.id()).await, w.count("payment").await), (vec![], 0));
        w.owner.post(&order_api_path(&free, "/refund"), json!({})).await.assert_problem(409, "invalid_state");
        // Nothing was paid, so it can be cancelled until it is fulfilled.
        w.owner.post(&order_api_path(&free, "/cancel"), json!({})).await.ok();
        assert_eq!(stock_of(w, kit.id()).await, 3);
        let mut body = order_body(kit.id(), 2);
        body["discount_code"] = json!("ALL");
        let free = w.owner.post("/orders", body).await.created();
        w.owner.post(&order_api_path(&free, "/fulfill"), json!({})).await.ok();
        w.owner.post(&order_api_path(&free, "/cancel"), json!({})).await.assert_problem(409, "invalid_state");
    }

    async fn discount_codes_enforce_their_limits(w: &World) {
        let (hawks, otters) = (create_team(w, "Hawks").await, create_team(w, "Otters").await);
        let kit = product(w, hawks.id(), json!({ "price": 1000 })).await;
        let meal = product(w, otters.id(), json!({ "name": "Meal", "price": 1000 })).await;
        let scarf = w.owner.post("/products", json!({ "name": "Scarf", "price": 1000 })).await.created();
        code(w, json!({ "code": "ONCE", "max_uses_per_buyer": 1 })).await;
        code(w, json!({ "code": "BIG", "min_subtotal": 3000, "currency": "EUR" })).await;
        code(w, json!({ "code": "LATER", "valid_from": "2026-09-06T10:00:00Z" })).await;
        code(w, json!({ "code": "OTTER", "team_id": otters.id() })).await;
        code(w, json!({ "code": "YEN", "percent_bps": null, "amount": 5, "currency": "JPY" })).await;
        let place_order = async |product: &str, code: &str, email: Option<&str>| {
            let mut body = order_body(product, 2);
            body["discount_code"] = json!(code);
            body["buyer"]["email"] = json!(email);
            w.owner.post("/orders", body).await
        };
        place_order(kit.id(), "ONCE", Some("rui@example.org")).await.created();
        let refused = place_order(kit.id(), "ONCE", Some("RUI@example.org")).await.assert_problem(409, "conflict");
        assert_eq!(refused.body["errors"][0]["code"], "limit_reached");
        place_order(kit.id(), "ONCE", Some("eva@example.org")).await.created();
        for code in ["ONCE", "BIG", "LATER", "OTTER", "YEN", "NONE"] {
            let refused = place_order(kit.id(), code, None).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/discount_code"], "{code}");
        }
        assert_eq!(place_order(meal.id(), "OTTER", None).await.created().data()["discount"], 200);
        // Only products of the team are discounted.
        let body = json!({ "buyer": { "name": "Rui" }, "discount_code": "OTTER", "lines": [
            { "product_id": scarf.id(), "quantity": 1 }, { "product_id": meal.id(), "quantity": 1 }] });
        let mixed = w.owner.post("/orders", body).await.created();
        assert_eq!((&mixed.data()["discount"], &mixed.data()["lines"][0]["discount"], &mixed.data()["team_id"]), (&json!(100), &json!(0), &json!(otters.id())));
    }

    async fn lists_and_filters_orders(w: &World) {
        let (hawks, otters) = (create_team(w, "Hawks").await, create_team(w, "Otters").await);
        let (kit, meal) = (product(w, hawks.id(), json!({})).await, product(w, otters.id(), json!({ "name": "Meal" })).await);
        let member = w.add_member(hawks.id(), json!({ "first_name": "Lia" })).await;
        let first = order(w, kit.id(), 1).await;
        w.advance_clock(seconds(3600));
        let mut body = order_body(kit.id(), 2);
        body["buyer"] = json!({ "member_id": member.member });
        let second = w.owner.post("/orders", body).await.created();
        assert_eq!((&second.data()["buyer"]["name"], &second.data()["buyer"]["person_id"]), (&json!("Lia"), &json!(member.person)));
        let third = order(w, meal.id(), 1).await;
        w.owner.post(&order_api_path(&third, "/cancel"), json!({})).await.ok();
        let numbers = async |query: &str| {
            let list = w.owner.get(&format!("/orders{query}")).await.ok();
            list.data().as_array().unwrap().iter().map(|order| order["number"].as_i64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!((numbers("").await, numbers("?order=asc").await), (vec![3, 2, 1], vec![1, 2, 3]));
        assert_eq!(numbers(&format!("?team_id={}", hawks.id())).await, [2, 1]);
        assert_eq!((numbers("?status=cancelled").await, numbers("?status=placed").await), (vec![3], vec![2, 1]));
        assert_eq!(numbers(&format!("?member_id={}", member.member)).await, [2]);
        assert_eq!((numbers(&format!("?product_id={}", meal.id())).await, numbers(&format!("?product_id={}&order=asc", kit.id())).await), (vec![3], vec![1, 2]));
        assert_eq!((numbers("?from=2026-09-05T10:30:00Z").await, numbers("?to=2026-09-05T10:30:00Z").await), (vec![3, 2], vec![1]));
        let page = w.owner.get("/orders?limit=2").await.ok();
        let next = format!("?limit=2&cursor={}", page.body["next_cursor"].as_str().unwrap());
        assert_eq!(numbers(&next).await, [1]);
        let csv = w.owner.get("/exports/orders.csv").await.ok();
        assert_eq!(csv_order_rows(&csv), 3, "{}", csv.text);
        assert!(csv.text.contains(first.id()) && csv.text.contains("Lia") && csv.text.contains(",2499,2,0,"), "{}", csv.text);
        let of_team = w.owner.get(&format!("/exports/orders.csv?team_id={}", otters.id())).await.ok();
        assert_eq!(csv_order_rows(&of_team), 1);
    }
}
