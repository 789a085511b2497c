//! What users change about themselves: their name, their address, their password.

use kit::{contact, text};
use store::{Reader, Tx, bind};

use super::user::{self, User};
use crate::error::{Error, Fault, Result, TakenExt};
use crate::ids::UserId;

/// Keeps the hash of a new password.
pub fn set_password(tx: &Tx<'_>, id: UserId, hash: &str) -> Result<()> {
    tx.run(
        "update app_user set password_hash = :hash, password_changed_at = :now, updated_at = :now,
             version = version + 1 where id = :id /* any account */",
        bind! { id, hash },
    )?;
    Ok(())
}

/// Keeps a better hash of the same password, unless it was changed in the meantime.
pub fn renew_hash(tx: &Tx<'_>, id: UserId, before: &str, hash: &str) -> Result<()> {
    tx.run(
        "update app_user set password_hash = :hash
         where id = :id and password_hash = :before /* any account */",
        bind! { id, before, hash },
    )?;
    Ok(())
}

/// Gives a user another name.
pub fn rename(tx: &Tx<'_>, id: UserId, name: &str) -> Result<()> {
    let name = text::line(name, 120).map_err(|_| {
        let detail = "A name has 1 to 120 characters and no control characters.";
        Error::invalid(vec![Fault::new("/name", "invalid_name", detail)])
    })?;
    tx.run(
        "update app_user set name = :name, updated_at = :now, version = version + 1
         where id = :id /* any account */",
        bind! { id, name },
    )?;
    Ok(())
}

/// An address as it is kept, if it is one.
pub fn address(typed: &str) -> Result<String> {
    let email = text::normalised(typed.trim()).into_owned();
    if contact::is_email(&email) {
        return Ok(email);
    }
    let detail = "This is not an address of mail, such as ana@example.org.";
    Err(Error::invalid(vec![Fault::new("/email", "invalid_email", detail)]))
}

/// Gives a user another address to sign in with. `verified`: a letter has reached them there.
pub fn set_email(tx: &Tx<'_>, id: UserId, email: &str, verified: bool) -> Result<()> {
    let (folded, verified) = (text::folded(email), verified.then(|| tx.now()));
    tx.run(
        "update app_user set email = :email, email_folded = :folded, email_verified_at = :verified,
             updated_at = :now, version = version + 1 where id = :id /* any account */",
        bind! { id, email, folded, verified },
    )
    .taken(
        "app_user_email_folded_key",
        "/email",
        "Somebody else signs in with this address.",
    )?;
    Ok(())
}

/// Forgets a user who belongs to no club any more.
pub fn forget_clubless(tx: &Tx<'_>, email: &str) -> Result<()> {
    let Some(User { id, .. }) = user::find_by_email(tx, email)? else { return Ok(()) };
    if user::clubs(tx, id)?.is_empty() {
        tx.run("delete from app_user where id = :id /* any account */", bind! { id })?;
    }
    Ok(())
}

/// Whether anybody signs in here at all.
pub fn anybody(db: &Reader<'_>) -> Result<bool> {
    let one: Option<(i64,)> =
        db.maybe("select 1 from app_user limit 1 /* any account */", bind! {})?;
    Ok(one.is_some())
}

/// Whether a club has an owner, whatever has become of them. The demo club does not count.
pub fn any_owner(db: &Reader<'_>) -> Result<bool> {
    let one: Option<(i64,)> = db.maybe(
        "select 1 from account_user u join account a on a.id = u.account_id
         where u.role = 'owner' and not a.demo limit 1 /* any account */",
        bind! {},
    )?;
    Ok(one.is_some())
}
