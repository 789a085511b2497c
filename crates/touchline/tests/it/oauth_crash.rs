//! A story about a power cut between a code and its tokens: both or neither.

use std::time::Duration;

use kit::Clock;
use kit::secret::{Token, TokenKind};
use store::Scope;
use testkit::process::Program;
use testkit::{Client, Engine, TestDatabase};
use touchline::accounts::rights::Scopes;
use touchline::accounts::user;
use touchline::ids::{AccountId, AppId};
use touchline::oauth::code::{self, NewCode};
use touchline::signin::session::{self, Method, NewSession};

use crate::oauth_flow::{VERIFIER, query};
use kit::secret::sha256;

/// Many codes that wait to be exchanged.
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
            let code = Token::make(TokenKind::Code, tx.dice());
            let new = NewCode {
                app,
                user,
                session: session.id,
                redirect_uri: "https://scores.example/cb".to_owned(),
                scopes: Scopes::parse("teams:read").unwrap(),
                challenge: Some(sha256(VERIFIER.as_bytes())),
            };
            code::give(tx, new, &code, Duration::from_secs(600))?;
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
        let form = client.with("Content-Type", "application/x-www-form-urlencoded");
        let answer = form.try_send("POST", "/oauth/token", Some(&query(&fields))).await;
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

/// How many codes were used, how many grants there are, how many tokens.
async fn counted(database: &TestDatabase, account: AccountId) -> (i64, i64, i64) {
    let db = database.open(Clock::system());
    let counted = db.read(Scope::account(account, "test"), |db| {
        db.one(
            "select (select count(*) from oauth_code where account_id = :account and used_at is not null and grant_id is not null) as used,
                    (select count(*) from oauth_grant where account_id = :account) as grants,
                    (select count(*) from oauth_token where account_id = :account) as tokens",
            store::bind! {},
        )
    });
    let counted: Result<_, store::Error> = counted.await;
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    counted.unwrap()
}

/// A club with an owner and an app.
fn harbour(program: &Program) -> (AccountId, String) {
    let made = program.json(&["account", "create", "--name", "Harbour", "--tier", "league"]);
    let account = made["account"]["id"].as_str().unwrap().to_owned();
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
    let words = [
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
    let app = program.json(&words)["app"]["client_id"].as_str().unwrap().to_owned();
    (account.parse().unwrap(), app)
}

async fn survives(engine: Engine) {
    let Some(database) = TestDatabase::new(engine).await else { return };
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
        .flag("--database", &database.url)
        .variable("TOUCHLINE_OAUTH_REQUESTS", "1000000");
    let (account, app) = harbour(&program);
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
    database.left_alone().await;
    let (used, grants, tokens) = counted(&database, account).await;
    assert_eq!(
        (grants, tokens),
        (used, 2 * used),
        "a code is used with all that comes of it, or not at all"
    );
    let service = program.serve(&[]);
    let client = Client::new(service.address, None);
    for (_, token) in answers.iter().filter(|(_, token)| token.is_some()).take(20) {
        Client::new(service.address, token.as_deref()).get("/teams").await.ok();
    }
    // What was not answered either works now or was used up; never twice.
    let unanswered: Vec<_> =
        answers.iter().filter(|(_, token)| token.is_none()).map(|(code, _)| code.clone()).collect();
    let again = exchange(client, app, unanswered).await;
    let fresh = again.iter().filter(|(_, token)| token.is_some()).count();
    let (later, ..) = counted(&database, account).await;
    assert_eq!(usize::try_from(later - used).unwrap(), fresh);
    service.stop();
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_leaves_no_half_issued_token_on_sqlite() {
    survives(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_leaves_no_half_issued_token_on_postgres() {
    survives(Engine::Postgres).await;
}
