//! Endpoints for statements of teams and families.

use crate::dues::statement::{self, Statement, TeamStatement};
use crate::money::OrdersRead;
use crate::prelude::*;
use crate::shop::OrdersOversee;
use crate::web::prelude::*;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.with(routes!(team)).with(routes!(person))
}

/// Retrieve the statement of a team
///
/// Returns amounts charged, paid, waived and outstanding, in total and per payer.
#[endpoint(get, "/teams/{team_id}/dues/statement", id = "dues.team_statement", tag = "Dues",
    200(ObjectResponse<TeamStatement>, "The statement."))]
async fn team(caller: Caller<OrdersOversee>, id: TeamId) -> Result<Response> {
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
#[endpoint(get, "/people/{person_id}/statement", id = "dues.statement", tag = "Dues",
    200(ObjectResponse<Statement>, "The statement."))]
async fn person(caller: Caller<OrdersRead>, id: PersonId) -> Result<Response> {
    let access = caller.team_access();
    let statement = move |db: &Reader<'_>| {
        Ok((statement::of_person(db, &access, id)?, Some(statement::valid_until(db.now()))))
    };
    caller.read_until(statement).await
}
