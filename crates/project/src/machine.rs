//! Facts about this machine that limit the watching and storing of projects: kernel limits, file systems, space,
//! clocks. This module reads them and does not judge them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::sys::resource::{Resource, getrlimit};
use nix::sys::statfs::statfs;
use nix::sys::statvfs::statvfs;

use crate::known_trees::scan_once;
use crate::made_for_plan::MadeForPlan;
use crate::request::ProjectSettings;
use crate::snapshot_storage::{obstacle_of_settings, obstacle_of_tree};
use crate::store_reader::{RecordedRun, StoreReader};
use crate::tool_version::{ToolPlace, read_tool_version};
use proctor_evidence::report::OutgoingRedactor;
use proctor_evidence::{Store, read_report, watching_process};
use proctor_model::{Action, EntryKind, MountTable, Plan, ProjectId, SpawnFailure, Timestamp, Tool};
use proctor_sandbox::process::resolve_program;
use proctor_sandbox::{ChildEnvironment, ForeignOwner, home, search_path};

/// Returns the redactor for texts that leave the store: it knows this machine's name, its user and the home directory. `ambient` is the
/// environment of proctor itself.
pub fn outgoing_redactor(ambient: &BTreeMap<OsString, OsString>) -> OutgoingRedactor {
    let text = |name: &str| ambient.get(OsStr::new(name)).and_then(|value| value.to_str());
    let account = nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten().map(|user| user.name);
    let users: Vec<&str> = [text("USER"), text("LOGNAME"), account.as_deref()].into_iter().flatten().collect();
    let system = nix::sys::utsname::uname().ok();
    let host = system.as_ref().and_then(|system| system.nodename().to_str()).unwrap_or_default();
    OutgoingRedactor::new(text("HOME"), &users, host)
}

/// The kernel's limits on inotify, and their current use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InotifyLimits {
    /// The limit on this user's watches.
    pub watches: KernelLimit,
    /// The limit on this user's inotify instances.
    pub instances: KernelLimit,
    /// The limit on events that one inotify instance can queue; further events are lost. `None` if the kernel does not
    /// tell it.
    pub queue: Option<u64>,
}

/// A limit that the kernel sets for this user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KernelLimit {
    /// The limit; `None` if the kernel does not tell it.
    pub limit: Option<u64>,
    /// How much of the limit this user's processes use. Processes that this process may not examine are not counted.
    pub used: u64,
}

/// The type of a file system, as the number from `statfs(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystemType(pub i64);

/// The free space on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// The bytes that this user can still write.
    pub bytes: u64,
    /// The number of files that can still be created; `None` if the file system has no limit.
    pub files: Option<u64>,
}

/// Facts about the machine that limit the watching of trees and the storing of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The limit on open files of a process: its current value, and the highest value it can be raised to. `None` if
    /// the limit cannot be read.
    pub open_files: Option<(u64, u64)>,
    pub inotify: InotifyLimits,
    /// The file system of the store; `None` if it cannot be read.
    pub store_file_system: Option<FileSystemType>,
    /// The free space on the file system of the store; `None` if it cannot be read.
    pub store_space: Option<Space>,
}

/// A tool that a project's plan uses, and its installed program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFound {
    /// The check or prerequisite that uses the tool.
    pub action: String,
    pub tool: Tool,
    /// The path of the tool's program with all links resolved, or why the program was not found.
    pub program: Result<PathBuf, SpawnFailure>,
    /// The tool's version, if a record of the installed package was found.
    pub version: Option<String>,
}

/// The current state of a project's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFound {
    /// The project's id; `None` if the directory is not registered as a project.
    pub id: Option<ProjectId>,
    pub root: PathBuf,
    /// The file system of the root; `None` if the root is no directory, or its file system cannot be read.
    pub file_system: Option<FileSystemType>,
    /// The number of directories in the tree, including the root. Each needs an inotify watch. `None` if the tree was
    /// not read because the configuration is wrong or the root is missing, or if it could not be read.
    pub directories: Option<u64>,
    /// How far the modification time of the newest file is ahead of the clock, in milliseconds.
    pub ahead_ms: u64,
    /// How far the start of the newest run lies in the future, in milliseconds. The clock was set back by at least that
    /// much.
    pub run_ahead_ms: u64,
    /// Why checks do not run on a snapshot, as far as settings and tree say so; `None` if nothing prevents a snapshot,
    /// if the configuration is wrong, or if the root is missing.
    pub snapshot_obstacle: Option<String>,
    /// Why a process that was started early for the last run was not used; `None` if one was used, or none was started.
    pub cold_start: Option<String>,
    /// The id of the process of a `proctor watch` of the project; `None` if none runs.
    pub watched_by: Option<u32>,
    /// The other user to whom the root belongs, if checks may not write there.
    pub foreign_owner: Option<ForeignOwner>,
    /// The tools of the project's plan without repetition; empty if the configuration is wrong or the root is missing.
    pub tools: Vec<ToolFound>,
}

impl Machine {
    /// Reads the machine's limits, and the free space for the store.
    pub fn read(store: &Path) -> Self {
        Self::read_below(Path::new("/"), store)
    }

    fn read_below(root: &Path, store: &Path) -> Self {
        Self {
            open_files: getrlimit(Resource::RLIMIT_NOFILE).ok(),
            inotify: InotifyLimits::read_below(root),
            store_file_system: read_file_system(store),
            store_space: read_space(store),
        }
    }
}

impl InotifyLimits {
    fn read_below(root: &Path) -> Self {
        let number = |path: &str| fs::read_to_string(root.join(path)).ok()?.trim().parse::<u64>().ok();
        // Two limits apply: one of the system, one of the user namespace (`user_namespaces(7)`). The smaller one
        // counts.
        let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        let (watches_used, instances_used) = read_inotify_use(&root.join("proc"));
        Self {
            watches: KernelLimit {
                limit: least(number("proc/sys/fs/inotify/max_user_watches"), number("proc/sys/user/max_inotify_watches")),
                used: watches_used,
            },
            instances: KernelLimit {
                limit: least(number("proc/sys/fs/inotify/max_user_instances"), number("proc/sys/user/max_inotify_instances")),
                used: instances_used,
            },
            queue: number("proc/sys/fs/inotify/max_queued_events"),
        }
    }
}

/// Counts the watches and instances of this user's processes from `/proc/PID/fdinfo` (`proc(5)`).
fn read_inotify_use(proc: &Path) -> (u64, u64) {
    let user = nix::unistd::getuid().as_raw();
    let (mut watches, mut instances) = (0, 0);
    for process in fs::read_dir(proc).into_iter().flatten().flatten() {
        let is_own = process.metadata().is_ok_and(|metadata| metadata.uid() == user);
        if !is_own || process.file_name().to_str().is_none_or(|name| name.parse::<u32>().is_err()) {
            continue;
        }
        for descriptor in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            if fs::read_link(descriptor.path()).is_ok_and(|target| target == Path::new("anon_inode:inotify")) {
                instances += 1;
                let information = fs::read_to_string(process.path().join("fdinfo").join(descriptor.file_name()));
                let lines = information.unwrap_or_default().lines().filter(|line| line.starts_with("inotify ")).count();
                watches += u64::try_from(lines).unwrap_or(u64::MAX);
            }
        }
    }
    (watches, instances)
}

/// Reads the file system of a path; `None` if it cannot be read.
fn read_file_system(path: &Path) -> Option<FileSystemType> {
    // The number has 32 bits; the C library may have added sign bits.
    Some(FileSystemType(i64::from(statfs(path).ok()?.filesystem_type().0 as u32)))
}

/// Returns where the evidence's disk is mounted, what is free on it and what a run needs; `None` if the system does not say.
pub fn disk_words(store: &Path) -> Option<String> {
    let (store, mounts) = (store.canonicalize().ok()?, MountTable::parse(&fs::read("/proc/thread-self/mountinfo").ok()?));
    let (point, disk) = (mounts.holder(&store)?.point.display(), statvfs(&store).ok()?);
    let [free, all] = [disk.blocks_available(), disk.blocks()].map(|blocks| blocks.saturating_mul(disk.fragment_size()) >> 20);
    Some(format!(
        "the evidence lies on `{point}`, where {free} of {all} MiB are free now: a run needs what its checks print and write, 1 GiB is plenty"
    ))
}

fn read_space(path: &Path) -> Option<Space> {
    let space = statvfs(path).ok()?;
    let files = (space.files() > 0).then(|| space.files_available());
    Some(Space { bytes: space.blocks_available().saturating_mul(space.fragment_size()), files })
}

impl StoreReader {
    /// Examines the current state of a project. `loaded` is the project's plan and settings, or `None` if its
    /// configuration is wrong.
    ///
    /// # Errors
    ///
    /// When the index of runs cannot be read.
    pub fn examine_project(
        &self,
        (root, id): (PathBuf, Option<&ProjectId>),
        loaded: Option<(&Plan, &ProjectSettings)>,
        ambient: &BTreeMap<OsString, OsString>,
        now: Timestamp,
    ) -> ProjectFound {
        let file_system = root.is_dir().then(|| read_file_system(&root)).flatten();
        // A ledger that cannot be read is named where the projects are listed.
        let last = id.and_then(|id| self.runs(id, LATELY).ok()).unwrap_or_default();
        let newest = last.first().map(|run| run.started);
        let is_started_early = loaded.is_some_and(|(_, settings)| settings.started > 0);
        let cold_start =
            id.filter(|_| is_started_early).and_then(|id| last.iter().find_map(|run| cold_start(&self.store, id, run)).flatten());
        let ahead = |time: i64| u64::try_from(time.saturating_sub(now.as_millis())).unwrap_or(0);
        let (mut directories, mut ahead_ms, mut tools, mut snapshot_obstacle) = (None, 0, Vec::new(), None);
        if let Some((plan, settings)) = loaded.filter(|_| file_system.is_some()) {
            snapshot_obstacle = obstacle_of_settings(settings, &root, self.store.root());
            // If the tree cannot be read, the next run reports why.
            if let Ok(index) = scan_once(&self.store, settings, id, &root) {
                let made = || MadeForPlan::of(plan, &root, &search_path(ambient));
                snapshot_obstacle = snapshot_obstacle.or_else(|| obstacle_of_tree(settings, &index, made()));
                let is_directory = |kind: EntryKind| kind == EntryKind::Directory;
                let count = index.entries().filter(|entry| is_directory(entry.kind)).count();
                // The root directory needs a watch too.
                directories = Some(u64::try_from(count).unwrap_or(u64::MAX).saturating_add(1));
                let files = index.entries().filter(|entry| !is_directory(entry.kind));
                let times = files.filter_map(|entry| fs::symlink_metadata(root.join(entry.path.as_path())).ok());
                ahead_ms = times.map(|metadata| ahead(modified_ms(&metadata))).max().unwrap_or(0);
            }
            tools = find_tools(plan, settings, &root, ambient);
        }
        let run_ahead_ms = newest.map_or(0, |started| ahead(started.as_millis()));
        let (id, foreign_owner) = (id.cloned(), ForeignOwner::of(&root));
        let watched_by = id.as_ref().and_then(|id| watching_process(self.store.root(), id));
        ProjectFound {
            id,
            root,
            file_system,
            directories,
            ahead_ms,
            run_ahead_ms,
            snapshot_obstacle,
            cold_start,
            watched_by,
            foreign_owner,
            tools,
        }
    }
}

/// So many runs are looked at for a process that was started early: a project that refused some starts none for a while.
const LATELY: u32 = 20;

/// Returns why the run's process that was started early was not used; `None` if none was started, `Some(None)` if it was used.
fn cold_start(store: &Store, project: &ProjectId, run: &RecordedRun) -> Option<Option<String>> {
    let report = read_report(store, project, &run.task, &run.run_id).ok()?;
    let report: serde_json::Value = serde_json::from_slice(&report).ok()?;
    let results = report.pointer("/stepExecution/results")?.as_array()?;
    let early = results.iter().find_map(|result| result.get("earlyStart"))?;
    Some(early.get("whyNot").and_then(|why| why.as_str()).map(str::to_owned))
}

fn modified_ms(metadata: &fs::Metadata) -> i64 {
    metadata.mtime().saturating_mul(1000).saturating_add(metadata.mtime_nsec() / 1_000_000)
}

/// Finds the program of every action as a run would. A program that several actions use is listed once. An action whose
/// program is missing is always listed.
fn find_tools(plan: &Plan, settings: &ProjectSettings, root: &Path, ambient: &BTreeMap<OsString, OsString>) -> Vec<ToolFound> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for action in plan.actions().filter(|action| action.starts_program_of_this_machine()) {
        let Some(one) = find_tool(action, settings, root, ambient) else { continue };
        let is_new = one.program.as_ref().map_or(true, |program| seen.insert((one.tool, program.clone())));
        found.extend(is_new.then_some(one));
    }
    found
}

fn find_tool(
    action: &Action,
    settings: &ProjectSettings,
    root: &Path,
    ambient: &BTreeMap<OsString, OsString>,
) -> Option<ToolFound> {
    let name = action.command.argv.first()?;
    let environment = ChildEnvironment::build(ambient, &settings.environment, action, Path::new("/"));
    let directory = root.join(&action.directory);
    let resolved = resolve_program(name, &directory, &environment.search_path());
    let version = resolved.as_ref().ok().and_then(|program| {
        let place = ToolPlace { program, directory: &directory, root, home: home(ambient) };
        read_tool_version(action.tool, &place)
    });
    let program = resolved.map(|program| program.canonicalize().unwrap_or(program));
    Some(ToolFound { action: action.name.clone(), tool: action.tool, program, version })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_lower_of_two_limits_holds_and_one_that_is_not_there_is_none() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(InotifyLimits::read_below(root.path()), InotifyLimits::default());
        for (path, text) in [
            ("proc/sys/fs/inotify/max_user_watches", "8192\n"),
            ("proc/sys/user/max_inotify_watches", "100\n"),
            ("proc/sys/fs/inotify/max_user_instances", "128\n"),
            ("proc/sys/fs/inotify/max_queued_events", "many\n"),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
        }
        let limits = InotifyLimits::read_below(root.path());
        assert_eq!((limits.watches.limit, limits.instances.limit, limits.queue), (Some(100), Some(128), None));
    }

    #[test]
    fn what_this_user_watches_is_counted_from_the_descriptors() {
        let root = tempfile::tempdir().unwrap();
        let process = root.path().join("4711");
        fs::create_dir_all(process.join("fd")).unwrap();
        fs::create_dir_all(process.join("fdinfo")).unwrap();
        std::os::unix::fs::symlink("anon_inode:inotify", process.join("fd/5")).unwrap();
        std::os::unix::fs::symlink("/dev/null", process.join("fd/6")).unwrap();
        let text = "pos:\t0\nflags:\t02004000\ninotify wd:2 ino:1\ninotify wd:1 ino:2\n";
        fs::File::create(process.join("fdinfo/5")).unwrap().write_all(text.as_bytes()).unwrap();
        assert_eq!(read_inotify_use(root.path()), (2, 1));
    }

    #[test]
    fn this_machine_can_be_read() {
        let directory = tempfile::tempdir().unwrap();
        let machine = Machine::read(directory.path());
        assert!(machine.open_files.is_some() && machine.store_file_system.is_some() && machine.store_space.is_some());
        assert!(machine.inotify.watches.limit.is_some() && machine.inotify.queue.is_some(), "{machine:?}");
    }
}
