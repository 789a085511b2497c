//! Crash test of the code exchange: a code and its tokens are committed together or not at all.

use std::time::Duration;

use kit::Clock;
use kit::secret::{Token, TokenKind};
use store::Scope;
use testkit::process::Program;
use testkit::{Client, Engine, TestDatabase};
use touchline::accounts::session::{self, Method, NewSession};
use touchline::accounts::user;
use touchline::ids::{AccountId, AppId};
use touchline::oauth::code::{self, NewCode};
use touchline::rights::Scopes;

use crate::oauth_flow::{VERIFIER, encode_form};
use kit::secret::sha256;

/// Creates authorization codes that were not exchanged yet.
async fn codes(database: &TestDatabase, account: AccountId, app: AppId) -> Vec<String> {
    let db = database.open(Clock::system());
    let (user,) = db
        .read(Scope::account(account, "test"), |db| {
            Ok::<_, touchline::error::Error>((user::list(db)?[0].id,))
        })
        .await
        .unwrap();
    let new = NewSession {
        user,
        club: Some(account),
        pending: false,
        method: Method::Password,
        browser: session::Browser::default(),
    };
    let (session, _) =
        db.write(Scope::system("test"), move |tx| session::begin(tx, new)).await.unwrap();
    let made = db.write(Scope::account(account, "test"), move |tx| {
        let mut codes = Vec::new();
        for _ in 0..400 {
            let code = Token::generate(TokenKind::Code, tx.rng());
            let new = NewCode {
                app,
                user,
                session: session.id,
                redirect_uri: "https://scores.example/cb".to_owned(),
                scopes: Scopes::parse("teams:read").unwrap(),
                challenge: Some(sha256(VERIFIER.as_bytes())),
            };
            code::issue(tx, new, &code, Duration::from_secs(600))?;
            codes.push(code.reveal().to_owned());
        }
        Ok::<_, touchline::error::Error>(codes)
    });
    let codes = made.await.unwrap();
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    codes
}

async fn exchange(
    client: Client,
    app: String,
    codes: Vec<String>,
) -> Vec<(String, Option<String>)> {
    let mut answers = Vec::new();
    for code in codes {
        let fields = [
            ("client_id", app.as_str()),
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("code_verifier", VERIFIER),
        ];
        let form = client.with_header("Content-Type", "application/x-www-form-urlencoded");
        let answer = form.try_send("POST", "/oauth/token", Some(&encode_form(&fields))).await;
        let gone = answer.is_none();
        let token =
            answer.and_then(|answer| answer.body["access_token"].as_str().map(str::to_owned));
        answers.push((code, token));
        if gone {
            break;
        }
    }
    answers
}

/// The numbers of used codes, grants and tokens.
async fn count_rows(database: &TestDatabase, account: AccountId) -> (i64, i64, i64) {
    let db = database.open(Clock::system());
    let counts = db.read(Scope::account(account, "test"), |db| {
        db.one(
            "select (select count(*) from oauth_code where account_id = :account and used_at is not null and grant_id is not null) as used,
                    (select count(*) from oauth_grant where account_id = :account) as grants,
                    (select count(*) from oauth_token where account_id = :account) as tokens",
            store::bind! {},
        )
    });
    let counts: Result<_, store::Error> = counts.await;
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    counts.unwrap()
}

/// Creates a club with an owner and an app.
fn create_club(program: &Program) -> (AccountId, String) {
    let created = program.json(&["account", "create", "--name", "Harbour", "--tier", "league"]);
    let account = created["account"]["id"].as_str().unwrap().to_owned();
    program.json(&[
        "user",
        "create",
        "--account",
        &account,
        "--email",
        "ana@example.org",
        "--name",
        "Ana",
        "--role",
        "owner",
    ]);
    let arguments = [
        "oauth-app",
        "create",
        "--account",
        &account,
        "--name",
        "Scores",
        "--kind",
        "spa",
        "--redirect-uri",
        "https://scores.example/cb",
    ];
    let app = program.json(&arguments)["app"]["client_id"].as_str().unwrap().to_owned();
    (account.parse().unwrap(), app)
}

async fn crash_leaves_no_partial_exchange(engine: Engine) {
    let Some(database) = TestDatabase::new(engine).await else { return };
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
        .flag("--database", &database.url)
        .variable("TOUCHLINE_OAUTH_REQUESTS", "1000000");
    let (account, app) = create_club(&program);
    let codes = codes(&database, account, app.parse().unwrap()).await;
    let mut service = program.serve(&[]);
    let client = Client::new(service.address, None);
    let runs: Vec<_> = codes
        .chunks(100)
        .map(|codes| tokio::task::spawn(exchange(client.clone(), app.clone(), codes.to_vec())))
        .collect();
    tokio::time::sleep(Duration::from_millis(150)).await;
    service.kill();
    let mut answers = Vec::new();
    for run in runs {
        answers.extend(run.await.unwrap());
    }
    database.wait_for_disconnects().await;
    let (used, grants, tokens) = count_rows(&database, account).await;
    assert_eq!(
        (grants, tokens),
        (used, 2 * used),
        "a code is used together with its grant and tokens, or not at all"
    );
    let service = program.serve(&[]);
    let client = Client::new(service.address, None);
    for (_, token) in answers.iter().filter(|(_, token)| token.is_some()).take(20) {
        Client::new(service.address, token.as_deref()).get("/teams").await.ok();
    }
    // A code without a response either works now or was used; it never works twice.
    let unanswered: Vec<_> =
        answers.iter().filter(|(_, token)| token.is_none()).map(|(code, _)| code.clone()).collect();
    let retried = exchange(client, app, unanswered).await;
    let succeeded = retried.iter().filter(|(_, token)| token.is_some()).count();
    let (used_later, ..) = count_rows(&database, account).await;
    assert_eq!(usize::try_from(used_later - used).unwrap(), succeeded);
    service.stop();
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn crash_leaves_no_partial_exchange_on_sqlite() {
    crash_leaves_no_partial_exchange(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn crash_leaves_no_partial_exchange_on_postgres() {
    crash_leaves_no_partial_exchange(Engine::Postgres).await;
}
