//! Bodies with files (`multipart/form-data`). They are read into memory within the limits of all bodies, so nothing is
//! left behind if the sender stops.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::time::Duration;

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use futures_util::{Stream, stream};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};

use super::body;
use super::form::Form;
use crate::prelude::*;
use crate::uploads::MAX_FILE_BYTES;
use crate::web::app::App;

/// The maximum number of files and fields.
const MAX_PARTS: usize = 200;
/// The maximum size of all fields that are not files, in bytes.
pub const MAX_FIELD_BYTES: usize = 64 * 1024;

/// The maximum size of a form whose files are dropped, in bytes.
const MAX_DROPPED_BYTES: usize = 11 * MAX_FILE_BYTES;
/// How long the files that are dropped may take to arrive.
const DROP_TIMEOUT: Duration = Duration::from_secs(120);
const TOO_LARGE: &str = mark!(
    "Together, these files have more than 24 MB, so they were not kept. Send some of them first, and then add the others."
);
/// The field of a form whose files were not kept when it was sent before.
pub(super) const FILES_LOST: &str = "files_lost";
const SENT_BEFORE: &str = mark!("The files that you chose were not kept. Add them again.");

/// A file as it was sent. Nothing about it can be trusted.
#[derive(Debug, Clone)]
pub struct SentFile {
    /// The name of its field.
    pub field: String,
    pub name: String,
    pub bytes: Bytes,
    /// Why the bytes were not kept.
    pub lost: Option<&'static str>,
}

impl SentFile {
    /// A placeholder for the files of a form that is sent again without them.
    pub(super) fn lost() -> Self {
        let (field, name, bytes) = ("file".to_owned(), String::new(), Bytes::new());
        Self { field, name, bytes, lost: Some(SENT_BEFORE) }
    }
}

/// The fields and files of a body.
#[derive(Debug, Default)]
pub struct Parts {
    pub form: Form,
    pub files: Vec<SentFile>,
}

/// Extracts the body of an API operation that takes one file. `T` is its schema in the API description.
#[derive(Debug)]
pub struct Multipart<T> {
    pub parts: Parts,
    schema: PhantomData<fn() -> T>,
}

impl<T> FromRequest<App> for Multipart<T> {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        let parts = read(request, app, MAX_FILE_BYTES + MAX_FIELD_BYTES).await?;
        Ok(Self { parts, schema: PhantomData })
    }
}

/// Whether the headers announce a body with files.
pub fn is_multipart(headers: &HeaderMap) -> bool {
    boundary(headers).is_ok()
}

fn boundary(headers: &HeaderMap) -> Result<String> {
    let unsupported = "Send the body as multipart/form-data, without Content-Encoding.";
    let unsupported = || Error::new(Code::UnsupportedMediaType, unsupported);
    unsupported().fail_if(headers.contains_key(http::header::CONTENT_ENCODING))?;
    let header = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    multer::parse_boundary(header.unwrap_or_default()).map_err(|_| unsupported())
}

/// Reads a body of at most `max_bytes`.
pub async fn read(request: Request, app: &App, max_bytes: usize) -> Result<Parts> {
    let boundary = boundary(request.headers())?;
    parse(body::read(request, app, max_bytes).await?, boundary).await
}

/// Reads the body of a form. If it has more than `max_bytes`, its files are dropped while they arrive, so that the page can
/// show the other fields again.
pub async fn read_form(request: Request, app: &App, max_bytes: usize) -> Result<Parts> {
    let boundary = boundary(request.headers())?;
    let length = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or_default();
    if length <= max_bytes || length > MAX_DROPPED_BYTES {
        return read(request, app, max_bytes).await;
    }
    let parts = parse_stream(request.into_body().into_data_stream(), boundary, Some(TOO_LARGE));
    let late = || Error::new(Code::RequestTimeout, "The files did not arrive in time. Send fewer.");
    tokio::time::timeout(DROP_TIMEOUT, parts).await.map_err(|_| late())?
}

/// Parses a body. A file field in which no file was chosen is left out.
async fn parse(bytes: Bytes, boundary: String) -> Result<Parts> {
    parse_stream(stream::iter([Ok::<_, Infallible>(bytes)]), boundary, None).await
}

/// Parses a body while it arrives. `lost` is the reason why the bytes of its files are not kept.
async fn parse_stream<S, E>(
    stream: S,
    boundary: String,
    lost: Option<&'static str>,
) -> Result<Parts>
where
    S: Stream<Item = std::result::Result<Bytes, E>> + Send + 'static,
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let malformed = |_| malformed();
    let mut multipart = multer::Multipart::new(stream, boundary);
    let (mut fields, mut files, mut field_bytes) = (Vec::new(), Vec::new(), 0);
    while let Some(mut part) = multipart.next_field().await.map_err(malformed)? {
        let field = part.name().map(str::to_owned).ok_or_else(self::malformed)?;
        let file_name = part.file_name().map(str::to_owned);
        let bytes = if lost.is_some() && file_name.is_some() {
            while part.chunk().await.map_err(malformed)?.is_some() {}
            Bytes::new()
        } else {
            part.bytes().await.map_err(malformed)?
        };
        if let Some(name) = file_name {
            if !(name.is_empty() && bytes.is_empty()) {
                files.push(SentFile { field, name, bytes, lost });
            }
        } else {
            field_bytes += field.len() + bytes.len();
            let value = String::from_utf8(bytes.into()).map_err(|_| self::malformed())?;
            fields.push((field, value));
        }
        if fields.len() + files.len() > MAX_PARTS || field_bytes > MAX_FIELD_BYTES {
            let detail = "The form has too many fields or too much text.";
            return Err(Error::new(Code::PayloadTooLarge, detail));
        }
    }
    Ok(Parts { form: Form::from_pairs(fields), files })
}

fn malformed() -> Error {
    Error::new(Code::InvalidRequest, "The body is not valid multipart/form-data.")
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn parsed(body: &str) -> Result<Parts> {
        parse(Bytes::from(body.replace('\n', "\r\n")), "x".to_owned()).await
    }

    #[tokio::test]
    async fn fields_and_files_are_read() {
        let body = "--x\nContent-Disposition: form-data; name=\"note\"\n\nZoë\n\
            --x\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\nContent-Type: text/html\n\nabc\n\
            --x\nContent-Disposition: form-data; name=\"other\"; filename=\"\"\n\n\n--x--\n";
        let parts = parsed(body).await.unwrap();
        assert_eq!(parts.form.text("note"), "Zoë");
        let [file] = &parts.files[..] else { panic!("{parts:?}") };
        assert_eq!((&*file.field, &*file.name, &file.bytes[..]), ("file", "a.png", &b"abc"[..]));
    }

    #[tokio::test]
    async fn malformed_and_excessive_bodies_are_rejected() {
        let field = "--x\nContent-Disposition: form-data; name=\"a\"\n\n";
        let unnamed = "--x\nContent-Disposition: form-data\n\n1\n--x--\n";
        for body in ["", "abc", field, unnamed, &format!("{field}1\n")] {
            assert_eq!(parsed(body).await.unwrap_err().code, Code::InvalidRequest, "{body}");
        }
        let many = format!("{field}1\n").repeat(MAX_PARTS + 1) + "--x--\n";
        let long = format!("{field}{}\n--x--\n", "1".repeat(MAX_FIELD_BYTES + 1));
        for body in [many, long] {
            assert_eq!(parsed(&body).await.unwrap_err().code, Code::PayloadTooLarge);
        }
    }
}
