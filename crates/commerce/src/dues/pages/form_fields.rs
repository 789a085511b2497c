//! Fields that several forms of dues share.

use crate::dues::api::charges::FULL_PERCENT_BPS;
use crate::dues::plan::{MAX_INSTALLMENTS, NewInstallment};
use crate::error::Error;
use crate::web::form::{Choice, Field, FilledForm, Rows};

/// The due dates and amounts of a plan.
pub(super) const INSTALLMENTS: Field = Field::rows(
    "installments",
    "Due dates and amounts",
    Rows {
        fields: &[
            Field::day("part_on_{row}", "Due date of installment {row}").key("due_on").required(""),
            Field::amount("part_amount_{row}", "Amount of installment {row}")
                .key("amount")
                .required(""),
        ],
        first: 1,
        min: 4,
        max: MAX_INSTALLMENTS,
        empty: 2,
        error: mark!("Installment {row}: {error}"),
        class: "pair level rowset",
        row_class: "",
    },
)
.hint("The amounts must add up to the total amount minus the discount. Empty rows are ignored. If you need more rows, fill these first.")
.required("Enter at least one due date with its amount.");

pub(super) const LATE_KIND: Field = Field::select(
    "late_kind",
    "Late fee",
    &[
        Choice::new("none", "None"),
        Choice::new("amount", "Fixed amount"),
        Choice::new("percent", "Percentage of the overdue amount"),
    ],
)
.hint("Added once when the due becomes overdue.")
.default("none")
.page_only();

pub(super) const LATE_FEE: Field =
    Field::amount_or_percent("late_fee", "Fee", "late_kind", FULL_PERCENT_BPS)
        .when("late_kind", &["amount", "percent"])
        .or_reject("You entered a late fee but selected “None”. Select a kind or clear the field.");

/// Adds an error of the service to a form with installments.
pub(super) fn add_error(
    form: &mut FilledForm,
    error: &Error,
    installments: Option<&[NewInstallment]>,
) {
    for fault in &error.faults {
        match (fault.pointer.as_str(), fault.code.as_ref(), form.current_currency()) {
            ("/installments", "wrong_sum", Some(currency)) => {
                let sum: i64 =
                    installments.unwrap_or_default().iter().map(|part| part.amount).sum();
                let sum = super::formatting::money(sum, currency);
                let text = t!(
                    "The installments add up to {sum}. They must add up to the amount less the discount.",
                    sum
                );
                form.faults.add("installments", text);
            }
            ("/all", ..) => form.faults.add("member_ids", fault.detail.clone()),
            _ => form.add_fault(fault),
        }
    }
    if form.faults.is_empty() {
        form.add_error(error);
    }
}
