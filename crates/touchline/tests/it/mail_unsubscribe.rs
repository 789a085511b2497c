//! Tests of unsubscribing from emails and of links that cannot be forged.

use store::{Scope, bind};
use testkit::{Client, World, both, json};
use touchline::ids::PersonId;

use crate::mail::{create_person, email_to, get_email, mailer, node_with_mail, queue_email};

async fn email_opt_in(w: &World, id: PersonId) -> bool {
    let read = w.db().read(Scope::account(w.harbour, "test"), move |db| {
        db.one::<(bool,)>(
            "select email_opt_in from person where account_id = :account and id = :id",
            bind! { id },
        )
    });
    read.await.unwrap().0
}

fn link(w: &World, person: PersonId) -> String {
    format!(
        "/unsubscribe/{}",
        w.node.app.unsubscribe_key.token(w.harbour, person, "ana@example.org")
    )
}

/// One-click unsubscribe as a mail client sends it (RFC 8058).
async fn one_click(w: &World, path: &str) -> testkit::TestResponse {
    let form = w.nobody.with_header("Content-Type", "application/x-www-form-urlencoded");
    form.send("POST", path, Some("List-Unsubscribe=One-Click")).await
}

both! {
    async fn only_the_button_unsubscribes(w: &World) {
        let ana = create_person(w, w.harbour, "ana@example.org").await;
        let path = link(w, ana);
        let page = w.nobody.get(&path).await.ok();
        assert!(page.text.contains("Stop emails?") && page.text.contains("Harbour"));
        assert!(page.text.contains("a***@example.org") && !page.text.contains("ana@"), "{}", page.text);
        assert!(page.text.contains("<form method=\"post\"") && page.text.contains("width=device-width"));
        assert!(!page.text.contains("<script"));
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("form-action 'self'"));
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        w.nobody.send("HEAD", &path, None).await.ok();
        assert!(email_opt_in(w, ana).await, "opening the page changes nothing");

        let form = w.nobody.with_header("Content-Type", "application/x-www-form-urlencoded");
        let done = form.send("POST", &path, Some("")).await.ok();
        assert!(done.text.contains("Emails stopped") && done.text.contains("action=\"?again\""));
        assert!(!email_opt_in(w, ana).await);
        assert!(w.nobody.get(&path).await.ok().text.contains("Emails stopped"));

        let again = form.send("POST", &format!("{path}?again"), Some("")).await.ok();
        assert!(again.text.contains("Emails resumed"));
        assert!(email_opt_in(w, ana).await);
    }

    async fn one_click_unsubscribes_and_is_idempotent(w: &World) {
        let ana = create_person(w, w.harbour, "ana@example.org").await;
        let (path, audit_count) = (link(w, ana), w.count("audit_entry").await);
        one_click(w, &path).await.ok();
        assert!(!email_opt_in(w, ana).await);
        let notifications = w.notifications().await;
        assert_eq!(notifications.len(), 1);
        assert_eq!(notifications[0]["type"], "roster.person_updated");
        assert_eq!(notifications[0]["data"]["object"]["email_opt_in"], false);
        assert_eq!(notifications[0]["data"]["previous"]["email_opt_in"], true);
        assert!(!notifications[0].to_string().contains("example.org"), "{}", notifications[0]);

        one_click(w, &path).await.ok();
        w.nobody.with_header("Content-Type", "text/nonsense").send("POST", &path, Some("x")).await.ok();
        w.nobody.send("POST", &path, None).await.ok();
        assert_eq!(w.notifications().await.len(), 1, "repeating it publishes nothing");
        assert_eq!(w.count("audit_entry").await, audit_count + 1);
        let version = w.db().read(Scope::account(w.harbour, "test"), move |db| {
            db.one::<(i64,)>("select version from person where account_id = :account and id = :id", bind! { id: ana })
        });
        assert_eq!(version.await.unwrap().0, 2);
    }

    async fn unsubscribing_cancels_pending_emails(w: &World) {
        let (ana, bob) = (create_person(w, w.harbour, "ana@example.org").await, create_person(w, w.harbour, "bob@example.org").await);
        let to_ana = queue_email(w, w.harbour, email_to(ana)).await;
        let to_bob = queue_email(w, w.harbour, email_to(bob)).await;
        one_click(w, &link(w, ana)).await.ok();
        // Nothing listens on this port, so that an attempt would be recorded on the email.
        let node = node_with_mail(w, "smtp://127.0.0.1:1").await;
        mailer(&node).send_due().await;
        let email = get_email(w, to_ana).await;
        assert_eq!((&email["status"], &email["attempts"]), (&json!("cancelled"), &json!(0)));
        assert_eq!(get_email(w, to_bob).await["attempts"], 1);
        node.stop().await;
    }

    async fn rejects_a_forged_link(w: &World) {
        let ana = create_person(w, w.harbour, "ana@example.org").await;
        let path = link(w, ana);
        let mut forged = path.clone();
        let last = if forged.pop() == Some('A') { 'Q' } else { 'A' };
        forged.push(last);
        let unknown = w.nobody.get("/me").await.header("request-id").unwrap().to_owned();
        for wrong in [forged, "/unsubscribe/x".to_owned(), format!("{path}AAAA"), format!("/unsubscribe/{unknown}")] {
            for method in ["GET", "POST"] {
                let page = w.nobody.send(method, &wrong, None).await;
                assert_eq!(page.status, 404, "{method} {wrong}");
                assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{wrong}");
            }
        }
        w.nobody.get("/unsubscribe/%ff%fe").await.assert_problem(404, "not_found");
        assert!(email_opt_in(w, ana).await);
        w.nobody.send("DELETE", &path, None).await.assert_problem(405, "method_not_allowed");
    }

    async fn rejects_the_link_of_an_erased_person(w: &World) {
        let nobody: PersonId = "per_01kbm2x5q8f7vr0n3hd9tzc4wy".parse().unwrap();
        assert_eq!(w.nobody.get(&link(w, nobody)).await.status, 404);
        let ana = create_person(w, w.harbour, "ana@example.org").await;
        let erase = w.db().write(Scope::account(w.harbour, "test"), move |tx| {
            tx.execute("update person set erased_at = :now, email = null where account_id = :account and id = :id", bind! { id: ana })
        });
        erase.await.unwrap();
        assert_eq!(w.nobody.get(&link(w, ana)).await.status, 404);
        assert_eq!(one_click(w, &link(w, ana)).await.status, 404);
    }

    async fn rejects_a_large_body(w: &World) {
        let ana = create_person(w, w.harbour, "ana@example.org").await;
        let path = link(w, ana);
        w.nobody.send("POST", &path, Some(&"x".repeat(1025))).await.assert_problem(413, "payload_too_large");
        assert!(email_opt_in(w, ana).await);
        w.nobody.send("POST", &path, Some(&"x".repeat(1024))).await.ok();
    }

    async fn escapes_markup_in_the_club_name(w: &World) {
        let ana = create_person(w, w.harbour, "ana@example.org").await;
        let rename = w.db().write(Scope::account(w.harbour, "test"), |tx| {
            tx.execute("update account set name = '<img src=x onerror=alert(1)>{form}' where id = :account", &[])
        });
        rename.await.unwrap();
        let page = w.nobody.get(&link(w, ana)).await.ok().text;
        assert!(page.contains("&#60;img src=x onerror=alert(1)&#62;{form}") && !page.contains("<img src=x"), "{page}");
    }

    async fn link_works_on_every_node(w: &World) {
        let ana = create_person(w, w.harbour, "ana@example.org").await;
        let other = w.node(|_| {}).await;
        let client: Client = w.nobody.at(other.address);
        client.send("POST", &link(w, ana), None).await.ok();
        assert!(!email_opt_in(w, ana).await);
        other.stop().await;
    }
}
