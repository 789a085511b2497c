//! Changes that users make to their own profile: name, email address and password.

use kit::text;

use super::user::{self, User};
use crate::error::UniqueViolationExt;
use crate::prelude::*;

/// Stores the hash of a new password.
pub fn set_password(tx: &Tx<'_>, id: UserId, hash: &str) -> Result<()> {
    tx.execute(
        "update app_user set password_hash = :hash, password_changed_at = :now, updated_at = :now,
             version = version + 1 where id = :id /* any account */",
        bind! { id, hash },
    )?;
    Ok(())
}

/// Replaces the hash of an unchanged password by one made with the current algorithm. Does nothing if the
/// password was changed in the meantime.
pub fn upgrade_password_hash(tx: &Tx<'_>, id: UserId, before: &str, hash: &str) -> Result<()> {
    tx.execute(
        "update app_user set password_hash = :hash
         where id = :id and password_hash = :before /* any account */",
        bind! { id, before, hash },
    )?;
    Ok(())
}

/// Changes a user's name and the language of their pages and emails. Without a language, pages follow the browser.
pub fn update(tx: &Tx<'_>, id: UserId, name: &str, language: Option<&str>) -> Result<()> {
    let name = user::normalize_name(name).map_err(|fault| Error::invalid(vec![fault]))?;
    tx.execute(
        "update app_user set name = :name, language = :language, updated_at = :now,
             version = version + 1
         where id = :id /* any account */",
        bind! { id, name, language },
    )?;
    Ok(())
}

/// Validates an email address and normalizes it for storage.
pub fn validate_email(input: &str) -> Result<String> {
    user::normalize_email(input).map_err(|fault| Error::invalid(vec![fault]))
}

/// Changes the email address that a user signs in with. `verified` means that the user opened a link sent
/// to it.
pub fn set_email(tx: &Tx<'_>, id: UserId, email: &str, verified: bool) -> Result<()> {
    let (folded, verified) = (text::fold_case(email), verified.then(|| tx.now()));
    tx.execute(
        "update app_user set email = :email, email_folded = :folded, email_verified_at = :verified,
             updated_at = :now, version = version + 1 where id = :id /* any account */",
        bind! { id, email, folded, verified },
    )
    .on_unique_violation(
        "app_user_email_folded_key",
        "/email",
        "Another user already signs in with this email address.",
    )?;
    Ok(())
}

/// Deletes the user with this email address if they no longer belong to any club.
pub fn delete_if_without_club(tx: &Tx<'_>, email: &str) -> Result<()> {
    let Some(User { id, .. }) = user::find_by_email(tx, email)? else { return Ok(()) };
    if user::clubs(tx, id)?.is_empty() {
        tx.execute("delete from app_user where id = :id /* any account */", bind! { id })?;
    }
    Ok(())
}

/// Whether the installation has any user.
pub fn any_user_exists(db: &Reader<'_>) -> Result<bool> {
    let row: Option<(i64,)> =
        db.optional("select 1 from app_user limit 1 /* any account */", bind! {})?;
    Ok(row.is_some())
}

/// Whether any club has an owner, including disabled users. The demo club does not count.
pub fn any_owner_exists(db: &Reader<'_>) -> Result<bool> {
    let row: Option<(i64,)> = db.optional(
        "select 1 from account_user u join account a on a.id = u.account_id
         where u.role = 'owner' and not a.demo limit 1 /* any account */",
        bind! {},
    )?;
    Ok(row.is_some())
}
