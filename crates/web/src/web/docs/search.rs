//! The search over guides and the reference, in memory.

use kit::text::escape_html;

/// How many results are shown.
const MAX_RESULTS: usize = 30;
/// The length of the text around the first match, in characters.
const SNIPPET: usize = 180;
/// Longer queries are cut, and further words ignored.
const MAX_WORDS: usize = 8;

/// Common words in questions, which the search ignores.
const COMMON_WORDS: &[&str] = &[
    "a", "an", "and", "are", "can", "do", "does", "for", "from", "how", "i", "in", "is", "it",
    "my", "of", "on", "or", "should", "the", "to", "what", "when", "where", "which", "why", "with",
    "you", "your",
];

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Guide,
    Operation,
    Object,
    Notification,
    Error,
}

impl Kind {
    pub fn label(self) -> &'static str {
        match self {
            Self::Guide => "Guide",
            Self::Operation => "Operation",
            Self::Object => "Object",
            Self::Notification => "Notification",
            Self::Error => "Error",
        }
    }
}

/// Something that can be found.
#[derive(Debug, Clone)]
pub struct Entry {
    pub kind: Kind,
    pub href: String,
    pub title: String,
    /// The page that it is on.
    pub place: String,
    /// Further words that describe it, such as the operation id and the path.
    pub keywords: String,
    pub text: String,
}

/// A found entry.
#[derive(Debug)]
pub struct Hit<'a> {
    pub entry: &'a Entry,
    /// The text around the first match, as HTML with the matches in `<mark>`.
    pub snippet: String,
    /// The title as HTML with the matches in `<mark>`.
    pub title: String,
}

/// All entries with their words.
#[derive(Debug, Default)]
pub struct Index {
    entries: Vec<Indexed>,
}

#[derive(Debug)]
struct Indexed {
    entry: Entry,
    title: Vec<String>,
    keywords: Vec<String>,
    text: Vec<String>,
}

impl Index {
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        let index = |entry: Entry| Indexed {
            title: words(&entry.title),
            keywords: words(&format!("{} {}", entry.keywords, entry.place)),
            text: words(&entry.text),
            entry,
        };
        Self { entries: entries.into_iter().map(index).collect() }
    }

    /// The entries with all words of a query, the best first. Words such as "how" and "the" count only if there are no
    /// others.
    pub fn find(&self, query: &str) -> Vec<Hit<'_>> {
        let mut query = query_words(query);
        let is_common = |[word, _]: &[String; 2]| COMMON_WORDS.contains(&word.as_str());
        if !query.iter().all(is_common) {
            query.retain(|word| !is_common(word));
        }
        query.truncate(MAX_WORDS);
        if query.is_empty() {
            return Vec::new();
        }
        let marked = query.concat();
        let mut found: Vec<_> = self
            .entries
            .iter()
            .filter_map(|entry| Some((entry.score(&query)?, &entry.entry)))
            .collect();
        // A stable sort: equal entries stay in the order of the menu.
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let hit = |(_, entry): (u32, _)| {
            let entry: &Entry = entry;
            Hit {
                entry,
                snippet: snippet(&entry.text, &marked),
                title: mark(&entry.title, &marked),
            }
        };
        found.into_iter().take(MAX_RESULTS).map(hit).collect()
    }
}

impl Indexed {
    /// How well the entry matches, or `None` if a word is missing.
    fn score(&self, query: &[[String; 2]]) -> Option<u32> {
        let mut score = 0;
        for forms in query {
            let best = |words| forms.iter().map(|word| best(words, word)).max().unwrap_or(0);
            let title = best(&self.title) * 8;
            let keywords = best(&self.keywords) * 4;
            let text = best(&self.text);
            let best = title.max(keywords).max(text);
            if best == 0 {
                return None;
            }
            score += best * 4 + u32::from(text > 0);
        }
        // A whole page, and a title with few other words, are more likely what the reader looks for.
        if !self.entry.href.contains('#') {
            score += 40;
        }
        if self.title.iter().eq(query.iter().map(|[word, _]| word)) {
            score += 50;
        }
        score += 20 / u32::try_from(self.title.len().max(1)).unwrap_or(u32::MAX);
        Some(score)
    }
}

/// How well the best of some words matches: 3 if it is equal, 2 if it starts with the word, 1 if it contains it.
fn best(words: &[String], word: &str) -> u32 {
    let quality = |known: &String| match known.find(word) {
        Some(0) if known.len() == word.len() => 3,
        Some(0) => 2,
        Some(_) if word.len() > 3 => 1,
        _ => 0,
    };
    words.iter().map(quality).max().unwrap_or(0)
}

/// The words of a text in lower case. `calendar_feeds.list` is one word, and each of its parts too. `TypeScript` is found
/// as `typescript` and as `type_script`.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in split(text) {
        let snake = snake_case(word);
        let lower = word.to_lowercase();
        if lower != snake {
            words.push(lower);
        }
        if snake.contains(['.', '_']) {
            words
                .extend(snake.split(['.', '_']).filter(|part| !part.is_empty()).map(str::to_owned));
        }
        words.push(snake);
    }
    words
}

/// The words of a query, each as it is and in snake case: `rotateSecret` is a method of the client, `rotate_secret`.
fn query_words(text: &str) -> Vec<[String; 2]> {
    split(text).map(|word| [word.to_lowercase(), snake_case(word)]).collect()
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    let is_separator = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.');
    text.split(is_separator)
        .map(|word| word.trim_matches(['.', '_']))
        .filter(|word| !word.is_empty())
}

/// A name in snake case: `rotate_secret` for `rotateSecret`.
fn snake_case(word: &str) -> String {
    camel_case_parts(word).join("_").to_lowercase()
}

/// The parts of a name in camel case: `rotate` and `Secret`.
fn camel_case_parts(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut previous_is_lower = false;
    for (at, character) in word.char_indices() {
        if character.is_uppercase() && previous_is_lower {
            parts.push(&word[start..at]);
            start = at;
        }
        previous_is_lower = character.is_lowercase();
    }
    parts.push(&word[start..]);
    parts
}

/// The part of a text around the first match, with the matches marked.
fn snippet(text: &str, query: &[String]) -> String {
    let text = text.trim();
    let lower = text.to_lowercase();
    let first = query.iter().filter_map(|word| lower.find(word.as_str())).min().unwrap_or(0);
    // Lower-case letters can have other lengths, so positions are counted in characters.
    let first = lower[..first].chars().count();
    let characters: Vec<char> = text.chars().collect();
    let mut start = first.saturating_sub(SNIPPET / 3).min(characters.len());
    while start > 0 && characters.get(start - 1).is_some_and(|c| !c.is_whitespace()) {
        start -= 1;
    }
    let mut end = (start + SNIPPET).min(characters.len());
    while end < characters.len() && !characters[end].is_whitespace() {
        end += 1;
    }
    let part: String = characters[start..end].iter().collect();
    let before = if start > 0 { "… " } else { "" };
    let after = if end < characters.len() { " …" } else { "" };
    format!("{before}{}{after}", mark(part.trim(), query))
}

/// Escapes a text and marks the matches.
fn mark(text: &str, query: &[String]) -> String {
    let mut html = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let matching = query.iter().filter_map(|word| matching_prefix(rest, word)).max();
        let at_start =
            html.is_empty() || !text[..text.len() - rest.len()].ends_with(char::is_alphanumeric);
        if let Some(length) = matching.filter(|_| at_start) {
            html.push_str(&format!("<mark>{}</mark>", escape_html(&rest[..length])));
            rest = &rest[length..];
        } else {
            let length = rest.chars().next().map_or(1, char::len_utf8);
            html.push_str(&escape_html(&rest[..length]));
            rest = &rest[length..];
        }
    }
    html
}

/// The length of the start of a text that is this word in any case.
fn matching_prefix(text: &str, word: &str) -> Option<usize> {
    let mut characters = text.char_indices();
    for expected in word.chars() {
        let (_, character) = characters.next()?;
        if !character.to_lowercase().eq(std::iter::once(expected)) {
            return None;
        }
    }
    Some(characters.next().map_or(text.len(), |(at, _)| at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(title: &str, keywords: &str, text: &str) -> Entry {
        Entry {
            kind: Kind::Guide,
            href: format!("/docs/{title}"),
            title: title.to_owned(),
            place: String::new(),
            keywords: keywords.to_owned(),
            text: text.to_owned(),
        }
    }

    fn index() -> Index {
        Index::new([
            entry("Teams", "", "A <team> & its webhooks."),
            entry("Create a webhook", "webhooks.create POST /webhooks", "Sends events."),
            entry("Webhooks", "", "Signed requests."),
        ])
    }

    fn titles(query: &str) -> Vec<String> {
        index().find(query).iter().map(|hit| hit.entry.title.clone()).collect()
    }

    #[test]
    fn titles_rank_above_keywords_and_text() {
        assert_eq!(titles("webhooks"), ["Webhooks", "Create a webhook", "Teams"]);
        assert_eq!(titles("webhooks.create"), ["Create a webhook"]);
        assert_eq!(titles("webhooks signed"), ["Webhooks"]);
        assert!(titles("nothing").is_empty() && titles(" - ").is_empty());
    }

    #[test]
    fn questions_and_names_of_methods_are_found() {
        assert_eq!(titles("How do I create a webhook"), ["Create a webhook"]);
        assert_eq!(titles("the"), [""; 0]);
        let index = Index::new([
            entry("Rotate it", "webhooks.rotate_secret", "With TypeScript."),
            entry("Other", "", "An OAuth app."),
        ]);
        for query in ["rotateSecret", "rotate_secret", "typescript", "TypeScript", "type script"] {
            assert_eq!(index.find(query)[0].entry.title, "Rotate it", "{query}");
        }
        for query in ["WebHooks", "webhooks"] {
            assert_eq!(index.find(query)[0].entry.title, "Rotate it", "{query}");
        }
        assert_eq!(index.find("oauth").len(), 1);
        assert_eq!(index.find("OAuth").len(), 1);
    }

    #[test]
    fn a_snippet_is_escaped_and_marked() {
        let index = index();
        let hits = index.find("team");
        assert_eq!(hits[0].title, "<mark>Team</mark>s");
        assert_eq!(hits[0].snippet, "A &#60;<mark>team</mark>&#62; &#38; its webhooks.");
    }

    #[test]
    fn letters_of_other_lengths_are_found() {
        let index =
            Index::new([entry("İstanbul", "", &format!("{} İi straße ẞ", "x ".repeat(200)))]);
        assert_eq!(index.find("straße").len(), 1);
        assert!(index.find("straße")[0].snippet.contains("<mark>straße</mark>"));
    }
}
