//! Runs that a dead process left, sealed by the next holder of the lock.

use std::os::unix::fs::symlink;

use crate::recovery::{recover, rename_half_written};
use crate::testing::{TestStore, asker, now, put, report_interrupted, run_id};
use crate::{EvidenceError, Ledger, OutputDirectory, RunDirectory, START_RECORD_NAME, publish_latest, read_file, read_report};
use proctor_model::{ActionId, EvidenceKind, LedgerBody, OverallStatus, SupersededRecord, TaskId, TreeDigest};

/// Empties the lock file, so that recovery knows nothing, as after a reboot.
fn forget_lock(test: &TestStore) {
    put(&test.store.lock_path(&test.project), b"");
}

#[test]
fn an_unsealed_run_keeps_its_files_and_its_report_lists_them() {
    let test = TestStore::new();
    let mut run = test.begin(1);
    run.start_record(&serde_json::json!({"trigger": "save"})).unwrap();
    run.write("STEP.1-a.log", b"half", EvidenceKind::TerminalOutput, None).unwrap();
    drop(run);
    let lock = test.lock();
    let mut ledger = Ledger::open(&lock).unwrap();
    let seen = std::cell::RefCell::new(None);
    let recovered = recover(&lock, &mut ledger, now(), &asker(), &|interrupted| {
        seen.replace(Some(interrupted.clone()));
        report_interrupted(interrupted)
    });
    assert_eq!(recovered.unwrap(), [run_id(1)]);
    let interrupted = seen.into_inner().unwrap();
    assert!(String::from_utf8(interrupted.start_record.unwrap()).unwrap().contains("save"));
    let names: Vec<_> = interrupted.files.iter().map(|file| (file.name.as_str(), file.content.bytes)).collect();
    assert_eq!(names[0], ("STEP.1-a.log", 4));
    assert_eq!(names[1].0, "run.json");
    assert_eq!(ledger.next_sequence().0, 2);
}

#[test]
fn a_run_that_died_before_its_start_record_leaves_nothing() {
    let test = TestStore::new();
    let run = test.begin(1);
    let directory = run.path().to_owned();
    drop(run);
    let (_lock, ledger, interrupted) = test.open();
    assert_eq!((interrupted, ledger.next_sequence().0), (vec![], 1));
    assert!(!directory.exists());
}

/// Found by the simulator: verification took the directory of the task for a foreign one.
#[test]
fn a_task_whose_first_run_died_before_anything_was_written_leaves_no_directory() {
    for forgets in [false, true] {
        let test = TestStore::new();
        let run = test.begin(1);
        std::fs::remove_dir(run.path()).unwrap();
        drop(run);
        if forgets {
            forget_lock(&test);
        }
        test.open();
        assert!(!test.store.task_directory(&test.project, &test.task).exists(), "{forgets}");
        test.run(2, &["a"], OverallStatus::Success);
    }
}

#[test]
fn after_a_boot_all_runs_are_compared_with_the_ledger() {
    let test = TestStore::new();
    test.run(1, &["a"], OverallStatus::Success);
    let other = TaskId::try_from("T030").unwrap();
    for (task, number) in [(&other, 2), (&test.task, 3)] {
        let directory = test.store.run_directory(&test.project, task, &run_id(number));
        put(&directory.join("run.json"), b"{}");
    }
    assert_eq!(test.open().2, [], "the lock file says that nothing is open");
    forget_lock(&test);
    assert_eq!(test.open().2, [run_id(2), run_id(3)]);
    assert_eq!(test.open().2, []);
    forget_lock(&test);
    assert_eq!(test.open().2, []);
    let record = read_file(&test.store, &test.project, &other, &run_id(2), START_RECORD_NAME).unwrap();
    assert_eq!(record.as_deref(), Some(&b"{}"[..]));
}

#[test]
fn latest_is_linked_again_to_the_last_run_that_counts() {
    let test = TestStore::new();
    test.run(1, &[], OverallStatus::Success);
    publish_latest(&test.lock(), &test.task, &run_id(1)).unwrap();
    test.run(2, &[], OverallStatus::Failed);
    let latest = test.store.task_directory(&test.project, &test.task).join("latest/execution-report.json");
    // The lock file still names the run, as if the process had died between commit and link.
    test.open();
    assert_eq!(std::fs::read(&latest).unwrap(), test.report(2));
    test.run(3, &[], OverallStatus::Moved);
    test.open();
    assert_eq!(std::fs::read(&latest).unwrap(), test.report(2));
    // The link to run 2 is undone, as if by a power loss. The lock file does not show this, so recovery links nothing
    // until the lock file's record is from another boot.
    publish_latest(&test.lock(), &test.task, &run_id(1)).unwrap();
    test.open();
    assert_eq!(std::fs::read(&latest).unwrap(), test.report(1));
    forget_lock(&test);
    test.open();
    assert_eq!(std::fs::read(&latest).unwrap(), test.report(2));
}

#[test]
fn the_directory_of_a_superseded_run_is_removed_if_it_outlived_its_line() {
    let test = TestStore::new();
    let run = test.begin(1);
    let directory = run.path().to_owned();
    put(&directory.join("run.json"), b"{}");
    let body = LedgerBody::Superseded(SupersededRecord {
        run_id: run_id(1),
        task: test.task.clone(),
        tree_digest: TreeDigest(proctor_model::Digest::of(b"")),
        prerequisites: std::collections::BTreeMap::new(),
        programs: None,
        left_in_environment: Default::default(),
        started: now(),
    });
    Ledger::open(&run.lock.clone()).unwrap().append(body, &asker(), now()).unwrap();
    drop(run);
    assert_eq!(test.open().2, []);
    assert!(!directory.exists());
}

#[test]
fn recovery_that_was_interrupted_is_repeated_without_losing_files() {
    let test = TestStore::new();
    let run = test.begin(1);
    let directory = run.path().to_owned();
    put(&directory.join("execution-report.json"), b"first");
    put(&directory.join(".temporary"), b"t");
    rename_half_written(&directory).unwrap();
    put(&directory.join("execution-report.json"), b"second");
    put(&directory.join("SHA256SUMS"), b"half");
    symlink("/nowhere", directory.join("foreign")).unwrap();
    drop(run);
    assert_eq!(test.open().2, [run_id(1)]);
    let read = |name: &str| std::fs::read(directory.join(name)).unwrap();
    assert_eq!(read("recovered-execution-report.json"), b"first");
    assert_eq!(read("recovered-2-execution-report.json"), b"second");
    assert_eq!(read("recovered-SHA256SUMS"), b"half");
    assert_eq!(read("recovered-temporary"), b"t");
    let report = read_report(&test.store, &test.project, &test.task, &run_id(1)).unwrap();
    assert!(report.starts_with(b"interrupted"));
}

#[test]
fn leftovers_of_dead_actions_are_removed_and_a_live_run_is_safe() {
    let test = TestStore::new();
    let (lock, mut ledger, _) = test.open();
    let run = RunDirectory::create(&lock, &test.task, &run_id(1)).unwrap();
    let output = OutputDirectory::create(&lock, &run_id(1), &ActionId::numbered("STEP", 1)).unwrap();
    let refused = recover(&lock, &mut ledger, now(), &asker(), &report_interrupted);
    assert!(matches!(refused, Err(EvidenceError::RunIsOpen { .. })));
    assert!(output.path().exists());
    drop(run);
    recover(&lock, &mut ledger, now(), &asker(), &report_interrupted).unwrap();
    assert!(!output.path().exists());
}
