//! Every operation of the OpenAPI description refuses strangers: without a credential, with too
//! small a scope, from another account. New operations are covered automatically.

use testkit::world::{make_account, new_key};
use testkit::{Client, TestResponse, Value, World, both, json};
use touchline::accounts::user::Role;
use touchline::rights::Scopes;

use crate::away_dates::create_away_date;
use crate::cards::checkout_of;
use crate::events::team_client;
use crate::files::{PDF, photo_of};
use crate::mail::queue_one_email;
use crate::message_templates::create_template;
use crate::openapi::operations;
use crate::shop::create_store_objects;

/// One object of every kind at Harbour, by its path parameter.
pub(crate) async fn objects(w: &World) -> Vec<(&'static str, String)> {
    let id = |created: &TestResponse| created.id().to_owned();
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
    let assignee = format!("/events/{}/duties/{duty}/assignees/{person}", event.id());
    w.owner.send("PUT", &assignee, None).await.ok();
    let feed = w.owner.post("/calendar_feeds", json!({ "team_id": team })).await.created();
    let body = json!({ "team_id": team, "kind": "announcement", "subject": "target", "body": "x" });
    let message = w.owner.post("/messages", body).await.created();
    let [due, payment] = paid_due(w, &team, member.id()).await;
    let [webhook, delivery] = tested_webhook(w).await;
    let [product, discount, order] = create_store_objects(w, &team, member.id()).await;
    let checkout = checkout_of(w, &order.1).await;
    vec![
        ("{team_id}", team),
        ("{member_id}", id(&member)),
        ("{away_date_id}", create_away_date(w, &person).await),
        ("{file_id}", photo_of(w, &person).await),
        ("{person_id}", person),
        ("{location_id}", id(&location)),
        ("{event_id}", id(&event)),
        ("{duty_id}", duty),
        ("{feed_id}", id(&feed)),
        ("{message_id}", id(&message)),
        ("{template_id}", id(&create_template(w, "target").await)),
        ("{email_id}", queue_one_email(w).await.to_string()),
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

/// Creates a due of a member with a payment.
pub(crate) async fn paid_due(w: &World, team: &str, member: &str) -> [(&'static str, String); 2] {
    let body = json!({ "team_id": team, "member_id": member, "title": "target", "amount": 9000, "due_on": "2026-09-10" });
    let dues = w.owner.post("/dues", body).await.created();
    let due = dues.data()[0]["id"].as_str().unwrap().to_owned();
    let body = json!({ "amount": 3000, "method": "cash" });
    let payment = w.owner.post(&format!("/dues/{due}/payments"), body).await.created();
    [("{due_id}", due), ("{payment_id}", payment.id().to_owned())]
}

/// Creates a webhook with a test delivery.
pub(crate) async fn tested_webhook(w: &World) -> [(&'static str, String); 2] {
    let body = json!({ "url": "https://hooks.example.org/target", "events": ["*"] });
    let webhook = w.owner.post("/webhooks", body).await.created().id().to_owned();
    let test = w.owner.post(&format!("/webhooks/{webhook}/test"), json!({})).await.created();
    [("{webhook_id}", webhook), ("{delivery_id}", test.id().to_owned())]
}

/// The path of an operation with the ids of existing objects.
pub(crate) fn fill_path(path: &str, objects: &[(&'static str, String)]) -> String {
    let fill = |path: String, (name, id): &(&str, String)| path.replace(name, id);
    let url = objects.iter().fold(path.to_owned(), fill);
    assert!(!url.contains('{'), "no value for {url}; create one in `objects`");
    url
}

pub(crate) async fn send_example(
    client: &Client,
    method: &str,
    path: &str,
    operation: &Value,
) -> TestResponse {
    let body = &operation["requestBody"]["content"]["application/json"]["example"];
    if !operation["requestBody"]["content"]["multipart/form-data"].is_null() {
        return client
            .upload(path, &[("purpose", "attachment")], &[("file", "plan.pdf", PDF)])
            .await;
    }
    let body = (!body.is_null()).then(|| body.to_string());
    client.send(method, path, body.as_deref()).await
}

pub(crate) fn required_scopes(operation: &Value) -> Vec<&str> {
    let scopes = operation["security"][1]["oauth2"].as_array().unwrap();
    scopes.iter().filter_map(Value::as_str).collect()
}

/// Adds the person to operations that require one in the query.
pub(crate) fn with_person_query(url: &str, objects: &[(&'static str, String)]) -> String {
    let person = &objects.iter().find(|(name, _)| *name == "{person_id}").unwrap().1;
    let needs_person = url.ends_with("/messages/unread");
    if needs_person { format!("{url}?person_id={person}") } else { url.to_owned() }
}

/// The operation with an example that names an existing team.
pub(crate) fn with_example_team(operation: &Value, objects: &[(&'static str, String)]) -> Value {
    let team = &objects.iter().find(|(name, _)| *name == "{team_id}").unwrap().1;
    let text = operation.to_string().replace("team_01kbm2x5q8f7vr0n3hd9tzc4wy", team);
    serde_json::from_str(&text).unwrap()
}

/// An app that acts for the owner of another club.
async fn foreign_token(w: &World) -> Client {
    let now = "2026-09-05T10:00:00Z".parse().unwrap();
    let club = make_account(w.db(), "Valley", now).await;
    let vera = w.user_of(club, Role::Owner, "vera@example.org").await;
    w.client_for_user_at(club, vera.id, &Scopes::all_named().to_string()).await
}

/// A client with a session cookie, which opens pages but never the API.
async fn with_cookie(w: &World) -> Client {
    let oda = w.user(Role::Owner, "oda@example.org").await;
    let cookie = w.browser(oda.id).await.cookie.unwrap();
    w.nobody.with_header("Cookie", &format!("__Host-touchline={cookie}"))
}

both! {
    async fn every_operation_refuses_strangers(w: &World) {
        let document: Value = serde_json::from_str(&touchline::openapi_json()).unwrap();
        let objects = objects(w).await;
        let (token, cookie) = (foreign_token(w).await, with_cookie(w).await);
        let before = w.notifications().await;
        for (method, path, operation) in operations(&document) {
            let url = fill_path(&path, &objects);
            for nobody in [&w.nobody, &cookie] {
                send_example(nobody, &method, &url, &operation).await.assert_problem(401, "missing_credentials");
            }
            let invalid_key = Client::new(w.node.address, Some("tl_live_nonsense"));
            send_example(&invalid_key, &method, &url, &operation).await.assert_problem(401, "invalid_credentials");
            for stranger in [&w.stranger, &token] {
                if path.contains('{') {
                    send_example(stranger, &method, &url, &operation).await.assert_problem(404, "not_found");
                } else {
                    // The stranger's own list must not contain objects of Harbour.
                    let sent = send_example(stranger, &method, &with_person_query(&url, &objects), &with_example_team(&operation, &objects)).await;
                    assert!(objects.iter().all(|(_, id)| !sent.text.contains(id)), "{method} {path}: {}", sent.text);
                }
            }
            if path.contains('{') && method == "GET" {
                // The object exists; only the stranger must not see it.
                w.owner.get(&url).await.ok();
            }
        }
        // The attempts changed nothing.
        assert_eq!(w.notifications().await, before);
    }

    async fn every_operation_requires_its_scope(w: &World) {
        let document: Value = serde_json::from_str(&touchline::openapi_json()).unwrap();
        let objects = objects(w).await;
        let olga = w.user(Role::Owner, "olga@example.org").await;
        let all = Scopes::all_named().to_string();
        let mut single_scope = Vec::new();
        let mut all_but_one = Vec::new();
        for scope in all.split(' ') {
            let other_scopes: Vec<_> = all.split(' ').filter(|other| *other != scope).collect();
            let other_scopes = other_scopes.join(" ");
            let key_and_app = async |scopes: &str| [w.client_with_key(new_key(scopes)).await.1, w.client_for_user(olga.id, scopes).await];
            single_scope.push((scope, key_and_app(scope).await));
            all_but_one.push((scope, key_and_app(&other_scopes).await));
        }
        let before = w.notifications().await;
        for (method, path, operation) in operations(&document) {
            let (url, required) = (fill_path(&path, &objects), required_scopes(&operation));
            let Some(required) = required.first().copied() else { continue };
            let without = single_scope.iter().filter(|(scope, _)| *scope != required);
            let without = without.chain(all_but_one.iter().filter(|(scope, _)| *scope == required));
            for client in without.flat_map(|(_, clients)| clients) {
                let refused = send_example(client, &method, &url, &operation).await.assert_problem(403, "insufficient_scope");
                let challenge = refused.header("www-authenticate").unwrap();
                assert!(challenge.contains(&format!("scope=\"{required}\"")), "{challenge}");
                assert!(refused.body["detail"].as_str().unwrap().contains(required));
            }
            let with = single_scope.iter().find(|(scope, _)| *scope == required).unwrap();
            for client in with.1.iter().filter(|_| method == "GET") {
                let answer = client.get(&with_person_query(&url, &objects)).await;
                // Deliveries contain notifications, so they also require the scopes for those. Keys have no settings.
                let is_refused = path.contains("deliveries") || path.contains("notification_settings") && answer.status == 403;
                if is_refused { answer.assert_problem(403, "forbidden") } else { answer.ok() };
            }
        }
        assert_eq!(w.notifications().await, before);
    }

    async fn team_key_cannot_reach_other_teams(w: &World) {
        let document: Value = serde_json::from_str(&touchline::openapi_json()).unwrap();
        let objects = objects(w).await;
        let other = w.owner.post("/teams", json!({ "name": "other" })).await.created();
        let all = Scopes::all_named().to_string();
        let team_key = team_client(w, other.id(), &all).await;
        let before = w.notifications().await;
        for (method, path, operation) in operations(&document) {
            // Templates belong to the club: keys of all teams may read them.
            let is_readable = method == "GET" && path.contains("{template_id}");
            if !path.contains('{') || is_readable {
                continue;
            }
            let refused = send_example(&team_key, &method, &fill_path(&path, &objects), &operation).await;
            assert!(matches!(refused.status, 403 | 404), "{method} {path}: {}", refused.text);
        }
        assert_eq!(w.notifications().await, before);
    }

    async fn wildcard_scope_does_not_reach_other_accounts(w: &World) {
        let (_, all) = w.client_with_key(new_key("*")).await;
        let team = all.post("/teams", json!({ "name": "Kraken" })).await.created();
        all.get(&team.path("")).await.ok();
        assert_eq!(all.get("/me").await.ok().data()["scopes"], json!(["*"]));
        let other_team = w.stranger.post("/teams", json!({ "name": "Kraken" })).await.created();
        all.get(&other_team.path("")).await.assert_problem(404, "not_found");
        all.delete(&other_team.path("")).await.assert_problem(404, "not_found");
    }

    async fn lists_show_only_their_own_account(w: &World) {
        w.owner.post("/teams", json!({ "name": "Ours", "external_id": "1" })).await.created();
        w.stranger.post("/teams", json!({ "name": "Theirs", "external_id": "1" })).await.created();
        assert_eq!(w.owner.get("/teams").await.ok().names(), ["Ours"]);
        assert_eq!(w.stranger.get("/teams?external_id=1").await.ok().names(), ["Theirs"]);
    }
}
