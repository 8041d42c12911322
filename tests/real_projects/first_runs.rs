//! The first run of projects as people have them: it counts what the bare tool counts, without a line of configuration, or a note names
//! the line that is missing, with which it does.
//!
//! Nothing is written down of what a suite counts: the bare tool is run in the project, and then proctor.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Output, Project, jest_modules, node_modules, python_parallel, python_real, vitest_modules};
use crate::real_projects::python::{install_editable, make_environment, make_environment_at};
use crate::real_projects::{BOUND, Counts, copy_into, counts_of_line, git, prepare, reported};

/// A project as somebody has it.
struct FirstRun {
    name: &'static str,
    make: fn(Project) -> Project,
    /// The directory that proctor is run in, relative to [`Project::path`].
    directory: &'static str,
    /// What a person types there, as a script of the shell.
    by_hand: &'static str,
    /// The lines of `proctor.toml` that the notes of the first run must name; empty if none is missing.
    missing: &'static str,
}

const fn row(name: &'static str, make: fn(Project) -> Project, directory: &'static str, by_hand: &'static str) -> FirstRun {
    FirstRun { name, make, directory, by_hand, missing: "" }
}

const PYTHON: &[FirstRun] = &[
    row("environment in .venv", own_environment, "", ".venv/bin/python -m pytest"),
    row("environment in venv", named_environment, "", "venv/bin/python -m pytest"),
    row("active environment in HOME", active_environment, "", "python -m pytest"),
    row("version manager's prefix in HOME", prefix_in_home, "", "python3 -m pytest"),
    row("prefix that a variable names", prefix_of_variable, "", "python3 -m pytest"),
    row("editable installation", editable, "", ".venv/bin/python -m pytest"),
    row("namespace package", namespace_package, "", ".venv/bin/python -m pytest"),
    row("tests in parallel with coverage", plugins, "", ".venv/bin/python -m pytest"),
    row("tests that use HOME's cache", cache_of_home, "", ".venv/bin/python -m pytest"),
    row("workspace at its root", python_workspace, "", ".venv/bin/python -m pytest"),
    row("workspace in a package", python_workspace, "packages/b", "../../.venv/bin/python -m pytest"),
    row("no repository", without_repository, "", ".venv/bin/python -m pytest"),
    row("reached by a link", own_environment, "../linked", ".venv/bin/python -m pytest"),
    row("linked worktree", own_environment, "../worktree", ".venv/bin/python -m pytest"),
    FirstRun {
        missing: "inputs = [\"../common\"]",
        ..row("a path that conftest.py adds", path_of_conftest, "service", ".venv/bin/python -m pytest")
    },
    FirstRun {
        missing: "inputs = [\"../../library\"]",
        ..row("editable installation of another repository", other_repository, "app", ".venv/bin/python -m pytest")
    },
];

const NODE: &[FirstRun] = &[
    row("Jest", jest, "", "node_modules/.bin/jest"),
    row("Vitest with coverage's directory", vitest, "", "node_modules/.bin/vitest run"),
    row("node --test", node_test, "", "node --test"),
    row("version manager's prefix in HOME", node_in_home, "", "node --test"),
    row(
        "npm workspace at its root",
        npm_workspace,
        "",
        "for p in packages/*; do (cd $p && ../../node_modules/.bin/jest) || exit; done",
    ),
    row("npm workspace in a package", npm_workspace, "packages/web", "../../node_modules/.bin/jest"),
    row("pnpm workspace at its root", pnpm_workspace, "", "for p in packages/*; do (cd $p && node --test) || exit; done"),
    row("project references of tsc", references, "", "node_modules/.bin/tsc -b"),
    row("Python and Node beside each other", monorepo, "", "(cd api && .venv/bin/python -m pytest) && cd web && node --test"),
];

const RUST: &[FirstRun] = &[
    row("crate", crate_alone, "", "cargo test"),
    row("workspace", crates, "", "cargo test --workspace"),
    row("crate of a workspace", crates, "b", "cargo test"),
    FirstRun { missing: "inputs = [\"../../library\"]", ..row("path dependency", path_dependency, "app", "cargo test") },
];

#[test]
#[ignore = "wide tier"]
fn python_projects_are_counted_as_the_bare_tool_counts_them() {
    all_are_as_by_hand(PYTHON);
}

#[test]
#[ignore = "wide tier"]
fn node_projects_are_counted_as_the_bare_tool_counts_them() {
    all_are_as_by_hand(NODE);
}

#[test]
#[ignore = "wide tier"]
fn rust_projects_are_counted_as_the_bare_tool_counts_them() {
    all_are_as_by_hand(RUST);
}

/// Tries every project, so that one failure tells of them all.
#[track_caller]
fn all_are_as_by_hand(rows: &[FirstRun]) {
    let fails = |row: &&FirstRun| std::panic::catch_unwind(|| row.is_as_by_hand()).is_err();
    let failed: Vec<&str> = rows.iter().filter(fails).map(|row| row.name).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

impl FirstRun {
    fn is_as_by_hand(&self) {
        // A check has a `/tmp` of its own, where what lies beside a project is not hidden but missing.
        let Some(project) = Project::outside_of_temporary_directories() else { return };
        let cache = project.root().join("home/.cache");
        let project = (self.make)(project.env("XDG_CACHE_HOME", cache).file(".gitignore", IGNORED));
        if self.name != "no repository" {
            git(&project.path(), &["init", "-q"]);
            git(&project.path(), &["add", "-A"]);
            git(&project.path(), &["commit", "-qm", "x"]);
        }
        match self.directory {
            "../linked" => symlink(project.path(), project.path().join("../linked")).expect("it is ours"),
            "../worktree" => {
                git(&project.path(), &["worktree", "add", "-q", "../worktree"]);
                make_environment_at(&project, &python_real(), "../worktree/.venv");
            }
            _ => {}
        }
        let by_hand = project.command(Path::new("sh"), ["-c", self.by_hand]).directory(self.directory).env("NO_COLOR", "1");
        let by_hand = by_hand.bound(BOUND).status(0);
        let expected = total(&by_hand);
        assert!(expected.passed > 0 || self.by_hand.contains("tsc"), "{}: {}", self.name, by_hand.snapshot());
        let mut run = self.run(&project);
        if !self.missing.is_empty() {
            assert_eq!(run.status, 1, "{}: {}", self.name, run.snapshot());
            let named = run.stdout.lines().filter(|line| line.contains("note:") && line.contains("inputs = "));
            let named: Vec<&str> = named.collect();
            assert!(named.len() == 1 && named[0].contains(self.missing), "{}: {named:?} {}", self.name, run.snapshot());
            project.save(&format!("{}/proctor.toml", self.directory), &format!("[project]\n{}\n", self.missing));
            let allowed = format!("[[allow]]\nprojects = [\"/**\"]\nproject.{}\n", self.missing);
            fs::write(project.root().join("config/proctor/config.toml"), allowed).expect("the root is ours");
            run = self.run(&project);
        }
        assert_eq!((run.status, reported(&run.report())), (0, expected), "{}: {}", self.name, run.snapshot());
    }

    fn run(&self, project: &Project) -> Output {
        project.proctor(["run"]).directory(self.directory).bound(BOUND).any_status()
    }
}

/// Returns the sum of what the lines count that end a suite, of whichever tool.
fn total(output: &Output) -> Counts {
    let mut sum = Counts::default();
    for line in output.stdout.lines().chain(output.stderr.lines()).map(str::trim) {
        let ends_suite = ["Tests ", "Tests:", "test result:"].iter().any(|start| line.starts_with(start));
        let of_node = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")).and_then(|rest| rest.split_once(' '));
        let counts = match of_node.map(|(word, number)| (word, number.parse().unwrap_or(0))) {
            Some(("pass", passed)) => Counts { passed, ..Counts::default() },
            Some(("fail", failed)) => Counts { failed, ..Counts::default() },
            Some(("skipped", skipped)) => Counts { skipped, ..Counts::default() },
            _ if ends_suite || (line.starts_with('=') && line.contains(" in ")) => counts_of_line(line),
            _ => Counts::default(),
        };
        sum.passed += counts.passed;
        sum.failed += counts.failed;
        sum.skipped += counts.skipped;
    }
    sum
}

const IGNORED: &str =
    ".venv/\nvenv/\nnode_modules/\n__pycache__/\n*.egg-info/\n.pytest_cache/\ntarget/\nout/\nhtmlcov/\n.coverage\n";
const PYTEST_TABLE: &str = "[tool.pytest.ini_options]\n";
const TESTS: &str = "import pytest\n\n\n@pytest.mark.parametrize('n', range(3))\ndef test_a(n, tmp_path):\n    assert n < 3\n\n\n\
                     @pytest.mark.skip\ndef test_b():\n    pass\n";

fn python_project(project: Project) -> Project {
    project.file("pyproject.toml", PYTEST_TABLE).file("tests/test_a.py", TESTS)
}

fn own_environment(project: Project) -> Project {
    let project = python_project(project);
    make_environment(&project, &python_real());
    project
}

fn named_environment(project: Project) -> Project {
    let project = python_project(project);
    make_environment_at(&project, &python_real(), "venv");
    project
}

/// Makes an environment below HOME, whose programs are the first in `PATH`. Returns its directory, too.
fn environment_in_home(project: Project, name: &str) -> (Project, PathBuf) {
    let directory = project.root().join("home").join(name);
    make_environment_at(&project, &python_real(), &directory.display().to_string());
    (python_project(project).with_program(&directory.join("bin/python3")), directory)
}

fn active_environment(project: Project) -> Project {
    let (project, directory) = environment_in_home(project, ".virtualenvs/shop");
    project.env("VIRTUAL_ENV", directory)
}

fn prefix_in_home(project: Project) -> Project {
    environment_in_home(project, ".pyenv/versions/3.12.1").0
}

fn prefix_of_variable(project: Project) -> Project {
    let (project, directory) = environment_in_home(project, "tools/conda/envs/lab");
    project.env("CONDA_PREFIX", directory)
}

const PACKAGE: &str = "[project]\nname = \"NAME\"\nversion = \"1\"\n[build-system]\nrequires = [\"setuptools\"]\n\
                       build-backend = \"setuptools.build_meta\"\n[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\n";

fn editable(project: Project) -> Project {
    let project = project.file("pyproject.toml", &PACKAGE.replace("NAME", "shapes")).file("src/shapes/__init__.py", "ONE = 1\n");
    let project =
        project.file("tests/test_a.py", &format!("import shapes\n{TESTS}\n\ndef test_one():\n    assert shapes.ONE == 1\n"));
    make_environment(&project, &python_real());
    install_editable(&project);
    project
}

fn namespace_package(project: Project) -> Project {
    let project =
        project.file("pyproject.toml", &format!("{PYTEST_TABLE}pythonpath = [\".\"]\naddopts = \"--import-mode=importlib\"\n"));
    let project = project.file("acme/billing/model.py", "X = 1\n");
    let project = project.file("tests/test_a.py", &format!("from acme.billing.model import X\n{TESTS}"));
    make_environment(&project, &python_real());
    project
}

fn plugins(project: Project) -> Project {
    let options = "addopts = \"-n 2 --cov=tests --cov-report=html --cov-report=term\"\n";
    let project = project.file("pyproject.toml", &format!("{PYTEST_TABLE}{options}")).file("tests/test_a.py", TESTS);
    make_environment(&project, &python_parallel());
    project
}

/// The person's own runs have written the same files before.
fn cache_of_home(project: Project) -> Project {
    let write = "import os, pathlib\n\n\ndef test_cache():\n    place = pathlib.Path(os.environ['XDG_CACHE_HOME']) / 'shop'\n    \
                 place.mkdir(parents=True, exist_ok=True)\n    (place / 'index').write_text('x')\n";
    let project = python_project(project).file("tests/test_cache.py", write);
    make_environment(&project, &python_real());
    let place = project.root().join("home/.cache/shop");
    fs::create_dir_all(&place).expect("the home is ours");
    fs::write(place.join("index"), "of the person").expect("the home is ours");
    project
}

fn python_workspace(project: Project) -> Project {
    let project =
        project.file("pyproject.toml", "[tool.uv.workspace]\nmembers = [\"packages/*\"]\n").file("uv.lock", "version = 1\n");
    let project = ["a", "b"].iter().fold(project, |project, name| {
        let project = project.file(&format!("packages/{name}/pyproject.toml"), PYTEST_TABLE);
        project.file(&format!("packages/{name}/tests/test_{name}.py"), TESTS)
    });
    make_environment(&project, &python_real());
    project
}

fn without_repository(project: Project) -> Project {
    own_environment(project)
}

fn path_of_conftest(project: Project) -> Project {
    let conftest = "import pathlib, sys\n\nsys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'common'))\n";
    let project = project.file("common/rates.py", "RATE = 2\n").file("service/conftest.py", conftest);
    let project = project.file("service/tests/test_a.py", &format!("import rates\n{TESTS}"));
    make_environment_at(&project, &python_real(), "service/.venv");
    project
}

fn other_repository(project: Project) -> Project {
    let library = project.root().join("library");
    fs::create_dir_all(library.join("shapes")).expect("the root is ours");
    fs::write(library.join("shapes/__init__.py"), "ONE = 1\n").expect("the root is ours");
    git(&library, &["init", "-q"]);
    let project = project.file("app/pyproject.toml", PYTEST_TABLE);
    let project = project.file("app/tests/test_a.py", &format!("import shapes\n{TESTS}"));
    make_environment_at(&project, &python_real(), "app/.venv");
    let packages = fs::read_dir(project.path().join("app/.venv/lib")).expect("an environment").flatten().next();
    let packages = packages.expect("a directory of the version").path().join("site-packages");
    fs::write(packages.join("shapes.pth"), format!("{}\n", library.display())).expect("the environment is ours");
    project
}

const JEST_TESTS: &str = "test('a', () => expect(1).toBe(1));\ntest.skip('b', () => {});\n";
const NODE_TESTS: &str = "const { test } = require('node:test');\ntest('a', () => {});\ntest('b', { skip: true }, () => {});\n";

fn manifest(name: &str, script: &str) -> String {
    format!("{{\"name\": \"{name}\", \"version\": \"1.0.0\", \"scripts\": {{\"test\": \"{script}\"}}}}\n")
}

fn jest(project: Project) -> Project {
    copy_into(&project, &jest_modules(), "node_modules");
    project.file("package.json", &manifest("shop", "jest")).file("a.test.js", JEST_TESTS)
}

fn vitest(project: Project) -> Project {
    copy_into(&project, &vitest_modules(), "node_modules");
    let tests = "import { expect, test } from 'vitest';\n";
    project.file("package.json", &manifest("shop", "vitest run")).file("a.test.mjs", &format!("{tests}{JEST_TESTS}"))
}

fn node_test(project: Project) -> Project {
    project.file("package.json", &manifest("shop", "node --test")).file("a.test.js", NODE_TESTS)
}

fn node_in_home(project: Project) -> Project {
    let node = project.root().join("home/.nvm/versions/node/v22.1.0/bin/node");
    fs::create_dir_all(node.parent().expect("a directory")).expect("the home is ours");
    let real = project.command(Path::new("node"), ["-p", "process.execPath"]).status(0).stdout;
    fs::copy(real.trim(), &node).expect("the home is ours");
    node_test(project).with_program(&node)
}

fn workspace(project: Project, [first, second]: [(&str, &str); 2], tests: &str) -> Project {
    let project = project.file("packages/lib/package.json", first.0).file("packages/web/package.json", second.0);
    project
        .file("packages/lib/a.test.js", &format!("{}{tests}", first.1))
        .file("packages/web/a.test.js", &format!("{}{tests}", second.1))
}

fn npm_workspace(project: Project) -> Project {
    copy_into(&project, &jest_modules(), "node_modules");
    fs::create_dir_all(project.path().join("node_modules/@shop")).expect("the project is ours");
    symlink("../../packages/lib", project.path().join("node_modules/@shop/lib")).expect("the project is ours");
    let root = "{\"name\": \"shop\", \"private\": true, \"workspaces\": [\"packages/*\"]}\n";
    let project = project.file("package.json", root).file("packages/lib/index.js", "exports.one = 1;\n");
    let uses = "test('one', () => expect(require('@shop/lib').one).toBe(1));\n";
    let web = manifest("@shop/web", "jest").replace("\"scripts\"", "\"dependencies\": {\"@shop/lib\": \"1.0.0\"}, \"scripts\"");
    workspace(project, [(&manifest("@shop/lib", "jest"), ""), (&web, uses)], JEST_TESTS)
}

fn pnpm_workspace(project: Project) -> Project {
    let project = project
        .file("pnpm-workspace.yaml", "packages:\n  - 'packages/*'\n")
        .file("package.json", &manifest("shop", "pnpm -r test"));
    let of = |name: &str| manifest(name, "node --test");
    workspace(project, [(&of("@shop/lib"), ""), (&of("@shop/web"), "")], NODE_TESTS)
}

fn references(project: Project) -> Project {
    copy_into(&project, &node_modules(), "node_modules");
    let options = "\"compilerOptions\": {\"composite\": true, \"outDir\": \"out\", \"rootDir\": \".\", \"types\": []}, \"include\": [\"*.ts\"]";
    project
        .file("tsconfig.json", "{\"files\": [], \"references\": [{\"path\": \"base\"}, {\"path\": \"app\"}]}\n")
        .file("base/tsconfig.json", &format!("{{{options}}}\n"))
        .file("base/b.ts", "export const b = 1;\n")
        .file("app/tsconfig.json", &format!("{{{options}, \"references\": [{{\"path\": \"../base\"}}]}}\n"))
        .file("app/a.ts", "import { b } from '../base/b';\nexport const c: number = b;\n")
}

fn monorepo(project: Project) -> Project {
    let project = project.file("api/pyproject.toml", PYTEST_TABLE).file("api/tests/test_a.py", TESTS);
    make_environment_at(&project, &python_real(), "api/.venv");
    project.file("web/package.json", &manifest("web", "node --test")).file("web/a.test.js", NODE_TESTS)
}

/// Makes a crate in a directory of the project. The compiler is the one that compiled this test, first in `PATH`.
fn new_crate(project: Project, directory: &str, name: &str, dependencies: &str) -> Project {
    let (manifest, source) = (format!("{directory}Cargo.toml"), format!("{directory}src/lib.rs"));
    let text = "/// ```\n/// assert_eq!(NAME::two(), 2);\n/// ```\npub fn two() -> u64 {\n    2\n}\n\n#[test]\nfn is_two() {\n    \
                assert_eq!(two(), 2);\n}\n\n#[test]\n#[ignore = \"slow\"]\nfn slow() {}\n";
    let package =
        format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[dependencies]\n{dependencies}");
    project.file(&manifest, &package).file(&source, &text.replace("NAME", name))
}

fn crate_alone(project: Project) -> Project {
    new_crate(project, "", "shop", "").with_program(Path::new(env!("CARGO")))
}

fn crates(project: Project) -> Project {
    let project = project.file("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\nresolver = \"2\"\n");
    let project = new_crate(new_crate(project, "a/", "shapes", ""), "b/", "shop", "shapes = { path = \"../a\" }\n");
    project
        .file("b/tests/d.rs", "#[test]\nfn d() {\n    assert_eq!(shapes::two(), 2);\n}\n")
        .with_program(Path::new(env!("CARGO")))
}

fn path_dependency(project: Project) -> Project {
    let library = project.root().join("library");
    let mut cargo = Command::new(env!("CARGO"));
    prepare(cargo.args(["init", "-q", "--lib", "--vcs", "git", "--name", "shapes"]).arg(&library));
    new_crate(project, "app/", "shop", "shapes = { path = \"../../library\" }\n").with_program(Path::new(env!("CARGO")))
}
