//! A story that is told by chance: grants are made, renewed, used and ended in any order while time passes,
//! and a small model says beforehand what each must give.

use kit::Timestamp;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use store::Scope;
use testkit::{World, both, seconds};
use touchline::accounts::user::Role;
use touchline::ids::{GrantId, UserId};
use touchline::oauth::app::Kind;
use touchline::oauth::token::Lives;
use touchline::oauth::{grant, token};

use crate::oauth_flow::{CALLBACK, Registered, bearer, pair, refused, registered, send};
use crate::oauth_refresh::sound;

const MINUTE: u64 = 60;
const HOUR: u64 = 3600;
const DAY: u64 = 86_400;

#[derive(Debug, Clone)]
enum Step {
    /// Somebody allows the app something.
    Allow,
    /// A refresh token is used: which grant, how many generations back.
    Renew(usize, usize),
    /// An access token is used.
    Use(usize, usize),
    /// A token is given back.
    GiveBack(usize, bool),
    /// Everything of the user ends.
    EndAll,
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => Just(Step::Allow),
        8 => (0..3usize, 0..3usize).prop_map(|(grant, back)| Step::Renew(grant, back)),
        3 => (0..3usize, 0..2usize).prop_map(|(grant, back)| Step::Use(grant, back)),
        1 => (0..3usize, any::<bool>()).prop_map(|(grant, all)| Step::GiveBack(grant, all)),
        1 => Just(Step::EndAll),
        5 => prop_oneof![Just(1), Just(59), Just(MINUTE), Just(HOUR), Just(10 * DAY)].prop_map(Step::Pass),
    ];
    proptest::collection::vec(step, 40)
}

/// A pair of tokens as the model knows it.
#[derive(Debug, Clone)]
struct Given {
    access: String,
    refresh: String,
    at: Timestamp,
    replaced_at: Option<Timestamp>,
    used: bool,
    /// Whether the access token was given back by itself.
    returned: bool,
}

#[derive(Debug)]
struct Family {
    id: GrantId,
    born: Timestamp,
    ended: bool,
    given: Vec<Given>,
}

fn given((access, refresh): (String, String), at: Timestamp) -> Given {
    Given { access, refresh, at, replaced_at: None, used: false, returned: false }
}

struct Model<'a> {
    w: &'a World,
    app: Registered,
    user: UserId,
    families: Vec<Family>,
}

impl Model<'_> {
    fn now(&self) -> Timestamp {
        self.w.node.app.clock.now()
    }

    fn end_of(family: &Family, from: Timestamp, life: u64) -> Timestamp {
        from.plus(seconds(life)).min(family.born.plus(grant::ABSOLUTE))
    }

    async fn allow(&mut self) {
        let (app, user) = (self.app.app.clone(), self.user);
        let made = self.w.db().write(Scope::account(self.w.harbour, "test"), move |tx| {
            let lives =
                Lives { access: seconds(HOUR), refresh: seconds(30 * DAY), grace: seconds(MINUTE) };
            let grant = grant::create(tx, &app, user, app.scopes, &app.redirect_uris.0[0])?;
            Ok::<_, touchline::error::Error>((grant.id, token::give_first(tx, &grant, lives)?))
        });
        let (id, pair) = made.await.unwrap();
        let pair = (pair.access.reveal().to_owned(), pair.refresh.reveal().to_owned());
        let now = self.now();
        self.families.push(Family { id, born: now, ended: false, given: vec![given(pair, now)] });
    }

    /// The grant and the pair that a step means, counted from the newest.
    fn meant(&self, grant: usize, back: usize) -> Option<(usize, usize)> {
        let family = self.families.len().checked_sub(1 + grant)?;
        let pair = self.families[family].given.len().checked_sub(1 + back)?;
        Some((family, pair))
    }

    async fn renew(&mut self, family: usize, at: usize) {
        let now = self.now();
        let known = &self.families[family];
        let one = known.given[at].clone();
        let good = now < Self::end_of(known, one.at, 30 * DAY);
        let answer = self.app.refresh(self.w, &one.refresh).await;
        let family = &mut self.families[family];
        let next = family.given.get(at + 1).cloned();
        let again = one.replaced_at.is_some_and(|then| now < then.plus(seconds(MINUTE)));
        match (one.replaced_at, next) {
            _ if family.ended => refused(&answer, 400, "invalid_grant"),
            _ if now >= family.born.plus(grant::ABSOLUTE) => {
                refused(&answer, 400, "invalid_grant");
            }
            (None, _) if !good => refused(&answer, 400, "invalid_grant"),
            (None, _) => {
                family.given[at].replaced_at = Some(now);
                family.given.push(given(pair(&answer), now));
            }
            (Some(_), Some(next)) if again => {
                let (access, refresh) = pair(&answer);
                assert_eq!(refresh, next.refresh);
                assert_eq!(access == next.access, !next.returned);
                family.given[at + 1].access = access;
                family.given[at + 1].returned = false;
            }
            (Some(_), Some(next)) if good && next.replaced_at.is_none() && !next.used => {
                let other = pair(&answer);
                assert_ne!(other.1, next.refresh);
                family.given[at].replaced_at = Some(now);
                family.given[at + 1] = given(other, now);
            }
            _ => {
                refused(&answer, 400, "invalid_grant");
                family.ended = true;
            }
        }
    }

    async fn use_access(&mut self, family: usize, at: usize) {
        let known = &self.families[family];
        let one = known.given[at].clone();
        let good = !known.ended && !one.returned && self.now() < Self::end_of(known, one.at, HOUR);
        let answer = bearer(self.w, &one.access).get("/teams").await;
        assert_eq!(answer.status, if good { 200 } else { 401 }, "{one:?}");
        self.families[family].given[at].used |= good;
        self.w.node.app.finish().await;
    }

    async fn give_back(&mut self, family: usize, all: bool) {
        let known = &self.families[family];
        let last = known.given.len() - 1;
        let one = known.given[last].clone();
        let token = if all { &one.refresh } else { &one.access };
        let secret = self.app.secret.clone().unwrap();
        let fields =
            [("client_id", self.app.id.as_str()), ("client_secret", &secret), ("token", token)];
        send(&self.w.nobody, "/oauth/revoke", &fields).await.ok();
        let family = &mut self.families[family];
        family.ended |= all;
        family.given[last].returned |= !all;
    }

    async fn end_all(&mut self) {
        let user = self.user;
        let end = self.w.db().write(Scope::system("test"), move |tx| {
            grant::revoke_all_of_user(tx, user, "password_changed")
        });
        end.await.unwrap();
        self.families.iter_mut().for_each(|family| family.ended = true);
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Allow => self.allow().await,
            Step::EndAll => self.end_all().await,
            Step::Pass(time) => self.w.pass(seconds(time)),
            Step::Renew(grant, back) => {
                if let Some((family, at)) = self.meant(grant, back) {
                    self.renew(family, at).await;
                }
            }
            Step::Use(grant, back) => {
                if let Some((family, at)) = self.meant(grant, back) {
                    self.use_access(family, at).await;
                }
            }
            Step::GiveBack(grant, all) => {
                if let Some((family, _)) = self.meant(grant, 0) {
                    self.give_back(family, all).await;
                }
            }
        }
        sound(self.w).await;
    }
}

both! {
    async fn whatever_happens_the_grants_do_as_the_model_says(w: &World) {
        let user = w.user(Role::Owner, "ana@example.org").await.id;
        let app = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        let mut runner = TestRunner::deterministic();
        for _ in 0..8 {
            let steps = steps().new_tree(&mut runner).unwrap().current();
            let mut model = Model { w, app: app.clone(), user, families: Vec::new() };
            model.allow().await;
            for step in steps {
                model.take(step).await;
            }
            // What has ended stays so.
            let ended: Vec<_> = model.families.iter().filter(|family| family.ended).map(|family| family.id).collect();
            for id in ended {
                let scope = Scope::account(w.harbour, "test");
                let found = w.db().read(scope, move |db| grant::find(db, id)).await.unwrap();
                assert!(found.revoked_at.is_some());
            }
        }
    }
}
