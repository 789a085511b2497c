//! Stories about receivers that misbehave, and about machines that webhooks must not reach.

use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use http::HeaderMap;
use kit::Clock;
use testkit::certificates::{Authority, self_signed};
use testkit::process::Program;
use testkit::world::{make_account, run, test_config};
use testkit::{Engine, Node, Receiver, Reply, Rough, TestDatabase, Then, World, both, seconds};
use touchline::config::Config;
use touchline::dispatch::client::Client;
use touchline::ids::AccountId;
use touchline::webhooks::delivery::Status;
use touchline::webhooks::edit::{self, NewWebhook};
use touchline::webhooks::webhook::Ordering;

use crate::webhooks::{
    Running, attempts, deliveries, happen, means, numbers, subscribe, subscribe_all,
};

/// Time enough for the first words of everybody, however busy this machine is.
const PATIENCE: Duration = Duration::from_secs(5);
/// Whoever talks without end is listened to no longer than that.
const LITTLE_PATIENCE: Duration = Duration::from_millis(600);
/// Whoever floods us with what is no answer is left once it is too much, or on a busy machine when time is up.
const FLOODS: [&str; 3] = ["endless head", "one endless line", "endless 100"];

/// What somebody says, what they do then, and what is written down of it: a status, an error.
type Manner = (&'static str, Vec<u8>, Then, Option<u16>, Option<&'static str>);

fn manners() -> Vec<Manner> {
    let drip = || Then::Drip(b"x".to_vec());
    let flood = |text: &str| Then::Flood(text.as_bytes().repeat(64));
    let head = |status: &str, length: u64| {
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n").into_bytes()
    };
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(&vec![b'0'; 10_000_000]).unwrap();
    let bomb = bomb.finish().unwrap();
    let packed = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        bomb.len()
    );
    let packed = [packed.into_bytes(), bomb].concat();
    let chunked = b"HTTP/1.1 503 Busy\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let (ok, late) = (Some(200), Some("timeout"));
    vec![
        ("hangs", Vec::new(), Then::Wait, None, late),
        ("yes, then drips", head("200 OK", 99_999), drip(), ok, None),
        ("no, then drips", head("500 Oh", 99_999), drip(), Some(500), Some("refused")),
        ("drips its head", b"HTTP/1.1 200 OK\r\nx-slow: ".to_vec(), drip(), None, late),
        ("1 GB", head("200 OK", 1 << 30), flood("xxxxxxxx"), ok, None),
        ("endless pieces", chunked, flood("4\r\nxxxx\r\n"), Some(503), Some("refused")),
        (
            "endless head",
            b"HTTP/1.1 200 OK\r\n".to_vec(),
            flood("x-a: b\r\n"),
            None,
            Some("not_http"),
        ),
        ("one endless line", b"HTTP/1.1 200 ".to_vec(), flood("a"), None, Some("not_http")),
        ("gzip bomb", packed, Then::Wait, ok, None),
        ("resets", Vec::new(), Then::Reset, None, Some("connection_lost")),
        ("hangs up", Vec::new(), Then::Close, None, Some("connection_lost")),
        ("hangs up in the body", head("500 Oh", 99), Then::Close, Some(500), Some("refused")),
        ("noise", b"hello there\n".to_vec(), Then::Close, None, Some("not_http")),
        (
            "another protocol",
            b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(),
            Then::Wait,
            None,
            Some("not_http"),
        ),
        ("only 100", b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(), Then::Wait, None, late),
        (
            "two lengths",
            b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n".to_vec(),
            Then::Wait,
            None,
            Some("not_http"),
        ),
    ]
}

/// Delivers something to all of these, and looks what was written down.
async fn endured(w: &World, manners: Vec<Manner>, patience: Duration) {
    let mut rough = Vec::new();
    for (name, words, then, status, error) in manners {
        let receiver = Rough::start(words, then).await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        rough.push((name, receiver, id, status, error));
    }
    happen(w, w.harbour, 1).await;
    let began = Instant::now();
    w.node.dispatcher.clone().patience(patience).deliver().await.unwrap();
    // All of them would go on for ever.
    let at_most = patience + seconds(20);
    assert!(began.elapsed() < at_most, "{:?}", began.elapsed());
    for (name, receiver, id, status, error) in rough {
        let attempts = attempts(w, id).await.0;
        let [attempt] = attempts.as_slice() else { panic!("{name}: {attempts:?}") };
        let class = attempt.error.as_deref();
        let flooded = FLOODS.contains(&name) && matches!(class, Some("timeout" | "not_http"));
        let class = if flooded { error } else { class };
        assert_eq!((attempt.status_code, class), (status, error), "{name}");
        let took = Duration::from_millis(attempt.duration_ms.unsigned_abs());
        assert!(took < at_most, "{name}: {attempt:?}");
        let excerpt = attempt.response_excerpt.as_deref().unwrap_or_default();
        assert!(excerpt.chars().count() <= 4_096, "{name}");
        assert!(excerpt.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()), "{name}");
        assert!(!excerpt.contains("0000000"), "{name}: it was unpacked");
        receiver.left().await;
        // What is beyond lies in the buffers of two sockets.
        assert!(receiver.said() < 16_000_000, "{name}: {}", receiver.said());
        assert_eq!(receiver.connections(), 1, "{name}");
    }
}

async fn other_club(w: &World) -> AccountId {
    let me = w.stranger.get("/me").await.ok();
    me.data()["account"]["id"].as_str().unwrap().parse().unwrap()
}

both! {
    async fn whoever_misbehaves_is_left_in_time_and_written_down(w: &World) {
        let well = Receiver::start().await;
        subscribe(w, well.url(), Ordering::Parallel).await;
        endured(w, manners(), PATIENCE).await;
        assert_eq!(well.received().len(), 1);
    }

    async fn whoever_says_without_end_that_we_shall_continue_is_left_in_time(w: &World) {
        let words = b"HTTP/1.1 100 Continue\r\n\r\n";
        let flood = Then::Flood(words.repeat(64));
        let manner = ("endless 100", Vec::new(), flood, None, Some("timeout"));
        endured(w, vec![manner], LITTLE_PATIENCE).await;
    }

    async fn a_hanging_receiver_delays_nobody_else(w: &World) {
        let (ill, well, elsewhere) = (Receiver::start().await, Receiver::start().await, Receiver::start().await);
        let _held = ill.hold();
        let other = other_club(w).await;
        subscribe(w, ill.url(), Ordering::Parallel).await;
        happen(w, w.harbour, 2_000).await;
        subscribe(w, well.url(), Ordering::Strict).await;
        subscribe_all(w, other, vec![elsewhere.url()], Ordering::Parallel).await;
        // Nobody's patience with the one that hangs comes to its end before the story does.
        let patient = w.node.dispatcher.clone().patience(seconds(3_600));
        let _running = Running::start(&patient);
        ill.wait_for(1).await;
        for count in 1..=20 {
            happen(w, w.harbour, 1).await;
            happen(w, other, 1).await;
            tokio::join!(elsewhere.wait_for(count), well.wait_for(count));
        }
        assert_eq!(numbers(&well), (2_001..=2_020).collect::<Vec<_>>());
        // Whoever has not answered yet is tried with one, and once that takes long with a few more, beside all others.
        assert!(ill.received().len() <= 8, "{}", ill.received().len());
    }

    async fn a_slow_receiver_and_one_that_recovers_get_everything(w: &World) {
        let (slow, shaky) = (Receiver::start().await, Receiver::start().await);
        slow.always(Reply::from(204).after(Duration::from_millis(200)));
        shaky.next([500, 429, 200]);
        let slow_id = subscribe(w, slow.url(), Ordering::Parallel).await;
        let shaky_id = subscribe(w, shaky.url(), Ordering::Strict).await;
        happen(w, w.harbour, 2).await;
        for pause in [0, 30, 400] {
            w.pass(seconds(pause));
            w.deliver().await;
        }
        for id in [slow_id, shaky_id] {
            let found = deliveries(w, id).await;
            assert!(found.len() == 2 && found.iter().all(|one| one.status == Status::Succeeded));
        }
        let tried: Vec<_> = attempts(w, shaky_id).await.0.iter().map(|one| one.status_code).collect();
        assert_eq!(tried, [Some(500), Some(429), Some(200)]);
    }
}

/// A story for which one database is enough.
fn story(story: impl AsyncFnOnce(&World)) {
    run(Engine::Sqlite, story);
}

#[test]
fn nobody_is_sent_on_to_another_address() {
    story(async |w| {
        let receiver = Receiver::start().await;
        let id = subscribe(w, receiver.url(), Ordering::Parallel).await;
        let itself = receiver.url();
        let mut asked = 0;
        for status in [301, 302, 303, 307, 308] {
            for to in ["http://169.254.169.254/latest/meta-data/", itself.as_str(), "/elsewhere"] {
                receiver.next([Reply::from(status).with("location", to)]);
                happen(w, w.harbour, 1).await;
                w.deliver().await;
                asked += 1;
                assert_eq!(receiver.received().len(), asked, "{status} {to}");
                // Well again, so that the next one is not left in peace.
                happen(w, w.harbour, 1).await;
                w.deliver().await;
                asked += 1;
            }
        }
        let redirected =
            deliveries(w, id).await.into_iter().filter(|one| one.status == Status::Pending);
        let errors: Vec<_> =
            redirected.map(|one| one.attempts.0[0].error.clone().unwrap()).collect();
        assert_eq!(errors, vec!["redirected"; 15]);
        assert!(receiver.received().iter().all(|one| one.path == "/hook"));
    });
}

#[test]
fn only_a_receiver_that_proves_itself_is_told_anything() {
    story(async |w| {
        let (ours, theirs) = (Authority::new(), Authority::new());
        let path = ours.save(w.database.folder.path());
        let node = w.node(|config| config.webhook_authority = Some(path)).await;
        let good = Receiver::start_encrypted(ours.server("127.0.0.1", 2099)).await;
        let plain = Receiver::start().await;
        let good_id = subscribe(w, good.url(), Ordering::Parallel).await;
        let bad = [
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
        for (name, receiver) in &bad {
            ids.push((*name, subscribe(w, receiver.url(), Ordering::Parallel).await));
        }
        let unencrypted = plain.url().replace("http:", "https:");
        ids.push(("not encrypted", subscribe(w, unencrypted, Ordering::Parallel).await));
        happen(w, w.harbour, 1).await;
        node.dispatcher.deliver().await.unwrap();
        assert_eq!(
            (good.received().len(), attempts(w, good_id).await.0[0].status_code),
            (1, Some(200))
        );
        for (name, id) in ids {
            let attempts = attempts(w, id).await.0;
            assert_eq!(attempts[0].error.as_deref(), Some("tls_failed"), "{name}");
        }
        assert!(bad.iter().all(|(_, receiver)| receiver.received().is_empty()));
        node.stop().await;
    });
}

#[test]
fn machines_nearby_are_not_reached_whatever_their_name() {
    story(async |w| {
        let receiver = Receiver::start().await;
        let port = receiver.address.port();
        let hosts =
            ["127.0.0.1", "127.1", "2130706433", "[::ffff:127.0.0.1]", "localhost", "localhost."];
        let urls = hosts.iter().map(|host| format!("http://{host}:{port}/hook"));
        let urls = urls.chain([format!("https://localhost:{port}/hook")]).collect();
        let made = subscribe_all(w, w.harbour, urls, Ordering::Parallel).await;
        happen(w, w.harbour, 1).await;
        let node = w.node(|config| config.webhook_allow_cidrs = Vec::new()).await;
        node.dispatcher.deliver().await.unwrap();
        assert!(receiver.received().is_empty());
        for (place, (id, _)) in made.into_iter().enumerate() {
            let delivery = deliveries(w, id).await.remove(0);
            let error = delivery.attempts.0[0].error.as_deref();
            // Not every resolver knows a name that ends with a dot.
            let unknown = hosts.get(place) == Some(&"localhost.") && error == Some("dns_failed");
            assert!(error == Some("address_blocked") || unknown, "{error:?}");
            let told = serde_json::to_string(&delivery).unwrap();
            assert!(!told.contains("127.0") && !told.contains("::"), "{told}");
        }
        node.stop().await;
    });
}

#[tokio::test]
async fn literals_are_looked_at_like_names() {
    let client = Client::new(&Config::defaults()).unwrap().patience(seconds(30));
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
    let nobody = client.post("https://nobody.invalid/", HeaderMap::new(), "{}".into()).await;
    assert_eq!(nobody.result, Err("dns_failed"));
}

#[tokio::test]
async fn a_closed_door_is_said_to_be_closed() {
    let client = Client::new(&test_config()).unwrap();
    // Nobody listens there, and nobody else gets the place meanwhile.
    let door = tokio::net::TcpSocket::new_v4().unwrap();
    door.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}/", door.local_addr().unwrap());
    let answer = client.post(&url, HeaderMap::new(), "{}".into()).await;
    assert_eq!(answer.result, Err("connection_failed"));
}

#[test]
fn nothing_is_remembered_of_a_receiver_and_nothing_unpacked() {
    story(async |w| {
        let receiver = Receiver::start().await;
        subscribe(w, receiver.url(), Ordering::Strict).await;
        receiver.always(Reply::from(200).with("set-cookie", "visitor=1; Path=/"));
        happen(w, w.harbour, 3).await;
        w.deliver().await;
        let sent = receiver.received();
        assert_eq!(sent.len(), 3);
        for one in sent {
            let mut names: Vec<_> = one.headers.keys().map(http::HeaderName::as_str).collect();
            names.sort_unstable();
            let known = [
                "accept-encoding",
                "content-length",
                "content-type",
                "host",
                "user-agent",
                "webhook-id",
                "webhook-signature",
                "webhook-timestamp",
            ];
            assert_eq!(names, known);
            assert_eq!(one.header("accept-encoding"), "identity");
            assert_eq!(one.header("content-type"), "application/json");
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn proxies_of_the_surroundings_are_not_used() {
    let database = TestDatabase::new(Engine::Sqlite).await.unwrap();
    let (receiver, proxy) = (Receiver::start().await, Receiver::start().await);
    let node = Node::start(&database, Clock::system(), test_config()).await;
    let club = make_account(&node.app.db, "Harbour", node.app.clock.now()).await;
    let (means, url) = (means(&node), receiver.url());
    let prepare = move |tx: &store::Tx<'_>| {
        let events = vec!["*".to_owned()];
        let new = NewWebhook { url, events, description: None, team_ids: None, ordering: None };
        edit::create(tx, &means, new)?;
        touchline::signals::Tell::tell(
            tx,
            "team.updated",
            &crate::webhooks::Happening { id: "team".to_owned(), what: "news".into() },
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
