//! The ledger: double-entry and append-only. Only the people of an entry change, when two records of a person are
//! merged. The entries of every movement sum to zero, so the balance of one book always matches the balances of the
//! others.

use kit::string_enum;

use super::payment::Method;
use crate::prelude::*;

string_enum! {
    /// A ledger account: where money is, or what it is for. Debits are positive, credits negative. A cash sale is
    /// positive in `cash` and negative in `sales`.
    pub enum Book {
        Cash = "cash",
        Bank = "bank",
        Card = "card",
        Other = "other",
        /// Receivables from families.
        Receivable = "receivable",
        /// Credit of families from overpayments; negative as long as the club holds it.
        Credit = "credit",
        Dues = "dues",
        LateFees = "late_fees",
        /// Discounts on dues.
        Discounts = "discounts",
        /// Dues that were waived.
        Waived = "waived",
        /// Sales after discounts, without tax.
        Sales = "sales",
        Tax = "tax",
    }
}
enum_column!(Book);

string_enum! {
    /// The kind of a movement.
    pub enum Movement as LedgerMovement {
        Charge = "charge",
        /// An unpaid due was changed.
        Correction = "correction",
        LateFee = "late_fee",
        Waiver = "waiver",
        Payment = "payment",
        /// Credit is applied to a due.
        CreditApplied = "credit_applied",
        Refund = "refund",
    }
}
enum_column!(Movement);

record! {
    /// One entry of a movement.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub struct Entry in ledger_entry {
        pub account_id: AccountId,
        pub movement_id: MovementId,
        pub line: i64,
        pub kind: Movement,
        /// ID of the order or due.
        pub subject: String,
        /// ID of the payment, refund or other part of the subject that moved the money.
        pub reference: Option<String>,
        pub team_id: Option<TeamId>,
        /// The person the subject is for, and the person who pays.
        pub person_id: Option<PersonId>,
        pub payer_id: Option<PersonId>,
        pub book: Book,
        pub currency: Currency,
        pub amount: i64,
        pub actor: String,
        pub created_at: Timestamp,
    }
}

/// What an entry is for and who it concerns.
#[derive(Debug, Clone)]
pub struct EntryContext {
    pub subject: String,
    pub team_id: Option<TeamId>,
    pub person_id: Option<PersonId>,
    pub payer_id: Option<PersonId>,
    pub currency: Currency,
}

impl EntryContext {
    /// The context of money that belongs to no person yet.
    pub fn without_person(subject: String, team_id: Option<TeamId>, currency: Currency) -> Self {
        Self { subject, team_id, person_id: None, payer_id: None, currency }
    }
}

impl Book {
    /// The book for money received with this payment method.
    pub fn for_method(method: Method) -> Self {
        match method {
            Method::Cash => Self::Cash,
            Method::BankTransfer => Self::Bank,
            Method::Card => Self::Card,
            Method::Other => Self::Other,
            Method::Credit => Self::Credit,
        }
    }
}

/// Posts a movement between books. Fails, and thereby rolls back the job, if the amounts do not sum to zero. Zero
/// amounts are skipped.
pub fn post(
    tx: &Tx<'_>,
    kind: Movement,
    context: &EntryContext,
    reference: Option<String>,
    amounts: &[(Book, i64)],
) -> Result<()> {
    post_all(tx, &build_entries(tx, kind, context, reference, amounts)?)
}

/// Inserts the entries of one or more movements.
pub fn post_all(tx: &Tx<'_>, entries: &[Entry]) -> Result<()> {
    let rows: Vec<_> = entries.iter().map(Entry::bind).collect();
    Ok(tx.execute_deferred_all(Entry::INSERT, &rows)?)
}

/// Builds the entries of a movement, as [`post`] inserts them.
pub fn build_entries(
    tx: &Tx<'_>,
    kind: Movement,
    context: &EntryContext,
    reference: Option<String>,
    amounts: &[(Book, i64)],
) -> Result<Vec<Entry>> {
    let sum: i128 = amounts.iter().map(|(_, amount)| i128::from(*amount)).sum();
    if sum != 0 {
        return Err(Error::internal("the entries of a ledger movement do not sum to zero"));
    }
    let movement_id: MovementId = tx.new_id();
    let nonzero = amounts.iter().filter(|(_, amount)| *amount != 0);
    let entries = (1..).zip(nonzero).map(|(line, (book, amount))| Entry {
        account_id: tx.account(),
        movement_id,
        line,
        kind,
        subject: context.subject.clone(),
        reference: reference.clone(),
        team_id: context.team_id,
        person_id: context.person_id,
        payer_id: context.payer_id,
        book: *book,
        currency: context.currency,
        amount: *amount,
        actor: tx.actor().to_owned(),
        created_at: tx.now(),
    });
    Ok(entries.collect())
}

/// The credit of a payer in one currency.
pub fn credit_balance(db: &Reader<'_>, payer: PersonId, currency: Currency) -> Result<i64> {
    let (sum,): (Option<i64>,) = db.one(
        "select cast(sum(amount) as bigint) from ledger_entry
         where account_id = :account and payer_id = :payer and currency = :currency and book = 'credit'",
        bind! { payer, currency },
    )?;
    Ok(-sum.unwrap_or(0))
}

/// The credit of these payers in each currency.
pub fn credit_balances(
    db: &Reader<'_>,
    payers: Vec<PersonId>,
) -> Result<Vec<(PersonId, Currency, i64)>> {
    Ok(db.all(
        "select payer_id, currency, cast(-sum(amount) as bigint) as credit from ledger_entry
         where account_id = :account and payer_id in (:payers) and book = 'credit'
         group by payer_id, currency",
        bind! { payers },
    )?)
}

/// The balance of a book for an order or a due, or only for the entries with this reference.
pub fn balance(
    db: &Reader<'_>,
    subject: &str,
    book: Book,
    reference: Option<String>,
) -> Result<i64> {
    let (sum,): (Option<i64>,) = db.one(
        "select cast(sum(amount) as bigint) from ledger_entry
         where account_id = :account and subject = :subject and book = :book
           and (cast(:reference as text) is null or reference = :reference)",
        bind! { subject, book, reference },
    )?;
    Ok(sum.unwrap_or(0))
}

/// All entries for an order or a due, in chronological order.
pub fn find_by_subject(db: &Reader<'_>, subject: &str) -> Result<Vec<Entry>> {
    Ok(db.all(
        sql!(
            Entry::SELECT,
            " where account_id = :account and subject = :subject order by movement_id, line"
        ),
        bind! { subject },
    )?)
}

/// Moves the entries of a person and payer to another record of the same person. The amounts and the times stay.
pub(super) fn move_to_person(tx: &Tx<'_>, from: PersonId, into: PersonId) -> Result<()> {
    for text in [
        "update ledger_entry set person_id = :into
         where account_id = :account and person_id = :from",
        "update ledger_entry set payer_id = :into
         where account_id = :account and payer_id = :from",
    ] {
        tx.execute(text, bind! { from, into })?;
    }
    Ok(())
}
