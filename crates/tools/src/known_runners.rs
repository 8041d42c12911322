//! Test runners, and a linter, that proctor knows and does not read: a row of data for each says which report it can write, and with which words it says that
//! nothing ran.
//!
//! Without the setting `report` such a runner is judged by its exit code alone, so its success proves nothing about tests. The reason then has
//! the line that a person may write. The words can only make a result worse.
//!
//! `dotnet test` and golangci-lint were not tried: their words are those of their documentation. The others were, and their captured outputs are
//! in `fixtures/tools/generic/` and, with a report, in `fixtures/tools/test-report/`.

use crate::interpret::Exited;
use crate::launchers::{SHELLS, program_name, visit_programs};
use proctor_model::CategoryCode;

/// A runner of tests.
struct KnownRunner {
    programs: &'static [&'static str],
    /// The word that the command needs for the runner to run tests; empty if it needs none.
    subcommand: &'static str,
    /// The word for what the runner runs, in the plural: their number is not known.
    counts: &'static str,
    /// The value of the setting `report` that fits.
    report: &'static str,
    /// What a person has to do so that the runner writes that report; empty if it always does.
    writes_it_with: &'static str,
    /// Words that ask the runner for tests, whole or behind a colon: a command without any of them is not judged by what it prints about
    /// tests. Empty if each of the runner's commands asks for tests.
    asks: &'static [&'static str],
    /// The words of a line that says that nothing ran. A letter or digit beside them makes them other words; `\n` is the end of the line.
    nothing: &'static [&'static str],
    /// The words of a line that says that something ran, now or before on the same input. A runner of several parts may say both.
    something: &'static [&'static str],
    /// The words of a line that says that something failed. Beside exit code 0, an option or a setting of the runner dropped the failure.
    failed: &'static [&'static str],
    /// Options and subcommands with which the runner ends with exit code 0 and runs none; `--dry-run` is also `--dry-run=...`.
    idle: &'static [&'static str],
    /// Finds in the output that tests told no result, as the end of a sentence about the runner.
    untold: fn(&str) -> Option<String>,
}

const RUNNER: KnownRunner = KnownRunner {
    programs: &[],
    subcommand: "",
    counts: "tests",
    report: "",
    writes_it_with: "",
    asks: &[],
    nothing: &[],
    something: &[],
    failed: &[],
    idle: &[],
    untold: |_| None,
};

const RUNNERS: &[KnownRunner] = &[
    KnownRunner {
        programs: &["rspec"],
        report: r#"{ file = "tmp/rspec.xml", format = "junit" }"#,
        writes_it_with: "the gem `rspec_junit_formatter` and `--format progress --format RspecJunitFormatter --out tmp/rspec.xml`",
        nothing: &["0 examples, 0 failures", "an `exit` / `raise SystemExit` occurred, RSpec will now quit"],
        failed: &["Failed examples:"],
        idle: &["--dry-run", "-h", "--help", "-v", "--version", "--init"],
        untold: untold_examples,
        ..RUNNER
    },
    KnownRunner {
        programs: &["phpunit"],
        report: r#"{ file = "build/junit.xml", format = "junit" }"#,
        writes_it_with: "`--log-junit build/junit.xml`",
        nothing: &["No tests executed!"],
        failed: &["FAILURES!", "ERRORS!"],
        idle: &[
            "-h",
            "--help",
            "--version",
            "--list-groups",
            "--list-suites",
            "--list-tests",
            "--list-tests-xml",
            "--generate-configuration",
        ],
        ..RUNNER
    },
    KnownRunner {
        programs: &["dotnet"],
        subcommand: "test",
        report: r#"{ file = "TestResults/*.trx", format = "trx" }"#,
        writes_it_with: "`--logger trx --results-directory TestResults`",
        nothing: &["No test is available in", "Zero tests ran", "No test matches the given testcase filter"],
        something: &["Passed!  -", "Failed!  -"],
        failed: &["Failed!  -"],
        idle: &["-?", "-h", "--help", "-t", "--list-tests"],
        ..RUNNER
    },
    KnownRunner {
        programs: &["gradle", "gradlew"],
        report: r#"{ file = "build/test-results/test/*.xml", format = "junit" }"#,
        asks: &["test", "check"],
        nothing: &[":test NO-SOURCE", ":test SKIPPED"],
        something: &[":test\n", ":test UP-TO-DATE", ":test FROM-CACHE"],
        failed: &["There were failing tests."],
        idle: &["-?", "-h", "--help", "-v", "--version", "-m", "--dry-run"],
        ..RUNNER
    },
    KnownRunner {
        programs: &["mvn", "mvnw"],
        report: r#"{ file = "target/surefire-reports/TEST-*.xml", format = "junit" }"#,
        asks: &["test", "integration-test", "verify"],
        nothing: &["No tests to run.", "Tests are skipped."],
        something: &["Tests run: "],
        failed: &["There are test failures."],
        idle: &["-h", "--help", "-v", "--version"],
        ..RUNNER
    },
    KnownRunner {
        programs: &["ctest"],
        report: r#"{ file = "build/junit.xml", format = "junit" }"#,
        writes_it_with: "`--test-dir build --output-junit junit.xml`",
        nothing: &["No tests were found!!!"],
        something: &["tests passed"],
        failed: &["The following tests FAILED:"],
        idle: &["-H", "--help", "--version", "-N", "--show-only", "--print-labels", "--list-presets"],
        ..RUNNER
    },
    KnownRunner {
        programs: &["tox"],
        report: r#"{ file = "junit.xml", format = "junit" }"#,
        writes_it_with: "`--junitxml=junit.xml` for the pytest that tox runs",
        // tox puts the time behind it, and for an environment with commands how long each of them took.
        nothing: &[": SKIP\n", ": SKIP (", ": OK ("],
        something: &["+cmd["],
        idle: &["-h", "--help", "--version", "-l", "--listenvs", "-a", "--listenvs-all", "-n", "--notest"],
        ..RUNNER
    },
    KnownRunner {
        programs: &["nox"],
        report: r#"{ file = "junit.xml", format = "junit" }"#,
        writes_it_with: "`--junitxml=junit.xml` for the pytest that nox runs",
        nothing: &[" skipped:", "No sessions selected."],
        something: &[" was successful", ": success"],
        idle: &["-h", "--help", "--version", "-l", "--list", "--install-only"],
        ..RUNNER
    },
    KnownRunner {
        programs: &["golangci-lint"],
        subcommand: "run",
        counts: "files",
        report: r#"{ file = "golangci.sarif", format = "sarif" }"#,
        writes_it_with: "`--output.sarif.path golangci.sarif`",
        nothing: &["no go files to analyze"],
        ..RUNNER
    },
];

/// Judges a command that starts a known runner and ended with exit code 0: a category, and a reason with what a person may write.
pub(super) fn judge(exited: &Exited<'_>) -> Option<(CategoryCode, String)> {
    let (call, runner) = runner_of(&exited.action.command.argv)?;
    let (program, arguments) = call.split_first()?;
    if leaves_tests_out(arguments) {
        return None;
    }
    let says = |words: &[&str]| {
        let mut lines = exited.stdout.lines().chain(exited.stderr.lines()).map(str::trim);
        lines.find(|line| words.iter().any(|words| has_words(&format!("{line}\n"), words))).map(str::to_owned)
    };
    let last_part = |word: &String| word.rsplit(':').next().is_some_and(|part| runner.asks.contains(&part));
    let asks = runner.asks.is_empty() || arguments.iter().any(last_part);
    let (counts, advice) = (runner.counts, advice(runner));
    if let Some(line) = says(runner.failed) {
        let reason =
            format!("Exit code 0, but `{program}` itself says that something failed ({line}); look for what drops its exit code");
        return Some((CategoryCode::Inconsistent, reason));
    }
    if let Some((category, why)) = contradiction(exited) {
        return Some((category, format!("{why}; {advice} once there are {counts}")));
    }
    if let Some(line) = says(runner.nothing).filter(|_| asks && says(runner.something).is_none()) {
        let reason =
            format!("Exit code 0, but `{program}` itself says that nothing ran ({line}); {advice} once there are {counts}");
        return Some((CategoryCode::NothingChecked, reason));
    }
    let reason = format!("`{program}` ran and ended with exit code 0, but nothing tells how many {counts}; {advice}");
    Some((CategoryCode::ExpectedExit, reason))
}

/// Returns what contradicts a success of a command that starts a known runner, also if its report passed: an option with which the runner
/// runs nothing, or tests that told no result.
pub(super) fn contradiction(exited: &Exited<'_>) -> Option<(CategoryCode, String)> {
    let argv = &exited.action.command.argv;
    let (call, runner) = runner_of(argv)?;
    let program = call.first()?;
    // A script may ask for the version, or list the tests, before it runs them.
    let is_script = argv.iter().any(|word| SHELLS.contains(&program_name(word)));
    if let Some(option) = idle_option(&call, runner).filter(|_| !is_script) {
        return Some((CategoryCode::NothingChecked, format!("Exit code 0, but `{program}` runs nothing with `{option}`")));
    }
    let untold = (runner.untold)(&exited.stdout)?;
    Some((CategoryCode::Inconsistent, format!("Exit code 0, but `{program}` {untold}")))
}

fn idle_option<'c>(call: &'c [String], runner: &KnownRunner) -> Option<&'c String> {
    let is_idle = |word: &&String| runner.idle.contains(&word.split('=').next().unwrap_or_default());
    call.iter().skip(1).take_while(|word| *word != "--").find(is_idle)
}

/// Finds examples of RSpec that began and told no result, because one of them ended the process by `exit`: RSpec then still counts those that
/// began, and ends with exit code 0. Its usual progress has one mark for each result. Where anything else is printed between the marks, nothing is
/// concluded.
fn untold_examples(printed: &str) -> Option<String> {
    let ends = ["\nFinished in ", "\nPending: "].into_iter().filter_map(|words| printed.find(words)).min()?;
    let last = printed.lines().rev().find(|line| line.contains(" example"))?;
    let began: usize = last.split(' ').next()?.parse().ok()?;
    let is_head = |line: &&str| line.is_empty() || line.starts_with("Run options:") || line.starts_with("Randomized with seed ");
    let lines: Vec<&str> = printed[..ends].lines().map(str::trim).filter(|line| !is_head(line)).collect();
    let told: usize = lines.iter().map(|line| line.len()).sum();
    let is_of_marks = lines.iter().all(|line| line.bytes().all(|mark| b".*F".contains(&mark)));
    (is_of_marks && told < began).then(|| {
        format!(
            "began {began} example(s), and only {told} of them told a result; look for an example that ends the process (`exit`)"
        )
    })
}

/// Returns whether a line has these words, and no letter or digit directly beside them: `10 examples` has no `0 examples`.
fn has_words(line: &str, words: &str) -> bool {
    line.match_indices(words).any(|(start, _)| {
        let (before, after) = (line[..start].chars().next_back(), line[start + words.len()..].chars().next());
        let joins = |one: Option<char>, other: Option<char>| [one, other].iter().all(|it| it.is_some_and(char::is_alphanumeric));
        !joins(before, words.chars().next()) && !joins(words.chars().next_back(), after)
    })
}

/// Returns whether the arguments of Gradle or Maven leave the tests out.
fn leaves_tests_out(arguments: &[String]) -> bool {
    const OFF: &[&str] = &["-DskipTests", "-DskipTests=true", "-Dmaven.test.skip", "-Dmaven.test.skip=true"];
    let is_test = |task: &str| task.rsplit(':').next() == Some("test");
    let excludes = |pair: &[String]| ["-x", "--exclude-task"].contains(&pair[0].as_str()) && is_test(&pair[1]);
    arguments.iter().any(|word| OFF.contains(&word.as_str())) || arguments.windows(2).any(excludes)
}

/// Returns the line that a person may write into the check of a command that starts a known runner, as a comment behind what has to be
/// done for it.
pub(super) fn report_line(argv: &[String]) -> Option<String> {
    let (_, runner) = runner_of(argv)?;
    let with = if runner.writes_it_with.is_empty() { String::new() } else { format!("  # with {}", runner.writes_it_with) };
    Some(format!("report = {}{with}", runner.report))
}

fn runner_of(argv: &[String]) -> Option<(Vec<String>, &'static KnownRunner)> {
    let mut found = None;
    visit_programs(argv, &mut |call| {
        let Some((program, arguments)) = call.split_first() else { return };
        let is_call = |runner: &&KnownRunner| {
            runner.programs.contains(&program.as_str())
                && (runner.subcommand.is_empty() || arguments.iter().any(|word| word == runner.subcommand))
        };
        if let (None, Some(runner)) = (&found, RUNNERS.iter().find(is_call)) {
            found = Some((call.to_vec(), runner));
        }
    });
    found
}

fn advice(runner: &KnownRunner) -> String {
    let with = if runner.writes_it_with.is_empty() { String::new() } else { format!(", with {}", runner.writes_it_with) };
    format!("write `report = {}` into the check{with}", runner.report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Returned;
    use proctor_model::{CategoryCode, Tool, split_words};

    /// The words of `dotnet test` and golangci-lint are those of their documentation: neither was tried. Those of the others are parts of what they
    /// print; whole outputs are in `fixtures/tools/generic/`.
    const SAID: &[(&str, &str, CategoryCode)] = &[
        ("bundle exec rspec", "Finished in 0.001 seconds\n10 examples, 0 failures\n", CategoryCode::ExpectedExit),
        ("vendor/bin/phpunit", "OK (2 tests, 2 assertions)\n", CategoryCode::ExpectedExit),
        ("dotnet test", "Passed!  - Failed:     0, Passed:     2, Skipped:     0, Total:     2\n", CategoryCode::ExpectedExit),
        ("dotnet test", "No test is available in /project/bin/Shop.dll.\n", CategoryCode::NothingChecked),
        ("dotnet test --list-tests", "The following Tests are available:\n", CategoryCode::NothingChecked),
        ("dotnet build", "Build succeeded.\n", CategoryCode::ExpectedExit),
        ("./gradlew check", "> Task :test\nBUILD SUCCESSFUL in 1s\n", CategoryCode::ExpectedExit),
        ("./gradlew check", "> Task :a:test NO-SOURCE\n> Task :b:test\nBUILD SUCCESSFUL in 1s\n", CategoryCode::ExpectedExit),
        ("gradle build", "> Task :test NO-SOURCE\nBUILD SUCCESSFUL in 1s\n", CategoryCode::ExpectedExit),
        ("gradle check -x :test", "> Task :a:test SKIPPED\n", CategoryCode::ExpectedExit),
        ("gradle :a:test", "> Task :a:test NO-SOURCE\n", CategoryCode::NothingChecked),
        ("mvn -B package -DskipTests", "[INFO] Tests are skipped.\n", CategoryCode::ExpectedExit),
        ("mvn package", "[INFO] No tests to run.\n", CategoryCode::ExpectedExit),
        ("mvn -q test", "", CategoryCode::ExpectedExit),
        ("mvn test", "[INFO] No tests to run.\n[INFO] Tests run: 2, Failures: 0\n", CategoryCode::ExpectedExit),
        ("golangci-lint run", "0 issues.\n", CategoryCode::ExpectedExit),
        ("golangci-lint run --issues-exit-code 0", "level=error msg=\"no go files to analyze\"\n", CategoryCode::NothingChecked),
        ("sh -c 'cmake --build build && ctest --test-dir build'", "No tests were found!!!\n", CategoryCode::NothingChecked),
        ("sh -c 'ctest -N && ctest'", "100% tests passed out of 1\n", CategoryCode::ExpectedExit),
        ("ctest", "100% tests passed out of 1\n", CategoryCode::ExpectedExit),
        ("tox -qq", "SKIPPED [1] test_a.py:3: no network\n1 passed, 1 skipped\n", CategoryCode::ExpectedExit),
        ("nox", "nox > Session tests was successful in 0 seconds.\n", CategoryCode::ExpectedExit),
    ];

    #[test]
    fn a_known_runner_that_cannot_be_asked_is_never_a_proof_of_tests() {
        for (command, printed, expected) in SAID {
            let seen = Returned::exited(Tool::Generic, command, 0).saying(printed, "").interpret();
            assert_eq!(seen.category, *expected, "{command}: {}", seen.reason);
            let is_told = seen.reason.contains("`report = {");
            let has_tests = !["dotnet build", "-DskipTests", "-x :test"].iter().any(|part| command.contains(part));
            assert_eq!(is_told, has_tests, "{command}: {}", seen.reason);
        }
        let seen = Returned::exited(Tool::Generic, "mvn test", 0).saying("[INFO] Tests run: 2\n", "").interpret();
        assert_eq!(
            seen.reason,
            "`mvn` ran and ended with exit code 0, but nothing tells how many tests; write `report = { file = \
             \"target/surefire-reports/TEST-*.xml\", format = \"junit\" }` into the check"
        );
    }

    /// RSpec counts the examples that began; its marks are those that told a result.
    #[test]
    fn examples_that_told_no_result_are_counted_only_between_pure_marks() {
        for (printed, is_untold) in [
            (".\n\nFinished in 0.1 seconds\n2 examples, 0 failures\n", true),
            ("\n\nFinished in 0.1 seconds\n1 example, 0 failures\n", true),
            (
                "Run options: include {:focus=>true}\n\nRandomized with seed 7\n.*\n\nPending: (Failures listed\n\nFinished in 0.1 seconds\n3 examples, 0 failures, 1 pending\n",
                true,
            ),
            ("..\n\nFinished in 0.1 seconds\n2 examples, 0 failures\n", false),
            (".printed by a test\n\nFinished in 0.1 seconds\n2 examples, 0 failures\n", false),
            ("shop\n  adds\n\nFinished in 0.1 seconds\n2 examples, 0 failures\n", false),
        ] {
            assert_eq!(untold_examples(printed).is_some(), is_untold, "{printed}");
        }
    }

    #[test]
    fn every_row_is_tried() {
        for runner in RUNNERS {
            let is_of_row = |command: &str| {
                runner_of(&split_words(command).unwrap()).is_some_and(|(_, found)| found.programs == runner.programs)
            };
            let categories: Vec<CategoryCode> =
                SAID.iter().filter(|(command, ..)| is_of_row(command)).map(|(_, _, category)| *category).collect();
            assert!(categories.contains(&CategoryCode::ExpectedExit), "{:?}", runner.programs);
        }
    }
}
