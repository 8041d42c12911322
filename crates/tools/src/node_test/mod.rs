//! Node's own test runner: `node --test`.
//!
//! `prepare` asks for a report in the format TAP, `tap` reads it, and `spec` reads the totals that are printed for people, for a
//! command to which no option can be added. The common rules in `test_run` judge.
//!
//! Node counts each file without a test of `node:test` as a passed test if its process ended with exit code 0. The same happens to a
//! file whose tests call `process.exit(0)` before any of them ended. Such a file proves nothing, so it is not counted; a warning names
//! it. If its text has tests, the run is no success. If some of its tests had ended, the reporter names those that did not.

use std::path::Path;

use crate::expectations::{self, Expectations, first_frame};
use crate::interpret::{Exited, Input, signal_through_wrapper};
use crate::no_work::{self, NoWork};
use crate::places::Place;
use crate::test_run::{ReadTest, RunFacts, count as number, judge};
use crate::{launch_failure, signals};
use proctor_model::{CategoryCode, Coverage, Interpretation, TestOutcome, ToolReport};

mod prepare;
mod tap;

pub(super) use prepare::{ask, find, runs_tests};

/// The largest report that is read (64 MiB).
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Node's exit code for an unknown option.
const BAD_OPTION: i32 = 9;

/// The options with which node prints something and ends.
pub(super) const NO_WORK: NoWork =
    NoWork { options: &["--version", "-v", "--help", "-h", "--v8-options"], names_the_tool: false, ..no_work::NONE };

/// The functions by which a file declares a test or a suite.
const TEST_FUNCTIONS: &[&str] = &["test", "it", "describe", "suite", "test.only", "it.only", "describe.only"];

/// The beginnings of options that leave out tests by their names.
const NAME_SELECTIONS: &[&str] = &["--test-name-pattern", "--test-skip-pattern", "--test-only"];

/// Node says `AssertionError` in the text behind the error alone.
pub(super) const EXPECTATIONS: Expectations =
    Expectations { begins: &["AssertionError"], place: first_frame, ..expectations::NONE };

/// What was read of a run.
#[derive(Debug, Default)]
struct Read {
    facts: RunFacts,
    /// The files without a test whose processes ended with exit code 0.
    files_without_tests: Vec<String>,
    /// The tests that began and never ended, each with its file.
    unended: Vec<(String, String)>,
}

/// Judges a run of `node --test` that ended by itself.
pub(super) fn interpret(exited: &Exited<'_>, input: &Input<'_>) -> Interpretation {
    let read = read(exited, input.report);
    if read.as_ref().is_none_or(|read| read.facts.unread.is_some()) {
        if let Some(failure) = launch_failure::find(exited) {
            return failure;
        }
        if let Some(signal) = signals::of_exit_code(exited.code) {
            return signal_through_wrapper(exited.code, signal);
        }
    }
    let Some(Read { mut facts, files_without_tests, unended }) = read else {
        return without_report(exited);
    };
    let files = files_without_tests.len();
    if files > 0 {
        let named = files_without_tests.iter().take(3).map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", ");
        let more = if files > 3 { format!(" and {} more", files - 3) } else { String::new() };
        facts.unproved = Some(format!("{files} file(s) ran without a test of `node:test`: {named}{more}"));
        facts.warnings.push(format!(
            "{files} file(s) ran without a test of `node:test`, so only their exit code is known: {named}{more}; look for an early \
             `process.exit` if there should be tests"
        ));
    }
    let is_silent = |file: &&String| (input.source)(input.project_root, Path::new(file)).is_some_and(|text| has_tests(&text));
    if let Some(file) = files_without_tests.iter().filter(|_| !selects_by_name(exited)).find(is_silent) {
        facts.unfinished = Some(format!(
            "`{file}` has tests and told none of them, so its process ended early; look for a call of `process.exit`"
        ));
    }
    if let Some((file, name)) = unended.first() {
        let more =
            if unended.len() > 1 { format!(", and {} more test(s) did not either", unended.len() - 1) } else { String::new() };
        let why = format!("`{file}` ended before its test `{name}` did{more}; look for a call of `process.exit`");
        facts.unfinished.get_or_insert(why);
    }
    let coverage = coverage_below(exited);
    let mut interpretation = judge(facts);
    if let (CategoryCode::FailedOutsideTests, Some((line, coverage))) = (interpretation.category, coverage) {
        interpretation.category = CategoryCode::CoverageBelowTarget;
        interpretation.reason = format!("All tests passed, but {line}; add tests");
        interpretation.coverage = Some(coverage);
    }
    interpretation
}

/// Returns whether the text of a file calls a test function of `node:test` with a name, at the beginning of a line. Functions that
/// only wrap such a call are indented.
fn has_tests(text: &str) -> bool {
    let calls = |line: &str| {
        let line = line.strip_prefix("await ").unwrap_or(line);
        let called = TEST_FUNCTIONS.iter().find_map(|name| line.strip_prefix(name)?.strip_prefix('('));
        called.is_some_and(|arguments| arguments.trim_start().starts_with(['\'', '"', '`']))
    };
    text.contains("node:test") && text.lines().any(calls)
}

/// Returns whether the command leaves out tests by their names, so that a file may have none that runs.
fn selects_by_name(exited: &Exited<'_>) -> bool {
    exited.action.command.argv.iter().any(|word| NAME_SELECTIONS.iter().any(|option| word.contains(option)))
}

fn read(exited: &Exited<'_>, report: &ToolReport) -> Option<Read> {
    let mut read = match report {
        // Without a request the tests are read from what was printed: TAP before Node 23, and lines for people after that.
        ToolReport::NotRequested if !exited.stdout_is_complete && exited.code == 0 => unread(
            CategoryCode::OutputTooLarge,
            "Exit code 0, but the output is too long to be kept whole; let the check run `node --test` directly".to_owned(),
        ),
        ToolReport::NotRequested => match tap::is_tap(&exited.stdout) {
            true if exited.stdout_is_complete => tap::read(exited.stdout.as_bytes(), exited.place),
            true | false => read_printed(exited)?,
        },
        ToolReport::Missing => return None,
        ToolReport::Refused(why) => unread(
            CategoryCode::ReportUnreadable,
            format!("Exit code {}, but the test report cannot be read: {why}; find what else writes to it", exited.code),
        ),
        ToolReport::Large(large) if large.bytes() > MAX_BYTES => unread(
            CategoryCode::OutputTooLarge,
            format!("Exit code {}, but the test report is larger than 64 MiB and was not read; test in parts", exited.code),
        ),
        ToolReport::Fresh(_) | ToolReport::Large(_) => tap::read(report.reader()?, exited.place),
    };
    read.facts.name = "node --test";
    read.facts.code = exited.code;
    read.facts.failing_code = 1;
    read.facts.advice = "check the paths and patterns of the command";
    read.facts.outside = error_line(exited).map(str::to_owned);
    Some(read)
}

fn unread(category: CategoryCode, reason: String) -> Read {
    Read { facts: RunFacts { unread: Some((category, reason)), ..RunFacts::default() }, ..Read::default() }
}

// Without a report, what was printed may name the cause, but it never proves a success.
fn without_report(exited: &Exited<'_>) -> Interpretation {
    let complaint = error_line(exited);
    if let Some(line) = complaint.filter(|line| line.starts_with("Could not find '") && exited.code == 1) {
        let reason = format!("node --test found no test: {line}; check the paths and patterns of the command");
        return Interpretation::plain(CategoryCode::NoTestsCollected, reason);
    }
    let refusal =
        exited.stderr.lines().find(|line| line.contains(": bad option: ") || line.contains("is not allowed in NODE_OPTIONS"));
    if let Some(line) = refusal.or(complaint.filter(|_| exited.code == BAD_OPTION)) {
        let reason = format!("node refused its command line: {}; correct it", line.trim());
        return Interpretation::plain(CategoryCode::UsageError, reason);
    }
    let words = complaint.map_or_else(String::new, |line| format!(": {line}"));
    let reason = format!(
        "Exit code {} without a test report, which proves nothing{words}; see the log, and let the check run `node --test` directly",
        exited.code
    );
    Interpretation::plain(CategoryCode::ReportMissing, reason)
}

// Returns the line of standard error that says most: an error's own line, or the last line.
fn error_line<'a>(exited: &'a Exited<'_>) -> Option<&'a str> {
    let lines = || exited.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().find(|line| tap::is_error_line(line) || line.starts_with("Could not find '"));
    error.or_else(|| lines().next_back())
}

// Reads `# Error: 66.67% line coverage does not meet threshold of 90%.`
fn coverage_below(exited: &Exited<'_>) -> Option<(String, Coverage)> {
    let line =
        exited.stdout.lines().find(|line| line.contains("% ") && line.contains(" coverage does not meet threshold of "))?;
    let text = line.split_once("Error: ")?.1.trim_end_matches('.');
    let mut numbers = text.split(' ').filter_map(|word| word.strip_suffix('%')?.parse::<f64>().ok());
    let (percent, required) = (numbers.next()?, numbers.next()?);
    Some((text.to_owned(), Coverage { percent, required })).filter(|_| percent.is_finite() && required.is_finite())
}

#[cfg(test)]
pub(super) use prepare::reporter;

// Reads what `node --test` prints for people: the totals at its end, and the list of failing tests after them.

/// The heading of the failing tests, which come after the totals.
const FAILING: &str = "✖ failing tests:";

/// Reads the printed text; `None` if it has no totals.
fn read_printed(exited: &Exited<'_>) -> Option<Read> {
    let text = exited.stdout.as_str();
    let end = text.rfind(FAILING).unwrap_or(text.len());
    let last: Vec<&str> = text[..end].trim_end().lines().rev().take(12).collect();
    let of = |word: &str| {
        last.iter().find_map(|line| {
            let (name, count) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ "))?.split_once(' ')?;
            (name == word).then(|| number(count))?
        })
    };
    let (passed, failed) = (of("pass")?, of("fail")? + of("cancelled").unwrap_or_default());
    let mut facts = RunFacts::default();
    let failing = text.get(end + FAILING.len()..).unwrap_or_default();
    for block in failing.split("\ntest at ").skip(1) {
        add(block, exited.place, &mut facts);
    }
    facts.run.counts.passed = passed;
    facts.run.counts.failed = failed.max(facts.run.counts.failed);
    facts.further.todo = of("todo").unwrap_or_default();
    facts.run.counts.skipped = of("skipped").unwrap_or_default() + facts.further.todo;
    Some(Read { facts, ..Read::default() })
}

// Reads `a.test.js:5:1`, a line `✖ name (2.85ms)`, and the indented message.
fn add(block: &str, place: Place<'_>, facts: &mut RunFacts) {
    let mut lines = block.lines();
    let mut numbers = lines.next().unwrap_or_default().rsplitn(3, ':');
    let (_, line, path) = (numbers.next(), numbers.next().and_then(|line| line.parse().ok()), numbers.next().unwrap_or_default());
    let Some(heading) = lines.next().and_then(|line| line.strip_prefix("✖ ")) else { return };
    if heading.to_lowercase().ends_with("# todo") {
        return;
    }
    let name = heading.rsplit_once(" (").map_or(heading, |(name, _)| name);
    let message = lines.map(|line| line.strip_prefix("  ").unwrap_or(line)).collect::<Vec<_>>().join("\n");
    let file = Some(place.within_project(path)).filter(|_| !path.is_empty());
    let test = ReadTest { title: name.to_owned(), full_name: name.to_owned(), file, line, message, ..ReadTest::default() };
    facts.run.add(TestOutcome::Failed, test);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Returned;
    use proctor_model::Tool;

    const TWO_FILES: &str = "TAP version 13\n# Subtest: /project/a.test.js\nok 1 - /project/a.test.js\n# Subtest: fine\nok 2 - fine\n\
         1..2\n# tests 2\n# suites 0\n# pass 2\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n";

    #[test]
    fn a_test_that_began_and_never_ended_is_no_success() {
        let judged = |more: &str, code: i32| {
            let report = TWO_FILES.replace("1 - /project/a.test.js", "1 - one").replace("/project/a.test.js", "one") + more;
            let report = ToolReport::Fresh(report.into_bytes());
            Returned { report, ..Returned::exited(Tool::NodeTest, "node --test", code) }.interpret()
        };
        assert_eq!(judged("", 0).category, CategoryCode::TestsPassed);
        for file in ["/project/src/a.test.js", "file:///project/src/a.test.js"] {
            let two = format!("# proctor-unended [\"{file}\",\"two\"]\n# proctor-unended [\"{file}\",\"three\"]\n");
            let seen = judged(&two, 0);
            assert_eq!(seen.category, CategoryCode::ReportIncomplete, "{}", seen.reason);
            let words = "`src/a.test.js` ended before its test `two` did, and 1 more test(s) did not either; look for a call";
            assert!(seen.reason.contains(words), "{}", seen.reason);
        }
        assert_eq!(judged("# proctor-unended nonsense\n", 0).category, CategoryCode::ReportIncomplete);
    }

    /// Without totals, or without a plan, the run did not come to its end.
    #[test]
    fn a_report_without_its_summary_is_no_success() {
        let judged = |report: String| {
            let report = ToolReport::Fresh(report.into_bytes());
            Returned { report, ..Returned::exited(Tool::NodeTest, "node --test", 0) }.interpret().category
        };
        let (tests, _) = TWO_FILES.split_once("1..2").expect("it has a plan");
        for report in [tests.to_owned(), format!("{tests}1..2\n"), TWO_FILES.replace("1..2\n", "")] {
            assert_eq!(judged(report.clone()), CategoryCode::ReportIncomplete, "{report}");
        }
        // What was printed for people has no totals either if the process of the tests ended early.
        let printed = Returned::exited(Tool::NodeTest, "node --test", 0).saying("✔ one (0.5ms)\n", "").interpret();
        assert!(!matches!(printed.category, CategoryCode::TestsPassed | CategoryCode::Clean), "{}", printed.reason);
    }

    #[test]
    fn a_file_with_tests_that_told_none_is_no_success() {
        let judged = |command: &str, source: fn(&Path, &Path) -> Option<String>| {
            let report = ToolReport::Fresh(TWO_FILES.as_bytes().to_vec());
            let returned = Returned { report, source, ..Returned::exited(Tool::NodeTest, command, 0) };
            returned.interpret()
        };
        let tests: fn(&Path, &Path) -> Option<String> = |_, path| {
            (path == Path::new("a.test.js")).then(|| "import test from 'node:test';\nawait test(\"a\", () => {});\n".to_owned())
        };
        let ended = judged("node --test", tests);
        assert_eq!(ended.category, CategoryCode::ReportIncomplete);
        assert!(ended.reason.contains("`a.test.js` has tests and told none of them"), "{}", ended.reason);
        assert_eq!(judged("node --test --test-name-pattern=fine", tests).category, CategoryCode::TestsPassed);
        assert_eq!(judged("node --test", |_, _| None).category, CategoryCode::TestsPassed);
        let helps = |_: &Path, _: &Path| {
            Some("import { test } from 'node:test';\nconst t = (name) => test(name);\n  test('x');\n".to_owned())
        };
        assert_eq!(judged("node --test", helps).category, CategoryCode::TestsPassed);
    }
}
