//! Tests of links between users and people of the club.

use store::Scope;
use testkit::{World, both, json};
use touchline::accounts::user::Role;
use touchline::error::Code;
use touchline::ids::PersonId;
use touchline::roster::linking;

async fn member(w: &World, team: &str, name: &str) -> (String, PersonId) {
    let body = json!({ "first_name": name, "role": "coach" });
    let created = w.owner.post(&format!("/teams/{team}/roster"), body).await.created();
    let path = format!("/teams/{team}/roster/{}", created.data()["id"].as_str().unwrap());
    (path, created.data()["person_id"].as_str().unwrap().parse().unwrap())
}

both! {
    async fn a_user_has_at_most_one_person_and_a_person_one_user(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        let team = team.data()["id"].as_str().unwrap().to_owned();
        let (path, ana) = member(w, &team, "Ana").await;
        let (_, bo) = member(w, &team, "Bo").await;
        let user = w.user(Role::Member, "ana@example.org").await.id;
        let other = w.user(Role::Member, "other@example.org").await.id;
        let link = async |person, user| {
            let scope = Scope::account(w.harbour, "test");
            w.db().write(scope, move |tx| linking::link(tx, person, user)).await
        };

        let linked = link(ana, user).await.unwrap();
        assert_eq!(linked.user_id, Some(user));
        assert_eq!(w.owner.get(&path).await.ok().data()["user_id"], user.to_string());
        let notification = w.notifications().await.pop().unwrap();
        assert_eq!(notification["type"], "roster.member_updated");
        assert_eq!(notification["data"]["previous"], json!({ "user_id": null }));

        assert_eq!(link(ana, user).await.unwrap().version, linked.version);
        assert_eq!(link(ana, other).await.unwrap_err().code, Code::InvalidState);
        assert_eq!(link(bo, user).await.unwrap_err().code, Code::Taken);
        let before = w.notifications().await.len();
        let scope = Scope::account(w.harbour, "test");
        let unlinked = w.db().write(scope, move |tx| linking::unlink(tx, ana)).await.unwrap();
        assert_eq!(unlinked.user_id, None);
        assert_eq!(w.notifications().await.len(), before + 1);
        link(bo, user).await.unwrap();
    }
}
