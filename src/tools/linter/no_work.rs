//! The calls of the linters that check nothing and end with exit code 0.

use crate::tools::no_work::{NONE, NoWork};

pub(in crate::tools) const NO_WORK_OF_MYPY: NoWork =
    NoWork { options: &["-V", "--version", "-h", "--help", "-c", "--command"], ..NONE };

pub(in crate::tools) const NO_WORK_OF_RUFF: NoWork = NoWork {
    options: &[
        "-V",
        "--version",
        "-h",
        "--help",
        "--show-files",
        "--show-settings",
        "--add-noqa",
        "--add-ignore",
        // It reads standard input, which is empty.
        "-",
        "--stdin-filename",
    ],
    // The findings are not printed one by one, and the exit code does not tell of them either.
    options_with: &[(&["--statistics", "--silent", "-s"], &["--exit-zero", "-e"])],
    subcommands: &["rule", "config", "linter", "version", "help"],
    ..NONE
};

pub(in crate::tools) const NO_WORK_OF_FLAKE8: NoWork = NoWork { options: &["--version", "-h", "--help", "--bug-report"], ..NONE };

pub(in crate::tools) const NO_WORK_OF_PYLINT: NoWork = NoWork {
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
    ..NONE
};

pub(in crate::tools) const NO_WORK_OF_PRETTIER: NoWork = NoWork {
    options: &["-v", "--version", "-h", "--help", "--support-info", "--find-config-path", "--file-info"],
    allow_no_files: &["--no-error-on-unmatched-pattern"],
    ..NONE
};
