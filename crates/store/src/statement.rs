//! The prepared statements of a connection, and the values that are bound to their parameters.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::sql::{Bind, Dialect, InsertColumn, NamedValue, Slot, Statement, placeholder_count};
use crate::{Error, Result, Value};

/// The parameters of a statement: those of the scope (`:account`, `:actor`, `:now`) and those that were bound.
pub(crate) struct Params<'a> {
    scope: [NamedValue<'a>; 3],
    bind: Bind<'a>,
}

impl<'a> Params<'a> {
    /// `scope` begins with the account.
    pub(crate) fn new(scope: [NamedValue<'a>; 3], bind: Bind<'a>) -> Self {
        Self { scope, bind }
    }

    /// Returns the value of a parameter. Looks at `index` first, because a record is bound in the order of its columns.
    pub(crate) fn get(&self, index: usize, name: &str) -> Result<&Value<'_>> {
        let at_index = self.bind.get(index).filter(|(other, _)| *other == name);
        let anywhere = || self.bind.iter().chain(&self.scope).find(|(other, _)| *other == name);
        match at_index.or_else(anywhere) {
            Some((_, Value::Null)) if name == "account" => Err(Error::Database(
                "a statement uses :account in a job without account".to_owned(),
            )),
            // A job cannot write rows of another account, whatever `account_id` the record has.
            Some((_, value)) if name == "account_id" && self.is_foreign(value) => {
                Err(Error::Database("a job writes a row of another account".to_owned()))
            }
            Some((_, value)) => Ok(value),
            None => Err(Error::Database(format!("the parameter :{name} is not bound"))),
        }
    }

    fn is_foreign(&self, value: &Value<'_>) -> bool {
        let own = &self.scope[0].1;
        *own != Value::Null && own != value
    }

    /// The names of list parameters, with the number of placeholders of each.
    pub(crate) fn lists(&self) -> Vec<(&'static str, usize)> {
        let count = |value: &Value<'_>| match value {
            Value::List(values) => Some(placeholder_count(values.len())),
            _ => None,
        };
        self.bind.iter().filter_map(|(name, value)| Some((*name, count(value)?))).collect()
    }
}

/// The prepared statements of one connection.
pub(crate) struct StatementCache<P> {
    statements: RefCell<HashMap<StatementKey, Arc<PreparedStatement<P>>>>,
}

/// The last number of a [`StatementKey`] of a multi-row insert. The numbers before it are the columns that have the
/// same value in all rows.
const MULTI_ROW: usize = usize::MAX;
/// The maximum number of variants of one multi-row insert, which differ in the columns that have the same value in all
/// rows.
const MAX_MULTI_ROW_VARIANTS: usize = 16;

/// Identifies a rendered statement: the address and length of the constant text, and the number of placeholders of each
/// list (or, for a multi-row insert, see [`MULTI_ROW`]).
type StatementKey = (usize, usize, Vec<usize>);

/// A prepared statement, and what to bind to its placeholders.
pub(crate) struct PreparedStatement<P> {
    pub(crate) handle: P,
    slots: Vec<Slot>,
}

impl<P> StatementCache<P> {
    pub(crate) fn new() -> Self {
        Self { statements: RefCell::default() }
    }

    /// Returns the prepared statement. The first time, renders its text and calls `prepare`.
    pub(crate) fn get(
        &self,
        sql: &'static str,
        dialect: Dialect,
        params: &Params<'_>,
        prepare: impl FnOnce(String) -> Result<P>,
    ) -> Result<Arc<PreparedStatement<P>>> {
        let lists = params.lists();
        let variant = lists.iter().map(|(_, count)| *count).collect();
        self.get_or_prepare(
            sql,
            variant,
            |statement| Ok(statement.render(dialect, &lists)),
            prepare,
        )
    }

    /// Returns the prepared multi-row insert for PostgreSQL; see [`Statement::render_multi_row`].
    pub(crate) fn get_multi_row(
        &self,
        sql: &'static str,
        mut columns: Vec<InsertColumn<'_>>,
        prepare: impl FnOnce(String) -> Result<P>,
    ) -> Result<Arc<PreparedStatement<P>>> {
        // Without an array nothing would say how many rows there are.
        if columns.iter().all(|column| column.is_constant) || !self.allows_variant(sql, &columns) {
            for column in &mut columns {
                column.is_constant = false;
            }
        }
        let render = |statement: &Statement| {
            let message = || format!("not an insert of one row's parameters: {sql:?}");
            statement.render_multi_row(&columns).ok_or_else(|| Error::Database(message()))
        };
        self.get_or_prepare(sql, multi_row_variant(&columns), render, prepare)
    }

    /// Whether this variant of a multi-row insert exists already or may be added.
    fn allows_variant(&self, sql: &'static str, columns: &[InsertColumn<'_>]) -> bool {
        let prepared = self.statements.borrow();
        let variant = |key: &&StatementKey| {
            (key.0, key.1) == (sql.as_ptr() as usize, sql.len()) && key.2.last() == Some(&MULTI_ROW)
        };
        prepared.contains_key(&key(sql, multi_row_variant(columns)))
            || prepared.keys().filter(variant).count() < MAX_MULTI_ROW_VARIANTS
    }

    fn get_or_prepare(
        &self,
        sql: &'static str,
        variant: Vec<usize>,
        render: impl FnOnce(&Statement) -> Result<(String, Vec<Slot>)>,
        prepare: impl FnOnce(String) -> Result<P>,
    ) -> Result<Arc<PreparedStatement<P>>> {
        let key = key(sql, variant);
        if let Some(prepared) = self.statements.borrow().get(&key) {
            return Ok(prepared.clone());
        }
        let statement = Statement::scan(sql);
        statement.check_account()?;
        let (text, slots) = render(&statement)?;
        let prepared = Arc::new(PreparedStatement { handle: prepare(text)?, slots });
        self.statements.borrow_mut().insert(key, prepared.clone());
        Ok(prepared)
    }
}

fn key(sql: &'static str, variant: Vec<usize>) -> StatementKey {
    (sql.as_ptr() as usize, sql.len(), variant)
}

fn multi_row_variant(columns: &[InsertColumn<'_>]) -> Vec<usize> {
    let same = columns.iter().enumerate().filter(|(_, column)| column.is_constant);
    same.map(|(index, _)| index).chain([MULTI_ROW]).collect()
}

impl<P> PreparedStatement<P> {
    /// The values for the placeholders, in order.
    pub(crate) fn values<'v>(&self, params: &'v Params<'v>) -> Result<Vec<&'v Value<'v>>> {
        let value = |(index, slot): (usize, &Slot)| {
            Ok(element(params.get(index, &slot.name)?, slot.element))
        };
        self.slots.iter().enumerate().map(value).collect()
    }

    /// For each placeholder, in order, the values of all rows.
    pub(crate) fn columns<'v>(&self, rows: &'v [Params<'v>]) -> Result<Vec<Vec<&'v Value<'v>>>> {
        let column = |(index, slot): (usize, &Slot)| {
            rows.iter().map(|row| row.get(index, &slot.name)).collect()
        };
        self.slots.iter().enumerate().map(column).collect()
    }
}

/// Returns an element of a list. Past the end it repeats the last element; for an empty list it returns null, which
/// matches no row.
fn element<'v>(value: &'v Value<'v>, element: Option<usize>) -> &'v Value<'v> {
    match (value, element) {
        (Value::List(values), Some(index)) => {
            values.get(index).or(values.last()).unwrap_or(&Value::Null)
        }
        (value, _) => value,
    }
}
