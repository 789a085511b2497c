//! Who gets a reminder of an event, and the text of the email.

use std::collections::{BTreeMap, BTreeSet};

use crate::events::event::Event;
use crate::events::history;
use crate::events::location;
use crate::i18n::{Locale, format};
use crate::mail::email::{self, NewEmail};
use crate::messages::{people, recipients};
use crate::prelude::*;
use crate::roster::notification_settings::EmailKind;
use crate::roster::person::{self, Person};
use crate::roster::preferences::RecipientLocales;
use crate::teams::team::Team;

/// The maximum number of members of a team who are reminded.
const MAX_MEMBERS: i64 = 10_000;

/// One reminder email.
#[derive(Debug)]
pub(super) struct ReminderEmail {
    pub recipient: Person,
    /// Everybody with the recipient's address who would get the email, including the recipient.
    pub people: Vec<PersonId>,
    /// Those whose answers are missing and whom this email is about.
    pub unanswered: BTreeSet<PersonId>,
    /// Their names.
    names: Vec<String>,
    locale: Locale,
}

/// The emails about an event.
#[derive(Debug)]
pub(super) struct ReminderEmails {
    /// Everybody on the team who has not answered, with their names.
    pub unanswered: BTreeMap<PersonId, String>,
    pub mailings: Vec<ReminderEmail>,
}

/// The emails to everybody who has not answered an event and, if they are minors, to their guardians.
pub(super) fn prepare(db: &Reader<'_>, team: &Team, event: &Event) -> Result<ReminderEmails> {
    let page = Page { limit: MAX_MEMBERS, order: Order::Asc, last: None };
    let members = history::list_unanswered(db, event, &page)?;
    let ids: Vec<_> = members.iter().map(|member| member.person_id).collect();
    let unanswered: BTreeMap<_, _> = people::names(db, ids)?.into_iter().collect();
    let answers_for = recipients::of_reminder(db, team, &unanswered.keys().copied().collect())?;
    let recipients = answers_for.keys().copied().collect();
    let kind = |_: &Person| Some(EmailKind::RsvpReminder);
    let mut addressed = people::email_recipients(db, &recipients, kind)?;
    let emailed = addressed.iter().map(|(person, _)| person.id).collect();
    // The title of the event is a text of a coach.
    let unprotected = recipients::unprotected_minors(db, team, &recipients, &emailed)?;
    addressed.retain(|(person, _)| !unprotected.contains(&person.id));
    let all = person::find_many(db, recipients.into_iter().collect())?;
    let locales = RecipientLocales::load(db, addressed.iter().map(|(person, _)| person))?;
    let mailing = |recipient: Person| {
        // A family with a shared mailbox gets one email about all its members.
        let shares = |one: &&Person| one.email_folded == recipient.email_folded && one.email_opt_in;
        let people: Vec<_> = all.values().filter(shares).map(|one| one.id).collect();
        let about = people.iter().filter_map(|one| answers_for.get(one)).flatten().copied();
        let about: BTreeSet<PersonId> = about.collect();
        let names = about.iter().filter_map(|one| unanswered.get(one)).cloned().collect();
        let locale = locales.of(&recipient);
        ReminderEmail { recipient, people, unanswered: about, names, locale }
    };
    let mailings = addressed.into_iter().map(|(person, _)| mailing(person)).collect();
    Ok(ReminderEmails { unanswered, mailings })
}

/// Adds an email to the outbox.
pub(super) fn queue(
    tx: &Tx<'_>,
    team: &Team,
    event: &Event,
    mailing: &ReminderEmail,
    event_url: &str,
) -> Result<()> {
    let kind = EmailKind::RsvpReminder;
    let new = NewEmail::to_person(&mailing.recipient, event.id, kind, mailing.locale);
    let Some(new) = new else { return Ok(()) };
    let location = location::find_all(tx, event.location_id.into_iter())?;
    let place = location.first().map(|location| location.name.as_str());
    let (subject, body_text) = mailing.locale.run(|| text(team, event, mailing, place, event_url));
    let team_id = Some(team.id);
    email::enqueue(tx, NewEmail { team_id, subject, body_text, ..new }).map(drop)
}

/// The subject and the text.
fn text(
    team: &Team,
    event: &Event,
    mailing: &ReminderEmail,
    place: Option<&str>,
    link: &str,
) -> (String, String) {
    let (locale, zone) = (Locale::current_or_english(), &event.timezone);
    let (team, title) = (&team.name, event.shown_title());
    let subject = t!("[{team}] Please answer: {title}", team, title);
    let name = person::display_name(&mailing.recipient);
    let is_own = mailing.unanswered.iter().eq([&mailing.recipient.id]);
    let question = if is_own {
        t!("You have not said yet whether you are coming:").to_owned()
    } else {
        t!("There is no answer yet for {names}:", names = format::list(locale, &mailing.names))
    };
    let time = if event.all_day {
        format::day_with_weekday(locale, zone.day(event.starts_at))
    } else {
        format::appointment(locale, zone.local(event.starts_at))
    };
    let lines = [Some(&*title), Some(&time), place];
    let about = lines.into_iter().flatten().collect::<Vec<_>>().join("\n");
    let request = match event.rsvp_deadline {
        Some(deadline) => {
            let deadline = format::appointment(locale, zone.local(deadline));
            t!("Please answer by {deadline}: {link}", deadline, link)
        }
        None => t!("Please answer here: {link}", link),
    };
    let greeting = t!("Hello {name},", name);
    (subject, format!("{greeting}\n\n{question}\n\n{about}\n\n{request}\n"))
}
