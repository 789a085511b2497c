//! The JSON endpoints of the roster.

mod safeguarding;

use axum::response::Response;
use kit::word::Word;
use kit::{Change, Day, words};
use utoipa_axum::routes;

use crate::accounts::rights::ScopeName;
use crate::error::Result;
use crate::ids::{MemberId, PersonId, TeamId};
use crate::paging::Order;
use crate::roster::delicate::{Delicate, Sight, answered, within};
use crate::roster::guardian::{self, NewGuardian};
use crate::roster::member::{
    self, Member, MemberChange, MemberFilter, MemberStatus, MembershipChange, Role,
};
use crate::roster::newcomer::{self, NewMember, Newcomer, Newcomers};
use crate::roster::person::PersonChange;
use crate::roster::profile::{self, PeopleFilter, Profile, ProfileChange};
use crate::teams::team;
use crate::web::body::{Body, MaybeBody, NoBody};
use crate::web::caller::{Caller, Needs, PeopleRead, RosterRead, RosterWrite};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::At;
use crate::web::query::{FromQuery, Nothing, Params, Query};
use crate::web::reply::{Many, One, Several};
use crate::web::routes::Routes;

const NAME: usize = 120;
const WORD: usize = 60;
const JERSEY: usize = 10;
const POSITIONS: usize = 10;
const PHONE: usize = 40;
const EMAIL: usize = 254;
const DETAILS: usize = 500;
const NOTE: usize = 10_000;
const BATCH: usize = 100;

/// The roster of a team, many newcomers at once, and people.
pub fn routes(routes: Routes) -> Routes {
    let routes = routes
        .with(routes!(list, add))
        .with(routes!(find, change, remove))
        .with(routes!(add_all))
        .with(routes!(list_people))
        .with(routes!(find_person, change_person));
    safeguarding::routes(routes)
}

/// List a team's members
///
/// In order of creation, without those who were removed unless `status` says otherwise. What is
/// private is left out unless `include=private` asks for it. Families see what is private of their own
/// people only.
#[utoipa::path(get, path = "/teams/{team_id}/roster", operation_id = "roster_list", tag = "Roster",
    params(
        ("team_id" = TeamId, Path),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many members to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out."),
        ("role" = Option<Role>, Query, description = "Only members who are this."),
        ("status" = Option<String>, Query, description = "`active`, `injured`, `inactive`, `removed`, or `all`; everybody but removed members if left out."),
        ("external_id" = Option<String>, Query, description = "Only the member with this id in another system."),
        ("q" = Option<String>, Query, description = "Only members whose name or preferred name contains this, whatever its case."),
        ("include" = Option<String>, Query, description = "`private` also shows contact data, birth dates, medical notes and guardians.")),
    responses((status = 200, description = "A page of members.", body = Many<Member>), Problems),
    security(("key" = ["roster:read"])))]
async fn list(
    caller: Caller<RosterRead>,
    At(team): At<TeamId>,
    Query(paging): Query<Paging<MemberFilter>>,
) -> Result<Response> {
    caller.reaches(team)?;
    caller
        .page_seen(
            paging,
            move |db, reach, filter, page| {
                let members = member::list(db, team, filter, page)?;
                Ok(members.into_iter().map(|member| within(reach, member)).collect())
            },
            Member::all_seen,
        )
        .await
}

/// Add somebody to a team
///
/// Makes a person and puts them on the team, or puts a person who is known already there
/// (`person_id`). If somebody who looks like a new person is there already, the answer is 409
/// `conflict` with the `candidates`: send the `person_id` of the right one, or `allow_duplicate`.
#[utoipa::path(post, path = "/teams/{team_id}/roster", operation_id = "roster_add", tag = "Roster",
    params(("team_id" = TeamId, Path)),
    request_body(content = NewMember, example = json!({ "first_name": "Inês", "last_name": "Duarte", "jersey_number": "7",
        "birth_date": "2014-02-27", "positions": ["goalkeeper"],
        "guardians": [{ "first_name": "Rita", "last_name": "Duarte", "relationship": "mother", "email": "rita@example.org" }] })),
    responses((status = 201, description = "The new member.", body = One<Member>), Problems),
    security(("key" = ["roster:write"])))]
async fn add(
    caller: Caller<RosterWrite>,
    At(team): At<TeamId>,
    Query(Nothing): Query<Nothing>,
    body: Body<NewMember>,
) -> Result<Response> {
    caller.reaches(team)?;
    let (reach, sight) = (caller.reach(), sight(&caller, body.value.person_id.is_none()));
    caller
        .create_for(body, move |tx, new, expected| {
            expected.check(team::find(tx, team))?;
            answered(tx, sight, newcomer::add(tx, &reach, team, new)?)
        })
        .await
}

/// Get a member
#[utoipa::path(get, path = "/teams/{team_id}/roster/{member_id}", operation_id = "roster_get", tag = "Roster",
    params(("team_id" = TeamId, Path), ("member_id" = MemberId, Path)),
    responses((status = 200, description = "The member, in full.", body = One<Member>), Problems),
    security(("key" = ["roster:read"])))]
async fn find(
    caller: Caller<RosterRead>,
    At((team, id)): At<(TeamId, MemberId)>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    caller.reaches(team)?;
    let reach = caller.reach();
    caller.one_seen(move |db| Ok(within(&reach, member::show(db, team, id)?)), Member::seen).await
}

/// Change a member
///
/// Members that are left out stay as they are; `null` clears. What is said of the person holds on
/// every team they are on. `guardians` replaces all guardians.
#[utoipa::path(patch, path = "/teams/{team_id}/roster/{member_id}", operation_id = "roster_update", tag = "Roster",
    params(("team_id" = TeamId, Path), ("member_id" = MemberId, Path)),
    request_body(content = MemberChange, example = json!({ "jersey_number": "00", "status": "injured", "phone": null })),
    responses((status = 200, description = "The member after the change.", body = One<Member>), Problems),
    security(("key" = ["roster:write"])))]
async fn change(
    caller: Caller<RosterWrite>,
    At(at): At<(TeamId, MemberId)>,
    Query(Nothing): Query<Nothing>,
    body: Body<MemberChange>,
) -> Result<Response> {
    caller.reaches(at.0)?;
    let wrote = matches!(body.value.person.medical_note, Change::Set(_));
    let (reach, sight) = (caller.reach(), sight(&caller, wrote));
    caller
        .change(body, move |tx, change, expected| {
            answered(tx, sight, member::change(tx, &reach, at, expected, change)?)
        })
        .await
}

/// Remove a member
///
/// The person leaves the team; the history stays. Whoever comes back is added again.
#[utoipa::path(delete, path = "/teams/{team_id}/roster/{member_id}", operation_id = "roster_remove", tag = "Roster",
    params(("team_id" = TeamId, Path), ("member_id" = MemberId, Path)),
    responses((status = 200, description = "The removed member.", body = One<Member>), Problems),
    security(("key" = ["roster:write"])))]
async fn remove(
    caller: Caller<RosterWrite>,
    At(at): At<(TeamId, MemberId)>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    caller.reaches(at.0)?;
    let (reach, sight) = (caller.reach(), sight(&caller, false));
    caller
        .change(body, move |tx, NoBody, expected| {
            answered(tx, sight, within(&reach, member::remove(tx, at, expected)?))
        })
        .await
}

/// Add many people at once
///
/// Up to 100, on one team or several: all of them, or none. Every fault is told with its place, such as
/// `/members/3/email`; people who look like somebody else in the same body are faults too.
#[utoipa::path(post, path = "/roster/batch", operation_id = "roster_add_all", tag = "Roster",
    request_body(content = Newcomers, example = json!({ "members": [
        { "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "first_name": "Inês", "last_name": "Duarte" },
        { "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "first_name": "Tomás", "role": "coach" }] })),
    responses((status = 201, description = "The new members, in the order they were sent.", body = Several<Member>), Problems),
    security(("key" = ["roster:write"])))]
async fn add_all(
    caller: Caller<RosterWrite>,
    Query(Nothing): Query<Nothing>,
    body: Body<Newcomers>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.create_all(body, move |tx, all| newcomer::add_all(tx, &reach, all)).await
}

/// List people
///
/// Everybody the club knows, in order of creation: members of teams and guardians. What is private is
/// left out unless `include=private` asks for it.
#[utoipa::path(get, path = "/people", operation_id = "people_list", tag = "Roster",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many people to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out."),
        ("q" = Option<String>, Query, description = "Only people whose name or preferred name contains this, whatever its case."),
        ("email" = Option<String>, Query, description = "Only people with this address of mail, whatever its case."),
        ("include" = Option<String>, Query, description = "`private` also shows contact data, birth dates, medical notes and guardians.")),
    responses((status = 200, description = "A page of people.", body = Many<Profile>), Problems),
    security(("key" = ["roster:read"])))]
async fn list_people(
    caller: Caller<PeopleRead>,
    Query(paging): Query<Paging<PeopleFilter>>,
) -> Result<Response> {
    caller.page_seen(paging, profile::list, Profile::all_seen).await
}

/// Get a person
///
/// Coaches see the people of their teams, families themselves and those they look after.
#[utoipa::path(get, path = "/people/{person_id}", operation_id = "people_get", tag = "Roster",
    params(("person_id" = PersonId, Path)),
    responses((status = 200, description = "The person, in full.", body = One<Profile>), Problems),
    security(("key" = ["roster:read"])))]
async fn find_person(
    caller: Caller<RosterRead>,
    At(id): At<PersonId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.one_seen(move |db| profile::show(db, &reach, id), Profile::seen).await
}

/// Change a person
///
/// Members that are left out stay as they are; `null` clears. The change holds on every team the
/// person is on.
#[utoipa::path(patch, path = "/people/{person_id}", operation_id = "people_update", tag = "Roster",
    params(("person_id" = PersonId, Path)),
    request_body(content = ProfileChange, example = json!({ "preferred_name": "Nini", "phone": "912 345 678" })),
    responses((status = 200, description = "The person after the change.", body = One<Profile>), Problems),
    security(("key" = ["roster:write"])))]
async fn change_person(
    caller: Caller<RosterWrite>,
    At(id): At<PersonId>,
    Query(Nothing): Query<Nothing>,
    body: Body<ProfileChange>,
) -> Result<Response> {
    let wrote = matches!(body.value.person.medical_note, Change::Set(_));
    let (reach, sight) = (caller.reach(), sight(&caller, wrote));
    caller
        .change(body, move |tx, change, expected| {
            answered(tx, sight, profile::change(tx, &reach, id, expected, change)?)
        })
        .await
}

/// How the answer to a change is shown to this caller.
fn sight<N: Needs>(caller: &Caller<N>, wrote: bool) -> Sight {
    Sight { reads: caller.credential().scopes.allow(ScopeName::RosterRead), wrote }
}

words! {
    /// What a list shows beside the usual.
    enum Include {
        Private = "private",
    }
}

impl FromBody for NewMember {
    fn read(fields: &mut Fields) -> Self {
        let person_id = fields.id("person_id").apply(None);
        let new = Self {
            person: said_of_person(fields),
            membership: said_of_membership(fields),
            guardians: guardians(fields).apply(None).unwrap_or_default(),
            allow_duplicate: fields.flag("allow_duplicate").apply_or(false, false),
            person_id,
        };
        if new.person_id.is_none() {
            if new.person.first_name.is_none() && !fields.is_faulty("first_name") {
                fields.fault("first_name", "required", "This member is required.");
            }
            return new;
        }
        let guardians = (!new.guardians.is_empty()).then_some("guardians");
        for name in new.person.said().chain(guardians) {
            let detail = "This cannot be said together with person_id; change the person instead.";
            fields.fault(name, "not_with_person_id", detail);
        }
        new
    }
}

impl FromBody for Newcomers {
    const LARGEST: usize = 5 * 1024 * 1024;

    fn read(fields: &mut Fields) -> Self {
        let members = fields.objects("members", BATCH, |fields| {
            let team_id = fields.id("team_id");
            let team_id = fields.required("team_id", team_id).unwrap_or(TeamId::LEAST);
            Newcomer { team_id, new: NewMember::read(fields) }
        });
        let members = fields.required("members", members).unwrap_or_default();
        if members.is_empty() && !fields.is_faulty("members") {
            fields.fault("members", "empty", "There must be at least one.");
        }
        Self { members }
    }
}

impl FromBody for MemberChange {
    fn read(fields: &mut Fields) -> Self {
        Self {
            person: said_of_person(fields),
            membership: said_of_membership(fields),
            guardians: guardians(fields),
        }
    }
}

impl FromBody for ProfileChange {
    fn read(fields: &mut Fields) -> Self {
        Self { person: said_of_person(fields), wants_email: fields.flag("wants_email") }
    }
}

fn said_of_person(fields: &mut Fields) -> PersonChange {
    PersonChange {
        first_name: fields.kept_line("first_name", NAME),
        last_name: fields.line("last_name", NAME),
        preferred_name: fields.line("preferred_name", NAME),
        birth_date: birth_date(fields),
        email: fields.email("email"),
        phone: fields.line("phone", PHONE),
        address: fields.block("address", DETAILS),
        emergency_contact: fields.block("emergency_contact", DETAILS),
        medical_note: fields.block("medical_note", NOTE),
    }
}

fn birth_date(fields: &mut Fields) -> Change<Day> {
    let day = fields.day("birth_date");
    match day {
        Change::Set(day) if day.to_string().as_str() < "1900" => {
            fields.fault("birth_date", "out_of_range", "Nobody who plays was born before 1900.");
            Change::Keep
        }
        day => day,
    }
}

fn said_of_membership(fields: &mut Fields) -> MembershipChange {
    MembershipChange {
        role: fields.word("role"),
        jersey_number: fields.line("jersey_number", JERSEY),
        positions: fields.lines("positions", POSITIONS, WORD),
        status: status(fields),
        joined_on: fields.day("joined_on"),
        left_on: fields.day("left_on"),
        external_id: fields.line("external_id", NAME),
        metadata: fields.metadata("metadata"),
    }
}

fn status(fields: &mut Fields) -> Change<MemberStatus> {
    match fields.word("status") {
        Change::Set(MemberStatus::Removed) => {
            fields.fault("status", "unknown_value", "A member is removed with DELETE.");
            Change::Keep
        }
        status => status,
    }
}

fn guardians(fields: &mut Fields) -> Change<Vec<NewGuardian>> {
    fields.objects("guardians", guardian::MOST, |fields| {
        let id = fields.id("id");
        let first_name = match &id {
            Change::Set(_) => fields.kept_line("first_name", NAME),
            _ => Some(fields.required_line("first_name", NAME)),
        };
        NewGuardian {
            id: id.apply(None),
            first_name,
            last_name: fields.line("last_name", NAME),
            relationship: fields.line("relationship", WORD),
            email: fields.email("email"),
            phone: fields.line("phone", PHONE),
            may_pick_up: fields.flag("may_pick_up"),
            receives_messages: fields.flag("receives_messages"),
            confirmed: fields.flag("confirmed"),
        }
    })
}

impl FromQuery for MemberFilter {
    fn read(params: &mut Params) -> Self {
        let asked = params.take("status");
        let status = asked.as_deref().and_then(MemberStatus::parse);
        if asked.as_deref().is_some_and(|word| status.is_none() && word != "all") {
            let detail = format!("This must be one of: {}, all.", MemberStatus::choices());
            params.fault("status", "unknown_value", detail);
        }
        Self {
            role: params.word("role"),
            status,
            hidden: asked.is_none().then_some(MemberStatus::Removed),
            external_id: params.line("external_id", NAME),
            q: params.line("q", NAME),
            private: params.word("include") == Some(Include::Private),
        }
    }
}

impl FromQuery for PeopleFilter {
    fn read(params: &mut Params) -> Self {
        Self {
            q: params.line("q", NAME),
            email: params.line("email", EMAIL),
            private: params.word("include") == Some(Include::Private),
        }
    }
}
