//! Tests of whole calendars.

use super::*;

fn timed(start: &str, end: &str, zone: &str) -> When {
    let [start, end] = [start, end].map(|moment| moment.parse().unwrap());
    When::Timed { start, end, zone: zone.parse().unwrap() }
}

fn entry(when: When) -> Entry<'static> {
    Entry {
        uid: "evt_1@club.example".into(),
        sequence: 2,
        created: "2026-01-01T08:00:00.123Z".parse().unwrap(),
        last_modified: "2026-01-02T08:00:00Z".parse().unwrap(),
        summary: "Hawks, home".into(),
        description: None,
        location: None,
        geo: None,
        url: None,
        status: Status::Confirmed,
        when,
        categories: Vec::new(),
    }
}

fn calendar(entries: Vec<Entry<'static>>) -> String {
    let (name, product) = ("Hawks".into(), "-//Touchline//Calendar//EN".into());
    Calendar { name, product, refresh: Duration::from_secs(3600), entries }.text()
}

/// The calendar of one event an hour long, as lines.
fn one(start: &str, zone: &str) -> Vec<String> {
    let start: Timestamp = start.parse().unwrap();
    let end = start.plus(Duration::from_secs(3600));
    let when = When::Timed { start, end, zone: zone.parse().unwrap() };
    calendar(vec![entry(when)]).split("\r\n").map(str::to_owned).collect()
}

/// The observances in a calendar's text: kind, start, offset before, offset, name.
fn observances(text: &[String]) -> Vec<String> {
    let lines: Vec<_> = text.iter().map(|line| line.split_once(':').unwrap_or_default()).collect();
    let begins = |line: &&[(&str, &str)]| {
        line[0].0 == "BEGIN" && ["STANDARD", "DAYLIGHT"].contains(&line[0].1)
    };
    let shown = |lines: &[(&str, &str)]| {
        lines[..5].iter().map(|(_, value)| *value).collect::<Vec<_>>().join(" ")
    };
    lines.windows(6).filter(begins).map(shown).collect()
}

fn starts(text: &[String]) -> Vec<&str> {
    let times = text.iter().filter(|line| line.starts_with("DTSTART;") || line.ends_with('Z'));
    times.filter_map(|line| line.strip_prefix("DTSTART")).collect()
}

#[test]
fn an_event_is_written_with_all_properties() {
    let when = timed("2026-09-05T17:30:00Z", "2026-09-05T19:00:00Z", "Europe/Lisbon");
    let full = Entry {
        description: Some("Bring water\nand boots".into()),
        location: Some("Estádio; north gate".into()),
        geo: Some((38.7527, -9.184_722_2)),
        url: Some("https://club.example/e/1?a=b,c".into()),
        status: Status::Tentative,
        categories: vec!["Game".into(), "Cup".into()],
        ..entry(when)
    };
    let expected = "BEGIN:VCALENDAR|VERSION:2.0|PRODID:-//Touchline//Calendar//EN|\
        CALSCALE:GREGORIAN|METHOD:PUBLISH|X-WR-CALNAME:Hawks|NAME:Hawks|\
        REFRESH-INTERVAL;VALUE=DURATION:PT1H|X-PUBLISHED-TTL:PT1H|\
        BEGIN:VTIMEZONE|TZID:Europe/Lisbon|\
        BEGIN:STANDARD|DTSTART:20251026T020000|TZOFFSETFROM:+0100|TZOFFSETTO:+0000|TZNAME:WET|END:STANDARD|\
        BEGIN:DAYLIGHT|DTSTART:20260329T010000|TZOFFSETFROM:+0000|TZOFFSETTO:+0100|TZNAME:WEST|END:DAYLIGHT|\
        END:VTIMEZONE|\
        BEGIN:VEVENT|UID:evt_1@club.example|DTSTAMP:20260102T080000Z|\
        DTSTART;TZID=Europe/Lisbon:20260905T183000|DTEND;TZID=Europe/Lisbon:20260905T200000|\
        SEQUENCE:2|CREATED:20260101T080000Z|LAST-MODIFIED:20260102T080000Z|STATUS:TENTATIVE|\
        SUMMARY:Hawks\\, home|DESCRIPTION:Bring water\\nand boots|LOCATION:Estádio\\; north gate|\
        GEO:38.752700;-9.184722|URL:https://club.example/e/1?a=b,c|CATEGORIES:Game,Cup|END:VEVENT|\
        END:VCALENDAR|";
    assert_eq!(calendar(vec![full]), expected.replace('|', "\r\n"));
}

#[test]
fn all_day_events_and_utc_need_no_zone() {
    let [first, last_exclusive] = ["2026-09-05", "2026-09-07"].map(|day| day.parse().unwrap());
    let text = calendar(vec![entry(When::AllDay { first, last_exclusive })]);
    assert!(text.contains("\r\nDTSTART;VALUE=DATE:20260905\r\nDTEND;VALUE=DATE:20260907\r\n"));
    assert!(!text.contains("TZID"));
    for zone in ["UTC", "Etc/UTC", "Zulu"] {
        let text =
            calendar(vec![entry(timed("2026-09-05T17:30:00Z", "2026-09-05T17:30:00Z", zone))]);
        assert!(text.contains("\r\nDTSTART:20260905T173000Z\r\nSEQUENCE"), "{text}");
        assert!(!text.contains("TZID"));
    }
}

#[test]
fn zones_are_defined_by_their_clock_changes() {
    let described = |start: &str, zone: &str| observances(&one(start, zone));
    assert_eq!(
        described("2026-07-01T12:00:00Z", "America/New_York"),
        ["STANDARD 20251102T020000 -0400 -0500 EST", "DAYLIGHT 20260308T020000 -0500 -0400 EDT"]
    );
    assert_eq!(
        described("2026-12-01T12:00:00Z", "America/New_York"),
        ["STANDARD 20261101T020000 -0400 -0500 EST"]
    );
    assert_eq!(
        described("2027-01-01T12:00:00Z", "Australia/Lord_Howe"),
        ["STANDARD 20260405T020000 +1100 +1030 +1030", "DAYLIGHT 20261004T020000 +1030 +1100 +11"]
    );
    assert_eq!(
        described("2027-01-01T12:00:00Z", "Pacific/Auckland"),
        ["STANDARD 20260405T030000 +1300 +1200 NZST", "DAYLIGHT 20260927T020000 +1200 +1300 NZDT"]
    );
    assert_eq!(
        described("2026-07-01T12:00:00Z", "Asia/Kolkata"),
        ["STANDARD 19451015T000000 +0630 +0530 IST"]
    );
    assert_eq!(
        described("2025-03-10T12:00:00Z", "Africa/Casablanca"),
        ["STANDARD 20250223T030000 +0100 +0000 +00"]
    );
    assert_eq!(
        described("2025-07-01T12:00:00Z", "Africa/Casablanca"),
        ["STANDARD 20250223T030000 +0100 +0000 +00", "DAYLIGHT 20250406T020000 +0000 +0100 +01"]
    );
    assert_eq!(
        described("2026-07-01T12:00:00Z", "Etc/GMT+5"),
        ["STANDARD 16010101T000000 -0500 -0500 -05"]
    );
    assert_eq!(
        described("1900-01-01T12:00:00Z", "Europe/Lisbon"),
        ["STANDARD 18840101T000000 -003645 -003645 LMT"]
    );
}

#[test]
fn zones_cover_events_across_a_change_and_in_a_distant_year() {
    let night = timed("2026-10-24T22:00:00Z", "2026-10-25T08:00:00Z", "Europe/Lisbon");
    let distant = timed("9000-07-01T10:00:00Z", "9000-07-01T11:00:00Z", "europe/lisbon");
    let text = calendar(vec![entry(distant), entry(night)]);
    let lines: Vec<_> = text.split("\r\n").map(str::to_owned).collect();
    assert_eq!(
        observances(&lines),
        [
            "STANDARD 20251026T020000 +0100 +0000 WET",
            "DAYLIGHT 20260329T010000 +0000 +0100 WEST",
            "STANDARD 20261025T020000 +0100 +0000 WET",
            "STANDARD 89991027T020000 +0100 +0000 WET",
            "DAYLIGHT 90000330T010000 +0000 +0100 WEST",
        ]
    );
    assert_eq!(text.matches("BEGIN:VTIMEZONE").count(), 1);
}

#[test]
fn a_local_time_that_occurs_twice_is_written_in_utc() {
    let first = one("2026-10-25T00:30:00Z", "Europe/Lisbon");
    assert_eq!(starts(&first), [":20261025T003000Z"]);
    let before = one("2026-10-24T23:30:00Z", "Europe/Lisbon");
    assert_eq!(starts(&before), [";TZID=Europe/Lisbon:20261025T003000"]);
    let second = one("2026-10-25T01:30:00Z", "Europe/Lisbon");
    assert_eq!(starts(&second), [":20261025T013000Z"]);
    let after = one("2026-10-25T02:00:00Z", "Europe/Lisbon");
    assert_eq!(starts(&after), [";TZID=Europe/Lisbon:20261025T020000"]);
}

#[test]
fn timestamps_at_the_edges_of_the_calendar_are_written() {
    for micros in [i64::MIN, -62_135_596_800_000_000, 253_402_300_799_000_000, i64::MAX] {
        let (start, end) = (Timestamp::from_micros(micros), Timestamp::from_micros(micros));
        for zone in ["UTC", "Europe/Lisbon", "Pacific/Kiritimati", "Etc/GMT+12"] {
            let when = When::Timed { start, end, zone: zone.parse().unwrap() };
            assert!(calendar(vec![entry(when)]).ends_with("END:VCALENDAR\r\n"));
        }
    }
}

#[test]
fn durations_have_one_unit() {
    let shown = |seconds| duration(Duration::from_secs(seconds));
    assert_eq!(
        (shown(21_600), shown(900), shown(90)),
        ("PT6H".into(), "PT15M".into(), "PT90S".into())
    );
}
