//! Tests of the treasurer's pages for dues: charging with a preview, payments, refunds, waivers, reminders, and the
//! payment settings.

use testkit::{Browser, TestClub, TestResponse, Value, World, both, json, seconds};
use touchline::accounts::user::Role;

use crate::admin_keys::between;
use crate::dues::{assert_ledger_balanced, charge_member, get_due};
use crate::mail::DAY;

pub(crate) const HOSTILE: &str = "\"><img src=x onerror=alert(1)><script>\u{202e}";

pub(crate) async fn treasurer(w: &World) -> (TestClub, Browser) {
    let club = w.club().await;
    let browser = w.browser(club.admin.id).await;
    (club, browser)
}

/// The fields of the charge form. Those of `more` are added or replace others.
fn form<'a>(team: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let defaults = [
        ("team", team),
        ("who", "all"),
        ("title", "Season fee"),
        ("category", "dues"),
        ("amount", "100.00"),
        ("currency", "EUR"),
        ("split", "once"),
        ("due_on", "2026-10-01"),
        ("use_credit", "yes"),
    ];
    let replaced = |name: &str| more.iter().any(|(known, _)| *known == name);
    defaults.into_iter().filter(|(name, _)| !replaced(name)).chain(more.iter().copied()).collect()
}

/// The hidden fields of a page's form, without the CSRF token.
fn hidden(page: &TestResponse) -> Vec<(String, String)> {
    let inputs = page.text.split("<input type=\"hidden\" name=\"").skip(1);
    let pairs = inputs.filter_map(|input| {
        let (name, rest) = input.split_once("\" value=\"")?;
        let (value, _) = rest.split_once('"')?;
        let value = value.replace("&#34;", "\"").replace("&#60;", "<").replace("&#62;", ">");
        Some((name.to_owned(), value.replace("&#39;", "'").replace("&#38;", "&")))
    });
    pairs.filter(|(name, _)| name != "csrf").collect()
}

/// Confirms a preview.
async fn confirm(browser: &mut Browser, preview: &TestResponse) -> TestResponse {
    let fields = hidden(preview);
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let fields: Vec<_> = fields.into_iter().chain([("step", "charge")]).collect();
    browser.post("/admin/dues/new", &fields).await
}

/// Opens a form and submits it with its hidden fields.
async fn fill(browser: &mut Browser, path: &str, fields: &[(&str, &str)]) -> TestResponse {
    let page = browser.get(path).await.ok();
    let hidden_fields = hidden(&page);
    let hidden_fields = hidden_fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let fields: Vec<_> = hidden_fields.chain(fields.iter().copied()).collect();
    browser.post(path, &fields).await
}

fn installment_amounts(due: &Value, field: &str) -> Vec<i64> {
    due["installments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part[field].as_i64().unwrap())
        .collect()
}

/// Asserts that a page shows the amounts of a due.
fn shows_amounts(page: TestResponse, due: &Value) -> TestResponse {
    let euros = |minor: i64| format!("€{}.{:02}", minor / 100, minor % 100);
    page.shows(&format!("Open balance: {}", euros(due["balance"].as_i64().unwrap())))
        .shows(&euros(due["paid"].as_i64().unwrap()))
        .shows(&euros(due["amount"].as_i64().unwrap()))
}

both! {
    async fn charges_a_team_after_a_preview(w: &World) {
        let (club, mut browser) = treasurer(w).await;
        let ben = w.add_member(&club.hawks, json!({ "first_name": "Ben", "last_name": HOSTILE, "guardians": [{ "id": club.pat }] })).await;
        browser.get("/admin/dues").await.ok().shows("No dues yet");
        browser.get("/admin/dues/new").await.ok().shows("Choose a team.").shows("Otters");
        browser.get(&format!("/admin/dues/new?team={}", club.hawks)).await.ok().shows("Every player").shows("Zoe").shows("value=\"EUR\"");

        let fields = form(&club.hawks, &[("title", HOSTILE), ("split", "equal"), ("installment_count", "3"), ("sibling_discount_bps", "25"),
            ("late_kind", "amount"), ("late_fee", "5"), ("note", "By transfer"), ("step", "preview")]);
        let preview = browser.post("/admin/dues/new", &fields).await.ok()
            .shows("Nobody has been charged yet").shows("4 members").shows("€375.00").shows("€33.34").shows("€25.00").shows("€5.00, added once").shows("Payer:");
        assert!(!preview.text.contains("<img src=x"), "names are escaped");
        assert_eq!(w.count("due").await, 0);

        let created = confirm(&mut browser, &preview).await;
        let list = created.local_redirect().unwrap().to_owned();
        assert!(list.starts_with("/admin/dues?charge=chg_") && list.ends_with("&done=charged"), "{list}");
        let page = browser.get(&list).await.ok().shows("The members were charged.").shows("Only dues from the same charge");
        assert!(!page.text.contains("<img src=x"));

        let all = w.owner.get("/dues").await.ok();
        let dues = all.data().as_array().unwrap();
        let due_of = |person: &str| dues.iter().find(|due| due["person_id"] == person).unwrap();
        assert_eq!(dues.len(), 4);
        for due in dues {
            assert_eq!(installment_amounts(due, "amount").iter().sum::<i64>(), due["balance"].as_i64().unwrap());
        }
        assert_eq!(installment_amounts(due_of(&club.lia.person), "amount"), [3334, 3333, 3333]);
        let siblings = [due_of(&club.max.person), due_of(&ben.person)];
        let mut owed: Vec<_> = siblings.iter().map(|due| due["balance"].as_i64().unwrap()).collect();
        owed.sort_unstable();
        assert_eq!(owed, [7500, 10000]);
        assert_eq!((&siblings[0]["title"], &siblings[0]["note"], &siblings[0]["late_fee"]["amount"]), (&json!(HOSTILE.trim()), &json!("By transfer"), &json!(500)));
        assert_ledger_balanced(w).await;

        // Confirming twice charges once.
        let again = confirm(&mut browser, &preview).await;
        let redirect = again.local_redirect().unwrap().to_owned();
        assert!(redirect.ends_with("&done=before"), "{redirect}");
        browser.get(&redirect).await.ok().shows("Nobody was charged twice");
        assert_eq!(w.count("due").await, 4);
        // Confirming again with other fields is rejected.
        let mut other = preview.clone();
        other.text = other.text.replace("By transfer", "By card");
        let refused = confirm(&mut browser, &other).await;
        assert_eq!(refused.status, 422);
        refused.shows("submitted this form with different content");
        assert_eq!(w.count("due").await, 4);
        // A form without a preview is rejected.
        let fields = form(&club.hawks, &[("step", "charge")]);
        assert_eq!(browser.post("/admin/dues/new", &fields).await.status, 400);
        assert_eq!(w.count("due").await, 4);
    }

    async fn rejects_a_charge_that_no_longer_matches_its_preview(w: &World) {
        let (club, mut browser) = treasurer(w).await;
        let due = charge_member(w, &club.hawks, &club.max.member, json!({})).await;
        let fields = form(&club.hawks, &[("step", "preview")]);
        let preview = browser.post("/admin/dues/new", &fields).await.ok();
        let count = w.count("due").await;
        // Meanwhile, somebody pays too much and gets credit.
        w.owner.post(&format!("/dues/{}/payments", due["id"].as_str().unwrap()), json!({ "amount": 12500, "method": "cash" })).await.created();
        let refused = confirm(&mut browser, &preview).await;
        assert_eq!((refused.status, w.count("due").await), (422, count));
        refused.shows("has changed since the preview");
        let preview = browser.post("/admin/dues/new", &fields).await.ok().shows("Paid from credit").shows("€25.00");
        assert!(confirm(&mut browser, &preview).await.local_redirect().unwrap().ends_with("&done=charged"));
        // Meanwhile, somebody joins the team.
        let preview = browser.post("/admin/dues/new", &fields).await.ok();
        w.add_member(&club.hawks, json!({ "first_name": "Ben" })).await;
        assert_eq!(confirm(&mut browser, &preview).await.status, 422);
        assert_ledger_balanced(w).await;
    }

    async fn charges_selected_members_with_custom_due_dates_and_credit(w: &World) {
        let (club, mut browser) = treasurer(w).await;
        let first = charge_member(w, &club.hawks, &club.max.member, json!({})).await;
        w.owner.post(&format!("/dues/{}/payments", first["id"].as_str().unwrap()), json!({ "amount": 12500, "method": "cash" })).await.created();
        let fields = form(&club.hawks, &[("who", "some"), ("member_ids", &club.max.member), ("member_ids", &club.zoe.member), ("category", "travel"),
            ("amount", "90"), ("split", "rows"), ("part_on_1", "2026-10-01"), ("part_amount_1", "30"), ("part_on_3", "2026-12-01"), ("part_amount_3", "51,00"),
            ("discount_kind", "percent"), ("discount", "10"), ("discount_reason", "Early"), ("late_kind", "percent"), ("late_fee", "12.5")]);
        let preview = browser.post("/admin/dues/new", &fields).await.ok().shows("€162.00").shows("Paid from credit").shows("€25.00").shows("12.5% of the overdue amount");
        // Going back from the preview keeps the input.
        let fields_to_change = hidden(&preview);
        let fields_to_change: Vec<_> = fields_to_change.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain([("step", "change")]).collect();
        browser.post("/admin/dues/new", &fields_to_change).await.ok().shows("value=\"51,00\"").shows("value=\"Early\"").shows("value=\"2026-12-01\"");
        assert_eq!(confirm(&mut browser, &preview).await.status, 303);
        let dues = w.owner.get("/dues?limit=2").await.ok();
        let max = dues.data().as_array().unwrap().iter().find(|due| due["person_id"] == json!(club.max.person)).unwrap().clone();
        assert_eq!((&max["paid"], &max["balance"], &max["category"], &max["discount_reason"]), (&json!(2500), &json!(5600), &json!("travel"), &json!("Early")));
        assert_eq!((installment_amounts(&max, "amount"), &max["late_fee"]["percent_bps"]), (vec![3000, 5100], &json!(1250)));
        assert_ledger_balanced(w).await;
    }

    async fn shows_errors_of_a_charge_beside_their_fields(w: &World) {
        let (club, mut browser) = treasurer(w).await;
        let part = |first: &'static str, second: &'static str| [("split", "rows"), ("part_on_1", "2026-10-01"), ("part_amount_1", first), ("part_on_2", "2026-11-01"), ("part_amount_2", second)];
        for (more, message) in [
            (vec![("amount", "-5")], "Enter an amount in EUR, such as 150.00."), (vec![("amount", "0")], "more than zero"), (vec![("amount", "0,00")], "more than zero"),
            (vec![("amount", "")], "Enter an amount"), (vec![("amount", "1,000.00")], "Enter an amount"), (vec![("amount", "10.005")], "at most 2 decimals"),
            (vec![("amount", "100.5"), ("currency", "JPY")], "JPY amounts have no decimals"), (vec![("amount", "99999999999999")], "The amount is too large"),
            (vec![("currency", "XTS")], "three-letter currency code"), (vec![("title", " ")], "Enter a title"), (vec![("title", "\u{1}")], "cannot be displayed"), (vec![("category", "gift")], "Choose a category"),
            (vec![("due_on", "")], "Choose a date"), (vec![("due_on", "2026-02-30")], "Choose a date"), (vec![("due_on", "1999-12-31")], "The year must be from 2000"),
            (vec![("split", "equal"), ("installment_count", "0")], "from 1 to 60"), (vec![("split", "equal"), ("installment_count", "many")], "from 1 to 60"),
            (vec![("amount", "0.05"), ("split", "equal"), ("installment_count", "6")], "too small for this many installments"), (vec![("split", "rows")], "at least one due date"),
            (part("50", "49.99").to_vec(), "The installments add up to €99.99"), (part("0", "100").to_vec(), "Installment 1: The amount must be more than zero"), (part("100.00", "").to_vec(), "Installment 2: Enter an amount"),
            (vec![("split", "rows"), ("part_on_1", "2026-10-01"), ("part_amount_1", "50"), ("part_on_2", "2026-09-01"), ("part_amount_2", "50")], "after the one before it"),
            (vec![("who", "some")], "Select at least one member"), (vec![("who", "some"), ("member_ids", "mem_x")], "is not on the team"), (vec![("who", "some"), ("member_ids", &club.ole.member)], "This member is not on the team"),
            (vec![("sibling_discount_bps", "100")], "less than 100"), (vec![("discount_kind", "amount"), ("discount", "100")], "must be less than the amount"), (vec![("late_kind", "percent"), ("late_fee", "101")], "at most 100"),
        ] {
            let fields = form(&club.hawks, &more);
            let page = browser.post("/admin/dues/new", &fields).await;
            assert_eq!(page.status, 422, "{more:?}: {}", page.text);
            page.shows(message).shows("Nobody was charged");
        }
        let page = browser.post("/admin/dues/new", &form(&club.hawks, &[("amount", "x"), ("title", HOSTILE), ("note", HOSTILE)])).await;
        assert_eq!(page.status, 422);
        assert!(!page.text.contains("<img src=x") && page.text.contains("&#60;img src=x"));
        let theirs = w.stranger.post("/teams", json!({ "name": "Theirs" })).await.created();
        assert_eq!(browser.post("/admin/dues/new", &form(theirs.id(), &[])).await.status, 404);
        assert_eq!(browser.get(&format!("/admin/dues/new?team={}", theirs.id())).await.status, 404);
        assert_eq!(w.count("due").await, 0);
    }

    async fn records_partial_payments_overpayments_and_refunds(w: &World) {
        let (club, mut browser) = treasurer(w).await;
        let due = charge_member(w, &club.hawks, &club.max.member, json!({ "installment_count": 2 })).await;
        let base = format!("/admin/dues/{}", due["id"].as_str().unwrap());
        let pay = format!("{base}/payments/new");
        browser.get(&pay).await.ok().shows("value=\"100.00\"").shows(": €100.00.");
        for (fields, message) in [
            (vec![("amount", "-1"), ("method", "cash")], "Enter an amount"), (vec![("amount", "0"), ("method", "cash")], "more than zero"), (vec![("amount", "1"), ("method", "barter")], "Choose a payment method"),
            (vec![("amount", "1"), ("method", "cash"), ("paid_on", "2031-01-01")], "between the year 2000 and today"), (vec![("amount", "1"), ("method", "credit")], "greater than the payer"),
            (vec![("amount", "1"), ("method", "cash"), ("paid_on", "soon")], "Choose a date"),
        ] {
            let page = fill(&mut browser, &pay, &fields).await;
            assert_eq!(page.status, 422, "{fields:?}");
            page.shows(message);
        }
        assert_eq!(w.count("payment").await, 0);

        let part = fill(&mut browser, &pay, &[("amount", "60"), ("method", "bank_transfer"), ("reference", HOSTILE), ("paid_on", "2026-09-01")]).await;
        part.redirects_to(&format!("{base}?done=paid"));
        let now = get_due(w, &due).await;
        assert_eq!((&now["status"], &now["balance"], installment_amounts(&now, "paid")), (&json!("partially_paid"), &json!(4000), vec![5000, 1000]));
        let page = shows_amounts(browser.get(&format!("{base}?done=paid")).await.ok(), &now).shows("Payment recorded").shows("Partially paid").shows("1 Sep 2026, 12:00");
        assert!(!page.text.contains("<img src=x"));

        // Submitting twice records one payment; an overpaid amount becomes credit.
        let form = browser.get(&pay).await.ok();
        let nonce = between(&form, "name=\"nonce\" value=\"", "\"").to_owned();
        let fields = [("nonce", nonce.as_str()), ("amount", "65.00"), ("method", "cash")];
        browser.post(&pay, &fields).await.redirects_to(&format!("{base}?done=paid"));
        browser.post(&pay, &fields).await.redirects_to(&format!("{base}?done=before"));
        let now = get_due(w, &due).await;
        assert_eq!((&now["status"], &now["balance"], w.count("payment").await), (&json!("paid"), &json!(0), 2));
        let page = shows_amounts(browser.get(&base).await.ok(), &now).shows("Payer’s credit").shows("€25.00 overpaid").shows("Paid");

        let links = page.text.split("href=\"").filter_map(|link| link.split('"').next());
        let refund = links.filter(|link| link.ends_with("/refund")).last().unwrap().to_owned();
        browser.get(&refund).await.ok().shows("€25.00 of the payment is unused credit and is refunded first").shows("Up to €40.00 is owed again").shows("Your club returns the money itself");
        for (amount, message) in [("70", "You can refund at most €65.00 of this payment"), ("0", "more than zero"), ("x", "Enter an amount")] {
            let page = fill(&mut browser, &refund, &[("amount", amount)]).await;
            assert_eq!(page.status, 422);
            page.shows(message);
        }
        let form = browser.get(&refund).await.ok();
        let nonce = between(&form, "name=\"nonce\" value=\"", "\"").to_owned();
        let fields = [("nonce", nonce.as_str()), ("amount", "65"), ("reason", "Paid twice")];
        browser.post(&refund, &fields).await.redirects_to(&format!("{base}?done=refunded"));
        browser.post(&refund, &fields).await.redirects_to(&format!("{base}?done=before"));
        let now = get_due(w, &due).await;
        assert_eq!((&now["status"], &now["balance"], w.count("refund").await), (&json!("partially_paid"), &json!(4000), 1));
        shows_amounts(browser.get(&base).await.ok(), &now).shows("Refunded").shows("€65.00");
        browser.get(&refund).await.ok().shows("There is nothing left to refund");
        assert_ledger_balanced(w).await;
    }

    async fn edits_and_waives_a_due_and_sends_reminders(w: &World) {
        let (club, mut browser) = treasurer(w).await;
        let due = charge_member(w, &club.hawks, &club.max.member, json!({ "late_fee": { "amount": 500 } })).await;
        let base = format!("/admin/dues/{}", due["id"].as_str().unwrap());
        let edit = format!("{base}/edit");
        browser.get(&edit).await.ok().shows("value=\"100.00\"").shows("value=\"2026-10-01\"").shows("Pat");
        let fields = [("title", "Autumn fee"), ("category", "fee"), ("amount", "80"), ("due_on", "2026-11-01"), ("payer", club.max.person.as_str()), ("late_kind", "none"), ("note", "Cash")];
        fill(&mut browser, &edit, &fields).await.redirects_to(&format!("{base}?done=saved"));
        let now = get_due(w, &due).await;
        assert_eq!((&now["title"], &now["category"], &now["balance"], &now["due_on"]), (&json!("Autumn fee"), &json!("fee"), &json!(8000), &json!("2026-11-01")));
        assert_eq!((&now["payer_id"], &now["late_fee"], &now["note"]), (&json!(club.max.person), &Value::Null, &json!("Cash")));
        for (name, value, message) in [("amount", "0", "more than zero"), ("title", "", "Enter a title"), ("due_on", "x", "Choose a date"), ("payer", club.kim.person.as_str(), "must be the member or one of their guardians"), ("payer", "x", "Choose who pays")] {
            let fields: Vec<_> = fields.iter().map(|(known, default)| if *known == name { (name, value) } else { (*known, *default) }).collect();
            let page = fill(&mut browser, &edit, &fields).await;
            assert_eq!(page.status, 422, "{name}");
            page.shows(message);
        }
        // A change that somebody else made meanwhile is not overwritten silently.
        let stale: Vec<_> = fields.into_iter().chain([("version", "1")]).collect();
        let page = browser.post(&edit, &stale).await;
        assert_eq!(page.status, 422);
        let page = page.shows("Somebody else changed this");
        let version = between(&page, "name=\"version\" value=\"", "\"").to_owned();
        let again: Vec<_> = fields.into_iter().chain([("version", version.as_str())]).collect();
        browser.post(&edit, &again).await.redirects_to(&format!("{base}?done=saved"));
        // The dates of installments can be changed, and their amounts follow the total.
        let parts = charge_member(w, &club.hawks, &club.zoe.member, json!({ "installment_count": 2 })).await;
        let edit_parts = format!("/admin/dues/{}/edit", parts["id"].as_str().unwrap());
        browser.get(&edit_parts).await.ok().shows("part_on_2");
        let fields = |first: &'static str| [("title", "Fee"), ("category", "fee"), ("amount", "200"), ("part_on_1", "2026-10-01"), ("part_amount_1", first), ("part_on_2", "2026-11-01"), ("part_amount_2", "50"), ("late_kind", "none")];
        let payer = parts["payer_id"].as_str().unwrap();
        let with_payer = |first| fields(first).into_iter().chain([("payer", payer)]).collect::<Vec<_>>();
        let page = fill(&mut browser, &edit_parts, &with_payer("60")).await;
        assert_eq!(page.status, 422);
        page.shows("The installments add up to €110.00");
        assert_eq!(fill(&mut browser, &edit_parts, &with_payer("50")).await.status, 303);
        assert_eq!(installment_amounts(&get_due(w, &parts).await, "amount"), [10000, 10000]);

        let reminded = format!("{base}?done=reminded&emails=1");
        browser.post(&format!("{base}/remind"), &[]).await.redirects_to(&reminded);
        browser.get(&reminded).await.ok().shows("1 reminder for 1 due will be sent when a mail server is set up.");
        browser.get(&format!("{base}?done=reminded&emails=0")).await.ok().shows("No reminders were sent");
        browser.post(&format!("{base}/remind"), &[]).await.redirects_to(&format!("{base}?done=lately"));

        let waive = format!("{base}/waive");
        browser.get(&waive).await.ok().shows("The family no longer owes €80.00");
        assert_eq!(browser.post(&waive, &[("reason", " ")]).await.status, 422);
        browser.post(&waive, &[("reason", HOSTILE)]).await.redirects_to(&format!("{base}?done=waived"));
        let page = browser.get(&base).await.ok().shows("Waived").shows("Open balance: €0.00");
        assert!(!page.text.contains("<img src=x"));
        assert_eq!(get_due(w, &due).await["status"], "waived");
        let page = browser.post(&waive, &[("reason", "Again")]).await;
        assert_eq!(page.status, 422);
        page.shows("already waived");
        browser.get(&edit).await.ok().shows("can no longer be edited");
        assert_ledger_balanced(w).await;
    }

    async fn reminds_overdue_payers_and_shows_the_same_statement_as_the_api(w: &World) {
        let (club, mut browser) = treasurer(w).await;
        let first = charge_member(w, &club.hawks, &club.max.member, json!({ "installment_count": 2 })).await;
        charge_member(w, &club.otters, &club.ole.member, json!({ "due_on": "2027-06-01" })).await;
        charge_member(w, &club.hawks, &club.zoe.member, json!({ "currency": "JPY", "due_on": "2027-06-01" })).await;
        browser.get("/admin/dues/remind").await.ok().shows("there are no reminders to send");
        w.owner.post(&format!("/dues/{}/payments", first["id"].as_str().unwrap()), json!({ "amount": 2000, "method": "cash" })).await.created();
        w.advance_clock(seconds(DAY * 40));
        let mut browser2 = w.browser(club.admin.id).await;
        let browser = &mut browser2;
        browser.get("/admin/dues").await.ok().shows("Send reminders").shows("€180.00").shows("€30.00").shows("€20.00").shows("¥10,000");
        for (query, shows, hides) in [("status=overdue", "Max", "Zoe</bdi></a>"), ("status=partially_paid", "Max", "Zoe</bdi></a>"), ("q=zo", "Zoe", "Max</bdi></a>"), ("q=PAT", "Max", "Zoe</bdi></a>"), ("q=season", "Zoe", "nobody"),
            ("category=travel", "No dues match these filters", "Max</bdi></a>"), ("q=%25", "No dues match these filters", "Max</bdi></a>")] {
            let page = browser.get(&format!("/admin/dues?{query}")).await.ok().shows(shows);
            assert!(!page.text.contains(hides), "{query}");
        }
        browser.get(&format!("/admin/dues?team={}", club.otters)).await.ok().shows("Ole");
        // The totals are those of the selected family or team.
        let page = browser.get(&format!("/admin/dues?payer={}", club.pat)).await.ok().shows("Only dues with <bdi>Pat").shows("€80.00");
        assert!(!page.text.contains("€180.00") && !page.text.contains('¥'));
        let page = browser.get(&format!("/admin/dues?team={}", club.hawks)).await.ok().shows("€80.00").shows("¥10,000");
        assert!(!page.text.contains("€180.00"));
        for (file, first_column) in [("dues", "due_id,"), ("ledger", "movement_id,"), ("orders", "order_id,")] {
            let file = browser.get(&format!("/admin/exports/{file}.csv")).await.ok();
            assert!(file.text.contains(&format!("\u{feff}{first_column}")), "{}", file.text);
        }
        browser.get("/admin/dues/remind").await.ok().shows("1 family gets an email about 1 due that is overdue");
        browser.post("/admin/dues/remind", &[]).await.redirects_to("/admin/dues?done=reminded&dues=1&emails=1");
        browser.get("/admin/dues?done=reminded&dues=1&emails=1").await.ok().shows("1 reminder for 1 due will be sent when a mail server is set up.");
        browser.post("/admin/dues/remind", &[]).await.redirects_to("/admin/dues?done=reminded&dues=0&emails=0");

        let statement = w.owner.get(&format!("/teams/{}/dues/statement", club.hawks)).await.ok();
        let page = browser.get(&format!("/admin/dues/teams/{}", club.hawks)).await.ok().shows("Statement in EUR").shows("Statement in JPY").shows("Send reminders").shows("Pat");
        for total in statement.data()["totals"].as_array().unwrap() {
            let formatted = |name: &str| {
                let minor = total[name].as_i64().unwrap();
                if total["currency"] == "EUR" { format!("{}.{:02}", minor / 100, minor % 100) } else { minor.to_string() }
            };
            for name in ["charged", "paid", "outstanding", "overdue"] {
                assert!(page.text.contains(&format!(">{}<", formatted(name))), "{name} {}", formatted(name));
            }
        }
        // Overpayments and credit are shown only if there are any.
        assert!(!page.text.contains("Overpaid") && !page.text.contains("Waived"));
        w.owner.post(&format!("/dues/{}/payments", first["id"].as_str().unwrap()), json!({ "amount": 9000, "method": "cash" })).await.created();
        browser.get(&format!("/admin/dues/teams/{}", club.hawks)).await.ok().shows("Overpaid").shows("Current credit").shows(">10.00<").shows("pays other dues").shows(">110.00<");
        browser.post(&format!("/admin/dues/teams/{}/remind", club.hawks), &[]).await.redirects_to(&format!("/admin/dues/teams/{}?done=reminded&dues=0&emails=0", club.hawks));
    }

    async fn edits_the_payment_settings(w: &World) {
        let admin = w.user(Role::Admin, "ana@harbour.example").await;
        let mut browser = w.browser(admin.id).await;
        let page = "/admin/settings/payments";
        browser.get("/admin/settings").await.ok().shows(page);
        browser.get(page).await.ok().shows("value=\"EUR\"").shows("value=\"1, 7\"").shows("value=\"1, 14\"").shows("value=\"2\"").shows("Not enabled").shows("/docs/cards");
        let fields = [("currency", "jpy"), ("hold", "36"), ("unit", "hours"), ("before", "3 10"), ("on_day", "yes"), ("after", "")];
        fill(&mut browser, page, &fields).await.redirects_to("/admin/settings/payments?done=saved");
        let now = w.owner.get("/payment_settings").await.ok();
        assert_eq!((&now.data()["currency"], &now.data()["unpaid_order_ttl_minutes"], &now.data()["reminder_days"]), (&json!("JPY"), &json!(2160), &json!([-10, -3, 0])));
        browser.get(page).await.ok().shows("value=\"JPY\"").shows("value=\"36\"").shows("value=\"3, 10\"").shows("value=\"yes\" checked");
        for (name, value, message) in [("currency", "€", "three-letter"), ("hold", "0", "whole number"), ("hold", "1.5", "whole number"), ("hold", "9999", "at most one year"), ("unit", "moons", "Choose days"),
            ("before", "-3", "days from 1 to 365"), ("after", "x", "days from 1 to 365"), ("before", "1,2,3,4,5,6,7,8,9,10,11", "at most 10 reminders")] {
            let fields: Vec<_> = fields.iter().map(|(known, default)| if *known == name { (name, value) } else { (*known, *default) }).collect();
            let refused = browser.post(page, &fields).await;
            assert_eq!(refused.status, 422, "{name}={value}");
            refused.shows(message).shows("Nothing was saved");
        }
        // An old or missing version is rejected.
        for version in ["1", ""] {
            let stale = browser.post(page, &[("currency", "EUR"), ("hold", ""), ("unit", "days"), ("version", version)]).await;
            assert_eq!(stale.status, 422);
            stale.shows("Somebody else changed this");
        }
        fill(&mut browser, page, &[("currency", "EUR"), ("hold", ""), ("unit", "days")]).await.redirects_to("/admin/settings/payments?done=saved");
        let now = w.owner.get("/payment_settings").await.ok();
        assert_eq!((&now.data()["unpaid_order_ttl_minutes"], &now.data()["reminder_days"]), (&Value::Null, &json!([])));
        let member = w.user(Role::Member, "mo@harbour.example").await;
        assert_eq!(w.browser(member.id).await.get(page).await.status, 403);
    }
}
