//! Tests of forms whose object, club or session has changed since their page was opened.

use testkit::{World, both, json, seconds};
use touchline::accounts::user::Role;

use crate::event_editing::{fields, hidden};
use crate::events::{event_path, practice};
use crate::roster_access::client_with_all_scopes;
use crate::roster_pages::send;
use crate::signin::RefusedPage;

both! {
    async fn an_error_page_shows_what_was_entered(w: &World) {
        let club = w.club().await;
        let mut coach = w.browser(club.coach.id).await;
        let event = w.owner.post("/events", practice(&club.hawks, "2026-09-15T17:00:00Z", "2026-09-15T18:30:00Z")).await.created();
        let (path, edit) = (format!("/events/{}", event.id()), format!("/events/{}/edit", event.id()));
        let page = coach.get(&edit).await.ok();
        w.owner.delete(&event_path(&event, "")).await.ok();
        let nonce = hidden(&page, "nonce");
        let mut sent = fields(&club.hawks, &nonce);
        sent.push(("title", "Long <b> walk"));
        let answer = coach.post(&edit, &sent).await.refused_page(404);
        let answer = answer.shows("No longer there").shows("What you entered").shows("<bdi>Long &#60;b&#62; walk</bdi>").shows("Bring &#60;water&#62;");
        assert!(!answer.text.contains("<bdi>practice</bdi>") && !answer.text.contains("<bdi>save</bdi>"));
        // A page that does not exist has no form.
        let answer = coach.get(&path).await;
        assert!(answer.status == 404 && !answer.text.contains("What you entered"));
    }

    async fn a_form_of_another_club_is_not_saved_before_it_is_confirmed(w: &World) {
        let user = w.user(Role::Admin, "nia@example.org").await;
        let mut browser = w.browser(user.id).await;
        let page = browser.get("/teams/new").await.ok();
        let csrf = hidden(&page, "csrf");
        let (signature, own) = csrf.split_once('.').unwrap();
        assert_eq!(own, w.harbour.to_string());
        // The same browser, with the token of a page of another club.
        let foreign = format!("{signature}.acc_{}", "0".repeat(26));
        browser.csrf = Some(foreign.clone());
        let nonce = hidden(&page, "nonce");
        let sent = [("name", "Wrong club team"), ("nonce", nonce.as_str()), ("color", ""), ("sport", "")];
        let answer = browser.post("/teams/new", &sent).await.refused_page(403);
        answer.shows("Send it again?").shows("changed the club").shows("<bdi>Wrong club team</bdi>");
        let teams = w.owner.get("/teams?limit=100").await.ok();
        assert!(!teams.text.contains("Wrong club team"));
        browser.csrf = Some(foreign);
        browser.post("/admin/keys/new", &[("name", "x")]).await.refused_page(403).shows("pages of another club");
    }

    async fn what_somebody_else_changed_is_kept_or_shown(w: &World) {
        let club = w.club().await;
        let mut admin = w.browser(club.admin.id).await;
        let path = format!("/people/{}/edit", club.lia.person);
        let page = admin.get(&path).await.ok();
        let person = format!("/people/{}", club.lia.person);
        w.owner.patch(&person, json!({ "emergency_contact": "Aunt 911", "address": "Quay 7" })).await.ok();
        let entered = [("first_name", "Lia"), ("email", "lia@example.org"), ("birth_date", "2000-01-01"), ("address", "Pier 1"),
            ("preferred_name", "Lili"), ("email_opt_in", "yes")];
        let page = send(&mut admin, &path, &page, &entered).await.refused_page(422)
            .shows("Check the marked fields").shows("Aunt 911").shows("You see the new value.")
            .shows("changed this to “Quay 7”").shows("Pier 1").shows("value=\"Lili\"");
        let entered = [&entered[..], &[("emergency_contact", "Aunt 911")]].concat();
        let saved = send(&mut admin, &path, &page, &entered).await;
        assert_eq!(saved.status, 303, "{}", saved.text);
        let now = w.owner.get(&person).await.ok();
        let values = ["preferred_name", "address", "emergency_contact"].map(|name| now.data()[name].clone());
        assert_eq!(values, [json!("Lili"), json!("Pier 1"), json!("Aunt 911")]);
        // A record that was merged in the meantime.
        let twin = w.add_member(&club.otters, json!({ "first_name": "Lia", "last_name": "Twin" })).await;
        let path = format!("/people/{}/edit", twin.person);
        let page = admin.get(&path).await.ok();
        w.owner.post(&format!("/people/{}/merge", twin.person), json!({ "into_person_id": club.lia.person })).await.ok();
        send(&mut admin, &path, &page, &[("first_name", "Lia"), ("phone", "+351 210 000 000")]).await.refused_page(409)
            .shows("merged into another record").shows("+351 210 000 000");
    }

    async fn attendance_that_two_coaches_record_keeps_both_notes(w: &World) {
        let club = w.club().await;
        let body = practice(&club.hawks, "2026-09-05T11:00:00Z", "2026-09-05T12:30:00Z");
        let event = w.owner.post("/events", body).await.created();
        let path = format!("/events/{}/attendance", event.id());
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get(&path).await.ok();
        let other = client_with_all_scopes(w, club.coach.id).await;
        let sore = json!({ "member_id": club.max.member, "status": "present", "note": "Sore knee" });
        other.put(&event_path(&event, "/attendance"), json!({ "entries": [sore] })).await.ok();
        let (max, lia, zoe) = (format!("s-{}", club.max.member), format!("s-{}", club.lia.member), format!("n-{}", club.zoe.member));
        let marks = [(max.as_str(), "present"), (lia.as_str(), "late")];
        let page = send(&mut coach, &path, &page, &marks).await.refused_page(409).shows("Present · Sore knee").shows("value=\"Sore knee\"");
        // A note of a player without a status would get lost.
        let lost = [&marks[..], &[(zoe.as_str(), "On crutches")]].concat();
        send(&mut coach, &path, &page, &lost).await.refused_page(422).shows("Mark Zoe too").shows("value=\"On crutches\"");
        let long = "x".repeat(501);
        let lia_note = format!("n-{}", club.lia.member);
        let too_long = [&marks[..], &[(lia_note.as_str(), long.as_str())]].concat();
        send(&mut coach, &path, &page, &too_long).await.refused_page(422).shows("Lia: Use at most 500 characters.");
        // Somebody who has left the team since the page was opened was there all the same.
        w.owner.delete(&format!("/teams/{}/roster/{}", club.hawks, club.lia.member)).await.ok();
        let max_note = format!("n-{}", club.max.member);
        let kept = [&marks[..], &[(max_note.as_str(), "Sore knee")]].concat();
        send(&mut coach, &path, &page, &kept).await.redirects_to(&format!("{path}?done=saved"));
        let sheet = w.owner.get(&event_path(&event, "/attendance")).await.ok();
        assert!(sheet.text.contains("Sore knee") && sheet.text.contains(&club.lia.member), "{}", sheet.text);
    }

    async fn files_that_are_too_large_together_lose_no_text(w: &World) {
        let club = w.club().await;
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get(&format!("/messages/new?team={}", club.hawks)).await.ok();
        let (nonce, large) = (hidden(&page, "nonce"), vec![b'x'; 9_000_000]);
        let sent = [("kind", "announcement"), ("teams", club.hawks.as_str()), ("audience", "all"), ("subject", "Photo day"),
            ("body", "See the plan."), ("when", "now"), ("nonce", &nonce)];
        let files: Vec<(&str, &str, &[u8])> = ["a.pdf", "b.pdf", "c.pdf"].iter().map(|name| ("file", *name, large.as_slice())).collect();
        coach.upload("/messages/new", &sent, &files).await.refused_page(422)
            .shows("more than 24 MB").shows("See the plan.").shows("value=\"Photo day\"");
    }

    async fn a_scheduled_message_that_cannot_be_sent_is_not_lost(w: &World) {
        let club = w.club().await;
        let coach = client_with_all_scopes(w, club.coach.id).await;
        let body = json!({ "team_id": club.hawks, "kind": "announcement", "subject": "Bus plan", "body": "We leave at *six*.",
            "publish_at": w.node.app.clock.now().plus(std::time::Duration::from_secs(1800)).to_string() });
        let message = coach.post("/messages", body).await.created();
        let path = format!("/messages/{}", message.id());
        w.browser(club.coach.id).await.get(&path).await.ok().shows("Not sent yet").shows("people get this");
        w.owner.delete(&format!("/teams/{}", club.hawks)).await.ok();
        w.advance_clock(seconds(3600));
        touchline::jobs::publish_scheduled_messages(&w.node.app).await;
        let emails = w.owner.get(&format!("/emails?related_id={}", message.id())).await.ok();
        assert!(emails.text.contains("[Hawks] Not sent: Bus plan") && emails.text.contains("kim@example.org"), "{}", emails.text);
        let mut admin = w.browser(club.admin.id).await;
        admin.get("/messages").await.ok().shows("<h2>Not sent</h2>").shows("Bus plan");
        admin.get(&path).await.ok().shows("could not be sent: The team is archived.").shows("We leave at <em>six</em>.");
        let copied = format!("/messages/new?copy={}", message.id());
        w.owner.post(&format!("/teams/{}/restore", club.hawks), json!({})).await.ok();
        admin.get(&copied).await.ok().shows("value=\"Bus plan\"").shows("We leave at *six*.");
        let mut parent = w.browser(club.parent.id).await;
        assert_eq!((parent.get(&path).await.status, parent.get(&copied).await.status), (404, 404));
    }

    async fn an_answer_that_is_due_soon_is_asked_on_home_however_late_the_event_is(w: &World) {
        let club = w.club().await;
        let event = |deadline: &str| {
            let body = practice(&club.hawks, "2026-10-24T08:00:00Z", "2026-10-24T15:00:00Z");
            crate::events::with(body, json!({ "title": format!("Cup {deadline}"), "rsvp_deadline": deadline }))
        };
        w.owner.post("/events", event("2026-09-08T18:00:00Z")).await.created();
        w.owner.post("/events", event("2026-10-20T18:00:00Z")).await.created();
        let page = w.browser(club.parent.id).await.get("/").await.ok().shows("Cup 2026-09-08").shows("Needs your answer");
        assert!(!page.text.contains("Cup 2026-10-20"));
    }

    async fn a_coach_of_several_teams_chooses_the_team_in_the_form(w: &World) {
        let club = w.club().await;
        let kim = json!({ "person_id": club.kim.person, "role": "coach" });
        w.owner.post(&format!("/teams/{}/roster", club.otters), kim).await.created();
        let mut coach = w.browser(club.coach.id).await;
        coach.get("/events/new").await.ok().shows("For which team?");
        w.owner.post("/events", practice(&club.hawks, "2026-09-15T17:00:00Z", "2026-09-15T18:30:00Z")).await.created();
        let page = coach.get("/events/new").await.ok().shows("New event for Hawks").shows(&format!("<option value=\"{}\" selected", club.hawks));
        let nonce = hidden(&page, "nonce");
        let mut sent = fields(&club.hawks, &nonce);
        sent.extend([("team", club.otters.as_str()), ("title", "Otters only"), ("location_id", "")]);
        assert_eq!(coach.post("/events/new", &sent).await.status, 303);
        let events = w.owner.get(&format!("/events?team_id={}", club.otters)).await.ok();
        assert!(events.text.contains("Otters only"));
    }

    async fn a_default_title_is_shown_in_the_language_of_the_reader(w: &World) {
        let club = w.club().await;
        let body = practice(&club.hawks, "2026-09-15T17:00:00Z", "2026-09-15T18:30:00Z");
        w.owner.post("/events", body.clone()).await.created();
        let game = json!({ "type": "game", "opponent": "Gulls", "home_away": "away" });
        w.owner.post("/events", crate::events::with(body, game)).await.created();
        let mut parent = w.browser(club.parent.id).await;
        parent.post("/account", &[("name", "Pat"), ("language", "es")]).await;
        let page = parent.get("/schedule").await.ok().shows("<bdi>Entrenamiento</bdi>").shows("en el campo de Gulls");
        assert!(!page.text.contains("Practice") && !page.text.contains("at Gulls"));
    }

    async fn the_same_name_on_the_same_team_is_asked_about(w: &World) {
        let club = w.club().await;
        let mut coach = w.browser(club.coach.id).await;
        let path = format!("/teams/{}/roster/new", club.hawks);
        let page = coach.get(&path).await.ok();
        send(&mut coach, &path, &page, &[("first_name", "max"), ("role", "player")]).await.refused_page(422).shows("same name on this team");
        let other = [("first_name", "Max"), ("role", "player"), ("birth_date", "2013-05-05")];
        assert_eq!(send(&mut coach, &path, &page, &other).await.status, 303);
        let nameless = [("first_name", "Ivy"), ("role", "player"), ("guardian-1-email", "ivo@example.org")];
        send(&mut coach, &path, &page, &nameless).await.refused_page(422).shows("Enter a first name.").shows("ivo@example.org");
        // The same row twice in a spreadsheet.
        let path = format!("/teams/{}/roster/paste", club.hawks);
        let page = coach.get(&path).await.ok();
        let pasted = [("text", "Name\nIda Holm\nIda Holm"), ("step", "preview")];
        send(&mut coach, &path, &page, &pasted).await.ok().shows("<select id=\"row-").shows("1 person will be added");
        // Programs decide for themselves.
        w.owner.post(&format!("/teams/{}/roster", club.hawks), json!({ "first_name": "Max" })).await.created();
    }

    async fn people_who_cannot_read_a_message_are_not_counted_as_reached(w: &World) {
        let club = w.club().await;
        let team = w.owner.post("/teams", json!({ "name": "Kites" })).await.created().id().to_owned();
        let guardian = json!({ "first_name": "Ivo", "relationship": "father" });
        w.add_member(&team, json!({ "first_name": "Ada", "birth_date": "2014-01-01", "guardians": [guardian] })).await;
        w.add_member(&team, json!({ "first_name": "Eva", "birth_date": "2014-01-01" })).await;
        let body = json!({ "team_id": team, "kind": "announcement", "subject": "x", "body": "x" });
        let counts = w.owner.post("/messages/preview", body).await.ok();
        let count = |name: &str| counts.data()[name].as_i64();
        assert_eq!([count("families"), count("families_reached"), count("unreachable")], [Some(2), Some(0), Some(3)], "{}", counts.text);
        // The emergency sheet marks a parent whom nobody has confirmed.
        let page = w.browser(club.owner.id).await.get(&format!("/teams/{team}/emergency")).await.ok().shows("Ivo");
        assert!(!page.text.contains("not confirmed"), "an admin added the parent");
    }
}
