//! Passkeys: `WebAuthn` credentials on a phone, a computer or in a password manager, which replace the password.
//! Because the device verifies its user, a passkey counts as both factors.

pub mod ceremony;
pub mod relying_party;

use kit::text;

use super::authentication::{self, SignIn};
use crate::accounts::session::{Browser, Method};
use crate::accounts::user;
use crate::error::UniqueViolationExt;
use crate::prelude::*;
use kit::secret::Token;

/// Maximum number of passkeys per user.
pub const MAX_PER_USER: usize = 20;
/// Maximum length of a passkey's name, in characters.
const MAX_NAME_LENGTH: usize = 60;

record! {
    /// A passkey of a user.
    #[derive(Debug, Clone)]
    pub struct Passkey in passkey {
        pub id: PasskeyId,
        pub user_id: UserId,
        pub name: String,
        /// The WebAuthn credential id. Unique in the installation.
        pub credential_id: Vec<u8>,
        /// The public key and other data that never changes, as `webauthn_rp` encodes it.
        pub static_state: Vec<u8>,
        /// The signature counter and other data that changes with use, as `webauthn_rp` encodes it.
        pub dynamic_state: Vec<u8>,
        pub metadata: Option<String>,
        pub last_used_at: Option<Timestamp>,
        pub created_at: Timestamp,
    }
}

/// The verified data of a new passkey.
#[derive(Debug)]
pub struct VerifiedCredential {
    pub credential_id: Vec<u8>,
    pub static_state: Vec<u8>,
    pub dynamic_state: Vec<u8>,
    pub metadata: String,
}

/// The details of an audit log entry about a passkey. They omit its name, which may be private.
pub fn audit_details(id: PasskeyId) -> serde_json::Value {
    json!({ "passkey": id })
}

/// Adds a passkey to a user.
pub fn add(tx: &Tx<'_>, user: UserId, name: &str, new: VerifiedCredential) -> Result<Passkey> {
    if list(tx, user)?.len() >= MAX_PER_USER {
        return Err(too_many_passkeys());
    }
    let passkey = Passkey {
        id: tx.new_id(),
        user_id: user,
        name: validate_name(name)?,
        credential_id: new.credential_id,
        static_state: new.static_state,
        dynamic_state: new.dynamic_state,
        metadata: Some(new.metadata),
        last_used_at: None,
        created_at: tx.now(),
    };
    tx.execute(sql!(Passkey::INSERT, " /* any account */"), &passkey.bind()).on_unique_violation(
        "passkey_credential_id_key",
        "",
        "This passkey is already registered.",
    )?;
    Ok(passkey)
}

/// The error for a user who has the maximum number of passkeys.
pub fn too_many_passkeys() -> Error {
    let max = MAX_PER_USER;
    Error::invalid_state(message!("You already have {max} passkeys. Remove one first.", max))
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

/// The passkey with this credential id, if its user is not disabled.
pub fn find_by_credential_id(db: &Reader<'_>, credential_id: Vec<u8>) -> Result<Option<Passkey>> {
    let text = sql!(Passkey::SELECT, " where credential_id = :credential_id /* any account */");
    let Some(passkey): Option<Passkey> = db.optional(text, bind! { credential_id })? else {
        return Ok(None);
    };
    let disabled = user::find(db, passkey.user_id)?.disabled_at.is_some();
    Ok((!disabled).then_some(passkey))
}

/// Renames a passkey.
pub fn rename(tx: &Tx<'_>, user: UserId, id: PasskeyId, name: &str) -> Result<PasskeyId> {
    let name = validate_name(name)?;
    let renamed = tx.execute(
        "update passkey set name = :name where id = :id and user_id = :user /* any account */",
        bind! { id, user, name },
    )?;
    if renamed == 0 { Err(Error::not_found()) } else { Ok(id) }
}

/// Removes a passkey.
pub fn remove(tx: &Tx<'_>, user: UserId, id: PasskeyId) -> Result<PasskeyId> {
    let text = "delete from passkey where id = :id and user_id = :user /* any account */";
    let removed = tx.execute(text, bind! { id, user })?;
    if removed == 0 { Err(Error::not_found()) } else { Ok(id) }
}

/// Removes every passkey of a user and cancels registrations in progress. Returns the removed passkeys.
pub fn remove_all(tx: &Tx<'_>, user: UserId) -> Result<Vec<PasskeyId>> {
    let removed = list(tx, user)?;
    tx.execute("delete from passkey where user_id = :user /* any account */", bind! { user })?;
    tx.execute("delete from ceremony where user_id = :user /* any account */", bind! { user })?;
    Ok(removed.into_iter().map(|passkey| passkey.id).collect())
}

/// Signs in the user of a verified passkey. `dynamic_state` is the state after this use. Fails if the passkey
/// was used or removed since it was read. `session` is the one that the browser had before.
pub fn sign_in(
    tx: &Tx<'_>,
    passkey: &Passkey,
    dynamic_state: Vec<u8>,
    browser: Browser,
    session: Option<(UserId, SessionId)>,
) -> Result<Token> {
    user::lock(tx, passkey.user_id)?;
    let (id, before) = (passkey.id, passkey.dynamic_state.clone());
    let updated = tx.execute(
        "update passkey set dynamic_state = :dynamic_state, last_used_at = :now
         where id = :id and dynamic_state = :before /* any account */",
        bind! { id, before, dynamic_state },
    )?;
    if updated == 0 {
        return Err(Error::new(Code::InvalidCredentials, "This passkey was just used or removed."));
    }
    let user = passkey.user_id;
    let entry = SignIn { user, method: Method::Passkey, browser, current_session: session };
    Ok(authentication::sign_in(tx, entry)?.1)
}

fn validate_name(name: &str) -> Result<String> {
    text::normalize_line(name, MAX_NAME_LENGTH).map_err(|_| {
        let detail = message!(
            "The name must have 1 to {max} characters and no control characters.",
            max = MAX_NAME_LENGTH
        );
        Error::invalid(vec![Fault::new("/name", "invalid_name", detail)])
    })
}

/// The default name of a new passkey: the browser and the system it was created with.
pub fn default_name(agent: Option<&str>) -> String {
    let browsers = [
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser", "Samsung Internet"),
        ("Firefox", "Firefox"),
        ("FxiOS", "Firefox"),
        ("Chrom", "Chrome"),
        ("CriOS", "Chrome"),
        ("Safari", "Safari"),
    ];
    let name = browser_and_system(agent.unwrap_or_default(), &browsers, "ChromeOS");
    name.unwrap_or_else(|| t!("Passkey").to_owned())
}

/// The names of the browser and the system in a user agent. User agents also contain the names of other browsers, so in
/// `browsers` more specific tokens come first.
pub(super) fn browser_and_system(
    agent: &str,
    browsers: &[(&str, &'static str)],
    chrome_os: &'static str,
) -> Option<String> {
    let first_match = |names: &[(&str, &'static str)]| {
        names.iter().find(|(token, _)| agent.contains(token)).map(|(_, name)| *name)
    };
    let system = first_match(&[
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Android", "Android"),
        ("Windows", "Windows"),
        ("Mac OS X", "Mac"),
        ("CrOS", chrome_os),
        ("Linux", "Linux"),
    ]);
    match (first_match(browsers), system) {
        // Translators: such as “Firefox on Windows”
        (Some(browser), Some(system)) => Some(t!("{browser} on {system}", browser, system)),
        (browser, system) => browser.or(system).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_name_combines_browser_and_system() {
        let windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like \
            Gecko) Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0";
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 \
            (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1";
        assert_eq!(default_name(Some(windows)), "Edge on Windows");
        assert_eq!(default_name(Some(phone)), "Safari on iPhone");
        assert_eq!(default_name(Some("Stories/1.0")), "Passkey");
        assert_eq!(default_name(None), "Passkey");
    }
}
