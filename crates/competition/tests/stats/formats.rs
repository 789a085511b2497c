//! How values are rounded and written.

use competition::stats::{Format, format_value, round_half_away};
use proptest::prelude::*;

fn number(value: f64, precision: u8) -> String {
    format_value(value, Format::Number, precision, true)
}

#[test]
fn halves_are_rounded_away_from_zero() {
    assert_eq!(number(2.5, 0), "3");
    assert_eq!(number(-2.5, 0), "-3");
    assert_eq!(number(0.125, 2), "0.13");
    // Quotients that are slightly less than a half in binary.
    assert_eq!(number(201.0 / 200.0, 2), "1.01");
    assert_eq!(number(18_180.0 / 800.0, 2), "22.73");
    assert_eq!(number(4.0 * 27.0 / 32.0, 2), "3.38");
}

#[test]
fn what_is_less_than_a_half_is_rounded_down() {
    assert_eq!(number(0.4999, 0), "0");
    assert_eq!(number(499_999.0 / 1_000_000.0, 0), "0");
    assert_eq!(number(1.0 / 3.0, 3), "0.333");
}

#[test]
fn zero_has_no_sign() {
    assert_eq!(number(-0.04, 1), "0.0");
    assert_eq!(number(-0.0, 0), "0");
    assert_eq!(format_value(-0.4, Format::Innings, 0, true), "0.0");
}

#[test]
fn averages_have_no_leading_zero() {
    let average = |value| format_value(value, Format::Number, 3, false);
    assert_eq!(average(1.0 / 3.0), ".333");
    assert_eq!(average(-0.05), "-.050");
    assert_eq!(average(1.0), "1.000");
    assert_eq!(average(10.5), "10.500");
    assert_eq!(format_value(0.0, Format::Number, 0, false), "0");
}

#[test]
fn percentages_are_of_one() {
    assert_eq!(format_value(0.5, Format::Percent, 1, true), "50.0%");
    assert_eq!(format_value(2.0 / 3.0, Format::Percent, 0, true), "67%");
    assert_eq!(format_value(1.0 / 16.0, Format::Percent, 1, true), "6.3%");
}

#[test]
fn innings_are_outs() {
    let innings = |outs| format_value(outs, Format::Innings, 0, true);
    assert_eq!(innings(19.0), "6.1");
    assert_eq!(innings(20.0), "6.2");
    assert_eq!(innings(21.0), "7.0");
    assert_eq!(innings(0.0), "0.0");
}

#[test]
fn times_are_seconds() {
    let time = |seconds| format_value(seconds, Format::Time, 0, true);
    assert_eq!(time(65.0), "1:05");
    assert_eq!(time(3_600.0), "60:00");
    assert_eq!(time(59.5), "1:00");
    assert_eq!(time(-90.0), "-1:30");
    assert_eq!(time(1e300), "153722867280912930:07");
}

proptest! {
    /// The result is the one that exact arithmetic gives.
    #[test]
    fn quotients_of_counts_are_rounded_exactly(
        a in 0_i64..100_000, b in 1_i64..100_000, digits in 0_u8..4,
    ) {
        let scale = 10_i64.pow(u32::from(digits));
        let exact = (2 * a * scale + b) / (2 * b);
        let expected = exact as f64 / scale as f64;
        prop_assert_eq!(round_half_away(a as f64 / b as f64, digits), expected);
        prop_assert_eq!(round_half_away(-(a as f64) / b as f64, digits), 0.0 - expected);
    }

    #[test]
    fn every_number_can_be_written(value in any::<f64>(), precision in 0_u8..=6) {
        let value = if value.is_finite() { value } else { f64::MAX };
        for format in [Format::Number, Format::Percent, Format::Innings, Format::Time] {
            for leading_zero in [true, false] {
                prop_assert!(!format_value(value, format, precision, leading_zero).contains("NaN"));
            }
        }
    }
}
