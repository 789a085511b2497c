//! Further attacks on the rule that no adult writes to a child alone: with second accounts, addresses, keys and emails.

use testkit::people::PASSWORD;
use testkit::{Browser, MailServer, World, both, json};
use touchline::accounts::user::Role;

use crate::joining::{claim_in, link, link_in, on_roster, sign_up, team_link};
use crate::mail::node_with_mail;
use crate::safeguarding::{is_minor, needs_second_adult, notices, setup, text};
use crate::standing::acting;

/// The addresses that emails about something go to, sorted.
async fn addresses(w: &World, about: &str) -> Vec<String> {
    let mut all: Vec<_> = notices(w, about).await.into_iter().map(|(to, _)| to).collect();
    all.sort_unstable();
    all
}

both! {
    async fn a_second_account_does_not_become_an_adult_whom_an_admin_knows(w: &World) {
        let s = setup(w).await;
        // The coach makes the mother a player, so that an account can claim to be her.
        s.cora.patch(&format!("/people/{}", s.rita), json!({ "birth_date": "1980-02-02" })).await.ok();
        s.add(json!({ "person_id": s.rita, "role": "player" })).await;
        let way = team_link(w, &s.team).await;
        let mut sock = sign_up(w, &way, "sock@example.org", &[("as", "self")]).await;
        let fields = [("as", "self"), ("person", s.rita.as_str())];
        sock.post(&format!("{way}/claim"), &fields).await.leads_to("/account/claims?done=asked");
        let mut coach = w.browser(s.team.coach.id).await;
        let page = coach.get("/account/claims").await.shows("An admin of the club decides this");
        assert!(!page.text.contains("/approve"));
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let id = claim_in(&w.browser(admin.id).await.get("/admin/members/claims").await);
        assert_eq!(coach.post(&format!("/account/claims/{id}/approve"), &[]).await.status, 403);
        needs_second_adult(s.write(&s.cora, &[&s.mia_member]).await);
    }

    async fn a_childs_address_on_a_guardians_record_reaches_the_child_as_a_child(w: &World) {
        let s = setup(w).await;
        let staff = on_roster(w, &s.team.id.to_string(), json!({ "person_id": s.rita, "role": "staff" })).await;
        assert!(!is_minor(w, &s.rita).await);
        s.cora.patch(&format!("/people/{}", s.rita), json!({ "email": "mia@example.org" })).await.ok();
        assert_eq!(staff.to_string(), s.rita);
        assert!(is_minor(w, &s.rita).await);
        let members = w.owner.get(&format!("{}?role=staff", s.roster())).await.ok();
        let member = text(&members.data()[0]["id"]);
        for kind in ["message", "announcement"] {
            let audience = json!({ "to": "members", "member_ids": [member] });
            let body = json!({ "team_id": s.team.id, "kind": kind, "subject": "s", "body": "b", "audience": audience });
            needs_second_adult(s.cora.post("/messages", body).await);
        }
        let staff = json!({ "team_id": s.team.id, "kind": "announcement", "subject": "s", "body": "b", "audience": { "to": "staff" } });
        needs_second_adult(s.cora.post("/messages", staff).await);
        // Her old address is told.
        let told = notices(w, &s.rita).await;
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].0, "rita@example.org");
        assert!(told[0].1.contains("another email address"), "{}", told[0].1);
        let admin = w.user(Role::Admin, "admin@example.org").await;
        w.browser(admin.id).await.get("/admin/members/adults").await.shows("Rita");
    }

    async fn guardians_hear_of_another_address_of_their_child(w: &World) {
        let s = setup(w).await;
        w.owner.patch(&s.member(), json!({ "email": "other@example.org" })).await.ok();
        let told = notices(w, &s.mia).await;
        assert_eq!(told.len(), 1);
        assert!(told[0].0 == "rita@example.org" && told[0].1.contains("email address of Mia"), "{told:?}");
    }

    async fn an_adult_in_whose_name_a_key_writes_to_a_child_gets_it(w: &World) {
        let s = setup(w).await;
        for person in [&s.rita, &s.mia] {
            w.confirm_email(person).await;
        }
        let key = crate::events::narrowed(w, &s.team.id.to_string(), "messages:write").await;
        let audience = json!({ "to": "members", "member_ids": [s.mia_member] });
        let body = json!({ "team_id": s.team.id, "kind": "message", "body": "Hi", "audience": audience, "on_behalf_of": s.rita });
        let sent = key.post("/messages", body).await.created();
        assert_eq!(addresses(w, sent.id()).await, ["mia@example.org", "rita@example.org"]);
        assert_eq!(sent.data()["receipt_counts"]["delivered"], 2);
    }

    async fn guardians_who_sign_in_get_an_email_even_if_it_is_retracted(w: &World) {
        let s = setup(w).await;
        w.confirm_email(&s.mia).await;
        let user = w.user(Role::Member, "rita@example.org").await;
        link(w, s.rita.parse().unwrap(), user.id).await;
        let sent = s.write(&s.cora, &[&s.mia_member]).await.created();
        assert_eq!(addresses(w, sent.id()).await, ["mia@example.org", "rita@example.org"]);
        s.cora.delete(&format!("/messages/{}", sent.id())).await.ok();
        let rows = w.owner.get(&format!("/outbox?about={}", sent.id())).await.ok();
        let statuses: Vec<_> = rows.data().as_array().unwrap().iter().map(|row| text(&row["status"])).collect();
        assert_eq!(statuses, ["pending", "pending"]);
        // Among adults nothing is sent that was retracted before.
        let staff = on_roster(w, &s.team.id.to_string(), json!({ "first_name": "Ole", "role": "staff", "email": "ole@example.org" })).await;
        w.confirm_email(&staff.to_string()).await;
        let body = json!({ "team_id": s.team.id, "kind": "message", "body": "Hi", "audience": { "to": "staff" } });
        let sent = s.cora.post("/messages", body).await.created();
        s.cora.delete(&format!("/messages/{}", sent.id())).await.ok();
        let rows = w.owner.get(&format!("/outbox?about={}", sent.id())).await.ok();
        assert_eq!((rows.data()[0]["to_address"].as_str(), rows.data()[0]["status"].as_str()), (Some("ole@example.org"), Some("cancelled")));
    }

    async fn nobody_takes_the_place_of_a_guardian_at_their_address(w: &World) {
        let s = setup(w).await;
        // A helper with the mother's address, and a child who signs in with it.
        let (otto, member) = s.add(json!({ "first_name": "Otto", "role": "staff" })).await;
        let user = w.user(Role::Member, "family@example.org").await;
        link(w, s.mia.parse().unwrap(), user.id).await;
        w.confirm_email(&s.rita).await;
        s.cora.patch(&format!("/people/{otto}"), json!({ "email": "rita@example.org" })).await.ok();
        w.owner.patch(&format!("/people/{}", s.mia), json!({ "email": "rita@example.org" })).await.ok();
        let sent = s.write(&s.cora, &[&s.mia_member, &member]).await.created();
        assert_eq!(addresses(w, sent.id()).await, ["rita@example.org"]);
    }

    async fn a_reminder_to_a_childs_address_goes_to_the_guardians_too(w: &World) {
        let s = setup(w).await;
        let zed = s.add(json!({ "first_name": "Zed", "birth_date": "2014-01-01" })).await.1;
        let tied = json!({ "guardians": [{ "id": s.mia }] });
        s.cora.patch(&format!("{}/{zed}", s.roster()), tied.clone()).await.refused(403, "forbidden");
        // Nor with her address, nor on the coach's own record.
        let other = s.add(json!({ "first_name": "Mia Two", "email": "mia@example.org", "allow_duplicate": true })).await;
        let coaches = w.owner.get(&format!("{}?role=coach", s.roster())).await.ok();
        let coach = (text(&coaches.data()[0]["person_id"]), text(&coaches.data()[0]["id"]));
        s.cora.patch(&format!("/people/{}", coach.0), json!({ "email": "mia@example.org" })).await.ok();
        assert!(is_minor(w, &coach.0).await, "who gives themselves a child's address is no adult any more");
        for (person, member) in [other, coach] {
            let body = json!({ "team_id": s.team.id, "member_id": member, "title": "Hi", "amount": 100, "due_on": "2026-10-01", "payer": person });
            let due = w.owner.post("/dues", body).await.created();
            let due = text(&due.data()[0]["id"]);
            w.owner.post(&format!("/dues/{due}/remind"), json!({})).await;
            assert_eq!(addresses(w, &due).await, ["mia@example.org", "rita@example.org"]);
        }
    }

    async fn the_address_a_child_signs_in_with_is_theirs_too(w: &World) {
        let s = setup(w).await;
        w.owner.patch(&format!("/people/{}", s.mia), json!({ "email": null })).await.ok();
        let user = w.user(Role::Member, "mia.login@example.org").await;
        link(w, s.mia.parse().unwrap(), user.id).await;
        let (gus, member) = s.add(json!({ "first_name": "Gus", "role": "staff", "email": "mia.login@example.org" })).await;
        assert!(is_minor(w, &gus).await);
        needs_second_adult(s.write(&s.cora, &[&member]).await);
        // A child who is known by the roster signs in as an invented adult.
        let (leo, _) = s.add(json!({ "first_name": "Leo", "birth_date": "2014-01-01", "email": "leo@example.org" })).await;
        let fake = on_roster(w, &s.team.id.to_string(), json!({ "first_name": "Fay", "role": "staff" })).await;
        let user = w.user(Role::Member, "leo@example.org").await;
        w.owner.post(&format!("/people/{fake}/mark_minor"), json!({})).await.ok();
        link(w, fake, user.id).await;
        assert!(is_minor(w, &leo).await && is_minor(w, &fake.to_string()).await);
    }

    async fn a_whole_team_of_one_child_and_invented_ones_is_one_child(w: &World) {
        let s = setup(w).await;
        for name in ["One", "Two"] {
            s.add(json!({ "first_name": name, "birth_date": "2014-01-01" })).await;
        }
        for player in w.owner.get(&format!("{}?role=player", s.roster())).await.ok().data().as_array().unwrap() {
            if player["first_name"] == "Inês" {
                s.cora.patch(&format!("{}/{}", s.roster(), text(&player["id"])), json!({ "status": "inactive" })).await.ok();
            }
        }
        let body = json!({ "team_id": s.team.id, "kind": "announcement", "subject": "s", "body": "b", "audience": { "to": "players" } });
        needs_second_adult(s.cora.post("/messages", body.clone()).await);
        w.owner.post("/messages", body.clone()).await.created();
        // Two children whose guardians an admin knows are a team.
        let noa = json!({ "first_name": "Noa", "birth_date": "2014-01-01", "guardians": [{ "first_name": "Ned", "email": "ned@example.org" }] });
        on_roster(w, &s.team.id.to_string(), noa).await;
        s.cora.post("/messages", body).await.created();
    }

    async fn a_name_reaches_no_child_by_a_notice(w: &World) {
        let s = setup(w).await;
        let guardian = json!([{ "first_name": "G", "email": "mia@example.org" }]);
        let body = json!({ "first_name": "Meet me at seven", "birth_date": "2014-01-01", "guardians": guardian });
        let (person, _) = s.add(body).await;
        let user = w.user(Role::Member, "sock@example.org").await;
        link(w, person.parse().unwrap(), user.id).await;
        assert_eq!(addresses(w, &person).await, Vec::<String>::new());
    }

    async fn adults_read_what_was_retracted_after_a_child_got_it(w: &World) {
        let s = setup(w).await;
        let user = w.user(Role::Member, "rita@example.org").await;
        link(w, s.rita.parse().unwrap(), user.id).await;
        let child = w.user(Role::Member, "mia@example.org").await;
        link(w, s.mia.parse().unwrap(), child.id).await;
        w.owner.patch(&format!("/people/{}", s.rita), json!({ "wants_email": false })).await.ok();
        let sent = s.write(&s.cora, &[&s.mia_member]).await.created();
        let path = format!("/messages/{}", sent.id());
        s.cora.delete(&path).await.ok();
        let body = async |client: &testkit::Client| client.get(&path).await.ok().data()["body"].as_str().map(str::to_owned);
        assert_eq!(body(&acting(w, user.id).await).await.as_deref(), Some("Hi"));
        assert_eq!(body(&w.owner).await.as_deref(), Some("Hi"));
        assert_eq!(body(&acting(w, child.id).await).await, None);
        let listed = acting(w, user.id).await.get("/messages?status=retracted").await.ok();
        assert_eq!(listed.data()[0]["body"], "Hi");
    }

    async fn a_guardian_lets_no_coach_in_as_a_guardian(w: &World) {
        let s = setup(w).await;
        let way = team_link(w, &s.team).await;
        let mut coach = w.browser(s.team.coach.id).await;
        let fields = [("as", "guardian"), ("person", s.mia.as_str())];
        coach.post(&format!("{way}/claim"), &fields).await.leads_to("/account/claims?done=asked");
        let user = w.user(Role::Member, "rita@example.org").await;
        link(w, s.rita.parse().unwrap(), user.id).await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let id = claim_in(&w.browser(admin.id).await.get("/admin/members/claims").await);
        let mut rita = w.browser(user.id).await;
        assert!(rita.post(&format!("/account/claims/{id}/approve"), &[]).await.status >= 400);
    }

    async fn an_invitation_of_a_mother_is_for_her_address_alone(w: &World) {
        let s = setup(w).await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let fields = [("email", "rita@example.org"), ("role", "member"), ("relation", "self"), ("person", s.rita.as_str())];
        let way = link_in(&w.browser(admin.id).await.post("/admin/members/invite", &fields).await);
        let stranger = w.user(Role::Member, "stranger@example.org").await;
        let mut stranger = w.browser(stranger.id).await;
        assert_eq!(stranger.post(&format!("{way}/accept"), &[]).await.status, 422);
    }

    async fn who_was_marked_as_a_minor_waits_for_an_admin(w: &World) {
        let s = setup(w).await;
        s.cora.post(&format!("/people/{}/mark_minor", s.rita), json!({})).await.ok();
        let admin = w.user(Role::Admin, "admin@example.org").await;
        w.browser(admin.id).await.get("/admin/members/adults").await.shows("Rita").shows("Was a minor");
        // Rita signs in no more as somebody who decides.
        let user = w.user(Role::Member, "rita@example.org").await;
        link(w, s.rita.parse().unwrap(), user.id).await;
        let rita = acting(w, user.id).await;
        assert!(rita.patch(&format!("/people/{}", s.mia), json!({ "birth_date": "1990-01-01" })).await.status >= 400);
    }
}

both! {
    async fn a_name_is_no_message_to_a_child(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let s = setup(w).await;
        let node = node_with_mail(w, &server.url()).await;
        let body = json!({ "first_name": "Meet me at seven", "email": "mia@example.org", "allow_duplicate": true });
        let (person, _) = s.add(body).await;
        let mut cora = s.cora.clone();
        cora.address = node.address;
        cora.post(&format!("/people/{person}/request_email_confirmation"), json!({})).await.ok();
        let sent = server.letters(1).remove(0);
        assert_eq!(sent["to"], json!(["mia@example.org"]));
        assert!(!sent.to_string().contains("Meet me"), "{sent}");
        // Nor by the name of an account that nobody has confirmed, nor with a link for an address of before.
        let mut sock = Browser::new(node.address);
        let way = team_link(w, &s.team).await;
        let fields = [("as", "self"), ("name", "Meet me at eight"), ("email", "mia@example.org"), ("password", PASSWORD)];
        sock.get(&format!("{way}?as=self")).await;
        sock.post(&format!("{way}/account"), &fields).await;
        sock.get("/forgot").await;
        sock.post("/forgot", &[("email", "mia@example.org")]).await;
        let sent = server.letters(1).remove(0);
        assert!(!sent.to_string().contains("Meet me"), "{sent}");
        let rita = s.rita.parse().unwrap();
        let old = node.app.links.token(w.harbour, rita, "coach@example.org");
        let own = node.app.links.token(w.harbour, rita, "rita@example.org");
        assert_eq!(sock.get(&format!("/unsubscribe/{old}")).await.status, 404);
        assert_eq!(sock.post(&format!("/unsubscribe/{old}"), &[]).await.status, 404);
        sock.get(&format!("/unsubscribe/{own}")).await.ok();
        node.stop().await;
    }
}
