//! Stories about the kinds of notifications: everything that is told is in the table, and looks as its schema says.

use std::collections::BTreeSet;

use kit::{Day, Timestamp};
use store::Scope;
use testkit::{Cast, Receiver, Value, World, both, json, seconds};
use touchline::accounts::account::{self, AccountChange};
use touchline::accounts::belonging;
use touchline::accounts::user::Role;
use touchline::roster::preferences;
use touchline::webhooks::kinds::{self, KINDS};

use crate::dues;
use crate::house::sources;
use crate::shop;
use crate::webhooks_api::{at, hook};

/// What does not fit a schema, as places and reasons.
fn faults(whole: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    let inside = |rule: &Value, value: &Value, name: &str| {
        faults(whole, rule, value, &format!("{place}/{name}"))
    };
    for (keyword, rule) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "$ref" => {
                let target = rule.as_str().unwrap().strip_prefix('#').unwrap();
                found.extend(faults(whole, whole.pointer(target).unwrap(), value, place));
            }
            "oneOf" => {
                let fits = |one: &&Value| faults(whole, one, value, place).is_empty();
                let count = rule.as_array().unwrap().iter().filter(fits).count();
                found.extend((count != 1).then(|| format!("{place}: {value} fits {count}")));
            }
            "properties" => {
                for (name, rule) in rule.as_object().unwrap() {
                    let there = value.get(name);
                    found.extend(there.into_iter().flat_map(|value| inside(rule, value, name)));
                }
            }
            "additionalProperties" if schema.get("properties").is_none() && rule.is_object() => {
                let members = value.as_object().into_iter().flatten();
                found.extend(members.flat_map(|(name, value)| inside(rule, value, name)));
            }
            "items" => {
                let items = value.as_array().into_iter().flatten();
                found.extend(items.flat_map(|item| inside(rule, item, "items")));
            }
            _ if keeps(keyword, rule, value) => {}
            _ => found.push(format!("{place}: {value} against {keyword} {rule}")),
        }
    }
    found
}

/// Whether a value keeps a rule that looks at nothing inside it. A rule that is not known here is broken.
fn keeps(keyword: &str, rule: &Value, value: &Value) -> bool {
    let bound = || rule.as_f64().unwrap();
    match keyword {
        "description" | "examples" | "$schema" | "$defs" => true,
        "type" => {
            let named = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
            named.iter().any(|kind| is_a(kind.as_str().unwrap(), value))
        }
        "const" => value == rule,
        "enum" => rule.as_array().unwrap().contains(value),
        "required" => {
            let mut names = rule.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
            names.all(|name| value.get(name).is_some())
        }
        "minimum" => value.as_f64().is_none_or(|it| it >= bound()),
        "maximum" => value.as_f64().is_none_or(|it| it <= bound()),
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

/// Whether a text is as a pattern says: letters, `\d`, classes of characters, and how often.
fn matches(pattern: &str, text: &str) -> bool {
    let mut rest: Vec<char> = text.chars().rev().collect();
    let mut signs =
        pattern.strip_prefix('^').and_then(|p| p.strip_suffix('$')).unwrap().chars().peekable();
    while let Some(sign) = signs.next() {
        let class: Vec<char> = match sign {
            '[' => signs.by_ref().take_while(|sign| *sign != ']').collect(),
            '\\' => {
                assert_eq!(signs.next(), Some('d'));
                "0-9".chars().collect()
            }
            sign => vec![sign],
        };
        let mut count = 1;
        if signs.peek() == Some(&'{') {
            let digits: String = signs.by_ref().skip(1).take_while(|sign| *sign != '}').collect();
            count = digits.parse().unwrap();
        }
        let among = |it: char| {
            let ranged = class
                .windows(3)
                .any(|three| three[1] == '-' && (three[0]..=three[2]).contains(&it));
            ranged || class.contains(&it) && (it != '-' || class.len() == 1)
        };
        for _ in 0..count {
            if !rest.pop().is_some_and(among) {
                return false;
            }
        }
    }
    rest.is_empty()
}

/// Every kind, as the API describes it.
async fn described(w: &World) -> Vec<Value> {
    let list = w.owner.get("/event_types?limit=100").await.ok();
    assert_eq!((&list.body["has_more"], &list.body["next_cursor"]), (&json!(false), &json!(null)));
    list.data().as_array().unwrap().clone()
}

/// What does not fit the schema of its kind.
fn misfits(types: &[Value], body: &Value) -> Vec<String> {
    let known = types.iter().find(|kind| kind["name"] == body["type"]);
    let schema = &known.unwrap_or_else(|| panic!("{} is not described", body["type"]))["schema"];
    faults(schema, schema, body, "")
}

#[test]
fn every_kind_that_is_told_is_in_the_table() {
    let (mut told, mut said) = (BTreeSet::new(), String::new());
    for (path, code) in sources().iter().filter(|(path, _)| !path.ends_with("webhooks/kinds.rs")) {
        said += code;
        for verb in [".tell(\"", ".tell_change(\"", ".tell_all(\""] {
            let named = code.split(verb).skip(1).map(|rest| rest.split('"').next().unwrap());
            told.extend(named.map(|kind| (kind.to_owned(), path.display().to_string())));
        }
    }
    assert!(told.len() > 15, "{told:?}");
    for (kind, path) in &told {
        assert!(kinds::find(kind).is_some(), "{kind} of {path} is not in the table");
    }
    for kind in KINDS {
        assert!(said.contains(&format!("\"{}\"", kind.name)), "nobody tells {}", kind.name);
    }
}

/// Something is charged, changed, paid, given back and waived.
async fn live_with_money(w: &World, team: &str, member: &str) {
    w.owner.patch("/money_settings", json!({ "reminder_days": [-3, 3] })).await.ok();
    let more = json!({ "instalment_count": 2, "late_fee": { "amount": 100 }, "note": "asthma" });
    let due = dues::charged(w, team, member, more).await;
    w.owner.patch(&dues::at(&due, ""), json!({ "amount": 8000 })).await.ok();
    let payment = dues::pay(w, &due, 9000).await.created();
    let back = dues::at(&due, &format!("/payments/{}/refund", payment.id()));
    w.owner.post(&back, json!({ "reason": "asthma" })).await.ok();
    w.owner.post(&dues::at(&due, "/waive"), json!({ "reason": "asthma" })).await.ok();
}

/// Lets everything happen that there is to be told.
async fn live(w: &World, cast: &Cast) {
    let (hawks, otters) = (format!("/teams/{}", cast.hawks), format!("/teams/{}", cast.otters));
    w.owner
        .patch(&hawks, json!({ "season": "2027", "color": "#0b5cad", "metadata": { "a": "b" } }))
        .await
        .ok();
    let on_roster = |below: &str| format!("{hawks}/roster/{below}");
    let change = json!({ "jersey_number": "7", "positions": ["wing"], "birth_date": "2001-02-03" });
    w.owner.patch(&on_roster(&cast.lia.member), change).await.ok();
    let pitch =
        json!({ "name": "Pitch", "latitude": 38.7, "longitude": -9.1, "address": "Quay 1" });
    let pitch = w.owner.post("/locations", pitch).await.created();
    let place = format!("/locations/{}", pitch.id());
    w.owner.patch(&place, json!({ "notes": "Gate code at the desk" })).await.ok();
    let game = json!({ "team_id": cast.hawks, "type": "game", "starts_at": "2026-09-10T18:00", "capacity": 1,
        "location_id": pitch.id(), "duties": [{ "name": "Oranges" }], "home_away": "home", "rsvp_deadline": "2026-09-09T18:00:00Z" });
    let game = w.owner.post("/events", game).await.created();
    let at = |below: &str| format!("/events/{}{below}", game.id());
    let weekly = json!({ "team_id": cast.hawks, "type": "practice", "starts_at": "2026-09-08T18:00", "recurrence": "FREQ=WEEKLY;COUNT=3" });
    let weekly = w.owner.post("/events", weekly).await.created();
    w.owner.delete(&format!("/events/{}", weekly.id())).await.ok();
    for (member, answer) in [(&cast.lia, "yes"), (&cast.max, "yes"), (&cast.zoe, "no")] {
        let body = json!({ "answer": answer, "note": "asthma" });
        w.owner.put(&at(&format!("/rsvps/{}", member.member)), body).await.ok();
    }
    w.owner.patch(&at(""), json!({ "title": "Final" })).await.ok();
    w.owner.delete(&place).await.ok();
    let feed = w.owner.post("/calendar_feeds", json!({ "team_id": cast.hawks })).await.created();
    w.owner.delete(&format!("/calendar_feeds/{}", feed.id())).await.ok();
    w.owner.post("/calendar_feeds", json!({ "person_id": cast.pat })).await.created();
    let post = async |more: Value| {
        let mut body = json!({ "team_id": cast.hawks, "kind": "announcement", "subject": "Water", "body": "Bring **it**" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        w.owner.post("/messages", body).await.created().id().to_owned()
    };
    let (now, later) =
        (post(json!({})).await, post(json!({ "publish_at": "2026-10-01T10:00:00Z" })).await);
    w.owner.patch(&format!("/messages/{later}"), json!({ "subject": "Towels" })).await.ok();
    w.owner.send("PUT", &format!("/messages/{now}/receipts/{}", cast.lia.person), None).await.ok();
    w.owner.delete(&format!("/messages/{now}")).await.ok();
    // Somebody leaves, and somebody else moves up.
    w.owner.delete(&on_roster(&cast.lia.member)).await.ok();
    w.owner.post(&at("/cancel"), json!({ "reason": "Rain" })).await.ok();
    w.owner.delete(&otters).await.ok();
    w.owner.post(&format!("{otters}/restore"), json!({})).await.ok();
    let scope = || Scope::account(w.harbour, "test");
    let (owner, coach, pat) = (cast.owner.id, cast.coach.id, cast.pat.parse().unwrap());
    w.db().write(scope(), move |tx| preferences::want_email(tx, pat, false)).await.unwrap();
    w.db()
        .write(scope(), move |tx| belonging::change_role(tx, owner, coach, Role::Admin))
        .await
        .unwrap();
    w.db().write(scope(), move |tx| belonging::remove(tx, owner, coach)).await.unwrap();
    let change = AccountChange {
        name: "Harbour AC".to_owned(),
        timezone: "Europe/Lisbon".to_owned(),
        sport: None,
    };
    w.db().write(scope(), move |tx| account::change(tx, &change)).await.unwrap();
}

both! {
    async fn what_is_told_is_as_its_schema_says(w: &World) {
        let types = described(w).await;
        let receiver = Receiver::start().await;
        let made = hook(&w.owner, &receiver, &["*"]).await;
        w.owner.post(&at(&made, "/test"), json!({})).await.created();
        let cast = w.cast().await;
        shop::live(w, &cast).await;
        live_with_money(w, &cast.hawks, &cast.max.member).await;
        crate::cards::live(w, &cast).await;
        live(w, &cast).await;
        let off = hook(&w.owner, &receiver, &["team.*"]).await;
        w.owner.post(&at(&off, "/disable"), json!({})).await.ok();
        w.deliver().await;
        w.pass(seconds(1));
        let bodies: Vec<_> = receiver.received().iter().map(testkit::receiver::Received::json).collect();
        assert_eq!(bodies.len(), w.news().await.len() + 1);
        for body in &bodies {
            assert_eq!(misfits(&types, body), Vec::<String>::new(), "{body:#}");
        }
        let told: BTreeSet<_> = bodies.iter().map(|body| body["type"].as_str().unwrap()).collect();
        let known: BTreeSet<_> = types.iter().map(|kind| kind["name"].as_str().unwrap()).collect();
        assert_eq!(told, known, "a kind is described that nothing here tells, or the other way round");
        // What is about a team says which one.
        for body in &bodies {
            let (kind, object) = (body["type"].as_str().unwrap(), &body["data"]["object"]);
            let of_club = ["team", "location", "account", "user", "webhook", "ping", "discount", "money_settings"].iter().any(|start| kind.starts_with(start));
            let of_person = kind == "roster.person_updated" || (kind.starts_with("calendar") && object["person_id"].is_string());
            assert!(of_club || of_person || object["team_id"].is_string(), "{kind}: {object}");
        }
        let text = bodies.iter().map(Value::to_string).collect::<String>();
        for private in ["2001-02-03", "asthma", "bees", "@example.org", "birth_date", "medical_note"] {
            assert!(!text.contains(private), "{private} was told");
        }
    }

    async fn examples_are_as_their_schemas_say(w: &World) {
        let types = described(w).await;
        assert_eq!(types.len(), KINDS.len() + 1);
        for kind in &types {
            let (name, schema) = (kind["name"].as_str().unwrap(), &kind["schema"]);
            assert_eq!(misfits(&types, &kind["example"]), Vec::<String>::new(), "{name}");
            assert_eq!((&kind["object"], &kind["example"]["type"]), (&json!("event_type"), &kind["name"]));
            assert!(kind["description"].as_str().unwrap().ends_with('.'));
            assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
            assert!(!schema.to_string().contains("#/components") && !schema.to_string().contains("medical_note"));
            // A schema that lets everything through says nothing.
            for (member, wrong) in [("sequence", json!("1")), ("id", json!("ntf_1")), ("type", json!("x")), ("data", json!({}))] {
                let mut body = kind["example"].clone();
                body[member] = wrong;
                assert_ne!(faults(schema, schema, &body, ""), Vec::<String>::new(), "{name} {member}");
            }
            let mut body = kind["example"].clone();
            body["data"]["object"] = json!({});
            assert_ne!(faults(schema, schema, &body, ""), Vec::<String>::new(), "{name}");
        }
        let scope = |name: &str| types.iter().find(|kind| kind["name"] == name).unwrap()["scope"].clone();
        assert_eq!((scope("team.created"), scope("rsvp.answered"), scope("ping")), (json!("teams:read"), json!("events:read"), json!(null)));
        assert_eq!((scope("user.joined"), scope("account.updated"), scope("webhook.disabled")), (json!("roster:read"), json!(null), json!("webhooks:write")));
    }

    async fn kinds_come_in_pages_to_everybody(w: &World) {
        let all: Vec<_> = described(w).await.into_iter().map(|kind| kind["name"].clone()).collect();
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
        w.nobody.get("/event_types").await.refused(401, "missing_credentials");
        w.owner.get("/event_types?scope=teams").await.refused(400, "invalid_parameter");
    }
}
