//! Sends messages by email, by the settings of each recipient. By default, announcements are sent to everybody, and
//! messages in conversations to people who do not sign in. If the two-adult rule applies, all adults get the message at
//! once, so that everybody who counts as a second adult sees it.

use super::message::{Kind, MessageRecord};
use super::recipients::Recipients;
use super::{markdown, people, receipt};
use crate::i18n::{Locale, Message, format};
use crate::mail::email::{self, NewEmail};
use crate::prelude::*;
use crate::roster::notification_settings::EmailKind;
use crate::roster::person::{self, Person};
use crate::roster::preferences::RecipientLocales;
use crate::roster::safeguarding;
use crate::teams::team::{self, Team};

/// Adds the emails about a published message to the outbox.
pub fn send(
    tx: &Tx<'_>,
    team: &Team,
    message: &MessageRecord,
    recipients: &Recipients,
) -> Result<()> {
    let people = email_recipients(tx, message.kind, recipients)?;
    let locales = RecipientLocales::load(tx, people.iter().map(|(person, _)| person))?;
    let mut emails = Vec::new();
    for (person, kind) in people {
        let new = NewEmail::to_person(&person, message.id, kind, locales.of(&person));
        let Some(new) = new else { continue };
        let default = || new.locale.run(|| t!("New message"));
        let subject = message.subject.as_deref().unwrap_or_else(default);
        let subject = format!("[{}] {subject}", team.name);
        let body_text = new.locale.run(|| with_file_names(message));
        let html_body = Some(html_document(&body_text));
        let team_id = Some(team.id);
        emails.push(NewEmail { team_id, subject, body_text, html_body, ..new });
    }
    email::enqueue_all(tx, emails).map(drop)
}

/// Informs the author of a scheduled message that it was not published. The email contains its text, so that nothing is
/// lost.
pub fn send_withheld(tx: &Tx<'_>, message: &MessageRecord, reason: &Message) -> Result<()> {
    let Some(author) = message.author_person_id else { return Ok(()) };
    let Some(author) = person::find(tx, author).or_none()? else { return Ok(()) };
    let locale = RecipientLocales::load(tx, [&author])?.of(&author);
    let new = NewEmail::to_person(&author, message.id, EmailKind::Security, locale);
    let Some(new) = new else { return Ok(()) };
    let team = team::find(tx, message.team_id)?;
    let write = || {
        let subject = message.subject.as_deref().unwrap_or(t!("New message"));
        let why = t!("Your scheduled message was not sent: {reason}", reason);
        (t!("[{team}] Not sent: {subject}", team = &team.name, subject), why)
    };
    let (subject, why) = locale.run(write);
    let body_text = format!("{why}\n\n{}\n", message.body);
    let team_id = Some(team.id);
    email::enqueue_all(tx, vec![NewEmail { team_id, subject, body_text, ..new }]).map(drop)
}

/// The recipients who get a message of this kind by email, with the kind of their email.
pub fn email_recipients(
    db: &Reader<'_>,
    kind: Kind,
    recipients: &Recipients,
) -> Result<Vec<(Person, EmailKind)>> {
    let minors = safeguarding::minors(db, &recipients.people)?;
    let email_kind = |person: &Person| {
        let can_read = person.user_id.is_some() || person.email_confirmed_at.is_some();
        let is_second_adult = recipients.protects_minors && !minors.contains(&person.id);
        match kind {
            Kind::Announcement if is_second_adult && can_read => Some(EmailKind::Safeguarding),
            Kind::Announcement => Some(EmailKind::Announcement),
            Kind::Message if !can_read => None,
            Kind::Message if is_second_adult => Some(EmailKind::Safeguarding),
            Kind::Message => Some(EmailKind::Conversation),
        }
    };
    people::email_recipients(db, &recipients.people, email_kind)
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

/// The body with the names of the attachments. Only people who sign in can open them.
fn with_file_names(message: &MessageRecord) -> String {
    let files: Vec<_> = message.attachments.0.iter().map(|file| file.label().to_owned()).collect();
    if files.is_empty() {
        return message.body.clone();
    }
    let names = format::list(Locale::current_or_english(), &files);
    let note = tn!(
        "A file is attached: {names}. Sign in to open it.",
        "{count} files are attached: {names}. Sign in to open them.",
        files.len(),
        names
    );
    format!("{}\n\n{note}", message.body)
}

/// The body as an HTML document.
fn html_document(body: &str) -> String {
    let html = markdown::html(body);
    format!(
        "<!doctype html>\n<html><head><meta charset=\"utf-8\"></head><body>\n{html}</body></html>\n"
    )
}
