//! RSVPs: answers, the waiting list, and the history of answers.

use kit::string_enum;
use macros::{input, query};

use super::event::{self, Event, Status};
use super::rsvp_redaction;
use super::rsvp_snapshot::RsvpSnapshot;
use super::volunteers;
use crate::paging::page_sql;
use crate::prelude::*;
use crate::roster::membership::MemberStatus;
use crate::teams::team;

/// The `answered_by` of answers that were set because the member is away. Such an answer is withdrawn when they are no
/// longer away.
pub const BY_AWAY_DATE: &str = "away_date";

string_enum! {
    /// What a member can answer.
    pub enum Choice as RsvpChoice {
        Yes = "yes",
        No = "no",
        Maybe = "maybe",
    }
}

string_enum! {
    /// The stored answer of an RSVP.
    pub enum Answer as RsvpAnswer {
        Yes = "yes",
        No = "no",
        Maybe = "maybe",
        /// The member answered yes, but the event is full. Becomes `yes` in order when places become free.
        Waitlisted = "waitlisted",
    }
}
enum_column!(Answer);

record! {
    /// A member's RSVP to an event.
    #[macros::object("rsvp")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct Rsvp in rsvp {
        pub id: RsvpId,
        #[serde(skip)]
        pub account_id: AccountId,
        pub event_id: EventId,
        pub member_id: MemberId,
        /// Answer of the member: `yes`, `no`, `maybe`, or `waitlisted` (a yes to a full event; becomes `yes`, in order,
        /// when places become free).
        pub answer: Answer,
        /// Note of the member. Not included in notifications, because it can contain health information.
        #[schema(max_length = 500)]
        pub note: Option<String>,
        #[serde(skip)]
        pub place: Option<i64>,
        /// ID of the person in `on_behalf_of`, or of the user or key that answered; `away_date` if the member is away on that
        /// day. Instead of `away_date`, other families see the ID of the member's person.
        #[schema(examples("per_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
        pub answered_by: String,
        /// When the answer was given.
        pub answered_at: Timestamp,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Increases with every change.
        pub version: i64,
    }
}

impl_resource!(Rsvp by RsvpId: Versioned);
paged_by!(Rsvp, member_id: MemberId);

/// An answer to an event.
#[input(as = AnswerRsvpRequest)]
pub struct NewAnswer {
    /// The answer of the member.
    pub answer: Choice,
    /// Note of the member, shown to coaches.
    #[schema(examples("Ten minutes late"))]
    #[input(block(500))]
    pub note: Option<String>,
    /// The person who answers: the member, one of their guardians, or a staff member of the team.
    pub on_behalf_of: Option<PersonId>,
}

/// Filters for listing RSVPs.
#[query(items = "RSVPs")]
#[derive(Default)]
pub struct RsvpFilter {
    /// Filter by answer.
    pub answer: Option<Answer>,
}

/// The RSVP of one member.
pub fn find(
    db: &Reader<'_>,
    access: &TeamAccess,
    event: EventId,
    member: MemberId,
) -> Result<Rsvp> {
    let team = event::find(db, access, event)?.team_id;
    let rsvp = find_optional(db, event, member)?.ok_or_else(Error::not_found)?;
    rsvp_redaction::redact(db, access, team, vec![rsvp])?.pop().ok_or_else(Error::not_found)
}

/// The RSVP of a member, if they have answered.
pub fn find_optional(db: &Reader<'_>, event: EventId, member: MemberId) -> Result<Option<Rsvp>> {
    let text = sql!(
        Rsvp::SELECT,
        " where account_id = :account and event_id = :event and member_id = :member"
    );
    Ok(db.optional(text, bind! { event, member })?)
}

/// The RSVPs of these members to an event.
pub(super) fn find_of_members(
    db: &Reader<'_>,
    event: EventId,
    members: Vec<MemberId>,
) -> Result<Vec<Rsvp>> {
    let text = sql!(
        Rsvp::SELECT,
        " where account_id = :account and event_id = :event and member_id in (:members)"
    );
    Ok(db.all(text, bind! { event, members })?)
}

/// A page of an event's RSVPs, in roster order.
pub fn list(
    db: &Reader<'_>,
    event: EventId,
    filter: &RsvpFilter,
    page: &Page<MemberId>,
) -> Result<Vec<Rsvp>> {
    let (answer, limit) = (filter.answer, page.fetch_limit());
    let after = page.after(MemberId::MIN, MemberId::MAX);
    let text = page_sql!(page, by "member_id", Rsvp::SELECT, FILTER);
    Ok(db.all(text, bind! { event, answer, after, limit })?)
}

const FILTER: &str = " where account_id = :account and event_id = :event
    and (cast(:answer as text) is null or answer = :answer)";

/// Records a member's answer. A yes to a full event goes on the waiting list. If a place becomes free, the next member
/// on the waiting list is promoted.
pub fn answer(
    tx: &Tx<'_>,
    access: &TeamAccess,
    (event, member): (EventId, MemberId),
    expected: &IfMatch,
    new: NewAnswer,
) -> Result<Rsvp> {
    let event = event::find(tx, access, event)?;
    let person = find_invited_person(tx, &event, member)?;
    access.check_person(event.team_id, person)?;
    team::find_active(tx, event.team_id)?;
    check_accepts_answers(&event, tx.now())?;
    let answered_by = resolve_answered_by(tx, &event, person, new.on_behalf_of)?;
    if *expected != IfMatch::Absent {
        let before = find_optional(tx, event.id, member)?;
        expected.check(before.ok_or_else(Error::not_found))?;
    }
    record_answer(tx, event, member, new, &answered_by)
}

/// Records an answer without permission checks. `event` must be the current state of the event.
pub fn record_answer(
    tx: &Tx<'_>,
    event: Event,
    member: MemberId,
    new: NewAnswer,
    by: &str,
) -> Result<Rsvp> {
    let before = find_optional(tx, event.id, member)?;
    let previous_answer = before.as_ref().map(|before| before.answer);
    let answer = resolve_answer(&event, previous_answer, new.answer);
    // A person may confirm the answer that an away date has set. It is then recorded as theirs, and they can undo that.
    let takes_over = |before: &Rsvp| (before.answered_by == BY_AWAY_DATE) != (by == BY_AWAY_DATE);
    if let Some(before) = &before
        && (before.answer, &before.note) == (answer, &new.note)
        && !takes_over(before)
    {
        return Ok(before.clone());
    }
    let position = match (answer, previous_answer) {
        (Answer::Waitlisted, Some(Answer::Waitlisted)) => {
            before.as_ref().and_then(|rsvp| rsvp.place)
        }
        (Answer::Waitlisted, _) => Some(next_waitlist_position(tx, event.id)?),
        _ => None,
    };
    let previous = before.as_ref();
    let after = Rsvp {
        id: previous.map_or_else(|| tx.new_id(), |rsvp| rsvp.id),
        account_id: tx.account(),
        event_id: event.id,
        member_id: member,
        answer,
        note: new.note,
        place: position,
        answered_by: by.to_owned(),
        answered_at: tx.now(),
        created_at: previous.map_or(tx.now(), |rsvp| rsvp.created_at),
        updated_at: tx.now(),
        version: next_version(tx, event.id, member)?,
    };
    let event = store_answer(tx, event, before.as_ref(), &after)?;
    if previous_answer == Some(Answer::Yes) && answer != Answer::Yes {
        promote_waitlisted(tx, event)?;
    }
    Ok(after)
}

/// The stored answer for a choice: yes becomes `Waitlisted` if the event is full and the member has no place yet.
fn resolve_answer(event: &Event, previous: Option<Answer>, choice: Choice) -> Answer {
    match (choice, previous) {
        (Choice::No, _) => Answer::No,
        (Choice::Maybe, _) => Answer::Maybe,
        (Choice::Yes, Some(Answer::Yes)) => Answer::Yes,
        (Choice::Yes, _) if event.capacity.is_some_and(|max| event.yes_count >= max) => {
            Answer::Waitlisted
        }
        (Choice::Yes, _) => Answer::Yes,
    }
}

/// The person of a member, if the member is invited to the event.
pub(super) fn find_invited_person(
    tx: &Tx<'_>,
    event: &Event,
    member: MemberId,
) -> Result<PersonId> {
    let (team, person, status): (TeamId, PersonId, MemberStatus) = tx.one(
        "select team_id, person_id, status from member
         where account_id = :account and id = :member",
        bind! { member },
    )?;
    Error::not_found().fail_if(team != event.team_id)?;
    let detail = match status {
        MemberStatus::Active | MemberStatus::Injured => return Ok(person),
        MemberStatus::Inactive => "This person is inactive on the team, so no answer is needed.",
        MemberStatus::Removed => "This person has left the team, so no answer is needed.",
    };
    Err(Error::invalid_state(detail))
}

/// Why an event accepts no RSVPs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosedReason {
    /// Members are not asked for an RSVP.
    TurnedOff,
    /// The event is cancelled, postponed or completed.
    NotScheduled(Status),
    DeadlinePassed,
    Over,
}

/// Why an event accepts no RSVPs at present. `None` if it accepts them.
pub fn closed_reason(event: &Event, now: Timestamp) -> Option<ClosedReason> {
    if !event.rsvp_enabled {
        Some(ClosedReason::TurnedOff)
    } else if event.status != Status::Scheduled {
        Some(ClosedReason::NotScheduled(event.status))
    } else if event.rsvp_deadline.is_some_and(|deadline| now > deadline) {
        Some(ClosedReason::DeadlinePassed)
    } else if now > event.ends_at {
        Some(ClosedReason::Over)
    } else {
        None
    }
}

/// Fails if an event takes no answers at this time.
pub fn check_accepts_answers(event: &Event, now: Timestamp) -> Result<()> {
    let Some(closed) = closed_reason(event, now) else { return Ok(()) };
    let detail = match closed {
        ClosedReason::TurnedOff => "RSVPs are turned off for this event.",
        ClosedReason::NotScheduled(_) => {
            "The event is cancelled, postponed or completed, so it does not accept RSVPs."
        }
        ClosedReason::DeadlinePassed => "The RSVP deadline has passed.",
        ClosedReason::Over => "The event is over.",
    };
    Err(Error::invalid_state(detail))
}

/// Who answers: the person in `on_behalf_of` if they may answer for the member, else the caller.
fn resolve_answered_by(
    tx: &Tx<'_>,
    event: &Event,
    person: PersonId,
    by: Option<PersonId>,
) -> Result<String> {
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
        let detail = "`on_behalf_of` must be the member, a guardian of the member, or a coach, manager or staff member of the team.";
        return Err(Error::invalid(vec![Fault::new("/on_behalf_of", "not_allowed", detail)]));
    }
    Ok(by.to_string())
}

fn next_waitlist_position(tx: &Tx<'_>, event: EventId) -> Result<i64> {
    let (last,): (Option<i64>,) = tx.one(
        "select max(place) from rsvp where account_id = :account and event_id = :event",
        bind! { event },
    )?;
    Ok(last.unwrap_or(0) + 1)
}

/// The version of a member's next answer. It continues after a withdrawn answer, so that versions are never reused.
fn next_version(tx: &Tx<'_>, event: EventId, member: MemberId) -> Result<i64> {
    let (last,): (Option<i64>,) = tx.one(
        "select max(position) from rsvp_change
         where account_id = :account and event_id = :event and member_id = :member",
        bind! { event, member },
    )?;
    Ok(last.unwrap_or(0) + 1)
}

/// Stores an answer, its history entry and the event's counts, and publishes it.
fn store_answer(tx: &Tx<'_>, event: Event, before: Option<&Rsvp>, after: &Rsvp) -> Result<Event> {
    let text = match before {
        None => Rsvp::INSERT,
        Some(_) => {
            "update rsvp set answer = :answer, note = :note, place = :place,
                 answered_by = :answered_by, answered_at = :answered_at, updated_at = :updated_at,
                 version = :version
             where account_id = :account and event_id = :event_id and member_id = :member_id"
        }
    };
    tx.execute_deferred(text, &after.bind())?;
    add_history_entry(tx, after, Some(after.answer), &after.answered_by)?;
    let event = update_counts(tx, event, before.map(|rsvp| rsvp.answer), Some(after.answer))?;
    let previous = before.map(|before| RsvpSnapshot::new(before, event.team_id));
    let snapshot = RsvpSnapshot::new(after, event.team_id);
    tx.publish_all("rsvp.answered", &[(previous.as_ref(), &snapshot)])?;
    Ok(event)
}

/// Adds an entry to the history of a member's answers.
pub fn add_history_entry(tx: &Tx<'_>, rsvp: &Rsvp, answer: Option<Answer>, by: &str) -> Result<()> {
    let (event, member, note) = (rsvp.event_id, rsvp.member_id, &rsvp.note);
    tx.execute_deferred(
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

/// Updates the event's counts after one answer was replaced by another.
fn update_counts(
    tx: &Tx<'_>,
    mut event: Event,
    removed: Option<Answer>,
    added: Option<Answer>,
) -> Result<Event> {
    for (answer, step) in [(removed, -1), (added, 1)] {
        match answer {
            Some(Answer::Yes) => event.yes_count += step,
            Some(Answer::No) => event.no_count += step,
            Some(Answer::Maybe) => event.maybe_count += step,
            Some(Answer::Waitlisted) => event.waitlisted_count += step,
            None => {}
        }
    }
    event.version += 1;
    event.updated_at = tx.now();
    tx.execute_deferred(
        "update event set yes_count = :yes_count, no_count = :no_count,
             maybe_count = :maybe_count, waitlisted_count = :waitlisted_count,
             updated_at = :updated_at, version = :version
         where account_id = :account and id = :id",
        &event.bind(),
    )?;
    Ok(event)
}

/// Updates the event's counts after an answer was removed. If a place became free, the next member gets it.
pub(super) fn remove_from_counts(tx: &Tx<'_>, event: Event, removed: Answer) -> Result<()> {
    let event = update_counts(tx, event, Some(removed), None)?;
    promote_waitlisted(tx, event).map(drop)
}

/// Promotes members from the waiting list to free places, in order.
pub fn promote_waitlisted(tx: &Tx<'_>, mut event: Event) -> Result<Event> {
    while event.waitlisted_count > 0 && event.capacity.is_none_or(|max| event.yes_count < max) {
        let next: Option<Rsvp> = tx.optional(
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
        event = store_answer(tx, event, Some(&before), &after)?;
    }
    Ok(event)
}

/// Withdraws the answers of a member who has left the team: their places at upcoming events become free.
pub fn withdraw(tx: &Tx<'_>, member: MemberId) -> Result<()> {
    let upcoming: Vec<Event> = tx.all(
        sql!(
            Event::SELECT,
            " where account_id = :account and ends_at > :now and status in ('scheduled', 'postponed')
              and id in (select event_id from rsvp
                  where account_id = :account and member_id = :member)"
        ),
        bind! { member },
    )?;
    for event in upcoming {
        let Some(rsvp) = find_optional(tx, event.id, member)? else { continue };
        withdraw_answer(tx, event, &rsvp, tx.actor())?;
    }
    Ok(())
}

/// Withdraws an answer. `event` must be the current state of the event.
pub fn withdraw_answer(tx: &Tx<'_>, event: Event, rsvp: &Rsvp, by: &str) -> Result<()> {
    tx.execute_deferred(
        "delete from rsvp
         where account_id = :account and event_id = :event_id and member_id = :member_id",
        &rsvp.bind(),
    )?;
    let withdrawn = Rsvp { note: None, version: rsvp.version + 1, ..rsvp.clone() };
    add_history_entry(tx, &withdrawn, None, by)?;
    let event = update_counts(tx, event, Some(rsvp.answer), None)?;
    let previous = RsvpSnapshot::new(rsvp, event.team_id);
    let snapshot = RsvpSnapshot {
        answer: None,
        updated_at: tx.now(),
        ..RsvpSnapshot::new(&withdrawn, event.team_id)
    };
    tx.publish_change("rsvp.answered", &previous, &snapshot)?;
    promote_waitlisted(tx, event).map(drop)
}

/// Applies roster changes to an event that was over and has been moved to the future: answers and duties of people who
/// left the team are removed, and members who joined are invited.
pub fn sync_with_roster(tx: &Tx<'_>, event: &Event) -> Result<()> {
    let former_members: Vec<MemberId> = tx.ids(
        "select id from member
         where account_id = :account and status not in ('active', 'injured')
           and id in (select member_id from rsvp
               where account_id = :account and event_id = :event)",
        bind! { event: event.id },
    )?;
    former_members.into_iter().try_for_each(|member| withdraw(tx, member))?;
    volunteers::release_former_members(tx, event.team_id)?;
    event::update_roster_count(tx, event.team_id)
}
