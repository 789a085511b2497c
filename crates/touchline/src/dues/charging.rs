//! Charging: one member, some of them or a whole team, all in one job.

use std::collections::{BTreeMap, BTreeSet};

use kit::{Currency, Day, Money};
use store::{Tx, bind};
use utoipa::ToSchema;

use super::due::{self, Category, Due, LateFee, Shown, Status, Whole};
use super::paying;
use super::plan::{self, Part};
use crate::accounts::rights::Reach;
use crate::error::{Error, Fault, Result};
use crate::ids::{ChargeId, MemberId, PersonId, TeamId};
use crate::metadata::Metadata;
use crate::money::ledger::{self, Book, Movement};
use crate::money::settings;
use crate::signals::Tell;
use crate::teams::team::{self, Team};

/// How many members can be named in one charge.
pub const MEMBERS: usize = 5_000;
const SIBLINGS: &str = "Sibling discount";

/// What is taken off before anything is paid.
#[derive(Debug, Clone, PartialEq, Eq, ToSchema)]
pub struct DueDiscount {
    /// Either this or `percent_bp`.
    #[schema(minimum = 1)]
    pub amount: Option<i64>,
    /// Hundredths of a per cent of the amount.
    #[schema(minimum = 1, maximum = 9_999)]
    pub percent_bp: Option<i64>,
    #[schema(max_length = 500)]
    pub reason: Option<String>,
}

/// Something to be charged. Name whom with one of `member_id`, `member_ids` and `all`.
#[derive(Debug, ToSchema)]
pub struct NewCharge {
    pub team_id: TeamId,
    pub member_id: Option<MemberId>,
    #[schema(max_items = 5_000)]
    pub member_ids: Option<Vec<MemberId>>,
    /// `true`: every player of the team who is active or injured.
    #[schema(required = false)]
    pub all: bool,
    #[schema(examples("Season fee 2026/27"), min_length = 1, max_length = 120)]
    pub title: String,
    /// `dues` if left out.
    #[schema(required = false)]
    pub category: Category,
    /// What each of them is charged, in minor units.
    #[schema(examples(15000), minimum = 1, maximum = 1_000_000_000_000_i64)]
    pub amount: i64,
    /// The account's if left out.
    pub currency: Option<Currency>,
    /// The day by which it must have been paid, or the first instalment. Required without `instalments`.
    pub due_on: Option<Day>,
    /// The days and amounts by which it is paid; together the amount less discount.
    #[schema(max_items = 60)]
    pub instalments: Option<Vec<Part>>,
    /// So many equal parts, a month apart from `due_on`; the first ones carry the remainder.
    #[schema(minimum = 1, maximum = 60)]
    pub instalment_count: Option<i64>,
    /// Who pays: one of the member's guardians, or the member. If left out, the first guardian, else the member.
    pub payer: Option<PersonId>,
    pub discount: Option<DueDiscount>,
    /// Hundredths of a per cent off for every member but the first with the same payer in this charge.
    #[schema(minimum = 1, maximum = 9_999)]
    pub sibling_discount_bp: Option<i64>,
    pub late_fee: Option<LateFee>,
    /// `false`: what payers have paid ahead is left as it is.
    #[schema(required = false)]
    pub use_credit: bool,
    #[schema(max_length = 1000)]
    pub note: Option<String>,
    #[schema(required = false)]
    pub metadata: Metadata,
}

/// Somebody who is charged, and who pays for them.
struct Charged {
    member: MemberId,
    person: PersonId,
    payer: PersonId,
    /// Whether somebody before them in this charge has the same payer.
    sibling: bool,
}

/// What everybody is charged alike.
struct Terms {
    charge: ChargeId,
    currency: Currency,
    discount: i64,
    parts: Vec<Part>,
}

/// What a charge would make, and how much of what the payer has paid ahead it would use.
#[derive(Debug)]
pub struct Preview {
    pub whole: Whole,
    pub credit: i64,
}

/// The dues that a charge would make; nothing is written down.
pub fn preview(tx: &Tx<'_>, reach: &Reach, new: &NewCharge) -> Result<Vec<Preview>> {
    let dues = planned(tx, reach, new)?;
    let mut credit = if new.use_credit { paying::credits(tx, &dues)? } else { BTreeMap::new() };
    let shown = dues.into_iter().map(|whole| {
        let used = paying::of_credit(&mut credit, &whole.due);
        Preview { whole, credit: used }
    });
    Ok(shown.collect())
}

/// Charges members of a team, and uses what their payers have paid ahead.
pub fn create(tx: &Tx<'_>, reach: &Reach, new: &NewCharge) -> Result<Vec<Shown>> {
    let dues = planned(tx, reach, new)?;
    due::insert(tx, &dues)?;
    let mut entries = Vec::new();
    for Whole { due, .. } in &dues {
        let Due { amount, discount, .. } = *due;
        let moved = [(Book::Owed, due.net()), (Book::Discounts, discount), (Book::Dues, -amount)];
        entries.extend(ledger::moved(tx, Movement::Charge, &due.about(), None, &moved)?);
    }
    ledger::enter_all(tx, &entries)?;
    let told: Vec<_> = dues.iter().map(|whole| whole.told(tx.now())).collect();
    let told: Vec<_> = told.iter().map(|due| (None, due)).collect();
    tx.tell_all("dues.charged", &told)?;
    let dues = if new.use_credit { paying::use_credit(tx, dues)? } else { dues };
    Ok(dues.iter().map(|whole| whole.shown(tx.now())).collect())
}

/// The dues as they are to be made, or everything that stands against it.
fn planned(tx: &Tx<'_>, reach: &Reach, new: &NewCharge) -> Result<Vec<Whole>> {
    let here = |error: Error| error.at("/team_id");
    reach.check(new.team_id).map_err(here)?;
    let team = team::playing(tx, new.team_id).map_err(here)?;
    let mut faults = Vec::new();
    let members = members(tx, new, &mut faults)?;
    let charged = payers(tx, new, members, &mut faults)?;
    let terms = terms(tx, new, &mut faults)?;
    if !faults.is_empty() {
        return Err(Error::invalid(faults));
    }
    charged.iter().map(|one| one_due(tx, &team, new, &terms, one)).collect()
}

/// The members who are meant, with the persons they are, in the order they were named or joined.
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
            faults.push(Fault::new("/all", "nobody", "The team has no players to charge."));
        }
        if players.len() > MEMBERS {
            let detail = format!(
                "The team has {} players; {MEMBERS} can be charged at once. Name them in parts, with member_ids.",
                players.len()
            );
            faults.push(Fault::new("/all", "too_many", detail));
        }
        return Ok(players);
    }
    let single = new.member_id.map(|member| ("/member_id".to_owned(), member));
    let several = new.member_ids.iter().flatten().enumerate();
    let several = several.map(|(place, member)| (format!("/member_ids/{place}"), *member));
    let named: Vec<_> = single.into_iter().chain(several).collect();
    let ids: Vec<_> = named.iter().map(|(_, member)| *member).collect();
    let found: Vec<(MemberId, PersonId)> = tx.all(
        "select id, person_id from member
         where account_id = :account and id in (:ids) and team_id = :team and status <> 'removed'",
        bind! { ids, team },
    )?;
    let found: BTreeMap<_, _> = found.into_iter().collect();
    let mut members = Vec::with_capacity(named.len());
    for (place, member) in named {
        if let Some(person) = found.get(&member) {
            members.push((member, *person));
        } else {
            let detail = "There is no such member on the team.";
            faults.push(Fault::new(place, "unknown_member", detail));
        }
    }
    Ok(members)
}

/// Who pays for each of them: whoever is named, else the first guardian, else they themselves.
fn payers(
    tx: &Tx<'_>,
    new: &NewCharge,
    members: Vec<(MemberId, PersonId)>,
    faults: &mut Vec<Fault>,
) -> Result<Vec<Charged>> {
    let guardians = guardians(tx, members.iter().map(|(_, person)| *person).collect())?;
    let mut families = BTreeSet::new();
    let mut charged = Vec::with_capacity(members.len());
    for (member, person) in members {
        let own = guardians.get(&person).map(Vec::as_slice).unwrap_or_default();
        let payer = new.payer.unwrap_or_else(|| own.first().copied().unwrap_or(person));
        if payer != person && !own.contains(&payer) {
            let detail = format!("The payer is neither {member} nor one of their guardians.");
            faults.push(Fault::new("/payer", "not_a_payer", detail));
            break;
        }
        charged.push(Charged { member, person, payer, sibling: !families.insert(payer) });
    }
    Ok(charged)
}

/// The guardians of these people, in the order they were given.
pub fn guardians(tx: &Tx<'_>, people: Vec<PersonId>) -> Result<BTreeMap<PersonId, Vec<PersonId>>> {
    let ties: Vec<(PersonId, PersonId)> = tx.all(
        "select person_id, guardian_id from guardianship
         where account_id = :account and person_id in (:people) order by person_id, position",
        bind! { people },
    )?;
    let mut guardians: BTreeMap<PersonId, Vec<PersonId>> = BTreeMap::new();
    for (person, guardian) in ties {
        guardians.entry(person).or_default().push(guardian);
    }
    Ok(guardians)
}

/// What everybody is charged alike, with everything that is wrong with it.
fn terms(tx: &Tx<'_>, new: &NewCharge, faults: &mut Vec<Fault>) -> Result<Terms> {
    let currency = match new.currency {
        Some(currency) => currency,
        None => settings::of(tx)?.currency,
    };
    let whole = Money { minor: new.amount, currency };
    let discount = new.discount.as_ref().map_or(0, |discount| {
        discount.amount.unwrap_or_else(|| share(whole, discount.percent_bp.unwrap_or(0)))
    });
    let net = new.amount - discount;
    if net <= 0 {
        let detail = "The discount leaves nothing to pay.";
        faults.push(Fault::new("/discount", "nothing_left", detail));
    } else if siblings(new, net, currency) >= net {
        let detail = "The discount for siblings leaves nothing to pay.";
        faults.push(Fault::new("/sibling_discount_bp", "nothing_left", detail));
    }
    let parts = parts(new, net, currency, faults);
    Ok(Terms { charge: tx.new_id(), currency, discount, parts })
}

/// The plan for what is to be paid.
fn parts(new: &NewCharge, net: i64, currency: Currency, faults: &mut Vec<Fault>) -> Vec<Part> {
    if let Some(parts) = &new.instalments {
        faults.extend(plan::faults(parts, net));
        let first = parts.first().map(|part| part.due_on);
        if new.due_on.is_some() && new.due_on != first {
            let detail = "The day is that of the first instalment; leave one of them out.";
            faults.push(Fault::new("/due_on", "differs", detail));
        }
        return parts.clone();
    }
    let count = new.instalment_count.unwrap_or(1);
    if net > 0 && count > net {
        let detail = "There are more instalments than there is to pay.";
        faults.push(Fault::new("/instalment_count", "too_many", detail));
    }
    let count = u32::try_from(count).unwrap_or(1);
    let Some(first) = new.due_on else { return Vec::new() };
    plan::monthly(first, net.max(1), count, currency).unwrap_or_else(|| {
        let detail = format!("An instalment would be due beyond the year {}.", plan::YEARS.end());
        faults.push(Fault::new("/instalment_count", "out_of_range", detail));
        Vec::new()
    })
}

/// What is taken off for siblings of what is left after the discount for all.
fn siblings(new: &NewCharge, net: i64, currency: Currency) -> i64 {
    share(Money { minor: net, currency }, new.sibling_discount_bp.unwrap_or(0))
}

/// So many basis points of an amount.
pub fn share(of: Money, basis_points: i64) -> i64 {
    of.share(u32::try_from(basis_points).unwrap_or(0)).minor
}

fn one_due(
    tx: &Tx<'_>,
    team: &Team,
    new: &NewCharge,
    terms: &Terms,
    one: &Charged,
) -> Result<Whole> {
    let alike = new.amount - terms.discount;
    let more = if one.sibling { siblings(new, alike, terms.currency) } else { 0 };
    let parts =
        if more > 0 { plan::scaled(&terms.parts, alike - more) } else { terms.parts.clone() };
    let given = new.discount.as_ref().and_then(|discount| discount.reason.clone());
    let discount_reason = match (given, more > 0) {
        (given, false) => given,
        (None, true) => Some(SIBLINGS.to_owned()),
        (Some(given), true) => Some(format!("{given}; {SIBLINGS}")),
    };
    let id = tx.new_id();
    let first = parts.first().map(|part| part.due_on).or(new.due_on);
    let due = Due {
        account_id: tx.account(),
        id,
        charge_id: terms.charge,
        team_id: team.id,
        member_id: one.member,
        person_id: one.person,
        payer_id: one.payer,
        title: new.title.clone(),
        category: new.category,
        note: new.note.clone(),
        currency: terms.currency,
        amount: new.amount,
        discount: terms.discount + more,
        discount_reason,
        late_fee: 0,
        late_fee_amount: new.late_fee.and_then(|fee| fee.amount),
        late_fee_bp: new.late_fee.and_then(|fee| fee.percent_bp),
        late_fee_at: None,
        late_at: None,
        paid: 0,
        waived: 0,
        waive_reason: None,
        due_on: first.ok_or_else(|| Error::internal("a due without a day"))?,
        next_due_on: None,
        overdue_at: None,
        ends_at: tx.now(),
        status: Status::Open,
        metadata: new.metadata.clone(),
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    let plan = plan::kept(tx, id, &team.timezone, &parts)?;
    Ok(Whole { due, plan }.settled())
}
