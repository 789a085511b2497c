//! `/files/{file}`: the bytes of a file, for pages.

use http::HeaderMap;
use http::header::{ETAG, IF_NONE_MATCH};

use super::FilesRead;
use super::api::content;
use super::file;
use crate::prelude::*;
use crate::web::prelude::*;

/// The attributes of a field for images, and of one for attachments.
pub const ACCEPT_IMAGES: &str = "accept=image/jpeg,image/png,image/webp,image/gif";
pub const ACCEPT_ATTACHMENTS: &str =
    "multiple accept=image/jpeg,image/png,image/webp,image/gif,application/pdf";

/// The route of files.
pub fn router() -> Router<App> {
    Router::new().route("/files/{file}", get(show))
}

/// The URL of a file.
pub fn url(id: FileId) -> String {
    format!("/files/{id}")
}

/// The URL of the thumbnail of an image.
pub fn thumbnail_url(id: FileId) -> String {
    format!("/files/{id}?size=small")
}

async fn show(
    visitor: Visitor<FilesRead>,
    PathParams(id): PathParams<FileId>,
    headers: HeaderMap,
) -> PageResult {
    let access = visitor.team_access().await?;
    let file = visitor.read(move |db| file::find(db, &access, id)).await?;
    let thumbnail = visitor.guest.query()?.text("size") == "small" && file.content_type.is_image();
    let etag = content::etag(&file, thumbnail);
    let known = headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|one| one.trim() == etag)) {
        return Ok((StatusCode::NOT_MODIFIED, [(ETAG, etag)]).into_response());
    }
    Ok(content::send(visitor.app(), &file, thumbnail).await?)
}
