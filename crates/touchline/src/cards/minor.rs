//! Amounts as Stripe counts them: whole minor units like ours, but for a few currencies.

use kit::Currency;

/// Counted by Stripe in hundredths, though there is nothing smaller than a whole.
const AS_HUNDREDTHS: [&str; 2] = ["ISK", "UGX"];
/// Counted by Stripe in wholes, though there are fifths of it, which we count in hundredths.
const AS_WHOLES: [&str; 1] = ["MGA"];

/// The amount as Stripe counts it. `None` if it is not one that can be paid by card.
pub fn told(currency: Currency, amount: i64) -> Option<i64> {
    let divisible = |by: i64| amount % by == 0;
    if AS_HUNDREDTHS.contains(&currency.code()) {
        amount.checked_mul(100)
    } else if AS_WHOLES.contains(&currency.code()) {
        divisible(100).then_some(amount / 100)
    } else if currency.digits() == 3 {
        // Cards know no thousandths; the last digit must be a zero.
        divisible(10).then_some(amount)
    } else {
        Some(amount)
    }
}

/// Our amount for one of Stripe's.
pub fn heard(currency: Currency, amount: i64) -> Option<i64> {
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
    fn amounts_are_counted_as_stripe_does() {
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
            assert_eq!(told(currency(code), ours), theirs, "{code} {ours}");
        }
    }

    #[test]
    fn what_is_told_is_heard_again() {
        let codes = ["EUR", "JPY", "ISK", "UGX", "MGA", "KWD", "HUF", "TWD"];
        for currency in codes.map(currency) {
            for amount in 1..5000 {
                if let Some(theirs) = told(currency, amount) {
                    assert_eq!(heard(currency, theirs), Some(amount), "{currency:?}");
                }
            }
        }
    }
}
