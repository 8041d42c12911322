//! What the output of a running action says about how far the action is. Pure: bytes go in, words for people come out.
//!
//! Only what a tool prints is told, and no verdict depends on it: percentages (pytest, CMake), lines for single tests
//! (libtest, nextest, TAP, `node --test`, `go test` with `-v` or `-json`), lines for files of tests (Jest, Vitest), and the numbers of tests to come.

/// A line is cut after this many bytes. Nobody reads more of it while an action runs.
const LONGEST_LINE: usize = 1024;

/// What an action has printed so far about its tests, and its last line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OutputSoFar {
    /// The number of tests that are to run; `None` if the tool has not said it.
    expected: Option<u64>,
    /// The number of tests that have ended.
    ended: u64,
    /// The number of files whose tests have ended.
    files: u64,
    percent: Option<u8>,
    last_line: String,
    /// The beginning of the line that has not ended yet.
    unfinished: Vec<u8>,
}

impl OutputSoFar {
    /// Takes in the next bytes of the output.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let mut lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).peekable();
        while let Some(part) = lines.next() {
            let room = LONGEST_LINE.saturating_sub(self.unfinished.len());
            self.unfinished.extend(part.iter().take(room));
            if lines.peek().is_some() {
                let line = std::mem::take(&mut self.unfinished);
                self.note_line(String::from_utf8_lossy(&line).trim_end());
            }
        }
        // Tools that print a character for each test end their lines late.
        let unfinished = String::from_utf8_lossy(&self.unfinished).trim_end().to_owned();
        if !unfinished.is_empty() {
            self.percent = percent_in(&unfinished).or(self.percent);
            self.last_line = unfinished;
        }
    }

    /// Forgets what was counted, because a part of the output was passed over.
    pub(super) fn pass_over(&mut self) {
        *self = Self { percent: self.percent, last_line: std::mem::take(&mut self.last_line), ..Self::default() };
    }

    /// Returns, as far as the output says it, the percentage that is done, how many tests or files of tests have ended, and how
    /// many tests there are.
    pub(super) fn tests(&self) -> Option<String> {
        let tests = |count: u64| if count == 1 { "1 test".to_owned() } else { format!("{count} tests") };
        let ended = match (self.ended, self.expected, self.files) {
            (0, None, 0) => None,
            (0, None, 1) => Some("1 file of tests".to_owned()),
            (0, None, files) => Some(format!("{files} files of tests")),
            (0, Some(expected), _) => Some(tests(expected)),
            (ended, Some(expected), _) if ended <= expected => Some(format!("{ended} of {}", tests(expected))),
            (ended, _, _) => Some(tests(ended)),
        };
        let percent = self.percent.map(|percent| format!("{percent} %"));
        let words: Vec<String> = percent.into_iter().chain(ended).collect();
        (!words.is_empty()).then(|| words.join(" of "))
    }

    /// Returns the last line that is not empty.
    pub(super) fn last_line(&self) -> &str {
        self.last_line.trim_start()
    }

    fn note_line(&mut self, line: &str) {
        if line.is_empty() {
            return;
        }
        self.percent = percent_in(line).or(self.percent);
        if let Some(more) = announced(line) {
            self.expected = Some(self.expected.unwrap_or_default() + more);
        }
        self.ended += u64::from(is_end_of_test(line)) + vitest_file(line).unwrap_or_default();
        self.files += u64::from(line.starts_with("PASS ") || line.starts_with("FAIL "));
        go_output(line).unwrap_or(line).clone_into(&mut self.last_line);
    }
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
    if let Some(rest) = line.strip_prefix("running ") {
        // libtest: `running 12 tests`, once for each binary.
        return rest.trim_end().ends_with(['t', 's']).then(|| first(rest)).flatten().filter(|_| rest.contains(" test"));
    }
    if let Some(rest) = line.trim_start().strip_prefix("Starting ") {
        // nextest: `Starting 5 tests across 2 binaries`.
        return first(rest).filter(|_| rest.contains(" test"));
    }
    // The Test Anything Protocol: `1..12`.
    line.strip_prefix("1..").and_then(|rest| rest.trim().parse().ok())
}

/// Returns whether a line says that a test has ended.
fn is_end_of_test(line: &str) -> bool {
    let has_number = |rest: &str| rest.starts_with(|character: char| character.is_ascii_digit());
    let of_libtest = line.starts_with("test ") && [" ... ok", " ... FAILED", " ... ignored"].iter().any(|end| line.contains(end));
    let of_go = ["--- PASS: ", "--- FAIL: ", "--- SKIP: "].iter().any(|begin| line.starts_with(begin));
    let of_protocol = line.strip_prefix("not ok ").or_else(|| line.strip_prefix("ok ")).is_some_and(has_number);
    of_libtest || of_go || of_protocol || is_end_for_people(line) || is_end_in_events(line)
}

/// Returns whether a line ends a test as `node --test` prints it, `✔ adds (0.8ms)`, or nextest, `PASS [   0.004s] shop tests::adds`.
fn is_end_for_people(line: &str) -> bool {
    let text = line.trim_start();
    let of_node = text.starts_with(['✔', '✖', '﹣']) && text.contains("ms)");
    let of_nextest = ["PASS [", "FAIL ["].iter().any(|begin| text.starts_with(begin));
    of_node || of_nextest
}

/// Returns whether a line is an event of `go test -json` that ends a test.
fn is_end_in_events(line: &str) -> bool {
    let ends = [r#""Action":"pass""#, r#""Action":"fail""#, r#""Action":"skip""#];
    line.starts_with('{') && line.contains(r#""Test":""#) && ends.iter().any(|end| line.contains(end))
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
        so_far.tests()
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
            ("[ 50%] Building C object\n", Some("50 %")),
            ("[999%]\n[x%]\n", None),
            ("", None),
        ] {
            assert_eq!(tests_after(output).as_deref(), expected, "{output}");
        }
    }

    #[test]
    fn output_in_pieces_says_the_same_as_at_once() {
        let output = "collected 9 items\r\ntests/a.py ... [ 33%]\ntests/b.py ";
        let mut so_far = OutputSoFar::default();
        output.as_bytes().chunks(3).for_each(|piece| so_far.take(piece));
        let mut at_once = OutputSoFar::default();
        at_once.take(output.as_bytes());
        assert_eq!((so_far.tests(), so_far.last_line()), (at_once.tests(), "tests/b.py"));
    }

    #[test]
    fn a_line_without_end_needs_little_memory() {
        let mut so_far = OutputSoFar::default();
        (0..100).for_each(|_| so_far.take(&[b'x'; 10_000]));
        assert_eq!(so_far.last_line().len(), LONGEST_LINE);
    }

    #[test]
    fn counts_are_forgotten_where_output_was_passed_over() {
        let mut so_far = OutputSoFar::default();
        so_far.take(b"1..3\nok 1\n");
        so_far.pass_over();
        assert_eq!((so_far.tests(), so_far.last_line()), (None, "ok 1"));
    }
}
