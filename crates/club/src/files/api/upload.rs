//! Receiving a file: checking it, and storing its bytes before its row is created.

use kit::secret::{hex, sha256};

use crate::files::file::{self, File, Purpose, StoredFile};
use crate::prelude::*;
use crate::web::prelude::*;

/// Maximum number of attachments of a message.
pub const MAX_ATTACHMENTS: usize = 10;

/// Checks a file and stores its bytes. Pass the result to [`file::create`].
pub async fn store(
    app: &App,
    account: AccountId,
    purpose: Purpose,
    sent: SentFile,
) -> Result<StoredFile> {
    let checked = app.uploads.check(sent.bytes, purpose.requirements()).await?;
    let (id, name) = (app.new_id(), file::stored_name(&sent.name, &checked));
    let size = i64::try_from(checked.bytes.len())
        .map_err(|_| Error::internal("the size of a file does not fit into 64 bits"))?;
    let hash = hex(&sha256(&checked.bytes));
    app.files.put(&file::store_key(account, id, false), checked.bytes).await?;
    if let Some(thumbnail) = checked.thumbnail {
        app.files.put(&file::store_key(account, id, true), thumbnail).await?;
    }
    let (content_type, dimensions) = (checked.content_type, checked.dimensions);
    Ok(StoredFile { id, purpose, name, content_type, size, dimensions, sha256: hash })
}

/// Receives the files of a page's form, and returns them with their ids. Attach them when the form is saved. What is wrong
/// with a file is reported at the field `file`, so that the visitor can choose another one.
pub async fn receive<N: Permission>(
    visitor: &Visitor<N>,
    purpose: Purpose,
    files: Vec<SentFile>,
) -> Result<Vec<File>> {
    let account = visitor.club()?;
    if files.is_empty() {
        return Ok(Vec::new());
    }
    visitor.read(file::check_unattached).await?;
    let mut stored = Vec::new();
    for sent in files {
        stored.push(store(visitor.app(), account, purpose, sent).await.map_err(correctable)?);
    }
    let create = |tx: &Tx<'_>| stored.into_iter().map(|stored| file::create(tx, stored)).collect();
    visitor.write(create).await
}

/// The attachments of a form: those that were received with an earlier attempt and are still checked in the field
/// `attachment_ids`, and those that are received now.
pub async fn receive_attachments<N: Permission>(
    visitor: &Visitor<N>,
    form: &Form,
    files: Vec<SentFile>,
) -> Result<Vec<File>> {
    let ids: Vec<FileId> =
        form.get_all("attachment_ids").into_iter().filter_map(|id| id.parse().ok()).collect();
    if ids.len() + files.len() > MAX_ATTACHMENTS {
        let detail = "Attach at most 10 files.";
        return Err(Error::invalid(vec![Fault::new("/file", "too_many", detail)]));
    }
    let mut kept = visitor.read(move |db| file::list_unattached(db, &ids)).await?;
    kept.extend(receive(visitor, Purpose::Attachment, files).await?);
    Ok(kept)
}

/// A file that is too large is an error of its field.
fn correctable(error: Error) -> Error {
    match error.code {
        Code::PayloadTooLarge => Error::invalid(error.faults),
        _ => error,
    }
}
