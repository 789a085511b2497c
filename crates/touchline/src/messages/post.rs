//! Messages that also go out by email: announcements to everybody who wants email, conversations to people
//! who do not sign in and could not read them otherwise.

use std::collections::BTreeSet;

use store::Tx;

use super::message::{Kind, Stored};
use super::{markdown, people};
use crate::error::Result;
use crate::ids::PersonId;
use crate::mail::letter::{self, NewLetter};
use crate::roster::person::{self, Person};
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
    let only_by_email =
        |person: &Person| person.user_id.is_none() && person.email_confirmed_at.is_some();
    for person in people::addressees(tx, readers)? {
        if message.kind != Kind::Announcement && !only_by_email(&person) {
            continue;
        }
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

/// Holds back the letters about a message that were not sent yet.
pub fn cancel(tx: &Tx<'_>, message: &Stored) -> Result<()> {
    letter::cancel(tx, &message.id.to_string()).map(drop)
}

/// The body as a page that a mail program can show.
fn page(body: &str) -> String {
    let html = markdown::html(body);
    format!(
        "<!doctype html>\n<html><head><meta charset=\"utf-8\"></head><body>\n{html}</body></html>\n"
    )
}
