//! Registering an app, and changing it.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::secret::Token;
use kit::word::Word;
use store::Tx;

use super::apps::kind_in_words;
use super::shared::{Admin, show};
use crate::accounts::permits::AdminArea;
use crate::accounts::rights::{ScopeName, Scopes};
use crate::error::{Code, Error};
use crate::expected::Expected;
use crate::ids::AppId;
use crate::oauth::app::{self, App, AppChange, Kind, NewApp};
use crate::oauth::secret;
use crate::web::form::{Faults, Form};
use crate::web::once::{Once, new_nonce, nonce, once};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Posted, see_other};

/// What was typed.
#[derive(Debug, Default)]
struct Typed {
    name: String,
    kind: Option<Kind>,
    redirect_uris: String,
    scopes: Vec<String>,
}

impl Typed {
    fn read(form: &Form) -> Self {
        Self {
            name: form.text("name").to_owned(),
            kind: Kind::parse(form.text("kind")),
            redirect_uris: form.get("redirect_uris").unwrap_or_default().to_owned(),
            scopes: form.all("scopes").into_iter().map(str::to_owned).collect(),
        }
    }

    fn of(app: &App) -> Self {
        Self {
            name: app.name.clone(),
            kind: Some(app.kind),
            redirect_uris: app.redirect_uris.0.join("\n"),
            scopes: app.scopes.names().map(|scope| scope.to_string()).collect(),
        }
    }

    fn uris(&self) -> Vec<String> {
        let lines = self.redirect_uris.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    }

    fn scopes(&self, faults: &mut Faults) -> Scopes {
        let named: Option<Vec<_>> = self.scopes.iter().map(|word| ScopeName::parse(word)).collect();
        match named {
            None => faults.add("scopes", "One of these rights does not exist. Choose again."),
            Some(named) if named.is_empty() => faults.add("scopes", "Choose at least one."),
            Some(named) => return Scopes::of(named),
        }
        Scopes::of([])
    }

    fn has_scope(&self, word: &str) -> bool {
        self.scopes.iter().any(|scope| scope == word)
    }
}

#[derive(Template)]
#[template(path = "admin/apps_form.html")]
struct FormPage {
    frame: Frame,
    typed: Typed,
    faults: Faults,
    nonce: String,
    /// The app that is changed; none for a new one.
    app: Option<App>,
    kinds: Vec<(&'static str, &'static str, &'static str, bool)>,
    scopes: Vec<(&'static str, &'static str)>,
}

fn form_page(
    visitor: &Admin,
    typed: Typed,
    faults: Faults,
    nonce: String,
    app: Option<App>,
) -> Outcome<Response> {
    let kinds = Kind::ALL.iter().map(|(kind, word)| {
        let (label, about) = kind_in_words(*kind);
        (*word, label, about, typed.kind == Some(*kind))
    });
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let title = if app.is_some() { "Change the app" } else { "Register an app" };
    let page = FormPage {
        frame: visitor.frame(title, Section::OauthApps),
        kinds: kinds.collect(),
        scopes: ScopeName::ALL.iter().map(|(scope, word)| (*word, scope.allows())).collect(),
        typed,
        faults,
        nonce,
        app,
    };
    show(status, &page)
}

pub(super) async fn new(visitor: Admin) -> Outcome<Response> {
    visitor.fresh("/admin/apps/new")?;
    let nonce = new_nonce(visitor.app());
    form_page(&visitor, Typed::default(), Faults::default(), nonce, None)
}

pub(super) async fn create(Posted { visitor, form }: Posted<AdminArea>) -> Outcome<Response> {
    visitor.fresh("/admin/apps/new")?;
    let (typed, nonce) = (Typed::read(&form), nonce(&form)?);
    let mut faults = Faults::default();
    let scopes = typed.scopes(&mut faults);
    if typed.kind.is_none() {
        faults.add("kind", "Choose where the app runs.");
    }
    let Some(kind) = typed.kind.filter(|_| faults.is_empty()) else {
        return form_page(&visitor, typed, faults, nonce.name, None);
    };
    let new = NewApp { name: typed.name.clone(), kind, redirect_uris: typed.uris(), scopes };
    let (kept, name) = (visitor.app().config.idempotency_ttl, nonce.clone());
    let made = visitor.write(move |tx: &Tx<'_>| {
        once(tx, &name, kept, |tx| {
            let app = app::create(tx, new)?;
            let secret = kind.is_confidential().then(|| secret::add(tx, app.id)).transpose()?;
            Ok((app.id.to_string(), (app, secret.map(|(_, value)| value))))
        })
    });
    match made.await {
        Ok(Once::Now((app, Some(secret)))) => show_secret(&visitor, app, &secret),
        Ok(Once::Now((app, None))) => Ok(see_other(&format!("/admin/apps/{}", app.id))),
        Ok(Once::Before(id)) => {
            let id: AppId = id.parse().map_err(|_| Error::not_found())?;
            Ok(see_other(&format!("/admin/apps/{id}")))
        }
        Err(error) if error.code == Code::ValidationFailed => {
            form_page(&visitor, typed, Faults::from(&error), nonce.name, None)
        }
        Err(error) => Err(error.into()),
    }
}

#[derive(Template)]
#[template(path = "admin/apps_secret.html")]
struct SecretPage {
    frame: Frame,
    app: App,
    /// Nobody gets to see it a second time.
    value: String,
}

/// Shows a secret, this once.
pub(super) fn show_secret(visitor: &Admin, app: App, secret: &Token) -> Outcome<Response> {
    let frame = visitor.frame("The app’s secret", Section::OauthApps);
    show(StatusCode::OK, &SecretPage { frame, app, value: secret.reveal().to_owned() })
}

pub(super) async fn edit(visitor: Admin, At(id): At<AppId>) -> Outcome<Response> {
    let app = visitor.read(move |db| app::find(db, id)).await?;
    visitor.fresh(&format!("/admin/apps/{id}/edit"))?;
    form_page(&visitor, Typed::of(&app), Faults::default(), String::new(), Some(app))
}

pub(super) async fn save(
    At(id): At<AppId>,
    Posted { visitor, form }: Posted<AdminArea>,
) -> Outcome<Response> {
    let app = visitor.read(move |db| app::find(db, id)).await?;
    visitor.fresh(&format!("/admin/apps/{id}/edit"))?;
    let typed = Typed::read(&form);
    let mut faults = Faults::default();
    let scopes = typed.scopes(&mut faults);
    if !faults.is_empty() {
        return form_page(&visitor, typed, faults, String::new(), Some(app));
    }
    let change = AppChange {
        name: Some(typed.name.clone()),
        redirect_uris: Some(typed.uris()),
        scopes: Some(scopes),
    };
    let saved = visitor.write(move |tx| app::change(tx, id, change, &Expected::Anything)).await;
    match saved {
        Ok(_) => Ok(see_other(&format!("/admin/apps/{id}?done=saved"))),
        Err(error) if error.code == Code::ValidationFailed => {
            form_page(&visitor, typed, Faults::from(&error), String::new(), Some(app))
        }
        Err(error) => Err(error.into()),
    }
}
