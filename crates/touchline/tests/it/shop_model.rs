//! A story that is told by chance: things are ordered, paid, handed out, cancelled and given back in any order by
//! several people while time passes, and a small model says beforehand what must come of each step.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use store::{Scope, bind};
use testkit::{Answer, Cast, Client, Value, World, both, json, seconds};
use touchline::ids::MovementId;

use crate::shop::{code, product};
use crate::standing::acting;

/// An order waits two days for its money.
const HOLD: u64 = 2 * 86_400;

#[derive(Debug, Clone)]
enum Step {
    /// Who orders, what, how many, and whether with a code.
    Place(usize, usize, i64, bool),
    Pay(usize, usize),
    /// Everything, or so many of the first line.
    Hand(usize, Option<i64>),
    Cancel(usize, usize),
    /// What is given back, and whether it goes back on the shelf.
    Refund(usize, Back, bool),
    Pass(u64),
}

#[derive(Debug, Clone, Copy)]
enum Back {
    Whole,
    Amount(i64),
    Units(i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let back = prop_oneof![
        2 => Just(Back::Whole),
        2 => (1..2_500i64).prop_map(Back::Amount),
        4 => (1..3i64).prop_map(Back::Units),
    ];
    let step = prop_oneof![
        6 => (0..3usize, 0..4usize, 1..5i64, any::<bool>()).prop_map(|(who, what, many, code)| Step::Place(who, what, many, code)),
        6 => (0..3usize, 0..9usize).prop_map(|(who, order)| Step::Pay(who, order)),
        3 => (0..9usize, proptest::option::of(1..3i64)).prop_map(|(order, units)| Step::Hand(order, units)),
        2 => (0..3usize, 0..9usize).prop_map(|(who, order)| Step::Cancel(who, order)),
        5 => (0..9usize, back, any::<bool>()).prop_map(|(order, back, restock)| Step::Refund(order, back, restock)),
        1 => prop_oneof![Just(3600), Just(HOLD)].prop_map(Step::Pass),
    ];
    proptest::collection::vec(step, 45)
}

/// An order as the model knows it: one line of one thing.
#[derive(Debug, Clone)]
struct Known {
    path: String,
    line: Value,
    /// Who placed it.
    who: usize,
    what: usize,
    many: i64,
    code: bool,
    total: i64,
    status: &'static str,
    refunded: i64,
    fulfilled: i64,
    returned: i64,
    expires: u64,
}

impl Known {
    fn open(&self) -> i64 {
        self.many - self.fulfilled - self.returned
    }

    fn paid(&self) -> i64 {
        if matches!(self.status, "placed" | "cancelled") { 0 } else { self.total }
    }

    /// What so many more units are worth.
    fn worth(&self, more: i64) -> i64 {
        let unit = self.total / self.many;
        let last = self.returned + more == self.many;
        if last { self.total - unit * self.returned } else { unit * more }
    }

    fn take_back(&mut self, units: i64) {
        self.fulfilled -= (units - self.open()).max(0);
        self.returned += units;
    }
}

/// Something on the shelf.
struct Good {
    product: String,
    variant: Value,
    price: i64,
    /// How many are left; `None`: not counted.
    stock: Option<i64>,
}

struct Model<'a> {
    w: &'a World,
    cast: Cast,
    code: String,
    /// What lay in the till before.
    till: i64,
    /// The key, the coach, a parent.
    actors: [Client; 3],
    goods: Vec<Good>,
    orders: Vec<Known>,
    /// How often the code can still be used.
    uses: i64,
    now: u64,
    /// How many news there must be.
    news: usize,
}

async fn actors(w: &World, cast: &Cast) -> [Client; 3] {
    [w.owner.clone(), acting(w, cast.coach.id).await, acting(w, cast.parent.id).await]
}

/// How many movements do not sum to nothing, and what lies in the till.
async fn movements(w: &World) -> (usize, i64) {
    let scope = Scope::account(w.harbour, "test");
    let look = w.db().read(scope, |db| {
        db.all(
            "select movement_id, cast(sum(amount) as bigint) as off,
                 cast(sum(case when book = 'cash' then amount else 0 end) as bigint) as till
             from ledger_entry where account_id = :account group by movement_id",
            bind! {},
        )
    });
    let movements: Vec<(MovementId, i64, i64)> = look.await.unwrap();
    let off = movements.iter().filter(|(_, off, _)| *off != 0).count();
    (off, movements.iter().map(|(.., till)| till).sum())
}

/// What becomes of a step: its status, and how many news it makes.
type Outcome = (u16, usize);

impl<'a> Model<'a> {
    async fn new(w: &'a World, cast: &Cast, round: usize) -> Self {
        let hawks = &cast.hawks;
        let plain =
            product(w, hawks, json!({ "stock": 12, "price": 1001, "tax_rate_bp": 2300 })).await;
        let sized = json!({ "name": "Sized", "price": 333, "tax_rate_bp": 600, "tax_included": false,
            "variants": [{ "name": "S", "stock": 6 }, { "name": "M", "price": 500 }] });
        let sized = product(w, hawks, sized).await;
        let free = product(w, hawks, json!({ "name": "Free", "price": 0, "stock": 4 })).await;
        let code_name = format!("TENTH{round}");
        code(w, json!({ "code": code_name, "most_uses": 4 })).await;
        let good = |of: &Answer, variant: Option<usize>, price, stock| Good {
            product: of.id().to_owned(),
            variant: variant.map_or(Value::Null, |at| of.data()["variants"][at]["id"].clone()),
            price,
            stock,
        };
        Self {
            w,
            actors: actors(w, cast).await,
            goods: vec![
                good(&plain, None, 1001, Some(12)),
                good(&sized, Some(0), 333, Some(6)),
                good(&sized, Some(1), 500, None),
                good(&free, None, 0, Some(4)),
            ],
            orders: Vec::new(),
            uses: 4,
            now: 0,
            news: w.news().await.len(),
            till: movements(w).await.1,
            code: code_name,
            cast: cast.clone(),
        }
    }

    async fn take(&mut self, step: &Step) {
        match step {
            Step::Place(who, what, many, code) => self.place(*who, *what, *many, *code).await,
            Step::Pass(time) => self.pass(*time).await,
            _ if self.orders.is_empty() => {}
            Step::Pay(who, at) => {
                let at = at % self.orders.len();
                let expected = match (who, self.orders[at].status) {
                    (2, _) => (403, 0),
                    (_, "placed") => (200, 1),
                    _ => (409, 0),
                };
                self.send((*who, at), "/pay", json!({ "method": "cash" }), expected).await;
                if expected.0 == 200 {
                    self.orders[at].status = "paid";
                }
            }
            Step::Hand(at, units) => self.hand(at % self.orders.len(), *units).await,
            Step::Cancel(who, at) => self.cancel(*who, at % self.orders.len()).await,
            Step::Refund(at, back, restock) => {
                self.refund(at % self.orders.len(), *back, *restock).await;
            }
        }
    }

    async fn send(
        &mut self,
        (who, at): (usize, usize),
        verb: &str,
        body: Value,
        expected: Outcome,
    ) {
        let path = format!("{}{verb}", self.orders[at].path);
        let answer = self.actors[who].post(&path, body.clone()).await;
        assert_eq!(
            answer.status, expected.0,
            "{verb} {body} of {:?}: {}",
            self.orders[at], answer.text
        );
        self.news += expected.1;
    }

    async fn place(&mut self, who: usize, what: usize, many: i64, code: bool) {
        let good = &self.goods[what];
        let mut body = json!({ "team_id": self.cast.hawks,
            "lines": [{ "product_id": good.product, "variant_id": good.variant, "quantity": many }] });
        if who == 0 {
            body["buyer"] = json!({ "name": "Somebody" });
        }
        if code {
            body["discount_code"] = json!(self.code);
        }
        let there = good.stock.is_none_or(|stock| stock >= many) && (!code || self.uses > 0);
        let answer = self.actors[who].post("/orders", body).await;
        assert_eq!(answer.status, if there { 201 } else { 409 }, "{}", answer.text);
        if !there {
            return;
        }
        let data = answer.data();
        let number = |name: &str| data[name].as_i64().unwrap();
        assert_eq!(number("subtotal"), good.price * many);
        let tenth = (number("subtotal") * 2 + 10) / 20;
        assert_eq!(number("discount"), if code { tenth } else { 0 });
        let free = number("total") == 0;
        assert_eq!(free, good.price == 0);
        self.orders.push(Known {
            path: format!("/orders/{}", answer.id()),
            line: data["lines"][0]["id"].clone(),
            who,
            what,
            many,
            code,
            total: number("total"),
            status: if free { "paid" } else { "placed" },
            refunded: 0,
            fulfilled: 0,
            returned: 0,
            expires: self.now + HOLD,
        });
        self.shelve(what, -many);
        self.uses -= i64::from(code);
        self.news += if free { 2 } else { 1 };
    }

    fn shelve(&mut self, what: usize, more: i64) {
        let stock = &mut self.goods[what].stock;
        *stock = stock.map(|stock| stock + more);
    }

    async fn hand(&mut self, at: usize, units: Option<i64>) {
        let order = self.orders[at].clone();
        let body = units.map_or(
            json!({}),
            |units| json!({ "lines": [{ "line_id": order.line, "quantity": units }] }),
        );
        let may = matches!(order.status, "paid" | "partially_refunded") && order.open() > 0;
        let expected = match units {
            _ if !may => (409, 0),
            Some(units) if units > order.open() => (422, 0),
            _ => (200, 1),
        };
        self.send((1, at), "/fulfil", body, expected).await;
        if expected.0 == 200 {
            let order = &mut self.orders[at];
            order.fulfilled += units.unwrap_or(order.open());
            if order.open() == 0 && order.status == "paid" {
                order.status = "fulfilled";
            }
        }
    }

    async fn cancel(&mut self, who: usize, at: usize) {
        let order = self.orders[at].clone();
        let untouched = order.total == 0 && order.status == "paid" && order.fulfilled == 0;
        let expected = match order.status {
            _ if who == 2 && order.who != 2 => (404, 0),
            "placed" => (200, 1),
            _ if untouched => (200, 1),
            _ => (409, 0),
        };
        self.send((who, at), "/cancel", json!({}), expected).await;
        if expected.0 == 200 {
            self.end(at);
        }
    }

    fn end(&mut self, at: usize) {
        let order = &mut self.orders[at];
        order.status = "cancelled";
        let (what, many, code) = (order.what, order.many, order.code);
        self.shelve(what, many);
        self.uses += i64::from(code);
    }

    async fn refund(&mut self, at: usize, back: Back, restock: bool) {
        let order = self.orders[at].clone();
        let left = order.paid() - order.refunded;
        let (mut body, amount, units, valid) = match back {
            Back::Whole => (json!({}), left, order.many - order.returned, true),
            Back::Amount(amount) => {
                let units = if amount == left { order.open() } else { 0 };
                (json!({ "amount": amount }), amount, units, true)
            }
            Back::Units(units) => {
                let there = units <= order.many - order.returned;
                let body = json!({ "lines": [{ "line_id": order.line, "quantity": units }] });
                let worth = if there { order.worth(units) } else { 0 };
                // Whoever has all their money back does not wait for the rest.
                let open = (order.open() - units).max(0);
                (body, worth, units + if worth == left { open } else { 0 }, there)
            }
        };
        let by_amount = matches!(back, Back::Amount(_));
        if !by_amount {
            body["restock"] = json!(restock);
        }
        let may =
            matches!(order.status, "paid" | "fulfilled" | "partially_refunded") && order.total > 0;
        let expected = match may {
            true if !valid => (422, 0),
            true if amount <= left => (200, 1),
            _ => (409, 0),
        };
        self.send((0, at), "/refund", body, expected).await;
        if expected.0 == 200 {
            let order = &mut self.orders[at];
            order.take_back(units);
            order.refunded += amount;
            order.status =
                if order.refunded == order.total { "refunded" } else { "partially_refunded" };
            let what = order.what;
            if restock || by_amount {
                self.shelve(what, units);
            }
        }
    }

    async fn pass(&mut self, time: u64) {
        self.w.pass(seconds(time));
        self.now += time;
        // What apps hold is good for an hour.
        self.actors = actors(self.w, &self.cast).await;
        touchline::jobs::expire_orders(&self.w.node.app).await;
        for at in 0..self.orders.len() {
            if self.orders[at].status == "placed" && self.orders[at].expires <= self.now {
                self.end(at);
                self.news += 1;
            }
        }
    }

    /// What must hold whatever was done.
    async fn check(&self) {
        for good in &self.goods {
            let shown = self.w.owner.get(&format!("/products/{}", good.product)).await.ok();
            let mut all = shown.data()["variants"].as_array().unwrap().iter();
            let stock = match good.variant {
                Value::Null => &shown.data()["stock"],
                _ => &all.find(|one| one["id"] == good.variant).unwrap()["stock"],
            };
            assert_eq!(
                (stock, good.stock.is_none_or(|stock| stock >= 0)),
                (&json!(good.stock), true)
            );
        }
        for order in &self.orders {
            let shown = self.w.owner.get(&order.path).await.ok();
            let data = shown.data();
            let numbers = ["paid", "refunded"].map(|name| data[name].as_i64().unwrap());
            assert_eq!(
                (data["status"].as_str().unwrap(), numbers),
                (order.status, [order.paid(), order.refunded]),
                "{order:?}"
            );
            let line =
                ["fulfilled", "returned"].map(|name| data["lines"][0][name].as_i64().unwrap());
            assert_eq!(line, [order.fulfilled, order.returned], "{order:?}");
            assert!(order.refunded <= order.paid());
        }
        self.books().await;
        assert_eq!(self.w.news().await.len(), self.news);
    }

    /// Every movement sums to nothing, and what lies in the till is what was paid and not given back.
    async fn books(&self) {
        let (off, till) = movements(self.w).await;
        let expected: i64 = self.orders.iter().map(|order| order.paid() - order.refunded).sum();
        assert_eq!((off, till), (0, self.till + expected));
        for order in &self.orders {
            let sums =
                crate::shop_orders::books(self.w, order.path.trim_start_matches("/orders/")).await;
            assert_eq!(sums.iter().map(|(_, amount)| amount).sum::<i64>(), 0, "{order:?}");
        }
    }
}

both! {
    async fn whatever_is_done_the_store_adds_up(w: &World) {
        let cast = w.cast().await;
        let mut runner = TestRunner::deterministic();
        for round in 0..4 {
            let steps = steps().new_tree(&mut runner).unwrap().current();
            let mut model = Model::new(w, &cast, round).await;
            for step in &steps {
                model.take(step).await;
                model.check().await;
            }
            // What was not paid ends, so that it does not end in the next round.
            model.pass(HOLD).await;
            model.check().await;
        }
    }
}
