//! The one table of tools and ways of doing nothing: none of them is green.
//!
//! A cell is a captured output of the tool in this version, or behind `$ ` a command that ended with exit code 0 and printed nothing, because
//! something ended the tool before it said anything, or an option keeps it from its work. Of the runners that are not read (`known_runners`), every captured output counts.

use crate::captured::captured;
use crate::fixture_tests::all_fixtures;
use crate::recognise::recognise;
use crate::samples::Returned;
use proctor_model::{CategoryCode, split_words};

/// The folder of a tool and its version, its captured success, and six ways of doing nothing: there is no file, everything is skipped or left
/// out, a filter matches nothing, the process ends with 0, help or a version is printed, and an option or setting turns a failure into less.
type Row = (&'static str, &'static str, [&'static str; 6]);

#[rustfmt::skip]
const TOOLS: &[Row] = &[
    ("pytest/9.2.0", "pass", ["no-tests", "all-skipped", "$ pytest -k zz", "os-exit-0", "$ pytest --version", "collect-only"]),
    ("jest/30.5.2", "pass", ["no-tests", "all-skipped", "pass-with-no-tests", "process-exit-0", "$ jest --version", "$ jest --passWithNoTests"]),
    ("node-test/20.20.2", "pass", ["no-files", "all-skipped", "pattern-matches-nothing", "process-exit-0", "version", "only-suites"]),
    ("mocha/12.0.3", "pass", ["no-tests", "all-skipped", "filter-matches-nothing", "exit-0-in-test", "version", "failures-are-no-failure"]),
    ("playwright/1.65.1", "pass", ["no-tests", "all-skipped", "filter-matches-nothing", "exit-0-in-test", "version", "no-tests-allowed"]),
    ("bun-test/1.4.5", "pass", ["no-tests", "all-skipped", "filter-matches-nothing", "exit-0-in-test", "version", "no-tests-allowed"]),
    ("deno-test/2.9.6", "pass", ["no-tests", "all-skipped", "filter-matches-nothing", "exit-0-in-test", "version", "no-tests-allowed"]),
    ("ava/7.0.0", "pass", ["no-tests", "all-skipped", "filter-matches-nothing", "exit-0-in-test", "version", "file-without-tests"]),
    ("ty/0.0.108", "clean", ["no-files", "filter-matches-nothing", "missing-path", "$ ty check", "version", "exit-zero"]),
    ("pyrefly/1.5.0", "clean", ["no-files", "filter-matches-nothing", "missing-path", "$ pyrefly check", "version", "warnings"]),
    ("pyright/1.1.414", "clean", ["no-files", "filter-matches-nothing", "bad-include", "$ pyright", "version", "warnings"]),
    ("pyright/basedpyright-1.40.2", "clean", ["no-files", "filter-matches-nothing", "bad-include", "$ basedpyright", "version", "warnings"]),
    ("tsc/7.0.2", "clean", ["no-inputs", "$ tsc --listFilesOnly", "missing-project", "$ tsc --init", "help", "$ tsc --noCheck"]),
    ("oxlint/1.94.0", "clean", ["no-files", "all-ignored", "filter-matches-nothing", "$ npx oxlint", "version", "warnings"]),
    ("biome/2.6.8", "clean", ["no-files", "unmatched-allowed", "missing-path", "$ npx @biomejs/biome check", "version", "rules-off"]),
    ("clippy/0.1.95", "clean", ["no-manifest", "no-target", "missing-target", "$ cargo clippy", "version-of-clippy", "warnings"]),
    ("pre-commit/4.7.0", "clean", ["no-files", "skip", "missing-hook", "$ pre-commit run --all-files", "version", "nothing-staged"]),
    ("pre-commit/prek-0.5.11", "clean", ["no-files", "skip", "missing-hook", "$ prek run --all-files", "version", "nothing-staged"]),
];

/// The runners whose process a file of the project's configuration may end too.
const BY_CONFIGURATION: [&str; 5] = ["mocha/12.0.3", "playwright/1.65.1", "bun-test/1.4.5", "deno-test/2.9.6", "ava/7.0.0"];

fn is_green(category: CategoryCode) -> bool {
    matches!(category, CategoryCode::TestsPassed | CategoryCode::Clean | CategoryCode::ExpectedExit)
}

#[test]
fn no_way_of_doing_nothing_is_green() {
    let mut with_exit_code_0 = 0;
    for (folder, success, ways) in TOOLS {
        let (tool, _, control) = captured(&format!("{folder}/{success}.txt"));
        assert!(matches!(control.category, CategoryCode::TestsPassed | CategoryCode::Clean), "{folder}: {}", control.reason);
        for way in ways {
            let (code, seen) = match way.strip_prefix("$ ") {
                Some(command) => {
                    assert_eq!(recognise(&split_words(command).expect("words")).tool, tool, "{command}");
                    (0, Returned::exited(tool, command, 0).interpret())
                }
                None => {
                    let (_, code, seen) = captured(&format!("{folder}/{way}.txt"));
                    (code, seen)
                }
            };
            assert!(!is_green(seen.category), "{folder}/{way}: {:?} {}", seen.category, seen.reason);
            with_exit_code_0 += u32::from(code == 0);
        }
    }
    for folder in BY_CONFIGURATION {
        let (_, _, seen) = captured(&format!("{folder}/exit-0-in-config.txt"));
        assert!(!is_green(seen.category), "{folder}: {}", seen.reason);
    }
    assert!(TOOLS.len() >= 17 && with_exit_code_0 >= 40, "the tools themselves call {with_exit_code_0} of them a success");
}

/// A runner that is not read never passes without a report, and with one only where it ran tests.
#[test]
fn no_way_of_doing_nothing_is_green_for_a_runner_that_is_not_read() {
    let mut with_exit_code_0 = 0;
    for path in all_fixtures() {
        let Some((folder, name)) = path.rsplit_once('/') else { continue };
        let (_, code, seen) = captured(&path);
        if folder.starts_with("test-report/") {
            assert_eq!(is_green(seen.category), name == "pass.txt", "{path}: {:?} {}", seen.category, seen.reason);
            with_exit_code_0 += u32::from(code == 0 && name != "pass.txt");
        } else if folder.starts_with("generic/") && is_green(seen.category) {
            // The command itself leaves the tests out.
            let is_told = seen.reason.contains("nothing tells how many tests") || matches!(name, "left-out.txt" | "skipped.txt");
            assert!(seen.category == CategoryCode::ExpectedExit && is_told, "{path}: {:?} {}", seen.category, seen.reason);
        }
    }
    assert!(with_exit_code_0 >= 35, "the runners themselves call {with_exit_code_0} of them a success");
}
