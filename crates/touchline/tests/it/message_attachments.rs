//! Tests of files that are attached to messages on the pages.

use testkit::{Browser, TestClub, TestResponse, World, both, json, seconds};
use touchline::jobs;

use crate::files::{PDF, png, upload};
use crate::roster_access::client_with_all_scopes;
use crate::signin::RefusedPage;

const DAY: u64 = 24 * 60 * 60;

/// The value of a hidden field.
fn hidden<'a>(page: &'a TestResponse, name: &str) -> &'a str {
    let start = format!("name=\"{name}\" value=\"");
    page.text.split(&start).nth(1).expect(name).split('"').next().unwrap()
}

/// The ids of the files that a form has received.
fn attached(page: &TestResponse) -> Vec<String> {
    let values = page.text.split("name=\"attachment_ids\" value=\"").skip(1);
    values.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

fn announcement(club: &TestClub) -> Vec<(&'static str, String)> {
    [
        ("kind", "announcement"),
        ("teams", &club.hawks),
        ("audience", "all"),
        ("subject", "Photo day"),
        ("body", "See the plan."),
        ("when", "now"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .to_vec()
}

async fn send(
    browser: &mut Browser,
    path: &str,
    fields: &[(&str, String)],
    files: &[(&str, &str, &[u8])],
) -> TestResponse {
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    browser.upload(path, &fields, files).await
}

both! {
    async fn files_survive_errors_and_the_preview_and_can_be_removed(w: &World) {
        let club = w.club().await;
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get(&format!("/messages/new?team={}", club.hawks)).await.ok().shows("multipart/form-data").shows("Add photos or PDFs");
        let mut fields = announcement(&club);
        fields.push(("nonce", hidden(&page, "nonce").to_owned()));
        fields[3].1.clear();
        let image = png(60, 40);
        let sent: [(&str, &str, &[u8]); 4] = [("file", "Plan & map.pdf", PDF), ("file", "pitch.png", &image), ("file", "evil.png", b"<svg/>"), ("file", "none.pdf", b"")];
        let page = send(&mut coach, "/messages/new", &fields, &sent).await.refused_page(422)
            .shows("Enter a title.").shows("See the plan.").shows("Plan &#38; map.pdf").shows("1 kB")
            .shows("evil.png: The file is not a JPEG, PNG, WebP or GIF image and not a PDF.").shows("none.pdf: The file is empty.");
        let ids = attached(&page);
        assert_eq!(ids.len(), 2);
        "Photo day".clone_into(&mut fields[3].1);
        fields.extend(ids.iter().map(|id| ("attachment_ids", id.clone())));
        let many: Vec<(&str, &str, &[u8])> = (0..9).map(|_| ("file", "a.pdf", PDF)).collect();
        let full = send(&mut coach, "/messages/new", &fields, &many).await.refused_page(422).shows("Attach at most 10 files.");
        assert_eq!(attached(&full), ids);
        // The preview shows them and passes them on. Only the coach sees them until the message is sent.
        let preview = send(&mut coach, "/messages/new", &fields, &[]).await.ok().shows("pitch.png").shows(&format!("<img src=\"/files/{}?size=small\"", ids[1]));
        assert_eq!(attached(&preview), ids);
        let mut parent = w.browser(club.parent.id).await;
        assert_eq!(coach.get(&format!("/files/{}", ids[1])).await.status, 200);
        assert_eq!(parent.get(&format!("/files/{}", ids[1])).await.status, 404);
        // The second file is removed.
        fields.retain(|(_, value)| *value != ids[1]);
        fields.push(("step", "send".to_owned()));
        let place = send(&mut coach, "/messages/new", &fields, &[]).await.local_redirect().unwrap().to_owned();
        send(&mut coach, "/messages/new", &fields, &[]).await.redirects_to(&place);
        let page = parent.get(&place).await.ok().shows("Plan &#38; map.pdf").shows(&format!("href=\"/files/{}\"", ids[0]));
        assert!(!page.text.contains(&ids[1]));
        assert_eq!(parent.get(&format!("/files/{}", ids[0])).await.status, 200);
        assert_eq!(w.browser(club.outsider.id).await.get(&format!("/files/{}", ids[0])).await.status, 404);
        // A file that nobody attached is deleted after a day.
        w.advance_clock(seconds(DAY + 1));
        jobs::remove_unattached_files(&w.node.app).await;
        jobs::delete_removed_files(&w.node.app).await;
        assert_eq!(coach.get(&format!("/files/{}", ids[1])).await.status, 404);
        assert_eq!(coach.get(&format!("/files/{}", ids[0])).await.status, 200);
    }

    async fn each_team_gets_its_own_copy(w: &World) {
        let club = w.club().await;
        let mut owner = w.browser(club.owner.id).await;
        let page = owner.get("/messages/new").await.ok();
        let mut fields = announcement(&club);
        fields.extend([("teams", club.otters.clone()), ("nonce", hidden(&page, "nonce").to_owned()), ("step", "send".to_owned())]);
        send(&mut owner, "/messages/new", &fields, &[("file", "plan.pdf", PDF)]).await.redirects_to("/messages?done=sent");
        let list = w.owner.get("/messages").await.ok();
        let files: Vec<_> = list.data().as_array().unwrap().iter().map(|one| one["attachments"][0]["id"].as_str().unwrap().to_owned()).collect();
        assert!(files.len() == 2 && files[0] != files[1], "{files:?}");
        for file in &files {
            assert_eq!(w.owner.get(&format!("/files/{file}/content")).await.ok().text.as_bytes(), PDF);
        }
        let mut parent = w.browser(club.parent.id).await;
        let seen = [parent.get(&format!("/files/{}", files[0])).await.status, parent.get(&format!("/files/{}", files[1])).await.status];
        assert!(seen.contains(&200) && seen.contains(&404), "{seen:?}");
    }

    async fn a_reply_has_attachments_and_is_posted_once(w: &World) {
        let club = w.club().await;
        let kim = client_with_all_scopes(w, club.coach.id).await;
        let body = json!({ "team_id": club.hawks, "kind": "message", "body": "Who has a photo?", "audience": { "to": "members", "member_ids": [club.max.member, club.lia.member] } });
        let path = format!("/messages/{}", kim.post("/messages", body).await.created().id());
        let mut parent = w.browser(club.parent.id).await;
        let page = parent.get(&path).await.ok();
        let mut fields = vec![("nonce", hidden(&page, "nonce").to_owned()), ("body", String::new())];
        let image = png(60, 40);
        let photo: [(&str, &str, &[u8]); 1] = [("file", "team.png", &image)];
        let page = send(&mut parent, &path, &fields, &photo).await.refused_page(422).shows("Write a reply.").shows("team.png");
        fields.push(("attachment_ids", attached(&page).remove(0)));
        "Here".clone_into(&mut fields[1].1);
        for _ in 0..2 {
            send(&mut parent, &path, &fields, &[("file", "b.pdf", PDF)]).await.redirects_to(&format!("{path}?done=replied#end"));
        }
        // The same form with another file is not taken for the same reply.
        send(&mut parent, &path, &fields, &photo).await.refused_page(422).shows("already submitted");
        let page = w.browser(club.coach.id).await.get(&path).await.ok().shows("team.png").shows("?size=small").shows("b.pdf");
        assert_eq!(page.text.matches("<article").count(), 2);
        // Somebody who has signed out in another tab keeps the text.
        parent.clone().post("/sign-out", &[]).await;
        "Late".clone_into(&mut fields[1].1);
        let page = send(&mut parent, &path, &fields, &photo).await;
        assert_eq!(page.status, 403);
        page.shows("You are signed out").shows("<bdi>Late</bdi>").shows("were not kept");
    }

    async fn attachments_of_a_scheduled_message_are_changed(w: &World) {
        let club = w.club().await;
        let coach = client_with_all_scopes(w, club.coach.id).await;
        let (one, two) = (upload(&coach, "attachment", "one.pdf", PDF).await.created(), upload(&coach, "attachment", "two.pdf", PDF).await.created());
        let body = json!({ "team_id": club.hawks, "kind": "announcement", "subject": "Plan", "body": "x", "publish_at": "2026-10-01T18:00:00Z",
            "attachment_ids": [one.id(), two.id()] });
        let message = coach.post("/messages", body).await.created();
        let (path, edit) = (format!("/messages/{}", message.id()), format!("/messages/{}/edit", message.id()));
        // Another manager edits the form that the coach wrote.
        let mut admin = w.browser(club.admin.id).await;
        let page = admin.get(&edit).await.ok().shows("one.pdf").shows("two.pdf");
        assert_eq!(attached(&page), [one.id(), two.id()]);
        let mut fields = vec![("version", hidden(&page, "version").to_owned()), ("audience", "all".to_owned()), ("subject", "Plan".to_owned()),
            ("body", "x".to_owned()), ("publish_at", "2026-10-01T18:00".to_owned()), ("attachment_ids", two.id().to_owned())];
        let bad = send(&mut admin, &edit, &fields, &[("file", "x.png", b"<html>")]).await.refused_page(422).shows("x.png: The file is not");
        assert_eq!(attached(&bad), [two.id()]);
        send(&mut admin, &edit, &fields, &[("file", "three.pdf", PDF)]).await.redirects_to(&format!("{path}?done=saved"));
        let names = async || {
            let message = w.owner.get(&path).await.ok();
            message.data()["attachments"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names().await, ["two.pdf", "three.pdf"]);
        coach.get(&format!("/files/{}", one.id())).await.assert_problem(404, "not_found");
        // The API does the same; a file of somebody else is rejected, and nothing changes.
        let other = upload(&w.owner, "attachment", "other.pdf", PDF).await.created();
        let refused = coach.patch(&path, json!({ "attachment_ids": [other.id()] })).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/attachment_ids/0"]);
        assert_eq!(names().await, ["two.pdf", "three.pdf"]);
        coach.patch(&path, json!({ "attachment_ids": [two.id()] })).await.ok();
        assert_eq!(names().await, ["two.pdf"]);
        "99".clone_into(&mut fields[0].1);
        send(&mut admin, &edit, &fields, &[]).await.refused_page(422).shows("Somebody else changed this");
        coach.patch(&path, json!({ "attachment_ids": null, "publish_at": null })).await.ok();
        assert!(names().await.is_empty());
        coach.patch(&path, json!({ "attachment_ids": [two.id()] })).await.assert_problem(409, "invalid_state");
    }
}
