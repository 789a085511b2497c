//! Stories about HTTP itself: bad manners, slow clients, stopping, and a database that goes away.

#![expect(clippy::unwrap_used, reason = "a story that cannot go on has failed")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::routing::get;
use futures_util::future::join_all;
use store::Dialect;
use testkit::client::read_answer;
use testkit::process::Program;
use testkit::{Answer, Client, Engine, TestDatabase, Value, World, both, json, seconds};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use touchline::web::edge;

/// An upload whose head was accepted and whose body is still to come.
pub(crate) struct Upload {
    pub(crate) stream: TcpStream,
}

impl Upload {
    /// Sends the head and waits until the service asks for the body: by then it knows the caller.
    pub(crate) async fn begin(caller: &Client, body: &str) -> Self {
        Self::begin_at(caller, "/api/public/v1/teams", body).await
    }

    /// The same at any address.
    pub(crate) async fn begin_at(caller: &Client, path: &str, body: &str) -> Self {
        let caller = caller.with("Expect", "100-continue");
        let request = caller.bytes("POST", path, Some(body));
        let mut stream = TcpStream::connect(caller.address).await.unwrap();
        stream.write_all(&request[..request.len() - body.len()]).await.unwrap();
        let mut go_on = [0; 25];
        stream.read_exact(&mut go_on).await.unwrap();
        assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
        Self { stream }
    }

    /// Sends the body.
    pub(crate) async fn end(mut self, body: &str) -> Answer {
        self.stream.write_all(body.as_bytes()).await.unwrap();
        read_answer(&mut self.stream, "POST").await.expect("a whole answer")
    }
}

/// Sends bytes as they are and reads one answer.
async fn say(w: &World, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(w.node.address).await.unwrap();
    // The service may refuse and close before it has read everything.
    let _ = stream.write_all(bytes).await;
    read_answer(&mut stream, "POST").await.expect("an answer")
}

/// A request of the owner's with other lines in its head.
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
    async fn a_request_with_two_lengths_is_refused_and_ends_the_connection(w: &World) {
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
            let answer = say(w, &post(w, &lines, body)).await;
            assert_eq!(answer.status, 400, "{lines}");
            let answer = answer.refused(400, "invalid_request");
            assert_eq!(answer.header("connection"), Some("close"), "{lines}");
        }
        // Also after empty lines, and with bare line feeds.
        let lines = "Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 17\r\n";
        let both = String::from_utf8(post(w, lines, CHUNKED_KRAKEN)).unwrap();
        let (head, body) = both.split_once("\r\n\r\n").unwrap();
        let bare = format!("{}\n\n{body}", head.replace("\r\n", "\n"));
        for bytes in [format!("\r\n\r\n{both}"), bare] {
            say(w, bytes.as_bytes()).await.refused(400, "invalid_request");
        }
        assert_eq!(w.count("team").await, 0);
        say(w, &post(w, "Host: x\r\nTransfer-Encoding: chunked\r\n", CHUNKED_KRAKEN)).await.created();
    }

    async fn a_malformed_head_is_refused_with_a_problem_and_a_request_id(w: &World) {
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
            let answer = say(w, &post(w, lines, KRAKEN)).await;
            assert_eq!(answer.status, status, "{}", &lines[..lines.len().min(80)]);
            answer.refused(status, "invalid_request");
        }
        let long = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(64 * 1024));
        say(w, long.as_bytes()).await.refused(431, "invalid_request");
        for line in ["GET / HTTP/3.0", "GET", "\u{1}\u{2}\u{3}", "GET / x HTTP/1.1", "PRI * HTTP/2.0"] {
            let head = format!("{line}\r\nHost: x\r\n\r\n");
            say(w, head.as_bytes()).await.refused(400, "invalid_request");
        }
        assert_eq!(w.count("team").await, 0);
    }

    async fn a_request_that_parsers_read_differently_is_refused(w: &World) {
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
            let answer = say(w, format!("{head}{body}").as_bytes()).await;
            assert_eq!(answer.status, 400, "{what}: {}", answer.text);
            let answer = answer.refused(400, "invalid_request");
            assert_eq!(answer.header("connection"), Some("close"), "{what}");
            // The same as the second of two requests that come in one piece.
            let first = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
            let answers = w.nobody.raw(format!("{first}{head}{body}").as_bytes()).await;
            let statuses: Vec<_> = answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
            assert_eq!(statuses, ["200", "400"], "{what}, pipelined: {answers}");
        }
        assert_eq!(w.count("team").await, 0);
        say(w, format!("{sized}{KRAKEN}").as_bytes()).await.created();
    }

    async fn a_second_request_on_a_connection_is_judged_by_its_own_head(w: &World) {
        let mut stream = TcpStream::connect(w.node.address).await.unwrap();
        let key = w.owner.key.as_deref().unwrap();
        let good = format!("GET /api/public/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n");
        for _ in 0..3 {
            stream.write_all(good.as_bytes()).await.unwrap();
            read_answer(&mut stream, "GET").await.unwrap().ok();
        }
        let bad = post(w, "Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 17\r\n", CHUNKED_KRAKEN);
        stream.write_all(&bad).await.unwrap();
        read_answer(&mut stream, "POST").await.unwrap().refused(400, "invalid_request");
        assert_eq!(stream.read(&mut [0; 1]).await.unwrap_or(0), 0, "nothing follows an ambiguous request");
    }

    async fn a_body_of_a_mebibyte_and_a_byte_is_refused_before_it_is_read(w: &World) {
        let large = "x".repeat(1024 * 1024 + 1);
        let announced = format!("Host: x\r\nContent-Length: {}\r\n", large.len());
        // The head alone is enough for a refusal.
        let early = say(w, &post(w, &announced, "")).await.refused(413, "payload_too_large");
        assert_eq!(early.header("connection"), Some("close"));
        let chunked = format!("100001\r\n{large}\r\n0\r\n\r\n");
        let lines = "Host: x\r\nTransfer-Encoding: chunked\r\n";
        say(w, &post(w, lines, &chunked)).await.refused(413, "payload_too_large");
        // Many clients send everything before they read; they must not find the connection gone.
        let larger = large.repeat(6);
        let chunked = format!("{:x}\r\n{larger}\r\n0\r\n\r\n", larger.len());
        let announced = format!("Host: x\r\nContent-Length: {}\r\n", larger.len());
        for bytes in [post(w, &announced, &larger), post(w, lines, &chunked)] {
            let mut stream = TcpStream::connect(w.node.address).await.unwrap();
            stream.write_all(&bytes).await.expect("the service hears the whole body out");
            tokio::time::sleep(Duration::from_millis(50)).await;
            read_answer(&mut stream, "POST").await.unwrap().refused(413, "payload_too_large");
        }
        // Whatever else a body is refused for before it is read.
        let unknown = b"POST /api/public/v1/teams HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n";
        let early = say(w, unknown).await.refused(401, "missing_credentials");
        assert_eq!(early.header("connection"), Some("close"));
        // One byte less is only not JSON.
        let fits = &large[1..];
        let announced = format!("Host: x\r\nContent-Length: {}\r\n", fits.len());
        say(w, &post(w, &announced, fits)).await.refused(400, "invalid_json");
    }

    async fn a_compressed_body_is_not_unpacked(w: &World) {
        for encoding in ["gzip", "deflate", "br", "gzip, gzip"] {
            let refused = w.owner.with("Content-Encoding", encoding).send("POST", "/teams", Some(KRAKEN)).await;
            refused.refused(415, "unsupported_media_type");
        }
        // Where a body may be left out as well.
        let team = w.owner.send("POST", "/teams", Some(KRAKEN)).await.created();
        let refused = w.owner.with("Content-Encoding", "gzip").send("DELETE", &team.path(""), Some("{}")).await;
        refused.refused(415, "unsupported_media_type");
    }

    async fn nothing_that_is_sent_can_write_a_header_of_the_answer(w: &World) {
        for name in ["Kraken", "Kranich"] {
            w.owner.post("/teams", json!({ "name": name })).await.created();
        }
        let key = w.owner.with("Idempotency-Key", "a%0d%0aX-Evil: 1").with("Request-Id", "req_mine");
        key.post("/teams", json!({ "name": "x" })).await.refused(400, "invalid_request");
        let echo = w.owner.with("Request-Id", "req_mine").with("X-Request-Id", "req_mine").get("/me").await.ok();
        assert_ne!(echo.header("request-id"), Some("req_mine"));
        let page = w.owner.get("/teams?limit=1&q=kra&status=active").await.ok();
        assert!(page.header("link").unwrap().contains("q=kra&status=active"));
        // White space around a value is trimmed, also this.
        let trimmed = w.owner.get("/teams?limit=1&sport=%0d%0aX-Evil:%201").await.ok();
        assert_eq!(trimmed.header("x-evil"), None);
        for path in ["/teams?limit=1&sport=a%0d%0aX-Evil:%201", "/teams%0d%0aX-Evil:%201", "/teams?%0d%0aX-Evil:%201=2",
                     "/teams/%0d%0aX-Evil:%201", "/teams?cursor=%0d%0aX-Evil:%201"] {
            let answer = w.owner.get(path).await;
            assert!((400..500).contains(&answer.status), "{path}: {}", answer.text);
            assert_eq!(answer.header("x-evil"), None);
        }
    }

    async fn unknown_addresses_and_strange_paths_are_not_found(w: &World) {
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
            answer.refused(404, "not_found");
        }
    }

    async fn a_wrong_method_is_told_which_ones_are_right(w: &World) {
        let team = w.owner.send("POST", "/teams", Some(KRAKEN)).await.created();
        for (method, path, allowed) in [
            ("PUT", "/teams".to_owned(), vec!["GET", "HEAD", "POST"]),
            ("OPTIONS", "/teams".to_owned(), vec!["GET", "HEAD", "POST"]),
            ("POST", team.path(""), vec!["DELETE", "GET", "HEAD", "PATCH"]),
            ("GET", team.path("/restore"), vec!["POST"]),
            ("BREW", "/me".to_owned(), vec!["GET", "HEAD"]),
            ("POST", "/healthz".to_owned(), vec!["GET", "HEAD"]),
        ] {
            let refused = w.owner.send(method, &path, None).await.refused(405, "method_not_allowed");
            let mut told: Vec<_> = refused.header("allow").unwrap().split(',').map(str::trim).collect();
            told.sort_unstable();
            assert_eq!(told, allowed, "{method} {path}");
        }
    }

    async fn a_page_of_another_origin_may_ask_and_call_without_cookies(w: &World) {
        let page = w.nobody.with("Origin", "https://app.example");
        let asking = page.with("Access-Control-Request-Method", "PATCH")
            .with("Access-Control-Request-Headers", "authorization, content-type");
        let allowed = asking.send("OPTIONS", "/teams", None).await;
        assert_eq!(allowed.status, 204);
        assert!(allowed.header("request-id").is_some_and(|id| id.starts_with("req_")));
        assert_eq!(allowed.header("access-control-allow-origin"), Some("*"));
        assert_eq!(allowed.header("access-control-allow-credentials"), None);
        assert!(allowed.header("access-control-allow-headers").unwrap().contains("authorization"));
        assert!(allowed.header("access-control-allow-methods").unwrap().contains("PATCH"));
        let read = w.owner.with("Origin", "https://app.example").get("/teams").await.ok();
        let refused = page.get("/teams").await.refused(401, "missing_credentials");
        for answer in [read, refused] {
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
            assert!(answer.header("access-control-expose-headers").unwrap().contains("request-id"));
        }
        assert_eq!(w.owner.get("/teams").await.ok().header("access-control-allow-origin"), None);
        assert_eq!(page.get("/healthz").await.ok().header("access-control-allow-origin"), None);
    }

    async fn head_tells_what_get_would(w: &World) {
        let team = w.owner.send("POST", "/teams", Some(KRAKEN)).await.created();
        let without = |answer: &Answer| {
            let differs = ["request-id", "date", "ratelimit", "x-ratelimit-remaining", "x-ratelimit-reset"];
            let mut headers = answer.headers.clone();
            headers.retain(|(name, _)| !differs.contains(&name.as_str()));
            headers
        };
        for path in [&team.path(""), "/teams", "/me", "/nothing", "/teams/team_x", "/healthz", "/teams?x=1"] {
            let (got, head) = (w.owner.get(path).await, w.owner.send("HEAD", path, None).await);
            assert_eq!(head.status, got.status, "{path}");
            assert_eq!(without(&head), without(&got), "{path}");
            assert_eq!(head.text, "");
        }
        // Nothing follows the head, or the next answer on the connection would be misread.
        let raw = w.owner.raw(&w.owner.request("HEAD", "/teams", None)).await;
        assert!(raw.ends_with("\r\n\r\n"), "{raw}");
    }

    async fn a_handler_that_panics_is_a_problem_and_the_next_request_is_not(w: &World) {
        async fn broken() {
            panic!("secret words of a panic");
        }
        let router = Router::new().route("/broken", get(broken)).route("/", get(|| async { "fine" }));
        let ask = async |path: &str| {
            let request = ::http::Request::get(path).header("host", "x").body(Body::empty()).unwrap();
            edge::answer(&w.node.app, &router, request, [127, 0, 0, 1].into()).await
        };
        let response = ask("/broken").await;
        assert_eq!(response.status(), 500);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let id = response.headers()["request-id"].to_str().unwrap().to_owned();
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        let problem: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((&problem["code"], &problem["request_id"]), (&json!("internal_error"), &json!(id)));
        assert!(!String::from_utf8_lossy(&body).contains("secret words"));
        assert_eq!(ask("/").await.status(), 200);
        assert_eq!(w.node.app.metrics.panics.load(Ordering::Relaxed), 1);
    }

    async fn slow_clients_are_cut_off_in_time(w: &World) {
        let silent = open_until_closed(w, b"");
        let partial = open_until_closed(w, b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-");
        let idle = open_until_closed(w, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
        let (silent, partial, idle, dripping, body) =
            tokio::join!(silent, partial, idle, dripping_head(w), slow_body(w));
        // Ten and twenty seconds, and whatever a busy machine adds.
        for time in [silent, partial, idle, dripping] {
            assert!(time > seconds(8) && time < seconds(40), "{time:?}");
        }
        assert!(body > seconds(18) && body < seconds(50), "{body:?}");
        assert_eq!(w.count("team").await, 0);
    }

    async fn a_stopping_service_finishes_what_it_took_and_loses_nothing_it_promised(w: &World) {
        let program = Program::new(env!("CARGO_BIN_EXE_touchline"), w.database.folder.path())
            .flag("--database", &w.database.url);
        let service = program.serve(&[]);
        let owner = w.owner.at(service.address);
        let body = r#"{"name":"Under way"}"#;
        let upload = Upload::begin(&owner, body).await;
        let promised = AtomicU64::new(0);
        let busy = join_all((0..6).map(|number| post_until_gone(&owner, number, &promised)));
        let stopping = async {
            // Not before there is load.
            while promised.load(Ordering::SeqCst) <= 5 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            tokio::task::spawn_blocking(|| service.stop()).await.unwrap()
        };
        // The upload goes on when nobody else is let in any more.
        let finishing = async {
            busy.await;
            upload.end(body).await.created();
        };
        let ((ended, _), ()) = tokio::join!(stopping, finishing);
        assert!(ended.success());
        let promised = promised.into_inner();
        assert_eq!(w.count("team").await, promised + 1, "every change was answered, every answer is kept");
        assert_eq!(w.count("notification").await, promised + 1);
    }

    async fn a_database_that_takes_no_connections_is_503_and_heals_by_itself(w: &World) {
        let Some(elsewhere) = elsewhere(w).await else { return };
        let server = elsewhere.postgres_client().await.unwrap();
        let name = w.database.url.rsplit_once('/').unwrap().1;
        let allow = format!("alter database {name} allow_connections");
        server.batch_execute(&format!("{allow} false")).await.unwrap();
        server.batch_execute(&end_connections(name)).await.unwrap();
        everything_is_503(w).await;
        server.batch_execute(&format!("{allow} true")).await.unwrap();
        everything_is_well(w).await;
        elsewhere.remove().await;
    }

    async fn a_database_that_is_gone_is_503_and_heals_by_itself(w: &World) {
        let Some(elsewhere) = elsewhere(w).await else { return };
        let server = elsewhere.postgres_client().await.unwrap();
        let name = w.database.url.rsplit_once('/').unwrap().1;
        server.batch_execute(&end_connections(name)).await.unwrap();
        let away = format!("alter database {name} rename to {name}_away");
        while server.batch_execute(&away).await.is_err() {
            // A connection may take a moment to end, and what is noted beside requests may have opened another.
            tokio::time::sleep(Duration::from_millis(20)).await;
            server.batch_execute(&end_connections(name)).await.unwrap();
        }
        everything_is_503(w).await;
        server.batch_execute(&format!("alter database {name}_away rename to {name}")).await.unwrap();
        everything_is_well(w).await;
        elsewhere.remove().await;
    }

    async fn a_connection_lost_between_requests_is_not_noticed(w: &World) {
        let Some(server) = w.database.postgres_client().await else { return };
        w.owner.send("POST", "/teams", Some(KRAKEN)).await.created();
        let name = w.database.url.rsplit_once('/').unwrap().1;
        let end = format!("{} and pid <> pg_backend_pid()", end_connections(name));
        server.batch_execute(&end).await.unwrap();
        // The service looks again at connections that were idle for a moment.
        tokio::time::sleep(Duration::from_millis(300)).await;
        w.owner.post("/teams", json!({ "name": "Kranich" })).await.created();
        assert_eq!(w.owner.get("/teams").await.ok().names(), ["Kraken", "Kranich"]);
    }
}

/// A second database on the same server: a database can only be closed from another one. Files have
/// no server.
async fn elsewhere(w: &World) -> Option<TestDatabase> {
    w.owner.send("POST", "/teams", Some(KRAKEN)).await.created();
    let postgres = w.db().dialect() == Dialect::Postgres;
    if postgres { TestDatabase::new(Engine::Postgres).await } else { None }
}

fn end_connections(name: &str) -> String {
    format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")
}

async fn everything_is_503(w: &World) {
    for round in 0..5 {
        let read = w.owner.get("/teams").await;
        let write = w.owner.post("/teams", json!({ "name": format!("Lost {round}") })).await;
        let ready = w.nobody.get("/readyz").await;
        for answer in [read, write, ready] {
            let refused = answer.refused(503, "overloaded");
            assert!(refused.header("retry-after").is_some(), "{}", refused.text);
            assert_eq!(refused.body["retryable"], true);
        }
        w.nobody.get("/healthz").await.ok();
    }
}

async fn everything_is_well(w: &World) {
    w.nobody.get("/readyz").await.ok();
    assert_eq!(w.owner.get("/teams").await.ok().names(), ["Kraken"], "no half of a change is left");
    w.owner.post("/teams", json!({ "name": "Found" })).await.created();
}

/// How long a connection stays open after these bytes, whatever is answered.
async fn open_until_closed(w: &World, bytes: &[u8]) -> Duration {
    // From before the service can know of it, so that a pause of ours does not count as its haste.
    let began = Instant::now();
    let mut stream = TcpStream::connect(w.node.address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let _ = stream.read_to_end(&mut Vec::new()).await;
    began.elapsed()
}

/// How long a head may take whose bytes come one by one.
async fn dripping_head(w: &World) -> Duration {
    let began = Instant::now();
    let mut stream = TcpStream::connect(w.node.address).await.unwrap();
    // Long enough to go on for a minute, if nobody ends it.
    let head = format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Drip: {}", "x".repeat(80));
    for byte in head.as_bytes() {
        let pause = tokio::time::timeout(Duration::from_millis(500), stream.read_u8()).await;
        if pause.is_ok() || stream.write_all(&[*byte]).await.is_err() {
            break;
        }
    }
    began.elapsed()
}

/// How long a body may take that stops in the middle; what is answered is a problem.
async fn slow_body(w: &World) -> Duration {
    let began = Instant::now();
    let bytes = post(w, "Host: x\r\nContent-Length: 17\r\n", &KRAKEN[..9]);
    let answer = say(w, &bytes).await.refused(408, "request_timeout");
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
fn a_request_that_takes_too_long_is_given_up() {
    testkit::world::run(testkit::Engine::Sqlite, async |w: &World| {
        let hang = || std::future::pending::<()>();
        let router = Router::new().route("/", get(hang));
        let request = ::http::Request::get("/").header("host", "x").body(Body::empty()).unwrap();
        // A body that goes on and on, each part in time, is the client's fault and not ours.
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
            edge::answer(&w.node.app, &router, request, peer),
            edge::answer(&w.node.app, &service, dripping, peer)
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
