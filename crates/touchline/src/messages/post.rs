//! Messages that also go out by email: announcements to everybody who wants email; conversations to people who do
//! not sign in, and if a minor is on them to all adults, so that nobody counts as a second adult who sees nothing.

use std::collections::BTreeSet;

use store::Tx;

use super::message::{Kind, Stored};
use super::{markdown, people, receipt};
use crate::error::Result;
use crate::ids::PersonId;
use crate::mail::letter::{self, NewLetter};
use crate::roster::person::{self, Person};
use crate::roster::safeguarding;
use crate::teams::team::Team;

/// Puts the emails about a published message into the outbox.
pub fn send(
    tx: &Tx<'_>,
    team: &Team,
    message: &Stored,
    readers: &BTreeSet<PersonId>,
) -> Result<()> {
    let subject = message.subject.as_deref().unwrap_or("New message");
    let subject = format!("[{}] {subject}", team.name);
    let page = page(&message.body);
    let minors = safeguarding::minors(tx, readers)?;
    let gets_email = |person: &Person| match (message.kind, person.user_id) {
        (Kind::Announcement, _) => true,
        (Kind::Message, None) => person.email_confirmed_at.is_some(),
        (Kind::Message, Some(_)) => !minors.is_empty() && !minors.contains(&person.id),
    };
    for person in people::addressees(tx, readers, gets_email)? {
        let to_name = person::display_name(&person);
        let Some(to_address) = person.email else { continue };
        letter::put(
            tx,
            NewLetter {
                person_id: Some(person.id),
                about: message.id.to_string(),
                to_name,
                to_address,
                subject: subject.clone(),
                text_body: message.body.clone(),
                html_body: Some(page.clone()),
            },
        )?;
    }
    Ok(())
}

/// Cancels the emails about a message that were not sent yet. If a minor got it, they are sent all the same: the
/// minor may have read it, and the second adult must be able to.
pub fn cancel(tx: &Tx<'_>, message: &Stored) -> Result<()> {
    let readers = receipt::readers(tx, message.id)?;
    if !safeguarding::minors(tx, &readers)?.is_empty() {
        return Ok(());
    }
    letter::cancel(tx, &message.id.to_string()).map(drop)
}

/// The body as a page that a mail program can show.
fn page(body: &str) -> String {
    let html = markdown::html(body);
    format!(
        "<!doctype html>\n<html><head><meta charset=\"utf-8\"></head><body>\n{html}</body></html>\n"
    )
}
