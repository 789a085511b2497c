//! `/teams/{team}/emergency`: a sheet to print, with whom to call and what to know about each person. Every time it is
//! opened, reading the medical notes is recorded.

use super::contact_links::ContactLinks;
use super::{name_of, role_name, roster_path, write};
use crate::prelude::*;
use crate::roster::PeopleRead;
use crate::roster::guardian::Guardian;
use crate::roster::member::{self, Member, MemberFilter};
use crate::roster::membership::{MemberStatus, Role};
use crate::roster::person;
use crate::roster::private_data::{HasPrivateData, redact_member};
use crate::roster::profile::Private;
use crate::teams::header::TeamHeader;
use crate::web::prelude::*;

/// Maximum number of people on the sheet.
const MAX_MEMBERS: i64 = 500;

/// A person on the sheet.
struct Entry {
    name: String,
    number: Option<String>,
    role: Role,
    private: Private,
}

impl Entry {
    fn new(member: Member) -> Option<Self> {
        let (name, number, role) = (name_of(&member), member.jersey_number, member.role);
        Some(Self { name, number, role, private: member.private? })
    }

    /// The role of staff.
    fn role(&self) -> Option<&'static str> {
        (self.role != Role::Player).then(|| role_name(self.role))
    }

    fn contact(&self) -> ContactLinks {
        ContactLinks::new(self.private.phone.as_deref(), None)
    }

    /// Names, relationships and phone numbers of the guardians.
    fn guardians(&self) -> Vec<(String, ContactLinks, &Guardian)> {
        let view = |guardian: &'_ Guardian| {
            let parts = [Some(&guardian.first_name), guardian.last_name.as_ref()];
            let name: Vec<_> = parts.into_iter().flatten().map(String::as_str).collect();
            (name.join(" "), ContactLinks::new(guardian.phone.as_deref(), None))
        };
        let all = self.private.guardians.iter();
        all.map(|one| (view(one), one)).map(|((name, links), one)| (name, links, one)).collect()
    }
}

#[derive(Template)]
#[template(path = "roster/emergency.html")]
struct EmergencyPage {
    frame: Frame,
    header: TeamHeader,
    entries: Vec<Entry>,
    day: Day,
}

impl EmergencyPage {
    fn back(&self) -> String {
        roster_path(self.header.team.id)
    }
}

pub(super) async fn show(
    visitor: Visitor<PeopleRead>,
    PathParams(team): PathParams<TeamId>,
) -> PageResult {
    let filter = MemberFilter {
        excluded_status: Some(MemberStatus::Removed),
        private: true,
        ..MemberFilter::default()
    };
    let page = Page { limit: MAX_MEMBERS, order: Order::Asc, last: None };
    let read = move |tx: &Tx<'_>, access: &TeamAccess| {
        let header = TeamHeader::load(tx, access, team)?;
        let members = member::list(tx, team, &filter, &page)?.into_iter();
        let members: Vec<_> = members.map(|member| redact_member(access, member)).collect();
        if let Some(entry) = Member::list_audit_entry(&members) {
            tx.audit(entry.action, &entry.subject, &entry.details)?;
        }
        Ok((header, members, person::today(tx.now())))
    };
    let (header, mut members, day) = write(&visitor, team, read).await?;
    members
        .sort_by_cached_key(|one| (one.role != Role::Player, kit::text::fold_case(&name_of(one))));
    let entries = members.into_iter().filter_map(Entry::new).collect();
    let frame = visitor.frame(t!("Emergency sheet"), Section::MyTeams).team(team);
    render(StatusCode::OK, &EmergencyPage { frame, header, entries, day })
}
