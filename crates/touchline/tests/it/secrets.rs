//! Tests that no secret appears in the log or in the database.

use kit::{Clock, totp};
use store::Scope;
use testkit::process::Program;
use testkit::{Browser, Client, Engine, TestDatabase, TestResponse, json};
use touchline::signin::set_up;

use crate::admin_apps::{id_of, register_app};
use crate::admin_keys::{between, create_key, key_value};
use crate::admin_webhooks::{add_webhook, decode_base64, secret_of};
use crate::joining::link_in;
use crate::oauth_flow::{
    VERIFIER, answer_consent, challenge, encode_form, post_form, query_parameter, token_pair,
};
use crate::setup::{ANSWERS, PASSWORD};
use crate::signin::sign_in;
use crate::signin_attacks::dump;
use crate::signin_two_step::{recovery_codes, totp_secret};

const CALLBACK: &str = "https://scores.example/cb";
const NEWCOMER: &str = "nine grey herons cross the field";

/// Turns on two-step sign-in; returns its secret and the recovery codes in several encodings.
async fn turn_on_two_step(browser: &mut Browser) -> Vec<String> {
    let page = browser.get("/account/two-step/set-up").await.ok();
    let seed = totp_secret(&page.text);
    let code = totp::code(&seed, totp::step(Clock::system().now()));
    let page = browser.post("/account/two-step/set-up", &[("code", &code)]).await.ok();
    let codes = recovery_codes(&page.text);
    let mut owner = browser.clone().with_cookie(None);
    sign_in(&mut owner, "ana@example.org", PASSWORD).await.redirects_to("/sign-in/code?next=%2F");
    owner.get("/sign-in/code").await.ok();
    owner.post("/sign-in/code", &[("code", &codes[0])]).await.redirects_to("/");
    let bytes = format!("{seed:?}").trim_matches(['[', ']']).to_owned();
    let without_dashes = codes.iter().map(|code| code.replace('-', ""));
    let encodings = [totp::base32(&seed), kit::secret::hex(&seed), bytes, owner.cookie.unwrap()];
    encodings.into_iter().chain(without_dashes).chain(codes.clone()).collect()
}

/// Creates a key and uses it.
async fn key(browser: &mut Browser, nobody: &Client) -> Vec<String> {
    let value = key_value(&create_key(browser, "Website", &["teams:read"]).await.ok());
    Client::new(nobody.address, Some(&value)).get("/teams").await.ok();
    vec![value]
}

/// Creates a webhook over the API and rotates its secret, both idempotently. It subscribes to an
/// event that does not occur here.
async fn webhook_by_key(browser: &mut Browser, nobody: &Client) -> Vec<String> {
    let key =
        key_value(&create_key(browser, "Hooks", &["teams:read", "webhooks:write"]).await.ok());
    let caller = Client::new(nobody.address, Some(&key));
    let body = json!({ "url": "https://hooks.example.org/touchline", "events": ["team.archived"] });
    let created =
        caller.with_header("Idempotency-Key", "make").post("/webhooks", body).await.created();
    let rotate = format!("/webhooks/{}/rotate_secret", created.id());
    let rotated =
        caller.with_header("Idempotency-Key", "rotate").post(&rotate, json!({})).await.ok();
    let secret_of_answer =
        |answer: &TestResponse| answer.data()["secret"].as_str().unwrap().to_owned();
    vec![key, secret_of_answer(&created), secret_of_answer(&rotated)]
}

/// Registers an app and completes the OAuth flow.
async fn app(browser: &mut Browser, nobody: &Client) -> Vec<String> {
    let page = register_app(browser, "server", CALLBACK).await.ok();
    let (id, secret) = (id_of(&page).to_string(), between(&page, "<code id=\"secret\">", "<"));
    let authorize_query = encode_form(&[
        ("response_type", "code"),
        ("client_id", &id),
        ("redirect_uri", CALLBACK),
        ("scope", "teams:read"),
        ("code_challenge", &challenge(VERIFIER)),
        ("code_challenge_method", "S256"),
    ]);
    let redirect =
        answer_consent(browser, &format!("/oauth/authorize?{authorize_query}"), "allow").await;
    let code = query_parameter(&redirect, "code").unwrap();
    let credentials = [("client_id", id.as_str()), ("client_secret", secret)];
    let exchange =
        [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)];
    let (access, refresh) = token_pair(
        &post_form(nobody, "/oauth/token", &[&credentials[..], &exchange].concat()).await,
    );
    let refresh_fields = [("grant_type", "refresh_token"), ("refresh_token", &refresh)];
    token_pair(
        &post_form(nobody, "/oauth/token", &[&credentials[..], &refresh_fields].concat()).await,
    );
    Client::new(nobody.address, Some(&access)).get("/teams").await.ok();
    vec![secret.to_owned(), code, access, refresh, VERIFIER[..40].to_owned()]
}

/// Adds a webhook on a page, also for an event that does not occur here.
async fn webhook_by_page(browser: &mut Browser) -> Vec<String> {
    let page =
        add_webhook(browser, "https://hooks.example.org/x", &[("events", "team.archived")]).await;
    let secret = secret_of(&page.ok());
    let bytes = decode_base64(secret.trim_start_matches("whsec_"));
    let bytes_text = format!("{bytes:?}").trim_matches(['[', ']']).to_owned();
    vec![secret, kit::secret::hex(&bytes), bytes_text]
}

/// Invites somebody, who accepts.
async fn invitation(browser: &mut Browser) -> Vec<String> {
    browser.get("/admin/members/invite").await.ok();
    let fields = [("email", "bo@example.org"), ("role", "admin")];
    let link = link_in(&browser.post("/admin/members/invite", &fields).await);
    let mut new_user = browser.clone().with_cookie(None);
    new_user.get(&link).await.ok();
    let fields = [("name", "Bo"), ("email", "bo@example.org"), ("password", NEWCOMER)];
    let joined = new_user.post(&format!("{link}/account"), &fields).await;
    assert_eq!(joined.status, 303, "{}", joined.text);
    vec![link.trim_start_matches("/join/").to_owned(), NEWCOMER.to_owned()]
}

async fn secrets_stay_secret(engine: Engine) {
    let Some(database) = TestDatabase::new(engine).await else { return };
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
        .flag("--database", &database.url)
        .flag("--log", "debug");
    let service = program.serve(&[]);
    let db = database.open(Clock::system());
    let token = db.write(Scope::system("set-up"), set_up::create_link).await.unwrap().unwrap();
    let path = format!("/set-up/{}", token.reveal());
    let (mut browser, nobody) = (Browser::new(service.address), Client::new(service.address, None));
    browser.get(&path).await.ok();
    browser.post(&path, &ANSWERS).await.redirects_to("/set-up");
    let mut secrets = vec![token.reveal().to_owned(), PASSWORD.to_owned()];
    secrets.extend(browser.cookie.clone());
    secrets.extend(key(&mut browser, &nobody).await);
    secrets.extend(webhook_by_key(&mut browser, &nobody).await);
    secrets.extend(app(&mut browser, &nobody).await);
    secrets.extend(webhook_by_page(&mut browser).await);
    secrets.extend(invitation(&mut browser).await);
    secrets.extend(turn_on_two_step(&mut browser).await);
    let (_, log) = service.stop();
    let dump = dump(&db).await;
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    assert!(log.contains("POST /oauth/token 200") && log.contains("POST /set-up/ 303"), "{log}");
    assert!(dump.contains("ana@example.org") && dump.contains("user.joined"));
    for secret in &secrets {
        // The part after the prefix is the secret.
        let core = secret.rsplit('_').next().unwrap();
        assert!(secret.len() >= 16 && core.len() >= 16, "{secret} is too short to be a secret");
        assert!(!log.contains(core), "{secret} is in the log: {log}");
        assert!(!dump.contains(core), "{secret} is in the database");
    }
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_stay_secret_on_sqlite() {
    secrets_stay_secret(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_stay_secret_on_postgres() {
    secrets_stay_secret(Engine::Postgres).await;
}
