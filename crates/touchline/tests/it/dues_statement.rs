//! Tests of statements and exports of dues, and of dues in personal data exports and erasures.

use store::{Scope, bind};
use testkit::{Value, World, both, json};

use crate::dues::{assert_ledger_balanced, charge_member, due_path, fee, get_due, pay};
use crate::exports::File;
use crate::roster_access::client_with_all_scopes;

async fn statement(w: &World, person: &str) -> Value {
    w.owner.get(&format!("/people/{person}/statement")).await.ok().data().clone()
}

both! {
    async fn statements_match_the_dues(w: &World) {
        let club = w.club().await;
        let kid = w.add_member(&club.otters, json!({ "first_name": "Ben", "guardians": [{ "id": club.pat }] })).await;
        w.owner.post("/dues", fee(&club.hawks, json!({ "discount": { "amount": 500 }, "due_on": "2026-09-01", "installment_count": 3 }))).await.created();
        let max = charge_member(w, &club.hawks, &club.max.member, json!({ "amount": 2000 })).await;
        let ben = charge_member(w, &club.otters, &kid.member, json!({ "amount": 3000 })).await;
        pay(w, &max, 2500).await.created();
        w.owner.post(&due_path(&ben, "/waive"), json!({ "reason": "x" })).await.ok();
        let pat = statement(w, &club.pat).await;
        assert_eq!(pat["totals"], json!([{ "currency": "EUR", "charged": 15000, "discounted": 500, "late_fees": 0, "waived": 3000, "paid": 2500, "overpaid": 500,
            "credit_applied": 0, "refunded": 0, "outstanding": 9500, "overdue": 3167, "credit": 500 }]));
        let lines: Vec<_> = pat["lines"].as_array().unwrap().iter().map(|line| (line["kind"].as_str().unwrap(), line["balance_change"].as_i64().unwrap(), line["credit_change"].as_i64().unwrap())).collect();
        assert_eq!(lines, [("waiver", -3000, 0), ("payment", -2000, 500), ("charge", 3000, 0), ("charge", 2000, 0), ("charge", 9500, 0)]);
        assert_eq!(pat["lines"][0]["title"], "Season fee");
        // The totals match the dues, by team and by payer.
        let team = w.owner.get(&format!("/teams/{}/dues/statement", club.hawks)).await.ok();
        let families = team.data()["payers"].as_array().unwrap();
        assert_eq!(families.len(), 3);
        let sums = w.db().read(Scope::account(w.harbour, "test"), |db| {
            db.all::<(i64, i64, i64, i64)>("select cast(sum(amount) as bigint) as a, cast(sum(discount) as bigint) as b, cast(sum(paid) as bigint) as c,
                 cast(sum(amount - discount + late_fee - paid - waived) as bigint) as d
                 from due where account_id = :account group by team_id order by a desc", bind! {})
        }).await.unwrap();
        let total = &team.data()["totals"][0];
        let number = |name: &str| total[name].as_i64().unwrap();
        assert_eq!((number("charged"), number("discounted"), number("paid") - number("overpaid") + number("credit_applied") - number("refunded"), number("outstanding")), sums[0]);
        for name in ["charged", "outstanding", "overdue", "paid", "credit"] {
            assert_eq!(families.iter().map(|family| family[name].as_i64().unwrap()).sum::<i64>(), number(name), "{name}");
        }
        assert!(families.iter().any(|family| family["payer_id"] == json!(club.pat) && family["payer_name"] == "Pat"));
        // A family sees all of its own statement, a coach the part of the team, others nothing.
        let (parent, coach, player) = (client_with_all_scopes(w, club.parent.id).await, client_with_all_scopes(w, club.coach.id).await, client_with_all_scopes(w, club.player.id).await);
        let own = parent.get(&format!("/people/{}/statement", club.pat)).await.ok();
        assert_eq!((&own.data()["totals"], own.data()["payer_ids"].as_array().unwrap().len()), (&pat["totals"], 3));
        let seen = coach.get(&format!("/people/{}/statement", club.pat)).await.ok();
        assert_eq!((&seen.data()["totals"][0]["charged"], &seen.data()["totals"][0]["waived"]), (&json!(12000), &json!(0)));
        player.get(&format!("/people/{}/statement", club.pat)).await.assert_problem(403, "forbidden");
        parent.get(&format!("/people/{}/statement", club.zoe.person)).await.assert_problem(403, "forbidden");
        parent.get(&format!("/teams/{}/dues/statement", club.hawks)).await.assert_problem(403, "forbidden");
        coach.get(&format!("/teams/{}/dues/statement", club.otters)).await.assert_problem(404, "not_found");
    }

    async fn credit_belongs_to_the_payer_across_teams(w: &World) {
        let club = w.club().await;
        let ben = w.add_member(&club.otters, json!({ "first_name": "Ben", "guardians": [{ "id": club.pat }] })).await;
        let max = charge_member(w, &club.hawks, &club.max.member, json!({ "amount": 2000 })).await;
        pay(w, &max, 2700).await.created();
        // Credit from one team is used for another: neither statement shows a negative credit.
        charge_member(w, &club.otters, &ben.member, json!({ "amount": 600 })).await;
        for team in [&club.hawks, &club.otters] {
            let statement = w.owner.get(&format!("/teams/{team}/dues/statement")).await.ok();
            let families = statement.data()["payers"].as_array().unwrap();
            let pat = families.iter().find(|family| family["payer_id"] == json!(club.pat)).unwrap();
            assert_eq!((&pat["credit"], &statement.data()["totals"][0]["credit"]), (&json!(100), &json!(100)));
        }
        assert_eq!(statement(w, &club.pat).await["totals"][0]["credit"], 100);
        assert_ledger_balanced(w).await;
    }

    async fn a_refunded_credit_payment_counts_as_unused_credit(w: &World) {
        let club = w.club().await;
        let first = charge_member(w, &club.hawks, &club.max.member, json!({ "amount": 1000 })).await;
        pay(w, &first, 1500).await.created();
        let second = charge_member(w, &club.hawks, &club.max.member, json!({ "amount": 2000 })).await;
        let used = w.owner.get(&due_path(&second, "/payments")).await.ok();
        let refund_path = due_path(&second, &format!("/payments/{}/refund", used.data()[0]["id"].as_str().unwrap()));
        for (amount, left) in [(200, 300), (300, 0)] {
            w.owner.post(&refund_path, json!({ "amount": amount })).await.ok();
            let totals = statement(w, &club.pat).await["totals"][0].clone();
            let sums = ["overpaid", "credit_applied", "credit", "refunded"].map(|name| totals[name].as_i64().unwrap());
            assert_eq!(sums, [500, left, 500 - left, 0]);
        }
        w.owner.post(&refund_path, json!({})).await.assert_problem(409, "invalid_state");
        assert_eq!(get_due(w, &second).await["balance"], 2000);
        assert_ledger_balanced(w).await;
    }

    async fn exports_dues_and_the_ledger_as_csv(w: &World) {
        let club = w.club().await;
        let due = charge_member(w, &club.hawks, &club.max.member, json!({ "title": "=1+1", "discount": { "amount": 1000 }, "due_on": "2026-09-01" })).await;
        charge_member(w, &club.otters, &club.ole.member, json!({})).await;
        pay(w, &due, 9500).await.created();
        let file = File::get(&w.owner, &format!("/exports/dues.csv?team_id={}", club.hawks)).await;
        for (column, text) in [("due_id", due["id"].as_str().unwrap()), ("title", "'=1+1"), ("first_name", "Max"), ("payer_first_name", "Pat"), ("amount", "10000"), ("discount", "1000"),
            ("paid", "9000"), ("balance", "0"), ("status", "paid"), ("overdue", "false"), ("currency", "EUR"), ("next_due_on", "")] {
            assert_eq!(file.cell(0, column), text, "{column}");
        }
        assert_eq!((file.rows.len(), File::get(&w.owner, "/exports/dues.csv").await.rows.len()), (1, 2));
        let ledger = File::get(&w.owner, "/exports/ledger.csv").await;
        let sum = |column: &str| ledger.column(column).iter().filter_map(|cell| cell.parse::<i64>().ok()).sum::<i64>();
        assert_eq!((sum("debit"), sum("credit"), ledger.rows.len()), (10000 + 10000 + 9500, 10000 + 10000 + 9500, 8));
        let coach = client_with_all_scopes(w, club.coach.id).await;
        assert_eq!(File::get(&coach, "/exports/dues.csv").await.rows.len(), 1);
        coach.get("/exports/ledger.csv").await.assert_problem(403, "forbidden");
        coach.get(&format!("/exports/dues.csv?team_id={}", club.otters)).await.assert_problem(404, "not_found");
    }

    async fn serves_the_guide_to_dues(w: &World) {
        let page = w.nobody.get("/docs/dues").await;
        assert!(page.status == 200 && page.text.contains(">Dues</h1>"), "{}", page.text);
    }

    async fn erasing_a_person_keeps_amounts_but_no_names(w: &World) {
        let club = w.club().await;
        let guardians = w.owner.get(&format!("/people/{}", club.zoe.person)).await.ok();
        let mia = guardians.data()["guardians"][0]["id"].as_str().unwrap().to_owned();
        let due = charge_member(w, &club.hawks, &club.zoe.member, json!({ "note": "Zoe pays late", "discount": { "amount": 1, "reason": "Mia is out of work" } })).await;
        w.owner.post(&due_path(&due, "/remind"), json!({})).await;
        let payment = w.owner.post(&due_path(&due, "/payments"), json!({ "amount": 100, "method": "bank_transfer", "reference": "Mia Duarte" })).await.created();
        w.owner.post(&due_path(&due, &format!("/payments/{}/refund", payment.id())), json!({ "amount": 1, "reason": "Mia asked" })).await.ok();
        let export = w.owner.get(&format!("/people/{mia}/export")).await.ok();
        assert_eq!((&export.data()["dues"][0]["due"]["id"], &export.data()["dues"][0]["payments"][0]["reference"], &export.data()["dues"][0]["refunds"][0]["amount"]), (&due["id"], &json!("Mia Duarte"), &json!(1)));
        assert_eq!(w.owner.get(&format!("/people/{}/export", club.zoe.person)).await.ok().data()["dues"][0]["due"]["id"], due["id"]);
        w.owner.post(&format!("/people/{}/erase", club.zoe.person), json!({})).await.ok();
        let after = get_due(w, &due).await;
        assert_eq!((&after["note"], &after["discount_reason"], &after["paid"], &after["balance"]), (&Value::Null, &Value::Null, &json!(99), &json!(9900)));
        let payments = w.owner.get(&due_path(&due, "/payments")).await.ok();
        assert_eq!(payments.data()[0]["reference"], Value::Null);
        let emails = w.owner.get(&format!("/emails?related_id={}", due["id"].as_str().unwrap())).await.ok();
        assert!(!emails.text.contains("Zoe") && !emails.text.contains("Season fee"), "{}", emails.text);
        let team = w.owner.get(&format!("/teams/{}/dues/statement", club.hawks)).await.ok();
        assert_eq!(team.data()["payers"][0]["payer_name"], "Erased person");
        assert_ledger_balanced(w).await;
    }
}
