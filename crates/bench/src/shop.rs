//! The store: orders per second of one product and of many, compared with creating teams.
//!
//! The run fails unless the stock is correct afterwards: the remaining and the ordered items add up to the initial
//! stock.

use std::net::SocketAddr;

use store::{Db, Scope, bind};
use touchline::error::Error;
use touchline::ids::ProductId;
use touchline::rights::TeamAccess;
use touchline::shop::product::{self, NewProduct};

use crate::Result;
use crate::club::Club;
use crate::environment::Environment;
use crate::http::{get_request, request_with_body};
use crate::load::{self, Counter, CreateTeams, RequestCycle, Timing, readers, writers};
use crate::options::Measure;
use crate::stats::{Measurement, Rounds};
use crate::table::{Row, TargetResult, millis, thousands};

const CLIENTS: usize = 256;
/// The number of products for the measurement with many products.
const PRODUCT_COUNT: usize = 1000;
/// More than any run orders. The stock is still counted.
const STOCK: i64 = 100_000_000;
const ORDERS: &str = "/api/public/v1/orders";

pub(crate) async fn measure(environment: &Environment, measure: &Measure) -> Result<Vec<Row>> {
    let timing = measure.timing();
    let database = environment.database("shop").await?;
    let club = Club::create(&database)?;
    let db = database.open()?;
    let products = create_products(&db, &club, PRODUCT_COUNT + 1).await?;
    db.close();
    let service = database.serve(&[]).await?;
    let teams = CreateTeams::new(&club.key, false, &Counter::default());
    let orders: Vec<_> = products.iter().map(|id| order_request(&club, *id)).collect();
    let one_product = RequestCycle::new(vec![orders[0].clone()]).with_expected_status(201);
    let many_products = RequestCycle::new(orders[1..].to_vec()).with_expected_status(201);
    let (mut team_rounds, mut one_rounds, mut many_rounds) =
        (Rounds::default(), Rounds::default(), Rounds::default());
    for round in 0..timing.rounds {
        eprintln!("  orders, round {}", round + 1);
        let clients = writers(service.address, std::slice::from_ref(&teams), CLIENTS).await?;
        team_rounds.add(load::measure(clients, timing).await?);
        one_rounds.add(place_orders(service.address, &one_product, timing).await?);
        many_rounds.add(place_orders(service.address, &many_products, timing).await?);
    }
    let db = database.open()?;
    let placed = check_stock(&db, &club, &products).await?;
    db.close();
    let lists = list_by_product(service.address, &club, &products, timing).await?;
    let row = |products: &str, rounds: &Rounds| Row {
        target: "≥ 0.5",
        verdict: TargetResult::Target(rounds.rate_ratio(&team_rounds) >= 0.5),
        ..Row::compare_rates(
            format!("`POST /orders`, {CLIENTS} clients, {products}, compared with `POST /teams`"),
            rounds,
            &team_rounds,
        )
    };
    Ok(vec![
        row("1 product", &one_rounds),
        row("1,000 products", &many_rounds),
        Row {
            name: "`GET /orders?product_id=` for each product in turn: p50".to_owned(),
            target: "",
            result: millis(lists.p50),
            baseline: format!("among {} orders", thousands(placed as f64)),
            ratio: String::new(),
            verdict: TargetResult::NoTarget,
        },
    ])
}

/// Lists the orders of each product in turn.
async fn list_by_product(
    address: SocketAddr,
    club: &Club,
    products: &[ProductId],
    timing: Timing,
) -> Result<Measurement> {
    let list = |id: &ProductId| get_request(&format!("{ORDERS}?product_id={id}"), &club.key);
    let lists = RequestCycle::new(products[1..].iter().map(list).collect());
    load::measure(readers(address, &lists, 1).await?, timing).await
}

async fn place_orders(
    address: SocketAddr,
    orders: &RequestCycle,
    timing: Timing,
) -> Result<Measurement> {
    load::measure(readers(address, orders, CLIENTS).await?, timing).await
}

/// A request that orders one item of a product.
fn order_request(club: &Club, product: ProductId) -> Vec<u8> {
    let body = format!(
        r#"{{"buyer":{{"name":"Rui Duarte"}},"lines":[{{"product_id":"{product}","quantity":1}}]}}"#
    );
    request_with_body("POST", ORDERS, &club.key, "", &body)
}

/// Creates this number of products with stock.
async fn create_products(db: &Db, club: &Club, count: usize) -> Result<Vec<ProductId>> {
    let scope = Scope::account(club.account, "bench");
    let create = db.write(scope, move |tx| {
        let create_one = |number: usize| {
            let new = NewProduct {
                name: format!("Home kit {number}"),
                price: 2499,
                tax_rate_bps: 2300,
                stock: Some(STOCK),
                ..NewProduct::default()
            };
            product::create(tx, &TeamAccess::AllTeams, new).map(|product| product.record.id)
        };
        (0..count).map(create_one).collect::<Result<Vec<_>, Error>>()
    });
    create.await.map_err(|error| format!("cannot create products: {error:?}"))
}

/// Returns the number of ordered items. Fails unless the stock decreased by exactly that number.
async fn check_stock(db: &Db, club: &Club, products: &[ProductId]) -> Result<i64> {
    let scope = Scope::account(club.account, "bench");
    let read = db.read(scope, |db| {
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
    let (left, sold) = read.await.map_err(|error| format!("cannot read the stock: {error:?}"))?;
    let initial = STOCK * i64::try_from(products.len()).unwrap_or(0);
    if left + sold == initial && sold > 0 {
        return Ok(sold);
    }
    Err(format!("the stock is wrong: {left} left and {sold} sold of {initial}"))
}
