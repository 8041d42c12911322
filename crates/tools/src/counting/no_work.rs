//! Which commands of these checkers check something: their subcommands, and the options with which they check nothing or choose their
//! own report.

use crate::no_work::{NONE, NoWork};
use crate::option_spelling::{OptionSpelling, has_option, subcommand};

const CLAP: &[&str] = &["-V", "--version", "-h", "--help"];

pub(crate) const FORMATS_OF_TY: &[&str] = &["--output-format", "-q", "--quiet"];
pub(crate) const FORMATS_OF_PYREFLY: &[&str] = &["--output-format", "-o", "--output", "--summary"];
pub(crate) const FORMATS_OF_PYRIGHT: &[&str] = &["--outputjson", "--verifytypes"];
pub(crate) const FORMATS_OF_OXLINT: &[&str] = &["-f", "--format"];
pub(crate) const FORMATS_OF_BIOME: &[&str] = &["--reporter", "--reporter-file"];
pub(crate) const FORMATS_OF_CLIPPY: &[&str] = &["--message-format"];
pub(crate) const FORMATS_OF_PRE_COMMIT: &[&str] = &["-q", "--quiet"];

pub(crate) const NO_WORK_OF_TY: NoWork = NoWork {
    options: &["-V", "--version", "-h", "--help", "--add-ignore", "--update-baseline"],
    // No finding is printed, and the exit code does not tell of any either.
    options_with: &[(&["-q", "--quiet"], &["--exit-zero"])],
    subcommands: &["explain", "generate-shell-completion", "help", "server", "version"],
    spelling: OptionSpelling::Joined { valued: "" },
    ..NONE
};

pub(crate) const NO_WORK_OF_PYREFLY: NoWork = NoWork {
    options: &["-V", "--version", "-h", "--help", "--suppress-errors", "--update-baseline"],
    subcommands: &[
        "completion",
        "coverage",
        "dump-config",
        "help",
        "infer",
        "init",
        "lsp",
        "query",
        "stubgen",
        "suppress",
        "tsp",
    ],
    spelling: OptionSpelling::Joined { valued: "jco" },
    ..NONE
};

pub(crate) const NO_WORK_OF_PYRIGHT: NoWork =
    NoWork { options: &["--version", "-h", "--help", "--createstub", "-w", "--watch", "--writebaseline"], ..NONE };

pub(crate) const NO_WORK_OF_OXLINT: NoWork =
    NoWork { options: &["-V", "--version", "-h", "--help", "--init", "--rules", "--print-config", "--lsp"], ..NONE };

pub(crate) const NO_WORK_OF_BIOME: NoWork = NoWork {
    options: CLAP,
    subcommands: &["clean", "explain", "help", "init", "lsp-proxy", "migrate", "rage", "start", "stop", "upgrade", "version"],
    ..NONE
};

pub(crate) const NO_WORK_OF_CLIPPY: NoWork =
    NoWork { options: &["-V", "--version", "-h", "--help", "--explain"], after_separator: CLAP, names_the_tool: false, ..NONE };

pub(crate) const NO_WORK_OF_PRE_COMMIT: NoWork = NoWork {
    options: CLAP,
    subcommands: &["autoupdate", "clean", "gc", "help", "install", "install-hooks", "list", "uninstall", "validate-config"],
    ..NONE
};

/// Options with which Biome changes files, reads its standard input, or goes on for ever.
const OTHER_WORK_OF_BIOME: &[&str] =
    &["--apply", "--apply-unsafe", "--fix", "--stdin-file-path", "--suppress", "--watch", "--write"];

/// Returns whether a command of ty or Pyrefly checks types.
pub(crate) fn is_check_of_types(_: &str, arguments: &[String]) -> bool {
    subcommand(arguments) == Some("check")
}

/// Returns whether a command of Biome only checks files and does not change them.
pub(crate) fn biome_checks(_: &str, arguments: &[String]) -> bool {
    matches!(subcommand(arguments), Some("check" | "ci" | "format" | "lint")) && !has_option(arguments, OTHER_WORK_OF_BIOME)
}

/// Returns whether a command of Cargo runs Clippy. With `--fix`, what it changed decides, as for other linters.
pub(crate) fn clippy_checks(program: &str, arguments: &[String]) -> bool {
    program == "cargo-clippy" || subcommand(arguments) == Some("clippy")
}

/// Returns whether pre-commit or prek runs hooks; both do so without a subcommand too.
pub(crate) fn hooks_run(_: &str, arguments: &[String]) -> bool {
    matches!(subcommand(arguments), None | Some("run"))
}
