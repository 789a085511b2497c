//! Attacks on the rule that no adult messages a child alone, as a coach or parent would try them.
//! `docs/safeguarding.md` describes the threat model.

use store::{Scope, bind};
use testkit::{Browser, Client, MailServer, TestResponse, Value, World, both, json, seconds};
use touchline::accounts::user::Role;

use crate::joining::{add_to_roster, claim_in, link_user, sign_up, team, team_link};
use crate::mail::node_with_mail;
use crate::roster_access::client_with_all_scopes;

/// A youth team with its coach Cora, and the child Mia with her mother Rita, both added by an
/// admin.
pub(crate) struct Setup {
    pub(crate) team: crate::joining::Team,
    pub(crate) cora: Client,
    pub(crate) mia: String,
    pub(crate) mia_member: String,
    pub(crate) rita: String,
}

pub(crate) async fn setup(w: &World) -> Setup {
    let team = team(w, "Hawks").await;
    w.owner.patch(&format!("/teams/{}", team.id), json!({ "age_group": "U12" })).await.ok();
    let rita = json!([{ "first_name": "Rita", "email": "rita@example.org", "can_pick_up": false }]);
    let body = json!({ "first_name": "Mia", "birth_date": "2014-05-05", "email": "mia@example.org", "guardians": rita });
    let member = w.owner.post(&format!("/teams/{}/roster", team.id), body).await.created();
    let mia = text(&member.data()["person_id"]);
    let rita = text(&member.data()["guardians"][0]["id"]);
    let cora = client_with_all_scopes(w, team.coach.id).await;
    Setup { cora, mia, mia_member: member.id().to_owned(), rita, team }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

impl Setup {
    pub(crate) fn member_path(&self) -> String {
        format!("/teams/{}/roster/{}", self.team.id, self.mia_member)
    }

    pub(crate) fn roster_path(&self) -> String {
        format!("/teams/{}/roster", self.team.id)
    }

    /// Sends a message to these members.
    pub(crate) async fn send_message(&self, client: &Client, members: &[&str]) -> TestResponse {
        let audience = json!({ "to": "members", "member_ids": members });
        let body = json!({ "team_id": self.team.id, "kind": "message", "body": "Hi", "audience": audience });
        client.post("/messages", body).await
    }

    /// Adds a member as the coach; returns the ids of the person and the member.
    pub(crate) async fn add_member(&self, body: Value) -> (String, String) {
        let member = self.cora.post(&self.roster_path(), body).await.created();
        (text(&member.data()["person_id"]), member.id().to_owned())
    }
}

pub(crate) async fn is_minor(w: &World, person: &str) -> bool {
    w.owner.get(&format!("/people/{person}")).await.ok().data()["is_minor"].as_bool().unwrap()
}

/// Whether the person's first guardian is confirmed, if there is one.
async fn is_guardian_confirmed(w: &World, person: &str) -> Option<bool> {
    w.owner.get(&format!("/people/{person}")).await.ok().data()["guardians"][0]["confirmed"]
        .as_bool()
}

/// The number of audit entries with this action.
async fn audited(w: &World, action: &'static str) -> usize {
    let read = w.db().read(Scope::account(w.harbour, "test"), move |db| {
        Ok::<_, touchline::error::Error>(db.all::<(i64,)>(
            "select position from audit_entry where account_id = :account and action = :action",
            bind! { action },
        )?)
    });
    read.await.unwrap().len()
}

#[track_caller]
pub(crate) fn needs_second_adult(answer: TestResponse) {
    let refused = answer.assert_problem(409, "conflict");
    assert_eq!(refused.body["errors"][0]["code"], "second_adult_required");
}

#[track_caller]
fn assert_protected(answer: TestResponse, pointer: &str) {
    let refused = answer.assert_problem(403, "forbidden");
    assert_eq!(refused.body["errors"][0]["code"], "protected_minor", "{}", refused.text);
    assert_eq!(refused.pointers(), [pointer]);
}

/// Address and text of the emails about this person.
pub(crate) async fn emails_about(w: &World, person: &str) -> Vec<(String, String)> {
    let sent = w.owner.get(&format!("/emails?related_id={person}&order=asc")).await.ok();
    let rows = sent.data().as_array().unwrap().iter();
    rows.map(|row| (text(&row["to_address"]), text(&row["body_text"]))).collect()
}

both! {
    async fn coach_cannot_change_a_minors_birth_date(w: &World) {
        let s = setup(w).await;
        needs_second_adult(s.send_message(&s.cora, &[&s.mia_member]).await);
        assert_protected(s.cora.patch(&s.member_path(), json!({ "birth_date": "1990-01-01" })).await, "/birth_date");
        assert_protected(s.cora.patch(&format!("/people/{}", s.mia), json!({ "birth_date": "1990-01-01" })).await, "/birth_date");
        s.cora.post(&format!("/people/{}/confirm_adult", s.mia), json!({})).await.assert_problem(403, "forbidden");
        // A correction that keeps her a minor is allowed, and so is removing the date.
        s.cora.patch(&s.member_path(), json!({ "birth_date": "2013-05-05" })).await.ok();
        s.cora.patch(&s.member_path(), json!({ "birth_date": null })).await.ok();
        assert_protected(s.cora.patch(&s.member_path(), json!({ "birth_date": "1990-01-01" })).await, "/birth_date");
        assert!(is_minor(w, &s.mia).await);
        needs_second_adult(s.send_message(&s.cora, &[&s.mia_member]).await);
    }

    async fn adult_birth_date_needs_an_admins_confirmation(w: &World) {
        let s = setup(w).await;
        w.owner.patch(&s.member_path(), json!({ "birth_date": "1990-01-01" })).await.ok();
        assert!(is_minor(w, &s.mia).await);
        let emails = emails_about(w, &s.mia).await;
        assert_eq!(emails.len(), 1);
        assert_eq!(emails[0].0, "rita@example.org");
        assert!(emails[0].1.contains("birth date of Mia"), "{}", emails[0].1);
        needs_second_adult(s.send_message(&s.cora, &[&s.mia_member]).await);
        let confirmed = w.owner.post(&format!("/people/{}/confirm_adult", s.mia), json!({})).await.ok();
        assert_eq!(confirmed.data()["is_minor"], false);
        assert!(emails_about(w, &s.mia).await[1].1.contains("is an adult"));
        s.send_message(&s.cora, &[&s.mia_member]).await.created();
        assert_eq!(audited(w, "person.protection_changed").await, 2);
        // A person cannot be confirmed as an adult against their birth date.
        w.owner.patch(&s.member_path(), json!({ "birth_date": "2014-05-05" })).await.ok();
        assert!(is_minor(w, &s.mia).await);
        w.owner.post(&format!("/people/{}/confirm_adult", s.mia), json!({})).await.assert_problem(409, "invalid_state");
    }

    async fn minor_stays_a_minor_without_birth_date_guardians_and_youth_team(w: &World) {
        let s = setup(w).await;
        assert_protected(s.cora.patch(&s.member_path(), json!({ "guardians": [], "birth_date": null })).await, "/guardians");
        let team = format!("/teams/{}", s.team.id);
        let refused = s.cora.patch(&team, json!({ "age_group": "Adult open" })).await.assert_problem(403, "forbidden");
        assert_eq!(refused.pointers(), ["/age_group"]);
        s.cora.patch(&team, json!({ "age_group": "U13" })).await.ok();
        // An admin may, but she stays a minor, and her mother is notified.
        w.owner.patch(&s.member_path(), json!({ "guardians": [], "birth_date": null })).await.ok();
        w.owner.patch(&team, json!({ "age_group": "Adult open" })).await.ok();
        assert!(is_minor(w, &s.mia).await);
        needs_second_adult(s.send_message(&s.cora, &[&s.mia_member]).await);
        let emails = emails_about(w, &s.mia).await;
        assert_eq!(emails.len(), 1, "she has no guardian left to notify about the team");
        assert!(emails[0].1.contains("Rita is no longer a guardian of Mia"), "{}", emails[0].1);
    }

    async fn child_added_a_second_time_is_still_a_child(w: &World) {
        let s = setup(w).await;
        let player = json!({ "first_name": "Mimi", "birth_date": "1990-01-01", "allow_duplicate": true });
        let staff = json!({ "first_name": "Em", "role": "staff", "birth_date": "1990-01-01", "email": "mia@example.org", "allow_duplicate": true });
        for body in [player, staff] {
            let (person, member) = s.add_member(body).await;
            assert!(is_minor(w, &person).await);
            needs_second_adult(s.send_message(&s.cora, &[&member]).await);
        }
        // A person whom an admin adds with an adult's birth date is an adult.
        let adult = json!({ "first_name": "Lea", "birth_date": "1990-01-01" });
        assert!(!is_minor(w, &add_to_roster(w, &s.team.id.to_string(), adult).await.to_string()).await);
    }

    async fn invented_second_adult_does_not_count(w: &World) {
        let s = setup(w).await;
        let (fake, member) = s.add_member(json!({ "first_name": "Fay", "role": "staff", "birth_date": "1980-01-01" })).await;
        needs_second_adult(s.send_message(&s.cora, &[&s.mia_member, &member]).await);
        let address = json!({ "email": "sock@example.org" });
        s.cora.patch(&format!("/people/{fake}"), address).await.ok();
        needs_second_adult(s.send_message(&s.cora, &[&s.mia_member, &member]).await);
        w.confirm_email(&fake).await;
        needs_second_adult(s.send_message(&s.cora, &[&s.mia_member, &member]).await);
        w.owner.post(&format!("/people/{fake}/confirm_adult"), json!({})).await.ok();
        s.send_message(&s.cora, &[&s.mia_member, &member]).await.created();
        // A confirmed adult who gets no emails does not count either.
        w.owner.patch(&format!("/people/{fake}"), json!({ "email_opt_in": false })).await.ok();
        needs_second_adult(s.send_message(&s.cora, &[&s.mia_member, &member]).await);
    }

    async fn guardian_without_a_confirmed_email_does_not_count(w: &World) {
        let s = setup(w).await;
        needs_second_adult(s.send_message(&s.cora, &[&s.mia_member]).await);
        w.confirm_email(&s.rita).await;
        let sent = s.send_message(&s.cora, &[&s.mia_member]).await.created();
        // She has no login, so she gets the conversation by email.
        let mail = w.owner.get(&format!("/emails?related_id={}", sent.id())).await.ok();
        assert_eq!(mail.data()[0]["to_address"], "rita@example.org");
        assert_eq!(mail.data().as_array().unwrap().len(), 1);
    }

    async fn changing_a_guardians_email_revokes_the_confirmation(w: &World) {
        let s = setup(w).await;
        let list = json!({ "guardians": [{ "id": s.rita, "email": "sock@example.org" }] });
        s.cora.patch(&s.member_path(), list).await.ok();
        w.confirm_email(&s.rita).await;
        let rita = w.owner.get(&format!("/people/{}", s.rita)).await.ok();
        assert_eq!(rita.data()["adult_confirmed_at"], Value::Null);
        needs_second_adult(s.send_message(&s.cora, &[&s.mia_member]).await);
        w.owner.post(&format!("/people/{}/confirm_adult", s.rita), json!({})).await.ok();
        s.send_message(&s.cora, &[&s.mia_member]).await.created();
        // A changed address is no longer confirmed.
        w.owner.patch(&format!("/people/{}", s.rita), json!({ "email": "new@example.org" })).await.ok();
        needs_second_adult(s.send_message(&s.cora, &[&s.mia_member]).await);
    }

    async fn coach_cannot_change_existing_guardians(w: &World) {
        let s = setup(w).await;
        let (rita, other) = (json!({ "id": s.rita }), json!({ "first_name": "Sock", "email": "sock@example.org" }));
        assert_protected(s.cora.patch(&s.member_path(), json!({ "guardians": [rita, other] })).await, "/guardians/1");
        let replaced = s.cora.patch(&s.member_path(), json!({ "guardians": [other] })).await.assert_problem(403, "forbidden");
        assert_eq!(replaced.pointers(), ["/guardians/0", "/guardians"]);
        let pick_up = json!({ "guardians": [{ "id": s.rita, "can_pick_up": true }] });
        assert_protected(s.cora.patch(&s.member_path(), pick_up.clone()).await, "/guardians/0");
        let opted_out = json!({ "guardians": [{ "id": s.rita, "receives_messages": false }] });
        assert_protected(s.cora.patch(&s.member_path(), opted_out).await, "/guardians/0");
        s.cora.patch(&s.member_path(), json!({ "guardians": [{ "id": s.rita, "relationship": "mother" }] })).await.ok();
        assert_eq!(emails_about(w, &s.mia).await, []);
        w.owner.patch(&s.member_path(), pick_up).await.ok();
        w.owner.patch(&s.member_path(), json!({ "guardians": [rita, other] })).await.ok();
        let emails = emails_about(w, &s.mia).await;
        let addresses: Vec<_> = emails.iter().map(|(to, _)| to.as_str()).collect();
        assert_eq!(addresses, ["rita@example.org", "rita@example.org", "sock@example.org"]);
        // A coach may add the first guardian, who does not count until confirmed.
        let (leo, member) = s.add_member(json!({ "first_name": "Leo", "birth_date": "2014-01-01", "guardians": [{ "first_name": "Otto", "email": "otto@example.org" }] })).await;
        let otto = w.owner.get(&format!("/people/{leo}")).await.ok();
        let otto = text(&otto.data()["guardians"][0]["id"]);
        w.confirm_email(&otto).await;
        needs_second_adult(s.send_message(&s.cora, &[&member]).await);
        w.owner.post(&format!("/people/{otto}/confirm_adult"), json!({})).await.ok();
        s.send_message(&s.cora, &[&member]).await.created();
    }

    async fn guardian_added_by_a_coach_needs_an_admins_confirmation(w: &World) {
        let s = setup(w).await;
        // An admin confirmed Rita as Mia's mother. The coach claims that she is Leo's guardian,
        // too.
        let guardians = json!([{ "id": s.rita }]);
        let (leo, member) = s.add_member(json!({ "first_name": "Leo", "birth_date": "2014-01-01", "guardians": guardians })).await;
        w.confirm_email(&s.rita).await;
        let key = crate::events::team_client(w, &s.team.id.to_string(), "messages:write").await;
        s.send_message(&key, &[&s.mia_member]).await.created();
        needs_second_adult(s.send_message(&key, &[&member]).await);
        let user = w.user(Role::Member, "rita@example.org").await;
        link_user(w, s.rita.parse().unwrap(), user.id).await;
        let owls = team(w, "Owls").await.id.to_string();
        add_to_roster(w, &owls, json!({ "person_id": s.rita, "role": "coach" })).await;
        add_to_roster(w, &owls, json!({ "person_id": leo })).await;
        let rita = client_with_all_scopes(w, user.id).await;
        rita.patch(&format!("/people/{leo}"), json!({ "birth_date": "1990-01-01" })).await.assert_problem(403, "forbidden");
        let is_confirmed = async |person: &str| is_guardian_confirmed(w, person).await;
        assert_eq!((is_confirmed(&s.mia).await, is_confirmed(&leo).await), (Some(true), Some(false)));

        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let page = admin.get("/admin/members/adults").await.shows("New guardian of Leo").shows("Not a guardian");
        assert!(!page.text.contains(&format!("adults/{}/minor", s.rita)), "an admin confirmed her as an adult");
        let done = admin.post(&format!("/admin/members/adults/{}/not_guardian", s.rita), &[]).await;
        done.redirects_to("/admin/members/adults?done=removed");
        assert_eq!((is_confirmed(&s.mia).await, is_confirmed(&leo).await), (Some(true), None));
        admin.get("/admin/members/adults").await.shows("Nobody to confirm");

        let leo_path = format!("{}/{member}", s.roster_path());
        let unconfirmed = json!({ "guardians": [{ "id": s.rita, "confirmed": false }] });
        w.owner.patch(&leo_path, unconfirmed.clone()).await.ok();
        s.cora.patch(&leo_path, unconfirmed).await.ok();
        let claimed = json!({ "guardians": [{ "id": s.rita, "confirmed": true }] });
        assert_protected(s.cora.patch(&leo_path, claimed).await, "/guardians/0/confirmed");
        let done = admin.post(&format!("/admin/members/adults/{}/confirm", s.rita), &[]).await;
        done.redirects_to("/admin/members/adults?done=confirmed");
        assert_eq!((is_confirmed(&leo).await, audited(w, "person.guardian_confirmed").await), (Some(true), 1));
        s.send_message(&key, &[&member]).await.created();
        rita.patch(&format!("/people/{leo}"), json!({ "birth_date": "1990-01-01" })).await.ok();
    }

    async fn confirmed_guardian_decides_for_their_own_child(w: &World) {
        let s = setup(w).await;
        // Rita coaches another team and has a login.
        let owls = team(w, "Owls").await;
        add_to_roster(w, &owls.id.to_string(), json!({ "person_id": s.rita, "role": "coach" })).await;
        add_to_roster(w, &owls.id.to_string(), json!({ "person_id": s.mia })).await;
        let user = w.user(Role::Member, "rita@example.org").await;
        link_user(w, s.rita.parse().unwrap(), user.id).await;
        let rita = client_with_all_scopes(w, user.id).await;
        rita.patch(&format!("/people/{}", s.mia), json!({ "birth_date": "1990-01-01" })).await.ok();
        assert!(is_minor(w, &s.mia).await, "an admin must confirm it");
        rita.post(&format!("/people/{}/confirm_adult", s.mia), json!({})).await.assert_problem(403, "forbidden");
    }

    async fn coach_cannot_approve_a_further_guardian(w: &World) {
        let s = setup(w).await;
        let join_path = team_link(w, &s.team).await;
        let mut second_account = sign_up(w, &join_path, "sock@example.org", &[("as", "guardian")]).await;
        let fields = [("as", "guardian"), ("person", s.mia.as_str())];
        second_account.post(&format!("{join_path}/claim"), &fields).await.redirects_to("/account/claims?done=asked");
        let mut coach = w.browser(s.team.coach.id).await;
        let page = coach.get("/account/claims").await.shows("Only an admin of the club can");
        assert!(!page.text.contains("/approve"));
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let id = claim_in(&admin.get("/admin/members/claims").await);
        assert_eq!(coach.post(&format!("/account/claims/{id}/approve"), &[]).await.status, 403);
        // Her mother signs in, sees the claim, and may decide.
        let user = w.user(Role::Member, "rita@example.org").await;
        link_user(w, s.rita.parse().unwrap(), user.id).await;
        let mut rita = w.browser(user.id).await;
        rita.get("/account/claims").await.shows("sock@example.org");
        let done = rita.post(&format!("/account/claims/{id}/approve"), &[]).await;
        done.redirects_to("/account/claims?done=approved");
        rita.get("/account/claims?done=approved").await.shows("You approved the request");
        let emails = emails_about(w, &s.mia).await;
        assert!(emails.iter().any(|(to, text)| to == "rita@example.org" && text.contains("is now a guardian of Mia")));
        // An unconfirmed guardian does not count and cannot decide.
        let mut other = sign_up(w, &join_path, "other@example.org", &[("as", "guardian")]).await;
        other.post(&format!("{join_path}/claim"), &fields).await.redirects_to("/account/claims?done=asked");
        let id = claim_in(&admin.get("/admin/members/claims").await);
        let tried = second_account.post(&format!("/account/claims/{id}/approve"), &[]).await;
        assert!(matches!(tried.status, 403 | 404), "{}", tried.status);
        admin.get("/admin/members/adults").await.shows("Guardian of Mia");
    }

    async fn coach_cannot_evade_the_rule_with_emails_roles_or_keys(w: &World) {
        let s = setup(w).await;
        // A child's email cannot be removed, because it could then be given to an invented adult.
        assert_protected(s.cora.patch(&s.member_path(), json!({ "email": null })).await, "/email");
        let refused = s.cora.patch(&format!("/people/{}", s.rita), json!({ "email_opt_in": false })).await;
        assert_eq!(refused.assert_problem(403, "forbidden").pointers(), ["/email_opt_in"]);
        // An invented helper who becomes a player of a youth team is a minor.
        let helper = json!({ "first_name": "Sam", "role": "staff", "birth_date": "1990-01-01", "email": "sam@example.org" });
        let (person, member) = s.add_member(helper).await;
        s.cora.patch(&format!("{}/{member}", s.roster_path()), json!({ "role": "player" })).await.ok();
        assert!(is_minor(w, &person).await);
        // A team key can neither make the coach a guardian nor write on behalf of somebody who gets
        // no messages.
        let key = crate::events::team_client(w, &s.team.id.to_string(), "roster:read roster:write messages:write").await;
        let (_, leo) = s.add_member(json!({ "first_name": "Leo", "birth_date": "2014-01-01" })).await;
        let coaches = w.owner.get(&format!("{}?role=coach", s.roster_path())).await.ok();
        let cora = coaches.data()[0].clone();
        let guardian = json!({ "guardians": [{ "id": cora["person_id"] }] });
        key.patch(&format!("{}/{leo}", s.roster_path()), guardian).await.assert_problem(403, "forbidden");
        let without_email = json!({ "first_name": "Olga", "role": "coach" });
        let without_email = add_to_roster(w, &s.team.id.to_string(), without_email).await;
        let audience = json!({ "to": "members", "member_ids": [leo, cora["id"]] });
        let body = json!({ "team_id": s.team.id, "kind": "message", "body": "Hi", "audience": audience, "on_behalf_of": without_email });
        needs_second_adult(key.post("/messages", body).await);
    }

    async fn invented_second_child_does_not_count(w: &World) {
        let s = setup(w).await;
        let (_, member) = s.add_member(json!({ "first_name": "Nobody", "birth_date": "2014-01-01" })).await;
        let body = json!({ "team_id": s.team.id, "kind": "announcement", "subject": "s", "body": "b",
            "audience": { "to": "members", "member_ids": [s.mia_member, member] } });
        needs_second_adult(s.cora.post("/messages", body).await);
    }

    async fn coachs_second_account_is_no_second_adult(w: &World) {
        let s = setup(w).await;
        // Cora approves her own second account as the guardian of a child without one.
        let (leo, _) = s.add_member(json!({ "first_name": "Leo", "birth_date": "2014-01-01" })).await;
        let join_path = team_link(w, &s.team).await;
        let mut second_account = sign_up(w, &join_path, "sock@example.org", &[("as", "guardian")]).await;
        let fields = [("as", "guardian"), ("person", leo.as_str())];
        second_account.post(&format!("{join_path}/claim"), &fields).await.redirects_to("/account/claims?done=asked");
        let mut coach = w.browser(s.team.coach.id).await;
        let id = claim_in(&coach.get("/account/claims").await);
        let done = coach.post(&format!("/account/claims/{id}/approve"), &[]).await;
        done.redirects_to("/account/claims?done=approved");
        let user = crate::joining::find_user(w, "sock@example.org").await.unwrap();
        let second_account = client_with_all_scopes(w, user.id).await;
        let cora = w.owner.get(&format!("{}?role=coach", s.roster_path())).await.ok();
        let cora = text(&cora.data()[0]["id"]);
        needs_second_adult(s.send_message(&second_account, &[&s.mia_member, &cora]).await);
    }

    async fn turning_eighteen_needs_an_admins_confirmation(w: &World) {
        let s = setup(w).await;
        let body = json!({ "first_name": "Tess", "birth_date": "2008-09-20" });
        let tess = add_to_roster(w, &s.team.id.to_string(), body).await.to_string();
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        admin.get("/admin/members/adults").await.shows("Nobody to confirm");
        // The session has expired by then.
        w.advance_clock(seconds(30 * 86_400));
        assert!(is_minor(w, &tess).await);
        let admin = w.user(Role::Admin, "admin2@example.org").await;
        let mut admin = w.browser(admin.id).await;
        admin.get("/admin/members/adults").await.shows("Tess").shows("Was a minor");
        let done = admin.post(&format!("/admin/members/adults/{tess}/confirm"), &[]).await;
        done.redirects_to("/admin/members/adults?done=confirmed");
        assert!(!is_minor(w, &tess).await);
        // Any coach of the team may mark the person as a minor again.
        let cora = client_with_all_scopes(w, s.team.coach.id).await;
        cora.post(&format!("/people/{tess}/mark_minor"), json!({})).await.ok();
        assert!(is_minor(w, &tess).await);
    }

    async fn guardians_are_notified_of_a_login_of_their_child(w: &World) {
        let s = setup(w).await;
        let user = w.user(Role::Member, "mia@example.org").await;
        link_user(w, s.mia.parse().unwrap(), user.id).await;
        let emails = emails_about(w, &s.mia).await;
        assert_eq!(emails.len(), 1);
        assert!(emails[0].1.contains("can now sign in as Mia"), "{}", emails[0].1);
        // Emails about her are erased with her.
        w.owner.post(&format!("/people/{}/erase", s.mia), json!({})).await.ok();
        let stored = w.db().read(Scope::account(w.harbour, "test"), {
            let mia = s.mia.clone();
            move |db| Ok::<_, touchline::error::Error>(db.all::<(String,)>(
                "select body_text from mail where account_id = :account and about = :mia", bind! { mia })?)
        });
        assert_eq!(stored.await.unwrap(), [("(erased)".to_owned(),)]);
    }
}

both! {
    async fn email_is_confirmed_by_the_link_sent_to_it(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let s = setup(w).await;
        let node = node_with_mail(w, &server.url()).await;
        let path = format!("/people/{}/request_email_confirmation", s.rita);
        // Without a mail server the error names the setting.
        let refused = s.cora.post(&path, json!({})).await.assert_problem(409, "invalid_state");
        assert!(refused.text.contains("TOUCHLINE_SMTP_URL"), "{}", refused.text);
        let mut cora = s.cora.clone();
        cora.address = node.address;
        cora.post(&path, json!({})).await.ok();
        let sent = server.emails(1).remove(0);
        assert_eq!(sent["to"], json!(["rita@example.org"]));
        let body = sent["text"].as_str().unwrap();
        let link = body.lines().find(|line| line.contains("/confirm-address/")).unwrap().trim();
        let link = link.strip_prefix("https://club.example.org").unwrap();
        // Opening the link changes nothing, because mail clients open links in advance.
        let mut rita = Browser::new(node.address);
        rita.get(link).await.shows("Is this your email address?").shows("rita@example.org");
        let fetched = w.owner.get(&format!("/people/{}", s.rita)).await.ok();
        assert_eq!(fetched.data()["email_confirmed_at"], Value::Null);
        let forged = format!("{}{}", &link[..link.len() - 1], if link.ends_with('A') { "Q" } else { "A" });
        assert_eq!(rita.get(&forged).await.status, 404);
        assert_eq!(rita.get("/confirm-address/x").await.status, 404);
        rita.post(link, &[]).await.shows("Email address confirmed");
        let fetched = w.owner.get(&format!("/people/{}", s.rita)).await.ok();
        assert_ne!(fetched.data()["email_confirmed_at"], Value::Null);
        cora.post(&path, json!({})).await.assert_problem(409, "invalid_state");
        // After a change of address the link is invalid.
        w.owner.patch(&format!("/people/{}", s.rita), json!({ "email": "new@example.org" })).await.ok();
        assert_eq!(rita.get(link).await.status, 404);
        assert_eq!(rita.post(link, &[]).await.status, 404);
        // The number of emails is limited.
        for _ in 0..2 {
            cora.post(&path, json!({})).await.ok();
        }
        cora.post(&path, json!({})).await.assert_problem(429, "rate_limited");
        node.stop().await;
    }
}
