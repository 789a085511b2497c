//! Announcements go out by mail as well: the one place where this room hands letters over.

use std::collections::BTreeSet;

use store::Tx;

use super::message::{Kind, Stored};
use super::{markdown, people};
use crate::error::Result;
use crate::ids::PersonId;
use crate::mail::letter::{self, NewLetter};
use crate::roster::person;
use crate::teams::team::Team;

/// Writes a letter to everybody who gets an announcement and wants mail.
pub fn send(
    tx: &Tx<'_>,
    team: &Team,
    message: &Stored,
    readers: &BTreeSet<PersonId>,
) -> Result<()> {
    if message.kind != Kind::Announcement {
        return Ok(());
    }
    let subject = format!("[{}] {}", team.name, message.subject.as_deref().unwrap_or_default());
    let page = page(&message.body);
    for person in people::addressees(tx, readers)? {
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
