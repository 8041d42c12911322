//! Parses a text to a [`Condition`] with winnow, by the grammar in the module's page. Every error has its position.
//!
//! Reads the words of a condition: names, numbers, texts, and the space between them.

use winnow::Parser;
use winnow::combinator::{alt, opt, peek, preceded, separated};
use winnow::error::{ErrMode, ModalResult, ParserError};
use winnow::stream::{LocatingSlice, Location, Stateful};
use winnow::token::{any, one_of, rest, take_while};

use crate::condition::error::{ConditionError, ConditionErrorKind};
use crate::condition::syntax::{
    Accessor, Condition, Expression, Offset, Operator, Reference, Segment, begins_word, continues_word,
};
use proctor_model::{ActionId, ConditionValue};

/// A condition with more bytes than this is refused.
pub(super) const LONGEST: usize = 1024;
/// A condition with more open parentheses than this at any position is refused.
pub(super) const DEEPEST: usize = 32;

/// Texts that people who know other languages write after a condition, each with what to write instead.
const TRAILING: &[(&str, &str)] = &[
    ("===", "compare two values only"),
    ("==", "compare two values only"),
    ("=", "write `===` to compare"),
    ("&", "write `&&` to join"),
    ("|", "write `||` to join"),
    ("and", "write `&&` to join"),
    ("or", "write `||` to join"),
    ("?", "there is no `? :`, write two conditions"),
    ("+", "conditions compare, they do not compute"),
    ("-", "conditions compare, they do not compute"),
    ("*", "conditions compare, they do not compute"),
    ("/", "conditions compare, they do not compute"),
    ("%", "conditions compare, they do not compute"),
    (")", "this parenthesis was never opened"),
    (";", "write one condition, without `;`"),
];

impl Condition {
    /// Parses a condition. Whether its actions and fields exist is checked by [`crate::condition::check`].
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        let refuse = |offset, kind| Err(ConditionError::new(text, offset, kind));
        if text.len() > LONGEST {
            return refuse(LONGEST, ConditionErrorKind::TooLong);
        }
        let content = text.trim_start();
        let start = text.len() - content.len();
        if content.is_empty() {
            return refuse(start, ConditionErrorKind::Empty);
        }
        if content.starts_with('{') {
            return refuse(start, ConditionErrorKind::object_form(&serde_json::from_str(content).unwrap_or_default()));
        }
        let mut input = ConditionInput { input: LocatingSlice::new(text), state: 0 };
        match whole_condition(&mut input) {
            Ok(root) => Ok(Self { text: text.to_owned(), root }),
            Err(ErrMode::Backtrack(refusal) | ErrMode::Cut(refusal)) => refuse(refusal.offset, refusal.kind),
            Err(ErrMode::Incomplete(_)) => refuse(text.len(), ConditionErrorKind::Expected(OPERAND)),
        }
    }
}

fn whole_condition(input: &mut ConditionInput<'_>) -> ParserResult<Expression> {
    let expression = disjunction(input)?;
    space(input)?;
    let offset = input.current_token_start();
    let left: &str = rest(input)?;
    if left.is_empty() {
        return Ok(expression);
    }
    let advice = TRAILING.iter().find(|(found, _)| left.starts_with(found)).map(|(_, advice)| *advice);
    refuse(offset, ConditionErrorKind::Trailing(advice.unwrap_or("join conditions with `&&` or `||`")))
}

fn disjunction(input: &mut ConditionInput<'_>) -> ParserResult<Expression> {
    let parts: Vec<_> = separated(1.., conjunction, preceded(space, "||")).parse_next(input)?;
    Ok(joined(parts, Expression::Or))
}

fn conjunction(input: &mut ConditionInput<'_>) -> ParserResult<Expression> {
    let parts: Vec<_> = separated(1.., unary, preceded(space, "&&")).parse_next(input)?;
    Ok(joined(parts, Expression::And))
}

fn joined(mut parts: Vec<Expression>, join: fn(Vec<Expression>) -> Expression) -> Expression {
    if parts.len() > 1 { join(parts) } else { parts.pop().expect("at least one was parsed") }
}

fn unary(input: &mut ConditionInput<'_>) -> ParserResult<Expression> {
    space(input)?;
    if opt('!').parse_next(input)?.is_none() {
        return comparison(input);
    }
    let negated = operand(input)?;
    match spaced_operator(input)? {
        Some((at, operator)) => refuse(at.0, ConditionErrorKind::NegatedComparison(operator.to_string())),
        None => Ok(Expression::Not(Box::new(negated))),
    }
}

fn comparison(input: &mut ConditionInput<'_>) -> ParserResult<Expression> {
    let left = Box::new(operand(input)?);
    let Some((at, operator)) = spaced_operator(input)? else { return Ok(*left) };
    let right = Box::new(operand(input)?);
    match spaced_operator(input)? {
        Some((at, operator)) => refuse(at.0, ConditionErrorKind::ChainedComparison(operator.to_string())),
        None => Ok(Expression::Compare { left, operator, right, at }),
    }
}

fn spaced_operator(input: &mut ConditionInput<'_>) -> ParserResult<Option<(Offset, Operator)>> {
    space(input)?;
    let at = Offset(input.current_token_start());
    let mut operator = opt(alt((
        alt(("===", "==")).value(Operator::Equal),
        alt(("!==", "!=")).value(Operator::NotEqual),
        "<=".value(Operator::LessOrEqual),
        ">=".value(Operator::GreaterOrEqual),
        '<'.value(Operator::Less),
        '>'.value(Operator::Greater),
    )));
    Ok(operator.parse_next(input)?.map(|operator| (at, operator)))
}

fn operand(input: &mut ConditionInput<'_>) -> ParserResult<Expression> {
    space(input)?;
    let at = Offset(input.current_token_start());
    let literal = |value| Ok(Expression::Literal { value, at });
    match peek(opt(any)).parse_next(input)? {
        Some('(') => parenthesised(input),
        Some('"' | '\'') => literal(ConditionValue::Text(text(input)?)),
        Some(first) if first.is_ascii_digit() || first == '-' => literal(ConditionValue::Number(number(input)?)),
        Some(first) if begins_word(first) => worded(input),
        Some(_) | None => refuse(at.0, ConditionErrorKind::Expected(OPERAND)),
    }
}

fn parenthesised(input: &mut ConditionInput<'_>) -> ParserResult<Expression> {
    let offset = input.current_token_start();
    any.void().parse_next(input)?;
    input.state += 1;
    if input.state > DEEPEST {
        return refuse(offset, ConditionErrorKind::TooDeep);
    }
    let inner = disjunction(input)?;
    space(input)?;
    let end = input.current_token_start();
    if opt(')').parse_next(input)?.is_none() {
        return refuse(end, ConditionErrorKind::Expected("`)`, `&&` or `||`"));
    }
    input.state -= 1;
    Ok(inner)
}

/// Reads a literal or a reference; both begin with a word.
fn worded(input: &mut ConditionInput<'_>) -> ParserResult<Expression> {
    let at = Offset(input.current_token_start());
    let name = word(input)?;
    let value = match name {
        "true" => ConditionValue::Boolean(true),
        "false" => ConditionValue::Boolean(false),
        "null" => ConditionValue::Null,
        _ if is_action_name(name) => return reference(input, name, at).map(Expression::Reference),
        _ => return misplaced_word(input, name, at),
    };
    Ok(Expression::Literal { value, at })
}

fn is_action_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|one| one.is_ascii_uppercase() || one.is_ascii_digit() || one == '_')
}

/// Refuses a word that is not an action: a field without an action, or a function.
fn misplaced_word(input: &mut ConditionInput<'_>, name: &str, at: Offset) -> ParserResult<Expression> {
    let tail: &str = take_while(0.., |one| continues_word(one) || one == '.').parse_next(input)?;
    let full = format!("{name}{tail}");
    let calls = peek(opt('(')).parse_next(input)?.is_some();
    let is_question = tail.ends_with(".includes") || tail.ends_with(".startsWith");
    let kind = if calls && !is_question { ConditionErrorKind::Call(full) } else { ConditionErrorKind::Unscoped(full) };
    refuse(at.0, kind)
}

fn reference(input: &mut ConditionInput<'_>, name: &str, at: Offset) -> ParserResult<Reference> {
    let action = action(input, name, at)?;
    let mut parts = Vec::new();
    let accessor = loop {
        match part(input)? {
            Some(Part::Segment(segment)) => parts.push(segment),
            Some(Part::Accessor(accessor)) => break Some(accessor),
            None => break None,
        }
    };
    let mut parts = parts.into_iter();
    let Some(Segment::Name(field)) = parts.next() else {
        return refuse(at.0, ConditionErrorKind::NoField(action.to_string()));
    };
    let path: Vec<Segment> = parts.collect();
    let (field, path) = match count_in_report(&field, &path) {
        Some(count) => (count.to_owned(), Vec::new()),
        None => (field, path),
    };
    Ok(Reference { action, field, path, accessor, at })
}

/// Returns the field that stands for a count of tests as the report names it: `testResults.failed` is `testsFailed`.
fn count_in_report(field: &str, path: &[Segment]) -> Option<&'static str> {
    let ("testResults", [Segment::Name(count)]) = (field, path) else { return None };
    match count.as_str() {
        "passed" => Some("testsPassed"),
        "failed" => Some("testsFailed"),
        "skipped" => Some("testsSkipped"),
        "total" => Some("testsTotal"),
        _ => None,
    }
}

fn action(input: &mut ConditionInput<'_>, name: &str, at: Offset) -> ParserResult<ActionId> {
    let no_number = || refuse(at.0, ConditionErrorKind::NoActionNumber(name.to_owned()));
    let number = match opt(one_of(['.', '['])).parse_next(input)? {
        Some('.') => take_while(0.., |one: char| one.is_ascii_digit()).parse_next(input).map(str::to_owned)?,
        Some(_) => {
            if peek(opt(one_of(['"', '\'']))).parse_next(input)?.is_none() {
                return no_number();
            }
            let number = text(input)?;
            closing_bracket(input)?;
            number
        }
        None => return no_number(),
    };
    if number.is_empty() {
        return no_number();
    }
    let id = format!("{name}.{number}");
    ActionId::try_from(id.as_str()).or_else(|_| refuse(at.0, ConditionErrorKind::NotAnAction(id)))
}

/// A piece of a reference after the action's id: a segment of the path, or `.includes(…)`, `.startsWith(…)` or `.length` at its end.
enum Part {
    Segment(Segment),
    Accessor(Accessor),
}

fn part(input: &mut ConditionInput<'_>) -> ParserResult<Option<Part>> {
    let found = match opt(one_of(['.', '['])).parse_next(input)? {
        Some('.') => dotted(input)?,
        Some(_) => Part::Segment(bracketed(input)?),
        None => return Ok(None),
    };
    Ok(Some(found))
}

fn dotted(input: &mut ConditionInput<'_>) -> ParserResult<Part> {
    let offset = input.current_token_start();
    let Some(name) = opt(word).parse_next(input)? else {
        return refuse(offset, ConditionErrorKind::Expected("the name of a field or part"));
    };
    let opened = opt((space, '(')).parse_next(input)?.is_some();
    match (name, opened) {
        ("length", false) => Ok(Part::Accessor(Accessor::Length)),
        ("includes", true) => included(input).map(|text| Part::Accessor(Accessor::Includes(text))),
        ("startsWith", true) => included(input).map(|text| Part::Accessor(Accessor::StartsWith(text))),
        (_, true) => refuse(offset, ConditionErrorKind::UnknownMethod(name.to_owned())),
        (_, false) => Ok(Part::Segment(Segment::Name(name.to_owned()))),
    }
}

fn included(input: &mut ConditionInput<'_>) -> ParserResult<String> {
    space(input)?;
    let offset = input.current_token_start();
    if peek(opt(one_of(['"', '\'']))).parse_next(input)?.is_none() {
        return refuse(offset, ConditionErrorKind::Expected("a text in quotes"));
    }
    let included = text(input)?;
    space(input)?;
    let offset = input.current_token_start();
    match opt(')').parse_next(input)? {
        Some(_) => Ok(included),
        None => refuse(offset, ConditionErrorKind::Expected("`)`")),
    }
}

fn bracketed(input: &mut ConditionInput<'_>) -> ParserResult<Segment> {
    let offset = input.current_token_start();
    let segment = if peek(opt(one_of(['"', '\'']))).parse_next(input)?.is_some() {
        Segment::Name(text(input)?)
    } else {
        let digits: &str = take_while(0.., |one: char| one.is_ascii_digit()).parse_next(input)?;
        match digits.parse() {
            Ok(index) if digits.len() <= 9 => Segment::Index(index),
            Ok(_) | Err(_) => return refuse(offset, ConditionErrorKind::BadIndex),
        }
    };
    closing_bracket(input)?;
    Ok(segment)
}

fn closing_bracket(input: &mut ConditionInput<'_>) -> ParserResult<()> {
    let offset = input.current_token_start();
    match opt(']').parse_next(input)? {
        Some(_) => Ok(()),
        None => refuse(offset, ConditionErrorKind::Expected("`]`")),
    }
}

/// The most digits of a number in a condition: every number of so many digits can be represented exactly.
const MOST_DIGITS: usize = 15;
/// The possible operands of a comparison, in the words of the error message.
pub(super) const OPERAND: &str =
    "a value of an action (`STEP.1.exitCode`), a number, a text in quotes, `true`, `false`, `null` or `(`";

/// The parser's input: the rest of the text with its position, and the number of parentheses that are open.
pub(super) type ConditionInput<'t> = Stateful<LocatingSlice<&'t str>, usize>;
pub(super) type ParserResult<T> = ModalResult<T, ConditionParserError>;

pub(super) struct ConditionParserError {
    pub(super) offset: usize,
    pub(super) kind: ConditionErrorKind,
}

impl ParserError<ConditionInput<'_>> for ConditionParserError {
    type Inner = Self;
    fn from_input(input: &ConditionInput<'_>) -> Self {
        Self { offset: input.current_token_start(), kind: ConditionErrorKind::Expected(OPERAND) }
    }
    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

/// Returns an error that ends the parsing: the parser tries no other alternative of the grammar.
pub(super) fn refuse<T>(offset: usize, kind: ConditionErrorKind) -> ParserResult<T> {
    Err(ErrMode::Cut(ConditionParserError { offset, kind }))
}

pub(super) fn space(input: &mut ConditionInput<'_>) -> ParserResult<()> {
    take_while(0.., [' ', '\t', '\r', '\n']).void().parse_next(input)
}

pub(super) fn word<'t>(input: &mut ConditionInput<'t>) -> ParserResult<&'t str> {
    (one_of(begins_word), take_while(0.., continues_word)).take().parse_next(input)
}

/// Reads a number that can be represented exactly.
pub(super) fn number(input: &mut ConditionInput<'_>) -> ParserResult<f64> {
    let offset = input.current_token_start();
    let is_part = |one: char| continues_word(one) || one == '.';
    let written: &str = (opt('-'), take_while(0.., is_part)).take().parse_next(input)?;
    let bare = written.trim_start_matches('-');
    let (whole, fraction) = bare.split_once('.').map_or((bare, None), |(whole, fraction)| (whole, Some(fraction)));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = is_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(is_digits)
        && whole.len() + fraction.map_or(0, str::len) <= MOST_DIGITS;
    match written.parse() {
        Ok(number) if is_number => Ok(number),
        Ok(_) | Err(_) => refuse(offset, ConditionErrorKind::BadNumber),
    }
}

/// Reads a text in quotes, up to its closing quote.
pub(super) fn text(input: &mut ConditionInput<'_>) -> ParserResult<String> {
    let offset = input.current_token_start();
    let quote = any.parse_next(input)?;
    let mut read = String::new();
    loop {
        let at = input.current_token_start();
        match opt(any).parse_next(input)? {
            Some(character) if character == quote => return Ok(read),
            Some('\\') => read.push(escape(input, at)?),
            Some(character) if !character.is_control() => read.push(character),
            Some(_) | None => return refuse(offset, ConditionErrorKind::OpenText(quote)),
        }
    }
}

fn escape(input: &mut ConditionInput<'_>, at: usize) -> ParserResult<char> {
    let character = match opt(any).parse_next(input)? {
        Some('n') => Some('\n'),
        Some('r') => Some('\r'),
        Some('t') => Some('\t'),
        Some(same @ ('\\' | '"' | '\'')) => Some(same),
        Some('u') => {
            let digits: &str = take_while(0..=4, |one: char| one.is_ascii_hexdigit()).parse_next(input)?;
            let code = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 4);
            code.and_then(char::from_u32)
        }
        Some(_) | None => None,
    };
    character.map_or_else(|| refuse(at, ConditionErrorKind::UnknownEscape), Ok)
}
