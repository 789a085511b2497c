//! Answers: who comes, who waits for a place, and everything anybody answered before.

use kit::{Timestamp, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, row, sql, word_column};
use utoipa::ToSchema;

use super::event::{self, Event, Status};
use super::volunteers;
use crate::accounts::rights::Reach;
use crate::error::{Error, Fault, Result};
use crate::expected::Expected;
use crate::ids::{AccountId, EventId, MemberId, PersonId, RsvpId, TeamId};
use crate::paging::{Order, Page, Paged};
use crate::signals::{Subject, Tell};
use crate::teams::team;
use crate::thing::thing;

words! {
    /// What a member can answer.
    pub enum Choice {
        Yes = "yes",
        No = "no",
        Maybe = "maybe",
    }
}

words! {
    /// What is kept of an answer.
    pub enum Answer {
        Yes = "yes",
        No = "no",
        Maybe = "maybe",
        /// Yes, but the event is full; given by us, and turned into yes in order.
        Waiting = "waiting",
    }
}
word_column!(Answer);

record! {
    /// A member's answer to an event.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "rsvp")]
    pub struct Rsvp in rsvp {
        pub id: RsvpId,
        #[serde(skip)]
        pub account_id: AccountId,
        pub event_id: EventId,
        pub member_id: MemberId,
        pub answer: Answer,
        /// Not part of notifications, since it may say something about a person's health.
        #[schema(max_length = 500)]
        pub note: Option<String>,
        #[serde(skip)]
        pub place: Option<i64>,
        /// Who answered: the person named by the caller, or the credential that was used.
        #[schema(examples("per_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
        pub answered_by: String,
        pub answered_at: Timestamp,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Rises with every change.
        pub version: i64,
    }
}

/// An answer as subscribers are told of it: the note may say something about a person's health.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "object", rename = "rsvp")]
#[schema(as = RsvpNews)]
pub struct News {
    pub id: RsvpId,
    pub event_id: EventId,
    /// The team whose event it is.
    pub team_id: TeamId,
    pub member_id: MemberId,
    /// `null` once it was taken back, because the member left.
    pub answer: Option<Answer>,
    #[schema(examples("per_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub answered_by: String,
    pub answered_at: Timestamp,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: i64,
}

impl News {
    fn of(rsvp: &Rsvp, team_id: TeamId) -> Self {
        Self {
            id: rsvp.id,
            event_id: rsvp.event_id,
            team_id,
            member_id: rsvp.member_id,
            answer: Some(rsvp.answer),
            answered_by: rsvp.answered_by.clone(),
            answered_at: rsvp.answered_at,
            created_at: rsvp.created_at,
            updated_at: rsvp.updated_at,
            version: rsvp.version,
        }
    }
}

impl Subject for News {
    fn subject(&self) -> String {
        self.id.to_string()
    }
}

thing!(Rsvp by RsvpId: Versioned);

impl Paged for Rsvp {
    type Place = MemberId;

    fn place(&self) -> MemberId {
        self.member_id
    }
}

/// What a member answers.
#[derive(Debug, ToSchema)]
pub struct NewAnswer {
    pub answer: Choice,
    #[schema(examples("Ten minutes late"), max_length = 500)]
    pub note: Option<String>,
    /// The person who answers: the member, one of the member's guardians, or somebody of the team's staff.
    pub on_behalf_of: Option<PersonId>,
}

/// Which answers to list.
#[derive(Debug, Default)]
pub struct RsvpFilter {
    pub answer: Option<Answer>,
}

row! {
    /// What of a member matters here.
    struct Invited {
        team_id: TeamId,
        person_id: PersonId,
        status: String,
    }
}

/// One member's answer.
pub fn find(db: &Reader<'_>, reach: &Reach, event: EventId, member: MemberId) -> Result<Rsvp> {
    let team = event::find(db, reach, event)?.team_id;
    let found = maybe(db, event, member)?.ok_or_else(Error::not_found)?;
    within(db, reach, team, vec![found])?.pop().ok_or_else(Error::not_found)
}

/// Answers to an event of a team as a caller with this reach may see them: a family sees everybody's
/// answer, but notes of its own people only.
pub fn within(
    db: &Reader<'_>,
    reach: &Reach,
    team: TeamId,
    mut answers: Vec<Rsvp>,
) -> Result<Vec<Rsvp>> {
    if reach.opens(team) {
        return Ok(answers);
    }
    let (_, family) = reach.kin();
    let own: Vec<(MemberId,)> = db.all(
        "select id from member
         where account_id = :account and person_id in (:family) and team_id = :team",
        bind! { family, team },
    )?;
    for answer in &mut answers {
        if !own.contains(&(answer.member_id,)) {
            answer.note = None;
        }
    }
    Ok(answers)
}

fn maybe(db: &Reader<'_>, event: EventId, member: MemberId) -> Result<Option<Rsvp>> {
    let text = sql!(
        Rsvp::SELECT,
        " where account_id = :account and event_id = :event and member_id = :member"
    );
    Ok(db.maybe(text, bind! { event, member })?)
}

/// A page of an event's answers, in the order of the roster.
pub fn list(
    db: &Reader<'_>,
    event: EventId,
    filter: &RsvpFilter,
    page: &Page<MemberId>,
) -> Result<Vec<Rsvp>> {
    let (answer, limit) = (filter.answer, page.fetch());
    let after = page.after(MemberId::LEAST, MemberId::GREATEST);
    let text = match page.order {
        Order::Asc => sql!(Rsvp::SELECT, FILTER, ASCENDING),
        Order::Desc => sql!(Rsvp::SELECT, FILTER, DESCENDING),
    };
    Ok(db.all(text, bind! { event, answer, after, limit })?)
}

const FILTER: &str = " where account_id = :account and event_id = :event
    and (cast(:answer as text) is null or answer = :answer)";
const ASCENDING: &str = " and member_id > :after order by member_id limit :limit";
const DESCENDING: &str = " and member_id < :after order by member_id desc limit :limit";

/// Keeps a member's answer. Who says yes to a full event waits; who makes room lets the next one in.
pub fn answer(
    tx: &Tx<'_>,
    reach: &Reach,
    (event, member): (EventId, MemberId),
    expected: &Expected,
    new: NewAnswer,
) -> Result<Rsvp> {
    let event = event::find(tx, reach, event)?;
    let person = invited(tx, &event, member)?;
    reach.check_person(event.team_id, person)?;
    team::playing(tx, event.team_id)?;
    takes_answers(tx, &event)?;
    let by = answering(tx, &event, person, new.on_behalf_of)?;
    if *expected != Expected::Anything {
        let before = maybe(tx, event.id, member)?;
        expected.check(before.ok_or_else(Error::not_found))?;
    }
    settle(tx, event, member, new, &by)
}

/// Keeps an answer that may be given, whoever gives it, to an event as it is now.
pub fn settle(
    tx: &Tx<'_>,
    event: Event,
    member: MemberId,
    new: NewAnswer,
    by: &str,
) -> Result<Rsvp> {
    let before = maybe(tx, event.id, member)?;
    let was = before.as_ref().map(|before| before.answer);
    let answer = settled(&event, was, new.answer);
    if let Some(before) = &before
        && (before.answer, &before.note) == (answer, &new.note)
    {
        return Ok(before.clone());
    }
    let place = match (answer, was) {
        (Answer::Waiting, Some(Answer::Waiting)) => before.as_ref().and_then(|rsvp| rsvp.place),
        (Answer::Waiting, _) => Some(next_place(tx, event.id)?),
        _ => None,
    };
    let first = before.as_ref();
    let after = Rsvp {
        id: first.map_or_else(|| tx.new_id(), |rsvp| rsvp.id),
        account_id: tx.account(),
        event_id: event.id,
        member_id: member,
        answer,
        note: new.note,
        place,
        answered_by: by.to_owned(),
        answered_at: tx.now(),
        created_at: first.map_or(tx.now(), |rsvp| rsvp.created_at),
        updated_at: tx.now(),
        version: next_version(tx, event.id, member)?,
    };
    let event = keep(tx, event, before.as_ref(), &after)?;
    if was == Some(Answer::Yes) && answer != Answer::Yes {
        promote(tx, event)?;
    }
    Ok(after)
}

/// What becomes of a choice: yes is kept by whoever has a place, and waits where there is none.
fn settled(event: &Event, was: Option<Answer>, choice: Choice) -> Answer {
    match (choice, was) {
        (Choice::No, _) => Answer::No,
        (Choice::Maybe, _) => Answer::Maybe,
        (Choice::Yes, Some(Answer::Yes)) => Answer::Yes,
        (Choice::Yes, _) if event.capacity.is_some_and(|most| event.yes_count >= most) => {
            Answer::Waiting
        }
        (Choice::Yes, _) => Answer::Yes,
    }
}

/// The person behind a member who can be expected at the event.
fn invited(tx: &Tx<'_>, event: &Event, member: MemberId) -> Result<PersonId> {
    let invited: Invited = tx.one(
        "select team_id, person_id, status from member
         where account_id = :account and id = :member",
        bind! { member },
    )?;
    if invited.team_id != event.team_id {
        return Err(Error::not_found());
    }
    if !matches!(invited.status.as_str(), "active" | "injured") {
        let detail = format!("The member is {} and cannot answer.", invited.status);
        return Err(Error::invalid_state(detail));
    }
    Ok(invited.person_id)
}

fn takes_answers(tx: &Tx<'_>, event: &Event) -> Result<()> {
    let refused = if !event.asks_rsvp {
        "The event does not ask for answers."
    } else if event.status != Status::Scheduled {
        "Only a scheduled event takes answers."
    } else if event.rsvp_deadline.is_some_and(|deadline| tx.now() > deadline) {
        "The deadline for answers has passed."
    } else if tx.now() > event.ends_at {
        "The event is over."
    } else {
        return Ok(());
    };
    Err(Error::invalid_state(refused))
}

/// Who answers: somebody who may answer for the member, or the credential itself.
fn answering(tx: &Tx<'_>, event: &Event, person: PersonId, by: Option<PersonId>) -> Result<String> {
    let Some(by) = by else { return Ok(tx.actor().to_owned()) };
    let team = event.team_id;
    let (allowed,): (i64,) = tx.one(
        "select count(*) from person
         where account_id = :account and id = :by and (
             id = :person
             or exists (select 1 from guardianship g
                 where g.account_id = :account and g.person_id = :person and g.guardian_id = :by)
             or exists (select 1 from member m
                 where m.account_id = :account and m.person_id = :by and m.team_id = :team
                   and m.role <> 'player' and m.status in ('active', 'injured')))",
        bind! { by, person, team },
    )?;
    if allowed == 0 {
        let detail = "This must be the member, a guardian of the member, or staff of the team.";
        return Err(Error::invalid(vec![Fault::new("/on_behalf_of", "not_allowed", detail)]));
    }
    Ok(by.to_string())
}

fn next_place(tx: &Tx<'_>, event: EventId) -> Result<i64> {
    let (last,): (Option<i64>,) = tx.one(
        "select max(place) from rsvp where account_id = :account and event_id = :event",
        bind! { event },
    )?;
    Ok(last.unwrap_or(0) + 1)
}

/// The version of a member's next answer. It goes on where an answer that was taken back had ended, so
/// that no two answers share one.
fn next_version(tx: &Tx<'_>, event: EventId, member: MemberId) -> Result<i64> {
    let (last,): (Option<i64>,) = tx.one(
        "select max(position) from rsvp_change
         where account_id = :account and event_id = :event and member_id = :member",
        bind! { event, member },
    )?;
    Ok(last.unwrap_or(0) + 1)
}

/// Keeps an answer, its history and the event's counts, and tells it.
fn keep(tx: &Tx<'_>, event: Event, before: Option<&Rsvp>, after: &Rsvp) -> Result<Event> {
    let text = match before {
        None => Rsvp::INSERT,
        Some(_) => {
            "update rsvp set answer = :answer, note = :note, place = :place,
                 answered_by = :answered_by, answered_at = :answered_at, updated_at = :updated_at,
                 version = :version
             where account_id = :account and event_id = :event_id and member_id = :member_id"
        }
    };
    tx.later(text, &after.bind())?;
    remember(tx, after, Some(after.answer), &after.answered_by)?;
    let event = counted(tx, event, before.map(|rsvp| rsvp.answer), Some(after.answer))?;
    let was = before.map(|before| News::of(before, event.team_id));
    tx.tell_all("rsvp.answered", &[(was.as_ref(), &News::of(after, event.team_id))])?;
    Ok(event)
}

/// Adds an entry to the history of a member's answers.
fn remember(tx: &Tx<'_>, rsvp: &Rsvp, answer: Option<Answer>, by: &str) -> Result<()> {
    let (event, member, note) = (rsvp.event_id, rsvp.member_id, &rsvp.note);
    tx.later(
        "insert into rsvp_change
             (account_id, event_id, member_id, position, answer, note, answered_by, answered_at)
         values (:account, :event, :member,
             (select coalesce(max(position), 0) + 1 from rsvp_change
              where account_id = :account and event_id = :event and member_id = :member),
             :answer, :note, :by, :now)",
        bind! { event, member, answer, note, by },
    )?;
    Ok(())
}

/// The event with one answer less and one more.
fn counted(
    tx: &Tx<'_>,
    mut event: Event,
    less: Option<Answer>,
    more: Option<Answer>,
) -> Result<Event> {
    for (answer, step) in [(less, -1), (more, 1)] {
        match answer {
            Some(Answer::Yes) => event.yes_count += step,
            Some(Answer::No) => event.no_count += step,
            Some(Answer::Maybe) => event.maybe_count += step,
            Some(Answer::Waiting) => event.waiting_count += step,
            None => {}
        }
    }
    event.version += 1;
    event.updated_at = tx.now();
    tx.later(
        "update event set yes_count = :yes_count, no_count = :no_count,
             maybe_count = :maybe_count, waiting_count = :waiting_count,
             updated_at = :updated_at, version = :version
         where account_id = :account and id = :id",
        &event.bind(),
    )?;
    Ok(event)
}

/// Gives free places to those who wait, in the order they came.
pub fn promote(tx: &Tx<'_>, mut event: Event) -> Result<Event> {
    while event.waiting_count > 0 && event.capacity.is_none_or(|most| event.yes_count < most) {
        let next: Option<Rsvp> = tx.maybe(
            sql!(
                Rsvp::SELECT,
                " where account_id = :account and event_id = :event and place is not null
                  order by place limit 1"
            ),
            bind! { event: event.id },
        )?;
        let Some(before) = next else { break };
        let after = Rsvp {
            answer: Answer::Yes,
            place: None,
            updated_at: tx.now(),
            version: before.version + 1,
            ..before.clone()
        };
        event = keep(tx, event, Some(&before), &after)?;
    }
    Ok(event)
}

/// Takes back the answers of a member who has left: their places at coming events become free.
pub fn withdraw(tx: &Tx<'_>, member: MemberId) -> Result<()> {
    let coming: Vec<Event> = tx.all(
        sql!(
            Event::SELECT,
            " where account_id = :account and ends_at > :now and status in ('scheduled', 'postponed')
              and id in (select event_id from rsvp
                  where account_id = :account and member_id = :member)"
        ),
        bind! { member },
    )?;
    for event in coming {
        let Some(rsvp) = maybe(tx, event.id, member)? else { continue };
        tx.later(
            "delete from rsvp
             where account_id = :account and event_id = :event_id and member_id = :member_id",
            &rsvp.bind(),
        )?;
        let gone = Rsvp { note: None, version: rsvp.version + 1, ..rsvp.clone() };
        remember(tx, &gone, None, tx.actor())?;
        let event = counted(tx, event, Some(rsvp.answer), None)?;
        let was = News::of(&rsvp, event.team_id);
        let news = News { answer: None, updated_at: tx.now(), ..News::of(&gone, event.team_id) };
        tx.tell_change("rsvp.answered", &was, &news)?;
        promote(tx, event)?;
    }
    Ok(())
}

/// Does for an event that was over, and now is to come again, what was left undone since: whoever left
/// the team makes room, and whoever joined it is asked.
pub fn catch_up(tx: &Tx<'_>, event: &Event) -> Result<()> {
    let left: Vec<(MemberId,)> = tx.all(
        "select id from member
         where account_id = :account and status not in ('active', 'injured')
           and id in (select member_id from rsvp
               where account_id = :account and event_id = :event)",
        bind! { event: event.id },
    )?;
    left.into_iter().try_for_each(|(member,)| withdraw(tx, member))?;
    volunteers::let_go(tx, event.team_id)?;
    event::recount(tx, event.team_id)
}

/// Whether anybody has ever answered one of these events.
pub fn any_answered(db: &Reader<'_>, events: Vec<EventId>) -> Result<bool> {
    let found: Option<(i64,)> = db.maybe(
        "select 1 from rsvp_change where account_id = :account and event_id in (:events) limit 1",
        bind! { events },
    )?;
    Ok(found.is_some())
}
