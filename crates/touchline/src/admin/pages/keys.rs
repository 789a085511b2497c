//! API keys: list, create, rename and revoke.

use kit::secret::ApiKey;

use super::keys_form;
use super::shared::{Admin, AdminForm, is_owner, with_scopes};
use crate::accounts::account;
use crate::accounts::api_key::{self, Key, State};
use crate::accounts::usage;
use crate::accounts::user::{self, Role};
use crate::i18n::Html;
use crate::names::Names;
use crate::prelude::*;
use crate::rights::SpaceSeparated;
use crate::teams::team::{self, Status, Team, TeamFilter};
use crate::web::confirm::ConfirmPage;
use crate::web::filters::Time;
use crate::web::form::{Field, FilledForm};
use crate::web::form_dedup::{Submission, submit_once};
use crate::web::list::{Cell, Column, FilterBar, List, list_page};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

/// The form to rename a key.
const RENAMING: &[Field] = &[keys_form::NAME.required("Enter a name.")];
/// How many teams the form offers.
const MAX_TEAMS: i64 = 200;
/// How many names a table cell lists before "and … more".
const MAX_NAMES: usize = 2;
/// The messages that a page shows after a redirect, by the value of `?done=`.
const FLASH_MESSAGES: [(&str, &str); 2] = [
    ("revoked", mark!("The key was revoked. It no longer works.")),
    ("renamed", mark!("The key was renamed.")),
];

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/admin/keys", get(list))
        .route("/admin/keys/new", get(new).post(create))
        .route("/admin/keys/{id}", get(show_key).post(rename))
        .route("/admin/keys/{id}/revoke", get(confirm_revoke).post(revoke))
}

/// A key, formatted for the pages.
struct KeyView {
    key: Key,
    /// Descriptions of its scopes.
    rights: Vec<&'static str>,
    /// The names of the teams it is restricted to; none for all teams.
    teams: Option<Vec<String>>,
    creator: String,
    is_active: bool,
    needs_rotation: bool,
}

impl KeyView {
    fn new(key: Key, names: &Names, now: Timestamp) -> Self {
        let rights = if key.scopes.is_wildcard() {
            vec![t!("Full access")]
        } else {
            key.scopes.names().map(|scope| t!(scope.description())).collect()
        };
        let team_names = |SpaceSeparated(teams): &SpaceSeparated<crate::ids::TeamId>| {
            teams.iter().map(|id| names.get_or_id(&id.to_string()).to_owned()).collect()
        };
        Self {
            rights,
            teams: key.team_ids.as_ref().map(team_names),
            creator: names.get_or_id(&key.created_by).to_owned(),
            is_active: key.is_active(now),
            needs_rotation: key.needs_rotation(now),
            key,
        }
    }

    fn teams_summary(&self) -> String {
        self.teams.as_deref().map_or_else(|| t!("All teams").to_owned(), summarize)
    }

    /// The kind and text of its status badge.
    fn state(&self) -> (&'static str, &'static str) {
        match (self.key.revoked_at, self.is_active) {
            (Some(_), _) => ("bad", t!("Revoked")),
            (None, false) => ("", t!("Expired")),
            (None, true) if self.needs_rotation => ("warn", t!("Older than 90 days")),
            (None, true) => ("good", t!("Active")),
        }
    }
}

/// The first few items, and how many more there are.
fn summarize<T: AsRef<str>>(all: &[T]) -> String {
    let first: Vec<_> = all.iter().take(MAX_NAMES).map(AsRef::as_ref).collect();
    match all.len().saturating_sub(MAX_NAMES) {
        0 => first.join(", "),
        more => {
            let names = first.join(", ");
            tn!("{names} and {count} more", "{names} and {count} more", more, names)
        }
    }
}

/// The ids in a key that resolve to names.
fn mentioned_ids(key: &Key) -> Vec<String> {
    let teams = key.team_ids.iter().flat_map(|SpaceSeparated(teams)| teams);
    teams.map(ToString::to_string).chain([key.created_by.clone()]).collect()
}

fn load_names(db: &Reader<'_>, keys: &[Key]) -> Result<Names> {
    let ids: Vec<_> = keys.iter().flat_map(mentioned_ids).collect();
    Names::load(db, ids.iter().map(String::as_str))
}

list_page!(ListPage, "admin/keys.html");

const STATES: [(&str, &str); 4] = [
    ("expiring", mark!("Expiring within 14 days")),
    ("old", mark!("Older than 90 days")),
    ("over", mark!("Revoked or expired")),
    ("all", mark!("All keys")),
];

const COLUMNS: &[Column<KeyView>] = &[
    Column::page("Name", |view| {
        let badge = (view.needs_rotation || !view.is_active).then(|| Cell::Badge(view.state()));
        Cell::wide(&view.key.name).link(format!("/admin/keys/{}", view.key.id)).and_if(badge)
    }),
    Column::page("Permissions", |view| {
        let is_full = view.key.scopes.is_wildcard();
        let badge = is_full.then_some(Cell::Badge(("warn", t!("Full access"))));
        badge.unwrap_or_else(|| Cell::text(summarize(&view.rights)))
    }),
    Column::page("Teams", |view| Cell::wide(view.teams_summary())),
    Column::page("Last used", |view| Cell::age_or(view.key.last_used_at, t!("Never"))),
    Column::page("Expires", |view| Cell::age_or(view.key.expires_at, t!("Never"))),
    Column::page("Created by", |view| Cell::wide(&view.creator)),
    Column::page("", |view| {
        let href = format!("/admin/keys/{}/revoke", view.key.id);
        let revoke = Cell::button(t!("Revoke"), Cell::name(&view.key.name), href);
        match (view.is_active, view.needs_rotation) {
            (false, _) => Cell::EMPTY,
            (true, false) => revoke,
            (true, true) => {
                Cell::button(t!("Rotate"), Cell::EMPTY, "/admin/keys/new").and_if(Some(revoke))
            }
        }
    }),
];

async fn list(visitor: Admin) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let states = STATES.map(|(state, label)| (state, t!(label)));
    let filters = FilterBar::new(&request.form).select("state", "Status", "Active", states);
    let state = match filters.text("state") {
        "over" => Some(State::Inactive),
        "old" => Some(State::NeedsRotation),
        "expiring" => Some(State::Expiring),
        "all" => None,
        _ => Some(State::Active),
    };
    let RowPage { rows, next } =
        RowPage::read(&visitor, &request, move |db, page| api_key::page(db, state, page)).await?;
    let keys = rows.clone();
    let names = visitor.read(move |db| load_names(db, &keys)).await?;
    let now = visitor.app().clock.now();
    let keys: Vec<_> = rows.into_iter().map(|key| KeyView::new(key, &names, now)).collect();
    let list = List::new(t!("API keys"), COLUMNS, &keys, &visitor.times());
    let list = list.next(next).filters(filters);
    let frame = visitor.frame(t!("API keys"), Section::ApiKeys);
    let frame = frame.flash(visitor.guest.done_flash(&FLASH_MESSAGES));
    render(StatusCode::OK, &ListPage { frame, list })
}

#[derive(Template)]
#[template(path = "admin/keys_new.html")]
struct NewPage {
    frame: Frame,
    form: FilledForm,
    /// How many teams are listed, if there are more.
    listed_teams: Option<usize>,
    owner: bool,
}

async fn new(visitor: Admin) -> PageResult {
    visitor.require_recent_authentication(&visitor.guest.path_and_query)?;
    let form = keys_form::from_link(&visitor.guest.query()?);
    show_form(&visitor, form.nonce(new_nonce(visitor.app()))).await
}

async fn show_form(visitor: &Admin, form: FilledForm) -> PageResult {
    let mut teams = visitor.read(active_teams).await?;
    let max = usize::try_from(MAX_TEAMS).unwrap_or(usize::MAX);
    let has_more = teams.len() > max;
    teams.truncate(max);
    let page = NewPage {
        frame: visitor.frame(t!("New API key"), Section::ApiKeys),
        listed_teams: has_more.then_some(teams.len()),
        form: with_scopes(form)
            .word("address", visitor.guest.context.address().to_canonical())
            .only_if(!teams.is_empty(), "team_ids")
            .options("team_ids", teams.into_iter().map(|team| (team.id, team.name))),
        owner: is_owner(visitor),
    };
    render(page.form.status(), &page)
}

fn active_teams(db: &Reader<'_>) -> Result<Vec<Team>> {
    let filter = TeamFilter { status: Some(Status::Active), ..TeamFilter::default() };
    let page = Page { limit: MAX_TEAMS, order: Order::Asc, last: None };
    team::list(db, &TeamAccess::AllTeams, &filter, &page)
}

#[derive(Template)]
#[template(path = "admin/keys_created.html")]
struct CreatedPage {
    frame: Frame,
    key: KeyView,
    /// The key's value and a curl command to try it. The value is shown only once.
    value: Option<(String, String)>,
    now: Timestamp,
}

async fn create(AdminForm { visitor, form }: AdminForm) -> PageResult {
    let (mut form, nonce) = (keys_form::submitted(&form), parse_nonce(&form)?);
    let everything = form.is_checked("everything");
    if everything && !is_owner(&visitor) {
        return Err(owner_required().into());
    }
    visitor.require_recent_authentication(&keys_form::link(&form))?;
    let Some(new) = keys_form::to_key(&mut form, visitor.app().clock.now()) else {
        return show_form(&visitor, form).await;
    };
    let (ttl, by) = (visitor.app().config.idempotency_ttl, visitor.visit.user);
    let created = visitor.write(move |tx: &Tx<'_>| {
        if everything && user::role_of(tx, by)? != Some(Role::Owner) {
            return Err(owner_required());
        }
        submit_once(tx, &nonce, ttl, |tx| {
            let (key, value) = api_key::create(tx, new)?;
            Ok((key.id.to_string(), (key, value)))
        })
    });
    match form.accept(created.await)? {
        Some(Submission::Accepted((key, value))) => show_created(&visitor, key, Some(value)).await,
        Some(Submission::Duplicate(id)) => {
            let id: KeyId = id.parse().map_err(|_| Error::not_found())?;
            let key = visitor.read(move |db| api_key::find(db, id)).await?;
            show_created(&visitor, key, None).await
        }
        None => show_form(&visitor, form).await,
    }
}

fn owner_required() -> Error {
    Error::new(Code::Forbidden, "Only owners of the club can create a key with full access.")
}

async fn show_created(visitor: &Admin, key: Key, value: Option<ApiKey>) -> PageResult {
    let me = visitor.url("/api/public/v1/me");
    let value = value.map(|value| {
        let value = value.reveal();
        let curl = format!("curl -H 'Authorization: Bearer {value}' \\\n  '{me}'");
        (value.to_owned(), curl)
    });
    let keys = [key.clone()];
    let names = visitor.read(move |db| load_names(db, &keys)).await?;
    let now = visitor.app().clock.now();
    let title = match value {
        Some(_) => t!("Your new API key"),
        None => t!("This key already exists"),
    };
    let key = KeyView::new(key, &names, now);
    let page = CreatedPage { frame: visitor.frame(title, Section::ApiKeys), key, value, now };
    render(StatusCode::OK, &page)
}

#[derive(Template)]
#[template(path = "admin/keys_one.html")]
struct KeyPage {
    frame: Frame,
    key: KeyView,
    /// The form with the name.
    form: FilledForm,
    requests: usage::Count,
    now: Timestamp,
    zone: Zone,
}

impl KeyPage {
    fn usage_href(&self) -> String {
        usage_href(self.key.key.id)
    }
}

/// The page with the requests of a key in the last 7 days.
fn usage_href(id: KeyId) -> String {
    format!("/admin/usage?range=7d&credential={id}")
}

async fn show_key(visitor: Admin, PathParams(id): PathParams<KeyId>) -> PageResult {
    render_key(&visitor, id, None).await
}

async fn render_key(visitor: &Admin, id: KeyId, form: Option<FilledForm>) -> PageResult {
    visitor.app().flush_usage().await;
    let read = move |db: &Reader<'_>| {
        let key = api_key::find(db, id)?;
        let names = load_names(db, std::slice::from_ref(&key))?;
        Ok((key, names, requests_last_week(db, id)?, account::find(db)?.timezone))
    };
    let (key, names, requests, zone) = visitor.read(read).await?;
    let now = visitor.app().clock.now();
    let frame = visitor.frame(key.name.clone(), Section::ApiKeys);
    let page = KeyPage {
        frame: frame.flash(visitor.guest.done_flash(&FLASH_MESSAGES)),
        form: form.unwrap_or_else(|| FilledForm::empty(RENAMING).with("name", &*key.name)),
        key: KeyView::new(key, &names, now),
        requests,
        now,
        zone,
    };
    render(page.form.status(), &page)
}

/// The number of requests with a key in the last 7 days.
fn requests_last_week(db: &Reader<'_>, id: KeyId) -> Result<usage::Count> {
    let id = id.to_string();
    let mut total = usage::Count::default();
    for hour in usage::list_since(db, usage::window_start(usage::HOURS_PER_WEEK, db.now()))? {
        if hour.credential == id {
            total.add(hour.count());
        }
    }
    Ok(total)
}

async fn rename(
    PathParams(id): PathParams<KeyId>,
    AdminForm { visitor, form }: AdminForm,
) -> PageResult {
    let mut form = FilledForm::submitted(RENAMING, &form);
    if let Some(name) = form.body()["name"].as_str().map(str::to_owned)
        && form.accept(visitor.write(move |tx| api_key::rename(tx, id, &name)).await)?.is_some()
    {
        return Ok(see_other(&format!("/admin/keys/{id}?done=renamed")));
    }
    render_key(&visitor, id, Some(form)).await
}

async fn confirm_revoke(visitor: Admin, PathParams(id): PathParams<KeyId>) -> PageResult {
    let read = move |db: &Reader<'_>| Ok((api_key::find(db, id)?, requests_last_week(db, id)?));
    visitor.app().flush_usage().await;
    let (key, requests) = visitor.read(read).await?;
    if key.revoked_at.is_some() {
        return Ok(see_other(&format!("/admin/keys/{id}")));
    }
    visitor.require_recent_authentication(&format!("/admin/keys/{id}/revoke"))?;
    let when = key.last_used_at.map(|at| Time::age(at, visitor.app().clock.now()));
    let used = recent_use(&usage_href(id), requests.requests, when);
    let frame = visitor.frame(t!("Revoke this key?"), Section::ApiKeys);
    ConfirmPage::new(frame, "Revoke key", format!("/admin/keys/{id}"))
        .lead(Sentence::new("The key “{name}” stops working at once.").name("name", &key.name))
        .effect("Requests with this key are refused.")
        .effect(Sentence::new("{used}").html("used", used.to_string()))
        .effect("You cannot undo this. You can create a new key at any time.")
        .respond()
}

/// How often a key was used in the last 7 days, and when last.
fn recent_use(url: &str, requests: i64, when: Option<Time>) -> Html {
    match (requests, when) {
        (0, None) => t_html!("It made no requests in the last 7 days."),
        (0, Some(when)) => {
            t_html!("It made no requests in the last 7 days, the last one {when}.", when)
        }
        (_, None) => tn_html!(
            "It made <a href='{url}'>{count} request</a> in the last 7 days.",
            "It made <a href='{url}'>{count} requests</a> in the last 7 days.",
            requests,
            url
        ),
        (_, Some(when)) => tn_html!(
            "It made <a href='{url}'>{count} request</a> in the last 7 days, the last one {when}.",
            "It made <a href='{url}'>{count} requests</a> in the last 7 days, the last one {when}.",
            requests,
            url,
            when
        ),
    }
}

async fn revoke(
    PathParams(id): PathParams<KeyId>,
    AdminForm { visitor, .. }: AdminForm,
) -> PageResult {
    visitor.require_recent_authentication(&format!("/admin/keys/{id}/revoke"))?;
    visitor.write(move |tx| api_key::revoke(tx, id)).await?;
    Ok(see_other("/admin/keys?done=revoked"))
}
