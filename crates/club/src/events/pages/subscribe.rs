//! `/schedule/subscribe`: links for calendar apps. A link is shown once, when it is created.

use super::load_access;
use crate::accounts::roster_access::RosterAccess;
use crate::events::feed::{self, Feed, NewFeed};
use crate::events::{EventsAnswer, EventsRead};
use crate::names::Names;
use crate::prelude::*;
use crate::web::confirm::ConfirmPage;
use crate::web::form::{Field, FilledForm};
use crate::web::form_dedup::{Submission, submit_once};
use crate::web::prelude::*;
use crate::web::qr_code::QrCodeImage;

const PAGE: &str = "/schedule/subscribe";
const FIELDS: &[Field] = &[
    Field::radio("feed", "What the calendar contains", &[])
        .required("Choose what the calendar contains.")
        .page_only(),
    Field::check("games_only", "Only games and tournaments", "").page_only(),
];
/// The fields of the page that replaces a link.
const REPLACEMENT_FIELDS: &[Field] = &[
    Field::hidden("replaces").page_only(),
    Field::hidden("feed").page_only(),
    Field::hidden("games_only").page_only(),
];
const DONE: [(&str, &str); 1] =
    [("revoked", mark!("Link revoked. Calendar apps that use it no longer get the schedule."))];

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(PAGE, get(show).post(create))
        .route("/schedule/subscribe/{feed}/revoke", get(confirm).post(revoke))
}

/// A link that was created before.
struct FeedRow {
    id: FeedId,
    name: String,
    games_only: bool,
    created_at: Timestamp,
}

#[derive(Template)]
#[template(path = "events/subscribe.html")]
struct SubscribePage {
    frame: Frame,
    form: FilledForm,
    /// Whether there is anything to subscribe to.
    has_options: bool,
    feeds: Vec<FeedRow>,
    now: Timestamp,
}

#[derive(Template)]
#[template(path = "events/subscribed.html")]
struct CreatedPage {
    frame: Frame,
    name: String,
    url: String,
    /// The URL with the scheme that opens the calendar app.
    webcal: String,
    qr_code: QrCodeImage,
}

async fn show(visitor: Visitor<EventsRead>) -> PageResult {
    let nonce = new_nonce(visitor.app());
    list_page(&visitor, FilledForm::empty(FIELDS).nonce(nonce)).await
}

/// What the visitor can subscribe to: values of the form and labels.
fn options(
    db: &Reader<'_>,
    teams: &[(TeamId, String)],
    roster_access: &RosterAccess,
) -> Result<Vec<(String, String)>> {
    let with_team =
        |person: &&PersonId| roster_access.memberships.iter().any(|one| one.person_id == **person);
    let children: Vec<_> = roster_access.dependent_ids.iter().filter(with_team).collect();
    let ids: Vec<_> = children.iter().map(ToString::to_string).collect();
    let names = Names::load(db, ids.iter().map(String::as_str))?;
    let own = roster_access.own_person_ids.first();
    let own = own.filter(|_| !roster_access.memberships.is_empty());
    let all = own.map(|id| {
        let label = if children.is_empty() {
            t!("All my teams")
        } else {
            t!("All my teams, and those of my children")
        };
        (id.to_string(), label.to_owned())
    });
    let child = |id: &String| {
        let name = names.get_or_id(id).to_owned();
        (id.clone(), t!("The teams of {name}", name))
    };
    let children = ids.iter().filter(|_| ids.len() > 1 || all.is_none()).map(child);
    let children: Vec<_> = children.collect();
    let team = |(id, name): &(TeamId, String)| (id.to_string(), name.clone());
    Ok(all.into_iter().chain(children).chain(teams.iter().map(team)).collect())
}

async fn list_page<N: Permission>(visitor: &Visitor<N>, form: FilledForm) -> PageResult {
    let (_, roster_access) = load_access(visitor).await?;
    let teams: Vec<_> = visitor.nav.teams.iter().map(|one| (one.id, one.name.clone())).collect();
    let load = move |db: &Reader<'_>| {
        let options = options(db, &teams, &roster_access)?;
        let feeds = feed::own(db)?;
        let names = names_of(db, &feeds, &roster_access)?;
        let row = |(feed, name): (Feed, String)| FeedRow {
            id: feed.id,
            name,
            games_only: feed.games_only,
            created_at: feed.created_at,
        };
        Ok((options, feeds.into_iter().zip(names).map(row).collect::<Vec<_>>()))
    };
    let (options, feeds) = visitor.read(load).await?;
    let chosen = form.text("feed").to_owned();
    let first = options.first().map(|(value, _)| value.clone()).unwrap_or_default();
    let has_options = !options.is_empty();
    let form = form.options("feed", options);
    let form = if chosen.is_empty() { form.with("feed", first) } else { form };
    let frame = visitor.frame(t!("Add the schedule to your calendar"), Section::Schedule);
    let frame = frame.flash(visitor.guest.done_flash(&DONE));
    let now = visitor.app().clock.now();
    render(form.status(), &SubscribePage { frame, form, has_options, feeds, now })
}

/// What each of these feeds contains.
fn names_of(db: &Reader<'_>, feeds: &[Feed], roster_access: &RosterAccess) -> Result<Vec<String>> {
    let id = |feed: &Feed| {
        let team = feed.team_id.map(|id| id.to_string());
        team.or_else(|| feed.person_id.map(|id| id.to_string())).unwrap_or_default()
    };
    let ids: Vec<_> = feeds.iter().map(id).collect();
    let names = Names::load(db, ids.iter().map(String::as_str))?;
    let name = |(feed, id): (&Feed, &String)| {
        let name = names.get(id).unwrap_or_default().to_owned();
        match (&feed.name, feed.person_id) {
            (Some(own), _) => own.clone(),
            (None, Some(person)) if roster_access.own_person_ids.contains(&person) => {
                t!("All my teams").to_owned()
            }
            (None, Some(_)) => t!("The teams of {name}", name),
            (None, None) => name,
        }
    };
    Ok(feeds.iter().zip(&ids).map(name).collect())
}

/// The feed that the form asks for.
fn new_feed(form: &FilledForm) -> Option<NewFeed> {
    let chosen = form.text("feed");
    let (team_id, person_id) = (chosen.parse().ok(), chosen.parse().ok());
    let games_only = form.is_checked("games_only");
    let is_known = team_id.is_some() || person_id.is_some();
    is_known.then_some(NewFeed { name: None, team_id, person_id, games_only })
}

async fn create(VisitorForm { visitor, form }: VisitorForm<EventsAnswer>) -> PageResult {
    let (nonce, mut form) = (parse_nonce(&form)?, FilledForm::submitted(FIELDS, &form));
    let Some(new) = new_feed(&form) else {
        let form = form.with_error("feed", t!("Choose what the calendar contains."));
        return list_page(&visitor, form).await;
    };
    let (access, roster_access) = load_access(&visitor).await?;
    let ttl = visitor.app().config.idempotency_ttl;
    let replaced = form.text("replaces").parse().ok();
    let work = move |tx: &Tx<'_>| {
        submit_once(tx, &nonce, ttl, |tx| {
            if let Some(replaced) = replaced {
                revoke_in(tx, &access, replaced)?;
            }
            let (feed, token) = feed::create(tx, &access, new)?;
            let names = names_of(tx, std::slice::from_ref(&feed), &roster_access)?;
            Ok((feed.id.to_string(), (names.concat(), token)))
        })
    };
    let Some(submission) = form.accept(visitor.write(work).await)? else {
        return list_page(&visitor, form).await;
    };
    let (name, token) = match submission {
        Submission::Accepted(created) => created,
        Submission::Duplicate(id) => return offer_replacement(&visitor, &form, id),
    };
    let frame = visitor.frame(t!("Your calendar link"), Section::Schedule);
    let url = visitor.url(&format!("/calendar/{token}.ics"));
    let address = url.split_once("://").map_or(url.as_str(), |(_, address)| address);
    let webcal = format!("webcal://{address}");
    let qr_code = QrCodeImage::new(&webcal)?;
    render(StatusCode::OK, &CreatedPage { frame, name, url, webcal, qr_code })
}

/// The page after a form was sent again. The link cannot be shown again, so that a new one can replace it.
fn offer_replacement(
    visitor: &Visitor<EventsAnswer>,
    created: &FilledForm,
    id: String,
) -> PageResult {
    let form = FilledForm::empty(REPLACEMENT_FIELDS)
        .with("replaces", id)
        .with("feed", created.text("feed"))
        .nonce(new_nonce(visitor.app()));
    let is_limited = created.is_checked("games_only");
    let form = if is_limited { form.with("games_only", "yes") } else { form.without("games_only") };
    let frame = visitor.frame(t!("The link was already created"), Section::Schedule);
    ConfirmPage::new(frame, "Create a new link", PAGE)
        .harmless()
        .lead("A link is shown only once. If you have not copied it, create a new one.")
        .effect("The new link replaces the one that was just created, which stops working.")
        .back_label("Keep the link")
        .form(form, "No link was created")
        .respond()
}

async fn confirm(visitor: Visitor<EventsRead>, PathParams(id): PathParams<FeedId>) -> PageResult {
    let access = visitor.team_access().await?;
    visitor.read(move |db| feed::find(db, &access, id)).await?;
    let frame = visitor.frame(t!("Revoke the calendar link?"), Section::Schedule);
    ConfirmPage::new(frame, "Revoke link", PAGE)
        .effect("Every calendar app that uses this link stops getting the schedule.")
        .effect("You can create a new link at any time.")
        .respond()
}

async fn revoke(
    PathParams(id): PathParams<FeedId>,
    VisitorForm { visitor, .. }: VisitorForm<EventsAnswer>,
) -> PageResult {
    let access = visitor.team_access().await?;
    visitor.write(move |tx| revoke_in(tx, &access, id)).await?;
    Ok(see_other(&format!("{PAGE}?done=revoked")))
}

/// Revokes a link, unless it was revoked before.
fn revoke_in(tx: &Tx<'_>, access: &TeamAccess, id: FeedId) -> Result<()> {
    match feed::revoke(tx, access, id, &IfMatch::Absent) {
        Err(error) if error.code != Code::InvalidState => Err(error),
        _ => Ok(()),
    }
}
