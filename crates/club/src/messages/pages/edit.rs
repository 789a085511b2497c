//! Changes to a message: pinning and retracting it, and editing a scheduled one.

use super::attachment_form::{self, AttachmentForm};
use super::audience_form::{self, AudienceChoices};
use super::{INBOX, MessageReader, Submission, Upload, path, viewer};
use crate::files::api::upload;
use crate::files::file::{self, File};
use crate::messages::editing::{self, MessageChange};
use crate::messages::message::{self, MessageRecord, Status};
use crate::prelude::*;
use crate::teams::team;
use crate::web::confirm::{ConfirmPage, NoticePage};
use crate::web::fields::Fields;
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

const FIELDS: &[Field] = &[
    audience_form::AUDIENCE,
    audience_form::MEMBERS,
    audience_form::UNANSWERED,
    Field::line("subject", "Subject", 200),
    Field::block("body", "Message", 10_000).required("Write a message."),
    attachment_form::ATTACHED,
    attachment_form::NEW_FILES,
    Field::local_time("publish_at", "Send at")
        .hint("Time zone: {zone}.")
        .required("Choose when the message is sent."),
    audience_form::PINNED,
];

#[derive(Template)]
#[template(path = "messages/edit.html")]
struct EditPage {
    frame: Frame,
    id: MessageId,
    form: FilledForm,
    files: AttachmentForm,
}

/// A message that the visitor may change, with the form for it.
struct Editable {
    message: MessageRecord,
    choices: AudienceChoices,
    zone: Zone,
    is_staff: bool,
}

impl Editable {
    fn attachment_ids(&self) -> Vec<FileId> {
        self.message.attachments.0.iter().map(|one| one.id).collect()
    }

    /// The form with the saved values.
    fn form(&self) -> FilledForm {
        let MessageRecord { audience, subject, body, publish_at, pinned, version, .. } =
            &self.message;
        let values =
            json!({ "subject": subject, "body": body, "publish_at": publish_at, "pinned": pinned });
        let form = FilledForm::empty(FIELDS).zone(&self.zone).filled_from(&values);
        let ids = self.attachment_ids().into_iter().map(|id| id.to_string());
        let form = audience_form::fill(form, audience).with_all("attachment_ids", ids);
        form.version(*version).fingerprint()
    }
}

async fn load(visitor: &Visitor<impl Permission>, id: MessageId) -> Result<Editable> {
    let access = viewer(visitor).await?.access;
    visitor
        .read(move |db: &Reader<'_>| {
            let message = message::find_managed(db, &access, id)?;
            let choices = AudienceChoices::load(db, &access, message.team_id)?;
            let zone = team::find(db, message.team_id)?.timezone;
            let is_staff = access.has_full_access(message.team_id);
            Ok(Editable { message, choices, zone, is_staff })
        })
        .await
}

pub(super) async fn form(
    visitor: MessageReader,
    PathParams(id): PathParams<MessageId>,
) -> PageResult {
    let editable = load(&visitor, id).await?;
    if editable.message.status != Status::Scheduled {
        let page = NoticePage {
            frame: visitor.frame(t!("Edit message"), Section::Messages),
            lead: None,
            text: "A message that was sent cannot be changed. Retract it and send a new one."
                .into(),
            back: path(id),
            back_label: "Back to the message",
        };
        return page.respond();
    }
    let ids = editable.attachment_ids();
    let read = move |db: &Reader<'_>| file::list_attachable(db, &ids, &id.to_string());
    let files = visitor.read(read).await?;
    show(&visitor, &editable, editable.form(), files)
}

fn show(
    visitor: &Visitor<impl Permission>,
    editable: &Editable,
    form: FilledForm,
    files: Vec<File>,
) -> PageResult {
    let form = editable.choices.add_to(form).only_if(editable.is_staff, "pinned");
    // The audience of a reply is that of its conversation.
    let form = form.only_if(editable.message.parent_id.is_none(), "audience");
    let frame = visitor.frame(t!("Edit message"), Section::Messages);
    let files = AttachmentForm::new(&form, files);
    render(form.status(), &EditPage { frame, id: editable.message.id, form, files })
}

pub(super) async fn save(
    PathParams(id): PathParams<MessageId>,
    Upload { visitor, form, files: sent }: Upload,
) -> PageResult {
    let editable = load(&visitor, id).await?;
    let form = FilledForm::submitted(FIELDS, &form).zone(&editable.zone);
    let form = form.only_if(editable.is_staff, "pinned");
    let (mut form, files) =
        upload::receive_attachments(&visitor, form, sent, id.to_string()).await?;
    let mut body = form.body();
    if editable.message.parent_id.is_none() {
        body["audience"] = audience_form::audience(&form);
    }
    if let Some(change) = form.finish::<MessageChange>(body) {
        let (access, expected) = (viewer(&visitor).await?.access, form.expected_version());
        let save = move |tx: &Tx<'_>| editing::change(tx, &access, id, &expected, change);
        match visitor.write(save).await {
            Err(error) if error.code == Code::PreconditionFailed => {
                form.combine_with(&editable.form());
            }
            result => {
                if form.accept(result)?.is_some() {
                    return Ok(see_other(&format!("{}?done=saved", path(id))));
                }
            }
        }
    }
    show(&visitor, &editable, form, files)
}

/// Changes a message and returns to it.
async fn change(
    visitor: &super::MessageWriter,
    id: MessageId,
    change: Value,
    done: &str,
) -> PageResult {
    let change = Fields::read::<MessageChange>(change)?;
    let access = viewer(visitor).await?.access;
    let write = move |tx: &Tx<'_>| editing::change(tx, &access, id, &IfMatch::Absent, change);
    visitor.write(write).await?;
    Ok(see_other(&format!("{}?done={done}", path(id))))
}

pub(super) async fn pin(
    PathParams(id): PathParams<MessageId>,
    Submission { visitor, form }: Submission,
) -> PageResult {
    let pinned = form.text("pinned") == "yes";
    let done = if pinned { "pinned" } else { "unpinned" };
    change(&visitor, id, json!({ "pinned": pinned }), done).await
}

pub(super) async fn send_now(
    PathParams(id): PathParams<MessageId>,
    Submission { visitor, .. }: Submission,
) -> PageResult {
    change(&visitor, id, json!({ "publish_at": null }), "sent").await
}

pub(super) async fn confirm_retraction(
    visitor: MessageReader,
    PathParams(id): PathParams<MessageId>,
) -> PageResult {
    let access = viewer(&visitor).await?.access;
    let message =
        visitor.read(move |db: &Reader<'_>| message::find_managed(db, &access, id)).await?;
    let frame = visitor.frame(t!("Retract message"), Section::Messages);
    match message.status {
        Status::Retracted => NoticePage {
            frame,
            lead: None,
            text: "The message is already retracted.".into(),
            back: path(id),
            back_label: "Back to the message",
        }
        .respond(),
        Status::Scheduled => {
            let frame = visitor.frame(t!("Cancel message"), Section::Messages);
            ConfirmPage::new(frame, "Do not send", path(id))
                .effect("The message is not sent to anybody.")
                .back_label("Keep it")
                .respond()
        }
        Status::Published => {
            let readers = Sentence::new("{count} people have read it already.");
            let page = ConfirmPage::new(frame, "Retract", path(id))
                .effect("The message is no longer shown. Everybody sees that it was retracted.")
                .effect("Emails that were not sent yet are cancelled.")
                .effect("If a child received it, other adults who received it can still read it.");
            let page = match message.read_count {
                0 => page,
                1 => page.effect("One person has read it already."),
                count => page.effect(readers.word("count", count)),
            };
            page.respond()
        }
    }
}

pub(super) async fn retract(
    PathParams(id): PathParams<MessageId>,
    Submission { visitor, .. }: Submission,
) -> PageResult {
    let access = viewer(&visitor).await?.access;
    let retract = move |tx: &Tx<'_>| {
        let before = message::find_managed(tx, &access, id)?;
        if before.status != Status::Retracted {
            editing::retract(tx, &access, id, &IfMatch::Absent)?;
        }
        Ok(before.status)
    };
    Ok(match visitor.write(retract).await? {
        Status::Scheduled => see_other(&format!("{INBOX}?done=cancelled")),
        _ => see_other(&format!("{}?done=retracted", path(id))),
    })
}
