//! Errors of formulas.

use std::fmt;

use super::{MAX_DEPTH, MAX_KEY_LENGTH, MAX_LENGTH, MAX_NODES, MAX_NUMBER};

/// Why a formula was rejected, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormulaFault {
    /// Byte offset in the formula. The length of the formula if it ends too early.
    pub position: usize,
    /// What is wrong there.
    pub problem: FormulaProblem,
}

/// What is wrong with a formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormulaProblem {
    /// The formula is empty.
    Empty,
    /// The formula has more than [`MAX_LENGTH`] bytes.
    TooLong,
    /// The nesting is deeper than [`MAX_DEPTH`].
    TooDeep,
    /// The formula has more than [`MAX_NODES`] numbers, keys, operators and functions.
    TooComplex,
    /// The formula ends where a value or a closing parenthesis is expected.
    UnexpectedEnd,
    /// A character that no formula has.
    UnexpectedCharacter(char),
    /// Something that is not possible at this place.
    Unexpected(String),
    /// A number with two points, or without a digit before or after the point.
    InvalidNumber(String),
    /// A number above [`MAX_NUMBER`].
    NumberTooLarge,
    /// A word that is neither a key nor a function.
    InvalidKey(String),
    /// A key of more than [`MAX_KEY_LENGTH`] characters.
    KeyTooLong,
    /// A function that does not exist.
    UnknownFunction(String),
    /// A function has too few or too many arguments.
    ArgumentCount {
        /// Name of the function.
        function: &'static str,
        /// The fewest arguments.
        min: usize,
        /// The most arguments.
        max: usize,
    },
}

impl fmt::Display for FormulaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (position {})", self.problem, self.position)
    }
}

impl fmt::Display for FormulaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("The formula is empty."),
            Self::TooLong => write!(f, "The formula is longer than {MAX_LENGTH} bytes."),
            Self::TooDeep => write!(f, "The formula is nested deeper than {MAX_DEPTH} levels."),
            Self::TooComplex => write!(f, "The formula has more than {MAX_NODES} parts."),
            Self::UnexpectedEnd => f.write_str("The formula ends too early."),
            Self::UnexpectedCharacter(character) => {
                write!(f, "{character:?} cannot be used in a formula.")
            }
            Self::Unexpected(text) => write!(f, "{text:?} is not expected here."),
            Self::InvalidNumber(text) => write!(f, "{text:?} is not a number."),
            Self::NumberTooLarge => write!(f, "Numbers cannot exceed {MAX_NUMBER}."),
            Self::InvalidKey(text) => {
                write!(
                    f,
                    "{text:?} is not a key. Keys contain only the characters A to Z, 0 to 9 and _."
                )
            }
            Self::KeyTooLong => write!(f, "Keys have at most {MAX_KEY_LENGTH} characters."),
            Self::UnknownFunction(name) => write!(f, "There is no function {name:?}."),
            Self::ArgumentCount { function, min, max } if min == max => {
                write!(f, "{function} must have {min} arguments.")
            }
            Self::ArgumentCount { function, min, max } => {
                write!(f, "{function} must have {min} to {max} arguments.")
            }
        }
    }
}
