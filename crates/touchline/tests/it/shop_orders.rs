//! Stories about orders: placed, paid, handed out, cancelled and given back.

use store::{Scope, bind};
use testkit::{Answer, Value, World, both, json, seconds};

use crate::roster::{audit, team};
use crate::shop::{below, code, left, order, product, told, wanted};

/// What lies in the books for an order, in all and by name.
pub(crate) async fn books(w: &World, order: &str) -> Vec<(String, i64)> {
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

/// How many lines of orders a file has.
pub(crate) fn rows(csv: &Answer) -> usize {
    csv.text.lines().filter(|line| line.starts_with("ord_")).count()
}

fn sums(order: &Answer) -> [i64; 4] {
    ["subtotal", "discount", "tax", "total"].map(|name| order.data()[name].as_i64().unwrap())
}

both! {
    async fn an_order_goes_its_way(w: &World) {
        let hawks = team(w, "Hawks").await;
        let variants = json!([{ "name": "M", "price": 2499, "stock": 5 }]);
        let kit = product(w, hawks.id(), json!({ "variants": variants, "tax_rate_bp": 2300 })).await;
        let drink = product(w, hawks.id(), json!({ "name": "Drink", "price": 150, "tax_rate_bp": 600, "tax_included": false })).await;
        w.owner.post("/discounts", json!({ "code": "FIVER", "amount": 500, "currency": "EUR" })).await.created();
        let since = w.news().await.len();
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
        assert_eq!(w.owner.get(&below(&placed, "")).await.ok().data(), data);
        let shelf = w.owner.get(&format!("/products/{}", kit.id())).await.ok();
        assert_eq!((&shelf.data()["variants"][0]["stock"], &shelf.data()["version"]), (&json!(3), &json!(2)));
        // What was ordered keeps its price.
        w.owner.patch(&format!("/products/{}", drink.id()), json!({ "price": 900 })).await.ok();
        w.owner.post(&below(&placed, "/fulfil"), json!({})).await.refused(409, "invalid_state");
        let paid = w.owner.post(&below(&placed, "/pay"), json!({ "method": "transfer", "reference": "X 1", "amount": 4972 })).await.ok();
        assert_eq!((&paid.data()["status"], &paid.data()["paid"], &paid.data()["expires_at"]), (&json!("paid"), &json!(4972), &json!(null)));
        w.owner.post(&below(&placed, "/pay"), json!({ "method": "cash" })).await.refused(409, "invalid_state");
        w.owner.post(&below(&placed, "/cancel"), json!({})).await.refused(409, "invalid_state");
        let part = json!({ "lines": [{ "line_id": data["lines"][1]["id"], "quantity": 2 }] });
        let some = w.owner.post(&below(&placed, "/fulfil"), part.clone()).await.ok();
        assert_eq!((&some.data()["status"], &some.data()["lines"][1]["fulfilled"]), (&json!("paid"), &json!(2)));
        assert_eq!(w.owner.post(&below(&placed, "/fulfil"), part).await.refused(422, "validation_failed").pointers(), ["/lines/0/quantity"]);
        let whole = w.owner.post(&below(&placed, "/fulfil"), json!({})).await.ok();
        assert_eq!((&whole.data()["status"], &whole.data()["lines"][0]["fulfilled"]), (&json!("fulfilled"), &json!(2)));
        w.owner.post(&below(&placed, "/fulfil"), json!({})).await.refused(409, "invalid_state");
        assert_eq!(told(w, since).await, ["order.placed", "product.updated", "order.paid", "order.fulfilled", "order.fulfilled"]);
        assert_eq!(books(w, placed.id()).await, [("bank".to_owned(), 4972), ("sales".to_owned(), -4099), ("tax".to_owned(), -873)]);
        let news = w.news().await[since..].iter().map(Value::to_string).collect::<String>();
        assert!(!news.contains("rui@example.org") && !news.contains("By the door") && news.contains("Rui Duarte"));
        let entered = audit(w).await;
        assert!(entered.iter().any(|entry| format!("{entry:?}").contains("order.paid")), "{entered:?}");
    }

    async fn an_order_is_handed_out_too_once_the_rest_of_it_was_given_back(w: &World) {
        let hawks = team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "price": 1000, "stock": 10 })).await;
        let bought = w.owner.post("/orders", wanted(kit.id(), 3)).await.created();
        w.owner.post(&below(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
        let units = |quantity: i64| json!({ "lines": [{ "line_id": bought.data()["lines"][0]["id"], "quantity": quantity }] });
        w.owner.post(&below(&bought, "/fulfil"), units(1)).await.ok();
        let some = w.owner.post(&below(&bought, "/refund"), units(1)).await.ok();
        assert!(some.data()["fulfilled_at"].is_null(), "one is still to be handed out");
        let rest = w.owner.post(&below(&bought, "/refund"), units(1)).await.ok();
        assert_eq!(rest.data()["status"], "partially_refunded");
        assert!(rest.data()["fulfilled_at"].is_string());
        w.owner.post(&below(&bought, "/fulfil"), json!({})).await.refused(409, "invalid_state");
        // What is given back for nothing leaves an order that is handed out, not one that waits for ever.
        let gift = product(w, hawks.id(), json!({ "price": 0, "stock": 10 })).await;
        let mut body = wanted(kit.id(), 1);
        body["lines"].as_array_mut().unwrap().push(json!({ "product_id": gift.id(), "quantity": 1 }));
        let bought = w.owner.post("/orders", body).await.created();
        w.owner.post(&below(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
        let line = |place: usize| json!({ "lines": [{ "line_id": bought.data()["lines"][place]["id"], "quantity": 1 }] });
        w.owner.post(&below(&bought, "/fulfil"), line(0)).await.ok();
        let rest = w.owner.post(&below(&bought, "/refund"), line(1)).await.ok();
        assert_eq!((&rest.data()["status"], &rest.data()["refunded"]), (&json!("fulfilled"), &json!(0)));
        assert!(rest.data()["fulfilled_at"].is_string());
    }

    async fn what_a_refund_is_for_adds_up_to_it(w: &World) {
        let hawks = team(w, "Hawks").await;
        let (kit, drink) = (product(w, hawks.id(), json!({ "price": 500 })).await, product(w, hawks.id(), json!({ "price": 499 })).await);
        let mut body = wanted(kit.id(), 3);
        body["lines"].as_array_mut().unwrap().push(json!({ "product_id": drink.id(), "quantity": 1 }));
        let bought = w.owner.post("/orders", body).await.created();
        w.owner.post(&below(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
        let one = json!({ "lines": [{ "line_id": bought.data()["lines"][0]["id"], "quantity": 1 }] });
        for refund in [one, json!({ "amount": 1200 }), json!({})] {
            w.owner.post(&below(&bought, "/refund"), refund).await.ok();
        }
        let given = w.owner.get(&below(&bought, "/refunds")).await.ok();
        let refunds = given.data().as_array().unwrap();
        let parts = |refund: &Value| refund["lines"].as_array().unwrap().iter().map(|line| line["amount"].as_i64().unwrap()).collect::<Vec<_>>();
        assert_eq!(refunds.iter().map(|refund| (refund["amount"].as_i64().unwrap(), parts(refund))).collect::<Vec<_>>(),
            [(500, vec![500]), (1200, vec![]), (299, vec![199, 100])]);
        assert_eq!(w.owner.get(&below(&bought, "")).await.ok().data()["status"], "refunded");
    }

    async fn whoever_has_all_their_money_back_waits_for_nothing(w: &World) {
        let hawks = team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "price": 1000, "stock": 10 })).await;
        for (restock, there) in [(None, 9), (Some(false), 6)] {
            let bought = w.owner.post("/orders", wanted(kit.id(), 3)).await.created();
            w.owner.post(&below(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
            let one = json!({ "lines": [{ "line_id": bought.data()["lines"][0]["id"], "quantity": 1 }] });
            w.owner.post(&below(&bought, "/fulfil"), one).await.ok();
            let some = w.owner.post(&below(&bought, "/refund"), json!({ "amount": 1000 })).await.ok();
            assert_eq!((&some.data()["status"], &some.data()["lines"][0]["returned"]), (&json!("partially_refunded"), &json!(0)));
            let rest = w.owner.post(&below(&bought, "/refund"), json!({ "amount": 2000, "restock": restock })).await.ok();
            let line = &rest.data()["lines"][0];
            assert_eq!((&rest.data()["status"], &line["returned"], &line["fulfilled"]), (&json!("refunded"), &json!(2), &json!(1)));
            assert_eq!(left(w, kit.id()).await, there);
        }
        // By whichever way the last of it went back, and whatever was free.
        let gift = product(w, hawks.id(), json!({ "price": 0, "stock": 5 })).await;
        let mut body = wanted(kit.id(), 2);
        body["lines"].as_array_mut().unwrap().push(json!({ "product_id": gift.id(), "quantity": 1 }));
        let bought = w.owner.post("/orders", body).await.created();
        w.owner.post(&below(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
        w.owner.post(&below(&bought, "/refund"), json!({ "amount": 1000 })).await.ok();
        assert_eq!((left(w, kit.id()).await, left(w, gift.id()).await), (json!(4), json!(4)));
        let one = json!({ "lines": [{ "line_id": bought.data()["lines"][0]["id"], "quantity": 1 }] });
        let all = w.owner.post(&below(&bought, "/refund"), one).await.ok();
        assert_eq!(all.data()["status"], "refunded");
        assert_eq!((left(w, kit.id()).await, left(w, gift.id()).await), (json!(6), json!(5)));
    }

    async fn money_is_given_back_by_line_by_amount_and_whole(w: &World) {
        let hawks = team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "price": 1000, "stock": 10, "tax_rate_bp": 1900 })).await;
        code(w, json!({ "code": "ODD", "percent_bp": null, "amount": 1, "currency": "EUR" })).await;
        let mut body = wanted(kit.id(), 3);
        body["discount_code"] = json!("ODD");
        let bought = w.owner.post("/orders", body).await.created();
        w.owner.post(&below(&bought, "/refund"), json!({})).await.refused(409, "invalid_state");
        w.owner.post(&below(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
        let line = &bought.data()["lines"][0]["id"];
        let units = |quantity: i64, restock: bool| json!({ "lines": [{ "line_id": line, "quantity": quantity }], "restock": restock });
        // 29.99 in three: 9.99, 9.99 and the rest.
        let first = w.owner.post(&below(&bought, "/refund"), units(1, true)).await.ok();
        assert_eq!((&first.data()["refunded"], &first.data()["status"]), (&json!(999), &json!("partially_refunded")));
        assert_eq!(left(w, kit.id()).await, 8);
        let second = w.owner.post(&below(&bought, "/refund"), units(1, false)).await.ok();
        assert_eq!((&second.data()["refunded"], &second.data()["lines"][0]["returned"]), (&json!(1998), &json!(2)));
        assert_eq!(left(w, kit.id()).await, 8);
        w.owner.post(&below(&bought, "/refund"), units(2, true)).await.refused(422, "validation_failed");
        w.owner.post(&below(&bought, "/refund"), json!({ "amount": 1002 })).await.refused(409, "invalid_state");
        w.owner.post(&below(&bought, "/refund"), json!({ "amount": 1, "restock": true })).await.refused(422, "validation_failed");
        w.owner.post(&below(&bought, "/refund"), json!({ "amount": 1, "lines": units(1, true)["lines"] })).await.refused(422, "validation_failed");
        let amount = w.owner.post(&below(&bought, "/refund"), json!({ "amount": 500, "reason": "Late" })).await.ok();
        assert_eq!((&amount.data()["refunded"], &amount.data()["lines"][0]["returned"]), (&json!(2498), &json!(2)));
        // What is left can still be handed out.
        let handed = w.owner.post(&below(&bought, "/fulfil"), json!({})).await.ok();
        assert_eq!((&handed.data()["status"], &handed.data()["lines"][0]["fulfilled"]), (&json!("partially_refunded"), &json!(1)));
        w.owner.post(&below(&bought, "/refund"), units(1, true)).await.refused(409, "invalid_state");
        let rest = w.owner.post(&below(&bought, "/refund"), json!({})).await.ok();
        assert_eq!((&rest.data()["refunded"], &rest.data()["status"]), (&json!(2999), &json!("refunded")));
        assert_eq!((&rest.data()["lines"][0]["returned"], &rest.data()["lines"][0]["fulfilled"]), (&json!(3), &json!(0)));
        assert_eq!(left(w, kit.id()).await, 9);
        w.owner.post(&below(&bought, "/refund"), json!({})).await.refused(409, "invalid_state");
        // All of it went back where it came from.
        assert_eq!(books(w, bought.id()).await, [("cash".to_owned(), 0), ("sales".to_owned(), 0), ("tax".to_owned(), 0)]);
    }

    async fn tax_goes_back_with_the_line_it_was_in(w: &World) {
        let hawks = team(w, "Hawks").await;
        let book = product(w, hawks.id(), json!({ "price": 1000, "tax_rate_bp": 0 })).await;
        let kit = product(w, hawks.id(), json!({ "price": 1230, "tax_rate_bp": 2300 })).await;
        let mut body = wanted(book.id(), 1);
        body["lines"].as_array_mut().unwrap().push(json!({ "product_id": kit.id(), "quantity": 2 }));
        let bought = w.owner.post("/orders", body).await.created();
        w.owner.post(&below(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
        let back = async |what: Value| w.owner.post(&below(&bought, "/refund"), what).await.ok();
        let line = |place: usize| bought.data()["lines"][place]["id"].clone();
        let left = async || books(w, bought.id()).await.into_iter().map(|(_, amount)| amount).collect::<Vec<_>>();
        assert_eq!(left().await, [3460, -3000, -460]);
        back(json!({ "lines": [{ "line_id": line(1), "quantity": 1 }] })).await;
        assert_eq!(left().await, [2230, -2000, -230]);
        // An amount takes its part of what is left; what stays never has more tax than money.
        back(json!({ "amount": 1200 })).await;
        assert_eq!(left().await, [1030, -923, -107]);
        back(json!({ "lines": [{ "line_id": line(0), "quantity": 1 }] })).await;
        assert_eq!(left().await, [30, 0, -30]);
        back(json!({})).await;
        assert_eq!(left().await, [0, 0, 0]);
    }

    async fn an_order_that_is_not_paid_in_time_gives_everything_back(w: &World) {
        let hawks = team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "stock": 3 })).await;
        let tenth = code(w, json!({ "most_uses": 1 })).await;
        w.owner.patch("/money_settings", json!({ "order_hold_minutes": 30 })).await.ok();
        let mut body = wanted(kit.id(), 3);
        body["discount_code"] = json!("TENTH");
        let late = w.owner.post("/orders", body).await.created();
        let refused = w.owner.post("/orders", wanted(kit.id(), 1)).await.refused(409, "conflict");
        assert_eq!((refused.pointers(), &refused.body["errors"][0]["code"]), (vec!["/lines/0/quantity"], &json!("sold_out")));
        w.pass(seconds(29 * 60));
        touchline::jobs::expire_orders(&w.node.app).await;
        assert_eq!(w.owner.get(&below(&late, "")).await.ok().data()["status"], "placed");
        w.pass(seconds(60));
        // Both nodes look; one of them ends it.
        let since = w.news().await.len();
        let other = w.node(|_| {}).await;
        tokio::join!(touchline::jobs::expire_orders(&w.node.app), touchline::jobs::expire_orders(&other.app));
        other.stop().await;
        assert_eq!(told(w, since).await, ["order.cancelled"]);
        let ended = w.owner.get(&below(&late, "")).await.ok();
        assert_eq!((&ended.data()["status"], &ended.data()["cancel_reason"]), (&json!("cancelled"), &json!("It was not paid in time.")));
        assert_eq!(left(w, kit.id()).await, 3);
        assert_eq!(w.owner.get(&format!("/discounts/{}", tenth.id())).await.ok().data()["uses"], 0);
        w.owner.post(&below(&late, "/pay"), json!({ "method": "cash" })).await.refused(409, "invalid_state");
        w.owner.post(&below(&late, "/cancel"), json!({})).await.refused(409, "invalid_state");
        w.owner.post(&below(&late, "/fulfil"), json!({})).await.refused(409, "invalid_state");
        w.owner.post(&below(&late, "/refund"), json!({})).await.refused(409, "invalid_state");
        // Whoever waits for ever is not ended.
        w.owner.patch("/money_settings", json!({ "order_hold_minutes": null })).await.ok();
        let patient = order(w, kit.id(), 1).await;
        assert_eq!(patient.data()["expires_at"], json!(null));
    }

    async fn what_costs_nothing_is_paid_at_once(w: &World) {
        let hawks = team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "stock": 3 })).await;
        code(w, json!({ "code": "ALL", "percent_bp": 10_000 })).await;
        let mut body = wanted(kit.id(), 2);
        body["discount_code"] = json!("ALL");
        let since = w.news().await.len();
        let free = w.owner.post("/orders", body).await.created();
        assert_eq!((sums(&free), &free.data()["status"], &free.data()["paid"]), ([4998, 4998, 0, 0], &json!("paid"), &json!(0)));
        assert_eq!(told(w, since).await, ["order.placed", "order.paid"]);
        assert_eq!((books(w, free.id()).await, w.count("payment").await), (vec![], 0));
        w.owner.post(&below(&free, "/refund"), json!({})).await.refused(409, "invalid_state");
        // Nothing was paid, so it can be called off until something is handed out.
        w.owner.post(&below(&free, "/cancel"), json!({})).await.ok();
        assert_eq!(left(w, kit.id()).await, 3);
        let mut body = wanted(kit.id(), 2);
        body["discount_code"] = json!("ALL");
        let free = w.owner.post("/orders", body).await.created();
        w.owner.post(&below(&free, "/fulfil"), json!({})).await.ok();
        w.owner.post(&below(&free, "/cancel"), json!({})).await.refused(409, "invalid_state");
    }

    async fn codes_keep_their_limits(w: &World) {
        let (hawks, otters) = (team(w, "Hawks").await, team(w, "Otters").await);
        let kit = product(w, hawks.id(), json!({ "price": 1000 })).await;
        let meal = product(w, otters.id(), json!({ "name": "Meal", "price": 1000 })).await;
        let club = w.owner.post("/products", json!({ "name": "Scarf", "price": 1000 })).await.created();
        code(w, json!({ "code": "ONCE", "most_uses_each": 1 })).await;
        code(w, json!({ "code": "BIG", "least_subtotal": 3000, "currency": "EUR" })).await;
        code(w, json!({ "code": "LATER", "valid_from": "2026-09-06T10:00:00Z" })).await;
        code(w, json!({ "code": "OTTER", "team_id": otters.id() })).await;
        code(w, json!({ "code": "YEN", "percent_bp": null, "amount": 5, "currency": "JPY" })).await;
        let place = async |product: &str, code: &str, email: Option<&str>| {
            let mut body = wanted(product, 2);
            body["discount_code"] = json!(code);
            body["buyer"]["email"] = json!(email);
            w.owner.post("/orders", body).await
        };
        place(kit.id(), "ONCE", Some("rui@example.org")).await.created();
        let again = place(kit.id(), "ONCE", Some("RUI@example.org")).await.refused(409, "conflict");
        assert_eq!(again.body["errors"][0]["code"], "used_up");
        place(kit.id(), "ONCE", Some("eva@example.org")).await.created();
        for code in ["ONCE", "BIG", "LATER", "OTTER", "YEN", "NONE"] {
            let refused = place(kit.id(), code, None).await.refused(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/discount_code"], "{code}");
        }
        assert_eq!(place(meal.id(), "OTTER", None).await.created().data()["discount"], 200);
        // Only what the team sells becomes cheaper.
        let body = json!({ "buyer": { "name": "Rui" }, "discount_code": "OTTER", "lines": [
            { "product_id": club.id(), "quantity": 1 }, { "product_id": meal.id(), "quantity": 1 }] });
        let mixed = w.owner.post("/orders", body).await.created();
        assert_eq!((&mixed.data()["discount"], &mixed.data()["lines"][0]["discount"], &mixed.data()["team_id"]), (&json!(100), &json!(0), &json!(otters.id())));
    }

    async fn orders_are_listed_by_what_is_asked(w: &World) {
        let (hawks, otters) = (team(w, "Hawks").await, team(w, "Otters").await);
        let (kit, meal) = (product(w, hawks.id(), json!({})).await, product(w, otters.id(), json!({ "name": "Meal" })).await);
        let member = w.joins(hawks.id(), json!({ "first_name": "Lia" })).await;
        let first = order(w, kit.id(), 1).await;
        w.pass(seconds(3600));
        let mut body = wanted(kit.id(), 2);
        body["buyer"] = json!({ "member_id": member.member });
        let second = w.owner.post("/orders", body).await.created();
        assert_eq!((&second.data()["buyer"]["name"], &second.data()["buyer"]["person_id"]), (&json!("Lia"), &json!(member.person)));
        let third = order(w, meal.id(), 1).await;
        w.owner.post(&below(&third, "/cancel"), json!({})).await.ok();
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
        assert_eq!(rows(&csv), 3, "{}", csv.text);
        assert!(csv.text.contains(first.id()) && csv.text.contains("Lia") && csv.text.contains(",2499,2,0,"), "{}", csv.text);
        let of_team = w.owner.get(&format!("/exports/orders.csv?team_id={}", otters.id())).await.ok();
        assert_eq!(rows(&of_team), 1);
    }
}
