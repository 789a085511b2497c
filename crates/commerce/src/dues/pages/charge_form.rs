//! The charge form: its fields and the conversion to a `NewCharge`.

use super::form_fields::{INSTALLMENTS, LATE_FEE, LATE_KIND};
use super::formatting;
use crate::dues::api::charges::{
    FULL_PERCENT_BPS, MAX_INSTALLMENT_COUNT, MAX_NOTE_LENGTH, MAX_REASON_LENGTH, MAX_TITLE_LENGTH,
};
use crate::dues::charging::NewCharge;
use crate::prelude::*;
use crate::web::form::{Choice, Field, FilledForm, Form};

const FIELDS: &[Field] = &[
    Field::hidden("team").key("team_id"),
    Field::radio(
        "who",
        "Members to charge",
        &[
            Choice::new("all", "Every player").about("Players who are active or injured."),
            Choice::new("some", "Selected members"),
        ],
    )
    .default("all")
    .page_only(),
    Field::checks("member_ids", "", &[])
        .hint("Nobody is on the roster.")
        .required("Select at least one member.")
        .when("who", &["some"])
        .or_reject("You selected members but also “Every player”. Choose one of the two."),
    Field::line("title", "Title", MAX_TITLE_LENGTH)
        .hint("For example, “Season fee 2026/27”.")
        .required("Enter a title, such as “Season fee 2026/27”."),
    Field::select("category", "Category", &[]).default("dues").required("Choose a category."),
    Field::level_pair(
        "Amount per member",
        &[
            Field::amount("amount", "Amount").required(""),
            Field::currency("currency", "Currency").required(""),
        ],
    ),
    Field::radio(
        "split",
        "Payment plan",
        &[
            Choice::new("once", "One payment"),
            Choice::new("equal", "Equal monthly installments"),
            Choice::new("rows", "Custom dates and amounts"),
        ],
    )
    .default("once")
    .page_only(),
    Field::number_from(
        "installment_count",
        "Number of installments",
        (1, MAX_INSTALLMENT_COUNT),
        "Enter a number of installments from 1 to {max}.",
    )
    .attributes("maxlength=2")
    .required("")
    .when("split", &["equal"])
    .or_reject("You entered a number of installments but chose another payment plan."),
    INSTALLMENTS
        .when("split", &["rows"])
        .or_reject("You entered dates and amounts but chose another payment plan."),
    Field::day("due_on", "Due on")
        .hint("For monthly installments, the due date of the first one.")
        .required("")
        .when("split", &["once", "equal"]),
    Field::percent("sibling_discount_bps", "Sibling discount (%)", 1, FULL_PERCENT_BPS - 1)
        .hint("If several members have the same payer, the discount applies to all of them except the first."),
    Field::select(
        "discount_kind",
        "Discount for all members",
        &[
            Choice::new("none", "None"),
            Choice::new("amount", "Fixed amount"),
            Choice::new("percent", "Percentage"),
        ],
    )
    .default("none")
    .page_only(),
    Field::level_pair(
        "",
        &[
            Field::amount_or_percent("discount", "Discount", "discount_kind", FULL_PERCENT_BPS - 1)
                .or_reject("You entered a discount but selected “None”. Select a kind or clear the field."),
            Field::line("discount_reason", "Reason (optional)", MAX_REASON_LENGTH),
        ],
    )
    .when("discount_kind", &["amount", "percent"]),
    LATE_KIND,
    LATE_FEE,
    Field::check("use_credit", "Use credit", "Apply credit from earlier overpayments at once."),
    Field::block("note", "Note to families", MAX_NOTE_LENGTH)
        .hint("Shown on their page and in reminders. Explain here how to pay."),
];

/// An empty form with the account's currency.
pub(super) fn empty(team: TeamId, currency: Currency) -> FilledForm {
    let form = FilledForm::empty(FIELDS).with("team", team.to_string());
    form.with("currency", currency.code()).with("use_credit", "yes")
}

/// The submitted form.
pub(super) fn submitted(form: &Form) -> FilledForm {
    FilledForm::submitted(FIELDS, form).options("category", formatting::categories())
}

/// The charge; `None` after adding errors to the form.
pub(super) fn to_charge(form: &mut FilledForm) -> Option<NewCharge> {
    let mut body = form.body();
    let mut ids = form.all("member_ids").into_iter();
    if ids.any(|id| id.parse::<MemberId>().is_err()) {
        let error = t!("One of the selected members is not on the team. Select again.");
        form.faults.add("member_ids", error);
    }
    body["all"] = json!(form.text("who") == "all");
    let reason = body.as_object_mut().and_then(|body| body.remove("discount_reason"));
    if body["discount"].is_object() {
        body["discount"]["reason"] = reason.unwrap_or(Value::Null);
    }
    form.finish(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> FilledForm {
        let form = submitted(&Form::parse(query.as_bytes()).unwrap());
        form.with("team", TeamId::MIN.to_string())
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let mut form = read(
            "who=some&category=gift&amount=-1&currency=EUR&split=equal&installment_count=61\
             &sibling_discount_bps=100&discount_kind=amount&discount=x&late_kind=percent&late_fee=0&note=%00",
        );
        assert!(to_charge(&mut form).is_none());
        for field in [
            "member_ids",
            "title",
            "category",
            "amount",
            "due_on",
            "installment_count",
            "sibling_discount_bps",
            "discount",
            "late_fee",
            "note",
        ] {
            assert!(!form.faults.at(field).is_empty(), "{field}");
        }
        let mut form = read("currency=XTS");
        assert!(to_charge(&mut form).is_none() && !form.faults.at("currency").is_empty());
    }

    #[test]
    fn values_for_options_that_are_not_selected_are_errors() {
        let mut form = read(
            "title=Fee&amount=100&currency=EUR&due_on=2026-10-01&member_ids=x&discount=5&late_fee=5\
             &installment_count=3&part_on_1=2026-10-01",
        );
        assert!(to_charge(&mut form).is_none());
        for field in ["member_ids", "discount", "late_fee", "installment_count", "installments"] {
            assert!(!form.faults.at(field).is_empty(), "{field}");
        }
    }

    #[test]
    fn empty_rows_between_filled_rows_are_removed() {
        let mut form = read(
            "currency=EUR&split=rows&part_on_1=2026-10-01&part_amount_1=5&part_on_7=2026-11-01&part_amount_9=",
        );
        assert_eq!((form.text("part_on_2"), form.text("part_on_7")), ("2026-11-01", ""));
        assert!(to_charge(&mut form).is_none());
        assert!(form.faults.at("installments").starts_with("Installment 2: Enter an amount"));
    }

    #[test]
    fn preview_preserves_the_input() {
        let text = "title=Fee&amount=100&currency=EUR&split=rows&part_on_1=2026-10-01&part_amount_1=100&use_credit=yes";
        let mut form = read(text);
        let pairs =
            form_urlencoded::Serializer::new(String::new()).extend_pairs(form.pairs()).finish();
        let (new, again) = (to_charge(&mut form).unwrap(), to_charge(&mut read(&pairs)).unwrap());
        assert_eq!(format!("{new:?}"), format!("{again:?}"));
        assert!(new.all && new.use_credit && new.due_on.is_none());
        assert_eq!(new.installments.unwrap()[0].amount, 10_000);
    }
}
