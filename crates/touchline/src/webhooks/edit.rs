//! Making and changing webhooks. Whoever makes or changes one answers for it: it is told what they may read.

use std::time::Duration;

use kit::Change;
use serde::Serialize;
use serde_json::json;
use store::{Reader, Tx, bind, sql};
use utoipa::ToSchema;

use super::access::{self, Manager};
use super::address;
use super::ears::Ears;
use super::guard::Guard;
use super::kinds;
use super::signature::Secret;
use super::webhook::{Earlier, Ordering, SLOTS, Status, Webhook};
use crate::accounts::api_key::own_teams;
use crate::accounts::rights::{Listed, Reach};
use crate::app::App;
use crate::config::BaseUrl;
use crate::error::{Code, Error, Fault, Result};
use crate::expected::{Expected, Versioned};
use crate::ids::{AppId, TeamId, WebhookId};
use crate::secrets::SealKey;
use crate::signals::{self, Tell};

/// As many webhooks as an account can have.
const MOST: i64 = 1_000;
/// How long the secret before a rotation also signs.
const OVERLAP: Duration = Duration::from_secs(24 * 3600);
/// As many secrets as sign at once beside the newest.
const OVERLAPPING: usize = 4;

/// A webhook to be made.
#[derive(Debug, Clone, ToSchema)]
pub struct NewWebhook {
    /// Where notifications are sent: `https`, port 443 or 8443, a public machine.
    #[schema(examples("https://hooks.example.org/touchline"))]
    pub url: String,
    /// Kinds such as `event.created`, `event.*` for all of a sort, or `*`.
    #[schema(min_items = 1, max_items = 100, examples("event.*", "message.posted"))]
    pub events: Vec<String>,
    #[schema(max_length = 500)]
    pub description: Option<String>,
    /// Only news of these teams.
    #[schema(min_items = 1, max_items = 100)]
    pub team_ids: Option<Vec<TeamId>>,
    /// `parallel` if left out.
    pub ordering: Option<Ordering>,
}

/// What is changed of a webhook.
#[derive(Debug, Clone, Default, ToSchema)]
pub struct WebhookChange {
    pub url: Option<String>,
    #[schema(min_items = 1, max_items = 100)]
    pub events: Option<Vec<String>>,
    #[schema(value_type = Option<String>, max_length = 500)]
    pub description: Change<String>,
    #[schema(value_type = Option<Vec<TeamId>>, min_items = 1, max_items = 100)]
    pub team_ids: Change<Vec<TeamId>>,
    pub ordering: Option<Ordering>,
}

/// What is needed to make or change webhooks.
#[derive(Clone)]
pub struct Means {
    pub guard: Guard,
    pub home: BaseUrl,
    /// The key that secrets are sealed with.
    pub key: SealKey,
    /// The app through which somebody acts.
    pub app: Option<String>,
    /// The teams they reach.
    pub reach: Reach,
}

impl Means {
    /// What this installation has for it, used through this app or through none.
    pub fn of(app: &App, through: Option<AppId>, reach: Reach) -> Self {
        Self {
            guard: Guard::new(app.config.webhook_allow_cidrs.clone()),
            home: app.home.clone(),
            key: app.secrets.key("webhook"),
            app: through.map(|app| app.to_string()),
            reach,
        }
    }
}

/// A webhook with its secret, which is shown only now.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = NewWebhookAnswer)]
pub struct Made {
    #[serde(flatten)]
    pub webhook: Webhook,
    /// What signs everything the webhook is told. It is shown only now; where an `Idempotency-Key` repeats
    /// the answer, it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, examples("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="))]
    pub secret: Option<String>,
}

impl Made {
    /// What is shown once, and what is kept of the answer.
    pub fn pair((webhook, secret): (Webhook, Secret)) -> (Self, Self) {
        let kept = Self { webhook: webhook.clone(), secret: None };
        (Self { webhook, secret: Some(secret.reveal()) }, kept)
    }
}

impl Versioned for Made {
    fn version(&self) -> i64 {
        self.webhook.version
    }
}

/// The teams of a webhook. One that whoever asks does not reach is refused as if it were not there.
fn teams(tx: &Tx<'_>, means: &Means, teams: Option<Vec<TeamId>>) -> Result<Option<Listed<TeamId>>> {
    let named = teams.iter().flatten().enumerate();
    let faults: Vec<_> = named
        .filter(|(_, team)| means.reach.check(**team).is_err())
        .map(|(place, team)| {
            let detail = format!("There is no team {team}.");
            Fault::new(format!("/team_ids/{place}"), "not_found", detail)
        })
        .collect();
    if !faults.is_empty() {
        return Err(Error::invalid(faults));
    }
    Ok(own_teams(tx, teams)?.map(Listed))
}

/// What was said of a webhook, if all of it is valid: otherwise everything that is not.
fn valid<A, B, C>(a: Result<A>, b: Result<B>, c: Result<C>) -> Result<(A, B, C)> {
    let (a, b, c) = match (a, b, c) {
        (Ok(a), Ok(b), Ok(c)) => return Ok((a, b, c)),
        (a, b, c) => (a.err(), b.err(), c.err()),
    };
    let mut faults = Vec::new();
    for error in [a, b, c].into_iter().flatten() {
        if error.code != Code::ValidationFailed {
            return Err(error);
        }
        faults.extend(error.faults);
    }
    Err(Error::invalid(faults))
}

/// Makes a webhook. It is told of what happens from now on. The secret is shown this once.
pub fn create(tx: &Tx<'_>, means: &Means, new: NewWebhook) -> Result<(Webhook, Secret)> {
    let (count,): (i64,) =
        tx.one("select count(*) from webhook where account_id = :account", bind! {})?;
    if count >= MOST {
        let detail = format!("An account can have {MOST} webhooks.");
        return Err(Error::new(Code::Conflict, detail));
    }
    let (url, events, team_ids) = valid(
        address::checked(&new.url, &means.guard, &means.home),
        wishes(tx, means, new.events),
        teams(tx, means, new.team_ids),
    )?;
    let secret = Secret::make(tx.dice());
    let position = signals::sequence(tx)?;
    let id: WebhookId = tx.new_id();
    let webhook = Webhook {
        id,
        account_id: tx.account(),
        url,
        description: new.description,
        events: Listed(events),
        team_ids,
        ordering: new.ordering.unwrap_or(Ordering::Parallel),
        status: Status::Enabled,
        disabled_reason: None,
        disabled_at: None,
        secret: seal(tx, means, id, &secret),
        previous_secrets: Earlier::default(),
        previous_secret_until: None,
        creator: tx.actor().to_owned(),
        creator_app: means.app.clone(),
        slot: i64::try_from(tx.dice().below(SLOTS as u64)).unwrap_or(0),
        position,
        replay_after: None,
        replay_until: None,
        replay_missed: false,
        failures: 0,
        failing_since: None,
        resting_until: None,
        recovered_at: None,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.run(Webhook::INSERT, &webhook.bind())?;
    tx.audit(
        "webhook.created",
        &id.to_string(),
        &json!({ "url": webhook.url, "events": webhook.events }),
    )?;
    Ok((webhook, secret))
}

/// Changes a webhook. Whoever changes it answers for it from now on; what is tried again goes to the new
/// address.
pub fn change(
    tx: &Tx<'_>,
    means: &Means,
    id: WebhookId,
    expected: &Expected,
    change: WebhookChange,
) -> Result<Webhook> {
    let before = expected.check(access::managed(tx, &means.into(), id))?;
    let url = match change.url {
        Some(url) => address::checked(&url, &means.guard, &means.home),
        None => Ok(before.url.clone()),
    };
    let events = change.events.unwrap_or_else(|| before.events.0.clone());
    let team_ids = match change.team_ids {
        Change::Set(named) => teams(tx, means, Some(named)),
        Change::Clear => Ok(None),
        Change::Keep => Ok(before.team_ids.clone()),
    };
    let (url, events, team_ids) = valid(url, taken_over(tx, means, &before, events), team_ids)?;
    let after = Webhook {
        url,
        events: Listed(events),
        description: change.description.apply(before.description.clone()),
        team_ids,
        ordering: change.ordering.unwrap_or(before.ordering),
        creator: tx.actor().to_owned(),
        creator_app: means.app.clone(),
        ..before.clone()
    };
    if after == before {
        return Ok(before);
    }
    if after.events != before.events || after.team_ids != before.team_ids {
        before.pass_over(tx)?;
    }
    let mut after = update(tx, after)?;
    if after.url != before.url && after.status == Status::Enabled {
        // What is known of the old receiver says nothing of the new one. Of a webhook that is off it says what was missed.
        tx.run(
            "update webhook set failures = 0, failing_since = null, resting_until = null
             where account_id = :account and id = :id and status = 'enabled'",
            bind! { id },
        )?;
        after.failing_since = None;
    }
    let details = json!({ "url": after.url, "events": after.events,
        "previous": { "url": before.url, "events": before.events } });
    tx.audit("webhook.updated", &id.to_string(), &details)?;
    Ok(after)
}

/// Makes a new secret. The one before also signs for a day, so that receivers can change over.
pub fn rotate(
    tx: &Tx<'_>,
    means: &Means,
    id: WebhookId,
    expected: &Expected,
) -> Result<(Webhook, Secret)> {
    let before = expected.check(access::managed(tx, &means.into(), id))?;
    let mut previous: Vec<_> = before.previous_secrets.at(tx.now()).cloned().collect();
    if previous.len() >= OVERLAPPING {
        let why = "The secret was changed too often within a day: each one before still signs for 24 hours.";
        return Err(Error::invalid_state(why));
    }
    let (secret, until) = (Secret::make(tx.dice()), tx.now().plus(OVERLAP));
    previous.insert(0, (before.secret.clone(), until.micros()));
    let after = Webhook {
        secret: seal(tx, means, id, &secret),
        previous_secrets: Earlier(previous),
        previous_secret_until: Some(until),
        ..before
    };
    let after = update(tx, after)?;
    tx.audit("webhook.secret_rotated", &id.to_string(), &json!({}))?;
    Ok((after, secret))
}

/// Deletes a webhook with everything that is known of its deliveries.
pub fn delete(tx: &Tx<'_>, who: &Manager, id: WebhookId, expected: &Expected) -> Result<Webhook> {
    let before = expected.check(access::managed(tx, who, id))?;
    // First the webhook: whoever is about to write down what it was sent either has done so by then, or finds nobody.
    tx.run("delete from webhook where account_id = :account and id = :id", bind! { id })?;
    tx.run("delete from delivery where account_id = :account and webhook_id = :id", bind! { id })?;
    tx.audit("webhook.deleted", &id.to_string(), &json!({ "url": before.url }))?;
    Ok(before)
}

/// Keeps what was changed by hand. How far it has come and how its receiver is doing is not touched: a carrier
/// may be about to write that down.
fn update(tx: &Tx<'_>, webhook: Webhook) -> Result<Webhook> {
    let after = Webhook { updated_at: tx.now(), version: webhook.version + 1, ..webhook };
    tx.run(
        "update webhook set url = :url, description = :description, events = :events,
             team_ids = :team_ids, ordering = :ordering, secret = :secret,
             previous_secrets = :previous_secrets, previous_secret_until = :previous_secret_until,
             creator = :creator, creator_app = :creator_app, updated_at = :updated_at, version = :version
         where account_id = :account and id = :id",
        &after.bind(),
    )?;
    Ok(after)
}

/// The kinds somebody wishes to be told of, each once, if they may be.
fn wishes(db: &Reader<'_>, means: &Means, wishes: Vec<String>) -> Result<Vec<String>> {
    let ears = Ears::of_creator(db, db.actor(), means.app.as_deref())?;
    let may = |wish: &str| {
        let mut among = kinds::sent().filter(|kind| kinds::means(wish, kind.name));
        ears.as_ref().is_some_and(|ears| among.any(|kind| ears.may_hear(kind.name)))
    };
    let mut faults = Vec::new();
    let mut kept: Vec<String> = Vec::new();
    for (place, wish) in wishes.into_iter().enumerate() {
        let pointer = format!("/events/{place}");
        if !kinds::is_wish(&wish) {
            faults.push(Fault::new(&pointer, "unknown_event", kinds::no_wish(&wish)));
        } else if !may(&wish) {
            let detail = format!("You may not read what {wish} tells of.");
            faults.push(Fault::new(&pointer, "not_allowed", detail));
        } else if !kept.contains(&wish) {
            kept.push(wish);
        }
    }
    if faults.is_empty() && kept.is_empty() {
        faults.push(Fault::new(
            "/events",
            "required",
            "At least one kind is needed; `*` means all.",
        ));
    }
    if faults.is_empty() { Ok(kept) } else { Err(Error::invalid(faults)) }
}

/// The kinds of a webhook for which somebody else answers from now on. They must be open to them as they were to whoever
/// answered for it so far: otherwise it would be told less, and nobody would notice.
pub(super) fn taken_over(
    db: &Reader<'_>,
    means: &Means,
    before: &Webhook,
    events: Vec<String>,
) -> Result<Vec<String>> {
    let events = wishes(db, means, events)?;
    let Some(theirs) = before.creators_ears(db)? else { return Ok(events) };
    let own = Ears::of_creator(db, db.actor(), means.app.as_deref())?;
    let deaf = |kind: &str| own.as_ref().is_none_or(|own| !own.may_hear(kind));
    let lost = kinds::sent().map(|kind| kind.name).find(|kind| {
        events.iter().any(|wish| kinds::means(wish, kind)) && theirs.may_hear(kind) && deaf(kind)
    });
    let Some(kind) = lost else { return Ok(events) };
    let detail = format!("It is told of {kind}, which you may not read.");
    Err(Error::invalid(vec![Fault::new("/events", "not_allowed", detail)]))
}

fn seal(tx: &Tx<'_>, means: &Means, id: WebhookId, secret: &Secret) -> Vec<u8> {
    means.key.seal(tx.dice(), id.to_string().as_bytes(), secret.bytes())
}

/// The account's webhooks, for a page that shows all.
pub fn all(db: &Reader<'_>) -> Result<Vec<Webhook>> {
    Ok(db.all(sql!(Webhook::SELECT, " where account_id = :account order by id"), bind! {})?)
}
