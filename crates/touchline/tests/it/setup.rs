//! Tests of the first run: the set-up link, its page and the first owner.

use std::io::Read;
use std::process::{Child, Command, Stdio};

use store::Scope;
use testkit::process::Program;
use testkit::{Browser, Engine, TestDatabase, Value, World, both, seconds};
use touchline::accounts::user::Role;
use touchline::signin::set_up;

use crate::signin::{RefusedPage, sign_in};

pub(crate) const PASSWORD: &str = "seven quiet otters fold paper";
pub(crate) const ANSWERS: [(&str, &str); 6] = [
    ("club", "Harbour Juniors"),
    ("sport", "Football"),
    ("timezone", "Europe/Lisbon"),
    ("name", "Ana Silva"),
    ("email", "ana@example.org"),
    ("password", PASSWORD),
];

async fn create_link_path(w: &World) -> Option<String> {
    let token = w.db().write(Scope::system("set-up"), set_up::create_link).await.unwrap();
    token.map(|token| format!("/set-up/{}", token.reveal()))
}

both! {
    async fn link_creates_the_owner_once(w: &World) {
        let old = create_link_path(w).await.unwrap();
        let path = create_link_path(w).await.unwrap();
        let mut browser = w.anonymous_browser();
        browser.get(&old).await.refused_page(410);
        browser.get(&path).await.ok().shows("Europe/Lisbon").shows("America/New_York");
        let mut answers = ANSWERS;
        answers[5].1 = "password1234";
        browser.post(&path, &answers).await.refused_page(422).shows("easy to guess").shows("Harbour Juniors");
        answers = ANSWERS;
        answers[4].1 = "ana";
        browser.post(&path, &answers).await.refused_page(422).shows("valid email address");
        answers = ANSWERS;
        answers[2].1 = "Nope/Zone";
        browser.post(&path, &answers).await.refused_page(422).shows("This time zone does not exist");
        answers = ANSWERS;
        answers[0].1 = "";
        browser.post(&path, &answers).await.refused_page(422);
        browser.post(&path, &ANSWERS).await.redirects_to("/set-up");
        browser.get("/account").await.ok().shows("Harbour Juniors");
        browser.get(&path).await.refused_page(410);
        w.anonymous_browser().get(&path).await.refused_page(410);
        assert_eq!(create_link_path(w).await, None);
        let mut other = w.anonymous_browser();
        sign_in(&mut other, "ana@example.org", PASSWORD).await.redirects_to("/");
        other.get("/").await.ok();
        // The test world has other clubs, so the page that offers demo data is not available.
        browser.get("/set-up").await.refused_page(404);
        browser.post("/set-up", &[]).await.refused_page(404);
    }

    async fn concurrent_submissions_create_one_owner(w: &World) {
        let path = create_link_path(w).await.unwrap();
        let mut browsers = Vec::new();
        for _ in 0..4 {
            // All browsers open the page before one submits it.
            let mut browser = w.anonymous_browser();
            browser.get(&path).await.ok();
            browsers.push(browser);
        }
        let mut tasks = tokio::task::JoinSet::new();
        for (number, mut browser) in browsers.into_iter().enumerate() {
            let path = path.clone();
            tasks.spawn(async move {
                let email = format!("ana{number}@example.org");
                let mut answers = ANSWERS;
                answers[4].1 = &email;
                browser.post(&path, &answers).await.status
            });
        }
        let mut statuses = tasks.join_all().await;
        statuses.sort_unstable();
        assert_eq!(statuses, [303, 410, 410, 410]);
        assert_eq!((w.count("app_user").await, w.count("account_user").await), (1, 1));
        assert_eq!(w.count("account").await, 3);
    }

    async fn link_is_invalid_once_there_is_an_owner_and_after_thirty_minutes(w: &World) {
        let path = create_link_path(w).await.unwrap();
        w.anonymous_browser().get(&path).await.ok();
        w.advance_clock(seconds(1801));
        w.anonymous_browser().get(&path).await.refused_page(410);
        let path = create_link_path(w).await.unwrap();
        let owner = w.user(Role::Owner, "bo@example.org").await;
        w.anonymous_browser().get(&path).await.refused_page(410);
        let id = owner.id;
        let disable = move |tx: &store::Tx<'_>| {
            tx.execute("update app_user set disabled_at = :now where id = :id /* any account */", store::bind! { id })
        };
        w.db().write(Scope::system("test"), disable).await.unwrap();
        let mut browser = w.anonymous_browser();
        browser.get(&path).await.refused_page(410);
        browser.get("/sign-in").await.ok();
        browser.post(&path, &ANSWERS).await.refused_page(410);
        assert_eq!(create_link_path(w).await, None);
    }
}

/// A running service that prints one JSON object on its standard output.
struct RunningService {
    child: Child,
    output: Value,
}

impl RunningService {
    fn start(database: &TestDatabase, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_touchline"))
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--database", &database.url])
            .arg("--data")
            .arg(database.folder.path())
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = Vec::new();
        let mut stdout = child.stdout.take().unwrap();
        let mut byte = [0];
        while stdout.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
            line.push(byte[0]);
        }
        Self { output: serde_json::from_slice(&line).unwrap(), child }
    }

    fn browser(&self) -> Browser {
        let url = self.output["url"].as_str().unwrap();
        Browser::new(url.strip_prefix("http://").unwrap().parse().unwrap())
    }

    fn stop(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[tokio::test]
async fn first_run_prints_a_link_until_there_is_an_owner() {
    let database = TestDatabase::new(Engine::Sqlite).await.unwrap();
    let service = RunningService::start(&database, &[]);
    let link = service.output["set_up"].as_str().unwrap().to_owned();
    let path = link.strip_prefix(service.output["url"].as_str().unwrap()).unwrap();
    let mut browser = service.browser();
    // The port is bound before the link is printed: the first request waits until the service is
    // ready.
    browser.get(path).await.ok().shows("Set up Touchline").shows("data-own-zone");
    let home_page = browser.get("/").await.ok().shows("touchline set-up-link");
    assert!(!home_page.text.contains(path.rsplit('/').next().unwrap()), "the link is a secret");
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
        .flag("--database", &database.url);
    let new_link = program.json(&["set-up-link"]);
    browser.get(path).await.refused_page(410);
    let path = new_link["path"].as_str().unwrap();
    browser.get(path).await.ok();
    browser.post(path, &ANSWERS).await.redirects_to("/set-up");
    browser.get("/set-up").await.ok().shows("Start empty").shows("Load demo club");
    browser.post("/set-up", &[]).await.redirects_to("/admin");
    browser.get("/account").await.ok().shows("Harbour Athletic (demo)");
    browser.get("/accounts").await.ok().shows("Harbour Juniors");
    browser.post("/set-up", &[]).await.refused_page(404);
    service.stop();
    let service = RunningService::start(&database, &[]);
    assert_eq!(service.output["set_up"], Value::Null);
    service.stop();
    let refused = program.run(&["set-up-link"]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("already has an owner"));
    database.remove().await;
}

#[tokio::test]
async fn demo_club_prints_how_to_sign_in() {
    let database = TestDatabase::new(Engine::Sqlite).await.unwrap();
    let service = RunningService::start(&database, &["--demo"]);
    let demo = service.output["demo"].clone();
    let password = demo["password"].as_str().unwrap();
    for person in ["owner", "coach", "parent"] {
        let ensure_users = demo["sign_ins"].as_array().unwrap();
        let email = ensure_users.iter().find(|entry| entry["who"] == person).unwrap()["email"]
            .as_str()
            .unwrap();
        let mut browser = service.browser();
        browser.get("/sign-in").await.ok();
        sign_in(&mut browser, email, password).await.redirects_to("/");
        browser.get("/").await.ok().shows("Harbour Athletic (demo)");
    }
    service.stop();
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
        .flag("--database", &database.url);
    let restarted = RunningService::start(&database, &["--demo"]);
    assert_eq!(restarted.output["demo"]["password"], demo["password"]);
    restarted.stop();
    program.json(&["seed", "demo", "--remove"]);
    assert!(!database.folder.path().join("demo.password").exists());
    database.remove().await;
}
