//! Erasure: what the roster holds about a person, told and taken back.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use store::{Reader, Tx};

use super::guardian;
use super::member::{self, Member};
use super::membership::{self, MemberStatus, Membership, Positions, counted};
use super::person::{self, Person};
use super::profile;
use super::ripple::Ripple;
use crate::accounts::rights::Reach;
use crate::error::{Error, Result};
use crate::ids::{PersonId, TeamId};
use crate::metadata::Metadata;
use crate::signals::Tell;
use crate::teams::team;

/// Everything the roster holds about a person.
pub fn dossier(db: &Reader<'_>, id: PersonId) -> Result<Value> {
    let person = profile::show(db, &Reach::Everywhere, id)?;
    let memberships = member::shown(db, membership::of(db, vec![id])?, false)?;
    let looks_after = guardian::children(db, &[id])?.into_iter().map(|tie| {
        json!({
            "person_id": tie.person_id,
            "relationship": tie.relationship,
            "may_pick_up": tie.may_pick_up,
            "receives_messages": tie.receives_messages,
            "confirmed": tie.confirmed,
            "since": tie.created_at,
        })
    });
    let looks_after: Vec<_> = looks_after.collect();
    Ok(json!({ "person": person, "memberships": memberships, "looks_after": looks_after }))
}

/// Takes everything away that tells who a person is. They leave every team and every family;
/// guardians who are known only because of them go with them. Says who was erased.
pub fn erase(tx: &Tx<'_>, id: PersonId) -> Result<Vec<PersonId>> {
    let person = person::find(tx, id)?;
    if person.erased_at.is_some() {
        return Err(Error::invalid_state("The person is already erased."));
    }
    let guardians = guardian::of(tx, &[id])?;
    let mut ripple = Ripple::default();
    for tie in guardian::children(tx, &[id])? {
        ripple.shown(tie.person_id);
    }
    guardian::untie(tx, id)?;
    let person = nobody(tx, person);
    person::update(tx, &person)?;
    person::raise(tx, vec![id])?;
    if !leave(tx, &person)? {
        // No team has anything to hear of somebody who was on none.
        tx.tell("roster.person_updated", &profile::told(tx, id)?)?;
    }
    let mut erased = vec![id];
    for link in guardians {
        if is_unknown_otherwise(tx, &link.guardian)? {
            erased.extend(erase(tx, link.guardian.id)?);
        } else {
            ripple.listed(link.guardian.id);
        }
    }
    ripple.settle(tx, None)?;
    Ok(erased)
}

fn nobody(tx: &Tx<'_>, person: Person) -> Person {
    let (first, last) = ("Erased", "person");
    Person {
        id: person.id,
        first_name: first.to_owned(),
        last_name: Some(last.to_owned()),
        name_folded: person::folded_name(first, Some(last)),
        wants_email: false,
        user_id: None,
        erased_at: Some(tx.now()),
        created_at: person.created_at,
        version: person.version,
        ..person::blank(tx)
    }
}

/// Whether a guardian is on no team, was on none, signs in as nobody and looks after nobody else.
fn is_unknown_otherwise(tx: &Tx<'_>, guardian: &Person) -> Result<bool> {
    Ok(guardian.erased_at.is_none()
        && guardian.user_id.is_none()
        && membership::of(tx, vec![guardian.id])?.is_empty()
        && guardian::children(tx, &[guardian.id])?.is_empty())
}

/// Ends every membership of an erased person and says whether there was one. What they were is not
/// told again.
fn leave(tx: &Tx<'_>, person: &Person) -> Result<bool> {
    let mut left: BTreeMap<&'static str, Vec<Member>> = BTreeMap::new();
    let mut fewer: BTreeMap<TeamId, i64> = BTreeMap::new();
    for before in membership::of(tx, vec![person.id])? {
        let news = match before.status {
            MemberStatus::Removed => "roster.member_updated",
            _ => "roster.member_removed",
        };
        *fewer.entry(before.team_id).or_default() -= counted(before.status);
        let after = Membership {
            status: MemberStatus::Removed,
            left_on: before.left_on.or(Some(person::today(tx.now()))),
            jersey_number: None,
            positions: Positions::default(),
            external_id: None,
            metadata: Metadata::default(),
            ..before
        };
        let after = membership::save(tx, after)?;
        left.entry(news).or_default().push(Member::new(after, person));
    }
    for (team, more) in fewer {
        team::count_roster(tx, team, more)?;
    }
    for (kind, members) in &left {
        let news: Vec<_> = members.iter().map(|member| (None, member)).collect();
        tx.tell_all(kind, &news)?;
    }
    Ok(!left.is_empty())
}
