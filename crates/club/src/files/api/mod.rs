//! Endpoints of files.

pub mod content;
pub mod upload;

use kit::secret::sha256;
use kit::string_enum;
use macros::query;

use super::file::{self, File, Purpose};
use super::{FilesRead, FilesWrite};
use crate::prelude::*;
use crate::web::multipart::Parts;
use crate::web::prelude::*;

/// Routes below `/files`.
pub fn routes(routes: Routes) -> Routes {
    let routes = routes.with_schema::<FileSize>();
    routes.with(routes!(create)).with(routes!(find)).with(routes!(content))
}

/// A file and what it is for.
#[derive(ToSchema)]
#[schema(as = CreateFileRequest)]
pub struct NewFile {
    /// The file: JPEG, PNG, WebP, GIF or PDF, at most 10 MB. Logos and photos are images.
    #[schema(value_type = String, format = Binary)]
    pub file: Vec<u8>,
    /// What the file is for: `attachment`, `logo` or `photo`.
    pub purpose: Purpose,
}

/// The bytes of a file.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
pub struct FileContent(#[expect(dead_code, reason = "only for the API description")] Vec<u8>);

/// Upload a file
///
/// Stores a file. To use it, send its ID within a day: `attachment_ids` of a message, `logo_file_id` of a team or
/// `photo_file_id` of a person. Until then only you can retrieve it. The type is recognized by the content. Images are
/// stored as JPEG or PNG, upright and without metadata, with at most 2560 pixels per side (logos and photos: 1024). Of an
/// animation, only the first frame is kept. An image can have up to 25 megapixels. Attachments need the scope
/// `messages:write`, logos `teams:write` and photos `roster:write`.
#[endpoint(post, "/files", id = "files.create", tag = "Files",
    example = json!({ "purpose": "attachment", "file": "%PDF-1.7 …" }),
    201(ObjectResponse<File>, "The stored file."))]
async fn create(caller: Caller<FilesWrite>, body: Multipart<NewFile>) -> Result<Response> {
    let (purpose, sent) = read_parts(body.parts)?;
    require_scope(&caller, purpose.write_scope())?;
    let app = caller.app().clone();
    app.db.read(caller.scope(), file::check_unattached).await?;
    let canonical = json!({ "purpose": purpose, "name": sent.name }).to_string();
    let canonical = [canonical.as_bytes(), &sha256(&sent.bytes)].concat();
    let account = caller.credential().account_id;
    let value = upload::store(&app, account, purpose, sent).await?;
    caller.create(Body { value, canonical }, file::create).await
}

/// Retrieve a file
///
/// Returns a file without its content. An attachment can be retrieved by everybody who can read its message, a logo by
/// everybody who can see the team, and a photo by the person, their guardians, coaches and managers of their teams, and
/// admins. Attachments need the scope `messages:read`, logos `teams:read` and photos `roster:read`.
#[endpoint(get, "/files/{file_id}", id = "files.get", tag = "Files",
    200(ObjectResponse<File>, "The file."))]
async fn find(caller: Caller<FilesRead>, id: FileId) -> Result<Response> {
    let file = find_readable(&caller, id).await?;
    caller.bypass_cache().read_object(move |_| Ok(file)).await
}

/// Download a file
///
/// Returns the content of a file, to everybody who can retrieve the file.
#[endpoint(get, "/files/{file_id}/content", id = "files.download", tag = "Files",
    200(FileContent, "The content, with the type of the file.", "application/octet-stream", "%PDF-1.7 …"))]
async fn content(
    caller: Caller<FilesRead>,
    id: FileId,
    ContentQuery { size }: ContentQuery,
) -> Result<Response> {
    let file = find_readable(&caller, id).await?;
    content::send(caller.app(), &file, size == Some(FileSize::Small)).await
}

string_enum! {
    /// The size of an image.
    pub enum FileSize {
        /// The stored size.
        Full = "full",
        /// At most 256 pixels per side. A PDF does not have this size.
        Small = "small",
    }
}

/// The query of a download.
#[query]
pub struct ContentQuery {
    /// Size of an image: `full` (default) or `small` (at most 256 pixels per side).
    pub size: Option<FileSize>,
}

/// The file that the caller may see, if the credential has the scope for its purpose.
async fn find_readable(caller: &Caller<FilesRead>, id: FileId) -> Result<File> {
    let access = caller.team_access();
    let find = move |db: &Reader<'_>| file::find(db, &access, id);
    let file = caller.app().db.read(caller.scope(), find).await?;
    require_scope(caller, file.purpose.read_scope())?;
    Ok(file)
}

fn require_scope<N: Permission>(caller: &Caller<N>, scope: ScopeName) -> Result<()> {
    if caller.credential().scopes.contains(scope) {
        return Ok(());
    }
    let detail = format!("The credentials lack the scope `{scope}`.");
    let error = Error::new(Code::InsufficientScope, detail);
    Err(Error { required_scope: Some(scope.as_str()), ..error })
}

/// The purpose and the only file of a body.
fn read_parts(parts: Parts) -> Result<(Purpose, SentFile)> {
    let mut faults = Vec::new();
    let names = parts.form.with_prefix("").map(|(name, _)| name);
    for name in names.chain(parts.files.iter().map(|file| file.field.as_str())) {
        if name != "purpose" && name != "file" {
            return Err(Error::new(Code::InvalidParameter, format!("Unknown field `{name}`.")));
        }
    }
    let purpose = Purpose::parse(parts.form.text("purpose"));
    if purpose.is_none() {
        let detail = format!("`purpose` must be one of: {}.", Purpose::choices());
        let code =
            if parts.form.optional("purpose").is_some() { "unknown_value" } else { "required" };
        faults.push(Fault::new("/purpose", code, detail));
    }
    let mut files = parts.files;
    if files.len() != 1 || files[0].field != "file" {
        let detail = "Send exactly one file, in the field `file`, with a file name.";
        faults.push(Fault::new("/file", "required", detail));
    }
    match (purpose, files.pop()) {
        (Some(purpose), Some(file)) if faults.is_empty() => Ok((purpose, file)),
        _ => Err(Error::invalid(faults)),
    }
}
