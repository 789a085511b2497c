//! The store: orders a second on one product that everybody wants, and on many, against new teams in the same run.
//!
//! The numbers count only if the shelf is right afterwards: what is left and what was ordered is what there was.

use std::net::SocketAddr;

use store::{Db, Scope, bind};
use touchline::accounts::rights::Reach;
use touchline::error::Error;
use touchline::ids::ProductId;
use touchline::metadata::Metadata;
use touchline::shop::product::{self, Buyers, NewProduct};

use crate::Result;
use crate::club::Club;
use crate::figures::{Measured, Rounds};
use crate::http::{get, send};
use crate::load::{self, Circle, NewTeams, Numbers, Pace, readers, writers};
use crate::options::Measure;
use crate::site::Site;
use crate::table::{Row, Verdict, millis, thousands};

const CLIENTS: usize = 256;
/// How many products there are where not all want the same.
const MANY: usize = 1000;
/// More than are ordered in any run, but counted.
const STOCK: i64 = 100_000_000;
const ORDERS: &str = "/api/public/v1/orders";

pub(crate) async fn measure(site: &Site, measure: &Measure) -> Result<Vec<Row>> {
    let pace = measure.pace();
    let database = site.database("shop").await?;
    let club = Club::found(&database)?;
    let db = database.open()?;
    let products = stocked(&db, &club, MANY + 1).await?;
    db.close();
    let service = database.serve(&[]).await?;
    let teams = NewTeams::new(&club.key, false, &Numbers::default());
    let orders: Vec<_> = products.iter().map(|id| order(&club, *id)).collect();
    let hot = Circle::new(vec![orders[0].clone()]).expecting(201);
    let many = Circle::new(orders[1..].to_vec()).expecting(201);
    let (mut made, mut of_one, mut of_many) =
        (Rounds::default(), Rounds::default(), Rounds::default());
    for round in 0..pace.rounds {
        eprintln!("  orders, round {}", round + 1);
        let clients = writers(service.address, std::slice::from_ref(&teams), CLIENTS).await?;
        made.add(load::measure(clients, pace).await?);
        of_one.add(ordered(service.address, &hot, pace).await?);
        of_many.add(ordered(service.address, &many, pace).await?);
    }
    let db = database.open()?;
    let placed = conserved(&db, &club, &products).await?;
    db.close();
    let listed = of_a_product(service.address, &club, &products, pace).await?;
    let row = |what: &str, rounds: &Rounds| Row {
        ask: "≥ 0.5",
        verdict: Verdict::Asked(rounds.rate_against(&made) >= 0.5),
        ..Row::of_rates(
            format!("`POST /orders`, {CLIENTS} clients, {what}, against `POST /teams`"),
            rounds,
            &made,
        )
    };
    Ok(vec![
        row("one product", &of_one),
        row("1,000 products", &of_many),
        Row {
            name: "`GET /orders?product_id=` for one product after the other: p50".to_owned(),
            ask: "",
            us: millis(listed.p50),
            against: format!("among {} orders", thousands(placed as f64)),
            ratio: String::new(),
            verdict: Verdict::Nothing,
        },
    ])
}

/// How long it takes to list the orders of one product after the other, among all there are.
async fn of_a_product(
    address: SocketAddr,
    club: &Club,
    products: &[ProductId],
    pace: Pace,
) -> Result<Measured> {
    let list = |id: &ProductId| get(&format!("{ORDERS}?product_id={id}"), &club.key);
    let lists = Circle::new(products[1..].iter().map(list).collect());
    load::measure(readers(address, &lists, 1).await?, pace).await
}

async fn ordered(address: SocketAddr, orders: &Circle, pace: Pace) -> Result<Measured> {
    load::measure(readers(address, orders, CLIENTS).await?, pace).await
}

/// The request that orders one of a product.
fn order(club: &Club, product: ProductId) -> Vec<u8> {
    let body = format!(
        r#"{{"buyer":{{"name":"Rui Duarte"}},"lines":[{{"product_id":"{product}","quantity":1}}]}}"#
    );
    send("POST", ORDERS, &club.key, "", &body)
}

/// So many products of the club, each with its stock.
async fn stocked(db: &Db, club: &Club, many: usize) -> Result<Vec<ProductId>> {
    let scope = Scope::account(club.account, "bench");
    let made = db.write(scope, move |tx| {
        let one = |number: usize| {
            let new = NewProduct {
                team_id: None,
                name: format!("Home kit {number}"),
                description: None,
                currency: None,
                price: 2499,
                tax_rate_bp: 2300,
                tax_included: true,
                variants: Vec::new(),
                stock: Some(STOCK),
                on_sale_from: None,
                on_sale_until: None,
                buyers: Buyers::Everyone,
                most_per_order: None,
                pick_up_on: None,
                external_id: None,
                metadata: Metadata::default(),
            };
            product::create(tx, &Reach::Everywhere, new).map(|product| product.kept.id)
        };
        (0..many).map(one).collect::<Result<Vec<_>, Error>>()
    });
    made.await.map_err(|error| format!("cannot fill the shelves: {error:?}"))
}

/// How many were ordered. Fails unless the shelves hold what they held before, less those.
async fn conserved(db: &Db, club: &Club, products: &[ProductId]) -> Result<i64> {
    let scope = Scope::account(club.account, "bench");
    let look = db.read(scope, |db| {
        let (left,): (i64,) = db.one(
            "select cast(sum(stock) as bigint) from product where account_id = :account",
            bind! {},
        )?;
        let (sold,): (Option<i64>,) = db.one(
            "select cast(sum(l.quantity) as bigint) from shop_order o
             join order_line l on l.account_id = o.account_id and l.order_id = o.id
             where o.account_id = :account",
            bind! {},
        )?;
        Ok::<_, store::Error>((left, sold.unwrap_or(0)))
    });
    let (left, sold) = look.await.map_err(|error| format!("cannot look: {error:?}"))?;
    let all = STOCK * i64::try_from(products.len()).unwrap_or(0);
    if left + sold == all && sold > 0 {
        return Ok(sold);
    }
    Err(format!("{left} are left and {sold} were sold of {all}"))
}
