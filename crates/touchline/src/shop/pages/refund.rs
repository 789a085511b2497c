//! Giving money back for an order: what will happen, and how much.

use askama::Template;
use axum::response::Response;
use store::{Reader, Tx};

use super::order::{self as orders, Parts};
use super::{Keeper, Sent, do_once, is_fault, many, money, sheet, show, status};
use crate::accounts::rights::Reach;
use crate::error::{Code, Error};
use crate::expected::Expected;
use crate::ids::OrderId;
use crate::money::pages::giving;
use crate::shop::order::{self, Line, Order};
use crate::shop::refunding::{self, NewRefund};
use crate::web::form::{Faults, Form};
use crate::web::once::{new_nonce, nonce};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, see_other};

const EVERYWHERE: &Reach = &Reach::Everywhere;
const REASON: usize = 500;
/// What somebody is told who would give back another sum than they were shown.
const CHANGED: &str =
    "Something was given back since you looked. Nothing more was; look what is left now.";

/// What was typed.
#[derive(Debug)]
struct Typed {
    how: String,
    amount: String,
    restock: bool,
    /// How the money goes back, where there is a choice.
    way: String,
    reason: String,
    parts: Parts,
    /// What the page said is left to be given back, in minor units.
    left: String,
}

impl Typed {
    fn read(form: &Form, order: &Order, faults: &mut Faults) -> Self {
        let how = form.text("how").to_owned();
        let mut unread = Faults::default();
        let by_line = how == "lines";
        Self {
            parts: Parts::read(form, order, if by_line { faults } else { &mut unread }),
            how,
            amount: form.text("amount").to_owned(),
            restock: form.ticked("restock"),
            way: form.text("method").to_owned(),
            reason: form.text("reason").to_owned(),
            left: form.text("left").to_owned(),
        }
    }

    /// What is given back, or everything that is wrong.
    fn refund(&self, order: &Order, faults: &mut Faults) -> Option<NewRefund> {
        let kept = &order.kept;
        let reason = orders::short(&self.reason, REASON);
        let reason = reason.map_err(|wrong| faults.add("reason", wrong)).ok()?;
        let left = money(kept.paid - kept.refunded, kept.currency);
        let (restock, method) = (Some(self.restock), giving::chosen(&self.way, faults));
        let new = NewRefund { amount: None, lines: None, restock, method, reason };
        if self.how != "amount" && !self.amount.is_empty() {
            faults.add("amount", "Clear the amount, or choose “An amount”.");
            return None;
        }
        if self.how != "lines" && !self.parts.lines.is_empty() {
            let wrong = "Clear the quantities, or choose “For some lines”.";
            faults.add("lines", wrong);
            return None;
        }
        match self.how.as_str() {
            "all" => Some(new),
            "lines" if self.parts.lines.is_empty() => {
                faults.add("lines", "Enter how many of which line are taken back.");
                None
            }
            "lines" => Some(NewRefund { lines: Some(self.parts.lines.clone()), ..new }),
            "amount" => match sheet::amount(&self.amount, kept.currency) {
                Err(wrong) => {
                    faults.add("amount", wrong);
                    None
                }
                Ok(amount) if amount == 0 || amount > left.minor => {
                    faults.add("amount", format!("Between nothing and {left} can be given back."));
                    None
                }
                Ok(amount) => Some(NewRefund { amount: Some(amount), restock: None, ..new }),
            },
            _ => {
                faults.add("how", "Choose what is given back.");
                None
            }
        }
    }
}

#[derive(Template)]
#[template(path = "shop/refund.html")]
struct RefundPage {
    frame: Frame,
    order: Order,
    left: kit::Money,
    /// Whether the money goes back by itself, through the provider of cards.
    online: bool,
    typed: Typed,
    faults: Faults,
    nonce: String,
}

impl RefundPage {
    /// What the field of a line says that can be taken back.
    fn back(line: &Line) -> String {
        many(line, line.quantity - line.returned)
    }

    fn amount_in(&self) -> String {
        format!("Amount in {}", self.left.currency.code())
    }

    fn is(&self, how: &str) -> bool {
        self.typed.how == how
    }
}

async fn show_form(
    visitor: &Keeper,
    id: OrderId,
    typed: Typed,
    faults: Faults,
    nonce: String,
) -> Outcome<Response> {
    let look = move |db: &Reader<'_>| orders::whole(db, EVERYWHERE, id);
    let (order, payments, refunds) = visitor.read(look).await?;
    let frame = visitor.frame("Give money back", Section::Orders);
    let left = money(order.kept.paid - order.kept.refunded, order.kept.currency);
    let usual = giving::usual(&payments, &refunds);
    let way = if typed.way.is_empty() { usual.unwrap_or_default().to_owned() } else { typed.way };
    let (online, typed) = (usual.is_some(), Typed { way, ..typed });
    let code = status(&faults);
    show(code, &RefundPage { frame, order, left, online, typed, faults, nonce })
}

pub(super) async fn ask(visitor: Keeper, At(id): At<OrderId>) -> Outcome<Response> {
    let typed = Typed {
        how: "all".to_owned(),
        amount: String::new(),
        restock: true,
        way: String::new(),
        reason: String::new(),
        parts: Parts::default(),
        left: String::new(),
    };
    let nonce = new_nonce(visitor.app());
    show_form(&visitor, id, typed, Faults::default(), nonce).await
}

pub(super) async fn refund(At(id): At<OrderId>, Sent { visitor, form }: Sent) -> Outcome<Response> {
    let order = orders::found(&visitor, id).await?;
    let nonce = nonce(&form)?;
    let mut faults = Faults::default();
    let typed = Typed::read(&form, &order, &mut faults);
    let new = typed.refund(&order, &mut faults).filter(|_| faults.is_empty());
    let (all, left) = (typed.how == "all", typed.left.clone());
    let refund = move |tx: &Tx<'_>| {
        // Whoever sends the form twice is told so, though nothing may be left to be given back.
        let new = new.ok_or_else(|| Error::invalid(Vec::new()))?;
        let now = order::find(tx, EVERYWHERE, id)?.kept;
        if all && (now.paid - now.refunded).to_string() != left {
            return Err(Error::new(Code::Conflict, CHANGED));
        }
        let done = refunding::refund(tx, EVERYWHERE, id, &Expected::Anything, new);
        done.map(|order| order.kept.id.to_string())
    };
    match do_once(&visitor, nonce.clone(), refund).await {
        Ok(_) => return Ok(see_other(&format!("/admin/orders/{id}?done=refunded"))),
        Err(error) if !is_fault(&error) => return Err(error.into()),
        Err(error) if faults.is_empty() || error.code == Code::Conflict => {
            faults = typed.parts.placed(&error);
        }
        Err(_) => {}
    }
    show_form(&visitor, id, typed, faults, nonce.name).await
}
