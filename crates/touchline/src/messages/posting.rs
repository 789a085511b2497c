//! Posting: a message is checked, published at once or when its time has come, and delivered.

use std::collections::BTreeSet;
use std::time::Duration;

use kit::Timestamp;
use serde_json::json;
use store::{Reader, Tx, bind, row};

use super::message::{self, Kind, Message, NewMessage, Status, Stored};
use super::{audience, circle, conversation, people, post, receipt};
use crate::accounts::rights::{Reach, Voice};
use crate::error::{Code, Error, Fault, Result};
use crate::ids::{AccountId, MessageId, PersonId, TeamId};
use crate::signals::Tell;
use crate::teams::team::{self, Team};

/// How far ahead a message can be scheduled.
const AHEAD: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// How many messages whose time has come are looked up at once.
const STEP: i64 = 100;

/// Posts a message, now or when its time comes.
pub fn create(tx: &Tx<'_>, reach: &Reach, voice: &Voice, new: NewMessage) -> Result<Message> {
    voice.check(new.on_behalf_of)?;
    let (draft, mut faults) = draft(tx, reach, new)?;
    let draft = spoken(tx, reach, voice, draft)?;
    faults.extend(timing(tx, draft.publish_at));
    if draft.parent_id.is_none() {
        faults.extend(audience::faults(tx, draft.team_id, &draft.audience)?);
    }
    let (team, readers) = check(tx, &draft, faults)?;
    if draft.publish_at.is_some() {
        tx.run(Stored::INSERT, &draft.bind())?;
        tx.tell("message.scheduled", &Message::told(&draft))?;
        return message::one_shown(tx, draft);
    }
    let published = published(tx, draft, &readers)?;
    tx.run(Stored::INSERT, &published.bind())?;
    deliver(tx, &team, &published, &readers)?;
    message::one_shown(tx, published)
}

/// The message as it would be kept, and where it departs from the conversation that it continues.
fn draft(tx: &Tx<'_>, reach: &Reach, new: NewMessage) -> Result<(Stored, Vec<Fault>)> {
    let id = tx.new_id();
    let (team_id, audience, thread_id, faults) = if let Some(parent) = new.parent_id {
        let parent = conversation::parent(tx, reach, parent);
        let parent = parent.map_err(|error| error.at("/parent_id"))?;
        let faults = conversation::departures(&parent, new.team_id, new.audience.as_ref());
        (parent.team_id, parent.audience, parent.thread_id, faults)
    } else {
        let team = new.team_id.ok_or_else(|| Error::internal("a message without a team"))?;
        reach.check(team).map_err(|error| error.at("/team_id"))?;
        (team, new.audience.unwrap_or_default(), id, Vec::new())
    };
    let draft = Stored {
        id,
        account_id: tx.account(),
        team_id,
        kind: new.kind,
        subject: new.subject,
        body: new.body,
        audience,
        parent_id: new.parent_id,
        thread_id,
        pinned: new.pinned,
        publish_at: new.publish_at,
        published_at: None,
        listed_at: new.publish_at.unwrap_or(tx.now()),
        author_id: tx.actor().to_owned(),
        author_person_id: new.on_behalf_of,
        by_key: false,
        by_club: *reach == Reach::Everywhere,
        status: Status::Scheduled,
        retracted_by: None,
        retracted_at: None,
        delivered_count: 0,
        read_count: 0,
        metadata: new.metadata,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    Ok((draft, faults))
}

/// The draft with its author. Users speak as who they are on the team; whoever is nobody there speaks
/// for the club if they run it, and else not at all.
fn spoken(tx: &Tx<'_>, reach: &Reach, voice: &Voice, draft: Stored) -> Result<Stored> {
    let mut author = draft.author_person_id;
    if let (Voice::Own(own), None) = (voice, author) {
        author = own.first().copied();
        if *reach == Reach::Everywhere {
            let belonging = people::belonging(tx, draft.team_id)?;
            let fault = |person| conversation::speaker_fault(tx, &draft, person, &belonging.people);
            let fault = author.map(fault).transpose()?;
            author = author.filter(|_| fault == Some(None));
        }
    }
    let is_user = matches!(reach, Reach::User(_));
    if is_user && author.is_none() {
        let detail = "You are not on a roster of the club, so you cannot write to a team.";
        return Err(Error::new(Code::Forbidden, detail));
    }
    if is_user && draft.kind == Kind::Announcement && !reach.opens(draft.team_id) {
        let detail = "Only coaches and managers of the team announce something.";
        return Err(Error::new(Code::Forbidden, detail));
    }
    if draft.pinned {
        may_pin(reach, draft.team_id)?;
    }
    let author_id = author.map_or_else(|| draft.author_id.clone(), |person| person.to_string());
    let by_key = *voice == Voice::Anybodys;
    Ok(Stored { author_id, author_person_id: author, by_key, ..draft })
}

/// Refuses to pin messages to those who do not lead the team.
pub fn may_pin(reach: &Reach, team: TeamId) -> Result<()> {
    if reach.opens(team) {
        return Ok(());
    }
    Err(Error::new(Code::Forbidden, "Only coaches and managers of the team pin messages."))
}

/// What is wrong with the time at which a message is to be published.
pub fn timing(db: &Reader<'_>, publish_at: Option<Timestamp>) -> Option<Fault> {
    let at = publish_at?;
    let (code, detail) = if at <= db.now() {
        ("in_the_past", "A message can only be scheduled for the future.")
    } else if at > db.now().plus(AHEAD) {
        ("too_far", "A message can be scheduled at most a year ahead.")
    } else {
        return None;
    };
    Some(Fault::new("/publish_at", code, detail))
}

/// Whether a message could be published now: its team, and everybody who would get it. All that is
/// wrong with it is told together with the faults that are known already.
pub fn check(
    db: &Reader<'_>,
    message: &Stored,
    mut faults: Vec<Fault>,
) -> Result<(Team, BTreeSet<PersonId>)> {
    let team = team::playing(db, message.team_id).map_err(|error| error.at("/team_id"))?;
    if let Some(parent) = message.parent_id {
        conversation::parent(db, &Reach::Everywhere, parent)?;
    }
    let belonging = people::belonging(db, team.id)?;
    if let Some(person) = message.author_person_id {
        faults.extend(conversation::speaker_fault(db, message, person, &belonging.people)?);
    }
    if !faults.is_empty() {
        let error = Error::new(Code::ValidationFailed, "Some members of the body are not valid.");
        return Err(Error { faults, ..error });
    }
    let readers = circle::recipients(db, &team, message, &belonging)?;
    Ok((team, readers))
}

fn published(tx: &Tx<'_>, draft: Stored, readers: &BTreeSet<PersonId>) -> Result<Stored> {
    let delivered_count = i64::try_from(readers.len())
        .map_err(|_| Error::internal("more readers than can be counted"))?;
    let (published_at, listed_at) = (Some(tx.now()), tx.now());
    Ok(Stored { status: Status::Published, published_at, listed_at, delivered_count, ..draft })
}

/// Brings a published message to everybody who gets it.
fn deliver(tx: &Tx<'_>, team: &Team, message: &Stored, readers: &BTreeSet<PersonId>) -> Result<()> {
    receipt::deliver(tx, message.id, readers)?;
    post::send(tx, team, message, readers)?;
    tx.tell("message.posted", &Message::told(message))
}

/// Publishes a scheduled message before its time.
pub fn publish_now(tx: &Tx<'_>, scheduled: Stored) -> Result<Stored> {
    let (team, readers) = check(tx, &scheduled, Vec::new())?;
    let after = message::update(tx, published(tx, scheduled, &readers)?)?;
    deliver(tx, &team, &after, &readers)?;
    Ok(after)
}

row! {
    /// A scheduled message whose time has come.
    #[derive(Debug, Clone, Copy)]
    pub struct Due {
        pub account_id: AccountId,
        pub id: MessageId,
        pub publish_at: Timestamp,
    }
}

/// The messages whose time has come, after this one; one that cannot be published is passed by.
pub fn due(db: &Reader<'_>, last: Option<Due>) -> Result<Vec<Due>> {
    let after = last.map_or(Timestamp::from_micros(0), |due| due.publish_at);
    let after_id = last.map_or(MessageId::LEAST, |due| due.id);
    Ok(db.all(
        "select account_id, id, publish_at from message
         where status = 'scheduled' and publish_at <= :now
           and (publish_at, id) > (:after, :after_id)
         order by publish_at, id limit :limit /* any account */",
        bind! { after, after_id, limit: STEP },
    )?)
}

/// Publishes a scheduled message whose time has come, unless somebody was quicker. What may no longer
/// be sent, such as to a team that was archived, is taken back instead.
pub fn publish_due(tx: &Tx<'_>, id: MessageId) -> Result<()> {
    let message = message::stored(tx, &Reach::Everywhere, id)?;
    let waits = message.status == Status::Scheduled;
    if !waits || message.publish_at.is_none_or(|at| at > tx.now()) {
        return Ok(());
    }
    match publish_now(tx, message.clone()) {
        Err(refusal) if refusal.code.status().is_client_error() => {
            let details = json!({ "reason": refusal.detail, "errors": refusal.faults });
            tx.audit("message.withheld", &id.to_string(), &details)?;
            message::take_back(tx, message).map(drop)
        }
        outcome => outcome.map(drop),
    }
}
