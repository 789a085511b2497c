//! The settings of the club.

use askama::Template;
use axum::Router;
use axum::routing::get;
use http::StatusCode;
use store::{Reader, Tx};

use crate::accounts::account::{self, Account, AccountChange};
use crate::accounts::permissions::AdminArea;
use crate::accounts::user::Role;
use crate::error::Code;
use crate::web::app::App;
use crate::web::form::Faults;
use crate::web::page::{self, Frame, Section};
use crate::web::visitor::{PageResult, Visitor, VisitorForm, see_other};

const SETTINGS: &str = "/admin/settings";

pub(super) fn router() -> Router<App> {
    Router::new().route(SETTINGS, get(show).post(save))
}

#[derive(Template)]
#[template(path = "admin/settings.html")]
struct SettingsPage {
    frame: Frame,
    account: Account,
    /// The values of the form.
    form: AccountChange,
    tier: &'static str,
    requests: u32,
    owner: bool,
    faults: Faults,
}

impl SettingsPage {
    fn sport(&self) -> &str {
        self.form.sport.as_deref().unwrap_or_default()
    }
}

async fn render_settings(
    visitor: &Visitor<AdminArea>,
    form: Option<AccountChange>,
    faults: Faults,
) -> PageResult {
    let account = visitor.read(|db: &Reader<'_>| account::find(db)).await?;
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let form = form.unwrap_or_else(|| AccountChange {
        name: account.name.clone(),
        timezone: account.timezone.name().to_owned(),
        sport: account.sport.clone(),
    });
    let page = SettingsPage {
        frame: visitor
            .frame("Settings", Section::Settings)
            .flash(visitor.guest.done_flash(&[("saved", "The settings were saved.")])),
        tier: account.tier.label(),
        requests: visitor.app().config.rate_limits.of(account.tier),
        owner: visitor.visit.role == Some(Role::Owner),
        account,
        form,
        faults,
    };
    Ok(page::html(status, &page)?)
}

async fn show(visitor: Visitor<AdminArea>) -> PageResult {
    render_settings(&visitor, None, Faults::default()).await
}

async fn save(posted: VisitorForm<AdminArea>) -> PageResult {
    let VisitorForm { visitor, form } = posted;
    visitor.require_recent_authentication(SETTINGS)?;
    let change = AccountChange {
        name: form.text("name").to_owned(),
        timezone: form.text("timezone").to_owned(),
        sport: form.optional("sport").map(str::to_owned),
    };
    let submitted = change.clone();
    match visitor.write(move |tx: &Tx<'_>| account::change(tx, &change)).await {
        Ok(_) => Ok(see_other(&format!("{SETTINGS}?done=saved"))),
        Err(error) if error.code == Code::ValidationFailed => {
            render_settings(&visitor, Some(submitted), (&error).into()).await
        }
        Err(error) => Err(error.into()),
    }
}
