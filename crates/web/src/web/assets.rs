//! Stylesheets, scripts and images of the pages, embedded in the program. Their URLs contain a hash of the
//! content, so that browsers can cache them indefinitely.

use std::io::Write as _;
use std::sync::LazyLock;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use http::{HeaderMap, Uri};
use sha2::{Digest, Sha256};

use super::path::PathParams;
use crate::error::{Error, Result};
use crate::web::app::App;

const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";
const PNG: &str = "image/png";

/// All files with their content types. To add a file, add a line here.
const FILES: [(&str, &str, &[u8]); 13] = [
    ("app.css", CSS, include_bytes!("../../assets/app.css")),
    ("print.css", CSS, include_bytes!("../../assets/print.css")),
    ("app.js", SCRIPT, include_bytes!("../../assets/app.js")),
    ("docs.css", CSS, include_bytes!("../../assets/docs.css")),
    ("docs.js", SCRIPT, include_bytes!("../../assets/docs.js")),
    ("htmx.min.js", SCRIPT, include_bytes!("../../assets/htmx.min.js")),
    ("icons.svg", PICTURE, include_bytes!("../../assets/icons.svg")),
    ("passkeys.js", SCRIPT, include_bytes!("../../assets/passkeys.js")),
    (MARK, PICTURE, include_bytes!("../../assets/mark.svg")),
    // Made from `mark.svg`, for the home screen.
    ("icon-192.png", PNG, include_bytes!("../../assets/icon-192.png")),
    ("icon-512.png", PNG, include_bytes!("../../assets/icon-512.png")),
    ("icon-maskable.png", PNG, include_bytes!("../../assets/icon-maskable.png")),
    ("apple-touch-icon.png", PNG, include_bytes!("../../assets/apple-touch-icon.png")),
];

/// The logo mark, also used as favicon.
const MARK: &str = "mark.svg";

struct Asset {
    name: &'static str,
    content_type: &'static str,
    plain: &'static [u8],
    gzipped: Bytes,
    /// `v=` and the start of the content's hash.
    version: String,
    href: String,
}

/// Compressed on first use, which takes a few milliseconds.
static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let asset = |(name, kind, plain): (&'static str, &'static str, &'static [u8])| {
        let hash = URL_SAFE_NO_PAD.encode(&Sha256::digest(plain)[..9]);
        let version = format!("v={hash}");
        let href = format!("/assets/{name}?{version}");
        Asset { name, content_type: kind, plain, gzipped: gzip(plain), version, href }
    };
    FILES.into_iter().map(asset).collect()
});

fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

/// The URL of an asset, for templates. Empty for an unknown name, which the tests of [`super::page`] detect.
pub fn href(name: &str) -> &'static str {
    find(name).map_or("", |asset| &asset.href)
}

/// `/assets/{name}`, and `/favicon.ico`, which browsers request on their own.
pub fn router() -> Router<App> {
    Router::new()
        .route("/assets/{name}", get(serve))
        .route("/favicon.ico", get(|uri, headers| serve(PathParams(MARK.to_owned()), uri, headers)))
}

async fn serve(
    PathParams(name): PathParams<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response> {
    let asset = find(&name).ok_or_else(Error::not_found)?;
    // Without the hash of this version, the URL may soon have other content, so it is cached only briefly.
    let current = uri.query() == Some(&asset.version);
    let caching =
        if current { "public, max-age=31536000, immutable" } else { "public, max-age=300" };
    let fixed =
        [(CONTENT_TYPE, asset.content_type), (CACHE_CONTROL, caching), (VARY, "accept-encoding")];
    if accepts_gzip(&headers) {
        let encoding = [(CONTENT_ENCODING, "gzip")];
        return Ok((fixed, encoding, asset.gzipped.clone()).into_response());
    }
    Ok((fixed, asset.plain).into_response())
}

/// Whether the client accepts gzip.
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    accepted.flat_map(|line| line.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        gzip && !parts.any(|weight| weight.trim_end_matches(['0', '.']) == "q=")
    })
}

/// Compresses bytes with gzip as well as possible, for content that is compressed once.
pub fn gzip(plain: &[u8]) -> Bytes {
    gzip_with(flate2::Compression::best(), plain)
}

/// Compresses bytes with gzip quickly, for content that is compressed for one response.
pub fn gzip_fast(plain: &[u8]) -> Bytes {
    gzip_with(flate2::Compression::fast(), plain)
}

fn gzip_with(level: flate2::Compression, plain: &[u8]) -> Bytes {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), level);
    let done = gzip.write_all(plain).and_then(|()| gzip.finish());
    done.expect("writing to memory cannot fail").into()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn gzip_is_sent_to_clients_that_accept_it() {
        let accepts = |value: &'static str| {
            let headers = [(ACCEPT_ENCODING, HeaderValue::from_static(value))];
            accepts_gzip(&headers.into_iter().collect())
        };
        assert!(accepts("gzip") && accepts("br, GZIP;q=0.5") && accepts("deflate , gzip ; q=1.0"));
        assert!(!accepts("br") && !accepts("gzip;q=0") && !accepts("gzip; q=0.0"));
        assert!(!accepts("xgzip"));
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn assets_stay_small() {
        let size = |name: &str| find(name).map(|asset| (asset.plain.len(), asset.gzipped.len()));
        assert!(size("app.css").unwrap().0 < 52_000);
        assert!(size("print.css").unwrap().0 < 1_500);
        assert!(size("app.js").unwrap().0 < 6_000);
        assert!(size("docs.css").unwrap().0 < 16_000);
        assert!(size("docs.js").unwrap().0 < 4_000);
        let packed: usize = ASSETS.iter().map(|asset| asset.gzipped.len()).sum();
        assert!(packed < 60_000, "{packed}");
    }

    /// A template without its askama expressions.
    fn without_expressions(template: &str) -> String {
        let mut parts = template.split('{');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| {
            let outside = part.rsplit_once('}').map_or("", |(_, outside)| outside);
            text + " " + outside
        })
    }

    fn templates(folder: &std::path::Path, texts: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                templates(&path, texts);
            } else {
                texts.push(std::fs::read_to_string(&path).unwrap());
            }
        }
    }

    #[test]
    fn every_css_class_in_a_template_is_defined() {
        let text = |name: &str| std::str::from_utf8(find(name).unwrap().plain).unwrap();
        let css = text("app.css").to_owned() + text("print.css") + text("docs.css");
        let in_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        let known: std::collections::HashSet<_> = css
            .split('.')
            .skip(1)
            .filter_map(|rest| rest.split(|letter| !in_name(letter)).next())
            .collect();
        let mut all = Vec::new();
        let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for folder in std::fs::read_dir(crates).unwrap() {
            let folder = folder.unwrap().path().join("templates");
            if folder.exists() {
                templates(&folder, &mut all);
            }
        }
        let mut count = 0;
        for template in &all {
            let text = without_expressions(template);
            for classes in text.split("class=\"").skip(1) {
                for class in classes.split('"').next().unwrap().split_whitespace() {
                    assert!(known.contains(class), "no stylesheet defines .{class}");
                    count += 1;
                }
            }
        }
        assert!(count > 500, "{count}");
    }
}
