//! Values as text, independent of the language.

use kit::string_enum;

string_enum! {
    /// How the values of a statistic are shown.
    pub enum Format as StatisticFormat {
        /// A number with the precision of the statistic.
        Number = "number",
        /// A share of 1, shown multiplied by 100: 0.505 is `50.5%`.
        Percent = "percent",
        /// A number of outs, shown as innings: 19 is `6.1`.
        Innings = "innings",
        /// A number of seconds, shown as minutes and seconds: 3605 is `60:05`.
        Time = "time",
    }
}

/// Rounds to this number of decimal places, halves away from zero.
///
/// A half is recognized if the value is a quotient of whole numbers: 201 / 200 is slightly less
/// than 1.005 in binary, and is still rounded to 1.01.
pub fn round_half_away(value: f64, digits: u8) -> f64 {
    let scale = 10_f64.powi(i32::from(digits));
    let scaled = value.abs() * scale;
    // Above 2^52 every number is whole.
    if scaled >= 4.5e15 {
        return value;
    }
    // More than what a few operations lose, and less than what separates quotients of counts.
    let tolerance = 1e-12 * scaled;
    let rounded = (scaled + 0.5 + tolerance).floor() / scale;
    if value < 0.0 { 0.0 - rounded } else { rounded }
}

/// The value as text. `leading_zero` is whether a number between -1 and 1 has a 0 before the point.
pub fn format_value(value: f64, format: Format, precision: u8, leading_zero: bool) -> String {
    match format {
        Format::Number => {
            let text = fixed(value, precision);
            if leading_zero { text } else { without_leading_zero(&text) }
        }
        Format::Percent => fixed(value * 100.0, precision) + "%",
        Format::Innings => in_units(value, 3, |whole, outs| format!("{whole}.{outs}")),
        Format::Time => in_units(value, 60, |minutes, seconds| format!("{minutes}:{seconds:02}")),
    }
}

fn fixed(value: f64, precision: u8) -> String {
    // The addition turns -0 into 0.
    let rounded = round_half_away(value, precision) + 0.0;
    format!("{rounded:.*}", usize::from(precision))
}

fn without_leading_zero(text: &str) -> String {
    match text.strip_prefix('-') {
        Some(rest) => format!("-{}", without_leading_zero(rest)),
        None => text.strip_prefix('0').filter(|rest| !rest.is_empty()).unwrap_or(text).to_owned(),
    }
}

/// Splits the value, rounded to a whole number, into larger units and what remains.
fn in_units(value: f64, unit: u64, write: impl Fn(u64, u64) -> String) -> String {
    // The conversion saturates.
    let whole = round_half_away(value, 0) as i64;
    let total = whole.unsigned_abs();
    let text = write(total / unit, total % unit);
    if whole < 0 { format!("-{text}") } else { text }
}
