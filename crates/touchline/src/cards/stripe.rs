//! Stripe: Checkout by redirect and refunds, over a thin client of our own.
//!
//! What changes something carries an `Idempotency-Key` made of our row's id, so it is asked again after faults
//! of the network without being done twice. The secret key stands in one header and nowhere else.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{HeaderName, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kit::Currency;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use super::minor;
use super::provider::{
    Asked, Disputed, NewPage, NewReturn, Outcome, Page, Progress, Provider, Refusal, Return,
    Returned, Whose,
};
use crate::config::{BaseUrl, Secret};
use crate::doorway::Doorway;
use crate::money::payment::Dispute;

/// How long asking may take, with all attempts.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long to wait before asking again.
const RETRIES: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_millis(800), Duration::from_secs(3)];
/// As much of an answer as is read.
const LARGEST: usize = 1024 * 1024;
/// How much of a reason is worth keeping.
const REASON: usize = 300;
/// The version of Stripe's API that this is written for, whatever the account's own is.
const VERSION: HeaderValue = HeaderValue::from_static("2024-06-20");
const AGENT: HeaderValue = HeaderValue::from_static("Touchline/1");
const STRIPE_VERSION: HeaderName = HeaderName::from_static("stripe-version");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Stripe, as the settings name it.
pub struct Stripe {
    pool: Pool<Doorway, Full<Bytes>>,
    url: String,
    key: Secret,
    patience: Duration,
}

type Form<'a> = [(&'a str, String)];

impl Stripe {
    /// The client for an account of Stripe's.
    pub fn new(url: &BaseUrl, key: &Secret) -> Result<Self, String> {
        let tls = TlsConnector::from(Arc::new(store::tls::trusting(None)?));
        let pool = Pool::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .build(Doorway { guard: None, tls, patience: PATIENCE });
        Ok(Self { pool, url: url.as_str().to_owned(), key: key.clone(), patience: PATIENCE })
    }

    /// Asks, and asks again where that may help and can do no harm.
    async fn ask(&self, call: Call<'_>) -> Result<Value, Refusal> {
        let until = Instant::now() + self.patience;
        for wait in RETRIES {
            match self.attempt(&call, until).await {
                Err(Refusal::Later(_)) if Instant::now() + wait < until => {
                    tokio::time::sleep(wait).await;
                }
                answered => return answered,
            }
        }
        self.attempt(&call, until).await
    }

    async fn attempt(&self, call: &Call<'_>, until: Instant) -> Result<Value, Refusal> {
        let later = |why: &str| Refusal::Later(why.to_owned());
        let request = self.request(call).ok_or_else(|| later("Stripe's address is not one."))?;
        let answered = timeout_at(until, self.pool.request(request)).await;
        let slow = |_| later("Stripe took too long to answer.");
        let response =
            answered.map_err(slow)?.map_err(|_| later("Stripe could not be reached."))?;
        let status = response.status();
        let read = Limited::new(response.into_body(), LARGEST).collect();
        let body = timeout_at(until, read).await.map_err(slow)?;
        let body = body.map_err(|_| later("Stripe's answer broke off or was too long."))?;
        let value: Option<Value> = serde_json::from_slice(&body.to_bytes()).ok();
        match value {
            Some(value) if status.is_success() => Ok(value),
            None if status.is_success() => Err(later("Stripe's answer could not be read.")),
            value => Err(self.refusal(status, &value.unwrap_or_default())),
        }
    }

    fn request(&self, call: &Call<'_>) -> Option<Request<Full<Bytes>>> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(call.form).finish();
        let method = if call.key.is_some() { Method::POST } else { Method::GET };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{}", self.url, call.path))
            .body(Full::new(Bytes::from(body)))
            .ok()?;
        let headers = request.headers_mut();
        let mut secret = HeaderValue::try_from(format!("Bearer {}", self.key.reveal())).ok()?;
        secret.set_sensitive(true);
        headers.insert(AUTHORIZATION, secret);
        headers.insert(STRIPE_VERSION, VERSION);
        headers.insert(USER_AGENT, AGENT);
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(key) = &call.key {
            let form = HeaderValue::from_static("application/x-www-form-urlencoded");
            headers.insert(CONTENT_TYPE, form);
            headers.insert(IDEMPOTENCY_KEY, HeaderValue::try_from(key).ok()?);
        }
        Some(request)
    }

    /// What a refusal means for us, in words that tell no secret.
    fn refusal(&self, status: StatusCode, body: &Value) -> Refusal {
        let said = |name: &str| body["error"][name].as_str().unwrap_or_default();
        let message: String = said("message").chars().take(REASON).collect();
        let message = if message.contains(self.key.reveal()) { String::new() } else { message };
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Refusal::Later("Stripe does not accept our key.".to_owned())
            }
            // Another of our requests with this key is under way, or we ask too often.
            StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => {
                Refusal::Later(format!("Stripe is busy ({status})."))
            }
            status if status.is_client_error() => {
                Refusal::Never(format!("{message} ({})", said("code")).trim().to_owned())
            }
            status => Refusal::Later(format!("Stripe failed ({status}).")),
        }
    }
}

/// One thing that is asked.
struct Call<'a> {
    path: String,
    form: &'a Form<'a>,
    /// By which asking again is known as such. Looking needs none.
    key: Option<String>,
}

impl Call<'_> {
    fn look(path: String) -> Self {
        Self { path, form: &[], key: None }
    }
}

impl Provider for Stripe {
    fn origin(&self) -> &'static str {
        "https://checkout.stripe.com"
    }

    fn open<'a>(&'a self, page: &'a NewPage) -> Asked<'a, Page> {
        Box::pin(async move {
            let form = form_of_page(page)?;
            let key = Some(page.checkout.to_string());
            let path = "/v1/checkout/sessions".to_owned();
            read_page(&self.ask(Call { path, form: &form, key }).await?)
        })
    }

    fn look<'a>(&'a self, id: &'a str) -> Asked<'a, Page> {
        Box::pin(async move {
            let path = format!("/v1/checkout/sessions/{}", name(id)?);
            read_page(&self.ask(Call::look(path)).await?)
        })
    }

    fn give_back<'a>(&'a self, money: &'a NewReturn) -> Asked<'a, Return> {
        Box::pin(async move {
            let form = [
                (kind_of(&money.payment), money.payment.clone()),
                ("amount", counted(money.currency, money.amount)?),
                ("metadata[account]", money.account.to_string()),
                ("metadata[refund]", money.refund.to_string()),
            ];
            let key = Some(money.refund.to_string());
            let path = "/v1/refunds".to_owned();
            read_return(&self.ask(Call { path, form: &form, key }).await?)
        })
    }

    fn look_at_return<'a>(&'a self, id: &'a str) -> Asked<'a, Return> {
        Box::pin(async move {
            let path = format!("/v1/refunds/{}", name(id)?);
            read_return(&self.ask(Call::look(path)).await?)
        })
    }

    // A page holds a hundred, which is more than anybody gives back of one payment.
    fn returns_of<'a>(&'a self, payment: &'a str) -> Asked<'a, Vec<Returned>> {
        Box::pin(async move {
            let payment = name(payment)?;
            let path = format!("/v1/refunds?{}={payment}&limit=100", kind_of(payment));
            let all = self.ask(Call::look(path)).await?;
            all["data"].as_array().into_iter().flatten().map(read_returned).collect()
        })
    }

    fn whose<'a>(&'a self, payment: &'a str) -> Asked<'a, Option<Whose>> {
        Box::pin(async move {
            let payment = name(payment)?;
            let path = format!("/v1/{}s/{payment}", kind_of(payment));
            Ok(Whose::read(&self.ask(Call::look(path)).await?))
        })
    }

    fn look_at_dispute<'a>(&'a self, id: &'a str) -> Asked<'a, Disputed> {
        Box::pin(async move {
            let found = self.ask(Call::look(format!("/v1/disputes/{}", name(id)?))).await?;
            let dispute = match found["status"].as_str() {
                // The bank only asked, and has let it be.
                Some("won" | "warning_closed") => Dispute::Won,
                Some("lost") => Dispute::Lost,
                Some(_) => Dispute::Open,
                None => return Err(unreadable("a dispute")),
            };
            Ok(Disputed { payment: found["payment_intent"].as_str().map(str::to_owned), dispute })
        })
    }
}

fn form_of_page(page: &NewPage) -> Result<Vec<(&'static str, String)>, Refusal> {
    let (account, checkout) = (page.account.to_string(), page.checkout.to_string());
    let item = "line_items[0][price_data][unit_amount]";
    Ok(vec![
        ("mode", "payment".to_owned()),
        ("payment_method_types[0]", "card".to_owned()),
        ("line_items[0][quantity]", "1".to_owned()),
        ("line_items[0][price_data][currency]", page.currency.code().to_lowercase()),
        (item, counted(page.currency, page.amount)?),
        ("line_items[0][price_data][product_data][name]", page.title.clone()),
        ("success_url", page.done.clone()),
        ("cancel_url", page.back.clone()),
        ("expires_at", page.expires_at.seconds().to_string()),
        ("client_reference_id", checkout.clone()),
        ("metadata[account]", account.clone()),
        ("metadata[checkout]", checkout.clone()),
        ("payment_intent_data[description]", page.title.clone()),
        ("payment_intent_data[metadata][account]", account),
        ("payment_intent_data[metadata][checkout]", checkout),
    ])
}

fn counted(currency: Currency, amount: i64) -> Result<String, Refusal> {
    let code = currency.code();
    let unfit = || Refusal::Never(format!("This amount of {code} cannot be paid by card."));
    minor::told(currency, amount).map(|amount| amount.to_string()).ok_or_else(unfit)
}

/// A name of Stripe's that can stand in an address.
fn name(id: &str) -> Result<&str, Refusal> {
    let plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let odd = || Refusal::Never("This is not a name that Stripe gives.".to_owned());
    (plain && !id.is_empty()).then_some(id).ok_or_else(odd)
}

fn kind_of(payment: &str) -> &'static str {
    if payment.starts_with("ch_") { "charge" } else { "payment_intent" }
}

fn read_page(session: &Value) -> Result<Page, Refusal> {
    let text = |name: &str| session[name].as_str();
    let id = text("id").ok_or_else(|| unreadable("a page"))?;
    let progress = match (text("payment_status"), text("status")) {
        (Some("paid"), _) => Progress::Paid,
        (_, Some("expired")) => Progress::Expired,
        _ => Progress::Open,
    };
    let money = read_money(session, "amount_total");
    let payment = text("payment_intent").or_else(|| session["payment_intent"]["id"].as_str());
    let own = &session["metadata"];
    Ok(Page {
        id: id.to_owned(),
        url: text("url").map(str::to_owned),
        progress,
        account: own["account"].as_str().and_then(|id| id.parse().ok()),
        checkout: own["checkout"].as_str().and_then(|id| id.parse().ok()),
        money,
        payment: payment.map(str::to_owned),
    })
}

fn read_money(object: &Value, name: &str) -> Option<(Currency, i64)> {
    let currency = object["currency"].as_str()?.to_uppercase().parse::<Currency>().ok()?;
    Some((currency, minor::heard(currency, object[name].as_i64()?)?))
}

fn read_returned(refund: &Value) -> Result<Returned, Refusal> {
    let own = refund["metadata"]["refund"].as_str();
    Ok(Returned {
        back: read_return(refund)?,
        refund: own.and_then(|id| id.parse().ok()),
        money: read_money(refund, "amount"),
    })
}

fn read_return(refund: &Value) -> Result<Return, Refusal> {
    let id = refund["id"].as_str().ok_or_else(|| unreadable("a refund"))?;
    let outcome = match refund["status"].as_str() {
        Some("succeeded") => Outcome::Done,
        Some(ended @ ("failed" | "canceled")) => {
            Outcome::Failed(refund["failure_reason"].as_str().unwrap_or(ended).to_owned())
        }
        _ => Outcome::Pending,
    };
    Ok(Return { id: id.to_owned(), outcome })
}

fn unreadable(what: &str) -> Refusal {
    Refusal::Later(format!("Stripe's answer is not {what}."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_is_read_with_what_we_gave_it() {
        let page = read_page(&json!({
            "id": "cs_1", "status": "complete", "payment_status": "paid", "currency": "eur",
            "amount_total": 1050, "payment_intent": { "id": "pi_1" }, "url": null,
        }));
        let page = page.unwrap();
        assert_eq!((page.progress, page.payment.as_deref()), (Progress::Paid, Some("pi_1")));
        assert_eq!(page.money, Some(("EUR".parse().unwrap(), 1050)));
        assert!(page.account.is_none() && page.url.is_none());
        assert!(read_page(&json!({ "object": "list" })).is_err());
    }

    #[test]
    fn only_plain_names_stand_in_addresses() {
        assert!(name("cs_test_a1B2").is_ok());
        for odd in ["", "../refunds", "cs_1?x=1", "cs_1/expire", "cs 1", "cs_é"] {
            assert!(name(odd).is_err(), "{odd}");
        }
    }
}
