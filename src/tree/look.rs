//! Looking at one directory and at one entry: what both the walk of a whole tree and the renewal of some paths do.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use nix::libc;
use nix::sys::stat::FileStat;

use crate::ignore::{DirectoryRules, Matcher, RulesFile, Scope, Standing};
use crate::model::{EntryKind, Timestamp, TreeIssueKind, TreePath};
use crate::tree::content::{BUFFER_BYTES, file_kind, format, read_file, read_link, read_rules};
use crate::tree::listing::{Listing, is_directory, list, open_below, stat_entry};
use crate::tree::node::{Aside, Content, Directory, KnownRules, Leaf, Node};
use crate::tree::stamp::{Stamp, Trust};

/// How many directories deep a look goes; what lies deeper counts as unreadable. A tree made to exhaust the stack ends here.
const MAX_DEPTH: usize = 256;

/// What holds for a whole look at a tree.
pub(super) struct Look<'look> {
    pub(super) root: &'look OwnedFd,
    pub(super) matcher: &'look Matcher,
    pub(super) now: Timestamp,
}

/// A directory that is to be looked at.
pub(super) struct Place {
    /// Its path from the root.
    pub(super) path: Vec<u8>,
    /// What holds in the directory above it; at the root, what holds at the root without rules files.
    pub(super) above: Scope,
    pub(super) standing: Standing,
    /// What an earlier look found here.
    pub(super) previous: Option<Arc<Directory>>,
}

/// What was found in a directory, before what is below it is known.
pub(super) struct Found {
    pub(super) previous: Option<Arc<Directory>>,
    pub(super) entries: Vec<FoundEntry>,
    pub(super) rules: Option<Arc<KnownRules>>,
    pub(super) aside: Vec<Aside>,
    /// The directories that are to be looked at next, in the order of their entries.
    pub(super) below: Vec<Place>,
}

/// An entry that was found.
pub(super) enum FoundEntry {
    /// The node at this position of the earlier look's directory, as it was.
    Known(usize),
    /// Another one. Boxed: in a tree that is known nearly every entry is, and all of them are held until the walk is over.
    New(Box<Node>),
    /// A directory; it is the next of those below.
    Below(Box<[u8]>),
}

/// What a look at one entry came to.
pub(super) enum Seen {
    /// It belongs to the tree and is this.
    Content(Content),
    /// It is what an earlier look found.
    AsKnown,
    /// It is named, and takes no part in the digest.
    Aside(TreeIssueKind),
    /// It is gone, or became something else while it was looked at; the next look will see it.
    Nothing,
}

impl Look<'_> {
    /// Returns the root as a place.
    pub(super) fn top(&self, previous: Option<Arc<Directory>>) -> Place {
        Place { path: Vec::new(), above: self.matcher.bare_scope(), standing: Standing::In, previous }
    }

    /// Looks at a directory. `buffer` is what files are read through; it is made where the first file is read.
    pub(super) fn look_at_directory(&self, place: Place, buffer: &mut Vec<u8>) -> io::Result<Found> {
        let (directory, listing) = list(open_below(self.root.as_fd(), &place.path)?)?;
        let Place { mut path, above, standing, previous } = place;
        let mut found =
            Found { rules: None, entries: Vec::with_capacity(listing.len()), aside: Vec::new(), below: Vec::new(), previous };
        if standing.reads_rules() {
            self.read_rules_files(directory.as_fd(), &listing, &path, &mut found);
        }
        let scope = self.matcher.narrow(&above, standing, found.rules.as_ref().map(|rules| &rules.compiled));
        let parent_length = path.len();
        for position in 0..listing.len() {
            let name = listing.name(position);
            path.truncate(parent_length);
            push_name(&mut path, name.to_bytes());
            let is_directory = listing.is_directory(position);
            let standing = self.matcher.standing_of(&scope, &path, is_directory);
            if is_directory && standing.is_walked() {
                self.go_below(&path, name, &scope, standing, &mut found);
            } else if !is_directory && standing.belongs() {
                self.take_entry(directory.as_fd(), name, &mut found, buffer);
            }
        }
        Ok(found)
    }

    fn go_below(&self, path: &[u8], name: &CStr, scope: &Scope, standing: Standing, found: &mut Found) {
        let name = name.to_bytes();
        if is_too_deep(path) {
            let content = Content::Unreadable(EntryKind::Directory, None);
            found.entries.push(FoundEntry::New(Box::new(Node { name: name.into(), content })));
            return;
        }
        let known = found.previous.as_ref().and_then(|previous| previous.find(name)?.content.directory());
        let place = Place { path: path.to_owned(), above: scope.clone(), standing, previous: known.cloned() };
        found.below.push(place);
        found.entries.push(FoundEntry::Below(name.into()));
    }

    fn take_entry(&self, directory: BorrowedFd<'_>, name: &CStr, found: &mut Found, buffer: &mut Vec<u8>) {
        let previous = found.previous.as_deref().map_or(&[][..], |previous| &previous.nodes);
        let position = previous.binary_search_by(|node| node.name[..].cmp(name.to_bytes())).ok();
        let known = position.map(|position| &previous[position]);
        let seen = match stat_entry(directory, name) {
            // What was listed as something else was judged as something else; the next look will judge it right.
            Ok(stat) if is_directory(&stat) => Seen::Nothing,
            Ok(stat) => self.look_at_entry(directory, name, &stat, known, buffer),
            Err(error) => give_up(&error, EntryKind::File, None),
        };
        let name = name.to_bytes();
        match (seen, position) {
            (Seen::AsKnown, Some(position)) => found.entries.push(FoundEntry::Known(position)),
            (Seen::Content(content), _) => found.entries.push(FoundEntry::New(Box::new(Node { name: name.into(), content }))),
            (Seen::Aside(kind), _) => found.aside.push(Aside { name: name.into(), kind }),
            (Seen::Nothing | Seen::AsKnown, _) => {}
        }
    }

    /// Looks at an entry that is no directory and belongs to the tree, and reads it unless its stamp proves that it is as known.
    pub(super) fn look_at_entry(
        &self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        stat: &FileStat,
        known: Option<&Node>,
        buffer: &mut Vec<u8>,
    ) -> Seen {
        let (is_file, is_link) = (format(stat) == libc::S_IFREG, format(stat) == libc::S_IFLNK);
        if !is_file && !is_link {
            return Seen::Aside(TreeIssueKind::Special);
        }
        if known.and_then(|node| node.content.leaf()).is_some_and(|leaf| is_as_known(leaf, stat)) {
            return Seen::AsKnown;
        }
        let leaf = if is_link {
            read_link(directory, name, stat, self.now)
        } else {
            buffer.resize(BUFFER_BYTES, 0);
            read_file(directory, name, stat, self.now, buffer)
        };
        let kind = if is_link { EntryKind::Link } else { file_kind(stat).entry_kind() };
        leaf.map_or_else(|error| give_up(&error, kind, Some(Stamp::of(stat))), |leaf| Seen::Content(Content::Leaf(leaf)))
    }

    /// Reads the rules files of a directory, or takes over what an earlier look made of them.
    fn read_rules_files(&self, directory: BorrowedFd<'_>, listing: &Listing, path: &[u8], found: &mut Found) {
        let listed = RulesFile::ALL.into_iter().filter_map(|file| Some((file, listing.find(file.name().as_bytes())?)));
        // A link is no rules file, for git neither: what it leads to is not part of this tree.
        let stats = listed.filter_map(|(file, name)| {
            let stat = stat_entry(directory, name).ok().filter(|stat| format(stat) == libc::S_IFREG)?;
            Some((file, name, Stamp::of(&stat)))
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
                Err(_) => found.aside.push(Aside { name: name.to_bytes().into(), kind: TreeIssueKind::Unreadable }),
            }
        }
        if !texts.is_empty() {
            let directory = TreePath::try_from(path).expect("a walk makes clean paths");
            found.rules = Some(Arc::new(KnownRules { compiled: Arc::new(DirectoryRules::parse(directory, &texts)), files }));
        }
    }
}

/// Returns what becomes of a directory that was looked at; none for what is gone or was replaced by something else meanwhile.
pub(super) fn to_content(outcome: io::Result<Arc<Directory>>) -> Option<Content> {
    match outcome {
        Ok(directory) => Some(Content::Directory(directory)),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP) => None,
            Some(_) | None => Some(Content::Unreadable(EntryKind::Directory, None)),
        },
    }
}

/// Returns whether a directory lies deeper than a look goes.
pub(super) fn is_too_deep(path: &[u8]) -> bool {
    path.iter().filter(|byte| **byte == b'/').count() >= MAX_DEPTH
}

/// Appends a component to a path.
pub(super) fn push_name(path: &mut Vec<u8>, name: &[u8]) {
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
}

/// Names an entry that could not be read; what has vanished in the meantime is simply not there.
fn give_up(error: &io::Error, kind: EntryKind, stamp: Option<Stamp>) -> Seen {
    if error.kind() == io::ErrorKind::NotFound { Seen::Nothing } else { Seen::Content(Content::Unreadable(kind, stamp)) }
}

/// Returns whether an entry's stamp proves that it still is what is known of it. A changed mode changes the stamp's change time.
fn is_as_known(leaf: &Leaf, stat: &FileStat) -> bool {
    leaf.trust == Trust::Settled && leaf.stamp == Stamp::of(stat)
}
