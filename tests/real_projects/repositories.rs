//! Projects whose tests ask git: a version from its tags, and a project below its repository's root.

use std::path::Path;

use crate::common::{Project, python_real};
use crate::real_projects::python::{IGNORED, install_editable, make_environment};
use crate::real_projects::{Suite, git};

const PYTEST: &[&str] = &[".venv/bin/python", "-m", "pytest"];

/// Tests that the version of the installed package is the one of the tag, and that git takes nothing for changed.
const TESTS: &str = "import importlib.metadata, pathlib, subprocess\n\nimport setuptools_scm, shop\nfrom shop._version import version\n\n\
     HERE = pathlib.Path(__file__).parents[1]\n\n\n\
     def git(*words):\n    return subprocess.run(['git', *words], cwd=HERE, check=True, capture_output=True, text=True).stdout\n\n\n\
     def test_version():\n    assert importlib.metadata.version('shop') == version == '1.2.0'\n    \
     assert setuptools_scm.get_version(root=ROOT, relative_to=HERE / 'pyproject.toml') == '1.2.0'\n\n\n\
     def test_git():\n    assert git('describe', '--tags', '--dirty').strip() == 'v1.2.0'\n    assert git('status', '--short') == ''\n    \
     assert 'src/shop/__init__.py' in git('ls-files')\n\n\n\
     def test_source():\n    assert pathlib.Path(shop.__file__).parent == HERE / 'src/shop'\n    assert shop.total([1, 2]) == 3\n";

/// Makes a package that has its version from git, in the repository at `root`, which is the project or a directory above it.
fn versioned(root: &str) -> Project {
    let manifest = format!(
        "[build-system]\nrequires = [\"setuptools>=77\", \"setuptools-scm>=8\"]\nbuild-backend = \"setuptools.build_meta\"\n\n\
         [project]\nname = \"shop\"\ndynamic = [\"version\"]\n\n[tool.setuptools_scm]\nroot = \"{root}\"\n\
         version_file = \"src/shop/_version.py\"\n\n[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\n"
    );
    let project = Project::new()
        .file("pyproject.toml", &manifest)
        .file(".gitignore", &format!("{IGNORED}_version.py\n/evidence\n"))
        .file("src/shop/__init__.py", "def total(prices):\n    return sum(prices)\n")
        .file("tests/test_version.py", &TESTS.replace("ROOT", &format!("'{root}'")));
    let repository = project.path().join(root);
    git(&repository, &["init", "-q"]);
    git(&project.path(), &["add", "."]);
    // The test's own directories lie beside the project.
    if repository != project.path() {
        std::fs::write(repository.join(".git/info/exclude"), "/*\n!/project\n").expect("the repository is ours");
    }
    git(&repository, &["commit", "-qm", "one"]);
    git(&repository, &["tag", "v1.2.0"]);
    make_environment(&project, &python_real());
    install_editable(&project);
    assert!(Path::new(&project.path().join("src/shop/_version.py")).exists());
    project
}

#[test]
#[ignore = "wide tier"]
fn a_version_from_git_and_an_editable_install_pass() {
    let breaks = ("src/shop/__init__.py", "sum(prices)", "len(prices)");
    Suite { make: &|| versioned("."), by_hand: PYTEST, least: 3, breaks }.is_judged();
}

#[test]
#[ignore = "wide tier"]
fn a_project_below_its_repositorys_root_passes() {
    let breaks = ("src/shop/__init__.py", "sum(prices)", "len(prices)");
    Suite { make: &|| versioned(".."), by_hand: PYTEST, least: 3, breaks }.is_judged();
}
