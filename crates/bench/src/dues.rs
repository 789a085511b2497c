//! Dues: what the statement of a large team costs beside one look at the team, and how long it takes to charge
//! thousands of members at once.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use kit::Day;
use store::{Db, Scope, Tx};
use touchline::accounts::rights::Reach;
use touchline::dues::charging::{self, NewCharge};
use touchline::dues::due::Category;
use touchline::dues::paying;
use touchline::error::Error;
use touchline::ids::{DueId, TeamId};
use touchline::metadata::Metadata;
use touchline::money::payment::{Method, Paid};

use crate::Result;
use crate::club::Club;
use crate::figures::Rounds;
use crate::http::{Connection, TEAMS, get, send};
use crate::load::{self, Circle, Numbers, readers};
use crate::options::Measure;
use crate::season;
use crate::site::Site;
use crate::table::{Row, Verdict, millis, thousands};

const DUES: &str = "/api/public/v1/dues";
const FAMILIES: usize = 500;
/// So many charges of everybody, each paid in so many parts: 10,000 movements.
const CHARGES: usize = 4;
const PARTS: usize = 4;
/// How often something changes before a statement is asked for.
const CHANGES: usize = 50;
const CROWD: usize = 5_000;
/// How many payments are written in one job.
const TOGETHER: usize = 500;
const AMOUNT: i64 = 15_000;

pub(crate) async fn measure(site: &Site, measure: &Measure) -> Result<Vec<Row>> {
    let mut rows = statement(site, measure).await?;
    rows.push(charge(site, measure).await?);
    Ok(rows)
}

/// The statement of a team against the team itself: while nothing changes, and after each change.
async fn statement(site: &Site, measure: &Measure) -> Result<Vec<Row>> {
    let database = site.database("statement").await?;
    let club = Club::found(&database)?;
    let families = measure.teams(FAMILIES);
    let db = database.open()?;
    let team = season::crowd(&db, &club, families, &Numbers::default()).await?;
    let movements = fill(&db, &club, team).await?;
    db.close();
    let service = database.serve(&[]).await?;
    let pace = measure.pace();
    let one = Circle::new(vec![get(&format!("{TEAMS}/{team}"), &club.key)]);
    let all = Circle::new(vec![get(&format!("{TEAMS}/{team}/dues/statement"), &club.key)]);
    let (mut looks, mut statements) = (Rounds::default(), Rounds::default());
    for round in 0..pace.rounds {
        eprintln!("  statements, round {}", round + 1);
        looks.add(load::measure(readers(service.address, &one, 1).await?, pace).await?);
        statements.add(load::measure(readers(service.address, &all, 1).await?, pace).await?);
    }
    let (anew, looked_anew) = after_changes(service.address, &club, team).await?;
    let (families, movements) = (thousands(families as f64), thousands(movements as f64));
    let row = |when: &str, (ours, other): (Duration, Duration), ask: &'static str| {
        let times = ours.as_secs_f64() / other.as_secs_f64();
        let met = times <= 20.0;
        Row {
            name: format!(
                "statement of {families} families with {movements} movements, {when}, against `GET /teams/{{id}}`: p50"
            ),
            ask,
            us: millis(ours),
            against: millis(other),
            ratio: format!("{times:.1} times"),
            verdict: if ask.is_empty() { Verdict::Shown(met) } else { Verdict::Asked(met) },
        }
    };
    let again = (statements.median().p50, looks.median().p50);
    let anew = (anew, looked_anew);
    Ok(vec![row("asked for again", again, "≤ 20 times"), row("both after a change", anew, "")])
}

/// How long a statement and the team take when something in the account has changed since the last look.
async fn after_changes(
    address: SocketAddr,
    club: &Club,
    team: TeamId,
) -> Result<(Duration, Duration)> {
    let mut connection = Connection::open(address).await?;
    let place = format!("{TEAMS}/{team}");
    let looks = [get(&format!("{place}/dues/statement"), &club.key), get(&place, &club.key)];
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..CHANGES {
        for (which, (look, times)) in looks.iter().zip(&mut times).enumerate() {
            let body = format!(r#"{{"description":"After {number}.{which}"}}"#);
            let change = send("PATCH", &place, &club.key, "", &body);
            connection.ask(&change).await?.expect(200)?;
            let began = Instant::now();
            connection.ask(look).await?.expect(200)?;
            times.push(began.elapsed());
        }
    }
    let [statement, team] = times.map(|mut times| {
        times.sort_unstable();
        times[CHANGES / 2]
    });
    Ok((statement, team))
}

/// Charges everybody and pays it in parts; says how many movements that made.
async fn fill(db: &Db, club: &Club, team: TeamId) -> Result<usize> {
    let scope = || Scope::account(club.account, "bench").at_length();
    let failed = |error: Error| format!("cannot fill dues: {error:?}");
    let mut movements = 0;
    for _ in 0..CHARGES {
        let charge = move |tx: &Tx<'_>| {
            let dues = charging::create(tx, &Reach::Everywhere, &fee(team)?)?;
            Ok(dues.into_iter().map(|due| due.id).collect::<Vec<DueId>>())
        };
        let dues = db.write(scope(), charge).await.map_err(failed)?;
        movements += dues.len() * (1 + PARTS);
        for some in dues.chunks(TOGETHER) {
            let some = some.to_vec();
            let pay = move |tx: &Tx<'_>| some.iter().try_for_each(|due| pay_in_parts(tx, *due));
            db.write(scope(), pay).await.map_err(failed)?;
        }
    }
    Ok(movements)
}

fn pay_in_parts(tx: &Tx<'_>, due: DueId) -> Result<(), Error> {
    for _ in 0..PARTS {
        let amount = Some(AMOUNT / 5);
        let (method, reference) = (Method::Transfer, None);
        let paid = Paid { amount, method, reference, paid_at: None, provider_id: None };
        paying::settle(tx, due, paid)?;
    }
    Ok(())
}

fn fee(team_id: TeamId) -> Result<NewCharge, Error> {
    let due_on = Day::new(2026, 1, 1).ok_or_else(|| Error::internal("no such day"))?;
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
        instalments: None,
        instalment_count: Some(3),
        payer: None,
        discount: None,
        sibling_discount_bp: None,
        late_fee: None,
        use_credit: true,
        note: None,
        metadata: Metadata::default(),
    })
}

/// One request that charges everybody.
async fn charge(site: &Site, measure: &Measure) -> Result<Row> {
    let database = site.database("charge").await?;
    let club = Club::found(&database)?;
    let many = measure.teams(CROWD);
    let db = database.open()?;
    let team = season::crowd(&db, &club, many, &Numbers::default()).await?;
    db.close();
    let service = database.serve(&[]).await?;
    eprintln!("  charging {}", thousands(many as f64));
    let mut connection = Connection::open(service.address).await?;
    let body = format!(
        r#"{{"team_id":"{team}","all":true,"title":"Season fee","amount":{AMOUNT},"due_on":"2099-01-01","instalment_count":3}}"#
    );
    let began = Instant::now();
    connection.ask(&send("POST", DUES, &club.key, "", &body)).await?.expect(201)?;
    let took = began.elapsed();
    Ok(Row {
        name: format!("`POST /dues` for {} members in 3 instalments", thousands(many as f64)),
        ask: "< 10 s",
        us: millis(took),
        against: String::new(),
        ratio: String::new(),
        verdict: Verdict::Asked(took < Duration::from_secs(10)),
    })
}
