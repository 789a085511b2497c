//! Tests of the email outbox: queueing, visibility, retries and cancellation.

use kit::{IdGenerator, Rng};
use store::{Scope, bind};
use testkit::world::new_key;
use testkit::{Client, Node, Value, World, both, json, seconds};
use touchline::config::{Config, Source};
use touchline::i18n::Locale;
use touchline::ids::{AccountId, EmailId, PersonId};
use touchline::mail::email::{self, NewEmail};
use touchline::mailer::MailWorker;
use touchline::roster::notification_settings::EmailKind;

pub(crate) const DAY: u64 = 86_400;
/// An id that emails can refer to in `about`.
pub(crate) const ABOUT: &str = "msg_01kbm2x5q8f7vr0n3hd9tzc4wy";

/// Creates a person with this email address.
pub(crate) async fn create_person(w: &World, account: AccountId, email: &str) -> PersonId {
    let id: PersonId = IdGenerator::default().generate(w.clock.clock().now(), &Rng::system());
    let email = email.to_owned();
    let insert = w.db().write(Scope::account(account, "test"), move |tx| {
        tx.execute(
            "insert into person (account_id, id, first_name, name_folded, email, email_folded,
                 email_opt_in, created_at, updated_at, version)
             values (:account, :id, 'Ana', 'ana', :email, :email, :yes, :now, :now, 1)",
            bind! { id, email, yes: true },
        )
    });
    insert.await.unwrap();
    id
}

/// A plain email to a person.
pub(crate) fn email_to(person_id: PersonId) -> NewEmail {
    NewEmail {
        person_id: Some(person_id),
        kind: EmailKind::Announcement,
        team_id: None,
        is_urgent: false,
        about: ABOUT.to_owned(),
        to_name: "Ana Silva".to_owned(),
        to_address: "ana@example.org".to_owned(),
        subject: "Training moves".to_owned(),
        body_text: "We meet at six.".to_owned(),
        html_body: None,
        locale: Locale::ENGLISH,
    }
}

pub(crate) async fn queue_email(w: &World, account: AccountId, new: NewEmail) -> EmailId {
    let scope = Scope::account(account, "test");
    w.db().write(scope, move |tx| email::enqueue(tx, new)).await.unwrap().unwrap()
}

/// Queues an email of Harbour to one of its people.
pub(crate) async fn queue_one_email(w: &World) -> EmailId {
    let ana = create_person(w, w.harbour, "ana@example.org").await;
    queue_email(w, w.harbour, email_to(ana)).await
}

/// Starts a node that sends its mail to this SMTP server.
pub(crate) async fn node_with_mail(w: &World, url: &str) -> Node {
    node_with(w, &[("smtp_url", url)]).await
}

pub(crate) async fn node_with(w: &World, settings: &[(&str, &str)]) -> Node {
    let mut source = Source::default();
    source.flags.insert("base_url".to_owned(), "https://club.example.org".to_owned());
    for (name, value) in settings {
        source.flags.insert((*name).to_owned(), (*value).to_owned());
    }
    let loaded = Config::load(&source).unwrap();
    w.node(|config| {
        config.base_url = loaded.base_url;
        config.smtp_url = loaded.smtp_url;
        config.smtp_authority = loaded.smtp_authority;
        config.mail_from = loaded.mail_from;
        config.mail_retries = loaded.mail_retries;
        config.trusted_proxies = loaded.trusted_proxies;
    })
    .await
}

pub(crate) fn mailer(node: &Node) -> MailWorker {
    MailWorker::new(node.app.clone()).unwrap()
}

/// An email as the API shows it.
pub(crate) async fn get_email(w: &World, id: EmailId) -> Value {
    w.owner.get(&format!("/emails/{id}")).await.ok().data().clone()
}

fn ids(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

pub(crate) async fn stranger_account(w: &World) -> AccountId {
    let me = w.stranger.get("/me").await.ok();
    me.data()["account"]["id"].as_str().unwrap().parse().unwrap()
}

both! {
    async fn outbox_requires_the_messages_scope_for_all_teams(w: &World) {
        let id = queue_one_email(w).await;
        let email = get_email(w, id).await;
        let person = email["person_id"].clone();
        let now = "2026-09-05T10:00:00.000000Z";
        assert_eq!(email, json!({
            "object": "email", "id": id.to_string(), "person_id": person, "related_id": ABOUT,
            "kind": "announcement", "team_id": null, "summary_id": null,
            "to_name": "Ana Silva", "to_address": "ana@example.org", "subject": "Training moves",
            "body_text": "We meet at six.", "status": "pending", "attempts": 0, "next_attempt_at": now,
            "last_error": null, "sent_at": null, "created_at": now, "updated_at": now, "version": 1
        }));
        let list = w.owner.get("/emails").await.ok();
        assert_eq!(list.data(), &json!([email]));

        w.reader.get("/emails").await.assert_problem(403, "insufficient_scope");
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let team = team.id().parse().unwrap();
        let team_key = touchline::accounts::api_key::NewKey { team_ids: Some(vec![team]), ..new_key("messages:read") };
        let (_, team_key) = w.client_with_key(team_key).await;
        team_key.get("/emails").await.assert_problem(403, "forbidden");
        team_key.get(&format!("/emails/{id}")).await.assert_problem(403, "forbidden");
    }

    async fn cannot_see_emails_of_another_account(w: &World) {
        let ours = queue_one_email(w).await;
        let other = stranger_account(w).await;
        let bob = create_person(w, other, "bob@example.org").await;
        let theirs = queue_email(w, other, email_to(bob)).await;
        w.stranger.get(&format!("/emails/{ours}")).await.assert_problem(404, "not_found");
        w.owner.get(&format!("/emails/{theirs}")).await.assert_problem(404, "not_found");
        assert_eq!(ids(w.stranger.get("/emails").await.ok().data()), [theirs.to_string()]);
        assert_eq!(ids(w.owner.get(&format!("/emails?person_id={bob}")).await.ok().data()), [""; 0]);
    }

    async fn lists_newest_first_and_filters(w: &World) {
        let (ana, bob) = (create_person(w, w.harbour, "a@x.org").await, create_person(w, w.harbour, "b@x.org").await);
        let mut ids_by_age = Vec::new();
        for (to, about) in [(ana, "msg_1"), (bob, "msg_1"), (ana, "msg_2")] {
            let new = NewEmail { about: about.to_owned(), ..email_to(to) };
            ids_by_age.push(queue_email(w, w.harbour, new).await.to_string());
        }
        let list = async |query: &str| ids(w.owner.get(&format!("/emails{query}")).await.ok().data());
        assert_eq!(list("").await, [ids_by_age[2].clone(), ids_by_age[1].clone(), ids_by_age[0].clone()]);
        assert_eq!(list("?order=asc").await, ids_by_age);
        assert_eq!(list("?related_id=msg_1").await, [ids_by_age[1].clone(), ids_by_age[0].clone()]);
        assert_eq!(list("?related_id=msg_1&order=asc").await, ids_by_age[..2]);
        assert_eq!(list(&format!("?person_id={ana}")).await, [ids_by_age[2].clone(), ids_by_age[0].clone()]);
        assert_eq!(list(&format!("?person_id={ana}&order=asc")).await, [ids_by_age[0].clone(), ids_by_age[2].clone()]);
        assert_eq!(list(&format!("?person_id={bob}&related_id=msg_2")).await, [""; 0]);
        assert_eq!(list("?status=sent").await, [""; 0]);
        w.owner.get("/emails?status=lost").await.assert_problem(400, "invalid_parameter");

        let first = w.owner.get("/emails?limit=2").await.ok();
        assert_eq!(ids(first.data()), [ids_by_age[2].clone(), ids_by_age[1].clone()]);
        let cursor = first.body["next_cursor"].as_str().unwrap();
        assert_eq!(list(&format!("?limit=2&cursor={cursor}")).await, ids_by_age[..1]);
    }

    async fn emails_stay_unsent_without_a_mail_server(w: &World) {
        let id = queue_one_email(w).await;
        assert_eq!(get_email(w, id).await["status"], "pending");
        let before = w.owner.get("/emails?status=pending").await.ok();
        assert_eq!(ids(before.data()).len(), 1);
        mailer(&w.node).send_due().await;
        let email = get_email(w, id).await;
        assert_eq!((&email["status"], &email["attempts"]), (&json!("unsent"), &json!(0)));
        assert_eq!(email["body_text"], "We meet at six.");
        // The list is cached and no notification was published since, but it must be current.
        assert_eq!(ids(w.owner.get("/emails?status=pending").await.ok().data()), [""; 0]);

        // Nothing listens on this port, so that an attempt would be recorded on the email.
        let node = node_with_mail(w, "smtp://127.0.0.1:1").await;
        mailer(&node).send_due().await;
        assert_eq!(get_email(w, id).await, email);
        node.stop().await;
    }

    async fn does_not_send_a_cancelled_email(w: &World) {
        let ana = create_person(w, w.harbour, "ana@example.org").await;
        let cancelled = queue_email(w, w.harbour, email_to(ana)).await;
        let other = queue_email(w, w.harbour, NewEmail { about: "msg_2".to_owned(), ..email_to(ana) }).await;
        // An email to the staff (without a person) is sent even if its subject is cancelled.
        let to_staff = queue_email(w, w.harbour, NewEmail { person_id: None, ..email_to(ana) }).await;
        let scope = || Scope::account(w.harbour, "test");
        assert_eq!(w.db().write(scope(), |tx| email::cancel(tx, ABOUT)).await.unwrap(), 1);
        assert_eq!(w.db().write(scope(), |tx| email::cancel(tx, ABOUT)).await.unwrap(), 0);
        mailer(&w.node).send_due().await;
        let email = get_email(w, cancelled).await;
        assert_eq!((&email["status"], &email["version"]), (&json!("cancelled"), &json!(2)));
        assert_eq!(get_email(w, other).await["status"], "unsent");
        let to_staff = get_email(w, to_staff).await;
        assert_eq!((&to_staff["status"], &to_staff["person_id"]), (&json!("unsent"), &Value::Null));
    }

    async fn erasing_a_person_clears_their_emails(w: &World) {
        let ana = create_person(w, w.harbour, "ana@example.org").await;
        let new = NewEmail { html_body: Some("<p>Ana</p>".to_owned()), ..email_to(ana) };
        let sent = queue_email(w, w.harbour, new).await;
        mailer(&w.node).send_due().await;
        let pending = queue_email(w, w.harbour, email_to(ana)).await;
        let bob = create_person(w, w.harbour, "bob@example.org").await;
        let to_bob = queue_email(w, w.harbour, email_to(bob)).await;
        let scope = || Scope::account(w.harbour, "test");
        let emails = w.db().read(scope(), move |db| email::list_to_person(db, ana)).await.unwrap();
        assert_eq!(emails.iter().map(|email| email.id).collect::<Vec<_>>(), [sent, pending]);

        let erased = w.db().write(scope(), move |tx| email::erase_person(tx, ana)).await.unwrap();
        assert_eq!(erased, 2);
        let emails = w.db().read(scope(), move |db| email::list_to_person(db, ana)).await.unwrap();
        for email in emails {
            let text = format!("{email:?}");
            for trace in ["Ana", "ana@", "Training", "six"] {
                assert!(!text.contains(trace), "{text}");
            }
        }
        assert_eq!(get_email(w, sent).await["status"], "unsent");
        assert_eq!(get_email(w, pending).await["status"], "cancelled");
        assert_eq!(get_email(w, to_bob).await["to_name"], "Ana Silva");
    }

    async fn rolls_back_the_email_with_its_transaction(w: &World) {
        let ana = create_person(w, w.harbour, "ana@example.org").await;
        let failed = w.db().write(Scope::account(w.harbour, "test"), move |tx| {
            email::enqueue(tx, email_to(ana))?;
            Err::<(), _>(touchline::error::Error::not_found())
        });
        assert!(failed.await.is_err());
        assert_eq!(w.count("mail").await, 0);
    }

    async fn gives_up_on_an_email_that_is_too_old(w: &World) {
        let id = queue_one_email(w).await;
        w.advance_clock(seconds(5 * DAY + 1));
        let node = node_with_mail(w, "smtp://127.0.0.1:1").await;
        mailer(&node).send_due().await;
        let email = get_email(w, id).await;
        assert_eq!((&email["status"], &email["attempts"]), (&json!("failed"), &json!(0)));
        assert!(email["last_error"].as_str().unwrap().contains("too old"));
        node.stop().await;
    }

    async fn retries_on_schedule_then_gives_up(w: &World) {
        let id = queue_one_email(w).await;
        let node = node_with(w, &[("smtp_url", "smtp://127.0.0.1:1"), ("mail_retries", "1m,2h")]).await;
        let mailer = mailer(&node);
        mailer.send_due().await;
        let email = get_email(w, id).await;
        assert_eq!((&email["status"], &email["attempts"]), (&json!("pending"), &json!(1)));
        let next = email["next_attempt_at"].as_str().unwrap();
        // One minute, plus or minus 20 percent.
        assert!(("2026-09-05T10:00:48".."2026-09-05T10:01:12.1").contains(&next), "{next}");
        assert!(email["last_error"].is_string());
        w.advance_clock(seconds(47));
        mailer.send_due().await;
        assert_eq!(get_email(w, id).await, email, "it was not due yet");
        w.advance_clock(seconds(26));
        mailer.send_due().await;
        assert_eq!(get_email(w, id).await["attempts"], 2);
        w.advance_clock(seconds(3 * 3600));
        mailer.send_due().await;
        let email = get_email(w, id).await;
        assert_eq!((&email["status"], &email["attempts"]), (&json!("failed"), &json!(3)));
        node.stop().await;
    }

    async fn only_one_worker_claims_an_email(w: &World) {
        let id = queue_one_email(w).await;
        let scope = || Scope::account(w.harbour, "test");
        let claim = || w.db().write(scope(), move |tx| email::lease(tx, id));
        let (one, other) = tokio::join!(claim(), claim());
        let claims = [one.unwrap(), other.unwrap()];
        assert_eq!(claims.iter().flatten().count(), 1);
        let first = claims.into_iter().flatten().next().unwrap();
        w.advance_clock(seconds(121));
        let second = claim().await.unwrap().unwrap();
        assert_eq!((first.attempts, second.attempts), (1, 2));
        // The first claim has expired, so its failure is ignored.
        let expired = first.clone();
        w.db().write(scope(), move |tx| email::mark_failed(tx, &expired, "550 no")).await.unwrap();
        assert_eq!(get_email(w, id).await["status"], "pending");
        // But its success counts.
        w.db().write(scope(), move |tx| email::mark_sent(tx, &first)).await.unwrap();
        assert_eq!(get_email(w, id).await["status"], "sent");
        w.db().write(scope(), move |tx| email::schedule_retry(tx, &second, "421 later", &[])).await.unwrap();
        assert_eq!(get_email(w, id).await["status"], "sent");
    }

    async fn etag_changes_with_the_email(w: &World) {
        let id = queue_one_email(w).await;
        let path = format!("/emails/{id}");
        let etag = w.owner.get(&path).await.ok().header("etag").unwrap().to_owned();
        let conditional: Client = w.owner.with_header("If-None-Match", &etag);
        assert_eq!(conditional.get(&path).await.status, 304);
        mailer(&w.node).send_due().await;
        conditional.get(&path).await.ok();
    }
}
