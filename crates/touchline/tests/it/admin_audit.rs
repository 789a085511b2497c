//! Stories about the page that shows the audit log.

use store::{Scope, bind};
use testkit::{Browser, World, both, json};
use touchline::accounts::user::Role;
use touchline::signals::Tell;

async fn admin(w: &World) -> Browser {
    let admin = w.user(Role::Admin, "ana@harbour.example").await;
    w.browser(admin.id).await
}

/// Enters something so many times.
async fn enter(w: &World, action: &'static str, times: usize) {
    let work = move |tx: &store::Tx<'_>| {
        for number in 0..times {
            tx.audit(action, &format!("thing_{number}"), &json!({ "number": number }))?;
        }
        Ok::<_, touchline::error::Error>(())
    };
    w.db().write(Scope::account(w.harbour, "test"), work).await.unwrap();
}

/// The address of the next page.
fn next(page: &testkit::Answer) -> Option<String> {
    let link = page.text.split("href=\"").find(|link| link.contains("cursor="))?;
    Some(link.split('"').next()?.replace("&#38;", "&").replace("&amp;", "&"))
}

fn positions(page: &testkit::Answer) -> Vec<i64> {
    let parts = page.text.split("id=\"entry-").skip(1);
    parts.map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect()
}

both! {
    async fn the_log_tells_who_did_what_and_what_it_was_before(w: &World) {
        let mut browser = admin(w).await;
        let team = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        let changed = w.owner.patch(&team.path(""), json!({ "name": "<script>alert(1)</script>" })).await.ok();
        let page = browser.get("/admin/audit").await.ok();
        let page = page.shows("Team updated").shows("Team created").shows("<del><bdi>Hawks</bdi></del>")
            .shows("The log holds").shows("API key created")
            .shows(changed.header("request-id").unwrap());
        assert!(!page.text.contains("<script>alert"));
        let places = positions(&page);
        assert!(places.is_sorted_by(|a, b| a > b) && places.last() == Some(&1), "{places:?}");
    }

    async fn the_log_is_filtered_and_paged(w: &World) {
        let mut browser = admin(w).await;
        enter(w, "season.begun", 120).await;
        enter(w, "seasonal.fair", 1).await;
        let (mut path, mut seen, mut pages) = ("/admin/audit?action=season&limit=50".to_owned(), Vec::new(), 0);
        loop {
            let page = browser.get(&path).await.ok();
            assert!(!page.text.contains("Seasonal fair"));
            seen.extend(positions(&page));
            pages += 1;
            assert!(pages < 6);
            match next(&page) {
                Some(next) => path = next,
                None => break,
            }
        }
        assert_eq!(seen.len(), 120);
        assert!(seen.is_sorted_by(|a, b| a > b));
        assert_eq!(positions(&browser.get("/admin/audit?action=season.begun&subject=thing_7").await.ok()).len(), 1);
        assert_eq!(positions(&browser.get("/admin/audit?actor=test&action=seasonal.fair&from=&to=").await.ok()).len(), 1);
        assert!(positions(&browser.get("/admin/audit?actor=nobody").await.ok()).is_empty());
        let days = [("from=2026-09-05&to=2026-09-05", true), ("to=2026-09-04", false), ("from=2026-09-06", false)];
        for (days, some) in days {
            let found = positions(&browser.get(&format!("/admin/audit?action=seasonal&{days}")).await.ok());
            assert_eq!(found.len(), usize::from(some), "{days}");
        }
        browser.get("/admin/audit?from=yesterday").await.ok().shows("Write days like");
        // A cursor fits the list it came from only.
        let first = next(&browser.get("/admin/audit?limit=5").await.ok()).unwrap();
        let cursor = first.split("cursor=").nth(1).unwrap();
        assert_eq!(browser.get(&format!("/admin/audit?actor=test&cursor={cursor}")).await.status, 400);
    }

    async fn a_look_goes_back_a_bounded_way_and_on_from_there(w: &World) {
        let mut browser = admin(w).await;
        enter(w, "needle.lost", 1).await;
        enter(w, "hay.added", 6000).await;
        let page = browser.get("/admin/audit?action=needle").await.ok().shows("Look further back");
        assert!(positions(&page).is_empty());
        let further = browser.get(&next(&page).unwrap()).await.ok();
        assert_eq!(positions(&further).len(), 1);
        assert!(next(&further).is_none());
    }

    async fn the_log_is_downloaded_whole_and_harmless(w: &World) {
        let mut browser = admin(w).await;
        enter(w, "hay.added", 2300).await;
        let work = |tx: &store::Tx<'_>| tx.audit("note.written", "=cmd|' /C calc'!A0", &json!({}));
        w.db().write(Scope::account(w.harbour, "test"), work).await.unwrap();
        let file = browser.get("/admin/audit.csv?action=hay&subject=").await.ok();
        assert_eq!(file.header("content-type"), Some("text/csv; charset=utf-8"));
        assert_eq!(file.header("content-disposition"), Some("attachment; filename=\"audit.csv\""));
        assert_eq!(file.text.matches(",hay.added,").count(), 2300);
        let whole = browser.get("/admin/audit.csv").await.ok();
        assert!(whole.text.contains("position,at,actor,actor_name,via,action,subject,request,details"));
        assert!(whole.text.contains(",'=cmd|"), "a formula is text");
        assert!(whole.text.contains("audit_log.exported"), "the first download was entered");
        browser.get("/admin/audit?action=audit_log").await.ok().shows("Audit log exported");
    }

    async fn an_altered_log_is_told(w: &World) {
        let mut browser = admin(w).await;
        browser.get("/admin/audit/check").await.ok().shows("The log holds");
        let alter = |tx: &store::Tx<'_>| tx.run(
            "update audit_entry set actor = 'somebody else' where account_id = :account and position = 2",
            bind! {},
        );
        w.db().write(Scope::account(w.harbour, "test"), alter).await.unwrap();
        browser.get("/admin/audit").await.ok().shows("The log does not hold");
        browser.get("/admin/audit/check").await.ok().shows("audit entry 2 does not fit");
    }

    async fn what_was_erased_stays_erased_and_the_log_still_holds(w: &World) {
        let mut browser = admin(w).await;
        enter(w, "note.written", 1).await;
        let erase = |tx: &store::Tx<'_>| tx.run(
            "update audit_entry set details = null where account_id = :account and action = 'note.written'",
            bind! {},
        );
        w.db().write(Scope::account(w.harbour, "test"), erase).await.unwrap();
        browser.get("/admin/audit?action=note").await.ok().shows("What it said was erased").shows("The log holds");
    }

    async fn what_an_app_did_for_somebody_is_told_with_both_names(w: &World) {
        let mut browser = admin(w).await;
        let user = w.user(Role::Admin, "rui@harbour.example").await;
        let app = w.app(touchline::oauth::app::Kind::Native, "http://127.0.0.1/cb", "teams:read").await;
        let actor = format!("{} via {}", user.id, app.id);
        let work = |tx: &store::Tx<'_>| tx.audit("team.touched", "team_x", &json!({}));
        w.db().write(Scope::account(w.harbour, actor), work).await.unwrap();
        let page = browser.get(&format!("/admin/audit?actor={}", user.id)).await.ok();
        page.shows("Team touched").shows("via").shows("Scores").shows("rui");
    }
}
