//! The pages to which the payment provider sends people back. They say nothing about anybody: whether something
//! was paid is what the provider tells us, not where a browser has been sent.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;

use crate::app::App;
use crate::error::Result;
use crate::web::page::{self, Frame};

/// `/checkout/done` and `/checkout/back`.
pub fn router() -> Router<App> {
    Router::new().route("/checkout/done", get(done)).route("/checkout/back", get(back))
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
