//! Checks whose tests run in several processes: one result, the counts of one process, and no success where a test is missing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Output, Project, jest_modules, python_plain, runner_modules, vitest_modules};
use crate::test_runners::{cargo, installed};

const QUEUE: &str = "[queue]\nmax_parallel = 4\n";

fn pytest(shards: &str) -> Project {
    let python = python_plain().display().to_string();
    let check = format!("[[check]]\nname = \"tests\"\ncommand = [\"{python}\", \"-m\", \"pytest\"]\nshards = {shards}\n");
    Project::new().toml(&format!("{check}{QUEUE}"))
}

fn result(report: &Value) -> &Value {
    &report["stepExecution"]["results"][0]
}

fn code(report: &Value) -> &Value {
    &result(report)["classification"]["code"]
}

fn tests(report: &Value) -> Value {
    let mut tests = result(report)["result"]["testResults"].clone();
    tests.as_object_mut().expect("tests ran").remove("failures");
    tests
}

#[test]
fn tests_run_in_several_processes_and_are_one_result() {
    let one =
        "import pytest\n\ndef test_a(): pass\n\ndef test_b(): assert 1 == 2\n\n@pytest.mark.xfail\ndef test_c(): assert 0\n";
    let two = "import pytest\n\n@pytest.mark.parametrize('n', range(4))\ndef test_n(n): pass\n\n@pytest.mark.skip\ndef test_s(): pass\n";
    let skips = "import pytest\npytest.skip('elsewhere', allow_module_level=True)\n";
    let project = pytest("2").file("test_one.py", one).file("test_two.py", two).file("test_three.py", skips);
    let output = project.proctor(["run"]).failure();
    let report = output.report();
    let expected = json!({"passed": 5, "failed": 1, "skipped": 3, "total": 9, "expectedFailures": 1});
    assert_eq!(tests(&report), expected, "{}", output.snapshot());
    assert_eq!(result(&report)["result"]["shards"], 2);
    assert!(output.stdout.contains("1 failed, 5 passed, 2 skipped, 1 xfailed · 2 shards"), "{}", output.snapshot());
    let files = result(&report)["evidenceFiles"].to_string();
    for number in [1, 2] {
        for end in ["pytest.log", "pytest.frames", "junit.xml", "collected.json"] {
            assert!(files.contains(&format!("STEP.1-shard-{number}-{end}")), "{files}");
        }
    }
    // The joined log has the output of both, and its frames name the bytes of each.
    let log = fs::read_to_string(output.run_directory().join("STEP.1-pytest.log")).expect("the log");
    let frames = fs::read_to_string(output.run_directory().join("STEP.1-pytest.frames")).expect("the frames");
    let frame = |line: &str| -> Value { serde_json::from_str(line).expect("a frame") };
    let shown: u64 = frames.lines().map(|line| frame(line)["length"].as_u64().expect("a length")).sum();
    let heads: u64 = ["==== shard 1 of 2\n", "\n==== shard 2 of 2\n"].iter().map(|head| head.len() as u64).sum();
    assert!(log.contains("==== shard 1 of 2\n") && log.contains("==== shard 2 of 2\n"), "{log}");
    assert_eq!(shown + heads, log.len() as u64);
    project.proctor(["verify"]).success();
    // Each test stands in the record of tests once.
    let record: Value =
        serde_json::from_slice(&fs::read(output.run_directory().join("STEP.1-test-results.json")).expect("it")).expect("JSON");
    assert_eq!(record["results"]["testResults"].as_array().map(Vec::len), Some(9));
    // The second run is planned by the times of the first one, and has the same counts.
    assert_eq!(tests(&project.proctor(["run"]).failure().report()), expected);
    // A test that this save added is in no plan, and runs.
    project.save("test_four.py", "def test_added(): pass\n");
    let added = json!({"passed": 6, "failed": 1, "skipped": 3, "total": 10, "expectedFailures": 1});
    assert_eq!(tests(&project.proctor(["run"]).failure().report()), added);
}

#[test]
fn what_each_shard_writes_is_kept_where_writes_says() {
    let test = |name: &str| {
        format!(
            "import pathlib\ndef test_{name}():\n    pathlib.Path('dist').mkdir(exist_ok=True)\n    pathlib.Path('dist/{name}').write_text('x')\n"
        )
    };
    let python = python_plain().display().to_string();
    let check = format!(
        "[[check]]\nname = \"tests\"\ncommand = [\"{python}\", \"-m\", \"pytest\"]\nshards = 2\nwrites = [\"dist/**\"]\n"
    );
    let project = Project::new().toml(&format!("{check}{QUEUE}")).file(".gitignore", "dist\n");
    let project = project.file("test_a.py", &test("a")).file("test_b.py", &test("b"));
    let output = project.proctor(["run"]).success();
    assert_eq!(result(&output.report())["result"]["shards"], json!(2), "{}", output.snapshot());
    for name in ["a", "b"] {
        let written = fs::read_to_string(project.path().join("dist").join(name));
        assert_eq!(written.expect("it is kept"), "x", "{}", output.snapshot());
    }
}

#[test]
fn a_check_whose_tests_were_not_divided_says_so_however_its_number_is_written() {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    for (shards, wanted) in [("2", 2), ("\"cores\"", processors)] {
        let python = python_plain().display().to_string();
        let check = format!("[[check]]\nname = \"tests\"\ncommand = [\"{python}\", \"-m\", \"pytest\"]\nshards = {shards}\n");
        let project = Project::new().toml(&format!("{check}[sandbox]\nhome = \"overlay\"\n"));
        let output = project.file("test_a.py", "def test_a(): pass\n").proctor(["run"]).success();
        let is_said = output.stdout.contains("its tests ran in one process");
        assert_eq!(is_said, wanted > 1, "{shards}: {}", output.snapshot());
    }
}

#[test]
fn a_check_that_cannot_be_divided_is_refused_with_the_reason() {
    for (check, part) in [
        ("command = [\"make\", \"test\"]", "cannot list in each shard"),
        ("command = [\"cargo\", \"test\"]", "cannot divide its tests"),
        ("command = [\"npx\", \"jest\", \"--shard=1/2\"]", "leaves out tests by itself"),
        ("command = [\"pytest\", \"--cov-fail-under=90\"]", "threshold of the whole suite"),
        ("command = [\"pytest\"]\nsnapshot = \"off\"", "shards need the snapshot"),
        ("command = [\"pytest\"]\nshards = 33", "from 1 to 32"),
    ] {
        let shards = if check.contains("shards") { "" } else { "\nshards = 2" };
        let project = Project::new().toml(&format!("[[check]]\nname = \"tests\"\n{check}{shards}\n"));
        let output = project.proctor(["run"]).status(4);
        assert!(output.stderr.contains(part), "{}", output.snapshot());
    }
}

#[test]
#[ignore = "long tier"]
fn without_equal_lists_or_with_a_shard_that_dies_there_is_no_success() {
    let many: String = (0..8).map(|number| format!("def test_{number}(): pass\n")).collect();
    for (added, expected, part) in [
        (
            "import random, pytest\n@pytest.mark.parametrize('x', [random.random()])\ndef test_x(x): pass\n",
            "REPORT_INCOMPLETE",
            "collected `test_b.py::test_x[",
        ),
        ("import os\ndef test_x(): os._exit(0)\n", "REPORT_MISSING", "of 2: Exit code 0 without a test report"),
        ("import os\ndef test_x(): os.kill(os.getpid(), 11)\n", "SIGNALLED", "of 2: SIGSEGV"),
        ("def test_x(:\n", "COLLECTION_ERROR", "1 module(s) could not be collected: test_b.py"),
    ] {
        let project = pytest("2").file("test_a.py", &many).file("test_b.py", added);
        let output = project.proctor(["run"]).failure();
        let reason = result(&output.report())["classification"]["reason"].to_string();
        assert_eq!(code(&output.report()), expected, "{}", output.snapshot());
        assert!(reason.contains(part), "{reason}");
    }
}

#[test]
#[ignore = "long tier"]
fn each_shard_has_its_time_limit_and_none_is_left_behind() {
    let python = python_plain().display().to_string();
    let check =
        format!("[[check]]\nname = \"tests\"\ncommand = [\"{python}\", \"-m\", \"pytest\"]\nshards = 2\ntimeout = \"8s\"\n");
    let hangs = "import time\ndef test_hangs(): time.sleep(600)\ndef test_b(): pass\n";
    let project =
        Project::new().toml(&format!("{check}{QUEUE}")).file("test_a.py", hangs).file("test_c.py", "def test_c(): pass\n");
    let output = project.proctor(["run"]).bound(Duration::from_secs(120)).failure();
    assert_eq!(code(&output.report()), "TIMED_OUT", "{}", output.snapshot());
    assert!(result(&output.report())["classification"]["reason"].to_string().contains("of 2: The command was still running"));
}

#[test]
#[ignore = "long tier"]
fn with_one_turn_the_shards_run_one_after_the_other() {
    let test = "import time\ndef test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\n";
    let project = pytest("3").file("test_a.py", test);
    project.save("proctor.toml", &fs::read_to_string(project.path().join("proctor.toml")).expect("it").replace("= 4", "= 1"));
    let report = project.proctor(["run"]).success().report();
    assert_eq!((tests(&report)["passed"].as_u64(), &result(&report)["result"]["shards"]), (Some(3), &json!(3)));
}

/// Runs a check in one process and then in two, which must have the same counts. Returns the output of the second run.
#[track_caller]
fn divided(project: &Project, check: &str) -> Output {
    let toml = |shards: &str| format!("[[check]]\nname = \"tests\"\n{check}\n{shards}{QUEUE}");
    project.save("proctor.toml", &toml(""));
    let whole = project.proctor(["run"]).bound(RUNNERS).failure();
    project.save("proctor.toml", &toml("shards = 2\n"));
    // The second run with shards is planned by the times of the one before.
    for _ in 0..2 {
        let output = project.proctor(["run"]).bound(RUNNERS).failure();
        assert_eq!(tests(&output.report()), tests(&whole.report()), "{}", output.snapshot());
        assert_eq!(result(&output.report())["result"]["shards"], json!(2), "{}", output.snapshot());
        assert_eq!(code(&output.report()), "TESTS_FAILED", "{}", output.snapshot());
    }
    project.proctor(["run"]).bound(RUNNERS).failure()
}

/// Compilers and runners of JavaScript take long on a busy machine.
const RUNNERS: Duration = Duration::from_secs(120);

/// Adds a setting that makes a file of tests with another name in each process, and expects that nobody takes the result for a success.
#[track_caller]
fn incomplete(project: &Project, name: &str, settings: &str) {
    project.save(name, settings);
    let output = project.proctor(["run"]).bound(RUNNERS).failure();
    assert_eq!(code(&output.report()), "REPORT_INCOMPLETE", "{}", output.snapshot());
}

/// Puts three files of tests into a project of JavaScript; one test fails.
fn javascript(modules: &Path, import: &str) -> Project {
    let project = Project::new().file("package.json", "{\"name\": \"x\"}\n").file(".gitignore", "node_modules\n");
    symlink(modules, project.path().join("node_modules")).expect("the project is ours");
    for (name, body) in [("a", "() => {}"), ("b", "() => { throw new Error('boom'); }"), ("c", "() => {}")] {
        let text = format!(
            "{import}test('{name} 1', {body});\ntest.describe ? test.describe('d', () => test('{name} 2', () => {{}})) : test('{name} 2', () => {{}});\n"
        );
        project.save(&format!("{name}.test.js"), &text);
    }
    project
}

#[test]
#[ignore = "long tier"]
fn files_of_jest_and_vitest_are_divided_and_a_file_of_one_shard_alone_is_no_success() {
    for (tool, modules, rest, import, settings) in [
        ("jest", jest_modules(), "", "", ("jest.config.js", "module.exports = {};\n")),
        (
            "vitest",
            vitest_modules(),
            " run",
            "const { test } = await import('vitest');\n",
            ("vitest.config.mjs", "export default {};\n"),
        ),
    ] {
        let command = format!("command = \"{}{rest}\"", modules.join(".bin").join(tool).display());
        let project = javascript(&modules, import);
        divided(&project, &command);
        project.save("b.test.js", &fs::read_to_string(project.path().join("a.test.js")).expect("it is there"));
        project.proctor(["run"]).bound(RUNNERS).success();
        let makes = if tool == "jest" { "const fs = require('node:fs');" } else { "import fs from 'node:fs';" };
        let text = format!("{import}test('x', () => {{}});").replace('\n', " ");
        let makes = format!("{makes}\nfs.writeFileSync(`x${{process.hrtime.bigint()}}.test.js`, \"{text}\");\n{}", settings.1);
        incomplete(&project, settings.0, &makes);
    }
}

#[test]
#[ignore = "long tier"]
fn tests_of_playwright_are_divided_by_its_own_shards_and_listed_whole() {
    let modules = runner_modules();
    let project = javascript(&modules, "const { test } = require('@playwright/test');\n");
    divided(&project, &format!("command = \"{} test\"", modules.join(".bin/playwright").display()));
    project.save("b.test.js", &fs::read_to_string(project.path().join("a.test.js")).expect("it is there"));
    project.proctor(["run"]).bound(RUNNERS).success();
    let makes = "require('node:fs').writeFileSync(`x${process.hrtime.bigint()}.test.js`, \"require('@playwright/test').test('x', () => {})\");\nmodule.exports = {};\n";
    incomplete(&project, "playwright.config.js", makes);
}

/// A test on which others depend runs in each shard. If the settings do not show that, the lists of the shards do.
#[test]
#[ignore = "long tier"]
fn a_test_of_playwright_on_which_others_depend_is_no_success_in_shards() {
    let modules = runner_modules();
    let project = javascript(&modules, "const { test } = require('@playwright/test');\n");
    project.save("b.test.js", &fs::read_to_string(project.path().join("a.test.js")).expect("it is there"));
    let projects =
        "[{ name: 'setup', testMatch: 'a.test.js' }, { name: 'shop', testIgnore: 'a.test.js', dependencies: ['setup'] }]";
    let project = project.file("projects.js", &format!("module.exports = {projects};\n"));
    let command = format!("{} test", modules.join(".bin/playwright").display());
    let check = |config: &str| format!("[[check]]\nname = \"tests\"\ncommand = \"{command}{config}\"\nshards = 2\n{QUEUE}");
    project.save("proctor.toml", &check(""));
    incomplete(&project, "playwright.config.js", "module.exports = { projects: require('./projects.js') };\n");
    project.save("web.config.js", &format!("module.exports = {{ projects: {projects} }};\n"));
    project.save("proctor.toml", &check(" --config web.config.js"));
    let refused = project.proctor(["run"]).status(4);
    assert!(refused.stderr.contains("run in each shard"), "{}", refused.snapshot());
}

#[test]
#[ignore = "long tier"]
fn packages_of_go_are_divided() {
    if installed("go").is_none() {
        return;
    }
    let project = Project::new().file("go.mod", "module example.com/shop\n\ngo 1.19\n");
    for (name, body) in [("a", ""), ("b", "t.Error(1)"), ("c", "t.Run(\"x\", func(t *testing.T) {})")] {
        project.save(&format!("{name}/{name}.go"), &format!("package {name}\n"));
        let test = format!("package {name}\n\nimport \"testing\"\n\nfunc TestIt(t *testing.T) {{ {body} }}\n");
        project.save(&format!("{name}/{name}_test.go"), &test);
    }
    let output = divided(&project, "command = \"go test ./...\"");
    let list = |number: u32| {
        let file = format!("STEP.1-shard-{number}-collected.json");
        fs::read_to_string(output.run_directory().join(file)).expect("a list")
    };
    let lists = [list(1), list(2)];
    for package in ["a", "b", "c"] {
        let own = format!("own package example.com/shop/{package}\n");
        assert_eq!(lists.iter().filter(|list| list.contains(&own)).count(), 1, "{lists:?}");
    }
}

/// Makes a workspace whose members have tests in their libraries and beside them; one test fails.
pub(crate) fn workspace() -> Project {
    let members = "[workspace]\nmembers = [\"crates/*\"]\nresolver = \"2\"\n";
    let project = Project::new().file(".gitignore", "/target\n").file("Cargo.toml", members);
    for (name, body) in [("left", ""), ("right", "panic!()")] {
        let manifest = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
        project.save(&format!("crates/{name}/Cargo.toml"), &manifest);
        let library = format!("#[cfg(test)]\nmod tests {{\n    #[test] fn a() {{ {body} }}\n    #[test] fn b() {{}}\n}}\n");
        project.save(&format!("crates/{name}/src/lib.rs"), &library);
        project.save(&format!("crates/{name}/tests/whole.rs"), "#[test] fn whole() {}\n#[test] #[ignore] fn part() {}\n");
    }
    project
}

#[test]
#[ignore = "long tier"]
fn tests_of_the_members_of_a_workspace_are_divided() {
    let (Some(cargo), Some(nextest)) = (cargo(), installed("cargo-nextest")) else { return };
    let project = workspace().with_program(&nextest).with_program(&cargo);
    let output = divided(&project, "command = \"cargo nextest run --offline --no-fail-fast\"");
    let expected = json!({"passed": 5, "failed": 1, "skipped": 2, "total": 8});
    assert_eq!(tests(&output.report()), expected, "{}", output.snapshot());
}

#[test]
#[ignore = "long tier"]
fn tests_of_nextest_are_divided_and_a_test_of_one_shard_alone_is_no_success() {
    let (Some(cargo), Some(nextest)) = (cargo(), installed("cargo-nextest")) else { return };
    let library = "include!(concat!(env!(\"OUT_DIR\"), \"/made.rs\"));\n#[cfg(test)]\nmod tests {\n    #[test] fn a() {}\n    #[test] fn b() {}\n\
        \x20   #[test] #[ignore] fn c() {}\n    #[test] fn d() { panic!() }\n}\n";
    let build = |name: &str| {
        format!(
            "fn main() {{ let out = std::env::var(\"OUT_DIR\").unwrap(); std::fs::write(out + \"/made.rs\", format!(\"#[test] fn made{name}() {{{{}}}}\"{})).unwrap(); }}\n",
            if name.is_empty() {
                ""
            } else {
                ", std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos()"
            }
        )
    };
    let project = Project::new().with_program(&nextest).with_program(&cargo).file(".gitignore", "/target\n");
    let manifest = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let project = project.file("Cargo.toml", manifest).file("src/lib.rs", library).file("build.rs", &build(""));
    let project = project.file("tests/whole.rs", "#[test] fn whole() {}\n#[test] fn part() {}\n");
    divided(&project, "command = \"cargo nextest run --offline --no-fail-fast\"");
    project.save("src/lib.rs", &library.replace("panic!()", ""));
    project.proctor(["run"]).bound(RUNNERS).success();
    incomplete(&project, "build.rs", &build("{}"));
}
