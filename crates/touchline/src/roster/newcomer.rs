//! Newcomers: people who are put on a team, known ones and new ones, alone or a hundred at once.

use std::collections::BTreeMap;

use store::Tx;
use utoipa::ToSchema;

use super::duplicates;
use super::guardian::{self, NewGuardian};
use super::member::{self, Member};
use super::membership::{
    self, MemberStatus, Membership, MembershipChange, Positions, Role, counted,
};
use super::person::{self, Person, PersonChange};
use super::refusals::Refusals;
use super::ripple::Ripple;
use super::safeguarding;
use super::trust::{self, Ward};
use crate::accounts::rights::Reach;
use crate::error::{Code, Error, Result};
use crate::ids::{PersonId, TeamId};
use crate::metadata::Metadata;
use crate::signals::Tell;
use crate::teams::team::{self, Team};

/// Somebody to be put on a team: a person who is known already (`person_id`) or a new one
/// (`first_name` and what else is known of them).
#[derive(Debug, ToSchema)]
pub struct NewMember {
    /// A person who is known already. Nothing else may then be said of the person.
    pub person_id: Option<PersonId>,
    #[serde(flatten)]
    pub person: PersonChange,
    #[serde(flatten)]
    pub membership: MembershipChange,
    #[schema(required = false, max_items = 10)]
    pub guardians: Vec<NewGuardian>,
    /// Whether to add the person even if somebody who looks like them is there already.
    #[schema(required = false)]
    pub allow_duplicate: bool,
}

/// Somebody to be put on one of several teams.
#[derive(Debug, ToSchema)]
pub struct Newcomer {
    pub team_id: TeamId,
    #[serde(flatten)]
    pub new: NewMember,
}

/// Up to a hundred people to be put on teams: all of them, or none.
#[derive(Debug, ToSchema)]
pub struct Newcomers {
    #[schema(min_items = 1, max_items = 100)]
    pub members: Vec<Newcomer>,
}

/// Puts somebody on a team.
pub fn add(tx: &Tx<'_>, reach: &Reach, team: TeamId, new: NewMember) -> Result<Member> {
    let team = team::playing(tx, team)?;
    let mut desk = Desk::open(tx, reach);
    desk.admit(0, &team, new)?;
    let joined = desk.close()?.pop().ok_or_else(Error::not_found)?;
    member::show(tx, team.id, joined.id)
}

/// Puts everybody on their team, or nobody if anything stands against one of them.
pub fn add_all(tx: &Tx<'_>, reach: &Reach, all: Newcomers) -> Result<Vec<Member>> {
    let mut desk = Desk::open(tx, reach);
    for (number, Newcomer { team_id, new }) in all.members.into_iter().enumerate() {
        desk.refusals.look_at(format!("/members/{number}"));
        match reach.check(team_id).and_then(|()| team::playing(tx, team_id)) {
            Ok(team) => desk.admit(number, &team, new)?,
            Err(error) if error.code == Code::NotFound => desk.refusals.missing("/team_id"),
            Err(error) if error.code == Code::InvalidState => {
                desk.refusals.state("/team_id", &error.detail);
            }
            Err(error) => return Err(error),
        }
    }
    let joined = desk.close()?;
    let people = joined.iter().map(|membership| membership.person_id).collect();
    // Read again: a newcomer may have changed the guardian of one before.
    let made = |membership: &Membership| joined.iter().any(|one| one.id == membership.id);
    let joined = membership::of(tx, people)?.into_iter().filter(made).collect();
    member::shown(tx, joined, false)
}

/// Where newcomers report, one after the other. Each is held against those who are there and those
/// who came before; what stands against them is told when everybody was heard.
struct Desk<'a, 'c> {
    tx: &'a Tx<'c>,
    reach: &'a Reach,
    refusals: Refusals,
    ripple: Ripple,
    /// The people who are new, and the number they had.
    made: BTreeMap<PersonId, usize>,
    joined: Vec<Membership>,
    /// New staff and guardians, whom an admin confirms by adding them.
    new_adults: Vec<PersonId>,
}

impl<'a, 'c> Desk<'a, 'c> {
    fn open(tx: &'a Tx<'c>, reach: &'a Reach) -> Self {
        let (refusals, ripple) = (Refusals::default(), Ripple::default());
        let (made, joined, new_adults) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { tx, reach, refusals, ripple, made, joined, new_adults }
    }

    /// Puts a newcomer on the team. One against whom something stands is put there too, as far as
    /// possible, so that those who come after are held against them: nothing of it will be kept.
    fn admit(&mut self, number: usize, team: &Team, new: NewMember) -> Result<()> {
        let tx = self.tx;
        let person = if let Some(id) = new.person_id {
            let Some(person) = self.known(team, id)? else { return Ok(()) };
            person
        } else {
            let person = new.person.apply(&person::blank(tx));
            person::check(&person, tx.now(), &mut self.refusals);
            if !new.allow_duplicate {
                self.compare(&person, &new.guardians)?;
            }
            person::insert(tx, &person)?;
            self.ripple.made(person.id);
            self.made.insert(person.id, number);
            person
        };
        let mut membership = new.membership.apply(&blank(tx, team.id, person.id));
        if !trust::may_become(self.reach, &person, None, &membership) {
            self.refusals.admin_decides("/role");
        }
        if safeguarding::is_doubtful(self.reach, team, &person, membership.role) {
            safeguarding::mark_minors(tx, vec![person.id])?;
        }
        if membership.role != Role::Player {
            self.new_adults.push(person.id);
        }
        if !new.guardians.is_empty() {
            let ward = Ward { was: &person, now: &person, role: Some(membership.role) };
            let (reach, refusals) = (self.reach, &mut self.refusals);
            let plan = guardian::plan(tx, reach, ward, new.guardians, refusals)?;
            self.new_adults.extend(guardian::replace(tx, person.id, plan, &mut self.ripple)?);
        }
        membership::check(tx, team, None, &mut membership, &mut self.refusals)?;
        membership::insert(tx, &membership)?;
        self.joined.push(membership);
        self.ripple.listed(person.id);
        Ok(())
    }

    /// Somebody who is there already and not on the team.
    fn known(&mut self, team: &Team, id: PersonId) -> Result<Option<Person>> {
        let person = match person::reachable(self.tx, self.reach, id) {
            Err(error) if error.code == Code::NotFound => {
                self.refusals.missing("/person_id");
                return Ok(None);
            }
            found => found?,
        };
        if person.erased_at.is_some() {
            self.refusals.state("/person_id", "The person was erased.");
            return Ok(None);
        }
        let here = |m: &Membership| m.team_id == team.id && m.status != MemberStatus::Removed;
        if membership::of(self.tx, vec![id])?.iter().any(here) {
            self.refusals.taken("/person_id", "This person is already on the team.");
            return Ok(None);
        }
        Ok(Some(person))
    }

    /// Refuses somebody who looks like a person who is there already.
    fn compare(&mut self, person: &Person, guardians: &[NewGuardian]) -> Result<()> {
        let guardians_email = guardians.iter().any(|guardian| {
            let email = guardian.email.clone().apply(None);
            email.is_some_and(|email| Some(kit::text::folded(&email)) == person.email_folded)
        });
        let alike = duplicates::of(self.tx, person, guardians_email)?;
        if alike.is_empty() {
            return Ok(());
        }
        // Who is new in this body has no id that would last.
        if let Some(number) = alike.iter().find_map(|(other, _)| self.made.get(&other.id)) {
            let detail = format!("This looks like the person at /members/{number}.");
            self.refusals.duplicate("/person_id", &detail, Vec::new());
            return Ok(());
        }
        let detail = "Somebody who looks like this person is there already. Send their person_id, or \
                      allow_duplicate if it is somebody else.";
        let candidates = duplicates::candidates(self.tx, self.reach, alike)?;
        self.refusals.duplicate("/person_id", detail, candidates);
        Ok(())
    }

    /// Keeps everybody, unless something stands against one of them.
    fn close(self) -> Result<Vec<Membership>> {
        self.refusals.finish()?;
        let mut more: BTreeMap<TeamId, i64> = BTreeMap::new();
        for membership in &self.joined {
            *more.entry(membership.team_id).or_default() += counted(membership.status);
        }
        for (team, more) in more {
            team::count_roster(self.tx, team, more)?;
        }
        let members = member::shown(self.tx, self.joined.clone(), false)?;
        let news: Vec<_> = members.iter().map(|member| (None, member)).collect();
        self.tx.tell_all("roster.member_added", &news)?;
        self.ripple.settle(self.tx, None)?;
        safeguarding::confirm_new_adults(self.tx, self.reach, self.new_adults)?;
        Ok(self.joined)
    }
}

/// A membership of which nothing was said yet.
fn blank(tx: &Tx<'_>, team: TeamId, person: PersonId) -> Membership {
    Membership {
        account_id: tx.account(),
        id: tx.new_id(),
        team_id: team,
        person_id: person,
        role: Role::Player,
        has_played: false,
        jersey_number: None,
        positions: Positions::default(),
        status: MemberStatus::Active,
        joined_on: None,
        left_on: None,
        external_id: None,
        metadata: Metadata::default(),
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    }
}
