//! `/people`: the people of the club by name, and records that may be of the same person.

use std::collections::BTreeMap;

use super::{Admin, FLASH_MESSAGES, PEOPLE, path};
use crate::error::MatchedOn;
use crate::prelude::*;
use crate::roster::confirmations;
use crate::roster::directory::{self, DirectoryFilter, Relation};
use crate::roster::duplicates::{self, PossibleDuplicate};
use crate::roster::person::{self, Person};
use crate::roster::safeguarding;
use crate::teams::team::{self, TeamFilter};
use crate::web::list::FilterBar;
use crate::web::prelude::*;

/// The value of the filter by team for people who are on none.
const NO_TEAM: &str = "none";
/// The maximum number of teams in the filter.
const MAX_TEAMS: i64 = 200;
const RELATIONS: [(Relation, &str); 5] = [
    (Relation::Player, mark!("Players")),
    (Relation::Coach, mark!("Coaches")),
    (Relation::Manager, mark!("Managers")),
    (Relation::Staff, mark!("Other staff")),
    (Relation::Guardian, mark!("Parents and guardians")),
];

/// A person in a list.
pub(super) struct PersonRow {
    pub href: String,
    pub name: String,
    /// What they are in the club, such as "Coach of Hawks".
    pub roles: Vec<String>,
    /// Email address or phone number.
    pub contact: Option<String>,
    pub is_minor: bool,
}

/// The rows of these people, in the same order.
pub(super) fn rows(db: &Reader<'_>, people: &[Person]) -> Result<Vec<PersonRow>> {
    let ids: Vec<_> = people.iter().map(|person| person.id).collect();
    let minors = safeguarding::minors(db, &ids.iter().copied().collect())?;
    let mut roles: BTreeMap<PersonId, Vec<String>> = confirmations::descriptions(db, ids)?;
    let row = |person: &Person| PersonRow {
        href: path(person.id),
        name: person::display_name(person),
        roles: roles.remove(&person.id).unwrap_or_default(),
        contact: person.email.clone().or_else(|| person.phone.clone()),
        is_minor: minors.contains(&person.id),
    };
    Ok(people.iter().map(row).collect())
}

/// The filters of the directory.
pub(super) fn filter_bar(query: &Form) -> FilterBar {
    FilterBar::new(query)
        .input("q", "Name, email or phone", "search")
        .select("role", "Role", "All", RELATIONS.map(|(of, label)| (of.as_str(), label)))
        .select("team", "Team", "All", [(NO_TEAM, t!("Not on a team"))])
        .select("age", "Age", "All", [("minor", "Minors")])
        .clear(PEOPLE)
}

/// The people that the filters ask for.
pub(super) fn read_filter(filters: &FilterBar) -> DirectoryFilter {
    DirectoryFilter {
        text: filters.search("q").map(|text| text.chars().take(120).collect()),
        relation: Relation::parse(filters.text("role")),
        team: filters.value("team"),
        without_team: filters.text("team") == NO_TEAM,
        minors: filters.text("age") == "minor",
        except: None,
    }
}

#[derive(Template)]
#[template(path = "people/directory.html")]
struct DirectoryPage {
    frame: Frame,
    filters: FilterBar,
    rows: Vec<PersonRow>,
    next: String,
    duplicates: usize,
}

/// What the page shows besides the people.
struct DirectoryData {
    rows: Vec<PersonRow>,
    teams: Vec<(TeamId, String)>,
    duplicates: usize,
}

pub(super) async fn list(visitor: Admin) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Asc)?;
    let filters = filter_bar(&request.form);
    let filter = read_filter(&filters);
    let is_first = request.form.optional("cursor").is_none();
    let read = move |db: &Reader<'_>, page: &_| directory::list(db, &filter, page);
    let RowPage { rows: people, next } = RowPage::read(&visitor, &request, read).await?;
    let people: Vec<_> = people.into_iter().map(|entry| entry.0).collect();
    let read = move |db: &Reader<'_>| {
        let page = Page { limit: MAX_TEAMS, order: Order::Asc, last: None };
        let teams = team::list(db, &TeamAccess::AllTeams, &TeamFilter::default(), &page)?;
        let teams = teams.into_iter().map(|team| (team.id, team.name)).collect();
        let duplicates = if is_first { duplicates::list(db)?.len() } else { 0 };
        Ok(DirectoryData { rows: rows(db, &people)?, teams, duplicates })
    };
    let DirectoryData { rows, teams, duplicates } = visitor.read(read).await?;
    let filters = filters.options("team", teams);
    let frame = visitor.frame(t!("People"), Section::People);
    let frame = frame.flash(visitor.guest.done_flash(&FLASH_MESSAGES));
    let duplicates = if filters.is_active() { 0 } else { duplicates };
    render(StatusCode::OK, &DirectoryPage { frame, filters, rows, next, duplicates })
}

/// Two records that may be of the same person.
struct Pair {
    first: PersonRow,
    second: PersonRow,
    reason: &'static str,
    /// The page that compares them.
    compare: String,
}

impl Pair {
    fn rows(&self) -> [&PersonRow; 2] {
        [&self.first, &self.second]
    }
}

#[derive(Template)]
#[template(path = "people/duplicates.html")]
struct DuplicatesPage {
    frame: Frame,
    pairs: Vec<Pair>,
}

pub(super) async fn duplicates(visitor: Admin) -> PageResult {
    let pairs = visitor.read(|db: &Reader<'_>| {
        let found = duplicates::list(db)?.into_iter();
        found.map(|one| pair(db, &one)).collect::<Result<Vec<_>>>()
    });
    let pairs = pairs.await?;
    let frame = visitor.frame(t!("Possible duplicates"), Section::People);
    render(StatusCode::OK, &DuplicatesPage { frame, pairs })
}

fn pair(db: &Reader<'_>, one: &PossibleDuplicate) -> Result<Pair> {
    let PossibleDuplicate { older, newer, matched_on } = one;
    let mut rows = rows(db, &[older.clone(), newer.clone()])?.into_iter();
    let (first, second) = rows.next().zip(rows.next()).ok_or_else(Error::not_found)?;
    let reason = match matched_on {
        Some(MatchedOn::NameAndBirthDate) => t!("Same name and birth date"),
        Some(MatchedOn::Email) => t!("Same email address"),
        Some(MatchedOn::NameAndTeam) | None => t!("Same name"),
    };
    let compare = format!("{}/merge?into={}", path(newer.id), older.id);
    Ok(Pair { first, second, reason, compare })
}
