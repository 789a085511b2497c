//! The attendance sheet of an event: one entry per member.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kit::string_enum;
use macros::input;

use crate::events::event::{self, Event, EventView, Status as EventStatus};
use crate::prelude::*;
use crate::signals::Subject;
use crate::teams::team;

/// How long before the start of an event its attendance can be recorded.
const EARLIEST: Duration = Duration::from_secs(24 * 3600);

string_enum! {
    /// Whether a member was at an event.
    #[derive(PartialOrd, Ord)]
    pub enum Status as AttendanceStatus {
        /// The member was there on time.
        Present = "present",
        /// The member was there, but came late.
        Late = "late",
        /// The member was not there and had said so, or had a good reason.
        Excused = "excused",
        /// The member was not there.
        Absent = "absent",
    }
}
enum_column!(Status);

record! {
    /// The attendance of one member at one event.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct AttendanceRecord in attendance {
        pub account_id: AccountId,
        pub event_id: EventId,
        pub member_id: MemberId,
        pub status: Status,
        pub note: Option<String>,
        pub recorded_by: String,
        pub recorded_at: Timestamp,
        pub version: i64,
    }
}

/// An entry of an attendance sheet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = AttendanceEntry)]
pub struct Entry {
    pub member_id: MemberId,
    /// Whether the member was at the event: `present`, `late`, `excused` or `absent`.
    pub status: Status,
    /// Note of the coach. Not included in notifications, because it can contain health information.
    #[schema(max_length = 500)]
    pub note: Option<String>,
    /// ID of the user or key that recorded the entry.
    #[schema(examples("usr_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub recorded_by: String,
    /// When the entry was recorded or last changed.
    pub recorded_at: Timestamp,
}

/// The attendance of an event.
#[macros::object("attendance")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Attendance)]
pub struct Sheet {
    pub event_id: EventId,
    /// The team of the event.
    pub team_id: TeamId,
    /// The members whose attendance is recorded, in roster order. Empty until it is recorded.
    pub entries: Vec<Entry>,
    /// Increases with every change. 1 until attendance is recorded.
    pub version: i64,
}

impl Versioned for Sheet {
    fn version(&self) -> i64 {
        self.version
    }
}

/// An entry in a notification, without the note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct AttendanceSnapshotEntry {
    pub member_id: MemberId,
    /// Whether the member was at the event.
    pub status: Status,
    /// ID of the user or key that recorded the entry.
    pub recorded_by: String,
    /// When the entry was recorded or last changed.
    pub recorded_at: Timestamp,
}

/// The attendance of an event in a notification. It has no notes, because they can contain health information.
#[macros::object("attendance")]
#[derive(Debug, Serialize, ToSchema)]
pub struct AttendanceSnapshot {
    pub event_id: EventId,
    /// The team of the event.
    pub team_id: TeamId,
    /// The members whose attendance is recorded, in roster order.
    pub entries: Vec<AttendanceSnapshotEntry>,
    /// Increases with every change.
    pub version: i64,
}

impl Subject for AttendanceSnapshot {
    fn subject(&self) -> String {
        self.event_id.to_string()
    }
}

impl From<&Sheet> for AttendanceSnapshot {
    fn from(sheet: &Sheet) -> Self {
        let entry = |entry: &Entry| {
            copy_fields! {
                AttendanceSnapshotEntry { ..&entry { member_id, status, recorded_by, recorded_at } }
            }
        };
        let entries = sheet.entries.iter().map(entry).collect();
        copy_fields! { Self { entries, ..&sheet { event_id, team_id, version } } }
    }
}

/// The attendance of one member.
#[input(as = AttendanceEntryInput)]
#[derive(Clone)]
pub struct NewEntry {
    pub member_id: MemberId,
    /// Whether the member was at the event.
    pub status: Status,
    /// Note of the coach.
    #[schema(examples("Left early, sore knee"))]
    #[input(block(500))]
    pub note: Option<String>,
}

/// The attendance of some members. Members who are left out stay unchanged.
#[input(as = RecordAttendanceRequest)]
pub struct NewEntries {
    /// The members whose attendance is recorded.
    #[input(objects(500))]
    pub entries: Vec<NewEntry>,
}

/// Whether the attendance of an event can be recorded at this time.
pub fn can_record(event: &Event, now: Timestamp) -> Result<()> {
    let detail = match event.status {
        EventStatus::Cancelled => "The event is cancelled, so it has no attendance.",
        EventStatus::Postponed => "The event is postponed. Set its new time first.",
        _ if now < event.starts_at.minus(EARLIEST) => {
            "Attendance can be recorded from 24 hours before the start of the event."
        }
        _ => return Ok(()),
    };
    Err(Error::invalid_state(detail))
}

/// The events of these teams that have begun since this time and have no attendance yet, the latest first.
pub fn list_missing(
    db: &Reader<'_>,
    teams: Vec<TeamId>,
    since: Timestamp,
    limit: i64,
) -> Result<Vec<EventView>> {
    if teams.is_empty() {
        return Ok(Vec::new());
    }
    let text = sql!(
        Event::SELECT,
        " where account_id = :account and team_id in (:teams) and starts_at > :since
            and starts_at <= :now and status in ('scheduled', 'completed')
            and not exists (select 1 from attendance
                where attendance.account_id = :account and attendance.event_id = event.id)
          order by starts_at desc, id desc limit :limit"
    );
    event::views(db, db.all(text, bind! { teams, since, limit })?)
}

/// The attendance of an event. Families see the entries of their own members.
pub fn find(db: &Reader<'_>, access: &TeamAccess, id: EventId) -> Result<Sheet> {
    let event = event::find(db, access, id)?;
    let mut sheet = of_event(db, &event)?;
    if !access.has_full_access(event.team_id) {
        let (_, family) = access.own_and_family_ids();
        let own: BTreeSet<MemberId> = db.ids(
            "select id from member
             where account_id = :account and person_id in (:family) and team_id = :team",
            bind! { family, team: event.team_id },
        )?;
        sheet.entries.retain(|entry| own.contains(&entry.member_id));
    }
    Ok(sheet)
}

/// The attendance of an event with all entries.
pub fn of_event(db: &Reader<'_>, event: &Event) -> Result<Sheet> {
    let records: Vec<AttendanceRecord> = db.all(
        sql!(
            AttendanceRecord::SELECT,
            " where account_id = :account and event_id = :event order by member_id"
        ),
        bind! { event: event.id },
    )?;
    // The sum increases with every change: versions only increase, and the version of an entry that is deleted with its
    // member is added to another one.
    let version = 1 + records.iter().map(|record| record.version).sum::<i64>();
    let entry = |record: AttendanceRecord| {
        copy_fields! { Entry { ..record { member_id, status, note, recorded_by, recorded_at } } }
    };
    let entries = records.into_iter().map(entry).collect();
    Ok(Sheet { event_id: event.id, team_id: event.team_id, entries, version })
}

/// Records the attendance of some members. Members who are left out stay unchanged.
pub fn record(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: EventId,
    expected: &IfMatch,
    new: NewEntries,
) -> Result<Sheet> {
    let event = event::find(tx, access, id)?;
    let before = expected.check(of_event(tx, &event))?;
    team::find_active(tx, event.team_id)?;
    can_record(&event, tx.now())?;
    check_members(tx, &event, &before, &new.entries)?;
    let known: BTreeMap<_, _> =
        before.entries.iter().map(|entry| (entry.member_id, entry)).collect();
    let mut changed = false;
    for entry in new.entries {
        let old = known.get(&entry.member_id);
        if old.is_some_and(|old| (old.status, &old.note) == (entry.status, &entry.note)) {
            continue;
        }
        changed = true;
        save(tx, id, entry)?;
    }
    if !changed {
        return Ok(before);
    }
    let after = of_event(tx, &event)?;
    tx.publish_change(
        "attendance.recorded",
        &AttendanceSnapshot::from(&before),
        &AttendanceSnapshot::from(&after),
    )?;
    Ok(after)
}

fn save(
    tx: &Tx<'_>,
    event_id: EventId,
    NewEntry { member_id, status, note }: NewEntry,
) -> Result<()> {
    let record = AttendanceRecord {
        account_id: tx.account(),
        event_id,
        member_id,
        status,
        note,
        recorded_by: tx.actor().to_owned(),
        recorded_at: tx.now(),
        version: 1,
    };
    let text = sql!(
        AttendanceRecord::INSERT,
        " on conflict (account_id, event_id, member_id) do update set
             status = excluded.status, note = excluded.note, recorded_by = excluded.recorded_by,
             recorded_at = excluded.recorded_at, version = attendance.version + 1"
    );
    tx.execute(text, &record.bind())?;
    Ok(())
}

/// Checks that all entries are about different members of the event's team. Former members are accepted if they were on
/// the team at the time of the event.
fn check_members(db: &Reader<'_>, event: &Event, before: &Sheet, new: &[NewEntry]) -> Result<()> {
    let ids: Vec<_> = new.iter().map(|entry| entry.member_id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let day = event.timezone.day(event.starts_at).to_string();
    let known: BTreeSet<MemberId> = db.ids(
        "select id from member
         where account_id = :account and id in (:ids) and team_id = :team
           and (status <> 'removed' or left_on >= :day)",
        bind! { ids, team: event.team_id, day },
    )?;
    let mut violations = Violations::default();
    let mut seen = BTreeSet::new();
    for (index, entry) in new.iter().enumerate() {
        let pointer = format!("/entries/{index}/member_id");
        let recorded = before.entries.iter().any(|old| old.member_id == entry.member_id);
        if !known.contains(&entry.member_id) && !recorded {
            let detail = "This person was not on the team of the event.";
            violations.invalid(&pointer, "not_on_team", detail);
        } else if !seen.insert(entry.member_id) {
            let detail = "There is more than one entry for this member.";
            violations.invalid(&pointer, "duplicate", detail);
        }
    }
    violations.finish()
}

/// Fails if attendance was recorded for one of these events, because it would be lost.
pub(super) fn check_deletable(db: &Reader<'_>, events: Vec<EventId>) -> Result<()> {
    let recorded = db.exists(
        "select 1 from attendance where account_id = :account and event_id in (:events) limit 1",
        bind! { events },
    )?;
    Error::invalid_state(
        "The attendance of the event was recorded. Cancel it instead of deleting it.",
    )
    .fail_if(recorded)
}
