//! Who may do what, operation by operation: every operation of the API's description against everybody in
//! the cast, with every scope. An operation that is not in the table fails the story.

use store::{Scope, bind};
use testkit::{Cast, Client, Value, World, both, json};

use crate::cards::checkout_of;
use crate::mail::put_one;
use crate::openapi::operations;
use crate::shop::sold;
use crate::standing::{acting, callers};
use crate::strangers::{about, about_team, paid_due, place, send, tested_webhook};

/// What becomes of an operation: `+` it is let through, `-` it is refused (403), `0` it is as if there were
/// nothing (404). The columns: owner, admin, coach, parent, player and outsider with what is somebody
/// else's, and the parent with what is their own.
const TABLE: &[(&str, &str)] = &[
    ("me_get", "++++++ +"),
    ("teams_list", "+++++- +"),
    ("teams_create", "++---- -"),
    ("teams_get", "+++++- +"),
    ("teams_update", "+++--- -"),
    ("teams_archive", "++---- -"),
    ("teams_restore", "++---- -"),
    ("roster_list", "+++++- +"),
    ("roster_add", "+++--- -"),
    ("roster_get", "+++++- +"),
    ("roster_update", "+++--- -"),
    ("roster_remove", "+++--- -"),
    ("roster_add_all", "+++--- -"),
    ("people_list", "+++--- -"),
    ("people_get", "+++00- +"),
    ("people_update", "+++--- -"),
    ("people_confirm_adult", "++---- -"),
    ("people_mark_minor", "+++--- -"),
    ("people_request_email_confirmation", "+++--- -"),
    ("people_export", "++---- -"),
    ("people_erase", "++---- -"),
    ("events_list", "+++++- +"),
    ("events_create", "+++--- -"),
    ("events_get", "+++++- +"),
    ("events_update", "+++--- -"),
    ("events_delete", "+++--- -"),
    ("events_cancel", "+++--- -"),
    ("events_postpone", "+++--- -"),
    ("rsvps_list", "+++++- +"),
    ("rsvps_get", "+++++- +"),
    ("rsvps_answer", "+++--- +"),
    ("rsvps_history", "+++--- -"),
    ("rsvps_unanswered", "+++--- -"),
    ("duties_take", "+++--- +"),
    ("duties_release", "+++--- +"),
    ("locations_list", "+++++- +"),
    ("locations_create", "+++--- -"),
    ("locations_get", "+++++- +"),
    ("locations_update", "++---- -"),
    ("locations_archive", "++---- -"),
    ("calendar_feeds_list", "+++++- +"),
    ("calendar_feeds_create", "+++++- +"),
    ("calendar_feeds_get", "+++00- +"),
    ("calendar_feeds_revoke", "+++00- +"),
    ("messages_list", "+++++- +"),
    // The example announces something; what families write is told in `standing_messages`.
    ("messages_create", "+++--- -"),
    ("messages_unread", "+++--- +"),
    ("messages_get", "+++00- +"),
    // The example pins it.
    ("messages_update", "+++00- -"),
    ("messages_retract", "+++00- +"),
    ("messages_receipts", "+++00- +"),
    // Nobody says that somebody else has read something.
    ("messages_read", "++-00- +"),
    ("money_settings_get", "+++++- +"),
    ("money_settings_update", "++---- -"),
    ("dues_list", "+++++- +"),
    ("dues_charge", "+++--- -"),
    ("dues_remind_team", "+++--- -"),
    ("dues_get", "+++00- +"),
    ("dues_update", "+++--- -"),
    ("dues_waive", "+++--- -"),
    ("dues_remind", "+++--- -"),
    ("dues_payments_list", "+++00- +"),
    // The example is a transfer; families pay with what they have paid ahead.
    ("dues_payments_create", "+++00- -"),
    ("dues_payments_get", "+++00- +"),
    ("dues_payments_refund", "+++--- -"),
    ("dues_team_statement", "+++--- -"),
    ("dues_statement", "+++--- +"),
    ("outbox_list", "++---- -"),
    ("outbox_get", "++---- -"),
    ("money_settings_get", "+++++- +"),
    ("money_settings_update", "++---- -"),
    ("products_list", "+++++- +"),
    ("products_create", "+++--- -"),
    ("products_get", "+++++- +"),
    ("products_update", "+++--- -"),
    ("products_archive", "+++--- -"),
    ("discounts_list", "++---- -"),
    ("discounts_create", "++---- -"),
    ("discounts_get", "++---- -"),
    ("discounts_update", "++---- -"),
    ("discounts_archive", "++---- -"),
    ("orders_list", "+++++- +"),
    // The example names a product that is not there; who may order for whom is told in `shop_people`.
    ("orders_create", "+++++- +"),
    ("orders_get", "+++00- +"),
    ("orders_pay", "+++--- -"),
    ("orders_fulfil", "+++--- -"),
    ("orders_cancel", "+++00- +"),
    ("orders_refund", "+++--- -"),
    ("orders_payments_list", "+++00- +"),
    ("orders_refunds_list", "+++00- +"),
    ("orders_erase_buyer", "++---- -"),
    ("orders_checkout", "+++00- +"),
    ("dues_checkout", "+++00- +"),
    ("checkouts_get", "+++00- +"),
    ("notifications_list", "++---- -"),
    ("notifications_stream", "++---- -"),
    ("exports_roster", "+++--- -"),
    ("exports_events", "+++--- -"),
    ("exports_rsvps", "+++--- -"),
    ("exports_orders", "+++--- -"),
    ("exports_dues", "+++--- -"),
    ("exports_ledger", "++---- -"),
    ("webhooks_list", "++---- -"),
    ("webhooks_create", "++---- -"),
    ("webhooks_get", "++---- -"),
    ("webhooks_update", "++---- -"),
    ("webhooks_delete", "++---- -"),
    ("webhooks_rotate_secret", "++---- -"),
    ("webhooks_test", "++---- -"),
    ("webhooks_replay", "++---- -"),
    ("webhooks_enable", "++---- -"),
    ("webhooks_disable", "++---- -"),
    ("deliveries_list", "++---- -"),
    ("deliveries_get", "++---- -"),
    ("deliveries_redeliver", "++---- -"),
    ("event_types_list", "++++++ +"),
];

/// One object of every kind around a child of the team: a child of strangers, or the parent's own.
async fn around(
    w: &World,
    cast: &Cast,
    team: &str,
    own: Option<&Client>,
) -> Vec<(&'static str, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let guardian = if own.is_some() {
        json!({ "id": cast.pat })
    } else {
        json!({ "first_name": "Gil", "email": "gil@example.org" })
    };
    let child = json!({ "first_name": "Tim", "allow_duplicate": true, "guardians": [guardian] });
    let child = w.joins(team, child).await;
    if own.is_none() {
        w.confirm_guardians(&child.person).await;
    }
    let location =
        w.owner.post("/locations", json!({ "name": "Home", "shared": false })).await.created();
    let event = json!({ "team_id": team, "type": "game", "starts_at": "2026-09-10T18:00",
        "location_id": location.id(), "duties": [{ "name": "Oranges" }] });
    let event = w.owner.post("/events", event).await.created();
    let duty = text(&event.data()["duties"][0]["id"]);
    let at = format!("/events/{}", event.id());
    let yes = json!({ "answer": "yes" });
    w.owner.put(&format!("{at}/rsvps/{}", child.member), yes).await.ok();
    w.owner.send("PUT", &format!("{at}/duties/{duty}/takers/{}", child.person), None).await.ok();
    let author = own.unwrap_or(&w.owner);
    let feed = author.post("/calendar_feeds", json!({ "team_id": team })).await.created();
    let members =
        if own.is_some() { vec![&cast.kim.member, &child.member] } else { vec![&child.member] };
    let mut message = json!({ "team_id": team, "kind": "message", "body": "Hello",
        "audience": { "to": "members", "member_ids": members } });
    if own.is_none() && team == cast.hawks {
        message["on_behalf_of"] = json!(cast.kim.person);
    }
    let message = author.post("/messages", message).await.created();
    let [due, payment] = paid_due(w, team, &child.member).await;
    let [webhook, delivery] = tested_webhook(w).await;
    let [product, discount, order] = sold(w, team, &child.member).await;
    let checkout = checkout_of(w, &order.1).await;
    vec![
        ("{team_id}", team.to_owned()),
        ("{member_id}", child.member),
        ("{person_id}", child.person),
        ("{location_id}", location.id().to_owned()),
        ("{event_id}", event.id().to_owned()),
        ("{duty_id}", duty),
        ("{feed_id}", feed.id().to_owned()),
        ("{message_id}", message.id().to_owned()),
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

/// What the table says of an operation, column by column.
fn expected(operation: &Value) -> Vec<char> {
    let id = operation["operationId"].as_str().unwrap();
    let row = TABLE.iter().find(|(known, _)| *known == id);
    let row = row.unwrap_or_else(|| panic!("say in the table who may do {id}"));
    row.1.chars().filter(|cell| *cell != ' ').collect()
}

/// How much has changed at Harbour, and how much is in its audit log.
async fn sequence(w: &World) -> (i64, i64) {
    let text = "select sequence, entries from journal where account_id = :account";
    let scope = Scope::account(w.harbour, "test");
    w.db().read(scope, move |db| db.one(text, bind! {})).await.unwrap()
}

fn document() -> Value {
    serde_json::from_str(&touchline::document()).unwrap()
}

both! {
    async fn everybody_may_do_what_the_table_says(w: &World) {
        let cast = w.cast().await;
        let mail = ("{mail_id}", put_one(w).await.to_string());
        let parent = acting(w, cast.parent.id).await;
        let mut columns = callers(w, &cast).await;
        columns.push(("parent with their own", parent.clone()));
        for (column, (what, client)) in columns.iter().enumerate() {
            let own = (column == 6).then_some(&parent);
            let mut objects = around(w, &cast, &cast.hawks, own).await;
            objects.push(mail.clone());
            for (method, path, operation) in operations(&document()) {
                let expected = expected(&operation)[column];
                let before = sequence(w).await;
                let there = about(&place(&path, &objects), &objects);
                let answer = send(client, &method, &there, &about_team(&operation, &objects)).await;
                let got = match (answer.status, answer.body["code"].as_str()) {
                    (403, Some("forbidden")) => '-',
                    (404, _) => '0',
                    (200..300 | 409 | 422, _) => '+',
                    _ => '?',
                };
                assert_eq!(got, expected, "{method} {path} by {what}: {}", answer.text);
                if expected != '+' {
                    assert_eq!(sequence(w).await,
                        before, "{method} {path} by {what} left a trace");
                } else if method != "GET" {
                    // Whatever it did is undone by beginning anew.
                    w.owner.post(&format!("/teams/{}/restore", cast.hawks), json!({})).await;
                    objects = around(w, &cast, &cast.hawks, own).await;
                    objects.push(mail.clone());
                }
            }
        }
        let known: Vec<_> = operations(&document()).into_iter().map(|(.., operation)| operation["operationId"].clone()).collect();
        assert!(TABLE.iter().all(|(id, _)| known.contains(&json!(id))), "the table names an operation that is gone");
    }

    async fn nothing_is_changed_that_is_not_as_the_caller_expects(w: &World) {
        let cast = w.cast().await;
        let objects = around(w, &cast, &cast.hawks, None).await;
        let late = w.owner.with("If-Match", "\"1000000\"");
        let before = sequence(w).await;
        let mut looked_at = 0;
        for (method, path, operation) in operations(&document()) {
            let takes = &operation["parameters"].to_string();
            if takes.contains("parameters/IfMatch") {
                let there = place(&path, &objects);
                let answer = send(&late, &method, &there, &about_team(&operation, &objects)).await;
                assert_eq!(answer.status, 412, "{method} {path}: {}", answer.text);
                looked_at += 1;
            }
        }
        assert!(looked_at > 40, "{looked_at}");
        assert_eq!(sequence(w).await, before);
    }

    async fn nobody_reaches_a_team_they_do_not_see(w: &World) {
        let cast = w.cast().await;
        let mut objects = around(w, &cast, &cast.otters, None).await;
        objects.push(("{mail_id}", put_one(w).await.to_string()));
        let before = w.news().await;
        for (what, client) in callers(w, &cast).await.into_iter().skip(2) {
            for (method, path, operation) in operations(&document()) {
                let place = about(&place(&path, &objects), &objects);
                if path.contains('{') {
                    let refused = send(&client, &method, &place, &operation).await;
                    assert!(matches!(refused.status, 403 | 404), "{method} {path} by {what}: {}", refused.text);
                } else if method == "GET" {
                    let list = send(&client, &method, &place, &operation).await;
                    for (_, id) in objects.iter().filter(|(_, id)| !place.contains(id)) {
                        assert!(!list.text.contains(id.as_str()), "{path} by {what}: {}", list.text);
                    }
                }
            }
        }
        assert_eq!(w.news().await, before);
    }
}
