//! What the database itself says about its tables, told alike for both.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::{Dialect, Error, Reader, Result, Tx, Value, bind, row};

/// A table as it stands in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// The columns of each unique rule, the primary key included.
    pub unique: BTreeSet<String>,
    /// The tables whose rows its own rows point to.
    pub parents: BTreeSet<String>,
}

row! {
    /// A column of a table.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Column {
        /// Its name.
        pub name: String,
        /// One of the five types, as SQLite calls it.
        pub kind: String,
        /// Whether it may be empty.
        pub nullable: bool,
    }
}

impl Reader<'_> {
    /// Every table but the migration log; a table comes after those it points to.
    pub fn tables(&self) -> Result<Vec<Table>> {
        let texts = match self.dialect() {
            Dialect::Sqlite => &SQLITE,
            Dialect::Postgres => &POSTGRES,
        };
        let names: Vec<(String,)> = self.all(texts.tables, bind! {})?;
        let table = |(name,): (String,)| {
            let listed = |sql| {
                let rows: Vec<(String,)> = self.all(sql, bind! { name })?;
                Ok::<BTreeSet<String>, Error>(rows.into_iter().map(|(word,)| word).collect())
            };
            let columns = self.all(texts.columns, bind! { name })?;
            Ok(Table {
                unique: listed(texts.unique)?,
                parents: listed(texts.parents)?,
                columns,
                name,
            })
        };
        let tables: Result<Vec<Table>> = names.into_iter().map(table).collect();
        Ok(parents_first(tables?))
    }

    /// Hands over every row of a table, in the order of its key.
    pub fn rows(
        &self,
        table: &Table,
        mut take: impl FnMut(Vec<Value<'static>>) -> Result<()>,
    ) -> Result<()> {
        let columns = names(table).join(", ");
        let text = format!("select {columns} from {} order by 1, 2 /* any account */", table.name);
        self.each(interned(text), bind! {}, |row| {
            let values: Result<Vec<_>> = table.columns.iter().map(|_| row.take_value()).collect();
            take(values?)
        })
    }
}

impl Tx<'_> {
    /// Puts a row back as it was.
    pub fn put_row(&self, table: &Table, values: Vec<Value<'static>>) -> Result<()> {
        let columns = names(table);
        let text = format!(
            "insert into {} ({}) values (:{}) /* any account */",
            table.name,
            columns.join(", "),
            columns.join(", :"),
        );
        let bind: Vec<_> =
            columns.iter().map(|name| interned((*name).to_owned())).zip(values).collect();
        self.later(interned(text), &bind)
    }
}

fn names(table: &Table) -> Vec<&str> {
    table.columns.iter().map(|column| column.name.as_str()).collect()
}

fn parents_first(mut tables: Vec<Table>) -> Vec<Table> {
    let mut sorted: Vec<Table> = Vec::new();
    while !tables.is_empty() {
        let known = |parent: &String, sorted: &[Table], own: &str| {
            parent == own || sorted.iter().any(|table| table.name == *parent)
        };
        let free = tables
            .iter()
            .position(|table| table.parents.iter().all(|p| known(p, &sorted, &table.name)))
            // Tables that point to each other have no right order.
            .unwrap_or(0);
        sorted.push(tables.remove(free));
    }
    sorted
}

/// A text that lives as long as the process. Only the names of tables and columns come here, so there
/// are as many as the schema has.
fn interned(text: String) -> &'static str {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(text.as_str()) {
        return known;
    }
    let text: &'static str = Box::leak(text.into_boxed_str());
    known.insert(text);
    text
}

struct Texts {
    tables: &'static str,
    columns: &'static str,
    unique: &'static str,
    parents: &'static str,
}

static SQLITE: Texts = Texts {
    tables: "/* any account */
        select name from sqlite_schema
        where type = 'table' and name <> 'schema_migration' and name not like 'sqlite%'
        order by name",
    columns: "/* any account */
        select name, lower(type) as kind, \"notnull\" = 0 as nullable from pragma_table_info(:name)
        order by cid",
    unique: "/* any account */
        select (select group_concat(name, ',')
                from (select name from pragma_index_info(il.name) order by seqno))
               || case when il.partial then ' partial' else '' end
        from pragma_index_list(:name) il where il.\"unique\"",
    parents: "select \"table\" from pragma_foreign_key_list(:name) /* any account */",
};

static POSTGRES: Texts = Texts {
    tables: "/* any account */
        select cast(table_name as text) as name from information_schema.tables
        where table_schema = current_schema() and table_type = 'BASE TABLE'
          and table_name <> 'schema_migration'
        order by 1",
    columns: "/* any account */
        select cast(column_name as text) as name,
               case data_type when 'bigint' then 'integer' when 'boolean' then 'integer'
                   when 'bytea' then 'blob' when 'double precision' then 'real'
                   else cast(data_type as text) end as kind,
               is_nullable = 'YES' as nullable
        from information_schema.columns
        where table_schema = current_schema() and table_name = :name
        order by ordinal_position",
    unique: "/* any account */
        select (select string_agg(cast(a.attname as text), ',' order by place.ordinality)
                from unnest(i.indkey) with ordinality place(attnum, ordinality)
                join pg_attribute a on a.attrelid = i.indrelid and a.attnum = place.attnum)
               || case when i.indpred is null then '' else ' partial' end
        from pg_index i
        join pg_class t on t.oid = i.indrelid
        join pg_namespace n on n.oid = t.relnamespace
        where i.indisunique and t.relname = :name and n.nspname = current_schema()",
    parents: "/* any account */
        select cast(p.relname as text)
        from pg_constraint c
        join pg_class t on t.oid = c.conrelid
        join pg_class p on p.oid = c.confrelid
        join pg_namespace n on n.oid = t.relnamespace
        where c.contype = 'f' and t.relname = :name and n.nspname = current_schema()",
};
