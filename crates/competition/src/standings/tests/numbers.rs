//! Points and values.

use crate::standings::{Points, Value};

#[test]
fn points_are_displayed_without_trailing_zeros() {
    let text = |hundredths| Points::from_hundredths(hundredths).to_string();
    assert_eq!([text(300), text(50), text(-125), text(0)], ["3", "0.5", "-1.25", "0"]);
}

#[test]
fn ratios_are_compared_exactly() {
    let huge = i128::MAX;
    assert!(Value::ratio(huge - 1, huge) < Value::ratio(huge, huge));
    assert!(Value::ratio(huge - 2, huge - 1) < Value::ratio(huge - 1, huge));
    assert_eq!(Value::ratio(1, 3), Value::ratio(2, 6));
    assert!(Value::ratio(-1, 3) < Value::ratio(-1, 4));
    assert_eq!(Value::ratio(1, -3), Value::ratio(-1, 3));
}

#[test]
fn a_ratio_with_nothing_conceded_is_infinite() {
    assert!(Value::ratio(1, 0) > Value::integer(i128::MAX));
    assert_eq!(Value::ratio(1, 0), Value::ratio(7, 0));
    assert_eq!(Value::ratio(0, 0), Value::ZERO);
    assert!(Value::ratio(-1, 0) < Value::integer(i128::MIN));
    assert_eq!(
        (Value::ratio(1, 0).to_string(), Value::ratio(1, 0).to_f64()),
        ("∞".to_owned(), None)
    );
}

#[test]
fn values_are_displayed_as_whole_numbers_or_with_three_places() {
    assert_eq!(Value::ratio(6, 3).to_string(), "2");
    assert_eq!(Value::ratio(2, 3).to_string(), "0.667");
    assert_eq!(
        (Value::ratio(13, 16).to_string(), Value::ratio(-5, 16).to_string()),
        ("0.813".into(), "-0.313".into())
    );
    assert_eq!(Value::ratio(99_999, 50_000).to_string(), "2.000");
    assert_eq!(Value::ratio(i128::MAX - 1, i128::MAX).to_string(), "1.000");
    assert_eq!((Value::ratio(6, 3).to_integer(), Value::ratio(1, 2).to_integer()), (Some(2), None));
}
