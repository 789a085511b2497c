//! Every operation of the API's description refuses strangers: without a credential, with too small a
//! scope, from another account. An operation is covered on the day it appears.

use testkit::{Client, Value, World, both, json};

use crate::openapi::operations;

/// The address of an operation on an object that exists at Harbour.
async fn place(w: &World, path: &str) -> String {
    if !path.contains('{') {
        return path.to_owned();
    }
    let known = w.owner.get("/teams?q=target").await.ok();
    let team = match known.data()[0]["id"].as_str() {
        Some(id) => id.to_owned(),
        None => w.owner.post("/teams", json!({ "name": "target" })).await.created().id().to_owned(),
    };
    let roster = format!("/teams/{team}/roster");
    let known = w.owner.get(&roster).await.ok();
    let member = match &known.data()[0] {
        Value::Null => {
            w.owner.post(&roster, json!({ "first_name": "Ana" })).await.created().data().clone()
        }
        member => member.clone(),
    };
    path.replace("{team_id}", &team)
        .replace("{member_id}", member["id"].as_str().unwrap())
        .replace("{person_id}", member["person_id"].as_str().unwrap())
}

async fn send(client: &Client, method: &str, path: &str, operation: &Value) -> testkit::Answer {
    let body = &operation["requestBody"]["content"]["application/json"]["example"];
    let body = (!body.is_null()).then(|| body.to_string());
    client.send(method, path, body.as_deref()).await
}

fn needed(operation: &Value) -> Vec<&str> {
    let scopes = operation["security"][0]["key"].as_array().unwrap();
    scopes.iter().filter_map(Value::as_str).collect()
}

both! {
    async fn every_operation_refuses_strangers(w: &World) {
        let document: Value = serde_json::from_str(&touchline::document()).unwrap();
        place(w, "{}").await;
        let before = w.news().await;
        for (method, path, operation) in operations(&document) {
            let place = place(w, &path).await;
            send(&w.nobody, &method, &place, &operation).await.refused(401, "missing_credentials");
            let wrong = Client::new(w.node.address, Some("tl_live_nonsense"));
            send(&wrong, &method, &place, &operation).await.refused(401, "invalid_credentials");
            if path.contains('{') {
                send(&w.stranger, &method, &place, &operation).await.refused(404, "not_found");
            }
        }
        // Nothing a stranger tried has left a trace.
        assert_eq!(w.news().await, before);
    }

    async fn every_operation_asks_for_its_scope(w: &World) {
        let document: Value = serde_json::from_str(&touchline::document()).unwrap();
        for (method, path, operation) in operations(&document) {
            let place = place(w, &path).await;
            for scope in needed(&operation) {
                let others: Vec<_> = touchline::accounts::rights::Scopes::all_named().to_string()
                    .split(' ').filter(|other| *other != scope).map(str::to_owned).collect();
                let (_, without) = w.caller(testkit::world::new_key(&others.join(" "))).await;
                let refused = send(&without, &method, &place, &operation).await.refused(403, "insufficient_scope");
                let challenge = refused.header("www-authenticate").unwrap();
                assert!(challenge.contains(&format!("scope=\"{scope}\"")), "{challenge}");
                assert!(refused.body["detail"].as_str().unwrap().contains(scope));
            }
        }
    }

    async fn a_star_passes_every_scope_but_not_the_fence(w: &World) {
        let (_, all) = w.caller(testkit::world::new_key("*")).await;
        let team = all.post("/teams", json!({ "name": "Kraken" })).await.created();
        all.get(&team.path("")).await.ok();
        assert_eq!(all.get("/me").await.ok().data()["scopes"], json!(["*"]));
        let foreign = w.stranger.post("/teams", json!({ "name": "Kraken" })).await.created();
        all.get(&foreign.path("")).await.refused(404, "not_found");
        all.delete(&foreign.path("")).await.refused(404, "not_found");
    }

    async fn lists_show_the_own_account_only(w: &World) {
        w.owner.post("/teams", json!({ "name": "Ours", "external_id": "1" })).await.created();
        w.stranger.post("/teams", json!({ "name": "Theirs", "external_id": "1" })).await.created();
        assert_eq!(w.owner.get("/teams").await.ok().names(), ["Ours"]);
        assert_eq!(w.stranger.get("/teams?external_id=1").await.ok().names(), ["Theirs"]);
    }
}
