//! The files that are attached to a message.

use serde::Deserialize;

use crate::files::attaching;
use crate::files::file::{File, Purpose};
use crate::files::pages;
use crate::i18n::{Locale, format};
use crate::prelude::*;
use crate::uploads::ContentType;

/// The files that are attached to a message. They do not change after it was published.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attachments(pub Vec<Attachment>);

json_column!(Attachments);

/// A file that is attached to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = MessageAttachment)]
pub struct Attachment {
    /// ID of the file.
    pub id: FileId,
    /// Name of the file; always `null` in notifications.
    #[schema(examples("schedule.pdf"))]
    pub name: Option<String>,
    /// Type of the file.
    pub content_type: ContentType,
    /// Size of the file, in bytes.
    #[schema(examples(48213))]
    pub size: i64,
    /// Width of an image, in pixels; `null` for a PDF.
    pub width: Option<i64>,
    /// Height of an image, in pixels; `null` for a PDF.
    pub height: Option<i64>,
}

impl Attachment {
    /// Whether it is an image.
    pub fn is_image(&self) -> bool {
        self.content_type.is_image()
    }

    /// Its URL for a page.
    pub fn url(&self) -> String {
        pages::url(self.id)
    }

    /// The URL of the thumbnail of an image.
    pub fn thumbnail_url(&self) -> String {
        pages::thumbnail_url(self.id)
    }

    /// Its name for a page.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// Its size in words, such as `1.2 MB`.
    pub fn size_text(&self) -> String {
        let kilobytes = (self.size + 1023) / 1024;
        if kilobytes < 1000 {
            return t!("{size} kB", size = kilobytes);
        }
        let megabytes = format::decimal(Locale::current_or_english(), kilobytes * 10 / 1024, 1);
        t!("{size} MB", size = megabytes)
    }
}

impl From<File> for Attachment {
    fn from(file: File) -> Self {
        copy_fields! {
            Self { name: Some(file.name), ..file { id, content_type, size, width, height } }
        }
    }
}

impl Attachments {
    fn ids(&self) -> Vec<FileId> {
        self.0.iter().map(|one| one.id).collect()
    }

    /// The same files without their names, which may be personal.
    pub(super) fn without_names(&self) -> Self {
        Self(self.0.iter().map(|one| Attachment { name: None, ..one.clone() }).collect())
    }
}

/// Attaches files of the caller to a message. Files that it has already can be among them.
pub(super) fn attach(
    tx: &Tx<'_>,
    message: MessageId,
    ids: &[FileId],
    violations: &mut Violations,
) -> Result<Attachments> {
    let owner = message.to_string();
    let pointer = |index| format!("/attachment_ids/{index}");
    let files = attaching::attach(tx, (Purpose::Attachment, &owner), ids, pointer, violations)?;
    Ok(Attachments(files.into_iter().map(Attachment::from).collect()))
}

/// Makes these the attachments of a scheduled message. Those that it had and that are not among them are removed.
pub(super) fn replace(
    tx: &Tx<'_>,
    message: MessageId,
    before: &Attachments,
    ids: &[FileId],
    violations: &mut Violations,
) -> Result<Attachments> {
    let mut removed = before.ids();
    removed.retain(|id| !ids.contains(id));
    attaching::remove(tx, &message.to_string(), removed)?;
    attach(tx, message, ids, violations)
}
