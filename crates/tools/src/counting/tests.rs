//! The expected result of each captured output of these checkers, and what the ways of doing nothing amount to.

use crate::captured::interpret;
use crate::discover::{command_text, find_checks};
use crate::fixture_claims::Claim;
use crate::prepare::prepare;
use crate::project_files::fake::FakeFiles;
use crate::recognise::{recognise, recognise_script};
use crate::samples::{Returned, action};
use proctor_model::{CategoryCode, FindingLevel, Tool, split_words};
use std::path::Path;

#[rustfmt::skip]
pub(crate) const CLAIMS: &[Claim] = &[
    Claim("biome/2.6.8/broken-config.txt", CategoryCode::UsageError, [0, 0, 0], "/project/biome.json:2:1 parse"),
    Claim("biome/2.6.8/ci-clean.txt", CategoryCode::Clean, [0, 0, 0], "Biome found nothing in 1 file(s)"),
    Claim("biome/2.6.8/ci-findings.txt", CategoryCode::Findings, [4, 1, 1], "a.js:1 This is an unexpected use of the debug"),
    Claim("biome/2.6.8/clean.txt", CategoryCode::Clean, [0, 0, 0], "Biome found nothing in 1 file(s)"),
    Claim("biome/2.6.8/findings.txt", CategoryCode::Findings, [4, 1, 1], "a.js:1 This is an unexpected use of the debug"),
    Claim("biome/2.6.8/format-findings.txt", CategoryCode::Findings, [1, 0, 1], "a.js Formatter would have printed the followi"),
    Claim("biome/2.6.8/lint-findings.txt", CategoryCode::Findings, [3, 1, 1], "a.js:1 This is an unexpected use of the debug"),
    Claim("biome/2.6.8/missing-path.txt", CategoryCode::UsageError, [1, 0, 1], "Biome was given a path that is not there: now"),
    Claim("biome/2.6.8/no-files.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("biome/2.6.8/one-diagnostic.txt", CategoryCode::Findings, [4, 1, 1], "a.js:1 This is an unexpected use of the debug"),
    Claim("biome/2.6.8/own-format-findings.txt", CategoryCode::ReportUnreadable, [0, 0, 0], "Exit code 1, and Biome's output is in a forma"),
    Claim("biome/2.6.8/own-format.txt", CategoryCode::ExpectedExit, [0, 0, 0], "Biome ended with exit code 0, but in the form"),
    Claim("biome/2.6.8/rules-off.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("biome/2.6.8/syntax-error.txt", CategoryCode::Findings, [3, 0, 1], "a.js:1 expected a name for the function in a "),
    Claim("biome/2.6.8/unknown-option.txt", CategoryCode::UsageError, [0, 0, 0], "Error: no such flag: `--nope`, did you mean `"),
    Claim("biome/2.6.8/unmatched-allowed.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("biome/2.6.8/version.txt", CategoryCode::UsageError, [0, 0, 0], "biome checks nothing with `--version`; remove"),
    Claim("biome/2.6.8/warnings.txt", CategoryCode::Findings, [0, 1, 1], "a.js:1 This variable y is unused (lint/correc"),
    Claim("clippy/0.1.95/clean.txt", CategoryCode::Clean, [0, 0, 0], "Clippy found nothing in 1 target(s)"),
    Claim("clippy/0.1.95/compile-error.txt", CategoryCode::Findings, [1, 0, 1], "lib.rs:2 mismatched types (E0308)"),
    Claim("clippy/0.1.95/findings.txt", CategoryCode::Findings, [1, 0, 1], "lib.rs:2 unneeded `return` statement (clippy:"),
    Claim("clippy/0.1.95/missing-target.txt", CategoryCode::UsageError, [0, 0, 0], "error: no test target named `nowhere` in defa"),
    Claim("clippy/0.1.95/no-manifest.txt", CategoryCode::UsageError, [0, 0, 0], "error: could not find `Cargo.toml` in `/proje"),
    Claim("clippy/0.1.95/no-target.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("clippy/0.1.95/own-format.txt", CategoryCode::ExpectedExit, [0, 0, 0], "Clippy ended with exit code 0, but in the for"),
    Claim("clippy/0.1.95/unknown-option.txt", CategoryCode::UsageError, [0, 0, 0], "error: unexpected argument '--nope' found; co"),
    Claim("clippy/0.1.95/version-of-clippy.txt", CategoryCode::UsageError, [0, 0, 0], "clippy checks nothing with `--version`; remov"),
    Claim("clippy/0.1.95/version.txt", CategoryCode::UsageError, [0, 0, 0], "clippy checks nothing with `--version`; remov"),
    Claim("clippy/0.1.95/warnings.txt", CategoryCode::Findings, [0, 1, 1], "lib.rs:2 unneeded `return` statement (clippy:"),
    Claim("oxlint/1.94.0/all-ignored.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("oxlint/1.94.0/broken-config.txt", CategoryCode::UsageError, [0, 0, 0], "Failed to parse oxlint configuration file; co"),
    Claim("oxlint/1.94.0/clean.txt", CategoryCode::Clean, [0, 0, 0], "oxlint found nothing in 1 file(s)"),
    Claim("oxlint/1.94.0/deny-warnings.txt", CategoryCode::Findings, [0, 5, 1], "a.js:2 Variable 'x' is assigned a value but n"),
    Claim("oxlint/1.94.0/filter-matches-nothing.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("oxlint/1.94.0/findings.txt", CategoryCode::Findings, [5, 0, 1], "a.js:2 Variable 'x' is assigned a value but n"),
    Claim("oxlint/1.94.0/help.txt", CategoryCode::UsageError, [0, 0, 0], "oxlint checks nothing with `--help`; remove i"),
    Claim("oxlint/1.94.0/missing-path.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("oxlint/1.94.0/no-files.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("oxlint/1.94.0/own-format-findings.txt", CategoryCode::ReportUnreadable, [0, 0, 0], "Exit code 1, and oxlint's output is in a form"),
    Claim("oxlint/1.94.0/own-format.txt", CategoryCode::ExpectedExit, [0, 0, 0], "oxlint ended with exit code 0, but in the for"),
    Claim("oxlint/1.94.0/syntax-error.txt", CategoryCode::Findings, [1, 0, 1], "a.js:1 Expected `(` but found `{`"),
    Claim("oxlint/1.94.0/unknown-option.txt", CategoryCode::UsageError, [0, 0, 0], "Error: no such flag: `--nope`, did you mean `"),
    Claim("oxlint/1.94.0/version.txt", CategoryCode::UsageError, [0, 0, 0], "oxlint checks nothing with `--version`; remov"),
    Claim("oxlint/1.94.0/warnings.txt", CategoryCode::Findings, [0, 5, 1], "a.js:2 Variable 'x' is assigned a value but n"),
    Claim("pre-commit/4.7.0/broken-config.txt", CategoryCode::UsageError, [0, 0, 0], "An error has occurred: InvalidConfigError:; c"),
    Claim("pre-commit/4.7.0/clean.txt", CategoryCode::Clean, [0, 0, 0], "pre-commit found nothing in 1 hook(s)"),
    Claim("pre-commit/4.7.0/findings.txt", CategoryCode::Findings, [2, 0, 0], "finds something: a.py:1 wrong (bad); mends fi"),
    Claim("pre-commit/4.7.0/mends.txt", CategoryCode::FilesChanged, [1, 0, 0], "Hooks changed files of the check's own copy o"),
    Claim("pre-commit/4.7.0/missing-hook.txt", CategoryCode::UsageError, [0, 0, 0], "No hook with id `nowhere` in stage `pre-commi"),
    Claim("pre-commit/4.7.0/no-files.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("pre-commit/4.7.0/nothing-staged.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("pre-commit/4.7.0/skip.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("pre-commit/4.7.0/unknown-option.txt", CategoryCode::UsageError, [0, 0, 0], "pre-commit: error: unrecognized arguments: --"),
    Claim("pre-commit/4.7.0/version.txt", CategoryCode::UsageError, [0, 0, 0], "pre-commit checks nothing with `--version`; r"),
    Claim("pre-commit/prek-0.5.11/broken-config.txt", CategoryCode::UsageError, [0, 0, 0], "error: Failed to parse `.pre-commit-config.ya"),
    Claim("pre-commit/prek-0.5.11/clean.txt", CategoryCode::Clean, [0, 0, 0], "pre-commit found nothing in 1 hook(s)"),
    Claim("pre-commit/prek-0.5.11/findings.txt", CategoryCode::Findings, [2, 0, 0], "finds something: a.py:1 wrong (bad); mends fi"),
    Claim("pre-commit/prek-0.5.11/mends.txt", CategoryCode::FilesChanged, [1, 0, 0], "Hooks changed files of the check's own copy o"),
    Claim("pre-commit/prek-0.5.11/missing-hook.txt", CategoryCode::UsageError, [0, 0, 0], "error: No hooks found after filtering with th"),
    Claim("pre-commit/prek-0.5.11/no-files.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("pre-commit/prek-0.5.11/nothing-staged.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("pre-commit/prek-0.5.11/quiet.txt", CategoryCode::ExpectedExit, [0, 0, 0], "pre-commit ended with exit code 0, but in the"),
    Claim("pre-commit/prek-0.5.11/skip.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("pre-commit/prek-0.5.11/unknown-option.txt", CategoryCode::UsageError, [0, 0, 0], "error: unexpected argument '--nope' found; co"),
    Claim("pre-commit/prek-0.5.11/version.txt", CategoryCode::UsageError, [0, 0, 0], "pre-commit checks nothing with `--version`; r"),
    Claim("pyrefly/1.5.0/broken-config.txt", CategoryCode::UsageError, [0, 0, 0], "WARN Config at `/project/pyrefly.toml` failed"),
    Claim("pyrefly/1.5.0/clean.txt", CategoryCode::Clean, [0, 0, 0], "Pyrefly found nothing in 1 file(s)"),
    Claim("pyrefly/1.5.0/filter-matches-nothing.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("pyrefly/1.5.0/findings-json.txt", CategoryCode::Findings, [3, 0, 0], "3 error(s) and 0 warning(s)"),
    Claim("pyrefly/1.5.0/findings-min-text.txt", CategoryCode::Findings, [3, 0, 0], "a.py:2:10-13: `Literal['a']` is not assignabl"),
    Claim("pyrefly/1.5.0/findings.txt", CategoryCode::Findings, [3, 0, 1], "a.py:2 `Literal['a']` is not assignable to `i"),
    Claim("pyrefly/1.5.0/missing-path.txt", CategoryCode::UsageError, [0, 0, 0], "Path `/project/nowhere.py` does not exist; co"),
    Claim("pyrefly/1.5.0/no-configuration.txt", CategoryCode::Clean, [0, 0, 0], "Pyrefly found nothing in 1 file(s)"),
    Claim("pyrefly/1.5.0/no-files.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("pyrefly/1.5.0/no-summary.txt", CategoryCode::ExpectedExit, [0, 0, 0], "Pyrefly ended with exit code 0, but in the fo"),
    Claim("pyrefly/1.5.0/unknown-option.txt", CategoryCode::UsageError, [0, 0, 0], "error: unexpected argument '--nope' found; co"),
    Claim("pyrefly/1.5.0/version.txt", CategoryCode::UsageError, [0, 0, 0], "pyrefly checks nothing with `--version`; remo"),
    Claim("pyrefly/1.5.0/warnings.txt", CategoryCode::Findings, [0, 3, 1], "a.py:2 `Literal['a']` is not assignable to `i"),
    Claim("pyright/1.1.414/bad-include.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("pyright/1.1.414/clean.txt", CategoryCode::Clean, [0, 0, 0], "Pyright found nothing in 1 file(s)"),
    Claim("pyright/1.1.414/filter-matches-nothing.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("pyright/1.1.414/findings.txt", CategoryCode::Findings, [3, 0, 1], "a.py:2 Type \"Literal['a']\" is not assignable "),
    Claim("pyright/1.1.414/missing-path.txt", CategoryCode::UsageError, [0, 0, 0], "File or directory \"file:///project/nowhere.py"),
    Claim("pyright/1.1.414/no-files.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("pyright/1.1.414/unknown-option.txt", CategoryCode::UsageError, [0, 0, 0], "Unexpected option --nope; correct it"),
    Claim("pyright/1.1.414/version.txt", CategoryCode::UsageError, [0, 0, 0], "pyright checks nothing with `--version`; remo"),
    Claim("pyright/1.1.414/warnings.txt", CategoryCode::Findings, [0, 3, 1], "a.py:2 Type \"Literal['a']\" is not assignable "),
    Claim("pyright/basedpyright-1.40.2/bad-include.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("pyright/basedpyright-1.40.2/clean.txt", CategoryCode::Clean, [0, 0, 0], "Pyright found nothing in 1 file(s)"),
    Claim("pyright/basedpyright-1.40.2/filter-matches-nothing.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("pyright/basedpyright-1.40.2/findings.txt", CategoryCode::Findings, [3, 2, 1], "a.py:2 Type \"Literal['a']\" is not assignable "),
    Claim("pyright/basedpyright-1.40.2/missing-path.txt", CategoryCode::UsageError, [0, 0, 0], "File or directory \"file:///project/nowhere.py"),
    Claim("pyright/basedpyright-1.40.2/no-files.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("pyright/basedpyright-1.40.2/unknown-option.txt", CategoryCode::UsageError, [0, 0, 0], "Unexpected option --nope; correct it"),
    Claim("pyright/basedpyright-1.40.2/version.txt", CategoryCode::UsageError, [0, 0, 0], "pyright checks nothing with `--version`; remo"),
    Claim("pyright/basedpyright-1.40.2/warnings.txt", CategoryCode::Findings, [0, 4, 1], "a.py:2 Type \"Literal['a']\" is not assignable "),
    Claim("ty/0.0.108/broken-config.txt", CategoryCode::UsageError, [0, 0, 0], "/project/ty.toml is not a valid `ty.toml`; co"),
    Claim("ty/0.0.108/clean.txt", CategoryCode::Clean, [0, 0, 0], "ty found nothing in 1 file(s)"),
    Claim("ty/0.0.108/exit-zero.txt", CategoryCode::Findings, [3, 0, 1], "a.py:2 Object of type `Literal[\"a\"]` is not a"),
    Claim("ty/0.0.108/filter-matches-nothing.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("ty/0.0.108/findings-concise.txt", CategoryCode::Findings, [3, 0, 1], "a.py:2 Object of type `Literal[\"a\"]` is not a"),
    Claim("ty/0.0.108/findings.txt", CategoryCode::Findings, [3, 0, 1], "a.py:2 Object of type `Literal[\"a\"]` is not a"),
    Claim("ty/0.0.108/missing-path.txt", CategoryCode::UsageError, [1, 0, 0], "ty was given a path that is not there: `/proj"),
    Claim("ty/0.0.108/no-files.txt", CategoryCode::NothingChecked, [0, 0, 0], "had no "),
    Claim("ty/0.0.108/own-format.txt", CategoryCode::ReportUnreadable, [0, 0, 0], "Exit code 0"),
    Claim("ty/0.0.108/quiet-exit-zero.txt", CategoryCode::UsageError, [0, 0, 0], "ty checks nothing with `-q`; remove it from t"),
    Claim("ty/0.0.108/quiet.txt", CategoryCode::ExpectedExit, [0, 0, 0], "ty ended with exit code 0, but in the format "),
    Claim("ty/0.0.108/rules-off.txt", CategoryCode::Clean, [0, 0, 0], "ty found nothing in 1 file(s)"),
    Claim("ty/0.0.108/syntax-error.txt", CategoryCode::Findings, [2, 0, 1], "a.py:1 Expected a parameter or the end of the"),
    Claim("ty/0.0.108/unknown-option.txt", CategoryCode::UsageError, [0, 0, 0], "error: unexpected argument '--nope' found; co"),
    Claim("ty/0.0.108/version.txt", CategoryCode::UsageError, [0, 0, 0], "ty checks nothing with `--version`; remove it"),
    Claim("ty/0.0.108/warnings.txt", CategoryCode::Findings, [0, 3, 1], "a.py:2 Object of type `Literal[\"a\"]` is not a"),
];

#[test]
fn what_is_examined_comes_from_the_tool_itself() {
    let examined = |path: &str| interpret(path).examined.and_then(|examined| examined.count);
    for (path, expected) in [
        ("ty/0.0.108/clean.txt", Some(1)),
        ("ty/0.0.108/own-format.txt", None),
        ("pyrefly/1.5.0/findings.txt", Some(1)),
        ("pyright/1.1.414/no-files.txt", Some(0)),
        ("oxlint/1.94.0/warnings.txt", Some(1)),
        ("biome/2.6.8/ci-clean.txt", Some(1)),
        // A target of Cargo and a hook are no files.
        ("clippy/0.1.95/clean.txt", None),
        ("pre-commit/4.7.0/clean.txt", None),
    ] {
        assert_eq!(examined(path), expected, "{path}");
    }
    let remark = interpret("pyrefly/1.5.0/no-configuration.txt").warnings;
    assert!(remark[0].contains("preset `basic`"), "{remark:?}");
    let hooks = interpret("pre-commit/4.7.0/findings.txt").diagnostics;
    let codes: Vec<_> = hooks.iter().map(|found| (found.rule_id.as_deref(), found.code.as_deref())).collect();
    assert_eq!(codes, [(Some("bad"), None), (Some("mend"), Some("files-modified"))]);
    let skipped = interpret("pre-commit/4.7.0/findings.txt").warnings;
    assert_eq!(skipped, ["1 hook(s) checked nothing: no files (no files)"]);
}

#[test]
fn findings_have_their_places_and_levels_in_each_form() {
    let place = |path: &str| {
        let found = interpret(path).diagnostics;
        found.iter().map(|found| (found.line, found.column, found.severity)).collect::<Vec<_>>()
    };
    let (error, warning) = (FindingLevel::Error, FindingLevel::Warning);
    let types = [(Some(2), Some(10), error), (Some(6), Some(12), error), (Some(9), Some(7), error)];
    for path in ["ty/0.0.108/findings.txt", "ty/0.0.108/findings-concise.txt", "pyrefly/1.5.0/findings.txt"] {
        assert_eq!(place(path), types, "{path}");
    }
    assert_eq!(place("pyright/1.1.414/findings.txt"), types);
    assert_eq!(place("ty/0.0.108/warnings.txt")[0], (Some(2), Some(10), warning));
    assert_eq!(place("clippy/0.1.95/warnings.txt"), [(Some(2), Some(5), warning)], "told twice, by the library and its tests");
    assert_eq!(place("oxlint/1.94.0/findings.txt")[2], (Some(1), Some(1), error));
    assert_eq!(place("biome/2.6.8/format-findings.txt"), [(None, None, error)]);
}

#[test]
fn biome_that_may_have_checked_only_its_own_configuration_is_no_success() {
    let json = r#"{"summary":{"changed":0,"unchanged":1,"errors":0,"warnings":0},"diagnostics":[],"command":"lint"}"#;
    let said = |command: &str| {
        let mut returned = Returned::exited(Tool::Biome, command, 0).saying(json, "");
        returned.names_in = |_| vec!["biome.json".to_owned(), "src".to_owned()];
        returned.interpret()
    };
    assert_eq!(said("biome lint").category, CategoryCode::ExpectedExit);
    assert_eq!(said("biome lint .").category, CategoryCode::ExpectedExit);
    assert_eq!(said("biome lint src").category, CategoryCode::Clean);
}

#[test]
fn a_report_that_is_cut_or_printed_beside_other_lines_is_no_success() {
    let json = "{ \"diagnostics\": [],\n \"number_of_files\": 3 }";
    let said = |stdout: &str| Returned::exited(Tool::Oxlint, "oxlint", 0).saying(stdout, "").interpret();
    assert_eq!(said(&format!("> lint\n> oxlint\n\n{json}\n")).category, CategoryCode::Clean);
    assert_eq!(said("{ \"diagnostics\": [] }").category, CategoryCode::ExpectedExit, "an older version that tells no number");
    assert_eq!(said(&json[..json.len() - 1]).category, CategoryCode::ReportUnreadable);
    assert_eq!(said(&format!("x {json}")).category, CategoryCode::ReportUnreadable);
}

#[test]
fn each_checker_is_asked_unless_the_command_chooses_its_own_report() {
    let asked = |tool, command: &str| {
        let prepared = prepare(&action(tool, command), Path::new("/out"), None);
        let names = prepared.environment.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ");
        (prepared.argv.join(" "), names)
    };
    for (tool, command, expected, variables) in [
        (Tool::Ty, "ty check src", "ty check src", "TY_OUTPUT_FORMAT TY_LOG"),
        (Tool::Ty, "make types", "make types", "TY_OUTPUT_FORMAT TY_LOG"),
        (Tool::Pyrefly, "pyrefly check", "pyrefly check", "PYREFLY_VERBOSE"),
        (Tool::Pyright, "basedpyright src", "basedpyright src --outputjson", ""),
        (Tool::Pyright, "pyright --outputjson", "pyright --outputjson", ""),
        (Tool::Oxlint, "npx oxlint -- src", "npx oxlint --format=json -- src", ""),
        (Tool::Oxlint, "oxlint -funix", "oxlint -funix", ""),
        (Tool::Oxlint, "npm run lint", "npm run lint -- --format=json", ""),
        (Tool::Oxlint, "make lint", "make lint", ""),
        (Tool::Biome, "pnpm biome ci .", "pnpm biome ci . --reporter=json", ""),
        (Tool::Biome, "biome lint --reporter github", "biome lint --reporter github", ""),
        (Tool::Clippy, "cargo clippy -- -D warnings", "cargo clippy --message-format=json -- -D warnings", ""),
        (Tool::PreCommit, "prek run -a", "prek run -a", ""),
    ] {
        assert_eq!(asked(tool, command), (expected.to_owned(), variables.to_owned()));
    }
}

#[test]
fn commands_that_change_files_or_do_something_else_are_no_checks() {
    let of = |command: &str| recognise(&split_words(command).expect("valid words")).tool;
    for (command, tool) in [
        ("uv run ty check", Tool::Ty),
        ("ty server", Tool::Ty),
        ("python -m pyrefly check", Tool::Pyrefly),
        ("python -m basedpyright", Tool::Pyright),
        ("npx @biomejs/biome check .", Tool::Biome),
        ("biome check --write .", Tool::Generic),
        ("biome format --fix", Tool::Generic),
        ("cargo +nightly clippy", Tool::Clippy),
        ("cargo clippy --fix", Tool::Clippy),
        ("cargo test", Tool::CargoTest),
        ("cargo build", Tool::Compile),
        ("pre-commit run -a", Tool::PreCommit),
        ("prek", Tool::PreCommit),
        ("prek --version", Tool::PreCommit),
        ("pre-commit try-repo .", Tool::Generic),
    ] {
        assert_eq!(of(command), tool, "{command}");
    }
    for (script, tool) in [
        ("biome ci .", Tool::Biome),
        ("biome ci --reporter=github .", Tool::Generic),
        ("oxlint && tsc", Tool::Generic),
        ("tsx build.ts && oxlint", Tool::Oxlint),
        ("ty check", Tool::Ty),
    ] {
        assert_eq!(recognise_script(script).tool, tool, "{script}");
    }
}

#[test]
fn a_configuration_and_an_installed_program_make_a_check() {
    let found = |files: &[(&str, &str)]| {
        let checks = find_checks(&FakeFiles::of(files)).found.into_iter();
        checks.filter(|check| check.tool != Tool::CargoTest).map(|check| command_text(&check.argv)).collect::<Vec<_>>()
    };
    for (files, expected) in [
        (&[("ty.toml", ""), (".venv/bin/ty", "")][..], &[".venv/bin/ty check"][..]),
        (&[("pyproject.toml", "[tool.ty.rules]\n"), (".venv/bin/ty", "")], &[".venv/bin/ty check"]),
        (&[("ty.toml", "")], &[]),
        (&[(".venv/bin/ty", "")], &[]),
        (&[("pyproject.toml", "[tool.pyrefly]\n"), (".venv/bin/pyrefly", "")], &[".venv/bin/pyrefly check"]),
        (&[("pyproject.toml", "[tool.basedpyright]\n"), (".venv/bin/basedpyright", "")], &[".venv/bin/basedpyright"]),
        (&[("pyrightconfig.json", "{}"), ("node_modules/.bin/pyright", "")], &["./node_modules/.bin/pyright"]),
        (&[(".oxlintrc.json", "{}"), ("node_modules/.bin/oxlint", "")], &["./node_modules/.bin/oxlint"]),
        (&[("biome.json", "{}"), ("node_modules/.bin/biome", "")], &["./node_modules/.bin/biome check"]),
        (
            &[
                ("biome.jsonc", "{}"),
                ("node_modules/.bin/biome", ""),
                ("package.json", r#"{"scripts": {"lint": "biome lint --write ."}}"#),
            ],
            &["./node_modules/.bin/biome lint"],
        ),
        (&[("Cargo.toml", "[package]\n"), ("clippy.toml", "")], &["cargo clippy --all-targets"]),
        (&[("Cargo.toml", "[workspace]\n[workspace.lints.clippy]\n")], &["cargo clippy --workspace --all-targets"]),
        (&[("Cargo.toml", "[package]\n")], &[]),
    ] {
        assert_eq!(found(files), expected, "{files:?}");
    }
}

#[test]
fn a_line_that_a_hook_printed_itself_decides_nothing_where_pre_commit_ended_with_0() {
    let printed = "ui............Passed\n- hook id: ui\n- duration: 0.1s\n\nLogin test ......Failed\n\n";
    let said = |code| {
        let call = "pre-commit run --all-files --verbose";
        Returned::exited(Tool::PreCommit, call, code).saying(printed, "").interpret().category
    };
    assert_eq!([0, 1].map(said), [CategoryCode::Clean, CategoryCode::Findings]);
}
