//! Replaces everything in a text that differs from run to run, so that the rest can be compared (house style T7).
//!
//! A digest is recognised by 12 or more hexadecimal digits, or by 8 digits and dots. Shorter ones would sometimes look like a plain number,
//! and tests with them would fail now and then: print 12 digits or more, or name the text with [`Redactions::add`].

/// Texts that differ from run to run, and the names that replace them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactions {
    literals: Vec<(String, String)>,
}

impl Redactions {
    /// Returns redactions without any text. The rules of this file apply all the same.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Replaces `text` by `name`. If two texts begin at the same place, the one that was added first is replaced.
    pub(crate) fn add(&mut self, text: &str, name: &str) {
        self.literals.push((text.to_owned(), name.to_owned()));
    }
}

/// A rule returns how many bytes at the beginning of a text it replaces, and the name that replaces them.
type Rule = fn(&str) -> Option<(usize, &'static str)>;

/// The rules, in the order in which they are tried at the beginning of every word.
const RULES: &[Rule] = &[run_id, date_and_time, time_with_age, time_of_day, process_id, digest, shortened_digest, duration];
const DURATION: &str = "<time>";

/// Returns `text` with everything that differs from run to run replaced by a name in angle brackets.
pub(crate) fn redact(text: &str, redactions: &Redactions) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut rest = text;
    let mut inside_word = false;
    while let Some(character) = rest.chars().next() {
        let literal = redactions.literals.iter().find(|(literal, _)| !literal.is_empty() && rest.starts_with(literal.as_str()));
        if let Some((literal, name)) = literal {
            redacted.push_str(name);
            rest = &rest[literal.len()..];
            inside_word = true;
        } else if let Some((length, name)) = RULES.iter().filter(|_| !inside_word).find_map(|rule| rule(rest)) {
            push_name(&mut redacted, name);
            rest = &rest[length..];
            if name == DURATION {
                // Where a column is padded, the number of spaces depends on the width of the duration.
                rest = trim_padding(rest);
            }
            inside_word = false;
        } else {
            redacted.push(character);
            rest = &rest[character.len_utf8()..];
            inside_word = is_word(character);
        }
    }
    redacted
}

fn push_name(redacted: &mut String, name: &str) {
    if name == DURATION {
        while redacted.ends_with("  ") {
            redacted.pop();
        }
    }
    redacted.push_str(name);
}

fn trim_padding(rest: &str) -> &str {
    let padding = rest.len() - rest.trim_start_matches(' ').len();
    &rest[padding.saturating_sub(1)..]
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the length of `shape` if the text begins with it. A `d` in the shape is any digit; other characters stand for themselves.
fn shaped(text: &str, shape: &str) -> Option<usize> {
    let mut bytes = text.bytes();
    let fits = |want| bytes.next().is_some_and(|byte| if want == b'd' { byte.is_ascii_digit() } else { byte == want });
    shape.bytes().all(fits).then_some(shape.len())
}

fn count(text: &str, counts: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| counts(*byte)).count()
}

fn ends_word(text: &str) -> bool {
    !text.chars().next().is_some_and(is_word)
}

fn run_id(text: &str) -> Option<(usize, &'static str)> {
    let stamp = shaped(text, "exec-ddddddddTdddddd.dddZ-dddddd")?;
    Some((stamp + count(&text[stamp..], |byte| byte.is_ascii_digit()), "<run>"))
}

fn date_and_time(text: &str) -> Option<(usize, &'static str)> {
    let day = shaped(text, "dddd-dd-ddT").or_else(|| shaped(text, "dddd-dd-dd "))?;
    let time = day + clock(&text[day..])?;
    Some((time + count(&text[time..], |byte| byte == b'Z'), "<date>"))
}

/// A time on a screen and how long ago it was, such as `15:26, 3 min ago`.
fn time_with_age(text: &str) -> Option<(usize, &'static str)> {
    let time = shaped(text, "dd:dd, ")?;
    let number = count(&text[time..], |byte| byte.is_ascii_digit());
    let unit = &text[time + number..];
    let ended = [" s ago", " min ago", " h ago"].into_iter().find(|words| number > 0 && unit.starts_with(words))?;
    Some((time + number + ended.len(), "<age>"))
}

fn time_of_day(text: &str) -> Option<(usize, &'static str)> {
    clock(text).map(|length| (length, "<date>"))
}

fn clock(text: &str) -> Option<usize> {
    let seconds = shaped(text, "dd:dd:dd")?;
    let fraction = count(&text[seconds..], |byte| byte == b'.' || byte.is_ascii_digit());
    Some(seconds + fraction)
}

fn process_id(text: &str) -> Option<(usize, &'static str)> {
    let before =
        ["pid ", "pid: ", "pid=", "pid\":", "pid\": "].into_iter().filter(|name| text.starts_with(name)).map(str::len).max()?;
    let digits = count(&text[before..], |byte| byte.is_ascii_digit());
    (digits > 0).then_some((before + digits, "pid <pid>"))
}

fn digest(text: &str) -> Option<(usize, &'static str)> {
    let length = count(text, |byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    (length >= 12 && ends_word(&text[length..])).then_some((length, "<digest>"))
}

/// Matches a shortened digest such as `0123abcd…`. The dots tell it from a number.
fn shortened_digest(text: &str) -> Option<(usize, &'static str)> {
    let length = count(text, |byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    (length == 8 && text[length..].starts_with('…')).then_some((length + '…'.len_utf8(), "<digest>"))
}

/// Matches durations such as `12 ms`, `1.25s`, `2 min 3 s`, `1m 02s`.
fn duration(text: &str) -> Option<(usize, &'static str)> {
    let mut length = one_duration(text)?;
    while let Some(more) = text[length..].strip_prefix(' ').and_then(one_duration) {
        length += 1 + more;
    }
    Some((length, DURATION))
}

fn one_duration(text: &str) -> Option<usize> {
    let whole = count(text, |byte| byte.is_ascii_digit());
    let fraction = text[whole..].strip_prefix('.').map_or(0, |rest| 1 + count(rest, |byte| byte.is_ascii_digit()));
    let number = whole + fraction;
    let space = count(&text[number..], |byte| byte == b' ').min(1);
    let unit_at = number + space;
    let units = ["ms", "µs", "seconds", "second", "s", "minutes", "minute", "min", "m", "h"];
    let unit = units.into_iter().find(|unit| text[unit_at..].strip_prefix(unit).is_some_and(ends_word))?;
    (whole > 0).then_some(unit_at + unit.len())
}
