//! The recipients of a message, including the guardians and adults that the safeguarding rules require.

use std::collections::{BTreeMap, BTreeSet};

use super::audience::AudienceKind;
use super::message::{Kind, MessageRecord};
use super::people::TeamPeople;
use super::{audience, conversation, people, safety};
use crate::prelude::*;
use crate::roster::guardian::Guardianship;
use crate::roster::person;
use crate::roster::safeguarding;
use crate::teams::team::Team;

/// Everybody who receives a message.
#[derive(Debug)]
pub struct Recipients {
    pub people: BTreeSet<PersonId>,
    /// The guardianships of minors whose guardians receive the message only because of them.
    pub added: Vec<Guardianship>,
    /// Whether minors receive the message under the two-adult rule, so that the adults must be able to read it at once.
    pub protects_minors: bool,
}

/// Everybody who receives this message if it is published now. The author receives it only if an API key posted it on
/// their behalf and a minor receives it too. Otherwise an adult who never sees the message would count as the second
/// adult. `team_people` are the people who belong to the team at present.
pub fn resolve(
    db: &Reader<'_>,
    team: &Team,
    message: &MessageRecord,
    team_people: &TeamPeople,
) -> Result<Recipients> {
    let author = message.author_person_id;
    let is_reply = message.parent_id.is_some();
    let mut addressed = if is_reply {
        &conversation::participants(db, message.thread_id)? & &team_people.people
    } else {
        audience::people(db, team.id, &message.audience)?
    };
    addressed.retain(|person| Some(*person) != author);
    // A reply may have no recipients, for example if the only other participant has left the team.
    if addressed.is_empty() && !is_reply {
        return Err(empty_audience());
    }
    let initial = Participants::load(db, team, addressed.iter().copied().chain(author).collect())?;
    let guardians = people::guardians(db, &initial.minors)?;
    // An announcement to a whole team with several children is not a private message to a child. A selected audience
    // may be a single child, possibly together with a made-up second one, so it must follow the rule. A coach can also
    // add made-up children to the team, so announcements of a coach count only children with a confirmed guardian.
    let is_real = |child: &PersonId| {
        let mut own = guardians.iter().filter(|one| one.person_id == *child);
        message.by_club || own.any(|one| one.confirmed)
    };
    let children =
        initial.minors.iter().filter(|child| Some(**child) != author && is_real(child)).count();
    let is_selective = matches!(
        message.audience.to,
        AudienceKind::Members | AudienceKind::Unanswered | AudienceKind::Staff
    );
    let must_be_safe = message.kind == Kind::Message || is_selective || children < 2;
    let receiving = guardians.iter().filter(|one| one.receives_messages);
    let for_recipients = receiving.filter(|one| Some(one.person_id) != author);
    let mut participants = initial.add(db, team, for_recipients.map(|one| one.guardian_id))?;
    let confirmed = guardians.iter().filter(|one| one.confirmed);
    let guardianships: Vec<_> = confirmed.map(|one| (one.person_id, one.guardian_id)).collect();
    if must_be_safe && !participants.is_safe(&team_people.confirmed, &guardianships) {
        participants = participants.add(db, team, guardians.iter().map(|one| one.guardian_id))?;
        if !participants.is_safe(&team_people.confirmed, &guardianships) {
            return Err(second_adult_required());
        }
    }
    let protects_minors = must_be_safe && !participants.minors.is_empty();
    let author_receives = message.by_key && protects_minors;
    let excluded =
        author.filter(|person| !(author_receives && participants.adults.contains(person)));
    let mut people = participants.people;
    people.retain(|person| Some(*person) != excluded);
    let is_added = |guardian: &PersonId| people.contains(guardian) && !addressed.contains(guardian);
    let added = guardians.iter().filter(|one| is_added(&one.guardian_id)).cloned().collect();
    Ok(Recipients { people, added, protects_minors })
}

/// The recipients of a message and its author, with those who are minors and those who count as adults.
struct Participants {
    people: BTreeSet<PersonId>,
    minors: BTreeSet<PersonId>,
    adults: BTreeSet<PersonId>,
}

impl Participants {
    fn load(db: &Reader<'_>, team: &Team, people: BTreeSet<PersonId>) -> Result<Self> {
        let today = team.timezone.day(db.now());
        let facts = safeguarding::load_facts(db, &people)?;
        let minors = facts.iter().filter(|one| one.is_minor(today));
        let adults = facts.iter().filter(|one| one.counts_as_adult(today));
        Ok(Self {
            minors: minors.map(|one| one.person_id).collect(),
            adults: adults.map(|one| one.person_id).collect(),
            people: facts.iter().map(|one| one.person_id).collect(),
        })
    }

    fn add(
        self,
        db: &Reader<'_>,
        team: &Team,
        more: impl Iterator<Item = PersonId>,
    ) -> Result<Self> {
        let more: BTreeSet<_> = more.filter(|person| !self.people.contains(person)).collect();
        if more.is_empty() {
            return Ok(self);
        }
        let more = Self::load(db, team, more)?;
        Ok(Self {
            people: &self.people | &more.people,
            minors: &self.minors | &more.minors,
            adults: &self.adults | &more.adults,
        })
    }

    /// Whether there are enough adults for the minors. Only adults who belong to the team (`team_people`) or are
    /// confirmed guardians of one of the minors count. An inactive manager in `member_ids` does not count.
    /// `guardianships` are pairs of a minor and a guardian.
    fn is_safe(
        &self,
        team_people: &BTreeSet<PersonId>,
        guardianships: &[(PersonId, PersonId)],
    ) -> bool {
        let is_guardian =
            |adult: &PersonId| guardianships.iter().any(|(_, guardian)| guardian == adult);
        let mut adults = self.adults.clone();
        adults.retain(|adult| team_people.contains(adult) || is_guardian(adult));
        safety::is_safe(&self.minors, &adults, guardianships)
    }
}

fn empty_audience() -> Error {
    let detail =
        "The audience is empty. Choose an audience with at least one person besides the author.";
    let fault = Fault::new("/audience", "empty_audience", detail);
    Error { faults: vec![fault], ..Error::new(Code::ValidationFailed, detail) }
}

fn second_adult_required() -> Error {
    let detail = "A conversation with a minor needs at least two adults. Add another adult to the audience, or add a \
                  guardian of the minor to the roster. An adult counts if an admin has confirmed them and if they \
                  can sign in or have confirmed their email address.";
    let fault = Fault::new("/audience", "second_adult_required", detail);
    Error { faults: vec![fault], ..Error::new(Code::Conflict, detail) }
}

/// The minors among `emailed` who must not get a text of a coach in their email, because too few adults can read it.
/// `people` are all who see the text after they sign in. Adults who do not sign in count only if they get the email.
pub fn unprotected_minors(
    db: &Reader<'_>,
    team: &Team,
    people: &BTreeSet<PersonId>,
    emailed: &BTreeSet<PersonId>,
) -> Result<BTreeSet<PersonId>> {
    let mut participants = Participants::load(db, team, people | emailed)?;
    let found = person::find_many(db, participants.adults.iter().copied().collect())?;
    let signs_in = |adult: &PersonId| found.get(adult).is_some_and(|one| one.user_id.is_some());
    participants.adults.retain(|adult| emailed.contains(adult) || signs_in(adult));
    let guardians = people::guardians(db, &participants.minors)?;
    let confirmed = guardians.iter().filter(|one| one.confirmed);
    let guardianships: Vec<_> = confirmed.map(|one| (one.person_id, one.guardian_id)).collect();
    let team_people = people::team_people(db, team.id)?.confirmed;
    if participants.is_safe(&team_people, &guardianships) {
        return Ok(BTreeSet::new());
    }
    Ok(&participants.minors & emailed)
}

/// Who is reminded that answers of these people are missing, each with those they answer for: the people themselves, and
/// the guardians of minors. Guardians who get no messages get no reminders. [`unprotected_minors`] says which minors must
/// not get the email.
pub fn of_reminder(
    db: &Reader<'_>,
    team: &Team,
    people: &BTreeSet<PersonId>,
) -> Result<BTreeMap<PersonId, BTreeSet<PersonId>>> {
    let initial = Participants::load(db, team, people.clone())?;
    let guardians = people::guardians(db, &initial.minors)?;
    let receiving = guardians.iter().filter(|one| one.receives_messages);
    let participants = initial.add(db, team, receiving.clone().map(|one| one.guardian_id))?;
    let mut answers_for: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for person in participants.people.intersection(people) {
        answers_for.entry(*person).or_default().insert(*person);
    }
    for link in receiving.filter(|one| participants.people.contains(&one.guardian_id)) {
        answers_for.entry(link.guardian_id).or_default().insert(link.person_id);
    }
    Ok(answers_for)
}
