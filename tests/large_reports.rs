//! Tests reports with more than a million tests: a report is read piece by piece, every test is counted, and at most
//! 10,000 tests of each kind are listed.

use std::fs;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::common::{Output, Project, fake_tool, poll};

/// The most memory that proctor may need for a report, however many tests it lists.
const MOST_MEMORY_KIB: u64 = 64 * 1024;
/// At most this many of the first tests are listed, and at most this many of the failed tests.
const LISTED: u64 = 10_000;
const BOUND: Duration = Duration::from_secs(30);
const RUN_BOUND: Duration = Duration::from_secs(300);
/// The number of tests of a pytest report in the long tier. A Jest report has two thirds of that number.
const MANY: u64 = 1_500_000;
/// The number of tests of a report outside of the long tier. A report of this length is read piece by piece, too.
const SOME: u64 = 100_000;

/// A program that plays pytest: every test passes, but for the last one.
fn pytest(tests: u64) -> String {
    format!(
        "#!/bin/sh\nfor word in \"$@\"; do case $word in --junitxml=*) report=${{word#--junitxml=}};; esac; done\n\
         touch ../shared/begun; while [ ! -e ../shared/go ]; do sleep 0.05; done\n\
         awk 'BEGIN {{ printf \"<testsuites><testsuite tests=\\\"{tests}\\\">\"; \
         for (i = 1; i < {tests}; i++) printf \"<testcase classname=\\\"a\\\" name=\\\"t%d\\\"/>\", i; \
         printf \"<testcase classname=\\\"a\\\" name=\\\"last\\\"><failure message=\\\"m\\\">E   m</failure></testcase>\"; \
         printf \"</testsuite></testsuites>\" }}' > \"$report\"\nexit 1\n"
    )
}

/// A program that plays Jest: every test passes, but for the last one.
fn jest(tests: u64) -> String {
    format!(
        "#!/bin/sh\nfor word in \"$@\"; do case $word in --outputFile=*) report=${{word#--outputFile=}};; esac; done\n\
         touch ../shared/begun; while [ ! -e ../shared/go ]; do sleep 0.05; done\n\
         awk 'BEGIN {{ printf \"{{\\\"numTotalTests\\\":{tests},\\\"numFailedTests\\\":1,\\\"success\\\":false,\\\"testResults\\\":[{{\\\"assertionResults\\\":[\"; \
         for (i = 1; i < {tests}; i++) printf \"{{\\\"ancestorTitles\\\":[],\\\"title\\\":\\\"t%d\\\",\\\"status\\\":\\\"passed\\\"}},\", i; \
         printf \"{{\\\"ancestorTitles\\\":[],\\\"title\\\":\\\"last\\\",\\\"status\\\":\\\"failed\\\",\\\"failureMessages\\\":[\\\"m\\\"]}}\"; \
         printf \"],\\\"name\\\":\\\"/a.test.js\\\",\\\"status\\\":\\\"failed\\\"}}]}}\" }}' > \"$report\"\nexit 1\n"
    )
}

/// Runs a check that plays a tool, and holds the program's memory to the bound. Returns the ended run and the peak in
/// KiB.
#[track_caller]
fn run(project: &Project, name: &str) -> (Output, u64) {
    let (begun, go) = (project.shared("begun"), project.shared("go"));
    let mut run = project.proctor(["run"]).watch();
    poll(BOUND, "the check to begin", || begun.exists().then_some(()));
    let peak = watch_peak_memory(run.id());
    fs::write(&go, "").expect("the root is ours");
    run.wait_for_line("the verdict", RUN_BOUND, |line| line.starts_with("FAILED"));
    let output = run.ended();
    let peak = peak.join().expect("watching does not panic");
    assert!((1..=MOST_MEMORY_KIB).contains(&peak), "{name}: the program needed {peak} KiB\n{}", output.snapshot());
    (output, peak)
}

/// Runs a check that plays a tool, and fails if memory, counts or lists are not within their limits. Returns the figures
/// in words.
#[track_caller]
fn is_counted_and_listed(name: &str, script: &str, tests: u64, evidence: &str) -> String {
    let toml = format!(
        "[sandbox]\nwritable = [\"../shared\"]\n[[check]]\nname = \"tests\"\ncommand = [\"./{name}\"]\ntimeout = \"10m\"\n"
    );
    let project = Project::new().with_program(fake_tool()).toml(&toml).executable(name, script);
    let (output, peak) = run(&project, name);
    let report = output.report();
    let outcome = &report["stepExecution"]["results"][0]["result"];
    let counts = &outcome["testResults"];
    assert_eq!(counts["passed"], tests - 1, "{counts}");
    assert_eq!((&counts["failed"], counts["total"].as_u64()), (&Value::from(1), Some(tests)), "{counts}");
    assert!(counts["failures"][0]["testName"].as_str().is_some_and(|name| name.contains("last")), "{counts}");
    let directory = output.run_directory();
    let record = fs::read(directory.join("STEP.1-test-results.json")).expect("it is evidence");
    let record: Value = serde_json::from_slice(&record).expect("it is JSON");
    assert_eq!(record["results"]["numTotalTests"], tests);
    let listed = record["results"]["testResults"].as_array().expect("a list");
    assert_eq!(listed.len() as u64, LISTED + 1, "the first tests, and the failed one");
    let kept = fs::metadata(directory.join(evidence)).expect("the tool's own report is evidence").len();
    assert!(kept > 20 * tests, "it is kept whole");
    let lengths = ["execution-report.json", "STEP.1-test-results.json"]
        .map(|name| fs::metadata(directory.join(name)).expect("a file").len());
    assert!(lengths.iter().sum::<u64>() < 8 << 20, "the report lists failures and counts: {lengths:?}");
    format!("{name}: {tests} tests, a report of {kept} bytes, {peak} KiB of memory")
}

#[test]
fn a_junit_report_that_is_read_piece_by_piece_is_counted_and_kept_whole() {
    println!("{}", is_counted_and_listed("pytest", &pytest(SOME), SOME, "STEP.1-junit.xml"));
}

#[test]
#[ignore = "long tier"]
fn a_junit_report_of_a_million_and_a_half_tests_needs_sixty_four_mebibytes() {
    println!("{}", is_counted_and_listed("pytest", &pytest(MANY), MANY, "STEP.1-junit.xml"));
}

#[test]
fn a_json_report_that_is_read_piece_by_piece_is_counted_and_kept_whole() {
    println!("{}", is_counted_and_listed("jest", &jest(SOME), SOME, "STEP.1-jest-report.json"));
}

#[test]
#[ignore = "long tier"]
fn a_json_report_of_a_million_tests_needs_sixty_four_mebibytes() {
    println!("{}", is_counted_and_listed("jest", &jest(MANY * 2 / 3), MANY * 2 / 3, "STEP.1-jest-report.json"));
}

/// Reads the peak of a program's memory again and again until the program has ended.
fn watch_peak_memory(id: i32) -> JoinHandle<u64> {
    thread::spawn(move || {
        let mut last = 0;
        loop {
            let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
            let field = |name: &str| -> Option<u64> {
                status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
            };
            let Some(peak) = field("VmHWM:") else { return last };
            // A debug build is many times as large as a release build, so the pages that are mapped from the program's
            // own file are not counted for it.
            let own_file = if cfg!(debug_assertions) { field("RssFile:").unwrap_or(0) } else { 0 };
            last = peak.saturating_sub(own_file);
            thread::sleep(Duration::from_millis(2));
        }
    })
}
