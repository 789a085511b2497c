//! The schedule: lists of events, calendars, RSVPs, series and exports in a club with many events.

use crate::Result;
use crate::environment::Environment;
use crate::options::Measure;
use crate::schedule_fixture::Fixture;
use crate::table::Row;
use crate::{calendars, event_lists, exports, rsvps, series};

pub(crate) async fn measure(environment: &Environment, measure: &Measure) -> Result<Vec<Row>> {
    let fixture = Fixture::create(environment, measure).await?;
    let mut downloads = exports::measure(&fixture).await?;
    let service = fixture.database.serve(&[]).await?;
    let mut rows = event_lists::measure(&fixture, service.address).await?;
    rows.extend(calendars::measure(&fixture, service.address).await?);
    let peak = service.memory()?.1;
    rows.push(crate::memory::row("Peak resident memory of the lists and calendars", peak, None));
    rows.extend(rsvps::measure(&fixture, service.address).await?);
    rows.extend(series::measure(&fixture, service.address).await?);
    rows.append(&mut downloads);
    Ok(rows)
}
