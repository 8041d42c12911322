//! Decides from the index of a tree whether the tree can be copied, and why not. Pure.

use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use proctor_model::{ByteSize, Digest, TreeIssueKind, TreePath};
use proctor_tree::TreeIndex;

/// The limit that is advised is a multiple of this many bytes.
const MEBIBYTE: u64 = 1 << 20;

/// Why no copy can be made of a tree or of a project's ignored files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InPlaceReason {
    /// The files are larger than the limit for copies.
    TooLarge {
        /// The total size of the files.
        bytes: ByteSize,
        /// The largest size that is copied (`max_snapshot_bytes`).
        bound: ByteSize,
        /// The file or directory that holds most of the bytes, with its size.
        largest: (TreePath, ByteSize),
    },
    /// An entry cannot be read, so it cannot be copied.
    Unreadable(TreePath),
    /// An entry changed whenever it was copied.
    Changing(TreePath),
    /// The project has more directories of installed packages than can be shown on a snapshot.
    TooManyEnvironments { count: usize, bound: usize },
    /// More attempts wrote files than one mount can show.
    TooManyLayers { bound: usize },
}

/// Returns why a tree cannot have a copy of at most `bound` bytes; `None` if it can have one. Sockets, pipes and devices are left out of
/// it: a copy would not be connected to the same program or device.
pub fn obstacle(index: &TreeIndex, bound: ByteSize) -> Option<InPlaceReason> {
    let unreadable = index.issues().into_iter().find(|issue| issue.kind == TreeIssueKind::Unreadable);
    unreadable.map(|issue| InPlaceReason::Unreadable(issue.path)).or_else(|| obstacle_of_size(index, bound))
}

/// Returns why the ignored files that checks read cannot have a copy of at most `bound` bytes; `None` if they can have one. What
/// cannot be read is left out of it: the checks, which are the same user, could not read it either.
pub fn obstacle_of_size(index: &TreeIndex, bound: ByteSize) -> Option<InPlaceReason> {
    let bytes = ByteSize(index.bytes());
    let (path, size) = index.largest();
    (bytes > bound).then_some(InPlaceReason::TooLarge { bytes, bound, largest: (path, ByteSize(size)) })
}

/// Returns the entries that a copy does not have: sockets, pipes, devices, and what cannot be read.
pub fn left_out(index: &TreeIndex) -> Vec<TreePath> {
    index.issues().into_iter().map(|issue| issue.path).collect()
}

impl InPlaceReason {
    /// Returns the reason in words, for an index of ignored files that checks read.
    pub fn among_ignored_files(&self) -> String {
        self.of("the ignored files that checks read hold")
    }

    /// Returns what to do: the line of `[sandbox]` that lets checks have a copy, if there is one.
    pub fn remedy(&self) -> String {
        match self {
            Self::TooLarge { bytes, largest: (path, _), .. } => {
                let enough = ByteSize(bytes.0.saturating_add(bytes.0 / 4).next_multiple_of(MEBIBYTE));
                format!("write `max_snapshot_bytes = \"{enough}\"` below `[sandbox]`, or move `{path}` out of the project")
            }
            Self::Unreadable(path) => format!("make `{path}` readable, or leave it out of the tree (`ignore` of `[watch]`)"),
            Self::Changing(path) => format!("stop what writes `{path}`, and run again"),
            Self::TooManyLayers { .. } => "let fewer checks write files beside those in `$TMPDIR`".to_owned(),
            Self::TooManyEnvironments { .. } => "register the parts of the project as projects of their own".to_owned(),
        }
    }

    fn of(&self, subject: &str) -> String {
        match self {
            Self::TooLarge { bytes, bound, largest: (path, size) } => {
                format!("{subject} {bytes} (`{path}` has {size}), and a snapshot may hold {bound} (`max_snapshot_bytes`)")
            }
            Self::Unreadable(path) => format!("`{path}` cannot be read"),
            Self::Changing(path) => format!("`{path}` changed whenever it was copied"),
            Self::TooManyLayers { bound } => {
                format!("attempts of checks wrote files more than {bound} times, and it shows no more")
            }
            Self::TooManyEnvironments { count, bound } => {
                format!("the project has {count} directories of installed packages, and a snapshot shows at most {bound}")
            }
        }
    }
}

impl fmt::Display for InPlaceReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.of("the tree holds"))
    }
}

// Remembers under which conditions a project's snapshot could be mounted. Then a process that makes one run need not try the mount
// before it: a trial costs as much as the start of a check. What is remembered decides nothing alone. If the mount fails although it
// worked before under the same conditions, the run has no verdict, and the next one tries first.

/// The file in a project's snapshot directory with the digest of the conditions.
const MOUNTED: &str = "mounted";
/// The mounts that this process sees.
const MOUNTS: &str = "/proc/self/mountinfo";

/// What decides whether a snapshot can be mounted: the boot of the machine, the user and the user namespace, every mount that this
/// process sees, and the directories of packages that are mounted into the snapshot.
#[derive(Debug)]
pub struct MountConditions {
    file: PathBuf,
    /// `None` if they cannot be read.
    now: Option<Digest>,
}

impl MountConditions {
    /// Reads the conditions of now for a project with this snapshot directory.
    pub fn of_now(snapshot: &Path, boot: &str, environments: &[PathBuf]) -> Self {
        let read = || {
            let user = nix::unistd::geteuid();
            let mut text = format!("{boot}\n{user}\n{}\n", fs::read_link("/proc/self/ns/user").ok()?.display());
            environments.iter().for_each(|path| writeln!(text, "{}", path.display()).expect("memory takes everything"));
            Some(Digest::of(&[text.into_bytes(), fs::read(MOUNTS).ok()?].concat()))
        };
        Self { file: snapshot.join(MOUNTED), now: read().filter(|_| !boot.is_empty()) }
    }

    /// Returns whether a mount has worked under these conditions.
    pub fn have_worked(&self) -> bool {
        self.now.is_some_and(|now| fs::read(&self.file).is_ok_and(|text| text == now.to_string().as_bytes()))
    }

    /// Remembers that a mount works under these conditions.
    ///
    /// # Errors
    /// When the file cannot be written. Then the next process tries the mount again.
    pub fn remember(&self) -> io::Result<()> {
        let Some(now) = self.now else { return Ok(()) };
        File::create(&self.file)?.write_all(now.to_string().as_bytes())
    }

    /// Forgets that a mount of this snapshot has worked.
    pub fn forget(snapshot: &Path) {
        // What cannot be removed makes one more run without a verdict, which is repeated.
        let _left = fs::remove_file(snapshot.join(MOUNTED));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_has_worked_only_under_the_conditions_that_were_remembered() {
        let kept = tempfile::tempdir().expect("a directory");
        let of = |boot: &str, environments: &[&str]| {
            let environments: Vec<PathBuf> = environments.iter().map(PathBuf::from).collect();
            MountConditions::of_now(kept.path(), boot, &environments)
        };
        assert!(!of("one", &[]).have_worked());
        of("one", &[]).remember().expect("it is ours");
        assert!(of("one", &[]).have_worked());
        assert!(!of("two", &[]).have_worked(), "after another boot");
        assert!(!of("one", &["/venv"]).have_worked(), "with another directory of packages");
        of("", &[]).remember().expect("it is ours");
        assert!(!of("", &[]).have_worked(), "where the boot is not known");
        assert!(of("one", &[]).have_worked());
        MountConditions::forget(kept.path());
        assert!(!of("one", &[]).have_worked());
    }
}
