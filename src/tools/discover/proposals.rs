//! Proposes checks for a project in which none were found: the commands that its build files usually go with. Nothing of
//! this runs by itself, because a build file alone does not say that the command is the project's check. A person writes
//! the proposal into `proctor.toml`.

use crate::model::{InstalledPackage, Tool, ToolClass};
use crate::tools::discover::packages;
use crate::tools::package_json::scripts;
use crate::tools::project_files::{ProjectFiles, within};

/// A check that a person may write into `proctor.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProposedCheck {
    /// What suggests the check, such as the path of a build file.
    pub(crate) because: String,
    /// The working directory, relative to the project; empty for the root.
    pub(crate) directory: String,
    pub(crate) name: String,
    pub(crate) argv: Vec<String>,
}

/// A build file, the name of the proposed check, and the command that usually runs a project's tests.
type Row = (&'static str, &'static str, &'static [&'static str]);

/// The build files. The first of several rows with one name counts.
const ROWS: &[Row] = &[
    ("tox.ini", "tox", &["tox"]),
    ("noxfile.py", "nox", &["nox"]),
    ("gradlew", "gradle", &["./gradlew", "check"]),
    ("build.gradle", "gradle", &["gradle", "check"]),
    ("build.gradle.kts", "gradle", &["gradle", "check"]),
    ("pom.xml", "maven", &["mvn", "test"]),
    ("mix.exs", "mix", &["mix", "test"]),
    ("deno.json", "deno", &["deno", "test"]),
    ("deno.jsonc", "deno", &["deno", "test"]),
];

/// The names of makefiles, in the order in which GNU make looks for them.
const MAKEFILES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];

/// Targets of makefiles and scripts of `package.json` that are checks, by their usual names.
const CHECKS: &[&str] = &["test", "check", "lint", "typecheck"];

/// What `npm init` writes for a package without tests.
const NO_TEST: &str = "no test specified";

/// How many levels below a directory tests of Python are looked for.
const DEPTH: usize = 3;

/// At most this many proposals are returned.
const MOST: usize = 12;

/// Returns the checks that the files in the root suggest, or those of the directories one level below if the root
/// suggests none.
pub(crate) fn propose(files: &dyn ProjectFiles) -> Vec<ProposedCheck> {
    let of_root = propose_in(files, "");
    let mut all = if of_root.is_empty() {
        packages(files).iter().flat_map(|package| propose_in(files, package)).collect()
    } else {
        of_root
    };
    all.truncate(MOST);
    all
}

fn propose_in(files: &dyn ProjectFiles, directory: &str) -> Vec<ProposedCheck> {
    let mut found: Vec<ProposedCheck> = Vec::new();
    for (file, name, argv) in ROWS {
        let path = within(directory, file);
        if files.exists(&path) && !found.iter().any(|other| other.name == *name) {
            found.push(proposal(format!("`{path}`"), directory, name, argv));
        }
    }
    if let Some((path, targets)) = makefile(files, directory) {
        for target in targets {
            let name = format!("make {target}");
            found.push(proposal(format!("the target `{target}` in `{path}`"), directory, &name, &["make", &target]));
        }
    }
    for (script, _) in scripts(files, directory).iter().filter(|(name, text)| is_check(name) && !text.contains(NO_TEST)) {
        let because = format!("the script `{script}` in `{}`", within(directory, "package.json"));
        found.push(proposal(because, directory, script, &["npm", "run", script]));
    }
    if let Some(tests) = python_tests(files, directory, DEPTH) {
        let below = tests.strip_prefix(directory).unwrap_or(&tests).trim_start_matches('/');
        let runner = python_test_runner();
        found.push(proposal(format!("tests in `{tests}`"), directory, runner, &["python", "-m", runner, below]));
    }
    found
}

fn proposal(because: String, directory: &str, name: &str, argv: &[&str]) -> ProposedCheck {
    let name = if directory.is_empty() { name.to_owned() } else { format!("{name} {directory}") };
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    ProposedCheck { because, directory: directory.to_owned(), name, argv }
}

fn is_check(name: &str) -> bool {
    CHECKS.contains(&name)
}

/// Returns the makefile of a directory, and which of the usual targets it has.
fn makefile(files: &dyn ProjectFiles, directory: &str) -> Option<(String, Vec<String>)> {
    let path = MAKEFILES.iter().map(|name| within(directory, name)).find(|path| files.exists(path))?;
    let text = String::from_utf8_lossy(&files.read(&path)?).into_owned();
    // A target stands at the beginning of a line, before a colon that is no assignment.
    let of_line = |line: &str| {
        let (target, rest) = line.split_once(':')?;
        (is_check(target.trim_end()) && !rest.starts_with('=')).then(|| target.trim_end().to_owned())
    };
    let mut targets: Vec<String> = Vec::new();
    for target in text.lines().filter_map(of_line) {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Some((path, targets))
}

/// Returns the first directory with Python tests: `directory` itself or one below it. Returns `None` if there is none,
/// or if the tests are in the project's root.
fn python_tests(files: &dyn ProjectFiles, directory: &str, depth: usize) -> Option<String> {
    let names = files.names(directory);
    let is_test = |name: &String| name.starts_with("test_") && name.ends_with(".py") || name.ends_with("_test.py");
    if names.iter().any(is_test) {
        return (!directory.is_empty()).then(|| directory.to_owned());
    }
    let deeper = depth.checked_sub(1)?;
    let below = names.iter().filter(|name| !name.starts_with('.')).map(|name| within(directory, name));
    below.filter(|path| files.is_directory(path)).find_map(|path| python_tests(files, &path, deeper))
}

/// Returns the name of the tool that runs tests and is a Python package.
fn python_test_runner() -> &'static str {
    let name = |tool: Tool| match tool.package() {
        Some(InstalledPackage::Python(name)) if tool.class() == ToolClass::Test => Some(name),
        Some(InstalledPackage::Python(_) | InstalledPackage::Node(_)) | None => None,
    };
    Tool::ALL.into_iter().find_map(name).unwrap_or("unittest")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::project_files::fake::FakeFiles;

    fn proposed(files: &[(&str, &str)]) -> Vec<String> {
        let line = |proposal: ProposedCheck| {
            format!("{}|{}|{}|{}", proposal.because, proposal.directory, proposal.name, proposal.argv.join(" "))
        };
        propose(&FakeFiles::of(files)).into_iter().map(line).collect()
    }

    #[test]
    fn every_build_file_proposes_its_command() {
        for (file, name, argv) in ROWS {
            assert_eq!(proposed(&[(file, "")]), [format!("`{file}`||{name}|{}", argv.join(" "))]);
        }
        assert_eq!(proposed(&[("gradlew", ""), ("build.gradle", "")]), ["`gradlew`||gradle|./gradlew check"]);
    }

    #[test]
    fn only_targets_that_exist_are_proposed() {
        let text = "test := x\nall: build\ncheck:: lint\n\tdo\nlint :\n.PHONY: test\n";
        assert_eq!(
            proposed(&[("Makefile", text)]),
            ["the target `check` in `Makefile`||make check|make check", "the target `lint` in `Makefile`||make lint|make lint"]
        );
        assert_eq!(proposed(&[("Makefile", "all:\n\tcc a.c\n")]), [""; 0]);
    }

    #[test]
    fn scripts_are_proposed_unless_npm_init_wrote_them() {
        let text = r#"{"scripts": {"test": "tap test", "start": "node .", "lint": "biome check"}}"#;
        assert_eq!(
            proposed(&[("package.json", text)]),
            ["the script `lint` in `package.json`||lint|npm run lint", "the script `test` in `package.json`||test|npm run test"]
        );
        let unset = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        assert_eq!(proposed(&[("package.json", unset)]), [""; 0]);
    }

    #[test]
    fn tests_inside_of_a_package_are_proposed_for_pytest() {
        assert_eq!(
            proposed(&[("setup.py", ""), ("h11/_state.py", ""), ("h11/tests/test_state.py", "")]),
            ["tests in `h11/tests`||pytest|python -m pytest h11/tests"]
        );
        assert_eq!(proposed(&[("a/b/c/d/e/f/test_deep.py", ""), (".venv/lib/test_x.py", "")]), [""; 0]);
    }

    #[test]
    fn directories_below_are_searched_where_the_root_suggests_nothing() {
        assert_eq!(
            proposed(&[("server/pom.xml", ""), ("web/package.json", r#"{"scripts": {"test": "x"}}"#), ("target/pom.xml", "")]),
            [
                "`server/pom.xml`|server|maven server|mvn test",
                "the script `test` in `web/package.json`|web|test web|npm run test"
            ]
        );
    }
}
