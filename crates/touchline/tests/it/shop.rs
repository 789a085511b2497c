//! Tests of products with variants, and of discount codes.

use testkit::{TestClub, TestResponse, Value, World, both, json};

use crate::roster::create_team;

/// Creates a product of a team, with these additional fields.
pub(crate) async fn product(w: &World, team: &str, more: Value) -> TestResponse {
    let mut body = json!({ "team_id": team, "name": "Home kit", "currency": "EUR", "price": 2499 });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    w.owner.post("/products", body).await.created()
}

/// Creates a discount code of 10 percent, with these additional fields.
pub(crate) async fn code(w: &World, more: Value) -> TestResponse {
    let mut body = json!({ "code": "TENTH", "percent_bps": 1000 });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    w.owner.post("/discounts", body).await.created()
}

/// The body of an order by a buyer who is on no roster.
pub(crate) fn order_body(product: &str, quantity: i64) -> Value {
    json!({ "buyer": { "name": "Rui Duarte" }, "lines": [{ "product_id": product, "quantity": quantity }] })
}

/// Places an order.
pub(crate) async fn order(w: &World, product: &str, quantity: i64) -> TestResponse {
    w.owner.post("/orders", order_body(product, quantity)).await.created()
}

/// The API path of an order, or of one of its actions.
pub(crate) fn order_api_path(order: &TestResponse, action: &str) -> String {
    format!("/orders/{}{action}", order.id())
}

/// The stock of a product.
pub(crate) async fn stock_of(w: &World, product: &str) -> Value {
    w.owner.get(&format!("/products/{product}")).await.ok().data()["stock"].clone()
}

/// The types of the notifications after the first `since`.
pub(crate) async fn event_types_since(w: &World, since: usize) -> Vec<String> {
    let notifications = w.notifications().await.into_iter().skip(since);
    notifications.map(|row| row["type"].as_str().unwrap().to_owned()).collect()
}

/// One store object of every kind for a member of a team, as path parameters.
pub(crate) async fn create_store_objects(
    w: &World,
    team: &str,
    member: &str,
) -> [(&'static str, String); 3] {
    let product = product(w, team, json!({})).await.id().to_owned();
    let discount = code(w, json!({ "code": member })).await.id().to_owned();
    let mut body = order_body(&product, 1);
    body["buyer"] = json!({ "member_id": member });
    let order = w.owner.post("/orders", body).await.created().id().to_owned();
    [("{product_id}", product), ("{discount_id}", discount), ("{order_id}", order)]
}

/// Triggers every notification type of the store.
pub(crate) async fn trigger_store_events(w: &World, club: &TestClub) {
    let variants = json!([{ "name": "S", "stock": 3 }, { "name": "M", "price": 2799 }]);
    let kit = product(
        w,
        &club.hawks,
        json!({ "variants": variants, "pickup_date": "2026-10-01", "tax_rate_bps": 2300 }),
    )
    .await;
    let ticket =
        product(w, &club.hawks, json!({ "name": "Ticket", "stock": 50, "price": 100 })).await;
    let ticket_path = format!("/products/{}", ticket.id());
    w.owner
        .patch(&ticket_path, json!({ "price": 200, "description": "For the raffle" }))
        .await
        .ok();
    let code = code(w, json!({ "max_uses": 5, "team_id": club.hawks })).await;
    let code_path = format!("/discounts/{}", code.id());
    w.owner.patch(&code_path, json!({ "max_uses": 6 })).await.ok();
    let size = &kit.data()["variants"][0]["id"];
    let body = json!({ "team_id": club.hawks, "buyer": { "name": "Rui", "email": "rui@example.org" }, "note": "asthma",
        "discount_code": "tenth", "lines": [{ "product_id": kit.id(), "variant_id": size, "quantity": 2 }] });
    let bought = w.owner.post("/orders", body).await.created();
    let change = json!({ "note": "asthma, ring twice", "metadata": { "invoice": "17" } });
    w.owner.patch(&order_api_path(&bought, ""), change).await.ok();
    w.owner.post(&order_api_path(&bought, "/pay"), json!({ "method": "cash" })).await.ok();
    w.owner.post(&order_api_path(&bought, "/fulfill"), json!({})).await.ok();
    w.owner.post(&order_api_path(&bought, "/refund"), json!({ "reason": "Too small" })).await.ok();
    let cancelled = order(w, ticket.id(), 1).await;
    w.owner
        .post(&order_api_path(&cancelled, "/cancel"), json!({ "reason": "Ordered twice" }))
        .await
        .ok();
    w.owner.delete(&ticket_path).await.ok();
    w.owner.delete(&code_path).await.ok();
    w.owner.patch("/payment_settings", json!({ "unpaid_order_ttl_minutes": 60 })).await.ok();
}

both! {
    async fn creates_updates_and_archives_a_product(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let variants = json!([{ "name": "S", "stock": 3 }, { "name": "M", "price": 2799, "stock": null }]);
        let kit = product(w, hawks.id(), json!({ "variants": variants, "tax_rate_bps": 2300, "available_to": "members",
            "max_per_order": 4, "pickup_date": "2026-10-01", "external_id": "kit" })).await;
        let data = kit.data();
        assert_eq!((&data["object"], &data["status"], &data["stock"]), (&json!("product"), &json!("active"), &json!(null)));
        assert_eq!((&data["tax_included"], &data["available_to"]), (&json!(true), &json!("members")));
        let size = data["variants"][0].clone();
        assert_eq!((&size["name"], &size["price"], &size["stock"]), (&json!("S"), &json!(null), &json!(3)));
        let path = format!("/products/{}", kit.id());
        assert_eq!(w.owner.get(&path).await.ok().data(), data);
        // The list is replaced: variants with an id are kept, missing ones are archived.
        let change = json!({ "variants": [{ "name": "XL", "stock": 9 }, { "id": size["id"], "name": "Small" }] });
        let after = w.owner.patch(&path, change).await.ok();
        let variants_after: Vec<_> = after.data()["variants"].as_array().unwrap().iter().map(|variant| (variant["name"].clone(), variant["stock"].clone())).collect();
        assert_eq!(variants_after, [(json!("XL"), json!(9)), (json!("Small"), json!(3))]);
        assert_eq!((&after.data()["variants"][1]["id"], &after.data()["version"]), (&size["id"], &json!(2)));
        assert_eq!(w.owner.get(&path).await.ok().data(), after.data());
        // An update without a difference publishes nothing.
        let notification_count = w.notifications().await.len();
        w.owner.patch(&path, json!({ "name": "Home kit" })).await.ok();
        assert_eq!(w.notifications().await.len(), notification_count);
        w.owner.with_header("If-Match", "\"1\"").patch(&path, json!({ "price": 1 })).await.assert_problem(412, "precondition_failed");
        assert_eq!(w.owner.delete(&path).await.ok().data()["status"], "archived");
        w.owner.delete(&path).await.assert_problem(409, "invalid_state");
        w.owner.patch(&path, json!({ "price": 1 })).await.assert_problem(409, "invalid_state");
        assert_eq!(event_types_since(w, notification_count).await, ["product.archived"]);
    }

    async fn lists_and_filters_products(w: &World) {
        let hawks = create_team(w, "Hawks").await;
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
        w.advance_clock(testkit::seconds(60));
        assert_eq!(names("?on_sale=true").await, "Kit Soon Meal");
        let other = product(w, hawks.id(), json!({ "external_id": "x" })).await;
        let refused = w.owner.patch(&format!("/products/{}", other.id()), json!({ "external_id": "k" })).await;
        assert_eq!(refused.assert_problem(409, "taken").pointers(), ["/external_id"]);
    }

    async fn creates_updates_and_archives_a_code(w: &World) {
        let tenth = code(w, json!({ "max_uses": 5 })).await;
        assert_eq!((&tenth.data()["object"], &tenth.data()["use_count"], &tenth.data()["status"]), (&json!("discount"), &json!(0), &json!("active")));
        let duplicate = w.owner.post("/discounts", json!({ "code": "tenth", "percent_bps": 1 })).await;
        assert_eq!(duplicate.assert_problem(409, "taken").pointers(), ["/code"]);
        let path = format!("/discounts/{}", tenth.id());
        let after = w.owner.patch(&path, json!({ "percent_bps": null, "amount": 500, "currency": "EUR" })).await.ok();
        assert_eq!((&after.data()["amount"], &after.data()["percent_bps"]), (&json!(500), &json!(null)));
        assert_eq!(w.owner.get("/discounts?code=Tenth").await.ok().data()[0]["id"], tenth.id());
        w.owner.delete(&path).await.ok();
        assert_eq!(w.owner.get("/discounts").await.ok().data(), &json!([]));
        code(w, json!({})).await;
        for (body, pointer) in [
            (json!({ "code": "A" }), "/amount"),
            (json!({ "code": "A", "amount": 1 }), "/currency"),
            (json!({ "code": "A", "amount": 1, "currency": "EUR", "percent_bps": 1 }), "/percent_bps"),
            (json!({ "code": "A", "percent_bps": 10_001 }), "/percent_bps"),
            (json!({ "code": "A", "percent_bps": 0 }), "/percent_bps"),
            (json!({ "code": "A", "percent_bps": 12.5 }), "/percent_bps"),
            (json!({ "code": "A B", "percent_bps": 1 }), "/code"),
            (json!({ "code": "A", "percent_bps": 1, "max_uses": 0 }), "/max_uses"),
            (json!({ "code": "A", "percent_bps": 1, "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy" }), "/team_id"),
            (json!({ "code": "A", "percent_bps": 1, "valid_from": "2026-09-05T10:00:00Z", "valid_until": "2026-09-05T10:00:00Z" }), "/valid_until"),
        ] {
            let refused = w.owner.post("/discounts", body.clone()).await.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), [pointer], "{body}");
        }
    }
}
