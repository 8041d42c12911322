//! Finds the test that hung: from what pytest-timeout prints before it ends pytest, and from what pytest prints when
//! proctor stops it.

use std::path::Path;

use crate::places::Place;
use crate::pytest::tally::Tally;

/// The title of the lines of `+` around pytest-timeout's output.
const TIMEOUT_TITLE: &str = " Timeout ";
/// The beginning of such a line.
const TIMEOUT_RULE: &str = "++++++++++";
/// The title of pytest-timeout's line above the stack of the thread that runs the tests.
const MAIN_STACK: &str = " Stack of MainThread (";
/// The words with which pytest-timeout's line in pytest's header begins: `timeout: 1.0s`.
const HEADER_LINE: &str = "timeout: ";
/// pytest's words after the place at which SIGINT interrupted it: `/project/test_a.py:7: KeyboardInterrupt`.
const INTERRUPTED: &str = ": KeyboardInterrupt";
/// What faulthandler prints after SIGABRT, before the stacks.
const ABORTED: &str = "Fatal Python error: Aborted";
/// The end of the line above each of these stacks.
const STACK_HEAD: &str = "(most recent call first)";
/// The functions of pytest and unittest that call a test function, each with the end of the path of its file.
const CALLERS: [(&str, &str); 2] = [("_pytest/python.py", "pytest_pyfunc_call"), ("unittest/case.py", "_callTestMethod")];
/// The last words of a line of a verbose run about a test that has ended.
const OUTCOMES: [&str; 8] = ["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS", "XPASSED", "RERUN"];

/// A frame of a Python stack.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Frame {
    /// The path as the stack has it.
    path: String,
    line: u64,
    function: String,
}

/// The test, or the file of tests, that pytest's progress names as not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Unfinished {
    /// A verbose run prints the node id before the test runs.
    Test(String),
    /// Other runs print the file.
    File(String),
}

/// Says which test pytest-timeout found to hang, if it ended pytest as its method `thread` does. It then writes no
/// report. Versions before 2.1 print the stacks on standard error.
pub(super) fn ended_by_plugin(stdout: &str, stderr: &str, place: Place<'_>) -> Option<String> {
    let stacks = |text: &str| text.lines().any(|line| is_ruled(line, '+', TIMEOUT_TITLE));
    let text = if stacks(stdout) { stdout } else { Some(stderr).filter(|text| stacks(text))? };
    let frames = main_stack(text);
    let limit = stdout.lines().find_map(|line| line.strip_prefix(HEADER_LINE)).map(str::trim);
    let limit = limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
    let test = frames.iter().rposition(calls_test).and_then(|caller| frames.get(caller + 1));
    let own = |frame: &Frame| Some(place.within_project(&frame.path)).filter(|path| Place::is_own(path));
    let at = frames.iter().rev().find_map(|frame| Some(format!(", at {}:{}", own(frame)?, frame.line))).unwrap_or_default();
    let name = match (unfinished(stdout), test) {
        (Some(Unfinished::Test(id)), _) => format!("`{id}`"),
        (_, Some(frame)) => format!("`{}` of `{}`", frame.function, place.within_project(&frame.path)),
        (Some(Unfinished::File(file)), None) => format!("a test of `{file}`, before or after its function ran,"),
        (None, None) => "a test".to_owned(),
    };
    Some(format!("{name} did not end within the time-out of pytest-timeout{limit}{at}"))
}

/// Says what hung when proctor stopped pytest. `source` returns the text of a file of the project, which is needed to
/// find the test around a line.
pub(super) fn before_the_stop(
    (stdout, stderr): (&str, &str),
    report: Option<&Tally>,
    place: Place<'_>,
    source: &dyn Fn(&Path) -> Option<String>,
) -> Option<String> {
    let interrupted = stdout.lines().rev().find_map(interrupted_place);
    if interrupted.is_none()
        && let Some(tally) = report.filter(|tally| tally.total() > 0 && !tally.is_cut_short())
    {
        return Some(format!("All {} test(s) had ended: something that they started keeps pytest from ending", tally.total()));
    }
    if interrupted.is_none()
        && let Some(frames) = aborted_stack(stderr)
    {
        return Some(in_stack(&frames, unfinished(stdout), place, source));
    }
    let at = interrupted.map(|(path, line)| (place.within_project(path), line));
    let around = at.as_ref().filter(|(path, _)| Place::is_own(path)).and_then(|(path, line)| {
        let names = enclosing(&source(Path::new(path))?, *line)?;
        Some((path, names))
    });
    let stopped_at = at.as_ref().map(|(path, line)| format!(", stopped at {path}:{line}")).unwrap_or_default();
    if let Some((path, names)) = &around
        && names.last().is_some_and(|name| name.starts_with("test"))
    {
        return Some(format!("`{path}::{}` had not ended{stopped_at}", names.join("::")));
    }
    let after = report.and_then(|tally| tally.tests.last()).map(|test| {
        let element = test.element();
        format!("; the last test that ended before is `{}::{}`", element.class, element.name)
    });
    let what = match unfinished(stdout) {
        Some(Unfinished::Test(id)) => return Some(format!("`{id}` had not ended{stopped_at}")),
        Some(Unfinished::File(file)) => format!("A test of `{file}` had not ended"),
        None if stopped_at.is_empty() => return None,
        None => "pytest was working".to_owned(),
    };
    let function = around.map(|(_, names)| format!(" in `{}`", names.join("."))).unwrap_or_default();
    Some(format!("{what}{stopped_at}{function}{}", after.unwrap_or_default()))
}

/// Returns the frames that pytest's faulthandler printed after SIGABRT, the innermost first: of the thread that runs a test, or of the
/// first thread if none does.
fn aborted_stack(stderr: &str) -> Option<Vec<Frame>> {
    let mut stacks: Vec<Vec<Frame>> = Vec::new();
    for line in stderr.lines().skip_while(|line| !line.starts_with(ABORTED)) {
        match frame(line) {
            Some(frame) => stacks.last_mut()?.push(frame),
            None if line.contains(STACK_HEAD) => stacks.push(Vec::new()),
            None => {}
        }
    }
    let of_test = stacks.iter().position(|frames| frames.iter().any(calls_test)).unwrap_or_default();
    (of_test < stacks.len()).then(|| stacks.swap_remove(of_test))
}

/// Says which test a stack shows, the innermost frame first, and where it is.
fn in_stack(
    frames: &[Frame],
    unfinished: Option<Unfinished>,
    place: Place<'_>,
    source: &dyn Fn(&Path) -> Option<String>,
) -> String {
    let test = frames.iter().position(calls_test).and_then(|caller| frames.get(caller.checked_sub(1)?));
    let named = |frame: &Frame| {
        let path = place.within_project(&frame.path);
        let names = source(Path::new(&path)).and_then(|text| enclosing(&text, frame.line));
        format!("`{path}::{}`", names.map_or_else(|| frame.function.clone(), |names| names.join("::")))
    };
    let what = match (unfinished, test) {
        (Some(Unfinished::Test(id)), _) => format!("`{id}`"),
        (_, Some(frame)) => named(frame),
        (Some(Unfinished::File(file)), None) => format!("A test of `{file}`"),
        (None, None) => "pytest".to_owned(),
    };
    let own = |frame: &Frame| Some(place.within_project(&frame.path)).filter(|path| Place::is_own(path));
    let at = frames.iter().find_map(|frame| Some(format!(", stopped at {}:{}", own(frame)?, frame.line))).unwrap_or_default();
    format!("{what} had not ended{at}")
}

/// Returns whether a frame is the function of pytest or unittest that calls a test function.
fn calls_test(frame: &Frame) -> bool {
    CALLERS.iter().any(|(file, name)| frame.path.ends_with(file) && frame.function == *name)
}

/// Returns the frames of the stack that pytest-timeout printed of the main thread, the outermost first.
fn main_stack(text: &str) -> Vec<Frame> {
    let lines = text.lines().skip_while(|line| !is_ruled(line, '~', MAIN_STACK)).skip(1);
    lines.take_while(|line| !line.starts_with(['~', '+'])).filter_map(frame).collect()
}

fn is_ruled(line: &str, rule: char, title: &str) -> bool {
    line.trim_end().ends_with(rule) && line.contains(title) && line.contains(&rule.to_string().repeat(3))
}

/// Reads `  File "/project/test_a.py", line 7, in test_x`, and the same without the last comma, as faulthandler prints it.
fn frame(line: &str) -> Option<Frame> {
    let (path, rest) = line.trim().strip_prefix("File \"")?.split_once("\", line ")?;
    let (number, function) = rest.split_once(" in ")?;
    Some(Frame { path: path.to_owned(), line: number.trim_end_matches(',').parse().ok()?, function: function.to_owned() })
}

fn interrupted_place(line: &str) -> Option<(&str, u64)> {
    let (path, number) = line.trim_end().strip_suffix(INTERRUPTED)?.rsplit_once(':')?;
    Some((path, number.parse().ok()?))
}

/// Returns what the last progress line names, if that line does not say that everything of it ended. The progress ends
/// with a rule between signs: pytest's at the beginning of a line, pytest-timeout's first one behind the progress.
fn unfinished(stdout: &str) -> Option<Unfinished> {
    let collected = stdout.lines().position(|line| line.contains("collected ") && line.contains(" item"))?;
    let mut last = None;
    for line in stdout.lines().skip(collected + 1) {
        let (shown, is_cut) = line.split_once(TIMEOUT_RULE).map_or((line, false), |(shown, _)| (shown, true));
        let is_rule = ['!', '-', '='].iter().any(|sign| line.starts_with(*sign) && line.ends_with(*sign));
        if !is_rule && shown.contains(".py") {
            last = Some(shown.trim());
        }
        if is_rule || is_cut {
            break;
        }
    }
    let last = last.filter(|line| !line.ends_with("%]"))?;
    if last.contains(".py::") {
        let is_over = OUTCOMES.iter().any(|word| last.ends_with(word));
        return (!is_over).then(|| Unfinished::Test(last.to_owned()));
    }
    let (file, marks) = last.split_once(' ').unwrap_or((last, ""));
    let is_progress = file.ends_with(".py") && marks.chars().all(|mark| ".FEsxXR".contains(mark));
    is_progress.then(|| Unfinished::File(file.to_owned()))
}

/// Returns the names of the classes and of the outermost function around a line of Python source.
fn enclosing(source: &str, line: u64) -> Option<Vec<String>> {
    let lines: Vec<&str> = source.lines().collect();
    let position = usize::try_from(line).ok()?.checked_sub(1)?;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut depth = indent(lines.get(position)?);
    let mut names: Vec<(bool, String)> = Vec::new();
    for line in lines[..position].iter().rev().filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#')) {
        let text = line.trim_start();
        if indent(line) >= depth {
            continue;
        }
        let function = text.strip_prefix("def ").or_else(|| text.strip_prefix("async def "));
        let found = function.map(|rest| (true, rest)).or_else(|| text.strip_prefix("class ").map(|rest| (false, rest)));
        // A line inside brackets may have any indent, so only a definition or a block's head makes the depth smaller.
        if found.is_none() && !text.trim_end().ends_with(':') {
            continue;
        }
        depth = indent(line);
        if let Some((is_function, rest)) = found {
            let end = rest.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(rest.len());
            names.insert(0, (is_function, rest[..end].to_owned()));
        }
    }
    // A function inside of a function is no test of its own.
    let outermost = names.iter().position(|(is_function, _)| *is_function)?;
    names.truncate(outermost + 1);
    Some(names.into_iter().map(|(_, name)| name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "import time\n\n\nclass TestX:\n    def test_y(self):\n        for one in range(\n    9,\n        ):\n            time.sleep(one)\n\n\ndef test_z():\n    def wait():\n        time.sleep(9)\n    wait()\n\n\ndef helper():\n    time.sleep(1)\nx = 1\n";

    fn place() -> Place<'static> {
        Place { root: Path::new("/project"), directory: Path::new("") }
    }

    fn stopped(progress: &str, at: &str) -> Option<String> {
        let stdout = format!(
            "=== test session starts ===\ncollected 3 items\n\n{progress}\n\n--- generated xml file: x ---\n!!! KeyboardInterrupt !!!\n{at}: KeyboardInterrupt\n=== 1 passed in 2s ===\n"
        );
        before_the_stop((&stdout, ""), None, place(), &|path| (path == Path::new("test_a.py")).then(|| SOURCE.to_owned()))
    }

    #[test]
    fn the_test_around_a_line_is_found_by_its_indent() {
        let names = |line| enclosing(SOURCE, line).map(|names| names.join("::"));
        assert_eq!(names(9).as_deref(), Some("TestX::test_y"));
        assert_eq!(names(14).as_deref(), Some("test_z"), "`wait` is a part of it");
        assert_eq!(names(15).as_deref(), Some("test_z"));
        assert_eq!(names(19).as_deref(), Some("helper"));
        assert_eq!([names(20), names(1), names(0), names(99)], [None, None, None, None]);
    }

    #[test]
    fn a_stopped_pytest_names_the_test_as_exactly_as_it_can() {
        for (progress, at, expected) in [
            ("test_a.py .", "/project/test_a.py:9", "`test_a.py::TestX::test_y` had not ended, stopped at test_a.py:9"),
            (
                "test_a.py::test_ok PASSED   [ 33%]\ntest_b.py::test_n[a b] ",
                "/usr/lib/threading.py:320",
                "`test_b.py::test_n[a b]` had not ended, stopped at /usr/lib/threading.py:320",
            ),
            ("test_b.py .", "/project/test_a.py:19", "A test of `test_b.py` had not ended, stopped at test_a.py:19 in `helper`"),
            ("test_b.py .  [100%]", "/usr/lib/x.py:1", "pytest was working, stopped at /usr/lib/x.py:1"),
        ] {
            assert_eq!(stopped(progress, at).as_deref(), Some(expected), "{progress}");
        }
        let killed = "=== test session starts ===\ncollected 3 items\n\ntest_a.py .";
        let said = before_the_stop((killed, ""), None, place(), &|_| None);
        assert_eq!(said.as_deref(), Some("A test of `test_a.py` had not ended"));
        assert_eq!(before_the_stop(("", ""), None, place(), &|_| None), None);
    }

    #[test]
    fn a_pytest_that_was_aborted_in_a_busy_loop_names_the_test_by_its_stack() {
        let other = "Thread 0x1 (most recent call first):\n  File \"/usr/lib/threading.py\", line 5 in wait\n\n";
        let main = "Current thread 0x2 [python] (most recent call first):\n  File \"/project/test_a.py\", line 9 in test_y\n  File \"/v/_pytest/python.py\", line 187 in pytest_pyfunc_call\n";
        let said = |stdout: &str, stderr: &str| {
            let source = |path: &Path| (path == Path::new("test_a.py")).then(|| SOURCE.to_owned());
            before_the_stop((stdout, stderr), None, place(), &source)
        };
        let stderr = format!("x\n{ABORTED}\n\n{other}{main}");
        let expected = "`test_a.py::TestX::test_y` had not ended, stopped at test_a.py:9";
        assert_eq!(said(".", &stderr).as_deref(), Some(expected), "a quiet run");
        let verbose = said("collected 1 item\n\ntest_a.py::TestX::test_y[1] ", &stderr);
        assert!(verbose.is_some_and(|said| said.starts_with("`test_a.py::TestX::test_y[1]` had not ended, stopped at")));
        let idle = said("collected 1 item\n\ntest_a.py ", &format!("{ABORTED}\n{other}"));
        assert_eq!(idle.as_deref(), Some("A test of `test_a.py` had not ended"));
        assert_eq!(said("", &format!("{other}{main}")), None, "another dump of stacks");
    }

    #[test]
    fn a_report_of_tests_that_all_ended_says_that_something_else_hangs() {
        let report = "<testsuites><testsuite tests=\"1\"><testcase classname=\"a\" name=\"b\"/></testsuite></testsuites>";
        let tally = Tally::read(report.as_bytes()).expect("readable");
        let said = before_the_stop(("collected 1 item\n\ntest_a.py .  [100%]\n", ""), Some(&tally), place(), &|_| None);
        assert_eq!(said.as_deref(), Some("All 1 test(s) had ended: something that they started keeps pytest from ending"));
    }

    #[test]
    fn the_stack_of_pytest_timeout_names_the_function_of_the_test() {
        let rule = "+".repeat(20);
        let wave = "~".repeat(20);
        let stack = "  File \"/v/site-packages/_pytest/python.py\", line 187, in pytest_pyfunc_call\n    result = testfunction(**testargs)\n  File \"/project/test_a.py\", line 9, in test_y\n    wait()\n  File \"/project/lib.py\", line 3, in wait\n    sleep()\n  File \"/usr/lib/threading.py\", line 7, in sleep\n";
        let text = |progress: &str| {
            format!(
                "timeout: 1.0s\ncollected 3 items\n\n{progress}{rule} Timeout {rule}\n{wave} Stack of MainThread (14) {wave}\n{stack}{rule} Timeout {rule}\n"
            )
        };
        assert_eq!(
            ended_by_plugin(&text("test_a.py ."), "", place()).as_deref(),
            Some("`test_y` of `test_a.py` did not end within the time-out of pytest-timeout of 1.0s, at lib.py:3")
        );
        let verbose = ended_by_plugin(&text("test_a.py::TestX::test_y[1] "), "", place());
        assert!(verbose.is_some_and(|said| said.starts_with("`test_a.py::TestX::test_y[1]` did not end")));
        assert_eq!(ended_by_plugin("collected 1 item\n", "a Timeout", place()), None);
    }
}
