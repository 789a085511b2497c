//! The values that both databases support, and their conversion from and to Rust types.

use std::borrow::Cow;

use kit::{Currency, Day, Id, LocalTime, TimeOfDay, Timestamp, Zone};

use crate::{Error, Result};

/// A value of a parameter or a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// SQL `NULL`.
    Null,
    /// A boolean. SQLite stores it as 1 or 0.
    Bool(bool),
    /// An integer: a count, a timestamp in microseconds, an amount in minor units.
    Int(i64),
    /// A floating-point number.
    Real(f64),
    /// Text.
    Text(Cow<'a, str>),
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
    /// The sixteen bytes of an id. A variant of its own because ids are bound most often, and this one doesn't
    /// allocate.
    Id([u8; 16]),
    /// The values for `in (:list)`.
    List(Vec<Value<'a>>),
}

impl Value<'_> {
    /// Converts to an owned value.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(yes) => Value::Bool(yes),
            Self::Int(number) => Value::Int(number),
            Self::Real(number) => Value::Real(number),
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
            Self::Id(bytes) => Value::Id(bytes),
            Self::List(values) => Value::List(values.into_iter().map(Value::into_owned).collect()),
        }
    }

    fn unexpected<T>(&self, expected: &str) -> Result<T> {
        let actual = match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "an integer",
            Self::Real(_) => "a real number",
            Self::Text(_) => "text",
            Self::Bytes(_) | Self::Id(_) => "bytes",
            Self::List(_) => "a list",
        };
        Err(Error::Corrupt(format!("expected {expected}, got {actual}")))
    }
}

/// A type that can be bound to a parameter.
pub trait ToValue {
    /// Converts to a database value.
    fn to_value(&self) -> Value<'_>;
}

/// A type that is stored in one column.
pub trait Column: ToValue + Sized {
    /// Converts from a database value.
    fn from_value(value: Value<'_>) -> Result<Self>;
}

/// A row of a result, read column by column in the order of the select list.
pub struct Row<'r> {
    pub(crate) source: &'r dyn Columns,
    pub(crate) next: usize,
}

pub(crate) trait Columns {
    fn value(&self, index: usize) -> Result<Value<'_>>;
    fn name(&self, index: usize) -> &str;
}

impl<'r> Row<'r> {
    pub(crate) fn new(source: &'r dyn Columns) -> Self {
        Self { source, next: 0 }
    }

    /// Reads the next column. Debug builds fail if its name is not `name`, so a select list in the wrong order is
    /// noticed.
    pub fn take<C: Column>(&mut self, name: &'static str) -> Result<C> {
        if cfg!(debug_assertions) && self.source.name(self.next) != name {
            let actual = self.source.name(self.next);
            return Err(Error::Corrupt(format!("expected column {name}, got {actual}")));
        }
        self.take_any()
    }

    /// Reads the next column without checking its name.
    pub fn take_any<C: Column>(&mut self) -> Result<C> {
        let value = self.source.value(self.next)?;
        self.next += 1;
        C::from_value(value)
    }

    /// Reads the next column without converting it.
    pub fn take_value(&mut self) -> Result<Value<'static>> {
        let value = self.source.value(self.next)?.into_owned();
        self.next += 1;
        Ok(value)
    }
}

/// A type that is read from one row.
pub trait Record: Sized {
    /// Reads the columns in the order of the select list.
    fn read(row: &mut Row<'_>) -> Result<Self>;
}

macro_rules! tuple_record {
    ($($part:ident)+) => {
        impl<$($part: Column),+> Record for ($($part,)+) {
            fn read(row: &mut Row<'_>) -> Result<Self> {
                Ok(($(row.take_any::<$part>()?,)+))
            }
        }
    };
}
tuple_record!(A);
tuple_record!(A B);
tuple_record!(A B C);
tuple_record!(A B C D);

impl ToValue for i64 {
    fn to_value(&self) -> Value<'_> {
        Value::Int(*self)
    }
}

impl Column for i64 {
    fn from_value(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Int(number) => Ok(number),
            other => other.unexpected("an integer"),
        }
    }
}

impl ToValue for bool {
    fn to_value(&self) -> Value<'_> {
        Value::Bool(*self)
    }
}

impl Column for bool {
    fn from_value(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Bool(yes) => Ok(yes),
            Value::Int(0) => Ok(false),
            Value::Int(1) => Ok(true),
            other => other.unexpected("a boolean"),
        }
    }
}

impl ToValue for f64 {
    fn to_value(&self) -> Value<'_> {
        Value::Real(*self)
    }
}

impl Column for f64 {
    fn from_value(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Real(number) => Ok(number),
            other => other.unexpected("a real number"),
        }
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }
}

impl Column for String {
    fn from_value(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Text(text) => Ok(text.into_owned()),
            other => other.unexpected("text"),
        }
    }
}

impl ToValue for Vec<u8> {
    fn to_value(&self) -> Value<'_> {
        Value::Bytes(Cow::Borrowed(self))
    }
}

impl Column for Vec<u8> {
    fn from_value(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Bytes(bytes) => Ok(bytes.into_owned()),
            other => other.unexpected("bytes"),
        }
    }
}

impl<const N: usize> ToValue for [u8; N] {
    fn to_value(&self) -> Value<'_> {
        Value::Bytes(Cow::Borrowed(self))
    }
}

impl<const N: usize> Column for [u8; N] {
    fn from_value(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Bytes(bytes) => (*bytes)
                .try_into()
                .map_err(|_| Error::Corrupt(format!("{} bytes instead of {N}", bytes.len()))),
            other => other.unexpected("bytes"),
        }
    }
}

impl<K> ToValue for Id<K> {
    fn to_value(&self) -> Value<'_> {
        Value::Id(self.bits().to_be_bytes())
    }
}

impl<K> Column for Id<K> {
    fn from_value(value: Value<'_>) -> Result<Self> {
        <[u8; 16]>::from_value(value).map(|bytes| Self::from_bits(u128::from_be_bytes(bytes)))
    }
}

impl ToValue for Timestamp {
    fn to_value(&self) -> Value<'_> {
        Value::Int(self.micros())
    }
}

impl Column for Timestamp {
    fn from_value(value: Value<'_>) -> Result<Self> {
        i64::from_value(value).map(Self::from_micros)
    }
}

/// Implements the traits for types that are stored as text and parsed when read.
macro_rules! text_column {
    ($type:ty, $write:expr) => {
        impl ToValue for $type {
            fn to_value(&self) -> Value<'_> {
                let write: fn(&Self) -> Cow<'_, str> = $write;
                Value::Text(write(self))
            }
        }

        impl Column for $type {
            fn from_value(value: Value<'_>) -> Result<Self> {
                let text = String::from_value(value)?;
                text.parse().map_err(|_| {
                    Error::Corrupt(format!("{text:?} is not a valid {}", stringify!($type)))
                })
            }
        }
    };
}
text_column!(Day, |day| Cow::Owned(day.to_string()));
text_column!(LocalTime, |local| Cow::Owned(local.to_string()));
text_column!(TimeOfDay, |time| Cow::Owned(time.to_string()));
text_column!(Currency, |currency| Cow::Borrowed(currency.code()));
text_column!(Zone, |zone| Cow::Borrowed(zone.name()));

impl<C: ToValue> ToValue for Option<C> {
    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

impl<C: Column> Column for Option<C> {
    fn from_value(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Null => Ok(None),
            value => C::from_value(value).map(Some),
        }
    }
}

/// Binds a list for `in (:list)`.
impl ToValue for Vec<i64> {
    fn to_value(&self) -> Value<'_> {
        Value::List(self.iter().map(ToValue::to_value).collect())
    }
}

impl<K> ToValue for Vec<Id<K>> {
    fn to_value(&self) -> Value<'_> {
        Value::List(self.iter().map(ToValue::to_value).collect())
    }
}

impl ToValue for Vec<&str> {
    fn to_value(&self) -> Value<'_> {
        Value::List(self.iter().map(ToValue::to_value).collect())
    }
}

impl ToValue for str {
    fn to_value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}

/// Lets enums of [`kit::string_enum!`] be stored in a text column.
#[macro_export]
macro_rules! enum_column {
    ($($type:ty),+) => {$(
        impl $crate::ToValue for $type {
            fn to_value(&self) -> $crate::Value<'_> {
                $crate::Value::Text(kit::string_enum::StringEnum::as_str(*self).into())
            }
        }

        impl $crate::Column for $type {
            fn from_value(value: $crate::Value<'_>) -> $crate::Result<Self> {
                match &value {
                    $crate::Value::Text(text) => <Self as kit::string_enum::StringEnum>::parse(text),
                    _ => None,
                }
                .ok_or_else(|| $crate::Error::Corrupt(format!("{value:?} is not a valid {}", stringify!($type))))
            }
        }
    )+};
}
