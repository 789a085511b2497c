//! What the page of a person on a team shows.

use super::contact_links::ContactLinks;
use super::{name_of, role_name, status_tag};
use crate::files::pages;
use crate::prelude::*;
use crate::roster::attendance_summary::{AttendanceSummary, FIND_ATTENDANCE};
use crate::roster::guardian::{self, GuardianLink, Guardianship};
use crate::roster::member::{self, Member};
use crate::roster::membership::{self, MemberStatus, Role};
use crate::roster::person;
use crate::roster::private_data::redact_member;
use crate::roster::profile::Private;
use crate::teams::header::TeamHeader;
use crate::teams::team::{self, Status};
use crate::web::team_look::TeamLook;

/// A guardian on the page.
pub(super) struct GuardianView {
    pub(super) name: String,
    pub(super) contact: ContactLinks,
    pub(super) guardianship: Guardianship,
    pub(super) signs_in: bool,
}

impl From<&GuardianLink> for GuardianView {
    fn from(link: &GuardianLink) -> Self {
        let GuardianLink { guardianship, guardian } = link;
        Self {
            name: person::display_name(guardian),
            contact: ContactLinks::new(guardian.phone.as_deref(), guardian.email.as_deref()),
            guardianship: guardianship.clone(),
            signs_in: guardian.user_id.is_some(),
        }
    }
}

/// A team of the person.
pub(super) struct TeamView {
    pub(super) href: String,
    pub(super) name: String,
    pub(super) look: TeamLook,
    pub(super) about: String,
}

/// What the visitor may see of a person on a team.
pub(super) struct MemberView {
    pub(super) header: TeamHeader,
    pub(super) member: Member,
    pub(super) name: String,
    pub(super) contact: ContactLinks,
    pub(super) guardians: Vec<GuardianView>,
    /// All teams of the person that the visitor can see.
    pub(super) teams: Vec<TeamView>,
    /// `None` if the visitor may not see it, or there is nothing to show.
    pub(super) attendance: Option<AttendanceSummary>,
}

impl MemberView {
    /// The person as the API shows them to this visitor, with the medical note.
    pub(super) fn load(
        db: &Reader<'_>,
        access: &TeamAccess,
        (team, id): (TeamId, MemberId),
    ) -> Result<Self> {
        let header = TeamHeader::load(db, access, team)?;
        let member = redact_member(access, member::show(db, team, id)?);
        let mut view = Self {
            name: name_of(&member),
            contact: ContactLinks::default(),
            guardians: Vec::new(),
            teams: Vec::new(),
            attendance: None,
            header,
            member,
        };
        if let Some(private) = &view.member.private {
            let Private { phone, email, .. } = private;
            view.contact = ContactLinks::new(phone.as_deref(), email.as_deref());
            let links = guardian::list_for(db, &[view.member.person_id])?;
            view.guardians = links.iter().map(GuardianView::from).collect();
            view.teams = teams(db, access, view.member.person_id)?;
            let attendance = FIND_ATTENDANCE.get()?(db, id)?;
            view.attendance = Some(attendance).filter(|attendance| attendance.total > 0);
        }
        Ok(view)
    }

    pub(super) fn look(&self) -> &TeamLook {
        &self.header.look
    }

    pub(super) fn private(&self) -> Option<&Private> {
        self.member.private.as_ref()
    }

    /// The URL of the photo, for those who may see it.
    pub(super) fn photo(&self) -> Option<String> {
        self.private()?.photo_file_id.map(pages::thumbnail_url)
    }

    /// The form of an invitation to sign in as this person or, for a minor, as a parent.
    pub(super) fn invite_href(&self) -> String {
        let is_minor = self.private().is_some_and(|private| private.is_minor);
        let relation = if is_minor { "guardian" } else { "self" };
        let person = self.member.person_id;
        format!("/admin/members/invite?person={person}&relation={relation}")
    }

    /// Takes the medical note out of the view, so that the page cannot show it.
    pub(super) fn take_note(&mut self) -> Option<String> {
        self.member.private.as_mut().and_then(|private| private.medical_note.take())
    }

    /// Role or positions, and the year of birth.
    pub(super) fn about(&self) -> String {
        let positions = self.member.positions.0.join(", ");
        let role = (self.member.role != Role::Player || positions.is_empty())
            .then(|| role_name(self.member.role).to_owned());
        // The jersey in the header shows the number unless there is a photo.
        let number = self.member.jersey_number.as_ref().filter(|_| self.photo().is_some());
        let number = number.map(|number| t!("No. {number}", number));
        let born = self.private().and_then(|private| private.birth_date);
        let born = born.map(|day| t!("born {year}", year = day.year().to_string()));
        let parts = [number, role, Some(positions).filter(|text| !text.is_empty()), born];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    pub(super) fn tag(&self) -> Option<(&'static str, &'static str)> {
        status_tag(self.member.status)
    }

    pub(super) fn is_removed(&self) -> bool {
        self.member.status == MemberStatus::Removed
    }

    /// Whether the visitor can change the person on this team.
    pub(super) fn can_change(&self) -> bool {
        let is_active = self.header.team.status == Status::Active;
        self.header.is_staff && is_active && !self.is_removed()
    }

    /// Whether it is a child without a guardian.
    pub(super) fn needs_guardian(&self) -> bool {
        self.guardians.is_empty() && self.private().is_some_and(|private| private.is_minor)
    }

    /// The path of a page below this one.
    pub(super) fn path(&self, below: &str) -> String {
        format!("{}{below}", super::member_path(self.member.team_id, self.member.id))
    }
}

/// The teams of a person that the visitor can see.
fn teams(db: &Reader<'_>, access: &TeamAccess, person: PersonId) -> Result<Vec<TeamView>> {
    let memberships = membership::list_for(db, vec![person])?;
    let visible = memberships.into_iter().filter(|one| access.check(one.team_id).is_ok());
    let view = |membership: membership::Membership| {
        let team = team::find(db, membership.team_id)?;
        let about = match status_tag(membership.status) {
            Some((_, status)) => format!("{} · {status}", role_name(membership.role)),
            None => role_name(membership.role).to_owned(),
        };
        Ok(TeamView {
            href: super::member_path(team.id, membership.id),
            look: team.look(),
            name: team.name,
            about,
        })
    };
    visible.map(view).collect()
}
