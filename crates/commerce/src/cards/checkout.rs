//! Checkout sessions: payment pages at the provider for an order or a due.
//!
//! The row is inserted before the session is requested from the provider. After a crash in between, it tells that a
//! session may exist, and its ID is the idempotency key to find it.

use std::time::Duration;

use kit::string_enum;
use macros::input;

use super::subject::{Outstanding, Subject};
use crate::card_provider::provider::CheckoutSession;
use crate::money::MAX_AMOUNT;
use crate::prelude::*;

/// Lifetime of a session. Stripe requires at least 30 minutes.
const SESSION_LIFETIME: Duration = Duration::from_secs(3600);
/// An open session is only reused if it stays open for at least this long.
const MIN_REMAINING_LIFETIME: Duration = Duration::from_secs(300);

string_enum! {
    /// The status of a checkout session.
    pub enum Status as CheckoutStatus {
        /// Can be paid, or its payment is not confirmed yet.
        Open = "open",
        Paid = "paid",
        /// Was not paid in time and can no longer be paid.
        Expired = "expired",
        /// Was paid, but too late or with another amount. A late payment is refunded (order) or kept as credit (due). A
        /// wrong amount is not recorded.
        Unmatched = "unmatched",
    }
}
enum_column!(Status);

record! {
    /// A checkout session: a page at the payment provider where an order or a due is paid by card.
    #[macros::object("checkout")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct Checkout in checkout {
        /// Unique ID of the checkout session.
        pub id: CheckoutId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// ID of the order or due to pay.
        #[schema(examples("ord_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
        #[serde(rename = "subject_id")]
        pub subject: String,
        /// Team that the order or due belongs to; `null` for the club.
        pub team_id: Option<TeamId>,
        /// What the payment is for, as shown to the payer.
        #[schema(examples("Order 1042"))]
        pub title: String,
        /// Currency of the amount.
        pub currency: Currency,
        /// Amount to pay, in minor units.
        #[schema(examples(2500))]
        pub amount: i64,
        /// Status of the session: `open` (it can be paid, or its payment is not confirmed yet), `paid`, `expired` (it
        /// was not paid in time), or `unmatched` (it was paid too late or with another amount; a late payment
        /// is refunded or kept as credit).
        pub status: Status,
        #[serde(skip)]
        pub session_id: Option<String>,
        /// URL to send the payer to; `null` unless the session is open.
        #[schema(examples("https://checkout.stripe.com/c/pay/cs_test_a1B2"))]
        pub url: Option<String>,
        /// Payment that was made with this session; `null` if there is none.
        pub payment_id: Option<PaymentId>,
        #[serde(skip)]
        pub actor: String,
        /// When the session expires.
        pub expires_at: Timestamp,
        /// When the checkout session was created.
        pub created_at: Timestamp,
        /// When the checkout session was last changed.
        pub updated_at: Timestamp,
        /// Version of the checkout session; increases with every change.
        pub version: i64,
    }
}

impl_resource!(Checkout by CheckoutId: Subject Versioned);

/// A new checkout session.
#[input(as = CreateCheckoutRequest)]
#[derive(Clone, Default)]
pub struct NewCheckout {
    /// Amount to pay in minor units. Default and maximum: the outstanding amount. An order can only be paid in full.
    #[schema(value_type = Option<i64>)]
    #[input(number(1, MAX_AMOUNT), non_null)]
    pub amount: Option<i64>,
}

/// A request to open a checkout session.
#[derive(Debug, Clone)]
pub struct CheckoutRequest {
    pub subject: Subject,
    /// The whole outstanding amount if `None`.
    pub amount: Option<i64>,
    /// Version of the order or due that the caller has seen.
    pub expected: IfMatch,
}

impl CheckoutRequest {
    /// Pays the whole outstanding amount, in any version.
    pub fn for_full_amount(subject: Subject) -> Self {
        Self { subject, amount: None, expected: IfMatch::Absent }
    }
}

/// Inserts a checkout. If an open one for the same amount exists, it is reused. `enabled` says whether card payments
/// are configured.
pub fn begin(
    tx: &Tx<'_>,
    access: &TeamAccess,
    request: &CheckoutRequest,
    enabled: bool,
) -> Result<Checkout> {
    let subject = request.subject;
    let outstanding = request.expected.check(subject.find_outstanding(tx, access))?;
    if !enabled {
        return Err(Error::invalid_state(
            "Card payments are not set up. The operator of this server can set them up with the settings \
            TOUCHLINE_STRIPE_SECRET_KEY and TOUCHLINE_STRIPE_WEBHOOK_SECRET.",
        ));
    }
    if !outstanding.payable {
        return Err(Error::invalid_state("There is nothing left to pay."));
    }
    let amount = resolve_amount(subject, &outstanding, request.amount)?;
    let (subject_id, currency) = (subject.to_string(), outstanding.currency);
    let min_expiry = tx.now().plus(MIN_REMAINING_LIFETIME);
    let open = tx.optional(
        sql!(
            Checkout::SELECT,
            " where account_id = :account and subject = :subject_id and status = 'open'
                and amount = :amount and currency = :currency and expires_at > :min_expiry
              order by id desc limit 1"
        ),
        bind! { subject_id, amount, currency, min_expiry },
    )?;
    if let Some(open) = open {
        return Ok(open);
    }
    let checkout = Checkout {
        id: tx.new_id(),
        account_id: tx.account(),
        subject: subject_id,
        team_id: outstanding.team_id,
        title: outstanding.title,
        currency,
        amount,
        status: Status::Open,
        session_id: None,
        url: None,
        payment_id: None,
        actor: tx.actor().to_owned(),
        expires_at: tx.now().plus(SESSION_LIFETIME),
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.execute(Checkout::INSERT, &checkout.bind())?;
    let details = serde_json::json!({ "subject": checkout.subject, "amount": amount });
    tx.audit("checkout.opened", &checkout.id.to_string(), &details)?;
    Ok(checkout)
}

/// The requested amount if it is allowed, or the outstanding amount.
fn resolve_amount(
    subject: Subject,
    outstanding: &Outstanding,
    requested: Option<i64>,
) -> Result<i64> {
    let Some(requested) = requested else { return Ok(outstanding.amount) };
    let detail = match subject {
        Subject::Order(_) if requested != outstanding.amount => "An order must be paid in full.",
        Subject::Due(_) if requested > outstanding.amount => {
            "The amount is more than the open balance. Enter a smaller amount."
        }
        _ => return Ok(requested),
    };
    Err(Error::invalid(vec![Fault::new("/amount", "not_owed", detail)]))
}

/// A checkout, if the caller may see its order or due.
pub fn find_visible(db: &Reader<'_>, access: &TeamAccess, id: CheckoutId) -> Result<Checkout> {
    let checkout = find(db, id)?;
    let subject = Subject::parse(&checkout.subject).ok_or_else(Error::not_found)?;
    subject.find_outstanding(db, access)?;
    Ok(checkout)
}

/// A checkout by ID.
pub fn find(db: &Reader<'_>, id: CheckoutId) -> Result<Checkout> {
    Ok(db.one(sql!(Checkout::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// The next batch of open checkouts of all accounts, after the last one of the previous batch.
pub fn list_open(
    db: &Reader<'_>,
    after: (AccountId, CheckoutId),
    limit: i64,
) -> Result<Vec<(AccountId, CheckoutId)>> {
    let (last_account, last) = after;
    Ok(db.all(
        "select account_id, id from checkout
         where status = 'open' and (account_id, id) > (:last_account, :last)
         order by account_id, id limit :limit /* any account */",
        bind! { last_account, last, limit },
    )?)
}

/// Records the provider's session. Does nothing if a session is already recorded or the checkout is closed.
pub fn record_session(tx: &Tx<'_>, id: CheckoutId, session: &CheckoutSession) -> Result<Checkout> {
    let checkout = find(tx, id)?;
    if checkout.session_id.is_some() || checkout.status != Status::Open {
        return Ok(checkout);
    }
    let (session_id, url) = (Some(session.id.clone()), session.url.clone());
    update(tx, Checkout { session_id, url, ..checkout })
}

/// Marks an open checkout as expired.
pub fn mark_expired(tx: &Tx<'_>, id: CheckoutId) -> Result<Checkout> {
    let checkout = find(tx, id)?;
    if checkout.status != Status::Open {
        return Ok(checkout);
    }
    close(tx, checkout, Status::Expired, None)
}

/// Closes a checkout with its final status.
pub fn close(
    tx: &Tx<'_>,
    checkout: Checkout,
    status: Status,
    payment_id: Option<PaymentId>,
) -> Result<Checkout> {
    update(tx, Checkout { status, payment_id, url: None, ..checkout })
}

fn update(tx: &Tx<'_>, checkout: Checkout) -> Result<Checkout> {
    let checkout = Checkout { updated_at: tx.now(), version: checkout.version + 1, ..checkout };
    tx.execute(Checkout::UPDATE, &checkout.bind())?;
    Ok(checkout)
}
