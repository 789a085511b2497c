//! Safeguarding: who is treated as a minor, and which adults count as the second adult beside one.
//!
//! No adult writes to a minor without a second adult who can read it. These rules decide who is who:
//!
//! - Somebody who was once known as a minor stays one until an admin confirms that they are an adult.
//! - An adult counts as a second adult after an admin has confirmed them, and only if they can read the
//!   message: they sign in, or have confirmed their email address.
//! - Whatever lowers a minor's protection needs an admin or a guardian, is audited, and the guardians
//!   are told.
//!
//! `docs/safeguarding.md` has the threat model.

use std::collections::{BTreeMap, BTreeSet};

use kit::Day;
use serde_json::json;
use store::{Reader, Tx, bind, row};

use super::guardian::{self, Guardianship};
use super::membership::Role;
use super::person::{self, Person};
use super::profile::{self, Profile};
use super::refusals::Refusals;
use super::ripple::Ripple;
use super::trust;
use crate::accounts::rights::Reach;
use crate::error::{Error, Result};
use crate::ids::{PersonId, TeamId};
use crate::reactions;
use crate::signals::Tell;
use crate::teams::age_group::{ADULT_AGE, is_adult_age_group};
use crate::teams::team::Team;

row! {
    /// What the database says about one person, apart from the teams they played on.
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Recorded {
        id: PersonId,
        birth_date: Option<Day>,
        /// Whether they were ever known to be a minor, and no admin has confirmed otherwise since.
        known_minor: bool,
        /// Whether an admin confirmed that they are an adult whom the club knows.
        adult_confirmed: bool,
        has_guardian: bool,
        /// Whether an address of theirs, on the roster or to sign in with, is also one of a minor.
        shares_minors_email: bool,
        /// Whether they can read messages: they sign in, or have confirmed their email address.
        can_read: bool,
    }
}

/// What decides whether somebody is a minor, and whether they count as a second adult.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub person_id: PersonId,
    recorded: Recorded,
    /// The age groups of all teams they play on, or ever played on.
    age_groups: Vec<Option<String>>,
}

impl Facts {
    /// Whether this person is treated as a minor. In doubt they are.
    pub fn is_minor(&self, today: Day) -> bool {
        self.is_recorded_minor(today)
            || (self.recorded.shares_minors_email && !self.recorded.adult_confirmed)
    }

    /// Whether what is recorded about the person themselves says that they are a minor.
    fn is_recorded_minor(&self, today: Day) -> bool {
        if self.recorded.birth_date.is_some_and(|born| !is_adult(born, today)) {
            return true;
        }
        if self.recorded.adult_confirmed {
            return false;
        }
        let is_youth = |group: &Option<String>| !is_adult_age_group(group.as_deref());
        let looks_young = self.recorded.has_guardian || self.age_groups.iter().any(is_youth);
        self.recorded.known_minor || (self.recorded.birth_date.is_none() && looks_young)
    }

    /// Whether this person counts as one of the two adults on a message, also as its author: an API key can
    /// write in the name of somebody who never sees it.
    pub fn counts_as_adult(&self, today: Day) -> bool {
        !self.is_minor(today) && self.recorded.adult_confirmed && self.recorded.can_read
    }
}

/// Whether somebody who was born on this day is an adult today.
pub fn is_adult(born: Day, today: Day) -> bool {
    born.age_on(today).is_some_and(|age| age >= ADULT_AGE)
}

/// The facts about these people. People who were erased are left out.
pub fn facts(db: &Reader<'_>, people: &BTreeSet<PersonId>) -> Result<Vec<Facts>> {
    let ids: Vec<_> = people.iter().copied().collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut age_groups: BTreeMap<PersonId, Vec<Option<String>>> = BTreeMap::new();
    let teams: Vec<(PersonId, Option<String>)> = db.all(
        "select distinct member.person_id, team.age_group
         from member
         join team on team.account_id = member.account_id and team.id = member.team_id
         where member.account_id = :account and member.person_id in (:ids) and member.has_played",
        bind! { ids },
    )?;
    for (person, age_group) in teams {
        age_groups.entry(person).or_default().push(age_group);
    }
    let recorded: Vec<Recorded> = db.all(RECORDED, bind! { ids })?;
    let facts = recorded.into_iter().map(|recorded| Facts {
        person_id: recorded.id,
        age_groups: age_groups.remove(&recorded.id).unwrap_or_default(),
        recorded,
    });
    Ok(facts.collect())
}

const RECORDED: &str = "
    select p.id, p.birth_date, p.known_minor, p.adult_confirmed_at is not null as adult_confirmed,
           exists (select 1 from guardianship g
                   where g.account_id = p.account_id and g.person_id = p.id) as has_guardian,
           (exists (select 1 from person o
                    where o.account_id = p.account_id and o.email_folded = p.email_folded
                      and o.id <> p.id and o.known_minor and o.erased_at is null)
            or exists (select 1 from app_user u
                       join person o on o.account_id = p.account_id and o.user_id = u.id
                       where u.email_folded = p.email_folded
                         and o.id <> p.id and o.known_minor and o.erased_at is null)
            or exists (select 1 from app_user u
                       join person o on o.account_id = p.account_id and o.email_folded = u.email_folded
                       where u.id = p.user_id
                         and o.id <> p.id and o.known_minor and o.erased_at is null)) as shares_minors_email,
           (p.email is not null and p.email_confirmed_at is not null and p.wants_email
            or exists (select 1 from account_user a join app_user u on u.id = a.user_id
                       where a.account_id = p.account_id and a.user_id = p.user_id
                         and u.disabled_at is null)) as can_read
    from person p
    where p.account_id = :account and p.id in (:ids) and p.erased_at is null";

/// Whether somebody is treated as a minor today (in UTC).
pub fn is_minor(db: &Reader<'_>, id: PersonId) -> Result<bool> {
    let today = person::today(db.now());
    Ok(facts(db, &BTreeSet::from([id]))?.iter().any(|facts| facts.is_minor(today)))
}

/// Those of these people who are treated as minors today (in UTC).
pub fn minors(db: &Reader<'_>, people: &BTreeSet<PersonId>) -> Result<BTreeSet<PersonId>> {
    let today = person::today(db.now());
    let facts = facts(db, people)?.into_iter().filter(|facts| facts.is_minor(today));
    Ok(facts.map(|facts| facts.person_id).collect())
}

/// Remembers which of these people are minors, so that no later change of what is recorded about them
/// makes them adults.
pub(super) fn remember_minors(tx: &Tx<'_>, people: &BTreeSet<PersonId>) -> Result<()> {
    let today = person::today(tx.now());
    let all = facts(tx, people)?.into_iter();
    let minors = all.filter(|one| !one.recorded.known_minor && one.is_recorded_minor(today));
    mark_minors(tx, minors.map(|one| one.person_id).collect())
}

/// Whether somebody becomes a player of a youth team of whom it is not certain that they are an adult. The birth
/// date that a coach enters is not enough: otherwise a coach could add a child once more, as an adult.
pub(super) fn is_doubtful(reach: &Reach, team: &Team, person: &Person, role: Role) -> bool {
    let is_youth_player = role == Role::Player && !is_adult_age_group(team.age_group.as_deref());
    let is_known = *reach == Reach::Everywhere || person.adult_confirmed_at.is_some();
    is_youth_player && !(is_known && person.birth_date.is_some())
}

/// Refuses what lowers the protection of a minor, or the ways to reach a guardian, unless the caller may do it.
/// The address of a minor is protected because a minor is also recognised by it.
pub(super) fn check(
    db: &Reader<'_>,
    reach: &Reach,
    (before, after): (&Person, &Person),
    refusals: &mut Refusals,
) -> Result<()> {
    if may_lower(db, reach, before.id)? {
        return Ok(());
    }
    if makes_adult(db, before, after)? {
        refusals.guardian_decides("/birth_date");
    }
    let new_email = before.email_folded.is_some() && before.email_folded != after.email_folded;
    if new_email && is_minor(db, before.id)? {
        refusals.guardian_decides("/email");
    }
    if before.wants_email != after.wants_email && !reach.is_own(before.id) {
        refusals.admin_decides("/wants_email");
    }
    Ok(())
}

/// Remembers that these people are minors.
pub(super) fn mark_minors(tx: &Tx<'_>, people: Vec<PersonId>) -> Result<()> {
    if !people.is_empty() {
        tx.run(
            "update person set known_minor = true, adult_confirmed_at = null,
                 adult_confirmed_by = null
             where account_id = :account and id in (:people)",
            bind! { people },
        )?;
    }
    Ok(())
}

/// Whether the caller may lower somebody's protection: admins, keys of the whole club, and guardians of
/// the person whom an admin has confirmed.
pub(super) fn may_lower(db: &Reader<'_>, reach: &Reach, id: PersonId) -> Result<bool> {
    if *reach == Reach::Everywhere {
        return Ok(true);
    }
    let (own, _) = reach.kin();
    let guardians = guardian::of(db, &[id])?;
    let confirmed = guardians.iter().filter(|link| link.is_confirmed());
    Ok(confirmed.into_iter().any(|link| own.contains(&link.guardian.id)))
}

/// Records what a change of a person does to their protection, or to how a guardian is reached. To be called before
/// the change is made.
pub(super) fn record_change(tx: &Tx<'_>, before: &Person, after: &Person) -> Result<()> {
    if makes_adult(tx, before, after)? {
        record(tx, before.id, &ProtectionChange::BirthDate)?;
    }
    let new_email = before.email_folded.is_some() && before.email_folded != after.email_folded;
    if new_email && is_minor(tx, before.id)? {
        record(tx, before.id, &ProtectionChange::Email)?;
    }
    let loses_confirmation =
        before.adult_confirmed_at.is_some() && after.adult_confirmed_at.is_none();
    if new_email && loses_confirmation {
        reactions::address_replaced(tx, before)?;
    }
    Ok(())
}

/// Whether a new birth date would make a minor an adult.
fn makes_adult(db: &Reader<'_>, before: &Person, after: &Person) -> Result<bool> {
    let today = person::today(db.now());
    let adult = after.birth_date.is_some_and(|born| is_adult(born, today));
    Ok(adult && after.birth_date != before.birth_date && is_minor(db, before.id)?)
}

/// The changed person as this caller may leave them: whoever is not an admin, and gives somebody else
/// another email address, takes the admin's confirmation away. Otherwise the address of a confirmed
/// guardian could be replaced by one's own. So does whoever gives themselves the address of a minor.
pub(super) fn with_new_email(
    db: &Reader<'_>,
    reach: &Reach,
    before: &Person,
    after: Person,
) -> Result<Person> {
    if *reach == Reach::Everywhere || before.email_folded == after.email_folded {
        return Ok(after);
    }
    if reach.is_own(before.id) && minors_at(db, &after)?.iter().all(|minor| *minor == before.id) {
        return Ok(after);
    }
    Ok(Person { adult_confirmed_at: None, adult_confirmed_by: None, ..after })
}

/// The minors who read what is sent to this person's address: the person, if they are one, and all minors who have the
/// same address on the roster or sign in with it.
pub fn minors_at(db: &Reader<'_>, person: &Person) -> Result<BTreeSet<PersonId>> {
    let mut people = BTreeSet::from([person.id]);
    if let Some(email) = person.email_folded.clone() {
        let others: Vec<(PersonId,)> = db.all(
            "select id from person
             where account_id = :account and email_folded = :email and known_minor and erased_at is null
             union
             select o.id from app_user u
             join person o on o.account_id = :account and o.user_id = u.id
             where u.email_folded = :email and o.known_minor and o.erased_at is null",
            bind! { email },
        )?;
        people.extend(others.into_iter().map(|(id,)| id));
    }
    minors(db, &people)
}

/// What lowered or changed the protection of a minor, for the audit log and the guardians.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtectionChange {
    /// The birth date now says that they are an adult.
    BirthDate,
    /// They have another email address now.
    Email,
    /// Somebody became a guardian beside those who were there.
    GuardianAdded(PersonId),
    GuardianRemoved(PersonId),
    /// A guardian may collect them now.
    PickUpAllowed(PersonId),
    /// A guardian no longer gets the messages they get.
    MessagesStopped(PersonId),
    /// An admin confirmed that they are an adult.
    AdultConfirmed,
    /// Somebody signs in as them now.
    SignsIn,
    /// Their team now is one of adults.
    AgeGroup,
}

impl ProtectionChange {
    /// Its name in the audit log.
    fn code(&self) -> &'static str {
        match self {
            Self::BirthDate => "birth_date",
            Self::Email => "email",
            Self::GuardianAdded(_) => "guardian_added",
            Self::GuardianRemoved(_) => "guardian_removed",
            Self::PickUpAllowed(_) => "pick_up_allowed",
            Self::MessagesStopped(_) => "messages_stopped",
            Self::AdultConfirmed => "adult_confirmed",
            Self::SignsIn => "signs_in",
            Self::AgeGroup => "age_group",
        }
    }

    /// The guardian it is about.
    pub fn guardian(&self) -> Option<PersonId> {
        match self {
            Self::GuardianAdded(id)
            | Self::GuardianRemoved(id)
            | Self::PickUpAllowed(id)
            | Self::MessagesStopped(id) => Some(*id),
            _ => None,
        }
    }
}

/// Enters a change of somebody's protection in the audit log and tells the guardians, those who were
/// removed included.
pub fn record(tx: &Tx<'_>, id: PersonId, change: &ProtectionChange) -> Result<()> {
    let details = json!({ "change": change.code(), "guardian": change.guardian() });
    tx.audit("person.protection_changed", &id.to_string(), &details)?;
    reactions::protection_changed(tx, id, change)
}

/// Records that a team is one of adults now, for each minor on it.
pub fn record_for_team(tx: &Tx<'_>, team: TeamId) -> Result<()> {
    let players: Vec<(PersonId,)> = tx.all(
        "select distinct person_id from member
         where account_id = :account and team_id = :team and status <> 'removed'",
        bind! { team },
    )?;
    let today = person::today(tx.now());
    let players = players.into_iter().map(|(id,)| id).collect();
    for minor in facts(tx, &players)?.iter().filter(|one| one.is_minor(today)) {
        record(tx, minor.person_id, &ProtectionChange::AgeGroup)?;
    }
    Ok(())
}

/// The protection changes between two lists of guardians. Adding the first guardians is not a change.
pub(super) fn guardian_changes(
    before: &[Guardianship],
    after: &[Guardianship],
) -> Vec<ProtectionChange> {
    let find =
        |ties: &'_ [Guardianship], id| ties.iter().find(|tie| tie.guardian_id == id).cloned();
    let mut changes = Vec::new();
    for tie in after {
        let id = tie.guardian_id;
        match find(before, id) {
            None if before.is_empty() => {}
            None => changes.push(ProtectionChange::GuardianAdded(id)),
            Some(was) => {
                if tie.may_pick_up && !was.may_pick_up {
                    changes.push(ProtectionChange::PickUpAllowed(id));
                }
                if was.receives_messages && !tie.receives_messages {
                    changes.push(ProtectionChange::MessagesStopped(id));
                }
            }
        }
    }
    let gone = before.iter().filter(|tie| find(after, tie.guardian_id).is_none());
    changes.extend(gone.map(|tie| ProtectionChange::GuardianRemoved(tie.guardian_id)));
    changes
}

/// An admin confirms that somebody is an adult whom the club knows, and that they are the guardian of those they
/// are said to look after. From then on they are no minor, and count as a second adult.
pub fn confirm_adult(tx: &Tx<'_>, reach: &Reach, id: PersonId) -> Result<Profile> {
    if *reach != Reach::Everywhere {
        return Err(trust::admin_decides());
    }
    let before = person::find(tx, id)?;
    if before.erased_at.is_some() {
        return Err(Error::invalid_state("The person was erased."));
    }
    let today = person::today(tx.now());
    if before.birth_date.is_some_and(|born| !is_adult(born, today)) {
        let detail = "The birth date says that this person is under 18. Correct it first.";
        return Err(Error::invalid_state(detail));
    }
    if before.adult_confirmed_at.is_none() {
        let was_minor = is_minor(tx, id)?;
        save(tx, with_confirmation(tx, &before), before)?;
        if was_minor {
            record(tx, id, &ProtectionChange::AdultConfirmed)?;
        } else {
            tx.audit("person.adult_confirmed", &id.to_string(), &json!({}))?;
        }
    }
    guardian::confirm(tx, id, None)?;
    profile::show(tx, &Reach::Everywhere, id)
}

/// Treats somebody as a minor until an admin confirms that they are an adult.
pub fn mark_minor(tx: &Tx<'_>, reach: &Reach, id: PersonId) -> Result<Profile> {
    let before = person::reachable(tx, reach, id)?;
    if before.erased_at.is_some() {
        return Err(Error::invalid_state("The person was erased."));
    }
    if !before.known_minor {
        let (at, by) = (None, None);
        let after = Person {
            known_minor: true,
            adult_confirmed_at: at,
            adult_confirmed_by: by,
            ..before.clone()
        };
        save(tx, after, before)?;
        tx.audit("person.marked_minor", &id.to_string(), &json!({}))?;
    }
    profile::show(tx, reach, id)
}

/// Confirms these new coaches and guardians, if whoever let them in may do that.
pub(super) fn confirm_new_adults(tx: &Tx<'_>, reach: &Reach, people: Vec<PersonId>) -> Result<()> {
    if *reach != Reach::Everywhere {
        return Ok(());
    }
    people.into_iter().try_for_each(|id| confirm_new_adult(tx, id))
}

/// Notes that an admin let somebody in as an adult, such as a new coach or guardian. Minors stay minors.
pub fn confirm_new_adult(tx: &Tx<'_>, id: PersonId) -> Result<()> {
    let before = person::find(tx, id)?;
    if before.adult_confirmed_at.is_some() || before.erased_at.is_some() || is_minor(tx, id)? {
        return Ok(());
    }
    person::update(tx, &with_confirmation(tx, &before))?;
    tx.audit("person.adult_confirmed", &id.to_string(), &json!({}))
}

/// Takes an admin's confirmation back, such as when a stranger may sign in as this person.
pub fn withdraw_confirmation(tx: &Tx<'_>, id: PersonId) -> Result<()> {
    let before = person::find(tx, id)?;
    if before.adult_confirmed_at.is_none() {
        return Ok(());
    }
    person::update(tx, &Person { adult_confirmed_at: None, adult_confirmed_by: None, ..before })?;
    tx.audit("person.adult_confirmation_withdrawn", &id.to_string(), &json!({}))
}

fn with_confirmation(tx: &Tx<'_>, person: &Person) -> Person {
    Person {
        known_minor: false,
        adult_confirmed_at: Some(tx.now()),
        adult_confirmed_by: Some(tx.actor().to_owned()),
        ..person.clone()
    }
}

fn save(tx: &Tx<'_>, after: Person, before: Person) -> Result<()> {
    person::update(tx, &after)?;
    let mut ripple = Ripple::default();
    ripple.changed(before, &after);
    ripple.settle(tx, None)
}

/// Notes that these people, who are new, have confirmed their addresses.
pub fn confirm_new_emails(tx: &Tx<'_>, people: Vec<PersonId>) -> Result<()> {
    tx.run(
        "update person set email_confirmed_at = :now
         where account_id = :account and id in (:people) and email is not null",
        bind! { people },
    )?;
    Ok(())
}

/// Notes that a person has followed the link that was sent to this address. Says whether it still is
/// theirs.
pub fn confirm_email(tx: &Tx<'_>, id: PersonId, email_folded: &str) -> Result<bool> {
    let before = person::find(tx, id)?;
    if before.erased_at.is_some() || before.email_folded.as_deref() != Some(email_folded) {
        return Ok(false);
    }
    if before.email_confirmed_at.is_none() {
        let after = Person { email_confirmed_at: Some(tx.now()), ..before.clone() };
        save(tx, after, before)?;
        tx.audit("person.email_confirmed", &id.to_string(), &json!({}))?;
    }
    Ok(true)
}
