//! Creates, changes and deletes webhooks. A webhook belongs to the caller who created or last changed it, and receives
//! only what that caller can read.

use std::time::Duration;

use macros::input;

use super::access::{self, Manager};
use super::address;
use super::api::webhooks;
use super::signature::Secret;
use super::summary;
use super::visibility::EventVisibility;
use super::webhook::{Ordering, PreviousSecrets, SLOTS, Status, Webhook};
use crate::accounts::api_key::validate_team_ids;
use crate::address_policy::AddressPolicy;
use crate::config::BaseUrl;
use crate::notification_kinds::{self, Kind};
use crate::prelude::*;
use crate::rights::SpaceSeparated;
use crate::secrets::SealKey;
use crate::signals;

/// The error for a webhook that subscribes to nothing.
pub const NO_EVENTS: &str =
    mark!("`events` must contain at least one notification type. Use `*` for all.");
/// The most webhooks an account can have.
const MAX_WEBHOOKS: i64 = 1_000;
/// How long the previous secret is also used for signing after a rotation.
const ROTATION_OVERLAP: Duration = Duration::from_secs(24 * 3600);
/// The most previous secrets that are used for signing at once.
const MAX_PREVIOUS_SECRETS: usize = 4;

/// The webhook to create.
#[input(as = CreateWebhookRequest, check = webhooks::check_new)]
#[derive(Clone)]
pub struct NewWebhook {
    /// URL that receives the notifications. It must use `https`, port 443 or 8443, and a public host.
    #[schema(examples("https://hooks.example.org/touchline"))]
    #[input(parsed("invalid_url", "`url` must be a string with a URL."))]
    pub url: String,
    /// Notification types to subscribe to, such as `event.created`; `event.*` for all types of a group, or `*` for all.
    #[schema(min_items = 1, examples("event.*", "message.posted"))]
    #[input(lines(100, 60))]
    pub events: Vec<String>,
    /// What the webhook is for. At most 500 characters.
    #[input(line(500))]
    pub description: Option<String>,
    /// Only send notifications about these teams. Default: all teams.
    #[schema(min_items = 1)]
    #[input(ids(100))]
    pub team_ids: Option<Vec<TeamId>>,
    /// Order in which notifications are sent: `parallel` (several at once) or `strict` (one after the other, by
    /// `sequence`). Default: `parallel`.
    pub ordering: Option<Ordering>,
}

/// The fields of a webhook to change.
#[input(as = UpdateWebhookRequest, check = webhooks::check_change)]
#[derive(Clone, Default)]
pub struct WebhookChange {
    /// New URL. It must use `https`, port 443 or 8443, and a public host.
    #[input(parsed("invalid_url", "`url` must be a string with a URL."), non_null)]
    pub url: Option<String>,
    /// New notification types to subscribe to, such as `event.created`, `event.*` or `*`.
    #[schema(min_items = 1)]
    #[input(lines(100, 60), non_null)]
    pub events: Option<Vec<String>>,
    /// New description; `null` removes it. At most 500 characters.
    #[input(line(500))]
    pub description: Change<String>,
    /// New teams; `null` subscribes to all teams.
    #[schema(min_items = 1)]
    #[input(ids(100))]
    pub team_ids: Change<Vec<TeamId>>,
    /// New order in which notifications are sent.
    #[input(non_null)]
    pub ordering: Option<Ordering>,
}

/// What creating and changing webhooks needs: settings of the installation, and the caller's rights.
#[derive(Clone)]
pub struct EditContext {
    pub guard: AddressPolicy,
    pub home: BaseUrl,
    /// The key that encrypts secrets.
    pub key: SealKey,
    /// The app through which the caller acts.
    pub app: Option<String>,
    /// The teams that the caller can access.
    pub access: TeamAccess,
}

/// A webhook with its secret, which is shown only once.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = CreatedWebhook)]
pub struct CreatedWebhook {
    #[serde(flatten)]
    pub webhook: Webhook,
    /// Secret that signs every request to the webhook. It is shown only in this response.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, examples("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="))]
    pub secret: Option<String>,
}

impl CreatedWebhook {
    /// The response with the secret, and the one without it that is stored for repeated requests.
    pub fn with_and_without_secret((webhook, secret): (Webhook, Secret)) -> (Self, Self) {
        let stored = Self { webhook: webhook.clone(), secret: None };
        (Self { webhook, secret: Some(secret.reveal()) }, stored)
    }
}

impl Versioned for CreatedWebhook {
    fn version(&self) -> i64 {
        self.webhook.version
    }
}

/// Validates the teams of a webhook. A team that the caller cannot access is reported as not found.
fn validate_teams(
    tx: &Tx<'_>,
    context: &EditContext,
    teams: Option<Vec<TeamId>>,
) -> Result<Option<SpaceSeparated<TeamId>>> {
    let hidden = |(_, team): &(usize, &TeamId)| context.access.check(**team).is_err();
    let fault = |(index, team)| {
        let detail = message!("There is no team {team}.", team);
        Fault::new(format!("/team_ids/{index}"), "not_found", detail)
    };
    let faults: Vec<_> = teams.iter().flatten().enumerate().filter(hidden).map(fault).collect();
    if !faults.is_empty() {
        return Err(Error::invalid(faults));
    }
    Ok(validate_team_ids(tx, teams)?.map(SpaceSeparated))
}

/// The three values, or the validation errors of all of them.
fn all_valid<A, B, C>(a: Result<A>, b: Result<B>, c: Result<C>) -> Result<(A, B, C)> {
    let mut violations = Violations::default();
    let (a, b, c) = (violations.collect(a)?, violations.collect(b)?, violations.collect(c)?);
    violations.finish()?;
    let values = a.zip(b).zip(c).map(|((a, b), c)| (a, b, c));
    values.ok_or_else(|| Error::internal("a missing value without a violation"))
}

/// Creates a webhook. It receives notifications from now on. Returns the secret, which is shown only once.
pub fn create(tx: &Tx<'_>, context: &EditContext, new: NewWebhook) -> Result<(Webhook, Secret)> {
    if summary::count_webhooks(tx)? >= MAX_WEBHOOKS {
        let detail = message!(
            "An account can have at most {max} webhooks. Delete one that you no longer need.",
            max = MAX_WEBHOOKS
        );
        return Err(Error::new(Code::Conflict, detail));
    }
    let (url, events, team_ids) = all_valid(
        address::validate(&new.url, &context.guard, &context.home),
        validate_events(tx, context, new.events),
        validate_teams(tx, context, new.team_ids),
    )?;
    let secret = Secret::generate(tx.rng());
    let id: WebhookId = tx.new_id();
    let webhook = Webhook {
        id,
        account_id: tx.account(),
        url,
        description: new.description,
        events: SpaceSeparated(events),
        team_ids,
        ordering: new.ordering.unwrap_or(Ordering::Parallel),
        status: Status::Enabled,
        disabled_reason: None,
        disabled_at: None,
        secret: seal(tx, context, id, &secret),
        previous_secrets: PreviousSecrets::default(),
        previous_secret_until: None,
        creator: tx.actor().to_owned(),
        creator_app: context.app.clone(),
        slot: i64::try_from(tx.rng().below(SLOTS as u64)).unwrap_or(0),
        position: signals::sequence(tx)?,
        replay_after: None,
        replay_until: None,
        replay_missed: false,
        failures: 0,
        failing_since: None,
        paused_until: None,
        recovered_at: None,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.execute(Webhook::INSERT, &webhook.bind())?;
    let details = json!({ "url": webhook.url, "events": webhook.events });
    tx.audit("webhook.created", &id.to_string(), &details)?;
    Ok((webhook, secret))
}

/// Changes a webhook. It now belongs to the caller. Retries go to the new URL.
pub fn change(
    tx: &Tx<'_>,
    context: &EditContext,
    id: WebhookId,
    expected: &IfMatch,
    change: WebhookChange,
) -> Result<Webhook> {
    let before = expected.check(access::find_managed(tx, &context.into(), id))?;
    let url = match change.url {
        Some(url) => address::validate(&url, &context.guard, &context.home),
        None => Ok(before.url.clone()),
    };
    let events = change.events.unwrap_or_else(|| before.events.0.clone());
    let team_ids = match change.team_ids {
        Change::Set(ids) => validate_teams(tx, context, Some(ids)),
        Change::Clear => Ok(None),
        Change::Keep => Ok(before.team_ids.clone()),
    };
    let (url, events, team_ids) =
        all_valid(url, validate_takeover(tx, context, &before, events), team_ids)?;
    let after = Webhook {
        url,
        events: SpaceSeparated(events),
        description: change.description.apply(before.description.clone()),
        team_ids,
        ordering: change.ordering.unwrap_or(before.ordering),
        creator: tx.actor().to_owned(),
        creator_app: context.app.clone(),
        ..before.clone()
    };
    if after == before {
        return Ok(before);
    }
    if after.events != before.events || after.team_ids != before.team_ids {
        before.skip_unwanted(tx)?;
    }
    let mut after = update(tx, after)?;
    if after.url != before.url && after.status == Status::Enabled {
        // The health of the old receiver says nothing about the new one. For a disabled webhook it is still needed to
        // find out what was missed.
        tx.execute(
            "update webhook set failures = 0, failing_since = null, paused_until = null
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

/// Generates a new secret. The previous one is also used for signing for 24 hours, so that receivers can switch.
pub fn rotate_secret(
    tx: &Tx<'_>,
    context: &EditContext,
    id: WebhookId,
    expected: &IfMatch,
) -> Result<(Webhook, Secret)> {
    let before = expected.check(access::find_managed(tx, &context.into(), id))?;
    let mut previous: Vec<_> = before.previous_secrets.active_at(tx.now()).cloned().collect();
    if previous.len() >= MAX_PREVIOUS_SECRETS {
        let detail = "The secret was rotated too often within 24 hours. Each previous secret stays valid for 24 hours; try again later.";
        return Err(Error::invalid_state(detail));
    }
    let (secret, until) = (Secret::generate(tx.rng()), tx.now().plus(ROTATION_OVERLAP));
    previous.insert(0, (before.secret.clone(), until.micros()));
    let after = Webhook {
        secret: seal(tx, context, id, &secret),
        previous_secrets: PreviousSecrets(previous),
        previous_secret_until: Some(until),
        ..before
    };
    let after = update(tx, after)?;
    tx.audit("webhook.secret_rotated", &id.to_string(), &json!({}))?;
    Ok((after, secret))
}

/// Deletes a webhook and its deliveries.
pub fn delete(
    tx: &Tx<'_>,
    manager: &Manager,
    id: WebhookId,
    expected: &IfMatch,
) -> Result<Webhook> {
    let before = expected.check(access::find_managed(tx, manager, id))?;
    // The webhook first: a worker that is about to record deliveries has either done so before, or finds no webhook.
    tx.execute("delete from webhook where account_id = :account and id = :id", bind! { id })?;
    let deliveries = "delete from delivery where account_id = :account and webhook_id = :id";
    tx.execute(deliveries, bind! { id })?;
    tx.audit("webhook.deleted", &id.to_string(), &json!({ "url": before.url }))?;
    Ok(before)
}

/// Stores what a user can change. The position and the health are not written here, because a delivery worker may be
/// about to write them.
fn update(tx: &Tx<'_>, webhook: Webhook) -> Result<Webhook> {
    let after = Webhook { updated_at: tx.now(), version: webhook.version + 1, ..webhook };
    tx.execute(
        "update webhook set url = :url, description = :description, events = :events,
             team_ids = :team_ids, ordering = :ordering, secret = :secret,
             previous_secrets = :previous_secrets, previous_secret_until = :previous_secret_until,
             creator = :creator, creator_app = :creator_app, updated_at = :updated_at, version = :version
         where account_id = :account and id = :id",
        &after.bind(),
    )?;
    Ok(after)
}

/// Validates the subscribed kinds and removes duplicates. Fails for a kind that the caller cannot read.
fn validate_events(
    db: &Reader<'_>,
    context: &EditContext,
    patterns: Vec<String>,
) -> Result<Vec<String>> {
    let visibility = EventVisibility::of_creator(db, db.actor(), context.app.as_deref())?;
    let can_see = |pattern: &str| {
        visibility.as_ref().is_some_and(|visibility| {
            notification_kinds::all_kinds().any(|Kind { name, .. }| {
                notification_kinds::pattern_matches(pattern, name) && visibility.can_see_kind(name)
            })
        })
    };
    let mut faults = Vec::new();
    let mut unique: Vec<String> = Vec::new();
    for (index, pattern) in patterns.into_iter().enumerate() {
        let pointer = format!("/events/{index}");
        if !notification_kinds::is_known_pattern(&pattern) {
            let detail = notification_kinds::unknown_pattern_error(&pattern);
            faults.push(Fault::new(&pointer, "unknown_event", detail));
        } else if !can_see(&pattern) {
            let detail = message!("You are not allowed to read {pattern} notifications.", pattern);
            faults.push(Fault::new(&pointer, "not_allowed", detail));
        } else if !unique.contains(&pattern) {
            unique.push(pattern);
        }
    }
    if faults.is_empty() && unique.is_empty() {
        faults.push(Fault::new("/events", "empty", NO_EVENTS));
    }
    if faults.is_empty() { Ok(unique) } else { Err(Error::invalid(faults)) }
}

/// Validates the kinds of a webhook that the caller takes over. The caller must be able to see all that the previous
/// creator could see. Otherwise the webhook would silently receive less.
pub(super) fn validate_takeover(
    db: &Reader<'_>,
    context: &EditContext,
    before: &Webhook,
    events: Vec<String>,
) -> Result<Vec<String>> {
    let events = validate_events(db, context, events)?;
    let Some(theirs) = before.creator_visibility(db)? else { return Ok(events) };
    let own = EventVisibility::of_creator(db, db.actor(), context.app.as_deref())?;
    let hidden = theirs.find_hidden_from(own.as_ref(), &events);
    let Some(kind) = hidden else { return Ok(events) };
    let detail = message!(
        "This webhook receives {kind} notifications, which you are not allowed to read.",
        kind
    );
    Err(Error::invalid(vec![Fault::new("/events", "not_allowed", detail)]))
}

fn seal(tx: &Tx<'_>, context: &EditContext, id: WebhookId, secret: &Secret) -> Vec<u8> {
    context.key.seal(tx.rng(), id.to_string().as_bytes(), secret.as_bytes())
}

/// All webhooks of the account.
pub fn list_all(db: &Reader<'_>) -> Result<Vec<Webhook>> {
    Ok(db.all(sql!(Webhook::SELECT, " where account_id = :account order by id"), bind! {})?)
}
