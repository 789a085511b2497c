//! `touchline user` and `touchline set-up-link`.

use std::io::Read;

use clap::Subcommand;
use kit::Rng;
use kit::password;

use super::accounts::{ACTOR, parse_account_id};
use super::{CommandContext, CommandError, CommandResult, lines, parse_enum};
use crate::accounts::account;
use crate::accounts::user::{self, NewUser, Role};
use crate::passwords;
use crate::prelude::*;
use crate::signin::{authentication, set_up};

#[derive(Debug, Subcommand)]
pub(super) enum UserCommand {
    /// Create a user, or give an existing user a role in this account
    Create {
        #[arg(long, value_parser = parse_account_id)]
        account: AccountId,
        #[arg(long)]
        email: String,
        #[arg(long)]
        name: String,
        /// The role: owner, admin or member
        #[arg(long, value_parser = parse_enum::<Role>)]
        role: Role,
        /// Read the password from standard input, so that it does not appear in the shell history
        #[arg(long)]
        password_stdin: bool,
    },
    /// List the users of an account
    List {
        #[arg(long, value_parser = parse_account_id)]
        account: AccountId,
    },
    /// Print a link for choosing a new password. It is valid for 30 minutes
    Reset {
        #[arg(long)]
        email: String,
        /// Also remove two-step sign-in, recovery codes and passkeys when the link is used
        #[arg(long)]
        remove_second_step: bool,
    },
    /// Change the role of a user
    Promote {
        #[arg(long, value_parser = parse_account_id)]
        account: AccountId,
        #[arg(long)]
        email: String,
        /// The role: owner, admin or member
        #[arg(long, value_parser = parse_enum::<Role>)]
        role: Role,
    },
}

impl UserCommand {
    pub(super) async fn run(self, ctx: &CommandContext) -> CommandResult {
        match self {
            Self::Create { account, email, name, role, password_stdin } => {
                let password_hash =
                    password_stdin.then(|| read_password_hash(&email, &name)).transpose()?;
                create(ctx, account, NewUser { email, name, role, password_hash }).await
            }
            Self::List { account } => {
                let db = ctx.open_migrated().await?;
                let scope = Scope::account(account, ACTOR);
                let list = |db: &Reader<'_>| account::find(db).and_then(|_| user::list(db));
                let users = db.read(scope, list).await?;
                ctx.print(&json!({ "users": users }), || {
                    lines(&users, |user| {
                        let role = user.role.as_str();
                        format!("{}  {role:6}  {}  {}", user.id, user.email, user.name)
                    })
                })
            }
            Self::Reset { email, remove_second_step } => {
                reset(ctx, email, remove_second_step).await
            }
            Self::Promote { account, email, role } => promote(ctx, account, email, role).await,
        }
    }
}

async fn create(ctx: &CommandContext, account: AccountId, new: NewUser) -> CommandResult {
    let db = ctx.open_migrated().await?;
    let create = move |tx: &Tx<'_>| account::find(tx).and_then(|_| user::create(tx, new));
    let (user, role) = db.write(Scope::account(account, ACTOR), create).await?;
    let mut user_json = serde_json::to_value(&user)?;
    user_json["role"] = role.as_str().into();
    user_json["account_id"] = account.to_string().into();
    ctx.print(&json!({ "user": user_json }), || {
        format!("{} ({}) is now {role} of {account}.", user.email, user.id)
    })
}

/// Prints a new link for setting up the first club. Earlier links stop working.
pub(super) async fn set_up_link(ctx: &CommandContext) -> CommandResult {
    let db = ctx.open_migrated().await?;
    let Some(token) = db.write(Scope::system("set-up"), set_up::create_link).await? else {
        let line =
            "a club already has an owner; if they cannot sign in, use `touchline user reset`";
        return Err(line.into());
    };
    let path = format!("/set-up/{}", token.reveal());
    let link = format!("{}{path}", ctx.config.effective_base_url().as_str());
    ctx.print(&json!({ "link": link, "path": path }), || {
        let (hint, link) = link_text(ctx, &link, &path);
        format!(
            "Open this link{hint} to set up your club. It works once and is valid for 30 minutes:\n\n{link}"
        )
    })
}

/// The text of a link. Without `base_url` this process does not know the address of the service, so only the path is
/// printed, with a hint.
fn link_text<'a>(ctx: &CommandContext, link: &'a str, path: &'a str) -> (&'static str, &'a str) {
    match ctx.config.base_url {
        Some(_) => ("", link),
        None => (" (a path below the address of your service)", path),
    }
}

/// Prints a link for choosing a new password. Nothing changes before the link is used.
async fn reset(ctx: &CommandContext, email: String, remove_second_step: bool) -> CommandResult {
    let db = ctx.open_migrated().await?;
    let make = if remove_second_step {
        authentication::create_full_reset_link
    } else {
        authentication::create_reset_link
    };
    let created = db.write(Scope::system("reset"), move |tx| make(tx, &email)).await;
    let (user, token) = created.map_err(|error| match error.code {
        Code::NotFound => "there is no user with this email address".into(),
        _ => CommandError::from(error),
    })?;
    let path = format!("/reset/{}", token.reveal());
    let link = format!("{}{path}", ctx.config.effective_base_url().as_str());
    ctx.print(&json!({ "user": user, "link": link, "path": path }), || {
        let (hint, link) = link_text(ctx, &link, &path);
        format!(
            "{} can choose a new password with this link{hint}. It works once and is valid for 30 minutes:\n\n{link}",
            user.email
        )
    })
}

async fn promote(
    ctx: &CommandContext,
    account: AccountId,
    email: String,
    role: Role,
) -> CommandResult {
    let db = ctx.open_migrated().await?;
    let unknown = || CommandError::from("there is no user with this email address in the account");
    let found = db.read(Scope::system("promote"), move |db| user::find_by_email(db, &email)).await;
    let user = found?.ok_or_else(unknown)?;
    let id: UserId = user.id;
    let scope = Scope::account(account, ACTOR);
    let changed = db.write(scope, move |tx| user::set_role(tx, id, role)).await;
    let role = changed.map_err(|error| match error.code {
        Code::NotFound => unknown(),
        _ => error.into(),
    })?;
    let user_json = json!({ "id": id, "email": user.email, "name": user.name, "role": role, "account_id": account });
    ctx.print(&json!({ "user": user_json }), || format!("{} is now {role}.", user.email))
}

/// Reads a password from standard input and hashes it.
fn read_password_hash(email: &str, name: &str) -> Result<String, CommandError> {
    let mut text = String::new();
    // Read one byte more than allowed, to notice a password that is too long.
    let limit = u64::try_from(password::MAX_BYTES + 2).unwrap_or(u64::MAX);
    std::io::stdin().take(limit).read_to_string(&mut text)?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    let known: Vec<_> = email.split(['@', '.']).chain(name.split(' ')).collect();
    password::check(password, &known)
        .map_err(|fault| passwords::password_fault(fault).detail.english())?;
    Ok(password::hash(password, &Rng::system()))
}
