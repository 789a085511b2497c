//! Stories about the outbox: what is put into it, who sees it, and what becomes of a letter unsent.

use kit::{Dice, IdMaker};
use store::{Scope, bind};
use testkit::world::new_key;
use testkit::{Client, Node, Value, World, both, json, seconds};
use touchline::config::{Config, Source};
use touchline::ids::{AccountId, MailId, PersonId};
use touchline::mail::letter::{self, NewLetter};
use touchline::post::Post;

pub(crate) const DAY: u64 = 86_400;
/// Something letters can be about.
pub(crate) const ABOUT: &str = "msg_01kbm2x5q8f7vr0n3hd9tzc4wy";

/// Somebody who can be written to.
pub(crate) async fn person(w: &World, account: AccountId, email: &str) -> PersonId {
    let id: PersonId = IdMaker::default().make(w.clock.clock().now(), &Dice::system());
    let email = email.to_owned();
    let insert = w.db().write(Scope::account(account, "test"), move |tx| {
        tx.run(
            "insert into person (account_id, id, first_name, name_folded, email, email_folded,
                 wants_email, created_at, updated_at, version)
             values (:account, :id, 'Ana', 'ana', :email, :email, :yes, :now, :now, 1)",
            bind! { id, email, yes: true },
        )
    });
    insert.await.unwrap();
    id
}

/// A plain letter to somebody.
pub(crate) fn letter_to(person_id: PersonId) -> NewLetter {
    NewLetter {
        person_id: Some(person_id),
        about: ABOUT.to_owned(),
        to_name: "Ana Silva".to_owned(),
        to_address: "ana@example.org".to_owned(),
        subject: "Training moves".to_owned(),
        text_body: "We meet at six.".to_owned(),
        html_body: None,
    }
}

pub(crate) async fn put(w: &World, account: AccountId, new: NewLetter) -> MailId {
    let scope = Scope::account(account, "test");
    w.db().write(scope, move |tx| letter::put(tx, new)).await.unwrap()
}

/// A letter of Harbour to somebody of Harbour.
pub(crate) async fn put_one(w: &World) -> MailId {
    let ana = person(w, w.harbour, "ana@example.org").await;
    put(w, w.harbour, letter_to(ana)).await
}

/// A service that sends its mail there.
pub(crate) async fn node_with_mail(w: &World, url: &str) -> Node {
    node_with(w, &[("smtp_url", url)]).await
}

pub(crate) async fn node_with(w: &World, settings: &[(&str, &str)]) -> Node {
    let mut source = Source::default();
    source.flags.insert("base_url".to_owned(), "https://club.example.org".to_owned());
    for (name, value) in settings {
        source.flags.insert((*name).to_owned(), (*value).to_owned());
    }
    let read = Config::load(&source).unwrap();
    w.node(|config| {
        config.base_url = read.base_url;
        config.smtp_url = read.smtp_url;
        config.smtp_authority = read.smtp_authority;
        config.mail_from = read.mail_from;
        config.mail_retries = read.mail_retries;
        config.trusted_proxies = read.trusted_proxies;
    })
    .await
}

pub(crate) fn post(node: &Node) -> Post {
    Post::new(node.app.clone()).unwrap()
}

/// A letter as the API shows it.
pub(crate) async fn shown(w: &World, id: MailId) -> Value {
    w.owner.get(&format!("/outbox/{id}")).await.ok().data().clone()
}

fn ids(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

async fn stranger_account(w: &World) -> AccountId {
    let me = w.stranger.get("/me").await.ok();
    me.data()["account"]["id"].as_str().unwrap().parse().unwrap()
}

both! {
    async fn a_letter_waits_in_the_outbox_for_whoever_may_read_messages(w: &World) {
        let id = put_one(w).await;
        let letter = shown(w, id).await;
        let person = letter["person_id"].clone();
        let now = "2026-09-05T10:00:00.000000Z";
        assert_eq!(letter, json!({
            "object": "mail", "id": id.to_string(), "person_id": person, "about": ABOUT,
            "to_name": "Ana Silva", "to_address": "ana@example.org", "subject": "Training moves",
            "text_body": "We meet at six.", "status": "pending", "attempts": 0, "next_attempt_at": now,
            "last_error": null, "sent_at": null, "created_at": now, "updated_at": now, "version": 1
        }));
        let list = w.owner.get("/outbox").await.ok();
        assert_eq!(list.data(), &json!([letter]));

        w.reader.get("/outbox").await.refused(403, "insufficient_scope");
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let team = team.id().parse().unwrap();
        let narrow = touchline::accounts::api_key::NewKey { team_ids: Some(vec![team]), ..new_key("messages:read") };
        let (_, narrow) = w.caller(narrow).await;
        narrow.get("/outbox").await.refused(403, "forbidden");
        narrow.get(&format!("/outbox/{id}")).await.refused(403, "forbidden");
    }

    async fn a_letter_of_another_account_is_not_to_be_seen(w: &World) {
        let ours = put_one(w).await;
        let other = stranger_account(w).await;
        let bob = person(w, other, "bob@example.org").await;
        let theirs = put(w, other, letter_to(bob)).await;
        w.stranger.get(&format!("/outbox/{ours}")).await.refused(404, "not_found");
        w.owner.get(&format!("/outbox/{theirs}")).await.refused(404, "not_found");
        assert_eq!(ids(w.stranger.get("/outbox").await.ok().data()), [theirs.to_string()]);
        assert_eq!(ids(w.owner.get(&format!("/outbox?person_id={bob}")).await.ok().data()), [""; 0]);
    }

    async fn the_newest_letters_come_first_and_can_be_narrowed_down(w: &World) {
        let (ana, bob) = (person(w, w.harbour, "a@x.org").await, person(w, w.harbour, "b@x.org").await);
        let mut made = Vec::new();
        for (to, about) in [(ana, "msg_1"), (bob, "msg_1"), (ana, "msg_2")] {
            let new = NewLetter { about: about.to_owned(), ..letter_to(to) };
            made.push(put(w, w.harbour, new).await.to_string());
        }
        let list = async |query: &str| ids(w.owner.get(&format!("/outbox{query}")).await.ok().data());
        assert_eq!(list("").await, [made[2].clone(), made[1].clone(), made[0].clone()]);
        assert_eq!(list("?order=asc").await, made);
        assert_eq!(list("?about=msg_1").await, [made[1].clone(), made[0].clone()]);
        assert_eq!(list("?about=msg_1&order=asc").await, made[..2]);
        assert_eq!(list(&format!("?person_id={ana}")).await, [made[2].clone(), made[0].clone()]);
        assert_eq!(list(&format!("?person_id={ana}&order=asc")).await, [made[0].clone(), made[2].clone()]);
        assert_eq!(list(&format!("?person_id={bob}&about=msg_2")).await, [""; 0]);
        assert_eq!(list("?status=sent").await, [""; 0]);
        w.owner.get("/outbox?status=lost").await.refused(400, "invalid_parameter");

        let first = w.owner.get("/outbox?limit=2").await.ok();
        assert_eq!(ids(first.data()), [made[2].clone(), made[1].clone()]);
        let cursor = first.body["next_cursor"].as_str().unwrap();
        assert_eq!(list(&format!("?limit=2&cursor={cursor}")).await, made[..1]);
    }

    async fn without_a_mail_server_letters_are_left_unsent_for_good(w: &World) {
        let id = put_one(w).await;
        assert_eq!(shown(w, id).await["status"], "pending");
        let before = w.owner.get("/outbox?status=pending").await.ok();
        assert_eq!(ids(before.data()).len(), 1);
        post(&w.node).carry().await;
        let letter = shown(w, id).await;
        assert_eq!((&letter["status"], &letter["attempts"]), (&json!("unsent"), &json!(0)));
        assert_eq!(letter["text_body"], "We meet at six.");
        // The list was asked for before and nothing was told since: it is right all the same.
        assert_eq!(ids(w.owner.get("/outbox?status=pending").await.ok().data()), [""; 0]);

        // A server that nobody listens at would leave a trace of the attempt.
        let node = node_with_mail(w, "smtp://127.0.0.1:1").await;
        post(&node).carry().await;
        assert_eq!(shown(w, id).await, letter);
        node.stop().await;
    }

    async fn a_letter_that_was_called_back_is_not_sent(w: &World) {
        let ana = person(w, w.harbour, "ana@example.org").await;
        let one = put(w, w.harbour, letter_to(ana)).await;
        let other = put(w, w.harbour, NewLetter { about: "msg_2".to_owned(), ..letter_to(ana) }).await;
        // Those who look after the club are told what has happened, whatever becomes of it.
        let told = put(w, w.harbour, NewLetter { person_id: None, ..letter_to(ana) }).await;
        let scope = || Scope::account(w.harbour, "test");
        assert_eq!(w.db().write(scope(), |tx| letter::cancel(tx, ABOUT)).await.unwrap(), 1);
        assert_eq!(w.db().write(scope(), |tx| letter::cancel(tx, ABOUT)).await.unwrap(), 0);
        post(&w.node).carry().await;
        let letter = shown(w, one).await;
        assert_eq!((&letter["status"], &letter["version"]), (&json!("cancelled"), &json!(2)));
        assert_eq!(shown(w, other).await["status"], "unsent");
        let told = shown(w, told).await;
        assert_eq!((&told["status"], &told["person_id"]), (&json!("unsent"), &Value::Null));
    }

    async fn an_erased_person_is_found_in_no_letter(w: &World) {
        let ana = person(w, w.harbour, "ana@example.org").await;
        let new = NewLetter { html_body: Some("<p>Ana</p>".to_owned()), ..letter_to(ana) };
        let sent = put(w, w.harbour, new).await;
        post(&w.node).carry().await;
        let waiting = put(w, w.harbour, letter_to(ana)).await;
        let bob = person(w, w.harbour, "bob@example.org").await;
        let theirs = put(w, w.harbour, letter_to(bob)).await;
        let scope = || Scope::account(w.harbour, "test");
        let held = w.db().read(scope(), move |db| letter::held_about(db, ana)).await.unwrap();
        assert_eq!(held.iter().map(|letter| letter.id).collect::<Vec<_>>(), [sent, waiting]);

        let erased = w.db().write(scope(), move |tx| letter::erase_person(tx, ana)).await.unwrap();
        assert_eq!(erased, 2);
        let held = w.db().read(scope(), move |db| letter::held_about(db, ana)).await.unwrap();
        for letter in held {
            let said = format!("{letter:?}");
            for trace in ["Ana", "ana@", "Training", "six"] {
                assert!(!said.contains(trace), "{said}");
            }
        }
        assert_eq!(shown(w, sent).await["status"], "unsent");
        assert_eq!(shown(w, waiting).await["status"], "cancelled");
        assert_eq!(shown(w, theirs).await["to_name"], "Ana Silva");
    }

    async fn a_letter_is_not_written_if_its_cause_fails(w: &World) {
        let ana = person(w, w.harbour, "ana@example.org").await;
        let failed = w.db().write(Scope::account(w.harbour, "test"), move |tx| {
            letter::put(tx, letter_to(ana))?;
            Err::<(), _>(touchline::error::Error::not_found())
        });
        assert!(failed.await.is_err());
        assert_eq!(w.count("mail").await, 0);
    }

    async fn a_letter_that_is_too_old_is_given_up(w: &World) {
        let id = put_one(w).await;
        w.pass(seconds(5 * DAY + 1));
        let node = node_with_mail(w, "smtp://127.0.0.1:1").await;
        post(&node).carry().await;
        let letter = shown(w, id).await;
        assert_eq!((&letter["status"], &letter["attempts"]), (&json!("failed"), &json!(0)));
        assert!(letter["last_error"].as_str().unwrap().contains("too old"));
        node.stop().await;
    }

    async fn a_server_that_is_away_is_tried_by_the_schedule_and_then_given_up(w: &World) {
        let id = put_one(w).await;
        let node = node_with(w, &[("smtp_url", "smtp://127.0.0.1:1"), ("mail_retries", "1m,2h")]).await;
        let post = post(&node);
        post.carry().await;
        let letter = shown(w, id).await;
        assert_eq!((&letter["status"], &letter["attempts"]), (&json!("pending"), &json!(1)));
        let next = letter["next_attempt_at"].as_str().unwrap();
        // A minute, a fifth more or less.
        assert!(("2026-09-05T10:00:48".."2026-09-05T10:01:12.1").contains(&next), "{next}");
        assert!(letter["last_error"].is_string());
        w.pass(seconds(47));
        post.carry().await;
        assert_eq!(shown(w, id).await, letter, "it was not due yet");
        w.pass(seconds(26));
        post.carry().await;
        assert_eq!(shown(w, id).await["attempts"], 2);
        w.pass(seconds(3 * 3600));
        post.carry().await;
        let letter = shown(w, id).await;
        assert_eq!((&letter["status"], &letter["attempts"]), (&json!("failed"), &json!(3)));
        node.stop().await;
    }

    async fn a_letter_in_hand_is_in_one_hand_only(w: &World) {
        let id = put_one(w).await;
        let scope = || Scope::account(w.harbour, "test");
        let take = || w.db().write(scope(), move |tx| letter::take(tx, id));
        let (one, other) = tokio::join!(take(), take());
        let hands = [one.unwrap(), other.unwrap()];
        assert_eq!(hands.iter().flatten().count(), 1);
        let first = hands.into_iter().flatten().next().unwrap();
        w.pass(seconds(121));
        let second = take().await.unwrap().unwrap();
        assert_eq!((first.attempts, second.attempts), (1, 2));
        // The first hand wakes up too late: what it says of its attempt is no longer of interest.
        let late = first.clone();
        w.db().write(scope(), move |tx| letter::failed(tx, &late, "550 no")).await.unwrap();
        assert_eq!(shown(w, id).await["status"], "pending");
        // But if its letter did arrive, it did.
        w.db().write(scope(), move |tx| letter::sent(tx, &first)).await.unwrap();
        assert_eq!(shown(w, id).await["status"], "sent");
        w.db().write(scope(), move |tx| letter::put_off(tx, &second, "421 later", &[])).await.unwrap();
        assert_eq!(shown(w, id).await["status"], "sent");
    }

    async fn an_etag_of_a_letter_changes_with_it(w: &World) {
        let id = put_one(w).await;
        let path = format!("/outbox/{id}");
        let etag = w.owner.get(&path).await.ok().header("etag").unwrap().to_owned();
        let again: Client = w.owner.with("If-None-Match", &etag);
        assert_eq!(again.get(&path).await.status, 304);
        post(&w.node).carry().await;
        again.get(&path).await.ok();
    }
}
