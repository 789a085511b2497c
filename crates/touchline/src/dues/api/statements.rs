//! Statements of teams and families.

use axum::response::Response;
use store::Reader;
use utoipa_axum::routes;

use crate::dues::statement::{self, Statement, TeamStatement};
use crate::error::Result;
use crate::ids::{PersonId, TeamId};
use crate::web::caller::{Caller, OrdersOversee, OrdersRead};
use crate::web::docs::Problems;
use crate::web::path::At;
use crate::web::query::{Nothing, Query};
use crate::web::reply::One;
use crate::web::routes::Routes;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.with(routes!(team)).with(routes!(person))
}

/// Get the statement of a team
///
/// What was charged, paid and waived, and what is open: in all, and for each payer.
#[utoipa::path(get, path = "/teams/{team_id}/dues/statement", operation_id = "dues_team_statement", tag = "Dues",
    params(("team_id" = TeamId, Path)),
    responses((status = 200, description = "The statement.", body = One<TeamStatement>), Problems),
    security(("key" = ["orders:read"])))]
async fn team(
    caller: Caller<OrdersOversee>,
    At(id): At<TeamId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    caller.reaches(id)?;
    let statement = move |db: &Reader<'_>| {
        Ok((statement::of_team(db, id)?, Some(statement::next_look(db.now()))))
    };
    caller.look_until(statement).await
}

/// Get the statement of a family
///
/// What a person pays for: in all, and line by line. Users who ask for their own get that of their whole
/// family. Whoever runs a team sees what concerns the team.
#[utoipa::path(get, path = "/people/{person_id}/statement", operation_id = "dues_statement", tag = "Dues",
    params(("person_id" = PersonId, Path)),
    responses((status = 200, description = "The statement.", body = One<Statement>), Problems),
    security(("key" = ["orders:read"])))]
async fn person(
    caller: Caller<OrdersRead>,
    At(id): At<PersonId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    let reach = caller.reach();
    let statement = move |db: &Reader<'_>| {
        Ok((statement::of_person(db, &reach, id)?, Some(statement::next_look(db.now()))))
    };
    caller.look_until(statement).await
}
