//! With whom attestations are shared (`[share]`): a remote repository, by git, and a directory. Nothing of it is used before a person
//! approved it, or the user's own configuration allows it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;
use std::{io, thread};

use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::setup;
use proctor_evidence::{EvidenceError, FileOperation, SharedDirectory};
use proctor_model::TreeDigest;
use proctor_plan::config::{SHARE_DIRECTORY, SHARE_GIT};
use proctor_project::StoreReader;

/// How long a directory may take to answer: the server of a mount may be gone.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a directory may take to store a bundle.
const PATIENCE_FOR_A_BUNDLE: Duration = Duration::from_secs(30);

/// Whether it was said that the directory cannot be read, and its server was given up.
static SAID: AtomicBool = AtomicBool::new(false);

/// What may be used of `[share]`.
#[derive(Debug, Default)]
pub struct Share {
    /// The name of the remote repository.
    pub git: Option<String>,
    pub directory: Option<SharedDirectory>,
    /// The settings that nobody approved.
    pub unapproved: Vec<&'static str>,
}

/// Returns what the project at `root` shares, as far as it was approved.
///
/// # Errors
/// When the project's settings or the store cannot be read.
pub fn approved_share(environment: &Environment, archive: &mut StoreReader, root: &Path) -> Result<Share, CommandError> {
    let (configuration, _) = setup::configuration(environment, root)?;
    let mut share = Share::default();
    let mut approved = |key: &'static str, text: &str| -> Result<Option<String>, CommandError> {
        if text.is_empty() {
            return Ok(None);
        }
        let is_approved = archive.is_setting_approved(root, (key, text), &configuration.allowed);
        if is_approved? {
            return Ok(Some(text.to_owned()));
        }
        share.unapproved.push(key);
        Ok(None)
    };
    let git = approved(SHARE_GIT, &configuration.share.git)?;
    let directory = approved(SHARE_DIRECTORY, &configuration.share.directory)?;
    Ok(Share { git, directory: directory.map(|path| SharedDirectory::new(PathBuf::from(path))), ..share })
}

/// Reads from the directory. `None` if it cannot be read, or does not answer in time, which is said once.
pub(crate) fn read_or_say<T: Send + 'static>(
    environment: &Environment,
    shared: &SharedDirectory,
    read: impl FnOnce(&SharedDirectory) -> io::Result<T> + Send + 'static,
) -> Option<T> {
    if SAID.load(Ordering::Relaxed) {
        return None;
    }
    let asked = shared.clone();
    let read = in_time(PATIENCE, move || read(&asked)).and_then(|read| read);
    read.inspect_err(|error| {
        if !SAID.swap(true, Ordering::Relaxed) {
            let place = shared.path().display();
            environment.note(&format!("note: the shared directory `{place}` is not used, because it cannot be read: {error}"));
        }
    })
    .ok()
}

/// Adds a bundle about a tree to the directory.
///
/// # Errors
/// When it cannot be written, or not in time.
pub fn put(shared: &SharedDirectory, tree: TreeDigest, bundle: Vec<u8>) -> Result<(), EvidenceError> {
    let asked = shared.clone();
    let late = |source| EvidenceError::File { path: shared.path().to_owned(), operation: FileOperation::Write, source };
    in_time(PATIENCE_FOR_A_BUNDLE, move || asked.put_if_absent(tree, &bundle)).map_err(late)?
}

/// Calls a file system whose server may be gone. The call may never return then: its thread ends with this process.
fn in_time<T: Send + 'static>(patience: Duration, call: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let (answer, answered) = channel();
    thread::Builder::new().name("shared".to_owned()).spawn(move || answer.send(call()))?;
    answered.recv_timeout(patience).map_err(|_| io::ErrorKind::TimedOut.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_does_not_return_is_given_up() {
        let (_open, never) = channel::<()>();
        let given_up = in_time(Duration::from_millis(1), move || never.recv());
        assert_eq!(given_up.map_err(|error| error.kind()).err(), Some(io::ErrorKind::TimedOut));
        assert_eq!(in_time(Duration::from_secs(60), || 1).ok(), Some(1));
    }
}
