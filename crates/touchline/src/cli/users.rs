//! `touchline user` and `touchline set-up-link`.

use std::io::Read;

use clap::Subcommand;
use kit::Dice;
use kit::password;
use kit::word::Word;
use serde_json::json;
use store::Scope;

use super::accounts::{ACTOR, account_id};
use super::{Desk, Outcome, Refusal, refused};
use crate::accounts::account;
use crate::accounts::user::{self, NewUser, Role};
use crate::error::Code;
use crate::ids::{AccountId, UserId};
use crate::passwords;
use crate::signin::{entry, set_up};

fn role(text: &str) -> Result<Role, String> {
    Role::parse(text).ok_or_else(|| format!("one of: {}", Role::choices()))
}

#[derive(Debug, Subcommand)]
pub(super) enum UserVerb {
    /// Make a user, or give one who signs in elsewhere a role in this account
    Create {
        #[arg(long, value_parser = account_id)]
        account: AccountId,
        #[arg(long)]
        email: String,
        #[arg(long)]
        name: String,
        /// owner, admin or member
        #[arg(long, value_parser = role)]
        role: Role,
        /// Read the password from standard input, so that it stands in no history
        #[arg(long)]
        password_stdin: bool,
    },
    /// List an account's users
    List {
        #[arg(long, value_parser = account_id)]
        account: AccountId,
    },
    /// Make a link by which a user chooses a new password, within 30 minutes
    Reset {
        #[arg(long)]
        email: String,
        /// With the new password, two-step sign-in, recovery codes and passkeys are gone
        #[arg(long)]
        remove_second_step: bool,
    },
    /// Give a user another role
    Promote {
        #[arg(long, value_parser = account_id)]
        account: AccountId,
        #[arg(long)]
        email: String,
        /// owner, admin or member
        #[arg(long, value_parser = role)]
        role: Role,
    },
}

impl UserVerb {
    pub(super) async fn run(self, desk: &Desk) -> Outcome {
        match self {
            Self::Create { account, email, name, role, password_stdin } => {
                let password_hash = password_stdin.then(|| hashed(&email, &name)).transpose()?;
                create(desk, account, NewUser { email, name, role, password_hash }).await
            }
            Self::List { account } => {
                let db = desk.open_migrated().await?;
                let scope = Scope::account(account, ACTOR);
                let users = db
                    .read(scope, |db| account::find(db).and_then(|_| user::list(db)))
                    .await
                    .map_err(refused)?;
                desk.say(&json!({ "users": users }), || {
                    let line = |user: &user::Listed| {
                        format!(
                            "{}  {:6}  {}  {}",
                            user.id,
                            user.role.word(),
                            user.email,
                            user.name
                        )
                    };
                    users.iter().map(line).collect::<Vec<_>>().join("\n")
                })
            }
            Self::Reset { email, remove_second_step } => {
                reset(desk, email, remove_second_step).await
            }
            Self::Promote { account, email, role } => promote(desk, account, email, role).await,
        }
    }
}

async fn create(desk: &Desk, account: AccountId, new: NewUser) -> Outcome {
    let db = desk.open_migrated().await?;
    let (user, role) = db
        .write(Scope::account(account, ACTOR), move |tx| {
            account::find(tx)?;
            user::create(tx, new)
        })
        .await
        .map_err(refused)?;
    let mut shown = serde_json::to_value(&user)?;
    shown["role"] = role.word().into();
    shown["account_id"] = account.to_string().into();
    desk.say(&json!({ "user": shown }), || {
        format!("{} ({}) is now {role} of {account}.", user.email, user.id)
    })
}

/// Prints a new link to set up the first club. Links from before stop working.
pub(super) async fn set_up_link(desk: &Desk) -> Outcome {
    let db = desk.open_migrated().await?;
    let made = db.write(Scope::system("set-up"), set_up::invite).await.map_err(refused)?;
    let Some(token) = made else {
        let line =
            "a club here already has an owner; if they cannot sign in, use touchline user reset";
        return Err(Refusal::from(line));
    };
    let path = format!("/set-up/{}", token.reveal());
    let link = format!("{}{path}", desk.config.home().as_str());
    desk.say(&json!({ "link": link, "path": path }), || {
        let (place, link) = printed(desk, &link, &path);
        format!(
            "Set up the club with this link{place}. It works once, within 30 minutes:\n\n{link}"
        )
    })
}

/// How a link is printed. Without `base_url` this process does not know where the service listens, so only
/// the path is printed.
fn printed<'a>(desk: &Desk, link: &'a str, path: &'a str) -> (&'static str, &'a str) {
    match desk.config.base_url {
        Some(_) => ("", link),
        None => (" at the address where people reach the service", path),
    }
}

/// Nothing ends before the link is used.
async fn reset(desk: &Desk, email: String, all: bool) -> Outcome {
    let db = desk.open_migrated().await?;
    let make = if all { entry::reset_all_link } else { entry::reset_link };
    let written = db.write(Scope::system("reset"), move |tx| make(tx, &email)).await;
    let (user, token) = written.map_err(|error| match error.code {
        Code::NotFound => Refusal::from("there is no user with this address"),
        _ => refused(error),
    })?;
    let path = format!("/reset/{}", token.reveal());
    let link = format!("{}{path}", desk.config.home().as_str());
    desk.say(&json!({ "user": user, "link": link, "path": path }), || {
        let (place, link) = printed(desk, &link, &path);
        format!(
            "{} can choose a new password within 30 minutes, once{place}:\n\n{link}",
            user.email
        )
    })
}

async fn promote(desk: &Desk, account: AccountId, email: String, role: Role) -> Outcome {
    let db = desk.open_migrated().await?;
    let unknown = || Refusal::from("there is no user with this address in the account");
    let known = db.read(Scope::system("promote"), move |db| user::find_by_email(db, &email)).await;
    let user = known.map_err(refused)?.ok_or_else(unknown)?;
    let id: UserId = user.id;
    let scope = Scope::account(account, ACTOR);
    let changed = db.write(scope, move |tx| user::set_role(tx, id, role)).await;
    let role = changed.map_err(|error| match error.code {
        Code::NotFound => unknown(),
        _ => refused(error),
    })?;
    let shown = json!({ "id": id, "email": user.email, "name": user.name, "role": role, "account_id": account });
    desk.say(&json!({ "user": shown }), || format!("{} is now {role}.", user.email))
}

/// The hash of the password on standard input.
fn hashed(email: &str, name: &str) -> Result<String, Refusal> {
    let mut text = String::new();
    // One byte more than allowed shows that it is too long.
    let limit = u64::try_from(password::LONGEST + 2).unwrap_or(u64::MAX);
    std::io::stdin().take(limit).read_to_string(&mut text)?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    let known: Vec<_> = email.split(['@', '.']).chain(name.split(' ')).collect();
    password::check(password, &known).map_err(|fault| passwords::said(fault).detail)?;
    Ok(password::hash(password, &Dice::system()))
}
