//! Checkpoints as git notes: a tree with a file for every commit that has one, and a commit for every change of it (git-notes(1)).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::evidence::anchor::Anchor;
use crate::evidence::anchor::git::error::{GitAnchorError, ObjectProblem};
use crate::evidence::anchor::git::object::{Object, ObjectId, ObjectKind, TreeEntry};
use crate::evidence::anchor::git::reference::{self, LockedReference, ReferenceName};
use crate::evidence::anchor::git::repository::Repository;
use crate::evidence::{LedgerLog, SignedCheckpoint};
use crate::model::{ProjectId, Timestamp};

/// Where the notes of projects are; the project's id follows.
const REFERENCES: &str = "refs/notes/proctor/";
/// Git divides many notes into directories by the first digits of their commits, two at a time.
const DEEPEST: usize = 20;

/// Where a checkpoint was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitAnchored {
    /// The reference that has it.
    pub reference: String,
    /// The commit it is a note of.
    pub commit: String,
}

/// Returns the reference with a project's checkpoints. Each project has one of its own: nobody else's notes are ever merged with them.
pub fn notes_reference(project: &ProjectId) -> String {
    format!("{REFERENCES}{project}")
}

/// Reads every checkpoint that is a note of some commit; none where there is no such reference.
pub fn read_git_anchors(root: &Path, reference: &str) -> Result<Option<Vec<Anchor>>, GitAnchorError> {
    let repository = Repository::open(root)?;
    let name = ReferenceName::parse(reference)?;
    let Some(tip) = reference::read(&repository.common, &name)? else { return Ok(None) };
    let notes = read_notes(&repository, tip)?;
    anchors(&repository, &name, &notes).map(Some)
}

/// Makes a log's head a note of the commit that is checked out, in the place of an earlier head of the same log.
///
/// Every note of the reference must be one that the log goes on from. The objects are on disk before the reference names them.
pub fn write_git_anchor(
    root: &Path,
    log: &LedgerLog,
    head: &SignedCheckpoint,
    now: Timestamp,
) -> Result<GitAnchored, GitAnchorError> {
    let repository = Repository::open(root)?;
    let commit = repository.head()?;
    let name = ReferenceName::parse(&notes_reference(log.project()))?;
    let lock = LockedReference::lock(&repository.common, &name)?;
    let tip = reference::read(&repository.common, &name)?;
    let notes = tip.map_or(Ok(Notes::default()), |tip| read_notes(&repository, tip))?;
    for anchor in anchors(&repository, &name, &notes)? {
        let place = anchor.place.display().to_string();
        anchor.replaceable_by(log).map_err(|source| GitAnchorError::Refused { place, source })?;
    }
    let note = repository.objects.write(&Object::blob(head.to_text().into_bytes()))?;
    let hex = commit.hex().into_bytes();
    let others = notes.top.into_iter().filter(|entry| entry.name != hex);
    let entries = others.chain([TreeEntry::file(hex.clone(), note)]).collect();
    let tree = repository.objects.write(&Object::tree(entries))?;
    let message = format!("{} lines of {} anchored", log.size(), log.project());
    let seconds = now.as_millis().div_euclid(1000);
    let tip = repository.objects.write(&Object::commit(tree, tip, seconds, &message))?;
    lock.set(tip)?;
    Ok(GitAnchored { reference: name.as_str().to_owned(), commit: commit.hex() })
}

/// The notes of a reference.
#[derive(Debug, Default)]
struct Notes {
    /// The entries of its tree.
    top: Vec<TreeEntry>,
    /// Every note by the commit it is of, wherever in the tree it lies.
    by_commit: BTreeMap<ObjectId, ObjectId>,
}

fn read_notes(repository: &Repository, tip: ObjectId) -> Result<Notes, GitAnchorError> {
    let tree = repository.objects.read(tip)?.tree_of_commit().ok_or_else(|| of_kind(tip))?;
    let mut notes = Notes { top: read_tree(repository, tree)?, by_commit: BTreeMap::new() };
    let mut waiting: Vec<(Vec<u8>, TreeEntry)> = notes.top.iter().cloned().map(|entry| (Vec::new(), entry)).collect();
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

fn read_tree(repository: &Repository, id: ObjectId) -> Result<Vec<TreeEntry>, GitAnchorError> {
    repository.objects.read(id)?.entries().ok_or_else(|| of_kind(id))
}

fn anchors(repository: &Repository, name: &ReferenceName, notes: &Notes) -> Result<Vec<Anchor>, GitAnchorError> {
    let read = |(commit, note): (&ObjectId, &ObjectId)| {
        let object = repository.objects.read(*note)?;
        let content = if object.kind == ObjectKind::Blob { object.content } else { return Err(of_kind(*note)) };
        let place = PathBuf::from(format!("{}:{}", name.as_str(), &commit.hex()[..12]));
        Ok(Anchor { place, found: SignedCheckpoint::parse(&content) })
    };
    notes.by_commit.iter().map(read).collect()
}

fn of_kind(id: ObjectId) -> GitAnchorError {
    GitAnchorError::Object { id: id.hex(), problem: ObjectProblem::Kind }
}
