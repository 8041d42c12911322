//! Finding a project's checks from its own files, so that it needs no configuration.
//!
//! Looks at the root first, and where that says nothing about a tool, at the directories one level below. Nothing is executed:
//! a tool counts as there when its program is.

pub(super) mod python;

use crate::model::{BlockOn, PlanNote, Tool};
use crate::shell::join_words;
use crate::tools::project_files::{ProjectFiles, within};
use crate::tools::table::{ROWS, row_of};

/// A check that the project's files speak for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundCheck {
    /// The tool.
    pub(crate) tool: Tool,
    /// The check's name.
    pub(crate) name: String,
    /// The directory that speaks for it, relative to the project; empty: the root.
    pub(crate) package: String,
    /// The directory it runs in, relative to the project.
    pub(crate) directory: String,
    /// Program and arguments, relative to `directory`.
    pub(crate) argv: Vec<String>,
    /// What the project's own scripts say about blocking.
    pub(crate) policy: Option<FoundPolicy>,
}

/// What the project's own scripts say about blocking (C30).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundPolicy {
    /// When findings block; none: not said.
    pub(crate) block_on: Option<BlockOn>,
    /// The limit on warnings; none: not said.
    pub(crate) max_warnings: Option<u32>,
    /// Where it is said: `package.json scripts.lint`.
    pub(crate) place: String,
}

/// Everything that was found, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FoundChecks {
    /// The checks, in the order they run.
    pub(crate) found: Vec<FoundCheck>,
    /// Why each was found, and what is missing.
    pub(crate) notes: Vec<PlanNote>,
}

/// Directories that hold no package of the project itself.
const NO_PACKAGES: &[&str] =
    &["node_modules", "venv", "env", "dist", "build", "target", "evidence", "coverage", "vendor", "site-packages"];

/// The most directories below the root that are looked into.
const MOST_PACKAGES: usize = 256;

/// Looks for the checks of one tool in one directory.
pub(super) type Finder = fn(&dyn ProjectFiles, &str, &mut FoundChecks) -> Looked;

/// Whether a directory says anything about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    /// Nothing: look elsewhere.
    Silent,
    /// It does, whether or not a check came of it.
    Spoke,
}

/// Looks for the checks of a project. They run in the order of the tools' rows.
pub(crate) fn find_checks(files: &dyn ProjectFiles) -> FoundChecks {
    let mut findings = FoundChecks::default();
    let packages = packages(files);
    for find in ROWS.iter().filter_map(|row| row.find) {
        if find(files, "", &mut findings) == Looked::Silent {
            for package in &packages {
                find(files, package, &mut findings);
            }
        }
    }
    findings
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
    /// Returns what a limit on warnings means; none where there is none.
    pub(crate) fn from_limit(max_warnings: Option<u32>, place: &str) -> Option<Self> {
        let place = place.to_owned();
        max_warnings.map(|limit| match limit {
            0 => Self { block_on: Some(BlockOn::ErrorsAndWarnings), max_warnings: None, place },
            _ => Self { block_on: None, max_warnings: Some(limit), place },
        })
    }
}

/// Returns what a command that runs a tool says itself about blocking; `place` is where it is written.
pub(crate) fn policy_of_command(tool: Tool, argv: &[String], place: &str) -> Option<FoundPolicy> {
    FoundPolicy::from_limit((row_of(tool).limit_of_command)(argv), place)
}

/// Returns what a script that runs a tool says about blocking; `place` is where it is written.
pub(crate) fn policy_of_script(tool: Tool, script: &str, place: &str) -> Option<FoundPolicy> {
    FoundPolicy::from_limit((row_of(tool).limit_of_script)(script), place)
}

/// Returns a command as one would type it.
pub(crate) fn command_text(argv: &[String]) -> String {
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

/// Returns the directory nearest to a package, upwards, that has `path`: the package itself or the root.
pub(super) fn nearest_with(files: &dyn ProjectFiles, package: &str, path: &str) -> Option<String> {
    [package, ""].into_iter().find(|directory| files.exists(&within(directory, path))).map(str::to_owned)
}

/// Returns the program at `path` of `holder` as it is called from the directory `from`, with a `./` or `../` in front.
pub(super) fn program(holder: &str, path: &str, from: &str) -> String {
    match (holder == from, holder.is_empty()) {
        (true, _) => format!("./{path}"),
        (false, true) => format!("../{path}"),
        (false, false) => format!("./{holder}/{path}"),
    }
}
