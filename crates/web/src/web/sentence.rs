//! Sentences with named placeholders, such as `{name}`. The text is a literal, which is the key of its translation.

use askama::filters::{Escaper, Html, HtmlSafe};

/// Replaces the placeholders of a text.
pub fn fill(text: &str, words: &[(&str, &str)]) -> String {
    words
        .iter()
        .fold(text.to_owned(), |text, (name, word)| text.replace(&format!("{{{name}}}"), word))
}

/// A sentence of a page, in HTML.
#[derive(Debug, Clone)]
pub struct Sentence {
    text: &'static str,
    /// The HTML of each placeholder.
    words: Vec<(&'static str, String)>,
}

impl Sentence {
    pub fn new(text: &'static str) -> Self {
        Self { text, words: Vec::new() }
    }

    /// A name that somebody entered.
    pub fn name(self, placeholder: &'static str, name: &str) -> Self {
        self.html(placeholder, format!("<bdi>{}</bdi>", escape(name)))
    }

    /// A word, number or amount.
    pub fn word(self, placeholder: &'static str, word: impl ToString) -> Self {
        self.html(placeholder, escape(&word.to_string()))
    }

    pub fn link(self, placeholder: &'static str, href: &str, text: &str) -> Self {
        self.html(placeholder, format!("<a href=\"{}\">{}</a>", escape(href), escape(text)))
    }

    /// HTML, such as a `<time>` element.
    pub fn html(mut self, placeholder: &'static str, html: String) -> Self {
        self.words.push((placeholder, html));
        self
    }
}

impl From<&'static str> for Sentence {
    fn from(text: &'static str) -> Self {
        Self::new(text)
    }
}

impl std::fmt::Display for Sentence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut rest = self.text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            let word = self.words.iter().find(|(known, _)| *known == name);
            write!(f, "{}{}", escape(before), word.map_or("", |(_, html)| html))?;
            rest = after;
        }
        f.write_str(&escape(rest))
    }
}

impl HtmlSafe for Sentence {}

fn escape(text: &str) -> String {
    let mut escaped = String::new();
    match Html.write_escaped_str(&mut escaped, text) {
        Ok(()) => escaped,
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_never_read_as_placeholders() {
        let sentence = Sentence::new("“{name}” & {count} of {other}.").name("name", "<{count}>");
        assert_eq!(
            sentence.word("count", 3).to_string(),
            "“<bdi>&#60;{count}&#62;</bdi>” &#38; 3 of ."
        );
        assert_eq!(fill("Up to {max}.", &[("max", "5")]), "Up to 5.");
    }
}
