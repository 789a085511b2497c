//! People who wait for confirmation by an admin: staff and guardians who are not confirmed adults yet, guardians that a
//! coach added, and minors who have turned 18.

use std::collections::BTreeMap;

use super::membership::Role;
use super::{guardian, person};
use crate::prelude::*;

row! {
    /// A person who waits for confirmation by an admin.
    #[derive(Debug, Clone)]
    pub struct UnconfirmedPerson {
        pub id: PersonId,
        pub first_name: String,
        pub last_name: Option<String>,
        pub email: Option<String>,
        pub email_confirmed_at: Option<Timestamp>,
        pub email_opt_in: bool,
        pub signs_in: bool,
        pub birth_date: Option<Day>,
        pub known_minor: bool,
        /// Whether an admin has confirmed them as an adult. Then only a guardianship is unconfirmed.
        pub is_confirmed: bool,
        /// Whether they have an unconfirmed guardianship.
        pub is_new_guardian: bool,
        pub created_at: Timestamp,
    }
}

impl_resource!(UnconfirmedPerson by PersonId: Paged);

impl UnconfirmedPerson {
    /// First and last name.
    pub fn name(&self) -> String {
        let parts = [Some(&self.first_name), self.last_name.as_ref()];
        parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

const UNCONFIRMED: &str = "
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

/// A page of the people who wait for confirmation, in order of creation.
pub fn list(db: &Reader<'_>, page: &Page<PersonId>) -> Result<Vec<UnconfirmedPerson>> {
    let after = page.after(PersonId::MIN, PersonId::MAX);
    let text = sql!(
        "select id, first_name, last_name, email, email_confirmed_at, email_opt_in, user_id is not null as signs_in,
                birth_date, known_minor, adult_confirmed_at is not null as is_confirmed,
                exists (select 1 from guardianship g
                        where g.account_id = person.account_id and g.guardian_id = person.id
                          and not g.confirmed) as is_new_guardian,
                created_at",
        UNCONFIRMED,
        " and id > :after order by id limit :limit"
    );
    let adult_since = person::adult_since(db.now());
    Ok(db.all(text, bind! { adult_since, after, limit: page.fetch_limit() })?)
}

/// Number of people who wait for confirmation.
pub fn count(db: &Reader<'_>) -> Result<i64> {
    let adult_since = person::adult_since(db.now());
    let (count,) = db.one(sql!("select count(*)", UNCONFIRMED), bind! { adult_since })?;
    Ok(count)
}

/// The roles of these people in the club, such as `Coach of Hawks` or `Guardian of Mia Sousa`. An unconfirmed guardian
/// is a `New guardian`.
pub fn descriptions(
    db: &Reader<'_>,
    people: Vec<PersonId>,
) -> Result<BTreeMap<PersonId, Vec<String>>> {
    let mut roles: BTreeMap<PersonId, Vec<String>> = BTreeMap::new();
    if people.is_empty() {
        return Ok(roles);
    }
    let memberships: Vec<(PersonId, Role, String)> = db.all(
        "select m.person_id, m.role, t.name from member m
         join team t on t.account_id = m.account_id and t.id = m.team_id
         where m.account_id = :account and m.person_id in (:people) and m.status <> 'removed'
         order by t.name",
        bind! { people },
    )?;
    for (person, role, team) in memberships {
        roles.entry(person).or_default().push(match role {
            Role::Player => t!("Player of {team}", team),
            Role::Coach => t!("Coach of {team}", team),
            Role::Manager => t!("Manager of {team}", team),
            Role::Staff => t!("Staff member of {team}", team),
        });
    }
    let guardianships = guardian::list_by_guardian(db, &people)?;
    let children = person::find_many(db, guardianships.iter().map(|one| one.person_id).collect())?;
    for guardianship in guardianships {
        let Some(child) = children.get(&guardianship.person_id) else { continue };
        let child = person::display_name(child);
        roles.entry(guardianship.guardian_id).or_default().push(if guardianship.confirmed {
            t!("Guardian of {child}", child)
        } else {
            t!("New guardian of {child}", child)
        });
    }
    Ok(roles)
}
