//! Tests of CSV exports: their columns, how spreadsheets read them, and who gets which rows.

use store::{Scope, bind};
use testkit::{Client, TestResponse, Value, World, both, json};
use touchline::events::rsvp::{self, Choice, NewAnswer};
use touchline::ids::{EventId, MemberId};
use touchline::if_match::IfMatch;
use touchline::rights::TeamAccess;

use crate::events::{event_path, field_texts, hawks, practice, squad, team, team_client, with};
use crate::openapi::operations;

/// The body of an answer, with chunked transfer encoding decoded.
fn decode_body(answer: &TestResponse) -> Vec<u8> {
    if answer.header("transfer-encoding").is_none() {
        return answer.text.clone().into_bytes();
    }
    let (mut rest, mut bytes) = (answer.text.as_bytes(), Vec::new());
    loop {
        let end = rest.windows(2).position(|pair| pair == b"\r\n").expect("the size of a chunk");
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return bytes;
        }
        bytes.extend(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
}

/// A parsed CSV file: the names of the columns, and the rows.
pub(crate) struct File {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl File {
    pub(crate) async fn get(client: &Client, path: &str) -> Self {
        let answer = client.get(path).await.ok();
        let bytes = decode_body(&answer);
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let texts = |row: &csv::StringRecord| row.iter().map(str::to_owned).collect::<Vec<_>>();
        let columns = texts(reader.headers().unwrap());
        Self { columns, rows: reader.records().map(|row| texts(&row.unwrap())).collect() }
    }

    #[track_caller]
    pub(crate) fn cell(&self, row: usize, column: &str) -> &str {
        let index = self.columns.iter().position(|name| name == column);
        &self.rows[row][index.unwrap_or_else(|| panic!("{column} is not in {:?}", self.columns))]
    }

    pub(crate) fn column(&self, name: &str) -> Vec<&str> {
        (0..self.rows.len()).map(|row| self.cell(row, name)).collect()
    }
}

/// The columns that the API description lists for a file.
fn documented_columns(file: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(&touchline::openapi_json()).unwrap();
    let all = operations(&document);
    let (_, _, operation) = all.iter().find(|(_, path, _)| path.ends_with(file)).unwrap();
    let text = operation["description"].as_str().unwrap();
    let (_, text) = text.split_once("Columns:").unwrap();
    let text = text.split_once("so on.").map_or(text, |(names, _)| names);
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// How often the audit log records that private data was read.
async fn audited_reads(w: &World) -> usize {
    let query = w.db().read(Scope::account(w.harbour, "test"), |db| {
        db.all::<(String,)>(
            "select action from audit_entry where account_id = :account order by position",
            bind! {},
        )
    });
    query.await.unwrap().iter().filter(|(action,)| action == "roster.medical_read").count()
}

both! {
    async fn files_have_the_documented_columns(w: &World) {
        let team = hawks(w).await;
        squad(w, &team, 1).await;
        for file in ["events.csv", "rsvps.csv", "dues.csv", "ledger.csv"] {
            assert_eq!(File::get(&w.owner, &format!("/exports/{file}")).await.columns, documented_columns(file), "{file}");
        }
        let roster = documented_columns("roster.csv");
        let (plain, private) = roster.split_at(roster.iter().position(|name| name == "include=private").unwrap());
        assert_eq!(File::get(&w.owner, "/exports/roster.csv").await.columns, plain);
        let all = File::get(&w.owner, "/exports/roster.csv?include=private").await.columns;
        assert_eq!(all[..plain.len()], *plain);
        assert_eq!(all[plain.len()..][..private.len() - 1], private[1..]);
        assert_eq!(all[plain.len()..].len(), 6 + 1 + 3 * 6);
        assert_eq!(all.last().unwrap(), "guardian_3_receives_messages");
        let answer = w.owner.get("/exports/events.csv").await.ok();
        assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8"));
        assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"events.csv\""));
        assert!(answer.header("cache-control").unwrap().contains("no-store"));
        for wrong in ["events.csv?bom=maybe", "events.csv?from=monday", "roster.csv?include=all", "rsvps.csv?team=1", "events.csv?include=private", "roster.csv?team_id=x"] {
            w.owner.get(&format!("/exports/{wrong}")).await.assert_problem(400, "invalid_parameter");
        }
        w.owner.get("/exports/secrets.csv").await.assert_problem(404, "not_found");
    }

    async fn spreadsheets_do_not_read_text_as_formulas(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "=HYPERLINK(\"http://x\")", "timezone": "Europe/Lisbon" })).await.created().id().to_owned();
        let member = w.owner.post(&format!("/teams/{team}/roster"), json!({ "first_name": "@SUM(1+1)", "last_name": "-2+3", "preferred_name": "Zoë, \"Zo\" 🏉",
            "phone": "+351 912 345 678", "jersey_number": "007", "positions": ["+left", "right"] })).await.created();
        let pitch = w.owner.post("/locations", json!({ "name": "+cmd|' /C calc'!A0", "address": "Quay\n=1+1" })).await.created();
        let more = json!({ "title": "=1+1", "notes": "one,\"two\"\nthree;\tfour", "uniform": "＝1", "location_id": pitch.id(), "opponent": "'=1", "external_id": "2026-01-01" });
        let event = w.owner.post("/events", with(practice(&team, "2026-09-10T18:00", "2026-09-10T19:00"), more)).await.created();
        w.owner.put(&event_path(&event, &format!("/rsvps/{}", member.id())), json!({ "answer": "yes", "note": "=cmd()" })).await.ok();
        w.owner.post(&event_path(&event, "/cancel"), json!({ "reason": "@home" })).await.ok();
        let events = File::get(&w.owner, "/exports/events.csv").await;
        for (column, text) in [("team", "'=HYPERLINK(\"http://x\")"), ("title", "'=1+1"), ("notes", "one,\"two\"\nthree;\tfour"), ("uniform", "'＝1"),
            ("location", "'+cmd|' /C calc'!A0"), ("address", "Quay\n=1+1"), ("opponent", "'=1"), ("cancel_reason", "'@home"), ("external_id", "2026-01-01"),
            ("starts_at", "2026-09-10T17:00:00.000000Z"), ("starts_local", "2026-09-10T18:00:00"), ("timezone", "Europe/Lisbon"), ("all_day", "false"),
            ("status", "cancelled"), ("yes", "1"), ("unanswered", "0"), ("capacity", ""), ("event_id", event.id())] {
            assert_eq!(events.cell(0, column), text, "{column}");
        }
        let roster = File::get(&w.owner, "/exports/roster.csv?include=private").await;
        for (column, text) in [("first_name", "'@SUM(1+1)"), ("last_name", "'-2+3"), ("preferred_name", "Zoë, \"Zo\" 🏉"), ("phone", "'+351 912 345 678"),
            ("jersey_number", "007"), ("positions", "'+left, right"), ("role", "player"), ("member_id", member.id())] {
            assert_eq!(roster.cell(0, column), text, "{column}");
        }
        let rsvps = File::get(&w.owner, "/exports/rsvps.csv").await;
        assert_eq!((rsvps.cell(0, "note"), rsvps.cell(0, "event"), rsvps.cell(0, "answer"), rsvps.cell(0, "first_name")), ("'=cmd()", "'=1+1", "yes", "'@SUM(1+1)"));
        // Lines end with CRLF, and the byte order mark is added only on request.
        let plain = decode_body(&w.owner.get("/exports/events.csv").await.ok());
        let marked = decode_body(&w.owner.get("/exports/events.csv?bom=true").await.ok());
        assert_eq!(marked, [b"\xef\xbb\xbf".as_slice(), &plain].concat());
        assert!(plain.starts_with(b"event_id,team_id,team,") && plain.ends_with(b"\r\n"));
        let empty = w.stranger.get("/exports/events.csv").await.ok();
        assert_eq!(String::from_utf8(decode_body(&empty)).unwrap().lines().count(), 1);
    }

    async fn exports_a_long_schedule_completely(w: &World) {
        let (hawks, owls) = (hawks(w).await, team(w, "Owls").await);
        for (team, start) in [(&hawks, "2026-09-10T18:00"), (&owls, "2026-09-10T18:00"), (&hawks, "2026-09-10T20:00")] {
            let body = json!({ "team_id": team, "type": "practice", "starts_at": start, "recurrence": "FREQ=DAILY;COUNT=400" });
            w.owner.post("/events", body).await.created();
        }
        let all = File::get(&w.owner, "/exports/events.csv").await;
        assert_eq!(all.rows.len(), 1200);
        let mut ids = all.column("event_id");
        assert!(all.column("starts_at").is_sorted());
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 1200);
        let owls_only = File::get(&w.owner, &format!("/exports/events.csv?team_id={owls}&from=2026-09-11T00:00:00Z&to=2026-09-13T00:00:00Z")).await;
        assert_eq!((owls_only.rows.len(), owls_only.cell(0, "team")), (2, "Owls"));
        // The same for enough RSVPs to need several chunks.
        let members = squad(w, &owls, 60).await;
        let events = field_texts(&w.owner.get(&format!("/events?team_id={owls}&limit=20")).await.ok(), "id");
        let pairs: Vec<(EventId, MemberId)> = events.iter()
            .flat_map(|event| members.iter().map(|member| (event.parse().unwrap(), member.parse().unwrap()))).collect();
        w.db().write(Scope::account(w.harbour, "test"), move |tx| {
            for pair in pairs {
                let new = NewAnswer { answer: Choice::Maybe, note: None, on_behalf_of: None };
                rsvp::answer(tx, &TeamAccess::AllTeams, pair, &IfMatch::Absent, new)?;
            }
            Ok::<_, touchline::error::Error>(())
        }).await.unwrap();
        let rsvps = File::get(&w.owner, "/exports/rsvps.csv").await;
        let mut pairs: Vec<_> = rsvps.column("event_id").into_iter().zip(rsvps.column("member_id")).collect();
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!((rsvps.rows.len(), pairs.len()), (1200, 1200));
        let one = File::get(&w.owner, "/exports/rsvps.csv?to=2026-09-11T00:00:00Z").await;
        assert_eq!(one.rows.len(), 60);
        assert_eq!(File::get(&w.owner, &format!("/exports/rsvps.csv?team_id={hawks}")).await.rows.len(), 0);
    }

    async fn files_contain_only_teams_that_the_key_can_access(w: &World) {
        let (hawks, owls) = (hawks(w).await, team(w, "Owls").await);
        for team in [&hawks, &owls] {
            let member = squad(w, team, 1).await.remove(0);
            let event = w.owner.post("/events", practice(team, "2026-09-10T18:00", "2026-09-10T19:00")).await.created();
            w.owner.put(&event_path(&event, &format!("/rsvps/{member}")), json!({ "answer": "yes" })).await.ok();
        }
        let narrow = team_client(w, &hawks, "events:read roster:read").await;
        for file in ["roster.csv", "events.csv", "rsvps.csv"] {
            let path = format!("/exports/{file}");
            assert_eq!(File::get(&w.owner, &path).await.column("team"), ["Hawks", "Owls"]);
            assert_eq!(File::get(&narrow, &path).await.column("team"), ["Hawks"]);
            assert_eq!(File::get(&narrow, &format!("{path}?team_id={hawks}")).await.column("team"), ["Hawks"]);
            narrow.get(&format!("{path}?team_id={owls}")).await.assert_problem(404, "not_found");
            assert_eq!(File::get(&w.stranger, &format!("{path}?team_id={owls}")).await.rows.len(), 0);
            w.bystander.get(&path).await.assert_problem(403, "insufficient_scope");
        }
    }

    async fn private_columns_are_opt_in_and_audited(w: &World) {
        let team = hawks(w).await;
        let body = json!({ "first_name": "Inês", "birth_date": "2014-02-27", "email": "ines@example.org", "phone": "912", "address": "Quay 1",
            "emergency_contact": "Avó 911", "medical_note": "xyzzy nuts", "guardians": [{ "first_name": "Rita", "last_name": "Duarte", "relationship": "mother",
            "email": "rita@example.org", "phone": "913" }, { "first_name": "Rui", "can_pick_up": false, "receives_messages": false }, { "first_name": "Avó" }, { "first_name": "Tia" }] });
        let member = w.owner.post(&format!("/teams/{team}/roster"), body).await.created();
        let before = audited_reads(w).await;
        let plain = w.owner.get("/exports/roster.csv").await.ok();
        // Long enough not to occur in an id by chance.
        for secret in ["xyzzy", "ines@", "rita@", "Rita", "2014-", "Avó 911"] {
            assert!(!plain.text.contains(secret), "{secret}");
        }
        assert_eq!(audited_reads(w).await, before);
        let file = File::get(&w.owner, "/exports/roster.csv?include=private").await;
        for (column, text) in [("birth_date", "2014-02-27"), ("medical_note", "xyzzy nuts"), ("guardian_1_name", "Rita Duarte"), ("guardian_1_relationship", "mother"),
            ("guardian_1_email", "rita@example.org"), ("guardian_2_name", "Rui"), ("guardian_2_phone", ""), ("guardian_1_can_pick_up", "true"), ("guardian_2_can_pick_up", "false"), ("guardian_2_receives_messages", "false"),
            ("guardian_3_name", "Avó"), ("guardian_3_receives_messages", "true"), ("guardians", "4")] {
            assert_eq!(file.cell(0, column), text, "{column}");
        }
        assert_eq!(audited_reads(w).await, before + 1);
        // Removed members are exported only on request. The answer to a removal has private data, so it is audited too.
        w.owner.delete(&format!("/teams/{team}/roster/{}", member.id())).await.ok();
        assert_eq!(File::get(&w.owner, "/exports/roster.csv").await.rows.len(), 0);
        assert_eq!(File::get(&w.owner, "/exports/roster.csv?include_removed=true").await.column("status"), ["removed"]);
        // A rejected request has read nothing.
        let owls = self::team(w, "Owls").await;
        let narrow = team_client(w, &owls, "roster:read").await;
        narrow.get(&format!("/exports/roster.csv?include=private&team_id={team}")).await.assert_problem(404, "not_found");
        assert_eq!(audited_reads(w).await, before + 2);
    }
}
