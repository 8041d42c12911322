//! Looks at a whole tree: the first, and the ones that renew it.

use std::path::Path;
use std::sync::Arc;

use crate::ignore::Matcher;
use crate::model::Timestamp;
use crate::tree::error::TreeError;
use crate::tree::index::Index;
use crate::tree::listing::open_root;
use crate::tree::look::Look;
use crate::tree::node::Directory;
use crate::tree::walk::walk;

impl Index {
    /// Looks at a whole tree and reads every file of it.
    ///
    /// Of the matcher only the settings count: the rules files are those found on the way. `now` is the time of the call; a later
    /// one would make stale stamps look settled.
    ///
    /// # Errors
    /// When the root cannot be read. An entry that cannot be is an issue.
    pub fn scan(root: &Path, matcher: &Matcher, now: Timestamp) -> Result<Self, TreeError> {
        look_at_all(root, matcher, now, None)
    }

    /// Looks at the whole tree again and reads only what is not as it was, or was too fresh to tell. The same answer as a scan.
    ///
    /// # Errors
    /// When the root cannot be read.
    pub fn rescan(&self, matcher: &Matcher, now: Timestamp) -> Result<Self, TreeError> {
        look_at_all(&self.root, matcher, now, Some(Arc::clone(&self.top)))
    }
}

fn look_at_all(root: &Path, matcher: &Matcher, now: Timestamp, previous: Option<Arc<Directory>>) -> Result<Index, TreeError> {
    let failed = |source| TreeError::ReadRoot { path: root.to_owned(), source };
    let descriptor = open_root(root).map_err(failed)?;
    let look = Look { root: &descriptor, matcher, now };
    let top = walk(&look, look.top(previous)).map_err(failed)?;
    Ok(Index { root: root.to_owned(), top })
}
