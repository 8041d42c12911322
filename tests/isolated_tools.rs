//! Real tools inside the isolation: what people usually run passes in the namespaces that every action gets, and under
//! Landlock where there are no namespaces.
//!
//! Normally each project runs as the user of the tests, in namespaces. In the long tier it runs at both levels, and if
//! the tests run as root, also as an unprivileged user. No tool in these tests fails under Landlock. Two things that
//! Landlock cannot give have tests of their own: a private `/tmp` and a writable copy of HOME. Landlock can only deny
//! access; it cannot show another directory at a path.
#![expect(clippy::print_stdout, reason = "whoever reads the log of the tests sees who was left out, and why")]

mod settings;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::common::{
    Extent, Output, Project, User, copy_program, node_modules, proctor, python_parallel, repository, vitest_modules,
};

/// The time limit of a run that fetches packages.
const FETCHING_BOUND: Duration = Duration::from_secs(300);

/// The levels that a tool must pass at.
const LEVELS: [&str; 2] = ["namespace", "landlock"];

/// The extent outside of the long tier: only the first combination of user and level. There are at most two users.
const ONE: Extent = Extent::OneIn(2 * LEVELS.len());

/// The ways to work in parallel that Python offers, as tests for pytest in one file.
const PYTHON_TESTS: &str = r#"
import http.server, multiprocessing, os, pty, sqlite3, subprocess, sys, threading, urllib.request
from multiprocessing import shared_memory

import pytest


def square(number):
    return number * number


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method):
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(square, [1, 2, 3]) == [1, 4, 9]


def test_manager_queue_and_semaphore():
    context = multiprocessing.get_context("fork")
    with context.Manager() as manager:
        numbers = manager.list([1])
        numbers.append(2)
        assert list(numbers) == [1, 2]
    queue = context.Queue()
    queue.put("x")
    assert queue.get(timeout=10) == "x"
    with context.Semaphore(1):
        pass


def test_shared_memory():
    block = shared_memory.SharedMemory(create=True, size=1 << 20)
    block.buf[0] = 7
    same = shared_memory.SharedMemory(name=block.name)
    assert same.buf[0] == 7
    same.close()
    block.close()
    block.unlink()


def test_pty():
    leader, follower = pty.openpty()
    child = subprocess.Popen([sys.executable, "-c", "import os; print(os.isatty(1))"], stdout=follower)
    assert child.wait() == 0
    assert os.read(leader, 100).strip() == b"True"


def test_loopback_http():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{server.server_port}/") as answer:
        assert answer.status == 200
    server.shutdown()


def test_sqlite_with_a_write_ahead_log(tmp_path):
    for directory in [tmp_path, "."]:
        connection = sqlite3.connect(os.path.join(directory, "data.db"))
        assert connection.execute("pragma journal_mode=wal").fetchone() == ("wal",)
        connection.execute("create table t(a)")
        connection.execute("insert into t values (1)")
        connection.commit()
        assert connection.execute("select a from t").fetchall() == [(1,)]
        connection.close()
    os.remove("data.db")
"#;

/// Returns the users who can execute a program and reach the projects: an unprivileged user may have no access to the
/// build directory or the temporary directory.
fn users_who_reach(program: &Path) -> Vec<User> {
    let reaches = |user: User, path: &Path| {
        let there = user.command(Path::new("test")).arg("-x").arg(path).status().is_ok_and(|status| status.success());
        if !there {
            println!("{user} cannot reach `{}`: not tried", path.display());
        }
        there
    };
    let projects = std::env::temp_dir();
    User::all().into_iter().filter(|user| reaches(*user, program) && reaches(*user, &projects)).collect()
}

/// Runs `proctor run --json` in a project as a user, who first becomes the owner of the project's files.
#[track_caller]
fn run_as(user: User, level: &str, project: &Project, arguments: &[&str]) -> Output {
    user.own(project.root());
    let invocation = match user {
        User::Own => project.proctor(["run"]),
        User::Unprivileged => {
            // The program is copied, since the other user may have no access to the build directory.
            let copy = project.root().join("proctor");
            if !copy.exists() {
                copy_program(proctor(), &copy);
            }
            let number = user.number().to_string();
            let words = ["--reuid", &number, "--regid", &number, "--clear-groups", "--", copy.to_str().expect("UTF-8"), "run"];
            project.command(Path::new("setpriv"), words)
        }
    };
    invocation.arguments(arguments).env("PROCTOR_TEST_ISOLATION", level).bound(FETCHING_BOUND).any_status()
}

/// Runs a project as every user at every level, or outside of the long tier only as the first user at the first level.
/// Every run must pass.
#[track_caller]
fn must_pass(extent: Extent, program: &Path, make: impl Fn() -> Project) -> Vec<Value> {
    let mut reports = Vec::new();
    let everybody = users_who_reach(program).into_iter().flat_map(|user| LEVELS.map(|level| (user, level)));
    for (user, level) in extent.of(everybody) {
        let project = make();
        let output = run_as(user, level, &project, &["--json"]);
        assert_eq!(output.status, 0, "{user}, {level}: {}", output.snapshot());
        let report = output.json();
        assert_eq!(report["isolation"]["level"], level, "{user}: {:#}", report["isolation"]);
        reports.push(report);
    }
    reports
}

fn check(name: &str, tool: &str, command: &str) -> String {
    let words = shlex::split(command).expect("a command of ours");
    let command = serde_json::to_string(&words).expect("strings can be written");
    format!("[[check]]\nname = {name:?}\ntool = {tool:?}\ncommand = {command}\ntimeout = \"2m\"\n")
}

#[test]
#[ignore = "long tier"]
fn pytest_passes_with_workers_coverage_processes_and_sockets() {
    pytest_inside(ONE);
}

#[test]
#[ignore = "long tier"]
fn pytest_passes_with_workers_coverage_processes_and_sockets_as_everybody_at_every_level() {
    pytest_inside(Extent::All);
}

#[track_caller]
fn pytest_inside(extent: Extent) {
    let python = python_parallel();
    let pytest = format!("{} -m pytest -p no:cacheprovider", python.display());
    let reports = must_pass(extent, &python, || {
        let checks = check("plain", "pytest", &pytest)
            + &check("workers", "pytest", &format!("{pytest} -n 2"))
            + &check("coverage", "pytest", &format!("{pytest} -n 2 --cov=. --cov-fail-under=90"));
        Project::new().toml(&checks).file("test_parallel.py", PYTHON_TESTS).file(".gitignore", ".coverage*\n*.db*\n__pycache__\n")
    });
    for report in reports {
        let results = report["stepExecution"]["results"].as_array().expect("three checks").clone();
        let passed: Vec<_> = results.iter().map(|result| &result["result"]["testResults"]["passed"]).collect();
        assert!(passed.iter().all(|count| **count == 8), "{passed:?}");
    }
}

#[test]
#[ignore = "long tier"]
fn tsc_eslint_and_vitest_pass_with_their_caches() {
    javascript_inside(ONE);
}

#[test]
#[ignore = "long tier"]
fn tsc_eslint_and_vitest_pass_with_their_caches_as_everybody_at_every_level() {
    javascript_inside(Extent::All);
}

#[track_caller]
fn javascript_inside(extent: Extent) {
    let (modules, vitest) = (node_modules(), vitest_modules());
    let bin = |modules: &Path, tool: &str| modules.join(".bin").join(tool).display().to_string();
    must_pass(extent, &modules.join(".bin/tsc"), || {
        let checks = check("tsc", "tsc", &bin(&modules, "tsc"))
            + &check("eslint", "eslint", &format!("{} --cache src", bin(&modules, "eslint")))
            + &check("vitest", "generic", &format!("{} run --globals", bin(&vitest, "vitest")));
        let compiler =
            r#"{"compilerOptions": {"incremental": true, "outDir": "dist", "strict": true, "types": []}, "include": ["src"]}"#;
        Project::new()
            .toml(&checks)
            .file("package.json", r#"{"name": "inside", "version": "1.0.0", "type": "module"}"#)
            .file("tsconfig.json", compiler)
            .file("src/one.ts", "export const one: number = 1;\n")
            .file("src/two.js", "export const two = 2;\n")
            .file("eslint.config.js", "export default [{ rules: { \"no-var\": \"error\" } }];\n")
            .file("two.test.js", "import { two } from './src/two.js';\ntest('two', () => expect(two).toBe(2));\n")
            .file(".gitignore", "dist\n*.tsbuildinfo\n.eslintcache\nnode_modules\n")
    });
}

#[test]
#[ignore = "long tier"]
fn packages_are_installed_by_prerequisites_and_listed_as_everybody_at_every_level() {
    packages_inside(Extent::All);
}

#[track_caller]
fn packages_inside(extent: Extent) {
    let lock = |name: &str| {
        let path = repository().join("fixtures/projects/quotes").join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("could not read `{}`: {error}", path.display()))
    };
    let (manifest, lock) = (lock("package.json"), lock("package-lock.json"));
    let toml = "[[prerequisite]]\nname = \"environment\"\nshell = true\ncreates = [\".venv/bin/python\"]\ncommand = \"python3 -m venv .venv && .venv/bin/python -m pip install -q iniconfig==2.3.1\"\n\
        [[prerequisite]]\nname = \"packages\"\ncommand = [\"npm\", \"ci\", \"--no-audit\", \"--no-fund\"]\ncreates = [\"node_modules\"]\n"
        .to_owned()
        + &check("imported", "generic", ".venv/bin/python -c 'import iniconfig'")
        + &check("listed", "generic", "npm ls");
    must_pass(extent, Path::new("/bin/sh"), || {
        let project = Project::new().with_package_index().toml(&toml);
        project.file("package.json", &manifest).file("package-lock.json", &lock).file(".gitignore", "node_modules\n.venv\n")
    });
}

/// Returns the home directory of a project's user.
fn home(project: &Project) -> PathBuf {
    project.root().join("home")
}
