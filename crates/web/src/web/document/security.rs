//! How callers authenticate: with an API key, or with an access token of an app.

use serde_json::Map;

use crate::accounts::scope_text;
use crate::prelude::*;

/// Adds the security schemes.
pub(super) fn add_schemes(document: &mut Value) {
    let scopes: Map<_, _> = ScopeName::ALL
        .iter()
        .map(|(scope, name)| ((*name).to_owned(), json!(scope_text::describe(*scope).label)))
        .collect();
    document["components"]["securitySchemes"] = json!({
        "api_key": {
            "type": "http", "scheme": "bearer",
            "description": "An API key. It acts for the account and needs the same scopes as an access token.",
        },
        "oauth2": {
            "type": "oauth2",
            "description": "An access token of an app. It acts for a user: the scopes that the user granted, limited to what the user may do.",
            "flows": { "authorizationCode": {
                "authorizationUrl": "/oauth/authorize", "tokenUrl": "/oauth/token", "refreshUrl": "/oauth/token",
                "scopes": scopes,
            } },
        },
    });
}

/// Lets an operation accept both kinds of credentials, with the scope of its permission.
pub(super) fn complete(operation: &mut Value) {
    let scope = operation.as_object_mut().and_then(|operation| operation.remove("x-scope"));
    if let Some(scope) = scope {
        let scopes: Vec<_> = Some(scope).filter(Value::is_string).into_iter().collect();
        operation["security"] = json!([{ "api_key": [] }, { "oauth2": scopes }]);
    }
}
