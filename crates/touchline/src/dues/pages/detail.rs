//! A due: how it stands, how it is paid, and what happened to it.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::{Timestamp, Zone};
use store::Reader;

use super::shown::{self, Around, PartRow};
use super::{Treasurer, place, show, typed};
use crate::accounts::account;
use crate::dues::due::{self, Shown, Status};
use crate::dues::paying;
use crate::dues::reminders;
use crate::error::Result;
use crate::ids::{DueId, MovementId, PaymentId};
use crate::money::ledger::{self, Book, Entry};
use crate::money::pages::methods::method;
use crate::money::payment::{self, Payment, Refund, RefundStatus};
use crate::names::Names;
use crate::web::page::{Flash, Frame, Section};
use crate::web::path::At;
use crate::web::visitor::Outcome;

/// What is said after something was done.
const DONE: [(&str, &str); 5] = [
    ("paid", "The payment was written down."),
    ("refunded", "What was given back is written down."),
    ("waived", "What was open need not be paid any more."),
    ("saved", "Saved."),
    ("before", "This form was carried out once already; nothing was done twice."),
];

/// Money that came in, as it is shown.
pub(super) struct PaidRow {
    pub(super) id: PaymentId,
    pub(super) at: Timestamp,
    pub(super) amount: String,
    pub(super) method: &'static str,
    pub(super) reference: Option<String>,
    pub(super) credited: Option<String>,
    pub(super) refunded: Option<String>,
    /// What has become of the money that went back to a card.
    pub(super) returns: &'static str,
    pub(super) refundable: bool,
}

impl PaidRow {
    pub(super) fn new(payment: &Payment, refunds: &[Refund], refundable: bool) -> Self {
        let money = |minor| shown::money(minor, payment.currency);
        let some = |minor| (minor > 0).then(|| money(minor));
        let mut own = refunds.iter().filter(|refund| refund.payment_id == payment.id);
        let is = |refund: &Refund, status| refund.status == status;
        let returns = if own.clone().any(|refund| is(refund, RefundStatus::Failed)) {
            "The card refused it: give it back in another way."
        } else if own.any(|refund| is(refund, RefundStatus::Pending)) {
            "On its way to the card."
        } else {
            ""
        };
        Self {
            id: payment.id,
            at: payment.paid_at,
            amount: money(payment.amount),
            method: method(payment.method),
            reference: payment.reference.clone(),
            credited: some(payment.credited),
            refunded: some(payment.refunded),
            returns,
            refundable,
        }
    }
}

/// Something that moved money.
struct Moved {
    id: MovementId,
    at: Timestamp,
    what: &'static str,
    owed: i64,
    credit: i64,
    actor: String,
}

/// A line of the history.
struct Step {
    at: Timestamp,
    what: &'static str,
    owed: String,
    credit: String,
    actor: String,
}

#[derive(Template)]
#[template(path = "dues/detail.html")]
struct DetailPage {
    frame: Frame,
    place: String,
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
    parts: Vec<PartRow>,
    payments: Vec<PaidRow>,
    steps: Vec<Step>,
    reminded: Option<Timestamp>,
    due: Shown,
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

/// Everything that a page of a due shows.
struct Found {
    due: Shown,
    around: Around,
    payments: Vec<PaidRow>,
    steps: Vec<Step>,
    credit: i64,
    reminded: Option<Timestamp>,
    zone: Zone,
}

fn found(db: &Reader<'_>, id: DueId) -> Result<Found> {
    let due = due::whole(db, id)?.shown(db.now());
    let subject = id.to_string();
    let refunds = payment::refunds_of(db, &subject)?;
    let payments = payment::of_subject(db, &subject)?.into_iter().map(|payment| {
        let most = paying::Left::of(db, &payment)?.most();
        Ok(PaidRow::new(&payment, &refunds, most > 0))
    });
    Ok(Found {
        around: Around::of(db, std::iter::once(&due))?,
        payments: payments.collect::<Result<_>>()?,
        steps: steps(db, &due, ledger::of_subject(db, &subject)?)?,
        credit: ledger::credit(db, due.payer_id, due.currency)?,
        reminded: reminders::last(db, id)?,
        zone: account::find(db)?.timezone,
        due,
    })
}

/// What was moved, the newest first.
fn steps(db: &Reader<'_>, due: &Shown, entries: Vec<Entry>) -> Result<Vec<Step>> {
    let mut moved: Vec<Moved> = Vec::new();
    for entry in entries {
        if moved.last().is_none_or(|last| last.id != entry.movement_id) {
            moved.push(Moved {
                id: entry.movement_id,
                at: entry.created_at,
                what: shown::movement(entry.kind),
                owed: 0,
                credit: 0,
                actor: entry.actor,
            });
        }
        match (entry.book, moved.last_mut()) {
            (Book::Owed, Some(last)) => last.owed += entry.amount,
            (Book::Credit, Some(last)) => last.credit -= entry.amount,
            _ => {}
        }
    }
    let names = Names::of(db, moved.iter().map(|one| one.actor.as_str()))?;
    let step = |one: &Moved| Step {
        at: one.at,
        what: one.what,
        owed: shown::signed(one.owed, due.currency),
        credit: shown::signed(one.credit, due.currency),
        actor: names.or_id(&one.actor).to_owned(),
    };
    Ok(moved.iter().rev().map(step).collect())
}

pub(super) async fn one(visitor: Treasurer, At(id): At<DueId>) -> Outcome<Response> {
    let found = visitor.read(move |db| found(db, id)).await?;
    let Found { due, around, payments, steps, credit, reminded, zone } = found;
    let money = |minor| shown::money(minor, due.currency);
    let (kind, fee) = typed::late_fee_of(due.late_fee.as_ref(), due.currency);
    let page = DetailPage {
        frame: visitor.frame(due.title.clone(), Section::Dues).flash(flash(&visitor)),
        place: place(id),
        person: around.person(due.person_id),
        payer: around.person(due.payer_id),
        team: around.team(due.team_id),
        category: shown::category(due.category),
        state: shown::state(&due),
        open: money(due.balance),
        amount: money(due.amount),
        discount: money(due.discount),
        late_fee: match kind.as_str() {
            "amount" => due.late_fee.and_then(|fee| fee.amount).map(money),
            "percent" => Some(format!("{fee} % of what is overdue")),
            _ => None,
        },
        charged_fee: money(due.late_fee_charged),
        paid: money(due.paid),
        waived: money(due.waived),
        credit: (credit > 0).then(|| money(credit)),
        parts: shown::parts(&due),
        payments,
        steps,
        reminded,
        zone,
        now: visitor.app().clock.now(),
        due,
    };
    show(StatusCode::OK, &page)
}

/// What was done before; of a reminder, how many letters went out.
fn flash(visitor: &Treasurer) -> Option<Flash> {
    let query = visitor.guest.query().ok()?;
    match query.text("done") {
        "reminded" => Some(super::remind::said(visitor, 1, query.text("letters").parse().ok()?)),
        "lately" => Some(Flash::bad("They were reminded within the last hour.")),
        _ => visitor.guest.done(&DONE),
    }
}
