//! Parsing and validation of form fields that several dues forms share.

use kit::text::{self, TextFault};
use kit::{AmountFault, Currency, Day, Money};

use crate::dues::api::charges::FULL_PERCENT_BPS;
use crate::dues::due::LateFee;
use crate::dues::plan::{MAX_INSTALLMENTS, NewInstallment, YEARS};
use crate::money::MAX_AMOUNT;
use crate::web::form::{Faults, Form};

/// Minimum number of installment rows in a form.
const MIN_ROWS: usize = 4;
/// Number of empty rows after the filled ones.
const EXTRA_ROWS: usize = 2;

/// An installment row of a form.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) number: usize,
    pub(super) on: String,
    pub(super) amount: String,
}

impl Row {
    pub(super) fn on_name(&self) -> String {
        format!("part_on_{}", self.number)
    }

    pub(super) fn amount_name(&self) -> String {
        format!("part_amount_{}", self.number)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.on.is_empty() && self.amount.is_empty()
    }
}

/// The installment rows of a submitted form, padded with empty ones.
pub(super) fn rows(form: &Form) -> Vec<Row> {
    let row = |number: usize| Row {
        number,
        on: form.text(&format!("part_on_{number}")).to_owned(),
        amount: form.text(&format!("part_amount_{number}")).to_owned(),
    };
    let filled: Vec<_> = (1..=MAX_INSTALLMENTS).map(row).filter(|row| !row.is_empty()).collect();
    pad(filled)
}

/// The rows of an existing plan.
pub(super) fn rows_of(parts: impl Iterator<Item = (Day, i64)>, currency: Currency) -> Vec<Row> {
    let row = |(day, minor): (Day, i64)| Row {
        number: 0,
        on: day.to_string(),
        amount: Money { minor, currency }.format_amount(),
    };
    pad(parts.map(row).collect())
}

fn pad(filled: Vec<Row>) -> Vec<Row> {
    let count = (filled.len() + EXTRA_ROWS).clamp(MIN_ROWS, MAX_INSTALLMENTS);
    let empty =
        std::iter::repeat_with(|| Row { number: 0, on: String::new(), amount: String::new() });
    let rows = filled.into_iter().chain(empty).take(count).zip(1..);
    rows.map(|(row, number)| Row { number, ..row }).collect()
}

/// Parses the filled rows.
pub(super) fn parts(rows: &[Row], currency: Currency, faults: &mut Faults) -> Vec<NewInstallment> {
    let mut parts = Vec::new();
    for row in rows.iter().filter(|row| !row.is_empty()) {
        let mut row_faults = Faults::default();
        let due_on = day("on", &row.on, &mut row_faults);
        let amount = amount("amount", &row.amount, currency, &mut row_faults);
        if let (Some(due_on), Some(amount)) = (due_on, amount) {
            parts.push(NewInstallment { due_on, amount });
        } else {
            let on = row_faults.at("on");
            let error = if on.is_empty() { row_faults.at("amount") } else { on };
            faults.add("installments", format!("Installment {}: {error}", row.number));
        }
    }
    if parts.is_empty() {
        faults.add("installments", "Enter at least one due date with its amount.");
    }
    parts
}

/// A single-line text; `None` if it is empty or invalid.
pub(super) fn line(name: &str, input: &str, max: usize, faults: &mut Faults) -> Option<String> {
    read(name, text::normalize_line(input, max), faults)
}

/// A multi-line text; `None` if it is empty or invalid.
pub(super) fn block(name: &str, input: &str, max: usize, faults: &mut Faults) -> Option<String> {
    read(name, text::normalize_block(input, max), faults)
}

fn read(name: &str, parsed: Result<String, TextFault>, faults: &mut Faults) -> Option<String> {
    let error = match parsed {
        Ok(text) => return Some(text),
        Err(TextFault::Empty) => return None,
        Err(TextFault::TooLong { max }) => format!("Use at most {max} characters."),
        Err(TextFault::Control) => "Remove characters that cannot be displayed.".to_owned(),
    };
    faults.add(name, error);
    None
}

/// An amount greater than zero, in minor units.
pub(super) fn amount(
    name: &str,
    input: &str,
    currency: Currency,
    faults: &mut Faults,
) -> Option<i64> {
    let code = currency.code();
    let error = match Money::parse(input, currency) {
        Ok(Money { minor: 0, .. }) => "The amount must be more than zero.".to_owned(),
        Ok(Money { minor, .. }) if minor <= MAX_AMOUNT => return Some(minor),
        Err(AmountFault::NotANumber) => {
            let example = Money { minor: 10i64.pow(currency.digits()) * 150, currency };
            format!("Enter an amount in {code}, such as {}.", example.format_amount())
        }
        Err(AmountFault::TooManyDecimals) if currency.digits() == 0 => {
            format!("{code} amounts have no decimals. Enter a whole number.")
        }
        Err(AmountFault::TooManyDecimals) => {
            format!("{code} amounts have at most {} decimals.", currency.digits())
        }
        Ok(_) | Err(AmountFault::TooLarge) => "The amount is too large.".to_owned(),
    };
    faults.add(name, error);
    None
}

/// A percentage, in basis points. Must be less than 100 percent unless `all` is set.
pub(super) fn percent(name: &str, input: &str, all: bool, faults: &mut Faults) -> Option<i64> {
    // Parsed like an amount of euros: with at most two decimals.
    let hundredths: Currency = "EUR".parse().ok()?;
    let max = if all { FULL_PERCENT_BPS } else { FULL_PERCENT_BPS - 1 };
    let parsed = Money::parse(input.trim_end_matches('%'), hundredths).ok();
    let points = parsed.map(|money| money.minor).filter(|points| (1..=max).contains(points));
    if points.is_none() {
        let upper = if all { "at most 100" } else { "less than 100" };
        faults.add(
            name,
            format!("Enter a percentage greater than 0 and {upper}, such as 25 or 12.5."),
        );
    }
    points
}

/// A date in an accepted year.
pub(super) fn day(name: &str, input: &str, faults: &mut Faults) -> Option<Day> {
    let day: Option<Day> = input.parse().ok();
    match day {
        Some(day) if YEARS.contains(&day.year()) => return Some(day),
        Some(_) => {
            let (first, last) = (YEARS.start(), YEARS.end());
            faults.add(name, format!("The year must be from {first} to {last}."));
        }
        None => faults.add(
            name,
            "Choose a date from the calendar, or enter year, month and day, such as 2026-10-01.",
        ),
    }
    None
}

/// A late fee, from its kind and value.
pub(super) fn late_fee(
    (kind, input): (&str, &str),
    currency: Currency,
    faults: &mut Faults,
) -> Option<LateFee> {
    match kind {
        "amount" => amount("late_fee", input, currency, faults)
            .map(|amount| LateFee { amount: Some(amount), percent_bps: None }),
        "percent" => percent("late_fee", input, true, faults)
            .map(|points| LateFee { amount: None, percent_bps: Some(points) }),
        _ if input.is_empty() => None,
        _ => {
            faults.add(
                "late_fee",
                "You entered a late fee but selected “None”. Select a kind or clear the field.",
            );
            None
        }
    }
}

/// The kind and value of a late fee, as the form shows them.
pub(super) fn late_fee_of(fee: Option<&LateFee>, currency: Currency) -> (String, String) {
    let (kind, value) = match fee {
        Some(LateFee { amount: Some(minor), .. }) => {
            ("amount", Money { minor: *minor, currency }.format_amount())
        }
        Some(LateFee { percent_bps: Some(points), .. }) => ("percent", format_percent(*points)),
        _ => ("none", String::new()),
    };
    (kind.to_owned(), value)
}

/// Formats basis points as a percentage: `12.5`.
pub(super) fn format_percent(points: i64) -> String {
    let text = format!("{}.{:02}", points / 100, points % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_rows_between_filled_rows_are_removed() {
        let form = Form::parse(
            b"part_on_1=2026-10-01&part_amount_1=5&part_on_7=2026-11-01&part_amount_9=",
        )
        .unwrap();
        let rows = rows(&form);
        let days: Vec<_> = rows.iter().map(|row| (row.number, row.on.as_str())).collect();
        assert_eq!(days, [(1, "2026-10-01"), (2, "2026-11-01"), (3, ""), (4, "")]);
        let mut faults = Faults::default();
        parts(&rows, "EUR".parse().unwrap(), &mut faults);
        assert!(faults.at("installments").starts_with("Installment 2: Enter an amount"));
    }

    #[test]
    fn percentages_are_parsed_and_formatted() {
        for (input, points) in [("25", 2500), ("12.5", 1250), ("0,01", 1), ("99.99", 9999)] {
            let mut faults = Faults::default();
            assert_eq!(percent("x", input, false, &mut faults), Some(points), "{input}");
        }
        for input in ["0", "100", "-1", "x", "", "1.234"] {
            let mut faults = Faults::default();
            assert_eq!(percent("x", input, false, &mut faults), None, "{input}");
            assert!(!faults.is_empty());
        }
        assert_eq!(
            (format_percent(2500), format_percent(1250), format_percent(1)),
            ("25".to_owned(), "12.5".to_owned(), "0.01".to_owned())
        );
        assert_eq!(
            percent("x", "100 %".trim_end_matches('%'), true, &mut Faults::default()),
            Some(10_000)
        );
    }
}
