//! Stories about power cuts while money moves: several people order, pay in cash and by card, give back and pay dues,
//! and the service is killed in the middle of it. Whoever got no answer asks again under the same key.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kit::Clock;
use store::{Reader, Scope, bind};
use testkit::process::{Program, Service};
use testkit::stripe::{KEY, SECRET, call};
use testkit::{Client, Engine, Stripe, TestDatabase, Value, json};
use touchline::ids::AccountId;

const WRITERS: usize = 6;
const STOCK: i64 = 100_000;
const PRICE: i64 = 1250;
const MOMENT: Duration = Duration::from_millis(50);

/// A club whose service runs as a process of its own, with a shirt to sell and something to pay for each writer.
struct Club {
    database: TestDatabase,
    program: Program,
    account: AccountId,
    key: String,
    stripe: Stripe,
    shirt: String,
    dues: Vec<String>,
    /// How often anybody was answered.
    answers: AtomicUsize,
}

impl Club {
    async fn new(engine: Engine) -> Option<Self> {
        let database = TestDatabase::new(engine).await?;
        let stripe = Stripe::start().await;
        let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
            .flag("--database", &database.url)
            .variable("TOUCHLINE_RATE_LIMITS", "league=1000000")
            // Its own address is part of what the provider is asked, under a key that must mean the same again.
            .variable("TOUCHLINE_BASE_URL", "https://harbour.example")
            .variable("TOUCHLINE_STRIPE_SECRET_KEY", KEY)
            .variable("TOUCHLINE_STRIPE_WEBHOOK_SECRET", SECRET)
            .variable("TOUCHLINE_STRIPE_URL", &stripe.url());
        let made = program.json(&["account", "create", "--name", "Harbour", "--tier", "league"]);
        let account = made["account"]["id"].as_str().unwrap().to_owned();
        let words = ["key", "create", "--account", &account, "--name", "k", "--scopes", "*"];
        let key = program.json(&words)["key"]["value"].as_str().unwrap().to_owned();
        let account = account.parse().unwrap();
        let (shirt, dues, answers) = (String::new(), Vec::new(), AtomicUsize::new(0));
        let mut club = Self { database, program, account, key, stripe, shirt, dues, answers };
        let service = club.program.serve(&[]);
        club.furnish(&Client::new(service.address, Some(&club.key))).await;
        Some(club)
    }

    async fn furnish(&mut self, client: &Client) {
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
        Writer { club: self, client, name, number, sent: Vec::new(), settled: Vec::new() }
    }

    async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Reader<'_>) -> touchline::error::Result<T> + Send + 'static,
    ) -> T {
        let db = self.database.open(Clock::system());
        let found = db.read(Scope::account(self.account, "test"), work).await.unwrap();
        tokio::task::spawn_blocking(move || db.close()).await.unwrap();
        found
    }
}

/// What was asked for, and the answer if there was one.
struct Sent {
    key: String,
    path: String,
    body: Value,
    answered: Option<Value>,
}

/// Somebody who does one thing after the other, until the service is gone.
struct Writer<'a> {
    club: &'a Club,
    client: Client,
    name: String,
    number: usize,
    sent: Vec<Sent>,
    /// The orders of which the provider was told that we have heard that they were paid.
    settled: Vec<String>,
}

impl Writer<'_> {
    /// Asks for something under a key of its own. `None`: the service is gone.
    async fn ask(&mut self, path: &str, body: Value) -> Option<Value> {
        let key = format!("{}-{}", self.name, self.sent.len());
        let once = self.client.with("Idempotency-Key", &key);
        let answer = once.try_send("POST", path, Some(&body.to_string())).await;
        let answered = answer.map(|answer| {
            assert!(answer.status < 300, "{path} {body}: {}", answer.text);
            self.club.answers.fetch_add(1, Ordering::Relaxed);
            answer.data().clone()
        });
        self.sent.push(Sent { key, path: path.to_owned(), body, answered: answered.clone() });
        answered
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

    async fn place(&mut self) -> Option<String> {
        let lines = json!([{ "product_id": self.club.shirt, "quantity": 2 }]);
        let order = json!({ "buyer": { "name": "Ana" }, "lines": lines });
        let order = self.ask("/orders", order).await?;
        Some(format!("/orders/{}", order["id"].as_str().unwrap()))
    }

    async fn buy(&mut self, round: usize) -> Option<()> {
        let order = self.place().await?;
        if round % 4 == 3 {
            self.ask(&format!("{order}/cancel"), json!({})).await?;
            return Some(());
        }
        self.ask(&format!("{order}/pay"), json!({ "method": "cash" })).await?;
        self.give_back(&order, round).await
    }

    async fn buy_by_card(&mut self, round: usize) -> Option<()> {
        let order = self.place().await?;
        let page = self.ask(&format!("{order}/checkout"), json!({})).await?;
        let page = page["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let session = self.club.stripe.pay(&page);
        let (body, signature) = call("checkout.session.completed", &session, Clock::system().now());
        let hook = Client::new(self.client.address, None).with("Stripe-Signature", &signature);
        let heard = hook.try_send("POST", "/stripe/webhook", Some(&body)).await?;
        assert_eq!(heard.status, 200, "{}", heard.text);
        self.settled.push(order.clone());
        self.give_back(&order, round).await
    }

    async fn give_back(&mut self, order: &str, round: usize) -> Option<()> {
        let what = match round % 3 {
            0 => json!({}),
            1 => json!({ "amount": 500 }),
            _ => return Some(()),
        };
        self.ask(&format!("{order}/refund"), what).await.map(drop)
    }

    async fn pay_due(&mut self, round: usize) -> Option<()> {
        let payments = format!("/dues/{}/payments", self.club.dues[self.number]);
        let paid = self.ask(&payments, json!({ "amount": 300, "method": "transfer" })).await?;
        if round.is_multiple_of(3) {
            let refund = format!("{payments}/{}/refund", paid["id"].as_str().unwrap());
            self.ask(&refund, json!({ "amount": 100 })).await?;
        }
        Some(())
    }

    /// Everything again, as whoever got no answer does: it is done once, and what was answered is answered so again.
    async fn retry(&self, service: &Service) {
        let client = Client::new(service.address, Some(&self.club.key));
        for Sent { key, path, body, answered } in &self.sent {
            let again = client.with("Idempotency-Key", key).post(path, body.clone()).await;
            assert!(again.status < 300, "{path} {body}: {}", again.text);
            if let Some(answered) = answered {
                assert_eq!(again.data(), answered, "{path} was answered before the crash");
                assert_eq!(again.header("idempotent-replayed"), Some("true"), "{path}");
            }
        }
        for order in &self.settled {
            assert_ne!(client.get(order).await.ok().data()["status"], "placed", "{order}");
        }
    }
}

/// Starts the service, lets everybody at it, pulls the plug, and has everybody ask again.
async fn one_crash(club: &Club, round: usize) {
    let mut service = club.program.serve(&[]);
    let writers = (0..WRITERS)
        .map(|number| club.writer(&service, format!("r{round}w{number}"), number).work());
    let all = futures_util::future::join_all(writers.collect::<Vec<_>>());
    let cut = async {
        // Not before they are all under way, and then at any moment.
        let enough = club.answers.load(Ordering::Relaxed) + 5 * WRITERS;
        while club.answers.load(Ordering::Relaxed) < enough {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let any = u64::try_from(Clock::system().now().micros() % 400).unwrap();
        tokio::time::sleep(Duration::from_millis(any)).await;
        service.kill();
    };
    let (writers, ()) = tokio::join!(all, cut);
    let service = club.program.serve(&[]);
    for writer in &writers {
        writer.retry(&service).await;
    }
    let (ended, log) = service.stop();
    assert!(ended.success(), "{log}");
}

/// Waits until everything that was paid at the provider is known here, and everything given back there.
async fn settle(club: &Club) {
    // Dropped, it is killed once more.
    let _service = club.program.serve(&[]);
    for _ in 0..1200 {
        let open = club.look(|db| {
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
        let paid = club.stripe.made("cs");
        let is_paid =
            |id: &str| paid.iter().any(|one| one["id"] == id && one["payment_status"] == "paid");
        if refunds == 0 && !pages.iter().any(|(id,)| is_paid(id)) {
            return;
        }
        tokio::time::sleep(MOMENT).await;
    }
    panic!("money is still on its way");
}

/// What stands in the books, the orders and the dues.
struct Books {
    /// By order or due: what came in and went back.
    came: BTreeMap<String, (i64, i64, i64)>,
    went: BTreeMap<String, (i64, i64)>,
    news: BTreeMap<String, usize>,
    shown: Vec<(String, i64, i64, String)>,
}

impl Books {
    async fn open(club: &Club) -> Self {
        let (payments, refunds, orders, dues) = club.look(rows).await;
        let sum = |rows: Vec<(String, i64, i64)>| {
            let mut all = BTreeMap::new();
            for (subject, amount, refunded) in rows {
                let entry: &mut (i64, i64, i64) = all.entry(subject).or_default();
                *entry = (entry.0 + 1, entry.1 + amount, entry.2 + refunded);
            }
            all
        };
        let went = sum(refunds).into_iter().map(|(of, (count, amount, _))| (of, (count, amount)));
        let told = club.look(|db| touchline::signals::notifications(db, 0, 1_000_000)).await;
        let mut news = BTreeMap::new();
        for told in told {
            let body: Value = serde_json::from_str(&told.body).unwrap();
            *news.entry(body["type"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        let orders =
            orders.into_iter().map(|(id, paid, back, status)| (id.to_string(), paid, back, status));
        let dues = dues.into_iter().map(|(id, paid)| (id.to_string(), paid, 0, "due".to_owned()));
        Self {
            came: sum(payments),
            went: went.collect(),
            news,
            shown: orders.chain(dues).collect(),
        }
    }

    fn told(&self, kind: &str) -> usize {
        self.news.get(kind).copied().unwrap_or_default()
    }

    /// Nothing was paid twice, nothing more was given back than was paid, and each says what its payments say.
    fn agree(&self) {
        for (id, paid, back, status) in &self.shown {
            let (count, came, refunded) = self.came.get(id).copied().unwrap_or_default();
            let (_, went) = self.went.get(id).copied().unwrap_or_default();
            assert_eq!(refunded, went, "{id}");
            assert!(went <= came, "{id}");
            match status.as_str() {
                "due" => assert_eq!(*paid, came - went, "{id}"),
                "placed" | "cancelled" => assert_eq!((count, *paid, *back), (0, 0, 0), "{id}"),
                _ => assert_eq!((count, *paid, *back), (1, 2 * PRICE, went), "{id}"),
            }
        }
        let orders = |what: &dyn Fn(&str) -> bool| {
            self.shown.iter().filter(|(_, _, _, status)| status != "due" && what(status)).count()
        };
        let unpaid = |status: &str| ["placed", "cancelled"].contains(&status);
        assert_eq!(self.told("order.placed"), orders(&|_| true));
        assert_eq!(self.told("order.cancelled"), orders(&|status| status == "cancelled"));
        assert_eq!(self.told("order.paid"), orders(&|status| !unpaid(status)));
        let counted = |kind: &str, of: &dyn Fn(&String) -> Option<i64>, start: &str| {
            let count: i64 = self
                .shown
                .iter()
                .filter(|row| row.0.starts_with(start))
                .filter_map(|row| of(&row.0))
                .sum();
            assert_eq!(self.told(kind), usize::try_from(count).unwrap(), "{kind}");
        };
        counted("order.refunded", &|id| self.went.get(id).map(|went| went.0), "ord_");
        counted("dues.refunded", &|id| self.went.get(id).map(|went| went.0), "due_");
        counted("dues.payment_recorded", &|id| self.came.get(id).map(|came| came.0), "due_");
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

/// Every movement sums to nothing, and what lies with the club is what came in less what went back.
async fn ledger_is_balanced(club: &Club, books: &Books) {
    let (off, held) = club
        .look(|db| {
            let off: Vec<(i64,)> = db.all(
                "select cast(sum(amount) as bigint) from ledger_entry where account_id = :account
             group by movement_id having sum(amount) <> 0",
                bind! {},
            )?;
            let (held,): (i64,) = db.one(
                "select cast(sum(amount) as bigint) from ledger_entry
             where account_id = :account and book in ('cash', 'bank', 'card')",
                bind! {},
            )?;
            Ok((off.len(), held))
        })
        .await;
    assert_eq!(off, 0);
    let came: i64 = books.came.values().map(|(_, amount, _)| amount).sum();
    let went: i64 = books.went.values().map(|(_, amount)| amount).sum();
    assert_eq!(held, came - went);
}

async fn stock_is_whole(club: &Club) {
    let (left, taken) = club.look(|db| {
        let (left,): (i64,) = db.one("select stock from product where account_id = :account", bind! {})?;
        let (taken,): (i64,) = db.one(
            "select cast(sum(quantity - restocked) as bigint) from order_line where account_id = :account",
            bind! {},
        )?;
        Ok((left, taken))
    }).await;
    assert_eq!(left + taken, STOCK);
}

/// What was paid at the provider was entered once, and went back as often as it is written here.
async fn provider_agrees(club: &Club) {
    let pages = club.stripe.made("cs");
    let paid = pages.iter().filter(|page| page["payment_status"] == "paid");
    let mut paid: Vec<_> =
        paid.map(|page| page["payment_intent"].as_str().unwrap().to_owned()).collect();
    let (mut known, refunds) = club.look(|db| {
        let known: Vec<(String,)> = db.all(
            "select provider_id from payment where account_id = :account and provider_id is not null",
            bind! {},
        )?;
        let refunds: Vec<(String, Option<String>)> = db.all(
            "select r.status, r.provider_id from refund r
             join payment p on p.account_id = r.account_id and p.id = r.payment_id
             where r.account_id = :account and p.provider_id is not null",
            bind! {},
        )?;
        Ok((known.into_iter().map(|(id,)| id).collect::<Vec<_>>(), refunds))
    }).await;
    paid.sort();
    known.sort();
    assert_eq!(known, paid);
    assert!(refunds.iter().all(|(status, _)| status == "done"));
    let mut here: Vec<_> = refunds.into_iter().filter_map(|(_, id)| id).collect();
    let mut there: Vec<_> =
        club.stripe.made("re").iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect();
    here.sort();
    there.sort();
    assert_eq!(here, there);
}

async fn survives(engine: Engine) {
    let Some(club) = Club::new(engine).await else { return };
    for round in 0..3 {
        one_crash(&club, round).await;
    }
    settle(&club).await;
    let books = Books::open(&club).await;
    books.agree();
    ledger_is_balanced(&club, &books).await;
    stock_is_whole(&club).await;
    provider_agrees(&club).await;
    let db = club.database.open(Clock::system());
    let scope = Scope::account(club.account, "test");
    assert_eq!(db.snapshot(scope, touchline::signals::verify).await.unwrap(), None);
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    club.database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_moves_once_through_power_cuts_on_sqlite() {
    survives(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_moves_once_through_power_cuts_on_postgres() {
    survives(Engine::Postgres).await;
}
