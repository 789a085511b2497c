//! A story about secrets: whoever reads the log or the database of a service learns none of them.

use kit::{Clock, totp};
use store::Scope;
use testkit::process::Program;
use testkit::{Answer, Browser, Client, Engine, TestDatabase, json};
use touchline::signin::set_up;

use crate::admin_apps::{id_of, register};
use crate::admin_keys::{between, make, value_of};
use crate::admin_webhooks::{add, base64, secret_of};
use crate::joining::link_in;
use crate::oauth_flow::{VERIFIER, answered, challenge, pair, parameter, query, send};
use crate::setup::{ANSWERS, PASSWORD};
use crate::signin::sign_in;
use crate::signin_attacks::dump;
use crate::signin_two_step::{codes, seed};

const CALLBACK: &str = "https://scores.example/cb";
const NEWCOMER: &str = "nine grey herons cross the field";

/// Turns two-step sign-in on; what an app and a sheet of paper know from then on.
async fn two_steps(browser: &mut Browser) -> Vec<String> {
    let page = browser.get("/account/two-step/set-up").await.ok();
    let seed = seed(&page.text);
    let code = totp::code(&seed, totp::step(Clock::system().now()));
    let page = browser.post("/account/two-step/set-up", &[("code", &code)]).await.ok();
    let codes = codes(&page.text);
    let mut owner = browser.clone().holding(None);
    sign_in(&mut owner, "ana@example.org", PASSWORD).await.leads_to("/sign-in/code?next=%2F");
    owner.get("/sign-in/code").await.ok();
    owner.post("/sign-in/code", &[("code", &codes[0])]).await.leads_to("/");
    let bytes = format!("{seed:?}").trim_matches(['[', ']']).to_owned();
    let plain = codes.iter().map(|code| code.replace('-', ""));
    let known = [totp::base32(&seed), kit::secret::hex(&seed), bytes, owner.cookie.unwrap()];
    known.into_iter().chain(plain).chain(codes.clone()).collect()
}

/// Makes a key and uses it.
async fn key(browser: &mut Browser, nobody: &Client) -> Vec<String> {
    let value = value_of(&make(browser, "Website", &["teams:read"]).await.ok());
    Client::new(nobody.address, Some(&value)).get("/teams").await.ok();
    vec![value]
}

/// Makes a webhook over the API and rotates its secret, in a way that may be repeated. It is told of nothing
/// that happens here.
async fn webhook_by_key(browser: &mut Browser, nobody: &Client) -> Vec<String> {
    let key = value_of(&make(browser, "Hooks", &["teams:read", "webhooks:write"]).await.ok());
    let caller = Client::new(nobody.address, Some(&key));
    let body = json!({ "url": "https://hooks.example.org/touchline", "events": ["team.archived"] });
    let made = caller.with("Idempotency-Key", "make").post("/webhooks", body).await.created();
    let rotate = format!("/webhooks/{}/rotate_secret", made.id());
    let rotated = caller.with("Idempotency-Key", "rotate").post(&rotate, json!({})).await.ok();
    let shown = |answer: &Answer| answer.data()["secret"].as_str().unwrap().to_owned();
    vec![key, shown(&made), shown(&rotated)]
}

/// Registers an app that comes all the way to its tokens.
async fn app(browser: &mut Browser, nobody: &Client) -> Vec<String> {
    let page = register(browser, "server", CALLBACK).await.ok();
    let (id, secret) = (id_of(&page).to_string(), between(&page, "<code id=\"secret\">", "<"));
    let question = query(&[
        ("response_type", "code"),
        ("client_id", &id),
        ("redirect_uri", CALLBACK),
        ("scope", "teams:read"),
        ("code_challenge", &challenge(VERIFIER)),
        ("code_challenge_method", "S256"),
    ]);
    let place = answered(browser, &format!("/oauth/authorize?{question}"), "allow").await;
    let code = parameter(&place, "code").unwrap();
    let proof = [("client_id", id.as_str()), ("client_secret", secret)];
    let exchange =
        [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)];
    let (access, refresh) =
        pair(&send(nobody, "/oauth/token", &[&proof[..], &exchange].concat()).await);
    let renew = [("grant_type", "refresh_token"), ("refresh_token", &refresh)];
    pair(&send(nobody, "/oauth/token", &[&proof[..], &renew].concat()).await);
    Client::new(nobody.address, Some(&access)).get("/teams").await.ok();
    vec![secret.to_owned(), code, access, refresh, VERIFIER[..40].to_owned()]
}

/// Adds a webhook on a page, which is told of nothing that happens here either.
async fn webhook_by_hand(browser: &mut Browser) -> Vec<String> {
    let page = add(browser, "https://hooks.example.org/x", &[("events", "team.archived")]).await;
    let secret = secret_of(&page.ok());
    let bytes = base64(secret.trim_start_matches("whsec_"));
    let shown = format!("{bytes:?}").trim_matches(['[', ']']).to_owned();
    vec![secret, kit::secret::hex(&bytes), shown]
}

/// Invites somebody, who comes.
async fn invitation(browser: &mut Browser) -> Vec<String> {
    browser.get("/admin/members/invite").await.ok();
    let fields = [("email", "bo@example.org"), ("role", "admin")];
    let link = link_in(&browser.post("/admin/members/invite", &fields).await);
    let mut newcomer = browser.clone().holding(None);
    newcomer.get(&link).await.ok();
    let fields = [("name", "Bo"), ("email", "bo@example.org"), ("password", NEWCOMER)];
    let made = newcomer.post(&format!("{link}/account"), &fields).await;
    assert_eq!(made.status, 303, "{}", made.text);
    vec![link.trim_start_matches("/join/").to_owned(), NEWCOMER.to_owned()]
}

async fn stay_secret(engine: Engine) {
    let Some(database) = TestDatabase::new(engine).await else { return };
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
        .flag("--database", &database.url)
        .flag("--log", "debug");
    let service = program.serve(&[]);
    let db = database.open(Clock::system());
    let token = db.write(Scope::system("set-up"), set_up::invite).await.unwrap().unwrap();
    let path = format!("/set-up/{}", token.reveal());
    let (mut browser, nobody) = (Browser::new(service.address), Client::new(service.address, None));
    browser.get(&path).await.ok();
    browser.post(&path, &ANSWERS).await.leads_to("/set-up");
    let mut secrets = vec![token.reveal().to_owned(), PASSWORD.to_owned()];
    secrets.extend(browser.cookie.clone());
    secrets.extend(key(&mut browser, &nobody).await);
    secrets.extend(webhook_by_key(&mut browser, &nobody).await);
    secrets.extend(app(&mut browser, &nobody).await);
    secrets.extend(webhook_by_hand(&mut browser).await);
    secrets.extend(invitation(&mut browser).await);
    secrets.extend(two_steps(&mut browser).await);
    let (_, log) = service.stop();
    let dump = dump(&db).await;
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    assert!(log.contains("POST /oauth/token 200") && log.contains("POST /set-up/ 303"), "{log}");
    assert!(dump.contains("ana@example.org") && dump.contains("user.joined"));
    for secret in &secrets {
        // What is behind the prefix is the secret.
        let core = secret.rsplit('_').next().unwrap();
        assert!(secret.len() >= 16 && core.len() >= 16, "{secret} is no secret");
        assert!(!log.contains(core), "{secret} stands in the log: {log}");
        assert!(!dump.contains(core), "{secret} lies in the database");
    }
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_stay_secret_on_sqlite() {
    stay_secret(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_stay_secret_on_postgres() {
    stay_secret(Engine::Postgres).await;
}
