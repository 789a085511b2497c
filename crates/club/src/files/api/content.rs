//! Sending a file. No browser runs scripts in it, whatever it contains.

use axum::body::Body;
use http::HeaderName;
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
};

use crate::files::file::{self, File, Purpose};
use crate::prelude::*;
use crate::uploads::ContentType;
use crate::web::prelude::*;

const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");

/// The entity tag of a file or its thumbnail. Both never change.
pub fn etag(file: &File, thumbnail: bool) -> String {
    format!("\"{}{}\"", &file.sha256[..32], if thumbnail { "-small" } else { "" })
}

/// Streams a file, or the thumbnail of an image if the caller asks for it.
pub async fn send(app: &App, file: &File, thumbnail: bool) -> Result<Response> {
    let thumbnail = thumbnail && file.content_type.is_image();
    let key = file::store_key(file.account_id, file.id, thumbnail);
    let content = app.files.get(&key).await?;
    let missing = || Error::internal(format!("{key} is missing in the file store"));
    let content = content.ok_or_else(missing)?;
    // Logos stay in the cache. Other files are asked for again, because somebody may lose access to them.
    let caching = match file.purpose {
        Purpose::Logo => "private, max-age=86400",
        _ => "private, no-cache",
    };
    let headers = [
        (CONTENT_TYPE, file.content_type.as_str().to_owned()),
        (CONTENT_LENGTH, content.size.to_string()),
        (CONTENT_DISPOSITION, disposition(file)),
        (CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'".to_owned()),
        (CROSS_ORIGIN_RESOURCE_POLICY, "same-origin".to_owned()),
        (CACHE_CONTROL, caching.to_owned()),
        (ETAG, etag(file, thumbnail)),
    ];
    Ok((headers, Body::from_stream(content.chunks)).into_response())
}

/// Shows images and downloads everything else, with the name in ASCII and in UTF-8 (RFC 6266).
fn disposition(file: &File) -> String {
    let kind = if file.content_type == ContentType::Pdf { "attachment" } else { "inline" };
    let plain = |c: char| c.is_ascii_alphanumeric() || " .-_()".contains(c);
    let ascii: String = file.name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encode = |byte: u8| {
        if is_unreserved(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    let utf8: String = file.name.bytes().map(encode).collect();
    format!("{kind}; filename=\"{ascii}\"; filename*=UTF-8''{utf8}")
}
