//! Reads the totals that `python -m unittest` prints at its end. It is judged by its exit code, and it may end with exit code 0
//! although no test passed.
//!
//! Only a command that starts the runner itself is read, and only the lines at the end of its output. Anything else is unknown,
//! and then the exit code decides alone.

use crate::tools::interpret::Exited;

/// The totals of a run of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) ran: u64,
    pub(super) passed: u64,
}

/// Returns the totals that the command's runner printed; `None` if the command is no such runner or printed none.
pub(super) fn totals(exited: &Exited<'_>) -> Option<Totals> {
    let argv = &exited.action.command.argv;
    let pair = |first: &str, second: &str| argv.windows(2).any(|words| words[0] == first && words[1] == second);
    if pair("-m", "unittest") { of_unittest(&exited.stderr) } else { None }
}

// Reads `Ran 3 tests in 0.001s`, an empty line, and `OK (skipped=1, expected failures=1)` or `NO TESTS RAN`.
fn of_unittest(stderr: &str) -> Option<Totals> {
    let mut lines = stderr.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let last = lines.next()?;
    let ran = lines.next()?.strip_prefix("Ran ")?.split_once(" test")?.0.parse().ok()?;
    let counts = match last.strip_prefix("OK").or_else(|| last.strip_prefix("NO TESTS RAN"))?.trim() {
        "" => Some(0),
        counts => counts.strip_prefix('(')?.strip_suffix(')')?.split(", ").map(without_a_pass).sum(),
    };
    Some(Totals { ran, passed: ran.saturating_sub(counts?) })
}

// Reads `skipped=1`. Unexpected successes end with `FAILED`, so every count after `OK` is of tests that did not pass.
fn without_a_pass(count: &str) -> Option<u64> {
    count.split_once('=')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use crate::model::{CategoryCode, Tool};
    use crate::tools::samples::Returned;

    const UNITTEST: &str = "python -m unittest discover";

    fn category(command: &str, stdout: &str, stderr: &str) -> CategoryCode {
        Returned::exited(Tool::Generic, command, 0).saying(stdout, stderr).interpret().category
    }

    #[test]
    fn v4_v22_a_runner_that_says_that_no_test_passed_checked_nothing() {
        use CategoryCode::{ExpectedExit, NothingChecked};
        for (end, expected) in [
            ("Ran 0 tests in 0.000s\n\nOK\n", NothingChecked),
            ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", NothingChecked),
            ("s\n------\nRan 1 test in 0.000s\n\nOK (skipped=1)\n", NothingChecked),
            ("Ran 2 tests in 0.000s\n\nOK (skipped=1, expected failures=1)\n", NothingChecked),
            ("Ran 2 tests in 0.000s\n\nOK (skipped=1)\n", ExpectedExit),
            ("Ran 1 test in 0.000s\n\nOK\n", ExpectedExit),
            ("Ran 0 tests in 0.000s\n\nOK\nprinted after the end\n", ExpectedExit),
            ("", ExpectedExit),
        ] {
            assert_eq!(category(UNITTEST, "", end), expected, "{end}");
        }
        assert_eq!(
            category("make test", "", "Ran 0 tests in 0.000s\n\nOK\n"),
            ExpectedExit,
            "another program's output is not read"
        );
    }
}
