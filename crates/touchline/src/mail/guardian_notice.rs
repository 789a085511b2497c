//! Emails to the guardians of a minor when something changes about how the minor is protected.

use std::collections::BTreeSet;

use store::Tx;

use super::letter::{self, NewLetter};
use crate::accounts::account;
use crate::error::Result;
use crate::ids::PersonId;
use crate::roster::guardian;
use crate::roster::person::{self, Person};
use crate::roster::safeguarding::{self, ProtectionChange};

/// Writes to every guardian of this minor, and to the guardian that the change is about.
pub fn send(tx: &Tx<'_>, minor: PersonId, change: &ProtectionChange) -> Result<()> {
    let child = person::display_name(&person::find(tx, minor)?);
    let links = guardian::of(tx, &[minor])?.into_iter();
    let mut readers: BTreeSet<_> = links.map(|link| link.guardian.id).collect();
    readers.extend(change.guardian());
    let people = person::all(tx, readers.into_iter().collect())?;
    let about = change.guardian().and_then(|id| people.get(&id)).map(person::display_name);
    let sentence = describe(change, &child, &about.unwrap_or_default());
    let club = account::find(tx)?.name;
    // A coach chooses the names, and could write to a child with them.
    let minors = safeguarding::minors(tx, &people.keys().copied().collect())?;
    let adults = people.values().filter(|reader| !minors.contains(&reader.id));
    for reader in adults.filter(|reader| reader.erased_at.is_none()) {
        let Some(to_address) = reader.email.clone() else { continue };
        let text = format!(
            "Something changed about {child} at {club}:\n\n{sentence}\n\n\
             You get this email because you are, or were, a guardian of {child}. If you did not expect \
             this change, ask an admin of {club} about it.\n"
        );
        letter::put(
            tx,
            NewLetter {
                person_id: Some(reader.id),
                about: minor.to_string(),
                to_name: person::display_name(reader),
                to_address,
                subject: format!("[{club}] A change that concerns {child}"),
                text_body: text,
                html_body: None,
            },
        )?;
    }
    Ok(())
}

/// Writes to the address that an adult had until now that it was replaced.
pub fn send_to_replaced_address(tx: &Tx<'_>, before: &Person) -> Result<()> {
    let Some(to_address) = before.email.clone() else { return Ok(()) };
    let club = account::find(tx)?.name;
    let text = format!(
        "{club} now has another email address for you. This email goes to the address it had before.\n\n\
         If you did not expect this change, ask an admin of {club} about it.\n"
    );
    let new = NewLetter {
        person_id: Some(before.id),
        about: before.id.to_string(),
        to_name: person::display_name(before),
        to_address,
        subject: format!("[{club}] Your email address was changed"),
        text_body: text,
        html_body: None,
    };
    letter::put(tx, new).map(drop)
}

fn describe(change: &ProtectionChange, child: &str, guardian: &str) -> String {
    match change {
        ProtectionChange::BirthDate => format!(
            "The birth date of {child} was changed and now says that {child} is an adult. {child} is still \
             treated as a minor until an admin confirms the change."
        ),
        ProtectionChange::Email => format!("The email address of {child} was changed."),
        ProtectionChange::GuardianAdded(_) => {
            format!("{guardian} is now a guardian of {child}.")
        }
        ProtectionChange::GuardianRemoved(_) => {
            format!("{guardian} is no longer a guardian of {child}.")
        }
        ProtectionChange::PickUpAllowed(_) => format!("{guardian} may now pick up {child}."),
        ProtectionChange::MessagesStopped(_) => {
            format!(
                "{guardian} no longer gets messages that are sent to {child}, unless they are needed as a second adult."
            )
        }
        ProtectionChange::AdultConfirmed => format!(
            "An admin confirmed that {child} is an adult. Guardians are no longer added to messages \
             to {child}."
        ),
        ProtectionChange::SignsIn => {
            format!("An account can now sign in as {child}.")
        }
        ProtectionChange::AgeGroup => format!(
            "A team of {child} was changed into a team of adults. {child} is still treated as a minor \
             until an admin confirms otherwise."
        ),
    }
}
