//! The minimum age for signing in: under 13, a guardian has to join first.

use crate::i18n::Message;
use crate::prelude::*;
use crate::roster::guardian::{self, GuardianLink};
use crate::roster::person::Person;
use crate::teams::age_group::ADULT_AGE;

/// Minimum age to sign in without a guardian who has joined, in years.
const MIN_AGE_ALONE: i64 = 13;

/// The age of a person today in years, if the birth date is known.
pub fn age_of(db: &Reader<'_>, person: &Person) -> Option<i64> {
    let today: Option<Day> = db.now().to_string().get(..10).and_then(|day| day.parse().ok());
    person.birth_date?.age_on(today?)
}

/// A note about the age of a minor, for the person who decides about the request to join.
pub fn minor_note(db: &Reader<'_>, person: &Person) -> Option<Message> {
    let age = age_of(db, person)?;
    (age < ADULT_AGE).then(|| {
        message_n!(
            "This player is {count} year old. Make sure that a parent knows about this request.",
            "This player is {count} years old. Make sure that a parent knows about this request.",
            age
        )
    })
}

/// Fails for a child under 13 if no guardian has joined yet.
pub fn check(db: &Reader<'_>, person: &Person) -> Result<()> {
    let has_joined = |link: &GuardianLink| link.guardian.user_id.is_some();
    if age_of(db, person).is_none_or(|age| age >= MIN_AGE_ALONE)
        || guardian::list_for(db, &[person.id])?.iter().any(has_joined)
    {
        return Ok(());
    }
    let detail = "Players under 13 need a parent who has already joined. Ask a parent to join first. \
                  Then open this link again.";
    Err(Error::invalid_state(detail))
}
