//! The people that stories about messages are told of.

use store::Scope;
use testkit::{Answer, Client, Value, World, json};
use touchline::ids::{AccountId, EventId, MemberId, PersonId, TeamId};
use touchline::roster::{person, safeguarding};

/// Somebody on a team.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Somebody {
    pub(crate) person: PersonId,
    pub(crate) member: MemberId,
}

/// A team whose people are known by name.
pub(crate) struct Club<'w> {
    w: &'w World,
    owner: &'w Client,
    account: AccountId,
    pub(crate) team: TeamId,
}

impl<'w> Club<'w> {
    /// A team of Harbour with this age group.
    pub(crate) async fn new(w: &'w World, name: &str, age_group: &str) -> Self {
        Self::with(w, json!({ "name": name, "age_group": age_group })).await
    }

    /// A team of Harbour that is as told.
    pub(crate) async fn with(w: &'w World, team: Value) -> Self {
        let team = w.owner.post("/teams", team).await.created();
        Self { w, owner: &w.owner, account: w.harbour, team: team.id().parse().unwrap() }
    }

    /// A team of another account.
    pub(crate) async fn elsewhere(w: &'w World) -> Self {
        let team = w.stranger.post("/teams", json!({ "name": "Theirs" })).await.created();
        let me = w.stranger.get("/me").await.ok();
        let account = me.data()["account"]["id"].as_str().unwrap().parse().unwrap();
        Self { w, owner: &w.stranger, account, team: team.id().parse().unwrap() }
    }

    /// The address of a member.
    pub(crate) fn at(&self, somebody: Somebody) -> String {
        format!("/teams/{}/roster/{}", self.team, somebody.member)
    }

    async fn add(&self, body: Value) -> Somebody {
        let added = self.owner.post(&format!("/teams/{}/roster", self.team), body).await.created();
        let person = added.data()["person_id"].as_str().unwrap().parse().unwrap();
        Somebody { person, member: added.id().parse().unwrap() }
    }

    /// Somebody new on the team, with the address `<name>@example.org`.
    pub(crate) async fn member(&self, name: &str, role: &str, birth: Option<&str>) -> Somebody {
        let body = json!({ "first_name": name, "last_name": "Sousa", "role": role, "birth_date": birth,
            "email": address(name), "allow_duplicate": true });
        let somebody = self.add(body).await;
        self.confirm_email(somebody.person).await;
        somebody
    }

    /// The person confirms their address, so that they can read messages by email.
    pub(crate) async fn confirm_email(&self, id: PersonId) {
        let scope = Scope::account(self.account, "test");
        let confirm = move |tx: &store::Tx<'_>| {
            let email = person::find(tx, id)?.email_folded.unwrap_or_default();
            safeguarding::confirm_email(tx, id, &email)
        };
        assert!(self.w.db().write(scope, confirm).await.unwrap());
    }

    /// An admin confirms that the person is an adult.
    pub(crate) async fn confirm_adult(&self, id: PersonId) {
        self.owner.post(&format!("/people/{id}/confirm_adult"), json!({})).await.ok();
    }

    /// Somebody who is known already joins the team.
    pub(crate) async fn join(&self, person: PersonId, role: &str) -> Somebody {
        self.add(json!({ "person_id": person, "role": role })).await
    }

    /// The member is now this: active, injured, inactive, removed.
    pub(crate) async fn becomes(&self, somebody: Somebody, status: &str) {
        match status {
            "removed" => self.owner.delete(&self.at(somebody)).await.ok(),
            _ => self.owner.patch(&self.at(somebody), json!({ "status": status })).await.ok(),
        };
    }

    /// Somebody new who looks after a member, and receives messages or not.
    pub(crate) async fn guardian(&self, name: &str, ward: Somebody, receives: bool) -> PersonId {
        let guardian = json!({ "first_name": name, "last_name": "Sousa", "email": address(name),
            "receives_messages": receives });
        let after = self.guarded(ward, guardian).await;
        let guardians = after.data()["guardians"].as_array().unwrap();
        let id = guardians.last().unwrap()["id"].as_str().unwrap().parse().unwrap();
        self.confirm_email(id).await;
        id
    }

    /// Somebody who is known already looks after a member.
    pub(crate) async fn guards(&self, guardian: PersonId, ward: Somebody, receives: bool) {
        self.guarded(ward, json!({ "id": guardian, "receives_messages": receives })).await;
    }

    async fn guarded(&self, ward: Somebody, guardian: Value) -> Answer {
        let before = self.owner.get(&self.at(ward)).await.ok();
        let known = before.data()["guardians"].as_array().unwrap().iter();
        let mut guardians: Vec<_> = known.map(|one| json!({ "id": one["id"] })).collect();
        guardians.push(guardian);
        self.owner.patch(&self.at(ward), json!({ "guardians": guardians })).await.ok()
    }

    /// Something of a person changes.
    pub(crate) async fn person(&self, person: PersonId, change: Value) {
        self.owner.patch(&format!("/people/{person}"), change).await.ok();
    }

    /// The person is erased.
    pub(crate) async fn erase(&self, person: PersonId) {
        let scope = Scope::account(self.account, "test");
        self.w.db().write(scope, move |tx| person::erase(tx, person)).await.unwrap();
    }

    /// An event of the team.
    pub(crate) async fn event(&self) -> EventId {
        let body =
            json!({ "team_id": self.team, "type": "practice", "starts_at": "2026-12-01T18:00" });
        self.owner.post("/events", body).await.created().id().parse().unwrap()
    }

    /// The member answers an event.
    pub(crate) async fn answers(&self, event: EventId, somebody: Somebody) {
        let path = format!("/events/{event}/rsvps/{}", somebody.member);
        self.owner.put(&path, json!({ "answer": "no" })).await.ok();
    }
}

fn address(name: &str) -> String {
    format!("{}@example.org", name.to_lowercase())
}
