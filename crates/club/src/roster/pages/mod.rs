//! The pages of rosters: the list, one person on a team, adding, changing, moving and removing people, and the emergency
//! sheet.

mod add;
mod confirm_address;
mod contact_links;
mod detail;
mod detail_view;
mod duplicate_choice;
mod edit;
mod emergency;
mod leaving;
mod list;
mod paste;
mod paste_preview;
mod person_form;
mod quick_move;

use std::sync::{Arc, Mutex};

pub(crate) use self::confirm_address::link_page;
pub use self::confirm_address::send_link;
pub use self::contact_links::ContactLinks;
use super::access;
use super::member::Member;
use super::membership::{MemberStatus, Role};
use crate::accounts::session;
use crate::accounts::user;
use crate::prelude::*;
use crate::roster::{RosterRead, RosterWrite};
use crate::teams::header::TeamHeader;
use crate::teams::team::Status;
use crate::web::prelude::*;

/// A visitor who may see a roster.
type RosterReader = Visitor<RosterRead>;
/// A visitor who may change a roster.
type Staff = Visitor<RosterWrite>;
/// A form submitted by a visitor who may change a roster.
type StaffForm = VisitorForm<RosterWrite>;

/// Routes of the roster pages.
pub fn router() -> Router<App> {
    Router::new()
        .route("/teams/add-people", get(add::choose_team))
        .route("/teams/{team}/roster", get(list::show))
        .route("/teams/{team}/roster/new", get(add::new).post(add::submit))
        .route("/teams/{team}/roster/paste", get(paste::new).post(paste::submit))
        .route("/teams/{team}/roster/{member}", get(detail::show))
        .route("/teams/{team}/roster/{member}/note", get(detail::show).post(detail::show_note))
        .route("/teams/{team}/roster/{member}/note/save", post(detail::save_note))
        .route("/teams/{team}/roster/{member}/edit", get(edit::edit).post(edit::save))
        .route(
            "/teams/{team}/roster/{member}/move",
            get(leaving::choose_team).post(leaving::move_away),
        )
        .route("/teams/{team}/roster/{member}/remove", get(leaving::confirm).post(leaving::remove))
        .route("/teams/{team}/emergency", get(emergency::show))
        .merge(quick_move::router())
        .merge(confirm_address::router())
}

/// The path of a team's roster.
fn roster_path(team: TeamId) -> String {
    format!("/teams/{team}/roster")
}

/// The path of a person on a team.
fn member_path(team: TeamId, member: MemberId) -> String {
    format!("/teams/{team}/roster/{member}")
}

/// The name of a member on pages: preferred name and last name.
fn name_of(member: &Member) -> String {
    let first = member.preferred_name.as_ref().unwrap_or(&member.first_name);
    let parts = [Some(first), member.last_name.as_ref()];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// The label and kind of the tag for a status. Active members have none.
fn status_tag(status: MemberStatus) -> Option<(&'static str, &'static str)> {
    match status {
        MemberStatus::Active => None,
        MemberStatus::Injured => Some(("no", t!("Injured"))),
        MemberStatus::Inactive => Some(("", t!("Inactive"))),
        MemberStatus::Removed => Some(("", t!("Left the team"))),
    }
}

/// The header of a team whose roster the visitor may change. Archived teams cannot be changed.
fn load_for_change(db: &Reader<'_>, access: &TeamAccess, team: TeamId) -> Result<TeamHeader> {
    let header = TeamHeader::load(db, access, team)?;
    Error::invalid_state("The team is archived. Restore it first.")
        .fail_if(header.team.status == Status::Archived)?;
    Ok(header)
}

/// The header of a team whose roster the visitor may change.
async fn header_for_change(visitor: &Staff, team: TeamId) -> Result<TeamHeader> {
    let access = visitor.team_access().await?;
    visitor.read(move |db| load_for_change(db, &access, team)).await
}

/// Writes to the roster of a team. The transaction checks the visitor's access to the team again.
async fn write<N: Permission, T: Send + 'static>(
    visitor: &Visitor<N>,
    team: TeamId,
    work: impl FnOnce(&Tx<'_>, &TeamAccess) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (session, user) = (visitor.visit.session, visitor.visit.user);
    let check_and_write = move |tx: &Tx<'_>| {
        let access = match session::current_role(tx, session)? {
            Some(user::Role::Owner | user::Role::Admin) => TeamAccess::AllTeams,
            _ => access::for_user(tx, user)?.team_access(N::MIN_LEVEL),
        };
        access.check(team)?;
        work(tx, &access)
    };
    visitor.write(check_and_write).await
}

/// Runs `work` in a transaction that is rolled back, and returns what it found out.
async fn dry_run<T: Send + 'static>(
    visitor: &Staff,
    team: TeamId,
    work: impl FnOnce(&Tx<'_>, &TeamAccess) -> Result<T> + Send + 'static,
) -> Result<T> {
    let found = Arc::new(Mutex::new(None));
    let result = Arc::clone(&found);
    let attempt = write(visitor, team, move |tx, access| -> Result<()> {
        let value = work(tx, access)?;
        *result.lock().expect("nothing panics while it holds the lock") = Some(value);
        // An error rolls the transaction back.
        Err(Error::internal("the end of a dry run"))
    });
    let attempt = attempt.await;
    let value = found.lock().expect("nothing panics while it holds the lock").take();
    match (value, attempt) {
        (Some(value), _) => Ok(value),
        (None, Err(error)) => Err(error),
        (None, Ok(())) => Err(Error::internal("a dry run without a result")),
    }
}

/// The name of a role as a label.
fn role_name(role: Role) -> &'static str {
    match role {
        Role::Player => t!("Player"),
        Role::Coach => t!("Coach"),
        Role::Manager => t!("Manager", "role on a team"),
        Role::Staff => t!("Staff member"),
    }
}
