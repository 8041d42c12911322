//! The lock files of package managers: where each manager installs what its file names, and by which command.

use std::collections::BTreeSet;

use crate::discover::packages;
use crate::project_files::{ProjectFiles, within};
use crate::table::row_of;
use proctor_model::{InstalledPackage, Tool};

/// A lock file of a package manager.
struct LockFile {
    name: &'static str,
    /// The directory into which the manager installs, beside the lock file.
    directory: &'static str,
    /// The command that installs exactly what the file names.
    install: &'static str,
    /// A variable without which the manager would install outside of the project, and its value.
    variable: Option<(&'static str, &'static str)>,
    /// The words before a program that runs in the installed environment. They keep the manager offline where it would install at each
    /// save. Empty for a manager whose programs are called by their paths.
    run: &'static [&'static str],
}

const fn lock(name: &'static str, directory: &'static str, install: &'static str) -> LockFile {
    LockFile { name, directory, install, variable: None, run: &[] }
}

/// The first of several files in one directory that install into the same directory counts.
const LOCK_FILES: &[LockFile] = &[
    LockFile { run: &["uv", "run", "--frozen", "--offline"], ..lock("uv.lock", ENVIRONMENT, "uv sync --frozen") },
    LockFile {
        run: &["poetry", "run"],
        variable: Some(("POETRY_VIRTUALENVS_IN_PROJECT", "true")),
        ..lock("poetry.lock", ENVIRONMENT, "poetry install --no-interaction")
    },
    lock("pdm.lock", ENVIRONMENT, "pdm sync"),
    lock("pnpm-lock.yaml", NODE_PACKAGES, "pnpm install --frozen-lockfile"),
    lock("yarn.lock", NODE_PACKAGES, "yarn install --frozen-lockfile"),
    lock("package-lock.json", NODE_PACKAGES, "npm ci"),
];

const ENVIRONMENT: &str = ".venv";
const NODE_PACKAGES: &str = "node_modules";

/// A command that installs what a lock file names, for a directory in which nothing is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingInstallation {
    /// The directory of the lock file, relative to the project; empty for the root.
    pub directory: String,
    /// The path of the lock file.
    pub lock: String,
    /// The path of the directory that is not there.
    pub missing: String,
    pub command: &'static str,
    pub variable: Option<(&'static str, &'static str)>,
    /// The programs of tools that the lock file names, by the path that each will have.
    pub programs: Vec<(Tool, String)>,
}

/// Returns what is to be installed in the root of a project and one level below, in the order of the lock files.
pub fn missing_installations(files: &dyn ProjectFiles) -> Vec<MissingInstallation> {
    let mut found = Vec::new();
    for directory in std::iter::once(String::new()).chain(packages(files)) {
        let mut seen = BTreeSet::new();
        for file in LOCK_FILES {
            let (lock, missing) = (within(&directory, file.name), within(&directory, file.directory));
            if files.exists(&lock) && seen.insert(file.directory) && !files.exists(&missing) {
                let content = files.read(&lock).map(|content| String::from_utf8_lossy(&content).into_owned());
                let programs = file.programs(content.as_deref(), &missing);
                let (command, variable) = (file.install, file.variable);
                found.push(MissingInstallation { directory: directory.clone(), lock, missing, command, variable, programs });
            }
        }
    }
    found
}

/// Returns the command that installs a project's packages by its lock file; `None` if it has none. `has` says whether the project's root
/// has a file.
pub fn install_command(has: impl Fn(&str) -> bool) -> Option<&'static str> {
    LOCK_FILES.iter().find(|file| has(file.name)).map(|file| file.install)
}

/// Returns the path of the interpreter that an installation of Python packages makes; `None` for another one.
pub fn interpreter_of(missing: &str) -> Option<String> {
    missing.ends_with(ENVIRONMENT).then(|| within(missing, "bin/python"))
}

/// Returns the words before a program by which the package manager of a lock file runs it, and the command that installs.
pub(crate) fn runners() -> impl Iterator<Item = (&'static str, &'static [&'static str], &'static str)> {
    LOCK_FILES.iter().filter(|file| !file.run.is_empty()).map(|file| (file.name, file.run, file.install))
}

/// Returns a command without the words by which a package manager runs it in the project's environment: `python -m pytest` for
/// `uv run --frozen --offline python -m pytest`.
pub fn without_runner(argv: &[String]) -> &[String] {
    runners().find_map(|(_, run, _)| argv.get(run.len()..).filter(|_| argv.iter().zip(run).all(|(a, b)| a == b))).unwrap_or(argv)
}

impl LockFile {
    /// Returns the programs of the tools whose packages the file names. A file that is too large to be read may name all of them.
    fn programs(&self, content: Option<&str>, directory: &str) -> Vec<(Tool, String)> {
        let bin = within(directory, if self.directory == ENVIRONMENT { "bin" } else { ".bin" });
        let has = |texts: &[String]| content.is_none_or(|content| texts.iter().any(|text| content.contains(text)));
        let named = |tool: &Tool| match (tool.package(), self.directory) {
            (Some(InstalledPackage::Python(name)), ENVIRONMENT) => has(&[format!("name = \"{name}\"")]),
            (Some(InstalledPackage::Node(name)), NODE_PACKAGES) => {
                has(&[format!("node_modules/{name}\""), format!("{name}@"), format!("{name}:")])
            }
            (Some(InstalledPackage::Python(_) | InstalledPackage::Node(_)) | None, _) => false,
        };
        let program = |tool| row_of(tool).programs.first().map(|program| (tool, within(&bin, program)));
        Tool::ALL.into_iter().filter(named).filter_map(program).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project_files::fake::FakeFiles;

    fn missing(files: &[(&str, &str)]) -> Vec<String> {
        missing_installations(&FakeFiles::of(files)).into_iter().map(|one| format!("{}: {}", one.lock, one.command)).collect()
    }

    #[test]
    fn each_lock_file_without_its_directory_has_its_command() {
        for file in LOCK_FILES {
            assert_eq!(missing(&[(file.name, "")]), [format!("{}: {}", file.name, file.install)]);
            let inside = format!("{}/x", file.directory);
            assert!(missing(&[(file.name, ""), (&inside, "")]).is_empty(), "{} is installed", file.name);
        }
        let two = [("pnpm-lock.yaml", ""), ("package-lock.json", ""), ("api/package.json", "{}"), ("api/uv.lock", "")];
        assert_eq!(missing(&two), ["pnpm-lock.yaml: pnpm install --frozen-lockfile", "api/uv.lock: uv sync --frozen"]);
    }

    #[test]
    fn only_programs_of_packages_that_the_file_names_are_awaited() {
        let of = |lock, content| missing_installations(&FakeFiles::of(&[(lock, content)])).remove(0).programs;
        assert_eq!(of("uv.lock", "[[package]]\nname = \"pytest\"\n"), [(Tool::Pytest, ".venv/bin/pytest".to_owned())]);
        let node = of("package-lock.json", "{\"packages\": {\"node_modules/typescript\": {}}}");
        assert_eq!(node, [(Tool::Tsc, "node_modules/.bin/tsc".to_owned())]);
        assert!(of("yarn.lock", "left-pad@^1:\n").is_empty());
    }

    #[test]
    fn a_manager_before_a_command_is_no_part_of_it() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (whole, rest) in [
            ("uv run --frozen --offline python -m pytest", "python -m pytest"),
            ("poetry run python -m pytest", "python -m pytest"),
            (".venv/bin/python -m pytest", ".venv/bin/python -m pytest"),
            ("uv run pytest", "uv run pytest"),
            ("uv", "uv"),
        ] {
            assert_eq!(without_runner(&words(whole)), words(rest), "{whole}");
        }
    }
}
