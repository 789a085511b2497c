//! The directory: all people of the club, by name, with what they are in it.

use kit::text;
use kit::{contact, string_enum};

use super::membership::Role;
use super::person::{self, Person};
use crate::paging::page_sql;
use crate::prelude::*;

string_enum! {
    /// What people are in the club.
    pub enum Relation as DirectoryRelation {
        Player = "player",
        Coach = "coach",
        Manager = "manager",
        Staff = "staff",
        Guardian = "guardian",
    }
}

/// A filter of the directory.
#[derive(Debug, Clone, Default)]
pub struct DirectoryFilter {
    /// Part of a name, an email address or a phone number.
    pub text: Option<String>,
    pub relation: Option<Relation>,
    /// Only members of this team and their guardians.
    pub team: Option<TeamId>,
    /// Only people who are on no team.
    pub without_team: bool,
    /// Only people who are treated as minors.
    pub minors: bool,
    /// This person is left out.
    pub except: Option<PersonId>,
}

/// A person in the order of the directory.
#[derive(Debug, Clone)]
pub struct DirectoryEntry(pub Person);

impl store::Record for DirectoryEntry {
    fn read(row: &mut store::Row<'_>) -> store::Result<Self> {
        Person::read(row).map(Self)
    }
}

impl Paged for DirectoryEntry {
    type SortKey = (String, PersonId);

    fn sort_key(&self) -> Self::SortKey {
        (self.0.name_folded.clone(), self.0.id)
    }
}

/// A page of the people of the club, by name. Erased people are left out.
pub fn list(
    db: &Reader<'_>,
    filter: &DirectoryFilter,
    page: &Page<(String, PersonId)>,
) -> Result<Vec<DirectoryEntry>> {
    let DirectoryFilter { relation, team, without_team, minors, except, .. } = filter;
    let searched = filter.text.as_deref();
    let pattern = searched.map(text::contains_pattern);
    let phone = searched.and_then(phone_pattern);
    let role = relation.and_then(|one| Role::parse(one.as_str()));
    let guardians = *relation == Some(Relation::Guardian);
    let adult_since = person::adult_since(db.now());
    let (after, after_id) =
        page.after((String::new(), PersonId::MIN), (String::new(), PersonId::MIN));
    let limit = page.fetch_limit();
    let text = page_sql!(page, by("name_folded", "id"), Person::SELECT, FILTER);
    Ok(db.all(
        text,
        bind! { pattern, phone, role, guardians, team, without_team, minors, adult_since, except, after, after_id, limit },
    )?)
}

/// The pattern for the digits of a phone number; `None` if the text is not part of one.
fn phone_pattern(part: &str) -> Option<String> {
    if part.contains(char::is_alphabetic) {
        return None;
    }
    let digits = contact::normalize_phone(part)?;
    Some(text::contains_pattern(digits.trim_start_matches(['+', '0'])))
}

const FILTER: &str = "
    where account_id = :account and erased_at is null
      and (cast(:except as bytea) is null or id <> :except)
      and (cast(:pattern as text) is null or name_folded like :pattern escape '\\'
           or preferred_folded like :pattern escape '\\' or email_folded like :pattern escape '\\'
           or phone_normalized like :phone escape '\\')
      and (cast(:role as text) is null or exists (
              select 1 from member m
              where m.account_id = person.account_id and m.person_id = person.id
                and m.role = :role and m.status <> 'removed'))
      and (not cast(:guardians as boolean) or exists (
              select 1 from guardianship g
              where g.account_id = person.account_id and g.guardian_id = person.id))
      and (cast(:team as bytea) is null or exists (
              select 1 from member m
              where m.account_id = person.account_id and m.team_id = :team and m.status <> 'removed'
                and (m.person_id = person.id or m.person_id in (
                    select g.person_id from guardianship g
                    where g.account_id = person.account_id and g.guardian_id = person.id))))
      and (not cast(:without_team as boolean) or not exists (
              select 1 from member m
              where m.account_id = person.account_id and m.person_id = person.id
                and m.status <> 'removed'))
      and (not cast(:minors as boolean) or known_minor or birth_date > :adult_since)";
