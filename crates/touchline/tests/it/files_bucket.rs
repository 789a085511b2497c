//! Files in an S3 bucket: requests to a local server that stands in for S3.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::TryStreamExt;
use http::{Method, StatusCode};
use touchline::config::{Config, Source};
use touchline::file_store::FileStore;

type Objects = Arc<Mutex<BTreeMap<String, Bytes>>>;

/// Answers like S3: objects by their path, and the list of a prefix. Every request must be signed.
async fn serve(State(objects): State<Objects>, request: Request) -> Response {
    let signature = request.headers().get("authorization").map(|value| value.to_str().unwrap());
    if !signature.is_some_and(|text| text.starts_with("AWS4-HMAC-SHA256 Credential=AKIA1/")) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let key = uri.path().trim_start_matches("/club-files").trim_start_matches('/').to_owned();
    let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
    let mut objects = objects.lock().unwrap();
    if method == Method::PUT {
        objects.insert(key, body);
        return [("etag", "\"1\"")].into_response();
    }
    if uri.query().is_some_and(|query| query.contains("list-type=2")) {
        let entry = |(key, bytes): (&String, &Bytes)| {
            format!(
                "<Contents><Key>{key}</Key><LastModified>2026-09-05T10:00:00.000Z</LastModified><ETag>1</ETag>\
                 <Size>{}</Size></Contents>",
                bytes.len()
            )
        };
        let entries: String = objects.iter().map(entry).collect();
        return format!(
            "<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>"
        )
        .into_response();
    }
    // Several objects are deleted with one request, also if there is only one.
    if method == Method::POST && uri.query().is_some_and(|query| query.starts_with("delete")) {
        let text = String::from_utf8(body.to_vec()).unwrap();
        let keys = text.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
        let remove = |key: &str| {
            objects.remove(key);
            format!("<Deleted><Key>{key}</Key></Deleted>")
        };
        let deleted = keys.map(remove).collect::<Vec<_>>().concat();
        return format!("<DeleteResult>{deleted}</DeleteResult>").into_response();
    }
    match (method, objects.get(&key).cloned()) {
        (Method::GET, Some(bytes)) => {
            let headers = [("etag", "\"1\""), ("last-modified", "Sat, 05 Sep 2026 10:00:00 GMT")];
            (headers, bytes).into_response()
        }
        (Method::DELETE, _) => {
            objects.remove(&key);
            StatusCode::NO_CONTENT.into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn store(endpoint: &str, secret: &str) -> FileStore {
    let flags = [
        ("files", "s3://club-files/touchline"),
        ("files_endpoint", endpoint),
        ("files_access_key", "AKIA1"),
        ("files_secret_key", secret),
    ];
    let flags = flags.map(|(name, value)| (name.to_owned(), value.to_owned()));
    FileStore::new(&Config::load(&Source::new(flags.into(), None)).unwrap()).unwrap()
}

#[tokio::test]
async fn files_are_stored_in_a_bucket() {
    let objects = Objects::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(serve).with_state(objects.clone());
    let server = tokio::spawn(async { axum::serve(listener, router).await });
    let store = store(&endpoint, "hush");
    store.check().await.unwrap();
    assert!(objects.lock().unwrap().is_empty() && store.folder().is_none());
    let bytes = Bytes::from(vec![7; 300_000]);
    store.put("acc_1/file_1", bytes.clone()).await.unwrap();
    assert!(objects.lock().unwrap().contains_key("touchline/acc_1/file_1"));
    let found = store.get("acc_1/file_1").await.unwrap().unwrap();
    assert_eq!((found.size, found.into_bytes().await.unwrap()), (300_000, bytes.to_vec()));
    assert!(store.get("acc_1/file_2").await.unwrap().is_none());
    let keys: Vec<_> = store.list().unwrap().try_collect().await.unwrap();
    assert_eq!(keys, ["acc_1/file_1"]);
    store.delete("acc_1/file_1").await.unwrap();
    store.delete("acc_1/file_1").await.unwrap();
    assert!(objects.lock().unwrap().is_empty());
    server.abort();
}

#[tokio::test]
async fn a_bucket_that_cannot_be_reached_is_reported() {
    let store = store("http://127.0.0.1:9", "hush");
    let reason = store.check().await.unwrap_err();
    assert!(!reason.contains("hush"), "{reason}");
}
