//! The look at some paths only: what is named is looked at, the directories above it get new digests, all else is shared.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use crate::ignore::{Matcher, RulesFile, Scope};
use crate::model::{EntryKind, Timestamp, TreePath};
use crate::tree::error::TreeError;
use crate::tree::hints::Touched;
use crate::tree::index::Index;
use crate::tree::listing::{is_directory, open_below, open_root, stat_entry, to_c_name};
use crate::tree::look::{Look, Place, Seen, is_too_deep, push_name, to_content};
use crate::tree::node::{Aside, Content, Directory, Node};
use crate::tree::walk::walk;

/// What a named entry of a directory is now.
type Changes = BTreeMap<Vec<u8>, Seen>;

impl Index {
    /// Looks at the named paths only, and at everything below those that are directories.
    ///
    /// The answer is that of a rescan, as long as nothing else has changed and the matcher has the settings of the last look. A
    /// rules file that is named makes its whole directory be looked at.
    ///
    /// # Errors
    /// When the root cannot be read.
    pub fn apply(&self, paths: &BTreeSet<TreePath>, matcher: &Matcher, now: Timestamp) -> Result<Self, TreeError> {
        if paths.is_empty() {
            return Ok(self.clone());
        }
        let failed = |source| TreeError::ReadRoot { path: self.root.clone(), source };
        let root = open_root(&self.root).map_err(failed)?;
        let mut renewal = Renewal { look: Look { root: &root, matcher, now }, buffer: Vec::new() };
        let place = renewal.look.top(Some(Arc::clone(&self.top)));
        let top = renewal.renew(place, &Touched::of(paths)).map_err(failed)?;
        Ok(Self { root: self.root.clone(), top })
    }
}

struct Renewal<'look> {
    look: Look<'look>,
    buffer: Vec<u8>,
}

impl Renewal<'_> {
    /// Looks at what is named of a directory.
    fn renew(&mut self, place: Place, touched: &Touched) -> io::Result<Arc<Directory>> {
        let names_rules = RulesFile::ALL.iter().any(|file| touched.below.contains_key(file.name().as_bytes()));
        let Some(previous) = place.previous.clone().filter(|_| !touched.is_named && !names_rules) else {
            return walk(&self.look, place);
        };
        match self.renew_named(&place, &previous, touched)? {
            Some(directory) => Ok(directory),
            None => walk(&self.look, place),
        }
    }

    /// Looks at the named entries of a directory; none where one of them cannot be looked at without its directory's list.
    fn renew_named(&mut self, place: &Place, previous: &Arc<Directory>, touched: &Touched) -> io::Result<Option<Arc<Directory>>> {
        let directory = open_below(self.look.root.as_fd(), &place.path)?;
        let rules = previous.rules.as_ref().map(|rules| &rules.compiled);
        let scope = self.look.matcher.narrow(&place.above, place.standing, rules);
        let mut changes = Changes::new();
        for (name, below) in &touched.below {
            let mut path = place.path.clone();
            push_name(&mut path, name);
            match self.look_again(directory.as_fd(), path, &scope, previous.find(name), below) {
                Some(seen) => changes.insert(name.clone(), seen),
                None => return Ok(None),
            };
        }
        Ok(Some(put_together(previous, changes)))
    }

    /// Looks at one named entry of a directory, or at the one on the way to something that is named.
    fn look_again(
        &mut self,
        directory: BorrowedFd<'_>,
        path: Vec<u8>,
        scope: &Scope,
        known: Option<&Node>,
        touched: &Touched,
    ) -> Option<Seen> {
        let name = path.rsplit(|byte| *byte == b'/').next().map(to_c_name).expect("a path has a last component");
        let stat = match stat_entry(directory, &name) {
            Ok(stat) => stat,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Seen::Nothing),
            // A directory that may be listed and not searched: only its list says what its entries are.
            Err(_) => return None,
        };
        let is_directory = is_directory(&stat);
        let standing = self.look.matcher.standing_of(scope, &path, is_directory);
        if !is_directory {
            let is_in = standing.belongs();
            let mut look = || self.look.look_at_entry(directory, &name, &stat, known, &mut self.buffer);
            return Some(if is_in { look() } else { Seen::Nothing });
        }
        if !standing.is_walked() {
            return Some(Seen::Nothing);
        }
        if is_too_deep(&path) {
            return Some(Seen::Content(Content::Unreadable(EntryKind::Directory, None)));
        }
        let previous = known.and_then(|node| node.content.directory()).cloned();
        let renewed = self.renew(Place { path, above: scope.clone(), standing, previous }, touched);
        Some(to_content(renewed).map_or(Seen::Nothing, Seen::Content))
    }
}

/// Makes a directory of what was known and of what some entries are now.
fn put_together(previous: &Arc<Directory>, mut changes: Changes) -> Arc<Directory> {
    let mut aside: Vec<Aside> = previous.aside.iter().filter(|aside| !changes.contains_key(&aside.name[..])).cloned().collect();
    let mut nodes = Vec::with_capacity(previous.nodes.len() + changes.len());
    for node in &previous.nodes {
        match changes.remove(&node.name[..]) {
            None | Some(Seen::AsKnown) => nodes.push(node.clone()),
            Some(Seen::Content(content)) => nodes.push(Node { name: node.name.clone(), content }),
            Some(Seen::Aside(kind)) => aside.push(Aside { name: node.name.clone(), kind }),
            Some(Seen::Nothing) => {}
        }
    }
    // What is left was not there before.
    for (name, seen) in changes {
        let name = name.into_boxed_slice();
        match seen {
            Seen::Content(content) => {
                let place = nodes.partition_point(|node| node.name < name);
                nodes.insert(place, Node { name, content });
            }
            Seen::Aside(kind) => aside.push(Aside { name, kind }),
            Seen::AsKnown | Seen::Nothing => {}
        }
    }
    aside.sort();
    if previous.consists_of(&nodes, previous.rules.as_ref(), &aside) {
        return Arc::clone(previous);
    }
    Arc::new(Directory::new(nodes, previous.rules.clone(), aside))
}
