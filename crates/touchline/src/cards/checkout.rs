//! The checkout: a page of the payment provider on which somebody is to pay an order or a due.
//!
//! The row is written before the provider is asked, so whatever becomes of us in between, it is known that
//! there may be a page, and under which name.

use std::time::Duration;

use kit::{Currency, Timestamp, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql, word_column};
use utoipa::ToSchema;

use super::provider::Page;
use super::subject::{Owed, Subject};
use crate::accounts::rights::Reach;
use crate::error::{Error, Fault, Result};
use crate::expected::Expected;
use crate::ids::{AccountId, CheckoutId, PaymentId, TeamId};
use crate::signals::Tell;
use crate::thing::thing;

/// How long a page is open. Stripe wants at least half an hour.
const LIFE: Duration = Duration::from_secs(3600);
/// A page that closes sooner than this is not shown to anybody any more.
const LEFT: Duration = Duration::from_secs(300);

words! {
    /// What has become of it.
    pub enum Status as CheckoutStatus {
        /// It can be paid, or is not known to have been.
        Open = "open",
        Paid = "paid",
        /// Nobody has paid, and nobody can any more.
        Expired = "expired",
        /// It was paid when what it was for could not be paid any more: the money is given back, or kept as
        /// credit.
        Stray = "stray",
    }
}
word_column!(Status);

record! {
    /// A page of the payment provider.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "checkout")]
    pub struct Checkout in checkout {
        pub id: CheckoutId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// The order or due it is for.
        #[schema(examples("ord_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
        pub subject: String,
        pub team_id: Option<TeamId>,
        /// What it is for, as the payer reads it.
        pub title: String,
        pub currency: Currency,
        pub amount: i64,
        pub status: Status,
        #[serde(skip)]
        pub session_id: Option<String>,
        /// Where to send the payer, as long as it is open.
        #[schema(examples("https://checkout.stripe.com/c/pay/cs_test_a1B2"))]
        pub url: Option<String>,
        /// The payment that came of it.
        pub payment_id: Option<PaymentId>,
        #[serde(skip)]
        pub actor: String,
        /// Until when it can be paid.
        pub expires_at: Timestamp,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Rises with every change.
        pub version: i64,
    }
}

thing!(Checkout by CheckoutId: Subject Versioned);

/// What somebody wants to pay.
#[derive(Debug, Clone, Default, ToSchema)]
pub struct NewCheckout {
    /// Some of what is open of a due; all of it, if this is left out. An order is paid as a whole.
    #[schema(minimum = 1)]
    pub amount: Option<i64>,
}

/// What somebody wants to pay.
#[derive(Debug, Clone)]
pub struct Wish {
    pub subject: Subject,
    /// All of it, if this is left out.
    pub amount: Option<i64>,
    /// What the payer has seen of it.
    pub expected: Expected,
}

impl Wish {
    /// To pay all of it, as it is.
    pub fn all_of(subject: Subject) -> Self {
        Self { subject, amount: None, expected: Expected::Anything }
    }
}

/// Writes down that somebody wants to pay. If they, or somebody else, began to pay the same already, that page
/// is used again.
pub fn begin(tx: &Tx<'_>, reach: &Reach, wish: &Wish, on: bool) -> Result<Checkout> {
    let subject = wish.subject;
    let owed = wish.expected.check(subject.shown(tx, reach))?;
    if !on {
        return Err(Error::invalid_state(
            "Card payments are not set up. The operator of this server can set them up with the settings \
            TOUCHLINE_STRIPE_SECRET_KEY and TOUCHLINE_STRIPE_WEBHOOK_SECRET.",
        ));
    }
    if !owed.payable {
        return Err(Error::invalid_state("There is nothing to pay here any more."));
    }
    let amount = chosen(subject, &owed, wish.amount)?;
    let (name, currency) = (subject.to_string(), owed.currency);
    let soon = tx.now().plus(LEFT);
    let open = tx.maybe(
        sql!(
            Checkout::SELECT,
            " where account_id = :account and subject = :name and status = 'open'
                and amount = :amount and currency = :currency and expires_at > :soon
              order by id desc limit 1"
        ),
        bind! { name, amount, currency, soon },
    )?;
    if let Some(open) = open {
        return Ok(open);
    }
    let checkout = Checkout {
        id: tx.new_id(),
        account_id: tx.account(),
        subject: name,
        team_id: owed.team_id,
        title: owed.title,
        currency,
        amount,
        status: Status::Open,
        session_id: None,
        url: None,
        payment_id: None,
        actor: tx.actor().to_owned(),
        expires_at: tx.now().plus(LIFE),
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.run(Checkout::INSERT, &checkout.bind())?;
    let details = serde_json::json!({ "subject": checkout.subject, "amount": amount });
    tx.audit("checkout.opened", &checkout.id.to_string(), &details)?;
    Ok(checkout)
}

/// How much is to be paid.
fn chosen(subject: Subject, owed: &Owed, wanted: Option<i64>) -> Result<i64> {
    let Some(wanted) = wanted else { return Ok(owed.amount) };
    let detail = match subject {
        Subject::Order(_) if wanted != owed.amount => "An order is paid as a whole.",
        Subject::Due(_) if wanted > owed.amount => "That is more than is owed.",
        _ => return Ok(wanted),
    };
    Err(Error::invalid(vec![Fault::new("/amount", "not_owed", detail)]))
}

/// One checkout, for those who may know of what it is for.
pub fn shown(db: &Reader<'_>, reach: &Reach, id: CheckoutId) -> Result<Checkout> {
    let checkout = find(db, id)?;
    let subject = Subject::parse(&checkout.subject).ok_or_else(Error::not_found)?;
    subject.shown(db, reach)?;
    Ok(checkout)
}

/// One checkout.
pub fn find(db: &Reader<'_>, id: CheckoutId) -> Result<Checkout> {
    Ok(db.one(sql!(Checkout::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// A pile of checkouts that may have been paid, whoever's they are, after the last of the pile before.
pub fn open(
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

/// The provider has opened the page. What is known of it already stays.
pub fn opened(tx: &Tx<'_>, id: CheckoutId, page: &Page) -> Result<Checkout> {
    let checkout = find(tx, id)?;
    if checkout.session_id.is_some() || checkout.status != Status::Open {
        return Ok(checkout);
    }
    let (session_id, url) = (Some(page.id.clone()), page.url.clone());
    update(tx, Checkout { session_id, url, ..checkout })
}

/// Nobody can pay any more.
pub fn expired(tx: &Tx<'_>, id: CheckoutId) -> Result<Checkout> {
    let checkout = find(tx, id)?;
    if checkout.status != Status::Open {
        return Ok(checkout);
    }
    closed(tx, checkout, Status::Expired, None)
}

/// The page has come to its end, and this came of it.
pub fn closed(
    tx: &Tx<'_>,
    checkout: Checkout,
    status: Status,
    payment_id: Option<PaymentId>,
) -> Result<Checkout> {
    update(tx, Checkout { status, payment_id, url: None, ..checkout })
}

fn update(tx: &Tx<'_>, checkout: Checkout) -> Result<Checkout> {
    let checkout = Checkout { updated_at: tx.now(), version: checkout.version + 1, ..checkout };
    tx.run(
        "update checkout set status = :status, session_id = :session_id, url = :url,
             payment_id = :payment_id, updated_at = :updated_at, version = :version
         where account_id = :account and id = :id",
        &checkout.bind(),
    )?;
    Ok(checkout)
}
