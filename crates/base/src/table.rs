//! Tables that are exported in chunks, so that memory use does not depend on their size.

use crate::columns::Column;
use crate::prelude::*;

/// Number of rows per chunk.
pub const CHUNK_ROWS: i64 = 1000;

/// A table that can be exported.
pub trait Table: Send + Sync + 'static {
    type Row: 'static;
    /// The position of a row in the sort order, from which the next chunk continues.
    type Position: Send + 'static;

    /// The columns of the file.
    const COLUMNS: &[Column<Self::Row>];

    /// The columns that were asked for.
    fn columns(&self) -> Vec<&'static Column<Self::Row>> {
        Self::COLUMNS.iter().collect()
    }

    /// Reads up to [`CHUNK_ROWS`] rows after a position.
    fn read(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
        after: Option<Self::Position>,
    ) -> Result<Chunk<Self::Row, Self::Position>>;
}

/// Rows, and the position of the last one if there may be more rows after it.
pub type Chunk<R, P> = (Vec<R>, Option<P>);

/// A chunk of these rows. There are no more rows after a chunk that is not full.
pub fn chunk<R, P>(rows: Vec<R>, position: impl Fn(&R) -> P) -> Chunk<R, P> {
    let is_full = i64::try_from(rows.len()).is_ok_and(|rows| rows == CHUNK_ROWS);
    let next = rows.last().filter(|_| is_full).map(position);
    (rows, next)
}

/// Declares a row of an export. Each field is a column of the file, with the SQL expression that it is read from and, if
/// the file does not contain the value itself, a function for its cell. A field after a semicolon is not a column and is
/// filled later.
#[macro_export]
macro_rules! export_row {
    (pub struct $name:ident {
        $first:ident : $first_type:ty = $first_sql:literal
        $(, $field:ident : $type:ty = $sql:literal $(=> $cell:expr)?)+ $(,)?
        $(; $extra:ident : $extra_type:ty)?
    }) => {
        pub struct $name { $first: $first_type, $($field: $type,)+ $($extra: $extra_type)? }

        impl store::Record for $name {
            fn read(row: &mut store::Row<'_>) -> store::Result<Self> {
                Ok(Self {
                    $first: row.take(stringify!($first))?,
                    $($field: row.take(stringify!($field))?,)+
                    $($extra: Default::default())?
                })
            }
        }

        impl $name {
            const SELECT: &str = concat!(
                "select ", $first_sql, " as ", stringify!($first)
                $(, ", ", $sql, " as ", stringify!($field))+
            );
            const COLUMNS: &[$crate::columns::Column<Self>] = {
                use $crate::columns::{Column, ToCell as _};
                &[
                    Column::csv(stringify!($first), |row| row.$first.cell()),
                    $(Column::csv(stringify!($field), $crate::export_row!(@cell $field $($cell)?))),+
                ]
            };
        }
    };
    (@cell $field:ident) => { |row| row.$field.cell() };
    (@cell $field:ident $cell:expr) => { $cell };
}
