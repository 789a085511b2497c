//! Tests of email sending against a real mail server that behaves well or badly.

use std::time::{Duration, Instant};

use store::Scope;
use testkit::process::Program;
use testkit::{Engine, MailServer, TestDatabase, Value, World, both, json, seconds};
use touchline::ids::AccountId;
use touchline::mail::email::{self, NewEmail};
use touchline::smtp::server::SendOutcome;

use crate::mail::{
    create_person, email_to, get_email, mailer, node_with, node_with_mail, queue_email,
    queue_one_email,
};

pub(crate) fn header<'a>(email: &'a Value, name: &str) -> Option<&'a str> {
    let headers = email["headers"].as_array().unwrap();
    headers.iter().find(|pair| pair[0] == name).and_then(|pair| pair[1].as_str())
}

both! {
    async fn sends_all_parts_of_an_email(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = create_person(w, w.harbour, "ana@example.org").await;
        let subject = "Treino 🏉 muda de lugar, كل شيء يتغير, and a subject that is much too long for one line of a header to hold";
        let text = "Olá Ana 👋\n.\n.. dots\nالتدريب في السادسة\n\nEnd";
        let new = NewEmail {
            to_name: "Ana \"Zoë\" Silva, جدة".to_owned(),
            subject: subject.to_owned(),
            body_text: text.to_owned(),
            html_body: Some("<html><body><p>Olá 👋</p>\n.\n</body></html>".to_owned()),
            ..email_to(ana)
        };
        let id = queue_email(w, w.harbour, new).await;
        let node = node_with_mail(w, &server.url()).await;
        mailer(&node).send_due().await;

        let arrived = &server.emails(1)[0];
        assert_eq!(arrived["from"], "touchline@club.example.org");
        assert_eq!(arrived["to"], json!(["ana@example.org"]));
        assert_eq!(arrived["hello"], "club.example.org");
        assert_eq!(header(arrived, "Subject"), Some(subject));
        assert_eq!(header(arrived, "From"), Some("touchline@club.example.org"));
        let to = header(arrived, "To").unwrap();
        assert!(to.contains("Zoë") && to.contains("جدة") && to.ends_with("<ana@example.org>"), "{to}");
        assert_eq!(header(arrived, "Message-ID"), Some(format!("<{id}@club.example.org>").as_str()));
        assert_eq!(header(arrived, "Date"), Some("Sat, 05 Sep 2026 10:00:00 +0000"));
        assert_eq!(header(arrived, "Auto-Submitted"), Some("auto-generated"));
        assert_eq!(header(arrived, "List-Unsubscribe-Post"), Some("List-Unsubscribe=One-Click"));
        let token = node.app.unsubscribe_key.token(w.harbour, ana, "ana@example.org");
        let link = format!("https://club.example.org/unsubscribe/{token}");
        assert_eq!(header(arrived, "List-Unsubscribe"), Some(format!("<{link}>").as_str()));

        assert_eq!(arrived["kind"], "multipart/alternative");
        let body = arrived["text"].as_str().unwrap().replace("\r\n", "\n");
        let links = format!("Stop these emails: {link}\nChoose which emails you get: {link}/settings");
        assert_eq!(body.trim_end(), format!("{text}\n\n-- \n{links}"));
        let page = arrived["html"].as_str().unwrap();
        assert!(page.contains("<p>Olá 👋</p>") && page.contains(&format!("href=\"{link}\"")), "{page}");
        assert!(arrived["ascii"] == true && arrived["longest_line"].as_u64().unwrap() <= 998);

        let email = get_email(w, id).await;
        assert_eq!((&email["status"], &email["attempts"]), (&json!("sent"), &json!(1)));
        assert_eq!(email["sent_at"], "2026-09-05T10:00:00.000000Z");
        mailer(&node).send_due().await;
        assert!(server.is_empty(), "a sent email is not sent again");
        node.stop().await;
    }

    async fn names_and_subjects_cannot_add_headers(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = create_person(w, w.harbour, "ana@example.org").await;
        let breaks = ["\r\n", "\n", "\r", "\r\n ", "\u{85}", "\u{2028}", "\u{b}"];
        for end in breaks {
            let evil = format!("Ana{end}Bcc: eve@example.org{end}{end}<b>body</b>");
            let new = NewEmail { to_name: evil.clone(), subject: evil, ..email_to(ana) };
            queue_email(w, w.harbour, new).await;
        }
        for address in ["ana@example.org\r\nBcc: eve@x.org", "ana@example.org>, <eve@x.org", "ana"] {
            let new = NewEmail { to_address: address.to_owned(), ..email_to(ana) };
            queue_email(w, w.harbour, new).await;
        }
        let node = node_with_mail(w, &server.url()).await;
        mailer(&node).send_due().await;
        for arrived in server.emails(breaks.len()) {
            assert_eq!(arrived["to"], json!(["ana@example.org"]));
            assert_eq!((header(&arrived, "Bcc"), header(&arrived, "Cc")), (None, None), "{arrived}");
            assert!(arrived["text"].as_str().unwrap().starts_with("We meet at six."), "{arrived}");
            assert_eq!(arrived["headers"].as_array().unwrap().iter().filter(|pair| pair[0] == "Subject").count(), 1);
        }
        assert!(server.is_empty());
        let failed = w.owner.get("/emails?status=failed").await.ok();
        assert_eq!(failed.data().as_array().unwrap().len(), 3);
        node.stop().await;
    }

    async fn rejected_email_fails_with_the_reason(w: &World) {
        let Some(server) = MailServer::start(&["refuse"]) else { return };
        let id = queue_one_email(w).await;
        let node = node_with_mail(w, &server.url()).await;
        mailer(&node).send_due().await;
        let email = get_email(w, id).await;
        assert_eq!((&email["status"], &email["attempts"]), (&json!("failed"), &json!(1)));
        assert!(email["last_error"].as_str().unwrap().contains("5.1.1 No such person here"), "{email}");
        assert_eq!(email["sent_at"], Value::Null);
        node.stop().await;
    }

    async fn retries_after_two_temporary_failures(w: &World) {
        let Some(server) = MailServer::start(&["delay", "2"]) else { return };
        let id = queue_one_email(w).await;
        let node = node_with_mail(w, &server.url()).await;
        let mailer = mailer(&node);
        for (attempt, wait) in [(1, 72), (2, 360)] {
            mailer.send_due().await;
            let email = get_email(w, id).await;
            assert_eq!((&email["status"], &email["attempts"]), (&json!("pending"), &json!(attempt)));
            assert!(email["last_error"].as_str().unwrap().contains("451"), "{email}");
            w.advance_clock(seconds(wait));
        }
        mailer.send_due().await;
        let email = get_email(w, id).await;
        assert_eq!((&email["status"], &email["attempts"]), (&json!("sent"), &json!(3)));
        assert_eq!(email["last_error"], Value::Null);
        assert_eq!(server.emails(1).len(), 1);
        node.stop().await;
    }

    async fn times_out_when_the_server_hangs(w: &World) {
        let Some(server) = MailServer::start(&["hang"]) else { return };
        let id = queue_one_email(w).await;
        let node = node_with_mail(w, &server.url()).await;
        let began = Instant::now();
        mailer(&node).with_timeout(Duration::from_millis(300)).send_due().await;
        // The default timeout is one minute.
        assert!(began.elapsed() < Duration::from_secs(40));
        let email = get_email(w, id).await;
        assert_eq!((&email["status"], &email["attempts"]), (&json!("pending"), &json!(1)));
        assert!(email["last_error"].as_str().unwrap().contains("did not respond in time"), "{email}");
        node.stop().await;
    }

    async fn resends_with_the_same_message_id_when_the_reply_is_lost(w: &World) {
        let Some(server) = MailServer::start(&["lose", "1"]) else { return };
        let id = queue_one_email(w).await;
        let node = node_with_mail(w, &server.url()).await;
        mailer(&node).send_due().await;
        assert_eq!(get_email(w, id).await["status"], "pending");
        w.advance_clock(seconds(72));
        mailer(&node).send_due().await;
        assert_eq!(get_email(w, id).await["status"], "sent");
        let copies = server.emails(2);
        assert_eq!(header(&copies[0], "Message-ID"), header(&copies[1], "Message-ID"));
        node.stop().await;
    }

    async fn another_node_resends_after_a_crash(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let id = queue_one_email(w).await;
        let (crashing, surviving) = (node_with_mail(w, &server.url()).await, node_with_mail(w, &server.url()).await);
        let claim = crashing.app.db.write(Scope::account(w.harbour, "mailer"), move |tx| email::lease(tx, id));
        let claimed = claim.await.unwrap().unwrap();
        assert!(matches!(mailer(&crashing).send(&claimed).await, SendOutcome::Sent));
        crashing.stop().await;

        w.advance_clock(seconds(119));
        mailer(&surviving).send_due().await;
        assert_eq!(get_email(w, id).await["status"], "pending", "the claim has not expired yet");
        w.advance_clock(seconds(2));
        mailer(&surviving).send_due().await;
        let email = get_email(w, id).await;
        assert_eq!((&email["status"], &email["attempts"]), (&json!("sent"), &json!(2)));
        let copies = server.emails(2);
        assert_eq!(header(&copies[0], "Message-ID"), header(&copies[1], "Message-ID"));
        surviving.stop().await;
    }

    async fn two_nodes_send_each_email_once(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = create_person(w, w.harbour, "ana@example.org").await;
        let mut expected = Vec::new();
        for _ in 0..40 {
            let id = queue_email(w, w.harbour, email_to(ana)).await;
            expected.push(format!("<{id}@club.example.org>"));
        }
        let nodes = [node_with_mail(w, &server.url()).await, node_with_mail(w, &server.url()).await];
        let mailers = [mailer(&nodes[0]), mailer(&nodes[1])];
        tokio::join!(mailers[0].send_due(), mailers[1].send_due());
        let arrived = server.emails(40);
        let mut arrived: Vec<_> = arrived.iter().map(|email| header(email, "Message-ID").unwrap().to_owned()).collect();
        arrived.sort();
        assert_eq!(arrived, expected);
        assert!(server.is_empty());
        assert_eq!(w.owner.get("/emails?status=sent&limit=100").await.ok().data().as_array().unwrap().len(), 40);
        for node in nodes {
            node.stop().await;
        }
    }

    async fn signs_in_to_the_mail_server(w: &World) {
        let Some(server) = MailServer::start(&["sign-in"]) else { return };
        let id = queue_one_email(w).await;
        let wrong = format!("smtp://ana:wrong@127.0.0.1:{}", server.port);
        let node = node_with(w, &[("smtp_url", &wrong), ("mail_retries", "1m,1m")]).await;
        mailer(&node).send_due().await;
        // A wrong password is a problem of the server settings, so the email is retried.
        let email = get_email(w, id).await;
        assert_eq!((&email["status"], &email["attempts"]), (&json!("pending"), &json!(1)));
        assert!(email["last_error"].as_str().unwrap().contains("535"), "{email}");
        assert!(!email.to_string().contains("wrong"), "{email}");
        node.stop().await;
        w.advance_clock(seconds(72));
        let right = format!("smtp://ana:hush%20%26%20more@127.0.0.1:{}", server.port);
        let node = node_with(w, &[("smtp_url", &right), ("mail_from", "Harbour FC <office@harbour.example>")]).await;
        mailer(&node).send_due().await;
        let arrived = &server.emails(1)[0];
        assert_eq!((&arrived["user"], &arrived["from"]), (&json!("ana"), &json!("office@harbour.example")));
        assert_eq!(header(arrived, "From"), Some("Harbour FC <office@harbour.example>"));
        assert_eq!(header(arrived, "Message-ID"), Some(format!("<{id}@harbour.example>").as_str()));
        node.stop().await;
    }

    async fn verifies_the_certificate_of_the_mail_server(w: &World) {
        let folder = w.database.folder.path().display().to_string();
        let Some(server) = MailServer::start(&["starttls", &folder]) else { return };
        let id = queue_one_email(w).await;
        let url = format!("smtp://127.0.0.1:{}?tls=required", server.port);
        let node = node_with_mail(w, &url).await;
        mailer(&node).send_due().await;
        let email = get_email(w, id).await;
        assert_eq!(email["status"], "pending");
        assert!(email["last_error"].as_str().unwrap().contains("certificate"), "{email}");
        assert!(server.is_empty());
        node.stop().await;
        w.advance_clock(seconds(72));
        let authority = format!("{folder}/authority.pem");
        let node = node_with(w, &[("smtp_url", &url), ("smtp_authority", &authority)]).await;
        mailer(&node).send_due().await;
        assert_eq!(server.emails(1)[0]["encrypted"], true);
        assert_eq!(get_email(w, id).await["status"], "sent");
        node.stop().await;
    }

    async fn gives_up_on_an_address_the_server_does_not_support(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = create_person(w, w.harbour, "zoë@example.org").await;
        let new = NewEmail { to_address: "zoë@example.org".to_owned(), ..email_to(ana) };
        let id = queue_email(w, w.harbour, new).await;
        let node = node_with_mail(w, &server.url()).await;
        mailer(&node).send_due().await;
        assert_eq!(get_email(w, id).await["status"], "failed");
        assert!(server.is_empty());
        node.stop().await;
    }
}

/// Runs a test against the program itself, configured to send to this mail server.
async fn program(
    engine: Engine,
    server: &MailServer,
    test: impl AsyncFnOnce(Program, &TestDatabase),
) {
    let Some(database) = TestDatabase::new(engine).await else { return };
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
        .flag("--database", &database.url)
        .variable("TOUCHLINE_SMTP_URL", &server.url())
        .variable("TOUCHLINE_BASE_URL", "https://club.example.org");
    test(program, &database).await;
    database.remove().await;
}

/// Queues an email in the program's first account, directly in the database.
async fn queue_in_database(program: &Program, database: &TestDatabase) {
    let account = program.json(&["account", "create", "--name", "Harbour", "--tier", "club"]);
    let account: AccountId = account["account"]["id"].as_str().unwrap().parse().unwrap();
    let db = database.open(kit::Clock::system());
    let put = db.write(Scope::account(account, "test"), move |tx| {
        let id = tx.new_id();
        tx.execute(
            "insert into person (account_id, id, first_name, name_folded, email_opt_in, created_at, updated_at, version)
             values (:account, :id, 'Ana', 'ana', :yes, :now, :now, 1)",
            store::bind! { id, yes: true },
        )?;
        email::enqueue(tx, email_to(id))
    });
    put.await.unwrap();
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
}

async fn program_sends_email(engine: Engine) {
    let Some(server) = MailServer::start(&["accept"]) else { return };
    program(engine, &server, async |program, database| {
        let findings = program.json(&["doctor"])["findings"].to_string();
        assert!(findings.contains("accepts emails"), "{findings}");
        let service = program.serve(&[]);
        queue_in_database(&program, database).await;
        assert_eq!(server.emails(1)[0]["to"], json!(["ana@example.org"]));
        let (ended, log) = service.stop();
        assert!(ended.success() && !log.contains("ana@example.org"), "{log}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn program_sends_email_on_sqlite() {
    program_sends_email(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn program_sends_email_on_postgres() {
    program_sends_email(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn program_stops_while_the_mail_server_hangs() {
    let Some(server) = MailServer::start(&["hang"]) else { return };
    program(Engine::Sqlite, &server, async |program, database| {
        let service = program.serve(&[]);
        queue_in_database(&program, database).await;
        let db = database.open(kit::Clock::system());
        // Wait until the program has claimed the email.
        while !db.read(Scope::system("test"), |db| email::list_due(db, 1)).await.unwrap().is_empty()
        {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let began = Instant::now();
        let (ended, _) = service.stop();
        // Waiting for the mail server would take a minute.
        assert!(ended.success() && began.elapsed() < Duration::from_secs(40));
        tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    })
    .await;
}

#[test]
fn doctor_and_serve_report_an_unusable_mail_server() {
    let folder = tempfile::TempDir::new().unwrap();
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), folder.path())
        .variable("TOUCHLINE_BASE_URL", "https://club.example.org");
    program.json(&["migrate"]);
    let secret = folder.path().join("smtp");
    std::fs::write(&secret, "smtp://ana:hush@127.0.0.1:1\n").unwrap();
    let unreachable = program.clone().variable("TOUCHLINE_SMTP_URL_FILE", secret.to_str().unwrap());
    let output = unreachable.run(&["doctor", "--json"]);
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.contains("cannot be used") && !output.contains("hush"), "{output}");

    let wrong = program.variable("TOUCHLINE_SMTP_URL", "smtp://ana:hush@mail?ssl=yes");
    let refused = wrong.run(&["serve"]);
    let output = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success()
            && output.contains("TOUCHLINE_SMTP_URL")
            && !output.contains("hush"),
        "{output}"
    );
}
