//! Errors of the data layer, the same for both databases.

use std::fmt;

/// The outcome of a statement or a job.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a statement or a job failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The query returned no row where one is required.
    RowNotFound,
    /// A unique constraint with this name was violated.
    UniqueViolation(String),
    /// A foreign key was violated: the row references a row that doesn't exist, or a deleted row is still referenced.
    ForeignKeyViolation,
    /// A check constraint with this name was violated.
    CheckViolation(String),
    /// The database was locked for too long.
    Busy,
    /// The queue is full.
    Overloaded,
    /// The database cannot be reached or cannot write: lost connection, full disk, read-only folder.
    Unavailable(String),
    /// The database rejected the statement. This is a bug.
    Database(String),
    /// The database contains an unexpected value.
    Corrupt(String),
    /// The job panicked; its changes were rolled back.
    Panicked,
    /// The database was migrated by a newer version of this program.
    NewerSchema(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RowNotFound => f.write_str("row not found"),
            Self::UniqueViolation(constraint) => {
                write!(f, "unique constraint {constraint} violated")
            }
            Self::ForeignKeyViolation => f.write_str("foreign key constraint violated"),
            Self::CheckViolation(constraint) => write!(f, "check constraint {constraint} violated"),
            Self::Busy => f.write_str("the database was locked for too long"),
            Self::Overloaded => f.write_str("too many jobs are waiting for the database"),
            Self::Unavailable(reason) => write!(f, "the database is unavailable: {reason}"),
            Self::Database(reason) => write!(f, "the database rejected the statement: {reason}"),
            Self::Corrupt(reason) => {
                write!(f, "the database contains an unexpected value: {reason}")
            }
            Self::Panicked => f.write_str("the job panicked"),
            Self::NewerSchema(migration) => write!(
                f,
                "the database was migrated by a newer version of touchline ({migration}); use that version"
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
            rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE => {
                Self::UniqueViolation(unique_constraint_name(&message))
            }
            rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY => {
                Self::UniqueViolation(primary_key_name(&message))
            }
            rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY => Self::ForeignKeyViolation,
            rusqlite::ffi::SQLITE_CONSTRAINT_CHECK => Self::CheckViolation(after_colon(&message)),
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

/// Derives the name of a unique constraint from SQLite's message, which names the columns only
/// (`UNIQUE constraint failed: team.account_id, team.name`). PostgreSQL reports the name itself. Unique constraints are
/// named after their table and columns.
fn unique_constraint_name(message: &str) -> String {
    let columns = after_colon(message);
    let mut name = columns.split('.').next().unwrap_or_default().to_owned();
    for column in columns.split(", ").filter_map(|column| column.split_once('.')) {
        name.push('_');
        name.push_str(column.1);
    }
    name + "_key"
}

fn primary_key_name(message: &str) -> String {
    let columns = after_colon(message);
    format!("{}_pkey", columns.split('.').next().unwrap_or_default())
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(db_error) = error.as_db_error() else {
            return Self::Unavailable(with_causes(&error));
        };
        let constraint = || db_error.constraint().unwrap_or_default().to_owned();
        let message = || format!("{} ({})", db_error.message(), db_error.code().code());
        match db_error.code().code() {
            "23505" => Self::UniqueViolation(constraint()),
            "23503" => Self::ForeignKeyViolation,
            "23514" => Self::CheckViolation(constraint()),
            "55P03" | "40P01" | "40001" => Self::Busy,
            // Classes: connection, resources, operator intervention, system, read-only transaction.
            code if ["08", "53", "57", "58"].contains(&&code[..2]) || code == "25006" => {
                Self::Unavailable(message())
            }
            "28000" | "28P01" | "3D000" => Self::Unavailable(message()),
            _ => Self::Database(message()),
        }
    }
}

/// Appends the causes to the driver's message, which alone is too short ("error connecting to server").
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
    fn sqlite_messages_yield_the_constraint_names_of_postgres() {
        let message = "UNIQUE constraint failed: team.account_id, team.name";
        assert_eq!(unique_constraint_name(message), "team_account_id_name_key");
        assert_eq!(
            primary_key_name("UNIQUE constraint failed: team.account_id, team.id"),
            "team_pkey"
        );
        assert_eq!(after_colon("CHECK constraint failed: team_status_check"), "team_status_check");
    }
}
