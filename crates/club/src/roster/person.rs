//! The person record. An account has one record per person, regardless of the number of teams.

use std::collections::{BTreeMap, BTreeSet};

use kit::{contact, text};
use macros::input;

use super::api;
pub use super::erasure::{erase, export_person};
use crate::hook::Hook;
use crate::prelude::*;
use crate::teams::age_group::ADULT_AGE;

/// Runs when the name of a person changes.
pub static ON_RENAMED: Hook<fn(&Tx<'_>, PersonId) -> Result<()>> = Hook::new("person::ON_RENAMED");

record! {
    /// A person: a player, a coach, a guardian, or several of these.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Person in person {
        pub account_id: AccountId,
        pub id: PersonId,
        pub first_name: String,
        pub last_name: Option<String>,
        pub preferred_name: Option<String>,
        pub name_folded: String,
        pub preferred_folded: Option<String>,
        pub birth_date: Option<Day>,
        pub email: Option<String>,
        pub email_folded: Option<String>,
        pub phone: Option<String>,
        pub phone_normalized: Option<String>,
        pub address: Option<String>,
        pub emergency_contact: Option<String>,
        pub medical_note: Option<String>,
        pub photo_file_id: Option<FileId>,
        pub email_opt_in: bool,
        pub user_id: Option<UserId>,
        /// Whether the person was ever known to be a minor. They are treated as one until an admin confirms that they
        /// are an adult.
        pub known_minor: bool,
        /// When an admin confirmed that this is an adult known to the club.
        pub adult_confirmed_at: Option<Timestamp>,
        pub adult_confirmed_by: Option<String>,
        /// When the person confirmed their email address.
        pub email_confirmed_at: Option<Timestamp>,
        pub erased_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

impl_resource!(Person by PersonId: Versioned);

/// Changes to a person. Fields that are left out stay unchanged; `null` clears a field.
#[input]
#[derive(Clone, Default)]
pub struct PersonChange {
    /// First name of the person. Required for a new person.
    #[schema(value_type = Option<String>, examples("Inês"))]
    #[input(line(120), non_null)]
    pub first_name: Option<String>,
    /// Last name of the person.
    #[schema(examples("Duarte"))]
    #[input(line(120))]
    pub last_name: Change<String>,
    /// Name that the person goes by, if it is not the first name.
    #[input(line(120))]
    pub preferred_name: Change<String>,
    /// Birth date of the person, from 1900-01-01 to today.
    #[schema(value_type = Option<String>, format = Date, examples("2014-02-27"))]
    #[input(with(api::birth_date))]
    pub birth_date: Change<Day>,
    /// Email address of the person.
    #[input(email)]
    pub email: Change<String>,
    /// Phone number in any format.
    #[input(line(40))]
    pub phone: Change<String>,
    /// Postal address of the person.
    #[input(block(500))]
    pub address: Change<String>,
    /// Emergency contact of the person, such as a name and a phone number.
    #[input(block(500))]
    pub emergency_contact: Change<String>,
    /// Medical note, such as allergies.
    #[input(block(10_000))]
    pub medical_note: Change<String>,
}

impl PersonChange {
    /// The names of the given fields.
    pub fn given_fields(&self) -> impl Iterator<Item = &'static str> {
        let is_given = |change: &Change<String>| *change != Change::Keep;
        [
            ("first_name", self.first_name.is_some()),
            ("last_name", is_given(&self.last_name)),
            ("preferred_name", is_given(&self.preferred_name)),
            ("birth_date", self.birth_date != Change::Keep),
            ("email", is_given(&self.email)),
            ("phone", is_given(&self.phone)),
            ("address", is_given(&self.address)),
            ("emergency_contact", is_given(&self.emergency_contact)),
            ("medical_note", is_given(&self.medical_note)),
        ]
        .into_iter()
        .filter_map(|(name, is_given)| is_given.then_some(name))
    }

    /// The person after the change, with derived fields.
    pub(super) fn apply(self, before: &Person) -> Person {
        let first_name = self.first_name.unwrap_or_else(|| before.first_name.clone());
        let last_name = self.last_name.apply(before.last_name.clone());
        let preferred_name = self.preferred_name.apply(before.preferred_name.clone());
        let email = self.email.apply(before.email.clone());
        let phone = self.phone.apply(before.phone.clone());
        let same_email = email.as_deref().map(text::fold_case) == before.email_folded;
        Person {
            email_confirmed_at: before.email_confirmed_at.filter(|_| same_email),
            name_folded: folded_name(&first_name, last_name.as_deref()),
            preferred_folded: preferred_name.as_deref().map(text::fold_case),
            birth_date: self.birth_date.apply(before.birth_date),
            email_folded: email.as_deref().map(text::fold_case),
            phone_normalized: phone.as_deref().and_then(contact::normalize_phone),
            address: self.address.apply(before.address.clone()),
            emergency_contact: self.emergency_contact.apply(before.emergency_contact.clone()),
            medical_note: self.medical_note.apply(before.medical_note.clone()),
            first_name,
            last_name,
            preferred_name,
            email,
            phone,
            ..before.clone()
        }
    }
}

/// One person.
pub fn find(db: &Reader<'_>, id: PersonId) -> Result<Person> {
    Ok(db.one(sql!(Person::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// One person, if a caller with this access may see them: a person on a team that the caller has access to, a guardian
/// of such a person, or the user's own family. Other people are not found.
pub fn find_visible(db: &Reader<'_>, access: &TeamAccess, id: PersonId) -> Result<Person> {
    let person = find(db, id)?;
    Error::not_found().fail_if(!filter_visible(db, access, &[id])?.contains(&id))?;
    Ok(person)
}

/// The people among these that a caller with this access may see.
pub fn filter_visible(
    db: &Reader<'_>,
    access: &TeamAccess,
    people: &[PersonId],
) -> Result<BTreeSet<PersonId>> {
    let teams = match access {
        TeamAccess::AllTeams => return Ok(people.iter().copied().collect()),
        TeamAccess::Teams(teams) => teams,
        TeamAccess::User(place) => &place.managed_team_ids,
    };
    let family: Vec<_> = people.iter().copied().filter(|id| access.is_family(*id)).collect();
    let people = people.to_vec();
    let text = sql!(
        "select id from person where account_id = :account and id in (:people)",
        VISIBLE_FILTER
    );
    let mut visible: BTreeSet<_> = db.ids(text, bind! { people, teams })?;
    visible.extend(family);
    Ok(visible)
}

/// SQL condition: the person is on one of `:teams`, or a guardian of a person on one of them.
pub(super) const VISIBLE_FILTER: &str = "
      and (exists (select 1 from member m
                   where m.account_id = person.account_id and m.person_id = person.id
                     and m.status <> 'removed' and m.team_id in (:teams))
        or exists (select 1 from guardianship g
                   join member m on m.account_id = g.account_id and m.person_id = g.person_id
                   where g.account_id = person.account_id and g.guardian_id = person.id
                     and m.status <> 'removed' and m.team_id in (:teams)))";

/// The photos of these people, of those who have one.
pub fn photos(db: &Reader<'_>, ids: Vec<PersonId>) -> Result<BTreeMap<PersonId, FileId>> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let photos: Vec<(PersonId, FileId)> = db.all(
        "select id, photo_file_id from person
         where account_id = :account and id in (:ids) and photo_file_id is not null",
        bind! { ids },
    )?;
    Ok(photos.into_iter().collect())
}

/// These people, by id.
pub fn find_many(db: &Reader<'_>, people: Vec<PersonId>) -> Result<BTreeMap<PersonId, Person>> {
    if people.is_empty() {
        return Ok(BTreeMap::new());
    }
    let text = sql!(Person::SELECT, " where account_id = :account and id in (:people)");
    let rows: Vec<Person> = db.all(text, bind! { people })?;
    Ok(rows.into_iter().map(|person| (person.id, person)).collect())
}

/// People with this case-folded email address, in order of creation.
pub(super) fn find_by_email(db: &Reader<'_>, email: &str) -> Result<Vec<Person>> {
    Ok(db.all(
        sql!(
            Person::SELECT,
            " where account_id = :account and email_folded = :email and erased_at is null
              order by id limit 20"
        ),
        bind! { email },
    )?)
}

/// People with this case-folded name, in order of creation.
pub(super) fn find_by_name(db: &Reader<'_>, name: &str) -> Result<Vec<Person>> {
    Ok(db.all(
        sql!(
            Person::SELECT,
            " where account_id = :account and name_folded = :name and erased_at is null
              order by id limit 20"
        ),
        bind! { name },
    )?)
}

/// People with this case-folded name and this birth date, in order of creation.
pub(super) fn find_by_name_and_birth_date(
    db: &Reader<'_>,
    name: &str,
    birth_date: Day,
) -> Result<Vec<Person>> {
    Ok(db.all(
        sql!(
            Person::SELECT,
            " where account_id = :account and name_folded = :name and birth_date = :birth_date
                and erased_at is null
              order by id limit 20"
        ),
        bind! { name, birth_date },
    )?)
}

/// People on a team with this case-folded name, if their birth date or the given one is not known.
pub(super) fn find_by_name_on_team(
    db: &Reader<'_>,
    name: &str,
    team: TeamId,
    birth_date: Option<Day>,
) -> Result<Vec<Person>> {
    Ok(db.all(
        sql!(
            Person::SELECT,
            " where account_id = :account and name_folded = :name and erased_at is null
                and (birth_date is null or cast(:birth_date as text) is null)
                and exists (
                    select 1 from member
                    where member.account_id = person.account_id and member.person_id = person.id
                      and member.team_id = :team and member.status <> 'removed')
              order by id limit 20"
        ),
        bind! { name, team, birth_date },
    )?)
}

/// The display name: preferred name and last name, such as `Nini Duarte`.
pub fn display_name(person: &Person) -> String {
    let first = person.preferred_name.as_ref().unwrap_or(&person.first_name);
    let parts = [Some(first), person.last_name.as_ref()];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// First and last name for comparison: case-folded and with single spaces.
pub(super) fn folded_name(first: &str, last: Option<&str>) -> String {
    let words = first.split_whitespace().chain(last.unwrap_or_default().split_whitespace());
    text::fold_case(&words.collect::<Vec<_>>().join(" "))
}

/// An empty person with a new id, to which the fields of a new person are applied.
pub(super) fn blank(tx: &Tx<'_>) -> Person {
    Person {
        account_id: tx.account(),
        id: tx.new_id(),
        first_name: String::new(),
        last_name: None,
        preferred_name: None,
        name_folded: String::new(),
        preferred_folded: None,
        birth_date: None,
        email: None,
        email_folded: None,
        phone: None,
        phone_normalized: None,
        address: None,
        emergency_contact: None,
        medical_note: None,
        photo_file_id: None,
        email_opt_in: true,
        user_id: None,
        known_minor: false,
        adult_confirmed_at: None,
        adult_confirmed_by: None,
        email_confirmed_at: None,
        erased_at: None,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    }
}

/// Validates that the birth date is not in the future.
pub(super) fn validate(person: &Person, now: Timestamp, violations: &mut Violations) {
    if person.birth_date.is_some_and(|day| day > today(now)) {
        let detail = "The birth date must not be in the future.";
        violations.invalid("/birth_date", "in_the_future", detail);
    }
}

/// The current day in UTC.
pub fn today(now: Timestamp) -> Day {
    now.to_string()[..10].parse().expect("a timestamp starts with its day")
}

/// The latest birth date of a person who is an adult today.
pub(super) fn adult_since(now: Timestamp) -> String {
    let today = today(now).to_string();
    let (year, rest) = today.split_once('-').unwrap_or((&today, "01-01"));
    let year: i64 = year.parse().unwrap_or(0);
    format!("{:04}-{rest}", year - ADULT_AGE)
}

/// Saves a person. Does not increase the version: [`VersionCascade::apply`](super::version_cascade) does.
pub(super) fn update(tx: &Tx<'_>, person: &Person) -> Result<()> {
    let current = find(tx, person.id)?;
    if display_name(&current) != display_name(person) {
        ON_RENAMED.get()?(tx, person.id)?;
    }
    let Person { updated_at, version, .. } = current;
    let person = Person { updated_at, version, ..person.clone() };
    tx.execute(Person::UPDATE, &person.bind())?;
    Ok(())
}

/// Increases the versions of people whose JSON representation has changed.
pub(super) fn bump_versions(tx: &Tx<'_>, people: Vec<PersonId>) -> Result<()> {
    if !people.is_empty() {
        tx.execute(
            "update person set version = version + 1, updated_at = :now
             where account_id = :account and id in (:people)",
            bind! { people },
        )?;
    }
    Ok(())
}
