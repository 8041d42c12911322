//! Compares the results of real tools' captured outputs with the expected ones. A fixture without an expected result fails the
//! tests, and so does an expected result without a fixture.

use std::collections::BTreeSet;
use std::fs;

use crate::asked;
use crate::captured::{directory, interpret};
use crate::counting::CLAIMS as COUNTING_CLAIMS;
use crate::fixture_claims::{CLAIMS, Claim};
use crate::known_runner_tests::CLAIMS as KNOWN_RUNNER_CLAIMS;
use proctor_model::{Diagnostic, DiagnosticSummary, FurtherTestCounts, Interpretation};

fn counts(interpretation: &Interpretation) -> [u64; 3] {
    match &interpretation.test_results {
        Some(results) => [results.counts.passed, results.counts.failed, results.counts.skipped],
        None => {
            let summary = interpretation.counts_override.unwrap_or_else(|| DiagnosticSummary::of(&interpretation.diagnostics));
            [summary.errors, summary.warnings, summary.total_files]
        }
    }
}

fn claims() -> impl Iterator<Item = &'static Claim> {
    CLAIMS.iter().chain(COUNTING_CLAIMS).chain(asked::CLAIMS).chain(KNOWN_RUNNER_CLAIMS)
}

pub(super) fn all_fixtures() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![directory()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).expect("the fixtures can be read").flatten() {
            if entry.path().is_dir() {
                waiting.push(entry.path());
            } else if entry.file_name() != "README.md" {
                let path = entry.path();
                let relative = path.strip_prefix(directory()).expect("it was found there");
                found.insert(relative.to_str().expect("our file names are UTF-8").to_owned());
            }
        }
    }
    found
}

#[test]
fn j2_every_captured_output_amounts_to_what_is_claimed() {
    for Claim(path, category, expected, part) in claims() {
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
    let claimed: BTreeSet<String> = claims().map(|claim| claim.0.to_owned()).collect();
    assert_eq!(claimed.len(), claims().count());
    assert_eq!(all_fixtures(), claimed);
}

#[test]
fn a_failed_test_says_where_it_failed() {
    for version in ["7.4.4", "9.2.0"] {
        let failures = interpret(&format!("pytest/{version}/fail.txt")).test_results.expect("a report").failures;
        let [failure] = failures.as_slice() else { panic!("{version}: {failures:?}") };
        assert_eq!((failure.test_file.as_deref(), failure.line), (Some("test_a.py"), Some(6)), "{version}");
        assert_eq!((failure.stable_name(), failure.error.as_str()), ("test_a::test_bad", "assert 1 == 2"), "{version}");
        assert!(failure.stack.as_deref().is_some_and(|stack| stack.contains(">       assert 1 == 2")), "{version}");
    }
    let syntax = interpret("pytest/9.2.0/syntax-error.txt").test_results.expect("a report").failures;
    assert_eq!((syntax[0].test_file.as_deref(), syntax[0].line), (Some("test_a.py"), Some(1)));
    let fixture = interpret("pytest/9.2.0/missing-fixture.txt").test_results.expect("a report").failures;
    assert_eq!((fixture[0].test_file.as_deref(), fixture[0].line), (Some("test_a.py"), Some(1)));
}

/// Vitest shortens both values in its sentence, until they are equal.
#[test]
fn values_that_a_sentence_hides_are_taken_from_the_difference() {
    let failures = interpret("vitest/4.1.12/deep-difference.txt").test_results.expect("a report").failures;
    assert!(failures[0].error.contains("customer: { …(2) }"), "{failures:?}");
    let values = (failures[0].expected.as_deref(), failures[0].received.as_deref());
    assert_eq!(values, (Some("\"city\": \"Ulm\",\n3,"), Some("\"city\": \"Rom\",\n2,")));
}

#[test]
fn v11_counts_of_other_kinds_are_those_that_the_tool_prints() {
    let further = |path: &str| interpret(path).test_results.expect("tests were read").further;
    assert_eq!(further("cargo-test/1.95.0/filtered.txt"), FurtherTestCounts { deselected: 4, ..FurtherTestCounts::default() });
    assert_eq!(further("cargo-test/nextest-0.9.143/flaky.txt"), FurtherTestCounts { reruns: 1, ..FurtherTestCounts::default() });
    for path in ["fail.txt", "fail-tap-printed.txt", "fail-spec-printed.txt"] {
        let todo = further(&format!("node-test/20.20.2/{path}")).todo;
        assert_eq!(todo, 1, "{path}");
    }
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
    assert_eq!(interpret("eslint/9.39.5/findings-json.txt").warnings, ["1 finding(s) are suppressed by comments in the code"]);
    assert!(interpret("eslint/9.39.5/too-many-warnings.txt").warnings[0].contains("--max-warnings"));
}

#[test]
fn c70_both_printed_forms_of_tsc_say_the_same() {
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

#[test]
fn both_forms_of_ruff_say_the_same_in_every_version() {
    for version in ["0.1.15", "0.4.10", "0.17.6"] {
        let printed = interpret(&format!("ruff/{version}/findings.txt")).diagnostics;
        let json = interpret(&format!("ruff/{version}/findings-json.txt")).diagnostics;
        let bare: Vec<Diagnostic> =
            json.iter().map(|found| Diagnostic { end_line: None, end_column: None, fix: None, ..found.clone() }).collect();
        assert_eq!(printed, bare, "{version}");
        assert!(json[0].fix.as_ref().is_some_and(|fix| fix.automated && fix.suggestion.contains("Remove unused import")));
        assert_eq!(
            (json[2].rule_id.as_deref(), json[2].fixable),
            (Some("F841"), Some(false)),
            "an unsafe fix is not made by itself"
        );
    }
}

#[test]
fn the_forms_of_mypy_say_the_same() {
    let of = |name: &str| interpret(&format!("mypy/2.4.1/{name}.txt")).diagnostics;
    let (columns, json) = (of("findings-columns"), of("findings-json"));
    assert_eq!(columns, of("findings-columns-pretty"));
    let places = |found: &[Diagnostic]| {
        let place =
            |found: &Diagnostic| (found.file.clone(), found.line, found.column, found.rule_id.clone(), found.message.clone());
        found.iter().map(place).collect::<Vec<_>>()
    };
    assert_eq!(places(&columns), places(&json));
    assert_eq!((columns[2].column, columns[2].rule_id.as_deref()), (Some(3), Some("arg-type")));
    let notes: Vec<_> = columns[2].related_information.iter().map(|note| note.message.as_str()).collect();
    assert!(
        matches!(notes[..], [first, "Consider using \"Sequence\" instead, which is covariant"] if first.contains("invariant"))
    );
    assert_eq!(interpret("mypy/2.4.1/broken-config.txt").warnings.len(), 1, "what mypy leaves out is said");
}

#[test]
fn the_forms_of_pylint_say_the_same_and_have_levels() {
    let json = interpret("pylint/4.1.4/findings-json.txt").diagnostics;
    let parseable = interpret("pylint/4.1.4/findings-parseable.txt").diagnostics;
    let names = |found: &[Diagnostic]| {
        found.iter().map(|found| (found.line, found.code.clone(), found.rule_id.clone(), found.severity)).collect::<Vec<_>>()
    };
    assert_eq!(names(&json), names(&parseable));
    let error = json.iter().find(|found| found.code.as_deref() == Some("E0602")).expect("the error");
    assert_eq!((error.line, error.column, error.rule_id.as_deref()), (Some(4), Some(12), Some("undefined-variable")));
}

#[test]
fn a_failed_node_test_says_where_it_failed_and_what_was_expected() {
    for (path, line) in [
        ("jest/27.5.1/fail.txt", 4),
        ("jest/29.7.0/fail.txt", 4),
        ("jest/30.5.2/fail.txt", 4),
        ("vitest/2.1.9/fail.txt", 5),
        ("vitest/3.2.7/fail.txt", 5),
        ("vitest/4.1.12/fail.txt", 5),
    ] {
        let interpretation = interpret(path);
        let results = interpretation.test_results.expect("a report");
        let [failure] = results.failures.as_slice() else { panic!("{path}: {:?}", results.failures) };
        assert_eq!((failure.test_file.as_deref(), failure.line), (Some("a.test.js"), Some(line)), "{path}");
        let separator = if path.starts_with("jest") { '›' } else { '>' };
        assert_eq!(failure.test_name, format!("a.test.js {separator} quotes {separator} answers 200"), "{path}");
        assert_eq!(failure.report_name.as_deref(), Some("quotes answers 200"), "{path}");
        if path.starts_with("jest") {
            assert_eq!((failure.expected.as_deref(), failure.received.as_deref()), (Some("200"), Some("404")), "{path}");
        }
        assert_eq!(interpretation.cases.len(), 5, "{path}");
    }
}

#[test]
fn modules_that_node_tests_miss_are_named() {
    for version in ["jest/27.5.1", "jest/29.7.0", "jest/30.5.2", "vitest/1.6.1", "vitest/2.1.9", "vitest/3.2.7", "vitest/4.1.12"]
    {
        let interpretation = interpret(&format!("{version}/missing-module.txt"));
        assert_eq!(interpretation.missing_modules, ["./nope"], "{version}");
        assert!(interpretation.only_missing_modules, "{version}");
        assert!(!interpret(&format!("{version}/syntax-error.txt")).only_missing_modules, "{version}");
    }
    let focused = interpret("jest/30.5.2/only-hides-a-failure.txt").warnings;
    assert!(focused[0].contains(".only"), "{focused:?}");
    let coverage = interpret("jest/30.5.2/coverage-below.txt").coverage.expect("the line was read");
    assert_eq!((coverage.percent, coverage.required), (50.0, 90.0));
}
