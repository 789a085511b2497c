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

/// The functions of declarations, with a `.` before the name of a method. Labels in their arguments are translated when
/// the page is shown. All functions of `Field` and `Column` are declarations too.
const DECLARATIONS: [&str; 30] = [
    ".about",
    ".back_label",
    ".date",
    ".effect",
    ".explained_options",
    ".form",
    ".heading",
    ".hint",
    ".input",
    ".label",
    ".lead",
    ".list",
    ".note",
    ".options",
    ".or_reject",
    ".required",
    ".select",
    ".select_later",
    ".warning",
    ".with_error",
    "Cell::Badge",
    "Cell::Label",
    "Cell::age_or",
    "Cell::button",
    "Cell::muted",
    "Choice::new",
    "ConfirmPage::new",
    "List::new",
    "Sentence::new",
    "fill",
];

/// The structs of declarations.
const STRUCTS: [&str; 2] = ["NoticePage", "Rows"];

/// Variables with the text of an error or of a page.
const VARIABLES: [&str; 5] = ["back_label", "detail", "error", "lead", "text"];

/// Which literals are translated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Translated {
    /// Only those in the macros.
    Marked,
    /// Those that read like a sentence, in an error.
    Sentences,
    /// Those that read like a label or a sentence, in a declaration.
    Labels,
}

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
    finder.walk(tokens, Translated::Marked);
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
            finder.walk(tokens, Translated::Marked);
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

    /// Finds texts in these tokens.
    fn walk(&mut self, tokens: TokenStream, outer: Translated) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut translated = outer;
        let mut index = 0;
        while let Some(token) = tokens.get(index) {
            let rest = &tokens[index + 1..];
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ';' => translated = outer,
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    index += attribute_length(rest);
                }
                TokenTree::Ident(name) if name == "let" => {
                    translated = if binds_text(rest) { Translated::Sentences } else { outer };
                }
                TokenTree::Ident(name) => match rest {
                    [TokenTree::Punct(mark), TokenTree::Group(group), ..]
                        if mark.as_char() == '!' =>
                    {
                        self.macro_call(&name.to_string(), group, translated);
                        index += 2;
                    }
                    [TokenTree::Group(group), ..]
                        if group.delimiter() == Delimiter::Parenthesis =>
                    {
                        self.walk(group.stream(), in_call(&tokens[..=index], translated));
                        index += 1;
                    }
                    [TokenTree::Group(group), ..]
                        if STRUCTS.contains(&name.to_string().as_str()) =>
                    {
                        self.walk(group.stream(), Translated::Labels);
                        index += 1;
                    }
                    _ => {}
                },
                TokenTree::Group(group) => self.walk(group.stream(), translated),
                TokenTree::Literal(_) => self.literal(token, translated),
                TokenTree::Punct(_) => {}
            }
            index += 1;
        }
    }

    fn macro_call(&mut self, name: &str, group: &Group, translated: Translated) {
        let Some((_, has_plural)) = MACROS.iter().find(|(known, _)| *known == name) else {
            // Statements and logs have no texts for people, but may contain our macros.
            let inner = match name {
                "vec" | "matches" => translated,
                "notification_kinds" => {
                    self.kind_labels(group.stream());
                    Translated::Sentences
                }
                "marks" => Translated::Labels,
                _ => Translated::Marked,
            };
            self.walk(group.stream(), inner);
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
            self.walk(argument.into_iter().collect(), Translated::Marked);
        }
    }

    /// The labels of notification kinds in the audit log: "Team created" for `team.created`.
    fn kind_labels(&mut self, tokens: TokenStream) {
        for token in tokens {
            match (&token, string(&token)) {
                (TokenTree::Group(group), _) => self.kind_labels(group.stream()),
                (_, Some(kind)) if kind.contains('.') && !kind.contains(' ') => {
                    self.texts.push(Text { key: label(&kind), ..Text::default() });
                }
                _ => {}
            }
        }
    }

    fn literal(&mut self, token: &TokenTree, translated: Translated) {
        let Some(text) = string(token) else { return };
        let line = token.span().start().line + self.line_offset;
        let is_translated = match translated {
            Translated::Marked => false,
            Translated::Sentences => is_sentence(&text),
            Translated::Labels => is_label(&text),
        };
        if is_translated {
            let comment = self.comment_before(line);
            self.texts.push(Text { key: text, comment, ..Text::default() });
        } else if is_sentence(&text) {
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

/// The label of a name in the audit log: "Team created" for `team.created`.
pub(super) fn label(name: &str) -> String {
    let words = name.replace(['.', '_'], " ").replace("rsvp ", "RSVP ");
    let first = words.chars().take(1).flat_map(char::to_uppercase);
    first.chain(words.chars().skip(1)).collect()
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

/// Which literals in the arguments of a call are translated. `before` are the tokens up to the name of the function.
fn in_call(before: &[TokenTree], outer: Translated) -> Translated {
    let words: Vec<_> = before.iter().rev().take(4).map(ToString::to_string).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let (name, owner) = match words[..] {
        [name, ".", ..] => (format!(".{name}"), ""),
        [name, ":", ":", owner] => (format!("{owner}::{name}"), owner),
        [name, ..] => (name.to_owned(), ""),
        [] => return outer,
    };
    match words[0] {
        _ if DECLARATIONS.contains(&name.as_str()) || ["Field", "Column"].contains(&owner) => {
            Translated::Labels
        }
        "internal" | "expect" => Translated::Marked,
        name if ERROR_FUNCTIONS.contains(&name) => Translated::Sentences,
        // A function in a declaration may have arguments that are no labels, such as the name of an element.
        _ if outer == Translated::Labels => Translated::Marked,
        _ => outer,
    }
}

/// Whether a `let` statement binds a text: `let detail = …`, `let (code, detail) = …`.
fn binds_text(rest: &[TokenTree]) -> bool {
    let pattern =
        rest.iter().take_while(|token| !matches!(token, TokenTree::Punct(p) if p.as_char() == '='));
    pattern.map(ToString::to_string).any(|token| {
        let mut words = token.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| VARIABLES.contains(&word))
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

/// Whether a literal in a declaration is text for people: it begins with a capital letter or a placeholder, unlike
/// the name of a field or a path, and has words.
fn is_label(text: &str) -> bool {
    let is_technical = text.starts_with(|c: char| c.is_lowercase() || "/<#".contains(c));
    let mut outside = text.split('{').map(|part| part.rsplit('}').next().unwrap_or(part));
    !is_technical && outside.any(|part| part.chars().any(char::is_alphabetic))
}

#[cfg(test)]
mod tests;
