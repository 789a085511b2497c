//! The JSON endpoints of members and people.

mod safeguarding;

use kit::string_enum;

use crate::prelude::*;
use crate::roster::export::RosterTable;
use crate::roster::member::{self, Member, MemberChange, MemberFilter, MemberStatus};
use crate::roster::merge::PersonMergeSnapshot;
use crate::roster::new_members::{self, NewMember, RosterBatch};
use crate::roster::private_data::{HasPrivateData, PrivateAccess, redact_member, redact_response};
use crate::roster::profile::{self, PeopleFilter, Profile, ProfileChange};
use crate::roster::{PeopleRead, RosterRead, RosterWrite};
use crate::teams::team;
use crate::web::prelude::*;
pub use crate::web::query::OrAll;
use crate::web::reply::BatchResponse;

/// Routes of the roster of a team, of batches and of people.
pub fn routes(routes: Routes) -> Routes {
    let routes = routes.with_snapshot("Member", &[]).with_snapshot("Person", &[]);
    let routes = routes.with_schema::<PersonMergeSnapshot>();
    let routes = routes
        .with(routes!(list, add))
        .with(routes!(find, change, remove))
        .with(routes!(add_all))
        .with(routes!(list_people))
        .with(routes!(find_person, change_person))
        .with(routes!(export));
    safeguarding::routes(routes)
}

/// List a team's members
///
/// Returns members in order of creation. Removed members are left out unless you filter by `status`. Private data is
/// only included with `include=private`. Families only see the private data of their own people.
#[endpoint(get, "/teams/{team_id}/roster", id = "roster.list", tag = "Roster",
    200(ListResponse<Member>, "A page of members."))]
async fn list(
    caller: Caller<RosterRead>,
    team: TeamId,
    paging: Paging<MemberFilter>,
) -> Result<Response> {
    caller.require_team(team)?;
    caller
        .page_audited(
            paging,
            move |db, access, filter, page| {
                let members = member::list(db, team, filter, page)?;
                Ok(members.into_iter().map(|member| redact_member(access, member)).collect())
            },
            Member::list_audit_entry,
        )
        .await
}

/// Add a member to a team
///
/// Creates a person and adds them to the team, or adds an existing person (`person_id`). If a similar person exists,
/// the request fails with 409 `conflict` and lists the `candidates`. Send the `person_id` of the right one, or set
/// `allow_duplicate`.
#[endpoint(post, "/teams/{team_id}/roster", id = "roster.add", tag = "Roster",
    example = json!({ "first_name": "Inês", "last_name": "Duarte", "jersey_number": "7",
        "birth_date": "2014-02-27", "positions": ["goalkeeper"],
        "guardians": [{ "first_name": "Rita", "last_name": "Duarte", "relationship": "mother", "email": "rita@example.org" }] }),
    201(ObjectResponse<Member>, "The new member."))]
async fn add(caller: Caller<RosterWrite>, team: TeamId, body: Body<NewMember>) -> Result<Response> {
    caller.require_team(team)?;
    let (access, private_access) =
        (caller.team_access(), private_access(&caller, body.value.person_id.is_none()));
    caller
        .create_for(body, move |tx, new, expected| {
            expected.check(team::find(tx, team))?;
            redact_response(tx, private_access, new_members::add(tx, &access, team, new)?)
        })
        .await
}

/// Retrieve a member
///
/// Returns a member with private fields.
#[endpoint(get, "/teams/{team_id}/roster/{member_id}", id = "roster.get", tag = "Roster",
    200(ObjectResponse<Member>, "The member with private data."))]
async fn find(caller: Caller<RosterRead>, team: TeamId, id: MemberId) -> Result<Response> {
    caller.require_team(team)?;
    let access = caller.team_access();
    caller
        .read_object_audited(
            move |db| Ok(redact_member(&access, member::show(db, team, id)?)),
            Member::read_audit_entry,
        )
        .await
}

/// Update a member
///
/// Omitted fields stay unchanged; `null` clears a field. Fields of the person change on all teams that the
/// person is on. `guardians` replaces all guardians.
#[endpoint(patch, "/teams/{team_id}/roster/{member_id}", id = "roster.update", tag = "Roster",
    example = json!({ "jersey_number": "00", "status": "injured", "phone": null }),
    200(ObjectResponse<Member>, "The updated member."))]
async fn change(
    caller: Caller<RosterWrite>,
    at: (TeamId, MemberId),
    body: Body<MemberChange>,
) -> Result<Response> {
    caller.require_team(at.0)?;
    let wrote_note = matches!(body.value.person.medical_note, Change::Set(_));
    let (access, private_access) = (caller.team_access(), private_access(&caller, wrote_note));
    caller
        .change(body, move |tx, change, expected| {
            redact_response(tx, private_access, member::change(tx, &access, at, expected, change)?)
        })
        .await
}

/// Remove a member
///
/// Removes the person from the team. The history is kept. To bring the person back, add them again.
#[endpoint(delete, "/teams/{team_id}/roster/{member_id}", id = "roster.remove", tag = "Roster",
    outcome = json!({ "status": "removed", "left_on": "2026-09-05" }),
    200(ObjectResponse<Member>, "The removed member."))]
async fn remove(
    caller: Caller<RosterWrite>,
    at: (TeamId, MemberId),
    body: Body<NoBody>,
) -> Result<Response> {
    caller.require_team(at.0)?;
    let (access, private_access) = (caller.team_access(), private_access(&caller, false));
    caller
        .change(body, move |tx, NoBody, expected| {
            let removed = redact_member(&access, member::remove(tx, at, expected)?);
            redact_response(tx, private_access, removed)
        })
        .await
}

/// Add members in a batch
///
/// Adds up to 100 members to one team or several. Either all of them are added, or none. Every problem is reported with
/// its location, such as `/members/3/email`. Similar people in the same batch are reported too.
#[endpoint(post, "/roster/batch", id = "roster.add_batch", tag = "Roster",
    example = json!({ "members": [
        { "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "first_name": "Inês", "last_name": "Duarte" },
        { "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "first_name": "Tomás", "role": "coach" }] }),
    201(BatchResponse<Member>, "The new members, in the order they were sent."))]
async fn add_all(caller: Caller<RosterWrite>, body: Body<RosterBatch>) -> Result<Response> {
    let access = caller.team_access();
    caller.create_all(body, move |tx, all| new_members::add_all(tx, &access, all)).await
}

/// List people
///
/// Returns all members and guardians of the club, in order of creation. Private data is only included with
/// `include=private`.
#[endpoint(get, "/people", id = "people.list", tag = "Roster",
    200(ListResponse<Profile>, "A page of people."))]
async fn list_people(caller: Caller<PeopleRead>, paging: Paging<PeopleFilter>) -> Result<Response> {
    caller.page_audited(paging, profile::list, Profile::list_audit_entry).await
}

/// Retrieve a person
///
/// Coaches and managers see the people of their teams. Other users see themselves and their dependents.
#[endpoint(get, "/people/{person_id}", id = "people.get", tag = "Roster",
    200(ObjectResponse<Profile>, "The person with private data."))]
async fn find_person(caller: Caller<RosterRead>, id: PersonId) -> Result<Response> {
    let access = caller.team_access();
    caller
        .read_object_audited(move |db| profile::show(db, &access, id), Profile::read_audit_entry)
        .await
}

/// Update a person
///
/// Omitted fields stay unchanged; `null` clears a field. The change applies to all teams that the person is
/// on.
#[endpoint(patch, "/people/{person_id}", id = "people.update", tag = "Roster",
    example = json!({ "preferred_name": "Nini", "phone": "912 345 678" }),
    200(ObjectResponse<Profile>, "The updated person."))]
async fn change_person(
    caller: Caller<RosterWrite>,
    id: PersonId,
    body: Body<ProfileChange>,
) -> Result<Response> {
    let wrote_note = matches!(body.value.person.medical_note, Change::Set(_));
    let (access, private_access) = (caller.team_access(), private_access(&caller, wrote_note));
    caller
        .change(body, move |tx, change, expected| {
            redact_response(tx, private_access, profile::change(tx, &access, id, expected, change)?)
        })
        .await
}

/// Export the roster
///
/// One row per membership. Columns: `member_id`, `person_id`, `team_id`, `team`, `first_name`,
/// `last_name`, `preferred_name`, `role`, `jersey_number`, `positions`, `status`, `joined_on`, `left_on`,
/// `external_id`, `created_at`; with `include=private` also `birth_date`, `email`, `phone`, `address`,
/// `emergency_contact`, `medical_note`, `guardians` (number of guardians) and, for the first three of them,
/// `guardian_1_name`, `guardian_1_relationship`, `guardian_1_email`, `guardian_1_phone`,
/// `guardian_1_can_pick_up`, `guardian_1_receives_messages` and so on. Text that a
/// spreadsheet would read as a formula is prefixed with a single quote.
#[endpoint(get, "/exports/roster.csv", id = "exports.roster", tag = "Exports",
    200(String, "The CSV file.", "text/csv",
        "member_id,person_id,team_id,team,first_name,last_name,preferred_name,role,jersey_number,positions,\
        status,joined_on,left_on,external_id,created_at\n\
        mem_01kbm2x5q8f7vr0n3hd9tzc4wy,per_01kbm2x5q8f7vr0n3hd9tzc4wy,team_01kbm2x5q8f7vr0n3hd9tzc4wy,\
        Hawks U12,Inês,Duarte,,player,1,goalkeeper,active,,,,2026-10-27T17:00:00.000000Z\n"))]
async fn export(caller: Caller<PeopleRead>, query: Download<RosterTable>) -> Result<Response> {
    caller.require_teams(query.table.team_id, &[])?;
    if query.table.private {
        let details = json!({ "file": "roster.csv", "team_id": query.table.team_id });
        let account = caller.credential().account_id.to_string();
        let audit = move |tx: &store::Tx<'_>| tx.audit("roster.medical_read", &account, &details);
        caller.app().db.write(caller.scope(), audit).await?;
    }
    query.send(&caller, "roster.csv").await
}

/// Whether the response to a write request may include private data.
fn private_access<N: Permission>(caller: &Caller<N>, wrote_note: bool) -> PrivateAccess {
    PrivateAccess {
        can_read: caller.credential().scopes.contains(ScopeName::RosterRead),
        wrote_note,
    }
}

string_enum! {
    /// The optional parts of a list.
    pub enum Include {
        Private = "private",
    }
}

/// A new member is an existing person, or a new one with a first name.
pub(super) fn check_new_member(new: &NewMember, fields: &mut Fields) {
    if new.person_id.is_none() {
        let is_faulty = fields.is_faulty("first_name") || fields.is_faulty("person_id");
        if new.person.first_name.is_none() && !is_faulty {
            let detail = "This field is required without `person_id`.";
            fields.fault("first_name", "required", detail);
        }
        return;
    }
    let guardians = (!new.guardians.is_empty()).then_some("guardians");
    for name in new.person.given_fields().chain(guardians) {
        let detail =
            "This field is not allowed together with `person_id`. Update the person instead.";
        fields.fault(name, "not_with_person_id", detail);
    }
}

pub(super) fn check_batch(batch: &RosterBatch, fields: &mut Fields) {
    if batch.members.is_empty() && !fields.is_faulty("members") {
        fields.fault("members", "empty", "The list must have at least one item.");
    }
}

pub(super) fn birth_date(fields: &mut Fields, name: &str) -> Change<Day> {
    match fields.day(name) {
        Change::Set(day) if day.to_string().as_str() < "1900" => {
            fields.fault(name, "out_of_range", "The birth date must be 1900-01-01 or later.");
            Change::Keep
        }
        day => day,
    }
}

pub(super) fn status(fields: &mut Fields, name: &str) -> Change<MemberStatus> {
    match fields.enum_value(name) {
        Change::Set(MemberStatus::Removed) => {
            let detail =
                "You cannot set the status to `removed`. Remove the member with DELETE instead.";
            fields.fault(name, "unknown_value", detail);
            Change::Keep
        }
        status => status,
    }
}

/// The first name of a guardian, which is read before the `id`. A new guardian needs one.
pub(super) fn guardian_name(fields: &mut Fields, name: &str) -> Change<String> {
    let line = fields.line(name, 120);
    if line == Change::Keep && !fields.has("id") && !fields.is_faulty(name) {
        fields.fault(name, "required", "This field is required.");
    }
    line
}

/// Removed members are left out, unless the caller filters by status.
pub(super) fn excluded_status(params: &mut Params, _: &str) -> Option<MemberStatus> {
    (!params.has("status")).then_some(MemberStatus::Removed)
}

pub(super) fn status_filter(params: &mut Params, name: &str) -> Option<MemberStatus> {
    let value = params.take(name)?;
    let status = MemberStatus::parse(&value);
    if status.is_none() && value != "all" {
        let detail = format!("`status` must be one of: {}, all.", MemberStatus::choices());
        params.fault(name, "unknown_value", detail);
    }
    status
}

pub(super) fn include_private(params: &mut Params, name: &str) -> bool {
    params.enum_value(name) == Some(Include::Private)
}
