//! The claim: a request to join. A user who opened a team's link says which person on the roster they are, or are a
//! guardian of. A coach of the team or an admin approves or refuses it. Until then the user sees nothing of the club.

use kit::{string_enum, text};

use super::age;
use super::claim_policy::{self, Decision, RequestedAccess};
use super::invitation::{self, InvitationLink, Relation};
use crate::accounts::roles;
use crate::accounts::roster_access::RosterAccess;
use crate::accounts::session;
use crate::accounts::user::{self, Role};
use crate::prelude::*;
use crate::roster::membership::Role as TeamRole;
use crate::roster::person;
use crate::roster::{access, enrollment, guards, linking, safeguarding};

/// Maximum number of open claims of one user in a club.
const MAX_OPEN_CLAIMS: i64 = 10;

string_enum! {
    /// The status of a claim.
    pub enum ClaimStatus {
        Open = "open",
        Approved = "approved",
        Refused = "refused",
    }
}
enum_column!(ClaimStatus);

record! {
    /// A request to join: a user claims to be, or to be a guardian of, a person on the roster.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Claim in claim {
        pub account_id: AccountId,
        pub id: ClaimId,
        pub user_id: UserId,
        pub team_id: TeamId,
        pub person_id: Option<PersonId>,
        pub relation: Relation,
        pub note: Option<String>,
        pub status: ClaimStatus,
        pub decided_by: Option<String>,
        pub decided_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

row! {
    /// A person on a team's roster whom a new user can choose.
    #[derive(Debug, Clone)]
    pub struct Choice {
        pub person_id: PersonId,
        first_name: String,
        last_name: Option<String>,
    }
}

impl Choice {
    /// The first name and the initial of the last name. Enough to recognize your own child.
    pub fn label(&self) -> String {
        let initial = self.last_name.as_deref().and_then(|last| last.trim().chars().next());
        match initial {
            Some(initial) => format!("{} {}.", self.first_name, initial.to_uppercase()),
            None => self.first_name.clone(),
        }
    }
}

/// The people on a team whom a new user can choose: any player as their child, or themselves among the people who are
/// not linked to a user yet.
pub fn choices(db: &Reader<'_>, team: TeamId, relation: Relation) -> Result<Vec<Choice>> {
    let (player, players) = (TeamRole::Player, relation != Relation::Coach);
    let include_linked = relation == Relation::Guardian;
    Ok(db.all(
        "select p.id as person_id, p.first_name, p.last_name
         from member m join person p on p.account_id = m.account_id and p.id = m.person_id
         where m.account_id = :account and m.team_id = :team and m.status <> 'removed'
           and (m.role = :player) = :players and p.erased_at is null
           and (:include_linked or p.user_id is null)
         order by p.name_folded, p.id limit 500",
        bind! { team, player, players, include_linked },
    )?)
}

/// A new claim.
#[derive(Debug, Clone)]
pub struct NewClaim {
    pub relation: Relation,
    /// The person on the roster. `None` for a coach who is not on the roster yet.
    pub person: Option<PersonId>,
    pub note: Option<String>,
}

/// Creates a claim for a user who opened a team's link. An open claim with the same content is returned unchanged.
pub fn create(tx: &Tx<'_>, link: &InvitationLink, user: UserId, new: NewClaim) -> Result<Claim> {
    let team = link.team_id.ok_or_else(invitation::link_expired)?;
    invitation::redeem(tx, link.id)?;
    let (relation, person) = (new.relation, new.person);
    validate(tx, team, relation, person)?;
    let open: Vec<Claim> = tx.all(
        sql!(
            Claim::SELECT,
            " where account_id = :account and user_id = :user and status = 'open' order by id"
        ),
        bind! { user },
    )?;
    let same = |claim: &&Claim| {
        (claim.team_id, claim.relation, claim.person_id) == (team, relation, person)
    };
    if let Some(existing) = open.iter().find(same) {
        return Ok(existing.clone());
    }
    if i64::try_from(open.len()).unwrap_or(MAX_OPEN_CLAIMS) >= MAX_OPEN_CLAIMS {
        let detail =
            "You have too many open requests. Wait until the club has answered some of them.";
        return Err(Error::invalid_state(detail));
    }
    let claim = Claim {
        account_id: tx.account(),
        id: tx.new_id(),
        user_id: user,
        team_id: team,
        person_id: person,
        relation,
        note: new.note.map(|note| text::normalize_line(&note, 300)).transpose().map_err(|_| {
            let detail = "The note must be one line of at most 300 characters.";
            Error::new(Code::ValidationFailed, detail).at("/note")
        })?,
        status: ClaimStatus::Open,
        decided_by: None,
        decided_at: None,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.execute(Claim::INSERT, &claim.bind())?;
    let details = json!({
        "user": user, "team": team, "relation": relation, "person": person, "invitation": link.id,
    });
    tx.audit("claim.made", &claim.id.to_string(), &details)?;
    Ok(claim)
}

/// Fails if the person is not on the team, is already linked to another user, or is too young.
fn validate(
    db: &Reader<'_>,
    team: TeamId,
    relation: Relation,
    person: Option<PersonId>,
) -> Result<()> {
    let Some(id) = person else {
        let detail = "Choose a person from the list.";
        let missing = || Error::new(Code::ValidationFailed, detail).at("/person");
        return if relation == Relation::Coach { Ok(()) } else { Err(missing()) };
    };
    let person = person::find(db, id)?;
    if relation != Relation::Guardian && person.user_id.is_some() {
        let detail = "Another user already signs in as this person. Ask a coach for help.";
        return Err(Error::invalid_state(detail).at("/person"));
    }
    if !choices(db, team, relation)?.iter().any(|choice| choice.person_id == id) {
        return Err(Error::not_found());
    }
    if relation == Relation::SamePerson { age::check(db, &person) } else { Ok(()) }
}

/// One claim.
pub fn find(db: &Reader<'_>, id: ClaimId) -> Result<Claim> {
    let text = sql!(Claim::SELECT, " where account_id = :account and id = :id");
    Ok(db.one(text, bind! { id })?)
}

/// Approves a claim: the user becomes a member of the club and is linked to a person on the roster.
pub fn approve(tx: &Tx<'_>, by: UserId, id: ClaimId) -> Result<Claim> {
    let claim = find_decidable(tx, by, id)?;
    validate(tx, claim.team_id, claim.relation, claim.person_id)?;
    let user = user::find(tx, claim.user_id)?;
    roles::ensure_role(tx, user.id, Role::Member)?;
    session::select_club_if_none(tx, user.id)?;
    let by_admin = matches!(user::role_of(tx, by)?, Some(Role::Owner | Role::Admin));
    let access = access::for_user(tx, by)?;
    let by_guardian = claim_policy::can_decide_as_guardian(tx, &access, claim.requested())?;
    let person = match (claim.relation, claim.person_id) {
        (Relation::Guardian, Some(child)) => {
            enrollment::enroll_guardian(tx, child, &user, by_admin || by_guardian)?
        }
        (_, Some(person)) => linking::link(tx, person, user.id)?,
        (_, None) => enrollment::enroll_coach(tx, claim.team_id, &user)?,
    };
    match claim.relation {
        // Only an admin can say that a confirmed adult is this user.
        Relation::SamePerson if !by_admin => safeguarding::withdraw_confirmation(tx, person.id)?,
        Relation::Guardian | Relation::Coach if by_admin => {
            safeguarding::confirm_new_adult(tx, person.id)?;
        }
        _ => {}
    }
    record_decision(tx, by, &claim, ClaimStatus::Approved)
}

/// Refuses a claim.
pub fn refuse(tx: &Tx<'_>, by: UserId, id: ClaimId) -> Result<Claim> {
    let claim = find_decidable(tx, by, id)?;
    record_decision(tx, by, &claim, ClaimStatus::Refused)
}

/// The claim, if it is open and this user may decide it. Admins decide all claims, other users as in
/// [`claim_policy::decision`].
fn find_decidable(db: &Reader<'_>, by: UserId, id: ClaimId) -> Result<Claim> {
    let claim = find(db, id)?;
    match user::role_of(db, by)? {
        Some(Role::Owner | Role::Admin) => {}
        Some(Role::Member) => {
            let access = access::for_user(db, by)?;
            match claim_policy::decision(db, (by, &access), claim.team_id, claim.requested())? {
                Decision::AdminOnly if claim.status == ClaimStatus::Open => {
                    return Err(guards::admin_only());
                }
                Decision::Allowed | Decision::AdminOnly => {}
                Decision::Hidden => return Err(Error::not_found()),
            }
        }
        None => return Err(Error::not_found()),
    }
    if claim.status != ClaimStatus::Open {
        return Err(Error::invalid_state("This request was already approved or refused."));
    }
    Ok(claim)
}

impl Claim {
    fn requested(&self) -> RequestedAccess {
        RequestedAccess { user: self.user_id, relation: self.relation, person: self.person_id }
    }
}

fn record_decision(tx: &Tx<'_>, by: UserId, claim: &Claim, status: ClaimStatus) -> Result<Claim> {
    let (id, by) = (claim.id, by.to_string());
    tx.execute(
        "update claim set status = :status, decided_by = :by, decided_at = :now, updated_at = :now,
             version = version + 1
         where account_id = :account and id = :id",
        bind! { id, status, by },
    )?;
    let action = if status == ClaimStatus::Approved { "claim.approved" } else { "claim.refused" };
    let details = json!({ "user": claim.user_id, "team": claim.team_id });
    tx.audit(action, &id.to_string(), &details)?;
    find(tx, id)
}

/// Moves the claims to be a person, or their guardian, to another record of the same person. Of two open claims that are
/// the same then, one stays.
pub(super) fn move_to_person(tx: &Tx<'_>, from: PersonId, into: PersonId) -> Result<()> {
    tx.execute(
        "delete from claim
         where account_id = :account and person_id = :from and status = 'open'
           and exists (select 1 from claim o
                       where o.account_id = claim.account_id and o.person_id = :into
                         and o.status = 'open' and o.user_id = claim.user_id
                         and o.team_id = claim.team_id and o.relation = claim.relation)",
        bind! { from, into },
    )?;
    tx.execute(
        "update claim set person_id = :into, updated_at = :now, version = version + 1
         where account_id = :account and person_id = :from",
        bind! { from, into },
    )?;
    Ok(())
}

row! {
    /// An open claim with the data of its user and team.
    #[derive(Debug, Clone)]
    pub struct OpenClaim {
        pub id: ClaimId,
        pub user_id: UserId,
        pub name: String,
        pub email: String,
        pub email_verified_at: Option<Timestamp>,
        pub team_id: TeamId,
        pub team: String,
        pub relation: Relation,
        pub person_id: Option<PersonId>,
        pub note: Option<String>,
        pub created_at: Timestamp,
    }
}

impl_resource!(OpenClaim by ClaimId: Paged);

const SELECT_OPEN: &str = "
    select c.id, c.user_id, u.name, u.email, u.email_verified_at, c.team_id, t.name as team, c.relation,
           c.person_id, c.note, c.created_at
    from claim c
    join app_user u on u.id = c.user_id
    join team t on t.account_id = c.account_id and t.id = c.team_id
    where c.account_id = :account and c.status = 'open'";

/// A page of open claims, oldest first.
pub fn list_open(db: &Reader<'_>, page: &Page<ClaimId>) -> Result<Vec<OpenClaim>> {
    let (after, limit) = page.bounds();
    let text = sql!(SELECT_OPEN, " and c.id > :after order by c.id limit :limit");
    Ok(db.all(text, bind! { after, limit })?)
}

/// A page of the open claims that concern a user who is not an admin, oldest first: claims on teams they coach, and
/// claims to be a guardian of their children.
pub fn list_open_for(
    db: &Reader<'_>,
    access: &RosterAccess,
    page: &Page<ClaimId>,
) -> Result<Vec<OpenClaim>> {
    let (teams, children) = (access.managed_team_ids.clone(), access.dependent_ids.clone());
    if teams.is_empty() && children.is_empty() {
        return Ok(Vec::new());
    }
    let (after, limit) = page.bounds();
    let text = sql!(
        SELECT_OPEN,
        " and (c.relation <> 'coach' and c.team_id in (:teams)
               or c.relation = 'guardian' and c.person_id in (:children))
          and c.id > :after
          order by c.id limit :limit"
    );
    Ok(db.all(text, bind! { teams, children, after, limit })?)
}

/// Number of open claims.
pub fn count_open(db: &Reader<'_>) -> Result<i64> {
    let text = "select count(*) from claim where account_id = :account and status = 'open'";
    Ok(db.one::<(i64,)>(text, bind! {})?.0)
}

/// Deletes the open claims of a user who leaves the club.
pub fn withdraw(tx: &Tx<'_>, user: UserId) -> Result<()> {
    let text =
        "delete from claim where account_id = :account and user_id = :user and status = 'open'";
    Ok(tx.execute(text, bind! { user }).map(drop)?)
}

row! {
    /// A claim as its own user sees it.
    #[derive(Debug, Clone)]
    pub struct OwnClaim {
        pub club: String,
        pub team: String,
        pub relation: Relation,
        pub status: ClaimStatus,
        pub created_at: Timestamp,
    }
}

/// The latest claims of a user in all clubs, newest first.
pub fn list_by_user(db: &Reader<'_>, user: UserId) -> Result<Vec<OwnClaim>> {
    Ok(db.all(
        "select a.name as club, t.name as team, c.relation, c.status, c.created_at
         from claim c
         join account a on a.id = c.account_id
         join team t on t.account_id = c.account_id and t.id = c.team_id
         where c.user_id = :user order by c.id desc limit 20 /* any account */",
        bind! { user },
    )?)
}
