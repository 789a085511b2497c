//! Tests of the demo club: what somebody who tries the program sees first.

use testkit::{Browser, TestResponse, World, both};
use touchline::demo;

use crate::signin::sign_in;

/// Signs in as one of the users of the demo club, and opens Home.
async fn home_of(w: &World, password: &str, who: &str) -> (Browser, TestResponse) {
    let user = demo::SIGN_INS.into_iter().find(|user| user.who == who).unwrap();
    let mut browser = w.anonymous_browser();
    sign_in(&mut browser, user.email, password).await.redirects_to("/");
    let page = browser.get("/").await.ok().shows("Harbour Athletic (demo)");
    (browser, page)
}

both! {
    async fn everybody_who_signs_in_to_the_demo_club_has_something_to_do(w: &World) {
        demo::load(&w.node.app).await.unwrap();
        let password = demo::ensure_users(w.db(), w.database.folder.path()).await.unwrap();
        // The parent has a cancellation to confirm, open answers, an unread announcement and an open due.
        let (mut parent, page) = home_of(w, &password, "parent").await;
        let page = page.shows("Cancelled: <bdi>Practice").shows("Got it").shows("Needs your answer").shows("Season fee");
        let message = page.text.split("<a class=\"row\" href=\"/messages/msg_").nth(1).expect("an unread announcement");
        let message = format!("/messages/msg_{}", message.split('"').next().unwrap());
        let answer = page.text.split("<form class=\"ans\" method=\"post\" action=\"").nth(1).expect("an open answer");
        let (path, form) = answer.split_once('"').unwrap();
        let member = form.split("name=\"member_id\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let sent = parent.post(path, &[("member_id", member), ("answer", "yes"), ("next", "/")]).await;
        assert_eq!(sent.status, 303, "{}", sent.text);
        parent.get(&message).await.ok().shows("Welcome to the season");
        let after = parent.get("/").await.ok();
        assert!(!after.text.contains(&message), "the announcement was read");
        let open = |page: &TestResponse| page.text.matches("<fieldset><legend>").count();
        assert_eq!(open(&after), open(&page) - 1);

        // The coach counts answers, and reminds those who have not answered.
        let (mut coach, page) = home_of(w, &password, "coach").await;
        let page = page.shows(" going</span>").shows(" no answer</span>").shows("Remind</button>").shows("Take attendance");
        let remind = page.text.split("action=\"").find(|rest| rest.split('"').next().unwrap().ends_with("/remind")).unwrap();
        let sent = coach.post(remind.split('"').next().unwrap(), &[("next", "/")]).await;
        coach.get(sent.local_redirect().unwrap()).await.ok().shows("class=\"flash good\"").shows("Reminded ");

        // The owner sees all teams, and manages the club.
        let (mut owner, page) = home_of(w, &password, "owner").await;
        let page = page.shows("Harbour Hawks U12").shows("Lighthouse Netters").shows("Remind</button>").shows("href=\"/admin\"");
        assert!(!page.text.contains("Create a team"), "the first steps are done");
        owner.get("/admin").await.ok();
    }
}
