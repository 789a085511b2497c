//! Two-step sign-in: after the password, a code from an authenticator app, or one of ten codes on paper.
//!
//! The app's seed is sealed, so that whoever reads the database cannot make codes. Each code works once.

use kit::secret::sha256;
use kit::{Timestamp, totp};
use store::{Reader, Tx, bind, record, sql};

use crate::error::{Error, Result};
use crate::ids::UserId;
use crate::secrets::SealKey;

/// How many codes on paper somebody has.
const PAPER: usize = 10;
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

record! {
    /// Somebody's authenticator app.
    #[derive(Debug, Clone)]
    struct Totp in totp {
        user_id: UserId,
        seed: Vec<u8>,
        confirmed_at: Option<Timestamp>,
        last_step: i64,
        created_at: Timestamp,
    }
}

/// What an authenticator app is told once.
#[derive(Clone)]
pub struct Seed(Vec<u8>);

impl Seed {
    /// The seed as people type it.
    pub fn text(&self) -> String {
        totp::base32(&self.0)
    }
}

/// How far somebody is with two-step sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    pub on: bool,
    /// Codes on paper that were not used yet.
    pub paper: i64,
}

/// How far a user is.
pub fn state(db: &Reader<'_>, user: UserId) -> Result<State> {
    let on = find(db, user)?.is_some_and(|totp| totp.confirmed_at.is_some());
    let (paper,) = db.one(
        "select count(*) from recovery_code where user_id = :user and used_at is null /* any account */",
        bind! { user },
    )?;
    Ok(State { on, paper })
}

/// Whether a user needs a second step.
pub fn is_on(db: &Reader<'_>, user: UserId) -> Result<bool> {
    Ok(find(db, user)?.is_some_and(|totp| totp.confirmed_at.is_some()))
}

fn find(db: &Reader<'_>, user: UserId) -> Result<Option<Totp>> {
    Ok(db.maybe(sql!(Totp::SELECT, " where user_id = :user /* any account */"), bind! { user })?)
}

/// The seed to put into an app: the one that waits to be confirmed, or a new one.
pub fn begin(tx: &Tx<'_>, key: &SealKey, user: UserId) -> Result<Seed> {
    if let Some(known) = find(tx, user)? {
        if known.confirmed_at.is_some() {
            return Err(Error::invalid_state("Two-step sign-in is on already."));
        }
        if let Some(seed) = key.open(&about(user), &known.seed) {
            return Ok(Seed(seed));
        }
    }
    let seed = tx.dice().bytes::<{ totp::SEED }>();
    let totp = Totp {
        user_id: user,
        seed: key.seal(tx.dice(), &about(user), &seed),
        confirmed_at: None,
        last_step: 0,
        created_at: tx.now(),
    };
    tx.run("delete from totp where user_id = :user /* any account */", bind! { user })?;
    tx.run(sql!(Totp::INSERT, " /* any account */"), &totp.bind())?;
    Ok(Seed(seed.to_vec()))
}

/// Turns two-step sign-in on, if the code shows that the app has the seed, and hands out the codes for
/// paper.
pub fn confirm(
    tx: &Tx<'_>,
    key: &SealKey,
    user: UserId,
    code: &str,
) -> Result<Option<Vec<String>>> {
    let Some(totp) = find(tx, user)?.filter(|totp| totp.confirmed_at.is_none()) else {
        return Err(Error::invalid_state("Two-step sign-in is on already, or was not begun."));
    };
    let Some(step) = step_of(tx, key, &totp, code) else { return Ok(None) };
    tx.run(
        "update totp set confirmed_at = :now, last_step = :step where user_id = :user /* any account */",
        bind! { user, step },
    )?;
    renew_paper(tx, user).map(Some)
}

/// Whether this is a code of the user's app that was not used yet. It is used now.
pub fn accept(tx: &Tx<'_>, key: &SealKey, user: UserId, code: &str) -> Result<bool> {
    let Some(totp) = find(tx, user)?.filter(|totp| totp.confirmed_at.is_some()) else {
        return Ok(false);
    };
    let Some(step) = step_of(tx, key, &totp, code) else { return Ok(false) };
    let taken = tx.run(
        "update totp set last_step = :step
         where user_id = :user and last_step < :step /* any account */",
        bind! { user, step },
    )?;
    Ok(taken == 1)
}

fn step_of(db: &Reader<'_>, key: &SealKey, totp: &Totp, code: &str) -> Option<i64> {
    let seed = key.open(&about(totp.user_id), &totp.seed)?;
    let code: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    totp::find_step(&seed, &code, db.now())
}

/// Turns two-step sign-in off.
pub fn turn_off(tx: &Tx<'_>, user: UserId) -> Result<()> {
    tx.run("delete from totp where user_id = :user /* any account */", bind! { user })?;
    tx.run("delete from recovery_code where user_id = :user /* any account */", bind! { user })?;
    Ok(())
}

/// Ten new codes for paper; those before work no longer.
pub fn renew_paper(tx: &Tx<'_>, user: UserId) -> Result<Vec<String>> {
    tx.run("delete from recovery_code where user_id = :user /* any account */", bind! { user })?;
    let codes: Vec<_> = (0..PAPER).map(|_| paper_code(tx)).collect();
    for code in &codes {
        tx.run(
            "insert into recovery_code (user_id, hash, used_at, created_at)
             values (:user, :hash, null, :now) /* any account */",
            bind! { user, hash: paper_hash(user, code) },
        )?;
    }
    Ok(codes)
}

/// Whether this is one of the user's codes on paper. It is used now, once.
pub fn accept_paper(tx: &Tx<'_>, user: UserId, typed: &str) -> Result<bool> {
    let taken = tx.run(
        "update recovery_code set used_at = :now
         where user_id = :user and hash = :hash and used_at is null /* any account */",
        bind! { user, hash: paper_hash(user, typed) },
    )?;
    Ok(taken == 1)
}

/// Eighty random bits in four groups.
fn paper_code(tx: &Tx<'_>) -> String {
    let bytes = tx.dice().bytes::<16>();
    let letters: Vec<_> =
        bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte & 31)])).collect();
    let groups: Vec<String> = letters.chunks(4).map(|group| group.iter().collect()).collect();
    groups.join("-")
}

/// What is kept of a code: read as people type it, with or without the lines between.
fn paper_hash(user: UserId, typed: &str) -> [u8; 32] {
    let plain: String = typed.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    sha256(format!("{user} {plain}").as_bytes())
}

/// What a seed is sealed as: nobody else's can be put in its place.
fn about(user: UserId) -> Vec<u8> {
    format!("totp of {user}").into_bytes()
}
