//! Tests of OAuth apps, their secrets and the revocation of grants.

use store::Scope;
use testkit::{World, both, seconds};
use touchline::accounts::user::Role;
use touchline::error::Code;
use touchline::if_match::IfMatch;
use touchline::oauth::app::{self, AppChange, Kind, NewApp};
use touchline::oauth::{grant, secret, token};
use touchline::rights::Scopes;

fn new_app(kind: Kind, uri: &str, scopes: &str) -> NewApp {
    NewApp {
        name: "Scores".to_owned(),
        kind,
        redirect_uris: vec![uri.to_owned()],
        scopes: Scopes::parse(scopes).unwrap(),
    }
}

both! {
    async fn validates_an_app_when_registered_and_changed(w: &World) {
        let scope = || Scope::account(w.harbour, "test");
        let uri = "https://scores.example/cb";
        let name = "Sco\nres".to_owned();
        let wrong = NewApp { name, ..new_app(Kind::Spa, "http://scores.example/cb", "*") };
        let refused = w.db().write(scope(), move |tx| app::create(tx, wrong)).await.unwrap_err();
        let pointers: Vec<_> = refused.faults.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(pointers, ["/name", "/redirect_uris/0", "/scopes"]);
        let too_many = NewApp {
            redirect_uris: (0..21).map(|n| format!("{uri}{n}")).collect(),
            ..new_app(Kind::Spa, uri, "teams:read")
        };
        w.db().write(scope(), move |tx| app::create(tx, too_many)).await.unwrap_err();
        let app = w.app(Kind::Spa, uri, "teams:read events:read").await;
        let id = app.id;
        let change = AppChange { scopes: Some(Scopes::parse("teams:read").unwrap()), ..AppChange::default() };
        let stale = IfMatch::Versions(vec![7]);
        let stale_change = change.clone();
        let refused = w.db().write(scope(), move |tx| app::change(tx, id, stale_change, &stale)).await.unwrap_err();
        assert_eq!(refused.code, Code::PreconditionFailed);
        let changed = w.db().write(scope(), move |tx| app::change(tx, id, change, &IfMatch::Absent)).await;
        assert_eq!((changed.as_ref().unwrap().version, changed.unwrap().name.as_str()), (2, "Scores"));
        let other = Scope::account(w.harbour, "test");
        assert_eq!(w.db().read(other, app::list).await.unwrap().len(), 1);
        let found = w.db().read(scope(), move |db| app::find_client(db, &id.to_string())).await;
        assert!(found.unwrap().is_some());
    }

    async fn allows_at_most_two_active_secrets(w: &World) {
        let scope = || Scope::account(w.harbour, "test");
        let native = w.app(Kind::Native, "http://127.0.0.1/cb", "teams:read").await.id;
        let refused = w.db().write(scope(), move |tx| secret::add(tx, native)).await.unwrap_err();
        assert_eq!(refused.code, Code::InvalidState);
        let id = w.app(Kind::Server, "https://scores.example/cb", "teams:read").await.id;
        let (first, value) = w.db().write(scope(), move |tx| secret::add(tx, id)).await.unwrap();
        w.db().write(scope(), move |tx| secret::add(tx, id)).await.unwrap();
        w.db().write(scope(), move |tx| secret::add(tx, id)).await.unwrap_err();
        assert!(!format!("{first:?}{value:?}").contains(&value.reveal()[6..20]));
        let text = value.reveal().to_owned();
        let verified = async |text: String| {
            w.db().read(scope(), move |db| secret::verify(db, id, &text)).await.unwrap().is_some()
        };
        assert!(verified(text.clone()).await);
        assert!(!verified(format!("{text}x")).await && !verified(String::new()).await);
        w.db().write(scope(), move |tx| secret::revoke(tx, id, first.id)).await.unwrap();
        assert!(!verified(text).await);
        w.db().write(scope(), move |tx| secret::add(tx, id)).await.unwrap();
        assert_eq!(w.db().read(scope(), move |db| secret::list(db, id)).await.unwrap().len(), 3);
    }

    async fn ending_the_app_or_membership_or_changing_the_password_revokes_grants(w: &World) {
        let scope = || Scope::account(w.harbour, "test");
        let ana = w.user(Role::Owner, "ana@example.org").await.id;
        let ben = w.user(Role::Admin, "ben@example.org").await.id;
        let created = w.app(Kind::Native, "http://127.0.0.1/cb", "teams:read").await;
        let id = created.id;
        let scopes = created.scopes;
        let grant_access = async |user| {
            let app = created.clone();
            w.db().write(scope(), move |tx| {
                let grant = grant::create(tx, &app, user, scopes, &app.redirect_uris.0[0])?;
                token::issue_access_token(tx, &grant, scopes, seconds(3600))
            }).await.unwrap();
        };
        grant_access(ana).await;
        grant_access(ana).await;
        grant_access(ben).await;
        assert_eq!(w.db().read(scope(), move |db| grant::count_users(db, id)).await.unwrap(), 2);
        assert_eq!(w.db().read(scope(), move |db| grant::grants_of_user(db, ana)).await.unwrap().len(), 2);
        let revoked = w.db().write(Scope::system("test"), move |tx| grant::revoke_all_of_user(tx, ana, "password_changed"));
        assert_eq!(revoked.await.unwrap(), 2);
        assert_eq!(w.count("oauth_token").await, 1);
        let revoked = w.db().write(scope(), move |tx| grant::revoke_all_in_club(tx, ben, "left_club"));
        assert_eq!((revoked.await.unwrap(), w.count("oauth_token").await), (1, 0));
        grant_access(ana).await;
        grant_access(ben).await;
        w.db().write(scope(), move |tx| grant::revoke_access_tokens_of_app(tx, id)).await.unwrap();
        assert_eq!(w.count("oauth_token").await, 0);
        grant_access(ben).await;
        let revoked = w.db().write(scope(), move |tx| grant::revoke_of_user_for_app(tx, ben, id, "user"));
        assert_eq!((revoked.await.unwrap(), w.count("oauth_token").await), (2, 0));
        grant_access(ben).await;
        let disabled = w.db().write(scope(), move |tx| app::disable(tx, id)).await.unwrap();
        assert!(disabled.disabled_at.is_some());
        assert_eq!(w.count("oauth_token").await, 0);
        let found = w.db().read(scope(), move |db| app::find_client(db, &id.to_string())).await;
        assert!(found.unwrap().is_none());
        assert!(w.db().write(scope(), move |tx| app::enable(tx, id)).await.unwrap().disabled_at.is_none());
        assert_eq!(w.db().read(scope(), move |db| grant::count_users(db, id)).await.unwrap(), 0);
        w.advance_clock(seconds(121 * 86_400));
        assert_eq!(w.db().write(Scope::system("test"), grant::delete_expired).await.unwrap(), 7);
        let fault = w.db().snapshot(scope(), touchline::signals::verify).await.unwrap();
        assert_eq!(fault, None);
    }
}
