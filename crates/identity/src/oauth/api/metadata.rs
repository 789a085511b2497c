//! Authorization server metadata (RFC 8414).

use axum::extract::State;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use crate::prelude::*;
use crate::web::edge::API;
use crate::web::prelude::*;

/// The audience of access tokens: the URL of the API.
pub fn audience(app: &App) -> String {
    app.url(API)
}

/// `GET /.well-known/oauth-authorization-server`, and `/.well-known/openid-configuration` for clients that only try
/// that.
pub(super) async fn show(State(app): State<App>) -> Response {
    let home = app.base_url.as_str();
    let scopes: Vec<_> = ScopeName::ALL.iter().map(|(_, word)| *word).collect();
    let auth_methods = ["none", "client_secret_post", "client_secret_basic"];
    let document = json!({
        "issuer": home,
        "authorization_endpoint": format!("{home}/oauth/authorize"),
        "token_endpoint": format!("{home}/oauth/token"),
        "revocation_endpoint": format!("{home}/oauth/revoke"),
        "introspection_endpoint": format!("{home}/oauth/introspect"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": auth_methods,
        "revocation_endpoint_auth_methods_supported": auth_methods,
        "introspection_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
        "scopes_supported": scopes,
        "prompt_values_supported": ["none", "login", "consent"],
        "authorization_response_iss_parameter_supported": true,
        "protected_resources": [audience(&app)],
        "service_documentation": format!("{home}/docs"),
    });
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "public, max-age=300")];
    (headers, document.to_string()).into_response()
}
