//! Stories about the pages of those who run the store.

use testkit::{Answer, Browser, World, both, json};

use crate::admin_keys::between;
use crate::shop::{below, code, left, order, product, wanted};

const HOSTILE: &str = "\"><img src=x onerror=alert(1)><script>\u{202e}";

/// The name of the first form on a page.
pub(crate) fn nonce_of(page: &Answer) -> String {
    between(page, "name=\"nonce\" value=\"", "\"").to_owned()
}

/// Opens a page with a form and sends it.
pub(crate) async fn fill(browser: &mut Browser, path: &str, fields: &[(&str, &str)]) -> Answer {
    let page = browser.get(path).await.ok();
    let nonce = nonce_of(&page);
    let all: Vec<_> =
        [("nonce", nonce.as_str())].into_iter().chain(fields.iter().copied()).collect();
    browser.post(path, &all).await
}

/// What a form says it has shown.
fn shown(page: &Answer) -> String {
    between(page, "name=\"shown\" value=\"", "\"").to_owned()
}

/// What is wrong with a field of a page.
fn wrong(page: &Answer, field: &str) -> String {
    let start = format!("id=\"{field}-error\">");
    let rest =
        page.text.split(&start).nth(1).unwrap_or_else(|| panic!("{field} is well: {}", page.text));
    between_text(rest, "<span>", "</span>").to_owned()
}

fn between_text<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    text.split(before).nth(1).and_then(|rest| rest.split(after).next()).unwrap()
}

/// How many rows the table of a page has.
pub(crate) fn rows(page: &Answer) -> usize {
    page.text
        .split("<tbody>")
        .skip(1)
        .map(|body| body.split("</tbody>").next().unwrap().matches("<tr>").count())
        .sum()
}

pub(crate) async fn keeper(w: &World) -> Browser {
    let admin = w.user(touchline::accounts::user::Role::Admin, "ana@harbour.example").await;
    w.browser(admin.id).await
}

both! {
    async fn a_product_is_made_by_the_form_and_the_api_shows_the_same(w: &World) {
        let mut ana = keeper(w).await;
        let team = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created().id().to_owned();
        ana.get("/admin/store").await.ok().shows("Nothing is sold yet");
        let fields = [
            ("name", "Home kit"), ("description", "Shirt\r\nand shorts"), ("team_id", team.as_str()), ("currency", "eur"), ("price", "24,99"),
            ("tax_rate_bp", "23"), ("tax_included", "no"), ("stock", ""), ("on_sale_from", "2026-01-01T08:00"), ("on_sale_until", "2099-12-31T23:59"),
            ("buyers", "members"), ("most_per_order", "3"), ("pick_up_on", "2026-12-24"), ("external_id", "kit-1"),
            ("variants-0-name", "128"), ("variants-0-price", ""), ("variants-0-stock", "8"),
            ("variants-1-name", ""), ("variants-1-price", ""), ("variants-1-stock", ""),
            ("variants-2-name", "140"), ("variants-2-price", "27.50"), ("variants-2-stock", ""),
        ];
        fill(&mut ana, "/admin/store/products/new", &fields).await.leads_to("/admin/store?done=made");
        let all = w.owner.get("/products").await.ok();
        let made = &all.data()[0];
        let expected = json!({ "team_id": team, "name": "Home kit", "description": "Shirt\nand shorts", "currency": "EUR", "price": 2499,
            "tax_rate_bp": 2300, "tax_included": false, "stock": null, "buyers": "members", "most_per_order": 3, "pick_up_on": "2026-12-24",
            "external_id": "kit-1", "status": "active", "version": 1 });
        for (member, value) in expected.as_object().unwrap() {
            assert_eq!(&made[member], value, "{member}");
        }
        let sizes: Vec<_> = made["variants"].as_array().unwrap().iter()
            .map(|size| (size["name"].clone(), size["price"].clone(), size["stock"].clone())).collect();
        assert_eq!(sizes, [(json!("128"), json!(null), json!(8)), (json!("140"), json!(2750), json!(null))]);
        assert!(made["on_sale_from"].as_str().unwrap().starts_with("2026-01-01T"), "{made}");
        let page = ana.get("/admin/store?done=made").await.ok().shows("The product is in the store.").shows("Home kit").shows("Hawks").shows("24.99 to 27.50 EUR").shows("Not counted");
        assert_eq!(rows(&page), 1);
        assert_eq!(rows(&ana.get("/admin/store?q=HOME").await.ok()), 1);
        ana.get("/admin/store?q=scarf").await.ok().shows("There are no such products.");
        ana.get("/admin/store?state=archived").await.ok().shows("There are no such products.");
        // The form of a change shows what there is; one size goes, one comes.
        let place = format!("/admin/store/products/{}", made["id"].as_str().unwrap());
        let page = ana.get(&place).await.ok().shows("value=\"24.99\"").shows("value=\"23\"").shows("value=\"2026-01-01T08:00\"").shows("value=\"27.50\"").shows("variants-4-name");
        let seen = shown(&page);
        let (id, version) = (between(&page, "name=\"variants-0-id\" value=\"", "\"").to_owned(), between(&page, "name=\"version\" value=\"", "\"").to_owned());
        let change = [
            ("name", "Away kit"), ("price", "30"), ("version", version.as_str()), ("shown", seen.as_str()), ("buyers", "everyone"), ("tax_included", "yes"),
            ("variants-0-id", id.as_str()), ("variants-0-name", "128"), ("variants-0-stock", "5"), ("variants-0-was", "8"),
            ("variants-1-name", "152"), ("variants-1-stock", "2"),
        ];
        ana.post(&place, &change).await.leads_to("/admin/store?done=saved");
        let after = w.owner.get(&format!("/products/{}", made["id"].as_str().unwrap())).await.ok();
        let after = after.data();
        assert_eq!((&after["name"], &after["price"], &after["external_id"], &after["tax_included"]), (&json!("Away kit"), &json!(3000), &json!(null), &json!(true)));
        let sizes: Vec<_> = after["variants"].as_array().unwrap().iter().map(|size| (size["name"].clone(), size["stock"].clone())).collect();
        assert_eq!(sizes, [(json!("128"), json!(5)), (json!("152"), json!(2))]);
        // It goes off sale on a page of its own.
        ana.get(&format!("{place}/archive")).await.ok().shows("This will happen").shows("Away kit");
        for _ in 0..2 {
            ana.post(&format!("{place}/archive"), &[]).await.leads_to("/admin/store?done=archived");
        }
        ana.get(&place).await.ok().shows("This product is archived");
        assert_eq!(w.owner.get("/products").await.ok().data(), &json!([]));
    }

    async fn faults_of_a_product_stand_at_their_fields_and_what_was_typed_stays(w: &World) {
        let mut ana = keeper(w).await;
        let fields = [
            ("name", ""), ("description", "Kept as it is"), ("price", "cheap"), ("currency", "XYZ"), ("tax_rate_bp", "101"), ("stock", "-3"),
            ("on_sale_from", "soon"), ("pick_up_on", "2026-02-30"), ("buyers", "nobody"), ("most_per_order", "0"), ("team_id", "x"),
            ("variants-0-name", ""), ("variants-0-price", "1"), ("variants-0-stock", "many"),
        ];
        let page = fill(&mut ana, "/admin/store/products/new", &fields).await;
        assert_eq!(page.status, 422, "{}", page.text);
        for field in ["name", "price", "currency", "tax_rate_bp", "on_sale_from", "pick_up_on", "most_per_order", "team_id", "variants-0-name", "variants-0-stock"] {
            assert!(!wrong(&page, field).is_empty(), "{field}");
        }
        let page = page.shows("Nothing was saved").shows("Kept as it is").shows("value=\"cheap\"").shows("value=\"many\"").shows("This must be one of");
        assert!(wrong(&page, "stock").contains("Each size has its own number"), "{}", page.text);
        // What only the room can know: two sizes of one name, a sale that ends before it begins, an id that is taken.
        product(w, w.owner.post("/teams", json!({ "name": "T" })).await.created().id(), json!({ "external_id": "x1" })).await;
        let fields = [("name", "Kit"), ("price", "1"), ("currency", "EUR"), ("buyers", "everyone"), ("on_sale_from", "2026-02-02T10:00"), ("on_sale_until", "2026-02-01T10:00"),
            ("variants-0-name", "M"), ("variants-1-name", "m")];
        let page = fill(&mut ana, "/admin/store/products/new", &fields).await;
        assert_eq!((page.status, wrong(&page, "variants-1-name").as_str()), (422, "Another variant already has this name."));
        assert_eq!(wrong(&page, "on_sale_until"), "The sale must end after it begins.");
        let page = fill(&mut ana, "/admin/store/products/new", &[("name", "Kit"), ("price", "1"), ("currency", "EUR"), ("buyers", "everyone"), ("external_id", "x1")]).await;
        assert_eq!((page.status, wrong(&page, "external_id").as_str()), (422, "Another product already has this external id."));
        assert_eq!(w.owner.get("/products").await.ok().names(), ["Home kit"]);
    }

    async fn the_same_form_makes_one_product_and_sales_are_not_overwritten(w: &World) {
        let mut ana = keeper(w).await;
        let page = ana.get("/admin/store/products/new").await.ok();
        let nonce = nonce_of(&page);
        let fields = [("nonce", nonce.as_str()), ("name", "Scarf"), ("price", "9"), ("currency", "EUR"), ("buyers", "everyone"), ("stock", "5")];
        for _ in 0..2 {
            ana.post("/admin/store/products/new", &fields).await.leads_to("/admin/store?done=made");
        }
        let all = w.owner.get("/products").await.ok();
        assert_eq!(all.names(), ["Scarf"]);
        let id = all.data()[0]["id"].as_str().unwrap().to_owned();
        let place = format!("/admin/store/products/{id}");
        order(w, &id, 2).await;
        // Somebody bought two while the form was open: other fields are saved, a count is not.
        let seen = shown(&ana.get(&place).await.ok());
        let same = [("name", "Scarf"), ("price", "10"), ("buyers", "everyone"), ("stock", "5"), ("was", "5"), ("version", "1"), ("shown", &seen)];
        ana.post(&place, &same).await.leads_to("/admin/store?done=saved");
        assert_eq!(left(w, &id).await, json!(3));
        let seen = shown(&ana.get(&place).await.ok());
        let counted = [("name", "Scarf"), ("price", "10"), ("buyers", "everyone"), ("stock", "9"), ("was", "5"), ("version", "1"), ("shown", &seen)];
        let page = ana.post(&place, &counted).await;
        assert_eq!(page.status, 422);
        let page = page.shows("Somebody bought it or changed it").shows("name=\"stock\" type=\"text\" value=\"3\"");
        let version = between(&page, "name=\"version\" value=\"", "\"").to_owned();
        let counted = [("name", "Scarf"), ("price", "10"), ("buyers", "everyone"), ("stock", "7"), ("was", "3"), ("version", version.as_str()), ("shown", &seen)];
        ana.post(&place, &counted).await.leads_to("/admin/store?done=saved");
        assert_eq!(left(w, &id).await, json!(7));
        // Somebody else changed the price: it is not set back without a word.
        let before = shown(&ana.get(&place).await.ok());
        w.owner.patch(&format!("/products/{id}"), json!({ "price": 1200 })).await.ok();
        let late = [("name", "Long scarf"), ("price", "10"), ("buyers", "everyone"), ("stock", "7"), ("was", "7")];
        let fields: Vec<_> = late.into_iter().chain([("shown", before.as_str())]).collect();
        let page = ana.post(&place, &fields).await;
        assert_eq!(page.status, 422);
        let page = page.shows("Somebody else changed this").shows("value=\"Long scarf\"");
        assert_eq!(w.owner.get(&format!("/products/{id}")).await.ok().data()["price"], 1200);
        let now = shown(&page);
        let fields: Vec<_> = late.into_iter().chain([("shown", now.as_str())]).collect();
        ana.post(&place, &fields).await.leads_to("/admin/store?done=saved");
        assert_eq!(w.owner.get(&format!("/products/{id}")).await.ok().data()["price"], 1000);
    }

    async fn codes_are_made_changed_and_archived(w: &World) {
        let mut ana = keeper(w).await;
        ana.get("/admin/store/codes").await.ok().shows("No codes yet");
        let fields = [("code", "SIBLING10"), ("kind", "percent"), ("percent_bp", "10"), ("most_uses", "50"), ("most_uses_each", "2"), ("least_subtotal", "20"), ("currency", "EUR")];
        fill(&mut ana, "/admin/store/codes/new", &fields).await.leads_to("/admin/store/codes?done=made");
        let all = w.owner.get("/discounts").await.ok();
        let made = &all.data()[0];
        for (member, value) in json!({ "code": "SIBLING10", "percent_bp": 1000, "amount": null, "most_uses": 50, "most_uses_each": 2, "least_subtotal": 2000, "currency": "EUR" }).as_object().unwrap() {
            assert_eq!(&made[member], value, "{member}");
        }
        let page = fill(&mut ana, "/admin/store/codes/new", &[("code", "sibling10"), ("kind", "amount"), ("amount", "5"), ("currency", "EUR")]).await;
        assert_eq!((page.status, wrong(&page, "code").as_str()), (422, "Another code that can be used is written like this."));
        let page = fill(&mut ana, "/admin/store/codes/new", &[("code", "two words"), ("kind", "amount"), ("amount", ""), ("currency", "??"), ("valid_from", "x"), ("most_uses", "0")]).await;
        for field in ["amount", "currency", "valid_from", "most_uses"] {
            assert!(!wrong(&page, field).is_empty(), "{field}");
        }
        let place = format!("/admin/store/codes/{}", made["id"].as_str().unwrap());
        let page = ana.get(&place).await.ok().shows("value=\"SIBLING10\"").shows("value=\"20.00\"").shows("Used 0 times");
        let seen = shown(&page);
        // Somebody else changed it: that is not set back without a word.
        w.owner.patch(&format!("/discounts/{}", made["id"].as_str().unwrap()), json!({ "most_uses": 60 })).await.ok();
        let fiver = [("code", "FIVER"), ("kind", "amount"), ("amount", "5"), ("currency", "EUR")];
        let late = ana.post(&place, &[&fiver[..], &[("shown", &seen)]].concat()).await;
        assert_eq!(late.status, 422);
        let seen = shown(&late.shows("Somebody else changed this").shows("FIVER"));
        ana.post(&place, &[&fiver[..], &[("shown", &seen)]].concat()).await.leads_to("/admin/store/codes?done=saved");
        let after = w.owner.get(&format!("/discounts/{}", made["id"].as_str().unwrap())).await.ok();
        assert_eq!((&after.data()["amount"], &after.data()["percent_bp"], &after.data()["most_uses"]), (&json!(500), &json!(null), &json!(null)));
        ana.get(&format!("{place}/archive")).await.ok().shows("FIVER");
        ana.post(&format!("{place}/archive"), &[]).await.leads_to("/admin/store/codes?done=archived");
        assert_eq!(w.owner.get("/discounts").await.ok().data(), &json!([]));
        ana.get("/admin/store/codes?state=archived").await.ok().shows("FIVER").shows("Archived");
    }

    async fn an_order_is_paid_handed_out_and_given_back_by_pages(w: &World) {
        let mut ana = keeper(w).await;
        let kit = w.owner.post("/products", json!({ "name": "Scarf", "price": 900, "stock": 10 })).await.created();
        let bought = order(w, kit.id(), 3).await;
        let place = format!("/admin/orders/{}", bought.id());
        let page = ana.get(&place).await.ok().shows("Not paid").shows("27.00 EUR").shows("Rui Duarte");
        let nonce = nonce_of(&page);
        let pay = format!("{place}/pay");
        let page = ana.post(&pay, &[("nonce", &nonce), ("method", "cash"), ("amount", "20"), ("reference", "till 2")]).await;
        assert_eq!((page.status, wrong(&page, "amount").as_str()), (422, "An order is paid in one piece: 27.00 EUR."));
        page.shows("value=\"till 2\"");
        for _ in 0..2 {
            ana.post(&pay, &[("nonce", &nonce), ("method", "cash"), ("amount", "27"), ("reference", "till 2")]).await.leads_to(&format!("{place}?done=paid"));
        }
        let paid = w.owner.get(&below(&bought, "")).await.ok();
        assert_eq!((&paid.data()["status"], &paid.data()["paid"]), (&json!("paid"), &json!(2700)));
        // Some of it, twice sent, is handed out once; more than there is cannot be.
        let page = ana.get(&place).await.ok().shows("27.00 EUR paid: Cash").shows("till 2").shows("Everything was handed out");
        let (hand, nonce) = (format!("{place}/hand-out"), nonce_of(&page));
        let page = ana.post(&hand, &[("nonce", &nonce), ("how", "lines"), ("part-0", "4")]).await;
        assert_eq!((page.status, wrong(&page, "part-0").as_str()), (422, "That is more than is still to be handed out."));
        assert_eq!(ana.post(&hand, &[("nonce", &nonce), ("how", "lines"), ("part-0", "")]).await.status, 422);
        for _ in 0..2 {
            ana.post(&hand, &[("nonce", &nonce), ("how", "lines"), ("part-0", "1")]).await.leads_to(&format!("{place}?done=handed"));
        }
        assert_eq!(w.owner.get(&below(&bought, "")).await.ok().data()["lines"][0]["fulfilled"], 1);
        fill_at(&mut ana, &place, &hand, &[("how", "all")]).await.leads_to(&format!("{place}?done=handed"));
        assert_eq!(w.owner.get(&below(&bought, "")).await.ok().data()["status"], "fulfilled");
        // Giving back says first what will happen.
        let refund = format!("{place}/refund");
        let page = ana.get(&refund).await.ok().shows("This will happen").shows("27.00 EUR can be refunded at most").shows("transfer the money yourself");
        let nonce = nonce_of(&page);
        for (fields, field) in [(("how", "amount"), "amount"), (("how", "lines"), "part-0")] {
            let more = [("nonce", nonce.as_str()), fields, ("amount", "27.01"), ("part-0", "x"), ("restock", "yes")];
            let page = ana.post(&refund, &more).await;
            assert_eq!(page.status, 422);
            assert!(!wrong(&page, field).is_empty());
        }
        // Whoever wrote an amount or a number did not mean everything.
        for (more, told) in [(("amount", "5"), "Clear the amount"), (("part-0", "1"), "Clear the quantities")] {
            ana.post(&refund, &[("nonce", nonce.as_str()), ("how", "all"), more]).await.shows(told);
        }
        for _ in 0..2 {
            let fields = [("nonce", nonce.as_str()), ("how", "lines"), ("part-0", "1"), ("restock", "yes"), ("reason", "Too warm")];
            ana.post(&refund, &fields).await.leads_to(&format!("{place}?done=refunded"));
        }
        let after = w.owner.get(&below(&bought, "")).await.ok();
        assert_eq!((&after.data()["status"], &after.data()["refunded"], &after.data()["lines"][0]["returned"]), (&json!("partially_refunded"), &json!(900), &json!(1)));
        assert_eq!(left(w, kit.id()).await, json!(8));
        fill(&mut ana, &refund, &[("how", "amount"), ("amount", "1.50")]).await.leads_to(&format!("{place}?done=refunded"));
        let other = ana.post(&refund, &[("nonce", nonce.as_str()), ("how", "amount"), ("amount", "1")]).await;
        assert_eq!(other.status, 422);
        other.shows("sent before with something else in it");
        // The rest, twice: there is nothing left the second time, and it is done all the same.
        let nonce = nonce_of(&ana.get(&refund).await.ok().shows("All that is left, 16.50 EUR"));
        // Whoever saw more than that would hand over more than is written down.
        let old = ana.post(&refund, &[("nonce", nonce.as_str()), ("left", "1800"), ("how", "all")]).await;
        assert_eq!(old.status, 422);
        old.shows("Something was given back since you looked");
        for _ in 0..2 {
            ana.post(&refund, &[("nonce", nonce.as_str()), ("left", "1650"), ("how", "all")]).await.leads_to(&format!("{place}?done=refunded"));
        }
        let after = w.owner.get(&below(&bought, "")).await.ok();
        assert_eq!((&after.data()["status"], &after.data()["refunded"]), (&json!("refunded"), &json!(2700)));
        assert_eq!(left(w, kit.id()).await, json!(8), "without a tick nothing goes back on the shelf");
        ana.get(&place).await.ok().shows("Too warm").shows("9.00 EUR given back").shows("Given back");
        ana.get(&refund).await.ok().shows("There is nothing to refund");
    }

    async fn orders_are_found_summed_cancelled_and_printed(w: &World) {
        let mut ana = keeper(w).await;
        ana.get("/admin/orders").await.ok().shows("No orders yet");
        let scarf = w.owner.post("/products", json!({ "name": "Scarf", "price": 900 })).await.created();
        let ball = w.owner.post("/products", json!({ "name": "Ball", "price": 1500 })).await.created();
        let one = order(w, scarf.id(), 1).await;
        let mut body = wanted(ball.id(), 2);
        body["buyer"] = json!({ "name": "Örn Åberg" });
        let two = w.owner.post("/orders", body).await.created();
        w.owner.post(&below(&two, "/pay"), json!({ "method": "cash" })).await.ok();
        let page = ana.get("/admin/orders").await.ok().shows("2 orders").shows("39.00 EUR ordered, 30.00 EUR paid").shows("2 × Ball");
        assert_eq!(rows(&page), 2);
        let number = two.data()["number"].to_string();
        for (query, who) in [("q=rui", "Rui Duarte"), ("q=%C3%96rn", "Örn Åberg"), ("state=paid", "Örn Åberg"), (&format!("product={}", scarf.id()), "Rui Duarte"), (&format!("q=%23{number}"), "Örn Åberg")] {
            let page = ana.get(&format!("/admin/orders?{query}")).await.ok().shows(who).shows("1 order<");
            assert_eq!(rows(&page), 1, "{query}");
            let printed = ana.get(&format!("/store/orders/print?{query}")).await.ok().shows(who);
            assert_eq!(rows(&printed), 1, "{query}");
        }
        ana.get("/admin/orders?state=refunded").await.ok().shows("There are no such orders.");
        assert_eq!(rows(&ana.get("/store/orders/print").await.ok()), 2);
        // Cancelling asks first, and counts for nothing any more.
        let cancel = format!("/admin/orders/{}/cancel", one.id());
        fill(&mut ana, &cancel, &[("reason", "Ordered twice")]).await.leads_to(&format!("/admin/orders/{}?done=cancelled", one.id()));
        let after = w.owner.get(&below(&one, "")).await.ok();
        assert_eq!((&after.data()["status"], &after.data()["cancel_reason"]), (&json!("cancelled"), &json!("Ordered twice")));
        ana.get(&cancel).await.leads_to(&format!("/admin/orders/{}", one.id()));
        ana.get("/admin/orders").await.ok().shows("30.00 EUR ordered");
        // Only what is still to be handed out is picked, with whether it is paid.
        let place = |id: &str| format!("/store/products/{id}/pick-list");
        ana.get(&place(scarf.id())).await.ok().shows("Nothing of this is waiting");
        let page = ana.get(&place(ball.id())).await.ok().shows("Örn Åberg").shows("Paid").shows("tickbox");
        assert_eq!(rows(&page), 1);
        w.owner.post(&below(&two, "/fulfil"), json!({})).await.ok();
        ana.get(&place(ball.id())).await.ok().shows("Nothing of this is waiting");
    }

    async fn the_desk_offers_what_the_chosen_buyer_can_buy(w: &World) {
        let cast = w.cast().await;
        let mut ana = keeper(w).await;
        let kit = product(w, &cast.hawks, json!({ "name": "Hawk kit", "buyers": "members" })).await;
        product(w, &cast.hawks, json!({ "name": "Whistle", "buyers": "staff" })).await;
        let scarf = w.owner.post("/products", json!({ "name": "Scarf", "price": 900 })).await.created();
        let (q_kit, q_scarf) = (format!("q-{}", kit.id()), format!("q-{}", scarf.id()));
        let input = |field: &str| format!("<input id=\"{field}\"");
        // Nobody on a roster: only what is for everybody, and why the rest is not.
        let named = [("step", "choose"), ("name", "Rui Duarte"), (q_scarf.as_str(), "2"), ("note", "At the gate")];
        let page = ana.post("/admin/orders/new", &named).await.ok().shows(&input(&q_scarf)).shows("value=\"2\"").shows("At the gate")
            .shows("Only for members of Hawks and their guardians.").shows("Only for coaches and managers of Hawks.");
        assert!(!page.text.contains(&input(&q_kit)), "{}", page.text);
        // What was typed stays while another buyer is chosen.
        let back = [("step", "buyer"), ("name", "Rui Duarte"), (q_scarf.as_str(), "2"), ("note", "At the gate")];
        ana.post("/admin/orders/new", &back).await.ok().shows("value=\"Rui Duarte\"").shows(&format!("name=\"{q_scarf}\" value=\"2\"")).shows("At the gate");
        let find = [("step", "find"), ("q", "ma"), (q_scarf.as_str(), "2")];
        let page = ana.post("/admin/orders/new", &find).await.ok().shows("Max").shows("Hawks").shows(&format!("name=\"{q_scarf}\" value=\"2\""));
        assert!(!page.text.contains("Zoe"), "{}", page.text);
        for wrong in [vec![("step", "find"), ("q", "")], vec![("step", "choose")], vec![("step", "choose"), ("name", "")], vec![("step", "look"), (q_scarf.as_str(), "1")]] {
            assert_eq!(ana.post("/admin/orders/new", &wrong).await.status, 422, "{wrong:?}");
        }
        let max = cast.max.person.as_str();
        let chosen = [("step", "choose"), ("buyer", max), (q_scarf.as_str(), "2")];
        let page = ana.post("/admin/orders/new", &chosen).await.ok().shows(&input(&q_kit)).shows("value=\"2\"");
        assert!(!page.text.contains("Only for members"), "{}", page.text);
        ana.get(&format!("/admin/orders/new?buyer={}", cast.kim.person)).await.ok().shows("Whistle");
        let wish = [("buyer", max), (q_scarf.as_str(), "2"), (q_kit.as_str(), "1")];
        let page = ana.post("/admin/orders/new", &wish).await.ok().shows("Max").shows("42.99 EUR");
        let (nonce, total) = (nonce_of(&page), between(&page, "name=\"total\" value=\"", "\"").to_owned());
        let place: Vec<_> = wish.into_iter().chain([("step", "place"), ("nonce", nonce.as_str()), ("total", total.as_str())]).collect();
        ana.post("/admin/orders/new", &place).await;
        let orders = w.owner.get("/orders").await.ok();
        assert_eq!(orders.data()[0]["buyer"]["person_id"], json!(max));
    }

    async fn an_order_is_taken_at_the_desk(w: &World) {
        let mut ana = keeper(w).await;
        let scarf = w.owner.post("/products", json!({ "name": "Scarf", "price": 900, "stock": 2 })).await.created();
        code(w, json!({})).await;
        let field = format!("q-{}", scarf.id());
        let wish = [(field.as_str(), "2"), ("name", "Rui Duarte"), ("email", "rui@example.org"), ("discount_code", "tenth")];
        ana.get("/admin/orders/new").await.ok().shows("First choose the buyer");
        ana.post("/admin/orders/new", &[("step", "choose"), ("name", "Rui Duarte")]).await.ok().shows("Scarf").shows("2 left");
        let page = ana.post("/admin/orders/new", &wish).await.ok().shows("Check your order").shows("16.20 EUR");
        let (nonce, total) = (nonce_of(&page), between(&page, "name=\"total\" value=\"", "\"").to_owned());
        let place: Vec<_> = wish.into_iter().chain([("step", "place"), ("nonce", nonce.as_str()), ("total", total.as_str())]).collect();
        let first = ana.post("/admin/orders/new", &place).await;
        let to = first.next().unwrap().to_owned();
        assert!(to.starts_with("/admin/orders/ord_"), "{to}");
        ana.post("/admin/orders/new", &place).await.leads_to(&to);
        let made = w.owner.get("/orders").await.ok();
        assert_eq!(made.data().as_array().unwrap().len(), 1);
        assert_eq!((&made.data()[0]["buyer"]["email"], &made.data()[0]["total"]), (&json!("rui@example.org"), &json!(1620)));
        let page = ana.post("/admin/orders/new", &[(field.as_str(), "1"), ("name", ""), ("email", "odd")]).await;
        assert_eq!(page.status, 422);
        assert!(!wrong(&page, "name").is_empty() && !wrong(&page, "email").is_empty(), "{}", page.text);
    }

    async fn hostile_names_are_only_names(w: &World) {
        let mut ana = keeper(w).await;
        let team = w.owner.post("/teams", json!({ "name": HOSTILE })).await.created().id().to_owned();
        let variants = json!([{ "name": HOSTILE, "stock": 3 }]);
        let kit = product(w, &team, json!({ "name": HOSTILE, "description": HOSTILE, "variants": variants })).await;
        let code = code(w, json!({ "code": "\"><script>x" })).await;
        let line = json!({ "product_id": kit.id(), "variant_id": kit.data()["variants"][0]["id"], "quantity": 1 });
        let body = json!({ "buyer": { "name": HOSTILE }, "lines": [line], "note": HOSTILE, "discount_code": "\"><script>x" });
        let bought = w.owner.post("/orders", body).await.created();
        w.owner.post(&below(&bought, "/pay"), json!({ "method": "cash", "reference": HOSTILE })).await.ok();
        w.owner.post(&below(&bought, "/refund"), json!({ "amount": 100, "reason": HOSTILE })).await.ok();
        let (product, one) = (format!("/admin/store/products/{}", kit.id()), format!("/admin/orders/{}", bought.id()));
        let own = format!("/store/orders/{}", bought.id());
        for path in [
            "/admin/store", &product, &format!("{product}/archive"), "/admin/store/codes", &format!("/admin/store/codes/{}", code.id()), "/admin/orders", &one,
            &format!("{one}/refund"), "/admin/orders/new", "/store/orders/print", &format!("/store/products/{}/pick-list", kit.id()), &own, &format!("{own}/receipt"),
        ] {
            let page = ana.get(path).await.ok();
            assert!(!page.text.contains("<img src=x") && !page.text.contains("<script>"), "{path}: {}", page.text);
        }
    }
}

/// Sends a form of another page than the one it leads to.
async fn fill_at(browser: &mut Browser, page: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
    let nonce = nonce_of(&browser.get(page).await.ok());
    let all: Vec<_> =
        [("nonce", nonce.as_str())].into_iter().chain(fields.iter().copied()).collect();
    browser.post(path, &all).await
}
