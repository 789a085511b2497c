//! The JSON representation of a person, with their teams and dependents.

use std::collections::BTreeMap;

use kit::text;
use macros::{input, query};

use super::api;
use super::guardian::{self, Guardian};
use super::guards;
use super::guards::report_admin_only;
use super::membership::{self, MemberStatus, Role};
use super::merge;
use super::person::{self, Person, PersonChange, VISIBLE_FILTER};
use super::photo;
use super::safeguarding;
use super::version_cascade;
use crate::paging::page_sql;
use crate::prelude::*;

/// Private data of a person. Included in single objects, in lists only with `include=private`, and never in
/// notifications.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Private {
    /// Birth date of the person.
    #[schema(value_type = Option<String>, format = Date, examples("2014-02-27"))]
    pub birth_date: Option<Day>,
    /// Email address of the person.
    #[schema(examples("ines@example.org"))]
    pub email: Option<String>,
    /// Phone number as it was entered.
    #[schema(examples("912 345 678"), max_length = 40)]
    pub phone: Option<String>,
    /// Digits of the phone number, with a leading `+` if it has a country code; `null` if it has too few digits.
    #[schema(examples("912345678"))]
    pub phone_normalized: Option<String>,
    /// Postal address of the person.
    #[schema(max_length = 500)]
    pub address: Option<String>,
    /// Emergency contact of the person.
    #[schema(max_length = 500)]
    pub emergency_contact: Option<String>,
    /// Medical note, such as allergies. Every read of a note is recorded in the audit log.
    #[schema(max_length = 10000)]
    pub medical_note: Option<String>,
    /// ID of the file with the person's photo.
    pub photo_file_id: Option<FileId>,
    /// Guardians of the person.
    #[schema(required = false)]
    pub guardians: Vec<Guardian>,
    /// Whether the person is treated as a minor. A known minor is treated as one until an admin confirms that they are
    /// an adult.
    #[schema(required = false, examples(true))]
    pub is_minor: bool,
    /// When an admin confirmed that the person is an adult. Only confirmed adults count as the second adult in
    /// conversations with minors.
    pub adult_confirmed_at: Option<Timestamp>,
    /// When the person confirmed their email address.
    pub email_confirmed_at: Option<Timestamp>,
}

impl Private {
    /// Private data of these people, by id.
    pub(super) fn load(
        db: &Reader<'_>,
        people: &BTreeMap<PersonId, Person>,
    ) -> Result<BTreeMap<PersonId, Self>> {
        let ids: Vec<_> = people.keys().copied().collect();
        let mut guardians: BTreeMap<PersonId, Vec<Guardian>> = BTreeMap::new();
        for link in guardian::list_for(db, &ids)? {
            guardians.entry(link.guardianship.person_id).or_default().push((&link).into());
        }
        let minors = safeguarding::minors(db, &ids.iter().copied().collect())?;
        let private = |person: &Person| {
            copy_fields! {
                Self {
                    is_minor: minors.contains(&person.id),
                    guardians: guardians.get(&person.id).cloned().unwrap_or_default(),
                    ..&person {
                        birth_date, email, phone, phone_normalized, address, emergency_contact,
                        medical_note, photo_file_id, adult_confirmed_at, email_confirmed_at,
                    }
                }
            }
        };
        Ok(people.values().map(|person| (person.id, private(person))).collect())
    }
}

/// A person: a player, a coach, a guardian, or several of these.
#[macros::object("person")]
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Person)]
pub struct Profile {
    /// Unique ID of the person.
    pub id: PersonId,
    #[serde(skip)]
    pub account_id: AccountId,
    /// First name of the person.
    #[schema(examples("Inês"), max_length = 120)]
    pub first_name: String,
    /// Last name of the person.
    #[schema(examples("Duarte"), max_length = 120)]
    pub last_name: Option<String>,
    /// Name that the person goes by, if it is not the first name.
    #[schema(max_length = 120)]
    pub preferred_name: Option<String>,
    /// Whether the person accepts emails from the club.
    #[schema(examples(true))]
    pub email_opt_in: bool,
    /// Current and former memberships of the person.
    pub memberships: Vec<TeamMembership>,
    /// IDs of the people that this person is a guardian of.
    pub dependent_ids: Vec<PersonId>,
    /// ID of the user who signs in as this person; `null` if nobody does.
    pub user_id: Option<UserId>,
    /// When the personal data of the person was erased; `null` if it was not.
    pub erased_at: Option<Timestamp>,
    /// When the person was created.
    pub created_at: Timestamp,
    /// When the person last changed.
    pub updated_at: Timestamp,
    /// Increases with every change, including changes of their teams, dependents and guardians.
    pub version: i64,
    #[serde(flatten)]
    pub private: Option<Private>,
}

/// A membership of a person in a team.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = PersonMembership)]
pub struct TeamMembership {
    /// ID of the membership: the `id` of the member on that team.
    pub member_id: MemberId,
    /// Team of the member.
    pub team_id: TeamId,
    /// Role on the team.
    pub role: Role,
    /// Status on the team.
    pub status: MemberStatus,
}

impl_resource!(Profile by PersonId: Subject Versioned Paged);

/// Changes to a person. They apply to all teams that the person is on.
#[input(as = UpdatePersonRequest)]
pub struct ProfileChange {
    #[serde(flatten)]
    #[input(flatten)]
    pub person: PersonChange,
    /// Whether the person accepts emails from the club.
    pub email_opt_in: Change<bool>,
    /// ID of the file with the person's photo, uploaded with the purpose `photo`. Only an admin or a confirmed guardian can
    /// set the photo of a minor.
    pub photo_file_id: Change<FileId>,
    /// Confirms that a guardian agreed to the photo of a minor. Required if an admin or an API key sets one.
    #[input(default)]
    pub photo_consent: bool,
}

/// Filters for listing people.
#[query(items = "people")]
#[derive(Default)]
pub struct PeopleFilter {
    /// Only people whose name or preferred name contains this text (case-insensitive).
    #[param(line(120))]
    pub q: Option<String>,
    pub updated_since: Option<Timestamp>,
    /// Only people with this email address (case-insensitive).
    #[param(line(254))]
    pub email: Option<String>,
    /// `private` includes contact data, birth dates, medical notes and guardians.
    #[param(name = "include", with(api::include_private), schema(value_type = Option<api::Include>, inline))]
    pub private: bool,
}

/// One person with private data.
pub fn show(db: &Reader<'_>, access: &TeamAccess, id: PersonId) -> Result<Profile> {
    let person = merge::or_gone(db, access, id, person::find_visible(db, access, id))?;
    to_profiles(db, access, vec![person], true)?.pop().ok_or_else(Error::not_found)
}

/// One person as in notifications: without private data.
pub(super) fn snapshot(db: &Reader<'_>, id: PersonId) -> Result<Profile> {
    let person = person::find(db, id)?;
    to_profiles(db, &TeamAccess::AllTeams, vec![person], false)?.pop().ok_or_else(Error::not_found)
}

/// A page of people, in order of creation.
pub fn list(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &PeopleFilter,
    page: &Page<PersonId>,
) -> Result<Vec<Profile>> {
    let pattern = filter.q.as_deref().map(text::contains_pattern);
    let email = filter.email.as_deref().map(text::fold_case);
    let updated_since = filter.updated_since;
    let (after, limit) = page.bounds();
    let (narrowed, teams) = access.team_filter();
    let text = if narrowed {
        page_sql!(page, Person::SELECT, FILTER, VISIBLE_FILTER)
    } else {
        page_sql!(page, Person::SELECT, FILTER)
    };
    let people = db.all(text, bind! { after, limit, pattern, email, updated_since, teams })?;
    to_profiles(db, access, people, filter.private)
}

const FILTER: &str = "
    where account_id = :account
      and (cast(:email as text) is null or email_folded = :email)
      and (cast(:updated_since as bigint) is null or updated_at >= :updated_since)
      and (cast(:pattern as text) is null or name_folded like :pattern escape '\\'
           or preferred_folded like :pattern escape '\\')";

/// Updates a person. If nothing changes, nothing is published.
pub fn change(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: PersonId,
    expected: &IfMatch,
    change: ProfileChange,
) -> Result<Profile> {
    let before =
        expected.check(merge::or_gone(tx, access, id, person::find_visible(tx, access, id)))?;
    Error::invalid_state("This person was erased.").fail_if(before.erased_at.is_some())?;
    let email_opt_in = change.email_opt_in.apply_or(before.email_opt_in, true);
    let photo_file_id = change.photo_file_id.apply(before.photo_file_id);
    let after = Person { photo_file_id, email_opt_in, ..change.person.apply(&before) };
    let mut violations = Violations::default();
    person::validate(&after, tx.now(), &mut violations);
    if let Some(field) = guards::forbidden_contact_change(tx, access, &before, &after)? {
        report_admin_only(&mut violations, format!("/{field}"));
    }
    let after = safeguarding::clear_confirmation_on_new_email(tx, access, &before, after)?;
    safeguarding::check_change(tx, access, (&before, &after), &mut violations)?;
    photo::replace(tx, access, (&before, &after), change.photo_consent, &mut violations)?;
    violations.finish()?;
    if after != before {
        safeguarding::record_change(tx, &before, &after)?;
        version_cascade::save_person(tx, before, &after)?;
    }
    show(tx, access, id)
}

/// The JSON representations of people, in the same order. Teams and family members that the caller may not see are left
/// out.
pub(super) fn to_profiles(
    db: &Reader<'_>,
    access: &TeamAccess,
    people: Vec<Person>,
    private: bool,
) -> Result<Vec<Profile>> {
    let ids: Vec<_> = people.iter().map(|person| person.id).collect();
    let memberships = membership::list_for(db, ids.clone())?;
    let guardianships = guardian::list_by_guardian(db, &ids)?;
    let known = people.iter().map(|person| (person.id, person.clone())).collect();
    let mut details = if private { Private::load(db, &known)? } else { BTreeMap::new() };
    let guardians = details.values().flat_map(|private| &private.guardians);
    let children = guardianships.iter().map(|one| one.person_id);
    let others = children.chain(guardians.map(|guardian| guardian.id));
    let visible = person::filter_visible(db, access, &others.collect::<Vec<_>>())?;
    for (person, private) in &mut details {
        // A guardian sees the other guardians of their child.
        let is_family = access.is_family(*person);
        private.guardians.retain(|guardian| is_family || visible.contains(&guardian.id));
    }
    let profile = |person: Person| {
        let own = memberships.iter().filter(|m| m.person_id == person.id);
        let visible_to_caller = own.filter(|m| access.check(m.team_id).is_ok());
        let memberships = visible_to_caller.map(
            |m| copy_fields! { TeamMembership { member_id: m.id, ..m { team_id, role, status } } },
        );
        let own = guardianships.iter().filter(|one| one.guardian_id == person.id);
        let dependents = own.map(|one| one.person_id).filter(|child| visible.contains(child));
        copy_fields! {
            Profile {
                memberships: memberships.collect(),
                dependent_ids: dependents.collect(),
                private: details.remove(&person.id),
                ..person {
                    id, account_id, first_name, last_name, preferred_name, email_opt_in, user_id,
                    erased_at, created_at, updated_at, version,
                }
            }
        }
    };
    Ok(people.into_iter().map(profile).collect())
}
