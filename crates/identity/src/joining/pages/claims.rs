//! `/account/claims`: the user's own requests to join, pending invitations, and requests that the user may decide.

use super::join;
use super::link::{self, NewLink};
use crate::accounts::session;
use crate::accounts::user::{self, Role};
use crate::joining::claim::{self, ClaimStatus, OpenClaim};
use crate::joining::claim_list::{self, ClaimView};
use crate::joining::invitation::{self, Invitation, Relation};
use crate::joining::pending_invitations;
use crate::prelude::*;
use crate::roster::access;
use crate::signin::pages::{AccountForm, AccountVisitor};
use crate::web::prelude::*;
use crate::web::row_page;

const CLAIMS: &str = "/account/claims";

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(CLAIMS, get(show))
        .route("/account/claims/{id}/approve", post(approve))
        .route("/account/claims/{id}/refuse", post(refuse))
        .route("/account/claims/link", post(create_team_link))
        .route("/account/invitations/{id}/accept", post(accept))
}

/// Messages after an action, by the value of the `done` query parameter.
const DONE: [(&str, &str); 4] = [
    (
        "address",
        mark!(
            "You cannot accept this invitation yet. Confirm your email address in your profile, or ask the club to invite the address you sign in with."
        ),
    ),
    (
        "asked",
        mark!("Your request was sent. A coach or an admin of the club will approve or refuse it."),
    ),
    ("approved", mark!("You approved the request. The new member can see the team now.")),
    ("refused", mark!("You refused the request.")),
];

#[derive(Template)]
#[template(path = "joining/claims.html")]
struct ClaimsPage {
    /// Path that the buttons of a request post to.
    base: &'static str,
    frame: Frame,
    own_claims: Vec<claim::OwnClaim>,
    /// Pending invitations of this visitor.
    invitations: Vec<pending_invitations::PendingInvitation>,
    /// Whether the visitor has confirmed their email address.
    confirmed: bool,
    /// Open requests that this visitor may see.
    open_claims: Vec<ClaimView>,
    next: String,
    /// Teams that this visitor can create a link for.
    teams: Vec<(TeamId, String)>,
    /// The id of the team that is chosen at first, or empty.
    chosen: String,
    now: Timestamp,
}

async fn show(visitor: AccountVisitor) -> PageResult {
    let user = visitor.visit.user;
    let read_own = move |db: &Reader<'_>| {
        let user = user::find(db, user)?;
        let own_claims = claim::list_by_user(db, user.id)?;
        let confirmed = user.email_verified_at.is_some();
        Ok((own_claims, pending_invitations::list(db, &user)?, confirmed))
    };
    let (own_claims, invitations, confirmed) = visitor.guest.read("own claims", read_own).await?;
    let (mut open_claims, mut next, mut teams) = (Vec::new(), String::new(), Vec::new());
    if visitor.visit.club.is_some() {
        let query = row_page::ListRequest::from_visitor(&visitor, Order::Asc)?;
        let list = move |db: &Reader<'_>, page: &Page<ClaimId>| {
            claim::list_open_for(db, &access::for_user(db, user)?, page)
        };
        let rows: RowPage<OpenClaim> = RowPage::read(&visitor, &query, list).await?;
        let is_admin = matches!(visitor.visit.role, Some(Role::Owner | Role::Admin));
        let read = move |db: &Reader<'_>| {
            let access = access::for_user(db, user)?;
            let views = if is_admin {
                claim_list::for_admin(db, rows.rows)?
            } else {
                claim_list::for_viewer(db, (user, &access), rows.rows)?
            };
            Ok((views, claim_list::team_names(db, access.managed_team_ids)?))
        };
        (open_claims, teams) = visitor.read(read).await?;
        next = rows.next;
    }
    let frame = visitor.frame(t!("Invitations and requests"), Section::Joining);
    let page = ClaimsPage {
        base: CLAIMS,
        frame: frame.flash(visitor.guest.done_flash(&DONE)),
        own_claims,
        invitations,
        confirmed,
        open_claims,
        next,
        teams,
        chosen: visitor.guest.query()?.text("team").to_owned(),
        now: visitor.app().clock.now(),
    };
    render(StatusCode::OK, &page)
}

/// Accepts a pending invitation of this visitor.
async fn accept(
    PathParams(id): PathParams<InvitationId>,
    AccountForm { visitor, .. }: AccountForm,
) -> PageResult {
    let (user, session) = (visitor.visit.user, visitor.visit.session);
    let read = move |db: &Reader<'_>| pending_invitations::list(db, &user::find(db, user)?);
    let mut pending = visitor.guest.read("invitations", read).await?.into_iter();
    let invitation = pending.find(|one| one.id == id && one.team.is_none());
    let club = invitation.ok_or_else(invitation::link_expired)?.account_id;
    let can_confirm = visitor.app().direct_mailer.has_server();
    let work = move |tx: &Tx<'_>| {
        let role = invitation::accept(tx, id, &user::find(tx, user)?, (false, can_confirm))?;
        session::switch_club(tx, session, club)?;
        Ok::<_, Error>(role)
    };
    match visitor.app().db.write(visitor.guest.scope_in(club, user), work).await {
        Ok(role) => Ok(join::redirect_joined(role)),
        Err(error) if error.code == Code::InvalidState => {
            Ok(see_other(&format!("{CLAIMS}?done=address")))
        }
        Err(error) => Err(error.into()),
    }
}

async fn approve(
    PathParams(id): PathParams<ClaimId>,
    AccountForm { visitor, .. }: AccountForm,
) -> PageResult {
    let by = visitor.visit.user;
    visitor.write(move |tx| claim::approve(tx, by, id)).await?;
    Ok(see_other(&format!("{CLAIMS}?done=approved")))
}

async fn refuse(
    PathParams(id): PathParams<ClaimId>,
    AccountForm { visitor, .. }: AccountForm,
) -> PageResult {
    let by = visitor.visit.user;
    visitor.write(move |tx| claim::refuse(tx, by, id)).await?;
    Ok(see_other(&format!("{CLAIMS}?done=refused")))
}

/// Creates a team's link in place of the previous one, and shows it once.
async fn create_team_link(AccountForm { visitor, form }: AccountForm) -> PageResult {
    let team: TeamId = form.text("team").parse().map_err(|_| Error::not_found())?;
    let by = visitor.visit.user;
    let create = move |tx: &Tx<'_>| invitation::create_team_link(tx, by, team);
    let (Invitation { expires_at, .. }, token) = visitor.write(create).await?;
    let frame = visitor.frame(t!("Team link"), Section::Joining);
    let new = NewLink { token: &token, expires_at, email: None, mailed: false, back: CLAIMS };
    Ok(link::show(&visitor, frame, &new)?)
}
