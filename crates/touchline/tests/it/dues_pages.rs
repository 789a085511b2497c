//! Stories about the treasurer's pages of dues: charging with a preview, paying, giving back, waiving, reminding,
//! and how the club handles money.

use testkit::{Answer, Browser, Cast, Value, World, both, json, seconds};
use touchline::accounts::user::Role;

use crate::admin_keys::between;
use crate::dues::{balanced, charged, look};
use crate::mail::DAY;

pub(crate) const HOSTILE: &str = "\"><img src=x onerror=alert(1)><script>\u{202e}";

pub(crate) async fn treasurer(w: &World) -> (Cast, Browser) {
    let cast = w.cast().await;
    let browser = w.browser(cast.admin.id).await;
    (cast, browser)
}

/// What the form of a charge says, with more fields or others.
fn form<'a>(team: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let usual = [
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
    let told = |name: &str| more.iter().any(|(known, _)| *known == name);
    usual.into_iter().filter(|(name, _)| !told(name)).chain(more.iter().copied()).collect()
}

/// The fields that a page sends along unseen.
fn hidden(page: &Answer) -> Vec<(String, String)> {
    let inputs = page.text.split("<input type=\"hidden\" name=\"").skip(1);
    let pairs = inputs.filter_map(|input| {
        let (name, rest) = input.split_once("\" value=\"")?;
        let (value, _) = rest.split_once('"')?;
        let value = value.replace("&#34;", "\"").replace("&#60;", "<").replace("&#62;", ">");
        Some((name.to_owned(), value.replace("&#39;", "'").replace("&#38;", "&")))
    });
    pairs.filter(|(name, _)| name != "csrf").collect()
}

/// Confirms what a preview shows.
async fn confirm(browser: &mut Browser, preview: &Answer) -> Answer {
    let fields = hidden(preview);
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let fields: Vec<_> = fields.into_iter().chain([("step", "charge")]).collect();
    browser.post("/admin/dues/new", &fields).await
}

/// Opens a form and sends it with what it carries unseen.
async fn fill(browser: &mut Browser, path: &str, fields: &[(&str, &str)]) -> Answer {
    let page = browser.get(path).await.ok();
    let own = hidden(&page);
    let own = own.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let fields: Vec<_> = own.chain(fields.iter().copied()).collect();
    browser.post(path, &fields).await
}

fn numbers(due: &Value, member: &str) -> Vec<i64> {
    due["instalments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part[member].as_i64().unwrap())
        .collect()
}

/// The figures of a due that its page must show.
fn figures(page: Answer, due: &Value) -> Answer {
    let euros = |minor: i64| format!("{}.{:02} EUR", minor / 100, minor % 100);
    page.shows(&format!("Open: {}", euros(due["balance"].as_i64().unwrap())))
        .shows(&euros(due["paid"].as_i64().unwrap()))
        .shows(&euros(due["amount"].as_i64().unwrap()))
}

both! {
    async fn a_team_is_charged_after_a_look_at_what_comes_of_it(w: &World) {
        let (cast, mut browser) = treasurer(w).await;
        let ben = w.joins(&cast.hawks, json!({ "first_name": "Ben", "last_name": HOSTILE, "guardians": [{ "id": cast.pat }] })).await;
        browser.get("/admin/dues").await.ok().shows("Nobody was charged yet");
        browser.get("/admin/dues/new").await.ok().shows("First choose the team").shows("Otters");
        browser.get(&format!("/admin/dues/new?team={}", cast.hawks)).await.ok().shows("Every player").shows("Zoe").shows("value=\"EUR\"");

        let fields = form(&cast.hawks, &[("title", HOSTILE), ("split", "equal"), ("instalment_count", "3"), ("sibling_discount_bp", "25"),
            ("late_kind", "amount"), ("late_fee", "5"), ("note", "By transfer"), ("step", "preview")]);
        let preview = browser.post("/admin/dues/new", &fields).await.ok()
            .shows("Nobody is charged yet").shows("4 members").shows("375.00 EUR").shows("33.34 EUR").shows("25.00 EUR").shows("5.00 EUR, once").shows("paid by");
        assert!(!preview.text.contains("<img src=x"), "names are escaped");
        assert_eq!(w.count("due").await, 0);

        let made = confirm(&mut browser, &preview).await;
        let list = made.next().unwrap().to_owned();
        assert!(list.starts_with("/admin/dues?charge=chg_") && list.ends_with("&done=charged"), "{list}");
        let page = browser.get(&list).await.ok().shows("They were charged.").shows("Only what was charged together");
        assert!(!page.text.contains("<img src=x"));

        let all = w.owner.get("/dues").await.ok();
        let dues = all.data().as_array().unwrap();
        let of = |person: &str| dues.iter().find(|due| due["person_id"] == person).unwrap();
        assert_eq!(dues.len(), 4);
        for due in dues {
            assert_eq!(numbers(due, "amount").iter().sum::<i64>(), due["balance"].as_i64().unwrap());
        }
        assert_eq!(numbers(of(&cast.lia.person), "amount"), [3334, 3333, 3333]);
        let siblings = [of(&cast.max.person), of(&ben.person)];
        let mut owed: Vec<_> = siblings.iter().map(|due| due["balance"].as_i64().unwrap()).collect();
        owed.sort_unstable();
        assert_eq!(owed, [7500, 10000]);
        assert_eq!((&siblings[0]["title"], &siblings[0]["note"], &siblings[0]["late_fee"]["amount"]), (&json!(HOSTILE.trim()), &json!("By transfer"), &json!(500)));
        balanced(w).await;

        // Sent twice, it charges once.
        let again = confirm(&mut browser, &preview).await;
        let place = again.next().unwrap().to_owned();
        assert!(place.ends_with("&done=before"), "{place}");
        browser.get(&place).await.ok().shows("nothing was charged twice");
        assert_eq!(w.count("due").await, 4);
        // Sent again with something else in it, it is not taken for done.
        let mut other = preview.clone();
        other.text = other.text.replace("By transfer", "By card");
        let refused = confirm(&mut browser, &other).await;
        assert_eq!(refused.status, 422);
        refused.shows("sent before with something else in it");
        assert_eq!(w.count("due").await, 4);
        // Nor does a form that never was a preview.
        let fields = form(&cast.hawks, &[("step", "charge")]);
        assert_eq!(browser.post("/admin/dues/new", &fields).await.status, 400);
        assert_eq!(w.count("due").await, 4);
    }

    async fn only_what_was_shown_is_charged(w: &World) {
        let (cast, mut browser) = treasurer(w).await;
        let due = charged(w, &cast.hawks, &cast.max.member, json!({})).await;
        let fields = form(&cast.hawks, &[("step", "preview")]);
        let preview = browser.post("/admin/dues/new", &fields).await.ok();
        let count = w.count("due").await;
        // Meanwhile somebody pays ahead.
        w.owner.post(&format!("/dues/{}/payments", due["id"].as_str().unwrap()), json!({ "amount": 12500, "method": "cash" })).await.created();
        let refused = confirm(&mut browser, &preview).await;
        assert_eq!((refused.status, w.count("due").await), (422, count));
        refused.shows("has changed since you looked");
        let preview = browser.post("/admin/dues/new", &fields).await.ok().shows("Used of credit").shows("25.00 EUR");
        assert!(confirm(&mut browser, &preview).await.next().unwrap().ends_with("&done=charged"));
        // And then somebody joins.
        let preview = browser.post("/admin/dues/new", &fields).await.ok();
        w.joins(&cast.hawks, json!({ "first_name": "Ben" })).await;
        assert_eq!(confirm(&mut browser, &preview).await.status, 422);
        balanced(w).await;
    }

    async fn chosen_members_are_charged_on_days_of_their_own_and_pay_with_credit(w: &World) {
        let (cast, mut browser) = treasurer(w).await;
        let first = charged(w, &cast.hawks, &cast.max.member, json!({})).await;
        w.owner.post(&format!("/dues/{}/payments", first["id"].as_str().unwrap()), json!({ "amount": 12500, "method": "cash" })).await.created();
        let fields = form(&cast.hawks, &[("who", "some"), ("member_ids", &cast.max.member), ("member_ids", &cast.zoe.member), ("category", "travel"),
            ("amount", "90"), ("split", "rows"), ("part_on_1", "2026-10-01"), ("part_amount_1", "30"), ("part_on_3", "2026-12-01"), ("part_amount_3", "51,00"),
            ("discount_kind", "percent"), ("discount", "10"), ("discount_reason", "Early"), ("late_kind", "percent"), ("late_fee", "12.5")]);
        let preview = browser.post("/admin/dues/new", &fields).await.ok().shows("162.00 EUR").shows("Used of credit").shows("25.00 EUR").shows("12.5 % of what is overdue");
        // What was typed comes back when something is to be changed.
        let back = hidden(&preview);
        let back: Vec<_> = back.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain([("step", "change")]).collect();
        browser.post("/admin/dues/new", &back).await.ok().shows("value=\"51,00\"").shows("value=\"Early\"").shows("value=\"2026-12-01\"");
        assert_eq!(confirm(&mut browser, &preview).await.status, 303);
        let dues = w.owner.get("/dues?limit=2").await.ok();
        let max = dues.data().as_array().unwrap().iter().find(|due| due["person_id"] == json!(cast.max.person)).unwrap().clone();
        assert_eq!((&max["paid"], &max["balance"], &max["category"], &max["discount_reason"]), (&json!(2500), &json!(5600), &json!("travel"), &json!("Early")));
        assert_eq!((numbers(&max, "amount"), &max["late_fee"]["percent_bp"]), (vec![3000, 5100], &json!(1250)));
        balanced(w).await;
    }

    async fn what_is_wrong_with_a_charge_is_said_beside_its_field(w: &World) {
        let (cast, mut browser) = treasurer(w).await;
        let part = |first: &'static str, second: &'static str| [("split", "rows"), ("part_on_1", "2026-10-01"), ("part_amount_1", first), ("part_on_2", "2026-11-01"), ("part_amount_2", second)];
        for (more, says) in [
            (vec![("amount", "-5")], "Write an amount in EUR, such as 150.00."), (vec![("amount", "0")], "more than zero"), (vec![("amount", "0,00")], "more than zero"),
            (vec![("amount", "")], "Write an amount"), (vec![("amount", "1,000.00")], "Write an amount"), (vec![("amount", "10.005")], "2 digits after the point"),
            (vec![("amount", "100.5"), ("currency", "JPY")], "JPY has no smaller unit"), (vec![("amount", "99999999999999")], "more than can be kept"),
            (vec![("currency", "XTS")], "three letters of a currency"), (vec![("title", " ")], "Say what it is for"), (vec![("title", "\u{1}")], "cannot be shown"), (vec![("category", "gift")], "Choose one of these"),
            (vec![("due_on", "")], "Choose a day"), (vec![("due_on", "2026-02-30")], "Choose a day"), (vec![("due_on", "1999-12-31")], "The year must be from 2000"),
            (vec![("split", "equal"), ("instalment_count", "0")], "from 1 to 60"), (vec![("split", "equal"), ("instalment_count", "many")], "from 1 to 60"),
            (vec![("amount", "0.05"), ("split", "equal"), ("instalment_count", "6")], "more instalments than"), (vec![("split", "rows")], "at least one day"),
            (part("50", "49.99").to_vec(), "The parts add up to 99.99 EUR"), (part("0", "100").to_vec(), "Part 1: The amount must be more than zero"), (part("100.00", "").to_vec(), "Part 2: Write an amount"),
            (vec![("split", "rows"), ("part_on_1", "2026-10-01"), ("part_amount_1", "50"), ("part_on_2", "2026-09-01"), ("part_amount_2", "50")], "after the one before"),
            (vec![("who", "some")], "Choose at least one"), (vec![("who", "some"), ("member_ids", "mem_x")], "is not on the team"), (vec![("who", "some"), ("member_ids", &cast.ole.member)], "no such member on the team"),
            (vec![("sibling_discount_bp", "100")], "less than 100"), (vec![("discount_kind", "amount"), ("discount", "100")], "leaves nothing to pay"), (vec![("late_kind", "percent"), ("late_fee", "101")], "at most 100"),
        ] {
            let fields = form(&cast.hawks, &more);
            let page = browser.post("/admin/dues/new", &fields).await;
            assert_eq!(page.status, 422, "{more:?}: {}", page.text);
            page.shows(says).shows("Nobody was charged");
        }
        let page = browser.post("/admin/dues/new", &form(&cast.hawks, &[("amount", "x"), ("title", HOSTILE), ("note", HOSTILE)])).await;
        assert_eq!(page.status, 422);
        assert!(!page.text.contains("<img src=x") && page.text.contains("&#60;img src=x"));
        let theirs = w.stranger.post("/teams", json!({ "name": "Theirs" })).await.created();
        assert_eq!(browser.post("/admin/dues/new", &form(theirs.id(), &[])).await.status, 404);
        assert_eq!(browser.get(&format!("/admin/dues/new?team={}", theirs.id())).await.status, 404);
        assert_eq!(w.count("due").await, 0);
    }

    async fn a_due_is_paid_in_parts_ahead_and_given_back_by_pages(w: &World) {
        let (cast, mut browser) = treasurer(w).await;
        let due = charged(w, &cast.hawks, &cast.max.member, json!({ "instalment_count": 2 })).await;
        let place = format!("/admin/dues/{}", due["id"].as_str().unwrap());
        let pay = format!("{place}/payments/new");
        browser.get(&pay).await.ok().shows("value=\"100.00\"").shows("100.00 EUR is open");
        for (fields, says) in [
            (vec![("amount", "-1"), ("method", "cash")], "Write an amount"), (vec![("amount", "0"), ("method", "cash")], "more than zero"), (vec![("amount", "1"), ("method", "barter")], "Choose how it was paid"),
            (vec![("amount", "1"), ("method", "cash"), ("paid_on", "2031-01-01")], "not paid in the future"), (vec![("amount", "1"), ("method", "credit")], "more than the payer has paid ahead"),
            (vec![("amount", "1"), ("method", "cash"), ("paid_on", "soon")], "Choose a day"),
        ] {
            let page = fill(&mut browser, &pay, &fields).await;
            assert_eq!(page.status, 422, "{fields:?}");
            page.shows(says);
        }
        assert_eq!(w.count("payment").await, 0);

        let part = fill(&mut browser, &pay, &[("amount", "60"), ("method", "transfer"), ("reference", HOSTILE), ("paid_on", "2026-09-01")]).await;
        part.leads_to(&format!("{place}?done=paid"));
        let now = look(w, &due).await;
        assert_eq!((&now["status"], &now["balance"], numbers(&now, "paid")), (&json!("partially_paid"), &json!(4000), vec![5000, 1000]));
        let page = figures(browser.get(&format!("{place}?done=paid")).await.ok(), &now).shows("The payment was written down").shows("Partly paid").shows("1 Sep 2026, 12:00");
        assert!(!page.text.contains("<img src=x"));

        // Sent twice, it is written down once; more than is open becomes credit.
        let form = browser.get(&pay).await.ok();
        let nonce = between(&form, "name=\"nonce\" value=\"", "\"").to_owned();
        let fields = [("nonce", nonce.as_str()), ("amount", "65.00"), ("method", "cash")];
        browser.post(&pay, &fields).await.leads_to(&format!("{place}?done=paid"));
        browser.post(&pay, &fields).await.leads_to(&format!("{place}?done=before"));
        let now = look(w, &due).await;
        assert_eq!((&now["status"], &now["balance"], w.count("payment").await), (&json!("paid"), &json!(0), 2));
        let page = figures(browser.get(&place).await.ok(), &now).shows("Credit of the payer").shows("25.00 EUR of it paid ahead").shows("Paid");

        let links = page.text.split("href=\"").filter_map(|link| link.split('"').next());
        let refund = links.filter(|link| link.ends_with("/refund")).last().unwrap().to_owned();
        browser.get(&refund).await.ok().shows("25.00 EUR of it is paid ahead and goes first").shows("Up to 40.00 EUR is owed again").shows("Give the money back yourself");
        for (amount, says) in [("70", "Of this payment, 65.00 EUR can be given back"), ("0", "more than zero"), ("x", "Write an amount")] {
            let page = fill(&mut browser, &refund, &[("amount", amount)]).await;
            assert_eq!(page.status, 422);
            page.shows(says);
        }
        let form = browser.get(&refund).await.ok();
        let nonce = between(&form, "name=\"nonce\" value=\"", "\"").to_owned();
        let fields = [("nonce", nonce.as_str()), ("amount", "65"), ("reason", "Paid twice")];
        browser.post(&refund, &fields).await.leads_to(&format!("{place}?done=refunded"));
        browser.post(&refund, &fields).await.leads_to(&format!("{place}?done=before"));
        let now = look(w, &due).await;
        assert_eq!((&now["status"], &now["balance"], w.count("refund").await), (&json!("partially_paid"), &json!(4000), 1));
        figures(browser.get(&place).await.ok(), &now).shows("Given back").shows("65.00 EUR");
        browser.get(&refund).await.ok().shows("Nothing of this payment can be given back any more");
        balanced(w).await;
    }

    async fn a_due_is_changed_waived_and_reminded_of_by_pages(w: &World) {
        let (cast, mut browser) = treasurer(w).await;
        let due = charged(w, &cast.hawks, &cast.max.member, json!({ "late_fee": { "amount": 500 } })).await;
        let place = format!("/admin/dues/{}", due["id"].as_str().unwrap());
        let edit = format!("{place}/edit");
        browser.get(&edit).await.ok().shows("value=\"100.00\"").shows("value=\"2026-10-01\"").shows("Pat");
        let fields = [("title", "Autumn fee"), ("category", "fee"), ("amount", "80"), ("due_on", "2026-11-01"), ("payer", cast.max.person.as_str()), ("late_kind", "none"), ("note", "Cash")];
        fill(&mut browser, &edit, &fields).await.leads_to(&format!("{place}?done=saved"));
        let now = look(w, &due).await;
        assert_eq!((&now["title"], &now["category"], &now["balance"], &now["due_on"]), (&json!("Autumn fee"), &json!("fee"), &json!(8000), &json!("2026-11-01")));
        assert_eq!((&now["payer_id"], &now["late_fee"], &now["note"]), (&json!(cast.max.person), &Value::Null, &json!("Cash")));
        for (name, value, says) in [("amount", "0", "more than zero"), ("title", "", "Say what it is for"), ("due_on", "x", "Choose a day"), ("payer", cast.kim.person.as_str(), "neither the member nor"), ("payer", "x", "Choose who pays")] {
            let fields: Vec<_> = fields.iter().map(|(known, usual)| if *known == name { (name, value) } else { (*known, *usual) }).collect();
            let page = fill(&mut browser, &edit, &fields).await;
            assert_eq!(page.status, 422, "{name}");
            page.shows(says);
        }
        // Somebody else changed it meanwhile: that is not undone without a word.
        let stale: Vec<_> = fields.into_iter().chain([("version", "1")]).collect();
        let page = browser.post(&edit, &stale).await;
        assert_eq!(page.status, 422);
        let page = page.shows("Somebody else changed this");
        let version = between(&page, "name=\"version\" value=\"", "\"").to_owned();
        let again: Vec<_> = fields.into_iter().chain([("version", version.as_str())]).collect();
        browser.post(&edit, &again).await.leads_to(&format!("{place}?done=saved"));
        // In several parts, the days can be changed, and the parts follow the amount.
        let parts = charged(w, &cast.hawks, &cast.zoe.member, json!({ "instalment_count": 2 })).await;
        let edit_parts = format!("/admin/dues/{}/edit", parts["id"].as_str().unwrap());
        browser.get(&edit_parts).await.ok().shows("part_on_2");
        let fields = |first: &'static str| [("title", "Fee"), ("category", "fee"), ("amount", "200"), ("part_on_1", "2026-10-01"), ("part_amount_1", first), ("part_on_2", "2026-11-01"), ("part_amount_2", "50"), ("late_kind", "none")];
        let payer = parts["payer_id"].as_str().unwrap();
        let with = |first| fields(first).into_iter().chain([("payer", payer)]).collect::<Vec<_>>();
        let page = fill(&mut browser, &edit_parts, &with("60")).await;
        assert_eq!(page.status, 422);
        page.shows("The parts add up to 110.00 EUR");
        assert_eq!(fill(&mut browser, &edit_parts, &with("50")).await.status, 303);
        assert_eq!(numbers(&look(w, &parts).await, "amount"), [10000, 10000]);

        let reminded = format!("{place}?done=reminded&letters=1");
        browser.post(&format!("{place}/remind"), &[]).await.leads_to(&reminded);
        browser.get(&reminded).await.ok().shows("1 letter waits until a mail server is set up, about 1 due.");
        browser.get(&format!("{place}?done=reminded&letters=0")).await.ok().shows("No letter goes out");
        browser.post(&format!("{place}/remind"), &[]).await.leads_to(&format!("{place}?done=lately"));

        let waive = format!("{place}/waive");
        browser.get(&waive).await.ok().shows("80.00 EUR need not be paid any more");
        assert_eq!(browser.post(&waive, &[("reason", " ")]).await.status, 422);
        browser.post(&waive, &[("reason", HOSTILE)]).await.leads_to(&format!("{place}?done=waived"));
        let page = browser.get(&place).await.ok().shows("Waived").shows("Open: 0.00 EUR");
        assert!(!page.text.contains("<img src=x"));
        assert_eq!(look(w, &due).await["status"], "waived");
        let page = browser.post(&waive, &[("reason", "Again")]).await;
        assert_eq!(page.status, 422);
        page.shows("waived already");
        browser.get(&edit).await.ok().shows("cannot be changed any more");
        balanced(w).await;
    }

    async fn everybody_who_is_late_is_reminded_and_the_statement_says_what_the_api_says(w: &World) {
        let (cast, mut browser) = treasurer(w).await;
        let first = charged(w, &cast.hawks, &cast.max.member, json!({ "instalment_count": 2 })).await;
        charged(w, &cast.otters, &cast.ole.member, json!({ "due_on": "2027-06-01" })).await;
        charged(w, &cast.hawks, &cast.zoe.member, json!({ "currency": "JPY", "due_on": "2027-06-01" })).await;
        browser.get("/admin/dues/remind").await.ok().shows("There is nobody to remind");
        w.owner.post(&format!("/dues/{}/payments", first["id"].as_str().unwrap()), json!({ "amount": 2000, "method": "cash" })).await.created();
        w.pass(seconds(DAY * 40));
        let mut browser2 = w.browser(cast.admin.id).await;
        let browser = &mut browser2;
        browser.get("/admin/dues").await.ok().shows("Remind everybody who is late").shows("180.00 EUR").shows("30.00 EUR").shows("20.00 EUR").shows("10000 JPY");
        for (query, shows, hides) in [("status=overdue", "Max", "Zoe</bdi></a>"), ("status=partially_paid", "Max", "Zoe</bdi></a>"), ("q=zo", "Zoe", "Max</bdi></a>"), ("q=PAT", "Max", "Zoe</bdi></a>"), ("q=season", "Zoe", "nobody"),
            ("category=travel", "No dues match these filters", "Max</bdi></a>"), ("q=%25", "No dues match these filters", "Max</bdi></a>")] {
            let page = browser.get(&format!("/admin/dues?{query}")).await.ok().shows(shows);
            assert!(!page.text.contains(hides), "{query}");
        }
        browser.get(&format!("/admin/dues?team={}", cast.otters)).await.ok().shows("Ole");
        // The sums are those of the family or the team one looks at.
        let page = browser.get(&format!("/admin/dues?payer={}", cast.pat)).await.ok().shows("Only what <bdi>Pat").shows("80.00 EUR");
        assert!(!page.text.contains("180.00 EUR") && !page.text.contains("JPY"));
        let page = browser.get(&format!("/admin/dues?team={}", cast.hawks)).await.ok().shows("80.00 EUR").shows("10000 JPY");
        assert!(!page.text.contains("180.00 EUR"));
        for (file, begins) in [("dues", "due_id,"), ("ledger", "movement_id,"), ("orders", "order_id,")] {
            let file = browser.get(&format!("/admin/exports/{file}.csv")).await.ok();
            assert!(file.text.contains(&format!("\u{feff}{begins}")), "{}", file.text);
        }
        browser.get("/admin/dues/remind").await.ok().shows("1 family is written to, about 1 due");
        browser.post("/admin/dues/remind", &[]).await.leads_to("/admin/dues?done=reminded&dues=1&letters=1");
        browser.get("/admin/dues?done=reminded&dues=1&letters=1").await.ok().shows("1 letter waits until a mail server is set up, about 1 due.");
        browser.post("/admin/dues/remind", &[]).await.leads_to("/admin/dues?done=reminded&dues=0&letters=0");

        let statement = w.owner.get(&format!("/teams/{}/dues/statement", cast.hawks)).await.ok();
        let page = browser.get(&format!("/admin/dues/teams/{}", cast.hawks)).await.ok().shows("In EUR").shows("In JPY").shows("Remind this team").shows("Pat");
        for total in statement.data()["totals"].as_array().unwrap() {
            let plain = |name: &str| {
                let minor = total[name].as_i64().unwrap();
                if total["currency"] == "EUR" { format!("{}.{:02}", minor / 100, minor % 100) } else { minor.to_string() }
            };
            for name in ["charged", "paid", "open", "overdue"] {
                assert!(page.text.contains(&format!(">{}<", plain(name))), "{name} {}", plain(name));
            }
        }
        // What was paid ahead and what it paid stand there once there is such a thing.
        assert!(!page.text.contains("Of it ahead") && !page.text.contains("Waived"));
        w.owner.post(&format!("/dues/{}/payments", first["id"].as_str().unwrap()), json!({ "amount": 9000, "method": "cash" })).await.created();
        browser.get(&format!("/admin/dues/teams/{}", cast.hawks)).await.ok().shows("Of it ahead").shows("Credit now").shows(">10.00<").shows("it pays others").shows(">110.00<");
        browser.post(&format!("/admin/dues/teams/{}/remind", cast.hawks), &[]).await.leads_to(&format!("/admin/dues/teams/{}?done=reminded&dues=0&letters=0", cast.hawks));
    }

    async fn how_the_club_handles_money_is_a_page(w: &World) {
        let admin = w.user(Role::Admin, "ana@harbour.example").await;
        let mut browser = w.browser(admin.id).await;
        let page = "/admin/settings/money";
        browser.get("/admin/settings").await.ok().shows(page);
        browser.get(page).await.ok().shows("value=\"EUR\"").shows("value=\"1, 7\"").shows("value=\"1, 14\"").shows("value=\"2\"").shows("Cards are not taken").shows("/docs/cards");
        let fields = [("currency", "jpy"), ("hold", "36"), ("unit", "hours"), ("before", "3 10"), ("on_day", "yes"), ("after", "")];
        fill(&mut browser, page, &fields).await.leads_to("/admin/settings/money?done=saved");
        let now = w.owner.get("/money_settings").await.ok();
        assert_eq!((&now.data()["currency"], &now.data()["order_hold_minutes"], &now.data()["reminder_days"]), (&json!("JPY"), &json!(2160), &json!([-10, -3, 0])));
        browser.get(page).await.ok().shows("value=\"JPY\"").shows("value=\"36\"").shows("value=\"3, 10\"").shows("value=\"yes\" checked");
        for (name, value, says) in [("currency", "€", "three letters"), ("hold", "0", "whole number"), ("hold", "1.5", "whole number"), ("hold", "9999", "a year at most"), ("unit", "moons", "Choose days"),
            ("before", "-3", "days from 1 to 365"), ("after", "x", "days from 1 to 365"), ("before", "1,2,3,4,5,6,7,8,9,10,11", "10 times at most")] {
            let fields: Vec<_> = fields.iter().map(|(known, usual)| if *known == name { (name, value) } else { (*known, *usual) }).collect();
            let refused = browser.post(page, &fields).await;
            assert_eq!(refused.status, 422, "{name}={value}");
            refused.shows(says).shows("Nothing was saved");
        }
        // Whoever does not say what they were shown was shown something else.
        for version in ["1", ""] {
            let stale = browser.post(page, &[("currency", "EUR"), ("hold", ""), ("unit", "days"), ("version", version)]).await;
            assert_eq!(stale.status, 422);
            stale.shows("Somebody else changed this");
        }
        fill(&mut browser, page, &[("currency", "EUR"), ("hold", ""), ("unit", "days")]).await.leads_to("/admin/settings/money?done=saved");
        let now = w.owner.get("/money_settings").await.ok();
        assert_eq!((&now.data()["order_hold_minutes"], &now.data()["reminder_days"]), (&Value::Null, &json!([])));
        let member = w.user(Role::Member, "mo@harbour.example").await;
        assert_eq!(w.browser(member.id).await.get(page).await.status, 403);
    }
}
