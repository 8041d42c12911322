//! With whom attestations are shared (`[share]`): a remote repository, by git, and a directory. Nothing of it is used before a person
//! approved it, or the user's own configuration allows it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::environment::Environment;
use crate::error::{CommandError, from_run_error};
use crate::project::setup;
use proctor_evidence::SharedDirectory;
use proctor_plan::config::{SHARE_DIRECTORY, SHARE_GIT};
use proctor_project::StoreReader;

/// How long a directory may take to answer: the server of a mount may be gone.
const PATIENCE: Duration = Duration::from_secs(2);

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
        if is_approved.map_err(|error| from_run_error(&error))? {
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
    let (answer, answered) = channel();
    let asked = shared.clone();
    // A read from a server that is gone may never return: its thread ends with this process.
    let begun = thread::Builder::new().name("shared".to_owned()).spawn(move || answer.send(read(&asked)));
    let read = begun.and_then(|_| answered.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())));
    read.inspect_err(|error| {
        if !SAID.swap(true, Ordering::Relaxed) {
            let place = shared.path().display();
            environment.note(&format!("note: the shared directory `{place}` is not used, because it cannot be read: {error}"));
        }
    })
    .ok()
}
