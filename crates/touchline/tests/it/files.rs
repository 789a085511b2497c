//! Tests of uploaded files: checking, attaching, access and deletion.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat};
use testkit::world::seconds;
use testkit::{Client, TestResponse, World, both, json};
use touchline::jobs;

use crate::events::team_client;
use crate::roster_access::client_with_all_scopes;

/// A small PDF.
pub(crate) const PDF: &[u8] =
    b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n";
const DAY: u64 = 24 * 60 * 60;

/// A PNG image of this size.
pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::new_luma8(width, height).write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// Uploads a file.
pub(crate) async fn upload(
    client: &Client,
    purpose: &str,
    name: &str,
    bytes: &[u8],
) -> TestResponse {
    client.upload("/files", &[("purpose", purpose)], &[("file", name, bytes)]).await
}

/// Uploads a photo of a person and returns the id of the file.
pub(crate) async fn photo_of(w: &World, person: &str) -> String {
    let photo = upload(&w.owner, "photo", "face.png", &png(40, 40)).await.created();
    let body = json!({ "photo_file_id": photo.id(), "photo_consent": true });
    w.owner.patch(&format!("/people/{person}"), body).await.ok();
    photo.id().to_owned()
}

/// The keys in the file store.
async fn stored_keys(w: &World) -> usize {
    use futures_util::StreamExt;
    w.node.app.files.list().unwrap().collect::<Vec<_>>().await.len()
}

both! {
    async fn a_logo_is_uploaded_shown_and_replaced(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        let mut hostile = png(600, 300);
        hostile.extend(b"<script>alert(1)</script>");
        let logo = upload(&w.owner, "logo", "../crest.html", &hostile).await.created();
        let data = logo.data();
        assert_eq!((&data["object"], &data["name"]), (&json!("file"), &json!("crest.png")));
        assert_eq!((&data["content_type"], &data["width"]), (&json!("image/png"), &json!(600)));
        assert_eq!(data["attached_to"], json!(null));
        let path = format!("/files/{}", logo.id());
        assert_eq!(logo.header("location"), Some(format!("/api/public/v1{path}").as_str()));
        // Only its uploader sees it until it is attached.
        w.owner.get(&path).await.ok();
        for other in [&w.reader, &w.bystander, &w.stranger] {
            other.get(&path).await.assert_problem(404, "not_found");
        }
        let changed = w.owner.patch(&team.path(""), json!({ "logo_file_id": logo.id() })).await.ok();
        assert_eq!(changed.data()["logo_file_id"], json!(logo.id()));
        assert_eq!(w.reader.get(&path).await.ok().data()["attached_to"], json!(team.id()));
        w.bystander.get(&path).await.assert_problem(403, "insufficient_scope");
        w.stranger.get(&path).await.assert_problem(404, "not_found");

        let content = w.reader.get(&format!("{path}/content")).await.ok();
        assert_eq!(content.header("content-type"), Some("image/png"));
        assert_eq!(content.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(content.header("content-security-policy"), Some("sandbox; default-src 'none'"));
        assert!(content.header("cache-control").unwrap().starts_with("private"));
        assert!(content.header("content-disposition").unwrap().contains("crest.png"));
        assert!(!content.text.contains("script"));
        let small = w.reader.get(&format!("{path}/content?size=small")).await.ok();
        assert!(small.header("content-length").unwrap() != content.header("content-length").unwrap());

        // A file belongs to one object.
        let other = w.owner.post("/teams", json!({ "name": "Otters", "logo_file_id": logo.id() })).await;
        assert_eq!(other.assert_problem(422, "validation_failed").pointers(), ["/logo_file_id"]);
        assert_eq!(stored_keys(w).await, 2);
        w.owner.patch(&team.path(""), json!({ "logo_file_id": null })).await.ok();
        w.owner.get(&path).await.assert_problem(404, "not_found");
        jobs::delete_removed_files(&w.node.app).await;
        assert_eq!((stored_keys(w).await, w.count("file").await), (0, 0));
    }

    async fn files_that_are_not_allowed_are_rejected(w: &World) {
        let svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>";
        for (bytes, code) in [
            (&b""[..], "empty_file"),
            (svg, "unsupported_file_type"),
            (b"<!doctype html><script>alert(1)</script>", "unsupported_file_type"),
            (b"GIF89a=1;alert(1)//", "too_many_pixels"),
            (&png(7000, 5800), "too_many_pixels"),
        ] {
            let refused = upload(&w.owner, "attachment", "photo.png", bytes).await;
            let refused = refused.assert_problem(422, "validation_failed");
            assert_eq!((refused.pointers(), &refused.body["errors"][0]["code"]), (vec!["/file"], &json!(code)));
        }
        let pdf = upload(&w.owner, "logo", "logo.pdf", PDF).await.assert_problem(422, "validation_failed");
        assert_eq!(pdf.body["errors"][0]["code"], "unsupported_file_type");
        let large = vec![b'%'; 10 * 1024 * 1024 + 1];
        upload(&w.owner, "attachment", "a.pdf", &large).await.assert_problem(413, "payload_too_large");
        let huge = vec![b'%'; 11 * 1024 * 1024];
        upload(&w.owner, "attachment", "a.pdf", &huge).await.assert_problem(413, "payload_too_large");
        let missing = w.owner.upload("/files", &[("purpose", "banner")], &[]).await;
        assert_eq!(missing.assert_problem(422, "validation_failed").pointers(), ["/purpose", "/file"]);
        let unknown = w.owner.upload("/files", &[("purpose", "logo"), ("public", "1")], &[]).await;
        unknown.assert_problem(400, "invalid_parameter");
        w.owner.post("/files", json!({ "purpose": "logo" })).await.assert_problem(415, "unsupported_media_type");
        upload(&w.reader, "logo", "a.png", &png(2, 2)).await.assert_problem(403, "insufficient_scope");
        assert_eq!((stored_keys(w).await, w.count("file").await), (0, 0));
    }

    async fn attachments_are_for_the_audience_of_their_message(w: &World) {
        let club = w.club().await;
        let coach = client_with_all_scopes(w, club.coach.id).await;
        let (parent, player) = (client_with_all_scopes(w, club.parent.id).await, client_with_all_scopes(w, club.player.id).await);
        let pdf = upload(&coach, "attachment", "Convocatória.pdf", PDF).await.created();
        let image = upload(&coach, "attachment", "map.png", &png(30, 20)).await.created();
        let message = |ids: &[&str]| json!({ "team_id": club.hawks, "kind": "message", "body": "See the plan.",
            "audience": { "to": "members", "member_ids": [club.max.member] }, "attachment_ids": ids });
        // Nobody can attach a file of somebody else.
        let stolen = w.owner.post("/messages", message(&[image.id()])).await.assert_problem(422, "validation_failed");
        assert_eq!(stolen.pointers(), ["/attachment_ids/0"]);
        let twice = coach.post("/messages", message(&[pdf.id(), pdf.id()])).await;
        assert_eq!(twice.assert_problem(422, "validation_failed").pointers(), ["/attachment_ids/1"]);
        let eleven: Vec<_> = std::iter::repeat_n(pdf.id(), 11).collect();
        coach.post("/messages", message(&eleven)).await.assert_problem(422, "validation_failed");

        let sent = coach.post("/messages", message(&[image.id(), pdf.id()])).await.created();
        let shown: Vec<_> = sent.data()["attachments"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
        assert_eq!(shown, [json!("map.png"), json!("Convocatória.pdf")]);
        let content = format!("/files/{}/content", pdf.id());
        let read = parent.get(&content).await.ok();
        assert_eq!(read.text.as_bytes(), PDF);
        let disposition = read.header("content-disposition").unwrap();
        assert!(disposition.starts_with("attachment;") && disposition.contains("Convocat%C3%B3ria.pdf"));
        for other in [&player, &w.stranger, &team_client(w, &club.otters, "messages:read").await] {
            other.get(&content).await.assert_problem(404, "not_found");
        }
        let posted = w.notifications().await.pop().unwrap();
        assert_eq!(posted["type"], "message.posted");
        assert_eq!(posted["data"]["object"]["attachments"][1]["name"], json!(null));
    }

    async fn attachments_of_a_retracted_message_are_gone(w: &World) {
        let club = w.club().await;
        let coach = client_with_all_scopes(w, club.coach.id).await;
        let player = client_with_all_scopes(w, club.player.id).await;
        let pdf = upload(&coach, "attachment", "plan.pdf", PDF).await.created();
        let sent = coach.post("/messages", json!({ "team_id": club.hawks, "kind": "message", "body": "Plan",
            "audience": { "to": "members", "member_ids": [club.lia.member] }, "attachment_ids": [pdf.id()] })).await.created();
        let content = format!("/files/{}/content", pdf.id());
        player.get(&content).await.ok();
        let retracted = coach.delete(&format!("/messages/{}", sent.id())).await.ok();
        assert_eq!(retracted.data()["attachments"], json!([]));
        for client in [&player, &coach] {
            client.get(&content).await.assert_problem(404, "not_found");
        }
    }

    async fn a_repeated_upload_returns_the_first_file(w: &World) {
        let repeating = w.owner.with_header("Idempotency-Key", "upload-1");
        let first = upload(&repeating, "attachment", "a.pdf", PDF).await.created();
        let again = upload(&repeating, "attachment", "a.pdf", PDF).await.created();
        assert_eq!((again.id(), again.header("idempotent-replayed")), (first.id(), Some("true")));
        upload(&repeating, "attachment", "b.pdf", PDF).await.assert_problem(422, "idempotency_key_reused");
        assert_eq!(w.count("file").await, 1);
    }

    async fn unused_files_are_deleted_after_a_day(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        let used = upload(&w.owner, "logo", "a.png", &png(20, 20)).await.created();
        w.owner.patch(&team.path(""), json!({ "logo_file_id": used.id() })).await.ok();
        let unused = upload(&w.owner, "attachment", "a.pdf", PDF).await.created();
        let app = &w.node.app;
        // Bytes without a row, as a crash leaves them.
        let stray = format!("{}/{}", w.harbour, app.new_id::<touchline::ids::FileKind>());
        app.files.put(&stray, PDF.into()).await.unwrap();
        let clean_up = async || {
            jobs::remove_unattached_files(app).await;
            jobs::delete_removed_files(app).await;
            jobs::delete_stray_files(app).await;
        };
        clean_up().await;
        assert_eq!((stored_keys(w).await, w.count("file").await), (4, 2));
        w.advance_clock(seconds(DAY + 60));
        clean_up().await;
        assert_eq!((stored_keys(w).await, w.count("file").await), (2, 1));
        w.owner.get(&format!("/files/{}", unused.id())).await.assert_problem(404, "not_found");
        let attached_late = w.owner.post("/teams", json!({ "name": "Otters", "logo_file_id": unused.id() })).await;
        attached_late.assert_problem(422, "validation_failed");
        w.owner.get(&format!("/files/{}/content", used.id())).await.ok();
    }

    async fn a_coach_uploads_a_logo_on_the_page(w: &World) {
        let club = w.club().await;
        let mut coach = w.browser(club.coach.id).await;
        let path = format!("/teams/{}/logo", club.hawks);
        coach.get(&path).await.ok().shows("multipart/form-data");
        let empty = coach.upload(&path, &[], &[("file", "", b"")]).await;
        assert_eq!(empty.shows("Choose an image.").status, 422);
        let text = coach.upload(&path, &[], &[("file", "logo.png", b"<svg/>")]).await;
        assert_eq!(text.shows("not a JPEG, PNG, WebP or GIF image").status, 422);
        let large = coach.upload(&path, &[], &[("file", "logo.png", &vec![0xff; 11 * 1024 * 1024])]).await;
        assert_eq!(large.shows("at most 10 MB").status, 422);
        let image = png(300, 300);
        let saved = coach.upload(&path, &[], &[("file", "logo.png", &image)]).await;
        saved.redirects_to(&format!("{path}?done=saved"));
        let page = coach.get(&format!("{path}?done=saved")).await.ok().shows("Logo saved.");
        let url = page.text.split("src=\"/files/").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let url = format!("/files/{url}");
        let shown = coach.get(&url).await;
        assert_eq!((shown.status, shown.header("content-type")), (200, Some("image/png")));
        let etag = shown.header("etag").unwrap().to_owned();
        assert_eq!(coach.with_header("If-None-Match", &etag).get(&url).await.status, 304);
        // The parent sees the logo, but cannot change it. Others see nothing.
        let mut parent = w.browser(club.parent.id).await;
        assert_eq!(parent.get(&url).await.status, 200);
        assert_eq!(parent.get(&path).await.status, 403);
        assert_eq!(parent.upload(&path, &[], &[("file", "logo.png", &image)]).await.status, 403);
        assert_eq!(w.anonymous_browser().get(&url).await.status, 303);
        coach.csrf = Some("x".to_owned());
        assert_eq!(coach.upload(&path, &[], &[("file", "logo.png", &image)]).await.status, 403);
        coach.csrf = None;
        coach.get(&path).await.ok();
        coach.post(&path, &[("remove", "yes")]).await.redirects_to(&format!("{path}?done=removed"));
        assert_eq!(parent.get(&url).await.status, 404);
    }
}
