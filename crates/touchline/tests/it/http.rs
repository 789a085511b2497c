//! Tests of HTTP itself: malformed requests, slow clients and shutdown.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::routing::get;
use futures_util::future::join_all;
use testkit::client::read_response;
use testkit::process::Program;
use testkit::{Client, TestResponse, Value, World, both, json, seconds};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use touchline::web::edge;

/// An upload whose head was accepted and whose body is not sent yet.
pub(crate) struct Upload {
    pub(crate) stream: TcpStream,
}

impl Upload {
    /// Sends the head and waits until the service asks for the body. By then, the caller is authenticated.
    pub(crate) async fn begin(caller: &Client, body: &str) -> Self {
        Self::begin_at(caller, "/api/public/v1/teams", body).await
    }

    /// The same for any path.
    pub(crate) async fn begin_at(caller: &Client, path: &str, body: &str) -> Self {
        let caller = caller.with_header("Expect", "100-continue");
        let request = caller.bytes("POST", path, Some(body));
        let mut stream = TcpStream::connect(caller.address).await.unwrap();
        stream.write_all(&request[..request.len() - body.len()]).await.unwrap();
        let mut interim = [0; 25];
        stream.read_exact(&mut interim).await.unwrap();
        assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
        Self { stream }
    }

    /// Sends the body.
    pub(crate) async fn end(mut self, body: &str) -> TestResponse {
        self.stream.write_all(body.as_bytes()).await.unwrap();
        read_response(&mut self.stream, "POST").await.expect("a whole answer")
    }
}

/// Sends raw bytes and reads one answer.
async fn send_raw(w: &World, bytes: &[u8]) -> TestResponse {
    let mut stream = TcpStream::connect(w.node.address).await.unwrap();
    // The service may answer and close before it has read everything.
    let _ = stream.write_all(bytes).await;
    read_response(&mut stream, "POST").await.expect("an answer")
}

/// A raw request of the owner with these header lines.
fn post(w: &World, lines: &str, body: &str) -> Vec<u8> {
    let key = w.owner.key.as_deref().unwrap();
    format!(
        "POST /api/public/v1/teams HTTP/1.1\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\n{lines}\r\n{body}"
    )
    .into_bytes()
}

const KRAKEN: &str = r#"{"name":"Kraken"}"#;
const CHUNKED_KRAKEN: &str = "11\r\n{\"name\":\"Kraken\"}\r\n0\r\n\r\n";

both! {
    async fn rejects_conflicting_lengths_and_closes_the_connection(w: &World) {
        let far = format!("X-Far: {}\r\n", "x".repeat(20_000));
        for lines in [
            "Host: x\r\nContent-Length: 17\r\nTransfer-Encoding: chunked\r\n".to_owned(),
            "Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 17\r\n".to_owned(),
            "Host: x\r\ntransfer-encoding:chunked\r\nCONTENT-LENGTH:17\r\n".to_owned(),
            format!("Host: x\r\nTransfer-Encoding: chunked\r\n{far}Content-Length: 17\r\n"),
            "Host: x\r\nContent-Length: 17\r\nContent-Length: 17\r\n".to_owned(),
            "Host: x\r\nContent-Length: 17\r\nContent-Length: 18\r\n".to_owned(),
            "Host: x\r\nContent-Length: 17, 17\r\n".to_owned(),
            "Host: x\r\nContent-Length: +17\r\n".to_owned(),
            "Host: x\r\nContent-Length: -1\r\n".to_owned(),
            "Host: x\r\nTransfer-Encoding: chunked, gzip\r\n".to_owned(),
        ] {
            let body = if lines.contains("chunked") { CHUNKED_KRAKEN } else { KRAKEN };
            let answer = send_raw(w, &post(w, &lines, body)).await;
            assert_eq!(answer.status, 400, "{lines}");
            let answer = answer.assert_problem(400, "invalid_request");
            assert_eq!(answer.header("connection"), Some("close"), "{lines}");
        }
        // Also after empty lines, and with bare line feeds.
        let lines = "Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 17\r\n";
        let request = String::from_utf8(post(w, lines, CHUNKED_KRAKEN)).unwrap();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let bare = format!("{}\n\n{body}", head.replace("\r\n", "\n"));
        for bytes in [format!("\r\n\r\n{request}"), bare] {
            send_raw(w, bytes.as_bytes()).await.assert_problem(400, "invalid_request");
        }
        assert_eq!(w.count("team").await, 0);
        send_raw(w, &post(w, "Host: x\r\nTransfer-Encoding: chunked\r\n", CHUNKED_KRAKEN)).await.created();
    }

    async fn rejects_a_malformed_head_with_a_problem_and_a_request_id(w: &World) {
        let headers = "A: b\r\n".repeat(10_000);
        let huge = format!("Host: x\r\nX-Huge: {}\r\n", "x".repeat(64 * 1024));
        for (status, lines) in [
            (400, "Content-Length: 17\r\n"),
            (400, "Host: x\r\nHost: x\r\nContent-Length: 17\r\n"),
            (400, "Host: x\r\nX-Folded: a\r\n b\r\nContent-Length: 17\r\n"),
            (400, "Host: x\r\nX-Bare: a\rb\r\nContent-Length: 17\r\n"),
            (400, "Host: x\r\nX-Nul: a\0b\r\nContent-Length: 17\r\n"),
            (400, "Host: x\r\nNo colon\r\nContent-Length: 17\r\n"),
            (400, "Host: x\r\nSpaced : a\r\nContent-Length: 17\r\n"),
            (400, "Host: x\r\nContent-Type: text/plain\r\nContent-Length: 17\r\n"),
            (400, "Host: x\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 17\r\n"),
            (431, huge.as_str()),
            (431, headers.as_str()),
        ] {
            let answer = send_raw(w, &post(w, lines, KRAKEN)).await;
            assert_eq!(answer.status, status, "{}", &lines[..lines.len().min(80)]);
            answer.assert_problem(status, "invalid_request");
        }
        let long = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(64 * 1024));
        send_raw(w, long.as_bytes()).await.assert_problem(431, "invalid_request");
        for line in ["GET / HTTP/3.0", "GET", "\u{1}\u{2}\u{3}", "GET / x HTTP/1.1", "PRI * HTTP/2.0"] {
            let head = format!("{line}\r\nHost: x\r\n\r\n");
            send_raw(w, head.as_bytes()).await.assert_problem(400, "invalid_request");
        }
        assert_eq!(w.count("team").await, 0);
    }

    async fn rejects_requests_that_parsers_read_differently(w: &World) {
        let line = "POST /api/public/v1/teams HTTP/1.1";
        let key = format!("Authorization: Bearer {}", w.owner.key.as_deref().unwrap());
        let head = |lines: &[&str]| {
            let all: Vec<_> = [line, "Host: x", &key, "Content-Type: application/json"].iter().chain(lines).copied().collect();
            format!("{}\r\n\r\n", all.join("\r\n"))
        };
        let sized = head(&["Content-Length: 17"]);
        let chunked = head(&["Transfer-Encoding: chunked"]);
        let cases = [
            ("a bare line feed after the request line", sized.replacen("\r\n", "\n", 1), KRAKEN),
            ("a bare line feed after a header", sized.replace("Host: x\r\n", "Host: x\n"), KRAKEN),
            ("a bare line feed at the end of the head", sized.replace("\r\n\r\n", "\r\n\n"), KRAKEN),
            ("nothing but bare line feeds", sized.replace("\r\n", "\n"), KRAKEN),
            ("a bare line feed before the request line", format!("\n{sized}"), KRAKEN),
            ("a bare carriage return after the request line", sized.replacen("\r\n", "\r", 1), KRAKEN),
            ("a bare carriage return after a header", sized.replace("Host: x\r\n", "Host: x\r"), KRAKEN),
            ("a bare carriage return in a value", head(&["X-A: a\rb", "Content-Length: 17"]), KRAKEN),
            ("a folded header", head(&["X-A: a\r\n b", "Content-Length: 17"]), KRAKEN),
            ("a folded length", head(&["Content-Length:\r\n 17"]), KRAKEN),
            ("a folded first header", sized.replace("Host: x", " Folded: x\r\nHost: x"), KRAKEN),
            ("white space before the colon", head(&["Content-Length : 17"]), KRAKEN),
            ("a tab before the colon", head(&["Transfer-Encoding\t: chunked"]), CHUNKED_KRAKEN),
            ("an empty header name", head(&[": a", "Content-Length: 17"]), KRAKEN),
            ("two lengths", head(&["Content-Length: 17", "Content-Length: 18"]), KRAKEN),
            ("the same length twice", head(&["Content-Length: 17", "Content-Length: 17"]), KRAKEN),
            ("a list of lengths", head(&["Content-Length: 17, 17"]), KRAKEN),
            ("a length with a sign", head(&["Content-Length: +17"]), KRAKEN),
            ("a hexadecimal length", head(&["Content-Length: 0x11"]), KRAKEN),
            ("an empty length", head(&["Content-Length:"]), KRAKEN),
            ("a length and an encoding", head(&["Content-Length: 17", "Transfer-Encoding: chunked"]), CHUNKED_KRAKEN),
            ("an encoding and a length", head(&["Transfer-Encoding: chunked", "Content-Length: 17"]), CHUNKED_KRAKEN),
            ("two encodings", head(&["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"]), CHUNKED_KRAKEN),
            ("an unknown encoding", head(&["Transfer-Encoding: xchunked"]), CHUNKED_KRAKEN),
            ("a value that is not quite chunked", head(&["Transfer-Encoding: \u{b}chunked"]), CHUNKED_KRAKEN),
            ("chunked before another encoding", head(&["Transfer-Encoding: chunked, identity"]), CHUNKED_KRAKEN),
            ("a chunk size with a sign", chunked.clone(), "+11\r\n{\"name\":\"Kraken\"}\r\n0\r\n\r\n"),
            ("a chunk size with a prefix", chunked.clone(), "0x11\r\n{\"name\":\"Kraken\"}\r\n0\r\n\r\n"),
            ("a bare line feed after a chunk size", chunked.clone(), "11\n{\"name\":\"Kraken\"}\r\n0\r\n\r\n"),
            ("a bare line feed after a chunk", chunked.clone(), "11\r\n{\"name\":\"Kraken\"}\n0\r\n\r\n"),
        ];
        for (what, head, body) in &cases {
            let answer = send_raw(w, format!("{head}{body}").as_bytes()).await;
            assert_eq!(answer.status, 400, "{what}: {}", answer.text);
            let answer = answer.assert_problem(400, "invalid_request");
            assert_eq!(answer.header("connection"), Some("close"), "{what}");
            // The same as the second of two pipelined requests.
            let first = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
            let answers = w.nobody.send_raw(format!("{first}{head}{body}").as_bytes()).await;
            let statuses: Vec<_> = answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
            assert_eq!(statuses, ["200", "400"], "{what}, pipelined: {answers}");
        }
        assert_eq!(w.count("team").await, 0);
        send_raw(w, format!("{sized}{KRAKEN}").as_bytes()).await.created();
    }

    async fn checks_each_request_on_a_connection_separately(w: &World) {
        let mut stream = TcpStream::connect(w.node.address).await.unwrap();
        let key = w.owner.key.as_deref().unwrap();
        let good = format!("GET /api/public/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n");
        for _ in 0..3 {
            stream.write_all(good.as_bytes()).await.unwrap();
            read_response(&mut stream, "GET").await.unwrap().ok();
        }
        let bad = post(w, "Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 17\r\n", CHUNKED_KRAKEN);
        stream.write_all(&bad).await.unwrap();
        read_response(&mut stream, "POST").await.unwrap().assert_problem(400, "invalid_request");
        assert_eq!(stream.read(&mut [0; 1]).await.unwrap_or(0), 0, "nothing follows an ambiguous request");
    }

    async fn rejects_a_body_over_one_mebibyte_before_reading_it(w: &World) {
        let large = "x".repeat(1024 * 1024 + 1);
        let announced = format!("Host: x\r\nContent-Length: {}\r\n", large.len());
        // The head alone is enough to reject the request.
        let early = send_raw(w, &post(w, &announced, "")).await.assert_problem(413, "payload_too_large");
        assert_eq!(early.header("connection"), Some("close"));
        let chunked = format!("100001\r\n{large}\r\n0\r\n\r\n");
        let lines = "Host: x\r\nTransfer-Encoding: chunked\r\n";
        send_raw(w, &post(w, lines, &chunked)).await.assert_problem(413, "payload_too_large");
        // Many clients send the whole body before they read. The connection must stay open for them.
        let larger = large.repeat(6);
        let chunked = format!("{:x}\r\n{larger}\r\n0\r\n\r\n", larger.len());
        let announced = format!("Host: x\r\nContent-Length: {}\r\n", larger.len());
        for bytes in [post(w, &announced, &larger), post(w, lines, &chunked)] {
            let mut stream = TcpStream::connect(w.node.address).await.unwrap();
            stream.write_all(&bytes).await.expect("the service reads the whole body");
            tokio::time::sleep(Duration::from_millis(50)).await;
            read_response(&mut stream, "POST").await.unwrap().assert_problem(413, "payload_too_large");
        }
        // The same for other errors that are found before the body is read.
        let unknown = b"POST /api/public/v1/teams HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n";
        let early = send_raw(w, unknown).await.assert_problem(401, "missing_credentials");
        assert_eq!(early.header("connection"), Some("close"));
        // One byte less fits, but is not JSON.
        let fits = &large[1..];
        let announced = format!("Host: x\r\nContent-Length: {}\r\n", fits.len());
        send_raw(w, &post(w, &announced, fits)).await.assert_problem(400, "invalid_json");
    }

    async fn rejects_compressed_bodies(w: &World) {
        for encoding in ["gzip", "deflate", "br", "gzip, gzip"] {
            let refused = w.owner.with_header("Content-Encoding", encoding).send("POST", "/teams", Some(KRAKEN)).await;
            refused.assert_problem(415, "unsupported_media_type");
        }
        // Also where the body is optional.
        let team = w.owner.send("POST", "/teams", Some(KRAKEN)).await.created();
        let refused = w.owner.with_header("Content-Encoding", "gzip").send("DELETE", &team.path(""), Some("{}")).await;
        refused.assert_problem(415, "unsupported_media_type");
    }

    async fn input_cannot_inject_response_headers(w: &World) {
        for name in ["Kraken", "Kranich"] {
            w.owner.post("/teams", json!({ "name": name })).await.created();
        }
        let key = w.owner.with_header("Idempotency-Key", "a%0d%0aX-Evil: 1").with_header("Request-Id", "req_mine");
        key.post("/teams", json!({ "name": "x" })).await.assert_problem(400, "invalid_request");
        let echo = w.owner.with_header("Request-Id", "req_mine").with_header("X-Request-Id", "req_mine").get("/me").await.ok();
        assert_ne!(echo.header("request-id"), Some("req_mine"));
        let page = w.owner.get("/teams?limit=1&q=kra&status=active").await.ok();
        assert!(page.header("link").unwrap().contains("q=kra&status=active"));
        // Whitespace around a value is trimmed, including line breaks.
        let trimmed = w.owner.get("/teams?limit=1&sport=%0d%0aX-Evil:%201").await.ok();
        assert_eq!(trimmed.header("x-evil"), None);
        for path in ["/teams?limit=1&sport=a%0d%0aX-Evil:%201", "/teams%0d%0aX-Evil:%201", "/teams?%0d%0aX-Evil:%201=2",
                     "/teams/%0d%0aX-Evil:%201", "/teams?cursor=%0d%0aX-Evil:%201"] {
            let answer = w.owner.get(path).await;
            assert!((400..500).contains(&answer.status), "{path}: {}", answer.text);
            assert_eq!(answer.header("x-evil"), None);
        }
    }

    async fn unknown_and_unusual_paths_are_not_found(w: &World) {
        let team = w.owner.send("POST", "/teams", Some(KRAKEN)).await.created();
        let (api, id) = ("/api/public/v1", team.id());
        for path in [
            "/nothing", "/api", "/api/public/v2/teams", "//", "/api/public/v1/nothing",
            &format!("{api}/teams/"), &format!("{api}//teams"), &format!("/{api}/teams"),
            &format!("{api}/teams/../teams"), &format!("{api}/teams/%2e%2e/teams"), &format!("{api}/./teams"),
            &format!("{api}/teams%2f{id}"), &format!("{api}/teams/{id}%2frestore"), &format!("{api}/teams/%00"),
            &format!("{api}/teams/{id}%00"), &format!("{api}/teams/{id}/"), &format!("{api}/teams/%ff%fe"),
            &format!("{api}/teams/{}", id.to_uppercase()), &format!("{api}/Teams"), "/..%2f..%2fetc/passwd",
        ] {
            let answer = w.owner.get(path).await;
            assert_eq!(answer.status, 404, "{path}: {}", answer.text);
            answer.assert_problem(404, "not_found");
        }
    }

    async fn a_wrong_method_is_405_with_the_allowed_methods(w: &World) {
        let team = w.owner.send("POST", "/teams", Some(KRAKEN)).await.created();
        for (method, path, allowed) in [
            ("PUT", "/teams".to_owned(), vec!["GET", "HEAD", "POST"]),
            ("OPTIONS", "/teams".to_owned(), vec!["GET", "HEAD", "POST"]),
            ("POST", team.path(""), vec!["DELETE", "GET", "HEAD", "PATCH"]),
            ("GET", team.path("/restore"), vec!["POST"]),
            ("BREW", "/me".to_owned(), vec!["GET", "HEAD"]),
            ("POST", "/healthz".to_owned(), vec!["GET", "HEAD"]),
        ] {
            let refused = w.owner.send(method, &path, None).await.assert_problem(405, "method_not_allowed");
            let mut listed: Vec<_> = refused.header("allow").unwrap().split(',').map(str::trim).collect();
            listed.sort_unstable();
            assert_eq!(listed, allowed, "{method} {path}");
        }
    }

    async fn cors_allows_other_origins_without_cookies(w: &World) {
        let page = w.nobody.with_header("Origin", "https://app.example");
        let preflight = page.with_header("Access-Control-Request-Method", "PATCH")
            .with_header("Access-Control-Request-Headers", "authorization, content-type");
        let allowed = preflight.send("OPTIONS", "/teams", None).await;
        assert_eq!(allowed.status, 204);
        assert!(allowed.header("request-id").is_some_and(|id| id.starts_with("req_")));
        assert_eq!(allowed.header("access-control-allow-origin"), Some("*"));
        assert_eq!(allowed.header("access-control-allow-credentials"), None);
        assert!(allowed.header("access-control-allow-headers").unwrap().contains("authorization"));
        assert!(allowed.header("access-control-allow-methods").unwrap().contains("PATCH"));
        let read = w.owner.with_header("Origin", "https://app.example").get("/teams").await.ok();
        let refused = page.get("/teams").await.assert_problem(401, "missing_credentials");
        for answer in [read, refused] {
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
            assert!(answer.header("access-control-expose-headers").unwrap().contains("request-id"));
        }
        assert_eq!(w.owner.get("/teams").await.ok().header("access-control-allow-origin"), None);
        assert_eq!(page.get("/healthz").await.ok().header("access-control-allow-origin"), None);
    }

    async fn head_has_the_same_headers_as_get(w: &World) {
        let team = w.owner.send("POST", "/teams", Some(KRAKEN)).await.created();
        let stable_headers = |answer: &TestResponse| {
            let varying = ["request-id", "date", "ratelimit", "x-ratelimit-remaining", "x-ratelimit-reset"];
            let mut headers = answer.headers.clone();
            headers.retain(|(name, _)| !varying.contains(&name.as_str()));
            headers
        };
        for path in [&team.path(""), "/teams", "/me", "/nothing", "/teams/team_x", "/healthz", "/teams?x=1"] {
            let (full, head) = (w.owner.get(path).await, w.owner.send("HEAD", path, None).await);
            assert_eq!(head.status, full.status, "{path}");
            assert_eq!(stable_headers(&head), stable_headers(&full), "{path}");
            assert_eq!(head.text, "");
        }
        // A body would be misread as the next answer on the connection.
        let raw = w.owner.send_raw(&w.owner.request("HEAD", "/teams", None)).await;
        assert!(raw.ends_with("\r\n\r\n"), "{raw}");
    }

    async fn a_panicking_handler_is_500_and_the_next_request_works(w: &World) {
        async fn broken() {
            panic!("secret words of a panic");
        }
        let router = Router::new().route("/broken", get(broken)).route("/", get(|| async { "fine" }));
        let call = async |path: &str| {
            let request = ::http::Request::get(path).header("host", "x").body(Body::empty()).unwrap();
            edge::handle(&w.node.app, &router, request, [127, 0, 0, 1].into()).await
        };
        let response = call("/broken").await;
        assert_eq!(response.status(), 500);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let id = response.headers()["request-id"].to_str().unwrap().to_owned();
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        let problem: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((&problem["code"], &problem["request_id"]), (&json!("internal_error"), &json!(id)));
        assert!(!String::from_utf8_lossy(&body).contains("secret words"));
        assert_eq!(call("/").await.status(), 200);
        assert_eq!(w.node.app.metrics.panics.get(), 1);
    }

    async fn slow_clients_are_disconnected(w: &World) {
        let silent = open_until_closed(w, b"");
        let partial = open_until_closed(w, b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-");
        let idle = open_until_closed(w, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
        let (silent, partial, idle, dripping, body) =
            tokio::join!(silent, partial, idle, dripping_head(w), slow_body(w));
        // The limits are 10 and 20 seconds. A busy machine adds to them.
        for time in [silent, partial, idle, dripping] {
            assert!(time > seconds(8) && time < seconds(40), "{time:?}");
        }
        assert!(body > seconds(18) && body < seconds(50), "{body:?}");
        assert_eq!(w.count("team").await, 0);
    }

    async fn a_stopping_service_finishes_accepted_requests_and_loses_no_answered_change(w: &World) {
        let program = Program::new(env!("CARGO_BIN_EXE_touchline"), w.database.folder.path())
            .flag("--database", &w.database.url);
        let service = program.serve(&[]);
        let owner = w.owner.at(service.address);
        let body = r#"{"name":"Under way"}"#;
        let upload = Upload::begin(&owner, body).await;
        let answered = AtomicU64::new(0);
        let busy = join_all((0..6).map(|number| post_until_gone(&owner, number, &answered)));
        let stopping = async {
            // Wait until there is load.
            while answered.load(Ordering::SeqCst) <= 5 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            tokio::task::spawn_blocking(|| service.stop()).await.unwrap()
        };
        // The upload ends after new requests are no longer accepted.
        let finishing = async {
            busy.await;
            upload.end(body).await.created();
        };
        let ((ended, _), ()) = tokio::join!(stopping, finishing);
        assert!(ended.success());
        let answered = answered.into_inner();
        assert_eq!(w.count("team").await, answered + 1, "every change was answered, every answer is kept");
        assert_eq!(w.count("notification").await, answered + 1);
    }
}

/// How long a connection stays open after these bytes.
async fn open_until_closed(w: &World, bytes: &[u8]) -> Duration {
    // Starts before the service sees the connection, so that a delay of the test cannot shorten the time.
    let began = Instant::now();
    let mut stream = TcpStream::connect(w.node.address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let _ = stream.read_to_end(&mut Vec::new()).await;
    began.elapsed()
}

/// How long a head whose bytes arrive one by one may take.
async fn dripping_head(w: &World) -> Duration {
    let began = Instant::now();
    let mut stream = TcpStream::connect(w.node.address).await.unwrap();
    // Long enough to take a minute, unless the service closes the connection.
    let head = format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Drip: {}", "x".repeat(80));
    for byte in head.as_bytes() {
        let pause = tokio::time::timeout(Duration::from_millis(500), stream.read_u8()).await;
        if pause.is_ok() || stream.write_all(&[*byte]).await.is_err() {
            break;
        }
    }
    began.elapsed()
}

/// How long a body that stops midway may take. The answer is a problem.
async fn slow_body(w: &World) -> Duration {
    let began = Instant::now();
    let bytes = post(w, "Host: x\r\nContent-Length: 17\r\n", &KRAKEN[..9]);
    let answer = send_raw(w, &bytes).await.assert_problem(408, "request_timeout");
    assert_eq!(answer.header("connection"), Some("close"));
    began.elapsed()
}

/// Creates teams until the service no longer answers, and counts how many were answered.
async fn post_until_gone(caller: &Client, number: usize, answered: &AtomicU64) {
    for count in 0.. {
        let body = json!({ "name": format!("Team {number} {count}") }).to_string();
        let Some(answer) = caller.try_send("POST", "/teams", Some(&body)).await else { return };
        answer.created();
        answered.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_request_that_takes_too_long_times_out() {
    testkit::world::run(testkit::Engine::Sqlite, async |w: &World| {
        let hang = || std::future::pending::<()>();
        let router = Router::new().route("/", get(hang));
        let request = ::http::Request::get("/").header("host", "x").body(Body::empty()).unwrap();
        // A body that never ends is the client's fault, even if each part arrives in time.
        let drip = futures_util::stream::unfold((), async |()| {
            tokio::time::sleep(seconds(1)).await;
            Some((Ok::<_, std::convert::Infallible>("x"), ()))
        });
        let key = w.owner.key.as_deref().unwrap();
        let dripping = ::http::Request::post("/api/public/v1/teams")
            .header("host", "x")
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json")
            .body(Body::from_stream(drip))
            .unwrap();
        let service = touchline::service(w.node.app.clone());
        let peer = [127, 0, 0, 1].into();
        let (response, late) = tokio::join!(
            edge::handle(&w.node.app, &router, request, peer),
            edge::handle(&w.node.app, &service, dripping, peer)
        );
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()["retry-after"], "5");
        assert!(response.headers().contains_key("request-id"));
        assert_eq!(
            (late.status(), &late.headers()["connection"]),
            (::http::StatusCode::REQUEST_TIMEOUT, &"close".parse().unwrap())
        );
        let problem: Value =
            serde_json::from_slice(&to_bytes(late.into_body(), 10_000).await.unwrap()).unwrap();
        assert_eq!(problem["code"], "request_timeout");
    });
}
