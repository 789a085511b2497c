//! Numbers, dates, times, lists and money in the conventions of a locale (Unicode CLDR).

use std::sync::OnceLock;

use fixed_decimal::Decimal;
use icu_calendar::{Date, Gregorian};
use icu_datetime::fieldsets::{self, E, MDE, T, YM, YMD, YMDE};
use icu_datetime::options::TimePrecision;
use icu_datetime::{FixedCalendarDateTimeFormatter, NoCalendarFormatter};
use icu_decimal::DecimalFormatter;
use icu_decimal::options::DecimalFormatterOptions;
use icu_list::ListFormatter;
use icu_list::options::ListFormatterOptions;
use icu_time::{DateTime, Time};
use kit::{Day, LocalTime, Money, Timestamp, Zone};

use crate::locale::PSEUDO;
use crate::{Locale, t, tn};

type DateFormatter<F> = FixedCalendarDateTimeFormatter<Gregorian, F>;

/// The formatters of one locale.
struct Formatters {
    number: DecimalFormatter,
    day: DateFormatter<YMD>,
    weekday: DateFormatter<YMDE>,
    weekday_alone: DateFormatter<E>,
    near_day: DateFormatter<MDE>,
    long_day: DateFormatter<MDE>,
    month: DateFormatter<YM>,
    minute: DateFormatter<fieldsets::YMDT>,
    appointment: DateFormatter<fieldsets::YMDET>,
    time: NoCalendarFormatter<T>,
    list: ListFormatter,
}

fn formatters(locale: Locale) -> &'static Formatters {
    static ALL: OnceLock<Vec<Formatters>> = OnceLock::new();
    &ALL.get_or_init(|| {
        Locale::all().map(|locale| load(locale).expect("CLDR has the locale")).collect()
    })[locale.index()]
}

fn load(locale: Locale) -> Result<Formatters, Box<dyn std::error::Error>> {
    let formats: icu_locale_core::Locale = locale.definition().formats.parse()?;
    let precision = TimePrecision::Minute;
    Ok(Formatters {
        number: DecimalFormatter::try_new((&formats).into(), DecimalFormatterOptions::default())?,
        day: DateFormatter::try_new((&formats).into(), YMD::medium())?,
        weekday: DateFormatter::try_new((&formats).into(), YMDE::medium())?,
        weekday_alone: DateFormatter::try_new((&formats).into(), E::short())?,
        near_day: DateFormatter::try_new((&formats).into(), MDE::medium())?,
        long_day: DateFormatter::try_new((&formats).into(), MDE::long())?,
        month: DateFormatter::try_new((&formats).into(), YM::long())?,
        minute: DateFormatter::try_new((&formats).into(), YMD::medium().with_time(precision))?,
        appointment: DateFormatter::try_new(
            (&formats).into(),
            YMDE::medium().with_time(precision),
        )?,
        time: NoCalendarFormatter::try_new(
            (&formats).into(),
            T::short().with_time_precision(precision),
        )?,
        list: ListFormatter::try_new_and((&formats).into(), ListFormatterOptions::default())?,
    })
}

/// The text of a date or time.
fn text(locale: Locale, formatted: impl ToString) -> String {
    // CLDR puts a narrow no-break space before `PM`, and shortens September to `Sept`, unlike all other English months.
    let adapted = formatted.to_string().replace('\u{202f}', " ").replace("Sept ", "Sep ");
    let adapted = match adapted.strip_suffix("Sept") {
        Some(before) => format!("{before}Sep"),
        None => adapted,
    };
    if locale.tag() == PSEUDO { format!("⟦{adapted}⟧") } else { adapted }
}

fn date(day: Day) -> Date<Gregorian> {
    let (month, day_of_month) = (day.month().unsigned_abs(), day.day().unsigned_abs());
    Date::try_new_gregorian(day.year().into(), month, day_of_month).expect("a day is valid")
}

fn time_of(local: LocalTime) -> Time {
    let (hour, minute) = (local.hour().unsigned_abs(), local.minute().unsigned_abs());
    Time::try_new(hour, minute, 0, 0).expect("a local time is valid")
}

fn date_time(local: LocalTime) -> DateTime<Gregorian> {
    DateTime { date: date(local.day()), time: time_of(local) }
}

/// A whole number: `1,204`.
pub fn number(locale: Locale, number: i64) -> String {
    formatters(locale).number.format_to_string(&Decimal::from(number))
}

/// A number with this many decimals, which is given without its decimal point: 12 with one decimal is `1.2`.
pub fn decimal(locale: Locale, number: i64, decimals: i16) -> String {
    let mut value = Decimal::from(number);
    value.multiply_pow10(-decimals);
    formatters(locale).number.format_to_string(&value)
}

/// A share in percent: `85%`, `85 %`.
pub fn percent(locale: Locale, percent: i64) -> String {
    // A no-break space, as in CLDR.
    let space = if locale.definition().percent_space { "\u{a0}" } else { "" };
    format!("{}{space}%", number(locale, percent))
}

/// An amount without its currency: `1,204.50`.
fn amount(locale: Locale, money: Money) -> String {
    let mut value = Decimal::from(money.minor.unsigned_abs());
    let digits = i16::try_from(money.currency.digits()).unwrap_or_default();
    value.multiply_pow10(-digits);
    formatters(locale).number.format_to_string(&value)
}

/// An amount of money: `€5,315.00`, `5315,00 €`.
pub fn money(locale: Locale, money: Money) -> String {
    let (sign, amount) = (if money.minor < 0 { "-" } else { "" }, amount(locale, money));
    let code = money.currency.code();
    // A no-break space keeps the amount on one line.
    match (locale.definition().symbol_first, money.currency.symbol()) {
        (true, Some(symbol)) => format!("{sign}{symbol}{amount}"),
        (true, None) => format!("{sign}{code}\u{a0}{amount}"),
        (false, symbol) => format!("{sign}{amount}\u{a0}{}", symbol.unwrap_or(code)),
    }
}

/// A date: `14 Nov 2026`.
pub fn day(locale: Locale, day: Day) -> String {
    text(locale, formatters(locale).day.format(&date(day)))
}

/// A date with its day of the week: `Sat, 14 Nov 2026`.
pub fn day_with_weekday(locale: Locale, day: Day) -> String {
    text(locale, formatters(locale).weekday.format(&date(day)))
}

/// The short name of a day of the week: `Sat`.
pub fn weekday(locale: Locale, day: Day) -> String {
    text(locale, formatters(locale).weekday_alone.format(&date(day)))
}

/// A date of this season, without its year: `Sat, 14 Nov`.
pub fn near_day(locale: Locale, day: Day) -> String {
    text(locale, formatters(locale).near_day.format(&date(day)))
}

/// A date of this season in words, without its year: `Saturday 14 November`.
pub fn long_day(locale: Locale, day: Day) -> String {
    text(locale, formatters(locale).long_day.format(&date(day)))
}

/// A month: `November 2026`.
pub fn month(locale: Locale, day: Day) -> String {
    text(locale, formatters(locale).month.format(&date(day)))
}

/// A time of day: `18:05`.
pub fn time(locale: Locale, local: LocalTime) -> String {
    text(locale, formatters(locale).time.format(&time_of(local)))
}

/// A date and time: `14 Nov 2026, 18:05`.
pub fn minute(locale: Locale, local: LocalTime) -> String {
    text(locale, formatters(locale).minute.format(&date_time(local)))
}

/// A date and time with the day of the week: `Sat, 14 Nov 2026, 18:05`.
pub fn appointment(locale: Locale, local: LocalTime) -> String {
    text(locale, formatters(locale).appointment.format(&date_time(local)))
}

/// A list: `A, B and C`.
pub fn list<T: AsRef<str>>(locale: Locale, items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<T> = items.into_iter().collect();
    formatters(locale).list.format_to_string(items.iter().map(AsRef::as_ref))
}

/// A relative time in the current locale: `3 hours ago`. Beyond a month it is the date, in UTC.
pub fn relative(moment: Timestamp, now: Timestamp) -> String {
    let seconds = now.seconds() - moment.seconds();
    let (past, away) = (seconds > 0, seconds.abs());
    match (past, away) {
        (_, ..60) => t!("just now").to_owned(),
        (true, 60..3600) => tn!("{count} minute ago", "{count} minutes ago", away / 60),
        (true, 3600..86_400) => tn!("{count} hour ago", "{count} hours ago", away / 3600),
        (true, 86_400..2_678_400) => tn!("{count} day ago", "{count} days ago", away / 86_400),
        (false, 60..3600) => tn!("in {count} minute", "in {count} minutes", away / 60),
        (false, 3600..86_400) => tn!("in {count} hour", "in {count} hours", away / 3600),
        (false, 86_400..2_678_400) => tn!("in {count} day", "in {count} days", away / 86_400),
        _ => day(Locale::current_or_english(), Zone::utc().day(moment)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locale(tag: &str) -> Locale {
        Locale::find(tag).unwrap()
    }

    #[test]
    fn times_follow_the_locale() {
        let moment: Timestamp = "2026-11-14T18:05:59Z".parse().unwrap();
        let zone: Zone = "America/New_York".parse().unwrap();
        let local = zone.local(moment);
        assert_eq!(minute(locale("en"), local), "14 Nov 2026, 13:05");
        assert_eq!(minute(locale("en-US"), local), "Nov 14, 2026, 1:05 PM");
        assert_eq!(minute(locale("es"), local), "14 nov 2026, 13:05");
        assert_eq!(appointment(locale("en"), local), "Sat, 14 Nov 2026, 13:05");
        assert_eq!(appointment(locale("es"), local), "sáb, 14 nov 2026, 13:05");
        assert_eq!(day_with_weekday(locale("en-US"), local.day()), "Sat, Nov 14, 2026");
        assert_eq!(day(locale("en"), "2026-09-05".parse().unwrap()), "5 Sep 2026");
        assert_eq!(time(locale("en-US"), local), "1:05 PM");
        assert_eq!(weekday(locale("es"), local.day()), "sáb");
        assert_eq!(near_day(locale("en"), local.day()), "Sat, 14 Nov");
        assert_eq!(near_day(locale("en"), "2026-09-05".parse().unwrap()), "Sat, 5 Sep");
        assert_eq!(long_day(locale("en"), local.day()), "Saturday 14 November");
        assert_eq!(month(locale("es"), local.day()), "noviembre de 2026");
    }

    #[test]
    fn relative_times_are_rounded_down() {
        let moment: Timestamp = "2026-11-14T18:05:59Z".parse().unwrap();
        let at = |text: &str| relative(text.parse().unwrap(), moment);
        assert_eq!(at("2026-11-14T18:05:01Z"), "just now");
        assert_eq!(at("2026-11-14T18:04:59Z"), "1 minute ago");
        assert_eq!(at("2026-11-14T15:05:59Z"), "3 hours ago");
        assert_eq!(at("2026-11-16T18:06:00Z"), "in 2 days");
        assert_eq!(at("2026-01-02T00:00:00Z"), "2 Jan 2026");
    }

    #[test]
    fn numbers_and_money_follow_the_locale() {
        for (plain, shown) in [(0, "0"), (999, "999"), (1204, "1,204"), (-1_234_567, "-1,234,567")]
        {
            assert_eq!(number(Locale::ENGLISH, plain), shown);
        }
        assert_eq!(number(locale("es"), 1204), "1204");
        assert_eq!(number(locale("es"), 12_045), "12.045");
        assert_eq!(decimal(Locale::ENGLISH, 12, 1), "1.2");
        assert_eq!(decimal(Locale::ENGLISH, 123_450, 2), "1,234.50");
        assert_eq!(decimal(locale("es"), 10, 1), "1,0");
        assert_eq!(percent(Locale::ENGLISH, 100), "100%");
        assert_eq!(percent(locale("es"), 0), "0\u{a0}%");
        let money = |tag, minor, code: &str| {
            super::money(locale(tag), Money { minor, currency: code.parse().unwrap() })
        };
        for (minor, code) in [(531_500, "EUR"), (-105, "USD"), (1, "KWD"), (1204, "JPY")] {
            let plain = Money { minor, currency: code.parse().unwrap() }.to_string();
            assert_eq!(money("en", minor, code), plain);
        }
        assert_eq!(money("es", 1_531_550, "EUR"), "15.315,50\u{a0}€");
        assert_eq!(money("es", -105, "CHF"), "-1,05\u{a0}CHF");
    }

    #[test]
    fn lists_follow_the_locale() {
        assert_eq!(list(Locale::ENGLISH, ["A", "B", "C"]), "A, B and C");
        assert_eq!(list(locale("es"), ["A", "B", "C"]), "A, B y C");
    }
}
