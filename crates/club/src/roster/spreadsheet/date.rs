//! Dates as people write them in spreadsheets.

use kit::string_enum;

use crate::prelude::*;

string_enum! {
    /// The order of day and month in dates such as `03/04/2014`.
    pub enum DateOrder {
        DayFirst = "dmy",
        MonthFirst = "mdy",
    }
}

/// Time zones of the United States, where people write the month first.
const MONTH_FIRST_ZONES: [&str; 9] = [
    "America/New_York",
    "America/Detroit",
    "America/Chicago",
    "America/Denver",
    "America/Phoenix",
    "America/Boise",
    "America/Los_Angeles",
    "America/Anchorage",
    "Pacific/Honolulu",
];

impl DateOrder {
    /// The usual order where a time zone is used.
    pub fn usual_in(zone: &Zone) -> Self {
        if MONTH_FIRST_ZONES.contains(&zone.name()) { Self::MonthFirst } else { Self::DayFirst }
    }
}

/// The first three characters of the months, in English and Spanish.
const MONTHS: [&[&str]; 12] = [
    &["jan", "ene"],
    &["feb"],
    &["mar"],
    &["apr", "abr"],
    &["may"],
    &["jun"],
    &["jul"],
    &["aug", "ago"],
    &["sep", "set"],
    &["oct"],
    &["nov"],
    &["dec", "dic"],
];

/// The parts of a date: numbers, and the names of months as numbers.
fn parts(text: &str) -> Option<[i16; 3]> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.filter(|word| !word.eq_ignore_ascii_case("de"));
    let parts: Vec<i16> = words.map(part).collect::<Option<_>>()?;
    parts.try_into().ok()
}

fn part(word: &str) -> Option<i16> {
    if let Ok(number) = word.parse() {
        return Some(number);
    }
    let start: String = word.chars().take(3).flat_map(char::to_lowercase).collect();
    let month = MONTHS.iter().position(|names| names.contains(&start.as_str()))?;
    i16::try_from(month + 1).ok()
}

/// Whether the second part is the name of a month, as in `27 Feb 2014`, or the first one, as in `Feb 27, 2014`.
fn named_order(text: &str) -> Option<DateOrder> {
    let at = text.find(char::is_alphabetic)?;
    let has_number_before = text[..at].contains(|c: char| c.is_ascii_digit());
    Some(if has_number_before { DateOrder::DayFirst } else { DateOrder::MonthFirst })
}

/// Parses a date: `2014-02-27`, `27/02/2014`, `2/27/14`, `27.2.2014` or `27 Feb 2014`. Years with two digits are in the
/// hundred years up to `today`.
pub fn parse(text: &str, order: DateOrder, today: Day) -> Option<Day> {
    let [first, second, third] = parts(text)?;
    let (year, month, day) = match named_order(text).unwrap_or(order) {
        _ if first > 31 => (first, second, third),
        DateOrder::DayFirst => (third, second, first),
        DateOrder::MonthFirst => (third, first, second),
    };
    let year = match year {
        0..=99 if year + 2000 > today.year() => year + 1900,
        0..=99 => year + 2000,
        year => year,
    };
    Day::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?)
}

/// The order that the dates show, or `None` if they can be read both ways.
pub fn guess_order<'a>(texts: impl IntoIterator<Item = &'a str>) -> Option<DateOrder> {
    texts.into_iter().find_map(|text| match parts(text)? {
        _ if named_order(text).is_some() => None,
        [first, ..] if first > 31 => None,
        [first, second, _] if first > 12 && second <= 12 => Some(DateOrder::DayFirst),
        [first, second, _] if second > 12 && first <= 12 => Some(DateOrder::MonthFirst),
        _ => None,
    })
}

/// Whether a text is a date in either order.
pub fn is_date(text: &str, today: Day) -> bool {
    [DateOrder::DayFirst, DateOrder::MonthFirst]
        .into_iter()
        .any(|order| parse(text, order, today).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_common_formats() {
        let today = Day::new(2026, 9, 1).unwrap();
        let read = |text, order| parse(text, order, today).map(|day| day.to_string());
        let both = [
            "2014-02-27",
            "27/02/2014",
            "27.2.14",
            "27 Feb 2014",
            "Feb 27, 2014",
            "27 de febrero de 2014",
        ];
        for text in both {
            let order = guess_order([text]).unwrap_or(DateOrder::DayFirst);
            assert_eq!(read(text, order).as_deref(), Some("2014-02-27"), "{text}");
            assert!(is_date(text, today));
        }
        assert_eq!(read("3/4/2014", DateOrder::DayFirst).as_deref(), Some("2014-04-03"));
        assert_eq!(read("3/4/2014", DateOrder::MonthFirst).as_deref(), Some("2014-03-04"));
        assert_eq!(read("1/1/85", DateOrder::DayFirst).as_deref(), Some("1985-01-01"));
        for text in ["", "7", "soon", "31/02/2014", "912 345 678", "1/2", "99999999999/1/1"] {
            assert_eq!(read(text, DateOrder::DayFirst), None, "{text}");
        }
        assert_eq!(guess_order(["3/4/2014", "4/13/2014"]), Some(DateOrder::MonthFirst));
        assert_eq!(guess_order(["3/4/2014"]), None);
    }
}
