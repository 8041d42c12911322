//! Sealing, step by step, and dying at each step.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::testing::{TestStore, asker, mode, now, run_id};
use crate::{DurableStep, EvidenceError, Ledger, OutputDirectory, RunDirectory, drop_superseded, list_runs, read_lines, seal};
use proctor_model::{ActionId, Digest, EvidenceKind, LedgerBody, OverallStatus, SupersededRecord, TreeDigest};

#[expect(clippy::disallowed_methods, reason = "the independent check: coreutils verifies what we wrote")]
fn sha256sum_verifies(directory: &Path) -> bool {
    let output = std::process::Command::new("sha256sum")
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(directory)
        .output()
        .expect("coreutils is installed");
    output.status.success()
}

#[test]
fn a_sealed_run_is_verified_by_coreutils_and_read_only() {
    let test = TestStore::new();
    let sealed = test.run(1, &["STEP.1-a.log", "STEP.2 b.log", "back\\slash"], OverallStatus::Success);
    assert!(sha256sum_verifies(&sealed.directory));
    let manifest = std::fs::read_to_string(sealed.directory.join("SHA256SUMS")).unwrap();
    assert_eq!(manifest.lines().count(), 7, "{manifest}");
    for entry in std::fs::read_dir(&sealed.directory).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o400);
    }
    let LedgerBody::Run(run) = &sealed.line.body else { panic!("{:?}", sealed.line.body) };
    assert_eq!(run.manifest_hash, Digest::of(manifest.as_bytes()));
    std::fs::remove_file(sealed.directory.join("STEP.1-a.log")).unwrap();
    crate::testing::put(&sealed.directory.join("STEP.1-a.log"), b"forged");
    assert!(!sha256sum_verifies(&sealed.directory));
}

#[test]
fn files_before_and_after_an_early_sync_are_all_sealed() {
    let test = TestStore::new();
    let mut run = test.begin(1);
    run.start_record(&serde_json::json!({})).unwrap();
    run.write("STEP.1-a.log", b"early", EvidenceKind::TerminalOutput, None).unwrap();
    run.begin_sync();
    run.write("STEP.2-b.log", b"late", EvidenceKind::TerminalOutput, None).unwrap();
    let mut ledger = Ledger::open(&run.lock.clone()).unwrap();
    let sealed = seal(run, test.sealing(1, OverallStatus::Success), &mut ledger, &asker(), now(), &|_| {}).unwrap();
    assert!(sha256sum_verifies(&sealed.directory));
    for name in ["run.json", "STEP.1-a.log", "STEP.2-b.log", "execution-report.json", "SHA256SUMS"] {
        assert_eq!(mode(&sealed.directory.join(name)), 0o400, "{name}");
    }
}

#[test]
fn steps_are_observed_in_the_durable_order() {
    let test = TestStore::new();
    let seen = RefCell::new(Vec::new());
    test.run_observed(1, &["a"], OverallStatus::Success, &|step| seen.borrow_mut().push(step));
    assert_eq!(seen.into_inner(), DurableStep::ALL[1..8]);
    let names: BTreeSet<_> = DurableStep::ALL.iter().map(|step| step.name()).collect();
    assert_eq!(names.len(), DurableStep::ALL.len(), "every step has a name of its own");
}

#[test]
fn dying_at_any_step_leaves_either_the_run_or_an_interrupted_one() {
    for dies_at in &DurableStep::ALL[1..8] {
        let test = TestStore::new();
        test.run(1, &["a"], OverallStatus::Success);
        let died = catch_unwind(AssertUnwindSafe(|| {
            test.run_observed(2, &["a", "b"], OverallStatus::Success, &|step| assert_ne!(step, *dies_at, "dies here"));
        }));
        assert!(died.is_err());
        let is_committed = *dies_at == DurableStep::LedgerCommitted;
        let (lock, ledger, interrupted) = test.open();
        assert_eq!(interrupted, if is_committed { vec![] } else { vec![run_id(2)] }, "{dies_at:?}");
        let latest = test.store.task_directory(&test.project, &test.task).join("latest");
        let points_to = if is_committed { run_id(2) } else { run_id(1) };
        assert_eq!(std::fs::read_link(latest).unwrap(), Path::new("runs").join(points_to.as_str()), "{dies_at:?}");
        drop((lock, ledger));
        let directory = test.store.run_directory(&test.project, &test.task, &run_id(2));
        assert!(sha256sum_verifies(&directory), "{dies_at:?}");
        let report = std::fs::read_to_string(directory.join("execution-report.json")).unwrap();
        assert_eq!(report.starts_with("interrupted"), !is_committed);
        let has_recovered = directory.join("recovered-execution-report.json").exists();
        assert_eq!(has_recovered, !is_committed && *dies_at >= DurableStep::ReportWritten, "{dies_at:?}");
        test.run(3, &["a"], OverallStatus::Success);
        let statuses: Vec<_> =
            read_lines(&test.store, &test.project, 0).unwrap().map(|line| line.unwrap().1.sequence.0).collect();
        assert_eq!(statuses, [1, 2, 3], "{dies_at:?}");
        assert_eq!(test.open().2, []);
    }
}

#[test]
fn every_file_is_in_the_manifest_and_an_adopted_one_must_exist() {
    let test = TestStore::new();
    let mut run = test.begin(1);
    run.create_file("STEP.1-a.frames").unwrap();
    run.write("STEP.1-a.log", b"x", EvidenceKind::TerminalOutput, None).unwrap();
    let directory = run.path().to_owned();
    let mut ledger = Ledger::open(&run.lock.clone()).unwrap();
    let sealed = seal(run, test.sealing(1, OverallStatus::Success), &mut ledger, &asker(), now(), &|_| {}).unwrap();
    assert!(sha256sum_verifies(&sealed.directory));
    assert!(std::fs::read_to_string(directory.join("SHA256SUMS")).unwrap().contains("STEP.1-a.frames"));
    drop(ledger);
    let mut run = test.begin(2);
    run.start_record(&serde_json::json!({})).unwrap();
    run.write("STEP.1-a.log", b"x", EvidenceKind::TerminalOutput, None).unwrap();
    std::fs::remove_file(run.path().join("STEP.1-a.log")).unwrap();
    let mut ledger = Ledger::open(&run.lock.clone()).unwrap();
    assert!(seal(run, test.sealing(2, OverallStatus::Success), &mut ledger, &asker(), now(), &|_| {}).is_err());
    drop(ledger);
    assert_eq!(test.open().2, [run_id(2)]);
}

#[test]
fn a_directory_inside_a_run_keeps_it_from_being_sealed_but_not_from_being_recovered() {
    let test = TestStore::new();
    let run = test.begin(1);
    std::fs::create_dir(run.path().join("planted")).unwrap();
    let mut ledger = Ledger::open(&run.lock.clone()).unwrap();
    let refused = seal(run, test.sealing(1, OverallStatus::Success), &mut ledger, &asker(), now(), &|_| {});
    assert!(matches!(refused, Err(EvidenceError::Foreign { .. })));
    drop(ledger);
    assert_eq!(test.open().2, [run_id(1)]);
}

#[test]
fn a_superseded_run_is_one_line_and_no_directory() {
    let test = TestStore::new();
    let (lock, mut ledger, _) = test.open();
    let mut run = RunDirectory::create(&lock, &test.task, &run_id(1)).unwrap();
    run.start_record(&serde_json::json!({})).unwrap();
    OutputDirectory::create(&lock, &run_id(1), &ActionId::numbered("STEP", 1)).unwrap();
    let record = SupersededRecord {
        run_id: run_id(1),
        task: test.task.clone(),
        tree_digest: TreeDigest(Digest::of(b"")),
        prerequisites: std::collections::BTreeMap::new(),
        programs: None,
        left_in_environment: Default::default(),
        started: now(),
    };
    let (line, offset) = drop_superseded(run, record, &mut ledger, &asker(), now()).unwrap();
    assert_eq!((line.sequence.0, offset), (1, ledger.length()));
    assert!(list_runs(&test.store, &test.project, None).unwrap().is_empty());
    drop((lock, ledger));
    test.run(2, &[], OverallStatus::Success);
}
