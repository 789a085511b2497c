//! The passkey: a key that lives in a phone, a computer or a password manager and signs its owner in without
//! a password. Since the device makes sure who holds it, a passkey is both factors at once.

pub mod ceremony;
pub mod party;

use kit::{Timestamp, text};
use serde_json::json;
use store::{Reader, Tx, bind, record, sql};

use super::entry::{self, Entry};
use super::session::{Browser, Method};
use crate::accounts::user;
use crate::error::{Code, Error, Fault, Result, TakenExt};
use crate::ids::{PasskeyId, SessionId, UserId};
use kit::secret::Token;

/// How many passkeys a user can have.
pub const MOST: usize = 20;
/// The longest name of a passkey.
const LONGEST: usize = 60;

record! {
    /// A passkey of a user.
    #[derive(Debug, Clone)]
    pub struct Passkey in passkey {
        pub id: PasskeyId,
        pub user_id: UserId,
        pub name: String,
        /// By what browsers and authenticators know it. Unique in the whole installation.
        pub credential_id: Vec<u8>,
        /// Its public key, and what else never changes.
        pub static_state: Vec<u8>,
        /// Its counter, and what else changes when it is used.
        pub dynamic_state: Vec<u8>,
        pub metadata: Option<String>,
        pub last_used_at: Option<Timestamp>,
        pub created_at: Timestamp,
    }
}

/// What was found good about a new passkey.
#[derive(Debug)]
pub struct Credential {
    pub credential_id: Vec<u8>,
    pub static_state: Vec<u8>,
    pub dynamic_state: Vec<u8>,
    pub metadata: String,
}

/// What the audit log says of a passkey. It names none: the name may say more than others need to know.
pub fn details(id: PasskeyId) -> serde_json::Value {
    json!({ "passkey": id })
}

/// Adds a passkey to a user's.
pub fn add(tx: &Tx<'_>, user: UserId, name: &str, new: Credential) -> Result<Passkey> {
    if list(tx, user)?.len() >= MOST {
        return Err(too_many());
    }
    let passkey = Passkey {
        id: tx.new_id(),
        user_id: user,
        name: checked(name)?,
        credential_id: new.credential_id,
        static_state: new.static_state,
        dynamic_state: new.dynamic_state,
        metadata: Some(new.metadata),
        last_used_at: None,
        created_at: tx.now(),
    };
    let already = "This passkey is in use already.";
    tx.run(sql!(Passkey::INSERT, " /* any account */"), &passkey.bind()).taken(
        "passkey_credential_id_key",
        "",
        already,
    )?;
    Ok(passkey)
}

/// Nobody needs more passkeys than this.
pub fn too_many() -> Error {
    Error::invalid_state(format!("You have {MOST} passkeys already. Remove one first."))
}

/// The passkeys of a user, in the order they were added.
pub fn list(db: &Reader<'_>, user: UserId) -> Result<Vec<Passkey>> {
    let text = sql!(Passkey::SELECT, " where user_id = :user order by id /* any account */");
    Ok(db.all(text, bind! { user })?)
}

/// One passkey of a user.
pub fn find(db: &Reader<'_>, user: UserId, id: PasskeyId) -> Result<Passkey> {
    let text = sql!(Passkey::SELECT, " where id = :id and user_id = :user /* any account */");
    Ok(db.one(text, bind! { id, user })?)
}

/// The passkey that a browser names, if its owner may sign in.
pub fn presented(db: &Reader<'_>, credential_id: Vec<u8>) -> Result<Option<Passkey>> {
    let text = sql!(Passkey::SELECT, " where credential_id = :credential_id /* any account */");
    let found: Option<Passkey> = db.maybe(text, bind! { credential_id })?;
    let Some(passkey) = found else { return Ok(None) };
    let disabled = user::find(db, passkey.user_id)?.disabled_at.is_some();
    Ok((!disabled).then_some(passkey))
}

/// Gives a passkey another name.
pub fn rename(tx: &Tx<'_>, user: UserId, id: PasskeyId, name: &str) -> Result<()> {
    let name = checked(name)?;
    let renamed = tx.run(
        "update passkey set name = :name where id = :id and user_id = :user /* any account */",
        bind! { id, user, name },
    )?;
    if renamed == 0 { Err(Error::not_found()) } else { Ok(()) }
}

/// Removes a passkey: nobody signs in with it any more.
pub fn remove(tx: &Tx<'_>, user: UserId, id: PasskeyId) -> Result<()> {
    let removed = tx.run(
        "delete from passkey where id = :id and user_id = :user /* any account */",
        bind! { id, user },
    )?;
    if removed == 0 { Err(Error::not_found()) } else { Ok(()) }
}

/// Removes every passkey of a user, and says which there were. What was begun for a new one ends too.
pub fn remove_all(tx: &Tx<'_>, user: UserId) -> Result<Vec<PasskeyId>> {
    let known = list(tx, user)?;
    tx.run("delete from passkey where user_id = :user /* any account */", bind! { user })?;
    tx.run("delete from ceremony where user_id = :user /* any account */", bind! { user })?;
    Ok(known.into_iter().map(|passkey| passkey.id).collect())
}

/// Signs in whoever proved to hold this passkey. `dynamic_state` is what the proof left of it; if the
/// passkey was used or removed since it was looked at, the proof is worth nothing. `session` is the one that the
/// browser had before.
pub fn sign_in(
    tx: &Tx<'_>,
    passkey: &Passkey,
    dynamic_state: Vec<u8>,
    browser: Browser,
    session: Option<(UserId, SessionId)>,
) -> Result<Token> {
    user::lock(tx, passkey.user_id)?;
    let (id, before) = (passkey.id, passkey.dynamic_state.clone());
    let noted = tx.run(
        "update passkey set dynamic_state = :dynamic_state, last_used_at = :now
         where id = :id and dynamic_state = :before /* any account */",
        bind! { id, before, dynamic_state },
    )?;
    if noted == 0 {
        return Err(Error::new(Code::InvalidCredentials, "This passkey was just changed or used."));
    }
    let user = passkey.user_id;
    let entry = Entry { user, method: Method::Passkey, browser, before: session };
    Ok(entry::enter(tx, entry)?.1)
}

fn checked(name: &str) -> Result<String> {
    text::line(name, LONGEST).map_err(|_| {
        let detail = format!("A name has 1 to {LONGEST} characters and no control characters.");
        Error::invalid(vec![Fault::new("/name", "invalid_name", detail)])
    })
}

/// What a new passkey is called if its owner says nothing: the browser and the system it was made with.
pub fn usual_name(agent: Option<&str>) -> String {
    let agent = agent.unwrap_or_default();
    let named = |known: &[(&str, &'static str)]| {
        known.iter().find(|(sign, _)| agent.contains(sign)).map(|(_, name)| *name)
    };
    // Browsers claim to be others too; the more particular sign stands first.
    let browser = named(&[
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser", "Samsung Internet"),
        ("Firefox", "Firefox"),
        ("FxiOS", "Firefox"),
        ("Chrom", "Chrome"),
        ("CriOS", "Chrome"),
        ("Safari", "Safari"),
    ]);
    let system = named(&[
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Android", "Android"),
        ("Windows", "Windows"),
        ("Mac OS X", "Mac"),
        ("CrOS", "ChromeOS"),
        ("Linux", "Linux"),
    ]);
    match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => "Passkey".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passkey_is_named_after_where_it_was_made() {
        let windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like \
            Gecko) Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0";
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 \
            (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1";
        assert_eq!(usual_name(Some(windows)), "Edge on Windows");
        assert_eq!(usual_name(Some(phone)), "Safari on iPhone");
        assert_eq!(usual_name(Some("Stories/1.0")), "Passkey");
        assert_eq!(usual_name(None), "Passkey");
    }
}
