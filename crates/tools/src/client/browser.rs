//! Judges an action of a browser by how its driver ended. The driver is a program of proctor for Node, which opens a browser by
//! the project's or the machine's `playwright`.

use crate::client::{failed, first_line};
use crate::interpret::Exited;
use proctor_model::{BrowserSession, CategoryCode, ClientFacts, Interpretation, ToolReport};

/// The driver's text.
pub const BROWSER_DRIVER: &str = include_str!("browser_driver.js");

/// The name of the picture that the driver leaves in the action's output directory.
pub const SCREENSHOT: &str = "screenshot.png";

/// An exit code of the driver, and what it means.
struct Row {
    exit_code: i32,
    category: CategoryCode,
    /// Whether the browser had been opened.
    initialized: bool,
    meaning: &'static str,
}

const ROWS: &[Row] = &[
    Row { exit_code: 0, category: CategoryCode::ResultValid, initialized: true, meaning: "The browser did what was asked for" },
    Row { exit_code: 20, category: CategoryCode::ResultInvalid, initialized: true, meaning: "The page is not as it must be" },
    Row {
        exit_code: 21,
        category: CategoryCode::ToolNotFound,
        initialized: false,
        meaning: "There is neither `playwright` nor `playwright-core` for Node; install one: `npm install --save-dev playwright-core`",
    },
    Row {
        exit_code: 22,
        category: CategoryCode::ToolNotFound,
        initialized: false,
        meaning: "There is no Chromium; install one: `apt-get install chromium`, or `npx playwright install chromium`",
    },
    Row { exit_code: 23, category: CategoryCode::ClientFailed, initialized: false, meaning: "The browser could not be opened" },
    Row { exit_code: 24, category: CategoryCode::NoAnswer, initialized: true, meaning: "The page's server did not answer" },
    Row {
        exit_code: 25,
        category: CategoryCode::ResultInvalid,
        initialized: true,
        meaning: "What the browser did before could not be repeated",
    },
];

pub(super) fn interpret(exited: &Exited<'_>, session: &BrowserSession, report: &ToolReport) -> Interpretation {
    let Some(row) = ROWS.iter().find(|row| row.exit_code == exited.code) else { return failed(exited, "The browser's driver") };
    let client = Some(ClientFacts { rows: None, initialized: Some(row.initialized) });
    let why = first_line(&exited.stderr).filter(|_| row.exit_code != 0).map(|line| format!(": {line}")).unwrap_or_default();
    let has_picture = matches!(report, ToolReport::Fresh(_) | ToolReport::Large(_));
    if row.exit_code == 0 && session.takes_screenshot && !has_picture {
        let reason = "The browser ended well, and its picture of the page is missing".to_owned();
        return Interpretation { client, ..Interpretation::plain(CategoryCode::ReportMissing, reason) };
    }
    let repeated = match session.steps.len().saturating_sub(1) {
        0 => String::new(),
        count => format!(" (after {count} earlier action(s), which it repeated)"),
    };
    let reason = format!("{}{why}{}", row.meaning, if row.exit_code == 0 { repeated.as_str() } else { "" });
    Interpretation { client, ..Interpretation::plain(row.category, reason) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Returned;
    use proctor_model::{ActionKind, ClientCall, Tool};

    #[test]
    fn every_end_of_the_driver_has_a_result_and_only_one_is_a_success() {
        let call = ClientCall::Browser(BrowserSession { steps: Vec::new(), takes_screenshot: false });
        let judged = |code: i32| {
            let mut returned = Returned::exited(Tool::Generic, "node", code).saying("", "why\nmore");
            returned.action.kind = ActionKind::ClientCommand(Box::new(call.clone()));
            returned.interpret()
        };
        let with_picture = ClientCall::Browser(BrowserSession { steps: Vec::new(), takes_screenshot: true });
        let mut returned = Returned::exited(Tool::Generic, "node", 0);
        returned.action.kind = ActionKind::ClientCommand(Box::new(with_picture));
        assert_eq!(returned.interpret().category, CategoryCode::ReportMissing);
        returned.report = ToolReport::Fresh(b"PNG".to_vec());
        assert_eq!(returned.interpret().category, CategoryCode::ResultValid);
        for code in (0..=255).filter(|code| *code != 0) {
            assert_ne!(judged(code).category, CategoryCode::ResultValid, "{code}");
        }
        assert_eq!(judged(0).category, CategoryCode::ResultValid);
        assert_eq!(judged(1).category, CategoryCode::ClientFailed);
        for row in ROWS.iter().filter(|row| row.exit_code != 0) {
            let judged = judged(row.exit_code);
            assert_eq!(judged.category, row.category);
            assert!(judged.reason.ends_with(": why"), "{}", judged.reason);
            assert_eq!(judged.client.and_then(|client| client.initialized), Some(row.initialized));
            assert!(BROWSER_DRIVER.contains(&row.exit_code.to_string()), "{}", row.exit_code);
        }
    }
}
