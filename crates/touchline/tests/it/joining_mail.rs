//! Stories about invitations that are sent by mail.

use store::Scope;
use testkit::people::PASSWORD;
use testkit::{Browser, MailServer, Node, World, both};
use touchline::accounts::user::{self, Role};

use crate::joining::{link_in, sign_in_after};
use crate::mail::node_with_mail;

/// The browser of somebody who signed in, at another node.
async fn browser_at(w: &World, node: &Node, email: &str, role: Role) -> Browser {
    let known = w.browser(w.user(role, email).await.id).await;
    let mut browser = Browser::new(node.address);
    (browser.cookie, browser.csrf) = (known.cookie, known.csrf);
    browser
}

/// Makes an account by a link with this address, and accepts.
async fn join(node: &Node, link: &str, seal: &str, email: &str) {
    let mut browser = Browser::new(node.address);
    browser.get(&format!("{link}{seal}")).await.shows("You are invited to");
    let mail = seal.strip_prefix("?m=").unwrap_or_default();
    let fields = [("name", "Ana"), ("email", email), ("password", PASSWORD), ("m", mail)];
    let made = browser.post(&format!("{link}/account"), &fields).await;
    sign_in_after(&mut browser, made, email).await;
    browser.get(&format!("{link}{seal}")).await.shows("a member");
    browser.post(&format!("{link}/accept"), &[("m", mail)]).await.leads_to("/account?done=joined");
}

both! {
    async fn only_the_link_that_was_mailed_confirms_the_address(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let node = node_with_mail(w, &server.url()).await;
        let mut owner = browser_at(w, &node, "owner@example.org", Role::Owner).await;
        let verified = async |email: &'static str| {
            let look = w.db().read(Scope::system("test"), move |db| user::find_by_email(db, email));
            look.await.unwrap().unwrap().email_verified_at.is_some()
        };
        for (email, by_mail, guess) in [
            ("ana@example.org", true, false),
            ("bo@example.org", false, false),
            ("cy@example.org", false, true),
        ] {
            let page = owner.post("/admin/members/invite", &[("email", email), ("role", "member")]).await;
            let copied = link_in(&page.shows("was sent to"));
            let arrived = server.letters(1).remove(0);
            assert_eq!(arrived["to"], testkit::json!([email]));
            let text = arrived["text"].as_str().unwrap().to_owned();
            let line = text.lines().find(|line| line.contains("/join/")).unwrap().trim().to_owned();
            let path = line.strip_prefix("https://club.example.org").unwrap();
            let (link, seal) = path.split_at(path.find('?').unwrap());
            assert_eq!(link, copied);
            let seal = match (by_mail, guess) {
                (true, _) => seal,
                (_, true) => "?m=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                _ => "",
            };
            join(&node, link, seal, email).await;
            assert_eq!(verified(email).await, by_mail, "{email}");
        }
        // An admin who makes an account by the emailed link and leaves can accept later.
        owner.post("/admin/members/invite", &[("email", "dee@example.org"), ("role", "admin")]).await.shows("was sent to");
        let arrived = server.letters(1).remove(0);
        let text = arrived["text"].as_str().unwrap();
        let line = text.lines().find(|line| line.contains("/join/")).unwrap().trim();
        let path = line.strip_prefix("https://club.example.org").unwrap();
        let (link, seal) = path.split_at(path.find('?').unwrap());
        let mut dee = Browser::new(node.address);
        dee.get(path).await.shows("You are invited to");
        let fields = [("name", "Dee"), ("email", "dee@example.org"), ("password", PASSWORD), ("m", &seal[3..])];
        dee.post(&format!("{link}/account"), &fields).await;
        assert!(verified("dee@example.org").await);
        let page = dee.get("/account/claims").await.shows("Join the club");
        let accept = page.text.split("action=\"").find(|part| part.starts_with("/account/invitations/")).unwrap();
        dee.post(accept.split('"').next().unwrap(), &[]).await.leads_to("/admin?done=joined");
        // An account that did not confirm its address is told so, and how.
        owner.post("/admin/members/invite", &[("email", "flo@example.org"), ("role", "admin")]).await.shows("was sent to");
        let arrived = server.letters(1).remove(0);
        let text = arrived["text"].as_str().unwrap();
        let line = text.lines().find(|line| line.contains("/join/")).unwrap().trim();
        let link = line.strip_prefix("https://club.example.org").unwrap().split('?').next().unwrap();
        let mut flo = Browser::new(node.address);
        flo.get(link).await.shows("You are invited to");
        let fields = [("name", "Flo"), ("email", "flo@example.org"), ("password", PASSWORD)];
        flo.post(&format!("{link}/account"), &fields).await;
        let page = flo.get("/account/claims").await.shows("confirm your email address first");
        assert!(!page.text.contains("/account/invitations/"));
        flo.get("/account").await.shows("Send me a confirmation link");
        flo.post("/account/email", &[("email", "flo@example.org")]).await.leads_to("/account?done=letter");
        assert_eq!(server.letters(1).remove(0)["to"], testkit::json!(["flo@example.org"]));
        // Such letters are kept nowhere.
        assert_eq!(w.count("mail").await, 0);
        // A link for a new password goes to its reader alone.
        let user = w.user(Role::Member, "forgetful@example.org").await;
        let path = format!("/admin/members/{}", user.id);
        let told = owner.post(&format!("{path}/reset"), &[]).await.leads_to(&format!("{path}?done=reset"));
        assert!(!told.text.contains("tlln_"));
        let arrived = server.letters(1).remove(0);
        assert!(arrived["text"].as_str().unwrap().contains("https://club.example.org/reset/tlln_"));
        node.stop().await;
    }
}
