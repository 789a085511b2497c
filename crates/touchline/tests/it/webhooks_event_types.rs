//! Tests of event types: every published type is in the table and matches its schema.

use std::collections::{BTreeMap, BTreeSet};

use kit::{Day, Timestamp};
use store::Scope;
use testkit::{Receiver, TestClub, Value, World, both, json, seconds};
use touchline::accounts::account::{self, AccountChange};
use touchline::accounts::roles;
use touchline::accounts::user::Role;
use touchline::notification_kinds::{self, logged_kinds};
use touchline::roster::preferences;

use crate::architecture::sources;
use crate::dues;
use crate::message_templates::create_template;
use crate::shop;
use crate::webhooks_api::{create_webhook, webhook_path};

/// Where a value does not match a JSON schema, and why.
fn schema_errors(root: &Value, schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let inside = |rule: &Value, value: &Value, name: &str| {
        schema_errors(root, rule, value, &format!("{path}/{name}"))
    };
    for (keyword, rule) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "$ref" => {
                let target = rule.as_str().unwrap().strip_prefix('#').unwrap();
                errors.extend(schema_errors(root, root.pointer(target).unwrap(), value, path));
            }
            "oneOf" => {
                let matches_schema =
                    |option: &&Value| schema_errors(root, option, value, path).is_empty();
                let count = rule.as_array().unwrap().iter().filter(matches_schema).count();
                errors.extend((count != 1).then(|| format!("{path}: {value} fits {count}")));
            }
            "anyOf" => {
                let matches_schema =
                    |option: &Value| schema_errors(root, option, value, path).is_empty();
                let matches = rule.as_array().unwrap().iter().any(matches_schema);
                errors.extend((!matches).then(|| format!("{path}: {value} fits nothing")));
            }
            "properties" => {
                for (name, rule) in rule.as_object().unwrap() {
                    let field = value.get(name);
                    errors.extend(field.into_iter().flat_map(|value| inside(rule, value, name)));
                }
            }
            "additionalProperties" if schema.get("properties").is_none() && rule.is_object() => {
                let fields = value.as_object().into_iter().flatten();
                errors.extend(fields.flat_map(|(name, value)| inside(rule, value, name)));
            }
            "items" => {
                let items = value.as_array().into_iter().flatten();
                errors.extend(items.flat_map(|item| inside(rule, item, "items")));
            }
            _ if satisfies(keyword, rule, value) => {}
            _ => errors.push(format!("{path}: {value} against {keyword} {rule}")),
        }
    }
    errors
}

/// Whether a value satisfies a keyword that does not look inside it. Unknown keywords fail.
fn satisfies(keyword: &str, rule: &Value, value: &Value) -> bool {
    let bound = || rule.as_f64().unwrap();
    match keyword {
        "description" | "examples" | "$schema" | "$defs" => true,
        "type" => {
            let types = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
            types.iter().any(|kind| is_a(kind.as_str().unwrap(), value))
        }
        "const" => value == rule,
        "enum" => rule.as_array().unwrap().contains(value),
        "required" => {
            let mut names = rule.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
            names.all(|name| value.get(name).is_some())
        }
        "minimum" => value.as_f64().is_none_or(|number| number >= bound()),
        "maximum" => value.as_f64().is_none_or(|number| number <= bound()),
        "minLength" | "minItems" => size_of(keyword, value).is_none_or(|size| size >= bound()),
        "maxLength" | "maxItems" | "maxProperties" => {
            size_of(keyword, value).is_none_or(|size| size <= bound())
        }
        "pattern" => value.as_str().is_none_or(|text| matches(rule.as_str().unwrap(), text)),
        "format" => match (rule.as_str().unwrap(), value.as_str()) {
            ("date-time", Some(text)) => text.parse::<Timestamp>().is_ok(),
            ("date", Some(text)) => text.parse::<Day>().is_ok(),
            _ => true,
        },
        _ => false,
    }
}

fn is_a(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

fn size_of(keyword: &str, value: &Value) -> Option<f64> {
    let size = match keyword {
        "minLength" | "maxLength" => value.as_str()?.chars().count(),
        "minItems" | "maxItems" => value.as_array()?.len(),
        _ => value.as_object()?.len(),
    };
    Some(size as f64)
}

/// Whether a text matches a simple pattern: literals, `\d`, character classes and repetition.
fn matches(pattern: &str, text: &str) -> bool {
    let mut remaining: Vec<char> = text.chars().rev().collect();
    let mut pattern_chars =
        pattern.strip_prefix('^').and_then(|p| p.strip_suffix('$')).unwrap().chars().peekable();
    while let Some(symbol) = pattern_chars.next() {
        let class: Vec<char> = match symbol {
            '[' => pattern_chars.by_ref().take_while(|symbol| *symbol != ']').collect(),
            '\\' => {
                assert_eq!(pattern_chars.next(), Some('d'));
                "0-9".chars().collect()
            }
            symbol => vec![symbol],
        };
        let mut count = 1;
        if pattern_chars.peek() == Some(&'{') {
            let digits: String =
                pattern_chars.by_ref().skip(1).take_while(|symbol| *symbol != '}').collect();
            count = digits.parse().unwrap();
        }
        let in_class = |character: char| {
            let in_range = class
                .windows(3)
                .any(|three| three[1] == '-' && (three[0]..=three[2]).contains(&character));
            in_range || class.contains(&character) && (character != '-' || class.len() == 1)
        };
        for _ in 0..count {
            if !remaining.pop().is_some_and(in_class) {
                return false;
            }
        }
    }
    remaining.is_empty()
}

/// Every event type, as the API describes it.
async fn event_types(w: &World) -> Vec<Value> {
    let list = w.owner.get("/event_types?limit=100").await.ok();
    assert_eq!((&list.body["has_more"], &list.body["next_cursor"]), (&json!(false), &json!(null)));
    list.data().as_array().unwrap().clone()
}

/// Where a notification does not match the schema of its type.
fn schema_mismatches(types: &[Value], body: &Value) -> Vec<String> {
    let event_type = types.iter().find(|kind| kind["name"] == body["type"]);
    let schema =
        &event_type.unwrap_or_else(|| panic!("{} is not described", body["type"]))["schema"];
    schema_errors(schema, schema, body, "")
}

#[test]
fn every_published_type_is_in_the_table() {
    touchline::register_modules();
    let (mut published, mut all_code) = (BTreeSet::new(), String::new());
    for (path, code) in &sources() {
        // The declaration of a kind does not publish it.
        let (before, declared) = code.split_once("notification_kinds! {").unwrap_or((code, ""));
        all_code += before;
        all_code += declared.split_once("\n    },").map_or("", |(_, after)| after);
        for call in [".publish(\"", ".publish_change(\"", ".publish_all(\""] {
            let names = code.split(call).skip(1).map(|rest| rest.split('"').next().unwrap());
            published.extend(names.map(|kind| (kind.to_owned(), path.display().to_string())));
        }
    }
    assert!(published.len() > 15, "{published:?}");
    for (kind, path) in &published {
        assert!(notification_kinds::find(kind).is_some(), "{kind} of {path} is not in the table");
    }
    let mut groups = BTreeMap::new();
    for kind in logged_kinds() {
        let prefix = kind.name.split_once('.').unwrap().0;
        let label = groups.entry(prefix).or_insert(kind.group);
        assert_eq!(*label, kind.group, "{prefix} has two labels");
        assert!(
            all_code.contains(&format!("\"{}\"", kind.name)),
            "nothing publishes {}",
            kind.name
        );
    }
}

/// Charges, changes, pays, refunds and waives a due.
async fn trigger_dues_events(w: &World, team: &str, member: &str) {
    w.owner.patch("/payment_settings", json!({ "reminder_days": [-3, 3] })).await.ok();
    let fields = json!({ "installment_count": 2, "late_fee": { "amount": 100 }, "note": "asthma" });
    let due = dues::charge_member(w, team, member, fields).await;
    w.owner.patch(&dues::due_path(&due, ""), json!({ "amount": 8000 })).await.ok();
    let payment = dues::pay(w, &due, 9000).await.created();
    let refund_path = dues::due_path(&due, &format!("/payments/{}/refund", payment.id()));
    w.owner.post(&refund_path, json!({ "reason": "asthma" })).await.ok();
    w.owner.post(&dues::due_path(&due, "/waive"), json!({ "reason": "asthma" })).await.ok();
}

async fn trigger_template_events(w: &World) {
    let template = create_template(w, "Rain").await;
    let path = format!("/message_templates/{}", template.id());
    w.owner.patch(&path, json!({ "body": "No training." })).await.ok();
    w.owner.delete(&path).await.ok();
}

/// Records and deletes the result of a game.
async fn trigger_result_events(w: &World, club: &TestClub) {
    let game =
        json!({ "team_id": club.hawks, "type": "game", "starts_at": "2026-09-05T10:30:00Z" });
    let game = w.owner.post("/events", game).await.created();
    let path = format!("/events/{}/result", game.id());
    let shootout = json!({ "for": 4, "against": 3 });
    let result = json!({ "score_for": 1, "score_against": 1, "shootout": shootout });
    w.owner.put(&path, json!({ "status": "forfeit", "forfeited_by": "them" })).await.ok();
    w.owner.put(&path, result).await.ok();
    w.owner.delete(&path).await.ok();
}

/// Records attendance, and adds and removes away dates.
async fn trigger_attendance_events(w: &World, club: &TestClub) {
    let soon =
        json!({ "team_id": club.hawks, "type": "practice", "starts_at": "2026-09-05T10:30:00Z" });
    let soon = w.owner.post("/events", soon).await.created();
    let late = json!({ "member_id": club.max.member, "status": "late", "note": "asthma" });
    w.owner
        .put(&format!("/events/{}/attendance", soon.id()), json!({ "entries": [late] }))
        .await
        .ok();
    let away = json!({ "starts_on": "2027-01-01", "ends_on": "2027-01-02", "note": "asthma" });
    let away_path = format!("/people/{}/away_dates", club.max.person);
    let away = w.owner.post(&away_path, away).await.created();
    w.owner.delete(&format!("{away_path}/{}", away.id())).await.ok();
}

/// Triggers every other event type.
async fn trigger_other_events(w: &World, club: &TestClub) {
    let (hawks, otters) = (format!("/teams/{}", club.hawks), format!("/teams/{}", club.otters));
    w.owner
        .patch(&hawks, json!({ "season": "2027", "color": "#0b5cad", "metadata": { "a": "b" } }))
        .await
        .ok();
    let member_path = |below: &str| format!("{hawks}/roster/{below}");
    let change = json!({ "jersey_number": "7", "positions": ["wing"], "birth_date": "2001-02-03" });
    w.owner.patch(&member_path(&club.lia.member), change).await.ok();
    let twin =
        w.add_member(&club.hawks, json!({ "first_name": "Lia", "allow_duplicate": true })).await;
    let into = json!({ "into_person_id": club.lia.person });
    w.owner.post(&format!("/people/{}/merge", twin.person), into).await.ok();
    let pitch =
        json!({ "name": "Pitch", "latitude": 38.7, "longitude": -9.1, "address": "Quay 1" });
    let pitch = w.owner.post("/locations", pitch).await.created();
    let location_path = format!("/locations/{}", pitch.id());
    w.owner.patch(&location_path, json!({ "notes": "Gate code at the desk" })).await.ok();
    let game = json!({ "team_id": club.hawks, "type": "game", "starts_at": "2026-09-10T18:00", "capacity": 1,
        "location_id": pitch.id(), "duties": [{ "name": "Oranges" }], "home_away": "home", "rsvp_deadline": "2026-09-09T18:00:00Z" });
    let game = w.owner.post("/events", game).await.created();
    let event_path = |below: &str| format!("/events/{}{below}", game.id());
    let weekly = json!({ "team_id": club.hawks, "type": "practice", "starts_at": "2026-09-08T18:00", "recurrence": "FREQ=WEEKLY;COUNT=3" });
    let weekly = w.owner.post("/events", weekly).await.created();
    w.owner.delete(&format!("/events/{}", weekly.id())).await.ok();
    for (member, answer) in [(&club.lia, "yes"), (&club.max, "yes"), (&club.zoe, "no")] {
        let body = json!({ "answer": answer, "note": "asthma" });
        w.owner.put(&event_path(&format!("/rsvps/{}", member.member)), body).await.ok();
    }
    w.owner.patch(&event_path(""), json!({ "title": "Final" })).await.ok();
    trigger_attendance_events(w, club).await;
    trigger_result_events(w, club).await;
    w.owner.delete(&location_path).await.ok();
    let feed = w.owner.post("/calendar_feeds", json!({ "team_id": club.hawks })).await.created();
    w.owner.delete(&format!("/calendar_feeds/{}", feed.id())).await.ok();
    w.owner.post("/calendar_feeds", json!({ "person_id": club.pat })).await.created();
    let post = async |more: Value| {
        let mut body = json!({ "team_id": club.hawks, "kind": "announcement", "subject": "Water", "body": "Bring **it**" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        w.owner.post("/messages", body).await.created().id().to_owned()
    };
    let (published, scheduled) =
        (post(json!({})).await, post(json!({ "publish_at": "2026-10-01T10:00:00Z" })).await);
    w.owner.patch(&format!("/messages/{scheduled}"), json!({ "subject": "Towels" })).await.ok();
    w.owner
        .send("PUT", &format!("/messages/{published}/receipts/{}", club.lia.person), None)
        .await
        .ok();
    w.owner.delete(&format!("/messages/{published}")).await.ok();
    // A member leaves, and another moves up.
    w.owner.delete(&member_path(&club.lia.member)).await.ok();
    w.owner.post(&event_path("/cancel"), json!({ "reason": "Rain" })).await.ok();
    w.owner.delete(&otters).await.ok();
    w.owner.post(&format!("{otters}/restore"), json!({})).await.ok();
    trigger_account_events(w, club).await;
}

/// Triggers the event types that only pages can trigger.
async fn trigger_account_events(w: &World, club: &TestClub) {
    let scope = || Scope::account(w.harbour, "test");
    let (owner, coach, pat) = (club.owner.id, club.coach.id, club.pat.parse().unwrap());
    w.db().write(scope(), move |tx| preferences::set_email_opt_in(tx, pat, false)).await.unwrap();
    w.db()
        .write(scope(), move |tx| roles::change_role(tx, owner, coach, Role::Admin))
        .await
        .unwrap();
    w.db().write(scope(), move |tx| roles::remove(tx, owner, coach)).await.unwrap();
    let change = AccountChange {
        name: "Harbour AC".to_owned(),
        timezone: "Europe/Lisbon".to_owned(),
        sport: None,
    };
    w.db().write(scope(), move |tx| account::change(tx, &change)).await.unwrap();
}

both! {
    async fn notifications_match_their_schemas(w: &World) {
        let types = event_types(w).await;
        let receiver = Receiver::start().await;
        let webhook = create_webhook(&w.owner, &receiver, &["*"]).await;
        w.owner.post(&webhook_path(&webhook, "/test"), json!({})).await.created();
        let club = w.club().await;
        shop::trigger_store_events(w, &club).await;
        trigger_dues_events(w, &club.hawks, &club.max.member).await;
        crate::cards::trigger_card_notifications(w, &club).await;
        trigger_other_events(w, &club).await;
        trigger_template_events(w).await;
        let disabled = create_webhook(&w.owner, &receiver, &["team.*"]).await;
        w.owner.post(&webhook_path(&disabled, "/disable"), json!({})).await.ok();
        w.deliver().await;
        w.advance_clock(seconds(1));
        let bodies: Vec<_> = receiver.received().iter().map(testkit::receiver::ReceivedRequest::json).collect();
        assert_eq!(bodies.len(), w.notifications().await.len() + 1);
        for body in &bodies {
            assert_eq!(schema_mismatches(&types, body), Vec::<String>::new(), "{body:#}");
        }
        let published: BTreeSet<_> = bodies.iter().map(|body| body["type"].as_str().unwrap()).collect();
        let described: BTreeSet<_> = types.iter().map(|kind| kind["name"].as_str().unwrap()).collect();
        assert_eq!(published, described, "described and published event types differ");
        // Events about a team name it.
        for body in &bodies {
            let (kind, object) = (body["type"].as_str().unwrap(), &body["data"]["object"]);
            let is_about_club = ["team", "location", "account", "user", "webhook", "ping", "discount", "payment_settings", "message_template"].iter().any(|start| kind.starts_with(start));
            let is_about_person = kind.starts_with("roster.person_") || kind.starts_with("away_date.") || (kind.starts_with("calendar") && object["person_id"].is_string());
            assert!(is_about_club || is_about_person || object["team_id"].is_string(), "{kind}: {object}");
        }
        let text = bodies.iter().map(Value::to_string).collect::<String>();
        for private in ["2001-02-03", "asthma", "bees", "@example.org", "birth_date", "medical_note"] {
            assert!(!text.contains(private), "{private} was published");
        }
    }

    async fn examples_match_their_schemas(w: &World) {
        let types = event_types(w).await;
        assert_eq!(types.len(), logged_kinds().len() + 1);
        for kind in &types {
            let (name, schema) = (kind["name"].as_str().unwrap(), &kind["schema"]);
            assert_eq!(schema_mismatches(&types, &kind["example"]), Vec::<String>::new(), "{name}");
            assert_eq!((&kind["object"], &kind["example"]["type"]), (&json!("event_type"), &kind["name"]));
            assert!(kind["description"].as_str().unwrap().ends_with('.'));
            assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
            assert!(!schema.to_string().contains("#/components") && !schema.to_string().contains("medical_note"));
            // The schema must reject wrong values.
            for (field, wrong) in [("sequence", json!("1")), ("id", json!("ntf_1")), ("type", json!("x")), ("data", json!({}))] {
                let mut body = kind["example"].clone();
                body[field] = wrong;
                assert_ne!(schema_errors(schema, schema, &body, ""), Vec::<String>::new(), "{name} {field}");
            }
            let mut body = kind["example"].clone();
            body["data"]["object"] = json!({});
            assert_ne!(schema_errors(schema, schema, &body, ""), Vec::<String>::new(), "{name}");
        }
        let scope = |name: &str| types.iter().find(|kind| kind["name"] == name).unwrap()["scope"].clone();
        assert_eq!((scope("team.created"), scope("rsvp.answered"), scope("ping")), (json!("teams:read"), json!("events:read"), json!(null)));
        assert_eq!((scope("user.joined"), scope("account.updated"), scope("webhook.disabled")), (json!("roster:read"), json!(null), json!("webhooks:write")));
    }

    async fn everybody_can_page_through_event_types(w: &World) {
        let all: Vec<_> = event_types(w).await.into_iter().map(|kind| kind["name"].clone()).collect();
        let mut paged = Vec::new();
        let mut next = "/event_types?limit=10".to_owned();
        loop {
            let page = w.reader.get(&next).await.ok();
            paged.extend(page.data().as_array().unwrap().iter().map(|kind| kind["name"].clone()));
            let Some(cursor) = page.body["next_cursor"].as_str() else { break };
            next = format!("/event_types?limit=10&cursor={cursor}");
        }
        assert_eq!(paged, all);
        let last = w.bystander.get("/event_types?order=desc&limit=1").await.ok();
        assert_eq!(last.names(), ["ping"]);
        w.nobody.get("/event_types").await.assert_problem(401, "missing_credentials");
        w.owner.get("/event_types?scope=teams").await.assert_problem(400, "invalid_parameter");
    }
}
