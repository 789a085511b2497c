//! Two-step sign-in: after the password, a code from an authenticator app (TOTP) or one of ten recovery codes.
//!
//! The seed of the app is encrypted, so that nobody can generate codes from the database alone. Each code works once.

use kit::secret::sha256;
use kit::totp;

use crate::prelude::*;
use crate::secrets::SealKey;

/// Number of recovery codes per user.
const RECOVERY_CODE_COUNT: usize = 10;
/// Crockford's base32 alphabet, which omits characters that are easily confused.
const CODE_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

record! {
    /// The authenticator app of a user.
    #[derive(Debug, Clone)]
    struct Totp in totp {
        user_id: UserId,
        /// The encrypted seed.
        seed: Vec<u8>,
        /// When the user turned on two-step sign-in with a first code.
        confirmed_at: Option<Timestamp>,
        /// The time step of the last accepted code. Codes of this or an earlier step are refused.
        last_step: i64,
        created_at: Timestamp,
    }
}

/// The secret that is shared with an authenticator app.
#[derive(Clone)]
pub struct Seed(Vec<u8>);

impl Seed {
    /// The seed in base32, as authenticator apps accept it.
    pub fn text(&self) -> String {
        totp::base32(&self.0)
    }
}

/// The state of two-step sign-in for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    pub on: bool,
    /// Number of unused recovery codes.
    pub unused_recovery_codes: i64,
}

/// The state of two-step sign-in for a user.
pub fn state(db: &Reader<'_>, user: UserId) -> Result<State> {
    let (unused_recovery_codes,) = db.one(
        "select count(*) from recovery_code where user_id = :user and used_at is null /* any account */",
        bind! { user },
    )?;
    Ok(State { on: is_on(db, user)?, unused_recovery_codes })
}

/// Whether a user has turned on two-step sign-in.
pub fn is_on(db: &Reader<'_>, user: UserId) -> Result<bool> {
    Ok(find(db, user)?.is_some_and(|totp| totp.confirmed_at.is_some()))
}

fn find(db: &Reader<'_>, user: UserId) -> Result<Option<Totp>> {
    Ok(db
        .optional(sql!(Totp::SELECT, " where user_id = :user /* any account */"), bind! { user })?)
}

/// The seed to set up an app with: the one that is not confirmed yet, or a new one.
pub fn begin(tx: &Tx<'_>, key: &SealKey, user: UserId) -> Result<Seed> {
    if let Some(totp) = find(tx, user)? {
        if totp.confirmed_at.is_some() {
            return Err(Error::invalid_state("Two-step sign-in is already on."));
        }
        if let Some(seed) = key.open(&seed_context(user), &totp.seed) {
            return Ok(Seed(seed));
        }
    }
    let seed = tx.rng().bytes::<{ totp::SEED_BYTES }>();
    let totp = Totp {
        user_id: user,
        seed: key.seal(tx.rng(), &seed_context(user), &seed),
        confirmed_at: None,
        last_step: 0,
        created_at: tx.now(),
    };
    tx.execute("delete from totp where user_id = :user /* any account */", bind! { user })?;
    tx.execute(sql!(Totp::INSERT, " /* any account */"), &totp.bind())?;
    Ok(Seed(seed.to_vec()))
}

/// Turns on two-step sign-in if the code is correct. Returns the recovery codes, or `None` if the code is wrong.
pub fn confirm(
    tx: &Tx<'_>,
    key: &SealKey,
    user: UserId,
    code: &str,
) -> Result<Option<Vec<String>>> {
    let Some(totp) = find(tx, user)?.filter(|totp| totp.confirmed_at.is_none()) else {
        let detail = "Two-step sign-in is already on, or its set-up was not started.";
        return Err(Error::invalid_state(detail));
    };
    let Some(step) = matching_step(tx, key, &totp, code) else { return Ok(None) };
    tx.execute(
        "update totp set confirmed_at = :now, last_step = :step where user_id = :user /* any account */",
        bind! { user, step },
    )?;
    regenerate_recovery_codes(tx, user).map(Some)
}

/// Consumes a code of the user's app. Returns whether it is correct and was not used before.
pub fn consume_code(tx: &Tx<'_>, key: &SealKey, user: UserId, code: &str) -> Result<bool> {
    let Some(totp) = find(tx, user)?.filter(|totp| totp.confirmed_at.is_some()) else {
        return Ok(false);
    };
    let Some(step) = matching_step(tx, key, &totp, code) else { return Ok(false) };
    let updated = tx.execute(
        "update totp set last_step = :step
         where user_id = :user and last_step < :step /* any account */",
        bind! { user, step },
    )?;
    Ok(updated == 1)
}

/// The time step that the code belongs to, if it is correct.
fn matching_step(db: &Reader<'_>, key: &SealKey, totp: &Totp, code: &str) -> Option<i64> {
    let seed = key.open(&seed_context(totp.user_id), &totp.seed)?;
    let code: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    totp::find_step(&seed, &code, db.now())
}

/// Turns off two-step sign-in and deletes the recovery codes.
pub fn turn_off(tx: &Tx<'_>, user: UserId) -> Result<()> {
    tx.execute("delete from totp where user_id = :user /* any account */", bind! { user })?;
    delete_recovery_codes(tx, user)
}

fn delete_recovery_codes(tx: &Tx<'_>, user: UserId) -> Result<()> {
    let text = "delete from recovery_code where user_id = :user /* any account */";
    Ok(tx.execute(text, bind! { user }).map(drop)?)
}

/// Creates ten new recovery codes. Earlier ones stop working.
pub fn regenerate_recovery_codes(tx: &Tx<'_>, user: UserId) -> Result<Vec<String>> {
    delete_recovery_codes(tx, user)?;
    let codes: Vec<_> = (0..RECOVERY_CODE_COUNT).map(|_| generate_recovery_code(tx)).collect();
    for code in &codes {
        tx.execute(
            "insert into recovery_code (user_id, hash, used_at, created_at)
             values (:user, :hash, null, :now) /* any account */",
            bind! { user, hash: recovery_code_hash(user, code) },
        )?;
    }
    Ok(codes)
}

/// Consumes a recovery code of the user. Returns whether it is correct and was not used before.
pub fn consume_recovery_code(tx: &Tx<'_>, user: UserId, code: &str) -> Result<bool> {
    let updated = tx.execute(
        "update recovery_code set used_at = :now
         where user_id = :user and hash = :hash and used_at is null /* any account */",
        bind! { user, hash: recovery_code_hash(user, code) },
    )?;
    Ok(updated == 1)
}

/// A code of 80 random bits, in four groups of four characters.
fn generate_recovery_code(tx: &Tx<'_>) -> String {
    let bytes = tx.rng().bytes::<16>();
    let character = |byte: &u8| char::from(CODE_ALPHABET[usize::from(byte & 31)]);
    let groups = bytes.chunks(4).map(|group| group.iter().map(character).collect::<String>());
    groups.collect::<Vec<_>>().join("-")
}

/// The stored hash of a code. Case, hyphens and spaces are ignored.
fn recovery_code_hash(user: UserId, code: &str) -> [u8; 32] {
    let plain: String = code.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    sha256(format!("{user} {plain}").as_bytes())
}

/// The associated data that a seed is encrypted with. It binds the seed to its user.
fn seed_context(user: UserId) -> Vec<u8> {
    format!("totp of {user}").into_bytes()
}
