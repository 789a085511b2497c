//! A property test: orders are placed, paid, fulfilled, cancelled and refunded in random order by
//! several people while time passes, and a small model predicts each result.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use store::{Scope, bind};
use testkit::{Client, TestClub, TestResponse, Value, World, both, json, seconds};
use touchline::ids::MovementId;

use crate::roster_access::client_with_all_scopes;
use crate::shop::{code, product};

/// Unpaid orders expire after two days (seconds).
const UNPAID_TTL: u64 = 2 * 86_400;

#[derive(Debug, Clone)]
enum Step {
    /// Actor, item, quantity, and whether with a discount code.
    Place(usize, usize, i64, bool),
    Pay(usize, usize),
    /// Order, and the units of its line; `None` for all.
    Fulfill(usize, Option<i64>),
    Cancel(usize, usize),
    /// Order, kind of refund, and whether the units are restocked.
    Refund(usize, RefundKind, bool),
    AdvanceClock(u64),
}

#[derive(Debug, Clone, Copy)]
enum RefundKind {
    Full,
    Amount(i64),
    Units(i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop_oneof![
        2 => Just(RefundKind::Full),
        2 => (1..2_500i64).prop_map(RefundKind::Amount),
        4 => (1..3i64).prop_map(RefundKind::Units),
    ];
    let step = prop_oneof![
        6 => (0..3usize, 0..4usize, 1..5i64, any::<bool>()).prop_map(|(actor, item, quantity, code)| Step::Place(actor, item, quantity, code)),
        6 => (0..3usize, 0..9usize).prop_map(|(actor, order)| Step::Pay(actor, order)),
        3 => (0..9usize, proptest::option::of(1..3i64)).prop_map(|(order, units)| Step::Fulfill(order, units)),
        2 => (0..3usize, 0..9usize).prop_map(|(actor, order)| Step::Cancel(actor, order)),
        5 => (0..9usize, kind, any::<bool>()).prop_map(|(order, kind, restock)| Step::Refund(order, kind, restock)),
        1 => prop_oneof![Just(3600), Just(UNPAID_TTL)].prop_map(Step::AdvanceClock),
    ];
    proptest::collection::vec(step, 45)
}

/// An order as the model expects it, with one line.
#[derive(Debug, Clone)]
struct OrderModel {
    path: String,
    line: Value,
    /// The actor who placed it.
    actor: usize,
    item: usize,
    quantity: i64,
    code: bool,
    total: i64,
    status: &'static str,
    refunded: i64,
    fulfilled: i64,
    returned: i64,
    expires: u64,
}

impl OrderModel {
    fn remaining(&self) -> i64 {
        self.quantity - self.fulfilled - self.returned
    }

    fn paid(&self) -> i64 {
        if matches!(self.status, "placed" | "cancelled") { 0 } else { self.total }
    }

    /// The refund for this number of further units.
    fn refund_amount(&self, more: i64) -> i64 {
        let unit = self.total / self.quantity;
        let last = self.returned + more == self.quantity;
        if last { self.total - unit * self.returned } else { unit * more }
    }

    fn return_units(&mut self, units: i64) {
        self.fulfilled -= (units - self.remaining()).max(0);
        self.returned += units;
    }
}

/// A product or variant for sale.
struct StockItem {
    product: String,
    variant: Value,
    price: i64,
    /// Units in stock; `None` if not tracked.
    stock: Option<i64>,
}

struct Model<'a> {
    w: &'a World,
    club: TestClub,
    code: String,
    /// The cash balance before the test.
    cash: i64,
    /// An API key, the coach and a parent.
    actors: [Client; 3],
    stock_items: Vec<StockItem>,
    orders: Vec<OrderModel>,
    /// Remaining uses of the code.
    uses_left: i64,
    now: u64,
    /// The expected number of notifications.
    event_count: usize,
}

async fn actors(w: &World, club: &TestClub) -> [Client; 3] {
    [
        w.owner.clone(),
        client_with_all_scopes(w, club.coach.id).await,
        client_with_all_scopes(w, club.parent.id).await,
    ]
}

/// The number of unbalanced ledger movements, and the cash balance.
async fn movements(w: &World) -> (usize, i64) {
    let scope = Scope::account(w.harbour, "test");
    let read = w.db().read(scope, |db| {
        db.all(
            "select movement_id, cast(sum(amount) as bigint) as unbalanced,
                 cast(sum(case when book = 'cash' then amount else 0 end) as bigint) as cash
             from ledger_entry where account_id = :account group by movement_id",
            bind! {},
        )
    });
    let movements: Vec<(MovementId, i64, i64)> = read.await.unwrap();
    let unbalanced = movements.iter().filter(|(_, unbalanced, _)| *unbalanced != 0).count();
    (unbalanced, movements.iter().map(|(.., cash)| cash).sum())
}

/// The expected status of a step, and the number of notifications it publishes.
type Outcome = (u16, usize);

impl<'a> Model<'a> {
    async fn new(w: &'a World, club: &TestClub, round: usize) -> Self {
        let hawks = &club.hawks;
        let simple =
            product(w, hawks, json!({ "stock": 12, "price": 1001, "tax_rate_bps": 2300 })).await;
        let sized = json!({ "name": "Sized", "price": 333, "tax_rate_bps": 600, "tax_included": false,
            "variants": [{ "name": "S", "stock": 6 }, { "name": "M", "price": 500 }] });
        let sized = product(w, hawks, sized).await;
        let free = product(w, hawks, json!({ "name": "Free", "price": 0, "stock": 4 })).await;
        let code_name = format!("TENTH{round}");
        code(w, json!({ "code": code_name, "max_uses": 4 })).await;
        let stock_item = |of: &TestResponse, variant: Option<usize>, price, stock| StockItem {
            product: of.id().to_owned(),
            variant: variant.map_or(Value::Null, |at| of.data()["variants"][at]["id"].clone()),
            price,
            stock,
        };
        Self {
            w,
            actors: actors(w, club).await,
            stock_items: vec![
                stock_item(&simple, None, 1001, Some(12)),
                stock_item(&sized, Some(0), 333, Some(6)),
                stock_item(&sized, Some(1), 500, None),
                stock_item(&free, None, 0, Some(4)),
            ],
            orders: Vec::new(),
            uses_left: 4,
            now: 0,
            event_count: w.notifications().await.len(),
            cash: movements(w).await.1,
            code: code_name,
            club: club.clone(),
        }
    }

    async fn apply(&mut self, step: &Step) {
        match step {
            Step::Place(actor, item, quantity, code) => {
                self.place(*actor, *item, *quantity, *code).await;
            }
            Step::AdvanceClock(time) => self.advance_clock(*time).await,
            _ if self.orders.is_empty() => {}
            Step::Pay(actor, at) => {
                let at = at % self.orders.len();
                let expected = match (actor, self.orders[at].status) {
                    (2, _) => (403, 0),
                    (_, "placed") => (200, 1),
                    _ => (409, 0),
                };
                self.send((*actor, at), "/pay", json!({ "method": "cash" }), expected).await;
                if expected.0 == 200 {
                    self.orders[at].status = "paid";
                }
            }
            Step::Fulfill(at, units) => self.fulfill(at % self.orders.len(), *units).await,
            Step::Cancel(actor, at) => self.cancel(*actor, at % self.orders.len()).await,
            Step::Refund(at, kind, restock) => {
                self.refund(at % self.orders.len(), *kind, *restock).await;
            }
        }
    }

    async fn send(
        &mut self,
        (actor, at): (usize, usize),
        action: &str,
        body: Value,
        expected: Outcome,
    ) {
        let path = format!("{}{action}", self.orders[at].path);
        let answer = self.actors[actor].post(&path, body.clone()).await;
        assert_eq!(
            answer.status, expected.0,
            "{action} {body} of {:?}: {}",
            self.orders[at], answer.text
        );
        self.event_count += expected.1;
    }

    async fn place(&mut self, actor: usize, item: usize, quantity: i64, code: bool) {
        let stock_item = &self.stock_items[item];
        let mut body = json!({ "team_id": self.club.hawks,
            "lines": [{ "product_id": stock_item.product, "variant_id": stock_item.variant, "quantity": quantity }] });
        if actor == 0 {
            body["buyer"] = json!({ "name": "Somebody" });
        }
        if code {
            body["discount_code"] = json!(self.code);
        }
        let available =
            stock_item.stock.is_none_or(|stock| stock >= quantity) && (!code || self.uses_left > 0);
        let answer = self.actors[actor].post("/orders", body).await;
        assert_eq!(answer.status, if available { 201 } else { 409 }, "{}", answer.text);
        if !available {
            return;
        }
        let data = answer.data();
        let number = |name: &str| data[name].as_i64().unwrap();
        assert_eq!(number("subtotal"), stock_item.price * quantity);
        let tenth = (number("subtotal") * 2 + 10) / 20;
        assert_eq!(number("discount"), if code { tenth } else { 0 });
        let free = number("total") == 0;
        assert_eq!(free, stock_item.price == 0);
        self.orders.push(OrderModel {
            path: format!("/orders/{}", answer.id()),
            line: data["lines"][0]["id"].clone(),
            actor,
            item,
            quantity,
            code,
            total: number("total"),
            status: if free { "paid" } else { "placed" },
            refunded: 0,
            fulfilled: 0,
            returned: 0,
            expires: self.now + UNPAID_TTL,
        });
        self.change_stock(item, -quantity);
        self.uses_left -= i64::from(code);
        self.event_count += if free { 2 } else { 1 };
    }

    fn change_stock(&mut self, item: usize, more: i64) {
        let stock = &mut self.stock_items[item].stock;
        *stock = stock.map(|stock| stock + more);
    }

    async fn fulfill(&mut self, at: usize, units: Option<i64>) {
        let order = self.orders[at].clone();
        let body = units.map_or(
            json!({}),
            |units| json!({ "lines": [{ "line_id": order.line, "quantity": units }] }),
        );
        let can_fulfill =
            matches!(order.status, "paid" | "partially_refunded") && order.remaining() > 0;
        let expected = match units {
            _ if !can_fulfill => (409, 0),
            Some(units) if units > order.remaining() => (422, 0),
            _ => (200, 1),
        };
        self.send((1, at), "/fulfill", body, expected).await;
        if expected.0 == 200 {
            let order = &mut self.orders[at];
            order.fulfilled += units.unwrap_or(order.remaining());
            if order.remaining() == 0 && order.status == "paid" {
                order.status = "fulfilled";
            }
        }
    }

    async fn cancel(&mut self, actor: usize, at: usize) {
        let order = self.orders[at].clone();
        let untouched = order.total == 0 && order.status == "paid" && order.fulfilled == 0;
        let expected = match order.status {
            _ if actor == 2 && order.actor != 2 => (404, 0),
            "placed" => (200, 1),
            _ if untouched => (200, 1),
            _ => (409, 0),
        };
        self.send((actor, at), "/cancel", json!({}), expected).await;
        if expected.0 == 200 {
            self.cancel_order(at);
        }
    }

    fn cancel_order(&mut self, at: usize) {
        let order = &mut self.orders[at];
        order.status = "cancelled";
        let (item, quantity, code) = (order.item, order.quantity, order.code);
        self.change_stock(item, quantity);
        self.uses_left += i64::from(code);
    }

    async fn refund(&mut self, at: usize, kind: RefundKind, restock: bool) {
        let order = self.orders[at].clone();
        let refundable_amount = order.paid() - order.refunded;
        let (mut body, amount, units, is_valid) = match kind {
            RefundKind::Full => {
                (json!({}), refundable_amount, order.quantity - order.returned, true)
            }
            RefundKind::Amount(amount) => {
                let units = if amount == refundable_amount { order.remaining() } else { 0 };
                (json!({ "amount": amount }), amount, units, true)
            }
            RefundKind::Units(units) => {
                let enough = units <= order.quantity - order.returned;
                let body = json!({ "lines": [{ "line_id": order.line, "quantity": units }] });
                let refund_amount = if enough { order.refund_amount(units) } else { 0 };
                // A fully refunded order has no units left to fulfill.
                let open = (order.remaining() - units).max(0);
                (
                    body,
                    refund_amount,
                    units + if refund_amount == refundable_amount { open } else { 0 },
                    enough,
                )
            }
        };
        let by_amount = matches!(kind, RefundKind::Amount(_));
        if !by_amount {
            body["restock"] = json!(restock);
        }
        let refundable =
            matches!(order.status, "paid" | "fulfilled" | "partially_refunded") && order.total > 0;
        let expected = match refundable {
            true if !is_valid => (422, 0),
            true if amount <= refundable_amount => (200, 1),
            _ => (409, 0),
        };
        self.send((0, at), "/refund", body, expected).await;
        if expected.0 == 200 {
            let order = &mut self.orders[at];
            order.return_units(units);
            order.refunded += amount;
            order.status =
                if order.refunded == order.total { "refunded" } else { "partially_refunded" };
            let item = order.item;
            if restock || by_amount {
                self.change_stock(item, units);
            }
        }
    }

    async fn advance_clock(&mut self, time: u64) {
        self.w.advance_clock(seconds(time));
        self.now += time;
        // Access tokens expire after an hour.
        self.actors = actors(self.w, &self.club).await;
        touchline::jobs::expire_orders(&self.w.node.app).await;
        for at in 0..self.orders.len() {
            if self.orders[at].status == "placed" && self.orders[at].expires <= self.now {
                self.cancel_order(at);
                self.event_count += 1;
            }
        }
    }

    /// Asserts that the store matches the model.
    async fn check(&self) {
        for stock_item in &self.stock_items {
            let fetched = self.w.owner.get(&format!("/products/{}", stock_item.product)).await.ok();
            let mut variants = fetched.data()["variants"].as_array().unwrap().iter();
            let stock = match stock_item.variant {
                Value::Null => &fetched.data()["stock"],
                _ => {
                    &variants.find(|variant| variant["id"] == stock_item.variant).unwrap()["stock"]
                }
            };
            assert_eq!(
                (stock, stock_item.stock.is_none_or(|stock| stock >= 0)),
                (&json!(stock_item.stock), true)
            );
        }
        for order in &self.orders {
            let fetched = self.w.owner.get(&order.path).await.ok();
            let data = fetched.data();
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
        self.check_ledger().await;
        assert_eq!(self.w.notifications().await.len(), self.event_count);
    }

    /// Asserts that each movement is balanced, and that the cash balance equals payments less
    /// refunds.
    async fn check_ledger(&self) {
        let (unbalanced, cash) = movements(self.w).await;
        let expected: i64 = self.orders.iter().map(|order| order.paid() - order.refunded).sum();
        assert_eq!((unbalanced, cash), (0, self.cash + expected));
        for order in &self.orders {
            let sums = crate::shop_orders::ledger_balances(
                self.w,
                order.path.trim_start_matches("/orders/"),
            )
            .await;
            assert_eq!(sums.iter().map(|(_, amount)| amount).sum::<i64>(), 0, "{order:?}");
        }
    }
}

both! {
    async fn shop_matches_the_model(w: &World) {
        let club = w.club().await;
        let mut runner = TestRunner::deterministic();
        for round in 0..4 {
            let steps = steps().new_tree(&mut runner).unwrap().current();
            let mut model = Model::new(w, &club, round).await;
            for step in &steps {
                model.apply(step).await;
                model.check().await;
            }
            // Let unpaid orders expire now, so that they do not expire in the next round.
            model.advance_clock(UNPAID_TTL).await;
            model.check().await;
        }
    }
}
