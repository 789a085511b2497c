//! Tests of the schedule pages: agenda, month, printing and calendar links.

use testkit::{TestResponse, World, both, json, seconds};

use crate::event_editing::hidden;
use crate::event_pages::tomorrow;
use crate::events::{event_path, practice, with};
use crate::files::png;

/// The path of the page for printing.
fn print_link(page: &TestResponse) -> String {
    let (_, rest) = page.text.split_once("href=\"/schedule/print").expect("a link to print");
    format!("/schedule/print{}", rest.split('"').next().unwrap().replace("&#38;", "&"))
}

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
        let mut shown = Vec::new();
        loop {
            let page = parent.get(&path).await.ok();
            shown.extend(page.text.split(" id=\"evt_").skip(1).map(|rest| format!("evt_{}", rest.split('"').next().unwrap())));
            let Some(next) = page.text.split("class=\"more\"").nth(1) else { break };
            path = next.split("href=\"").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
        }
        let events = w.owner.get("/events?limit=100").await.ok();
        let events: Vec<_> = events.data().as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!((shown.len(), shown), (60, events));
    }

    async fn each_day_of_a_month_leads_to_an_event_in_the_list(w: &World) {
        let club = w.club().await;
        let add = async |title: &str, from: &str, until: &str| {
            let body = with(practice(&club.hawks, from, until), json!({ "title": title, "type": "tournament" }));
            w.owner.post("/events", body).await.created().id().to_owned()
        };
        let august = add("Summer camp", "2026-08-30T09:00", "2026-09-02T17:00").await;
        let cup = add("Cup", "2026-09-11T09:00", "2026-09-13T17:00").await;
        let dinner = add("Dinner", "2026-09-12T19:00", "2026-09-12T21:00").await;
        add("Over before", "2026-08-29T09:00", "2026-08-31T17:00").await;
        let mut parent = w.browser(club.parent.id).await;
        let page = parent.get("/schedule?view=month&month=2026-09").await.ok();
        let links: Vec<_> = page.text.split("class=\"n phone\" href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(links, [&august, &august, &cup, &dinner, &cup]);
        for event in [&august, &cup, &dinner] {
            assert_eq!(page.text.matches(&format!(" id=\"{event}\"")).count(), 1);
        }
        assert!(!page.text.contains("#day-"));
        let page = parent.get("/schedule/print?view=month&month=2026-09").await.ok().shows("Summer camp");
        assert!(!page.text.contains("Over before"));
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
        // Sent again, the form offers to replace the link, because it cannot be shown again.
        let page = parent.post("/schedule/subscribe", &fields).await.ok().shows("was already created").shows("Create a new link");
        w.nobody.page("GET", &link, None).await.ok().shows("Training");
        let (first, replaced, nonce) = (link, hidden(&page, "replaces"), hidden(&page, "nonce"));
        let fields = [("nonce", &*nonce), ("feed", club.pat.as_str()), ("replaces", &*replaced)];
        assert_eq!(hidden(&page, "feed"), club.pat);
        let page = parent.post("/schedule/subscribe", &fields).await.ok().shows("webcal://");
        let link = format!("/calendar/{}", page.text.split("/calendar/").nth(1).unwrap().split('"').next().unwrap());
        w.advance_clock(seconds(1));
        assert_eq!(w.nobody.page("GET", &first, None).await.status, 404);
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
    async fn the_print_view_keeps_the_filters(w: &World) {
        let club = w.club().await;
        let ben = w.add_member(&club.otters, json!({ "first_name": "Ben", "birth_date": "2015-01-01", "guardians": [{ "id": club.pat }] })).await;
        w.add_member(&club.otters, json!({ "person_id": club.max.person })).await;
        let third = w.owner.post("/teams", json!({ "name": "Third" })).await.created();
        let titles = ["Training of the Hawks", "Training of the Otters", "vs Gulls", "In October", "Somebody else’s"];
        let events = [(&*club.hawks, "09-06", "practice"), (&club.otters, "09-07", "practice"), (&club.otters, "09-08", "game"), (&club.hawks, "10-06", "practice"), (third.id(), "09-06", "practice")];
        for (title, (team, day, kind)) in titles.into_iter().zip(events) {
            let body = practice(team, &format!("2026-{day}T18:30"), &format!("2026-{day}T20:00"));
            w.owner.post("/events", with(body, json!({ "title": title, "type": kind }))).await.created();
        }
        let (hawks, otters, max, ben) = (&club.hawks, &club.otters, &club.max.person, &ben.person);
        let expected = [
            (String::new(), vec![0, 1, 2, 3]),
            (format!("team={hawks}"), vec![0, 3]),
            (format!("team={otters}"), vec![1, 2]),
            (format!("child={max}"), vec![0, 1, 2, 3]),
            (format!("child={ben}"), vec![1, 2]),
            (format!("team={otters}&child={max}"), vec![1, 2]),
            (format!("team={hawks}&child={ben}"), vec![]),
            (format!("type=game&child={ben}"), vec![2]),
            (format!("team={hawks}&view=month&month=2026-10"), vec![3]),
        ];
        let mut parent = w.browser(club.parent.id).await;
        let shown = |page: &TestResponse| (0..titles.len()).filter(|at| page.text.contains(titles[*at])).collect::<Vec<_>>();
        for (query, events) in expected {
            let page = parent.get(&format!("/schedule?{query}")).await.ok();
            assert_eq!(shown(&page), events, "{query}");
            let link = print_link(&page);
            let printed = parent.get(&link).await.ok();
            assert_eq!(shown(&printed), events, "{link}");
        }
        // The page of a team leads to a print view of that team.
        let page = parent.get(&format!("/teams/{otters}")).await.ok();
        assert_eq!(shown(&parent.get(&print_link(&page)).await.ok()), [1, 2]);
        assert_eq!(parent.get(&format!("/schedule/print?child={}", club.zoe.person)).await.status, 404);
        let other = parent.get(&format!("/schedule/print?team={}", third.id())).await;
        assert_eq!((other.status, shown(&other)), (404, vec![]));
    }

    async fn an_uploaded_logo_replaces_the_crest(w: &World) {
        let club = w.club().await;
        tomorrow(w, &club, json!({})).await;
        let mut parent = w.browser(club.parent.id).await;
        let (home, agenda, team) = ("/".to_owned(), "/schedule".to_owned(), format!("/teams/{}", club.hawks));
        let pages = [&home, &agenda, &team];
        for path in pages {
            let page = parent.get(path).await.ok().shows("class=\"crest tc ");
            assert!(!page.text.contains("<img"), "{path}");
        }
        let mut coach = w.browser(club.coach.id).await;
        let upload = format!("/teams/{}/logo", club.hawks);
        coach.upload(&upload, &[], &[("file", "logo.png", &png(300, 300))]).await.redirects_to(&format!("{upload}?done=saved"));
        let logo = w.owner.get(&team).await.ok().data()["logo_file_id"].as_str().unwrap().to_owned();
        for path in pages {
            let page = parent.get(path).await.ok();
            // The menu with the own teams is on each of these pages.
            let (_, menu) = page.text.split_once(&format!("<li><a href=\"/teams/{}\"", club.hawks)).unwrap();
            let (menu, _) = menu.split_once("</li>").unwrap();
            assert!(menu.contains(&format!("<img src=\"/files/{logo}")), "{path}: {menu}");
            // Home has the crest on the next event, and the page of the team in its header.
            let band = page.text.split("class=\"teamhd\"").nth(1).map(|rest| rest.split("</div></div>").next().unwrap());
            assert_eq!(band.is_some_and(|band| band.contains(&format!("<img src=\"/files/{logo}"))), *path != agenda, "{path}");
            let url = page.text.split("<img src=\"").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
            let image = parent.get(&url).await.ok();
            assert_eq!(image.header("content-type"), Some("image/png"), "{path}");
        }
        // Other teams keep their crests.
        let page = w.browser(club.admin.id).await.get(&format!("/teams/{}", club.otters)).await.ok();
        let band = page.text.split("class=\"teamhd\"").nth(1).unwrap().split("</div></div>").next().unwrap();
        assert!(!band.contains("<img"), "{band}");
    }
}
