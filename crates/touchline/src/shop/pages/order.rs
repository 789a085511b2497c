//! One order, for those who run the store: its money, and what is done with it.

use std::borrow::Borrow;

use askama::Template;
use axum::response::Response;
use kit::text;
use kit::word::Word;
use kit::{Timestamp, Zone};
use store::{Reader, Tx};

use super::sheet;
use super::shown::{self, AskPage};
use super::{Keeper, Sent, do_once, is_fault, many, money, named, placed, seller, show, status};
use crate::accounts::account;
use crate::accounts::rights::Reach;
use crate::error::{Error, Fault, Result};
use crate::expected::Expected;
use crate::ids::OrderId;
use crate::money::pages::methods::{BY_HAND, method};
use crate::money::payment::{self, Method, Paid, Payment, Refund};
use crate::shop::ending::{self, OrderCancellation};
use crate::shop::handing::{self, Handing, Part};
use crate::shop::order::{self, Order, Status};
use crate::shop::settle;
use crate::web::form::{Faults, Form};
use crate::web::once::{new_nonce, nonce};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, see_other};

/// What is said after something was done.
const DONE: [(&str, &str); 5] = [
    ("placed", "The order was placed."),
    ("paid", "The payment was written down."),
    ("handed", "It was written down that this was handed out."),
    ("cancelled", "The order was cancelled. What it had taken can be sold again."),
    ("refunded", "The money is given back."),
];
const EVERYWHERE: &Reach = &Reach::Everywhere;
/// The longest reference, and the longest reason.
const REFERENCE: usize = 120;
const REASON: usize = 500;

/// So many of some lines, as they were typed.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// By the place of the line in the order.
    pub(super) typed: Vec<String>,
    pub(super) lines: Vec<Part>,
    /// At which line each part was typed.
    places: Vec<usize>,
}

impl Parts {
    /// Reads what was typed beside the lines of an order.
    pub(super) fn read(form: &Form, order: &Order, faults: &mut Faults) -> Self {
        let mut read = Self::default();
        for (place, line) in order.lines.iter().enumerate() {
            let name = format!("part-{place}");
            let typed = form.text(&name).to_owned();
            match sheet::whole(&typed) {
                _ if typed.is_empty() => {}
                Ok(0) => {}
                Ok(quantity) => {
                    read.lines.push(Part { line_id: line.id, quantity });
                    read.places.push(place);
                }
                Err(wrong) => faults.add(&name, wrong),
            }
            read.typed.push(typed);
        }
        read
    }

    /// The name of the field beside a line.
    pub(super) fn field(place: impl Borrow<usize>) -> String {
        format!("part-{}", place.borrow())
    }

    /// What was typed beside a line.
    pub(super) fn at(&self, place: impl Borrow<usize>) -> &str {
        self.typed.get(*place.borrow()).map_or("", String::as_str)
    }

    /// What is wrong with what was typed beside a line.
    pub(super) fn wrong(faults: &Faults, place: impl Borrow<usize>) -> &str {
        faults.at(&Self::field(place))
    }

    /// The faults of a refusal, each at the line where its part was typed.
    pub(super) fn placed(&self, error: &Error) -> Faults {
        let mut faults = Faults::default();
        for fault in &error.faults {
            let mut steps = fault.pointer.split('/').skip(1);
            let line = match (steps.next(), steps.next()) {
                (Some("lines"), Some(number)) => number.parse::<usize>().ok(),
                _ => None,
            };
            match line.and_then(|part| self.places.get(part)) {
                Some(place) => faults.add(&format!("part-{place}"), fault.detail.clone()),
                None => faults.add(fault.pointer.trim_start_matches('/'), fault.detail.clone()),
            }
        }
        if faults.is_empty() { placed(error) } else { faults }
    }
}

/// Something that happened to an order.
pub(super) struct Happened {
    pub(super) at: Timestamp,
    pub(super) what: String,
    pub(super) more: Option<String>,
    /// A kind of badge and a word, if there is something to watch.
    pub(super) state: Option<(&'static str, &'static str)>,
}

/// All that happened to an order, in order.
pub(super) fn history(order: &Order, payments: &[Payment], refunds: &[Refund]) -> Vec<Happened> {
    let plain = |at, what: &str| Happened { at, what: what.to_owned(), more: None, state: None };
    let kept = &order.kept;
    let mut all = vec![plain(kept.created_at, "Placed")];
    for payment in payments {
        let amount = money(payment.amount, payment.currency);
        let what = format!("{amount} paid: {}", method(payment.method));
        all.push(Happened { more: payment.reference.clone(), ..plain(payment.paid_at, &what) });
    }
    if kept.total == 0 {
        all.extend(kept.paid_at.map(|at| plain(at, "Free, so there is nothing to pay")));
    }
    all.extend(kept.fulfilled_at.map(|at| plain(at, "Everything handed out")));
    for refund in refunds {
        let what = format!("{} given back", money(refund.amount, refund.currency));
        let state = Some(shown::refunded(refund.status));
        all.push(Happened {
            more: refund.reason.clone(),
            state,
            ..plain(refund.created_at, &what)
        });
    }
    let cancelled = kept.cancelled_at.map(|at| plain(at, "Cancelled"));
    all.extend(cancelled.map(|end| Happened { more: kept.cancel_reason.clone(), ..end }));
    all.sort_by_key(|happened| happened.at);
    all
}

/// What was typed into the form of a payment.
#[derive(Debug, Default)]
struct Paying {
    method: String,
    amount: String,
    reference: String,
}

#[derive(Template)]
#[template(path = "shop/order.html")]
struct OnePage {
    frame: Frame,
    order: Order,
    seller: String,
    state: (&'static str, &'static str),
    owed: kit::Money,
    history: Vec<Happened>,
    methods: Vec<(&'static str, &'static str)>,
    paying: Paying,
    parts: Parts,
    faults: Faults,
    nonce: String,
    zone: Zone,
}

impl OnePage {
    fn can_hand_out(&self) -> bool {
        let paid = matches!(self.order.kept.status, Status::Paid | Status::PartiallyRefunded);
        paid && self.order.lines.iter().any(|line| line.open() > 0)
    }

    fn can_cancel(&self) -> bool {
        can_cancel(&self.order)
    }

    fn can_refund(&self) -> bool {
        self.order.kept.paid > self.order.kept.refunded
    }

    /// What the field of a line says that is still to be handed out.
    fn open(line: &order::Line) -> String {
        many(line, line.open())
    }

    fn amount_in(&self) -> String {
        format!("Amount in {}", self.owed.currency.code())
    }

    fn is_method(&self, word: &str) -> bool {
        self.paying.method == word
    }
}

/// Whether an order can still be cancelled.
pub(super) fn can_cancel(order: &Order) -> bool {
    let untouched = order.lines.iter().all(|line| line.fulfilled == 0 && line.returned == 0);
    let free = order.kept.status == Status::Paid && order.kept.total == 0 && untouched;
    order.kept.status == Status::Placed || free
}

/// One order and its money.
pub(super) fn whole(
    db: &Reader<'_>,
    reach: &Reach,
    id: OrderId,
) -> Result<(Order, Vec<Payment>, Vec<Refund>)> {
    let order = order::find(db, reach, id)?;
    let subject = id.to_string();
    Ok((order, payment::of_subject(db, &subject)?, payment::refunds_of(db, &subject)?))
}

/// The order's page, as it is after a form that could not be carried out.
struct Again {
    paying: Option<Paying>,
    parts: Parts,
    faults: Faults,
    nonce: String,
}

async fn show_one(visitor: &Keeper, id: OrderId, again: Again) -> Outcome<Response> {
    let look = move |db: &Reader<'_>| {
        let (order, payments, refunds) = whole(db, EVERYWHERE, id)?;
        let names = named(db, std::iter::once(order.kept.team_id))?;
        let seller = seller(&names, order.kept.team_id);
        let history = history(&order, &payments, &refunds);
        Ok((order, seller, history, account::find(db)?.timezone))
    };
    let (order, seller, history, zone) = visitor.read(look).await?;
    let owed = shown::owed(&order);
    let paying = again.paying.unwrap_or_else(|| Paying {
        method: Method::Cash.word().to_owned(),
        amount: owed.plain(),
        reference: String::new(),
    });
    let code = status(&again.faults);
    let frame = visitor.frame(format!("Order {}", order.kept.number), Section::Orders);
    let page = OnePage {
        frame: frame.flash(visitor.guest.done(&DONE)),
        seller,
        state: shown::progress(order.kept.status),
        owed,
        history,
        methods: BY_HAND.map(|(method, label)| (method.word(), label)).to_vec(),
        paying,
        parts: again.parts,
        faults: again.faults,
        nonce: again.nonce,
        zone,
        order,
    };
    show(code, &page)
}

pub(super) async fn one(visitor: Keeper, At(id): At<OrderId>) -> Outcome<Response> {
    let nonce = new_nonce(visitor.app());
    let again = Again { paying: None, parts: Parts::default(), faults: Faults::default(), nonce };
    show_one(&visitor, id, again).await
}

pub(super) async fn found(visitor: &Keeper, id: OrderId) -> Result<Order> {
    visitor.read(move |db| order::find(db, EVERYWHERE, id)).await
}

pub(super) async fn pay(At(id): At<OrderId>, Sent { visitor, form }: Sent) -> Outcome<Response> {
    let order = found(&visitor, id).await?;
    let nonce = nonce(&form)?;
    let text = |name: &str| form.text(name).to_owned();
    let paying =
        Paying { method: text("method"), amount: text("amount"), reference: text("reference") };
    let mut faults = Faults::default();
    let paid = paying.read(&order, &mut faults);
    if let Some(paid) = paid.filter(|_| faults.is_empty()) {
        let pay = move |tx: &Tx<'_>| {
            let before = order::find(tx, EVERYWHERE, id)?;
            settle::pay(tx, before, paid).map(|order| order.kept.id.to_string())
        };
        match do_once(&visitor, nonce.clone(), pay).await {
            Ok(_) => return Ok(see_other(&format!("/admin/orders/{id}?done=paid"))),
            Err(error) if is_fault(&error) => faults = placed(&error),
            Err(error) => return Err(error.into()),
        }
    }
    let again = Again { paying: Some(paying), parts: Parts::default(), faults, nonce: nonce.name };
    show_one(&visitor, id, again).await
}

impl Paying {
    fn read(&self, order: &Order, faults: &mut Faults) -> Option<Paid> {
        let currency = order.kept.currency;
        let method =
            BY_HAND.iter().map(|(method, _)| *method).find(|method| method.word() == self.method);
        if method.is_none() {
            faults.add("method", "Choose how it was paid.");
        }
        let owed = money(order.kept.total, currency);
        let amount = sheet::amount(&self.amount, currency);
        match &amount {
            Err(wrong) => faults.add("amount", wrong.clone()),
            Ok(amount) if *amount != owed.minor => {
                faults.add("amount", format!("An order is paid in one piece: {owed}."));
            }
            Ok(_) => {}
        }
        let reference = short(&self.reference, REFERENCE).map_err(|wrong| {
            faults.add("reference", wrong);
        });
        Some(Paid {
            amount: Some(amount.ok()?),
            method: method?,
            reference: reference.ok()?,
            paid_at: None,
            provider_id: None,
        })
    }
}

/// A line that may be left empty.
pub(super) fn short(typed: &str, most: usize) -> std::result::Result<Option<String>, String> {
    match text::line(typed, most) {
        Ok(text) => Ok(Some(text)),
        Err(text::TextFault::Empty) => Ok(None),
        Err(text::TextFault::TooLong { max }) => Err(format!("It has at most {max} characters.")),
        Err(text::TextFault::Control) => Err("It has a character that cannot be shown.".to_owned()),
    }
}

pub(super) async fn hand_out(
    At(id): At<OrderId>,
    Sent { visitor, form }: Sent,
) -> Outcome<Response> {
    let order = found(&visitor, id).await?;
    let nonce = nonce(&form)?;
    let mut faults = Faults::default();
    let parts = Parts::read(&form, &order, &mut faults);
    let all = form.text("how") == "all";
    if !all && parts.lines.is_empty() && faults.is_empty() {
        faults.add("parts", "Say how many of which line are handed out.");
    }
    if all || faults.is_empty() {
        let lines = if all { None } else { Some(parts.lines.clone()) };
        let hand = move |tx: &Tx<'_>| {
            let done = handing::fulfil(tx, EVERYWHERE, id, &Expected::Anything, Handing { lines });
            done.map(|order| order.kept.id.to_string())
        };
        match do_once(&visitor, nonce.clone(), hand).await {
            Ok(_) => return Ok(see_other(&format!("/admin/orders/{id}?done=handed"))),
            Err(error) if is_fault(&error) => faults = parts.placed(&error),
            Err(error) => return Err(error.into()),
        }
    }
    show_one(&visitor, id, Again { paying: None, parts, faults, nonce: nonce.name }).await
}

/// What happens when an order is cancelled.
pub(super) const ENDED: [&str; 3] = [
    "What it had taken can be sold again.",
    "If a code made it cheaper, that use of the code is given back.",
    "It cannot be undone; whoever wants it after all orders again.",
];

pub(super) async fn ask_cancel(visitor: Keeper, At(id): At<OrderId>) -> Outcome<Response> {
    let order = found(&visitor, id).await?;
    if !can_cancel(&order) {
        return Ok(see_other(&format!("/admin/orders/{id}")));
    }
    let page = AskPage {
        frame: visitor.frame("Cancel this order?", Section::Orders),
        name: format!("Order {} of {}", order.kept.number, order.kept.buyer_name),
        lead: "is cancelled once you say so below.",
        events: ENDED.to_vec(),
        button: "Cancel the order",
        nonce: new_nonce(visitor.app()),
        reason: true,
        back: format!("/admin/orders/{id}"),
    };
    show(http::StatusCode::OK, &page)
}

/// Why an order is cancelled, as it was typed.
pub(super) fn reason(form: &Form) -> Result<OrderCancellation> {
    let wrong = |wrong| Error::invalid(vec![Fault::new("/reason", "invalid", wrong)]);
    Ok(OrderCancellation { reason: short(form.text("reason"), REASON).map_err(wrong)? })
}

pub(super) async fn cancel(At(id): At<OrderId>, Sent { visitor, form }: Sent) -> Outcome<Response> {
    found(&visitor, id).await?;
    let (nonce, why) = (nonce(&form)?, reason(&form)?);
    let cancel = move |tx: &Tx<'_>| {
        let done = ending::cancel(tx, EVERYWHERE, id, &Expected::Anything, why);
        done.map(|order| order.kept.id.to_string())
    };
    do_once(&visitor, nonce, cancel).await?;
    Ok(see_other(&format!("/admin/orders/{id}?done=cancelled")))
}
