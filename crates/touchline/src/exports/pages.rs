//! The files of money, for those who keep the club's books and have no program that asks for them.

use axum::Router;
use axum::response::Response;
use axum::routing::get;

use super::api::{Source, send};
use super::dues::DuesTable;
use super::ledger::LedgerTable;
use super::orders::OrdersTable;
use super::table::Table;
use crate::accounts::permits::AdminArea;
use crate::accounts::rights::Reach;
use crate::app::App;
use crate::web::visitor::{Outcome, Visitor};

type Treasurer = Visitor<AdminArea>;

pub fn router() -> Router<App> {
    Router::new()
        .route("/admin/exports/orders.csv", get(orders))
        .route("/admin/exports/dues.csv", get(dues))
        .route("/admin/exports/ledger.csv", get(ledger))
}

async fn orders(visitor: Treasurer) -> Outcome<Response> {
    let table = OrdersTable { team_id: None, from: None, to: None };
    download(&visitor, "orders.csv", table).await
}

async fn dues(visitor: Treasurer) -> Outcome<Response> {
    download(&visitor, "dues.csv", DuesTable { team_id: None }).await
}

async fn ledger(visitor: Treasurer) -> Outcome<Response> {
    download(&visitor, "ledger.csv", LedgerTable).await
}

/// Sends a file of the whole club, with the mark by which spreadsheets know how it is written.
async fn download(visitor: &Treasurer, file: &'static str, table: impl Table) -> Outcome<Response> {
    let (app, scope) = (visitor.app().clone(), visitor.scope()?);
    let source = Source { app, scope, reach: Reach::Everywhere };
    Ok(send(source, file, table, true).await?)
}
