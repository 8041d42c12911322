//! Checkpoints, which are signed heads of the ledger, as git notes. The notes of a reference are a tree with one file
//! for each annotated commit; each change is a commit (git-notes(1)).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::anchor::Anchor;
use crate::anchor::git::database::write_object;
use crate::anchor::git::error::GitAnchorError;
use crate::anchor::git::reference::LockedReference;
use crate::anchor::git::repository::Repository;
use crate::{LedgerLog, SignedCheckpoint};
use proctor_git::{GitObject, GitReadError, GitTreeEntry, ObjectId, ObjectKind, ObjectProblem, ReferenceName, read_reference};
use proctor_model::{ProjectId, Timestamp};

/// The prefix of the references of all projects; the project's id follows.
const REFERENCES: &str = "refs/notes/proctor/";
/// The most directory levels of a notes tree. With many notes, git puts them into directories named by two hexadecimal
/// digits of the commit's hash, one directory level for each two digits. A hash has 40 digits, so there are at most 20
/// levels.
const DEEPEST: usize = 20;

/// The git note to which a checkpoint (a signed head of the ledger) was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnchoredNote {
    pub reference: String,
    /// The hash of the commit that the note annotates.
    pub commit: String,
}

/// Returns the reference for a project's checkpoints. Each project has a reference of its own, so that git never merges
/// the notes of two projects.
pub fn notes_reference(project: &ProjectId) -> String {
    format!("{REFERENCES}{project}")
}

/// Reads the checkpoints in all notes of a reference, or returns `None` if the reference does not exist.
pub fn read_git_anchors(root: &Path, reference: &str) -> Result<Option<Vec<Anchor>>, GitAnchorError> {
    let repository = Repository::open(root)?;
    let name = ReferenceName::parse(reference)?;
    let Some(tip) = read_reference(&repository.storage.common, &name)? else { return Ok(None) };
    let notes = read_notes(&repository, tip)?;
    anchors(&repository, &name, &notes).map(Some)
}

/// Writes the ledger's signed head as a note on the checked-out commit. The note replaces an earlier head of the same
/// ledger.
///
/// It is an error if any note of the reference is not a checkpoint that the log extends. All objects are on disk before
/// the reference names them.
pub fn write_git_anchor(
    root: &Path,
    log: &LedgerLog,
    head: &SignedCheckpoint,
    now: Timestamp,
) -> Result<AnchoredNote, GitAnchorError> {
    let repository = Repository::open(root)?;
    let commit = repository.head()?;
    let name = ReferenceName::parse(&notes_reference(log.project()))?;
    let lock = LockedReference::lock(&repository.storage.common, &name)?;
    let tip = read_reference(&repository.storage.common, &name)?;
    let notes = tip.map_or(Ok(Notes::default()), |tip| read_notes(&repository, tip))?;
    for anchor in anchors(&repository, &name, &notes)? {
        let place = anchor.place.display().to_string();
        anchor.replaceable_by(log).map_err(|source| GitAnchorError::Refused { place, source })?;
    }
    let note = write_object(&repository.storage.objects, &GitObject::blob(head.to_text().into_bytes()))?;
    let hex = commit.hex().into_bytes();
    let others = notes.top.into_iter().filter(|entry| entry.name != hex);
    let entries = others.chain([GitTreeEntry::file(hex.clone(), note)]).collect();
    let tree = write_object(&repository.storage.objects, &GitObject::tree(entries))?;
    let message = format!("{} lines of {} anchored", log.size(), log.project());
    let seconds = now.as_millis().div_euclid(1000);
    let tip = write_object(&repository.storage.objects, &GitObject::commit(tree, tip, seconds, &message))?;
    lock.set(tip)?;
    Ok(AnchoredNote { reference: name.as_str().to_owned(), commit: commit.hex() })
}

#[derive(Debug, Default)]
struct Notes {
    /// The entries of the notes tree's top directory. A new note is added to them.
    top: Vec<GitTreeEntry>,
    /// Every note, by the commit that it annotates, at any level of the tree.
    by_commit: BTreeMap<ObjectId, ObjectId>,
}

fn read_notes(repository: &Repository, tip: ObjectId) -> Result<Notes, GitAnchorError> {
    let tree = repository.storage.objects.read(tip)?.commit_tree().ok_or_else(|| wrong_kind(tip))?;
    let mut notes = Notes { top: read_tree(repository, tree)?, by_commit: BTreeMap::new() };
    let mut waiting: Vec<(Vec<u8>, GitTreeEntry)> = notes.top.iter().cloned().map(|entry| (Vec::new(), entry)).collect();
    while let Some((above, entry)) = waiting.pop() {
        let path = [above.as_slice(), &entry.name].concat();
        if entry.is_tree() && path.len() <= 2 * DEEPEST {
            waiting.extend(read_tree(repository, entry.id)?.into_iter().map(|below| (path.clone(), below)));
        } else if let Some(commit) = std::str::from_utf8(&path).ok().and_then(ObjectId::parse) {
            notes.by_commit.insert(commit, entry.id);
        }
    }
    Ok(notes)
}

fn read_tree(repository: &Repository, id: ObjectId) -> Result<Vec<GitTreeEntry>, GitAnchorError> {
    repository.storage.objects.read(id)?.entries().ok_or_else(|| wrong_kind(id))
}

fn anchors(repository: &Repository, name: &ReferenceName, notes: &Notes) -> Result<Vec<Anchor>, GitAnchorError> {
    let read = |(commit, note): (&ObjectId, &ObjectId)| {
        let object = repository.storage.objects.read(*note)?;
        let content = if object.kind == ObjectKind::Blob { object.content } else { return Err(wrong_kind(*note)) };
        let place = PathBuf::from(format!("{}:{}", name.as_str(), &commit.hex()[..12]));
        Ok(Anchor { place, found: SignedCheckpoint::parse(&content) })
    };
    notes.by_commit.iter().map(read).collect()
}

fn wrong_kind(id: ObjectId) -> GitAnchorError {
    GitAnchorError::Read(GitReadError::Object { id: id.hex(), problem: ObjectProblem::Kind })
}
