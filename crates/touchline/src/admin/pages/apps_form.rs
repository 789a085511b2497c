//! The form to register or edit an app.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::secret::Token;
use kit::string_enum::StringEnum;
use store::Tx;

use super::apps::describe_kind;
use super::shared::{Admin, show};
use crate::accounts::permissions::AdminArea;
use crate::error::{Code, Error};
use crate::ids::AppId;
use crate::if_match::IfMatch;
use crate::oauth::app::{self, App, AppChange, Kind, NewApp};
use crate::oauth::secret;
use crate::rights::{ScopeName, Scopes};
use crate::web::form::{Faults, Form};
use crate::web::form_dedup::{Submission, new_nonce, parse_nonce, submit_once};
use crate::web::page::{Frame, Section};
use crate::web::path::PathParams;
use crate::web::visitor::{PageResult, VisitorForm, see_other};

/// The form as submitted.
#[derive(Debug, Default)]
struct AppForm {
    name: String,
    kind: Option<Kind>,
    redirect_uris: String,
    scopes: Vec<String>,
}

impl AppForm {
    fn from_form(form: &Form) -> Self {
        Self {
            name: form.text("name").to_owned(),
            kind: Kind::parse(form.text("kind")),
            redirect_uris: form.get("redirect_uris").unwrap_or_default().to_owned(),
            scopes: form.get_all("scopes").into_iter().map(str::to_owned).collect(),
        }
    }

    fn from_app(app: &App) -> Self {
        Self {
            name: app.name.clone(),
            kind: Some(app.kind),
            redirect_uris: app.redirect_uris.0.join("\n"),
            scopes: app.scopes.names().map(|scope| scope.to_string()).collect(),
        }
    }

    fn redirect_uris(&self) -> Vec<String> {
        let lines = self.redirect_uris.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    }

    fn scopes(&self, faults: &mut Faults) -> Scopes {
        let parsed: Option<Vec<_>> =
            self.scopes.iter().map(|name| ScopeName::parse(name)).collect();
        match parsed {
            None => faults.add("scopes", "One of these permissions does not exist. Choose again."),
            Some(scopes) if scopes.is_empty() => {
                faults.add("scopes", "Choose at least one permission.");
            }
            Some(scopes) => return Scopes::of(scopes),
        }
        Scopes::of([])
    }

    fn has_scope(&self, name: &str) -> bool {
        self.scopes.iter().any(|scope| scope == name)
    }
}

#[derive(Template)]
#[template(path = "admin/apps_form.html")]
struct FormPage {
    frame: Frame,
    form: AppForm,
    faults: Faults,
    nonce: String,
    /// The app to edit; none for a new one.
    app: Option<App>,
    kinds: Vec<(&'static str, &'static str, &'static str, bool)>,
    scopes: Vec<(&'static str, &'static str)>,
}

fn form_page(
    visitor: &Admin,
    app_form: AppForm,
    faults: Faults,
    nonce: String,
    app: Option<App>,
) -> PageResult<Response> {
    let kinds = Kind::ALL.iter().map(|(kind, name)| {
        let (label, description) = describe_kind(*kind);
        (*name, label, description, app_form.kind == Some(*kind))
    });
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let title = if app.is_some() { "Edit app" } else { "Register an app" };
    let page = FormPage {
        frame: visitor.frame(title, Section::OauthApps),
        kinds: kinds.collect(),
        scopes: ScopeName::ALL.iter().map(|(scope, name)| (*name, scope.description())).collect(),
        form: app_form,
        faults,
        nonce,
        app,
    };
    show(status, &page)
}

pub(super) async fn new(visitor: Admin) -> PageResult<Response> {
    visitor.require_recent_authentication("/admin/apps/new")?;
    let nonce = new_nonce(visitor.app());
    form_page(&visitor, AppForm::default(), Faults::default(), nonce, None)
}

pub(super) async fn create(
    VisitorForm { visitor, form }: VisitorForm<AdminArea>,
) -> PageResult<Response> {
    visitor.require_recent_authentication("/admin/apps/new")?;
    let (app_form, nonce) = (AppForm::from_form(&form), parse_nonce(&form)?);
    let mut faults = Faults::default();
    let scopes = app_form.scopes(&mut faults);
    if app_form.kind.is_none() {
        faults.add("kind", "Choose where the app runs.");
    }
    let Some(kind) = app_form.kind.filter(|_| faults.is_empty()) else {
        return form_page(&visitor, app_form, faults, nonce.value, None);
    };
    let new = NewApp {
        name: app_form.name.clone(),
        kind,
        redirect_uris: app_form.redirect_uris(),
        scopes,
    };
    let (ttl, name) = (visitor.app().config.idempotency_ttl, nonce.clone());
    let created = visitor.write(move |tx: &Tx<'_>| {
        submit_once(tx, &name, ttl, |tx| {
            let app = app::create(tx, new)?;
            let secret = kind.is_confidential().then(|| secret::add(tx, app.id)).transpose()?;
            Ok((app.id.to_string(), (app, secret.map(|(_, value)| value))))
        })
    });
    match created.await {
        Ok(Submission::Accepted((app, Some(secret)))) => show_secret(&visitor, app, &secret),
        Ok(Submission::Accepted((app, None))) => Ok(see_other(&format!("/admin/apps/{}", app.id))),
        Ok(Submission::Duplicate(id)) => {
            let id: AppId = id.parse().map_err(|_| Error::not_found())?;
            Ok(see_other(&format!("/admin/apps/{id}")))
        }
        Err(error) if error.code == Code::ValidationFailed => {
            form_page(&visitor, app_form, Faults::from(&error), nonce.value, None)
        }
        Err(error) => Err(error.into()),
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
pub(super) fn show_secret(visitor: &Admin, app: App, secret: &Token) -> PageResult<Response> {
    let frame = visitor.frame("New app secret", Section::OauthApps);
    show(StatusCode::OK, &SecretPage { frame, app, value: secret.reveal().to_owned() })
}

pub(super) async fn edit(
    visitor: Admin,
    PathParams(id): PathParams<AppId>,
) -> PageResult<Response> {
    let app = visitor.read(move |db| app::find(db, id)).await?;
    visitor.require_recent_authentication(&format!("/admin/apps/{id}/edit"))?;
    form_page(&visitor, AppForm::from_app(&app), Faults::default(), String::new(), Some(app))
}

pub(super) async fn save(
    PathParams(id): PathParams<AppId>,
    VisitorForm { visitor, form }: VisitorForm<AdminArea>,
) -> PageResult<Response> {
    let app = visitor.read(move |db| app::find(db, id)).await?;
    visitor.require_recent_authentication(&format!("/admin/apps/{id}/edit"))?;
    let app_form = AppForm::from_form(&form);
    let mut faults = Faults::default();
    let scopes = app_form.scopes(&mut faults);
    if !faults.is_empty() {
        return form_page(&visitor, app_form, faults, String::new(), Some(app));
    }
    let change = AppChange {
        name: Some(app_form.name.clone()),
        redirect_uris: Some(app_form.redirect_uris()),
        scopes: Some(scopes),
    };
    let saved = visitor.write(move |tx| app::change(tx, id, change, &IfMatch::Absent)).await;
    match saved {
        Ok(_) => Ok(see_other(&format!("/admin/apps/{id}?done=saved"))),
        Err(error) if error.code == Code::ValidationFailed => {
            form_page(&visitor, app_form, Faults::from(&error), String::new(), Some(app))
        }
        Err(error) => Err(error.into()),
    }
}
