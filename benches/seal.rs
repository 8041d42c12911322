//! Measures the time from the end of a run's last process to the run's commit: `cargo bench --bench seal`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use proctor_evidence::report::AttestedRun;
use proctor_evidence::{Ledger, RunDirectory, SealInput, Store, WaitDecision, publish_latest, recover, seal};
use proctor_model::{Asker, Digest, EvidenceKind, OverallResult, OverallStatus, ProjectId, RunId, RunRecord, TaskId, Timestamp};

const RUNS: u64 = 200;
const FILES: usize = 8;
const FILE_BYTES: usize = 8 * 1024;
const REPORT_BYTES: usize = 60 * 1024;

/// Prints the median of the times that sealing took, and the 95th percentile.
#[expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench measures and prints")]
fn main() {
    // The files must be on a disk. So their directory is beside the build: the usual temporary directory may be in
    // memory, where files are faster.
    let directory = tempfile::tempdir_in(PathBuf::from(env!("CARGO_TARGET_TMPDIR"))).expect("a directory can be made");
    let store = Store::open(directory.path()).expect("a new store opens");
    let project = ProjectId::try_from("bench-00000001").expect("a project id");
    let lock = store.lock(&project, &mut || WaitDecision::GiveUp).expect("the lock is free");
    let mut ledger = Ledger::open(&lock).expect("a new ledger opens");
    let asker = Asker { pid: 1, uid: 0, executable: None, terminal: None };
    let now = Timestamp::from_millis(0);
    recover(&lock, &mut ledger, now, &asker, &|_| unreachable!("nothing is there")).expect("nothing to recover");
    let task = TaskId::default_task();
    let mut sealing = Vec::new();
    let mut publishing = Vec::new();
    for number in 1..=RUNS {
        let run_id = RunId::new(now, number);
        let mut run = RunDirectory::create(&lock, &task, &run_id).expect("a run can be begun");
        run.start_record(&serde_json::json!({})).expect("the start record can be written");
        for file in 0..FILES {
            let name = format!("STEP.{file}-bench.log");
            run.write(&name, &vec![b'x'; FILE_BYTES], EvidenceKind::TerminalOutput, None).expect("a file can be written");
        }
        // Takes the place of a run's processes: in a real run the start record is synced before the last of them ends.
        std::thread::sleep(Duration::from_millis(5));
        let attested = AttestedRun {
            project: project.clone(),
            isolation: None,
            passed: vec!["STEP.1 bench".to_owned()],
            warned: Vec::new(),
            failed: Vec::new(),
            tests: Vec::new(),
        };
        let content = SealInput { report: vec![b'r'; REPORT_BYTES], record: record(&run_id, &task), attested };
        let start = Instant::now();
        seal(run, content, &mut ledger, &asker, now, &|_| {}).expect("the run can be sealed");
        sealing.push(start.elapsed());
        let start = Instant::now();
        publish_latest(&lock, &task, &run_id).expect("the run can be published");
        lock.mark_published();
        publishing.push(start.elapsed());
    }
    for (name, mut times) in [("seal", sealing), ("publish_latest", publishing)] {
        times.sort();
        let (middle, slow) = (times[times.len() / 2], times[times.len() * 95 / 100]);
        println!("{name}: median {:.2} ms, p95 {:.2} ms", middle.as_secs_f64() * 1e3, slow.as_secs_f64() * 1e3);
    }
}

fn record(run_id: &RunId, task: &TaskId) -> RunRecord {
    let time = (Timestamp::from_millis(0), Timestamp::from_millis(0));
    let record = RunRecord::without_verdict(run_id.clone(), task.clone(), Digest::of(b""), OverallStatus::Success, time);
    RunRecord { overall_result: Some(OverallResult::Passed), ..record }
}
