//! Discovers a project's checks from its files, so that it needs no configuration.
//!
//! Each tool is searched for in the root first. If the root has no sign of it, the directories one level below are
//! searched, and the members of the root's workspace. Nothing is executed: a tool counts as installed if its program exists.

mod entries;
mod environments;
mod followed;
mod lock_files;
mod members;
mod node_runner;
mod proposals;
mod python;
mod sole;
mod test_command;

use crate::project_files::{ProjectFiles, within};
use crate::table::{ROWS, row_of};
pub use followed::RunCommand;
pub(super) use lock_files::runners;
pub use lock_files::{MissingInstallation, install_command, interpreter_of, missing_installations, without_runner};
use members::members;
pub(super) use node_runner::{NODE_RUNNER, NodeRunner};
use proctor_model::{BlockOn, PlanNote, Tool, join_words};
pub use proposals::{ProposedCheck, propose, uncovered};
pub(super) use python::{ENVIRONMENTS, has_pyproject_table, has_section};
pub use sole::wrapped_runner;
pub use test_command::tests_not_run;

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
    find_rows(files, |_| true)
}

/// Discovers the checks of one tool.
pub fn find_checks_of(tool: Tool, files: &dyn ProjectFiles) -> FoundChecks {
    find_rows(files, |other| other == tool)
}

fn find_rows(files: &dyn ProjectFiles, is_wanted: impl Fn(Tool) -> bool) -> FoundChecks {
    let mut all = FoundChecks::default();
    let mut directories = None;
    for find in ROWS.iter().filter(|row| is_wanted(row.tool)).filter_map(|row| row.find) {
        let mut found = FoundChecks::default();
        if find(files, "", &mut found) == Looked::Silent {
            for package in directories.get_or_insert_with(|| packages(files)).iter() {
                find(files, package, &mut found);
            }
        }
        all.found.extend(found.found);
        all.notes.extend(found.notes);
    }
    all
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

pub(super) fn name_in_package(word: &str, package: &str) -> String {
    if package.is_empty() { word.to_owned() } else { format!("{word} {package}") }
}

fn packages(files: &dyn ProjectFiles) -> Vec<String> {
    let mut packages = directories_in(files, "");
    packages.extend(members(files));
    packages.sort();
    packages.dedup();
    packages.truncate(MOST_PACKAGES);
    packages
}

/// Returns the directories in a directory that may hold code of the project.
fn directories_in(files: &dyn ProjectFiles, directory: &str) -> Vec<String> {
    let is_package = |name: &String| !name.starts_with('.') && !NO_PACKAGES.contains(&name.as_str());
    let names = files.names(directory).into_iter().filter(is_package).map(|name| within(directory, &name));
    names.filter(|path| files.is_directory(path)).take(MOST_PACKAGES).collect()
}

/// Returns the directory that contains `path`: the package, otherwise the root, otherwise the nearest directory above the
/// project in the same repository (`..`, `../..`). `None` if none does. Installed packages of a workspace lie in its root.
pub(super) fn nearest_with(files: &dyn ProjectFiles, package: &str, path: &str) -> Option<String> {
    let above = (1..=files.levels_above()).map(|levels| vec![".."; levels].join("/"));
    [package.to_owned(), String::new()].into_iter().chain(above).find(|directory| files.exists(&within(directory, path)))
}

/// Returns the path by which a command in the directory `from` calls the program at `path` in the directory `holder`.
/// The result begins with `./` or `../`.
pub(super) fn program(holder: &str, path: &str, from: &str) -> String {
    let is_outside = holder.is_empty() || holder.starts_with("..");
    let up = "../".repeat(from.split('/').filter(|part| is_outside && !part.is_empty()).count());
    match (holder == from, up.is_empty() && !holder.starts_with("..")) {
        (true, _) => format!("./{path}"),
        (false, true) => format!("./{}", within(holder, path)),
        (false, false) => format!("{up}{}", within(holder, path)),
    }
}

/// Returns the words by which a command in the directory `from` calls a program of a package's dependencies: a path below
/// `node_modules`, or through Yarn where Plug'n'Play is installed, which has no such directory. `None` if nothing is installed.
pub(super) fn node_program(files: &dyn ProjectFiles, package: &str, word: &str, from: &str) -> Option<Vec<String>> {
    let path = format!("node_modules/.bin/{word}");
    let installed = nearest_with(files, package, &path).map(|holder| vec![program(&holder, &path, from)]);
    installed.or_else(|| nearest_with(files, package, ".pnp.cjs").map(|_| words(&["yarn", "run", word])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project_files::fake::FakeFiles;

    /// Returns the found checks as `DIRECTORY: COMMAND`.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let checks = find_checks(&FakeFiles::of(files)).found.into_iter();
        checks.map(|check| format!("{}: {}", check.directory, command_text(&check.argv))).collect()
    }

    const JEST: &str = r#"{"scripts": {"test": "jest"}}"#;
    const PYTEST: &str = "[tool.pytest.ini_options]\n";

    #[test]
    fn installed_packages_of_the_workspace_above_the_project_run_its_tests() {
        let above = [("../../.venv/bin/python", ""), ("../../node_modules/.bin/jest", ""), ("../../.git/HEAD", "")];
        let own = [("pyproject.toml", PYTEST), ("package.json", JEST)];
        let commands = found(&[&above[..], &own].concat());
        assert_eq!(commands, [": ../../.venv/bin/python -m pytest", ": ../../node_modules/.bin/jest"]);
        let below = [("web/pyproject.toml", PYTEST), ("web/package.json", JEST)];
        let commands = found(&[&above[..], &below].concat());
        assert_eq!(commands, ["web: ../../../.venv/bin/python -m pytest", "web: ../../../node_modules/.bin/jest"]);
    }

    #[test]
    fn members_of_the_roots_workspace_are_searched_where_the_root_is_silent() {
        let files = [
            ("pnpm-workspace.yaml", "packages:\n  - packages/*\n"),
            ("node_modules/.bin/jest", ""),
            ("packages/a/package.json", JEST),
            ("packages/b/package.json", JEST),
            ("fixtures/c/package.json", JEST),
        ];
        let commands = ["packages/a: ../../node_modules/.bin/jest", "packages/b: ../../node_modules/.bin/jest"];
        assert_eq!(found(&files), commands);
        assert_eq!(found(&[&files[..], &[("package.json", JEST)]].concat()), [": ./node_modules/.bin/jest"]);
    }

    #[test]
    fn a_script_that_wraps_a_runner_is_run_as_the_script_and_judged_as_the_runner() {
        for script in
            ["c8 vitest run", "cross-env CI=1 vitest run", "nyc --reporter lcov vitest run", "env-cmd -f .env vitest run"]
        {
            let package = serde_json::json!({"scripts": {"test": script}}).to_string();
            let files = [("package.json", package.as_str()), ("node_modules/.bin/vitest", "")];
            let checks = find_checks(&FakeFiles::of(&files)).found;
            assert_eq!(checks.iter().map(|check| check.tool).collect::<Vec<_>>(), [Tool::Vitest], "{script}");
            assert_eq!(found(&files), [": npm run test"], "{script}");
        }
    }

    #[test]
    fn with_plug_n_play_yarn_runs_the_programs_of_packages() {
        let files = [(".pnp.cjs", ""), ("package.json", JEST), ("eslint.config.js", ""), ("tsconfig.json", "{}")];
        let commands = [": yarn run jest", ": yarn run tsc --noEmit -p .", ": yarn run eslint ."];
        assert_eq!(found(&files), commands);
    }
}
