//! Price calculation for orders, in whole minor units. All rounding rules are in this module.
//!
//! - A line costs unit price times quantity; the subtotal is the sum of the lines.
//! - A discount is spread over the lines it applies to, in proportion to their cost, so that the shares add up
//!   exactly to the discount. It never exceeds the cost of those lines.
//! - Tax is calculated per line after the discount and rounded half up: inside the price if the price includes
//!   tax, otherwise on top.
//! - Tax and total of the order are the sums over its lines.

use kit::{Currency, Money};

/// A line to calculate.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    pub unit_price: i64,
    pub quantity: i64,
    pub tax_rate_bps: i64,
    pub tax_included: bool,
    /// Whether the discount applies to this line.
    pub discountable: bool,
}

/// The calculated amounts of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinePrice {
    pub discount: i64,
    pub tax: i64,
    /// Amount to pay: after discount, including tax.
    pub total: i64,
}

/// The calculated amounts of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderPrice {
    pub lines: Vec<LinePrice>,
    pub subtotal: i64,
    pub discount: i64,
    pub tax: i64,
    pub total: i64,
}

/// The reduction a discount code grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    Amount(i64),
    /// In basis points of the discounted lines.
    BasisPoints(i64),
}

impl Item {
    /// Cost before discount.
    fn cost(&self) -> i64 {
        self.unit_price.saturating_mul(self.quantity)
    }
}

/// Total cost of the lines that the discount applies to.
pub fn discountable_subtotal(items: &[Item]) -> i64 {
    let discountable = items.iter().filter(|item| item.discountable);
    discountable.fold(0, |sum, item| sum.saturating_add(item.cost()))
}

/// Calculates an order.
pub fn calculate(currency: Currency, items: &[Item], reduction: Option<Reduction>) -> OrderPrice {
    let money = |minor| Money { minor, currency };
    let discountable = discountable_subtotal(items);
    let discount = match reduction {
        None => 0,
        Some(Reduction::Amount(amount)) => amount.clamp(0, discountable),
        Some(Reduction::BasisPoints(points)) => {
            money(discountable).share(basis_points(points)).minor
        }
    };
    let weights: Vec<_> =
        items.iter().map(|item| if item.discountable { item.cost() } else { 0 }).collect();
    let shares = money(discount).allocate(&weights);
    let lines: Vec<_> = items
        .iter()
        .zip(shares)
        .map(|(item, share)| {
            let cost = money(item.cost() - share.minor);
            let rate = basis_points(item.tax_rate_bps);
            let (tax, total) = if item.tax_included {
                (cost.included_tax(rate).minor, cost.minor)
            } else {
                let tax = cost.share(rate).minor;
                (tax, cost.minor.saturating_add(tax))
            };
            LinePrice { discount: share.minor, tax, total }
        })
        .collect();
    let sum_of = |field: fn(&LinePrice) -> i64| {
        lines.iter().fold(0i64, |sum, line| sum.saturating_add(field(line)))
    };
    OrderPrice {
        subtotal: items.iter().fold(0, |sum, item| sum.saturating_add(item.cost())),
        discount,
        tax: sum_of(|line| line.tax),
        total: sum_of(|line| line.total),
        lines,
    }
}

/// Amount to refund for `count` units of a line when `refunded` units were refunded before. Each unit gets an equal
/// share, rounded down; the last unit also gets the remainder.
pub fn refund_for_units(total: i64, quantity: i64, refunded: i64, count: i64) -> i64 {
    let value = |units: i64| if units >= quantity { total } else { total / quantity * units };
    value(refunded + count) - value(refunded)
}

/// The part of a payment that can still be refunded, and the tax it includes.
#[derive(Debug, Clone, Copy)]
pub struct RefundableOrder {
    pub amount: i64,
    pub tax: i64,
}

impl RefundableOrder {
    /// The tax included in a refund: the tax of the refunded lines if known, otherwise a proportional share. The
    /// remaining tax never exceeds the remaining amount, and a full refund includes all remaining tax.
    pub fn tax_share(self, amount: i64, line_tax: Option<i64>) -> i64 {
        let share = || i128::from(self.tax) * i128::from(amount) / i128::from(self.amount.max(1));
        let tax = line_tax.unwrap_or_else(|| i64::try_from(share()).unwrap_or(self.tax));
        let min = (self.tax - (self.amount - amount)).max(0);
        tax.clamp(min, self.tax.min(amount).max(min))
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
        let base = (0i64..=1_000_000_000_000, 1i64..=1000, 0i64..=10_000, any::<bool>());
        (base, any::<bool>()).prop_map(|(base, discountable)| {
            let (unit_price, quantity, tax_rate_bps, tax_included) = base;
            Item { unit_price, quantity, tax_rate_bps, tax_included, discountable }
        })
    }

    fn reduction() -> impl Strategy<Value = Option<Reduction>> {
        prop_oneof![
            Just(None),
            (0i64..=1_000_000_000_000).prop_map(|amount| Some(Reduction::Amount(amount))),
            (1i64..=10_000).prop_map(|points| Some(Reduction::BasisPoints(points))),
        ]
    }

    fn euros() -> Currency {
        "EUR".parse().unwrap()
    }

    proptest! {
        #[test]
        fn line_amounts_add_up_to_the_order_and_are_never_negative(
            items in proptest::collection::vec(item(), 1..100), reduction in reduction(),
        ) {
            let price = calculate(euros(), &items, reduction);
            let sum_of = |field: fn(&LinePrice) -> i64| price.lines.iter().map(field).sum::<i64>();
            prop_assert_eq!(sum_of(|line| line.discount), price.discount);
            prop_assert_eq!(sum_of(|line| line.tax), price.tax);
            prop_assert_eq!(sum_of(|line| line.total), price.total);
            prop_assert!(price.discount >= 0 && price.discount <= discountable_subtotal(&items) && discountable_subtotal(&items) <= price.subtotal);
            for (item, line) in items.iter().zip(&price.lines) {
                prop_assert!(line.discount >= 0 && line.discount <= item.cost() && line.tax >= 0 && line.total >= line.tax);
                prop_assert!(item.discountable || line.discount == 0);
                let paid = item.cost() - line.discount + if item.tax_included { 0 } else { line.tax };
                prop_assert_eq!(line.total, paid);
            }
        }

        #[test]
        fn a_full_discount_makes_the_order_free(items in proptest::collection::vec(item(), 1..20)) {
            let items: Vec<_> = items.into_iter().map(|item| Item { discountable: true, ..item }).collect();
            let price = calculate(euros(), &items, Some(Reduction::BasisPoints(10_000)));
            prop_assert_eq!((price.discount, price.tax, price.total), (price.subtotal, 0, 0));
        }

        #[test]
        fn refunds_by_unit_add_up_to_the_line_total_and_its_tax(
            total in 0i64..=1_000_000_000_000, steps in proptest::collection::vec(1i64..50, 1..20), part in 0i64..=100,
        ) {
            let (quantity, tax) = (steps.iter().sum::<i64>(), total / 100 * part);
            let (mut units_before, mut remaining) = (0, RefundableOrder { amount: total, tax });
            for (number, step) in steps.into_iter().enumerate() {
                let of_units = |amount| refund_for_units(amount, quantity, units_before, step);
                let (refund, line_tax) = (of_units(total), of_units(tax));
                let tax_part = remaining.tax_share(refund, (number % 3 > 0).then_some(line_tax));
                prop_assert!(refund >= 0 && tax_part >= 0 && tax_part <= refund);
                units_before += step;
                remaining = RefundableOrder { amount: remaining.amount - refund, tax: remaining.tax - tax_part };
                prop_assert!(remaining.tax <= remaining.amount);
            }
            prop_assert_eq!((remaining.amount, remaining.tax), (0, 0));
        }
    }

    #[test]
    fn an_order_with_discount_and_mixed_tax_is_calculated_correctly() {
        let item = |unit_price, quantity, tax_rate_bps, tax_included| Item {
            unit_price,
            quantity,
            tax_rate_bps,
            tax_included,
            discountable: true,
        };
        // 2 x 24.99 with 23 % tax included, 3 x 1.50 with 6 % tax on top, minus 5.00.
        let price = calculate(
            euros(),
            &[item(2_499, 2, 2_300, true), item(150, 3, 600, false)],
            Some(Reduction::Amount(500)),
        );
        assert_eq!((price.subtotal, price.discount), (5_448, 500));
        assert_eq!(price.lines[0], LinePrice { discount: 458, tax: 849, total: 4_540 });
        assert_eq!(price.lines[1], LinePrice { discount: 42, tax: 24, total: 432 });
        assert_eq!((price.tax, price.total), (873, 4_972));
        assert_eq!(
            (
                refund_for_units(100, 3, 0, 1),
                refund_for_units(100, 3, 1, 1),
                refund_for_units(100, 3, 2, 1)
            ),
            (33, 33, 34)
        );
    }
}
