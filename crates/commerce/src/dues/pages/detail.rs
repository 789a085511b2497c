//! The page of a due in the admin area: status, installments, payments and history.

use super::Treasurer;
use super::formatting::{self, NamedDue};
use crate::accounts::account;
use crate::dues::due::Status;
use crate::dues::paying::RefundablePayment;
use crate::dues::reminders;
use crate::money::ledger::{self, Book, Entry};
use crate::money::pages::methods::method_label;
use crate::money::payment::{self, Payment, Refund, RefundStatus};
use crate::names::Names;
use crate::prelude::*;
use crate::web::list::{Cell, Column, List};
use crate::web::prelude::*;

/// Confirmation messages, by the `done` parameter.
const DONE: [(&str, &str); 5] = [
    ("paid", mark!("Payment recorded.")),
    ("refunded", mark!("Refund recorded.")),
    ("waived", mark!("Open balance waived.")),
    ("saved", mark!("Changes saved.")),
    ("before", mark!("You already submitted this form. Nothing was recorded twice.")),
];

/// A row of the payments table.
pub(super) struct PaymentRow {
    pub(super) payment: Payment,
    /// Status of a refund to the card; empty if there is nothing to say.
    pub(super) refund_status: &'static str,
    pub(super) refundable: bool,
}

impl PaymentRow {
    /// The payments of a due. Only treasurers see which can be refunded.
    pub(super) fn of_due(db: &Reader<'_>, due: DueId, is_treasurer: bool) -> Result<Vec<Self>> {
        let subject = due.to_string();
        let refunds = payment::find_refunds_by_subject(db, &subject)?;
        let payments = payment::find_by_subject(db, &subject)?.into_iter().map(|payment| {
            let refundable =
                is_treasurer && RefundablePayment::of_payment(db, &payment)?.total() > 0;
            Ok(Self { refund_status: refund_status(&payment, &refunds), payment, refundable })
        });
        payments.collect()
    }

    pub(super) fn method(&self) -> &'static str {
        t!(method_label(self.payment.method))
    }

    pub(super) fn amount(&self) -> String {
        formatting::money(self.payment.amount, self.payment.currency)
    }

    pub(super) fn overpaid(&self) -> String {
        formatting::money(self.payment.overpaid, self.payment.currency)
    }

    pub(super) fn refunded(&self) -> String {
        formatting::money(self.payment.refunded, self.payment.currency)
    }
}

fn refund_status(payment: &Payment, refunds: &[Refund]) -> &'static str {
    let has = |status| {
        refunds.iter().any(|refund| refund.payment_id == payment.id && refund.status == status)
    };
    if has(RefundStatus::Failed) {
        t!("The refund to the card failed. Refund the money in another way.")
    } else if has(RefundStatus::Pending) {
        t!("Refund to the card pending.")
    } else {
        ""
    }
}

/// A ledger movement of this due.
struct LedgerMovement {
    id: MovementId,
    at: Timestamp,
    what: &'static str,
    currency: Currency,
    owed: i64,
    credit: i64,
    actor: String,
}

const HISTORY: &[Column<LedgerMovement>] = &[
    Column::page("Action", |row| Cell::text(row.what)),
    Column::number("Balance change", |row| formatting::signed(row.owed, row.currency)),
    Column::number("Credit", |row| formatting::signed(row.credit, row.currency)),
    Column::page("By", |row| Cell::name(&row.actor)),
    Column::page("Date", |row| Cell::Time(row.at)),
];

#[derive(Template)]
#[template(path = "dues/detail.html")]
struct DetailPage {
    frame: Frame,
    data: PageData,
    history: List,
    now: Timestamp,
}

impl DetailPage {
    fn is_open(&self) -> bool {
        self.data.due.balance > 0
    }

    fn late_fee(&self) -> Option<String> {
        let due = &self.data.due;
        due.late_fee.and_then(|fee| formatting::late_fee(&fee, due.currency))
    }

    fn is_untouched(&self) -> bool {
        self.data.due.status == Status::Open
    }
}

/// The data of the page.
struct PageData {
    due: NamedDue,
    payments: Vec<PaymentRow>,
    history: Vec<LedgerMovement>,
    /// The payer's credit.
    credit: i64,
    reminded: Option<Timestamp>,
    zone: Zone,
}

fn load(db: &Reader<'_>, id: DueId) -> Result<PageData> {
    let due = NamedDue::load(db, id)?;
    Ok(PageData {
        payments: PaymentRow::of_due(db, id, true)?,
        history: history(db, ledger::find_by_subject(db, &id.to_string())?)?,
        credit: ledger::credit_balance(db, due.payer_id, due.currency)?,
        reminded: reminders::last_reminded_at(db, id)?,
        zone: account::find(db)?.timezone,
        due,
    })
}

/// The history of movements, newest first.
fn history(db: &Reader<'_>, entries: Vec<Entry>) -> Result<Vec<LedgerMovement>> {
    let mut movements: Vec<LedgerMovement> = Vec::new();
    for entry in entries {
        if movements.last().is_none_or(|last| last.id != entry.movement_id) {
            movements.push(LedgerMovement {
                id: entry.movement_id,
                at: entry.created_at,
                what: formatting::movement(entry.kind),
                currency: entry.currency,
                owed: 0,
                credit: 0,
                actor: entry.actor,
            });
        }
        match (entry.book, movements.last_mut()) {
            (Book::Receivable, Some(last)) => last.owed += entry.amount,
            (Book::Credit, Some(last)) => last.credit -= entry.amount,
            _ => {}
        }
    }
    let names = Names::load(db, movements.iter().map(|movement| movement.actor.as_str()))?;
    for movement in &mut movements {
        movement.actor = names.get_or_id(&movement.actor).to_owned();
    }
    movements.reverse();
    Ok(movements)
}

pub(super) async fn one(visitor: Treasurer, PathParams(id): PathParams<DueId>) -> PageResult {
    let data = visitor.read(move |db| load(db, id)).await?;
    let times = (visitor.app().clock.now(), data.zone.clone());
    let page = DetailPage {
        frame: visitor.frame(data.due.title.clone(), Section::Dues).flash(flash(&visitor)),
        history: List::new(t!("History"), HISTORY, &data.history, &times),
        now: times.0,
        data,
    };
    render(StatusCode::OK, &page)
}

/// The confirmation message after an action.
fn flash(visitor: &Treasurer) -> Option<Flash> {
    let query = visitor.guest.query().ok()?;
    match query.text("done") {
        "reminded" => {
            Some(super::remind::confirmation(visitor, 1, query.text("emails").parse().ok()?))
        }
        "lately" => {
            Some(Flash::failure(t!("A reminder for this due was sent within the last hour.")))
        }
        _ => visitor.guest.done_flash(&DONE),
    }
}
