//! Listing archives, and reading a file of a run from its directory or its archive.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::archive::{ArchiveBounds, ArchiveFolder, ArchiveProblem, read_archive};
use crate::error::failed;
use crate::files::{SizeAndDigest, hash_reader, if_exists, list_directory, open_no_follow, read_chunks};
use crate::names::{ARCHIVE_SUFFIX, check_component, run_from_archive_name};
use crate::{EvidenceError, FileOperation, Store, list_tasks};
use proctor_model::{ProjectId, RunId, TaskId};

/// A file named like an archive in the directory of a task's runs. Only the ledger says whether proctor wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredArchive {
    pub(crate) task: TaskId,
    pub(crate) run_id: RunId,
    pub(crate) path: PathBuf,
}

/// Lists the archives of a project, sorted by task and run. Entries that are not named like an archive are skipped.
pub(crate) fn list_archives(store: &Store, project: &ProjectId) -> Result<Vec<StoredArchive>, EvidenceError> {
    let mut archives = Vec::new();
    for task in list_tasks(store, project)? {
        for entry in list_directory(&store.runs_directory(project, &task))? {
            let run_id = entry.file_name().to_str().and_then(run_from_archive_name);
            archives.extend(run_id.map(|run_id| StoredArchive { task: task.clone(), run_id, path: entry.path() }));
        }
    }
    archives.sort_by(|one, other| (&one.task, &one.run_id).cmp(&(&other.task, &other.run_id)));
    Ok(archives)
}

/// Returns whether a run has an archive and no directory.
pub fn is_archived(store: &Store, project: &ProjectId, task: &TaskId, run_id: &RunId) -> bool {
    !store.run_directory(project, task, run_id).is_dir() && store.archive_path(project, task, run_id).is_file()
}

/// Reads a file of a run from the run's directory or, if the directory does not have the file, from the run's archive.
pub(crate) fn read_stored_file(directory: &Path, name: &str) -> Result<Vec<u8>, EvidenceError> {
    let mut bytes = Vec::new();
    with_file(directory, name, &mut |content| content.read_to_end(&mut bytes).map(drop))?;
    Ok(bytes)
}

/// Computes size and digest of a file of a run, from its directory or its archive.
pub(crate) fn hash_stored_file(directory: &Path, name: &str) -> Result<SizeAndDigest, EvidenceError> {
    let mut found = None;
    with_file(directory, name, &mut |content| hash_reader(content).map(|hashed| found = Some(hashed)))?;
    Ok(found.expect("a file that is there was hashed"))
}

/// Passes the bytes of a file of a run to `take` chunk by chunk, from its directory or its archive.
pub(crate) fn stream_stored_file(directory: &Path, name: &str, take: &mut dyn FnMut(&[u8])) -> Result<(), EvidenceError> {
    with_file(directory, name, &mut |content| read_chunks(content, take))
}

/// A function that is called with a file's name, its size in bytes, and a reader of its content.
type VisitFile<'a> = &'a mut dyn FnMut(&str, u64, &mut dyn Read) -> Result<(), EvidenceError>;
type ReadContent<'a> = &'a mut dyn FnMut(&mut dyn Read) -> io::Result<()>;

fn with_file(directory: &Path, name: &str, visit: ReadContent<'_>) -> Result<(), EvidenceError> {
    let path = directory.join(name);
    if let Some(mut file) = if_exists(open_no_follow(&path))? {
        return visit(&mut file).map_err(failed(FileOperation::Read, &path));
    }
    let archive = archive_beside(directory);
    let absent = || failed(FileOperation::Open, &path)(io::Error::from(io::ErrorKind::NotFound));
    let Some(file) = if_exists(open_no_follow(&archive))? else { return Err(absent()) };
    let mut is_seen = false;
    // The archive is trusted as little as a file in a directory would be: `verification` compares either with the
    // ledger.
    let read = read_archive(file, ArchiveBounds::UNTRUSTED, |member, _, content| {
        if member.folder == ArchiveFolder::Top && member.name == name {
            is_seen = true;
            visit(content).map_err(ArchiveProblem::Unreadable)?;
        }
        Ok(())
    });
    read.map_err(|problem| EvidenceError::Archive { path: archive, problem })?;
    if is_seen { Ok(()) } else { Err(absent()) }
}

/// Passes every file of a run with its size in bytes to `visit`, from its directory or its archive.
///
/// # Errors
/// When the run cannot be read, or its directory contains an entry that is not a regular file.
pub(crate) fn for_each_stored_file(directory: &Path, visit: VisitFile<'_>) -> Result<(), EvidenceError> {
    if directory.is_dir() {
        let names = file_names(directory)?;
        return names.iter().try_for_each(|name| {
            let path = directory.join(name);
            let mut file = open_no_follow(&path)?;
            let bytes = file.metadata().map_err(failed(FileOperation::Read, &path))?.len();
            visit(name, bytes, &mut file)
        });
    }
    let path = archive_beside(directory);
    let mut failure = None;
    let read = read_archive(open_no_follow(&path)?, ArchiveBounds::UNTRUSTED, |member, bytes, content| match member.folder {
        ArchiveFolder::Top => visit(&member.name, bytes, content).map_err(|error| {
            failure = Some(error);
            ArchiveProblem::Unreadable(io::Error::from(io::ErrorKind::Interrupted))
        }),
        ArchiveFolder::Run => Err(ArchiveProblem::Path { name: member.name.clone() }),
    });
    match (failure, read) {
        (Some(error), _) => Err(error),
        (None, read) => read.map(drop).map_err(|problem| EvidenceError::Archive { path, problem }),
    }
}

/// Returns the names of the files in a run's directory, sorted.
fn file_names(directory: &Path) -> Result<Vec<String>, EvidenceError> {
    let mut names = Vec::new();
    for entry in list_directory(directory)? {
        let is_file = entry.file_type().map_err(failed(FileOperation::List, &entry.path()))?.is_file();
        let name = entry.file_name().into_string().ok().filter(|name| is_file && check_component(name).is_ok());
        names.push(name.ok_or_else(|| EvidenceError::Foreign { path: directory.to_owned() })?);
    }
    names.sort();
    Ok(names)
}

/// Returns the path of the archive that belongs to this run directory. Neither of them needs to exist.
pub(crate) fn archive_beside(directory: &Path) -> PathBuf {
    let mut name = directory.file_name().unwrap_or_default().to_owned();
    name.push(ARCHIVE_SUFFIX);
    directory.with_file_name(name)
}
