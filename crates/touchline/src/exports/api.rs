//! The files that can be downloaded.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use kit::Timestamp;
use serde_json::json;
use store::Scope;
use utoipa_axum::routes;

use super::dues::DuesTable;
use super::events::EventsTable;
use super::ledger::LedgerTable;
use super::orders::OrdersTable;
use super::roster::RosterTable;
use super::rsvps::RsvpsTable;
use super::table::{Sheet, Table};
use crate::accounts::rights::Reach;
use crate::app::App;
use crate::error::Result;
use crate::events::event::EventFilter;
use crate::ids::TeamId;
use crate::signals::Tell;
use crate::web::caller::{Caller, EventsOversee, LedgerRead, Needs, OrdersOversee, PeopleRead};
use crate::web::docs::Problems;
use crate::web::query::{FromQuery, Params, Query};
use crate::web::routes::Routes;

pub fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(roster))
        .with(routes!(events))
        .with(routes!(rsvps))
        .with(routes!(orders))
        .with(routes!(dues))
        .with(routes!(ledger))
}

/// Download the roster
///
/// A row for each membership. Columns: `member_id`, `person_id`, `team_id`, `team`, `first_name`,
/// `last_name`, `preferred_name`, `role`, `jersey_number`, `positions`, `status`, `joined_on`, `left_on`,
/// `external_id`, `created_at`; with `include=private` also `birth_date`, `email`, `phone`, `address`,
/// `emergency_contact`, `medical_note`, `guardians` (how many there are) and, for the first three of them,
/// `guardian_1_name`, `guardian_1_relationship`, `guardian_1_email`, `guardian_1_phone`,
/// `guardian_1_may_pick_up`, `guardian_1_receives_messages` and so on. Text that a spreadsheet would take
/// for a formula begins with a single quote.
#[utoipa::path(get, path = "/exports/roster.csv", operation_id = "exports_roster", tag = "Exports",
    params(
        ("team_id" = Option<TeamId>, Query, description = "Only this team."),
        ("removed" = Option<bool>, Query, description = "`true`: also those who have left."),
        ("include" = Option<String>, Query, description = "`private`: with private columns."),
        ("bom" = Option<bool>, Query, description = "`true`: begin with the mark by which some spreadsheets know UTF-8.")),
    responses((status = 200, description = "The file.", content_type = "text/csv", body = String), Problems),
    security(("key" = ["roster:read"])))]
async fn roster(
    caller: Caller<PeopleRead>,
    Query(Download { table, mark }): Query<Download<RosterTable>>,
) -> Result<Response> {
    if let Some(team) = table.team_id {
        caller.reaches(team)?;
    }
    if table.private {
        let details = json!({ "file": "roster.csv", "team_id": table.team_id });
        let account = caller.credential().account_id.to_string();
        let enter = move |tx: &store::Tx<'_>| tx.audit("roster.medical_read", &account, &details);
        caller.app().db.write(caller.scope(), enter).await?;
    }
    send(&caller, "roster.csv", table, mark).await
}

/// Download the schedule
///
/// A row for each event, by start. Columns: `event_id`, `team_id`, `team`, `type`, `title`, `status`,
/// `starts_at`, `ends_at`, `starts_local`, `ends_local`, `timezone`, `all_day`, `arrival_minutes`, `location`,
/// `address`, `opponent`, `home_away`, `uniform`, `notes`, `rsvp_deadline`, `capacity`, `yes`, `no`, `maybe`,
/// `waiting`, `unanswered`, `series_id`, `cancel_reason`, `external_id`.
#[utoipa::path(get, path = "/exports/events.csv", operation_id = "exports_events", tag = "Exports",
    params(
        ("team_id" = Option<TeamId>, Query, description = "Only this team."),
        ("from" = Option<Timestamp>, Query, description = "Only events that start at this moment or later; a day is its beginning in UTC."),
        ("to" = Option<Timestamp>, Query, description = "Only events that start before this moment; a day is its beginning in UTC."),
        ("bom" = Option<bool>, Query, description = "`true`: begin with the mark by which some spreadsheets know UTF-8.")),
    responses((status = 200, description = "The file.", content_type = "text/csv", body = String), Problems),
    security(("key" = ["events:read"])))]
async fn events(
    caller: Caller<EventsOversee>,
    Query(Download { table, mark }): Query<Download<EventsTable>>,
) -> Result<Response> {
    send(&caller, "events.csv", table, mark).await
}

/// Download the answers to events
///
/// A row for each member's answer. Columns: `event_id`, `team_id`, `team`, `event`, `event_status`,
/// `starts_at`, `starts_local`, `member_id`, `first_name`, `last_name`, `role`, `answer`, `note`, `answered_by`,
/// `answered_at`.
#[utoipa::path(get, path = "/exports/rsvps.csv", operation_id = "exports_rsvps", tag = "Exports",
    params(
        ("team_id" = Option<TeamId>, Query, description = "Only this team."),
        ("from" = Option<Timestamp>, Query, description = "Only events that start at this moment or later; a day is its beginning in UTC."),
        ("to" = Option<Timestamp>, Query, description = "Only events that start before this moment; a day is its beginning in UTC."),
        ("bom" = Option<bool>, Query, description = "`true`: begin with the mark by which some spreadsheets know UTF-8.")),
    responses((status = 200, description = "The file.", content_type = "text/csv", body = String), Problems),
    security(("key" = ["events:read"])))]
async fn rsvps(
    caller: Caller<EventsOversee>,
    Query(Download { table, mark }): Query<Download<RsvpsTable>>,
) -> Result<Response> {
    if let Some(team) = table.team_id {
        caller.reaches(team)?;
    }
    send(&caller, "rsvps.csv", table, mark).await
}

/// Download orders
///
/// A row for each line of each order, in order of creation. Columns: `order_id`, `number`, `team_id`, `team`,
/// `status`, `created_at`, `paid_at`, `fulfilled_at`, `cancelled_at`, `buyer_member_id`, `buyer`, `buyer_email`, `note`,
/// `discount_code`, `currency`, `order_total`, `order_paid`, `order_refunded`, `line_id`, `product_id`, `product`,
/// `variant`, `unit_price`, `quantity`, `discount`, `tax_rate_bp`, `tax_included`, `tax`, `total`, `fulfilled`, `returned`,
/// `refunded`, `external_id`. Amounts are whole minor units of the currency.
#[utoipa::path(get, path = "/exports/orders.csv", operation_id = "exports_orders", tag = "Exports",
    params(
        ("team_id" = Option<TeamId>, Query, description = "Only what this team sold."),
        ("from" = Option<Timestamp>, Query, description = "Only what was placed at this moment or later; a day is its beginning in UTC."),
        ("to" = Option<Timestamp>, Query, description = "Only what was placed before this moment; a day is its beginning in UTC."),
        ("bom" = Option<bool>, Query, description = "`true`: begin with the mark by which some spreadsheets know UTF-8.")),
    responses((status = 200, description = "The file.", content_type = "text/csv", body = String), Problems),
    security(("key" = ["orders:read"])))]
async fn orders(
    caller: Caller<OrdersOversee>,
    Query(Download { table, mark }): Query<Download<OrdersTable>>,
) -> Result<Response> {
    if let Some(team) = table.team_id {
        caller.reaches(team)?;
    }
    send(&caller, "orders.csv", table, mark).await
}

/// Download dues
///
/// A row for each due; amounts in minor units. Columns: `due_id`, `charge_id`, `team_id`, `team`, `member_id`,
/// `first_name`, `last_name`, `payer_id`, `payer_first_name`, `payer_last_name`, `title`, `category`, `currency`,
/// `amount`, `discount`, `late_fee`, `paid`, `waived`, `balance`, `status`, `overdue`, `due_on`, `next_due_on`,
/// `created_at`.
#[utoipa::path(get, path = "/exports/dues.csv", operation_id = "exports_dues", tag = "Exports",
    params(
        ("team_id" = Option<TeamId>, Query, description = "Only this team."),
        ("bom" = Option<bool>, Query, description = "`true`: begin with the mark by which some spreadsheets know UTF-8.")),
    responses((status = 200, description = "The file.", content_type = "text/csv", body = String), Problems),
    security(("key" = ["orders:read"])))]
async fn dues(
    caller: Caller<OrdersOversee>,
    Query(Download { table, mark }): Query<Download<DuesTable>>,
) -> Result<Response> {
    if let Some(team) = table.team_id {
        caller.reaches(team)?;
    }
    send(&caller, "dues.csv", table, mark).await
}

/// Download the ledger
///
/// A row for each entry of the account's ledger, in order; amounts in minor units. The entries of a movement
/// have as much debit as credit. Columns: `movement_id`, `line`, `created_at`, `kind`, `subject`, `reference`,
/// `team_id`, `person_id`, `payer_id`, `book`, `currency`, `debit`, `credit`, `actor`. A key that is narrowed to
/// certain teams cannot do this.
#[utoipa::path(get, path = "/exports/ledger.csv", operation_id = "exports_ledger", tag = "Exports",
    params(
        ("bom" = Option<bool>, Query, description = "`true`: begin with the mark by which some spreadsheets know UTF-8.")),
    responses((status = 200, description = "The file.", content_type = "text/csv", body = String), Problems),
    security(("key" = ["orders:read"])))]
async fn ledger(
    caller: Caller<LedgerRead>,
    Query(Download { table, mark }): Query<Download<LedgerTable>>,
) -> Result<Response> {
    caller.reaches_all()?;
    send(&caller, "ledger.csv", table, mark).await
}

/// A table and how it is to be sent.
struct Download<T> {
    table: T,
    mark: bool,
}

impl<T: FromQuery> FromQuery for Download<T> {
    fn read(params: &mut Params) -> Self {
        Self { mark: params.flag("bom").unwrap_or(false), table: T::read(params) }
    }
}

impl FromQuery for RosterTable {
    fn read(params: &mut Params) -> Self {
        let include = params.take("include");
        if include.as_ref().is_some_and(|include| include != "private") {
            params.fault("include", "unknown_value", "This must be private.");
        }
        Self {
            team_id: params.id("team_id"),
            removed: params.flag("removed").unwrap_or(false),
            private: include.is_some(),
        }
    }
}

impl FromQuery for EventsTable {
    fn read(params: &mut Params) -> Self {
        let (team_id, from, to) =
            (params.id("team_id"), params.moment("from"), params.moment("to"));
        Self(EventFilter { team_id, from, to, ..EventFilter::default() })
    }
}

impl FromQuery for DuesTable {
    fn read(params: &mut Params) -> Self {
        Self { team_id: params.id("team_id") }
    }
}

impl FromQuery for LedgerTable {
    fn read(_: &mut Params) -> Self {
        Self
    }
}

impl FromQuery for RsvpsTable {
    fn read(params: &mut Params) -> Self {
        Self { team_id: params.id("team_id"), from: params.moment("from"), to: params.moment("to") }
    }
}

impl FromQuery for OrdersTable {
    fn read(params: &mut Params) -> Self {
        Self { team_id: params.id("team_id"), from: params.moment("from"), to: params.moment("to") }
    }
}

/// Where a download is read, and for whom.
#[derive(Clone)]
pub struct Source {
    pub app: App,
    pub scope: Scope,
    pub reach: Reach,
}

impl<N: Needs> From<&Caller<N>> for Source {
    fn from(caller: &Caller<N>) -> Self {
        Self { app: caller.app().clone(), scope: caller.scope(), reach: caller.reach() }
    }
}

/// A download under way: where it reads and how far it came.
struct Reading<T: Table> {
    source: Source,
    table: std::sync::Arc<T>,
    next: Option<T::Place>,
}

/// Sends a table piece by piece. Each piece is read when the one before was taken, so a slow reader holds
/// neither memory nor a connection to the database.
pub async fn send<T: Table>(
    source: impl Into<Source>,
    file: &'static str,
    table: T,
    mark: bool,
) -> Result<Response> {
    let reading = Reading { source: source.into(), table: table.into(), next: None };
    // The first piece is read before anything is sent, so that a refusal still is a problem.
    let (first, reading) = piece(reading, Some(mark)).await?;
    let rest = stream::unfold(Some(reading), |reading| async {
        let reading = reading.filter(|reading| reading.next.is_some())?;
        match piece(reading, None).await {
            Ok((bytes, reading)) => Some((Ok(bytes), Some(reading))),
            // What was begun cannot become a problem; breaking off tells that it is not whole.
            Err(error) => {
                tracing::warn!(cause = ?error.cause, "a download was broken off");
                Some((Err(std::io::Error::other("broken off")), None))
            }
        }
    });
    let whole = stream::StreamExt::chain(stream::iter([Ok(first)]), rest);
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{file}\"")),
        (CACHE_CONTROL, "private, no-store".to_owned()),
    ];
    Ok((headers, Body::from_stream(whole)).into_response())
}

/// The next rows as bytes; the first piece has the names of the columns.
async fn piece<T: Table>(reading: Reading<T>, first: Option<bool>) -> Result<(Bytes, Reading<T>)> {
    let Reading { source, table, next } = reading;
    let (table_there, reach_there) = (table.clone(), source.reach.clone());
    let work = move |db: &store::Reader<'_>| {
        let mut sheet = Sheet::new(first == Some(true));
        if first.is_some() {
            sheet.row(table_there.columns())?;
        }
        let next = table_there.write(db, &reach_there, next, &mut sheet)?;
        Ok::<_, crate::error::Error>((Bytes::from(sheet.finish()?), next))
    };
    let (bytes, next) = source.app.db.read(source.scope.clone(), work).await?;
    Ok((bytes, Reading { source, table, next }))
}
