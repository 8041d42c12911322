//! Attestations as git notes: each note belongs to a tree object, so that it stays when a commit is amended, squashed or rebased. A note
//! has one attestation on each line.
//!
//! The notes of this repository and those that were fetched have a reference each. Whoever attests adds to both: the lines of a note are
//! united, and the fetched reference becomes a parent, so that the result can be pushed. Fetched notes are foreign data: what only they have
//! is taken over as it is and not read, and the number of entries that are united is limited.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use memchr::memmem;

use crate::anchor::git::database::{LockedReference, Repository, write_object};
use crate::anchor::git::error::GitAnchorError;
use crate::signing::Envelope;
use proctor_git::{GitObject, GitReadError, GitStorage, GitTreeEntry, ObjectId, ObjectProblem, ReferenceName, read_reference};
use proctor_model::Timestamp;

/// The reference of the notes that are written here.
pub const ATTESTATIONS: &str = "refs/notes/proctor-attest";
/// The reference to which the notes of a remote repository are fetched, beside the own ones.
pub const FETCHED_ATTESTATIONS: &str = "refs/notes/proctor-attest-fetched";

/// The longest note that is read, in bytes.
const LONGEST_NOTE: usize = 16 << 20;
/// The most bytes of notes that are read about one tree. Whoever can push notes decides how many there are.
const MOST_BYTES: usize = 2 * LONGEST_NOTE;
/// The most bytes of notes that are read to unite fetched notes trees with the own ones.
const MOST_UNITED_BYTES: usize = 1 << 30;
/// The most directory levels of a notes tree: git may put notes into directories named by two hexadecimal digits of the object's name,
/// one level for each two of the 40 digits.
const DEEPEST: usize = 20;
/// The most entries of notes trees that are read to unite fetched notes with the own ones.
const MOST_ENTRIES: usize = 200_000;
/// Why a note that has too many lines stays as it is.
const TOO_LONG: &str = "has more than 16 MiB of attestations";

/// The note of a tree, or why it is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttestationNote {
    Content(Vec<u8>),
    /// The note is longer than 16 MiB.
    TooLarge,
    /// The note's object is missing, damaged, or no file.
    Damaged,
}

/// What adding attestations to the notes changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteChange {
    /// The note has new lines.
    Added,
    /// The note had every line; notes that were fetched were united with it.
    Merged,
    /// The note had every line.
    Nothing,
}

/// Passes on the notes of a tree object, one after the other: those of this repository, then those that were fetched. Usually there is
/// at most one of each. No object is passed on twice, and once the notes have more than 32 MiB together, the rest is one
/// [`AttestationNote::TooLarge`].
///
/// # Errors
/// When a reference cannot be read.
pub fn read_attestation_notes(
    storage: &GitStorage,
    tree: ObjectId,
    pass_on: &mut dyn FnMut(AttestationNote),
) -> Result<(), GitReadError> {
    let (mut seen, mut left) = (BTreeSet::new(), MOST_BYTES);
    for reference in [ATTESTATIONS, FETCHED_ATTESTATIONS] {
        let Some(tip) = read_reference(&storage.common, &ReferenceName::parse(reference)?)? else { continue };
        let found = match storage.tree_of(tip).and_then(|top| find_notes(storage, top, &tree.hex())) {
            Ok(found) => found,
            Err(GitReadError::Object { .. }) => {
                pass_on(AttestationNote::Damaged);
                continue;
            }
            Err(error) => return Err(error),
        };
        for id in found {
            if !seen.insert(id) {
                continue;
            }
            let note = read_note(storage, id);
            let Some(less) = left.checked_sub(note.length()) else {
                pass_on(AttestationNote::TooLarge);
                return Ok(());
            };
            left = less;
            pass_on(note);
        }
    }
    Ok(())
}

impl AttestationNote {
    /// Returns how many bytes were read for the note. One that is too long counts as the longest one.
    fn length(&self) -> usize {
        match self {
            Self::Content(content) => content.len(),
            Self::TooLarge => LONGEST_NOTE,
            Self::Damaged => 0,
        }
    }
}

fn read_note(storage: &GitStorage, note: ObjectId) -> AttestationNote {
    match storage.blob(note) {
        Ok(content) if content.len() <= LONGEST_NOTE => AttestationNote::Content(content),
        Ok(_) | Err(GitReadError::Object { problem: ObjectProblem::TooLarge, .. }) => AttestationNote::TooLarge,
        Err(_) => AttestationNote::Damaged,
    }
}

/// Adds lines to the note of a tree object, before those that it has, and unites the notes that were fetched with those of this
/// repository. The `summary` is added only if one of the `claims` is new. All objects are on disk before the reference names them.
///
/// # Errors
/// When the notes cannot be read or written, another program is changing them ([`GitAnchorError::Locked`]), or lines that are there
/// would be lost ([`GitAnchorError::NoteInTheWay`]).
pub fn add_attestations(
    root: &Path,
    tree: ObjectId,
    (claims, summary): (&[Vec<u8>], Option<&[u8]>),
    now: Timestamp,
) -> Result<NoteChange, GitAnchorError> {
    let repository = Repository::open(root)?;
    let storage = &repository.storage;
    let name = ReferenceName::parse(ATTESTATIONS)?;
    // Only the process that holds the lock changes the reference; git obeys the lock too.
    let lock = LockedReference::lock(&storage.common, &name)?;
    let own = read_reference(&storage.common, &name)?;
    let fetched = read_reference(&storage.common, &ReferenceName::parse(FETCHED_ATTESTATIONS)?)?;
    // If the history is too long to see that they were united before, a further merge is written, which does no harm.
    let fetched = fetched.filter(|fetched| own.is_none_or(|own| !storage.is_ancestor(*fetched, own)));
    let notes = Notes { storage, left: MOST_ENTRIES, left_bytes: MOST_UNITED_BYTES };
    let top = notes.unite_notes(own, fetched)?;
    let mut known: BTreeSet<Vec<u8>> = BTreeSet::new();
    for note in top.map_or(Ok(Vec::new()), |top| find_notes(storage, top, &tree.hex()))? {
        if let AttestationNote::Content(content) = read_note(storage, note) {
            known.extend(lines(&content).map(<[u8]>::to_vec));
        }
    }
    let new: Vec<&[u8]> = claims.iter().map(|line| line.trim_ascii_end()).filter(|line| !known.contains(*line)).collect();
    let change = match (new.is_empty(), fetched) {
        (false, _) => NoteChange::Added,
        (true, Some(_)) => NoteChange::Merged,
        (true, None) => return Ok(NoteChange::Nothing),
    };
    let top = if change == NoteChange::Added {
        let new: Vec<&[u8]> = new.into_iter().chain(summary.map(<[u8]>::trim_ascii_end)).collect();
        put(storage, top, (&tree.hex(), &tree.hex()), &new)?
    } else {
        top.map_or_else(|| write_object(&storage.objects, &GitObject::tree(Vec::new())), Ok)?
    };
    let message = format!("tree {} attested", &tree.hex()[..12]);
    let commit = GitObject::commit(top, own.into_iter().chain(fetched), now.as_millis().div_euclid(1000), &message);
    let tip = write_object(&storage.objects, &commit)?;
    lock.set(tip)?;
    Ok(change)
}

fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).filter(|line| !line.is_empty())
}

/// Finds the notes of an object at every level of a notes tree.
fn find_notes(storage: &GitStorage, top: ObjectId, hex: &str) -> Result<Vec<ObjectId>, GitReadError> {
    let (mut at, mut rest, mut found) = (top, hex, Vec::new());
    for _ in 0..DEEPEST {
        let entries = storage.entries(at)?;
        found.extend(entries.iter().find(|entry| entry.name == rest.as_bytes() && !entry.is_tree()).map(|entry| entry.id));
        let Some((pair, after)) = rest.split_at_checked(2).filter(|(_, after)| !after.is_empty()) else { break };
        let Some(below) = entries.iter().find(|entry| entry.name == pair.as_bytes() && entry.is_tree()) else { break };
        (at, rest) = (below.id, after);
    }
    Ok(found)
}

/// Adds lines to a note and returns the new tree. The note goes where git would look for it: into the directory of its first two digits
/// if there is one. `hex` names the object that the note is about, and `rest` what directories above do not name of it.
fn put(
    storage: &GitStorage,
    top: Option<ObjectId>,
    (hex, rest): (&str, &str),
    new: &[&[u8]],
) -> Result<ObjectId, GitAnchorError> {
    let entries = top.map_or(Ok(Vec::new()), |top| storage.entries(top))?;
    let (pair, after) = rest.split_at(rest.len().min(2));
    let below = entries.iter().find(|entry| entry.is_tree() && entry.name == pair.as_bytes() && !after.is_empty());
    let entry = match below {
        Some(below) => GitTreeEntry::directory(below.name.clone(), put(storage, Some(below.id), (hex, after), new)?),
        None => {
            let before = entries.iter().find(|entry| entry.name == rest.as_bytes()).map(|entry| read_note(storage, entry.id));
            let before = readable_content(before, hex)?;
            // The newest lines come first, because only a limited number of lines is read.
            let content = united_lines((&join_lines(new), &before), hex)?;
            let note = write_object(&storage.objects, &GitObject::blob(content))?;
            GitTreeEntry::file(rest.as_bytes().to_vec(), note)
        }
    };
    let others = entries.into_iter().filter(|other| other.name != entry.name);
    let entries = others.chain([entry.clone()]).collect();
    write_object(&storage.objects, &GitObject::tree(entries))
}

/// Returns the content of a note to which lines are added. A note that cannot be read is not replaced.
fn readable_content(note: Option<AttestationNote>, hex: &str) -> Result<Vec<u8>, GitAnchorError> {
    match note {
        None => Ok(Vec::new()),
        Some(AttestationNote::Content(content)) => Ok(content),
        Some(AttestationNote::TooLarge) => Err(in_the_way(hex, TOO_LONG)),
        Some(AttestationNote::Damaged) => Err(in_the_way(hex, "is damaged, or is no file")),
    }
}

fn in_the_way(hex: &str, problem: &'static str) -> GitAnchorError {
    GitAnchorError::NoteInTheWay { tree: hex.to_owned(), problem }
}

/// Returns two notes about the object `hex` as one, with each envelope once. What is no envelope stays as it is, and is not repeated where
/// one of the notes has the whole text of the other. If they are too long together, only the envelopes stay; nobody can read the rest as
/// attestations.
fn united_lines((one, other): (&[u8], &[u8]), hex: &str) -> Result<Vec<u8>, GitAnchorError> {
    let (first, second) = (NoteParts::of(one), NoteParts::of(other));
    let mut seen = BTreeSet::new();
    let mut all = Vec::with_capacity(one.len() + other.len() + 2);
    let is_repeated = [memmem::find(&second.text, &first.text).is_some(), memmem::find(&first.text, &second.text).is_some()];
    // If both have the same text, it stays where the first one has it.
    let leaves_out = [is_repeated[0] && !is_repeated[1], is_repeated[1]];
    for (note, leaves_out) in [one, other].into_iter().zip(leaves_out) {
        for line in note.split_inclusive(|byte| *byte == b'\n') {
            let is_kept = match as_envelope(line) {
                Some(envelope) => seen.insert(envelope),
                None => !leaves_out,
            };
            if is_kept {
                all.extend_from_slice(line);
            }
        }
        if all.last().is_some_and(|last| *last != b'\n') {
            all.push(b'\n');
        }
    }
    if all.len() > LONGEST_NOTE {
        let mut seen = BTreeSet::new();
        let envelopes: Vec<&[u8]> =
            first.envelopes.into_iter().chain(second.envelopes).filter(|envelope| seen.insert(*envelope)).collect();
        all = join_lines(&envelopes);
    }
    if all.len() > LONGEST_NOTE {
        return Err(in_the_way(hex, TOO_LONG));
    }
    Ok(all)
}

/// The envelopes of a note, and everything else that it has.
struct NoteParts<'a> {
    envelopes: Vec<&'a [u8]>,
    text: Vec<u8>,
}

impl<'a> NoteParts<'a> {
    fn of(note: &'a [u8]) -> Self {
        let (mut envelopes, mut text) = (Vec::new(), Vec::new());
        for line in note.split_inclusive(|byte| *byte == b'\n') {
            match as_envelope(line) {
                Some(envelope) => envelopes.push(envelope),
                None => text.extend_from_slice(line),
            }
        }
        Self { envelopes, text }
    }
}

/// Returns a line of a note without what stands around its envelope; `None` if it has no envelope.
fn as_envelope(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    (line.starts_with(b"{") && Envelope::parse(line).is_some()).then_some(line)
}

fn join_lines(lines: &[&[u8]]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.iter().chain(b"\n")).copied().collect()
}

/// Unites notes trees.
struct Notes<'a> {
    storage: &'a GitStorage,
    /// How many more entries are read.
    left: usize,
    /// How many more bytes of notes are read.
    left_bytes: usize,
}

impl Notes<'_> {
    /// Returns the tree with the notes of two commits; `None` if there is neither.
    fn unite_notes(mut self, own: Option<ObjectId>, fetched: Option<ObjectId>) -> Result<Option<ObjectId>, GitAnchorError> {
        let top = |tip: Option<ObjectId>| tip.map(|tip| self.storage.tree_of(tip)).transpose();
        let (own, fetched) = (top(own)?, top(fetched)?);
        match (own, fetched) {
            (Some(own), Some(fetched)) => self.united_trees(own, fetched, "", 0).map(Some),
            (own, fetched) => {
                // The fetched notes are taken over as they are, if there are no more than are united.
                let count = fetched.map_or(Ok(0), |fetched| self.storage.entries(fetched).map(|entries| entries.len()))?;
                self.left = self.left.checked_sub(count).ok_or(GitAnchorError::TooManyNotes)?;
                Ok(own.or(fetched))
            }
        }
    }

    /// Unites two trees at the same place, which the directories `above` name. An entry that only one of them has stays as it is.
    fn united_trees(&mut self, own: ObjectId, fetched: ObjectId, above: &str, depth: usize) -> Result<ObjectId, GitAnchorError> {
        let mine = self.storage.entries(own)?;
        let all = self.storage.entries(fetched)?;
        self.left = self.left.checked_sub(mine.len() + all.len()).ok_or(GitAnchorError::TooManyNotes)?;
        let mut entries: BTreeMap<Vec<u8>, GitTreeEntry> = mine.into_iter().map(|entry| (entry.name.clone(), entry)).collect();
        for theirs in all {
            let hex = format!("{above}{}", String::from_utf8_lossy(&theirs.name));
            let united = match entries.get(&theirs.name) {
                None => theirs.clone(),
                Some(mine) if mine.id == theirs.id => continue,
                Some(mine) if mine.is_tree() != theirs.is_tree() => {
                    return Err(in_the_way(
                        &hex,
                        "is a directory here, and a file among the fetched ones, or the other way round",
                    ));
                }
                Some(_) if theirs.is_tree() && depth >= DEEPEST => return Err(GitAnchorError::TooManyNotes),
                Some(mine) if theirs.is_tree() => {
                    let tree = self.united_trees(mine.id, theirs.id, &hex, depth + 1)?;
                    GitTreeEntry::directory(theirs.name.clone(), tree)
                }
                Some(mine) => GitTreeEntry::file(theirs.name.clone(), self.united_notes(mine.id, theirs.id, &hex)?),
            };
            entries.insert(theirs.name, united);
        }
        write_object(&self.storage.objects, &GitObject::tree(entries.into_values().collect()))
    }

    /// Unites two notes about the object `hex`.
    fn united_notes(&mut self, own: ObjectId, fetched: ObjectId, hex: &str) -> Result<ObjectId, GitAnchorError> {
        let theirs = readable_content(Some(self.note(fetched)?), hex)?;
        let mine = readable_content(Some(self.note(own)?), hex)?;
        write_object(&self.storage.objects, &GitObject::blob(united_lines((&mine, &theirs), hex)?))
    }

    fn note(&mut self, id: ObjectId) -> Result<AttestationNote, GitAnchorError> {
        let note = read_note(self.storage, id);
        self.left_bytes = self.left_bytes.checked_sub(note.length()).ok_or(GitAnchorError::TooManyNotes)?;
        Ok(note)
    }
}
