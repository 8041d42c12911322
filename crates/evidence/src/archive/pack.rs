//! Turning run directories into archives. A directory is removed only after its archive was read back and a ledger line
//! names it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::archive::{ArchiveBounds, ArchiveFolder, ArchiveMember, ArchiveProblem, ArchiveWriter, read_archive};
use crate::changes::{
    create_directories, create_file, remove_directory, remove_file, rename_if_free, set_mode, sync_directory, sync_file,
};
use crate::error::failed;
use crate::files::{SizeAndDigest, hash_file, hash_reader, list_directory, open_no_follow};
use crate::manifest::parse_manifest;
use crate::names::{MANIFEST_NAME, archive_name, check_component};
use crate::retention::KeptRun;
use crate::{EvidenceError, FileOperation, Ledger, ProjectLock};
use proctor_model::{ArchiveRecord, Asker, Digest, LedgerBody, LedgerLine, PackedRun, RunId, Timestamp};

/// The most runs that one ledger line names. Directories are removed only after the line is written, so at most this
/// many runs exist twice at the same time, as a directory and as an archive.
const MOST_OF_A_LINE: usize = 32;
const SEALED_MODE: u32 = 0o400;

/// What `archive_runs` did: the runs that became archives, and those that it refused.
#[derive(Debug, Default)]
pub struct ArchiveOutcome {
    /// The ledger lines that name the new archives, each with the ledger's length in bytes after the line. The SQLite
    /// index needs both.
    pub lines: Vec<(u64, LedgerLine)>,
    pub runs: Vec<PackedRun>,
    /// The runs that were not archived, and why.
    pub refused: Vec<(RunId, ArchiveRefusal)>,
}

/// Why a run was not archived.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveRefusal {
    /// The run's directory contains an entry that cannot be put into an archive, for example a directory.
    #[error("`{0}` in its directory is no file that proctor put there")]
    Foreign(String),
    #[error("its files are not those that were sealed ({0})")]
    NotSealed(ArchiveProblem),
    /// Something else already has the path of the run's archive.
    #[error("something else has the name of its archive")]
    Taken,
}

/// Replaces run directories with archives. If the process dies, the next command that archives, prunes or runs finishes
/// or undoes the work.
///
/// A run whose files differ from the sealed ones is not archived, because the archive would hide the difference.
pub fn archive_runs(
    lock: &ProjectLock,
    ledger: &mut Ledger,
    runs: &[KeptRun],
    asker: &Asker,
    now: Timestamp,
) -> Result<ArchiveOutcome, EvidenceError> {
    let mut outcome = ArchiveOutcome::default();
    if runs.is_empty() {
        return Ok(outcome);
    }
    let workplace = lock.store().archiving_directory(lock.project());
    create_directories(&workplace)?;
    // `workplace` is on disk before anything is archived: after a crash it shows that archiving was under way.
    sync_directory(workplace.parent().expect("it lies in the store"))?;
    for part in runs.chunks(MOST_OF_A_LINE) {
        archive_chunk(lock, ledger, part, &mut outcome, asker, now)?;
    }
    remove_directory(&workplace)?;
    Ok(outcome)
}

fn archive_chunk(
    lock: &ProjectLock,
    ledger: &mut Ledger,
    part: &[KeptRun],
    outcome: &mut ArchiveOutcome,
    asker: &Asker,
    now: Timestamp,
) -> Result<(), EvidenceError> {
    let (store, project) = (lock.store(), lock.project());
    let mut packed = Vec::new();
    for run in part {
        match pack_run(lock, run)? {
            Ok(run) => packed.push(run),
            Err(why) => outcome.refused.push((run.run_id.clone(), why)),
        }
    }
    if packed.is_empty() {
        return Ok(());
    }
    let folders: BTreeSet<PathBuf> = packed.iter().map(|run| store.runs_directory(project, &run.task)).collect();
    folders.iter().try_for_each(|folder| sync_directory(folder))?;
    let line = ledger.append(LedgerBody::Archived(ArchiveRecord { runs: packed.clone() }), asker, now)?;
    outcome.lines.push((ledger.length(), line));
    for run in &packed {
        remove_directory(&store.run_directory(project, &run.task, &run.run_id))?;
    }
    outcome.runs.extend(packed);
    Ok(())
}

/// Writes the archive of a run, reads it back, and moves it beside the run's directory.
fn pack_run(lock: &ProjectLock, run: &KeptRun) -> Result<Result<PackedRun, ArchiveRefusal>, EvidenceError> {
    let (store, project) = (lock.store(), lock.project());
    let directory = store.run_directory(project, &run.task, &run.run_id);
    let names = match archivable_names(&directory)? {
        Ok(names) => names,
        Err(why) => return Ok(Err(why)),
    };
    let new = store.archiving_directory(project).join(archive_name(&run.run_id));
    let mut file = create_file(&new)?;
    let contents = write_files(&mut file, &new, &run.run_id, &directory, &names)?;
    set_mode(&file, &new, SEALED_MODE)?;
    sync_file(&file, &new)?;
    if let Err(problem) = check_written_archive(open_no_follow(&new)?, run, contents) {
        remove_file(&new)?;
        return Ok(Err(ArchiveRefusal::NotSealed(problem)));
    }
    let SizeAndDigest { bytes: archive_bytes, sha256: archive_hash } = hash_file(&new)?;
    if !rename_if_free(&new, &store.archive_path(project, &run.task, &run.run_id))? {
        remove_file(&new)?;
        return Ok(Err(ArchiveRefusal::Taken));
    }
    let (run_id, task, manifest_hash) = (run.run_id.clone(), run.task.clone(), run.manifest_hash);
    Ok(Ok(PackedRun { run_id, task, manifest_hash, archive_hash, archive_bytes, files: contents.files, bytes: contents.bytes }))
}

/// Returns the names of the files in a run's directory, sorted, or why an archive cannot hold them.
pub(crate) fn archivable_names(directory: &Path) -> Result<Result<Vec<String>, ArchiveRefusal>, EvidenceError> {
    let mut names = Vec::new();
    for entry in list_directory(directory)? {
        let is_file = entry.file_type().map_err(failed(FileOperation::List, &entry.path()))?.is_file();
        let name = entry.file_name().into_string().ok().filter(|name| is_file && check_component(name).is_ok());
        match name {
            Some(name) => names.push(name),
            None => return Ok(Err(ArchiveRefusal::Foreign(entry.file_name().to_string_lossy().into_owned()))),
        }
    }
    names.sort();
    Ok(Ok(names))
}

/// Writes the files of a run to an archive; returns how many files and bytes it contains.
fn write_files(
    file: &mut File,
    path: &Path,
    run_id: &RunId,
    directory: &Path,
    names: &[String],
) -> Result<ArchiveBounds, EvidenceError> {
    let mut writer = ArchiveWriter::begin(file, path, run_id)?;
    let mut contents = ArchiveBounds { files: 0, bytes: 0 };
    for name in names {
        let from = directory.join(name);
        let mut content = open_no_follow(&from)?;
        let bytes = content.metadata().map_err(failed(FileOperation::Read, &from))?.len();
        writer.add(&ArchiveMember { folder: ArchiveFolder::Top, name: name.clone() }, bytes, &mut content)?;
        contents = ArchiveBounds { files: contents.files + 1, bytes: contents.bytes + bytes };
    }
    writer.finish()?;
    Ok(contents)
}

/// Checks that an archive contains the manifest that was sealed, and exactly the files and digests that this manifest
/// lists.
pub(crate) fn check_written_archive(archive: impl Read, run: &KeptRun, contents: ArchiveBounds) -> Result<(), ArchiveProblem> {
    let (mut digests, mut manifest) = (BTreeMap::new(), Vec::new());
    let archived_run = read_archive(archive, contents, |member, _, content| {
        if member.name == MANIFEST_NAME {
            content.read_to_end(&mut manifest).map_err(ArchiveProblem::Unreadable)?;
        } else {
            let hashed = hash_reader(content).map_err(ArchiveProblem::Unreadable)?;
            digests.insert(member.name.clone().into_bytes(), hashed.sha256);
        }
        Ok(())
    })?;
    let is_sealed = archived_run == run.run_id && Digest::of(&manifest) == run.manifest_hash;
    if is_sealed && parse_manifest(&manifest) == Some(digests) { Ok(()) } else { Err(ArchiveProblem::NotTheManifest) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::archive::{ArchiveRequest, finish_archiving, is_archived, plan_archive};
    use crate::retention::{Sizes, survey_runs};
    use crate::testing::{TestStore, asker, mode, now, put, run_id};
    use crate::{VerificationScope, read_file, read_report, verify_keys, verify_project};
    use proctor_model::OverallStatus;

    const ALL: ArchiveRequest = ArchiveRequest::Old { days: 0, task: None };

    fn store_with_runs(count: u64) -> TestStore {
        let test = TestStore::new();
        (1..=count).for_each(|number| drop(test.run(number, &["STEP.1-a.log"], OverallStatus::Success)));
        test
    }

    fn archive(test: &TestStore) -> ArchiveOutcome {
        let (lock, mut ledger, _) = test.open();
        let survey = survey_runs(&test.store, &test.project, Sizes::NotMeasured).unwrap();
        let plan = plan_archive(&survey.kept, &ALL, now());
        archive_runs(&lock, &mut ledger, &plan.runs, &asker(), now()).unwrap()
    }

    fn directory(test: &TestStore, number: u64) -> PathBuf {
        test.store.run_directory(&test.project, &test.task, &run_id(number))
    }

    fn archive_of(test: &TestStore, number: u64) -> PathBuf {
        test.store.archive_path(&test.project, &test.task, &run_id(number))
    }

    /// Returns the kinds of faults that concern where runs are kept. The reports of these test runs are one line of
    /// text, so faults of reports are left out.
    fn faults(test: &TestStore) -> Vec<&'static str> {
        let keys = verify_keys(&test.store).unwrap().ring;
        let checked = verify_project(&test.store, &test.project, &keys, &VerificationScope::Everything, 2).unwrap();
        let about_reports = ["reportUnreadable", "recordUnreadable", "reportDisagrees"];
        checked.faults.iter().map(|fault| fault.kind.word()).filter(|word| !about_reports.contains(word)).collect()
    }

    #[test]
    fn a_run_becomes_one_file_that_is_read_as_it_was() {
        let test = store_with_runs(3);
        let before = faults(&test);
        let outcome = archive(&test);
        assert_eq!(outcome.runs.iter().map(|run| run.run_id.number()).collect::<Vec<_>>(), [1, 2]);
        assert!(outcome.refused.is_empty());
        assert!(!directory(&test, 1).exists() && directory(&test, 3).is_dir());
        assert_eq!(mode(&archive_of(&test, 1)), 0o400);
        assert!(!test.store.archiving_directory(&test.project).exists());
        assert!(is_archived(&test.store, &test.project, &test.task, &run_id(1)));
        assert_eq!(read_report(&test.store, &test.project, &test.task, &run_id(1)).unwrap(), test.report(1));
        let read = |name: &str| read_file(&test.store, &test.project, &test.task, &run_id(1), name).unwrap();
        assert_eq!(read("STEP.1-a.log").as_deref(), Some(b"STEP.1-a.log".as_slice()));
        assert_eq!(read("other.log"), None);
        assert_eq!(faults(&test), before);
        assert!(archive(&test).runs.is_empty(), "the second time there is nothing to do");
        let survey = survey_runs(&test.store, &test.project, Sizes::Measured).unwrap();
        assert_eq!(survey.kept[0].bytes, outcome.runs[0].archive_bytes);
    }

    #[test]
    fn runs_that_differ_from_what_was_sealed_are_not_archived() {
        let test = store_with_runs(6);
        put(&directory(&test, 1).join("added"), b"x");
        std::fs::remove_file(directory(&test, 2).join("STEP.1-a.log")).unwrap();
        let log = directory(&test, 3).join("STEP.1-a.log");
        std::fs::remove_file(&log).unwrap();
        put(&log, b"STEP.1-b.log");
        symlink("run.json", directory(&test, 4).join("link")).unwrap();
        put(&archive_of(&test, 5), b"x");
        let outcome = archive(&test);
        assert!(outcome.runs.is_empty() && outcome.lines.is_empty());
        let why: Vec<String> = outcome.refused.iter().map(|(run_id, why)| format!("{} {why}", run_id.number())).collect();
        let differs = "its files are not those that were sealed (it does not hold what the manifest of the run says)";
        let expected = [
            format!("1 {differs}"),
            format!("2 {differs}"),
            format!("3 {differs}"),
            "4 `link` in its directory is no file that proctor put there".to_owned(),
            "5 something else has the name of its archive".to_owned(),
        ];
        assert_eq!(why, expected);
        (1..=6).for_each(|number| assert!(directory(&test, number).is_dir()));
        assert_eq!(std::fs::read(archive_of(&test, 5)).unwrap(), b"x");
    }

    #[test]
    fn interrupted_archiving_is_finished_or_undone_and_nothing_that_differs_is_removed() {
        let test = store_with_runs(5);
        let copies: Vec<_> = (1..=4)
            .map(|number| {
                let files = archivable_names(&directory(&test, number)).unwrap().unwrap().into_iter();
                files.map(|name| (name.clone(), std::fs::read(directory(&test, number).join(name)).unwrap())).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(archive(&test).runs.len(), 4);
        // Runs 1 and 2 get their directories back, and the archive of run 2 is replaced by another one. Run 3 gets back
        // a part of its directory.
        for number in [1, 2, 3] {
            std::fs::create_dir(directory(&test, number)).unwrap();
            let part = if number == 3 { 1 } else { usize::MAX };
            copies[number as usize - 1]
                .iter()
                .take(part)
                .for_each(|(name, bytes)| put(&directory(&test, number).join(name), bytes));
        }
        std::fs::remove_file(archive_of(&test, 2)).unwrap();
        std::fs::copy(archive_of(&test, 4), archive_of(&test, 2)).unwrap();
        // Run 5 has an archive that no ledger line names. Below, the directory in which archives are written exists as
        // well.
        std::fs::copy(archive_of(&test, 4), archive_of(&test, 5)).unwrap();
        let found = faults(&test);
        for kind in ["runArchived", "archiveChanged", "archiveUnreadable", "archiveUnnamed"] {
            assert!(found.contains(&kind), "{kind}: {found:?}");
        }
        put(&test.store.archiving_directory(&test.project).join("half.tar.zst"), b"half");
        let found = faults(&test);
        assert!(!found.contains(&"runArchived") && !found.contains(&"archiveUnnamed"), "unfinished is no fault: {found:?}");
        // The next process that opens the project recovers it, which finishes the archiving.
        let (lock, _, _) = test.open();
        assert!(!directory(&test, 1).exists() && !directory(&test, 3).exists());
        assert!(directory(&test, 2).is_dir(), "its archive is not what the ledger names");
        assert!(!archive_of(&test, 5).exists() && directory(&test, 5).is_dir());
        assert!(!test.store.archiving_directory(&test.project).exists());
        assert_eq!(finish_archiving(&lock).unwrap(), 0);
    }

    #[test]
    fn an_archive_beside_a_directory_that_differs_from_the_ledger_is_not_removed() {
        let test = store_with_runs(2);
        std::fs::remove_file(directory(&test, 1).join(MANIFEST_NAME)).unwrap();
        put(&directory(&test, 1).join(MANIFEST_NAME), b"");
        put(&archive_of(&test, 1), b"perhaps the last good copy");
        let (lock, _, _) = test.open();
        assert_eq!(finish_archiving(&lock).unwrap(), 0);
        assert!(archive_of(&test, 1).exists());
    }

    #[test]
    fn an_archived_run_is_pruned_with_its_archive() {
        let test = store_with_runs(3);
        archive(&test);
        let (lock, mut ledger, _) = test.open();
        let survey = survey_runs(&test.store, &test.project, Sizes::NotMeasured).unwrap();
        let limits = proctor_model::RetentionLimits { runs: Some(2), ..Default::default() };
        let plan = crate::plan_prune(&survey.kept, &limits, now());
        crate::prune_runs(&lock, &mut ledger, plan, &asker(), now()).unwrap();
        assert!(!archive_of(&test, 1).exists() && archive_of(&test, 2).exists());
        drop((lock, ledger));
        let pruned = faults(&test);
        assert!(!pruned.contains(&"archiveMissing") && !pruned.contains(&"runPruned"), "{pruned:?}");
        std::fs::copy(archive_of(&test, 2), archive_of(&test, 1)).unwrap();
        assert!(faults(&test).contains(&"runPruned"));
        let (lock, _, _) = test.open();
        let survey = survey_runs(&test.store, &test.project, Sizes::NotMeasured).unwrap();
        crate::remove_pruned_leftovers(&lock, &survey.pruned_leftovers).unwrap();
        assert!(!archive_of(&test, 1).exists());
    }
}
