//! Tests of users' messages: what they see, and on whose behalf they write.

use testkit::{Client, TestClub, Value, World, both, json};

use crate::roster_access::{client_with_all_scopes, field_values};

/// The body of a message to these members of the Hawks.
fn to(club: &TestClub, members: &[&str]) -> Value {
    json!({ "team_id": club.hawks, "kind": "message", "body": "Hello",
        "audience": { "to": "members", "member_ids": members } })
}

fn announcement(team: &str) -> Value {
    json!({ "team_id": team, "kind": "announcement", "subject": "Sunday", "body": "Bring water." })
}

async fn ids(client: &Client) -> Vec<String> {
    let list = client.get("/messages?order=asc&status=all").await.ok();
    field_values(&list, "id").into_iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

both! {
    async fn families_read_only_messages_they_received_or_wrote(w: &World) {
        let club = w.club().await;
        let (kim, pat, lia) =
            (client_with_all_scopes(w, club.coach.id).await, client_with_all_scopes(w, club.parent.id).await, client_with_all_scopes(w, club.player.id).await);
        let announcement_sent = kim.post("/messages", announcement(&club.hawks)).await.created();
        let otters_announcement = w.owner.post("/messages", announcement(&club.otters)).await.created();
        // Between Kim, Zoe and Lia; nothing for Pat or Max.
        let conversation = kim.post("/messages", to(&club, &[&club.zoe.member, &club.lia.member])).await.created();
        let mut scheduled = announcement(&club.hawks);
        scheduled["publish_at"] = json!("2026-10-01T10:00:00Z");
        let scheduled = kim.post("/messages", scheduled).await.created();
        assert_eq!(ids(&kim).await, [announcement_sent.id(), conversation.id(), scheduled.id()]);
        assert_eq!(ids(&lia).await, [announcement_sent.id(), conversation.id()]);
        assert_eq!(ids(&pat).await, [announcement_sent.id()]);
        for hidden in [&conversation, &scheduled, &otters_announcement] {
            let path = format!("/messages/{}", hidden.id());
            pat.get(&path).await.assert_problem(404, "not_found");
            pat.delete(&path).await.assert_problem(404, "not_found");
            pat.patch(&path, json!({ "metadata": {} })).await.assert_problem(404, "not_found");
            pat.get(&format!("{path}/receipts")).await.assert_problem(404, "not_found");
            pat.send("PUT", &format!("{path}/receipts/{}", club.pat), None).await.assert_problem(404, "not_found");
            pat.post("/messages", json!({ "parent_id": hidden.id(), "body": "Me too" })).await.assert_problem(422, "validation_failed");
            let replies = pat.get(&format!("/messages?parent_id={}", hidden.id())).await.ok();
            assert_eq!(replies.data(), &json!([]));
            assert_eq!(pat.get(&format!("/messages?thread_id={}", hidden.id())).await.ok().data(), &json!([]));
        }
        // Receipts are visible to the author and to coaches of the team.
        let receipts = format!("/messages/{}/receipts", announcement_sent.id());
        kim.get(&receipts).await.ok();
        pat.get(&receipts).await.assert_problem(403, "forbidden");
        pat.get(&format!("/messages?person_id={}&unread=true", club.zoe.person)).await.assert_problem(403, "forbidden");
        pat.get(&format!("/messages/unread?person_id={}", club.zoe.person)).await.assert_problem(403, "forbidden");
        assert_eq!(pat.get(&format!("/messages/unread?person_id={}", club.max.person)).await.ok().data()["total"], 1);
        pat.send("PUT", &format!("{receipts}/{}", club.max.person), None).await.ok();
        pat.send("PUT", &format!("{receipts}/{}", club.zoe.person), None).await.assert_problem(403, "forbidden");
        kim.send("PUT", &format!("{receipts}/{}", club.zoe.person), None).await.assert_problem(403, "forbidden");
        kim.get(&format!("/messages?person_id={}", club.zoe.person)).await.ok();
        kim.get(&format!("/messages?person_id={}", club.ole.person)).await.ok();
        kim.get(&format!("/messages/unread?person_id={}", club.ole.person)).await.assert_problem(404, "not_found");
        client_with_all_scopes(w, club.outsider.id).await.get("/messages").await.assert_problem(403, "forbidden");
    }

    async fn users_write_only_as_themselves(w: &World) {
        let club = w.club().await;
        let (kim, pat) = (client_with_all_scopes(w, club.coach.id).await, client_with_all_scopes(w, club.parent.id).await);
        let body = to(&club, &[&club.kim.member, &club.lia.member]);
        let message = pat.post("/messages", body.clone()).await.created();
        assert_eq!(message.data()["author"]["person_id"], club.pat.as_str());
        assert_eq!(message.data()["author"]["id"], club.pat.as_str());
        for other in [&club.max.person, &club.kim.person, &club.zoe.person] {
            let mut forged = body.clone();
            forged["on_behalf_of"] = json!(other);
            for client in [&pat, &client_with_all_scopes(w, club.admin.id).await, &client_with_all_scopes(w, club.owner.id).await] {
                if *other != club.pat {
                    client.post("/messages", forged.clone()).await.assert_problem(403, "forbidden");
                }
            }
        }
        let mut own = body.clone();
        own["on_behalf_of"] = json!(club.pat);
        pat.post("/messages", own).await.created();
        // A parent cannot write to another team, announce or pin.
        pat.post("/messages", announcement(&club.hawks)).await.assert_problem(403, "forbidden");
        pat.post("/messages", announcement(&club.otters)).await.assert_problem(422, "validation_failed");
        let mut pinned = body.clone();
        pinned["pinned"] = json!(true);
        pat.post("/messages", pinned).await.assert_problem(403, "forbidden");
        let path = format!("/messages/{}", message.id());
        pat.patch(&path, json!({ "pinned": true })).await.assert_problem(403, "forbidden");
        pat.patch(&path, json!({ "metadata": { "a": "b" } })).await.ok();
        kim.patch(&path, json!({ "pinned": true })).await.ok();
        // Lia received it, but did not write it.
        let lia = client_with_all_scopes(w, club.player.id).await;
        lia.get(&path).await.ok();
        lia.delete(&path).await.assert_problem(403, "forbidden");
        lia.patch(&path, json!({ "metadata": {} })).await.assert_problem(403, "forbidden");
        let reply = lia.post("/messages", json!({ "parent_id": message.id(), "body": "Yes" })).await.created();
        assert_eq!(reply.data()["author"]["person_id"], club.lia.person.as_str());
        pat.delete(&format!("/messages/{}", reply.id())).await.assert_problem(403, "forbidden");
        let retracted = pat.delete(&path).await.ok();
        assert_eq!(retracted.data()["retracted_by"], club.parent.id.to_string());
        client_with_all_scopes(w, club.outsider.id).await.post("/messages", body).await.assert_problem(403, "forbidden");
    }

    async fn admins_write_as_themselves_or_for_the_club(w: &World) {
        let club = w.club().await;
        let olga = client_with_all_scopes(w, club.owner.id).await;
        let message = olga.post("/messages", announcement(&club.hawks)).await.created();
        assert_eq!(message.data()["author"]["id"], club.owner.id.to_string());
        assert_eq!(message.data()["author"]["person_id"], Value::Null);
        // Adam is a member of the Hawks, but not of the Otters.
        let adam = w.add_member(&club.hawks, json!({ "first_name": "Adam", "role": "manager", "birth_date": "1970-01-01" })).await;
        w.link(&adam.person, club.admin.id).await;
        let client = client_with_all_scopes(w, club.admin.id).await;
        let message = client.post("/messages", announcement(&club.hawks)).await.created();
        assert_eq!(message.data()["author"]["person_id"], adam.person.as_str());
        let mut body = announcement(&club.otters);
        let message = client.post("/messages", body.clone()).await.created();
        assert_eq!(message.data()["author"]["id"], club.admin.id.to_string());
        body["on_behalf_of"] = json!(adam.person);
        client.post("/messages", body).await.assert_problem(422, "validation_failed");
    }

    async fn second_adult_is_required_for_every_author(w: &World) {
        let club = w.club().await;
        let kim = client_with_all_scopes(w, club.coach.id).await;
        let without_guardian = json!({ "first_name": "Tim", "birth_date": "2014-06-06" });
        let tim = w.add_member(&club.hawks, without_guardian).await;
        let refused = kim.post("/messages", to(&club, &[&tim.member])).await.assert_problem(409, "conflict");
        assert_eq!(refused.body["errors"][0]["code"], "second_adult_required");
        // Zoe's mother is added; Pat is not.
        let message = kim.post("/messages", to(&club, &[&club.zoe.member])).await.created();
        assert_eq!(message.data()["receipt_counts"]["delivered"], 2);
        client_with_all_scopes(w, club.parent.id).await.get(&format!("/messages/{}", message.id())).await.assert_problem(404, "not_found");
    }
}
