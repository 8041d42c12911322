//! The archive format: a written archive can be read back, and any other content is refused with its reason.

use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use tar::{Builder, EntryType, Header};

use crate::archive::{
    ArchiveBounds, ArchiveFolder, ArchiveMember, ArchiveProblem, ArchiveWriter, for_each_stored_file, read_archive,
};
use crate::changes::{create_file, remove_directory};
use crate::retention::{Sizes, survey_runs};
use crate::testing::{TestStore, asker, now, run_id};
use crate::{VerificationScope, is_archived, read_file, read_report, verify_keys, verify_project};
use proctor_model::{ArchiveRecord, Digest, LedgerBody, OverallStatus, PackedRun};

const BOUNDS: ArchiveBounds = ArchiveBounds { files: 8, bytes: 1 << 20 };

type PackedFiles = Vec<(ArchiveMember, Vec<u8>)>;

fn top(name: &str) -> ArchiveMember {
    ArchiveMember { folder: ArchiveFolder::Top, name: name.to_owned() }
}

fn pack(files: &PackedFiles) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("archive");
    let (mut file, run_id) = (create_file(&path).unwrap(), run_id(1));
    let mut writer = ArchiveWriter::begin(&mut file, &path, &run_id).unwrap();
    for (member, content) in files {
        writer.add(member, content.len() as u64, &mut content.as_slice()).unwrap();
    }
    writer.finish().unwrap();
    std::fs::read(&path).unwrap()
}

fn unpack(bytes: &[u8], bounds: ArchiveBounds) -> Result<PackedFiles, ArchiveProblem> {
    let mut files = Vec::new();
    let archived_run = read_archive(bytes, bounds, |member, _, content| {
        let mut read = Vec::new();
        content.read_to_end(&mut read).map_err(ArchiveProblem::Unreadable)?;
        files.push((member.clone(), read));
        Ok(())
    });
    archived_run.map(|archived_run| assert_eq!(archived_run, run_id(1))).map(|()| files)
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Makes an archive from entries of any path and type, as an attacker could.
fn strange(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    for (path, kind, content) in entries {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_cksum();
        tar.append(&header, *content).unwrap();
    }
    compress(&tar.into_inner().unwrap())
}

fn with_path(path: &str) -> Vec<u8> {
    strange(&[(path, EntryType::Regular, b"x")])
}

#[test]
fn what_is_packed_is_read_back_and_the_same_files_make_the_same_bytes() {
    let long = "x".repeat(255);
    let files: PackedFiles = vec![
        (top("SHA256SUMS"), b"sums".to_vec()),
        (top("empty"), Vec::new()),
        (ArchiveMember { folder: ArchiveFolder::Run, name: long }, vec![7; 100_000]),
        (ArchiveMember { folder: ArchiveFolder::Run, name: "ü".to_owned() }, b"1".to_vec()),
    ];
    let packed = pack(&files);
    assert_eq!(unpack(&packed, BOUNDS).unwrap(), files);
    assert_eq!(pack(&files), packed);
}

#[test]
fn tar_of_this_machine_unpacks_it_with_its_modes_and_times() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("a.tar.zst");
    // Some machines have tar but no zstd program, so the archive is decompressed here.
    let plain = zstd::decode_all(pack(&vec![(top("SHA256SUMS"), b"sums".to_vec())]).as_slice()).unwrap();
    std::io::Write::write_all(&mut create_file(&archive).unwrap(), &plain).unwrap();
    #[expect(clippy::disallowed_methods, reason = "the format is for this program")]
    let listed = std::process::Command::new("tar").arg("-tvf").arg(&archive).env("TZ", "UTC").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let expected = format!("-rw------- 0/0               4 1970-01-01 00:00 {}/SHA256SUMS\n", run_id(1));
    assert_eq!(listed, expected);
}

#[test]
fn a_file_that_became_shorter_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("archive");
    let (mut file, run_id) = (create_file(&path).unwrap(), run_id(1));
    let mut writer = ArchiveWriter::begin(&mut file, &path, &run_id).unwrap();
    assert!(writer.add(&top("log"), 5, &mut b"1234".as_slice()).is_err());
}

#[test]
fn a_path_that_leads_anywhere_else_is_refused() {
    let run = run_id(1);
    let elsewhere = [
        "/etc/passwd".to_owned(),
        "../x".to_owned(),
        "x".to_owned(),
        format!("{run}/"),
        format!("{run}/."),
        format!("{run}/.."),
        format!("{run}/.hidden"),
        format!("{run}/../x"),
        format!("{run}/other/x"),
        format!("{run}/run/../x"),
        format!("{run}/run/a/b"),
        format!("/{run}/x"),
        format!("./{run}/x"),
        format!("{run}//x"),
        format!("{run}/a\nb"),
        "no-run/x".to_owned(),
    ];
    for path in &elsewhere {
        assert!(matches!(unpack(&with_path(path), BOUNDS), Err(ArchiveProblem::Path { .. })), "{path:?}");
    }
    let two =
        strange(&[(&format!("{run}/a"), EntryType::Regular, b"x"), (&format!("{}/a", run_id(2)), EntryType::Regular, b"x")]);
    assert!(matches!(unpack(&two, BOUNDS), Err(ArchiveProblem::Path { .. })));
}

#[test]
fn what_is_no_regular_file_is_refused() {
    let path = format!("{}/a", run_id(1));
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Char,
        EntryType::Block,
        EntryType::Directory,
        EntryType::Fifo,
        EntryType::GNUSparse,
        EntryType::GNULongLink,
        EntryType::XHeader,
        EntryType::XGlobalHeader,
        EntryType::Continuous,
    ] {
        let refused = unpack(&strange(&[(&path, kind, b"")]), BOUNDS);
        assert!(matches!(refused, Err(ArchiveProblem::NotAFile { .. })), "{kind:?}");
    }
}

#[test]
fn a_name_twice_too_many_files_too_many_bytes_and_none_at_all_are_refused() {
    let path = |name: usize| format!("{}/f{name}", run_id(1));
    let twice = strange(&[(&path(1), EntryType::Regular, b"x"), (&path(1), EntryType::Regular, b"y")]);
    assert!(matches!(unpack(&twice, BOUNDS), Err(ArchiveProblem::Twice { .. })));
    let paths: Vec<String> = (0..9).map(path).collect();
    let entries: Vec<_> = paths.iter().map(|path| (path.as_str(), EntryType::Regular, b"x".as_slice())).collect();
    assert!(unpack(&strange(&entries[..8]), BOUNDS).is_ok());
    assert!(matches!(unpack(&strange(&entries), BOUNDS), Err(ArchiveProblem::TooMany(8))));
    // An archive of less than 2,000 bytes whose only file unpacks to one byte more than the limit.
    let bomb = strange(&[(&path(1), EntryType::Regular, &vec![0; (1 << 20) + 1])]);
    assert!(bomb.len() < 2_000 && matches!(unpack(&bomb, BOUNDS), Err(ArchiveProblem::TooLarge(_))));
    assert!(matches!(unpack(&strange(&[]), BOUNDS), Err(ArchiveProblem::Empty)));
}

#[test]
fn a_long_name_is_one_path_and_no_more() {
    let (path, long) = (format!("{}/a", run_id(1)), "x".repeat(2000));
    for name in [format!("{path}\0"), format!("../{path}\0"), path.clone(), long.clone() + "\0"] {
        let archive = strange(&[("@", EntryType::GNULongName, name.as_bytes()), ("@", EntryType::Regular, b"x")]);
        assert_eq!(unpack(&archive, BOUNDS).is_ok(), name == format!("{path}\0"), "{name:?}");
    }
    let twice = [("@", EntryType::GNULongName, b"a\0".as_slice()); 2];
    assert!(matches!(unpack(&strange(&twice), BOUNDS), Err(ArchiveProblem::NotAFile { .. })));
    let nothing_behind = strange(&[(&path, EntryType::Regular, b"x"), ("@", EntryType::GNULongName, b"a\0")]);
    assert!(matches!(unpack(&nothing_behind, BOUNDS), Err(ArchiveProblem::Trailing)));
}

#[test]
fn a_cut_archive_and_bytes_behind_its_end_are_refused() {
    let packed = pack(&vec![(top("a"), vec![1; 5000]), (top("b"), b"2".to_vec())]);
    for length in 0..packed.len() {
        assert!(unpack(&packed[..length], BOUNDS).is_err(), "{length} of {}", packed.len());
    }
    let behind = [packed.clone(), b"more".to_vec()].concat();
    assert!(unpack(&behind, BOUNDS).is_err());
    let second_frame = [packed.clone(), packed.clone()].concat();
    assert!(matches!(unpack(&second_frame, BOUNDS), Err(ArchiveProblem::Trailing)));
    let zeros = [packed, compress(&vec![0; 1 << 21])].concat();
    assert!(matches!(unpack(&zeros, BOUNDS), Err(ArchiveProblem::Trailing)));
}

proptest! {
    /// Reading always ends with a result; a changed archive is never read as other content.
    #[test]
    fn a_changed_archive_is_refused_or_is_the_same(at in 0_usize..4000, other in any::<u8>()) {
        let files: PackedFiles = vec![(top("a"), vec![1; 300]), (top("b"), b"2".to_vec())];
        let mut packed = pack(&files);
        let at = at % packed.len();
        packed[at] = other;
        if let Ok(read) = unpack(&packed, BOUNDS) {
            prop_assert_eq!(read, files);
        }
    }

    #[test]
    fn a_tar_of_any_bytes_is_refused_or_read_within_bounds(mut bytes in prop::collection::vec(any::<u8>(), 0..2048)) {
        prop_assert!(unpack(&compress(&bytes), BOUNDS).is_err());
        bytes.splice(0..0, zstd::decode_all(pack(&vec![(top("a"), vec![1; 30])]).as_slice()).unwrap().into_iter().take(1024));
        if let Ok(read) = unpack(&compress(&bytes), BOUNDS) {
            prop_assert!(read.len() <= 8);
        }
    }
}

#[test]
fn paths_begin_with_the_run_id() {
    let packed = pack(&vec![(ArchiveMember { folder: ArchiveFolder::Run, name: "b".to_owned() }, b"1".to_vec())]);
    let tar = zstd::decode_all(packed.as_slice()).unwrap();
    let mut tar = tar::Archive::new(tar.as_slice());
    let entry = tar.entries().unwrap().next().unwrap().unwrap();
    assert_eq!(entry.path().unwrap(), Path::new(run_id(1).as_str()).join("run/b"));
}

/// Returns a store with three runs, of which the first two lie in archives, as an earlier version kept them.
fn store_with_archives() -> TestStore {
    let test = TestStore::new();
    (1..=3).for_each(|number| drop(test.run(number, &["STEP.1-a.log"], OverallStatus::Success)));
    let (_lock, mut ledger, _) = test.open();
    let survey = survey_runs(&test.store, &test.project, Sizes::NotMeasured).unwrap();
    let runs = survey.kept[..2].iter().map(|run| {
        let directory = test.store.run_directory(&test.project, &test.task, &run.run_id);
        let path = test.store.archive_path(&test.project, &test.task, &run.run_id);
        let mut file = create_file(&path).unwrap();
        let mut writer = ArchiveWriter::begin(&mut file, &path, &run.run_id).unwrap();
        let (mut files, mut bytes) = (0, 0);
        for_each_stored_file(&directory, &mut |name, length, content| {
            (files, bytes) = (files + 1, bytes + length);
            writer.add(&top(name), length, content)
        })
        .unwrap();
        writer.finish().unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o400)).unwrap();
        let packed = std::fs::read(&path).unwrap();
        PackedRun {
            run_id: run.run_id.clone(),
            task: run.task.clone(),
            manifest_hash: run.manifest_hash,
            archive_hash: Digest::of(&packed),
            archive_bytes: packed.len() as u64,
            files,
            bytes,
        }
    });
    let runs: Vec<PackedRun> = runs.collect();
    ledger.append(LedgerBody::Archived(ArchiveRecord { runs: runs.clone() }), &asker(), now()).unwrap();
    for run in &runs {
        remove_directory(&test.store.run_directory(&test.project, &run.task, &run.run_id)).unwrap();
    }
    test
}

/// Returns the kinds of faults that concern where runs are kept. The reports of these test runs are one line of text, so faults of
/// reports are left out.
fn faults(test: &TestStore) -> Vec<&'static str> {
    let keys = verify_keys(&test.store).unwrap().ring;
    let checked = verify_project(&test.store, &test.project, &keys, &VerificationScope::Everything, 2).unwrap();
    let about_reports = ["reportUnreadable", "recordUnreadable", "reportDisagrees"];
    checked.faults.iter().map(|fault| fault.kind.word()).filter(|word| !about_reports.contains(word)).collect()
}

#[test]
fn an_archived_run_is_read_as_it_was() {
    let test = store_with_archives();
    assert!(is_archived(&test.store, &test.project, &test.task, &run_id(1)));
    assert!(!is_archived(&test.store, &test.project, &test.task, &run_id(3)));
    assert_eq!(read_report(&test.store, &test.project, &test.task, &run_id(1)).unwrap(), test.report(1));
    let read = |name: &str| read_file(&test.store, &test.project, &test.task, &run_id(1), name).unwrap();
    assert_eq!(read("STEP.1-a.log").as_deref(), Some(b"STEP.1-a.log".as_slice()));
    assert_eq!(read("other.log"), None);
    assert_eq!(faults(&test), [""; 0]);
}

#[test]
fn an_archiving_that_an_earlier_version_did_not_finish_is_named_and_nothing_is_removed() {
    let test = store_with_archives();
    let directory = |number| test.store.run_directory(&test.project, &test.task, &run_id(number));
    let archive = |number| test.store.archive_path(&test.project, &test.task, &run_id(number));
    std::fs::create_dir(directory(1)).unwrap();
    std::fs::copy(archive(2), archive(3)).unwrap();
    std::fs::create_dir_all(test.store.root().join("archiving").join(test.project.as_str())).unwrap();
    let found = faults(&test);
    assert!(found.contains(&"runArchived") && found.contains(&"archiveUnnamed"), "{found:?}");
    drop(test.open());
    assert!(directory(1).is_dir() && archive(1).is_file() && archive(3).is_file() && directory(3).is_dir());
}

#[test]
fn an_archived_run_is_pruned_with_its_archive() {
    let test = store_with_archives();
    let archive = |number| test.store.archive_path(&test.project, &test.task, &run_id(number));
    let (lock, mut ledger, _) = test.open();
    let survey = survey_runs(&test.store, &test.project, Sizes::NotMeasured).unwrap();
    let limits = proctor_model::RetentionLimits { runs: Some(2), ..Default::default() };
    let plan = crate::plan_prune(&survey.kept, &limits, now());
    crate::prune_runs(&lock, &mut ledger, plan, &asker(), now()).unwrap();
    assert!(!archive(1).exists() && archive(2).exists());
    drop((lock, ledger));
    let pruned = faults(&test);
    assert!(!pruned.contains(&"archiveMissing") && !pruned.contains(&"runPruned"), "{pruned:?}");
    std::fs::copy(archive(2), archive(1)).unwrap();
    assert!(faults(&test).contains(&"runPruned"));
    let (lock, _, _) = test.open();
    let survey = survey_runs(&test.store, &test.project, Sizes::NotMeasured).unwrap();
    crate::remove_pruned_leftovers(&lock, &survey.pruned_leftovers).unwrap();
    assert!(!archive(1).exists());
}
