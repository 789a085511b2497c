//! Members: the users of the club and their roles.

use std::time::Duration;

use kit::secret::sha256;

use super::shared::{Admin, AdminForm};
use crate::accounts::user::Role;
use crate::admin::removal;
use crate::admin::users::{self, ClubUser, UserFilter};
use crate::joining::{claim, invitation};
use crate::prelude::*;
use crate::roster::confirmations;
use crate::smtp::direct::DirectEmail;
use crate::web::confirm::ConfirmPage;
use crate::web::form::FilledForm;
use crate::web::list::{Cell, Column, FilterBar, List};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;
use crate::web::throttle::RateLimit;

/// How many password reset emails admins can send to one user.
const RESET_EMAIL_LIMIT: RateLimit =
    RateLimit { name: "reset by admin", burst: 3, interval: Duration::from_secs(3600) };
pub(super) const MEMBERS: &str = "/admin/members";
/// The messages that a page shows after a redirect, by the value of `?done=`.
pub(super) const FLASH_MESSAGES: [(&str, &str); 6] = [
    ("role", mark!("The role was changed.")),
    ("reset", mark!("We sent them a link to choose a new password.")),
    ("removed", mark!("The member was removed from the club.")),
    ("revoked", mark!("The invitation no longer works.")),
    ("approved", mark!("The request was approved. This person now has access to the club.")),
    ("refused", mark!("The request was refused.")),
];

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(MEMBERS, get(list))
        .route("/admin/members/{user}", get(show))
        .route("/admin/members/{user}/role", post(change_role))
        .route("/admin/members/{user}/reset", post(start_reset))
        .route("/admin/members/{user}/remove", get(confirm_removal).post(remove))
}

#[derive(Template)]
#[template(path = "admin/members.html")]
struct MembersPage {
    frame: Frame,
    list: List,
    claims: i64,
    adults: i64,
    invitations: i64,
}

const ROLES: [Role; 3] = [Role::Owner, Role::Admin, Role::Member];

/// A user, and the names of their teams.
type Member = (ClubUser, Vec<String>);

const COLUMNS: &[Column<Member>] = &[
    Column::page("Name", |(user, _)| {
        let name = Cell::name(&user.name).link(format!("{MEMBERS}/{}", user.id));
        name.and(Cell::Email(&user.email).about())
    }),
    Column::page("Role", |(user, _)| {
        let kind = if user.role == Role::Member { "" } else { "info" };
        let disabled = user.disabled_at.map(|_| Cell::Badge(("bad", t!("Disabled"))));
        Cell::Badge((kind, t!(user.role.label()))).and_if(disabled)
    }),
    Column::page("Teams", |(_, teams)| match teams.split_first() {
        None => Cell::muted(t!("None")),
        Some((first, others)) => {
            let others = others.iter().map(|team| Cell::text(", ").and(Cell::name(team)));
            others.fold(Cell::name(first), Cell::and).inside("span", "")
        }
    }),
    Column::page("Last seen", |(user, _)| match user.last_seen_at {
        Some(at) => Cell::Age(at),
        None => Cell::text(t!("Not recently")).inside("span", "muted nowrap"),
    }),
    Column::page("Two-step sign-in", |(user, _)| match (user.two_step, user.role) {
        (true, _) => Cell::Badge(("good", t!("On"))),
        (false, Role::Member) => Cell::Badge(("", t!("Off"))),
        (false, _) => Cell::Badge(("warn", t!("Off"))),
    }),
];

async fn list(visitor: Admin) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Asc)?;
    let filters = FilterBar::new(&request.form)
        .select("role", "Role", "All", ROLES.map(|role| (role.as_str(), t!(role.label()))))
        .select("two_step", "Two-step sign-in", "All", [("on", t!("On")), ("off", t!("Off"))])
        .clear(MEMBERS);
    let filter = UserFilter {
        role: Role::parse(filters.text("role")),
        two_step: match filters.text("two_step") {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        },
    };
    let read = move |db: &Reader<'_>, page: &_| users::page(db, &filter, page);
    let RowPage { rows: people, next } = RowPage::read(&visitor, &request, read).await?;
    let ids = people.iter().map(|one| one.id).collect();
    let read = move |db: &Reader<'_>| {
        let counts =
            (claim::count_open(db)?, confirmations::count(db)?, invitation::count_open(db)?);
        Ok((users::teams_of(db, ids)?, counts))
    };
    let (mut teams, (claims, adults, invitations)) = visitor.read(read).await?;
    let member = |user: ClubUser| {
        let teams = teams.remove(&user.id).unwrap_or_default();
        (user, teams)
    };
    let members: Vec<Member> = people.into_iter().map(member).collect();
    let list = List::new(t!("Members"), COLUMNS, &members, &visitor.times());
    let frame = visitor.frame(t!("Members"), Section::Members);
    let frame = frame.flash(visitor.guest.done_flash(&FLASH_MESSAGES));
    let list = list.next(next).filters(filters);
    render(StatusCode::OK, &MembersPage { frame, list, claims, adults, invitations })
}

#[derive(Template)]
#[template(path = "admin/members_one.html")]
struct MemberPage {
    frame: Frame,
    user: ClubUser,
    teams: Vec<String>,
    /// Whether this visitor may change their role or remove them.
    can_change: bool,
    /// The roles this visitor may give.
    roles: Vec<Role>,
    is_self: bool,
    /// Whether the server can send email.
    can_send_email: bool,
    faults: Faults,
    now: Timestamp,
}

impl MemberPage {
    async fn load(visitor: &Admin, id: UserId, faults: Faults) -> PageResult<Self> {
        let read = move |db: &Reader<'_>| {
            Ok((users::find(db, id)?, users::teams_of(db, vec![id])?.remove(&id)))
        };
        let (user, teams) = visitor.read(read).await?;
        let owner = visitor.visit.role == Some(Role::Owner);
        let frame = visitor.frame(user.name.clone(), Section::Members);
        Ok(Self {
            frame: frame.flash(visitor.guest.done_flash(&FLASH_MESSAGES)),
            can_change: owner || user.role != Role::Owner,
            roles: ROLES.into_iter().filter(|role| owner || *role != Role::Owner).collect(),
            is_self: visitor.visit.user == id,
            can_send_email: visitor.app().direct_mailer.has_server(),
            teams: teams.unwrap_or_default(),
            now: visitor.app().clock.now(),
            user,
            faults,
        })
    }

    /// The page that asks for confirmation before they are removed.
    fn remove_href(&self) -> String {
        format!("{MEMBERS}/{}/remove", self.user.id)
    }

    /// The label of the button that removes them, in English.
    fn remove_label(&self) -> &'static str {
        remove_label(self.is_self)
    }
}

fn remove_label(own: bool) -> &'static str {
    if own { mark!("Leave the club") } else { mark!("Remove from the club") }
}

async fn show(PathParams(id): PathParams<UserId>, visitor: Admin) -> PageResult {
    render(StatusCode::OK, &MemberPage::load(&visitor, id, Faults::default()).await?)
}

/// Changes a member's role.
async fn change_role(PathParams(id): PathParams<UserId>, posted: AdminForm) -> PageResult {
    let AdminForm { visitor, form } = posted;
    visitor.require_recent_authentication(&format!("{MEMBERS}/{id}"))?;
    let by = visitor.visit.user;
    let unknown = || Error::new(Code::ValidationFailed, "Choose a role.").at("/role");
    let role = Role::parse(form.text("role")).ok_or_else(unknown)?;
    let change = move |tx: &Tx<'_>| removal::change_role(tx, by, id, role);
    match visitor.write(change).await {
        Ok(_) => Ok(see_other(&format!("{MEMBERS}/{id}?done=role"))),
        Err(error) if error.code == Code::InvalidState => {
            let page = MemberPage::load(&visitor, id, (&error).into()).await?;
            render(error.code.status(), &page)
        }
        Err(error) => Err(error.into()),
    }
}

/// Emails a member a link to choose a new password. The admin never sees the link.
async fn start_reset(PathParams(id): PathParams<UserId>, posted: AdminForm) -> PageResult {
    let visitor = posted.visitor;
    let page = format!("{MEMBERS}/{id}");
    visitor.require_recent_authentication(&page)?;
    let app = visitor.app();
    if !app.direct_mailer.has_server() {
        let detail = "This server does not send email. The operator can set up a mail server with TOUCHLINE_SMTP_URL, or create a link \
            with `touchline user reset`.";
        return Err(Error::invalid_state(detail).into());
    }
    app.throttle.check(RESET_EMAIL_LIMIT, sha256(id.to_string().as_bytes()))?;
    let by = visitor.visit.user;
    let start = move |tx: &Tx<'_>| removal::start_reset(tx, by, id);
    let (user, club, token) = visitor.write(start).await?;
    let text = message!(
        "An admin of {club} asked us to send you a link.\n\nTo choose a new password for Touchline, open it within 30 \
         minutes:\n\n{link}\n\nIf you do not need a new password, ignore this email. Your password stays the same.\n",
        club = club.name,
        link = app.url(&format!("/reset/{}", token.reveal()))
    );
    if !club.demo {
        let write = || (t!("Choose a new password").to_owned(), text.to_string());
        let (subject, text) = user.locale().run(write);
        app.send_email(&DirectEmail { to_name: user.name, to_address: user.email, subject, text });
    }
    Ok(see_other(&format!("{page}?done=reset")))
}

async fn removal_page(visitor: &Admin, id: UserId, error: Option<&Error>) -> PageResult {
    let user = visitor.read(move |db: &Reader<'_>| users::find(db, id)).await?;
    let is_self = visitor.visit.user == id;
    let frame = visitor.frame(t!("Remove {name}?", name = user.name), Section::Members);
    let mut form = FilledForm::empty(&[]);
    if let Some(error) = error {
        form.add_error(error);
    }
    let effects = if is_self { REMOVAL_OF_SELF } else { REMOVAL_OF_OTHER };
    let lead = Sentence::new("{name} ({email}) loses access to the club.");
    let page = ConfirmPage::new(frame, remove_label(is_self), format!("{MEMBERS}/{id}"))
        .lead(lead.name("name", &user.name).name("email", &user.email))
        .form(form, "The member was not removed");
    effects
        .into_iter()
        .fold(page, ConfirmPage::effect)
        .effect("Messages and other content stay. The account keeps working for other clubs.")
        .respond_with(error.map_or(StatusCode::OK, |error| error.code.status()))
}

/// What happens to members who are removed.
const REMOVAL_OF_OTHER: [&str; 4] = [
    mark!("They are signed out of this club at once, on every device."),
    mark!("Apps that act for them here stop working at once."),
    mark!("Open invitations and team links that they created stop working."),
    mark!("They stay on their teams’ rosters, but can no longer sign in to this club."),
];
const REMOVAL_OF_SELF: [&str; 4] = [
    mark!("You are signed out of this club at once, on every device."),
    mark!("Apps that act for you here stop working at once."),
    mark!("Open invitations and team links that you created stop working."),
    mark!("You stay on your teams’ rosters, but can no longer sign in to this club."),
];

/// Asks for confirmation.
async fn confirm_removal(PathParams(id): PathParams<UserId>, visitor: Admin) -> PageResult {
    visitor.require_recent_authentication(&format!("{MEMBERS}/{id}/remove"))?;
    removal_page(&visitor, id, None).await
}

/// Removes a member from the club.
async fn remove(PathParams(id): PathParams<UserId>, posted: AdminForm) -> PageResult {
    let visitor = posted.visitor;
    visitor.require_recent_authentication(&format!("{MEMBERS}/{id}/remove"))?;
    let by = visitor.visit.user;
    match visitor.write(move |tx: &Tx<'_>| removal::remove(tx, by, id)).await {
        Ok(()) if by == id => Ok(see_other("/account")),
        Ok(()) => Ok(see_other(&format!("{MEMBERS}?done=removed"))),
        Err(error) if error.code == Code::InvalidState => {
            removal_page(&visitor, id, Some(&error)).await
        }
        Err(error) => Err(error.into()),
    }
}
