//! The page with the away dates of a person, for the person, their guardians and the staff of their teams.

use std::collections::BTreeSet;

use super::away_date::{self, AwayDate, NewAwayDate};
use super::{AwayDateId, AwayDatesRead, AwayDatesWrite};
use crate::prelude::*;
use crate::roster::person;
use crate::web::filters;
use crate::web::form::{Field, FilledForm};
use crate::web::form_dedup::{Nonce, submit_once};
use crate::web::prelude::*;

const FIELDS: &[Field] = &[
    Field::pair(
        "Days",
        &[
            Field::day("starts_on", "First day").required("Choose the first day."),
            Field::day("ends_on", "Last day").required("Choose the last day."),
        ],
    ),
    Field::line("note", "Note", 500).hint("Optional. The coaches can read it."),
];
const DONE: [(&str, &str); 2] =
    [("added", mark!("Away dates added.")), ("removed", mark!("Away dates removed."))];

/// Routes of the away date pages.
pub fn router() -> Router<App> {
    Router::new()
        .route("/schedule/away", get(choose))
        .route("/people/{person}/away", get(show).post(add))
        .route("/people/{person}/away/{away}/remove", post(remove))
}

#[derive(Template)]
#[template(path = "away_dates/list.html")]
struct AwayPage {
    frame: Frame,
    person: PersonId,
    name: String,
    is_self: bool,
    away: Vec<AwayDate>,
    /// The number of coming events that are answered because of these days.
    answered: i64,
    form: FilledForm,
}

#[derive(Template)]
#[template(path = "away_dates/choose.html")]
struct ChoosePage {
    frame: Frame,
    /// The people of the family who are on a team.
    people: Vec<(PersonId, String)>,
}

/// The page of the only person of the family who is on a team, or the people to choose from.
async fn choose(visitor: Visitor<AwayDatesRead>) -> PageResult {
    let memberships = visitor.roster_access().await?.memberships;
    let ids: BTreeSet<_> = memberships.iter().map(|one| one.person_id).collect();
    if let (Some(only), 1) = (ids.first(), ids.len()) {
        return Ok(see_other(&format!("/people/{only}/away")));
    }
    let load = move |db: &Reader<'_>| person::find_many(db, ids.into_iter().collect());
    let people = visitor.read(load).await?.into_values();
    let people = people.filter(|person| person.erased_at.is_none());
    let people = people.map(|person| (person.id, person::display_name(&person))).collect();
    let frame = visitor.frame(t!("Away dates"), Section::Schedule);
    render(StatusCode::OK, &ChoosePage { frame, people })
}

async fn page<N: Permission>(visitor: &Visitor<N>, id: PersonId, form: FilledForm) -> PageResult {
    let access = visitor.team_access().await?;
    let is_self = access.is_self(id) || visitor.roster_access().await?.own_person_ids.contains(&id);
    let load = move |db: &Reader<'_>| {
        let person = away_date::find_person(db, &access, id)?;
        Error::not_found().fail_if(person.erased_at.is_some())?;
        Ok((person, away_date::open_of(db, id)?, away_date::count_answered(db, id)?))
    };
    let (person, away, answered) = visitor.read(load).await?;
    let name = person::display_name(&person);
    let frame = visitor.frame(t!("Away dates"), Section::Schedule);
    let frame = frame.flash(visitor.guest.done_flash(&DONE));
    render(form.status(), &AwayPage { frame, person: id, name, is_self, away, answered, form })
}

async fn show(visitor: Visitor<AwayDatesRead>, PathParams(id): PathParams<PersonId>) -> PageResult {
    let form = FilledForm::empty(FIELDS).nonce(new_nonce(visitor.app()));
    page(&visitor, id, form).await
}

async fn add(
    PathParams(id): PathParams<PersonId>,
    VisitorForm { visitor, form }: VisitorForm<AwayDatesWrite>,
) -> PageResult {
    check_access(&visitor, id).await?;
    let (nonce, mut form) = (parse_nonce(&form)?, FilledForm::submitted(FIELDS, &form));
    if let Some(new) = form.parse::<NewAwayDate>()
        && form.accept(create(&visitor, id, new, nonce).await)?.is_some()
    {
        return Ok(see_other(&format!("/people/{id}/away?done=added")));
    }
    page(&visitor, id, form).await
}

/// Fails if the visitor may not change the away dates of this person.
async fn check_access(visitor: &Visitor<AwayDatesWrite>, id: PersonId) -> Result<()> {
    let access = visitor.team_access().await?;
    visitor.read(move |db| away_date::find_person(db, &access, id).map(drop)).await
}

/// Adds the away dates, once if the form is sent several times.
async fn create(
    visitor: &Visitor<AwayDatesWrite>,
    person: PersonId,
    new: NewAwayDate,
    nonce: Nonce,
) -> Result<()> {
    let (access, ttl) = (visitor.team_access().await?, visitor.app().config.idempotency_ttl);
    let work = move |tx: &Tx<'_>| {
        submit_once(tx, &nonce, ttl, |tx| {
            let away = away_date::create(tx, &access, person, &IfMatch::Absent, new)?;
            Ok((away.id.to_string(), ()))
        })
    };
    visitor.write(work).await.map(drop)
}

async fn remove(
    PathParams((person, id)): PathParams<(PersonId, AwayDateId)>,
    VisitorForm { visitor, .. }: VisitorForm<AwayDatesWrite>,
) -> PageResult {
    let access = visitor.team_access().await?;
    let delete = move |tx: &Tx<'_>| {
        away_date::find_person(tx, &access, person)?;
        // They may be removed already, for example by the other parent.
        away_date::delete(tx, &access, (person, id), &IfMatch::Absent).or_none().map(drop)
    };
    visitor.write(delete).await?;
    Ok(see_other(&format!("/people/{person}/away?done=removed")))
}
