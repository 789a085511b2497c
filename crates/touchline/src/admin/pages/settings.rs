//! The settings of the club.

use store::{Reader, Tx};

use super::shared::{Admin, AdminForm};
use crate::accounts::account::{self, Account, AccountChange};
use crate::accounts::user::Role;
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;

const SETTINGS: &str = "/admin/settings";
const FIELDS: &[Field] = &[
    Field::line("name", "Name", 120).required("Enter a name."),
    Field::line("sport", "Sport", 60),
    Field::line("timezone", "Time zone", 0)
        .hint("For example, Europe/Lisbon or America/Chicago.")
        .required("Enter a time zone.")
        .attributes("autocapitalize=off spellcheck=false"),
];

pub(super) fn router() -> Router<App> {
    Router::new().route(SETTINGS, get(show).post(save))
}

#[derive(Template)]
#[template(path = "admin/settings.html")]
struct SettingsPage {
    frame: Frame,
    account: Account,
    form: FilledForm,
    tier: &'static str,
    requests: u32,
    owner: bool,
}

async fn render_settings(visitor: &Admin, form: Option<FilledForm>) -> PageResult {
    let account = visitor.read(|db: &Reader<'_>| account::find(db)).await?;
    let page = SettingsPage {
        frame: visitor
            .frame(t!("Settings"), Section::Settings)
            .flash(visitor.guest.done_flash(&[("saved", mark!("The settings were saved."))])),
        tier: t!(account.tier.label()),
        requests: visitor.app().config.rate_limits.of(account.tier),
        owner: visitor.visit.role == Some(Role::Owner),
        form: form.unwrap_or_else(|| {
            FilledForm::empty(FIELDS)
                .with("name", &*account.name)
                .with("sport", account.sport.as_deref().unwrap_or_default())
                .with("timezone", account.timezone.name())
        }),
        account,
    };
    render(page.form.status(), &page)
}

async fn show(visitor: Admin) -> PageResult {
    render_settings(&visitor, None).await
}

async fn save(posted: AdminForm) -> PageResult {
    let AdminForm { visitor, form } = posted;
    visitor.require_recent_authentication(SETTINGS)?;
    let mut form = FilledForm::submitted(FIELDS, &form);
    let change = AccountChange {
        name: form.text("name").to_owned(),
        timezone: form.text("timezone").to_owned(),
        sport: Some(form.text("sport")).filter(|sport| !sport.is_empty()).map(str::to_owned),
    };
    let save = move |tx: &Tx<'_>| account::change(tx, &change);
    if form.accept(visitor.write(save).await)?.is_some() {
        return Ok(see_other(&format!("{SETTINGS}?done=saved")));
    }
    render_settings(&visitor, Some(form)).await
}
