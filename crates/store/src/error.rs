//! What can go wrong below the domain, told the same way for both databases.

use std::fmt;

/// The outcome of a statement or a job.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a statement or a job did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Exactly one row was wanted and there was none.
    Missing,
    /// A unique rule was broken; its name says which.
    Taken(String),
    /// A row was named that does not exist, or one that others still point to was removed.
    Dangling,
    /// A check of the schema was broken; its name says which.
    Check(String),
    /// Somebody else held the lock for too long.
    Busy,
    /// Too many jobs are waiting already.
    Overloaded,
    /// The database cannot be reached or cannot write: lost connection, full disk, read-only folder.
    Unavailable(String),
    /// The database refused the statement: a mistake of ours.
    Database(String),
    /// What came out of the database is not what was put in.
    Corrupt(String),
    /// The job panicked; its changes were undone.
    Panicked,
    /// The database was migrated by a newer version of this program.
    Newer(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("no such row"),
            Self::Taken(rule) => write!(f, "the unique rule {rule} was broken"),
            Self::Dangling => f.write_str("a row points to a row that is not there"),
            Self::Check(rule) => write!(f, "the check {rule} was broken"),
            Self::Busy => f.write_str("the database was locked by somebody else for too long"),
            Self::Overloaded => f.write_str("too many jobs are waiting for the database"),
            Self::Unavailable(why) => write!(f, "the database is unavailable: {why}"),
            Self::Database(why) => write!(f, "the database refused: {why}"),
            Self::Corrupt(why) => write!(f, "the database holds something unexpected: {why}"),
            Self::Panicked => f.write_str("the job panicked"),
            Self::Newer(what) => write!(
                f,
                "the database was migrated by a newer version of touchline ({what}); use that version"
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let (code, message) = match &error {
            rusqlite::Error::SqliteFailure(code, message) => (*code, message.clone()),
            rusqlite::Error::SqlInputError { error, msg, .. } => (*error, Some(msg.clone())),
            other => return Self::Database(other.to_string()),
        };
        let message = message.unwrap_or_else(|| code.to_string());
        match code.extended_code {
            rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE => Self::Taken(unique_rule(&message)),
            rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY => Self::Taken(primary_rule(&message)),
            rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY => Self::Dangling,
            rusqlite::ffi::SQLITE_CONSTRAINT_CHECK => Self::Check(after_colon(&message)),
            _ => match code.code {
                rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked => {
                    Self::Busy
                }
                rusqlite::ErrorCode::DiskFull
                | rusqlite::ErrorCode::SystemIoFailure
                | rusqlite::ErrorCode::ReadOnly
                | rusqlite::ErrorCode::CannotOpen
                | rusqlite::ErrorCode::DatabaseCorrupt
                | rusqlite::ErrorCode::NotADatabase
                | rusqlite::ErrorCode::OutOfMemory => Self::Unavailable(message),
                _ => Self::Database(message),
            },
        }
    }
}

fn after_colon(message: &str) -> String {
    message.split_once(": ").map_or(message, |(_, rest)| rest).to_owned()
}

/// SQLite says `UNIQUE constraint failed: team.account_id, team.name`; PostgreSQL says the name.
/// Unique rules are named after their table and columns, so the name can be made from the message.
fn unique_rule(message: &str) -> String {
    let columns = after_colon(message);
    let mut rule = columns.split('.').next().unwrap_or_default().to_owned();
    for column in columns.split(", ").filter_map(|column| column.split_once('.')) {
        rule.push('_');
        rule.push_str(column.1);
    }
    rule + "_key"
}

fn primary_rule(message: &str) -> String {
    let columns = after_colon(message);
    format!("{}_pkey", columns.split('.').next().unwrap_or_default())
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(refusal) = error.as_db_error() else {
            return Self::Unavailable(with_causes(&error));
        };
        let rule = || refusal.constraint().unwrap_or_default().to_owned();
        let told = || format!("{} ({})", refusal.message(), refusal.code().code());
        match refusal.code().code() {
            "23505" => Self::Taken(rule()),
            "23503" => Self::Dangling,
            "23514" => Self::Check(rule()),
            "55P03" | "40P01" | "40001" => Self::Busy,
            // Classes: connection, resources, operator intervention, system, read-only transaction.
            code if ["08", "53", "57", "58"].contains(&&code[..2]) || code == "25006" => {
                Self::Unavailable(told())
            }
            "28000" | "28P01" | "3D000" => Self::Unavailable(told()),
            _ => Self::Database(told()),
        }
    }
}

/// The driver's own words are short ("error connecting to server"); the reason is in its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_databases_name_a_rule_alike() {
        let message = "UNIQUE constraint failed: team.account_id, team.name";
        assert_eq!(unique_rule(message), "team_account_id_name_key");
        assert_eq!(primary_rule("UNIQUE constraint failed: team.account_id, team.id"), "team_pkey");
        assert_eq!(after_colon("CHECK constraint failed: team_status_check"), "team_status_check");
    }
}
