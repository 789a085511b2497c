//! Tests of the audit log page.

use store::{Scope, bind};
use testkit::{Browser, World, both, json};
use touchline::accounts::user::Role;
use touchline::signals::Publish;

async fn admin(w: &World) -> Browser {
    let admin = w.user(Role::Admin, "ana@harbour.example").await;
    w.browser(admin.id).await
}

/// Writes `times` audit entries with this action.
async fn write_entries(w: &World, action: &'static str, times: usize) {
    let work = move |tx: &store::Tx<'_>| {
        for number in 0..times {
            tx.audit(action, &format!("thing_{number}"), &json!({ "number": number }))?;
        }
        Ok::<_, touchline::error::Error>(())
    };
    w.db().write(Scope::account(w.harbour, "test"), work).await.unwrap();
}

/// The path of the next page.
fn next_page(page: &testkit::TestResponse) -> Option<String> {
    let link = page.text.split("href=\"").find(|link| link.contains("cursor="))?;
    Some(link.split('"').next()?.replace("&#38;", "&").replace("&amp;", "&"))
}

fn positions(page: &testkit::TestResponse) -> Vec<i64> {
    let parts = page.text.split("id=\"entry-").skip(1);
    parts.map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect()
}

both! {
    async fn shows_who_changed_what_and_the_previous_values(w: &World) {
        let mut browser = admin(w).await;
        let team = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        let changed = w.owner.patch(&team.path(""), json!({ "name": "<script>alert(1)</script>" })).await.ok();
        let page = browser.get("/admin/audit").await.ok();
        let page = page.shows("Team updated").shows("Team created").shows("<del><bdi>Hawks</bdi></del>")
            .shows("The log is intact").shows("API key created")
            .shows(changed.header("request-id").unwrap());
        assert!(!page.text.contains("<script>alert"));
        let listed = positions(&page);
        assert!(listed.is_sorted_by(|a, b| a > b) && listed.last() == Some(&1), "{listed:?}");
    }

    async fn filters_and_pages_the_log(w: &World) {
        let mut browser = admin(w).await;
        write_entries(w, "season.begun", 120).await;
        write_entries(w, "seasonal.fair", 1).await;
        let (mut path, mut seen, mut pages) = ("/admin/audit?action=season&limit=50".to_owned(), Vec::new(), 0);
        loop {
            let page = browser.get(&path).await.ok();
            assert!(!page.text.contains("Seasonal fair"));
            seen.extend(positions(&page));
            pages += 1;
            assert!(pages < 6);
            match next_page(&page) {
                Some(next_page) => path = next_page,
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
            let listed = positions(&browser.get(&format!("/admin/audit?action=seasonal&{days}")).await.ok());
            assert_eq!(listed.len(), usize::from(some), "{days}");
        }
        browser.get("/admin/audit?from=yesterday").await.ok().shows("Choose a date from the calendar");
        // A cursor is valid only for the list it came from.
        let first = next_page(&browser.get("/admin/audit?limit=5").await.ok()).unwrap();
        let cursor = first.split("cursor=").nth(1).unwrap();
        assert_eq!(browser.get(&format!("/admin/audit?actor=test&cursor={cursor}")).await.status, 400);
    }

    async fn a_search_scans_a_bounded_number_of_entries_and_can_continue(w: &World) {
        let mut browser = admin(w).await;
        write_entries(w, "needle.lost", 1).await;
        write_entries(w, "hay.added", 6000).await;
        let page = browser.get("/admin/audit?action=needle").await.ok().shows("Search older entries");
        assert!(positions(&page).is_empty());
        let further = browser.get(&next_page(&page).unwrap()).await.ok();
        assert_eq!(positions(&further).len(), 1);
        assert!(next_page(&further).is_none());
    }

    async fn csv_download_is_complete_and_escapes_formulas(w: &World) {
        let mut browser = admin(w).await;
        write_entries(w, "hay.added", 2300).await;
        let work = |tx: &store::Tx<'_>| tx.audit("note.written", "=cmd|' /C calc'!A0", &json!({}));
        w.db().write(Scope::account(w.harbour, "test"), work).await.unwrap();
        let file = browser.get("/admin/audit.csv?action=hay&subject=").await.ok();
        assert_eq!(file.header("content-type"), Some("text/csv; charset=utf-8"));
        assert_eq!(file.header("content-disposition"), Some("attachment; filename=\"audit.csv\""));
        assert_eq!(file.text.matches(",hay.added,").count(), 2300);
        let complete = browser.get("/admin/audit.csv").await.ok();
        assert!(complete.text.contains("position,at,actor,actor_name,via,action,subject,request,details"));
        assert!(complete.text.contains(",'=cmd|"), "a formula is text");
        assert!(complete.text.contains("audit_log.exported"), "the first download was entered");
        browser.get("/admin/audit?action=audit_log").await.ok().shows("Audit log exported");
    }

    async fn reports_an_altered_log(w: &World) {
        let mut browser = admin(w).await;
        browser.get("/admin/audit/check").await.ok().shows("The log is intact");
        let alter = |tx: &store::Tx<'_>| tx.execute(
            "update audit_entry set actor = 'somebody else' where account_id = :account and position = 2",
            bind! {},
        );
        w.db().write(Scope::account(w.harbour, "test"), alter).await.unwrap();
        browser.get("/admin/audit").await.ok().shows("The log was changed");
        browser.get("/admin/audit/check").await.ok().shows("audit entry 2 does not match");
    }

    async fn erased_details_stay_erased_and_the_log_stays_valid(w: &World) {
        let mut browser = admin(w).await;
        write_entries(w, "note.written", 1).await;
        let erase = |tx: &store::Tx<'_>| tx.execute(
            "update audit_entry set details = null where account_id = :account and action = 'note.written'",
            bind! {},
        );
        w.db().write(Scope::account(w.harbour, "test"), erase).await.unwrap();
        browser.get("/admin/audit?action=note").await.ok().shows("The details were erased").shows("The log is intact");
    }

    async fn shows_both_the_app_and_the_user_it_acted_for(w: &World) {
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
