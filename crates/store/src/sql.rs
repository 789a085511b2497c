//! SQL with `:name` parameters for both databases, and the macros that declare statements and rows.
//!
//! A statement is a constant text, parsed once per connection. The parameters become `?1` for SQLite and `$1` for
//! PostgreSQL, with the same numbers. `in (:list)` becomes one placeholder per element, padded to a power of two with
//! the last element, so there are few variants of a statement.

use std::fmt::Write;

use crate::{Error, Result, Value};

/// The name and value of a parameter.
pub type NamedValue<'a> = (&'static str, Value<'a>);
/// The names and values of a statement's parameters.
pub type Bind<'a> = &'a [NamedValue<'a>];

/// The database that a statement is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// A statement, split at its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The text before the first parameter.
    head: String,
    /// The name of each parameter with the text after it.
    parameters: Vec<(String, String)>,
    /// Whether the statement has a parameter for the account, or is marked with `any account`.
    bound_to_account: bool,
}

/// What is bound to one numbered placeholder: a parameter, or an element of a list parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) element: Option<usize>,
}

/// A column of a multi-row insert.
pub(crate) struct InsertColumn<'a> {
    /// The PostgreSQL type of the column.
    pub(crate) type_name: &'a str,
    /// Whether all rows have the same value.
    pub(crate) is_constant: bool,
}

impl Statement {
    /// Splits a statement at its parameters. Ignores colons in string literals, quoted identifiers and comments.
    pub fn scan(sql: &str) -> Self {
        let mut statement =
            Self { head: String::new(), parameters: Vec::new(), bound_to_account: false };
        let mut rest = sql;
        while let Some(c) = rest.chars().next() {
            let length = skippable_length(rest).unwrap_or(c.len_utf8());
            let name = parameter_name(rest);
            if let Some(name) = name {
                statement.parameters.push((name.to_owned(), String::new()));
                rest = &rest[1 + name.len()..];
            } else {
                // Skips both colons of a cast (`::`): the second one would look like a parameter.
                let length = if rest.starts_with("::") { 2 } else { length };
                statement.tail().push_str(&rest[..length]);
                rest = &rest[length..];
            }
        }
        statement.bound_to_account = sql.contains("any account")
            || statement.names().any(|n| n == "account" || n == "account_id");
        statement
    }

    fn tail(&mut self) -> &mut String {
        match self.parameters.last_mut() {
            Some((_, after)) => after,
            None => &mut self.head,
        }
    }

    /// The names of the parameters in order of appearance, including repetitions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().map(|(name, _)| name.as_str())
    }

    /// Fails unless the statement is bound to one account or marked with `any account`.
    pub(crate) fn check_account(&self) -> Result<()> {
        if self.bound_to_account {
            return Ok(());
        }
        let text = &self.head;
        Err(Error::Database(format!("a statement has no :account parameter: {text:?}…")))
    }

    /// Renders the statement for a database. Returns the text and what to bind to each placeholder. `lists` has the
    /// number of placeholders of each list parameter.
    pub(crate) fn render(&self, dialect: Dialect, lists: &[(&str, usize)]) -> (String, Vec<Slot>) {
        let sign = if dialect == Dialect::Sqlite { '?' } else { '$' };
        let mut text = self.head.clone();
        let mut slots: Vec<Slot> = Vec::new();
        for (name, after) in &self.parameters {
            let count = lists.iter().find(|(list, _)| list == name).map(|(_, count)| *count);
            let elements: Vec<_> = count.map_or(vec![None], |count| (0..count).map(Some).collect());
            for (position, element) in elements.into_iter().enumerate() {
                let slot = Slot { name: name.clone(), element };
                let known = slots.iter().position(|known| *known == slot);
                let number = known.unwrap_or_else(|| {
                    slots.push(slot);
                    slots.len() - 1
                });
                let comma = if position > 0 { ", " } else { "" };
                write!(text, "{comma}{sign}{}", number + 1)
                    .expect("writing to a String cannot fail");
            }
            text.push_str(after);
        }
        (text, slots)
    }

    /// Renders an insert of any number of rows for PostgreSQL, from an `insert … values (…)` that contains only the
    /// parameters of one row. Each parameter becomes an array with one element per row, or a single value if it is the
    /// same in all rows. Returns `None` for other statements.
    pub(crate) fn render_multi_row(
        &self,
        columns: &[InsertColumn<'_>],
    ) -> Option<(String, Vec<Slot>)> {
        let (row, slots) = self.render(Dialect::Postgres, &[]);
        let (into, rest) = row.split_once("values (")?;
        let (row, end) = rest.split_once(')')?;
        let expression = |placeholder: &str| {
            let number: usize = placeholder.strip_prefix('$')?.parse().ok()?;
            let column = columns.get(number.checked_sub(1)?)?;
            let value = format!("{placeholder}::{}", column.type_name);
            Some(if column.is_constant { value } else { format!("unnest({value}[])") })
        };
        let expressions: Option<Vec<_>> = row.split(", ").map(expression).collect();
        Some((format!("{into}select {}{end}", expressions?.join(", ")), slots))
    }
}

/// The number of placeholders for a list of this length.
pub(crate) fn placeholder_count(length: usize) -> usize {
    length.max(1).next_power_of_two()
}

/// The length of the string literal, quoted identifier or comment at the start of `text`, if there is one.
fn skippable_length(text: &str) -> Option<usize> {
    let enclosed = |open: &str, close: &str| {
        let inside = text.strip_prefix(open)?;
        Some(inside.find(close).map_or(text.len(), |end| open.len() + end + close.len()))
    };
    enclosed("'", "'")
        .or_else(|| enclosed("\"", "\""))
        .or_else(|| enclosed("--", "\n"))
        .or_else(|| enclosed("/*", "*/"))
}

fn parameter_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix(':')?;
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
    let name = &name[..end];
    name.starts_with(|c: char| c.is_ascii_lowercase()).then_some(name)
}

/// Concatenates constant pieces of SQL at compile time.
#[macro_export]
macro_rules! sql {
    ($($piece:expr),+ $(,)?) => { $crate::concatcp!($($piece),+) };
}

/// Binds values to a statement's parameters by name: `bind! { id, name: &new.name }`.
#[macro_export]
macro_rules! bind {
    () => { &[] };
    ($($name:ident $(: $value:expr)?),+ $(,)?) => {
        &[$((stringify!($name), $crate::bind!(@value $name $($value)?))),+]
    };
    (@value $name:ident) => { $crate::ToValue::to_value(&$name) };
    (@value $name:ident $value:expr) => { $crate::ToValue::to_value(&$value) };
}

/// Declares a struct that represents a row of a table, with its `SELECT`, `INSERT`, `UPDATE` and `bind()`.
#[macro_export]
macro_rules! record {
    ($(#[$meta:meta])* $vis:vis struct $name:ident in $table:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty),+ $(,)?
    }) => {
        $crate::row! {
            $(#[$meta])* $vis struct $name { $($(#[$field_meta])* $field_vis $field: $type),+ }
        }

        impl $name {
            /// Selects all columns of the table. Append a `where` clause.
            pub const SELECT: &'static str =
                concat!("select ", $crate::column_list!("" $($field)+), " from ", stringify!($table));
            /// Inserts a row with the values of `bind()`.
            pub const INSERT: &'static str = concat!(
                "insert into ", stringify!($table), " (", $crate::column_list!("" $($field)+),
                ") values (", $crate::column_list!(":" $($field)+), ")"
            );

            /// Updates a row with the values of `bind()`: all columns except `id`, `account_id` and `created_at`.
            pub const UPDATE: &'static str = concat!(
                "update ", stringify!($table), " set ", $crate::assignment_list!([] $($field)+),
                " where account_id = :account and id = :id"
            );

            /// The names and values of all columns.
            pub fn bind(&self) -> Vec<$crate::NamedValue<'_>> {
                vec![$((stringify!($field), $crate::ToValue::to_value(&self.$field))),+]
            }
        }
    };
}

/// Declares a struct that is read from a row with these columns, in this order.
#[macro_export]
macro_rules! row {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty),+ $(,)?
    }) => {
        $(#[$meta])* $vis struct $name { $($(#[$field_meta])* $field_vis $field: $type),+ }

        impl $crate::Record for $name {
            fn read(row: &mut $crate::Row<'_>) -> $crate::Result<Self> {
                Ok(Self { $($field: row.take(stringify!($field))?),+ })
            }
        }
    };
}

/// Builds a comma-separated list of names, each with a prefix: `:a, :b, :c`.
#[doc(hidden)]
#[macro_export]
macro_rules! column_list {
    ($before:literal $first:ident $($rest:ident)*) => {
        concat!($before, stringify!($first) $(, ", ", $before, stringify!($rest))*)
    };
}

/// Builds the assignments of an update, without the columns that never change: `a = :a, b = :b`.
#[doc(hidden)]
#[macro_export]
macro_rules! assignment_list {
    ([$($names:ident)*] id $($rest:ident)*) => { $crate::assignment_list!([$($names)*] $($rest)*) };
    ([$($names:ident)*] account_id $($rest:ident)*) => {
        $crate::assignment_list!([$($names)*] $($rest)*)
    };
    ([$($names:ident)*] created_at $($rest:ident)*) => {
        $crate::assignment_list!([$($names)*] $($rest)*)
    };
    ([$($names:ident)*] $next:ident $($rest:ident)*) => {
        $crate::assignment_list!([$($names)* $next] $($rest)*)
    };
    ([$first:ident $($rest:ident)*]) => {
        concat!(
            stringify!($first), " = :", stringify!($first)
            $(, ", ", stringify!($rest), " = :", stringify!($rest))*
        )
    };
    ([]) => { "" };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rendered(sql: &str) -> (String, Vec<String>) {
        let (text, slots) = Statement::scan(sql).render(Dialect::Postgres, &[]);
        (text, slots.into_iter().map(|slot| slot.name).collect())
    }

    #[test]
    fn parameters_are_numbered_in_order_of_appearance() {
        let (text, names) = rendered("select :b, :a, :b where x = ':c' -- :d\n and \":e\" = :f_1");
        assert_eq!(text, "select $1, $2, $1 where x = ':c' -- :d\n and \":e\" = $3");
        assert_eq!(names, ["b", "a", "f_1"]);
    }

    #[test]
    fn a_list_becomes_one_placeholder_per_element() {
        let statement = Statement::scan("x in (:ids) and y = :y and z in (:ids)");
        let (text, slots) = statement.render(Dialect::Sqlite, &[("ids", placeholder_count(3))]);
        assert_eq!(text, "x in (?1, ?2, ?3, ?4) and y = ?5 and z in (?1, ?2, ?3, ?4)");
        assert_eq!(slots.len(), 5);
        assert_eq!(
            (
                placeholder_count(0),
                placeholder_count(1),
                placeholder_count(4),
                placeholder_count(5)
            ),
            (1, 1, 4, 8)
        );
    }

    #[test]
    fn a_multi_row_insert_uses_arrays() {
        let columns = [
            InsertColumn { type_name: "int8", is_constant: false },
            InsertColumn { type_name: "text", is_constant: true },
        ];
        let render = |sql: &str| Statement::scan(sql).render_multi_row(&columns);
        let (text, slots) =
            render("insert into t (a, b, c) values (:a, :b, :a) on conflict do nothing").unwrap();
        let expected = "insert into t (a, b, c) \
             select unnest($1::int8[]), $2::text, unnest($1::int8[]) on conflict do nothing";
        assert_eq!((text.as_str(), slots.len()), (expected, 2));
        assert_eq!(slots[1], Slot { name: "b".to_owned(), element: None });
        for other in
            ["values (:a, 1)", "values (:a, lower(:b))", "values (:a, :b, :c)", "select :a"]
        {
            assert_eq!(render(&format!("insert into t (a, b) {other}")), None);
        }
    }

    #[test]
    fn an_update_sets_all_columns_except_the_key() {
        let assignments = crate::assignment_list!([] id account_id name created_at updated_at);
        assert_eq!(assignments, "name = :name, updated_at = :updated_at");
    }

    #[test]
    fn a_statement_must_be_bound_to_an_account() {
        assert!(Statement::scan("delete from team").check_account().is_err());
        assert!(
            Statement::scan("delete from team where account_id = :account").check_account().is_ok()
        );
        assert!(Statement::scan("select 1 /* any account */").check_account().is_ok());
        assert!(Statement::scan("select ':account'").check_account().is_err());
    }

    proptest! {
        #[test]
        fn text_without_parameters_is_not_changed(sql in "[a-z0-9 '\"/*\\-\n;()=%é🏉]{0,80}") {
            prop_assert_eq!(rendered(&sql), (sql, vec![]));
        }

        #[test]
        fn the_parts_of_a_statement_add_up_to_its_text(sql in "\\PC{0,80}") {
            let statement = Statement::scan(&sql);
            let mut joined = statement.head.clone();
            for (name, after) in &statement.parameters {
                joined += ":";
                joined += name;
                joined += after;
            }
            prop_assert_eq!(joined, sql);
        }

        #[test]
        fn parameters_outside_quotes_are_all_found(names in prop::collection::vec("[a-z][a-z0-9_]{0,8}", 0..9)) {
            let texts = names.iter().map(|name| format!("':no' :{name} /* :no */ x::text "));
            let sql: String = texts.collect();
            let statement = Statement::scan(&sql);
            prop_assert_eq!(statement.names().collect::<Vec<_>>(), names);
        }
    }
}
