//! A property test: grants are created, refreshed, used and revoked in random order while time
//! passes, and a small model predicts each result.

use kit::Timestamp;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use store::Scope;
use testkit::{World, both, seconds};
use touchline::accounts::user::Role;
use touchline::ids::{GrantId, UserId};
use touchline::oauth::app::Kind;
use touchline::oauth::token::TokenLifetimes;
use touchline::oauth::{grant, token};

use crate::oauth_flow::{
    CALLBACK, TestApp, assert_oauth_error, bearer, post_form, register_app, token_pair,
};
use crate::oauth_refresh::assert_grants_consistent;

const MINUTE: u64 = 60;
const HOUR: u64 = 3600;
const DAY: u64 = 86_400;

#[derive(Debug, Clone)]
enum Step {
    /// The user allows the app.
    Allow,
    /// A refresh token is used: which grant, how many generations back.
    Refresh(usize, usize),
    /// An access token is used.
    Use(usize, usize),
    /// A token is revoked: the refresh token (true) or the access token.
    Revoke(usize, bool),
    /// All grants of the user are revoked.
    RevokeAll,
    AdvanceClock(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => Just(Step::Allow),
        8 => (0..3usize, 0..3usize).prop_map(|(grant, back)| Step::Refresh(grant, back)),
        3 => (0..3usize, 0..2usize).prop_map(|(grant, back)| Step::Use(grant, back)),
        1 => (0..3usize, any::<bool>()).prop_map(|(grant, all)| Step::Revoke(grant, all)),
        1 => Just(Step::RevokeAll),
        5 => prop_oneof![Just(1), Just(59), Just(MINUTE), Just(HOUR), Just(10 * DAY)].prop_map(Step::AdvanceClock),
    ];
    proptest::collection::vec(step, 40)
}

/// A pair of tokens, as the model expects it.
#[derive(Debug, Clone)]
struct IssuedPair {
    access: String,
    refresh: String,
    at: Timestamp,
    replaced_at: Option<Timestamp>,
    used: bool,
    /// Whether only the access token was revoked.
    access_revoked: bool,
}

#[derive(Debug)]
struct Family {
    id: GrantId,
    created_at: Timestamp,
    ended: bool,
    pairs: Vec<IssuedPair>,
}

fn new_pair((access, refresh): (String, String), at: Timestamp) -> IssuedPair {
    IssuedPair { access, refresh, at, replaced_at: None, used: false, access_revoked: false }
}

struct Model<'a> {
    w: &'a World,
    app: TestApp,
    user: UserId,
    families: Vec<Family>,
}

impl Model<'_> {
    fn now(&self) -> Timestamp {
        self.w.node.app.clock.now()
    }

    fn end_of(family: &Family, from: Timestamp, life: u64) -> Timestamp {
        from.plus(seconds(life)).min(family.created_at.plus(grant::MAX_AGE))
    }

    async fn allow(&mut self) {
        let (app, user) = (self.app.app.clone(), self.user);
        let created = self.w.db().write(Scope::account(self.w.harbour, "test"), move |tx| {
            let lifetimes = TokenLifetimes {
                access: seconds(HOUR),
                refresh: seconds(30 * DAY),
                grace: seconds(MINUTE),
            };
            let grant = grant::create(tx, &app, user, app.scopes, &app.redirect_uris.0[0])?;
            Ok::<_, touchline::error::Error>((grant.id, token::issue_pair(tx, &grant, lifetimes)?))
        });
        let (id, pair) = created.await.unwrap();
        let pair = (pair.access.reveal().to_owned(), pair.refresh.reveal().to_owned());
        let now = self.now();
        self.families.push(Family {
            id,
            created_at: now,
            ended: false,
            pairs: vec![new_pair(pair, now)],
        });
    }

    /// The indexes of the grant and the pair of a step, counted from the newest.
    fn locate(&self, grant: usize, back: usize) -> Option<(usize, usize)> {
        let family = self.families.len().checked_sub(1 + grant)?;
        let pair = self.families[family].pairs.len().checked_sub(1 + back)?;
        Some((family, pair))
    }

    async fn refresh_pair(&mut self, family: usize, at: usize) {
        let now = self.now();
        let known = &self.families[family];
        let issued = known.pairs[at].clone();
        let is_valid = now < Self::end_of(known, issued.at, 30 * DAY);
        let answer = self.app.refresh(self.w, &issued.refresh).await;
        let family = &mut self.families[family];
        let next = family.pairs.get(at + 1).cloned();
        let in_grace_period =
            issued.replaced_at.is_some_and(|then| now < then.plus(seconds(MINUTE)));
        match (issued.replaced_at, next) {
            _ if family.ended => assert_oauth_error(&answer, 400, "invalid_grant"),
            _ if now >= family.created_at.plus(grant::MAX_AGE) => {
                assert_oauth_error(&answer, 400, "invalid_grant");
            }
            (None, _) if !is_valid => assert_oauth_error(&answer, 400, "invalid_grant"),
            (None, _) => {
                family.pairs[at].replaced_at = Some(now);
                family.pairs.push(new_pair(token_pair(&answer), now));
            }
            (Some(_), Some(next)) if in_grace_period => {
                let (access, refresh) = token_pair(&answer);
                assert_eq!(refresh, next.refresh);
                assert_eq!(access == next.access, !next.access_revoked);
                family.pairs[at + 1].access = access;
                family.pairs[at + 1].access_revoked = false;
            }
            (Some(_), Some(next)) if is_valid && next.replaced_at.is_none() && !next.used => {
                let other = token_pair(&answer);
                assert_ne!(other.1, next.refresh);
                family.pairs[at].replaced_at = Some(now);
                family.pairs[at + 1] = new_pair(other, now);
            }
            _ => {
                assert_oauth_error(&answer, 400, "invalid_grant");
                family.ended = true;
            }
        }
    }

    async fn use_access(&mut self, family: usize, at: usize) {
        let known = &self.families[family];
        let issued = known.pairs[at].clone();
        let is_valid = !known.ended
            && !issued.access_revoked
            && self.now() < Self::end_of(known, issued.at, HOUR);
        let answer = bearer(self.w, &issued.access).get("/teams").await;
        assert_eq!(answer.status, if is_valid { 200 } else { 401 }, "{issued:?}");
        self.families[family].pairs[at].used |= is_valid;
        self.w.node.app.finish().await;
    }

    async fn revoke(&mut self, family: usize, all: bool) {
        let known = &self.families[family];
        let last = known.pairs.len() - 1;
        let issued = known.pairs[last].clone();
        let token = if all { &issued.refresh } else { &issued.access };
        let secret = self.app.secret.clone().unwrap();
        let fields =
            [("client_id", self.app.id.as_str()), ("client_secret", &secret), ("token", token)];
        post_form(&self.w.nobody, "/oauth/revoke", &fields).await.ok();
        let family = &mut self.families[family];
        family.ended |= all;
        family.pairs[last].access_revoked |= !all;
    }

    async fn revoke_all(&mut self) {
        let user = self.user;
        let end = self.w.db().write(Scope::system("test"), move |tx| {
            grant::revoke_all_of_user(tx, user, "password_changed")
        });
        end.await.unwrap();
        self.families.iter_mut().for_each(|family| family.ended = true);
    }

    async fn apply(&mut self, step: Step) {
        match step {
            Step::Allow => self.allow().await,
            Step::RevokeAll => self.revoke_all().await,
            Step::AdvanceClock(time) => self.w.advance_clock(seconds(time)),
            Step::Refresh(grant, back) => {
                if let Some((family, at)) = self.locate(grant, back) {
                    self.refresh_pair(family, at).await;
                }
            }
            Step::Use(grant, back) => {
                if let Some((family, at)) = self.locate(grant, back) {
                    self.use_access(family, at).await;
                }
            }
            Step::Revoke(grant, all) => {
                if let Some((family, _)) = self.locate(grant, 0) {
                    self.revoke(family, all).await;
                }
            }
        }
        assert_grants_consistent(self.w).await;
    }
}

both! {
    async fn grants_behave_as_the_model_predicts(w: &World) {
        let user = w.user(Role::Owner, "ana@example.org").await.id;
        let app = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        let mut runner = TestRunner::deterministic();
        for _ in 0..8 {
            let steps = steps().new_tree(&mut runner).unwrap().current();
            let mut model = Model { w, app: app.clone(), user, families: Vec::new() };
            model.allow().await;
            for step in steps {
                model.apply(step).await;
            }
            // Revoked grants stay revoked.
            let ended: Vec<_> = model.families.iter().filter(|family| family.ended).map(|family| family.id).collect();
            for id in ended {
                let scope = Scope::account(w.harbour, "test");
                let stored = w.db().read(scope, move |db| grant::find(db, id)).await.unwrap();
                assert!(stored.revoked_at.is_some());
            }
        }
    }
}
