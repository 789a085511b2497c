//! Stories about a power cut between the payment provider's answer and our commit. The provider is one of ours,
//! as no stand-in of others remembers what it was asked under a key.

use std::sync::mpsc;
use std::time::Duration;

use kit::Clock;
use store::Scope;
use testkit::process::{Program, Service};
use testkit::stripe::{KEY, SECRET, call};
use testkit::{Client, Engine, Stripe, TestDatabase, Value, json};
use touchline::ids::AccountId;

const MOMENT: Duration = Duration::from_millis(50);

/// A club whose service runs as a process of its own.
struct Club {
    database: TestDatabase,
    program: Program,
    account: AccountId,
    key: String,
    stripe: Stripe,
}

impl Club {
    async fn new(engine: Engine) -> Option<Self> {
        let database = TestDatabase::new(engine).await?;
        let stripe = Stripe::start().await;
        let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
            .flag("--database", &database.url)
            .variable("TOUCHLINE_STRIPE_SECRET_KEY", KEY)
            .variable("TOUCHLINE_STRIPE_WEBHOOK_SECRET", SECRET)
            .variable("TOUCHLINE_STRIPE_URL", &stripe.url());
        let made = program.json(&["account", "create", "--name", "Harbour", "--tier", "league"]);
        let account = made["account"]["id"].as_str().unwrap().to_owned();
        let scopes = "orders:read,orders:write";
        let words = ["key", "create", "--account", &account, "--name", "k", "--scopes", scopes];
        let made = program.json(&words);
        let key = made["key"]["value"].as_str().unwrap().to_owned();
        Some(Self { database, program, account: account.parse().unwrap(), key, stripe })
    }

    fn client(&self, service: &Service) -> Client {
        Client::new(service.address, Some(&self.key))
    }

    /// Lets `act` happen while nothing of the account can be committed, and pulls the plug once the provider has
    /// done what it was asked.
    async fn cut(&self, mut service: Service, is_done: impl Fn() -> bool, act: impl AsyncFnOnce()) {
        let db = self.database.open(Clock::system());
        let (held, is_held) = tokio::sync::oneshot::channel();
        let (release, released) = mpsc::channel::<()>();
        let lock = db.write(Scope::account(self.account, "test"), move |_| {
            held.send(()).unwrap();
            let _ = released.recv_timeout(Duration::from_secs(20));
            Ok::<_, store::Error>(())
        });
        let cut = async {
            is_held.await.unwrap();
            let watch = async {
                for _ in 0..400 {
                    if is_done() {
                        break;
                    }
                    tokio::time::sleep(MOMENT).await;
                }
                assert!(is_done(), "the provider was asked");
                // The answer is there by then, and the commit waits.
                tokio::time::sleep(MOMENT * 6).await;
                service.kill();
                release.send(()).unwrap();
            };
            tokio::join!(act(), watch);
        };
        let (unlocked, ()) = tokio::join!(lock, cut);
        unlocked.unwrap();
        tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    }

    fn asked(&self, path: &str) -> usize {
        self.stripe.asked().iter().filter(|asked| asked.path.starts_with(path)).count()
    }
}

/// Waits until an order is so.
async fn until(client: &Client, order: &str, fits: impl Fn(&Value) -> bool) {
    for _ in 0..800 {
        if fits(client.get(order).await.ok().data()) {
            return;
        }
        tokio::time::sleep(MOMENT).await;
    }
    panic!("{}", client.get(order).await.text);
}

async fn survives(engine: Engine) {
    let Some(club) = Club::new(engine).await else { return };
    let service = club.program.serve(&[]);
    let client = club.client(&service);
    let shirt = json!({ "name": "Shirt", "price": 1250, "currency": "EUR" });
    let shirt = client.post("/products", shirt).await.created();
    let order = json!({ "buyer": { "name": "Ana" }, "lines": [{ "product_id": shirt.id(), "quantity": 1 }] });
    let order = format!("/orders/{}", client.post("/orders", order).await.created().id());
    client.post(&format!("{order}/checkout"), json!({})).await.created();
    let session = club.stripe.pay("cs_1");
    let (body, signature) = call("checkout.session.completed", &session, Clock::system().now());
    let hook = Client::new(service.address, None).with("Stripe-Signature", &signature);
    // The provider says that it was paid, answers when it is asked, and then we are gone.
    let calls = async || {
        hook.try_send("POST", "/stripe/webhook", Some(&body)).await;
    };
    let page = "/v1/checkout/sessions/";
    let before = club.asked(page);
    club.cut(service, || club.asked(page) > before, calls).await;
    let service = club.program.serve(&[]);
    let client = club.client(&service);
    until(&client, &order, |order| order["status"] == "paid").await;
    assert_eq!(payments(&club, &order).await, 1);
    // The call comes again, as it was never answered.
    let (body, signature) = call("checkout.session.completed", &session, Clock::system().now());
    let hook = Client::new(service.address, None).with("Stripe-Signature", &signature);
    hook.page("POST", "/stripe/webhook", Some(&body)).await.ok();
    assert_eq!(payments(&club, &order).await, 1);
    // The same with what is given back: it is asked for again, and given back once.
    // The service sends it when it likes, perhaps before anything is held up: no answer comes until then.
    club.stripe.silent(true);
    client.post(&format!("{order}/refund"), json!({})).await.ok();
    let is_made = || !club.stripe.made("re").is_empty();
    club.cut(service, is_made, async || club.stripe.silent(false)).await;
    let mut service = club.program.serve(&[]);
    for _ in 0..800 {
        if refunds(&club).await == ["done"] {
            break;
        }
        tokio::time::sleep(MOMENT).await;
    }
    assert_eq!(refunds(&club).await, ["done"]);
    assert_eq!(club.stripe.made("re").len(), 1);
    service.kill();
    club.database.remove().await;
}

async fn payments(club: &Club, order: &str) -> usize {
    let subject = order.rsplit('/').next().unwrap().to_owned();
    let db = club.database.open(Clock::system());
    let look = db.read(Scope::account(club.account, "test"), move |db| {
        touchline::money::payment::of_subject(db, &subject)
    });
    let count = look.await.unwrap().len();
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    count
}

async fn refunds(club: &Club) -> Vec<String> {
    let db = club.database.open(Clock::system());
    let text = "select status from refund where account_id = :account order by id";
    let look = db.read(Scope::account(club.account, "test"), move |db| {
        db.all::<(String,)>(text, store::bind! {})
    });
    let found = look.await.unwrap().into_iter().map(|(status,)| status).collect();
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_entered_once_after_a_power_cut_on_sqlite() {
    survives(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_entered_once_after_a_power_cut_on_postgres() {
    survives(Engine::Postgres).await;
}
