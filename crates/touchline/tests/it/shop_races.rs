//! Stories about many who want the same at once.

use std::collections::BTreeMap;

use testkit::{Client, Value, World, both, json};

use crate::roster::team;
use crate::shop::{below, code, left, order, product, wanted};
use crate::shop_orders::books;

/// So many do the same at once; how often each outcome came.
async fn at_once(client: &Client, count: usize, path: &str, body: Value) -> BTreeMap<u16, usize> {
    let all: Vec<_> = (0..count)
        .map(|_| {
            let (client, path, body) = (client.clone(), path.to_owned(), body.clone());
            tokio::task::spawn(async move { client.post(&path, body).await.status })
        })
        .collect();
    let mut outcomes = BTreeMap::new();
    for one in all {
        *outcomes.entry(one.await.unwrap()).or_default() += 1;
    }
    outcomes
}

both! {
    async fn two_hundred_and_fifty_six_buyers_get_ten_items(w: &World) {
        let hawks = team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "stock": 10 })).await;
        let outcomes = at_once(&w.owner, 256, "/orders", wanted(kit.id(), 1)).await;
        assert_eq!(outcomes, BTreeMap::from([(201, 10), (409, 246)]));
        assert_eq!((left(w, kit.id()).await, w.count("shop_order").await), (json!(0), 10));
        let numbers = w.owner.get("/orders?order=asc").await.ok();
        let numbers: Vec<_> = numbers.data().as_array().unwrap().iter().map(|order| order["number"].as_i64().unwrap()).collect();
        assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
    }

    async fn a_code_is_not_used_more_often_than_it_can_be(w: &World) {
        let hawks = team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "stock": 100 })).await;
        let tenth = code(w, json!({ "most_uses": 5 })).await;
        let mut body = wanted(kit.id(), 1);
        body["discount_code"] = json!("TENTH");
        let outcomes = at_once(&w.owner, 40, "/orders", body).await;
        assert_eq!(outcomes, BTreeMap::from([(201, 5), (409, 35)]));
        assert_eq!(w.owner.get(&format!("/discounts/{}", tenth.id())).await.ok().data()["uses"], 5);
        assert_eq!(left(w, kit.id()).await, 95);
    }

    async fn all_of_it_is_paid_and_given_back_once(w: &World) {
        let hawks = team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "stock": 10 })).await;
        let bought = order(w, kit.id(), 4).await;
        let paid = at_once(&w.owner, 8, &below(&bought, "/pay"), json!({ "method": "cash" })).await;
        assert_eq!((paid, w.count("payment").await), (BTreeMap::from([(200, 1), (409, 7)]), 1));
        let back = at_once(&w.owner, 8, &below(&bought, "/refund"), json!({})).await;
        assert_eq!((back, w.count("refund").await), (BTreeMap::from([(200, 1), (409, 7)]), 1));
        assert_eq!(left(w, kit.id()).await, 10);
        assert!(books(w, bought.id()).await.iter().all(|(_, amount)| *amount == 0));
    }

    async fn what_is_paid_at_the_last_moment_is_not_ended(w: &World) {
        let hawks = team(w, "Hawks").await;
        let kit = product(w, hawks.id(), json!({ "stock": 30 })).await;
        let mut placed = Vec::new();
        for _ in 0..10 {
            placed.push(order(w, kit.id(), 1).await);
        }
        w.pass(testkit::seconds(3 * 86_400));
        let pays = placed.iter().map(|order| {
            let (owner, path) = (w.owner.clone(), below(order, "/pay"));
            tokio::task::spawn(async move { owner.post(&path, json!({ "method": "cash" })).await.status })
        });
        let pays: Vec<_> = pays.collect();
        touchline::jobs::expire_orders(&w.node.app).await;
        let mut paid = 0;
        for pay in pays {
            paid += i64::from(pay.await.unwrap() == 200);
        }
        // Each was either paid or ended, and only what was ended is on the shelf again.
        touchline::jobs::expire_orders(&w.node.app).await;
        assert_eq!(left(w, kit.id()).await, 30 - paid);
        let ended = w.owner.get("/orders?status=cancelled").await.ok();
        assert_eq!(ended.data().as_array().unwrap().len(), usize::try_from(10 - paid).unwrap());
    }
}
