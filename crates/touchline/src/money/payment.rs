//! Payments and refunds, whether for an order or a due.

use kit::{Currency, Timestamp, words};
use serde::{Deserialize, Serialize};
use store::{Bound, Column, Reader, Tx, Value, bind, record, row, sql, word_column};
use utoipa::ToSchema;

use crate::error::{Error, Result};
use crate::ids::{AccountId, LineId, PaymentId, PersonId, RefundId, TeamId};
use crate::money::ledger::About;
use crate::paging::{Order, Page};
use crate::signals::Tell;
use crate::thing::thing;

words! {
    /// How something was paid.
    pub enum Method as PaymentMethod {
        Cash = "cash",
        Transfer = "transfer",
        Card = "card",
        Other = "other",
        /// With what was paid ahead.
        Credit = "credit",
    }
}
word_column!(Method);

words! {
    /// What has become of money that is given back.
    pub enum RefundStatus {
        /// The provider was asked and has not answered yet.
        Pending = "pending",
        Done = "done",
        /// The provider could not do it: the money is still here, and has to be given back in another way.
        Failed = "failed",
    }
}
words! {
    /// What has become of a payment that the payer's bank asks to have back.
    pub enum Dispute as PaymentDispute {
        /// It is to be answered, or decided.
        Open = "open",
        /// The money stays here.
        Won = "won",
        Lost = "lost",
    }
}
word_column!(RefundStatus, Dispute);

record! {
    /// Money that came in.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "payment")]
    pub struct Payment in payment {
        pub id: PaymentId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// The order or due it was made for.
        #[schema(examples("due_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
        pub subject: String,
        /// The team it concerns; `null`: the whole club.
        pub team_id: Option<TeamId>,
        pub payer_id: Option<PersonId>,
        pub currency: Currency,
        pub amount: i64,
        /// As much of it as was more than what was owed: the payer's next due can use it.
        pub credited: i64,
        pub refunded: i64,
        pub method: Method,
        /// What the payment is called elsewhere, such as on a bank statement.
        pub reference: Option<String>,
        pub paid_at: Timestamp,
        #[serde(skip)]
        pub provider_id: Option<String>,
        /// Whether the payer's bank asks for it back, and what came of that; `null`: it does not.
        pub dispute: Option<Dispute>,
        #[serde(skip)]
        pub actor: String,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Rises with every change.
        pub version: i64,
    }
}

thing!(Payment by PaymentId: Subject Versioned Paged);

record! {
    /// Money that was given back.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "refund")]
    pub struct Refund in refund {
        pub id: RefundId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// The order or due that was paid.
        #[schema(examples("ord_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
        pub subject: String,
        /// The team it concerns; `null`: the whole club.
        pub team_id: Option<TeamId>,
        pub payment_id: PaymentId,
        pub currency: Currency,
        pub amount: i64,
        /// Which lines of an order it was for, if lines were named or everything was given back.
        pub lines: RefundLines,
        /// How it was given back.
        pub method: Method,
        pub reason: Option<String>,
        pub status: RefundStatus,
        #[serde(skip)]
        pub provider_id: Option<String>,
        #[serde(skip)]
        pub actor: String,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

thing!(Refund by RefundId: Subject Paged);

/// What was given back for a line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefundLine {
    pub line_id: LineId,
    pub amount: i64,
}

/// Which lines a refund was for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(transparent)]
pub struct RefundLines(pub Vec<RefundLine>);

impl Bound for RefundLines {
    fn write(&self) -> Value<'_> {
        let text = serde_json::to_string(&self.0).expect("ids and amounts are plain");
        Value::Text(text.into())
    }
}

impl Column for RefundLines {
    fn read(value: Value<'_>) -> store::Result<Self> {
        let lines = serde_json::from_str(&String::read(value)?);
        lines.map(Self).map_err(|_| store::Error::Corrupt("lines of a refund".to_owned()))
    }
}

/// What somebody says of a payment, whether for an order or a due.
#[derive(Debug, Clone)]
pub struct Paid {
    /// `None`: all that is owed.
    pub amount: Option<i64>,
    pub method: Method,
    pub reference: Option<String>,
    /// Now, if nobody says otherwise.
    pub paid_at: Option<Timestamp>,
    /// The provider's name of it, if it was paid through one.
    pub provider_id: Option<String>,
}

/// Money that came in, to be written down.
#[derive(Debug, Clone)]
pub struct NewPayment {
    pub about: About,
    pub amount: i64,
    pub credited: i64,
    pub method: Method,
    pub reference: Option<String>,
    /// Now, if nobody says otherwise.
    pub paid_at: Option<Timestamp>,
    pub provider_id: Option<String>,
}

/// A page of what was paid for an order or a due.
pub fn page(db: &Reader<'_>, subject: &str, page: &Page<PaymentId>) -> Result<Vec<Payment>> {
    let limit = page.fetch();
    let after = page.after(PaymentId::LEAST, PaymentId::GREATEST);
    let text = match page.order {
        Order::Asc => sql!(Payment::SELECT, OF_SUBJECT, ASCENDING),
        Order::Desc => sql!(Payment::SELECT, OF_SUBJECT, DESCENDING),
    };
    Ok(db.all(text, bind! { subject, after, limit })?)
}

/// A page of what was given back for an order or a due.
pub fn refunds_page(db: &Reader<'_>, subject: &str, page: &Page<RefundId>) -> Result<Vec<Refund>> {
    let limit = page.fetch();
    let after = page.after(RefundId::LEAST, RefundId::GREATEST);
    let text = match page.order {
        Order::Asc => sql!(Refund::SELECT, OF_SUBJECT, ASCENDING),
        Order::Desc => sql!(Refund::SELECT, OF_SUBJECT, DESCENDING),
    };
    Ok(db.all(text, bind! { subject, after, limit })?)
}

const OF_SUBJECT: &str = " where account_id = :account and subject = :subject";
const ASCENDING: &str = " and id > :after order by id limit :limit";
const DESCENDING: &str = " and id < :after order by id desc limit :limit";

/// Writes a payment down.
pub fn create(tx: &Tx<'_>, new: NewPayment) -> Result<Payment> {
    let payment = Payment {
        id: tx.new_id(),
        account_id: tx.account(),
        subject: new.about.subject,
        team_id: new.about.team_id,
        payer_id: new.about.payer_id,
        currency: new.about.currency,
        amount: new.amount,
        credited: new.credited,
        refunded: 0,
        method: new.method,
        reference: new.reference,
        paid_at: new.paid_at.unwrap_or(tx.now()),
        provider_id: new.provider_id,
        dispute: None,
        actor: tx.actor().to_owned(),
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.run(Payment::INSERT, &payment.bind())?;
    Ok(payment)
}

/// One payment.
pub fn find(db: &Reader<'_>, id: PaymentId) -> Result<Payment> {
    Ok(db.one(sql!(Payment::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// What was paid for an order or a due, in order.
pub fn of_subject(db: &Reader<'_>, subject: &str) -> Result<Vec<Payment>> {
    Ok(db.all(
        sql!(Payment::SELECT, " where account_id = :account and subject = :subject order by id"),
        bind! { subject },
    )?)
}

/// What was given back for an order or a due, in order.
pub fn refunds_of(db: &Reader<'_>, subject: &str) -> Result<Vec<Refund>> {
    Ok(db.all(
        sql!(Refund::SELECT, " where account_id = :account and subject = :subject order by id"),
        bind! { subject },
    )?)
}

/// Money that is to be given back.
#[derive(Debug, Clone)]
pub struct Giving {
    pub amount: i64,
    /// The way it came, if nobody says otherwise.
    pub method: Option<Method>,
    pub reason: Option<String>,
    /// The lines of an order it is for.
    pub lines: RefundLines,
}

/// Writes down that so much of a payment is given back: never more than is left of it. What was paid through a
/// provider is pending until the provider has given it back, unless it is given back in another way.
pub fn refund(tx: &Tx<'_>, payment: &Payment, giving: Giving) -> Result<(Payment, Refund)> {
    let Giving { amount, method, reason, lines } = giving;
    if amount <= 0 || amount > payment.amount - payment.refunded {
        return Err(Error::invalid_state("That is more than is left of the payment."));
    }
    let method = method.unwrap_or(payment.method);
    let payment = count_refunded(tx, payment, payment.refunded + amount)?;
    let online = payment.provider_id.is_some() && method == payment.method;
    let refund = Refund {
        id: tx.new_id(),
        account_id: tx.account(),
        subject: payment.subject.clone(),
        team_id: payment.team_id,
        payment_id: payment.id,
        currency: payment.currency,
        amount,
        lines,
        method,
        reason,
        status: if online { RefundStatus::Pending } else { RefundStatus::Done },
        provider_id: None,
        actor: tx.actor().to_owned(),
        created_at: tx.now(),
        updated_at: tx.now(),
    };
    tx.run(Refund::INSERT, &refund.bind())?;
    Ok((payment, refund))
}

/// Money whose refund has failed is part of its payment again.
pub fn come_back(tx: &Tx<'_>, refund: &Refund) -> Result<Payment> {
    let payment = find(tx, refund.payment_id)?;
    count_refunded(tx, &payment, payment.refunded - refund.amount)
}

fn count_refunded(tx: &Tx<'_>, payment: &Payment, refunded: i64) -> Result<Payment> {
    update(tx, Payment { refunded, ..payment.clone() })
}

fn update(tx: &Tx<'_>, payment: Payment) -> Result<Payment> {
    let payment = Payment { updated_at: tx.now(), version: payment.version + 1, ..payment };
    tx.run(
        "update payment set refunded = :refunded, dispute = :dispute, updated_at = :updated_at,
             version = :version
         where account_id = :account and id = :id",
        &payment.bind(),
    )?;
    Ok(payment)
}

/// Notes that the payer's bank asks for a payment back, or what came of that. Says whether anything has changed.
pub fn disputed(tx: &Tx<'_>, before: &Payment, dispute: Dispute) -> Result<Option<Payment>> {
    if before.dispute == Some(dispute) {
        return Ok(None);
    }
    let after = update(tx, Payment { dispute: Some(dispute), ..before.clone() })?;
    tx.tell_change("payment.disputed", before, &after)?;
    Ok(Some(after))
}

/// Lets go of what people wrote beside payments and refunds of an order or a due.
pub fn forget_words(tx: &Tx<'_>, subject: &str) -> Result<()> {
    tx.run(
        "update payment set reference = null, updated_at = :now, version = version + 1
         where account_id = :account and subject = :subject and reference is not null",
        bind! { subject },
    )?;
    tx.run(
        "update refund set reason = null, updated_at = :now
         where account_id = :account and subject = :subject and reason is not null",
        bind! { subject },
    )?;
    Ok(())
}

/// One refund.
pub fn find_refund(db: &Reader<'_>, id: RefundId) -> Result<Refund> {
    Ok(db.one(sql!(Refund::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// The payment that a provider knows by this name.
pub fn find_by_provider(db: &Reader<'_>, provider_id: &str) -> Result<Option<Payment>> {
    Ok(db.maybe(
        sql!(Payment::SELECT, " where account_id = :account and provider_id = :provider_id"),
        bind! { provider_id },
    )?)
}

row! {
    /// A refund that a provider has not ended yet, and what it needs to know of it.
    #[derive(Debug, Clone)]
    pub struct Waiting {
        pub account_id: AccountId,
        pub id: RefundId,
        pub currency: Currency,
        pub amount: i64,
        pub created_at: Timestamp,
        /// The provider's name of the refund, once it has given one.
        pub provider_id: Option<String>,
        /// The provider's name of the payment.
        pub payment: Option<String>,
    }
}

const WAITING: &str = "select r.account_id, r.id, r.currency, r.amount, r.created_at,
        r.provider_id, p.provider_id as payment
    from refund r
    join payment p on p.account_id = r.account_id and p.id = r.payment_id";

/// A pile of refunds that providers have not ended yet, whoever's they are, after the last of the pile before.
pub fn waiting(db: &Reader<'_>, after: (AccountId, RefundId), limit: i64) -> Result<Vec<Waiting>> {
    let (last_account, last) = after;
    Ok(db.all(
        sql!(
            WAITING,
            " where r.status = 'pending' and (r.account_id, r.id) > (:last_account, :last)
              order by r.account_id, r.id limit :limit /* any account */"
        ),
        bind! { last_account, last, limit },
    )?)
}

/// What a provider needs to know of one refund, whatever has become of it: not of one that it has refused and
/// never made.
pub fn as_waiting(db: &Reader<'_>, id: RefundId) -> Result<Waiting> {
    let text = sql!(
        WAITING,
        " where r.account_id = :account and r.id = :id
            and (r.status <> 'failed' or r.provider_id is not null)"
    );
    Ok(db.one(text, bind! { id })?)
}

/// The refunds of a payment that its provider has not ended yet.
pub fn waiting_of(db: &Reader<'_>, payment_id: PaymentId) -> Result<Vec<Waiting>> {
    Ok(db.all(
        sql!(
            WAITING,
            " where r.account_id = :account and r.status = 'pending' and r.payment_id = :payment_id"
        ),
        bind! { payment_id },
    )?)
}

/// Whether a provider is still giving back some of what was paid for something.
pub fn is_being_given_back(db: &Reader<'_>, subject: &str) -> Result<bool> {
    let waiting: Option<(i64,)> = db.maybe(
        "select 1 from refund
         where account_id = :account and subject = :subject and status = 'pending' limit 1",
        bind! { subject },
    )?;
    Ok(waiting.is_some())
}

/// Notes what a provider made of a refund, under the name it gave it. Money that was given back can still come
/// back to us, but nothing else changes once it has ended. Says whether anything has changed.
pub fn ended(
    tx: &Tx<'_>,
    id: RefundId,
    status: RefundStatus,
    provider_id: Option<String>,
) -> Result<Option<Refund>> {
    let before = find_refund(tx, id)?;
    let provider_id = provider_id.or_else(|| before.provider_id.clone());
    let further = match (before.status, status) {
        (RefundStatus::Pending, _) | (RefundStatus::Done, RefundStatus::Failed) => true,
        (RefundStatus::Done | RefundStatus::Failed, _) => false,
    };
    let after = Refund { status, provider_id, updated_at: tx.now(), ..before.clone() };
    if !further || (after.status, &after.provider_id) == (before.status, &before.provider_id) {
        return Ok(None);
    }
    tx.run(
        "update refund set status = :status, provider_id = :provider_id, updated_at = :updated_at
         where account_id = :account and id = :id",
        &after.bind(),
    )?;
    match after.status {
        RefundStatus::Pending => {}
        RefundStatus::Done => tx.tell_change("refund.completed", &before, &after)?,
        RefundStatus::Failed => tx.tell_change("refund.failed", &before, &after)?,
    }
    Ok((after.status != before.status).then_some(after))
}
