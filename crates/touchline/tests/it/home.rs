//! Tests of Home: what a parent, a coach and an admin see and do there.

use testkit::club::TestClub;
use testkit::{TestResponse, Value, World, both, json, seconds};
use touchline::accounts::user::Role;

use crate::dues_pages::HOSTILE;
use crate::events::{practice, with};

/// A practice of the Hawks tomorrow.
async fn tomorrow(w: &World, club: &TestClub, more: Value) -> TestResponse {
    let body = practice(&club.hawks, "2026-09-06T18:30", "2026-09-06T20:00");
    w.owner.post("/events", with(body, more)).await.created()
}

/// The position of a text on a page.
fn position(page: &TestResponse, text: &str) -> usize {
    page.text.find(text).unwrap_or_else(|| panic!("the page does not show {text}"))
}

/// A club in which Pat has three children on six teams, with three events a week each.
pub(crate) async fn three_children_on_six_teams(w: &World) -> TestClub {
    let club = w.club().await;
    let mut children = vec![club.max.person.clone()];
    for name in ["Ben", "Mila"] {
        let child = json!({ "first_name": name, "guardians": [{ "id": club.pat }] });
        children.push(w.add_member(&club.otters, child).await.person);
    }
    let mut teams = vec![club.hawks.clone(), club.otters.clone()];
    for (number, child) in children.iter().chain(&children[..1]).enumerate() {
        let team = json!({ "name": format!("Harbour Gulls {number}") });
        let team = w.owner.post("/teams", team).await.created();
        w.add_member(team.id(), json!({ "person_id": child })).await;
        teams.push(team.id().to_owned());
    }
    let place = json!({ "name": "Eastside Complex, pitch 4" });
    let place = w.owner.post("/locations", place).await.created();
    for team in &teams {
        let series = json!({ "recurrence": "FREQ=WEEKLY;BYDAY=TU,TH,SA;COUNT=12", "title": "Practice at the lower pitch", "location_id": place.id(), "arrival_minutes": 15 });
        let body = practice(team, "2026-09-08T18:30", "2026-09-08T20:00");
        w.owner.post("/events", with(body, series)).await.created();
    }
    club
}

both! {
    async fn a_parent_sees_what_to_answer_first_and_answers_with_one_tap(w: &World) {
        let club = w.club().await;
        let child = json!({ "first_name": "Ben", "guardians": [{ "id": club.pat }] });
        let ben = w.add_member(&club.hawks, child).await;
        let event = tomorrow(w, &club, json!({ "title": HOSTILE })).await;
        let later = practice(&club.hawks, "2026-09-08T18:30", "2026-09-08T20:00");
        w.owner.post("/events", with(later, json!({ "title": "No answers", "rsvp_enabled": false }))).await.created();
        let mut parent = w.browser(club.parent.id).await;
        let page = parent.get("/").await.ok().shows("2 answers needed").shows("Is <bdi>Max</bdi> going?").shows("Is <bdi>Ben</bdi> going?");
        assert!(!page.text.contains("<img src=x") && !page.text.contains("/admin\""));
        assert!(position(&page, "Needs your answer") < position(&page, "No answers"));

        for member in [&club.max.member, &ben.member] {
            let fields = [("member_id", member.as_str()), ("answer", "yes"), ("next", "/")];
            let answer = parent.post(&format!("/events/{}/answer", event.id()), &fields).await;
            assert_eq!(answer.status, 303);
        }
        let page = parent.get("/").await.ok().shows("Nothing needs your answer.").shows("<bdi>Max</bdi> is going");
        assert!(!page.text.contains("Needs your answer"));
        assert!(page.text.len() < 40_000, "{}", page.text.len());
        w.browser(club.outsider.id).await.get("/").await.ok().shows("Your coach has not planned anything yet.");
    }

    async fn a_cancellation_is_on_top_until_it_is_confirmed(w: &World) {
        let club = w.club().await;
        let moved = tomorrow(w, &club, json!({ "title": "Moved practice" })).await;
        let event = tomorrow(w, &club, json!({ "title": "Wet practice" })).await;
        let mut parent = w.browser(club.parent.id).await;
        let before = parent.get("/").await.ok();
        assert!(!before.text.contains("Got it"));
        let path = format!("/events/{}", moved.id());
        w.owner.patch(&path, json!({ "starts_at": "2026-09-06T19:00", "ends_at": "2026-09-06T20:30" })).await.ok();
        let reason = json!({ "reason": "The pitch is under water." });
        w.owner.post(&format!("/events/{}/cancel", event.id()), reason).await.ok();
        let page = parent.get("/").await.ok().shows("The pitch is under water.").shows("2 changes");
        assert!(position(&page, "Cancelled: <bdi>Wet practice") < position(&page, "Changed: <bdi>Moved"));
        assert!(position(&page, "Changed: <bdi>Moved") < position(&page, "Needs your answer"));

        let shown = page.text.split("name=\"until\" value=\"").nth(1).unwrap();
        let shown = shown.split('"').next().unwrap().to_owned();
        w.advance_clock(seconds(60));
        let late = json!({ "starts_at": "2026-09-06T19:15", "ends_at": "2026-09-06T20:45" });
        w.owner.patch(&path, late).await.ok();
        parent.post("/home/seen", &[("until", &shown)]).await.redirects_to("/");
        // What changed after the page was shown is still new.
        let page = parent.get("/").await.ok().shows("Changed: <bdi>Moved practice");
        assert!(!page.text.contains("Cancelled: <bdi>Wet"));
        for until in ["2026-09-30T00:00:00Z", "nonsense"] {
            parent.post("/home/seen", &[("until", until)]).await.redirects_to("/");
        }
        // What is not about the time, the place or the status is no change here.
        w.owner.patch(&path, json!({ "notes": "Bring a torch." })).await.ok();
        let page = parent.get("/").await.ok();
        assert!(!page.text.contains("Got it"));
        // Everybody confirms for themselves.
        w.browser(club.player.id).await.get("/").await.ok().shows("Cancelled: <bdi>Wet practice");
    }

    async fn a_coach_sees_the_answers_and_reminds_the_others(w: &World) {
        let club = w.club().await;
        let event = tomorrow(w, &club, json!({})).await;
        let path = format!("/events/{}/rsvps/{}", event.id(), club.max.member);
        w.owner.put(&path, json!({ "answer": "yes" })).await.ok();
        let mut coach = w.browser(club.coach.id).await;
        let path = format!("/events/{}/rsvps/{}", event.id(), club.zoe.member);
        w.owner.put(&path, json!({ "answer": "no" })).await.ok();
        coach.get("/").await.ok().shows("1 going").shows("1 can’t go").shows("2 no answer").shows("Remind people who have not answered").shows("/events/new").shows("/messages/new").shows("/roster/new");
        w.browser(club.admin.id).await.get("/").await.ok().shows("Admin area");
    }

    async fn a_coach_is_asked_for_the_attendance_of_an_event_that_began(w: &World) {
        let club = w.club().await;
        let event = tomorrow(w, &club, json!({})).await;
        let link = format!("href=\"/events/{}/attendance\"", event.id());
        let mut coach = w.browser(club.coach.id).await;
        assert!(!coach.get("/").await.ok().text.contains(&link));
        w.advance_clock(seconds(36 * 3600));
        coach.get("/").await.ok().shows(&link);
        assert!(!w.browser(club.parent.id).await.get("/").await.ok().text.contains(&link));
        let entries = json!({ "entries": [{ "member_id": club.max.member, "status": "present" }] });
        w.owner.put(&format!("/events/{}/attendance", event.id()), entries).await.ok();
        assert!(!coach.get("/").await.ok().text.contains(&link));
    }

    async fn a_duty_in_some_months_is_shown(w: &World) {
        let club = w.club().await;
        let far = with(practice(&club.hawks, "2026-12-06T18:30", "2026-12-06T20:00"), json!({ "duties": [{ "name": "Bring oranges" }] }));
        let event = w.owner.post("/events", far).await.created();
        let duty = event.data()["duties"][0]["id"].as_str().unwrap().to_owned();
        let mut parent = w.browser(club.parent.id).await;
        assert!(!parent.get("/").await.ok().text.contains("Bring oranges"));
        w.owner.put(&format!("/events/{}/duties/{duty}/assignees/{}", event.id(), club.pat), json!({})).await.ok();
        parent.get("/").await.ok().shows("Bring oranges");
    }

    async fn a_cancellation_is_shown_before_many_other_changes(w: &World) {
        let club = w.club().await;
        let series = json!({ "recurrence": "FREQ=DAILY;COUNT=12", "title": "Training" });
        let first = tomorrow(w, &club, series).await;
        let change = json!({ "starts_at": "2026-09-06T19:00", "apply_to": "all" });
        w.owner.patch(&format!("/events/{}", first.id()), change).await.ok();
        for day in 10..20 {
            let other = practice(&club.hawks, &format!("2026-10-{day}T10:00"), &format!("2026-10-{day}T11:00"));
            let other = w.owner.post("/events", other).await.created();
            w.owner.patch(&format!("/events/{}", other.id()), json!({ "ends_at": format!("2026-10-{day}T11:30") })).await.ok();
        }
        let later = practice(&club.hawks, "2026-10-20T18:30", "2026-10-20T20:00");
        let later = w.owner.post("/events", with(later, json!({ "title": "Far practice" }))).await.created();
        w.owner.post(&format!("/events/{}/cancel", later.id()), json!({})).await.ok();
        let mut parent = w.browser(club.parent.id).await;
        let page = parent.get("/").await.ok().shows("12 changes").shows("and 11 more dates").shows("4 more events changed").shows("Hide all changes");
        assert!(position(&page, "Cancelled: <bdi>Far practice") < position(&page, "Changed: <bdi>Training"));
        // The other changes are below that line, and all of them are hidden together.
        assert_eq!(page.text.matches("Changed: <bdi>").count(), 11);
        assert_eq!(page.text.split("4 more events changed").nth(1).unwrap().matches("Changed: <bdi>").count(), 4);
        assert!(!page.text.contains("Got it"));
        let until = page.text.split("name=\"until\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        parent.post("/home/seen", &[("until", &until)]).await.redirects_to("/");
        assert!(!parent.get("/").await.ok().text.contains("Hide all changes"));
    }

    async fn a_change_is_shown_until_the_event_is_over(w: &World) {
        let club = w.club().await;
        let body = practice(&club.hawks, "2026-09-05T11:00", "2026-09-05T13:30");
        let event = w.owner.post("/events", with(body, json!({ "title": "Moved practice" }))).await.created();
        let place = w.owner.post("/locations", json!({ "name": "Hall" })).await.created();
        w.owner.patch(&format!("/events/{}", event.id()), json!({ "location_id": place.id() })).await.ok();
        let mut parent = w.browser(club.parent.id).await;
        parent.get("/").await.ok().shows("Changed: <bdi>Moved practice").shows("Got it");
        w.advance_clock(seconds(2 * 3600));
        parent.get("/").await.ok().shows("Changed: <bdi>Moved practice");
        w.advance_clock(seconds(2 * 3600));
        assert!(!parent.get("/").await.ok().text.contains("Moved practice"));
    }

    async fn a_postponed_event_has_no_new_time(w: &World) {
        let club = w.club().await;
        let event = tomorrow(w, &club, json!({ "title": "Wet practice" })).await;
        w.owner.post(&format!("/events/{}/postpone", event.id()), json!({})).await.ok();
        let page = w.browser(club.parent.id).await.get("/").await.ok()
            .shows("Postponed: <bdi>Wet practice</bdi>").shows("The new time is not known yet.");
        assert!(!page.text.contains("Changed: ") && !page.text.contains("now Sun"));
        let again = w.owner.post(&format!("/events/{}/postpone", event.id()), json!({})).await;
        assert_eq!(again.assert_problem(409, "invalid_state").body["detail"], "The event is already postponed.");
    }

    async fn an_event_of_whole_days_has_no_times(w: &World) {
        let club = w.club().await;
        let camp = json!({ "team_id": club.hawks, "type": "other", "title": "Camp", "all_day": true, "starts_at": "2026-09-07", "ends_at": "2026-09-08", "arrival_minutes": 15 });
        let event = w.owner.post("/events", camp).await.created();
        let later = tomorrow(w, &club, json!({ "arrival_minutes": 30 })).await;
        w.owner.patch(&format!("/events/{}", event.id()), json!({ "starts_at": "2026-09-08", "ends_at": "2026-09-09" })).await.ok();
        let page = w.browser(club.parent.id).await.get("/").await.ok().shows("All day").shows("now Tue, 8 Sep 2026<").shows("arrive by 18:00");
        assert!(!page.text.contains("2026, 00:00") && !page.text.contains("23:45"), "{}", page.text);
        let mut coach = w.browser(club.coach.id).await;
        for page in ["cancel", "postpone", "delete"] {
            let shown = coach.get(&format!("/events/{}/{page}", event.id())).await.ok().shows("<bdi>Camp</bdi>, Tue, 8 Sep 2026");
            assert!(!shown.text.contains("2026, 00:00"), "{page}");
            coach.get(&format!("/events/{}/{page}", later.id())).await.ok().shows("Sun, 6 Sep 2026, 18:30");
        }
    }

    async fn a_tournament_of_several_days_stays_until_it_is_over(w: &World) {
        let club = w.club().await;
        let add = async |title: &str, from: &str, until: &str| {
            let body = with(practice(&club.hawks, from, until), json!({ "title": title, "type": "tournament" }));
            w.owner.post("/events", body).await.created()
        };
        add("Friday to Sunday", "2026-09-04T09:00", "2026-09-06T17:00").await;
        add("Over since Friday", "2026-09-02T09:00", "2026-09-04T17:00").await;
        let otters = practice(&club.otters, "2026-09-04T09:00", "2026-09-06T17:00");
        w.owner.post("/events", with(otters, json!({ "title": "Somebody else’s" }))).await.created();
        let mut parent = w.browser(club.parent.id).await;
        for path in ["/", "/schedule", "/schedule?type=tournament", "/schedule/print", &format!("/teams/{}", club.hawks)] {
            let page = parent.get(path).await.ok().shows("Friday to Sunday");
            assert_eq!(page.text.matches("Friday to Sunday").count(), 1, "{path}");
            assert!(!page.text.contains("Over since Friday") && !page.text.contains("Somebody else"), "{path}");
        }
        assert!(!parent.get("/schedule?type=game").await.ok().text.contains("Friday to Sunday"));
        w.browser(club.owner.id).await.get("/schedule").await.ok().shows("Friday to Sunday").shows("Somebody else");
        w.advance_clock(seconds(2 * 86_400));
        assert!(!parent.get("/").await.ok().text.contains("Friday to Sunday"));
    }

    async fn the_page_of_three_children_on_six_teams_stays_small(w: &World) {
        let club = three_children_on_six_teams(w).await;
        let page = w.browser(club.parent.id).await.get("/").await.ok().shows("more events need an answer");
        assert!(page.text.len() < 40_000, "{}", page.text.len());
    }

    async fn an_empty_club_shows_the_first_steps(w: &World) {
        let owner = w.user(Role::Owner, "owner@harbour.example").await;
        let mut browser = w.browser(owner.id).await;
        browser.get("/").await.ok().shows("Create a team").shows("/teams/new");
        let team = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        browser.get("/").await.ok().shows(&format!("/teams/{}/roster", team.id()));
        let body = practice(team.id(), "2026-09-06T18:30", "2026-09-06T20:00");
        w.owner.post("/events", body).await.created();
        let page = browser.get("/").await.ok();
        assert!(!page.text.contains("Three steps"));
        browser.get("/more").await.ok().shows("Sign out").shows("/admin/keys");
    }

    async fn visitors_without_a_club_are_sent_on(w: &World) {
        let elsewhere = w.user(Role::Member, "nobody@harbour.example").await;
        w.anonymous_browser().get("/").await.redirects_to("/sign-in");
        let mut browser = w.browser_at(elsewhere.id, None).await;
        browser.get("/").await.redirects_to("/account/claims");
        browser.get("/more").await.ok();
    }
}
