//! Sends messages by email: announcements to everybody who accepts emails; messages in conversations to people who do
//! not sign in and, if a minor is in the conversation, to all adults, so that everybody who counts as a second adult
//! sees the message.

use std::collections::BTreeSet;

use super::message::{Kind, MessageRecord};
use super::{markdown, people, receipt};
use crate::mail::email::{self, NewEmail};
use crate::prelude::*;
use crate::roster::person::Person;
use crate::roster::preferences::RecipientLocales;
use crate::roster::safeguarding;
use crate::teams::team::Team;

/// Adds the emails about a published message to the outbox.
pub fn send(
    tx: &Tx<'_>,
    team: &Team,
    message: &MessageRecord,
    recipients: &BTreeSet<PersonId>,
) -> Result<()> {
    let html_body = html_document(&message.body);
    let minors = safeguarding::minors(tx, recipients)?;
    let gets_email = |person: &Person| match (message.kind, person.user_id) {
        (Kind::Announcement, _) => true,
        (Kind::Message, None) => person.email_confirmed_at.is_some(),
        (Kind::Message, Some(_)) => !minors.is_empty() && !minors.contains(&person.id),
    };
    let people = people::email_recipients(tx, recipients, gets_email)?;
    let locales = RecipientLocales::load(tx, &people)?;
    for person in people {
        let new = NewEmail::to_person(&person, message.id, locales.of(&person));
        let Some(new) = new else { continue };
        let default = || new.locale.run(|| t!("New message"));
        let subject = message.subject.as_deref().unwrap_or_else(default);
        let subject = format!("[{}] {subject}", team.name);
        let (body_text, html_body) = (message.body.clone(), Some(html_body.clone()));
        email::enqueue(tx, NewEmail { subject, body_text, html_body, ..new })?;
    }
    Ok(())
}

/// Cancels the pending emails about a message. If a minor received the message, the emails are still sent: the minor
/// may have read it, so the second adult must be able to read it too.
pub fn cancel(tx: &Tx<'_>, message: &MessageRecord) -> Result<()> {
    let recipients = receipt::recipients(tx, message.id)?;
    if !safeguarding::minors(tx, &recipients)?.is_empty() {
        return Ok(());
    }
    email::cancel(tx, &message.id.to_string()).map(drop)
}

/// The body as an HTML document.
fn html_document(body: &str) -> String {
    let html = markdown::html(body);
    format!(
        "<!doctype html>\n<html><head><meta charset=\"utf-8\"></head><body>\n{html}</body></html>\n"
    )
}
