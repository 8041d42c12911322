//! Detects from a wrapper's messages that the tool was never started. `npx`, `poetry run`, `python -m` and shells then
//! use exit codes that mean something else for the tool itself (C13).

use crate::discover::runners;
use crate::interpret::{Exited, signal_through_wrapper};
use crate::{missing_program, signals};
use proctor_model::{CategoryCode, InstalledPackage, Interpretation, Tool};

/// The exit codes to which a row of `ROWS` applies.
#[derive(Clone, Copy)]
enum Codes {
    AnyFailure,
    Only(i32),
}

/// The tools to which a row of `ROWS` applies.
#[derive(Clone, Copy)]
enum For {
    Python,
    Node,
    /// Every tool whose output is known. It has said something of its own if it was started, and then no row is asked. For other
    /// programs, `missing_program` looks more closely.
    Known,
    All,
}

/// A message or exit code by which a wrapper says that it did not start the tool. In `words` and `advice`, `%` stands
/// for the tool's name.
struct Row {
    codes: Codes,
    tools: For,
    /// The texts that must all occur in one line. If the list is empty, the exit code alone decides.
    words: &'static [&'static str],
    category: CategoryCode,
    advice: &'static str,
}

const fn missing(tools: For, words: &'static [&'static str], advice: &'static str) -> Row {
    Row { codes: Codes::AnyFailure, tools, words, category: CategoryCode::ToolNotFound, advice }
}

const INSTALL_PACKAGE: &str = "install the project's packages, for example by `npm ci`";

const ROWS: &[Row] = &[
    missing(For::Python, &["'%' is a package and cannot be directly executed"], "rename the project's directory `%`"),
    missing(For::Python, &[": No module named %"], "install % for the interpreter the check names"),
    missing(For::Python, &["Command not found: %"], "add % to the project's dependencies and install them"),
    missing(For::Python, &["Failed to spawn: `%`"], "add % to the project's dependencies and install them"),
    missing(For::Python, &["the command %", "could not be found"], "add % to the project's dependencies and install them"),
    missing(For::Node, &["This is not the tsc command you are looking for"], "install the package `typescript`"),
    missing(For::Node, &["npx canceled due to missing packages"], INSTALL_PACKAGE),
    missing(For::Node, &["could not determine executable to run"], INSTALL_PACKAGE),
    missing(For::Node, &["npm error 404"], INSTALL_PACKAGE),
    missing(For::Node, &["npm ERR! 404"], INSTALL_PACKAGE),
    missing(For::Node, &["npm error code E404"], INSTALL_PACKAGE),
    missing(For::Node, &["Error: Cannot find module '", "/%"], INSTALL_PACKAGE),
    missing(For::Known, &["npm", "Missing script:"], "name a script that `npm run` lists"),
    missing(For::Known, &["ERR_PNPM_NO_SCRIPT"], "name a script of package.json"),
    Row {
        codes: Codes::AnyFailure,
        tools: For::Known,
        words: &["node: OpenSSL configuration error"],
        category: CategoryCode::NotStarted,
        advice: "mend the OpenSSL configuration that Node.js reads (`OPENSSL_CONF`)",
    },
    Row {
        codes: Codes::Only(9),
        tools: For::Known,
        words: &["node: ", " is not allowed in NODE_OPTIONS"],
        category: CategoryCode::NotStarted,
        advice: "correct the variable `NODE_OPTIONS`",
    },
    Row {
        // npm's code for a file that it cannot read.
        codes: Codes::Only(254),
        tools: For::All,
        words: &["npm", "Could not read package.json"],
        category: CategoryCode::UsageError,
        advice: "set `directory` (in a specification `workingDirectory`) to the folder of package.json",
    },
    Row {
        codes: Codes::Only(127),
        tools: For::All,
        words: &[],
        category: CategoryCode::ToolNotFound,
        advice: "install the program or correct the command",
    },
    Row {
        codes: Codes::Only(126),
        tools: For::All,
        words: &[],
        category: CategoryCode::NotStarted,
        advice: "make the program executable",
    },
];

/// What to do where a script's other program is missing. `%` stands for the tool.
const INSTEAD: &str = "install the program; or let the check run % itself: `command = [\"npx\", \"%\"]`";

/// Returns the result of an exit that is not the tool's own: the tool was never started, or a wrapper reports a signal.
/// A tool that reported something was certainly started.
pub(super) fn find_or_signal(exited: &Exited<'_>, has_reported_nothing: bool) -> Option<Interpretation> {
    let failure = if has_reported_nothing { find(exited) } else { None };
    failure.or_else(|| signals::of_exit_code(exited.code).map(|signal| signal_through_wrapper(exited.code, signal)))
}

/// Returns the result of a failed start if the wrapper's messages show one.
///
/// This never turns a failure into a success: exit code 0 is ignored, and every row's category is a failure.
pub(super) fn find(exited: &Exited<'_>) -> Option<Interpretation> {
    if exited.code == 0 {
        return None;
    }
    if let Some(failure) = kept_offline(exited) {
        return Some(failure);
    }
    let found = ROWS.iter().filter(|row| row.applies(exited)).find_map(|row| {
        let seen = if row.words.is_empty() {
            // npm ends its output with notices about its own new versions, so these lines are skipped.
            let is_word = |line: &&str| !line.trim().is_empty() && !line.starts_with("npm notice");
            let is_missing = |line: &&str| is_word(line) && line.contains("not found");
            exited.stderr.lines().rfind(is_missing).or_else(|| exited.stderr.lines().rfind(is_word)).unwrap_or_default()
        } else {
            exited.stderr.lines().chain(exited.stdout.lines()).find(|line| row.matches(line, exited.action.tool))?
        };
        let seen = if seen.is_empty() { String::new() } else { format!(" and said: {}", seen.trim()) };
        // A script may begin with another program, such as a package manager, that is not there: the tool itself may be.
        let is_other = matches!(row.codes, Codes::Only(127)) && row.words.is_empty() && !seen.contains(exited.action.tool.word());
        let advice = if is_other && For::Node.applies(exited) { INSTEAD } else { row.advice };
        let advice = advice.replace('%', exited.action.tool.word());
        let reason = format!("The tool was not started: the command ended with exit code {}{seen}; {advice}", exited.code);
        Some(Interpretation::plain(row.category, reason))
    });
    found.or_else(|| missing_program::find(exited))
}

/// What a package manager says, in small letters, that has no packages and may not download them.
const OFFLINE: &[&str] = &["network connectivity is disabled", "network was disabled", "network is disabled"];

/// Returns the result of a package manager that the command itself keeps offline, and that has nothing installed yet.
fn kept_offline(exited: &Exited<'_>) -> Option<Interpretation> {
    let argv = &exited.action.command.argv;
    let (_, run, install) = runners().find(|(_, run, _)| argv.first().is_some_and(|word| word == run[0]))?;
    let says_so = |line: &str| OFFLINE.iter().any(|words| line.to_lowercase().contains(words));
    let is_offline = argv.iter().any(|word| word == "--offline") && exited.stderr.lines().any(says_so);
    let reason = format!(
        "{} has no environment with these packages yet: run `{install}`. Checks call it with `--offline`, so it downloads nothing at a save",
        run[0]
    );
    is_offline.then(|| Interpretation::plain(CategoryCode::ToolNotFound, reason))
}

impl For {
    fn applies(self, exited: &Exited<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Known => exited.action.tool != Tool::default(),
            Self::Python => matches!(exited.action.tool.package(), Some(InstalledPackage::Python(_))),
            Self::Node => matches!(exited.action.tool.package(), Some(InstalledPackage::Node(_))),
        }
    }
}

impl Row {
    fn applies(&self, exited: &Exited<'_>) -> bool {
        let code_fits = match self.codes {
            Codes::AnyFailure => true,
            Codes::Only(code) => code == exited.code,
        };
        code_fits && self.tools.applies(exited)
    }

    fn matches(&self, line: &str, tool: Tool) -> bool {
        self.words.iter().all(|words| line.contains(&words.replace('%', tool.word())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Returned;

    #[test]
    fn wrappers_that_did_not_find_the_tool_are_understood() {
        for (tool, code, stderr, expected) in [
            (Tool::Pytest, 1, "/usr/bin/python3: No module named pytest", CategoryCode::ToolNotFound),
            (Tool::Pytest, 1, "Command not found: pytest", CategoryCode::ToolNotFound),
            (Tool::Pytest, 2, "error: Failed to spawn: `pytest`\n  Caused by: No such file", CategoryCode::ToolNotFound),
            (Tool::Pytest, 127, "sh: 1: pytest: not found", CategoryCode::ToolNotFound),
            (
                Tool::Pytest,
                127,
                "shim: python2: command not found\n\nNote: several versions at the same time.",
                CategoryCode::ToolNotFound,
            ),
            (Tool::Tsc, 13, "node: OpenSSL configuration error:\n80BC418AED7F0000:error:07000064", CategoryCode::NotStarted),
            (Tool::Tsc, 9, "node: --nope is not allowed in NODE_OPTIONS", CategoryCode::NotStarted),
            (Tool::Pytest, 126, "sh: 1: ./pytest: Permission denied", CategoryCode::NotStarted),
            (Tool::Tsc, 1, "This is not the tsc command you are looking for", CategoryCode::ToolNotFound),
            (Tool::Tsc, 1, "npm error 404 Not Found - GET", CategoryCode::ToolNotFound),
            (
                Tool::Eslint,
                1,
                "Error: Cannot find module '/project/node_modules/eslint/bin/eslint.js'",
                CategoryCode::ToolNotFound,
            ),
            (Tool::Eslint, 1, "npm error Missing script: \"lint\"", CategoryCode::ToolNotFound),
            (Tool::Eslint, 254, "npm error enoent Could not read package.json: Error: ENOENT", CategoryCode::UsageError),
        ] {
            let interpretation = Returned::exited(tool, "wrapper", code).saying("", stderr).interpret();
            assert_eq!(interpretation.category, expected, "{stderr}");
            assert!(interpretation.reason.contains(stderr.lines().next().expect("a line")), "{}", interpretation.reason);
        }
    }

    #[test]
    fn a_manager_without_packages_that_is_kept_offline_says_so_first() {
        let said = "error: Failed to download `pluggy==1.7.0`\n  cause: Network connectivity is disabled, but the requested data";
        let call = "uv run --frozen --offline python -m pytest";
        let interpretation = Returned::exited(Tool::Pytest, call, 1).saying("", said).interpret();
        assert_eq!(interpretation.category, CategoryCode::ToolNotFound);
        assert!(interpretation.reason.starts_with("uv has no environment"), "{}", interpretation.reason);
        let elsewhere = Returned::exited(Tool::Pytest, "python -m pytest", 1).saying("", said).interpret();
        assert_eq!(elsewhere.category, CategoryCode::ReportMissing);
    }

    #[test]
    fn where_a_scripts_other_program_is_missing_the_tool_itself_is_offered() {
        let reason = |stderr: &str| Returned::exited(Tool::Vitest, "npm run test", 127).saying("", stderr).interpret().reason;
        let offered = "let the check run vitest itself: `command = [\"npx\", \"vitest\"]`";
        assert!(reason("sh: 1: pnpm: not found").ends_with(offered), "{}", reason("sh: 1: pnpm: not found"));
        assert!(!reason("sh: 1: vitest: not found").contains("npx"));
    }

    #[test]
    fn a_success_is_never_called_a_missing_tool() {
        let returned = Returned::exited(Tool::Tsc, "tsc", 0).saying("", "npm error 404");
        assert_eq!(returned.interpret().category, CategoryCode::Clean);
    }
}
