//! `/people/{person}`: everything about one person.

use super::{Admin, AdminForm, FLASH_MESSAGES, find, path};
use crate::admin::users::{self, ClubUser};
use crate::away_dates::away_date::{self, AwayDate};
use crate::dues::statement::{self, Total};
use crate::files::pages;
use crate::joining::invitation::{self, Relation};
use crate::names::Names;
use crate::prelude::*;
use crate::roster::attendance_summary::{AttendanceSummary, FIND_ATTENDANCE};
use crate::roster::guardian;
use crate::roster::membership::MemberStatus;
use crate::roster::pages::ContactLinks;
use crate::roster::person::{self, Person};
use crate::roster::profile::{self, Private, Profile};
use crate::roster::safeguarding;
use crate::shop::listing;
use crate::shop::order::OrderRecord;
use crate::web::prelude::*;

/// The maximum number of orders on the page, newest first.
const MAX_ORDERS: i64 = 5;

/// A team of the person.
struct TeamRow {
    href: String,
    name: String,
    role: &'static str,
    status: MemberStatus,
    attendance: AttendanceSummary,
}

impl TeamRow {
    /// The role, and the attendance if there is any.
    fn about(&self) -> String {
        let AttendanceSummary { there, total, .. } = self.attendance;
        if total == 0 {
            return self.role.to_owned();
        }
        let attendance = t!("Present at {count} of {total} events", count = there, total);
        format!("{} · {attendance}", self.role)
    }
}

/// A person that this one is a guardian of.
struct DependentRow {
    href: String,
    name: String,
    relationship: Option<String>,
    confirmed: bool,
}

/// Everything that the page shows.
struct PersonData {
    person: Person,
    private: Private,
    teams: Vec<TeamRow>,
    dependents: Vec<DependentRow>,
    user: Option<ClubUser>,
    /// Invited email addresses, and what the invited users will be.
    invitations: Vec<(String, &'static str)>,
    totals: Vec<Total>,
    orders: Vec<OrderRecord>,
    /// When the person is away, from now on.
    away: Vec<AwayDate>,
}

#[derive(Template)]
#[template(path = "people/person.html")]
struct PersonPage {
    frame: Frame,
    data: PersonData,
    now: Timestamp,
}

impl PersonPage {
    fn id(&self) -> PersonId {
        self.data.person.id
    }

    fn path(&self, below: &str) -> String {
        format!("{}{below}", path(self.id()))
    }

    /// The page with the dues that the person pays.
    fn dues_href(&self) -> String {
        format!("/admin/dues?payer={}", self.id())
    }

    /// The form of an invitation to sign in as this person or, for a minor, as a guardian.
    fn invite_href(&self) -> String {
        let relation = if self.data.private.is_minor { "guardian" } else { "self" };
        format!("/admin/members/invite?person={}&relation={relation}", self.id())
    }

    fn contact(&self) -> ContactLinks {
        let Person { phone, email, .. } = &self.data.person;
        ContactLinks::new(phone.as_deref(), email.as_deref())
    }

    /// The URL of the photo.
    fn photo(&self) -> Option<String> {
        self.data.private.photo_file_id.map(pages::thumbnail_url)
    }

    fn audit_href(&self) -> String {
        format!("/admin/audit?subject={}", self.id())
    }

    fn is_erased(&self) -> bool {
        self.data.person.erased_at.is_some()
    }

    /// Whether nothing was ever charged.
    fn owes_nothing(&self) -> bool {
        self.data.totals.iter().all(|total| total.sums.charged == 0)
    }
}

pub(super) async fn show(PathParams(id): PathParams<PersonId>, visitor: Admin) -> PageResult {
    let person = find(&visitor, id).await?;
    let data = visitor.read(move |db| load(db, person)).await?;
    let frame = visitor.frame(person::display_name(&data.person), Section::People);
    let frame = frame.flash(visitor.guest.done_flash(&FLASH_MESSAGES));
    let now = visitor.app().clock.now();
    render(StatusCode::OK, &PersonPage { frame, data, now })
}

fn load(db: &Reader<'_>, person: Person) -> Result<PersonData> {
    let id = person.id;
    let profile = profile::show(db, &TeamAccess::AllTeams, id)?;
    let user = person.user_id.map(|user| users::find(db, user).or_none()).transpose()?;
    Ok(PersonData {
        teams: teams(db, &profile)?,
        dependents: dependents(db, id)?,
        user: user.flatten(),
        invitations: invitations(db, id)?,
        totals: statement::of_payers(db, &[id], true, &[])?,
        orders: listing::list_by_buyer(db, id, MAX_ORDERS)?,
        away: away_date::open_of(db, id)?,
        private: profile.private.ok_or_else(Error::not_found)?,
        person,
    })
}

/// The teams, current ones first.
fn teams(db: &Reader<'_>, profile: &Profile) -> Result<Vec<TeamRow>> {
    let ids: Vec<_> = profile.memberships.iter().map(|one| one.team_id.to_string()).collect();
    let names = Names::load(db, ids.iter().map(String::as_str))?;
    let row = |(one, id): (&profile::TeamMembership, &String)| {
        Ok(TeamRow {
            href: format!("/teams/{id}/roster/{}", one.member_id),
            name: names.get_or_id(id).to_owned(),
            role: one.role.label(),
            status: one.status,
            attendance: FIND_ATTENDANCE.get()?(db, one.member_id)?,
        })
    };
    let teams = profile.memberships.iter().zip(&ids).map(row);
    let mut teams = teams.collect::<Result<Vec<_>>>()?;
    teams.sort_by_key(|team| team.status == MemberStatus::Removed);
    Ok(teams)
}

fn invitations(db: &Reader<'_>, id: PersonId) -> Result<Vec<(String, &'static str)>> {
    let open = invitation::list_open_for_person(db, id)?.into_iter();
    let row = |one: invitation::Invitation| match one.relation {
        Some(Relation::Guardian) => (one.email.unwrap_or_default(), t!("Invited as a guardian")),
        _ => (one.email.unwrap_or_default(), t!("Invited to sign in as this person")),
    };
    Ok(open.map(row).collect())
}

fn dependents(db: &Reader<'_>, id: PersonId) -> Result<Vec<DependentRow>> {
    let links = guardian::list_by_guardian(db, &[id])?;
    let children = person::find_many(db, links.iter().map(|one| one.person_id).collect())?;
    let row = |link: guardian::Guardianship| {
        Some(DependentRow {
            href: path(link.person_id),
            name: person::display_name(children.get(&link.person_id)?),
            relationship: link.relationship,
            confirmed: link.confirmed,
        })
    };
    Ok(links.into_iter().filter_map(row).collect())
}

/// Confirms that the person is an adult known to the club.
pub(super) async fn confirm_adult(
    PathParams(id): PathParams<PersonId>,
    posted: AdminForm,
) -> PageResult {
    let work =
        move |tx: &Tx<'_>| safeguarding::confirm_adult(tx, &TeamAccess::AllTeams, id).map(drop);
    posted.visitor.write(work).await?;
    Ok(see_other(&format!("{}?done=confirmed", path(id))))
}

/// Treats the person as a minor.
pub(super) async fn mark_minor(
    PathParams(id): PathParams<PersonId>,
    posted: AdminForm,
) -> PageResult {
    let work = move |tx: &Tx<'_>| safeguarding::mark_minor(tx, &TeamAccess::AllTeams, id).map(drop);
    posted.visitor.write(work).await?;
    Ok(see_other(&format!("{}?done=minor", path(id))))
}
