//! The owner of a store, and paths in it as faults name them.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::Store;

/// Returns the user number (uid) of the owner of the store's directory; 0 if the directory cannot be examined.
pub(super) fn owner(store: &Store) -> u32 {
    store.root().metadata().map(|metadata| metadata.uid()).unwrap_or_default()
}

/// Returns a path below the store, without the store's own.
pub(super) fn relative(store: &Store, path: &Path) -> PathBuf {
    path.strip_prefix(store.root()).unwrap_or(path).to_owned()
}
