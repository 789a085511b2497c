//! Test data for tests about messages: a team and its people.

use store::Scope;
use testkit::{Client, TestResponse, Value, World, json};
use touchline::ids::{AccountId, EventId, MemberId, PersonId, TeamId};
use touchline::roster::{email_confirmation, person};

/// A member of a team.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TestMember {
    pub(crate) person: PersonId,
    pub(crate) member: MemberId,
}

/// A team with helpers that change its roster.
pub(crate) struct TeamFixture<'w> {
    w: &'w World,
    owner: &'w Client,
    account: AccountId,
    pub(crate) team: TeamId,
}

impl<'w> TeamFixture<'w> {
    /// Creates a team of Harbour with this age group.
    pub(crate) async fn new(w: &'w World, name: &str, age_group: &str) -> Self {
        Self::from_body(w, json!({ "name": name, "age_group": age_group })).await
    }

    /// Creates a team of Harbour from this request body.
    pub(crate) async fn from_body(w: &'w World, team: Value) -> Self {
        let team = w.owner.post("/teams", team).await.created();
        Self { w, owner: &w.owner, account: w.harbour, team: team.id().parse().unwrap() }
    }

    /// Creates a team of another account.
    pub(crate) async fn in_other_account(w: &'w World) -> Self {
        let team = w.stranger.post("/teams", json!({ "name": "Theirs" })).await.created();
        let me = w.stranger.get("/me").await.ok();
        let account = me.data()["account"]["id"].as_str().unwrap().parse().unwrap();
        Self { w, owner: &w.stranger, account, team: team.id().parse().unwrap() }
    }

    /// The API path of a member.
    pub(crate) fn member_path(&self, somebody: TestMember) -> String {
        format!("/teams/{}/roster/{}", self.team, somebody.member)
    }

    async fn add(&self, body: Value) -> TestMember {
        let added = self.owner.post(&format!("/teams/{}/roster", self.team), body).await.created();
        let person = added.data()["person_id"].as_str().unwrap().parse().unwrap();
        TestMember { person, member: added.id().parse().unwrap() }
    }

    /// Adds a new person to the team, with the address `<name>@example.org`.
    pub(crate) async fn add_member(
        &self,
        name: &str,
        role: &str,
        birth: Option<&str>,
    ) -> TestMember {
        let body = json!({ "first_name": name, "last_name": "Sousa", "role": role, "birth_date": birth,
            "email": address(name), "allow_duplicate": true });
        let somebody = self.add(body).await;
        self.confirm_email(somebody.person).await;
        somebody
    }

    /// Confirms the person's address, so that they can read messages by email.
    pub(crate) async fn confirm_email(&self, id: PersonId) {
        let scope = Scope::account(self.account, "test");
        let confirm = move |tx: &store::Tx<'_>| {
            let email = person::find(tx, id)?.email_folded.unwrap_or_default();
            email_confirmation::confirm_email(tx, id, &email)
        };
        assert!(self.w.db().write(scope, confirm).await.unwrap());
    }

    /// Confirms as an admin that the person is an adult.
    pub(crate) async fn confirm_adult(&self, id: PersonId) {
        self.owner.post(&format!("/people/{id}/confirm_adult"), json!({})).await.ok();
    }

    /// Adds an existing person to the team.
    pub(crate) async fn add_existing(&self, person: PersonId, role: &str) -> TestMember {
        self.add(json!({ "person_id": person, "role": role })).await
    }

    /// Sets the member's status: active, injured, inactive or removed.
    pub(crate) async fn set_status(&self, somebody: TestMember, status: &str) {
        match status {
            "removed" => self.owner.delete(&self.member_path(somebody)).await.ok(),
            _ => self
                .owner
                .patch(&self.member_path(somebody), json!({ "status": status }))
                .await
                .ok(),
        };
    }

    /// Adds a new person as a guardian of a member.
    pub(crate) async fn add_guardian(
        &self,
        name: &str,
        ward: TestMember,
        receives: bool,
    ) -> PersonId {
        let guardian = json!({ "first_name": name, "last_name": "Sousa", "email": address(name),
            "receives_messages": receives });
        let after = self.append_guardian(ward, guardian).await;
        let guardians = after.data()["guardians"].as_array().unwrap();
        let id = guardians.last().unwrap()["id"].as_str().unwrap().parse().unwrap();
        self.confirm_email(id).await;
        id
    }

    /// Adds an existing person as a guardian of a member.
    pub(crate) async fn add_existing_guardian(
        &self,
        guardian: PersonId,
        ward: TestMember,
        receives: bool,
    ) {
        self.append_guardian(ward, json!({ "id": guardian, "receives_messages": receives })).await;
    }

    async fn append_guardian(&self, ward: TestMember, guardian: Value) -> TestResponse {
        let before = self.owner.get(&self.member_path(ward)).await.ok();
        let existing = before.data()["guardians"].as_array().unwrap().iter();
        let mut guardians: Vec<_> = existing.map(|one| json!({ "id": one["id"] })).collect();
        guardians.push(guardian);
        self.owner.patch(&self.member_path(ward), json!({ "guardians": guardians })).await.ok()
    }

    /// Updates a person.
    pub(crate) async fn update_person(&self, person: PersonId, change: Value) {
        self.owner.patch(&format!("/people/{person}"), change).await.ok();
    }

    /// Erases a person.
    pub(crate) async fn erase(&self, person: PersonId) {
        let scope = Scope::account(self.account, "test");
        self.w.db().write(scope, move |tx| person::erase(tx, person)).await.unwrap();
    }

    /// Creates an event of the team.
    pub(crate) async fn create_event(&self) -> EventId {
        let body =
            json!({ "team_id": self.team, "type": "practice", "starts_at": "2026-12-01T18:00" });
        self.owner.post("/events", body).await.created().id().parse().unwrap()
    }

    /// Answers "no" to an event for a member.
    pub(crate) async fn decline_event(&self, event: EventId, somebody: TestMember) {
        let path = format!("/events/{event}/rsvps/{}", somebody.member);
        self.owner.put(&path, json!({ "answer": "no" })).await.ok();
    }
}

fn address(name: &str) -> String {
    format!("{}@example.org", name.to_lowercase())
}
