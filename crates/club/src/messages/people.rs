//! People as messages need them: names, guardians, team members and email addresses. Erased people are left out.

use std::collections::{BTreeMap, BTreeSet};

use crate::prelude::*;
use crate::roster::guardian::{self, Guardianship};
use crate::roster::membership::Role;
use crate::roster::notification_settings::{EmailKind, Frequency, RecipientSettings};
use crate::roster::person::{self, Person};

/// The names of these people.
pub fn names(db: &Reader<'_>, ids: Vec<PersonId>) -> Result<BTreeMap<PersonId, String>> {
    let people =
        person::find_many(db, ids)?.into_values().filter(|person| person.erased_at.is_none());
    Ok(people.map(|person| (person.id, person::display_name(&person))).collect())
}

row! {
    /// A person on a team's roster, active or not.
    #[derive(Debug)]
    pub struct TeamMember {
        pub id: MemberId,
        pub person_id: PersonId,
        pub role: Role,
        /// Whether the status is active or injured, as opposed to inactive.
        pub present: bool,
    }
}

/// All members of a team except removed ones.
pub fn team_members(db: &Reader<'_>, team_id: TeamId) -> Result<Vec<TeamMember>> {
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

/// The people who belong to a team at present.
#[derive(Debug)]
pub struct TeamPeople {
    /// Active and injured members, and all their guardians.
    pub people: BTreeSet<PersonId>,
    /// Active and injured members, and their confirmed guardians.
    pub confirmed: BTreeSet<PersonId>,
}

/// The people who belong to a team at present: active and injured members and their guardians.
pub fn team_people(db: &Reader<'_>, team_id: TeamId) -> Result<TeamPeople> {
    let members = team_members(db, team_id)?.into_iter().filter(|one| one.present);
    let members: BTreeSet<_> = members.map(|one| one.person_id).collect();
    let guardians = guardians(db, &members)?;
    let with = |guardians: &mut dyn Iterator<Item = &Guardianship>| {
        members.iter().copied().chain(guardians.map(|one| one.guardian_id)).collect()
    };
    Ok(TeamPeople {
        people: with(&mut guardians.iter()),
        confirmed: with(&mut guardians.iter().filter(|one| one.confirmed)),
    })
}

/// The guardianships of these people.
pub fn guardians(db: &Reader<'_>, dependents: &BTreeSet<PersonId>) -> Result<Vec<Guardianship>> {
    let dependents: Vec<_> = dependents.iter().copied().collect();
    let links = guardian::list_for(db, &dependents)?.into_iter();
    Ok(links
        .filter(|link| link.guardian.erased_at.is_none())
        .map(|link| link.guardianship)
        .collect())
}

/// The people among these who get an email of the kind that `kind` returns, by their settings. Each address appears once,
/// so that a family with a shared mailbox gets one email. A person who gets no email, or gets it later, does not displace
/// another one with the same address.
pub fn email_recipients(
    db: &Reader<'_>,
    people: &BTreeSet<PersonId>,
    kind: impl Fn(&Person) -> Option<EmailKind>,
) -> Result<Vec<(Person, EmailKind)>> {
    let settings = RecipientSettings::load(db, people.iter().copied())?;
    let people = person::find_many(db, people.iter().copied().collect())?.into_values();
    let existing = people.filter(|person| person.erased_at.is_none());
    let with_frequency = |person: Person| {
        let kind = kind(&person).filter(|kind| person.email_opt_in || kind.is_mandatory())?;
        Some((settings.frequency(person.id, kind), person, kind))
    };
    let mut wanted: Vec<_> = existing.filter_map(with_frequency).collect();
    wanted.retain(|(frequency, ..)| *frequency != Frequency::Never);
    wanted.sort_by_key(|(frequency, ..)| *frequency == Frequency::Daily);
    let mut addresses = BTreeSet::new();
    let mut recipients: Vec<_> = wanted
        .into_iter()
        .filter(|(_, person, _)| {
            person.email_folded.clone().is_some_and(|one| addresses.insert(one))
        })
        .map(|(_, person, kind)| (person, kind))
        .collect();
    recipients.sort_by_key(|(person, _)| person.id);
    Ok(recipients)
}
