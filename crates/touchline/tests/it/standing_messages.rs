//! Stories about messages of users: what they see of them, and in whose name they write.

use testkit::{Cast, Client, Value, World, both, json};

use crate::standing::{acting, values};

/// A message to these members of the Hawks.
fn to(cast: &Cast, members: &[&str]) -> Value {
    json!({ "team_id": cast.hawks, "kind": "message", "body": "Hello",
        "audience": { "to": "members", "member_ids": members } })
}

fn announcement(team: &str) -> Value {
    json!({ "team_id": team, "kind": "announcement", "subject": "Sunday", "body": "Bring water." })
}

async fn ids(client: &Client) -> Vec<String> {
    let list = client.get("/messages?order=asc&status=all").await.ok();
    values(&list, "id").into_iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

both! {
    async fn a_family_reads_what_reached_it_and_what_it_wrote(w: &World) {
        let cast = w.cast().await;
        let (kim, pat, lia) =
            (acting(w, cast.coach.id).await, acting(w, cast.parent.id).await, acting(w, cast.player.id).await);
        let all = kim.post("/messages", announcement(&cast.hawks)).await.created();
        let foreign = w.owner.post("/messages", announcement(&cast.otters)).await.created();
        // Between Kim, Zoe and Lia; nothing for Pat or Max.
        let talk = kim.post("/messages", to(&cast, &[&cast.zoe.member, &cast.lia.member])).await.created();
        let mut later = announcement(&cast.hawks);
        later["publish_at"] = json!("2026-10-01T10:00:00Z");
        let later = kim.post("/messages", later).await.created();
        assert_eq!(ids(&kim).await, [all.id(), talk.id(), later.id()]);
        assert_eq!(ids(&lia).await, [all.id(), talk.id()]);
        assert_eq!(ids(&pat).await, [all.id()]);
        for hidden in [&talk, &later, &foreign] {
            let place = format!("/messages/{}", hidden.id());
            pat.get(&place).await.refused(404, "not_found");
            pat.delete(&place).await.refused(404, "not_found");
            pat.patch(&place, json!({ "metadata": {} })).await.refused(404, "not_found");
            pat.get(&format!("{place}/receipts")).await.refused(404, "not_found");
            pat.send("PUT", &format!("{place}/receipts/{}", cast.pat), None).await.refused(404, "not_found");
            pat.post("/messages", json!({ "parent_id": hidden.id(), "body": "Me too" })).await.refused(404, "not_found");
            let replies = pat.get(&format!("/messages?parent_id={}", hidden.id())).await.ok();
            assert_eq!(replies.data(), &json!([]));
            assert_eq!(pat.get(&format!("/messages?thread_id={}", hidden.id())).await.ok().data(), &json!([]));
        }
        // Who got and read what is for the author and whoever leads the team.
        let receipts = format!("/messages/{}/receipts", all.id());
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
        acting(w, cast.outsider.id).await.get("/messages").await.refused(403, "forbidden");
    }

    async fn users_write_as_themselves(w: &World) {
        let cast = w.cast().await;
        let (kim, pat) = (acting(w, cast.coach.id).await, acting(w, cast.parent.id).await);
        let body = to(&cast, &[&cast.kim.member, &cast.lia.member]);
        let said = pat.post("/messages", body.clone()).await.created();
        assert_eq!(said.data()["author"]["person_id"], cast.pat.as_str());
        assert_eq!(said.data()["author"]["id"], cast.pat.as_str());
        for other in [&cast.max.person, &cast.kim.person, &cast.zoe.person] {
            let mut forged = body.clone();
            forged["on_behalf_of"] = json!(other);
            for client in [&pat, &acting(w, cast.admin.id).await, &acting(w, cast.owner.id).await] {
                if *other != cast.pat {
                    client.post("/messages", forged.clone()).await.refused(403, "forbidden");
                }
            }
        }
        let mut own = body.clone();
        own["on_behalf_of"] = json!(cast.pat);
        pat.post("/messages", own).await.created();
        // To another team, to announce, to pin: not for a parent.
        pat.post("/messages", announcement(&cast.hawks)).await.refused(403, "forbidden");
        pat.post("/messages", announcement(&cast.otters)).await.refused(404, "not_found");
        let mut pinned = body.clone();
        pinned["pinned"] = json!(true);
        pat.post("/messages", pinned).await.refused(403, "forbidden");
        let place = format!("/messages/{}", said.id());
        pat.patch(&place, json!({ "pinned": true })).await.refused(403, "forbidden");
        pat.patch(&place, json!({ "metadata": { "a": "b" } })).await.ok();
        kim.patch(&place, json!({ "pinned": true })).await.ok();
        // Lia got it, but it is not hers.
        let lia = acting(w, cast.player.id).await;
        lia.get(&place).await.ok();
        lia.delete(&place).await.refused(403, "forbidden");
        lia.patch(&place, json!({ "metadata": {} })).await.refused(403, "forbidden");
        let reply = lia.post("/messages", json!({ "parent_id": said.id(), "body": "Yes" })).await.created();
        assert_eq!(reply.data()["author"]["person_id"], cast.lia.person.as_str());
        pat.delete(&format!("/messages/{}", reply.id())).await.refused(403, "forbidden");
        let retracted = pat.delete(&place).await.ok();
        assert_eq!(retracted.data()["retracted_by"], cast.parent.id.to_string());
        acting(w, cast.outsider.id).await.post("/messages", body).await.refused(403, "forbidden");
    }

    async fn whoever_runs_the_club_speaks_as_themselves_or_for_the_club(w: &World) {
        let cast = w.cast().await;
        let olga = acting(w, cast.owner.id).await;
        let said = olga.post("/messages", announcement(&cast.hawks)).await.created();
        assert_eq!(said.data()["author"]["id"], cast.owner.id.to_string());
        assert_eq!(said.data()["author"]["person_id"], Value::Null);
        // Adam helps out with the Hawks: there he is somebody, with the Otters he is not.
        let adam = w.joins(&cast.hawks, json!({ "first_name": "Adam", "role": "manager", "birth_date": "1970-01-01" })).await;
        w.link(&adam.person, cast.admin.id).await;
        let client = acting(w, cast.admin.id).await;
        let said = client.post("/messages", announcement(&cast.hawks)).await.created();
        assert_eq!(said.data()["author"]["person_id"], adam.person.as_str());
        let mut body = announcement(&cast.otters);
        let said = client.post("/messages", body.clone()).await.created();
        assert_eq!(said.data()["author"]["id"], cast.admin.id.to_string());
        body["on_behalf_of"] = json!(adam.person);
        client.post("/messages", body).await.refused(422, "validation_failed");
    }

    async fn the_second_adult_is_asked_for_whoever_writes(w: &World) {
        let cast = w.cast().await;
        let kim = acting(w, cast.coach.id).await;
        let alone = json!({ "first_name": "Tim", "birth_date": "2014-06-06" });
        let tim = w.joins(&cast.hawks, alone).await;
        let refused = kim.post("/messages", to(&cast, &[&tim.member])).await.refused(409, "conflict");
        assert_eq!(refused.body["errors"][0]["code"], "second_adult_required");
        // Zoe's mother joins; that Pat is no part of it stays true.
        let said = kim.post("/messages", to(&cast, &[&cast.zoe.member])).await.created();
        assert_eq!(said.data()["receipt_counts"]["delivered"], 2);
        acting(w, cast.parent.id).await.get(&format!("/messages/{}", said.id())).await.refused(404, "not_found");
    }
}
