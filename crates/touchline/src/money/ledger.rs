//! The ledger: double entry, only ever added to. Every movement is some entries that sum to nothing, so whatever
//! lies in one book has come out of others, and no sum can be off without another being off too.

use kit::{Currency, Timestamp, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql, word_column};

use super::payment::Method;
use crate::error::{Error, Result};
use crate::ids::{AccountId, MovementId, PersonId, TeamId};

words! {
    /// Where money is, or what it is for. What comes into a book is positive, what goes out of it negative: money
    /// that came in is positive in `cash`, and what it was paid for negative in `sales`.
    pub enum Book {
        Cash = "cash",
        Bank = "bank",
        Card = "card",
        Other = "other",
        /// What families owe.
        Owed = "owed",
        /// What families have paid ahead: negative as long as the club has it.
        Credit = "credit",
        Dues = "dues",
        LateFees = "late_fees",
        /// What was taken off dues.
        Discounts = "discounts",
        /// What was owed and need not be paid any more.
        Waived = "waived",
        /// What was sold, without tax and after discounts.
        Sales = "sales",
        Tax = "tax",
    }
}
word_column!(Book);

words! {
    /// What moves money.
    pub enum Movement {
        Charge = "charge",
        /// An unpaid due was changed.
        Correction = "correction",
        LateFee = "late_fee",
        Waiver = "waiver",
        Payment = "payment",
        /// What was paid ahead is used.
        CreditUse = "credit_use",
        Refund = "refund",
    }
}
word_column!(Movement);

record! {
    /// One line of a movement.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    pub struct Entry in ledger_entry {
        pub account_id: AccountId,
        pub movement_id: MovementId,
        pub line: i64,
        pub kind: Movement,
        /// The id of the order or due it is about.
        pub subject: String,
        /// The part of it that moved, such as a payment.
        pub reference: Option<String>,
        pub team_id: Option<TeamId>,
        /// Whose it is, and who pays for them.
        pub person_id: Option<PersonId>,
        pub payer_id: Option<PersonId>,
        pub book: Book,
        pub currency: Currency,
        pub amount: i64,
        pub actor: String,
        pub created_at: Timestamp,
    }
}

/// What money is moved for.
#[derive(Debug, Clone)]
pub struct About {
    pub subject: String,
    pub team_id: Option<TeamId>,
    pub person_id: Option<PersonId>,
    pub payer_id: Option<PersonId>,
    pub currency: Currency,
}

impl Book {
    /// The book in which money of this kind lies.
    pub fn of(method: Method) -> Self {
        match method {
            Method::Cash => Self::Cash,
            Method::Transfer => Self::Bank,
            Method::Card => Self::Card,
            Method::Other => Self::Other,
            Method::Credit => Self::Credit,
        }
    }
}

/// Moves money between books. What does not sum to nothing is refused, and with it the whole job; amounts of
/// zero are left out.
pub fn enter(
    tx: &Tx<'_>,
    kind: Movement,
    about: &About,
    reference: Option<String>,
    amounts: &[(Book, i64)],
) -> Result<()> {
    enter_all(tx, &moved(tx, kind, about, reference, amounts)?)
}

/// Writes the entries of some movements down.
pub fn enter_all(tx: &Tx<'_>, entries: &[Entry]) -> Result<()> {
    let rows: Vec<_> = entries.iter().map(Entry::bind).collect();
    Ok(tx.later_all(Entry::INSERT, &rows)?)
}

/// The entries of a movement, as [`enter`] writes them down.
pub fn moved(
    tx: &Tx<'_>,
    kind: Movement,
    about: &About,
    reference: Option<String>,
    amounts: &[(Book, i64)],
) -> Result<Vec<Entry>> {
    let sum: i128 = amounts.iter().map(|(_, amount)| i128::from(*amount)).sum();
    if sum != 0 {
        return Err(Error::internal("a movement of money does not sum to nothing"));
    }
    let movement_id: MovementId = tx.new_id();
    let moved = amounts.iter().filter(|(_, amount)| *amount != 0);
    let entries = (1..).zip(moved).map(|(line, (book, amount))| Entry {
        account_id: tx.account(),
        movement_id,
        line,
        kind,
        subject: about.subject.clone(),
        reference: reference.clone(),
        team_id: about.team_id,
        person_id: about.person_id,
        payer_id: about.payer_id,
        book: *book,
        currency: about.currency,
        amount: *amount,
        actor: tx.actor().to_owned(),
        created_at: tx.now(),
    });
    Ok(entries.collect())
}

/// How much of a currency a payer has paid ahead.
pub fn credit(db: &Reader<'_>, payer: PersonId, currency: Currency) -> Result<i64> {
    let (sum,): (Option<i64>,) = db.one(
        "select cast(sum(amount) as bigint) from ledger_entry
         where account_id = :account and payer_id = :payer and currency = :currency and book = 'credit'",
        bind! { payer, currency },
    )?;
    Ok(-sum.unwrap_or(0))
}

/// How much these payers have paid ahead, in each currency, whatever they paid for.
pub fn credits(db: &Reader<'_>, payers: Vec<PersonId>) -> Result<Vec<(PersonId, Currency, i64)>> {
    Ok(db.all(
        "select payer_id, currency, cast(-sum(amount) as bigint) as credit from ledger_entry
         where account_id = :account and payer_id in (:payers) and book = 'credit'
         group by payer_id, currency",
        bind! { payers },
    )?)
}

/// How much has come into a book for an order or a due, or for one part of it; negative: has gone out.
pub fn within(db: &Reader<'_>, subject: &str, book: Book, part: Option<String>) -> Result<i64> {
    let (sum,): (Option<i64>,) = db.one(
        "select cast(sum(amount) as bigint) from ledger_entry
         where account_id = :account and subject = :subject and book = :book
           and (cast(:part as text) is null or reference = :part)",
        bind! { subject, book, part },
    )?;
    Ok(sum.unwrap_or(0))
}

/// Everything that was moved for an order or a due, in order.
pub fn of_subject(db: &Reader<'_>, subject: &str) -> Result<Vec<Entry>> {
    Ok(db.all(
        sql!(
            Entry::SELECT,
            " where account_id = :account and subject = :subject order by movement_id, line"
        ),
        bind! { subject },
    )?)
}
