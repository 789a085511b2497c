//! Tests of signatures: third-party libraries accept them, and the receivers of our documentation
//! work.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use standardwebhooks::Webhook as Library;
use store::Scope;
use testkit::receiver::ReceivedRequest;
use testkit::world::run;
use testkit::{Engine, Receiver, Value, World, json, programs, seconds};
use touchline::if_match::IfMatch;
use touchline::webhooks::delivery::Status;
use touchline::webhooks::edit;
use touchline::webhooks::webhook::Ordering;

use crate::webhooks::{deliveries, edit_context, publish_events, publish_objects, subscribe_all};
use crate::webhooks_sample;

const GUIDE: &str = include_str!("../../../../docs/webhooks.md");

/// Sets the test clock to the real time, which libraries compare with.
fn set_clock_to_now(w: &World) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let test_time = w.clock.clock().now().seconds().unsigned_abs();
    w.advance_clock(seconds(now - test_time));
}

/// A delivery as input for the verification programs.
fn delivery_json(secret: &str, delivery: &ReceivedRequest, valid: bool) -> Value {
    let body = std::str::from_utf8(&delivery.body).unwrap();
    json!({ "secret": secret, "body": body, "good": valid, "headers": {
        "webhook-id": delivery.header("webhook-id"), "webhook-timestamp": delivery.header("webhook-timestamp"),
        "webhook-signature": delivery.header("webhook-signature") } })
}

/// Real deliveries before, during and after a secret rotation, and some that were tampered with.
async fn capture_deliveries(w: &World) -> Vec<Value> {
    set_clock_to_now(w);
    let receiver = Receiver::start().await;
    let created = subscribe_all(w, w.harbour, vec![receiver.url()], Ordering::Strict).await;
    let (id, old) = (created[0].0, created[0].1.reveal());
    let long = "Zoë 🏉 \u{2028}".repeat(2_000);
    publish_objects(
        w,
        w.harbour,
        vec![json!("plain"), json!("Zoë 🏉\u{1b}"), json!(long), json!(1e21)],
    )
    .await;
    w.deliver().await;
    let context = edit_context(&w.node);
    let rotate = move |tx: &store::Tx<'_>| edit::rotate_secret(tx, &context, id, &IfMatch::Absent);
    let (_, new) = w.db().write(Scope::account(w.harbour, "test"), rotate).await.unwrap();
    let new = new.reveal();
    publish_events(w, w.harbour, 1).await;
    w.deliver().await;
    let requests = receiver.received();
    assert!(requests[2].body.len() > 20_000);
    assert_eq!(requests[4].header("webhook-signature").split(' ').count(), 2);
    let mut deliveries: Vec<_> =
        requests[..4].iter().map(|delivery| delivery_json(&old, delivery, true)).collect();
    deliveries
        .extend([delivery_json(&old, &requests[4], true), delivery_json(&new, &requests[4], true)]);
    deliveries.extend([delivery_json(&new, &requests[0], false)]);
    let mut tampered = delivery_json(&old, &requests[1], false);
    tampered["body"] = tampered["body"].as_str().unwrap().replace("Zoë", "Zoe").into();
    let mut renamed = delivery_json(&old, &requests[1], false);
    renamed["headers"]["webhook-id"] = requests[0].header("webhook-id").into();
    let mut shifted = delivery_json(&old, &requests[1], false);
    shifted["headers"]["webhook-timestamp"] =
        (w.clock.clock().now().seconds() + 60).to_string().into();
    deliveries.extend([tampered, renamed, shifted]);
    // A day later only the new secret signs.
    w.advance_clock(seconds(86_400));
    publish_events(w, w.harbour, 1).await;
    w.deliver().await;
    let last = receiver.received().pop().unwrap();
    assert_eq!(last.header("webhook-signature").split(' ').count(), 1);
    deliveries
}

/// Runs a program that reports which of these deliveries it accepts.
fn verify_with(mut program: Command, deliveries: &[Value]) -> Value {
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(serde_json::to_string(deliveries).unwrap().as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn client(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients").join(name)
}

testkit::both! {
    async fn third_party_libraries_accept_our_signatures(w: &World) {
        let deliveries = capture_deliveries(w).await;
        let expected: Vec<_> = deliveries.iter().map(|delivery| delivery["good"].as_bool().unwrap()).collect();
        let by_crate: Vec<_> = deliveries.iter().map(|delivery| {
            let library = Library::new(delivery["secret"].as_str().unwrap()).unwrap();
            let headers = delivery["headers"].as_object().unwrap().iter();
            let headers = headers.map(|(name, value)| (name.parse().unwrap(), value.as_str().unwrap().parse().unwrap()));
            library.verify(delivery["body"].as_str().unwrap().as_bytes(), &headers.collect()).is_ok()
        }).collect();
        assert_eq!(by_crate, expected);
        if let Some(python) = programs::python() {
            let mut command = Command::new(python);
            command.arg(client("verify.py"));
            assert_eq!(verify_with(command, &deliveries), json!({ "standardwebhooks": expected }));
        }
        if let Some(folder) = programs::node() {
            let mut command = Command::new("node");
            command.arg(folder.join("verify.mjs")).current_dir(folder);
            assert_eq!(verify_with(command, &deliveries), json!({ "standardwebhooks": expected, "svix": expected }));
        }
    }
}

/// The sample receiver of the guide in this language.
fn sample(language: &str) -> &'static str {
    let begin = GUIDE.split_once(&format!("```{language}\n")).unwrap().1;
    begin.split_once("```").unwrap().0
}

/// A process that is killed when dropped.
struct ReceiverProcess(Child);

impl Drop for ReceiverProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Delivers to a receiver on this port, with its own secret and with another.
async fn assert_receiver_works(
    w: &World,
    port: u16,
    start: impl FnOnce(&str) -> Option<ReceiverProcess>,
) {
    set_clock_to_now(w);
    let url = format!("http://127.0.0.1:{port}/hook");
    let webhooks = subscribe_all(w, w.harbour, vec![url.clone(), url], Ordering::Strict).await;
    let _process = start(&webhooks[0].1.reveal());
    // Some samples are compiled first.
    for _ in 0..3_000 {
        if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let long = "Zoë 🏉 ".repeat(2_000);
    publish_objects(w, w.harbour, vec![json!("Zoë 🏉"), json!(long)]).await;
    w.deliver().await;
    let statuses: Vec<_> =
        deliveries(w, webhooks[0].0).await.iter().map(|delivery| delivery.status).collect();
    assert_eq!(statuses, [Status::Succeeded; 2]);
    let other_deliveries = deliveries(w, webhooks[1].0).await;
    assert_eq!(other_deliveries[0].attempts.0[0].status_code, Some(400));
}

/// Runs a sample receiver of the guide as a program, in a folder where it finds its packages.
fn assert_sample_works(language: &str, folder: &Path, file: &str, program: &[&str]) {
    let path = folder.join(file);
    std::fs::write(&path, sample(language)).unwrap();
    run(Engine::Sqlite, async |w| {
        let port = free_port();
        let address = format!("127.0.0.1:{port}");
        assert_receiver_works(w, port, |secret| {
            let arguments = program
                .iter()
                .map(|argument| argument.replace("FILE", &path.display().to_string()));
            let arguments: Vec<_> =
                arguments.map(|argument| argument.replace("ADDRESS", &address)).collect();
            let mut command = Command::new(&arguments[0]);
            command
                .args(&arguments[1..])
                .env("PORT", port.to_string())
                .env("WEBHOOK_SECRET", secret);
            command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
            Some(ReceiverProcess(command.spawn().unwrap()))
        })
        .await;
    });
}

fn has(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

#[test]
fn typescript_receiver_works() {
    let Some(packages) = programs::node() else { return };
    let folder = tempfile::tempdir_in(packages).unwrap();
    assert_sample_works("typescript", folder.path(), "receiver.mjs", &["node", "FILE"]);
}

#[test]
fn python_receiver_works() {
    let Some(python) = programs::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    assert_sample_works("python", folder.path(), "receiver.py", &[&python, "FILE"]);
}

#[test]
fn go_receiver_works() {
    let folder = tempfile::tempdir().unwrap();
    if has("go") {
        assert_sample_works("go", folder.path(), "receiver.go", &["go", "run", "FILE"]);
    }
}

#[test]
fn php_receiver_works() {
    let folder = tempfile::tempdir().unwrap();
    if has("php") {
        assert_sample_works(
            "php",
            folder.path(),
            "receiver.php",
            &["php", "-S", "ADDRESS", "FILE"],
        );
    }
}

#[test]
fn rust_receiver_works_and_matches_the_guide() {
    let text = include_str!("webhooks_sample.rs").split_once("\n\n").unwrap().1;
    assert_eq!(sample("rust").trim(), text.trim());
    run(Engine::Sqlite, async |w| {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_receiver_works(w, port, |secret| {
            let serving = axum::serve(listener, webhooks_sample::receiver(secret));
            tokio::task::spawn(async move { serving.await.unwrap() });
            None
        })
        .await;
    });
}

#[test]
fn serves_the_guide() {
    run(Engine::Sqlite, async |w| {
        let page = w.nobody.get("/docs/webhooks").await.ok();
        assert!(page.text.contains("<title>Webhooks") && page.text.contains("hash_equals"));
        assert!(page.header("content-type").unwrap().starts_with("text/html"));
    });
}
