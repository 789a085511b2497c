//! Endpoints for statements of teams and families.

use crate::dues::statement::{self, Statement, TeamStatement};
use crate::prelude::*;
use crate::web::caller::{OrdersOversee, OrdersRead};
use crate::web::prelude::*;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.with(routes!(team)).with(routes!(person))
}

/// Retrieve the statement of a team
///
/// Returns amounts charged, paid, waived and outstanding, in total and per payer.
#[utoipa::path(get, path = "/teams/{team_id}/dues/statement", operation_id = "dues_team_statement", tag = "Dues",
    params(("team_id" = TeamId, Path)),
    responses((status = 200, description = "The statement.", body = ObjectResponse<TeamStatement>)),
    security(("key" = ["orders:read"])))]
async fn team(
    caller: Caller<OrdersOversee>,
    PathParams(id): PathParams<TeamId>,
    Query(NoQuery): Query<NoQuery>,
) -> Result<Response> {
    caller.require_team(id)?;
    let statement = move |db: &Reader<'_>| {
        Ok((statement::of_team(db, id)?, Some(statement::valid_until(db.now()))))
    };
    caller.read_until(statement).await
}

/// Retrieve the statement of a family
///
/// Returns what a person owes and has paid as a payer, in total and line by line. Users who request their own statement
/// get that of their whole family. Coaches and managers see the amounts of their teams.
#[utoipa::path(get, path = "/people/{person_id}/statement", operation_id = "dues_statement", tag = "Dues",
    params(("person_id" = PersonId, Path)),
    responses((status = 200, description = "The statement.", body = ObjectResponse<Statement>)),
    security(("key" = ["orders:read"])))]
async fn person(
    caller: Caller<OrdersRead>,
    PathParams(id): PathParams<PersonId>,
    Query(NoQuery): Query<NoQuery>,
) -> Result<Response> {
    let access = caller.team_access();
    let statement = move |db: &Reader<'_>| {
        Ok((statement::of_person(db, &access, id)?, Some(statement::valid_until(db.now()))))
    };
    caller.read_until(statement).await
}
