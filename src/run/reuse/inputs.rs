//! What a check depends on, as one digest: its settings, the files it names or the whole tree, environment, variables, sandbox.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use sha2::{Digest as _, Sha256};

use crate::config::{HomeAccess, SandboxMode, SandboxSettings};
use crate::model::{Digest, EntryKind, IdentityWriter, IsolationLevel, TreeDigest, TreeIssueKind};
use crate::project::is_hit;
use crate::project::{Surveyed, is_pinned};
use crate::report::GENERATED_BY;
use crate::tree::TreeIndex;

/// The first part of every digest of inputs: another way of making it has another name.
const FORMAT: &[u8] = b"proctor-inputs-v2";

/// What a check depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckInputs<'a> {
    /// The digest of the check as resolved, and of the plan's prerequisites.
    pub(crate) check: Digest,
    /// The digest of what it depends on of the tree.
    pub(crate) tree: RelevantTree,
    /// The digest of tools, lock files and installed packages.
    pub(crate) environment: Digest,
    /// The variables its command is given.
    pub(crate) variables: &'a BTreeMap<OsString, OsString>,
    /// How it is kept apart, which decides what it sees.
    pub(crate) sandbox: &'a SandboxSettings,
    /// The strongest level that is tried.
    pub(crate) strongest_isolation: IsolationLevel,
}

/// What a check depends on of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelevantTree {
    /// All of it.
    Whole(TreeDigest),
    /// The files its `paths` name, and those that pin and configure the tools; the digest over their names and contents.
    Files(Digest),
}

/// What is known of the inputs of a run's checks, by name, and of the environment they are part of.
pub(crate) struct ReusableInputs {
    /// The environment as it was before the first check.
    pub(crate) surveyed: Surveyed,
    /// The digests, of those checks alone whose verdicts may be reused, in this run or a later one.
    pub(crate) of_checks: BTreeMap<String, (Digest, RelevantTree)>,
}

/// Names the variable that is another one for every action: where it may put artifacts.
const OWN_OUTPUT: &str = "PROCTOR_OUT";

impl CheckInputs<'_> {
    /// Returns the one digest: where it is equal, a check has been given the same.
    ///
    /// Not covered: files that belong to no tree, packages outside of the project's own environments, the network, the time.
    pub(crate) fn digest(&self) -> Digest {
        self.digest_for(GENERATED_BY)
    }

    fn digest_for(&self, generated_by: &str) -> Digest {
        let mut hasher = Sha256::new();
        let (kind, tree): (&[u8], _) = match self.tree {
            RelevantTree::Whole(TreeDigest(digest)) => (b"whole", digest),
            RelevantTree::Files(digest) => (b"files", digest),
        };
        let sandbox = sandbox_identity(self.sandbox, self.strongest_isolation);
        // Another version may read the same output otherwise.
        for bytes in [FORMAT, generated_by.as_bytes(), kind, sandbox.as_bytes()] {
            part(&mut hasher, bytes);
        }
        for digest in [self.check, tree, self.environment] {
            part(&mut hasher, digest.as_bytes());
        }
        for (name, value) in self.variables.iter().filter(|(name, _)| *name != OWN_OUTPUT) {
            part(&mut hasher, name.as_bytes());
            part(&mut hasher, value.as_bytes());
        }
        Digest::from_hasher(hasher)
    }
}

/// Returns what a check with these `paths` depends on of a tree; none where that is not known, or where `paths` name nothing.
pub(crate) fn relevant_tree(index: &TreeIndex, paths: &[String]) -> Option<RelevantTree> {
    if index.issues().iter().any(|issue| issue.kind == TreeIssueKind::Unreadable) {
        return None;
    }
    if paths.is_empty() {
        return Some(RelevantTree::Whole(index.digest()));
    }
    let mut hasher = Sha256::new();
    let mut is_any_named = false;
    let hits = is_hit(paths);
    for entry in index.entries().filter(|entry| entry.kind != EntryKind::Directory) {
        let name = entry.path.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let is_named = hits(&entry.path);
        if is_named || is_pinned(name) {
            part(&mut hasher, entry.path.as_bytes());
            part(&mut hasher, kind_word(entry.kind));
            part(&mut hasher, entry.digest?.as_bytes());
        }
        is_any_named |= is_named;
    }
    // A check that depends on nothing would never be carried out again.
    is_any_named.then(|| RelevantTree::Files(Digest::from_hasher(hasher)))
}

/// Returns the sandbox in its written form. A field that is added there must be added here: it does not compile without.
fn sandbox_identity(settings: &SandboxSettings, strongest: IsolationLevel) -> Digest {
    let SandboxSettings { mode, writable, sockets, visible, home, memory, processes } = settings;
    let mode: &[u8] = match mode {
        SandboxMode::Auto => b"auto",
        SandboxMode::Require => b"require",
        SandboxMode::Off => b"off",
    };
    let home: &[u8] = match home {
        HomeAccess::ReadOnly => b"read-only",
        HomeAccess::Overlay => b"overlay",
    };
    let strongest: &[u8] = match strongest {
        IsolationLevel::Namespace => b"namespace",
        IsolationLevel::Cgroup => b"cgroup",
        IsolationLevel::Landlock => b"landlock",
        IsolationLevel::ProcessGroup => b"process-group",
    };
    IdentityWriter::new("proctor-sandbox-v2")
        .part("mode", mode)
        .list("writable", writable.iter().map(String::as_bytes))
        .list("sockets", sockets.iter().map(String::as_bytes))
        .list("visible", visible.iter().map(String::as_bytes))
        .part("home", home)
        .number("memory", memory.map(|memory| memory.0))
        .number("processes", processes.map(u64::from))
        .part("strongest", strongest)
        .digest()
}

/// The kinds as they are hashed: a rename of the enum changes none of them.
fn kind_word(kind: EntryKind) -> &'static [u8] {
    match kind {
        EntryKind::Directory => b"directory",
        EntryKind::File => b"file",
        EntryKind::Executable => b"executable",
        EntryKind::Link => b"link",
    }
}

fn part(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

#[cfg(test)]
mod tests;
