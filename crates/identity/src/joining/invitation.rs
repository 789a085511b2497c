//! The invitation: a personal link for one user, or a link that everybody on a team can use.
//!
//! Only the hash of a link's token is stored. Unknown, expired, used and revoked links all give the same answer.

use std::time::Duration;

use kit::secret::{Token, TokenKind};
use kit::{contact, string_enum, text};

use super::age;
use crate::accounts::account;
use crate::accounts::roles;
use crate::accounts::user::{self, Role, User};
use crate::mail::email::{self, NewEmail};
use crate::prelude::*;
use crate::roster::notification_settings::EmailKind;
use crate::roster::person;
use crate::roster::{access, enrollment, guardian, guards, linking, safeguarding};
use crate::teams::team;

/// How long a personal invitation is valid.
pub const PERSONAL_TTL: Duration = Duration::from_secs(72 * 3600);
/// How long a team's link is valid.
pub const TEAM_LINK_TTL: Duration = Duration::from_secs(7 * 86_400);

string_enum! {
    /// How a user who joins is related to a person on the roster.
    pub enum Relation {
        /// The user is a guardian of the person.
        Guardian = "guardian",
        /// The user is the person.
        SamePerson = "self",
        /// The user coaches the team.
        Coach = "coach",
    }
}
enum_column!(Relation);

record! {
    /// An invitation to join the club.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Invitation in invitation {
        pub account_id: AccountId,
        pub id: InvitationId,
        pub token_hash: [u8; 32],
        pub role: Role,
        pub email: Option<String>,
        /// The address, case-folded for comparison.
        pub email_folded: Option<String>,
        pub team_id: Option<TeamId>,
        pub relation: Option<Relation>,
        pub person_id: Option<PersonId>,
        /// `None` for a team's link, which has no limit.
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

impl_resource!(Invitation by InvitationId: Paged);

/// The condition for an invitation that can still be used.
const IS_OPEN: &str =
    " and revoked_at is null and expires_at > :now and (uses_left is null or uses_left > 0)";

/// A new personal invitation.
#[derive(Debug, Clone)]
pub struct NewInvitation {
    pub email: String,
    pub role: Role,
    /// The person on the roster that the user is related to, and how.
    pub relation_to: Option<(Relation, PersonId)>,
}

/// Creates a personal invitation. The token of the link is returned only here.
pub fn invite(tx: &Tx<'_>, by: UserId, new: NewInvitation) -> Result<(Invitation, Token)> {
    roles::check_can_assign(tx, by, new.role)?;
    let email = text::to_nfc(new.email.trim()).into_owned();
    if !contact::is_email(&email) {
        let detail = "Enter an email address, such as ana@example.org.";
        return Err(Error::invalid(vec![Fault::new("/email", "invalid_email", detail)]));
    }
    if let Some(relation_to) = new.relation_to {
        check_relation(tx, relation_to)?;
    } else if let Some(user) = user::find_by_email(tx, &email)?
        && user::role_of(tx, user.id)?.is_some()
    {
        let detail = "A user with this email address is already a member of the club.";
        return Err(Error::new(Code::Taken, detail).at("/email"));
    }
    let (relation, person_id) = new.relation_to.unzip();
    let email_folded = Some(text::fold_case(&email));
    let (role, email, uses_left) = (new.role, Some(email), Some(1));
    let default = default_invitation(tx, PERSONAL_TTL);
    insert(tx, Invitation { role, email, email_folded, relation, person_id, uses_left, ..default })
}

/// Creates the link of a team and revokes the previous one.
pub fn create_team_link(tx: &Tx<'_>, by: UserId, team: TeamId) -> Result<(Invitation, Token)> {
    let team = team::find_active(tx, team)?.id;
    check_can_create_team_link(tx, by, team)?;
    for previous in team_links(tx, team)? {
        mark_revoked(tx, &previous)?;
    }
    insert(tx, Invitation { team_id: Some(team), ..default_invitation(tx, TEAM_LINK_TTL) })
}

/// Fails unless the user may create a link of this team: admins, and coaches and managers of the team may. For others
/// the team is not found.
pub fn check_can_create_team_link(db: &Reader<'_>, by: UserId, team: TeamId) -> Result<()> {
    match user::role_of(db, by)? {
        Some(Role::Owner | Role::Admin) => Ok(()),
        Some(Role::Member) if access::for_user(db, by)?.managed_team_ids.contains(&team) => Ok(()),
        _ => Err(Error::not_found()),
    }
}

/// An invitation with default values.
fn default_invitation(tx: &Tx<'_>, ttl: Duration) -> Invitation {
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
        expires_at: tx.now().plus(ttl),
        revoked_at: None,
        last_used_at: None,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    }
}

fn insert(tx: &Tx<'_>, invitation: Invitation) -> Result<(Invitation, Token)> {
    let token = Token::generate(TokenKind::Invitation, tx.rng());
    let new = Invitation { token_hash: token.hash(), ..invitation };
    tx.execute(Invitation::INSERT, &new.bind())?;
    let details = json!({
        "role": new.role, "team": new.team_id, "relation": new.relation, "person": new.person_id,
    });
    tx.audit("invitation.created", &new.id.to_string(), &details)?;
    Ok((new, token))
}

/// Fails if the user cannot have this relation to the person.
fn check_relation(db: &Reader<'_>, (relation, id): (Relation, PersonId)) -> Result<()> {
    let person = person::find(db, id)?;
    if person.erased_at.is_some() {
        return Err(Error::not_found());
    }
    if relation == Relation::SamePerson {
        if person.user_id.is_some() {
            let detail = "Another user already signs in as this person.";
            return Err(Error::invalid_state(detail).at("/person"));
        }
        age::check(db, &person)?;
    }
    Ok(())
}

/// One invitation.
pub fn find(db: &Reader<'_>, id: InvitationId) -> Result<Invitation> {
    let text = sql!(Invitation::SELECT, " where account_id = :account and id = :id");
    Ok(db.one(text, bind! { id })?)
}

/// A page of open invitations, newest first.
pub fn list_open(db: &Reader<'_>, page: &Page<InvitationId>) -> Result<Vec<Invitation>> {
    let (after, limit) = (page.after(InvitationId::MIN, InvitationId::MAX), page.fetch_limit());
    let text = sql!(
        Invitation::SELECT,
        " where account_id = :account and id < :after",
        IS_OPEN,
        " order by id desc limit :limit"
    );
    Ok(db.all(text, bind! { after, limit })?)
}

/// Number of open invitations.
pub fn count_open(db: &Reader<'_>) -> Result<i64> {
    let text = sql!("select count(*) from invitation where account_id = :account", IS_OPEN);
    Ok(db.one::<(i64,)>(text, bind! {})?.0)
}

/// The valid links of a team. There is at most one.
pub fn team_links(db: &Reader<'_>, team: TeamId) -> Result<Vec<Invitation>> {
    let text = sql!(
        Invitation::SELECT,
        " where account_id = :account and team_id = :team and revoked_at is null
            and expires_at > :now"
    );
    Ok(db.all(text, bind! { team })?)
}

/// Revokes an invitation. Idempotent.
pub fn revoke(tx: &Tx<'_>, by: UserId, id: InvitationId) -> Result<Invitation> {
    let invitation = find(tx, id)?;
    check_can_create(tx, by, &invitation)?;
    mark_revoked(tx, &invitation)?;
    find(tx, id)
}

fn mark_revoked(tx: &Tx<'_>, invitation: &Invitation) -> Result<()> {
    let id = invitation.id;
    let changed = tx.execute(
        "update invitation set revoked_at = :now, updated_at = :now, version = version + 1
         where account_id = :account and id = :id and revoked_at is null",
        bind! { id },
    )?;
    if changed > 0 {
        tx.audit("invitation.revoked", &id.to_string(), &json!({}))?;
    }
    Ok(())
}

row! {
    /// An invitation as the pages behind its link need it.
    #[derive(Debug, Clone)]
    pub struct InvitationLink {
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

impl InvitationLink {
    /// Whether this is the invited email address (case-insensitive).
    pub fn is_for(&self, email: &str) -> bool {
        self.email.as_deref().is_some_and(|own| text::fold_case(own) == text::fold_case(email))
    }

    /// The invited email address. Empty for a team's link.
    pub fn email(&self) -> &str {
        self.email.as_deref().unwrap_or_default()
    }
}

/// The invitation with this token, if it is valid.
pub fn find_by_token(db: &Reader<'_>, token: &Token) -> Result<Option<InvitationLink>> {
    Ok(db.optional(
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

/// The error for every link that is not valid, regardless of the reason.
pub fn link_expired() -> Error {
    Error::new(Code::Gone, "This link has expired or was already used. Ask for a new one.")
}

/// Counts one use of an invitation. Of two concurrent uses of a personal invitation, one fails.
pub fn redeem(tx: &Tx<'_>, id: InvitationId) -> Result<Invitation> {
    let text = sql!(
        "update invitation
         set uses_left = uses_left - 1, last_used_at = :now, updated_at = :now, version = version + 1
         where account_id = :account and id = :id",
        IS_OPEN
    );
    if tx.execute(text, bind! { id })? == 0 {
        return Err(link_expired());
    }
    let invitation = find(tx, id)?;
    check_creator(tx, &invitation)?;
    Ok(invitation)
}

/// Fails if the creator of an invitation could not create it anymore, so that nobody can use an old invitation to
/// return to the club or to get a higher role. Invitations from the command line stay valid.
pub fn check_creator(db: &Reader<'_>, invitation: &Invitation) -> Result<()> {
    let Ok(creator) = invitation.created_by.parse::<UserId>() else { return Ok(()) };
    check_can_create(db, creator, invitation).map_err(|error| match error.code {
        Code::Forbidden | Code::NotFound => link_expired(),
        _ => error,
    })
}

fn check_can_create(db: &Reader<'_>, by: UserId, invitation: &Invitation) -> Result<()> {
    match invitation.team_id {
        Some(team) => check_can_create_team_link(db, by, team),
        None => roles::check_can_assign(db, by, invitation.role),
    }
}

/// The open invitations of people to be this person or their guardian, newest first.
pub fn list_open_for_person(db: &Reader<'_>, person: PersonId) -> Result<Vec<Invitation>> {
    let text = sql!(
        Invitation::SELECT,
        " where account_id = :account and person_id = :person",
        IS_OPEN,
        " order by id desc limit 20"
    );
    Ok(db.all(text, bind! { person })?)
}

/// Moves the invitations for a person to another record of the same person.
pub(super) fn move_to_person(tx: &Tx<'_>, from: PersonId, into: PersonId) -> Result<()> {
    tx.execute(
        "update invitation set person_id = :into, updated_at = :now, version = version + 1
         where account_id = :account and person_id = :from",
        bind! { from, into },
    )?;
    Ok(())
}

/// Revokes the open invitations of a user who could not create them anymore.
pub fn revoke_disallowed(tx: &Tx<'_>, creator: UserId) -> Result<()> {
    let text = sql!(
        Invitation::SELECT,
        " where account_id = :account and created_by = :creator",
        IS_OPEN,
        " order by id"
    );
    let open: Vec<Invitation> = tx.all(text, bind! { creator: creator.to_string() })?;
    for invitation in open {
        match check_creator(tx, &invitation) {
            Err(error) if error.code == Code::Gone => mark_revoked(tx, &invitation)?,
            result => result?,
        }
    }
    Ok(())
}

/// Accepts a personal invitation: the user becomes a member of the club and is linked to the person of the invitation.
/// `mailed` says that the user opened the link in the email to the invited address, `can_confirm` that this server
/// sends email.
pub fn accept(
    tx: &Tx<'_>,
    id: InvitationId,
    user: &User,
    (mailed, can_confirm): (bool, bool),
) -> Result<Role> {
    let invitation = redeem(tx, id)?;
    if invitation.team_id.is_some() {
        return Err(link_expired());
    }
    let matches = invitation.email_folded.as_ref() == Some(&user.email_folded);
    if mailed && matches {
        user::verify_email(tx, user.id)?;
    }
    let user = &user::find(tx, user.id)?;
    let is_confirmed = user.email_verified_at.is_some();
    check_address(tx, &invitation, AddressCheck { matches, is_confirmed, can_confirm })?;
    let role = roles::ensure_role(tx, user.id, invitation.role)?;
    let details = json!({ "user": user.id, "address_matches": matches });
    tx.audit("invitation.accepted", &id.to_string(), &details)?;
    if !matches {
        notify_inviter(tx, &invitation, user)?;
    }
    let Some((relation, person)) = invitation.relation.zip(invitation.person_id) else {
        return Ok(role);
    };
    match check_relation(tx, (relation, person)) {
        // The user is already linked to the person and only accepts the role.
        Err(error)
            if error.code == Code::InvalidState
                && person::find(tx, person)?.user_id == Some(user.id) => {}
        checked => checked?,
    }
    // The admin who created the invitation knows the owner of the invited address.
    let is_invited = matches && is_confirmed;
    let person = match relation {
        Relation::Guardian => enrollment::enroll_guardian(tx, person, user, is_invited)?,
        Relation::SamePerson | Relation::Coach => linking::link(tx, person, user.id)?,
    };
    if !is_invited {
        safeguarding::withdraw_confirmation(tx, person.id)?;
    } else if relation != Relation::SamePerson {
        safeguarding::confirm_new_adult(tx, person.id)?;
    }
    Ok(role)
}

/// Facts about the email address of a user who wants to accept an invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressCheck {
    /// Whether it is the invited address.
    pub matches: bool,
    /// Whether the user has confirmed it.
    pub is_confirmed: bool,
    /// Whether this server sends email, so that users can confirm their addresses.
    pub can_confirm: bool,
}

/// Fails if only the invited address may accept the invitation and the user has another one or has not confirmed it.
/// This applies to invitations for owners, admins, minors, guardians of minors, coaches and managers. If the server
/// sends no email, only owners and admins must have confirmed the address.
pub fn check_address(
    db: &Reader<'_>,
    invitation: &Invitation,
    address: AddressCheck,
) -> Result<()> {
    let is_admin_role = invitation.role != Role::Member;
    let needs_invited_address = || -> Result<bool> {
        let Some(id) = invitation.person_id else { return Ok(false) };
        let links = guardian::list_by_guardian(db, &[id])?;
        let dependents = links.into_iter().map(|link| link.person_id).collect();
        Ok(safeguarding::is_minor(db, id)?
            || guards::is_coach_or_manager(db, id)?
            || !safeguarding::minors(db, &dependents)?.is_empty())
    };
    if !address.matches && (is_admin_role || needs_invited_address()?) {
        let detail = "This invitation is for another email address. Sign in with that address, or ask the \
                      club to invite the address you use.";
        return Err(Error::invalid_state(detail));
    }
    if !address.is_confirmed && (is_admin_role || (address.can_confirm && needs_invited_address()?))
    {
        let detail = "Confirm your email address before you accept this invitation. You can do \
                      that under My account.";
        return Err(Error::invalid_state(detail));
    }
    Ok(())
}

/// Emails the creator of an invitation that a user with another address accepted it.
fn notify_inviter(tx: &Tx<'_>, invitation: &Invitation, user: &User) -> Result<()> {
    let Ok(creator) = invitation.created_by.parse::<UserId>() else { return Ok(()) };
    let creator = user::find(tx, creator)?;
    let (club, locale) = (account::find(tx)?.name, creator.locale());
    let text = message!(
        "You invited {invited} to {club}. Somebody with another email address accepted the \
         invitation:\n\n{name} ({email})\n\nIf you do not know them, remove them under Members in the admin area.\n",
        invited = invitation.email.as_deref().unwrap_or_default(),
        club,
        name = user.name,
        email = user.email
    );
    let subject = message!("Your invitation was accepted with another email address");
    let email = NewEmail {
        person_id: None,
        kind: EmailKind::Security,
        team_id: None,
        is_urgent: false,
        about: invitation.id.to_string(),
        to_name: creator.name,
        to_address: creator.email,
        subject: locale.run(|| format!("[{club}] {subject}")),
        body_text: locale.run(|| text.to_string()),
        html_body: None,
        locale,
    };
    email::enqueue(tx, email).map(drop)
}
