//! The charge form: submitted values, validation, and conversion to a `NewCharge`.

use kit::Currency;
use kit::string_enum::StringEnum;

use super::form_fields::{self, Row};
use crate::dues::api::charges::{
    MAX_INSTALLMENT_COUNT, MAX_NOTE_LENGTH, MAX_REASON_LENGTH, MAX_TITLE_LENGTH,
};
use crate::dues::charging::{ChargeDiscount, NewCharge};
use crate::dues::due::Category;
use crate::dues::plan::NewInstallment;
use crate::error::Error;
use crate::ids::{MemberId, TeamId};
use crate::metadata::Metadata;
use crate::web::form::{Faults, Form};

/// The submitted values.
#[derive(Debug, Clone)]
pub(super) struct ChargeForm {
    pub(super) team: TeamId,
    who: String,
    members: Vec<String>,
    pub(super) title: String,
    category: String,
    pub(super) amount: String,
    pub(super) currency: String,
    pub(super) due_on: String,
    split: String,
    pub(super) count: String,
    pub(super) rows: Vec<Row>,
    pub(super) siblings: String,
    discount_kind: String,
    pub(super) discount: String,
    pub(super) discount_reason: String,
    late_kind: String,
    pub(super) late_fee: String,
    pub(super) use_credit: bool,
    pub(super) note: String,
}

impl ChargeForm {
    /// An empty form with the account's currency.
    pub(super) fn empty(team: TeamId, currency: Currency) -> Self {
        let mut form = Self::read(&Form::default(), team);
        currency.code().clone_into(&mut form.currency);
        form.use_credit = true;
        form
    }

    pub(super) fn read(form: &Form, team: TeamId) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        let word = |name: &str, default: &str| form.optional(name).unwrap_or(default).to_owned();
        Self {
            team,
            who: word("who", "all"),
            members: form.get_all("member_ids").into_iter().map(str::to_owned).collect(),
            title: text("title"),
            category: word("category", Category::Dues.as_str()),
            amount: text("amount"),
            currency: text("currency").to_uppercase(),
            due_on: text("due_on"),
            split: word("split", "once"),
            count: text("installment_count"),
            rows: form_fields::rows(form),
            siblings: text("sibling_discount_bps"),
            discount_kind: word("discount_kind", "none"),
            discount: text("discount"),
            discount_reason: text("discount_reason"),
            late_kind: word("late_kind", "none"),
            late_fee: text("late_fee"),
            use_credit: form.is_checked("use_credit"),
            note: form.get("note").unwrap_or_default().to_owned(),
        }
    }

    /// All submitted values, for the hidden fields of the preview.
    pub(super) fn hidden_fields(&self) -> Vec<(String, String)> {
        let mut pairs: Vec<(String, String)> = [
            ("team", &self.team.to_string()),
            ("who", &self.who),
            ("title", &self.title),
            ("category", &self.category),
            ("amount", &self.amount),
            ("currency", &self.currency),
            ("due_on", &self.due_on),
            ("split", &self.split),
            ("installment_count", &self.count),
            ("sibling_discount_bps", &self.siblings),
            ("discount_kind", &self.discount_kind),
            ("discount", &self.discount),
            ("discount_reason", &self.discount_reason),
            ("late_kind", &self.late_kind),
            ("late_fee", &self.late_fee),
            ("note", &self.note),
        ]
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .into();
        pairs.extend(self.members.iter().map(|id| ("member_ids".to_owned(), id.clone())));
        for row in &self.rows {
            pairs.push((row.on_name(), row.on.clone()));
            pairs.push((row.amount_name(), row.amount.clone()));
        }
        if self.use_credit {
            pairs.push(("use_credit".to_owned(), "yes".to_owned()));
        }
        pairs.retain(|(_, value)| !value.is_empty());
        pairs
    }

    pub(super) fn charges(&self, who: &str) -> bool {
        self.who == who
    }

    pub(super) fn has_member(&self, member: &MemberId) -> bool {
        self.members.contains(&member.to_string())
    }

    pub(super) fn is_category(&self, category: &str) -> bool {
        self.category == category
    }

    pub(super) fn is_split(&self, how: &str) -> bool {
        self.split == how
    }

    pub(super) fn is_discount_kind(&self, kind: &str) -> bool {
        self.discount_kind == kind
    }

    pub(super) fn is_late_kind(&self, kind: &str) -> bool {
        self.late_kind == kind
    }

    /// The charge, or everything that is wrong with the input.
    pub(super) fn charge(&self) -> Result<NewCharge, Faults> {
        let mut faults = Faults::default();
        let read = self.read_charge(&mut faults);
        read.filter(|_| faults.is_empty()).ok_or(faults)
    }

    fn read_charge(&self, faults: &mut Faults) -> Option<NewCharge> {
        let member_ids = self.member_ids(faults);
        let title = form_fields::line("title", &self.title, MAX_TITLE_LENGTH, faults);
        if title.is_none() {
            faults.add("title", "Enter a title, such as “Season fee 2026/27”.");
        }
        let category = Category::parse(&self.category);
        if category.is_none() {
            faults.add("category", "Choose a category.");
        }
        let note = form_fields::block("note", &self.note, MAX_NOTE_LENGTH, faults);
        let sibling_discount_bps = Some(&self.siblings)
            .filter(|input| !input.is_empty())
            .and_then(|input| form_fields::percent("sibling_discount_bps", input, false, faults));
        let currency: Option<Currency> = self.currency.parse().ok();
        let Some(currency) = currency else {
            faults.add("currency", "Enter a three-letter currency code, such as EUR.");
            return None;
        };
        let amount = form_fields::amount("amount", &self.amount, currency, faults);
        let discount = self.discount(currency, faults);
        let late_fee = form_fields::late_fee((&self.late_kind, &self.late_fee), currency, faults);
        let (due_on, installment_count, installments) = self.plan(currency, faults);
        Some(NewCharge {
            team_id: self.team,
            member_id: None,
            all: member_ids.is_none(),
            member_ids,
            title: title?,
            category: category?,
            amount: amount?,
            currency: Some(currency),
            due_on,
            installments,
            installment_count,
            payer: None,
            discount,
            sibling_discount_bps,
            late_fee,
            use_credit: self.use_credit,
            note,
            metadata: Metadata::default(),
        })
    }

    /// The selected members; `None` for all players.
    fn member_ids(&self, faults: &mut Faults) -> Option<Vec<MemberId>> {
        if self.who == "all" {
            if !self.members.is_empty() {
                faults.add(
                    "member_ids",
                    "You selected members but also “Every player”. Choose one of the two.",
                );
            }
            return None;
        }
        let ids: Result<Vec<MemberId>, _> = self.members.iter().map(|id| id.parse()).collect();
        match &ids {
            Ok(ids) if ids.is_empty() => faults.add("member_ids", "Select at least one member."),
            Ok(_) => {}
            Err(_) => faults
                .add("member_ids", "One of the selected members is not on the team. Select again."),
        }
        Some(ids.unwrap_or_default())
    }

    fn discount(&self, currency: Currency, faults: &mut Faults) -> Option<ChargeDiscount> {
        let reason =
            form_fields::line("discount_reason", &self.discount_reason, MAX_REASON_LENGTH, faults);
        let (amount, percent_bps) = match self.discount_kind.as_str() {
            "amount" => (form_fields::amount("discount", &self.discount, currency, faults), None),
            "percent" => (None, form_fields::percent("discount", &self.discount, false, faults)),
            _ => {
                if !self.discount.is_empty() {
                    faults.add("discount", "You entered a discount but selected “None”. Select a kind or clear the field.");
                }
                return None;
            }
        };
        Some(ChargeDiscount { amount, percent_bps, reason })
    }

    /// The payment plan: a due date, a number of monthly installments from a date, or custom installments.
    fn plan(
        &self,
        currency: Currency,
        faults: &mut Faults,
    ) -> (Option<kit::Day>, Option<i64>, Option<Vec<NewInstallment>>) {
        if self.split != "equal" && !self.count.is_empty() {
            let detail = "You entered a number of installments but chose another payment plan.";
            faults.add("installment_count", detail);
        }
        if self.split != "rows" && self.rows.iter().any(|row| !row.is_empty()) {
            let detail = "You entered dates and amounts but chose another payment plan.";
            faults.add("installments", detail);
        }
        if self.split == "rows" {
            return (None, None, Some(form_fields::parts(&self.rows, currency, faults)));
        }
        let due_on = form_fields::day("due_on", &self.due_on, faults);
        if self.split != "equal" {
            return (due_on, None, None);
        }
        let count =
            self.count.parse().ok().filter(|count| (1..=MAX_INSTALLMENT_COUNT).contains(count));
        if count.is_none() {
            faults.add(
                "installment_count",
                format!("Enter a number of installments from 1 to {MAX_INSTALLMENT_COUNT}."),
            );
        }
        (due_on, count, None)
    }
}

/// Maps errors of the service to the fields of the form.
pub(super) fn form_errors(error: &Error, new: Option<&[NewInstallment]>, currency: &str) -> Faults {
    let mut faults = Faults::default();
    for fault in &error.faults {
        let sum = new.unwrap_or_default().iter().map(|part| part.amount).sum();
        match (fault.pointer.as_str(), fault.code.as_ref(), currency.parse()) {
            ("/installments", "wrong_sum", Ok(currency)) => {
                let sum = super::formatting::money(sum, currency);
                let detail = format!(
                    "The installments add up to {sum}. They must add up to the amount less the discount."
                );
                faults.add("installments", detail);
            }
            ("/all", ..) => faults.add("member_ids", fault.detail.clone()),
            (pointer, ..) => {
                let field = pointer.trim_start_matches('/').split('/').next();
                faults.add(field.unwrap_or_default(), fault.detail.clone());
            }
        }
    }
    if faults.is_empty() { Faults::from(error) } else { faults }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> ChargeForm {
        ChargeForm::read(&Form::parse(query.as_bytes()).unwrap(), TeamId::MIN)
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let faults = read(
            "who=some&category=gift&amount=-1&currency=EUR&split=equal&installment_count=61\
             &sibling_discount_bps=100&discount_kind=amount&discount=x&late_kind=percent&late_fee=0&note=%00",
        );
        let faults = faults.charge().unwrap_err();
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
            assert!(!faults.at(field).is_empty(), "{field}");
        }
        assert!(!read("currency=XTS").charge().unwrap_err().at("currency").is_empty());
    }

    #[test]
    fn values_for_options_that_are_not_selected_are_errors() {
        let input = read(
            "title=Fee&amount=100&currency=EUR&due_on=2026-10-01&member_ids=x&discount=5&late_fee=5\
             &installment_count=3&part_on_1=2026-10-01",
        );
        let faults = input.charge().unwrap_err();
        for field in ["member_ids", "discount", "late_fee", "installment_count", "installments"] {
            assert!(!faults.at(field).is_empty(), "{field}");
        }
    }

    #[test]
    fn preview_preserves_the_input() {
        let text = "title=Fee&amount=100&currency=EUR&split=rows&part_on_1=2026-10-01&part_amount_1=100&use_credit=yes";
        let input = read(text);
        let pairs = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(input.hidden_fields())
            .finish();
        let (new, again) = (input.charge().unwrap(), read(&pairs).charge().unwrap());
        assert_eq!(format!("{new:?}"), format!("{again:?}"));
        assert!(new.all && new.use_credit && new.due_on.is_none());
        assert_eq!(new.installments.unwrap()[0].amount, 10_000);
    }
}
