//! The invitation: a link for one person, or one that a whole team may use.
//!
//! Of a link only a hash is kept. A link that is unknown, expired, used up or revoked is the same to
//! whoever follows it.

use std::time::Duration;

use kit::secret::{Token, TokenKind};
use kit::{Timestamp, contact, text, words};
use store::{Reader, Tx, bind, record, row, sql, word_column};

use super::age;
use crate::accounts::account;
use crate::accounts::belonging;
use crate::accounts::user::{self, Role, User};
use crate::error::{Code, Error, Fault, Result};
use crate::ids::{AccountId, InvitationId, PersonId, TeamId, UserId};
use crate::mail::letter::{self, NewLetter};
use crate::paging::Page;
use crate::roster::person::{self, Person};
use crate::roster::{arrival, guardian, linking, safeguarding, standing, trust};
use crate::signals::Tell;
use crate::teams::team;
use crate::thing::thing;

/// How long an invitation for one person can be used.
pub const PERSONAL: Duration = Duration::from_secs(72 * 3600);
/// How long a team's link can be used.
pub const TEAM: Duration = Duration::from_secs(7 * 86_400);

words! {
    /// What somebody who joins is to a person on the roster.
    pub enum Relation {
        /// They look after a player.
        Guardian = "guardian",
        /// They are that person.
        Itself = "self",
        /// They coach the team.
        Coach = "coach",
    }
}
word_column!(Relation);

record! {
    /// An invitation into the club.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Invitation in invitation {
        pub account_id: AccountId,
        pub id: InvitationId,
        pub token_hash: [u8; 32],
        pub role: Role,
        pub email: Option<String>,
        /// The address as addresses are compared.
        pub email_folded: Option<String>,
        pub team_id: Option<TeamId>,
        pub relation: Option<Relation>,
        pub person_id: Option<PersonId>,
        pub uses_left: Option<i64>,
        pub created_by: String,
        pub expires_at: Timestamp,
        pub revoked_at: Option<Timestamp>,
        pub last_used_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

thing!(Invitation by InvitationId: Paged);

/// An invitation for one person.
#[derive(Debug, Clone)]
pub struct NewInvitation {
    pub email: String,
    pub role: Role,
    /// Whom on the roster they are, or look after.
    pub tie: Option<(Relation, PersonId)>,
}

/// Invites somebody. Hands out the link's token, this once.
pub fn invite(tx: &Tx<'_>, by: UserId, new: NewInvitation) -> Result<(Invitation, Token)> {
    belonging::may_give(tx, by, new.role)?;
    let email = text::normalised(new.email.trim()).into_owned();
    if !contact::is_email(&email) {
        let detail = "This is not an address of mail, such as ana@example.org.";
        return Err(Error::invalid(vec![Fault::new("/email", "invalid_email", detail)]));
    }
    if let Some(tie) = new.tie {
        check_tie(tx, tie)?;
    } else if let Some(user) = user::find_by_email(tx, &email)?
        && user::role_of(tx, user.id)?.is_some()
    {
        let detail = "Somebody with this address already belongs to the club.";
        return Err(Error::new(Code::Taken, detail).at("/email"));
    }
    let (relation, person_id) = new.tie.unzip();
    let made = Invitation {
        role: new.role,
        email_folded: Some(text::folded(&email)),
        email: Some(email),
        relation,
        person_id,
        uses_left: Some(1),
        ..blank(tx, PERSONAL)
    };
    keep(tx, made)
}

/// Makes the link of a team, in place of the one it had.
pub fn open_team(tx: &Tx<'_>, by: UserId, team: TeamId) -> Result<(Invitation, Token)> {
    let team = team::playing(tx, team)?.id;
    may_open(tx, by, team)?;
    for before in team_links(tx, team)? {
        end(tx, &before)?;
    }
    keep(tx, Invitation { team_id: Some(team), ..blank(tx, TEAM) })
}

/// Whether somebody may let others come by a team's link: admins, and whoever leads the team. To others
/// the team does not exist.
pub fn may_open(db: &Reader<'_>, by: UserId, team: TeamId) -> Result<()> {
    match user::role_of(db, by)? {
        Some(Role::Owner | Role::Admin) => Ok(()),
        Some(Role::Member) if standing::of(db, by)?.leads.contains(&team) => Ok(()),
        _ => Err(Error::not_found()),
    }
}

/// An invitation of which nothing was said yet.
fn blank(tx: &Tx<'_>, life: Duration) -> Invitation {
    Invitation {
        account_id: tx.account(),
        id: tx.new_id(),
        token_hash: [0; 32],
        role: Role::Member,
        email: None,
        email_folded: None,
        team_id: None,
        relation: None,
        person_id: None,
        uses_left: None,
        created_by: tx.actor().to_owned(),
        expires_at: tx.now().plus(life),
        revoked_at: None,
        last_used_at: None,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    }
}

fn keep(tx: &Tx<'_>, invitation: Invitation) -> Result<(Invitation, Token)> {
    let token = Token::make(TokenKind::Invitation, tx.dice());
    let made = Invitation { token_hash: token.hash(), ..invitation };
    tx.run(Invitation::INSERT, &made.bind())?;
    let details = serde_json::json!({
        "role": made.role, "team": made.team_id, "relation": made.relation, "person": made.person_id,
    });
    tx.audit("invitation.created", &made.id.to_string(), &details)?;
    Ok((made, token))
}

/// The person whom somebody is invited for, if that can be.
fn check_tie(db: &Reader<'_>, (relation, id): (Relation, PersonId)) -> Result<Person> {
    let person = person::find(db, id)?;
    let free = relation != Relation::Itself || person.user_id.is_none();
    if person.erased_at.is_some() {
        return Err(Error::not_found());
    }
    if !free {
        let detail = "Somebody already signs in as this person.";
        return Err(Error::invalid_state(detail).at("/person"));
    }
    if relation == Relation::Itself {
        age::check(db, &person)?;
    }
    Ok(person)
}

/// One invitation.
pub fn find(db: &Reader<'_>, id: InvitationId) -> Result<Invitation> {
    let text = sql!(Invitation::SELECT, " where account_id = :account and id = :id");
    Ok(db.one(text, bind! { id })?)
}

/// A page of the invitations that can still be used, newest first.
pub fn open(db: &Reader<'_>, page: &Page<InvitationId>) -> Result<Vec<Invitation>> {
    let after = page.after(InvitationId::LEAST, InvitationId::GREATEST);
    let text = sql!(
        Invitation::SELECT,
        " where account_id = :account and id < :after and revoked_at is null and expires_at > :now
            and (uses_left is null or uses_left > 0)
          order by id desc limit :limit"
    );
    Ok(db.all(text, bind! { after, limit: page.fetch() })?)
}

/// How many invitations can still be used.
pub fn count_open(db: &Reader<'_>) -> Result<i64> {
    let (count,) = db.one(
        "select count(*) from invitation
         where account_id = :account and revoked_at is null and expires_at > :now
           and (uses_left is null or uses_left > 0)",
        bind! {},
    )?;
    Ok(count)
}

/// The links of a team that can still be used; there is one at most.
pub fn team_links(db: &Reader<'_>, team: TeamId) -> Result<Vec<Invitation>> {
    let text = sql!(
        Invitation::SELECT,
        " where account_id = :account and team_id = :team and revoked_at is null
            and expires_at > :now"
    );
    Ok(db.all(text, bind! { team })?)
}

/// Takes an invitation back. Doing it twice is harmless.
pub fn revoke(tx: &Tx<'_>, by: UserId, id: InvitationId) -> Result<Invitation> {
    let invitation = find(tx, id)?;
    match invitation.team_id {
        Some(team) => may_open(tx, by, team)?,
        None => belonging::may_give(tx, by, invitation.role)?,
    }
    end(tx, &invitation)?;
    find(tx, id)
}

fn end(tx: &Tx<'_>, invitation: &Invitation) -> Result<()> {
    let id = invitation.id;
    let ended = tx.run(
        "update invitation set revoked_at = :now, updated_at = :now, version = version + 1
         where account_id = :account and id = :id and revoked_at is null",
        bind! { id },
    )?;
    if ended > 0 {
        tx.audit("invitation.revoked", &id.to_string(), &serde_json::json!({}))?;
    }
    Ok(())
}

row! {
    /// What somebody who follows a link is told before anything else.
    #[derive(Debug, Clone)]
    pub struct Found {
        pub id: InvitationId,
        pub account_id: AccountId,
        pub club: String,
        pub team_id: Option<TeamId>,
        pub team: Option<String>,
        pub role: Role,
        pub relation: Option<Relation>,
        pub person_id: Option<PersonId>,
        email: Option<String>,
        pub token_hash: [u8; 32],
    }
}

impl Found {
    /// Whether this is the address the invitation was made for, whatever its case.
    pub fn is_for(&self, email: &str) -> bool {
        self.email.as_deref().is_some_and(|own| text::folded(own) == text::folded(email))
    }

    /// The address the invitation was made for.
    pub fn email(&self) -> &str {
        self.email.as_deref().unwrap_or_default()
    }
}

/// The invitation a link stands for, if it can be used now.
pub fn follow(db: &Reader<'_>, token: &Token) -> Result<Option<Found>> {
    Ok(db.maybe(
        "select i.id, i.account_id, a.name as club, i.team_id, t.name as team, i.role, i.relation,
                i.person_id, i.email, i.token_hash
         from invitation i
         join account a on a.id = i.account_id
         left join team t on t.account_id = i.account_id and t.id = i.team_id
         where i.token_hash = :hash and i.revoked_at is null and i.expires_at > :now
           and (i.uses_left is null or i.uses_left > 0)
           and (i.team_id is null or t.status = 'active') /* any account */",
        bind! { hash: token.hash() },
    )?)
}

/// What a link that cannot be used answers, whatever the reason.
pub fn gone() -> Error {
    Error::new(Code::Gone, "This link has expired or was already used. Ask for a new one.")
}

/// Notes that an invitation was used once more. Of two who come at once, one is too late.
pub fn use_up(tx: &Tx<'_>, id: InvitationId) -> Result<Invitation> {
    let used = tx.run(
        "update invitation
         set uses_left = uses_left - 1, last_used_at = :now, updated_at = :now, version = version + 1
         where account_id = :account and id = :id and revoked_at is null and expires_at > :now
           and (uses_left is null or uses_left > 0)",
        bind! { id },
    )?;
    if used == 0 {
        return Err(gone());
    }
    let invitation = find(tx, id)?;
    honoured(tx, &invitation)?;
    Ok(invitation)
}

/// Refuses an invitation whose maker could not make it any more: nobody keeps a way back in, or up. What
/// the command line made stays good.
pub fn honoured(db: &Reader<'_>, invitation: &Invitation) -> Result<()> {
    let Ok(maker) = invitation.created_by.parse::<UserId>() else { return Ok(()) };
    let may = match invitation.team_id {
        Some(team) => may_open(db, maker, team),
        None => belonging::may_give(db, maker, invitation.role),
    };
    may.map_err(|error| match error.code {
        Code::Forbidden | Code::NotFound => gone(),
        _ => error,
    })
}

/// Takes back the open invitations that somebody made and could not make any more.
pub fn revoke_outgrown(tx: &Tx<'_>, maker: UserId) -> Result<()> {
    let text = sql!(
        Invitation::SELECT,
        " where account_id = :account and created_by = :maker and revoked_at is null
            and expires_at > :now and (uses_left is null or uses_left > 0)
          order by id"
    );
    let made: Vec<Invitation> = tx.all(text, bind! { maker: maker.to_string() })?;
    for invitation in made {
        match honoured(tx, &invitation) {
            Err(error) if error.code == Code::Gone => end(tx, &invitation)?,
            honoured => honoured?,
        }
    }
    Ok(())
}

/// Accepts a personal invitation: the user belongs to the club, as whom they were invited. `mailed` says
/// that the link came by mail to the address it was made for, `can_confirm` that this server sends email.
pub fn accept(
    tx: &Tx<'_>,
    id: InvitationId,
    user: &User,
    (mailed, can_confirm): (bool, bool),
) -> Result<Role> {
    let invitation = use_up(tx, id)?;
    if invitation.team_id.is_some() {
        return Err(gone());
    }
    let matches = invitation.email_folded.as_ref() == Some(&user.email_folded);
    if mailed && matches {
        user::verify_email(tx, user.id)?;
    }
    let user = &user::find(tx, user.id)?;
    let is_confirmed = user.email_verified_at.is_some();
    check_address(tx, &invitation, Address { matches, is_confirmed, can_confirm })?;
    let role = belonging::admit(tx, user.id, invitation.role)?;
    let details = serde_json::json!({ "user": user.id, "address_matches": matches });
    tx.audit("invitation.accepted", &id.to_string(), &details)?;
    if !matches {
        tell_inviter(tx, &invitation, user)?;
    }
    let Some((relation, person)) = invitation.relation.zip(invitation.person_id) else {
        return Ok(role);
    };
    check_tie(tx, (relation, person)).or_else(|error| match error.code {
        // They are that person already: they accept only the role.
        Code::InvalidState if is_own(tx, person, user.id)? => person::find(tx, person),
        _ => Err(error),
    })?;
    // The admin who made the invitation knows whoever can read what is sent to that address.
    let is_invited = matches && is_confirmed;
    let person = match relation {
        Relation::Guardian => arrival::as_guardian(tx, person, user, is_invited)?,
        Relation::Itself | Relation::Coach => linking::link(tx, person, user.id)?,
    };
    if !is_invited {
        safeguarding::withdraw_confirmation(tx, person.id)?;
    } else if relation != Relation::Itself {
        safeguarding::confirm_new_adult(tx, person.id)?;
    }
    Ok(role)
}

/// What is known about the address of whoever wants to accept an invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// Whether it is the one that was invited.
    pub matches: bool,
    /// Whether they have confirmed that it is theirs.
    pub is_confirmed: bool,
    /// Whether this server sends email, so that addresses can be confirmed.
    pub can_confirm: bool,
}

/// Refuses an invitation that only the invited address may accept: one that makes somebody an owner or
/// admin, or that is for a minor, a guardian of one, or somebody who leads a team. They have to confirm the address; where
/// no email can be sent, this holds for owners and admins only.
pub fn check_address(db: &Reader<'_>, invitation: &Invitation, address: Address) -> Result<()> {
    let runs_club = invitation.role != Role::Member;
    let is_trusted = || -> Result<bool> {
        let Some(id) = invitation.person_id else { return Ok(false) };
        let wards = guardian::children(db, &[id])?.into_iter().map(|tie| tie.person_id).collect();
        Ok(safeguarding::is_minor(db, id)?
            || trust::is_leader(db, id)?
            || !safeguarding::minors(db, &wards)?.is_empty())
    };
    if !address.matches && (runs_club || is_trusted()?) {
        let detail = "This invitation is for another email address. Sign in with that address, or ask the \
                      club to invite the address you use.";
        return Err(Error::invalid_state(detail));
    }
    if !address.is_confirmed && (runs_club || (address.can_confirm && is_trusted()?)) {
        let detail = "You have to confirm your email address before you can accept this invitation. You can do \
                      that under My account.";
        return Err(Error::invalid_state(detail));
    }
    Ok(())
}

/// Writes to whoever made an invitation that somebody with another address accepted it.
fn tell_inviter(tx: &Tx<'_>, invitation: &Invitation, user: &User) -> Result<()> {
    let Ok(maker) = invitation.created_by.parse::<UserId>() else { return Ok(()) };
    let maker = user::find(tx, maker)?;
    let club = account::find(tx)?.name;
    let invited = invitation.email.as_deref().unwrap_or_default();
    let text = format!(
        "You invited {invited} to {club}. Somebody who signs in with another address accepted the \
         invitation:\n\n{} ({})\n\nIf you do not know them, remove them under Members in the admin area.\n",
        user.name, user.email
    );
    letter::put(
        tx,
        NewLetter {
            person_id: None,
            about: invitation.id.to_string(),
            to_name: maker.name,
            to_address: maker.email,
            subject: format!("[{club}] Your invitation was accepted from another address"),
            text_body: text,
            html_body: None,
        },
    )
    .map(drop)
}

fn is_own(db: &Reader<'_>, person: PersonId, user: UserId) -> Result<bool> {
    Ok(person::find(db, person)?.user_id == Some(user))
}
