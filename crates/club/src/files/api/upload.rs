//! Receiving a file: checking it, and storing its bytes before its row is created.

use kit::secret::{hex, sha256};

use crate::files::file::{self, File, Purpose, StoredFile};
use crate::prelude::*;
use crate::web::form::FilledForm;
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
    if let Some(detail) = sent.lost {
        return Err(Error::invalid(vec![Fault::new("/file", "lost", detail)]));
    }
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

/// Receives the files of a form with attachments. Afterwards its field `attachment_ids` has the files that an earlier
/// attempt received and that are still checked, and the new ones. What is wrong with a file is reported at the field
/// `file`; the other files are kept. `owner` is the id of the message that is edited, or empty.
pub async fn receive_attachments<N: Permission>(
    visitor: &Visitor<N>,
    mut form: FilledForm,
    sent: Vec<SentFile>,
    owner: String,
) -> Result<(FilledForm, Vec<File>)> {
    let ids: Vec<FileId> =
        form.all("attachment_ids").into_iter().filter_map(|id| id.parse().ok()).collect();
    let mut files = visitor.read(move |db| file::list_attachable(db, &ids, &owner)).await?;
    if files.len() + sent.len() > MAX_ATTACHMENTS {
        form.faults.add("file", t!("Attach at most {max} files.", max = MAX_ATTACHMENTS));
    } else if let Some(reason) = sent.iter().find_map(|file| file.lost) {
        form.faults.add("file", t!(reason));
    } else if !sent.is_empty() {
        files.extend(store_attachments(visitor, &mut form, sent).await?);
    }
    let ids = files.iter().map(|file| file.id.to_string());
    Ok((form.with_all("attachment_ids", ids), files))
}

/// Stores the files that can be attached, and reports what is wrong with the others.
async fn store_attachments<N: Permission>(
    visitor: &Visitor<N>,
    form: &mut FilledForm,
    sent: Vec<SentFile>,
) -> Result<Vec<File>> {
    let (account, purpose) = (visitor.club()?, Purpose::Attachment);
    if form.accept(visitor.read(file::check_unattached).await)?.is_none() {
        return Ok(Vec::new());
    }
    let (mut stored, mut errors) = (Vec::new(), Vec::new());
    for one in sent {
        let name = one.name.clone();
        match store(visitor.app(), account, purpose, one).await {
            Ok(file) => stored.push(file),
            Err(error) if error.code.status() != StatusCode::INTERNAL_SERVER_ERROR => {
                let error = error.faults.first().map_or(&error.detail, |fault| &fault.detail);
                errors.push(t!("{name}: {error}", name, error = error.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    if !errors.is_empty() {
        form.faults.add("file", errors.join(" "));
    }
    let create = |tx: &Tx<'_>| stored.into_iter().map(|stored| file::create(tx, stored)).collect();
    Ok(form.accept(visitor.write(create).await)?.unwrap_or_default())
}

/// Stores the bytes of an attachment a second time, because each message has files of its own. Pass the result to
/// [`file::create`].
pub async fn copy(app: &App, file: &File) -> Result<StoredFile> {
    let id = app.new_id();
    let sizes = if file.content_type.is_image() { &[false, true][..] } else { &[false] };
    for thumbnail in sizes {
        let key = file::store_key(file.account_id, file.id, *thumbnail);
        let missing = || Error::internal(format!("{key} is missing in the file store"));
        let content = app.files.get(&key).await?.ok_or_else(missing)?;
        let bytes = content.into_bytes().await;
        let bytes = bytes.map_err(|error| Error::internal(error.to_string()))?;
        app.files.put(&file::store_key(file.account_id, id, *thumbnail), bytes.into()).await?;
    }
    let side = |side: Option<i64>| side.and_then(|side| u32::try_from(side).ok());
    let file = file.clone();
    Ok(copy_fields! {
        StoredFile {
            id,
            dimensions: side(file.width).zip(side(file.height)),
            ..file { purpose, name, content_type, size, sha256 }
        }
    })
}

/// A file that is too large is an error of its field.
fn correctable(error: Error) -> Error {
    match error.code {
        Code::PayloadTooLarge => Error::invalid(error.faults),
        _ => error,
    }
}
