//! Emails to the guardians of a minor when the minor's protection changes.

use std::collections::BTreeSet;

use store::Tx;

use super::email::{self, NewEmail};
use crate::accounts::account;
use crate::error::Result;
use crate::ids::PersonId;
use crate::roster::guardian;
use crate::roster::person::{self, Person};
use crate::roster::safeguarding::{self, ProtectionChange};

/// Emails every guardian of this minor, including the guardian that the change is about. Guardians who are minors
/// themselves get no email.
pub fn send(tx: &Tx<'_>, minor: PersonId, change: &ProtectionChange) -> Result<()> {
    let child = person::display_name(&person::find(tx, minor)?);
    let links = guardian::list_for(tx, &[minor])?.into_iter();
    let mut recipients: BTreeSet<_> = links.map(|link| link.guardian.id).collect();
    recipients.extend(change.guardian());
    let people = person::find_many(tx, recipients.into_iter().collect())?;
    let guardian_name = change.guardian().and_then(|id| people.get(&id)).map(person::display_name);
    let sentence = describe(change, &child, &guardian_name.unwrap_or_default());
    let club = account::find(tx)?.name;
    // The email contains names that a coach chose. Minors get none, so that a coach cannot write to a child this way.
    let minors = safeguarding::minors(tx, &people.keys().copied().collect())?;
    let adults = people.values().filter(|recipient| !minors.contains(&recipient.id));
    for recipient in adults.filter(|recipient| recipient.erased_at.is_none()) {
        let Some(to_address) = recipient.email.clone() else { continue };
        let text = format!(
            "{sentence}\n\n\
             You get this email because you are or were a guardian of {child} at {club}. If you did not \
             expect this change, contact an admin of {club}.\n"
        );
        email::enqueue(
            tx,
            NewEmail {
                person_id: Some(recipient.id),
                about: minor.to_string(),
                to_name: person::display_name(recipient),
                to_address,
                subject: format!("[{club}] A change that affects {child}"),
                body_text: text,
                html_body: None,
            },
        )?;
    }
    Ok(())
}

/// Informs an adult at their previous email address that the address was replaced.
pub fn send_to_replaced_address(tx: &Tx<'_>, before: &Person) -> Result<()> {
    let Some(to_address) = before.email.clone() else { return Ok(()) };
    let club = account::find(tx)?.name;
    let text = format!(
        "Your email address at {club} was changed. We sent this email to your previous address.\n\n\
         If you did not expect this change, contact an admin of {club}.\n"
    );
    let new = NewEmail {
        person_id: Some(before.id),
        about: before.id.to_string(),
        to_name: person::display_name(before),
        to_address,
        subject: format!("[{club}] Your email address was changed"),
        body_text: text,
        html_body: None,
    };
    email::enqueue(tx, new).map(drop)
}

fn describe(change: &ProtectionChange, child: &str, guardian: &str) -> String {
    match change {
        ProtectionChange::BirthDate => format!(
            "The birth date of {child} was changed. According to the new date, {child} is an adult. \
             We still treat {child} as a minor until an admin confirms the change."
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
                "{guardian} no longer gets the messages that are sent to {child}. Messages that a second adult must see, to \
                 protect {child}, are still sent to {guardian}."
            )
        }
        ProtectionChange::AdultConfirmed => format!(
            "An admin confirmed that {child} is an adult. Guardians no longer get the messages that are sent to \
             {child}."
        ),
        ProtectionChange::SignsIn => {
            format!(
                "A Touchline account was linked to {child}. The person with this account can now sign in as {child}."
            )
        }
        ProtectionChange::AgeGroup => format!(
            "A team that {child} plays on was changed to an adult team. We still treat {child} as a minor until \
             an admin confirms that {child} is an adult."
        ),
    }
}
