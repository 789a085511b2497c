//! The form of a charge: what was typed, what is wrong with it, and what it means.

use kit::Currency;
use kit::word::Word;

use super::typed::{self, Row};
use crate::dues::api::charges::{COUNT, NOTE, REASON, TITLE};
use crate::dues::charging::{DueDiscount, NewCharge};
use crate::dues::due::Category;
use crate::dues::plan::Part;
use crate::error::Error;
use crate::ids::{MemberId, TeamId};
use crate::metadata::Metadata;
use crate::web::form::{Faults, Form};

/// What was typed.
#[derive(Debug, Clone)]
pub(super) struct Typed {
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

impl Typed {
    /// An empty form, in the currency of the account.
    pub(super) fn empty(team: TeamId, currency: Currency) -> Self {
        let mut typed = Self::read(&Form::default(), team);
        currency.code().clone_into(&mut typed.currency);
        typed.use_credit = true;
        typed
    }

    pub(super) fn read(form: &Form, team: TeamId) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        let word = |name: &str, usual: &str| form.maybe(name).unwrap_or(usual).to_owned();
        Self {
            team,
            who: word("who", "all"),
            members: form.all("member_ids").into_iter().map(str::to_owned).collect(),
            title: text("title"),
            category: word("category", Category::Dues.word()),
            amount: text("amount"),
            currency: text("currency").to_uppercase(),
            due_on: text("due_on"),
            split: word("split", "once"),
            count: text("instalment_count"),
            rows: typed::rows(form),
            siblings: text("sibling_discount_bp"),
            discount_kind: word("discount_kind", "none"),
            discount: text("discount"),
            discount_reason: text("discount_reason"),
            late_kind: word("late_kind", "none"),
            late_fee: text("late_fee"),
            use_credit: form.ticked("use_credit"),
            note: form.get("note").unwrap_or_default().to_owned(),
        }
    }

    /// Everything that was typed, for the form behind a preview.
    pub(super) fn pairs(&self) -> Vec<(String, String)> {
        let mut pairs: Vec<(String, String)> = [
            ("team", &self.team.to_string()),
            ("who", &self.who),
            ("title", &self.title),
            ("category", &self.category),
            ("amount", &self.amount),
            ("currency", &self.currency),
            ("due_on", &self.due_on),
            ("split", &self.split),
            ("instalment_count", &self.count),
            ("sibling_discount_bp", &self.siblings),
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

    pub(super) fn has(&self, member: &MemberId) -> bool {
        self.members.contains(&member.to_string())
    }

    pub(super) fn is_for(&self, category: &str) -> bool {
        self.category == category
    }

    pub(super) fn splits(&self, how: &str) -> bool {
        self.split == how
    }

    pub(super) fn discounts(&self, kind: &str) -> bool {
        self.discount_kind == kind
    }

    pub(super) fn fines(&self, kind: &str) -> bool {
        self.late_kind == kind
    }

    /// The charge that is meant, or everything that is wrong.
    pub(super) fn charge(&self) -> Result<NewCharge, Faults> {
        let mut faults = Faults::default();
        let read = self.read_charge(&mut faults);
        read.filter(|_| faults.is_empty()).ok_or(faults)
    }

    fn read_charge(&self, faults: &mut Faults) -> Option<NewCharge> {
        let member_ids = self.member_ids(faults);
        let title = typed::line("title", &self.title, TITLE, faults);
        if title.is_none() {
            faults.add("title", "Say what it is for, such as “Season fee 2026/27”.");
        }
        let category = Category::parse(&self.category);
        if category.is_none() {
            faults.add("category", "Choose one of these.");
        }
        let note = typed::block("note", &self.note, NOTE, faults);
        let sibling_discount_bp = Some(&self.siblings)
            .filter(|typed| !typed.is_empty())
            .and_then(|typed| typed::percent("sibling_discount_bp", typed, false, faults));
        let currency: Option<Currency> = self.currency.parse().ok();
        let Some(currency) = currency else {
            faults.add("currency", "Write the three letters of a currency, such as EUR.");
            return None;
        };
        let amount = typed::amount("amount", &self.amount, currency, faults);
        let discount = self.discount(currency, faults);
        let late_fee = typed::late_fee((&self.late_kind, &self.late_fee), currency, faults);
        let (due_on, instalment_count, instalments) = self.plan(currency, faults);
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
            instalments,
            instalment_count,
            payer: None,
            discount,
            sibling_discount_bp,
            late_fee,
            use_credit: self.use_credit,
            note,
            metadata: Metadata::default(),
        })
    }

    /// The members who are named; `None` for all players.
    fn member_ids(&self, faults: &mut Faults) -> Option<Vec<MemberId>> {
        if self.who == "all" {
            if !self.members.is_empty() {
                faults
                    .add("member_ids", "You chose members, but also that every player is charged.");
            }
            return None;
        }
        let ids: Result<Vec<MemberId>, _> = self.members.iter().map(|id| id.parse()).collect();
        match &ids {
            Ok(ids) if ids.is_empty() => faults.add("member_ids", "Choose at least one."),
            Ok(_) => {}
            Err(_) => faults.add("member_ids", "One of these is not on the team. Choose again."),
        }
        Some(ids.unwrap_or_default())
    }

    fn discount(&self, currency: Currency, faults: &mut Faults) -> Option<DueDiscount> {
        let reason = typed::line("discount_reason", &self.discount_reason, REASON, faults);
        let (amount, percent_bp) = match self.discount_kind.as_str() {
            "amount" => (typed::amount("discount", &self.discount, currency, faults), None),
            "percent" => (None, typed::percent("discount", &self.discount, false, faults)),
            _ => {
                if !self.discount.is_empty() {
                    faults.add("discount", "You wrote a discount, but chose none.");
                }
                return None;
            }
        };
        Some(DueDiscount { amount, percent_bp, reason })
    }

    /// By when it is paid: on a day, in so many parts from a day, or on days with amounts.
    fn plan(
        &self,
        currency: Currency,
        faults: &mut Faults,
    ) -> (Option<kit::Day>, Option<i64>, Option<Vec<Part>>) {
        if self.split != "equal" && !self.count.is_empty() {
            let detail = "You wrote how many parts, but chose to have it paid in another way.";
            faults.add("instalment_count", detail);
        }
        if self.split != "rows" && self.rows.iter().any(|row| !row.is_empty()) {
            let detail = "You wrote days and amounts, but chose to have it paid in another way.";
            faults.add("instalments", detail);
        }
        if self.split == "rows" {
            return (None, None, Some(typed::parts(&self.rows, currency, faults)));
        }
        let due_on = typed::day("due_on", &self.due_on, faults);
        if self.split != "equal" {
            return (due_on, None, None);
        }
        let count = self.count.parse().ok().filter(|count| (1..=COUNT).contains(count));
        if count.is_none() {
            faults.add("instalment_count", format!("Write how many parts, from 1 to {COUNT}."));
        }
        (due_on, count, None)
    }
}

/// What the service has against a charge, in the words of the form.
pub(super) fn refused(error: &Error, new: Option<&[Part]>, currency: &str) -> Faults {
    let mut faults = Faults::default();
    for fault in &error.faults {
        let sum = new.unwrap_or_default().iter().map(|part| part.amount).sum();
        match (fault.pointer.as_str(), fault.code.as_ref(), currency.parse()) {
            ("/instalments", "wrong_sum", Ok(currency)) => {
                let sum = super::shown::money(sum, currency);
                let detail = format!(
                    "The parts add up to {sum}. Together they must be the amount less the discount."
                );
                faults.add("instalments", detail);
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

    fn read(query: &str) -> Typed {
        Typed::read(&Form::parse(query.as_bytes()).unwrap(), TeamId::LEAST)
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let faults = read(
            "who=some&category=gift&amount=-1&currency=EUR&split=equal&instalment_count=61\
             &sibling_discount_bp=100&discount_kind=amount&discount=x&late_kind=percent&late_fee=0&note=%00",
        );
        let faults = faults.charge().unwrap_err();
        for field in [
            "member_ids",
            "title",
            "category",
            "amount",
            "due_on",
            "instalment_count",
            "sibling_discount_bp",
            "discount",
            "late_fee",
            "note",
        ] {
            assert!(!faults.at(field).is_empty(), "{field}");
        }
        assert!(!read("currency=XTS").charge().unwrap_err().at("currency").is_empty());
    }

    #[test]
    fn what_was_typed_and_not_chosen_is_no_small_thing() {
        let typed = read(
            "title=Fee&amount=100&currency=EUR&due_on=2026-10-01&member_ids=x&discount=5&late_fee=5\
             &instalment_count=3&part_on_1=2026-10-01",
        );
        let faults = typed.charge().unwrap_err();
        for field in ["member_ids", "discount", "late_fee", "instalment_count", "instalments"] {
            assert!(!faults.at(field).is_empty(), "{field}");
        }
    }

    #[test]
    fn what_was_typed_comes_back_from_the_preview() {
        let text = "title=Fee&amount=100&currency=EUR&split=rows&part_on_1=2026-10-01&part_amount_1=100&use_credit=yes";
        let typed = read(text);
        let pairs =
            form_urlencoded::Serializer::new(String::new()).extend_pairs(typed.pairs()).finish();
        let (new, again) = (typed.charge().unwrap(), read(&pairs).charge().unwrap());
        assert_eq!(format!("{new:?}"), format!("{again:?}"));
        assert!(new.all && new.use_credit && new.due_on.is_none());
        assert_eq!(new.instalments.unwrap()[0].amount, 10_000);
    }
}
