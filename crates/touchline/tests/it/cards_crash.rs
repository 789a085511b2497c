//! Tests of a crash between the payment provider's answer and our commit. The provider is our own fake, because
//! other fakes don't remember idempotency keys.

use std::sync::mpsc;
use std::time::Duration;

use kit::Clock;
use store::Scope;
use testkit::process::{Program, Service};
use testkit::stripe::{KEY, SECRET, webhook_event};
use testkit::{Client, Engine, FakeStripe, TestDatabase, Value, json};
use touchline::ids::AccountId;

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A club whose service runs as a process of its own.
struct Club {
    database: TestDatabase,
    program: Program,
    account: AccountId,
    key: String,
    stripe: FakeStripe,
}

impl Club {
    async fn new(engine: Engine) -> Option<Self> {
        let database = TestDatabase::new(engine).await?;
        let stripe = FakeStripe::start().await;
        let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
            .flag("--database", &database.url)
            .variable("TOUCHLINE_STRIPE_SECRET_KEY", KEY)
            .variable("TOUCHLINE_STRIPE_WEBHOOK_SECRET", SECRET)
            .variable("TOUCHLINE_STRIPE_URL", &stripe.url());
        let created = program.json(&["account", "create", "--name", "Harbour", "--tier", "league"]);
        let account = created["account"]["id"].as_str().unwrap().to_owned();
        let scopes = "orders:read,orders:write";
        let args = ["key", "create", "--account", &account, "--name", "k", "--scopes", scopes];
        let created = program.json(&args);
        let key = created["key"]["value"].as_str().unwrap().to_owned();
        Some(Self { database, program, account: account.parse().unwrap(), key, stripe })
    }

    fn client(&self, service: &Service) -> Client {
        Client::new(service.address, Some(&self.key))
    }

    /// Runs `act` while the account's write lock is held, and kills the service once `is_done` shows that the
    /// provider has done its part.
    async fn crash_during(
        &self,
        mut service: Service,
        is_done: impl Fn() -> bool,
        act: impl AsyncFnOnce(),
    ) {
        let db = self.database.open(Clock::system());
        let (locked_tx, locked_rx) = tokio::sync::oneshot::channel();
        let (release, released) = mpsc::channel::<()>();
        let lock = db.write(Scope::account(self.account, "test"), move |_| {
            locked_tx.send(()).unwrap();
            let _ = released.recv_timeout(Duration::from_secs(20));
            Ok::<_, store::Error>(())
        });
        let crash = async {
            locked_rx.await.unwrap();
            let watch = async {
                for _ in 0..400 {
                    if is_done() {
                        break;
                    }
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                assert!(is_done(), "the provider was asked");
                // By then the answer has arrived, and the commit waits for the lock.
                tokio::time::sleep(POLL_INTERVAL * 6).await;
                service.kill();
                release.send(()).unwrap();
            };
            tokio::join!(act(), watch);
        };
        let (unlocked, ()) = tokio::join!(lock, crash);
        unlocked.unwrap();
        tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    }

    fn request_count(&self, path: &str) -> usize {
        self.stripe.requests().iter().filter(|request| request.path.starts_with(path)).count()
    }
}

/// Waits until the order meets the condition.
async fn wait_for_order(client: &Client, order: &str, condition: impl Fn(&Value) -> bool) {
    for _ in 0..800 {
        if condition(client.get(order).await.ok().data()) {
            return;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    panic!("{}", client.get(order).await.text);
}

async fn check_payment_and_refund_survive_crashes(engine: Engine) {
    let Some(club) = Club::new(engine).await else { return };
    let service = club.program.serve(&[]);
    let client = club.client(&service);
    let shirt = json!({ "name": "Shirt", "price": 1250, "currency": "EUR" });
    let shirt = client.post("/products", shirt).await.created();
    let order = json!({ "buyer": { "name": "Ana" }, "lines": [{ "product_id": shirt.id(), "quantity": 1 }] });
    let order = format!("/orders/{}", client.post("/orders", order).await.created().id());
    client.post(&format!("{order}/checkout"), json!({})).await.created();
    let session = club.stripe.pay("cs_1");
    let (body, signature) =
        webhook_event("checkout.session.completed", &session, Clock::system().now());
    let hook = Client::new(service.address, None).with_header("Stripe-Signature", &signature);
    // The provider reports the payment and answers our query; then the service is killed.
    let calls = async || {
        hook.try_send("POST", "/stripe/webhook", Some(&body)).await;
    };
    let page = "/v1/checkout/sessions/";
    let before = club.request_count(page);
    club.crash_during(service, || club.request_count(page) > before, calls).await;
    let service = club.program.serve(&[]);
    let client = club.client(&service);
    wait_for_order(&client, &order, |order| order["status"] == "paid").await;
    assert_eq!(payments(&club, &order).await, 1);
    // The provider repeats the event, because it was never answered.
    let (body, signature) =
        webhook_event("checkout.session.completed", &session, Clock::system().now());
    let hook = Client::new(service.address, None).with_header("Stripe-Signature", &signature);
    hook.page("POST", "/stripe/webhook", Some(&body)).await.ok();
    assert_eq!(payments(&club, &order).await, 1);
    // The same for a refund: it is requested again, and made once. The service may request it before the lock is
    // held, so the provider doesn't answer until then.
    club.stripe.set_silent(true);
    client.post(&format!("{order}/refund"), json!({})).await.ok();
    let is_made = || !club.stripe.objects("re").is_empty();
    club.crash_during(service, is_made, async || club.stripe.set_silent(false)).await;
    let mut service = club.program.serve(&[]);
    for _ in 0..800 {
        if refunds(&club).await == ["succeeded"] {
            break;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    assert_eq!(refunds(&club).await, ["succeeded"]);
    assert_eq!(club.stripe.objects("re").len(), 1);
    service.kill();
    club.database.remove().await;
}

async fn payments(club: &Club, order: &str) -> usize {
    let subject = order.rsplit('/').next().unwrap().to_owned();
    let db = club.database.open(Clock::system());
    let query = db.read(Scope::account(club.account, "test"), move |db| {
        touchline::money::payment::find_by_subject(db, &subject)
    });
    let count = query.await.unwrap().len();
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    count
}

async fn refunds(club: &Club) -> Vec<String> {
    let db = club.database.open(Clock::system());
    let text = "select status from refund where account_id = :account order by id";
    let query = db.read(Scope::account(club.account, "test"), move |db| {
        db.all::<(String,)>(text, store::bind! {})
    });
    let statuses = query.await.unwrap().into_iter().map(|(status,)| status).collect();
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    statuses
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_recorded_once_after_a_crash_on_sqlite() {
    check_payment_and_refund_survive_crashes(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_recorded_once_after_a_crash_on_postgres() {
    check_payment_and_refund_survive_crashes(Engine::Postgres).await;
}
