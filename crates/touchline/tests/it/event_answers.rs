//! Tests of answering on pages: undo, forms whose session has ended, and events of another club.

use testkit::club::TestClub;
use testkit::{Browser, TestResponse, Value, World, both, json, seconds};
use touchline::accounts::user::Role;

use crate::events::{event_path, practice, with};

/// A practice of the Hawks tomorrow.
async fn tomorrow(w: &World, club: &TestClub, more: Value) -> TestResponse {
    let body = practice(&club.hawks, "2026-09-06T18:30", "2026-09-06T20:00");
    w.owner.post("/events", with(body, more)).await.created()
}

async fn answer(browser: &mut Browser, event: &str, fields: &[(&str, &str)]) -> TestResponse {
    browser.post(&format!("/events/{event}/answer"), fields).await
}

/// Answer, note and who answered; `None` without an answer.
async fn rsvp(w: &World, event: &TestResponse, member: &str) -> Option<(Value, Value, Value)> {
    let answer = w.owner.get(&event_path(event, &format!("/rsvps/{member}"))).await;
    let data = (answer.status == 200).then(|| answer.data().clone())?;
    Some((data["answer"].clone(), data["note"].clone(), data["answered_by"].clone()))
}

/// The version in the form that undoes an answer.
fn undo_version(page: &TestResponse) -> Option<&str> {
    page.text.split("name=\"version\" value=\"").nth(1)?.split('"').next()
}

/// The hidden fields of a page, except the CSRF token.
fn hidden_fields(page: &TestResponse) -> Vec<(String, String)> {
    let inputs = page.text.split("<input type=\"hidden\" name=\"").skip(1);
    let pairs = inputs.filter_map(|rest| {
        let (name, rest) = rest.split_once("\" value=\"")?;
        Some((name.to_owned(), rest.split_once('"')?.0.to_owned()))
    });
    pairs.filter(|(name, _)| name != "csrf").collect()
}

both! {
    async fn an_answer_can_be_undone_for_ten_minutes(w: &World) {
        let club = w.club().await;
        let event = tomorrow(w, &club, json!({})).await;
        let (id, max) = (event.id(), club.max.member.as_str());
        let mut parent = w.browser(club.parent.id).await;
        assert_eq!(undo_version(&parent.get("/").await.ok()), None);
        answer(&mut parent, id, &[("member_id", max), ("answer", "yes"), ("note", "Late"), ("next", "/")]).await;
        let page = parent.get("/").await.ok().shows("Undo");
        let version = undo_version(&page).unwrap().to_owned();
        // Only the one who answered can undo it.
        assert_eq!(undo_version(&w.browser(club.player.id).await.get("/").await.ok()), None);
        let undo = [("member_id", max), ("answer", "undo"), ("version", version.as_str()), ("note", "")];
        for _ in 0..2 {
            answer(&mut parent, id, &undo).await.redirects_to(&format!("/events/{id}#answers-{id}"));
            assert_eq!(rsvp(w, &event, max).await, None);
        }
        parent.get("/").await.ok().shows("Is <bdi>Max</bdi> going?");

        for (choice, note) in [("yes", "Late"), ("no", "Sick")] {
            answer(&mut parent, id, &[("member_id", max), ("answer", choice), ("note", note)]).await;
        }
        let version = undo_version(&parent.get("/").await.ok()).unwrap().to_owned();
        let undo = [("member_id", max), ("answer", "undo"), ("version", version.as_str())];
        answer(&mut parent, id, &undo).await;
        assert_eq!(rsvp(w, &event, max).await.map(|(answer, note, _)| (answer, note)), Some((json!("yes"), json!("Late"))));
        let version = undo_version(&parent.get("/").await.ok()).unwrap().to_owned();
        w.advance_clock(seconds(601));
        assert_eq!(undo_version(&parent.get("/").await.ok()), None);
        let undo = [("member_id", max), ("answer", "undo"), ("version", version.as_str())];
        assert_eq!(answer(&mut parent, id, &undo).await.status, 422);
        let stranger = answer(&mut w.browser(club.outsider.id).await, id, &undo).await;
        assert_eq!(stranger.status, 404);
    }

    async fn with_scripts_the_response_is_the_part_of_the_page(w: &World) {
        let club = w.club().await;
        let event = tomorrow(w, &club, json!({})).await;
        let mut parent = w.browser(club.parent.id).await.with_header("HX-Request", "true");
        parent.get("/").await.ok().shows("hx-trigger=\"answered from:body\"").shows("hx-swap=\"outerMorph\"");
        let fields = [("member_id", club.max.member.as_str()), ("answer", "yes"), ("next", "/")];
        let part = parent.post(&format!("/events/{}/answer", event.id()), &fields).await.ok();
        assert_eq!(part.header("hx-trigger"), Some("answered"));
        let part = part.shows("<bdi>Max</bdi> is going").shows(&format!("id=\"{}-{}-1\"", event.id(), club.max.member));
        assert!(!part.text.contains("<html"));
        let fields = [("member_id", club.max.member.as_str()), ("answer", "sometimes")];
        let refused = parent.post(&format!("/events/{}/answer", event.id()), &fields).await;
        assert_eq!((refused.status, refused.header("hx-trigger")), (422, None));
        // Inactive and removed members cannot answer.
        w.owner.patch(&format!("/teams/{}/roster/{}", club.hawks, club.max.member), json!({ "status": "inactive" })).await.ok();
        let fields = [("member_id", club.max.member.as_str()), ("answer", "no")];
        parent.post(&format!("/events/{}/answer", event.id()), &fields).await.shows("This person is inactive on the team, so no answer is needed.");
    }

    async fn undoing_restores_the_answer_of_away_dates(w: &World) {
        let club = w.club().await;
        let event = tomorrow(w, &club, json!({})).await;
        let (id, max) = (event.id(), club.max.member.as_str());
        let away = json!({ "starts_on": "2026-09-06", "ends_on": "2026-09-06" });
        w.owner.post(&format!("/people/{}/away_dates", club.max.person), away).await.created();
        let mut parent = w.browser(club.parent.id).await;
        parent.get("/").await.ok().shows("<bdi>Max</bdi> can’t go (away)");
        w.browser(club.coach.id).await.get(&format!("/events/{id}")).await.ok().shows("(away)");
        let other = w.browser(club.player.id).await.get(&format!("/events/{id}")).await.ok();
        assert!(!other.text.contains("(away)"));
        for choice in ["yes", "no"] {
            answer(&mut parent, id, &[("member_id", max), ("answer", choice)]).await;
            let version = undo_version(&parent.get("/").await.ok()).unwrap().to_owned();
            answer(&mut parent, id, &[("member_id", max), ("answer", "undo"), ("version", &version)]).await;
            let (answer, _, by) = rsvp(w, &event, max).await.unwrap();
            assert_eq!((answer, by), (json!("no"), json!("away_date")), "after {choice}");
        }
    }

    async fn a_form_whose_session_has_ended_is_sent_again(w: &World) {
        let club = w.club().await;
        let event = tomorrow(w, &club, json!({})).await;
        let max = club.max.member.as_str();
        let path = format!("/events/{}/answer", event.id());
        let fields = [("member_id", max), ("answer", "no"), ("note", "<b>Sick"), ("next", "/")];
        let mut parent = w.browser(club.parent.id).await;
        parent.get("/").await.ok();
        parent.clone().post("/sign-out", &[]).await;
        let without_cookie = parent.clone().with_cookie(None);
        for mut stale in [parent.clone(), without_cookie] {
            let page = stale.post(&path, &fields).await;
            assert_eq!(page.status, 403);
            let page = page.shows("You are signed out").shows("<bdi>&#60;b&#62;Sick</bdi>").shows("/sign-in");
            assert!(!page.text.contains(&format!("<bdi>{max}")));
        }
        assert_eq!(rsvp(w, &event, max).await, None);

        // The form is sent again after signing in, and then takes effect.
        let mut again = w.browser(club.parent.id).await;
        again.csrf = parent.csrf;
        let page = again.post(&path, &fields).await;
        assert_eq!(page.status, 403);
        let page = page.shows("You are signed in as").shows("Send again");
        let kept = hidden_fields(&page);
        let kept: Vec<_> = kept.iter().map(|(name, value)| (name.as_str(), value.replace("&#60;", "<").replace("&#62;", ">"))).collect();
        let kept: Vec<_> = kept.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(kept, fields);
        again.post(&path, &kept).await.redirects_to(&format!("/#answers-{}", event.id()));
        assert_eq!(rsvp(w, &event, max).await.map(|(_, note, _)| note), Some(json!("<b>Sick")));
        // Passwords are never sent back.
        again.csrf = Some("x".to_owned());
        let page = again.post("/account/password", &[("password", "correct horse")]).await;
        assert!(page.status == 403 && !page.text.contains("correct horse"));
    }

    async fn a_link_to_an_event_of_another_club_offers_to_switch(w: &World) {
        let club = w.club().await;
        let event = tomorrow(w, &club, json!({})).await;
        let path = format!("/events/{}", event.id());
        let other = testkit::world::make_account(w.db(), "Elsewhere", w.clock.clock().now()).await;
        let parent = w.user_of(other, Role::Member, &club.parent.email).await;
        assert_eq!(parent.id, club.parent.id);
        let mut browser = w.browser_at(parent.id, Some(other)).await;
        let page = browser.get(&path).await.ok().shows("This event is in another club").shows("Switch club");
        let fields = hidden_fields(&page);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        browser.post("/accounts", &fields).await.redirects_to(&path);
        browser.get(&path).await.ok().shows("Is <bdi>Max</bdi> going?");
        let stranger = w.user_of(other, Role::Owner, "owner@elsewhere.example").await;
        let mut stranger = w.browser_at(stranger.id, Some(other)).await;
        assert_eq!(stranger.get(&path).await.status, 404);
        let max = club.max.member.as_str();
        let page = answer(&mut stranger, event.id(), &[("member_id", max), ("answer", "yes"), ("note", "On time")]).await;
        assert_eq!(page.status, 409);
        page.shows("it belongs to another club").shows("On time");
    }
}
