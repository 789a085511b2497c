//! Members and roles: who may sign in to the club, and as what.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::routing::{get, post};
use http::StatusCode;
use kit::Timestamp;
use kit::secret::sha256;
use kit::word::Word;
use store::{Reader, Tx};

use crate::accounts::permits::AdminArea;
use crate::accounts::user::Role;
use crate::admin::people::{self, PeopleFilter, Someone};
use crate::admin::removal;
use crate::app::App;
use crate::error::{Code, Error};
use crate::ids::UserId;
use crate::joining::{claim, invitation};
use crate::paging::Order;
use crate::post::courier::Note;
use crate::roster::confirmations;
use crate::web::form::Faults;
use crate::web::leaf::{Asked, Leaf};
use crate::web::pace::Pace;
use crate::web::page::{self, Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Posted, Visitor, see_other};

/// How many letters for a new password admins can have sent to one person.
const RESETS: Pace = Pace { what: "reset by admin", burst: 3, every: Duration::from_secs(3600) };
pub(super) const MEMBERS: &str = "/admin/members";
/// What is said after something was done.
pub(super) const DONE: [(&str, &str); 6] = [
    ("role", "The role was changed."),
    ("reset", "We sent them a link to choose a new password."),
    ("removed", "They no longer belong to the club."),
    ("revoked", "The invitation no longer works."),
    ("approved", "They are in."),
    ("refused", "They were turned away."),
];

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(MEMBERS, get(list))
        .route("/admin/members/{user}", get(show))
        .route("/admin/members/{user}/role", post(change_role))
        .route("/admin/members/{user}/reset", post(start_reset))
        .route("/admin/members/{user}/remove", get(ask_removal).post(remove))
}

#[derive(Template)]
#[template(path = "admin/members.html")]
struct Members {
    frame: Frame,
    people: Vec<Someone>,
    teams: BTreeMap<UserId, Vec<String>>,
    next: String,
    claims: i64,
    adults: i64,
    invitations: i64,
    filter: PeopleFilter,
    now: Timestamp,
}

impl Members {
    /// Templates hand over references.
    fn is_role(&self, role: impl Borrow<Role>) -> bool {
        self.filter.role == Some(*role.borrow())
    }

    fn is_filtered(&self) -> bool {
        self.filter.role.is_some() || self.filter.two_step.is_some()
    }
}

async fn list(visitor: Visitor<AdminArea>) -> Outcome {
    let asked = Asked::of(&visitor, Order::Asc)?;
    let filter = PeopleFilter {
        role: Role::parse(asked.form.text("role")),
        two_step: match asked.form.text("two_step") {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        },
    };
    let read = move |db: &Reader<'_>, page: &_| people::page(db, &filter, page);
    let Leaf { rows: people, next } = Leaf::read(&visitor, &asked, read).await?;
    let ids = people.iter().map(|one| one.id).collect();
    let look = move |db: &Reader<'_>| {
        let counts =
            (claim::count_open(db)?, confirmations::count(db)?, invitation::count_open(db)?);
        Ok((people::teams_of(db, ids)?, counts))
    };
    let (teams, (claims, adults, invitations)) = visitor.read(look).await?;
    let frame = visitor.frame("Members", Section::Members).flash(visitor.guest.done(&DONE));
    let now = visitor.app().clock.now();
    let page = Members { frame, people, teams, next, claims, adults, invitations, filter, now };
    Ok(page::html(StatusCode::OK, &page)?)
}

#[derive(Template)]
#[template(path = "admin/members_one.html")]
struct One {
    frame: Frame,
    someone: Someone,
    teams: Vec<String>,
    /// Whether this visitor may give them another role or take them out.
    changeable: bool,
    /// The roles this visitor may give.
    roles: Vec<Role>,
    own: bool,
    /// Whether letters can be sent at all.
    mail: bool,
    faults: Faults,
    now: Timestamp,
}

impl One {
    async fn of(visitor: &Visitor<AdminArea>, id: UserId, faults: Faults) -> Outcome<Self> {
        let look = move |db: &Reader<'_>| {
            Ok((people::find(db, id)?, people::teams_of(db, vec![id])?.remove(&id)))
        };
        let (someone, teams) = visitor.read(look).await?;
        let owner = visitor.visit.role == Some(Role::Owner);
        let roles = [Role::Owner, Role::Admin, Role::Member];
        let frame = visitor.frame(someone.name.clone(), Section::Members);
        Ok(Self {
            frame: frame.flash(visitor.guest.done(&DONE)),
            changeable: owner || someone.role != Role::Owner,
            roles: roles.into_iter().filter(|role| owner || *role != Role::Owner).collect(),
            own: visitor.visit.user == id,
            mail: visitor.app().courier.has_server(),
            teams: teams.unwrap_or_default(),
            now: visitor.app().clock.now(),
            someone,
            faults,
        })
    }
}

impl One {
    /// The page that says what removing them does.
    fn removal(&self) -> String {
        format!("{MEMBERS}/{}/remove", self.someone.id)
    }

    /// What the way out of the club is called.
    fn leaving(&self) -> &'static str {
        leaving(self.own)
    }
}

fn leaving(own: bool) -> &'static str {
    if own { "Leave the club" } else { "Remove from the club" }
}

async fn show(At(id): At<UserId>, visitor: Visitor<AdminArea>) -> Outcome {
    Ok(page::html(StatusCode::OK, &One::of(&visitor, id, Faults::default()).await?)?)
}

/// Gives somebody another role.
async fn change_role(At(id): At<UserId>, posted: Posted<AdminArea>) -> Outcome {
    let Posted { visitor, form } = posted;
    visitor.fresh(&format!("{MEMBERS}/{id}"))?;
    let by = visitor.visit.user;
    let unknown = || Error::new(Code::ValidationFailed, "Choose a role.").at("/role");
    let role = Role::parse(form.text("role")).ok_or_else(unknown)?;
    let change = move |tx: &Tx<'_>| removal::change_role(tx, by, id, role);
    match visitor.write(change).await {
        Ok(_) => Ok(see_other(&format!("{MEMBERS}/{id}?done=role"))),
        Err(error) if error.code == Code::InvalidState => {
            let page = One::of(&visitor, id, (&error).into()).await?;
            Ok(page::html(error.code.status(), &page)?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Sends somebody a link to choose a new password. Nobody else learns it.
async fn start_reset(At(id): At<UserId>, posted: Posted<AdminArea>) -> Outcome {
    let visitor = posted.visitor;
    let page = format!("{MEMBERS}/{id}");
    visitor.fresh(&page)?;
    let app = visitor.app();
    if !app.courier.has_server() {
        let detail = "This server cannot send email. The operator can set up a mail server with the setting TOUCHLINE_SMTP_URL, or make a link \
            with `touchline user reset`.";
        return Err(Error::invalid_state(detail).into());
    }
    app.paces.take(RESETS, sha256(id.to_string().as_bytes()))?;
    let by = visitor.visit.user;
    let start = move |tx: &Tx<'_>| removal::start_reset(tx, by, id);
    let (user, club, token) = visitor.write(start).await?;
    let text = format!(
        "An admin of {} asked us to send you this link.\n\nChoose a new password for Touchline within 30 \
         minutes:\n\n{}\n\nIf you do not need one, do nothing: your password stays as it is.\n",
        club.name,
        app.url(&format!("/reset/{}", token.reveal()))
    );
    if !club.demo {
        let subject = "Choose a new password".to_owned();
        app.courier.send(app, Note { to_name: user.name, to_address: user.email, subject, text });
    }
    Ok(see_other(&format!("{page}?done=reset")))
}

#[derive(Template)]
#[template(path = "admin/members_remove.html")]
struct Remove {
    frame: Frame,
    someone: Someone,
    own: bool,
    faults: Faults,
}

impl Remove {
    fn back(&self) -> String {
        format!("{MEMBERS}/{}", self.someone.id)
    }

    fn leaving(&self) -> &'static str {
        leaving(self.own)
    }
}

async fn removal_page(
    visitor: &Visitor<AdminArea>,
    id: UserId,
    (status, faults): (StatusCode, Faults),
) -> Outcome {
    let someone = visitor.read(move |db: &Reader<'_>| people::find(db, id)).await?;
    let own = visitor.visit.user == id;
    let title = format!("Remove {}?", someone.name);
    let frame = visitor.frame(title, Section::Members);
    Ok(page::html(status, &Remove { frame, someone, own, faults })?)
}

/// Says what will happen.
async fn ask_removal(At(id): At<UserId>, visitor: Visitor<AdminArea>) -> Outcome {
    visitor.fresh(&format!("{MEMBERS}/{id}/remove"))?;
    removal_page(&visitor, id, (StatusCode::OK, Faults::default())).await
}

/// Takes somebody out of the club.
async fn remove(At(id): At<UserId>, posted: Posted<AdminArea>) -> Outcome {
    let visitor = posted.visitor;
    visitor.fresh(&format!("{MEMBERS}/{id}/remove"))?;
    let by = visitor.visit.user;
    match visitor.write(move |tx: &Tx<'_>| removal::remove(tx, by, id)).await {
        Ok(()) if by == id => Ok(see_other("/account")),
        Ok(()) => Ok(see_other(&format!("{MEMBERS}?done=removed"))),
        Err(error) if error.code == Code::InvalidState => {
            removal_page(&visitor, id, (error.code.status(), (&error).into())).await
        }
        Err(error) => Err(error.into()),
    }
}
