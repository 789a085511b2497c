//! SQL text: `:name` parameters for both databases, and the macros that write statements.
//!
//! A statement is a constant text. It is scanned once per connection; SQLite gets `?1`, PostgreSQL
//! gets `$1`, numbered alike. `in (:list)` is spread to as many places as the list is long, padded
//! to a power of two with the last value so that few different texts exist.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use crate::scope::Params;
use crate::{Error, Result, Value};

/// The value of a parameter, by its name.
pub type Named<'a> = (&'static str, Value<'a>);
/// The values of a statement's parameters.
pub type Bind<'a> = &'a [Named<'a>];

/// Which database a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The embedded database.
    Sqlite,
    /// The server.
    Postgres,
}

/// A statement text, taken apart at its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Text before the first parameter, then each parameter with the text after it.
    head: String,
    parameters: Vec<(String, String)>,
    /// Whether the text names the account, or says that it means all of them.
    bound_to_account: bool,
}

/// One numbered place of a rendered statement: which parameter, and which element of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slot {
    name: String,
    element: Option<usize>,
}

impl Statement {
    /// Takes a text apart. Quoted text, quoted names and comments are left alone.
    pub fn scan(sql: &str) -> Self {
        let mut statement =
            Self { head: String::new(), parameters: Vec::new(), bound_to_account: false };
        let mut rest = sql;
        while let Some(c) = rest.chars().next() {
            let length = skipped(rest).unwrap_or(c.len_utf8());
            let name = parameter_name(rest);
            if let Some(name) = name {
                statement.parameters.push((name.to_owned(), String::new()));
                rest = &rest[1 + name.len()..];
            } else {
                // `::` would otherwise leave a second colon that looks like a parameter.
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

    /// The names of the parameters, in order, repeated ones included.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().map(|(name, _)| name.as_str())
    }

    /// Whether the text may run: it is bound to one account, or says `any account`.
    fn check_account(&self) -> Result<()> {
        if self.bound_to_account {
            return Ok(());
        }
        let text = &self.head;
        Err(Error::Database(format!("a statement without :account that begins {text:?}")))
    }

    /// The text for a database, and what to bind to each numbered place.
    fn render(&self, dialect: Dialect, lists: &[(&str, usize)]) -> (String, Vec<Slot>) {
        let sign = if dialect == Dialect::Sqlite { '?' } else { '$' };
        let mut text = self.head.clone();
        let mut slots: Vec<Slot> = Vec::new();
        for (name, after) in &self.parameters {
            let places = lists.iter().find(|(list, _)| list == name).map(|(_, places)| *places);
            let elements: Vec<_> =
                places.map_or(vec![None], |count| (0..count).map(Some).collect());
            for (position, element) in elements.into_iter().enumerate() {
                let slot = Slot { name: name.clone(), element };
                let known = slots.iter().position(|known| *known == slot);
                let number = known.unwrap_or_else(|| {
                    slots.push(slot);
                    slots.len() - 1
                });
                let comma = if position > 0 { ", " } else { "" };
                write!(text, "{comma}{sign}{}", number + 1).expect("a String takes any text");
            }
            text.push_str(after);
        }
        (text, slots)
    }

    /// The text that inserts any number of rows at once on a server, from an `insert … values (…)` of nothing but
    /// one row's parameters: each becomes a list of what the rows have there, or stays what they all have.
    fn render_lists(&self, places: &[Place<'_>]) -> Option<(String, Vec<Slot>)> {
        let (row, slots) = self.render(Dialect::Postgres, &[]);
        let (into, rest) = row.split_once("values (")?;
        let (row, end) = rest.split_once(')')?;
        let list = |sign: &str| {
            let number: usize = sign.strip_prefix('$')?.parse().ok()?;
            let Place { kind, same } = places.get(number.checked_sub(1)?)?;
            let one = || format!("{sign}::{kind}");
            Some(if *same { one() } else { format!("unnest({}[])", one()) })
        };
        let lists: Option<Vec<_>> = row.split(", ").map(list).collect();
        Some((format!("{into}select {}{end}", lists?.join(", ")), slots))
    }
}

/// The statements one connection has prepared.
pub(crate) struct Statements<P> {
    known: RefCell<HashMap<Text, Arc<Prepared<P>>>>,
}

/// Stands for the places of an insert of any number of rows; before it, those that are the same for all of them.
const MANY: usize = usize::MAX;
/// So many texts there are at most for inserts of any number of rows, by what all of them have in common.
const FORMS: usize = 16;

/// A constant text by its address and length, with the places of its lists.
type Text = (usize, usize, Vec<usize>);

/// What several rows have at one numbered place: values of this kind, perhaps the same in all of them.
pub(crate) struct Place<'a> {
    pub(crate) kind: &'a str,
    pub(crate) same: bool,
}

/// A statement as one database holds it, and what to bind to its numbered places.
pub(crate) struct Prepared<P> {
    pub(crate) handle: P,
    slots: Vec<Slot>,
}

impl<P> Statements<P> {
    pub(crate) fn new() -> Self {
        Self { known: RefCell::default() }
    }

    /// The prepared statement; the first time, its text is rendered and handed to `prepare`.
    pub(crate) fn get(
        &self,
        sql: &'static str,
        dialect: Dialect,
        params: &Params<'_>,
        prepare: impl FnOnce(String) -> Result<P>,
    ) -> Result<Arc<Prepared<P>>> {
        let lists = params.lists();
        let places = lists.iter().map(|(_, places)| *places).collect();
        self.known(sql, places, |statement| Ok(statement.render(dialect, &lists)), prepare)
    }

    /// The same for an insert of any number of rows on a server, which have this at its places.
    pub(crate) fn get_lists(
        &self,
        sql: &'static str,
        mut places: Vec<Place<'_>>,
        prepare: impl FnOnce(String) -> Result<P>,
    ) -> Result<Arc<Prepared<P>>> {
        if places.iter().all(|place| place.same) || !self.may_differ(sql, &places) {
            for place in &mut places {
                place.same = false;
            }
        }
        let render = |statement: &Statement| {
            let of_more = || format!("an insert of one row's parameters is wanted: {sql:?}");
            statement.render_lists(&places).ok_or_else(|| Error::Database(of_more()))
        };
        self.known(sql, many(&places), render, prepare)
    }

    /// Whether there may be a text of its own for rows that have so much in common.
    fn may_differ(&self, sql: &'static str, places: &[Place<'_>]) -> bool {
        let known = self.known.borrow();
        let form = |text: &&Text| {
            (text.0, text.1) == (sql.as_ptr() as usize, sql.len()) && text.2.last() == Some(&MANY)
        };
        known.contains_key(&key(sql, many(places))) || known.keys().filter(form).count() < FORMS
    }

    fn known(
        &self,
        sql: &'static str,
        places: Vec<usize>,
        render: impl FnOnce(&Statement) -> Result<(String, Vec<Slot>)>,
        prepare: impl FnOnce(String) -> Result<P>,
    ) -> Result<Arc<Prepared<P>>> {
        let key = key(sql, places);
        if let Some(known) = self.known.borrow().get(&key) {
            return Ok(known.clone());
        }
        let statement = Statement::scan(sql);
        statement.check_account()?;
        let (text, slots) = render(&statement)?;
        let prepared = Arc::new(Prepared { handle: prepare(text)?, slots });
        self.known.borrow_mut().insert(key, prepared.clone());
        Ok(prepared)
    }
}

fn key(sql: &'static str, places: Vec<usize>) -> Text {
    (sql.as_ptr() as usize, sql.len(), places)
}

fn many(places: &[Place<'_>]) -> Vec<usize> {
    let same = places.iter().enumerate().filter(|(_, place)| place.same);
    same.map(|(number, _)| number).chain([MANY]).collect()
}

impl<P> Prepared<P> {
    /// The values for the numbered places, in order.
    pub(crate) fn values<'v>(&self, params: &'v Params<'v>) -> Result<Vec<&'v Value<'v>>> {
        let value = |(place, slot): (usize, &Slot)| {
            Ok(element(params.get(place, &slot.name)?, slot.element))
        };
        self.slots.iter().enumerate().map(value).collect()
    }

    /// What several rows have for each of the numbered places, in order.
    pub(crate) fn columns<'v>(&self, rows: &'v [Params<'v>]) -> Result<Vec<Vec<&'v Value<'v>>>> {
        let column = |(place, slot): (usize, &Slot)| {
            rows.iter().map(|row| row.get(place, &slot.name)).collect()
        };
        self.slots.iter().enumerate().map(column).collect()
    }
}

/// The element of a list for one place; places past the end repeat the last element, and an empty
/// list matches nothing.
fn element<'v>(value: &'v Value<'v>, element: Option<usize>) -> &'v Value<'v> {
    match (value, element) {
        (Value::List(values), Some(place)) => {
            values.get(place).or(values.last()).unwrap_or(&Value::Null)
        }
        (value, _) => value,
    }
}

/// How many places a list of this length is given.
pub(crate) fn places(length: usize) -> usize {
    length.max(1).next_power_of_two()
}

/// The length of a quoted text, a quoted name or a comment at the start of `text`.
fn skipped(text: &str) -> Option<usize> {
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

/// Puts constant pieces of SQL together at compile time.
#[macro_export]
macro_rules! sql {
    ($($piece:expr),+ $(,)?) => { $crate::concatcp!($($piece),+) };
}

/// Names the values of a statement's parameters: `bind! { id, name: &new.name }`.
#[macro_export]
macro_rules! bind {
    () => { &[] };
    ($($name:ident $(: $value:expr)?),+ $(,)?) => {
        &[$((stringify!($name), $crate::bind!(@value $name $($value)?))),+]
    };
    (@value $name:ident) => { $crate::Bound::write(&$name) };
    (@value $name:ident $value:expr) => { $crate::Bound::write(&$value) };
}

/// Declares a struct that is a row of a table, with its `SELECT`, its `INSERT` and its `bind()`.
#[macro_export]
macro_rules! record {
    ($(#[$meta:meta])* $vis:vis struct $name:ident in $table:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty),+ $(,)?
    }) => {
        $crate::row! {
            $(#[$meta])* $vis struct $name { $($(#[$field_meta])* $field_vis $field: $type),+ }
        }

        impl $name {
            /// All columns of the table, to which a `where` is added.
            pub const SELECT: &'static str =
                concat!("select ", $crate::listed!("" $($field)+), " from ", stringify!($table));
            /// Inserts the values of `bind()`.
            pub const INSERT: &'static str = concat!(
                "insert into ", stringify!($table), " (", $crate::listed!("" $($field)+),
                ") values (", $crate::listed!(":" $($field)+), ")"
            );

            /// The values of all columns.
            pub fn bind(&self) -> Vec<$crate::Named<'_>> {
                vec![$((stringify!($field), $crate::Bound::write(&self.$field))),+]
            }
        }
    };
}

/// Declares a struct that is read from a select list with these columns, in this order.
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

/// `a, b, c`, each with something in front.
#[doc(hidden)]
#[macro_export]
macro_rules! listed {
    ($before:literal $first:ident $($rest:ident)*) => {
        concat!($before, stringify!($first) $(, ", ", $before, stringify!($rest))*)
    };
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
    fn names_become_numbers_in_order_of_appearance() {
        let (text, names) = rendered("select :b, :a, :b where x = ':c' -- :d\n and \":e\" = :f_1");
        assert_eq!(text, "select $1, $2, $1 where x = ':c' -- :d\n and \":e\" = $3");
        assert_eq!(names, ["b", "a", "f_1"]);
    }

    #[test]
    fn lists_are_spread() {
        let statement = Statement::scan("x in (:ids) and y = :y and z in (:ids)");
        let (text, slots) = statement.render(Dialect::Sqlite, &[("ids", places(3))]);
        assert_eq!(text, "x in (?1, ?2, ?3, ?4) and y = ?5 and z in (?1, ?2, ?3, ?4)");
        assert_eq!(slots.len(), 5);
        assert_eq!((places(0), places(1), places(4), places(5)), (1, 1, 4, 8));
    }

    #[test]
    fn rows_are_written_together() {
        let place = |kind, same| Place { kind, same };
        let places = [place("int8", false), place("text", true)];
        let lists = |sql: &str| Statement::scan(sql).render_lists(&places);
        let (text, slots) =
            lists("insert into t (a, b, c) values (:a, :b, :a) on conflict do nothing").unwrap();
        let wanted = "insert into t (a, b, c) \
             select unnest($1::int8[]), $2::text, unnest($1::int8[]) on conflict do nothing";
        assert_eq!((text.as_str(), slots.len()), (wanted, 2));
        assert_eq!(slots[1], Slot { name: "b".to_owned(), element: None });
        for other in
            ["values (:a, 1)", "values (:a, lower(:b))", "values (:a, :b, :c)", "select :a"]
        {
            assert_eq!(lists(&format!("insert into t (a, b) {other}")), None);
        }
    }

    #[test]
    fn a_statement_must_name_its_account() {
        assert!(Statement::scan("delete from team").check_account().is_err());
        assert!(
            Statement::scan("delete from team where account_id = :account").check_account().is_ok()
        );
        assert!(Statement::scan("select 1 /* any account */").check_account().is_ok());
        assert!(Statement::scan("select ':account'").check_account().is_err());
    }

    proptest! {
        #[test]
        fn text_without_names_is_left_as_it_is(sql in "[a-z0-9 '\"/*\\-\n;()=%é🏉]{0,80}") {
            prop_assert_eq!(rendered(&sql), (sql, vec![]));
        }

        #[test]
        fn any_text_is_scanned_without_loss(sql in "\\PC{0,80}") {
            let statement = Statement::scan(&sql);
            let mut again = statement.head.clone();
            for (name, after) in &statement.parameters {
                again += ":";
                again += name;
                again += after;
            }
            prop_assert_eq!(again, sql);
        }

        #[test]
        fn names_outside_quotes_are_all_found(names in prop::collection::vec("[a-z][a-z0-9_]{0,8}", 0..9)) {
            let texts = names.iter().map(|name| format!("':no' :{name} /* :no */ x::text "));
            let sql: String = texts.collect();
            let statement = Statement::scan(&sql);
            prop_assert_eq!(statement.names().collect::<Vec<_>>(), names);
        }
    }
}
