//! Children who want to sign in themselves: below thirteen, somebody who looks after them comes first.

use kit::Day;
use store::Reader;

use crate::error::{Error, Result};
use crate::roster::guardian;
use crate::roster::person::Person;
use crate::teams::age_group::ADULT_AGE;

/// Below this age, a guardian must have joined before.
const ALONE: i64 = 13;

/// How old a person is today, if it is known.
pub fn of(db: &Reader<'_>, person: &Person) -> Option<i64> {
    let today: Option<Day> = db.now().to_string().get(..10).and_then(|day| day.parse().ok());
    person.birth_date?.age_on(today?)
}

/// What those who agree should know of the age of somebody who wants to sign in and is no adult.
pub fn remark(db: &Reader<'_>, person: &Person) -> Option<String> {
    let age = of(db, person)?;
    (age < ADULT_AGE).then(|| format!("{age} years old. Make sure that a parent knows of this."))
}

/// Refuses a child whose guardians have not joined yet.
pub fn check(db: &Reader<'_>, person: &Person) -> Result<()> {
    if of(db, person).is_none_or(|age| age >= ALONE) {
        return Ok(());
    }
    let guardians = guardian::of(db, &[person.id])?;
    if guardians.iter().any(|link| link.guardian.user_id.is_some()) {
        return Ok(());
    }
    let detail = "Players under 13 join together with a parent. Ask a parent to join first; \
                  then come back to this link.";
    Err(Error::invalid_state(detail))
}
