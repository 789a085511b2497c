//! Tests of users' messages: what they see, and on whose behalf they write.

use testkit::{Cast, Client, Value, World, both, json};

use crate::roster_access::{client_with_all_scopes, field_values};

/// The body of a message to these members of the Hawks.
fn to(cast: &Cast, members: &[&str]) -> Value {
    json!({ "team_id": cast.hawks, "kind": "message", "body": "Hello",
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
        let cast = w.cast().await;
        let (kim, pat, lia) =
            (client_with_all_scopes(w, cast.coach.id).await, client_with_all_scopes(w, cast.parent.id).await, client_with_all_scopes(w, cast.player.id).await);
        let announcement_sent = kim.post("/messages", announcement(&cast.hawks)).await.created();
        let otters_announcement = w.owner.post("/messages", announcement(&cast.otters)).await.created();
        // Between Kim, Zoe and Lia; nothing for Pat or Max.
        let conversation = kim.post("/messages", to(&cast, &[&cast.zoe.member, &cast.lia.member])).await.created();
        let mut scheduled = announcement(&cast.hawks);
        scheduled["publish_at"] = json!("2026-10-01T10:00:00Z");
        let scheduled = kim.post("/messages", scheduled).await.created();
        assert_eq!(ids(&kim).await, [announcement_sent.id(), conversation.id(), scheduled.id()]);
        assert_eq!(ids(&lia).await, [announcement_sent.id(), conversation.id()]);
        assert_eq!(ids(&pat).await, [announcement_sent.id()]);
        for hidden in [&conversation, &scheduled, &otters_announcement] {
            let path = format!("/messages/{}", hidden.id());
            pat.get(&path).await.refused(404, "not_found");
            pat.delete(&path).await.refused(404, "not_found");
            pat.patch(&path, json!({ "metadata": {} })).await.refused(404, "not_found");
            pat.get(&format!("{path}/receipts")).await.refused(404, "not_found");
            pat.send("PUT", &format!("{path}/receipts/{}", cast.pat), None).await.refused(404, "not_found");
            pat.post("/messages", json!({ "parent_id": hidden.id(), "body": "Me too" })).await.refused(404, "not_found");
            let replies = pat.get(&format!("/messages?parent_id={}", hidden.id())).await.ok();
            assert_eq!(replies.data(), &json!([]));
            assert_eq!(pat.get(&format!("/messages?thread_id={}", hidden.id())).await.ok().data(), &json!([]));
        }
        // Receipts are visible to the author and to coaches of the team.
        let receipts = format!("/messages/{}/receipts", announcement_sent.id());
        kim.get(&receipts).await.ok();
        pat.get(&receipts).await.refused(403, "forbidden");
        pat.get(&format!("/messages?person_id={}&unread=true", cast.zoe.person)).await.refused(403, "forbidden");
        pat.get(&format!("/messages/unread?person_id={}", cast.zoe.person)).await.refused(403, "forbidden");
        assert_eq!(pat.get(&format!("/messages/unread?person_id={}", cast.max.person)).await.ok().data()["total"], 1);
        pat.send("PUT", &format!("{receipts}/{}", cast.max.person), None).await.ok();
        pat.send("PUT", &format!("{receipts}/{}", cast.zoe.person), None).await.refused(403, "forbidden");
        kim.send("PUT", &format!("{receipts}/{}", cast.zoe.person), None).await.refused(403, "forbidden");
        kim.get(&format!("/messages?person_id={}", cast.zoe.person)).await.ok();
        kim.get(&format!("/messages?person_id={}", cast.ole.person)).await.ok();
        kim.get(&format!("/messages/unread?person_id={}", cast.ole.person)).await.refused(404, "not_found");
        client_with_all_scopes(w, cast.outsider.id).await.get("/messages").await.refused(403, "forbidden");
    }

    async fn users_write_only_as_themselves(w: &World) {
        let cast = w.cast().await;
        let (kim, pat) = (client_with_all_scopes(w, cast.coach.id).await, client_with_all_scopes(w, cast.parent.id).await);
        let body = to(&cast, &[&cast.kim.member, &cast.lia.member]);
        let message = pat.post("/messages", body.clone()).await.created();
        assert_eq!(message.data()["author"]["person_id"], cast.pat.as_str());
        assert_eq!(message.data()["author"]["id"], cast.pat.as_str());
        for other in [&cast.max.person, &cast.kim.person, &cast.zoe.person] {
            let mut forged = body.clone();
            forged["on_behalf_of"] = json!(other);
            for client in [&pat, &client_with_all_scopes(w, cast.admin.id).await, &client_with_all_scopes(w, cast.owner.id).await] {
                if *other != cast.pat {
                    client.post("/messages", forged.clone()).await.refused(403, "forbidden");
                }
            }
        }
        let mut own = body.clone();
        own["on_behalf_of"] = json!(cast.pat);
        pat.post("/messages", own).await.created();
        // A parent cannot write to another team, announce or pin.
        pat.post("/messages", announcement(&cast.hawks)).await.refused(403, "forbidden");
        pat.post("/messages", announcement(&cast.otters)).await.refused(404, "not_found");
        let mut pinned = body.clone();
        pinned["pinned"] = json!(true);
        pat.post("/messages", pinned).await.refused(403, "forbidden");
        let path = format!("/messages/{}", message.id());
        pat.patch(&path, json!({ "pinned": true })).await.refused(403, "forbidden");
        pat.patch(&path, json!({ "metadata": { "a": "b" } })).await.ok();
        kim.patch(&path, json!({ "pinned": true })).await.ok();
        // Lia received it, but did not write it.
        let lia = client_with_all_scopes(w, cast.player.id).await;
        lia.get(&path).await.ok();
        lia.delete(&path).await.refused(403, "forbidden");
        lia.patch(&path, json!({ "metadata": {} })).await.refused(403, "forbidden");
        let reply = lia.post("/messages", json!({ "parent_id": message.id(), "body": "Yes" })).await.created();
        assert_eq!(reply.data()["author"]["person_id"], cast.lia.person.as_str());
        pat.delete(&format!("/messages/{}", reply.id())).await.refused(403, "forbidden");
        let retracted = pat.delete(&path).await.ok();
        assert_eq!(retracted.data()["retracted_by"], cast.parent.id.to_string());
        client_with_all_scopes(w, cast.outsider.id).await.post("/messages", body).await.refused(403, "forbidden");
    }

    async fn admins_write_as_themselves_or_for_the_club(w: &World) {
        let cast = w.cast().await;
        let olga = client_with_all_scopes(w, cast.owner.id).await;
        let message = olga.post("/messages", announcement(&cast.hawks)).await.created();
        assert_eq!(message.data()["author"]["id"], cast.owner.id.to_string());
        assert_eq!(message.data()["author"]["person_id"], Value::Null);
        // Adam is a member of the Hawks, but not of the Otters.
        let adam = w.add_member(&cast.hawks, json!({ "first_name": "Adam", "role": "manager", "birth_date": "1970-01-01" })).await;
        w.link(&adam.person, cast.admin.id).await;
        let client = client_with_all_scopes(w, cast.admin.id).await;
        let message = client.post("/messages", announcement(&cast.hawks)).await.created();
        assert_eq!(message.data()["author"]["person_id"], adam.person.as_str());
        let mut body = announcement(&cast.otters);
        let message = client.post("/messages", body.clone()).await.created();
        assert_eq!(message.data()["author"]["id"], cast.admin.id.to_string());
        body["on_behalf_of"] = json!(adam.person);
        client.post("/messages", body).await.refused(422, "validation_failed");
    }

    async fn second_adult_is_required_for_every_author(w: &World) {
        let cast = w.cast().await;
        let kim = client_with_all_scopes(w, cast.coach.id).await;
        let without_guardian = json!({ "first_name": "Tim", "birth_date": "2014-06-06" });
        let tim = w.add_member(&cast.hawks, without_guardian).await;
        let refused = kim.post("/messages", to(&cast, &[&tim.member])).await.refused(409, "conflict");
        assert_eq!(refused.body["errors"][0]["code"], "second_adult_required");
        // Zoe's mother is added; Pat is not.
        let message = kim.post("/messages", to(&cast, &[&cast.zoe.member])).await.created();
        assert_eq!(message.data()["receipt_counts"]["delivered"], 2);
        client_with_all_scopes(w, cast.parent.id).await.get(&format!("/messages/{}", message.id())).await.refused(404, "not_found");
    }
}
