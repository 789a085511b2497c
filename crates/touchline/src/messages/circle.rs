//! The circle of a message: everybody who gets it, with the guardians and adults that the safety of
//! children asks for.

use std::collections::BTreeSet;

use store::Reader;

use super::audience::To;
use super::message::{Kind, Stored};
use super::people::Belonging;
use super::{audience, conversation, people, safety};
use crate::error::{Code, Error, Fault, Result};
use crate::ids::PersonId;
use crate::roster::safeguarding;
use crate::teams::team::Team;

/// Everybody who gets this message if it is published now, each once. Its author gets it only if an API key wrote
/// it in their name and a minor gets it too: otherwise an adult would count who never sees it.
/// `belonging` are those who belong to the team at present.
pub fn recipients(
    db: &Reader<'_>,
    team: &Team,
    message: &Stored,
    belonging: &Belonging,
) -> Result<BTreeSet<PersonId>> {
    let author = message.author_person_id;
    let is_reply = message.parent_id.is_some();
    let mut named = if is_reply {
        &conversation::people(db, message.thread_id)? & &belonging.people
    } else {
        audience::people(db, team.id, &message.audience)?
    };
    named.retain(|person| Some(*person) != author);
    // A reply is there for whoever reads the conversation, even if they are nobody's account here.
    if named.is_empty() && !is_reply {
        return Err(nobody());
    }
    let begun = Circle::around(db, team, named.into_iter().chain(author).collect())?;
    let guardians = people::guardians(db, &begun.minors)?;
    // What a whole team is told is said to no child alone. Named members may be one child and a second one who does
    // not exist, and so may the whole team of a coach: there only children count whose guardian an admin knows.
    let is_real = |child: &PersonId| {
        let mut own = guardians.iter().filter(|one| one.person_id == *child);
        message.by_club || own.any(|one| one.confirmed)
    };
    let children =
        begun.minors.iter().filter(|child| Some(**child) != author && is_real(child)).count();
    let names_few = matches!(message.audience.to, To::Members | To::Unanswered | To::Staff);
    let must_be_safe = message.kind == Kind::Message || names_few || children < 2;
    let receiving = guardians.iter().filter(|one| one.receives_messages);
    let for_recipients = receiving.filter(|one| Some(one.person_id) != author);
    let mut circle = begun.with(db, team, for_recipients.map(|one| one.guardian_id))?;
    let confirmed = guardians.iter().filter(|one| one.confirmed);
    let ties: Vec<_> = confirmed.map(|one| (one.person_id, one.guardian_id)).collect();
    if must_be_safe && !circle.is_safe(&belonging.confirmed, &ties) {
        circle = circle.with(db, team, guardians.iter().map(|one| one.guardian_id))?;
        if !circle.is_safe(&belonging.confirmed, &ties) {
            return Err(second_adult_required());
        }
    }
    let author_reads = message.by_key && must_be_safe && !circle.minors.is_empty();
    let left_out = author.filter(|person| !(author_reads && circle.adults.contains(person)));
    Ok(circle.people.into_iter().filter(|person| Some(*person) != left_out).collect())
}

/// The people around a message, its author among them, who of them is a minor, and who counts as an adult.
struct Circle {
    people: BTreeSet<PersonId>,
    minors: BTreeSet<PersonId>,
    adults: BTreeSet<PersonId>,
}

impl Circle {
    fn around(db: &Reader<'_>, team: &Team, people: BTreeSet<PersonId>) -> Result<Self> {
        let today = team.timezone.day(db.now());
        let facts = safeguarding::facts(db, &people)?;
        let minors = facts.iter().filter(|one| one.is_minor(today));
        let adults = facts.iter().filter(|one| one.counts_as_adult(today));
        Ok(Self {
            minors: minors.map(|one| one.person_id).collect(),
            adults: adults.map(|one| one.person_id).collect(),
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
        Ok(Self {
            people: &self.people | &more.people,
            minors: &self.minors | &more.minors,
            adults: &self.adults | &more.adults,
        })
    }

    /// Whether the minors are safe. Only those adults count who belong to the team or are confirmed guardians of
    /// one of the minors; an inactive manager who was named does not.
    fn is_safe(&self, belonging: &BTreeSet<PersonId>, ties: &[(PersonId, PersonId)]) -> bool {
        let mut adults = self.adults.clone();
        adults.retain(|adult| {
            belonging.contains(adult) || ties.iter().any(|(_, guardian)| guardian == adult)
        });
        safety::is_safe(&self.minors, &adults, ties)
    }
}

fn nobody() -> Error {
    let detail = "There is nobody in this audience.";
    let fault = Fault::new("/audience", "empty_audience", detail);
    Error { faults: vec![fault], ..Error::new(Code::ValidationFailed, detail) }
}

fn second_adult_required() -> Error {
    let detail = "A minor would be on this conversation with fewer than two adults. Add another adult to the \
                  audience, or a guardian to the roster. An adult counts once an admin has confirmed them, \
                  and if they sign in or have confirmed their email address.";
    let fault = Fault::new("/audience", "second_adult_required", detail);
    Error { faults: vec![fault], ..Error::new(Code::Conflict, detail) }
}
