//! Users, who sign in, and their role in each account.

use std::collections::BTreeMap;

use kit::{contact, string_enum, text};

use crate::error::UniqueViolationExt;
use crate::i18n::Locale;
use crate::prelude::*;

string_enum! {
    /// The role of a user in an account.
    pub enum Role as UserRole {
        /// Full access, including transferring the account to another owner.
        Owner = "owner",
        /// Full access, except changing owners.
        Admin = "admin",
        /// Access according to the rosters: coaches manage their teams, families see theirs.
        Member = "member",
    }
}
enum_column!(Role);

impl User {
    /// The locale of emails to the user.
    pub fn locale(&self) -> Locale {
        Locale::negotiate(self.language.as_deref(), "")
    }
}

impl Role {
    /// The label shown on pages, in English.
    pub fn label(self) -> &'static str {
        match self {
            Self::Owner => mark!("Owner"),
            Self::Admin => mark!("Admin"),
            Self::Member => mark!("Member"),
        }
    }
}

record! {
    /// A user who signs in.
    #[macros::object("user")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct User in app_user {
        /// Unique ID of the user.
        pub id: UserId,
        /// Email address that the user signs in with.
        pub email: String,
        /// The email address, case-folded for lookups.
        #[serde(skip)]
        pub email_folded: String,
        /// Name of the user.
        pub name: String,
        #[serde(skip)]
        pub password_hash: Option<String>,
        /// When the password was last changed; `null` if the user has no password.
        pub password_changed_at: Option<Timestamp>,
        /// The language of pages and emails. `None` if pages follow the browser.
        #[serde(skip)]
        pub language: Option<String>,
        /// When the user confirmed the email address; `null` if they have not.
        pub email_verified_at: Option<Timestamp>,
        /// When the user was disabled; `null` for an active user.
        pub disabled_at: Option<Timestamp>,
        /// When the user was created.
        pub created_at: Timestamp,
        /// When the user last changed.
        pub updated_at: Timestamp,
        /// Version number, increased by every change.
        pub version: i64,
    }
}

record! {
    /// The membership of a user in an account.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct AccountUser in account_user {
        pub account_id: AccountId,
        pub user_id: UserId,
        pub role: Role,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

/// Snapshot of a user who joins or leaves the account or changes role. Contains no personal data.
#[macros::object("user")]
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UserSnapshot)]
pub struct UserSnapshot {
    /// Unique ID of the user.
    pub id: UserId,
    /// Role of the user in the account.
    pub role: Role,
}

impl_resource!(UserSnapshot by UserId: Subject);

row! {
    /// A user with their role in an account, for lists.
    #[derive(Debug, Clone, Serialize)]
    pub struct UserSummary {
        pub id: UserId,
        pub email: String,
        pub name: String,
        pub role: Role,
        pub disabled_at: Option<Timestamp>,
        pub created_at: Timestamp,
    }
}

/// The locales of those users who chose a language.
pub fn locales(db: &Reader<'_>, ids: Vec<UserId>) -> Result<BTreeMap<UserId, Locale>> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let chosen: Vec<(UserId, String)> = db.all(
        "select id, language from app_user
         where id in (:ids) and language is not null /* any account */",
        bind! { ids },
    )?;
    Ok(chosen.into_iter().map(|(id, tag)| (id, Locale::negotiate(Some(&tag), ""))).collect())
}

/// Input for [`create`]. The password is hashed by the caller, because hashing is too slow for a transaction.
#[derive(Debug, Clone)]
pub struct NewUser {
    pub email: String,
    pub name: String,
    pub role: Role,
    pub password_hash: Option<String>,
}

/// Creates a user with a role in this account. A user who already exists keeps their name and password and
/// only gets the role.
///
/// The caller vouches for the email address. An existing user whose address was never verified is refused,
/// because somebody else may have signed up with the address.
pub fn create(tx: &Tx<'_>, new: NewUser) -> Result<(User, Role)> {
    let (email, name) = validate(&new.email, &new.name)?;
    let user = match find_by_email(tx, &email)? {
        Some(User { email_verified_at: None, .. }) => {
            let detail = "A user with this email address already exists but has not confirmed the \
                          address. Send them an invitation instead.";
            return Err(Error::invalid_state(detail).at("/email"));
        }
        Some(user) => user,
        None => insert(tx, (email, name), new.password_hash, Some(tx.now()))?,
    };
    join(tx, user.id, new.role)?;
    Ok((user, new.role))
}

/// Adds a user to this account.
pub(super) fn join(tx: &Tx<'_>, id: UserId, role: Role) -> Result<()> {
    let membership = AccountUser {
        account_id: tx.account(),
        user_id: id,
        role,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    let detail = "A user with this email address already belongs to the account.";
    let inserted = tx.execute(AccountUser::INSERT, &membership.bind());
    inserted.on_unique_violation("account_user_pkey", "/email", detail)?;
    tx.publish("user.joined", &UserSnapshot { id, role })
}

/// Creates a user who belongs to no account yet. The email address is not verified.
pub fn sign_up(tx: &Tx<'_>, email: &str, name: &str, password_hash: String) -> Result<User> {
    let (email, name) = validate(email, name)?;
    let user = insert(tx, (email, name), Some(password_hash), None)?;
    tx.audit("user.signed_up", &user.id.to_string(), &serde_json::json!({}))?;
    Ok(user)
}

/// Records that a user has confirmed their email address.
pub fn verify_email(tx: &Tx<'_>, id: UserId) -> Result<()> {
    tx.execute(
        "update app_user set email_verified_at = :now, updated_at = :now, version = version + 1
         where id = :id and email_verified_at is null /* any account */",
        bind! { id },
    )?;
    Ok(())
}

fn insert(
    tx: &Tx<'_>,
    (email, name): (String, String),
    password_hash: Option<String>,
    email_verified_at: Option<Timestamp>,
) -> Result<User> {
    let user = User {
        id: tx.new_id(),
        email_folded: text::fold_case(&email),
        email,
        name,
        password_changed_at: password_hash.as_ref().map(|_| tx.now()),
        password_hash,
        language: None,
        email_verified_at,
        disabled_at: None,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    let detail = "A user with this email address already exists.";
    let inserted = tx.execute(sql!(User::INSERT, " /* any account */"), &user.bind());
    inserted.on_unique_violation("app_user_email_folded_key", "/email", detail)?;
    Ok(user)
}

fn validate(email: &str, name: &str) -> Result<(String, String)> {
    match (normalize_email(email), normalize_name(name)) {
        (Ok(email), Ok(name)) => Ok((email, name)),
        (email, name) => Err(Error::invalid(email.err().into_iter().chain(name.err()).collect())),
    }
}

/// An email address as it is stored.
pub(super) fn normalize_email(input: &str) -> Result<String, Fault> {
    let email = text::to_nfc(input.trim()).into_owned();
    if contact::is_email(&email) {
        return Ok(email);
    }
    let detail = "Enter a valid email address, such as ana@example.org.";
    Err(Fault::new("/email", "invalid_email", detail))
}

/// The name of a user as it is stored.
pub(super) fn normalize_name(input: &str) -> Result<String, Fault> {
    text::normalize_line(input, 120).map_err(|_| {
        let detail =
            "Enter a name of at most 120 characters, without characters that cannot be displayed.";
        Fault::new("/name", "invalid_name", detail)
    })
}

/// The user with this email address, ignoring case.
pub fn find_by_email(db: &Reader<'_>, email: &str) -> Result<Option<User>> {
    let email = text::fold_case(email);
    let text = sql!(User::SELECT, " where email_folded = :email /* any account */");
    Ok(db.optional(text, bind! { email })?)
}

/// The user with this id, of any account.
pub fn find(db: &Reader<'_>, id: UserId) -> Result<User> {
    Ok(db.one(sql!(User::SELECT, " where id = :id /* any account */"), bind! { id })?)
}

/// Locks the row of a user until the transaction ends, and reads it.
///
/// Every transaction that begins or ends sessions of a user, or changes how the user signs in, takes this lock first
/// and then repeats the checks that were made before the transaction. On PostgreSQL such transactions run concurrently;
/// without the lock, one could act on a value that another has just replaced, such as a password. SQLite runs one at a
/// time.
pub fn lock(tx: &Tx<'_>, id: UserId) -> Result<User> {
    tx.execute(
        "update app_user set updated_at = updated_at where id = :id /* any account */",
        bind! { id },
    )?;
    find(tx, id)
}

row! {
    /// An account that a user belongs to.
    #[derive(Debug, Clone)]
    pub struct Club {
        pub id: AccountId,
        pub name: String,
        pub role: Role,
    }
}

/// The accounts a user belongs to, in the order they joined.
pub fn clubs(db: &Reader<'_>, user: UserId) -> Result<Vec<Club>> {
    Ok(db.all(
        "select account.id, account.name, account_user.role
         from account_user join account on account.id = account_user.account_id
         where account_user.user_id = :user
         order by account_user.created_at, account.id /* any account */",
        bind! { user },
    )?)
}

/// The users of this account, in the order they joined.
pub fn list(db: &Reader<'_>) -> Result<Vec<UserSummary>> {
    Ok(db.all(
        "select u.id, u.email, u.name, a.role, u.disabled_at, a.created_at
         from account_user a join app_user u on u.id = a.user_id
         where a.account_id = :account order by a.user_id",
        bind! {},
    )?)
}

/// The owners and admins of this account who are not disabled.
pub fn list_admins(db: &Reader<'_>) -> Result<Vec<UserSummary>> {
    let is_admin = |user: &UserSummary| matches!(user.role, Role::Owner | Role::Admin);
    let all = list(db)?.into_iter();
    Ok(all.filter(|user| user.disabled_at.is_none() && is_admin(user)).collect())
}

/// The role of a user in this account, if they belong to it.
pub fn role_of(db: &Reader<'_>, id: UserId) -> Result<Option<Role>> {
    let text = "select role from account_user where account_id = :account and user_id = :id";
    Ok(db.optional::<(Role,)>(text, bind! { id })?.map(|(role,)| role))
}

/// Changes the role of a user in this account. Fails for the last owner.
pub fn set_role(tx: &Tx<'_>, id: UserId, role: Role) -> Result<Role> {
    let before = role_of(tx, id)?.ok_or_else(Error::not_found)?;
    if before == role {
        return Ok(role);
    }
    if before == Role::Owner && count_owners(tx)? == 1 {
        let detail = "The last owner cannot change role. Make another user an owner first.";
        return Err(Error::invalid_state(detail));
    }
    tx.execute(
        "update account_user set role = :role, updated_at = :now, version = version + 1
         where account_id = :account and user_id = :id",
        bind! { role, id },
    )?;
    // Publishing the change also invalidates cached responses that the user may no longer see.
    let snapshot = |role| UserSnapshot { id, role };
    tx.publish_change("user.role_changed", &snapshot(before), &snapshot(role))?;
    Ok(role)
}

/// Removes a user from this account. Fails for the last owner.
pub(super) fn leave(tx: &Tx<'_>, id: UserId, role: Role) -> Result<()> {
    if role == Role::Owner && count_owners(tx)? == 1 {
        let detail = "The last owner cannot leave the club. Make another user an owner first.";
        return Err(Error::invalid_state(detail));
    }
    let text = "delete from account_user where account_id = :account and user_id = :id";
    tx.execute(text, bind! { id })?;
    tx.publish("user.removed", &UserSnapshot { id, role })
}

fn count_owners(db: &Reader<'_>) -> Result<i64> {
    let (count,) = db.one(
        "select count(*) from account_user where account_id = :account and role = 'owner'",
        bind! {},
    )?;
    Ok(count)
}
