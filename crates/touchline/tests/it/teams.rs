//! Stories about teams.

use testkit::{Value, World, both, json};

both! {
    async fn a_team_is_created_read_changed_archived_and_restored(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Kraken", "sport": "soccer" })).await.created();
        assert_eq!(team.data()["object"], "team");
        assert_eq!(team.data()["season"], Value::Null);
        assert_eq!(team.data()["timezone"], "UTC");
        assert_eq!(team.header("etag"), Some("\"1\""));
        let place = format!("/api/public/v1{}", team.path(""));
        assert_eq!(team.header("location"), Some(place.as_str()));

        let read = w.reader.get(&team.path("")).await.ok();
        assert_eq!(read.data(), team.data());

        let change = json!({ "name": "Krakens", "sport": null, "metadata": { "a": "b" } });
        let changed = w.owner.patch(&team.path(""), change).await.ok();
        assert_eq!(changed.data()["name"], "Krakens");
        assert_eq!(changed.data()["sport"], Value::Null);
        assert_eq!(changed.data()["metadata"], json!({ "a": "b" }));
        assert_eq!(changed.data()["version"], 2);

        assert_eq!(w.owner.delete(&team.path("")).await.ok().data()["status"], "archived");
        assert!(w.reader.get("/teams").await.ok().names().is_empty());
        assert_eq!(w.reader.get("/teams?status=archived").await.ok().names(), ["Krakens"]);
        w.owner.delete(&team.path("")).await.refused(409, "invalid_state");
        w.owner.patch(&team.path(""), json!({ "name": "X" })).await.refused(409, "invalid_state");

        let restored = w.owner.send("POST", &team.path("/restore"), None).await.ok();
        assert_eq!((&restored.data()["status"], &restored.data()["version"]), (&json!("active"), &json!(4)));
        w.owner.send("POST", &team.path("/restore"), None).await.refused(409, "invalid_state");

        let kinds: Vec<_> = w.news().await.iter().map(|news| news["type"].clone()).collect();
        assert_eq!(kinds, ["team.created", "team.updated", "team.archived", "team.restored"]);
    }
}
