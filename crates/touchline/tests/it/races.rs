//! Tests of permissions that end while a request is in progress: what was checked at the start is
//! checked again in the transaction that changes something.

use std::sync::mpsc;

use kit::secret::{Token, TokenKind};
use store::{Scope, Tx};
use testkit::people::PASSWORD;
use testkit::world::new_key;
use testkit::{Browser, TestResponse, World, both, json, seconds};
use touchline::accounts::session::{self, Browser as BrowserInfo, Method, NewSession};
use touchline::accounts::user::{self, Role, User};
use touchline::accounts::{api_key, profile};
use touchline::admin::removal;
use touchline::error::{Code, Result};
use touchline::ids::{SessionId, UserId};
use touchline::oauth::app::Kind;
use touchline::oauth::code::{self, CodeExchange, NewCode};
use touchline::oauth::pending_request::{self, AnswerResult, CodeOptions, UserSession};
use touchline::oauth::token::TokenLifetimes;
use touchline::oauth::{app, authorization_request, grant, secret};
use touchline::signin::authentication::{self, PasswordProof};
use touchline::signin::link::{self, LinkKind};
use touchline::signin::passkey::{self, VerifiedCredential};
use touchline::signin::two_step;

use crate::http::Upload;
use crate::oauth_flow::{CALLBACK, post_form, register_app};
use crate::passkeys::{browser as browser_of, creation_options, node_with_host_name};
use crate::signin_two_step::{set_up, totp_code as code_of};
use crate::software_authenticator::SoftwareAuthenticator;

const NEW_PASSWORD: &str = "seven quiet otters fold paper";

/// Runs a transaction that belongs to no club.
async fn job<T: Send + 'static>(
    w: &World,
    work: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
) -> Result<T> {
    w.db().write(Scope::system("test"), work).await
}

/// Runs a transaction of Harbour.
async fn at_harbour<T: Send + 'static>(
    w: &World,
    work: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
) -> Result<T> {
    w.db().write(Scope::account(w.harbour, "test"), work).await
}

/// Resets the password by a link.
fn reset(tx: &Tx<'_>, email: &str) -> Result<()> {
    let (_, token) = authentication::create_reset_link(tx, email)?;
    let hash = kit::password::hash(NEW_PASSWORD, tx.rng());
    authentication::reset_password(tx, token.reveal(), &hash).map(drop)
}

async fn reset_of(w: &World, user: &User) {
    let email = user.email.clone();
    job(w, move |tx| reset(tx, &email)).await.unwrap();
}

/// The proof that a user's password was verified.
fn proof_of(user: &User) -> PasswordProof {
    let verified = user.password_hash.clone().unwrap();
    PasswordProof { user: user.id, verified_hash: verified, upgraded_hash: None }
}

/// Starts a session of a user.
async fn session_of(w: &World, user: UserId, pending: bool) -> SessionId {
    let club = Some(w.harbour);
    let new = NewSession {
        user,
        club,
        pending,
        method: Method::Password,
        browser: BrowserInfo::default(),
    };
    job(w, move |tx| session::begin(tx, new)).await.unwrap().0.id
}

/// A form request whose headers were sent, so that the service knows the sender, and whose body is
/// still to come.
struct SlowForm {
    upload: Upload,
    body: String,
}

impl SlowForm {
    async fn begin(browser: &Browser, path: &str, fields: &[(&str, &str)]) -> Self {
        let (client, body) = browser.form(fields);
        Self { upload: Upload::begin_at(&client, path, &body).await, body }
    }

    async fn end(self) -> TestResponse {
        self.upload.end(&self.body).await
    }
}

fn token_lifetimes() -> TokenLifetimes {
    TokenLifetimes { access: seconds(3600), refresh: seconds(3600), grace: seconds(60) }
}

both! {
    async fn replaced_password_cannot_start_a_session(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let proof = proof_of(&ana);
        let enter = |proof: PasswordProof| {
            job(w, move |tx| authentication::sign_in_with_password(tx, &proof, BrowserInfo::default(), None))
        };
        assert!(enter(proof.clone()).await.unwrap().is_some());
        reset_of(w, &ana).await;
        assert!(enter(proof.clone()).await.unwrap().is_none());
        // Upgrading the hash of the old password does not restore it either.
        let upgraded_hash = Some(kit::password::hash(PASSWORD, &kit::Rng::seeded(2)));
        assert!(enter(PasswordProof { upgraded_hash, ..proof }).await.unwrap().is_none());
        let now = job(w, move |tx| user::find(tx, ana.id)).await.unwrap();
        assert!(enter(proof_of(&now)).await.unwrap().is_some());
        assert_eq!(w.count("session").await, 1);
    }

    async fn sign_in_waits_for_a_reset_in_progress(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let (proof, email, id) = (proof_of(&ana), ana.email.clone(), ana.id);
        let (locked, is_locked) = mpsc::channel();
        let (proceed, may_proceed) = mpsc::channel();
        let db = w.db().clone();
        let resetting = tokio::task::spawn(async move {
            let work = move |tx: &Tx<'_>| {
                user::lock(tx, id)?;
                locked.send(()).unwrap();
                may_proceed.recv().unwrap();
                reset(tx, &email)
            };
            db.write(Scope::system("reset"), work).await
        });
        tokio::task::spawn_blocking(move || is_locked.recv().unwrap()).await.unwrap();
        let db = w.db().clone();
        let signing_in = tokio::task::spawn(async move {
            let work = move |tx: &Tx<'_>| authentication::sign_in_with_password(tx, &proof, BrowserInfo::default(), None);
            db.write(Scope::system("sign-in"), work).await
        });
        proceed.send(()).unwrap();
        resetting.await.unwrap().unwrap();
        assert!(signing_in.await.unwrap().unwrap().is_none());
        assert_eq!(w.count("session").await, 0);
    }

    async fn codes_are_refused_after_a_reset(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let (seed, backup_codes) = set_up(w, &ana).await;
        let key = w.node.app.secrets.key("totp");
        let enter = async |pending: SessionId, code: String| {
            let (id, key) = (ana.id, key.clone());
            job(w, move |tx| authentication::sign_in_with_code(tx, &key, (id, pending), &code, BrowserInfo::default())).await
        };
        let pending = session_of(w, ana.id, true).await;
        reset_of(w, &ana).await;
        let refused = enter(pending, code_of(w, &seed)).await.unwrap_err();
        assert_eq!(refused.code, Code::InvalidCredentials);
        assert_eq!(enter(pending, backup_codes[0].clone()).await.unwrap_err().code, Code::InvalidCredentials);
        assert_eq!(w.count("session").await, 0);
        // Neither code was used up, and each works once.
        let pending = session_of(w, ana.id, true).await;
        assert!(enter(pending, backup_codes[0].clone()).await.unwrap().is_some());
        let pending = session_of(w, ana.id, true).await;
        assert!(enter(pending, backup_codes[0].clone()).await.unwrap().is_none());
        // Nothing is accepted once two-step sign-in is off.
        job(w, move |tx| two_step::turn_off(tx, ana.id)).await.unwrap();
        assert!(enter(pending, code_of(w, &seed)).await.unwrap().is_none());
        assert!(enter(pending, backup_codes[1].clone()).await.unwrap().is_none());
    }

    async fn code_form_is_refused_after_a_reset(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let (seed, _) = set_up(w, &ana).await;
        let mut browser = w.anonymous_browser();
        browser.get("/sign-in").await.ok();
        browser.post("/sign-in", &[("email", "ana@example.org"), ("password", PASSWORD)]).await
            .redirects_to("/sign-in/code?next=%2F");
        browser.get("/sign-in/code").await.ok();
        let form = SlowForm::begin(&browser, "/sign-in/code", &[("code", &code_of(w, &seed))]).await;
        reset_of(w, &ana).await;
        form.end().await.redirects_to("/sign-in");
        assert_eq!(w.count("session").await, 0);
    }

    async fn removed_passkey_cannot_start_a_session(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let new_credential = || VerifiedCredential { credential_id: vec![1; 16], static_state: vec![2], dynamic_state: vec![3], metadata: String::new() };
        let credential = new_credential();
        let stored = job(w, move |tx| passkey::add(tx, ana.id, "Phone", credential)).await.unwrap();
        let sign_in = |stored: passkey::Passkey| {
            job(w, move |tx| passkey::sign_in(tx, &stored, vec![4], BrowserInfo::default(), None))
        };
        job(w, move |tx| passkey::remove(tx, ana.id, stored.id)).await.unwrap();
        assert_eq!(sign_in(stored).await.unwrap_err().code, Code::InvalidCredentials);
        // The same credential, added again, is another passkey.
        let credential = new_credential();
        let stored = job(w, move |tx| passkey::add(tx, ana.id, "Phone", credential)).await.unwrap();
        assert!(sign_in(stored.clone()).await.is_ok());
        assert_eq!(sign_in(stored).await.unwrap_err().code, Code::InvalidCredentials);
        assert_eq!(w.count("session").await, 1);
    }

    async fn ended_session_changes_nothing(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let cases: [(&str, &[(&str, &str)]); 5] = [
            ("/account", &[("name", "Eve")]),
            ("/account/email", &[("email", "eve@example.org")]),
            ("/account/password", &[("current", PASSWORD), ("password", "four loud herons count stars")]),
            ("/account/two-step/off", &[]),
            ("/confirm", &[("password", PASSWORD)]),
        ];
        for (path, fields) in cases {
            let browser = w.browser(ana.id).await;
            let form = SlowForm::begin(&browser, path, fields).await;
            job(w, move |tx| session::end_others(tx, ana.id, None)).await.unwrap();
            let answer = form.end().await;
            assert_eq!(answer.status, 401, "{path}: {}", answer.text);
            assert_eq!(answer.header("set-cookie"), None, "{path}");
        }
        let now = job(w, move |tx| user::find(tx, ana.id)).await.unwrap();
        assert_eq!((&now.name, &now.email, &now.password_hash), (&ana.name, &ana.email, &ana.password_hash));
        assert_eq!((w.count("session").await, w.count("ceremony").await), (0, 0));
    }

    async fn ended_session_cannot_add_a_passkey(w: &World) {
        // A passkey requires a host name, not an IP address.
        let node = node_with_host_name(w).await;
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let mut browser = browser_of(w, &node, &ana).await;
        let credential = SoftwareAuthenticator::new().create_credential(&creation_options(&mut browser).await);
        let finish = [("credential", credential.as_str()), ("name", "Phone")];
        for (path, fields) in [("/account/passkeys/begin", &[][..]), ("/account/passkeys/finish", &finish)] {
            let browser = browser_of(w, &node, &ana).await;
            let form = SlowForm::begin(&browser, path, fields).await;
            job(w, move |tx| session::end_others(tx, ana.id, None)).await.unwrap();
            let answer = form.end().await;
            assert_eq!(answer.status, 401, "{path}: {}", answer.text);
        }
        assert_eq!(w.count("passkey").await, 0);
        node.stop().await;
    }

    async fn replaced_password_confirms_nothing(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let (browser, proof) = (w.browser(ana.id).await, proof_of(&ana));
        // In the same session, which stays open after the password change.
        let hash = kit::password::hash(NEW_PASSWORD, &kit::Rng::seeded(3));
        job(w, move |tx| profile::set_password(tx, ana.id, &hash)).await.unwrap();
        assert!(!job(w, move |tx| proof.is_still_valid(tx)).await.unwrap());
        let mut browser = browser;
        let answer = browser.post("/confirm", &[("password", PASSWORD)]).await;
        assert_eq!(answer.status, 422);
    }

    async fn new_password_or_address_invalidates_links(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let verify = job(w, move |tx| link::create(tx, LinkKind::Verify, Some(ana.id), Some("eve@example.org".to_owned()))).await.unwrap();
        // A new password invalidates earlier links.
        reset_of(w, &ana).await;
        let refused = job(w, move |tx| authentication::confirm_email(tx, verify.reveal())).await.unwrap_err();
        assert_eq!(refused.code, Code::Gone);
        // A new address invalidates reset links sent to the old one.
        let (_, token) = job(w, move |tx| authentication::create_reset_link(tx, "ana@example.org")).await.unwrap();
        let verify = job(w, move |tx| link::create(tx, LinkKind::Verify, Some(ana.id), Some("new@example.org".to_owned()))).await.unwrap();
        job(w, move |tx| authentication::confirm_email(tx, verify.reveal())).await.unwrap();
        let refused = job(w, move |tx| authentication::reset_password(tx, token.reveal(), "x")).await.unwrap_err();
        assert_eq!(refused.code, Code::Gone);
        let refused = job(w, move |tx| authentication::create_reset_link(tx, "ana@example.org")).await.unwrap_err();
        assert_eq!(refused.code, Code::NotFound);
    }

    async fn demoted_admin_cannot_create_a_key(w: &World) {
        let olga = w.user(Role::Owner, "olga@example.org").await;
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let page = browser.get("/admin/keys/new").await.ok();
        let nonce = page.text.split("name=\"nonce\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let fields = [("name", "Eve"), ("scopes", "teams:read"), ("expires", "90"), ("nonce", nonce.as_str())];
        let form = SlowForm::begin(&browser, "/admin/keys/new", &fields).await;
        let before = w.count("api_key").await;
        at_harbour(w, move |tx| removal::change_role(tx, olga.id, ana.id, Role::Member)).await.unwrap();
        let answer = form.end().await;
        assert_eq!(answer.status, 403, "{}", answer.text);
        at_harbour(w, move |tx| removal::change_role(tx, olga.id, ana.id, Role::Admin)).await.unwrap();
        let form = SlowForm::begin(&browser, "/admin/keys/new", &fields).await;
        at_harbour(w, move |tx| removal::remove(tx, olga.id, ana.id)).await.unwrap();
        let answer = form.end().await;
        assert_eq!(answer.status, 401, "{}", answer.text);
        assert_eq!(w.count("api_key").await, before);
    }

    async fn revoked_key_changes_nothing(w: &World) {
        let (key, caller) = w.client_with_key(new_key("teams:write")).await;
        let body = r#"{"name":"Late"}"#;
        let upload = Upload::begin(&caller, body).await;
        at_harbour(w, move |tx| api_key::revoke(tx, key.id)).await.unwrap();
        upload.end(body).await.assert_problem(401, "invalid_credentials");
        assert_eq!(w.count("team").await, 0);
    }

    async fn app_changes_nothing_after_its_user_loses_a_permission(w: &World) {
        let club = w.club().await;
        let body = r#"{"name":"Late"}"#;
        let admin = w.client_for_user(club.admin.id, "teams:write").await;
        let (by, id) = (club.owner.id, club.admin.id);
        let upload = Upload::begin(&admin, body).await;
        at_harbour(w, move |tx| removal::change_role(tx, by, id, Role::Member)).await.unwrap();
        upload.end(body).await.assert_problem(403, "forbidden");
        at_harbour(w, move |tx| removal::change_role(tx, by, id, Role::Admin)).await.unwrap();
        let upload = Upload::begin(&admin, body).await;
        at_harbour(w, move |tx| grant::revoke_all_in_club(tx, id, "test")).await.unwrap();
        upload.end(body).await.assert_problem(401, "invalid_credentials");
        // A coach who leaves the team while the request is in progress.
        let coach = w.client_for_user(club.coach.id, "events:write").await;
        let event = json!({ "team_id": club.hawks, "type": "game", "starts_at": "2026-09-10T18:00" }).to_string();
        let upload = Upload::begin_at(&coach, "/api/public/v1/events", &event).await;
        w.owner.delete(&format!("/teams/{}/roster/{}", club.hawks, club.kim.member)).await.ok();
        let answer = upload.end(&event).await;
        assert!(matches!(answer.status, 403 | 409), "{}", answer.text);
        assert_eq!(w.count("event").await, 0);
        assert_eq!(w.count("team").await, 2);
    }

    async fn cannot_consent_after_signing_out_or_leaving(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let olga = w.user(Role::Owner, "olga@example.org").await;
        let client = register_app(w, Kind::Native, "http://127.0.0.1/cb", "teams:read teams:write").await;
        let start_request = |session: SessionId| {
            let (app, redirect) = (client.app.id, authorization_request::RedirectTarget { redirect_uri: "http://127.0.0.1/cb".to_owned(), state: None });
            let start_request = authorization_request::AuthorizationRequest { scopes: client.app.scopes, challenge: None, prompt: authorization_request::Prompt::default() };
            let who = UserSession { user: ana.id, session };
            at_harbour(w, move |tx| {
                let token = pending_request::create(tx, app, redirect, &start_request, Some(who))?;
                pending_request::open(tx, &token, who)?;
                Ok(token)
            })
        };
        let answer = |token: Token, session: SessionId| {
            let options = CodeOptions { key: w.node.app.secrets.key("oauth code"), ttl: seconds(60) };
            let who = UserSession { user: ana.id, session };
            at_harbour(w, move |tx| pending_request::answer(tx, &token, who, true, &options))
        };
        // A session that ended.
        let session = session_of(w, ana.id, false).await;
        let token = start_request(session).await.unwrap();
        job(w, move |tx| session::end(tx, ana.id, session)).await.unwrap();
        assert_eq!(answer(token, session).await.unwrap_err().code, Code::InvalidCredentials);
        // A lower role: only the remaining permissions are granted.
        let session = session_of(w, ana.id, false).await;
        let token = start_request(session).await.unwrap();
        at_harbour(w, move |tx| removal::change_role(tx, olga.id, ana.id, Role::Member)).await.unwrap();
        let answered = answer(token, session).await.unwrap();
        assert!(matches!(answered, AnswerResult::Redirect(_, Err(_))) || w.count("oauth_code").await == 1);
        // A user who left the club.
        at_harbour(w, move |tx| removal::change_role(tx, olga.id, ana.id, Role::Admin)).await.unwrap();
        let token = start_request(session).await.unwrap();
        at_harbour(w, move |tx| {
            touchline::accounts::roles::remove(tx, olga.id, ana.id).map(drop)
        }).await.unwrap();
        assert!(matches!(answer(token, session).await.unwrap(), AnswerResult::Redirect(_, Err(_))));
    }

    async fn code_ends_with_the_session_or_membership(w: &World) {
        let olga = w.user(Role::Owner, "olga@example.org").await;
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let client = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        let issue_code = async |session: SessionId| {
            let new = NewCode { app: client.app.id, user: ana.id, session, redirect_uri: CALLBACK.to_owned(),
                scopes: client.app.scopes, challenge: None };
            at_harbour(w, move |tx| {
                let code = Token::generate(TokenKind::Code, tx.rng());
                code::issue(tx, new, &code, seconds(60))?;
                Ok(code)
            }).await.unwrap()
        };
        let exchange = async |code: Token| {
            let (app, sent) = (client.app.clone(), CodeExchange { code, redirect_uri: None, verifier: None });
            at_harbour(w, move |tx| code::exchange(tx, &app, &sent, token_lifetimes())).await.unwrap()
        };
        let session = session_of(w, ana.id, false).await;
        let code = issue_code(session).await;
        assert!(exchange(code).await.is_ok());
        let code = issue_code(session).await;
        reset_of(w, &ana).await;
        assert!(exchange(code).await.is_err(), "the session ended");
        let session = session_of(w, ana.id, false).await;
        let code = issue_code(session).await;
        at_harbour(w, move |tx| touchline::accounts::roles::remove(tx, olga.id, ana.id).map(drop)).await.unwrap();
        assert!(exchange(code).await.is_err(), "the user left");
    }

    async fn revoked_secret_is_refused(w: &World) {
        let client = register_app(w, Kind::Server, CALLBACK, "teams:read").await;
        let (secret_text, id) = (client.secret.clone().unwrap(), client.app.id);
        let fields = [("client_id", client.id.as_str()), ("client_secret", secret_text.as_str()), ("token", "x")];
        let revoked = post_form(&w.nobody, "/oauth/revoke", &fields).await.ok();
        assert_eq!((revoked.header("content-type"), revoked.text.as_str()), (Some("application/json"), "{}"));
        assert_eq!(revoked.header("cache-control"), Some("no-store"));
        at_harbour(w, move |tx| {
            for live in secret::list_active(tx, id)? {
                secret::revoke(tx, id, live.id)?;
            }
            Ok(())
        }).await.unwrap();
        assert_eq!(post_form(&w.nobody, "/oauth/revoke", &fields).await.status, 401);
        at_harbour(w, move |tx| app::disable(tx, id)).await.unwrap();
        assert_eq!(post_form(&w.nobody, "/oauth/revoke", &fields).await.status, 401);
    }
}
