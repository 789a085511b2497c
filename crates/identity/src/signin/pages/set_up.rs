//! `/set-up/{token}`: the initial setup, which creates the first club and its owner.

use kit::IdGenerator;

use super::{audit, current_session, fields};
use crate::accounts::profile;
use crate::accounts::session::Method;
use crate::prelude::*;
use crate::signin::authentication::{self, SignIn};
use crate::signin::set_up::{self, SetUpInput};
use crate::web::form::{Field, FilledForm};
use crate::web::page;
use crate::web::prelude::*;
use crate::web::visitor::{Guest, GuestForm, set_session_cookie};

/// Suggestions for the main sport. Users can enter any other.
const SPORTS: [&str; 12] = [
    mark!("Soccer"),
    mark!("Basketball"),
    mark!("Volleyball"),
    mark!("Baseball"),
    mark!("Softball"),
    mark!("Ice hockey"),
    mark!("Field hockey"),
    mark!("Handball"),
    mark!("Rugby"),
    mark!("Swimming"),
    mark!("Track and field"),
    mark!("Tennis"),
];

const FIELDS: &[Field] = &[
    Field::line("club", "Club name", 120)
        .autocomplete("organization")
        .required("Enter the name of the club."),
    Field::line("sport", "Main sport", 60).attributes("list=sports"),
    Field::select("timezone", "Time zone", &[])
        .hint("New teams use this time zone for their events.")
        .default("UTC"),
    fields::NAME,
    fields::EMAIL.hint("You sign in with this address, as the owner of the club."),
    fields::FIRST_PASSWORD,
];

pub(super) fn router() -> Router<App> {
    Router::new().route("/set-up/{token}", get(show_form).post(submit))
}

#[derive(Template)]
#[template(path = "signin/set_up.html")]
struct SetUpPage {
    frame: Frame,
    form: FilledForm,
    /// Whether the user has chosen the time zone. Until then a script selects the browser's zone.
    zone_chosen: bool,
    sports: [&'static str; 12],
}

async fn show_form(guest: Guest, PathParams(token): PathParams<String>) -> PageResult {
    guest.read("set-up", move |db| set_up::check_link(db, &token)).await?;
    set_up_page(&guest, FilledForm::empty(FIELDS))
}

fn set_up_page(guest: &Guest, form: FilledForm) -> PageResult {
    let zone_chosen = !form.all("timezone").is_empty();
    let frame = guest.frame(t!("Set up Touchline"));
    let zones = Zone::names().into_iter().map(|name| (name.clone(), name));
    let form = form.options("timezone", zones);
    let page = SetUpPage { frame, form, zone_chosen, sports: SPORTS };
    Ok(guest.with_cookie(page::html(page.form.status(), &page)?))
}

async fn submit(
    PathParams(token): PathParams<String>,
    GuestForm { guest, form }: GuestForm,
) -> PageResult {
    // Check the link before hashing the password, so that only the holder of a link can cause that work.
    let checked_token = token.clone();
    guest.read("set-up", move |db| set_up::check_link(db, &checked_token)).await?;
    let created = create_club(&guest, &form, token).await;
    if let Err(error) = &created
        && error.code == Code::Gone
    {
        // Somebody else has used the link meanwhile.
        return Err(error.clone().into());
    }
    let mut form = FilledForm::submitted(FIELDS, &form);
    match form.accept(created)? {
        Some(token) => Ok(set_session_cookie(see_other("/set-up"), &token)),
        None => set_up_page(&guest, form),
    }
}

/// Creates the club and its owner, and signs the owner in.
async fn create_club(guest: &Guest, form: &Form, link: String) -> Result<kit::secret::Token> {
    let app = &guest.app;
    let password = form.get("password").unwrap_or_default();
    let personal_words = [form.text("name"), form.text("email"), form.text("club")];
    let new = SetUpInput {
        club: form.text("club").to_owned(),
        sport: form.optional("sport").map(|sport| sport.chars().take(60).collect()),
        timezone: zone(form)?,
        name: form.text("name").to_owned(),
        email: profile::validate_email(form.text("email"))?,
        password_hash: app.passwords.hash(password, &personal_words).await?,
    };
    let club: AccountId = IdGenerator::default().generate(app.clock.now(), &app.rng);
    let scope = guest.scope_in(club, "set-up");
    let owner = app.db.write(scope, move |tx| set_up::create_first_club(tx, &link, new)).await?;
    let entry = SignIn {
        user: owner.id,
        method: Method::Link,
        browser: guest.browser(),
        current_session: current_session(guest),
    };
    let (_, token) = guest.write("sign-in", move |tx| authentication::sign_in(tx, entry)).await?;
    audit(guest, owner.id, "user.signed_in", json!({ "method": Method::Link })).await?;
    Ok(token)
}

/// The time zone from the form, or UTC.
fn zone(form: &Form) -> Result<Zone> {
    form.optional("timezone").map_or(Ok(Zone::utc()), str::parse).map_err(|_| {
        let detail = "This time zone does not exist. Choose one from the list.";
        Error::invalid(vec![Fault::new("/timezone", "invalid", detail)])
    })
}
