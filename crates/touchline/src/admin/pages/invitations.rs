//! Invitations to the club: personal links, and links for a whole team.

use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::routing::{get, post};
use http::StatusCode;
use kit::Timestamp;
use kit::secret::{Token, sha256};
use kit::string_enum::StringEnum;
use store::{Reader, Tx};

use super::members::{FLASH_MESSAGES, MEMBERS};
use crate::accounts::account;
use crate::accounts::permissions::AdminArea;
use crate::accounts::user::Role;
use crate::error::{Code, Error, Result};
use crate::ids::{InvitationId, PersonId, TeamId};
use crate::joining::claim_list;
use crate::joining::invitation::{self, Invitation, NewInvitation, Relation};
use crate::joining::pages::link::{self, NewLink};
use crate::names::Names;
use crate::paging::Order;
use crate::roster::person;
use crate::smtp::direct::DirectEmail;
use crate::web::app::App;
use crate::web::form::{Faults, Form};
use crate::web::page::{self, Frame, Section};
use crate::web::path::PathParams;
use crate::web::row_page::{ListRequest, RowPage};
use crate::web::throttle::RateLimit;
use crate::web::visitor::{PageResult, Visitor, VisitorForm, see_other};

const INVITATIONS: &str = "/admin/members/invitations";

/// How many invitation emails a club can send.
const EMAIL_LIMIT: RateLimit =
    RateLimit { name: "invitation", burst: 50, interval: Duration::from_secs(60) };

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/admin/members/invite", get(show_form).post(invite))
        .route(INVITATIONS, get(list))
        .route("/admin/members/invitations/{id}/revoke", post(revoke))
        .route("/admin/members/link", post(create_team_link))
}

/// The form as submitted.
#[derive(Debug, Default)]
struct InviteForm {
    email: String,
    role: String,
    relation: String,
    person: String,
}

impl InviteForm {
    fn from_form(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            email: text("email"),
            role: text("role"),
            relation: text("relation"),
            person: text("person"),
        }
    }

    /// Validates the form.
    fn validate(&self) -> Result<NewInvitation> {
        let invalid =
            |pointer, detail: &'static str| Error::new(Code::ValidationFailed, detail).at(pointer);
        let role = Role::parse(&self.role).ok_or_else(|| invalid("/role", "Choose a role."))?;
        let person: Option<PersonId> = match self.person.as_str() {
            "" => None,
            text => Some(text.parse().map_err(|_| invalid("/person", "Choose a person."))?),
        };
        let relation = Relation::parse(&self.relation).filter(|r| *r != Relation::Coach);
        let relation_to = match (relation, person) {
            (None, None) => None,
            (None, Some(_)) => {
                return Err(invalid(
                    "/person",
                    "Choose “Parent or guardian of a person on the roster” or “Person on the roster”.",
                ));
            }
            (Some(_), None) => return Err(invalid("/person", "Choose a person on the roster.")),
            (Some(relation), Some(person)) => Some((relation, person)),
        };
        Ok(NewInvitation { email: self.email.clone(), role, relation_to })
    }
}

#[derive(Template)]
#[template(path = "admin/members_invite.html")]
struct InvitePage {
    frame: Frame,
    form: InviteForm,
    roles: Vec<Role>,
    people: Vec<(PersonId, String)>,
    teams: Vec<(TeamId, String)>,
    faults: Faults,
}

async fn form_page(visitor: &Visitor<AdminArea>, form: InviteForm, faults: Faults) -> PageResult {
    let read =
        |db: &Reader<'_>| Ok((claim_list::people_on_rosters(db)?, claim_list::active_teams(db)?));
    let (people, teams) = visitor.read(read).await?;
    let owner = visitor.visit.role == Some(Role::Owner);
    let roles = [Role::Member, Role::Admin, Role::Owner];
    let roles = roles.into_iter().filter(|role| owner || *role != Role::Owner).collect();
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let frame = visitor.frame("Invite", Section::Members);
    Ok(page::html(status, &InvitePage { frame, form, roles, people, teams, faults })?)
}

async fn show_form(visitor: Visitor<AdminArea>) -> PageResult {
    visitor.require_recent_authentication("/admin/members/invite")?;
    let form = InviteForm { role: Role::Member.as_str().to_owned(), ..InviteForm::default() };
    form_page(&visitor, form, Faults::default()).await
}

/// Creates an invitation and shows its link, once.
async fn invite(posted: VisitorForm<AdminArea>) -> PageResult {
    let VisitorForm { visitor, form } = posted;
    visitor.require_recent_authentication("/admin/members/invite")?;
    let invite_form = InviteForm::from_form(&form);
    let by = visitor.visit.user;
    let created = match invite_form.validate() {
        Ok(new) => visitor.write(move |tx: &Tx<'_>| invitation::invite(tx, by, new)).await,
        Err(error) => Err(error),
    };
    let (invitation, token) = match created {
        Ok(created) => created,
        Err(error) if is_form_error(&error) => {
            return form_page(&visitor, invite_form, (&error).into()).await;
        }
        Err(error) => return Err(error.into()),
    };
    let mailed = send_invitation_email(&visitor, &invitation, &token).await?;
    let frame = visitor.frame("Invitation", Section::Members);
    let email = invitation.email.as_deref();
    let expires_at = invitation.expires_at;
    let new = NewLink { token: &token, expires_at, email, mailed, back: INVITATIONS };
    Ok(link::show(&visitor, frame, &new)?)
}

/// Emails an invitation, unless no mail server is set or the club's limit is reached. Returns whether it did.
async fn send_invitation_email(
    visitor: &Visitor<AdminArea>,
    invitation: &Invitation,
    token: &Token,
) -> Result<bool> {
    let app = visitor.app();
    let club = visitor.read(|db: &Reader<'_>| account::find(db)).await?;
    // The email addresses of the demo club are made up.
    let Some(email) = invitation.email.clone().filter(|_| !club.demo) else { return Ok(false) };
    let sender = sha256(club.id.to_string().as_bytes());
    if !app.direct_mailer.has_server() || app.throttle.check(EMAIL_LIMIT, sender).is_err() {
        return Ok(false);
    }
    let (club, link) = (club.name, link::mailed_url(app, token));
    let text = t!(
        "You are invited to join {club} on Touchline.\n\nOpen this link within 72 hours to join:\n\n{link}\n\n\
         If you do not know the club, ignore this email.\n",
        club,
        link
    );
    let subject = t!("Join {club}", club);
    app.send_email(&DirectEmail { to_name: String::new(), to_address: email, subject, text });
    Ok(true)
}

/// Whether the form shows an error, instead of an error page.
fn is_form_error(error: &Error) -> bool {
    matches!(error.code, Code::ValidationFailed | Code::Taken | Code::InvalidState)
}

/// Creates a team's link, which replaces its previous one, and shows it once.
async fn create_team_link(posted: VisitorForm<AdminArea>) -> PageResult {
    let VisitorForm { visitor, form } = posted;
    visitor.require_recent_authentication("/admin/members/invite")?;
    let team: TeamId = form.text("team").parse().map_err(|_| Error::not_found())?;
    let by = visitor.visit.user;
    let create = move |tx: &Tx<'_>| invitation::create_team_link(tx, by, team);
    let (invitation, token) = visitor.write(create).await?;
    let frame = visitor.frame("Team link", Section::Members);
    let expires_at = invitation.expires_at;
    let new = NewLink { token: &token, expires_at, email: None, mailed: false, back: INVITATIONS };
    Ok(link::show(&visitor, frame, &new)?)
}

/// An invitation with the names of its team, person and creator.
struct InvitationRow {
    invitation: Invitation,
    team: Option<String>,
    person: Option<String>,
    created_by: String,
}

#[derive(Template)]
#[template(path = "admin/members_invitations.html")]
struct InvitationsPage {
    frame: Frame,
    rows: Vec<InvitationRow>,
    next: String,
    now: Timestamp,
}

async fn list(visitor: Visitor<AdminArea>) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let RowPage { rows, next } = RowPage::read(&visitor, &request, invitation::list_open).await?;
    let rows = visitor.read(move |db| with_names(db, rows)).await?;
    let frame = visitor
        .frame("Open invitations", Section::Members)
        .flash(visitor.guest.done_flash(&FLASH_MESSAGES));
    let now = visitor.app().clock.now();
    Ok(page::html(StatusCode::OK, &InvitationsPage { frame, rows, next, now })?)
}

fn with_names(db: &Reader<'_>, invitations: Vec<Invitation>) -> Result<Vec<InvitationRow>> {
    let people =
        person::find_many(db, invitations.iter().filter_map(|one| one.person_id).collect())?;
    let teams =
        claim_list::team_names(db, invitations.iter().filter_map(|one| one.team_id).collect())?;
    let names = Names::load(db, invitations.iter().map(|one| one.created_by.as_str()))?;
    let row = |invitation: Invitation| {
        let team = teams.iter().find(|(id, _)| Some(*id) == invitation.team_id);
        let person = invitation.person_id.and_then(|id| people.get(&id));
        InvitationRow {
            team: team.map(|(_, name)| name.clone()),
            person: person.map(person::display_name),
            created_by: names.get(&invitation.created_by).unwrap_or("Unknown").to_owned(),
            invitation,
        }
    };
    Ok(invitations.into_iter().map(row).collect())
}

/// Revokes an invitation.
async fn revoke(
    PathParams(id): PathParams<InvitationId>,
    posted: VisitorForm<AdminArea>,
) -> PageResult {
    let (visitor, by) = (&posted.visitor, posted.visitor.visit.user);
    visitor.write(move |tx: &Tx<'_>| invitation::revoke(tx, by, id)).await?;
    Ok(see_other(&format!("{INVITATIONS}?done=revoked")))
}

impl InvitationRow {
    /// Who the invitation is for.
    fn recipient(&self) -> &str {
        let email = self.invitation.email.as_deref();
        email.or(self.team.as_deref()).unwrap_or("Anyone with the link")
    }

    /// The address that the Revoke button posts to.
    fn revoke_href(&self) -> String {
        format!("{MEMBERS}/invitations/{}/revoke", self.invitation.id)
    }
}
