//! Request bodies with unknown fields: no operation accepts a field that is not in its schema, even
//! if a database column has that name.

use std::collections::BTreeSet;

use store::Scope;
use testkit::{Client, Value, World, both, json};
use touchline::accounts::user::Role;
use touchline::rights::Scopes;

use crate::openapi::operations;
use crate::tenant_isolation::{fill_path, objects, with_example_team};

/// The name of every database column, and other names that attackers try.
async fn columns(w: &World) -> BTreeSet<String> {
    let read = w.db().read(Scope::system("columns"), |db| {
        let tables = db.tables()?.into_iter().flat_map(|table| table.columns);
        Ok::<Vec<_>, store::Error>(tables.map(|column| column.name).collect())
    });
    let column_names = read.await.unwrap().into_iter();
    let other_names = ["is_admin", "admin", "scopes", "owner", "permissions", "__proto__", "_id"];
    column_names.chain(other_names.map(str::to_owned)).collect()
}

/// The fields of a schema, including those of the schemas it references.
fn schema_fields(document: &Value, schema: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut pending = vec![schema];
    while let Some(part) = pending.pop() {
        if let Some(target) = part["$ref"].as_str() {
            pending.extend(document.pointer(target.trim_start_matches('#')));
        }
        pending.extend(part["allOf"].as_array().into_iter().flatten());
        names.extend(
            part["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()),
        );
    }
    names
}

/// Copies of the example, each with unknown fields in one of its nested objects.
fn with_unknown_nested_fields(example: &Value) -> Vec<Value> {
    let unknown = json!({ "account_id": "acc_x", "user_id": "usr_x", "role_of": "owner" });
    let with_unknown = |inner: &Value| {
        let mut inner = inner.clone();
        inner.as_object_mut()?.extend(unknown.as_object()?.clone());
        Some(inner)
    };
    let mut bodies = Vec::new();
    for (name, value) in example.as_object().unwrap() {
        let nested = match value {
            Value::Object(_) if name != "metadata" => with_unknown(value),
            Value::Array(items) => items.first().and_then(with_unknown).map(|item| json!([item])),
            _ => None,
        };
        bodies.extend(nested.map(|nested| {
            let mut body = example.clone();
            body[name] = nested;
            body
        }));
    }
    bodies
}

async fn rejected_pointers(client: &Client, method: &str, url: &str, body: &Value) -> Vec<String> {
    let refused = client.send(method, url, Some(&body.to_string())).await;
    let refused = refused.assert_problem(400, "invalid_parameter");
    refused.pointers().into_iter().map(str::to_owned).collect()
}

both! {
    async fn rejects_unknown_fields_in_every_body(w: &World) {
        let document: Value = serde_json::from_str(&touchline::openapi_json()).unwrap();
        let (objects, columns) = (objects(w).await, columns(w).await);
        assert!(["account_id", "user_id", "role", "created_by", "version"].iter().all(|name| columns.contains(*name)));
        let olga = w.user(Role::Owner, "olga@example.org").await;
        let olga = w.client_for_user(olga.id, &Scopes::all_named().to_string()).await;
        let before = w.notifications().await;
        let mut tried = 0;
        for (method, path, operation) in operations(&document) {
            let is_upload = !operation["requestBody"]["content"]["multipart/form-data"].is_null();
            if method == "GET" || is_upload {
                continue;
            }
            let url = fill_path(&path, &objects);
            let content = &with_example_team(&operation, &objects)["requestBody"]["content"]["application/json"];
            let known_fields = schema_fields(&document, &content["schema"]);
            let example = if content.is_null() { json!({}) } else { content["example"].clone() };
            let unknown: Vec<_> = columns.iter().filter(|name| !known_fields.contains(*name)).collect();
            // A response lists at most 50 errors.
            for names in unknown.chunks(40) {
                let mut body = example.clone();
                for name in names {
                    body[name.as_str()] = json!("1");
                }
                let expected: Vec<_> = names.iter().map(|name| format!("/{name}")).collect();
                for client in [&w.owner, &olga] {
                    let mut pointers = rejected_pointers(client, &method, &url, &body).await;
                    pointers.sort();
                    assert_eq!(pointers, expected, "{method} {path}");
                    tried += 1;
                }
            }
            for body in with_unknown_nested_fields(&example) {
                rejected_pointers(&w.owner, &method, &url, &body).await;
            }
        }
        assert!(tried > 100, "{tried}");
        assert_eq!(w.notifications().await, before);
    }
}
