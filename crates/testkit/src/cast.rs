//! The cast: somebody of every kind at Harbour, with their places on its rosters.
//!
//! Hawks is the team everybody knows. Kim coaches it; Lia plays there, an adult who signs in herself; Max
//! plays there, a child, and Pat is his parent; Zoe plays there too, a child of nobody in the cast. Otters
//! is another team, of which none of them knows. Olga owns the club, Adam is its admin, and Uwe belongs to
//! it without being on any roster.

use serde_json::{Value, json};
use store::Scope;
use touchline::accounts::user::{Role, User};
use touchline::ids::{PersonId, UserId};
use touchline::roster::{linking, person, safeguarding};

use crate::World;

/// Somebody on a roster.
#[derive(Debug, Clone)]
pub struct OnRoster {
    pub member: String,
    pub person: String,
}

/// Everybody, and where they are.
#[derive(Debug, Clone)]
pub struct Cast {
    pub hawks: String,
    pub otters: String,
    pub kim: OnRoster,
    pub lia: OnRoster,
    pub max: OnRoster,
    pub zoe: OnRoster,
    /// On the Otters.
    pub ole: OnRoster,
    /// Max's parent, who is on no team.
    pub pat: String,
    pub owner: User,
    pub admin: User,
    pub coach: User,
    pub parent: User,
    pub player: User,
    pub outsider: User,
}

impl Cast {
    /// Everybody who signs in, by what they are.
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
    /// Puts the cast on its rosters.
    pub async fn cast(&self) -> Cast {
        let team = async |name: &str| {
            let made = self.owner.post("/teams", json!({ "name": name })).await.created();
            made.id().to_owned()
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
        let mum = json!({ "first_name": "Mia", "email": "mia@example.org" });
        let zoe = json!({ "first_name": "Zoe", "birth_date": "2014-02-02",
            "medical_note": "nuts", "guardians": [mum] });
        let oda = json!({ "first_name": "Oda", "email": "oda.o@example.org" });
        let ole = json!({ "first_name": "Ole", "birth_date": "2014-03-03",
            "medical_note": "wasps", "guardians": [oda] });
        let (max, pat) = self.child(&hawks, max).await;
        let cast = Cast {
            kim: self.joins(&hawks, kim).await,
            lia: self.joins(&hawks, lia).await,
            zoe: self.joins(&hawks, zoe).await,
            ole: self.joins(&otters, ole).await,
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
        for child in [&cast.zoe, &cast.ole] {
            self.confirm_guardians(&child.person).await;
        }
        self.link(&cast.kim.person, cast.coach.id).await;
        self.link(&cast.pat, cast.parent.id).await;
        self.link(&cast.lia.person, cast.player.id).await;
        cast
    }

    /// Puts somebody on a team.
    pub async fn joins(&self, team: &str, body: Value) -> OnRoster {
        let made = self.owner.post(&format!("/teams/{team}/roster"), body).await.created();
        let person = made.data()["person_id"].as_str().unwrap().to_owned();
        OnRoster { member: made.id().to_owned(), person }
    }

    async fn child(&self, team: &str, body: Value) -> (OnRoster, String) {
        let child = self.joins(team, body).await;
        let shown = self.owner.get(&format!("/people/{}", child.person)).await.ok();
        let guardian = shown.data()["guardians"][0]["id"].as_str().unwrap().to_owned();
        (child, guardian)
    }

    /// Somebody confirms their email address, so that they can read messages without signing in.
    pub async fn confirm_email(&self, person: &str) {
        let id: PersonId = person.parse().unwrap();
        let confirm = move |tx: &store::Tx<'_>| {
            let email = person::find(tx, id)?.email_folded.unwrap_or_default();
            safeguarding::confirm_email(tx, id, &email)
        };
        let confirmed = self.db().write(Scope::account(self.harbour, "test"), confirm).await;
        assert!(confirmed.unwrap(), "{person} has an address");
    }

    /// The guardians of somebody confirm their email addresses.
    pub async fn confirm_guardians(&self, person: &str) {
        let shown = self.owner.get(&format!("/people/{person}")).await.ok();
        for guardian in shown.data()["guardians"].as_array().unwrap() {
            self.confirm_email(guardian["id"].as_str().unwrap()).await;
        }
    }

    /// Somebody on a roster is who signs in as this user.
    pub async fn link(&self, person: &str, user: UserId) {
        let person: PersonId = person.parse().unwrap();
        let scope = Scope::account(self.harbour, "test");
        self.db().write(scope, move |tx| linking::link(tx, person, user)).await.unwrap();
    }

    /// Nobody signs in as this person any more.
    pub async fn unlink(&self, person: &str) {
        let person: PersonId = person.parse().unwrap();
        let scope = Scope::account(self.harbour, "test");
        self.db().write(scope, move |tx| linking::unlink(tx, person)).await.unwrap();
    }
}
