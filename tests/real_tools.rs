//! Checks that the real tools that other tests run are installed at the versions from which those tests' expectations
//! were taken.

use std::path::Path;

use crate::common::{PYTEST_COV_VERSION, PYTEST_VERSION, Project, node_modules, python_plain, python_plugins};

const TYPESCRIPT_VERSION: &str = "5.9.3";
const ESLINT_VERSION: &str = "9.39.5";

#[test]
fn the_plain_environment_has_pytest_and_no_plugin() {
    let project = Project::new();
    let listed = project.command(&python_plain(), ["-m", "pip", "list", "--format=freeze"]).success();
    assert!(listed.stdout.contains(&format!("pytest=={PYTEST_VERSION}\n")), "{}", listed.stdout);
    assert!(!listed.stdout.contains("pytest-"), "{}", listed.stdout);
}

#[test]
#[ignore = "long tier"]
fn the_environment_with_plugins_measures_coverage() {
    let project = Project::new().file("test_a.py", "def test_ok():\n    pass\n");
    let python = python_plugins();
    let listed = project.command(&python, ["-m", "pip", "list", "--format=freeze"]).success();
    assert!(listed.stdout.contains(&format!("pytest-cov=={PYTEST_COV_VERSION}\n")), "{}", listed.stdout);
    let ran = project.command(&python, ["-m", "pytest", "--cov=.", "--cov-fail-under=100"]).success();
    assert!(ran.stdout.contains("Required test coverage of 100% reached"), "{}", ran.stdout);
}

#[test]
fn typescript_and_eslint_are_the_bundled_projects() {
    let project = Project::new();
    let modules = node_modules();
    for (tool, version) in [("tsc", format!("Version {TYPESCRIPT_VERSION}\n")), ("eslint", format!("v{ESLINT_VERSION}\n"))] {
        let said = project.command(&modules.join(Path::new(".bin").join(tool)), ["--version"]).success();
        assert_eq!(said.stdout, version, "{tool}");
    }
}
