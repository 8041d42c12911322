//! Reads the totals that `python -m unittest` prints at its end. It is judged by its exit code, and it may end with exit code 0
//! although no test passed.
//!
//! What pytest prints at the end of a session is read too, where a command only names a text of the project, such as `tox`.
//!
//! Of unittest, only a command that starts the runner itself is read. The runner prints its totals in every run, so a run without them did not
//! reach its end: a test ended the process, for example by `os._exit(0)`.
//!
//! Finds out whether a command runs a Python module, such as `unittest`, by `python -m`.

use crate::interpret::Exited;
use crate::launchers::{PYTHON_VALUED, SCRIPT_RUNNERS, SHELLS, is_python, program_name, visit_programs};
use crate::pytest::{PYTEST, Sessions, is_end_of_session, sessions};
use crate::shell::simple_commands;
use proctor_model::has_word;

/// What a command printed about tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PrintedTotals {
    /// The command starts no runner that is known here.
    NoRunner,
    /// The command starts this runner, and it printed no totals.
    Missing(&'static str),
    Printed(Totals),
}

/// The totals of a run of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) ran: u64,
    pub(super) passed: u64,
    pub(super) failed: u64,
}

/// Reads the totals that the command's runner printed.
pub(super) fn totals(exited: &Exited<'_>) -> PrintedTotals {
    let argv = &exited.action.command.argv;
    let is_pair = argv.windows(2).any(|words| words == ["-m", "unittest"]);
    // Django's own runner prints the same totals; a project may have another one.
    let is_django = argv.windows(2).any(|words| program_name(&words[0]) == "manage.py" && words[1] == "test");
    let runs = if is_pair { ModuleRun::Alone } else { runs_python_module(argv, "unittest") };
    // A container with a terminal hands on both streams as one.
    let totals = || of_unittest(&exited.stderr).or_else(|| of_unittest(&exited.stdout));
    match runs {
        ModuleRun::No if names_a_text(argv) => of_pytest(&exited.stdout),
        ModuleRun::No if !is_django => PrintedTotals::NoRunner,
        ModuleRun::Alone => totals().map_or(PrintedTotals::Missing("python -m unittest"), PrintedTotals::Printed),
        // A script of several commands may have had no reason to start the runner.
        ModuleRun::No | ModuleRun::InScript => totals().map_or(PrintedTotals::NoRunner, PrintedTotals::Printed),
    }
}

/// Returns whether a command only names what a text of the project runs.
pub(super) fn names_a_text(argv: &[String]) -> bool {
    let mut is_named = false;
    visit_programs(argv, &mut |call| is_named |= SCRIPT_RUNNERS.contains(&call[0].as_str()));
    is_named
}

// Reads what pytest says at the end of its sessions. A program such as tox runs it without the variables by which it could be asked for a
// report.
fn of_pytest(printed: &str) -> PrintedTotals {
    let begun = printed.lines().filter(|line| line.trim_matches('=') == " test session starts ").count();
    let ended = printed.lines().filter(|line| is_end_of_session(line)).count();
    let Sessions { ran_and_passed, failed, .. } = sessions(printed);
    match ran_and_passed {
        _ if begun > ended => PrintedTotals::Missing(PYTEST),
        Some((ran, passed)) => PrintedTotals::Printed(Totals { ran, passed, failed }),
        None if failed > 0 => PrintedTotals::Printed(Totals { ran: failed, passed: 0, failed }),
        None => PrintedTotals::NoRunner,
    }
}

// Reads the last `Ran 3 tests in 0.001s`, an empty line, and `OK (skipped=1, expected failures=1)` or `NO TESTS RAN`. Python may print
// warnings after them when it ends.
fn of_unittest(printed: &str) -> Option<Totals> {
    let lines: Vec<&str> = printed.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let place = lines.iter().rposition(|line| line.starts_with("Ran ") && line.contains(" in "))?;
    let ran = lines[place].strip_prefix("Ran ")?.split_once(" test")?.0.parse().ok()?;
    let last = lines.get(place + 1)?;
    let counts = match last.strip_prefix("OK").or_else(|| last.strip_prefix("NO TESTS RAN"))?.trim() {
        "" => Some(0),
        counts => counts.strip_prefix('(')?.strip_suffix(')')?.split(", ").map(without_a_pass).sum(),
    };
    Some(Totals { ran, passed: ran.saturating_sub(counts?), failed: 0 })
}

// Reads `skipped=1`. Unexpected successes end with `FAILED`, so every count after `OK` is of tests that did not pass.
fn without_a_pass(count: &str) -> Option<u64> {
    count.split_once('=')?.1.parse().ok()
}

/// Whether a command runs a Python module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModuleRun {
    No,
    /// Nothing else is run, or a shell runs nothing else.
    Alone,
    /// A shell script runs other commands too, and may have a condition for this one.
    InScript,
}

/// Returns whether a command runs a Python module by `python -m`, also through launchers and a shell.
pub(super) fn runs_python_module(argv: &[String], module: &str) -> ModuleRun {
    let mut is_run = false;
    visit_programs(argv, &mut |call| {
        is_run |= call.first().is_some_and(|name| is_python(name)) && python_module(call) == Some(module);
    });
    let script = argv.windows(3).find(|words| SHELLS.contains(&program_name(&words[0])) && is_script_option(&words[1]));
    match script {
        _ if !is_run => ModuleRun::No,
        Some(words) if simple_commands(&words[2]).len() > 1 => ModuleRun::InScript,
        Some(_) | None => ModuleRun::Alone,
    }
}

fn is_script_option(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

/// Returns the module that a call of Python runs; `None` for a file and for a text of `-c`.
fn python_module(call: &[String]) -> Option<&str> {
    let mut at = 1;
    while let Some(word) = call.get(at).map(String::as_str) {
        if has_word(PYTHON_VALUED, word) {
            at += 2;
            continue;
        }
        let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty())?;
        let valued = if letters.starts_with('-') { None } else { letters.find(['c', 'm', 'W', 'X']) };
        let Some(place) = valued else {
            at += 1;
            continue;
        };
        let value = Some(&letters[place + 1..]).filter(|value| !value.is_empty());
        match &letters[place..=place] {
            "m" => return value.or_else(|| call.get(at + 1).map(String::as_str)),
            "c" => return None,
            _ => at += if value.is_some() { 1 } else { 2 },
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::samples::Returned;
    use proctor_model::{CategoryCode, Tool};

    const UNITTEST: &str = "python -m unittest discover";

    fn category(command: &str, stdout: &str, stderr: &str) -> CategoryCode {
        Returned::exited(Tool::Generic, command, 0).saying(stdout, stderr).interpret().category
    }

    #[test]
    fn sessions_of_pytest_behind_a_text_that_passed_no_test_checked_nothing() {
        use CategoryCode::{ExpectedExit, NothingChecked};
        for (command, stdout, expected) in [
            ("tox", "===== 2 skipped in 0.01s =====\n  py: OK (0.27 seconds)\n  congratulations :)\n", NothingChecked),
            ("make test", "2 skipped, 1 xfailed, 3 warnings in 0.01s\n", NothingChecked),
            ("tox", "== 2 skipped in 0.01s ==\n== 1 passed, 1 skipped in 0.01s ==\n", ExpectedExit),
            ("tox", "== 2 skipped in 0.01s ==\n== 1 passed, 3 subtests passed in 0.01s ==\n", ExpectedExit),
            ("make build", "12 files in 0.1s\n", ExpectedExit),
            ("./check.sh", "== 2 skipped in 0.01s ==\n", ExpectedExit),
        ] {
            assert_eq!(category(command, stdout, ""), expected, "{command}: {stdout}");
        }
    }

    #[test]
    fn a_failure_that_pytest_printed_behind_a_text_contradicts_exit_code_0() {
        use CategoryCode::{ExpectedExit, Inconsistent, UnexpectedExit};
        const START: &str = "===== test session starts =====\n";
        let nested = format!("{START}{START}== 1 failed in 0.1s ==\n== 1 passed in 0.2s ==\n");
        for (command, stdout, expected) in [
            ("make test", "F.\n1 failed, 1 passed in 0.01s\n", Inconsistent),
            ("make test", "== 1 failed, 1 passed in 0.1s ==\nmake: [Makefile:2: test] Error 1 (ignored)\n", Inconsistent),
            ("make test", "1 failed in 0.01s\n2 passed in 0.01s\n", Inconsistent),
            ("make test", "1 passed, 1 error in 0.01s\n", Inconsistent),
            ("make test", "1 failed, 2 subtests passed in 0.01s\n", Inconsistent),
            ("make test", "1 passed, 1 xfailed in 0.01s\n", ExpectedExit),
            ("make test", nested.as_str(), ExpectedExit),
            ("./check.sh", "1 failed, 1 passed in 0.01s\n", ExpectedExit),
        ] {
            assert_eq!(category(command, stdout, ""), expected, "{command}: {stdout}");
        }
        let failed = Returned::exited(Tool::Generic, "make test", 2).saying("1 failed, 1 passed in 0.01s\n", "");
        assert_eq!(failed.interpret().category, UnexpectedExit);
    }

    #[test]
    fn v4_v22_a_runner_that_says_that_no_test_passed_checked_nothing() {
        use CategoryCode::{ExpectedExit, Inconsistent, NothingChecked};
        for (end, expected) in [
            ("Ran 0 tests in 0.000s\n\nOK\n", NothingChecked),
            ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", NothingChecked),
            ("s\n------\nRan 1 test in 0.000s\n\nOK (skipped=1)\n", NothingChecked),
            ("Ran 2 tests in 0.000s\n\nOK (skipped=1, expected failures=1)\n", NothingChecked),
            ("Ran 2 tests in 0.000s\n\nOK (skipped=1)\n", ExpectedExit),
            ("Ran 1 test in 0.000s\n\nOK\n", ExpectedExit),
            ("Ran 0 tests in 0.000s\n\nOK\nprinted after the end\n", NothingChecked),
            ("Ran 1 test in 0.000s\n\nOK\nsys:1: ResourceWarning: unclosed file\n", ExpectedExit),
            // A test that calls `os._exit(0)`.
            ("", Inconsistent),
            ("test_a (test_a.T.test_a) ... ok\n", Inconsistent),
            ("Ran 1 test in 0.000s\n\nFAILED (failures=1)\n", Inconsistent),
        ] {
            assert_eq!(category(UNITTEST, "", end), expected, "{end}");
        }
        let django = |end: &str| category("python manage.py test", "Found 1 test(s).\n", end);
        assert_eq!(django("Ran 0 tests in 0.000s\n\nOK\n"), NothingChecked);
        assert_eq!(django("Ran 1 test in 0.002s\n\nOK\nDestroying test database for alias 'default'...\n"), ExpectedExit);
        assert_eq!(django(""), ExpectedExit, "another runner prints no totals");
        for command in [
            "python3 -munittest -k zz",
            "python3 -bm unittest -k zz",
            "python3 -X dev -Bmunittest",
            "sh -c 'python3 -m unittest -k zz'",
            "bash -ec 'cd a && python3 -m unittest -k zz'",
            "coverage run -m unittest",
            "timeout 9 python3.12 -bm unittest",
        ] {
            assert_eq!(category(command, "", "Ran 0 tests in 0.000s\n\nOK\n"), NothingChecked, "{command}");
        }
        for (command, expected) in [
            ("python3 -munittest", Inconsistent),
            ("sh -c 'python3 -m unittest'", Inconsistent),
            ("sh -c 'test -e tests && python3 -m unittest'", ExpectedExit),
            ("python3 run.py -munittest", ExpectedExit),
            ("python3 -c 'import unittest' -m x", ExpectedExit),
            ("python3 -m mounittest", ExpectedExit),
        ] {
            assert_eq!(category(command, "", ""), expected, "{command}");
        }
        assert_eq!(
            category("make test", "", "Ran 0 tests in 0.000s\n\nOK\n"),
            ExpectedExit,
            "another program's output is not read"
        );
    }
}
