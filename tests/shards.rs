//! Checks whose tests run in several processes: one result, the counts of one process, and no success where a test is missing.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Project, python_plain};

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
