//! A fake Stripe server on a real socket, with the part of the API that we use. Unlike third-party fakes it
//! implements idempotency keys, can fail before or after it has processed a request, and lets tests choose the
//! status of refunds.

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

/// The API key and the webhook secret that it shares with the service.
pub const KEY: &str = "sk_test_harbour";
pub const SECRET: &str = "whsec_harbour";

/// A fault to inject into one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Answers 500 without processing the request.
    ServerError,
    /// Processes the request, then drops the connection without an answer.
    DropConnection,
    /// Processes the request, then answers 500.
    ProcessThenServerError,
    /// Answers 400, a permanent error.
    Reject,
}

/// A request that the server received.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    pub method: Method,
    pub path: String,
    pub key: Option<String>,
    pub version: Option<String>,
    pub form: BTreeMap<String, String>,
}

#[derive(Default)]
struct State {
    requests: Vec<RecordedRequest>,
    faults: VecDeque<Fault>,
    /// The form and the response of each idempotency key.
    keys: BTreeMap<String, (BTreeMap<String, String>, Value)>,
    objects: BTreeMap<String, Value>,
    /// The status of new refunds.
    refund_status: Option<&'static str>,
    /// The delay between processing a request and answering it.
    delay: Duration,
    /// Whether responses are withheld.
    silent: bool,
}

/// The fake server. Dropping it stops it.
pub struct FakeStripe {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
    serving: JoinHandle<()>,
}

impl FakeStripe {
    /// Starts a server on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        let serving = tokio::task::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = shared.clone();
                tokio::task::spawn(async move {
                    let service = service_fn(|request| answer(&state, request));
                    let connection = http1::Builder::new();
                    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { address, state, serving }
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Changes settings to use this server.
    pub fn configure(&self, config: &mut Config) {
        configure(config, &self.url());
    }

    /// Injects faults, one into each of the next requests.
    pub fn inject_faults(&self, faults: &[Fault]) {
        self.state.lock().unwrap().faults.extend(faults);
    }

    /// Delays all further responses.
    pub fn set_delay(&self, delay: Duration) {
        self.state.lock().unwrap().delay = delay;
    }

    /// While silent, requests are processed but responses are withheld.
    pub fn set_silent(&self, silent: bool) {
        self.state.lock().unwrap().silent = silent;
    }

    /// Sets the status of new refunds.
    pub fn set_refund_status(&self, status: &'static str) {
        self.state.lock().unwrap().refund_status = Some(status);
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.state.lock().unwrap().requests.clone()
    }

    /// All objects of a kind, by id prefix such as `cs` or `re`.
    pub fn objects(&self, kind: &str) -> Vec<Value> {
        let state = self.state.lock().unwrap();
        let prefix = format!("{kind}_");
        state
            .objects
            .iter()
            .filter(|(id, _)| id.starts_with(&prefix))
            .map(|(_, object)| object.clone())
            .collect()
    }

    /// Changes fields of an object, and returns the changed object.
    #[track_caller]
    pub fn change(&self, id: &str, fields: &Value) -> Value {
        let mut state = self.state.lock().unwrap();
        let object = state.objects.get_mut(id).expect("an object with this id");
        for (name, value) in fields.as_object().unwrap() {
            object[name] = value.clone();
        }
        object.clone()
    }

    /// Completes a checkout session with a payment.
    pub fn pay(&self, id: &str) -> Value {
        let intent = id.replace("cs_", "pi_");
        let paid = json!({ "status": "complete", "payment_status": "paid", "url": null,
            "payment_intent": intent });
        self.change(id, &paid)
    }

    /// Refunds part of a payment, like a refund in Stripe's dashboard.
    pub fn refund(&self, payment: &str, amount: i64, status: &str) -> Value {
        let mut state = self.state.lock().unwrap();
        let (id, currency) = (format!("re_{}", state.objects.len() + 1), state.currency(payment));
        state.save(json!({ "id": id, "object": "refund", "status": status, "amount": amount,
            "currency": currency, "payment_intent": payment, "metadata": {} }))
    }

    /// Opens a dispute about a payment, as the payer's bank would.
    pub fn dispute(&self, payment: &str) -> Value {
        let mut state = self.state.lock().unwrap();
        let id = format!("dp_{}", state.objects.len() + 1);
        state.save(json!({ "id": id, "object": "dispute", "status": "needs_response",
            "payment_intent": payment, "metadata": {} }))
    }
}

impl Drop for FakeStripe {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Changes settings to use a Stripe server at this URL.
pub fn configure(config: &mut Config, url: &str) {
    let mut source = Source::default();
    for (name, value) in
        [("stripe_secret_key", KEY), ("stripe_webhook_secret", SECRET), ("stripe_url", url)]
    {
        source.flags.insert(name.to_owned(), value.to_owned());
    }
    let loaded = Config::load(&source).unwrap();
    config.stripe_secret_key = loaded.stripe_secret_key;
    config.stripe_webhook_secret = loaded.stripe_webhook_secret;
    config.stripe_url = loaded.stripe_url;
}

/// The body and the signature of a webhook event.
pub fn webhook_event(kind: &str, object: &Value, now: Timestamp) -> (String, String) {
    let body =
        json!({ "id": "evt_1", "object": "event", "type": kind, "data": { "object": object } });
    let body = body.to_string();
    let signature = sign(&body, SECRET, now);
    (body, signature)
}

/// Signs a body like Stripe does.
pub fn sign(body: &str, secret: &str, now: Timestamp) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{}.{body}", now.seconds()).as_bytes());
    let bytes = mac.finalize().into_bytes();
    let hex = bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    format!("t={},v1={hex}", now.seconds())
}

async fn answer(
    state: &Mutex<State>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Box<dyn std::error::Error + Send + Sync>> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let header =
        |name: &str| parts.headers.get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
    let received = RecordedRequest {
        path: parts.uri.path().to_owned(),
        key: header("idempotency-key"),
        version: header("stripe-version"),
        form: form_urlencoded::parse(&body).into_owned().collect(),
        method: parts.method,
    };
    let authorized = header("authorization").as_deref() == Some(&format!("Bearer {KEY}"));
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let (fault, (status, value), delay) = {
        let mut state = state.lock().unwrap();
        state.requests.push(received.clone());
        let fault = state.faults.pop_front();
        let answer = match fault {
            _ if !authorized => (401, error_body("Invalid API Key provided")),
            Some(Fault::ServerError) => (500, error_body("Internal error")),
            Some(Fault::Reject) => (400, error_body("No such object")),
            Some(Fault::DropConnection | Fault::ProcessThenServerError) | None => {
                state.handle(&received, &query)
            }
        };
        (fault, answer, state.delay)
    };
    tokio::time::sleep(delay).await;
    while state.lock().unwrap().silent {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    if fault == Some(Fault::DropConnection) {
        return Err("the connection is dropped on purpose".into());
    }
    let status = if fault == Some(Fault::ProcessThenServerError) { 500 } else { status };
    let mut response = Response::new(Full::new(Bytes::from(value.to_string())));
    *response.status_mut() = status.try_into().unwrap();
    Ok(response)
}

fn error_body(message: &str) -> Value {
    json!({ "error": { "type": "invalid_request_error", "code": "resource_missing", "message": message } })
}

impl State {
    fn handle(&mut self, request: &RecordedRequest, query: &str) -> (u16, Value) {
        if request.method == Method::GET {
            return self.get(&request.path, query);
        }
        let Some(key) = request.key.clone() else {
            return (400, error_body("Idempotency-Key is missing"));
        };
        if let Some((form, response)) = self.keys.get(&key) {
            return if *form == request.form {
                (200, response.clone())
            } else {
                (400, error_body("Keys can only be used with the same parameters"))
            };
        }
        let number = self.objects.len() + 1;
        let field = |name: &str| request.form.get(name).cloned();
        let metadata = |name: &str| field(&format!("metadata[{name}]"));
        let object = match request.path.as_str() {
            "/v1/checkout/sessions" => {
                let amount = field("line_items[0][price_data][unit_amount]").unwrap();
                let id = format!("cs_{number}");
                json!({ "id": id, "object": "checkout.session", "status": "open",
                    "payment_status": "unpaid", "url": format!("https://pay.example/{id}"),
                    "amount_total": amount.parse::<i64>().unwrap(),
                    "currency": field("line_items[0][price_data][currency]"),
                    "payment_intent": null,
                    "metadata": { "account": metadata("account"), "checkout": metadata("checkout") } })
            }
            "/v1/refunds" => {
                let status = self.refund_status.unwrap_or("succeeded");
                json!({ "id": format!("re_{number}"), "object": "refund", "status": status,
                    "amount": field("amount").unwrap().parse::<i64>().unwrap(),
                    "currency": field("payment_intent").and_then(|id| self.currency(&id)),
                    "payment_intent": field("payment_intent"),
                    "metadata": { "account": metadata("account"), "refund": metadata("refund") } })
            }
            _ => return (404, error_body("Unrecognized request URL")),
        };
        let object = self.save(object);
        self.keys.insert(key, (request.form.clone(), object.clone()));
        (200, object)
    }

    fn save(&mut self, object: Value) -> Value {
        self.objects.insert(object["id"].as_str().unwrap().to_owned(), object.clone());
        object
    }

    /// The checkout session of a payment.
    fn session_of(&self, payment: &str) -> Option<&Value> {
        self.objects.values().find(|object| {
            object["object"] == "checkout.session" && object["payment_intent"] == payment
        })
    }

    fn currency(&self, payment: &str) -> Option<Value> {
        self.session_of(payment).map(|session| session["currency"].clone())
    }

    fn get(&self, path: &str, query: &str) -> (u16, Value) {
        if path == "/v1/refunds" {
            let payment = query.split('&').find_map(|part| part.strip_prefix("payment_intent="));
            let all = self.objects.values().filter(|object| object["object"] == "refund");
            let refunds: Vec<_> =
                all.filter(|refund| refund["payment_intent"].as_str() == payment).collect();
            return (200, json!({ "object": "list", "data": refunds }));
        }
        let id = path.rsplit('/').next().unwrap_or_default();
        if let Some(session) = self.session_of(id) {
            return (200, json!({ "id": id, "metadata": session["metadata"] }));
        }
        self.objects
            .get(id)
            .map_or((404, error_body("No such object")), |object| (200, object.clone()))
    }
}
