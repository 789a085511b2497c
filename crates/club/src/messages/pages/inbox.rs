//! `/messages`: everything that the visitor received or sent. `/teams/{team}/messages`: the messages of a team.

use super::{DONE, MessageReader, NEW, kind_icon, viewer};
use crate::events::event;
use crate::messages::inbox::{self, InboxFilter, InboxRow, Viewer};
use crate::messages::listing::{self, MessageFilter, StatusFilter};
use crate::messages::markdown;
use crate::messages::message::{Kind, Message, Status};
use crate::messages::receipt;
use crate::names::Names;
use crate::prelude::*;
use crate::teams::header::TeamHeader;
use crate::teams::team;
use crate::web::prelude::*;
use crate::web::team_look::TeamLook;

/// Maximum number of pinned messages above the others.
const MAX_PINNED: i64 = 20;
/// The length of the beginning of a message, in characters.
const EXCERPT_CHARS: usize = 120;

/// A message as it is listed.
struct Row {
    id: MessageId,
    title: String,
    excerpt: String,
    /// The team and the author.
    about: String,
    at: Timestamp,
    look: TeamLook,
    icon: &'static str,
    is_unread: bool,
    is_pinned: bool,
    status: Status,
    /// Whether it was scheduled and could not be published.
    is_withheld: bool,
    /// The author's number of readers and recipients.
    read: Option<(i64, i64)>,
}

/// A list of messages, with those that are scheduled or pinned above it.
#[derive(Default)]
struct Mailbox {
    /// Scheduled messages that could not be published.
    withheld: Vec<Row>,
    scheduled: Vec<Row>,
    pinned: Vec<Row>,
    rows: Vec<Row>,
    next: String,
}

impl Mailbox {
    fn is_empty(&self) -> bool {
        !self.has_sections() && self.rows.is_empty()
    }

    /// Whether there is a section above the list.
    fn has_sections(&self) -> bool {
        [&self.withheld, &self.scheduled, &self.pinned].iter().any(|rows| !rows.is_empty())
    }
}

/// The filters, as the query of the URL has them.
#[derive(Default)]
struct InboxParams {
    team: Option<TeamId>,
    /// `announcement`, `message` or `unread`.
    show: String,
    event: Option<EventId>,
}

#[derive(Template)]
#[template(path = "messages/inbox.html")]
struct InboxPage {
    frame: Frame,
    mailbox: Mailbox,
    chosen: InboxParams,
    /// The teams to choose from; empty if there is only one.
    teams: Vec<(TeamId, String)>,
    /// The title of the event that the messages are about.
    event: Option<String>,
    can_write: bool,
    can_manage_templates: bool,
    now: Timestamp,
}

#[derive(Template)]
#[template(path = "messages/team.html")]
struct TeamPage {
    frame: Frame,
    header: TeamHeader,
    mailbox: Mailbox,
    chosen: InboxParams,
    now: Timestamp,
}

impl InboxPage {
    /// What somebody without messages can do; empty if they cannot write.
    fn first_step(&self) -> &'static str {
        if self.can_write { NEW } else { "" }
    }
}

impl TeamPage {
    fn links(&self) -> Vec<(String, &'static str, bool)> {
        self.chosen.links(&format!("/teams/{}/messages", self.header.team.id))
    }

    fn new_href(&self, kind: &str) -> String {
        format!("{NEW}?team={}&kind={kind}", self.header.team.id)
    }

    fn can_write(&self) -> bool {
        self.header.team.status == team::Status::Active
    }
}

impl InboxParams {
    fn from_query(form: &Form) -> Result<Self> {
        let id = |name: &str| form.optional(name);
        let not_found = |_| Error::not_found();
        Ok(Self {
            team: id("team").map(str::parse).transpose().map_err(not_found)?,
            event: id("event").map(str::parse).transpose().map_err(not_found)?,
            show: form.text("show").to_owned(),
        })
    }

    fn filter(&self) -> InboxFilter {
        InboxFilter {
            team: self.team,
            all_of_team: false,
            kind: Kind::parse(&self.show),
            unread: self.show == "unread",
            pinned: None,
        }
    }

    fn is_filtered(&self) -> bool {
        !self.show.is_empty() || self.team.is_some()
    }

    /// The URL of the list with another filter.
    fn href(&self, path: &str, show: &str) -> String {
        match (self.team, show) {
            (None, "") => path.to_owned(),
            (None, show) => format!("{path}?show={show}"),
            (Some(team), "") => format!("{path}?team={team}"),
            (Some(team), show) => format!("{path}?team={team}&show={show}"),
        }
    }

    fn is_team(&self, team: &TeamId) -> bool {
        self.team == Some(*team)
    }

    /// The filters as links: URL, label, and whether it is chosen.
    fn links(&self, path: &str) -> Vec<(String, &'static str, bool)> {
        let link = |show: &str, label| (self.href(path, show), label, self.show == show);
        vec![
            link("", t!("All")),
            link("unread", t!("Unread")),
            link("announcement", t!("Announcements")),
            link("message", t!("Conversations")),
        ]
    }
}

pub(super) async fn of_visitor(visitor: MessageReader) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let chosen = InboxParams::from_query(&request.form)?;
    let frame = visitor.frame(t!("Messages"), Section::Messages);
    let frame = frame.flash(visitor.guest.done_flash(&DONE));
    let now = visitor.app().clock.now();
    let teams = visitor.nav.teams.iter().map(|team| (team.id, team.name.clone())).collect();
    let can_manage_templates = visitor.is_admin();
    let page = InboxPage {
        frame,
        mailbox: Mailbox::default(),
        chosen,
        teams,
        event: None,
        can_write: false,
        can_manage_templates,
        now,
    };
    // A signed-in user may not belong to a club yet.
    if visitor.visit.club.is_none() {
        return render(StatusCode::OK, &page);
    }
    let viewer = viewer(&visitor).await?;
    let can_write = visitor.is_admin() || !viewer.access.team_filter().1.is_empty();
    let (mailbox, event) = match page.chosen.event {
        Some(event) => load_of_event(&visitor, viewer, &request, event).await?,
        None => (load(&visitor, viewer, &request, page.chosen.filter()).await?, None),
    };
    render(StatusCode::OK, &InboxPage { mailbox, event, can_write, ..page })
}

pub(super) async fn of_team(
    visitor: MessageReader,
    PathParams(team): PathParams<TeamId>,
) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let viewer = viewer(&visitor).await?;
    let access = viewer.access.clone();
    let header = visitor.read(move |db| TeamHeader::load(db, &access, team)).await?;
    let chosen = InboxParams { team: None, ..InboxParams::from_query(&request.form)? };
    let filter = InboxFilter { team: Some(team), all_of_team: true, ..chosen.filter() };
    let mailbox = load(&visitor, viewer, &request, filter).await?;
    let frame = visitor.frame(header.team.name.clone(), Section::MyTeams).team(team);
    let frame = frame.flash(visitor.guest.done_flash(&DONE));
    let now = visitor.app().clock.now();
    render(StatusCode::OK, &TeamPage { frame, header, mailbox, chosen, now })
}

/// Reads the list. Scheduled and pinned messages are only on its first page.
async fn load(
    visitor: &MessageReader,
    viewer: Viewer,
    request: &ListRequest,
    filter: InboxFilter,
) -> Result<Mailbox> {
    let is_first = request.form.optional("cursor").is_none();
    let (reader, nav) = (viewer.clone(), visitor.nav.clone());
    let read = move |db: &Reader<'_>, page: &Page<_>| {
        inbox::list(db, &reader, &InboxFilter { pinned: Some(false), ..filter }, page)
    };
    let page = RowPage::read(visitor, request, read).await?;
    let read = move |db: &Reader<'_>| {
        let first = Page { limit: MAX_PINNED, order: Order::Desc, last: None };
        let pinned = InboxFilter { pinned: Some(true), ..filter };
        let is_unfiltered = filter.kind.is_none() && !filter.unread;
        let (mut scheduled, mut withheld) = (Vec::new(), Vec::new());
        if is_first && is_unfiltered {
            scheduled = inbox::list_scheduled(db, &viewer, filter.team)?;
            withheld = inbox::list_withheld(db, &viewer, filter.team)?;
        }
        let pinned = if is_first { inbox::list(db, &viewer, &pinned, &first)? } else { Vec::new() };
        let all = scheduled.iter().chain(&withheld).chain(&pinned).chain(&page.rows);
        let teams: Vec<_> = all.map(|row| row.message.team_id.to_string()).collect();
        let names = Names::load(db, teams.iter().map(String::as_str))?;
        let rows = |rows: Vec<InboxRow>| -> Vec<Row> {
            rows.into_iter().map(|row| to_row(row, &names, &nav, &viewer)).collect()
        };
        let (withheld, scheduled, pinned) = (rows(withheld), rows(scheduled), rows(pinned));
        Ok(Mailbox { withheld, scheduled, pinned, rows: rows(page.rows), next: page.next })
    };
    visitor.read(read).await
}

/// Reads the messages about an event, one by one.
async fn load_of_event(
    visitor: &MessageReader,
    viewer: Viewer,
    request: &ListRequest,
    id: EventId,
) -> Result<(Mailbox, Option<String>)> {
    let (access, nav) = (viewer.access.clone(), visitor.nav.clone());
    let filter = MessageFilter {
        event_id: Some(id),
        status: Some(StatusFilter::Posted),
        ..MessageFilter::default()
    };
    let read = move |db: &Reader<'_>, page: &Page<_>| listing::list(db, &access, &filter, page);
    let page: RowPage<Message> = RowPage::read(visitor, request, read).await?;
    let read = move |db: &Reader<'_>| {
        let event = event::find(db, &viewer.access, id)?;
        let team = event.team_id.to_string();
        let names = Names::load(db, [team.as_str()])?;
        let ids = page.rows.iter().map(|message| message.id).collect();
        let unread = receipt::unread(db, viewer.roster.own_person_ids.clone(), ids)?;
        let row = |message: Message| {
            let (subject, is_unread) = (message.subject.clone(), unread.contains(&message.id));
            let row = InboxRow { message, subject, is_unread };
            to_row(row, &names, &nav, &viewer)
        };
        let rows = page.rows.into_iter().map(row).collect();
        Ok((
            Mailbox { rows, next: page.next, ..Mailbox::default() },
            Some(event.shown_title().into_owned()),
        ))
    };
    visitor.read(read).await
}

fn to_row(row: InboxRow, names: &Names, nav: &crate::web::nav::Nav, viewer: &Viewer) -> Row {
    let InboxRow { message, subject, is_unread } = row;
    let team_id = message.team_id.to_string();
    let team = names.get(&team_id).unwrap_or_default();
    let author = author_name(&message, viewer);
    let text = message.body.as_deref().map(|body| markdown::plain_text(body, EXCERPT_CHARS));
    let text = text.unwrap_or_default();
    let title = subject.or_else(|| message.subject.clone());
    let is_mine = viewer.is_author(&message) && message.status == Status::Published;
    let counts = &message.receipt_counts;
    Row {
        id: message.id,
        // A conversation without a subject shows its latest message instead.
        excerpt: if title.is_some() { text.clone() } else { String::new() },
        title: title.unwrap_or(if text.is_empty() { t!("Conversation").to_owned() } else { text }),
        about: t!("{team} · {author}", team, author),
        at: message.published_at.or(message.publish_at).unwrap_or(message.created_at),
        look: nav.look(message.team_id, team),
        icon: kind_icon(message.kind),
        is_unread,
        is_pinned: message.pinned,
        status: message.status,
        is_withheld: message.withheld_reason.is_some(),
        read: is_mine.then_some((counts.read, counts.delivered)),
    }
}

/// The author's name as the viewer sees it.
pub(super) fn author_name(message: &Message, viewer: &Viewer) -> String {
    if viewer.is_author(message) {
        return t!("You").to_owned();
    }
    match (&message.author.name, message.author.person_id) {
        (Some(name), _) => name.clone(),
        (None, Some(_)) => t!("Someone who left").to_owned(),
        (None, None) => t!("The club").to_owned(),
    }
}
