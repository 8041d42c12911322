//! Judges a plain command by its exit code alone: nothing more is known of it. Its output is stored and has no influence on the
//! result, except for the totals of the test runners in `printed_tests`, which can only make it worse.

use crate::model::{CategoryCode, Examined, ExaminedUnit, Interpretation};
use crate::tools::advise::advise_exit;
use crate::tools::interpret::Exited;
use crate::tools::printed_tests::PrintedTotals;
use crate::tools::{launch_failure, printed_tests, signals};

/// Judges a plain command: an expected exit code is a success, and any other code is a failure. Exit code 0 is no
/// success if a test runner printed that no test passed.
pub(super) fn interpret(exited: &Exited<'_>) -> Interpretation {
    let code = exited.code;
    let printed = printed_tests::totals(exited);
    let totals = match printed {
        PrintedTotals::Printed(totals) => Some(totals),
        PrintedTotals::NoRunner | PrintedTotals::Missing => None,
    };
    if code == 0 && printed == PrintedTotals::Missing {
        let reason = "Exit code 0, but `python -m unittest` printed no totals of tests that passed; look for a test that ends the process \
                      (`os._exit`)";
        return Interpretation::plain(CategoryCode::Inconsistent, reason);
    }
    let examined = totals.map(|totals| Examined { what: ExaminedUnit::Tests, count: Some(totals.ran) });
    if code == 0 && exited.action.expected_exit_codes.contains(&code) && totals.is_some_and(|totals| totals.passed == 0) {
        let ran = totals.map_or(0, |totals| totals.ran);
        let reason = format!("Exit code 0, but no test passed, as the runner itself says ({ran} test(s), none of them passed)");
        return Interpretation { examined, ..Interpretation::plain(CategoryCode::NothingChecked, reason) };
    }
    if exited.action.expected_exit_codes.contains(&code) {
        let plain =
            Interpretation::plain(CategoryCode::ExpectedExit, format!("The command ended with exit code {code}, as expected"));
        return Interpretation { examined, ..plain };
    }
    if let Some(failure) = launch_failure::find(exited) {
        return failure;
    }
    let expected = list(&exited.action.expected_exit_codes);
    let note = signals::of_exit_code(code).map_or_else(String::new, |signal| {
        format!(" (by which a shell says that {} ended the program)", signals::describe(signal))
    });
    let reason = format!("The command ended with exit code {code}{note}; expected is {expected}; see the end of its log");
    let advice = advise_exit(&exited.action.command.display, code, &expected, (&exited.stdout, &exited.stderr));
    Interpretation { advice, ..Interpretation::plain(CategoryCode::UnexpectedExit, reason) }
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
    use crate::model::Tool;
    use crate::tools::samples::Returned;

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
    fn what_a_shell_says_of_a_program_is_explained() {
        let code = |code| Returned::exited(Tool::Generic, "bash -c x", code).saying("", "bash: x: ?").interpret();
        assert_eq!(code(127).category, CategoryCode::ToolNotFound);
        assert_eq!(code(126).category, CategoryCode::NotStarted);
        assert_eq!(code(137).category, CategoryCode::UnexpectedExit);
        assert!(code(137).reason.contains("SIGKILL"));
    }
}
