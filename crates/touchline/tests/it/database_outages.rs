//! Tests of an unavailable database: requests get 503 until it is back, and nothing is lost.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use store::Dialect;
use testkit::{Engine, TestDatabase, World, both, json};

const KRAKEN: &str = r#"{"name":"Kraken"}"#;

both! {
    async fn a_database_that_refuses_connections_is_503_until_it_recovers(w: &World) {
        let Some(second_database) = second_database(w).await else { return };
        let server = second_database.postgres_client().await.unwrap();
        let name = w.database.url.rsplit_once('/').unwrap().1;
        let allow = format!("alter database {name} allow_connections");
        server.batch_execute(&format!("{allow} false")).await.unwrap();
        server.batch_execute(&end_connections(name)).await.unwrap();
        assert_unavailable(w).await;
        server.batch_execute(&format!("{allow} true")).await.unwrap();
        assert_recovered(w).await;
        second_database.remove().await;
    }

    async fn a_missing_database_is_503_until_it_is_back(w: &World) {
        let Some(second_database) = second_database(w).await else { return };
        let server = second_database.postgres_client().await.unwrap();
        let name = w.database.url.rsplit_once('/').unwrap().1;
        server.batch_execute(&end_connections(name)).await.unwrap();
        let rename = format!("alter database {name} rename to {name}_away");
        while server.batch_execute(&rename).await.is_err() {
            // Ending a connection takes a moment, and a background write may open another.
            tokio::time::sleep(Duration::from_millis(20)).await;
            server.batch_execute(&end_connections(name)).await.unwrap();
        }
        assert_unavailable(w).await;
        server.batch_execute(&format!("alter database {name}_away rename to {name}")).await.unwrap();
        assert_recovered(w).await;
        second_database.remove().await;
    }

    async fn replaces_a_database_connection_lost_between_requests(w: &World) {
        let Some(server) = w.database.postgres_client().await else { return };
        w.owner.send("POST", "/teams", Some(KRAKEN)).await.created();
        let name = w.database.url.rsplit_once('/').unwrap().1;
        let end = format!("{} and pid <> pg_backend_pid()", end_connections(name));
        server.batch_execute(&end).await.unwrap();
        // The service checks connections that were idle for a moment.
        tokio::time::sleep(Duration::from_millis(300)).await;
        w.owner.post("/teams", json!({ "name": "Kranich" })).await.created();
        assert_eq!(w.owner.get("/teams").await.ok().names(), ["Kraken", "Kranich"]);
    }
}

/// A second database on the same server, because a database can only be closed from another one. `None` on SQLite.
async fn second_database(w: &World) -> Option<TestDatabase> {
    w.owner.send("POST", "/teams", Some(KRAKEN)).await.created();
    let postgres = w.db().dialect() == Dialect::Postgres;
    if postgres { TestDatabase::new(Engine::Postgres).await } else { None }
}

fn end_connections(name: &str) -> String {
    format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")
}

async fn assert_unavailable(w: &World) {
    for round in 0..5 {
        let read = w.owner.get("/teams").await;
        let write = w.owner.post("/teams", json!({ "name": format!("Lost {round}") })).await;
        let ready = w.nobody.get("/readyz").await;
        for answer in [read, write, ready] {
            let refused = answer.assert_problem(503, "overloaded");
            assert!(refused.header("retry-after").is_some(), "{}", refused.text);
            assert_eq!(refused.body["retryable"], true);
        }
        w.nobody.get("/healthz").await.ok();
    }
}

async fn assert_recovered(w: &World) {
    w.nobody.get("/readyz").await.ok();
    assert_eq!(w.owner.get("/teams").await.ok().names(), ["Kraken"], "no half of a change is left");
    w.owner.post("/teams", json!({ "name": "Found" })).await.created();
}
