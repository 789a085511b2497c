//! The profile: a person as they are shown, with the teams they are on and whom they look after.

use std::collections::{BTreeMap, BTreeSet};

use kit::{Change, Day, Timestamp, text};
use serde::Serialize;
use store::{Reader, Tx, bind, sql};
use utoipa::ToSchema;

use super::guardian::{self, Guardian};
use super::membership::{self, MemberStatus, Role};
use super::person::{self, Person, PersonChange, REACHED};
use super::refusals::Refusals;
use super::ripple::Ripple;
use super::safeguarding;
use super::trust;
use crate::accounts::rights::Reach;
use crate::error::{Error, Result};
use crate::expected::Expected;
use crate::ids::{AccountId, MemberId, PersonId, TeamId, UserId};
use crate::paging::{Order, Page};
use crate::thing::thing;

/// What is private of a person: always in the single object, in lists with `include=private` only,
/// never in notifications.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Private {
    #[schema(value_type = Option<String>, format = Date, examples("2014-02-27"))]
    pub birth_date: Option<Day>,
    #[schema(examples("ines@example.org"))]
    pub email: Option<String>,
    /// As it was given.
    #[schema(examples("912 345 678"), max_length = 40)]
    pub phone: Option<String>,
    /// Digits, with `+` in front if the number says its country; `null` if it has too few.
    #[schema(examples("912345678"))]
    pub phone_normalized: Option<String>,
    #[schema(max_length = 500)]
    pub address: Option<String>,
    #[schema(max_length = 500)]
    pub emergency_contact: Option<String>,
    /// Every look at a note is entered in the audit log.
    #[schema(max_length = 10000)]
    pub medical_note: Option<String>,
    #[schema(required = false)]
    pub guardians: Vec<Guardian>,
    /// Whether the person is treated as a minor. Once known to be one, they stay one until an admin confirms
    /// that they are an adult.
    #[schema(required = false)]
    pub is_minor: bool,
    /// When an admin confirmed that the person is an adult. Only confirmed adults count as the second adult
    /// on messages to minors.
    pub adult_confirmed_at: Option<Timestamp>,
    /// When the person confirmed their email address.
    pub email_confirmed_at: Option<Timestamp>,
}

impl Private {
    /// What is private of each of these people.
    pub(super) fn of(
        db: &Reader<'_>,
        people: &BTreeMap<PersonId, Person>,
    ) -> Result<BTreeMap<PersonId, Self>> {
        let ids: Vec<_> = people.keys().copied().collect();
        let mut guardians: BTreeMap<PersonId, Vec<Guardian>> = BTreeMap::new();
        for link in guardian::of(db, &ids)? {
            guardians.entry(link.tie.person_id).or_default().push((&link).into());
        }
        let today = person::today(db.now());
        let facts = safeguarding::facts(db, &ids.iter().copied().collect())?;
        let minors: BTreeSet<_> =
            facts.iter().filter(|one| one.is_minor(today)).map(|one| one.person_id).collect();
        let private = |person: &Person| Self {
            is_minor: minors.contains(&person.id),
            adult_confirmed_at: person.adult_confirmed_at,
            email_confirmed_at: person.email_confirmed_at,
            birth_date: person.birth_date,
            email: person.email.clone(),
            phone: person.phone.clone(),
            phone_normalized: person.phone_normalized.clone(),
            address: person.address.clone(),
            emergency_contact: person.emergency_contact.clone(),
            medical_note: person.medical_note.clone(),
            guardians: guardians.get(&person.id).cloned().unwrap_or_default(),
        };
        Ok(people.values().map(|person| (person.id, private(person))).collect())
    }
}

/// A person: a player, a coach, a guardian, or several of these.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "object", rename = "person")]
#[schema(as = Person)]
pub struct Profile {
    pub id: PersonId,
    #[serde(skip)]
    pub account_id: AccountId,
    #[schema(examples("Inês"), max_length = 120)]
    pub first_name: String,
    #[schema(examples("Duarte"), max_length = 120)]
    pub last_name: Option<String>,
    #[schema(max_length = 120)]
    pub preferred_name: Option<String>,
    /// Whether mail may be sent to them.
    pub wants_email: bool,
    /// The teams they are on or were on.
    pub teams: Vec<OnTeam>,
    /// Whom they look after.
    pub children: Vec<PersonId>,
    /// The user who signs in as this person.
    pub user_id: Option<UserId>,
    /// When everything that told who they are was erased.
    pub erased_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Rises with every change, of their teams, children and guardians too.
    pub version: i64,
    #[serde(flatten)]
    #[schema(value_type = Private)]
    pub private: Option<Private>,
}

/// That a person is on a team.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OnTeam {
    pub member_id: MemberId,
    pub team_id: TeamId,
    pub role: Role,
    pub status: MemberStatus,
}

thing!(Profile by PersonId: Subject Versioned Paged);

/// What is to be changed of a person. It holds on every team they are on.
#[derive(Debug, ToSchema)]
pub struct ProfileChange {
    #[serde(flatten)]
    pub person: PersonChange,
    /// Whether mail may be sent to them.
    #[schema(value_type = Option<bool>)]
    pub wants_email: Change<bool>,
}

/// Which people to list.
#[derive(Debug, Default)]
pub struct PeopleFilter {
    /// Part of a name, whatever its case.
    pub q: Option<String>,
    /// The whole address of mail, whatever its case.
    pub email: Option<String>,
    /// Whether to show what is private.
    pub private: bool,
}

/// One person, in full.
pub fn show(db: &Reader<'_>, reach: &Reach, id: PersonId) -> Result<Profile> {
    let person = person::reachable(db, reach, id)?;
    shown(db, reach, vec![person], true)?.pop().ok_or_else(Error::not_found)
}

/// One person as news tell of them: without what is private.
pub(super) fn told(db: &Reader<'_>, id: PersonId) -> Result<Profile> {
    let person = person::find(db, id)?;
    shown(db, &Reach::Everywhere, vec![person], false)?.pop().ok_or_else(Error::not_found)
}

/// A page of people, in order of creation.
pub fn list(
    db: &Reader<'_>,
    reach: &Reach,
    filter: &PeopleFilter,
    page: &Page<PersonId>,
) -> Result<Vec<Profile>> {
    let pattern = filter.q.as_deref().map(text::contains_pattern);
    let email = filter.email.as_deref().map(text::folded);
    let after = page.after(PersonId::LEAST, PersonId::GREATEST);
    let limit = page.fetch();
    let (narrowed, teams) = reach.narrowing();
    let text = match (narrowed, page.order) {
        (false, Order::Asc) => sql!(Person::SELECT, FILTER, ASCENDING),
        (false, Order::Desc) => sql!(Person::SELECT, FILTER, DESCENDING),
        (true, Order::Asc) => sql!(Person::SELECT, FILTER, REACHED, ASCENDING),
        (true, Order::Desc) => sql!(Person::SELECT, FILTER, REACHED, DESCENDING),
    };
    let people = db.all(text, bind! { after, limit, pattern, email, teams })?;
    shown(db, reach, people, filter.private)
}

const FILTER: &str = "
    where account_id = :account
      and (cast(:email as text) is null or email_folded = :email)
      and (cast(:pattern as text) is null or name_folded like :pattern escape '\\'
           or preferred_folded like :pattern escape '\\')";
const ASCENDING: &str = " and id > :after order by id limit :limit";
const DESCENDING: &str = " and id < :after order by id desc limit :limit";

/// Changes a person. A change that changes nothing tells nobody.
pub fn change(
    tx: &Tx<'_>,
    reach: &Reach,
    id: PersonId,
    expected: &Expected,
    change: ProfileChange,
) -> Result<Profile> {
    let before = expected.check(person::reachable(tx, reach, id))?;
    if before.erased_at.is_some() {
        return Err(Error::invalid_state("The person was erased."));
    }
    let wants_email = change.wants_email.apply_or(before.wants_email, true);
    let after = Person { wants_email, ..change.person.apply(&before) };
    let mut refusals = Refusals::default();
    person::check(&after, tx.now(), &mut refusals);
    if let Some(member) = trust::foreign_contact(tx, reach, &before, &after)? {
        refusals.admin_decides(&format!("/{member}"));
    }
    let after = safeguarding::with_new_email(tx, reach, &before, after)?;
    safeguarding::check(tx, reach, (&before, &after), &mut refusals)?;
    refusals.finish()?;
    if after != before {
        safeguarding::record_change(tx, &before, &after)?;
        person::update(tx, &after)?;
        let mut ripple = Ripple::default();
        ripple.changed(before, &after);
        ripple.settle(tx, None)?;
    }
    show(tx, reach, id)
}

/// People as they are shown, in the same order, without teams and family that are out of reach.
pub(super) fn shown(
    db: &Reader<'_>,
    reach: &Reach,
    people: Vec<Person>,
    private: bool,
) -> Result<Vec<Profile>> {
    let ids: Vec<_> = people.iter().map(|person| person.id).collect();
    let memberships = membership::of(db, ids.clone())?;
    let ties = guardian::children(db, &ids)?;
    let known = people.iter().map(|person| (person.id, person.clone())).collect();
    let mut details = if private { Private::of(db, &known)? } else { BTreeMap::new() };
    let guardians = details.values().flat_map(|private| &private.guardians);
    let others = ties.iter().map(|tie| tie.person_id).chain(guardians.map(|guardian| guardian.id));
    let reached = person::reached(db, reach, &others.collect::<Vec<_>>())?;
    for (person, private) in &mut details {
        // Who looks after a child knows who else does.
        let own = reach.is_family(*person);
        private.guardians.retain(|guardian| own || reached.contains(&guardian.id));
    }
    let profile = |person: Person| {
        let own = memberships.iter().filter(|m| m.person_id == person.id);
        let teams = own.filter(|m| reach.check(m.team_id).is_ok()).map(|m| OnTeam {
            member_id: m.id,
            team_id: m.team_id,
            role: m.role,
            status: m.status,
        });
        let own = ties.iter().filter(|tie| tie.guardian_id == person.id);
        let children = own.map(|tie| tie.person_id).filter(|child| reached.contains(child));
        Profile {
            id: person.id,
            account_id: person.account_id,
            first_name: person.first_name,
            last_name: person.last_name,
            preferred_name: person.preferred_name,
            wants_email: person.wants_email,
            teams: teams.collect(),
            children: children.collect(),
            user_id: person.user_id,
            erased_at: person.erased_at,
            created_at: person.created_at,
            updated_at: person.updated_at,
            version: person.version,
            private: details.remove(&person.id),
        }
    };
    Ok(people.into_iter().map(profile).collect())
}
