//! A randomized test: two callers take turns to charge, change, pay, waive and refund dues in any order while time
//! passes, and a small model predicts the result of each step.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use testkit::{Client, Value, World, both, json, seconds};
use touchline::jobs;

use crate::dues::{assert_ledger_balanced, due_path, fee_of, get_due};
use crate::events::team_client;
use crate::mail::DAY;

#[derive(Debug, Clone)]
enum Step {
    /// Charges the child of one of two families: family, amount, number of installments, whether to use credit.
    Charge(usize, i64, i64, bool),
    /// Changes the amount of a due.
    Change(usize, i64),
    /// Pays a due: amount, and whether with credit instead of cash.
    Pay(usize, i64, bool),
    /// Refunds a payment of a due: due, payment, amount; zero refunds everything.
    Refund(usize, usize, i64),
    Waive(usize),
    AdvanceClock,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..2usize, 1..200i64, 1..4i64, any::<bool>()).prop_map(|(family, amount, parts, used)| Step::Charge(family, amount.max(parts), parts, used)),
        2 => (0..4usize, 3..200i64).prop_map(|(due, amount)| Step::Change(due, amount)),
        6 => (0..4usize, 1..250i64, any::<bool>()).prop_map(|(due, amount, credit)| Step::Pay(due, amount, credit)),
        4 => (0..4usize, 0..3usize, 0..150i64).prop_map(|(due, payment, amount)| Step::Refund(due, payment, amount)),
        1 => (0..4usize).prop_map(Step::Waive),
        1 => Just(Step::AdvanceClock),
    ];
    proptest::collection::vec(step, 80)
}

/// A payment in the model: the amount that paid the due and the amount that became credit, less refunds.
struct ModelPayment {
    id: String,
    applied: i64,
    overpaid: i64,
    by_credit: bool,
}

struct ModelDue {
    value: Value,
    family: usize,
    /// The amount owed, including the late fee.
    total: i64,
    /// Due dates and amounts.
    parts: Vec<(String, i64)>,
    paid: i64,
    waived: i64,
    fee_added: bool,
    payments: Vec<ModelPayment>,
}

const LATE_FEE: i64 = 7;

/// The due dates and amounts of the installments of a due.
fn parts_of(due: &Value) -> Vec<(String, i64)> {
    let parts = due["installments"].as_array().unwrap().iter();
    let part = |part: &Value| {
        (part["due_on"].as_str().unwrap().to_owned(), part["amount"].as_i64().unwrap())
    };
    parts.map(part).collect()
}

fn sum<'a>(parts: impl IntoIterator<Item = &'a (String, i64)>) -> i64 {
    parts.into_iter().map(|(_, amount)| amount).sum()
}

impl ModelDue {
    fn balance(&self) -> i64 {
        self.total - self.paid - self.waived
    }

    /// The amount due before a day.
    fn due_before(&self, today: &str) -> i64 {
        sum(self.parts.iter().filter(|(day, _)| day.as_str() < today))
    }

    /// The amount overdue on a day: the whole balance, once all due dates have passed.
    fn overdue(&self, today: &str) -> i64 {
        let due_before = self.due_before(today);
        let all_due = due_before == sum(&self.parts);
        let late = if all_due { self.balance() } else { due_before - self.paid };
        if self.balance() > 0 { late.max(0) } else { 0 }
    }

    fn status(&self) -> &'static str {
        match (self.balance(), self.waived, self.paid) {
            (0, 0, _) => "paid",
            (0, ..) => "waived",
            (_, _, 0) => "open",
            _ => "partially_paid",
        }
    }
}

struct Model<'a> {
    w: &'a World,
    /// The caller whose turn it is.
    actor: Client,
    team: String,
    children: [(String, String); 2],
    credit: [i64; 2],
    dues: Vec<ModelDue>,
    /// How often each type of notification must have been published.
    expected_notifications: BTreeMap<&'static str, usize>,
}

impl Model<'_> {
    fn expect_notification(&mut self, kind: &'static str) {
        *self.expected_notifications.entry(kind).or_default() += 1;
    }

    /// The index of a due, counted from the newest.
    fn due_index(&self, age: usize) -> Option<usize> {
        self.dues.len().checked_sub(1 + age)
    }

    async fn charge(&mut self, family: usize, amount: i64, parts: i64, use_credit: bool) {
        let more = json!({ "amount": amount, "installment_count": parts, "due_on": "2026-10-01", "use_credit": use_credit, "late_fee": { "amount": LATE_FEE } });
        let body = fee_of(&self.team, &self.children[family].0, more);
        let created = self.actor.post("/dues", body).await.created();
        let value = created.data()[0].clone();
        let mut due = ModelDue {
            parts: parts_of(&value),
            value,
            family,
            total: amount,
            paid: 0,
            waived: 0,
            fee_added: false,
            payments: Vec::new(),
        };
        self.expect_notification("dues.charged");
        let spent = if use_credit { amount.min(self.credit[family]) } else { 0 };
        if spent > 0 {
            self.credit[family] -= spent;
            let payments = self.actor.get(&due_path(&due.value, "/payments")).await.ok();
            let id = payments.data()[0]["id"].as_str().unwrap().to_owned();
            due.paid = spent;
            due.payments.push(ModelPayment { id, applied: spent, overpaid: 0, by_credit: true });
            self.expect_notification("dues.payment_recorded");
            if due.balance() == 0 {
                self.expect_notification("dues.paid");
            }
        }
        self.dues.push(due);
    }

    async fn change(&mut self, age: usize, amount: i64) {
        let Some(index) = self.due_index(age) else { return };
        let due = &mut self.dues[index];
        let answer = self.actor.patch(&due_path(&due.value, ""), json!({ "amount": amount })).await;
        if due.status() != "open" {
            answer.assert_problem(409, "invalid_state");
            return;
        }
        let value = answer.ok().data().clone();
        let total = amount + if due.fee_added { LATE_FEE } else { 0 };
        let changed = std::mem::replace(&mut due.total, total) != total;
        due.parts = parts_of(&value);
        assert_eq!(sum(&due.parts), amount);
        if changed {
            self.expect_notification("dues.updated");
        }
    }

    async fn pay(&mut self, age: usize, amount: i64, by_credit: bool) {
        let Some(index) = self.due_index(age) else { return };
        let due = &mut self.dues[index];
        let method = if by_credit { "credit" } else { "cash" };
        let answer = self
            .actor
            .post(&due_path(&due.value, "/payments"), json!({ "amount": amount, "method": method }))
            .await;
        let max = self.credit[due.family].min(due.balance());
        if by_credit && amount > max {
            answer.assert_problem(409, "invalid_state");
            return;
        }
        let payment = answer.created();
        let open = due.balance() > 0;
        let applied = amount.min(due.balance());
        due.paid += applied;
        self.credit[due.family] += if by_credit { -amount } else { amount - applied };
        due.payments.push(ModelPayment {
            id: payment.id().to_owned(),
            applied,
            overpaid: amount - applied,
            by_credit,
        });
        let all_paid = open && due.status() == "paid";
        self.expect_notification("dues.payment_recorded");
        if all_paid {
            self.expect_notification("dues.paid");
        }
    }

    async fn refund(&mut self, age: usize, payment: usize, amount: i64) {
        let Some(index) = self.due_index(age) else { return };
        let waived = self.dues[index].status() == "waived";
        let due = &mut self.dues[index];
        let Some(payment) = due.payments.get_mut(payment) else { return };
        let body = if amount == 0 { json!({}) } else { json!({ "amount": amount }) };
        let answer = self
            .actor
            .post(&due_path(&due.value, &format!("/payments/{}/refund", payment.id)), body)
            .await;
        let unspent = payment.overpaid.min(self.credit[due.family]);
        let max = unspent + payment.applied;
        if max == 0 || amount > max {
            answer.assert_problem(409, "invalid_state");
            return;
        }
        answer.ok();
        let amount = if amount == 0 { max } else { amount };
        let (overpaid, rest) = (amount.min(unspent), amount - amount.min(unspent));
        payment.overpaid -= overpaid;
        payment.applied -= rest;
        self.credit[due.family] += if payment.by_credit { rest } else { -overpaid };
        // A refund never exceeds the payment.
        assert!(payment.overpaid >= 0 && payment.applied >= 0);
        due.paid -= rest;
        due.waived += if waived { rest } else { 0 };
        self.expect_notification("dues.refunded");
    }

    async fn waive(&mut self, age: usize) {
        let Some(index) = self.due_index(age) else { return };
        let due = &mut self.dues[index];
        let answer =
            self.actor.post(&due_path(&due.value, "/waive"), json!({ "reason": "x" })).await;
        if due.balance() == 0 {
            answer.assert_problem(409, "invalid_state");
            return;
        }
        answer.ok();
        due.waived += due.balance();
        self.expect_notification("dues.waived");
    }

    /// Lets half a month pass and adds late fees to overdue dues.
    async fn advance_clock(&mut self) {
        self.w.advance_clock(seconds(15 * DAY));
        self.expect_late_fees(&self.today());
        jobs::add_late_fees(&self.w.node.app).await;
        jobs::send_dues_reminders(&self.w.node.app).await;
    }

    fn today(&self) -> String {
        self.w.node.app.clock.now().to_string()[..10].to_owned()
    }

    fn expect_late_fees(&mut self, today: &str) {
        let mut late = 0;
        for due in &mut self.dues {
            if due.balance() > 0 && !due.fee_added && due.paid < due.due_before(today) {
                due.fee_added = true;
                due.total += LATE_FEE;
                late += 1;
            }
        }
        *self.expected_notifications.entry("dues.updated").or_default() += late;
    }

    async fn check(&self, after: &str) {
        assert_ledger_balanced(self.w).await;
        for due in &self.dues {
            let value = get_due(self.w, &due.value).await;
            let number = |name: &str| value[name].as_i64().unwrap();
            assert_eq!(
                (
                    value["status"].as_str().unwrap(),
                    number("paid"),
                    number("waived"),
                    number("balance")
                ),
                (due.status(), due.paid, due.waived, due.balance()),
                "after {after}"
            );
            let covered: i64 = value["installments"]
                .as_array()
                .unwrap()
                .iter()
                .map(|part| part["paid"].as_i64().unwrap())
                .sum();
            assert_eq!(covered, due.paid.min(sum(&due.parts)));
        }
        for (family, (_, payer)) in self.children.iter().enumerate() {
            let statement = self.w.owner.get(&format!("/people/{payer}/statement")).await.ok();
            let total = &statement.data()["totals"][0];
            let own = || self.dues.iter().filter(|due| due.family == family);
            let (open, overdue) = (
                own().map(ModelDue::balance).sum(),
                own().map(|due| due.overdue(&self.today())).sum(),
            );
            let value =
                ["credit", "outstanding", "overdue"].map(|name| total[name].as_i64().unwrap_or(0));
            assert_eq!(value, [self.credit[family], open, overdue], "after {after}");
            assert!(self.credit[family] >= 0);
        }
        let notifications = self.w.notifications().await;
        for (kind, count) in &self.expected_notifications {
            let published =
                notifications.iter().filter(|notification| notification["type"] == *kind).count();
            assert_eq!(published, *count, "{kind} after {after}");
        }
        let mut published = notifications
            .iter()
            .filter_map(|notification| notification["type"].as_str())
            .filter(|kind| kind.starts_with("dues."));
        assert!(
            published.all(|kind| self.expected_notifications.contains_key(kind)),
            "after {after}"
        );
    }
}

both! {
    async fn random_changes_match_the_model(w: &World) {
        let club = w.club().await;
        let mia = w.owner.get(&format!("/people/{}", club.zoe.person)).await.ok().data()["guardians"][0]["id"].as_str().unwrap().to_owned();
        let children = [(club.max.member.clone(), club.pat.clone()), (club.zoe.member.clone(), mia)];
        // One caller can access the whole club, the other only this team.
        let actors = [w.owner.clone(), team_client(w, &club.hawks, "orders:read orders:write").await];
        let mut model = Model { w, actor: w.owner.clone(), team: club.hawks.clone(), children, credit: [0, 0], dues: Vec::new(), expected_notifications: BTreeMap::new() };
        let steps = steps().new_tree(&mut TestRunner::deterministic()).unwrap().current();
        for (number, step) in steps.iter().enumerate() {
            model.actor = actors[number % actors.len()].clone();
            match step.clone() {
                Step::Charge(family, amount, parts, used) => model.charge(family, amount, parts, used).await,
                Step::Change(due, amount) => model.change(due, amount).await,
                Step::Pay(due, amount, credit) => model.pay(due, amount, credit).await,
                Step::Refund(due, payment, amount) => model.refund(due, payment, amount).await,
                Step::Waive(due) => model.waive(due).await,
                Step::AdvanceClock => model.advance_clock().await,
            }
            model.check(&format!("{number}: {step:?}")).await;
        }
    }
}
