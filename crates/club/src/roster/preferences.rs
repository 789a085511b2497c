//! The email preference of a person, and the language of emails to them.

use std::collections::BTreeMap;

use super::person::Person;
use super::profile;
use crate::accounts::user;
use crate::i18n::Locale;
use crate::prelude::*;

row! {
    /// The email address and preference of a person.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Preferences {
        pub id: PersonId,
        /// Shown only to the person themselves, and only in part.
        pub email: Option<String>,
        pub email_opt_in: bool,
        /// The user who signs in as the person.
        pub user_id: Option<UserId>,
    }
}

/// The preferences of a person, unless they were erased.
pub fn find(db: &Reader<'_>, id: PersonId) -> Result<Preferences> {
    Ok(db.one(
        "select id, email, email_opt_in, user_id from person
         where account_id = :account and id = :id and erased_at is null",
        bind! { id },
    )?)
}

/// The preferences of the person that a user is.
pub fn find_of_user(db: &Reader<'_>, user: UserId) -> Result<Option<Preferences>> {
    Ok(db.optional(
        "select id, email, email_opt_in, user_id from person
         where account_id = :account and user_id = :user and erased_at is null",
        bind! { user },
    )?)
}

/// The people in other clubs who are the same user and have the same email address.
pub fn same_recipient(db: &Reader<'_>, id: PersonId) -> Result<Vec<(AccountId, PersonId)>> {
    Ok(db.all(
        "select other.account_id, other.id
         from person
         join account_user c on c.user_id = person.user_id
         join person other on other.account_id = c.account_id and other.user_id = c.user_id
         where person.account_id = :account and person.id = :id and other.id <> person.id
           and other.email_folded = person.email_folded and other.erased_at is null",
        bind! { id },
    )?)
}

/// Whether a person accepts emails. `false` for erased people.
pub fn email_opt_in(db: &Reader<'_>, id: PersonId) -> Result<bool> {
    Ok(find(db, id).or_none()?.is_some_and(|person| person.email_opt_in))
}

/// Sets whether a person accepts emails. If nothing changes, nothing is published.
pub fn set_email_opt_in(tx: &Tx<'_>, id: PersonId, email_opt_in: bool) -> Result<Preferences> {
    let before = find(tx, id)?;
    if before.email_opt_in == email_opt_in {
        return Ok(before);
    }
    let old = profile::snapshot(tx, id)?;
    tx.execute(
        "update person set email_opt_in = :email_opt_in, updated_at = :now, version = version + 1
         where account_id = :account and id = :id",
        bind! { id, email_opt_in },
    )?;
    tx.publish_change("roster.person_updated", &old, &profile::snapshot(tx, id)?)?;
    Ok(Preferences { email_opt_in, ..before })
}

/// The locales of the recipients of emails: the language that they chose as users. Emails to others are in English.
pub struct RecipientLocales(BTreeMap<UserId, Locale>);

impl RecipientLocales {
    /// Reads the languages of these people.
    pub fn load<'a>(db: &Reader<'_>, people: impl IntoIterator<Item = &'a Person>) -> Result<Self> {
        let users = people.into_iter().filter_map(|person| person.user_id).collect();
        user::locales(db, users).map(Self)
    }

    /// The locale of an email to this person.
    pub fn of(&self, person: &Person) -> Locale {
        let chosen = person.user_id.and_then(|user| self.0.get(&user));
        chosen.copied().unwrap_or(Locale::ENGLISH)
    }
}
