//! Crash tests for money: several clients order, pay in cash and by card, refund and pay dues while
//! the service is killed. Clients that got no response retry with the same idempotency key.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kit::Clock;
use store::{Reader, Scope, bind};
use testkit::process::{Program, Service};
use testkit::stripe::{KEY, SECRET, webhook_event};
use testkit::{Client, Engine, FakeStripe, TestDatabase, Value, json};
use touchline::ids::AccountId;

const WRITERS: usize = 6;
const STOCK: i64 = 100_000;
const PRICE: i64 = 1250;
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A club whose service runs as its own process, with a shirt to sell and one due per writer.
struct Club {
    database: TestDatabase,
    program: Program,
    account: AccountId,
    key: String,
    stripe: FakeStripe,
    shirt: String,
    dues: Vec<String>,
    /// The number of responses that writers got.
    answers: AtomicUsize,
}

impl Club {
    async fn new(engine: Engine) -> Option<Self> {
        let database = TestDatabase::new(engine).await?;
        let stripe = FakeStripe::start().await;
        let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
            .flag("--database", &database.url)
            .variable("TOUCHLINE_RATE_LIMITS", "league=1000000")
            // The base URL is part of the request to Stripe, so it must not change between retries.
            .variable("TOUCHLINE_BASE_URL", "https://harbour.example")
            .variable("TOUCHLINE_STRIPE_SECRET_KEY", KEY)
            .variable("TOUCHLINE_STRIPE_WEBHOOK_SECRET", SECRET)
            .variable("TOUCHLINE_STRIPE_URL", &stripe.url());
        let created = program.json(&["account", "create", "--name", "Harbour", "--tier", "league"]);
        let account = created["account"]["id"].as_str().unwrap().to_owned();
        let arguments = ["key", "create", "--account", &account, "--name", "k", "--scopes", "*"];
        let key = program.json(&arguments)["key"]["value"].as_str().unwrap().to_owned();
        let account = account.parse().unwrap();
        let (shirt, dues, answers) = (String::new(), Vec::new(), AtomicUsize::new(0));
        let mut club = Self { database, program, account, key, stripe, shirt, dues, answers };
        let service = club.program.serve(&[]);
        club.create_test_data(&Client::new(service.address, Some(&club.key))).await;
        Some(club)
    }

    async fn create_test_data(&mut self, client: &Client) {
        let shirt = json!({ "name": "Shirt", "price": PRICE, "currency": "EUR", "stock": STOCK });
        client.post("/products", shirt).await.created().id().clone_into(&mut self.shirt);
        let team =
            client.post("/teams", json!({ "name": "Hawks" })).await.created().id().to_owned();
        for number in 0..WRITERS {
            let player = json!({ "first_name": format!("Player {number}"), "role": "player" });
            let member = client.post(&format!("/teams/{team}/roster"), player).await.created();
            let due = json!({ "team_id": team, "member_id": member.id(), "title": "Season fee",
                "category": "dues", "amount": 100_000_000, "currency": "EUR", "due_on": "2036-10-01" });
            let charged = client.post("/dues", due).await.created();
            self.dues.push(charged.data()[0]["id"].as_str().unwrap().to_owned());
        }
    }

    fn writer(&self, service: &Service, name: String, number: usize) -> Writer<'_> {
        let client = Client::new(service.address, Some(&self.key));
        Writer { club: self, client, name, number, sent: Vec::new(), paid_orders: Vec::new() }
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Reader<'_>) -> touchline::error::Result<T> + Send + 'static,
    ) -> T {
        let db = self.database.open(Clock::system());
        let result = db.read(Scope::account(self.account, "test"), work).await.unwrap();
        tokio::task::spawn_blocking(move || db.close()).await.unwrap();
        result
    }
}

/// A request, and its response if there was one.
struct SentRequest {
    key: String,
    path: String,
    body: Value,
    response: Option<Value>,
}

/// A client that sends one request after the other until the service is killed.
struct Writer<'a> {
    club: &'a Club,
    client: Client,
    name: String,
    number: usize,
    sent: Vec<SentRequest>,
    /// Orders whose payment webhook the service has acknowledged.
    paid_orders: Vec<String>,
}

impl Writer<'_> {
    /// Sends a request with a new idempotency key. `None` if the service is gone.
    async fn request(&mut self, path: &str, body: Value) -> Option<Value> {
        let key = format!("{}-{}", self.name, self.sent.len());
        let client = self.client.with_header("Idempotency-Key", &key);
        let answer = client.try_send("POST", path, Some(&body.to_string())).await;
        let response = answer.map(|answer| {
            assert!(answer.status < 300, "{path} {body}: {}", answer.text);
            self.club.answers.fetch_add(1, Ordering::Relaxed);
            answer.data().clone()
        });
        self.sent.push(SentRequest {
            key,
            path: path.to_owned(),
            body,
            response: response.clone(),
        });
        response
    }

    async fn work(mut self) -> Self {
        for round in 0.. {
            let done = match self.number % 3 {
                0 => self.buy(round).await,
                1 => self.buy_by_card(round).await,
                _ => self.pay_due(round).await,
            };
            if done.is_none() {
                break;
            }
        }
        self
    }

    async fn place_order(&mut self) -> Option<String> {
        let lines = json!([{ "product_id": self.club.shirt, "quantity": 2 }]);
        let order = json!({ "buyer": { "name": "Ana" }, "lines": lines });
        let order = self.request("/orders", order).await?;
        Some(format!("/orders/{}", order["id"].as_str().unwrap()))
    }

    async fn buy(&mut self, round: usize) -> Option<()> {
        let order = self.place_order().await?;
        if round % 4 == 3 {
            self.request(&format!("{order}/cancel"), json!({})).await?;
            return Some(());
        }
        self.request(&format!("{order}/pay"), json!({ "method": "cash" })).await?;
        self.refund(&order, round).await
    }

    async fn buy_by_card(&mut self, round: usize) -> Option<()> {
        let order = self.place_order().await?;
        let page = self.request(&format!("{order}/checkout"), json!({})).await?;
        let page = page["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let session = self.club.stripe.pay(&page);
        let (body, signature) =
            webhook_event("checkout.session.completed", &session, Clock::system().now());
        let stripe =
            Client::new(self.client.address, None).with_header("Stripe-Signature", &signature);
        let response = stripe.try_send("POST", "/stripe/webhook", Some(&body)).await?;
        assert_eq!(response.status, 200, "{}", response.text);
        self.paid_orders.push(order.clone());
        self.refund(&order, round).await
    }

    async fn refund(&mut self, order: &str, round: usize) -> Option<()> {
        let body = match round % 3 {
            0 => json!({}),
            1 => json!({ "amount": 500 }),
            _ => return Some(()),
        };
        self.request(&format!("{order}/refund"), body).await.map(drop)
    }

    async fn pay_due(&mut self, round: usize) -> Option<()> {
        let payments = format!("/dues/{}/payments", self.club.dues[self.number]);
        let paid =
            self.request(&payments, json!({ "amount": 300, "method": "bank_transfer" })).await?;
        if round.is_multiple_of(3) {
            let refund = format!("{payments}/{}/refund", paid["id"].as_str().unwrap());
            self.request(&refund, json!({ "amount": 100 })).await?;
        }
        Some(())
    }

    /// Repeats every request: each takes effect once, and responses sent before the crash are
    /// replayed.
    async fn retry(&self, service: &Service) {
        let client = Client::new(service.address, Some(&self.club.key));
        for SentRequest { key, path, body, response } in &self.sent {
            let repeated =
                client.with_header("Idempotency-Key", key).post(path, body.clone()).await;
            assert!(repeated.status < 300, "{path} {body}: {}", repeated.text);
            if let Some(response) = response {
                assert_eq!(repeated.data(), response, "{path} was answered before the crash");
                assert_eq!(repeated.header("idempotent-replayed"), Some("true"), "{path}");
            }
        }
        for order in &self.paid_orders {
            assert_ne!(client.get(order).await.ok().data()["status"], "placed", "{order}");
        }
    }
}

/// Starts the service and the writers, kills the service, restarts it and repeats all requests.
async fn one_crash(club: &Club, round: usize) {
    let mut service = club.program.serve(&[]);
    let writers = (0..WRITERS)
        .map(|number| club.writer(&service, format!("r{round}w{number}"), number).work());
    let work = futures_util::future::join_all(writers.collect::<Vec<_>>());
    let kill = async {
        // Wait until all writers are busy, then kill at a random moment.
        let target = club.answers.load(Ordering::Relaxed) + 5 * WRITERS;
        while club.answers.load(Ordering::Relaxed) < target {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let delay = u64::try_from(Clock::system().now().micros() % 400).unwrap();
        tokio::time::sleep(Duration::from_millis(delay)).await;
        service.kill();
    };
    let (writers, ()) = tokio::join!(work, kill);
    let service = club.program.serve(&[]);
    for writer in &writers {
        writer.retry(&service).await;
    }
    let (ended, log) = service.stop();
    assert!(ended.success(), "{log}");
}

/// Waits until every payment and refund at Stripe is recorded by the service.
async fn wait_until_settled(club: &Club) {
    // The service is killed when dropped.
    let _service = club.program.serve(&[]);
    for _ in 0..1200 {
        let open = club.read(|db| {
            let pages: Vec<(String,)> = db.all(
                "select session_id from checkout
                 where account_id = :account and status = 'open' and session_id is not null",
                bind! {},
            )?;
            let (refunds,): (i64,) = db.one(
                "select count(*) from refund where account_id = :account and status = 'pending'",
                bind! {},
            )?;
            Ok((pages, refunds))
        });
        let (pages, refunds) = open.await;
        let paid = club.stripe.objects("cs");
        let is_paid = |id: &str| {
            paid.iter().any(|session| session["id"] == id && session["payment_status"] == "paid")
        };
        if refunds == 0 && !pages.iter().any(|(id,)| is_paid(id)) {
            return;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    panic!("payments or refunds are still pending");
}

/// Totals from payments, refunds, notifications, orders and dues.
struct Books {
    /// Per order or due: number of payments, amount received, amount refunded.
    received: BTreeMap<String, (i64, i64, i64)>,
    refunded: BTreeMap<String, (i64, i64)>,
    events: BTreeMap<String, usize>,
    rows: Vec<(String, i64, i64, String)>,
}

impl Books {
    async fn open(club: &Club) -> Self {
        let (payments, refunds, orders, dues) = club.read(rows).await;
        let sum = |rows: Vec<(String, i64, i64)>| {
            let mut totals = BTreeMap::new();
            for (subject, amount, refunded) in rows {
                let entry: &mut (i64, i64, i64) = totals.entry(subject).or_default();
                *entry = (entry.0 + 1, entry.1 + amount, entry.2 + refunded);
            }
            totals
        };
        let refund_totals = sum(refunds)
            .into_iter()
            .map(|(subject, (count, amount, _))| (subject, (count, amount)));
        let notification_rows =
            club.read(|db| touchline::signals::notifications(db, 0, 1_000_000)).await;
        let mut events = BTreeMap::new();
        for row in notification_rows {
            let body: Value = serde_json::from_str(&row.body).unwrap();
            *events.entry(body["type"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        let orders =
            orders.into_iter().map(|(id, paid, back, status)| (id.to_string(), paid, back, status));
        let dues = dues.into_iter().map(|(id, paid)| (id.to_string(), paid, 0, "due".to_owned()));
        Self {
            received: sum(payments),
            refunded: refund_totals.collect(),
            events,
            rows: orders.chain(dues).collect(),
        }
    }

    fn event_count(&self, kind: &str) -> usize {
        self.events.get(kind).copied().unwrap_or_default()
    }

    /// Asserts that nothing was paid twice, that refunds do not exceed payments, and that orders,
    /// dues and notifications match the payments.
    fn assert_consistent(&self) {
        for (id, paid, order_refunded, status) in &self.rows {
            let (count, received, refunded) = self.received.get(id).copied().unwrap_or_default();
            let (_, sent_back) = self.refunded.get(id).copied().unwrap_or_default();
            assert_eq!(refunded, sent_back, "{id}");
            assert!(sent_back <= received, "{id}");
            match status.as_str() {
                "due" => assert_eq!(*paid, received - sent_back, "{id}"),
                "placed" | "cancelled" => {
                    assert_eq!((count, *paid, *order_refunded), (0, 0, 0), "{id}");
                }
                _ => assert_eq!((count, *paid, *order_refunded), (1, 2 * PRICE, sent_back), "{id}"),
            }
        }
        let orders = |matches: &dyn Fn(&str) -> bool| {
            self.rows.iter().filter(|(_, _, _, status)| status != "due" && matches(status)).count()
        };
        let unpaid = |status: &str| ["placed", "cancelled"].contains(&status);
        assert_eq!(self.event_count("order.placed"), orders(&|_| true));
        assert_eq!(self.event_count("order.cancelled"), orders(&|status| status == "cancelled"));
        assert_eq!(self.event_count("order.paid"), orders(&|status| !unpaid(status)));
        let assert_count = |kind: &str, count_of: &dyn Fn(&String) -> Option<i64>, start: &str| {
            let count: i64 = self
                .rows
                .iter()
                .filter(|row| row.0.starts_with(start))
                .filter_map(|row| count_of(&row.0))
                .sum();
            assert_eq!(self.event_count(kind), usize::try_from(count).unwrap(), "{kind}");
        };
        assert_count(
            "order.refunded",
            &|id| self.refunded.get(id).map(|sent_back| sent_back.0),
            "ord_",
        );
        assert_count(
            "dues.refunded",
            &|id| self.refunded.get(id).map(|sent_back| sent_back.0),
            "due_",
        );
        assert_count(
            "dues.payment_recorded",
            &|id| self.received.get(id).map(|received| received.0),
            "due_",
        );
    }
}

type Rows = (
    Vec<(String, i64, i64)>,
    Vec<(String, i64, i64)>,
    Vec<(touchline::ids::OrderId, i64, i64, String)>,
    Vec<(touchline::ids::DueId, i64)>,
);

fn rows(db: &Reader<'_>) -> touchline::error::Result<Rows> {
    let payments = "select subject, amount, refunded from payment where account_id = :account";
    let refunds = "select subject, amount, amount as again from refund where account_id = :account";
    let orders = "select id, paid, refunded, status from shop_order where account_id = :account";
    let dues = "select id, paid from due where account_id = :account";
    Ok((
        db.all(payments, bind! {})?,
        db.all(refunds, bind! {})?,
        db.all(orders, bind! {})?,
        db.all(dues, bind! {})?,
    ))
}

/// Asserts that each movement sums to zero, and that the balance equals payments less refunds.
async fn ledger_is_balanced(club: &Club, books: &Books) {
    let (unbalanced, balance) = club
        .read(|db| {
            let unbalanced: Vec<(i64,)> = db.all(
                "select cast(sum(amount) as bigint) from ledger_entry where account_id = :account
             group by movement_id having sum(amount) <> 0",
                bind! {},
            )?;
            let (balance,): (i64,) = db.one(
                "select cast(sum(amount) as bigint) from ledger_entry
             where account_id = :account and book in ('cash', 'bank', 'card')",
                bind! {},
            )?;
            Ok((unbalanced.len(), balance))
        })
        .await;
    assert_eq!(unbalanced, 0);
    let received: i64 = books.received.values().map(|(_, amount, _)| amount).sum();
    let refunded: i64 = books.refunded.values().map(|(_, amount)| amount).sum();
    assert_eq!(balance, received - refunded);
}

async fn stock_adds_up(club: &Club) {
    let (left, sold) = club.read(|db| {
        let (left,): (i64,) = db.one("select stock from product where account_id = :account", bind! {})?;
        let (sold,): (i64,) = db.one(
            "select cast(sum(quantity - restocked) as bigint) from order_line where account_id = :account",
            bind! {},
        )?;
        Ok((left, sold))
    }).await;
    assert_eq!(left + sold, STOCK);
}

/// Asserts that each payment and refund at Stripe is recorded exactly once.
async fn matches_stripe(club: &Club) {
    let sessions = club.stripe.objects("cs");
    let paid = sessions.iter().filter(|session| session["payment_status"] == "paid");
    let mut paid: Vec<_> =
        paid.map(|session| session["payment_intent"].as_str().unwrap().to_owned()).collect();
    let (mut recorded_payments, refunds) = club.read(|db| {
        let recorded_payments: Vec<(String,)> = db.all(
            "select provider_id from payment where account_id = :account and provider_id is not null",
            bind! {},
        )?;
        let refunds: Vec<(String, Option<String>)> = db.all(
            "select r.status, r.provider_id from refund r
             join payment p on p.account_id = r.account_id and p.id = r.payment_id
             where r.account_id = :account and p.provider_id is not null",
            bind! {},
        )?;
        Ok((recorded_payments.into_iter().map(|(id,)| id).collect::<Vec<_>>(), refunds))
    }).await;
    paid.sort();
    recorded_payments.sort();
    assert_eq!(recorded_payments, paid);
    assert!(refunds.iter().all(|(status, _)| status == "succeeded"));
    let mut recorded: Vec<_> = refunds.into_iter().filter_map(|(_, id)| id).collect();
    let mut at_stripe: Vec<_> = club
        .stripe
        .objects("re")
        .iter()
        .map(|refund| refund["id"].as_str().unwrap().to_owned())
        .collect();
    recorded.sort();
    at_stripe.sort();
    assert_eq!(recorded, at_stripe);
}

async fn payments_survive_crashes(engine: Engine) {
    let Some(club) = Club::new(engine).await else { return };
    for round in 0..3 {
        one_crash(&club, round).await;
    }
    wait_until_settled(&club).await;
    let books = Books::open(&club).await;
    books.assert_consistent();
    ledger_is_balanced(&club, &books).await;
    stock_adds_up(&club).await;
    matches_stripe(&club).await;
    let db = club.database.open(Clock::system());
    let scope = Scope::account(club.account, "test");
    assert_eq!(db.snapshot(scope, touchline::signals::verify).await.unwrap(), None);
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    club.database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_survive_crashes_on_sqlite() {
    payments_survive_crashes(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_survive_crashes_on_postgres() {
    payments_survive_crashes(Engine::Postgres).await;
}
