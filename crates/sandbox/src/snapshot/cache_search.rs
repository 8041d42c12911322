//! Finds the caches in the layer that a check wrote. Links are never followed.

use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;

use nix::libc;

use crate::process::is_opaque;
use crate::snapshot::entries::{format, names_in, stat_of};
use proctor_model::TreePath;
use proctor_tree::ignore::{CacheKind, cache_kind, is_by_product};
use proctor_tree::{open_below, open_root};

/// What a check wrote to its layer, as far as its caches are concerned.
#[derive(Debug, Default)]
pub struct WrittenCaches {
    /// The topmost entry of each cache, with the kind of the cache.
    pub(super) roots: Vec<(TreePath, CacheKind)>,
    /// Entries of the layer that replace whatever was at their path, such as removals. The parts of a kept cache at or
    /// below such a path no longer exist for the check.
    pub(super) replaced: Vec<TreePath>,
    /// Whether the check wrote anything but caches and by-products.
    pub(super) wrote_more: bool,
}

impl WrittenCaches {
    /// Returns the topmost entry of each cache.
    pub fn roots(&self) -> impl Iterator<Item = &TreePath> {
        self.roots.iter().map(|(path, _)| path)
    }
}

/// Finds the caches in the layer `upper`. An entry with the name of a cache does not count as a cache if the check
/// already saw an entry at its path before it wrote: `is_seen` says so. `skipped` has the mount points that were made for
/// the check.
///
/// # Errors
/// When the layer cannot be read.
pub fn find_caches(
    upper: &Path,
    skipped: &[TreePath],
    is_seen: &dyn Fn(&TreePath) -> io::Result<bool>,
) -> io::Result<WrittenCaches> {
    let top = open_root(upper)?;
    let mut found = WrittenCaches::default();
    let mut waiting = vec![TreePath::root()];
    while let Some(parent) = waiting.pop() {
        let directory = match open_below(top.as_fd(), parent.as_bytes()) {
            // The check removed its own permission to read this directory. Later checks cannot read the directory either,
            // so it is skipped.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
            opened => opened?,
        };
        if !parent.is_root() && is_opaque(directory.as_fd())? {
            found.replaced.push(parent.clone());
        }
        for (name, _) in names_in(&directory)? {
            let path = parent.join(name.to_bytes());
            if skipped.contains(&path) {
                continue;
            }
            if let Some(kind) = cache_kind(name.to_bytes())
                && !is_seen(&path)?
            {
                found.roots.push((path, kind));
                continue;
            }
            if format(&stat_of(&directory, &name)?) == libc::S_IFDIR {
                waiting.push(path);
                continue;
            }
            found.wrote_more |= !is_by_product(&path);
            found.replaced.push(path);
        }
    }
    Ok(found)
}
