//! Test runners, and a linter, that proctor knows and does not read: a row of data for each says which report it can write, and with which words it says that
//! nothing ran.
//!
//! Without the setting `report` such a runner is judged by its exit code alone, so its success proves nothing about tests. The reason then has
//! the line that a person may write. The words can only make a result worse.

use crate::interpret::Exited;
use crate::launchers::visit_programs;

/// A runner of tests.
struct KnownRunner {
    programs: &'static [&'static str],
    /// The word that the command needs for the runner to run tests; empty if it needs none.
    subcommand: &'static str,
    /// What nobody knows the number of, in the plural.
    counts: &'static str,
    /// The value of the setting `report` that fits.
    report: &'static str,
    /// What a person has to do so that the runner writes that report; empty if it always does.
    writes_it_with: &'static str,
    /// Words of which the command needs one to ask for tests, whole or behind a colon; empty if each of its commands does. What a build says
    /// of tests that nobody asked for decides nothing.
    asks: &'static [&'static str],
    /// The words of a line that says that nothing ran. A letter or digit beside them makes them other words; `\n` is the end of the line.
    nothing: &'static [&'static str],
    /// The words of a line that says that something ran, now or before on the same input. A runner of several parts may say both.
    something: &'static [&'static str],
    /// Options with which the runner ends with exit code 0 and runs none.
    idle: &'static [&'static str],
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
    idle: &[],
};

const RUNNERS: &[KnownRunner] = &[
    KnownRunner {
        programs: &["rspec"],
        report: r#"{ file = "tmp/rspec.xml", format = "junit" }"#,
        writes_it_with: "the gem `rspec_junit_formatter` and `--format progress --format RspecJunitFormatter --out tmp/rspec.xml`",
        nothing: &["0 examples, 0 failures"],
        ..RUNNER
    },
    KnownRunner {
        programs: &["phpunit"],
        report: r#"{ file = "build/junit.xml", format = "junit" }"#,
        writes_it_with: "`--log-junit build/junit.xml`",
        nothing: &["No tests executed!"],
        ..RUNNER
    },
    KnownRunner {
        programs: &["dotnet"],
        subcommand: "test",
        report: r#"{ file = "TestResults/*.trx", format = "trx" }"#,
        writes_it_with: "`--logger trx --results-directory TestResults`",
        nothing: &["No test is available in", "Zero tests ran", "No test matches the given testcase filter"],
        something: &["Passed!  -", "Failed!  -"],
        ..RUNNER
    },
    KnownRunner {
        programs: &["gradle", "gradlew"],
        report: r#"{ file = "build/test-results/test/*.xml", format = "junit" }"#,
        asks: &["test", "check"],
        nothing: &[":test NO-SOURCE", ":test SKIPPED"],
        something: &[":test\n", ":test UP-TO-DATE", ":test FROM-CACHE"],
        ..RUNNER
    },
    KnownRunner {
        programs: &["mvn", "mvnw"],
        report: r#"{ file = "target/surefire-reports/TEST-*.xml", format = "junit" }"#,
        asks: &["test", "integration-test", "verify"],
        nothing: &["No tests to run.", "Tests are skipped."],
        something: &["Tests run: "],
        ..RUNNER
    },
    KnownRunner {
        programs: &["ctest"],
        report: r#"{ file = "build/junit.xml", format = "junit" }"#,
        writes_it_with: "`--test-dir build --output-junit junit.xml`",
        nothing: &["No tests were found!!!"],
        something: &["tests passed"],
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
        nothing: &[" skipped:"],
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

/// What is known of a runner that a command starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RanUnread {
    /// The runner's program.
    pub(super) program: String,
    /// What nobody knows the number of, in the plural.
    pub(super) counts: &'static str,
    /// What a person may write, as a sentence.
    pub(super) advice: String,
    /// How it is known that nothing ran, as the end of a sentence about the runner.
    pub(super) nothing: Option<String>,
}

/// Returns the runner that a command starts, and what it printed.
pub(super) fn find(exited: &Exited<'_>) -> Option<RanUnread> {
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
    let said = says(runner.nothing).filter(|_| asks && says(runner.something).is_none());
    let own = arguments.iter().take_while(|word| *word != "--").find(|word| runner.idle.contains(&word.as_str()));
    let idle = own.map(|option| format!("runs nothing with `{option}`"));
    let nothing = idle.or_else(|| said.map(|line| format!("itself says that nothing ran ({line})")));
    Some(RanUnread { program: program.clone(), counts: runner.counts, advice: advice(runner), nothing })
}

/// Returns whether a line has words that no letter or digit beside them makes other ones: `10 examples` has no `0 examples`.
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

    /// ctest, tox and nox were run, in the versions below. The words of the others are those of their documentation.
    const RAN: &[(&str, &str, CategoryCode)] = &[
        ("bundle exec rspec", "Finished in 0.001 seconds\n2 examples, 0 failures\n", CategoryCode::ExpectedExit),
        ("rspec", "No examples found.\n\n0 examples, 0 failures\n", CategoryCode::NothingChecked),
        ("rspec", "Finished in 0.001 seconds\n10 examples, 0 failures\n", CategoryCode::ExpectedExit),
        ("vendor/bin/phpunit", "OK (2 tests, 2 assertions)\n", CategoryCode::ExpectedExit),
        ("phpunit --filter zz", "No tests executed!\n", CategoryCode::NothingChecked),
        ("dotnet test", "Passed!  - Failed:     0, Passed:     2, Skipped:     0, Total:     2\n", CategoryCode::ExpectedExit),
        ("dotnet test", "No test is available in /project/bin/Shop.dll.\n", CategoryCode::NothingChecked),
        ("dotnet build", "Build succeeded.\n", CategoryCode::ExpectedExit),
        ("./gradlew check", "> Task :test\nBUILD SUCCESSFUL in 1s\n", CategoryCode::ExpectedExit),
        ("./gradlew check", "> Task :test NO-SOURCE\nBUILD SUCCESSFUL in 1s\n", CategoryCode::NothingChecked),
        ("./gradlew check", "> Task :a:test NO-SOURCE\n> Task :b:test\nBUILD SUCCESSFUL in 1s\n", CategoryCode::ExpectedExit),
        ("gradle build", "> Task :test NO-SOURCE\nBUILD SUCCESSFUL in 1s\n", CategoryCode::ExpectedExit),
        ("gradle check -x :test", "> Task :a:test SKIPPED\n", CategoryCode::ExpectedExit),
        ("gradle :a:test", "> Task :a:test NO-SOURCE\n", CategoryCode::NothingChecked),
        ("mvn -B package -DskipTests", "[INFO] Tests are skipped.\n", CategoryCode::ExpectedExit),
        ("mvn verify -DskipTests=true", "[INFO] Tests are skipped.\n", CategoryCode::ExpectedExit),
        ("mvn package", "[INFO] No tests to run.\n", CategoryCode::ExpectedExit),
        ("mvn -B verify", "[INFO] Tests are skipped.\n", CategoryCode::NothingChecked),
        ("mvn -q test", "", CategoryCode::ExpectedExit),
        ("mvn test", "[INFO] No tests to run.\n[INFO] BUILD SUCCESS\n", CategoryCode::NothingChecked),
        ("mvn test", "[INFO] No tests to run.\n[INFO] Tests run: 2, Failures: 0\n", CategoryCode::ExpectedExit),
        // golangci-lint 2, by its documentation.
        ("golangci-lint run", "0 issues.\n", CategoryCode::ExpectedExit),
        ("golangci-lint run --issues-exit-code 0", "level=error msg=\"no go files to analyze\"\n", CategoryCode::NothingChecked),
        // ctest 4.4.5, tox 4.67.15 and nox 2026.10.20.
        ("sh -c 'cmake --build build && ctest --test-dir build'", "No tests were found!!!\n", CategoryCode::NothingChecked),
        ("ctest", "100% tests passed out of 1\n", CategoryCode::ExpectedExit),
        (
            "tox",
            "  py: OK (1.97=setup[0.27]+cmd[1.70] seconds)\n  congratulations :) (2.01 seconds)\n",
            CategoryCode::ExpectedExit,
        ),
        ("tox -qq", "SKIPPED [1] test_a.py:3: no network\n1 passed, 1 skipped\n", CategoryCode::ExpectedExit),
        ("tox", "  py39: SKIP (0.01 seconds)\n", CategoryCode::NothingChecked),
        ("nox", "nox > Running session tests\nnox > Session tests skipped: no.\n", CategoryCode::NothingChecked),
        ("nox", "nox > Running session tests\nnox > Session tests was successful in 0 seconds.\n", CategoryCode::ExpectedExit),
    ];

    #[test]
    fn a_known_runner_that_cannot_be_asked_is_never_a_proof_of_tests() {
        for (command, printed, expected) in RAN {
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

    /// The ways of doing nothing with tox 4.67.15 and nox 2026.10.20, each with what was printed: all tests are skipped, a test ends the
    /// process, nothing is there to run, a version, a list, and an option that only installs. Where a filter matches no test, both end with
    /// another exit code than 0.
    const DID_NOTHING: &[(&str, &str)] = &[
        (
            "tox",
            "py: commands[0]> pytest tests\n============================= test session starts ==============================\n\
             collected 1 item\n\ntests/test_a.py s                                                        [100%]\n\n\
             ============================== 1 skipped in 0.03s ==============================\n\
             \u{20} py: OK (1.83=setup[0.22]+cmd[1.61] seconds)\n  congratulations :) (2.13 seconds)\n",
        ),
        (
            "tox",
            "py: commands[0]> pytest tests\n============================= test session starts ==============================\n\
             platform linux -- Python 3.11.7, pytest-9.2.0, pluggy-1.7.0\n  py: OK (1.21=setup[0.22]+cmd[0.99] seconds)\n\
             \u{20} congratulations :) (1.47 seconds)\n",
        ),
        (
            "tox",
            "ROOT: No loadable tox.ini or setup.cfg or pyproject.toml or tox.toml found, assuming empty tox.ini at /project\n\
             \u{20} py: OK (11.75 seconds)\n  congratulations :) (11.91 seconds)\n",
        ),
        ("tox --version", "4.67.15 from /venv/lib/python3.11/site-packages/tox/__init__.py\n"),
        ("tox -l", "py\n"),
        ("tox --notest", "  py: OK (0.37 seconds)\n  congratulations :) (0.63 seconds)\n"),
        (
            "tox",
            "============================== 1 failed in 0.08s ===============================\npy: exit 1 (1.11 seconds) /project> pytest tests pid=8766\n\
             py: command failed but is marked ignore outcome so handling it as success\n  py: OK (1.42=setup[0.31]+cmd[1.11] seconds)\n",
        ),
        (
            "nox",
            "nox > Running session tests\nnox > pytest tests\n============================= test session starts ==============================\n\
             ============================== 1 skipped in 0.01s ==============================\nnox > Session tests was successful in 2 seconds.\n",
        ),
        (
            "nox",
            "nox > Running session tests\nnox > pytest tests\n============================= test session starts ==============================\n\
             platform linux -- Python 3.11.7, pytest-9.2.0, pluggy-1.7.0\nnox > Session tests was successful in 2 seconds.\n",
        ),
        ("nox", "nox > Running session tests\nnox > Session tests skipped: no.\n"),
        ("nox --version", "2026.10.20\n"),
        ("nox -l", "Sessions defined in /project/noxfile.py:\n\n* tests\n"),
        ("nox --install-only", "nox > Running session tests\nnox > Session tests was successful.\n"),
        (
            "nox",
            "============================== 1 failed in 0.19s ===============================\nnox > Session tests was successful in 3 seconds.\n",
        ),
    ];

    #[test]
    fn no_way_of_doing_nothing_with_tox_or_nox_is_green() {
        for (command, printed) in DID_NOTHING {
            let seen = Returned::exited(Tool::Generic, command, 0).saying(printed, "").interpret();
            let is_red = matches!(seen.category, CategoryCode::NothingChecked | CategoryCode::Inconsistent);
            assert!(is_red, "{command}: {:?} {}", seen.category, seen.reason);
        }
    }

    #[test]
    fn every_row_is_tried() {
        for runner in RUNNERS {
            let is_of_row = |command: &str| {
                runner_of(&split_words(command).unwrap()).is_some_and(|(_, found)| found.programs == runner.programs)
            };
            let categories: Vec<CategoryCode> =
                RAN.iter().filter(|(command, ..)| is_of_row(command)).map(|(_, _, category)| *category).collect();
            assert!(categories.contains(&CategoryCode::ExpectedExit), "{:?}", runner.programs);
        }
    }
}
