//! Migrations: one SQL text for both databases, applied in order. A released migration is never edited.
//!
//! The SQL uses five types: `text`, `bigint`, `boolean`, `double precision` and `bytea`. For SQLite the type names are
//! replaced, and tables become `strict`, so that wrong types are rejected as in PostgreSQL, and `without rowid`, so
//! that the rows of one account are stored together in the order of their ids.

use kit::Timestamp;
use kit::secret::{hex, sha256};

use crate::{Db, Dialect, Error, Reader, Result, Scope, Tx, bind, row};

/// A migration of the schema.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// The file name without extension, such as `0001_foundation`.
    pub name: &'static str,
    /// The content of the file.
    pub sql: &'static str,
}

row! {
    /// A migration that was applied, as recorded in the migration log.
    #[derive(Debug, Clone)]
    pub struct AppliedMigration {
        /// The name.
        pub name: String,
        /// The SHA-256 of the whole SQL text, including comments.
        pub checksum: String,
        /// When it was applied.
        pub applied_at: Timestamp,
    }
}

/// Marks the end of a table whose rows are updated often, many in one transaction. On PostgreSQL such a table gets a
/// low fill factor: new row versions then fit on the same page and need no new index entries (heap-only tuples).
const CHANGED_IN_PLACE: &str = "); -- changed in place";

const CREATE_LOG_TABLE: &str = "create table if not exists schema_migration (
    name text not null primary key,
    checksum text not null,
    applied_at bigint not null
);";

impl Db {
    /// Applies all pending migrations in one transaction and returns their names.
    pub async fn migrate(&self, migrations: &'static [Migration]) -> Result<Vec<&'static str>> {
        // Usually no migration is pending; then a read is enough and doesn't wait for other writes.
        if let Ok(applied) = self.read(Scope::system("migrate"), read_applied).await
            && applied.len() == migrations.len()
        {
            return check_history(&applied, migrations).map(|()| Vec::new());
        }
        self.write(Scope::system("migrate").long_running(), move |tx| migrate(tx, migrations)).await
    }

    /// Returns the applied migrations, oldest first.
    pub async fn applied_migrations(&self) -> Result<Vec<AppliedMigration>> {
        // A new database has no migration log yet, so it is created here.
        self.write(Scope::system("migrate"), |tx| {
            tx.execute_batch(&translate(CREATE_LOG_TABLE, tx.dialect()))?;
            read_applied(tx)
        })
        .await
    }
}

fn migrate(tx: &Tx<'_>, migrations: &'static [Migration]) -> Result<Vec<&'static str>> {
    tx.execute_batch(&translate(CREATE_LOG_TABLE, tx.dialect()))?;
    let applied = read_applied(tx)?;
    check_history(&applied, migrations)?;
    let mut new = Vec::new();
    for migration in migrations.iter().skip(applied.len()) {
        tx.execute_batch(&translate(migration.sql, tx.dialect()))?;
        tx.execute(
            "insert into schema_migration (name, checksum, applied_at)
             values (:name, :checksum, :now) /* any account */",
            bind! { name: migration.name, checksum: checksum(migration) },
        )?;
        new.push(migration.name);
    }
    Ok(new)
}

fn read_applied(db: &Reader<'_>) -> Result<Vec<AppliedMigration>> {
    db.all(
        "select name, checksum, applied_at from schema_migration order by name /* any account */",
        bind! {},
    )
}

/// Fails unless the applied migrations are the first ones of `migrations`, with the same names and checksums.
fn check_history(applied: &[AppliedMigration], migrations: &[Migration]) -> Result<()> {
    if let Some(newer) = applied.get(migrations.len()) {
        return Err(Error::NewerSchema(newer.name.clone()));
    }
    for (applied, migration) in applied.iter().zip(migrations) {
        if applied.name != migration.name {
            return Err(Error::NewerSchema(applied.name.clone()));
        }
        if applied.checksum != checksum(migration) {
            let name = migration.name;
            return Err(Error::Corrupt(format!(
                "migration {name} was changed after it was applied"
            )));
        }
    }
    Ok(())
}

fn checksum(migration: &Migration) -> String {
    hex(&sha256(migration.sql.as_bytes()))
}

/// Translates the SQL for this database.
fn translate(sql: &str, dialect: Dialect) -> String {
    if dialect == Dialect::Postgres {
        return move_primary_keys_last(sql).replace(CHANGED_IN_PLACE, ") with (fillfactor = 40);");
    }
    let mut text = String::with_capacity(sql.len());
    let mut word = String::new();
    for c in sql.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        text.push_str(match word.as_str() {
            "bigint" | "boolean" => "integer",
            "bytea" => "blob",
            "double" => "real",
            // The second word of `double precision`.
            "precision" => "",
            other => other,
        });
        text.push(c);
        word.clear();
    }
    // Only table definitions have a closing parenthesis at the start of a line.
    text.replace("\n);", "\n) strict, without rowid;")
}

/// Moves the creation of each table's primary key after its indexes. Before a table is analyzed, PostgreSQL's planner
/// estimates the same cost for all indexes that begin with the account, and picks the one that was created last. If
/// that weren't the primary key, each lookup by id and each foreign key check would read all rows of the account.
fn move_primary_keys_last(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len());
    let (mut table, mut key) = ("", None);
    for line in sql.lines() {
        if let Some(name) = line.strip_prefix("create table ") {
            text.extend(key.take());
            table = name.trim_end_matches(" (");
        }
        if line.starts_with("    constraint ") && line.contains(" primary key (") {
            let constraint = line.trim().trim_end_matches(',');
            key = Some(format!("alter table {table} add {constraint};\n"));
            if !line.ends_with(',') {
                text.truncate(text.trim_end_matches([',', '\n']).len());
                text.push('\n');
            }
            continue;
        }
        text.push_str(line);
        text.push('\n');
    }
    text.extend(key);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_table_options_are_translated_for_sqlite() {
        let sql =
            "create table x (\n    a bigint,\n    at double precision,\n    mybigint bytea\n);\n";
        assert_eq!(translate(sql, Dialect::Postgres), sql);
        let lite = "create table x (\n    a integer,\n    at real ,\n    mybigint blob\n) strict, without rowid;\n ";
        assert_eq!(translate(sql, Dialect::Sqlite), lite);
    }

    #[test]
    fn primary_keys_are_created_after_indexes() {
        let first = "create table x (\n    a text,\n    constraint x_pkey primary key (a)\n);\n";
        let second = "create table y (\n    constraint y_pkey primary key (b),\n    b text\n);\n";
        let index = "create index i on x (a);\n";
        let expected = "create table x (\n    a text\n);\ncreate index i on x (a);
alter table x add constraint x_pkey primary key (a);
create table y (\n    b text\n);
alter table y add constraint y_pkey primary key (b);\n";
        assert_eq!(move_primary_keys_last(&format!("{first}{index}{second}")), expected);
    }

    #[test]
    fn a_newer_or_changed_schema_is_rejected() {
        let migration = Migration { name: "0001_a", sql: "select 1" };
        let applied = |name: &str, checksum: String| AppliedMigration {
            name: name.to_owned(),
            checksum,
            applied_at: Timestamp::from_micros(0),
        };
        let same = applied("0001_a", checksum(&migration));
        assert_eq!(check_history(std::slice::from_ref(&same), &[migration]), Ok(()));
        assert!(matches!(
            check_history(&[same, applied("0002_b", String::new())], &[migration]),
            Err(Error::NewerSchema(_))
        ));
        assert!(matches!(
            check_history(&[applied("0001_a", String::new())], &[migration]),
            Err(Error::Corrupt(_))
        ));
    }
}
