//! Splits a formula into tokens.

use super::{FormulaFault, FormulaProblem, MAX_NUMBER};

/// A token and where it is in the formula.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    pub(super) position: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TokenKind<'a> {
    Number(f64),
    /// A key, the name of a function, or an operator such as `and`.
    Word(&'a str),
    Symbol(&'static str),
    End,
}

/// The longer symbols come first, because `<` is also the start of `<=`.
const SYMBOLS: [&str; 13] = ["<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "(", ")", ","];

pub(super) struct Lexer<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    /// The next token; after the last one, [`TokenKind::End`] each time.
    pub(super) fn next(&mut self) -> Result<Token<'a>, FormulaFault> {
        let rest = self.text[self.position..].trim_start();
        self.position = self.text.len() - rest.len();
        let position = self.position;
        let Some(first) = rest.chars().next() else {
            return Ok(Token { kind: TokenKind::End, position });
        };
        let kind = if first.is_ascii_alphanumeric() || first == '.' || first == '_' {
            self.word(rest)?
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            self.position += symbol.len();
            TokenKind::Symbol(symbol)
        } else {
            let problem = FormulaProblem::UnexpectedCharacter(first);
            return Err(FormulaFault { position, problem });
        };
        Ok(Token { kind, position })
    }

    /// A number or a word. `3PM` is a word, because a number ends before an operator or a space.
    fn word(&mut self, rest: &'a str) -> Result<TokenKind<'a>, FormulaFault> {
        let belongs = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        let word = &rest[..rest.find(|c| !belongs(c)).unwrap_or(rest.len())];
        let position = self.position;
        self.position += word.len();
        if word.contains(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return Ok(TokenKind::Word(word));
        }
        let fault = |problem| FormulaFault { position, problem };
        if word.starts_with('.') || word.ends_with('.') {
            return Err(fault(FormulaProblem::InvalidNumber(word.to_owned())));
        }
        let number: f64 =
            word.parse().map_err(|_| fault(FormulaProblem::InvalidNumber(word.to_owned())))?;
        if number > MAX_NUMBER {
            return Err(fault(FormulaProblem::NumberTooLarge));
        }
        Ok(TokenKind::Number(number))
    }
}
