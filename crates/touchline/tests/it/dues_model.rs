//! A story that is told by chance: dues are charged, changed, paid, waived and given back in any order while
//! time passes, by two who take turns, and a small model says beforehand what each must come to.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use testkit::{Client, Value, World, both, json, seconds};
use touchline::jobs;

use crate::dues::{at, balanced, fee_of, look};
use crate::events::narrowed;
use crate::mail::DAY;

#[derive(Debug, Clone)]
enum Step {
    /// For the child of one of two families: how much, in how many parts, whether credit is used.
    Charge(usize, i64, i64, bool),
    /// Another amount.
    Change(usize, i64),
    /// With money, or with what was paid ahead.
    Pay(usize, i64, bool),
    /// Which due, which of its payments, how much; zero is all.
    Refund(usize, usize, i64),
    Waive(usize),
    Pass,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..2usize, 1..200i64, 1..4i64, any::<bool>()).prop_map(|(family, amount, parts, used)| Step::Charge(family, amount.max(parts), parts, used)),
        2 => (0..4usize, 3..200i64).prop_map(|(due, amount)| Step::Change(due, amount)),
        6 => (0..4usize, 1..250i64, any::<bool>()).prop_map(|(due, amount, credit)| Step::Pay(due, amount, credit)),
        4 => (0..4usize, 0..3usize, 0..150i64).prop_map(|(due, payment, amount)| Step::Refund(due, payment, amount)),
        1 => (0..4usize).prop_map(Step::Waive),
        1 => Just(Step::Pass),
    ];
    proptest::collection::vec(step, 80)
}

/// A payment as the model knows it: what paid the due and what was paid ahead, less what was given back.
struct Paid {
    id: String,
    applied: i64,
    ahead: i64,
    by_credit: bool,
}

struct Owed {
    shown: Value,
    family: usize,
    /// What is owed, late fee included.
    all: i64,
    /// The days and what is due by them.
    parts: Vec<(String, i64)>,
    paid: i64,
    waived: i64,
    fee_added: bool,
    payments: Vec<Paid>,
}

const FEE: i64 = 7;

/// The days of a due, and what is due by them.
fn parts_of(due: &Value) -> Vec<(String, i64)> {
    let parts = due["instalments"].as_array().unwrap().iter();
    let part = |part: &Value| {
        (part["due_on"].as_str().unwrap().to_owned(), part["amount"].as_i64().unwrap())
    };
    parts.map(part).collect()
}

fn sum<'a>(parts: impl IntoIterator<Item = &'a (String, i64)>) -> i64 {
    parts.into_iter().map(|(_, amount)| amount).sum()
}

impl Owed {
    fn balance(&self) -> i64 {
        self.all - self.paid - self.waived
    }

    /// What should have been paid before a day.
    fn gone(&self, today: &str) -> i64 {
        sum(self.parts.iter().filter(|(day, _)| day.as_str() < today))
    }

    /// What of it is late on a day: everything open, once all its days are over.
    fn overdue(&self, today: &str) -> i64 {
        let gone = self.gone(today);
        let all_gone = gone == sum(&self.parts);
        let late = if all_gone { self.balance() } else { gone - self.paid };
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
    /// Whose turn it is.
    actor: Client,
    team: String,
    children: [(String, String); 2],
    credit: [i64; 2],
    dues: Vec<Owed>,
    /// How often each kind of news must have been told.
    told: BTreeMap<&'static str, usize>,
}

impl Model<'_> {
    fn tell(&mut self, kind: &'static str) {
        *self.told.entry(kind).or_default() += 1;
    }

    fn meant(&self, back: usize) -> Option<usize> {
        self.dues.len().checked_sub(1 + back)
    }

    async fn charge(&mut self, family: usize, amount: i64, parts: i64, used: bool) {
        let more = json!({ "amount": amount, "instalment_count": parts, "due_on": "2026-10-01", "use_credit": used, "late_fee": { "amount": FEE } });
        let body = fee_of(&self.team, &self.children[family].0, more);
        let made = self.actor.post("/dues", body).await.created();
        let shown = made.data()[0].clone();
        let mut due = Owed {
            parts: parts_of(&shown),
            shown,
            family,
            all: amount,
            paid: 0,
            waived: 0,
            fee_added: false,
            payments: Vec::new(),
        };
        self.tell("dues.charged");
        let spent = if used { amount.min(self.credit[family]) } else { 0 };
        if spent > 0 {
            self.credit[family] -= spent;
            let payments = self.actor.get(&at(&due.shown, "/payments")).await.ok();
            let id = payments.data()[0]["id"].as_str().unwrap().to_owned();
            due.paid = spent;
            due.payments.push(Paid { id, applied: spent, ahead: 0, by_credit: true });
            self.tell("dues.payment_recorded");
            if due.balance() == 0 {
                self.tell("dues.paid");
            }
        }
        self.dues.push(due);
    }

    async fn change(&mut self, back: usize, amount: i64) {
        let Some(place) = self.meant(back) else { return };
        let due = &mut self.dues[place];
        let answer = self.actor.patch(&at(&due.shown, ""), json!({ "amount": amount })).await;
        if due.status() != "open" {
            answer.refused(409, "invalid_state");
            return;
        }
        let shown = answer.ok().data().clone();
        let all = amount + if due.fee_added { FEE } else { 0 };
        let other = std::mem::replace(&mut due.all, all) != all;
        due.parts = parts_of(&shown);
        assert_eq!(sum(&due.parts), amount);
        if other {
            self.tell("dues.updated");
        }
    }

    async fn pay(&mut self, back: usize, amount: i64, by_credit: bool) {
        let Some(place) = self.meant(back) else { return };
        let due = &mut self.dues[place];
        let method = if by_credit { "credit" } else { "cash" };
        let answer = self
            .actor
            .post(&at(&due.shown, "/payments"), json!({ "amount": amount, "method": method }))
            .await;
        let most = self.credit[due.family].min(due.balance());
        if by_credit && amount > most {
            answer.refused(409, "invalid_state");
            return;
        }
        let payment = answer.created();
        let open = due.balance() > 0;
        let applied = amount.min(due.balance());
        due.paid += applied;
        self.credit[due.family] += if by_credit { -amount } else { amount - applied };
        due.payments.push(Paid {
            id: payment.id().to_owned(),
            applied,
            ahead: amount - applied,
            by_credit,
        });
        let all_paid = open && due.status() == "paid";
        self.tell("dues.payment_recorded");
        if all_paid {
            self.tell("dues.paid");
        }
    }

    async fn refund(&mut self, back: usize, payment: usize, amount: i64) {
        let Some(place) = self.meant(back) else { return };
        let waived = self.dues[place].status() == "waived";
        let due = &mut self.dues[place];
        let Some(payment) = due.payments.get_mut(payment) else { return };
        let body = if amount == 0 { json!({}) } else { json!({ "amount": amount }) };
        let answer = self
            .actor
            .post(&at(&due.shown, &format!("/payments/{}/refund", payment.id)), body)
            .await;
        let unspent = payment.ahead.min(self.credit[due.family]);
        let most = unspent + payment.applied;
        if most == 0 || amount > most {
            answer.refused(409, "invalid_state");
            return;
        }
        answer.ok();
        let amount = if amount == 0 { most } else { amount };
        let (ahead, rest) = (amount.min(unspent), amount - amount.min(unspent));
        payment.ahead -= ahead;
        payment.applied -= rest;
        self.credit[due.family] += if payment.by_credit { rest } else { -ahead };
        // Never more than was paid.
        assert!(payment.ahead >= 0 && payment.applied >= 0);
        due.paid -= rest;
        due.waived += if waived { rest } else { 0 };
        self.tell("dues.refunded");
    }

    async fn waive(&mut self, back: usize) {
        let Some(place) = self.meant(back) else { return };
        let due = &mut self.dues[place];
        let answer = self.actor.post(&at(&due.shown, "/waive"), json!({ "reason": "x" })).await;
        if due.balance() == 0 {
            answer.refused(409, "invalid_state");
            return;
        }
        answer.ok();
        due.waived += due.balance();
        self.tell("dues.waived");
    }

    /// Half a month passes; late fees are added to what is overdue.
    async fn pass(&mut self) {
        self.w.pass(seconds(15 * DAY));
        self.late(&self.today());
        jobs::add_late_fees(&self.w.node.app).await;
        jobs::remind(&self.w.node.app).await;
    }

    fn today(&self) -> String {
        self.w.node.app.clock.now().to_string()[..10].to_owned()
    }

    fn late(&mut self, today: &str) {
        let mut late = 0;
        for due in &mut self.dues {
            if due.balance() > 0 && !due.fee_added && due.paid < due.gone(today) {
                due.fee_added = true;
                due.all += FEE;
                late += 1;
            }
        }
        *self.told.entry("dues.updated").or_default() += late;
    }

    async fn check(&self, after: &str) {
        balanced(self.w).await;
        for due in &self.dues {
            let shown = look(self.w, &due.shown).await;
            let number = |name: &str| shown[name].as_i64().unwrap();
            assert_eq!(
                (
                    shown["status"].as_str().unwrap(),
                    number("paid"),
                    number("waived"),
                    number("balance")
                ),
                (due.status(), due.paid, due.waived, due.balance()),
                "after {after}"
            );
            let covered: i64 = shown["instalments"]
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
            let (open, overdue) =
                (own().map(Owed::balance).sum(), own().map(|due| due.overdue(&self.today())).sum());
            let shown = ["credit", "open", "overdue"].map(|name| total[name].as_i64().unwrap_or(0));
            assert_eq!(shown, [self.credit[family], open, overdue], "after {after}");
            assert!(self.credit[family] >= 0);
        }
        let news = self.w.news().await;
        for (kind, count) in &self.told {
            let told = news.iter().filter(|news| news["type"] == *kind).count();
            assert_eq!(told, *count, "{kind} after {after}");
        }
        let mut known = news
            .iter()
            .filter_map(|news| news["type"].as_str())
            .filter(|kind| kind.starts_with("dues."));
        assert!(known.all(|kind| self.told.contains_key(kind)), "after {after}");
    }
}

both! {
    async fn whatever_happens_the_sums_are_right(w: &World) {
        let cast = w.cast().await;
        let mia = w.owner.get(&format!("/people/{}", cast.zoe.person)).await.ok().data()["guardians"][0]["id"].as_str().unwrap().to_owned();
        let children = [(cast.max.member.clone(), cast.pat.clone()), (cast.zoe.member.clone(), mia)];
        // One runs the club, the other only this team.
        let actors = [w.owner.clone(), narrowed(w, &cast.hawks, "orders:read orders:write").await];
        let mut model = Model { w, actor: w.owner.clone(), team: cast.hawks.clone(), children, credit: [0, 0], dues: Vec::new(), told: BTreeMap::new() };
        let steps = steps().new_tree(&mut TestRunner::deterministic()).unwrap().current();
        for (number, step) in steps.iter().enumerate() {
            model.actor = actors[number % actors.len()].clone();
            match step.clone() {
                Step::Charge(family, amount, parts, used) => model.charge(family, amount, parts, used).await,
                Step::Change(due, amount) => model.change(due, amount).await,
                Step::Pay(due, amount, credit) => model.pay(due, amount, credit).await,
                Step::Refund(due, payment, amount) => model.refund(due, payment, amount).await,
                Step::Waive(due) => model.waive(due).await,
                Step::Pass => model.pass().await,
            }
            model.check(&format!("{number}: {step:?}")).await;
        }
    }
}
