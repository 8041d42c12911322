//! Remembers under which conditions a project's snapshot could be mounted. Then a process that makes one run need not try the mount
//! before it: a trial costs as much as the start of a check.
//!
//! What is remembered decides nothing alone. If the mount fails although it worked before under the same conditions, the run has no
//! verdict, and the next one tries first.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use proctor_model::Digest;

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
