//! Stories about rights that end while a request is under way: what was checked at its beginning must still hold in the
//! job that changes something.

use std::sync::mpsc;

use kit::secret::{Token, TokenKind};
use store::{Scope, Tx};
use testkit::people::PASSWORD;
use testkit::world::new_key;
use testkit::{Answer, Browser, World, both, json, seconds};
use touchline::accounts::user::{self, Role, User};
use touchline::accounts::{api_key, own};
use touchline::admin::removal;
use touchline::error::{Code, Result};
use touchline::ids::{SessionId, UserId};
use touchline::oauth::app::Kind;
use touchline::oauth::code::{self, Exchange, NewCode};
use touchline::oauth::request::{self, Answered, Answerer, Making};
use touchline::oauth::token::Lives;
use touchline::oauth::{app, ask, grant, secret};
use touchline::signin::entry::{self, PasswordProof};
use touchline::signin::link::{self, LinkKind};
use touchline::signin::passkey::{self, Credential};
use touchline::signin::session::{self, Browser as Known, Method, NewSession};
use touchline::signin::two_step;

use crate::http::Upload;
use crate::oauth_flow::{CALLBACK, registered, send};
use crate::passkeys::{Phone, asked_for_new, browser as browser_of, named};
use crate::signin_two_step::{code as code_of, set_up};

const NEW: &str = "seven quiet otters fold paper";

/// Runs a job that belongs to no club, in a lane of its own.
async fn job<T: Send + 'static>(
    w: &World,
    work: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
) -> Result<T> {
    w.db().write(Scope::system("test"), work).await
}

/// Runs a job of Harbour.
async fn at_harbour<T: Send + 'static>(
    w: &World,
    work: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
) -> Result<T> {
    w.db().write(Scope::account(w.harbour, "test"), work).await
}

/// Chooses a new password by a link, as somebody does who was robbed of the old one.
fn reset(tx: &Tx<'_>, email: &str) -> Result<()> {
    let (_, token) = entry::reset_link(tx, email)?;
    let hash = kit::password::hash(NEW, tx.dice());
    entry::reset(tx, token.reveal(), &hash).map(drop)
}

async fn reset_of(w: &World, user: &User) {
    let email = user.email.clone();
    job(w, move |tx| reset(tx, &email)).await.unwrap();
}

/// The password of a user was compared and found right.
fn proof_of(user: &User) -> PasswordProof {
    let verified = user.password_hash.clone().unwrap();
    PasswordProof { user: user.id, verified, renewed: None }
}

/// A session of a user that was begun at this moment.
async fn session_of(w: &World, user: UserId, pending: bool) -> SessionId {
    let club = Some(w.harbour);
    let new =
        NewSession { user, club, pending, method: Method::Password, browser: Known::default() };
    job(w, move |tx| session::begin(tx, new)).await.unwrap().0.id
}

/// A form whose head was sent, so that the service knows who sends it, and whose fields are still to come.
struct Late {
    upload: Upload,
    body: String,
}

impl Late {
    async fn begin(browser: &Browser, path: &str, fields: &[(&str, &str)]) -> Self {
        let (client, body) = browser.form(fields);
        Self { upload: Upload::begin_at(&client, path, &body).await, body }
    }

    async fn end(self) -> Answer {
        self.upload.end(&self.body).await
    }
}

fn lives() -> Lives {
    Lives { access: seconds(3600), refresh: seconds(3600), grace: seconds(60) }
}

both! {
    async fn a_password_that_was_replaced_begins_no_session(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let proof = proof_of(&ana);
        let enter = |proof: PasswordProof| {
            job(w, move |tx| entry::enter_with_password(tx, &proof, Known::default(), None))
        };
        assert!(enter(proof.clone()).await.unwrap().is_some());
        reset_of(w, &ana).await;
        assert!(enter(proof.clone()).await.unwrap().is_none());
        // A better hash of the old password does not bring it back either.
        let renewed = Some(kit::password::hash(PASSWORD, &kit::Dice::seeded(2)));
        assert!(enter(PasswordProof { renewed, ..proof }).await.unwrap().is_none());
        let now = job(w, move |tx| user::find(tx, ana.id)).await.unwrap();
        assert!(enter(proof_of(&now)).await.unwrap().is_some());
        assert_eq!(w.count("session").await, 1);
    }

    async fn a_reset_that_is_under_way_is_waited_for(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let (proof, email, id) = (proof_of(&ana), ana.email.clone(), ana.id);
        let (locked, is_locked) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel();
        let db = w.db().clone();
        let resetting = tokio::task::spawn(async move {
            let work = move |tx: &Tx<'_>| {
                user::lock(tx, id)?;
                locked.send(()).unwrap();
                may_go_on.recv().unwrap();
                reset(tx, &email)
            };
            db.write(Scope::system("reset"), work).await
        });
        tokio::task::spawn_blocking(move || is_locked.recv().unwrap()).await.unwrap();
        let db = w.db().clone();
        let entering = tokio::task::spawn(async move {
            let work = move |tx: &Tx<'_>| entry::enter_with_password(tx, &proof, Known::default(), None);
            db.write(Scope::system("sign-in"), work).await
        });
        go_on.send(()).unwrap();
        resetting.await.unwrap().unwrap();
        assert!(entering.await.unwrap().unwrap().is_none());
        assert_eq!(w.count("session").await, 0);
    }

    async fn a_code_comes_too_late_after_a_reset(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let (seed, papers) = set_up(w, &ana).await;
        let key = w.node.app.secrets.key("totp");
        let enter = async |pending: SessionId, code: String| {
            let (id, key) = (ana.id, key.clone());
            job(w, move |tx| entry::enter_with_code(tx, &key, (id, pending), &code, Known::default())).await
        };
        let pending = session_of(w, ana.id, true).await;
        reset_of(w, &ana).await;
        let late = enter(pending, code_of(w, &seed)).await.unwrap_err();
        assert_eq!(late.code, Code::InvalidCredentials);
        assert_eq!(enter(pending, papers[0].clone()).await.unwrap_err().code, Code::InvalidCredentials);
        assert_eq!(w.count("session").await, 0);
        // Neither code was used up, and each works once.
        let pending = session_of(w, ana.id, true).await;
        assert!(enter(pending, papers[0].clone()).await.unwrap().is_some());
        let pending = session_of(w, ana.id, true).await;
        assert!(enter(pending, papers[0].clone()).await.unwrap().is_none());
        // Nothing is accepted once two-step sign-in is off.
        job(w, move |tx| two_step::turn_off(tx, ana.id)).await.unwrap();
        assert!(enter(pending, code_of(w, &seed)).await.unwrap().is_none());
        assert!(enter(pending, papers[1].clone()).await.unwrap().is_none());
    }

    async fn a_code_form_is_refused_after_a_reset(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let (seed, _) = set_up(w, &ana).await;
        let mut browser = w.newcomer();
        browser.get("/sign-in").await.ok();
        browser.post("/sign-in", &[("email", "ana@example.org"), ("password", PASSWORD)]).await
            .leads_to("/sign-in/code?next=%2F");
        browser.get("/sign-in/code").await.ok();
        let late = Late::begin(&browser, "/sign-in/code", &[("code", &code_of(w, &seed))]).await;
        reset_of(w, &ana).await;
        late.end().await.leads_to("/sign-in");
        assert_eq!(w.count("session").await, 0);
    }

    async fn a_passkey_that_was_removed_begins_no_session(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let new = || Credential { credential_id: vec![1; 16], static_state: vec![2], dynamic_state: vec![3], metadata: String::new() };
        let add = new();
        let found = job(w, move |tx| passkey::add(tx, ana.id, "Phone", add)).await.unwrap();
        let sign_in = |found: passkey::Passkey| {
            job(w, move |tx| passkey::sign_in(tx, &found, vec![4], Known::default(), None))
        };
        job(w, move |tx| passkey::remove(tx, ana.id, found.id)).await.unwrap();
        assert_eq!(sign_in(found).await.unwrap_err().code, Code::InvalidCredentials);
        // The same one, added again, is another passkey.
        let add = new();
        let found = job(w, move |tx| passkey::add(tx, ana.id, "Phone", add)).await.unwrap();
        assert!(sign_in(found.clone()).await.is_ok());
        assert_eq!(sign_in(found).await.unwrap_err().code, Code::InvalidCredentials);
        assert_eq!(w.count("session").await, 1);
    }

    async fn nothing_is_changed_in_a_session_that_ended_meanwhile(w: &World) {
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
            let late = Late::begin(&browser, path, fields).await;
            job(w, move |tx| session::end_others(tx, ana.id, None)).await.unwrap();
            let answer = late.end().await;
            assert_eq!(answer.status, 401, "{path}: {}", answer.text);
            assert_eq!(answer.header("set-cookie"), None, "{path}");
        }
        let now = job(w, move |tx| user::find(tx, ana.id)).await.unwrap();
        assert_eq!((&now.name, &now.email, &now.password_hash), (&ana.name, &ana.email, &ana.password_hash));
        assert_eq!((w.count("session").await, w.count("ceremony").await), (0, 0));
    }

    async fn a_passkey_is_added_in_no_session_that_ended_meanwhile(w: &World) {
        // A passkey needs a name, not an address.
        let node = named(w).await;
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let mut browser = browser_of(w, &node, &ana).await;
        let made = Phone::new().make(&asked_for_new(&mut browser).await);
        let finish = [("credential", made.as_str()), ("name", "Phone")];
        for (path, fields) in [("/account/passkeys/begin", &[][..]), ("/account/passkeys/finish", &finish)] {
            let browser = browser_of(w, &node, &ana).await;
            let late = Late::begin(&browser, path, fields).await;
            job(w, move |tx| session::end_others(tx, ana.id, None)).await.unwrap();
            let answer = late.end().await;
            assert_eq!(answer.status, 401, "{path}: {}", answer.text);
        }
        assert_eq!(w.count("passkey").await, 0);
        node.stop().await;
    }

    async fn a_password_confirms_nothing_once_it_was_replaced(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let (browser, proof) = (w.browser(ana.id).await, proof_of(&ana));
        // In the same session, which the new password leaves open.
        let hash = kit::password::hash(NEW, &kit::Dice::seeded(3));
        job(w, move |tx| own::set_password(tx, ana.id, &hash)).await.unwrap();
        assert!(!job(w, move |tx| proof.holds(tx)).await.unwrap());
        let mut same = browser;
        let answer = same.post("/confirm", &[("password", PASSWORD)]).await;
        assert_eq!(answer.status, 422);
    }

    async fn a_link_goes_to_the_address_that_a_user_has_at_the_commit(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let verify = job(w, move |tx| link::make(tx, LinkKind::Verify, Some(ana.id), Some("eve@example.org".to_owned()))).await.unwrap();
        // A new password takes back links that were sent before it.
        reset_of(w, &ana).await;
        let late = job(w, move |tx| entry::confirm_email(tx, verify.reveal())).await.unwrap_err();
        assert_eq!(late.code, Code::Gone);
        // A new address takes back links to choose a password that were sent to the old one.
        let (_, token) = job(w, move |tx| entry::reset_link(tx, "ana@example.org")).await.unwrap();
        let verify = job(w, move |tx| link::make(tx, LinkKind::Verify, Some(ana.id), Some("new@example.org".to_owned()))).await.unwrap();
        job(w, move |tx| entry::confirm_email(tx, verify.reveal())).await.unwrap();
        let late = job(w, move |tx| entry::reset(tx, token.reveal(), "x")).await.unwrap_err();
        assert_eq!(late.code, Code::Gone);
        let none = job(w, move |tx| entry::reset_link(tx, "ana@example.org")).await.unwrap_err();
        assert_eq!(none.code, Code::NotFound);
    }

    async fn an_admin_who_became_a_member_makes_no_key(w: &World) {
        let olga = w.user(Role::Owner, "olga@example.org").await;
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let mut browser = w.browser(ana.id).await;
        let page = browser.get("/admin/keys/new").await.ok();
        let nonce = page.text.split("name=\"nonce\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let fields = [("name", "Eve"), ("scopes", "teams:read"), ("expires", "90"), ("nonce", nonce.as_str())];
        let late = Late::begin(&browser, "/admin/keys/new", &fields).await;
        let before = w.count("api_key").await;
        at_harbour(w, move |tx| removal::change_role(tx, olga.id, ana.id, Role::Member)).await.unwrap();
        let answer = late.end().await;
        assert_eq!(answer.status, 403, "{}", answer.text);
        at_harbour(w, move |tx| removal::change_role(tx, olga.id, ana.id, Role::Admin)).await.unwrap();
        let late = Late::begin(&browser, "/admin/keys/new", &fields).await;
        at_harbour(w, move |tx| removal::remove(tx, olga.id, ana.id)).await.unwrap();
        let answer = late.end().await;
        assert_eq!(answer.status, 401, "{}", answer.text);
        assert_eq!(w.count("api_key").await, before);
    }

    async fn a_key_that_was_revoked_changes_nothing_more(w: &World) {
        let (key, caller) = w.caller(new_key("teams:write")).await;
        let body = r#"{"name":"Late"}"#;
        let late = Upload::begin(&caller, body).await;
        at_harbour(w, move |tx| api_key::revoke(tx, key.id)).await.unwrap();
        late.end(body).await.refused(401, "invalid_credentials");
        assert_eq!(w.count("team").await, 0);
    }

    async fn an_app_whose_user_lost_a_right_changes_nothing_more(w: &World) {
        let cast = w.cast().await;
        let body = r#"{"name":"Late"}"#;
        let admin = w.acting_for(cast.admin.id, "teams:write").await;
        let (by, id) = (cast.owner.id, cast.admin.id);
        let late = Upload::begin(&admin, body).await;
        at_harbour(w, move |tx| removal::change_role(tx, by, id, Role::Member)).await.unwrap();
        late.end(body).await.refused(403, "forbidden");
        at_harbour(w, move |tx| removal::change_role(tx, by, id, Role::Admin)).await.unwrap();
        let late = Upload::begin(&admin, body).await;
        at_harbour(w, move |tx| grant::revoke_all_in_club(tx, id, "test")).await.unwrap();
        late.end(body).await.refused(401, "invalid_credentials");
        // A coach who left the team while the event was on its way.
        let coach = w.acting_for(cast.coach.id, "events:write").await;
        let event = json!({ "team_id": cast.hawks, "type": "game", "starts_at": "2026-09-10T18:00" }).to_string();
        let late = Upload::begin_at(&coach, "/api/public/v1/events", &event).await;
        w.owner.delete(&format!("/teams/{}/roster/{}", cast.hawks, cast.kim.member)).await.ok();
        let answer = late.end(&event).await;
        assert!(matches!(answer.status, 403 | 409), "{}", answer.text);
        assert_eq!(w.count("event").await, 0);
        assert_eq!(w.count("team").await, 2);
    }

    async fn nobody_consents_who_signed_out_or_left(w: &World) {
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let olga = w.user(Role::Owner, "olga@example.org").await;
        let client = registered(w, Kind::Native, "http://127.0.0.1/cb", "teams:read teams:write").await;
        let asked = |session: SessionId| {
            let (app, way) = (client.app.id, ask::Way { redirect_uri: "http://127.0.0.1/cb".to_owned(), state: None });
            let asked = ask::Asked { scopes: client.app.scopes, challenge: None, prompt: ask::Prompt::default() };
            let who = Answerer { user: ana.id, session };
            at_harbour(w, move |tx| {
                let token = request::keep(tx, app, way, &asked, Some(who))?;
                request::open(tx, &token, who)?;
                Ok(token)
            })
        };
        let answer = |token: Token, session: SessionId| {
            let making = Making { key: w.node.app.secrets.key("oauth code"), life: seconds(60) };
            let who = Answerer { user: ana.id, session };
            at_harbour(w, move |tx| request::answer(tx, &token, who, true, &making))
        };
        // A session that ended.
        let session = session_of(w, ana.id, false).await;
        let token = asked(session).await.unwrap();
        job(w, move |tx| session::end(tx, ana.id, session)).await.unwrap();
        assert_eq!(answer(token, session).await.unwrap_err().code, Code::InvalidCredentials);
        // A role that became less: only what is left is allowed.
        let session = session_of(w, ana.id, false).await;
        let token = asked(session).await.unwrap();
        at_harbour(w, move |tx| removal::change_role(tx, olga.id, ana.id, Role::Member)).await.unwrap();
        let said = answer(token, session).await.unwrap();
        assert!(matches!(said, Answered::Told(_, Err(_))) || w.count("oauth_code").await == 1);
        // A user who left the club.
        at_harbour(w, move |tx| removal::change_role(tx, olga.id, ana.id, Role::Admin)).await.unwrap();
        let token = asked(session).await.unwrap();
        at_harbour(w, move |tx| {
            touchline::accounts::belonging::remove(tx, olga.id, ana.id).map(drop)
        }).await.unwrap();
        assert!(matches!(answer(token, session).await.unwrap(), Answered::Told(_, Err(_))));
    }

    async fn a_code_is_worth_nothing_once_its_user_or_its_app_is_gone(w: &World) {
        let olga = w.user(Role::Owner, "olga@example.org").await;
        let ana = w.user(Role::Admin, "ana@example.org").await;
        let client = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        let give = async |session: SessionId| {
            let new = NewCode { app: client.app.id, user: ana.id, session, redirect_uri: CALLBACK.to_owned(),
                scopes: client.app.scopes, challenge: None };
            at_harbour(w, move |tx| {
                let code = Token::make(TokenKind::Code, tx.dice());
                code::give(tx, new, &code, seconds(60))?;
                Ok(code)
            }).await.unwrap()
        };
        let exchange = async |code: Token| {
            let (app, sent) = (client.app.clone(), Exchange { code, redirect_uri: None, verifier: None });
            at_harbour(w, move |tx| code::exchange(tx, &app, &sent, lives())).await.unwrap()
        };
        let session = session_of(w, ana.id, false).await;
        let given = give(session).await;
        assert!(exchange(given).await.is_ok());
        let given = give(session).await;
        reset_of(w, &ana).await;
        assert!(exchange(given).await.is_err(), "the session ended");
        let session = session_of(w, ana.id, false).await;
        let given = give(session).await;
        at_harbour(w, move |tx| touchline::accounts::belonging::remove(tx, olga.id, ana.id).map(drop)).await.unwrap();
        assert!(exchange(given).await.is_err(), "the user left");
    }

    async fn a_client_whose_secret_was_revoked_gets_no_token(w: &World) {
        let client = registered(w, Kind::Server, CALLBACK, "teams:read").await;
        let (right, id) = (client.secret.clone().unwrap(), client.app.id);
        let fields = [("client_id", client.id.as_str()), ("client_secret", right.as_str()), ("token", "x")];
        let told = send(&w.nobody, "/oauth/revoke", &fields).await.ok();
        assert_eq!((told.header("content-type"), told.text.as_str()), (Some("application/json"), "{}"));
        assert_eq!(told.header("cache-control"), Some("no-store"));
        at_harbour(w, move |tx| {
            for live in secret::live(tx, id)? {
                secret::revoke(tx, id, live.id)?;
            }
            Ok(())
        }).await.unwrap();
        assert_eq!(send(&w.nobody, "/oauth/revoke", &fields).await.status, 401);
        at_harbour(w, move |tx| app::disable(tx, id)).await.unwrap();
        assert_eq!(send(&w.nobody, "/oauth/revoke", &fields).await.status, 401);
    }
}
