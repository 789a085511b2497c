//! Stories about the store as families and coaches see it.

use testkit::{Answer, Browser, Cast, World, both, json};

use crate::admin_keys::between;
use crate::cards::Till;
use crate::shop::{below, code, left, product, wanted};
use crate::shop_pages::{fill, nonce_of, rows};

/// Looks at what it would cost, and gives back what the page that asks would send.
async fn looked_at(browser: &mut Browser, fields: &[(&str, &str)]) -> Vec<(String, String)> {
    let page = browser.post("/store", fields).await.ok().shows("Check your order");
    let total = between(&page, "name=\"total\" value=\"", "\"").to_owned();
    let own = [("step", "place".to_owned()), ("nonce", nonce_of(&page)), ("total", total)];
    let sent = fields.iter().map(|(name, value)| (*name, (*value).to_owned())).chain(own);
    sent.map(|(name, value)| (name.to_owned(), value)).collect()
}

async fn send(browser: &mut Browser, fields: &[(String, String)]) -> Answer {
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    browser.post("/store", &fields).await
}

async fn count(w: &World) -> usize {
    w.owner.get("/orders").await.ok().data().as_array().unwrap().len()
}

async fn kit_of(w: &World, cast: &Cast) -> (Answer, String) {
    let variants = json!([{ "name": "S", "stock": 1 }, { "name": "M", "price": 2799 }]);
    let kit = product(
        w,
        &cast.hawks,
        json!({ "variants": variants, "buyers": "members", "pick_up_on": "2026-12-24" }),
    )
    .await;
    let field = format!("q-{}-{}", kit.id(), kit.data()["variants"][0]["id"].as_str().unwrap());
    (kit, field)
}

both! {
    async fn a_parent_buys_once_however_often_the_form_is_sent(w: &World) {
        let cast = w.cast().await;
        let (kit, field) = kit_of(w, &cast).await;
        product(w, &cast.otters, json!({ "name": "Otter kit" })).await;
        product(w, &cast.hawks, json!({ "name": "Coaches only", "buyers": "staff" })).await;
        product(w, &cast.hawks, json!({ "name": "Long gone", "on_sale_until": "2020-01-01T00:00:00Z" })).await;
        let mut pat = w.browser(cast.parent.id).await;
        let page = pat.get("/store").await.ok().shows("Home kit").shows("24.99 EUR").shows("27.99 EUR").shows("1 left").shows("24 Dec 2026").shows("Max").shows("Pat");
        for hidden in ["Otter kit", "Coaches only", "Long gone", "Zoe"] {
            assert!(!page.words().contains(hidden), "{hidden}");
        }
        let whom = format!("for-{}", kit.id());
        let wish = [(field.as_str(), "1"), (whom.as_str(), cast.max.person.as_str()), ("note", "After practice")];
        let sent = looked_at(&mut pat, &wish).await;
        assert_eq!((count(w).await, left_of(w, &kit).await), (0, json!(1)), "nothing is ordered by looking");
        let first = send(&mut pat, &sent).await;
        let place = first.next().unwrap().strip_suffix("?done=placed").unwrap().to_owned();
        send(&mut pat, &sent).await.leads_to(&format!("{place}?done=placed"));
        assert_eq!((count(w).await, left_of(w, &kit).await), (1, json!(0)));
        let made = w.owner.get("/orders").await.ok();
        assert_eq!((&made.data()[0]["buyer"]["name"], &made.data()[0]["note"], &made.data()[0]["total"]), (&json!("Max"), &json!("After practice"), &json!(2499)));
        let page = pat.get(&place).await.ok().shows("You owe 24.99 EUR").shows("Max").shows("can be picked up on 24 Dec 2026");
        assert!(!page.text.contains("Pay by card"), "nobody takes cards here");
        assert_eq!(rows(&pat.get("/store/orders").await.ok()), 1);
        pat.get("/store").await.ok().shows("Sold out");
        // It can be given up as long as it is not paid.
        fill(&mut pat, &format!("{place}/cancel"), &[]).await.leads_to(&format!("{place}?done=cancelled"));
        assert_eq!(left_of(w, &kit).await, json!(1));
        pat.get(&place).await.ok().shows("Cancelled");
    }

    async fn what_stands_against_an_order_is_told_at_the_form(w: &World) {
        let cast = w.cast().await;
        let (kit, field) = kit_of(w, &cast).await;
        let mut pat = w.browser(cast.parent.id).await;
        let whom = format!("for-{}", kit.id());
        let own = (whom.as_str(), cast.pat.as_str());
        let told = async |pat: &mut Browser, fields: &[(&str, &str)], says: &str| {
            let page = pat.post("/store", fields).await;
            assert_eq!(page.status, 422, "{}", page.text);
            page.shows("Nothing was ordered").shows(says)
        };
        told(&mut pat, &[own], "Enter a quantity for at least one product.").await;
        told(&mut pat, &[own, (&field, "two")], "Write a whole number.").await.shows("value=\"two\"");
        told(&mut pat, &[own, (&field, "2"), ("note", "Kept")], "Only 1 of Home kit are left.").await.shows("Kept").shows("value=\"2\"");
        told(&mut pat, &[own, (&field, "1"), ("discount_code", "NOPE")], "There is no such code.").await;
        told(&mut pat, &[(&whom, &cast.zoe.person), (&field, "1")], "No such object, or it is not yours to see.").await;
        // Between looking and ordering: sold out, dearer, off sale.
        let sent = looked_at(&mut pat, &[own, (&field, "1")]).await;
        w.owner.patch(&format!("/products/{}", kit.id()), json!({ "price": 2599 })).await.ok();
        let page = send(&mut pat, &sent).await;
        assert_eq!(page.status, 422);
        page.shows("The price has changed");
        let sent = looked_at(&mut pat, &[own, (&field, "1")]).await;
        let size = kit.data()["variants"][0]["id"].clone();
        let line = json!({ "product_id": kit.id(), "variant_id": size, "quantity": 1 });
        w.owner.post("/orders", json!({ "buyer": { "person_id": cast.max.person }, "lines": [line] })).await.created();
        let page = send(&mut pat, &sent).await;
        assert_eq!(page.status, 422);
        page.shows("Home kit is sold out.");
        let other = format!("q-{}-{}", kit.id(), kit.data()["variants"][1]["id"].as_str().unwrap());
        let sent = looked_at(&mut pat, &[own, (&other, "1")]).await;
        w.owner.patch(&format!("/products/{}", kit.id()), json!({ "on_sale_until": "2020-01-01T00:00:00Z" })).await.ok();
        let page = send(&mut pat, &sent).await;
        assert_eq!(page.status, 422);
        page.shows("Home kit is not on sale now.");
        assert_eq!(count(w).await, 1);
    }

    async fn a_family_sees_what_is_theirs_and_nothing_else(w: &World) {
        let cast = w.cast().await;
        let kit = product(w, &cast.hawks, json!({ "tax_rate_bp": 2300 })).await;
        let mut body = wanted(kit.id(), 1);
        body["buyer"] = json!({ "member_id": cast.zoe.member });
        let other = w.owner.post("/orders", body.clone()).await.created();
        body["buyer"] = json!({ "member_id": cast.max.member });
        let own = w.owner.post("/orders", body).await.created();
        w.owner.post(&below(&own, "/pay"), json!({ "method": "transfer", "reference": "Statement 7" })).await.ok();
        w.owner.post(&below(&own, "/refund"), json!({ "amount": 499, "reason": "Scratched" })).await.ok();
        let mut pat = w.browser(cast.parent.id).await;
        let place = |order: &Answer| format!("/store/orders/{}", order.id());
        for path in [place(&other), format!("{}/receipt", place(&other)), format!("{}/cancel", place(&other))] {
            assert_eq!(pat.get(&path).await.status, 404, "{path}");
        }
        for verb in ["cancel", "checkout"] {
            assert_eq!(pat.post(&format!("{}/{verb}", place(&other)), &[]).await.status, 404, "{verb}");
        }
        let receipt = pat.get(&format!("{}/receipt", place(&own))).await.ok();
        let receipt = receipt.shows("Harbour").shows("Max").shows("Home kit").shows("24.99 EUR").shows("4.67 EUR at 23 %").shows("Statement 7")
            .shows("Bank transfer").shows("Scratched").shows("-4.99 EUR").shows("Nothing is owed.");
        assert!(receipt.text.contains(&format!("Receipt for order {}", own.data()["number"])));
        assert_eq!(rows(&pat.get("/store/orders").await.ok()), 1);
        for path in ["/admin/store", "/admin/orders", &format!("/admin/orders/{}", own.id()), "/store/orders/print", &format!("/store/products/{}/pick-list", kit.id())] {
            assert_eq!(pat.get(path).await.status, 403, "{path}");
        }
        // Whoever is on no roster has nothing to do with the store.
        let mut uwe = w.browser(cast.outsider.id).await;
        let page = uwe.get("/store").await.ok().shows("You are on no roster yet");
        assert!(!page.text.contains("Home kit"), "{}", page.text);
        uwe.get("/store/orders").await.ok().shows("No orders yet");
        assert_eq!(uwe.get(&place(&own)).await.status, 404);
        assert_eq!(uwe.get("/store/orders/print").await.status, 403);
        // Those who look after the club buy at the desk, unless they are on a roster too.
        let mut olga = w.browser(cast.owner.id).await;
        olga.get("/store").await.ok().shows("You are on no roster yet");
        olga.get("/store/orders").await.ok().shows("No orders yet");
        olga.get(&place(&own)).await.ok();
    }

    async fn a_coach_prints_what_is_of_their_teams(w: &World) {
        let cast = w.cast().await;
        let (kit, hidden) = (product(w, &cast.hawks, json!({})).await, product(w, &cast.otters, json!({ "name": "Otter kit" })).await);
        let scarf = w.owner.post("/products", json!({ "name": "Scarf", "price": 900 })).await.created();
        let buy = async |product: &str, member: &str, team: &str| {
            let mut body = wanted(product, 1);
            body["buyer"] = json!({ "member_id": member });
            body["team_id"] = json!(team);
            w.owner.post("/orders", body).await.created()
        };
        let own = buy(kit.id(), &cast.max.member, &cast.hawks).await;
        buy(scarf.id(), &cast.zoe.member, &cast.hawks).await;
        let other = buy(hidden.id(), &cast.ole.member, &cast.otters).await;
        buy(scarf.id(), &cast.ole.member, &cast.otters).await;
        let mut kim = w.browser(cast.coach.id).await;
        let page = kim.get("/store/orders/print").await.ok().shows("Max").shows("Zoe").shows("33.99 EUR ordered");
        assert_eq!(rows(&page), 2);
        assert!(!page.words().contains("Ole"), "{}", page.text);
        assert_eq!(rows(&kim.get(&format!("/store/orders/print?team={}", cast.otters)).await.ok()), 0);
        let pick = |product: &Answer| format!("/store/products/{}/pick-list", product.id());
        assert_eq!(rows(&kim.get(&pick(&kit)).await.ok().shows("Not paid")), 1);
        let page = kim.get(&pick(&scarf)).await.ok().shows("Zoe");
        assert_eq!((rows(&page), page.words().contains("Ole")), (1, false));
        assert_eq!(kim.get(&pick(&hidden)).await.status, 404);
        kim.get(&format!("/store/orders/{}/receipt", own.id())).await.ok();
        assert_eq!(kim.get(&format!("/store/orders/{}/receipt", other.id())).await.status, 404);
        assert_eq!(kim.get("/admin/orders").await.status, 403);
        kim.get("/store/orders").await.ok().shows("No orders yet").shows("Orders of my teams");
    }

    async fn a_parent_orders_for_children_in_two_teams_at_once(w: &World) {
        let cast = w.cast().await;
        let ben = w.joins(&cast.otters, json!({ "first_name": "Ben", "guardians": [{ "id": cast.pat }] })).await;
        let hawk = product(w, &cast.hawks, json!({ "name": "Hawk kit", "buyers": "members" })).await;
        let otter = product(w, &cast.otters, json!({ "name": "Otter kit", "buyers": "members", "stock": 1, "price": 2000 })).await;
        let ticket = w.owner.post("/products", json!({ "name": "Ticket", "price": 300 })).await.created();
        let mut pat = w.browser(cast.parent.id).await;
        // Each kit is for the child who is on the team; what the club sells is for one of the children.
        let page = pat.get("/store").await.ok();
        let chosen = |product: &Answer| {
            let field = between(&page, &format!("name=\"for-{}\"", product.id()), "</select>");
            let option = field.split("<option").find(|option| option.contains(" selected")).unwrap().to_owned();
            option.split('"').nth(1).unwrap().to_owned()
        };
        assert_eq!((chosen(&hawk), chosen(&otter)), (cast.max.person.clone(), ben.person.clone()));
        assert!([cast.max.person.clone(), ben.person.clone()].contains(&chosen(&ticket)));
        let names = [&hawk, &otter, &ticket].map(|product| (format!("q-{}", product.id()), format!("for-{}", product.id())));
        let [(q1, for1), (q2, for2), (q3, for3)] = &names;
        let wish = [(q1.as_str(), "1"), (for1, &cast.max.person), (q2, "1"), (for2, &ben.person), (q3, "2"), (for3, &ben.person)];
        let page = pat.post("/store", &wish).await.ok().shows("This places 2 orders").shows("Max").shows("Ben").shows("50.99 EUR");
        let sent: Vec<_> = hidden(&page);
        let fields: Vec<_> = sent.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain([("step", "place")]).collect();
        // All or none: the other kit is sold before this is sent.
        let bought = w.owner.post("/orders", json!({ "buyer": { "member_id": cast.ole.member }, "lines": [{ "product_id": otter.id(), "quantity": 1 }] })).await.created();
        let refused = pat.post("/store", &fields).await;
        assert_eq!(refused.status, 422);
        refused.shows("Otter kit is sold out.");
        assert_eq!(count(w).await, 1);
        w.owner.post(&below(&bought, "/cancel"), json!({})).await.ok();
        for _ in 0..2 {
            pat.post("/store", &fields).await.leads_to("/store/orders?done=placed");
        }
        assert_eq!(rows(&pat.get("/store/orders?done=placed").await.ok().shows("The orders were placed.")), 2);
        let orders = w.owner.get("/orders").await.ok();
        let mut made: Vec<_> = orders.data().as_array().unwrap().iter().filter(|order| order["status"] == "placed")
            .map(|order| (order["buyer"]["name"].as_str().unwrap().to_owned(), order["team_id"].as_str().unwrap().to_owned(), order["total"].as_i64().unwrap())).collect();
        made.sort();
        assert_eq!(made, [("Ben".to_owned(), cast.otters.clone(), 2600), ("Max".to_owned(), cast.hawks.clone(), 2499)]);
    }

    async fn two_children_on_one_team_get_a_block_each_and_a_code_counts_for_both(w: &World) {
        let cast = w.cast().await;
        let ben = w.joins(&cast.hawks, json!({ "first_name": "Ben", "guardians": [{ "id": cast.pat }] })).await;
        let kit = product(w, &cast.hawks, json!({ "buyers": "members", "price": 1000, "stock": 2 })).await;
        code(w, json!({ "code": "HALF", "percent_bp": 5000, "most_uses_each": 1 })).await;
        let mut pat = w.browser(cast.parent.id).await;
        let page = pat.get("/store").await.ok();
        let (first, second) = (format!("for-{}", kit.id()), format!("for-{}-1", kit.id()));
        for (field, person) in [(&first, &cast.max.person), (&second, &ben.person)] {
            let select = between(&page, &format!("name=\"{field}\""), "</select>");
            assert!(select.contains(&format!("\"{person}\" selected")), "{field}: {select}");
        }
        let (one, two) = (format!("q-{}", kit.id()), format!("q-{}-1", kit.id()));
        // More than there are, though each alone would be there.
        let many = [(one.as_str(), "2"), (first.as_str(), cast.max.person.as_str()), (&two, "1"), (&second, &ben.person)];
        let refused = pat.post("/store", &many).await;
        assert_eq!(refused.status, 422);
        refused.shows("Only 2 of Home kit are left.");
        let wish = [(one.as_str(), "1"), (first.as_str(), cast.max.person.as_str()), (&two, "1"), (&second, &ben.person), ("discount_code", "half")];
        let sent = looked_at(&mut pat, &wish).await;
        send(&mut pat, &sent).await.leads_to("/store/orders?done=placed");
        let orders = w.owner.get("/orders").await.ok();
        let totals: Vec<_> = orders.data().as_array().unwrap().iter().map(|order| order["total"].as_i64().unwrap()).collect();
        assert_eq!(totals, [500, 500]);
        // The same person in both blocks is one order with one line.
        let other = product(w, &cast.hawks, json!({ "name": "Socks", "buyers": "members", "price": 700 })).await;
        let fields = ["q-", "for-"].map(|name| (format!("{name}{}", other.id()), format!("{name}{}-1", other.id())));
        let [(q1, q2), (f1, f2)] = &fields;
        let wish = [(q1.as_str(), "1"), (q2.as_str(), "2"), (f1.as_str(), ben.person.as_str()), (f2.as_str(), ben.person.as_str())];
        let sent = looked_at(&mut pat, &wish).await;
        send(&mut pat, &sent).await;
        let orders = w.owner.get("/orders").await.ok();
        assert_eq!((&orders.data()[0]["buyer"]["name"], &orders.data()[0]["lines"][0]["quantity"]), (&json!("Ben"), &json!(3)));
    }

    async fn order_links_of_lists_lead_admins_to_the_admin_page(w: &World) {
        let cast = w.cast().await;
        let kit = product(w, &cast.hawks, json!({})).await;
        let mut body = wanted(kit.id(), 1);
        body["buyer"] = json!({ "member_id": cast.max.member });
        let order = w.owner.post("/orders", body).await.created();
        let lists = [format!("/store/products/{}/pick-list", kit.id()), "/store/orders/print".to_owned()];
        let (mut adam, mut kim, mut pat) = (w.browser(cast.admin.id).await, w.browser(cast.coach.id).await, w.browser(cast.parent.id).await);
        let (admin, own) = (format!("href=\"/admin/orders/{}\"", order.id()), format!("href=\"/store/orders/{}\"", order.id()));
        for list in &lists {
            adam.get(list).await.ok().shows(&admin);
            kim.get(list).await.ok().shows(&own);
        }
        let receipt = format!("/store/orders/{}/receipt", order.id());
        adam.get(&receipt).await.ok().shows(&admin);
        pat.get(&receipt).await.ok().shows(&own);
        // A coach owes nothing for what somebody else ordered.
        let page = kim.get(&format!("/store/orders/{}", order.id())).await.ok().shows("Not paid yet: 24.99 EUR");
        assert!(!page.text.contains("You owe"), "{}", page.text);
    }

    async fn a_code_and_a_free_order_work_by_the_form(w: &World) {
        let cast = w.cast().await;
        let kit = product(w, &cast.hawks, json!({ "stock": 3 })).await;
        code(w, json!({ "code": "GIFT", "percent_bp": 10000, "most_uses_each": 1 })).await;
        let mut pat = w.browser(cast.parent.id).await;
        let field = format!("q-{}", kit.id());
        let whom = format!("for-{}", kit.id());
        let wish = [(field.as_str(), "1"), (whom.as_str(), cast.pat.as_str()), ("discount_code", "gift")];
        let sent = looked_at(&mut pat, &wish).await;
        let place = send(&mut pat, &sent).await.next().unwrap().to_owned();
        pat.get(&place).await.ok().shows("Paid").shows("Free, so there is nothing to pay").shows("-24.99 EUR");
        assert_eq!(left(w, kit.id()).await, json!(2));
        let again = pat.post("/store", &wish).await;
        assert_eq!(again.status, 422);
        again.shows("reached the usage limit of this code");
        // Going back keeps what was typed.
        let back: Vec<_> = wish.into_iter().chain([("step", "change")]).collect();
        pat.post("/store", &back).await.ok().shows("value=\"gift\"").shows("value=\"1\"");
    }

    async fn a_parent_pays_by_card_where_cards_are_taken(w: &World) {
        let till = Till::open(w).await;
        let cast = w.cast().await;
        let kit = product(w, &cast.hawks, json!({ "price": 1250 })).await;
        let mut body = wanted(kit.id(), 1);
        body["buyer"] = json!({ "member_id": cast.max.member });
        let own = w.owner.post("/orders", body).await.created();
        let mut pat = w.browser(cast.parent.id).await.at(till.node.address);
        let place = format!("/store/orders/{}", own.id());
        let page = pat.get(&place).await.ok().shows("Pay by card");
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.ends_with("form-action 'self' https://checkout.stripe.com"), "{policy}");
        for _ in 0..2 {
            let sent = pat.post(&format!("{place}/checkout"), &[]).await;
            assert_eq!((sent.status, sent.header("location")), (303, Some(format!("https://pay.example/{}", till.page()).as_str())));
        }
        let paid = till.stripe.pay(&till.page());
        till.hear(w, "checkout.session.completed", &paid).await.ok();
        assert_eq!(w.owner.get(&below(&own, "")).await.ok().data()["status"], "paid");
        let page = pat.get(&place).await.ok().shows("12.50 EUR paid: Card");
        assert!(!page.text.contains("Pay by card") && page.header("content-security-policy").unwrap().ends_with("form-action 'self'"));
        assert_eq!(pat.post(&format!("{place}/checkout"), &[]).await.status, 409);
    }
}

/// The hidden fields of a page.
fn hidden(page: &Answer) -> Vec<(String, String)> {
    let inputs = page.text.split("<input type=\"hidden\" name=\"").skip(1);
    let pairs = inputs.filter_map(|input| {
        let (name, rest) = input.split_once("\" value=\"")?;
        Some((name.to_owned(), rest.split('"').next()?.to_owned()))
    });
    pairs.filter(|(name, _)| name != "csrf").collect()
}

async fn left_of(w: &World, kit: &Answer) -> serde_json::Value {
    let shown = w.owner.get(&format!("/products/{}", kit.id())).await.ok();
    shown.data()["variants"][0]["stock"].clone()
}
