//! The page for the payment settings.

pub mod refund_methods;
pub mod methods;

use std::collections::BTreeSet;

use askama::Template;
use axum::Router;
use axum::routing::get;
use http::StatusCode;
use kit::{Change, Currency};
use store::{Reader, Tx};

use super::api::{MAX_HOLD_MINUTES, MAX_REMINDER_OFFSET_DAYS, MAX_REMINDERS};
use super::settings::{self, PaymentSettings, PaymentSettingsChange};
use crate::accounts::permissions::MoneyManage;
use crate::error::Code;
use crate::web::app::App;
use crate::web::form::{Faults, Form, version_precondition};
use crate::web::page::{self, Frame, Section};
use crate::web::visitor::{PageResult, Visitor, VisitorForm, see_other};

const PATH: &str = "/admin/settings/payments";
/// Units for the expiry of unpaid orders: value, length in minutes, label.
const UNITS: [(&str, i64, &str); 3] =
    [("days", 24 * 60, "Days"), ("hours", 60, "Hours"), ("minutes", 1, "Minutes")];

/// `/admin/settings/payments`.
pub fn router() -> Router<App> {
    Router::new().route(PATH, get(show).post(save))
}

/// The form as submitted.
#[derive(Debug)]
struct SettingsForm {
    currency: String,
    hold: String,
    unit: String,
    before: String,
    on_day: bool,
    after: String,
    /// The version of the settings that the form showed.
    version: String,
}

impl SettingsForm {
    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            currency: text("currency").to_uppercase(),
            hold: text("hold"),
            unit: text("unit"),
            before: text("before"),
            on_day: form.is_checked("on_day"),
            after: text("after"),
            version: text("version"),
        }
    }

    fn from_settings(settings: &PaymentSettings) -> Self {
        let minutes = settings.unpaid_order_ttl_minutes;
        let divides = |(_, length, _): &&(&str, i64, &str)| {
            minutes.is_none_or(|minutes| minutes % length == 0)
        };
        let (unit, length, _) = UNITS.iter().find(divides).unwrap_or(&UNITS[0]);
        let days = |select: &dyn Fn(i64) -> Option<i64>| {
            let days: BTreeSet<_> =
                settings.reminder_days.0.iter().filter_map(|day| select(*day)).collect();
            days.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        Self {
            currency: settings.currency.code().to_owned(),
            hold: minutes.map(|minutes| (minutes / length).to_string()).unwrap_or_default(),
            unit: (*unit).to_owned(),
            before: days(&|day| (day < 0).then_some(-day)),
            on_day: settings.reminder_days.0.contains(&0),
            after: days(&|day| (day > 0).then_some(day)),
            version: settings.version.to_string(),
        }
    }

    fn is_unit(&self, unit: &str) -> bool {
        self.unit == unit
    }

    /// The change this form requests, or all its errors.
    fn to_change(&self) -> Result<PaymentSettingsChange, Faults> {
        let mut faults = Faults::default();
        let currency: Option<Currency> = self.currency.parse().ok();
        if currency.is_none() {
            faults.add("currency", "Enter a three-letter currency code, such as EUR.");
        }
        let unpaid_order_ttl_minutes = self.parse_hold(&mut faults);
        let before = parse_days("before", &self.before, &mut faults);
        let after = parse_days("after", &self.after, &mut faults);
        let on_day = self.on_day.then_some(0);
        let all = before.iter().map(|day| -day).chain(on_day).chain(after.iter().copied());
        let all: BTreeSet<_> = all.collect();
        if all.len() > MAX_REMINDERS {
            faults.add("after", format!("Choose at most {MAX_REMINDERS} reminders."));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let reminder_days = Some(all.into_iter().collect());
        Ok(PaymentSettingsChange { currency, unpaid_order_ttl_minutes, reminder_days })
    }

    /// Minutes until unpaid orders expire; cleared if the field is empty.
    fn parse_hold(&self, faults: &mut Faults) -> Change<i64> {
        let unit = UNITS.iter().find(|(name, ..)| *name == self.unit);
        let Some((_, length, _)) = unit else {
            faults.add("hold", "Choose days, hours or minutes.");
            return Change::Keep;
        };
        if self.hold.is_empty() {
            return Change::Clear;
        }
        let minutes = self.hold.parse::<i64>().ok().and_then(|count| count.checked_mul(*length));
        let valid = minutes.filter(|minutes| (1..=MAX_HOLD_MINUTES).contains(minutes));
        if valid.is_none() {
            faults.add("hold", "Enter a whole number, at most one year, or leave it empty.");
        }
        valid.map_or(Change::Keep, Change::Set)
    }
}

/// Parses a list of days such as `7, 1`.
fn parse_days(name: &str, input: &str, faults: &mut Faults) -> Vec<i64> {
    let words = input.split([',', ' ', ';']).filter(|word| !word.is_empty());
    let parsed: Option<Vec<i64>> = words
        .map(|word| word.parse().ok().filter(|day| (1..=MAX_REMINDER_OFFSET_DAYS).contains(day)))
        .collect();
    if parsed.is_none() {
        let detail = format!(
            "Enter days from 1 to {MAX_REMINDER_OFFSET_DAYS}, separated by commas, such as 7, 1."
        );
        faults.add(name, detail);
    }
    parsed.unwrap_or_default()
}

#[derive(Template)]
#[template(path = "money/settings.html")]
struct MoneyPage {
    frame: Frame,
    input: SettingsForm,
    faults: Faults,
    /// Whether card payments are set up.
    cards_enabled: bool,
    /// Whether the secret for Stripe's webhook is set, and the URL of the webhook.
    webhook_configured: bool,
    webhook_url: String,
    /// Whether a mail server is configured.
    mail_configured: bool,
    units: [(&'static str, i64, &'static str); UNITS.len()],
}

async fn render(
    visitor: &Visitor<MoneyManage>,
    input: Option<SettingsForm>,
    faults: Faults,
) -> PageResult {
    let settings = visitor.read(|db: &Reader<'_>| settings::load(db)).await?;
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let app = visitor.app();
    let saved = visitor.guest.done_flash(&[("saved", "The settings were saved.")]);
    let page = MoneyPage {
        frame: visitor.frame("Payment settings", Section::Settings).flash(saved),
        input: input.unwrap_or_else(|| SettingsForm::from_settings(&settings)),
        faults,
        cards_enabled: app.cards.is_some(),
        webhook_configured: app.cards.as_ref().is_some_and(|cards| cards.webhook_secret.is_some()),
        webhook_url: app.url("/stripe/webhook"),
        mail_configured: app.direct_mailer.has_server(),
        units: UNITS,
    };
    Ok(page::html(status, &page)?)
}

async fn show(visitor: Visitor<MoneyManage>) -> PageResult {
    render(&visitor, None, Faults::default()).await
}

async fn save(VisitorForm { visitor, form }: VisitorForm<MoneyManage>) -> PageResult {
    visitor.require_recent_authentication(PATH)?;
    let mut input = SettingsForm::read(&form);
    let change = match input.to_change() {
        Ok(change) => change,
        Err(faults) => return render(&visitor, Some(input), faults).await,
    };
    let expected = version_precondition(&input.version);
    let save = move |tx: &Tx<'_>| settings::change(tx, &expected, change);
    match visitor.write(save).await {
        Ok(_) => Ok(see_other(&format!("{PATH}?done=saved"))),
        Err(error) if error.code == Code::PreconditionFailed => {
            let current = visitor.read(|db: &Reader<'_>| settings::load(db)).await?;
            input.version = current.version.to_string();
            render(&visitor, Some(input), Faults::edit_conflict()).await
        }
        Err(error) if error.code == Code::ValidationFailed => {
            render(&visitor, Some(input), Faults::from(&error)).await
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> SettingsForm {
        SettingsForm::read(&Form::parse(query.as_bytes()).unwrap())
    }

    #[test]
    fn all_errors_are_reported_together() {
        let faults =
            read("currency=XTS&hold=-1&unit=days&before=x&after=366").to_change().unwrap_err();
        for field in ["currency", "hold", "before", "after"] {
            assert!(!faults.at(field).is_empty(), "{field}");
        }
        for hold in ["0", "366", "1.5", "99999999999999999999"] {
            let faults =
                read(&format!("currency=EUR&hold={hold}&unit=days")).to_change().unwrap_err();
            assert!(!faults.at("hold").is_empty(), "{hold}");
        }
        let too_many =
            read("currency=EUR&unit=days&before=1,2,3,4,5,6,7&after=1,2,3,4").to_change();
        assert!(!too_many.unwrap_err().at("after").is_empty());
    }

    #[test]
    fn a_valid_form_is_parsed() {
        let change = read("currency=jpy&hold=36&unit=hours&before=1,+7,7&on_day=yes&after=14")
            .to_change()
            .unwrap();
        assert_eq!(change.currency.unwrap().code(), "JPY");
        assert_eq!(change.unpaid_order_ttl_minutes, Change::Set(36 * 60));
        assert_eq!(change.reminder_days, Some(vec![-7, -1, 0, 14]));
        let never = read("currency=EUR&unit=days").to_change().unwrap();
        assert_eq!(
            (never.unpaid_order_ttl_minutes, never.reminder_days),
            (Change::Clear, Some(vec![]))
        );
    }
}
