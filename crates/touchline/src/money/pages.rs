//! How the club handles money, as a page of its settings.

pub mod giving;
pub mod methods;

use std::collections::BTreeSet;

use askama::Template;
use axum::Router;
use axum::routing::get;
use http::StatusCode;
use kit::{Change, Currency};
use store::{Reader, Tx};

use super::api::{FARTHEST, LONGEST_HOLD, REMINDERS};
use super::settings::{self, MoneySettings, MoneySettingsChange};
use crate::accounts::permits::MoneyManage;
use crate::app::App;
use crate::error::Code;
use crate::web::form::{Faults, Form, shown_version};
use crate::web::page::{self, Frame, Section};
use crate::web::visitor::{Outcome, Posted, Visitor, see_other};

const MONEY: &str = "/admin/settings/money";
/// How long unpaid orders wait, as one chooses it.
const UNITS: [(&str, i64, &str); 3] =
    [("days", 24 * 60, "Days"), ("hours", 60, "Hours"), ("minutes", 1, "Minutes")];

/// `/admin/settings/money`.
pub fn router() -> Router<App> {
    Router::new().route(MONEY, get(show).post(save))
}

/// What was typed.
#[derive(Debug)]
struct Typed {
    currency: String,
    hold: String,
    unit: String,
    before: String,
    on_day: bool,
    after: String,
    /// The version of the settings that the form showed.
    version: String,
}

impl Typed {
    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            currency: text("currency").to_uppercase(),
            hold: text("hold"),
            unit: text("unit"),
            before: text("before"),
            on_day: form.ticked("on_day"),
            after: text("after"),
            version: text("version"),
        }
    }

    fn of(settings: &MoneySettings) -> Self {
        let minutes = settings.order_hold_minutes;
        let fits =
            |(_, length, _): &&(&str, i64, &str)| minutes.is_none_or(|all| all % length == 0);
        let (unit, length, _) = UNITS.iter().find(fits).unwrap_or(&UNITS[0]);
        let days = |of: &dyn Fn(i64) -> Option<i64>| {
            let days: BTreeSet<_> =
                settings.reminder_days.0.iter().filter_map(|day| of(*day)).collect();
            days.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        Self {
            currency: settings.currency.code().to_owned(),
            hold: minutes.map(|all| (all / length).to_string()).unwrap_or_default(),
            unit: (*unit).to_owned(),
            before: days(&|day| (day < 0).then_some(-day)),
            on_day: settings.reminder_days.0.contains(&0),
            after: days(&|day| (day > 0).then_some(day)),
            version: settings.version.to_string(),
        }
    }

    fn is_in(&self, unit: &str) -> bool {
        self.unit == unit
    }

    /// The change that is meant, or everything that is wrong.
    fn change(&self) -> Result<MoneySettingsChange, Faults> {
        let mut faults = Faults::default();
        let currency: Option<Currency> = self.currency.parse().ok();
        if currency.is_none() {
            faults.add("currency", "Write the three letters of a currency, such as EUR.");
        }
        let order_hold_minutes = self.hold(&mut faults);
        let before = days("before", &self.before, &mut faults);
        let after = days("after", &self.after, &mut faults);
        let on_day = self.on_day.then_some(0);
        let all = before.iter().map(|day| -day).chain(on_day).chain(after.iter().copied());
        let all: BTreeSet<_> = all.collect();
        if all.len() > REMINDERS {
            faults.add("after", format!("Families can be reminded {REMINDERS} times at most."));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let reminder_days = Some(all.into_iter().collect());
        Ok(MoneySettingsChange { currency, order_hold_minutes, reminder_days })
    }

    /// How many minutes unpaid orders wait; for ever if nothing was typed.
    fn hold(&self, faults: &mut Faults) -> Change<i64> {
        let unit = UNITS.iter().find(|(name, ..)| *name == self.unit);
        let Some((_, length, _)) = unit else {
            faults.add("hold", "Choose days, hours or minutes.");
            return Change::Keep;
        };
        if self.hold.is_empty() {
            return Change::Clear;
        }
        let minutes = self.hold.parse::<i64>().ok().and_then(|count| count.checked_mul(*length));
        let fitting = minutes.filter(|minutes| (1..=LONGEST_HOLD).contains(minutes));
        if fitting.is_none() {
            faults.add("hold", "Write a whole number, a year at most, or leave it empty.");
        }
        fitting.map_or(Change::Keep, Change::Set)
    }
}

/// Days as they are typed: `7, 1`.
fn days(name: &str, typed: &str, faults: &mut Faults) -> Vec<i64> {
    let words = typed.split([',', ' ', ';']).filter(|word| !word.is_empty());
    let read: Option<Vec<i64>> =
        words.map(|word| word.parse().ok().filter(|day| (1..=FARTHEST).contains(day))).collect();
    if read.is_none() {
        let detail = format!("Write days from 1 to {FARTHEST}, with commas between, such as 7, 1.");
        faults.add(name, detail);
    }
    read.unwrap_or_default()
}

#[derive(Template)]
#[template(path = "money/settings.html")]
struct MoneyPage {
    frame: Frame,
    typed: Typed,
    faults: Faults,
    /// Whether cards are taken, whether the provider's calls are believed, and where it calls.
    cards: bool,
    called: bool,
    calls: String,
    mail: bool,
    units: [(&'static str, i64, &'static str); UNITS.len()],
}

async fn page(visitor: &Visitor<MoneyManage>, typed: Option<Typed>, faults: Faults) -> Outcome {
    let kept = visitor.read(|db: &Reader<'_>| settings::of(db)).await?;
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let app = visitor.app();
    let saved = visitor.guest.done(&[("saved", "Saved.")]);
    let page = MoneyPage {
        frame: visitor.frame("Money", Section::Settings).flash(saved),
        typed: typed.unwrap_or_else(|| Typed::of(&kept)),
        faults,
        cards: app.cards.is_some(),
        called: app.cards.as_ref().is_some_and(|cards| cards.webhook_secret.is_some()),
        calls: app.url("/stripe/webhook"),
        mail: app.courier.has_server(),
        units: UNITS,
    };
    Ok(page::html(status, &page)?)
}

async fn show(visitor: Visitor<MoneyManage>) -> Outcome {
    page(&visitor, None, Faults::default()).await
}

async fn save(Posted { visitor, form }: Posted<MoneyManage>) -> Outcome {
    visitor.fresh(MONEY)?;
    let mut typed = Typed::read(&form);
    let change = match typed.change() {
        Ok(change) => change,
        Err(faults) => return page(&visitor, Some(typed), faults).await,
    };
    let expected = shown_version(&typed.version);
    let save = move |tx: &Tx<'_>| settings::change(tx, &expected, change);
    match visitor.write(save).await {
        Ok(_) => Ok(see_other(&format!("{MONEY}?done=saved"))),
        Err(error) if error.code == Code::PreconditionFailed => {
            let now = visitor.read(|db: &Reader<'_>| settings::of(db)).await?;
            typed.version = now.version.to_string();
            page(&visitor, Some(typed), Faults::changed_meanwhile()).await
        }
        Err(error) if error.code == Code::ValidationFailed => {
            page(&visitor, Some(typed), Faults::from(&error)).await
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Typed {
        Typed::read(&Form::parse(query.as_bytes()).unwrap())
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let faults =
            read("currency=XTS&hold=-1&unit=days&before=x&after=366").change().unwrap_err();
        for field in ["currency", "hold", "before", "after"] {
            assert!(!faults.at(field).is_empty(), "{field}");
        }
        for hold in ["0", "366", "1.5", "99999999999999999999"] {
            let faults = read(&format!("currency=EUR&hold={hold}&unit=days")).change().unwrap_err();
            assert!(!faults.at("hold").is_empty(), "{hold}");
        }
        let many = read("currency=EUR&unit=days&before=1,2,3,4,5,6,7&after=1,2,3,4").change();
        assert!(!many.unwrap_err().at("after").is_empty());
    }

    #[test]
    fn what_is_kept_is_what_was_typed() {
        let change = read("currency=jpy&hold=36&unit=hours&before=1,+7,7&on_day=yes&after=14")
            .change()
            .unwrap();
        assert_eq!(change.currency.unwrap().code(), "JPY");
        assert_eq!(change.order_hold_minutes, Change::Set(36 * 60));
        assert_eq!(change.reminder_days, Some(vec![-7, -1, 0, 14]));
        let never = read("currency=EUR&unit=days").change().unwrap();
        assert_eq!((never.order_hold_minutes, never.reminder_days), (Change::Clear, Some(vec![])));
    }
}
