//! Stories about what is sold: products with their variants, and codes that make orders cheaper.

use testkit::{Answer, Cast, Value, World, both, json};

use crate::roster::team;

/// A product of a team, with more said of it.
pub(crate) async fn product(w: &World, team: &str, more: Value) -> Answer {
    let mut body = json!({ "team_id": team, "name": "Home kit", "currency": "EUR", "price": 2499 });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    w.owner.post("/products", body).await.created()
}

/// A code that takes a tenth off, with more said of it.
pub(crate) async fn code(w: &World, more: Value) -> Answer {
    let mut body = json!({ "code": "TENTH", "percent_bp": 1000 });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    w.owner.post("/discounts", body).await.created()
}

/// An order of so many by somebody who is on no roster.
pub(crate) fn wanted(product: &str, quantity: i64) -> Value {
    json!({ "buyer": { "name": "Rui Duarte" }, "lines": [{ "product_id": product, "quantity": quantity }] })
}

/// An order of so many.
pub(crate) async fn order(w: &World, product: &str, quantity: i64) -> Answer {
    w.owner.post("/orders", wanted(product, quantity)).await.created()
}

/// Something below an order.
pub(crate) fn below(order: &Answer, verb: &str) -> String {
    format!("/orders/{}{verb}", order.id())
}

/// How many of a product are left.
pub(crate) async fn left(w: &World, product: &str) -> Value {
    w.owner.get(&format!("/products/{product}")).await.ok().data()["stock"].clone()
}

/// What news were told since, by kind.
pub(crate) async fn told(w: &World, since: usize) -> Vec<String> {
    let news = w.news().await.into_iter().skip(since);
    news.map(|news| news["type"].as_str().unwrap().to_owned()).collect()
}

/// One object of every kind of the store, around a member of a team.
pub(crate) async fn sold(w: &World, team: &str, member: &str) -> [(&'static str, String); 3] {
    let product = product(w, team, json!({})).await.id().to_owned();
    let discount = code(w, json!({ "code": member })).await.id().to_owned();
    let mut body = wanted(&product, 1);
    body["buyer"] = json!({ "member_id": member });
    let order = w.owner.post("/orders", body).await.created().id().to_owned();
    [("{product_id}", product), ("{discount_id}", discount), ("{order_id}", order)]
}

/// Lets everything happen that the store tells.
pub(crate) async fn live(w: &World, cast: &Cast) {
    let variants = json!([{ "name": "S", "stock": 3 }, { "name": "M", "price": 2799 }]);
    let kit = product(
        w,
        &cast.hawks,
        json!({ "variants": variants, "pick_up_on": "2026-10-01", "tax_rate_bp": 2300 }),
    )
    .await;
    let ticket =
        product(w, &cast.hawks, json!({ "name": "Ticket", "stock": 50, "price": 100 })).await;
    let at = format!("/products/{}", ticket.id());
    w.owner.patch(&at, json!({ "price": 200, "description": "For the raffle" })).await.ok();
    let code = code(w, json!({ "most_uses": 5, "team_id": cast.hawks })).await;
    let code_at = format!("/discounts/{}", code.id());
    w.owner.patch(&code_at, json!({ "most_uses": 6 })).await.ok();
    let size = &kit.data()["variants"][0]["id"];
    let body = json!({ "team_id": cast.hawks, "buyer": { "name": "Rui", "email": "rui@example.org" }, "note": "asthma",
        "discount_code": "tenth", "lines": [{ "product_id": kit.id(), "variant_id": size, "quantity": 2 }] });
    let bought = w.owner.post("/orders", body).await.created();
    w.owner.post(&below(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
    w.owner.post(&below(&bought, "/fulfil"), json!({})).await.ok();
    w.owner.post(&below(&bought, "/refund"), json!({ "reason": "Too small" })).await.ok();
    let dropped = order(w, ticket.id(), 1).await;
    w.owner.post(&below(&dropped, "/cancel"), json!({ "reason": "Ordered twice" })).await.ok();
    w.owner.delete(&at).await.ok();
    w.owner.delete(&code_at).await.ok();
    w.owner.patch("/money_settings", json!({ "order_hold_minutes": 60 })).await.ok();
}

both! {
    async fn a_product_is_offered_changed_and_archived(w: &World) {
        let hawks = team(w, "Hawks").await;
        let variants = json!([{ "name": "S", "stock": 3 }, { "name": "M", "price": 2799, "stock": null }]);
        let kit = product(w, hawks.id(), json!({ "variants": variants, "tax_rate_bp": 2300, "buyers": "members",
            "most_per_order": 4, "pick_up_on": "2026-10-01", "external_id": "kit" })).await;
        let data = kit.data();
        assert_eq!((&data["object"], &data["status"], &data["stock"]), (&json!("product"), &json!("active"), &json!(null)));
        assert_eq!((&data["tax_included"], &data["buyers"]), (&json!(true), &json!("members")));
        let size = data["variants"][0].clone();
        assert_eq!((&size["name"], &size["price"], &size["stock"]), (&json!("S"), &json!(null), &json!(3)));
        let at = format!("/products/{}", kit.id());
        assert_eq!(w.owner.get(&at).await.ok().data(), data);
        // The list replaces: what keeps its id stays, what is left out is archived.
        let change = json!({ "variants": [{ "name": "XL", "stock": 9 }, { "id": size["id"], "name": "Small" }] });
        let after = w.owner.patch(&at, change).await.ok();
        let shown: Vec<_> = after.data()["variants"].as_array().unwrap().iter().map(|one| (one["name"].clone(), one["stock"].clone())).collect();
        assert_eq!(shown, [(json!("XL"), json!(9)), (json!("Small"), json!(3))]);
        assert_eq!((&after.data()["variants"][1]["id"], &after.data()["version"]), (&size["id"], &json!(2)));
        assert_eq!(w.owner.get(&at).await.ok().data(), after.data());
        // Nothing changed, nothing told.
        let before = w.news().await.len();
        w.owner.patch(&at, json!({ "name": "Home kit" })).await.ok();
        assert_eq!(w.news().await.len(), before);
        w.owner.with("If-Match", "\"1\"").patch(&at, json!({ "price": 1 })).await.refused(412, "precondition_failed");
        assert_eq!(w.owner.delete(&at).await.ok().data()["status"], "archived");
        w.owner.delete(&at).await.refused(409, "invalid_state");
        w.owner.patch(&at, json!({ "price": 1 })).await.refused(409, "invalid_state");
        assert_eq!(told(w, before).await, ["product.archived"]);
    }

    async fn products_are_listed_by_what_is_asked(w: &World) {
        let hawks = team(w, "Hawks").await;
        product(w, hawks.id(), json!({ "name": "Kit", "external_id": "k" })).await;
        product(w, hawks.id(), json!({ "name": "Over", "on_sale_until": "2026-09-05T09:00:00Z" })).await;
        product(w, hawks.id(), json!({ "name": "Soon", "on_sale_from": "2026-09-05T10:00:30Z" })).await;
        w.owner.post("/products", json!({ "name": "Meal", "price": 0 })).await.created();
        let names = async |query: &str| w.owner.get(&format!("/products{query}")).await.ok().names().join(" ");
        assert_eq!(names("").await, "Kit Over Soon Meal");
        assert_eq!(names("?order=desc").await, "Meal Soon Over Kit");
        assert_eq!(names("?on_sale=true").await, "Kit Meal");
        assert_eq!(names("?on_sale=false").await, "Over Soon");
        assert_eq!(names(&format!("?team_id={}", hawks.id())).await, "Kit Over Soon");
        assert_eq!((names("?q=ME").await, names("?external_id=k").await), ("Meal".to_owned(), "Kit".to_owned()));
        // Nothing was changed, but time has passed.
        w.pass(testkit::seconds(60));
        assert_eq!(names("?on_sale=true").await, "Kit Soon Meal");
        let other = product(w, hawks.id(), json!({ "external_id": "x" })).await;
        let taken = w.owner.patch(&format!("/products/{}", other.id()), json!({ "external_id": "k" })).await;
        assert_eq!(taken.refused(409, "taken").pointers(), ["/external_id"]);
    }

    async fn a_code_is_made_changed_and_archived(w: &World) {
        let tenth = code(w, json!({ "most_uses": 5 })).await;
        assert_eq!((&tenth.data()["object"], &tenth.data()["uses"], &tenth.data()["status"]), (&json!("discount"), &json!(0), &json!("active")));
        let same = w.owner.post("/discounts", json!({ "code": "tenth", "percent_bp": 1 })).await;
        assert_eq!(same.refused(409, "taken").pointers(), ["/code"]);
        let at = format!("/discounts/{}", tenth.id());
        let after = w.owner.patch(&at, json!({ "percent_bp": null, "amount": 500, "currency": "EUR" })).await.ok();
        assert_eq!((&after.data()["amount"], &after.data()["percent_bp"]), (&json!(500), &json!(null)));
        assert_eq!(w.owner.get("/discounts?code=Tenth").await.ok().data()[0]["id"], tenth.id());
        w.owner.delete(&at).await.ok();
        assert_eq!(w.owner.get("/discounts").await.ok().data(), &json!([]));
        code(w, json!({})).await;
        for (body, pointer) in [
            (json!({ "code": "A" }), "/amount"),
            (json!({ "code": "A", "amount": 1 }), "/currency"),
            (json!({ "code": "A", "amount": 1, "currency": "EUR", "percent_bp": 1 }), "/percent_bp"),
            (json!({ "code": "A", "percent_bp": 10_001 }), "/percent_bp"),
            (json!({ "code": "A", "percent_bp": 0 }), "/percent_bp"),
            (json!({ "code": "A", "percent_bp": 12.5 }), "/percent_bp"),
            (json!({ "code": "A B", "percent_bp": 1 }), "/code"),
            (json!({ "code": "A", "percent_bp": 1, "most_uses": 0 }), "/most_uses"),
            (json!({ "code": "A", "percent_bp": 1, "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy" }), "/team_id"),
            (json!({ "code": "A", "percent_bp": 1, "valid_from": "2026-09-05T10:00:00Z", "valid_until": "2026-09-05T10:00:00Z" }), "/valid_until"),
        ] {
            let refused = w.owner.post("/discounts", body.clone()).await.refused(422, "validation_failed");
            assert_eq!(refused.pointers(), [pointer], "{body}");
        }
    }
}
