//! The migrations of the schema, in order. A released migration is never edited.

use store::Migration;

macro_rules! migrations {
    ($($name:literal),+ $(,)?) => {
        &[$(Migration {
            name: $name,
            sql: include_str!(concat!("../../../migrations/", $name, ".sql")),
        }),+]
    };
}

/// All migrations.
pub const MIGRATIONS: &[Migration] = migrations![
    "0001_foundation",
    "0002_teams",
    "0003_roster",
    "0004_events",
    "0005_messages",
    "0006_users",
    "0007_sign_in",
    "0008_webhooks",
    "0009_money",
    "0010_location_sharing",
    "0011_safeguarding",
    "0012_confirmed_guardians",
    "0013_message_authors",
    "0014_languages",
    "0015_message_templates",
    "0016_attendance",
    "0017_away_dates",
    "0018_event_reminders",
    "0019_people_merge",
    "0020_message_events",
    "0021_files",
    "0022_email_preferences",
    "0023_home",
    "0024_long_events",
    "0025_event_changes",
    "0026_withheld_messages",
    "0027_request_log",
    "0028_repeated_secrets",
    "0029_results",
];
