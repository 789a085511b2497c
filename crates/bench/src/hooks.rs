//! Webhooks: how many arrive in a second, how soon, whether one that hangs holds up others, and whether a long
//! backlog is worked off within the same memory.

use std::time::{Duration, Instant};

use kit::Timestamp;
use store::{Scope, bind};
use touchline::accounts::rights::Reach;
use touchline::config::Config;
use touchline::error::Error;
use touchline::ids::{AccountId, NotificationId};
use touchline::secrets::Secrets;
use touchline::signals::Notification;
use touchline::webhooks::edit::{self, Means, NewWebhook};
use touchline::webhooks::guard::Guard;

use crate::Result;
use crate::club::Club;
use crate::figures::{Measured, Rounds};
use crate::http::{Connection, TEAMS, send};
use crate::load::{self, Client, NewTeams, Numbers, Pace, writers};
use crate::options::Measure;
use crate::posting;
use crate::process::Process;
use crate::sink::Sink;
use crate::site::{Database, Site};
use crate::table::{Row, Verdict, millis, thousands};

/// How many webhooks there are, how many clients write, and how many teams in all: enough clients that writing is not
/// what is waited for, as far as the database allows.
const CROWDS: [(usize, usize, usize); 3] = [(1, 64, 20_000), (10, 64, 20_000), (1000, 32, 200)];
/// With so many webhooks it still counts how fast somebody can write.
const FEW: usize = 10;
/// The service may reach receivers on this machine.
const NEARBY: [&str; 2] = ["--webhook-allow-cidrs", "127.0.0.0/8"];
const BACKLOG: usize = 100_000;
const QUEUED: usize = 10_000;
/// So many accounts with so many slow receivers.
const SLOW_ACCOUNTS: usize = 4;
const SLOW: usize = 17;
/// How many news are timed one by one.
const TIMED: usize = 300;
const TOGETHER: usize = 1_000;
const LIMIT: Duration = Duration::from_secs(300);

pub(crate) async fn measure(site: &Site, measure: &Measure) -> Result<Vec<Row>> {
    let pace = measure.pace();
    let mut rows = Vec::new();
    for (many, clients, news) in CROWDS {
        rows.extend(rate(site, (many, clients, measure.teams(news)), pace).await?);
    }
    rows.push(latency(site, measure).await?);
    rows.push(beside_a_hanging_one(site, measure).await?);
    rows.push(beside_slow_ones(site, measure).await?);
    rows.extend(drain(site, measure).await?);
    Ok(rows)
}

/// Deliveries a second, from the first request of those who write to the last arrival, against a loop that only
/// posts; and, where each delivery needs news of its own or nearly so, against that loop after the same clients have
/// written where nothing is delivered: so long it takes to write and to post, each by itself.
async fn rate(
    site: &Site,
    (many, clients, news): (usize, usize, usize),
    pace: Pace,
) -> Result<Vec<Row>> {
    let database = site.database(&format!("rate{many}")).await?;
    let (club, sink) = (Club::found(&database)?, Sink::open().await?);
    let elsewhere = Club::found(&database)?;
    let urls: Vec<_> = (0..many).map(|number| sink.url(&format!("/{number}"))).collect();
    subscribe(&database, club.account, &urls).await?;
    let service = database.serve(&NEARBY).await?;
    let numbers = Numbers::default();
    let script = NewTeams::new(&club.key, false, &numbers);
    let alone = NewTeams::new(&elsewhere.key, false, &numbers);
    let (mut ours, mut bare, mut both) = (Rounds::default(), Rounds::default(), Rounds::default());
    for round in 0..pace.rounds {
        eprintln!("  {many} webhooks, round {}", round + 1);
        let posted = posting::measure(&sink, many, pace).await?;
        bare.add(posted);
        let clients_of = |script| writers(service.address, std::slice::from_ref(script), clients);
        ours.add(arriving(&sink, clients_of(&script).await?, (many, news)).await?);
        if many <= FEW {
            let written = load::measure(clients_of(&alone).await?, pace).await?;
            let time = 1.0 / posted.per_second + 1.0 / (written.per_second * many as f64);
            both.add(Measured { per_second: 1.0 / time, ..written });
        }
    }
    let plural = if many == 1 { "" } else { "s" };
    let (each, wide) = (thousands(news as f64), thousands(many as f64));
    let ratio = ours.rate_against(&bare);
    let shown = |rounds: &Rounds| format!("{}/s", thousands(rounds.median().per_second));
    let asked = Row {
        name: format!("{each} news to {wide} webhook{plural}, {clients} writing: deliveries"),
        ask: "≥ 0.5",
        us: shown(&ours),
        against: shown(&bare),
        ratio: format!("{ratio:.2}"),
        verdict: Verdict::Asked(ratio >= 0.5),
    };
    if many > FEW {
        return Ok(vec![asked]);
    }
    let ratio = ours.rate_against(&both);
    let end_to_end = Row {
        name: format!(
            "the same to {wide} against `POST /teams` of those {clients} without webhooks, and posting, each by itself"
        ),
        ask: "≥ 0.5",
        us: shown(&ours),
        against: shown(&both),
        ratio: format!("{ratio:.2}"),
        verdict: Verdict::Shown(ratio >= 0.5),
    };
    Ok(vec![asked, end_to_end])
}

/// Lets clients write so many news, and waits until all of them have arrived everywhere.
async fn arriving<C: Client>(
    sink: &Sink,
    clients: Vec<C>,
    (webhooks, news): (usize, usize),
) -> Result<Measured> {
    let (before, began, taken) = (sink.count(), Instant::now(), Numbers::default());
    let mut writing = tokio::task::JoinSet::new();
    for mut client in clients {
        let taken = taken.clone();
        writing.spawn(async move {
            while taken.next() < news as u64 {
                client.once().await?;
            }
            Ok::<_, String>(())
        });
    }
    while let Some(ended) = writing.join_next().await {
        ended.map_err(|error| format!("a client ended: {error}"))??;
    }
    let all = (webhooks * news) as u64;
    while sink.count() - before < all {
        if began.elapsed() > LIMIT {
            return Err(format!("{} of {all} arrived", sink.count() - before));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let per_second = all as f64 / began.elapsed().as_secs_f64();
    Ok(Measured { per_second, p50: Duration::ZERO, p99: Duration::ZERO })
}

/// From the request of somebody who writes to the receiver's, one after the other.
async fn latency(site: &Site, measure: &Measure) -> Result<Row> {
    let database = site.database("latency").await?;
    let (club, sink) = (Club::found(&database)?, Sink::open().await?);
    subscribe(&database, club.account, &[sink.url("/one")]).await?;
    let service = database.serve(&NEARBY).await?;
    sink.book.note();
    eprintln!("  one by one");
    let times = one_by_one(&service, &club, &sink, measure.teams(TIMED)).await?;
    let ask = if site.kind.is_postgres() { 50 } else { 20 };
    let met = times.p50 < Duration::from_millis(ask);
    Ok(Row {
        name: "from a request to its arrival at the receiver, idle: p50 / p99".to_owned(),
        ask: if site.kind.is_postgres() { "p50 < 50 ms" } else { "p50 < 20 ms" },
        us: format!("{} / {}", millis(times.p50), millis(times.p99)),
        against: String::new(),
        ratio: String::new(),
        verdict: Verdict::Asked(met),
    })
}

/// Another account's news, while one receiver hangs and has many queued.
async fn beside_a_hanging_one(site: &Site, measure: &Measure) -> Result<Row> {
    let (database, sink) = (site.database("hanging").await?, Sink::open().await?);
    let (slow, queued) = (Club::found(&database)?, measure.teams(QUEUED));
    subscribe(&database, slow.account, &[sink.url("/hang")]).await?;
    backlog(&database, slow.account, queued).await?;
    let queued = thousands(queued as f64);
    let whom = format!("a receiver that hangs with {queued} queued");
    beside(&database, &sink, measure, &whom).await
}

/// Another account's news, while several accounts have as many slow receivers as fill all places.
async fn beside_slow_ones(site: &Site, measure: &Measure) -> Result<Row> {
    let (database, sink) = (site.database("slow").await?, Sink::open().await?);
    for _ in 0..SLOW_ACCOUNTS {
        let slow = Club::found(&database)?;
        let urls: Vec<_> = (0..SLOW).map(|number| sink.url(&format!("/slow/{number}"))).collect();
        subscribe(&database, slow.account, &urls).await?;
        backlog(&database, slow.account, 100).await?;
    }
    let whom = format!("{SLOW_ACCOUNTS} accounts with {SLOW} receivers each that take 12 s");
    beside(&database, &sink, measure, &whom).await
}

/// How long an account's news take beside what others are up to.
async fn beside(database: &Database, sink: &Sink, measure: &Measure, whom: &str) -> Result<Row> {
    let club = Club::found(database)?;
    subscribe(database, club.account, &[sink.url("/one")]).await?;
    let service = database.serve(&NEARBY).await?;
    sink.book.note();
    eprintln!("  beside {whom}");
    let times = one_by_one(&service, &club, sink, measure.teams(TIMED)).await?;
    Ok(Row {
        name: format!("the same for another account, beside {whom}"),
        ask: "p99 < 2 s",
        us: format!("{} / {}", millis(times.p50), millis(times.p99)),
        against: String::new(),
        ratio: String::new(),
        verdict: Verdict::Asked(times.p99 < Duration::from_secs(2)),
    })
}

async fn one_by_one(service: &Process, club: &Club, sink: &Sink, many: usize) -> Result<Measured> {
    let mut connection = Connection::open(service.address).await?;
    let mut micros = Vec::new();
    // The first few wake what sleeps.
    for number in 0..many + 10 {
        let name = format!("Timed {number}");
        let body = format!(r#"{{"name":"{name}"}}"#);
        let began = Instant::now();
        connection.ask(&send("POST", TEAMS, &club.key, "", &body)).await?.expect(201)?;
        let arrived = loop {
            if let Some(arrived) = sink.book.arrival(&name) {
                break arrived;
            }
            if began.elapsed() > LIMIT {
                return Err(format!("{name} did not arrive"));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        let took = arrived.duration_since(began).as_micros();
        micros.push(u32::try_from(took).unwrap_or(u32::MAX));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(Measured::new(micros.split_off(10), Duration::from_secs(1)))
}

/// A long backlog, worked off after a start.
async fn drain(site: &Site, measure: &Measure) -> Result<Vec<Row>> {
    let database = site.database("drain").await?;
    let (club, sink) = (Club::found(&database)?, Sink::open().await?);
    subscribe(&database, club.account, &[sink.url("/one")]).await?;
    let many = measure.teams(BACKLOG);
    backlog(&database, club.account, many).await?;
    let service = database.serve(&NEARBY).await?;
    eprintln!("  a backlog of {}", thousands(many as f64));
    let (began, mut early) = (Instant::now(), 0);
    while sink.count() < many as u64 {
        if began.elapsed() > LIMIT {
            return Err(format!("{} of {many} arrived", sink.count()));
        }
        if early == 0 && sink.count() > many as u64 / 10 {
            early = service.memory()?.0;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let seconds = began.elapsed().as_secs_f64();
    let (_, peak) = service.memory()?;
    let mb = |bytes: u64| bytes as f64 / 1e6;
    let grown = mb(peak) - mb(early);
    let plain = |name: String, us: String| Row {
        name,
        ask: "",
        us,
        against: String::new(),
        ratio: String::new(),
        verdict: Verdict::Nothing,
    };
    let (ours, bare) =
        (many as f64 / seconds, posting::measure(&sink, 1, measure.pace()).await?.per_second);
    let drained = Row {
        ask: "≥ 0.5",
        against: format!("{}/s", thousands(bare)),
        ratio: format!("{:.2}", ours / bare),
        verdict: Verdict::Shown(ours / bare >= 0.5),
        ..plain(
            format!("a backlog of {} to one webhook", thousands(many as f64)),
            format!("{}/s, {seconds:.1} s", thousands(ours)),
        )
    };
    let memory = plain(
        "resident meanwhile, at most, against after a tenth of it".to_owned(),
        format!("{:.1} MB", mb(peak)),
    );
    let flat = Row {
        ask: "≤ 10 MB more",
        against: format!("{:.1} MB", mb(early)),
        ratio: format!("{grown:.1} MB more"),
        verdict: Verdict::Asked(grown <= 10.0),
        ..memory
    };
    Ok(vec![drained, flat])
}

pub(crate) fn nearby() -> Vec<ipnet::IpNet> {
    vec!["127.0.0.0/8".parse().expect("a network")]
}

/// Makes a webhook for each address, told everything.
async fn subscribe(database: &Database, account: AccountId, urls: &[String]) -> Result<()> {
    let db = database.open()?;
    let key: store::Result<([u8; 32],)> = db
        .write(Scope::system("bench"), |tx| {
            tx.run(
                "insert into installation (id, cursor_key, created_at) values (1, :key, :now)
                 on conflict do nothing /* any account */",
                bind! { key: tx.dice().bytes::<32>() },
            )?;
            tx.one("select cursor_key from installation where id = 1 /* any account */", bind! {})
        })
        .await;
    let (key,) = key.map_err(|error| format!("no key: {error}"))?;
    let means = Means {
        guard: Guard::new(nearby()),
        home: Config::defaults().home(),
        key: Secrets::new(key, None).key("webhook"),
        app: None,
        reach: Reach::Everywhere,
    };
    let urls = urls.to_vec();
    db.write(Scope::account(account, "bench").at_length(), move |tx| {
        for url in urls {
            let events = vec!["*".to_owned()];
            let new = NewWebhook { url, events, description: None, team_ids: None, ordering: None };
            edit::create(tx, &means, new)?;
        }
        Ok::<_, Error>(())
    })
    .await
    .map_err(|error| format!("cannot make webhooks: {error:?}"))?;
    db.close();
    Ok(())
}

/// Writes so many notifications into an account's log, as if as many teams had been made.
async fn backlog(database: &Database, account: AccountId, many: usize) -> Result<()> {
    let db = database.open()?;
    for done in (0..many).step_by(TOGETHER) {
        let work = move |tx: &store::Tx<'_>| {
            let (before,): (i64,) =
                tx.one("select sequence from journal where account_id = :account", bind! {})?;
            let last = many.min(done + TOGETHER);
            let mut sequence = before;
            for number in done..last {
                sequence += 1;
                let id: NotificationId = tx.new_id();
                let notification = Notification {
                    account_id: tx.account(),
                    sequence,
                    id,
                    kind: "team.created".to_owned(),
                    body: body(tx.account(), sequence, &format!("Queued {number:012}")),
                    created_at: tx.now(),
                };
                tx.later(Notification::INSERT, &notification.bind())?;
            }
            tx.later(
                "update journal set sequence = :sequence where account_id = :account",
                bind! { sequence },
            )
        };
        let written = db.write(Scope::account(account, "bench").at_length(), work).await;
        written.map_err(|error: store::Error| format!("cannot write a backlog: {error}"))?;
    }
    db.close();
    Ok(())
}

/// A notification as long as that of a new team.
pub(crate) fn body(account: AccountId, sequence: i64, name: &str) -> String {
    let id = NotificationId::from_bits(sequence.unsigned_abs().into());
    let at = Timestamp::from_micros(1_788_600_000_000_000);
    format!(
        r#"{{"id":"{id}","type":"team.created","timestamp":"{at}","api_version":"v1","account_id":"{account}","sequence":{sequence},"data":{{"object":{{"object":"team","id":"team_01kbm2x5q8f7vr0n3hd9tzc4wy","name":"{name}","sport":"soccer","season":"2026/27","age_group":null,"gender":null,"timezone":"UTC","color":null,"description":null,"unique_jerseys":false,"roster_count":0,"status":"active","external_id":null,"metadata":{{}},"created_at":"{at}","updated_at":"{at}","version":1}},"previous":null}}}}"#
    )
}
