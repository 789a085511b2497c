//! Tests of how lists show events of several days and in other time zones.

use testkit::{World, both, json, seconds};

use crate::events::{practice, with};
use crate::mail::DAY;

both! {
    async fn lists_show_until_which_day_an_event_lasts(w: &World) {
        let club = w.club().await;
        let add = async |start: &str, end: &str, more| {
            w.owner.post("/events", with(practice(&club.hawks, start, end), more)).await.created();
        };
        add("2026-09-12", "2026-09-15", json!({ "type": "tournament", "all_day": true, "title": "Cup" })).await;
        add("2026-09-17T10:00", "2026-09-18T16:00", json!({ "title": "Camp" })).await;
        add("2026-09-20T21:00", "2026-09-21T00:00", json!({ "title": "Until midnight" })).await;
        let team = format!("/teams/{}", club.hawks);
        let lists = ["/", "/schedule", &team, "/schedule/print", "/schedule?view=month&month=2026-09"];
        let mut parent = w.browser(club.parent.id).await;
        // The first event that needs an answer is large.
        parent.get("/").await.ok().shows("<span class=\"big\">All day</span><span>until Tue, 15 Sep</span>");
        for path in &lists[1..] {
            let page = parent.get(path).await.ok().shows("All day until Tue, 15 Sep").shows("10:00 until Fri, 18 Sep").shows("21:00");
            assert!(!page.text.contains("21:00 until"), "{path}");
        }
        // The cells of the month are narrow, and there is one for each day.
        let page = parent.get(lists[4]).await.ok();
        assert_eq!(page.text.matches("All day<b><bdi>Cup").count(), 4);
        // While the event is running, it still shows until when.
        w.advance_clock(seconds(9 * DAY));
        for path in ["/", "/schedule", &team, "/schedule/print"] {
            w.browser(club.parent.id).await.get(path).await.ok().shows("until Tue, 15 Sep");
        }
    }

    async fn lists_name_another_time_zone(w: &World) {
        let club = w.club().await;
        let add = async |zone: &str, title: &str| {
            let body = practice(&club.hawks, "2026-09-08T22:00", "2026-09-08T23:00");
            w.owner.post("/events", with(body, json!({ "timezone": zone, "title": title }))).await.created();
        };
        add("America/New_York", "Away game").await;
        add("UTC", "Here").await;
        // The clocks show the same time as those of the club.
        add("Africa/Abidjan", "Same time").await;
        let team = format!("/teams/{}", club.hawks);
        let page = w.browser(club.parent.id).await.get("/").await.ok();
        page.shows("<span class=\"big\">22:00</span>").shows("<span class=\"sub\">22:00 (New York)");
        for path in ["/schedule", &team, "/schedule/print", "/schedule?view=month&month=2026-09"] {
            let page = w.browser(club.parent.id).await.get(path).await.ok().shows("22:00 (New York)");
            assert!(!page.text.contains("(UTC)") && !page.text.contains("(Abidjan)"), "{path}");
        }
    }
}
