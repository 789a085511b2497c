//! Tests of the health page.

use testkit::{World, both, seconds};
use touchline::accounts::user::Role;
use touchline::doctor::LastDoctorRun;

both! {
    async fn shows_the_doctors_checks_without_secrets(w: &World) {
        let admin = w.user(Role::Admin, "ana@harbour.example").await;
        let mut browser = w.browser(admin.id).await;
        let page = browser.get("/admin/health").await.ok();
        let page = page.shows("Database").shows("The database answers and is intact.").shows("Backups")
            .shows("Set smtp_url").shows("The logs of all clubs are intact.");
        let hidden = [w.database.folder.path().to_str().unwrap(), "postgres://", "touchline-data", "Hilltop"];
        for secret in hidden {
            assert!(!page.text.contains(secret), "{secret}");
        }
        // Results are cached for a minute.
        w.advance_clock(seconds(30));
        browser.get("/admin/health").await.ok();
        assert!(w.node.app.state::<LastDoctorRun>().0.lock().await.as_ref().unwrap().0 < w.node.app.clock.now());
        w.advance_clock(seconds(31));
        browser.get("/admin/health").await.ok();
        assert_eq!(w.node.app.state::<LastDoctorRun>().0.lock().await.as_ref().unwrap().0, w.node.app.clock.now());
    }
}
