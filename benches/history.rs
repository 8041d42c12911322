//! Measures the index of tests and the commands that read it: `cargo bench --bench history`.
//!
//! It makes a store with 10,000 runs of 1,000 tests (`PROCTOR_BENCH_RUNS` makes it smaller). Among the tests are one that flips on
//! equal trees, one that becomes slower, one that vanishes and one that is renamed. Each must be found by its command. Then the index is
//! removed and made again from the evidence, and every answer must be the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use proctor_api::{MatrixV1, TrendsV1};
use proctor_evidence::report::AttestedRun;
use proctor_evidence::{Ledger, RunDirectory, SealInput, Store, WaitDecision, publish_latest, recover, seal};
use proctor_model::{
    ActionId, Asker, Digest, EvidenceKind, LedgerBody, OverallResult, OverallStatus, ProjectId, RegistrationRecord, RunId,
    RunRecord, TaskId, Timestamp, TreeDigest,
};
use proctor_project::StoreReader;
use serde_json::{Value, json};

const TESTS: u64 = 1000;
const RUNS: u64 = 10_000;
/// Every this many runs are on one tree.
const ON_A_TREE: u64 = 2;
/// The longest time that an answer may take.
const LONGEST: Duration = Duration::from_millis(100);
/// The test that fails in one of two runs on some trees.
const FLAKY: u64 = 10;
/// The test that takes a little longer in every run.
const SLOWING: u64 = 20;
/// The test that the last tenth of the runs do not have.
const VANISHING: u64 = 30;
/// The test that has another name in the second half of the runs.
const RENAMED: u64 = 40;
const RECORD: &str = "STEP.1-test-results.json";
const GOLDEN_REPORT: &str = include_str!("../crates/evidence/src/report/golden/execution-report.json");

/// Everything that a command needs to be started with.
struct Bench {
    root: PathBuf,
    project: PathBuf,
    runs: u64,
}

#[expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench measures and prints")]
fn main() {
    let runs = std::env::var("PROCTOR_BENCH_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    let directory = tempfile::tempdir_in(PathBuf::from(env!("CARGO_TARGET_TMPDIR"))).expect("a directory can be made");
    let project = directory.path().join("project");
    fs::create_dir(&project).expect("the directory is ours");
    let bench = Bench { root: directory.path().to_owned(), project, runs };
    let begun = Instant::now();
    bench.fill();
    println!("a store of {runs} runs of {TESTS} tests: made in {:.1} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    bench.ask(&["history", "flaky", "--json"]);
    let built = begun.elapsed();
    println!(
        "index of tests from the evidence: {:.1} s, {:.2} ms for a run",
        built.as_secs_f64(),
        built.as_secs_f64() * 1e3 / runs as f64
    );
    let size = fs::metadata(bench.root.join("state/proctor/state.db")).map(|file| file.len()).unwrap_or_default();
    println!("state.db: {:.1} MiB", size as f64 / 1024.0 / 1024.0);
    let answers = bench.answers(true);
    bench.check(&answers);
    bench.measure_page();
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let _not_there = fs::remove_file(bench.root.join("state/proctor").join(name));
    }
    bench.ask(&["history", "flaky", "--json"]);
    assert!(answers == bench.answers(false), "the index that was made again gives the same answers");
    println!("removed and made again: the same answers");
}

impl Bench {
    fn commands(&self) -> Vec<Vec<String>> {
        let last = (self.runs + 1).to_string();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        vec![
            words(&["log", "--json"]),
            words(&["log", "--failed", "--json"]),
            words(&["log", "--test", "test_10", "--failed", "--json"]),
            words(&["log", "--since", "1970-01-01", "--json"]),
            words(&["history", "tests/test_a.py::test_20", "--json"]),
            words(&["history", "tests/test_a.py::test_30", "--json"]),
            words(&["history", "flaky", "--json"]),
            words(&["history", "slow", "--json"]),
            words(&["history", "diff", "1", &last, "--json"]),
        ]
    }

    /// Returns the answer of each command. With `measured`, prints how long each took, and fails if one took too long.
    #[expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench measures and prints")]
    fn answers(&self, measured: bool) -> Vec<Value> {
        let mut answers = Vec::new();
        for command in self.commands() {
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            let mut times = Vec::new();
            let mut answer = Value::Null;
            for _ in 0..if measured { 5 } else { 1 } {
                let begun = Instant::now();
                answer = self.ask(&words);
                times.push(begun.elapsed());
            }
            times.sort();
            let middle = times[times.len() / 2];
            if measured {
                println!("proctor {}: median {:.1} ms", words.join(" "), middle.as_secs_f64() * 1e3);
                if middle > LONGEST {
                    println!("  longer than {} ms", LONGEST.as_millis());
                }
            }
            answers.push(answer);
        }
        answers
    }

    /// Measures what the page asks for about many runs, from the opening of the store to the document.
    #[expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench measures and prints")]
    fn measure_page(&self) {
        let project = ProjectId::try_from("bench-00000001").expect("a project id");
        let task = TaskId::default_task();
        let opened = || {
            let mut reader = StoreReader::open(&self.root.join("state/proctor"), BTreeMap::new()).expect("the store opens");
            assert!(reader.knows(&project).expect("the index is read"));
            reader.catch_up_tests(&project).expect("the index is written");
            reader
        };
        let matrix = || {
            let (runs, tests) = opened().test_matrix(&project, &task, (60, 2000)).expect("the index is read");
            assert_eq!((runs.len(), tests[0].test.id.as_str()), (60, test_id(FLAKY, 0, self.runs).as_str()));
            serde_json::to_string(&MatrixV1::new(project.clone(), runs, tests)).expect("it is JSON").len()
        };
        let trends = || {
            let trends = opened().run_trends(&project, None, 200).expect("the index is read");
            assert_eq!(trends.runs.len(), 200.min(usize::try_from(self.runs).expect("a small number")));
            serde_json::to_string(&TrendsV1::new(project.clone(), trends)).expect("it is JSON").len()
        };
        let routes: [(&str, &dyn Fn() -> usize); 2] = [("matrix", &matrix), ("trends", &trends)];
        for (name, route) in routes {
            let mut times: Vec<(Duration, usize)> = (0..5)
                .map(|_| {
                    let begun = Instant::now();
                    let bytes = route();
                    (begun.elapsed(), bytes)
                })
                .collect();
            times.sort();
            let (middle, bytes) = times[times.len() / 2];
            println!("GET …/{name}: median {:.1} ms, {bytes} bytes", middle.as_secs_f64() * 1e3);
            if middle > LONGEST {
                println!("  longer than {} ms", LONGEST.as_millis());
            }
        }
    }

    fn check(&self, answers: &[Value]) {
        let [log, failed, of_test, since, slowing, vanishing, flaky, slow, diff] = answers else {
            panic!("one for each command")
        };
        for list in [log, failed, of_test, since] {
            assert!(list["runs"].as_array().is_some_and(|runs| runs.len() == 20), "{list}");
        }
        assert!(slowing["past"]["typicalDurationUs"].as_u64() > Some(15_000), "{slowing}");
        assert!(vanishing["past"]["runsWithoutIt"].as_u64() > Some(0), "{vanishing}");
        let id = |test: &Value| test["test"]["id"].as_str().unwrap_or_default().to_owned();
        let ids = |list: &Value| list.as_array().map(|tests| tests.iter().map(id).collect::<Vec<_>>()).unwrap_or_default();
        assert_eq!(ids(&flaky["flaky"]), [test_id(FLAKY, 0, self.runs)]);
        assert_eq!(ids(&slow["slow"]["slower"]), [test_id(SLOWING, 0, self.runs)]);
        let renamed = (test_id(RENAMED, 0, self.runs), test_id(RENAMED, self.runs - 1, self.runs));
        let gone = ids(&diff["comparison"]["gone"]);
        assert_eq!(gone, [test_id(VANISHING, 0, self.runs)]);
        assert_eq!(ids(&diff["comparison"]["new"]), [""; 0]);
        assert_eq!(ids(&diff["comparison"]["renamed"]), [renamed.1]);
        assert_eq!(diff["comparison"]["renamed"][0]["formerId"], renamed.0.as_str());
    }

    #[expect(clippy::disallowed_methods, reason = "a bench starts the program")]
    fn ask(&self, words: &[&str]) -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_proctor"))
            .args(words)
            .current_dir(&self.project)
            .env("XDG_STATE_HOME", self.root.join("state"))
            .output()
            .expect("the program starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{words:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(&text).expect("the answer is JSON")
    }

    fn fill(&self) {
        let store = Store::open(&self.root.join("state/proctor")).expect("a new store opens");
        let project = ProjectId::try_from("bench-00000001").expect("a project id");
        let lock = store.lock(&project, &mut || WaitDecision::GiveUp).expect("the lock is free");
        let mut ledger = Ledger::open(&lock).expect("a new ledger opens");
        let asker = Asker { pid: 1, uid: 0, executable: None, terminal: None };
        let now = Timestamp::from_millis(0);
        recover(&lock, &mut ledger, now, &asker, &|_| unreachable!("nothing is there")).expect("nothing to recover");
        ledger.append(registration(&project, &self.project), &asker, now).expect("the line can be written");
        let task = TaskId::default_task();
        for number in 0..self.runs {
            let run_id = RunId::new(Timestamp::from_millis(i64::try_from(number).unwrap_or(0) * 60_000), number + 2);
            let mut run = RunDirectory::create(&lock, &task, &run_id).expect("a run can be begun");
            run.start_record(&json!({})).expect("the start record can be written");
            let record = record_of_tests(&run_id, number, self.runs);
            let failed = record["results"]["numFailedTests"] != json!(0);
            let bytes = serde_json::to_vec(&record).expect("it is JSON");
            let file = run
                .write(RECORD, &bytes, EvidenceKind::TestExecutionLog, Some(&ActionId::numbered("STEP", 1)))
                .expect("a file can be written");
            let report = report(&file, failed);
            let attested = AttestedRun {
                project: project.clone(),
                isolation: None,
                passed: Vec::new(),
                warned: Vec::new(),
                failed: Vec::new(),
                tests: Vec::new(),
            };
            let content = SealInput { report, record: run_record(&run_id, &task, number, failed), attested };
            seal(run, content, &mut ledger, &asker, now, &|_| {}).expect("the run can be sealed");
            publish_latest(&lock, &task, &run_id).expect("the run can be published");
            lock.mark_published();
        }
    }
}

fn registration(project: &ProjectId, path: &Path) -> LedgerBody {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = path.metadata().expect("the project is there");
    LedgerBody::Registered(RegistrationRecord {
        project_id: project.clone(),
        path: path.display().to_string(),
        device: metadata.dev(),
        inode: metadata.ino(),
        git_common_directory: None,
        plan_digest: Digest::of(b"plan"),
        terms: None,
    })
}

/// Returns the id of a test in a run.
fn test_id(test: u64, run: u64, runs: u64) -> String {
    let name = if test == RENAMED && run >= runs / 2 { "renamed".to_owned() } else { test.to_string() };
    format!("tests/test_a.py::test_{name}")
}

fn is_failing(test: u64, run: u64) -> bool {
    // A test that fails on both runs of a tree is broken; the flaky one fails on one of the two.
    (test == FLAKY && run % 20 == 1) || (test == 500 && run / ON_A_TREE % 50 == 7)
}

fn record_of_tests(run_id: &RunId, run: u64, runs: u64) -> Value {
    let is_there = |test: &u64| *test != VANISHING || run < runs - runs / 10;
    let tests: Vec<u64> = (0..TESTS).filter(is_there).collect();
    let one = |test: &u64| {
        let failed = is_failing(*test, run);
        let duration = if *test == SLOWING { 5 + run * 40 / runs } else { (*test * 7 + run * 13) % 6 };
        let mut record = json!({
            "ancestorTitles": ["tests.test_a"],
            "fullName": test_id(*test, run, runs),
            "reportName": format!("tests.test_a.{}", test_id(*test, run, runs)),
            "status": if failed { "failed" } else { "passed" },
            "title": format!("test_{test}"),
            "duration": duration,
            "body": format!("{test:016x}"),
        });
        if failed {
            record["failureMessages"] = json!([format!("E   assert {test} == 0")]);
        }
        record
    };
    let failed = tests.iter().filter(|test| is_failing(**test, run)).count();
    json!({
        "schema": "proctor-test-results-v1",
        "runId": run_id,
        "actionId": "STEP.1",
        "type": "TERMINAL_COMMAND",
        "testFramework": "pytest",
        "execution": {
            "startTime": Timestamp::from_millis(0),
            "endTime": Timestamp::from_millis(1000),
            "duration": 1000,
            "exitCode": i32::from(failed > 0),
            "signal": null,
            "killed": false,
        },
        "coverage": null,
        "authenticity": {
            "capturedBy": "proctor",
            "timestamp": Timestamp::from_millis(1000),
            "outputHash": Digest::of(b"log"),
        },
        "results": {
            "numTotalTests": tests.len(),
            "numPassedTests": tests.len() - failed,
            "numFailedTests": failed,
            "numPendingTests": 0,
            "testResults": tests.iter().map(one).collect::<Vec<_>>(),
        },
    })
}

/// Returns the golden report with one check, which ran the tests.
fn report(record: &impl serde::Serialize, failed: bool) -> Vec<u8> {
    let mut report: Value = serde_json::from_str(GOLDEN_REPORT).expect("it is JSON");
    let mut check = report["stepExecution"]["results"][0].take();
    check["name"] = json!("pytest");
    check["status"] = json!(if failed { "TEST_FAILURE" } else { "SUCCESS" });
    check["blocking"] = json!(failed);
    check["duration"] = json!(1000);
    check["evidenceFiles"] = json!([RECORD]);
    check.as_object_mut().expect("an entry is an object").remove("result");
    report["stepExecution"]["results"] = json!([check]);
    report["executionSummary"]["totalDuration"] = json!(1234);
    report["executionSummary"]["testResults"] =
        json!({ "passed": TESTS, "failed": u64::from(failed), "skipped": 0, "total": TESTS, "passRate": null });
    report["evidenceFiles"] = json!([record]);
    serde_json::to_vec(&report).expect("it is JSON")
}

fn run_record(run_id: &RunId, task: &TaskId, run: u64, failed: bool) -> RunRecord {
    let begun = i64::try_from(run).unwrap_or(0) * 60_000;
    let time = (Timestamp::from_millis(begun), Timestamp::from_millis(begun + 1234));
    let status = if failed { OverallStatus::Failed } else { OverallStatus::Success };
    let record = RunRecord::without_verdict(run_id.clone(), task.clone(), Digest::of(b""), status, time);
    RunRecord {
        overall_result: Some(if failed { OverallResult::Failed } else { OverallResult::Passed }),
        tree_digest: Some(TreeDigest(Digest::of(&(run / ON_A_TREE).to_le_bytes()))),
        ..record
    }
}
