//! Stories about refresh tokens: replaced at every use, forgiving for a minute, merciless to thieves.

use store::Scope;
use testkit::{Browser, Client, World, both, seconds};
use touchline::accounts::rights::Scopes;
use touchline::accounts::user::Role;
use touchline::expected::Expected;
use touchline::oauth::app::{self, AppChange, Kind};
use touchline::oauth::grant;

use crate::oauth_flow::{CALLBACK, audited, bearer, pair, refused, registered, send};

async fn ana(w: &World) -> Browser {
    let ana = w.user(Role::Owner, "ana@example.org").await;
    w.browser(ana.id).await
}

/// What must hold whatever happened: one living refresh token for each grant, and nothing beyond its grant.
pub(crate) async fn sound(w: &World) {
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
    async fn the_same_token_gives_the_same_successor_for_a_minute(w: &World) {
        let mut browser = ana(w).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let (_, first) = app.tokens(w, &mut browser).await;
        let given = pair(&app.refresh(w, &first).await);
        assert_ne!(given.1, first);
        w.pass(seconds(59));
        let again = app.refresh(w, &first).await;
        assert_eq!(pair(&again), given);
        assert_eq!(again.body["expires_in"], 3600 - 59);
        sound(w).await;
        // Its access token may have been given back meanwhile.
        let back = [("client_id", app.id.as_str()), ("token", &given.0)];
        send(&w.nobody, "/oauth/revoke", &back).await.ok();
        let (access, refresh) = pair(&app.refresh(w, &first).await);
        assert_eq!(refresh, given.1);
        bearer(w, &access).get("/teams").await.ok();
        // The successor was used in the meantime: it is still the same answer.
        let next = pair(&app.refresh(w, &refresh).await);
        assert_eq!(pair(&app.refresh(w, &refresh).await), next);
        sound(w).await;
    }

    async fn twenty_at_once_get_one_and_the_same(w: &World) {
        let mut browser = ana(w).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let (_, first) = app.tokens(w, &mut browser).await;
        let address = w.node.address;
        let tries: Vec<_> = (0..20).map(|_| {
            let (id, first) = (app.id.clone(), first.clone());
            tokio::task::spawn(async move {
                let fields = [("client_id", id.as_str()), ("grant_type", "refresh_token"), ("refresh_token", &first)];
                pair(&send(&Client::new(address, None), "/oauth/token", &fields).await)
            })
        }).collect();
        let mut given = Vec::new();
        for one in tries {
            given.push(one.await.unwrap());
        }
        given.dedup();
        assert_eq!(given.len(), 1);
        sound(w).await;
        bearer(w, &given[0].0).get("/teams").await.ok();
    }

    async fn whoever_comes_late_with_an_old_token_ends_everything(w: &World) {
        let mut browser = ana(w).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let other = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let (_, first) = app.tokens(w, &mut browser).await;
        let (_, second) = pair(&app.refresh(w, &first).await);
        let (access, third) = pair(&app.refresh(w, &second).await);
        w.pass(seconds(60));
        // A stranger with the old token does nothing.
        refused(&other.refresh(w, &first).await, 400, "invalid_grant");
        let alone = [("grant_type", "refresh_token"), ("refresh_token", first.as_str())];
        refused(&send(&w.nobody, "/oauth/token", &alone).await, 401, "invalid_client");
        bearer(w, &access).get("/teams").await.ok();
        refused(&app.refresh(w, &first).await, 400, "invalid_grant");
        bearer(w, &access).get("/teams").await.refused(401, "invalid_credentials");
        refused(&app.refresh(w, &third).await, 400, "invalid_grant");
        assert_eq!(w.count("oauth_token").await, 0);
        let log = audited(w).await;
        assert!(log.contains(&"oauth_token.reused".to_owned()), "{log:?}");
        sound(w).await;
    }

    async fn an_answer_that_was_lost_is_given_again(w: &World) {
        let mut browser = ana(w).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let (_, first) = app.tokens(w, &mut browser).await;
        let lost = pair(&app.refresh(w, &first).await);
        w.pass(seconds(86_400));
        let found = pair(&app.refresh(w, &first).await);
        assert!(found.0 != lost.0 && found.1 != lost.1);
        bearer(w, &lost.0).get("/teams").await.refused(401, "invalid_credentials");
        refused(&app.refresh(w, &lost.1).await, 400, "invalid_grant");
        bearer(w, &found.0).get("/teams").await.ok();
        assert_eq!(pair(&app.refresh(w, &first).await), found, "the minute begins anew");
        sound(w).await;
        // Once it was used, it was not lost.
        w.node.app.finish().await;
        w.pass(seconds(60));
        refused(&app.refresh(w, &first).await, 400, "invalid_grant");
        refused(&app.refresh(w, &found.1).await, 400, "invalid_grant");
        sound(w).await;
    }

    async fn a_grant_ends_when_nobody_uses_it_and_after_ninety_days(w: &World) {
        let mut browser = ana(w).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read").await;
        let (_, idle) = app.tokens(w, &mut browser).await;
        let (_, mut busy) = app.tokens(w, &mut browser).await;
        let day = 86_400;
        w.pass(seconds(29 * day));
        busy = pair(&app.refresh(w, &busy).await).1;
        w.pass(seconds(day));
        refused(&app.refresh(w, &idle).await, 400, "invalid_grant");
        for _ in 0..2 {
            w.pass(seconds(28 * day));
            busy = pair(&app.refresh(w, &busy).await).1;
            sound(w).await;
        }
        // Four days are left, and then none, however busy it was. The last tokens end with it.
        w.pass(seconds(4 * day - 600));
        let last = app.refresh(w, &busy).await;
        assert_eq!(last.body["expires_in"], 600);
        let (access, busy) = pair(&last);
        w.pass(seconds(600));
        refused(&app.refresh(w, &busy).await, 400, "invalid_grant");
        bearer(w, &access).get("/teams").await.refused(401, "invalid_credentials");
    }

    async fn scopes_can_be_fewer_for_once_but_never_more(w: &World) {
        let mut browser = ana(w).await;
        let app = registered(w, Kind::Spa, CALLBACK, "teams:read events:read messages:read").await;
        let code = app.code(&mut browser, &[("scope", Some("teams:read events:read"))]).await;
        let (_, refresh) = pair(&app.exchange(w, &code).await);
        let renew = async |refresh: &str, scope: &str| {
            app.token(w, &[("grant_type", "refresh_token"), ("refresh_token", refresh), ("scope", scope)]).await
        };
        for wide in ["teams:read messages:read", "*", "teams:write", "nonsense"] {
            refused(&renew(&refresh, wide).await, 400, "invalid_scope");
        }
        let narrow = renew(&refresh, "events:read").await;
        assert_eq!(narrow.body["scope"], "events:read");
        let (access, refresh) = pair(&narrow);
        bearer(w, &access).get("/teams").await.refused(403, "insufficient_scope");
        let whole = app.refresh(w, &refresh).await;
        assert_eq!(whole.body["scope"], "teams:read events:read", "the refresh token was not narrowed");
        let (access, refresh) = pair(&whole);
        bearer(w, &access).get("/teams").await.ok();
        // What the app may no longer ask for, it no longer gets; at once.
        let (id, scopes) = (app.app.id, Some(Scopes::parse("teams:read").unwrap()));
        let change = AppChange { scopes, ..AppChange::default() };
        let scope = Scope::account(w.harbour, "test");
        w.db().write(scope, move |tx| app::change(tx, id, change, &Expected::Anything)).await.unwrap();
        bearer(w, &access).get("/teams").await.refused(401, "invalid_credentials");
        refused(&app.refresh(w, &refresh).await, 400, "invalid_grant");
        let (access, _) = pair(&renew(&refresh, "teams:read").await);
        bearer(w, &access).get("/teams").await.ok();
        sound(w).await;
    }

    async fn everything_that_ends_a_grant_ends_it_at_once(w: &World) {
        let ana = w.user(Role::Owner, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let app = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        let (user, id) = (ana.id, app.app.id);
        for way in 0..5 {
            let code = app.code(&mut browser, &[("prompt", Some("consent"))]).await;
            let (access, refresh) = pair(&app.exchange(w, &code).await);
            bearer(w, &access).get("/teams").await.ok();
            let scope = Scope::account(w.harbour, "test");
            let ended = w.db().write(if way == 0 { Scope::system("test") } else { scope }, move |tx| match way {
                0 => grant::revoke_all_of_user(tx, user, "password_changed").map(|_| ()),
                1 => grant::revoke_all_in_club(tx, user, "left_club").map(|_| ()),
                2 => grant::revoke_all_of_app(tx, id, "revoked_by_admin").map(|_| ()),
                3 => grant::revoke_of_user_for_app(tx, user, id, "revoked_by_user").map(|_| ()),
                _ => app::disable(tx, id).map(|_| ()),
            });
            ended.await.unwrap();
            bearer(w, &access).get("/teams").await.refused(401, "invalid_credentials");
            let (status, error) = if way == 4 { (401, "invalid_client") } else { (400, "invalid_grant") };
            refused(&app.refresh(w, &refresh).await, status, error);
            sound(w).await;
        }
    }
}
