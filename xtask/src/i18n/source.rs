//! Finds the texts in one Rust source or template.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::str::FromStr;

/// The macros whose first argument is a text, and whether the second one is its plural.
const MACROS: [(&str, bool); 7] = [
    ("mark", false),
    ("message", false),
    ("message_n", true),
    ("t", false),
    ("t_html", false),
    ("tn", true),
    ("tn_html", true),
];

/// The functions of errors. Sentences in their arguments are translated.
const ERROR_FUNCTIONS: [&str; 15] = [
    "add_faults",
    "already_in_use",
    "conflict",
    "duplicate",
    "fault",
    "forbidden",
    "invalid",
    "invalid_fields",
    "invalid_state",
    "new",
    "of_parameter",
    "on_unique_violation",
    "parsed",
    "require_any",
    "text_as",
];

/// A text that is translated.
#[derive(Default)]
pub(super) struct Text {
    pub(super) context: String,
    pub(super) key: String,
    pub(super) plural: Option<String>,
    /// A note for translators: `// Translators: …` or `{# Translators: … #}` on the line before.
    pub(super) comment: String,
    pub(super) files: Vec<String>,
}

/// A text that people may read, and that is not translated.
pub(super) struct Unmarked {
    pub(super) line: usize,
    pub(super) text: String,
}

/// What was found in a file.
type Found = (Vec<Text>, Vec<Unmarked>);

/// Finds the texts of a Rust source.
pub(super) fn rust(content: &str) -> Result<Found, String> {
    let tokens = TokenStream::from_str(content).map_err(|e| format!("cannot be parsed: {e}"))?;
    let mut finder = Finder::new(content, 0);
    finder.walk(tokens, false);
    Ok((finder.texts, finder.unmarked))
}

/// Finds the texts of a template: in its expressions and, as unmarked texts, between its tags.
pub(super) fn template(content: &str) -> Result<Found, String> {
    let mut found: Found = Default::default();
    let (mut rest, mut line) = (content, 0);
    while let Some(start) =
        rest.find("{{").into_iter().chain(rest.find("{%")).chain(rest.find("{#")).min()
    {
        let (markup, code) = rest.split_at(start);
        unmarked_in(markup, line, &mut found.1);
        line += markup.matches('\n').count();
        let end = match &code[..2] {
            "{{" => "}}",
            "{%" => "%}",
            _ => "#}",
        };
        let length = code.find(end).ok_or("an expression has no end")? + 2;
        let inner = code[2..length - 2].trim_matches(['-', '+', '~']);
        if end != "#}" {
            let parsed = TokenStream::from_str(inner);
            let tokens =
                parsed.map_err(|e| format!("line {}: cannot parse {inner}: {e}", line + 1))?;
            let mut finder = Finder::new(content, line);
            finder.walk(tokens, false);
            found.0.append(&mut finder.texts);
            found.1.append(&mut finder.unmarked);
        }
        line += code[..length].matches('\n').count();
        rest = &code[length..];
    }
    unmarked_in(rest, line, &mut found.1);
    Ok(found)
}

/// The texts between HTML tags.
fn unmarked_in(markup: &str, line: usize, unmarked: &mut Vec<Unmarked>) {
    let mut inside_tag = false;
    let mut text = String::new();
    let mut finish = |text: &mut String| {
        let found = std::mem::take(text);
        let words = found.trim();
        let without_entities = words.replace("&amp;", "").replace("&nbsp;", "");
        if without_entities.chars().filter(|c| c.is_alphabetic()).count() > 1
            && words != "Touchline"
        {
            unmarked.push(Unmarked { line: line + 1, text: words.to_owned() });
        }
    };
    // The markup between two expressions may begin in a tag, whose end comes first.
    let start = match (markup.find('>'), markup.find('<')) {
        (Some(end), begin) if begin.is_none_or(|begin| end < begin) => end + 1,
        _ => 0,
    };
    for c in markup[start..].chars() {
        match c {
            '<' => {
                finish(&mut text);
                inside_tag = true;
            }
            '>' => inside_tag = false,
            _ if !inside_tag => text.push(c),
            _ => {}
        }
    }
    finish(&mut text);
}

struct Finder<'a> {
    lines: Vec<&'a str>,
    /// The number of lines before the parsed part of the file.
    line_offset: usize,
    texts: Vec<Text>,
    unmarked: Vec<Unmarked>,
}

impl<'a> Finder<'a> {
    fn new(content: &'a str, line_offset: usize) -> Self {
        let lines = content.lines().collect();
        Self { lines, line_offset, texts: Vec::new(), unmarked: Vec::new() }
    }

    /// Finds texts in these tokens. `in_error` is whether sentences are those of an error.
    fn walk(&mut self, tokens: TokenStream, in_error: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut binds_detail = false;
        let mut index = 0;
        while let Some(token) = tokens.get(index) {
            let rest = &tokens[index + 1..];
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ';' => binds_detail = false,
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    index += attribute_length(rest);
                }
                TokenTree::Ident(name) if name == "let" => binds_detail = names_detail(rest),
                TokenTree::Ident(name) => match rest {
                    [TokenTree::Punct(mark), TokenTree::Group(group), ..]
                        if mark.as_char() == '!' =>
                    {
                        self.macro_call(&name.to_string(), group, in_error || binds_detail);
                        index += 2;
                    }
                    [TokenTree::Group(group), ..]
                        if group.delimiter() == Delimiter::Parenthesis =>
                    {
                        let is_error_function =
                            ERROR_FUNCTIONS.contains(&name.to_string().as_str());
                        let internal = name == "internal" || name == "expect";
                        let in_error = (in_error || binds_detail || is_error_function) && !internal;
                        self.walk(group.stream(), in_error);
                        index += 1;
                    }
                    _ => {}
                },
                TokenTree::Group(group) => self.walk(group.stream(), in_error || binds_detail),
                TokenTree::Literal(literal) => {
                    self.literal(&TokenTree::Literal(literal.clone()), in_error || binds_detail);
                }
                TokenTree::Punct(_) => {}
            }
            index += 1;
        }
    }

    fn macro_call(&mut self, name: &str, group: &Group, in_error: bool) {
        let Some((_, has_plural)) = MACROS.iter().find(|(known, _)| *known == name) else {
            // Statements and logs have no texts for people, but may contain our macros.
            self.walk(group.stream(), in_error && matches!(name, "vec" | "matches"));
            return;
        };
        let arguments = split_arguments(group.stream());
        let literal = |index: usize| match arguments.get(index).map(Vec::as_slice) {
            Some([token]) => string(token),
            _ => None,
        };
        if let Some(key) = literal(0) {
            let second = literal(1);
            let line = group.span_open().start().line + self.line_offset;
            let (plural, context) = if *has_plural { (second, None) } else { (None, second) };
            let comment = self.comment_before(line);
            let context = context.unwrap_or_default();
            self.texts.push(Text { context, key, plural, comment, files: Vec::new() });
        }
        for argument in arguments.into_iter().filter(|tokens| tokens.len() > 1) {
            self.walk(argument.into_iter().collect(), false);
        }
    }

    fn literal(&mut self, token: &TokenTree, in_error: bool) {
        let Some(text) = string(token).filter(|text| is_sentence(text)) else { return };
        let line = token.span().start().line + self.line_offset;
        if in_error {
            let comment = self.comment_before(line);
            self.texts.push(Text { key: text, comment, ..Text::default() });
        } else {
            self.unmarked.push(Unmarked { line, text });
        }
    }

    /// The note for translators above or on a line.
    fn comment_before(&self, line: usize) -> String {
        let note = |line: usize| {
            let text = self.lines.get(line.checked_sub(1)?)?.split_once("Translators: ")?.1;
            Some(text.split("#}").next().unwrap_or(text).trim().to_owned())
        };
        note(line).or_else(|| note(line.checked_sub(1)?)).unwrap_or_default()
    }
}

/// The number of tokens to skip after `#`: those of the attribute, and the module if it contains tests.
fn attribute_length(rest: &[TokenTree]) -> usize {
    let inner =
        usize::from(matches!(rest.first(), Some(TokenTree::Punct(p)) if p.as_char() == '!'));
    let Some(TokenTree::Group(group)) = rest.get(inner) else { return 0 };
    let attribute = group.stream().to_string().replace(' ', "");
    let after = inner + 1;
    if attribute != "cfg(test)" {
        return after;
    }
    let is_end = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    };
    after + rest[after..].iter().position(is_end).map_or(0, |end| end + 1)
}

/// Whether a `let` statement binds the text of an error: `let detail = …`, `let (code, detail) = …`.
fn names_detail(rest: &[TokenTree]) -> bool {
    let pattern =
        rest.iter().take_while(|token| !matches!(token, TokenTree::Punct(p) if p.as_char() == '='));
    pattern.map(ToString::to_string).any(|token| {
        token.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "detail")
    })
}

fn split_arguments(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut arguments = vec![Vec::new()];
    for token in tokens {
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => arguments.push(Vec::new()),
            _ => arguments.last_mut().into_iter().for_each(|last| last.push(token.clone())),
        }
    }
    arguments
}

/// The value of a string literal.
fn string(token: &TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = token else { return None };
    match syn::Lit::new(literal.clone()) {
        syn::Lit::Str(text) => Some(text.value()),
        _ => None,
    }
}

/// Whether a literal reads like a text for people: several words that begin with a capital letter.
fn is_sentence(text: &str) -> bool {
    let first = text.chars().next().is_some_and(|c| c.is_uppercase() || c == '`');
    first && text.contains(' ') && text.chars().any(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(found: Found) -> Vec<String> {
        found.0.into_iter().map(|text| text.key).collect()
    }

    #[test]
    fn texts_in_rust_are_found() {
        let found = rust(
            r#"
            #[doc = "No text."]
            fn f() {
                // Translators: a button
                let a = t!("Save");
                let b = vec![tn!("{count} day", "{count} days", n), t!("Open", "status").len()];
                let detail = if x { "One error." } else { "Another one." };
                Err(Error::new(Code::Gone, "It is gone.").at("/x"))?;
                Error::internal("No text for people.");
                let other = "Not marked yet.";
            }
            #[cfg(test)]
            mod tests { fn g() { t!("Only a test"); } }
            "#,
        );
        let (texts, unmarked) = found.unwrap();
        let all: Vec<_> = texts.iter().map(|text| text.key.as_str()).collect();
        assert_eq!(
            all,
            ["Save", "{count} day", "Open", "One error.", "Another one.", "It is gone."]
        );
        assert_eq!(texts[0].comment, "a button");
        assert_eq!(texts[1].plural.as_deref(), Some("{count} days"));
        assert_eq!(texts[2].context, "status");
        let unmarked: Vec<_> = unmarked.iter().map(|one| one.text.as_str()).collect();
        assert!(unmarked.contains(&"Not marked yet."), "{unmarked:?}");
    }

    #[test]
    fn texts_in_templates_are_found() {
        let found = template(
            "{# t!(\"no\") #}<p class=\"x\">{{ t!(\"A\") }}<b>Bold text</b>\n\
             {% call parts::card(t!(\"C\")) %}<i title=\"{{ t!(\"D\") }}\">{{ x }}</i>{% endcall %}",
        );
        let found = found.unwrap();
        assert_eq!(found.1.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), ["Bold text"]);
        assert_eq!(keys(found), ["A", "C", "D"]);
    }
}
