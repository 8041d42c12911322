//! The calls of the linters that check nothing and end with exit code 0.

use crate::no_work::{NONE, NoWork};
use crate::option_spelling::OptionSpelling;

pub(crate) const NO_WORK_OF_MYPY: NoWork = NoWork {
    options: &["-V", "--version", "-h", "--help", "-c", "--command"],
    spelling: OptionSpelling::JoinedAndShortened { valued: "Omnpc" },
    ..NONE
};

pub(crate) const NO_WORK_OF_RUFF: NoWork = NoWork {
    options: &[
        "-V",
        "--version",
        "-h",
        "--help",
        "--show-files",
        "--show-settings",
        "--add-noqa",
        "--add-ignore",
        // The linter reads standard input, which is empty.
        "-",
        "--stdin-filename",
    ],
    // The findings are not printed one by one, and the exit code does not tell of them either.
    options_with: &[(&["--statistics", "--silent", "-s"], &["--exit-zero", "-e"])],
    // With `--diff`, Ruff shows the findings that can be fixed, and is silent about all others.
    options_of_subcommand: &[("check", &["--diff"])],
    subcommands: &["rule", "config", "linter", "version", "help"],
    spelling: OptionSpelling::Joined { valued: "o" },
    ..NONE
};

pub(crate) const NO_WORK_OF_FLAKE8: NoWork = NoWork {
    options: &["--version", "-h", "--help", "--bug-report"],
    // Only the names of files are printed, or nothing, and the exit code does not tell of findings either.
    options_with: &[(&["-q", "--quiet"], &["--exit-zero"])],
    spelling: OptionSpelling::JoinedAndShortened { valued: "j" },
    ..NONE
};

pub(crate) const NO_WORK_OF_PYLINT: NoWork = NoWork {
    options: &[
        "--version",
        "-h",
        "--help",
        "--long-help",
        "--help-msg",
        "--list-msgs",
        "--list-msgs-enabled",
        "--list-groups",
        "--list-conf-levels",
        "--list-extensions",
        "--generate-rcfile",
        "--generate-toml-config",
    ],
    spelling: OptionSpelling::JoinedAndShortened { valued: "defijrs" },
    ..NONE
};

pub(crate) const NO_WORK_OF_PRETTIER: NoWork = NoWork {
    options: &["-v", "--version", "-h", "--help", "--support-info", "--find-config-path", "--file-info"],
    allow_no_files: &["--no-error-on-unmatched-pattern"],
    spelling: OptionSpelling::Joined { valued: "" },
    ..NONE
};
