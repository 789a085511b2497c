//! Reads the schema (tables, columns, keys) from the database's own catalog, in one form for both databases.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::{Dialect, Error, Reader, Result, Tx, Value, bind, row};

/// A table of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The name.
    pub name: String,
    /// The columns, in order.
    pub columns: Vec<Column>,
    /// The columns of each unique constraint, including the primary key.
    pub unique: BTreeSet<String>,
    /// The tables that its foreign keys reference.
    pub parents: BTreeSet<String>,
}

row! {
    /// A column of a table.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Column {
        /// The name.
        pub name: String,
        /// The type, by its SQLite name.
        pub kind: String,
        /// Whether it can be null.
        pub nullable: bool,
    }
}

impl Reader<'_> {
    /// Returns all tables except the migration log. A table comes after the tables it references.
    pub fn tables(&self) -> Result<Vec<Table>> {
        let queries = match self.dialect() {
            Dialect::Sqlite => &SQLITE,
            Dialect::Postgres => &POSTGRES,
        };
        let names: Vec<(String,)> = self.all(queries.tables, bind! {})?;
        let table = |(name,): (String,)| {
            let texts = |sql| {
                let rows: Vec<(String,)> = self.all(sql, bind! { name })?;
                Ok::<BTreeSet<String>, Error>(rows.into_iter().map(|(text,)| text).collect())
            };
            let columns = self.all(queries.columns, bind! { name })?;
            Ok(Table {
                unique: texts(queries.unique)?,
                parents: texts(queries.parents)?,
                columns,
                name,
            })
        };
        let tables: Result<Vec<Table>> = names.into_iter().map(table).collect();
        Ok(sort_parents_first(tables?))
    }

    /// Calls the closure for each row of a table, in the order of its first two columns.
    pub fn rows(
        &self,
        table: &Table,
        mut take: impl FnMut(Vec<Value<'static>>) -> Result<()>,
    ) -> Result<()> {
        let columns = column_names(table).join(", ");
        let text = format!("select {columns} from {} order by 1, 2 /* any account */", table.name);
        self.for_each_row(intern(text), bind! {}, |row| {
            let values: Result<Vec<_>> = table.columns.iter().map(|_| row.take_value()).collect();
            take(values?)
        })
    }
}

impl Tx<'_> {
    /// Inserts a row with these values for all columns.
    pub fn insert_row(&self, table: &Table, values: Vec<Value<'static>>) -> Result<()> {
        let columns = column_names(table);
        let text = format!(
            "insert into {} ({}) values (:{}) /* any account */",
            table.name,
            columns.join(", "),
            columns.join(", :"),
        );
        let bind: Vec<_> =
            columns.iter().map(|name| intern((*name).to_owned())).zip(values).collect();
        self.execute_deferred(intern(text), &bind)
    }
}

fn column_names(table: &Table) -> Vec<&str> {
    table.columns.iter().map(|column| column.name.as_str()).collect()
}

fn sort_parents_first(mut tables: Vec<Table>) -> Vec<Table> {
    let mut sorted: Vec<Table> = Vec::new();
    while !tables.is_empty() {
        let is_sorted = |parent: &String, sorted: &[Table], table: &str| {
            parent == table || sorted.iter().any(|table| table.name == *parent)
        };
        let next = tables
            .iter()
            .position(|table| table.parents.iter().all(|p| is_sorted(p, &sorted, &table.name)))
            // Tables that reference each other cannot be ordered.
            .unwrap_or(0);
        sorted.push(tables.remove(next));
    }
    sorted
}

/// Returns a copy of the text that lives as long as the process. Leaks memory once per distinct text; the texts contain
/// only names of tables and columns, so their number is bounded by the schema.
fn intern(text: String) -> &'static str {
    static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = texts.get(text.as_str()) {
        return text;
    }
    let text: &'static str = Box::leak(text.into_boxed_str());
    texts.insert(text);
    text
}

struct SchemaQueries {
    tables: &'static str,
    columns: &'static str,
    unique: &'static str,
    parents: &'static str,
}

static SQLITE: SchemaQueries = SchemaQueries {
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

static POSTGRES: SchemaQueries = SchemaQueries {
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
