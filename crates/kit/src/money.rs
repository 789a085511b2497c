//! Money: integer amounts in minor units of an ISO 4217 currency, with checked arithmetic.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

/// Largest amount allowed, in minor units. Sums of such amounts stay far below the range of `i64`.
pub const MAX_AMOUNT: i64 = 1_000_000_000_000;

/// A currency of ISO 4217, such as `EUR`. Currencies are sorted by their codes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

/// Currencies whose minor unit is a hundredth.
const HUNDREDTHS: &str = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL \
    BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP \
    GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK \
    LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR \
    NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN \
    SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD YER ZAR ZMW ZWG";
/// Currencies without a minor unit.
const NO_MINOR_UNIT: &str = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF";
/// Currencies whose minor unit is a thousandth.
const THOUSANDTHS: &str = "BHD IQD JOD KWD LYD OMR TND";

/// The text is not the code of a supported currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotACurrency;

impl Currency {
    /// The ISO 4217 code: three capital letters.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).expect("currency codes are ASCII")
    }

    /// The symbol of the currency in texts. Currencies without a symbol have their code.
    pub fn symbol(&self) -> Option<&'static str> {
        SYMBOLS.iter().find(|(code, _)| *code == self.code()).map(|(_, symbol)| *symbol)
    }

    /// The number of decimal places of an amount: 0, 2 or 3.
    pub fn digits(&self) -> u32 {
        let is_in = |list: &str| list.split_whitespace().any(|code| code == self.code());
        if is_in(NO_MINOR_UNIT) {
            0
        } else if is_in(THOUSANDTHS) {
            3
        } else {
            2
        }
    }
}

impl FromStr for Currency {
    type Err = NotACurrency;

    fn from_str(text: &str) -> Result<Self, NotACurrency> {
        [HUNDREDTHS, NO_MINOR_UNIT, THOUSANDTHS]
            .iter()
            .flat_map(|list| list.split_whitespace())
            .find(|code| *code == text)
            .and_then(|code| code.as_bytes().try_into().ok())
            .map(Self)
            .ok_or(NotACurrency)
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl utoipa::PartialSchema for Currency {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(
                "ISO 4217 currency code. Amounts are integers in its minor unit, such as cents.",
            ))
            .examples(["EUR"])
            .into()
    }
}
impl utoipa::ToSchema for Currency {}

/// An amount in one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Money {
    /// The amount in minor units, such as cents.
    pub minor: i64,
    /// The currency.
    pub currency: Currency,
}

/// Why two amounts cannot be added or subtracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoneyFault {
    /// The amounts have different currencies.
    CurrencyMismatch,
    /// The result overflows an `i64`.
    TooLarge,
}

/// Why a text is not an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmountFault {
    /// The text is empty, or isn't digits with at most one point or comma.
    NotANumber,
    /// The amount has more decimal places than the currency.
    TooManyDecimals,
    /// The amount overflows an `i64`.
    TooLarge,
}

impl Money {
    /// Parses an amount as people write it: `150`, `150.5`, `150.50` or `150,50`. It cannot be negative. Amounts with
    /// too many decimal places are rejected, not rounded; this also rejects thousands separators.
    pub fn parse(text: &str, currency: Currency) -> Result<Self, AmountFault> {
        let text = text.trim();
        let (units, decimals) = match text.split_once(['.', ',']) {
            Some((units, decimals)) => (units, Some(decimals)),
            None => (text, None),
        };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(units) || !decimals.is_none_or(is_number) {
            return Err(AmountFault::NotANumber);
        }
        let (decimals, places) = (decimals.unwrap_or_default(), currency.digits() as usize);
        if decimals.len() > places {
            return Err(AmountFault::TooManyDecimals);
        }
        let minor = format!("{units}{decimals:0<places$}").parse();
        minor.map(|minor| Self { minor, currency }).map_err(|_| AmountFault::TooLarge)
    }

    /// Formats the amount without its currency, as for a form field: `150.50`.
    pub fn format_amount(self) -> String {
        let digits = self.currency.digits();
        let unit = 10u64.pow(digits);
        let sign = if self.minor < 0 { "-" } else { "" };
        let minor = self.minor.unsigned_abs();
        match digits {
            0 => format!("{sign}{minor}"),
            _ => {
                format!("{sign}{}.{:0width$}", minor / unit, minor % unit, width = digits as usize)
            }
        }
    }

    /// Returns the sum. Fails if the currencies differ or the result overflows.
    pub fn plus(self, other: Self) -> Result<Self, MoneyFault> {
        self.checked_op(other, i64::checked_add)
    }

    /// Returns the difference. Fails if the currencies differ or the result overflows.
    pub fn minus(self, other: Self) -> Result<Self, MoneyFault> {
        self.checked_op(other, i64::checked_sub)
    }

    /// Splits the amount into equal parts that add up exactly. The first parts get the remainder, one minor unit each.
    pub fn split(self, parts: u32) -> Vec<Self> {
        let count = i64::from(parts);
        (0..count)
            .map(|part| {
                let remainder = i64::from(part < self.minor.rem_euclid(count));
                Self { minor: self.minor.div_euclid(count) + remainder, ..self }
            })
            .collect()
    }

    /// Returns this many basis points of the amount, rounded to the nearest minor unit, halves away from zero.
    pub fn share(self, basis_points: u32) -> Self {
        self.fraction(basis_points.into(), 10_000)
    }

    /// Returns the tax that is contained in a gross amount at this rate, rounded to the nearest minor unit, halves away
    /// from zero.
    pub fn included_tax(self, basis_points: u32) -> Self {
        self.fraction(basis_points.into(), 10_000 + i64::from(basis_points))
    }

    /// Returns `numerator / denominator` of the amount, rounded to the nearest minor unit, halves away from zero. The
    /// fraction must not be greater than one.
    fn fraction(self, numerator: i64, denominator: i64) -> Self {
        let (amount, denominator) = (i128::from(self.minor), i128::from(denominator));
        let twice = 2 * amount.abs() * i128::from(numerator) + denominator;
        let minor = twice / (2 * denominator) * amount.signum();
        Self { minor: i64::try_from(minor).unwrap_or(self.minor), ..self }
    }

    /// Splits the amount in proportion to weights, into parts that add up exactly. Weights must not be negative, and at
    /// least one must not be zero.
    pub fn allocate(self, weights: &[i64]) -> Vec<Self> {
        let total_weight: i128 = weights.iter().copied().map(i128::from).sum();
        let (mut weight_so_far, mut allocated) = (0, 0);
        let mut next = |weight: &i64| {
            // Rounds the running total and not each part, so rounding errors don't add up.
            weight_so_far += i128::from(*weight);
            let running_total = i128::from(self.minor) * weight_so_far / total_weight.max(1);
            let minor = i64::try_from(running_total - allocated).unwrap_or(0);
            allocated = running_total;
            Self { minor, ..self }
        };
        weights.iter().map(&mut next).collect()
    }

    fn checked_op(self, other: Self, op: fn(i64, i64) -> Option<i64>) -> Result<Self, MoneyFault> {
        if self.currency != other.currency {
            return Err(MoneyFault::CurrencyMismatch);
        }
        let minor = op(self.minor, other.minor).ok_or(MoneyFault::TooLarge)?;
        Ok(Self { minor, ..self })
    }
}

/// Symbols that English texts use before the amount (CLDR). Other currencies have their code.
const SYMBOLS: [(&str, &str); 18] = [
    ("AUD", "A$"),
    ("BRL", "R$"),
    ("CAD", "CA$"),
    ("CNY", "CN¥"),
    ("EUR", "€"),
    ("GBP", "£"),
    ("HKD", "HK$"),
    ("ILS", "₪"),
    ("INR", "₹"),
    ("JPY", "¥"),
    ("KRW", "₩"),
    ("MXN", "MX$"),
    ("NZD", "NZ$"),
    ("PHP", "₱"),
    ("TWD", "NT$"),
    ("USD", "$"),
    ("VND", "₫"),
    ("XCD", "EC$"),
];

/// Digits with a comma between thousands: `1,204`.
pub fn group_thousands(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats the amount as English texts do: `€5,315.00`, `¥1,204`, `CHF 12.50`.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.currency.code();
        let amount = self.format_amount();
        let (sign, amount) = amount.split_at(usize::from(amount.starts_with('-')));
        let (units, decimals) = amount.split_at(amount.find('.').unwrap_or(amount.len()));
        let units = group_thousands(units);
        match self.currency.symbol() {
            Some(symbol) => write!(f, "{sign}{symbol}{units}{decimals}"),
            // A no-break space keeps the code and the amount on one line.
            None => write!(f, "{sign}{code}\u{a0}{units}{decimals}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn euros(minor: i64) -> Money {
        Money { minor, currency: "EUR".parse().unwrap() }
    }

    proptest! {
        #[test]
        fn equal_parts_add_up(minor: i64, parts in 1u32..400) {
            let split = euros(minor).split(parts);
            prop_assert_eq!(split.len(), parts as usize);
            prop_assert_eq!(split.iter().map(|part| i128::from(part.minor)).sum::<i128>(), i128::from(minor));
            let (smallest, largest) = (split.last().unwrap().minor, split[0].minor);
            prop_assert!(largest - smallest <= 1);
        }

        #[test]
        fn weighted_parts_add_up(minor in 0i64..=1_000_000_000_000, weights in proptest::collection::vec(0i64..=1_000_000_000_000, 1..100)) {
            prop_assume!(weights.iter().any(|weight| *weight > 0));
            let parts = euros(minor).allocate(&weights);
            prop_assert_eq!(parts.iter().map(|part| part.minor).sum::<i64>(), minor);
            let total: i128 = weights.iter().copied().map(i128::from).sum();
            for (part, weight) in parts.iter().zip(&weights) {
                let exact = i128::from(minor) * i128::from(*weight);
                prop_assert!((i128::from(part.minor) * total - exact).abs() <= total);
                prop_assert!(part.minor >= 0 && (*weight > 0 || part.minor == 0));
            }
        }

        #[test]
        fn a_share_is_rounded_to_the_nearest_minor_unit(minor in 0i64..=1_000_000_000_000, points in 0u32..=10_000) {
            let share = euros(minor).share(points);
            let off = i128::from(share.minor) * 10_000 - i128::from(minor) * i128::from(points);
            prop_assert!((-5_000..=5_000).contains(&off) && off != -5_000);
            prop_assert_eq!(euros(-minor).share(points).minor, -share.minor);
        }

        #[test]
        fn included_tax_matches_the_tax_added_to_the_net_amount(net in 0i64..=1_000_000_000, points in 0u32..=10_000) {
            let gross = euros(net + euros(net).share(points).minor);
            let back = gross.minor - gross.included_tax(points).minor;
            prop_assert!((back - net).abs() <= 1, "{} {}", back, net);
        }

        #[test]
        fn subtracting_undoes_adding(a: i64, b: i64) {
            match euros(a).plus(euros(b)) {
                Ok(sum) => prop_assert_eq!(sum.minus(euros(b)), Ok(euros(a))),
                Err(fault) => {
                    prop_assert_eq!(fault, MoneyFault::TooLarge);
                    prop_assert!(a.checked_add(b).is_none());
                }
            }
        }
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        assert_eq!((euros(50).share(100).minor, euros(49).share(100).minor), (1, 0));
        assert_eq!(
            (euros(-50).share(100).minor, euros(i64::MAX).share(10_000).minor),
            (-1, i64::MAX)
        );
        // 1.19 contains 0.19 of tax at 19%.
        assert_eq!(
            (euros(119).included_tax(1_900).minor, euros(100).included_tax(1_900).minor),
            (19, 16)
        );
        assert_eq!(
            euros(100).allocate(&[1, 1, 1]).iter().map(|part| part.minor).collect::<Vec<_>>(),
            [33, 33, 34]
        );
    }

    #[test]
    fn amounts_are_parsed_as_people_write_them() {
        let parse = |text: &str, code: &str| {
            Money::parse(text, code.parse().unwrap())
                .map(|money| (money.minor, money.format_amount()))
        };
        for (text, minor) in
            [("150", 15000), (" 150.5 ", 15050), ("150,05", 15005), ("0", 0), ("007.00", 700)]
        {
            assert_eq!(parse(text, "EUR").unwrap().0, minor, "{text}");
        }
        assert_eq!(parse("1500", "JPY"), Ok((1500, "1500".to_owned())));
        assert_eq!(parse("1.5", "KWD"), Ok((1500, "1.500".to_owned())));
        for text in ["", "-1", "+1", "1.", ".5", "1e3", "1 000", "1.000.00", "€5", "5 EUR", "٣"]
        {
            assert_eq!(parse(text, "EUR"), Err(AmountFault::NotANumber), "{text}");
        }
        assert_eq!(parse("1.005", "EUR"), Err(AmountFault::TooManyDecimals));
        assert_eq!(parse("1,000", "EUR"), Err(AmountFault::TooManyDecimals));
        assert_eq!(parse("10.5", "JPY"), Err(AmountFault::TooManyDecimals));
        assert_eq!(parse("99999999999999999999", "EUR"), Err(AmountFault::TooLarge));
    }

    #[test]
    fn currencies_do_not_mix_and_have_their_decimal_places() {
        let yen = Money { minor: 500, currency: "JPY".parse().unwrap() };
        assert_eq!(euros(1).plus(yen), Err(MoneyFault::CurrencyMismatch));
        assert_eq!(yen.to_string(), "¥500");
        assert_eq!(euros(-105).to_string(), "-€1.05");
        assert_eq!(
            Money { minor: 1, currency: "KWD".parse().unwrap() }.to_string(),
            "KWD\u{a0}0.001"
        );
        for wrong in ["eur", "EU", "EURO", "XTS", ""] {
            assert!(wrong.parse::<Currency>().is_err(), "{wrong}");
        }
    }
}
