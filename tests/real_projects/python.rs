//! Python projects: suites of released packages, coverage reports, caches of mypy, and tests that rename directories.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::common::{Project, python_checkers, python_real, source_distribution};
use crate::real_projects::{Suite, copy_into, prepare, run_by_hand};

const PYTEST: &[&str] = &[".venv/bin/python", "-m", "pytest"];

/// Files that nearly every Python project ignores.
pub(super) const IGNORED: &str = ".venv/\n__pycache__/\n*.egg-info/\n*.so\nbuild/\n.pytest_cache/\n";

/// Makes the project's own `.venv`, in which the packages of another environment are installed.
#[track_caller]
pub(super) fn make_environment(project: &Project, other: &Path) {
    make_environment_at(project, other, ".venv");
}

/// Makes an environment in a directory, relative to the project, in which the packages of another environment are installed. The files
/// are linked, as uv does it.
#[track_caller]
pub(super) fn make_environment_at(project: &Project, other: &Path, directory: &str) {
    prepare(Command::new(other).args(["-m", "venv", "--without-pip", directory]).current_dir(project.path()));
    let packages = |python: &Path| -> PathBuf {
        let output = Command::new(python).args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).output();
        String::from_utf8(output.expect("an interpreter").stdout).expect("UTF-8").trim().into()
    };
    let (from, own) = (packages(other).join("."), packages(&project.path().join(directory).join("bin/python")));
    let linked = Command::new("cp").args(["-al"]).args([&from, &own]).output().expect("cp is installed");
    if !linked.status.success() {
        // The environment lies on another file system.
        prepare(Command::new("cp").args(["-a", "--force"]).args([&from, &own]));
    }
}

/// Installs the project in its own environment so that its sources are imported where they are (`pip install -e .`).
#[track_caller]
pub(super) fn install_editable(project: &Project) {
    let arguments = ["-m", "pip", "--python", ".venv/bin/python", "install", "--quiet", "--disable-pip-version-check"];
    let offline = ["--no-index", "--no-deps", "--no-build-isolation", "-e", "."];
    prepare(Command::new(python_real()).args(arguments).args(offline).current_dir(project.path()));
}

/// Makes a project of the sources of a released package, installed in an environment of its own. proctor finds the checks by itself.
#[track_caller]
fn released(package: &str, version: &str) -> Project {
    let sources = source_distribution(package, version);
    let project = Project::new();
    copy_into(&project, &sources, "");
    project.save(".gitignore", IGNORED);
    make_environment(&project, &python_real());
    install_editable(&project);
    project
}

#[track_caller]
fn suite_of(package: &str, version: &str, least: u64, breaks: (&str, &str, &str)) {
    Suite { make: &|| released(package, version), by_hand: PYTEST, least, breaks }.is_judged();
}

#[test]
#[ignore = "wide tier"]
fn jinja2_passes() {
    suite_of("jinja2", "3.1.6", 900, ("src/jinja2/lexer.py", "intern(\"add\")", "intern(\"sub\")"));
}

#[test]
#[ignore = "wide tier"]
fn jinja2_has_the_same_counts_in_four_shards() {
    let counts = |shards: u32| {
        let project = released("jinja2", "3.1.6");
        let command = PYTEST.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let check = format!("[[check]]\nname = \"tests\"\ncommand = [{command}]\nshards = {shards}\n[queue]\nmax_parallel = 4\n");
        project.save("proctor.toml", &check);
        let report = project.proctor(["run"]).bound(Duration::from_secs(300)).success().report();
        let result = report["stepExecution"]["results"][0]["result"].clone();
        (result["testResults"].clone(), result["shards"].as_u64())
    };
    let ((whole, none), (divided, four)) = (counts(1), counts(4));
    assert!(whole["passed"].as_u64() >= Some(900), "{whole}");
    assert_eq!((divided, none, four), (whole, None, Some(4)));
}

#[test]
#[ignore = "wide tier"]
fn tomlkit_passes() {
    suite_of("tomlkit", "0.15.2", 800, ("tomlkit/parser.py", "def parse(self)", "def purse(self)"));
}

#[test]
#[ignore = "wide tier"]
fn markupsafe_passes() {
    suite_of("markupsafe", "3.0.4", 50, ("src/markupsafe/__init__.py", "hasattr(s, \"__html__\")", "hasattr(s, \"__htnl__\")"));
}

#[test]
#[ignore = "wide tier"]
fn click_passes() {
    suite_of("click", "8.5.1", 1000, ("src/click/core.py", "def make_context(", "def fake_context("));
}

const CART: &str = "def total(prices):\n    if not prices:\n        return 0\n    return sum(prices)\n";
const CART_TEST: &str = "import cart\n\n\ndef test_total():\n    assert cart.total([1, 2]) == 3\n\n\n\
     def test_nothing():\n    assert cart.total([]) == 0\n";

/// A project whose suite writes `.coverage`, `coverage.xml` and `htmlcov`. `ignored` says whether git ignores them.
fn covered(ignored: bool, ran_before: bool) -> Project {
    let settings = "[tool.pytest.ini_options]\npythonpath = [\".\"]\n\
         addopts = \"--cov=cart --cov-branch --cov-report=xml --cov-report=html --cov-report=term --cov-fail-under=100\"\n";
    let rules = if ignored { format!("{IGNORED}.coverage\ncoverage.xml\nhtmlcov/\n") } else { IGNORED.to_owned() };
    let project = Project::new().file("cart.py", CART).file("tests/test_cart.py", CART_TEST).file("pyproject.toml", settings);
    let project = project.file(".gitignore", &rules);
    make_environment(&project, &python_real());
    if ran_before {
        run_by_hand(&project, PYTEST).success();
        for left in [".coverage", "coverage.xml", "htmlcov/index.html", "__pycache__"] {
            assert!(project.path().join(left).exists(), "{left}");
        }
    }
    project
}

#[test]
#[ignore = "wide tier"]
fn coverage_reports_move_nothing_also_after_a_run_by_hand() {
    for (ignored, ran_before) in [(true, false), (true, true), (false, false), (false, true)] {
        let breaks = ("cart.py", "return 0\n", "return 1\n");
        let suite = Suite { make: &|| covered(ignored, ran_before), by_hand: PYTEST, least: 2, breaks };
        let (project, _) = suite.is_judged_as_by_hand();
        // One untested branch is found although a report of the whole coverage lies in the project.
        project.save("tests/test_cart.py", &CART_TEST.replace("cart.total([]) == 0", "True"));
        let output = project.proctor(["run"]).any_status();
        assert_eq!(output.status, 1, "{ignored} {ran_before}: {}", output.snapshot());
    }
}

#[test]
#[ignore = "wide tier"]
fn mypy_with_its_cache_passes() {
    let make = || {
        let project = Project::new().file("shop/__init__.py", "").file(".gitignore", IGNORED);
        make_environment(&project, &python_checkers());
        let mypy = python_checkers().with_file_name("mypy");
        let toml =
            format!("[[check]]\nname = \"types\"\ntool = \"mypy\"\ncommand = [{:?}, \"shop\"]\n", mypy.display().to_string());
        let user = "from shop.cart import total\n\nprice: int = total([1, 2])\n";
        project
            .toml(&toml)
            .file("shop/cart.py", "def total(prices: list[int]) -> int:\n    return sum(prices)\n")
            .file("shop/user.py", user)
    };
    let mypy = python_checkers().with_file_name("mypy").display().to_string();
    let suite = Suite { make: &make, by_hand: &[&mypy, "shop"], least: 0, breaks: ("shop/cart.py", "-> int", "-> str") };
    let (project, _) = suite.is_judged_as_by_hand();
    assert!(!project.path().join(".mypy_cache").exists());
}

/// Tests that rename a directory of the tree, and a directory that they made.
const RENAMES: &str = "import os, pathlib\n\n\n\
     def test_rename_of_an_own_directory():\n    pathlib.Path('made').mkdir()\n    pathlib.Path('made').rename('renamed')\n    \
     os.rmdir('renamed')\n\n\n\
     def test_rename_of_an_existing_directory():\n    pathlib.Path('data').rename('moved')\n    \
     assert pathlib.Path('moved/a.txt').read_text() == 'a'\n    pathlib.Path('moved').rename('data')\n";

#[test]
#[ignore = "wide tier"]
fn tests_that_rename_directories_are_told_why_they_fail_and_pass_without_a_snapshot() {
    // The renamed directory is ignored: renaming a directory of the tree away and back would count as a move of the tree.
    let make = |snapshot: &str| {
        let project = Project::new().file("test_rename.py", RENAMES).file("data/a.txt", "a");
        make_environment(&project, &python_real());
        let toml = format!("[[check]]\nname = \"tests\"\ncommand = [\".venv/bin/python\", \"-m\", \"pytest\"]\n{snapshot}");
        project.file(".gitignore", &format!("{IGNORED}/data/\n/moved/\n/made/\n/renamed/\n")).toml(&toml)
    };
    run_by_hand(&make(""), PYTEST).success();
    let project = make("");
    let output = project.proctor(["run"]).failure();
    let notes = output.report()["notes"].to_string();
    assert!(notes.contains("a rename failed with EXDEV, which is an effect of the snapshot"), "{notes}");
    let tests = &output.report()["stepExecution"]["results"][0]["result"]["testResults"];
    assert_eq!((&tests["passed"], &tests["failed"]), (&1.into(), &1.into()), "{tests}");
    let project = make("snapshot = \"off\"\n");
    for _ in 0..2 {
        let report = project.proctor(["run"]).success().report();
        assert_eq!(report["stepExecution"]["results"][0]["result"]["testResults"]["passed"], 2);
    }
}
