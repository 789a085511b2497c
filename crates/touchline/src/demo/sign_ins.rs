//! The users of the demo club: an owner, a coach and a parent. They share one password, which is saved in the
//! data directory.

use std::path::Path;

use kit::{Rng, password};
use store::Db;

use super::{ACCOUNT, ACTOR, write_private};
use crate::accounts::profile;
use crate::accounts::user::{self, NewUser, Role};
use crate::prelude::*;
use crate::roster::linking;
use crate::roster::person;

/// The file with the password.
const PASSWORD_FILE: &str = "demo.password";

/// A user of the demo club.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct SignIn {
    /// Their role in the demo club.
    pub who: &'static str,
    pub email: &'static str,
    #[serde(skip)]
    role: Role,
}

/// All users of the demo club.
pub const SIGN_INS: [SignIn; 3] = [
    SignIn { who: "owner", email: "owner@example.com", role: Role::Owner },
    SignIn { who: "coach", email: "coach@example.com", role: Role::Member },
    SignIn { who: "parent", email: "parent@example.com", role: Role::Member },
];

/// Makes sure that the users exist and returns their password: the saved one if it is still valid, otherwise a
/// new one.
pub async fn ensure_users(db: &Db, data: &Path) -> Result<String> {
    let file = data.join(PASSWORD_FILE);
    let saved = std::fs::read_to_string(&file).unwrap_or_default();
    let (saved, saved_hash) = saved.trim().split_once('\n').unwrap_or((saved.trim(), ""));
    let owner = move |db: &Reader<'_>| user::find_by_email(db, SIGN_INS[0].email);
    let owner = db.read(Scope::system("demo"), owner).await?;
    let hash = owner.and_then(|owner| owner.password_hash);
    // Comparing the hashes takes no time and no memory, unlike verifying the password.
    if let Some(hash) = hash
        && (saved_hash == hash || password::verify(saved, Some(&hash)))
    {
        return Ok(saved.to_owned());
    }
    let rng = Rng::system();
    let new = kit::secret::hex(&rng.bytes::<8>());
    let hash = password::hash(&new, &rng);
    let content = format!("{new}\n{hash}");
    db.write(Scope::account(ACCOUNT, ACTOR), move |tx| save_users(tx, &hash)).await?;
    write_private(&file, &content)?;
    Ok(new)
}

fn save_users(tx: &Tx<'_>, hash: &str) -> Result<()> {
    let (coach, parent) = coach_and_parent(tx)?;
    for (sign_in, person) in SIGN_INS.into_iter().zip([None, coach, parent]) {
        let name = match person {
            Some(id) => person::display_name(&person::find(tx, id)?),
            None => "Olivia Owner".to_owned(),
        };
        let user = match user::find_by_email(tx, sign_in.email)? {
            // A user of another club who happens to have this address is left unchanged.
            Some(user) if user::clubs(tx, user.id)?.iter().any(|club| club.id != ACCOUNT) => {
                continue;
            }
            Some(user) => user,
            None => {
                let (email, password_hash) = (sign_in.email.to_owned(), Some(hash.to_owned()));
                user::create(tx, NewUser { email, name, role: sign_in.role, password_hash })?.0
            }
        };
        profile::set_password(tx, user.id, hash)?;
        if let Some(person) = person {
            linking::link(tx, person, user.id)?;
        }
    }
    Ok(())
}

/// A coach of the club, and a guardian of a player on the same team.
fn coach_and_parent(db: &Reader<'_>) -> Result<(Option<PersonId>, Option<PersonId>)> {
    let coach: Option<(PersonId, crate::ids::TeamId)> = db.optional(
        "select person_id, team_id from member
         where account_id = :account and role = 'coach' and status <> 'removed'
         order by id limit 1",
        bind! {},
    )?;
    let Some((coach, team)) = coach else { return Ok((None, None)) };
    let parent: Option<(PersonId,)> = db.optional(
        "select g.guardian_id from member m
         join guardianship g on g.account_id = m.account_id and g.person_id = m.person_id
         where m.account_id = :account and m.team_id = :team and m.status <> 'removed'
         order by m.id limit 1",
        bind! { team },
    )?;
    Ok((Some(coach), parent.map(|(parent,)| parent)))
}

/// Deletes the users after the club was removed, unless they belong to another club.
pub(super) async fn remove_users(db: &Db, data: &Path) -> Result<()> {
    let remove = |tx: &Tx<'_>| {
        SIGN_INS.iter().try_for_each(|sign_in| profile::delete_if_without_club(tx, sign_in.email))
    };
    db.write(Scope::system("demo"), remove).await?;
    // The password no longer works, so it is fine if its file cannot be removed.
    let _ = std::fs::remove_file(data.join(PASSWORD_FILE));
    Ok(())
}
