//! Emails to the guardians of a minor when the minor's protection changes.

use std::collections::BTreeSet;

use super::email::{self, NewEmail};
use crate::accounts::account;
use crate::i18n::Message;
use crate::prelude::*;
use crate::roster::guardian;
use crate::roster::notification_settings::EmailKind;
use crate::roster::person::{self, Person};
use crate::roster::preferences::RecipientLocales;
use crate::roster::safeguarding::{self, ProtectionChange};

/// Emails every guardian of this minor, including the guardian that the change is about. Guardians who are minors
/// themselves get no email.
pub fn send(
    tx: &Tx<'_>,
    minor: PersonId,
    change: ProtectionChange,
    guardian: Option<PersonId>,
) -> Result<()> {
    let child = person::display_name(&person::find(tx, minor)?);
    let links = guardian::list_for(tx, &[minor])?.into_iter();
    let mut recipients: BTreeSet<_> = links.map(|link| link.guardian.id).collect();
    recipients.extend(guardian);
    let people = person::find_many(tx, recipients.into_iter().collect())?;
    let guardian_name = guardian.and_then(|id| people.get(&id)).map(person::display_name);
    let sentence = describe(change, &child, &guardian_name.unwrap_or_default());
    let locales = RecipientLocales::load(tx, people.values())?;
    let club = account::find(tx)?.name;
    // The email contains names that a coach chose. Minors get none, so that a coach cannot write to a child this way.
    let minors = safeguarding::minors(tx, &people.keys().copied().collect())?;
    let adults = people.values().filter(|recipient| !minors.contains(&recipient.id));
    let mut emails = Vec::new();
    for recipient in adults.filter(|recipient| recipient.erased_at.is_none()) {
        let new = NewEmail::to_person(recipient, minor, EmailKind::Security, locales.of(recipient));
        let Some(new) = new else { continue };
        let write = || {
            let why = t!(
                "You get this email because you are or were a guardian of {child} at {club}. If you did not \
                 expect this change, contact an admin of {club}.",
                child,
                club
            );
            (t!("A change that affects {child}", child), format!("{sentence}\n\n{why}\n"))
        };
        let (subject, body_text) = new.locale.run(write);
        let subject = format!("[{club}] {subject}");
        emails.push(NewEmail { subject, body_text, ..new });
    }
    email::enqueue_all(tx, emails).map(drop)
}

/// Informs an adult at their previous email address that the address was replaced.
pub fn send_to_replaced_address(tx: &Tx<'_>, before: &Person) -> Result<()> {
    let locale = RecipientLocales::load(tx, [before])?.of(before);
    let new = NewEmail::to_person(before, before.id, EmailKind::Security, locale);
    let Some(new) = new else { return Ok(()) };
    let club = account::find(tx)?.name;
    let write = || {
        let text = t!(
            "Your email address at {club} was changed. We sent this email to your previous address.\n\n\
             If you did not expect this change, contact an admin of {club}.\n",
            club
        );
        (t!("Your email address was changed"), text)
    };
    let (subject, body_text) = locale.run(write);
    let subject = format!("[{club}] {subject}");
    email::enqueue(tx, NewEmail { subject, body_text, ..new }).map(drop)
}

fn describe(change: ProtectionChange, child: &str, guardian: &str) -> Message {
    match change {
        ProtectionChange::BirthDate => message!(
            "The birth date of {child} was changed. According to the new date, {child} is an adult. \
             We still treat {child} as a minor until an admin confirms the change.",
            child
        ),
        ProtectionChange::Email => message!("The email address of {child} was changed.", child),
        ProtectionChange::GuardianAdded => {
            message!("{guardian} is now a guardian of {child}.", guardian, child)
        }
        ProtectionChange::GuardianRemoved => {
            message!("{guardian} is no longer a guardian of {child}.", guardian, child)
        }
        ProtectionChange::PickUpAllowed => {
            message!("{guardian} may now pick up {child}.", guardian, child)
        }
        ProtectionChange::MessagesStopped => message!(
            "{guardian} no longer gets the messages that are sent to {child}. Messages that a second adult must see, to \
             protect {child}, are still sent to {guardian}.",
            guardian,
            child
        ),
        ProtectionChange::AdultConfirmed => message!(
            "An admin confirmed that {child} is an adult. Guardians no longer get the messages that are sent to \
             {child}.",
            child
        ),
        ProtectionChange::SignsIn => message!(
            "A Touchline account was linked to {child}. The person with this account can now sign in as {child}.",
            child
        ),
        ProtectionChange::GuardianMerged => message!(
            "The club had two records of {guardian}, a guardian of {child}, and merged them into one.",
            guardian,
            child
        ),
        ProtectionChange::AgeGroup => message!(
            "A team that {child} plays on was changed to an adult team. We still treat {child} as a minor until \
             an admin confirms that {child} is an adult.",
            child
        ),
    }
}
