//! Tests of invitations that are sent by email.

use store::Scope;
use testkit::people::PASSWORD;
use testkit::{Browser, MailServer, Node, World, both};
use touchline::accounts::user::{self, Role};

use crate::joining::{link_in, sign_in_after};
use crate::mail::node_with_mail;

/// A signed-in browser at another node.
async fn browser_at(w: &World, node: &Node, email: &str, role: Role) -> Browser {
    let signed_in = w.browser(w.user(role, email).await.id).await;
    let mut browser = Browser::new(node.address);
    (browser.cookie, browser.csrf) = (signed_in.cookie, signed_in.csrf);
    browser
}

/// Creates an account with this address through a join link, and accepts the invitation.
async fn join(node: &Node, link: &str, query: &str, email: &str) {
    let mut browser = Browser::new(node.address);
    browser.get(&format!("{link}{query}")).await.shows("You are invited to");
    let mail = query.strip_prefix("?m=").unwrap_or_default();
    let fields = [("name", "Ana"), ("email", email), ("password", PASSWORD), ("m", mail)];
    let created = browser.post(&format!("{link}/account"), &fields).await;
    sign_in_after(&mut browser, created, email).await;
    browser.get(&format!("{link}{query}")).await.shows("a member");
    browser
        .post(&format!("{link}/accept"), &[("m", mail)])
        .await
        .redirects_to("/account?done=joined");
}

both! {
    async fn only_the_emailed_link_confirms_the_address(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let node = node_with_mail(w, &server.url()).await;
        let mut owner = browser_at(w, &node, "owner@example.org", Role::Owner).await;
        let verified = async |email: &'static str| {
            let read = w.db().read(Scope::system("test"), move |db| user::find_by_email(db, email));
            read.await.unwrap().unwrap().email_verified_at.is_some()
        };
        for (email, by_mail, guessed) in [
            ("ana@example.org", true, false),
            ("bo@example.org", false, false),
            ("cy@example.org", false, true),
        ] {
            let page = owner.post("/admin/members/invite", &[("email", email), ("role", "member")]).await;
            let copied = link_in(&page.shows("We sent the invitation to"));
            let received = server.emails(1).remove(0);
            assert_eq!(received["to"], testkit::json!([email]));
            let text = received["text"].as_str().unwrap().to_owned();
            let line = text.lines().find(|line| line.contains("/join/")).unwrap().trim().to_owned();
            let path = line.strip_prefix("https://club.example.org").unwrap();
            let (link, query) = path.split_at(path.find('?').unwrap());
            assert_eq!(link, copied);
            let query = match (by_mail, guessed) {
                (true, _) => query,
                (_, true) => "?m=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                _ => "",
            };
            join(&node, link, query, email).await;
            assert_eq!(verified(email).await, by_mail, "{email}");
        }
        // An admin who creates an account through the emailed link can accept later.
        owner.post("/admin/members/invite", &[("email", "dee@example.org"), ("role", "admin")]).await.shows("We sent the invitation to");
        let received = server.emails(1).remove(0);
        let text = received["text"].as_str().unwrap();
        let line = text.lines().find(|line| line.contains("/join/")).unwrap().trim();
        let path = line.strip_prefix("https://club.example.org").unwrap();
        let (link, query) = path.split_at(path.find('?').unwrap());
        let mut dee = Browser::new(node.address);
        dee.get(path).await.shows("You are invited to");
        let fields = [("name", "Dee"), ("email", "dee@example.org"), ("password", PASSWORD), ("m", &query[3..])];
        dee.post(&format!("{link}/account"), &fields).await;
        assert!(verified("dee@example.org").await);
        let page = dee.get("/account/claims").await.shows("Join the club");
        let accept = page.text.split("action=\"").find(|part| part.starts_with("/account/invitations/")).unwrap();
        dee.post(accept.split('"').next().unwrap(), &[]).await.redirects_to("/admin?done=joined");
        // The page of an account with an unconfirmed address explains how to confirm it.
        owner.post("/admin/members/invite", &[("email", "flo@example.org"), ("role", "admin")]).await.shows("We sent the invitation to");
        let received = server.emails(1).remove(0);
        let text = received["text"].as_str().unwrap();
        let line = text.lines().find(|line| line.contains("/join/")).unwrap().trim();
        let link = line.strip_prefix("https://club.example.org").unwrap().split('?').next().unwrap();
        let mut flo = Browser::new(node.address);
        flo.get(link).await.shows("You are invited to");
        let fields = [("name", "Flo"), ("email", "flo@example.org"), ("password", PASSWORD)];
        flo.post(&format!("{link}/account"), &fields).await;
        let page = flo.get("/account/claims").await.shows("Confirm your email address first");
        assert!(!page.text.contains("/account/invitations/"));
        flo.get("/account").await.shows("Send me a confirmation link");
        flo.post("/account/email", &[("email", "flo@example.org")]).await.redirects_to("/account?done=email-sent");
        assert_eq!(server.emails(1).remove(0)["to"], testkit::json!(["flo@example.org"]));
        // These emails are not stored.
        assert_eq!(w.count("mail").await, 0);
        // A password reset link is in the email only.
        let user = w.user(Role::Member, "forgetful@example.org").await;
        let path = format!("/admin/members/{}", user.id);
        let answer = owner.post(&format!("{path}/reset"), &[]).await.redirects_to(&format!("{path}?done=reset"));
        assert!(!answer.text.contains("tlln_"));
        let received = server.emails(1).remove(0);
        assert!(received["text"].as_str().unwrap().contains("https://club.example.org/reset/tlln_"));
        node.stop().await;
    }
}
