//! The columns of a table on a page or in a CSV file.

use std::borrow::Cow;
use std::fmt::Display;

use kit::{Day, Id, Kind, LocalTime, Money, Timestamp};

/// A column of a table of `Row`s.
#[derive(Debug)]
#[must_use]
pub struct Column<Row> {
    /// The name of the column in a CSV file. Empty if the column is only shown on the page.
    pub key: &'static str,
    /// The heading on the page. `None` if the column is only exported, empty for a column of buttons.
    pub label: Option<&'static str>,
    /// Whether the values are aligned to the right.
    pub is_number: bool,
    pub value: Value<Row>,
}

type Value<Row> = for<'a> fn(&'a Row) -> Cell<'a>;

impl<Row> Column<Row> {
    /// A column that is only exported.
    pub const fn csv(key: &'static str, value: Value<Row>) -> Self {
        Self { key, label: None, is_number: false, value }
    }

    /// A column that is only shown on the page.
    pub const fn page(label: &'static str, value: Value<Row>) -> Self {
        Self { key: "", label: Some(label), is_number: false, value }
    }

    /// A column of numbers or amounts that is only shown on the page.
    pub const fn number(label: &'static str, value: Value<Row>) -> Self {
        Self { is_number: true, ..Self::page(label, value) }
    }
}

/// The value of a column in one row, and how it is shown on the page.
#[derive(Debug, Clone)]
#[must_use]
pub enum Cell<'a> {
    Text(Cow<'a, str>),
    /// A text that is translated on the page.
    Label(&'static str),
    Number(i64),
    /// On the page with the currency, in a file in minor units.
    Money(Money),
    Day(Day),
    /// A time in the zone of the list.
    Time(Timestamp),
    /// A time with its weekday in the zone of the list.
    Appointment(Timestamp),
    /// A relative time.
    Age(Timestamp),
    Email(&'a str),
    /// The kind and label of a badge.
    Badge((&'static str, &'static str)),
    /// A link: its URL, class and content.
    Link(String, &'static str, Box<Cell<'a>>),
    /// An element: its tag, class and content.
    Element(&'static str, &'static str, Box<Cell<'a>>),
    /// Several parts, one after the other.
    Parts(Vec<Cell<'a>>),
}

impl<'a> Cell<'a> {
    /// A cell without content.
    pub const EMPTY: Cell<'static> = Cell::Text(Cow::Borrowed(""));

    /// A value that needs no markup.
    pub fn text(value: impl Display) -> Self {
        Self::Text(value.to_string().into())
    }

    /// Text that people entered, such as a name.
    pub fn name(name: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(name.into()).inside("bdi", "")
    }

    /// A name in a wide column.
    pub fn wide(name: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(name.into()).inside("bdi", "wide")
    }

    /// Gray text, for example where a value is missing.
    pub fn muted(text: &'static str) -> Self {
        Self::Label(text).inside("span", "muted")
    }

    /// A relative time, or a word if there is none.
    pub fn age_or(moment: Option<Timestamp>, missing: &'static str) -> Self {
        moment.map_or_else(|| Self::muted(missing), Self::Age)
    }

    /// A date, or a dash if there is none.
    pub fn day_or_dash(day: Option<Day>) -> Self {
        match day {
            Some(day) => Self::Day(day).inside("span", "nowrap"),
            None => {
                Self::text("–").and(Self::Label(mark!("none")).hidden()).inside("span", "muted")
            }
        }
    }

    /// Puts the cell into an element.
    pub fn inside(self, tag: &'static str, class: &'static str) -> Self {
        Self::Element(tag, class, self.into())
    }

    /// A link with this cell as its content.
    pub fn link(self, href: impl Into<String>) -> Self {
        Self::Link(href.into(), "", self.into())
    }

    /// A button that opens a page. Screen readers also read what it is about.
    pub fn button(label: &'static str, about: Self, href: impl Into<String>) -> Self {
        let about = Self::text(" ").and(about).hidden();
        Self::Link(href.into(), "btn", Self::Label(label).and(about).into())
    }

    /// A smaller line below the main content.
    pub fn about(self) -> Self {
        self.inside("p", "about")
    }

    /// Content for screen readers only.
    pub fn hidden(self) -> Self {
        self.inside("span", "vh")
    }

    /// Adds another part.
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::Parts(mut parts) => {
                parts.push(other);
                Self::Parts(parts)
            }
            first => Self::Parts(vec![first, other]),
        }
    }

    /// Adds another part after a space, if there is one.
    pub fn and_if(self, other: Option<Self>) -> Self {
        match other {
            Some(other) => self.and(Self::Text(" ".into())).and(other),
            None => self,
        }
    }

    /// The cell in a CSV file.
    pub fn csv(self) -> Cow<'a, str> {
        match self {
            Self::Text(text) => text,
            Self::Label(text) => Cow::Borrowed(text),
            Self::Number(number) => number.to_string().into(),
            Self::Money(money) => money.minor.to_string().into(),
            Self::Day(day) => day.to_string().into(),
            Self::Time(moment) | Self::Appointment(moment) | Self::Age(moment) => {
                moment.to_string().into()
            }
            Self::Email(address) => Cow::Borrowed(address),
            Self::Badge((_, label)) => Cow::Borrowed(label),
            Self::Link(_, _, content) | Self::Element(_, _, content) => content.csv(),
            Self::Parts(parts) => parts.into_iter().map(Self::csv).collect::<String>().into(),
        }
    }
}

/// A value that can be shown in a cell without further markup.
pub trait ToCell {
    fn cell(&self) -> Cell<'_>;
}

impl<T: ToCell> ToCell for Option<T> {
    fn cell(&self) -> Cell<'_> {
        self.as_ref().map_or(Cell::EMPTY, T::cell)
    }
}

impl ToCell for String {
    fn cell(&self) -> Cell<'_> {
        Cell::Text(self.into())
    }
}

impl ToCell for i64 {
    fn cell(&self) -> Cell<'_> {
        Cell::Number(*self)
    }
}

impl<K: Kind> ToCell for Id<K> {
    fn cell(&self) -> Cell<'_> {
        Cell::text(self)
    }
}

macro_rules! text_cells {
    ($($type:ty),+) => {$(
        impl ToCell for $type {
            fn cell(&self) -> Cell<'_> {
                Cell::text(self)
            }
        }
    )+};
}
text_cells!(bool, Day, LocalTime, Timestamp);
