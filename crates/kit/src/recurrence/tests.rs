//! Tests of parsing, errors and occurrences by example.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn a_parsed_rule_survives_a_round_trip_through_text(text in "(FREQ|rrule|[A-Z]{2,6}|EXDATE|UNTIL|[-+0-9TZ]{0,9}|[:;=,\n]|\\PC){0,24}") {
        if let Ok(rule) = text.parse::<Rule>() {
            prop_assert_eq!(rule.to_string().parse(), Ok(rule));
        }
    }
}

fn rule(text: &str) -> Rule {
    text.parse().unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

fn parse_error(text: &str) -> RuleFault {
    text.parse::<Rule>().expect_err(text)
}

fn try_series(text: &str, start: &str, zone: &str) -> Result<Vec<String>, RuleFault> {
    let times = rule(text).occurrences(start.parse().unwrap(), &zone.parse().unwrap())?;
    Ok(times.into_iter().map(|time| time.to_string()).collect())
}

/// The days of a series that starts at 18:00 in Lisbon.
fn days(text: &str, start: &str) -> Vec<String> {
    let series = try_series(text, &format!("{start}T18:00"), "Europe/Lisbon").unwrap();
    series.into_iter().map(|time| time.strip_suffix("T18:00:00").unwrap().to_owned()).collect()
}

#[test]
fn daily_and_weekly_rules_have_the_expected_days() {
    assert_eq!(
        days("FREQ=WEEKLY;BYDAY=TU,TH;COUNT=4", "2026-09-01"),
        ["2026-09-01", "2026-09-03", "2026-09-08", "2026-09-10"]
    );
    assert_eq!(days("FREQ=WEEKLY;COUNT=2", "2026-09-05"), ["2026-09-05", "2026-09-12"]);
    assert_eq!(
        days("FREQ=DAILY;INTERVAL=10;UNTIL=20260925", "2026-09-05"),
        ["2026-09-05", "2026-09-15", "2026-09-25"]
    );
}

#[test]
fn every_other_week_depends_on_the_first_day_of_the_week() {
    let text = "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU";
    let monday = ["1997-08-05", "1997-08-10", "1997-08-19", "1997-08-24"];
    let sunday = ["1997-08-05", "1997-08-17", "1997-08-19", "1997-08-31"];
    assert_eq!(days(&format!("{text};WKST=MO"), "1997-08-05"), monday);
    assert_eq!(days(&format!("{text};WKST=SU"), "1997-08-05"), sunday);
}

#[test]
fn monthly_rules_have_the_expected_days() {
    assert_eq!(
        days("FREQ=MONTHLY;BYDAY=2TU,-1FR;COUNT=4", "2026-09-01"),
        ["2026-09-08", "2026-09-25", "2026-10-13", "2026-10-30"]
    );
    assert_eq!(
        days("FREQ=MONTHLY;BYMONTHDAY=15,-1;COUNT=4", "2028-01-31"),
        ["2028-01-31", "2028-02-15", "2028-02-29", "2028-03-15"]
    );
    // BYDAY and BYMONTHDAY together mean both: every Friday the 13th.
    assert_eq!(
        days("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13;COUNT=3", "2026-01-01"),
        ["2026-02-13", "2026-03-13", "2026-11-13"]
    );
    // Months without the day are skipped.
    assert_eq!(
        days("FREQ=MONTHLY;COUNT=3", "2026-01-31"),
        ["2026-01-31", "2026-03-31", "2026-05-31"]
    );
    assert_eq!(
        days("FREQ=MONTHLY;INTERVAL=12;COUNT=3", "2024-02-29"),
        ["2024-02-29", "2028-02-29", "2032-02-29"]
    );
}

#[test]
fn a_start_that_does_not_match_is_not_an_occurrence() {
    assert_eq!(days("FREQ=WEEKLY;BYDAY=MO;COUNT=2", "2026-09-05"), ["2026-09-07", "2026-09-14"]);
    assert_eq!(
        days("FREQ=MONTHLY;BYMONTHDAY=1;COUNT=2", "2026-09-05"),
        ["2026-10-01", "2026-11-01"]
    );
}

#[test]
fn the_local_time_stays_the_same_when_the_clocks_change() {
    let zone: Zone = "Europe/Lisbon".parse().unwrap();
    let series = rule("FREQ=WEEKLY;COUNT=3");
    let series = series.occurrences("2026-10-18T18:00".parse().unwrap(), &zone).unwrap();
    let moments: Vec<_> = series.iter().map(|at| zone.resolve(*at).unwrap().to_string()).collect();
    assert!(series.iter().all(|at| (at.hour(), at.minute()) == (18, 0)));
    assert_eq!(
        moments,
        [
            "2026-10-18T17:00:00.000000Z",
            "2026-10-25T18:00:00.000000Z",
            "2026-11-01T18:00:00.000000Z"
        ]
    );
    // An occurrence at a skipped time keeps the series' local time; only its timestamp is moved.
    let night = try_series("FREQ=DAILY;COUNT=3", "2026-03-28T01:30", "Europe/Lisbon").unwrap();
    assert_eq!(night, ["2026-03-28T01:30:00", "2026-03-29T01:30:00", "2026-03-30T01:30:00"]);
}

#[test]
fn until_is_a_day_a_local_time_or_a_time_in_utc() {
    let last = |until: &str| {
        let text = format!("FREQ=DAILY;UNTIL={until}");
        try_series(&text, "2026-07-01T18:00", "Europe/Lisbon").map(|series| series.len())
    };
    assert_eq!(last("20260703"), Ok(3));
    assert_eq!(last("20260703T180000"), Ok(3));
    assert_eq!(last("20260703T175959"), Ok(2));
    assert_eq!(last("20260703T170000Z"), Ok(3));
    assert_eq!(last("20260703T165959Z"), Ok(2));
    assert_eq!(last("20260701T165959Z"), Err(RuleFault::UntilBeforeStart));
    assert_eq!(last("20260630"), Err(RuleFault::UntilBeforeStart));
}

#[test]
fn exceptions_are_removed_after_counting() {
    let left = |exceptions: &str| days(&format!("FREQ=DAILY;COUNT=3\n{exceptions}"), "2026-07-01");
    let others = ["2026-07-01", "2026-07-03"];
    assert_eq!(left("EXDATE:20260702T180000"), others);
    assert_eq!(left("EXDATE;VALUE=DATE:20260702"), others);
    assert_eq!(left("EXDATE:20260702T170000Z"), others);
    assert_eq!(left("EXDATE;TZID=Europe/Lisbon:20260702T180000"), others);
    assert_eq!(left("EXDATE;TZID=\"Europe/Lisbon\":20260702T180000"), others);
    assert_eq!(left("exdate;tzid=europe/madrid:20260702t190000"), others);
    assert_eq!(left("EXDATE:20260702T173000,20261225T180000").len(), 3);
    assert_eq!(left("EXDATE:20260701T180000\r\nEXDATE:20260702T180000"), ["2026-07-03"]);
    // The clocks skip 01:30, so this occurrence really starts at 02:30.
    let night = "FREQ=DAILY;COUNT=3\nEXDATE;TZID=Europe/Lisbon:20260329T013000";
    let night = try_series(night, "2026-03-28T01:30", "Europe/Lisbon").unwrap();
    assert_eq!(night, ["2026-03-28T01:30:00", "2026-03-30T01:30:00"]);
}

#[test]
fn equivalent_rules_have_the_same_canonical_text() {
    for (text, canonical) in [
        ("rrule:freq=weekly;byday=th,tu,tu;count=020", "FREQ=WEEKLY;BYDAY=TU,TH;COUNT=20"),
        ("COUNT=1;WKST=MO;INTERVAL=1;FREQ=DAILY", "FREQ=DAILY;COUNT=1"),
        (
            "FREQ=MONTHLY;BYDAY=-1FR,+2TU,FR;BYMONTHDAY=-1,3;UNTIL=20270101t000000z;WKST=su",
            "FREQ=MONTHLY;BYDAY=2TU,-1FR,FR;BYMONTHDAY=-1,3;UNTIL=20270101T000000Z;WKST=SU",
        ),
        (
            "\r\nEXDATE:20270101T180000,20261225T180000\r\n\r\nRRULE:FREQ=DAILY;COUNT=3\r\n\
             EXDATE;VALUE=DATE:20261231\nEXDATE;VALUE=DATE-TIME;TZID=Europe/Lisbon:20260701T180000",
            "FREQ=DAILY;COUNT=3\nEXDATE;VALUE=DATE:20261231\n\
             EXDATE:20261225T180000,20270101T180000\nEXDATE:20260701T170000Z",
        ),
    ] {
        assert_eq!(rule(text).to_string(), canonical);
        assert_eq!(rule(canonical), rule(text));
    }
}

#[test]
fn invalid_rules_are_rejected_with_the_reason() {
    use RuleFault::*;
    let bad = |part, value: &str| BadValue(part, value.to_owned());
    for (text, fault) in [
        ("", NoFrequency),
        ("COUNT=3", NoFrequency),
        ("EXDATE:20261225", NoFrequency),
        ("FREQ=YEARLY;COUNT=3", UnsupportedFrequency("YEARLY".into())),
        ("FREQ=;COUNT=3", UnsupportedFrequency(String::new())),
        ("FREQ=DAILY;BYHOUR=9;COUNT=3", UnknownPart("BYHOUR".into())),
        ("FREQ=DAILY;COUNT=3;", UnknownPart(String::new())),
        ("FREQ=DAILY;COUNT=3\nRDATE:20261225", UnknownPart("RDATE:20261225".into())),
        ("EXDATES:20261225", UnknownPart("EXDATES:20261225".into())),
        ("FREQ=DAILY;COUNT=3\nEXDATE;X=1:20261225", UnknownPart("X=1".into())),
        ("FREQ=DAILY;COUNT=3\nEXDATE;VALUE=DATE", UnknownPart("EXDATE".into())),
        ("FREQ=DAILY;FREQ=DAILY;COUNT=3", RepeatedPart("FREQ")),
        ("FREQ=DAILY;COUNT=3;COUNT=3", RepeatedPart("COUNT")),
        ("FREQ=DAILY;COUNT=3\nRRULE:FREQ=DAILY;COUNT=3", RepeatedPart("RRULE")),
        ("FREQ=DAILY;COUNT=3;UNTIL=20261225", CountAndUntil),
        ("FREQ=DAILY", Endless),
        ("FREQ=DAILY;COUNT=0", BadCount),
        ("FREQ=DAILY;COUNT=401", BadCount),
        ("FREQ=DAILY;COUNT=1000000000", BadCount),
        ("FREQ=DAILY;COUNT=99999999999999999999999", BadCount),
        ("FREQ=DAILY;COUNT=+3", BadCount),
        ("FREQ=DAILY;COUNT=", BadCount),
        ("FREQ=DAILY;COUNT=3;INTERVAL=0", BadInterval),
        ("FREQ=DAILY;COUNT=3;INTERVAL=1001", BadInterval),
        ("FREQ=DAILY;COUNT=3;INTERVAL=-1", BadInterval),
        ("FREQ=DAILY;COUNT=3;WKST=1", bad("WKST", "1")),
        ("FREQ=DAILY;UNTIL=2026-12-25", bad("UNTIL", "2026-12-25")),
        ("FREQ=DAILY;UNTIL=20261325", bad("UNTIL", "20261325")),
        ("FREQ=WEEKLY;BYDAY=;COUNT=3", bad("BYDAY", "")),
        ("FREQ=WEEKLY;BYDAY=MO,XX;COUNT=3", bad("BYDAY", "XX")),
        ("FREQ=WEEKLY;BYDAY=日;COUNT=3", bad("BYDAY", "日")),
        ("FREQ=MONTHLY;BYDAY=0MO;COUNT=3", bad("BYDAY", "0MO")),
        ("FREQ=MONTHLY;BYDAY=6MO;COUNT=3", bad("BYDAY", "6MO")),
        ("FREQ=MONTHLY;BYDAY=-MO;COUNT=3", bad("BYDAY", "-MO")),
        ("FREQ=MONTHLY;BYMONTHDAY=32;COUNT=3", bad("BYMONTHDAY", "32")),
        ("FREQ=MONTHLY;BYMONTHDAY=0;COUNT=3", bad("BYMONTHDAY", "0")),
        ("FREQ=WEEKLY;BYMONTHDAY=1;COUNT=3", Misplaced("BYMONTHDAY", "WEEKLY")),
        ("FREQ=WEEKLY;BYDAY=2MO;COUNT=3", Misplaced("A numbered day in BYDAY", "WEEKLY")),
        ("FREQ=DAILY;COUNT=3\nEXDATE:", bad("EXDATE", "")),
        ("FREQ=DAILY;COUNT=3\nEXDATE:20261225,", bad("EXDATE", "")),
        ("FREQ=DAILY;COUNT=3\nEXDATE;TZID=Mars/Olympus:20261225T1", bad("TZID", "Mars/Olympus")),
    ] {
        assert_eq!(parse_error(text), fault, "{text}");
        assert!(fault.to_string().ends_with('.'), "{fault}");
    }
    assert_eq!(
        parse_error("FREQ=YEARLY;COUNT=3").to_string(),
        "FREQ=YEARLY is not supported. Use DAILY, WEEKLY or MONTHLY."
    );
}

#[test]
fn long_rules_and_too_many_exceptions_are_rejected() {
    assert_eq!(parse_error(&format!("FREQ=DAILY;{}", "X".repeat(2000))), RuleFault::TooLong);
    let exceptions = |count: i64| {
        let first: LocalTime = "2026-01-01T18:00".parse().unwrap();
        let days = (0..count).map(|day| first.plus_days(day).unwrap().compact().to_string());
        format!("FREQ=DAILY;COUNT=400\nEXDATE:{}", days.collect::<Vec<_>>().join(","))
    };
    assert_eq!(parse_error(&exceptions(401)), RuleFault::TooManyExceptions);
    assert_eq!(rule(&exceptions(400)).to_string(), exceptions(400));
    let left = try_series(&exceptions(399), "2026-01-01T18:00", "UTC");
    assert_eq!(left, Ok(vec!["2027-02-04T18:00:00".to_owned()]));
    let left = try_series(&exceptions(400), "2026-01-01T18:00", "UTC");
    assert_eq!(left, Err(RuleFault::AllExcepted));
}

#[test]
fn series_without_days_or_with_too_many_are_detected_quickly() {
    let start_of_test = Instant::now();
    for (text, start, fault) in [
        (
            "FREQ=MONTHLY;BYMONTHDAY=31;INTERVAL=12;COUNT=3",
            "2026-02-01T18:00",
            RuleFault::NeverMatches,
        ),
        (
            "FREQ=MONTHLY;BYMONTHDAY=31;BYDAY=1MO;COUNT=3",
            "2026-02-01T18:00",
            RuleFault::NeverMatches,
        ),
        ("FREQ=DAILY;INTERVAL=7;BYDAY=MO;COUNT=3", "2026-02-01T18:00", RuleFault::NeverMatches),
        ("FREQ=DAILY;BYDAY=MO;UNTIL=20260203", "2026-02-03T18:00", RuleFault::NeverMatches),
        ("FREQ=DAILY;COUNT=2", "9999-12-31T18:00", RuleFault::BeyondCalendar),
        ("FREQ=WEEKLY;BYDAY=FR,SA;COUNT=2", "9999-12-31T18:00", RuleFault::BeyondCalendar),
        ("FREQ=MONTHLY;INTERVAL=1000;COUNT=400", "2026-02-01T18:00", RuleFault::BeyondCalendar),
        ("FREQ=WEEKLY;BYDAY=MO;COUNT=1", "9999-12-31T18:00", RuleFault::NeverMatches),
        ("FREQ=DAILY;UNTIL=99991231", "2026-02-01T18:00", RuleFault::TooManyOccurrences),
        ("FREQ=DAILY;UNTIL=20270308", "2026-02-01T18:00", RuleFault::TooManyOccurrences),
    ] {
        assert_eq!(try_series(text, start, "Europe/Lisbon"), Err(fault), "{text}");
    }
    assert_eq!(days("FREQ=DAILY;UNTIL=20270307", "2026-02-01").len(), 400);
    assert_eq!(days("FREQ=DAILY;UNTIL=99991231", "9999-12-30").len(), 2);
    assert_eq!(days("FREQ=WEEKLY;BYDAY=MO,TU,WE;COUNT=3", "0001-01-01").len(), 3);
    // Generous, for a busy machine and a build without optimization.
    let elapsed = start_of_test.elapsed();
    assert!(elapsed < Duration::from_secs(30), "{elapsed:?}");
}
