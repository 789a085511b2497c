//! Guardians: people who look after others. Siblings share them.

use std::collections::BTreeSet;

use kit::{Change, Timestamp};
use serde::Serialize;
use serde_json::json;
use store::{Reader, Tx, bind, record, sql};
use utoipa::ToSchema;

use super::person::{self, Person, PersonChange};
use super::refusals::Refusals;
use super::ripple::Ripple;
use super::safeguarding;
use super::trust::{self, Ward};
use crate::accounts::rights::Reach;
use crate::error::{Code, Error, Result};
use crate::ids::{AccountId, PersonId};
use crate::signals::Tell;

/// How many guardians somebody can have.
pub const MOST: usize = 10;

record! {
    /// That somebody looks after somebody, and how.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Guardianship in guardianship {
        pub account_id: AccountId,
        /// Who is looked after.
        pub person_id: PersonId,
        pub guardian_id: PersonId,
        pub position: i64,
        pub relationship: Option<String>,
        pub may_pick_up: bool,
        pub receives_messages: bool,
        /// Whether an admin, or a confirmed guardian of the same person, said that this is their guardian.
        pub confirmed: bool,
        pub created_at: Timestamp,
    }
}

/// A guardianship with the person who is the guardian.
#[derive(Debug, Clone)]
pub struct Link {
    pub tie: Guardianship,
    pub guardian: Person,
}

impl Link {
    /// Whether an admin knows the guardian, and it was confirmed that they look after this person.
    pub fn is_confirmed(&self) -> bool {
        self.tie.confirmed && self.guardian.adult_confirmed_at.is_some()
    }
}

/// A guardian, as they are shown with whom they look after.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Guardian {
    pub id: PersonId,
    pub first_name: String,
    pub last_name: Option<String>,
    #[schema(examples("mother"))]
    pub relationship: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
    /// Whether they may fetch the child.
    pub may_pick_up: bool,
    /// Whether they are written to when the child is.
    pub receives_messages: bool,
    /// Whether an admin, or another guardian whom an admin has confirmed, made them a guardian of this child. Until
    /// then they do not count as one in conversations with the child.
    pub confirmed: bool,
}

impl From<&Link> for Guardian {
    fn from(Link { tie, guardian }: &Link) -> Self {
        Self {
            id: guardian.id,
            first_name: guardian.first_name.clone(),
            last_name: guardian.last_name.clone(),
            relationship: tie.relationship.clone(),
            email: guardian.email.clone(),
            phone: guardian.phone.clone(),
            may_pick_up: tie.may_pick_up,
            receives_messages: tie.receives_messages,
            confirmed: tie.confirmed,
        }
    }
}

/// A guardian to be linked. With `id` it is that person, and only the members that are there change
/// them. Without, it is a person with the same name and e-mail address if there is one, else a new one.
#[derive(Debug, Default, ToSchema)]
pub struct NewGuardian {
    pub id: Option<PersonId>,
    /// Required without `id`.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 120)]
    pub first_name: Option<String>,
    #[schema(value_type = Option<String>, max_length = 120)]
    pub last_name: Change<String>,
    #[schema(value_type = Option<String>, max_length = 60)]
    pub relationship: Change<String>,
    #[schema(value_type = Option<String>, format = Email, max_length = 254)]
    pub email: Change<String>,
    #[schema(value_type = Option<String>, max_length = 40)]
    pub phone: Change<String>,
    /// `true` if left out.
    #[schema(value_type = Option<bool>)]
    pub may_pick_up: Change<bool>,
    /// `true` if left out.
    #[schema(value_type = Option<bool>)]
    pub receives_messages: Change<bool>,
    /// Only an admin, or a guardian whom an admin has confirmed, can change it. If left out, it stays as it is;
    /// for a new guardian it is `true` if one of these adds them.
    #[schema(value_type = Option<bool>)]
    pub confirmed: Change<bool>,
}

impl NewGuardian {
    /// What is said of the person, apart from how they are linked.
    fn person(&mut self) -> PersonChange {
        PersonChange {
            first_name: self.first_name.take(),
            last_name: std::mem::take(&mut self.last_name),
            email: std::mem::take(&mut self.email),
            phone: std::mem::take(&mut self.phone),
            ..PersonChange::default()
        }
    }

    /// The guardianship with what is said of it.
    fn tie(self, was: &Guardianship, position: usize) -> Guardianship {
        Guardianship {
            position: i64::try_from(position).unwrap_or(i64::MAX),
            relationship: self.relationship.apply(was.relationship.clone()),
            may_pick_up: self.may_pick_up.apply_or(was.may_pick_up, true),
            receives_messages: self.receives_messages.apply_or(was.receives_messages, true),
            confirmed: self.confirmed.apply_or(was.confirmed, was.confirmed),
            ..was.clone()
        }
    }
}

/// The guardians of these people, in the order they were given.
pub fn of(db: &Reader<'_>, people: &[PersonId]) -> Result<Vec<Link>> {
    let ties: Vec<Guardianship> = db.all(
        sql!(
            Guardianship::SELECT,
            " where account_id = :account and person_id in (:people) order by person_id, position"
        ),
        bind! { people: people.to_vec() },
    )?;
    let guardians = person::all(db, ties.iter().map(|tie| tie.guardian_id).collect())?;
    let linked = |tie: Guardianship| {
        let guardian = guardians.get(&tie.guardian_id)?.clone();
        Some(Link { tie, guardian })
    };
    Ok(ties.into_iter().filter_map(linked).collect())
}

/// Whom these people look after.
pub fn children(db: &Reader<'_>, guardians: &[PersonId]) -> Result<Vec<Guardianship>> {
    Ok(db.all(
        sql!(
            Guardianship::SELECT,
            " where account_id = :account and guardian_id in (:guardians)
              order by guardian_id, person_id"
        ),
        bind! { guardians: guardians.to_vec() },
    )?)
}

/// Whether one of these people is somebody's guardian.
pub(super) fn any(db: &Reader<'_>, people: Vec<PersonId>) -> Result<bool> {
    let found: Option<(i64,)> = db.maybe(
        "select 1 from guardianship where account_id = :account and guardian_id in (:people) limit 1",
        bind! { people },
    )?;
    Ok(found.is_some())
}

/// A guardian that is going to be linked: the person as they are now, if they are there, and as they
/// will be.
pub(super) struct Planned {
    before: Option<Person>,
    after: Person,
    tie: Guardianship,
}

/// Finds out who the guardians of a child are to be, without changing anything.
pub(super) fn plan(
    tx: &Tx<'_>,
    reach: &Reach,
    ward: Ward<'_>,
    wanted: Vec<NewGuardian>,
    refusals: &mut Refusals,
) -> Result<Vec<Planned>> {
    let child = ward.now.id;
    let now = of(tx, &[child])?;
    let may_tie = trust::may_tie(tx, reach, ward)?;
    let may_lower = safeguarding::may_lower(tx, reach, child)?;
    let mut plan: Vec<Planned> = Vec::new();
    for (position, mut item) in wanted.into_iter().enumerate() {
        let place = format!("/guardians/{position}");
        let Some((before, after)) = meant(tx, reach, child, &now, &mut item)? else {
            refusals.missing(&format!("{place}/id"));
            continue;
        };
        let tied = now.iter().any(|link| link.guardian.id == after.id);
        if let Some(before) = &before
            && let Some(member) = trust::foreign_contact(tx, reach, before, &after)?
        {
            refusals.admin_decides(&format!("{place}/{member}"));
        }
        let after = match &before {
            Some(before) => safeguarding::with_new_email(tx, reach, before, after)?,
            None => after,
        };
        if reach.is_own(after.id) && !tied {
            // Whoever looks after a child sees all its teams; nobody gives themselves that.
            let detail = "You cannot make yourself a guardian; ask an admin of the club.";
            refusals.invalid(&place, "not_allowed", detail);
        } else if !tied && (!may_tie || is_unfit(tx, reach, before.as_ref())?) {
            refusals.admin_decides(&place);
        } else if after.id == child {
            refusals.invalid(&place, "own_guardian", "A person cannot be their own guardian.");
        } else if plan.iter().any(|other| other.is_for(before.is_some(), &after)) {
            refusals.invalid(&place, "repeated", "This guardian stands in the list before.");
        } else {
            let tie = now.iter().find(|link| link.guardian.id == after.id);
            let was = tie
                .map_or_else(|| fresh(tx, (child, after.id), may_lower), |link| link.tie.clone());
            let tie = item.tie(&was, position);
            if !may_lower && tie.confirmed != was.confirmed {
                refusals.guardian_decides(&format!("{place}/confirmed"));
            }
            plan.push(Planned { before, after, tie });
        }
    }
    if !may_lower && safeguarding::is_minor(tx, child)? {
        let before: Vec<_> = now.into_iter().map(|link| link.tie).collect();
        let after: Vec<_> = plan.iter().map(|planned| planned.tie.clone()).collect();
        refuse_changes(&before, &after, refusals);
    }
    Ok(plan)
}

/// Whether only an admin makes this person a guardian: a confirmed coach could then write to the child alone, and a
/// minor would be written to in the place of an adult.
fn is_unfit(db: &Reader<'_>, reach: &Reach, guardian: Option<&Person>) -> Result<bool> {
    let Some(guardian) = guardian.filter(|_| *reach != Reach::Everywhere) else {
        return Ok(false);
    };
    let leads = guardian.adult_confirmed_at.is_some() && trust::is_leader(db, guardian.id)?;
    Ok(leads || safeguarding::is_minor(db, guardian.id)?)
}

/// Refuses whatever lowers the protection of a minor.
fn refuse_changes(before: &[Guardianship], after: &[Guardianship], refusals: &mut Refusals) {
    let place = |id| after.iter().position(|tie| tie.guardian_id == id);
    for change in safeguarding::guardian_changes(before, after) {
        let place = change.guardian().and_then(place);
        let pointer = place.map_or("/guardians".to_owned(), |at| format!("/guardians/{at}"));
        refusals.guardian_decides(&pointer);
    }
}

impl Planned {
    /// Whether this is the same guardian: the same person, or one who is just as new and looks alike.
    fn is_for(&self, known: bool, other: &Person) -> bool {
        let alike = self.after.name_folded == other.name_folded
            && self.after.email_folded.is_some()
            && self.after.email_folded == other.email_folded;
        self.after.id == other.id || (!known && self.before.is_none() && alike)
    }
}

fn fresh(tx: &Tx<'_>, (child, guardian): (PersonId, PersonId), confirmed: bool) -> Guardianship {
    Guardianship {
        account_id: tx.account(),
        person_id: child,
        guardian_id: guardian,
        position: 0,
        relationship: None,
        may_pick_up: true,
        receives_messages: true,
        confirmed,
        created_at: tx.now(),
    }
}

/// The person who is meant, as they are and as they will be; `None` if an id leads nowhere.
fn meant(
    tx: &Tx<'_>,
    reach: &Reach,
    child: PersonId,
    now: &[Link],
    item: &mut NewGuardian,
) -> Result<Option<(Option<Person>, Person)>> {
    let change = item.person();
    if let Some(id) = item.id {
        let person = match person::reachable(tx, reach, id) {
            Err(error) if error.code == Code::NotFound => return Ok(None),
            found => found?,
        };
        let after = change.apply(&person);
        return Ok(person.erased_at.is_none().then_some((Some(person), after)));
    }
    let said = change.apply(&person::blank(tx));
    let mut alike: Vec<_> = now.iter().map(|link| link.guardian.clone()).collect();
    if let Some(email) = &said.email_folded {
        alike.extend(person::with_email(tx, email)?);
    }
    let ids: Vec<_> = alike.iter().map(|person| person.id).collect();
    let reached = person::reached(tx, reach, &ids)?;
    let found = alike.into_iter().find(|person| {
        person.id != child && reached.contains(&person.id) && is_same(person, &said)
    });
    Ok(Some(match found {
        Some(person) => {
            let after = completed(&person, said);
            (Some(person), after)
        }
        None => (None, said),
    }))
}

/// Whether somebody who was described is a person who is known: nothing that both say differs.
fn is_same(known: &Person, said: &Person) -> bool {
    let differ = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
    known.name_folded == said.name_folded
        && !differ(&known.email_folded, &said.email_folded)
        && !differ(&known.phone_normalized, &said.phone_normalized)
}

/// The known person, with what was not known of them before.
fn completed(known: &Person, said: Person) -> Person {
    let news = |known: &Option<String>, said: Option<String>| match said {
        Some(said) if known.is_none() => Change::Set(said),
        _ => Change::Keep,
    };
    let change = PersonChange {
        email: news(&known.email, said.email),
        phone: news(&known.phone, said.phone),
        ..PersonChange::default()
    };
    change.apply(known)
}

/// Makes these the guardians of a child, and nobody else. Returns those who are new.
pub(super) fn replace(
    tx: &Tx<'_>,
    child: PersonId,
    plan: Vec<Planned>,
    ripple: &mut Ripple,
) -> Result<Vec<PersonId>> {
    let before: Vec<_> = of(tx, &[child])?.into_iter().map(|link| link.tie).collect();
    let after: Vec<_> = plan.iter().map(|planned| planned.tie.clone()).collect();
    for Planned { before, after, .. } in plan {
        match before {
            None => {
                person::insert(tx, &after)?;
                ripple.made(after.id);
            }
            Some(before) if before != after => {
                safeguarding::record_change(tx, &before, &after)?;
                person::update(tx, &after)?;
                ripple.changed(before, &after);
            }
            Some(_) => {}
        }
    }
    store(tx, child, (&before, &after), ripple)
}

/// Adds a guardian of a child. `confirmed` says whether an admin or a confirmed guardian decided it.
pub(super) fn add(
    tx: &Tx<'_>,
    (child, guardian): (PersonId, PersonId),
    confirmed: bool,
    ripple: &mut Ripple,
) -> Result<()> {
    let before: Vec<_> = of(tx, &[child])?.into_iter().map(|link| link.tie).collect();
    if before.len() >= MOST {
        return Err(Error::invalid_state("This player has as many guardians as there can be."));
    }
    let last = before.iter().map(|tie| tie.position).max();
    let new = Guardianship {
        position: last.map_or(0, |last| last + 1),
        ..fresh(tx, (child, guardian), confirmed)
    };
    let after: Vec<_> = before.iter().cloned().chain([new]).collect();
    store(tx, child, (&before, &after), ripple).map(drop)
}

/// Confirms that somebody is the guardian of those whom they look after, or only of this child.
pub fn confirm(tx: &Tx<'_>, guardian: PersonId, child: Option<PersonId>) -> Result<()> {
    let ties = children(tx, &[guardian])?.into_iter().filter(|tie| !tie.confirmed);
    let mut ripple = Ripple::default();
    for tie in ties.filter(|tie| child.is_none_or(|child| child == tie.person_id)) {
        tx.run(
            "update guardianship set confirmed = true
             where account_id = :account and person_id = :child and guardian_id = :guardian",
            bind! { child: tie.person_id, guardian },
        )?;
        ripple.shown(tie.person_id);
        let details = json!({ "guardian": guardian });
        tx.audit("person.guardian_confirmed", &tie.person_id.to_string(), &details)?;
    }
    ripple.settle(tx, None)
}

/// Says that somebody is not the guardian of those children of whom it was never confirmed.
pub fn remove_unconfirmed(tx: &Tx<'_>, guardian: PersonId) -> Result<()> {
    let mut ripple = Ripple::default();
    for tie in children(tx, &[guardian])?.into_iter().filter(|tie| !tie.confirmed) {
        let child = tie.person_id;
        let before: Vec<_> = of(tx, &[child])?.into_iter().map(|link| link.tie).collect();
        let after: Vec<_> = before.iter().filter(|one| **one != tie).cloned().collect();
        store(tx, child, (&before, &after), &mut ripple)?;
    }
    ripple.settle(tx, None)
}

/// Keeps the new guardians of a child in place of those before. Returns those who are new.
fn store(
    tx: &Tx<'_>,
    child: PersonId,
    (before, after): (&[Guardianship], &[Guardianship]),
    ripple: &mut Ripple,
) -> Result<Vec<PersonId>> {
    if before == after {
        return Ok(Vec::new());
    }
    tx.run(
        "delete from guardianship where account_id = :account and person_id = :child",
        bind! { child },
    )?;
    for tie in after {
        tx.run(Guardianship::INSERT, &tie.bind())?;
    }
    ripple.shown(child);
    if safeguarding::is_minor(tx, child)? {
        for change in safeguarding::guardian_changes(before, after) {
            safeguarding::record(tx, child, &change)?;
        }
    }
    let ids =
        |ties: &[Guardianship]| -> BTreeSet<_> { ties.iter().map(|tie| tie.guardian_id).collect() };
    for guardian in ids(before).symmetric_difference(&ids(after)) {
        ripple.listed(*guardian);
    }
    Ok(ids(after).difference(&ids(before)).copied().collect())
}

/// Unties a person from everybody who looks after them and from everybody they look after.
pub(super) fn untie(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    tx.run(
        "delete from guardianship where account_id = :account and person_id = :person",
        bind! { person },
    )?;
    tx.run(
        "delete from guardianship where account_id = :account and guardian_id = :person",
        bind! { person },
    )?;
    Ok(())
}
