//! Fills a store with many runs, for tests and benchmarks that read all of them: one real run, and copies of it with different files, which
//! are sealed by the code that seals every run. The index is updated with them when it is used the next time.

use std::path::Path;

use proctor_evidence::report::{ExecutionReportV2, RunStartDetailsV1, attested, parse, parse_run_start, seal_hash, to_bytes};
use proctor_evidence::{
    Ledger, RunDirectory, START_RECORD_NAME, SealInput, Store, WaitDecision, list_projects, publish_latest, read_file,
    read_lines, read_report, recover, seal,
};
use proctor_model::{Asker, EvidenceFile, LedgerBody, ProjectId, RunId, RunRecord};

/// The ending of the name of the file whose size is chosen.
const LOG: &str = ".log";

/// The real run that is copied.
struct Model {
    project: ProjectId,
    record: RunRecord,
    report: ExecutionReportV2,
    start: RunStartDetailsV1,
    files: Vec<(EvidenceFile, Vec<u8>)>,
    asker: Asker,
}

impl Model {
    fn read(store: &Store) -> Self {
        let project = list_projects(store).expect("the store can be read").pop().expect("a project was run");
        let lines = read_lines(store, &project, 0).expect("it has a ledger").map(|line| line.expect("a sound line").1);
        let mut runs =
            lines.filter_map(|line| if let LedgerBody::Run(record) = line.body { Some((*record, line.asker)) } else { None });
        let (record, asker) = runs.next().expect("a run was sealed");
        let (task, run_id) = (&record.task, &record.run_id);
        let read =
            |name: &str| read_file(store, &project, task, run_id, name).expect("it can be read").expect("it was sealed with it");
        let report = parse(&read_report(store, &project, task, run_id).expect("it has a report")).expect("a report of ours");
        let start = parse_run_start(&read(START_RECORD_NAME)).expect("a record of ours").details;
        let files = report.evidence_files.iter().map(|file| (file.clone(), read(&file.name))).collect();
        Self { project, record, report, start, files, asker }
    }
}

/// Seals `runs` copies of the first run of a store's only project. Each copy has a log of `log_bytes` bytes.
pub(crate) fn seal_many_runs(state: &Path, runs: u64, log_bytes: usize) {
    let store = Store::open(state).expect("a store that is there");
    let model = Model::read(&store);
    let lock = store.lock(&model.project, &mut || WaitDecision::GiveUp).expect("nothing goes on");
    let mut ledger = Ledger::open(&lock).expect("a sound ledger");
    let now = model.record.ended;
    recover(&lock, &mut ledger, now, &model.asker, &|_| unreachable!("nothing was left")).expect("nothing to recover");
    for number in 0..runs {
        let run_id = RunId::new(now, ledger.next_sequence().0);
        let mut run = RunDirectory::create(&lock, &model.record.task, &run_id).expect("the disk has room");
        run.start_record(&model.start).expect("the disk has room");
        run.begin_sync();
        let mut report = model.report.clone();
        report.evidence_files.clear();
        for (file, bytes) in &model.files {
            // The number makes every log different.
            let log = || format!("{number:020}\n").into_bytes().repeat(log_bytes.div_ceil(21));
            let bytes = if file.name.ends_with(LOG) { log() } else { bytes.clone() };
            let written = run.write(&file.name, &bytes, file.kind, None).expect("the disk has room");
            report.evidence_files.push(EvidenceFile { action_id: file.action_id.clone(), ..written });
        }
        report.authenticity.execution_id = run_id.clone();
        let report = seal_hash(report);
        let report_hash = report.authenticity.report_hash.expect("it was just set");
        let record = RunRecord { run_id: run_id.clone(), report_hash, ..model.record.clone() };
        let sealing = SealInput { report: to_bytes(&report), record, attested: attested(&report) };
        seal(run, sealing, &mut ledger, &model.asker, now, &|_| {}).expect("the disk has room");
        if number + 1 == runs {
            publish_latest(&lock, &model.record.task, &run_id).expect("the disk has room");
        }
        lock.mark_published();
    }
}
