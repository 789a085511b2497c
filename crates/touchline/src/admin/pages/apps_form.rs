//! The form to register or edit an app.

use kit::secret::Token;

use super::apps::describe_kind;
use super::shared::{Admin, AdminForm, parse_scopes, with_scopes};
use crate::oauth::app::{self, App, AppChange, Kind, NewApp};
use crate::oauth::secret;
use crate::prelude::*;
use crate::web::form::{Field, FilledForm};
use crate::web::form_dedup::{Submission, submit_once};
use crate::web::prelude::*;

const FIELDS: &[Field] = &[
    Field::line("name", "Name", 120)
        .hint("People see this name when the app asks for access.")
        .required("Enter a name."),
    Field::radio("kind", "Where does it run?", &[])
        .hint("You cannot change this later.")
        .required("Choose where the app runs."),
    Field::block("redirect_uris", "Redirect URIs", 0)
        .hint("Where people return to, one address per line, exactly as the app sends it. For example, https://app.example.org/callback.")
        .required("Enter at least one redirect URI."),
    Field::checks("scopes", "Permissions the app can request", &[])
        .hint("Each person decides whether to allow them. The app can never do more than that person can."),
];

/// Completes the form with its options.
fn with_options(form: FilledForm) -> FilledForm {
    let kinds = Kind::ALL.iter().map(|(kind, name)| {
        let (label, description) = describe_kind(*kind);
        (*name, label, description)
    });
    with_scopes(form.explained_options("kind", kinds))
}

fn redirect_uris(form: &FilledForm) -> Vec<String> {
    let lines = form.text("redirect_uris").lines().map(str::trim);
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[derive(Template)]
#[template(path = "admin/apps_form.html")]
struct FormPage {
    frame: Frame,
    form: FilledForm,
    /// The app to edit; none for a new one.
    app: Option<App>,
}

fn form_page(visitor: &Admin, form: FilledForm, app: Option<App>) -> PageResult {
    let title = if app.is_some() { t!("Edit app") } else { t!("Register an app") };
    let frame = visitor.frame(title, Section::OauthApps);
    render(form.status(), &FormPage { frame, form, app })
}

pub(super) async fn new(visitor: Admin) -> PageResult {
    visitor.require_recent_authentication("/admin/apps/new")?;
    let form = with_options(FilledForm::empty(FIELDS)).nonce(new_nonce(visitor.app()));
    form_page(&visitor, form, None)
}

pub(super) async fn create(AdminForm { visitor, form }: AdminForm) -> PageResult {
    visitor.require_recent_authentication("/admin/apps/new")?;
    let nonce = parse_nonce(&form)?;
    let mut form = with_options(FilledForm::submitted(FIELDS, &form));
    let body = form.body();
    let scopes = parse_scopes(&mut form);
    let kind = body["kind"].as_str().and_then(Kind::parse);
    let Some((scopes, kind)) = scopes.zip(kind).filter(|_| form.faults.is_empty()) else {
        return form_page(&visitor, form, None);
    };
    let name = form.text("name").to_owned();
    let new = NewApp { name, kind, redirect_uris: redirect_uris(&form), scopes };
    let ttl = visitor.app().config.idempotency_ttl;
    let created = visitor.write(move |tx: &Tx<'_>| {
        submit_once(tx, &nonce, ttl, |tx| {
            let app = app::create(tx, new)?;
            let secret = kind.is_confidential().then(|| secret::add(tx, app.id)).transpose()?;
            Ok((app.id.to_string(), (app, secret.map(|(_, value)| value))))
        })
    });
    match form.accept(created.await)? {
        Some(Submission::Accepted((app, Some(secret)))) => show_secret(&visitor, app, &secret),
        Some(Submission::Accepted((app, None))) => {
            Ok(see_other(&format!("/admin/apps/{}", app.id)))
        }
        Some(Submission::Duplicate(id)) => {
            let id: AppId = id.parse().map_err(|_| Error::not_found())?;
            Ok(see_other(&format!("/admin/apps/{id}")))
        }
        None => form_page(&visitor, form, None),
    }
}

#[derive(Template)]
#[template(path = "admin/apps_secret.html")]
struct SecretPage {
    frame: Frame,
    app: App,
    /// The secret. It is shown only once.
    value: String,
}

/// Shows a new secret. It cannot be shown again.
pub(super) fn show_secret(visitor: &Admin, app: App, secret: &Token) -> PageResult {
    let frame = visitor.frame(t!("New app secret"), Section::OauthApps);
    render(StatusCode::OK, &SecretPage { frame, app, value: secret.reveal().to_owned() })
}

pub(super) async fn edit(visitor: Admin, PathParams(id): PathParams<AppId>) -> PageResult {
    let app = visitor.read(move |db| app::find(db, id)).await?;
    visitor.require_recent_authentication(&format!("/admin/apps/{id}/edit"))?;
    let form = with_options(FilledForm::empty(FIELDS)).without("kind").filled_from(&app);
    let form = form.with("redirect_uris", app.redirect_uris.0.join("\n"));
    form_page(&visitor, form, Some(app))
}

pub(super) async fn save(
    PathParams(id): PathParams<AppId>,
    AdminForm { visitor, form }: AdminForm,
) -> PageResult {
    let app = visitor.read(move |db| app::find(db, id)).await?;
    visitor.require_recent_authentication(&format!("/admin/apps/{id}/edit"))?;
    let mut form = with_options(FilledForm::submitted(FIELDS, &form)).without("kind");
    form.body();
    let scopes = parse_scopes(&mut form);
    if !form.faults.is_empty() {
        return form_page(&visitor, form, Some(app));
    }
    let change = AppChange {
        name: Some(form.text("name").to_owned()),
        redirect_uris: Some(redirect_uris(&form)),
        scopes,
    };
    let saved = visitor.write(move |tx| app::change(tx, id, change, &IfMatch::Absent)).await;
    match form.accept(saved)? {
        Some(_) => Ok(see_other(&format!("/admin/apps/{id}?done=saved"))),
        None => form_page(&visitor, form, Some(app)),
    }
}
