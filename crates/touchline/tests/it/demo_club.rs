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
        for who in ["owner", "coach", "parent"] {
            let (_, page) = home_of(w, &password, who).await;
            std::fs::write(format!("/tmp/demo_{who}.html"), &page.text).unwrap();
        }
    }
}
