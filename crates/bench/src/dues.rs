//! Dues: reading the statement of a large team, compared with reading the team, and charging thousands of members in
//! one request.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use kit::Day;
use store::{Db, Scope, Tx};
use touchline::dues::charging::{self, NewCharge};
use touchline::dues::due::Category;
use touchline::dues::paying;
use touchline::error::Error;
use touchline::ids::{DueId, TeamId};
use touchline::metadata::Metadata;
use touchline::money::payment::{Method, PaymentDetails};
use touchline::rights::TeamAccess;

use crate::Result;
use crate::club::Club;
use crate::environment::Environment;
use crate::http::{Connection, TEAMS, get_request, request_with_body};
use crate::load::{self, Counter, RequestCycle, readers};
use crate::options::Measure;
use crate::season;
use crate::stats::Rounds;
use crate::table::{Row, TargetResult, millis, thousands};

const DUES: &str = "/api/public/v1/dues";
const FAMILIES: usize = 500;
/// Each family is charged this many times and pays each charge in this many parts: 10,000 movements for 500 families.
const CHARGES: usize = 4;
const PARTS: usize = 4;
/// The number of changes, with a statement read after each.
const CHANGES: usize = 50;
const MEMBERS: usize = 5_000;
/// The number of dues whose payments are written in one transaction.
const BATCH_SIZE: usize = 500;
const AMOUNT: i64 = 15_000;

pub(crate) async fn measure(environment: &Environment, measure: &Measure) -> Result<Vec<Row>> {
    let mut rows = measure_statement(environment, measure).await?;
    rows.push(measure_charge(environment, measure).await?);
    Ok(rows)
}

/// The statement of a team compared with the team itself: cached, and after each change.
async fn measure_statement(environment: &Environment, measure: &Measure) -> Result<Vec<Row>> {
    let database = environment.database("statement").await?;
    let club = Club::create(&database)?;
    let families = measure.scaled(FAMILIES);
    let db = database.open()?;
    let team = season::create_team_with_members(&db, &club, families, &Counter::default()).await?;
    let movements = create_dues(&db, &club, team).await?;
    db.close();
    let service = database.serve(&[]).await?;
    let timing = measure.timing();
    let one = RequestCycle::new(vec![get_request(&format!("{TEAMS}/{team}"), &club.key)]);
    let all =
        RequestCycle::new(vec![get_request(&format!("{TEAMS}/{team}/dues/statement"), &club.key)]);
    let (mut reads, mut statements) = (Rounds::default(), Rounds::default());
    for round in 0..timing.rounds {
        eprintln!("  statements, round {}", round + 1);
        reads.add(load::measure(readers(service.address, &one, 1).await?, timing).await?);
        statements.add(load::measure(readers(service.address, &all, 1).await?, timing).await?);
    }
    let changed = after_changes(service.address, &club, team).await?;
    let (families, movements) = (thousands(families as f64), thousands(movements as f64));
    let row = |when: &str, (ours, baseline): (Duration, Duration), ask: &'static str| {
        let ratio = ours.as_secs_f64() / baseline.as_secs_f64();
        let met = ratio <= 20.0;
        Row {
            name: format!(
                "Statement of {families} families with {movements} movements, {when}, compared with `GET /teams/{{id}}`: p50"
            ),
            target: ask,
            result: millis(ours),
            baseline: millis(baseline),
            ratio: format!("{ratio:.1} times"),
            verdict: if ask.is_empty() {
                TargetResult::Reference(met)
            } else {
                TargetResult::Target(met)
            },
        }
    };
    let cached = (statements.median().p50, reads.median().p50);
    Ok(vec![row("cached", cached, "≤ 20 times"), row("both after a change", changed, "")])
}

/// The median times to read the statement and the team after something in the account has changed.
async fn after_changes(
    address: SocketAddr,
    club: &Club,
    team: TeamId,
) -> Result<(Duration, Duration)> {
    let mut connection = Connection::open(address).await?;
    let path = format!("{TEAMS}/{team}");
    let requests =
        [get_request(&format!("{path}/dues/statement"), &club.key), get_request(&path, &club.key)];
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..CHANGES {
        for (index, (request, times)) in requests.iter().zip(&mut times).enumerate() {
            let body = format!(r#"{{"description":"After {number}.{index}"}}"#);
            let change = request_with_body("PATCH", &path, &club.key, "", &body);
            connection.request(&change).await?.expect(200)?;
            let started = Instant::now();
            connection.request(request).await?.expect(200)?;
            times.push(started.elapsed());
        }
    }
    let [statement, team] = times.map(|mut times| {
        times.sort_unstable();
        times[CHANGES / 2]
    });
    Ok((statement, team))
}

/// Charges all members and pays in parts. Returns the number of movements.
async fn create_dues(db: &Db, club: &Club, team: TeamId) -> Result<usize> {
    let scope = || Scope::account(club.account, "bench").long_running();
    let failed = |error: Error| format!("cannot fill dues: {error:?}");
    let mut movements = 0;
    for _ in 0..CHARGES {
        let charge = move |tx: &Tx<'_>| {
            let dues = charging::create(tx, &TeamAccess::AllTeams, &new_charge(team)?)?;
            Ok(dues.into_iter().map(|due| due.id).collect::<Vec<DueId>>())
        };
        let dues = db.write(scope(), charge).await.map_err(failed)?;
        movements += dues.len() * (1 + PARTS);
        for batch in dues.chunks(BATCH_SIZE) {
            let batch = batch.to_vec();
            let pay = move |tx: &Tx<'_>| batch.iter().try_for_each(|due| pay_in_parts(tx, *due));
            db.write(scope(), pay).await.map_err(failed)?;
        }
    }
    Ok(movements)
}

fn pay_in_parts(tx: &Tx<'_>, due: DueId) -> Result<(), Error> {
    for _ in 0..PARTS {
        let amount = Some(AMOUNT / 5);
        let (method, reference) = (Method::BankTransfer, None);
        let paid = PaymentDetails { amount, method, reference, paid_at: None, provider_id: None };
        paying::record_payment(tx, due, paid)?;
    }
    Ok(())
}

fn new_charge(team_id: TeamId) -> Result<NewCharge, Error> {
    let due_on = Day::new(2026, 1, 1).ok_or_else(|| Error::internal("The date is invalid."))?;
    Ok(NewCharge {
        team_id,
        member_id: None,
        member_ids: None,
        all: true,
        title: "Season fee".to_owned(),
        category: Category::Dues,
        amount: AMOUNT,
        currency: None,
        due_on: Some(due_on),
        installments: None,
        installment_count: Some(3),
        payer: None,
        discount: None,
        sibling_discount_bps: None,
        late_fee: None,
        use_credit: true,
        note: None,
        metadata: Metadata::default(),
    })
}

/// Measures one request that charges all members.
async fn measure_charge(environment: &Environment, measure: &Measure) -> Result<Row> {
    let database = environment.database("charge").await?;
    let club = Club::create(&database)?;
    let members = measure.scaled(MEMBERS);
    let db = database.open()?;
    let team = season::create_team_with_members(&db, &club, members, &Counter::default()).await?;
    db.close();
    let service = database.serve(&[]).await?;
    eprintln!("  charging {} members", thousands(members as f64));
    let mut connection = Connection::open(service.address).await?;
    let body = format!(
        r#"{{"team_id":"{team}","all":true,"title":"Season fee","amount":{AMOUNT},"due_on":"2099-01-01","installment_count":3}}"#
    );
    let started = Instant::now();
    connection
        .request(&request_with_body("POST", DUES, &club.key, "", &body))
        .await?
        .expect(201)?;
    let duration = started.elapsed();
    Ok(Row {
        name: format!("`POST /dues` for {} members in 3 installments", thousands(members as f64)),
        target: "< 10 s",
        result: millis(duration),
        baseline: String::new(),
        ratio: String::new(),
        verdict: TargetResult::Target(duration < Duration::from_secs(10)),
    })
}
