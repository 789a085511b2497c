//! The five kinds of value both databases share, and how Rust types become them.

use std::borrow::Cow;

use kit::{Currency, Day, Id, LocalTime, Timestamp, Zone};

use crate::{Error, Result};

/// A value on its way to or from a database.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// Yes or no. SQLite keeps it as 1 or 0.
    Bool(bool),
    /// A whole number: a count, a moment, an amount.
    Int(i64),
    /// A measure.
    Real(f64),
    /// Text.
    Text(Cow<'a, str>),
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
    /// The sixteen bytes of an id, kept beside the others because ids are bound most often.
    Id([u8; 16]),
    /// Several values for `in (:list)`.
    List(Vec<Value<'a>>),
}

impl Value<'_> {
    /// The same value, owning what it says.
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

    fn unexpected<T>(&self, wanted: &str) -> Result<T> {
        let found = match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "an integer",
            Self::Real(_) => "a real number",
            Self::Text(_) => "text",
            Self::Bytes(_) | Self::Id(_) => "bytes",
            Self::List(_) => "a list",
        };
        Err(Error::Corrupt(format!("{found} where {wanted} was expected")))
    }
}

/// Something that can be bound to a parameter.
pub trait Bound {
    /// The value as it goes into the database.
    fn write(&self) -> Value<'_>;
}

/// A type that fits one column.
pub trait Column: Bound + Sized {
    /// The value as it came out of the database.
    fn read(value: Value<'_>) -> Result<Self>;
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

    /// The next column, which must carry this name: a select list in another order is noticed.
    pub fn take<C: Column>(&mut self, name: &'static str) -> Result<C> {
        if cfg!(debug_assertions) && self.source.name(self.next) != name {
            let found = self.source.name(self.next);
            return Err(Error::Corrupt(format!("column {found} where {name} was expected")));
        }
        self.take_any()
    }

    /// The next column, whatever its name.
    pub fn take_any<C: Column>(&mut self) -> Result<C> {
        let value = self.source.value(self.next)?;
        self.next += 1;
        C::read(value)
    }

    /// The next column as it is.
    pub fn take_value(&mut self) -> Result<Value<'static>> {
        let value = self.source.value(self.next)?.into_owned();
        self.next += 1;
        Ok(value)
    }
}

/// A type that is read from one row.
pub trait Record: Sized {
    /// Reads the columns in order.
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

impl Bound for i64 {
    fn write(&self) -> Value<'_> {
        Value::Int(*self)
    }
}

impl Column for i64 {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Int(number) => Ok(number),
            other => other.unexpected("an integer"),
        }
    }
}

impl Bound for bool {
    fn write(&self) -> Value<'_> {
        Value::Bool(*self)
    }
}

impl Column for bool {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Bool(yes) => Ok(yes),
            Value::Int(0) => Ok(false),
            Value::Int(1) => Ok(true),
            other => other.unexpected("a boolean"),
        }
    }
}

impl Bound for f64 {
    fn write(&self) -> Value<'_> {
        Value::Real(*self)
    }
}

impl Column for f64 {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Real(number) => Ok(number),
            other => other.unexpected("a real number"),
        }
    }
}

impl Bound for String {
    fn write(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }
}

impl Column for String {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Text(text) => Ok(text.into_owned()),
            other => other.unexpected("text"),
        }
    }
}

impl Bound for Vec<u8> {
    fn write(&self) -> Value<'_> {
        Value::Bytes(Cow::Borrowed(self))
    }
}

impl Column for Vec<u8> {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Bytes(bytes) => Ok(bytes.into_owned()),
            other => other.unexpected("bytes"),
        }
    }
}

impl<const N: usize> Bound for [u8; N] {
    fn write(&self) -> Value<'_> {
        Value::Bytes(Cow::Borrowed(self))
    }
}

impl<const N: usize> Column for [u8; N] {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Bytes(bytes) => (*bytes)
                .try_into()
                .map_err(|_| Error::Corrupt(format!("{} bytes instead of {N}", bytes.len()))),
            other => other.unexpected("bytes"),
        }
    }
}

impl<K> Bound for Id<K> {
    fn write(&self) -> Value<'_> {
        Value::Id(self.bits().to_be_bytes())
    }
}

impl<K> Column for Id<K> {
    fn read(value: Value<'_>) -> Result<Self> {
        <[u8; 16]>::read(value).map(|bytes| Self::from_bits(u128::from_be_bytes(bytes)))
    }
}

impl Bound for Timestamp {
    fn write(&self) -> Value<'_> {
        Value::Int(self.micros())
    }
}

impl Column for Timestamp {
    fn read(value: Value<'_>) -> Result<Self> {
        i64::read(value).map(Self::from_micros)
    }
}

/// Types that are kept as text and read back by parsing it.
macro_rules! text_column {
    ($type:ty, $write:expr) => {
        impl Bound for $type {
            fn write(&self) -> Value<'_> {
                let write: fn(&Self) -> Cow<'_, str> = $write;
                Value::Text(write(self))
            }
        }

        impl Column for $type {
            fn read(value: Value<'_>) -> Result<Self> {
                let text = String::read(value)?;
                text.parse().map_err(|_| Error::Corrupt(format!("the text {text:?}")))
            }
        }
    };
}
text_column!(Day, |day| Cow::Owned(day.to_string()));
text_column!(LocalTime, |local| Cow::Owned(local.to_string()));
text_column!(Currency, |currency| Cow::Borrowed(currency.code()));
text_column!(Zone, |zone| Cow::Borrowed(zone.name()));

impl<C: Bound> Bound for Option<C> {
    fn write(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, Bound::write)
    }
}

impl<C: Column> Column for Option<C> {
    fn read(value: Value<'_>) -> Result<Self> {
        match value {
            Value::Null => Ok(None),
            value => C::read(value).map(Some),
        }
    }
}

/// A list for `in (:list)`.
impl Bound for Vec<i64> {
    fn write(&self) -> Value<'_> {
        Value::List(self.iter().map(Bound::write).collect())
    }
}

impl<K> Bound for Vec<Id<K>> {
    fn write(&self) -> Value<'_> {
        Value::List(self.iter().map(Bound::write).collect())
    }
}

impl Bound for str {
    fn write(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }
}

impl<T: Bound + ?Sized> Bound for &T {
    fn write(&self) -> Value<'_> {
        (**self).write()
    }
}

/// Makes enums of [`kit::words!`] fit a text column.
#[macro_export]
macro_rules! word_column {
    ($($type:ty),+) => {$(
        impl $crate::Bound for $type {
            fn write(&self) -> $crate::Value<'_> {
                $crate::Value::Text(kit::word::Word::word(*self).into())
            }
        }

        impl $crate::Column for $type {
            fn read(value: $crate::Value<'_>) -> $crate::Result<Self> {
                match &value {
                    $crate::Value::Text(text) => <Self as kit::word::Word>::parse(text),
                    _ => None,
                }
                .ok_or_else(|| $crate::Error::Corrupt(format!("{value:?} for {}", stringify!($type))))
            }
        }
    )+};
}
