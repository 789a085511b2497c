//! The daily summary: one email with all emails that waited for it.
//!
//! An email in a summary is an email in the outbox that is not sent on its own. When it is due, [`create`] adds an email
//! with the summary to the outbox and links all emails of its recipient that are due to it. This happens in one
//! transaction, so every email is in one summary. The text is written when the summary is sent: it can contain emails of
//! several clubs, which other members of these clubs must not see in the outbox.

use std::time::Duration;

use super::email::{self, Email, NewEmail, Status};
use crate::accounts::user;
use crate::prelude::*;
use crate::roster::notification_settings::{EmailKind, Frequency, RecipientSettings};
use crate::roster::person;

/// An email in a summary that was neither sent nor failed for this long is put into another summary. Longer than an
/// email can stay pending.
const LINK_DURATION: Duration = Duration::from_secs(6 * 86_400);
/// How many emails are loaded per query.
const BATCH_SIZE: i64 = 100;

row! {
    /// An email that is due to be put into a summary.
    #[derive(Debug, Clone, Copy)]
    pub struct DueEmail {
        pub next_attempt_at: Timestamp,
        pub account_id: AccountId,
        pub id: EmailId,
    }
}

row! {
    /// An email in a summary.
    #[derive(Debug, Clone)]
    pub struct SummaryItem {
        pub club: String,
        pub team: Option<String>,
        pub about: String,
        pub subject: String,
        pub body_text: String,
        pub html_body: Option<String>,
    }
}

row! {
    /// An email that can be put into a summary.
    struct Candidate {
        account_id: AccountId,
        id: EmailId,
        kind: EmailKind,
        email_opt_in: bool,
    }
}

/// The emails of all accounts that are due to be put into a summary.
pub fn list_due(db: &Reader<'_>, last: Option<DueEmail>) -> Result<Vec<DueEmail>> {
    let (at, after) =
        last.map_or((Timestamp::from_micros(0), EmailId::MIN), |one| (one.next_attempt_at, one.id));
    Ok(db.all(
        "select next_attempt_at, account_id, id from mail
         where status = 'pending' and in_summary and next_attempt_at <= :now
           and (summary_id is null or held_until <= :now)
           and (next_attempt_at, id) > (:at, :after)
         order by next_attempt_at, id
         limit :limit /* any account */",
        bind! { at, after, limit: BATCH_SIZE },
    )?)
}

/// Puts an email and all others that are due for the same recipient into a summary. Does nothing if another node, or an
/// earlier email, was first.
pub fn create(tx: &Tx<'_>, id: EmailId) -> Result<()> {
    let Some(person_id) = email::find(tx, id)?.person_id else { return Ok(()) };
    let recipient = person::find(tx, person_id)?;
    if let Some(user) = recipient.user_id {
        // Emails of another club may be put into a summary at the same time.
        user::lock(tx, user)?;
    }
    let first = email::find(tx, id)?;
    let is_linked = first.summary_id.is_some() && first.held_until.is_some_and(|at| at > tx.now());
    if first.status != Status::Pending || is_linked {
        return Ok(());
    }
    let settings = RecipientSettings::load(tx, [person_id])?;
    let mut items = Vec::new();
    for item in list_with(tx, &first, recipient.user_id)? {
        let never = settings.frequency(person_id, item.kind) == Frequency::Never;
        let wanted = item.email_opt_in && !never;
        if wanted { items.push(item) } else { cancel(tx, &item)? }
    }
    if items.is_empty() {
        return Ok(());
    }
    let locale = first.locale();
    let count = items.len();
    let new = NewEmail {
        person_id: Some(person_id),
        kind: EmailKind::Summary,
        team_id: None,
        is_urgent: false,
        about: person_id.to_string(),
        to_name: first.to_name,
        to_address: first.to_address,
        subject: locale.run(|| t!("Daily summary").to_owned()),
        body_text: locale
            .run(|| tn!("A summary of {count} email.", "A summary of {count} emails.", count)),
        html_body: None,
        locale,
    };
    let summary = new.into_record(tx);
    tx.execute_deferred(Email::INSERT, &summary.bind())?;
    for item in items {
        link(tx, &item, summary.id)?;
    }
    Ok(())
}

/// All emails that are due for the same recipient and address: in all clubs of a user, or in the club of a person.
fn list_with(tx: &Tx<'_>, first: &Email, user: Option<UserId>) -> Result<Vec<Candidate>> {
    let (address, person) = (&first.to_address, first.person_id);
    if let Some(user) = user {
        let all: Vec<Candidate> = tx.all(OF_USER, bind! { user, address })?;
        // A person in the demo club, or in a club that the user has left.
        if all.iter().any(|one| one.id == first.id) {
            return Ok(all);
        }
    }
    Ok(tx.all(OF_PERSON, bind! { person, address })?)
}

const OF_USER: &str = sql!(
    "select m.account_id, m.id, m.kind, p.email_opt_in
     from account_user c
     join account a on a.id = c.account_id and not a.demo
     join person p on p.account_id = c.account_id and p.user_id = c.user_id
     join mail m on m.account_id = p.account_id and m.person_id = p.id
     where c.user_id = :user",
    DUE,
    " order by m.account_id, m.id /* any account */"
);
const OF_PERSON: &str = sql!(
    "select m.account_id, m.id, m.kind, p.email_opt_in
     from mail m
     join person p on p.account_id = m.account_id and p.id = m.person_id
     where m.account_id = :account and m.person_id = :person",
    DUE,
    " order by m.id"
);
const DUE: &str = "
       and m.to_address = :address and m.status = 'pending' and m.in_summary
       and m.next_attempt_at <= :now and (m.summary_id is null or m.held_until <= :now)";

fn cancel(tx: &Tx<'_>, item: &Candidate) -> Result<()> {
    // Not `:account_id`, which must be the job's own account.
    let Candidate { account_id: club, id, .. } = item;
    tx.execute(
        "update mail set status = 'cancelled', updated_at = :now, version = version + 1
         where account_id = :club and id = :id and status = 'pending' /* any account */",
        bind! { club, id },
    )?;
    Ok(())
}

fn link(tx: &Tx<'_>, item: &Candidate, summary: EmailId) -> Result<()> {
    let Candidate { account_id: club, id, .. } = item;
    tx.execute(
        "update mail set summary_id = :summary, held_until = :until, updated_at = :now,
             version = version + 1
         where account_id = :club and id = :id and status = 'pending' /* any account */",
        bind! { club, id, summary, until: tx.now().plus(LINK_DURATION) },
    )?;
    Ok(())
}

/// Whether a summary still has emails to send. Emails to people who have stopped emails since are cancelled.
pub(super) fn has_content(tx: &Tx<'_>, summary: EmailId) -> Result<bool> {
    tx.execute(
        "update mail set status = 'cancelled', updated_at = :now, version = version + 1
         where summary_id = :summary and status = 'pending'
           and not exists (select 1 from person p
                           where p.account_id = mail.account_id and p.id = mail.person_id
                             and p.email_opt_in and p.erased_at is null) /* any account */",
        bind! { summary },
    )?;
    tx.exists(
        "select 1 from mail where summary_id = :summary and status = 'pending' /* any account */",
        bind! { summary },
    )
}

/// The emails in a summary, in order of creation.
pub fn items(db: &Reader<'_>, summary: EmailId) -> Result<Vec<SummaryItem>> {
    Ok(db.all(
        "select a.name as club, t.name as team, m.about, m.subject, m.body_text, m.html_body
         from mail m
         join account a on a.id = m.account_id
         left join team t on t.account_id = m.account_id and t.id = m.team_id
         where m.summary_id = :summary and m.status = 'pending'
         order by m.id /* any account */",
        bind! { summary },
    )?)
}

/// Gives the emails in a summary the status of the summary, if it was sent or has failed. If it was cancelled, they are
/// put into another one.
pub(super) fn settle(tx: &Tx<'_>, summary: &Email) -> Result<()> {
    let Email { id, status, sent_at, last_error, .. } = summary;
    if *status == Status::Cancelled {
        tx.execute(
            "update mail set summary_id = null, held_until = null
             where summary_id = :id and status = 'pending' /* any account */",
            bind! { id },
        )?;
        return Ok(());
    }
    tx.execute(
        "update mail set status = :status, sent_at = :sent_at, last_error = :last_error,
             held_until = null, updated_at = :now, version = version + 1
         where summary_id = :id and status = 'pending' /* any account */",
        bind! { id, status, sent_at, last_error },
    )?;
    Ok(())
}

/// Takes the emails out of the pending summaries to a person, which may contain emails of other clubs.
pub(super) fn release_of_person(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    tx.execute(
        "update mail set summary_id = null, held_until = null
         where status = 'pending' and summary_id in
             (select id from mail
              where account_id = :account and person_id = :person and kind = 'summary')",
        bind! { person },
    )?;
    Ok(())
}
