//! Stories about people who want no more letters, and about links that nobody can forge.

use store::{Scope, bind};
use testkit::{Client, World, both, json};
use touchline::ids::PersonId;

use crate::mail::{letter_to, node_with_mail, person, post, put, shown};

async fn wants_email(w: &World, id: PersonId) -> bool {
    let look = w.db().read(Scope::account(w.harbour, "test"), move |db| {
        db.one::<(bool,)>(
            "select wants_email from person where account_id = :account and id = :id",
            bind! { id },
        )
    });
    look.await.unwrap().0
}

fn link(w: &World, person: PersonId) -> String {
    format!("/unsubscribe/{}", w.node.app.links.token(w.harbour, person, "ana@example.org"))
}

/// A mail program that offers one click (RFC 8058).
async fn one_click(w: &World, path: &str) -> testkit::Answer {
    let form = w.nobody.with("Content-Type", "application/x-www-form-urlencoded");
    form.send("POST", path, Some("List-Unsubscribe=One-Click")).await
}

both! {
    async fn opening_the_link_changes_nothing_and_the_button_does(w: &World) {
        let ana = person(w, w.harbour, "ana@example.org").await;
        let path = link(w, ana);
        let page = w.nobody.get(&path).await.ok();
        assert!(page.text.contains("Stop these emails?") && page.text.contains("Harbour"));
        assert!(page.text.contains("a***@example.org") && !page.text.contains("ana@"), "{}", page.text);
        assert!(page.text.contains("<form method=\"post\"") && page.text.contains("width=device-width"));
        assert!(!page.text.contains("<script"));
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("form-action 'self'"));
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        w.nobody.send("HEAD", &path, None).await.ok();
        assert!(wants_email(w, ana).await, "looking changes nothing");

        let form = w.nobody.with("Content-Type", "application/x-www-form-urlencoded");
        let done = form.send("POST", &path, Some("")).await.ok();
        assert!(done.text.contains("No more emails") && done.text.contains("action=\"?again\""));
        assert!(!wants_email(w, ana).await);
        assert!(w.nobody.get(&path).await.ok().text.contains("No more emails"));

        let again = form.send("POST", &format!("{path}?again"), Some("")).await.ok();
        assert!(again.text.contains("Emails come again"));
        assert!(wants_email(w, ana).await);
    }

    async fn one_click_in_a_mail_program_is_enough_and_twice_is_once(w: &World) {
        let ana = person(w, w.harbour, "ana@example.org").await;
        let (path, entries) = (link(w, ana), w.count("audit_entry").await);
        one_click(w, &path).await.ok();
        assert!(!wants_email(w, ana).await);
        let news = w.news().await;
        assert_eq!(news.len(), 1);
        assert_eq!(news[0]["type"], "roster.person_updated");
        assert_eq!(news[0]["data"]["object"]["wants_email"], false);
        assert_eq!(news[0]["data"]["previous"]["wants_email"], true);
        assert!(!news[0].to_string().contains("example.org"), "{}", news[0]);

        one_click(w, &path).await.ok();
        w.nobody.with("Content-Type", "text/nonsense").send("POST", &path, Some("x")).await.ok();
        w.nobody.send("POST", &path, None).await.ok();
        assert_eq!(w.news().await.len(), 1, "saying it again says nothing new");
        assert_eq!(w.count("audit_entry").await, entries + 1);
        let version = w.db().read(Scope::account(w.harbour, "test"), move |db| {
            db.one::<(i64,)>("select version from person where account_id = :account and id = :id", bind! { id: ana })
        });
        assert_eq!(version.await.unwrap().0, 2);
    }

    async fn whoever_stops_the_letters_gets_none_that_still_waits(w: &World) {
        let (ana, bob) = (person(w, w.harbour, "ana@example.org").await, person(w, w.harbour, "bob@example.org").await);
        let to_ana = put(w, w.harbour, letter_to(ana)).await;
        let to_bob = put(w, w.harbour, letter_to(bob)).await;
        one_click(w, &link(w, ana)).await.ok();
        // Nobody listens there, which leaves a trace in a letter that was tried.
        let node = node_with_mail(w, "smtp://127.0.0.1:1").await;
        post(&node).carry().await;
        let letter = shown(w, to_ana).await;
        assert_eq!((&letter["status"], &letter["attempts"]), (&json!("cancelled"), &json!(0)));
        assert_eq!(shown(w, to_bob).await["attempts"], 1);
        node.stop().await;
    }

    async fn a_forged_link_leads_nowhere(w: &World) {
        let ana = person(w, w.harbour, "ana@example.org").await;
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
        w.nobody.get("/unsubscribe/%ff%fe").await.refused(404, "not_found");
        assert!(wants_email(w, ana).await);
        w.nobody.send("DELETE", &path, None).await.refused(405, "method_not_allowed");
    }

    async fn the_link_of_somebody_who_is_gone_leads_nowhere(w: &World) {
        let nobody: PersonId = "per_01kbm2x5q8f7vr0n3hd9tzc4wy".parse().unwrap();
        assert_eq!(w.nobody.get(&link(w, nobody)).await.status, 404);
        let ana = person(w, w.harbour, "ana@example.org").await;
        let erase = w.db().write(Scope::account(w.harbour, "test"), move |tx| {
            tx.run("update person set erased_at = :now, email = null where account_id = :account and id = :id", bind! { id: ana })
        });
        erase.await.unwrap();
        assert_eq!(w.nobody.get(&link(w, ana)).await.status, 404);
        assert_eq!(one_click(w, &link(w, ana)).await.status, 404);
    }

    async fn a_click_with_a_large_body_is_refused(w: &World) {
        let ana = person(w, w.harbour, "ana@example.org").await;
        let path = link(w, ana);
        w.nobody.send("POST", &path, Some(&"x".repeat(1025))).await.refused(413, "payload_too_large");
        assert!(wants_email(w, ana).await);
        w.nobody.send("POST", &path, Some(&"x".repeat(1024))).await.ok();
    }

    async fn a_club_with_markup_in_its_name_is_shown_as_text(w: &World) {
        let ana = person(w, w.harbour, "ana@example.org").await;
        let name = w.db().write(Scope::account(w.harbour, "test"), |tx| {
            tx.run("update account set name = '<img src=x onerror=alert(1)>{form}' where id = :account", &[])
        });
        name.await.unwrap();
        let page = w.nobody.get(&link(w, ana)).await.ok().text;
        assert!(page.contains("&#60;img src=x onerror=alert(1)&#62;{form}") && !page.contains("<img src=x"), "{page}");
    }

    async fn a_link_works_on_every_node(w: &World) {
        let ana = person(w, w.harbour, "ana@example.org").await;
        let other = w.node(|_| {}).await;
        let there: Client = w.nobody.at(other.address);
        there.send("POST", &link(w, ana), None).await.ok();
        assert!(!wants_email(w, ana).await);
        other.stop().await;
    }
}
