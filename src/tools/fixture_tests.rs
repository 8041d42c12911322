//! Real outputs of real tools, captured, and what they amount to. A fixture nobody claims fails the tests, and so does a claim
//! without its fixture.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::model::{ActionEnd, CategoryCode, CoverageTarget, Diagnostic, DiagnosticSummary, Interpretation, Tool, ToolReport};
use crate::tools::samples::{Returned, stream};

const NO_LINE_END: &str = "\n<<< no line end >>>\n";

/// What a fixture is expected to amount to: its path, its category, three counts, and a part of its reason.
///
/// The counts are passed, failed and skipped tests, or errors, warnings and files of diagnostics.
struct Claim(&'static str, CategoryCode, [u64; 3], &'static str);

#[rustfmt::skip]
const CLAIMS: &[Claim] = &[
    Claim("eslint/10.15.0/bad-option.txt", CategoryCode::UsageError, [0, 0, 0], "Invalid option '--nope'"),
    Claim("eslint/10.15.0/broken-config.txt", CategoryCode::UsageError, [0, 0, 0], "Configuration for rule"),
    Claim("eslint/10.15.0/clean-json.txt", CategoryCode::Clean, [0, 0, 0], "found nothing"),
    Claim("eslint/10.15.0/clean.txt", CategoryCode::Clean, [0, 0, 0], "found nothing"),
    Claim("eslint/10.15.0/fatal-json.txt", CategoryCode::Findings, [1, 0, 1], "bad.js:1 Parsing error"),
    Claim("eslint/10.15.0/findings-json.txt", CategoryCode::Findings, [4, 1, 2], "a.js:1 'x' is assigned"),
    Claim("eslint/10.15.0/findings.txt", CategoryCode::Findings, [4, 1, 2], "a.js:1 'x' is assigned"),
    Claim("eslint/10.15.0/format-unix.txt", CategoryCode::UsageError, [0, 0, 0], "unix formatter"),
    Claim("eslint/10.15.0/missing-plugin.txt", CategoryCode::UsageError, [0, 0, 0], "Cannot find package 'eslint-plugin-nope'"),
    Claim("eslint/10.15.0/no-config.txt", CategoryCode::UsageError, [0, 0, 0], "couldn't find an eslint.config"),
    Claim("eslint/10.15.0/no-files.txt", CategoryCode::UsageError, [0, 0, 0], "No files matching"),
    Claim("eslint/10.15.0/rule-crashes.txt", CategoryCode::InternalError, [0, 0, 0], "TypeError: boom"),
    Claim("eslint/10.15.0/syntax-error-in-config.txt", CategoryCode::UsageError, [0, 0, 0], "SyntaxError"),
    Claim("eslint/10.15.0/too-many-warnings.txt", CategoryCode::Findings, [0, 1, 1], "1 warning(s)"),
    Claim("eslint/10.15.0/warnings-json.txt", CategoryCode::Findings, [0, 1, 1], "warn.js:1 Unexpected console"),
    Claim("eslint/10.15.0/warnings.txt", CategoryCode::Findings, [0, 1, 1], "warn.js:1 Unexpected console"),
    Claim("eslint/9.39.5/bad-option.txt", CategoryCode::UsageError, [0, 0, 0], "Invalid option '--nope'"),
    Claim("eslint/9.39.5/broken-config.txt", CategoryCode::UsageError, [0, 0, 0], "Configuration for rule"),
    Claim("eslint/9.39.5/clean-json.txt", CategoryCode::Clean, [0, 0, 0], "found nothing"),
    Claim("eslint/9.39.5/clean.txt", CategoryCode::Clean, [0, 0, 0], "found nothing"),
    Claim("eslint/9.39.5/fatal-json.txt", CategoryCode::Findings, [1, 0, 1], "bad.js:1 Parsing error"),
    Claim("eslint/9.39.5/findings-json.txt", CategoryCode::Findings, [4, 1, 2], "a.js:1 'x' is assigned"),
    Claim("eslint/9.39.5/findings.txt", CategoryCode::Findings, [4, 1, 2], "a.js:1 'x' is assigned"),
    Claim("eslint/9.39.5/format-unix.txt", CategoryCode::UsageError, [0, 0, 0], "unix formatter"),
    Claim("eslint/9.39.5/missing-plugin.txt", CategoryCode::UsageError, [0, 0, 0], "Cannot find package 'eslint-plugin-nope'"),
    Claim("eslint/9.39.5/no-config.txt", CategoryCode::UsageError, [0, 0, 0], "couldn't find an eslint.config"),
    Claim("eslint/9.39.5/no-files.txt", CategoryCode::UsageError, [0, 0, 0], "No files matching"),
    Claim("eslint/9.39.5/rule-crashes.txt", CategoryCode::InternalError, [0, 0, 0], "TypeError: boom"),
    Claim("eslint/9.39.5/syntax-error-in-config.txt", CategoryCode::UsageError, [0, 0, 0], "SyntaxError"),
    Claim("eslint/9.39.5/too-many-warnings.txt", CategoryCode::Findings, [0, 1, 1], "1 warning(s)"),
    Claim("eslint/9.39.5/warnings-json.txt", CategoryCode::Findings, [0, 1, 1], "warn.js:1 Unexpected console"),
    Claim("eslint/9.39.5/warnings.txt", CategoryCode::Findings, [0, 1, 1], "warn.js:1 Unexpected console"),
    Claim("eslint/absent/npx.txt", CategoryCode::ToolNotFound, [0, 0, 0], "npm ci"),
    Claim("pytest/7.4.4/async-without-plugin.txt", CategoryCode::NoTestsExecuted, [0, 0, 1], "1 skipped"),
    Claim("pytest/7.4.4/conftest-import-error.txt", CategoryCode::ConftestError, [0, 0, 0], "conftest.py': ModuleNotFoundError: No module named 'not_there'"),
    Claim("pytest/7.4.4/fail.txt", CategoryCode::TestsFailed, [1, 1, 0], "test_a::test_bad: assert 1 == 2"),
    Claim("pytest/7.4.4/failure-and-teardown-error.txt", CategoryCode::TestsFailed, [0, 1, 0], "1 of 1 tests failed"),
    Claim("pytest/7.4.4/missing-module.txt", CategoryCode::CollectionError, [0, 1, 0], "No module named 'not_there'"),
    Claim("pytest/7.4.4/setup-plan.txt", CategoryCode::NoTestsExecuted, [0, 0, 0], "--setup-plan"),
    Claim("pytest/7.4.4/sigint.txt", CategoryCode::Interrupted, [1, 0, 0], "1 cut off"),
    Claim("pytest/7.4.4/subtest.txt", CategoryCode::TestsFailed, [0, 1, 0], "1 == 1"),
    Claim("pytest/7.4.4/sys-exit-at-import.txt", CategoryCode::CollectionError, [0, 1, 0], "SystemExit: 0"),
    Claim("pytest/7.4.4/teardown-error.txt", CategoryCode::TestsFailed, [0, 1, 0], "failed on teardown"),
    Claim("pytest/9.2.0/all-skipped.txt", CategoryCode::NoTestsExecuted, [0, 0, 2], "2 skipped"),
    Claim("pytest/9.2.0/collect-only.txt", CategoryCode::NoTestsExecuted, [0, 0, 0], "--collect-only"),
    Claim("pytest/9.2.0/conftest-import-error.txt", CategoryCode::ConftestError, [0, 0, 0], "conftest.py': ModuleNotFoundError: No module named 'not_there'"),
    Claim("pytest/9.2.0/conftest-in-subdirectory.txt", CategoryCode::CollectionError, [0, 1, 0], "sub: ModuleNotFoundError"),
    Claim("pytest/9.2.0/conftest-syntax-error.txt", CategoryCode::ConftestError, [0, 0, 0], "conftest.py': SyntaxError"),
    Claim("pytest/9.2.0/continue-on-collection-errors.txt", CategoryCode::CollectionError, [1, 1, 0], "1 other test(s) passed"),
    Claim("pytest/9.2.0/exit-status-forged.txt", CategoryCode::Inconsistent, [0, 1, 0], "changes the exit status"),
    Claim("pytest/9.2.0/fail.txt", CategoryCode::TestsFailed, [1, 1, 0], "test_a::test_bad: assert 1 == 2"),
    Claim("pytest/9.2.0/failure-and-teardown-error.txt", CategoryCode::TestsFailed, [0, 1, 0], "1 of 1 tests failed"),
    Claim("pytest/9.2.0/fixture-error.txt", CategoryCode::TestsFailed, [0, 1, 0], "RuntimeError: fx"),
    Claim("pytest/9.2.0/internal-error.txt", CategoryCode::InternalError, [0, 1, 0], "RuntimeError: no"),
    Claim("pytest/9.2.0/max-warnings.txt", CategoryCode::MaxWarnings, [1, 0, 0], "--max-warnings"),
    Claim("pytest/9.2.0/missing-fixture.txt", CategoryCode::TestsFailed, [0, 1, 0], "fixture 'no_such_fixture' not found"),
    Claim("pytest/9.2.0/missing-module.txt", CategoryCode::CollectionError, [0, 1, 0], "No module named 'not_there'"),
    Claim("pytest/9.2.0/no-tests.txt", CategoryCode::NoTestsCollected, [0, 0, 0], "collected no test"),
    Claim("pytest/9.2.0/os-exit-0.txt", CategoryCode::ReportMissing, [0, 0, 0], "without a test report"),
    Claim("pytest/9.2.0/pass.txt", CategoryCode::TestsPassed, [1, 0, 0], "1 passed"),
    Claim("pytest/9.2.0/pytest-exit-0.txt", CategoryCode::ReportIncomplete, [1, 0, 0], "cut short"),
    Claim("pytest/9.2.0/sessionfinish-raises.txt", CategoryCode::FailedOutsideTests, [1, 0, 0], "RuntimeError: no"),
    Claim("pytest/9.2.0/setup-plan.txt", CategoryCode::NoTestsExecuted, [0, 0, 0], "--setup-plan"),
    Claim("pytest/9.2.0/sigint.txt", CategoryCode::Interrupted, [1, 0, 0], "1 cut off"),
    Claim("pytest/9.2.0/subtest.txt", CategoryCode::TestsFailed, [0, 1, 0], "1 == 1"),
    Claim("pytest/9.2.0/syntax-error.txt", CategoryCode::CollectionError, [0, 1, 0], "SyntaxError: invalid syntax"),
    Claim("pytest/9.2.0/unknown-option.txt", CategoryCode::UsageError, [0, 0, 0], "unrecognized arguments: --no-such-option"),
    Claim("pytest/9.2.0/xpass.txt", CategoryCode::TestsPassed, [1, 0, 0], "1 passed"),
    Claim("pytest/absent/python-m.txt", CategoryCode::ToolNotFound, [0, 0, 0], "No module named pytest"),
    Claim("pytest/plugins/coverage-below.txt", CategoryCode::CoverageBelowTarget, [1, 0, 0], "66.67 %, below the required 90 %"),
    Claim("pytest/plugins/coverage-met.txt", CategoryCode::TestsPassed, [1, 0, 0], "1 passed"),
    Claim("pytest/plugins/coverage-without-tests.txt", CategoryCode::NoTestsCollected, [0, 0, 0], "coverage is below its target"),
    Claim("pytest/plugins/rerun-passes.txt", CategoryCode::TestsPassed, [1, 0, 0], "1 passed"),
    Claim("pytest/plugins/xdist-worker-crash.txt", CategoryCode::TestsFailed, [2, 1, 0], "worker 'gw"),
    Claim("tsc/5.9.3/clean.txt", CategoryCode::Clean, [0, 0, 0], "found nothing"),
    Claim("tsc/5.9.3/findings-pretty.txt", CategoryCode::Findings, [5, 0, 1], "a.ts:2 TS2322"),
    Claim("tsc/5.9.3/findings.txt", CategoryCode::Findings, [5, 0, 1], "a.ts:2 TS2322"),
    Claim("tsc/5.9.3/help.txt", CategoryCode::UsageError, [0, 0, 0], "printed its help"),
    Claim("tsc/5.9.3/missing-project.txt", CategoryCode::UsageError, [1, 0, 0], "TS5058"),
    Claim("tsc/5.9.3/no-inputs.txt", CategoryCode::UsageError, [1, 0, 0], "TS18003"),
    Claim("tsc/5.9.3/unknown-option.txt", CategoryCode::UsageError, [1, 0, 0], "TS5023"),
    Claim("tsc/5.9.3/unknown-setting.txt", CategoryCode::UsageError, [1, 0, 1], "TS5023"),
    Claim("tsc/7.0.2/clean.txt", CategoryCode::Clean, [0, 0, 0], "found nothing"),
    Claim("tsc/7.0.2/findings-pretty.txt", CategoryCode::Findings, [5, 0, 1], "a.ts:2 TS2322"),
    Claim("tsc/7.0.2/findings.txt", CategoryCode::Findings, [5, 0, 1], "a.ts:2 TS2322"),
    Claim("tsc/7.0.2/help.txt", CategoryCode::UsageError, [0, 0, 0], "printed its help"),
    Claim("tsc/7.0.2/missing-project.txt", CategoryCode::UsageError, [1, 0, 0], "TS5058"),
    Claim("tsc/7.0.2/no-inputs.txt", CategoryCode::UsageError, [1, 0, 0], "TS18003"),
    Claim("tsc/7.0.2/unknown-option.txt", CategoryCode::UsageError, [1, 0, 0], "TS5023"),
    Claim("tsc/7.0.2/unknown-setting.txt", CategoryCode::UsageError, [1, 0, 1], "TS5023"),
    Claim("tsc/absent/npx.txt", CategoryCode::ToolNotFound, [0, 0, 0], "npm ci"),
];

struct Fixture {
    tool: Tool,
    command: String,
    code: i32,
    stdout: String,
    stderr: String,
    report: Option<String>,
    coverage: Option<String>,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tools")
}

fn read(path: &str) -> Fixture {
    let text = fs::read_to_string(directory().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut parts = text.split("<<< ");
    let head = parts.next().expect("a split has a first part");
    let section = |name: &str| {
        let start = format!("<<< {name} >>>\n");
        let rest = &text[text.find(&start)? + start.len()..];
        let end = ["stdout", "stderr", "report", "coverage"]
            .iter()
            .filter_map(|next| rest.find(&format!("<<< {next} >>>\n")))
            .min()
            .unwrap_or(rest.len());
        let section = &rest[..end];
        Some(section.strip_suffix(NO_LINE_END).unwrap_or(section).to_owned())
    };
    let line = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(|rest| rest.trim().to_owned());
    Fixture {
        tool: match path.split('/').next() {
            Some("pytest") => Tool::Pytest,
            Some("tsc") => Tool::Tsc,
            Some("eslint") => Tool::Eslint,
            other => panic!("{other:?} is no tool"),
        },
        command: line("command").expect("a fixture names its command"),
        code: line("exit").and_then(|code| code.parse().ok()).expect("a fixture names its exit code"),
        stdout: section("stdout").unwrap_or_default(),
        stderr: section("stderr").unwrap_or_default(),
        report: section("report"),
        coverage: section("coverage"),
    }
}

fn interpret(path: &str) -> Interpretation {
    let fixture = read(path);
    let fresh =
        |text: &Option<String>| text.as_ref().map_or(ToolReport::Missing, |text| ToolReport::Fresh(text.clone().into_bytes()));
    let mut returned = Returned::exited(fixture.tool, &fixture.command, fixture.code);
    returned.end = ActionEnd::Exited { code: fixture.code };
    returned.stdout = stream(&fixture.stdout);
    returned.stderr = stream(&fixture.stderr);
    if fixture.tool == Tool::Pytest {
        returned.report = fresh(&fixture.report);
        returned.channel = Some("argument");
    }
    if fixture.coverage.is_some() {
        returned.action.coverage = Some(CoverageTarget { minimum_basis_points: 9000, report: "coverage.json".to_owned() });
        returned.coverage = fresh(&fixture.coverage);
    }
    returned.interpret()
}

fn counts(interpretation: &Interpretation) -> [u64; 3] {
    match &interpretation.test_results {
        Some(results) => [results.counts.passed, results.counts.failed, results.counts.skipped],
        None => {
            let summary = interpretation.counts_override.unwrap_or_else(|| DiagnosticSummary::of(&interpretation.diagnostics));
            [summary.errors, summary.warnings, summary.total_files]
        }
    }
}

fn all_fixtures() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![directory()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).expect("the fixtures can be read").flatten() {
            if entry.path().is_dir() {
                waiting.push(entry.path());
            } else {
                let path = entry.path();
                let relative = path.strip_prefix(directory()).expect("it was found there");
                found.insert(relative.to_str().expect("our file names are UTF-8").to_owned());
            }
        }
    }
    found
}

#[test]
fn every_fixture_amounts_to_what_is_claimed() {
    for Claim(path, category, expected, part) in CLAIMS {
        let interpretation = interpret(path);
        assert_eq!(
            (interpretation.category, counts(&interpretation)),
            (*category, *expected),
            "{path}: {}",
            interpretation.reason
        );
        assert!(interpretation.reason.contains(part), "{path}: {}", interpretation.reason);
        assert!(!interpretation.reason.contains('\n'), "{path}: a reason is one line");
    }
}

#[test]
fn every_fixture_is_claimed_once() {
    let claimed: BTreeSet<String> = CLAIMS.iter().map(|claim| claim.0.to_owned()).collect();
    assert_eq!(claimed.len(), CLAIMS.len());
    assert_eq!(all_fixtures(), claimed);
}

#[test]
fn a_failed_test_says_where_it_failed() {
    for version in ["7.4.4", "9.2.0"] {
        let failures = interpret(&format!("pytest/{version}/fail.txt")).test_results.expect("a report").failures;
        let [failure] = failures.as_slice() else { panic!("{version}: {failures:?}") };
        assert_eq!((failure.test_file.as_deref(), failure.line), (Some("test_a.py"), Some(6)), "{version}");
        assert_eq!((failure.test_name.as_str(), failure.error.as_str()), ("test_a::test_bad", "assert 1 == 2"), "{version}");
        assert!(failure.stack.as_deref().is_some_and(|stack| stack.contains(">       assert 1 == 2")), "{version}");
    }
    let syntax = interpret("pytest/9.2.0/syntax-error.txt").test_results.expect("a report").failures;
    assert_eq!((syntax[0].test_file.as_deref(), syntax[0].line), (Some("test_a.py"), Some(1)));
    let fixture = interpret("pytest/9.2.0/missing-fixture.txt").test_results.expect("a report").failures;
    assert_eq!((fixture[0].test_file.as_deref(), fixture[0].line), (Some("test_a.py"), Some(1)));
}

#[test]
fn missing_modules_are_named() {
    for path in
        ["pytest/7.4.4/missing-module.txt", "pytest/9.2.0/missing-module.txt", "pytest/9.2.0/conftest-in-subdirectory.txt"]
    {
        let interpretation = interpret(path);
        assert_eq!(interpretation.missing_modules, ["not_there"], "{path}");
        assert!(interpretation.only_missing_modules, "{path}");
    }
    assert!(!interpret("pytest/9.2.0/syntax-error.txt").only_missing_modules);
}

#[test]
fn what_changes_nothing_is_still_said() {
    assert_eq!(interpret("pytest/9.2.0/xpass.txt").warnings.len(), 1);
    assert_eq!(interpret("pytest/9.2.0/max-warnings.txt").warnings.len(), 1);
    assert_eq!(interpret("pytest/plugins/rerun-passes.txt").warnings.len(), 1);
    assert_eq!(interpret("eslint/9.39.5/findings-json.txt").warnings, ["1 finding(s) are suppressed by comments in the code"]);
    assert!(interpret("eslint/9.39.5/too-many-warnings.txt").warnings[0].contains("--max-warnings"));
}

#[test]
fn both_printed_forms_of_tsc_say_the_same() {
    for version in ["5.9.3", "7.0.2"] {
        let plain = interpret(&format!("tsc/{version}/findings.txt")).diagnostics;
        let pretty = interpret(&format!("tsc/{version}/findings-pretty.txt")).diagnostics;
        let bare: Vec<Diagnostic> =
            pretty.iter().map(|found| Diagnostic { source: None, related_information: Vec::new(), ..found.clone() }).collect();
        assert_eq!(plain, bare, "{version}");
        assert_eq!(plain[2].message.lines().count(), 3, "{version}: what is indented belongs to the message");
        assert_eq!(pretty[0].source.as_deref(), Some("const p: P = { name: 1, inner: { a: \"x\" } };"), "{version}");
        let related = &pretty[3].related_information[0];
        assert_eq!((related.file.as_deref(), related.line, related.column), (Some("a.ts"), Some(1), Some(29)), "{version}");
        assert_eq!(related.message, "'inner' is declared here.", "{version}");
    }
}

#[test]
fn both_forms_of_eslint_say_the_same() {
    for version in ["9.39.5", "10.15.0"] {
        let stylish = interpret(&format!("eslint/{version}/findings.txt")).diagnostics;
        let json = interpret(&format!("eslint/{version}/findings-json.txt")).diagnostics;
        let bare: Vec<Diagnostic> = json
            .iter()
            .map(|found| Diagnostic {
                end_line: None,
                end_column: None,
                source: None,
                fixable: None,
                fix: None,
                message: found.message.trim_end_matches('.').to_owned(),
                ..found.clone()
            })
            .collect();
        assert_eq!(stylish, bare, "{version}");
        assert_eq!(json[1].source.as_deref(), Some("var y = 2"), "{version}");
        assert_eq!(json.iter().filter(|found| found.fixable == Some(true)).count(), 1, "{version}");
        assert!(json[1].fix.as_ref().is_some_and(|fix| fix.automated), "{version}");
    }
}
