//! Tests of access tokens with which apps act for users.

use testkit::{World, both, seconds};
use touchline::accounts::permissions::{self, AccessLevel, grantable_scopes};
use touchline::accounts::user::Role;
use touchline::prelude::{ScopeName, Scopes, StringEnum};

both! {
    async fn an_app_acts_for_a_user_until_its_token_expires(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let app = w.client_for_user(ana.id, "teams:read").await;
        let me = app.get("/me").await.ok();
        assert_eq!(me.data()["kind"], "user");
        assert_eq!(me.data()["id"], ana.id.to_string());
        assert_eq!(me.data()["role"], "owner");
        app.get("/teams").await.ok();
        app.post("/teams", testkit::json!({ "name": "Hawks" })).await.assert_problem(403, "insufficient_scope");
        w.advance_clock(seconds(3600));
        app.get("/teams").await.assert_problem(401, "invalid_credentials");
    }
}

/// The permission table of `docs/api.md`, generated from the permissions of all modules.
fn permission_table() -> String {
    let mut table = "| Action | Scope | Minimum role of the user |\n|---|---|---|\n".to_owned();
    touchline::register_modules();
    for permit in permissions::all().filter(|permit| permit.scope.is_some()) {
        let scope = permit.scope.map(|scope| scope.to_string()).unwrap_or_default();
        let what = permit.description.trim().trim_end_matches('.');
        table += &format!("| {what} | `{scope}` | {} |\n", permit.min_level.label());
    }
    table
}

#[test]
fn api_docs_list_every_permission() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(&permission_table()), "docs/api.md should have:\n{}", permission_table());
}

#[test]
fn each_access_level_can_grant_the_scopes_of_its_permissions() {
    touchline::register_modules();
    let family = grantable_scopes(AccessLevel::Family);
    assert!(family.contains(ScopeName::EventsWrite) && family.contains(ScopeName::OrdersWrite));
    assert!(!family.contains(ScopeName::TeamsWrite) && !family.contains(ScopeName::WebhooksWrite));
    assert!(grantable_scopes(AccessLevel::Staff).contains(ScopeName::TeamsWrite));
    assert_eq!(grantable_scopes(AccessLevel::Admin), Scopes::all_named());
    assert!(
        !grantable_scopes(AccessLevel::Owner).is_wildcard(),
        "nobody can grant everything to an app"
    );
    assert!(grantable_scopes(AccessLevel::SignedIn).is_empty());
}

#[test]
fn every_scope_is_required_by_some_permission() {
    touchline::register_modules();
    for (scope, word) in ScopeName::ALL {
        assert!(permissions::all().any(|entry| entry.scope == Some(*scope)), "{word}");
    }
}
