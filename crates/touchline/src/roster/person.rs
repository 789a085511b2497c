//! The person: what is kept of somebody, once, whatever teams they are on.

use std::collections::{BTreeMap, BTreeSet};

use kit::{Change, Day, Timestamp, contact, text};
use store::{Reader, Tx, bind, record, sql};
use utoipa::ToSchema;

pub use super::erasure::{dossier, erase};
use super::refusals::Refusals;
use crate::accounts::rights::Reach;
use crate::error::{Error, Result};
use crate::ids::{AccountId, PersonId, UserId};
use crate::reactions;
use crate::thing::thing;

record! {
    /// Somebody: a player, a coach, a guardian, or several of these.
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
        pub wants_email: bool,
        pub user_id: Option<UserId>,
        /// Once known to be a minor, a person is treated as one until an admin confirms otherwise.
        pub known_minor: bool,
        /// When an admin confirmed that this is an adult whom the club knows.
        pub adult_confirmed_at: Option<Timestamp>,
        pub adult_confirmed_by: Option<String>,
        /// When the person followed the link that was sent to their address.
        pub email_confirmed_at: Option<Timestamp>,
        pub erased_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

thing!(Person by PersonId: Versioned);

/// What is to be said of a person: members that are left out stay, `null` clears.
#[derive(Debug, Default, ToSchema)]
pub struct PersonChange {
    #[schema(value_type = Option<String>, examples("Inês"), min_length = 1, max_length = 120)]
    pub first_name: Option<String>,
    #[schema(value_type = Option<String>, examples("Duarte"), max_length = 120)]
    pub last_name: Change<String>,
    /// What they are called, if not by their first name.
    #[schema(value_type = Option<String>, max_length = 120)]
    pub preferred_name: Change<String>,
    #[schema(value_type = Option<String>, format = Date, examples("2014-02-27"))]
    pub birth_date: Change<Day>,
    #[schema(value_type = Option<String>, format = Email, max_length = 254)]
    pub email: Change<String>,
    /// Kept as it is given.
    #[schema(value_type = Option<String>, max_length = 40)]
    pub phone: Change<String>,
    #[schema(value_type = Option<String>, max_length = 500)]
    pub address: Change<String>,
    #[schema(value_type = Option<String>, max_length = 500)]
    pub emergency_contact: Change<String>,
    #[schema(value_type = Option<String>, max_length = 10000)]
    pub medical_note: Change<String>,
}

impl PersonChange {
    /// The names of the members that are said.
    pub fn said(&self) -> impl Iterator<Item = &'static str> {
        let said = |change: &Change<String>| *change != Change::Keep;
        [
            ("first_name", self.first_name.is_some()),
            ("last_name", said(&self.last_name)),
            ("preferred_name", said(&self.preferred_name)),
            ("birth_date", self.birth_date != Change::Keep),
            ("email", said(&self.email)),
            ("phone", said(&self.phone)),
            ("address", said(&self.address)),
            ("emergency_contact", said(&self.emergency_contact)),
            ("medical_note", said(&self.medical_note)),
        ]
        .into_iter()
        .filter_map(|(name, said)| said.then_some(name))
    }

    /// The person after the change, with everything that follows from it.
    pub(super) fn apply(self, before: &Person) -> Person {
        let first_name = self.first_name.unwrap_or_else(|| before.first_name.clone());
        let last_name = self.last_name.apply(before.last_name.clone());
        let preferred_name = self.preferred_name.apply(before.preferred_name.clone());
        let email = self.email.apply(before.email.clone());
        let phone = self.phone.apply(before.phone.clone());
        let same_email = email.as_deref().map(text::folded) == before.email_folded;
        Person {
            email_confirmed_at: before.email_confirmed_at.filter(|_| same_email),
            name_folded: folded_name(&first_name, last_name.as_deref()),
            preferred_folded: preferred_name.as_deref().map(text::folded),
            birth_date: self.birth_date.apply(before.birth_date),
            email_folded: email.as_deref().map(text::folded),
            phone_normalized: phone.as_deref().and_then(contact::phone_normalized),
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

/// One person, if a credential with this reach may know of them: somebody who is on a team that is open
/// to it, or a guardian of one, or the user's own family. Others answer as if they did not exist.
pub fn reachable(db: &Reader<'_>, reach: &Reach, id: PersonId) -> Result<Person> {
    let person = find(db, id)?;
    if reached(db, reach, &[id])?.contains(&id) { Ok(person) } else { Err(Error::not_found()) }
}

/// Those of these people that a credential with this reach may know of.
pub fn reached(db: &Reader<'_>, reach: &Reach, people: &[PersonId]) -> Result<BTreeSet<PersonId>> {
    let teams = match reach {
        Reach::Everywhere => return Ok(people.iter().copied().collect()),
        Reach::Teams(teams) => teams,
        Reach::User(place) => &place.leads,
    };
    let family = people.iter().copied().filter(|person| reach.is_family(*person));
    let people = people.to_vec();
    let rows: Vec<(PersonId,)> = db.all(
        sql!("select id from person where account_id = :account and id in (:people)", REACHED),
        bind! { people, teams },
    )?;
    Ok(rows.into_iter().map(|(id,)| id).chain(family).collect())
}

/// Narrows a statement about people to those on `:teams` and their guardians.
pub(super) const REACHED: &str = "
      and (exists (select 1 from member m
                   where m.account_id = person.account_id and m.person_id = person.id
                     and m.status <> 'removed' and m.team_id in (:teams))
        or exists (select 1 from guardianship g
                   join member m on m.account_id = g.account_id and m.person_id = g.person_id
                   where g.account_id = person.account_id and g.guardian_id = person.id
                     and m.status <> 'removed' and m.team_id in (:teams)))";

/// These people, by their ids.
pub fn all(db: &Reader<'_>, people: Vec<PersonId>) -> Result<BTreeMap<PersonId, Person>> {
    if people.is_empty() {
        return Ok(BTreeMap::new());
    }
    let text = sql!(Person::SELECT, " where account_id = :account and id in (:people)");
    let rows: Vec<Person> = db.all(text, bind! { people })?;
    Ok(rows.into_iter().map(|person| (person.id, person)).collect())
}

/// Everybody with this address of mail, folded, in order of creation.
pub(super) fn with_email(db: &Reader<'_>, email: &str) -> Result<Vec<Person>> {
    Ok(db.all(
        sql!(
            Person::SELECT,
            " where account_id = :account and email_folded = :email and erased_at is null
              order by id limit 20"
        ),
        bind! { email },
    )?)
}

/// Everybody with this name, folded, who was born on this day, in order of creation.
pub(super) fn born_as(db: &Reader<'_>, name: &str, birth_date: Day) -> Result<Vec<Person>> {
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

/// What a person is called by others: `Nini Duarte`.
pub fn display_name(person: &Person) -> String {
    let first = person.preferred_name.as_ref().unwrap_or(&person.first_name);
    let parts = [Some(first), person.last_name.as_ref()];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// First and last name as they are compared: whatever their case and the spaces between.
pub(super) fn folded_name(first: &str, last: Option<&str>) -> String {
    let words = first.split_whitespace().chain(last.unwrap_or_default().split_whitespace());
    text::folded(&words.collect::<Vec<_>>().join(" "))
}

/// Nobody yet: what a change is applied to when somebody is new.
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
        wants_email: true,
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

/// What only the clock can tell of a person.
pub(super) fn check(person: &Person, now: Timestamp, refusals: &mut Refusals) {
    if person.birth_date.is_some_and(|day| day > today(now)) {
        refusals.invalid("/birth_date", "in_the_future", "Nobody is born after today.");
    }
}

/// The day it is in UTC.
pub(super) fn today(now: Timestamp) -> Day {
    now.to_string()[..10].parse().expect("a moment is shown with its day first")
}

/// Keeps a new person.
pub(super) fn insert(tx: &Tx<'_>, person: &Person) -> Result<()> {
    tx.run(Person::INSERT, &person.bind())?;
    Ok(())
}

/// Keeps what has changed of a person. Their version rises when the change settles.
pub(super) fn update(tx: &Tx<'_>, person: &Person) -> Result<()> {
    if display_name(&find(tx, person.id)?) != display_name(person) {
        reactions::renamed(tx, person.id)?;
    }
    tx.run(
        "update person set first_name = :first_name, last_name = :last_name,
             preferred_name = :preferred_name, name_folded = :name_folded,
             preferred_folded = :preferred_folded, birth_date = :birth_date, email = :email,
             email_folded = :email_folded, phone = :phone, phone_normalized = :phone_normalized,
             address = :address, emergency_contact = :emergency_contact,
             medical_note = :medical_note, wants_email = :wants_email, user_id = :user_id,
             known_minor = :known_minor, adult_confirmed_at = :adult_confirmed_at,
             adult_confirmed_by = :adult_confirmed_by, email_confirmed_at = :email_confirmed_at,
             erased_at = :erased_at
         where account_id = :account and id = :id",
        &person.bind(),
    )?;
    Ok(())
}

/// Raises the versions of people of whom something that is shown has changed.
pub(super) fn raise(tx: &Tx<'_>, people: Vec<PersonId>) -> Result<()> {
    if !people.is_empty() {
        tx.run(
            "update person set version = version + 1, updated_at = :now
             where account_id = :account and id in (:people)",
            bind! { people },
        )?;
    }
    Ok(())
}
