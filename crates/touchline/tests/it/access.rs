//! Access tokens of apps that act for people, as the API takes them.

use testkit::{World, both, seconds};
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
