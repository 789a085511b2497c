//! Webhooks: throughput, latency, isolation from receivers that hang or are slow, and memory usage while a long backlog
//! is delivered.

use std::time::{Duration, Instant};

use store::{Scope, bind};
use touchline::address_policy::AddressPolicy;
use touchline::config::Config;
use touchline::error::Error;
use touchline::ids::{AccountId, NotificationId};
use touchline::rights::TeamAccess;
use touchline::secrets::Secrets;
use touchline::signals::{self, Notification};
use touchline::web::app::installation_key;
use touchline::webhooks::edit::{self, EditContext, NewWebhook};

use crate::Result;
use crate::club::Club;
use crate::environment::{Database, Environment};
use crate::http::{Connection, TEAMS, request_with_body};
use crate::load::{self, Client, Counter, CreateTeams, Timing, writers};
use crate::options::Measure;
use crate::posting::{self, localhost_networks, notification_body};
use crate::process::Process;
use crate::stats::{Measurement, Rounds};
use crate::table::{Row, TargetResult, millis, thousands};
use crate::webhook_receiver::WebhookReceiver;

/// Numbers of webhooks, of clients that write, and of teams that they create. There are enough clients that the
/// database is the limit, not the clients.
const SCENARIOS: [(usize, usize, usize); 3] = [(1, 64, 20_000), (10, 64, 20_000), (1000, 32, 200)];
/// Up to this number of webhooks, the rate of writes limits the deliveries.
const WRITE_LIMITED_WEBHOOKS: usize = 10;
/// Lets the service deliver to receivers on this machine.
const ALLOW_LOCALHOST: [&str; 2] = ["--webhook-allow-cidrs", "127.0.0.0/8"];
const BACKLOG: usize = 100_000;
const QUEUED: usize = 10_000;
/// The number of accounts with slow receivers, and of slow receivers per account.
const SLOW_ACCOUNTS: usize = 4;
const SLOW_RECEIVERS: usize = 17;
/// The number of latency samples.
const LATENCY_SAMPLES: usize = 300;
const BATCH_SIZE: usize = 1_000;
const TIME_LIMIT: Duration = Duration::from_secs(300);

pub(crate) async fn measure(environment: &Environment, measure: &Measure) -> Result<Vec<Row>> {
    let timing = measure.timing();
    let mut rows = Vec::new();
    for (webhooks, clients, teams) in SCENARIOS {
        rows.extend(
            throughput(environment, (webhooks, clients, measure.scaled(teams)), timing).await?,
        );
    }
    rows.push(latency(environment, measure).await?);
    rows.push(latency_next_to_hanging_receiver(environment, measure).await?);
    rows.push(latency_next_to_slow_receivers(environment, measure).await?);
    rows.extend(measure_backlog(environment, measure).await?);
    Ok(rows)
}

/// Deliveries per second, from the first write to the last arrival, compared with a loop that only posts. With few
/// webhooks, also compared with the time for writing without webhooks plus posting, measured separately.
async fn throughput(
    environment: &Environment,
    (webhooks, clients, teams): (usize, usize, usize),
    timing: Timing,
) -> Result<Vec<Row>> {
    let database = environment.database(&format!("rate{webhooks}")).await?;
    let (club, receiver) = (Club::create(&database)?, WebhookReceiver::start().await?);
    let club_without_webhooks = Club::create(&database)?;
    let urls: Vec<_> = (0..webhooks).map(|number| receiver.url(&format!("/{number}"))).collect();
    create_webhooks(&database, club.account, &urls).await?;
    let service = database.serve(&ALLOW_LOCALHOST).await?;
    let numbers = Counter::default();
    let script = CreateTeams::new(&club.key, false, &numbers);
    let no_webhooks = CreateTeams::new(&club_without_webhooks.key, false, &numbers);
    let (mut ours, mut posting_only, mut separate) =
        (Rounds::default(), Rounds::default(), Rounds::default());
    for round in 0..timing.rounds {
        eprintln!("  {webhooks} webhooks, round {}", round + 1);
        let posts = posting::measure(&receiver, webhooks, timing).await?;
        posting_only.add(posts);
        let clients_of = |script| writers(service.address, std::slice::from_ref(script), clients);
        ours.add(
            measure_deliveries(&receiver, clients_of(&script).await?, (webhooks, teams)).await?,
        );
        if webhooks <= WRITE_LIMITED_WEBHOOKS {
            let writes = load::measure(clients_of(&no_webhooks).await?, timing).await?;
            let time = 1.0 / posts.per_second + 1.0 / (writes.per_second * webhooks as f64);
            separate.add(Measurement { per_second: 1.0 / time, ..writes });
        }
    }
    let plural = if webhooks == 1 { "" } else { "s" };
    let (notifications, count) = (thousands(teams as f64), thousands(webhooks as f64));
    let ratio = ours.rate_ratio(&posting_only);
    let format_rate = |rounds: &Rounds| format!("{}/s", thousands(rounds.median().per_second));
    let deliveries = Row {
        name: format!(
            "{notifications} notifications to {count} webhook{plural}, {clients} clients writing: deliveries"
        ),
        target: "≥ 0.5",
        result: format_rate(&ours),
        baseline: format_rate(&posting_only),
        ratio: format!("{ratio:.2}"),
        verdict: TargetResult::Target(ratio >= 0.5),
    };
    if webhooks > WRITE_LIMITED_WEBHOOKS {
        return Ok(vec![deliveries]);
    }
    let ratio = ours.rate_ratio(&separate);
    let end_to_end = Row {
        name: format!(
            "The same with {count} webhook{plural}, compared with `POST /teams` of {clients} clients without webhooks \
             plus posting, measured separately"
        ),
        target: "≥ 0.5",
        result: format_rate(&ours),
        baseline: format_rate(&separate),
        ratio: format!("{ratio:.2}"),
        verdict: TargetResult::Reference(ratio >= 0.5),
    };
    Ok(vec![deliveries, end_to_end])
}

/// Lets clients create teams, and waits until all notifications have arrived at all webhooks.
async fn measure_deliveries<C: Client>(
    receiver: &WebhookReceiver,
    clients: Vec<C>,
    (webhooks, teams): (usize, usize),
) -> Result<Measurement> {
    let (before, started, created) = (receiver.count(), Instant::now(), Counter::default());
    let mut writing = tokio::task::JoinSet::new();
    for mut client in clients {
        let created = created.clone();
        writing.spawn(async move {
            while created.next() < teams as u64 {
                client.run_once().await?;
            }
            Ok::<_, String>(())
        });
    }
    while let Some(joined) = writing.join_next().await {
        joined.map_err(|error| format!("a client panicked: {error}"))??;
    }
    let expected = (webhooks * teams) as u64;
    while receiver.count() - before < expected {
        if started.elapsed() > TIME_LIMIT {
            return Err(format!("{} of {expected} deliveries arrived", receiver.count() - before));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let per_second = expected as f64 / started.elapsed().as_secs_f64();
    Ok(Measurement { per_second, p50: Duration::ZERO, p99: Duration::ZERO })
}

/// The latency from a write to the arrival at the receiver, one write at a time.
async fn latency(environment: &Environment, measure: &Measure) -> Result<Row> {
    let database = environment.database("latency").await?;
    let (club, receiver) = (Club::create(&database)?, WebhookReceiver::start().await?);
    create_webhooks(&database, club.account, &[receiver.url("/one")]).await?;
    let service = database.serve(&ALLOW_LOCALHOST).await?;
    receiver.stats.start_recording();
    eprintln!("  latency");
    let times =
        measure_latency(&service, &club, &receiver, measure.scaled(LATENCY_SAMPLES)).await?;
    let target_ms = if environment.kind.is_postgres() { 50 } else { 20 };
    let met = times.p50 < Duration::from_millis(target_ms);
    Ok(Row {
        name: "Latency from a request to the receiver, idle: p50 / p99".to_owned(),
        target: if environment.kind.is_postgres() { "p50 < 50 ms" } else { "p50 < 20 ms" },
        result: format!("{} / {}", millis(times.p50), millis(times.p99)),
        baseline: String::new(),
        ratio: String::new(),
        verdict: TargetResult::Target(met),
    })
}

/// The latency of an account while another account's receiver hangs and has a backlog.
async fn latency_next_to_hanging_receiver(
    environment: &Environment,
    measure: &Measure,
) -> Result<Row> {
    let (database, receiver) =
        (environment.database("hanging").await?, WebhookReceiver::start().await?);
    let (other, queued) = (Club::create(&database)?, measure.scaled(QUEUED));
    create_webhooks(&database, other.account, &[receiver.url("/hang")]).await?;
    create_backlog(&database, other.account, queued).await?;
    let queued = thousands(queued as f64);
    let load = format!("a receiver that hangs with {queued} queued");
    latency_next_to(&database, &receiver, measure, &load).await
}

/// The latency of an account while slow receivers of other accounts use the whole concurrency of the service.
async fn latency_next_to_slow_receivers(
    environment: &Environment,
    measure: &Measure,
) -> Result<Row> {
    let (database, receiver) =
        (environment.database("slow").await?, WebhookReceiver::start().await?);
    for _ in 0..SLOW_ACCOUNTS {
        let other = Club::create(&database)?;
        let urls: Vec<_> =
            (0..SLOW_RECEIVERS).map(|number| receiver.url(&format!("/slow/{number}"))).collect();
        create_webhooks(&database, other.account, &urls).await?;
        create_backlog(&database, other.account, 100).await?;
    }
    let load =
        format!("{SLOW_ACCOUNTS} accounts with {SLOW_RECEIVERS} receivers each that take 12 s");
    latency_next_to(&database, &receiver, measure, &load).await
}

/// The latency of an account next to the load of other accounts.
async fn latency_next_to(
    database: &Database,
    receiver: &WebhookReceiver,
    measure: &Measure,
    load: &str,
) -> Result<Row> {
    let club = Club::create(database)?;
    create_webhooks(database, club.account, &[receiver.url("/one")]).await?;
    let service = database.serve(&ALLOW_LOCALHOST).await?;
    receiver.stats.start_recording();
    eprintln!("  latency next to {load}");
    let times = measure_latency(&service, &club, receiver, measure.scaled(LATENCY_SAMPLES)).await?;
    Ok(Row {
        name: format!("The same for another account, next to {load}"),
        target: "p99 < 2 s",
        result: format!("{} / {}", millis(times.p50), millis(times.p99)),
        baseline: String::new(),
        ratio: String::new(),
        verdict: TargetResult::Target(times.p99 < Duration::from_secs(2)),
    })
}

async fn measure_latency(
    service: &Process,
    club: &Club,
    receiver: &WebhookReceiver,
    samples: usize,
) -> Result<Measurement> {
    let mut connection = Connection::open(service.address).await?;
    let mut micros = Vec::new();
    // The first ten are warm-up.
    for number in 0..samples + 10 {
        let name = format!("Timed {number}");
        let body = format!(r#"{{"name":"{name}"}}"#);
        let started = Instant::now();
        connection
            .request(&request_with_body("POST", TEAMS, &club.key, "", &body))
            .await?
            .expect(201)?;
        let arrived = loop {
            if let Some(arrived) = receiver.stats.arrival(&name) {
                break arrived;
            }
            if started.elapsed() > TIME_LIMIT {
                return Err(format!("the notification of {name} did not arrive"));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        let latency = arrived.duration_since(started).as_micros();
        micros.push(u32::try_from(latency).unwrap_or(u32::MAX));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(Measurement::new(micros.split_off(10), Duration::from_secs(1)))
}

/// Delivers a long backlog after a start of the service.
async fn measure_backlog(environment: &Environment, measure: &Measure) -> Result<Vec<Row>> {
    let database = environment.database("drain").await?;
    let (club, receiver) = (Club::create(&database)?, WebhookReceiver::start().await?);
    create_webhooks(&database, club.account, &[receiver.url("/one")]).await?;
    let count = measure.scaled(BACKLOG);
    create_backlog(&database, club.account, count).await?;
    let service = database.serve(&ALLOW_LOCALHOST).await?;
    eprintln!("  a backlog of {}", thousands(count as f64));
    let (started, mut after_a_tenth) = (Instant::now(), 0);
    while receiver.count() < count as u64 {
        if started.elapsed() > TIME_LIMIT {
            return Err(format!("{} of {count} deliveries arrived", receiver.count()));
        }
        if after_a_tenth == 0 && receiver.count() > count as u64 / 10 {
            after_a_tenth = service.memory()?.0;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let seconds = started.elapsed().as_secs_f64();
    let (_, peak) = service.memory()?;
    let mb = |bytes: u64| bytes as f64 / 1e6;
    let growth = mb(peak) - mb(after_a_tenth);
    let row = |name: String, result: String| Row {
        name,
        target: "",
        result,
        baseline: String::new(),
        ratio: String::new(),
        verdict: TargetResult::NoTarget,
    };
    let (ours, posting_only) = (
        count as f64 / seconds,
        posting::measure(&receiver, 1, measure.timing()).await?.per_second,
    );
    let deliveries = Row {
        target: "≥ 0.5",
        baseline: format!("{}/s", thousands(posting_only)),
        ratio: format!("{:.2}", ours / posting_only),
        verdict: TargetResult::Reference(ours / posting_only >= 0.5),
        ..row(
            format!("Backlog of {} for one webhook", thousands(count as f64)),
            format!("{}/s, {seconds:.1} s", thousands(ours)),
        )
    };
    let memory = row(
        "Peak resident memory, compared with a tenth of the backlog".to_owned(),
        format!("{:.1} MB", mb(peak)),
    );
    let memory = Row {
        target: "≤ 10 MB more",
        baseline: format!("{:.1} MB", mb(after_a_tenth)),
        ratio: format!("{growth:.1} MB more"),
        verdict: TargetResult::Target(growth <= 10.0),
        ..memory
    };
    Ok(vec![deliveries, memory])
}

/// Creates a webhook with all event types for each URL.
async fn create_webhooks(database: &Database, account: AccountId, urls: &[String]) -> Result<()> {
    let db = database.open()?;
    let key = installation_key(&db).await;
    let key = key.map_err(|error| format!("cannot read the installation's key: {error:?}"))?;
    let context = EditContext {
        guard: AddressPolicy::new(localhost_networks()),
        home: Config::defaults().effective_base_url(),
        key: Secrets::new(key, None).key("webhook"),
        app: None,
        access: TeamAccess::AllTeams,
    };
    let urls = urls.to_vec();
    db.write(Scope::account(account, "bench").long_running(), move |tx| {
        for url in urls {
            let events = vec!["*".to_owned()];
            let new = NewWebhook { url, events, description: None, team_ids: None, ordering: None };
            edit::create(tx, &context, new)?;
        }
        Ok::<_, Error>(())
    })
    .await
    .map_err(|error| format!("cannot create webhooks: {error:?}"))?;
    db.close();
    Ok(())
}

/// Writes notifications into an account's log, as if teams had been created.
async fn create_backlog(database: &Database, account: AccountId, count: usize) -> Result<()> {
    let db = database.open()?;
    for done in (0..count).step_by(BATCH_SIZE) {
        let work = move |tx: &store::Tx<'_>| {
            let before = signals::sequence(tx)?;
            let last = count.min(done + BATCH_SIZE);
            let mut sequence = before;
            for number in done..last {
                sequence += 1;
                let id: NotificationId = tx.new_id();
                let notification = Notification {
                    account_id: tx.account(),
                    sequence,
                    id,
                    kind: "team.created".to_owned(),
                    body: notification_body(
                        tx.account(),
                        sequence,
                        &format!("Queued {number:012}"),
                    ),
                    created_at: tx.now(),
                };
                tx.execute_deferred(Notification::INSERT, &notification.bind())?;
            }
            tx.execute_deferred(
                "update journal set sequence = :sequence where account_id = :account",
                bind! { sequence },
            )?;
            Ok(())
        };
        let result = db.write(Scope::account(account, "bench").long_running(), work).await;
        result.map_err(|error: Error| format!("cannot write a backlog: {error:?}"))?;
    }
    db.close();
    Ok(())
}
