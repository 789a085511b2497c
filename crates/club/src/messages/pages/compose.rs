//! `/messages/new`: writes an announcement to teams, or starts a conversation. First a preview, then it is sent.

use super::attachment_form::{self, AttachmentForm};
use super::audience_form::{self, AudienceChoices};
use super::recipients::{self, Summary, TeamChoice, WhoView};
use super::{INBOX, MessageWriter, Upload, viewer};
use crate::events::event;
use crate::files::api::upload;
use crate::files::file::{self, File, StoredFile};
use crate::message_templates::template::{self, MessageTemplateFilter};
use crate::messages::attachments::Attachment;
use crate::messages::inbox::Viewer;
use crate::messages::markdown;
use crate::messages::message::{self, Kind, MessageRecord, NewMessage};
use crate::messages::posting;
use crate::messages::preview::{Channel, Preview};
use crate::prelude::*;
use crate::rights::SenderIdentity;
use crate::roster::person;
use crate::teams::team;
use crate::web::confirm::NoticePage;
use crate::web::form::{Choice, Field, FilledForm};
use crate::web::form_dedup;
use crate::web::nav::Nav;
use crate::web::prelude::*;

/// Maximum number of templates to choose from.
const MAX_TEMPLATES: i64 = 100;

pub(super) const FIELDS: &[Field] = &[
    Field::hidden("event_id"),
    Field::hidden("kind"),
    Field::checks("teams", "Team", &[]).required("Choose a team.").page_only(),
    audience_form::AUDIENCE,
    audience_form::MEMBERS,
    audience_form::UNANSWERED,
    Field::select("template", "Template", &[Choice::new("", "None")]).page_only(),
    Field::line("subject", "Title", 200),
    Field::block("body", "Message", 10_000)
        .hint("You can use **bold**, lists with “-”, and links.")
        .required("Write a message."),
    attachment_form::ATTACHED,
    attachment_form::NEW_FILES,
    Field::radio("when", "When", &[Choice::new("now", "Now"), Choice::new("later", "Later")])
        .default("now")
        .page_only(),
    Field::local_time("publish_at", "Send at")
        .hint("Time zone: {zone}.")
        .required("Choose when the message is sent.")
        .when("when", &["later"]),
    audience_form::PINNED,
];

#[derive(Template)]
#[template(path = "messages/compose.html")]
struct ComposePage {
    frame: Frame,
    form: FilledForm,
    files: AttachmentForm,
    who: WhoView,
    has_templates: bool,
    /// The title of the event that the message is about.
    event: Option<String>,
}

impl ComposePage {
    fn is_later(&self) -> bool {
        self.form.text("when") == "later" || !self.form.faults.at("publish_at").is_empty()
    }
}

/// A recipient, and how they can read the message.
struct RecipientRow {
    name: String,
    channel: Channel,
}

impl RecipientRow {
    fn channel(&self) -> &'static str {
        match self.channel {
            Channel::Email => t!("Email"),
            Channel::App => t!("Only in Touchline"),
            Channel::Guardian => t!("Through a guardian"),
            Channel::None => t!("Cannot read it"),
        }
    }
}

#[derive(Template)]
#[template(path = "messages/preview.html")]
struct PreviewPage {
    frame: Frame,
    form: FilledForm,
    subject: Option<String>,
    html: String,
    attachments: Vec<Attachment>,
    teams: Vec<TeamChoice>,
    summary: Summary,
    /// The recipients by name; empty if the visitor may not see them all.
    rows: Vec<RecipientRow>,
    emails: Option<i64>,
    publish_at: Option<Timestamp>,
    zone: Zone,
}

pub(super) async fn new(visitor: MessageWriter) -> PageResult {
    let query = visitor.guest.query()?;
    let viewer = viewer(&visitor).await?;
    if visitor.nav.teams.is_empty() {
        let page = NoticePage {
            frame: visitor.frame(t!("New message"), Section::Messages),
            lead: None,
            text: "You are not on a team yet, so there is nobody to write to.".into(),
            back: INBOX.to_owned(),
            back_label: "Back to messages",
        };
        return page.respond();
    }
    let (nav, reader) = (visitor.nav.clone(), viewer.clone());
    let form =
        visitor.read(move |db: &Reader<'_>| prefilled_form(db, &reader, &nav, &query)).await?;
    show(&visitor, viewer, form.nonce(new_nonce(visitor.app())), Vec::new()).await
}

/// The form with the text and the audience of a message.
fn form_of_copy(message: MessageRecord) -> FilledForm {
    let event = message.event_id.map(|id| id.to_string()).unwrap_or_default();
    let form = FilledForm::empty(FIELDS)
        .with("kind", message.kind.as_str())
        .with_all("teams", [message.team_id.to_string()])
        .with("event_id", event)
        .with("subject", message.subject.unwrap_or_default())
        .with("body", message.body);
    audience_form::fill(form, &message.audience)
}

/// The form for the parameters of a link: `team`, `kind`, `to`, `member` and `event`, or `copy`.
fn prefilled_form(db: &Reader<'_>, viewer: &Viewer, nav: &Nav, query: &Form) -> Result<FilledForm> {
    let can_announce = |team: TeamId| viewer.access.has_full_access(team);
    if let Some(copied) = query.optional("copy") {
        let id: MessageId = copied.parse().map_err(|_| Error::not_found())?;
        return Ok(form_of_copy(message::find_managed(db, &viewer.access, id)?));
    }
    let event = query.optional("event").map(str::parse::<EventId>).transpose();
    let event = event.map_err(|_| Error::not_found())?;
    let event = event.map(|id| event::find(db, &viewer.access, id)).transpose()?;
    let team = match (&event, query.optional("team")) {
        (Some(event), _) => Some(event.team_id),
        (None, Some(team)) => {
            let team: TeamId = team.parse().map_err(|_| Error::not_found())?;
            viewer.access.check(team)?;
            Some(team)
        }
        (None, None) => {
            let managed = nav.teams.iter().find(|team| can_announce(team.id));
            managed.or(nav.teams.first()).map(|team| team.id)
        }
    };
    let announces = team.is_some_and(can_announce) && query.text("kind") != "message";
    let kind = if announces { Kind::Announcement } else { Kind::Message };
    let to = query.optional("to").unwrap_or(match kind {
        _ if query.optional("member").is_some() => "members",
        Kind::Announcement => "all",
        Kind::Message => "staff",
    });
    let texts = |name: &str| query.get_all(name).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let event = event.map(|event| event.id.to_string()).unwrap_or_default();
    Ok(FilledForm::empty(FIELDS)
        .with("kind", kind.as_str())
        .with_all("teams", team.iter().map(ToString::to_string))
        .with("audience", to)
        .with_all("member_ids", texts("member"))
        .with("event_id", event.clone())
        .with("unanswered_event", event))
}

/// The form without choices that do not belong to the chosen team, and the time zone of its times.
pub(super) fn clean(db: &Reader<'_>, access: &TeamAccess, form: &Form) -> Result<(Form, Zone)> {
    let teams: Vec<TeamId> =
        form.get_all("teams").into_iter().filter_map(|team| team.parse().ok()).collect();
    let Some(first) = teams.first().copied() else { return Ok((form.clone(), Zone::utc())) };
    access.check(first)?;
    let zone = team::find(db, first)?.timezone;
    let choices = match teams.len() {
        1 => AudienceChoices::load(db, access, first)?,
        _ => AudienceChoices::default(),
    };
    let mut form = choices.retain_members(form);
    // The message can only be about an event of its team.
    let event = form.text("event_id").parse::<EventId>().ok();
    let event = event.map(|id| event::find(db, access, id)).transpose()?;
    if event.is_some_and(|event| teams != [event.team_id]) {
        form.set("event_id", None::<String>);
    }
    Ok((form, zone))
}

/// Shows the form with the files that it has received.
async fn show(
    visitor: &MessageWriter,
    viewer: Viewer,
    form: FilledForm,
    files: Vec<File>,
) -> PageResult {
    let (nav, filled) = (visitor.nav.clone(), form);
    let load = move |db: &Reader<'_>| {
        let zone = match filled.all("teams").first().and_then(|team| team.parse().ok()) {
            Some(team) => team::find(db, team)?.timezone,
            None => Zone::utc(),
        };
        let form = filled.zone(&zone);
        let event = match form.text("event_id") {
            "" => None,
            id => {
                let id = id.parse().map_err(|_| Error::not_found())?;
                Some(event::find(db, &viewer.access, id)?.shown_title().into_owned())
            }
        };
        let who = recipients::load(db, &viewer, &nav, form.clone())?;
        let templates = if who.can_announce { templates(db)? } else { Vec::new() };
        Ok((form, event, who, templates))
    };
    let (form, event, who, templates) = visitor.read(load).await?;
    let has_templates = !templates.is_empty();
    let form = form.options("template", templates).only_if(who.can_announce, "pinned");
    let frame = visitor.frame(t!("New message"), Section::Messages);
    let files = AttachmentForm::new(&form, files);
    render(form.status(), &ComposePage { frame, form, files, who, has_templates, event })
}

fn templates(db: &Reader<'_>) -> Result<Vec<(MessageTemplateId, String)>> {
    let page = Page { limit: MAX_TEMPLATES - 1, order: Order::Asc, last: None };
    let templates = template::list(db, &MessageTemplateFilter::default(), &page)?;
    Ok(templates.into_iter().map(|one| (one.id, one.name)).collect())
}

pub(super) async fn submit(Upload { visitor, form: raw, files: sent }: Upload) -> PageResult {
    let viewer = viewer(&visitor).await?;
    let nonce = parse_nonce(&raw)?;
    let access = viewer.access.clone();
    let step = raw.text("step").to_owned();
    let cleaned = move |db: &Reader<'_>| clean(db, &access, &raw);
    let (raw, zone) = visitor.read(cleaned).await?;
    let form = FilledForm::submitted(FIELDS, &raw).zone(&zone);
    let (mut form, files) =
        upload::receive_attachments(&visitor, form, sent, String::new()).await?;
    match step.as_str() {
        "update" | "change" => return show(&visitor, viewer, form, files).await,
        "template" => {
            let form = with_template(&visitor, &viewer, form).await?;
            return show(&visitor, viewer, form, files).await;
        }
        _ => {}
    }
    let Some(messages) = messages(&viewer, &visitor.nav, &mut form) else {
        return show(&visitor, viewer, form, files).await;
    };
    if step == "send" {
        let sent = send(&visitor, &viewer, messages.clone(), &files, nonce).await;
        if let Some(to) = form.accept(sent)? {
            return Ok(see_other(&to));
        }
        return show(&visitor, viewer, form, files).await;
    }
    let (reader, new) = (viewer.clone(), messages.clone());
    let (nav, sent) = (visitor.nav.clone(), form.clone());
    let count = move |db: &Reader<'_>| {
        let preview = recipients::preview_all(db, &reader, new)?;
        let summary = recipients::summary(db, &reader, &preview);
        let mut teams = recipients::teams(db, &reader, &nav, &sent)?;
        teams.retain(|team| team.is_chosen);
        Ok((preview, summary, teams))
    };
    match form.accept(visitor.read(count).await)? {
        Some((preview, summary, teams)) => {
            let shown = (&messages[..], files, &preview, summary);
            show_preview(&visitor, form, shown, (teams, zone))
        }
        None => show(&visitor, viewer, form, files).await,
    }
}

/// The messages of the form, one for each team. `None` if the form has errors.
fn messages(viewer: &Viewer, nav: &Nav, form: &mut FilledForm) -> Option<Vec<NewMessage>> {
    let teams: Vec<TeamId> =
        form.all("teams").into_iter().filter_map(|team| team.parse().ok()).collect();
    let can_announce = teams.iter().all(|team| viewer.access.has_full_access(*team));
    if !can_announce {
        *form = form.clone().without("pinned");
    }
    let mut body = form.body();
    body["kind"] = json!(recipients::kind(form).as_str());
    body["team_id"] = json!(teams.first());
    body["audience"] = audience_form::audience(form);
    let is_announcement = recipients::kind(form) == Kind::Announcement;
    if teams.len() > 1 && !is_announcement {
        form.faults.add("teams", t!("Choose one team. A conversation belongs to one team."));
    }
    if is_announcement && !can_announce {
        let staff = nav.teams.iter().filter(|team| viewer.access.has_full_access(team.id));
        let text = match staff.count() {
            0 => t!("Only coaches and managers can post announcements."),
            _ => t!("Choose teams that you coach or manage."),
        };
        form.faults.add("teams", text);
    }
    if teams.len() > 1 && matches!(form.text("audience"), "members" | "unanswered") {
        form.faults.add("audience", t!("Choose one team to pick people or an event."));
    }
    if is_announcement && form.text("subject").is_empty() {
        form.faults.add("subject", t!("Enter a title."));
    }
    let first = form.finish::<NewMessage>(body)?;
    let of_team = |team| NewMessage { team_id: Some(team), ..first.clone() };
    Some(teams.into_iter().map(of_team).collect())
}

/// Adds the text of the chosen template, and keeps what the visitor typed.
async fn with_template(
    visitor: &MessageWriter,
    viewer: &Viewer,
    form: FilledForm,
) -> Result<FilledForm> {
    let Ok(id) = form.text("template").parse::<MessageTemplateId>() else { return Ok(form) };
    let is_staff = visitor.nav.teams.iter().any(|team| viewer.access.has_full_access(team.id));
    Error::forbidden().fail_if(!is_staff)?;
    let template = visitor.read(move |db: &Reader<'_>| template::find(db, id)).await?;
    let body = match form.text("body") {
        "" => template.body,
        typed => format!("{typed}\n\n{}", template.body),
    };
    let form = form.with("body", body).with("template", "");
    Ok(match template.subject {
        Some(subject) if form.text("subject").is_empty() => form.with("subject", subject),
        _ => form,
    })
}

/// Posts the messages once, and returns the page to show.
async fn send(
    visitor: &MessageWriter,
    viewer: &Viewer,
    messages: Vec<NewMessage>,
    files: &[File],
    nonce: form_dedup::Nonce,
) -> Result<String> {
    let access = viewer.access.clone();
    let sender = SenderIdentity::OneOf(viewer.roster.own_person_ids.clone());
    let is_scheduled = messages.iter().any(|new| new.publish_at.is_some());
    let (count, done) = (messages.len(), if is_scheduled { "scheduled" } else { "sent" });
    let copies = copies(visitor, files, count - 1).await?;
    let post = move |tx: &Tx<'_>| {
        let mut first = None;
        // The first message gets the files themselves.
        let copies = std::iter::once(None).chain(copies.into_iter().map(Some));
        for (mut new, copies) in messages.into_iter().zip(copies) {
            if let Some(copies) = copies {
                let create = |copy| file::create(tx, copy).map(|file| file.id);
                new.attachment_ids = copies.into_iter().map(create).collect::<Result<_>>()?;
            }
            let posted = posting::create(tx, &access, &sender, new)?;
            first = first.or(Some(posted.id));
        }
        first.ok_or_else(|| Error::internal("a form without messages"))
    };
    let id = match visitor.write_once(nonce, post).await? {
        form_dedup::Submission::Accepted(id) => id.to_string(),
        form_dedup::Submission::Duplicate(id) => id,
    };
    Ok(match count {
        1 => format!("{INBOX}/{id}?done={done}"),
        _ => format!("{INBOX}?done={done}"),
    })
}

/// Copies of the files for each further message.
async fn copies(
    visitor: &MessageWriter,
    files: &[File],
    messages: usize,
) -> Result<Vec<Vec<StoredFile>>> {
    let mut all = Vec::new();
    for _ in 0..messages {
        let mut copies = Vec::new();
        for file in files {
            copies.push(upload::copy(visitor.app(), file).await?);
        }
        all.push(copies);
    }
    Ok(all)
}

fn show_preview(
    visitor: &MessageWriter,
    form: FilledForm,
    (messages, files, preview, summary): (&[NewMessage], Vec<File>, &Preview, Summary),
    (teams, zone): (Vec<TeamChoice>, Zone),
) -> PageResult {
    let Some(new) = messages.first() else {
        return Err(Error::internal("a preview without a message").into());
    };
    let mut rows: Vec<RecipientRow> = Vec::new();
    if preview.is_team_visible {
        let row = |one: &crate::messages::preview::Recipient| RecipientRow {
            name: person::display_name(&one.person),
            channel: one.channel,
        };
        rows = preview.recipients.values().map(row).collect();
        rows.sort_by(|a, b| (a.channel, &a.name).cmp(&(b.channel, &b.name)));
    }
    let page = PreviewPage {
        frame: visitor.frame(t!("Preview"), Section::Messages),
        subject: new.subject.clone(),
        html: markdown::html(&new.body),
        attachments: files.into_iter().map(Attachment::from).collect(),
        teams,
        summary,
        rows,
        emails: preview.is_team_visible.then(|| preview.counts().emails),
        publish_at: new.publish_at,
        zone,
        form,
    };
    render(StatusCode::OK, &page)
}
