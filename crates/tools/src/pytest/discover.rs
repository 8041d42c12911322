//! Discovers pytest. The project must have a configuration for pytest or files that look like tests. The command uses
//! the project's own interpreter.

use crate::discover::{
    ENVIRONMENTS, FoundCheck, FoundChecks, Looked, has_pyproject_table, has_section, name_in_package, nearest_with, program,
    runners, words,
};
use crate::project_files::{ProjectFiles, within};
use proctor_model::Tool;

/// Files that always count as a pytest configuration.
const CONFIGURATIONS: &[&str] = &["pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"];

/// Files that count as a pytest configuration only if they contain the section named beside them.
const SECTIONS: &[(&str, &str)] = &[("setup.cfg", "[tool:pytest]"), ("tox.ini", "[pytest]")];

/// Directories of tests. They are searched two levels deep.
const TEST_DIRECTORIES: &[&str] = &["tests", "test"];

/// Files that show that a directory is a separate Python package.
const PACKAGE_MARKS: &[&str] = &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"];

/// Looks for signs of pytest in one directory of the project. Adds a check, and notes that say what its environment
/// lacks.
pub(crate) fn find(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    let Some(reason) = evidence(files, package) else { return Looked::Silent };
    let (argv, how) = command(files, package, findings);
    let (name, package) = (name_in_package("pytest", package), package.to_owned());
    for shadow in ["pytest.py", "pytest/__init__.py"] {
        if files.exists(&within(&package, shadow)) {
            findings.note(Tool::Pytest, format!("`{}` hides the real pytest: rename it", within(&package, shadow)));
        }
    }
    let found = FoundCheck { tool: Tool::Pytest, name, directory: package.clone(), package, argv, policy: None };
    findings.add(found, &format!("{reason} is there and {how}"));
    Looked::Spoke
}

fn evidence(files: &dyn ProjectFiles, package: &str) -> Option<String> {
    let quoted = |name: &str| format!("`{}`", within(package, name));
    if let Some(name) = CONFIGURATIONS.iter().find(|name| files.exists(&within(package, name))) {
        return Some(quoted(name));
    }
    // Since pytest 9 the table `[tool.pytest]` is a configuration. Before, only `[tool.pytest.ini_options]` was; its
    // existence implies the outer table.
    if has_pyproject_table(files, package, "pytest") {
        return Some(format!("pytest's table in {}", quoted("pyproject.toml")));
    }
    for (name, section) in SECTIONS {
        if has_section(files, package, name, section) {
            return Some(format!("`{section}` in {}", quoted(name)));
        }
    }
    // Many directories have files that look like tests. Below the root they count only in a separate package.
    if !package.is_empty() && !PACKAGE_MARKS.iter().any(|name| files.exists(&within(package, name))) {
        return None;
    }
    let directory = TEST_DIRECTORIES.iter().find_map(|directory| test_below(files, &within(package, directory), 2));
    let test = directory.or_else(|| test_in(files, package));
    test.map(|path| format!("`{path}`"))
}

fn test_below(files: &dyn ProjectFiles, directory: &str, depth: usize) -> Option<String> {
    test_in(files, directory).or_else(|| {
        let deeper = depth.checked_sub(1).filter(|depth| *depth > 0)?;
        files.names(directory).iter().find_map(|name| test_below(files, &within(directory, name), deeper))
    })
}

fn test_in(files: &dyn ProjectFiles, directory: &str) -> Option<String> {
    let is_test = |name: &String| name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"));
    files.names(directory).iter().find(|name| is_test(name)).map(|name| within(directory, name))
}

fn command(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> (Vec<String>, String) {
    for environment in ENVIRONMENTS {
        let python = format!("{environment}/bin/python");
        if let Some(holder) = nearest_with(files, package, &python) {
            let place = within(&holder, environment);
            if !files.exists(&format!("{place}/bin/pytest")) {
                findings.note(Tool::Pytest, format!("`{place}` has no pytest: install it there"));
            }
            let python = program(&holder, &python, package);
            let python = python.strip_prefix("./").unwrap_or(&python).to_owned();
            return (words(&[&python, "-m", "pytest"]), format!("`{place}` is the environment"));
        }
    }
    for (name, run, install) in runners() {
        if let Some(holder) = nearest_with(files, package, name) {
            let lock = within(&holder, name);
            let advice =
                format!("there is no `.venv` yet: run `{install}`, or let `proctor init` write it down as a prerequisite");
            findings.note(Tool::Pytest, advice);
            return (words(&[run, &["python", "-m", "pytest"]].concat()), format!("`{lock}` is"));
        }
    }
    let advice = "the project has no `.venv`, so the `python3` of the search path runs the tests, such as that of an active \
                  environment: make `.venv` if they need packages of their own";
    findings.note(Tool::Pytest, advice.to_owned());
    (words(&["python3", "-m", "pytest"]), "no `.venv` is".to_owned())
}
