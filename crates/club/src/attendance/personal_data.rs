//! Personal data in attendance: export and erasure.

use super::sheet::Status;
use crate::personal_data::MergedRecords;
use crate::prelude::*;

row! {
    #[derive(Serialize)]
    struct AttendanceRow {
        event_id: EventId,
        member_id: MemberId,
        #[serde(rename = "event")]
        title: String,
        starts_at: Timestamp,
        status: Status,
        note: Option<String>,
        recorded_by: String,
        recorded_at: Timestamp,
    }
}

/// The attendance of a person on all their teams.
pub fn export_person(db: &Reader<'_>, person: PersonId) -> Result<Value> {
    let rows: Vec<AttendanceRow> = db.all(
        "select a.event_id, a.member_id, e.title, e.starts_at, a.status, a.note, a.recorded_by,
             a.recorded_at
         from attendance a
         join event e on e.account_id = a.account_id and e.id = a.event_id
         where a.account_id = :account and a.member_id in (
             select id from member where account_id = :account and person_id = :person)
         order by e.starts_at, a.event_id",
        bind! { person },
    )?;
    Ok(json!(rows))
}

/// Erases the notes about a person. The attendance itself stays, without a name.
pub fn erase_person(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    tx.execute(
        "update attendance set note = null, version = version + 1
         where account_id = :account and note is not null and member_id in (
             select id from member where account_id = :account and person_id = :person)",
        bind! { person },
    )?;
    Ok(())
}

/// Moves the attendance of members to the other record of the same person on the team. If both have been recorded at an
/// event, that of the remaining member counts.
pub fn merge_person(tx: &Tx<'_>, records: &MergedRecords) -> Result<()> {
    for (from, into) in &records.members {
        // The versions of a sheet's entries add up to its version, which must not decrease when one is deleted.
        for text in [
            "update attendance set version = version + 1 + (
                 select other.version from attendance other
                 where other.account_id = :account and other.event_id = attendance.event_id
                   and other.member_id = :from)
             where account_id = :account and member_id = :into and event_id in (
                 select event_id from attendance
                 where account_id = :account and member_id = :from)",
            "delete from attendance
             where account_id = :account and member_id = :from and event_id in (
                 select event_id from attendance
                 where account_id = :account and member_id = :into)",
            "update attendance set member_id = :into, version = version + 1
             where account_id = :account and member_id = :from",
        ] {
            tx.execute(text, bind! { from, into })?;
        }
    }
    Ok(())
}
