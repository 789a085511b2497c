//! The circle of a message: everybody who gets it, with the guardians and adults that the safety of
//! children asks for.

use std::collections::BTreeSet;

use store::Reader;

use super::audience::{self, To};
use super::message::{Kind, Stored};
use super::{conversation, people, safety};
use crate::error::{Code, Error, Fault, Result};
use crate::ids::PersonId;
use crate::teams::team::Team;

/// Everybody who gets this message if it is published now: each once, its author not at all.
pub fn recipients(db: &Reader<'_>, team: &Team, message: &Stored) -> Result<BTreeSet<PersonId>> {
    let author = message.author_person_id;
    let is_reply = message.parent_id.is_some();
    let (mut named, key_writes) = if is_reply {
        let thread = conversation::thread(db, message.thread_id)?;
        (thread.people, thread.key_writes || author.is_none())
    } else {
        (audience::people(db, team.id, &message.audience)?, author.is_none())
    };
    named.retain(|person| Some(*person) != author);
    // A reply is there for whoever reads the conversation, even if they are nobody's account here.
    if named.is_empty() && !is_reply {
        return Err(nobody());
    }
    let begun = Circle::around(db, team, named.into_iter().chain(author).collect())?;
    let guardians = people::guardians(db, &begun.minors)?;
    let receiving = guardians.iter().filter(|one| one.receives_messages);
    let for_recipients = receiving.filter(|one| Some(one.person_id) != author);
    let mut circle = begun.with(db, team, for_recipients.map(|one| one.guardian_id))?;
    let must_be_safe = message.kind == Kind::Message || message.audience.to == To::Members;
    if must_be_safe && circle.lacks_an_adult(key_writes) {
        circle = circle.with(db, team, guardians.iter().map(|one| one.guardian_id))?;
        if circle.lacks_an_adult(key_writes) {
            return Err(second_adult_required());
        }
    }
    Ok(circle.people.into_iter().filter(|person| Some(*person) != author).collect())
}

/// The people around a message, its author among them, and who of them is a minor.
struct Circle {
    people: BTreeSet<PersonId>,
    minors: BTreeSet<PersonId>,
}

impl Circle {
    fn around(db: &Reader<'_>, team: &Team, people: BTreeSet<PersonId>) -> Result<Self> {
        let today = team.timezone.day(db.now());
        let team_plays_adults = safety::plays_adults(team.age_group.as_deref());
        let facts = people::facts(db, team.id, &people)?;
        let minors = facts.iter().filter(|one| safety::is_minor(one, team_plays_adults, today));
        Ok(Self {
            minors: minors.map(|one| one.person_id).collect(),
            people: facts.iter().map(|one| one.person_id).collect(),
        })
    }

    fn with(
        self,
        db: &Reader<'_>,
        team: &Team,
        more: impl Iterator<Item = PersonId>,
    ) -> Result<Self> {
        let more: BTreeSet<_> = more.filter(|person| !self.people.contains(person)).collect();
        if more.is_empty() {
            return Ok(self);
        }
        let more = Self::around(db, team, more)?;
        Ok(Self { people: &self.people | &more.people, minors: &self.minors | &more.minors })
    }

    fn lacks_an_adult(&self, key_writes: bool) -> bool {
        let adults = self.people.len() - self.minors.len();
        safety::lacks_an_adult(self.minors.len(), adults, key_writes)
    }
}

fn nobody() -> Error {
    let detail = "There is nobody in this audience.";
    let fault = Fault::new("/audience", "empty_audience", detail);
    Error { faults: vec![fault], ..Error::new(Code::ValidationFailed, detail) }
}

fn second_adult_required() -> Error {
    let detail = "A minor would be on this conversation with fewer than two adults. Add another adult \
                  to the audience, or a guardian to the roster.";
    let fault = Fault::new("/audience", "second_adult_required", detail);
    Error { faults: vec![fault], ..Error::new(Code::Conflict, detail) }
}
