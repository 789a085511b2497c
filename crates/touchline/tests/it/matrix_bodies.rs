//! Bodies that say more than they may: no operation takes a member that is not its own, whatever columns
//! there are behind it.

use std::collections::BTreeSet;

use store::Scope;
use testkit::{Client, Value, World, both, json};
use touchline::accounts::rights::Scopes;
use touchline::accounts::user::Role;

use crate::openapi::operations;
use crate::strangers::{about_team, objects, place};

/// The name of every column there is, and what is tried elsewhere.
async fn columns(w: &World) -> BTreeSet<String> {
    let look = w.db().read(Scope::system("columns"), |db| {
        let tables = db.tables()?.into_iter().flat_map(|table| table.columns);
        Ok::<Vec<_>, store::Error>(tables.map(|column| column.name).collect())
    });
    let known = look.await.unwrap().into_iter();
    let tried = ["is_admin", "admin", "scopes", "owner", "permissions", "__proto__", "_id"];
    known.chain(tried.map(str::to_owned)).collect()
}

/// The members that a schema knows, its parts included.
fn members(document: &Value, schema: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut open = vec![schema];
    while let Some(part) = open.pop() {
        if let Some(target) = part["$ref"].as_str() {
            open.extend(document.pointer(target.trim_start_matches('#')));
        }
        open.extend(part["allOf"].as_array().into_iter().flatten());
        names.extend(
            part["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()),
        );
    }
    names
}

/// The example with more members in one of the objects inside it, for each of those.
fn stuffed_inside(example: &Value) -> Vec<Value> {
    let more = json!({ "account_id": "acc_x", "user_id": "usr_x", "role_of": "owner" });
    let stuffed = |inner: &Value| {
        let mut inner = inner.clone();
        inner.as_object_mut()?.extend(more.as_object()?.clone());
        Some(inner)
    };
    let mut bodies = Vec::new();
    for (name, value) in example.as_object().unwrap() {
        let inside = match value {
            Value::Object(_) if name != "metadata" => stuffed(value),
            Value::Array(items) => items.first().and_then(stuffed).map(|item| json!([item])),
            _ => None,
        };
        bodies.extend(inside.map(|inside| {
            let mut body = example.clone();
            body[name] = inside;
            body
        }));
    }
    bodies
}

async fn refuses(client: &Client, method: &str, place: &str, body: &Value) -> Vec<String> {
    let refused = client.send(method, place, Some(&body.to_string())).await;
    let refused = refused.refused(400, "invalid_parameter");
    refused.pointers().into_iter().map(str::to_owned).collect()
}

both! {
    async fn no_operation_takes_members_that_are_not_its_own(w: &World) {
        let document: Value = serde_json::from_str(&touchline::document()).unwrap();
        let (objects, columns) = (objects(w).await, columns(w).await);
        assert!(["account_id", "user_id", "role", "created_by", "version"].iter().all(|name| columns.contains(*name)));
        let olga = w.user(Role::Owner, "olga@example.org").await;
        let olga = w.acting_for(olga.id, &Scopes::all_named().to_string()).await;
        let before = w.news().await;
        let mut tried = 0;
        for (method, path, operation) in operations(&document) {
            if method == "GET" {
                continue;
            }
            let place = place(&path, &objects);
            let content = &about_team(&operation, &objects)["requestBody"]["content"]["application/json"];
            let known = members(&document, &content["schema"]);
            let example = if content.is_null() { json!({}) } else { content["example"].clone() };
            let foreign: Vec<_> = columns.iter().filter(|name| !known.contains(*name)).collect();
            // At most fifty faults are told at once.
            for names in foreign.chunks(40) {
                let mut body = example.clone();
                for name in names {
                    body[name.as_str()] = json!("1");
                }
                let wanted: Vec<_> = names.iter().map(|name| format!("/{name}")).collect();
                for client in [&w.owner, &olga] {
                    let mut pointers = refuses(client, &method, &place, &body).await;
                    pointers.sort();
                    assert_eq!(pointers, wanted, "{method} {path}");
                    tried += 1;
                }
            }
            for body in stuffed_inside(&example) {
                refuses(&w.owner, &method, &place, &body).await;
            }
        }
        assert!(tried > 100, "{tried}");
        assert_eq!(w.news().await, before);
    }
}
