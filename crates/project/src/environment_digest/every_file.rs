//! A look at the content of every file of the environments, for verdicts that are asked for with fresh caches. It sees what the
//! look at the deciding files leaves out: a file that somebody edits by hand inside of an installed package.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::known_files::{FileSurvey, KnownFiles};
use super::places::{EnvironmentParts, EnvironmentSearch};
use proctor_model::{Digest, IdentityWriter, TreePath};
use proctor_sandbox::process::clock;
use proctor_tree::ignore::{CACHES_IN_ENVIRONMENTS, hidden_caches};

/// The directory into which Python writes compiled modules.
const BYTECODE: &str = "__pycache__";

/// Which files of the environments a survey reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurveyExtent {
    /// The files that decide what the installed programs do.
    DecidingFiles,
    /// All files, each by its content and not by its stamp.
    EveryFile,
}

/// Every file and link of the environments.
#[derive(Debug, Clone)]
pub(crate) struct EveryFile {
    /// By the name of the environment, and then by the path inside of it: the digest of the file or of the link's
    /// target; `None` if it cannot be read.
    environments: BTreeMap<OsString, BTreeMap<PathBuf, Option<Digest>>>,
    /// The digests of the files, for the second look of the same run.
    known: Arc<KnownFiles>,
}

impl EveryFile {
    /// Reads every file of the environments. This is the first look of a run, which knows no digests.
    pub(super) fn look(search: &EnvironmentSearch) -> Self {
        Self::look_with(search, Arc::default())
    }

    /// Looks again. Only files whose stamps changed are read.
    pub(super) fn look_again(&self, search: &EnvironmentSearch) -> Self {
        Self::look_with(search, Arc::clone(&self.known))
    }

    fn look_with(search: &EnvironmentSearch, known: Arc<KnownFiles>) -> Self {
        let mut survey = FileSurvey::new(known, clock::now());
        let places = search.find().into_iter().filter(|(_, place)| place.parts == EnvironmentParts::All);
        let environments = places.map(|(name, place)| (name, files_of(&place.path, &mut survey))).collect();
        Self { environments, known: survey.finish() }
    }

    /// Returns the digest of each environment, by its name.
    pub(super) fn digests(&self) -> BTreeMap<&OsStr, Digest> {
        let digest = |files: &BTreeMap<PathBuf, Option<Digest>>| {
            let add = |writer: IdentityWriter, (path, digest): (&PathBuf, &Option<Digest>)| {
                let digest = digest.as_ref().map_or(&b"unknown"[..], |digest| digest.as_bytes());
                writer.part("path", path.as_os_str().as_bytes()).part("content", digest)
            };
            files.iter().fold(IdentityWriter::new("proctor-every-environment-file-v1"), add).digest()
        };
        self.environments.iter().map(|(name, files)| (name.as_os_str(), digest(files))).collect()
    }

    /// Returns whether every file could be read.
    pub(super) fn is_known(&self) -> bool {
        self.environments.values().flat_map(BTreeMap::values).all(Option::is_some)
    }

    /// Returns the files that appeared, vanished or have another content than `earlier`, as far as they belong to
    /// environments inside of the project. What tools write themselves while they run, such as bytecode, does not
    /// count.
    pub(super) fn changed_since(&self, earlier: &Self) -> Vec<TreePath> {
        let mut changed = Vec::new();
        let nothing = BTreeMap::new();
        let names =
            self.environments.keys().chain(earlier.environments.keys().filter(|name| !self.environments.contains_key(*name)));
        for name in names {
            let now = self.environments.get(name).unwrap_or(&nothing);
            let before = earlier.environments.get(name).unwrap_or(&nothing);
            let gone = before.keys().filter(|path| !now.contains_key(*path));
            let other = now.iter().filter(|(path, digest)| before.get(*path) != Some(digest)).map(|(path, _)| path);
            let counted = gone.chain(other).filter(|path| !is_written_by_tools(path));
            changed.extend(counted.filter_map(|path| TreePath::try_from(Path::new(name).join(path).as_os_str().as_bytes()).ok()));
        }
        changed.sort();
        changed
    }
}

/// Returns whether tools write a file or directory while they run, such as Python's compiled modules.
pub(super) fn is_written_by_tools(path: &Path) -> bool {
    path.iter().any(|name| name == BYTECODE || CACHES_IN_ENVIRONMENTS.iter().any(|cache| name == *cache))
}

/// Returns all files and links below a directory. Links are not followed, but a link to a file counts by the file's content too.
fn files_of(top: &Path, survey: &mut FileSurvey) -> BTreeMap<PathBuf, Option<Digest>> {
    let mut files = BTreeMap::new();
    // Checks on a snapshot do not see these.
    let hidden = hidden_caches(top);
    let mut waiting = vec![PathBuf::new()];
    while let Some(directory) = waiting.pop() {
        let entries = match fs::read_dir(top.join(&directory)) {
            Ok(entries) => entries,
            // An environment can be a single file, which is one of the deciding files.
            Err(_) if directory.as_os_str().is_empty() => return files,
            Err(_) => {
                files.insert(directory, None);
                continue;
            }
        };
        for entry in entries {
            let Ok((entry, kind)) = entry.and_then(|entry| entry.file_type().map(|kind| (entry, kind))) else {
                files.insert(directory.clone(), None);
                continue;
            };
            let inside = directory.join(entry.file_name());
            if kind.is_dir() {
                if !hidden.iter().any(|cache| inside == Path::new(cache)) {
                    waiting.push(inside);
                }
                continue;
            }
            let path = entry.path();
            let content = survey.look(path.clone());
            let digest = if kind.is_symlink() {
                fs::read_link(&path).ok().zip(content.ok()).map(|(target, content)| {
                    let writer = IdentityWriter::new("proctor-environment-link-v1").part("target", target.as_os_str().as_bytes());
                    content.iter().fold(writer, |writer, content| writer.part("content", content.digest.as_bytes())).digest()
                })
            } else {
                // A socket or a pipe has no content.
                content.ok().map(|content| content.map_or_else(|| Digest::of(b""), |content| content.digest))
            };
            files.insert(inside, digest);
        }
    }
    files
}
