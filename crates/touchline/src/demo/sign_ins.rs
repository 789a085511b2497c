//! Who signs in to the demo club: an owner, a coach and a parent, all with one password that lies in the
//! data folder.

use std::path::Path;

use kit::{Dice, password};
use serde::Serialize;
use store::{Db, Reader, Scope, Tx, bind};

use super::{ACCOUNT, ACTOR, write_private};
use crate::accounts::own;
use crate::accounts::user::{self, NewUser, Role};
use crate::error::{Error, Result};
use crate::ids::PersonId;
use crate::roster::linking;
use crate::roster::person;

/// The file with the password.
const FILE: &str = "demo.password";

/// Somebody who signs in to the demo club.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct SignIn {
    /// What they are there.
    pub who: &'static str,
    pub email: &'static str,
    #[serde(skip)]
    role: Role,
}

/// Everybody who does.
pub const SIGN_INS: [SignIn; 3] = [
    SignIn { who: "owner", email: "owner@example.com", role: Role::Owner },
    SignIn { who: "coach", email: "coach@example.com", role: Role::Member },
    SignIn { who: "parent", email: "parent@example.com", role: Role::Member },
];

/// The password of all of them: the one that lies in the data folder, or a new one that is put there.
pub async fn sign_ins(db: &Db, data: &Path) -> Result<String> {
    let file = data.join(FILE);
    let kept = std::fs::read_to_string(&file).ok().map(|text| text.trim().to_owned());
    let owner = move |db: &Reader<'_>| user::find_by_email(db, SIGN_INS[0].email);
    let owner = db.read(Scope::system("demo"), owner).await?;
    let hash = owner.and_then(|owner| owner.password_hash);
    if let (Some(kept), Some(hash)) = (&kept, hash)
        && password::verify(kept, Some(&hash))
    {
        return Ok(kept.clone());
    }
    let dice = Dice::system();
    let new = kit::secret::hex(&dice.bytes::<8>());
    let hash = password::hash(&new, &dice);
    db.write(Scope::account(ACCOUNT, ACTOR), move |tx| settle(tx, &hash)).await?;
    write_private(&file, &new)
        .map_err(|error| Error::internal(format!("{}: {error}", file.display())))?;
    Ok(new)
}

fn settle(tx: &Tx<'_>, hash: &str) -> Result<()> {
    let (coach, parent) = people(tx)?;
    for (sign_in, person) in SIGN_INS.into_iter().zip([None, coach, parent]) {
        let name = match person {
            Some(id) => person::display_name(&person::find(tx, id)?),
            None => "Olivia Owner".to_owned(),
        };
        let user = match user::find_by_email(tx, sign_in.email)? {
            // Somebody of another club who happens to have this address is left alone.
            Some(user) if user::clubs(tx, user.id)?.iter().any(|club| club.id != ACCOUNT) => {
                continue;
            }
            Some(user) => user,
            None => {
                let (email, password_hash) = (sign_in.email.to_owned(), Some(hash.to_owned()));
                user::create(tx, NewUser { email, name, role: sign_in.role, password_hash })?.0
            }
        };
        own::set_password(tx, user.id, hash)?;
        if let Some(person) = person {
            linking::link(tx, person, user.id)?;
        }
    }
    Ok(())
}

/// A coach of the club, and a guardian of somebody on the same team.
fn people(db: &Reader<'_>) -> Result<(Option<PersonId>, Option<PersonId>)> {
    let coach: Option<(PersonId, crate::ids::TeamId)> = db.maybe(
        "select person_id, team_id from member
         where account_id = :account and role = 'coach' and status <> 'removed'
         order by id limit 1",
        bind! {},
    )?;
    let Some((coach, team)) = coach else { return Ok((None, None)) };
    let parent: Option<(PersonId,)> = db.maybe(
        "select g.guardian_id from member m
         join guardianship g on g.account_id = m.account_id and g.person_id = m.person_id
         where m.account_id = :account and m.team_id = :team and m.status <> 'removed'
         order by m.id limit 1",
        bind! { team },
    )?;
    Ok((Some(coach), parent.map(|(parent,)| parent)))
}

/// Forgets them, once the club is gone.
pub(super) async fn forget(db: &Db, data: &Path) -> Result<()> {
    let forget = |tx: &Tx<'_>| {
        SIGN_INS.iter().try_for_each(|sign_in| own::forget_clubless(tx, sign_in.email))
    };
    db.write(Scope::system("demo"), forget).await?;
    // The password opens nothing now; whether its file could be removed does not matter.
    let _ = std::fs::remove_file(data.join(FILE));
    Ok(())
}
