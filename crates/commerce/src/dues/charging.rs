//! Charging one member, several members or a whole team in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use macros::input;

use super::api::charges;
use super::due::{self, Category, Due, DueView, DueWithPlan, LateFee, Status};
use super::paying;
use super::plan::{self, NewInstallment};
use crate::money::MAX_AMOUNT;
use crate::money::ledger::{self, Book, Movement};
use crate::money::settings;
use crate::prelude::*;
use crate::teams::team::{self, Team};

/// Maximum number of members in one charge.
pub const MAX_MEMBERS: usize = 5_000;
pub const SIBLING_DISCOUNT_REASON: &str = mark!("Sibling discount");

/// A discount on the charged amount.
#[input(check = charges::check_discount)]
#[derive(Clone, PartialEq, Eq)]
pub struct ChargeDiscount {
    /// Discount in minor units. Set either this or `percent_bps`.
    #[input(number(1, MAX_AMOUNT))]
    pub amount: Option<i64>,
    /// Discount in basis points (hundredths of a percent) of the amount.
    #[input(number(1, 9_999))]
    pub percent_bps: Option<i64>,
    /// Why the discount is granted.
    #[input(line(500))]
    pub reason: Option<String>,
}

/// A charge. Set exactly one of `member_id`, `member_ids` and `all` to choose who is charged.
#[input(as = ChargeDuesRequest, check = charges::check_new)]
pub struct NewCharge {
    pub team_id: TeamId,
    /// ID of the only member to charge.
    pub member_id: Option<MemberId>,
    /// IDs of the members to charge, at most 5,000.
    #[schema(max_items = 5_000)]
    #[input(ids(MAX_MEMBERS))]
    pub member_ids: Option<Vec<MemberId>>,
    /// Set to `true` to charge every player of the team who is active or injured.
    #[input(default)]
    pub all: bool,
    /// What the due is for, shown to payers.
    #[schema(examples("Season fee 2026/27"))]
    #[input(line(120))]
    pub title: String,
    /// What kind of charge it is. Default: `dues`.
    #[input(default = Category::Dues)]
    pub category: Category,
    /// Amount charged to each member, in minor units.
    #[schema(examples(15000))]
    #[input(number(1, 1_000_000_000_000))]
    pub amount: i64,
    /// Currency of the amount. Default: the account's currency.
    #[input(non_null)]
    pub currency: Option<Currency>,
    /// Due date, or due date of the first installment. Required without `installments`.
    #[input(with(charges::due_on))]
    pub due_on: Option<Day>,
    /// Installments with their own due dates. Their amounts must add up to the amount less the discount.
    #[schema(max_items = 60)]
    #[input(with(charges::parts))]
    pub installments: Option<Vec<NewInstallment>>,
    /// Number of equal monthly installments, starting at `due_on`. If the amount
    /// cannot be divided evenly, the first installments are one minor unit larger.
    #[input(number(1, 60))]
    pub installment_count: Option<i64>,
    /// ID of the person who pays: the member or one of their guardians. Default: the first guardian, or the member if
    /// they have none.
    pub payer: Option<PersonId>,
    /// Discount that reduces the amount; `null` for none.
    #[input(object)]
    pub discount: Option<ChargeDiscount>,
    /// Sibling discount in basis points. Applies to every member after the first with the same payer in this charge.
    #[input(number(1, 9_999))]
    pub sibling_discount_bps: Option<i64>,
    /// Fee that is added when a payment is late; `null` for none.
    #[input(object)]
    pub late_fee: Option<LateFee>,
    /// Whether the payers' credit is applied to the new dues. Default: `true`.
    #[input(default = true)]
    pub use_credit: bool,
    /// Note shown to payers.
    #[input(block(1000))]
    pub note: Option<String>,
    #[input(default)]
    pub metadata: Metadata,
}

/// A member who is charged, and the person who pays.
struct ChargeTarget {
    member: MemberId,
    person: PersonId,
    payer: PersonId,
    /// Whether an earlier member in this charge has the same payer.
    sibling: bool,
}

/// The terms that are the same for every member.
struct Terms {
    charge: ChargeId,
    currency: Currency,
    discount: i64,
    parts: Vec<NewInstallment>,
}

/// A due that a charge would create, and how much of the payer's credit it would use.
#[derive(Debug)]
pub struct Preview {
    pub record: DueWithPlan,
    pub credit: i64,
}

/// The dues that a charge would create. Writes nothing.
pub fn preview(tx: &Tx<'_>, access: &TeamAccess, new: &NewCharge) -> Result<Vec<Preview>> {
    let dues = build_dues(tx, access, new)?;
    let mut credit =
        if new.use_credit { paying::available_credit(tx, &dues)? } else { BTreeMap::new() };
    let previews = dues.into_iter().map(|record| {
        let used = paying::take_credit(&mut credit, &record.due);
        Preview { record, credit: used }
    });
    Ok(previews.collect())
}

/// Charges members of a team and applies their payers' credit.
pub fn create(tx: &Tx<'_>, access: &TeamAccess, new: &NewCharge) -> Result<Vec<DueView>> {
    let dues = build_dues(tx, access, new)?;
    due::insert(tx, &dues)?;
    let mut entries = Vec::new();
    for DueWithPlan { due, .. } in &dues {
        let Due { amount, discount, .. } = *due;
        let amounts =
            [(Book::Receivable, due.net()), (Book::Discounts, discount), (Book::Dues, -amount)];
        entries.extend(ledger::build_entries(
            tx,
            Movement::Charge,
            &due.entry_context(),
            None,
            &amounts,
        )?);
    }
    ledger::post_all(tx, &entries)?;
    let snapshots: Vec<_> = dues.iter().map(|record| record.snapshot(tx.now())).collect();
    let snapshots: Vec<_> = snapshots.iter().map(|due| (None, due)).collect();
    tx.publish_all("dues.charged", &snapshots)?;
    let dues = if new.use_credit { paying::use_credit(tx, dues)? } else { dues };
    Ok(dues.iter().map(|record| record.view(tx.now())).collect())
}

/// Builds the dues to create, or reports everything that is wrong with the request.
fn build_dues(tx: &Tx<'_>, access: &TeamAccess, new: &NewCharge) -> Result<Vec<DueWithPlan>> {
    let mut violations = Violations::default();
    let team = team::find_referenced(tx, access, new.team_id, &mut violations)?;
    let mut faults = Vec::new();
    let charged = if team.is_some() {
        let members = members(tx, new, &mut faults)?;
        payers(tx, new, members, &mut faults)?
    } else {
        Vec::new()
    };
    let terms = terms(tx, new, &mut faults)?;
    violations.invalid_fields(faults);
    violations.finish()?;
    let team = team.ok_or_else(Error::not_found)?;
    charged.iter().map(|target| build_due(tx, &team, new, &terms, target)).collect()
}

/// The members to charge with their person ids, in the order of the request, or in roster order for `all`.
fn members(
    tx: &Tx<'_>,
    new: &NewCharge,
    faults: &mut Vec<Fault>,
) -> Result<Vec<(MemberId, PersonId)>> {
    let team = new.team_id;
    if new.all {
        let players: Vec<(MemberId, PersonId)> = tx.all(
            "select id, person_id from member
             where account_id = :account and team_id = :team and role = 'player'
               and status in ('active', 'injured')
             order by id",
            bind! { team },
        )?;
        if players.is_empty() {
            faults.push(Fault::new("/all", "no_members", "The team has no players to charge."));
        }
        if players.len() > MAX_MEMBERS {
            let detail = message!(
                "The team has {count} players, but one charge can include at most {max}. Choose the members and charge them in several steps.",
                count = players.len(),
                max = MAX_MEMBERS
            );
            faults.push(Fault::new("/all", "too_many", detail));
        }
        return Ok(players);
    }
    let single = new.member_id.map(|member| ("/member_id".to_owned(), member));
    let several = new.member_ids.iter().flatten().enumerate();
    let several = several.map(|(index, member)| (format!("/member_ids/{index}"), *member));
    let named: Vec<_> = single.into_iter().chain(several).collect();
    let ids: Vec<_> = named.iter().map(|(_, member)| *member).collect();
    let people: Vec<(MemberId, PersonId)> = tx.all(
        "select id, person_id from member
         where account_id = :account and id in (:ids) and team_id = :team and status <> 'removed'",
        bind! { ids, team },
    )?;
    let people: BTreeMap<_, _> = people.into_iter().collect();
    let mut members = Vec::with_capacity(named.len());
    for (pointer, member) in named {
        if let Some(person) = people.get(&member) {
            members.push((member, *person));
        } else {
            let detail = "This member is not on the team.";
            faults.push(Fault::new(pointer, "not_found", detail));
        }
    }
    Ok(members)
}

/// The payer for each member: the one in the request, else the first guardian, else the member.
fn payers(
    tx: &Tx<'_>,
    new: &NewCharge,
    members: Vec<(MemberId, PersonId)>,
    faults: &mut Vec<Fault>,
) -> Result<Vec<ChargeTarget>> {
    let guardians = guardians(tx, members.iter().map(|(_, person)| *person).collect())?;
    let mut families = BTreeSet::new();
    let mut charged = Vec::with_capacity(members.len());
    for (member, person) in members {
        let own_guardians = guardians.get(&person).map(Vec::as_slice).unwrap_or_default();
        let payer = new.payer.unwrap_or_else(|| own_guardians.first().copied().unwrap_or(person));
        if payer != person && !own_guardians.contains(&payer) {
            let detail = message!(
                "The payer must be the member {member} or one of their guardians.",
                member
            );
            faults.push(Fault::new("/payer", "not_a_payer", detail));
            break;
        }
        charged.push(ChargeTarget { member, person, payer, sibling: !families.insert(payer) });
    }
    Ok(charged)
}

/// The guardians of these people, by their position.
pub fn guardians(tx: &Tx<'_>, people: Vec<PersonId>) -> Result<BTreeMap<PersonId, Vec<PersonId>>> {
    let guardianships: Vec<(PersonId, PersonId)> = tx.all(
        "select person_id, guardian_id from guardianship
         where account_id = :account and person_id in (:people) order by person_id, position",
        bind! { people },
    )?;
    let mut guardians: BTreeMap<PersonId, Vec<PersonId>> = BTreeMap::new();
    for (person, guardian) in guardianships {
        guardians.entry(person).or_default().push(guardian);
    }
    Ok(guardians)
}

/// The common terms of the charge. Adds everything that is wrong with them to `faults`.
fn terms(tx: &Tx<'_>, new: &NewCharge, faults: &mut Vec<Fault>) -> Result<Terms> {
    let currency = match new.currency {
        Some(currency) => currency,
        None => settings::load(tx)?.currency,
    };
    let amount = Money { minor: new.amount, currency };
    let discount = new.discount.as_ref().map_or(0, |discount| {
        discount.amount.unwrap_or_else(|| share(amount, discount.percent_bps.unwrap_or(0)))
    });
    let net = new.amount - discount;
    if net <= 0 {
        let detail = "The discount must be less than the amount.";
        faults.push(Fault::new("/discount", "nothing_left", detail));
    } else if sibling_discount(new, net, currency) >= net {
        let detail = "The sibling discount must be less than the amount after the other discount.";
        faults.push(Fault::new("/sibling_discount_bps", "nothing_left", detail));
    }
    let parts = parts(new, net, currency, faults);
    Ok(Terms { charge: tx.new_id(), currency, discount, parts })
}

/// The installments of the charge.
fn parts(
    new: &NewCharge,
    net: i64,
    currency: Currency,
    faults: &mut Vec<Fault>,
) -> Vec<NewInstallment> {
    if let Some(parts) = &new.installments {
        faults.extend(plan::validate(parts, net, new.due_on));
        return parts.clone();
    }
    let count = new.installment_count.unwrap_or(1);
    if net > 0 && count > net {
        let detail = "The amount is too small for this many installments.";
        faults.push(Fault::new("/installment_count", "too_many", detail));
    }
    let count = u32::try_from(count).unwrap_or(1);
    let Some(first) = new.due_on else { return Vec::new() };
    plan::monthly(first, net.max(1), count, currency).unwrap_or_else(|| {
        let year = plan::YEARS.end().to_string();
        let detail = message!("An installment would be due after the year {year}.", year);
        faults.push(Fault::new("/installment_count", "out_of_range", detail));
        Vec::new()
    })
}

/// The sibling discount, calculated on the amount after the common discount.
fn sibling_discount(new: &NewCharge, net: i64, currency: Currency) -> i64 {
    share(Money { minor: net, currency }, new.sibling_discount_bps.unwrap_or(0))
}

/// A share of an amount, in basis points.
pub fn share(of: Money, basis_points: i64) -> i64 {
    of.share(u32::try_from(basis_points).unwrap_or(0)).minor
}

fn build_due(
    tx: &Tx<'_>,
    team: &Team,
    new: &NewCharge,
    terms: &Terms,
    target: &ChargeTarget,
) -> Result<DueWithPlan> {
    let net = new.amount - terms.discount;
    let extra = if target.sibling { sibling_discount(new, net, terms.currency) } else { 0 };
    let parts =
        if extra > 0 { plan::scale(&terms.parts, net - extra) } else { terms.parts.clone() };
    let reason = new.discount.as_ref().and_then(|discount| discount.reason.clone());
    let discount_reason = match (reason, extra > 0) {
        (reason, false) => reason,
        (None, true) => Some(SIBLING_DISCOUNT_REASON.to_owned()),
        (Some(reason), true) => Some(format!("{reason}; {SIBLING_DISCOUNT_REASON}")),
    };
    let id = tx.new_id();
    let first = parts.first().map(|part| part.due_on).or(new.due_on);
    let due = Due {
        account_id: tx.account(),
        id,
        charge_id: terms.charge,
        team_id: team.id,
        member_id: target.member,
        person_id: target.person,
        payer_id: target.payer,
        title: new.title.clone(),
        category: new.category,
        note: new.note.clone(),
        currency: terms.currency,
        amount: new.amount,
        discount: terms.discount + extra,
        discount_reason,
        late_fee: 0,
        late_fee_amount: new.late_fee.and_then(|fee| fee.amount),
        late_fee_bps: new.late_fee.and_then(|fee| fee.percent_bps),
        late_fee_at: None,
        late_at: None,
        paid: 0,
        waived: 0,
        waive_reason: None,
        due_on: first.ok_or_else(|| Error::internal("a due without a due date"))?,
        next_due_on: None,
        overdue_at: None,
        ends_at: tx.now(),
        status: Status::Open,
        metadata: new.metadata.clone(),
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    let plan = plan::build(tx, id, &team.timezone, &parts)?;
    Ok(DueWithPlan { due, plan }.recalculate())
}
