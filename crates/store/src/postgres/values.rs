//! Conversion of values from and to PostgreSQL's binary format.

use std::error::Error as StdError;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};

use crate::value::Columns;
use crate::{Error, Result, Value};

/// A row of a result.
pub(super) struct PgRow(pub(super) tokio_postgres::Row);

impl Columns for PgRow {
    fn value(&self, index: usize) -> Result<Value<'_>> {
        Ok(self.0.try_get::<_, AnyValue<'_>>(index)?.0)
    }

    fn name(&self, index: usize) -> &str {
        self.0.columns().get(index).map_or("", tokio_postgres::Column::name)
    }
}

/// A value of any of the supported column types.
struct AnyValue<'a>(Value<'a>);

type BoxError = Box<dyn StdError + Sync + Send>;

impl<'a> FromSql<'a> for AnyValue<'a> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, BoxError> {
        Ok(Self(match *ty {
            Type::INT8 => Value::Int(i64::from_sql(ty, raw)?),
            Type::INT4 => Value::Int(i32::from_sql(ty, raw)?.into()),
            Type::BOOL => Value::Bool(bool::from_sql(ty, raw)?),
            Type::FLOAT8 => Value::Real(f64::from_sql(ty, raw)?),
            Type::BYTEA => Value::Bytes(raw.into()),
            Type::TEXT | Type::VARCHAR | Type::NAME | Type::UNKNOWN => {
                Value::Text(<&str>::from_sql(ty, raw)?.into())
            }
            _ => return Err(format!("unsupported column type {ty}; cast it in the query").into()),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, BoxError> {
        Ok(Self(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, BoxError> {
        match self {
            Value::Null | Value::List(_) => Ok(IsNull::Yes),
            Value::Bool(yes) => yes.to_sql(ty, out),
            // When a backup of SQLite is restored here, booleans arrive as integers.
            Value::Int(number) if *ty == Type::BOOL => (*number != 0).to_sql(ty, out),
            Value::Int(number) if *ty == Type::INT4 => i32::try_from(*number)?.to_sql(ty, out),
            Value::Int(number) => number.to_sql(ty, out),
            Value::Real(number) => number.to_sql(ty, out),
            Value::Text(text) => text.as_ref().to_sql(ty, out),
            Value::Bytes(bytes) => bytes.as_ref().to_sql(ty, out),
            Value::Id(bytes) => bytes.as_slice().to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// One encoded parameter of a multi-row insert: an array with the column's values of all rows, or a single value that
/// is the same in all rows. `None` is SQL `NULL`.
#[derive(Debug)]
pub(super) struct EncodedColumn(Option<BytesMut>);

impl EncodedColumn {
    /// Encodes an array if the parameter's type is an array, otherwise the first value.
    pub(super) fn encode(ty: &Type, column: &[&Value<'_>]) -> Result<Self> {
        let mut bytes = BytesMut::new();
        let is_null = match (ty.kind(), column) {
            (Kind::Array(_), values) => values.to_sql(ty, &mut bytes),
            (_, [value, ..]) => value.to_sql(ty, &mut bytes),
            (_, []) => Ok(IsNull::Yes),
        };
        let is_null = is_null.map_err(|error| Error::Database(error.to_string()))?;
        Ok(Self(matches!(is_null, IsNull::No).then_some(bytes)))
    }
}

impl ToSql for EncodedColumn {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, BoxError> {
        let Some(bytes) = &self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(bytes);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
