//! Adding members: existing or new people, one or up to a hundred at once.

use std::collections::BTreeMap;

use macros::input;

use super::guardian::{self, NewGuardian};
use super::guards::report_admin_only;
use super::guards::{self, Dependent};
use super::member::{self, Member};
use super::membership::{
    self, MemberStatus, Membership, MembershipChange, Positions, Role, roster_count,
};
use super::person::{self, Person, PersonChange};
use super::safeguarding;
use super::version_cascade::VersionCascade;
use super::{api, duplicates};
use crate::prelude::*;
use crate::teams::team::{self, Team};

/// A new member of a team: an existing person (`person_id`) or a new one (`first_name` and other fields of the person).
#[input(as = AddMemberRequest, check = api::check_new_member)]
#[derive(Clone, Default)]
pub struct NewMember {
    /// ID of an existing person. Other fields of the person and `guardians` are then not allowed.
    pub person_id: Option<PersonId>,
    #[serde(flatten)]
    #[input(flatten)]
    pub person: PersonChange,
    #[serde(flatten)]
    #[input(flatten)]
    pub membership: MembershipChange,
    /// Guardians of the person.
    #[input(objects(10), default)]
    pub guardians: Vec<NewGuardian>,
    /// Whether to create a new person even if a similar person exists. Default: `false`.
    #[input(default)]
    pub allow_duplicate: bool,
}

/// A new member in a batch, with the team.
#[input]
pub struct RosterBatchEntry {
    /// Team that the member is added to.
    pub team_id: TeamId,
    #[serde(flatten)]
    #[input(flatten)]
    pub new: NewMember,
}

/// A batch of new members. Either all of them are added, or none.
#[input(as = RosterBatchRequest, check = api::check_batch, max_bytes = 5 * 1024 * 1024)]
pub struct RosterBatch {
    /// New members, on one team or several.
    #[schema(min_items = 1)]
    #[input(objects(100))]
    pub members: Vec<RosterBatchEntry>,
}

/// Adds a member to a team.
pub fn add(tx: &Tx<'_>, access: &TeamAccess, team: TeamId, new: NewMember) -> Result<Member> {
    add_to_batch(MemberBatch::new(tx, access), team, new)
}

/// Adds a member whom somebody has typed in. Somebody with the same name on the team counts as similar.
pub fn add_typed(tx: &Tx<'_>, access: &TeamAccess, team: TeamId, new: NewMember) -> Result<Member> {
    let batch = MemberBatch { compares_names: true, ..MemberBatch::new(tx, access) };
    add_to_batch(batch, team, new)
}

fn add_to_batch(mut batch: MemberBatch<'_, '_>, team: TeamId, new: NewMember) -> Result<Member> {
    let tx = batch.tx;
    let team = team::find_active(tx, team)?;
    batch.add(0, &team, new)?;
    let membership = batch.finish()?.pop().ok_or_else(Error::not_found)?;
    member::show(tx, team.id, membership.id)
}

/// Adds all members of a batch, or none if there is any violation.
pub fn add_all(tx: &Tx<'_>, access: &TeamAccess, all: RosterBatch) -> Result<Vec<Member>> {
    let mut batch = MemberBatch::new(tx, access);
    for (index, RosterBatchEntry { team_id, new }) in all.members.into_iter().enumerate() {
        batch.violations.set_base_pointer(format!("/members/{index}"));
        if let Some(team) = team::find_referenced(tx, access, team_id, &mut batch.violations)? {
            batch.add(index, &team, new)?;
        }
    }
    let added = batch.finish()?;
    let people = added.iter().map(|membership| membership.person_id).collect();
    // Read again: a later item may have changed a guardian of an earlier one.
    let is_added = |membership: &Membership| added.iter().any(|one| one.id == membership.id);
    let memberships = membership::list_for(tx, people)?.into_iter().filter(is_added).collect();
    member::to_members(tx, memberships, false)
}

/// What a preview found out about a new member.
#[derive(Debug, Default)]
pub struct PreviewedMember {
    /// What is wrong. Empty if the member can be added.
    pub faults: Vec<Fault>,
    /// The index of an earlier new member who may be the same person.
    pub repeats: Option<usize>,
}

/// Checks new members of a team whom somebody has typed in, each against the existing people and the earlier ones of the
/// list. Somebody with the same name on the team counts as similar. The transaction
/// must be rolled back, because members without problems are inserted.
pub fn preview(
    tx: &Tx<'_>,
    access: &TeamAccess,
    team: TeamId,
    all: Vec<Option<NewMember>>,
) -> Result<Vec<PreviewedMember>> {
    let team = team::find_active(tx, team)?;
    let mut batch = MemberBatch { compares_names: true, ..MemberBatch::new(tx, access) };
    let mut previews = Vec::with_capacity(all.len());
    for (index, new) in all.into_iter().enumerate() {
        let mut preview = PreviewedMember::default();
        if let Some(new) = new {
            batch.add(index, &team, new)?;
            preview.repeats = batch.repeats.take();
            preview.faults = batch.violations.finish().err().map(|e| e.faults).unwrap_or_default();
        }
        previews.push(preview);
    }
    Ok(previews)
}

/// Adds members one after the other. Each is checked against the existing people and the earlier members of the batch.
/// All violations are reported together at the end.
struct MemberBatch<'a, 'c> {
    tx: &'a Tx<'c>,
    access: &'a TeamAccess,
    /// Whether somebody with the same name on the team counts as similar.
    compares_names: bool,
    violations: Violations,
    cascade: VersionCascade,
    /// New people, with their index in the batch.
    created: BTreeMap<PersonId, usize>,
    /// The index of the earlier member who may be the same person as the last one.
    repeats: Option<usize>,
    memberships: Vec<Membership>,
    /// New staff and guardians. If an admin adds them, they are confirmed.
    new_adults: Vec<PersonId>,
}

impl<'a, 'c> MemberBatch<'a, 'c> {
    fn new(tx: &'a Tx<'c>, access: &'a TeamAccess) -> Self {
        Self {
            tx,
            access,
            compares_names: false,
            violations: Violations::default(),
            cascade: VersionCascade::default(),
            created: BTreeMap::new(),
            repeats: None,
            memberships: Vec::new(),
            new_adults: Vec::new(),
        }
    }

    /// Adds a member to the team. A member with violations is inserted too, where possible, so that later members are
    /// checked against it. The transaction is then rolled back.
    fn add(&mut self, index: usize, team: &Team, new: NewMember) -> Result<()> {
        let tx = self.tx;
        let person = if let Some(id) = new.person_id {
            let Some(person) = self.find_existing(team, id)? else { return Ok(()) };
            person
        } else {
            let person = new.person.apply(&person::blank(tx));
            person::validate(&person, tx.now(), &mut self.violations);
            if !new.allow_duplicate {
                self.check_duplicates(team.id, &person, &new.guardians)?;
            }
            tx.execute(Person::INSERT, &person.bind())?;
            self.cascade.person_created(person.id);
            self.created.insert(person.id, index);
            person
        };
        let mut membership = new.membership.apply(&new_membership(tx, team.id, person.id));
        if !guards::can_assign_role(self.access, &person, None, &membership) {
            report_admin_only(&mut self.violations, "/role");
        }
        if safeguarding::may_be_minor(self.access, team, &person, membership.role) {
            safeguarding::mark_minors(tx, vec![person.id])?;
        }
        if membership.role != Role::Player {
            self.new_adults.push(person.id);
        }
        if !new.guardians.is_empty() {
            let (access, violations) = (self.access, &mut self.violations);
            let role = Some(membership.role);
            let dependent = Dependent { role, ..Dependent::unchanged(&person) };
            let plan = guardian::plan(tx, access, dependent, new.guardians, violations)?;
            self.new_adults.extend(guardian::replace(tx, person.id, plan, &mut self.cascade)?);
        }
        membership::validate(tx, team, None, &mut membership, &mut self.violations)?;
        tx.execute(Membership::INSERT, &membership.bind())?;
        self.memberships.push(membership);
        self.cascade.profile_changed(person.id);
        Ok(())
    }

    /// The existing person with this id. Adds a violation if they do not exist, were erased or are already on the
    /// team.
    fn find_existing(&mut self, team: &Team, id: PersonId) -> Result<Option<Person>> {
        let Some(person) = person::find_visible(self.tx, self.access, id).or_none()? else {
            self.violations.not_found("/person_id");
            return Ok(None);
        };
        if person.erased_at.is_some() {
            self.violations.invalid_state("/person_id", "This person was erased.");
            return Ok(None);
        }
        let is_on_team = |m: &Membership| m.team_id == team.id && m.status != MemberStatus::Removed;
        if membership::list_for(self.tx, vec![id])?.iter().any(is_on_team) {
            self.violations.already_in_use("/person_id", "This person is already on the team.");
            return Ok(None);
        }
        Ok(Some(person))
    }

    /// Adds a violation if a similar person exists.
    fn check_duplicates(
        &mut self,
        team: TeamId,
        person: &Person,
        guardians: &[NewGuardian],
    ) -> Result<()> {
        let is_guardian_email = guardians.iter().any(|guardian| {
            let email = guardian.email.clone().apply(None);
            email.is_some_and(|email| Some(kit::text::fold_case(&email)) == person.email_folded)
        });
        let team = Some(team).filter(|_| self.compares_names);
        let similar = duplicates::find_similar(self.tx, team, person, is_guardian_email)?;
        if similar.is_empty() {
            return Ok(());
        }
        // The id of a new person in this batch does not exist after the rollback, so it is not reported.
        let earlier = similar.iter().find_map(|(other, _)| self.created.get(&other.id)).copied();
        self.repeats = earlier;
        if let Some(index) = earlier {
            let detail =
                message!("This may be the same person as the one at /members/{index}.", index);
            self.violations.duplicate("/person_id", detail, Vec::new());
        } else {
            let detail = "A similar person already exists. To add that person, send their `person_id`. To add a new \
                          person, set `allow_duplicate` to `true`.";
            let candidates = duplicates::candidates(self.tx, self.access, similar)?;
            self.violations.duplicate("/person_id", detail, candidates);
        }
        Ok(())
    }

    /// Fails if there are violations. Otherwise updates the counts and publishes the notifications.
    fn finish(mut self) -> Result<Vec<Membership>> {
        self.violations.finish()?;
        let counts = self.memberships.iter().map(|one| (one.team_id, roster_count(one.status)));
        team::adjust_roster_counts(self.tx, counts)?;
        let members = member::to_members(self.tx, self.memberships.clone(), false)?;
        let snapshots: Vec<_> = members.iter().map(|member| (None, member)).collect();
        self.tx.publish_all("roster.member_added", &snapshots)?;
        self.cascade.apply(self.tx, None)?;
        safeguarding::confirm_new_adults(self.tx, self.access, self.new_adults)?;
        Ok(self.memberships)
    }
}

/// A membership with default values.
fn new_membership(tx: &Tx<'_>, team: TeamId, person: PersonId) -> Membership {
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
