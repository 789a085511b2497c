//! Conversion of amounts to Stripe's minor units, which differ from ours for a few currencies.

use kit::Currency;

/// Currencies without minor units that Stripe counts in hundredths.
const AS_HUNDREDTHS: [&str; 2] = ["ISK", "UGX"];
/// Currencies that Stripe counts in whole units and we count in hundredths. (The ariary is divided into fifths.)
const AS_WHOLES: [&str; 1] = ["MGA"];

/// Converts our amount to Stripe's; `None` if it cannot be paid by card.
pub fn to_stripe(currency: Currency, amount: i64) -> Option<i64> {
    let divisible = |by: i64| amount % by == 0;
    if AS_HUNDREDTHS.contains(&currency.code()) {
        amount.checked_mul(100)
    } else if AS_WHOLES.contains(&currency.code()) {
        divisible(100).then_some(amount / 100)
    } else if currency.digits() == 3 {
        // Stripe requires the last of three decimal digits to be zero.
        divisible(10).then_some(amount)
    } else {
        Some(amount)
    }
}

/// Converts Stripe's amount to ours.
pub fn from_stripe(currency: Currency, amount: i64) -> Option<i64> {
    if AS_HUNDREDTHS.contains(&currency.code()) {
        (amount % 100 == 0).then_some(amount / 100)
    } else if AS_WHOLES.contains(&currency.code()) {
        amount.checked_mul(100)
    } else {
        Some(amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn currency(code: &str) -> Currency {
        code.parse().unwrap()
    }

    #[test]
    fn amounts_are_converted_to_stripes_minor_units() {
        for (code, ours, theirs) in [
            ("EUR", 1050, Some(1050)),
            ("JPY", 500, Some(500)),
            ("ISK", 500, Some(50_000)),
            ("UGX", 7, Some(700)),
            ("MGA", 1200, Some(12)),
            ("MGA", 1220, None),
            ("KWD", 1230, Some(1230)),
            ("KWD", 1234, None),
            ("ISK", i64::MAX, None),
        ] {
            assert_eq!(to_stripe(currency(code), ours), theirs, "{code} {ours}");
        }
    }

    #[test]
    fn converted_amounts_round_trip() {
        let codes = ["EUR", "JPY", "ISK", "UGX", "MGA", "KWD", "HUF", "TWD"];
        for currency in codes.map(currency) {
            for amount in 1..5000 {
                if let Some(theirs) = to_stripe(currency, amount) {
                    assert_eq!(from_stripe(currency, theirs), Some(amount), "{currency:?}");
                }
            }
        }
    }
}
