//! The attendance of a team's members over a period.

use crate::attendance::export::AttendanceTable;
use crate::attendance::rates::{self, AttendanceFilter, NamedAttendance};
use crate::events::{EventsOversee, EventsRead};
use crate::prelude::*;
use crate::teams::header::TeamHeader;
use crate::teams::team;
use crate::web::export::ExportSource;
use crate::web::list::{Cell, Column, FilterBar, List, ToCell};
use crate::web::prelude::*;

const COLUMNS: &[Column<NamedAttendance>] = &[
    Column::page("Name", |one| Cell::name(&one.name).link(one.href())),
    Column::number("Rate", |one| Cell::text(one.rate())),
    Column::number("Present", |one| one.attendance.present.cell()),
    Column::number("Late", |one| one.attendance.late.cell()),
    Column::number("Excused", |one| one.attendance.excused.cell()),
    Column::number("Absent", |one| one.attendance.absent.cell()),
];
const NOT_A_DATE: &str = mark!("Enter a date, such as 2026-10-01.");

#[derive(Template)]
#[template(path = "attendance/overview.html")]
struct OverviewPage {
    frame: Frame,
    header: TeamHeader,
    list: List,
    /// The URL of the CSV file. Empty for families.
    file: String,
}

/// The period of the page: days of the team's time zone. Days that are not valid are ignored.
fn period(zone: &Zone, form: &Form) -> AttendanceFilter {
    let day = |name: &str| form.text(name).parse::<Day>().ok();
    let start = |day: Day| zone.resolve(day.at_midnight());
    AttendanceFilter {
        from: day("from").and_then(start),
        to: day("to").and_then(|day| day.plus_days(1)).and_then(start),
    }
}

/// The error of a day that was entered.
fn day_error(form: &Form, name: &str) -> &'static str {
    let text = form.text(name);
    if text.is_empty() || text.parse::<Day>().is_ok() { "" } else { NOT_A_DATE }
}

pub(super) async fn overview(
    visitor: Visitor<EventsRead>,
    PathParams(id): PathParams<TeamId>,
) -> PageResult {
    let (access, form) = (visitor.team_access().await?, visitor.guest.query()?);
    let filters = FilterBar::new(&form).date("from", "From", day_error(&form, "from")).date(
        "to",
        "Until",
        day_error(&form, "to"),
    );
    let load = move |db: &Reader<'_>| {
        let header = TeamHeader::load(db, &access, id)?;
        let filter = period(&header.team.timezone, &form);
        let rows = rates::overview(db, &access, id, &filter)?;
        Ok((header, rows))
    };
    let (header, rows) = visitor.read(load).await?;
    let days = filters.pairs().filter(|(_, day)| day.parse::<Day>().is_ok());
    let query: Vec<_> = days.map(|(name, day)| format!("{name}={day}")).collect();
    let file = format!("/teams/{id}/attendance.csv?{}", query.join("&"));
    let file = if header.is_staff { file } else { String::new() };
    let list = List::new(t!("Attendance"), COLUMNS, &rows, &visitor.times()).filters(filters);
    let frame = visitor.frame(t!("Attendance"), Section::MyTeams).team(id);
    render(StatusCode::OK, &OverviewPage { frame, header, list, file })
}

pub(super) async fn export(
    visitor: Visitor<EventsOversee>,
    PathParams(id): PathParams<TeamId>,
) -> PageResult {
    let (access, form) = (visitor.team_access().await?, visitor.guest.query()?);
    access.check(id)?;
    let team = visitor.read(move |db: &Reader<'_>| team::find(db, id)).await?;
    let AttendanceFilter { from, to } = period(&team.timezone, &form);
    let table = AttendanceTable { team_id: Some(id), from, to };
    let source = ExportSource { app: visitor.app().clone(), scope: visitor.scope()?, access };
    Ok(Download { table, bom: true }.send(source, "attendance.csv").await?)
}
