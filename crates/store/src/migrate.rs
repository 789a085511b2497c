//! Migrations: one text for both databases, applied in order, never edited afterwards.
//!
//! The text uses five types (`text`, `bigint`, `boolean`, `double precision`, `bytea`). For SQLite
//! four words are replaced, and tables become `strict`, so that it refuses wrong types as PostgreSQL
//! does, and `without rowid`, so that the rows of one account lie together in the order of their ids.

use kit::Timestamp;
use kit::secret::{hex, sha256};

use crate::{Db, Dialect, Error, Reader, Result, Scope, Tx, bind, row};

/// A step of the schema.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// The file's name without its ending, such as `0001_foundation`.
    pub name: &'static str,
    /// The text.
    pub sql: &'static str,
}

row! {
    /// A step that was applied.
    #[derive(Debug, Clone)]
    pub struct Applied {
        /// The step's name.
        pub name: String,
        /// The SHA-256 of its text.
        pub checksum: String,
        /// When it was applied.
        pub applied_at: Timestamp,
    }
}

/// How a table ends whose rows are changed again and again, many in one transaction. PostgreSQL keeps room on its pages for
/// their next versions, which then need no new places in its indexes.
const CHANGED_IN_PLACE: &str = "); -- changed in place";

const LOG: &str = "create table if not exists schema_migration (
    name text not null primary key,
    checksum text not null,
    applied_at bigint not null
);";

impl Db {
    /// Brings the schema up to date and says which steps were new. All of them or none are kept, so a
    /// crash in between leaves the schema as it was.
    pub async fn migrate(&self, steps: &'static [Migration]) -> Result<Vec<&'static str>> {
        // Most of the time there is nothing to do, and nobody's writes should be waited for.
        if let Ok(applied) = self.read(Scope::system("migrate"), applied).await
            && applied.len() == steps.len()
        {
            return check(&applied, steps).map(|()| Vec::new());
        }
        self.write(Scope::system("migrate").at_length(), move |tx| migrate(tx, steps)).await
    }

    /// The steps that were applied, oldest first.
    pub async fn applied(&self) -> Result<Vec<Applied>> {
        // A database that was never migrated has no log yet; making one is harmless.
        self.write(Scope::system("migrate"), |tx| {
            tx.script(&translated(LOG, tx.dialect()))?;
            applied(tx)
        })
        .await
    }
}

fn migrate(tx: &Tx<'_>, steps: &'static [Migration]) -> Result<Vec<&'static str>> {
    tx.script(&translated(LOG, tx.dialect()))?;
    let applied = applied(tx)?;
    check(&applied, steps)?;
    let mut fresh = Vec::new();
    for step in steps.iter().skip(applied.len()) {
        tx.script(&translated(step.sql, tx.dialect()))?;
        tx.run(
            "insert into schema_migration (name, checksum, applied_at)
             values (:name, :checksum, :now) /* any account */",
            bind! { name: step.name, checksum: checksum(step) },
        )?;
        fresh.push(step.name);
    }
    Ok(fresh)
}

fn applied(db: &Reader<'_>) -> Result<Vec<Applied>> {
    db.all(
        "select name, checksum, applied_at from schema_migration order by name /* any account */",
        bind! {},
    )
}

/// What was applied must be the beginning of what we know, text for text.
fn check(applied: &[Applied], steps: &[Migration]) -> Result<()> {
    if let Some(newer) = applied.get(steps.len()) {
        return Err(Error::Newer(newer.name.clone()));
    }
    for (done, step) in applied.iter().zip(steps) {
        if done.name != step.name {
            return Err(Error::Newer(done.name.clone()));
        }
        if done.checksum != checksum(step) {
            let name = step.name;
            return Err(Error::Corrupt(format!("{name} was applied with another text")));
        }
    }
    Ok(())
}

fn checksum(step: &Migration) -> String {
    hex(&sha256(step.sql.as_bytes()))
}

/// The text for this database.
fn translated(sql: &str, dialect: Dialect) -> String {
    if dialect == Dialect::Postgres {
        return keys_last(sql).replace(CHANGED_IN_PLACE, ") with (fillfactor = 40);");
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
    // A table's definition is the only text that closes a parenthesis on a line of its own.
    text.replace("\n);", "\n) strict, without rowid;")
}

/// The text with each table's primary key after its indexes. Until PostgreSQL has counted its rows, all indexes that begin
/// with the account look alike to it, and it takes the one that was made last: without this, each look by id and each
/// check of a reference would walk through the whole account until then.
fn keys_last(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len());
    let (mut table, mut key) = ("", None);
    for line in sql.lines() {
        if let Some(name) = line.strip_prefix("create table ") {
            text.extend(key.take());
            table = name.trim_end_matches(" (");
        }
        if line.starts_with("    constraint ") && line.contains(" primary key (") {
            let rule = line.trim().trim_end_matches(',');
            key = Some(format!("alter table {table} add {rule};\n"));
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
    fn one_text_becomes_two() {
        let sql =
            "create table x (\n    a bigint,\n    at double precision,\n    mybigint bytea\n);\n";
        assert_eq!(translated(sql, Dialect::Postgres), sql);
        let lite = "create table x (\n    a integer,\n    at real ,\n    mybigint blob\n) strict, without rowid;\n ";
        assert_eq!(translated(sql, Dialect::Sqlite), lite);
    }

    #[test]
    fn keys_come_after_indexes() {
        let first = "create table x (\n    a text,\n    constraint x_pkey primary key (a)\n);\n";
        let second = "create table y (\n    constraint y_pkey primary key (b),\n    b text\n);\n";
        let index = "create index i on x (a);\n";
        let wanted = "create table x (\n    a text\n);\ncreate index i on x (a);
alter table x add constraint x_pkey primary key (a);
create table y (\n    b text\n);
alter table y add constraint y_pkey primary key (b);\n";
        assert_eq!(keys_last(&format!("{first}{index}{second}")), wanted);
    }

    #[test]
    fn a_newer_or_changed_schema_is_refused() {
        let step = Migration { name: "0001_a", sql: "select 1" };
        let done = |name: &str, checksum: String| Applied {
            name: name.to_owned(),
            checksum,
            applied_at: Timestamp::from_micros(0),
        };
        let same = done("0001_a", checksum(&step));
        assert_eq!(check(std::slice::from_ref(&same), &[step]), Ok(()));
        assert!(matches!(
            check(&[same, done("0002_b", String::new())], &[step]),
            Err(Error::Newer(_))
        ));
        assert!(matches!(check(&[done("0001_a", String::new())], &[step]), Err(Error::Corrupt(_))));
    }
}
