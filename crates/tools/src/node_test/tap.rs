//! Reads the report of `node --test` in the format TAP: lines `ok 1 - name` and `not ok 2 - name`, the tests of a suite indented by
//! four spaces before the suite's own line, and details of a line between `---` and `...` (<https://testanything.org>).

use std::io::BufRead;

use crate::ansi::strip;
use crate::node_test::Read;
use crate::places::Place;
use crate::test_run::{ReadTest, count as number};
use proctor_model::{TestFailure, TestOutcome};

/// A line of the report is cut after this many bytes.
const LONGEST_LINE: usize = 1024 * 1024;

/// The deepest nesting of suites that is read.
const DEEPEST: usize = 64;

/// At most this many of the last lines that the tests printed are looked at to explain a file that failed.
const PRINTED: usize = 200;

/// The endings of files with tests.
const ENDINGS: &[&str] = &[".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".jsx", ".tsx"];

/// The parts of a printed line by which a file could not be loaded.
const NOT_LOADED: &[&str] = &["SyntaxError", "Cannot find module '", "Cannot find package '", "ERR_MODULE_NOT_FOUND"];

/// The beginning of the comment that proctor's reporter writes about a test that began and never ended.
const UNENDED: &str = "proctor-unended ";

/// Returns whether a text begins as a report in the format TAP. A script runner such as npm prints lines of its own before it.
pub(super) fn is_tap(text: &str) -> bool {
    text.lines().take(20).any(|line| line.starts_with("TAP version "))
}

/// Returns whether a line names an error of JavaScript, such as `TypeError: …` or `AssertionError [ERR_ASSERTION]: …`.
pub(super) fn is_error_line(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(head, _)| {
        let word = head.split(' ').next().unwrap_or_default();
        word.ends_with("Error") && word.chars().all(char::is_alphanumeric)
    })
}

/// Reads a report, relative paths of which refer to `place`.
pub(super) fn read(report: impl BufRead, place: Place<'_>) -> Read {
    let mut reader = Reader {
        place,
        read: Read::default(),
        names: Vec::new(),
        children: Vec::new(),
        printed: Vec::new(),
        ends: Ends::default(),
    };
    let mut lines = Lines { report, waiting: None };
    while let Some(line) = lines.next_line() {
        reader.read_line(&line, &mut lines);
    }
    reader.finish()
}

/// What the end of a report says.
#[derive(Debug, Default)]
struct Ends {
    /// The number of results without indentation, and the number that the last plan `1..N` announced.
    results: u64,
    planned: Option<u64>,
    /// The number of suites that failed otherwise than by their tests. Node does not count suites.
    failed_suites: u64,
    /// Failures that node itself counted, with those that were cancelled.
    failed: Option<u64>,
    passed: Option<u64>,
}

struct Reader<'a> {
    place: Place<'a>,
    read: Read,
    /// For each level, the name that the last line `# Subtest:` announced.
    names: Vec<String>,
    /// For each level, how many results it had since the last result of the level above.
    children: Vec<u64>,
    /// The last lines that the tests printed.
    printed: Vec<String>,
    ends: Ends,
}

/// The details between `---` and `...`.
#[derive(Debug, Default)]
struct Details {
    entries: Vec<(String, String)>,
}

impl Details {
    fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

impl Reader<'_> {
    fn read_line(&mut self, line: &str, lines: &mut Lines<impl BufRead>) {
        let text = line.trim_start_matches(' ');
        let spaces = line.len() - text.len();
        let depth = spaces / 4;
        if !spaces.is_multiple_of(4) || depth > DEEPEST {
            return;
        }
        if let Some(name) = text.strip_prefix("# Subtest: ") {
            self.names.resize(depth, String::new());
            self.names.push(unescaped(name));
        } else if let Some(comment) = text.strip_prefix("# ") {
            self.comment(depth, comment);
        } else if let Some(count) = text.strip_prefix("1..") {
            if depth == 0 {
                self.ends.planned = number(count);
            }
        } else if let Some((is_ok, name)) = result(text) {
            let details = lines.details(spaces);
            self.result(depth, is_ok, name, &details);
        }
    }

    fn comment(&mut self, depth: usize, comment: &str) {
        if depth > 0 {
            return;
        }
        if let Some(json) = comment.strip_prefix(UNENDED) {
            // A line that cannot be read counts as an unended test too.
            let (file, name) = serde_json::from_str::<(String, String)>(json).unwrap_or_default();
            let file = self.place.within_project(file.trim_start_matches("file://"));
            self.read.unended.push((file, name));
            return;
        }
        if let Some((word, count)) = comment.split_once(' ')
            && let Some(count) = number(count)
        {
            match word {
                "pass" => self.ends.passed = Some(count),
                "fail" => self.ends.failed = Some(count),
                "cancelled" => self.ends.failed = self.ends.failed.map(|failed| failed.saturating_add(count)),
                _ => {}
            }
        }
        if self.printed.len() == PRINTED {
            self.printed.remove(0);
        }
        self.printed.push(unescaped(comment));
    }

    fn result(&mut self, depth: usize, is_ok: bool, description: &str, details: &Details) {
        let (name, directive) = with_directive(description);
        let title = unescaped(name);
        self.children.resize(self.children.len().max(depth + 2), 0);
        self.children[depth] += 1;
        let inner = std::mem::take(&mut self.children[depth + 1]);
        let printed = if depth == 0 { std::mem::take(&mut self.printed) } else { Vec::new() };
        self.ends.results += u64::from(depth == 0);
        let is_file = depth == 0 && is_file_name(&title);
        let is_suite = details.get("type") == Some("suite");
        let is_failed_by_subtests = details.get("failureType") == Some("subtestsFailed");
        // A suite that failed otherwise, for example in a hook, is a failure of its own.
        let is_container = is_suite && is_ok || is_failed_by_subtests;
        // A suite, a file with tests, or a test that failed only because of its subtests: the tests inside were counted.
        if (is_container || is_file) && inner > 0 {
            return;
        }
        if is_file {
            self.file(is_ok, &title, details, &printed);
            return;
        }
        let is_skipped = directive.is_some_and(|word| word.eq_ignore_ascii_case("skip"));
        let is_todo = directive.is_some_and(|word| word.eq_ignore_ascii_case("todo"));
        let outcome = match (is_skipped || is_todo, is_ok) {
            (true, _) => TestOutcome::Skipped,
            (false, true) => TestOutcome::Passed,
            (false, false) => TestOutcome::Failed,
        };
        // A suite without tests checks nothing, so it is no test.
        if is_container && outcome != TestOutcome::Failed {
            return;
        }
        let mut test = self.test(depth, title, details);
        test.expected_to_fail = is_todo && !is_ok;
        if outcome != TestOutcome::Failed {
            (test.message, test.error, test.line) = (String::new(), String::new(), None);
        }
        self.read.facts.further.todo += u64::from(is_todo && !is_skipped);
        self.ends.failed_suites += u64::from(is_suite && outcome == TestOutcome::Failed);
        self.read.facts.run.add(outcome, test);
    }

    fn test(&self, depth: usize, title: String, details: &Details) -> ReadTest {
        let mut ancestors: Vec<String> = self.names.iter().take(depth).cloned().collect();
        // Older versions name the file as the outermost suite.
        let outer = ancestors.first().filter(|name| is_file_name(name)).map(|name| self.place.within_project(name));
        if outer.is_some() {
            ancestors.remove(0);
        }
        let location = details.get("location").and_then(|location| position(location, self.place));
        let stack = details.get("stack").unwrap_or_default();
        let file = location.as_ref().map(|(file, _)| file.clone()).or(outer);
        let line = file.as_ref().and_then(|file| line_in(stack, file, self.place)).or(location.map(|(_, line)| line));
        let error = details.get("error").unwrap_or_default();
        let name = details.get("name").filter(|name| *name != "Error").map_or_else(String::new, |name| format!("{name}: "));
        let message = if stack.is_empty() { format!("{name}{error}") } else { format!("{name}{error}\n{stack}") };
        let (expected, received) = (details.get("expected"), details.get("actual"));
        let single = |value: Option<&str>| value.filter(|value| !value.is_empty() && !value.contains('\n')).map(str::to_owned);
        let full_name = ancestors.iter().chain([&title]).map(String::as_str).collect::<Vec<_>>().join(" > ");
        let both = single(expected).zip(single(received));
        ReadTest {
            ancestors,
            title,
            full_name,
            file,
            line,
            duration: duration(details),
            error: first_lines_of(error),
            message,
            expected: both.as_ref().map(|(expected, _)| expected.clone()),
            received: both.map(|(_, received)| received),
            ..ReadTest::default()
        }
    }

    // A result of a whole file: the file has no test of `node:test`, or its process ended before the tests were told.
    fn file(&mut self, is_ok: bool, name: &str, details: &Details, printed: &[String]) {
        let file = self.place.within_project(name);
        if is_ok {
            self.read.files_without_tests.push(file);
            return;
        }
        let mut told =
            printed.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).skip_while(|line| !is_error_line(line));
        let line = told.next().map(|line| match told.next() {
            Some(next) if line.ends_with(':') => format!("{line} {next}"),
            Some(_) | None => line.to_owned(),
        });
        let ended = match (details.get("signal").filter(|signal| *signal != "~"), details.get("exitCode")) {
            (Some(signal), _) => format!("{signal} ended its process"),
            (None, Some(code)) => format!("its process ended with exit code {code}"),
            (None, None) => details.get("error").unwrap_or("it failed").to_owned(),
        };
        let error = line.unwrap_or(ended);
        let message = printed.join("\n");
        let at = printed.iter().find_map(|line| position(line.trim(), self.place)).filter(|(found, _)| *found == file);
        let line = at.map(|(_, line)| line).or_else(|| line_in(&message, &file, self.place));
        if printed.iter().any(|line| NOT_LOADED.iter().any(|words| line.contains(words))) {
            self.read.facts.unloaded.push(TestFailure {
                test_name: file.clone(),
                test_file: Some(file),
                line,
                error,
                stack: Some(message),
                ..TestFailure::default()
            });
            return;
        }
        let test = ReadTest {
            title: file.clone(),
            full_name: file.clone(),
            file: Some(file),
            line,
            error,
            message,
            duration: duration(details),
            ..ReadTest::default()
        };
        self.read.facts.run.add(TestOutcome::Failed, test);
    }

    fn finish(mut self) -> Read {
        let counts = self.read.facts.run.counts;
        let Ends { results, planned, failed_suites, failed: told, passed } = self.ends;
        let failed = (counts.failed + self.read.facts.unloaded.len() as u64).saturating_sub(failed_suites);
        match (planned, told.zip(passed)) {
            (Some(planned), Some((told, passed))) => {
                // Node also counts suites' tests and files, so the numbers may differ, but none may be zero alone.
                if (told == 0) != (failed == 0) && failed_suites == 0 || passed == 0 && counts.passed > 0 {
                    let facts = &mut self.read.facts;
                    facts.contradiction = Some(format!(
                        "its totals are {passed} passed and {told} failed, but it lists {} and {failed}",
                        counts.passed
                    ));
                }
                if planned != results {
                    self.read.facts.contradiction = Some(format!("its plan is {planned} result(s), but it lists {results}"));
                }
            }
            (None, _) | (_, None) => {
                self.read.facts.unfinished = Some("the report has no end".to_owned());
            }
        }
        self.read
    }
}

/// Returns a result of a line `ok 1 - name` or `not ok 1 - name`.
fn result(text: &str) -> Option<(bool, &str)> {
    let (is_ok, rest) = match text.strip_prefix("not ok ") {
        Some(rest) => (false, rest),
        None => (true, text.strip_prefix("ok ")?),
    };
    let (number, name) = rest.split_once(" - ").unwrap_or((rest, ""));
    number.trim().parse::<u64>().ok().map(|_| (is_ok, name))
}

/// Splits a description at its directive: `name # SKIP why`. In a name, node writes `#` with a backslash before it.
fn with_directive(description: &str) -> (&str, Option<&str>) {
    match description.rsplit_once(" # ") {
        Some((name, directive)) => (name, directive.split(' ').next()),
        None => (description, None),
    }
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n' | 'r' | 't' | 'b' | 'f' | 'v') => plain.push(' '),
                Some(next) => plain.push(next),
                None => plain.push('\\'),
            },
            other => plain.push(other),
        }
    }
    strip(&plain)
}

fn is_file_name(name: &str) -> bool {
    ENDINGS.iter().any(|ending| name.ends_with(ending)) && (name.starts_with('/') || !name.contains(char::is_whitespace))
}

/// Reads `/project/a.test.js:5:1` and `file:///project/a.test.js:5:1`.
fn position(text: &str, place: Place<'_>) -> Option<(String, u64)> {
    let text = text.trim_end_matches(')').trim_start_matches("file://");
    let (rest, last) = text.rsplit_once(':')?;
    let last: u64 = last.parse().ok()?;
    let (path, line) = match rest.rsplit_once(':') {
        Some((path, line)) if line.parse::<u64>().is_ok() => (path, line.parse().ok()?),
        Some(_) | None => (rest, last),
    };
    (!path.contains(char::is_whitespace) || path.starts_with('/')).then(|| (place.within_project(path), line))
}

/// Returns the line number in the source file `file` of the first entry of a stack trace that points into this file.
fn line_in(stack: &str, file: &str, place: Place<'_>) -> Option<u64> {
    stack.lines().find_map(|line| {
        let text = line.trim();
        let text = text.rsplit_once(['(', ' ']).map_or(text, |(_, path)| path);
        position(text, place).filter(|(found, _)| found == file).map(|(_, line)| line)
    })
}

// An assertion says in its first line that values should be equal, and after an empty line which ones are not.
fn first_lines_of(error: &str) -> String {
    let mut lines = error.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    match (lines.next(), lines.next()) {
        (Some(second), None) if first.ends_with(':') => format!("{first} {second}"),
        (Some(_), _) | (None, _) => first.to_owned(),
    }
}

/// Returns a duration in microseconds.
fn duration(details: &Details) -> Option<u64> {
    let number: f64 = details.get("duration_ms")?.parse().ok()?;
    (number.is_finite() && (0.0..1e12).contains(&number)).then(|| (number * 1000.0).round() as u64)
}

/// The lines of a report.
struct Lines<R> {
    report: R,
    waiting: Option<String>,
}

impl<R: BufRead> Lines<R> {
    fn next_line(&mut self) -> Option<String> {
        if let Some(line) = self.waiting.take() {
            return Some(line);
        }
        let mut bytes = Vec::new();
        // A report that cannot be read any further has no end, so it is no success.
        if self.report.read_until(b'\n', &mut bytes).ok()? == 0 {
            return None;
        }
        bytes.truncate(LONGEST_LINE);
        let text = String::from_utf8_lossy(&bytes);
        Some(text.trim_end_matches(['\n', '\r']).to_owned())
    }

    /// Reads the details of a result whose line has `spaces` spaces before it.
    fn details(&mut self, spaces: usize) -> Details {
        let mut details = Details::default();
        let edge = " ".repeat(spaces + 2);
        match self.next_line() {
            Some(line) if line.strip_prefix(&edge) == Some("---") => {}
            other => {
                self.waiting = other;
                return details;
            }
        }
        while let Some(line) = self.next_line() {
            let Some(text) = line.strip_prefix(&edge) else {
                if line.trim().is_empty() {
                    continue;
                }
                self.waiting = Some(line);
                break;
            };
            if text == "..." {
                break;
            }
            if let Some(more) = text.strip_prefix("  ") {
                if let Some((_, value)) = details.entries.last_mut() {
                    value.push_str(if value.is_empty() { "" } else { "\n" });
                    value.push_str(&strip(more));
                }
            } else if let Some((key, value)) = text.split_once(':') {
                details.entries.push((key.to_owned(), scalar(value.trim())));
            }
        }
        details
    }
}

/// Returns a value without its quotes. A text of several lines begins with `|-` and stands in the next lines.
fn scalar(value: &str) -> String {
    let quoted = ['\'', '"', '`'].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    match (quoted, value) {
        (Some(text), _) => unescaped(text),
        (None, "|-" | "|") => String::new(),
        (None, _) => value.to_owned(),
    }
}
