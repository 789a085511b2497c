//! The steps of the schema, in order. A step that was released is never edited.

use store::Migration;

macro_rules! steps {
    ($($name:literal),+ $(,)?) => {
        &[$(Migration {
            name: $name,
            sql: include_str!(concat!("../../../migrations/", $name, ".sql")),
        }),+]
    };
}

/// Every step there is.
pub const STEPS: &[Migration] = steps![
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
];
