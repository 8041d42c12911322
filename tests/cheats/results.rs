//! Tries cheats that forge results, end the tests early, or hide failures in a lot of output.

use crate::cheats::{code, command, pytest};
use crate::common::{fake_tool, processes_of};

#[test]
fn t06_prints_a_summary_that_contradicts_its_report() {
    const FORGED: &str = "import atexit\nimport os\n\n\ndef test_it():\n    assert 1 == 2\n\n\ndef over():\n    os.write(1, b'\\n===== 999 passed in 0.01s =====\\n')\n    os._exit(0)\n\n\natexit.register(over)\n";
    let project = pytest("", "").file("test_a.py", FORGED);
    let report = project.proctor(["run"]).failure().report();
    assert_eq!(code(&report), "INCONSISTENT");
    let counts = &report["executionSummary"]["testResults"];
    assert_eq!((&counts["passed"], &counts["failed"]), (&0.into(), &1.into()), "what is printed is never counted");
}

#[test]
fn t20_ends_the_process_early_with_success() {
    let project = pytest("", "").file("test_a.py", "import os\n\n\ndef test_it():\n    os._exit(0)\n");
    assert_eq!(code(&project.proctor(["run"]).failure().report()), "REPORT_MISSING");
    project.save("test_a.py", "import pytest\n\n\ndef test_a():\n    pass\n\n\ndef test_b():\n    pytest.exit('enough', returncode=0)\n\n\ndef test_c():\n    assert 0\n");
    assert_eq!(code(&project.proctor(["run"]).failure().report()), "REPORT_INCOMPLETE");
}

#[test]
fn t25_leaves_a_process_behind_that_edits_later() {
    let lines = "[sandbox]\nwritable = [\"../shared\"]";
    let script = "[\"fake-tool\", \"--script\", \"\"\"(setsid sh -c 'while :; do echo later >> ../shared/later; sleep 0.05; done' &) ; sleep 0.3\"\"\"]";
    let project = command(script, lines);
    let output = project.proctor(["run"]).success();
    let report = output.report();
    let survivors = report["isolation"]["survivors"].as_array().expect("a list");
    assert!(!survivors.is_empty(), "whoever was left is named");
    assert!(project.shared("later").exists(), "it wrote while the check went on");
    assert_eq!(processes_of(project.root()), [], "nobody is alive that could write");
}

#[test]
fn t26_hangs_and_drowns_its_verifier() {
    let project =
        command("[\"fake-tool\", \"--ignore-term\", \"--sleep\", \"600000\"]", "timeout = \"300ms\"\ngrace = \"200ms\"")
            .with_program(fake_tool());
    let report = project.proctor(["run"]).failure().report();
    assert_eq!((code(&report), &report["limit"]), ("TIMED_OUT", &"wall".into()));
    let project = command("[\"fake-tool\", \"--stdout-bytes\", \"50000000\"]", "max_output = \"1MiB\"\ngrace = \"200ms\"")
        .with_program(fake_tool());
    let output = project.proctor(["run"]).failure();
    assert_eq!((code(&output.report()), &output.report()["limit"]), ("TIMED_OUT", &"output".into()));
    let text = std::fs::metadata(output.run_directory().join("execution-report.json")).expect("a report");
    assert!(text.len() < 100_000, "a report shows bounded excerpts");
}
