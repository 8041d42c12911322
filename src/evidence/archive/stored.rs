//! Which archives there are, and a file of a run wherever the run is kept.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::evidence::archive::{ArchiveProblem, Bounds, Shelf, plain_names, read_archive};
use crate::evidence::error::failed;
use crate::evidence::files::{hash_reader, if_there, list, open_plain, read_pieces};
use crate::evidence::names::{ARCHIVE_SUFFIX, run_of_archive};
use crate::evidence::{EvidenceError, FileOperation, Store, list_tasks};
use crate::model::{Digest, ProjectId, RunId, TaskId};

/// An archive that lies among the runs of a task. Whether a line of the ledger names it, only the ledger says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::evidence) struct StoredArchive {
    pub(in crate::evidence) task: TaskId,
    pub(in crate::evidence) run_id: RunId,
    pub(in crate::evidence) path: PathBuf,
}

/// Lists the archives of a project, sorted by task and run. What is not named like one is passed over.
pub(in crate::evidence) fn list_archives(store: &Store, project: &ProjectId) -> Result<Vec<StoredArchive>, EvidenceError> {
    let mut archives = Vec::new();
    for task in list_tasks(store, project)? {
        for entry in list(&store.runs_directory(project, &task))? {
            let run_id = entry.file_name().to_str().and_then(run_of_archive);
            archives.extend(run_id.map(|run_id| StoredArchive { task: task.clone(), run_id, path: entry.path() }));
        }
    }
    archives.sort_by(|one, other| (&one.task, &one.run_id).cmp(&(&other.task, &other.run_id)));
    Ok(archives)
}

/// Returns whether a run is kept as an archive alone.
pub fn is_archived(store: &Store, project: &ProjectId, task: &TaskId, run_id: &RunId) -> bool {
    !store.run_directory(project, task, run_id).is_dir() && store.archive_path(project, task, run_id).is_file()
}

/// Reads a file of a run, from its directory or, where that is gone, from its archive.
pub(in crate::evidence) fn read_of_run(directory: &Path, name: &str) -> Result<Vec<u8>, EvidenceError> {
    let mut bytes = Vec::new();
    with_file(directory, name, &mut |content| content.read_to_end(&mut bytes).map(drop))?;
    Ok(bytes)
}

/// Computes size and digest of a file of a run, wherever it is.
pub(in crate::evidence) fn hash_of_run(directory: &Path, name: &str) -> Result<(u64, Digest), EvidenceError> {
    let mut found = None;
    with_file(directory, name, &mut |content| hash_reader(content).map(|hashed| found = Some(hashed)))?;
    Ok(found.expect("a file that is there was hashed"))
}

/// Hands the bytes of a file of a run on, piece by piece, wherever it is.
pub(in crate::evidence) fn show_of_run(directory: &Path, name: &str, take: &mut dyn FnMut(&[u8])) -> Result<(), EvidenceError> {
    with_file(directory, name, &mut |content| read_pieces(content, take))
}

/// Is shown a file with its name and size.
type SeeNamed<'a> = &'a mut dyn FnMut(&str, u64, &mut dyn Read) -> Result<(), EvidenceError>;
type See<'a> = &'a mut dyn FnMut(&mut dyn Read) -> io::Result<()>;

fn with_file(directory: &Path, name: &str, see: See<'_>) -> Result<(), EvidenceError> {
    let path = directory.join(name);
    if let Some(mut file) = if_there(open_plain(&path))? {
        return see(&mut file).map_err(failed(FileOperation::Read, &path));
    }
    let archive = archive_beside(directory);
    let absent = || failed(FileOperation::Open, &path)(io::Error::from(io::ErrorKind::NotFound));
    let Some(file) = if_there(open_plain(&archive))? else { return Err(absent()) };
    let mut is_seen = false;
    // What is read is not believed more than a file of a directory is: `verification` compares it with the ledger.
    let read = read_archive(file, Bounds::OF_A_STRANGER, |place, _, content| {
        if place.shelf == Shelf::Top && place.name == name {
            is_seen = true;
            see(content).map_err(ArchiveProblem::Unreadable)?;
        }
        Ok(())
    });
    read.map_err(|problem| EvidenceError::Archive { path: archive, problem })?;
    if is_seen { Ok(()) } else { Err(absent()) }
}

/// Shows every file of a run, with its size in bytes, wherever the run is kept.
///
/// # Errors
/// When it cannot be read, or its directory has something that is no file proctor puts there.
pub(in crate::evidence) fn each_of_run(directory: &Path, see: SeeNamed<'_>) -> Result<(), EvidenceError> {
    if directory.is_dir() {
        let names = plain_names(directory)?.map_err(|_| EvidenceError::Foreign { path: directory.to_owned() })?;
        return names.iter().try_for_each(|name| {
            let path = directory.join(name);
            let mut file = open_plain(&path)?;
            let bytes = file.metadata().map_err(failed(FileOperation::Read, &path))?.len();
            see(name, bytes, &mut file)
        });
    }
    let path = archive_beside(directory);
    let mut failure = None;
    let read = read_archive(open_plain(&path)?, Bounds::OF_A_STRANGER, |place, bytes, content| match place.shelf {
        Shelf::Top => see(&place.name, bytes, content).map_err(|error| {
            failure = Some(error);
            ArchiveProblem::Unreadable(io::Error::from(io::ErrorKind::Interrupted))
        }),
        Shelf::Run => Err(ArchiveProblem::Path { name: place.name.clone() }),
    });
    match (failure, read) {
        (Some(error), _) => Err(error),
        (None, read) => read.map(drop).map_err(|problem| EvidenceError::Archive { path, problem }),
    }
}

/// Returns where the archive of a run lies that has, or had, this directory.
pub(in crate::evidence) fn archive_beside(directory: &Path) -> PathBuf {
    let mut name = directory.file_name().unwrap_or_default().to_owned();
    name.push(ARCHIVE_SUFFIX);
    directory.with_file_name(name)
}
