//! Money: whole minor units of an ISO 4217 currency. No fraction, no floating point, no overflow.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

/// A currency of ISO 4217, such as `EUR`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency([u8; 3]);

/// Currencies whose smallest unit is a hundredth.
const HUNDREDTHS: &str = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL \
    BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP \
    GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK \
    LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR \
    NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN \
    SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD YER ZAR ZMW ZWG";
/// Currencies without a smaller unit.
const WHOLE: &str = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF";
/// Currencies whose smallest unit is a thousandth.
const THOUSANDTHS: &str = "BHD IQD JOD KWD LYD OMR TND";

/// The text is not the code of a currency in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotACurrency;

impl Currency {
    /// The three capital letters.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).expect("currency codes are ASCII")
    }

    /// How many decimal digits the minor unit has.
    pub fn digits(&self) -> u32 {
        let listed = |list: &str| list.split_whitespace().any(|code| code == self.code());
        if listed(WHOLE) {
            0
        } else if listed(THOUSANDTHS) {
            3
        } else {
            2
        }
    }
}

impl FromStr for Currency {
    type Err = NotACurrency;

    fn from_str(text: &str) -> Result<Self, NotACurrency> {
        [HUNDREDTHS, WHOLE, THOUSANDTHS]
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
                "A currency of ISO 4217. Amounts are whole minor units of it: cents, yen, fils.",
            ))
            .examples(["EUR"])
            .into()
    }
}
impl utoipa::ToSchema for Currency {}

/// An amount in one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Money {
    /// Whole minor units: cents, yen, fils.
    pub minor: i64,
    /// What they are units of.
    pub currency: Currency,
}

/// Why two amounts cannot be reckoned together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoneyFault {
    /// Two different currencies.
    Mixed,
    /// The result is larger than can be kept.
    TooLarge,
}

/// Why a text is no amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmountFault {
    /// It is empty, or something other than digits with at most one point or comma.
    NotANumber,
    /// It names a part of the currency's smallest unit.
    TooFine,
    /// It is larger than can be kept.
    TooLarge,
}

impl Money {
    /// An amount as people write it: `150`, `150.5`, `150.50` or `150,50`, never negative. What stands behind
    /// the point is never rounded, so a comma between thousands is no amount.
    pub fn parse(text: &str, currency: Currency) -> Result<Self, AmountFault> {
        let text = text.trim();
        let (whole, part) = match text.split_once(['.', ',']) {
            Some((whole, part)) => (whole, Some(part)),
            None => (text, None),
        };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !part.is_none_or(digits) {
            return Err(AmountFault::NotANumber);
        }
        let (part, places) = (part.unwrap_or_default(), currency.digits() as usize);
        if part.len() > places {
            return Err(AmountFault::TooFine);
        }
        let minor = format!("{whole}{part:0<places$}").parse();
        minor.map(|minor| Self { minor, currency }).map_err(|_| AmountFault::TooLarge)
    }

    /// The amount as it stands in a field of a form, which names the currency elsewhere: `150.50`.
    pub fn plain(self) -> String {
        let text = self.to_string();
        text.split_once(' ').map_or_else(String::new, |(amount, _)| amount.to_owned())
    }

    /// The sum, if both are in one currency and it can be kept.
    pub fn plus(self, other: Self) -> Result<Self, MoneyFault> {
        self.reckon(other, i64::checked_add)
    }

    /// The difference, if both are in one currency and it can be kept.
    pub fn minus(self, other: Self) -> Result<Self, MoneyFault> {
        self.reckon(other, i64::checked_sub)
    }

    /// So many parts that sum exactly to the whole; the first ones carry the remainder.
    pub fn split(self, parts: u32) -> Vec<Self> {
        let count = i64::from(parts);
        (0..count)
            .map(|part| {
                let remainder = i64::from(part < self.minor.rem_euclid(count));
                Self { minor: self.minor.div_euclid(count) + remainder, ..self }
            })
            .collect()
    }

    /// So many basis points of it, rounded half up: the half goes away from zero.
    pub fn share(self, basis_points: u32) -> Self {
        self.part(basis_points.into(), 10_000)
    }

    /// The part that is tax when so many basis points of tax are contained in it, rounded half up.
    pub fn tax_within(self, basis_points: u32) -> Self {
        self.part(basis_points.into(), 10_000 + i64::from(basis_points))
    }

    /// `numerator / denominator` of it, rounded half up. The part must not be larger than the whole.
    fn part(self, numerator: i64, denominator: i64) -> Self {
        let (whole, denominator) = (i128::from(self.minor), i128::from(denominator));
        let twice = 2 * whole.abs() * i128::from(numerator) + denominator;
        let minor = twice / (2 * denominator) * whole.signum();
        Self { minor: i64::try_from(minor).unwrap_or(self.minor), ..self }
    }

    /// Parts in proportion to weights that sum exactly to the whole: each as large as the weights up to it
    /// allow, less what went before. Weights must not be negative, nor all of them zero.
    pub fn spread(self, weights: &[i64]) -> Vec<Self> {
        let all: i128 = weights.iter().copied().map(i128::from).sum();
        let (mut weight, mut given) = (0, 0);
        let mut next = |own: &i64| {
            weight += i128::from(*own);
            let due = i128::from(self.minor) * weight / all.max(1);
            let minor = i64::try_from(due - given).unwrap_or(0);
            given = due;
            Self { minor, ..self }
        };
        weights.iter().map(&mut next).collect()
    }

    fn reckon(self, other: Self, how: fn(i64, i64) -> Option<i64>) -> Result<Self, MoneyFault> {
        if self.currency != other.currency {
            return Err(MoneyFault::Mixed);
        }
        let minor = how(self.minor, other.minor).ok_or(MoneyFault::TooLarge)?;
        Ok(Self { minor, ..self })
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.currency.digits();
        let unit = 10u64.pow(digits);
        let sign = if self.minor < 0 { "-" } else { "" };
        let minor = self.minor.unsigned_abs();
        write!(f, "{sign}{}", minor / unit)?;
        if digits > 0 {
            write!(f, ".{:0width$}", minor % unit, width = digits as usize)?;
        }
        write!(f, " {}", self.currency.code())
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
        fn parts_sum_to_the_whole(minor: i64, parts in 1u32..400) {
            let split = euros(minor).split(parts);
            prop_assert_eq!(split.len(), parts as usize);
            prop_assert_eq!(split.iter().map(|part| i128::from(part.minor)).sum::<i128>(), i128::from(minor));
            let (least, most) = (split.last().unwrap().minor, split[0].minor);
            prop_assert!(most - least <= 1);
        }

        #[test]
        fn what_is_spread_sums_to_the_whole(minor in 0i64..=1_000_000_000_000, weights in proptest::collection::vec(0i64..=1_000_000_000_000, 1..100)) {
            prop_assume!(weights.iter().any(|weight| *weight > 0));
            let spread = euros(minor).spread(&weights);
            prop_assert_eq!(spread.iter().map(|part| part.minor).sum::<i64>(), minor);
            let all: i128 = weights.iter().copied().map(i128::from).sum();
            for (part, weight) in spread.iter().zip(&weights) {
                let exact = i128::from(minor) * i128::from(*weight);
                prop_assert!((i128::from(part.minor) * all - exact).abs() <= all);
                prop_assert!(part.minor >= 0 && (*weight > 0 || part.minor == 0));
            }
        }

        #[test]
        fn a_share_is_the_nearest_whole_number(minor in 0i64..=1_000_000_000_000, points in 0u32..=10_000) {
            let share = euros(minor).share(points);
            let off = i128::from(share.minor) * 10_000 - i128::from(minor) * i128::from(points);
            prop_assert!((-5_000..=5_000).contains(&off) && off != -5_000);
            prop_assert_eq!(euros(-minor).share(points).minor, -share.minor);
        }

        #[test]
        fn tax_within_is_tax_on_top_of_the_rest(net in 0i64..=1_000_000_000, points in 0u32..=10_000) {
            let gross = euros(net + euros(net).share(points).minor);
            let back = gross.minor - gross.tax_within(points).minor;
            prop_assert!((back - net).abs() <= 1, "{} {}", back, net);
        }

        #[test]
        fn adding_and_taking_away_meet(a: i64, b: i64) {
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
    fn halves_are_rounded_up() {
        assert_eq!((euros(50).share(100).minor, euros(49).share(100).minor), (1, 0));
        assert_eq!(
            (euros(-50).share(100).minor, euros(i64::MAX).share(10_000).minor),
            (-1, i64::MAX)
        );
        // 19 % within 1.19 is 0.19.
        assert_eq!(
            (euros(119).tax_within(1_900).minor, euros(100).tax_within(1_900).minor),
            (19, 16)
        );
        assert_eq!(
            euros(100).spread(&[1, 1, 1]).iter().map(|part| part.minor).collect::<Vec<_>>(),
            [33, 33, 34]
        );
    }

    #[test]
    fn amounts_are_read_as_people_write_them() {
        let of = |text: &str, code: &str| {
            Money::parse(text, code.parse().unwrap()).map(|money| (money.minor, money.plain()))
        };
        for (text, minor) in
            [("150", 15000), (" 150.5 ", 15050), ("150,05", 15005), ("0", 0), ("007.00", 700)]
        {
            assert_eq!(of(text, "EUR").unwrap().0, minor, "{text}");
        }
        assert_eq!(of("1500", "JPY"), Ok((1500, "1500".to_owned())));
        assert_eq!(of("1.5", "KWD"), Ok((1500, "1.500".to_owned())));
        for text in ["", "-1", "+1", "1.", ".5", "1e3", "1 000", "1.000.00", "€5", "5 EUR", "٣"]
        {
            assert_eq!(of(text, "EUR"), Err(AmountFault::NotANumber), "{text}");
        }
        assert_eq!(of("1.005", "EUR"), Err(AmountFault::TooFine));
        assert_eq!(of("1,000", "EUR"), Err(AmountFault::TooFine));
        assert_eq!(of("10.5", "JPY"), Err(AmountFault::TooFine));
        assert_eq!(of("99999999999999999999", "EUR"), Err(AmountFault::TooLarge));
    }

    #[test]
    fn currencies_do_not_mix_and_know_their_digits() {
        let yen = Money { minor: 500, currency: "JPY".parse().unwrap() };
        assert_eq!(euros(1).plus(yen), Err(MoneyFault::Mixed));
        assert_eq!(yen.to_string(), "500 JPY");
        assert_eq!(euros(-105).to_string(), "-1.05 EUR");
        assert_eq!(Money { minor: 1, currency: "KWD".parse().unwrap() }.to_string(), "0.001 KWD");
        for wrong in ["eur", "EU", "EURO", "XTS", ""] {
            assert!(wrong.parse::<Currency>().is_err(), "{wrong}");
        }
    }
}
