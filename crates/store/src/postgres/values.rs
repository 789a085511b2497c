//! Values as the server takes and sends them.

use std::error::Error as StdError;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};

use crate::value::Columns;
use crate::{Error, Result, Value};

/// A row of an answer.
pub(super) struct ServerRow(pub(super) tokio_postgres::Row);

impl Columns for ServerRow {
    fn value(&self, index: usize) -> Result<Value<'_>> {
        Ok(self.0.try_get::<_, Found<'_>>(index)?.0)
    }

    fn name(&self, index: usize) -> &str {
        self.0.columns().get(index).map_or("", tokio_postgres::Column::name)
    }
}

/// A value as the server sent it, whatever its type.
struct Found<'a>(Value<'a>);

type Broken = Box<dyn StdError + Sync + Send>;

impl<'a> FromSql<'a> for Found<'a> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Broken> {
        Ok(Self(match *ty {
            Type::INT8 => Value::Int(i64::from_sql(ty, raw)?),
            Type::INT4 => Value::Int(i32::from_sql(ty, raw)?.into()),
            Type::BOOL => Value::Bool(bool::from_sql(ty, raw)?),
            Type::FLOAT8 => Value::Real(f64::from_sql(ty, raw)?),
            Type::BYTEA => Value::Bytes(raw.into()),
            Type::TEXT | Type::VARCHAR | Type::NAME | Type::UNKNOWN => {
                Value::Text(<&str>::from_sql(ty, raw)?.into())
            }
            _ => return Err(format!("a column of type {ty}; cast it to one of ours").into()),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Broken> {
        Ok(Self(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Broken> {
        match self {
            Value::Null | Value::List(_) => Ok(IsNull::Yes),
            Value::Bool(yes) => yes.to_sql(ty, out),
            // A backup of SQLite, which keeps yes and no as numbers, is put back here.
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

/// What several rows have at one place, as it is sent: all of it, or once where it is the same in all of them.
#[derive(Debug)]
pub(super) struct Written(Option<BytesMut>);

impl Written {
    /// The statement knows of which kind its place is.
    pub(super) fn of(kind: &Type, column: &[&Value<'_>]) -> Result<Self> {
        let mut bytes = BytesMut::new();
        let written = match (kind.kind(), column) {
            (Kind::Array(_), all) => all.to_sql(kind, &mut bytes),
            (_, [one, ..]) => one.to_sql(kind, &mut bytes),
            (_, []) => Ok(IsNull::Yes),
        };
        let null = written.map_err(|error| Error::Database(error.to_string()))?;
        Ok(Self(matches!(null, IsNull::No).then_some(bytes)))
    }
}

impl ToSql for Written {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Broken> {
        let Some(bytes) = &self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(bytes);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
