//! Selling at the desk: an order on behalf of somebody who stands there.

use axum::response::Response;

use super::shelf::{self, Counter};
use super::{Keeper, Sent};
use crate::web::visitor::Outcome;

pub(super) async fn new(visitor: Keeper) -> Outcome<Response> {
    shelf::show_empty(&visitor, Counter::Desk).await
}

pub(super) async fn create(Sent { visitor, form }: Sent) -> Outcome<Response> {
    shelf::take(&visitor, &form, Counter::Desk).await
}
