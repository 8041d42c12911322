//! Reads the words of a condition: names, numbers, texts, and the space between them.

use winnow::Parser;
use winnow::combinator::opt;
use winnow::error::{ErrMode, ModalResult, ParserError};
use winnow::stream::{LocatingSlice, Location, Stateful};
use winnow::token::{any, one_of, take_while};

use crate::condition::error::ConditionErrorKind;
use crate::condition::syntax::{begins_word, continues_word};

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
