//! The settings of the club.

use askama::Template;
use axum::Router;
use axum::routing::get;
use http::StatusCode;
use store::{Reader, Tx};

use crate::accounts::account::{self, Account, AccountChange};
use crate::accounts::permits::{AdminArea, Ownership};
use crate::accounts::user::Role;
use crate::app::App;
use crate::demo;
use crate::error::{Code, Error};
use crate::web::form::Faults;
use crate::web::page::{self, Frame, Section};
use crate::web::visitor::{Outcome, Posted, Visitor, see_other};

const SETTINGS: &str = "/admin/settings";
const DEMO: &str = "/admin/settings/demo";

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(SETTINGS, get(show).post(save))
        .route(DEMO, get(ask_removal).post(remove_demo))
}

#[derive(Template)]
#[template(path = "admin/settings.html")]
struct Settings {
    frame: Frame,
    account: Account,
    /// What the form says.
    filled: AccountChange,
    tier: &'static str,
    requests: u32,
    owner: bool,
    faults: Faults,
}

impl Settings {
    fn sport(&self) -> &str {
        self.filled.sport.as_deref().unwrap_or_default()
    }
}

async fn settings(
    visitor: &Visitor<AdminArea>,
    filled: Option<AccountChange>,
    faults: Faults,
) -> Outcome {
    let account = visitor.read(|db: &Reader<'_>| account::find(db)).await?;
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let filled = filled.unwrap_or_else(|| AccountChange {
        name: account.name.clone(),
        timezone: account.timezone.name().to_owned(),
        sport: account.sport.clone(),
    });
    let page = Settings {
        frame: visitor
            .frame("Settings", Section::Settings)
            .flash(visitor.guest.done(&[("saved", "Saved.")])),
        tier: account.tier.label(),
        requests: visitor.app().config.rate_limits.of(account.tier),
        owner: visitor.visit.role == Some(Role::Owner),
        account,
        filled,
        faults,
    };
    Ok(page::html(status, &page)?)
}

async fn show(visitor: Visitor<AdminArea>) -> Outcome {
    settings(&visitor, None, Faults::default()).await
}

async fn save(posted: Posted<AdminArea>) -> Outcome {
    let Posted { visitor, form } = posted;
    visitor.fresh(SETTINGS)?;
    let wanted = AccountChange {
        name: form.text("name").to_owned(),
        timezone: form.text("timezone").to_owned(),
        sport: form.maybe("sport").map(str::to_owned),
    };
    let change = wanted.clone();
    match visitor.write(move |tx: &Tx<'_>| account::change(tx, &change)).await {
        Ok(_) => Ok(see_other(&format!("{SETTINGS}?done=saved"))),
        Err(error) if error.code == Code::ValidationFailed => {
            settings(&visitor, Some(wanted), (&error).into()).await
        }
        Err(error) => Err(error.into()),
    }
}

#[derive(Template)]
#[template(path = "admin/settings_demo.html")]
struct Demo {
    frame: Frame,
}

/// Whether the pages are those of the demo club; nothing else can be removed here.
async fn is_demo(visitor: &Visitor<Ownership>) -> Outcome<()> {
    let account = visitor.read(|db: &Reader<'_>| account::find(db)).await?;
    if account.demo && account.id == demo::ACCOUNT {
        Ok(())
    } else {
        Err(Error::not_found().into())
    }
}

/// Says what will happen.
async fn ask_removal(visitor: Visitor<Ownership>) -> Outcome {
    is_demo(&visitor).await?;
    visitor.fresh(DEMO)?;
    let frame = visitor.frame("Remove the demo club?", Section::Settings);
    Ok(page::html(StatusCode::OK, &Demo { frame })?)
}

async fn remove_demo(posted: Posted<Ownership>) -> Outcome {
    let visitor = posted.visitor;
    is_demo(&visitor).await?;
    visitor.fresh(DEMO)?;
    demo::remove(&visitor.app().db, &visitor.app().config.data).await?;
    Ok(see_other("/account"))
}
