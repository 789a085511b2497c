//! Tests of the store pages for admins.

use testkit::{Browser, TestResponse, World, both, json};

use crate::admin_keys::between;
use crate::shop::{code, order, order_api_path, order_body, product, stock_of};

const HOSTILE: &str = "\"><img src=x onerror=alert(1)><script>\u{202e}";

/// The nonce of the first form on a page.
pub(crate) fn nonce_of(page: &TestResponse) -> String {
    between(page, "name=\"nonce\" value=\"", "\"").to_owned()
}

/// Opens a page with a form and submits it.
pub(crate) async fn submit_form(
    browser: &mut Browser,
    path: &str,
    fields: &[(&str, &str)],
) -> TestResponse {
    let page = browser.get(path).await.ok();
    let nonce = nonce_of(&page);
    let all: Vec<_> =
        [("nonce", nonce.as_str())].into_iter().chain(fields.iter().copied()).collect();
    browser.post(path, &all).await
}

/// The hidden field `shown` of a form.
fn shown_value(page: &TestResponse) -> String {
    between(page, "name=\"shown\" value=\"", "\"").to_owned()
}

/// The error message at a field of a page.
fn field_error(page: &TestResponse, field: &str) -> String {
    let start = format!("id=\"{field}-error\">");
    let after_start = page
        .text
        .split(&start)
        .nth(1)
        .unwrap_or_else(|| panic!("{field} has no error: {}", page.text));
    between_text(after_start, "<span>", "</span>").to_owned()
}

fn between_text<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    text.split(before).nth(1).and_then(|rest| rest.split(after).next()).unwrap()
}

/// The number of table rows on a page.
pub(crate) fn table_rows(page: &TestResponse) -> usize {
    page.text
        .split("<tbody>")
        .skip(1)
        .map(|body| body.split("</tbody>").next().unwrap().matches("<tr>").count())
        .sum()
}

pub(crate) async fn store_admin(w: &World) -> Browser {
    let admin = w.user(touchline::accounts::user::Role::Admin, "ana@harbour.example").await;
    w.browser(admin.id).await
}

both! {
    async fn product_form_creates_and_updates_a_product(w: &World) {
        let mut ana = store_admin(w).await;
        let team = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created().id().to_owned();
        ana.get("/admin/store").await.ok().shows("No products yet");
        let fields = [
            ("name", "Home kit"), ("description", "Shirt\r\nand shorts"), ("team_id", team.as_str()), ("currency", "eur"), ("price", "24,99"),
            ("tax_rate_bps", "23"), ("tax_included", "no"), ("stock", ""), ("on_sale_from", "2026-01-01T08:00"), ("on_sale_until", "2099-12-31T23:59"),
            ("available_to", "members"), ("max_per_order", "3"), ("pickup_date", "2026-12-24"), ("external_id", "kit-1"),
            ("variants-0-name", "128"), ("variants-0-price", ""), ("variants-0-stock", "8"),
            ("variants-1-name", ""), ("variants-1-price", ""), ("variants-1-stock", ""),
            ("variants-2-name", "140"), ("variants-2-price", "27.50"), ("variants-2-stock", ""),
        ];
        submit_form(&mut ana, "/admin/store/products/new", &fields).await.redirects_to("/admin/store?done=made");
        let products = w.owner.get("/products").await.ok();
        let created = &products.data()[0];
        let expected = json!({ "team_id": team, "name": "Home kit", "description": "Shirt\nand shorts", "currency": "EUR", "price": 2499,
            "tax_rate_bps": 2300, "tax_included": false, "stock": null, "available_to": "members", "max_per_order": 3, "pickup_date": "2026-12-24",
            "external_id": "kit-1", "status": "active", "version": 1 });
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(&created[field], value, "{field}");
        }
        let sizes: Vec<_> = created["variants"].as_array().unwrap().iter()
            .map(|size| (size["name"].clone(), size["price"].clone(), size["stock"].clone())).collect();
        assert_eq!(sizes, [(json!("128"), json!(null), json!(8)), (json!("140"), json!(2750), json!(null))]);
        assert!(created["on_sale_from"].as_str().unwrap().starts_with("2026-01-01T"), "{created}");
        let page = ana.get("/admin/store?done=made").await.ok().shows("The product was created.").shows("Home kit").shows("Hawks").shows("24.99 to €27.50").shows("Unlimited");
        assert_eq!(table_rows(&page), 1);
        assert_eq!(table_rows(&ana.get("/admin/store?q=HOME").await.ok()), 1);
        ana.get("/admin/store?q=scarf").await.ok().shows("No products match these filters.");
        ana.get("/admin/store?state=archived").await.ok().shows("No products match these filters.");
        // The edit form shows the current values; one variant is removed, another added.
        let path = format!("/admin/store/products/{}", created["id"].as_str().unwrap());
        let page = ana.get(&path).await.ok().shows("value=\"24.99\"").shows("value=\"23\"").shows("value=\"2026-01-01T08:00\"").shows("value=\"27.50\"").shows("variants-4-name");
        let shown_before = shown_value(&page);
        let (id, version) = (between(&page, "name=\"variants-0-id\" value=\"", "\"").to_owned(), between(&page, "name=\"version\" value=\"", "\"").to_owned());
        let change = [
            ("name", "Away kit"), ("price", "30"), ("version", version.as_str()), ("shown", shown_before.as_str()), ("available_to", "everyone"), ("tax_included", "yes"),
            ("variants-0-id", id.as_str()), ("variants-0-name", "128"), ("variants-0-stock", "5"), ("variants-0-was", "8"),
            ("variants-1-name", "152"), ("variants-1-stock", "2"),
        ];
        ana.post(&path, &change).await.redirects_to("/admin/store?done=saved");
        let after = w.owner.get(&format!("/products/{}", created["id"].as_str().unwrap())).await.ok();
        let after = after.data();
        assert_eq!((&after["name"], &after["price"], &after["external_id"], &after["tax_included"]), (&json!("Away kit"), &json!(3000), &json!(null), &json!(true)));
        let sizes: Vec<_> = after["variants"].as_array().unwrap().iter().map(|size| (size["name"].clone(), size["stock"].clone())).collect();
        assert_eq!(sizes, [(json!("128"), json!(5)), (json!("152"), json!(2))]);
        // Archiving asks on a page of its own.
        ana.get(&format!("{path}/archive")).await.ok().shows("What happens next").shows("Away kit");
        for _ in 0..2 {
            ana.post(&format!("{path}/archive"), &[]).await.redirects_to("/admin/store?done=archived");
        }
        ana.get(&path).await.ok().shows("This product is archived");
        assert_eq!(w.owner.get("/products").await.ok().data(), &json!([]));
    }

    async fn product_errors_appear_at_their_fields_and_keep_the_input(w: &World) {
        let mut ana = store_admin(w).await;
        let fields = [
            ("name", ""), ("description", "Kept as it is"), ("price", "cheap"), ("currency", "XYZ"), ("tax_rate_bps", "101"), ("stock", "-3"),
            ("on_sale_from", "soon"), ("pickup_date", "2026-02-30"), ("available_to", "nobody"), ("max_per_order", "0"), ("team_id", "x"),
            ("variants-0-name", ""), ("variants-0-price", "1"), ("variants-0-stock", "many"),
        ];
        let page = submit_form(&mut ana, "/admin/store/products/new", &fields).await;
        assert_eq!(page.status, 422, "{}", page.text);
        for field in ["name", "price", "currency", "tax_rate_bps", "on_sale_from", "pickup_date", "max_per_order", "team_id", "variants-0-name", "variants-0-stock"] {
            assert!(!field_error(&page, field).is_empty(), "{field}");
        }
        let page = page.shows("Nothing was saved").shows("Kept as it is").shows("value=\"cheap\"").shows("value=\"many\"").shows("Use one of");
        assert!(field_error(&page, "stock").contains("Each size has its own stock"), "{}", page.text);
        // Errors found by the domain code: duplicate variant names, a sale that ends before it
        // starts, a duplicate external id.
        product(w, w.owner.post("/teams", json!({ "name": "T" })).await.created().id(), json!({ "external_id": "x1" })).await;
        let fields = [("name", "Kit"), ("price", "1"), ("currency", "EUR"), ("available_to", "everyone"), ("on_sale_from", "2026-02-02T10:00"), ("on_sale_until", "2026-02-01T10:00"),
            ("variants-0-name", "M"), ("variants-1-name", "m")];
        let page = submit_form(&mut ana, "/admin/store/products/new", &fields).await;
        assert_eq!((page.status, field_error(&page, "variants-1-name").as_str()), (422, "Another variant already has this name."));
        assert_eq!(field_error(&page, "on_sale_until"), "The sale must end after it starts.");
        let page = submit_form(&mut ana, "/admin/store/products/new", &[("name", "Kit"), ("price", "1"), ("currency", "EUR"), ("available_to", "everyone"), ("external_id", "x1")]).await;
        assert_eq!((page.status, field_error(&page, "external_id").as_str()), (422, "Another product already has this external ID."));
        assert_eq!(w.owner.get("/products").await.ok().names(), ["Home kit"]);
    }

    async fn resubmitted_form_creates_one_product_and_keeps_concurrent_changes(w: &World) {
        let mut ana = store_admin(w).await;
        let page = ana.get("/admin/store/products/new").await.ok();
        let nonce = nonce_of(&page);
        let fields = [("nonce", nonce.as_str()), ("name", "Scarf"), ("price", "9"), ("currency", "EUR"), ("available_to", "everyone"), ("stock", "5")];
        for _ in 0..2 {
            ana.post("/admin/store/products/new", &fields).await.redirects_to("/admin/store?done=made");
        }
        let products = w.owner.get("/products").await.ok();
        assert_eq!(products.names(), ["Scarf"]);
        let id = products.data()[0]["id"].as_str().unwrap().to_owned();
        let path = format!("/admin/store/products/{id}");
        order(w, &id, 2).await;
        // Two were sold while the form was open: other fields are saved, the stock is not.
        let shown_before = shown_value(&ana.get(&path).await.ok());
        let without_stock = [("name", "Scarf"), ("price", "10"), ("available_to", "everyone"), ("stock", "5"), ("was", "5"), ("version", "1"), ("shown", &shown_before)];
        ana.post(&path, &without_stock).await.redirects_to("/admin/store?done=saved");
        assert_eq!(stock_of(w, &id).await, json!(3));
        let shown_before = shown_value(&ana.get(&path).await.ok());
        let with_stock = [("name", "Scarf"), ("price", "10"), ("available_to", "everyone"), ("stock", "9"), ("was", "5"), ("version", "1"), ("shown", &shown_before)];
        let page = ana.post(&path, &with_stock).await;
        assert_eq!(page.status, 422);
        let page = page.shows("Somebody bought or changed this product").shows("name=\"stock\" type=\"text\" value=\"3\"");
        let version = between(&page, "name=\"version\" value=\"", "\"").to_owned();
        let with_stock = [("name", "Scarf"), ("price", "10"), ("available_to", "everyone"), ("stock", "7"), ("was", "3"), ("version", version.as_str()), ("shown", &shown_before)];
        ana.post(&path, &with_stock).await.redirects_to("/admin/store?done=saved");
        assert_eq!(stock_of(w, &id).await, json!(7));
        // Somebody else changed the price: it is not overwritten silently.
        let before = shown_value(&ana.get(&path).await.ok());
        w.owner.patch(&format!("/products/{id}"), json!({ "price": 1200 })).await.ok();
        let stale = [("name", "Long scarf"), ("price", "10"), ("available_to", "everyone"), ("stock", "7"), ("was", "7")];
        let fields: Vec<_> = stale.into_iter().chain([("shown", before.as_str())]).collect();
        let page = ana.post(&path, &fields).await;
        assert_eq!(page.status, 422);
        let page = page.shows("Somebody else changed this").shows("value=\"Long scarf\"");
        assert_eq!(w.owner.get(&format!("/products/{id}")).await.ok().data()["price"], 1200);
        let shown_now = shown_value(&page);
        let fields: Vec<_> = stale.into_iter().chain([("shown", shown_now.as_str())]).collect();
        ana.post(&path, &fields).await.redirects_to("/admin/store?done=saved");
        assert_eq!(w.owner.get(&format!("/products/{id}")).await.ok().data()["price"], 1000);
    }

    async fn code_form_creates_updates_and_archives_a_code(w: &World) {
        let mut ana = store_admin(w).await;
        ana.get("/admin/store/codes").await.ok().shows("No discount codes yet");
        let fields = [("code", "SIBLING10"), ("kind", "percent"), ("percent_bps", "10"), ("max_uses", "50"), ("max_uses_per_buyer", "2"), ("min_subtotal", "20"), ("currency", "EUR")];
        submit_form(&mut ana, "/admin/store/codes/new", &fields).await.redirects_to("/admin/store/codes?done=made");
        let discounts = w.owner.get("/discounts").await.ok();
        let created = &discounts.data()[0];
        for (field, value) in json!({ "code": "SIBLING10", "percent_bps": 1000, "amount": null, "max_uses": 50, "max_uses_per_buyer": 2, "min_subtotal": 2000, "currency": "EUR" }).as_object().unwrap() {
            assert_eq!(&created[field], value, "{field}");
        }
        let page = submit_form(&mut ana, "/admin/store/codes/new", &[("code", "sibling10"), ("kind", "amount"), ("amount", "5"), ("currency", "EUR")]).await;
        assert_eq!((page.status, field_error(&page, "code").as_str()), (422, "Another active discount already has this code."));
        let page = submit_form(&mut ana, "/admin/store/codes/new", &[("code", "two words"), ("kind", "amount"), ("amount", ""), ("currency", "??"), ("valid_from", "x"), ("max_uses", "0")]).await;
        for field in ["amount", "currency", "valid_from", "max_uses"] {
            assert!(!field_error(&page, field).is_empty(), "{field}");
        }
        let path = format!("/admin/store/codes/{}", created["id"].as_str().unwrap());
        let page = ana.get(&path).await.ok().shows("value=\"SIBLING10\"").shows("value=\"20.00\"").shows("Used 0 times");
        let shown_before = shown_value(&page);
        // Somebody else changed it: that is not overwritten silently.
        w.owner.patch(&format!("/discounts/{}", created["id"].as_str().unwrap()), json!({ "max_uses": 60 })).await.ok();
        let fiver = [("code", "FIVER"), ("kind", "amount"), ("amount", "5"), ("currency", "EUR")];
        let stale = ana.post(&path, &[&fiver[..], &[("shown", &shown_before)]].concat()).await;
        assert_eq!(stale.status, 422);
        let shown_before = shown_value(&stale.shows("Somebody else changed this").shows("FIVER"));
        ana.post(&path, &[&fiver[..], &[("shown", &shown_before)]].concat()).await.redirects_to("/admin/store/codes?done=saved");
        let after = w.owner.get(&format!("/discounts/{}", created["id"].as_str().unwrap())).await.ok();
        assert_eq!((&after.data()["amount"], &after.data()["percent_bps"], &after.data()["max_uses"]), (&json!(500), &json!(null), &json!(null)));
        ana.get(&format!("{path}/archive")).await.ok().shows("FIVER");
        ana.post(&format!("{path}/archive"), &[]).await.redirects_to("/admin/store/codes?done=archived");
        assert_eq!(w.owner.get("/discounts").await.ok().data(), &json!([]));
        ana.get("/admin/store/codes?state=archived").await.ok().shows("FIVER").shows("Archived");
    }

    async fn order_is_paid_fulfilled_and_refunded_on_pages(w: &World) {
        let mut ana = store_admin(w).await;
        let kit = w.owner.post("/products", json!({ "name": "Scarf", "price": 900, "stock": 10 })).await.created();
        let bought = order(w, kit.id(), 3).await;
        let path = format!("/admin/orders/{}", bought.id());
        let page = ana.get(&path).await.ok().shows("Not paid").shows("€27.00").shows("Rui Duarte");
        let nonce = nonce_of(&page);
        let pay = format!("{path}/pay");
        let page = ana.post(&pay, &[("nonce", &nonce), ("method", "cash"), ("amount", "20"), ("reference", "till 2")]).await;
        assert_eq!((page.status, field_error(&page, "amount").as_str()), (422, "An order must be paid in full: €27.00."));
        page.shows("value=\"till 2\"");
        for _ in 0..2 {
            ana.post(&pay, &[("nonce", &nonce), ("method", "cash"), ("amount", "27"), ("reference", "till 2")]).await.redirects_to(&format!("{path}?done=paid"));
        }
        let paid = w.owner.get(&order_api_path(&bought, "")).await.ok();
        assert_eq!((&paid.data()["status"], &paid.data()["paid"]), (&json!("paid"), &json!(2700)));
        // A partial fulfillment that is sent twice counts once; the quantity is limited.
        let page = ana.get(&path).await.ok().shows("€27.00 paid (Cash)").shows("till 2").shows("Mark everything as picked up");
        let (fulfill, nonce) = (format!("{path}/hand-out"), nonce_of(&page));
        let page = ana.post(&fulfill, &[("nonce", &nonce), ("how", "lines"), ("part-0", "4")]).await;
        assert_eq!((page.status, field_error(&page, "part-0").as_str()), (422, "This is more than what is left to pick up. Enter a smaller quantity."));
        assert_eq!(ana.post(&fulfill, &[("nonce", &nonce), ("how", "lines"), ("part-0", "")]).await.status, 422);
        for _ in 0..2 {
            ana.post(&fulfill, &[("nonce", &nonce), ("how", "lines"), ("part-0", "1")]).await.redirects_to(&format!("{path}?done=handed"));
        }
        assert_eq!(w.owner.get(&order_api_path(&bought, "")).await.ok().data()["lines"][0]["fulfilled"], 1);
        fill_at(&mut ana, &path, &fulfill, &[("how", "all")]).await.redirects_to(&format!("{path}?done=handed"));
        assert_eq!(w.owner.get(&order_api_path(&bought, "")).await.ok().data()["status"], "fulfilled");
        // The refund page says first what will happen.
        let refund = format!("{path}/refund");
        let page = ana.get(&refund).await.ok().shows("What happens next").shows("You can refund up to €27.00").shows("Your club returns the money itself");
        let nonce = nonce_of(&page);
        for (fields, field) in [(("how", "amount"), "amount"), (("how", "lines"), "part-0")] {
            let form = [("nonce", nonce.as_str()), fields, ("amount", "27.01"), ("part-0", "x"), ("restock", "yes")];
            let page = ana.post(&refund, &form).await;
            assert_eq!(page.status, 422);
            assert!(!field_error(&page, field).is_empty());
        }
        // An amount or a quantity contradicts a full refund.
        for (extra, message) in [(("amount", "5"), "Clear the amount"), (("part-0", "1"), "Clear the quantities")] {
            ana.post(&refund, &[("nonce", nonce.as_str()), ("how", "all"), extra]).await.shows(message);
        }
        for _ in 0..2 {
            let fields = [("nonce", nonce.as_str()), ("how", "lines"), ("part-0", "1"), ("restock", "yes"), ("reason", "Too warm")];
            ana.post(&refund, &fields).await.redirects_to(&format!("{path}?done=refunded"));
        }
        let after = w.owner.get(&order_api_path(&bought, "")).await.ok();
        assert_eq!((&after.data()["status"], &after.data()["refunded"], &after.data()["lines"][0]["returned"]), (&json!("partially_refunded"), &json!(900), &json!(1)));
        assert_eq!(stock_of(w, kit.id()).await, json!(8));
        submit_form(&mut ana, &refund, &[("how", "amount"), ("amount", "1.50")]).await.redirects_to(&format!("{path}?done=refunded"));
        let other = ana.post(&refund, &[("nonce", nonce.as_str()), ("how", "amount"), ("amount", "1")]).await;
        assert_eq!(other.status, 422);
        other.shows("submitted this form with different content");
        // The rest, sent twice: the second submission leads to the same result.
        let nonce = nonce_of(&ana.get(&refund).await.ok().shows("Refund €16.50"));
        // The page had shown a larger amount, which would be paid out but not recorded.
        let stale = ana.post(&refund, &[("nonce", nonce.as_str()), ("left", "1800"), ("how", "all")]).await;
        assert_eq!(stale.status, 422);
        stale.shows("Another refund was made since you opened this page");
        for _ in 0..2 {
            ana.post(&refund, &[("nonce", nonce.as_str()), ("left", "1650"), ("how", "all")]).await.redirects_to(&format!("{path}?done=refunded"));
        }
        let after = w.owner.get(&order_api_path(&bought, "")).await.ok();
        assert_eq!((&after.data()["status"], &after.data()["refunded"]), (&json!("refunded"), &json!(2700)));
        assert_eq!(stock_of(w, kit.id()).await, json!(8), "nothing is restocked unless selected");
        ana.get(&path).await.ok().shows("Too warm").shows("€9.00 refunded").shows("Refunded");
        ana.get(&refund).await.ok().shows("There is nothing to refund");
    }

    async fn searches_totals_cancels_and_prints_orders(w: &World) {
        let mut ana = store_admin(w).await;
        ana.get("/admin/orders").await.ok().shows("No orders yet");
        let scarf = w.owner.post("/products", json!({ "name": "Scarf", "price": 900 })).await.created();
        let ball = w.owner.post("/products", json!({ "name": "Ball", "price": 1500 })).await.created();
        let scarf_order = order(w, scarf.id(), 1).await;
        let mut body = order_body(ball.id(), 2);
        body["buyer"] = json!({ "name": "Örn Åberg" });
        let ball_order = w.owner.post("/orders", body).await.created();
        w.owner.post(&order_api_path(&ball_order, "/pay"), json!({ "method": "cash" })).await.ok();
        let page = ana.get("/admin/orders").await.ok().shows("2 orders").shows("€39.00 ordered, €30.00 paid").shows("2 × Ball");
        assert_eq!(table_rows(&page), 2);
        let number = ball_order.data()["number"].to_string();
        for (query, buyer) in [("q=rui", "Rui Duarte"), ("q=%C3%96rn", "Örn Åberg"), ("state=paid", "Örn Åberg"), (&format!("product={}", scarf.id()), "Rui Duarte"), (&format!("q=%23{number}"), "Örn Åberg")] {
            let page = ana.get(&format!("/admin/orders?{query}")).await.ok().shows(buyer).shows("1 order<");
            assert_eq!(table_rows(&page), 1, "{query}");
            let printed = ana.get(&format!("/store/orders/print?{query}")).await.ok().shows(buyer);
            assert_eq!(table_rows(&printed), 1, "{query}");
        }
        ana.get("/admin/orders?state=refunded").await.ok().shows("No orders match these filters.");
        assert_eq!(table_rows(&ana.get("/store/orders/print").await.ok()), 2);
        // Cancelling asks first, and the order no longer counts.
        let cancel = format!("/admin/orders/{}/cancel", scarf_order.id());
        submit_form(&mut ana, &cancel, &[("reason", "Ordered twice")]).await.redirects_to(&format!("/admin/orders/{}?done=cancelled", scarf_order.id()));
        let after = w.owner.get(&order_api_path(&scarf_order, "")).await.ok();
        assert_eq!((&after.data()["status"], &after.data()["cancel_reason"]), (&json!("cancelled"), &json!("Ordered twice")));
        ana.get(&cancel).await.redirects_to(&format!("/admin/orders/{}", scarf_order.id()));
        ana.get("/admin/orders").await.ok().shows("€30.00 ordered");
        // Pick lists contain only unfulfilled units, and whether they are paid.
        let pick_list = |id: &str| format!("/store/products/{id}/pick-list");
        ana.get(&pick_list(scarf.id())).await.ok().shows("There is nothing left to pick up");
        let page = ana.get(&pick_list(ball.id())).await.ok().shows("Örn Åberg").shows("Paid").shows("tickbox");
        assert_eq!(table_rows(&page), 1);
        w.owner.post(&order_api_path(&ball_order, "/fulfill"), json!({})).await.ok();
        ana.get(&pick_list(ball.id())).await.ok().shows("There is nothing left to pick up");
    }

    async fn admin_order_form_offers_only_products_for_the_buyer(w: &World) {
        let club = w.club().await;
        let mut ana = store_admin(w).await;
        let kit = product(w, &club.hawks, json!({ "name": "Hawk kit", "available_to": "members" })).await;
        product(w, &club.hawks, json!({ "name": "Whistle", "available_to": "staff" })).await;
        let scarf = w.owner.post("/products", json!({ "name": "Scarf", "price": 900 })).await.created();
        let (q_kit, q_scarf) = (format!("q-{}", kit.id()), format!("q-{}", scarf.id()));
        let input = |field: &str| format!("<input id=\"{field}\"");
        // A buyer without a roster: only products for everyone, and the reason for the others.
        let by_name = [("step", "choose"), ("name", "Rui Duarte"), (q_scarf.as_str(), "2"), ("note", "At the gate")];
        let page = ana.post("/admin/orders/new", &by_name).await.ok().shows(&input(&q_scarf)).shows("value=\"2\"").shows("At the gate")
            .shows("Only for members of Hawks and their guardians.").shows("Only for coaches and managers of Hawks.");
        assert!(!page.text.contains(&input(&q_kit)), "{}", page.text);
        // The input is kept while another buyer is chosen.
        let change_buyer = [("step", "buyer"), ("name", "Rui Duarte"), (q_scarf.as_str(), "2"), ("note", "At the gate")];
        ana.post("/admin/orders/new", &change_buyer).await.ok().shows("value=\"Rui Duarte\"").shows(&format!("name=\"{q_scarf}\" value=\"2\"")).shows("At the gate");
        let find = [("step", "find"), ("q", "ma"), (q_scarf.as_str(), "2")];
        let page = ana.post("/admin/orders/new", &find).await.ok().shows("Max").shows("Hawks").shows(&format!("name=\"{q_scarf}\" value=\"2\""));
        assert!(!page.text.contains("Zoe"), "{}", page.text);
        for wrong in [vec![("step", "find"), ("q", "")], vec![("step", "choose")], vec![("step", "choose"), ("name", "")], vec![("step", "look"), (q_scarf.as_str(), "1")]] {
            assert_eq!(ana.post("/admin/orders/new", &wrong).await.status, 422, "{wrong:?}");
        }
        let max = club.max.person.as_str();
        let chosen = [("step", "choose"), ("buyer", max), (q_scarf.as_str(), "2")];
        let page = ana.post("/admin/orders/new", &chosen).await.ok().shows(&input(&q_kit)).shows("value=\"2\"");
        assert!(!page.text.contains("Only for members"), "{}", page.text);
        ana.get(&format!("/admin/orders/new?buyer={}", club.kim.person)).await.ok().shows("Whistle");
        let items = [("buyer", max), (q_scarf.as_str(), "2"), (q_kit.as_str(), "1")];
        let page = ana.post("/admin/orders/new", &items).await.ok().shows("Max").shows("€42.99");
        let (nonce, total) = (nonce_of(&page), between(&page, "name=\"total\" value=\"", "\"").to_owned());
        let confirmation: Vec<_> = items.into_iter().chain([("step", "place"), ("nonce", nonce.as_str()), ("total", total.as_str())]).collect();
        ana.post("/admin/orders/new", &confirmation).await;
        let orders = w.owner.get("/orders").await.ok();
        assert_eq!(orders.data()[0]["buyer"]["person_id"], json!(max));
    }

    async fn admin_places_an_order_for_a_buyer(w: &World) {
        let mut ana = store_admin(w).await;
        let scarf = w.owner.post("/products", json!({ "name": "Scarf", "price": 900, "stock": 2 })).await.created();
        code(w, json!({})).await;
        let field = format!("q-{}", scarf.id());
        let items = [(field.as_str(), "2"), ("name", "Rui Duarte"), ("email", "rui@example.org"), ("discount_code", "tenth")];
        ana.get("/admin/orders/new").await.ok().shows("First choose the buyer");
        ana.post("/admin/orders/new", &[("step", "choose"), ("name", "Rui Duarte")]).await.ok().shows("Scarf").shows("2 left");
        let page = ana.post("/admin/orders/new", &items).await.ok().shows("Review your order").shows("€16.20");
        let (nonce, total) = (nonce_of(&page), between(&page, "name=\"total\" value=\"", "\"").to_owned());
        let confirmation: Vec<_> = items.into_iter().chain([("step", "place"), ("nonce", nonce.as_str()), ("total", total.as_str())]).collect();
        let first = ana.post("/admin/orders/new", &confirmation).await;
        let to = first.local_redirect().unwrap().to_owned();
        assert!(to.starts_with("/admin/orders/ord_"), "{to}");
        ana.post("/admin/orders/new", &confirmation).await.redirects_to(&to);
        let orders = w.owner.get("/orders").await.ok();
        assert_eq!(orders.data().as_array().unwrap().len(), 1);
        assert_eq!((&orders.data()[0]["buyer"]["email"], &orders.data()[0]["total"]), (&json!("rui@example.org"), &json!(1620)));
        let page = ana.post("/admin/orders/new", &[(field.as_str(), "1"), ("name", ""), ("email", "odd")]).await;
        assert_eq!(page.status, 422);
        assert!(!field_error(&page, "name").is_empty() && !field_error(&page, "email").is_empty(), "{}", page.text);
    }

    async fn escapes_hostile_names(w: &World) {
        let mut ana = store_admin(w).await;
        let team = w.owner.post("/teams", json!({ "name": HOSTILE })).await.created().id().to_owned();
        let variants = json!([{ "name": HOSTILE, "stock": 3 }]);
        let kit = product(w, &team, json!({ "name": HOSTILE, "description": HOSTILE, "variants": variants })).await;
        let code = code(w, json!({ "code": "\"><script>x" })).await;
        let line = json!({ "product_id": kit.id(), "variant_id": kit.data()["variants"][0]["id"], "quantity": 1 });
        let body = json!({ "buyer": { "name": HOSTILE }, "lines": [line], "note": HOSTILE, "discount_code": "\"><script>x" });
        let bought = w.owner.post("/orders", body).await.created();
        w.owner.post(&order_api_path(&bought, "/pay"), json!({ "method": "cash", "reference": HOSTILE })).await.ok();
        w.owner.post(&order_api_path(&bought, "/refund"), json!({ "amount": 100, "reason": HOSTILE })).await.ok();
        let (product, admin_order) = (format!("/admin/store/products/{}", kit.id()), format!("/admin/orders/{}", bought.id()));
        let store_order = format!("/store/orders/{}", bought.id());
        for path in [
            "/admin/store", &product, &format!("{product}/archive"), "/admin/store/codes", &format!("/admin/store/codes/{}", code.id()), "/admin/orders", &admin_order,
            &format!("{admin_order}/refund"), "/admin/orders/new", "/store/orders/print", &format!("/store/products/{}/pick-list", kit.id()), &store_order, &format!("{store_order}/receipt"),
        ] {
            let page = ana.get(path).await.ok();
            assert!(!page.text.contains("<img src=x") && !page.text.contains("<script>"), "{path}: {}", page.text);
        }
    }
}

/// Submits a form that is shown on another page.
async fn fill_at(
    browser: &mut Browser,
    page: &str,
    path: &str,
    fields: &[(&str, &str)],
) -> TestResponse {
    let nonce = nonce_of(&browser.get(page).await.ok());
    let all: Vec<_> =
        [("nonce", nonce.as_str())].into_iter().chain(fields.iter().copied()).collect();
    browser.post(path, &all).await
}
