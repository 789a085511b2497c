//! Tests of concurrent orders, payments and refunds.

use std::collections::BTreeMap;

use testkit::{Client, Value, World, both, json};

use crate::roster::create_team;
use crate::shop::{code, order, order_api_path, order_body, product, stock_of};
use crate::shop_orders::ledger_balances;

/// Sends the same request `count` times concurrently; returns how often each status came back.
async fn send_concurrently(
    client: &Client,
    count: usize,
    path: &str,
    body: Value,
) -> BTreeMap<u16, usize> {
    let tasks: Vec<_> = (0..count)
        .map(|_| {
            let (client, path, body) = (client.clone(), path.to_owned(), body.clone());
            tokio::task::spawn(async move { client.post(&path, body).await.status })
        })
        .collect();
    let mut outcomes = BTreeMap::new();
    for task in tasks {
        *outcomes.entry(task.await.unwrap()).or_default() += 1;
    }
    outcomes
}

both! {
    async fn concurrent_buyers_never_exceed_the_stock(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "stock": 10 })).await;
        let outcomes = send_concurrently(&w.owner, 256, "/orders", order_body(kit.id(), 1)).await;
        assert_eq!(outcomes, BTreeMap::from([(201, 10), (409, 246)]));
        assert_eq!((stock_of(w, kit.id()).await, w.count("shop_order").await), (json!(0), 10));
        let numbers = w.owner.get("/orders?order=asc").await.ok();
        let numbers: Vec<_> = numbers.data().as_array().unwrap().iter().map(|order| order["number"].as_i64().unwrap()).collect();
        assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
    }

    async fn concurrent_orders_never_exceed_the_uses_of_a_code(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "stock": 100 })).await;
        let tenth = code(w, json!({ "max_uses": 5 })).await;
        let mut body = order_body(kit.id(), 1);
        body["discount_code"] = json!("TENTH");
        let outcomes = send_concurrently(&w.owner, 40, "/orders", body).await;
        assert_eq!(outcomes, BTreeMap::from([(201, 5), (409, 35)]));
        assert_eq!(w.owner.get(&format!("/discounts/{}", tenth.id())).await.ok().data()["use_count"], 5);
        assert_eq!(stock_of(w, kit.id()).await, 95);
    }

    async fn concurrent_payments_and_refunds_count_once(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "stock": 10 })).await;
        let bought = order(w, kit.id(), 4).await;
        let payments = send_concurrently(&w.owner, 8, &order_api_path(&bought, "/pay"), json!({ "method": "cash" })).await;
        assert_eq!((payments, w.count("payment").await), (BTreeMap::from([(200, 1), (409, 7)]), 1));
        let refunds = send_concurrently(&w.owner, 8, &order_api_path(&bought, "/refund"), json!({})).await;
        assert_eq!((refunds, w.count("refund").await), (BTreeMap::from([(200, 1), (409, 7)]), 1));
        assert_eq!(stock_of(w, kit.id()).await, 10);
        assert!(ledger_balances(w, bought.id()).await.iter().all(|(_, amount)| *amount == 0));
    }

    async fn order_is_either_paid_or_expired(w: &World) {
        let hawks = create_team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "stock": 30 })).await;
        let mut placed = Vec::new();
        for _ in 0..10 {
            placed.push(order(w, kit.id(), 1).await);
        }
        w.advance_clock(testkit::seconds(3 * 86_400));
        let payments = placed.iter().map(|order| {
            let (owner, path) = (w.owner.clone(), order_api_path(order, "/pay"));
            tokio::task::spawn(async move { owner.post(&path, json!({ "method": "cash" })).await.status })
        });
        let payments: Vec<_> = payments.collect();
        touchline::jobs::expire_orders(&w.node.app).await;
        let mut paid = 0;
        for payment in payments {
            paid += i64::from(payment.await.unwrap() == 200);
        }
        // Each was either paid or cancelled, and only the cancelled ones are in stock again.
        touchline::jobs::expire_orders(&w.node.app).await;
        assert_eq!(stock_of(w, kit.id()).await, 30 - paid);
        let cancelled = w.owner.get("/orders?status=cancelled").await.ok();
        assert_eq!(cancelled.data().as_array().unwrap().len(), usize::try_from(10 - paid).unwrap());
    }
}
