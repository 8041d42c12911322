//! Reads one directory or one entry. Both the walk of a whole tree and the update of some paths use this module.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use nix::fcntl::readlinkat;
use nix::libc;
use nix::sys::stat::{FileStat, fstat};

use crate::content::{BUFFER_BYTES, file_kind, format, read_file, read_link, read_rules};
use crate::error::TreeError;
use crate::ignore::{DirectoryRules, Matcher, RulesFile, RulesScope, TreeMembership, VIRTUAL_ENVIRONMENT};
use crate::index::TreeIndex;
use crate::inputs::read_inputs;
use crate::listing::{Listing, is_directory, list, open_below, open_root, stat_entry};
use crate::node::{Content, Directory, IssueEntry, KnownRules, Leaf, LeafKind, Node};
use crate::stamp::{DirectoryStamp, EntryStamp, Trust};
use crate::walk::walk;
use proctor_git::{TrackedPaths, read_git_index};
use proctor_model::{EntryKind, Timestamp, TreeIssueKind, TreePath};

/// The deepest directory that is read; deeper ones count as unreadable. This protects against trees that are made to
/// exhaust the stack.
const MAX_DEPTH: usize = 256;

/// The most times that a directory is read if its rules file, such as `.gitignore`, is saved during each reading. The
/// last reading is then used as it is.
const RULES_TRIES: usize = 4;

/// The directory of a repository in which git keeps what belongs to one linked worktree each.
const WORKTREES: &[u8] = b"/worktrees/";

/// Whether a rules file, such as `.gitignore`, stayed the same while its directory was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RulesReading {
    Consistent,
    SavedMeanwhile,
}

/// Reads the directories of one tree. Root, matcher and time are the same for all of them.
pub(super) struct TreeReader<'look> {
    pub(super) root: &'look OwnedFd,
    pub(super) matcher: &'look Matcher,
    pub(super) tracked: &'look Arc<TrackedPaths>,
    pub(super) now: Timestamp,
}

/// A directory that is still to be read, with what its parent directory decides for it.
pub(super) struct DirectoryToRead {
    /// The directory's path from the root.
    pub(super) path: Vec<u8>,
    /// The ignore rules that hold in the parent directory. For the root, these are the rules that hold without any
    /// `.gitignore`.
    pub(super) above: RulesScope,
    pub(super) membership: TreeMembership,
    /// The same directory in the previous index; `None` if that index does not have the directory.
    pub(super) previous: Option<Arc<Directory>>,
}

/// A directory that was read; the directories below it were not read yet.
pub(super) struct DirectoryRead {
    pub(super) previous: Option<Arc<Directory>>,
    pub(super) entries: Vec<FoundEntry>,
    pub(super) rules: Option<Arc<KnownRules>>,
    pub(super) aside: Vec<IssueEntry>,
    /// The directory's identity and times before its entries were read.
    pub(super) stamp: DirectoryStamp,
    pub(super) membership: TreeMembership,
    /// Whether this is a virtual environment, whose entries are left out.
    pub(super) is_environment: bool,
    /// The directories to be read next, in the order of their entries.
    pub(super) below: Vec<DirectoryToRead>,
}

pub(super) enum FoundEntry {
    /// An unchanged entry: the node at this position of the previous directory is used again.
    Known(usize),
    /// A new or changed entry. Boxed because most entries of a known tree are unchanged, and all are kept until the
    /// walk is over.
    New(Box<Node>),
    /// The name of a directory. The directory itself is the next one of [`DirectoryRead::below`].
    Below(Box<[u8]>),
}

pub(super) enum EntryRead {
    /// The entry belongs to the tree and has this content.
    Content(Content),
    /// The entry has not changed since the previous index.
    AsKnown,
    /// The entry is reported as an issue and is not part of the digest.
    Issue(TreeIssueKind),
    /// The entry is gone or does not belong to the tree. An entry that was replaced while it was read is read again by
    /// the next update.
    Nothing,
}

impl TreeReader<'_> {
    /// Returns the root directory as the first one to be read.
    pub(super) fn top(&self, previous: Option<Arc<Directory>>) -> DirectoryToRead {
        DirectoryToRead {
            path: Vec::new(),
            above: self.matcher.bare_scope(Arc::clone(self.tracked)),
            membership: self.matcher.root_membership(),
            previous,
        }
    }

    /// Reads a directory. `buffer` is for the content of files; it is allocated when the first file is read.
    ///
    /// A rules file, such as `.gitignore`, is read twice, for its rules and for its digest. If it was saved in between,
    /// the directory is read again, because otherwise the rules would select other entries than the digested text does.
    pub(super) fn read_directory(&self, place: &DirectoryToRead, buffer: &mut Vec<u8>) -> io::Result<DirectoryRead> {
        for _ in 1..RULES_TRIES {
            let (found, rules) = self.try_to_read(place, buffer)?;
            if rules == RulesReading::Consistent {
                return Ok(found);
            }
        }
        self.try_to_read(place, buffer).map(|(found, _)| found)
    }

    fn try_to_read(&self, place: &DirectoryToRead, buffer: &mut Vec<u8>) -> io::Result<(DirectoryRead, RulesReading)> {
        let directory = open_below(self.root.as_fd(), &place.path)?;
        let stamp = DirectoryStamp::of(&fstat(&directory)?);
        let (directory, listing) = list(directory)?;
        let (mut path, above, membership, previous) =
            (place.path.clone(), &place.above, place.membership, place.previous.clone());
        let mut found = DirectoryRead {
            rules: None,
            entries: Vec::with_capacity(listing.len()),
            aside: Vec::new(),
            stamp,
            membership,
            is_environment: false,
            below: Vec::new(),
            previous,
        };
        let reads_rules = membership.reads_rules() && !self.matcher.is_ignored_input(membership);
        if reads_rules {
            self.read_rules_files(directory.as_fd(), &listing, &path, &mut found);
        }
        if self.matcher.is_ignored_input(membership) && is_linked_checkout(directory.as_fd(), &listing) {
            return Ok((found, RulesReading::Consistent));
        }
        let scope = self.matcher.narrow(above, membership, found.rules.as_ref().map(|rules| &rules.compiled));
        if listing.find(VIRTUAL_ENVIRONMENT.as_bytes()).is_some() {
            let names = (0..listing.len()).map(|position| (listing.name(position).to_bytes(), listing.is_directory(position)));
            found.is_environment = self.matcher.is_virtual_environment(&scope, &path, names);
            if found.is_environment {
                return Ok((found, RulesReading::Consistent));
            }
        }
        let parent_length = path.len();
        for position in 0..listing.len() {
            let name = listing.name(position);
            path.truncate(parent_length);
            push_name(&mut path, name.to_bytes());
            let is_directory = listing.is_directory(position);
            let membership = self.matcher.membership_of(&scope, &path, is_directory);
            if is_directory && membership == TreeMembership::Environment {
                let known = found.previous.as_ref().and_then(|previous| previous.find(name.to_bytes()));
                let content = environment(known);
                found.entries.push(FoundEntry::New(Box::new(Node { name: name.to_bytes().into(), content })));
            } else if is_directory && membership.is_walked() {
                self.enter_directory(&path, name, &scope, membership, &mut found);
            } else if !is_directory
                && membership.belongs()
                && !(listing.may_be_link(position) && self.is_own_link(directory.as_fd(), name))
            {
                self.take_entry(directory.as_fd(), name, &mut found, buffer);
            }
        }
        path.truncate(parent_length);
        let is_consistent =
            !reads_rules || RulesFile::ALL.iter().all(|file| self.is_consistent(*file, &path, &listing, (&scope, &found)));
        Ok((found, if is_consistent { RulesReading::Consistent } else { RulesReading::SavedMeanwhile }))
    }

    /// Returns whether the rules that were applied come from the same text of the rules file (such as `.gitignore`)
    /// that was digested.
    fn is_consistent(
        &self,
        file: RulesFile,
        directory: &[u8],
        listing: &Listing,
        (scope, found): (&RulesScope, &DirectoryRead),
    ) -> bool {
        let name = file.name().as_bytes();
        let applied = found.rules.as_ref().and_then(|rules| rules.compiled.digest_of(file));
        if listing.find(name).is_none() {
            return applied.is_none();
        }
        let mut path = directory.to_owned();
        push_name(&mut path, name);
        if !self.matcher.membership_of(scope, &path, false).belongs() {
            // The rules file excludes itself, so the tree has no digest of it.
            return true;
        }
        let previous = found.previous.as_deref();
        let content = found.entries.iter().find_map(|entry| match entry {
            FoundEntry::Known(position) => {
                previous?.nodes.get(*position).filter(|node| *node.name == *name).map(|node| &node.content)
            }
            FoundEntry::New(node) => (*node.name == *name).then_some(&node.content),
            FoundEntry::Below(_) => None,
        });
        match content {
            Some(Content::Leaf(leaf)) if matches!(leaf.kind, LeafKind::File { .. }) => applied == Some(leaf.digest),
            // A rules file that cannot be read is reported as an issue and gives no rules.
            Some(Content::Unreadable(..)) => true,
            Some(Content::Leaf(_) | Content::Directory(_)) | None => applied.is_none(),
        }
    }

    fn enter_directory(
        &self,
        path: &[u8],
        name: &CStr,
        scope: &RulesScope,
        membership: TreeMembership,
        found: &mut DirectoryRead,
    ) {
        let name = name.to_bytes();
        if is_too_deep(path) {
            let content = Content::Unreadable(EntryKind::Directory, None);
            found.entries.push(FoundEntry::New(Box::new(Node { name: name.into(), content })));
            return;
        }
        let known = found.previous.as_ref().and_then(|previous| previous.find(name)?.content.directory());
        let place = DirectoryToRead { path: path.to_owned(), above: scope.clone(), membership, previous: known.cloned() };
        found.below.push(place);
        found.entries.push(FoundEntry::Below(name.into()));
    }

    fn take_entry(&self, directory: BorrowedFd<'_>, name: &CStr, found: &mut DirectoryRead, buffer: &mut Vec<u8>) {
        let previous = found.previous.as_deref().map_or(&[][..], |previous| &previous.nodes);
        let position = previous.binary_search_by(|node| node.name[..].cmp(name.to_bytes())).ok();
        let known = position.map(|position| &previous[position]);
        let seen = match stat_entry(directory, name) {
            // The entry was not a directory when it was listed, and the rules were applied to a file of its name. The next
            // update applies them to a directory.
            Ok(stat) if is_directory(&stat) => EntryRead::Nothing,
            Ok(stat) => self.read_entry(directory, name, &stat, known, buffer),
            Err(error) => give_up(&error, EntryKind::File, None),
        };
        let name = name.to_bytes();
        match (seen, position) {
            (EntryRead::AsKnown, Some(position)) => found.entries.push(FoundEntry::Known(position)),
            (EntryRead::Content(content), _) => {
                found.entries.push(FoundEntry::New(Box::new(Node { name: name.into(), content })))
            }
            (EntryRead::Issue(kind), _) => found.aside.push(IssueEntry { name: name.into(), kind }),
            (EntryRead::Nothing | EntryRead::AsKnown, _) => {}
        }
    }

    /// Returns whether an entry is one of proctor's own links to the evidence, by its target. Ask it of links only: it costs a system call.
    pub(super) fn is_own_link(&self, directory: BorrowedFd<'_>, name: &CStr) -> bool {
        readlinkat(directory, name).is_ok_and(|target| self.matcher.is_own_link(target.as_bytes()))
    }

    /// Reads an entry that belongs to the tree and is no directory, unless its stamp proves that it is unchanged.
    pub(super) fn read_entry(
        &self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        stat: &FileStat,
        known: Option<&Node>,
        buffer: &mut Vec<u8>,
    ) -> EntryRead {
        let (is_file, is_link) = (format(stat) == libc::S_IFREG, format(stat) == libc::S_IFLNK);
        if !is_file && !is_link {
            return EntryRead::Issue(TreeIssueKind::Special);
        }
        if known.and_then(|node| node.content.leaf()).is_some_and(|leaf| is_as_known(leaf, stat)) {
            return EntryRead::AsKnown;
        }
        let leaf = if is_link {
            read_link(directory, name, stat, self.now)
        } else {
            buffer.resize(BUFFER_BYTES, 0);
            read_file(directory, name, stat, self.now, buffer)
        };
        let kind = if is_link { EntryKind::Link } else { file_kind(stat).entry_kind() };
        leaf.map_or_else(
            |error| give_up(&error, kind, Some(EntryStamp::of(stat))),
            |leaf| EntryRead::Content(Content::Leaf(leaf)),
        )
    }

    /// Reads the rules files, such as `.gitignore`, of a directory. If they are unchanged, the compiled rules of the
    /// previous index are used again.
    fn read_rules_files(&self, directory: BorrowedFd<'_>, listing: &Listing, path: &[u8], found: &mut DirectoryRead) {
        let listed = RulesFile::ALL.into_iter().filter_map(|file| Some((file, listing.find(file.name().as_bytes())?)));
        // As in git, a link named `.gitignore` is not a rules file: its target may lie outside the tree.
        let stats = listed.filter_map(|(file, name)| {
            let stat = stat_entry(directory, name).ok().filter(|stat| format(stat) == libc::S_IFREG)?;
            Some((file, name, EntryStamp::of(&stat)))
        });
        let stats: Vec<_> = stats.collect();
        let known = found.previous.as_ref().and_then(|previous| previous.rules.as_ref());
        if let Some(known) = known.filter(|known| {
            let files = stats.iter().map(|(file, _, stamp)| (*file, *stamp, Trust::Settled));
            known.files.iter().copied().eq(files)
        }) {
            found.rules = Some(Arc::clone(known));
            return;
        }
        let (mut texts, mut files) = (Vec::new(), Vec::new());
        for (file, name, stamp) in stats {
            match read_rules(directory, name) {
                Ok(text) => {
                    texts.push((file, text));
                    files.push((file, stamp, stamp.trust(self.now)));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => found.aside.push(IssueEntry { name: name.to_bytes().into(), kind: TreeIssueKind::Unreadable }),
            }
        }
        if !texts.is_empty() {
            let directory = TreePath::try_from(path).expect("a walk makes clean paths");
            found.rules = Some(Arc::new(KnownRules { compiled: Arc::new(DirectoryRules::parse(directory, &texts)), files }));
        }
    }
}

/// Returns whether a directory is a linked worktree of git: another version of a project's code, which no check of this one reads.
fn is_linked_checkout(directory: BorrowedFd<'_>, listing: &Listing) -> bool {
    let text = listing.find(b".git").and_then(|name| read_rules(directory, name).ok());
    text.is_some_and(|text| text.starts_with(b"gitdir:") && text.windows(WORKTREES.len()).any(|part| part == WORKTREES))
}

/// Returns the content of a directory of installed packages. `known` is the entry in the previous index.
pub(super) fn environment(known: Option<&Node>) -> Content {
    let known = known.and_then(|node| node.content.directory()).filter(|directory| directory.is_environment);
    Content::Directory(known.cloned().unwrap_or_else(|| Arc::new(Directory::environment())))
}

/// Returns the content of a directory that was read; `None` if it was removed or replaced during the reading.
pub(super) fn to_content(outcome: io::Result<Arc<Directory>>) -> Option<Content> {
    match outcome {
        Ok(directory) => Some(Content::Directory(directory)),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP) => None,
            Some(_) | None => Some(Content::Unreadable(EntryKind::Directory, None)),
        },
    }
}

/// Returns whether a directory is deeper than [`MAX_DEPTH`].
pub(super) fn is_too_deep(path: &[u8]) -> bool {
    path.iter().filter(|byte| **byte == b'/').count() >= MAX_DEPTH
}

pub(super) fn push_name(path: &mut Vec<u8>, name: &[u8]) {
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
}

/// Returns the outcome for an entry that could not be read: unreadable, or, if the entry has vanished, as if it had
/// never been there.
fn give_up(error: &io::Error, kind: EntryKind, stamp: Option<EntryStamp>) -> EntryRead {
    if error.kind() == io::ErrorKind::NotFound {
        EntryRead::Nothing
    } else {
        EntryRead::Content(Content::Unreadable(kind, stamp))
    }
}

/// Returns whether an entry's stamp proves that it is unchanged. A changed mode also changes the stamp, by its change
/// time.
fn is_as_known(leaf: &Leaf, stat: &FileStat) -> bool {
    leaf.trust == Trust::Settled && leaf.stamp == EntryStamp::of(stat)
}

// Reads a whole tree: for the first time, or to bring an index up to date.

impl TreeIndex {
    /// Reads a whole tree, including the content of every file.
    ///
    /// Only the settings of the matcher are used. The rules files of the tree, such as `.gitignore`, and git's index are read
    /// during the scan. `now` must be the time of the call. With a later time, stamps (size, inode and times) of files that
    /// were just written would be trusted, although a further write could leave them equal.
    ///
    /// # Errors
    /// When the root cannot be read. An entry that cannot be read is an issue.
    pub fn scan(root: &Path, matcher: &Matcher, now: Timestamp) -> Result<Self, TreeError> {
        read_whole_tree(root, matcher, now, None)
    }

    /// Checks the whole tree again, but reads only files whose stamp (size, inode and times) has changed, or proves
    /// nothing because the file was just written. The result equals that of a new scan.
    ///
    /// # Errors
    /// When the root cannot be read.
    pub fn rescan(&self, matcher: &Matcher, now: Timestamp) -> Result<Self, TreeError> {
        read_whole_tree(&self.root, matcher, now, Some(self))
    }
}

fn read_whole_tree(root: &Path, matcher: &Matcher, now: Timestamp, previous: Option<&TreeIndex>) -> Result<TreeIndex, TreeError> {
    let failed = |source| TreeError::ReadRoot { path: root.to_owned(), source };
    let descriptor = open_root(root).map_err(failed)?;
    let git = read_git_index(root, previous.map(|previous| &previous.git));
    let look = TreeReader { root: &descriptor, matcher, tracked: git.paths(), now };
    let top = walk(&look, look.top(previous.map(|previous| Arc::clone(&previous.top)))).map_err(failed)?;
    let inputs = read_inputs(matcher, now, previous.map(|previous| &*previous.inputs).unwrap_or_default());
    Ok(TreeIndex { root: root.to_owned(), top, git, inputs })
}
