//! Updates an index for some paths. Only these paths are read again, and the directories above them get new digests. All other
//! directories are shared with the old index.
//!
//! Which paths may have changed since an index was made.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use nix::sys::stat::fstat;

use crate::error::TreeError;
use crate::ignore::{Matcher, RulesFile, RulesScope, TreeMembership, VIRTUAL_ENVIRONMENT};
use crate::index::TreeIndex;
use crate::inputs::read_inputs;
use crate::listing::{is_directory, is_link, open_below, open_root, stat_entry, to_c_name};
use crate::node::{Content, Directory, IssueEntry, Node};
use crate::read::{DirectoryToRead, EntryRead, TreeReader, environment, is_too_deep, push_name, to_content};
use crate::stamp::DirectoryStamp;
use crate::walk::walk;
use proctor_git::read_git_index;
use proctor_model::{EntryKind, Timestamp, TreePath};

/// The new state of those entries of a directory that were read again, by their names.
type Changes = BTreeMap<Vec<u8>, EntryRead>;

impl TreeIndex {
    /// Reads only the given paths again; a given directory is read with everything below it.
    ///
    /// The result equals that of a rescan if nothing else has changed and the matcher has the same settings as before.
    /// If the paths include a rules file, such as `.gitignore`, the whole directory of that file is read again.
    ///
    /// # Errors
    /// When the root cannot be read.
    pub fn apply(&self, paths: &BTreeSet<TreePath>, matcher: &Matcher, now: Timestamp) -> Result<Self, TreeError> {
        self.renewed(paths, matcher, now, Unnamed::Keep)
    }

    /// Reads the given paths again, as [`Self::apply`] does, and also every entry that the matcher selected before.
    /// This is for an index of ignored inputs, which are few. Directories that the matcher only passes through are not
    /// listed, unless a path names them. So the paths must name every entry that is new in such a directory.
    ///
    /// # Errors
    /// When the root cannot be read.
    pub fn apply_and_check_selected(
        &self,
        paths: &BTreeSet<TreePath>,
        matcher: &Matcher,
        now: Timestamp,
    ) -> Result<Self, TreeError> {
        self.renewed(paths, matcher, now, Unnamed::CheckSelected)
    }

    fn renewed(
        &self,
        paths: &BTreeSet<TreePath>,
        matcher: &Matcher,
        now: Timestamp,
        unnamed: Unnamed,
    ) -> Result<Self, TreeError> {
        let git = read_git_index(&self.root, Some(&self.git));
        // A path that git began or ceased to track may now belong to the tree, or may no longer belong to it.
        let changed =
            if Arc::ptr_eq(git.paths(), self.git.paths()) { Vec::new() } else { git.paths().differences(self.git.paths()) };
        // No hint names what changed in an input, and the inputs are few: their stamps are compared each time.
        let inputs = read_inputs(matcher, now, &self.inputs);
        if paths.is_empty() && changed.is_empty() && unnamed == Unnamed::Keep {
            return Ok(Self { git, inputs, ..self.clone() });
        }
        let failed = |source| TreeError::ReadRoot { path: self.root.clone(), source };
        let root = open_root(&self.root).map_err(failed)?;
        let look = TreeReader { root: &root, matcher, tracked: git.paths(), now };
        let mut renewal = Renewal { look, buffer: Vec::new(), unnamed };
        let place = renewal.look.top(Some(Arc::clone(&self.top)));
        let top = renewal.renew(place, &HintedPaths::of(paths.iter().chain(&changed))).map_err(failed)?;
        Ok(Self { root: self.root.clone(), top, git, inputs })
    }
}

/// Whether the entries that the hints do not name are compared too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unnamed {
    /// Entries that no hint names are taken over from the previous index.
    Keep,
    /// Entries that no hint names are read again if the matcher selected them before.
    CheckSelected,
}

struct Renewal<'look> {
    look: TreeReader<'look>,
    buffer: Vec<u8>,
    unnamed: Unnamed,
}

impl Renewal<'_> {
    /// Reads those entries of a directory again that `touched` names. The whole directory is read again if `touched`
    /// names the directory itself or one of its rules files, such as `.gitignore`, or if the directory is selected and all
    /// selected entries are checked.
    fn renew(&mut self, place: DirectoryToRead, touched: &HintedPaths) -> io::Result<Arc<Directory>> {
        let names_rules = RulesFile::ALL.iter().any(|file| touched.below.contains_key(file.name().as_bytes()));
        let is_checked = self.unnamed == Unnamed::CheckSelected && place.membership != TreeMembership::Passed;
        // Only a list of the directory tells whether it is a virtual environment.
        let names_environment = touched.below.contains_key(VIRTUAL_ENVIRONMENT.as_bytes());
        let is_listed = touched.is_named || names_rules || names_environment || is_checked;
        let Some(previous) = place.previous.clone().filter(|previous| !is_listed && !previous.is_environment) else {
            return walk(&self.look, place);
        };
        match self.renew_named(&place, &previous, touched)? {
            Some(directory) => Ok(directory),
            None => walk(&self.look, place),
        }
    }

    /// Reads the entries of a directory again that `touched` names. Returns `None` if the kind of an entry can only be
    /// told from a list of the whole directory.
    fn renew_named(
        &mut self,
        place: &DirectoryToRead,
        previous: &Arc<Directory>,
        touched: &HintedPaths,
    ) -> io::Result<Option<Arc<Directory>>> {
        let directory = open_below(self.look.root.as_fd(), &place.path)?;
        let stamp = DirectoryStamp::of(&fstat(&directory)?);
        let rules = previous.rules.as_ref().map(|rules| &rules.compiled);
        let scope = self.look.matcher.narrow(&place.above, place.membership, rules);
        let mut changes = Changes::new();
        let unnamed = HintedPaths::default();
        let named = touched.below.iter().map(|(name, below)| (&name[..], below));
        let checked = self.selected(previous).filter(|name| !touched.below.contains_key(*name)).map(|name| (name, &unnamed));
        for (name, below) in named.chain(checked) {
            let mut path = place.path.clone();
            push_name(&mut path, name);
            match self.read_again(directory.as_fd(), path, &scope, previous.find(name), below) {
                Some(seen) => changes.insert(name.to_owned(), seen),
                None => return Ok(None),
            };
        }
        Ok(Some(merge_changes(previous, changes, stamp, place.membership)))
    }

    /// Returns the names of the entries that are read again although no hint names them.
    fn selected<'d>(&self, directory: &'d Directory) -> impl Iterator<Item = &'d [u8]> + use<'d> {
        let checks = self.unnamed == Unnamed::CheckSelected && !directory.is_passed_throughout;
        let nodes = directory.nodes.iter().filter(|node| !node.content.is_passed_throughout()).map(|node| &node.name[..]);
        nodes.chain(directory.aside.iter().map(|aside| &aside.name[..])).filter(move |_| checks)
    }

    /// Reads one entry of a directory again: an entry that `touched` names, or a directory that contains such an entry
    /// at any depth.
    fn read_again(
        &mut self,
        directory: BorrowedFd<'_>,
        path: Vec<u8>,
        scope: &RulesScope,
        known: Option<&Node>,
        touched: &HintedPaths,
    ) -> Option<EntryRead> {
        let name = path.rsplit(|byte| *byte == b'/').next().map(to_c_name).expect("a path has a last component");
        let stat = match stat_entry(directory, &name) {
            Ok(stat) => stat,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(EntryRead::Nothing),
            // The directory may be readable but not searchable. Then only a list of the directory says which entries
            // are directories.
            Err(_) => return None,
        };
        let is_directory = is_directory(&stat);
        let membership = self.look.matcher.membership_of(scope, &path, is_directory);
        if !is_directory {
            let is_in = membership.belongs() && !(is_link(&stat) && self.look.is_own_link(directory, &name));
            let mut look = || self.look.read_entry(directory, &name, &stat, known, &mut self.buffer);
            return Some(if is_in { look() } else { EntryRead::Nothing });
        }
        if membership == TreeMembership::Environment {
            return Some(EntryRead::Content(environment(known)));
        }
        if !membership.is_walked() {
            return Some(EntryRead::Nothing);
        }
        if is_too_deep(&path) {
            return Some(EntryRead::Content(Content::Unreadable(EntryKind::Directory, None)));
        }
        let previous = known.and_then(|node| node.content.directory()).cloned();
        let renewed = self.renew(DirectoryToRead { path, above: scope.clone(), membership, previous }, touched);
        Some(to_content(renewed).map_or(EntryRead::Nothing, EntryRead::Content))
    }
}

/// Makes a directory from a previous one and the new state of some entries. Returns the previous directory itself if
/// nothing differs.
fn merge_changes(
    previous: &Arc<Directory>,
    mut changes: Changes,
    stamp: DirectoryStamp,
    membership: TreeMembership,
) -> Arc<Directory> {
    let mut aside: Vec<IssueEntry> =
        previous.aside.iter().filter(|aside| !changes.contains_key(&aside.name[..])).cloned().collect();
    let mut nodes = Vec::with_capacity(previous.nodes.len() + changes.len());
    for node in &previous.nodes {
        match changes.remove(&node.name[..]) {
            None | Some(EntryRead::AsKnown) => nodes.push(node.clone()),
            Some(EntryRead::Content(content)) => nodes.push(Node { name: node.name.clone(), content }),
            Some(EntryRead::Issue(kind)) => aside.push(IssueEntry { name: node.name.clone(), kind }),
            Some(EntryRead::Nothing) => {}
        }
    }
    // The changes that are left are entries that the previous directory did not have.
    for (name, seen) in changes {
        let name = name.into_boxed_slice();
        match seen {
            EntryRead::Content(content) => {
                let place = nodes.partition_point(|node| node.name < name);
                nodes.insert(place, Node { name, content });
            }
            EntryRead::Issue(kind) => aside.push(IssueEntry { name, kind }),
            EntryRead::AsKnown | EntryRead::Nothing => {}
        }
    }
    aside.sort();
    previous.renew(nodes, previous.rules.clone(), aside, stamp, membership)
}

/// Which paths of a tree may have changed since its index was made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TreeHints {
    /// Any path: the whole tree is checked.
    #[default]
    Everything,
    /// Only these paths and, for directories, everything below them. An unnecessary path only costs time. A missing
    /// path leaves the digest wrong until the whole tree is checked again.
    Only(BTreeSet<TreePath>),
}

impl TreeHints {
    /// Returns the hints that name no path: nothing has changed.
    pub fn nothing() -> Self {
        Self::Only(BTreeSet::new())
    }

    /// Adds the paths of other hints.
    pub fn add(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Everything, _) => {}
            (Self::Only(_), Self::Everything) => *self = Self::Everything,
            (Self::Only(paths), Self::Only(more)) => paths.extend(more),
        }
    }
}

/// The named paths as a tree, so that each directory knows which of its entries to check.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HintedPaths {
    /// Whether the hints name this path itself, and not only paths below it.
    pub(super) is_named: bool,
    /// The hinted paths below this path, by the name of their next component.
    pub(super) below: BTreeMap<Vec<u8>, HintedPaths>,
}

impl HintedPaths {
    /// Arranges paths. What lies beside the tree is left out: inputs are read again each time.
    pub(super) fn of<'paths>(paths: impl IntoIterator<Item = &'paths TreePath>) -> Self {
        let mut top = Self::default();
        for path in paths.into_iter().filter(|path| !path.is_beside()) {
            let names = path.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty());
            let end = names.fold(&mut top, |touched, name| touched.below.entry(name.to_owned()).or_default());
            end.is_named = true;
        }
        top
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_arranged_by_their_components() {
        let paths = ["a/b", "a", "a-b", ""].map(|text| TreePath::try_from(text).expect("a clean path"));
        let named = |below: Vec<(&str, HintedPaths)>| HintedPaths {
            is_named: true,
            below: below.into_iter().map(|(name, touched)| (name.as_bytes().to_vec(), touched)).collect(),
        };
        let expected = named(vec![("a", named(vec![("b", named(vec![]))])), ("a-b", named(vec![]))]);
        assert_eq!(HintedPaths::of(&paths), expected);
        assert!(!HintedPaths::of(&paths[..1]).is_named);
    }
}
