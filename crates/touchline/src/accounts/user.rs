//! The user: somebody who signs in, and what they are in each account.

use kit::{Timestamp, contact, text, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, row, sql, word_column};
use utoipa::ToSchema;

use crate::error::{Error, Fault, Result, TakenExt};
use crate::ids::{AccountId, UserId};
use crate::signals::{Subject, Tell};

words! {
    /// What a user is in an account.
    pub enum Role as UserRole {
        /// May do everything, and hand the account over.
        Owner = "owner",
        /// May do everything but change owners.
        Admin = "admin",
        /// May do what their place on teams allows: coaches lead their teams, families see theirs.
        Member = "member",
    }
}
word_column!(Role);

impl Role {
    /// The role as pages name it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Owner => "Owner",
            Self::Admin => "Admin",
            Self::Member => "Member",
        }
    }
}

record! {
    /// Somebody who signs in.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "user")]
    pub struct User in app_user {
        pub id: UserId,
        pub email: String,
        #[serde(skip)]
        pub email_folded: String,
        pub name: String,
        #[serde(skip)]
        pub password_hash: Option<String>,
        pub password_changed_at: Option<Timestamp>,
        pub email_verified_at: Option<Timestamp>,
        pub disabled_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Rises with every change.
        pub version: i64,
    }
}

record! {
    /// That a user belongs to an account, and as what.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Belonging in account_user {
        pub account_id: AccountId,
        pub user_id: UserId,
        pub role: Role,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

/// What is told of a user who joins, changes or leaves: who, and as what. Names and addresses are theirs.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "object", rename = "user")]
#[schema(as = UserNews)]
pub struct News {
    pub id: UserId,
    pub role: Role,
}

impl Subject for News {
    fn subject(&self) -> String {
        self.id.to_string()
    }
}

row! {
    /// A user of an account, as lists of them are shown.
    #[derive(Debug, Clone, Serialize)]
    pub struct Listed {
        pub id: UserId,
        pub email: String,
        pub name: String,
        pub role: Role,
        pub disabled_at: Option<Timestamp>,
        pub created_at: Timestamp,
    }
}

/// A user to be made. The password was hashed before, where nobody waits.
#[derive(Debug, Clone)]
pub struct NewUser {
    pub email: String,
    pub name: String,
    pub role: Role,
    pub password_hash: Option<String>,
}

/// Makes a user and gives them a role in this account. Somebody who signs in elsewhere already keeps
/// their name and password and is only given the role. Whoever does this vouches for the address; a
/// user whose address nobody ever vouched for may be a stranger who took it first.
pub fn create(tx: &Tx<'_>, new: NewUser) -> Result<(User, Role)> {
    let (email, name) = checked(&new.email, &new.name)?;
    let user = match find_by_email(tx, &email)? {
        Some(User { email_verified_at: None, .. }) => {
            let detail = "Somebody signs in with this address, but nobody knows whether it is theirs. \
                          Send them an invitation instead.";
            return Err(Error::invalid_state(detail).at("/email"));
        }
        Some(user) => user,
        None => insert(tx, (email, name), new.password_hash, Some(tx.now()))?,
    };
    join(tx, user.id, new.role)?;
    Ok((user, new.role))
}

/// Lets a user into this account.
pub(super) fn join(tx: &Tx<'_>, id: UserId, role: Role) -> Result<()> {
    let belonging = Belonging {
        account_id: tx.account(),
        user_id: id,
        role,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    let already = "This user already belongs to the account.";
    tx.run(Belonging::INSERT, &belonging.bind()).taken("account_user_pkey", "/email", already)?;
    tx.tell("user.joined", &News { id, role })
}

/// Makes a user who belongs to no account yet. Nobody vouches for their address.
pub fn sign_up(tx: &Tx<'_>, email: &str, name: &str, password_hash: String) -> Result<User> {
    let (email, name) = checked(email, name)?;
    let user = insert(tx, (email, name), Some(password_hash), None)?;
    tx.audit("user.signed_up", &user.id.to_string(), &serde_json::json!({}))?;
    Ok(user)
}

/// Notes that a user can read what is sent to their address.
pub fn verify_email(tx: &Tx<'_>, id: UserId) -> Result<()> {
    tx.run(
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
        email_folded: text::folded(&email),
        email,
        name,
        password_changed_at: password_hash.as_ref().map(|_| tx.now()),
        password_hash,
        email_verified_at,
        disabled_at: None,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    let already = "Somebody already signs in with this address.";
    tx.run(sql!(User::INSERT, " /* any account */"), &user.bind()).taken(
        "app_user_email_folded_key",
        "/email",
        already,
    )?;
    Ok(user)
}

fn checked(email: &str, name: &str) -> Result<(String, String)> {
    let mut faults = Vec::new();
    let email = text::normalised(email.trim()).into_owned();
    if !contact::is_email(&email) {
        let detail = "This is not an address of mail, such as ana@example.org.";
        faults.push(Fault::new("/email", "invalid_email", detail));
    }
    let name = text::line(name, 120).map_err(|_| {
        let detail = "A name has 1 to 120 characters and no control characters.";
        faults.push(Fault::new("/name", "invalid_name", detail));
    });
    match name {
        Ok(name) if faults.is_empty() => Ok((email, name)),
        _ => Err(Error::invalid(faults)),
    }
}

/// The user with this address, whatever its case.
pub fn find_by_email(db: &Reader<'_>, email: &str) -> Result<Option<User>> {
    let email = text::folded(email);
    let text = sql!(User::SELECT, " where email_folded = :email /* any account */");
    Ok(db.maybe(text, bind! { email })?)
}

/// The user with this id, wherever they belong.
pub fn find(db: &Reader<'_>, id: UserId) -> Result<User> {
    Ok(db.one(sql!(User::SELECT, " where id = :id /* any account */"), bind! { id })?)
}

/// Locks the row of a user until the job ends, and reads it.
///
/// Every job that begins or ends sessions of a user, or changes how the user signs in, takes this lock first, and checks
/// afterwards what was proved before. On PostgreSQL such jobs run in different lanes; without the lock, one could act on
/// what another has just replaced, such as a password. SQLite runs one job at a time.
pub fn lock(tx: &Tx<'_>, id: UserId) -> Result<User> {
    tx.run(
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
pub fn list(db: &Reader<'_>) -> Result<Vec<Listed>> {
    Ok(db.all(
        "select u.id, u.email, u.name, a.role, u.disabled_at, a.created_at
         from account_user a join app_user u on u.id = a.user_id
         where a.account_id = :account order by a.user_id",
        bind! {},
    )?)
}

/// Those who look after this account and can be written to: its owners and admins.
pub fn in_charge(db: &Reader<'_>) -> Result<Vec<Listed>> {
    let leads = |user: &Listed| matches!(user.role, Role::Owner | Role::Admin);
    let all = list(db)?.into_iter();
    Ok(all.filter(|user| user.disabled_at.is_none() && leads(user)).collect())
}

/// What a user is in this account, if they belong to it.
pub fn role_of(db: &Reader<'_>, id: UserId) -> Result<Option<Role>> {
    let text = "select role from account_user where account_id = :account and user_id = :id";
    Ok(db.maybe::<(Role,)>(text, bind! { id })?.map(|(role,)| role))
}

/// Gives a user of this account another role. The last owner stays one.
pub fn set_role(tx: &Tx<'_>, id: UserId, role: Role) -> Result<Role> {
    let before = role_of(tx, id)?.ok_or_else(Error::not_found)?;
    if before == role {
        return Ok(role);
    }
    if before == Role::Owner && owners(tx)? == 1 {
        return Err(Error::invalid_state("The last owner cannot become anything else."));
    }
    tx.run(
        "update account_user set role = :role, updated_at = :now, version = version + 1
         where account_id = :account and user_id = :id",
        bind! { role, id },
    )?;
    // News, so that no answer is remembered that they may no longer see.
    tx.tell_change("user.role_changed", &News { id, role: before }, &News { id, role })?;
    Ok(role)
}

/// Takes a user out of this account. The last owner stays.
pub(super) fn leave(tx: &Tx<'_>, id: UserId, role: Role) -> Result<()> {
    if role == Role::Owner && owners(tx)? == 1 {
        return Err(Error::invalid_state("The last owner cannot leave the club."));
    }
    tx.run("delete from account_user where account_id = :account and user_id = :id", bind! { id })?;
    tx.tell("user.removed", &News { id, role })
}

fn owners(db: &Reader<'_>) -> Result<i64> {
    let (count,) = db.one(
        "select count(*) from account_user where account_id = :account and role = 'owner'",
        bind! {},
    )?;
    Ok(count)
}
