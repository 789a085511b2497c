//! Parses formulas.

use kit::string_enum::StringEnum;

use super::expression::{Expression, Function, Operator, PREFIX_MINUS, PREFIX_NOT};
use super::lexer::{Lexer, Token, TokenKind};
use super::{
    FormulaFault, FormulaProblem, MAX_DEPTH, MAX_KEY_LENGTH, MAX_LENGTH, MAX_NODES, Reference,
    is_key,
};

/// Parses a formula into an expression and the keys in it.
pub(super) fn parse(text: &str) -> Result<(Expression, Vec<Reference>), FormulaFault> {
    if text.len() > MAX_LENGTH {
        return Err(FormulaFault { position: MAX_LENGTH, problem: FormulaProblem::TooLong });
    }
    let mut lexer = Lexer::new(text);
    let token = lexer.next()?;
    if token.kind == TokenKind::End {
        return Err(FormulaFault { position: 0, problem: FormulaProblem::Empty });
    }
    let mut parser = Parser { text, lexer, token, depth: 0, nodes: 0, references: Vec::new() };
    let expression = parser.expression(0)?;
    if parser.token.kind == TokenKind::End {
        Ok((expression, parser.references))
    } else {
        Err(parser.unexpected())
    }
}

struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    /// The token after those that have been parsed.
    token: Token<'a>,
    depth: usize,
    nodes: usize,
    references: Vec<Reference>,
}

impl Parser<'_> {
    /// Parses operators of at least this precedence, and their operands.
    fn expression(&mut self, min_precedence: u8) -> Result<Expression, FormulaFault> {
        let mut left = self.operand()?;
        let mut after_comparison = false;
        while let Some(operator) = self.operator() {
            let precedence = operator.precedence();
            if precedence < min_precedence {
                break;
            }
            // `1 < 2 < 3` would compare the result of `1 < 2`, which nobody wants.
            if after_comparison && operator.is_comparison() {
                return Err(self.unexpected());
            }
            after_comparison = operator.is_comparison();
            self.count_node()?;
            self.advance()?;
            let right = self.expression(precedence + 1)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn operator(&self) -> Option<Operator> {
        match self.token.kind {
            TokenKind::Symbol(text) | TokenKind::Word(text) => Operator::parse(text),
            TokenKind::Number(_) | TokenKind::End => None,
        }
    }

    fn operand(&mut self) -> Result<Expression, FormulaFault> {
        self.count_node()?;
        match self.token.kind {
            TokenKind::Number(number) => {
                self.advance()?;
                Ok(Expression::Number(number))
            }
            TokenKind::Symbol("-") => Ok(Expression::Negate(Box::new(self.nested(|parser| {
                parser.advance()?;
                parser.expression(PREFIX_MINUS)
            })?))),
            TokenKind::Word("not") => Ok(Expression::Not(Box::new(self.nested(|parser| {
                parser.advance()?;
                parser.expression(PREFIX_NOT)
            })?))),
            TokenKind::Symbol("(") => self.nested(|parser| {
                parser.advance()?;
                let inner = parser.expression(0)?;
                parser.expect(")")?;
                Ok(inner)
            }),
            TokenKind::Word(word) => self.word(word),
            TokenKind::Symbol(_) | TokenKind::End => Err(self.unexpected()),
        }
    }

    /// A key, `null`, or a function with its arguments.
    fn word(&mut self, word: &str) -> Result<Expression, FormulaFault> {
        let position = self.token.position;
        let fault = |problem| FormulaFault { position, problem };
        if Operator::parse(word).is_some() {
            return Err(self.unexpected());
        }
        if let Some(function) = Function::parse(word) {
            return self.call(function);
        }
        self.advance()?;
        if self.token.kind == TokenKind::Symbol("(") {
            return Err(fault(FormulaProblem::UnknownFunction(word.to_owned())));
        }
        if word == "null" {
            return Ok(Expression::Null);
        }
        if word.len() > MAX_KEY_LENGTH {
            return Err(fault(FormulaProblem::KeyTooLong));
        }
        if !is_key(word) {
            return Err(fault(FormulaProblem::InvalidKey(word.to_owned())));
        }
        if self.references.iter().all(|reference| reference.key != word) {
            self.references.push(Reference { key: word.to_owned(), position });
        }
        Ok(Expression::Key(word.to_owned()))
    }

    fn call(&mut self, function: Function) -> Result<Expression, FormulaFault> {
        let position = self.token.position;
        self.advance()?;
        self.expect("(")?;
        let mut arguments = Vec::new();
        if self.token.kind != TokenKind::Symbol(")") {
            arguments.push(self.nested(|parser| parser.expression(0))?);
            while self.token.kind == TokenKind::Symbol(",") {
                self.advance()?;
                arguments.push(self.nested(|parser| parser.expression(0))?);
            }
        }
        self.expect(")")?;
        let (min, max) = function.argument_count();
        if (min..=max).contains(&arguments.len()) {
            Ok(Expression::Call(function, arguments))
        } else {
            let function = function.as_str();
            let problem = FormulaProblem::ArgumentCount { function, min, max };
            Err(FormulaFault { position, problem })
        }
    }

    fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, FormulaFault>,
    ) -> Result<T, FormulaFault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault(FormulaProblem::TooDeep));
        }
        let result = parse(self)?;
        self.depth -= 1;
        Ok(result)
    }

    fn count_node(&mut self) -> Result<(), FormulaFault> {
        self.nodes += 1;
        if self.nodes > MAX_NODES { Err(self.fault(FormulaProblem::TooComplex)) } else { Ok(()) }
    }

    fn expect(&mut self, symbol: &'static str) -> Result<(), FormulaFault> {
        if self.token.kind == TokenKind::Symbol(symbol) {
            self.advance()
        } else {
            Err(self.unexpected())
        }
    }

    fn advance(&mut self) -> Result<(), FormulaFault> {
        self.token = self.lexer.next()?;
        Ok(())
    }

    fn fault(&self, problem: FormulaProblem) -> FormulaFault {
        FormulaFault { position: self.token.position, problem }
    }

    fn unexpected(&self) -> FormulaFault {
        self.fault(match self.token.kind {
            TokenKind::End => FormulaProblem::UnexpectedEnd,
            TokenKind::Word(text) | TokenKind::Symbol(text) => {
                FormulaProblem::Unexpected(text.to_owned())
            }
            TokenKind::Number(_) => {
                let rest = &self.text[self.token.position..];
                let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
                FormulaProblem::Unexpected(rest[..end.unwrap_or(rest.len())].to_owned())
            }
        })
    }
}
