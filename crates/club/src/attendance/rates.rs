//! How often the members of a team were at its events.

use std::collections::BTreeMap;

use macros::query;

use super::sheet::Status;
use crate::i18n::{Locale, format};
use crate::paging::page_sql;
use crate::prelude::*;
use crate::roster::attendance_summary::AttendanceSummary;
use crate::teams::team;

/// The attendance of a member over several events.
#[macros::object("member_attendance")]
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct MemberAttendance {
    pub member_id: MemberId,
    /// Number of events where the member was present on time.
    #[schema(examples(14))]
    pub present: i64,
    /// Number of events where the member was late.
    #[schema(examples(2))]
    pub late: i64,
    /// Number of events where the member was excused.
    #[schema(examples(3))]
    pub excused: i64,
    /// Number of events where the member was absent without an excuse.
    #[schema(examples(1))]
    pub absent: i64,
    /// Share of these events where the member was there, on time or late, from 0 to 1; `null` if there are none.
    #[schema(examples(0.8))]
    pub rate: Option<f64>,
}

paged_by!(MemberAttendance, member_id: MemberId);

impl MemberAttendance {
    fn new(member_id: MemberId, counts: &BTreeMap<Status, i64>) -> Self {
        let count = |status: Status| counts.get(&status).copied().unwrap_or_default();
        let (present, late) = (count(Status::Present), count(Status::Late));
        let (excused, absent) = (count(Status::Excused), count(Status::Absent));
        let rate = percent(present + late, present + late + excused + absent);
        // Four decimals, which is the precision of `percent`.
        let rate = rate.map(|points| f64::from(points) / 10_000.0);
        Self { member_id, present, late, excused, absent, rate }
    }

    /// Number of events with a record.
    pub fn total(&self) -> i64 {
        self.present + self.late + self.excused + self.absent
    }
}

/// A share in basis points; `None` if the whole is 0.
fn percent(part: i64, whole: i64) -> Option<i32> {
    let points = (part * 10_000 + whole / 2).checked_div(whole)?;
    i32::try_from(points).ok()
}

/// The period of an attendance overview.
#[query(items = "members")]
#[derive(Default)]
pub struct AttendanceFilter {
    /// Only events that start at this time or later. A date means the start of that day in UTC.
    pub from: Option<Timestamp>,
    /// Only events that start before this time. A date means the start of that day in UTC.
    pub to: Option<Timestamp>,
}

/// A page of the members of a team with their attendance, in roster order. Members who have left appear if they have any
/// attendance. Families see their own members.
pub fn of_team(
    db: &Reader<'_>,
    access: &TeamAccess,
    team: TeamId,
    filter: &AttendanceFilter,
    page: &Page<MemberId>,
) -> Result<Vec<MemberAttendance>> {
    access.check(team)?;
    team::find(db, team)?;
    let (_, family) = access.own_and_family_ids();
    let everybody = access.has_full_access(team);
    let (after, limit) = page.bounds();
    let text = page_sql!(page, by "m.id", SELECT_MEMBERS);
    let members: Vec<MemberId> = db.ids(text, bind! { team, everybody, family, after, limit })?;
    let mut counts = of_members(db, &members, filter)?;
    let attendance =
        |id: MemberId| MemberAttendance::new(id, &counts.remove(&id).unwrap_or_default());
    Ok(members.into_iter().map(attendance).collect())
}

const SELECT_MEMBERS: &str = "select m.id from member m
    where m.account_id = :account and m.team_id = :team
      and (cast(:everybody as boolean) or m.person_id in (:family))
      and (m.status <> 'removed' or exists (
          select 1 from attendance a where a.account_id = m.account_id and a.member_id = m.id))";

/// The number of events by status, for each of these members. Cancelled events do not count.
fn of_members(
    db: &Reader<'_>,
    members: &[MemberId],
    AttendanceFilter { from, to }: &AttendanceFilter,
) -> Result<BTreeMap<MemberId, BTreeMap<Status, i64>>> {
    let mut counts: BTreeMap<MemberId, BTreeMap<Status, i64>> = BTreeMap::new();
    if members.is_empty() {
        return Ok(counts);
    }
    let members = members.to_vec();
    let rows: Vec<(MemberId, Status, i64)> = db.all(
        "select a.member_id, a.status, count(*) as number
         from attendance a join event e on e.account_id = a.account_id and e.id = a.event_id
         where a.account_id = :account and a.member_id in (:members) and e.status <> 'cancelled'
           and (cast(:from as bigint) is null or e.starts_at >= :from)
           and (cast(:to as bigint) is null or e.starts_at < :to)
         group by a.member_id, a.status",
        bind! { members, from, to },
    )?;
    for (member, status, number) in rows {
        counts.entry(member).or_default().insert(status, number);
    }
    Ok(counts)
}

/// The attendance of one member over all events of the team.
pub fn of_member(db: &Reader<'_>, member: MemberId) -> Result<MemberAttendance> {
    let mut counts = of_members(db, &[member], &AttendanceFilter::default())?;
    Ok(MemberAttendance::new(member, &counts.remove(&member).unwrap_or_default()))
}

/// The same for the page of the member.
pub fn summary(db: &Reader<'_>, member: MemberId) -> Result<AttendanceSummary> {
    let attendance = of_member(db, member)?;
    let MemberAttendance { present, late, excused, absent, .. } = attendance;
    let (there, total) = (present + late, attendance.total());
    Ok(AttendanceSummary { there, late, excused, absent, total })
}

/// The attendance of a member with their name, for pages.
#[derive(Debug)]
pub struct NamedAttendance {
    pub team: TeamId,
    pub name: String,
    pub attendance: MemberAttendance,
}

impl NamedAttendance {
    /// The URL of the member's page.
    pub fn href(&self) -> String {
        format!("/teams/{}/roster/{}", self.team, self.attendance.member_id)
    }

    /// The rate in percent.
    pub fn rate(&self) -> String {
        let MemberAttendance { present, late, .. } = self.attendance;
        let points = percent(present + late, self.attendance.total());
        let shown = |points: i32| {
            format::percent(Locale::current_or_english(), i64::from((points + 50) / 100))
        };
        points.map_or_else(|| "–".to_owned(), shown)
    }
}

row! {
    struct NameRow {
        id: MemberId,
        first_name: String,
        last_name: Option<String>,
        is_player: bool,
    }
}

/// The maximum number of members in an overview.
const MAX_MEMBERS: i64 = 1000;

/// The attendance of all players of a team, and of others who have any, by name.
pub fn overview(
    db: &Reader<'_>,
    access: &TeamAccess,
    team: TeamId,
    filter: &AttendanceFilter,
) -> Result<Vec<NamedAttendance>> {
    let page = Page { limit: MAX_MEMBERS, order: Order::Asc, last: None };
    let all = of_team(db, access, team, filter, &page)?.into_iter();
    let mut by_member: BTreeMap<_, _> = all.map(|one| (one.member_id, one)).collect();
    let names: Vec<NameRow> = db.all(
        "select m.id, coalesce(p.preferred_name, p.first_name) as first_name, p.last_name,
             m.role = 'player' and m.status in ('active', 'injured') as is_player
         from member m join person p on p.account_id = m.account_id and p.id = m.person_id
         where m.account_id = :account and m.team_id = :team
         order by p.name_folded, m.id",
        bind! { team },
    )?;
    let line = |row: NameRow| {
        let attendance = by_member.remove(&row.id)?;
        let name = [Some(row.first_name), row.last_name].into_iter().flatten();
        let name = name.collect::<Vec<_>>().join(" ");
        let is_shown = row.is_player || attendance.total() > 0;
        is_shown.then_some(NamedAttendance { team, name, attendance })
    };
    Ok(names.into_iter().filter_map(line).collect())
}
