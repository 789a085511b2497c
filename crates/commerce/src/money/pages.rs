//! The page for the payment settings, and the download of the ledger.

pub mod refund_methods;
pub mod methods;
pub mod teams;

use std::borrow::Borrow;
use std::collections::BTreeSet;

use super::api::{MAX_HOLD_MINUTES, MAX_REMINDER_OFFSET_DAYS, MAX_REMINDERS};
use super::export::LedgerTable;
use super::settings::{self, PaymentSettings, PaymentSettingsChange};
use crate::accounts::permissions::AdminArea;
use crate::card_provider::Cards;
use crate::i18n::{Locale, format};
use crate::money::MoneyManage;
use crate::prelude::*;
use crate::web::export::ExportSource;
use crate::web::form::{Choice, Field, FilledForm};
use crate::web::page;
use crate::web::prelude::*;

const PATH: &str = "/admin/settings/payments";
/// Units for the expiry of unpaid orders: value and length in minutes.
const UNITS: [(&str, i64); 3] = [("days", 24 * 60), ("hours", 60), ("minutes", 1)];

const FIELDS: &[Field] = &[
    Field::currency("currency", "Currency")
        .hint("Three-letter code, such as EUR, USD or JPY.")
        .required(""),
    Field::level_pair(
        "Time limit for unpaid orders",
        &[
            Field::number_from("hold", "Duration", (1, MAX_HOLD_MINUTES), INVALID_HOLD)
                .key("unpaid_order_ttl_minutes"),
            Field::select(
                "unit",
                "Unit",
                &[
                    Choice::new("days", "Days"),
                    Choice::new("hours", "Hours"),
                    Choice::new("minutes", "Minutes"),
                ],
            )
            .required("Choose days, hours or minutes.")
            .page_only(),
        ],
    )
    .hint("Leave it empty for no limit.")
    .named("time_limit"),
    Field::line("before", "Days before the due date", 0)
        .hint("Separated by commas, such as 7, 1. Leave it empty for none.")
        .attributes("inputmode=numeric")
        .page_only(),
    Field::check("on_day", "On the due date", "").page_only(),
    Field::line("after", "Days after the due date", 0)
        .hint("Separated by commas, such as 1, 14. Leave it empty for none.")
        .attributes("inputmode=numeric")
        .page_only(),
];
const INVALID_HOLD: &str = mark!("Enter a whole number, at most one year, or leave it empty.");

/// `/admin/settings/payments`.
pub fn router() -> Router<App> {
    Router::new().route(PATH, get(show).post(save)).route("/admin/exports/ledger.csv", get(export))
}

/// An amount for display. Generic because templates pass references.
pub fn money(minor: impl Borrow<i64>, currency: impl Borrow<Currency>) -> Money {
    Money { minor: *minor.borrow(), currency: *currency.borrow() }
}

/// An amount in the reader's language.
pub fn money_text(minor: impl Borrow<i64>, currency: impl Borrow<Currency>) -> String {
    format::money(Locale::current_or_english(), money(minor, currency))
}

/// Renders a page. Its form redirects to the payment provider if there is one, so the content security policy must
/// allow the provider's origin.
pub fn render_with_cards<T: Template>(cards: Option<&Cards>, page: &T) -> PageResult {
    match cards.map(|cards| cards.provider.origin()) {
        Some(origin) => Ok(page::html_with_form_action(StatusCode::OK, page, origin)?),
        None => render(StatusCode::OK, page),
    }
}

/// The form with the current settings.
fn filled_from(settings: &PaymentSettings) -> FilledForm {
    let minutes = settings.unpaid_order_ttl_minutes;
    let divides = |(_, length): &&(&str, i64)| minutes.is_none_or(|minutes| minutes % length == 0);
    let (unit, length) = UNITS.iter().find(divides).unwrap_or(&UNITS[0]);
    let days = |select: &dyn Fn(i64) -> Option<i64>| {
        let days: BTreeSet<_> =
            settings.reminder_days.0.iter().filter_map(|day| select(*day)).collect();
        days.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    let hold = minutes.map(|minutes| (minutes / length).to_string());
    let form = FilledForm::empty(FIELDS)
        .with("currency", settings.currency.code())
        .with("hold", hold.unwrap_or_default())
        .with("unit", *unit)
        .with("before", days(&|day| (day < 0).then_some(-day)))
        .with("after", days(&|day| (day > 0).then_some(day)))
        .version(settings.version);
    let form =
        if settings.reminder_days.0.contains(&0) { form.with("on_day", "yes") } else { form };
    form.fingerprint()
}

/// The change this form requests; `None` after adding errors.
fn to_change(form: &mut FilledForm) -> Option<PaymentSettingsChange> {
    let mut body = form.body();
    let unit = UNITS.iter().find(|(name, _)| *name == form.text("unit"));
    if let Some((count, (_, length))) = body["unpaid_order_ttl_minutes"].as_i64().zip(unit) {
        let minutes = count.saturating_mul(*length);
        if minutes > MAX_HOLD_MINUTES {
            form.faults.add("hold", t!(INVALID_HOLD));
        }
        body["unpaid_order_ttl_minutes"] = json!(minutes.min(MAX_HOLD_MINUTES));
    }
    let before = parse_days("before", form).into_iter().map(|day| -day);
    let on_day = form.is_checked("on_day").then_some(0);
    let after = parse_days("after", form);
    let all: BTreeSet<_> = before.chain(on_day).chain(after).collect();
    if all.len() > MAX_REMINDERS {
        form.faults.add("after", t!("Choose at most {max} reminders.", max = MAX_REMINDERS));
    }
    body["reminder_days"] = json!(all);
    form.finish(body)
}

/// Parses a list of days such as `7, 1`.
fn parse_days(name: &str, form: &mut FilledForm) -> Vec<i64> {
    let words = form.text(name).split([',', ' ', ';']).filter(|word| !word.is_empty());
    let parsed: Option<Vec<i64>> = words
        .map(|word| word.parse().ok().filter(|day| (1..=MAX_REMINDER_OFFSET_DAYS).contains(day)))
        .collect();
    if parsed.is_none() {
        let max = MAX_REMINDER_OFFSET_DAYS;
        let error = t!("Enter days from 1 to {max}, separated by commas, such as 7, 1.", max);
        form.faults.add(name, error);
    }
    parsed.unwrap_or_default()
}

#[derive(Template)]
#[template(path = "money/settings.html")]
struct MoneyPage {
    frame: Frame,
    form: FilledForm,
    /// Whether card payments are set up.
    cards_enabled: bool,
    /// Whether the secret for Stripe's webhook is set, and the URL of the webhook.
    webhook_configured: bool,
    webhook_url: String,
    /// Whether a mail server is configured.
    mail_configured: bool,
}

fn show_form(visitor: &Visitor<MoneyManage>, form: FilledForm) -> PageResult {
    let app = visitor.app();
    let saved = visitor.guest.done_flash(&[("saved", mark!("The settings were saved."))]);
    let page = MoneyPage {
        frame: visitor.frame(t!("Payment settings"), Section::Settings).flash(saved),
        form,
        cards_enabled: app.cards.is_some(),
        webhook_configured: app.cards.as_ref().is_some_and(|cards| cards.webhook_secret.is_some()),
        webhook_url: app.url("/stripe/webhook"),
        mail_configured: app.direct_mailer.has_server(),
    };
    render(page.form.status(), &page)
}

async fn show(visitor: Visitor<MoneyManage>) -> PageResult {
    let settings = visitor.read(|db: &Reader<'_>| settings::load(db)).await?;
    show_form(&visitor, filled_from(&settings))
}

async fn save(VisitorForm { visitor, form }: VisitorForm<MoneyManage>) -> PageResult {
    visitor.require_recent_authentication(PATH)?;
    let mut form = FilledForm::submitted(FIELDS, &form);
    if let Some(change) = to_change(&mut form) {
        let expected = form.expected_version();
        let save = move |tx: &Tx<'_>| settings::change(tx, &expected, change);
        match visitor.write(save).await {
            Err(error) if error.code == Code::PreconditionFailed => {
                let current = visitor.read(|db: &Reader<'_>| settings::load(db)).await?;
                form.combine_with(&filled_from(&current));
            }
            result => {
                if form.accept(result)?.is_some() {
                    return Ok(see_other(&format!("{PATH}?done=saved")));
                }
            }
        }
    }
    show_form(&visitor, form)
}

async fn export(visitor: Visitor<AdminArea>) -> PageResult<Response> {
    let file = Download { table: LedgerTable::default(), bom: true };
    Ok(file.send(ExportSource::of_club(&visitor)?, "ledger.csv").await?)
}

#[cfg(test)]
mod tests {
    use kit::Change;

    use super::*;
    use crate::web::form::{Faults, Form};

    fn read(query: &str) -> (Option<PaymentSettingsChange>, Faults) {
        let mut form = FilledForm::submitted(FIELDS, &Form::parse(query.as_bytes()).unwrap());
        (to_change(&mut form), form.faults)
    }

    #[test]
    fn all_errors_are_reported_together() {
        let (change, faults) = read("currency=XTS&hold=-1&unit=days&before=x&after=366");
        assert!(change.is_none());
        for field in ["currency", "hold", "before", "after"] {
            assert!(!faults.at(field).is_empty(), "{field}");
        }
        for hold in ["0", "366", "1.5", "99999999999999999999"] {
            let (change, faults) = read(&format!("currency=EUR&hold={hold}&unit=days"));
            assert!(change.is_none() && !faults.at("hold").is_empty(), "{hold}");
        }
        let (change, faults) = read("currency=EUR&unit=days&before=1,2,3,4,5,6,7&after=1,2,3,4");
        assert!(change.is_none() && !faults.at("after").is_empty());
    }

    #[test]
    fn a_valid_form_is_parsed() {
        let query = "currency=jpy&hold=36&unit=hours&before=1,+7,7&on_day=yes&after=14";
        let change = read(query).0.unwrap();
        assert_eq!(change.currency.unwrap().code(), "JPY");
        assert_eq!(change.unpaid_order_ttl_minutes, Change::Set(36 * 60));
        assert_eq!(change.reminder_days, Some(vec![-7, -1, 0, 14]));
        let never = read("currency=EUR&unit=days").0.unwrap();
        assert_eq!(
            (never.unpaid_order_ttl_minutes, never.reminder_days),
            (Change::Clear, Some(vec![]))
        );
    }
}
