//! Stories about letters on their way, told with a real mail server that behaves well or badly.

use std::time::{Duration, Instant};

use store::Scope;
use testkit::process::Program;
use testkit::{Engine, MailServer, TestDatabase, Value, World, both, json, seconds};
use touchline::ids::AccountId;
use touchline::mail::letter::{self, NewLetter};
use touchline::post::smtp::Outcome;

use crate::mail::{letter_to, node_with, node_with_mail, person, post, put, put_one, shown};

fn header<'a>(letter: &'a Value, name: &str) -> Option<&'a str> {
    let headers = letter["headers"].as_array().unwrap();
    headers.iter().find(|pair| pair[0] == name).and_then(|pair| pair[1].as_str())
}

both! {
    async fn a_letter_arrives_whole(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = person(w, w.harbour, "ana@example.org").await;
        let subject = "Treino 🏉 muda de lugar, كل شيء يتغير, and a subject that is much too long for one line of a header to hold";
        let text = "Olá Ana 👋\n.\n.. dots\nالتدريب في السادسة\n\nEnd";
        let new = NewLetter {
            to_name: "Ana \"Zoë\" Silva, جدة".to_owned(),
            subject: subject.to_owned(),
            text_body: text.to_owned(),
            html_body: Some("<html><body><p>Olá 👋</p>\n.\n</body></html>".to_owned()),
            ..letter_to(ana)
        };
        let id = put(w, w.harbour, new).await;
        let node = node_with_mail(w, &server.url()).await;
        post(&node).carry().await;

        let arrived = &server.letters(1)[0];
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
        let token = node.app.links.token(w.harbour, ana, "ana@example.org");
        let link = format!("https://club.example.org/unsubscribe/{token}");
        assert_eq!(header(arrived, "List-Unsubscribe"), Some(format!("<{link}>").as_str()));

        assert_eq!(arrived["kind"], "multipart/alternative");
        let said = arrived["text"].as_str().unwrap().replace("\r\n", "\n");
        assert_eq!(said.trim_end(), format!("{text}\n\n-- \nStop these emails: {link}"));
        let page = arrived["html"].as_str().unwrap();
        assert!(page.contains("<p>Olá 👋</p>") && page.contains(&format!("href=\"{link}\"")), "{page}");
        assert!(arrived["ascii"] == true && arrived["longest_line"].as_u64().unwrap() <= 998);

        let letter = shown(w, id).await;
        assert_eq!((&letter["status"], &letter["attempts"]), (&json!("sent"), &json!(1)));
        assert_eq!(letter["sent_at"], "2026-09-05T10:00:00.000000Z");
        post(&node).carry().await;
        assert!(server.is_empty(), "a letter that was sent is not sent again");
        node.stop().await;
    }

    async fn names_and_subjects_cannot_add_headers(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = person(w, w.harbour, "ana@example.org").await;
        let breaks = ["\r\n", "\n", "\r", "\r\n ", "\u{85}", "\u{2028}", "\u{b}"];
        for end in breaks {
            let evil = format!("Ana{end}Bcc: eve@example.org{end}{end}<b>body</b>");
            let new = NewLetter { to_name: evil.clone(), subject: evil, ..letter_to(ana) };
            put(w, w.harbour, new).await;
        }
        for address in ["ana@example.org\r\nBcc: eve@x.org", "ana@example.org>, <eve@x.org", "ana"] {
            let new = NewLetter { to_address: address.to_owned(), ..letter_to(ana) };
            put(w, w.harbour, new).await;
        }
        let node = node_with_mail(w, &server.url()).await;
        post(&node).carry().await;
        for arrived in server.letters(breaks.len()) {
            assert_eq!(arrived["to"], json!(["ana@example.org"]));
            assert_eq!((header(&arrived, "Bcc"), header(&arrived, "Cc")), (None, None), "{arrived}");
            assert!(arrived["text"].as_str().unwrap().starts_with("We meet at six."), "{arrived}");
            assert_eq!(arrived["headers"].as_array().unwrap().iter().filter(|pair| pair[0] == "Subject").count(), 1);
        }
        assert!(server.is_empty());
        let failed = w.owner.get("/outbox?status=failed").await.ok();
        assert_eq!(failed.data().as_array().unwrap().len(), 3);
        node.stop().await;
    }

    async fn a_letter_that_is_refused_fails_with_the_reason(w: &World) {
        let Some(server) = MailServer::start(&["refuse"]) else { return };
        let id = put_one(w).await;
        let node = node_with_mail(w, &server.url()).await;
        post(&node).carry().await;
        let letter = shown(w, id).await;
        assert_eq!((&letter["status"], &letter["attempts"]), (&json!("failed"), &json!(1)));
        assert!(letter["last_error"].as_str().unwrap().contains("5.1.1 No such person here"), "{letter}");
        assert_eq!(letter["sent_at"], Value::Null);
        node.stop().await;
    }

    async fn a_letter_that_is_put_off_twice_arrives_in_the_end(w: &World) {
        let Some(server) = MailServer::start(&["delay", "2"]) else { return };
        let id = put_one(w).await;
        let node = node_with_mail(w, &server.url()).await;
        let post = post(&node);
        for (attempt, wait) in [(1, 72), (2, 360)] {
            post.carry().await;
            let letter = shown(w, id).await;
            assert_eq!((&letter["status"], &letter["attempts"]), (&json!("pending"), &json!(attempt)));
            assert!(letter["last_error"].as_str().unwrap().contains("451"), "{letter}");
            w.pass(seconds(wait));
        }
        post.carry().await;
        let letter = shown(w, id).await;
        assert_eq!((&letter["status"], &letter["attempts"]), (&json!("sent"), &json!(3)));
        assert_eq!(letter["last_error"], Value::Null);
        assert_eq!(server.letters(1).len(), 1);
        node.stop().await;
    }

    async fn a_server_that_falls_silent_is_not_waited_for(w: &World) {
        let Some(server) = MailServer::start(&["hang"]) else { return };
        let id = put_one(w).await;
        let node = node_with_mail(w, &server.url()).await;
        let began = Instant::now();
        post(&node).patience(Duration::from_millis(300)).carry().await;
        // Of its own accord the post would wait a minute.
        assert!(began.elapsed() < Duration::from_secs(40));
        let letter = shown(w, id).await;
        assert_eq!((&letter["status"], &letter["attempts"]), (&json!("pending"), &json!(1)));
        assert!(letter["last_error"].as_str().unwrap().contains("too long"), "{letter}");
        node.stop().await;
    }

    async fn a_letter_whose_receipt_was_lost_is_sent_again_under_the_same_name(w: &World) {
        let Some(server) = MailServer::start(&["lose", "1"]) else { return };
        let id = put_one(w).await;
        let node = node_with_mail(w, &server.url()).await;
        post(&node).carry().await;
        assert_eq!(shown(w, id).await["status"], "pending");
        w.pass(seconds(72));
        post(&node).carry().await;
        assert_eq!(shown(w, id).await["status"], "sent");
        let copies = server.letters(2);
        assert_eq!(header(&copies[0], "Message-ID"), header(&copies[1], "Message-ID"));
        node.stop().await;
    }

    async fn a_node_that_dies_after_sending_leaves_the_letter_to_another(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let id = put_one(w).await;
        let (dies, lives) = (node_with_mail(w, &server.url()).await, node_with_mail(w, &server.url()).await);
        let taken = dies.app.db.write(Scope::account(w.harbour, "post"), move |tx| letter::take(tx, id));
        let in_hand = taken.await.unwrap().unwrap();
        assert!(matches!(post(&dies).send(&in_hand).await, Outcome::Sent));
        dies.stop().await;

        w.pass(seconds(119));
        post(&lives).carry().await;
        assert_eq!(shown(w, id).await["status"], "pending", "it may still be in a hand");
        w.pass(seconds(2));
        post(&lives).carry().await;
        let letter = shown(w, id).await;
        assert_eq!((&letter["status"], &letter["attempts"]), (&json!("sent"), &json!(2)));
        let copies = server.letters(2);
        assert_eq!(header(&copies[0], "Message-ID"), header(&copies[1], "Message-ID"));
        lives.stop().await;
    }

    async fn two_nodes_share_the_work_and_send_every_letter_once(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = person(w, w.harbour, "ana@example.org").await;
        let mut expected = Vec::new();
        for _ in 0..40 {
            let id = put(w, w.harbour, letter_to(ana)).await;
            expected.push(format!("<{id}@club.example.org>"));
        }
        let nodes = [node_with_mail(w, &server.url()).await, node_with_mail(w, &server.url()).await];
        let posts = [post(&nodes[0]), post(&nodes[1])];
        tokio::join!(posts[0].carry(), posts[1].carry());
        let arrived = server.letters(40);
        let mut arrived: Vec<_> = arrived.iter().map(|letter| header(letter, "Message-ID").unwrap().to_owned()).collect();
        arrived.sort();
        assert_eq!(arrived, expected);
        assert!(server.is_empty());
        assert_eq!(w.owner.get("/outbox?status=sent&limit=100").await.ok().data().as_array().unwrap().len(), 40);
        for node in nodes {
            node.stop().await;
        }
    }

    async fn a_server_that_wants_a_password_gets_it(w: &World) {
        let Some(server) = MailServer::start(&["sign-in"]) else { return };
        let id = put_one(w).await;
        let wrong = format!("smtp://ana:wrong@127.0.0.1:{}", server.port);
        let node = node_with(w, &[("smtp_url", &wrong), ("mail_retries", "1m,1m")]).await;
        post(&node).carry().await;
        // A wrong password is no fault of the letter: it waits for a better one.
        let letter = shown(w, id).await;
        assert_eq!((&letter["status"], &letter["attempts"]), (&json!("pending"), &json!(1)));
        assert!(letter["last_error"].as_str().unwrap().contains("535"), "{letter}");
        assert!(!letter.to_string().contains("wrong"), "{letter}");
        node.stop().await;
        w.pass(seconds(72));
        let right = format!("smtp://ana:hush%20%26%20more@127.0.0.1:{}", server.port);
        let node = node_with(w, &[("smtp_url", &right), ("mail_from", "Harbour FC <office@harbour.example>")]).await;
        post(&node).carry().await;
        let arrived = &server.letters(1)[0];
        assert_eq!((&arrived["user"], &arrived["from"]), (&json!("ana"), &json!("office@harbour.example")));
        assert_eq!(header(arrived, "From"), Some("Harbour FC <office@harbour.example>"));
        assert_eq!(header(arrived, "Message-ID"), Some(format!("<{id}@harbour.example>").as_str()));
        node.stop().await;
    }

    async fn an_encrypted_server_must_prove_itself(w: &World) {
        let folder = w.database.folder.path().display().to_string();
        let Some(server) = MailServer::start(&["starttls", &folder]) else { return };
        let id = put_one(w).await;
        let url = format!("smtp://127.0.0.1:{}?tls=required", server.port);
        let node = node_with_mail(w, &url).await;
        post(&node).carry().await;
        let letter = shown(w, id).await;
        assert_eq!(letter["status"], "pending");
        assert!(letter["last_error"].as_str().unwrap().contains("certificate"), "{letter}");
        assert!(server.is_empty());
        node.stop().await;
        w.pass(seconds(72));
        let authority = format!("{folder}/authority.pem");
        let node = node_with(w, &[("smtp_url", &url), ("smtp_authority", &authority)]).await;
        post(&node).carry().await;
        assert_eq!(server.letters(1)[0]["encrypted"], true);
        assert_eq!(shown(w, id).await["status"], "sent");
        node.stop().await;
    }

    async fn an_address_that_the_server_cannot_write_to_is_given_up(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let ana = person(w, w.harbour, "zoë@example.org").await;
        let new = NewLetter { to_address: "zoë@example.org".to_owned(), ..letter_to(ana) };
        let id = put(w, w.harbour, new).await;
        let node = node_with_mail(w, &server.url()).await;
        post(&node).carry().await;
        assert_eq!(shown(w, id).await["status"], "failed");
        assert!(server.is_empty());
        node.stop().await;
    }
}

/// The program itself, with somebody who puts a letter into its outbox.
async fn program(
    engine: Engine,
    server: &MailServer,
    story: impl AsyncFnOnce(Program, &TestDatabase),
) {
    let Some(database) = TestDatabase::new(engine).await else { return };
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), database.folder.path())
        .flag("--database", &database.url)
        .variable("TOUCHLINE_SMTP_URL", &server.url())
        .variable("TOUCHLINE_BASE_URL", "https://club.example.org");
    story(program, &database).await;
    database.remove().await;
}

/// Puts a letter into the outbox of a program's first account.
async fn put_beside(program: &Program, database: &TestDatabase) {
    let account = program.json(&["account", "create", "--name", "Harbour", "--tier", "club"]);
    let account: AccountId = account["account"]["id"].as_str().unwrap().parse().unwrap();
    let db = database.open(kit::Clock::system());
    let put = db.write(Scope::account(account, "test"), move |tx| {
        let id = tx.new_id();
        tx.run(
            "insert into person (account_id, id, first_name, name_folded, wants_email, created_at, updated_at, version)
             values (:account, :id, 'Ana', 'ana', :yes, :now, :now, 1)",
            store::bind! { id, yes: true },
        )?;
        letter::put(tx, letter_to(id))
    });
    put.await.unwrap();
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
}

async fn sends_by_itself(engine: Engine) {
    let Some(server) = MailServer::start(&["accept"]) else { return };
    program(engine, &server, async |program, database| {
        let findings = program.json(&["doctor"])["findings"].to_string();
        assert!(findings.contains("takes our letters"), "{findings}");
        let service = program.serve(&[]);
        put_beside(&program, database).await;
        assert_eq!(server.letters(1)[0]["to"], json!(["ana@example.org"]));
        let (ended, log) = service.stop();
        assert!(ended.success() && !log.contains("ana@example.org"), "{log}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_sends_letters_by_itself_on_sqlite() {
    sends_by_itself(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_sends_letters_by_itself_on_postgres() {
    sends_by_itself(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_mail_server_does_not_keep_the_program_from_stopping() {
    let Some(server) = MailServer::start(&["hang"]) else { return };
    program(Engine::Sqlite, &server, async |program, database| {
        let service = program.serve(&[]);
        put_beside(&program, database).await;
        let db = database.open(kit::Clock::system());
        // Until the program has the letter in hand.
        while !db.read(Scope::system("test"), |db| letter::due(db, 1)).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let began = Instant::now();
        let (ended, _) = service.stop();
        // Whoever waited for the letter would wait a minute.
        assert!(ended.success() && began.elapsed() < Duration::from_secs(40));
        tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    })
    .await;
}

#[test]
fn a_mail_server_that_cannot_be_used_is_told_by_the_doctor_and_at_the_start() {
    let folder = tempfile::TempDir::new().unwrap();
    let program = Program::new(env!("CARGO_BIN_EXE_touchline"), folder.path())
        .variable("TOUCHLINE_BASE_URL", "https://club.example.org");
    program.json(&["migrate"]);
    let secret = folder.path().join("smtp");
    std::fs::write(&secret, "smtp://ana:hush@127.0.0.1:1\n").unwrap();
    let away = program.clone().variable("TOUCHLINE_SMTP_URL_FILE", secret.to_str().unwrap());
    let told = away.run(&["doctor", "--json"]);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("does not take us") && !told.contains("hush"), "{told}");

    let wrong = program.variable("TOUCHLINE_SMTP_URL", "smtp://ana:hush@mail?ssl=yes");
    let refused = wrong.run(&["serve"]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && told.contains("TOUCHLINE_SMTP_URL") && !told.contains("hush"),
        "{told}"
    );
}
