//! Tests of photos of people: the consent of guardians, who sees them, and erasure.

use testkit::{World, both, json, seconds};
use touchline::accounts::user::Role;
use touchline::jobs;

use crate::files::{photo_of, png, upload};
use crate::roster_access::client_with_all_scopes;

both! {
    async fn a_photo_of_a_minor_needs_consent(w: &World) {
        let club = w.club().await;
        let coach = client_with_all_scopes(w, club.coach.id).await;
        let admin = client_with_all_scopes(w, club.admin.id).await;
        let path = format!("/people/{}", club.max.person);
        let photo = upload(&coach, "photo", "max.png", &png(40, 40)).await.created();
        let body = json!({ "photo_file_id": photo.id(), "photo_consent": true });
        let refused = coach.patch(&path, body).await.assert_problem(403, "forbidden");
        assert_eq!(refused.body["errors"][0]["code"], "consent_required");
        let photo = upload(&admin, "photo", "max.png", &png(40, 40)).await.created();
        let body = json!({ "photo_file_id": photo.id() });
        let refused = admin.patch(&path, body.clone()).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/photo_consent"]);
        let consent = json!({ "photo_file_id": photo.id(), "photo_consent": true });
        assert_eq!(admin.patch(&path, consent).await.ok().data()["photo_file_id"], json!(photo.id()));

        let content = format!("/files/{}/content", photo.id());
        let (parent, player) = (client_with_all_scopes(w, club.parent.id).await, client_with_all_scopes(w, club.player.id).await);
        for client in [&coach, &parent, &admin] {
            client.get(&content).await.ok();
        }
        player.get(&content).await.assert_problem(404, "not_found");
        w.stranger.get(&content).await.assert_problem(404, "not_found");
        assert!(!w.notifications().await.iter().any(|one| one.to_string().contains(photo.id())));
        // Anybody who manages the person's data may remove a photo. Staff set those of adults who do not sign in.
        coach.patch(&path, json!({ "photo_file_id": null })).await.ok();
        parent.get(&content).await.assert_problem(404, "not_found");
        let adult = upload(&coach, "photo", "lia.png", &png(40, 40)).await.created();
        let body = json!({ "photo_file_id": adult.id() });
        let lia = format!("/people/{}", club.lia.person);
        coach.patch(&lia, body.clone()).await.assert_problem(403, "forbidden");
        let bea = w.add_member(&club.hawks, json!({ "first_name": "Bea", "role": "staff", "birth_date": "1990-01-01" })).await;
        coach.patch(&format!("/people/{}", bea.person), body).await.ok();
    }

    async fn a_person_who_becomes_a_minor_loses_a_photo_without_consent(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Seniors", "sport": "soccer", "age_group": "Adult", "timezone": "UTC" })).await.created();
        let (owner, roster) = (w.owner.clone(), format!("/teams/{}/roster", team.id()));
        for change in ["birth_date", "merge", "mark"] {
            let member = owner.post(&roster, json!({ "role": "player", "first_name": change, "birth_date": "1990-01-01" })).await.created();
            let path = format!("/people/{}", member.data()["person_id"].as_str().unwrap());
            let photo = upload(&owner, "photo", "pia.png", &png(40, 40)).await.created();
            owner.patch(&path, json!({ "photo_file_id": photo.id() })).await.ok();
            w.advance_clock(seconds(60));
            match change {
                "birth_date" => drop(owner.patch(&path, json!({ "birth_date": "2014-02-01" })).await.ok()),
                "mark" => drop(owner.post(&format!("{path}/mark_minor"), json!({})).await.ok()),
                _ => {
                    let child = json!({ "role": "player", "first_name": "Child", "birth_date": "2014-02-01", "allow_duplicate": true });
                    let child = owner.post(&roster, child).await.created();
                    let merge = format!("/people/{}/merge", child.data()["person_id"].as_str().unwrap());
                    let body = json!({ "into_person_id": member.data()["person_id"], "birth_date": "2014-02-01" });
                    owner.post(&merge, body).await.ok();
                }
            }
            assert_eq!(owner.get(&path).await.ok().data()["photo_file_id"], json!(null), "{change}");
            owner.get(&format!("/files/{}/content", photo.id())).await.assert_problem(404, "not_found");
        }
    }

    async fn a_guardian_uploads_a_photo_on_the_page(w: &World) {
        let club = w.club().await;
        let path = format!("/people/{}/photo", club.max.person);
        let image = png(300, 200);
        let files: &[(&str, &str, &[u8])] = &[("file", "max.png", &image)];
        let (mut coach, mut parent, mut player) = (w.browser(club.coach.id).await, w.browser(club.parent.id).await, w.browser(club.player.id).await);
        coach.get(&path).await.ok().shows("You cannot add this photo");
        assert_eq!(coach.upload(&path, &[("photo_consent", "yes")], files).await.status, 403);
        assert_eq!(player.get(&path).await.status, 404);
        assert_eq!(player.upload(&path, &[], files).await.status, 404);
        parent.get(&path).await.ok();
        parent.upload(&path, &[], files).await.redirects_to(&format!("{path}?done=saved"));
        let page = coach.get(&path).await.ok();
        let url = page.text.split("src=\"/files/").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let url = format!("/files/{url}");
        for (browser, status) in [(&mut coach, 200), (&mut parent, 200), (&mut player, 404)] {
            assert_eq!(browser.get(&url).await.status, status);
        }
        let mut admin = w.browser(club.admin.id).await;
        admin.get(&path).await.ok();
        let unconfirmed = admin.upload(&path, &[], files).await.shows("Confirm that a guardian agreed");
        assert_eq!(unconfirmed.status, 422);
        admin.upload(&path, &[("photo_consent", "yes")], files).await.redirects_to(&format!("{path}?done=saved"));
        // An adult sets their own photo.
        let own = format!("/people/{}/photo", club.lia.person);
        player.upload(&own, &[], files).await.redirects_to(&format!("{own}?done=saved"));
    }

    async fn an_unconfirmed_guardian_cannot_consent(w: &World) {
        let club = w.club().await;
        let coach = client_with_all_scopes(w, club.coach.id).await;
        let guardian = json!({ "first_name": "Eve", "relationship": "aunt", "email": "eve@example.org" });
        let child = json!({ "first_name": "Tom", "birth_date": "2015-01-01", "guardians": [guardian] });
        let child = coach.post(&format!("/teams/{}/roster", club.hawks), child).await.created();
        let person = child.data()["person_id"].as_str().unwrap();
        let eve = child.data()["guardians"][0]["id"].as_str().unwrap();
        let user = w.user(Role::Member, "eve@example.org").await;
        w.link(eve, user.id).await;
        let mut eve = w.browser(user.id).await;
        let path = format!("/people/{person}/photo");
        assert_eq!(eve.upload(&path, &[], &[("file", "a.png", &png(20, 20))]).await.status, 403);
    }

    async fn an_erased_person_has_no_photo(w: &World) {
        let club = w.club().await;
        let photo = photo_of(w, &club.max.person).await;
        let path = format!("/people/{}", club.max.person);
        let export = w.owner.get(&format!("{path}/export")).await.ok();
        assert_eq!(export.data()["files"][0]["id"], json!(photo));
        w.owner.post(&format!("{path}/erase"), json!({})).await.ok();
        w.owner.get(&format!("/files/{photo}")).await.assert_problem(404, "not_found");
        jobs::delete_removed_files(&w.node.app).await;
        assert_eq!(w.count("file").await, 0);
        let folder = w.node.app.files.folder().unwrap().join(w.harbour.to_string());
        assert!(std::fs::read_dir(folder).map_or(true, |mut files| files.next().is_none()));
    }

    async fn the_photo_is_shown_to_staff_and_the_family(w: &World) {
        let club = w.club().await;
        let photo = photo_of(w, &club.max.person).await;
        let (roster, url) = (format!("/teams/{}/roster", club.hawks), format!("/files/{photo}?size=small"));
        let max = format!("{roster}/{}", club.max.member);
        let back = |page: &str| format!("href=\"{page}\"");
        for user in [club.coach.id, club.parent.id, club.admin.id] {
            let mut browser = w.browser(user).await;
            browser.get(&roster).await.ok().shows(&url);
            browser.get(&max).await.ok().shows(&url).shows(&format!("/people/{}/photo", club.max.person));
        }
        w.browser(club.parent.id).await.get(&format!("/people/{}/photo", club.max.person)).await.ok().shows(&back(&max));
        let mut admin = w.browser(club.admin.id).await;
        admin.get(&format!("/people/{}", club.max.person)).await.ok().shows(&url);
        admin.get(&format!("/people/{}/photo", club.max.person)).await.ok().shows(&back(&format!("/people/{}", club.max.person)));
        // Other families do not see it.
        let mut player = w.browser(club.player.id).await;
        for path in [&roster, &max] {
            let page = player.get(path).await.ok();
            assert!(!page.text.contains(&photo), "{}", page.text);
        }
    }

    async fn the_photo_of_a_person_who_left_is_shown_to_those_who_may_see_it(w: &World) {
        let club = w.club().await;
        let photo = photo_of(w, &club.max.person).await;
        w.owner.delete(&format!("/teams/{}/roster/{}", club.hawks, club.max.member)).await.ok();
        let (left, url) = (format!("/teams/{}/roster?status=removed", club.hawks), format!("/files/{photo}?size=small"));
        let mut admin = w.browser(club.admin.id).await;
        admin.get(&left).await.ok().shows("Max").shows(&url);
        admin.get(&url).await.ok();
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get(&left).await.ok().shows("Max");
        assert!(!page.text.contains(&photo));
        assert_eq!(coach.get(&url).await.status, 404);
    }

    async fn a_person_on_a_team_is_invited_and_written_to(w: &World) {
        let club = w.club().await;
        let mut admin = w.browser(club.admin.id).await;
        let zoe = format!("/teams/{}/roster/{}", club.hawks, club.zoe.member);
        let invite = format!("/admin/members/invite?person={}&#38;relation=guardian", club.zoe.person);
        let page = admin.get(&zoe).await.ok();
        assert!(page.text.contains(&invite) || page.text.contains(&invite.replace("&#38;", "&")), "{}", page.text);
        let page = admin.get(&invite.replace("&#38;", "&")).await.ok();
        for chosen in [club.zoe.person.as_str(), "guardian"] {
            assert!(page.text.contains(&format!("value=\"{chosen}\" selected")), "{}", page.text);
        }
        admin.get(&format!("/admin/members/invite?person={}&relation=self", club.kim.person)).await.ok().shows("value=\"kim@example.org\"");
        // The message to a family is addressed to the child, and their guardians get it too.
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get(&zoe).await.ok();
        let link = page.text.split("href=\"").find(|rest| rest.starts_with("/messages/new")).unwrap().split('"').next().unwrap();
        let link = link.replace("&amp;", "&").replace("&#38;", "&");
        coach.get(&link).await.ok().shows("value=\"members\" checked").shows(&format!("value=\"{}\" checked", club.zoe.member));
    }
}
