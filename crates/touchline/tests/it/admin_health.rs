//! Stories about the page that says how the service is.

use testkit::{World, both, seconds};
use touchline::accounts::user::Role;

both! {
    async fn the_checks_of_the_doctor_are_told_without_secrets(w: &World) {
        let admin = w.user(Role::Admin, "ana@harbour.example").await;
        let mut browser = w.browser(admin.id).await;
        let page = browser.get("/admin/health").await.ok();
        let page = page.shows("Database").shows("The database answers and is whole.").shows("Backups")
            .shows("Set smtp_url").shows("The logs of every account are whole.");
        let hidden = [w.database.folder.path().to_str().unwrap(), "postgres://", "touchline-data", "Hilltop"];
        for secret in hidden {
            assert!(!page.text.contains(secret), "{secret}");
        }
        // Looking again costs nothing for a minute, then it is looked at anew.
        w.pass(seconds(30));
        browser.get("/admin/health").await.ok();
        assert!(w.node.app.checkup.lock().await.as_ref().unwrap().0 < w.node.app.clock.now());
        w.pass(seconds(31));
        browser.get("/admin/health").await.ok();
        assert_eq!(w.node.app.checkup.lock().await.as_ref().unwrap().0, w.node.app.clock.now());
    }
}
