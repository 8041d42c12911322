//! Finding a project's checks from its own files, so that it needs no configuration.
//!
//! Looks at the root first, and where that says nothing about a tool, at the directories one level below. Nothing is executed:
//! a tool counts as there when its program is.

mod eslint;
mod node_tests;
mod pytest;
mod python;
mod tsc;

use crate::model::{BlockOn, PlanNote, Tool};
use crate::shell::join_words;
use crate::spec::files::{ProjectFiles, within};

/// A check that the project's files speak for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// The tool.
    pub(super) tool: Tool,
    /// The check's name.
    pub(super) name: String,
    /// The directory that speaks for it, relative to the project; empty: the root.
    pub(super) package: String,
    /// The directory it runs in, relative to the project.
    pub(super) directory: String,
    /// Program and arguments, relative to `directory`.
    pub(super) argv: Vec<String>,
    /// What the project's own scripts say about blocking.
    pub(super) policy: Option<FoundPolicy>,
}

/// What the project's own scripts say about blocking (C30).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundPolicy {
    /// When findings block; none: not said.
    pub(super) block_on: Option<BlockOn>,
    /// The limit on warnings; none: not said.
    pub(super) max_warnings: Option<u32>,
    /// Where it is said: `package.json scripts.lint`.
    pub(super) place: String,
}

/// Everything that was found, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// The checks, in the order they run.
    pub(super) found: Vec<Found>,
    /// Why each was found, and what is missing.
    pub(super) notes: Vec<PlanNote>,
}

/// Directories that hold no package of the project itself.
const NO_PACKAGES: &[&str] =
    &["node_modules", "venv", "env", "dist", "build", "target", "evidence", "coverage", "vendor", "site-packages"];

/// The most directories below the root that are looked into.
const MOST_PACKAGES: usize = 256;

type Finder = fn(&dyn ProjectFiles, &str, &mut Findings) -> Looked;

/// Whether a directory says anything about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    /// Nothing: look elsewhere.
    Silent,
    /// It does, whether or not a check came of it.
    Spoke,
}

/// The tools that are looked for, in the order their checks run.
const FINDERS: &[Finder] = &[
    pytest::find,
    node_tests::find_jest,
    node_tests::find_vitest,
    tsc::find,
    python::find_mypy,
    eslint::find,
    python::find_ruff,
];

/// Looks for the checks of a project.
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
    /// Returns what a limit on warnings means; none where there is none.
    pub(super) fn from_limit(max_warnings: Option<u32>, place: &str) -> Option<Self> {
        let place = place.to_owned();
        max_warnings.map(|limit| match limit {
            0 => Self { block_on: Some(BlockOn::ErrorsAndWarnings), max_warnings: None, place },
            _ => Self { block_on: None, max_warnings: Some(limit), place },
        })
    }
}

/// Returns a command as one would type it.
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

/// Returns the directory nearest to a package, upwards, that has `path`: the package itself or the root.
fn nearest_with(files: &dyn ProjectFiles, package: &str, path: &str) -> Option<String> {
    [package, ""].into_iter().find(|directory| files.exists(&within(directory, path))).map(str::to_owned)
}

/// Returns the program at `path` of `holder` as it is called from the directory `from`, with a `./` or `../` in front.
fn program(holder: &str, path: &str, from: &str) -> String {
    match (holder == from, holder.is_empty()) {
        (true, _) => format!("./{path}"),
        (false, true) => format!("../{path}"),
        (false, false) => format!("./{holder}/{path}"),
    }
}
