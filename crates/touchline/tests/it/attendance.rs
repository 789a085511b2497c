//! Tests of attendance: recording it by API and on the page, rates, exports, and who sees what.

use testkit::{Browser, TestResponse, Value, World, both, json, seconds};

use crate::events::{event_path, notifications_of, practice};
use crate::mail::DAY;
use crate::roster_access::client_with_all_scopes;

/// A practice in an hour.
async fn soon(w: &World, team: &str) -> TestResponse {
    let body = practice(team, "2026-09-05T11:00:00Z", "2026-09-05T12:30:00Z");
    w.owner.post("/events", body).await.created()
}

fn entry(member: &str, status: &str) -> Value {
    json!({ "member_id": member, "status": status })
}

/// The recorded status of each member.
fn statuses(sheet: &TestResponse) -> Vec<(&str, &str)> {
    let entries = sheet.data()["entries"].as_array().unwrap().iter();
    entries
        .map(|one| (one["member_id"].as_str().unwrap(), one["status"].as_str().unwrap()))
        .collect()
}

/// What is sent when the page is saved with these choices.
async fn save(
    browser: &mut Browser,
    path: &str,
    version: &str,
    choices: &[(&str, &str)],
) -> TestResponse {
    let mut fields = vec![("version".to_owned(), version.to_owned())];
    fields.extend(choices.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    browser.post(path, &fields).await
}

fn version(page: &TestResponse) -> String {
    let rest = page.text.split("name=\"version\" value=\"").nth(1).expect("a form");
    rest.split('"').next().unwrap().to_owned()
}

fn is_checked(page: &TestResponse, member: &str, status: &str) -> bool {
    let input = format!("name=\"s-{member}\" value=\"{status}\"");
    let rest =
        page.text.split(&input).nth(1).unwrap_or_else(|| panic!("no {input}: {}", page.text));
    rest.split('>').next().unwrap().contains("checked")
}

both! {
    async fn coaches_record_attendance_and_families_see_their_own(w: &World) {
        let club = w.club().await;
        let event = soon(w, &club.hawks).await;
        let path = event_path(&event, "/attendance");
        let coach = client_with_all_scopes(w, club.coach.id).await;
        let parent = client_with_all_scopes(w, club.parent.id).await;
        let empty = coach.get(&path).await.ok();
        assert_eq!((&empty.data()["entries"], &empty.data()["version"]), (&json!([]), &json!(1)));
        let late = json!({ "member_id": club.max.member, "status": "late", "note": "Bus trouble" });
        let body = json!({ "entries": [late, entry(&club.lia.member, "present")] });
        let with_key = coach.with_header("Idempotency-Key", "first");
        let first = with_key.put(&path, body.clone()).await.ok();
        assert_eq!(first.data()["entries"][0]["recorded_by"], json!(club.coach.id.to_string()));
        assert_eq!(with_key.put(&path, body.clone()).await.ok().header("idempotent-replayed"), Some("true"));
        // Members who are left out stay unchanged, and nothing is published if nothing changes.
        let second = coach.put(&path, json!({ "entries": [entry(&club.zoe.member, "absent")] })).await.ok();
        assert_eq!(statuses(&second).len(), 3);
        coach.put(&path, body.clone()).await.ok();
        assert_eq!(coach.get(&path).await.ok().data(), second.data());
        let etag = format!("\"{}\"", first.data()["version"]);
        coach.with_header("If-Match", &etag).put(&path, body).await.assert_problem(412, "precondition_failed");
        let published = notifications_of(w, "attendance.recorded").await;
        assert_eq!(published.len(), 2);
        assert_eq!(published[1]["data"]["previous"]["entries"].as_array().unwrap().len(), 2);
        assert!(!published[0].to_string().contains("Bus trouble"), "{}", published[0]);
        // A parent sees the own child, with the note; the player herself.
        let own = parent.get(&path).await.ok();
        assert_eq!(statuses(&own), [(club.max.member.as_str(), "late")]);
        assert_eq!(own.data()["entries"][0]["note"], "Bus trouble");
        parent.put(&path, json!({ "entries": [] })).await.assert_problem(403, "forbidden");
        let other = event_path(&soon(w, &club.otters).await, "/attendance");
        for client in [&coach, &parent] {
            client.get(&other).await.assert_problem(404, "not_found");
        }
        // Rates.
        let rates = format!("/teams/{}/attendance", club.hawks);
        let all = coach.get(&rates).await.ok();
        let of = |member: &str| all.data().as_array().unwrap().iter().find(|one| one["member_id"] == member).unwrap().clone();
        let max = of(&club.max.member);
        assert_eq!((&max["late"], &max["rate"]), (&json!(1), &json!(1.0)));
        assert_eq!((&of(&club.zoe.member)["absent"], &of(&club.zoe.member)["rate"]), (&json!(1), &json!(0.0)));
        assert_eq!(of(&club.kim.member)["rate"], Value::Null);
        let own = parent.get(&rates).await.ok();
        assert_eq!(own.data().as_array().unwrap().len(), 1);
        let later = coach.get(&format!("{rates}?from=2026-09-06")).await.ok();
        assert!(later.data().as_array().unwrap().iter().all(|one| one["rate"].is_null()));
        let csv = coach.get("/exports/attendance.csv").await.ok();
        assert!(csv.text.contains("Max") && csv.text.contains("Bus trouble"), "{}", csv.text);
        // Personal data: the note is exported and erased, the attendance itself stays.
        let person = format!("/people/{}", club.max.person);
        let export = w.owner.get(&format!("{person}/export")).await.ok();
        assert_eq!(export.data()["attendance"][0]["note"], "Bus trouble");
        w.owner.post(&format!("{person}/erase"), json!({})).await.ok();
        let erased = w.owner.get(&path).await.ok();
        assert_eq!(statuses(&erased).len(), 3);
        assert!(!erased.text.contains("Bus trouble"));
    }

    async fn rejects_wrong_members_and_events(w: &World) {
        let club = w.club().await;
        let event = soon(w, &club.hawks).await;
        let path = event_path(&event, "/attendance");
        let removed = w.add_member(&club.hawks, json!({ "first_name": "Gone" })).await;
        let removed_path = format!("/teams/{}/roster/{}", club.hawks, removed.member);
        w.owner.patch(&removed_path, json!({ "left_on": "2026-09-01" })).await.ok();
        w.owner.delete(&removed_path).await.ok();
        let entries = json!([entry(&club.max.member, "present"), entry(&club.max.member, "late"),
            entry(&club.ole.member, "present"), entry(&removed.member, "present")]);
        let refused = w.owner.put(&path, json!({ "entries": entries })).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/entries/1/member_id", "/entries/2/member_id", "/entries/3/member_id"]);
        let wrong = json!({ "entries": [entry(&club.max.member, "asleep")] });
        assert_eq!(w.owner.put(&path, wrong).await.assert_problem(422, "validation_failed").pointers(), ["/entries/0/status"]);
        let one = || json!({ "entries": [entry(&club.max.member, "present")] });
        let body = practice(&club.hawks, "2026-09-07T11:00:00Z", "2026-09-07T12:00:00Z");
        let next = w.owner.post("/events", body).await.created();
        w.owner.put(&event_path(&next, "/attendance"), one()).await.assert_problem(409, "invalid_state");
        w.advance_clock(seconds(2 * DAY));
        w.owner.put(&event_path(&next, "/attendance"), one()).await.ok();
        // What was recorded is not lost.
        w.owner.delete(&event_path(&next, "")).await.assert_problem(409, "invalid_state");
        w.owner.post(&event_path(&event, "/cancel"), json!({})).await.ok();
        w.owner.put(&path, one()).await.assert_problem(409, "invalid_state");
    }

    async fn the_page_is_filled_in_from_the_answers(w: &World) {
        let club = w.club().await;
        let event = soon(w, &club.hawks).await;
        for (member, answer) in [(&club.max.member, "yes"), (&club.lia.member, "no")] {
            w.owner.put(&event_path(&event, &format!("/rsvps/{member}")), json!({ "answer": answer, "note": "<b>Dentist" })).await.ok();
        }
        let path = event_path(&event, "/attendance");
        let mut coach = w.browser(club.coach.id).await;
        let page = coach.get(&path).await.ok().shows("&#60;b&#62;Dentist").shows("No answer").shows("1 present, 1 not present");
        assert!(is_checked(&page, &club.max.member, "present") && is_checked(&page, &club.lia.member, "excused"));
        assert!(!page.text.contains(&club.kim.member), "coaches are not on the list");
        let first = version(&page);
        assert_eq!(save(&mut coach, &path, &first, &[]).await.status, 422);
        let (max, lia, zoe) = (format!("s-{}", club.max.member), format!("s-{}", club.lia.member), format!("s-{}", club.zoe.member));
        let note = format!("n-{}", club.lia.member);
        // Marking the rest saves nothing yet.
        let filled = save(&mut coach, &path, &first, &[(&lia, "excused"), (&note, "Dentist"), ("rest", "present")]).await.ok();
        assert!(is_checked(&filled, &club.zoe.member, "present") && is_checked(&filled, &club.lia.member, "excused"));
        assert!(filled.text.contains("value=\"Dentist\"") && version(&filled) == first);
        let choices = [(max.as_str(), "late"), (&lia, "excused"), (&zoe, "present"), (&note, "Dentist")];
        let done = format!("{path}?done=saved");
        save(&mut coach, &path, &first, &choices).await.redirects_to(&done);
        // The same form again is no conflict.
        save(&mut coach, &path, &first, &choices).await.redirects_to(&done);
        coach.get(&done).await.ok().shows("Attendance saved.").shows("Recorded by");
        // Somebody else changes an entry while the page is open.
        let open = version(&coach.get(&path).await.ok());
        w.owner.put(&path, json!({ "entries": [entry(&club.zoe.member, "absent")] })).await.ok();
        let choices = [(max.as_str(), "present"), (&lia, "excused"), (&zoe, "present"), (&note, "Dentist")];
        let conflict = save(&mut coach, &path, &open, &choices).await;
        assert_eq!(conflict.status, 409);
        let conflict = conflict.shows("Now recorded: <bdi>Absent</bdi>");
        assert!(is_checked(&conflict, &club.zoe.member, "present"));
        save(&mut coach, &path, &version(&conflict), &choices).await.redirects_to(&done);
        let sheet = w.owner.get(&path).await.ok();
        assert!(statuses(&sheet).contains(&(club.zoe.member.as_str(), "present")));
        // Families do not record attendance.
        for (user, status) in [(&club.parent, 403), (&club.outsider, 404)] {
            assert_eq!(w.browser(user.id).await.get(&path).await.status, status);
        }
        // The overview: a coach sees everybody and the file, a parent the own child.
        let overview = format!("/teams/{}/attendance", club.hawks);
        coach.get(&overview).await.ok().shows("Zoe").shows("100%").shows("attendance.csv");
        coach.get(&format!("{overview}?from=2027-01-01&to=nonsense")).await.ok().shows("–");
        coach.get(&format!("{overview}.csv?from=2026-09-01")).await.ok().shows("Dentist");
        let mut parent = w.browser(club.parent.id).await;
        let own = parent.get(&overview).await.ok().shows("Max");
        assert!(!own.text.contains("Zoe") && !own.text.contains("attendance.csv"));
        assert_eq!(parent.get(&format!("{overview}.csv")).await.status, 403);
    }

    async fn the_page_of_a_member_shows_their_attendance(w: &World) {
        let club = w.club().await;
        for status in ["present", "late", "absent"] {
            let path = event_path(&soon(w, &club.hawks).await, "/attendance");
            w.owner.put(&path, json!({ "entries": [entry(&club.max.member, status)] })).await.ok();
        }
        let max = format!("/teams/{}/roster/{}", club.hawks, club.max.member);
        for user in [club.coach.id, club.parent.id] {
            w.browser(user).await.get(&max).await.ok().shows("Present at 2 of 3 events").shows("1 late · 0 excused · 1 absent");
        }
        let other = w.browser(club.player.id).await.get(&max).await.ok();
        assert!(!other.text.contains("There at"));
    }
}
