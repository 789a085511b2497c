//! Style, scripts and pictures of our pages. They are part of the program and never change under one
//! address: the address carries a hash of the content, so a browser fetches each of them once.

use std::io::Write as _;
use std::sync::LazyLock;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue, Uri};
use sha2::{Digest, Sha256};

use super::path::At;
use crate::app::App;
use crate::error::{Error, Result};

const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// Every file there is, with its type. A new file needs its line here and nothing else.
const FILES: [(&str, &str, &[u8]); 7] = [
    ("app.css", CSS, include_bytes!("../../assets/app.css")),
    ("print.css", CSS, include_bytes!("../../assets/print.css")),
    ("app.js", SCRIPT, include_bytes!("../../assets/app.js")),
    ("htmx.min.js", SCRIPT, include_bytes!("../../assets/htmx.min.js")),
    ("icons.svg", PICTURE, include_bytes!("../../assets/icons.svg")),
    ("passkeys.js", SCRIPT, include_bytes!("../../assets/passkeys.js")),
    (MARK, PICTURE, include_bytes!("../../assets/mark.svg")),
];

/// Our sign, which is also the page's icon.
const MARK: &str = "mark.svg";

struct Asset {
    name: &'static str,
    kind: &'static str,
    plain: &'static [u8],
    packed: Bytes,
    /// `v=` and the beginning of the content's hash.
    version: String,
    href: String,
}

/// Packed when the first page is shown, which takes some milliseconds.
static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let asset = |(name, kind, plain): (&'static str, &'static str, &'static [u8])| {
        let hash = URL_SAFE_NO_PAD.encode(&Sha256::digest(plain)[..9]);
        let version = format!("v={hash}");
        let href = format!("/assets/{name}?{version}");
        Asset { name, kind, plain, packed: pack(plain), version, href }
    };
    FILES.into_iter().map(asset).collect()
});

fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

/// The address of an asset, for templates. Asking for one that does not exist is a slip of ours that
/// the gallery of parts finds.
pub fn href(name: &str) -> &'static str {
    find(name).map_or("", |asset| &asset.href)
}

/// `/assets/{name}` and the icon that browsers ask for by themselves.
pub fn router() -> Router<App> {
    Router::new()
        .route("/assets/{name}", get(serve))
        .route("/favicon.ico", get(|uri, headers| serve(At(MARK.to_owned()), uri, headers)))
}

async fn serve(At(name): At<String>, uri: Uri, headers: HeaderMap) -> Result<Response> {
    let asset = find(&name).ok_or_else(Error::not_found)?;
    // Without the hash, or with that of another version, nobody knows how long the content stays.
    let current = uri.query() == Some(&asset.version);
    let keep = if current { "public, max-age=31536000, immutable" } else { "public, max-age=300" };
    let fixed = [(CONTENT_TYPE, asset.kind), (CACHE_CONTROL, keep), (VARY, "accept-encoding")];
    if takes_gzip(&headers) {
        let packing = [(CONTENT_ENCODING, "gzip")];
        return Ok((fixed, packing, asset.packed.clone()).into_response());
    }
    Ok((fixed, asset.plain).into_response())
}

/// Whether the caller understands gzip.
pub fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter().filter_map(as_text);
    accepted.flat_map(|line| line.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        gzip && !parts.any(|weight| weight.trim_end_matches(['0', '.']) == "q=")
    })
}

fn as_text(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok()
}

/// The same bytes, packed.
pub fn pack(plain: &[u8]) -> Bytes {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let done = gzip.write_all(plain).and_then(|()| gzip.finish());
    done.expect("memory takes every byte").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_whoever_takes_it() {
        let takes = |value: &'static str| {
            let headers = [(ACCEPT_ENCODING, HeaderValue::from_static(value))];
            takes_gzip(&headers.into_iter().collect())
        };
        assert!(takes("gzip") && takes("br, GZIP;q=0.5") && takes("deflate , gzip ; q=1.0"));
        assert!(!takes("br") && !takes("gzip;q=0") && !takes("gzip; q=0.0") && !takes("xgzip"));
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn the_look_stays_light() {
        let size = |name: &str| find(name).map(|asset| (asset.plain.len(), asset.packed.len()));
        assert!(size("app.css").unwrap().0 < 30_000);
        assert!(size("print.css").unwrap().0 < 1_500);
        assert!(size("app.js").unwrap().0 < 6_000);
        let packed: usize = ASSETS.iter().map(|asset| asset.packed.len()).sum();
        assert!(packed < 60_000, "{packed}");
    }

    /// What stands in a template beside its own language.
    fn plain(template: &str) -> String {
        let mut parts = template.split('{');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| {
            let told = part.rsplit_once('}').map_or("", |(_, told)| told);
            text + " " + told
        })
    }

    fn templates(folder: &std::path::Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                templates(&path, found);
            } else {
                found.push(std::fs::read_to_string(&path).unwrap());
            }
        }
    }

    #[test]
    fn every_class_of_a_page_has_a_look() {
        let text = |name: &str| std::str::from_utf8(find(name).unwrap().plain).unwrap();
        let css = text("app.css").to_owned() + text("print.css");
        let word = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        let known: std::collections::HashSet<_> = css
            .split('.')
            .skip(1)
            .filter_map(|rest| rest.split(|letter| !word(letter)).next())
            .collect();
        let mut all = Vec::new();
        templates(
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("templates").as_path(),
            &mut all,
        );
        let mut named = 0;
        for template in &all {
            let text = plain(template);
            for classes in text.split("class=\"").skip(1) {
                for class in classes.split('"').next().unwrap().split_whitespace() {
                    assert!(known.contains(class), "nothing says how .{class} looks");
                    named += 1;
                }
            }
        }
        assert!(named > 500, "{named}");
    }
}
