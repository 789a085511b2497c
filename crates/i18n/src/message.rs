//! Texts with values, which are translated when they are shown.

use std::borrow::Cow;
use std::fmt;

use askama::filters::HtmlSafe;
use kit::text::escape_html;
use kit::{Day, Id, Money};
use serde::{Serialize, Serializer};

use crate::{Locale, catalogue, format};

/// An English text with named values, such as `Use at most {max} characters.`.
///
/// [`Display`](fmt::Display) writes it in the current locale. Serializing it, as the API does, writes it in English.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message(Repr);

/// Most messages are constant texts, and errors should stay small.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Repr {
    Text(Cow<'static, str>),
    Full(Box<Full>),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Full {
    context: &'static str,
    text: Cow<'static, str>,
    /// The English plural, and the number that decides.
    plural: Option<(&'static str, i64)>,
    values: Vec<(&'static str, Value)>,
}

/// A value in a text. It is formatted for the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Text(String),
    Number(i64),
    Money(Money),
    Day(Day),
    Message(Message),
    /// Markup, which is not escaped in HTML.
    Html(String),
}

/// A type whose values can be used in a text.
pub trait ToValue {
    fn to_value(&self) -> Value;
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value {
        (**self).to_value()
    }
}

macro_rules! to_value {
    ($($type:ty: $self:ident => $value:expr),+ $(,)?) => {
        $(impl ToValue for $type {
            fn to_value(&$self) -> Value {
                $value
            }
        })+
    };
}

to_value! {
    str: self => Value::Text(self.to_owned()),
    String: self => Value::Text(self.clone()),
    Cow<'_, str>: self => Value::Text(self.to_string()),
    i8: self => Value::Number((*self).into()),
    i16: self => Value::Number((*self).into()),
    i32: self => Value::Number((*self).into()),
    i64: self => Value::Number(*self),
    u8: self => Value::Number((*self).into()),
    u16: self => Value::Number((*self).into()),
    u32: self => Value::Number((*self).into()),
    u64: self => Value::Number(i64::try_from(*self).unwrap_or(i64::MAX)),
    usize: self => Value::Number(i64::try_from(*self).unwrap_or(i64::MAX)),
    f64: self => Value::Text(self.to_string()),
    Money: self => Value::Money(*self),
    Day: self => Value::Day(*self),
    Message: self => Value::Message(self.clone()),
    Html: self => Value::Html(self.0.clone()),
    Value: self => self.clone(),
}

impl<K> ToValue for Id<K>
where
    Id<K>: fmt::Display,
{
    fn to_value(&self) -> Value {
        Value::Text(self.to_string())
    }
}

impl Value {
    fn format(&self, locale: Option<Locale>) -> String {
        match (self, locale) {
            (Self::Text(text) | Self::Html(text), _) => text.clone(),
            (Self::Message(message), _) => message.format(locale),
            (Self::Number(number), Some(locale)) => format::number(locale, *number),
            (Self::Money(money), Some(locale)) => format::money(locale, *money),
            (Self::Day(day), Some(locale)) => format::day(locale, *day),
            (Self::Number(number), None) => number.to_string(),
            (Self::Money(money), None) => money.to_string(),
            (Self::Day(day), None) => day.to_string(),
        }
    }
}

impl Message {
    /// A text with a plural, and the number that decides, which is also the value `count`.
    pub fn plural(one: &'static str, many: &'static str, count: &impl ToValue) -> Self {
        let count = count.to_value();
        let number = if let Value::Number(number) = &count { *number } else { 0 };
        let values = vec![("count", count)];
        let plural = Some((many, number));
        Self(Repr::Full(Box::new(Full { text: one.into(), plural, values, context: "" })))
    }

    /// Adds the context that tells apart two meanings of an English word.
    #[must_use]
    pub fn context(self, context: &'static str) -> Self {
        let mut full = self.into_full();
        full.context = context;
        Self(Repr::Full(Box::new(full)))
    }

    /// Adds a value for the placeholder with this name.
    #[must_use]
    pub fn with(self, name: &'static str, value: &(impl ToValue + ?Sized)) -> Self {
        let mut full = self.into_full();
        full.values.push((name, value.to_value()));
        Self(Repr::Full(Box::new(full)))
    }

    fn into_full(self) -> Full {
        match self.0 {
            Repr::Text(text) => Full { text, ..Full::default() },
            Repr::Full(full) => *full,
        }
    }

    /// The text in English, with values in their technical format.
    pub fn english(&self) -> String {
        self.format(None)
    }

    fn format(&self, locale: Option<Locale>) -> String {
        match &self.0 {
            Repr::Text(text) => template(locale, "", text, None).to_owned(),
            Repr::Full(full) => {
                let Full { context, text, plural, values } = &**full;
                let text = template(locale, context, text, *plural);
                fill(text, values, |result, value| result.push_str(&value.format(locale)))
            }
        }
    }

    /// The text in the current locale as HTML. Markup of the text is kept; values are escaped.
    pub fn to_html(&self) -> Html {
        let locale = Locale::current();
        Html(match &self.0 {
            Repr::Text(text) => with_double_quotes(template(locale, "", text, None)),
            Repr::Full(full) => {
                let Full { context, text, plural, values } = &**full;
                let text = with_double_quotes(template(locale, context, text, *plural));
                fill(&text, values, |result, value| match value {
                    Value::Html(html) => result.push_str(html),
                    value => result.push_str(&escape_html(&value.format(locale))),
                })
            }
        })
    }
}

/// The text with double quotes around the values of attributes, as in all other HTML. Texts in Rust have single quotes.
fn with_double_quotes(text: &str) -> String {
    let mut in_tag = false;
    let quoted = text.chars().map(|c| {
        in_tag = c == '<' || in_tag && c != '>';
        if in_tag && c == '\'' { '"' } else { c }
    });
    quoted.collect()
}

/// The text with placeholders in a locale.
fn template<'a>(
    locale: Option<Locale>,
    context: &str,
    text: &'a str,
    plural: Option<(&'a str, i64)>,
) -> &'a str {
    let form =
        |locale: Locale, number: i64| (locale.definition().plural_form)(number.unsigned_abs());
    let chosen = plural.map_or(0, |(_, number)| form(locale.unwrap_or(Locale::ENGLISH), number));
    let translated = locale.and_then(|locale| catalogue::find(locale, context, text, chosen));
    translated.unwrap_or_else(|| match plural {
        Some((many, number)) if form(Locale::ENGLISH, number) == 1 => many,
        _ => text,
    })
}

/// Replaces the placeholders. Braces around anything else are kept.
fn fill(
    text: &str,
    values: &[(&'static str, Value)],
    mut write: impl FnMut(&mut String, &Value),
) -> String {
    let mut result = String::with_capacity(text.len() + 32);
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        result.push_str(&rest[..start]);
        rest = &rest[start..];
        let name = rest.find('}').map(|end| &rest[1..end]);
        let value = name.and_then(|name| values.iter().find(|(known, _)| *known == name));
        if let Some((name, value)) = value {
            write(&mut result, value);
            rest = &rest[name.len() + 2..];
        } else {
            result.push('{');
            rest = &rest[1..];
        }
    }
    result.push_str(rest);
    result
}

impl From<&'static str> for Message {
    fn from(text: &'static str) -> Self {
        Self(Repr::Text(text.into()))
    }
}

/// A text that is shown as it is, such as one that another service sent.
impl From<String> for Message {
    fn from(text: String) -> Self {
        Self(Repr::Text(text.into()))
    }
}

impl From<Cow<'static, str>> for Message {
    fn from(text: Cow<'static, str>) -> Self {
        Self(Repr::Text(text))
    }
}

impl From<&Message> for Message {
    fn from(message: &Message) -> Self {
        message.clone()
    }
}

/// The text in the current locale.
impl From<Message> for String {
    fn from(message: Message) -> Self {
        message.to_string()
    }
}

impl Default for Message {
    fn default() -> Self {
        Self::from("")
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.format(Locale::current()))
    }
}

impl PartialEq<&str> for Message {
    fn eq(&self, other: &&str) -> bool {
        self.english() == *other
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.english())
    }
}

/// HTML that is not escaped again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Html(pub(crate) String);

impl Html {
    /// Wraps something that writes valid HTML, such as a `<time>` element.
    pub fn new(markup: impl HtmlSafe) -> Self {
        Self(markup.to_string())
    }
}

impl HtmlSafe for Html {}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{message, message_n, t, t_html, tn};

    #[test]
    fn values_are_formatted_for_the_reader() {
        let max = 10_000;
        let text = message!("Use at most {max} characters.", max);
        assert_eq!(text.english(), "Use at most 10000 characters.");
        assert_eq!(Locale::ENGLISH.run(|| text.to_string()), "Use at most 10,000 characters.");
        let money = Money { minor: 531_500, currency: "EUR".parse().unwrap() };
        let nested = message!("{what}: {money}{unknown}", what = message!("Due"), money);
        assert_eq!(nested.english(), "Due: €5,315.00{unknown}");
        assert_eq!(t!("{name} {{x}", name = "{name}"), "{name} {{x}");
    }

    #[test]
    fn the_number_chooses_the_plural() {
        let people = |count: usize| tn!("{count} person", "{count} people", count);
        assert_eq!(Locale::ENGLISH.run(|| people(1)), "1 person");
        assert_eq!(Locale::ENGLISH.run(|| people(1204)), "1,204 people");
        assert_eq!(message_n!("one", "many {x}", 2, x = "of them").english(), "many of them");
    }

    #[test]
    fn values_are_escaped_in_html() {
        let html = t_html!("Hi <b>{name}</b>", name = "<script>");
        assert_eq!(html.to_string(), "Hi <b>&#60;script&#62;</b>");
        assert_eq!(t_html!("{it}", it = html).to_string(), html.to_string());
    }
}
