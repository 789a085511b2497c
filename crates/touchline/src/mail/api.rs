//! The JSON endpoints of the outbox.

use axum::response::Response;
use utoipa_axum::routes;

use super::letter::{self, Letter, LetterFilter, Status};
use crate::error::Result;
use crate::ids::{MailId, PersonId};
use crate::paging::Order;
use crate::web::caller::{Caller, OutboxRead};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::path::At;
use crate::web::query::{FromQuery, Nothing, Params, Query};
use crate::web::reply::{Many, One};
use crate::web::routes::Routes;

/// The longest id that a letter can be about.
const ABOUT: usize = 60;

/// Everything below `/outbox`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list)).with(routes!(find))
}

/// List letters
///
/// What went out by mail and what waits, newest first. Keys that are narrowed to certain teams cannot
/// see it.
#[utoipa::path(get, path = "/outbox", operation_id = "outbox_list", tag = "Messages",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many letters to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`desc` if left out."),
        ("status" = Option<Status>, Query, description = "Only letters of which this has become."),
        ("about" = Option<String>, Query, description = "Only letters about the object with this id."),
        ("person_id" = Option<PersonId>, Query, description = "Only letters to this person.")),
    responses((status = 200, description = "A page of letters.", body = Many<Letter>), Problems),
    security(("key" = ["messages:read"])))]
async fn list(
    caller: Caller<OutboxRead>,
    Query(paging): Query<Paging<LetterFilter>>,
) -> Result<Response> {
    caller.reaches_all()?;
    caller.afresh().page(paging, letter::list).await
}

/// Get a letter
#[utoipa::path(get, path = "/outbox/{mail_id}", operation_id = "outbox_get", tag = "Messages",
    params(("mail_id" = MailId, Path)),
    responses((status = 200, description = "The letter.", body = One<Letter>), Problems),
    security(("key" = ["messages:read"])))]
async fn find(
    caller: Caller<OutboxRead>,
    At(id): At<MailId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    caller.reaches_all()?;
    caller.afresh().one(move |db| letter::find(db, id)).await
}

impl FromQuery for LetterFilter {
    const ORDER: Order = Order::Desc;

    fn read(params: &mut Params) -> Self {
        Self {
            status: params.word("status"),
            about: params.line("about", ABOUT),
            person_id: params.id("person_id"),
        }
    }
}
