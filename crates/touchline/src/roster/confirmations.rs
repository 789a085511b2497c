//! People whom an admin has yet to confirm: staff and guardians who do not count as a second adult so far, guardians
//! whom a coach named, and minors who are 18 by now.

use std::collections::BTreeMap;

use kit::{Day, Timestamp};
use store::{Reader, bind, row, sql};

use super::membership::Role;
use super::{guardian, person};
use crate::error::Result;
use crate::ids::PersonId;
use crate::paging::Page;
use crate::teams::age_group::ADULT_AGE;
use crate::thing::thing;

row! {
    /// Somebody whom an admin can confirm.
    #[derive(Debug, Clone)]
    pub struct Unconfirmed {
        pub id: PersonId,
        pub first_name: String,
        pub last_name: Option<String>,
        pub email: Option<String>,
        pub email_confirmed_at: Option<Timestamp>,
        pub wants_email: bool,
        pub signs_in: bool,
        pub birth_date: Option<Day>,
        pub known_minor: bool,
        /// Whether an admin has confirmed them as an adult. It is still open whose guardian they are then.
        pub is_confirmed: bool,
        /// Whether they are said to be the guardian of somebody, and nobody has confirmed it.
        pub is_new_guardian: bool,
        pub created_at: Timestamp,
    }
}

thing!(Unconfirmed by PersonId: Paged);

impl Unconfirmed {
    /// What others call them.
    pub fn name(&self) -> String {
        let parts = [Some(&self.first_name), self.last_name.as_ref()];
        parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

const WAITING: &str = "
    from person
    where account_id = :account and erased_at is null
      and (birth_date is null or birth_date <= :adult_since)
      and (adult_confirmed_at is null and known_minor and birth_date is not null
           or adult_confirmed_at is null
              and exists (select 1 from member m
                          where m.account_id = person.account_id and m.person_id = person.id
                            and m.role <> 'player' and m.status <> 'removed')
           or exists (select 1 from guardianship g
                          where g.account_id = person.account_id and g.guardian_id = person.id
                            and (not g.confirmed or person.adult_confirmed_at is null)))";

/// A page of the people whom an admin has yet to confirm, in order of creation.
pub fn list(db: &Reader<'_>, page: &Page<PersonId>) -> Result<Vec<Unconfirmed>> {
    let after = page.after(PersonId::LEAST, PersonId::GREATEST);
    let text = sql!(
        "select id, first_name, last_name, email, email_confirmed_at, wants_email, user_id is not null as signs_in,
                birth_date, known_minor, adult_confirmed_at is not null as is_confirmed,
                exists (select 1 from guardianship g
                        where g.account_id = person.account_id and g.guardian_id = person.id
                          and not g.confirmed) as is_new_guardian,
                created_at",
        WAITING,
        " and id > :after order by id limit :limit"
    );
    let adult_since = adult_since(db);
    Ok(db.all(text, bind! { adult_since, after, limit: page.fetch() })?)
}

/// How many people an admin has yet to confirm.
pub fn count(db: &Reader<'_>) -> Result<i64> {
    let adult_since = adult_since(db);
    let (count,) = db.one(sql!("select count(*)", WAITING), bind! { adult_since })?;
    Ok(count)
}

/// The last birth date of somebody who is an adult today.
fn adult_since(db: &Reader<'_>) -> String {
    let today = person::today(db.now()).to_string();
    let (year, rest) = today.split_once('-').unwrap_or((&today, "01-01"));
    let year: i64 = year.parse().unwrap_or(0);
    format!("{:04}-{rest}", year - ADULT_AGE)
}

/// What each of these people is in the club, such as `Coach of Hawks` or `Guardian of Mia Sousa`. A guardian is
/// new until it was confirmed.
pub fn descriptions(
    db: &Reader<'_>,
    people: Vec<PersonId>,
) -> Result<BTreeMap<PersonId, Vec<String>>> {
    let mut found: BTreeMap<PersonId, Vec<String>> = BTreeMap::new();
    if people.is_empty() {
        return Ok(found);
    }
    let memberships: Vec<(PersonId, Role, String)> = db.all(
        "select m.person_id, m.role, t.name from member m
         join team t on t.account_id = m.account_id and t.id = m.team_id
         where m.account_id = :account and m.person_id in (:people) and m.status <> 'removed'
         order by t.name",
        bind! { people },
    )?;
    for (person, role, team) in memberships {
        let role = match role {
            Role::Player => "Player",
            Role::Coach => "Coach",
            Role::Manager => "Manager",
            Role::Staff => "Staff member",
        };
        found.entry(person).or_default().push(format!("{role} of {team}"));
    }
    let ties = guardian::children(db, &people)?;
    let children = person::all(db, ties.iter().map(|tie| tie.person_id).collect())?;
    for tie in ties {
        let Some(child) = children.get(&tie.person_id) else { continue };
        let role = if tie.confirmed { "Guardian" } else { "New guardian" };
        let text = format!("{role} of {}", person::display_name(child));
        found.entry(tie.guardian_id).or_default().push(text);
    }
    Ok(found)
}
