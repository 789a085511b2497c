//! The form of a webhook: what was typed, what is wrong with it, and what comes of it.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::text::{self, TextFault};
use kit::word::Word;
use kit::{Change, Timestamp, Zone};
use store::{Reader, Tx};

use super::{Keeper, LIST, Sent, means, named, place, show, shown};
use crate::accounts::account;
use crate::accounts::rights::{Listed, Reach};
use crate::error::{Code, Error, Result};
use crate::expected::Expected;
use crate::ids::{TeamId, WebhookId};
use crate::names::Names;
use crate::paging::{Order, Page};
use crate::teams::team::{self, Status, TeamFilter};
use crate::web::form::{Faults, Form, mark};
use crate::web::once::{Once, new_nonce, nonce, once};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, encoded, see_other};
use crate::webhooks::edit::{self, NewWebhook, WebhookChange};
use crate::webhooks::kinds::{self, Kind};
use crate::webhooks::signature::Secret;
use crate::webhooks::webhook::{self, Ordering, Webhook};

/// So many teams can be chosen from.
const TEAMS: i64 = 200;
/// The longest description.
const LONGEST: usize = 500;

/// What was typed.
#[derive(Debug, Default)]
struct Typed {
    url: String,
    description: String,
    events: Vec<String>,
    /// Whether only the teams below are meant.
    of_some_teams: bool,
    teams: Vec<String>,
    ordering: String,
    /// Stands for everything above as it was shown.
    shown: String,
}

impl Typed {
    fn read(form: &Form) -> Self {
        let all =
            |name: &str| -> Vec<_> { form.all(name).into_iter().map(str::to_owned).collect() };
        let teams = all("team_ids");
        Self {
            url: form.text("url").to_owned(),
            description: form.text("description").to_owned(),
            events: all("events"),
            of_some_teams: match form.text("teams") {
                "all" => false,
                "some" => true,
                _ => !teams.is_empty(),
            },
            teams,
            ordering: form.maybe("ordering").unwrap_or(Ordering::Parallel.word()).to_owned(),
            shown: form.text("shown").to_owned(),
        }
    }

    fn of(webhook: &Webhook) -> Self {
        let teams = webhook.team_ids.iter().flat_map(|Listed(teams)| teams);
        let typed = Self {
            url: webhook.url.clone(),
            description: webhook.description.clone().unwrap_or_default(),
            events: webhook.events.0.clone(),
            of_some_teams: webhook.team_ids.is_some(),
            teams: teams.map(ToString::to_string).collect(),
            ordering: webhook.ordering.word().to_owned(),
            shown: String::new(),
        };
        Self { shown: mark(&typed), ..typed }
    }

    /// The address of the form with what was typed, for whoever must prove first who they are.
    fn link(&self) -> String {
        let mut link = format!(
            "{LIST}/new?url={}&description={}&teams={}&ordering={}",
            encoded(&self.url),
            encoded(&self.description),
            if self.of_some_teams { "some" } else { "all" },
            encoded(&self.ordering)
        );
        for (name, values) in [("events", &self.events), ("team_ids", &self.teams)] {
            for value in values {
                link += &format!("&{name}={}", encoded(value));
            }
        }
        link.replace('*', "%2A")
    }

    fn has(&self, wish: &str) -> bool {
        self.events.iter().any(|known| known == wish)
    }

    fn has_team(&self, id: &TeamId) -> bool {
        self.teams.contains(&id.to_string())
    }

    fn is(&self, ordering: &str) -> bool {
        self.ordering == ordering
    }

    /// The webhook that is meant, or everything that is wrong.
    fn webhook(&self) -> std::result::Result<NewWebhook, Faults> {
        let mut faults = Faults::default();
        if self.url.is_empty() {
            faults.add("url", "Say where notifications are sent.");
        }
        let events = self.wishes();
        if events.is_empty() {
            faults.add("events", "Choose at least one.");
        }
        let description = self.description(&mut faults);
        let teams: std::result::Result<Vec<TeamId>, _> =
            self.teams.iter().map(|id| id.parse()).collect();
        if teams.is_err() {
            faults.add("team_ids", "One of these teams does not exist. Choose again.");
        }
        if self.of_some_teams && self.teams.is_empty() {
            faults.add("team_ids", "Choose at least one team.");
        }
        if !self.of_some_teams && !self.teams.is_empty() {
            faults.add("team_ids", "Choose “Only some teams”, or clear the selected teams.");
        }
        let ordering = Ordering::parse(&self.ordering);
        if ordering.is_none() {
            faults.add("ordering", "Choose one of these.");
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let team_ids = teams.ok().filter(|teams| !teams.is_empty());
        Ok(NewWebhook { url: self.url.clone(), events, description, team_ids, ordering })
    }

    /// What was chosen, without what something else that was chosen means already.
    fn wishes(&self) -> Vec<String> {
        let wider = |wish: &String, other: &String| {
            other != wish && other.ends_with('*') && kinds::means(other, wish)
        };
        let needed = |wish: &&String| !self.events.iter().any(|other| wider(wish, other));
        self.events.iter().filter(needed).cloned().collect()
    }

    fn description(&self, faults: &mut Faults) -> Option<String> {
        let wrong = match text::line(&self.description, LONGEST) {
            Ok(text) => return Some(text),
            Err(TextFault::Empty) => return None,
            Err(TextFault::TooLong { max }) => format!("It has at most {max} characters."),
            Err(TextFault::Control) => "It has a character that cannot be shown.".to_owned(),
        };
        faults.add("description", wrong);
        None
    }
}

/// Kinds that are about the same sort of thing.
struct Sort {
    /// The wish for all of them, such as `team.*`.
    wish: String,
    label: String,
    kinds: Vec<&'static Kind>,
}

impl Sort {
    /// Whether some were chosen one by one.
    fn is_open(&self, typed: &Typed) -> bool {
        self.kinds.iter().any(|kind| typed.has(kind.name))
    }
}

/// Every kind, sorted.
fn sorts() -> Vec<Sort> {
    let mut sorts: Vec<Sort> = Vec::new();
    for kind in kinds::KINDS {
        let sort = kind.name.split('.').next().unwrap_or(kind.name);
        let wish = format!("{sort}.*");
        match sorts.iter_mut().find(|known| known.wish == wish) {
            Some(known) => known.kinds.push(kind),
            None => sorts.push(Sort { wish, label: sort_in_words(sort), kinds: vec![kind] }),
        }
    }
    sorts
}

fn sort_in_words(sort: &str) -> String {
    let words = match sort {
        "team" => "Teams",
        "roster" => "Rosters and people",
        "event" => "Events",
        "location" => "Places",
        "rsvp" => "Answers",
        "calendar_feed" => "Calendars",
        "message" => "Messages",
        "account" => "The club itself",
        "user" => "People who sign in",
        "webhook" => "Webhooks",
        "product" => "Products",
        "discount" => "Discount codes",
        "order" => "Orders",
        "dues" => "Dues",
        "payment" => "Payments",
        "refund" => "Refunds",
        "money_settings" => "How the club handles money",
        other => return other.replace('_', " "),
    };
    words.to_owned()
}

#[derive(Template)]
#[template(path = "webhooks/form.html")]
struct FormPage {
    frame: Frame,
    typed: Typed,
    faults: Faults,
    nonce: String,
    /// The webhook that is changed, with its short address; none for a new one.
    webhook: Option<(Webhook, String)>,
    sorts: Vec<Sort>,
    teams: Vec<(TeamId, String)>,
    more_teams: bool,
}

async fn show_form(
    visitor: &Keeper,
    typed: Typed,
    faults: Faults,
    nonce: String,
    webhook: Option<Webhook>,
) -> Outcome<Response> {
    let chosen: Vec<TeamId> = typed.teams.iter().filter_map(|id| id.parse().ok()).collect();
    let (teams, more_teams) = visitor.read(move |db| choice(db, &chosen)).await?;
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let title = if webhook.is_some() { "Change the webhook" } else { "Add a webhook" };
    let page = FormPage {
        frame: visitor.frame(title, Section::Webhooks),
        typed,
        faults,
        nonce,
        webhook: webhook.map(|webhook| (webhook.clone(), shown::short_url(&webhook.url))),
        sorts: sorts(),
        teams,
        more_teams,
    };
    show(status, &page)
}

/// The teams one can choose from: those that play, and those that were chosen before.
fn choice(db: &Reader<'_>, chosen: &[TeamId]) -> Result<(Vec<(TeamId, String)>, bool)> {
    let filter = TeamFilter { status: Some(Status::Active), ..TeamFilter::default() };
    let page = Page { limit: TEAMS, order: Order::Asc, last: None };
    let found = team::list(db, &Reach::Everywhere, &filter, &page)?;
    let limit = usize::try_from(TEAMS).unwrap_or(usize::MAX);
    let more = found.len() > limit;
    let mut teams: Vec<_> =
        found.into_iter().take(limit).map(|team| (team.id, team.name)).collect();
    let ids: Vec<_> = chosen.iter().map(ToString::to_string).collect();
    let names = Names::of(db, ids.iter().map(String::as_str))?;
    for (id, text) in chosen.iter().zip(&ids) {
        if let Some(name) = names.of_id(text).filter(|_| teams.iter().all(|(known, _)| known != id))
        {
            teams.push((*id, name.to_owned()));
        }
    }
    Ok((teams, more))
}

pub(super) async fn new(visitor: Keeper) -> Outcome<Response> {
    visitor.fresh(&visitor.guest.asked.replace('*', "%2A"))?;
    let typed = Typed::read(&visitor.guest.query()?);
    let nonce = new_nonce(visitor.app());
    show_form(&visitor, typed, Faults::default(), nonce, None).await
}

pub(super) async fn create(Sent { visitor, form }: Sent) -> Outcome<Response> {
    let (typed, nonce) = (Typed::read(&form), nonce(&form)?);
    visitor.fresh(&typed.link())?;
    let new = match typed.webhook() {
        Ok(new) => new,
        Err(faults) => return show_form(&visitor, typed, faults, nonce.name, None).await,
    };
    let (means, name) = (means(&visitor), nonce.clone());
    let kept = visitor.app().config.idempotency_ttl;
    let made = visitor.write(move |tx: &Tx<'_>| {
        once(tx, &name, kept, |tx| {
            let (webhook, secret) = edit::create(tx, &means, new)?;
            Ok((webhook.id.to_string(), (webhook, secret)))
        })
    });
    match made.await {
        Ok(Once::Now((webhook, secret))) => {
            show_secret(&visitor, webhook, &secret, "The webhook’s secret").await
        }
        Ok(Once::Before(id)) => {
            let id: WebhookId = id.parse().map_err(|_| Error::not_found())?;
            Ok(see_other(&format!("{LIST}/{id}?done=before")))
        }
        Err(error) if is_fault(&error) => {
            show_form(&visitor, typed, Faults::from(&error), nonce.name, None).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether an error can be mended in the form.
fn is_fault(error: &Error) -> bool {
    matches!(error.code, Code::ValidationFailed | Code::Conflict)
}

#[derive(Template)]
#[template(path = "webhooks/secret.html")]
struct SecretPage {
    frame: Frame,
    webhook: Webhook,
    url: String,
    /// Nobody gets to see it a second time.
    value: String,
    events: String,
    zone: Zone,
    now: Timestamp,
    teams: Vec<String>,
}

/// Shows a secret, this once.
pub(super) async fn show_secret(
    visitor: &Keeper,
    webhook: Webhook,
    secret: &Secret,
    title: &'static str,
) -> Outcome<Response> {
    let kept = webhook.clone();
    let look = move |db: &Reader<'_>| Ok((account::find(db)?.timezone, team_names(db, &kept)?));
    let (zone, teams) = visitor.read(look).await?;
    let page = SecretPage {
        frame: visitor.frame(title, Section::Webhooks),
        url: shown::short_url(&webhook.url),
        value: secret.reveal(),
        events: shown::events_in_short(&webhook),
        zone,
        now: visitor.app().clock.now(),
        teams,
        webhook,
    };
    show(StatusCode::OK, &page)
}

/// The names of the teams a webhook is for; none if it is for all.
pub(super) fn team_names(db: &Reader<'_>, webhook: &Webhook) -> Result<Vec<String>> {
    let names = named(db, webhook)?;
    let teams = webhook.team_ids.iter().flat_map(|Listed(teams)| teams);
    Ok(teams.map(|id| names.or_id(&id.to_string()).to_owned()).collect())
}

pub(super) async fn edit(visitor: Keeper, At(id): At<WebhookId>) -> Outcome<Response> {
    let webhook = visitor.read(move |db| webhook::find(db, id)).await?;
    visitor.fresh(&format!("{}/edit", place(&webhook)))?;
    let typed = Typed::of(&webhook);
    show_form(&visitor, typed, Faults::default(), String::new(), Some(webhook)).await
}

pub(super) async fn save(At(id): At<WebhookId>, Sent { visitor, form }: Sent) -> Outcome<Response> {
    let before = visitor.read(move |db| webhook::find(db, id)).await?;
    visitor.fresh(&format!("{}/edit", place(&before)))?;
    let (mut typed, now) = (Typed::read(&form), Typed::of(&before).shown);
    if typed.shown != now {
        typed.shown = now;
        let faults = Faults::changed_meanwhile();
        return show_form(&visitor, typed, faults, String::new(), Some(before)).await;
    }
    let NewWebhook { url, events, description, team_ids, ordering } = match typed.webhook() {
        Ok(wanted) => wanted,
        Err(faults) => {
            return show_form(&visitor, typed, faults, String::new(), Some(before)).await;
        }
    };
    let change = WebhookChange {
        url: Some(url),
        events: Some(events),
        description: description.map_or(Change::Clear, Change::Set),
        team_ids: team_ids.map_or(Change::Clear, Change::Set),
        ordering,
    };
    let means = means(&visitor);
    let save = move |tx: &Tx<'_>| edit::change(tx, &means, id, &Expected::Anything, change);
    match visitor.write(save).await {
        Ok(webhook) => Ok(see_other(&format!("{}?done=saved", place(&webhook)))),
        Err(error) if is_fault(&error) => {
            show_form(&visitor, typed, Faults::from(&error), String::new(), Some(before)).await
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Typed {
        Typed::read(&Form::parse(query.as_bytes()).unwrap())
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let faults = read("team_ids=nobody&ordering=odd&description=%00").webhook().unwrap_err();
        for field in ["url", "events", "team_ids", "ordering", "description"] {
            assert!(!faults.at(field).is_empty(), "{field}");
        }
    }

    #[test]
    fn what_is_meant_anyway_is_not_asked_for_twice() {
        let wishes = |query: &str| read(query).wishes();
        assert_eq!(
            wishes("events=team.created&events=team.*&events=user.joined"),
            ["team.*", "user.joined"]
        );
        assert_eq!(wishes("events=team.*&events=*&events=event.created"), ["*"]);
        assert_eq!(wishes("events=odd&events=team.*"), ["odd", "team.*"]);
    }

    #[test]
    fn what_was_typed_comes_back_through_a_link() {
        let link =
            read("url=https://a.example/?x%3D1&events=*&events=team.*&description=a+%26b").link();
        assert_eq!(crate::web::visitor::own_path(&link), link);
        let again = read(link.split_once('?').unwrap().1);
        assert_eq!(
            (again.url.as_str(), again.description.as_str()),
            ("https://a.example/?x=1", "a &b")
        );
        assert!(again.has("*") && again.has("team.*") && again.is("parallel"));
    }

    #[test]
    fn every_kind_has_its_sort() {
        let sorts = sorts();
        assert_eq!(sorts.iter().map(|sort| sort.kinds.len()).sum::<usize>(), kinds::KINDS.len());
        assert!(sorts.iter().all(|sort| kinds::is_wish(&sort.wish)));
    }
}
