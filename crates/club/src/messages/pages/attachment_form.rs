//! The part of a form that attaches files to a message. Files that were received stay with the form until it is saved.

use askama::filters::HtmlSafe;

use crate::files::file::File;
use crate::files::pages::ACCEPT_ATTACHMENTS;
use crate::messages::attachments::Attachment;
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;

/// The files that were received, with a checkbox for each.
pub(super) const ATTACHED: Field = Field::checks("attachment_ids", "Attached files", &[]);
pub(super) const NEW_FILES: Field = Field::file("file", "Add photos or PDFs")
    .hint("JPEG, PNG, WebP, GIF or PDF, up to 10 files of 10 MB each, and 24 MB at once. Where a photo was taken is not stored.")
    .attributes(ACCEPT_ATTACHMENTS);

/// The fields as they are shown.
#[derive(Template)]
#[template(path = "messages/attachment_form.html")]
pub(super) struct AttachmentForm {
    form: FilledForm,
    files: Vec<Attachment>,
}

impl HtmlSafe for AttachmentForm {}

impl AttachmentForm {
    pub(super) fn new(form: &FilledForm, files: Vec<File>) -> Self {
        let files = files.into_iter().map(Attachment::from).collect();
        Self { form: form.clone(), files }
    }

    /// What the collapsed part says.
    fn about(&self) -> String {
        match self.files.len() {
            0 => t!("None").to_owned(),
            count => tn!("{count} file", "{count} files", count),
        }
    }

    fn is_open(&self) -> bool {
        !self.files.is_empty() || self.form.has_error(&["file", "attachment_ids"])
    }

    fn error(&self) -> &str {
        self.form.faults.at("attachment_ids")
    }
}
