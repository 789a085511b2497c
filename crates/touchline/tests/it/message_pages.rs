//! Tests of the pages of messages and of previews.

use testkit::{Browser, TestClub, TestResponse, World, both, json};

use crate::message_templates::create_template;
use crate::messages::{field_errors, message_path};
use crate::messages_fixtures::TeamFixture;
use crate::roster_access::client_with_all_scopes;
use crate::signin::RefusedPage;

const HOSTILE: &str = "<img src=x onerror=alert(1)>";

/// The value of a hidden field.
fn hidden<'a>(page: &'a TestResponse, name: &str) -> &'a str {
    let start = format!("name=\"{name}\" value=\"");
    page.text.split(&start).nth(1).expect(name).split('"').next().unwrap()
}

/// Opens the form and submits it with these fields.
async fn compose(
    browser: &mut Browser,
    query: &str,
    fields: &[(&str, &str)],
) -> (String, TestResponse) {
    let page = browser.get(&format!("/messages/new?{query}")).await.ok();
    let nonce = hidden(&page, "nonce").to_owned();
    let answer = submit(browser, &nonce, fields).await;
    (nonce, answer)
}

async fn submit(browser: &mut Browser, nonce: &str, fields: &[(&str, &str)]) -> TestResponse {
    let fields: Vec<_> = fields.iter().copied().chain([("nonce", nonce)]).collect();
    browser.post("/messages/new", &fields).await
}

/// An announcement to the parents of the Hawks.
fn announcement(club: &TestClub) -> Vec<(&'static str, &str)> {
    vec![
        ("kind", "announcement"),
        ("teams", &club.hawks),
        ("audience", "guardians"),
        ("subject", "Photo day"),
        ("body", "Bring **kit**.\n\n- one\n- two"),
        ("when", "now"),
    ]
}

both! {
    async fn a_coach_writes_to_parents_after_a_preview_and_only_once(w: &World) {
        let club = w.club().await;
        let mut coach = w.browser(club.coach.id).await;
        let query = format!("team={}&kind=announcement&to=guardians", club.hawks);
        coach.get(&format!("/messages/new?{query}")).await.ok().shows("New message")
            .shows("value=\"guardians\" checked").shows("2 guardians").shows("This reaches 2 of 3 families.");
        let mut fields = announcement(&club);
        // What was typed stays when something is missing.
        fields[3].1 = "";
        let (nonce, refused) = compose(&mut coach, &query, &fields).await;
        refused.refused_page(422).shows("Nothing was sent").shows("Enter a title.").shows("- one");
        fields[3].1 = "Photo day";
        let preview = submit(&mut coach, &nonce, &fields).await.ok();
        let preview = preview.shows("Bring <strong>kit</strong>").shows("2 emails are sent").shows("Mia").shows("Pat");
        assert_eq!(hidden(&preview, "subject"), "Photo day");
        assert!(w.owner.get("/messages").await.ok().data().as_array().unwrap().is_empty());
        submit(&mut coach, &nonce, &[&fields[..], &[("step", "change")]].concat()).await.ok().shows("value=\"Photo day\"");

        fields.push(("step", "send"));
        let sent = submit(&mut coach, &nonce, &fields).await;
        let place = sent.local_redirect().unwrap().to_owned();
        submit(&mut coach, &nonce, &fields).await.redirects_to(&place);
        let list = w.owner.get("/messages").await.ok();
        assert_eq!(list.data().as_array().unwrap().len(), 1);
        assert_eq!(list.data()[0]["receipt_counts"]["delivered"], 2);
        coach.get(&place).await.ok().shows("Your message was sent.").shows("0 of 2 have read it").shows("Mia");
        // The count matches the API.
        let body = json!({ "team_id": club.hawks, "kind": "announcement", "subject": "x", "body": "x", "audience": { "to": "guardians" } });
        let counts = client_with_all_scopes(w, club.coach.id).await.post("/messages/preview", body).await.ok();
        assert_eq!(counts.data(), &json!({ "object": "message_preview", "recipients": 2, "players": 0, "guardians": 2, "staff": 0,
            "added_guardians": 0, "families": 3, "families_reached": 2, "emails": 2, "unreachable": 0 }));
        // Other families do not learn who has an email address.
        let body = json!({ "team_id": club.hawks, "kind": "message", "body": "x", "audience": { "to": "members", "member_ids": [club.zoe.member] } });
        let counts = client_with_all_scopes(w, club.parent.id).await.post("/messages/preview", body).await.ok();
        assert_eq!((&counts.data()["emails"], &counts.data()["unreachable"]), (&json!(0), &json!(0)));
    }

    async fn opening_a_message_marks_it_as_read_but_loading_ahead_does_not(w: &World) {
        let club = w.club().await;
        let body = json!({ "team_id": club.hawks, "kind": "announcement", "subject": HOSTILE, "body": HOSTILE });
        let sent = client_with_all_scopes(w, club.coach.id).await.post("/messages", body).await.created();
        let path = message_path(&sent);
        let mut parent = w.browser(club.parent.id).await;
        let inbox = parent.get("/messages").await.ok().shows("Unread");
        assert!(!inbox.text.contains("<img src=x"));
        let read_by = async |read: i64| {
            let message = w.owner.get(&path).await.ok();
            assert_eq!(message.data()["receipt_counts"]["read"], read);
        };
        parent.with_header("Sec-Purpose", "prefetch;prerender").get(&path).await.ok();
        read_by(0).await;
        // Max does not sign in, so his father reads it for him too.
        let page = parent.get(&path).await.ok();
        assert!(!page.text.contains("<img src=x") && !page.text.contains("Retract") && !page.text.contains("/receipts"));
        read_by(2).await;
        parent.get(&path).await.ok();
        read_by(2).await;
        parent.get("/messages?show=unread").await.ok().shows("No messages match this filter.");
        parent.get(&format!("/teams/{}/messages", club.hawks)).await.ok().shows(&path);
        for (browser, status) in [(&mut w.browser(club.outsider.id).await, 404), (&mut w.browser(club.admin.id).await, 200)] {
            assert_eq!(browser.get(&path).await.status, status);
        }
        read_by(2).await;
        assert_eq!(parent.get(&format!("/teams/{}/messages", club.otters)).await.status, 404);
        assert_eq!(parent.get(&format!("{path}/receipts")).await.status, 403);
        assert_eq!(parent.get(&format!("{path}/retract")).await.status, 403);
        assert_eq!(parent.post(&format!("{path}/pin"), &[("pinned", "yes")]).await.status, 403);
        let mut coach = w.browser(club.coach.id).await;
        coach.get(&format!("{path}/receipts?read=no")).await.ok().shows("Zoe");
        coach.get(&path).await.ok();
        coach.post(&format!("{path}/pin"), &[("pinned", "yes")]).await.redirects_to(&format!("{path}?done=pinned"));
        parent.get("/messages").await.ok().shows("<h2>Pinned</h2>");
        coach.get(&format!("{path}/retract")).await.ok().shows("2 people have read it already.");
        coach.post(&format!("{path}/retract"), &[]).await.redirects_to(&format!("{path}?done=retracted"));
        parent.get(&path).await.ok().shows("retracted this message").shows("You still see it because a child received it.");
    }

    async fn a_conversation_is_listed_once_and_answered_by_its_members(w: &World) {
        let club = w.club().await;
        let kim = client_with_all_scopes(w, club.coach.id).await;
        let body = json!({ "team_id": club.hawks, "kind": "message", "body": "Who can drive?",
            "audience": { "to": "members", "member_ids": [club.lia.member, club.max.member] } });
        let path = message_path(&kim.post("/messages", body).await.created());
        let mut parent = w.browser(club.parent.id).await;
        let page = parent.get(&path).await.ok().shows("people in this conversation.");
        let nonce = hidden(&page, "nonce").to_owned();
        parent.post(&path, &[("nonce", &nonce), ("body", " ")]).await.refused_page(422).shows("Write a reply.");
        let fields = [("nonce", nonce.as_str()), ("body", "I can take *four*.")];
        for _ in 0..2 {
            parent.post(&path, &fields).await.redirects_to(&format!("{path}?done=replied#end"));
        }
        let mut coach = w.browser(club.coach.id).await;
        let inbox = coach.get("/messages").await.ok().shows("I can take four.");
        assert_eq!(inbox.text.matches("class=\"row mark").count(), 1);
        let page = coach.get(&path).await.ok().shows("I can take <em>four</em>.").shows("Who can drive?");
        assert_eq!(page.text.matches("<article").count(), 2);
        // An admin sees it and replies for the club; a family that is not in it gets 404.
        let mut admin = w.browser(club.admin.id).await;
        let page = admin.get(&path).await.ok();
        let nonce = hidden(&page, "nonce").to_owned();
        admin.post(&path, &[("nonce", &nonce), ("body", "Thank you.")]).await.redirects_to(&format!("{path}?done=replied#end"));
        coach.get(&path).await.ok().shows("The club");
        let mut outsider = w.browser(club.outsider.id).await;
        assert_eq!(outsider.post(&path, &fields).await.status, 404);
    }

    async fn the_safeguarding_rule_is_explained_when_it_applies(w: &World) {
        let club = w.club().await;
        let mut coach = w.browser(club.coach.id).await;
        let query = format!("team={}&kind=message", club.hawks);
        let fields = [("kind", "message"), ("teams", &club.hawks), ("audience", "members"), ("member_ids", &club.zoe.member)];
        let (nonce, _) = compose(&mut coach, &query, &fields).await;
        let count = async |browser: &mut Browser, fields: &[(&str, &str)]| {
            let answer = browser.post("/messages/new/recipients", fields).await.ok();
            assert!(answer.text.trim_start().starts_with("<div id=\"who\""));
            answer
        };
        count(&mut coach, &fields).await.shows("Zoe is 12: a guardian gets this too.")
            .shows("A message to a child always includes a guardian or a second adult.");
        // Nothing is chosen yet, and then somebody of another team.
        count(&mut coach, &fields[..3]).await.shows("Choose who gets it.");
        let foreign = [&fields[..3], &[("member_ids", club.ole.member.as_str())]].concat();
        count(&mut coach, &foreign).await.shows("Choose who gets it.");
        let body = [&foreign[..], &[("body", "Hello"), ("step", "send")]].concat();
        submit(&mut coach, &nonce, &body).await.refused_page(422).shows("Choose at least one person.").shows("Hello");
        // Another family learns neither the age nor the guardians.
        let mut player = w.browser(club.player.id).await;
        player.get("/messages").await.ok();
        let answer = count(&mut player, &fields).await.shows("1 of them is under 18: their guardians get this too.");
        assert!(!answer.text.contains("Zoe is 12"));
        // Without a guardian and a second adult, the message is refused.
        let fixture = TeamFixture::new(w, "Kites", "U12").await;
        let kid = fixture.add_member("Kid", "player", Some("2016-01-01")).await;
        let mut owner = w.browser(club.owner.id).await;
        owner.get("/messages").await.ok();
        let (team, member) = (fixture.team.to_string(), kid.member.to_string());
        let alone = [("kind", "message"), ("teams", team.as_str()), ("audience", "members"), ("member_ids", member.as_str())];
        count(&mut owner, &alone).await.shows("This cannot be sent yet").shows("needs at least two adults");
        let body = json!({ "team_id": team, "kind": "message", "body": "x", "audience": { "to": "members", "member_ids": [member] } });
        let refused = w.owner.post("/messages/preview", body).await.assert_problem(409, "conflict");
        assert_eq!(field_errors(&refused), [("/audience", "second_adult_required")]);
    }

    async fn families_cannot_announce_and_nobody_writes_to_other_teams(w: &World) {
        let club = w.club().await;
        let mut parent = w.browser(club.parent.id).await;
        let page = parent.get(&format!("/messages/new?team={}&kind=announcement", club.hawks)).await.ok().shows("New message");
        assert!(!page.text.contains("Announcement") && !page.text.contains("name=\"pinned\""));
        let nonce = hidden(&page, "nonce").to_owned();
        submit(&mut parent, &nonce, &announcement(&club)).await.refused_page(422).shows("Only coaches and managers can post announcements.").shows("Photo day");
        assert_eq!(parent.get(&format!("/messages/new?team={}", club.otters)).await.status, 404);
        let mut other = announcement(&club);
        other[1].1 = &club.otters;
        assert_eq!(submit(&mut parent, &nonce, &other).await.status, 404);
        let event = w.owner.post("/events", json!({ "team_id": club.otters, "type": "game", "starts_at": "2026-10-01T18:00" })).await.created();
        assert_eq!(parent.get(&format!("/messages/new?event={}", event.id())).await.status, 404);
        // A coach who writes to two teams must manage both.
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get("/messages/new").await.ok();
        let nonce = hidden(&page, "nonce").to_owned();
        let both = [&announcement(&club)[..], &[("teams", club.otters.as_str())]].concat();
        assert_eq!(submit(&mut coach, &nonce, &both).await.status, 404);
        let mut owner = w.browser(club.owner.id).await;
        let page = owner.get("/messages/new").await.ok();
        let nonce = hidden(&page, "nonce").to_owned();
        let send = [&both[..], &[("step", "send")]].concat();
        submit(&mut owner, &nonce, &send).await.redirects_to("/messages?done=sent");
        assert_eq!(w.owner.get("/messages").await.ok().data().as_array().unwrap().len(), 2);
        owner.get("/messages").await.ok().shows("Photo day");
    }

    async fn a_scheduled_message_is_edited_sent_now_or_cancelled(w: &World) {
        let club = w.club().await;
        let mut coach = w.browser(club.coach.id).await;
        let mut fields = announcement(&club);
        fields[5].1 = "later";
        fields.extend([("publish_at", "2026-10-01T18:00"), ("step", "send"), ("pinned", "yes")]);
        let (_, sent) = compose(&mut coach, "", &fields).await;
        let place = sent.local_redirect().unwrap().to_owned();
        assert!(place.ends_with("?done=scheduled"), "{place}");
        let path = place.trim_end_matches("?done=scheduled").to_owned();
        coach.get("/messages").await.ok().shows("<h2>Scheduled</h2>");
        coach.get(&path).await.ok().shows("Not sent yet");
        let edit = format!("{path}/edit");
        let page = coach.get(&edit).await.ok().shows("value=\"2026-10-01T18:00\"").shows("value=\"guardians\" checked");
        let version = hidden(&page, "version").to_owned();
        let change = [("version", version.as_str()), ("audience", "all"), ("subject", "Photo day"), ("body", "Sunday"), ("publish_at", "2026-10-02T18:00")];
        coach.post(&edit, &change).await.redirects_to(&format!("{path}?done=saved"));
        let stored = w.owner.get(&path).await.ok();
        assert_eq!((&stored.data()["body"], &stored.data()["audience"]["to"], &stored.data()["pinned"]), (&json!("Sunday"), &json!("all"), &json!(false)));
        coach.post(&edit, &change).await.refused_page(422).shows("Somebody else changed this");
        coach.post(&format!("{path}/send"), &[]).await.redirects_to(&format!("{path}?done=sent"));
        assert_eq!(w.owner.get(&path).await.ok().data()["status"], "published");
        coach.get(&edit).await.ok().shows("A message that was sent cannot be changed.");

        let (_, sent) = compose(&mut coach, "", &fields).await;
        let path = sent.local_redirect().unwrap().trim_end_matches("?done=scheduled").to_owned();
        coach.get(&format!("{path}/retract")).await.ok().shows("Do not send");
        coach.post(&format!("{path}/retract"), &[]).await.redirects_to("/messages?done=cancelled");
    }

    async fn messages_belong_to_an_event(w: &World) {
        let club = w.club().await;
        let event = |team: &str| json!({ "team_id": team, "type": "game", "title": "Final", "starts_at": "2026-10-01T18:00" });
        let (own, other) = (w.owner.post("/events", event(&club.hawks)).await.created(), w.owner.post("/events", event(&club.otters)).await.created());
        let message = |event: &str| json!({ "team_id": club.hawks, "kind": "message", "body": "Pitch 4", "event_id": event });
        let refused = w.owner.post("/messages", message(other.id())).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/event_id", "not_found")]);
        let sent = w.owner.post("/messages", message(own.id())).await.created();
        let reply = |event: &str| json!({ "parent_id": sent.id(), "body": "Thanks", "event_id": event });
        let refused = w.owner.post("/messages", reply(other.id())).await.assert_problem(422, "validation_failed");
        assert_eq!(field_errors(&refused), [("/event_id", "not_in_conversation")]);
        let reply = w.owner.post("/messages", reply(own.id())).await.created();
        assert_eq!(reply.data()["event_id"], own.id());
        let list = w.owner.get(&format!("/messages?event_id={}", own.id())).await.ok();
        assert_eq!(list.data().as_array().unwrap().len(), 2);
        assert_eq!(w.owner.get(&format!("/messages?event_id={}", other.id())).await.ok().data(), &json!([]));
        let mut parent = w.browser(club.parent.id).await;
        parent.get(&format!("/messages?event={}", own.id())).await.ok().shows("About <bdi>Final").shows("Pitch 4").shows("Thanks");
        assert_eq!(parent.get(&format!("/messages?event={}", other.id())).await.status, 404);
        let page = parent.get(&format!("/events/{}", own.id())).await.ok();
        let list = parent.get(&format!("/messages?event={}", own.id())).await.ok();
        let unread = list.text.matches("dot unread").count();
        assert_eq!((page.text.contains("Pitch 4"), unread), (true, 2));
        parent.get(&message_path(&sent)).await.ok().shows(&format!("/events/{}", own.id()));
        let list = parent.get(&format!("/messages?event={}", own.id())).await.ok();
        assert!(!list.text.contains("dot unread"));
        parent.get(&format!("/messages/new?event={}", own.id())).await.ok().shows("About <bdi>Final");
    }

    async fn admins_manage_templates_and_coaches_insert_them(w: &World) {
        let club = w.club().await;
        let mut admin = w.browser(club.admin.id).await;
        let page = admin.get("/messages/templates/new").await.ok();
        let nonce = hidden(&page, "nonce").to_owned();
        let fields = [("nonce", nonce.as_str()), ("name", "Rain"), ("subject", "No training"), ("body", "It rains.")];
        for _ in 0..2 {
            admin.post("/messages/templates/new", &fields).await.redirects_to("/messages/templates?done=added");
        }
        create_template(w, "Snow").await;
        admin.post("/messages/templates/new", &[("nonce", "0".repeat(32).as_str()), ("name", "SNOW"), ("body", "x")]).await
            .refused_page(422).shows("Another template already has this name.");
        let list = admin.get("/messages/templates").await.ok().shows("Rain").shows("Snow");
        let id = list.text.split("/messages/templates/mtpl_").nth(1).unwrap()[..26].to_owned();
        let path = format!("/messages/templates/mtpl_{id}");
        let page = admin.get(&path).await.ok();
        let version = hidden(&page, "version").to_owned();
        admin.post(&path, &[("version", &version), ("name", "Rain"), ("subject", "No practice"), ("body", "It rains.")]).await.redirects_to("/messages/templates?done=saved");
        let mut coach = w.browser(club.coach.id).await;
        assert_eq!(coach.get("/messages/templates").await.status, 403);
        let template = format!("mtpl_{id}");
        let mut fields = announcement(&club);
        fields[3].1 = "";
        fields.extend([("template", template.as_str()), ("step", "template")]);
        let (_, page) = compose(&mut coach, "", &fields).await;
        page.ok().shows("value=\"No practice\"").shows("- two\n\nIt rains.");
        admin.post(&format!("{path}/delete"), &[]).await.redirects_to("/messages/templates?done=deleted");
    }
}
