//! `/messages/{message}`: an announcement, or a conversation with its replies.

use http::HeaderMap;

use super::attachment_form::{self, AttachmentForm};
use super::inbox::author_name;
use super::recipients::{self, Outcome};
use super::{DONE, MessageReader, Upload, path, viewer};
use crate::events::event;
use crate::files::api::upload;
use crate::files::file::File;
use crate::messages::attachments::Attachment;
use crate::messages::inbox::{self, Viewer};
use crate::messages::listing::{self, MessageFilter, StatusFilter};
use crate::messages::message::{self, Kind, Message, MessageRecord, NewMessage, Status};
use crate::messages::receipt::{self, ReceiptFilter};
use crate::messages::{conversation, posting};
use crate::names::Names;
use crate::prelude::*;
use crate::rights::SenderIdentity;
use crate::teams::team::{self, Team};
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;
use crate::web::team_look::TeamLook;

/// Maximum number of names of people who have not read an announcement.
const MAX_NAMES: i64 = 30;

const FIELDS: &[Field] = &[
    Field::block("body", "Your reply", 10_000).required("Write a reply.").hide_label(),
    attachment_form::ATTACHED,
    attachment_form::NEW_FILES,
];

/// A message as the page shows it.
struct Post {
    id: MessageId,
    author: String,
    at: Timestamp,
    /// The content; `None` if the message was retracted.
    html: Option<String>,
    attachments: Vec<Attachment>,
    /// Who retracted it, and when.
    retracted: Option<(String, Timestamp)>,
    is_own: bool,
    is_unread: bool,
    is_pinned: bool,
    /// How many have read it, and how many received it.
    read: i64,
    delivered: i64,
}

impl Post {
    /// The share of recipients who have read it, in percent.
    fn share(&self) -> i64 {
        crate::web::filters::percent(self.read, self.delivered)
    }
}

/// The data of the page.
struct Thread {
    team: Team,
    kind: Kind,
    status: Status,
    subject: Option<String>,
    publish_at: Option<Timestamp>,
    /// Why a scheduled message was not published.
    withheld_reason: Option<String>,
    posts: Vec<Post>,
    /// The message that the URL names.
    opened: MessageId,
    /// The message that a reply answers.
    answered: Option<MessageId>,
    event: Option<(EventId, String)>,
    is_staff: bool,
    can_manage: bool,
    /// Who gets a reply, or the scheduled message.
    outcome: Outcome,
    /// Some of those who have not read the announcement.
    waiting: Vec<String>,
}

#[derive(Template)]
#[template(path = "messages/thread.html")]
struct ThreadPage {
    frame: Frame,
    thread: Thread,
    look: TeamLook,
    /// The URL of the earlier messages.
    earlier: String,
    form: FilledForm,
    files: AttachmentForm,
}

impl ThreadPage {
    fn is_announcement(&self) -> bool {
        self.thread.kind == Kind::Announcement
    }

    fn can_reply(&self) -> bool {
        self.thread.answered.is_some()
    }

    /// Whether the visitor sees who has read a message, and can retract it.
    fn can_manage(&self, post: &Post) -> bool {
        self.thread.is_staff || post.is_own
    }

    fn can_retract(&self, post: &Post) -> bool {
        self.can_manage(post) && post.retracted.is_none()
    }

    /// The number of names that are not shown.
    fn more_waiting(&self) -> i64 {
        let first = self.thread.posts.first();
        let waiting = first.map_or(0, |post| post.delivered - post.read);
        waiting - i64::try_from(self.thread.waiting.len()).unwrap_or_default()
    }
}

pub(super) async fn show(
    visitor: MessageReader,
    headers: HeaderMap,
    PathParams(id): PathParams<MessageId>,
) -> PageResult {
    let form = FilledForm::empty(FIELDS).nonce(new_nonce(visitor.app()));
    let viewer = viewer(&visitor).await?;
    let (response, thread) = page(&visitor, &viewer, id, (form, Vec::new())).await?;
    if !is_prefetch(&headers) {
        mark_read(&visitor, viewer, thread).await?;
    }
    Ok(response)
}

/// Whether a browser only loads the page in case somebody opens it. Such a request is not a reader.
fn is_prefetch(headers: &HeaderMap) -> bool {
    ["sec-purpose", "purpose", "x-moz", "x-purpose"].iter().any(|name| {
        let value = headers.get(*name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        ["prefetch", "prerender", "preview"].iter().any(|word| value.contains(word))
    })
}

/// Marks the conversation as read. Writes nothing if there is nothing to mark.
async fn mark_read(visitor: &MessageReader, viewer: Viewer, thread: MessageId) -> Result<()> {
    let reader = viewer.clone();
    let read = move |db: &Reader<'_>| inbox::unread_receipts(db, &reader, thread);
    if visitor.read(read).await?.is_empty() {
        return Ok(());
    }
    visitor.write(move |tx| inbox::mark_read(tx, &viewer, thread)).await
}

/// The page, and the id of the conversation.
async fn page<N: Permission>(
    visitor: &Visitor<N>,
    viewer: &Viewer,
    id: MessageId,
    (form, files): (FilledForm, Vec<File>),
) -> PageResult<(Response, MessageId)> {
    let request = ListRequest::from_visitor(visitor, Order::Desc)?;
    let access = viewer.access.clone();
    let opened = visitor.read(move |db: &Reader<'_>| message::find_record(db, &access, id)).await?;
    let thread_id = opened.thread_id;
    let filter = MessageFilter {
        thread_id: Some(thread_id),
        // A message that was not published is shown alone.
        status: opened.published_at.is_some().then_some(StatusFilter::Posted),
        ..MessageFilter::default()
    };
    let access = viewer.access.clone();
    let read = move |db: &Reader<'_>, page: &Page<_>| listing::list(db, &access, &filter, page);
    let messages: RowPage<Message> = RowPage::read(visitor, &request, read).await?;
    let (earlier, reader) = (messages.next.clone(), viewer.clone());
    let thread =
        visitor.read(move |db: &Reader<'_>| load(db, &reader, opened, messages.rows)).await?;
    let look = visitor.nav.look(thread.team.id, &thread.team.name);
    let kind = match thread.kind {
        Kind::Announcement => t!("Announcement"),
        Kind::Message => t!("Conversation"),
    };
    let title = thread.subject.clone().unwrap_or_else(|| kind.to_owned());
    let frame = visitor.frame(title, Section::Messages);
    let frame = frame.flash(visitor.guest.done_flash(&DONE));
    let status = form.status();
    let files = AttachmentForm::new(&form, files);
    let page = ThreadPage { frame, thread, look, earlier, form, files };
    Ok((render(status, &page)?, thread_id))
}

/// Loads the data of the page. `messages` are those of the conversation, most recent first.
fn load(
    db: &Reader<'_>,
    viewer: &Viewer,
    opened: MessageRecord,
    messages: Vec<Message>,
) -> Result<Thread> {
    let access = &viewer.access;
    let team = team::find(db, opened.team_id)?;
    // The subject is that of the first message, which may be on an earlier page.
    let first = message::find(db, access, opened.thread_id).or_none()?;
    let subject = first.and_then(|first| first.subject);
    let event = match opened.event_id {
        Some(event) => event::find(db, access, event).or_none()?,
        None => None,
    };
    let event = event.map(|event| (event.id, event.shown_title().into_owned()));
    let is_staff = access.has_full_access(team.id);
    let can_manage =
        is_staff || opened.author_person_id.is_some_and(|author| access.is_self(author));
    let (answered, speaker) = find_answered(db, viewer, &team, &messages)?;
    let outcome = match answered {
        Some(parent) => recipients::of_reply(db, viewer, parent, speaker)?,
        None if can_manage && opened.status == Status::Scheduled && opened.parent_id.is_none() => {
            recipients::of_scheduled(db, viewer, &opened)?
        }
        None => Outcome::Unknown,
    };
    let waiting = match (opened.kind, opened.status) {
        (Kind::Announcement, Status::Published) if can_manage => {
            names_waiting(db, access, opened.id)?
        }
        _ => Vec::new(),
    };
    Ok(Thread {
        posts: posts(db, viewer, messages)?,
        team,
        kind: opened.kind,
        status: opened.status,
        subject,
        publish_at: opened.publish_at,
        withheld_reason: opened.withheld_reason.filter(|_| can_manage),
        opened: opened.id,
        answered,
        event,
        is_staff,
        can_manage,
        outcome,
        waiting,
    })
}

/// Some of the people who have not read a message.
fn names_waiting(db: &Reader<'_>, access: &TeamAccess, id: MessageId) -> Result<Vec<String>> {
    let page = Page { limit: MAX_NAMES - 1, order: Order::Asc, last: None };
    let receipts = receipt::list(db, access, (id, &ReceiptFilter { read: Some(false) }), &page)?;
    Ok(receipts.into_iter().filter_map(|one| one.name).collect())
}

/// The message that the viewer can reply to, and the person in whose name. `None` if they are not in the conversation.
fn find_answered(
    db: &Reader<'_>,
    viewer: &Viewer,
    team: &Team,
    messages: &[Message],
) -> Result<(Option<MessageId>, Option<PersonId>)> {
    let is_open = |one: &&Message| one.kind == Kind::Message && one.status == Status::Published;
    let Some(last) = messages.iter().find(is_open) else { return Ok((None, None)) };
    if team.status == team::Status::Archived {
        return Ok((None, None));
    }
    let participants = conversation::participants(db, last.thread_id)?;
    let mut own = viewer.roster.own_person_ids.iter().copied();
    let speaker = own.find(|person| participants.contains(person));
    // Admins who are not in the conversation reply for the club.
    let can_reply = speaker.is_some() || viewer.access == TeamAccess::AllTeams;
    Ok((can_reply.then_some(last.id), speaker))
}

/// The messages as they are shown, oldest first.
fn posts(db: &Reader<'_>, viewer: &Viewer, messages: Vec<Message>) -> Result<Vec<Post>> {
    let actors: Vec<_> = messages.iter().filter_map(|one| one.retracted_by.clone()).collect();
    let names = Names::load(db, actors.iter().map(String::as_str))?;
    let ids = messages.iter().map(|one| one.id).collect();
    let unread = receipt::unread(db, viewer.roster.own_person_ids.clone(), ids)?;
    let post = |message: Message| {
        let by = message.retracted_by.as_deref();
        let by = by.map(|id| names.get(id).unwrap_or(t!("Someone who left")).to_owned());
        let is_own = viewer.is_author(&message);
        Post {
            id: message.id,
            author: author_name(&message, viewer),
            at: message.published_at.or(message.publish_at).unwrap_or(message.created_at),
            retracted: by.zip(message.retracted_at).filter(|_| message.withheld_reason.is_none()),
            html: message.body_html,
            attachments: message.attachments.0,
            is_own,
            is_unread: unread.contains(&message.id),
            is_pinned: message.pinned,
            read: message.receipt_counts.read,
            delivered: message.receipt_counts.delivered,
        }
    };
    Ok(messages.into_iter().rev().map(post).collect())
}

pub(super) async fn reply(
    PathParams(id): PathParams<MessageId>,
    Upload { visitor, form, files: sent }: Upload,
) -> PageResult {
    let viewer = viewer(&visitor).await?;
    let reader = viewer.clone();
    let find = move |db: &Reader<'_>| {
        let opened = message::find_record(db, &reader.access, id)?;
        let filter = MessageFilter {
            thread_id: Some(opened.thread_id),
            status: Some(StatusFilter::Published),
            ..MessageFilter::default()
        };
        let page = Page { limit: 1, order: Order::Desc, last: None };
        let messages = listing::list(db, &reader.access, &filter, &page)?;
        let team = team::find(db, opened.team_id)?;
        find_answered(db, &reader, &team, &messages)
    };
    let (answered, speaker) = visitor.read(find).await?;
    let nonce = parse_nonce(&form)?.with_files(&sent);
    let form = FilledForm::submitted(FIELDS, &form);
    let (mut form, files) =
        upload::receive_attachments(&visitor, form, sent, String::new()).await?;
    let mut body = form.body();
    body["parent_id"] = json!(answered.unwrap_or(id));
    body["on_behalf_of"] = json!(speaker);
    if let Some(new) = form.finish::<NewMessage>(body) {
        let sender = SenderIdentity::OneOf(viewer.roster.own_person_ids.clone());
        let access = viewer.access.clone();
        let post = move |tx: &Tx<'_>| Ok(posting::create(tx, &access, &sender, new)?.id);
        if form.accept(visitor.write_once(nonce, post).await)?.is_some() {
            return Ok(see_other(&format!("{}?done=replied#end", path(id))));
        }
    }
    Ok(page(&visitor, &viewer, id, (form, files)).await?.0)
}
