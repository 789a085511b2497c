//! The claim: somebody who came by a team's link says who they are. A coach of the team or an admin says
//! whether that is so. Until then they see nothing but this.

use kit::{Timestamp, text, words};
use store::{Reader, Tx, bind, record, row, sql, word_column};

use super::age;
use super::extent::{self, Decision, Wish};
use super::invitation::{self, Found, Relation};
use crate::accounts::belonging;
use crate::accounts::user::{self, Role};
use crate::error::{Code, Error, Result};
use crate::ids::{AccountId, ClaimId, InvitationId, PersonId, TeamId, UserId};
use crate::paging::Page;
use crate::roster::membership::Role as Place;
use crate::roster::person;
use crate::roster::standing::Standing;
use crate::roster::{arrival, linking, safeguarding, standing, trust};
use crate::signals::Tell;
use crate::signin::session;
use crate::thing::thing;

/// How many claims of one user can be open in a club.
const MOST: i64 = 10;

words! {
    /// What has become of a claim.
    pub enum ClaimStatus {
        Open = "open",
        Approved = "approved",
        Refused = "refused",
    }
}
word_column!(ClaimStatus);

record! {
    /// Somebody's word that they are, or look after, somebody on a roster.
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
    /// Somebody on a team's roster, as a newcomer may pick them out.
    #[derive(Debug, Clone)]
    pub struct Choice {
        pub person_id: PersonId,
        first_name: String,
        last_name: Option<String>,
    }
}

impl Choice {
    /// The first name and the first letter of the last: enough to know one's own child.
    pub fn label(&self) -> String {
        let letter = self.last_name.as_deref().and_then(|last| last.trim().chars().next());
        match letter {
            Some(letter) => format!("{} {}.", self.first_name, letter.to_uppercase()),
            None => self.first_name.clone(),
        }
    }
}

/// Whom a newcomer can pick on a team: their child among the players, themselves among those whom nobody
/// signs in as yet.
pub fn choices(db: &Reader<'_>, team: TeamId, relation: Relation) -> Result<Vec<Choice>> {
    let players = relation != Relation::Coach;
    let taken = relation == Relation::Guardian;
    let player = Place::Player;
    Ok(db.all(
        "select p.id as person_id, p.first_name, p.last_name
         from member m join person p on p.account_id = m.account_id and p.id = m.person_id
         where m.account_id = :account and m.team_id = :team and m.status <> 'removed'
           and (m.role = :player) = :players and p.erased_at is null
           and (:taken or p.user_id is null)
         order by p.name_folded, p.id limit 500",
        bind! { team, player, players, taken },
    )?)
}

/// Somebody says who they are.
#[derive(Debug, Clone)]
pub struct NewClaim {
    pub relation: Relation,
    /// The roster's person; a coach may not be on the roster yet.
    pub person: Option<PersonId>,
    pub note: Option<String>,
}

/// Notes what somebody who came by a team's link says. Saying the same again changes nothing.
pub fn make(tx: &Tx<'_>, link: &Found, user: UserId, new: NewClaim) -> Result<Claim> {
    let team = link.team_id.ok_or_else(invitation::gone)?;
    invitation::use_up(tx, link.id)?;
    let (relation, person) = (new.relation, new.person);
    check(tx, team, relation, person)?;
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
    if let Some(known) = open.iter().find(same) {
        return Ok(known.clone());
    }
    if i64::try_from(open.len()).unwrap_or(MOST) >= MOST {
        let detail = "You have asked often enough. Wait until somebody has answered.";
        return Err(Error::invalid_state(detail));
    }
    let claim = Claim {
        account_id: tx.account(),
        id: tx.new_id(),
        user_id: user,
        team_id: team,
        person_id: person,
        relation,
        note: new.note.map(|note| text::line(&note, 300)).transpose().map_err(|_| {
            Error::new(Code::ValidationFailed, "Write at most 300 characters on one line.")
                .at("/note")
        })?,
        status: ClaimStatus::Open,
        decided_by: None,
        decided_at: None,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.run(Claim::INSERT, &claim.bind())?;
    audit(tx, "claim.made", &claim, link.id)?;
    Ok(claim)
}

fn audit(tx: &Tx<'_>, action: &'static str, claim: &Claim, link: InvitationId) -> Result<()> {
    let details = serde_json::json!({
        "user": claim.user_id, "team": claim.team_id, "relation": claim.relation,
        "person": claim.person_id, "invitation": link,
    });
    tx.audit(action, &claim.id.to_string(), &details)
}

/// Whether somebody can say this at all: whom they name is on the team, and is nobody else's account.
fn check(
    db: &Reader<'_>,
    team: TeamId,
    relation: Relation,
    person: Option<PersonId>,
) -> Result<()> {
    let Some(id) = person else {
        if relation == Relation::Coach {
            return Ok(());
        }
        return Err(
            Error::new(Code::ValidationFailed, "Choose somebody from the list.").at("/person")
        );
    };
    let person = person::find(db, id)?;
    if relation != Relation::Guardian && person.user_id.is_some() {
        let detail = "Somebody else already signs in as this person. Ask a coach for help.";
        return Err(Error::invalid_state(detail).at("/person"));
    }
    if !choices(db, team, relation)?.iter().any(|choice| choice.person_id == id) {
        return Err(Error::not_found());
    }
    if relation == Relation::Itself { age::check(db, &person) } else { Ok(()) }
}

/// One claim.
pub fn find(db: &Reader<'_>, id: ClaimId) -> Result<Claim> {
    let text = sql!(Claim::SELECT, " where account_id = :account and id = :id");
    Ok(db.one(text, bind! { id })?)
}

/// Says yes. The user belongs to the club and is on the roster from now on.
pub fn approve(tx: &Tx<'_>, by: UserId, id: ClaimId) -> Result<Claim> {
    let claim = decidable(tx, by, id)?;
    check(tx, claim.team_id, claim.relation, claim.person_id)?;
    let user = user::find(tx, claim.user_id)?;
    belonging::admit(tx, user.id, Role::Member)?;
    session::show_club(tx, user.id)?;
    let by_admin = matches!(user::role_of(tx, by)?, Some(Role::Owner | Role::Admin));
    let by_guardian = extent::is_guardian(tx, &standing::of(tx, by)?, wish(&claim))?;
    let person = match (claim.relation, claim.person_id) {
        (Relation::Guardian, Some(child)) => {
            arrival::as_guardian(tx, child, &user, by_admin || by_guardian)?
        }
        (_, Some(person)) => linking::link(tx, person, user.id)?,
        (_, None) => arrival::as_coach(tx, claim.team_id, &user)?,
    };
    match claim.relation {
        // Nobody but an admin says that the adult whom an admin knows is this user.
        Relation::Itself if !by_admin => safeguarding::withdraw_confirmation(tx, person.id)?,
        Relation::Guardian | Relation::Coach if by_admin => {
            safeguarding::confirm_new_adult(tx, person.id)?;
        }
        _ => {}
    }
    decide(tx, by, &claim, ClaimStatus::Approved)
}

/// Says no.
pub fn refuse(tx: &Tx<'_>, by: UserId, id: ClaimId) -> Result<Claim> {
    let claim = decidable(tx, by, id)?;
    decide(tx, by, &claim, ClaimStatus::Refused)
}

/// The claim, if it is open and this user may decide it: admins decide everything, others as
/// [`extent::decision`] says.
fn decidable(db: &Reader<'_>, by: UserId, id: ClaimId) -> Result<Claim> {
    let claim = find(db, id)?;
    match user::role_of(db, by)? {
        Some(Role::Owner | Role::Admin) => {}
        Some(Role::Member) => {
            let standing = standing::of(db, by)?;
            match extent::decision(db, (by, &standing), claim.team_id, wish(&claim))? {
                Decision::AdminOnly if claim.status == ClaimStatus::Open => {
                    return Err(trust::admin_decides());
                }
                Decision::Allowed | Decision::AdminOnly => {}
                Decision::Hidden => return Err(Error::not_found()),
            }
        }
        None => return Err(Error::not_found()),
    }
    if claim.status != ClaimStatus::Open {
        return Err(Error::invalid_state("Somebody has already decided this."));
    }
    Ok(claim)
}

fn wish(claim: &Claim) -> Wish {
    Wish { user: claim.user_id, relation: claim.relation, person: claim.person_id }
}

fn decide(tx: &Tx<'_>, by: UserId, claim: &Claim, status: ClaimStatus) -> Result<Claim> {
    let id = claim.id;
    tx.run(
        "update claim set status = :status, decided_by = :by, decided_at = :now, updated_at = :now,
             version = version + 1
         where account_id = :account and id = :id",
        bind! { id, status, by: by.to_string() },
    )?;
    let action = if status == ClaimStatus::Approved { "claim.approved" } else { "claim.refused" };
    let details = serde_json::json!({ "user": claim.user_id, "team": claim.team_id });
    tx.audit(action, &id.to_string(), &details)?;
    find(tx, id)
}

row! {
    /// A claim as those who decide see it.
    #[derive(Debug, Clone)]
    pub struct Waiting {
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

thing!(Waiting by ClaimId: Paged);

const WAITING: &str = "
    select c.id, c.user_id, u.name, u.email, u.email_verified_at, c.team_id, t.name as team, c.relation,
           c.person_id, c.note, c.created_at
    from claim c
    join app_user u on u.id = c.user_id
    join team t on t.account_id = c.account_id and t.id = c.team_id
    where c.account_id = :account and c.status = 'open'";

/// A page of the claims that wait for an answer, oldest first.
pub fn open(db: &Reader<'_>, page: &Page<ClaimId>) -> Result<Vec<Waiting>> {
    let after = page.after(ClaimId::LEAST, ClaimId::GREATEST);
    let text = sql!(WAITING, " and c.id > :after order by c.id limit :limit");
    Ok(db.all(text, bind! { after, limit: page.fetch() })?)
}

/// A page of the claims that concern somebody who is no admin, oldest first: those on teams they coach, and
/// those about guardians of their children.
pub fn open_of(db: &Reader<'_>, standing: &Standing, page: &Page<ClaimId>) -> Result<Vec<Waiting>> {
    let (teams, children) = (standing.leads.clone(), standing.wards.clone());
    if teams.is_empty() && children.is_empty() {
        return Ok(Vec::new());
    }
    let after = page.after(ClaimId::LEAST, ClaimId::GREATEST);
    let text = sql!(
        WAITING,
        " and (c.relation <> 'coach' and c.team_id in (:teams)
               or c.relation = 'guardian' and c.person_id in (:children))
          and c.id > :after
          order by c.id limit :limit"
    );
    Ok(db.all(text, bind! { teams, children, after, limit: page.fetch() })?)
}

/// How many claims wait for an answer.
pub fn count_open(db: &Reader<'_>) -> Result<i64> {
    let (count,) = db.one(
        "select count(*) from claim where account_id = :account and status = 'open'",
        bind! {},
    )?;
    Ok(count)
}

/// Takes back what somebody who leaves the club has asked for.
pub fn withdraw(tx: &Tx<'_>, user: UserId) -> Result<()> {
    tx.run(
        "delete from claim where account_id = :account and user_id = :user and status = 'open'",
        bind! { user },
    )?;
    Ok(())
}

row! {
    /// A claim as its own user sees it: nothing but what has become of it.
    #[derive(Debug, Clone)]
    pub struct Own {
        pub club: String,
        pub team: String,
        pub relation: Relation,
        pub status: ClaimStatus,
        pub created_at: Timestamp,
    }
}

/// What a user has asked for, in whatever club, newest first.
pub fn of_user(db: &Reader<'_>, user: UserId) -> Result<Vec<Own>> {
    Ok(db.all(
        "select a.name as club, t.name as team, c.relation, c.status, c.created_at
         from claim c
         join account a on a.id = c.account_id
         join team t on t.account_id = c.account_id and t.id = c.team_id
         where c.user_id = :user order by c.id desc limit 20 /* any account */",
        bind! { user },
    )?)
}
