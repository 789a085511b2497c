//! Tests of quiet hours and daily summaries.

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn time(text: &str) -> TimeOfDay {
    text.parse().unwrap()
}

fn zone(name: &str) -> Zone {
    name.parse().unwrap()
}

/// Daily summaries at 18:00, quiet hours from 22:00 to 07:00, in Lisbon.
fn settings() -> NotificationSettings {
    NotificationSettings {
        announcements: Frequency::Daily,
        dues_reminders: Frequency::Never,
        quiet_from: Some(time("22:00")),
        quiet_until: Some(time("07:00")),
        timezone: Some(zone("Europe/Lisbon")),
        ..NotificationSettings::default_for(false)
    }
}

fn delivery(settings: &NotificationSettings, kind: EmailKind, now: &str) -> Delivery {
    settings.delivery(kind, false, &Zone::utc(), at(now))
}

#[test]
fn quiet_hours_go_over_midnight() {
    let settings = settings();
    let change = |now: &str| delivery(&settings, EmailKind::EventChange, now);
    // Lisbon is one hour ahead of UTC in summer.
    assert_eq!(change("2026-09-05T20:59:59Z"), Delivery::AtOnce);
    assert_eq!(change("2026-09-05T21:00:00Z"), Delivery::HoldUntil(at("2026-09-06T06:00:00Z")));
    assert_eq!(change("2026-09-06T05:59:59Z"), Delivery::HoldUntil(at("2026-09-06T06:00:00Z")));
    assert_eq!(change("2026-09-06T06:00:00Z"), Delivery::AtOnce);
    assert_eq!(change("2026-12-31T23:00:00Z"), Delivery::HoldUntil(at("2027-01-01T07:00:00Z")));

    let noon = NotificationSettings {
        quiet_from: Some(time("12:30")),
        quiet_until: Some(time("13:30")),
        ..settings.clone()
    };
    let change = |now: &str| delivery(&noon, EmailKind::EventChange, now);
    assert_eq!(change("2026-09-05T11:29:00Z"), Delivery::AtOnce);
    assert_eq!(change("2026-09-05T11:30:00Z"), Delivery::HoldUntil(at("2026-09-05T12:30:00Z")));
    assert_eq!(change("2026-09-05T12:30:00Z"), Delivery::AtOnce);
}

#[test]
fn quiet_hours_end_at_the_local_time_when_the_clocks_change() {
    let settings = settings();
    let change = |now: &str| delivery(&settings, EmailKind::EventChange, now);
    // The clocks go forward on 29 March 2026 at 01:00 and back on 25 October 2026 at 02:00.
    assert_eq!(change("2026-03-28T22:30:00Z"), Delivery::HoldUntil(at("2026-03-29T06:00:00Z")));
    assert_eq!(change("2026-10-24T21:30:00Z"), Delivery::HoldUntil(at("2026-10-25T07:00:00Z")));

    // 01:30 does not exist on 29 March, and occurs twice on 25 October.
    let early = NotificationSettings { quiet_until: Some(time("01:30")), ..settings.clone() };
    let change = |now: &str| delivery(&early, EmailKind::EventChange, now);
    assert_eq!(change("2026-03-28T23:00:00Z"), Delivery::HoldUntil(at("2026-03-29T01:30:00Z")));
    assert_eq!(change("2026-03-29T01:30:00Z"), Delivery::AtOnce);
    assert_eq!(change("2026-10-24T23:00:00Z"), Delivery::HoldUntil(at("2026-10-25T00:30:00Z")));
    assert_eq!(change("2026-10-25T00:40:00Z"), Delivery::AtOnce);
    assert_eq!(change("2026-10-25T01:10:00Z"), Delivery::AtOnce);
}

#[test]
fn the_summary_is_sent_once_a_day() {
    let settings = settings();
    let news = |now: &str| delivery(&settings, EmailKind::Announcement, now);
    assert_eq!(news("2026-09-05T16:59:59Z"), Delivery::Summary(at("2026-09-05T17:00:00Z")));
    assert_eq!(news("2026-09-05T17:00:00Z"), Delivery::Summary(at("2026-09-06T17:00:00Z")));
    // Quiet hours do not bring the summary forward or delay it.
    assert_eq!(news("2026-09-05T22:00:00Z"), Delivery::Summary(at("2026-09-06T17:00:00Z")));
    // From summer to winter time, 25 hours pass.
    assert_eq!(news("2026-10-24T17:00:00Z"), Delivery::Summary(at("2026-10-25T18:00:00Z")));

    let at_one = NotificationSettings {
        summary_at: time("01:30"),
        quiet_from: None,
        quiet_until: None,
        ..settings.clone()
    };
    let news = |now: &str| delivery(&at_one, EmailKind::Announcement, now);
    assert_eq!(news("2026-03-28T12:00:00Z"), Delivery::Summary(at("2026-03-29T01:30:00Z")));
    // The second 01:30 of that night has no summary.
    assert_eq!(news("2026-10-25T00:30:00Z"), Delivery::Summary(at("2026-10-26T01:30:00Z")));

    let quiet = NotificationSettings { summary_at: time("23:00"), ..settings.clone() };
    let news = |now: &str| delivery(&quiet, EmailKind::Announcement, now);
    assert_eq!(news("2026-09-05T12:00:00Z"), Delivery::Summary(at("2026-09-06T06:00:00Z")));
}

#[test]
fn urgent_emails_do_not_wait_and_safeguarding_cannot_be_switched_off() {
    let settings = NotificationSettings { event_changes: Frequency::Daily, ..settings() };
    let night = at("2026-09-05T23:00:00Z");
    let urgent = |kind| settings.delivery(kind, true, &Zone::utc(), night);
    assert_eq!(urgent(EmailKind::EventChange), Delivery::AtOnce);
    assert_eq!(urgent(EmailKind::DuesReminder), Delivery::Never);
    let never = Frequency::Never;
    let nothing = NotificationSettings {
        announcements: never,
        conversations: never,
        event_changes: never,
        rsvp_reminders: never,
        dues_reminders: never,
        ..settings
    };
    for (kind, _) in EmailKind::ALL {
        let expected = match kind {
            EmailKind::Safeguarding | EmailKind::Security => Delivery::AtOnce,
            EmailKind::Summary | EmailKind::Other => {
                Delivery::HoldUntil(at("2026-09-06T06:00:00Z"))
            }
            _ => Delivery::Never,
        };
        assert_eq!(nothing.delivery(*kind, false, &Zone::utc(), night), expected, "{kind}");
    }
}

#[test]
fn times_are_in_the_zone_of_the_club_by_default() {
    let settings = NotificationSettings { timezone: None, ..settings() };
    let now = at("2026-09-05T12:00:00Z");
    let next = settings.delivery(EmailKind::Announcement, false, &zone("Asia/Tokyo"), now);
    assert_eq!(next, Delivery::Summary(at("2026-09-06T09:00:00Z")));
}
