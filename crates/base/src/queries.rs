//! Short forms of frequent queries.

use kit::Id;
use store::{Bind, Reader};

use crate::error::Result;

/// Queries whose result is less than a record.
pub trait Queries {
    /// The ids that a statement selects.
    fn ids<K, C: FromIterator<Id<K>>>(&self, sql: &'static str, bind: Bind<'_>) -> Result<C>;
    /// Whether a statement selects any row.
    fn exists(&self, sql: &'static str, bind: Bind<'_>) -> Result<bool>;
}

impl Queries for Reader<'_> {
    fn ids<K, C: FromIterator<Id<K>>>(&self, sql: &'static str, bind: Bind<'_>) -> Result<C> {
        Ok(self.all(sql, bind)?.into_iter().map(|(id,)| id).collect())
    }

    fn exists(&self, sql: &'static str, bind: Bind<'_>) -> Result<bool> {
        let mut exists = false;
        self.for_each_row(sql, bind, |_| {
            exists = true;
            Ok(())
        })?;
        Ok(exists)
    }
}
