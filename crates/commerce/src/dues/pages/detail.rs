//! The page of a due in the admin area: status, installments, payments and history.

use super::formatting::{self, DisplayNames, InstallmentRow};
use super::{Treasurer, detail_path, render};
use crate::accounts::account;
use crate::dues::due::{self, DueView, Status};
use crate::dues::paying;
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
    pub(super) id: PaymentId,
    pub(super) at: Timestamp,
    pub(super) amount: String,
    pub(super) method: &'static str,
    pub(super) reference: Option<String>,
    pub(super) overpaid: Option<String>,
    pub(super) refunded: Option<String>,
    /// Status of a refund to the card; empty if there is nothing to say.
    pub(super) refund_status: &'static str,
    pub(super) refundable: bool,
}

impl PaymentRow {
    pub(super) fn new(payment: &Payment, refunds: &[Refund], refundable: bool) -> Self {
        let money = |minor| formatting::money(minor, payment.currency);
        let some = |minor| (minor > 0).then(|| money(minor));
        let mut refunds = refunds.iter().filter(|refund| refund.payment_id == payment.id);
        let has_status = |refund: &Refund, status| refund.status == status;
        let refund_status =
            if refunds.clone().any(|refund| has_status(refund, RefundStatus::Failed)) {
                t!("The refund to the card failed. Refund the money in another way.")
            } else if refunds.any(|refund| has_status(refund, RefundStatus::Pending)) {
                t!("Refund to the card pending.")
            } else {
                ""
            };
        Self {
            id: payment.id,
            at: payment.paid_at,
            amount: money(payment.amount),
            method: t!(method_label(payment.method)),
            reference: payment.reference.clone(),
            overpaid: some(payment.overpaid),
            refunded: some(payment.refunded),
            refund_status,
            refundable,
        }
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
    path: String,
    person: String,
    payer: String,
    team: String,
    category: &'static str,
    state: (&'static str, &'static str),
    open: String,
    amount: String,
    discount: String,
    late_fee: Option<String>,
    charged_fee: String,
    paid: String,
    waived: String,
    credit: Option<String>,
    parts: Vec<InstallmentRow>,
    payments: Vec<PaymentRow>,
    history: List,
    reminded: Option<Timestamp>,
    due: DueView,
    zone: Zone,
    now: Timestamp,
}

impl DetailPage {
    fn is_open(&self) -> bool {
        self.due.balance > 0
    }

    fn is_untouched(&self) -> bool {
        self.due.status == Status::Open
    }
}

/// The data of the page.
struct PageData {
    due: DueView,
    names: DisplayNames,
    payments: Vec<PaymentRow>,
    history: Vec<LedgerMovement>,
    credit: i64,
    reminded: Option<Timestamp>,
    zone: Zone,
}

fn load(db: &Reader<'_>, id: DueId) -> Result<PageData> {
    let due = due::load(db, id)?.view(db.now());
    let subject = id.to_string();
    let refunds = payment::find_refunds_by_subject(db, &subject)?;
    let payments = payment::find_by_subject(db, &subject)?.into_iter().map(|payment| {
        let refundable = paying::RefundablePayment::of_payment(db, &payment)?.total();
        Ok(PaymentRow::new(&payment, &refunds, refundable > 0))
    });
    Ok(PageData {
        names: DisplayNames::for_dues(db, std::iter::once(&due))?,
        payments: payments.collect::<Result<_>>()?,
        history: history(db, ledger::find_by_subject(db, &subject)?)?,
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
    let PageData { due, names, payments, history, credit, reminded, zone } = data;
    let times = (visitor.app().clock.now(), zone);
    let money = |minor| formatting::money(minor, due.currency);
    let page = DetailPage {
        frame: visitor.frame(due.title.clone(), Section::Dues).flash(flash(&visitor)),
        path: detail_path(id),
        person: names.person(due.person_id),
        payer: names.person(due.payer_id),
        team: names.team(due.team_id),
        category: formatting::category(due.category),
        state: formatting::state(&due),
        open: money(due.balance),
        amount: money(due.amount),
        discount: money(due.discount),
        late_fee: due.late_fee.and_then(|fee| formatting::late_fee(&fee, due.currency)),
        charged_fee: money(due.late_fee_charged),
        paid: money(due.paid),
        waived: money(due.waived),
        credit: (credit > 0).then(|| money(credit)),
        parts: formatting::installment_rows(&due),
        payments,
        history: List::new(t!("History"), HISTORY, &history, &times),
        reminded,
        zone: times.1,
        now: times.0,
        due,
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
