//! API keys: what there is, making one, and revoking it.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use kit::secret::ApiKey;
use kit::word::Word;
use kit::{Timestamp, Zone};
use store::{Reader, Tx};

use super::keys_form::{KeyForm, LIVES};
use super::shared::{Admin, is_owner, show};
use crate::accounts::account;
use crate::accounts::api_key::{self, Key, State};
use crate::accounts::permits::AdminArea;
use crate::accounts::rights::{Listed, Reach, ScopeName};
use crate::accounts::usage;
use crate::accounts::user::{self, Role};
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::ids::KeyId;
use crate::jobs;
use crate::names::Names;
use crate::paging::{Order, Page};
use crate::teams::team::{self, Status, Team, TeamFilter};
use crate::web::form::{Faults, Form};
use crate::web::leaf::{Asked, Leaf};
use crate::web::once::{Once, new_nonce, nonce, once};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Posted, see_other};

/// So many teams can be chosen from.
const TEAMS: i64 = 200;
/// So many names are written out before the rest is counted.
const NAMED: usize = 2;
/// What is said after something was done.
const DONE: [(&str, &str); 2] = [
    ("revoked", "The key was revoked. Nothing opens with it any more."),
    ("renamed", "The key has a new name."),
];

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/admin/keys", get(list))
        .route("/admin/keys/new", get(new).post(create))
        .route("/admin/keys/{id}", get(one).post(rename))
        .route("/admin/keys/{id}/revoke", get(ask_revoke).post(revoke))
}

/// A key as it is shown.
struct Shown {
    key: Key,
    /// What it may do, in words.
    rights: Vec<&'static str>,
    /// The names of the teams it is narrowed to.
    teams: Option<Vec<String>>,
    creator: String,
    lives: bool,
    due: bool,
}

impl Shown {
    fn new(key: Key, names: &Names, now: Timestamp) -> Self {
        let rights = if key.scopes.everything() {
            vec!["Everything"]
        } else {
            key.scopes.names().map(ScopeName::allows).collect()
        };
        let written = |Listed(teams): &Listed<crate::ids::TeamId>| {
            teams.iter().map(|id| names.or_id(&id.to_string()).to_owned()).collect()
        };
        Self {
            rights,
            teams: key.team_ids.as_ref().map(written),
            creator: names.or_id(&key.created_by).to_owned(),
            lives: key.lives(now),
            due: key.is_due(now),
            key,
        }
    }

    /// What it may do, cut short.
    fn rights_in_short(&self) -> String {
        in_short(&self.rights)
    }

    fn teams_in_short(&self) -> String {
        self.teams.as_deref().map_or_else(|| "All teams".to_owned(), in_short)
    }

    /// Its state as a kind of badge and a word.
    fn state(&self) -> (&'static str, &'static str) {
        match (self.key.revoked_at, self.lives) {
            (Some(_), _) => ("bad", "Revoked"),
            (None, false) => ("", "Expired"),
            (None, true) if self.due => ("warn", "Older than 90 days"),
            (None, true) => ("good", "Active"),
        }
    }
}

/// The first few of a list, and how many more there are.
fn in_short<T: AsRef<str>>(all: &[T]) -> String {
    let first: Vec<_> = all.iter().take(NAMED).map(AsRef::as_ref).collect();
    match all.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// The ids of a key that have names.
fn mentioned(key: &Key) -> Vec<String> {
    let teams = key.team_ids.iter().flat_map(|Listed(teams)| teams);
    teams.map(ToString::to_string).chain([key.created_by.clone()]).collect()
}

fn named(db: &Reader<'_>, keys: &[Key]) -> Result<Names> {
    let ids: Vec<_> = keys.iter().flat_map(mentioned).collect();
    Names::of(db, ids.iter().map(String::as_str))
}

#[derive(Template)]
#[template(path = "admin/keys.html")]
struct ListPage {
    frame: Frame,
    keys: Vec<Shown>,
    next: String,
    state: &'static str,
    now: Timestamp,
}

async fn list(visitor: Admin) -> Outcome<Response> {
    let asked = Asked::of(&visitor, Order::Desc)?;
    let (state, word) = match asked.form.text("state") {
        "over" => (Some(State::Over), "over"),
        "old" => (Some(State::Old), "old"),
        "expiring" => (Some(State::Expiring), "expiring"),
        "all" => (None, "all"),
        _ => (Some(State::Live), ""),
    };
    let shown =
        Leaf::read(&visitor, &asked, move |db, page| api_key::page(db, state, page)).await?;
    let keys = shown.rows.clone();
    let names = visitor.read(move |db| named(db, &keys)).await?;
    let now = visitor.app().clock.now();
    let frame = visitor.frame("API keys", Section::ApiKeys);
    let page = ListPage {
        frame: frame.flash(visitor.guest.done(&DONE)),
        keys: shown.rows.into_iter().map(|key| Shown::new(key, &names, now)).collect(),
        next: shown.next,
        state: word,
        now,
    };
    show(StatusCode::OK, &page)
}

#[derive(Template)]
#[template(path = "admin/keys_new.html")]
struct NewPage {
    frame: Frame,
    form: KeyForm,
    faults: Faults,
    nonce: String,
    scopes: Vec<(&'static str, &'static str)>,
    teams: Vec<Team>,
    more_teams: bool,
    lives: [(&'static str, &'static str); 4],
    owner: bool,
    /// What is said about addresses, with that of the visitor.
    hint: String,
}

async fn new(visitor: Admin) -> Outcome<Response> {
    visitor.fresh(&visitor.guest.asked)?;
    let form = KeyForm::read_link(&visitor.guest.query()?);
    let nonce = new_nonce(visitor.app());
    show_form(&visitor, form, Faults::default(), nonce, StatusCode::OK).await
}

async fn show_form(
    visitor: &Admin,
    form: KeyForm,
    faults: Faults,
    nonce: String,
    status: StatusCode,
) -> Outcome<Response> {
    let mut teams = visitor.read(active_teams).await?;
    let more_teams = teams.len() > usize::try_from(TEAMS).unwrap_or(usize::MAX);
    teams.truncate(usize::try_from(TEAMS).unwrap_or(usize::MAX));
    let address = visitor.guest.context.address().to_canonical();
    let page = NewPage {
        frame: visitor.frame("New API key", Section::ApiKeys),
        form,
        faults,
        nonce,
        scopes: ScopeName::ALL.iter().map(|(scope, word)| (*word, scope.allows())).collect(),
        teams,
        more_teams,
        lives: LIVES,
        owner: is_owner(visitor),
        hint: format!(
            "One address or network in a line, such as 203.0.113.0/24. Leave it empty for anywhere. You are at {address} now."
        ),
    };
    show(status, &page)
}

fn active_teams(db: &Reader<'_>) -> Result<Vec<Team>> {
    let filter = TeamFilter { status: Some(Status::Active), ..TeamFilter::default() };
    let page = Page { limit: TEAMS, order: Order::Asc, last: None };
    team::list(db, &Reach::Everywhere, &filter, &page)
}

#[derive(Template)]
#[template(path = "admin/keys_made.html")]
struct MadePage {
    frame: Frame,
    key: Shown,
    /// The key's value and a line to try it with; nobody gets to see them a second time.
    value: Option<(String, String)>,
    now: Timestamp,
}

async fn create(Posted { visitor, form }: Posted<AdminArea>) -> Outcome<Response> {
    let (typed, nonce) = (KeyForm::read(&form), nonce(&form)?);
    if typed.everything && !is_owner(&visitor) {
        return Err(only_owners().into());
    }
    visitor.fresh(&typed.link())?;
    let new = match typed.key(visitor.app().clock.now()) {
        Ok(new) => new,
        Err(faults) => return refused(&visitor, typed, faults, nonce.name).await,
    };
    let (kept, name) = (visitor.app().config.idempotency_ttl, nonce.clone());
    let (everything, by) = (typed.everything, visitor.visit.user);
    let made = visitor.write(move |tx: &Tx<'_>| {
        if everything && user::role_of(tx, by)? != Some(Role::Owner) {
            return Err(only_owners());
        }
        once(tx, &name, kept, |tx| {
            let (key, value) = api_key::create(tx, new)?;
            Ok((key.id.to_string(), (key, value)))
        })
    });
    match made.await {
        Ok(Once::Now((key, value))) => show_made(&visitor, key, Some(value)).await,
        Ok(Once::Before(id)) => {
            let id: KeyId = id.parse().map_err(|_| Error::not_found())?;
            let key = visitor.read(move |db| api_key::find(db, id)).await?;
            show_made(&visitor, key, None).await
        }
        Err(error) if error.code == Code::ValidationFailed => {
            refused(&visitor, typed, Faults::from(&error), nonce.name).await
        }
        Err(error) => Err(error.into()),
    }
}

fn only_owners() -> Error {
    Error::new(Code::Forbidden, "Only owners of the club can make a key that may do everything.")
}

async fn refused(
    visitor: &Admin,
    typed: KeyForm,
    faults: Faults,
    nonce: String,
) -> Outcome<Response> {
    show_form(visitor, typed, faults, nonce, StatusCode::UNPROCESSABLE_ENTITY).await
}

async fn show_made(visitor: &Admin, key: Key, value: Option<ApiKey>) -> Outcome<Response> {
    let me = visitor.url("/api/public/v1/me");
    let value = value.map(|value| {
        let value = value.reveal();
        let curl = format!("curl -H 'Authorization: Bearer {value}' \\\n  '{me}'");
        (value.to_owned(), curl)
    });
    let kept = [key.clone()];
    let names = visitor.read(move |db| named(db, &kept)).await?;
    let now = visitor.app().clock.now();
    let title = if value.is_some() { "Your new API key" } else { "This key was made before" };
    let key = Shown::new(key, &names, now);
    let page = MadePage { frame: visitor.frame(title, Section::ApiKeys), key, value, now };
    show(StatusCode::OK, &page)
}

#[derive(Template)]
#[template(path = "admin/keys_one.html")]
struct OnePage {
    frame: Frame,
    key: Shown,
    /// What was typed as a new name, and what is wrong with it.
    name: String,
    faults: Faults,
    requests: usage::Count,
    now: Timestamp,
    zone: Zone,
}

async fn one(visitor: Admin, At(id): At<KeyId>) -> Outcome<Response> {
    show_one(&visitor, id, None, Faults::default()).await
}

async fn show_one(
    visitor: &Admin,
    id: KeyId,
    typed: Option<String>,
    faults: Faults,
) -> Outcome<Response> {
    jobs::write_usage(visitor.app()).await;
    let look = move |db: &Reader<'_>| {
        let key = api_key::find(db, id)?;
        let names = named(db, std::slice::from_ref(&key))?;
        Ok((key, names, lately(db, id)?, account::find(db)?.timezone))
    };
    let (key, names, requests, zone) = visitor.read(look).await?;
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let now = visitor.app().clock.now();
    let frame = visitor.frame(key.name.clone(), Section::ApiKeys);
    let page = OnePage {
        frame: frame.flash(visitor.guest.done(&DONE)),
        name: typed.unwrap_or_else(|| key.name.clone()),
        key: Shown::new(key, &names, now),
        faults,
        requests,
        now,
        zone,
    };
    show(status, &page)
}

/// How often a key was used in the last week.
fn lately(db: &Reader<'_>, id: KeyId) -> Result<usage::Count> {
    let id = id.to_string();
    let mut total = usage::Count::default();
    for hour in usage::since(db, usage::first_of(usage::WEEK, db.now()))? {
        if hour.credential == id {
            total.add(hour.count());
        }
    }
    Ok(total)
}

async fn rename(
    At(id): At<KeyId>,
    Posted { visitor, form }: Posted<AdminArea>,
) -> Outcome<Response> {
    let name = typed_name(&form);
    let wanted = name.clone();
    match visitor.write(move |tx| api_key::rename(tx, id, &wanted)).await {
        Ok(_) => Ok(see_other(&format!("/admin/keys/{id}?done=renamed"))),
        Err(error) if error.code == Code::ValidationFailed => {
            show_one(&visitor, id, Some(name), Faults::from(&error)).await
        }
        Err(error) => Err(error.into()),
    }
}

fn typed_name(form: &Form) -> String {
    form.text("name").to_owned()
}

#[derive(Template)]
#[template(path = "admin/keys_revoke.html")]
struct RevokePage {
    frame: Frame,
    key: Key,
    requests: usage::Count,
    now: Timestamp,
}

async fn ask_revoke(visitor: Admin, At(id): At<KeyId>) -> Outcome<Response> {
    let look = move |db: &Reader<'_>| Ok((api_key::find(db, id)?, lately(db, id)?));
    jobs::write_usage(visitor.app()).await;
    let (key, requests) = visitor.read(look).await?;
    if key.revoked_at.is_some() {
        return Ok(see_other(&format!("/admin/keys/{id}")));
    }
    visitor.fresh(&format!("/admin/keys/{id}/revoke"))?;
    let frame = visitor.frame("Revoke this key?", Section::ApiKeys);
    show(StatusCode::OK, &RevokePage { frame, key, requests, now: visitor.app().clock.now() })
}

async fn revoke(At(id): At<KeyId>, Posted { visitor, .. }: Posted<AdminArea>) -> Outcome<Response> {
    visitor.fresh(&format!("/admin/keys/{id}/revoke"))?;
    visitor.write(move |tx| api_key::revoke(tx, id)).await?;
    Ok(see_other("/admin/keys?done=revoked"))
}
