//! Who buys: a member, a guardian, or somebody who is on no roster; and who may buy for whom.

use kit::text;
use store::{Reader, bind, row};
use utoipa::ToSchema;

use super::Against;
use super::product::{Buyers, Stored as Product};
use crate::accounts::rights::Reach;
use crate::error::{Code, Error, Result};
use crate::ids::{MemberId, PersonId, TeamId};
use crate::roster::membership::Role;
use crate::roster::person;

/// Who an order is for: a member, a person such as a guardian, or somebody by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, ToSchema)]
pub struct NewBuyer {
    pub member_id: Option<MemberId>,
    pub person_id: Option<PersonId>,
    /// Of somebody who is on no roster.
    #[schema(examples("Rui Duarte"), min_length = 1, max_length = 120)]
    pub name: Option<String>,
    /// With `name`.
    #[schema(value_type = Option<String>, format = Email, max_length = 254)]
    pub email: Option<String>,
}

/// Who buys.
#[derive(Debug, Clone)]
pub struct Known {
    pub member_id: Option<MemberId>,
    pub person_id: Option<PersonId>,
    pub name: String,
    pub email: Option<String>,
}

/// Finds out who buys; `None` only if a fault was noted.
pub(super) fn find(
    db: &Reader<'_>,
    reach: &Reach,
    named: Option<NewBuyer>,
    against: &mut Against,
) -> Result<Option<Known>> {
    let Some(new) = named.or_else(|| themselves(reach)) else {
        against.invalid("/buyer", "required", "Say who buys it.");
        return Ok(None);
    };
    let NewBuyer { member_id, person_id, name, email } = new;
    if email.is_some() && name.is_none() {
        let why = "Only with a name: of people on the roster, the address is known.";
        against.invalid("/buyer/email", "not_allowed", why);
    }
    match (member_id, person_id, name) {
        (Some(member), None, None) => of_member(db, reach, member, against),
        (None, Some(person), None) => of_person(db, reach, person, against),
        (None, None, Some(name)) => {
            Ok(Some(Known { member_id: None, person_id: None, name, email }))
        }
        _ => {
            let why = "Name the buyer by one of member_id, person_id and name.";
            against.invalid("/buyer", "ambiguous", why);
            Ok(None)
        }
    }
}

/// Users who do not say who buys mean themselves.
fn themselves(reach: &Reach) -> Option<NewBuyer> {
    let (own, _) = reach.kin();
    own.first().map(|person| NewBuyer { person_id: Some(*person), ..NewBuyer::default() })
}

fn of_member(
    db: &Reader<'_>,
    reach: &Reach,
    member: MemberId,
    against: &mut Against,
) -> Result<Option<Known>> {
    let found: Option<(TeamId, PersonId)> = db.maybe(
        "select team_id, person_id from member
         where account_id = :account and id = :member and status <> 'removed'",
        bind! { member },
    )?;
    let seen = found.filter(|(team, _)| match reach.check(*team) {
        Err(error) => error.code != Code::NotFound,
        Ok(()) => true,
    });
    let Some((team, person)) = seen else {
        against.missing("/buyer/member_id");
        return Ok(None);
    };
    reach.check_person(team, person).map_err(|_| not_for_them("/buyer/member_id"))?;
    let known = called(db, person)?;
    Ok(known.map(|known| Known { member_id: Some(member), ..known }))
}

fn of_person(
    db: &Reader<'_>,
    reach: &Reach,
    person: PersonId,
    against: &mut Against,
) -> Result<Option<Known>> {
    // Of people outside their family, users reach those of the teams they lead.
    let open = reach.is_family(person) || person::reached(db, reach, &[person])?.contains(&person);
    let known = if open { called(db, person)? } else { None };
    if known.is_none() {
        against.missing("/buyer/person_id");
    }
    Ok(known)
}

/// A person by their name; nobody who was erased.
pub(super) fn called(db: &Reader<'_>, id: PersonId) -> Result<Option<Known>> {
    let found = person::all(db, vec![id])?.remove(&id);
    Ok(found.filter(|person| person.erased_at.is_none()).map(|person| Known {
        member_id: None,
        person_id: Some(id),
        name: person::display_name(&person),
        email: None,
    }))
}

/// What the club sells, those who lead a team order for their families only.
pub(super) fn may_buy_of_club(reach: &Reach, buyer: &Known) -> bool {
    !matches!(reach, Reach::User(_)) || is_own(reach, buyer)
}

fn is_own(reach: &Reach, buyer: &Known) -> bool {
    buyer.person_id.is_some_and(|person| reach.is_family(person))
}

/// Families order for themselves; those who lead a team sell what is its own to anybody.
pub(super) fn check(reach: &Reach, team: Option<TeamId>, buyer: &Known) -> Result<()> {
    let own = is_own(reach, buyer);
    match (reach, team) {
        (Reach::User(_), Some(team)) if own || reach.opens(team) => reach.check(team),
        (Reach::User(_), None) if own => Ok(()),
        (Reach::User(_), _) => Err(not_for_them("/buyer")),
        (_, Some(team)) => reach.check(team).map_err(|error| error.at("/team_id")),
        (_, None) => Ok(()),
    }
}

fn not_for_them(pointer: &str) -> Error {
    let detail = "You can order for yourself and those you look after.";
    Error::new(Code::Forbidden, detail).at(pointer)
}

row! {
    /// A place on a roster of the buyer, or of somebody they look after.
    struct Seat {
        team_id: TeamId,
        role: Role,
        own: bool,
    }
}

/// What somebody is on the rosters, as products ask.
pub(super) struct Seats(Vec<Seat>);

impl Seats {
    /// Looked up only where a product is not for everyone.
    pub(super) fn of(db: &Reader<'_>, buyer: &Known) -> Result<Self> {
        let Some(person) = buyer.person_id else { return Ok(Self(Vec::new())) };
        let seats = db.all(
            "select team_id, role, person_id = :person as own from member
             where account_id = :account and status in ('active', 'injured')
               and person_id in (
                   select person_id from guardianship
                   where account_id = :account and guardian_id = :person
                   union all select :person)",
            bind! { person },
        )?;
        Ok(Self(seats))
    }

    /// Whether they are on a team themselves; with `None`, on any.
    pub(super) fn is_on(&self, team: Option<TeamId>) -> bool {
        self.0.iter().any(|seat| seat.own && team.is_none_or(|team| team == seat.team_id))
    }

    /// Whether they may buy a product.
    pub(super) fn may_buy(&self, product: &Product) -> bool {
        let here = |seat: &&Seat| product.team_id.is_none_or(|team| team == seat.team_id);
        let mut seats = self.0.iter().filter(here);
        match product.buyers {
            Buyers::Everyone => true,
            Buyers::Members => seats.next().is_some(),
            Buyers::Staff => seats.any(|seat| seat.own && seat.role.leads()),
        }
    }
}

/// Somebody who can be named as the buyer.
#[derive(Debug)]
pub struct Candidate {
    pub person_id: PersonId,
    pub name: String,
    /// Their teams, and those of whom they look after.
    pub teams: Vec<String>,
}

/// People whose name contains a text, by name; at most `limit` of them.
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
        let others = as_guardian.iter().filter(mine).map(|(_, team)| format!("{team} (guardian)"));
        let name = last.map_or(first.clone(), |last| format!("{first} {last}"));
        Candidate { person_id: id, name, teams: own.chain(others).collect() }
    };
    Ok(found.into_iter().map(candidate).collect())
}
