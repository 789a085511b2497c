//! The redirect to the payment provider, and the pages it sends payers back to. Those pages show no personal data and
//! prove nothing: only the provider's API tells whether something was paid.

use super::checkout::CheckoutRequest;
use super::checkout_session;
use super::subject::Subject;
use crate::money;
use crate::prelude::*;
use crate::shop::OrdersPlace;
use crate::web::page;
use crate::web::prelude::*;

/// Routes for paying a due or an order, `/checkout/done` and `/checkout/back`.
pub fn router() -> Router<App> {
    Router::new()
        .route("/dues/{id}/pay", post(pay_due))
        .route("/store/orders/{id}/checkout", post(pay_order))
        .route("/checkout/done", get(done))
        .route("/checkout/back", get(back))
}

/// Redirects the payer of a due to the provider's payment page, for the amount in the form or the whole outstanding
/// amount.
async fn pay_due(
    PathParams(id): PathParams<DueId>,
    VisitorForm { visitor, form }: VisitorForm<OrdersPlace>,
) -> PageResult {
    let subject = Subject::Due(id);
    let parsed = form.optional("amount").map(str::parse::<i64>);
    let amount = parsed
        .transpose()
        .ok()
        .filter(|amount| amount.is_none_or(|amount| (1..=money::MAX_AMOUNT).contains(&amount)));
    // Checks access before reporting an invalid amount.
    let access = visitor.team_access().await?;
    let visible = access.clone();
    visitor.read(move |db| subject.find_outstanding(db, &visible)).await?;
    let amount = amount.ok_or_else(|| {
        Error::invalid_state(
            "This amount cannot be paid. Go back, reload the page and choose an amount there.",
        )
    })?;
    let request = CheckoutRequest { amount, ..CheckoutRequest::for_full_amount(subject) };
    let url = checkout_session::open_url(visitor.app(), visitor.scope()?, access, request).await?;
    Ok(see_other(&url))
}

/// Redirects the payer of an order to the provider's payment page.
async fn pay_order(
    PathParams(id): PathParams<OrderId>,
    VisitorForm { visitor, .. }: VisitorForm<OrdersPlace>,
) -> PageResult {
    let (scope, access) = (visitor.scope()?, visitor.team_access().await?);
    let request = CheckoutRequest::for_full_amount(Subject::Order(id));
    let url = checkout_session::open_url(visitor.app(), scope, access, request).await?;
    Ok(see_other(&url))
}

#[derive(Template)]
#[template(path = "checkout.html")]
struct Checkout {
    frame: Frame,
    paid: bool,
}

async fn done() -> Result<Response> {
    page::html(StatusCode::OK, &Checkout { frame: Frame::plain(t!("Thank you")), paid: true })
}

async fn back() -> Result<Response> {
    page::html(StatusCode::OK, &Checkout { frame: Frame::plain(t!("Not paid yet")), paid: false })
}
