//! What an order costs. Whole minor units only; every rule of rounding stands here.
//!
//! - A line is its price times its quantity; the subtotal is the sum of the lines.
//! - A discount is spread over the lines it is for in proportion to what they cost, so that the parts sum
//!   exactly to it. It is never more than those lines cost.
//! - Tax is reckoned line by line after the discount, rounded half up: within the price where the price
//!   contains it, on top where it does not.
//! - The order's tax and total are the sums of those of its lines.

use kit::{Currency, Money};

/// A line to be reckoned.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    pub unit_price: i64,
    pub quantity: i64,
    pub tax_rate_bp: i64,
    pub tax_included: bool,
    /// Whether the discount is for it.
    pub reduced: bool,
}

/// What a line costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priced {
    pub discount: i64,
    pub tax: i64,
    /// What is paid for it: after discount, with tax.
    pub total: i64,
}

/// What an order costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum {
    pub lines: Vec<Priced>,
    pub subtotal: i64,
    pub discount: i64,
    pub tax: i64,
    pub total: i64,
}

/// How much a code takes off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off {
    Amount(i64),
    /// So many basis points.
    Part(i64),
}

impl Item {
    /// What it costs before anything is taken off.
    fn cost(&self) -> i64 {
        self.unit_price.saturating_mul(self.quantity)
    }
}

/// What the lines cost that a discount is for.
pub fn reducible(items: &[Item]) -> i64 {
    let reduced = items.iter().filter(|item| item.reduced);
    reduced.fold(0, |sum, item| sum.saturating_add(item.cost()))
}

/// Reckons an order.
pub fn reckon(currency: Currency, items: &[Item], off: Option<Off>) -> Sum {
    let money = |minor| Money { minor, currency };
    let reducible = reducible(items);
    let discount = match off {
        None => 0,
        Some(Off::Amount(amount)) => amount.clamp(0, reducible),
        Some(Off::Part(points)) => money(reducible).share(basis_points(points)).minor,
    };
    let weights: Vec<_> =
        items.iter().map(|item| if item.reduced { item.cost() } else { 0 }).collect();
    let parts = money(discount).spread(&weights);
    let lines: Vec<_> = items
        .iter()
        .zip(parts)
        .map(|(item, part)| {
            let cost = money(item.cost() - part.minor);
            let rate = basis_points(item.tax_rate_bp);
            let (tax, total) = if item.tax_included {
                (cost.tax_within(rate).minor, cost.minor)
            } else {
                let tax = cost.share(rate).minor;
                (tax, cost.minor.saturating_add(tax))
            };
            Priced { discount: part.minor, tax, total }
        })
        .collect();
    let all =
        |of: fn(&Priced) -> i64| lines.iter().fold(0i64, |sum, line| sum.saturating_add(of(line)));
    Sum {
        subtotal: items.iter().fold(0, |sum, item| sum.saturating_add(item.cost())),
        discount,
        tax: all(|line| line.tax),
        total: all(|line| line.total),
        lines,
    }
}

/// What is given back for so many units of a line when so many were given back before: each unit its part,
/// the last one with what is left over.
pub fn units(total: i64, quantity: i64, before: i64, more: i64) -> i64 {
    let worth = |count: i64| if count >= quantity { total } else { total / quantity * count };
    worth(before + more) - worth(before)
}

/// What is left of what was paid, and the tax in it.
#[derive(Debug, Clone, Copy)]
pub struct Left {
    pub amount: i64,
    pub tax: i64,
}

impl Left {
    /// The tax in an amount that is given back: as it was reckoned for its lines, or else its part of the tax. What stays
    /// has never more tax than money, and when all is given back, so is all the tax.
    pub fn tax_in(self, amount: i64, reckoned: Option<i64>) -> i64 {
        let part = || i128::from(self.tax) * i128::from(amount) / i128::from(self.amount.max(1));
        let tax = reckoned.unwrap_or_else(|| i64::try_from(part()).unwrap_or(self.tax));
        let least = (self.tax - (self.amount - amount)).max(0);
        tax.clamp(least, self.tax.min(amount).max(least))
    }
}

fn basis_points(points: i64) -> u32 {
    u32::try_from(points).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn item() -> impl Strategy<Value = Item> {
        let whole = (0i64..=1_000_000_000_000, 1i64..=1000, 0i64..=10_000, any::<bool>());
        (whole, any::<bool>()).prop_map(|(whole, reduced)| {
            let (unit_price, quantity, tax_rate_bp, tax_included) = whole;
            Item { unit_price, quantity, tax_rate_bp, tax_included, reduced }
        })
    }

    fn off() -> impl Strategy<Value = Option<Off>> {
        prop_oneof![
            Just(None),
            (0i64..=1_000_000_000_000).prop_map(|amount| Some(Off::Amount(amount))),
            (1i64..=10_000).prop_map(|points| Some(Off::Part(points))),
        ]
    }

    fn euros() -> Currency {
        "EUR".parse().unwrap()
    }

    proptest! {
        #[test]
        fn lines_sum_to_the_order_and_nothing_is_negative(
            items in proptest::collection::vec(item(), 1..100), off in off(),
        ) {
            let sum = reckon(euros(), &items, off);
            let all = |of: fn(&Priced) -> i64| sum.lines.iter().map(of).sum::<i64>();
            prop_assert_eq!(all(|line| line.discount), sum.discount);
            prop_assert_eq!(all(|line| line.tax), sum.tax);
            prop_assert_eq!(all(|line| line.total), sum.total);
            prop_assert!(sum.discount >= 0 && sum.discount <= reducible(&items) && reducible(&items) <= sum.subtotal);
            for (item, line) in items.iter().zip(&sum.lines) {
                prop_assert!(line.discount >= 0 && line.discount <= item.cost() && line.tax >= 0 && line.total >= line.tax);
                prop_assert!(item.reduced || line.discount == 0);
                let paid = item.cost() - line.discount + if item.tax_included { 0 } else { line.tax };
                prop_assert_eq!(line.total, paid);
            }
        }

        #[test]
        fn a_whole_code_makes_everything_free(items in proptest::collection::vec(item(), 1..20)) {
            let items: Vec<_> = items.into_iter().map(|item| Item { reduced: true, ..item }).collect();
            let sum = reckon(euros(), &items, Some(Off::Part(10_000)));
            prop_assert_eq!((sum.discount, sum.tax, sum.total), (sum.subtotal, 0, 0));
        }

        #[test]
        fn units_sum_to_the_line_and_tax_to_the_tax(
            total in 0i64..=1_000_000_000_000, steps in proptest::collection::vec(1i64..50, 1..20), part in 0i64..=100,
        ) {
            let (quantity, tax) = (steps.iter().sum::<i64>(), total / 100 * part);
            let (mut units_before, mut left) = (0, Left { amount: total, tax });
            for (number, step) in steps.into_iter().enumerate() {
                let of_units = |whole| units(whole, quantity, units_before, step);
                let (back, reckoned) = (of_units(total), of_units(tax));
                let tax_part = left.tax_in(back, (number % 3 > 0).then_some(reckoned));
                prop_assert!(back >= 0 && tax_part >= 0 && tax_part <= back);
                units_before += step;
                left = Left { amount: left.amount - back, tax: left.tax - tax_part };
                prop_assert!(left.tax <= left.amount);
            }
            prop_assert_eq!((left.amount, left.tax), (0, 0));
        }
    }

    #[test]
    fn an_order_is_reckoned_as_it_is_written() {
        let item = |unit_price, quantity, tax_rate_bp, tax_included| Item {
            unit_price,
            quantity,
            tax_rate_bp,
            tax_included,
            reduced: true,
        };
        // 2 x 24.99 with 23 % within, 3 x 1.50 with 6 % on top, less 5.00.
        let sum = reckon(
            euros(),
            &[item(2_499, 2, 2_300, true), item(150, 3, 600, false)],
            Some(Off::Amount(500)),
        );
        assert_eq!((sum.subtotal, sum.discount), (5_448, 500));
        assert_eq!(sum.lines[0], Priced { discount: 458, tax: 849, total: 4_540 });
        assert_eq!(sum.lines[1], Priced { discount: 42, tax: 24, total: 432 });
        assert_eq!((sum.tax, sum.total), (873, 4_972));
        assert_eq!((units(100, 3, 0, 1), units(100, 3, 1, 1), units(100, 3, 2, 1)), (33, 33, 34));
    }
}
