//! Further attacks on the rule that no adult writes to a child alone: with second accounts, addresses, keys and emails.

use testkit::{MailServer, World, both, json};
use touchline::accounts::user::Role;

use crate::joining::{claim_in, link, on_roster, sign_up, team_link};
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
        node.stop().await;
    }
}
