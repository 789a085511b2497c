//! Invitations: who may join the club, by a link of their own or by a team's.

use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::routing::{get, post};
use http::StatusCode;
use kit::Timestamp;
use kit::secret::{Token, sha256};
use kit::word::Word;
use store::{Reader, Tx};

use super::members::{DONE, MEMBERS};
use crate::accounts::account;
use crate::accounts::permits::AdminArea;
use crate::accounts::user::Role;
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::ids::{InvitationId, PersonId, TeamId};
use crate::joining::desk;
use crate::joining::invitation::{self, Invitation, NewInvitation, Relation};
use crate::joining::pages::link::{self, New};
use crate::names::Names;
use crate::paging::Order;
use crate::post::courier::Note;
use crate::roster::person;
use crate::web::form::{Faults, Form};
use crate::web::leaf::{Asked, Leaf};
use crate::web::pace::Pace;
use crate::web::page::{self, Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Posted, Visitor, see_other};

const INVITATIONS: &str = "/admin/members/invitations";

/// How many invitations of a club are sent by mail.
const MAILED: Pace = Pace { what: "invitation", burst: 50, every: Duration::from_secs(60) };

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/admin/members/invite", get(ask).post(invite))
        .route(INVITATIONS, get(list))
        .route("/admin/members/invitations/{id}/revoke", post(revoke))
        .route("/admin/members/link", post(open_team))
}

/// What the form says.
#[derive(Debug, Default)]
struct Filled {
    email: String,
    role: String,
    relation: String,
    person: String,
}

impl Filled {
    fn of(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            email: text("email"),
            role: text("role"),
            relation: text("relation"),
            person: text("person"),
        }
    }

    /// The invitation that is meant.
    fn wanted(&self) -> Result<NewInvitation> {
        let wrong =
            |pointer, detail: &'static str| Error::new(Code::ValidationFailed, detail).at(pointer);
        let role = Role::parse(&self.role).ok_or_else(|| wrong("/role", "Choose a role."))?;
        let person: Option<PersonId> = match self.person.as_str() {
            "" => None,
            text => Some(text.parse().map_err(|_| wrong("/person", "Choose somebody."))?),
        };
        let relation = Relation::parse(&self.relation).filter(|r| *r != Relation::Coach);
        let tie = match (relation, person) {
            (None, None) => None,
            (None, Some(_)) => {
                return Err(wrong(
                    "/person",
                    "Choose how the invited person is related to this person: “Parent of” or “Is”.",
                ));
            }
            (Some(_), None) => return Err(wrong("/person", "Choose somebody from the roster.")),
            (Some(relation), Some(person)) => Some((relation, person)),
        };
        Ok(NewInvitation { email: self.email.clone(), role, tie })
    }
}

#[derive(Template)]
#[template(path = "admin/members_invite.html")]
struct Invite {
    frame: Frame,
    filled: Filled,
    roles: Vec<Role>,
    people: Vec<(PersonId, String)>,
    teams: Vec<(TeamId, String)>,
    faults: Faults,
}

async fn form_page(visitor: &Visitor<AdminArea>, filled: Filled, faults: Faults) -> Outcome {
    let look = |db: &Reader<'_>| Ok((desk::people(db)?, desk::teams(db)?));
    let (people, teams) = visitor.read(look).await?;
    let owner = visitor.visit.role == Some(Role::Owner);
    let roles = [Role::Member, Role::Admin, Role::Owner];
    let roles = roles.into_iter().filter(|role| owner || *role != Role::Owner).collect();
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let frame = visitor.frame("Invite somebody", Section::Members);
    Ok(page::html(status, &Invite { frame, filled, roles, people, teams, faults })?)
}

async fn ask(visitor: Visitor<AdminArea>) -> Outcome {
    visitor.fresh("/admin/members/invite")?;
    let filled = Filled { role: Role::Member.word().to_owned(), ..Filled::default() };
    form_page(&visitor, filled, Faults::default()).await
}

/// Invites somebody, and shows their link once.
async fn invite(posted: Posted<AdminArea>) -> Outcome {
    let Posted { visitor, form } = posted;
    visitor.fresh("/admin/members/invite")?;
    let filled = Filled::of(&form);
    let by = visitor.visit.user;
    let made = match filled.wanted() {
        Ok(wanted) => visitor.write(move |tx: &Tx<'_>| invitation::invite(tx, by, wanted)).await,
        Err(error) => Err(error),
    };
    let (made, token) = match made {
        Ok(made) => made,
        Err(error) if is_told(&error) => {
            return form_page(&visitor, filled, (&error).into()).await;
        }
        Err(error) => return Err(error.into()),
    };
    let mailed = mail(&visitor, &made, &token).await?;
    let frame = visitor.frame("Invitation", Section::Members);
    let email = made.email.as_deref();
    let expires_at = made.expires_at;
    let new = New { token: &token, expires_at, email, mailed, back: INVITATIONS };
    Ok(link::show(&visitor, frame, &new)?)
}

/// Sends an invitation by mail, if letters can be sent and nobody sends too many. Says whether it did.
async fn mail(
    visitor: &Visitor<AdminArea>,
    invitation: &Invitation,
    token: &Token,
) -> Result<bool> {
    let app = visitor.app();
    let club = visitor.read(|db: &Reader<'_>| account::find(db)).await?;
    // Nobody lives at the addresses of the demo club.
    let Some(email) = invitation.email.clone().filter(|_| !club.demo) else { return Ok(false) };
    let sender = sha256(club.id.to_string().as_bytes());
    if !app.courier.has_server() || app.paces.take(MAILED, sender).is_err() {
        return Ok(false);
    }
    let text = format!(
        "You are invited to {} on Touchline.\n\nOpen this link within 72 hours to join:\n\n{}\n\n\
         If you do not know the club, do nothing.\n",
        club.name,
        link::mailed_address(app, token)
    );
    let subject = format!("Join {}", club.name);
    app.courier.send(app, Note { to_name: String::new(), to_address: email, subject, text });
    Ok(true)
}

fn is_told(error: &Error) -> bool {
    matches!(error.code, Code::ValidationFailed | Code::Taken | Code::InvalidState)
}

/// Makes a team's link in place of the one it had, and shows it once.
async fn open_team(posted: Posted<AdminArea>) -> Outcome {
    let Posted { visitor, form } = posted;
    visitor.fresh("/admin/members/invite")?;
    let team: TeamId = form.text("team").parse().map_err(|_| Error::not_found())?;
    let by = visitor.visit.user;
    let open = move |tx: &Tx<'_>| invitation::open_team(tx, by, team);
    let (made, token) = visitor.write(open).await?;
    let frame = visitor.frame("A link for a team", Section::Members);
    let expires_at = made.expires_at;
    let new = New { token: &token, expires_at, email: None, mailed: false, back: INVITATIONS };
    Ok(link::show(&visitor, frame, &new)?)
}

/// An invitation with the names it mentions.
struct Line {
    invitation: Invitation,
    team: Option<String>,
    person: Option<String>,
    by: String,
}

#[derive(Template)]
#[template(path = "admin/members_invitations.html")]
struct Invitations {
    frame: Frame,
    lines: Vec<Line>,
    next: String,
    now: Timestamp,
}

async fn list(visitor: Visitor<AdminArea>) -> Outcome {
    let asked = Asked::of(&visitor, Order::Desc)?;
    let Leaf { rows, next } = Leaf::read(&visitor, &asked, invitation::open).await?;
    let lines = visitor.read(move |db| named(db, rows)).await?;
    let frame =
        visitor.frame("Open invitations", Section::Members).flash(visitor.guest.done(&DONE));
    let now = visitor.app().clock.now();
    Ok(page::html(StatusCode::OK, &Invitations { frame, lines, next, now })?)
}

fn named(db: &Reader<'_>, rows: Vec<Invitation>) -> Result<Vec<Line>> {
    let people = person::all(db, rows.iter().filter_map(|row| row.person_id).collect())?;
    let teams = desk::named(db, rows.iter().filter_map(|row| row.team_id).collect())?;
    let names = Names::of(db, rows.iter().map(|row| row.created_by.as_str()))?;
    let line = |invitation: Invitation| {
        let team = teams.iter().find(|(id, _)| Some(*id) == invitation.team_id);
        let person = invitation.person_id.and_then(|id| people.get(&id));
        Line {
            team: team.map(|(_, name)| name.clone()),
            person: person.map(person::display_name),
            by: names.of_id(&invitation.created_by).unwrap_or("Somebody").to_owned(),
            invitation,
        }
    };
    Ok(rows.into_iter().map(line).collect())
}

/// Takes an invitation back.
async fn revoke(At(id): At<InvitationId>, posted: Posted<AdminArea>) -> Outcome {
    let (visitor, by) = (&posted.visitor, posted.visitor.visit.user);
    visitor.write(move |tx: &Tx<'_>| invitation::revoke(tx, by, id)).await?;
    Ok(see_other(&format!("{INVITATIONS}?done=revoked")))
}

impl Line {
    /// For whom it is, in words.
    fn target(&self) -> &str {
        let email = self.invitation.email.as_deref();
        email.or(self.team.as_deref()).unwrap_or("Anybody with the link")
    }

    /// Where the button leads.
    fn revocation(&self) -> String {
        format!("{MEMBERS}/invitations/{}/revoke", self.invitation.id)
    }
}
