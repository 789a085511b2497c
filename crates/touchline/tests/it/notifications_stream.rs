//! Tests of the notification stream (server-sent events): prompt delivery, resuming without gaps,
//! and access checks.

use std::time::{Duration, Instant};

use store::{Dialect, Scope};
use testkit::client::read_response;
use testkit::world::new_key;
use testkit::{Client, Node, TestResponse, Value, World, both, json, seconds};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use touchline::accounts::api_key::NewKey;
use touchline::accounts::user::{self, Role};

use crate::keys::revoke;
use crate::limits::set_quota;
use crate::notifications::publish_notes;
use crate::roster_access::client_with_all_scopes;
use crate::webhooks::team;

const STREAM: &str = "/notifications/stream";

/// A block of an event stream.
#[derive(Debug, Default, PartialEq)]
struct Block {
    id: Option<i64>,
    kind: Option<String>,
    data: Option<Value>,
    retry: Option<u64>,
    comment: bool,
}

impl Block {
    fn read(text: &str) -> Self {
        let mut block = Self::default();
        for line in text.lines() {
            let (name, value) = line.split_once(": ").unwrap();
            match name {
                "" => block.comment = true,
                "id" => block.id = Some(value.parse().unwrap()),
                "event" => block.kind = Some(value.to_owned()),
                "data" => block.data = Some(serde_json::from_str(value).unwrap()),
                "retry" => block.retry = Some(value.parse().unwrap()),
                _ => panic!("{line}"),
            }
        }
        block
    }
}

/// How a stream ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// With the final chunk.
    Cleanly,
    /// The connection broke.
    Broken,
}

/// A client of the stream.
struct Listener {
    stream: TcpStream,
    raw: Vec<u8>,
    text: String,
    head: String,
}

impl Listener {
    /// Connects and reads the first block.
    async fn open(client: &Client, path: &str) -> (Self, Block) {
        let mut listener = Self::connect(client, path).await;
        let block = listener.block().await.unwrap();
        (listener, block)
    }

    async fn connect(client: &Client, path: &str) -> Self {
        let mut stream = TcpStream::connect(client.address).await.unwrap();
        stream.write_all(&client.request("GET", path, None)).await.unwrap();
        let mut raw = Vec::new();
        let end = loop {
            if let Some(end) = raw.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            assert_ne!(stream.read_buf(&mut raw).await.unwrap(), 0);
        };
        let head = String::from_utf8(raw.drain(..end).collect()).unwrap().to_lowercase();
        assert!(head.starts_with("http/1.1 200"), "{head}");
        Self { stream, raw, text: String::new(), head }
    }

    /// The next block, or how the stream ended.
    async fn block(&mut self) -> Result<Block, End> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block = Block::read(&self.text[..end]);
                self.text.drain(..end + 2);
                return Ok(block);
            }
            self.chunk().await?;
        }
    }

    async fn chunk(&mut self) -> Result<(), End> {
        let line = loop {
            match self.raw.windows(2).position(|two| two == b"\r\n") {
                Some(end) => break end,
                None => self.more().await?,
            }
        };
        let size =
            usize::from_str_radix(std::str::from_utf8(&self.raw[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return Err(End::Cleanly);
        }
        while self.raw.len() < line + 2 + size + 2 {
            self.more().await?;
        }
        let chunk: Vec<_> = self.raw.drain(..line + 2 + size + 2).collect();
        self.text += std::str::from_utf8(&chunk[line + 2..line + 2 + size]).unwrap();
        Ok(())
    }

    async fn more(&mut self) -> Result<(), End> {
        let read = self.stream.read_buf(&mut self.raw);
        let read = tokio::time::timeout(seconds(30), read).await.expect("data arrives in time");
        if read.is_ok_and(|count| count > 0) { Ok(()) } else { Err(End::Broken) }
    }

    /// The next event; skips other blocks.
    async fn event(&mut self) -> Result<(i64, String, Value), End> {
        loop {
            if let Block { id: Some(id), kind: Some(kind), data: Some(data), .. } =
                self.block().await?
            {
                return Ok((id, kind, data));
            }
        }
    }

    /// Waits for the end of the stream.
    async fn end(mut self) -> (End, Duration) {
        let began = Instant::now();
        loop {
            if let Err(end) = self.block().await {
                return (end, began.elapsed());
            }
        }
    }
}

/// The response to a stream request that is refused.
async fn refused(client: &Client, path: &str) -> TestResponse {
    let mut stream = TcpStream::connect(client.address).await.unwrap();
    stream.write_all(&client.request("GET", path, None)).await.unwrap();
    read_response(&mut stream, "GET").await.unwrap()
}

/// Waits at most a minute until the number of open streams of a node satisfies `is_expected`.
async fn wait_for_open_streams(node: &Node, is_expected: impl Fn(usize) -> bool) {
    let began = Instant::now();
    while !is_expected(node.app.streams.open_count()) {
        assert!(
            began.elapsed() < seconds(60),
            "{} streams are open",
            node.app.streams.open_count()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

both! {
    async fn streams_events_promptly_and_resumes(w: &World) {
        team(w, "Before").await;
        let (mut listener, first) = Listener::open(&w.owner, STREAM).await;
        assert_eq!(first, Block { id: Some(1), retry: Some(2_000), ..Block::default() });
        for line in ["content-type: text/event-stream\r\n", "cache-control: no-store\r\n", "x-accel-buffering: no\r\n", "request-id: req_"] {
            assert!(listener.head.contains(line), "{line} {}", listener.head);
        }
        assert!(!listener.head.contains("content-encoding"));
        let mut fastest = Duration::MAX;
        for n in 2..6 {
            team(w, &format!("Team {n}")).await;
            let began = Instant::now();
            let (id, kind, data) = listener.event().await.unwrap();
            // The first event may come with a regular poll. Polls are one or two seconds apart.
            if n > 2 {
                fastest = fastest.min(began.elapsed());
            }
            assert_eq!((id, kind.as_str()), (n, "team.created"));
            assert_eq!(data, w.notifications().await[usize::try_from(n).unwrap() - 1]);
        }
        assert!(fastest < Duration::from_millis(900), "no wake-up arrived: {fastest:?}");
        // A client resumes with `Last-Event-ID`, which takes precedence over `after`.
        let resuming = w.owner.with_header("Last-Event-ID", "3");
        let (mut listener, first) = Listener::open(&resuming, &format!("{STREAM}?after=1")).await;
        assert_eq!((first.id, listener.event().await.unwrap().0), (Some(3), 4));
        let (mut listener, _) = Listener::open(&w.owner, &format!("{STREAM}?after=4")).await;
        assert_eq!(listener.event().await.unwrap().0, 5);
        let (mut listener, first) = Listener::open(&w.owner, &format!("{STREAM}?after=0")).await;
        assert_eq!((first.id, listener.event().await.unwrap().0), (Some(0), 1));
        let (mut listener, _) = Listener::open(&w.owner, &format!("{STREAM}?after=0&type=account.*")).await;
        publish_notes(w, "account.updated", 1, "x").await;
        assert_eq!(listener.event().await.unwrap().0, 6);
        for id in ["x", "-1", "1.5", "99999999999999999999"] {
            refused(&w.owner.with_header("Last-Event-ID", id), STREAM).await.assert_problem(400, "invalid_request");
        }
        // A position beyond the newest entry is refused: it belongs to a log that no longer exists.
        refused(&w.owner.with_header("Last-Event-ID", "7"), STREAM).await.assert_problem(400, "invalid_parameter");
        refused(&w.owner, &format!("{STREAM}?after=7")).await.assert_problem(400, "invalid_parameter");
        refused(&w.owner, &format!("{STREAM}?after=x")).await.assert_problem(400, "invalid_parameter");
        refused(&w.reader, STREAM).await.assert_problem(403, "insufficient_scope");
        refused(&w.nobody, STREAM).await.assert_problem(401, "missing_credentials");
    }

    async fn reconnecting_client_misses_nothing(w: &World) {
        const LAST: i64 = 300;
        let writing = async {
            for n in 1..=LAST {
                team(w, &format!("Team {n}")).await;
                if n % 3 == 0 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        };
        let listening = async {
            let (mut seen, mut disconnects) = (Vec::new(), 0_u64);
            let mut last: i64 = 0;
            while last < LAST || disconnects < 200 {
                let client = w.owner.with_header("Last-Event-ID", &last.to_string());
                let (mut listener, _) = Listener::open(&client, STREAM).await;
                // Disconnect after some events, in the middle of one, or before the first.
                let event_count = disconnects * 7 % 4;
                for _ in 0..event_count {
                    if last == LAST {
                        break;
                    }
                    let (id, ..) = listener.event().await.unwrap();
                    seen.push(id);
                    last = id;
                }
                disconnects += 1;
                // The service notices the disconnect soon, but a club has a limited number of
                // streams.
                drop(listener);
                wait_for_open_streams(&w.node, |open| open < 10).await;
            }
            (seen, disconnects)
        };
        let ((), (seen, disconnects)) = tokio::join!(writing, listening);
        assert_eq!(seen, (1..=LAST).collect::<Vec<_>>(), "{disconnects} disconnects");
        assert!(disconnects >= 200);
        // Closed streams leave nothing behind.
        wait_for_open_streams(&w.node, |open| open == 0).await;
        assert_eq!(w.db().change_notifier().listened_account_count(), 0);
    }

    async fn stream_ends_soon_after_its_credential(w: &World) {
        let (key, caller) = w.client_with_key(new_key("webhooks:write teams:read")).await;
        let expires_at = Some("2026-09-05T11:00:00Z".parse().unwrap());
        let (_, short_lived) = w.client_with_key(NewKey { expires_at, ..new_key("webhooks:write") }).await;
        let olga = w.user(Role::Owner, "olga@example.org").await;
        let adam = w.user(Role::Admin, "adam@example.org").await;
        let app = client_with_all_scopes(w, adam.id).await;
        let (revoked, _) = Listener::open(&caller, STREAM).await;
        let (expired, _) = Listener::open(&short_lived, STREAM).await;
        let (demoted, _) = Listener::open(&app, STREAM).await;
        let (active, _) = Listener::open(&w.owner, STREAM).await;
        revoke(&w.node, w, &key).await;
        let demote = move |tx: &store::Tx<'_>| user::set_role(tx, adam.id, Role::Member);
        w.db().write(Scope::account(w.harbour, "test"), demote).await.unwrap();
        let assert_ends = async |reason: &str, listener: Listener| {
            let (end, elapsed) = listener.end().await;
            assert!(end == End::Cleanly && elapsed < seconds(5), "{reason}: {end:?} after {elapsed:?}");
        };
        assert_ends("revoked", revoked).await;
        assert_ends("demoted", demoted).await;
        w.advance_clock(seconds(3600));
        assert_ends("expired", expired).await;
        wait_for_open_streams(&w.node, |open| open == 1).await;
        refused(&caller, STREAM).await.assert_problem(401, "invalid_credentials");
        drop((active, olga));
    }

    async fn stream_contains_only_types_and_teams_the_caller_may_read(w: &World) {
        let hawks = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        let otters = w.owner.post("/teams", json!({ "name": "Otters" })).await.created();
        let (_, team_key) = w.client_with_key(NewKey {
            team_ids: Some(vec![hawks.id().parse().unwrap()]),
            ..new_key("webhooks:write teams:read")
        }).await;
        let (mut team_stream, _) = Listener::open(&team_key, &format!("{STREAM}?after=0")).await;
        let (mut bystander_stream, _) = Listener::open(&w.bystander, &format!("{STREAM}?after=0")).await;
        let (mut owner_stream, _) = Listener::open(&w.owner, &format!("{STREAM}?team_id={}", otters.id())).await;
        w.owner.patch(&otters.path(""), json!({ "season": "2027" })).await.ok();
        w.owner.patch(&hawks.path(""), json!({ "season": "2027" })).await.ok();
        publish_notes(w, "account.updated", 1, "for everybody").await;
        assert_eq!(team_stream.event().await.unwrap().0, 1);
        let (_, kind, data) = team_stream.event().await.unwrap();
        assert_eq!((kind.as_str(), &data["data"]["object"]["id"]), ("team.updated", &json!(hawks.id())));
        assert_eq!(bystander_stream.event().await.unwrap().1, "account.updated");
        assert_eq!(owner_stream.event().await.unwrap().2["data"]["object"]["id"], json!(otters.id()));
        refused(&team_key, &format!("{STREAM}?team_id={}", otters.id())).await.assert_problem(404, "not_found");
    }

    async fn quiet_stream_sends_heartbeats_with_its_position(w: &World) {
        let began = Instant::now();
        let (mut listener, _) = Listener::open(&w.bystander, STREAM).await;
        team(w, "Hidden").await;
        let heartbeat = listener.block().await.unwrap();
        assert_eq!(heartbeat, Block { id: Some(1), comment: true, ..Block::default() });
        assert!((seconds(15)..seconds(29)).contains(&began.elapsed()), "{:?}", began.elapsed());
        // The stream outlives the request timeout.
        listener.block().await.unwrap();
        assert!(listener.block().await.unwrap().comment);
        publish_notes(w, "account.updated", 1, "x").await;
        assert_eq!(listener.event().await.unwrap().0, 2);
    }

    async fn stream_receives_events_of_the_other_node(w: &World) {
        let other = w.node(|_| {}).await;
        let (mut listener, _) = Listener::open(&w.owner.at(other.address), STREAM).await;
        let within = if w.db().dialect() == Dialect::Postgres { 1_500 } else { 3_000 };
        let mut fastest = Duration::MAX;
        for n in 1..5 {
            team(w, &format!("Team {n}")).await;
            let began = Instant::now();
            assert_eq!(listener.event().await.unwrap().0, n);
            // Well before the next heartbeat.
            assert!(began.elapsed() < seconds(13), "{:?}", began.elapsed());
            fastest = fastest.min(began.elapsed());
        }
        // At least one of them must be fast, even on a busy machine.
        assert!(fastest < Duration::from_millis(within), "{fastest:?}");
        drop(listener);
        other.stop().await;
    }

    async fn stopping_service_ends_its_streams_immediately(w: &World) {
        let node = w.node(|_| {}).await;
        let owner = w.owner.at(node.address);
        // They read all the time, so that they do not count as stalled.
        let first = tokio::task::spawn(Listener::open(&owner, STREAM).await.0.end());
        let second = tokio::task::spawn(Listener::open(&owner, STREAM).await.0.end());
        // A client that does not read must not delay the stop.
        publish_notes(w, "account.updated", 600, &"x".repeat(20_000)).await;
        let _stalled = stalled_client(&owner).await;
        wait_for_open_streams(&node, |open| open == 3).await;
        tokio::time::sleep(seconds(1)).await;
        let began = Instant::now();
        let (first, second, ()) = tokio::join!(first, second, node.stop());
        assert_eq!((first.unwrap().0, second.unwrap().0), (End::Cleanly, End::Cleanly));
        // A running service waits longer for a stalled client.
        assert!(began.elapsed() < seconds(15), "{:?}", began.elapsed());
    }

    async fn disconnects_a_stalled_client_without_buffering(w: &World) {
        publish_notes(w, "account.updated", 1_000, &"x".repeat(20_000)).await;
        let stalled_client = stalled_client(&w.owner).await;
        wait_for_open_streams(&w.node, |open| open == 1).await;
        // Once the buffers are full, the service stops reading the log for a stalled client. An
        // active stream would check its credential every two seconds.
        let mut idle = false;
        for _ in 0..5 {
            let read = w.db().stats().reads;
            tokio::time::sleep(seconds(3)).await;
            idle = w.db().stats().reads == read && w.node.app.streams.open_count() == 1;
            if idle {
                break;
            }
        }
        assert!(idle, "the log is read for a stalled client");
        wait_for_open_streams(&w.node, |open| open == 0).await;
        drop(stalled_client);
    }

    async fn limits_streams_per_account_and_counts_each_as_one_request(w: &World) {
        let node = w.node(|config| set_quota(config, 25)).await;
        let owner = w.owner.at(node.address);
        let mut listeners = Vec::new();
        for _ in 0..20 {
            listeners.push(Listener::open(&owner, STREAM).await.0);
        }
        let refused_stream = refused(&owner, STREAM).await.assert_problem(429, "too_many_concurrent");
        assert!(refused_stream.header("retry-after").is_some());
        tokio::time::sleep(seconds(3)).await;
        let left = owner.get("/me").await.ok();
        let left: u32 = left.header("x-ratelimit-remaining").unwrap().parse().unwrap();
        assert!(left <= 3, "{left}");
        Listener::open(&w.stranger.at(node.address), STREAM).await;
        // A disconnect frees its place, even if there is nothing to send.
        listeners.pop();
        wait_for_open_streams(&node, |open| open < 20).await;
        Listener::open(&owner, STREAM).await;
        drop(listeners);
        node.stop().await;
    }

    async fn rejects_a_position_that_was_deleted(w: &World) {
        publish_notes(w, "account.updated", 5, "old").await;
        w.advance_clock(seconds(31 * 86_400));
        touchline::jobs::delete_old_notifications(&w.node.app).await;
        for (id, path) in [("3", STREAM), ("0", STREAM)] {
            let expired = refused(&w.owner.with_header("Last-Event-ID", id), path).await.assert_problem(410, "gone");
            assert!(expired.body["detail"].as_str().unwrap().contains("number is 5"), "{}", expired.text);
        }
        refused(&w.owner, &format!("{STREAM}?after=3")).await.assert_problem(410, "gone");
        let (mut listener, first) = Listener::open(&w.owner, &format!("{STREAM}?after=0")).await;
        assert_eq!((first.id, listener.event().await.unwrap().0), (Some(4), 5));
        assert_eq!(w.node.app.streams.open_count(), 1);
    }
}

/// Opens a stream of the whole log and reads nothing.
async fn stalled_client(client: &Client) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(client.address).await.unwrap();
    let path = format!("{STREAM}?after=0");
    stream.write_all(&client.request("GET", &path, None)).await.unwrap();
    stream
}
