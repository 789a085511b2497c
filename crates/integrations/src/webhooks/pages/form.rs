//! The form for creating and editing a webhook, and the page that shows its secret.

use super::{LIST, PostedForm, WebhookAdmin, edit_context, load_names};
use crate::accounts::account;
use crate::names::Names;
use crate::notification_kinds::{self, Kind};
use crate::prelude::*;
use crate::rights::SpaceSeparated;
use crate::teams::team::{self, Status, TeamFilter};
use crate::web::form::{Choice, Field, FilledForm};
use crate::web::form_dedup::{Submission, submit_once};
use crate::web::prelude::*;
use crate::webhooks::edit::{self, NewWebhook, WebhookChange};
use crate::webhooks::signature::Secret;
use crate::webhooks::webhook::{self, Webhook};

const NEW: &str = "/admin/webhooks/new";
/// The most teams to choose from.
const MAX_TEAMS: i64 = 200;

const FIELDS: &[Field] = &[
    Field::url("url", "URL", 2048)
        .hint("The URL that receives the notifications, for example https://hooks.example.org/touchline. It must be reachable from the internet on port 443 or 8443.")
        .required("Enter the URL that receives the notifications.")
        .attributes("spellcheck=false"),
    Field::line("description", "Description", 500)
        .hint("What the webhook is for, for example “Scores on the website”."),
    Field::checks("events", "Notifications", &[])
        .required("Choose at least one type of notification."),
    Field::radio(
        "teams",
        "Teams",
        &[
            Choice::new("all", "All teams").about("Includes teams that are added later, and notifications that are not about a team."),
            Choice::new("some", "Only some teams"),
        ],
    )
    .default("all")
    .page_only(),
    Field::checks("team_ids", "", &[])
        .required("Choose at least one team.")
        .when("teams", &["some"])
        .or_reject("Choose “Only some teams”, or clear the selected teams."),
    Field::radio(
        "ordering",
        "Delivery order",
        &[
            Choice::new("parallel", "As fast as possible").about("Several notifications are sent at once. A failed delivery is retried later and does not delay the others, so the order can change."),
            Choice::new("strict", "One after the other").about("Notifications are sent in the order in which things happened. A failed delivery delays all that follow until it succeeds or has failed for good."),
        ],
    )
    .default("parallel")
    .required("Choose an order."),
];

/// The form as it was submitted, or as a link fills it in.
fn submitted(form: &Form) -> FilledForm {
    let filled = FilledForm::submitted(FIELDS, form);
    let has_teams = form.text("teams").is_empty() && !filled.all("team_ids").is_empty();
    if has_teams { filled.with("teams", "some") } else { filled }
}

/// The form of an existing webhook.
fn filled_from(webhook: &Webhook) -> FilledForm {
    let teams = if webhook.team_ids.is_some() { "some" } else { "all" };
    FilledForm::empty(FIELDS).filled_from(webhook).with("teams", teams).fingerprint()
}

/// Parses the form.
fn parse<T: FromBody>(form: &mut FilledForm) -> Option<T> {
    let mut body = form.body();
    if form.all("team_ids").iter().any(|id| id.parse::<TeamId>().is_err()) {
        let error = t!("One of the selected teams does not exist. Select the teams again.");
        form.faults.add("team_ids", error);
    }
    body["events"] = json!(patterns(form));
    form.finish(body)
}

/// The selected patterns, without those that another selected pattern includes.
fn patterns(form: &FilledForm) -> Vec<String> {
    let events = form.all("events");
    let includes = |other: &str, pattern: &str| {
        other != pattern
            && other.ends_with('*')
            && notification_kinds::pattern_matches(other, pattern)
    };
    let is_needed = |pattern: &&&str| !events.iter().any(|other| includes(other, pattern));
    events.iter().filter(is_needed).map(|pattern| (*pattern).to_owned()).collect()
}

/// Whether a pattern is selected.
fn has_event(form: &FilledForm, pattern: &str) -> bool {
    form.all("events").contains(&pattern)
}

/// A group of kinds, such as all kinds about teams.
struct KindGroup {
    /// The pattern for all of them, such as `team.*`.
    pattern: String,
    label: &'static str,
    kinds: Vec<&'static Kind>,
}

impl KindGroup {
    /// Whether some kinds of the group are selected one by one.
    fn is_open(&self, form: &FilledForm) -> bool {
        self.kinds.iter().any(|kind| has_event(form, kind.name))
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
            let label = t!(kind.group);
            groups.push(KindGroup { pattern, label, kinds: vec![kind] });
        }
    }
    groups
}

#[derive(Template)]
#[template(path = "webhooks/form.html")]
struct FormPage {
    frame: Frame,
    form: FilledForm,
    /// The webhook to edit; `None` for a new one.
    webhook: Option<Webhook>,
    groups: Vec<KindGroup>,
    more_teams: bool,
}

impl FormPage {
    fn has_event(&self, pattern: &str) -> bool {
        has_event(&self.form, pattern)
    }
}

async fn show_form(
    visitor: &WebhookAdmin,
    form: FilledForm,
    webhook: Option<Webhook>,
) -> PageResult<Response> {
    let selected = form.all("team_ids").iter().filter_map(|id| id.parse().ok()).collect();
    let (teams, more_teams) = visitor.read(move |db| team_options(db, selected)).await?;
    let title = if webhook.is_some() { t!("Edit webhook") } else { t!("Add a webhook") };
    let page = FormPage {
        frame: visitor.frame(title, Section::Webhooks),
        form: form.only_if(!teams.is_empty(), "teams").options("team_ids", teams),
        webhook,
        groups: kind_groups(),
        more_teams,
    };
    render(page.form.status(), &page)
}

/// The teams to choose from: active teams, and those already selected. Also returns whether there are more.
fn team_options(db: &Reader<'_>, selected: Vec<TeamId>) -> Result<(Vec<(TeamId, String)>, bool)> {
    let filter = TeamFilter { status: Some(Status::Active), ..TeamFilter::default() };
    let page = Page { limit: MAX_TEAMS, order: Order::Asc, last: None };
    let active = team::list(db, &TeamAccess::AllTeams, &filter, &page)?;
    let limit = usize::try_from(MAX_TEAMS).unwrap_or(usize::MAX);
    let has_more = active.len() > limit;
    let mut teams: Vec<_> =
        active.into_iter().take(limit).map(|team| (team.id, team.name)).collect();
    let ids: Vec<_> = selected.iter().map(ToString::to_string).collect();
    let names = Names::load(db, ids.iter().map(String::as_str))?;
    for (id, text) in selected.into_iter().zip(&ids) {
        if let Some(name) = names.get(text).filter(|_| teams.iter().all(|(other, _)| *other != id))
        {
            teams.push((id, name.to_owned()));
        }
    }
    Ok((teams, has_more))
}

pub(super) async fn new(visitor: WebhookAdmin) -> PageResult<Response> {
    visitor.require_recent_authentication(&visitor.guest.path_and_query.replace('*', "%2A"))?;
    let form = submitted(&visitor.guest.query()?).nonce(new_nonce(visitor.app()));
    show_form(&visitor, form, None).await
}

pub(super) async fn create(PostedForm { visitor, form }: PostedForm) -> PageResult<Response> {
    let (mut form, nonce) = (submitted(&form), parse_nonce(&form)?);
    visitor.require_recent_authentication(&form.link(NEW))?;
    let Some(new) = parse::<NewWebhook>(&mut form) else {
        return show_form(&visitor, form, None).await;
    };
    let (context, ttl) = (edit_context(&visitor), visitor.app().config.idempotency_ttl);
    let created = visitor.write(move |tx: &Tx<'_>| {
        submit_once(tx, &nonce, ttl, |tx| {
            let created = edit::create(tx, &context, new)?;
            Ok((created.0.id.to_string(), created))
        })
    });
    match form.accept(created.await)? {
        Some(Submission::Accepted((webhook, secret))) => {
            show_secret(&visitor, webhook, &secret, t!("Webhook secret")).await
        }
        Some(Submission::Duplicate(id)) => {
            let id: WebhookId = id.parse().map_err(|_| Error::not_found())?;
            Ok(see_other(&format!("{LIST}/{id}?done=before")))
        }
        None => show_form(&visitor, form, None).await,
    }
}

#[derive(Template)]
#[template(path = "webhooks/secret.html")]
struct SecretPage {
    frame: Frame,
    webhook: Webhook,
    /// The secret, which is shown only once.
    value: String,
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
        value: secret.reveal(),
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
    visitor.require_recent_authentication(&format!("{}/edit", webhook.path()))?;
    let form = filled_from(&webhook);
    show_form(&visitor, form, Some(webhook)).await
}

pub(super) async fn save(
    PathParams(id): PathParams<WebhookId>,
    PostedForm { visitor, form }: PostedForm,
) -> PageResult<Response> {
    let before = visitor.read(move |db| webhook::find(db, id)).await?;
    visitor.require_recent_authentication(&format!("{}/edit", before.path()))?;
    let mut form = submitted(&form);
    if form.conflicts_with(&filled_from(&before)) {
        return show_form(&visitor, form, Some(before)).await;
    }
    if let Some(change) = parse::<WebhookChange>(&mut form) {
        let context = edit_context(&visitor);
        let save = move |tx: &Tx<'_>| edit::change(tx, &context, id, &IfMatch::Absent, change);
        if let Some(webhook) = form.accept(visitor.write(save).await)? {
            return Ok(see_other(&format!("{}?done=saved", webhook.path())));
        }
    }
    show_form(&visitor, form, Some(before)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> FilledForm {
        submitted(&Form::parse(query.as_bytes()).unwrap())
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let mut form = read("team_ids=nobody&ordering=odd&description=%00");
        assert!(parse::<NewWebhook>(&mut form).is_none());
        for field in ["url", "events", "team_ids", "ordering", "description"] {
            assert!(!form.faults.at(field).is_empty(), "{field}");
        }
    }

    #[test]
    fn included_patterns_are_left_out() {
        let patterns = |query: &str| patterns(&read(query));
        assert_eq!(
            patterns("events=team.created&events=team.*&events=user.joined"),
            ["team.*", "user.joined"]
        );
        assert_eq!(patterns("events=team.*&events=*&events=event.created"), ["*"]);
        assert_eq!(patterns("events=odd&events=team.*"), ["odd", "team.*"]);
    }

    #[test]
    fn form_values_survive_a_round_trip_through_the_link() {
        let link = read("url=https://a.example/?x%3D1&events=*&events=team.*&description=a+%26b");
        let link = link.link(NEW);
        assert_eq!(crate::web::visitor::safe_redirect_path(&link), link);
        let again = read(link.split_once('?').unwrap().1);
        assert_eq!(
            (again.text("url"), again.text("description")),
            ("https://a.example/?x=1", "a &b")
        );
        assert!(has_event(&again, "*") && has_event(&again, "team.*"));
        assert_eq!(again.text("ordering"), "parallel");
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
