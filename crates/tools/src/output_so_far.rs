//! What the output of a running action says about how far the action is. Pure: bytes go in, words for people come out.
//!
//! Only what a tool prints is told, and no verdict depends on it: percentages (pytest, CMake), lines for single tests
//! (libtest, nextest, TAP, `node --test`, `go test` with `-v` or `-json`), lines for files of tests (Jest, Vitest), and the numbers of tests to come.

use std::collections::VecDeque;

use serde_json::Value;

use crate::ansi::strip;
use proctor_model::{EndedTest, TestOutcome, TestProgress};

/// A line is cut after this many bytes. Nobody reads more of it while an action runs.
const LONGEST_LINE: usize = 1024;

/// The most ended tests that are kept until the caller takes them. The oldest go first.
const MOST_ENDED: usize = 200;

/// What an action has printed so far about its tests, and its last line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputSoFar {
    progress: TestProgress,
    /// The tests that have ended since they were taken last.
    ended: VecDeque<EndedTest>,
    last_line: String,
    /// The beginning of the line that has not ended yet.
    unfinished: Vec<u8>,
    /// Whether the beginning or the end of that line was left out, so that it names no test: what is redacted by its form could not be
    /// recognised in a part of it.
    is_part: bool,
    /// The name of the test that ended last.
    last_ended: String,
    /// Whether the tool has begun to sum up, which names failed tests a second time.
    sums_up: bool,
    /// Whether a part of the output was passed over, so that no number of tests is known.
    was_passed_over: bool,
}

impl OutputSoFar {
    /// Takes in the next bytes of the output.
    pub fn take(&mut self, bytes: &[u8]) {
        let mut lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).peekable();
        while let Some(part) = lines.next() {
            let room = LONGEST_LINE.saturating_sub(self.unfinished.len());
            self.unfinished.extend(part.iter().take(room));
            self.is_part |= part.len() > room;
            if lines.peek().is_some() {
                let (line, is_part) = (std::mem::take(&mut self.unfinished), std::mem::take(&mut self.is_part));
                self.note_line(strip(&String::from_utf8_lossy(&line)).trim_end(), is_part);
            }
        }
        // Tools that print a character for each test end their lines late.
        let unfinished = strip(&String::from_utf8_lossy(&self.unfinished));
        self.progress.percent = percent_in(&unfinished).or(self.progress.percent);
        self.note_last_line(&unfinished);
    }

    /// Forgets what was counted, because a part of the output was passed over. From then on only a percentage says how far the tests are.
    pub fn pass_over(&mut self) {
        let progress = TestProgress { percent: self.progress.percent, ..TestProgress::default() };
        let last_line = std::mem::take(&mut self.last_line);
        *self = Self { progress, last_line, is_part: true, was_passed_over: true, ..Self::default() };
    }

    /// Returns how far the tests are, as far as the output says it.
    pub fn progress(&self) -> TestProgress {
        let percent = TestProgress { percent: self.progress.percent, ..TestProgress::default() };
        if self.was_passed_over { percent } else { self.progress }
    }

    /// Returns the tests that have ended since this was asked last, the newest 200 of them, as far as the output names them.
    pub fn take_ended(&mut self) -> Vec<EndedTest> {
        std::mem::take(&mut self.ended).into()
    }

    /// Returns the last line that is not empty.
    pub fn last_line(&self) -> &str {
        self.last_line.trim_start()
    }

    fn note_line(&mut self, line: &str, is_part: bool) {
        if line.is_empty() {
            return;
        }
        let progress = &mut self.progress;
        progress.percent = percent_in(line).or(progress.percent);
        if let Some(more) = announced(line) {
            progress.expected = Some(progress.expected.unwrap_or_default().saturating_add(more));
        }
        progress.ended = progress.ended.saturating_add(vitest_file(line).unwrap_or_default());
        progress.files += u64::from(line.starts_with("PASS ") || line.starts_with("FAIL "));
        if announced(line).is_some() {
            self.sums_up = false;
        }
        self.sums_up |= sums_up(line);
        if let Some(test) = ended_test(line).filter(|_| !self.sums_up) {
            self.note_ended(test, is_part);
        }
        self.note_last_line(go_output(line).unwrap_or(line));
    }

    fn note_last_line(&mut self, line: &str) {
        if let Some(told) = told_to_people(line) {
            told.clone_into(&mut self.last_line);
        }
    }

    fn note_ended(&mut self, test: EndedTest, is_part: bool) {
        // pytest says of one test that it passed, and then that clearing up after it failed.
        let is_again = test.outcome == TestOutcome::Error && test.name == self.last_ended;
        if !is_again {
            self.progress.ended = self.progress.ended.saturating_add(1);
        }
        test.name.clone_into(&mut self.last_ended);
        if is_part {
            return;
        }
        if is_again && self.ended.back().is_some_and(|last| last.name == test.name) {
            self.ended.pop_back();
        } else if self.ended.len() == MOST_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(test);
    }
}

/// Returns what of a line tells people how far an action is: nothing of a rule such as `=====`, of data such as a list in JSON, and of a
/// line that says where a report was written or is to be written.
fn told_to_people(line: &str) -> Option<&str> {
    let text = line.trim().trim_matches(['=', '─', '━']).trim();
    let is_data = text.starts_with("{\"") || text.starts_with("[{") || text == "[" || text == "{";
    let is_rule = text.chars().all(|character| matches!(character, '-' | '_' | '*' | '#' | '~'));
    let is_report = |word: &str| word.starts_with('/') && [".xml", ".json", ".tap"].iter().any(|end| word.ends_with(end));
    // A script that starts the tool prints the options that were added to it, with paths of the store.
    let is_added = |word: &str| {
        let value = word.trim_matches(['"', '\'']).strip_prefix("--").and_then(|option| option.split_once('='));
        value.is_some_and(|(_, value)| value.trim_start_matches(['"', '\'']).starts_with('/') && value.contains("/out/"))
    };
    (!is_data && !is_rule && !text.split_whitespace().any(|word| is_report(word) || is_added(word))).then_some(text)
}

/// Returns whether a line begins a summary in which tests that failed are named again: nextest's `Summary [   0.1s] 5 tests run`, and
/// `✖ failing tests:` of `node --test`.
fn sums_up(line: &str) -> bool {
    let text = line.trim();
    text.starts_with("Summary [") || text == "✖ failing tests:"
}

/// Returns the percentage in a line, as pytest and CMake print it: `[ 45%]`.
fn percent_in(line: &str) -> Option<u8> {
    let (before, _) = line.rsplit_once("%]")?;
    let (_, number) = before.rsplit_once('[')?;
    number.trim().parse().ok().filter(|percent| *percent <= 100)
}

/// Returns how many tests a line announces.
fn announced(line: &str) -> Option<u64> {
    let first = |text: &str| text.split_whitespace().next()?.parse().ok();
    if let Some(rest) = line.strip_prefix("collected ") {
        // pytest: `collected 81 items / 3 deselected / 78 selected`.
        let selected = rest.split(" / ").find(|part| part.trim_end().ends_with(" selected"));
        return first(selected.unwrap_or(rest));
    }
    if let Some(rest) = line.strip_prefix("running ").or_else(|| line.strip_prefix("Running ")) {
        // libtest and deno: `running 12 tests`, once for each binary or file. Playwright: `Running 4 tests using 1 worker`.
        let rest = rest.split(" using ").next().unwrap_or(rest);
        return rest.trim_end().ends_with(['t', 's']).then(|| first(rest)).flatten().filter(|_| rest.contains(" test"));
    }
    if let Some(rest) = line.trim_start().strip_prefix("Starting ") {
        // nextest: `Starting 5 tests across 2 binaries`.
        return first(rest).filter(|_| rest.contains(" test"));
    }
    // The Test Anything Protocol: `1..12`.
    line.strip_prefix("1..").and_then(|rest| rest.trim().parse().ok())
}

/// Words with which lines say how a test ended.
const OUTCOMES: &[(&str, TestOutcome)] = &[
    ("ok", TestOutcome::Passed),
    ("PASS", TestOutcome::Passed),
    ("PASSED", TestOutcome::Passed),
    ("XPASS", TestOutcome::Passed),
    ("pass", TestOutcome::Passed),
    ("not ok", TestOutcome::Failed),
    ("FAIL", TestOutcome::Failed),
    ("FAILED", TestOutcome::Failed),
    ("fail", TestOutcome::Failed),
    ("ERROR", TestOutcome::Error),
    ("SKIP", TestOutcome::Skipped),
    ("SKIPPED", TestOutcome::Skipped),
    ("XFAIL", TestOutcome::Skipped),
    ("ignored", TestOutcome::Skipped),
    ("skipped", TestOutcome::Skipped),
    ("skip", TestOutcome::Skipped),
];

fn outcome_of(word: &str) -> Option<TestOutcome> {
    OUTCOMES.iter().find(|(one, _)| *one == word).map(|(_, outcome)| *outcome)
}

/// Returns the name and the outcome of the test that a line of some form says has ended.
type LineForm = fn(&str) -> Option<(&str, TestOutcome)>;

/// Returns the test of a line that says that a test has ended.
fn ended_test(line: &str) -> Option<EndedTest> {
    const FORMS: &[LineForm] =
        &[end_after_dots, end_in_brackets, end_of_playwright, end_of_protocol, end_with_dashes, end_of_pytest, end_for_people];
    if line.starts_with('{') {
        return end_in_events(line);
    }
    let (name, outcome) = FORMS.iter().find_map(|form| form(line))?;
    Some(EndedTest { name: name.trim().to_owned(), outcome })
}

/// libtest prints `test a::b ... ok`, unittest with `-v` prints `test_x (tests.T.test_x) ... ok`.
fn end_after_dots(line: &str) -> Option<(&str, TestOutcome)> {
    let (before, after) = line.rsplit_once(" ... ")?;
    let word = after.split([' ', ',']).next().unwrap_or(after);
    // Deno prints `adds ... ok (2ms)`.
    let is_named = before.ends_with(')') || after.ends_with("s)");
    let name = before.strip_prefix("test ").or_else(|| Some(before).filter(|_| is_named))?;
    Some((name, outcome_of(word)?))
}

/// bun prints `(pass) quotes > adds [0.04ms]`.
fn end_in_brackets(line: &str) -> Option<(&str, TestOutcome)> {
    let (word, rest) = line.strip_prefix('(')?.split_once(") ")?;
    let name = rest.rsplit_once(" [").filter(|(_, time)| time.ends_with("s]")).map_or(rest, |(name, _)| name);
    Some((name, if word == "todo" { TestOutcome::Skipped } else { outcome_of(word)? }))
}

/// Playwright prints `  ✓  1 a.spec.js:3:3 › quotes › adds (26ms)`.
fn end_of_playwright(line: &str) -> Option<(&str, TestOutcome)> {
    let sign = [("✓ ", TestOutcome::Passed), ("✘ ", TestOutcome::Failed), ("- ", TestOutcome::Skipped)];
    let (rest, outcome) = sign.iter().find_map(|(sign, outcome)| Some((line.trim_start().strip_prefix(sign)?, *outcome)))?;
    let (number, name) = rest.trim_start().split_once(' ')?;
    let name = name.rsplit_once(" (").filter(|(_, time)| time.ends_with("s)")).map_or(name, |(name, _)| name);
    (number.bytes().all(|digit| digit.is_ascii_digit()) && name.contains(" › ")).then_some((name, outcome))
}

/// `go test -v` prints `--- PASS: TestA (0.00s)`, and a test within it further to the right.
fn end_with_dashes(line: &str) -> Option<(&str, TestOutcome)> {
    let (word, name) = line.strip_prefix("--- ")?.split_once(": ")?;
    Some((name.rsplit_once(" (").map_or(name, |(name, _)| name), outcome_of(word)?))
}

/// The Test Anything Protocol has `ok 1 - adds` and `not ok 2 - divides # SKIP why`.
fn end_of_protocol(line: &str) -> Option<(&str, TestOutcome)> {
    let (rest, outcome) = match line.strip_prefix("not ok ") {
        Some(rest) => (rest, TestOutcome::Failed),
        None => (line.strip_prefix("ok ")?, TestOutcome::Passed),
    };
    let number =
        rest.split(' ').next().filter(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))?;
    let named = rest.strip_prefix(number).unwrap_or_default().trim_start().trim_start_matches("- ");
    let (name, remark) = named.split_once(" # ").unwrap_or((named, ""));
    let is_skipped = remark.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("skip"));
    Some((if name.is_empty() { number } else { name }, if is_skipped { TestOutcome::Skipped } else { outcome }))
}

/// pytest with `-v` prints `tests/test_a.py::test_x PASSED  [ 10%]`, with several workers `[gw0] [ 10%] PASSED tests/test_a.py::test_x`.
fn end_of_pytest(line: &str) -> Option<(&str, TestOutcome)> {
    if let Some((_, rest)) = line.strip_prefix("[gw").and_then(|rest| rest.split_once("%] ")) {
        let (word, name) = rest.split_once(' ')?;
        return Some((name, outcome_of(word)?));
    }
    let before = line.rsplit_once(" [").filter(|(_, end)| end.ends_with("%]")).map_or(line, |(before, _)| before).trim_end();
    let before = before.rsplit_once(" (").filter(|(_, why)| why.ends_with(')')).map_or(before, |(before, _)| before);
    let (name, word) = before.rsplit_once(' ')?;
    Some((name, outcome_of(word)?)).filter(|_| name.contains("::"))
}

/// `node --test` prints `✔ adds (0.8ms)`, nextest `PASS [   0.004s] (1/5) shop tests::adds`.
fn end_for_people(line: &str) -> Option<(&str, TestOutcome)> {
    let text = line.trim_start();
    let sign = [('✔', TestOutcome::Passed), ('✖', TestOutcome::Failed), ('﹣', TestOutcome::Skipped)];
    if let Some((rest, outcome)) = sign.iter().find_map(|(sign, outcome)| Some((text.strip_prefix(*sign)?, *outcome))) {
        return rest.rsplit_once(" (").filter(|(_, time)| time.contains("ms)")).map(|(name, _)| (name, outcome));
    }
    let (word, rest) = text.split_once(" [")?;
    let (_, name) = rest.split_once("] ")?;
    let name = name.trim_start();
    let name = name.strip_prefix('(').and_then(|name| name.split_once(") ")).map_or(name, |(_, name)| name);
    Some((name, outcome_of(word).filter(|_| matches!(word, "PASS" | "FAIL" | "SKIP"))?))
}

/// Returns the test of a line that is an event of `go test -json`.
fn end_in_events(line: &str) -> Option<EndedTest> {
    let event: Value = serde_json::from_str(line).ok()?;
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    Some(EndedTest { name: text("Test")?.to_owned(), outcome: outcome_of(text("Action")?)? })
}

/// Returns what a test printed, of an event of `go test -json`.
fn go_output(line: &str) -> Option<&str> {
    let (_, text) = line.strip_prefix('{').filter(|line| line.contains(r#""Action":"output""#))?.split_once(r#""Output":""#)?;
    let text = text.strip_suffix(r#""}"#)?;
    Some(text.strip_suffix(r"\n").unwrap_or(text))
}

/// Returns how many tests of a file have ended, as Vitest prints it in a line: ` ✓ src/a.test.ts (3 tests) 5ms`.
fn vitest_file(line: &str) -> Option<u64> {
    let rest = line.trim_start().strip_prefix(['✓', '❯', '×'])?;
    let (_, number) = rest.split_once('(')?;
    let (number, _) = number.split_once(" test")?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests_after(output: &str) -> Option<String> {
        let mut so_far = OutputSoFar::default();
        so_far.take(output.as_bytes());
        so_far.progress().words()
    }

    #[test]
    fn what_each_tool_prints_is_understood() {
        for (output, expected) in [
            ("....F...", None),
            ("tests/test_a.py ....F...  [ 45%]", Some("45 %")),
            ("collected 81 items\n\ntests/test_a.py ....  [ 12%]\n", Some("12 % of 81 tests")),
            ("collected 81 items / 3 deselected / 78 selected\n", Some("78 tests")),
            ("running 2 tests\ntest a::b ... ok\n", Some("1 of 2 tests")),
            ("running 1 test\ntest a ... FAILED\nrunning 3 tests\ntest c ... ignored\n", Some("2 of 4 tests")),
            ("running the tests\n", None),
            ("TAP version 13\n1..3\nok 1 - adds\nnot ok 2 - divides\n    ok 1 - inner\n", Some("2 of 3 tests")),
            ("ok 1 - adds\n", Some("1 test")),
            ("collected 4 items\n\na.py::test_a PASSED    [ 25%]\na.py::T::test_b FAILED   [ 50%]\n", Some("2 of 4 tests")),
            ("FAILED a.py::test_a - assert 1 == 2\n", None),
            ("ok  \texample.org/shop\t0.1s\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/sub (0.00s)\n", Some("1 test")),
            ("✔ adds (0.8ms)\n▶ quotes\n  ✖ answers (1.2ms)\nℹ tests 2\n", Some("2 tests")),
            ("    Starting 5 tests across 2 binaries\n        PASS [   0.004s] (1/5) shop tests::adds\n", Some("1 of 5 tests")),
            (r#"{"Action":"pass","Package":"shop","Test":"TestAdds","Elapsed":0.1}"#, None),
            (
                "{\"Action\":\"pass\",\"Package\":\"shop\",\"Test\":\"TestAdds\"}\n{\"Action\":\"pass\",\"Package\":\"shop\"}\n",
                Some("1 test"),
            ),
            ("PASS src/a.test.js\nFAIL src/b.test.js\n", Some("2 files of tests")),
            (" ✓ src/a.test.ts (3 tests) 5ms\n ❯ src/b.test.ts (2 tests | 1 failed) 9ms\n", Some("5 tests")),
            (
                "Running 2 tests using 1 worker\n\n  ✓  1 a.spec.js:2:1 › adds (7ms)\n  -  2 a.spec.js:3:6 › later\n",
                Some("2 of 2 tests"),
            ),
            (
                "\u{1b}[38;5;245mrunning 1 test from ./a.test.ts\u{1b}[0m\nadds ... \u{1b}[32mok\u{1b}[0m (1ms)\n",
                Some("1 of 1 test"),
            ),
            ("a.test.js:\n(pass) quotes > adds [0.04ms]\n(todo) planned\n", Some("2 tests")),
            ("[ 50%] Building C object\n", Some("50 %")),
            ("[999%]\n[x%]\n", None),
            ("", None),
        ] {
            assert_eq!(tests_after(output).as_deref(), expected, "{output}");
        }
    }

    #[test]
    fn tests_are_named_as_they_end() {
        use TestOutcome::{Error, Failed, Passed, Skipped};
        for (line, expected) in [
            ("test a::b ... ok", Some(("a::b", Passed))),
            ("test c - should panic ... FAILED", Some(("c - should panic", Failed))),
            ("test d ... ignored, long tier", Some(("d", Skipped))),
            ("test_x (tests.T.test_x) ... ERROR", Some(("test_x (tests.T.test_x)", Error))),
            ("test_x (tests.T.test_x) ... skipped 'no network'", Some(("test_x (tests.T.test_x)", Skipped))),
            ("Compiling ... ok", None),
            ("--- PASS: TestA (0.00s)", Some(("TestA", Passed))),
            ("    --- PASS: TestA/sub (0.00s)", None),
            ("ok 1 - adds", Some(("adds", Passed))),
            ("not ok 2 - divides", Some(("divides", Failed))),
            ("ok 3 - reads # SKIP no file", Some(("reads", Skipped))),
            ("ok 4", Some(("4", Passed))),
            ("ok  \texample.org/shop\t0.1s", None),
            ("a.py::test_a PASSED                  [ 10%]", Some(("a.py::test_a", Passed))),
            ("a.py::test_b[x y] SKIPPED (no reason) [ 20%]", Some(("a.py::test_b[x y]", Skipped))),
            ("a.py::test_c XFAIL [ 30%]", Some(("a.py::test_c", Skipped))),
            ("[gw1] [ 40%] ERROR a.py::test_d", Some(("a.py::test_d", Error))),
            ("FAILED a.py::test_a - assert 1 == 2", None),
            ("✔ adds (0.8ms)", Some(("adds", Passed))),
            ("  ✖ answers (1.2ms)", Some(("answers", Failed))),
            ("        PASS [   0.004s] (1/5) shop tests::adds", Some(("shop tests::adds", Passed))),
            ("        FAIL [   0.004s] shop tests::adds", Some(("shop tests::adds", Failed))),
            (r#"{"Action":"skip","Package":"shop","Test":"TestAdds"}"#, Some(("TestAdds", Skipped))),
            (r#"{"Action":"output","Package":"shop","Test":"TestAdds","Output":"ok 1"}"#, None),
            (r#"{"Action":"pass","Package":"shop"}"#, None),
        ] {
            let mut so_far = OutputSoFar::default();
            so_far.take(format!("{line}\n").as_bytes());
            let ended = so_far.take_ended();
            let found: Vec<(&str, TestOutcome)> = ended.iter().map(|test| (test.name.as_str(), test.outcome)).collect();
            assert_eq!(found, Vec::from_iter(expected), "{line}");
            assert_eq!(so_far.take_ended(), [], "{line}");
        }
    }

    #[test]
    fn the_newest_ended_tests_are_kept() {
        let mut so_far = OutputSoFar::default();
        (0..=MOST_ENDED).for_each(|number| so_far.take(format!("ok 1 - {number}\n").as_bytes()));
        let ended = so_far.take_ended();
        assert_eq!((ended.len(), ended[0].name.as_str()), (MOST_ENDED, "1"));
        assert_eq!(so_far.progress().ended, MOST_ENDED as u64 + 1);
    }

    #[test]
    fn output_in_pieces_says_the_same_as_at_once() {
        let output = "collected 9 items\r\ntests/a.py ... [ 33%]\ntests/b.py ";
        let mut so_far = OutputSoFar::default();
        output.as_bytes().chunks(3).for_each(|piece| so_far.take(piece));
        let mut at_once = OutputSoFar::default();
        at_once.take(output.as_bytes());
        assert_eq!((so_far.progress().words(), so_far.last_line()), (at_once.progress().words(), "tests/b.py"));
    }

    #[test]
    fn the_last_line_is_one_for_people() {
        for (output, expected) in [
            ("\u{1b}[0m\u{1b}[32mCheck\u{1b}[0m a.test.ts\n", "Check a.test.ts"),
            ("\u{1b}[0m\u{1b}[32mChe", "Che"),
            ("adds\n==========\n----------\n", "adds"),
            ("===== 2 passed in 0.10s =====\n", "2 passed in 0.10s"),
            ("2 passed\n- generated xml file: /store/out/p/r/STEP.1/junit.xml -\n", "2 passed"),
            ("Tests\nJSON report written to /store/out/report.json\n", "Tests"),
            ("Looking\n[{\"filePath\":\"/project/a.js\",\"messages\":[]}]", "Looking"),
            ("Tests\n> mocha --require=/store/out/p/r/STEP.1/mocha-report.cjs\n", "Tests"),
            ("Tests\n> deno test '--junit-path=/store/out/p/r/STEP.1/junit.xml' a.ts\n", "Tests"),
            ("Tests\n$ bun test --reporter-outfile=\"/store/out/p/r/STEP.1/junit.xml\" a\n", "Tests"),
            ("> mocha --require=./setup.js\n", "> mocha --require=./setup.js"),
            ("....F...", "....F..."),
            ("[ 50%] Building\n", "[ 50%] Building"),
            ("{\"Action\":\"output\",\"Output\":\"shop\\n\"}\n{\"Action\":\"pass\"}\n", "shop"),
        ] {
            let mut so_far = OutputSoFar::default();
            so_far.take(output.as_bytes());
            assert_eq!(so_far.last_line(), expected, "{output}");
        }
    }

    #[test]
    fn a_line_without_end_needs_little_memory() {
        let mut so_far = OutputSoFar::default();
        (0..100).for_each(|_| so_far.take(&[b'x'; 10_000]));
        assert_eq!(so_far.last_line().len(), LONGEST_LINE);
    }

    #[test]
    fn a_line_of_which_a_part_is_missing_names_no_test_and_no_number_is_too_large() {
        let mut so_far = OutputSoFar::default();
        so_far.take(format!("ok 1 - {}\nok 2 - b\n", "x".repeat(LONGEST_LINE)).as_bytes());
        so_far.pass_over();
        so_far.take(b"ok 3 - the end of a line\nok 4 - d\n");
        let names: Vec<String> = so_far.take_ended().into_iter().map(|test| test.name).collect();
        assert_eq!((names, so_far.progress().ended), (vec!["d".to_owned()], 0));
        let mut so_far = OutputSoFar::default();
        so_far.take(b"1..18446744073709551615\n1..1\n \xe2\x9c\x93 a (18446744073709551615 tests)\n");
        assert_eq!((so_far.progress().expected, so_far.progress().ended), (Some(u64::MAX), u64::MAX));
    }

    #[test]
    fn counts_are_forgotten_where_output_was_passed_over() {
        let mut so_far = OutputSoFar::default();
        so_far.take(b"1..3\nok 1\n");
        so_far.pass_over();
        assert_eq!((so_far.progress().words(), so_far.last_line()), (None, "ok 1"));
        so_far.take(b"ok 3\n");
        assert_eq!(so_far.progress().words(), None, "how many were passed over is not known");
    }

    #[test]
    fn a_test_that_is_named_again_counts_once() {
        for (output, expected) in [
            ("a.py::test_a PASSED  [ 50%]\na.py::test_a ERROR  [ 50%]\na.py::test_b PASSED  [100%]\n", 2),
            (
                "    Starting 2 tests across 1 binary\n  FAIL [ 0.1s] (1/2) shop a\n  PASS [ 0.1s] (2/2) shop b\n  Summary [ 0.2s] 2 tests run\n  FAIL [ 0.1s] (1/2) shop a\n",
                2,
            ),
            ("✖ adds (1.2ms)\n✔ takes (0.1ms)\nℹ tests 2\n\n✖ failing tests:\n\ntest at a.js:1:1\n✖ adds (1.2ms)\n", 2),
            ("running 1 test\ntest a ... ok\nrunning 1 test\ntest a ... ok\n", 2),
        ] {
            let mut so_far = OutputSoFar::default();
            so_far.take(output.as_bytes());
            assert_eq!(so_far.progress().ended, expected, "{output}");
            assert_eq!(so_far.take_ended().len(), 2, "{output}");
        }
    }
}
