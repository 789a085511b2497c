//! `/teams/{team}/roster`: everybody on a team, players and staff in groups.

use std::collections::{BTreeMap, BTreeSet};

use super::{RosterReader, name_of, role_name, roster_path, status_tag};
use crate::files::pages;
use crate::prelude::*;
use crate::roster::member::{self, Member, MemberFilter};
use crate::roster::membership::{MemberStatus, Role};
use crate::roster::{guardian, person, safeguarding};
use crate::teams::header::TeamHeader;
use crate::teams::team::Status;
use crate::web::list::FilterBar;
use crate::web::prelude::*;

/// Maximum number of people on the page. Others are found by their name.
const MAX_MEMBERS: i64 = 500;
/// The values of the status filter that are not a status.
const NO_PARENT: &str = "no_parent";
const NOT_SIGNED_UP: &str = "not_signed_up";

const DONE: [(&str, &str); 4] = [
    ("created", mark!("Team added. Next, add people to it.")),
    ("team", mark!("Changes saved.")),
    ("pasted", mark!("The people are on the roster now.")),
    ("removed", mark!("The person is no longer on this team.")),
];

/// A row of the list.
struct Row {
    href: String,
    name: String,
    /// The jersey number. Staff have initials.
    number: Option<String>,
    /// The URL of the photo; empty if there is none, or the visitor may not see it.
    photo: String,
    role: Role,
    about: String,
    /// The kind and label of what is unusual.
    tag: Option<(&'static str, &'static str)>,
}

#[derive(Template)]
#[template(path = "roster/list.html")]
struct ListPage {
    frame: Frame,
    header: TeamHeader,
    filters: FilterBar,
    players: Vec<Row>,
    staff: Vec<Row>,
    /// Whether there are more people than the page shows.
    is_cut: bool,
    can_change: bool,
}

impl ListPage {
    /// The path of a page below the roster.
    fn path(&self, below: &str) -> String {
        format!("{}{below}", roster_path(self.header.team.id))
    }

    /// The form for a link with which people ask to join the team.
    fn team_link(&self) -> String {
        format!("/account/claims?team={}#link", self.header.team.id)
    }
}

/// Which people have no guardian, or nobody who signs in for them. Only for staff.
#[derive(Default)]
struct Gaps {
    without_parent: BTreeSet<MemberId>,
    not_signed_up: BTreeSet<MemberId>,
}

impl Gaps {
    fn load(db: &Reader<'_>, members: &[Member]) -> Result<Self> {
        let people: Vec<_> = members.iter().map(|member| member.person_id).collect();
        if people.is_empty() {
            return Ok(Self::default());
        }
        let links = guardian::list_for(db, &people)?;
        let minors = safeguarding::minors(db, &people.into_iter().collect())?;
        let guardians_of = |member: &Member| {
            let person = member.person_id;
            links.iter().filter(move |link| link.guardianship.person_id == person)
        };
        let has_no_parent = |member: &&Member| {
            member.role == Role::Player
                && minors.contains(&member.person_id)
                && guardians_of(member).next().is_none()
        };
        let has_no_user = |member: &&Member| {
            member.user_id.is_none()
                && guardians_of(member).all(|link| link.guardian.user_id.is_none())
        };
        Ok(Self {
            without_parent: members.iter().filter(has_no_parent).map(|one| one.id).collect(),
            not_signed_up: members.iter().filter(has_no_user).map(|one| one.id).collect(),
        })
    }

    fn tag(&self, member: &Member) -> Option<(&'static str, &'static str)> {
        if let Some(tag) = status_tag(member.status) {
            Some(tag)
        } else if self.without_parent.contains(&member.id) {
            Some(("may", t!("No parent yet")))
        } else {
            None
        }
    }
}

fn row(team: TeamId, member: &Member, gaps: &Gaps, photos: &Photos) -> Row {
    let positions = member.positions.0.join(", ");
    let photo = photos.get(&member.person_id).copied().map(pages::thumbnail_url);
    // The number is on a jersey unless there is a photo in its place.
    let number = member.jersey_number.as_ref().filter(|_| photo.is_some());
    let number = number.map(|number| t!("No. {number}", number));
    let role = (member.role != Role::Player).then(|| role_name(member.role).to_owned());
    let is_missing = gaps.not_signed_up.contains(&member.id);
    let not_signed_up = is_missing.then(|| t!("not signed up").to_owned());
    let positions = Some(positions).filter(|text| !text.is_empty());
    let about = [number, role, positions, not_signed_up];
    Row {
        href: super::member_path(team, member.id),
        name: name_of(member),
        number: member.jersey_number.clone(),
        photo: photo.unwrap_or_default(),
        role: member.role,
        about: about.into_iter().flatten().collect::<Vec<_>>().join(" · "),
        tag: gaps.tag(member),
    }
}

/// The photos of people.
type Photos = BTreeMap<PersonId, FileId>;

/// The photos that the visitor may see: coaches those of the team and of people who left it for another of their teams,
/// families their own.
fn photos(
    db: &Reader<'_>,
    access: &TeamAccess,
    is_staff: bool,
    members: &[Member],
) -> Result<Photos> {
    let (_, family) = access.own_and_family_ids();
    let people = members.iter().map(|member| member.person_id);
    let people: Vec<_> = people.filter(|id| is_staff || family.contains(id)).collect();
    let visible = person::filter_visible(db, access, &people)?;
    person::photos(db, visible.into_iter().collect())
}

/// Players are sorted by number, then by name.
fn sort_key(member: &Member) -> (u32, String) {
    let number = member.jersey_number.as_ref().and_then(|number| number.parse().ok());
    (number.unwrap_or(u32::MAX), kit::text::fold_case(&name_of(member)))
}

fn filter_bar(query: &Form, is_staff: bool) -> FilterBar {
    let mut choices = vec![
        (MemberStatus::Active.as_str(), t!("Active")),
        (MemberStatus::Injured.as_str(), t!("Injured")),
        (MemberStatus::Inactive.as_str(), t!("Inactive")),
        (MemberStatus::Removed.as_str(), t!("Left the team")),
    ];
    if is_staff {
        choices.extend([(NO_PARENT, t!("No parent yet")), (NOT_SIGNED_UP, t!("Not signed up"))]);
    }
    FilterBar::new(query).input("q", "Name", "search").select(
        "status",
        "Show",
        "Everybody",
        choices,
    )
}

pub(super) async fn show(
    visitor: RosterReader,
    PathParams(team): PathParams<TeamId>,
) -> PageResult {
    let access = visitor.team_access().await?;
    let query = visitor.guest.query()?;
    let filters = filter_bar(&query, access.has_full_access(team));
    let chosen = filters.text("status").to_owned();
    let status = MemberStatus::parse(&chosen);
    let filter = MemberFilter {
        status,
        excluded_status: status.is_none().then_some(MemberStatus::Removed),
        q: filters.search("q"),
        ..MemberFilter::default()
    };
    let page = Page { limit: MAX_MEMBERS, order: Order::Asc, last: None };
    let read = move |db: &Reader<'_>| {
        let header = TeamHeader::load(db, &access, team)?;
        let mut members = member::list(db, team, &filter, &page)?;
        let gaps = if header.is_staff { Gaps::load(db, &members)? } else { Gaps::default() };
        let photos = photos(db, &access, header.is_staff, &members)?;
        match chosen.as_str() {
            NO_PARENT => members.retain(|member| gaps.without_parent.contains(&member.id)),
            NOT_SIGNED_UP => members.retain(|member| gaps.not_signed_up.contains(&member.id)),
            _ => {}
        }
        Ok((header, members, gaps, photos))
    };
    let (header, mut members, gaps, photos) = visitor.read(read).await?;
    let limit = usize::try_from(MAX_MEMBERS).unwrap_or(usize::MAX);
    let is_cut = members.len() > limit;
    members.truncate(limit);
    members.sort_by_cached_key(sort_key);
    let rows = members.iter().map(|member| row(team, member, &gaps, &photos));
    let (players, staff) = rows.partition(|row| row.role == Role::Player);
    let frame = visitor.frame(header.team.name.clone(), Section::MyTeams).team(team);
    let frame = frame.flash(visitor.guest.done_flash(&DONE));
    let can_change = header.is_staff && header.team.status == Status::Active;
    render(StatusCode::OK, &ListPage { frame, header, filters, players, staff, is_cut, can_change })
}
