//! Payments and refunds of orders and dues.

use kit::string_enum;
use serde::Deserialize;
use store::{Column, ToValue, Value};

use crate::card_provider::provider::Dispute;
use crate::money::ledger::EntryContext;
use crate::paging::page_sql;
use crate::prelude::*;

/// The reason of a refund that an admin made at the payment provider.
pub const EXTERNAL_REFUND_REASON: &str = mark!("Refunded at the payment provider.");
/// The reason of a refund of a payment that came too late.
pub const PAID_TOO_LATE_REASON: &str = mark!("Paid after the order could no longer be paid.");

string_enum! {
    /// The method of a payment or refund.
    pub enum Method as PaymentMethod {
        Cash = "cash",
        BankTransfer = "bank_transfer",
        Card = "card",
        Other = "other",
        /// From the payer's credit.
        Credit = "credit",
    }
}
enum_column!(Method);

string_enum! {
    /// The status of a refund.
    pub enum RefundStatus {
        /// Requested from the payment provider and not completed yet.
        Pending = "pending",
        Succeeded = "succeeded",
        /// The payment provider could not complete it. The money is still with the club and must be refunded in
        /// another way.
        Failed = "failed",
    }
}
enum_column!(RefundStatus);

record! {
    /// A payment for an order or a due.
    #[macros::object("payment")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct Payment in payment {
        /// Unique ID of the payment.
        pub id: PaymentId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// ID of the order or due that was paid.
        #[schema(examples("due_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
        #[serde(rename = "subject_id")]
        pub subject: String,
        /// Team that the order or due belongs to; `null` for the club.
        pub team_id: Option<TeamId>,
        /// Person who paid; `null` if unknown.
        pub payer_id: Option<PersonId>,
        /// Currency of the amounts.
        pub currency: Currency,
        /// Amount paid, in minor units.
        #[schema(examples(5000))]
        pub amount: i64,
        /// Part of the amount that exceeded the outstanding balance, in minor units. It became credit for the payer's
        /// next due.
        #[schema(examples(0))]
        pub overpaid: i64,
        /// Amount refunded so far, in minor units.
        #[schema(examples(0))]
        pub refunded: i64,
        /// How it was paid. `credit` means from the payer's credit.
        pub method: Method,
        /// Reference of the payment in another system, such as on a bank statement.
        pub reference: Option<String>,
        /// When it was paid.
        pub paid_at: Timestamp,
        #[serde(skip)]
        pub provider_id: Option<String>,
        /// Status of the dispute (chargeback): `open`, `won` (the club keeps the money) or `lost` (the payer's bank got
        /// the money back); `null` if the payment was never disputed.
        pub dispute: Option<Dispute>,
        #[serde(skip)]
        pub actor: String,
        /// When the payment was created.
        pub created_at: Timestamp,
        /// When the payment was last changed.
        pub updated_at: Timestamp,
        /// Version of the payment; increases with every change.
        pub version: i64,
    }
}

impl_resource!(Payment by PaymentId: Subject Versioned Paged);

record! {
    /// A refund of a payment.
    #[macros::object("refund")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct Refund in refund {
        /// Unique ID of the refund.
        pub id: RefundId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// ID of the order or due that was paid.
        #[schema(examples("ord_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
        #[serde(rename = "subject_id")]
        pub subject: String,
        /// Team that the order or due belongs to; `null` for the club.
        pub team_id: Option<TeamId>,
        /// Payment that is refunded.
        pub payment_id: PaymentId,
        /// Currency of the amount.
        pub currency: Currency,
        /// Amount refunded, in minor units.
        #[schema(examples(1000))]
        pub amount: i64,
        /// Refunded amounts by order line; empty if the refund is not assigned to lines.
        pub lines: RefundLines,
        /// How the money is refunded.
        pub method: Method,
        /// Why the money is refunded.
        pub reason: Option<String>,
        /// Status of the refund: `pending` (the payment provider has not completed it), `succeeded`, or `failed` (the
        /// payment provider could not complete it; refund the money in another way).
        pub status: RefundStatus,
        #[serde(skip)]
        pub provider_id: Option<String>,
        #[serde(skip)]
        pub actor: String,
        /// When the refund was created.
        pub created_at: Timestamp,
        /// When the refund was last changed.
        pub updated_at: Timestamp,
    }
}

impl_resource!(Refund by RefundId: Subject Paged);

/// The refunded amount of an order line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefundLine {
    /// Line of the order.
    pub line_id: LineId,
    /// Amount refunded for the line, in minor units.
    #[schema(examples(1000))]
    pub amount: i64,
}

/// Refunded amounts by order line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(transparent)]
pub struct RefundLines(pub Vec<RefundLine>);

impl ToValue for RefundLines {
    fn to_value(&self) -> Value<'_> {
        let text = serde_json::to_string(&self.0).expect("ids and amounts are plain");
        Value::Text(text.into())
    }
}

impl Column for RefundLines {
    fn from_value(value: Value<'_>) -> store::Result<Self> {
        let lines = serde_json::from_str(&String::from_value(value)?);
        lines.map(Self).map_err(|_| store::Error::Corrupt("lines of a refund".to_owned()))
    }
}

/// Details of a payment to record for an order or a due.
#[derive(Debug, Clone)]
pub struct PaymentDetails {
    /// The whole outstanding amount if `None`.
    pub amount: Option<i64>,
    pub method: Method,
    pub reference: Option<String>,
    /// The current time if `None`.
    pub paid_at: Option<Timestamp>,
    /// The provider's ID of the payment, if it was made through one.
    pub provider_id: Option<String>,
}

impl PaymentDetails {
    /// A payment with this method, by default of the whole outstanding amount, now.
    pub fn new(method: Method) -> Self {
        Self { amount: None, method, reference: None, paid_at: None, provider_id: None }
    }
}

/// A page of the payments for an order or a due.
pub fn list(db: &Reader<'_>, subject: &str, page: &Page<PaymentId>) -> Result<Vec<Payment>> {
    let (after, limit) = page.bounds();
    let text = page_sql!(page, Payment::SELECT, OF_SUBJECT);
    Ok(db.all(text, bind! { subject, after, limit })?)
}

/// A page of the refunds for an order or a due.
pub fn list_refunds(db: &Reader<'_>, subject: &str, page: &Page<RefundId>) -> Result<Vec<Refund>> {
    let (after, limit) = page.bounds();
    let text = page_sql!(page, Refund::SELECT, OF_SUBJECT);
    Ok(db.all(text, bind! { subject, after, limit })?)
}

const OF_SUBJECT: &str = " where account_id = :account and subject = :subject";

/// Inserts a payment of this amount.
pub fn create(
    tx: &Tx<'_>,
    context: &EntryContext,
    amount: i64,
    overpaid: i64,
    details: PaymentDetails,
) -> Result<Payment> {
    let payment = Payment {
        id: tx.new_id(),
        account_id: tx.account(),
        subject: context.subject.clone(),
        team_id: context.team_id,
        payer_id: context.payer_id,
        currency: context.currency,
        amount,
        overpaid,
        refunded: 0,
        method: details.method,
        reference: details.reference,
        paid_at: details.paid_at.unwrap_or(tx.now()),
        provider_id: details.provider_id,
        dispute: None,
        actor: tx.actor().to_owned(),
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.execute(Payment::INSERT, &payment.bind())?;
    Ok(payment)
}

/// A payment by ID.
pub fn find(db: &Reader<'_>, id: PaymentId) -> Result<Payment> {
    Ok(db.one(sql!(Payment::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// All payments for an order or a due, in chronological order.
pub fn find_by_subject(db: &Reader<'_>, subject: &str) -> Result<Vec<Payment>> {
    Ok(db.all(
        sql!(Payment::SELECT, " where account_id = :account and subject = :subject order by id"),
        bind! { subject },
    )?)
}

/// All refunds for an order or a due, in chronological order.
pub fn find_refunds_by_subject(db: &Reader<'_>, subject: &str) -> Result<Vec<Refund>> {
    Ok(db.all(
        sql!(Refund::SELECT, " where account_id = :account and subject = :subject order by id"),
        bind! { subject },
    )?)
}

/// A refund to record.
#[derive(Debug, Clone)]
pub struct RefundRequest {
    pub amount: i64,
    /// The method of the payment if `None`.
    pub method: Option<Method>,
    pub reason: Option<String>,
    /// Refunded amounts by order line.
    pub lines: RefundLines,
}

/// Records a refund of a payment, which cannot exceed what is left of it. A refund through the payment provider is
/// pending until the provider completes it.
pub fn refund(tx: &Tx<'_>, payment: &Payment, request: RefundRequest) -> Result<(Payment, Refund)> {
    let RefundRequest { amount, method, reason, lines } = request;
    if amount <= 0 || amount > payment.amount - payment.refunded {
        return Err(Error::invalid_state("The refund exceeds what is left of the payment."));
    }
    let method = method.unwrap_or(payment.method);
    let payment = set_refunded(tx, payment, payment.refunded + amount)?;
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
        status: if online { RefundStatus::Pending } else { RefundStatus::Succeeded },
        provider_id: None,
        actor: tx.actor().to_owned(),
        created_at: tx.now(),
        updated_at: tx.now(),
    };
    tx.execute(Refund::INSERT, &refund.bind())?;
    Ok((payment, refund))
}

/// Adds the amount of a failed refund back to its payment.
pub fn revert_failed_refund(tx: &Tx<'_>, refund: &Refund) -> Result<Payment> {
    let payment = find(tx, refund.payment_id)?;
    set_refunded(tx, &payment, payment.refunded - refund.amount)
}

fn set_refunded(tx: &Tx<'_>, payment: &Payment, refunded: i64) -> Result<Payment> {
    update(tx, Payment { refunded, ..payment.clone() })
}

fn update(tx: &Tx<'_>, payment: Payment) -> Result<Payment> {
    let payment = Payment { updated_at: tx.now(), version: payment.version + 1, ..payment };
    tx.execute(Payment::UPDATE, &payment.bind())?;
    Ok(payment)
}

/// Records the status of a dispute. Returns the payment if the status has changed.
pub fn record_dispute(tx: &Tx<'_>, before: &Payment, dispute: Dispute) -> Result<Option<Payment>> {
    if before.dispute == Some(dispute) {
        return Ok(None);
    }
    let after = update(tx, Payment { dispute: Some(dispute), ..before.clone() })?;
    tx.publish_change("payment.disputed", before, &after)?;
    Ok(Some(after))
}

/// Erases the free text of payments and refunds for an order or a due.
pub fn clear_free_text(tx: &Tx<'_>, subject: &str) -> Result<()> {
    tx.execute(
        "update payment set reference = null, updated_at = :now, version = version + 1
         where account_id = :account and subject = :subject and reference is not null",
        bind! { subject },
    )?;
    tx.execute(
        "update refund set reason = null, updated_at = :now
         where account_id = :account and subject = :subject and reason is not null",
        bind! { subject },
    )?;
    Ok(())
}

/// A refund by ID.
pub fn find_refund(db: &Reader<'_>, id: RefundId) -> Result<Refund> {
    Ok(db.one(sql!(Refund::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// The payment with this ID at the payment provider.
pub fn find_by_provider(db: &Reader<'_>, provider_id: &str) -> Result<Option<Payment>> {
    Ok(db.optional(
        sql!(Payment::SELECT, " where account_id = :account and provider_id = :provider_id"),
        bind! { provider_id },
    )?)
}

row! {
    /// A refund to process at the payment provider.
    #[derive(Debug, Clone)]
    pub struct PendingRefund {
        pub account_id: AccountId,
        pub id: RefundId,
        pub currency: Currency,
        pub amount: i64,
        pub created_at: Timestamp,
        /// The provider's ID of the refund, once it exists there.
        pub provider_id: Option<String>,
        /// The provider's ID of the payment.
        pub payment: Option<String>,
    }
}

const SELECT_PROVIDER_REFUND: &str =
    "select r.account_id, r.id, r.currency, r.amount, r.created_at,
        r.provider_id, p.provider_id as payment
    from refund r
    join payment p on p.account_id = r.account_id and p.id = r.payment_id";

/// The next batch of pending refunds of all accounts, after the last one of the previous batch.
pub fn list_pending_refunds(
    db: &Reader<'_>,
    after: (AccountId, RefundId),
    limit: i64,
) -> Result<Vec<PendingRefund>> {
    let (last_account, last) = after;
    Ok(db.all(
        sql!(
            SELECT_PROVIDER_REFUND,
            " where r.status = 'pending' and (r.account_id, r.id) > (:last_account, :last)
              order by r.account_id, r.id limit :limit /* any account */"
        ),
        bind! { last_account, last, limit },
    )?)
}

/// A refund in any status, unless the provider rejected it without creating it.
pub fn find_provider_refund(db: &Reader<'_>, id: RefundId) -> Result<PendingRefund> {
    let text = sql!(
        SELECT_PROVIDER_REFUND,
        " where r.account_id = :account and r.id = :id
            and (r.status <> 'failed' or r.provider_id is not null)"
    );
    Ok(db.one(text, bind! { id })?)
}

/// The pending refunds of a payment.
pub fn find_pending_refunds(db: &Reader<'_>, payment_id: PaymentId) -> Result<Vec<PendingRefund>> {
    Ok(db.all(
        sql!(
            SELECT_PROVIDER_REFUND,
            " where r.account_id = :account and r.status = 'pending' and r.payment_id = :payment_id"
        ),
        bind! { payment_id },
    )?)
}

/// Whether a refund for an order or a due is pending.
pub fn has_pending_refund(db: &Reader<'_>, subject: &str) -> Result<bool> {
    let pending: Option<(i64,)> = db.optional(
        "select 1 from refund
         where account_id = :account and subject = :subject and status = 'pending' limit 1",
        bind! { subject },
    )?;
    Ok(pending.is_some())
}

/// Records the status of a refund at the provider and its ID there. A completed refund can still fail later; apart from
/// that, a final status does not change. Returns the refund if its status has changed.
pub fn record_refund_status(
    tx: &Tx<'_>,
    id: RefundId,
    status: RefundStatus,
    provider_id: Option<String>,
) -> Result<Option<Refund>> {
    let before = find_refund(tx, id)?;
    let provider_id = provider_id.or_else(|| before.provider_id.clone());
    let is_transition = match (before.status, status) {
        (RefundStatus::Pending, _) | (RefundStatus::Succeeded, RefundStatus::Failed) => true,
        (RefundStatus::Succeeded | RefundStatus::Failed, _) => false,
    };
    let after = Refund { status, provider_id, updated_at: tx.now(), ..before.clone() };
    if !is_transition || (after.status, &after.provider_id) == (before.status, &before.provider_id)
    {
        return Ok(None);
    }
    tx.execute(Refund::UPDATE, &after.bind())?;
    match after.status {
        RefundStatus::Pending => {}
        RefundStatus::Succeeded => tx.publish_change("refund.completed", &before, &after)?,
        RefundStatus::Failed => tx.publish_change("refund.failed", &before, &after)?,
    }
    Ok((after.status != before.status).then_some(after))
}

/// Moves the payments of a payer to another record of the same person.
pub(super) fn move_to_payer(tx: &Tx<'_>, from: PersonId, into: PersonId) -> Result<()> {
    tx.execute(
        "update payment set payer_id = :into, updated_at = :now, version = version + 1
         where account_id = :account and payer_id = :from",
        bind! { from, into },
    )?;
    Ok(())
}
