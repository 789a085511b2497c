//! Tests of message templates.

use testkit::{TestResponse, World, both, json};

use crate::events::{field_texts, team_client};
use crate::roster_access::client_with_all_scopes;

/// Creates a template. A name can be used once.
pub(crate) async fn create_template(w: &World, name: &str) -> TestResponse {
    w.owner.post("/message_templates", json!({ "name": name, "body": "x" })).await.created()
}

both! {
    async fn a_template_is_created_changed_and_deleted(w: &World) {
        let new = json!({ "name": "Match day", "subject": "Saturday", "body": "Meet at **nine**." });
        let template = w.owner.post("/message_templates", new.clone()).await.created();
        assert_eq!(template.data()["object"], "message_template");
        let path = format!("/message_templates/{}", template.id());
        assert_eq!(w.owner.get(&path).await.ok().data(), template.data());
        let changed = w.owner.patch(&path, json!({ "subject": null, "name": "MATCH DAY" })).await.ok();
        assert_eq!((&changed.data()["subject"], &changed.data()["version"]), (&json!(null), &json!(2)));
        let same_name = w.owner.post("/message_templates", new).await.assert_problem(409, "taken");
        assert_eq!(same_name.pointers(), ["/name"]);
        w.owner.delete(&path).await.ok();
        w.owner.get(&path).await.assert_problem(404, "not_found");
        let log = w.owner.get("/notifications?type=message_template.*").await.ok();
        let kinds = field_texts(&log, "type");
        assert_eq!(kinds, ["message_template.created", "message_template.updated", "message_template.deleted"]);
    }

    async fn coaches_read_templates_and_admins_manage_them(w: &World) {
        let club = w.club().await;
        let body = json!({ "name": "Rain", "body": "No training today." });
        let template = w.owner.post("/message_templates", body.clone()).await.created();
        let path = format!("/message_templates/{}", template.id());
        let coach = client_with_all_scopes(w, club.coach.id).await;
        assert_eq!(field_texts(&coach.get("/message_templates?q=RAI").await.ok(), "name"), ["Rain"]);
        coach.patch(&path, json!({ "body": "x" })).await.assert_problem(403, "forbidden");
        client_with_all_scopes(w, club.parent.id).await.get(&path).await.assert_problem(403, "forbidden");
        let key = team_client(w, &club.hawks, "messages:read messages:write").await;
        key.get(&path).await.ok();
        key.post("/message_templates", body).await.assert_problem(403, "forbidden");
    }
}
