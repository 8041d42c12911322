//! How actions are isolated, as a project's settings say it (`[sandbox]` of `proctor.toml`).

use crate::{ByteSize, LimitEnforcement, NetworkAccess, PackageCredentials, SystemCallFilter};

/// `[sandbox]`: how actions are isolated, and what they may still reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    /// How actions are isolated from the rest of the machine.
    pub mode: ProtectionMode,
    /// Paths that actions may write to: relative to the project, absolute, or below HOME (`~/…`).
    pub writable: Vec<String>,
    /// Sockets and files in hidden run-time directories that actions can still reach: absolute, or below HOME.
    pub sockets: Vec<String>,
    /// Paths of credentials that actions can still read: absolute, or below HOME.
    pub visible: Vec<String>,
    pub home: HomeAccess,
    /// Which files outside of the project actions see.
    pub world: World,
    /// The network of checks, services and clean-ups that name none of their own.
    pub network: NetworkAccess,
    /// The most memory for all processes of an action together; `None` means no limit.
    pub memory: Option<ByteSize>,
    /// The most processes and threads of an action at the same time; `None` means the user's own limit.
    pub processes: Option<u32>,
    /// The most bytes that the actions of a run write to their layer and private directories together; `None` means no limit.
    pub max_written: Option<ByteSize>,
    /// What happens if `memory` or `processes` cannot be enforced.
    pub limits: LimitEnforcement,
    /// Whether the system calls of actions are filtered.
    pub system_call_filter: SystemCallFilter,
    /// Whether prerequisites see the credentials of package indexes.
    pub package_credentials: PackageCredentials,
    /// Whether checks run on a snapshot of the tree instead of in the project.
    pub snapshot: ProtectionMode,
    /// A snapshot is made only of a tree with at most this many bytes. The ignored files that checks read are counted
    /// separately and have the same limit. The kept caches of a project may use half this many bytes.
    pub max_snapshot_bytes: ByteSize,
    /// What becomes of tools' caches that checks write in a snapshot.
    pub caches: CachesMode,
}

/// Whether a protection is used: isolation, or a snapshot. Not every machine and project makes the protection possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectionMode {
    /// The protection is used as far as it is available. The report says how far that is, and why the protection is not
    /// used further.
    Auto,
    /// The protection is required. If it is not available, nothing is run.
    Require,
    Off,
}

words! {
    /// Returns the value of the settings `mode` and `snapshot` in `[sandbox]`.
    pub fn ProtectionMode::word, WORDS: Auto "auto", Require "require", Off "off"
}

/// What becomes of tools' caches, such as `.mypy_cache`, that a check writes in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachesMode {
    /// The next run of the same check gets the caches.
    Kept,
    /// Every check starts without caches, and its caches are dropped.
    Fresh,
}

/// Which files outside of the project actions see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// Files that only root can write, toolchains, installed packages, inputs, and what the settings name.
    Closed,
    /// Every file that the user may read and that is not hidden because of its secrets. A verdict does not name them.
    Open,
}

words! {
    /// Returns the value of the setting `world` in `[sandbox]`.
    pub fn World::word, WORDS: Closed "closed", Open "open"
}

/// What happens when an action writes to HOME.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HomeAccess {
    /// A write to HOME fails.
    ReadOnly,
    /// A write to HOME goes to a copy, which is deleted after the action.
    Overlay,
}

words! {
    /// Returns the value of the setting `home` in `[sandbox]`.
    pub fn HomeAccess::word, WORDS: ReadOnly "read-only", Overlay "overlay"
}
