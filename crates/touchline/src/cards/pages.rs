//! Where people go to the payment provider, and the pages to which it sends them back. Those say nothing about anybody: whether something
//! was paid is what the provider tells us, not where a browser has been sent.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;

use super::checkout::Wish;
use super::opening;
use super::subject::Subject;
use crate::accounts::permits::OrdersPlace;
use crate::app::App;
use crate::error::{Error, Result};
use crate::ids::DueId;
use crate::money;
use crate::web::form::Form;
use crate::web::page::{self, Frame};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Posted, Visitor, see_other};

/// Where something is paid, `/checkout/done` and `/checkout/back`.
pub fn router() -> Router<App> {
    Router::new()
        .route("/dues/{id}/pay", post(pay_due))
        .route("/checkout/done", get(done))
        .route("/checkout/back", get(back))
}

/// Sends the payer of a due to the provider's page.
async fn pay_due(
    At(id): At<DueId>,
    Posted { visitor, form }: Posted<OrdersPlace>,
) -> Outcome<Response> {
    let url = url(&visitor, Subject::Due(id), &form).await?;
    Ok(see_other(&url))
}

/// The address of the page on which it is paid: all of it, or as much as the form says.
async fn url(visitor: &Visitor<OrdersPlace>, subject: Subject, form: &Form) -> Result<String> {
    let told = form.maybe("amount").map(str::parse::<i64>);
    let amount = told
        .transpose()
        .ok()
        .filter(|told| told.is_none_or(|one| (1..=money::MOST).contains(&one)));
    // Who must not know of it is told so before anything else.
    let (app, reach) = (visitor.app(), visitor.reach().await?);
    let known = reach.clone();
    visitor.read(move |db| subject.shown(db, &known)).await?;
    let amount = amount.ok_or_else(|| Error::invalid_state("This is not an amount."))?;
    opening::lead(app, visitor.scope()?, reach, Wish { amount, ..Wish::all_of(subject) }).await
}

#[derive(Template)]
#[template(path = "checkout.html")]
struct Checkout {
    frame: Frame,
    paid: bool,
}

async fn done() -> Result<Response> {
    page::html(StatusCode::OK, &Checkout { frame: Frame::plain("Thank you"), paid: true })
}

async fn back() -> Result<Response> {
    page::html(StatusCode::OK, &Checkout { frame: Frame::plain("Not paid yet"), paid: false })
}
