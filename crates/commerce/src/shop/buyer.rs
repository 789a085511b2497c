//! Buyers: members, guardians, or people who are not on a roster; and who may order for whom.

use kit::text;
use macros::input;

use super::product::{AvailableTo, ProductRecord as Product};
use crate::prelude::*;
use crate::roster::membership::Role;
use crate::roster::person;

/// The buyer of an order: a member, a person such as a guardian, or a name. Send exactly one of `member_id`,
/// `person_id` and `name`.
#[input(as = BuyerInput)]
#[derive(Clone, Default, PartialEq, Eq)]
pub struct NewBuyer {
    /// Member who buys, if they are on a roster.
    pub member_id: Option<MemberId>,
    /// Person who buys, such as a guardian.
    pub person_id: Option<PersonId>,
    /// Name of a buyer who is not on a roster.
    #[schema(examples("Rui Duarte"), min_length = 1)]
    #[input(line(120))]
    pub name: Option<String>,
    /// Email address of a buyer who is not on a roster; only allowed with `name`.
    #[input(email)]
    pub email: Option<String>,
}

/// A buyer that has been looked up.
#[derive(Debug, Clone)]
pub struct ResolvedBuyer {
    pub member_id: Option<MemberId>,
    pub person_id: Option<PersonId>,
    pub name: String,
    pub email: Option<String>,
}

impl ResolvedBuyer {
    /// A buyer who is not on a roster.
    pub(super) fn by_name(name: String, email: Option<String>) -> Self {
        Self { member_id: None, person_id: None, name, email }
    }
}

/// Looks up the buyer. Returns `None` only after adding a violation.
pub(super) fn resolve(
    db: &Reader<'_>,
    access: &TeamAccess,
    requested: Option<NewBuyer>,
    violations: &mut Violations,
) -> Result<Option<ResolvedBuyer>> {
    let Some(new) = requested.or_else(|| default_buyer(access)) else {
        violations.invalid("/buyer", "required", "`buyer` is required.");
        return Ok(None);
    };
    let NewBuyer { member_id, person_id, name, email } = new;
    if email.is_some() && name.is_none() {
        let detail = "`email` is only allowed with `name`. For people on a roster, the address is already known.";
        violations.invalid("/buyer/email", "not_allowed", detail);
    }
    match (member_id, person_id, name) {
        (Some(member), None, None) => resolve_member(db, access, member, violations),
        (None, Some(person), None) => resolve_person(db, access, person, violations),
        (None, None, Some(name)) => Ok(Some(ResolvedBuyer::by_name(name, email))),
        _ => {
            let detail = "Send exactly one of `member_id`, `person_id` and `name`.";
            violations.invalid("/buyer", "mutually_exclusive", detail);
            Ok(None)
        }
    }
}

/// Users who don't name a buyer order for themselves.
fn default_buyer(access: &TeamAccess) -> Option<NewBuyer> {
    let (own, _) = access.own_and_family_ids();
    own.first().map(|person| NewBuyer { person_id: Some(*person), ..NewBuyer::default() })
}

fn resolve_member(
    db: &Reader<'_>,
    access: &TeamAccess,
    member: MemberId,
    violations: &mut Violations,
) -> Result<Option<ResolvedBuyer>> {
    let found: Option<(TeamId, PersonId)> = db.optional(
        "select team_id, person_id from member
         where account_id = :account and id = :member and status <> 'removed'",
        bind! { member },
    )?;
    let visible = found.filter(|(team, _)| match access.check(*team) {
        Err(error) => error.code != Code::NotFound,
        Ok(()) => true,
    });
    let Some((team, person)) = visible else {
        violations.not_found("/buyer/member_id");
        return Ok(None);
    };
    access.check_person(team, person).map_err(|_| buyer_forbidden("/buyer/member_id"))?;
    let known = find_by_id(db, person)?;
    Ok(known.map(|known| ResolvedBuyer { member_id: Some(member), ..known }))
}

fn resolve_person(
    db: &Reader<'_>,
    access: &TeamAccess,
    person: PersonId,
    violations: &mut Violations,
) -> Result<Option<ResolvedBuyer>> {
    // Outside their family, users only reach people on the teams they manage.
    let reachable = access.is_family(person)
        || person::filter_visible(db, access, &[person])?.contains(&person);
    let known = if reachable { find_by_id(db, person)? } else { None };
    if known.is_none() {
        violations.not_found("/buyer/person_id");
    }
    Ok(known)
}

/// A person as a buyer; `None` if they do not exist or were erased.
pub(super) fn find_by_id(db: &Reader<'_>, id: PersonId) -> Result<Option<ResolvedBuyer>> {
    let found = person::find_many(db, vec![id])?.remove(&id);
    Ok(found.filter(|person| person.erased_at.is_none()).map(|person| ResolvedBuyer {
        person_id: Some(id),
        ..ResolvedBuyer::by_name(person::display_name(&person), None)
    }))
}

/// Users order the club's own products only for their family, even if they manage a team.
pub(super) fn may_buy_club_products(access: &TeamAccess, buyer: &ResolvedBuyer) -> bool {
    !matches!(access, TeamAccess::User(_)) || is_family(access, buyer)
}

fn is_family(access: &TeamAccess, buyer: &ResolvedBuyer) -> bool {
    buyer.person_id.is_some_and(|person| access.is_family(person))
}

/// Families order for themselves; coaches and managers sell their team's products to anybody.
pub(super) fn check_may_order_for(
    access: &TeamAccess,
    team: Option<TeamId>,
    buyer: &ResolvedBuyer,
) -> Result<()> {
    let own = is_family(access, buyer);
    match (access, team) {
        (TeamAccess::User(_), Some(team)) if own || access.has_full_access(team) => {
            access.check(team)
        }
        (TeamAccess::User(_), None) if own => Ok(()),
        (TeamAccess::User(_), _) => Err(buyer_forbidden("/buyer")),
        _ => Ok(()),
    }
}

/// Checks that a key can access the team that sells. What users can order depends on the buyer.
pub(super) fn check_seller(access: &TeamAccess, team: TeamId) -> Result<()> {
    if matches!(access, TeamAccess::User(_)) { Ok(()) } else { access.check(team) }
}

fn buyer_forbidden(pointer: &str) -> Error {
    let detail = "You can only order for yourself and the people you are a guardian of.";
    Error::new(Code::Forbidden, detail).at(pointer)
}

row! {
    /// A team membership of the buyer (`own`) or of somebody they look after.
    struct TeamMembership {
        team_id: TeamId,
        role: Role,
        own: bool,
    }
}

/// The team memberships that decide which products somebody may buy.
pub(super) struct TeamMemberships(Vec<TeamMembership>);

impl TeamMemberships {
    /// Only needed if a product is not for everyone.
    pub(super) fn load(db: &Reader<'_>, buyer: &ResolvedBuyer) -> Result<Self> {
        let Some(person) = buyer.person_id else { return Ok(Self(Vec::new())) };
        let memberships = db.all(
            "select team_id, role, person_id = :person as own from member
             where account_id = :account and status in ('active', 'injured')
               and person_id in (
                   select person_id from guardianship
                   where account_id = :account and guardian_id = :person
                   union all select :person)",
            bind! { person },
        )?;
        Ok(Self(memberships))
    }

    /// Whether the buyer is on this team, or on any team if `None`.
    pub(super) fn is_on_team(&self, team: Option<TeamId>) -> bool {
        self.0
            .iter()
            .any(|membership| membership.own && team.is_none_or(|team| team == membership.team_id))
    }

    /// Whether the buyer may buy a product.
    pub(super) fn may_buy(&self, product: &Product) -> bool {
        let on_seller_team = |membership: &&TeamMembership| {
            product.team_id.is_none_or(|team| team == membership.team_id)
        };
        let mut memberships = self.0.iter().filter(on_seller_team);
        match product.available_to {
            AvailableTo::Everyone => true,
            AvailableTo::Members => memberships.next().is_some(),
            AvailableTo::Staff => {
                memberships.any(|membership| membership.own && membership.role.can_manage_team())
            }
        }
    }
}

/// A person who can be chosen as the buyer.
#[derive(Debug)]
pub struct Candidate {
    pub person_id: PersonId,
    pub name: String,
    /// Their teams, and the teams of the people they look after.
    pub teams: Vec<String>,
}

/// At most `limit` people whose name contains a text, sorted by name.
pub fn search(db: &Reader<'_>, name: &str, limit: i64) -> Result<Vec<Candidate>> {
    let pattern = text::contains_pattern(name);
    let found: Vec<(PersonId, String, Option<String>)> = db.all(
        "select id, coalesce(preferred_name, first_name) as first, last_name from person
         where account_id = :account and erased_at is null
           and (name_folded like :pattern escape '\\' or preferred_folded like :pattern escape '\\')
         order by name_folded, id limit :limit",
        bind! { pattern, limit },
    )?;
    let people: Vec<_> = found.iter().map(|(id, ..)| *id).collect();
    let own: Vec<(PersonId, String)> = db.all(
        "select m.person_id, t.name from member m
         join team t on t.account_id = m.account_id and t.id = m.team_id
         where m.account_id = :account and m.person_id in (:people)
           and m.status in ('active', 'injured')
         order by t.name, t.id",
        bind! { people: people.clone() },
    )?;
    let as_guardian: Vec<(PersonId, String)> = db.all(
        "select distinct g.guardian_id, t.name from guardianship g
         join member m on m.account_id = g.account_id and m.person_id = g.person_id
         join team t on t.account_id = m.account_id and t.id = m.team_id
         where g.account_id = :account and g.guardian_id in (:people)
           and m.status in ('active', 'injured')
         order by t.name",
        bind! { people },
    )?;
    let candidate = |(id, first, last): (PersonId, String, Option<String>)| {
        let mine = |(person, _): &&(PersonId, String)| *person == id;
        let own = own.iter().filter(mine).map(|(_, team)| team.clone());
        let others = as_guardian.iter().filter(mine).map(|(_, team)| t!("{team} (guardian)", team));
        let name = last.map_or(first.clone(), |last| format!("{first} {last}"));
        Candidate { person_id: id, name, teams: own.chain(others).collect() }
    };
    Ok(found.into_iter().map(candidate).collect())
}
