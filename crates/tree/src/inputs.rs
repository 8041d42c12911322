//! Inputs: files and directories beside the tree that checks may read, by whose content the tree's digest is named too.
//!
//! Each input is digested as a part of its own: a file by its content, a directory as a tree is, with the rules files
//! (`.gitignore`) that it has and those of its repository above it. An input that they exclude as a whole and of which git tracks
//! nothing counts as a whole: somebody named it. No commit has its content. A tree without inputs has the digest `proctor-tree-v2`. With inputs the digest is
//! `proctor-tree-v3`: the SHA-256 over
//!
//! ```text
//! "proctor-tree-v3\n"
//! "d "  64 hexadecimal digits of the tree's own digest (v2)  " ."  NUL
//! for each input, in ascending order of the name's bytes:
//!     letter  " "  64 hexadecimal digits  " "  the input's name  NUL
//! ```
//!
//! The letters are those of entries. `u` and 64 zeros stand for an input that is not there or cannot be read.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::compare::{Differences, find_differences};
use crate::content::{BUFFER_BYTES, read_file, read_rules};
use crate::digest::{DigestedEntry, hash_entry};
use crate::ignore::{InputPlace, Matcher, RulesAbove, RulesFile};
use crate::index::TreeIndex;
use crate::listing::{open_root, stat_entry, to_c_name};
use crate::node::{Leaf, LeafKind};
use crate::stamp::{EntryStamp, Trust};
use proctor_git::{find_git_location, read_git_index};
use proctor_model::{Digest, EntryKind, Timestamp, TreeFormat, TreePath};

/// The name of the format of a digest with inputs, with which the hashed text begins.
const TAG: &[u8] = b"proctor-tree-v3\n";

/// Returns the kind and the digest that an input has now; the digest is `None` if nothing can be read.
pub(super) fn digest_of_now(place: &InputPlace, matcher: &Matcher) -> (EntryKind, Option<Digest>) {
    let now = Timestamp::from_millis(0);
    let content = read_input(&place.path, matcher, now, None).unwrap_or(InputContent::Nothing);
    Input { place: place.clone(), content }.digested()
}

/// An input as it was read.
#[derive(Debug, Clone)]
pub(super) struct Input {
    pub(super) place: InputPlace,
    pub(super) content: InputContent,
}

#[derive(Debug, Clone)]
pub(super) enum InputContent {
    /// Nothing is there, it cannot be read, or it is neither a file nor a directory.
    Nothing,
    File(Leaf),
    Directory(Box<TreeIndex>),
}

/// Reads every input of the matcher's settings again. Files whose stamp (size, inode and times) is as it was are not read.
pub(super) fn read_inputs(matcher: &Matcher, now: Timestamp, previous: &[Input]) -> Arc<[Input]> {
    let places = matcher.inputs().iter();
    places
        .map(|place| {
            let known = previous.iter().find(|known| known.place == *place).map(|known| &known.content);
            let content = read_input(&place.path, matcher, now, known).unwrap_or(InputContent::Nothing);
            Input { place: place.clone(), content }
        })
        .collect()
}

fn read_input(path: &Path, matcher: &Matcher, now: Timestamp, known: Option<&InputContent>) -> io::Result<InputContent> {
    if fs::symlink_metadata(path)?.is_dir() {
        let above = rules_above(path, true).filter(|above| !above.excludes || is_tracked(path));
        let matcher = matcher.for_input(above.unwrap_or_default());
        let index = match known {
            Some(InputContent::Directory(known)) => known.rescan(&matcher, now),
            Some(InputContent::File(_) | InputContent::Nothing) | None => TreeIndex::scan(path, &matcher, now),
        };
        return index.map(|index| InputContent::Directory(Box::new(index))).map_err(io::Error::other);
    }
    let (parent, name) = path.parent().zip(path.file_name()).ok_or(io::ErrorKind::NotFound)?;
    let (directory, name) = (open_root(parent)?, to_c_name(name.as_encoded_bytes()));
    let stat = stat_entry(directory.as_fd(), &name)?;
    match known {
        Some(InputContent::File(leaf)) if leaf.trust == Trust::Settled && leaf.stamp == EntryStamp::of(&stat) => {
            Ok(InputContent::File(*leaf))
        }
        Some(_) | None => read_file(directory.as_fd(), &name, &stat, now, &mut vec![0; BUFFER_BYTES]).map(InputContent::File),
    }
}

/// Returns what the rules files of the input's repository above it say; `None` if it lies in no repository, or is the root of one.
fn rules_above(path: &Path, is_directory: bool) -> Option<RulesAbove> {
    let location = find_git_location(path)?;
    let below = path.strip_prefix(&location.work_tree).ok()?.as_os_str().as_bytes();
    let read = |directory: &[u8]| {
        let directory = open_root(&location.work_tree.join(OsStr::from_bytes(directory)))?;
        let texts = RulesFile::ALL.map(|file| (file, read_rules(directory.as_fd(), &to_c_name(file.name().as_bytes()))));
        Ok::<_, io::Error>(texts.into_iter().filter_map(|(file, text)| Some((file, text.ok()?))).collect())
    };
    (!below.is_empty()).then(|| RulesAbove::read(below, is_directory, read).ok()).flatten()
}

/// Returns whether git tracks something at or below a path.
fn is_tracked(path: &Path) -> bool {
    let Some((parent, name)) = path.parent().zip(path.file_name()) else { return false };
    let index = read_git_index(parent, None);
    index.paths().contains(name.as_bytes()) || index.paths().has_below(name.as_bytes())
}

impl InputPlace {
    /// Returns whether the rules of its repository exclude the input as a whole, and git tracks nothing of it: no commit has its content.
    pub fn is_ignored(&self) -> bool {
        rules_above(&self.path, self.path.is_dir()).is_some_and(|above| above.excludes) && !is_tracked(&self.path)
    }
}

impl Input {
    /// Returns the kind and the digest of the input; the digest is `None` if nothing could be read.
    fn digested(&self) -> (EntryKind, Option<Digest>) {
        match &self.content {
            InputContent::Nothing => (EntryKind::File, None),
            InputContent::File(leaf) => (kind_of(leaf), Some(leaf.digest)),
            InputContent::Directory(index) => (EntryKind::Directory, Some(index.digest().0)),
        }
    }

    /// Returns the path of the input from the root of the tree: it begins with `..`.
    fn path_from(&self, root: &Path) -> TreePath {
        TreePath::beside(root, &self.place.path)
    }
}

fn kind_of(leaf: &Leaf) -> EntryKind {
    match leaf.kind {
        LeafKind::File { is_executable: true } => EntryKind::Executable,
        LeafKind::File { is_executable: false } => EntryKind::File,
        LeafKind::Link => EntryKind::Link,
    }
}

/// Computes the digest of a tree with inputs. `own` is the digest of the tree alone, which is the result if there are no inputs. The
/// inputs are in ascending order of their names' bytes.
pub(super) fn digest_with_inputs<'name>(
    own: Digest,
    inputs: impl Iterator<Item = (&'name str, EntryKind, Option<Digest>)>,
) -> Digest {
    let mut inputs = inputs.peekable();
    if inputs.peek().is_none() {
        return own;
    }
    let mut hasher = Sha256::new();
    hasher.update(TAG);
    hash_entry(&mut hasher, &DigestedEntry { kind: EntryKind::Directory, digest: Some(own), name: b"." });
    for (name, kind, digest) in inputs {
        hash_entry(&mut hasher, &DigestedEntry { kind, digest, name: name.as_bytes() });
    }
    Digest::from_hasher(hasher)
}

impl TreeIndex {
    /// Returns the digest of the tree alone, in the format `proctor-tree-v2`, with the inputs that belong to its digest.
    pub(super) fn digest_of(&self, own: Digest) -> Digest {
        digest_with_inputs(own, self.digested_inputs())
    }

    /// Returns the inputs beside the tree: name, kind and digest of each. The digest is `None` for one that is not there.
    pub fn digested_inputs(&self) -> impl Iterator<Item = (&str, EntryKind, Option<Digest>)> {
        self.inputs.iter().map(|input| {
            let (kind, digest) = input.digested();
            (input.place.name.as_str(), kind, digest)
        })
    }

    /// Returns the inputs that are directories, each as a tree of its own, by their names.
    pub fn input_directories(&self) -> impl Iterator<Item = (&str, &TreeIndex)> {
        self.inputs.iter().filter_map(|input| match &input.content {
            InputContent::Directory(index) => Some((input.place.name.as_str(), &**index)),
            InputContent::File(_) | InputContent::Nothing => None,
        })
    }

    /// Returns the format of the tree's digest.
    pub fn format(&self) -> TreeFormat {
        if self.inputs.is_empty() { TreeFormat::V2 } else { TreeFormat::V3 }
    }

    /// Returns this index with the inputs as they are now. Checks see inputs where they lie and not on a snapshot, so they are looked
    /// at once more when the checks are over.
    #[must_use]
    pub fn with_inputs_of_now(&self, matcher: &Matcher, now: Timestamp) -> Self {
        Self { inputs: read_inputs(matcher, now, &self.inputs), ..self.clone() }
    }
}

/// Adds the paths of the inputs that differ between two indexes, from the root of the tree.
pub(super) fn add_differences(before: &TreeIndex, after: &TreeIndex, counts: Differences, found: &mut Vec<TreePath>) {
    let root = after.root();
    let known = |inputs: &'_ [Input], place: &InputPlace| inputs.iter().find(|input| input.place == *place).cloned();
    for input in after.inputs.iter() {
        let Some(old) = known(&before.inputs, &input.place) else {
            found.push(input.path_from(root));
            continue;
        };
        match (&old.content, &input.content) {
            (InputContent::Directory(old), InputContent::Directory(new)) => {
                let below = find_differences(old, new, counts).into_iter();
                found.extend(below.map(|path| TreePath::beside(root, &input.place.path.join(path.as_path()))));
            }
            _ if old.digested() == input.digested() => {}
            _ => found.push(input.path_from(root)),
        }
    }
    let gone = before.inputs.iter().filter(|input| known(&after.inputs, &input.place).is_none());
    found.extend(gone.map(|input| input.path_from(root)));
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod git_tests;
