//! An HTTP client for the API, with access to raw bytes for tests of malformed requests.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An API client with an optional key.
#[derive(Debug, Clone)]
pub struct Client {
    pub address: SocketAddr,
    pub key: Option<String>,
    headers: Vec<(String, String)>,
}

const API: &str = "/api/public/v1";
/// Paths that do not get the API's prefix.
const NON_API_PREFIXES: [&str; 13] = [
    "/api/",
    "/assets/",
    "/docs",
    "/favicon.ico",
    "/healthz",
    "/readyz",
    "/metrics",
    "/calendar/",
    "/unsubscribe/",
    "/oauth/",
    "/stripe/",
    "/..",
    "//",
];

impl Client {
    pub fn new(address: SocketAddr, key: Option<&str>) -> Self {
        Self { address, key: key.map(str::to_owned), headers: Vec::new() }
    }

    /// The same client with one more header.
    #[must_use]
    pub fn with_header(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.push((name.to_owned(), value.to_owned()));
        client
    }

    /// The same client at another node.
    #[must_use]
    pub fn at(&self, address: SocketAddr) -> Self {
        Self { address, ..self.clone() }
    }

    pub async fn get(&self, path: &str) -> TestResponse {
        self.send("GET", path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> TestResponse {
        self.send("POST", path, Some(&body.to_string())).await
    }

    pub async fn put(&self, path: &str, body: Value) -> TestResponse {
        self.send("PUT", path, Some(&body.to_string())).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> TestResponse {
        self.send("PATCH", path, Some(&body.to_string())).await
    }

    pub async fn delete(&self, path: &str) -> TestResponse {
        self.send("DELETE", path, None).await
    }

    /// Sends a request. The API's prefix is added to paths unless they start with one of the other prefixes.
    pub async fn send(&self, method: &str, path: &str, body: Option<&str>) -> TestResponse {
        self.try_send(method, path, body).await.expect("the service answers")
    }

    /// Sends a request to a service that may be shutting down. `None` if no complete response arrives.
    pub async fn try_send(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> Option<TestResponse> {
        self.exchange(method, &self.request(method, path, body)).await
    }

    async fn exchange(&self, method: &str, bytes: &[u8]) -> Option<TestResponse> {
        let exchange = async {
            let mut stream = TcpStream::connect(self.address).await.ok()?;
            stream.write_all(bytes).await.ok()?;
            read_response(&mut stream, method).await
        };
        tokio::time::timeout(Duration::from_secs(40), exchange).await.ok()?
    }

    /// Sends a request to a page, without adding a prefix to its path.
    pub async fn page(&self, method: &str, path: &str, body: Option<&str>) -> TestResponse {
        let answer = self.exchange(method, &self.bytes(method, path, body)).await;
        answer.expect("the service answers")
    }

    /// Sends fields and files as `multipart/form-data`. Each file has the name of its field, its own name and its content.
    pub async fn upload(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        files: &[(&str, &str, &[u8])],
    ) -> TestResponse {
        self.upload_page(&format!("{API}{path}"), fields, files).await
    }

    /// Like [`Self::upload`], without adding a prefix to the path.
    pub async fn upload_page(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        files: &[(&str, &str, &[u8])],
    ) -> TestResponse {
        let body = multipart_body(fields, files);
        let client = self
            .with_header("Content-Type", &format!("multipart/form-data; boundary={BOUNDARY}"))
            .with_header("Content-Length", &body.len().to_string());
        let request = [client.bytes("POST", path, None), body].concat();
        self.exchange("POST", &request).await.expect("the service answers")
    }

    /// The bytes of a request. The API's prefix is added like in [`Self::send`].
    pub fn request(&self, method: &str, path: &str, body: Option<&str>) -> Vec<u8> {
        let outside = NON_API_PREFIXES.iter().any(|start| path.starts_with(start));
        let prefix = if outside || path == "/" { "" } else { API };
        self.bytes(method, &format!("{prefix}{path}"), body)
    }

    /// The bytes of a request, without adding a prefix to its path.
    pub fn bytes(&self, method: &str, path: &str, body: Option<&str>) -> Vec<u8> {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head += &format!("Host: {}\r\n", self.address);
        }
        if let Some(key) = &self.key {
            head += &format!("Authorization: Bearer {key}\r\n");
        }
        let has_type =
            self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if let Some(body) = body {
            let content_type = if has_type { "" } else { "Content-Type: application/json\r\n" };
            head += &format!("{content_type}Content-Length: {}\r\n", body.len());
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += "Connection: close\r\n\r\n";
        head.into_bytes().into_iter().chain(body.unwrap_or_default().bytes()).collect()
    }

    /// Sends raw bytes and reads until the service closes the connection.
    pub async fn send_raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // The service may respond and close before it has read everything.
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let _ = tokio::time::timeout(Duration::from_secs(40), read).await;
        String::from_utf8_lossy(&answer).into_owned()
    }
}

const BOUNDARY: &str = "boundary7d2f";

fn multipart_body(fields: &[(&str, &str)], files: &[(&str, &str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in fields {
        let part = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        );
        body.extend(part.into_bytes());
    }
    for (field, name, content) in files {
        let part = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        body.extend(part.into_bytes());
        body.extend_from_slice(content);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{BOUNDARY}--\r\n").into_bytes());
    body
}

/// Reads one response. `None` if the connection ends before it is complete.
pub async fn read_response(stream: &mut TcpStream, method: &str) -> Option<TestResponse> {
    let mut bytes = Vec::new();
    let (mut answer, head) = loop {
        let mut headers = [httparse::EMPTY_HEADER; 100];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(&bytes).expect("the service speaks HTTP") {
            httparse::Status::Complete(head) => break (TestResponse::new(&response), head),
            httparse::Status::Partial => {}
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let length: Option<usize> = answer.header("content-length").and_then(|text| text.parse().ok());
    // An event stream has no end, so only its head is read.
    let is_stream = answer.header("content-type") == Some("text/event-stream");
    let no_body = method == "HEAD" || answer.status == 304 || answer.status == 204 || is_stream;
    let expected = head + if no_body { 0 } else { length.unwrap_or(usize::MAX - head) };
    while bytes.len() < expected {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            break;
        }
    }
    if length.is_some() && bytes.len() < expected {
        return None;
    }
    answer.text = String::from_utf8_lossy(&bytes[head..]).into_owned();
    answer.body = serde_json::from_str(&answer.text).unwrap_or(Value::Null);
    Some(answer)
}

/// A response, with assertions.
#[derive(Debug, Clone)]
pub struct TestResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    pub text: String,
}

impl TestResponse {
    fn new(response: &httparse::Response<'_, '_>) -> Self {
        let header = |header: &httparse::Header<'_>| {
            (header.name.to_lowercase(), String::from_utf8_lossy(header.value).into_owned())
        };
        Self {
            status: response.code.unwrap_or(0),
            headers: response.headers.iter().map(header).collect(),
            body: Value::Null,
            text: String::new(),
        }
    }

    /// A header's value; the first one if it occurs several times.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    fn has_status(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        assert!(self.header("request-id").is_some_and(|id| id.starts_with("req_")));
        self
    }

    /// Asserts status 200.
    #[track_caller]
    pub fn ok(self) -> Self {
        self.has_status(200)
    }

    /// Asserts status 201.
    #[track_caller]
    pub fn created(self) -> Self {
        self.has_status(201)
    }

    /// Asserts a problem response (RFC 9457) with this status and code, and checks its other fields.
    #[track_caller]
    pub fn assert_problem(self, status: u16, code: &str) -> Self {
        let answer = self.has_status(status);
        assert_eq!(answer.body["code"], code, "{}", answer.text);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        assert_eq!(answer.body["status"], status);
        assert_eq!(answer.body["request_id"].as_str(), answer.header("request-id"));
        assert!(answer.body["title"].is_string() && answer.body["detail"].is_string());
        assert!(answer.body["retryable"].is_boolean() && answer.body["errors"].is_array());
        answer
    }

    /// The JSON pointers of the reported errors, in order.
    pub fn pointers(&self) -> Vec<&str> {
        let faults = self.body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        faults.iter().filter_map(|fault| fault["pointer"].as_str()).collect()
    }

    /// The query parameters of the reported errors, in order.
    pub fn parameters(&self) -> Vec<&str> {
        let faults = self.body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        faults.iter().filter_map(|fault| fault["parameter"].as_str()).collect()
    }

    /// The `data` field of the body.
    pub fn data(&self) -> &Value {
        &self.body["data"]
    }

    /// The `id` of the returned object.
    #[track_caller]
    pub fn id(&self) -> &str {
        self.body["data"]["id"].as_str().expect("an object with an id")
    }

    /// The `name` of each object in a list.
    pub fn names(&self) -> Vec<&str> {
        let rows = self.body["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        rows.iter().filter_map(|row| row["name"].as_str()).collect()
    }

    /// The path of the returned team, with a suffix.
    #[track_caller]
    pub fn path(&self, suffix: &str) -> String {
        format!("/teams/{}{suffix}", self.id())
    }
}
