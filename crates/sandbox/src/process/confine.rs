//! The restrictions of an action's main process: no capabilities, no new privileges, Landlock (`landlock(7)`), and a
//! filter on system calls. At the level `namespace`, the keeper (the process that watches one action) puts them on
//! itself before it starts the main process, which inherits them. At the levels `cgroup` and `landlock`, the main
//! process puts them on itself before it executes its program.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};
use nix::sys::prctl::set_no_new_privs;
use nix::unistd::geteuid;

use crate::process::protocol::Isolation;
use crate::process::second_paths::{SecondPathError, refuse_new_second_path};
use crate::process::system_call_filter::{filter_obstacle, filter_program};
use crate::process::system_calls::{drop_bounding_set, drop_capabilities, install_filter};
use proctor_model::{Access, NetworkAccess, Sandbox, SystemCallFilter};

/// The newest version of Landlock that proctor knows: the first one that restricts connections to sockets in the file
/// system. An older kernel enforces only the restrictions that it knows: signals and abstract sockets since Linux 6.12
/// (version 6), files since Linux 5.13 (version 1).
const KNOWN: ABI = ABI::V9;

/// Paths where the actions of an ordinary user may write, in addition to the paths of the sandbox.
const ALWAYS_WRITABLE: &[&str] = &["/dev", "/proc"];

/// Paths where root's actions may write, in addition to the paths of the sandbox. All other files of `/dev` and `/proc`
/// stay protected: disks and kernel settings belong to root, who can write to them even without capabilities.
const ALWAYS_WRITABLE_FOR_ROOT: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"];

#[derive(Debug, thiserror::Error)]
pub(super) enum ConfineError {
    #[error("cannot drop capabilities")]
    Capabilities(#[source] io::Error),
    #[error("cannot renounce new privileges")]
    NewPrivileges(#[source] io::Error),
    #[error("cannot restrict a command by Landlock")]
    Landlock(#[from] RulesetError),
    #[error("this kernel has no Landlock, or it is not enabled (`lsm=` on the kernel's command line)")]
    NoLandlock,
    #[error("cannot filter the system calls of a command")]
    Filter(#[source] io::Error),
    #[error(transparent)]
    SecondPath(#[from] SecondPathError),
    #[error("`sandbox.system_call_filter = \"require\"` wants a filter on system calls, and {0}")]
    NoFilter(&'static str),
}

/// Restricts this process inside its namespaces. It keeps its own capabilities for now, because mounting needs them.
/// Mounts protect the files; Landlock only forbids signals and abstract sockets, and what it can of a network that is not to be reached. No
/// program that is executed from here on gets a capability.
pub(super) fn confine_in_namespaces(network: NetworkAccess) -> Result<(), ConfineError> {
    drop_bounding_set().map_err(ConfineError::Capabilities)?;
    set_no_new_privs().map_err(|errno| ConfineError::NewPrivileges(errno.into()))?;
    // A kernel without Landlock scopes leaves abstract sockets open, and the report says so. This ruleset does not
    // restrict files, so mounts can still be made.
    let _best_effort = scopes_and_network(network)?.create()?.restrict_self()?;
    Ok(())
}

/// Gives up this process's capabilities. The caller does this when everything is mounted, because mounting needs them.
pub(super) fn renounce_capabilities() -> Result<(), ConfineError> {
    drop_capabilities().map_err(ConfineError::Capabilities)
}

/// Restricts this process at the levels without namespaces: Landlock rules allow the paths that the process may read
/// and the paths that it may write.
pub(super) fn confine_by_landlock(isolation: &Isolation) -> Result<(), ConfineError> {
    drop_bounding_set().and_then(|()| drop_capabilities()).map_err(ConfineError::Capabilities)?;
    set_no_new_privs().map_err(|errno| ConfineError::NewPrivileges(errno.into()))?;
    let ruleset = scopes_and_network(isolation.network)?;
    let Some(sandbox) = &isolation.sandbox else {
        return enforced(ruleset.create()?.restrict_self()?.ruleset);
    };
    refuse_new_second_path(sandbox)?;
    let rules = rules(sandbox, isolation.output.as_deref());
    let mut ruleset = ruleset.handle_access(AccessFs::from_all(KNOWN))?.create()?;
    ruleset = allow(ruleset, &rules.readable, AccessFs::from_read(KNOWN))?;
    ruleset = allow(ruleset, &rules.writable, AccessFs::from_all(KNOWN))?;
    enforced(ruleset.restrict_self()?.ruleset)
}

/// Installs the filter on system calls for this process and what it executes. Installs none if the settings say so, or
/// if this machine has none and the settings do not require one. The caller does this last, because the filter cannot
/// be taken away and would also forbid calls that the earlier steps need.
pub(super) fn filter_system_calls(filter: SystemCallFilter) -> Result<(), ConfineError> {
    match (filter, filter_obstacle()) {
        (SystemCallFilter::Off, _) | (SystemCallFilter::WherePossible, Some(_)) => Ok(()),
        (SystemCallFilter::Required, Some(why)) => Err(ConfineError::NoFilter(why)),
        (SystemCallFilter::WherePossible | SystemCallFilter::Required, None) => {
            install_filter(&filter_program().unwrap_or_default()).map_err(ConfineError::Filter)
        }
    }
}

/// Returns why this kernel cannot restrict files by Landlock; `None` if it can.
pub(super) fn landlock_obstacle() -> Option<String> {
    let strict = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::from_all(ABI::V1));
    strict.and_then(Ruleset::create).err().map(|_| ConfineError::NoLandlock.to_string())
}

/// Returns whether this kernel can restrict signals and abstract sockets (Linux 6.12).
pub fn restricts_sockets_and_signals() -> bool {
    let strict =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).scope(Scope::Signal | Scope::AbstractUnixSocket);
    strict.and_then(Ruleset::create).is_ok()
}

/// Returns whether this kernel can restrict connections to sockets in the file system.
pub fn restricts_path_sockets() -> bool {
    let strict = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::ResolveUnix);
    strict.and_then(Ruleset::create).is_ok()
}

/// Returns whether this kernel can forbid TCP (Linux 6.7).
pub fn restricts_tcp() -> bool {
    let strict = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessNet::from_all(ABI::V4));
    strict.and_then(Ruleset::create).is_ok()
}

fn scopes() -> Result<Ruleset, RulesetError> {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    ruleset.scope(Scope::AbstractUnixSocket)?.scope(Scope::Signal)
}

/// Landlock knows ports and no addresses, so it can forbid all of TCP and cannot tell this machine from others.
fn scopes_and_network(network: NetworkAccess) -> Result<Ruleset, RulesetError> {
    match network {
        NetworkAccess::Off => scopes()?.handle_access(AccessNet::from_all(KNOWN)),
        NetworkAccess::Loopback | NetworkAccess::Open => scopes(),
    }
}

fn enforced(status: RulesetStatus) -> Result<(), ConfineError> {
    match status {
        RulesetStatus::NotEnforced => Err(ConfineError::NoLandlock),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

fn allow(
    mut ruleset: RulesetCreated,
    paths: &[PathBuf],
    access: landlock::BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    for path in paths {
        // A path that is missing, or that this process may not open, needs no rule: the action cannot open it either.
        let Ok(opened) = PathFd::new(path) else { continue };
        let fits = if path.is_dir() { access } else { access & AccessFs::from_file(KNOWN) };
        ruleset = ruleset.add_rule(PathBeneath::new(opened, fits))?;
    }
    Ok(ruleset)
}

/// The paths that Landlock rules allow. A rule can only allow, and it covers everything below its path. To exclude one
/// path, the rules name every other entry of each directory on the way to that path.
#[derive(Debug, PartialEq, Eq)]
struct Rules {
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
}

fn rules(sandbox: &Sandbox, output: Option<&Path>) -> Rules {
    let of = |wanted: fn(&Access) -> bool| {
        sandbox.places.iter().filter(move |place| wanted(&place.access)).map(|place| place.path.clone())
    };
    let is_hidden = |access: &Access| matches!(access, Access::Hidden | Access::Layer { .. });
    // Without namespaces nothing can be mounted. So where the sandbox asks for a private directory, the action writes
    // into the real directory.
    let is_writable = |access: &Access| matches!(access, Access::Writable | Access::Private { .. } | Access::Memory);
    let is_root = geteuid().is_root();
    let devices = is_root.then(|| PathBuf::from("/dev"));
    let hidden = of(is_hidden).filter(|path| !is_git_of_writable(path, sandbox));
    let hidden = HiddenFiles::find(hidden.chain([sandbox.store.clone()]).chain(devices));
    let mut writable: Vec<PathBuf> = of(is_writable).flat_map(|path| hidden.leave_out(path)).collect();
    let always = if is_root { ALWAYS_WRITABLE_FOR_ROOT } else { ALWAYS_WRITABLE };
    writable.extend(always.iter().map(PathBuf::from));
    writable.extend(output.map(Path::to_owned));
    let mut readable = hidden.siblings(Path::new("/"));
    readable
        .extend(of(|access| matches!(access, Access::ReadOnly | Access::Text { .. })).flat_map(|path| hidden.leave_out(path)));
    Rules { readable, writable }
}

/// Returns whether a path is the `.git` of a project that the action works in. To hide it, the rules would have to name everything else in
/// the project, and nothing could be made there. So without namespaces it stays as it is, and the report names it as open.
fn is_git_of_writable(path: &Path, sandbox: &Sandbox) -> bool {
    let around = path.parent().filter(|_| path.ends_with(".git"));
    let writable = || sandbox.places.iter().filter(|place| place.access == Access::Writable);
    around.is_some_and(|around| writable().any(|place| place.path == around))
}

/// The device and inode of a file or directory. Landlock applies a rule to these, by whatever path they are reached.
type Identity = (u64, u64);

/// What no rule may cover.
struct HiddenFiles {
    paths: Vec<PathBuf>,
    files: BTreeSet<Identity>,
    /// The directories that contain what is hidden.
    around: BTreeSet<Identity>,
}

impl HiddenFiles {
    fn find(paths: impl Iterator<Item = PathBuf>) -> Self {
        let paths: Vec<PathBuf> = paths.filter(|path| path.is_absolute()).collect();
        let around: BTreeSet<&Path> = paths.iter().flat_map(|path| path.ancestors().skip(1)).collect();
        Self {
            files: paths.iter().filter_map(|path| identity(path)).collect(),
            around: around.into_iter().filter_map(identity).collect(),
            paths,
        }
    }

    /// Returns whether a rule for this path would cover something hidden in it.
    fn are_in(&self, path: &Path) -> bool {
        self.paths.iter().any(|hidden| hidden.starts_with(path))
            || identity(path).is_some_and(|found| self.around.contains(&found))
    }

    /// Returns the paths that cover a place except what is hidden in it.
    fn leave_out(&self, place: PathBuf) -> Vec<PathBuf> {
        if self.are_in(&place) { self.siblings(&place) } else { vec![place] }
    }

    /// Returns the smallest set of paths that covers a directory except its hidden parts and its links.
    fn siblings(&self, directory: &Path) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(directory) else {
            return Vec::new();
        };
        let mut named = Vec::new();
        // A link gets no rule, because a rule would apply to the link's target. The target has a rule of its own, or must
        // not have one.
        let is_link = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
        for path in entries.flatten().filter(|entry| !is_link(entry)).map(|entry| entry.path()) {
            if self.paths.contains(&path) || identity(&path).is_some_and(|found| self.files.contains(&found)) {
                continue;
            }
            named.extend(self.leave_out(path));
        }
        named
    }
}

fn identity(path: &Path) -> Option<Identity> {
    path.symlink_metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::Place;

    #[test]
    fn a_visible_place_shows_nothing_of_what_is_hidden_in_it() {
        let root = tempfile::tempdir().expect("a directory");
        let path = |name: &str| root.path().join(name);
        for name in ["home/store", "home/.aws", "home/src"] {
            std::fs::create_dir_all(path(name)).expect("made");
        }
        let place = |name: &str, access| Place { path: path(name), access, identity: (0, 0) };
        let places = vec![place("home", Access::ReadOnly), place("home/.aws", Access::Hidden)];
        let rules = rules(&Sandbox { places, store: path("home/store"), ..Sandbox::default() }, None);
        let above = |name: &str| rules.readable.iter().any(|readable| path(name).starts_with(readable));
        assert!(above("home/src") && !above("home/.aws") && !above("home/store"), "{rules:?}");
    }

    #[test]
    fn files_can_be_made_in_a_project_with_a_repository() {
        let root = tempfile::tempdir().expect("a directory");
        let path = |name: &str| root.path().join(name);
        for name in ["home/store", "home/shop/.git/objects", "home/other/.git"] {
            std::fs::create_dir_all(path(name)).expect("made");
        }
        let place = |name: &str, access| Place { path: path(name), access, identity: (0, 0) };
        let places = vec![
            place("home", Access::Hidden),
            place("home/other/.git", Access::Hidden),
            place("home/shop", Access::Writable),
            place("home/shop/.git", Access::Hidden),
        ];
        let rules = rules(&Sandbox { places, store: path("home/store"), ..Sandbox::default() }, None);
        assert!(rules.writable.contains(&path("home/shop")), "{rules:?}");
        assert!(!rules.readable.iter().chain(&rules.writable).any(|rule| path("home/other/.git").starts_with(rule)), "{rules:?}");
    }

    #[test]
    fn everything_beside_what_is_hidden_is_named_and_nothing_above_it() {
        let root = tempfile::tempdir().expect("a directory");
        let path = |name: &str| root.path().join(name);
        for name in ["home/state/store", "home/state/other", "home/src", "home/.ssh"] {
            std::fs::create_dir_all(path(name)).expect("made");
        }
        let hidden = HiddenFiles::find([path("home/state/store"), path("home/.ssh")].into_iter());
        let mut named = hidden.siblings(root.path());
        named.sort();
        assert_eq!(named, [path("home/src"), path("home/state/other")]);
    }
}
