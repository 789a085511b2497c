//! Tests of the schedule pages: agenda, month, printing and calendar links.

use testkit::{World, both, json, seconds};

use crate::events::{event_path, practice, with};

both! {
    async fn the_agenda_shows_the_events_of_all_own_teams(w: &World) {
        let club = w.club().await;
        let ben = w.add_member(&club.otters, json!({ "first_name": "Ben", "birth_date": "2015-01-01", "guardians": [{ "id": club.pat }] })).await;
        let third = w.owner.post("/teams", json!({ "name": "Third" })).await.created();
        let add = async |team: &str, day: &str, more| {
            let body = practice(team, &format!("2026-{day}T18:30"), &format!("2026-{day}T20:00"));
            w.owner.post("/events", with(body, more)).await.created()
        };
        add(&club.hawks, "09-04", json!({ "title": "Last training" })).await;
        let today = add(&club.hawks, "09-05", json!({ "title": "Training today" })).await;
        let game = add(&club.otters, "09-08", json!({ "title": "vs Gulls", "type": "game" })).await;
        add(&club.hawks, "09-22", json!({ "title": "Training later" })).await;
        add(third.id(), "09-06", json!({ "title": "Somebody else’s" })).await;
        w.owner.put(&event_path(&today, &format!("/rsvps/{}", club.max.member)), json!({ "answer": "yes" })).await.ok();
        w.owner.post(&event_path(&game, "/cancel"), json!({})).await.ok();

        let mut parent = w.browser(club.parent.id).await;
        let page = parent.get("/schedule").await.ok().shows("This week").shows("Next week").shows("Week of 21 Sep 2026")
            .shows("<bdi>Max</bdi>: going").shows("Cancelled").shows("Training later");
        assert!(!page.text.contains("Somebody else") && !page.text.contains("Last training") && !page.text.contains("New event"));
        parent.get("/schedule?past=1").await.ok().shows("Last training");
        let page = parent.get("/schedule?type=game").await.ok().shows("vs Gulls");
        assert!(!page.text.contains("Training"));
        let page = parent.get(&format!("/schedule?child={}", ben.person)).await.ok().shows("vs Gulls");
        assert!(!page.text.contains("Training today"));
        parent.get(&format!("/schedule?child={}&team={}", ben.person, club.hawks)).await.ok().shows("No events match these filters");
        for path in [format!("/schedule?child={}", club.zoe.person), format!("/schedule?team={}", third.id()), "/schedule?team=x".to_owned(), format!("/teams/{}", third.id())] {
            assert_eq!(parent.get(&path).await.status, 404, "{path}");
        }
        let page = parent.get(&format!("/teams/{}", club.hawks)).await.ok().shows("<h1><bdi>Hawks</bdi></h1>").shows("Training today");
        assert!(!page.text.contains("vs Gulls"));
        let page = parent.get("/schedule?view=month").await.ok().shows("September 2026").shows("Last training").shows("vs Gulls").shows("aria-current=\"date\"");
        assert!(!page.text.contains("Somebody else"));
        parent.get("/schedule?view=month&month=2026-10").await.ok().shows("October 2026").shows("No events in this month");
        parent.get("/schedule?view=month&month=nonsense").await.ok().shows("September 2026");
        let page = parent.get("/schedule/print").await.ok().shows("Training later");
        assert!(!page.text.contains("Somebody else"));

        let mut coach = w.browser(club.coach.id).await;
        coach.get("/schedule").await.ok().shows("1 going").shows("3 no answer").shows("href=\"/events/new\"");
        w.browser(club.owner.id).await.get("/schedule").await.ok().shows("Somebody else").shows("Training today");
        let page = w.browser(club.outsider.id).await.get("/schedule").await.ok().shows("Nothing is planned");
        assert!(!page.text.contains("Training"));
    }

    async fn a_long_agenda_has_a_next_page(w: &World) {
        let club = w.club().await;
        let series = json!({ "recurrence": "FREQ=DAILY;COUNT=60", "title": "Training" });
        w.owner.post("/events", with(practice(&club.hawks, "2026-09-06T18:30", "2026-09-06T20:00"), series)).await.created();
        let mut parent = w.browser(club.parent.id).await;
        let mut path = "/schedule".to_owned();
        let mut days = Vec::new();
        loop {
            let page = parent.get(&path).await.ok();
            days.extend(page.text.split("id=\"day-").skip(1).map(|rest| rest[..10].to_owned()));
            let Some(next) = page.text.split("class=\"more\"").nth(1) else { break };
            path = next.split("href=\"").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
        }
        assert_eq!((days.len(), days.first().unwrap().as_str(), days.last().unwrap().as_str()), (60, "2026-09-06", "2026-11-04"));
        assert!(days.is_sorted());
    }

    async fn a_calendar_link_is_shown_once_and_can_be_revoked(w: &World) {
        let club = w.club().await;
        let body = practice(&club.hawks, "2026-09-06T18:30", "2026-09-06T20:00");
        w.owner.post("/events", with(body, json!({ "title": "Training" }))).await.created();
        let mut parent = w.browser(club.parent.id).await;
        let page = parent.get("/schedule/subscribe").await.ok().shows("All my teams, and those of my children").shows("Hawks");
        let nonce = page.text.split("name=\"nonce\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        assert_eq!(parent.post("/schedule/subscribe", &[("nonce", &nonce), ("feed", "x")]).await.status, 422);
        assert_eq!(parent.post("/schedule/subscribe", &[("nonce", &nonce), ("feed", &club.otters)]).await.status, 422);
        let fields = [("nonce", nonce.as_str()), ("feed", club.pat.as_str())];
        let page = parent.post("/schedule/subscribe", &fields).await.ok().shows("webcal://").shows("class=\"qr\"").shows("up to a day");
        let link = page.text.split("/calendar/").nth(1).unwrap().split('"').next().unwrap();
        let link = format!("/calendar/{link}");
        w.nobody.page("GET", &link, None).await.ok().shows("Training");
        parent.post("/schedule/subscribe", &fields).await.ok().shows("was already created");

        let page = parent.get("/schedule/subscribe").await.ok().shows("Your links").shows("All my teams");
        let revoke = page.text.split("/schedule/subscribe/cal_").nth(1).unwrap().split('/').next().unwrap();
        let revoke = format!("/schedule/subscribe/cal_{revoke}/revoke");
        let mut player = w.browser(club.player.id).await;
        assert_eq!(player.get(&revoke).await.status, 404);
        assert_eq!(player.post(&revoke, &[]).await.status, 404);
        parent.get(&revoke).await.ok().shows("Revoke link");
        for _ in 0..2 {
            parent.post(&revoke, &[]).await.redirects_to("/schedule/subscribe?done=revoked");
        }
        w.advance_clock(seconds(1));
        assert_eq!(w.nobody.page("GET", &link, None).await.status, 404);
        assert!(!parent.get("/schedule/subscribe").await.ok().text.contains("Your links"));
    }
}
