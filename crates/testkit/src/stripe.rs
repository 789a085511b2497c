//! A payment provider that speaks as much of Stripe's language as we do, on a real socket, for what no stand-in
//! of others can do: it remembers idempotency keys, breaks off before or after it has done what it was asked,
//! and has refunds end as a story wants.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kit::Timestamp;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use touchline::config::{Config, Source};

/// The key and the secret that it shares with the service.
pub const KEY: &str = "sk_test_harbour";
pub const SECRET: &str = "whsec_harbour";

/// How it misbehaves, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It answers 500 and has done nothing.
    Fails,
    /// It does what it was asked and says nothing.
    HangsUp,
    /// It does what it was asked, and answers 500.
    DoesAndFails,
    /// It refuses, and will always do so.
    Refuses,
}

/// What it was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: Method,
    pub path: String,
    pub key: Option<String>,
    pub version: Option<String>,
    pub form: BTreeMap<String, String>,
}

#[derive(Default)]
struct Book {
    asked: Vec<Asked>,
    faults: VecDeque<Fault>,
    /// What was asked under a key, and what was answered.
    keys: BTreeMap<String, (BTreeMap<String, String>, Value)>,
    objects: BTreeMap<String, Value>,
    /// How refunds are when they are made.
    refunds: Option<&'static str>,
    /// How long it takes to answer, once it has done what it was asked.
    slow: Duration,
    /// Whether it keeps its answers to itself for now.
    silent: bool,
}

/// The provider, which stops when it is dropped.
pub struct Stripe {
    pub address: SocketAddr,
    book: Arc<Mutex<Book>>,
    serving: JoinHandle<()>,
}

impl Stripe {
    /// Starts one.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let book = Arc::new(Mutex::new(Book::default()));
        let shared = book.clone();
        let serving = tokio::task::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let book = shared.clone();
                tokio::task::spawn(async move {
                    let service = service_fn(|request| answer(&book, request));
                    let connection = http1::Builder::new();
                    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { address, book, serving }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Settings that use it.
    pub fn set_up(&self, config: &mut Config) {
        set_up(config, &self.url());
    }

    /// Misbehaves like this, one fault for each of the next requests.
    pub fn faults(&self, faults: &[Fault]) {
        self.book.lock().unwrap().faults.extend(faults);
    }

    /// Takes this long to answer from now on.
    pub fn slow(&self, slow: Duration) {
        self.book.lock().unwrap().slow = slow;
    }

    /// Does what it is asked, but answers only when it is silent no more.
    pub fn silent(&self, silent: bool) {
        self.book.lock().unwrap().silent = silent;
    }

    /// Refunds are made with this status from now on.
    pub fn refunds_are(&self, status: &'static str) {
        self.book.lock().unwrap().refunds = Some(status);
    }

    /// Everything it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.book.lock().unwrap().asked.clone()
    }

    /// Everything of a kind that was made, such as `cs` or `re`.
    pub fn made(&self, kind: &str) -> Vec<Value> {
        let book = self.book.lock().unwrap();
        let start = format!("{kind}_");
        book.objects
            .iter()
            .filter(|(id, _)| id.starts_with(&start))
            .map(|(_, o)| o.clone())
            .collect()
    }

    /// Changes members of an object, and says what it is then.
    #[track_caller]
    pub fn change(&self, id: &str, members: &Value) -> Value {
        let mut book = self.book.lock().unwrap();
        let object = book.objects.get_mut(id).expect("an object of that name");
        for (name, value) in members.as_object().unwrap() {
            object[name] = value.clone();
        }
        object.clone()
    }

    /// Somebody pays on this page.
    pub fn pay(&self, id: &str) -> Value {
        let intent = id.replace("cs_", "pi_");
        let paid = json!({ "status": "complete", "payment_status": "paid", "url": null,
            "payment_intent": intent });
        self.change(id, &paid)
    }

    /// Somebody gives back so much of a payment in the provider's dashboard.
    pub fn give_back(&self, payment: &str, amount: i64, status: &str) -> Value {
        let mut book = self.book.lock().unwrap();
        let (id, currency) = (format!("re_{}", book.objects.len() + 1), book.currency(payment));
        book.keep(json!({ "id": id, "object": "refund", "status": status, "amount": amount,
            "currency": currency, "payment_intent": payment, "metadata": {} }))
    }

    /// The payer's bank asks for a payment back.
    pub fn dispute(&self, payment: &str) -> Value {
        let mut book = self.book.lock().unwrap();
        let id = format!("dp_{}", book.objects.len() + 1);
        book.keep(json!({ "id": id, "object": "dispute", "status": "needs_response",
            "payment_intent": payment, "metadata": {} }))
    }
}

impl Drop for Stripe {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Settings that use a provider at this address.
pub fn set_up(config: &mut Config, url: &str) {
    let mut source = Source::default();
    for (name, value) in
        [("stripe_secret_key", KEY), ("stripe_webhook_secret", SECRET), ("stripe_url", url)]
    {
        source.flags.insert(name.to_owned(), value.to_owned());
    }
    let read = Config::load(&source).unwrap();
    config.stripe_secret_key = read.stripe_secret_key;
    config.stripe_webhook_secret = read.stripe_webhook_secret;
    config.stripe_url = read.stripe_url;
}

/// The body of a call about something that happened, and its signature.
pub fn call(kind: &str, object: &Value, now: Timestamp) -> (String, String) {
    let body =
        json!({ "id": "evt_1", "object": "event", "type": kind, "data": { "object": object } });
    let body = body.to_string();
    let signature = signed(&body, SECRET, now);
    (body, signature)
}

/// The signature of a body.
pub fn signed(body: &str, secret: &str, now: Timestamp) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{}.{body}", now.seconds()).as_bytes());
    let bytes = mac.finalize().into_bytes();
    let hex = bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    format!("t={},v1={hex}", now.seconds())
}

async fn answer(
    book: &Mutex<Book>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Box<dyn std::error::Error + Send + Sync>> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let header =
        |name: &str| parts.headers.get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
    let asked = Asked {
        path: parts.uri.path().to_owned(),
        key: header("idempotency-key"),
        version: header("stripe-version"),
        form: form_urlencoded::parse(&body).into_owned().collect(),
        method: parts.method,
    };
    let known = header("authorization").as_deref() == Some(&format!("Bearer {KEY}"));
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let (fault, (status, value), slow) = {
        let mut book = book.lock().unwrap();
        book.asked.push(asked.clone());
        let fault = book.faults.pop_front();
        let answer = match fault {
            _ if !known => (401, refusal("Invalid API Key provided")),
            Some(Fault::Fails) => (500, refusal("Something is wrong")),
            Some(Fault::Refuses) => (400, refusal("No such thing")),
            Some(Fault::HangsUp | Fault::DoesAndFails) | None => book.follow(&asked, &query),
        };
        (fault, answer, book.slow)
    };
    tokio::time::sleep(slow).await;
    while book.lock().unwrap().silent {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    if fault == Some(Fault::HangsUp) {
        return Err("hangs up".into());
    }
    let status = if fault == Some(Fault::DoesAndFails) { 500 } else { status };
    let mut response = Response::new(Full::new(Bytes::from(value.to_string())));
    *response.status_mut() = status.try_into().unwrap();
    Ok(response)
}

fn refusal(message: &str) -> Value {
    json!({ "error": { "type": "invalid_request_error", "code": "resource_missing", "message": message } })
}

impl Book {
    fn follow(&mut self, asked: &Asked, query: &str) -> (u16, Value) {
        if asked.method == Method::GET {
            return self.look(&asked.path, query);
        }
        let Some(key) = asked.key.clone() else { return (400, refusal("Send a key")) };
        if let Some((form, before)) = self.keys.get(&key) {
            return if *form == asked.form {
                (200, before.clone())
            } else {
                (400, refusal("Keys can only be used with the same parameters"))
            };
        }
        let number = self.objects.len() + 1;
        let member = |name: &str| asked.form.get(name).cloned();
        let part = |name: &str| member(&format!("metadata[{name}]"));
        let made = match asked.path.as_str() {
            "/v1/checkout/sessions" => {
                let amount = member("line_items[0][price_data][unit_amount]").unwrap();
                let id = format!("cs_{number}");
                json!({ "id": id, "object": "checkout.session", "status": "open",
                    "payment_status": "unpaid", "url": format!("https://pay.example/{id}"),
                    "amount_total": amount.parse::<i64>().unwrap(),
                    "currency": member("line_items[0][price_data][currency]"),
                    "payment_intent": null,
                    "metadata": { "account": part("account"), "checkout": part("checkout") } })
            }
            "/v1/refunds" => {
                let status = self.refunds.unwrap_or("succeeded");
                json!({ "id": format!("re_{number}"), "object": "refund", "status": status,
                    "amount": member("amount").unwrap().parse::<i64>().unwrap(),
                    "currency": member("payment_intent").and_then(|id| self.currency(&id)),
                    "payment_intent": member("payment_intent"),
                    "metadata": { "account": part("account"), "refund": part("refund") } })
            }
            _ => return (404, refusal("There is nothing here")),
        };
        let made = self.keep(made);
        self.keys.insert(key, (asked.form.clone(), made.clone()));
        (200, made)
    }

    fn keep(&mut self, object: Value) -> Value {
        self.objects.insert(object["id"].as_str().unwrap().to_owned(), object.clone());
        object
    }

    /// The page on which a payment was made.
    fn page_of(&self, payment: &str) -> Option<&Value> {
        self.objects.values().find(|object| {
            object["object"] == "checkout.session" && object["payment_intent"] == payment
        })
    }

    fn currency(&self, payment: &str) -> Option<Value> {
        self.page_of(payment).map(|page| page["currency"].clone())
    }

    fn look(&self, path: &str, query: &str) -> (u16, Value) {
        if path == "/v1/refunds" {
            let wanted = query.split('&').find_map(|part| part.strip_prefix("payment_intent="));
            let all = self.objects.values().filter(|object| object["object"] == "refund");
            let of: Vec<_> = all.filter(|one| one["payment_intent"].as_str() == wanted).collect();
            return (200, json!({ "object": "list", "data": of }));
        }
        let id = path.rsplit('/').next().unwrap_or_default();
        if let Some(page) = self.page_of(id) {
            return (200, json!({ "id": id, "metadata": page["metadata"] }));
        }
        self.objects
            .get(id)
            .map_or((404, refusal("No such object")), |object| (200, object.clone()))
    }
}
