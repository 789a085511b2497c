//! Tests of the roster pages: who sees what, and adding, changing, moving and removing people.

use testkit::{Browser, TestClub, TestResponse, World, both, json};

use crate::roster::audit_entries;
use crate::signin::RefusedPage;

/// The value of a hidden field.
fn hidden<'a>(page: &'a TestResponse, name: &str) -> &'a str {
    let start = format!("name=\"{name}\" value=\"");
    page.text.split(start.as_str()).nth(1).unwrap_or_default().split('"').next().unwrap()
}

fn hides(page: &TestResponse, texts: &[&str]) {
    for text in texts {
        assert!(!page.text_without_csrf().contains(text), "shows {text}: {}", page.text);
    }
}

fn roster(club: &TestClub, below: &str) -> String {
    format!("/teams/{}/roster{below}", club.hawks)
}

/// The number of times that a medical note was read.
async fn medical_reads(w: &World) -> usize {
    let entries = audit_entries(w).await;
    entries.iter().filter(|entry| entry.action == "roster.medical_read").count()
}

/// Submits the form on a page with these fields.
pub(crate) async fn send(
    browser: &mut Browser,
    path: &str,
    page: &TestResponse,
    fields: &[(&str, &str)],
) -> TestResponse {
    let mut all = fields.to_vec();
    for name in ["nonce", "version", "shown", "columns"] {
        let value = hidden(page, name);
        if !value.is_empty() && !fields.iter().any(|(known, _)| *known == name) {
            all.push((name, value));
        }
    }
    browser.post(path, &all).await
}

/// Pastes a text and returns the preview.
async fn preview(browser: &mut Browser, path: &str, text: &str) -> TestResponse {
    let page = browser.get(path).await.ok();
    send(browser, path, &page, &[("text", text), ("step", "preview")]).await
}

both! {
    async fn contact_data_is_shown_to_the_family_and_staff_of_the_team_only(w: &World) {
        let club = w.club().await;
        let (zoe, max) = (roster(&club, &format!("/{}", club.zoe.member)), roster(&club, &format!("/{}", club.max.member)));
        let private = ["mia@example.org", "mailto:", "tel:", "born 2014", "nuts", "medical note"];
        for user in [&club.parent, &club.player] {
            let mut browser = w.browser(user.id).await;
            let page = browser.get(&roster(&club, "")).await.ok().shows("Max").shows("Zoe").shows("Kim");
            hides(&page, &["mia@example.org", "pat@example.org", "2014-", "No parent yet", "not signed up", "Add a person"]);
            let page = browser.get(&zoe).await.ok().shows("Zoe").shows("Contact data is visible to the family");
            hides(&page, &private);
            let page = browser.post(&format!("{zoe}/note"), &[]).await.ok();
            hides(&page, &private);
            for below in ["/edit", "/move", "/remove"] {
                browser.get(&format!("{zoe}{below}")).await.refused_page(403);
                browser.post(&format!("{zoe}{below}"), &[("nonce", &"0".repeat(32))]).await.refused_page(403);
            }
            for path in [roster(&club, "/new"), roster(&club, "/paste"), format!("/teams/{}/emergency", club.hawks)] {
                browser.get(&path).await.refused_page(403);
            }
            browser.get(&format!("/teams/{}/roster/{}", club.otters, club.ole.member)).await.refused_page(404);
        }
        // The fixture has read the people through the API.
        let before = 3;
        assert_eq!(medical_reads(w).await, before);
        // The family sees its own child. The note is shown on request only, which is recorded.
        let mut parent = w.browser(club.parent.id).await;
        let page = parent.get(&max).await.ok().shows("pat@example.org").shows("mailto:pat@example.org").shows("There is a medical note");
        hides(&page, &["bees"]);
        parent.post(&format!("{max}/note"), &[]).await.ok().shows("bees");
        assert_eq!(medical_reads(w).await, before + 1);
        parent.post(&format!("{max}/note/save"), &[("medical_note", "none")]).await.refused_page(403);
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get(&zoe).await.ok().shows("mia@example.org").shows("born 2014");
        hides(&page, &["nuts"]);
        coach.get(&roster(&club, "")).await.ok().shows("not signed up").shows("Emergency sheet");
        coach.get(&roster(&club, "?status=no_parent")).await.ok().shows("Nobody matches this filter");
        coach.get(&roster(&club, "?q=zO")).await.ok().shows("Zoe");
        coach.get(&format!("/teams/{}/emergency", club.hawks)).await.ok().shows("nuts").shows("bees").shows("Mia");
        assert_eq!(medical_reads(w).await, before + 2);
        for path in [format!("/teams/{}/roster", club.otters), format!("/teams/{}/emergency", club.otters), format!("/teams/{}/roster/{}", club.otters, club.zoe.member)] {
            coach.get(&path).await.refused_page(404);
        }
        w.browser(club.outsider.id).await.get(&roster(&club, "")).await.refused_page(404);
        w.browser(club.admin.id).await.get(&zoe).await.ok().shows("mia@example.org").shows("Everything about this person");
    }

    async fn phone_numbers_can_be_called_and_texted(w: &World) {
        let club = w.club().await;
        let rosa = json!({ "first_name": "Rosa", "last_name": "Roth", "phone": "+49 (30) 1234-5" });
        let hugo = json!({ "first_name": "Hugo", "phone": "ask Rosa" });
        let ann = json!({ "first_name": "Ann", "birth_date": "2014-05-05", "guardians": [rosa, hugo] });
        let ann = roster(&club, &format!("/{}", w.add_member(&club.hawks, ann).await.member));
        let page = w.browser(club.coach.id).await.get(&ann).await.ok().shows("ask Rosa");
        // Both links are next to each other, and say whom they are about.
        let (_, call) = page.text.split_once("<a class=\"btn\" href=\"tel:+493012345\" aria-label=\"Call Rosa Roth\">").expect("a link to call");
        let (_, text) = call.split_once("</a>").unwrap();
        assert!(text.starts_with("<a class=\"btn\" href=\"sms:+493012345\" aria-label=\"Text Rosa Roth\">"), "{text}");
        for scheme in ["tel:", "sms:"] {
            assert_eq!(page.text.matches(scheme).count(), 1, "{scheme}");
        }
        for user in [&club.parent, &club.player] {
            hides(&w.browser(user.id).await.get(&ann).await.ok(), &["tel:", "sms:", "Rosa"]);
        }
    }

    async fn a_coach_adds_a_person_with_a_parent_and_resolves_duplicates(w: &World) {
        let club = w.club().await;
        let mut coach = w.browser(club.coach.id).await;
        let path = roster(&club, "/new");
        let page = coach.get(&path).await.ok();
        let fields = [
            ("first_name", "Eva"), ("last_name", "Sand"), ("role", "player"), ("jersey_number", "9"), ("positions", "wing, striker"),
            ("birth_date", "2014-05-05"), ("guardian-1-first_name", "Ida"), ("guardian-1-email", "ida@example.org"), ("guardian-1-phone", "912 345 678"),
            ("guardian-1-can_pick_up", "no"),
        ];
        send(&mut coach, &path, &page, &[("first_name", ""), ("role", "player"), ("guardian-1-email", "x")]).await
            .refused_page(422).shows("id=\"first_name-error\"").shows("id=\"guardian-1-email-error\"").shows("value=\"x\"");
        let added = send(&mut coach, &path, &page, &fields).await;
        let detail = added.header("location").unwrap().to_owned();
        assert_eq!(added.status, 303);
        // Submitted twice, it adds one person.
        send(&mut coach, &path, &page, &fields).await.redirects_to(&detail);
        coach.get(&detail).await.ok().shows("Eva Sand").shows("wing, striker").shows("href=\"tel:912345678\"").shows("May not pick up").shows("Not confirmed yet");
        let page = coach.get(&path).await.ok();
        let asked = send(&mut coach, &path, &page, &fields).await.refused_page(422).shows("Is this the same person?").shows("same name and birth date").shows("value=\"wing, striker\"");
        let id = asked.text.split("name=\"similar\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let with = |choice| [fields.as_slice(), &[("similar", choice)]].concat();
        send(&mut coach, &path, &asked, &with(id)).await.refused_page(422).shows("already on the team");
        assert_eq!(send(&mut coach, &path, &asked, &with("new")).await.status, 303);
        let names = w.owner.get(&format!("/teams/{}/roster?q=eva", club.hawks)).await.ok();
        assert_eq!(names.data().as_array().unwrap().len(), 2, "{}", names.text);
        // People on other teams are not named.
        let page = coach.get(&path).await.ok();
        let ole = [("first_name", "Ole"), ("role", "player"), ("birth_date", "2014-03-03")];
        let asked = send(&mut coach, &path, &page, &ole).await.refused_page(422).shows("on a team that you do not manage");
        hides(&asked, &["Otters", club.ole.person.as_str()]);
    }

    async fn people_pasted_from_a_spreadsheet_are_previewed_and_added_once(w: &World) {
        let club = w.club().await;
        w.owner.patch(&format!("/teams/{}", club.hawks), json!({ "unique_jerseys": true })).await.ok();
        let mut coach = w.browser(club.coach.id).await;
        let path = roster(&club, "/paste");
        let count = async || w.owner.get(&format!("/teams/{}", club.hawks)).await.ok().data()["roster_count"].as_i64().unwrap();
        let before = count().await;
        let text = "Name\tNo\tBorn\tParent\tParent email\r\n=1+1 👍\t7\t27/2/2014\tIda Sand\tida@example.org\r\nמיכל לוי\t8\t\t\tx\r\nMax\t7\t2014-01-01\t\t\r\n";
        let page = preview(&mut coach, &path, text).await.ok();
        let page = page.shows("=1+1 👍").shows("27 Feb 2014").shows("מיכל לוי").shows("This person may already be in the club").shows("1 row has an error");
        assert!(page.text.contains("data-label=\"Parent: email\"><bdi>x</bdi><span class=\"wrong\">"), "{}", page.text);
        let max = format!("value=\"{}\"", club.max.person);
        assert!(page.text.contains(&max), "{}", page.text);
        // Rows with errors are not added, and nothing else either.
        let add = [("text", text), ("step", "add"), ("row-2", "skip")];
        send(&mut coach, &path, &page, &add).await.refused_page(422).shows("Nobody was added").shows("Correct the rows that are marked");
        // A text that was not previewed is previewed first.
        let other = text.replace("\tx\r", "\t\r");
        let page = send(&mut coach, &path, &page, &[("text", &other), ("step", "add"), ("row-2", "skip")]).await.ok().shows("2 people will be added");
        assert_eq!(count().await, before);
        let add = [("text", other.as_str()), ("step", "add"), ("row-2", "skip"), ("row-0", ""), ("row-1", "")];
        let done = format!("{}?done=pasted", roster(&club, ""));
        send(&mut coach, &path, &page, &add).await.redirects_to(&done);
        send(&mut coach, &path, &page, &add).await.redirects_to(&done);
        assert_eq!(count().await, before + 2);
        coach.get(&done).await.ok().shows("=1+1 👍").shows("מיכל לוי");
        // An existing person of another team is used, with their own data.
        let mut admin = w.browser(club.admin.id).await;
        let text = "Ole,2014-03-03";
        let page = preview(&mut admin, &path, text).await.ok().shows("Otters");
        send(&mut admin, &path, &page, &[("text", text), ("step", "add"), ("row-0", &club.ole.person)]).await.redirects_to(&done);
        assert_eq!(count().await, before + 3);
        // The columns can be corrected.
        let page = preview(&mut coach, &path, "A1;Ana\nA2;Bo").await.ok();
        let fields = [("text", "A1;Ana\nA2;Bo"), ("headings", "no"), ("column-0", "ignored"), ("column-1", "first_name"), ("step", "preview")];
        let page = send(&mut coach, &path, &page, &fields).await.ok().shows("2 people will be added");
        hides(&page, &["<bdi>A1</bdi></td>"]);
        // Too many rows are rejected, and the text is kept.
        let many = (0..500).map(|row| format!("Çãé {row}\t{row}\tparent{row}@example.org\n")).collect::<Vec<_>>().concat();
        preview(&mut coach, &path, &many).await.refused_page(422).shows("You pasted 500 rows").shows("Çãé 499");
        preview(&mut coach, &path, " \n").await.refused_page(422).shows("Paste at least one row");
    }

    async fn a_person_is_changed_moved_and_removed(w: &World) {
        let club = w.club().await;
        let mut coach = w.browser(club.coach.id).await;
        let max = roster(&club, &format!("/{}", club.max.member));
        let edit = format!("{max}/edit");
        let page = coach.get(&edit).await.ok().shows("Changes that need an admin or a confirmed parent").shows("value=\"Pat\"");
        hides(&page, &["bees"]);
        let guardian = hidden(&page, "guardian-1-id").to_owned();
        let fields = [
            ("first_name", "Max"), ("role", "player"), ("status", "injured"), ("jersey_number", "7"), ("birth_date", "2014-01-01"),
            ("guardian-1-id", guardian.as_str()), ("guardian-1-first_name", "Pat"), ("guardian-1-relationship", "father"), ("guardian-1-email", "pat@example.org"),
        ];
        // Whatever lowers the protection of a child is left to admins and parents.
        let without: Vec<_> = fields.iter().copied().filter(|(name, _)| !name.starts_with("guardian")).collect();
        send(&mut coach, &edit, &page, &without).await.refused_page(422).shows("lowers a minor").shows("value=\"7\"");
        let second = [fields.as_slice(), &[("guardian-2-first_name", "Eve")]].concat();
        send(&mut coach, &edit, &page, &second).await.refused_page(422).shows("lowers a minor").shows("value=\"Eve\"");
        send(&mut coach, &edit, &page, &fields).await.redirects_to(&format!("{max}?done=saved"));
        let saved = w.owner.get(&max).await.ok();
        assert_eq!((&saved.data()["status"], &saved.data()["medical_note"]), (&json!("injured"), &json!("bees")));
        // Somebody who edited the same person sees what was saved, and keeps what they entered.
        let mine = [fields.as_slice(), &[("preferred_name", "Maxi")]].concat();
        let mine: Vec<_> = mine.iter().map(|(name, value)| (*name, if *name == "jersey_number" { "8" } else { *value })).collect();
        let page = send(&mut coach, &edit, &page, &mine).await.refused_page(422).shows("Somebody else has changed this to “7”").shows("value=\"Maxi\"");
        send(&mut coach, &edit, &page, &mine).await.redirects_to(&format!("{max}?done=saved"));
        // The medical note is changed where it is shown.
        let page = coach.post(&format!("{max}/note"), &[]).await.ok().shows("bees");
        send(&mut coach, &format!("{max}/note/save"), &page, &[("medical_note", "bees and wasps")]).await.redirects_to(&format!("{max}?done=note"));
        // A coach moves people only between their own teams.
        coach.get(&format!("{max}/move")).await.ok().shows("No other team");
        coach.post(&format!("{max}/move"), &[("team", club.otters.as_str()), ("version", "1"), ("nonce", &"0".repeat(32))]).await.refused_page(404);
        let mut admin = w.browser(club.admin.id).await;
        let page = admin.get(&format!("{max}/move")).await.ok().shows("Otters");
        let moved = send(&mut admin, &format!("{max}/move"), &page, &[("team", &club.otters), ("jersey_number", "3")]).await;
        let to = moved.header("location").unwrap().to_owned();
        assert!(moved.status == 303 && to.starts_with(&format!("/teams/{}/roster/mem_", club.otters)), "{}", moved.text);
        admin.get(&to).await.ok().shows("Max").shows("<span>3</span>").shows("Injured");
        admin.get(&max).await.ok().shows("No longer on this team");
        let person = w.owner.get(&format!("/people/{}", club.max.person)).await.ok();
        let states: Vec<_> = person.data()["memberships"].as_array().unwrap().iter().map(|one| one["status"].clone()).collect();
        assert_eq!(states, [json!("removed"), json!("injured")]);
        // Removing asks first, and works once.
        let zoe = roster(&club, &format!("/{}", club.zoe.member));
        let page = coach.get(&format!("{zoe}/remove")).await.ok().shows("What happens next");
        send(&mut coach, &format!("{zoe}/remove"), &page, &[]).await.redirects_to(&format!("{}?done=removed", roster(&club, "")));
        send(&mut coach, &format!("{zoe}/remove"), &page, &[]).await.redirects_to(&format!("{}?done=removed", roster(&club, "")));
        let page = coach.get(&zoe).await.ok().shows("No longer on this team");
        hides(&page, &["mia@example.org"]);
    }

    async fn a_player_is_moved_from_the_list_of_teams(w: &World) {
        let club = w.club().await;
        let mut admin = w.browser(club.admin.id).await;
        admin.get("/teams").await.ok().shows("href=\"/teams/move\"");
        let page = admin.get("/teams/move").await.ok().shows("Max · Hawks").shows("Ole · Otters");
        send(&mut admin, "/teams/move", &page, &[("team", &club.otters)]).await.refused_page(422).shows("Choose a player.");
        let again = send(&mut admin, "/teams/move", &page, &[("member", &club.max.member), ("jersey_number", "7")]).await;
        again.refused_page(422).shows("Choose a team.").shows("value=\"7\"");
        let fields = [("member", club.max.member.as_str()), ("team", &club.hawks)];
        send(&mut admin, "/teams/move", &page, &fields).await.refused_page(422).shows("Choose another team.");
        let fields = [("member", club.max.member.as_str()), ("team", &club.otters), ("jersey_number", "7")];
        let moved = send(&mut admin, "/teams/move", &page, &fields).await;
        let to = moved.local_redirect().unwrap().to_owned();
        assert!(to.starts_with(&format!("/teams/{}/roster/mem_", club.otters)) && to.ends_with("?done=moved"), "{to}");
        // The same form again has no other effect.
        send(&mut admin, "/teams/move", &page, &fields).await.redirects_to(&to);
        admin.get(&to).await.ok().shows("Max").shows("<span>7</span>");
        // A coach of one team has nowhere to move people to, and families cannot do it.
        let mut coach = w.browser(club.coach.id).await;
        coach.get("/teams/move").await.ok().shows("No other team");
        let nonce = "0".repeat(32);
        let fields = [("member", club.zoe.member.as_str()), ("team", &club.otters), ("nonce", &nonce)];
        coach.post("/teams/move", &fields).await.refused_page(404);
        for user in [club.parent.id, club.player.id, club.outsider.id] {
            let mut browser = w.browser(user).await;
            let page = browser.get("/teams/move").await;
            assert!(page.status == 403 || !page.text.contains("Zoe"), "{}", page.text);
            assert!([403, 404].contains(&browser.post("/teams/move", &fields).await.status));
        }
    }
}
