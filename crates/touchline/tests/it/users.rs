//! Tests of users that the command line creates.

use std::process::Output;

use store::Scope;
use testkit::process::Program;
use testkit::{Engine, TestDatabase, Value};

const PASSWORD: &str = "lantern-otter-quarry";

/// A club, and the program to manage it.
struct Club {
    database: TestDatabase,
    program: Program,
    account: String,
}

impl Club {
    async fn new(engine: Engine) -> Option<Self> {
        let database = TestDatabase::new(engine).await?;
        let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
            .flag("--database", &database.url);
        let created = program.json(&["account", "create", "--name", "Harbour"]);
        let account = created["account"]["id"].as_str().unwrap().to_owned();
        Some(Self { database, program, account })
    }

    fn create(&self, email: &str, role: &str, password: &str) -> Output {
        let arguments = [
            "user",
            "create",
            "--account",
            &self.account,
            "--email",
            email,
            "--name",
            "Rita Duarte",
            "--role",
            role,
            "--password-stdin",
            "--json",
        ];
        self.program.run_with_input(&arguments, &format!("{password}\n"))
    }

    fn promote(&self, email: &str, role: &str) -> Output {
        self.program.run(&[
            "user",
            "promote",
            "--account",
            &self.account,
            "--email",
            email,
            "--role",
            role,
            "--json",
        ])
    }
}

fn user(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    object["user"].clone()
}

/// Asserts that the command failed with one line that contains this text, and that the password is
/// not repeated.
fn refused(output: &Output, text: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && stderr.contains(text), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(!stderr.contains(PASSWORD) && !stdout.contains(PASSWORD));
}

macro_rules! on_both {
    ($($name:ident)+) => {$(
        mod $name {
            #[tokio::test]
            async fn sqlite() {
                super::$name(testkit::Engine::Sqlite).await;
            }

            #[tokio::test]
            async fn postgres() {
                super::$name(testkit::Engine::Postgres).await;
            }
        }
    )+};
}
on_both! { creates_lists_and_promotes_a_user rejects_invalid_input stores_only_a_hash_of_the_password }

async fn creates_lists_and_promotes_a_user(engine: Engine) {
    let Some(club) = Club::new(engine).await else { return };
    let rita = user(&club.create("Rita@example.org", "owner", PASSWORD));
    assert_eq!((&rita["email"], &rita["role"]), (&"Rita@example.org".into(), &"owner".into()));
    assert!(rita["id"].as_str().unwrap().starts_with("usr_"));
    refused(&club.create("rita@EXAMPLE.org", "member", PASSWORD), "already belongs");
    let bo = user(&club.create("bo@example.org", "member", PASSWORD));
    assert_eq!(bo["role"], "member");

    refused(&club.promote("rita@example.org", "admin"), "last owner");
    assert_eq!(user(&club.promote("bo@example.org", "owner"))["role"], "owner");
    assert_eq!(user(&club.promote("rita@example.org", "admin"))["role"], "admin");
    refused(&club.promote("nobody@example.org", "admin"), "no user");

    let other = club.program.json(&["account", "create", "--name", "Owls"]);
    let other = other["account"]["id"].as_str().unwrap().to_owned();
    let joined = club.program.json(&[
        "user",
        "create",
        "--account",
        &other,
        "--email",
        "RITA@example.org",
        "--name",
        "Another",
        "--role",
        "admin",
    ]);
    assert_eq!(
        (&joined["user"]["id"], &joined["user"]["name"]),
        (&rita["id"], &"Rita Duarte".into())
    );
    let listed = club.program.json(&["user", "list", "--account", &club.account]);
    assert_eq!(listed["users"].as_array().unwrap().len(), 2);
    club.database.remove().await;
}

async fn rejects_invalid_input(engine: Engine) {
    let Some(club) = Club::new(engine).await else { return };
    refused(&club.create("rita", "owner", PASSWORD), "valid email address");
    refused(&club.create("rita@example.org", "owner", "short"), "at least 12");
    refused(&club.create("rita@example.org", "owner", "password1234"), "easy to guess");
    refused(&club.create("rita@example.org", "owner", &"x".repeat(2000)), "at most 1024");
    let unknown_account = [
        "user",
        "create",
        "--account",
        "acc_01k8000000e008000000000009",
        "--email",
        "a@example.org",
        "--name",
        "A",
        "--role",
        "owner",
    ];
    refused(&club.program.run(&unknown_account), "No such object");
    let listed = club.program.json(&["user", "list", "--account", &club.account]);
    assert_eq!(listed["users"].as_array().unwrap().len(), 0);
    club.database.remove().await;
}

async fn stores_only_a_hash_of_the_password(engine: Engine) {
    let Some(club) = Club::new(engine).await else { return };
    let output = club.create("rita@example.org", "owner", PASSWORD);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("argon2"));
    let db = club.database.open(kit::Clock::system());
    let user = db.read(Scope::system("test"), |db| {
        touchline::accounts::user::find_by_email(db, "rita@example.org")
    });
    let hash = user.await.unwrap().unwrap().password_hash.unwrap();
    assert!(hash.starts_with("$argon2id$") && !hash.contains(PASSWORD));
    assert!(kit::password::verify(PASSWORD, Some(&hash)));
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    club.database.remove().await;
}
