//! Discovers a project's checks from its files, so that it needs no configuration.
//!
//! Each tool is searched for in the root first. If the root has no sign of it, the directories one level below are
//! searched. Nothing is executed: a tool counts as installed if its program exists.

mod found_before;
mod proposals;
mod python;

use crate::project_files::{ProjectFiles, within};
use crate::table::row_of;
pub use found_before::FoundBefore;
use proctor_model::{BlockOn, PlanNote, Tool, join_words};
pub use proposals::{ProposedCheck, propose};
pub(super) use python::{ENVIRONMENTS, has_pyproject_table, has_section};

/// A check that the project's files suggest, with the command that runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundCheck {
    pub tool: Tool,
    pub name: String,
    /// The directory whose files led to the check, relative to the project; empty for the root.
    pub package: String,
    /// The working directory, relative to the project.
    pub directory: String,
    /// Program and arguments. Paths are relative to `directory`.
    pub argv: Vec<String>,
    /// The policy that the project's own scripts imply.
    pub policy: Option<FoundPolicy>,
}

/// A policy implied by the project's own scripts, for example by `--max-warnings` (C30).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPolicy {
    /// When findings block; `None` if the script does not say.
    pub block_on: Option<BlockOn>,
    /// The limit on warnings; `None` if the script does not say.
    pub max_warnings: Option<u32>,
    /// Where the script is: `package.json scripts.lint`.
    pub place: String,
}

/// The discovered checks, with notes about how they were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundChecks {
    /// The checks, in the order in which they run.
    pub found: Vec<FoundCheck>,
    /// Notes for people: why each check was found, and what a tool without a check still lacks.
    pub notes: Vec<PlanNote>,
}

/// Names of directories that are not searched for checks, because they hold installed packages, build output or other
/// files that are not the project's code.
const NO_PACKAGES: &[&str] =
    &["node_modules", "venv", "env", "dist", "build", "target", "evidence", "coverage", "vendor", "site-packages"];

/// The limit for the number of directories directly below the root that are searched for checks.
const MOST_PACKAGES: usize = 256;

/// Searches one directory for the checks of one tool.
pub(super) type Finder = fn(&dyn ProjectFiles, &str, &mut FoundChecks) -> Looked;

/// Returns patterns of the files that a command writes. The arguments are the project's files, the directory in which
/// the command runs, and the words of the command.
pub(super) type WrittenFinder = fn(&dyn ProjectFiles, &str, &[String]) -> Vec<String>;

/// Whether a directory has signs of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    /// The directory has no sign of the tool, so other directories are searched.
    Silent,
    /// The directory has signs of the tool, even if no check can be made of these. Directories below it are not
    /// searched.
    Spoke,
}

/// Discovers the checks of a project. The order of the tool table `ROWS` is the order in which they run.
pub fn find_checks(files: &dyn ProjectFiles) -> FoundChecks {
    FoundBefore::default().find_all(files)
}

impl FoundChecks {
    pub(super) fn note(&mut self, tool: Tool, message: String) {
        self.notes.push(PlanNote { subject: tool.word().to_owned(), message });
    }

    pub(super) fn add(&mut self, found: FoundCheck, reason: &str) {
        let message = format!("`{}` because {reason}", command_text(&found.argv));
        self.notes.push(PlanNote { subject: found.name.clone(), message });
        self.found.push(found);
    }
}

impl FoundPolicy {
    /// Returns the policy that a limit on warnings implies; `None` if there is no limit.
    pub fn from_limit(max_warnings: Option<u32>, place: &str) -> Option<Self> {
        let place = place.to_owned();
        max_warnings.map(|limit| match limit {
            0 => Self { block_on: Some(BlockOn::ErrorsAndWarnings), max_warnings: None, place },
            _ => Self { block_on: None, max_warnings: Some(limit), place },
        })
    }
}

/// Returns the policy that a command's own options imply. `place` says where the command is written.
pub fn policy_of_command(tool: Tool, argv: &[String], place: &str) -> Option<FoundPolicy> {
    FoundPolicy::from_limit((row_of(tool).limit_of_command)(argv), place)
}

/// Returns the policy that a script implies. `place` says where the script is written.
pub fn policy_of_script(tool: Tool, script: &str, place: &str) -> Option<FoundPolicy> {
    FoundPolicy::from_limit((row_of(tool).limit_of_script)(script), place)
}

/// Returns the patterns of the reports and snapshots that a tool's command writes by the project's own settings, relative to the
/// directory in which it runs.
pub fn written_files(tool: Tool, files: &dyn ProjectFiles, directory: &str, argv: &[String]) -> Vec<String> {
    (row_of(tool).written)(files, directory, argv)
}

/// Returns a command as a person would type it in a shell, with quotes where they are needed.
pub fn command_text(argv: &[String]) -> String {
    join_words(argv.iter().map(String::as_str)).unwrap_or_else(|| argv.join(" "))
}

pub(super) fn words(argv: &[&str]) -> Vec<String> {
    argv.iter().map(|word| (*word).to_owned()).collect()
}

pub(super) fn named(word: &str, package: &str) -> String {
    if package.is_empty() { word.to_owned() } else { format!("{word} {package}") }
}

fn packages(files: &dyn ProjectFiles) -> Vec<String> {
    let is_package = |name: &String| !name.starts_with('.') && !NO_PACKAGES.contains(&name.as_str());
    let names = files.names("").into_iter().filter(is_package);
    names.filter(|name| files.is_directory(name)).take(MOST_PACKAGES).collect()
}

/// Returns the directory that contains `path`: the package if it does, otherwise the root; `None` if neither does.
pub(super) fn nearest_with(files: &dyn ProjectFiles, package: &str, path: &str) -> Option<String> {
    [package, ""].into_iter().find(|directory| files.exists(&within(directory, path))).map(str::to_owned)
}

/// Returns the path by which a command in the directory `from` calls the program at `path` in the directory `holder`.
/// The result begins with `./` or `../`.
pub(super) fn program(holder: &str, path: &str, from: &str) -> String {
    match (holder == from, holder.is_empty()) {
        (true, _) => format!("./{path}"),
        (false, true) => format!("../{path}"),
        (false, false) => format!("./{holder}/{path}"),
    }
}
