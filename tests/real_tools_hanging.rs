//! A test that hangs is named, whoever stops it: pytest-timeout, Jest, Vitest or proctor.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use crate::common::{Project, jest_modules, python_plain, python_timeouts, vitest_modules};

const HANGING: &str = "import sys\nimport time\n\n\nclass TestSlow:\n    def test_ok(self):\n        pass\n\n    def test_hangs(self):\n        time.sleep(300)\n";
/// Prints an unrelated warning after everything that pytest prints.
const NOISY: &str =
    "import sys\n\n\ndef pytest_unconfigure(config):\n    print('UserWarning: it is deprecated', file=sys.stderr)\n";

fn pytest(python: &Path, arguments: &str, lines: &str) -> Project {
    let python = python.display();
    let toml = format!("[[check]]\nname = \"pytest\"\ntool = \"pytest\"\ncommand = \"{python} -m pytest{arguments}\"\n{lines}");
    Project::new().toml(&toml).file("test_a.py", HANGING).file("conftest.py", NOISY)
}

fn first(report: &Value) -> &Value {
    &report["stepExecution"]["results"][0]
}

#[track_caller]
fn assert_says(report: &Value, code: &str, words: &str) {
    let classification = &first(report)["classification"];
    assert_eq!(classification["code"], code, "{classification}");
    assert!(classification["reason"].as_str().is_some_and(|reason| reason.contains(words)), "{classification}");
}

#[test]
#[ignore = "long tier"]
fn pytest_timeout_names_the_test_by_its_signal_and_by_its_thread() {
    let python = python_timeouts();
    let by_signal = pytest(&python, " --timeout=1 --timeout-method=signal", "");
    assert_says(&by_signal.proctor(["run"]).failure().report(), "TESTS_FAILED", "test_hangs: Failed: Timeout");
    let by_thread = pytest(&python, " --timeout=1 --timeout-method=thread", "");
    let words = "`test_hangs` of `test_a.py` did not end within the time-out of pytest-timeout of 1.0s, at test_a.py:10";
    assert_says(&by_thread.proctor(["run"]).failure().report(), "TIMED_OUT", words);
    let verbose = pytest(&python, " -v --timeout=1 --timeout-method=thread", "");
    let words = "`test_a.py::TestSlow::test_hangs` did not end";
    assert_says(&verbose.proctor(["run"]).failure().report(), "TIMED_OUT", words);
}

#[test]
fn a_test_that_hangs_until_proctor_stops_it_is_named_and_an_unrelated_warning_explains_nothing() {
    let project = pytest(&python_plain(), "", "timeout = \"4s\"\n");
    let output = project.proctor(["run"]).failure();
    let words = "`test_a.py::TestSlow::test_hangs` had not ended, stopped at test_a.py:10";
    assert_says(&output.report(), "TIMED_OUT", words);
    assert!(output.stdout.contains("KeyboardInterrupt"), "{}", output.snapshot());
    assert!(!output.stdout.contains("it is deprecated"), "{}", output.snapshot());
}

#[test]
fn a_test_in_a_busy_loop_is_named_with_its_line() {
    let native = "import re\n\n\ndef work():\n    sum(range(10**14))\n\n\ndef test_busy():\n    work()\n";
    let python = "def test_busy():\n    while True:\n        try:\n            while True:\n                pass\n        except BaseException:\n            pass\n";
    for (tests, at) in [(native, "5"), (python, "")] {
        let project = pytest(&python_plain(), " -q test_b.py", "timeout = \"4s\"\ngrace = \"4s\"\n").file("test_b.py", tests);
        let words = format!("`test_b.py::test_busy` had not ended, stopped at test_b.py:{at}");
        assert_says(&project.proctor(["run"]).failure().report(), "TIMED_OUT", &words);
    }
}

#[test]
fn a_helper_of_python_that_ends_by_itself_is_not_left_behind() {
    let shares = "from multiprocessing import shared_memory\n\n\ndef test_a():\n    memory = shared_memory.SharedMemory(create=True, size=10)\n    memory.close()\n    memory.unlink()\n";
    let project = pytest(&python_plain(), " test_b.py", "on_survivors = \"fail\"\n").file("test_b.py", shares);
    let output = project.proctor(["run"]).success();
    assert!(!output.stdout.contains("left behind"), "{}", output.snapshot());
}

#[test]
#[ignore = "long tier"]
fn what_keeps_pytest_from_ending_after_its_tests_is_no_test() {
    let waits =
        "import threading\nimport time\n\n\ndef test_ok():\n    threading.Thread(target=time.sleep, args=(300,)).start()\n";
    let project = pytest(&python_plain(), "", "timeout = \"4s\"\n").file("test_a.py", waits);
    assert_says(
        &project.proctor(["run"]).failure().report(),
        "TIMED_OUT",
        "All 1 test(s) had ended: something that they started",
    );
}

fn node(tool: &str, modules: &Path, subcommand: &str) -> Project {
    let command = modules.join(".bin").join(tool).display().to_string();
    let toml =
        format!("[[check]]\nname = \"{tool}\"\ntool = \"{tool}\"\ncommand = \"{command}{subcommand}\"\ntimeout = \"30s\"\n");
    let project = Project::new().toml(&toml).file("package.json", "{\"name\": \"x\"}\n").file(".gitignore", "node_modules\n");
    symlink(modules, project.path().join("node_modules")).expect("the project is ours");
    project
}

#[test]
fn the_time_outs_of_jest_and_vitest_name_the_test_in_words_for_people() {
    let hangs = "describe('group', () => { test('hangs', () => new Promise(() => {}), 200); });\n";
    let jest = node("jest", &jest_modules(), "").file("a.test.js", hangs);
    assert_says(
        &jest.proctor(["run"]).failure().report(),
        "TESTS_FAILED",
        "group › hangs: Exceeded timeout of 200 ms for a test.",
    );
    let import = format!("import {{ test, describe }} from 'vitest';\n{hangs}");
    let vitest = node("vitest", &vitest_modules(), " run").file("a.test.js", &import);
    assert_says(&vitest.proctor(["run"]).failure().report(), "TESTS_FAILED", "group > hangs: Test timed out in 200ms.");
}

#[test]
#[ignore = "long tier"]
fn what_keeps_jest_from_ending_after_its_tests_is_no_test() {
    let opens = "test('ok', () => { setInterval(() => {}, 1000); });\n";
    let project = node("jest", &jest_modules(), " -i").file("a.test.js", opens);
    // Long enough for Jest to start and to end its one test, also on a busy machine; the whole time is waited for.
    let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("it is ours");
    project.save("proctor.toml", &toml.replace("\"30s\"", "\"12s\""));
    let words = "All tests had ended (1 passed, 0 failed, 0 skipped): something that they opened keeps Jest from ending";
    assert_says(&project.proctor(["run"]).failure().report(), "TIMED_OUT", words);
}

#[test]
#[ignore = "long tier"]
fn an_endless_loop_in_jest_and_vitest_names_the_file_that_had_not_ended() {
    let (loops, ends) = ("test('loops', () => { while (true) {} });\n", "test('ends', () => {});\n");
    let import = "import { test } from 'vitest';\n";
    for (project, prefix) in [(node("jest", &jest_modules(), " -w 2"), ""), (node("vitest", &vitest_modules(), " run"), import)] {
        let project = project.file("a.test.js", &format!("{prefix}{ends}")).file("src/loop.test.js", &format!("{prefix}{loops}"));
        // Long enough for the other file to end, also on a busy machine; the whole time is waited for.
        let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("it is ours");
        project.save("proctor.toml", &toml.replace("\"30s\"", "\"12s\""));
        let report = project.proctor(["run"]).failure().report();
        assert_says(&report, "TIMED_OUT", "No end was printed for the file(s) of tests");
        assert_says(&report, "TIMED_OUT", "`src/loop.test.js`");
    }
}

#[test]
fn jest_that_ends_at_the_first_failure_says_so_and_names_it() {
    let fails = "test('adds', () => { expect(1).toBe(2); });\n";
    // The option `--bail` does not always end Jest early; the setting does.
    let package = "{\"name\": \"x\", \"jest\": {\"bail\": 1}}\n";
    let project =
        node("jest", &jest_modules(), "").file("a.test.js", fails).file("b.test.js", fails).file("package.json", package);
    let output = project.proctor(["run"]).failure();
    let report = output.report();
    assert_says(&report, "TESTS_FAILED", ".test.js: adds");
    assert!(!output.stdout.contains("report missing"), "{}", output.snapshot());
    assert_says(&report, "TESTS_FAILED", "`bail`");
}
