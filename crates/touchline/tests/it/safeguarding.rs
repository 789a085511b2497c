//! Attacks on the rule that no adult writes to a child alone, from the side of a coach or parent who tries.
//! `docs/safeguarding.md` has the threat model.

use store::{Scope, bind};
use testkit::{Answer, Browser, Client, MailServer, Value, World, both, json, seconds};
use touchline::accounts::user::Role;

use crate::joining::{claim_in, link, on_roster, sign_up, team, team_link};
use crate::mail::node_with_mail;
use crate::standing::acting;

/// A youth team with its coach Cora, and the child Mia with her mother Rita, whom an admin added.
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
    let rita = json!([{ "first_name": "Rita", "email": "rita@example.org", "may_pick_up": false }]);
    let body = json!({ "first_name": "Mia", "birth_date": "2014-05-05", "email": "mia@example.org", "guardians": rita });
    let made = w.owner.post(&format!("/teams/{}/roster", team.id), body).await.created();
    let mia = text(&made.data()["person_id"]);
    let rita = text(&made.data()["guardians"][0]["id"]);
    let cora = acting(w, team.coach.id).await;
    Setup { cora, mia, mia_member: made.id().to_owned(), rita, team }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

impl Setup {
    pub(crate) fn member(&self) -> String {
        format!("/teams/{}/roster/{}", self.team.id, self.mia_member)
    }

    pub(crate) fn roster(&self) -> String {
        format!("/teams/{}/roster", self.team.id)
    }

    /// The coach writes to these members.
    pub(crate) async fn write(&self, client: &Client, members: &[&str]) -> Answer {
        let audience = json!({ "to": "members", "member_ids": members });
        let body = json!({ "team_id": self.team.id, "kind": "message", "body": "Hi", "audience": audience });
        client.post("/messages", body).await
    }

    /// The coach adds somebody; returns the person and the member.
    pub(crate) async fn add(&self, body: Value) -> (String, String) {
        let made = self.cora.post(&self.roster(), body).await.created();
        (text(&made.data()["person_id"]), made.id().to_owned())
    }
}

pub(crate) async fn is_minor(w: &World, person: &str) -> bool {
    w.owner.get(&format!("/people/{person}")).await.ok().data()["is_minor"].as_bool().unwrap()
}

/// Whether the first guardian of somebody is confirmed, if they have one.
async fn is_guardian_confirmed(w: &World, person: &str) -> Option<bool> {
    w.owner.get(&format!("/people/{person}")).await.ok().data()["guardians"][0]["confirmed"]
        .as_bool()
}

/// How many entries of this kind the audit log has.
async fn audited(w: &World, action: &'static str) -> usize {
    let look = w.db().read(Scope::account(w.harbour, "test"), move |db| {
        Ok::<_, touchline::error::Error>(db.all::<(i64,)>(
            "select position from audit_entry where account_id = :account and action = :action",
            bind! { action },
        )?)
    });
    look.await.unwrap().len()
}

#[track_caller]
pub(crate) fn needs_second_adult(answer: Answer) {
    let refused = answer.refused(409, "conflict");
    assert_eq!(refused.body["errors"][0]["code"], "second_adult_required");
}

#[track_caller]
fn protected(answer: Answer, pointer: &str) {
    let refused = answer.refused(403, "forbidden");
    assert_eq!(refused.body["errors"][0]["code"], "protected_minor", "{}", refused.text);
    assert_eq!(refused.pointers(), [pointer]);
}

/// Who got an email about this person, and what it says.
pub(crate) async fn notices(w: &World, person: &str) -> Vec<(String, String)> {
    let sent = w.owner.get(&format!("/outbox?about={person}&order=asc")).await.ok();
    let rows = sent.data().as_array().unwrap().iter();
    rows.map(|row| (text(&row["to_address"]), text(&row["text_body"]))).collect()
}

both! {
    async fn a_coach_cannot_turn_a_child_into_an_adult(w: &World) {
        let s = setup(w).await;
        needs_second_adult(s.write(&s.cora, &[&s.mia_member]).await);
        protected(s.cora.patch(&s.member(), json!({ "birth_date": "1990-01-01" })).await, "/birth_date");
        protected(s.cora.patch(&format!("/people/{}", s.mia), json!({ "birth_date": "1990-01-01" })).await, "/birth_date");
        s.cora.post(&format!("/people/{}/confirm_adult", s.mia), json!({})).await.refused(403, "forbidden");
        // A correction that leaves her a minor is fine, and so is taking the date away.
        s.cora.patch(&s.member(), json!({ "birth_date": "2013-05-05" })).await.ok();
        s.cora.patch(&s.member(), json!({ "birth_date": null })).await.ok();
        protected(s.cora.patch(&s.member(), json!({ "birth_date": "1990-01-01" })).await, "/birth_date");
        assert!(is_minor(w, &s.mia).await);
        needs_second_adult(s.write(&s.cora, &[&s.mia_member]).await);
    }

    async fn even_an_admins_birth_date_ends_nothing_until_it_is_confirmed(w: &World) {
        let s = setup(w).await;
        w.owner.patch(&s.member(), json!({ "birth_date": "1990-01-01" })).await.ok();
        assert!(is_minor(w, &s.mia).await);
        let told = notices(w, &s.mia).await;
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].0, "rita@example.org");
        assert!(told[0].1.contains("birth date of Mia"), "{}", told[0].1);
        needs_second_adult(s.write(&s.cora, &[&s.mia_member]).await);
        let confirmed = w.owner.post(&format!("/people/{}/confirm_adult", s.mia), json!({})).await.ok();
        assert_eq!(confirmed.data()["is_minor"], false);
        assert!(notices(w, &s.mia).await[1].1.contains("is an adult"));
        s.write(&s.cora, &[&s.mia_member]).await.created();
        assert_eq!(audited(w, "person.protection_changed").await, 2);
        // Nobody is confirmed against their birth date.
        w.owner.patch(&s.member(), json!({ "birth_date": "2014-05-05" })).await.ok();
        assert!(is_minor(w, &s.mia).await);
        w.owner.post(&format!("/people/{}/confirm_adult", s.mia), json!({})).await.refused(409, "invalid_state");
    }

    async fn taking_everything_away_that_says_child_makes_no_adult(w: &World) {
        let s = setup(w).await;
        protected(s.cora.patch(&s.member(), json!({ "guardians": [], "birth_date": null })).await, "/guardians");
        let team = format!("/teams/{}", s.team.id);
        let refused = s.cora.patch(&team, json!({ "age_group": "Adult open" })).await.refused(403, "forbidden");
        assert_eq!(refused.pointers(), ["/age_group"]);
        s.cora.patch(&team, json!({ "age_group": "U13" })).await.ok();
        // An admin may, but she stays a minor, and her mother hears about it.
        w.owner.patch(&s.member(), json!({ "guardians": [], "birth_date": null })).await.ok();
        w.owner.patch(&team, json!({ "age_group": "Adult open" })).await.ok();
        assert!(is_minor(w, &s.mia).await);
        needs_second_adult(s.write(&s.cora, &[&s.mia_member]).await);
        let told = notices(w, &s.mia).await;
        assert_eq!(told.len(), 1, "she has no guardian any more who could hear about the team");
        assert!(told[0].1.contains("Rita is no longer a guardian of Mia"), "{}", told[0].1);
    }

    async fn a_child_who_is_added_once_more_is_still_a_child(w: &World) {
        let s = setup(w).await;
        let player = json!({ "first_name": "Mimi", "birth_date": "1990-01-01", "allow_duplicate": true });
        let staff = json!({ "first_name": "Em", "role": "staff", "birth_date": "1990-01-01", "email": "mia@example.org", "allow_duplicate": true });
        for body in [player, staff] {
            let (person, member) = s.add(body).await;
            assert!(is_minor(w, &person).await);
            needs_second_adult(s.write(&s.cora, &[&member]).await);
        }
        // Whoever an admin adds with an adult's birth date is an adult.
        let adult = json!({ "first_name": "Lea", "birth_date": "1990-01-01" });
        assert!(!is_minor(w, &on_roster(w, &s.team.id.to_string(), adult).await.to_string()).await);
    }

    async fn an_invented_second_adult_does_not_count(w: &World) {
        let s = setup(w).await;
        let (fake, member) = s.add(json!({ "first_name": "Fay", "role": "staff", "birth_date": "1980-01-01" })).await;
        needs_second_adult(s.write(&s.cora, &[&s.mia_member, &member]).await);
        let address = json!({ "email": "sock@example.org" });
        s.cora.patch(&format!("/people/{fake}"), address).await.ok();
        needs_second_adult(s.write(&s.cora, &[&s.mia_member, &member]).await);
        w.confirm_email(&fake).await;
        needs_second_adult(s.write(&s.cora, &[&s.mia_member, &member]).await);
        w.owner.post(&format!("/people/{fake}/confirm_adult"), json!({})).await.ok();
        s.write(&s.cora, &[&s.mia_member, &member]).await.created();
        // Somebody whom an admin confirmed but who reads nothing does not count either.
        w.owner.patch(&format!("/people/{fake}"), json!({ "wants_email": false })).await.ok();
        needs_second_adult(s.write(&s.cora, &[&s.mia_member, &member]).await);
    }

    async fn a_guardian_who_cannot_read_does_not_count(w: &World) {
        let s = setup(w).await;
        needs_second_adult(s.write(&s.cora, &[&s.mia_member]).await);
        w.confirm_email(&s.rita).await;
        let sent = s.write(&s.cora, &[&s.mia_member]).await.created();
        // She does not sign in, so the conversation reaches her by email.
        let mail = w.owner.get(&format!("/outbox?about={}", sent.id())).await.ok();
        assert_eq!(mail.data()[0]["to_address"], "rita@example.org");
        assert_eq!(mail.data().as_array().unwrap().len(), 1);
    }

    async fn a_new_address_on_a_guardians_record_takes_the_confirmation_away(w: &World) {
        let s = setup(w).await;
        let list = json!({ "guardians": [{ "id": s.rita, "email": "sock@example.org" }] });
        s.cora.patch(&s.member(), list).await.ok();
        w.confirm_email(&s.rita).await;
        let rita = w.owner.get(&format!("/people/{}", s.rita)).await.ok();
        assert_eq!(rita.data()["adult_confirmed_at"], Value::Null);
        needs_second_adult(s.write(&s.cora, &[&s.mia_member]).await);
        w.owner.post(&format!("/people/{}/confirm_adult", s.rita), json!({})).await.ok();
        s.write(&s.cora, &[&s.mia_member]).await.created();
        // An address that has changed is not confirmed any more.
        w.owner.patch(&format!("/people/{}", s.rita), json!({ "email": "new@example.org" })).await.ok();
        needs_second_adult(s.write(&s.cora, &[&s.mia_member]).await);
    }

    async fn a_coach_changes_nothing_about_the_guardians_of_a_guarded_child(w: &World) {
        let s = setup(w).await;
        let (rita, sock) = (json!({ "id": s.rita }), json!({ "first_name": "Sock", "email": "sock@example.org" }));
        protected(s.cora.patch(&s.member(), json!({ "guardians": [rita, sock] })).await, "/guardians/1");
        let replaced = s.cora.patch(&s.member(), json!({ "guardians": [sock] })).await.refused(403, "forbidden");
        assert_eq!(replaced.pointers(), ["/guardians/0", "/guardians"]);
        let pick_up = json!({ "guardians": [{ "id": s.rita, "may_pick_up": true }] });
        protected(s.cora.patch(&s.member(), pick_up.clone()).await, "/guardians/0");
        let silent = json!({ "guardians": [{ "id": s.rita, "receives_messages": false }] });
        protected(s.cora.patch(&s.member(), silent).await, "/guardians/0");
        s.cora.patch(&s.member(), json!({ "guardians": [{ "id": s.rita, "relationship": "mother" }] })).await.ok();
        assert_eq!(notices(w, &s.mia).await, []);
        w.owner.patch(&s.member(), pick_up).await.ok();
        w.owner.patch(&s.member(), json!({ "guardians": [rita, sock] })).await.ok();
        let told = notices(w, &s.mia).await;
        let readers: Vec<_> = told.iter().map(|(to, _)| to.as_str()).collect();
        assert_eq!(readers, ["rita@example.org", "rita@example.org", "sock@example.org"]);
        // A first guardian may be added by a coach, but does not count yet.
        let (leo, member) = s.add(json!({ "first_name": "Leo", "birth_date": "2014-01-01", "guardians": [{ "first_name": "Otto", "email": "otto@example.org" }] })).await;
        let otto = w.owner.get(&format!("/people/{leo}")).await.ok();
        let otto = text(&otto.data()["guardians"][0]["id"]);
        w.confirm_email(&otto).await;
        needs_second_adult(s.write(&s.cora, &[&member]).await);
        w.owner.post(&format!("/people/{otto}/confirm_adult"), json!({})).await.ok();
        s.write(&s.cora, &[&member]).await.created();
    }

    async fn a_parent_whom_a_coach_names_is_no_guardian_until_an_admin_confirms_it(w: &World) {
        let s = setup(w).await;
        // An admin knows Rita as Mia's mother. The coach says that she is Leo's guardian, too.
        let guardians = json!([{ "id": s.rita }]);
        let (leo, member) = s.add(json!({ "first_name": "Leo", "birth_date": "2014-01-01", "guardians": guardians })).await;
        w.confirm_email(&s.rita).await;
        let key = crate::events::narrowed(w, &s.team.id.to_string(), "messages:write").await;
        s.write(&key, &[&s.mia_member]).await.created();
        needs_second_adult(s.write(&key, &[&member]).await);
        let user = w.user(Role::Member, "rita@example.org").await;
        link(w, s.rita.parse().unwrap(), user.id).await;
        let owls = team(w, "Owls").await.id.to_string();
        on_roster(w, &owls, json!({ "person_id": s.rita, "role": "coach" })).await;
        on_roster(w, &owls, json!({ "person_id": leo })).await;
        let rita = acting(w, user.id).await;
        rita.patch(&format!("/people/{leo}"), json!({ "birth_date": "1990-01-01" })).await.refused(403, "forbidden");
        let shown = async |person: &str| is_guardian_confirmed(w, person).await;
        assert_eq!((shown(&s.mia).await, shown(&leo).await), (Some(true), Some(false)));

        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let page = admin.get("/admin/members/adults").await.shows("New guardian of Leo").shows("Not a guardian");
        assert!(!page.text.contains(&format!("adults/{}/minor", s.rita)), "an admin knows her as an adult");
        let done = admin.post(&format!("/admin/members/adults/{}/not_guardian", s.rita), &[]).await;
        done.leads_to("/admin/members/adults?done=removed");
        assert_eq!((shown(&s.mia).await, shown(&leo).await), (Some(true), None));
        admin.get("/admin/members/adults").await.shows("Nobody to confirm");

        let at_leo = format!("{}/{member}", s.roster());
        let unsure = json!({ "guardians": [{ "id": s.rita, "confirmed": false }] });
        w.owner.patch(&at_leo, unsure.clone()).await.ok();
        s.cora.patch(&at_leo, unsure).await.ok();
        let claimed = json!({ "guardians": [{ "id": s.rita, "confirmed": true }] });
        protected(s.cora.patch(&at_leo, claimed).await, "/guardians/0/confirmed");
        let done = admin.post(&format!("/admin/members/adults/{}/confirm", s.rita), &[]).await;
        done.leads_to("/admin/members/adults?done=confirmed");
        assert_eq!((shown(&leo).await, audited(w, "person.guardian_confirmed").await), (Some(true), 1));
        s.write(&key, &[&member]).await.created();
        rita.patch(&format!("/people/{leo}"), json!({ "birth_date": "1990-01-01" })).await.ok();
    }

    async fn a_confirmed_guardian_decides_for_their_own_child(w: &World) {
        let s = setup(w).await;
        // Rita coaches another team and signs in.
        let owls = team(w, "Owls").await;
        on_roster(w, &owls.id.to_string(), json!({ "person_id": s.rita, "role": "coach" })).await;
        on_roster(w, &owls.id.to_string(), json!({ "person_id": s.mia })).await;
        let user = w.user(Role::Member, "rita@example.org").await;
        link(w, s.rita.parse().unwrap(), user.id).await;
        let rita = acting(w, user.id).await;
        rita.patch(&format!("/people/{}", s.mia), json!({ "birth_date": "1990-01-01" })).await.ok();
        assert!(is_minor(w, &s.mia).await, "an admin confirms it");
        rita.post(&format!("/people/{}/confirm_adult", s.mia), json!({})).await.refused(403, "forbidden");
    }

    async fn a_coach_cannot_approve_a_further_guardian(w: &World) {
        let s = setup(w).await;
        let way = team_link(w, &s.team).await;
        let mut sock = sign_up(w, &way, "sock@example.org", &[("as", "guardian")]).await;
        let fields = [("as", "guardian"), ("person", s.mia.as_str())];
        sock.post(&format!("{way}/claim"), &fields).await.leads_to("/account/claims?done=asked");
        let mut coach = w.browser(s.team.coach.id).await;
        let page = coach.get("/account/claims").await.shows("An admin of the club decides this");
        assert!(!page.text.contains("/approve"));
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        let id = claim_in(&admin.get("/admin/members/claims").await);
        assert_eq!(coach.post(&format!("/account/claims/{id}/approve"), &[]).await.status, 403);
        // Her mother signs in, sees it, and may decide.
        let user = w.user(Role::Member, "rita@example.org").await;
        link(w, s.rita.parse().unwrap(), user.id).await;
        let mut rita = w.browser(user.id).await;
        rita.get("/account/claims").await.shows("sock@example.org");
        let done = rita.post(&format!("/account/claims/{id}/approve"), &[]).await;
        done.leads_to("/account/claims?done=approved");
        rita.get("/account/claims?done=approved").await.shows("You approved the request");
        let told = notices(w, &s.mia).await;
        assert!(told.iter().any(|(to, text)| to == "rita@example.org" && text.contains("is now a guardian of Mia")));
        // A guardian whom no admin knows does not count, and decides nothing.
        let mut other = sign_up(w, &way, "other@example.org", &[("as", "guardian")]).await;
        other.post(&format!("{way}/claim"), &fields).await.leads_to("/account/claims?done=asked");
        let id = claim_in(&admin.get("/admin/members/claims").await);
        let tried = sock.post(&format!("/account/claims/{id}/approve"), &[]).await;
        assert!(matches!(tried.status, 403 | 404), "{}", tried.status);
        admin.get("/admin/members/adults").await.shows("Guardian of Mia");
    }

    async fn a_coach_finds_no_way_around(w: &World) {
        let s = setup(w).await;
        // The address of a child is hers: freed, it could be given to an invented adult.
        protected(s.cora.patch(&s.member(), json!({ "email": null })).await, "/email");
        let silenced = s.cora.patch(&format!("/people/{}", s.rita), json!({ "wants_email": false })).await;
        assert_eq!(silenced.refused(403, "forbidden").pointers(), ["/wants_email"]);
        // An invented helper who becomes a player of a youth team is a minor.
        let helper = json!({ "first_name": "Sam", "role": "staff", "birth_date": "1990-01-01", "email": "sam@example.org" });
        let (person, member) = s.add(helper).await;
        s.cora.patch(&format!("{}/{member}", s.roster()), json!({ "role": "player" })).await.ok();
        assert!(is_minor(w, &person).await);
        // A key of the team neither makes the coach a guardian nor writes in the name of somebody who reads nothing.
        let key = crate::events::narrowed(w, &s.team.id.to_string(), "roster:read roster:write messages:write").await;
        let (_, leo) = s.add(json!({ "first_name": "Leo", "birth_date": "2014-01-01" })).await;
        let coaches = w.owner.get(&format!("{}?role=coach", s.roster())).await.ok();
        let cora = coaches.data()[0].clone();
        let guardian = json!({ "guardians": [{ "id": cora["person_id"] }] });
        key.patch(&format!("{}/{leo}", s.roster()), guardian).await.refused(403, "forbidden");
        let silent = json!({ "first_name": "Olga", "role": "coach" });
        let silent = on_roster(w, &s.team.id.to_string(), silent).await;
        let audience = json!({ "to": "members", "member_ids": [leo, cora["id"]] });
        let body = json!({ "team_id": s.team.id, "kind": "message", "body": "Hi", "audience": audience, "on_behalf_of": silent });
        needs_second_adult(key.post("/messages", body).await);
    }

    async fn an_invented_second_child_makes_no_announcement_of_it(w: &World) {
        let s = setup(w).await;
        let (_, member) = s.add(json!({ "first_name": "Nobody", "birth_date": "2014-01-01" })).await;
        let body = json!({ "team_id": s.team.id, "kind": "announcement", "subject": "s", "body": "b",
            "audience": { "to": "members", "member_ids": [s.mia_member, member] } });
        needs_second_adult(s.cora.post("/messages", body).await);
    }

    async fn a_second_account_of_the_coach_is_no_second_adult(w: &World) {
        let s = setup(w).await;
        // Cora lets her own second account in, as the guardian of a child who has none.
        let (leo, _) = s.add(json!({ "first_name": "Leo", "birth_date": "2014-01-01" })).await;
        let way = team_link(w, &s.team).await;
        let mut sock = sign_up(w, &way, "sock@example.org", &[("as", "guardian")]).await;
        let fields = [("as", "guardian"), ("person", leo.as_str())];
        sock.post(&format!("{way}/claim"), &fields).await.leads_to("/account/claims?done=asked");
        let mut coach = w.browser(s.team.coach.id).await;
        let id = claim_in(&coach.get("/account/claims").await);
        let done = coach.post(&format!("/account/claims/{id}/approve"), &[]).await;
        done.leads_to("/account/claims?done=approved");
        let user = crate::joining::find_user(w, "sock@example.org").await.unwrap();
        let sock = acting(w, user.id).await;
        let cora = w.owner.get(&format!("{}?role=coach", s.roster())).await.ok();
        let cora = text(&cora.data()[0]["id"]);
        needs_second_adult(s.write(&sock, &[&s.mia_member, &cora]).await);
    }

    async fn who_turns_eighteen_stays_a_minor_until_an_admin_confirms(w: &World) {
        let s = setup(w).await;
        let body = json!({ "first_name": "Tess", "birth_date": "2008-09-20" });
        let tess = on_roster(w, &s.team.id.to_string(), body).await.to_string();
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut admin = w.browser(admin.id).await;
        admin.get("/admin/members/adults").await.shows("Nobody to confirm");
        // Sessions do not last that long, but people do.
        w.pass(seconds(30 * 86_400));
        assert!(is_minor(w, &tess).await);
        let admin = w.user(Role::Admin, "admin2@example.org").await;
        let mut admin = w.browser(admin.id).await;
        admin.get("/admin/members/adults").await.shows("Tess").shows("Was a minor");
        let done = admin.post(&format!("/admin/members/adults/{tess}/confirm"), &[]).await;
        done.leads_to("/admin/members/adults?done=confirmed");
        assert!(!is_minor(w, &tess).await);
        // Anybody who leads the team may raise the protection again.
        let cora = acting(w, s.team.coach.id).await;
        cora.post(&format!("/people/{tess}/mark_minor"), json!({})).await.ok();
        assert!(is_minor(w, &tess).await);
    }

    async fn guardians_hear_when_somebody_signs_in_as_their_child(w: &World) {
        let s = setup(w).await;
        let user = w.user(Role::Member, "mia@example.org").await;
        link(w, s.mia.parse().unwrap(), user.id).await;
        let told = notices(w, &s.mia).await;
        assert_eq!(told.len(), 1);
        assert!(told[0].1.contains("can now sign in as Mia"), "{}", told[0].1);
        // What was written about her goes with her.
        w.owner.post(&format!("/people/{}/erase", s.mia), json!({})).await.ok();
        let kept = w.db().read(Scope::account(w.harbour, "test"), {
            let mia = s.mia.clone();
            move |db| Ok::<_, touchline::error::Error>(db.all::<(String,)>(
                "select text_body from mail where account_id = :account and about = :mia", bind! { mia })?)
        });
        assert_eq!(kept.await.unwrap(), [("(erased)".to_owned(),)]);
    }
}

both! {
    async fn an_address_is_confirmed_by_the_link_that_was_sent_there(w: &World) {
        let Some(server) = MailServer::start(&["accept"]) else { return };
        let s = setup(w).await;
        let node = node_with_mail(w, &server.url()).await;
        let path = format!("/people/{}/request_email_confirmation", s.rita);
        // Without a mail server the answer names the setting.
        let refused = s.cora.post(&path, json!({})).await.refused(409, "invalid_state");
        assert!(refused.text.contains("TOUCHLINE_SMTP_URL"), "{}", refused.text);
        let mut cora = s.cora.clone();
        cora.address = node.address;
        cora.post(&path, json!({})).await.ok();
        let sent = server.letters(1).remove(0);
        assert_eq!(sent["to"], json!(["rita@example.org"]));
        let body = sent["text"].as_str().unwrap();
        let link = body.lines().find(|line| line.contains("/confirm-address/")).unwrap().trim();
        let link = link.strip_prefix("https://club.example.org").unwrap();
        // Opening it changes nothing; a mail program opens every link.
        let mut rita = Browser::new(node.address);
        rita.get(link).await.shows("Is this your address?").shows("rita@example.org");
        let shown = w.owner.get(&format!("/people/{}", s.rita)).await.ok();
        assert_eq!(shown.data()["email_confirmed_at"], Value::Null);
        let altered = format!("{}{}", &link[..link.len() - 1], if link.ends_with('A') { "Q" } else { "A" });
        assert_eq!(rita.get(&altered).await.status, 404);
        assert_eq!(rita.get("/confirm-address/x").await.status, 404);
        rita.post(link, &[]).await.shows("Address confirmed");
        let shown = w.owner.get(&format!("/people/{}", s.rita)).await.ok();
        assert_ne!(shown.data()["email_confirmed_at"], Value::Null);
        cora.post(&path, json!({})).await.refused(409, "invalid_state");
        // With another address the link is worth nothing.
        w.owner.patch(&format!("/people/{}", s.rita), json!({ "email": "new@example.org" })).await.ok();
        assert_eq!(rita.get(link).await.status, 404);
        assert_eq!(rita.post(link, &[]).await.status, 404);
        // Nobody is written to without end.
        for _ in 0..2 {
            cora.post(&path, json!({})).await.ok();
        }
        cora.post(&path, json!({})).await.refused(429, "rate_limited");
        node.stop().await;
    }
}
