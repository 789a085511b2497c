//! Endpoints of the CSV exports.

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};

use super::dues::DuesTable;
use super::events::EventsTable;
use super::ledger::LedgerTable;
use super::orders::OrdersTable;
use super::roster::RosterTable;
use super::rsvps::RsvpsTable;
use super::table::{CsvWriter, Table};
use crate::accounts::permissions::Permission;
use crate::events::EventsOversee;
use crate::events::event::EventFilter;
use crate::money::LedgerRead;
use crate::prelude::*;
use crate::roster::PeopleRead;
use crate::shop::OrdersOversee;
use crate::web::prelude::*;

pub fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(roster))
        .with(routes!(events))
        .with(routes!(rsvps))
        .with(routes!(orders))
        .with(routes!(dues))
        .with(routes!(ledger))
}

/// Export the roster
///
/// One row per membership. Columns: `member_id`, `person_id`, `team_id`, `team`, `first_name`,
/// `last_name`, `preferred_name`, `role`, `jersey_number`, `positions`, `status`, `joined_on`, `left_on`,
/// `external_id`, `created_at`; with `include=private` also `birth_date`, `email`, `phone`, `address`,
/// `emergency_contact`, `medical_note`, `guardians` (number of guardians) and, for the first three of them,
/// `guardian_1_name`, `guardian_1_relationship`, `guardian_1_email`, `guardian_1_phone`,
/// `guardian_1_can_pick_up`, `guardian_1_receives_messages` and so on. Text that a
/// spreadsheet would read as a formula is prefixed with a single quote.
#[endpoint(get, "/exports/roster.csv", id = "exports_roster", tag = "Exports",
    params(
        ("team_id" = Option<TeamId>, Query, description = "Only this team."),
        ("include_removed" = Option<bool>, Query, description = "Set to `true` to include members who have left."),
        ("include" = Option<String>, Query, description = "Set to `private` to include the private columns."),
        ("bom" = Option<bool>, Query, description = "Set to `true` to start the file with a byte order mark, which some spreadsheets need to detect UTF-8.")),
    200(String, "The CSV file.", "text/csv"))]
async fn roster(
    caller: Caller<PeopleRead>,
    Download { table, bom }: Download<RosterTable>,
) -> Result<Response> {
    caller.require_teams(table.team_id, &[])?;
    if table.private {
        let details = json!({ "file": "roster.csv", "team_id": table.team_id });
        let account = caller.credential().account_id.to_string();
        let audit = move |tx: &store::Tx<'_>| tx.audit("roster.medical_read", &account, &details);
        caller.app().db.write(caller.scope(), audit).await?;
    }
    send(&caller, "roster.csv", table, bom).await
}

/// Export the schedule
///
/// One row per event, ordered by start. Columns: `event_id`, `team_id`, `team`, `type`, `title`, `status`,
/// `starts_at`, `ends_at`, `starts_local`, `ends_local`, `timezone`, `all_day`, `arrival_minutes`, `location`,
/// `address`, `opponent`, `home_away`, `uniform`, `notes`, `rsvp_deadline`, `capacity`, `yes`, `no`, `maybe`,
/// `waitlisted`, `unanswered`, `series_id`, `cancel_reason`, `external_id`.
#[endpoint(get, "/exports/events.csv", id = "exports_events", tag = "Exports",
    params(
        ("team_id" = Option<TeamId>, Query, description = "Only this team."),
        ("from" = Option<Timestamp>, Query, description = "Only events that start at this time or later. A date means the start of that day in UTC."),
        ("to" = Option<Timestamp>, Query, description = "Only events that start before this time. A date means the start of that day in UTC."),
        ("bom" = Option<bool>, Query, description = "Set to `true` to start the file with a byte order mark, which some spreadsheets need to detect UTF-8.")),
    200(String, "The CSV file.", "text/csv"))]
async fn events(
    caller: Caller<EventsOversee>,
    Download { table, bom }: Download<EventsTable>,
) -> Result<Response> {
    send(&caller, "events.csv", table, bom).await
}

/// Export RSVPs
///
/// One row per RSVP. Columns: `event_id`, `team_id`, `team`, `event`, `event_status`,
/// `starts_at`, `starts_local`, `member_id`, `first_name`, `last_name`, `role`, `answer`, `note`, `answered_by`,
/// `answered_at`.
#[endpoint(get, "/exports/rsvps.csv", id = "exports_rsvps", tag = "Exports",
    params(
        ("team_id" = Option<TeamId>, Query, description = "Only this team."),
        ("from" = Option<Timestamp>, Query, description = "Only events that start at this time or later. A date means the start of that day in UTC."),
        ("to" = Option<Timestamp>, Query, description = "Only events that start before this time. A date means the start of that day in UTC."),
        ("bom" = Option<bool>, Query, description = "Set to `true` to start the file with a byte order mark, which some spreadsheets need to detect UTF-8.")),
    200(String, "The CSV file.", "text/csv"))]
async fn rsvps(
    caller: Caller<EventsOversee>,
    Download { table, bom }: Download<RsvpsTable>,
) -> Result<Response> {
    caller.require_teams(table.team_id, &[])?;
    send(&caller, "rsvps.csv", table, bom).await
}

/// Export orders
///
/// One row per order line, in order of creation. Columns: `order_id`, `number`, `team_id`, `team`, `status`,
/// `created_at`, `paid_at`, `fulfilled_at`, `cancelled_at`, `buyer_member_id`, `buyer`, `buyer_email`, `note`,
/// `discount_code`, `currency`, `order_total`, `order_paid`, `order_refunded`, `line_id`, `product_id`, `product`,
/// `variant`, `unit_price`, `quantity`, `discount`, `tax_rate_bps`, `tax_included`, `tax`, `total`, `fulfilled`,
/// `returned`, `refunded`, `external_id`. Amounts are in minor units of the currency.
#[endpoint(get, "/exports/orders.csv", id = "exports_orders", tag = "Exports",
    params(
        ("team_id" = Option<TeamId>, Query, description = "Only orders of this team."),
        ("from" = Option<Timestamp>, Query, description = "Only orders placed at this time or later. A date means the start of that day in UTC."),
        ("to" = Option<Timestamp>, Query, description = "Only orders placed before this time. A date means the start of that day in UTC."),
        ("bom" = Option<bool>, Query, description = "Set to `true` to start the file with a byte order mark, which some spreadsheets need to detect UTF-8.")),
    200(String, "The CSV file.", "text/csv"))]
async fn orders(
    caller: Caller<OrdersOversee>,
    Download { table, bom }: Download<OrdersTable>,
) -> Result<Response> {
    caller.require_teams(table.team_id, &[])?;
    send(&caller, "orders.csv", table, bom).await
}

/// Export dues
///
/// One row per due. Amounts are in minor units of the currency. Columns: `due_id`, `charge_id`, `team_id`, `team`,
/// `member_id`, `first_name`, `last_name`, `payer_id`, `payer_first_name`, `payer_last_name`, `title`, `category`,
/// `currency`, `amount`, `discount`, `late_fee`, `paid`, `waived`, `balance`, `status`, `overdue`, `due_on`,
/// `next_due_on`, `created_at`.
#[endpoint(get, "/exports/dues.csv", id = "exports_dues", tag = "Exports",
    params(
        ("team_id" = Option<TeamId>, Query, description = "Only this team."),
        ("bom" = Option<bool>, Query, description = "Set to `true` to start the file with a byte order mark, which some spreadsheets need to detect UTF-8.")),
    200(String, "The CSV file.", "text/csv"))]
async fn dues(
    caller: Caller<OrdersOversee>,
    Download { table, bom }: Download<DuesTable>,
) -> Result<Response> {
    caller.require_teams(table.team_id, &[])?;
    send(&caller, "dues.csv", table, bom).await
}

/// Export the ledger
///
/// One row per ledger entry, in order. Amounts are in minor units of the currency. The debits and credits of a movement
/// add up to the same amount. Columns: `movement_id`, `line`, `created_at`, `kind`, `subject_id`, `reference`,
/// `team_id`, `person_id`, `payer_id`, `book`, `currency`, `debit`, `credit`, `actor`. Not
/// available to keys that are limited to certain teams.
#[endpoint(get, "/exports/ledger.csv", id = "exports_ledger", tag = "Exports",
    params(
        ("from" = Option<Timestamp>, Query, description = "Only entries created at or after this time. A date means the start of that day in UTC."),
        ("to" = Option<Timestamp>, Query, description = "Only entries created before this time. A date means the start of that day in UTC."),
        ("bom" = Option<bool>, Query, description = "Set to `true` to start the file with a byte order mark, which some spreadsheets need to detect UTF-8.")),
    200(String, "The CSV file.", "text/csv"))]
async fn ledger(
    caller: Caller<LedgerRead>,
    Download { table, bom }: Download<LedgerTable>,
) -> Result<Response> {
    caller.require_all_teams()?;
    send(&caller, "ledger.csv", table, bom).await
}

/// The query of an export: the table, and whether the file starts with a byte order mark.
struct Download<T> {
    table: T,
    bom: bool,
}

impl<T: FromQuery> FromQuery for Download<T> {
    fn read(params: &mut Params) -> Self {
        Self { bom: params.flag("bom").unwrap_or(false), table: T::read(params) }
    }
}

impl FromQuery for RosterTable {
    fn read(params: &mut Params) -> Self {
        let include = params.take("include");
        if include.as_ref().is_some_and(|include| include != "private") {
            params.fault("include", "unknown_value", "`include` must be `private`.");
        }
        Self {
            team_id: params.id("team_id"),
            include_removed: params.flag("include_removed").unwrap_or(false),
            private: include.is_some(),
        }
    }
}

impl FromQuery for EventsTable {
    fn read(params: &mut Params) -> Self {
        let (team_id, from, to) =
            (params.id("team_id"), params.timestamp("from"), params.timestamp("to"));
        Self(EventFilter { team_id, from, to, ..EventFilter::default() })
    }
}

impl FromQuery for DuesTable {
    fn read(params: &mut Params) -> Self {
        Self { team_id: params.id("team_id") }
    }
}

impl FromQuery for LedgerTable {
    fn read(params: &mut Params) -> Self {
        Self { from: params.timestamp("from"), to: params.timestamp("to") }
    }
}

impl FromQuery for RsvpsTable {
    fn read(params: &mut Params) -> Self {
        Self {
            team_id: params.id("team_id"),
            from: params.timestamp("from"),
            to: params.timestamp("to"),
        }
    }
}

impl FromQuery for OrdersTable {
    fn read(params: &mut Params) -> Self {
        Self {
            team_id: params.id("team_id"),
            from: params.timestamp("from"),
            to: params.timestamp("to"),
        }
    }
}

/// Where an export is read from, and the caller's access.
#[derive(Clone)]
pub struct ExportSource {
    pub app: App,
    pub scope: Scope,
    pub access: TeamAccess,
}

impl<N: Permission> From<&Caller<N>> for ExportSource {
    fn from(caller: &Caller<N>) -> Self {
        Self { app: caller.app().clone(), scope: caller.scope(), access: caller.team_access() }
    }
}

/// An export in progress: its source and the position of the next chunk.
struct ExportStream<T: Table> {
    source: ExportSource,
    table: std::sync::Arc<T>,
    next: Option<T::Position>,
}

/// Streams a table in chunks. Each chunk is read after the client has taken the one before, so a slow client holds
/// neither memory nor a database connection.
pub async fn send<T: Table>(
    source: impl Into<ExportSource>,
    file: &'static str,
    table: T,
    bom: bool,
) -> Result<Response> {
    let export = ExportStream { source: source.into(), table: table.into(), next: None };
    // The first chunk is read before the response starts, so that an error still gives an error response.
    let (first, export) = read_chunk(export, Some(bom)).await?;
    let rest = stream::unfold(Some(export), |export| async {
        let export = export.filter(|export| export.next.is_some())?;
        match read_chunk(export, None).await {
            Ok((bytes, export)) => Some((Ok(bytes), Some(export))),
            // The status is already sent; aborting the body tells the client that the file is incomplete.
            Err(error) => {
                tracing::warn!(cause = ?error.cause, "export aborted");
                Some((Err(std::io::Error::other("export aborted")), None))
            }
        }
    });
    let chunks = stream::StreamExt::chain(stream::iter([Ok(first)]), rest);
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{file}\"")),
        (CACHE_CONTROL, "private, no-store".to_owned()),
    ];
    Ok((headers, Body::from_stream(chunks)).into_response())
}

/// Reads the next chunk. `bom` is only set for the first one, which starts with the header row; its value says whether
/// a byte order mark comes first.
async fn read_chunk<T: Table>(
    export: ExportStream<T>,
    bom: Option<bool>,
) -> Result<(Bytes, ExportStream<T>)> {
    let ExportStream { source, table, next } = export;
    let (chunk_table, access) = (table.clone(), source.access.clone());
    let work = move |db: &store::Reader<'_>| {
        let mut writer = CsvWriter::new(bom == Some(true));
        let columns = chunk_table.columns();
        if bom.is_some() {
            writer.row(columns.iter().map(|column| column.key.into()))?;
        }
        let (rows, next) = chunk_table.read(db, &access, next)?;
        for row in &rows {
            writer.row(columns.iter().map(|column| (column.value)(row).csv()))?;
        }
        Ok::<_, crate::error::Error>((Bytes::from(writer.finish()?), next))
    };
    let (bytes, next) = source.app.db.read(source.scope.clone(), work).await?;
    Ok((bytes, ExportStream { source, table, next }))
}
