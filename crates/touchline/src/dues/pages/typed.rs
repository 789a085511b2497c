//! What was typed into the forms of dues, and what is wrong with it.

use kit::text::{self, TextFault};
use kit::{AmountFault, Currency, Day, Money};

use crate::dues::api::charges::ALL;
use crate::dues::due::LateFee;
use crate::dues::plan::{MOST_PARTS, Part, YEARS};
use crate::money::MOST;
use crate::web::form::{Faults, Form};

/// So many rows for instalments are always there, and so many more than were filled in.
const ROWS: usize = 4;
const MORE: usize = 2;

/// A row for an instalment.
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

/// The rows of a form, with some that are empty.
pub(super) fn rows(form: &Form) -> Vec<Row> {
    let row = |number: usize| Row {
        number,
        on: form.text(&format!("part_on_{number}")).to_owned(),
        amount: form.text(&format!("part_amount_{number}")).to_owned(),
    };
    let filled: Vec<_> = (1..=MOST_PARTS).map(row).filter(|row| !row.is_empty()).collect();
    padded(filled)
}

/// The rows of a plan that there is.
pub(super) fn rows_of(parts: impl Iterator<Item = (Day, i64)>, currency: Currency) -> Vec<Row> {
    let row = |(day, minor): (Day, i64)| Row {
        number: 0,
        on: day.to_string(),
        amount: Money { minor, currency }.plain(),
    };
    padded(parts.map(row).collect())
}

fn padded(filled: Vec<Row>) -> Vec<Row> {
    let count = (filled.len() + MORE).clamp(ROWS, MOST_PARTS);
    let empty =
        std::iter::repeat_with(|| Row { number: 0, on: String::new(), amount: String::new() });
    let rows = filled.into_iter().chain(empty).take(count).zip(1..);
    rows.map(|(row, number)| Row { number, ..row }).collect()
}

/// The parts that rows mean.
pub(super) fn parts(rows: &[Row], currency: Currency, faults: &mut Faults) -> Vec<Part> {
    let mut parts = Vec::new();
    for row in rows.iter().filter(|row| !row.is_empty()) {
        let mut own = Faults::default();
        let due_on = day("on", &row.on, &mut own);
        let amount = amount("amount", &row.amount, currency, &mut own);
        if let (Some(due_on), Some(amount)) = (due_on, amount) {
            parts.push(Part { due_on, amount });
        } else {
            let wrong = if own.at("on").is_empty() { own.at("amount") } else { own.at("on") };
            faults.add("instalments", format!("Part {}: {wrong}", row.number));
        }
    }
    if parts.is_empty() {
        faults.add("instalments", "Write at least one day with its amount.");
    }
    parts
}

/// A text of one line; `None` if there is none or something is wrong.
pub(super) fn line(name: &str, typed: &str, max: usize, faults: &mut Faults) -> Option<String> {
    read(name, text::line(typed, max), faults)
}

/// A text of several lines.
pub(super) fn block(name: &str, typed: &str, max: usize, faults: &mut Faults) -> Option<String> {
    read(name, text::block(typed, max), faults)
}

fn read(name: &str, read: Result<String, TextFault>, faults: &mut Faults) -> Option<String> {
    let wrong = match read {
        Ok(text) => return Some(text),
        Err(TextFault::Empty) => return None,
        Err(TextFault::TooLong { max }) => format!("It has at most {max} characters."),
        Err(TextFault::Control) => "It has a character that cannot be shown.".to_owned(),
    };
    faults.add(name, wrong);
    None
}

/// An amount that is more than nothing, in minor units.
pub(super) fn amount(
    name: &str,
    typed: &str,
    currency: Currency,
    faults: &mut Faults,
) -> Option<i64> {
    let code = currency.code();
    let wrong = match Money::parse(typed, currency) {
        Ok(Money { minor: 0, .. }) => "The amount must be more than zero.".to_owned(),
        Ok(Money { minor, .. }) if minor <= MOST => return Some(minor),
        Err(AmountFault::NotANumber) => {
            let example = Money { minor: 10i64.pow(currency.digits()) * 150, currency };
            format!("Write an amount in {code}, such as {}.", example.plain())
        }
        Err(AmountFault::TooFine) if currency.digits() == 0 => {
            format!("{code} has no smaller unit: write a whole number.")
        }
        Err(AmountFault::TooFine) => {
            format!("{code} has {} digits after the point, and no more.", currency.digits())
        }
        Ok(_) | Err(AmountFault::TooLarge) => "This is more than can be kept.".to_owned(),
    };
    faults.add(name, wrong);
    None
}

/// Per cent, in hundredths of one; less than all unless `all` may be meant.
pub(super) fn percent(name: &str, typed: &str, all: bool, faults: &mut Faults) -> Option<i64> {
    // A per cent has hundredths, as this currency has.
    let hundredths: Currency = "EUR".parse().ok()?;
    let most = if all { ALL } else { ALL - 1 };
    let read = Money::parse(typed.trim_end_matches('%'), hundredths).ok();
    let points = read.map(|money| money.minor).filter(|points| (1..=most).contains(points));
    if points.is_none() {
        let upper = if all { "at most 100" } else { "less than 100" };
        faults.add(name, format!("Write per cent, more than 0 and {upper}, such as 25 or 12.5."));
    }
    points
}

/// A day that somebody can mean.
pub(super) fn day(name: &str, typed: &str, faults: &mut Faults) -> Option<Day> {
    let day: Option<Day> = typed.parse().ok();
    match day {
        Some(day) if YEARS.contains(&day.year()) => return Some(day),
        Some(_) => {
            let (first, last) = (YEARS.start(), YEARS.end());
            faults.add(name, format!("The year must be from {first} to {last}."));
        }
        None => faults.add(name, "Choose a day, such as 2026-10-01."),
    }
    None
}

/// A fee that is added when something is overdue: of which kind, and how much.
pub(super) fn late_fee(
    (kind, typed): (&str, &str),
    currency: Currency,
    faults: &mut Faults,
) -> Option<LateFee> {
    match kind {
        "amount" => amount("late_fee", typed, currency, faults)
            .map(|amount| LateFee { amount: Some(amount), percent_bp: None }),
        "percent" => percent("late_fee", typed, true, faults)
            .map(|points| LateFee { amount: None, percent_bp: Some(points) }),
        _ if typed.is_empty() => None,
        _ => {
            faults.add("late_fee", "You wrote a late fee, but chose none.");
            None
        }
    }
}

/// The same, as it stands in a form.
pub(super) fn late_fee_of(fee: Option<&LateFee>, currency: Currency) -> (String, String) {
    let (kind, typed) = match fee {
        Some(LateFee { amount: Some(minor), .. }) => {
            ("amount", Money { minor: *minor, currency }.plain())
        }
        Some(LateFee { percent_bp: Some(points), .. }) => ("percent", per_cent(*points)),
        _ => ("none", String::new()),
    };
    (kind.to_owned(), typed)
}

/// Hundredths of a per cent as per cent: `12.5`.
pub(super) fn per_cent(points: i64) -> String {
    let text = format!("{}.{:02}", points / 100, points % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_without_gaps() {
        let form = Form::parse(
            b"part_on_1=2026-10-01&part_amount_1=5&part_on_7=2026-11-01&part_amount_9=",
        )
        .unwrap();
        let rows = rows(&form);
        let days: Vec<_> = rows.iter().map(|row| (row.number, row.on.as_str())).collect();
        assert_eq!(days, [(1, "2026-10-01"), (2, "2026-11-01"), (3, ""), (4, "")]);
        let mut faults = Faults::default();
        parts(&rows, "EUR".parse().unwrap(), &mut faults);
        assert!(faults.at("instalments").starts_with("Part 2: Write an amount"));
    }

    #[test]
    fn per_cent_are_read_and_written() {
        for (typed, points) in [("25", 2500), ("12.5", 1250), ("0,01", 1), ("99.99", 9999)] {
            let mut faults = Faults::default();
            assert_eq!(percent("x", typed, false, &mut faults), Some(points), "{typed}");
        }
        for typed in ["0", "100", "-1", "x", "", "1.234"] {
            let mut faults = Faults::default();
            assert_eq!(percent("x", typed, false, &mut faults), None, "{typed}");
            assert!(!faults.is_empty());
        }
        assert_eq!(
            (per_cent(2500), per_cent(1250), per_cent(1)),
            ("25".to_owned(), "12.5".to_owned(), "0.01".to_owned())
        );
        assert_eq!(
            percent("x", "100 %".trim_end_matches('%'), true, &mut Faults::default()),
            Some(10_000)
        );
    }
}
