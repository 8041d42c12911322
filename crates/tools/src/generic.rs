//! Judges a plain command by its exit code alone: nothing more is known of it. Its output is stored and has no influence on the
//! result, except for the totals of the test runners in `printed_tests`, which can only make it worse.

use crate::advise::advise_exit;
use crate::interpret::Exited;
use crate::printed_tests::PrintedTotals;
use crate::table::REFUSED_SUBCOMMANDS;
use crate::{known_runners, launch_failure, printed_tests, signals};
use proctor_model::{CategoryCode, Examined, ExaminedUnit, Interpretation};

/// Judges a plain command: an expected exit code is a success, and any other code is a failure. Exit code 0 is no
/// success if a test runner printed that no test passed.
pub(super) fn interpret(exited: &Exited<'_>) -> Interpretation {
    let code = exited.code;
    let printed = printed_tests::totals(exited);
    let totals = match printed {
        PrintedTotals::Printed(totals) => Some(totals),
        PrintedTotals::NoRunner | PrintedTotals::Missing(_) => None,
    };
    if let (0, PrintedTotals::Missing(runner)) = (code, printed) {
        let reason = format!(
            "Exit code 0, but `{runner}` printed no totals of tests that passed; look for a test that ends the process (`os._exit`)"
        );
        return Interpretation::plain(CategoryCode::Inconsistent, reason);
    }
    if let (0, Some(failed)) = (code, totals.map(|totals| totals.failed).filter(|failed| *failed > 0)) {
        let reason = format!(
            "Exit code 0, but pytest printed that {failed} test(s) failed; look for what drops its exit code (`|| true`, a `-` before the line)"
        );
        return Interpretation::plain(CategoryCode::Inconsistent, reason);
    }
    let examined = totals.map(|totals| Examined { what: ExaminedUnit::Tests, count: Some(totals.ran) });
    if code == 0 && exited.action.expected_exit_codes.contains(&code) && totals.is_some_and(|totals| totals.passed == 0) {
        let ran = totals.map_or(0, |totals| totals.ran);
        let reason = format!("Exit code 0, but no test passed, as the runner itself says ({ran} test(s), none of them passed)");
        return Interpretation { examined, ..Interpretation::plain(CategoryCode::NothingChecked, reason) };
    }
    if exited.action.expected_exit_codes.contains(&code) {
        let known = if code == 0 { known_runners::judge(exited) } else { None };
        let as_expected = || (CategoryCode::ExpectedExit, format!("The command ended with exit code {code}, as expected"));
        let (category, reason) = known.unwrap_or_else(as_expected);
        return Interpretation { examined, ..Interpretation::plain(category, reason) };
    }
    if let Some(failure) = launch_failure::find(exited) {
        return failure;
    }
    if let Some(line) = refused_subcommand(exited) {
        let reason = format!("The program refused its command line: {line}; correct it");
        return Interpretation::plain(CategoryCode::UsageError, reason);
    }
    let expected = list(&exited.action.expected_exit_codes);
    let note = signals::of_exit_code(code).map_or_else(String::new, |signal| {
        format!(" (by which a shell says that {} ended the program)", signals::describe(signal))
    });
    let reason = format!("The command ended with exit code {code}{note}; expected is {expected}; see the end of its log");
    let advice = advise_exit(&exited.action.command.display, code, &expected, (&exited.stdout, &exited.stderr));
    Interpretation { advice, ..Interpretation::plain(CategoryCode::UnexpectedExit, reason) }
}

/// Returns the line with which a known program says that it has no such subcommand.
fn refused_subcommand<'a>(exited: &'a Exited<'_>) -> Option<&'a str> {
    let argv = &exited.action.command.argv;
    REFUSED_SUBCOMMANDS.iter().filter(|(_, code, _)| *code == exited.code).find_map(|(program, _, said)| {
        let at = argv.iter().position(|word| word.rsplit('/').next() == Some(program))?;
        let line = exited.stderr.lines().map(str::trim).find(|line| !line.is_empty())?;
        argv[at + 1..].iter().any(|word| line.starts_with(&said.replace('%', word))).then_some(line)
    })
}

fn list(codes: &[i32]) -> String {
    if codes.is_empty() {
        return "nothing: the check names no expected exit code".to_owned();
    }
    codes.iter().map(i32::to_string).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Returned;
    use proctor_model::Tool;

    #[test]
    fn only_expected_exit_codes_are_a_success() {
        let mut returned = Returned::exited(Tool::Generic, "make test", 2);
        assert_eq!(returned.interpret().category, CategoryCode::UnexpectedExit);
        returned.action.expected_exit_codes = vec![0, 2];
        assert_eq!(returned.interpret().category, CategoryCode::ExpectedExit);
        returned.action.expected_exit_codes = vec![];
        assert_eq!(returned.interpret().category, CategoryCode::UnexpectedExit);
    }

    #[test]
    fn a_subcommand_that_is_not_there_is_a_usage_error() {
        let ruff = "error: unrecognized subcommand 'chekc'\n\n  tip: a similar subcommand exists: 'check'\n";
        let cargo = "error: no such command: `tets`\n\n\tDid you mean `test`?\n";
        for (command, code, stderr, expected) in [
            ("ruff chekc .", 2, ruff, CategoryCode::UsageError),
            ("uvx ruff chekc", 2, ruff, CategoryCode::UsageError),
            ("cargo tets", 101, cargo, CategoryCode::UsageError),
            ("ruff clean .", 2, ruff, CategoryCode::UnexpectedExit),
            ("ruff chekc .", 1, ruff, CategoryCode::UnexpectedExit),
            ("./check chekc", 2, ruff, CategoryCode::UnexpectedExit),
        ] {
            let seen = Returned::exited(Tool::Generic, command, code).saying("", stderr).interpret();
            assert_eq!(seen.category, expected, "{command}: {}", seen.reason);
        }
    }

    #[test]
    fn what_a_shell_says_of_a_program_is_explained() {
        let code = |code| Returned::exited(Tool::Generic, "bash -c x", code).saying("", "bash: x: ?").interpret();
        assert_eq!(code(127).category, CategoryCode::ToolNotFound);
        assert_eq!(code(126).category, CategoryCode::NotStarted);
        assert_eq!(code(137).category, CategoryCode::UnexpectedExit);
        assert!(code(137).reason.contains("SIGKILL"));
    }
}
