//! The inputs of a check as one digest: its settings, its files or the whole tree, environment, variables, sandbox.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use sha2::{Digest as _, Sha256};

use proctor_evidence::report::{GENERATED_BY, ReusedAction};
use proctor_model::{
    ActionId, ByteSize, CachesMode, Digest, EntryKind, IdentityWriter, IsolationLevel, LimitEnforcement, SandboxSettings,
    SystemCallFilter, TreeDigest, TreeIssueKind, World,
};
use proctor_project::{SurveyedEnvironment, is_pinned, path_filter};
use proctor_tree::TreeIndex;

/// The first part of every digest of inputs. When the way of computing it changes, this name changes too.
const FORMAT: &[u8] = b"proctor-inputs-v3";

/// Everything that the result of a check may depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckInputs<'a> {
    /// The digest of the check with all defaults filled in, and of the plan's prerequisites.
    pub(crate) check: Digest,
    /// The part of the tree that the check depends on.
    pub(crate) tree: RelevantTree,
    /// The digest of tools, lock files and installed packages.
    pub(crate) environment: Digest,
    /// The store's secret of digests: this one is told to others, and variables may be secrets.
    pub(crate) secret: Digest,
    /// The environment variables of the check's command.
    pub(crate) variables: &'a BTreeMap<OsString, OsString>,
    /// The sandbox settings, which decide what the check can see.
    pub(crate) sandbox: &'a SandboxSettings,
    pub(crate) strongest_isolation: IsolationLevel,
    /// Where the check works, and which ignored files it reads there.
    pub(crate) place: PlaceOfCheck,
}

/// Where a check works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlaceOfCheck {
    /// On a snapshot, which has the ignored inputs with this digest.
    Snapshot { inputs: TreeDigest },
    /// In the project itself. What the check reads there of ignored files is not known.
    Project,
}

/// The part of a tree that a check depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelevantTree {
    Whole(TreeDigest),
    /// The files that the check's `paths` name, and the files that pin and configure tools; the digest covers their
    /// names and contents.
    Files(Digest),
}

/// The digests of the checks' inputs, and the environment that they were computed in.
pub(crate) struct ReusableInputs {
    /// The tools, lock files and installed packages as they were before the first check.
    pub(crate) surveyed: SurveyedEnvironment,
    /// The contents of the toolchains that are known, by the names of the report's components.
    pub(crate) toolchains: BTreeMap<String, Digest>,
    /// By name of the check, for checks that allow reuse: the digest of all inputs, and the part of the tree that the
    /// check depends on.
    pub(crate) of_checks: BTreeMap<String, (Digest, RelevantTree)>,
    /// The results that checks already have on this tree, if the run was asked for the missing checks.
    pub(crate) on_this_tree: BTreeMap<ActionId, ReusedAction>,
}

/// The variable with the directory for artifacts, whose value differs for every action.
const OWN_OUTPUT: &str = "PROCTOR_OUT";

impl CheckInputs<'_> {
    /// Returns the digest of all inputs. Equal digests mean that the check got the same inputs.
    ///
    /// The digest does not cover files outside of the tree, packages outside of the project's own environments, the
    /// network, or the time.
    pub(crate) fn digest(&self) -> Digest {
        self.digest_for(GENERATED_BY)
    }

    fn digest_for(&self, generated_by: &str) -> Digest {
        let mut hasher = Sha256::new();
        let (kind, tree): (&[u8], _) = match self.tree {
            RelevantTree::Whole(TreeDigest(digest)) => (b"whole", digest),
            RelevantTree::Files(digest) => (b"files", digest),
        };
        let sandbox = sandbox_identity(self.sandbox, self.strongest_isolation, self.place);
        // Another version of proctor may interpret the same output differently.
        for bytes in [FORMAT, generated_by.as_bytes(), kind, sandbox.as_bytes()] {
            part(&mut hasher, bytes);
        }
        for digest in [self.secret, self.check, tree, self.environment] {
            part(&mut hasher, digest.as_bytes());
        }
        for (name, value) in self.variables.iter().filter(|(name, _)| *name != OWN_OUTPUT) {
            part(&mut hasher, name.as_bytes());
            part(&mut hasher, value.as_bytes());
        }
        Digest::from_hasher(hasher)
    }
}

/// Returns the part of a tree that a check with these `paths` depends on; `None` if it is not known, or `paths` match
/// no file.
pub(crate) fn relevant_tree(index: &TreeIndex, paths: &[String]) -> Option<RelevantTree> {
    if index.issues().iter().any(|issue| issue.kind == TreeIssueKind::Unreadable) {
        return None;
    }
    if paths.is_empty() {
        return Some(RelevantTree::Whole(index.digest()));
    }
    let mut hasher = Sha256::new();
    let mut is_any_named = false;
    let hits = path_filter(paths);
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
    // `paths` are patterns of the tree, so every check depends on all inputs beside it.
    for (name, kind, digest) in index.digested_inputs() {
        part(&mut hasher, name.as_bytes());
        part(&mut hasher, kind_word(kind));
        part(&mut hasher, digest.map_or_else(Vec::new, |digest| digest.as_bytes().to_vec()).as_slice());
    }
    // If no file matches `paths`, no change of a file would alter the digest, and the check would never be carried out
    // again.
    is_any_named.then(|| RelevantTree::Files(Digest::from_hasher(hasher)))
}

/// The limit on written bytes of the default settings.
const DEFAULT_WRITTEN: u64 = 4 << 30;

/// Returns the digest of the sandbox settings. All fields are listed, so a new field does not compile until it is added
/// here.
fn sandbox_identity(settings: &SandboxSettings, strongest: IsolationLevel, place: PlaceOfCheck) -> Digest {
    let SandboxSettings {
        mode,
        writable,
        sockets,
        visible,
        home,
        world,
        // The check itself has its network.
        network: _,
        memory,
        processes,
        max_written,
        limits,
        system_call_filter,
        // Checks never see package credentials.
        package_credentials: _,
        snapshot: _,
        max_snapshot_bytes: _,
        caches,
    } = settings;
    let writer = IdentityWriter::new("proctor-sandbox-v2")
        .part("mode", mode.word().as_bytes())
        .list("writable", writable.iter().map(String::as_bytes))
        .list("sockets", sockets.iter().map(String::as_bytes))
        .list("visible", visible.iter().map(String::as_bytes))
        .part("home", home.word().as_bytes())
        .number("memory", memory.map(|memory| memory.0))
        .number("processes", processes.map(u64::from))
        .part("strongest", strongest.word().as_bytes());
    // A value that is the default adds nothing, so that digests of earlier versions stay valid.
    let writer = match limits {
        LimitEnforcement::WherePossible => writer,
        LimitEnforcement::Required => writer.part("limits", b"require"),
    };
    let writer = match max_written {
        Some(ByteSize(DEFAULT_WRITTEN)) => writer,
        other => writer.number("max_written", other.map(|size| size.0)),
    };
    let writer = match world {
        World::Closed => writer,
        World::Open => writer.part("world", b"open"),
    };
    let writer = match system_call_filter {
        SystemCallFilter::WherePossible => writer,
        SystemCallFilter::Required => writer.part("system_call_filter", b"require"),
        SystemCallFilter::Off => writer.part("system_call_filter", b"off"),
    };
    // The settings about the snapshot are left out, because only the place that they led to counts: a result from a
    // check in the project is not used for a check on a snapshot. Without a snapshot nothing is added, so that
    // digests of earlier versions stay valid.
    let writer = match place {
        PlaceOfCheck::Project => return writer.digest(),
        PlaceOfCheck::Snapshot { inputs: TreeDigest(inputs) } => writer.part("snapshot", inputs.as_bytes()),
    };
    match caches {
        CachesMode::Kept => writer.digest(),
        CachesMode::Fresh => writer.part("caches", b"fresh").digest(),
    }
}

/// Returns the word that is hashed for a kind of tree entry. It must stay the same even if the enum is renamed, because
/// digests are compared with those of earlier runs.
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
