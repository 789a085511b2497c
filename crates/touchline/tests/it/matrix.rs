//! The permission matrix: every operation of the OpenAPI description, called by everybody in the
//! test club with every scope. An operation that is missing from the table fails the test.

use store::{Scope, bind};
use testkit::{Client, TestClub, TestResponse, Value, World, both, json};

use crate::away_dates::create_away_date;
use crate::cards::checkout_of;
use crate::files::photo_of;
use crate::mail::queue_one_email;
use crate::message_templates::create_template;
use crate::openapi::operations;
use crate::roster_access::{client_with_all_scopes, clients_of_cast};
use crate::shop::create_store_objects;
use crate::tenant_isolation::{
    fill_path, paid_due, send_example, tested_webhook, with_example_team, with_person_query,
};

/// The outcome per caller: `+` allowed, `-` forbidden (403), `0` not found (404). The columns are
/// owner, admin, coach, parent, player and outsider with somebody else's objects, then the parent
/// with their own.
const TABLE: &[(&str, &str)] = &[
    ("me.get", "++++++ +"),
    // The example is an attachment.
    ("files.create", "+++++- +"),
    // A photo of a person.
    ("files.get", "+++00- +"),
    ("files.download", "+++00- +"),
    ("teams.list", "+++++- +"),
    ("teams.create", "++---- -"),
    ("teams.get", "+++++- +"),
    ("teams.update", "+++--- -"),
    ("teams.archive", "++---- -"),
    ("teams.restore", "++---- -"),
    ("roster.list", "+++++- +"),
    ("roster.add", "+++--- -"),
    ("roster.get", "+++++- +"),
    ("roster.update", "+++--- -"),
    ("roster.remove", "+++--- -"),
    ("roster.add_batch", "+++--- -"),
    ("people.list", "+++--- -"),
    ("people.get", "+++00- +"),
    ("people.update", "+++--- -"),
    ("people.confirm_adult", "++---- -"),
    ("people.mark_minor", "+++--- -"),
    ("people.request_email_confirmation", "+++--- -"),
    ("people.export", "++---- -"),
    ("away_dates.list", "+++00- +"),
    ("away_dates.create", "+++00- +"),
    ("away_dates.delete", "+++00- +"),
    ("people.merge", "++---- -"),
    ("people.erase", "++---- -"),
    ("events.list", "+++++- +"),
    ("events.create", "+++--- -"),
    ("events.get", "+++++- +"),
    ("events.update", "+++--- -"),
    ("events.delete", "+++--- -"),
    ("events.cancel", "+++--- -"),
    ("events.postpone", "+++--- -"),
    ("results.record", "+++--- -"),
    ("results.delete", "+++--- -"),
    ("rsvps.list", "+++++- +"),
    ("rsvps.get", "+++++- +"),
    ("rsvps.answer", "+++--- +"),
    ("rsvps.list_history", "+++--- -"),
    ("rsvps.list_unanswered", "+++--- -"),
    // Families see the entries of their own members.
    ("attendance.get", "+++++- +"),
    ("attendance.record", "+++--- -"),
    ("attendance.list_for_team", "+++++- +"),
    ("duties.assign", "+++--- +"),
    ("duties.unassign", "+++--- +"),
    ("locations.list", "+++++- +"),
    ("locations.create", "+++--- -"),
    ("locations.get", "+++++- +"),
    ("locations.update", "++---- -"),
    ("locations.archive", "++---- -"),
    ("calendar_feeds.list", "+++++- +"),
    ("calendar_feeds.create", "+++++- +"),
    ("calendar_feeds.get", "+++00- +"),
    ("calendar_feeds.revoke", "+++00- +"),
    ("messages.list", "+++++- +"),
    // The example is an announcement; what families may send is tested in `roster_access_messages`.
    ("messages.create", "+++--- -"),
    ("messages.preview", "+++--- -"),
    ("messages.count_unread", "+++--- +"),
    ("messages.get", "+++00- +"),
    // The example pins the message.
    ("messages.update", "+++00- -"),
    ("messages.retract", "+++00- +"),
    ("messages.list_receipts", "+++00- +"),
    // Only the reader can mark a message as read.
    ("messages.mark_read", "++-00- +"),
    ("message_templates.list", "+++--- -"),
    ("message_templates.create", "++---- -"),
    ("message_templates.get", "+++--- -"),
    ("message_templates.update", "++---- -"),
    ("message_templates.delete", "++---- -"),
    ("payment_settings.get", "+++++- +"),
    ("payment_settings.update", "++---- -"),
    ("dues.list", "+++++- +"),
    ("dues.charge", "+++--- -"),
    ("dues.remind_team", "+++--- -"),
    ("dues.get", "+++00- +"),
    ("dues.update", "+++--- -"),
    ("dues.waive", "+++--- -"),
    ("dues.remind", "+++--- -"),
    ("dues.payments.list", "+++00- +"),
    // The example is a bank transfer; families may only pay from their credit.
    ("dues.payments.create", "+++00- -"),
    ("dues.payments.get", "+++00- +"),
    ("dues.payments.refund", "+++--- -"),
    ("dues.team_statement", "+++--- -"),
    ("dues.statement", "+++--- +"),
    ("notification_settings.get", "+++++- +"),
    ("notification_settings.update", "+++++- +"),
    ("emails.list", "++---- -"),
    ("emails.get", "++---- -"),
    ("payment_settings.get", "+++++- +"),
    ("payment_settings.update", "++---- -"),
    ("products.list", "+++++- +"),
    ("products.create", "+++--- -"),
    ("products.get", "+++++- +"),
    ("products.update", "+++--- -"),
    ("products.archive", "+++--- -"),
    ("discounts.list", "++---- -"),
    ("discounts.create", "++---- -"),
    ("discounts.get", "++---- -"),
    ("discounts.update", "++---- -"),
    ("discounts.archive", "++---- -"),
    ("orders.list", "+++++- +"),
    // The example names an unknown product; who may order for whom is tested in `shop_people`.
    ("orders.create", "+++++- +"),
    ("orders.get", "+++00- +"),
    ("orders.update", "+++--- -"),
    ("orders.pay", "+++--- -"),
    ("orders.fulfill", "+++--- -"),
    ("orders.cancel", "+++00- +"),
    ("orders.refund", "+++--- -"),
    ("orders.payments.list", "+++00- +"),
    ("orders.refunds.list", "+++00- +"),
    ("payments.list", "+++++- +"),
    ("refunds.list", "+++++- +"),
    ("orders.erase_buyer", "++---- -"),
    ("orders.checkout", "+++00- +"),
    ("dues.checkout", "+++00- +"),
    ("checkouts.get", "+++00- +"),
    ("notifications.list", "++---- -"),
    ("notifications.follow", "++---- -"),
    ("exports.roster", "+++--- -"),
    ("exports.events", "+++--- -"),
    ("exports.rsvps", "+++--- -"),
    ("exports.attendance", "+++--- -"),
    ("exports.orders", "+++--- -"),
    ("exports.dues", "+++--- -"),
    ("exports.ledger", "++---- -"),
    ("webhooks.list", "++---- -"),
    ("webhooks.create", "++---- -"),
    ("webhooks.get", "++---- -"),
    ("webhooks.update", "++---- -"),
    ("webhooks.delete", "++---- -"),
    ("webhooks.rotate_secret", "++---- -"),
    ("webhooks.test", "++---- -"),
    ("webhooks.replay", "++---- -"),
    ("webhooks.enable", "++---- -"),
    ("webhooks.disable", "++---- -"),
    ("deliveries.list", "++---- -"),
    ("deliveries.get", "++---- -"),
    ("deliveries.redeliver", "++---- -"),
    ("event_types.list", "++++++ +"),
];

/// A name that is used once, and is not the id itself.
fn name_from(id: &str) -> String {
    id.chars().rev().collect()
}

/// A game with a duty.
async fn create_game(w: &World, team: &str, location: &str) -> TestResponse {
    let game = json!({ "team_id": team, "type": "game", "starts_at": "2026-09-10T18:00",
        "location_id": location, "duties": [{ "name": "Oranges" }] });
    w.owner.post("/events", game).await.created()
}

/// A message from the coach to a child, or from the parent to the child and the coach.
async fn write_to_child(
    w: &World,
    club: &TestClub,
    team: &str,
    child: &str,
    own_client: Option<&Client>,
) -> TestResponse {
    let members =
        if own_client.is_some() { vec![club.kim.member.as_str(), child] } else { vec![child] };
    let mut message = json!({ "team_id": team, "kind": "message", "body": "Hello",
        "audience": { "to": "members", "member_ids": members } });
    if own_client.is_none() && team == club.hawks {
        message["on_behalf_of"] = json!(club.kim.person);
    }
    own_client.unwrap_or(&w.owner).post("/messages", message).await.created()
}

/// One object of every kind that belongs to a child of the team: a child of other people, or the
/// parent's own.
pub(crate) async fn objects_of_child(
    w: &World,
    club: &TestClub,
    team: &str,
    own_client: Option<&Client>,
) -> Vec<(&'static str, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let guardian = if own_client.is_some() {
        json!({ "id": club.pat })
    } else {
        json!({ "first_name": "Gil", "email": "gil@example.org" })
    };
    let child = json!({ "first_name": "Tim", "allow_duplicate": true, "guardians": [guardian] });
    let child = w.add_member(team, child).await;
    if own_client.is_none() {
        w.confirm_guardians(&child.person).await;
    }
    let location =
        w.owner.post("/locations", json!({ "name": "Home", "shared": false })).await.created();
    let event = create_game(w, team, location.id()).await;
    let duty = text(&event.data()["duties"][0]["id"]);
    let event_path = format!("/events/{}", event.id());
    let yes = json!({ "answer": "yes" });
    w.owner.put(&format!("{event_path}/rsvps/{}", child.member), yes).await.ok();
    w.owner
        .send("PUT", &format!("{event_path}/duties/{duty}/assignees/{}", child.person), None)
        .await
        .ok();
    let author = own_client.unwrap_or(&w.owner);
    let feed = author.post("/calendar_feeds", json!({ "team_id": team })).await.created();
    let message = write_to_child(w, club, team, &child.member, own_client).await;
    let [due, payment] = paid_due(w, team, &child.member).await;
    let [webhook, delivery] = tested_webhook(w).await;
    let [product, discount, order] = create_store_objects(w, team, &child.member).await;
    let checkout = checkout_of(w, &order.1).await;
    vec![
        ("{team_id}", team.to_owned()),
        ("{file_id}", photo_of(w, &child.person).await),
        ("{member_id}", child.member),
        ("{away_date_id}", create_away_date(w, &child.person).await),
        ("{person_id}", child.person),
        ("{location_id}", location.id().to_owned()),
        ("{event_id}", event.id().to_owned()),
        ("{duty_id}", duty),
        ("{feed_id}", feed.id().to_owned()),
        ("{message_id}", message.id().to_owned()),
        ("{template_id}", create_template(w, &name_from(event.id())).await.id().to_owned()),
        due,
        payment,
        webhook,
        delivery,
        product,
        discount,
        order,
        ("{checkout_id}", checkout),
    ]
}

/// The expected outcomes of an operation, column by column.
fn expected_outcomes(operation: &Value) -> Vec<char> {
    let id = operation["operationId"].as_str().unwrap();
    let row = TABLE.iter().find(|(operation_id, _)| *operation_id == id);
    let row = row.unwrap_or_else(|| panic!("{id} is missing from the table"));
    row.1.chars().filter(|cell| *cell != ' ').collect()
}

/// The sequence number of the last change at Harbour and the length of its audit log.
pub(crate) async fn sequence(w: &World) -> (i64, i64) {
    let text = "select sequence, entries from journal where account_id = :account";
    let scope = Scope::account(w.harbour, "test");
    w.db().read(scope, move |db| db.one(text, bind! {})).await.unwrap()
}

fn document() -> Value {
    serde_json::from_str(&touchline::openapi_json()).unwrap()
}

both! {
    async fn callers_may_do_what_the_table_says(w: &World) {
        let club = w.club().await;
        let mail = ("{email_id}", queue_one_email(w).await.to_string());
        let parent = client_with_all_scopes(w, club.parent.id).await;
        let mut columns = clients_of_cast(w, &club).await;
        columns.push(("parent with their own", parent.clone()));
        for (column, (caller, client)) in columns.iter().enumerate() {
            let own_client = (column == 6).then_some(&parent);
            let mut objects = objects_of_child(w, &club, &club.hawks, own_client).await;
            objects.push(mail.clone());
            for (method, path, operation) in operations(&document()) {
                let expected = expected_outcomes(&operation)[column];
                let before = sequence(w).await;
                let url = with_person_query(&fill_path(&path, &objects), &objects);
                let answer = send_example(client, &method, &url, &with_example_team(&operation, &objects)).await;
                let outcome = match (answer.status, answer.body["code"].as_str()) {
                    (403, Some("forbidden")) => '-',
                    (404, _) => '0',
                    (200..300 | 409 | 422, _) => '+',
                    _ => '?',
                };
                assert_eq!(outcome, expected, "{method} {path} by {caller}: {}", answer.text);
                if expected != '+' {
                    assert_eq!(sequence(w).await,
                        before, "{method} {path} by {caller} changed something");
                } else if method != "GET" {
                    // Create new objects, because the operation may have changed these.
                    w.owner.post(&format!("/teams/{}/restore", club.hawks), json!({})).await;
                    objects = objects_of_child(w, &club, &club.hawks, own_client).await;
                    objects.push(mail.clone());
                }
            }
        }
        let operation_ids: Vec<_> = operations(&document()).into_iter().map(|(.., operation)| operation["operationId"].clone()).collect();
        assert!(TABLE.iter().all(|(id, _)| operation_ids.contains(&json!(id))), "the table names an unknown operation");
    }

    async fn rejects_every_change_with_a_stale_etag(w: &World) {
        let club = w.club().await;
        let objects = objects_of_child(w, &club, &club.hawks, None).await;
        let stale_client = w.owner.with_header("If-Match", "\"1000000\"");
        let before = sequence(w).await;
        let mut checked = 0;
        for (method, path, operation) in operations(&document()) {
            let parameters = &operation["parameters"].to_string();
            // Keys have no notification settings.
            if parameters.contains("parameters/IfMatch") && path != "/me/notification_settings" {
                let url = fill_path(&path, &objects);
                let answer = send_example(&stale_client, &method, &url, &with_example_team(&operation, &objects)).await;
                assert_eq!(answer.status, 412, "{method} {path}: {}", answer.text);
                checked += 1;
            }
        }
        assert!(checked > 40, "{checked}");
        assert_eq!(sequence(w).await, before);
    }

    async fn cannot_reach_a_team_they_cannot_see(w: &World) {
        let club = w.club().await;
        let mut objects = objects_of_child(w, &club, &club.otters, None).await;
        objects.push(("{email_id}", queue_one_email(w).await.to_string()));
        let before = w.notifications().await;
        for (caller, client) in clients_of_cast(w, &club).await.into_iter().skip(2) {
            for (method, path, operation) in operations(&document()) {
                let url = with_person_query(&fill_path(&path, &objects), &objects);
                // Templates belong to the club: coaches of all teams may read them.
                if method == "GET" && path.starts_with("/message_templates") {
                    continue;
                }
                if path.contains('{') {
                    let refused = send_example(&client, &method, &url, &operation).await;
                    assert!(matches!(refused.status, 403 | 404), "{method} {path} by {caller}: {}", refused.text);
                } else if method == "GET" {
                    let list = send_example(&client, &method, &url, &operation).await;
                    for (_, id) in objects.iter().filter(|(_, id)| !url.contains(id)) {
                        assert!(!list.text.contains(id.as_str()), "{path} by {caller}: {}", list.text);
                    }
                }
            }
        }
        assert_eq!(w.notifications().await, before);
    }
}
