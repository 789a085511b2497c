//! The away date record: days on which a person is away.

use std::time::Duration;

use macros::input;

use super::{AwayDateId, answers};
use crate::events::rsvp::BY_AWAY_DATE;
use crate::paging::page_sql;
use crate::prelude::*;
use crate::roster::person::{self, Person};
use crate::signals::Subject;

/// The maximum number of days.
pub const MAX_DAYS: i64 = 366;
/// How many days ahead away dates can begin.
const MAX_DAYS_AHEAD: i64 = 2 * 366;
/// The maximum number of away dates of a person that are not over.
const MAX_OPEN: usize = 50;
/// The greatest difference between a local time and UTC.
const MAX_OFFSET: Duration = Duration::from_secs(15 * 3600);

record! {
    /// Days on which a person is away.
    #[macros::object("away_date")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct AwayDate in away_date {
        pub id: AwayDateId,
        #[serde(skip)]
        pub account_id: AccountId,
        pub person_id: PersonId,
        /// The first day.
        #[schema(examples("2026-08-01"))]
        pub starts_on: Day,
        /// The last day.
        #[schema(examples("2026-08-14"))]
        pub ends_on: Day,
        /// Why the person is away. Not included in notifications, because it can contain health information.
        #[schema(examples("Family vacation"), max_length = 500)]
        pub note: Option<String>,
        #[serde(skip)]
        pub starts_at: Timestamp,
        #[serde(skip)]
        pub ends_at: Timestamp,
        /// ID of the user or key that added them.
        #[schema(examples("usr_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
        pub created_by: String,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Always 1: away dates are not changed.
        pub version: i64,
    }
}

impl_resource!(AwayDate by AwayDateId: Versioned Paged);

impl AwayDate {
    /// Whether one of these days is an away date.
    pub fn covers(&self, (first, last): (Day, Day)) -> bool {
        self.starts_on <= last && self.ends_on >= first
    }
}

/// Away dates in a notification. They have no note, because it can contain health information.
#[macros::object("away_date")]
#[derive(Debug, Serialize, ToSchema)]
pub struct AwayDateSnapshot {
    pub id: AwayDateId,
    pub person_id: PersonId,
    /// The first day.
    pub starts_on: Day,
    /// The last day.
    pub ends_on: Day,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: i64,
}

impl From<&AwayDate> for AwayDateSnapshot {
    fn from(away: &AwayDate) -> Self {
        copy_fields! {
            Self { ..&away { id, person_id, starts_on, ends_on, created_at, updated_at, version } }
        }
    }
}

impl Subject for AwayDateSnapshot {
    fn subject(&self) -> String {
        self.id.to_string()
    }
}

/// New away dates.
#[input(as = CreateAwayDateRequest, faults(if_rejected))]
pub struct NewAwayDate {
    /// The first day.
    #[input(placeholder = Zone::utc().day(Timestamp::from_micros(0)))]
    pub starts_on: Day,
    /// The last day. At most 366 days.
    #[input(placeholder = Zone::utc().day(Timestamp::from_micros(0)))]
    pub ends_on: Day,
    /// Why the person is away. Coaches of the person's teams can read it.
    #[schema(examples("Family vacation"))]
    #[input(block(500))]
    pub note: Option<String>,
}

impl NewAwayDate {
    /// The faults that can be found without the database.
    fn faults(&self) -> Vec<Fault> {
        let fault = |code, detail| vec![Fault::new("/ends_on", code, detail)];
        let placeholder = Zone::utc().day(Timestamp::from_micros(0));
        if [self.starts_on, self.ends_on].contains(&placeholder) {
            // A day that could not be read has a fault already.
            Vec::new()
        } else if self.ends_on < self.starts_on {
            fault("before_start", "The last day must not be before the first day.")
        } else if self.starts_on.plus_days(MAX_DAYS).is_some_and(|limit| self.ends_on >= limit) {
            fault("too_long", "Away dates can have at most 366 days.")
        } else {
            Vec::new()
        }
    }
}

/// A person whose away dates the caller may see and change: the caller, somebody they are a guardian of, or a member of
/// a team to which they have full access.
pub fn find_person(db: &Reader<'_>, access: &TeamAccess, id: PersonId) -> Result<Person> {
    let person = person::find_visible(db, access, id)?;
    let teams = match access {
        TeamAccess::AllTeams => return Ok(person),
        _ if access.is_family(id) => return Ok(person),
        TeamAccess::Teams(teams) => teams,
        TeamAccess::User(place) => &place.managed_team_ids,
    };
    let is_member = db.exists(
        "select 1 from member
         where account_id = :account and team_id in (:teams) and status <> 'removed' and id in (
             select id from member where account_id = :account and person_id = :id)
         limit 1",
        bind! { id, teams },
    )?;
    Error::forbidden().fail_if(!is_member).map(|()| person)
}

/// A page of a person's away dates, in order of creation.
pub fn list(
    db: &Reader<'_>,
    access: &TeamAccess,
    person: PersonId,
    page: &Page<AwayDateId>,
) -> Result<Vec<AwayDate>> {
    find_person(db, access, person)?;
    let (after, limit) = page.bounds();
    Ok(db.all(page_sql!(page, AwayDate::SELECT, OF_PERSON), bind! { person, after, limit })?)
}

const OF_PERSON: &str = " where account_id = :account and person_id = :person";

/// The away dates of a person that are not over, in order.
pub fn open_of(db: &Reader<'_>, person: PersonId) -> Result<Vec<AwayDate>> {
    let text = sql!(AwayDate::SELECT, OF_PERSON, " and ends_at > :now order by starts_on, id");
    Ok(db.all(text, bind! { person })?)
}

/// Adds away dates of a person, and answers the events on these days. `expected` is about the person.
pub fn create(
    tx: &Tx<'_>,
    access: &TeamAccess,
    person_id: PersonId,
    expected: &IfMatch,
    new: NewAwayDate,
) -> Result<AwayDate> {
    let person = expected.check(find_person(tx, access, person_id))?;
    Error::invalid_state("The person is erased.").fail_if(person.erased_at.is_some())?;
    let mut violations = Violations::default();
    violations.invalid_fields(new.faults());
    // It may still be yesterday in the time zone of the person.
    let today = person::today(tx.now().minus(MAX_OFFSET));
    if new.ends_on < today {
        violations.invalid("/ends_on", "in_the_past", "The last day must not be in the past.");
    }
    if today.plus_days(MAX_DAYS_AHEAD).is_some_and(|limit| new.starts_on > limit) {
        let detail = "The first day must be at most two years ahead.";
        violations.invalid("/starts_on", "too_far", detail);
    }
    violations.finish()?;
    let detail = "The person already has 50 away dates. Delete some of them first.";
    Error::invalid_state(detail).fail_if(open_of(tx, person_id)?.len() >= MAX_OPEN)?;
    let after_last = new.ends_on.plus_days(1).unwrap_or(new.ends_on);
    let away = copy_fields! {
        AwayDate {
            id: tx.new_id(),
            account_id: tx.account(),
            person_id,
            starts_at: new.starts_on.start().minus(MAX_OFFSET),
            ends_at: after_last.start().plus(MAX_OFFSET),
            created_by: tx.actor().to_owned(),
            created_at: tx.now(),
            updated_at: tx.now(),
            version: 1,
            ..new { starts_on, ends_on, note }
        }
    };
    tx.execute(AwayDate::INSERT, &away.bind())?;
    tx.publish("away_date.created", &AwayDateSnapshot::from(&away))?;
    answers::sync_person(tx, person_id, (away.starts_at, away.ends_at))?;
    Ok(away)
}

/// Deletes away dates of a person. The answers that they have set are withdrawn.
pub fn delete(
    tx: &Tx<'_>,
    access: &TeamAccess,
    (person, id): (PersonId, AwayDateId),
    expected: &IfMatch,
) -> Result<AwayDate> {
    find_person(tx, access, person)?;
    let away = expected.check(find(tx, person, id))?;
    tx.execute(
        "delete from away_date where account_id = :account and person_id = :person and id = :id",
        bind! { person, id },
    )?;
    tx.publish("away_date.deleted", &AwayDateSnapshot::from(&away))?;
    answers::sync_person(tx, person, (away.starts_at, away.ends_at))?;
    Ok(away)
}

/// Away dates of this person.
fn find(db: &Reader<'_>, person: PersonId, id: AwayDateId) -> Result<AwayDate> {
    let text = sql!(AwayDate::SELECT, OF_PERSON, " and id = :id");
    Ok(db.one(text, bind! { person, id })?)
}

/// The number of coming events that are answered because the person is away.
pub fn count_answered(db: &Reader<'_>, person: PersonId) -> Result<i64> {
    let (count,): (i64,) = db.one(
        "select count(*) as number from rsvp own
         join rsvp r on r.account_id = own.account_id and r.event_id = own.event_id
             and r.member_id = own.member_id
         join event e on e.account_id = r.account_id and e.id = r.event_id
         where own.account_id = :account and r.answered_by = :away and e.ends_at > :now
           and own.member_id in (
             select id from member where account_id = :account and person_id = :person)",
        bind! { person, away: BY_AWAY_DATE },
    )?;
    Ok(count)
}
