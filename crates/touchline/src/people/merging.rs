//! `/people/{person}/merge`: choose the other record, compare both, and merge them.

use super::directory::{PersonRow, filter_bar, read_filter, rows};
use super::{Admin, AdminForm, find, path};
use crate::i18n::{Locale, format};
use crate::prelude::*;
use crate::privacy::person_merge;
use crate::roster::directory::{self, DirectoryFilter};
use crate::roster::duplicates;
use crate::roster::guardian;
use crate::roster::merge::{self, MergePlan, MergeRequest};
use crate::roster::person::{self, Person};
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;

const FIELDS: &[Field] = &[
    Field::hidden("into"),
    // The versions of both records that the page showed.
    Field::hidden("seen").page_only(),
    Field::radio("birth_date", "Which birth date is right?", &[])
        .required("Choose the right birth date."),
];
/// The maximum number of people in the search result.
const MAX_FOUND: i64 = 20;

#[derive(Template)]
#[template(path = "people/merge_choose.html")]
struct ChoosePage {
    frame: Frame,
    back: String,
    name: String,
    searched: String,
    found: Vec<(PersonRow, String)>,
    similar: Vec<(PersonRow, String)>,
}

/// A line of the comparison.
struct ComparedField {
    label: &'static str,
    from: String,
    into: String,
    merged: String,
}

impl ComparedField {
    /// Whether a value of the record that ends is not kept.
    fn is_lost(&self) -> bool {
        !self.from.is_empty() && !self.merged.contains(&self.from)
    }
}

#[derive(Template)]
#[template(path = "people/merge.html")]
struct ComparePage {
    frame: Frame,
    back: String,
    from: PersonRow,
    into: PersonRow,
    fields: Vec<ComparedField>,
    form: FilledForm,
    /// The URL of the same comparison with the records swapped.
    swap: String,
    /// Why the records cannot be merged.
    problem: String,
    becomes_minor: bool,
    /// What happens to the photos, if one is removed.
    photos: &'static str,
    loses_confirmation: bool,
    same_teams: usize,
}

/// The page to choose the other record, or to compare the chosen one.
pub(super) async fn choose(PathParams(id): PathParams<PersonId>, visitor: Admin) -> PageResult {
    let from = find(&visitor, id).await?;
    let query = visitor.guest.query()?;
    match query.optional("into") {
        None => choose_page(&visitor, from, &query).await,
        Some(text) => {
            let into = text.parse().map_err(|_| Error::not_found())?;
            let into = find(&visitor, into).await?;
            visitor.require_recent_authentication(&compare_path(id, into.id))?;
            let form = FilledForm::empty(FIELDS).with("into", into.id.to_string());
            compare_page(&visitor, from, into, form).await
        }
    }
}

fn compare_path(from: PersonId, into: PersonId) -> String {
    format!("{}/merge?into={into}", path(from))
}

async fn choose_page(visitor: &Admin, from: Person, query: &Form) -> PageResult {
    let filter = DirectoryFilter { except: Some(from.id), ..read_filter(&filter_bar(query)) };
    let searched = filter.text.clone().unwrap_or_default();
    let (id, name) = (from.id, person::display_name(&from));
    let read = move |db: &Reader<'_>| {
        let page = Page { limit: MAX_FOUND, order: Order::Asc, last: None };
        let found = match filter.text {
            Some(_) => directory::list(db, &filter, &page)?,
            None => Vec::new(),
        };
        let similar = duplicates::find_similar(db, None, &from, false)?.into_iter();
        let similar = similar.map(|(person, _)| person).filter(|other| other.id != from.id);
        let with_links = |people: Vec<Person>| -> Result<Vec<_>> {
            let links = people.iter().map(|person| compare_path(id, person.id));
            let links: Vec<_> = links.collect();
            Ok(rows(db, &people)?.into_iter().zip(links).collect())
        };
        let found = found.into_iter().map(|entry| entry.0).collect();
        Ok((with_links(found)?, with_links(similar.collect())?))
    };
    let (found, similar) = visitor.read(read).await?;
    let frame = visitor.frame(t!("Merge {name}", name), Section::People);
    let page = ChoosePage { frame, back: path(id), name, searched, found, similar };
    render(StatusCode::OK, &page)
}

fn day_text(day: Day) -> String {
    format::day(Locale::current_or_english(), day)
}

fn different_birth_dates(from: &Person, into: &Person) -> bool {
    from.birth_date.zip(into.birth_date).is_some_and(|(one, other)| one != other)
}

/// The comparison, with the form as it was submitted.
async fn compare_page(visitor: &Admin, from: Person, into: Person, form: FilledForm) -> PageResult {
    let is_open = different_birth_dates(&from, &into);
    let dates = [into.birth_date, from.birth_date].into_iter().flatten();
    let dates: Vec<_> = dates.map(|day| (day.to_string(), day_text(day))).collect();
    let seen = format!("{}.{}", from.version, into.version);
    let form = form.with("seen", seen).only_if(is_open, "birth_date").options("birth_date", dates);
    let (from_id, into_id) = (from.id, into.id);
    let read = move |db: &Reader<'_>| {
        let birth_date = into.birth_date.filter(|_| is_open).map_or(Change::Keep, Change::Set);
        let request = MergeRequest { into_person_id: into.id, birth_date };
        let plan = merge::plan(db, from.id, &IfMatch::Absent, &request);
        let (plan, problem) = match plan {
            Ok(plan) => (Some(plan), String::new()),
            Err(error) => (None, error.detail.to_string()),
        };
        let fields = compare(db, (&from, &into), plan.as_ref())?;
        let mut rows = rows(db, &[from, into])?.into_iter();
        let both = rows.next().zip(rows.next()).ok_or_else(Error::not_found)?;
        Ok((both, fields, plan, problem))
    };
    let ((from, into), fields, plan, problem) = visitor.read(read).await?;
    let status = form.status();
    let is_new = |of: fn(&Person) -> bool| {
        plan.as_ref().is_some_and(|plan| of(&plan.merged) && !of(&plan.into))
    };
    let page = ComparePage {
        frame: visitor.frame(t!("Merge two records"), Section::People),
        back: path(from_id),
        swap: compare_path(into_id, from_id),
        becomes_minor: is_new(|person| person.known_minor),
        photos: if is_new(|person| person.photo_file_id.is_none()) {
            t!("The photo is removed, because no guardian agreed to it.")
        } else if plan.as_ref().is_some_and(|plan| plan.from.photo_file_id.is_some()) {
            t!("The photo of the record to remove is deleted.")
        } else {
            ""
        },
        loses_confirmation: plan.as_ref().is_some_and(MergePlan::loses_confirmation),
        same_teams: plan.as_ref().map_or(0, |plan| plan.pairs().count()),
        from,
        into,
        fields,
        form,
        problem,
    };
    render(status, &page)
}

/// The values of both records and of the result. Without a plan, the result is empty.
fn compare(
    db: &Reader<'_>,
    (from, into): (&Person, &Person),
    plan: Option<&MergePlan>,
) -> Result<Vec<ComparedField>> {
    let text = |of: fn(&Person) -> &Option<String>| {
        let value = move |person: &Person| of(person).clone().unwrap_or_default();
        [value(from), value(into), plan.map(|plan| value(&plan.merged)).unwrap_or_default()]
    };
    let day = |person: &Person| person.birth_date.map(day_text).unwrap_or_default();
    let birth_date = match plan.filter(|_| !different_birth_dates(from, into)) {
        Some(plan) => day(&plan.merged),
        None => String::new(),
    };
    let note = |person: &Person| match person.medical_note {
        Some(_) => t!("Recorded").to_owned(),
        None => String::new(),
    };
    let merged = plan.map_or(into, |plan| &plan.merged);
    let guardians = |people: &[PersonId]| -> Result<String> {
        let links = guardian::list_for(db, people)?;
        let mut names: Vec<_> =
            links.iter().map(|link| person::display_name(&link.guardian)).collect();
        names.sort();
        names.dedup();
        Ok(names.join(", "))
    };
    let field =
        |label, [from, into, merged]: [String; 3]| ComparedField { label, from, into, merged };
    let first = |person: &Person| person.first_name.clone();
    let fields = vec![
        field(t!("First name"), [first(from), first(into), first(merged)]),
        field(t!("Last name"), text(|person| &person.last_name)),
        field(t!("Preferred name"), text(|person| &person.preferred_name)),
        field(t!("Birth date"), [day(from), day(into), birth_date]),
        field(t!("Email"), text(|person| &person.email)),
        field(t!("Phone"), text(|person| &person.phone)),
        field(t!("Address"), text(|person| &person.address)),
        field(t!("Emergency contact"), text(|person| &person.emergency_contact)),
        field(t!("Medical note"), [note(from), note(into), note(merged)]),
        field(
            t!("Guardians"),
            [guardians(&[from.id])?, guardians(&[into.id])?, guardians(&[from.id, into.id])?],
        ),
    ];
    let is_known = |field: &ComparedField| !field.from.is_empty() || !field.into.is_empty();
    Ok(fields.into_iter().filter(is_known).collect())
}

/// Merges the records.
pub(super) async fn merge(
    PathParams(id): PathParams<PersonId>,
    AdminForm { visitor, form }: AdminForm,
) -> PageResult {
    let from = find(&visitor, id).await?;
    let into = form.text("into").parse().map_err(|_| Error::not_found())?;
    let into = find(&visitor, into).await?;
    visitor.require_recent_authentication(&compare_path(id, into.id))?;
    let is_open = different_birth_dates(&from, &into);
    let mut form = FilledForm::submitted(FIELDS, &form).only_if(is_open, "birth_date");
    if form.text("seen") != format!("{}.{}", from.version, into.version) {
        form.faults = Faults::edit_conflict();
        return compare_page(&visitor, from, into, form).await;
    }
    let body = form.body();
    if !form.faults.is_empty() {
        return compare_page(&visitor, from, into, form).await;
    }
    let birth_date = body["birth_date"].as_str().and_then(|day| day.parse().ok());
    let request = MergeRequest {
        into_person_id: into.id,
        birth_date: birth_date.map_or(Change::Keep, Change::Set),
    };
    let expected = IfMatch::Versions(vec![from.version]);
    let work = move |tx: &Tx<'_>| person_merge::merge(tx, id, &expected, &request);
    if form.accept(visitor.write(work).await)?.is_some() {
        return Ok(see_other(&format!("{}?done=merged", path(into.id))));
    }
    compare_page(&visitor, from, into, form).await
}
