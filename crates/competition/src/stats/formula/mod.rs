//! Formulas over the keys of statistics.
//!
//! A formula has numbers, `null`, keys, `+ - * /`, comparisons, `and`, `or`, `not`, parentheses and
//! [functions](Function). A key has the characters A to Z, 0 to 9 and `_`. Its first character that is
//! not a digit is one of A to Z: `G`, `3PM`, `FG_PCT`. Words in lower case are functions and operators.
//! Numbers have no exponent, so that `1E` can be a key.
//!
//! A comparison is 1 or 0, and any number but 0 is true. The result of an operation is null if one
//! of its operands is null, if the divisor is 0, or if the result is not finite. Only `if` ignores
//! an operand: the one that its condition does not choose.

mod expression;
mod fault;
mod lexer;
mod parser;

use std::fmt;

pub use expression::Function;
pub use fault::{FormulaFault, FormulaProblem};

use expression::Expression;

/// The longest formula, in bytes.
pub const MAX_LENGTH: usize = 500;
/// How deep parentheses, functions and signs can be nested.
pub const MAX_DEPTH: usize = 32;
/// The largest number of numbers, keys, operators and functions in a formula.
pub const MAX_NODES: usize = 200;
/// The longest key.
pub const MAX_KEY_LENGTH: usize = 24;
/// The largest number that can be written in a formula.
pub const MAX_NUMBER: f64 = 1e12;

/// A formula whose syntax is valid. Its keys are not necessarily those of statistics.
#[derive(Debug, Clone)]
pub struct Formula {
    text: String,
    expression: Expression,
    references: Vec<Reference>,
}

/// A key in a formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The key.
    pub key: String,
    /// Byte offset of its first occurrence.
    pub position: usize,
}

impl Formula {
    /// Parses a formula.
    pub fn parse(text: &str) -> Result<Self, FormulaFault> {
        let (expression, references) = parser::parse(text)?;
        Ok(Self { text: text.to_owned(), expression, references })
    }

    /// The text of the formula as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The keys in the formula, each once, in the order of their first occurrence.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The value of the formula, which is finite. `lookup` returns the value of a key.
    pub fn evaluate(&self, lookup: &impl Fn(&str) -> Option<f64>) -> Option<f64> {
        // Turns -0 into 0.
        self.expression.evaluate(lookup).map(|value| value + 0.0)
    }
}

/// Formulas are equal if they have the same meaning for the parser; spaces do not matter.
impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        self.expression == other.expression
    }
}

/// The canonical form of the formula: with single spaces, and without needless parentheses.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression.fmt(f)
    }
}

/// Whether this is a valid key of a statistic.
pub fn is_key(text: &str) -> bool {
    text.len() <= MAX_KEY_LENGTH
        && text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(is_upper_case)
        && text.chars().all(|c| is_upper_case(c) || c.is_ascii_digit() || c == '_')
}

fn is_upper_case(c: char) -> bool {
    c.is_ascii_uppercase()
}
