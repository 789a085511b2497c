//! `/account/notifications`: which emails a user gets, and when. `/unsubscribe/{token}/settings` is the same page for
//! people who are not users. The link in their emails is the only credential.

use axum::extract::{Request, State};
use kit::TimeOfDay;

use super::unsubscribe::{self, MAX_BODY_BYTES, check_token};
use crate::accounts::account;
use crate::accounts::permissions::OwnAccount;
use crate::i18n::{Locale, format};
use crate::prelude::*;
use crate::roster::notification_settings::{
    self, NotificationSettings, NotificationSettingsChange,
};
use crate::roster::pages::link_page;
use crate::roster::preferences::{self, Preferences};
use crate::unsubscribe_key::UnsubscribeKey;
use crate::web::body;
use crate::web::form::{Choice, Field, FilledForm};
use crate::web::prelude::*;

const PAGE: &str = "/account/notifications";
const FREQUENCIES: &[Choice] = &[
    Choice::new("at_once", "At once"),
    Choice::new("daily", "In the daily summary"),
    Choice::new("never", "Never"),
];
const FIELDS: &[Field] = &[
    Field::select("announcements", "Announcements", FREQUENCIES)
        .hint("Information from your coaches and your club."),
    Field::select("conversations", "Conversations", FREQUENCIES)
        .hint("Messages that somebody writes to you."),
    Field::select("event_changes", "Changes and cancellations", FREQUENCIES)
        .hint("When an event is moved, changed or cancelled."),
    Field::select("rsvp_reminders", "Reminders to answer", FREQUENCIES)
        .hint("When you have not said yet whether you are coming."),
    Field::select("dues_reminders", "Payment reminders", FREQUENCIES)
        .hint("When a payment is due soon or overdue."),
    Field::select("summary_at", "Time of the daily summary", &[])
        .hint("One email a day with everything for which you chose the daily summary."),
    Field::pair(
        "Quiet hours",
        &[
            Field::select("quiet_from", "From", &[Choice::new("", "No quiet hours")]),
            Field::select("quiet_until", "Until", &[Choice::new("", "No quiet hours")]),
        ],
    ),
    Field::select("timezone", "Time zone", &[]),
];
const DONE: [(&str, &str); 3] = [
    ("saved", mark!("Your changes were saved.")),
    ("stopped", mark!("You no longer get emails from this club.")),
    ("resumed", mark!("You get emails from this club again.")),
];

type OwnVisitor = Visitor<OwnAccount>;
type OwnForm = VisitorForm<OwnAccount>;

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/account/notifications", get(show).post(save))
        .route("/account/notifications/emails", post(stop_or_resume))
        .route("/unsubscribe/{token}/settings", get(show_for_person).post(save_for_person))
}

#[derive(Template)]
#[template(path = "notification_settings.html")]
struct SettingsPage {
    frame: Frame,
    form: FilledForm,
    club: String,
    /// The user's person in the club.
    person: Option<Preferences>,
}

#[derive(Template)]
#[template(path = "person_notification_settings.html")]
struct PersonSettingsPage {
    frame: Frame,
    form: FilledForm,
    club: String,
    /// The masked email address.
    address: String,
    /// The path of the page to stop all emails.
    stop: String,
}

/// Fills in the times and zones to choose from. A setting without time zone is shown with that of the club.
fn with_options(form: FilledForm, club: &Zone) -> FilledForm {
    let locale = Locale::current_or_english();
    let day = Day::new(2026, 1, 1).expect("a day of the calendar");
    let label = |time: TimeOfDay| (time, format::time(locale, time.on(day)));
    let times: Vec<_> = TimeOfDay::all().map(label).collect();
    let mut form = form
        .options("summary_at", times.clone())
        .options("quiet_from", times.clone())
        .options("quiet_until", times);
    if form.text("timezone").is_empty() {
        form.set("timezone", club.name());
    }
    let mut zones = Zone::names();
    // The zone may have a name that is not in the list, such as an old alias.
    for name in [form.text("timezone"), club.name()] {
        if !zones.iter().any(|known| known == name) {
            zones.insert(0, name.to_owned());
        }
    }
    form.options("timezone", zones.into_iter().map(|name| (name.clone(), name)))
}

fn settings_form(settings: &NotificationSettings) -> FilledForm {
    FilledForm::empty(FIELDS).filled_from(settings)
}

async fn show(visitor: OwnVisitor) -> PageResult {
    let user = visitor.visit.user;
    let find = move |db: &Reader<'_>| notification_settings::find_for_user(db, user);
    let settings = visitor.guest.read("notification settings", find).await?;
    settings_page(&visitor, settings_form(&settings)).await
}

async fn settings_page(visitor: &OwnVisitor, form: FilledForm) -> PageResult {
    let user = visitor.visit.user;
    let read = move |db: &Reader<'_>| -> Result<_> {
        Ok((preferences::find_of_user(db, user)?, account::find(db)?.timezone))
    };
    let (person, zone) = match visitor.visit.club {
        Some(_) => visitor.read(read).await?,
        None => (None, Zone::utc()),
    };
    let club = visitor.visit.club_name.clone().unwrap_or_default();
    let flash = visitor.guest.done_flash(&DONE);
    let frame = visitor.frame(t!("Notifications"), Section::Notifications).flash(flash);
    let page = SettingsPage { frame, form: with_options(form, &zone), club, person };
    render(page.form.status(), &page)
}

async fn save(OwnForm { visitor, form }: OwnForm) -> PageResult {
    let user = visitor.visit.user;
    let mut form = FilledForm::submitted(FIELDS, &form);
    if let Some(change) = form.parse::<NotificationSettingsChange>() {
        let change = move |tx: &Tx<'_>| {
            notification_settings::change_for_user(tx, user, &IfMatch::Absent, change)
        };
        let changed = visitor.write_user("notification settings", change).await;
        if form.accept(changed)?.is_some() {
            return Ok(see_other(&format!("{PAGE}?done=saved")));
        }
    }
    settings_page(&visitor, form).await
}

/// Stops all emails of the club to the user's person, or resumes them.
async fn stop_or_resume(OwnForm { visitor, form }: OwnForm) -> PageResult {
    let (user, wants) = (visitor.visit.user, form.text("wants") == "yes");
    let change = move |tx: &Tx<'_>| {
        let person = preferences::find_of_user(tx, user)?.ok_or_else(Error::not_found)?;
        preferences::set_email_opt_in(tx, person.id, wants)
    };
    visitor.write(change).await?;
    Ok(see_other(&format!("{PAGE}?done={}", if wants { "resumed" } else { "stopped" })))
}

/// The account and person of a link, if it has the right length. [`check_token`] checks the signature.
fn parse(token: &str) -> Result<(AccountId, PersonId)> {
    UnsubscribeKey::parse(token).ok_or_else(Error::not_found)
}

async fn show_for_person(
    State(app): State<App>,
    PathParams(token): PathParams<String>,
    request: Request,
) -> PageResult {
    let (account, person) = parse(&token)?;
    let find = move |db: &Reader<'_>| notification_settings::find_for_person(db, person);
    let settings = app.db.read(unsubscribe::scope(account, person), find).await?;
    let is_saved = request.uri().query() == Some("done=saved");
    person_page(&app, token, settings_form(&settings), is_saved).await
}

/// Shows the settings of a person. Users are redirected to their own page.
async fn person_page(app: &App, token: String, form: FilledForm, is_saved: bool) -> PageResult {
    let (account, person) = parse(&token)?;
    let (key, signed) = (app.unsubscribe_key.clone(), token.clone());
    let read = move |db: &Reader<'_>| -> Result<_> {
        let person = preferences::find(db, person)?;
        check_token(&key, &signed, &person)?;
        Ok((person, account::find(db)?))
    };
    let (person, club) = app.db.read(unsubscribe::scope(account, person), read).await?;
    if person.user_id.is_some() {
        return Ok(see_other(PAGE));
    }
    let flash = is_saved.then(|| Flash::success(t!("Your changes were saved.")));
    let page = PersonSettingsPage {
        frame: Frame::plain(t!("Which emails do you want?")).flash(flash),
        form: with_options(form, &club.timezone),
        club: club.name,
        address: person.email.as_deref().map(unsubscribe::mask).unwrap_or_default(),
        stop: format!("/unsubscribe/{token}"),
    };
    Ok(link_page(page.form.status(), &page)?)
}

async fn save_for_person(
    State(app): State<App>,
    PathParams(token): PathParams<String>,
    request: Request,
) -> PageResult {
    let (account, person) = parse(&token)?;
    let sent = Form::parse(&body::read(request, &app, MAX_BODY_BYTES).await?)?;
    let mut form = FilledForm::submitted(FIELDS, &sent);
    if let Some(change) = form.parse::<NotificationSettingsChange>() {
        let (key, signed) = (app.unsubscribe_key.clone(), token.clone());
        let change = move |tx: &Tx<'_>| {
            let preferences = preferences::find(tx, person)?;
            check_token(&key, &signed, &preferences)?;
            // Users change their settings in their account, for all clubs.
            Error::not_found().fail_if(preferences.user_id.is_some())?;
            notification_settings::change_for_person(tx, person, change)
        };
        let changed = app.db.write(unsubscribe::scope(account, person), change).await;
        if form.accept(changed)?.is_some() {
            return Ok(see_other(&format!("/unsubscribe/{token}/settings?done=saved")));
        }
    }
    person_page(&app, token, form, false).await
}
