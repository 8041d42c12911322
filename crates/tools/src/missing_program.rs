//! Detects that a launcher such as `npx` or `uvx` did not find the program or package that it should have started (C13).
//!
//! The launchers' exit codes mean something else for other programs, and a test may print a launcher's words. So a row of the
//! table holds only for a command that calls the launcher, with the launcher's own exit code, and only if the launcher's
//! message ends its output. What the rows decide is always a failure, never a success.

use crate::interpret::Exited;
use crate::launchers::{Launched, launched};
use proctor_model::{CategoryCode, Interpretation};

/// The stream in which a launcher says that it found nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Stdout,
    Stderr,
}

/// The line by which a launcher says that it found nothing. `%` stands for the name that the launcher was told.
#[derive(Debug, Clone, Copy)]
enum Said {
    Begins(&'static str),
    Ends(&'static str),
}

/// What may follow the line in its stream.
#[derive(Debug, Clone, Copy)]
enum Followed {
    /// Lines of the launcher, which begin with one of these words.
    By(&'static [&'static str]),
    /// Free text of the launcher.
    ByText,
}

/// How one launcher says that it did not find what it should have started. Each row was seen on the launcher itself.
struct Row {
    launcher: &'static str,
    codes: &'static [i32],
    stream: Stream,
    said: Said,
    followed: Followed,
    /// The words with which the launcher's lines in the other stream begin.
    beside: &'static [&'static str],
    /// What to do. `%` stands for the name that the launcher was told.
    advice: &'static str,
}

const NPM_LINES: &[&str] = &["npm error", "npm ERR!", "npm notice", "npm warn", "npm WARN"];
const NPM_ADVICE: &str = "install it: `npm install --save-dev %`";
const YARN_ADVICE: &str = "install it: `yarn add --dev %`";
const PNPM_ADVICE: &str = "install it: `pnpm add --save-dev %`";
const UV_ADVICE: &str = "install it: `uv add --dev %`";
const NO_SOLUTION: &str = "error: No solution found when resolving tool dependencies";

const NPX: Row = Row {
    launcher: "npx",
    codes: &[1],
    stream: Stream::Stderr,
    said: Said::Begins("npm error code E404"),
    followed: Followed::By(NPM_LINES),
    beside: &[],
    advice: NPM_ADVICE,
};

const NPM_SCRIPT: Row = Row {
    launcher: "npm",
    said: Said::Begins("npm error Missing script: \"%\""),
    advice: "name a script that `npm run` lists, or add `%` to package.json",
    ..NPX
};

const UVX: Row = Row {
    launcher: "uvx",
    codes: &[1],
    stream: Stream::Stderr,
    said: Said::Begins(NO_SOLUTION),
    followed: Followed::ByText,
    beside: &[],
    advice: "name a package that exists, or install it: `uv tool install %`",
};

const YARN: Row = Row {
    launcher: "yarn",
    codes: &[1],
    stream: Stream::Stderr,
    said: Said::Begins("error Command \"%\" not found."),
    followed: Followed::By(&[]),
    beside: &["yarn ", "info "],
    advice: YARN_ADVICE,
};

const PNPM: Row = Row {
    launcher: "pnpm",
    codes: &[1, 254],
    stream: Stream::Stdout,
    said: Said::Begins("ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL  Command \"%\" not found"),
    followed: Followed::By(&[]),
    beside: &[],
    advice: PNPM_ADVICE,
};

const PYTHON: Row = Row {
    launcher: "python",
    codes: &[1],
    stream: Stream::Stderr,
    said: Said::Ends(": No module named %"),
    followed: Followed::By(&[]),
    beside: &[],
    advice: "install it for the Python that the command names: `python -m pip install %`",
};

const ROWS: &[Row] = &[
    NPX,
    Row { said: Said::Begins("npm ERR! code E404"), ..NPX },
    Row { said: Said::Begins("npm error code ENOTCACHED"), ..NPX },
    Row { said: Said::Begins("npm error code ETARGET"), ..NPX },
    Row { said: Said::Begins("npm error npx canceled due to missing packages"), ..NPX },
    Row { said: Said::Begins("npm ERR! npx canceled due to missing packages"), ..NPX },
    Row { said: Said::Begins("npm error could not determine executable to run"), ..NPX },
    Row { said: Said::Begins("npm ERR! could not determine executable to run"), ..NPX },
    NPM_SCRIPT,
    Row { said: Said::Begins("npm ERR! Missing script: \"%\""), ..NPM_SCRIPT },
    PNPM,
    Row { said: Said::Begins("ERR_PNPM_FETCH_404"), stream: Stream::Stderr, followed: Followed::ByText, ..PNPM },
    Row { said: Said::Begins("ERR_PNPM_FETCH_404"), followed: Followed::ByText, ..PNPM },
    Row { said: Said::Begins("ERR_PNPM_NO_SCRIPT  Missing script: %"), followed: Followed::ByText, ..PNPM },
    YARN,
    Row { said: Said::Begins("error Couldn't find the binary %"), ..YARN },
    UVX,
    Row { launcher: "uv", ..UVX },
    Row { launcher: "pipx", advice: "name a package that exists, or install it: `pipx install %`", ..UVX },
    Row { launcher: "uv", codes: &[2], said: Said::Begins("error: Failed to spawn: `%`"), advice: UV_ADVICE, ..UVX },
    Row { launcher: "uv", codes: &[2], said: Said::Begins("error: Failed to spawn: %"), advice: UV_ADVICE, ..UVX },
    Row {
        launcher: "poetry",
        said: Said::Begins("Command not found: %"),
        followed: Followed::By(&[]),
        advice: "install it: `poetry add --group dev %`",
        ..UVX
    },
    Row {
        launcher: "pdm",
        said: Said::Begins("[PdmUsageError]: Command '%' is not found in your PATH."),
        followed: Followed::By(&[]),
        advice: "install it: `pdm add --dev %`",
        ..UVX
    },
    PYTHON,
    Row { said: Said::Begins("PYTHON: Error while finding module specification for '%'"), ..PYTHON },
];

/// Returns the result of a launcher that did not find what it should have started; `None` if nothing shows that.
pub(super) fn find(exited: &Exited<'_>) -> Option<Interpretation> {
    let is_success = exited.code == 0 || exited.action.expected_exit_codes.contains(&exited.code);
    if is_success || !exited.stdout_is_complete || !exited.stderr_is_complete {
        return None;
    }
    let call = launched(&exited.action.command.argv);
    call.iter().filter(|launched| !is_installed(launched, exited)).find_map(|launched| {
        let row = ROWS.iter().find(|row| row.applies_to(launched, exited))?;
        let Launched { launcher, program, .. } = launched;
        let advice = row.advice.replace('%', program);
        let reason = format!(
            "There is no `{program}`: `{launcher}` did not find it and ended with exit code {}; {advice}, or correct the command",
            exited.code
        );
        Some(Interpretation::plain(CategoryCode::ToolNotFound, reason))
    })
}

/// Returns whether a program is among the project's packages of Node. Such a program was started, even if the output says that it was not
/// found.
fn is_installed(launched: &Launched, exited: &Exited<'_>) -> bool {
    let directory = exited.place.root.join(exited.place.directory);
    let around = directory.ancestors().take_while(|around| around.starts_with(exited.place.root));
    around.map(|around| around.join("node_modules/.bin")).any(|bin| (exited.names_in)(&bin).contains(&launched.program))
}

impl Row {
    fn applies_to(&self, launched: &Launched, exited: &Exited<'_>) -> bool {
        if self.launcher != launched.launcher || !self.codes.contains(&exited.code) {
            return false;
        }
        let (stream, other) = match self.stream {
            Stream::Stdout => (&exited.stdout, &exited.stderr),
            Stream::Stderr => (&exited.stderr, &exited.stdout),
        };
        let begins = |line: &str, words: &[&str]| words.iter().any(|word| line.starts_with(word));
        // In a script other commands may have printed something before the launcher.
        let is_alone = launched.is_in_script || written(other).all(|line| begins(line, self.beside));
        let mut lines = written(stream).skip_while(|line| !self.said.matches(line, &launched.program));
        is_alone
            && lines.next().is_some()
            && match self.followed {
                Followed::By(words) => lines.all(|line| begins(line, words) || self.said.matches(line, &launched.program)),
                Followed::ByText => true,
            }
    }
}

impl Said {
    fn matches(self, line: &str, program: &str) -> bool {
        match self {
            // Python's messages begin with the path of the interpreter.
            Self::Begins(words) => match words.strip_prefix("PYTHON") {
                Some(words) => line.contains(&words.replace('%', program)),
                None => line.starts_with(&words.replace('%', program)),
            },
            Self::Ends(words) => line.ends_with(&words.replace('%', program)),
        }
    }
}

/// Returns the lines of a stream that have a word, without the spaces around it.
fn written(stream: &str) -> impl Iterator<Item = &str> {
    stream.lines().map(str::trim).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::samples::Returned;
    use proctor_model::Tool;

    const E404: &str = "npm error code E404\nnpm error 404 Not Found - GET https://registry.example/gone\nnpm error 404\n\
                        npm error A complete log of this run can be found in: /x/debug-0.log\n";
    const NO_TOOL: &str = "error: No solution found when resolving tool dependencies\n  cause: Because gone was not found in the package registry\n";

    fn code(command: &str, code: i32, stdout: &str, stderr: &str) -> CategoryCode {
        Returned::exited(Tool::Generic, command, code).saying(stdout, stderr).interpret().category
    }

    #[test]
    fn what_each_launcher_says_of_a_program_that_is_not_there_is_understood() {
        for (command, exit, stdout, stderr) in [
            ("npx gone --flag", 1, "", E404),
            ("npx --yes gone@3 --flag", 1, "", E404),
            ("npm exec gone", 1, "", E404),
            ("timeout 10 npx gone", 1, "", E404),
            ("npx gone", 1, "", "npm error npx canceled due to missing packages and no YES option: [\"gone@1.6.0\"]\n"),
            ("npx gone", 1, "", "npm error code ENOTCACHED\nnpm error request to https://registry.example/gone failed\n"),
            ("npx gone@0.0.99", 1, "", "npm error code ETARGET\nnpm error notarget No matching version found for gone@0.0.99.\n"),
            ("pnpm exec gone", 254, "undefined\n ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL  Command \"gone\" not found\n", ""),
            (
                "pnpm dlx gone",
                1,
                "",
                "/c/dlx/x:\n ERR_PNPM_FETCH_404  GET https://registry.example/gone: Not Found - 404\n\nand more\n",
            ),
            ("pnpm run gone", 1, " ERR_PNPM_NO_SCRIPT  Missing script: gone\n\nCommand \"gone\" not found.\n", ""),
            ("yarn gone", 1, "yarn run v1.22.22\ninfo Visit x\n", "warning no license\nerror Command \"gone\" not found.\n"),
            ("yarn exec gone", 1, "yarn exec v1.22.22\n", "error Couldn't find the binary gone\n"),
            ("npm run gone", 1, "", "npm error Missing script: \"gone\"\nnpm error\nnpm error To see a list of scripts, run:\n"),
            ("bash -c 'cd web && npm run gone'", 1, "/p/web\n", "npm error Missing script: \"gone\"\nnpm error\n"),
            ("uvx gone", 1, "", NO_TOOL),
            ("uv tool run gone", 1, "", NO_TOOL),
            ("pipx run gone", 1, "", NO_TOOL),
            ("uv run gone", 2, "", "error: Failed to spawn: gone\n  cause: No such file or directory (os error 2)\n"),
            ("uv run gone", 2, "", "error: Failed to spawn: `gone`\n  Caused by: No such file or directory (os error 2)\n"),
            ("poetry run gone", 1, "", "Creating virtualenv x\nCommand not found: gone\n"),
            ("pdm run gone", 1, "", "[PdmUsageError]: Command 'gone' is not found in your PATH.\n"),
            ("python -m gone", 1, "", "/usr/bin/python: No module named gone\n"),
            ("uv run python -m gone", 1, "", "/p/.venv/bin/python: No module named gone\n"),
            (
                "python3 -m gone.main",
                1,
                "",
                "/usr/bin/python3: Error while finding module specification for 'gone.main' (ModuleNotFoundError: No module named 'gone')\n",
            ),
        ] {
            assert_eq!(code(command, exit, stdout, stderr), CategoryCode::ToolNotFound, "{command}: {stdout}{stderr}");
        }
        let reason = Returned::exited(Tool::Generic, "npx gone", 1).saying("", E404).interpret().reason;
        assert!(reason.contains("`npm install --save-dev gone`"), "{reason}");
    }

    #[test]
    fn a_test_that_prints_a_launchers_words_was_started() {
        for (command, exit, stdout, stderr) in [
            // Another exit code than the launcher's.
            ("npx gone", 2, "", E404),
            ("uv run gone", 1, "", "error: Failed to spawn: gone\n"),
            // The program printed something of its own.
            ("npx gone", 1, "1 test failed\n", E404),
            ("npx gone", 1, "", "npm error code E404\nAssertionError: a 404 was expected\n"),
            ("python -m gone", 1, "", "x: No module named gone\nFAILED\n"),
            ("yarn gone", 1, "1 failed\n", "error Command \"gone\" not found.\n"),
            // Another program is meant, as in a test of a package manager.
            ("yarn tests", 1, "", "error Command \"gone\" not found.\n"),
            ("python -m tests", 1, "", "/usr/bin/python: No module named gone\n"),
            ("npm run tests", 1, "", "npm error Missing script: \"gone\"\n"),
            // No launcher is called.
            ("make tests", 1, "", "npm error Missing script: \"gone\"\n"),
            ("node tests.js", 1, "", E404),
            ("./tests", 1, "", NO_TOOL),
        ] {
            assert_eq!(code(command, exit, stdout, stderr), CategoryCode::UnexpectedExit, "{command}: {stdout}{stderr}");
        }
        assert_eq!(code("npx gone", 0, "", E404), CategoryCode::ExpectedExit, "a success is never called a missing program");
    }

    #[test]
    fn a_program_that_is_installed_was_started_whatever_it_says() {
        let returned = Returned::exited(Tool::Generic, "npx gone", 1).saying("", E404);
        let exited_with = |names_in: fn(&Path) -> Vec<String>| Returned { names_in, ..returned.clone() }.interpret().category;
        assert_eq!(exited_with(|_| Vec::new()), CategoryCode::ToolNotFound);
        assert_eq!(
            exited_with(|path| if path.ends_with("node_modules/.bin") { vec!["gone".to_owned()] } else { Vec::new() }),
            CategoryCode::UnexpectedExit
        );
    }
}
