//! Colors code on the pages: strings, comments, keywords and the names of fields.

use kit::text::escape_html;

/// The names of the languages and their keywords.
const KEYWORDS: &[(&[&str], &[&str])] = &[
    (&["sh"], &["curl", "export", "for", "in", "do", "done", "while", "if", "then", "fi"]),
    (
        &["ts", "typescript"],
        &[
            "import",
            "from",
            "const",
            "let",
            "new",
            "await",
            "async",
            "for",
            "of",
            "if",
            "else",
            "return",
            "try",
            "catch",
            "throw",
            "function",
            "export",
            "instanceof",
            "true",
            "false",
            "null",
            "break",
        ],
    ),
    (
        &["python"],
        &[
            "import", "from", "for", "in", "if", "else", "return", "def", "class", "try", "except",
            "with", "as", "True", "False", "None", "while",
        ],
    ),
    (&["json"], &["true", "false", "null"]),
    (
        &["rust"],
        &["use", "async", "fn", "let", "if", "return", "pub", "match", "struct", "impl", "crate"],
    ),
    (
        &["go"],
        &[
            "package", "import", "func", "return", "if", "var", "for", "range", "nil", "true",
            "false",
        ],
    ),
    (&["php"], &["function", "return", "if", "foreach", "as", "true", "false", "fn", "exit"]),
];

/// Escapes code for HTML, with the parts in `<span>`s. Unknown languages are only escaped.
pub fn html(code: &str, language: &str) -> String {
    let known = KEYWORDS.iter().find(|(names, _)| names.contains(&language));
    let Some((_, keywords)) = known else { return escape_html(code) };
    let comment = if matches!(language, "sh" | "python") { "#" } else { "//" };
    let mut output = String::with_capacity(code.len() * 2);
    let mut rest = code;
    let mut after_space = true;
    while let Some(first) = rest.chars().next() {
        let (length, class) = if language != "json" && after_space && rest.starts_with(comment) {
            (rest.find('\n').unwrap_or(rest.len()), "c")
        } else if first == '"' || (language != "json" && matches!(first, '\'' | '`')) {
            let length = string_length(rest, first);
            let is_field = language == "json" && rest[length..].starts_with(':');
            (length, if is_field { "f" } else { "s" })
        } else if is_word(first) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            (length, if keywords.contains(&&rest[..length]) { "k" } else { "" })
        } else {
            (first.len_utf8(), "")
        };
        let (piece, after) = rest.split_at(length.max(1));
        let escaped = escape_html(piece);
        if class.is_empty() {
            output.push_str(&escaped);
        } else {
            output.push_str(&format!("<span class=\"{class}\">{escaped}</span>"));
        }
        after_space = first.is_whitespace();
        rest = after;
    }
    output
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The length of a string with its quotes.
fn string_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if character == quote && !escaped {
            return at + character.len_utf8();
        }
        escaped = character == '\\' && !escaped;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_comments_and_keywords_are_marked() {
        assert_eq!(
            html("const a = 'x' // <b>", "ts"),
            "<span class=\"k\">const</span> a = <span class=\"s\">&#39;x&#39;</span> <span class=\"c\">// &#60;b&#62;</span>"
        );
        assert_eq!(
            html("{\"a\": \"b\"}", "json"),
            "{<span class=\"f\">&#34;a&#34;</span>: <span class=\"s\">&#34;b&#34;</span>}"
        );
        assert_eq!(html("a < b", "http"), "a &#60; b");
        assert_eq!(html("http://x", "sh"), "http://x");
    }
}
