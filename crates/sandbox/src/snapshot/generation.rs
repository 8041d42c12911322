//! Counts the changes of a copy that some tools cannot see: tools that compare the times of their inputs with the time of
//! their cache.
//!
//! A file with new content gets the time of copying, so it is newer than every kept cache. Three changes leave no newer
//! file: an entry is removed, a link is changed to lead to another file, or an ignored input, whose copy gets an old time, has
//! another content.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use nix::fcntl::{AT_FDCWD, renameat};
use serde::{Deserialize, Serialize};

use proctor_model::Timestamp;

const GENERATION: &str = "generation";
const NEW: &str = "generation.new";

/// Identifies the state of a copy, as far as caches of earlier runs depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyGeneration {
    /// When the copy was made from scratch, in milliseconds since 1970. The files of a new copy have the times of the project's
    /// files, so a cache that was kept before then can hold the same time for other content.
    made: i64,
    /// How many updates since then made one of the three changes that leave no newer file.
    removals: u64,
}

impl CopyGeneration {
    pub(super) fn new(now: Timestamp) -> Self {
        Self { made: now.as_millis(), removals: 0 }
    }

    /// Returns the generation after an update that makes one of the three changes that leave no newer file.
    pub(super) fn after_removal(self) -> Self {
        Self { removals: self.removals + 1, ..self }
    }

    /// Returns whether no copy was made from scratch between the two generations.
    pub(super) fn is_of_same_copy(self, other: Self) -> bool {
        self.made == other.made
    }

    /// Reads the generation of the copy in `directory`; `None` if it is unknown.
    pub(super) fn read(directory: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(directory.join(GENERATION)).ok()?).ok()
    }

    pub(super) fn write(self, directory: &Path) -> io::Result<()> {
        let new = directory.join(NEW);
        File::create(&new)?.write_all(&serde_json::to_vec(&self)?)?;
        Ok(renameat(AT_FDCWD, &new, AT_FDCWD, &directory.join(GENERATION))?)
    }
}
