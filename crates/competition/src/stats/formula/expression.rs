//! Parsed formulas: evaluating and printing them.

use std::fmt;

use kit::string_enum;
use kit::string_enum::StringEnum;

use crate::stats::format::round_half_away;

/// A parsed formula. Its depth is at most that of [`MAX_NODES`](super::MAX_NODES) nodes, so that
/// recursion is safe.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    /// Not negative.
    Number(f64),
    Null,
    Key(String),
    Negate(Box<Expression>),
    Not(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// The number of arguments is valid.
    Call(Function, Vec<Expression>),
}

string_enum! {
    /// An operator between two operands.
    pub(super) enum Operator {
        Or = "or",
        And = "and",
        Less = "<",
        LessOrEqual = "<=",
        Greater = ">",
        GreaterOrEqual = ">=",
        Equal = "==",
        NotEqual = "!=",
        Add = "+",
        Subtract = "-",
        Multiply = "*",
        Divide = "/",
    }
}

string_enum! {
    /// A function in formulas.
    pub enum Function {
        /// `if(condition, a, b)` is `a` if the condition is true, otherwise `b`.
        If = "if",
        /// The smallest argument.
        Min = "min",
        /// The largest argument.
        Max = "max",
        /// The absolute value.
        Abs = "abs",
        /// The largest whole number that is not greater.
        Floor = "floor",
        /// `round(x)` or `round(x, digits)`, with at most 9 digits. Halves are rounded away from 0.
        Round = "round",
        /// `clamp(x, lowest, highest)`. Null if the bounds are in the wrong order.
        Clamp = "clamp",
    }
}

/// The precedence of a leading `not`, which applies to a whole comparison.
pub(super) const PREFIX_NOT: u8 = 3;
const COMPARISON: u8 = 4;
/// The precedence of a leading minus.
pub(super) const PREFIX_MINUS: u8 = 7;
const ATOM: u8 = 8;

impl Operator {
    pub(super) fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Add | Self::Subtract => 5,
            Self::Multiply | Self::Divide => 6,
            _ => COMPARISON,
        }
    }

    pub(super) fn is_comparison(self) -> bool {
        self.precedence() == COMPARISON
    }

    #[expect(clippy::float_cmp, reason = "most values are counts, which are exact")]
    fn apply(self, left: f64, right: f64) -> Option<f64> {
        let truth = |value: bool| f64::from(u8::from(value));
        Some(match self {
            Self::Or => truth(left != 0.0 || right != 0.0),
            Self::And => truth(left != 0.0 && right != 0.0),
            Self::Less => truth(left < right),
            Self::LessOrEqual => truth(left <= right),
            Self::Greater => truth(left > right),
            Self::GreaterOrEqual => truth(left >= right),
            Self::Equal => truth(left == right),
            Self::NotEqual => truth(left != right),
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide if right == 0.0 => return None,
            Self::Divide => left / right,
        })
    }
}

impl Function {
    /// The fewest and the most arguments.
    pub(super) fn argument_count(self) -> (usize, usize) {
        match self {
            Self::If | Self::Clamp => (3, 3),
            Self::Min | Self::Max => (2, 16),
            Self::Abs | Self::Floor => (1, 1),
            Self::Round => (1, 2),
        }
    }

    /// The value of a function other than `if`, whose arguments are all evaluated.
    fn apply(self, arguments: &[f64]) -> Option<f64> {
        Some(match (self, arguments) {
            (Self::Min, _) => arguments.iter().copied().fold(f64::INFINITY, f64::min),
            (Self::Max, _) => arguments.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            (Self::Abs, [value]) => value.abs(),
            (Self::Floor, [value]) => value.floor(),
            (Self::Round, [value]) => round_half_away(*value, 0),
            (Self::Round, [value, digits]) => {
                #[expect(clippy::cast_sign_loss, reason = "digits are from 0 to 9")]
                let digits = digits.clamp(0.0, 9.0) as u8;
                round_half_away(*value, digits)
            }
            (Self::Clamp, [value, low, high]) if low <= high => value.clamp(*low, *high),
            _ => return None,
        })
    }
}

impl Expression {
    /// The value, which is finite.
    pub(super) fn evaluate(&self, lookup: &impl Fn(&str) -> Option<f64>) -> Option<f64> {
        let value = match self {
            Self::Number(number) => Some(*number),
            Self::Null => None,
            Self::Key(key) => lookup(key),
            Self::Negate(operand) => operand.evaluate(lookup).map(|value| -value),
            Self::Not(operand) => {
                operand.evaluate(lookup).map(|value| f64::from(u8::from(value == 0.0)))
            }
            Self::Binary(operator, left, right) => {
                operator.apply(left.evaluate(lookup)?, right.evaluate(lookup)?)
            }
            Self::Call(Function::If, arguments) => {
                let condition = arguments[0].evaluate(lookup)?;
                arguments[if condition == 0.0 { 2 } else { 1 }].evaluate(lookup)
            }
            Self::Call(function, arguments) => {
                let values: Option<Vec<f64>> =
                    arguments.iter().map(|argument| argument.evaluate(lookup)).collect();
                function.apply(&values?)
            }
        };
        value.filter(|value| value.is_finite())
    }

    fn precedence(&self) -> u8 {
        match self {
            Self::Number(_) | Self::Null | Self::Key(_) | Self::Call(..) => ATOM,
            Self::Negate(_) => PREFIX_MINUS,
            Self::Not(_) => PREFIX_NOT,
            Self::Binary(operator, ..) => operator.precedence(),
        }
    }

    /// Prints an operand, in parentheses if its operator binds less than `min_precedence`.
    fn print(&self, f: &mut fmt::Formatter<'_>, min_precedence: u8) -> fmt::Result {
        if self.precedence() < min_precedence { write!(f, "({self})") } else { write!(f, "{self}") }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Null => f.write_str("null"),
            Self::Key(key) => f.write_str(key),
            Self::Negate(operand) => {
                f.write_str("-")?;
                operand.print(f, PREFIX_MINUS)
            }
            Self::Not(operand) => {
                f.write_str("not ")?;
                operand.print(f, PREFIX_NOT)
            }
            Self::Binary(operator, left, right) => {
                let precedence = operator.precedence();
                left.print(f, precedence + u8::from(operator.is_comparison()))?;
                write!(f, " {operator} ")?;
                right.print(f, precedence + 1)
            }
            Self::Call(function, arguments) => {
                write!(f, "{}(", function.as_str())?;
                for (index, argument) in arguments.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { ", " })?;
                    argument.fmt(f)?;
                }
                f.write_str(")")
            }
        }
    }
}
