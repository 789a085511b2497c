//! Endpoints of away dates.

use super::away_date::{self, AwayDate, AwayDateSnapshot, NewAwayDate};
use super::{AwayDateId, AwayDatesRead, AwayDatesWrite};
use crate::prelude::*;
use crate::web::prelude::*;

pub fn routes(routes: Routes) -> Routes {
    routes.with_schema::<AwayDateSnapshot>().with(routes!(list, create)).with(routes!(delete))
}

/// List a person's away dates
///
/// Returns away dates in order of creation, including past ones. Users can see those of themselves and their dependents;
/// coaches and managers those of the members of their teams.
#[endpoint(get, "/people/{person_id}/away_dates", id = "away_dates.list", tag = "Roster",
    params(("person_id" = PersonId, Path),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of away dates per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<Order>, Query, description = "Sort order. Default: `asc`.")),
    200(ListResponse<AwayDate>, "A page of away dates."))]
async fn list(
    caller: Caller<AwayDatesRead>,
    person: PersonId,
    paging: Paging<NoQuery>,
) -> Result<Response> {
    caller.page(paging, move |db, access, _, page| away_date::list(db, access, person, page)).await
}

/// Add away dates
///
/// Scheduled events of the person's teams that take place on one of these days, in the time zone of the event, are
/// answered with `no` and `answered_by: "away_date"`. This also applies to events that are created or moved later. Answers
/// that somebody gave are not changed, and the automatic answer can be replaced like any other.
#[endpoint(post, "/people/{person_id}/away_dates", id = "away_dates.create", tag = "Roster",
    example = json!({ "starts_on": "2027-08-01", "ends_on": "2027-08-14", "note": "Family vacation" }),
    201(ObjectResponse<AwayDate>, "The new away dates."))]
async fn create(
    caller: Caller<AwayDatesWrite>,
    person: PersonId,
    body: Body<NewAwayDate>,
) -> Result<Response> {
    let access = caller.team_access();
    caller
        .create_for(body, move |tx, new, expected| {
            away_date::create(tx, &access, person, expected, new)
        })
        .await
}

/// Delete away dates
///
/// Withdraws the answers that these away dates have set, as long as the events take answers.
#[endpoint(delete, "/people/{person_id}/away_dates/{away_date_id}", id = "away_dates.delete", tag = "Roster",
    200(ObjectResponse<AwayDate>, "The deleted away dates."))]
async fn delete(
    caller: Caller<AwayDatesWrite>,
    at: (PersonId, AwayDateId),
    body: Body<NoBody>,
) -> Result<Response> {
    let access = caller.team_access();
    caller
        .change(body, move |tx, NoBody, expected| away_date::delete(tx, &access, at, expected))
        .await
}
