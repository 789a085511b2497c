//! Tests of misbehaving receivers, and of addresses that webhooks must not reach.

use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use http::HeaderMap;
use kit::Clock;
use testkit::certificates::{Authority, self_signed};
use testkit::process::Program;
use testkit::world::{make_account, run, test_config};
use testkit::{
    AfterResponse, Engine, FaultyReceiver, Node, Receiver, Reply, TestDatabase, World, both,
    seconds,
};
use touchline::config::Config;
use touchline::dispatch::client::Client;
use touchline::ids::AccountId;
use touchline::webhooks::delivery::Status;
use touchline::webhooks::edit::{self, NewWebhook};
use touchline::webhooks::webhook::Ordering;

use crate::webhooks::{
    RunningDispatcher, attempts, deliveries, edit_context, publish_events, sequences, subscribe,
    subscribe_all,
};

/// Long enough for the first bytes of every receiver, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout for receivers that never stop sending.
const SHORT_TIMEOUT: Duration = Duration::from_millis(600);
/// Receivers that flood us are cut off at a size limit, or on a busy machine at the timeout.
const FLOODS: [&str; 3] = ["endless head", "one endless line", "endless 100"];

/// A name, the bytes that a receiver sends, what it does then, and the recorded status and error.
type Misbehavior = (&'static str, Vec<u8>, AfterResponse, Option<u16>, Option<&'static str>);

fn misbehaviors() -> Vec<Misbehavior> {
    let drip = || AfterResponse::Drip(b"x".to_vec());
    let flood = |text: &str| AfterResponse::Flood(text.as_bytes().repeat(64));
    let head = |status: &str, length: u64| {
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n").into_bytes()
    };
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(&vec![b'0'; 10_000_000]).unwrap();
    let bomb = bomb.finish().unwrap();
    let compressed = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        bomb.len()
    );
    let compressed = [compressed.into_bytes(), bomb].concat();
    let chunked = b"HTTP/1.1 503 Busy\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let (ok, timeout) = (Some(200), Some("timeout"));
    vec![
        ("hangs", Vec::new(), AfterResponse::Wait, None, timeout),
        ("yes, then drips", head("200 OK", 99_999), drip(), ok, None),
        ("no, then drips", head("500 Oh", 99_999), drip(), Some(500), Some("unsuccessful_status")),
        ("drips its head", b"HTTP/1.1 200 OK\r\nx-slow: ".to_vec(), drip(), None, timeout),
        ("1 GB", head("200 OK", 1 << 30), flood("xxxxxxxx"), ok, None),
        ("endless pieces", chunked, flood("4\r\nxxxx\r\n"), Some(503), Some("unsuccessful_status")),
        (
            "endless head",
            b"HTTP/1.1 200 OK\r\n".to_vec(),
            flood("x-a: b\r\n"),
            None,
            Some("not_http"),
        ),
        ("one endless line", b"HTTP/1.1 200 ".to_vec(), flood("a"), None, Some("not_http")),
        ("gzip bomb", compressed, AfterResponse::Wait, ok, None),
        ("resets", Vec::new(), AfterResponse::Reset, None, Some("connection_lost")),
        ("hangs up", Vec::new(), AfterResponse::Close, None, Some("connection_lost")),
        (
            "hangs up in the body",
            head("500 Oh", 99),
            AfterResponse::Close,
            Some(500),
            Some("unsuccessful_status"),
        ),
        ("noise", b"hello there\n".to_vec(), AfterResponse::Close, None, Some("not_http")),
        (
            "another protocol",
            b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(),
            AfterResponse::Wait,
            None,
            Some("not_http"),
        ),
        ("only 100", b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(), AfterResponse::Wait, None, timeout),
        (
            "two lengths",
            b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n".to_vec(),
            AfterResponse::Wait,
            None,
            Some("not_http"),
        ),
    ]
}

/// Delivers an event to all of these, and checks what was recorded.
async fn assert_endures(w: &World, misbehaviors: Vec<Misbehavior>, patience: Duration) {
    let mut receivers = Vec::new();
    for (name, bytes, next, status, error) in misbehaviors {
        let receiver = FaultyReceiver::start(bytes, next).await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        receivers.push((name, receiver, id, status, error));
    }
    publish_events(w, w.harbour, 1).await;
    let began = Instant::now();
    w.node.dispatcher.clone().with_timeout(patience).deliver().await.unwrap();
    // All of them would go on forever.
    let limit = patience + seconds(20);
    assert!(began.elapsed() < limit, "{:?}", began.elapsed());
    for (name, receiver, id, status, error) in receivers {
        let attempts = attempts(w, id).await.0;
        let [attempt] = attempts.as_slice() else { panic!("{name}: {attempts:?}") };
        let error_code = attempt.error.as_deref();
        let is_flood = FLOODS.contains(&name) && matches!(error_code, Some("timeout" | "not_http"));
        let error_code = if is_flood { error } else { error_code };
        assert_eq!((attempt.status_code, error_code), (status, error), "{name}");
        let duration = Duration::from_millis(attempt.duration_ms.unsigned_abs());
        assert!(duration < limit, "{name}: {attempt:?}");
        let excerpt = attempt.response_excerpt.as_deref().unwrap_or_default();
        assert!(excerpt.chars().count() <= 4_096, "{name}");
        assert!(excerpt.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()), "{name}");
        assert!(!excerpt.contains("0000000"), "{name}: the body was decompressed");
        receiver.wait_for_disconnect().await;
        // The rest is in the socket buffers.
        assert!(receiver.bytes_sent() < 16_000_000, "{name}: {}", receiver.bytes_sent());
        assert_eq!(receiver.connections(), 1, "{name}");
    }
}

async fn other_club(w: &World) -> AccountId {
    let me = w.stranger.get("/me").await.ok();
    me.data()["account"]["id"].as_str().unwrap().parse().unwrap()
}

both! {
    async fn cuts_off_misbehaving_receivers_and_records_it(w: &World) {
        let healthy = Receiver::start().await;
        subscribe(w, healthy.url(), Ordering::Parallel).await;
        assert_endures(w, misbehaviors(), TIMEOUT).await;
        assert_eq!(healthy.received().len(), 1);
    }

    async fn cuts_off_endless_continue_responses(w: &World) {
        let bytes = b"HTTP/1.1 100 Continue\r\n\r\n";
        let flood = AfterResponse::Flood(bytes.repeat(64));
        let misbehavior = ("endless 100", Vec::new(), flood, None, Some("timeout"));
        assert_endures(w, vec![misbehavior], SHORT_TIMEOUT).await;
    }

    async fn hanging_receiver_delays_nobody_else(w: &World) {
        let (hanging, healthy, other_receiver) = (Receiver::start().await, Receiver::start().await, Receiver::start().await);
        let _hold = hanging.hold_replies();
        let other = other_club(w).await;
        subscribe(w, hanging.url(), Ordering::Parallel).await;
        publish_events(w, w.harbour, 2_000).await;
        subscribe(w, healthy.url(), Ordering::Strict).await;
        subscribe_all(w, other, vec![other_receiver.url()], Ordering::Parallel).await;
        // The timeout for the hanging receiver does not expire during the test.
        let patient = w.node.dispatcher.clone().with_timeout(seconds(3_600));
        let _running = RunningDispatcher::start(&patient);
        hanging.wait_for(1).await;
        for count in 1..=20 {
            publish_events(w, w.harbour, 1).await;
            publish_events(w, other, 1).await;
            tokio::join!(other_receiver.wait_for(count), healthy.wait_for(count));
        }
        assert_eq!(sequences(&healthy), (2_001..=2_020).collect::<Vec<_>>());
        // A receiver that has not answered yet gets one delivery, and a few more once that is slow.
        assert!(hanging.received().len() <= 8, "{}", hanging.received().len());
    }

    async fn slow_and_recovering_receivers_get_everything(w: &World) {
        let (slow, recovering) = (Receiver::start().await, Receiver::start().await);
        slow.set_reply(Reply::from(204).after(Duration::from_millis(200)));
        recovering.queue_replies([500, 429, 200]);
        let slow_id = subscribe(w, slow.url(), Ordering::Parallel).await;
        let recovering_id = subscribe(w, recovering.url(), Ordering::Strict).await;
        publish_events(w, w.harbour, 2).await;
        for pause in [0, 30, 400] {
            w.advance_clock(seconds(pause));
            w.deliver().await;
        }
        for id in [slow_id, recovering_id] {
            let stored = deliveries(w, id).await;
            assert!(stored.len() == 2 && stored.iter().all(|delivery| delivery.status == Status::Succeeded));
        }
        let statuses: Vec<_> = attempts(w, recovering_id).await.0.iter().map(|delivery| delivery.status_code).collect();
        assert_eq!(statuses, [Some(500), Some(429), Some(200)]);
    }
}

/// Runs a test on SQLite only.
fn sqlite_test(test: impl AsyncFnOnce(&World)) {
    run(Engine::Sqlite, test);
}

#[test]
fn does_not_follow_redirects() {
    sqlite_test(async |w| {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let own_url = receiver.url();
        let mut expected = 0;
        for status in [301, 302, 303, 307, 308] {
            for to in ["http://169.254.169.254/latest/meta-data/", own_url.as_str(), "/elsewhere"] {
                receiver.queue_replies([Reply::from(status).with_header("location", to)]);
                publish_events(w, w.harbour, 1).await;
                w.deliver().await;
                expected += 1;
                assert_eq!(receiver.received().len(), expected, "{status} {to}");
                // A success in between, so that the webhook is not paused.
                publish_events(w, w.harbour, 1).await;
                w.deliver().await;
                expected += 1;
            }
        }
        let redirected = deliveries(w, id)
            .await
            .into_iter()
            .filter(|delivery| delivery.status == Status::Pending);
        let errors: Vec<_> =
            redirected.map(|delivery| delivery.attempts.0[0].error.clone().unwrap()).collect();
        assert_eq!(errors, vec!["redirected"; 15]);
        assert!(receiver.received().iter().all(|delivery| delivery.path == "/hook"));
    });
}

#[test]
fn requires_a_valid_certificate() {
    sqlite_test(async |w| {
        let (ours, theirs) = (Authority::new(), Authority::new());
        let path = ours.save(w.database.folder.path());
        let node = w.node(|config| config.webhook_authority = Some(path)).await;
        let valid = Receiver::start_encrypted(ours.server("127.0.0.1", 2099)).await;
        let plain = Receiver::start().await;
        let valid_id = subscribe(w, valid.url(), Ordering::Parallel).await;
        let invalid = [
            ("expired", Receiver::start_encrypted(ours.server("127.0.0.1", 2020)).await),
            (
                "another name",
                Receiver::start_encrypted(ours.server("hooks.example.org", 2099)).await,
            ),
            (
                "another authority",
                Receiver::start_encrypted(theirs.server("127.0.0.1", 2099)).await,
            ),
            ("self-signed", Receiver::start_encrypted(self_signed("127.0.0.1")).await),
        ];
        let mut ids = Vec::new();
        for (name, receiver) in &invalid {
            ids.push((*name, subscribe(w, receiver.url(), Ordering::Parallel).await));
        }
        let unencrypted = plain.url().replace("http:", "https:");
        ids.push(("not encrypted", subscribe(w, unencrypted, Ordering::Parallel).await));
        publish_events(w, w.harbour, 1).await;
        node.dispatcher.deliver().await.unwrap();
        assert_eq!(
            (valid.received().len(), attempts(w, valid_id).await.0[0].status_code),
            (1, Some(200))
        );
        for (name, id) in ids {
            let attempts = attempts(w, id).await.0;
            assert_eq!(attempts[0].error.as_deref(), Some("tls_failed"), "{name}");
        }
        assert!(invalid.iter().all(|(_, receiver)| receiver.received().is_empty()));
        node.stop().await;
    });
}

#[test]
fn blocks_local_addresses_by_any_name() {
    sqlite_test(async |w| {
        let receiver = Receiver::start().await;
        let port = receiver.address.port();
        let hosts =
            ["127.0.0.1", "127.1", "2130706433", "[::ffff:127.0.0.1]", "localhost", "localhost."];
        let urls = hosts.iter().map(|host| format!("http://{host}:{port}/hook"));
        let urls = urls.chain([format!("https://localhost:{port}/hook")]).collect();
        let webhooks = subscribe_all(w, w.harbour, urls, Ordering::Parallel).await;
        publish_events(w, w.harbour, 1).await;
        let node = w.node(|config| config.webhook_allow_cidrs = Vec::new()).await;
        node.dispatcher.deliver().await.unwrap();
        assert!(receiver.received().is_empty());
        for (index, (id, _)) in webhooks.into_iter().enumerate() {
            let delivery = deliveries(w, id).await.remove(0);
            let error = delivery.attempts.0[0].error.as_deref();
            // Not every resolver accepts a name that ends with a dot.
            let unknown = hosts.get(index) == Some(&"localhost.") && error == Some("dns_failed");
            assert!(error == Some("address_blocked") || unknown, "{error:?}");
            let text = serde_json::to_string(&delivery).unwrap();
            assert!(!text.contains("127.0") && !text.contains("::"), "{text}");
        }
        node.stop().await;
    });
}

#[tokio::test]
async fn blocks_local_addresses_and_unencrypted_public_addresses_in_urls() {
    let client = Client::new(&Config::defaults()).unwrap().with_timeout(seconds(30));
    for url in [
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "https://[::]/",
        "https://0.0.0.0/",
        "https://10.0.0.1/",
        "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/",
        "https://[fd00:ec2::254]/",
        "https://[::127.0.0.1]/",
        // Public, but not encrypted.
        "http://93.184.216.34/",
    ] {
        let answer = client.post(url, HeaderMap::new(), "{}".into()).await;
        assert_eq!(answer.result, Err("address_blocked"), "{url}");
    }
    let unknown = client.post("https://nobody.invalid/", HeaderMap::new(), "{}".into()).await;
    assert_eq!(unknown.result, Err("dns_failed"));
}

#[tokio::test]
async fn reports_a_closed_port() {
    let client = Client::new(&test_config()).unwrap();
    // Nothing listens on this port, and nothing else can take it meanwhile.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}/", socket.local_addr().unwrap());
    let answer = client.post(&url, HeaderMap::new(), "{}".into()).await;
    assert_eq!(answer.result, Err("connection_failed"));
}

#[test]
fn sends_no_cookies_and_accepts_no_compression() {
    sqlite_test(async |w| {
        let receiver = Receiver::start().await;
        subscribe(w, receiver.url(), Ordering::Strict).await;
        receiver.set_reply(Reply::from(200).with_header("set-cookie", "visitor=1; Path=/"));
        publish_events(w, w.harbour, 3).await;
        w.deliver().await;
        let sent = receiver.received();
        assert_eq!(sent.len(), 3);
        for request in sent {
            let mut names: Vec<_> = request.headers.keys().map(http::HeaderName::as_str).collect();
            names.sort_unstable();
            let expected = [
                "accept-encoding",
                "content-length",
                "content-type",
                "host",
                "user-agent",
                "webhook-id",
                "webhook-signature",
                "webhook-timestamp",
            ];
            assert_eq!(names, expected);
            assert_eq!(request.header("accept-encoding"), "identity");
            assert_eq!(request.header("content-type"), "application/json");
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn ignores_proxies_of_the_environment() {
    let database = TestDatabase::new(Engine::Sqlite).await.unwrap();
    let (receiver, proxy) = (Receiver::start().await, Receiver::start().await);
    let node = Node::start(&database, Clock::system(), test_config()).await;
    let club = make_account(&node.app.db, "Harbour", node.app.clock.now()).await;
    let (context, url) = (edit_context(&node), receiver.url());
    let prepare = move |tx: &store::Tx<'_>| {
        let events = vec!["*".to_owned()];
        let new = NewWebhook { url, events, description: None, team_ids: None, ordering: None };
        edit::create(tx, &context, new)?;
        touchline::signals::Publish::publish(
            tx,
            "team.updated",
            &crate::webhooks::TestEvent { id: "team".to_owned(), what: "news".into() },
        )
    };
    node.app.db.write(store::Scope::account(club, "test"), prepare).await.unwrap();
    node.stop().await;
    let mut program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
        .flag("--database", &database.url);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
        program = program.variable(name, &format!("http://{}", proxy.address));
    }
    let program = program.flag("--webhook-allow-cidrs", "127.0.0.0/8");
    let service = tokio::task::spawn_blocking(move || program.serve(&[])).await.unwrap();
    receiver.wait_for(1).await;
    assert!(proxy.received().is_empty());
    tokio::task::spawn_blocking(move || service.stop()).await.unwrap();
}
