//! Discovers a project's checks from its files, so that it needs no configuration.
//!
//! Each tool is searched for in the root first. If the root has no sign of it, the directories one level below are searched.
//! Nothing is executed: a tool counts as installed if its program exists.

mod eslint;
mod node_tests;
mod pytest;
mod python;
mod tsc;

use crate::model::{BlockOn, PlanNote, Tool};
use crate::shell::join_words;
use crate::spec::files::{ProjectFiles, within};

/// A discovered check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) tool: Tool,
    pub(super) name: String,
    /// The directory whose files led to the check, relative to the project; empty for the root.
    pub(super) package: String,
    /// The working directory, relative to the project.
    pub(super) directory: String,
    /// Program and arguments. Paths are relative to `directory`.
    pub(super) argv: Vec<String>,
    /// The policy that the project's own scripts imply.
    pub(super) policy: Option<FoundPolicy>,
}

/// A policy implied by the project's own scripts, for example by `--max-warnings` (C30).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundPolicy {
    /// When findings block; `None` if the script does not say.
    pub(super) block_on: Option<BlockOn>,
    /// The limit on warnings; `None` if the script does not say.
    pub(super) max_warnings: Option<u32>,
    /// Where the script is: `package.json scripts.lint`.
    pub(super) place: String,
}

/// The discovered checks with the reasons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// The checks, in the order in which they run.
    pub(super) found: Vec<Found>,
    /// Notes for people: why each check was found, and what is missing for others.
    pub(super) notes: Vec<PlanNote>,
}

/// Directories below the root that are not searched, because they do not hold the project's own code.
const NO_PACKAGES: &[&str] =
    &["node_modules", "venv", "env", "dist", "build", "target", "evidence", "coverage", "vendor", "site-packages"];

/// The most directories below the root that are searched.
const MOST_PACKAGES: usize = 256;

type Finder = fn(&dyn ProjectFiles, &str, &mut Findings) -> Looked;

/// Whether a directory has signs of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    /// The directory has no sign of the tool, so other directories are searched.
    Silent,
    /// The directory has signs of the tool, even if no check could be made.
    Spoke,
}

/// The search functions of all tools, in the order in which their checks run.
const FINDERS: &[Finder] = &[
    pytest::find,
    node_tests::find_jest,
    node_tests::find_vitest,
    tsc::find,
    python::find_mypy,
    eslint::find,
    python::find_ruff,
];

/// Discovers the checks of a project.
pub(super) fn findings(files: &dyn ProjectFiles) -> Findings {
    let mut findings = Findings::default();
    let packages = packages(files);
    for find in FINDERS {
        if find(files, "", &mut findings) == Looked::Silent {
            for package in &packages {
                find(files, package, &mut findings);
            }
        }
    }
    findings
}

impl Findings {
    fn note(&mut self, tool: Tool, message: String) {
        self.notes.push(PlanNote { subject: tool.word().to_owned(), message });
    }

    fn add(&mut self, found: Found, reason: &str) {
        let message = format!("`{}` because {reason}", command_text(&found.argv));
        self.notes.push(PlanNote { subject: found.name.clone(), message });
        self.found.push(found);
    }
}

impl FoundPolicy {
    /// Returns the policy that a limit on warnings implies; `None` without a limit.
    pub(super) fn from_limit(max_warnings: Option<u32>, place: &str) -> Option<Self> {
        let place = place.to_owned();
        max_warnings.map(|limit| match limit {
            0 => Self { block_on: Some(BlockOn::ErrorsAndWarnings), max_warnings: None, place },
            _ => Self { block_on: None, max_warnings: Some(limit), place },
        })
    }
}

/// Returns a command as a person would type it.
pub(super) fn command_text(argv: &[String]) -> String {
    join_words(argv.iter().map(String::as_str)).unwrap_or_else(|| argv.join(" "))
}

fn words(argv: &[&str]) -> Vec<String> {
    argv.iter().map(|word| (*word).to_owned()).collect()
}

fn named(word: &str, package: &str) -> String {
    if package.is_empty() { word.to_owned() } else { format!("{word} {package}") }
}

fn packages(files: &dyn ProjectFiles) -> Vec<String> {
    let is_package = |name: &String| !name.starts_with('.') && !NO_PACKAGES.contains(&name.as_str());
    let names = files.names("").into_iter().filter(is_package);
    names.filter(|name| files.is_directory(name)).take(MOST_PACKAGES).collect()
}

/// Returns the first of a package and the root that contains `path`.
fn nearest_with(files: &dyn ProjectFiles, package: &str, path: &str) -> Option<String> {
    [package, ""].into_iter().find(|directory| files.exists(&within(directory, path))).map(str::to_owned)
}

/// Returns the path for calling a program from the directory `from`; the program is at `path` in the directory `holder`. The
/// result begins with `./` or `../`.
fn program(holder: &str, path: &str, from: &str) -> String {
    match (holder == from, holder.is_empty()) {
        (true, _) => format!("./{path}"),
        (false, true) => format!("../{path}"),
        (false, false) => format!("./{holder}/{path}"),
    }
}
