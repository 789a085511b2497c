//! Stripe: hosted Checkout and refunds, with a minimal HTTP client.
//!
//! Requests that change something carry an `Idempotency-Key` derived from our row's ID, so they can be retried after
//! network errors. The secret key is only used in the `Authorization` header.

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

use super::provider::{
    CheckoutSession, Dispute, ListedRefund, NewProviderRefund, NewSession, PaymentOwner, Provider,
    ProviderDispute, ProviderError, ProviderFuture, ProviderRefund, RefundOutcome, SessionStatus,
};
use super::stripe_amount;
use crate::config::{BaseUrl, Secret};
use crate::outbound::Connector;

/// Time limit of a call, including retries.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Delays before each retry.
const RETRIES: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_millis(800), Duration::from_secs(3)];
/// Maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 1024 * 1024;
/// Maximum length of an error message that is kept, in characters.
const MAX_REASON_CHARS: usize = 300;
/// The Stripe API version that this client requires, regardless of the Stripe account's default.
const VERSION: HeaderValue = HeaderValue::from_static("2024-06-20");
const AGENT: HeaderValue = HeaderValue::from_static("Touchline/1");
const STRIPE_VERSION: HeaderName = HeaderName::from_static("stripe-version");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The Stripe client.
pub struct Stripe {
    pool: Pool<Connector, Full<Bytes>>,
    url: String,
    key: Secret,
}

type Form<'a> = [(&'a str, String)];

impl Stripe {
    /// Creates a client for the Stripe account of this key.
    pub fn new(url: &BaseUrl, key: &Secret) -> Result<Self, String> {
        let tls = TlsConnector::from(Arc::new(store::tls::client_config(None)?));
        let pool = Pool::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .build(Connector { guard: None, tls, timeout: TIMEOUT });
        Ok(Self { pool, url: url.as_str().to_owned(), key: key.clone() })
    }

    /// Sends a request and retries temporary failures. Safe because every write has an idempotency key.
    async fn send(&self, call: ApiCall<'_>) -> Result<Value, ProviderError> {
        let deadline = Instant::now() + TIMEOUT;
        for wait in RETRIES {
            match self.attempt(&call, deadline).await {
                Err(ProviderError::Retryable(_)) if Instant::now() + wait < deadline => {
                    tokio::time::sleep(wait).await;
                }
                result => return result,
            }
        }
        self.attempt(&call, deadline).await
    }

    async fn attempt(&self, call: &ApiCall<'_>, deadline: Instant) -> Result<Value, ProviderError> {
        let retryable = |reason: &str| ProviderError::Retryable(reason.to_owned());
        let request =
            self.request(call).ok_or_else(|| retryable("The Stripe URL is not valid."))?;
        let response = timeout_at(deadline, self.pool.request(request)).await;
        let timed_out = |_| retryable("Stripe did not respond in time.");
        let response =
            response.map_err(timed_out)?.map_err(|_| retryable("Stripe could not be reached."))?;
        let status = response.status();
        let read = Limited::new(response.into_body(), MAX_RESPONSE_BYTES).collect();
        let body = timeout_at(deadline, read).await.map_err(timed_out)?;
        let body = body.map_err(|_| retryable("Stripe's response was incomplete or too large."))?;
        let value: Option<Value> = serde_json::from_slice(&body.to_bytes()).ok();
        match value {
            Some(value) if status.is_success() => Ok(value),
            None if status.is_success() => Err(retryable("Stripe's response is not valid JSON.")),
            value => Err(self.classify_error(status, &value.unwrap_or_default())),
        }
    }

    fn request(&self, call: &ApiCall<'_>) -> Option<Request<Full<Bytes>>> {
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

    /// Classifies an error response. The message never contains the secret key.
    fn classify_error(&self, status: StatusCode, body: &Value) -> ProviderError {
        let field = |name: &str| body["error"][name].as_str().unwrap_or_default();
        let message: String = field("message").chars().take(MAX_REASON_CHARS).collect();
        let message = if message.contains(self.key.reveal()) { String::new() } else { message };
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                ProviderError::Retryable("Stripe rejected the API key.".to_owned())
            }
            // Another request with this idempotency key is in progress, or the rate limit is exceeded.
            StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => {
                ProviderError::Retryable(format!("Stripe is busy ({status})."))
            }
            status if status.is_client_error() => {
                ProviderError::Permanent(format!("{message} ({})", field("code")).trim().to_owned())
            }
            status => {
                ProviderError::Retryable(format!("Stripe responded with an error ({status})."))
            }
        }
    }
}

/// A request to the API.
struct ApiCall<'a> {
    path: String,
    form: &'a Form<'a>,
    /// Idempotency key of a POST request; `None` for a GET request.
    key: Option<String>,
}

impl ApiCall<'_> {
    fn get(path: String) -> Self {
        Self { path, form: &[], key: None }
    }
}

impl Provider for Stripe {
    fn origin(&self) -> &'static str {
        "https://checkout.stripe.com"
    }

    fn create_session<'a>(
        &'a self,
        session: &'a NewSession,
    ) -> ProviderFuture<'a, CheckoutSession> {
        Box::pin(async move {
            let form = session_form(session)?;
            let key = Some(session.checkout.to_string());
            let path = "/v1/checkout/sessions".to_owned();
            parse_session(&self.send(ApiCall { path, form: &form, key }).await?)
        })
    }

    fn get_session<'a>(&'a self, id: &'a str) -> ProviderFuture<'a, CheckoutSession> {
        Box::pin(async move {
            let path = format!("/v1/checkout/sessions/{}", check_id(id)?);
            parse_session(&self.send(ApiCall::get(path)).await?)
        })
    }

    fn create_refund<'a>(
        &'a self,
        new: &'a NewProviderRefund,
    ) -> ProviderFuture<'a, ProviderRefund> {
        Box::pin(async move {
            let form = [
                (payment_kind(&new.payment), new.payment.clone()),
                ("amount", format_amount(new.currency, new.amount)?),
                ("metadata[account]", new.account.to_string()),
                ("metadata[refund]", new.refund.to_string()),
            ];
            let key = Some(new.refund.to_string());
            let path = "/v1/refunds".to_owned();
            parse_refund(&self.send(ApiCall { path, form: &form, key }).await?)
        })
    }

    fn get_refund<'a>(&'a self, id: &'a str) -> ProviderFuture<'a, ProviderRefund> {
        Box::pin(async move {
            let path = format!("/v1/refunds/{}", check_id(id)?);
            parse_refund(&self.send(ApiCall::get(path)).await?)
        })
    }

    // Reads one page of 100 refunds, more than any payment has in practice.
    fn list_refunds<'a>(&'a self, payment: &'a str) -> ProviderFuture<'a, Vec<ListedRefund>> {
        Box::pin(async move {
            let payment = check_id(payment)?;
            let path = format!("/v1/refunds?{}={payment}&limit=100", payment_kind(payment));
            let list = self.send(ApiCall::get(path)).await?;
            list["data"].as_array().into_iter().flatten().map(parse_listed_refund).collect()
        })
    }

    fn get_payment_owner<'a>(
        &'a self,
        payment: &'a str,
    ) -> ProviderFuture<'a, Option<PaymentOwner>> {
        Box::pin(async move {
            let payment = check_id(payment)?;
            let path = format!("/v1/{}s/{payment}", payment_kind(payment));
            Ok(PaymentOwner::read(&self.send(ApiCall::get(path)).await?))
        })
    }

    fn get_dispute<'a>(&'a self, id: &'a str) -> ProviderFuture<'a, ProviderDispute> {
        Box::pin(async move {
            let object = self.send(ApiCall::get(format!("/v1/disputes/{}", check_id(id)?))).await?;
            let dispute = match object["status"].as_str() {
                // `warning_closed`: an inquiry that did not become a chargeback.
                Some("won" | "warning_closed") => Dispute::Won,
                Some("lost") => Dispute::Lost,
                Some(_) => Dispute::Open,
                None => return Err(unexpected_response("a dispute")),
            };
            Ok(ProviderDispute {
                payment: object["payment_intent"].as_str().map(str::to_owned),
                dispute,
            })
        })
    }
}

fn session_form(session: &NewSession) -> Result<Vec<(&'static str, String)>, ProviderError> {
    let (account, checkout) = (session.account.to_string(), session.checkout.to_string());
    let unit_amount = "line_items[0][price_data][unit_amount]";
    Ok(vec![
        ("mode", "payment".to_owned()),
        ("payment_method_types[0]", "card".to_owned()),
        ("line_items[0][quantity]", "1".to_owned()),
        ("line_items[0][price_data][currency]", session.currency.code().to_lowercase()),
        (unit_amount, format_amount(session.currency, session.amount)?),
        ("line_items[0][price_data][product_data][name]", session.title.clone()),
        ("success_url", session.success_url.clone()),
        ("cancel_url", session.cancel_url.clone()),
        ("expires_at", session.expires_at.seconds().to_string()),
        ("client_reference_id", checkout.clone()),
        ("metadata[account]", account.clone()),
        ("metadata[checkout]", checkout.clone()),
        ("payment_intent_data[description]", session.title.clone()),
        ("payment_intent_data[metadata][account]", account),
        ("payment_intent_data[metadata][checkout]", checkout),
    ])
}

fn format_amount(currency: Currency, amount: i64) -> Result<String, ProviderError> {
    let code = currency.code();
    let unsupported =
        || ProviderError::Permanent(format!("This amount of {code} cannot be paid by card."));
    stripe_amount::to_stripe(currency, amount)
        .map(|amount| amount.to_string())
        .ok_or_else(unsupported)
}

/// Checks that an ID of Stripe is safe to use in a URL path.
fn check_id(id: &str) -> Result<&str, ProviderError> {
    let url_safe = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let invalid = || ProviderError::Permanent("This is not a valid Stripe ID.".to_owned());
    (url_safe && !id.is_empty()).then_some(id).ok_or_else(invalid)
}

fn payment_kind(payment: &str) -> &'static str {
    if payment.starts_with("ch_") { "charge" } else { "payment_intent" }
}

fn parse_session(session: &Value) -> Result<CheckoutSession, ProviderError> {
    let text = |name: &str| session[name].as_str();
    let id = text("id").ok_or_else(|| unexpected_response("a checkout session"))?;
    let status = match (text("payment_status"), text("status")) {
        (Some("paid"), _) => SessionStatus::Paid,
        (_, Some("expired")) => SessionStatus::Expired,
        _ => SessionStatus::Open,
    };
    let money = parse_money(session, "amount_total");
    let payment = text("payment_intent").or_else(|| session["payment_intent"]["id"].as_str());
    let metadata = &session["metadata"];
    Ok(CheckoutSession {
        id: id.to_owned(),
        url: text("url").map(str::to_owned),
        status,
        account: metadata["account"].as_str().and_then(|id| id.parse().ok()),
        checkout: metadata["checkout"].as_str().and_then(|id| id.parse().ok()),
        money,
        payment: payment.map(str::to_owned),
    })
}

fn parse_money(object: &Value, name: &str) -> Option<(Currency, i64)> {
    let currency = object["currency"].as_str()?.to_uppercase().parse::<Currency>().ok()?;
    Some((currency, stripe_amount::from_stripe(currency, object[name].as_i64()?)?))
}

fn parse_listed_refund(refund: &Value) -> Result<ListedRefund, ProviderError> {
    let own_id = refund["metadata"]["refund"].as_str();
    Ok(ListedRefund {
        provider_refund: parse_refund(refund)?,
        refund: own_id.and_then(|id| id.parse().ok()),
        money: parse_money(refund, "amount"),
    })
}

fn parse_refund(refund: &Value) -> Result<ProviderRefund, ProviderError> {
    let id = refund["id"].as_str().ok_or_else(|| unexpected_response("a refund"))?;
    let outcome = match refund["status"].as_str() {
        Some("succeeded") => RefundOutcome::Succeeded,
        Some(status @ ("failed" | "canceled")) => {
            RefundOutcome::Failed(refund["failure_reason"].as_str().unwrap_or(status).to_owned())
        }
        _ => RefundOutcome::Pending,
    };
    Ok(ProviderRefund { id: id.to_owned(), outcome })
}

fn unexpected_response(expected: &str) -> ProviderError {
    ProviderError::Retryable(format!("Stripe's response is not {expected}."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_checkout_session_is_parsed() {
        let session = parse_session(&json!({
            "id": "cs_1", "status": "complete", "payment_status": "paid", "currency": "eur",
            "amount_total": 1050, "payment_intent": { "id": "pi_1" }, "url": null,
        }));
        let session = session.unwrap();
        assert_eq!(
            (session.status, session.payment.as_deref()),
            (SessionStatus::Paid, Some("pi_1"))
        );
        assert_eq!(session.money, Some(("EUR".parse().unwrap(), 1050)));
        assert!(session.account.is_none() && session.url.is_none());
        assert!(parse_session(&json!({ "object": "list" })).is_err());
    }

    #[test]
    fn ids_that_are_not_url_safe_are_rejected() {
        assert!(check_id("cs_test_a1B2").is_ok());
        for invalid in ["", "../refunds", "cs_1?x=1", "cs_1/expire", "cs 1", "cs_é"] {
            assert!(check_id(invalid).is_err(), "{invalid}");
        }
    }
}
