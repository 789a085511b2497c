//! Safeguarding: who is treated as a minor, and which adults count as the second adult in conversations with minors.
//!
//! No adult writes to a minor without a second adult who can read the message. The rules:
//!
//! - A person who was ever known to be a minor is treated as one until an admin confirms that they are an adult.
//! - An adult counts as a second adult if an admin has confirmed them and if they can read the message: they sign in,
//!   or have confirmed their email address.
//! - Changes that lower a minor's protection need an admin or a guardian, are recorded in the audit log, and are
//!   emailed to the guardians.
//!
//! `docs/safeguarding.md` has the threat model.

use std::collections::{BTreeMap, BTreeSet};

use kit::string_enum;

use super::guardian::{self, Guardianship};
use super::guards;
use super::guards::{report_admin_only, report_guardian_only};
use super::membership::Role;
use super::person::{self, Person};
use super::photo;
use super::profile::{self, Profile};
use super::version_cascade::save_person;
use crate::hook::Hook;
use crate::prelude::*;
use crate::teams::age_group::{ADULT_AGE, is_adult_age_group};
use crate::teams::team::Team;

type ProtectionHook = fn(&Tx<'_>, PersonId, ProtectionChange, Option<PersonId>) -> Result<()>;

/// Runs when the protection of a minor changes. Gets the guardian that the change is about, if there is one.
pub static ON_PROTECTION_CHANGED: Hook<ProtectionHook> =
    Hook::new("safeguarding::ON_PROTECTION_CHANGED");
/// Runs when somebody else replaces the address of a confirmed adult. Gets the person before the change.
pub static ON_ADDRESS_REPLACED: Hook<fn(&Tx<'_>, &Person) -> Result<()>> =
    Hook::new("safeguarding::ON_ADDRESS_REPLACED");

row! {
    /// The facts about one person, except for the teams they played on.
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct RecordedFacts {
        id: PersonId,
        birth_date: Option<Day>,
        /// Whether they were ever known to be a minor and no admin has confirmed since then that they are an adult.
        known_minor: bool,
        /// Whether an admin confirmed that they are an adult known to the club.
        adult_confirmed: bool,
        has_guardian: bool,
        /// Whether their email address on the roster or the one they sign in with is also an address of a minor.
        shares_minors_email: bool,
        /// Whether they can read messages: they sign in, or have confirmed their email address.
        can_read: bool,
    }
}

/// The facts that decide whether a person is a minor and whether they count as a second adult.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafeguardingFacts {
    pub person_id: PersonId,
    recorded: RecordedFacts,
    /// The age groups of all current and former teams as a player.
    age_groups: Vec<Option<String>>,
}

impl SafeguardingFacts {
    /// Whether this person is treated as a minor. In case of doubt, they are.
    pub fn is_minor(&self, today: Day) -> bool {
        self.is_recorded_minor(today)
            || (self.recorded.shares_minors_email && !self.recorded.adult_confirmed)
    }

    /// Whether the person is a minor according to their own data, regardless of a shared email address.
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

    /// Whether this person counts as one of the two adults of a message. Authors are checked too, because an API key
    /// can post on behalf of a person who never sees the message.
    pub fn counts_as_adult(&self, today: Day) -> bool {
        !self.is_minor(today) && self.recorded.adult_confirmed && self.recorded.can_read
    }
}

/// Whether a person with this birth date is an adult today.
pub fn is_adult(born: Day, today: Day) -> bool {
    born.age_on(today).is_some_and(|age| age >= ADULT_AGE)
}

/// The facts about these people. Erased people are left out.
pub fn load_facts(db: &Reader<'_>, people: &BTreeSet<PersonId>) -> Result<Vec<SafeguardingFacts>> {
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
    let recorded: Vec<RecordedFacts> = db.all(SELECT_FACTS, bind! { ids })?;
    let facts = recorded.into_iter().map(|recorded| SafeguardingFacts {
        person_id: recorded.id,
        age_groups: age_groups.remove(&recorded.id).unwrap_or_default(),
        recorded,
    });
    Ok(facts.collect())
}

const SELECT_FACTS: &str = "
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
           (p.email is not null and p.email_confirmed_at is not null and p.email_opt_in
            or exists (select 1 from account_user a join app_user u on u.id = a.user_id
                       where a.account_id = p.account_id and a.user_id = p.user_id
                         and u.disabled_at is null)) as can_read
    from person p
    where p.account_id = :account and p.id in (:ids) and p.erased_at is null";

/// Whether a person is treated as a minor today (in UTC).
pub fn is_minor(db: &Reader<'_>, id: PersonId) -> Result<bool> {
    Ok(!minors(db, &BTreeSet::from([id]))?.is_empty())
}

/// The people among these who are treated as minors today (in UTC).
pub fn minors(db: &Reader<'_>, people: &BTreeSet<PersonId>) -> Result<BTreeSet<PersonId>> {
    let today = person::today(db.now());
    let facts = load_facts(db, people)?.into_iter().filter(|facts| facts.is_minor(today));
    Ok(facts.map(|facts| facts.person_id).collect())
}

/// Whether any of these people is or was known to be a minor, regardless of a shared email address.
pub(super) fn is_any_known_minor(db: &Reader<'_>, people: &BTreeSet<PersonId>) -> Result<bool> {
    let today = person::today(db.now());
    let mut facts = load_facts(db, people)?.into_iter();
    Ok(facts.any(|one| one.recorded.known_minor || one.is_recorded_minor(today)))
}

/// Marks those of these people who are minors as known minors, so that later changes to their data do not make them
/// adults.
pub(super) fn mark_known_minors(tx: &Tx<'_>, people: &BTreeSet<PersonId>) -> Result<()> {
    let today = person::today(tx.now());
    let all = load_facts(tx, people)?.into_iter();
    let minors = all.filter(|one| !one.recorded.known_minor && one.is_recorded_minor(today));
    let minors: Vec<_> = minors.map(|one| one.person_id).collect();
    photo::remove_unchecked(tx, &minors)?;
    mark_minors(tx, minors)
}

/// Whether a person becomes a player on a youth team and may be a minor. A birth date that a coach enters is not
/// enough: otherwise a coach could add a child a second time, as an adult.
pub(super) fn may_be_minor(access: &TeamAccess, team: &Team, person: &Person, role: Role) -> bool {
    let is_youth_player = role == Role::Player && !is_adult_age_group(team.age_group.as_deref());
    let is_known = *access == TeamAccess::AllTeams || person.adult_confirmed_at.is_some();
    is_youth_player && !(is_known && person.birth_date.is_some())
}

/// Adds violations for changes that lower the protection of a minor or stop emails to another person, unless the caller
/// may make them. The email address of a minor is protected because minors are also recognized by it.
pub(super) fn check_change(
    db: &Reader<'_>,
    access: &TeamAccess,
    (before, after): (&Person, &Person),
    violations: &mut Violations,
) -> Result<()> {
    if can_lower_protection(db, access, before.id)? {
        return Ok(());
    }
    if makes_adult(db, before, after)? {
        report_guardian_only(violations, "/birth_date");
    }
    let new_email = before.email_folded.is_some() && before.email_folded != after.email_folded;
    if new_email && is_minor(db, before.id)? {
        report_guardian_only(violations, "/email");
    }
    if before.email_opt_in != after.email_opt_in && !access.is_self(before.id) {
        report_admin_only(violations, "/email_opt_in");
    }
    Ok(())
}

/// Marks these people as known minors.
pub(super) fn mark_minors(tx: &Tx<'_>, people: Vec<PersonId>) -> Result<()> {
    if !people.is_empty() {
        tx.execute(
            "update person set known_minor = true, adult_confirmed_at = null,
                 adult_confirmed_by = null
             where account_id = :account and id in (:people)",
            bind! { people },
        )?;
    }
    Ok(())
}

/// Whether the caller may lower the protection of a person: admins, API keys for the whole club, and confirmed
/// guardians of the person may.
pub(super) fn can_lower_protection(
    db: &Reader<'_>,
    access: &TeamAccess,
    id: PersonId,
) -> Result<bool> {
    if *access == TeamAccess::AllTeams {
        return Ok(true);
    }
    let (own, _) = access.own_and_family_ids();
    let guardians = guardian::list_for(db, &[id])?;
    let confirmed = guardians.iter().filter(|link| link.is_confirmed());
    Ok(confirmed.into_iter().any(|link| own.contains(&link.guardian.id)))
}

/// Records how a change of a person affects their protection, and informs an adult whose address was replaced. Must be
/// called before the change is saved.
pub(super) fn record_change(tx: &Tx<'_>, before: &Person, after: &Person) -> Result<()> {
    if makes_adult(tx, before, after)? {
        record(tx, before.id, ProtectionChange::BirthDate, None)?;
    }
    let new_email = before.email_folded.is_some() && before.email_folded != after.email_folded;
    if new_email && is_minor(tx, before.id)? {
        record(tx, before.id, ProtectionChange::Email, None)?;
    }
    let loses_confirmation =
        before.adult_confirmed_at.is_some() && after.adult_confirmed_at.is_none();
    if new_email && loses_confirmation {
        ON_ADDRESS_REPLACED.get()?(tx, before)?;
    }
    Ok(())
}

/// Records that a merge of two records removed the address of the one that ended, and informs a confirmed adult.
pub(super) fn record_lost_address(tx: &Tx<'_>, ended: &Person, merged: &Person) -> Result<()> {
    if ended.email_folded.is_none() || ended.email_folded == merged.email_folded {
        return Ok(());
    }
    if is_minor(tx, merged.id)? {
        return record(tx, merged.id, ProtectionChange::Email, None);
    }
    if ended.adult_confirmed_at.is_some() {
        ON_ADDRESS_REPLACED.get()?(tx, &Person { id: merged.id, ..ended.clone() })?;
    }
    Ok(())
}

/// Whether the new birth date would make a minor an adult.
fn makes_adult(db: &Reader<'_>, before: &Person, after: &Person) -> Result<bool> {
    let today = person::today(db.now());
    let adult = after.birth_date.is_some_and(|born| is_adult(born, today));
    Ok(adult && after.birth_date != before.birth_date && is_minor(db, before.id)?)
}

/// Clears the admin's confirmation of a person if a caller who is neither an admin nor the person changes the email
/// address. Otherwise a coach could replace the address of a confirmed guardian with their own. Also clears it if
/// people give themselves the address of a minor.
pub(super) fn clear_confirmation_on_new_email(
    db: &Reader<'_>,
    access: &TeamAccess,
    before: &Person,
    after: Person,
) -> Result<Person> {
    if *access == TeamAccess::AllTeams || before.email_folded == after.email_folded {
        return Ok(after);
    }
    if access.is_self(before.id) && minors_at(db, &after)?.iter().all(|minor| *minor == before.id) {
        return Ok(after);
    }
    Ok(Person { adult_confirmed_at: None, adult_confirmed_by: None, ..after })
}

/// The minors who may read emails to this person: the person, if they are a minor, and every minor who has the same
/// address on the roster or signs in with it.
pub fn minors_at(db: &Reader<'_>, person: &Person) -> Result<BTreeSet<PersonId>> {
    let mut people = BTreeSet::from([person.id]);
    if let Some(email) = person.email_folded.clone() {
        let others: Vec<PersonId> = db.ids(
            "select id from person
             where account_id = :account and email_folded = :email and known_minor and erased_at is null
             union
             select o.id from app_user u
             join person o on o.account_id = :account and o.user_id = u.id
             where u.email_folded = :email and o.known_minor and o.erased_at is null",
            bind! { email },
        )?;
        people.extend(others);
    }
    minors(db, &people)
}

string_enum! {
    /// A change of the protection of a minor, for the audit log and the emails to guardians.
    pub enum ProtectionChange {
        /// The birth date was changed to that of an adult.
        BirthDate = "birth_date",
        /// The email address was changed.
        Email = "email",
        /// A guardian was added to the existing ones.
        GuardianAdded = "guardian_added",
        /// A guardian was removed.
        GuardianRemoved = "guardian_removed",
        /// A guardian may now pick up the minor.
        PickUpAllowed = "pick_up_allowed",
        /// A guardian no longer receives the messages to the minor.
        MessagesStopped = "messages_stopped",
        /// An admin confirmed that the person is an adult.
        AdultConfirmed = "adult_confirmed",
        /// The person was linked to a user.
        SignsIn = "signs_in",
        /// A team of the minor was changed to an adult team.
        AgeGroup = "age_group",
        /// Two records of a guardian were merged.
        GuardianMerged = "guardian_merged",
    }
}

/// Records a change of a person's protection in the audit log and emails the guardians, including the one that the
/// change is about.
pub fn record(
    tx: &Tx<'_>,
    id: PersonId,
    change: ProtectionChange,
    guardian: Option<PersonId>,
) -> Result<()> {
    let details = json!({ "change": change, "guardian": guardian });
    tx.audit("person.protection_changed", &id.to_string(), &details)?;
    ON_PROTECTION_CHANGED.get()?(tx, id, change, guardian)
}

/// Records for each minor on a team that it was changed to an adult team.
pub fn record_adult_team(tx: &Tx<'_>, team: TeamId) -> Result<()> {
    let players = tx.ids(
        "select distinct person_id from member
         where account_id = :account and team_id = :team and status <> 'removed'",
        bind! { team },
    )?;
    for minor in minors(tx, &players)? {
        record(tx, minor, ProtectionChange::AgeGroup, None)?;
    }
    Ok(())
}

/// The protection changes between two lists of guardians, with the guardians. Adding the first guardians does not count.
pub(super) fn guardian_changes(
    before: &[Guardianship],
    after: &[Guardianship],
) -> Vec<(ProtectionChange, PersonId)> {
    let find =
        |list: &'_ [Guardianship], id| list.iter().find(|one| one.guardian_id == id).cloned();
    let mut changes = Vec::new();
    for new in after {
        let id = new.guardian_id;
        match find(before, id) {
            None if before.is_empty() => {}
            None => changes.push((ProtectionChange::GuardianAdded, id)),
            Some(old) => {
                if new.can_pick_up && !old.can_pick_up {
                    changes.push((ProtectionChange::PickUpAllowed, id));
                }
                if old.receives_messages && !new.receives_messages {
                    changes.push((ProtectionChange::MessagesStopped, id));
                }
            }
        }
    }
    let removed = before.iter().filter(|one| find(after, one.guardian_id).is_none());
    changes.extend(removed.map(|one| (ProtectionChange::GuardianRemoved, one.guardian_id)));
    changes
}

/// Confirms that a person is an adult known to the club, and confirms all their guardianships. From then on they are
/// not a minor and count as a second adult. Only admins may do this.
pub fn confirm_adult(tx: &Tx<'_>, access: &TeamAccess, id: PersonId) -> Result<Profile> {
    guards::admin_only().fail_if(*access != TeamAccess::AllTeams)?;
    let before = person::find(tx, id)?;
    Error::invalid_state("This person was erased.").fail_if(before.erased_at.is_some())?;
    let today = person::today(tx.now());
    let detail =
        "According to the birth date, this person is under 18. Correct the birth date first.";
    Error::invalid_state(detail)
        .fail_if(before.birth_date.is_some_and(|born| !is_adult(born, today)))?;
    if before.adult_confirmed_at.is_none() {
        let was_minor = is_minor(tx, id)?;
        let after = with_confirmation(tx, &before);
        save_person(tx, before, &after)?;
        if was_minor {
            record(tx, id, ProtectionChange::AdultConfirmed, None)?;
        } else {
            tx.audit("person.adult_confirmed", &id.to_string(), &json!({}))?;
        }
    }
    guardian::confirm(tx, id, None)?;
    profile::show(tx, &TeamAccess::AllTeams, id)
}

/// Marks a person as a minor until an admin confirms that they are an adult.
pub fn mark_minor(tx: &Tx<'_>, access: &TeamAccess, id: PersonId) -> Result<Profile> {
    let before = person::find_visible(tx, access, id)?;
    Error::invalid_state("This person was erased.").fail_if(before.erased_at.is_some())?;
    if !before.known_minor {
        if !is_minor(tx, id)? {
            photo::remove_unchecked(tx, &[id])?;
        }
        let before = person::find(tx, id)?;
        let after = Person {
            known_minor: true,
            adult_confirmed_at: None,
            adult_confirmed_by: None,
            ..before.clone()
        };
        save_person(tx, before, &after)?;
        tx.audit("person.marked_minor", &id.to_string(), &json!({}))?;
    }
    profile::show(tx, access, id)
}

/// Confirms these new staff members and guardians, if the caller is an admin.
pub(super) fn confirm_new_adults(
    tx: &Tx<'_>,
    access: &TeamAccess,
    people: Vec<PersonId>,
) -> Result<()> {
    if *access != TeamAccess::AllTeams {
        return Ok(());
    }
    people.into_iter().try_for_each(|id| confirm_new_adult(tx, id))
}

/// Confirms an adult that an admin has added or approved, such as a new coach or guardian. Minors stay minors.
pub fn confirm_new_adult(tx: &Tx<'_>, id: PersonId) -> Result<()> {
    let before = person::find(tx, id)?;
    if before.adult_confirmed_at.is_some() || before.erased_at.is_some() || is_minor(tx, id)? {
        return Ok(());
    }
    person::update(tx, &with_confirmation(tx, &before))?;
    tx.audit("person.adult_confirmed", &id.to_string(), &json!({}))
}

/// Withdraws an admin's confirmation, for example because an unknown user may sign in as this person.
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
