//! Trust: what somebody who answers for some teams only may do to the people on them.
//!
//! A person is kept once, so what a coach changes of somebody holds on teams that the coach does not lead.
//! Whoever looks after a child sees all its teams, letters go where a card says, and whoever leads a team
//! sees what is private of everybody there. Nobody gives or moves any of that beyond their own teams: admins,
//! and keys of the whole club, decide about it. Teams that were archived do not count; nobody sees them.

use store::{Reader, bind};

use super::guardian;
use super::membership::{self, MemberStatus, Membership, Role, counted};
use super::person::{self, Person};
use crate::accounts::rights::Reach;
use crate::error::{Code, Error, Result};
use crate::ids::{PersonId, TeamId};
use crate::teams::age_group::ADULT_AGE;

/// What those are told who may not decide something themselves.
pub const ADMIN_DECIDES: &str = "An admin of the club decides this.";

/// What those are told who would lower the protection of a minor.
pub const GUARDIAN_DECIDES: &str = "Only an admin or a confirmed guardian can make this change, because it lowers a minor's protection.";

/// The refusal of what an admin decides.
pub fn admin_decides() -> Error {
    Error::new(Code::Forbidden, ADMIN_DECIDES)
}

/// The teams that these people are on, as far as anybody sees them through it.
pub fn places(db: &Reader<'_>, people: Vec<PersonId>) -> Result<Vec<(PersonId, TeamId)>> {
    Ok(db.all(
        "select m.person_id, m.team_id from member m
         join team t on t.account_id = m.account_id and t.id = m.team_id
         where m.account_id = :account and m.person_id in (:people)
           and m.status <> 'removed' and t.status = 'active'",
        bind! { people },
    )?)
}

fn only_on_led(db: &Reader<'_>, reach: &Reach, people: Vec<PersonId>) -> Result<bool> {
    Ok(places(db, people)?.iter().all(|(_, team)| reach.opens(*team)))
}

/// Somebody who is to be looked after.
#[derive(Debug, Clone, Copy)]
pub struct Ward<'a> {
    /// As they are, and as they will be after the same change.
    pub was: &'a Person,
    pub now: &'a Person,
    /// What they become on a team by the same change.
    pub role: Option<Role>,
}

impl<'a> Ward<'a> {
    /// Somebody of whom nothing else changes.
    pub fn same(person: &'a Person) -> Self {
        Self { was: person, now: person, role: None }
    }
}

/// Whether the caller may say that somebody who did not so far looks after this person.
pub(super) fn may_tie(db: &Reader<'_>, reach: &Reach, ward: Ward<'_>) -> Result<bool> {
    if *reach == Reach::Everywhere {
        return Ok(true);
    }
    Ok(is_looked_after(db, ward)? && only_on_led(db, reach, vec![ward.now.id])?)
}

/// Whether this is somebody whom others look after, as far as it can be told. A coach who becomes the
/// "ward" of a friend would show that friend their own letters and teams.
pub fn is_looked_after(db: &Reader<'_>, ward: Ward<'_>) -> Result<bool> {
    let id = ward.now.id;
    let today = person::today(db.now());
    let grown = |person: &Person| {
        let age = person.birth_date.and_then(|born| born.age_on(today));
        age.is_some_and(|age| age >= ADULT_AGE)
    };
    if grown(ward.was) || grown(ward.now) || ward.was.user_id.is_some() {
        return Ok(false);
    }
    let works = |role: Role| role != Role::Player;
    if ward.role.is_some_and(works) || holds(db, id, works)? {
        return Ok(false);
    }
    Ok(!guardian::any(db, vec![id])?)
}

/// Whether somebody leads a team, or would if it were not archived or they not inactive.
pub fn is_leader(db: &Reader<'_>, person: PersonId) -> Result<bool> {
    holds(db, person, Role::leads)
}

fn holds(db: &Reader<'_>, person: PersonId, is: impl Fn(Role) -> bool) -> Result<bool> {
    let memberships = membership::of(db, vec![person])?;
    Ok(memberships.iter().any(|m| m.status != MemberStatus::Removed && is(m.role)))
}

/// What the caller would change of somebody's contact data without being allowed to. They may for themselves,
/// and for people who do not sign in and are known on the caller's teams only.
pub(super) fn foreign_contact(
    db: &Reader<'_>,
    reach: &Reach,
    before: &Person,
    after: &Person,
) -> Result<Option<&'static str>> {
    let members = [
        ("email", before.email != after.email),
        ("phone", before.phone != after.phone),
        ("address", before.address != after.address),
    ];
    let changed = members.into_iter().find_map(|(name, differs)| differs.then_some(name));
    if changed.is_none() || *reach == Reach::Everywhere || reach.is_own(before.id) {
        return Ok(None);
    }
    if before.user_id.is_some() {
        return Ok(changed);
    }
    let wards = guardian::children(db, &[before.id])?.into_iter().map(|tie| tie.person_id);
    let family = wards.chain([before.id]).collect();
    Ok(if only_on_led(db, reach, family)? { None } else { changed })
}

/// Whether the caller may make somebody what they become on a team. Who signs in and leads a team sees what
/// is private of everybody there: admins let coaches in.
pub(super) fn may_become(
    reach: &Reach,
    person: &Person,
    before: Option<&Membership>,
    after: &Membership,
) -> bool {
    let begins = |before: &Membership| {
        before.role != after.role || counted(before.status) < counted(after.status)
    };
    let given = after.role.leads() && before.is_none_or(begins);
    !given || person.user_id.is_none() || *reach == Reach::Everywhere
}
