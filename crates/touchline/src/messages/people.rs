//! What messages need to know of people: their names, their ages, who looks after them, how to
//! write to them. Read from the tables of the roster, never written.

use std::collections::{BTreeMap, BTreeSet};

use store::{Reader, bind, row};

use super::safety::{Facts, Role};
use crate::error::Result;
use crate::ids::{MemberId, PersonId, TeamId};

row! {
    /// How a person is called.
    #[derive(Debug)]
    pub struct Named {
        pub id: PersonId,
        pub first_name: String,
        pub last_name: Option<String>,
        pub preferred_name: Option<String>,
    }
}

impl Named {
    /// The name by which others know them.
    pub fn display(&self) -> String {
        display(&self.first_name, self.last_name.as_deref(), self.preferred_name.as_deref())
    }
}

/// The name by which others know a person: the one they prefer, or else the first, and the last.
pub fn display(first: &str, last: Option<&str>, preferred: Option<&str>) -> String {
    let called = preferred.unwrap_or(first);
    last.map_or_else(|| called.to_owned(), |last| format!("{called} {last}"))
}

/// The names of these people; who was erased has none.
pub fn names(db: &Reader<'_>, ids: Vec<PersonId>) -> Result<BTreeMap<PersonId, String>> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let named: Vec<Named> = db.all(
        "select id, first_name, last_name, preferred_name from person
         where account_id = :account and id in (:ids) and erased_at is null",
        bind! { ids },
    )?;
    Ok(named.into_iter().map(|person| (person.id, person.display())).collect())
}

/// Whether there is such a person.
pub fn exists(db: &Reader<'_>, id: PersonId) -> Result<bool> {
    let found: Option<(PersonId,)> =
        db.maybe("select id from person where account_id = :account and id = :id", bind! { id })?;
    Ok(found.is_some())
}

row! {
    /// Somebody on a team's roster, whether they play at present or not.
    #[derive(Debug)]
    pub struct OnTeam {
        pub id: MemberId,
        pub person_id: PersonId,
        pub role: Role,
        /// Active or injured: a part of the team at present.
        pub present: bool,
    }
}

/// Everybody on a team's roster who was not removed from it.
pub fn on_team(db: &Reader<'_>, team_id: TeamId) -> Result<Vec<OnTeam>> {
    Ok(db.all(
        "select member.id, member.person_id, member.role,
                member.status in ('active', 'injured') as present
         from member
         join person on person.account_id = member.account_id and person.id = member.person_id
         where member.account_id = :account and member.team_id = :team_id
           and member.status <> 'removed' and person.erased_at is null",
        bind! { team_id },
    )?)
}

row! {
    /// Somebody who looks after somebody.
    #[derive(Debug)]
    pub struct Guardian {
        /// Who is looked after.
        pub person_id: PersonId,
        pub guardian_id: PersonId,
        pub receives_messages: bool,
    }
}

/// Those who look after these people.
pub fn guardians(db: &Reader<'_>, wards: &BTreeSet<PersonId>) -> Result<Vec<Guardian>> {
    let ids: Vec<_> = wards.iter().copied().collect();
    Ok(db.all(
        "select guardianship.person_id, guardianship.guardian_id, guardianship.receives_messages
         from guardianship
         join person on person.account_id = guardianship.account_id
                    and person.id = guardianship.guardian_id
         where guardianship.account_id = :account and guardianship.person_id in (:ids)
           and person.erased_at is null",
        bind! { ids },
    )?)
}

/// What decides whether these people are minors. Who was erased is left out.
pub fn facts(db: &Reader<'_>, team_id: TeamId, ids: &BTreeSet<PersonId>) -> Result<Vec<Facts>> {
    let ids: Vec<_> = ids.iter().copied().collect();
    Ok(db.all(
        "select person.id as person_id, person.birth_date,
                exists (select 1 from guardianship
                        where guardianship.account_id = :account
                          and guardianship.person_id = person.id) as guarded,
                (select member.role from member
                 where member.account_id = :account and member.person_id = person.id
                   and member.team_id = :team_id
                 order by member.id desc limit 1) as role
         from person
         where person.account_id = :account and person.id in (:ids) and person.erased_at is null",
        bind! { team_id, ids },
    )?)
}

row! {
    /// Somebody who wants to be told by mail.
    #[derive(Debug)]
    pub struct Contact {
        pub id: PersonId,
        pub first_name: String,
        pub last_name: Option<String>,
        pub preferred_name: Option<String>,
        pub email: String,
        pub email_folded: String,
    }
}

/// Those of these people who want mail and have an address, the one known longest first.
pub fn contacts(db: &Reader<'_>, people: &BTreeSet<PersonId>) -> Result<Vec<Contact>> {
    let ids: Vec<_> = people.iter().copied().collect();
    Ok(db.all(
        "select id, first_name, last_name, preferred_name, email, email_folded from person
         where account_id = :account and id in (:ids) and wants_email and erased_at is null
           and email is not null and email_folded is not null
         order by id",
        bind! { ids },
    )?)
}
