//! Reads a whole tree: for the first time, or to bring an index up to date.

use std::path::Path;
use std::sync::Arc;

use crate::error::TreeError;
use crate::ignore::Matcher;
use crate::index::TreeIndex;
use crate::inputs::read_inputs;
use crate::listing::open_root;
use crate::read::TreeReader;
use crate::walk::walk;
use proctor_git::read_git_index;
use proctor_model::Timestamp;

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
