//! Every operation of the API's description refuses strangers: without a credential, with too small a
//! scope, from another account. An operation is covered on the day it appears.

use testkit::world::{make_account, new_key};
use testkit::{Answer, Client, Value, World, both, json};
use touchline::accounts::rights::Scopes;
use touchline::accounts::user::Role;

use crate::cards::checkout_of;
use crate::events::narrowed;
use crate::mail::put_one;
use crate::openapi::operations;
use crate::shop::sold;

/// One object of every kind at Harbour, by the parameter that stands for it in an address.
pub(crate) async fn objects(w: &World) -> Vec<(&'static str, String)> {
    let id = |made: &Answer| made.id().to_owned();
    let team = id(&w.owner.post("/teams", json!({ "name": "target" })).await.created());
    let ana = json!({ "first_name": "Ana", "role": "coach", "email": "ana@example.org" });
    let member = w.owner.post(&format!("/teams/{team}/roster"), ana).await.created();
    let person = member.data()["person_id"].as_str().unwrap().to_owned();
    let location = w.owner.post("/locations", json!({ "name": "target" })).await.created();
    let body = json!({ "team_id": team, "type": "game", "starts_at": "2026-09-10T18:00",
        "location_id": location.id(), "duties": [{ "name": "target" }] });
    let event = w.owner.post("/events", body).await.created();
    let duty = event.data()["duties"][0]["id"].as_str().unwrap().to_owned();
    let rsvp = format!("/events/{}/rsvps/{}", event.id(), member.id());
    w.owner.put(&rsvp, json!({ "answer": "yes" })).await.ok();
    let taker = format!("/events/{}/duties/{duty}/takers/{person}", event.id());
    w.owner.send("PUT", &taker, None).await.ok();
    let feed = w.owner.post("/calendar_feeds", json!({ "team_id": team })).await.created();
    let body = json!({ "team_id": team, "kind": "announcement", "subject": "target", "body": "x" });
    let message = w.owner.post("/messages", body).await.created();
    let [due, payment] = paid_due(w, &team, member.id()).await;
    let [webhook, delivery] = tested_webhook(w).await;
    let [product, discount, order] = sold(w, &team, member.id()).await;
    let checkout = checkout_of(w, &order.1).await;
    vec![
        ("{team_id}", team),
        ("{member_id}", id(&member)),
        ("{person_id}", person),
        ("{location_id}", id(&location)),
        ("{event_id}", id(&event)),
        ("{duty_id}", duty),
        ("{feed_id}", id(&feed)),
        ("{message_id}", id(&message)),
        ("{mail_id}", put_one(w).await.to_string()),
        due,
        payment,
        webhook,
        delivery,
        product,
        discount,
        order,
        ("{checkout_id}", checkout),
    ]
}

/// A due of a member, and what was paid for it.
pub(crate) async fn paid_due(w: &World, team: &str, member: &str) -> [(&'static str, String); 2] {
    let body = json!({ "team_id": team, "member_id": member, "title": "target", "amount": 9000, "due_on": "2026-09-10" });
    let made = w.owner.post("/dues", body).await.created();
    let due = made.data()[0]["id"].as_str().unwrap().to_owned();
    let body = json!({ "amount": 3000, "method": "cash" });
    let payment = w.owner.post(&format!("/dues/{due}/payments"), body).await.created();
    [("{due_id}", due), ("{payment_id}", payment.id().to_owned())]
}

/// A webhook and what became of its test.
pub(crate) async fn tested_webhook(w: &World) -> [(&'static str, String); 2] {
    let body = json!({ "url": "https://hooks.example.org/target", "events": ["*"] });
    let webhook = w.owner.post("/webhooks", body).await.created().id().to_owned();
    let test = w.owner.post(&format!("/webhooks/{webhook}/test"), json!({})).await.created();
    [("{webhook_id}", webhook), ("{delivery_id}", test.id().to_owned())]
}

/// The address of an operation on objects that exist.
pub(crate) fn place(path: &str, objects: &[(&'static str, String)]) -> String {
    let put = |path: String, (name, id): &(&str, String)| path.replace(name, id);
    let place = objects.iter().fold(path.to_owned(), put);
    assert!(!place.contains('{'), "nothing stands for {place}; make it in `objects`");
    place
}

pub(crate) async fn send(client: &Client, method: &str, path: &str, operation: &Value) -> Answer {
    let body = &operation["requestBody"]["content"]["application/json"]["example"];
    let body = (!body.is_null()).then(|| body.to_string());
    client.send(method, path, body.as_deref()).await
}

pub(crate) fn needed(operation: &Value) -> Vec<&str> {
    let scopes = operation["security"][0]["key"].as_array().unwrap();
    scopes.iter().filter_map(Value::as_str).collect()
}

/// Questions that cannot be asked without saying about whom.
pub(crate) fn about(place: &str, objects: &[(&'static str, String)]) -> String {
    let person = &objects.iter().find(|(name, _)| *name == "{person_id}").unwrap().1;
    let asks = place.ends_with("/messages/unread");
    if asks { format!("{place}?person_id={person}") } else { place.to_owned() }
}

/// The operation with an example that is about a team that is there.
pub(crate) fn about_team(operation: &Value, objects: &[(&'static str, String)]) -> Value {
    let team = &objects.iter().find(|(name, _)| *name == "{team_id}").unwrap().1;
    let text = operation.to_string().replace("team_01kbm2x5q8f7vr0n3hd9tzc4wy", team);
    serde_json::from_str(&text).unwrap()
}

/// An app that acts for the owner of another club.
async fn foreign_token(w: &World) -> Client {
    let now = "2026-09-05T10:00:00Z".parse().unwrap();
    let club = make_account(w.db(), "Valley", now).await;
    let vera = w.user_of(club, Role::Owner, "vera@example.org").await;
    w.acting_at(club, vera.id, &Scopes::all_named().to_string()).await
}

/// Somebody who signed in with a browser: the cookie opens pages, never the API.
async fn with_cookie(w: &World) -> Client {
    let oda = w.user(Role::Owner, "oda@example.org").await;
    let cookie = w.browser(oda.id).await.cookie.unwrap();
    w.nobody.with("Cookie", &format!("__Host-touchline={cookie}"))
}

both! {
    async fn every_operation_refuses_strangers(w: &World) {
        let document: Value = serde_json::from_str(&touchline::document()).unwrap();
        let objects = objects(w).await;
        let (token, cookie) = (foreign_token(w).await, with_cookie(w).await);
        let before = w.news().await;
        for (method, path, operation) in operations(&document) {
            let place = place(&path, &objects);
            for nobody in [&w.nobody, &cookie] {
                send(nobody, &method, &place, &operation).await.refused(401, "missing_credentials");
            }
            let wrong = Client::new(w.node.address, Some("tl_live_nonsense"));
            send(&wrong, &method, &place, &operation).await.refused(401, "invalid_credentials");
            for stranger in [&w.stranger, &token] {
                if path.contains('{') {
                    send(stranger, &method, &place, &operation).await.refused(404, "not_found");
                } else {
                    // It is the stranger's own list; what is Harbour's is not on it.
                    let sent = send(stranger, &method, &about(&place, &objects), &about_team(&operation, &objects)).await;
                    assert!(objects.iter().all(|(_, id)| !sent.text.contains(id)), "{method} {path}: {}", sent.text);
                }
            }
            if path.contains('{') && method == "GET" {
                // It is there; only the stranger must not know.
                w.owner.get(&place).await.ok();
            }
        }
        // Nothing a stranger tried has left a trace.
        assert_eq!(w.news().await, before);
    }

    async fn every_operation_asks_for_its_scope(w: &World) {
        let document: Value = serde_json::from_str(&touchline::document()).unwrap();
        let objects = objects(w).await;
        let olga = w.user(Role::Owner, "olga@example.org").await;
        let all = Scopes::all_named().to_string();
        let mut alone = Vec::new();
        let mut others = Vec::new();
        for scope in all.split(' ') {
            let rest: Vec<_> = all.split(' ').filter(|other| *other != scope).collect();
            let rest = rest.join(" ");
            let pair = async |scopes: &str| [w.caller(new_key(scopes)).await.1, w.acting_for(olga.id, scopes).await];
            alone.push((scope, pair(scope).await));
            others.push((scope, pair(&rest).await));
        }
        let before = w.news().await;
        for (method, path, operation) in operations(&document) {
            let (place, needed) = (place(&path, &objects), needed(&operation));
            let Some(needed) = needed.first().copied() else { continue };
            let without = alone.iter().filter(|(scope, _)| *scope != needed);
            let without = without.chain(others.iter().filter(|(scope, _)| *scope == needed));
            for client in without.flat_map(|(_, clients)| clients) {
                let refused = send(client, &method, &place, &operation).await.refused(403, "insufficient_scope");
                let challenge = refused.header("www-authenticate").unwrap();
                assert!(challenge.contains(&format!("scope=\"{needed}\"")), "{challenge}");
                assert!(refused.body["detail"].as_str().unwrap().contains(needed));
            }
            let with = alone.iter().find(|(scope, _)| *scope == needed).unwrap();
            for client in with.1.iter().filter(|_| method == "GET") {
                let answer = client.get(&about(&place, &objects)).await;
                // Deliveries carry what a webhook is sent, so they also need the scopes for that.
                if path.contains("deliveries") { answer.refused(403, "forbidden") } else { answer.ok() };
            }
        }
        assert_eq!(w.news().await, before);
    }

    async fn a_key_of_one_team_reaches_nothing_of_another(w: &World) {
        let document: Value = serde_json::from_str(&touchline::document()).unwrap();
        let objects = objects(w).await;
        let other = w.owner.post("/teams", json!({ "name": "other" })).await.created();
        let all = Scopes::all_named().to_string();
        let narrow = narrowed(w, other.id(), &all).await;
        let before = w.news().await;
        for (method, path, operation) in operations(&document) {
            if !path.contains('{') {
                continue;
            }
            let refused = send(&narrow, &method, &place(&path, &objects), &operation).await;
            assert!(matches!(refused.status, 403 | 404), "{method} {path}: {}", refused.text);
        }
        assert_eq!(w.news().await, before);
    }

    async fn a_star_passes_every_scope_but_not_the_fence(w: &World) {
        let (_, all) = w.caller(new_key("*")).await;
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
