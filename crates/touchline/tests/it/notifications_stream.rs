//! Stories about the log as a stream: what happens arrives, nothing is missing after a break, and nobody listens
//! longer than they may.

use std::time::{Duration, Instant};

use store::{Dialect, Scope};
use testkit::client::read_answer;
use testkit::world::new_key;
use testkit::{Answer, Client, Node, Value, World, both, json, seconds};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use touchline::accounts::api_key::NewKey;
use touchline::accounts::user::{self, Role};

use crate::keys::revoke;
use crate::limits::set_quota;
use crate::notifications::tell;
use crate::standing::acting;
use crate::webhooks::team;

const STREAM: &str = "/notifications/stream";

/// A block of a stream.
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
    /// With the mark that there is no more.
    Cleanly,
    /// The connection broke.
    Broken,
}

/// Somebody who listens.
struct Ear {
    stream: TcpStream,
    raw: Vec<u8>,
    text: String,
    head: String,
}

impl Ear {
    /// Begins to listen; the first block was read.
    async fn open(client: &Client, path: &str) -> (Self, Block) {
        let mut ear = Self::connect(client, path).await;
        let block = ear.block().await.unwrap();
        (ear, block)
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
        let read = tokio::time::timeout(seconds(30), read).await.expect("something comes");
        if read.is_ok_and(|count| count > 0) { Ok(()) } else { Err(End::Broken) }
    }

    /// The next event, whatever else comes before it.
    async fn event(&mut self) -> Result<(i64, String, Value), End> {
        loop {
            if let Block { id: Some(id), kind: Some(kind), data: Some(data), .. } =
                self.block().await?
            {
                return Ok((id, kind, data));
            }
        }
    }

    /// Waits for the end.
    async fn end(mut self) -> (End, Duration) {
        let began = Instant::now();
        loop {
            if let Err(end) = self.block().await {
                return (end, began.elapsed());
            }
        }
    }
}

/// The answer to a stream that is refused.
async fn refused(client: &Client, path: &str) -> Answer {
    let mut stream = TcpStream::connect(client.address).await.unwrap();
    stream.write_all(&client.request("GET", path, None)).await.unwrap();
    read_answer(&mut stream, "GET").await.unwrap()
}

/// Waits until so many streams are open on a node, at most for a minute.
async fn open_streams(node: &Node, fits: impl Fn(usize) -> bool) {
    let began = Instant::now();
    while !fits(node.app.streams.open()) {
        assert!(began.elapsed() < seconds(60), "{} streams are open", node.app.streams.open());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

both! {
    async fn what_happens_arrives_as_it_happens(w: &World) {
        team(w, "Before").await;
        let (mut ear, first) = Ear::open(&w.owner, STREAM).await;
        assert_eq!(first, Block { id: Some(1), retry: Some(2_000), ..Block::default() });
        for line in ["content-type: text/event-stream\r\n", "cache-control: no-store\r\n", "x-accel-buffering: no\r\n", "request-id: req_"] {
            assert!(ear.head.contains(line), "{line} {}", ear.head);
        }
        assert!(!ear.head.contains("content-encoding"));
        let mut soonest = Duration::MAX;
        for n in 2..6 {
            team(w, &format!("Team {n}")).await;
            let began = Instant::now();
            let (id, kind, data) = ear.event().await.unwrap();
            // The first may come just before a look around; from what one finds to the next it takes a second or two.
            if n > 2 {
                soonest = soonest.min(began.elapsed());
            }
            assert_eq!((id, kind.as_str()), (n, "team.created"));
            assert_eq!(data, w.news().await[usize::try_from(n).unwrap() - 1]);
        }
        assert!(soonest < Duration::from_millis(900), "nobody heard the bell: {soonest:?}");
        // Whoever comes back says where they were; the header counts more than the address.
        let back = w.owner.with("Last-Event-ID", "3");
        let (mut ear, first) = Ear::open(&back, &format!("{STREAM}?after=1")).await;
        assert_eq!((first.id, ear.event().await.unwrap().0), (Some(3), 4));
        let (mut ear, _) = Ear::open(&w.owner, &format!("{STREAM}?after=4")).await;
        assert_eq!(ear.event().await.unwrap().0, 5);
        let (mut ear, first) = Ear::open(&w.owner, &format!("{STREAM}?after=0")).await;
        assert_eq!((first.id, ear.event().await.unwrap().0), (Some(0), 1));
        let (mut ear, _) = Ear::open(&w.owner, &format!("{STREAM}?after=0&type=account.*")).await;
        tell(w, "account.updated", 1, "x").await;
        assert_eq!(ear.event().await.unwrap().0, 6);
        for id in ["x", "-1", "1.5", "99999999999999999999"] {
            refused(&w.owner.with("Last-Event-ID", id), STREAM).await.refused(400, "invalid_request");
        }
        // Whoever has seen more than there is was told by a log that is no more.
        refused(&w.owner.with("Last-Event-ID", "7"), STREAM).await.refused(400, "invalid_parameter");
        refused(&w.owner, &format!("{STREAM}?after=7")).await.refused(400, "invalid_parameter");
        refused(&w.owner, &format!("{STREAM}?after=x")).await.refused(400, "invalid_parameter");
        refused(&w.reader, STREAM).await.refused(403, "insufficient_scope");
        refused(&w.nobody, STREAM).await.refused(401, "missing_credentials");
    }

    async fn a_stream_that_breaks_again_and_again_misses_nothing(w: &World) {
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
            let (mut seen, mut cuts) = (Vec::new(), 0_u64);
            let mut last: i64 = 0;
            while last < LAST || cuts < 200 {
                let client = w.owner.with("Last-Event-ID", &last.to_string());
                let (mut ear, _) = Ear::open(&client, STREAM).await;
                // Now after some events, now in the middle of one, now before the first.
                let wanted = cuts * 7 % 4;
                for _ in 0..wanted {
                    if last == LAST {
                        break;
                    }
                    let (id, ..) = ear.event().await.unwrap();
                    seen.push(id);
                    last = id;
                }
                cuts += 1;
                // That they went is noticed soon, but a club has only so many at once.
                drop(ear);
                open_streams(&w.node, |open| open < 10).await;
            }
            (seen, cuts)
        };
        let ((), (seen, cuts)) = tokio::join!(writing, listening);
        assert_eq!(seen, (1..=LAST).collect::<Vec<_>>(), "{cuts} cuts");
        assert!(cuts >= 200);
        // Those who went left nothing behind.
        open_streams(&w.node, |open| open == 0).await;
        assert_eq!(w.db().bell().listened(), 0);
    }

    async fn a_stream_ends_soon_after_its_credential(w: &World) {
        let (key, caller) = w.caller(new_key("webhooks:write teams:read")).await;
        let expires_at = Some("2026-09-05T11:00:00Z".parse().unwrap());
        let (_, short) = w.caller(NewKey { expires_at, ..new_key("webhooks:write") }).await;
        let olga = w.user(Role::Owner, "olga@example.org").await;
        let adam = w.user(Role::Admin, "adam@example.org").await;
        let app = acting(w, adam.id).await;
        let (revoked, _) = Ear::open(&caller, STREAM).await;
        let (expired, _) = Ear::open(&short, STREAM).await;
        let (demoted, _) = Ear::open(&app, STREAM).await;
        let (stays, _) = Ear::open(&w.owner, STREAM).await;
        revoke(&w.node, w, &key).await;
        let demote = move |tx: &store::Tx<'_>| user::set_role(tx, adam.id, Role::Member);
        w.db().write(Scope::account(w.harbour, "test"), demote).await.unwrap();
        let ends = async |what: &str, ear: Ear| {
            let (end, took) = ear.end().await;
            assert!(end == End::Cleanly && took < seconds(5), "{what}: {end:?} after {took:?}");
        };
        ends("revoked", revoked).await;
        ends("demoted", demoted).await;
        w.pass(seconds(3600));
        ends("expired", expired).await;
        open_streams(&w.node, |open| open == 1).await;
        refused(&caller, STREAM).await.refused(401, "invalid_credentials");
        drop((stays, olga));
    }

    async fn a_listener_hears_what_they_may_read_of_the_teams_they_reach(w: &World) {
        let hawks = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        let otters = w.owner.post("/teams", json!({ "name": "Otters" })).await.created();
        let (_, narrowed) = w.caller(NewKey {
            team_ids: Some(vec![hawks.id().parse().unwrap()]),
            ..new_key("webhooks:write teams:read")
        }).await;
        let (mut few, _) = Ear::open(&narrowed, &format!("{STREAM}?after=0")).await;
        let (mut none, _) = Ear::open(&w.bystander, &format!("{STREAM}?after=0")).await;
        let (mut one, _) = Ear::open(&w.owner, &format!("{STREAM}?team_id={}", otters.id())).await;
        w.owner.patch(&otters.path(""), json!({ "season": "2027" })).await.ok();
        w.owner.patch(&hawks.path(""), json!({ "season": "2027" })).await.ok();
        tell(w, "account.updated", 1, "for everybody").await;
        assert_eq!(few.event().await.unwrap().0, 1);
        let (_, kind, data) = few.event().await.unwrap();
        assert_eq!((kind.as_str(), &data["data"]["object"]["id"]), ("team.updated", &json!(hawks.id())));
        assert_eq!(none.event().await.unwrap().1, "account.updated");
        assert_eq!(one.event().await.unwrap().2["data"]["object"]["id"], json!(otters.id()));
        refused(&narrowed, &format!("{STREAM}?team_id={}", otters.id())).await.refused(404, "not_found");
    }

    async fn a_quiet_stream_shows_that_it_is_alive_and_how_far_it_came(w: &World) {
        let began = Instant::now();
        let (mut ear, _) = Ear::open(&w.bystander, STREAM).await;
        team(w, "Hidden").await;
        let beat = ear.block().await.unwrap();
        assert_eq!(beat, Block { id: Some(1), comment: true, ..Block::default() });
        assert!((seconds(15)..seconds(29)).contains(&began.elapsed()), "{:?}", began.elapsed());
        // Longer than any request may take, and it goes on.
        ear.block().await.unwrap();
        assert!(ear.block().await.unwrap().comment);
        tell(w, "account.updated", 1, "x").await;
        assert_eq!(ear.event().await.unwrap().0, 2);
    }

    async fn news_of_one_node_reaches_the_listeners_of_another(w: &World) {
        let other = w.node(|_| {}).await;
        let (mut ear, _) = Ear::open(&w.owner.at(other.address), STREAM).await;
        let within = if w.db().dialect() == Dialect::Postgres { 1_500 } else { 3_000 };
        let mut soonest = Duration::MAX;
        for n in 1..5 {
            team(w, &format!("Team {n}")).await;
            let began = Instant::now();
            assert_eq!(ear.event().await.unwrap().0, n);
            // Long before anything would have to be sent.
            assert!(began.elapsed() < seconds(13), "{:?}", began.elapsed());
            soonest = soonest.min(began.elapsed());
        }
        // A busy machine is not busy all the time.
        assert!(soonest < Duration::from_millis(within), "{soonest:?}");
        drop(ear);
        other.stop().await;
    }

    async fn a_service_that_stops_ends_its_streams_at_once(w: &World) {
        let node = w.node(|_| {}).await;
        let here = w.owner.at(node.address);
        // They listen all the time, so that nobody thinks that they take nothing.
        let first = tokio::task::spawn(Ear::open(&here, STREAM).await.0.end());
        let second = tokio::task::spawn(Ear::open(&here, STREAM).await.0.end());
        // One that takes nothing is not waited for either.
        tell(w, "account.updated", 600, &"x".repeat(20_000)).await;
        let _stuck = stuck(&here).await;
        open_streams(&node, |open| open == 3).await;
        tokio::time::sleep(seconds(1)).await;
        let began = Instant::now();
        let (first, second, ()) = tokio::join!(first, second, node.stop());
        assert_eq!((first.unwrap().0, second.unwrap().0), (End::Cleanly, End::Cleanly));
        // While the service goes on, it is waited for longer.
        assert!(began.elapsed() < seconds(15), "{:?}", began.elapsed());
    }

    async fn a_reader_that_takes_nothing_is_let_go_and_costs_no_memory(w: &World) {
        tell(w, "account.updated", 1_000, &"x".repeat(20_000)).await;
        let stuck = stuck(&w.owner).await;
        open_streams(&w.node, |open| open == 1).await;
        // What nobody takes is not even read, once there is as much under way as fits between the two. Whoever goes
        // on looks at the credential every two seconds.
        let mut idle = false;
        for _ in 0..5 {
            let read = w.db().stats().reads;
            tokio::time::sleep(seconds(3)).await;
            idle = w.db().stats().reads == read && w.node.app.streams.open() == 1;
            if idle {
                break;
            }
        }
        assert!(idle, "what nobody takes is read");
        open_streams(&w.node, |open| open == 0).await;
        drop(stuck);
    }

    async fn an_account_has_so_many_streams_and_each_costs_one_request(w: &World) {
        let node = w.node(|config| set_quota(config, 25)).await;
        let here = w.owner.at(node.address);
        let mut ears = Vec::new();
        for _ in 0..20 {
            ears.push(Ear::open(&here, STREAM).await.0);
        }
        let refusal = refused(&here, STREAM).await.refused(429, "too_many_concurrent");
        assert!(refusal.header("retry-after").is_some());
        tokio::time::sleep(seconds(3)).await;
        let left = here.get("/me").await.ok();
        let left: u32 = left.header("x-ratelimit-remaining").unwrap().parse().unwrap();
        assert!(left <= 3, "{left}");
        Ear::open(&w.stranger.at(node.address), STREAM).await;
        // Whoever hangs up makes room, though nothing happens that could be sent to them.
        ears.pop();
        open_streams(&node, |open| open < 20).await;
        Ear::open(&here, STREAM).await;
        drop(ears);
        node.stop().await;
    }

    async fn what_is_no_longer_kept_cannot_be_followed(w: &World) {
        tell(w, "account.updated", 5, "old").await;
        w.pass(seconds(31 * 86_400));
        touchline::jobs::forget_old_news(&w.node.app).await;
        for (id, path) in [("3", STREAM), ("0", STREAM)] {
            let gone = refused(&w.owner.with("Last-Event-ID", id), path).await.refused(410, "gone");
            assert!(gone.body["detail"].as_str().unwrap().contains("number 5"), "{}", gone.text);
        }
        refused(&w.owner, &format!("{STREAM}?after=3")).await.refused(410, "gone");
        let (mut ear, first) = Ear::open(&w.owner, &format!("{STREAM}?after=0")).await;
        assert_eq!((first.id, ear.event().await.unwrap().0), (Some(4), 5));
        assert_eq!(w.node.app.streams.open(), 1);
    }
}

/// Somebody who asks for everything and reads nothing.
async fn stuck(client: &Client) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(client.address).await.unwrap();
    let path = format!("{STREAM}?after=0");
    stream.write_all(&client.request("GET", &path, None)).await.unwrap();
    stream
}
