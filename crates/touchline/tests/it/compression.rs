//! Tests of compressed responses and of the cached OpenAPI description.

use std::io::Read;

use testkit::{Client, World, both, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const DOCUMENT: &str = "/api/public/v1/openapi.json";

/// Sends a GET request and returns the head and the bytes of the body.
pub(crate) async fn fetch(client: &Client, path: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(client.address).await.unwrap();
    stream.write_all(&client.bytes("GET", path, None)).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
    (head, bytes.split_off(end + 4))
}

pub(crate) fn gunzip(bytes: &[u8]) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

pub(crate) fn is_gzip(head: &str) -> bool {
    head.contains("content-encoding: gzip")
}

both! {
    async fn compresses_json_if_the_client_accepts_it(w: &World) {
        for number in 0..20 {
            w.owner.post("/teams", json!({ "name": format!("Team {number}"), "sport": "soccer" })).await.created();
        }
        let path = "/api/public/v1/teams";
        let (head, plain) = fetch(&w.owner, path).await;
        assert!(!is_gzip(&head) && head.contains("vary: accept-encoding"), "{head}");
        let (head, packed) = fetch(&w.owner.with_header("Accept-Encoding", "br, gzip"), path).await;
        assert!(is_gzip(&head) && head.contains("vary: accept-encoding"), "{head}");
        assert!(packed.len() * 3 < plain.len(), "{} {}", packed.len(), plain.len());
        let data = |text: &str| serde_json::from_str::<testkit::Value>(text).unwrap()["data"].clone();
        assert_eq!(data(&gunzip(&packed)), data(std::str::from_utf8(&plain).unwrap()));
        // One object fits into a packet and stays as it is.
        let (head, _) = fetch(&w.owner.with_header("Accept-Encoding", "gzip"), "/api/public/v1/me").await;
        assert!(!is_gzip(&head), "{head}");
    }

    async fn compresses_pages_only_for_requests_from_the_own_site(w: &World) {
        let browser = w.nobody.with_header("Accept-Encoding", "gzip");
        for (site, compressed) in [("same-origin", true), ("none", true), ("cross-site", false), ("same-site", false)] {
            let (head, _) = fetch(&browser.with_header("Sec-Fetch-Site", site), "/sign-in").await;
            assert_eq!(is_gzip(&head), compressed, "{site}: {head}");
        }
        assert!(!is_gzip(&fetch(&browser, "/sign-in").await.0));
    }

    async fn openapi_document_is_compressed_and_has_a_tag(w: &World) {
        let (head, plain) = fetch(&w.nobody, DOCUMENT).await;
        // The head is in lower case. The tag is weak, because both forms of the document have it.
        let tag = head.lines().find_map(|line| line.strip_prefix("etag: w/")).unwrap();
        let tag = format!("W/{tag}");
        let (head, packed) = fetch(&w.nobody.with_header("Accept-Encoding", "gzip"), DOCUMENT).await;
        assert!(is_gzip(&head) && packed.len() * 5 < plain.len(), "{} {}", packed.len(), plain.len());
        assert_eq!(gunzip(&packed).as_bytes(), plain);
        let (head, body) = fetch(&w.nobody.with_header("If-None-Match", &tag), DOCUMENT).await;
        assert!(head.starts_with("http/1.1 304") && body.is_empty(), "{head}");
        let (head, _) = fetch(&w.nobody.with_header("If-None-Match", "\"other\""), DOCUMENT).await;
        assert!(head.starts_with("http/1.1 200"), "{head}");
    }
}
