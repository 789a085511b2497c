//! Texts with named placeholders, such as `{name}`. They are translated when they are shown.

use std::fmt;

use askama::filters::HtmlSafe;

use crate::i18n::{Html, Message, ToValue, Value};

/// A text in the reader's language, with its placeholders replaced.
pub fn fill(text: &'static str, words: &[(&'static str, &str)]) -> String {
    let message = Message::from(text);
    words.iter().fold(message, |message, &(name, word)| message.with(name, word)).to_string()
}

/// The label of a list or an option. A literal is translated; a `String` is shown as it is, such as a name.
pub trait Label {
    fn into_text(self) -> String;
}

impl Label for &'static str {
    fn into_text(self) -> String {
        t!(self).to_owned()
    }
}

impl Label for String {
    fn into_text(self) -> String {
        self
    }
}

impl Label for &String {
    fn into_text(self) -> String {
        self.clone()
    }
}

/// A sentence of a page, in HTML.
#[derive(Debug, Clone)]
pub struct Sentence(Message);

impl Sentence {
    pub fn new(text: &'static str) -> Self {
        Self(text.into())
    }

    /// A name that somebody entered.
    pub fn name(self, placeholder: &'static str, name: &str) -> Self {
        let name = Message::from("<bdi>{name}</bdi>").with("name", name);
        self.with(placeholder, &name.to_html())
    }

    /// A word, number or amount.
    pub fn word(self, placeholder: &'static str, word: impl ToString) -> Self {
        self.with(placeholder, &word.to_string())
    }

    pub fn link(self, placeholder: &'static str, href: &str, text: &str) -> Self {
        let link = Message::from("<a href=\"{href}\">{text}</a>").with("href", href);
        self.with(placeholder, &link.with("text", text).to_html())
    }

    /// HTML, such as a `<time>` element.
    pub fn html(self, placeholder: &'static str, html: String) -> Self {
        self.with(placeholder, &Value::Html(html))
    }

    fn with(self, placeholder: &'static str, value: &impl ToValue) -> Self {
        Self(self.0.with(placeholder, value))
    }
}

impl From<&'static str> for Sentence {
    fn from(text: &'static str) -> Self {
        Self::new(text)
    }
}

macro_rules! whole_sentences {
    ($($text:ty),+) => {$(
        impl From<$text> for Sentence {
            fn from(text: $text) -> Self {
                Self::new("{text}").with("text", &text)
            }
        }
    )+};
}
// A `String` is already translated.
whole_sentences!(String, Message, Html);

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.to_html().fmt(f)
    }
}

impl HtmlSafe for Sentence {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_never_read_as_placeholders() {
        let sentence = Sentence::new("“{name}” and {count} of {other}.").name("name", "<{count}>");
        assert_eq!(
            sentence.word("count", 3).to_string(),
            "“<bdi>&#60;{count}&#62;</bdi>” and 3 of {other}."
        );
        assert_eq!(fill("Up to {max}.", &[("max", "5")]), "Up to 5.");
        assert_eq!(Sentence::from(String::from("{a} < b")).to_string(), "{a} &#60; b");
    }
}
