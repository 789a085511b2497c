//! A fixture: two teams of the club Harbour, with one user of every role.
//!
//! The Hawks: Kim is the coach. Lia is an adult player who signs in herself. Max is a child, and Pat is his
//! parent. Zoe is a child whose parent has no user. The Otters: Ole is a child; nobody else of these people is on this
//! team. Olga is the club's owner, Adam its admin, and Uwe a user of the club who is on no roster.

use serde_json::{Value, json};
use store::Scope;
use touchline::accounts::user::{Role, User};
use touchline::ids::{PersonId, UserId};
use touchline::roster::{email_confirmation, linking, person};

use crate::World;

/// The ids of somebody on a roster.
#[derive(Debug, Clone)]
pub struct RosterIds {
    pub member: String,
    pub person: String,
}

/// The teams, people and users of the test club.
#[derive(Debug, Clone)]
pub struct TestClub {
    pub hawks: String,
    pub otters: String,
    pub kim: RosterIds,
    pub lia: RosterIds,
    pub max: RosterIds,
    pub zoe: RosterIds,
    /// The player of the Otters.
    pub ole: RosterIds,
    /// Max's parent, who is on no team.
    pub pat: String,
    pub owner: User,
    pub admin: User,
    pub coach: User,
    pub parent: User,
    pub player: User,
    pub outsider: User,
}

impl TestClub {
    /// All users, with the name of their role.
    pub fn users(&self) -> [(&'static str, &User); 6] {
        [
            ("owner", &self.owner),
            ("admin", &self.admin),
            ("coach", &self.coach),
            ("parent", &self.parent),
            ("player", &self.player),
            ("outsider", &self.outsider),
        ]
    }
}

impl World {
    /// Creates the teams, people and users.
    pub async fn club(&self) -> TestClub {
        let team = async |name: &str| {
            let created = self.owner.post("/teams", json!({ "name": name })).await.created();
            created.id().to_owned()
        };
        let (hawks, otters) = (team("Hawks").await, team("Otters").await);
        let kim = json!({ "first_name": "Kim", "role": "coach", "birth_date": "1980-01-01",
            "email": "kim@example.org", "medical_note": "knee" });
        let lia = json!({ "first_name": "Lia", "birth_date": "2000-01-01",
            "email": "lia@example.org", "medical_note": "asthma" });
        let pat =
            json!({ "first_name": "Pat", "relationship": "father", "email": "pat@example.org" });
        let max = json!({ "first_name": "Max", "birth_date": "2014-01-01",
            "medical_note": "bees", "guardians": [pat] });
        let mia = json!({ "first_name": "Mia", "email": "mia@example.org" });
        let zoe = json!({ "first_name": "Zoe", "birth_date": "2014-02-02",
            "medical_note": "nuts", "guardians": [mia] });
        let oda = json!({ "first_name": "Oda", "email": "oda.o@example.org" });
        let ole = json!({ "first_name": "Ole", "birth_date": "2014-03-03",
            "medical_note": "wasps", "guardians": [oda] });
        let (max, pat) = self.add_child(&hawks, max).await;
        let club = TestClub {
            kim: self.add_member(&hawks, kim).await,
            lia: self.add_member(&hawks, lia).await,
            zoe: self.add_member(&hawks, zoe).await,
            ole: self.add_member(&otters, ole).await,
            max,
            pat,
            hawks,
            otters,
            owner: self.user(Role::Owner, "olga@example.org").await,
            admin: self.user(Role::Admin, "adam@example.org").await,
            coach: self.user(Role::Member, "kim@example.org").await,
            parent: self.user(Role::Member, "pat@example.org").await,
            player: self.user(Role::Member, "lia@example.org").await,
            outsider: self.user(Role::Member, "uwe@example.org").await,
        };
        for child in [&club.zoe, &club.ole] {
            self.confirm_guardians(&child.person).await;
        }
        self.link(&club.kim.person, club.coach.id).await;
        self.link(&club.pat, club.parent.id).await;
        self.link(&club.lia.person, club.player.id).await;
        club
    }

    /// Adds a member to a team's roster.
    pub async fn add_member(&self, team: &str, body: Value) -> RosterIds {
        let created = self.owner.post(&format!("/teams/{team}/roster"), body).await.created();
        let person = created.data()["person_id"].as_str().unwrap().to_owned();
        RosterIds { member: created.id().to_owned(), person }
    }

    /// Adds a child to a team's roster. Also returns the person id of their first guardian.
    async fn add_child(&self, team: &str, body: Value) -> (RosterIds, String) {
        let child = self.add_member(team, body).await;
        let person = self.owner.get(&format!("/people/{}", child.person)).await.ok();
        let guardian = person.data()["guardians"][0]["id"].as_str().unwrap().to_owned();
        (child, guardian)
    }

    /// Confirms a person's email address, so that they can read messages without signing in.
    pub async fn confirm_email(&self, person: &str) {
        let id: PersonId = person.parse().unwrap();
        let confirm = move |tx: &store::Tx<'_>| {
            let email = person::find(tx, id)?.email_folded.unwrap_or_default();
            email_confirmation::confirm_email(tx, id, &email)
        };
        let confirmed = self.db().write(Scope::account(self.harbour, "test"), confirm).await;
        assert!(confirmed.unwrap(), "{person} has no email address");
    }

    /// Confirms the email addresses of a person's guardians.
    pub async fn confirm_guardians(&self, person: &str) {
        let person = self.owner.get(&format!("/people/{person}")).await.ok();
        for guardian in person.data()["guardians"].as_array().unwrap() {
            self.confirm_email(guardian["id"].as_str().unwrap()).await;
        }
    }

    /// Links a person on a roster to the user they sign in as.
    pub async fn link(&self, person: &str, user: UserId) {
        let person: PersonId = person.parse().unwrap();
        let scope = Scope::account(self.harbour, "test");
        self.db().write(scope, move |tx| linking::link(tx, person, user)).await.unwrap();
    }

    /// Removes the link between a person and their user.
    pub async fn unlink(&self, person: &str) {
        let person: PersonId = person.parse().unwrap();
        let scope = Scope::account(self.harbour, "test");
        self.db().write(scope, move |tx| linking::unlink(tx, person)).await.unwrap();
    }
}
