//! Tests of refresh token rotation: replaced at each use, a grace period of one minute, and reuse
//! detection.

use store::Scope;
use testkit::{Browser, Client, World, both, seconds};
use touchline::accounts::user::Role;
use touchline::if_match::IfMatch;
use touchline::oauth::app::{self, AppChange, Kind};
use touchline::oauth::grant;
use touchline::rights::Scopes;

use crate::oauth_flow::{
    CALLBACK, assert_oauth_error, audit_actions, bearer, post_form, register_app, token_pair,
};

async fn ana(w: &World) -> Browser {
    let ana = w.user(Role::Owner, "ana@example.org").await;
    w.browser(ana.id).await
}

/// Asserts the invariants: at most one active refresh token per grant, and no token that outlives
/// its grant.
pub(crate) async fn assert_grants_consistent(w: &World) {
    let read = w.db().read(Scope::account(w.harbour, "test"), |db| {
        let forked: Vec<(i64,)> = db.all(
            "select count(*) from oauth_token where account_id = :account and kind = 'refresh' and replaced_at is null
             group by grant_id having count(*) > 1",
            store::bind! {},
        )?;
        let orphans: Vec<(i64,)> = db.all(
            "select t.generation from oauth_token t join oauth_grant g on g.account_id = t.account_id and g.id = t.grant_id
             where t.account_id = :account and (g.revoked_at is not null or t.expires_at > g.expires_at or t.generation > g.generation)",
            store::bind! {},
        )?;
        Ok::<_, store::Error>((forked.len(), orphans.len()))
    });
    assert_eq!(read.await.unwrap(), (0, 0));
}

both! {
    async fn same_token_returns_the_same_successor_for_a_minute(w: &World) {
        let mut browser = ana(w).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let (_, first) = app.obtain_tokens(w, &mut browser).await;
        let successor = token_pair(&app.refresh(w, &first).await);
        assert_ne!(successor.1, first);
        w.advance_clock(seconds(59));
        let repeated = app.refresh(w, &first).await;
        assert_eq!(token_pair(&repeated), successor);
        assert_eq!(repeated.body["expires_in"], 3600 - 59);
        assert_grants_consistent(w).await;
        // Even if its access token was revoked in the meantime.
        let revocation = [("client_id", app.id.as_str()), ("token", &successor.0)];
        post_form(&w.nobody, "/oauth/revoke", &revocation).await.ok();
        let (access, refresh) = token_pair(&app.refresh(w, &first).await);
        assert_eq!(refresh, successor.1);
        bearer(w, &access).get("/teams").await.ok();
        // The same response even after the successor was used.
        let next = token_pair(&app.refresh(w, &refresh).await);
        assert_eq!(token_pair(&app.refresh(w, &refresh).await), next);
        assert_grants_consistent(w).await;
    }

    async fn concurrent_refreshes_return_the_same_pair(w: &World) {
        let mut browser = ana(w).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let (_, first) = app.obtain_tokens(w, &mut browser).await;
        let address = w.node.address;
        let tasks: Vec<_> = (0..20).map(|_| {
            let (id, first) = (app.id.clone(), first.clone());
            tokio::task::spawn(async move {
                let fields = [("client_id", id.as_str()), ("grant_type", "refresh_token"), ("refresh_token", &first)];
                token_pair(&post_form(&Client::new(address, None), "/oauth/token", &fields).await)
            })
        }).collect();
        let mut pairs = Vec::new();
        for task in tasks {
            pairs.push(task.await.unwrap());
        }
        pairs.dedup();
        assert_eq!(pairs.len(), 1);
        assert_grants_consistent(w).await;
        bearer(w, &pairs[0].0).get("/teams").await.ok();
    }

    async fn reusing_an_old_token_revokes_the_grant(w: &World) {
        let mut browser = ana(w).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let other = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let (_, first) = app.obtain_tokens(w, &mut browser).await;
        let (_, second) = token_pair(&app.refresh(w, &first).await);
        let (access, third) = token_pair(&app.refresh(w, &second).await);
        w.advance_clock(seconds(60));
        // Another app cannot do anything with the old token.
        assert_oauth_error(&other.refresh(w, &first).await, 400, "invalid_grant");
        let without_client = [("grant_type", "refresh_token"), ("refresh_token", first.as_str())];
        assert_oauth_error(&post_form(&w.nobody, "/oauth/token", &without_client).await, 401, "invalid_client");
        bearer(w, &access).get("/teams").await.ok();
        assert_oauth_error(&app.refresh(w, &first).await, 400, "invalid_grant");
        bearer(w, &access).get("/teams").await.assert_problem(401, "invalid_credentials");
        assert_oauth_error(&app.refresh(w, &third).await, 400, "invalid_grant");
        assert_eq!(w.count("oauth_token").await, 0);
        let log = audit_actions(w).await;
        assert!(log.contains(&"oauth_token.reused".to_owned()), "{log:?}");
        assert_grants_consistent(w).await;
    }

    async fn replaces_a_response_that_was_lost(w: &World) {
        let mut browser = ana(w).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let (_, first) = app.obtain_tokens(w, &mut browser).await;
        let lost = token_pair(&app.refresh(w, &first).await);
        w.advance_clock(seconds(86_400));
        let replacement = token_pair(&app.refresh(w, &first).await);
        assert!(replacement.0 != lost.0 && replacement.1 != lost.1);
        bearer(w, &lost.0).get("/teams").await.assert_problem(401, "invalid_credentials");
        assert_oauth_error(&app.refresh(w, &lost.1).await, 400, "invalid_grant");
        bearer(w, &replacement.0).get("/teams").await.ok();
        assert_eq!(token_pair(&app.refresh(w, &first).await), replacement, "the grace period starts again");
        assert_grants_consistent(w).await;
        // Once its access token was used, the response was not lost.
        w.node.app.finish().await;
        w.advance_clock(seconds(60));
        assert_oauth_error(&app.refresh(w, &first).await, 400, "invalid_grant");
        assert_oauth_error(&app.refresh(w, &replacement.1).await, 400, "invalid_grant");
        assert_grants_consistent(w).await;
    }

    async fn grant_ends_when_idle_and_after_ninety_days(w: &World) {
        let mut browser = ana(w).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read").await;
        let (_, idle) = app.obtain_tokens(w, &mut browser).await;
        let (_, mut busy) = app.obtain_tokens(w, &mut browser).await;
        let day = 86_400;
        w.advance_clock(seconds(29 * day));
        busy = token_pair(&app.refresh(w, &busy).await).1;
        w.advance_clock(seconds(day));
        assert_oauth_error(&app.refresh(w, &idle).await, 400, "invalid_grant");
        for _ in 0..2 {
            w.advance_clock(seconds(28 * day));
            busy = token_pair(&app.refresh(w, &busy).await).1;
            assert_grants_consistent(w).await;
        }
        // Four days are left. After that the grant ends, even if it is used; the last tokens end
        // with it.
        w.advance_clock(seconds(4 * day - 600));
        let last = app.refresh(w, &busy).await;
        assert_eq!(last.body["expires_in"], 600);
        let (access, busy) = token_pair(&last);
        w.advance_clock(seconds(600));
        assert_oauth_error(&app.refresh(w, &busy).await, 400, "invalid_grant");
        bearer(w, &access).get("/teams").await.assert_problem(401, "invalid_credentials");
    }

    async fn refresh_can_narrow_but_not_widen_scopes(w: &World) {
        let mut browser = ana(w).await;
        let app = register_app(w, Kind::Spa, CALLBACK, "teams:read events:read messages:read").await;
        let code = app.obtain_code(&mut browser, &[("scope", Some("teams:read events:read"))]).await;
        let (_, refresh) = token_pair(&app.exchange(w, &code).await);
        let renew = async |refresh: &str, scope: &str| {
            app.request_token(w, &[("grant_type", "refresh_token"), ("refresh_token", refresh), ("scope", scope)]).await
        };
        for wider in ["teams:read messages:read", "*", "teams:write", "nonsense"] {
            assert_oauth_error(&renew(&refresh, wider).await, 400, "invalid_scope");
        }
        let narrowed = renew(&refresh, "events:read").await;
        assert_eq!(narrowed.body["scope"], "events:read");
        let (access, refresh) = token_pair(&narrowed);
        bearer(w, &access).get("/teams").await.assert_problem(403, "insufficient_scope");
        let full = app.refresh(w, &refresh).await;
        assert_eq!(full.body["scope"], "teams:read events:read", "the refresh token was not narrowed");
        let (access, refresh) = token_pair(&full);
        bearer(w, &access).get("/teams").await.ok();
        // A scope removed from the app ends immediately.
        let (id, scopes) = (app.app.id, Some(Scopes::parse("teams:read").unwrap()));
        let change = AppChange { scopes, ..AppChange::default() };
        let scope = Scope::account(w.harbour, "test");
        w.db().write(scope, move |tx| app::change(tx, id, change, &IfMatch::Absent)).await.unwrap();
        bearer(w, &access).get("/teams").await.assert_problem(401, "invalid_credentials");
        assert_oauth_error(&app.refresh(w, &refresh).await, 400, "invalid_grant");
        let (access, _) = token_pair(&renew(&refresh, "teams:read").await);
        bearer(w, &access).get("/teams").await.ok();
        assert_grants_consistent(w).await;
    }

    async fn revoking_a_grant_takes_effect_immediately(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let app = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        let (user, id) = (ana.id, app.app.id);
        for cause in 0..5 {
            let code = app.obtain_code(&mut browser, &[("prompt", Some("consent"))]).await;
            let (access, refresh) = token_pair(&app.exchange(w, &code).await);
            bearer(w, &access).get("/teams").await.ok();
            let scope = Scope::account(w.harbour, "test");
            let ended = w.db().write(if cause == 0 { Scope::system("test") } else { scope }, move |tx| match cause {
                0 => grant::revoke_all_of_user(tx, user, "password_changed").map(|_| ()),
                1 => grant::revoke_all_in_club(tx, user, "left_club").map(|_| ()),
                2 => grant::revoke_all_of_app(tx, id, "revoked_by_admin").map(|_| ()),
                3 => grant::revoke_of_user_for_app(tx, user, id, "revoked_by_user").map(|_| ()),
                _ => app::disable(tx, id).map(|_| ()),
            });
            ended.await.unwrap();
            bearer(w, &access).get("/teams").await.assert_problem(401, "invalid_credentials");
            let (status, error) = if cause == 4 { (401, "invalid_client") } else { (400, "invalid_grant") };
            assert_oauth_error(&app.refresh(w, &refresh).await, status, error);
            assert_grants_consistent(w).await;
        }
    }
}
