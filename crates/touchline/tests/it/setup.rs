//! Stories about the first run: the link, the page, the owner.

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

async fn invited(w: &World) -> Option<String> {
    let made = w.db().write(Scope::system("set-up"), set_up::invite).await.unwrap();
    made.map(|token| format!("/set-up/{}", token.reveal()))
}

both! {
    async fn whoever_has_the_link_becomes_the_owner_once(w: &World) {
        let old = invited(w).await.unwrap();
        let path = invited(w).await.unwrap();
        let mut browser = w.newcomer();
        browser.get(&old).await.refused_page(410);
        browser.get(&path).await.ok().shows("Europe/Lisbon").shows("America/New_York");
        let mut answers = ANSWERS;
        answers[5].1 = "password1234";
        browser.post(&path, &answers).await.refused_page(422).shows("easy to guess").shows("Harbour Juniors");
        answers = ANSWERS;
        answers[4].1 = "ana";
        browser.post(&path, &answers).await.refused_page(422).shows("not an address");
        answers = ANSWERS;
        answers[2].1 = "Nope/Zone";
        browser.post(&path, &answers).await.refused_page(422).shows("There is no such time zone");
        answers = ANSWERS;
        answers[0].1 = "";
        browser.post(&path, &answers).await.refused_page(422);
        browser.post(&path, &ANSWERS).await.leads_to("/set-up");
        browser.get("/account").await.ok().shows("Harbour Juniors");
        browser.get(&path).await.refused_page(410);
        w.newcomer().get(&path).await.refused_page(410);
        assert_eq!(invited(w).await, None);
        let mut other = w.newcomer();
        sign_in(&mut other, "ana@example.org", PASSWORD).await.leads_to("/");
        other.get("/").await.leads_to("/admin");
        // Two clubs of the world were there before, so nobody has it to themselves.
        browser.get("/set-up").await.refused_page(404);
        browser.post("/set-up", &[]).await.refused_page(404);
    }

    async fn two_at_once_make_one_owner(w: &World) {
        let path = invited(w).await.unwrap();
        let mut browsers = Vec::new();
        for _ in 0..4 {
            // Everybody has the page before anybody sends it.
            let mut browser = w.newcomer();
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

    async fn the_link_is_dead_when_there_is_an_owner_or_its_time_is_up(w: &World) {
        let path = invited(w).await.unwrap();
        w.newcomer().get(&path).await.ok();
        w.pass(seconds(1801));
        w.newcomer().get(&path).await.refused_page(410);
        let path = invited(w).await.unwrap();
        let owner = w.user(Role::Owner, "bo@example.org").await;
        w.newcomer().get(&path).await.refused_page(410);
        let id = owner.id;
        let off = move |tx: &store::Tx<'_>| {
            tx.run("update app_user set disabled_at = :now where id = :id /* any account */", store::bind! { id })
        };
        w.db().write(Scope::system("test"), off).await.unwrap();
        let mut browser = w.newcomer();
        browser.get(&path).await.refused_page(410);
        browser.get("/sign-in").await.ok();
        browser.post(&path, &ANSWERS).await.refused_page(410);
        assert_eq!(invited(w).await, None);
    }
}

/// A service that says one JSON object on its standard output.
struct Told {
    child: Child,
    said: Value,
}

impl Told {
    fn start(database: &TestDatabase, words: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_touchline"))
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--database", &database.url])
            .arg("--data")
            .arg(database.folder.path())
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = Vec::new();
        let mut out = child.stdout.take().unwrap();
        let mut byte = [0];
        while out.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
            line.push(byte[0]);
        }
        Self { said: serde_json::from_slice(&line).unwrap(), child }
    }

    fn browser(&self) -> Browser {
        let url = self.said["url"].as_str().unwrap();
        Browser::new(url.strip_prefix("http://").unwrap().parse().unwrap())
    }

    fn stop(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[tokio::test]
async fn the_first_run_tells_a_link_until_there_is_an_owner() {
    let database = TestDatabase::new(Engine::Sqlite).await.unwrap();
    let service = Told::start(&database, &[]);
    let link = service.said["set_up"].as_str().unwrap().to_owned();
    let path = link.strip_prefix(service.said["url"].as_str().unwrap()).unwrap();
    let mut browser = service.browser();
    // The port is bound before the link is printed: the first request waits until the service is ready.
    browser.get(path).await.ok().shows("Set up Touchline").shows("data-own-zone");
    let hint = browser.get("/").await.ok().shows("touchline set-up-link");
    assert!(!hint.text.contains(path.rsplit('/').next().unwrap()), "the link is a secret");
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
        .flag("--database", &database.url);
    let again = program.json(&["set-up-link"]);
    browser.get(path).await.refused_page(410);
    let path = again["path"].as_str().unwrap();
    browser.get(path).await.ok();
    browser.post(path, &ANSWERS).await.leads_to("/set-up");
    browser.get("/set-up").await.ok().shows("Start empty").shows("Load demo data");
    browser.post("/set-up", &[]).await.leads_to("/admin");
    browser.get("/account").await.ok().shows("Harbour Athletic (demo)");
    browser.get("/accounts").await.ok().shows("Harbour Juniors");
    browser.post("/set-up", &[]).await.refused_page(404);
    service.stop();
    let service = Told::start(&database, &[]);
    assert_eq!(service.said["set_up"], Value::Null);
    service.stop();
    let refused = program.run(&["set-up-link"]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("already has an owner"));
    database.remove().await;
}

#[tokio::test]
async fn the_demo_club_tells_how_to_sign_in() {
    let database = TestDatabase::new(Engine::Sqlite).await.unwrap();
    let service = Told::start(&database, &["--demo"]);
    let demo = service.said["demo"].clone();
    let password = demo["password"].as_str().unwrap();
    for (person, home) in [("owner", "/admin"), ("coach", "/account"), ("parent", "/account")] {
        let known = demo["sign_ins"].as_array().unwrap();
        let email =
            known.iter().find(|one| one["who"] == person).unwrap()["email"].as_str().unwrap();
        let mut browser = service.browser();
        browser.get("/sign-in").await.ok();
        sign_in(&mut browser, email, password).await.leads_to("/");
        browser.get("/").await.leads_to(home);
    }
    service.stop();
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
        .flag("--database", &database.url);
    let again = Told::start(&database, &["--demo"]);
    assert_eq!(again.said["demo"]["password"], demo["password"]);
    again.stop();
    program.json(&["seed", "demo", "--remove"]);
    assert!(!database.folder.path().join("demo.password").exists());
    database.remove().await;
}
