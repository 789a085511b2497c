//! The interface to a payment provider.
//!
//! Every request that changes something carries an idempotency key of ours, so it can be repeated safely. Webhooks of a
//! provider are not trusted: only its responses to our requests are.

use std::pin::Pin;

use kit::{Currency, Timestamp, string_enum};
use serde_json::Value;
use store::enum_column;

use crate::ids::{AccountId, CheckoutId, RefundId};

string_enum! {
    /// The status of a dispute (chargeback).
    pub enum Dispute as PaymentDispute {
        /// Waiting for a response or a decision.
        Open = "open",
        /// The club keeps the money.
        Won = "won",
        /// The payer's bank got the money back.
        Lost = "lost",
    }
}
enum_column!(Dispute);

/// The future of a request to the provider.
pub type ProviderFuture<'a, T> =
    Pin<Box<dyn Future<Output = Result<T, ProviderError>> + Send + 'a>>;

/// Why a request failed. The text contains no secrets and can be logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderError {
    /// The request may succeed later.
    Retryable(String),
    /// The request will never succeed.
    Permanent(String),
}

/// A checkout session to create.
#[derive(Debug, Clone)]
pub struct NewSession {
    pub account: AccountId,
    pub checkout: CheckoutId,
    pub currency: Currency,
    pub amount: i64,
    /// What is paid, as shown to the payer.
    pub title: String,
    pub expires_at: Timestamp,
    /// Where the payer returns to after paying.
    pub success_url: String,
    /// Where the payer returns to without paying.
    pub cancel_url: String,
}

/// The status of a checkout session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStatus {
    /// Not paid yet, or the payment is still being processed.
    Open,
    Paid,
    /// Can no longer be paid.
    Expired,
}

/// A checkout session at the provider.
#[derive(Debug, Clone)]
pub struct CheckoutSession {
    pub id: String,
    /// URL of the payment page while the session is open.
    pub url: Option<String>,
    pub status: SessionStatus,
    /// Our metadata of the session.
    pub account: Option<AccountId>,
    pub checkout: Option<CheckoutId>,
    pub money: Option<(Currency, i64)>,
    /// The provider's ID of the payment, needed for refunds.
    pub payment: Option<String>,
}

/// A refund to create.
#[derive(Debug, Clone)]
pub struct NewProviderRefund {
    pub account: AccountId,
    pub refund: RefundId,
    /// The provider's ID of the payment.
    pub payment: String,
    pub currency: Currency,
    pub amount: i64,
}

/// A refund at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRefund {
    pub id: String,
    pub outcome: RefundOutcome,
}

/// The outcome of a refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefundOutcome {
    Pending,
    Succeeded,
    /// With the provider's reason.
    Failed(String),
}

/// A refund in the provider's list for a payment, made by this service or by somebody else.
#[derive(Debug, Clone)]
pub struct ListedRefund {
    pub provider_refund: ProviderRefund,
    /// Our ID of the refund, if this service requested it.
    pub refund: Option<RefundId>,
    pub money: Option<(Currency, i64)>,
}

/// The owner of a payment, from our metadata at the provider.
#[derive(Debug, Clone, Copy)]
pub struct PaymentOwner {
    pub account: AccountId,
    /// The checkout the payment was made with.
    pub checkout: Option<CheckoutId>,
}

impl PaymentOwner {
    /// Reads the owner from the metadata of an object of the provider.
    pub fn read(object: &Value) -> Option<Self> {
        let metadata = |name: &str| object["metadata"][name].as_str();
        let checkout = metadata("checkout").and_then(|id| id.parse().ok());
        Some(Self { account: metadata("account")?.parse().ok()?, checkout })
    }
}

/// A dispute at the provider.
#[derive(Debug, Clone)]
pub struct ProviderDispute {
    /// The provider's ID of the payment.
    pub payment: Option<String>,
    pub dispute: Dispute,
}

/// A payment provider for cards.
pub trait Provider: Send + Sync {
    /// Origin of the provider's payment pages, for the `form-action` directive of our pages.
    fn origin(&self) -> &'static str;
    /// Creates a checkout session. Repeating the request returns the same session.
    fn create_session<'a>(&'a self, session: &'a NewSession)
    -> ProviderFuture<'a, CheckoutSession>;
    /// Retrieves a checkout session.
    fn get_session<'a>(&'a self, id: &'a str) -> ProviderFuture<'a, CheckoutSession>;
    /// Creates a refund. Repeating the request within a day returns the same refund.
    fn create_refund<'a>(
        &'a self,
        new: &'a NewProviderRefund,
    ) -> ProviderFuture<'a, ProviderRefund>;
    /// Retrieves a refund.
    fn get_refund<'a>(&'a self, id: &'a str) -> ProviderFuture<'a, ProviderRefund>;
    /// Lists all refunds of a payment, including those made without this service.
    fn list_refunds<'a>(&'a self, payment: &'a str) -> ProviderFuture<'a, Vec<ListedRefund>>;
    /// The owner of a payment according to our metadata; `None` if it has none.
    fn get_payment_owner<'a>(
        &'a self,
        payment: &'a str,
    ) -> ProviderFuture<'a, Option<PaymentOwner>>;
    /// Retrieves a dispute.
    fn get_dispute<'a>(&'a self, id: &'a str) -> ProviderFuture<'a, ProviderDispute>;
}
