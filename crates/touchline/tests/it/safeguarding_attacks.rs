//! Further attacks on the rule that no adult messages a child alone: with second accounts, email
//! addresses, keys and emails.

use testkit::people::PASSWORD;
use testkit::{Browser, MailServer, World, both, json};
use touchline::accounts::user::Role;

use crate::joining::{add_to_roster, claim_in, link_in, link_user, sign_up, team_link};
use crate::mail::node_with_mail;
use crate::roster_access::client_with_all_scopes;
use crate::safeguarding::{emails_about, is_minor, needs_second_adult, setup, text};

/// The addresses that got emails about something, sorted.
async fn addresses(w: &World, about: &str) -> Vec<String> {
    let mut all: Vec<_> = emails_about(w, about).await.into_iter().map(|(to, _)| to).collect();
    all.sort_unstable();
    all
}

both! {
    async fn coach_cannot_approve_a_claim_to_be_a_confirmed_adult(w: &World) {
        let s = setup(w).await;
        // The coach adds the mother as a player, so that an account can claim to be her.
        s.cora.patch(&format!("/people/{}", s.rita), json!({ "birth_date": "1980-02-02" })).await.ok();
        s.add_member(json!({ "person_id": s.rita, "role": "player" })).await;
        let join_path = team_link(w, &s.team).await;
        let mut second_account = sign_up(w, &join_path, "sock@example.org", &[("as", "self")]).await;
        let fields = [("as", "self"), ("person", s.rita.as_str())];
        second_account.post(&format!("{join_path}/claim"), &fields).await.redirects_to("/account/claims?done=asked");
        let mut coach = w.browser(s.team.coach.id).await;
        let page = coach.get("/account/claims").await.shows("Only an admin of the club can approve or refuse this request");
        assert!(!page.text.contains("/approve"));
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let id = claim_in(&w.browser(admin.id).await.get("/admin/members/claims").await);
        assert_eq!(coach.post(&format!("/account/claims/{id}/approve"), &[]).await.status, 403);
        needs_second_adult(s.send_message(&s.cora, &[&s.mia_member]).await);
    }

    async fn guardian_with_a_childs_email_counts_as_a_minor(w: &World) {
        let s = setup(w).await;
        let staff = add_to_roster(w, &s.team.id.to_string(), json!({ "person_id": s.rita, "role": "staff" })).await;
        assert!(!is_minor(w, &s.rita).await);
        s.cora.patch(&format!("/people/{}", s.rita), json!({ "email": "mia@example.org" })).await.ok();
        assert_eq!(staff.to_string(), s.rita);
        assert!(is_minor(w, &s.rita).await);
        let members = w.owner.get(&format!("{}?role=staff", s.roster_path())).await.ok();
        let member = text(&members.data()[0]["id"]);
        for kind in ["message", "announcement"] {
            let audience = json!({ "to": "members", "member_ids": [member] });
            let body = json!({ "team_id": s.team.id, "kind": kind, "subject": "s", "body": "b", "audience": audience });
            needs_second_adult(s.cora.post("/messages", body).await);
        }
        let staff = json!({ "team_id": s.team.id, "kind": "announcement", "subject": "s", "body": "b", "audience": { "to": "staff" } });
        needs_second_adult(s.cora.post("/messages", staff).await);
        // Her old address is notified.
        let emails = emails_about(w, &s.rita).await;
        assert_eq!(emails.len(), 1);
        assert_eq!(emails[0].0, "rita@example.org");
        assert!(emails[0].1.contains("email address at Harbour was changed"), "{}", emails[0].1);
        let admin = w.user(Role::Admin, "admin@example.org").await;
        w.browser(admin.id).await.get("/admin/members/adults").await.shows("Rita");
    }

    async fn guardians_are_notified_of_a_new_email_of_their_child(w: &World) {
        let s = setup(w).await;
        w.owner.patch(&s.member_path(), json!({ "email": "other@example.org" })).await.ok();
        let emails = emails_about(w, &s.mia).await;
        assert_eq!(emails.len(), 1);
        assert!(emails[0].0 == "rita@example.org" && emails[0].1.contains("email address of Mia"), "{emails:?}");
    }

    async fn adult_named_as_the_author_gets_the_message_too(w: &World) {
        let s = setup(w).await;
        for person in [&s.rita, &s.mia] {
            w.confirm_email(person).await;
        }
        let key = crate::events::team_client(w, &s.team.id.to_string(), "messages:write").await;
        let audience = json!({ "to": "members", "member_ids": [s.mia_member] });
        let body = json!({ "team_id": s.team.id, "kind": "message", "body": "Hi", "audience": audience, "on_behalf_of": s.rita });
        let sent = key.post("/messages", body).await.created();
        assert_eq!(addresses(w, sent.id()).await, ["mia@example.org", "rita@example.org"]);
        assert_eq!(sent.data()["receipt_counts"]["delivered"], 2);
    }

    async fn guardians_get_an_email_even_if_the_message_is_retracted(w: &World) {
        let s = setup(w).await;
        w.confirm_email(&s.mia).await;
        let user = w.user(Role::Member, "rita@example.org").await;
        link_user(w, s.rita.parse().unwrap(), user.id).await;
        let sent = s.send_message(&s.cora, &[&s.mia_member]).await.created();
        assert_eq!(addresses(w, sent.id()).await, ["mia@example.org", "rita@example.org"]);
        s.cora.delete(&format!("/messages/{}", sent.id())).await.ok();
        let rows = w.owner.get(&format!("/emails?related_id={}", sent.id())).await.ok();
        let statuses: Vec<_> = rows.data().as_array().unwrap().iter().map(|row| text(&row["status"])).collect();
        assert_eq!(statuses, ["pending", "pending"]);
        // Between adults, a retracted message is not emailed.
        let staff = add_to_roster(w, &s.team.id.to_string(), json!({ "first_name": "Ole", "role": "staff", "email": "ole@example.org" })).await;
        w.confirm_email(&staff.to_string()).await;
        let body = json!({ "team_id": s.team.id, "kind": "message", "body": "Hi", "audience": { "to": "staff" } });
        let sent = s.cora.post("/messages", body).await.created();
        s.cora.delete(&format!("/messages/{}", sent.id())).await.ok();
        let rows = w.owner.get(&format!("/emails?related_id={}", sent.id())).await.ok();
        assert_eq!((rows.data()[0]["to_address"].as_str(), rows.data()[0]["status"].as_str()), (Some("ole@example.org"), Some("cancelled")));
    }

    async fn another_person_with_a_guardians_email_does_not_replace_the_guardian(w: &World) {
        let s = setup(w).await;
        // A staff member with the mother's address, and the child, who signs in and has the mother's address too.
        let (otto, member) = s.add_member(json!({ "first_name": "Otto", "role": "staff" })).await;
        let user = w.user(Role::Member, "family@example.org").await;
        link_user(w, s.mia.parse().unwrap(), user.id).await;
        w.confirm_email(&s.rita).await;
        s.cora.patch(&format!("/people/{otto}"), json!({ "email": "rita@example.org" })).await.ok();
        w.owner.patch(&format!("/people/{}", s.mia), json!({ "email": "rita@example.org" })).await.ok();
        let sent = s.send_message(&s.cora, &[&s.mia_member, &member]).await.created();
        assert_eq!(addresses(w, sent.id()).await, ["rita@example.org"]);
    }

    async fn reminder_to_a_childs_email_also_goes_to_the_guardians(w: &World) {
        let s = setup(w).await;
        // The coach cannot make the child a guardian, and thereby the recipient of emails about another child.
        let zed = s.add_member(json!({ "first_name": "Zed", "birth_date": "2014-01-01" })).await.1;
        let guardians = json!({ "guardians": [{ "id": s.mia }] });
        s.cora.patch(&format!("{}/{zed}", s.roster_path()), guardians).await.assert_problem(403, "forbidden");
        // The coach puts the child's address on a second record, and on their own record.
        let other = s.add_member(json!({ "first_name": "Mia Two", "email": "mia@example.org", "allow_duplicate": true })).await;
        let coaches = w.owner.get(&format!("{}?role=coach", s.roster_path())).await.ok();
        let coach = (text(&coaches.data()[0]["person_id"]), text(&coaches.data()[0]["id"]));
        s.cora.patch(&format!("/people/{}", coach.0), json!({ "email": "mia@example.org" })).await.ok();
        assert!(is_minor(w, &coach.0).await, "a coach with a child's address counts as a minor");
        for (person, member) in [other, coach] {
            let body = json!({ "team_id": s.team.id, "member_id": member, "title": "Hi", "amount": 100, "due_on": "2026-10-01", "payer": person });
            let due = w.owner.post("/dues", body).await.created();
            let due = text(&due.data()[0]["id"]);
            w.owner.post(&format!("/dues/{due}/remind"), json!({})).await;
            assert_eq!(addresses(w, &due).await, ["mia@example.org", "rita@example.org"]);
        }
    }

    async fn person_with_the_sign_in_email_of_a_child_counts_as_a_minor(w: &World) {
        let s = setup(w).await;
        w.owner.patch(&format!("/people/{}", s.mia), json!({ "email": null })).await.ok();
        let user = w.user(Role::Member, "mia.login@example.org").await;
        link_user(w, s.mia.parse().unwrap(), user.id).await;
        let (gus, member) = s.add_member(json!({ "first_name": "Gus", "role": "staff", "email": "mia.login@example.org" })).await;
        assert!(is_minor(w, &gus).await);
        needs_second_adult(s.send_message(&s.cora, &[&member]).await);
        // A child on the roster whose account is linked to an invented adult.
        let (leo, _) = s.add_member(json!({ "first_name": "Leo", "birth_date": "2014-01-01", "email": "leo@example.org" })).await;
        let fake = add_to_roster(w, &s.team.id.to_string(), json!({ "first_name": "Fay", "role": "staff" })).await;
        let user = w.user(Role::Member, "leo@example.org").await;
        w.owner.post(&format!("/people/{fake}/mark_minor"), json!({})).await.ok();
        link_user(w, fake, user.id).await;
        assert!(is_minor(w, &leo).await && is_minor(w, &fake.to_string()).await);
    }

    async fn announcement_to_one_child_and_invented_children_needs_a_second_adult(w: &World) {
        let s = setup(w).await;
        for name in ["One", "Two"] {
            s.add_member(json!({ "first_name": name, "birth_date": "2014-01-01" })).await;
        }
        for player in w.owner.get(&format!("{}?role=player", s.roster_path())).await.ok().data().as_array().unwrap() {
            if player["first_name"] == "Inês" {
                s.cora.patch(&format!("{}/{}", s.roster_path(), text(&player["id"])), json!({ "status": "inactive" })).await.ok();
            }
        }
        let body = json!({ "team_id": s.team.id, "kind": "announcement", "subject": "s", "body": "b", "audience": { "to": "players" } });
        needs_second_adult(s.cora.post("/messages", body.clone()).await);
        w.owner.post("/messages", body.clone()).await.created();
        // Two children with confirmed guardians are enough.
        let noa = json!({ "first_name": "Noa", "birth_date": "2014-01-01", "guardians": [{ "first_name": "Ned", "email": "ned@example.org" }] });
        add_to_roster(w, &s.team.id.to_string(), noa).await;
        s.cora.post("/messages", body).await.created();
    }

    async fn minor_named_as_a_guardian_gets_no_email_about_the_child(w: &World) {
        let s = setup(w).await;
        let guardian = json!([{ "first_name": "G", "email": "mia@example.org" }]);
        let body = json!({ "first_name": "Meet me at seven", "birth_date": "2014-01-01", "guardians": guardian });
        let (person, _) = s.add_member(body).await;
        let user = w.user(Role::Member, "sock@example.org").await;
        link_user(w, person.parse().unwrap(), user.id).await;
        assert_eq!(addresses(w, &person).await, Vec::<String>::new());
    }

    async fn adults_can_read_a_retracted_message_to_a_child(w: &World) {
        let s = setup(w).await;
        let user = w.user(Role::Member, "rita@example.org").await;
        link_user(w, s.rita.parse().unwrap(), user.id).await;
        let child = w.user(Role::Member, "mia@example.org").await;
        link_user(w, s.mia.parse().unwrap(), child.id).await;
        w.owner.patch(&format!("/people/{}", s.rita), json!({ "email_opt_in": false })).await.ok();
        let sent = s.send_message(&s.cora, &[&s.mia_member]).await.created();
        let path = format!("/messages/{}", sent.id());
        s.cora.delete(&path).await.ok();
        let body = async |client: &testkit::Client| client.get(&path).await.ok().data()["body"].as_str().map(str::to_owned);
        assert_eq!(body(&client_with_all_scopes(w, user.id).await).await.as_deref(), Some("Hi"));
        assert_eq!(body(&w.owner).await.as_deref(), Some("Hi"));
        assert_eq!(body(&client_with_all_scopes(w, child.id).await).await, None);
        let list = client_with_all_scopes(w, user.id).await.get("/messages?status=retracted").await.ok();
        assert_eq!(list.data()[0]["body"], "Hi");
    }

    async fn guardian_cannot_approve_a_coach_as_a_guardian(w: &World) {
        let s = setup(w).await;
        let join_path = team_link(w, &s.team).await;
        let mut coach = w.browser(s.team.coach.id).await;
        let fields = [("as", "guardian"), ("person", s.mia.as_str())];
        coach.post(&format!("{join_path}/claim"), &fields).await.redirects_to("/account/claims?done=asked");
        let user = w.user(Role::Member, "rita@example.org").await;
        link_user(w, s.rita.parse().unwrap(), user.id).await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let id = claim_in(&w.browser(admin.id).await.get("/admin/members/claims").await);
        let mut rita = w.browser(user.id).await;
        assert!(rita.post(&format!("/account/claims/{id}/approve"), &[]).await.status >= 400);
    }

    async fn invitation_of_a_guardian_works_only_with_the_invited_email(w: &World) {
        let s = setup(w).await;
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let fields = [("email", "rita@example.org"), ("role", "member"), ("relation", "self"), ("person", s.rita.as_str())];
        let join_path = link_in(&w.browser(admin.id).await.post("/admin/members/invite", &fields).await);
        let stranger = w.user(Role::Member, "stranger@example.org").await;
        let mut stranger = w.browser(stranger.id).await;
        assert_eq!(stranger.post(&format!("{join_path}/accept"), &[]).await.status, 422);
    }

    async fn person_marked_as_a_minor_needs_an_admin(w: &World) {
        let s = setup(w).await;
        s.cora.post(&format!("/people/{}/mark_minor", s.rita), json!({})).await.ok();
        let admin = w.user(Role::Admin, "admin@example.org").await;
        w.browser(admin.id).await.get("/admin/members/adults").await.shows("Rita").shows("Was a minor");
        // Rita can no longer decide for her child.
        let user = w.user(Role::Member, "rita@example.org").await;
        link_user(w, s.rita.parse().unwrap(), user.id).await;
        let rita = client_with_all_scopes(w, user.id).await;
        assert!(rita.patch(&format!("/people/{}", s.mia), json!({ "birth_date": "1990-01-01" })).await.status >= 400);
    }
}

both! {
    async fn emails_to_unconfirmed_addresses_do_not_contain_the_name(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let s = setup(w).await;
        let node = node_with_mail(w, &server.url()).await;
        let body = json!({ "first_name": "Meet me at seven", "email": "mia@example.org", "allow_duplicate": true });
        let (person, _) = s.add_member(body).await;
        let mut cora = s.cora.clone();
        cora.address = node.address;
        cora.post(&format!("/people/{person}/request_email_confirmation"), json!({})).await.ok();
        let sent = server.emails(1).remove(0);
        assert_eq!(sent["to"], json!(["mia@example.org"]));
        assert!(!sent.to_string().contains("Meet me"), "{sent}");
        // Emails to an unconfirmed account do not contain its name.
        let mut second_account = Browser::new(node.address);
        let join_path = team_link(w, &s.team).await;
        let fields = [("as", "self"), ("name", "Meet me at eight"), ("email", "mia@example.org"), ("password", PASSWORD)];
        second_account.get(&format!("{join_path}?as=self")).await;
        second_account.post(&format!("{join_path}/account"), &fields).await;
        second_account.get("/forgot").await;
        second_account.post("/forgot", &[("email", "mia@example.org")]).await;
        let sent = server.emails(1).remove(0);
        assert!(!sent.to_string().contains("Meet me"), "{sent}");
        // An unsubscribe link works only for the person's current address.
        let rita = s.rita.parse().unwrap();
        let old = node.app.unsubscribe_key.token(w.harbour, rita, "coach@example.org");
        let current = node.app.unsubscribe_key.token(w.harbour, rita, "rita@example.org");
        assert_eq!(second_account.get(&format!("/unsubscribe/{old}")).await.status, 404);
        assert_eq!(second_account.post(&format!("/unsubscribe/{old}"), &[]).await.status, 404);
        second_account.get(&format!("/unsubscribe/{current}")).await.ok();
        node.stop().await;
    }
}
