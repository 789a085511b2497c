//! Tests of the store pages for families and coaches.

use testkit::{Browser, TestClub, TestResponse, World, both, json};

use crate::admin_keys::between;
use crate::cards::CardFixture;
use crate::shop::{code, order_api_path, order_body, product, stock_of};
use crate::shop_pages::{nonce_of, submit_form, table_rows};

/// Opens the review page, and returns the fields that its form would send.
async fn review(browser: &mut Browser, fields: &[(&str, &str)]) -> Vec<(String, String)> {
    let page = browser.post("/store", fields).await.ok().shows("Review your order");
    let total = between(&page, "name=\"total\" value=\"", "\"").to_owned();
    let review_fields =
        [("step", "place".to_owned()), ("nonce", nonce_of(&page)), ("total", total)];
    let sent = fields.iter().map(|(name, value)| (*name, (*value).to_owned())).chain(review_fields);
    sent.map(|(name, value)| (name.to_owned(), value)).collect()
}

async fn send(browser: &mut Browser, fields: &[(String, String)]) -> TestResponse {
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    browser.post("/store", &fields).await
}

async fn count(w: &World) -> usize {
    w.owner.get("/orders").await.ok().data().as_array().unwrap().len()
}

async fn kit_of(w: &World, club: &TestClub) -> (TestResponse, String) {
    let variants = json!([{ "name": "S", "stock": 1 }, { "name": "M", "price": 2799 }]);
    let kit = product(
        w,
        &club.hawks,
        json!({ "variants": variants, "available_to": "members", "pickup_date": "2026-12-24" }),
    )
    .await;
    let field = format!("q-{}-{}", kit.id(), kit.data()["variants"][0]["id"].as_str().unwrap());
    (kit, field)
}

both! {
    async fn resubmitted_form_places_one_order(w: &World) {
        let club = w.club().await;
        let (kit, field) = kit_of(w, &club).await;
        product(w, &club.otters, json!({ "name": "Otter kit" })).await;
        product(w, &club.hawks, json!({ "name": "Coaches only", "available_to": "staff" })).await;
        product(w, &club.hawks, json!({ "name": "Long gone", "on_sale_until": "2020-01-01T00:00:00Z" })).await;
        let mut pat = w.browser(club.parent.id).await;
        let page = pat.get("/store").await.ok().shows("Home kit").shows("€24.99").shows("€27.99").shows("1 left").shows("24 Dec 2026").shows("Max").shows("Pat");
        for hidden in ["Otter kit", "Coaches only", "Long gone", "Zoe"] {
            assert!(!page.text_without_csrf().contains(hidden), "{hidden}");
        }
        let recipient_field = format!("for-{}", kit.id());
        let items = [(field.as_str(), "1"), (recipient_field.as_str(), club.max.person.as_str()), ("note", "After practice")];
        let sent = review(&mut pat, &items).await;
        assert_eq!((count(w).await, first_variant_stock(w, &kit).await), (0, json!(1)), "reviewing places no order");
        let first = send(&mut pat, &sent).await;
        let order_path = first.local_redirect().unwrap().strip_suffix("?done=placed").unwrap().to_owned();
        send(&mut pat, &sent).await.redirects_to(&format!("{order_path}?done=placed"));
        assert_eq!((count(w).await, first_variant_stock(w, &kit).await), (1, json!(0)));
        let orders = w.owner.get("/orders").await.ok();
        assert_eq!((&orders.data()[0]["buyer"]["name"], &orders.data()[0]["note"], &orders.data()[0]["total"]), (&json!("Max"), &json!("After practice"), &json!(2499)));
        let page = pat.get(&order_path).await.ok().shows("You owe €24.99").shows("Max").shows("can be picked up on Thu, 24 Dec 2026");
        assert!(!page.text.contains("Pay by card"), "card payments are not configured");
        assert_eq!(table_rows(&pat.get("/store/orders").await.ok()), 1);
        pat.get("/store").await.ok().shows("Sold out");
        // It can be cancelled while it is unpaid.
        submit_form(&mut pat, &format!("{order_path}/cancel"), &[]).await.redirects_to(&format!("{order_path}?done=cancelled"));
        assert_eq!(first_variant_stock(w, &kit).await, json!(1));
        pat.get(&order_path).await.ok().shows("Cancelled");
    }

    async fn order_errors_appear_in_the_form(w: &World) {
        let club = w.club().await;
        let (kit, field) = kit_of(w, &club).await;
        let mut pat = w.browser(club.parent.id).await;
        let recipient_field = format!("for-{}", kit.id());
        let for_pat = (recipient_field.as_str(), club.pat.as_str());
        let assert_rejected = async |pat: &mut Browser, fields: &[(&str, &str)], message: &str| {
            let page = pat.post("/store", fields).await;
            assert_eq!(page.status, 422, "{}", page.text);
            page.shows("Nothing was ordered").shows(message)
        };
        assert_rejected(&mut pat, &[for_pat], "Enter a quantity for at least one product.").await;
        assert_rejected(&mut pat, &[for_pat, (&field, "two")], "Enter a whole number.").await.shows("value=\"two\"");
        assert_rejected(&mut pat, &[for_pat, (&field, "2"), ("note", "Kept")], "Only 1 of Home kit left in stock.").await.shows("Kept").shows("value=\"2\"");
        assert_rejected(&mut pat, &[for_pat, (&field, "1"), ("discount_code", "NOPE")], "This discount code does not exist.").await;
        assert_rejected(&mut pat, &[(&recipient_field, &club.zoe.person), (&field, "1")], "No such object, or you").await;
        // Between review and order: sold out, more expensive, off sale.
        let sent = review(&mut pat, &[for_pat, (&field, "1")]).await;
        w.owner.patch(&format!("/products/{}", kit.id()), json!({ "price": 2599 })).await.ok();
        let page = send(&mut pat, &sent).await;
        assert_eq!(page.status, 422);
        page.shows("The price has changed");
        let sent = review(&mut pat, &[for_pat, (&field, "1")]).await;
        let size = kit.data()["variants"][0]["id"].clone();
        let line = json!({ "product_id": kit.id(), "variant_id": size, "quantity": 1 });
        w.owner.post("/orders", json!({ "buyer": { "person_id": club.max.person }, "lines": [line] })).await.created();
        let page = send(&mut pat, &sent).await;
        assert_eq!(page.status, 422);
        page.shows("Home kit is sold out.");
        let other = format!("q-{}-{}", kit.id(), kit.data()["variants"][1]["id"].as_str().unwrap());
        let sent = review(&mut pat, &[for_pat, (&other, "1")]).await;
        w.owner.patch(&format!("/products/{}", kit.id()), json!({ "on_sale_until": "2020-01-01T00:00:00Z" })).await.ok();
        let page = send(&mut pat, &sent).await;
        assert_eq!(page.status, 422);
        page.shows("Home kit is not on sale now.");
        assert_eq!(count(w).await, 1);
    }

    async fn families_see_only_their_own_orders(w: &World) {
        let club = w.club().await;
        let kit = product(w, &club.hawks, json!({ "tax_rate_bps": 2300 })).await;
        let mut body = order_body(kit.id(), 1);
        body["buyer"] = json!({ "member_id": club.zoe.member });
        let other_order = w.owner.post("/orders", body.clone()).await.created();
        body["buyer"] = json!({ "member_id": club.max.member });
        let own_order = w.owner.post("/orders", body).await.created();
        w.owner.post(&order_api_path(&own_order, "/pay"), json!({ "method": "bank_transfer", "reference": "Statement 7" })).await.ok();
        w.owner.post(&order_api_path(&own_order, "/refund"), json!({ "amount": 499, "reason": "Scratched" })).await.ok();
        let mut pat = w.browser(club.parent.id).await;
        let order_path = |order: &TestResponse| format!("/store/orders/{}", order.id());
        for path in [order_path(&other_order), format!("{}/receipt", order_path(&other_order)), format!("{}/cancel", order_path(&other_order))] {
            assert_eq!(pat.get(&path).await.status, 404, "{path}");
        }
        for action in ["cancel", "checkout"] {
            assert_eq!(pat.post(&format!("{}/{action}", order_path(&other_order)), &[]).await.status, 404, "{action}");
        }
        let receipt = pat.get(&format!("{}/receipt", order_path(&own_order))).await.ok();
        let receipt = receipt.shows("Harbour").shows("Max").shows("Home kit").shows("€24.99").shows("€4.67 at 23%").shows("Statement 7")
            .shows("Bank transfer").shows("Scratched").shows("-€4.99").shows("There is nothing left to pay.");
        assert!(receipt.text.contains(&format!("Receipt for order {}", own_order.data()["number"])));
        assert_eq!(table_rows(&pat.get("/store/orders").await.ok()), 1);
        for path in ["/admin/store", "/admin/orders", &format!("/admin/orders/{}", own_order.id()), "/store/orders/print", &format!("/store/products/{}/pick-list", kit.id())] {
            assert_eq!(pat.get(path).await.status, 403, "{path}");
        }
        // A user without a roster cannot use the store.
        let mut uwe = w.browser(club.outsider.id).await;
        let page = uwe.get("/store").await.ok().shows("You are not on a roster yet");
        assert!(!page.text.contains("Home kit"), "{}", page.text);
        uwe.get("/store/orders").await.ok().shows("No orders yet");
        assert_eq!(uwe.get(&order_path(&own_order)).await.status, 404);
        assert_eq!(uwe.get("/store/orders/print").await.status, 403);
        // Owners order through the admin pages, unless they are on a roster.
        let mut olga = w.browser(club.owner.id).await;
        olga.get("/store").await.ok().shows("You are not on a roster yet");
        olga.get("/store/orders").await.ok().shows("No orders yet");
        olga.get(&order_path(&own_order)).await.ok();
    }

    async fn coach_prints_only_orders_of_their_teams(w: &World) {
        let club = w.club().await;
        let (kit, otter_kit) = (product(w, &club.hawks, json!({})).await, product(w, &club.otters, json!({ "name": "Otter kit" })).await);
        let scarf = w.owner.post("/products", json!({ "name": "Scarf", "price": 900 })).await.created();
        let buy = async |product: &str, member: &str, team: &str| {
            let mut body = order_body(product, 1);
            body["buyer"] = json!({ "member_id": member });
            body["team_id"] = json!(team);
            w.owner.post("/orders", body).await.created()
        };
        let hawks_order = buy(kit.id(), &club.max.member, &club.hawks).await;
        buy(scarf.id(), &club.zoe.member, &club.hawks).await;
        let otters_order = buy(otter_kit.id(), &club.ole.member, &club.otters).await;
        buy(scarf.id(), &club.ole.member, &club.otters).await;
        let mut kim = w.browser(club.coach.id).await;
        let page = kim.get("/store/orders/print").await.ok().shows("Max").shows("Zoe").shows("€33.99 ordered");
        assert_eq!(table_rows(&page), 2);
        assert!(!page.text_without_csrf().contains("Ole"), "{}", page.text);
        assert_eq!(table_rows(&kim.get(&format!("/store/orders/print?team={}", club.otters)).await.ok()), 0);
        let pick_list = |product: &TestResponse| format!("/store/products/{}/pick-list", product.id());
        assert_eq!(table_rows(&kim.get(&pick_list(&kit)).await.ok().shows("Not paid")), 1);
        let page = kim.get(&pick_list(&scarf)).await.ok().shows("Zoe");
        assert_eq!((table_rows(&page), page.text_without_csrf().contains("Ole")), (1, false));
        assert_eq!(kim.get(&pick_list(&otter_kit)).await.status, 404);
        kim.get(&format!("/store/orders/{}/receipt", hawks_order.id())).await.ok();
        assert_eq!(kim.get(&format!("/store/orders/{}/receipt", otters_order.id())).await.status, 404);
        assert_eq!(kim.get("/admin/orders").await.status, 403);
        kim.get("/store/orders").await.ok().shows("No orders yet").shows("Orders from my teams");
    }

    async fn parent_orders_for_children_on_two_teams(w: &World) {
        let club = w.club().await;
        let ben = w.add_member(&club.otters, json!({ "first_name": "Ben", "guardians": [{ "id": club.pat }] })).await;
        let hawk = product(w, &club.hawks, json!({ "name": "Hawk kit", "available_to": "members" })).await;
        let otter = product(w, &club.otters, json!({ "name": "Otter kit", "available_to": "members", "stock": 1, "price": 2000 })).await;
        let ticket = w.owner.post("/products", json!({ "name": "Ticket", "price": 300 })).await.created();
        let mut pat = w.browser(club.parent.id).await;
        // Each kit is preselected for the child on that team; club products for one of the
        // children.
        let page = pat.get("/store").await.ok();
        let selected_person = |product: &TestResponse| {
            let field = between(&page, &format!("name=\"for-{}\"", product.id()), "</select>");
            let option = field.split("<option").find(|option| option.contains(" selected")).unwrap().to_owned();
            option.split('"').nth(1).unwrap().to_owned()
        };
        assert_eq!((selected_person(&hawk), selected_person(&otter)), (club.max.person.clone(), ben.person.clone()));
        assert!([club.max.person.clone(), ben.person.clone()].contains(&selected_person(&ticket)));
        let names = [&hawk, &otter, &ticket].map(|product| (format!("q-{}", product.id()), format!("for-{}", product.id())));
        let [(q1, for1), (q2, for2), (q3, for3)] = &names;
        let items = [(q1.as_str(), "1"), (for1, &club.max.person), (q2, "1"), (for2, &ben.person), (q3, "2"), (for3, &ben.person)];
        let page = pat.post("/store", &items).await.ok().shows("This places 2 orders").shows("Max").shows("Ben").shows("€50.99");
        let sent: Vec<_> = hidden_fields(&page);
        let fields: Vec<_> = sent.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain([("step", "place")]).collect();
        // All or none: the other kit sells out before this is sent.
        let bought = w.owner.post("/orders", json!({ "buyer": { "member_id": club.ole.member }, "lines": [{ "product_id": otter.id(), "quantity": 1 }] })).await.created();
        let refused = pat.post("/store", &fields).await;
        assert_eq!(refused.status, 422);
        refused.shows("Otter kit is sold out.");
        assert_eq!(count(w).await, 1);
        w.owner.post(&order_api_path(&bought, "/cancel"), json!({})).await.ok();
        for _ in 0..2 {
            pat.post("/store", &fields).await.redirects_to("/store/orders?done=placed");
        }
        assert_eq!(table_rows(&pat.get("/store/orders?done=placed").await.ok().shows("The orders were placed.")), 2);
        let orders = w.owner.get("/orders").await.ok();
        let mut placed: Vec<_> = orders.data().as_array().unwrap().iter().filter(|order| order["status"] == "placed")
            .map(|order| (order["buyer"]["name"].as_str().unwrap().to_owned(), order["team_id"].as_str().unwrap().to_owned(), order["total"].as_i64().unwrap())).collect();
        placed.sort();
        assert_eq!(placed, [("Ben".to_owned(), club.otters.clone(), 2600), ("Max".to_owned(), club.hawks.clone(), 2499)]);
    }

    async fn siblings_on_one_team_get_a_row_each_and_share_a_code(w: &World) {
        let club = w.club().await;
        let ben = w.add_member(&club.hawks, json!({ "first_name": "Ben", "guardians": [{ "id": club.pat }] })).await;
        let kit = product(w, &club.hawks, json!({ "available_to": "members", "price": 1000, "stock": 2 })).await;
        code(w, json!({ "code": "HALF", "percent_bps": 5000, "max_uses_per_buyer": 1 })).await;
        let mut pat = w.browser(club.parent.id).await;
        let page = pat.get("/store").await.ok();
        let (first_person, second_person) = (format!("for-{}", kit.id()), format!("for-{}-1", kit.id()));
        for (field, person) in [(&first_person, &club.max.person), (&second_person, &ben.person)] {
            let select = between(&page, &format!("name=\"{field}\""), "</select>");
            assert!(select.contains(&format!("\"{person}\" selected")), "{field}: {select}");
        }
        let (first_quantity, second_quantity) = (format!("q-{}", kit.id()), format!("q-{}-1", kit.id()));
        // More than in stock, although each alone would be available.
        let too_many = [(first_quantity.as_str(), "2"), (first_person.as_str(), club.max.person.as_str()), (&second_quantity, "1"), (&second_person, &ben.person)];
        let refused = pat.post("/store", &too_many).await;
        assert_eq!(refused.status, 422);
        refused.shows("Only 2 of Home kit left in stock.");
        let items = [(first_quantity.as_str(), "1"), (first_person.as_str(), club.max.person.as_str()), (&second_quantity, "1"), (&second_person, &ben.person), ("discount_code", "half")];
        let sent = review(&mut pat, &items).await;
        send(&mut pat, &sent).await.redirects_to("/store/orders?done=placed");
        let orders = w.owner.get("/orders").await.ok();
        let totals: Vec<_> = orders.data().as_array().unwrap().iter().map(|order| order["total"].as_i64().unwrap()).collect();
        assert_eq!(totals, [500, 500]);
        // The same person in both rows is one order with one line.
        let other = product(w, &club.hawks, json!({ "name": "Socks", "available_to": "members", "price": 700 })).await;
        let fields = ["q-", "for-"].map(|name| (format!("{name}{}", other.id()), format!("{name}{}-1", other.id())));
        let [(q1, q2), (f1, f2)] = &fields;
        let items = [(q1.as_str(), "1"), (q2.as_str(), "2"), (f1.as_str(), ben.person.as_str()), (f2.as_str(), ben.person.as_str())];
        let sent = review(&mut pat, &items).await;
        send(&mut pat, &sent).await;
        let orders = w.owner.get("/orders").await.ok();
        assert_eq!((&orders.data()[0]["buyer"]["name"], &orders.data()[0]["lines"][0]["quantity"]), (&json!("Ben"), &json!(3)));
    }

    async fn order_links_lead_admins_to_the_admin_page(w: &World) {
        let club = w.club().await;
        let kit = product(w, &club.hawks, json!({})).await;
        let mut body = order_body(kit.id(), 1);
        body["buyer"] = json!({ "member_id": club.max.member });
        let order = w.owner.post("/orders", body).await.created();
        let lists = [format!("/store/products/{}/pick-list", kit.id()), "/store/orders/print".to_owned()];
        let (mut adam, mut kim, mut pat) = (w.browser(club.admin.id).await, w.browser(club.coach.id).await, w.browser(club.parent.id).await);
        let (admin_link, store_link) = (format!("href=\"/admin/orders/{}\"", order.id()), format!("href=\"/store/orders/{}\"", order.id()));
        for list in &lists {
            adam.get(list).await.ok().shows(&admin_link);
            kim.get(list).await.ok().shows(&store_link);
        }
        let receipt = format!("/store/orders/{}/receipt", order.id());
        adam.get(&receipt).await.ok().shows(&admin_link);
        pat.get(&receipt).await.ok().shows(&store_link);
        // A coach does not owe what somebody else ordered.
        let page = kim.get(&format!("/store/orders/{}", order.id())).await.ok().shows("Amount due: €24.99");
        assert!(!page.text.contains("You owe"), "{}", page.text);
    }

    async fn form_accepts_a_code_and_a_free_order(w: &World) {
        let club = w.club().await;
        let kit = product(w, &club.hawks, json!({ "stock": 3 })).await;
        code(w, json!({ "code": "GIFT", "percent_bps": 10000, "max_uses_per_buyer": 1 })).await;
        let mut pat = w.browser(club.parent.id).await;
        let field = format!("q-{}", kit.id());
        let recipient_field = format!("for-{}", kit.id());
        let items = [(field.as_str(), "1"), (recipient_field.as_str(), club.pat.as_str()), ("discount_code", "gift")];
        let sent = review(&mut pat, &items).await;
        let order_path = send(&mut pat, &sent).await.local_redirect().unwrap().to_owned();
        pat.get(&order_path).await.ok().shows("Paid").shows("Free order, no payment needed").shows("-€24.99");
        assert_eq!(stock_of(w, kit.id()).await, json!(2));
        let refused = pat.post("/store", &items).await;
        assert_eq!(refused.status, 422);
        refused.shows("reached the usage limit of this code");
        // Going back keeps the input.
        let change: Vec<_> = items.into_iter().chain([("step", "change")]).collect();
        pat.post("/store", &change).await.ok().shows("value=\"gift\"").shows("value=\"1\"");
    }

    async fn parent_pays_by_card(w: &World) {
        let till = CardFixture::start(w).await;
        let club = w.club().await;
        let kit = product(w, &club.hawks, json!({ "price": 1250 })).await;
        let mut body = order_body(kit.id(), 1);
        body["buyer"] = json!({ "member_id": club.max.member });
        let order = w.owner.post("/orders", body).await.created();
        let mut pat = w.browser(club.parent.id).await.at(till.node.address);
        let order_path = format!("/store/orders/{}", order.id());
        let page = pat.get(&order_path).await.ok().shows("Pay by card");
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.ends_with("form-action 'self' https://checkout.stripe.com"), "{policy}");
        for _ in 0..2 {
            let sent = pat.post(&format!("{order_path}/checkout"), &[]).await;
            assert_eq!((sent.status, sent.header("location")), (303, Some(format!("https://pay.example/{}", till.only_session_id()).as_str())));
        }
        let paid = till.stripe.pay(&till.only_session_id());
        till.deliver_event(w, "checkout.session.completed", &paid).await.ok();
        assert_eq!(w.owner.get(&order_api_path(&order, "")).await.ok().data()["status"], "paid");
        let page = pat.get(&order_path).await.ok().shows("€12.50 paid (Card)");
        assert!(!page.text.contains("Pay by card") && page.header("content-security-policy").unwrap().ends_with("form-action 'self'"));
        assert_eq!(pat.post(&format!("{order_path}/checkout"), &[]).await.status, 409);
    }
}

/// The hidden fields of a page.
fn hidden_fields(page: &TestResponse) -> Vec<(String, String)> {
    let inputs = page.text.split("<input type=\"hidden\" name=\"").skip(1);
    let pairs = inputs.filter_map(|input| {
        let (name, rest) = input.split_once("\" value=\"")?;
        Some((name.to_owned(), rest.split('"').next()?.to_owned()))
    });
    pairs.filter(|(name, _)| name != "csrf").collect()
}

async fn first_variant_stock(w: &World, kit: &TestResponse) -> serde_json::Value {
    let fetched = w.owner.get(&format!("/products/{}", kit.id())).await.ok();
    fetched.data()["variants"][0]["stock"].clone()
}
