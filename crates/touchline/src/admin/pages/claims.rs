//! Requests to join the club, for admins. Coaches decide requests for their own teams elsewhere.

use super::members::FLASH_MESSAGES;
use super::shared::{Admin, AdminForm};
use crate::joining::claim;
use crate::joining::claim_list::{self, ClaimView};
use crate::joining::invitation::Relation;
use crate::prelude::*;
use crate::web::prelude::*;
use crate::web::row_page;

const CLAIMS: &str = "/admin/members/claims";

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(CLAIMS, get(list))
        .route("/admin/members/claims/{id}/approve", post(approve))
        .route("/admin/members/claims/{id}/refuse", post(refuse))
}

#[derive(Template)]
#[template(path = "admin/members_claims.html")]
struct ClaimsPage {
    frame: Frame,
    requests: Vec<ClaimView>,
    next: String,
    /// The path that the Approve and Refuse buttons post below.
    base: &'static str,
    now: Timestamp,
}

async fn list(visitor: Admin) -> PageResult {
    let request = row_page::ListRequest::from_visitor(&visitor, Order::Asc)?;
    let RowPage { rows, next } = RowPage::read(&visitor, &request, claim::list_open).await?;
    let requests = visitor.read(move |db| claim_list::for_admin(db, rows)).await?;
    let frame = visitor
        .frame(t!("Requests to join"), Section::Members)
        .flash(visitor.guest.done_flash(&FLASH_MESSAGES));
    let now = visitor.app().clock.now();
    render(StatusCode::OK, &ClaimsPage { frame, requests, next, base: CLAIMS, now })
}

async fn approve(PathParams(id): PathParams<ClaimId>, posted: AdminForm) -> PageResult {
    let (visitor, by) = (&posted.visitor, posted.visitor.visit.user);
    visitor.write(move |tx: &Tx<'_>| claim::approve(tx, by, id)).await?;
    Ok(see_other(&format!("{CLAIMS}?done=approved")))
}

async fn refuse(PathParams(id): PathParams<ClaimId>, posted: AdminForm) -> PageResult {
    let (visitor, by) = (&posted.visitor, posted.visitor.visit.user);
    visitor.write(move |tx: &Tx<'_>| claim::refuse(tx, by, id)).await?;
    Ok(see_other(&format!("{CLAIMS}?done=refused")))
}
