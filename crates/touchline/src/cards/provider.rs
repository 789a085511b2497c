//! The payment provider: what we ask of one, whichever it is.
//!
//! Everything is asked under a name of ours, so that asking twice does nothing twice; and whatever a provider
//! tells us by itself, we believe only what it answers when we ask.

use std::pin::Pin;

use kit::{Currency, Timestamp};
use serde_json::Value;

use crate::ids::{AccountId, CheckoutId, RefundId};
use crate::money::payment::Dispute;

/// An answer that is on its way.
pub type Asked<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send + 'a>>;

/// Why there is no answer, or a bad one. What it says can be logged: it holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It may go better later.
    Later(String),
    /// It will never go.
    Never(String),
}

/// A page on which somebody is to pay.
#[derive(Debug, Clone)]
pub struct NewPage {
    pub account: AccountId,
    pub checkout: CheckoutId,
    pub currency: Currency,
    pub amount: i64,
    /// What it is for, as the payer reads it.
    pub title: String,
    pub expires_at: Timestamp,
    /// Where the payer goes from there, whether they have paid or not.
    pub done: String,
    pub back: String,
}

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nobody has paid yet, or the money is still on its way.
    Open,
    Paid,
    /// Nobody can pay any more.
    Expired,
}

/// A page as the provider shows it.
#[derive(Debug, Clone)]
pub struct Page {
    pub id: String,
    /// Where it is, as long as somebody can pay.
    pub url: Option<String>,
    pub progress: Progress,
    /// What we gave it to be known by.
    pub account: Option<AccountId>,
    pub checkout: Option<CheckoutId>,
    pub money: Option<(Currency, i64)>,
    /// The provider's name of the payment, by which it is given back.
    pub payment: Option<String>,
}

/// Money that is to be given back.
#[derive(Debug, Clone)]
pub struct NewReturn {
    pub account: AccountId,
    pub refund: RefundId,
    /// The provider's name of the payment.
    pub payment: String,
    pub currency: Currency,
    pub amount: i64,
}

/// Money that is given back, as the provider shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Return {
    pub id: String,
    pub outcome: Outcome,
}

/// What has become of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Pending,
    Done,
    /// And why, in a word of the provider's.
    Failed(String),
}

/// Money that was given back of a payment, whoever asked for it.
#[derive(Debug, Clone)]
pub struct Returned {
    pub back: Return,
    /// The name we gave it, if it was us.
    pub refund: Option<RefundId>,
    pub money: Option<(Currency, i64)>,
}

/// What we have said of a payment.
#[derive(Debug, Clone, Copy)]
pub struct Whose {
    pub account: AccountId,
    /// The page on which it was made.
    pub checkout: Option<CheckoutId>,
}

impl Whose {
    /// Reads what we have said of something.
    pub fn read(object: &Value) -> Option<Self> {
        let said = |name: &str| object["metadata"][name].as_str();
        let checkout = said("checkout").and_then(|id| id.parse().ok());
        Some(Self { account: said("account")?.parse().ok()?, checkout })
    }
}

/// A payment that the payer's bank asks to have back, as the provider shows it.
#[derive(Debug, Clone)]
pub struct Disputed {
    /// The provider's name of the payment.
    pub payment: Option<String>,
    pub dispute: Dispute,
}

/// Who takes cards for us.
pub trait Provider: Send + Sync {
    /// Where the pages are that it opens, as a browser calls it: forms of ours may lead there.
    fn origin(&self) -> &'static str;
    /// Opens a page. Asked again, it gives the same page.
    fn open<'a>(&'a self, page: &'a NewPage) -> Asked<'a, Page>;
    /// Looks at a page.
    fn look<'a>(&'a self, id: &'a str) -> Asked<'a, Page>;
    /// Gives money back. Asked again within hours, it does so once.
    fn give_back<'a>(&'a self, money: &'a NewReturn) -> Asked<'a, Return>;
    /// Looks at money that is given back.
    fn look_at_return<'a>(&'a self, id: &'a str) -> Asked<'a, Return>;
    /// Everything that was given back of a payment, by us or by others.
    fn returns_of<'a>(&'a self, payment: &'a str) -> Asked<'a, Vec<Returned>>;
    /// Whose a payment is, as we said when it was asked for; `None` if it is nobody's here.
    fn whose<'a>(&'a self, payment: &'a str) -> Asked<'a, Option<Whose>>;
    /// Looks at a dispute.
    fn look_at_dispute<'a>(&'a self, id: &'a str) -> Asked<'a, Disputed>;
}
