//! Invitations to the club: personal links, and links for a whole team.

use std::time::Duration;

use kit::secret::{Token, sha256};

use super::members::{FLASH_MESSAGES, MEMBERS};
use super::shared::{Admin, AdminForm};
use crate::accounts::account;
use crate::accounts::user::Role;
use crate::joining::claim_list;
use crate::joining::invitation::{self, Invitation, NewInvitation, Relation};
use crate::joining::pages::link::{self, NewLink};
use crate::names::Names;
use crate::prelude::*;
use crate::roster::person;
use crate::smtp::direct::DirectEmail;
use crate::web::form::{Choice, Field, FilledForm};
use crate::web::prelude::*;
use crate::web::throttle::RateLimit;

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

const FIELDS: &[Field] = &[
    Field::email("email", "Email").required("Enter an email address."),
    Field::select("role", "Role", &[])
        .hint("Members see only the teams they are on.")
        .required("Choose a role."),
    Field::select(
        "relation",
        "Place on the roster",
        &[
            Choice::new("", "Not on a roster"),
            Choice::new("guardian", "Parent or guardian of a person on the roster"),
            Choice::new("self", "Person on the roster"),
        ],
    )
    .hint("Is this person on a roster, or the parent of somebody on a roster?"),
    Field::select("person", "Person", &[Choice::new("", "Choose")])
        .required("Choose a person on the roster.")
        .when("relation", &["guardian", "self"])
        .or_reject(
            "Choose “Parent or guardian of a person on the roster” or “Person on the roster”.",
        ),
];

/// The invitation; `None` after adding errors to the form.
fn to_invitation(form: &mut FilledForm) -> Option<NewInvitation> {
    let body = form.body();
    let role = body["role"].as_str().and_then(Role::parse);
    let relation = body["relation"].as_str().and_then(Relation::parse);
    let person: Option<PersonId> = body["person"].as_str().and_then(|id| id.parse().ok());
    if role.is_none() {
        form.faults.add("role", t!("Choose a role."));
    }
    if relation.is_some() && person.is_none() {
        form.faults.add("person", t!("Choose a person."));
    }
    let (email, relation_to) = (form.text("email").to_owned(), relation.zip(person));
    Some(NewInvitation { email, role: role?, relation_to }).filter(|_| form.faults.is_empty())
}

#[derive(Template)]
#[template(path = "admin/members_invite.html")]
struct InvitePage {
    frame: Frame,
    form: FilledForm,
    teams: Vec<(TeamId, String)>,
}

async fn form_page(visitor: &Admin, form: FilledForm) -> PageResult {
    let read =
        |db: &Reader<'_>| Ok((claim_list::people_on_rosters(db)?, claim_list::active_teams(db)?));
    let (people, teams) = visitor.read(read).await?;
    let form = with_roles(form.options("person", people), visitor);
    let frame = visitor.frame(t!("Invite"), Section::Members);
    render(form.status(), &InvitePage { frame, form, teams })
}

/// The roles that the visitor can grant.
fn with_roles(form: FilledForm, visitor: &Admin) -> FilledForm {
    let owner = visitor.visit.role == Some(Role::Owner);
    let roles = [Role::Member, Role::Admin, Role::Owner];
    let roles = roles.into_iter().filter(|role| owner || *role != Role::Owner);
    form.options("role", roles.map(|role| (role.as_str(), t!(role.label()))))
}

async fn show_form(visitor: Admin) -> PageResult {
    visitor.require_recent_authentication(&visitor.guest.path_and_query)?;
    let query = visitor.guest.query()?;
    let (person, relation) = (query.text("person").to_owned(), query.text("relation").to_owned());
    // The address of the person themselves; a guardian has another one.
    let id = person.parse::<PersonId>().ok().filter(|_| relation == "self");
    let find = move |db: &Reader<'_>| id.map(|id| person::find(db, id).or_none()).transpose();
    let email = visitor.read(find).await?.flatten().and_then(|person| person.email);
    let form = FilledForm::empty(FIELDS)
        .with("role", Role::Member.as_str())
        .with("relation", relation)
        .with("person", person)
        .with("email", email.unwrap_or_default());
    form_page(&visitor, form).await
}

/// Creates an invitation and shows its link, once.
async fn invite(posted: AdminForm) -> PageResult {
    let AdminForm { visitor, form } = posted;
    visitor.require_recent_authentication("/admin/members/invite")?;
    let mut form = FilledForm::submitted(FIELDS, &form);
    let Some(new) = to_invitation(&mut form) else { return form_page(&visitor, form).await };
    let by = visitor.visit.user;
    let created = visitor.write(move |tx: &Tx<'_>| invitation::invite(tx, by, new)).await;
    let Some((invitation, token)) = form.accept(created)? else {
        return form_page(&visitor, form).await;
    };
    let mailed = send_invitation_email(&visitor, &invitation, &token).await?;
    let frame = visitor.frame(t!("Invitation"), Section::Members);
    let email = invitation.email.as_deref();
    let expires_at = invitation.expires_at;
    let new = NewLink { token: &token, expires_at, email, mailed, back: INVITATIONS };
    Ok(link::show(&visitor, frame, &new)?)
}

/// Emails an invitation, unless no mail server is set or the club's limit is reached. Returns whether it did.
async fn send_invitation_email(
    visitor: &Admin,
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

/// Creates a team's link, which replaces its previous one, and shows it once.
async fn create_team_link(posted: AdminForm) -> PageResult {
    let AdminForm { visitor, form } = posted;
    visitor.require_recent_authentication("/admin/members/invite")?;
    let team: TeamId = form.text("team").parse().map_err(|_| Error::not_found())?;
    let by = visitor.visit.user;
    let create = move |tx: &Tx<'_>| invitation::create_team_link(tx, by, team);
    let (invitation, token) = visitor.write(create).await?;
    let frame = visitor.frame(t!("Team link"), Section::Members);
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

async fn list(visitor: Admin) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let RowPage { rows, next } = RowPage::read(&visitor, &request, invitation::list_open).await?;
    let rows = visitor.read(move |db| with_names(db, rows)).await?;
    let frame = visitor
        .frame(t!("Open invitations"), Section::Members)
        .flash(visitor.guest.done_flash(&FLASH_MESSAGES));
    let now = visitor.app().clock.now();
    render(StatusCode::OK, &InvitationsPage { frame, rows, next, now })
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
            created_by: names.get(&invitation.created_by).unwrap_or(t!("Unknown")).to_owned(),
            invitation,
        }
    };
    Ok(invitations.into_iter().map(row).collect())
}

/// Revokes an invitation.
async fn revoke(PathParams(id): PathParams<InvitationId>, posted: AdminForm) -> PageResult {
    let (visitor, by) = (&posted.visitor, posted.visitor.visit.user);
    visitor.write(move |tx: &Tx<'_>| invitation::revoke(tx, by, id)).await?;
    Ok(see_other(&format!("{INVITATIONS}?done=revoked")))
}

impl InvitationRow {
    /// Who the invitation is for.
    fn recipient(&self) -> &str {
        let email = self.invitation.email.as_deref();
        email.or(self.team.as_deref()).unwrap_or(t!("Anyone with the link"))
    }

    /// The address that the Revoke button posts to.
    fn revoke_href(&self) -> String {
        format!("{MEMBERS}/invitations/{}/revoke", self.invitation.id)
    }
}
