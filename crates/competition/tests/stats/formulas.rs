//! The language of formulas.

use competition::stats::formula::{
    Formula, FormulaFault, FormulaProblem, MAX_DEPTH, MAX_LENGTH, is_key,
};
use proptest::prelude::*;

/// The value of a formula in which `A` is 6, `B` is 4, `Z` is 0, `3PM` is 3 and `N` is null.
fn value(text: &str) -> Option<f64> {
    Formula::parse(text).unwrap().evaluate(&|key| match key {
        "A" => Some(6.0),
        "B" => Some(4.0),
        "Z" => Some(0.0),
        "3PM" => Some(3.0),
        "N" => None,
        _ => panic!("{key}"),
    })
}

fn fault(text: &str) -> (usize, FormulaProblem) {
    let FormulaFault { position, problem } = Formula::parse(text).unwrap_err();
    (position, problem)
}

fn number(text: &str) -> f64 {
    value(text).unwrap()
}

#[test]
fn operators_have_the_usual_precedence() {
    assert_eq!(number("1 + 2 * 3"), 7.0);
    assert_eq!(number("(1 + 2) * 3"), 9.0);
    assert_eq!(number("10 - 4 - 3"), 3.0);
    assert_eq!(number("24 / 4 / 2"), 3.0);
    assert_eq!(number("-A + B"), -2.0);
    assert_eq!(number("--A"), 6.0);
    assert_eq!(number("2 * -A"), -12.0);
    assert_eq!(number("1 + 1 < 3"), 1.0);
    assert_eq!(number("not A < B"), 1.0);
    assert_eq!(number("1 < 2 and 3 < 2 or 1 == 1"), 1.0);
    assert_eq!(number("1 or 1 and 0"), 1.0);
    assert_eq!(number("(1 or 1) and 0"), 0.0);
    assert_eq!(number("2*3PM"), 6.0);
    assert_eq!(number("0.5*3PM"), 1.5);
}

#[test]
fn comparisons_are_one_or_zero() {
    for (text, expected) in
        [("A < B", 0.0), ("A <= A", 1.0), ("A > B", 1.0), ("A >= B", 1.0), ("A == 6", 1.0)]
    {
        assert_eq!(number(text), expected, "{text}");
    }
    assert_eq!(number("A != B"), 1.0);
    assert_eq!(number("(A > B) + (B > A) + (A == A)"), 2.0);
}

#[test]
fn functions_have_their_values() {
    assert_eq!(number("min(3, A, B)"), 3.0);
    assert_eq!(number("max(3, A, B)"), 6.0);
    assert_eq!(number("abs(B - A)"), 2.0);
    assert_eq!(number("floor(-1.5)"), -2.0);
    assert_eq!(number("round(2.5)"), 3.0);
    assert_eq!(number("round(-2.345, 2)"), -2.35);
    assert_eq!(number("round(2.345, 99)"), 2.345);
    assert_eq!(number("round(25, -1)"), 25.0);
    assert_eq!(number("clamp(A, 0, 2.375)"), 2.375);
    assert_eq!(number("clamp(-A, 0, 2.375)"), 0.0);
    assert_eq!(value("clamp(A, 2, 1)"), None);
    assert_eq!(number("if(A > B, 1, 2)"), 1.0);
    assert_eq!(number("if(A < B, 1, 2)"), 2.0);
}

#[test]
fn what_has_no_value_is_null() {
    for text in [
        "N",
        "null",
        "A / Z",
        "A / (B - 4)",
        "0 / 0",
        "N + 1",
        "-N",
        "not N",
        "N == N",
        "0 and N",
        "1 or N",
        "min(1, N)",
        "abs(N)",
        "if(N, 1, 2)",
        "clamp(1, N, 2)",
        "0 * N",
        "if(1, N, 2)",
    ] {
        assert_eq!(value(text), None, "{text}");
    }
}

#[test]
fn only_if_ignores_null() {
    assert_eq!(number("if(Z > 0, A / Z, 0)"), 0.0);
    assert_eq!(number("if(1, 5, N)"), 5.0);
}

#[test]
fn overflow_is_null() {
    let large = "1000000000000";
    let text = format!("max({})", [large; 2].join(", "));
    assert_eq!(number(&text), 1e12);
    let product = [large; 30].join("*");
    assert_eq!(value(&product), None);
    assert_eq!(value(&format!("{product} - {large}")), None);
    let formula = Formula::parse("A * A").unwrap();
    assert_eq!(formula.evaluate(&|_| Some(1e308)), None);
    assert_eq!(formula.evaluate(&|_| Some(f64::NAN)), None);
    assert_eq!(formula.evaluate(&|_| Some(f64::INFINITY)), None);
}

#[test]
fn zero_has_no_sign() {
    assert!(number("-Z").is_sign_positive());
    assert!(number("0 * -A").is_sign_positive());
}

#[test]
fn syntax_errors_have_a_position() {
    use FormulaProblem as P;
    let unexpected = |text: &str| P::Unexpected(text.to_owned());
    for (text, position, problem) in [
        ("", 0, P::Empty),
        ("   ", 0, P::Empty),
        ("A +", 3, P::UnexpectedEnd),
        ("(A", 2, P::UnexpectedEnd),
        ("A B", 2, unexpected("B")),
        ("A 12.5", 2, unexpected("12.5")),
        ("A)", 1, unexpected(")")),
        ("* A", 0, unexpected("*")),
        ("A and", 5, P::UnexpectedEnd),
        ("and A", 0, unexpected("and")),
        ("A < B < 3", 6, unexpected("<")),
        ("A == B != 3", 7, unexpected("!=")),
        ("A = B", 2, P::UnexpectedCharacter('=')),
        ("A ^ 2", 2, P::UnexpectedCharacter('^')),
        ("A + é", 4, P::UnexpectedCharacter('é')),
        ("1.2.3", 0, P::InvalidNumber("1.2.3".into())),
        ("A + 5.", 4, P::InvalidNumber("5.".into())),
        (".5", 0, P::InvalidNumber(".5".into())),
        ("A + goals", 4, P::InvalidKey("goals".into())),
        ("A * 1e308", 4, P::InvalidKey("1e308".into())),
        ("_A", 0, P::InvalidKey("_A".into())),
        ("A.B", 0, P::InvalidKey("A.B".into())),
        ("A * 9999999999999", 4, P::NumberTooLarge),
        ("ABCDEFGHIJKLMNOPQRSTUVWXY", 0, P::KeyTooLong),
        ("A + sqrt(B)", 4, P::UnknownFunction("sqrt".into())),
        ("A(B)", 0, P::UnknownFunction("A".into())),
        ("1 + min(A)", 4, P::ArgumentCount { function: "min", min: 2, max: 16 }),
        ("if(A, B)", 0, P::ArgumentCount { function: "if", min: 3, max: 3 }),
        ("round()", 0, P::ArgumentCount { function: "round", min: 1, max: 2 }),
        ("min", 3, P::UnexpectedEnd),
        ("min(A,", 6, P::UnexpectedEnd),
        ("min(A,)", 6, unexpected(")")),
    ] {
        assert_eq!(fault(text), (position, problem), "{text}");
    }
}

#[test]
fn formulas_are_bounded() {
    let nested = |depth: usize| format!("{}A{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Formula::parse(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(fault(&nested(MAX_DEPTH + 1)), (MAX_DEPTH, FormulaProblem::TooDeep));
    assert_eq!(fault(&"-".repeat(400)), (MAX_DEPTH, FormulaProblem::TooDeep));
    assert_eq!(fault(&"abs(".repeat(100)).1, FormulaProblem::TooDeep);
    assert_eq!(fault(&"not ".repeat(100)).1, FormulaProblem::TooDeep);
    let sum = |parts: usize| vec!["A"; parts].join("+");
    assert!(Formula::parse(&sum(100)).is_ok());
    assert_eq!(fault(&sum(101)).1, FormulaProblem::TooComplex);
    assert_eq!(fault(&" ".repeat(MAX_LENGTH + 1)), (MAX_LENGTH, FormulaProblem::TooLong));
    assert_eq!(fault(&format!("1.{}", "0".repeat(10_000))).1, FormulaProblem::TooLong);
}

#[test]
fn keys_are_listed_once_with_their_first_position() {
    let formula = Formula::parse("if(FGA > 0, FGM / FGA, 3PM)").unwrap();
    let keys: Vec<(&str, usize)> =
        formula.references().iter().map(|key| (key.key.as_str(), key.position)).collect();
    assert_eq!(keys, [("FGA", 3), ("FGM", 12), ("3PM", 23)]);
}

#[test]
fn keys_have_a_grammar() {
    for key in ["G", "3PM", "FG_PCT", "1B", "50S", "A1"] {
        assert!(is_key(key), "{key}");
    }
    for key in ["", "3", "_A", "3_A", "g", "A-B", "FG%", "+/-", "A B", "É", "A.B"] {
        assert!(!is_key(key), "{key}");
    }
}

#[test]
fn the_canonical_form_has_no_needless_parentheses() {
    for (text, canonical) in [
        ("((A))+(B*3PM)", "A + B * 3PM"),
        ("A-(B-Z)", "A - (B - Z)"),
        ("(A+B)*Z", "(A + B) * Z"),
        ("not(A<B)", "not A < B"),
        ("(not A)<B", "(not A) < B"),
        ("-(A*B)", "-(A * B)"),
        ("(A<B)==(B<A)", "(A < B) == (B < A)"),
        ("if( A ,B,null )", "if(A, B, null)"),
        ("2.50", "2.5"),
    ] {
        assert_eq!(Formula::parse(text).unwrap().to_string(), canonical);
    }
}

/// Texts of valid formulas.
fn formula() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        Just("null".to_owned()),
        "[0-9]{1,3}(\\.[0-9]{1,3})?",
        prop_oneof![Just("A"), Just("B"), Just("Z"), Just("3PM"), Just("N")]
            .prop_map(str::to_owned),
    ];
    atom.prop_recursive(4, 24, 3, |inner| {
        let operator = proptest::sample::select(vec![
            "+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "and", "or",
        ]);
        prop_oneof![
            (inner.clone(), operator, inner.clone())
                .prop_map(|(left, operator, right)| format!("({left}) {operator} ({right})")),
            inner.clone().prop_map(|operand| format!("-({operand})")),
            inner.clone().prop_map(|operand| format!("not ({operand})")),
            inner.clone().prop_map(|operand| format!("floor({operand})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("round({a}, {b})")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| format!("max(if({a}, {b}, {c}), clamp({b}, {a}, {c}))")),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_rejected_at_a_position_in_it(text in "\\PC{0,60}") {
        if let Err(fault) = Formula::parse(&text) {
            prop_assert!(fault.position <= text.len());
        }
    }

    #[test]
    fn any_tokens_are_parsed_or_rejected(
        tokens in proptest::collection::vec(proptest::sample::select(vec![
            "A", "3PM", "1", "0.5", "+", "-", "*", "/", "(", ")", ",", "if", "min(", "not", "and",
            "<", "==", "clamp(", " ", "null", "round", "1e9",
        ]), 0..40)
    ) {
        let text = tokens.join(" ");
        match Formula::parse(&text) {
            Ok(formula) => {
                let value = formula.evaluate(&|_| Some(1.5));
                prop_assert!(value.is_none_or(f64::is_finite));
            }
            Err(fault) => prop_assert!(fault.position <= text.len()),
        }
    }

    #[test]
    fn what_is_printed_is_parsed_to_the_same(text in formula()) {
        // Deep or long ones are rejected, which another test covers.
        if let Ok(parsed) = Formula::parse(&text) {
            let printed = parsed.to_string();
            let again = Formula::parse(&printed).unwrap();
            prop_assert_eq!(&again, &parsed, "{}", printed);
            prop_assert_eq!(again.to_string(), printed);
        }
    }

    #[test]
    fn values_are_finite(text in formula(), a in any::<f64>(), b in any::<f64>()) {
        if let Ok(formula) = Formula::parse(&text) {
            let value = formula.evaluate(&|key| match key {
                "A" => Some(a),
                "B" => Some(b),
                "Z" => Some(0.0),
                "N" => None,
                _ => Some(3.0),
            });
            prop_assert!(value.is_none_or(f64::is_finite));
            prop_assert!(value.is_none_or(|value| value != 0.0 || value.is_sign_positive()));
        }
    }
}
