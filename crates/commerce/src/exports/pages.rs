//! Downloads of the money exports in the admin area.

use super::api::{ExportSource, send};
use super::dues::DuesTable;
use super::ledger::LedgerTable;
use super::orders::OrdersTable;
use super::table::Table;
use crate::accounts::permissions::AdminArea;
use crate::rights::TeamAccess;
use crate::web::prelude::*;

type Treasurer = Visitor<AdminArea>;

pub fn router() -> Router<App> {
    Router::new()
        .route("/admin/exports/orders.csv", get(orders))
        .route("/admin/exports/dues.csv", get(dues))
        .route("/admin/exports/ledger.csv", get(ledger))
}

async fn orders(visitor: Treasurer) -> PageResult<Response> {
    let table = OrdersTable { team_id: None, from: None, to: None };
    download(&visitor, "orders.csv", table).await
}

async fn dues(visitor: Treasurer) -> PageResult<Response> {
    download(&visitor, "dues.csv", DuesTable { team_id: None }).await
}

async fn ledger(visitor: Treasurer) -> PageResult<Response> {
    download(&visitor, "ledger.csv", LedgerTable::default()).await
}

/// Sends an export of the whole club, with a byte order mark for spreadsheets.
async fn download(
    visitor: &Treasurer,
    file: &'static str,
    table: impl Table,
) -> PageResult<Response> {
    let (app, scope) = (visitor.app().clone(), visitor.scope()?);
    let source = ExportSource { app, scope, access: TeamAccess::AllTeams };
    Ok(send(source, file, table, true).await?)
}
