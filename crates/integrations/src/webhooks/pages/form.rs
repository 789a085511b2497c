//! The form for creating and editing a webhook, and the page that shows its secret.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::string_enum::StringEnum;
use kit::text::{self, TextFault};
use kit::{Change, Timestamp, Zone};
use store::{Reader, Tx};

use super::{
    LIST, PostedForm, WebhookAdmin, display, edit_context, load_names, render, webhook_path,
};
use crate::accounts::account;
use crate::error::{Code, Error, Result};
use crate::ids::{TeamId, WebhookId};
use crate::if_match::IfMatch;
use crate::names::Names;
use crate::notification_kinds::{self, Kind};
use crate::paging::{Order, Page};
use crate::rights::{SpaceSeparated, TeamAccess};
use crate::teams::team::{self, Status, TeamFilter};
use crate::web::form::{Faults, Form, fingerprint};
use crate::web::form_dedup::{Submission, new_nonce, parse_nonce, submit_once};
use crate::web::page::{Frame, Section};
use crate::web::path::PathParams;
use crate::web::visitor::{PageResult, see_other, url_encode};
use crate::webhooks::edit::{self, NewWebhook, WebhookChange};
use crate::webhooks::signature::Secret;
use crate::webhooks::webhook::{self, Ordering, Webhook};

/// The most teams to choose from.
const MAX_TEAMS: i64 = 200;
/// The maximum length of a description.
const MAX_DESCRIPTION_LENGTH: usize = 500;

/// The values of the form.
#[derive(Debug, Default)]
struct FormInput {
    url: String,
    description: String,
    events: Vec<String>,
    /// Whether the webhook is limited to the teams below.
    only_some_teams: bool,
    teams: Vec<String>,
    ordering: String,
    /// A fingerprint of the values above when the form was shown, to detect changes by others.
    fingerprint: String,
}

impl FormInput {
    fn read(form: &Form) -> Self {
        let all =
            |name: &str| -> Vec<_> { form.get_all(name).into_iter().map(str::to_owned).collect() };
        let teams = all("team_ids");
        Self {
            url: form.text("url").to_owned(),
            description: form.text("description").to_owned(),
            events: all("events"),
            only_some_teams: match form.text("teams") {
                "all" => false,
                "some" => true,
                _ => !teams.is_empty(),
            },
            teams,
            ordering: form.optional("ordering").unwrap_or(Ordering::Parallel.as_str()).to_owned(),
            fingerprint: form.text("shown").to_owned(),
        }
    }

    fn of(webhook: &Webhook) -> Self {
        let teams = webhook.team_ids.iter().flat_map(|SpaceSeparated(teams)| teams);
        let values = Self {
            url: webhook.url.clone(),
            description: webhook.description.clone().unwrap_or_default(),
            events: webhook.events.0.clone(),
            only_some_teams: webhook.team_ids.is_some(),
            teams: teams.map(ToString::to_string).collect(),
            ordering: webhook.ordering.as_str().to_owned(),
            fingerprint: String::new(),
        };
        Self { fingerprint: fingerprint(&values), ..values }
    }

    /// The URL of the form with these values, to return to after the visitor has confirmed their identity.
    fn link(&self) -> String {
        let mut link = format!(
            "{LIST}/new?url={}&description={}&teams={}&ordering={}",
            url_encode(&self.url),
            url_encode(&self.description),
            if self.only_some_teams { "some" } else { "all" },
            url_encode(&self.ordering)
        );
        for (name, values) in [("events", &self.events), ("team_ids", &self.teams)] {
            for value in values {
                link += &format!("&{name}={}", url_encode(value));
            }
        }
        link.replace('*', "%2A")
    }

    fn has_event(&self, pattern: &str) -> bool {
        self.events.iter().any(|event| event == pattern)
    }

    fn has_team(&self, id: &TeamId) -> bool {
        self.teams.contains(&id.to_string())
    }

    fn has_ordering(&self, ordering: &str) -> bool {
        self.ordering == ordering
    }

    /// Validates the form.
    fn validate(&self) -> std::result::Result<NewWebhook, Faults> {
        let mut faults = Faults::default();
        if self.url.is_empty() {
            faults.add("url", "Enter the URL that receives the notifications.");
        }
        let events = self.patterns();
        if events.is_empty() {
            faults.add("events", "Choose at least one type of notification.");
        }
        let description = self.description(&mut faults);
        let teams: std::result::Result<Vec<TeamId>, _> =
            self.teams.iter().map(|id| id.parse()).collect();
        if teams.is_err() {
            faults.add(
                "team_ids",
                "One of the selected teams does not exist. Select the teams again.",
            );
        }
        if self.only_some_teams && self.teams.is_empty() {
            faults.add("team_ids", "Choose at least one team.");
        }
        if !self.only_some_teams && !self.teams.is_empty() {
            faults.add("team_ids", "Choose “Only some teams”, or clear the selected teams.");
        }
        let ordering = Ordering::parse(&self.ordering);
        if ordering.is_none() {
            faults.add("ordering", "Choose an order.");
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let team_ids = teams.ok().filter(|teams| !teams.is_empty());
        Ok(NewWebhook { url: self.url.clone(), events, description, team_ids, ordering })
    }

    /// The selected patterns, without those that another selected pattern includes.
    fn patterns(&self) -> Vec<String> {
        let includes = |other: &String, pattern: &String| {
            other != pattern
                && other.ends_with('*')
                && notification_kinds::pattern_matches(other, pattern)
        };
        let is_needed =
            |pattern: &&String| !self.events.iter().any(|other| includes(other, pattern));
        self.events.iter().filter(is_needed).cloned().collect()
    }

    fn description(&self, faults: &mut Faults) -> Option<String> {
        let error = match text::normalize_line(&self.description, MAX_DESCRIPTION_LENGTH) {
            Ok(text) => return Some(text),
            Err(TextFault::Empty) => return None,
            Err(TextFault::TooLong { max }) => {
                format!("The description must have at most {max} characters.")
            }
            Err(TextFault::Control) => "Remove characters that cannot be displayed.".to_owned(),
        };
        faults.add("description", error);
        None
    }
}

/// A group of kinds, such as all kinds about teams.
struct KindGroup {
    /// The pattern for all of them, such as `team.*`.
    pattern: String,
    label: String,
    kinds: Vec<&'static Kind>,
}

impl KindGroup {
    /// Whether some kinds of the group are selected one by one.
    fn is_open(&self, input: &FormInput) -> bool {
        self.kinds.iter().any(|kind| input.has_event(kind.name))
    }
}

/// All kinds in groups.
fn kind_groups() -> Vec<KindGroup> {
    let mut groups: Vec<KindGroup> = Vec::new();
    for kind in notification_kinds::logged_kinds() {
        let prefix = kind.name.split('.').next().unwrap_or(kind.name);
        let pattern = format!("{prefix}.*");
        if let Some(group) = groups.iter_mut().find(|group| group.pattern == pattern) {
            group.kinds.push(kind);
        } else {
            let label = group_label(prefix);
            groups.push(KindGroup { pattern, label, kinds: vec![kind] });
        }
    }
    groups
}

fn group_label(prefix: &str) -> String {
    let label = match prefix {
        "team" => "Teams",
        "roster" => "Rosters and people",
        "event" => "Events",
        "location" => "Locations",
        "rsvp" => "RSVPs",
        "calendar_feed" => "Calendar feeds",
        "message" => "Messages",
        "account" => "Club",
        "user" => "Users",
        "webhook" => "Webhooks",
        "product" => "Products",
        "discount" => "Discount codes",
        "order" => "Orders",
        "dues" => "Dues",
        "payment" => "Payments",
        "refund" => "Refunds",
        "payment_settings" => "Payment settings",
        other => return other.replace('_', " "),
    };
    label.to_owned()
}

#[derive(Template)]
#[template(path = "webhooks/form.html")]
struct FormPage {
    frame: Frame,
    input: FormInput,
    faults: Faults,
    nonce: String,
    /// The webhook to edit, with its short URL; `None` for a new one.
    webhook: Option<(Webhook, String)>,
    groups: Vec<KindGroup>,
    teams: Vec<(TeamId, String)>,
    more_teams: bool,
}

async fn show_form(
    visitor: &WebhookAdmin,
    input: FormInput,
    faults: Faults,
    nonce: String,
    webhook: Option<Webhook>,
) -> PageResult<Response> {
    let selected: Vec<TeamId> = input.teams.iter().filter_map(|id| id.parse().ok()).collect();
    let (teams, more_teams) = visitor.read(move |db| team_options(db, &selected)).await?;
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let title = if webhook.is_some() { "Edit webhook" } else { "Add a webhook" };
    let page = FormPage {
        frame: visitor.frame(title, Section::Webhooks),
        input,
        faults,
        nonce,
        webhook: webhook.map(|webhook| (webhook.clone(), display::short_url(&webhook.url))),
        groups: kind_groups(),
        teams,
        more_teams,
    };
    render(status, &page)
}

/// The teams to choose from: active teams, and those already selected. Also returns whether there are more.
fn team_options(db: &Reader<'_>, selected: &[TeamId]) -> Result<(Vec<(TeamId, String)>, bool)> {
    let filter = TeamFilter { status: Some(Status::Active), ..TeamFilter::default() };
    let page = Page { limit: MAX_TEAMS, order: Order::Asc, last: None };
    let active = team::list(db, &TeamAccess::AllTeams, &filter, &page)?;
    let limit = usize::try_from(MAX_TEAMS).unwrap_or(usize::MAX);
    let has_more = active.len() > limit;
    let mut teams: Vec<_> =
        active.into_iter().take(limit).map(|team| (team.id, team.name)).collect();
    let ids: Vec<_> = selected.iter().map(ToString::to_string).collect();
    let names = Names::load(db, ids.iter().map(String::as_str))?;
    for (id, text) in selected.iter().zip(&ids) {
        if let Some(name) = names.get(text).filter(|_| teams.iter().all(|(other, _)| other != id)) {
            teams.push((*id, name.to_owned()));
        }
    }
    Ok((teams, has_more))
}

pub(super) async fn new(visitor: WebhookAdmin) -> PageResult<Response> {
    visitor.require_recent_authentication(&visitor.guest.path_and_query.replace('*', "%2A"))?;
    let input = FormInput::read(&visitor.guest.query()?);
    let nonce = new_nonce(visitor.app());
    show_form(&visitor, input, Faults::default(), nonce, None).await
}

pub(super) async fn create(PostedForm { visitor, form }: PostedForm) -> PageResult<Response> {
    let (input, nonce) = (FormInput::read(&form), parse_nonce(&form)?);
    visitor.require_recent_authentication(&input.link())?;
    let new = match input.validate() {
        Ok(new) => new,
        Err(faults) => return show_form(&visitor, input, faults, nonce.value, None).await,
    };
    let (context, key) = (edit_context(&visitor), nonce.clone());
    let ttl = visitor.app().config.idempotency_ttl;
    let created = visitor.write(move |tx: &Tx<'_>| {
        submit_once(tx, &key, ttl, |tx| {
            let (webhook, secret) = edit::create(tx, &context, new)?;
            Ok((webhook.id.to_string(), (webhook, secret)))
        })
    });
    match created.await {
        Ok(Submission::Accepted((webhook, secret))) => {
            show_secret(&visitor, webhook, &secret, "Webhook secret").await
        }
        Ok(Submission::Duplicate(id)) => {
            let id: WebhookId = id.parse().map_err(|_| Error::not_found())?;
            Ok(see_other(&format!("{LIST}/{id}?done=before")))
        }
        Err(error) if is_fault(&error) => {
            show_form(&visitor, input, Faults::from(&error), nonce.value, None).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether the visitor can fix an error in the form.
fn is_fault(error: &Error) -> bool {
    matches!(error.code, Code::ValidationFailed | Code::Conflict)
}

#[derive(Template)]
#[template(path = "webhooks/secret.html")]
struct SecretPage {
    frame: Frame,
    webhook: Webhook,
    url: String,
    /// The secret, which is shown only once.
    value: String,
    events: String,
    zone: Zone,
    now: Timestamp,
    teams: Vec<String>,
}

/// Shows a secret, which is not shown again.
pub(super) async fn show_secret(
    visitor: &WebhookAdmin,
    webhook: Webhook,
    secret: &Secret,
    title: &'static str,
) -> PageResult<Response> {
    let owned = webhook.clone();
    let read = move |db: &Reader<'_>| Ok((account::find(db)?.timezone, team_names(db, &owned)?));
    let (zone, teams) = visitor.read(read).await?;
    let page = SecretPage {
        frame: visitor.frame(title, Section::Webhooks),
        url: display::short_url(&webhook.url),
        value: secret.reveal(),
        events: display::events_summary(&webhook),
        zone,
        now: visitor.app().clock.now(),
        teams,
        webhook,
    };
    render(StatusCode::OK, &page)
}

/// The names of a webhook's teams; none if it is for all teams.
pub(super) fn team_names(db: &Reader<'_>, webhook: &Webhook) -> Result<Vec<String>> {
    let names = load_names(db, webhook)?;
    let teams = webhook.team_ids.iter().flat_map(|SpaceSeparated(teams)| teams);
    Ok(teams.map(|id| names.get_or_id(&id.to_string()).to_owned()).collect())
}

pub(super) async fn edit(
    visitor: WebhookAdmin,
    PathParams(id): PathParams<WebhookId>,
) -> PageResult<Response> {
    let webhook = visitor.read(move |db| webhook::find(db, id)).await?;
    visitor.require_recent_authentication(&format!("{}/edit", webhook_path(&webhook)))?;
    let input = FormInput::of(&webhook);
    show_form(&visitor, input, Faults::default(), String::new(), Some(webhook)).await
}

pub(super) async fn save(
    PathParams(id): PathParams<WebhookId>,
    PostedForm { visitor, form }: PostedForm,
) -> PageResult<Response> {
    let before = visitor.read(move |db| webhook::find(db, id)).await?;
    visitor.require_recent_authentication(&format!("{}/edit", webhook_path(&before)))?;
    let (mut input, current) = (FormInput::read(&form), FormInput::of(&before).fingerprint);
    if input.fingerprint != current {
        input.fingerprint = current;
        let faults = Faults::edit_conflict();
        return show_form(&visitor, input, faults, String::new(), Some(before)).await;
    }
    let NewWebhook { url, events, description, team_ids, ordering } = match input.validate() {
        Ok(webhook) => webhook,
        Err(faults) => {
            return show_form(&visitor, input, faults, String::new(), Some(before)).await;
        }
    };
    let change = WebhookChange {
        url: Some(url),
        events: Some(events),
        description: description.map_or(Change::Clear, Change::Set),
        team_ids: team_ids.map_or(Change::Clear, Change::Set),
        ordering,
    };
    let context = edit_context(&visitor);
    let save = move |tx: &Tx<'_>| edit::change(tx, &context, id, &IfMatch::Absent, change);
    match visitor.write(save).await {
        Ok(webhook) => Ok(see_other(&format!("{}?done=saved", webhook_path(&webhook)))),
        Err(error) if is_fault(&error) => {
            show_form(&visitor, input, Faults::from(&error), String::new(), Some(before)).await
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> FormInput {
        FormInput::read(&Form::parse(query.as_bytes()).unwrap())
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let faults = read("team_ids=nobody&ordering=odd&description=%00").validate().unwrap_err();
        for field in ["url", "events", "team_ids", "ordering", "description"] {
            assert!(!faults.at(field).is_empty(), "{field}");
        }
    }

    #[test]
    fn included_patterns_are_left_out() {
        let patterns = |query: &str| read(query).patterns();
        assert_eq!(
            patterns("events=team.created&events=team.*&events=user.joined"),
            ["team.*", "user.joined"]
        );
        assert_eq!(patterns("events=team.*&events=*&events=event.created"), ["*"]);
        assert_eq!(patterns("events=odd&events=team.*"), ["odd", "team.*"]);
    }

    #[test]
    fn form_values_survive_a_round_trip_through_the_link() {
        let link =
            read("url=https://a.example/?x%3D1&events=*&events=team.*&description=a+%26b").link();
        assert_eq!(crate::web::visitor::safe_redirect_path(&link), link);
        let again = read(link.split_once('?').unwrap().1);
        assert_eq!(
            (again.url.as_str(), again.description.as_str()),
            ("https://a.example/?x=1", "a &b")
        );
        assert!(
            again.has_event("*") && again.has_event("team.*") && again.has_ordering("parallel")
        );
    }

    #[test]
    fn every_kind_is_in_a_group() {
        notification_kinds::register(crate::webhooks::MODULE.notification_kinds.iter());
        let groups = kind_groups();
        assert!(!groups.is_empty());
        assert_eq!(
            groups.iter().map(|group| group.kinds.len()).sum::<usize>(),
            notification_kinds::logged_kinds().len()
        );
        assert!(groups.iter().all(|group| notification_kinds::is_known_pattern(&group.pattern)));
    }
}
