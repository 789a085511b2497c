//! Stories about signatures: libraries that others wrote take them, and the receivers of our documentation work.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use standardwebhooks::Webhook as Library;
use store::Scope;
use testkit::receiver::Received;
use testkit::world::run;
use testkit::{Engine, Receiver, Value, World, json, programs, seconds};
use touchline::expected::Expected;
use touchline::webhooks::delivery::Status;
use touchline::webhooks::edit;
use touchline::webhooks::webhook::Ordering;

use crate::webhooks::{deliveries, happen, happen_as, means, subscribe_all};
use crate::webhooks_sample;

const GUIDE: &str = include_str!("../../../../docs/webhooks.md");

/// Lets the world's clock show the time that libraries compare with.
fn today(w: &World) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let shown = w.clock.clock().now().seconds().unsigned_abs();
    w.pass(seconds(now - shown));
}

/// A delivery as the programs of others are handed it.
fn handed(secret: &str, one: &Received, good: bool) -> Value {
    let body = std::str::from_utf8(&one.body).unwrap();
    json!({ "secret": secret, "body": body, "good": good, "headers": {
        "webhook-id": one.header("webhook-id"), "webhook-timestamp": one.header("webhook-timestamp"),
        "webhook-signature": one.header("webhook-signature") } })
}

/// Real deliveries of all sorts, before, during and after a change of the secret, and some that were tampered with.
async fn captured(w: &World) -> Vec<Value> {
    today(w);
    let receiver = Receiver::start().await;
    let made = subscribe_all(w, w.harbour, vec![receiver.url()], Ordering::Strict).await;
    let (id, old) = (made[0].0, made[0].1.reveal());
    let long = "Zoë 🏉 \u{2028}".repeat(2_000);
    happen_as(w, w.harbour, vec![json!("plain"), json!("Zoë 🏉\u{1b}"), json!(long), json!(1e21)])
        .await;
    w.deliver().await;
    let means = means(&w.node);
    let rotate = move |tx: &store::Tx<'_>| edit::rotate(tx, &means, id, &Expected::Anything);
    let (_, new) = w.db().write(Scope::account(w.harbour, "test"), rotate).await.unwrap();
    let new = new.reveal();
    happen(w, w.harbour, 1).await;
    w.deliver().await;
    let sent = receiver.received();
    assert!(sent[2].body.len() > 20_000);
    assert_eq!(sent[4].header("webhook-signature").split(' ').count(), 2);
    let mut all: Vec<_> = sent[..4].iter().map(|one| handed(&old, one, true)).collect();
    all.extend([handed(&old, &sent[4], true), handed(&new, &sent[4], true)]);
    all.extend([handed(&new, &sent[0], false)]);
    let mut tampered = handed(&old, &sent[1], false);
    tampered["body"] = tampered["body"].as_str().unwrap().replace("Zoë", "Zoe").into();
    let mut renamed = handed(&old, &sent[1], false);
    renamed["headers"]["webhook-id"] = sent[0].header("webhook-id").into();
    let mut later = handed(&old, &sent[1], false);
    later["headers"]["webhook-timestamp"] =
        (w.clock.clock().now().seconds() + 60).to_string().into();
    all.extend([tampered, renamed, later]);
    // A day later only the new one signs.
    w.pass(seconds(86_400));
    happen(w, w.harbour, 1).await;
    w.deliver().await;
    let last = receiver.received().pop().unwrap();
    assert_eq!(last.header("webhook-signature").split(' ').count(), 1);
    all
}

/// Asks a program which of these it takes.
fn asked(mut program: Command, all: &[Value]) -> Value {
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(serde_json::to_string(all).unwrap().as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn client(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients").join(name)
}

testkit::both! {
    async fn libraries_that_others_wrote_take_what_we_sign(w: &World) {
        let all = captured(w).await;
        let good: Vec<_> = all.iter().map(|one| one["good"].as_bool().unwrap()).collect();
        let crates: Vec<_> = all.iter().map(|one| {
            let library = Library::new(one["secret"].as_str().unwrap()).unwrap();
            let headers = one["headers"].as_object().unwrap().iter();
            let headers = headers.map(|(name, value)| (name.parse().unwrap(), value.as_str().unwrap().parse().unwrap()));
            library.verify(one["body"].as_str().unwrap().as_bytes(), &headers.collect()).is_ok()
        }).collect();
        assert_eq!(crates, good);
        if let Some(python) = programs::python() {
            let mut command = Command::new(python);
            command.arg(client("verify.py"));
            assert_eq!(asked(command, &all), json!({ "standardwebhooks": good }));
        }
        if let Some(folder) = programs::node() {
            let mut command = Command::new("node");
            command.arg(folder.join("verify.mjs")).current_dir(folder);
            assert_eq!(asked(command, &all), json!({ "standardwebhooks": good, "svix": good }));
        }
    }
}

/// The receiver of the guide that is written in a language.
fn sample(language: &str) -> &'static str {
    let begin = GUIDE.split_once(&format!("```{language}\n")).unwrap().1;
    begin.split_once("```").unwrap().0
}

/// A program that ends when the story does.
struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Delivers to a receiver that listens on this port, with its own secret and with another.
async fn is_understood(w: &World, port: u16, start: impl FnOnce(&str) -> Option<Listening>) {
    today(w);
    let url = format!("http://127.0.0.1:{port}/hook");
    let made = subscribe_all(w, w.harbour, vec![url.clone(), url], Ordering::Strict).await;
    let _listening = start(&made[0].1.reveal());
    // Some are compiled first.
    for _ in 0..3_000 {
        if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let long = "Zoë 🏉 ".repeat(2_000);
    happen_as(w, w.harbour, vec![json!("Zoë 🏉"), json!(long)]).await;
    w.deliver().await;
    let found: Vec<_> = deliveries(w, made[0].0).await.iter().map(|one| one.status).collect();
    assert_eq!(found, [Status::Succeeded; 2]);
    let strangers = deliveries(w, made[1].0).await;
    assert_eq!(strangers[0].attempts.0[0].status_code, Some(400));
}

/// Runs a receiver of the guide as a program, in a folder where it finds its packages.
fn runs(language: &str, folder: &Path, file: &str, program: &[&str]) {
    let path = folder.join(file);
    std::fs::write(&path, sample(language)).unwrap();
    run(Engine::Sqlite, async |w| {
        let port = free_port();
        let address = format!("127.0.0.1:{port}");
        is_understood(w, port, |secret| {
            let words =
                program.iter().map(|word| word.replace("FILE", &path.display().to_string()));
            let words: Vec<_> = words.map(|word| word.replace("ADDRESS", &address)).collect();
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).env("PORT", port.to_string()).env("WEBHOOK_SECRET", secret);
            command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
            Some(Listening(command.spawn().unwrap()))
        })
        .await;
    });
}

fn has(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

#[test]
fn the_receiver_in_typescript_works() {
    let Some(packages) = programs::node() else { return };
    let folder = tempfile::tempdir_in(packages).unwrap();
    runs("typescript", folder.path(), "receiver.mjs", &["node", "FILE"]);
}

#[test]
fn the_receiver_in_python_works() {
    let Some(python) = programs::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    runs("python", folder.path(), "receiver.py", &[&python, "FILE"]);
}

#[test]
fn the_receiver_in_go_works_where_there_is_go() {
    let folder = tempfile::tempdir().unwrap();
    if has("go") {
        runs("go", folder.path(), "receiver.go", &["go", "run", "FILE"]);
    }
}

#[test]
fn the_receiver_in_php_works_where_there_is_php() {
    let folder = tempfile::tempdir().unwrap();
    if has("php") {
        runs("php", folder.path(), "receiver.php", &["php", "-S", "ADDRESS", "FILE"]);
    }
}

#[test]
fn the_receiver_in_rust_works_and_is_the_one_of_the_guide() {
    let text = include_str!("webhooks_sample.rs").split_once("\n\n").unwrap().1;
    assert_eq!(sample("rust").trim(), text.trim());
    run(Engine::Sqlite, async |w| {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        is_understood(w, port, |secret| {
            let serving = axum::serve(listener, webhooks_sample::receiver(secret));
            tokio::task::spawn(async move { serving.await.unwrap() });
            None
        })
        .await;
    });
}

#[test]
fn the_guide_is_served() {
    run(Engine::Sqlite, async |w| {
        let page = w.nobody.get("/docs/webhooks").await.ok();
        assert!(
            page.text.contains(">Receiving webhooks</h1>") && page.text.contains("hash_equals")
        );
        assert!(page.header("content-type").unwrap().starts_with("text/html"));
    });
}
