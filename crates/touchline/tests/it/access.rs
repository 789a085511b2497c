//! Access tokens of apps that act for people, as the API takes them.

use testkit::{World, both, seconds};
use touchline::accounts::permits::PERMITS;
use touchline::accounts::user::Role;

both! {
    async fn an_app_acts_for_a_user_until_its_token_ends(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let app = w.acting_for(ana.id, "teams:read").await;
        let me = app.get("/me").await.ok();
        assert_eq!(me.data()["kind"], "user");
        assert_eq!(me.data()["id"], ana.id.to_string());
        assert_eq!(me.data()["role"], "owner");
        app.get("/teams").await.ok();
        app.post("/teams", testkit::json!({ "name": "Hawks" })).await.refused(403, "insufficient_scope");
        w.pass(seconds(3600));
        app.get("/teams").await.refused(401, "invalid_credentials");
    }
}

/// The table of the API's documentation, as the table in the code has it.
fn documented() -> String {
    let mut table = "| What | Scope | A user must at least be |\n|---|---|---|\n".to_owned();
    for permit in PERMITS.iter().filter(|permit| permit.scope.is_some()) {
        let scope = permit.scope.map(|scope| scope.to_string()).unwrap_or_default();
        let what = permit.says.trim().trim_end_matches('.');
        table += &format!("| {what} | `{scope}` | {} |\n", permit.least.who());
    }
    table
}

#[test]
fn the_documentation_says_who_may_do_what() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(&documented()), "docs/api.md should have:\n{}", documented());
}
