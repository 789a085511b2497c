//! Tests of the pages about all people of the club.

use testkit::{Browser, TestResponse, World, both, json};
use touchline::accounts::user::Role;

use crate::roster::{audit_entries, create_team};
use crate::signin::RefusedPage;

async fn admin(w: &World) -> Browser {
    let admin = w.user(Role::Admin, "admin@harbour.example").await;
    w.browser(admin.id).await
}

/// The value of a hidden field.
fn hidden(page: &TestResponse, name: &str) -> String {
    let after = page.text.split(&format!("name=\"{name}\" value=\"")).nth(1);
    after
        .unwrap_or_else(|| panic!("no field {name}: {}", page.text))
        .split('"')
        .next()
        .unwrap()
        .to_owned()
}

#[track_caller]
fn hides(page: TestResponse, text: &str) -> TestResponse {
    assert!(!page.text.contains(text), "{text} is on the page");
    page
}

both! {
    async fn admins_find_people_in_the_directory(w: &World) {
        let mut browser = admin(w).await;
        browser.get("/people").await.ok().shows("Nobody here yet");
        let (hawks, owls) = (create_team(w, "Hawks").await, create_team(w, "Owls").await);
        let mia = json!({ "first_name": "Mia", "last_name": "<b>", "birth_date": "2014-05-05",
            "guardians": [{ "first_name": "Rita", "email": "rita@example.org", "phone": "+351 912 345 678" }] });
        w.add_member(hawks.id(), mia).await;
        w.add_member(owls.id(), json!({ "first_name": "Cora", "role": "coach" })).await;
        let all = browser.get("/people").await.ok().shows("Player of Hawks").shows("Guardian of Mia").shows("Mia &#60;b&#62;");
        // By name.
        assert!(all.text.find("Coach of Owls") < all.text.find("Player of Hawks"));
        for (query, shown, hidden) in [
            ("q=RITA", "Guardian of Mia", "Coach of Owls"),
            ("q=rita%40example", "Guardian of Mia", "Coach of Owls"),
            ("q=912+345", "Guardian of Mia", "Coach of Owls"),
            ("role=coach", "Coach of Owls", "Guardian of Mia"),
            ("role=guardian", "Guardian of Mia", "Player of Hawks"),
            ("team=none", "Guardian of Mia", "Coach of Owls"),
            ("age=minor", "Player of Hawks", "Coach of Owls"),
        ] {
            hides(browser.get(&format!("/people?{query}")).await.ok().shows(shown), hidden);
        }
        let of_team = browser.get(&format!("/people?team={}", hawks.id())).await.ok();
        hides(of_team.shows("Player of Hawks").shows("Guardian of Mia"), "Coach of Owls");
        browser.get("/people?q=nobody&role=nonsense").await.ok().shows("Nobody matches this search.");
        let mut seen = 0;
        let mut next = "/people?limit=1".to_owned();
        while !next.is_empty() {
            let page = browser.get(&next).await.ok();
            seen += page.text.matches("class=\"row\" href=\"/people/per_").count();
            let link = page.text.split("class=\"more\"").nth(1);
            next = link.map_or(String::new(), |rest| rest.split("href=\"").nth(1).unwrap().split('"').next().unwrap().replace("&amp;", "&").replace("&#38;", "&"));
        }
        assert_eq!(seen, 3);
        let parent = w.user(Role::Member, "parent@harbour.example").await;
        assert_eq!(w.browser(parent.id).await.get("/people").await.status, 403);
    }

    async fn a_person_is_shown_edited_exported_and_erased(w: &World) {
        let mut browser = admin(w).await;
        let hawks = create_team(w, "Hawks").await;
        let child = json!({ "first_name": "Mia", "birth_date": "2014-05-05", "phone": "912 345 678", "medical_note": "Bees",
            "guardians": [{ "first_name": "Rita", "relationship": "mother" }] });
        let mia = w.add_member(hawks.id(), child).await;
        crate::dues::charge_member(w, hawks.id(), &mia.member, json!({ "payer": mia.person })).await;
        let path = format!("/people/{}", mia.person);
        let page = browser.get(&path).await.ok().shows("Hawks").shows("mother").shows("tel:912345678").shows("100.00 open").shows("Minor");
        hides(page, "Bees");
        // The note is shown on request, and that is recorded.
        browser.post(&format!("{path}/medical"), &[]).await.ok().shows("Bees");
        assert!(audit_entries(w).await.iter().any(|entry| entry.action == "roster.medical_read"));

        let form = browser.get(&format!("{path}/edit")).await.ok();
        let shown = hidden(&form, "shown");
        let edit = |name: &'static str| vec![("first_name", name), ("phone", "912 345 678"), ("birth_date", "2014-05-05"),
            ("email", "mia@example.org"), ("email_opt_in", "true")];
        let with_shown = |fields: Vec<(&'static str, &'static str)>| -> Vec<(String, String)> {
            let all = fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
            all.chain([("shown".to_owned(), shown.clone())]).collect()
        };
        let send = |fields: Vec<(String, String)>| (format!("{path}/edit"), fields);
        for (name, result) in [("", 422), ("Mila", 303), ("Late", 422)] {
            let (to, fields) = send(with_shown(edit(name)));
            let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let answer = browser.post(&to, &fields).await;
            assert_eq!(answer.status, result, "{name}: {}", answer.text);
            if name == "Late" {
                answer.shows("Somebody else changed this").shows("value=\"Late\"");
            }
        }
        browser.get(&format!("{path}?done=saved")).await.ok().shows("Changes saved.").shows("mia@example.org");

        browser.get(&format!("{path}/export")).await.ok().shows("Download");
        let file = browser.post(&format!("{path}/export"), &[]).await.ok();
        assert!(file.header("content-disposition").unwrap().starts_with("attachment"));
        assert!(file.text.contains("Bees"));
        browser.get(&format!("{path}/erase")).await.ok().shows("Player of Hawks").shows("Rita").shows("100.00");
        browser.post(&format!("{path}/erase"), &[]).await.redirects_to(&format!("{path}?done=erased"));
        hides(browser.get(&path).await.ok().shows("This person was erased"), "mia@example.org");
    }

    async fn contact_data_is_linked_only_if_the_link_works(w: &World) {
        let mut browser = admin(w).await;
        let hawks = create_team(w, "Hawks").await;
        let rui = json!({ "first_name": "Rui", "birth_date": "1990-05-05", "phone": "ask Rita", "email": "rui&rita%1@example.org" });
        let rui = w.add_member(hawks.id(), rui).await;
        let page = browser.get(&format!("/people/{}", rui.person)).await.ok().shows("<bdi>ask Rita</bdi>").shows("href=\"mailto:rui%26rita%251@example.org\"");
        hides(page, "tel:");
    }

    async fn duplicates_are_compared_and_merged(w: &World) {
        let mut browser = admin(w).await;
        let hawks = create_team(w, "Hawks").await;
        browser.get("/people/duplicates").await.ok().shows("No duplicates found");
        let ana = |date: &str| json!({ "first_name": "Ana", "last_name": "Reis", "birth_date": date, "allow_duplicate": true });
        let older = w.add_member(hawks.id(), ana("2014-05-05")).await;
        // People with other birth dates are not duplicates, but can be merged.
        let newer = w.add_member(hawks.id(), ana("2014-05-06")).await;
        browser.get("/people/duplicates").await.ok().shows("No duplicates found");
        w.owner.patch(&format!("/people/{}", newer.person), json!({ "birth_date": null, "phone": "912 345 678" })).await.ok();
        browser.get("/people").await.ok().shows("1 possible duplicate");
        let compare = format!("/people/{}/merge?into={}", newer.person, older.person);
        browser.get("/people/duplicates").await.ok().shows("Same name").shows(&compare);
        browser.get(&format!("/people/{}/merge?q=ana", newer.person)).await.ok().shows(&format!("into={}", older.person));
        w.owner.patch(&format!("/people/{}", newer.person), json!({ "birth_date": "2013-05-06" })).await.ok();
        let page = browser.get(&compare).await.ok().shows("912 345 678").shows("Which birth date is right?").shows("Both are on 1 team");
        let (to, into) = (format!("/people/{}/merge", newer.person), older.person.as_str());
        let seen = hidden(&page, "seen");
        browser.post(&to, &[("into", into), ("seen", &seen)]).await.refused_page(422).shows("Choose the right birth date.");
        browser.post(&to, &[("into", into), ("seen", "0.0"), ("birth_date", "2014-05-05")]).await.refused_page(422).shows("Somebody else changed this");
        let merged = browser.post(&to, &[("into", into), ("seen", &seen), ("birth_date", "2013-05-06")]).await;
        merged.redirects_to(&format!("/people/{into}?done=merged"));
        browser.get(&format!("/people/{into}?done=merged")).await.ok().shows("The records were merged.").shows("912 345 678");
        browser.get(&format!("/people/{}", newer.person)).await.redirects_to(&format!("/people/{into}"));
        // What cannot be merged is explained.
        let rita = json!({ "first_name": "Bo", "guardians": [{ "first_name": "Bo" }] });
        let child = w.add_member(hawks.id(), rita).await;
        let shown = w.owner.get(&format!("/people/{}", child.person)).await.ok();
        let guardian = shown.data()["guardians"][0]["id"].as_str().unwrap();
        browser.get(&format!("/people/{}/merge?into={guardian}", child.person)).await.ok().shows("is a guardian of the other");
    }
}
