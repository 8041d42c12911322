//! Makes a cgroup per action (`cgroups(7)`, version 2) where the service manager has delegated one to proctor.
//!
//! A cgroup is a directory whose files are its interface, so this module only reads and writes files. Tests use a
//! directory of ordinary files in place of a cgroup.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use nix::poll::{PollTimeout, poll};
use nix::unistd::{AccessFlags, Pid, access, getppid};

use crate::process::process_table::{LiveProcess, read_process};
use crate::process::protocol::ActionNumber;
use crate::process::system_calls::has_attribute;
use proctor_model::{DurationMs, GroupUsage, LimitSetting, ResourceLimits, UnenforcedLimit};

/// The attributes by which systemd marks a delegated cgroup, for a user's manager and for the system's
/// (`systemd.resource-control(5)`, Delegate=).
const DELEGATED: &[&str] = &["user.delegate", "trusted.delegate"];

/// The leaf cgroup for proctor's own processes. The kernel enables controllers for child cgroups only if the parent
/// cgroup has no processes itself.
const OWN_LEAF: &str = "supervisor";

/// An action's cgroup is named with this prefix, the launcher's process id and the action's number.
const ACTION_PREFIX: &str = "action-";

/// The cgroup controllers that are needed to limit an action's memory and processes, and to measure its highest memory
/// use.
const CONTROLLERS: &[&str] = &["memory", "pids"];

/// The time limit, in milliseconds, on the wait for the end of killed processes. They usually need about one
/// millisecond.
const DYING_MS: usize = 2000;

/// The most readings of a process's ancestors. They are read again if one of them ends during a reading.
const ANCESTRY_LOOKS: usize = 16;

/// A cgroup in which proctor may make child cgroups, one for each action.
#[derive(Debug)]
pub(super) struct Delegation {
    base: PathBuf,
}

/// Which other processes, besides this one, may be in a cgroup that proctor treats as its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Neighbours {
    /// Only the parent process.
    None,
    /// The parent process, which is proctor's service, and every process that it has started.
    OfOurService,
}

#[derive(Debug)]
pub(super) struct Cgroup {
    directory: PathBuf,
    /// The limits that were asked for and that the kernel does not enforce in this cgroup.
    unenforced: Vec<UnenforcedLimit>,
    /// Whether the kernel enforces a memory limit that was asked for.
    has_memory_limit: bool,
}

impl Delegation {
    /// Finds the cgroup of this process and prepares it for cgroups of actions. If proctor may not make cgroups there,
    /// the error says why.
    ///
    /// A cgroup is proctor's own when the service manager has marked it as delegated. The user manager of systemd 252
    /// marks nothing (measured). So a cgroup also counts as proctor's own when it holds only this process, its
    /// supervisor and the processes that the supervisor has started (a service has a launcher for each project). Then
    /// no other process can be affected. The cgroup of a shell session or a terminal holds other processes and is never
    /// touched.
    pub(super) fn find() -> Result<Self, String> {
        let found = Self::locate_own(Neighbours::OfOurService)?;
        found.remove_leftovers();
        found.enable_controllers();
        Ok(found)
    }

    /// Finds the cgroup of this process and changes nothing.
    fn locate_own(neighbours: Neighbours) -> Result<Self, String> {
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| format!("cannot read `/proc/self/cgroup`: {error}"))?;
        let mounts =
            fs::read_to_string("/proc/self/mountinfo").map_err(|error| format!("cannot read `/proc/self/mountinfo`: {error}"))?;
        let base = locate(&own, &mounts).ok_or("this system has no cgroup version 2 hierarchy")?;
        // A process that was already moved into the leaf has the leaf as its cgroup; the actions' cgroups belong beside
        // the leaf.
        let base = if base.ends_with(OWN_LEAF) { base.parent().map(Path::to_owned).unwrap_or(base) } else { base };
        if !DELEGATED.iter().any(|name| has_attribute(&base, name)) && !is_held_alone(&base, neighbours) {
            return Err(format!("no cgroup was delegated to proctor (`{}` belongs to the service manager)", base.display()));
        }
        Ok(Self { base })
    }

    /// Returns the controllers that are enabled for actions' cgroups.
    fn enabled_controllers(&self) -> Vec<String> {
        let enabled = fs::read_to_string(self.base.join("cgroup.subtree_control")).unwrap_or_default();
        enabled.split_whitespace().map(str::to_owned).collect()
    }

    /// Makes the cgroup of an action. A limit is set only if the controller that enforces it is enabled.
    pub(super) fn make(&self, number: ActionNumber, limits: &ResourceLimits) -> io::Result<Cgroup> {
        let directory = self.base.join(format!("{ACTION_PREFIX}{}-{}", Pid::this(), number.0));
        fs::create_dir(&directory)?;
        let mut cgroup = Cgroup { directory, unenforced: Vec::new(), has_memory_limit: false };
        cgroup.limit(limits);
        Ok(cgroup)
    }

    /// Kills the processes in the action cgroups that a killed launcher left behind, and removes these cgroups. Nothing
    /// else would remove them.
    fn remove_leftovers(&self) {
        for entry in fs::read_dir(&self.base).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_orphan = name.to_str().and_then(launcher_of).is_some_and(|launcher| !is_alive(launcher));
            if is_orphan {
                let left = Cgroup { directory: entry.path(), unenforced: Vec::new(), has_memory_limit: false };
                left.clear();
                let _still_dying = left.remove();
            }
        }
    }

    /// Moves proctor's processes into the leaf cgroup [`OWN_LEAF`] and enables the controllers for the cgroups of
    /// actions. A cgroup with enabled controllers may have no processes of its own (`cgroups(7)`).
    fn enable_controllers(&self) {
        let offered = fs::read_to_string(self.base.join("cgroup.controllers")).unwrap_or_default();
        let wanted: Vec<String> =
            offered.split_whitespace().filter(|name| CONTROLLERS.contains(name)).map(|name| format!("+{name}")).collect();
        if wanted.is_empty() {
            return;
        }
        let leaf = self.base.join(OWN_LEAF);
        let _there_already = fs::create_dir(&leaf);
        let processes = fs::read_to_string(self.base.join("cgroup.procs")).unwrap_or_default();
        for process in processes.split_whitespace() {
            let _ended = set(&leaf.join("cgroup.procs"), process);
        }
        // If the kernel refuses this, the actions' cgroups have no files for limits; the limits are then noted as not
        // enforced.
        let _refused = set(&self.base.join("cgroup.subtree_control"), &wanted.join(" "));
    }
}

/// Returns the controllers that are enabled for the cgroups of actions. A launcher enables them when it first starts an
/// action, so before that the list may be empty.
///
/// # Errors
/// When no cgroup is delegated to this process; the text says why.
pub fn limits_offered() -> Result<Vec<String>, String> {
    Ok(Delegation::locate_own(Neighbours::None)?.enabled_controllers())
}

impl Cgroup {
    /// Moves this process into the cgroup. Every process that it starts later begins there.
    pub(super) fn enter(&self) -> io::Result<()> {
        set(&self.directory.join("cgroup.procs"), "0")
    }

    /// Moves another process, which has not started anything yet, into the cgroup.
    pub(super) fn add_process(&self, process: Pid) -> io::Result<()> {
        set(&self.directory.join("cgroup.procs"), &process.to_string())
    }

    /// Writes the limits on memory and processes. If a controller is not enabled, its file does not exist and the limit
    /// is noted as one that is not enforced.
    fn limit(&mut self, limits: &ResourceLimits) {
        if let Some(bytes) = limits.memory {
            self.write_limit(LimitSetting::Memory, "memory", "memory.max", &bytes.to_string());
            self.has_memory_limit = self.unenforced.is_empty();
            // Without this line, a process that reaches the memory limit would swap instead of being killed.
            let _no_swap = set(&self.directory.join("memory.swap.max"), "0");
            let _all_or_none = set(&self.directory.join("memory.oom.group"), "1");
        }
        if let Some(count) = limits.processes {
            self.write_limit(LimitSetting::Processes, "pids", "pids.max", &count.to_string());
        }
    }

    fn write_limit(&mut self, setting: LimitSetting, controller: &str, file: &str, value: &str) {
        if let Err(error) = set(&self.directory.join(file), value) {
            let why = if error.kind() == io::ErrorKind::NotFound {
                format!("the cgroup that was delegated to proctor has no controller `{controller}`")
            } else {
                format!("the kernel refused `{file}` of the action's cgroup: {error}")
            };
            self.unenforced.push(UnenforcedLimit { setting, why });
        }
    }

    /// Returns the limits that were asked for and that the kernel does not enforce in this cgroup.
    pub(super) fn unenforced(&self) -> &[UnenforcedLimit] {
        &self.unenforced
    }

    /// Returns whether the kernel enforces a memory limit that was asked for.
    pub(super) fn has_memory_limit(&self) -> bool {
        self.has_memory_limit
    }

    /// Kills every process of the cgroup in one step of the kernel (Linux 5.14).
    pub(super) fn kill(&self) -> io::Result<()> {
        set(&self.directory.join("cgroup.kill"), "1")
    }

    /// Returns whether no process of the cgroup is alive. Returns false if that is unknown.
    pub(super) fn is_empty(&self) -> bool {
        self.read("cgroup.events").and_then(|text| value_of(&text, "populated")) == Some(0)
    }

    /// Waits at most [`DYING_MS`] milliseconds until the killed processes are dead.
    fn await_empty(&self) {
        for _ in 0..DYING_MS {
            if self.is_empty() {
                return;
            }
            let _slept = poll(&mut [], PollTimeout::from(1_u8));
        }
    }

    /// Kills every process that is left in the cgroup and waits at most [`DYING_MS`] milliseconds until all are dead.
    pub(super) fn clear(&self) {
        if !self.is_empty() {
            let _before_5_14 = self.kill();
            self.await_empty();
        }
    }

    /// Returns the resources that all processes in the cgroup used together.
    pub(super) fn usage(&self) -> GroupUsage {
        let time = |key: &str| {
            let micros = self.read("cpu.stat").and_then(|text| value_of(&text, key));
            micros.map(|micros| DurationMs(micros / 1000))
        };
        GroupUsage {
            written_exceeded: false,
            user: time("user_usec"),
            system: time("system_usec"),
            peak_memory: self.read("memory.peak").and_then(|text| text.trim().parse().ok()),
            memory_exceeded: self
                .read("memory.events")
                .and_then(|text| value_of(&text, "oom_kill"))
                .is_some_and(|count| count > 0),
            processes_exceeded: self.read("pids.events").and_then(|text| value_of(&text, "max")).is_some_and(|count| count > 0),
        }
    }

    /// Removes the cgroup. The kernel allows that once none of its processes is alive.
    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_dir(&self.directory)
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.directory.join(file)).ok()
    }
}

/// Returns whether proctor may make cgroups in the cgroup `base`, and whether `base` holds only this process, its
/// parent and the given neighbours.
fn is_held_alone(base: &Path, neighbours: Neighbours) -> bool {
    let is_ours = |member: Pid| {
        member == Pid::this()
            || member == getppid()
            || (neighbours == Neighbours::OfOurService && !is_strange(member, getppid(), read_process))
    };
    // A launcher that replaces a dead launcher finds proctor's processes in the leaf cgroup, so both cgroups are read.
    let members = [base.to_owned(), base.join(OWN_LEAF)].map(|path| fs::read_to_string(path.join("cgroup.procs")));
    let mut members = members.iter().flatten().flat_map(|text| text.split_whitespace());
    let are_ours = members.all(|member| member.parse().is_ok_and(|number| is_ours(Pid::from_raw(number))));
    // The root cgroup holds the whole system. It has no `cgroup.kill`, and that excludes it. If proctor may not move
    // processes into a cgroup, it cannot isolate anything by that cgroup.
    are_ours && base.join("cgroup.kill").exists() && access(&base.join("cgroup.procs"), AccessFlags::W_OK).is_ok()
}

/// Returns whether a listed member of a cgroup is alive and is not a descendant of `ours`.
///
/// Members come and go while they are examined: an action's first process begins in this cgroup and then moves to the
/// action's cgroup. So the chain of parents is read anew for each member. If an ancestor has ended meanwhile, the
/// member is read again: by then it has another parent, or has ended too. If that happens too often, the function
/// returns true.
fn is_strange(member: Pid, ours: Pid, read: impl Fn(Pid) -> Option<LiveProcess>) -> bool {
    for _ in 0..ANCESTRY_LOOKS {
        let mut next = member;
        while let Some(process) = read(next) {
            if process.parent == ours {
                return false;
            }
            // The first process of the system or namespace has no parent. A parent outside our pid namespace has no
            // number here.
            if process.parent.as_raw() <= 1 {
                return true;
            }
            next = process.parent;
        }
        if next == member {
            return false;
        }
    }
    true
}

/// Returns every directory of a cgroup's path that is the cgroup of an action, the outermost first. Each is a beginning of
/// the path.
pub(super) fn action_cgroups(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]).filter(|end| *end > 0);
    ends.map(|end| &path[..end]).filter(|directory| {
        directory.rsplit('/').next().is_some_and(|name| launcher_of(name).is_some() && name.matches('-').count() == 2)
    })
}

/// Returns the process id of the launcher that made the cgroup with this name.
fn launcher_of(name: &str) -> Option<i32> {
    name.strip_prefix(ACTION_PREFIX)?.split_once('-')?.0.parse().ok()
}

fn is_alive(process: i32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

fn set(file: &Path, text: &str) -> io::Result<()> {
    File::options().write(true).open(file)?.write_all(text.as_bytes())
}

fn value_of(text: &str, key: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(name, _)| *name == key).and_then(|(_, value)| value.trim().parse().ok())
}

/// Finds the directory of a process's cgroup from its `/proc/PID/cgroup` and its `/proc/PID/mountinfo`.
fn locate(own: &str, mounts: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        if after.split(' ').next()? != "cgroup2" {
            return None;
        }
        let mut fields = before.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        let below = Path::new(path).strip_prefix(root).ok()?;
        Some(Path::new(place).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a directory of ordinary files that stands for a cgroup in tests. `files` are the names and contents of its
    /// files.
    fn stand_in(files: &[(&str, &str)]) -> (tempfile::TempDir, Cgroup) {
        let root = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            File::create(root.path().join(name)).and_then(|mut file| file.write_all(text.as_bytes())).expect("a file");
        }
        let cgroup = Cgroup { directory: root.path().to_owned(), unenforced: Vec::new(), has_memory_limit: false };
        (root, cgroup)
    }

    fn text(root: &tempfile::TempDir, name: &str) -> String {
        fs::read_to_string(root.path().join(name)).expect("a file")
    }

    #[test]
    fn limits_are_written_where_there_is_a_file_for_them() {
        let (root, mut cgroup) =
            stand_in(&[("memory.max", ""), ("memory.swap.max", ""), ("memory.oom.group", ""), ("pids.max", "")]);
        cgroup.limit(&ResourceLimits { memory: Some(1 << 20), processes: Some(64), ..ResourceLimits::default() });
        let written = ["memory.max", "memory.swap.max", "memory.oom.group", "pids.max"].map(|name| text(&root, name));
        assert_eq!(written, ["1048576", "0", "1", "64"]);
        assert!(cgroup.unenforced().is_empty());
        let (bare, mut cgroup) = stand_in(&[]);
        cgroup.limit(&ResourceLimits { memory: Some(1), processes: Some(1), ..ResourceLimits::default() });
        assert_eq!(fs::read_dir(bare.path()).expect("a list").count(), 0, "no file is made up");
        let settings: Vec<_> = cgroup.unenforced().iter().map(|limit| limit.setting).collect();
        assert_eq!(settings, [LimitSetting::Memory, LimitSetting::Processes], "{:?}", cgroup.unenforced());
    }

    #[test]
    fn what_was_used_is_read_and_what_is_not_offered_is_unknown() {
        let (_root, cgroup) = stand_in(&[
            ("cpu.stat", "usage_usec 3000\nuser_usec 2000\nsystem_usec 1500\n"),
            ("memory.peak", "4096\n"),
            ("memory.events", "low 0\noom 1\noom_kill 1\n"),
            ("pids.events", "max 0\n"),
            ("cgroup.events", "populated 0\nfrozen 0\n"),
        ]);
        let usage = cgroup.usage();
        assert_eq!((usage.user, usage.system), (Some(DurationMs(2)), Some(DurationMs(1))));
        assert_eq!((usage.peak_memory, usage.memory_exceeded, usage.processes_exceeded), (Some(4096), true, false));
        assert!(cgroup.is_empty());
        let (_bare, cgroup) = stand_in(&[]);
        assert_eq!(cgroup.usage(), GroupUsage::default());
        assert!(!cgroup.is_empty(), "unknown is not empty");
    }

    #[test]
    fn the_controllers_of_actions_are_those_that_are_enabled_for_them() {
        let (root, cgroup) = stand_in(&[("cgroup.controllers", "cpu memory pids"), ("cgroup.subtree_control", "memory pids\n")]);
        assert_eq!(Delegation { base: cgroup.directory }.enabled_controllers(), ["memory", "pids"]);
        assert!(Delegation { base: root.path().join("bare") }.enabled_controllers().is_empty());
    }

    #[test]
    fn killing_is_one_write() {
        let (root, cgroup) = stand_in(&[("cgroup.kill", ""), ("cgroup.procs", "")]);
        cgroup.kill().and_then(|()| cgroup.enter()).expect("written");
        assert_eq!((text(&root, "cgroup.kill"), text(&root, "cgroup.procs")), ("1".to_owned(), "0".to_owned()));
        let (_bare, cgroup) = stand_in(&[]);
        assert!(cgroup.kill().is_err(), "a kernel before 5.14");
    }

    #[test]
    fn the_directory_of_a_cgroup_is_found_below_its_mount() {
        let v2 = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
        let own = "0::/user.slice/user@1000.service/app.slice/proctor.service\n";
        let expected = "/sys/fs/cgroup/user.slice/user@1000.service/app.slice/proctor.service";
        assert_eq!(locate(own, v2), Some(PathBuf::from(expected)));
        let hybrid =
            "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n32 24 0:28 /user.slice /cg rw - cgroup2 c rw\n";
        assert_eq!(
            locate(&format!("3:memory:/x\n{own}"), hybrid),
            Some(PathBuf::from("/cg/user@1000.service/app.slice/proctor.service"))
        );
        assert_eq!(locate("3:memory:/x\n", v2), None);
        assert_eq!(locate(own, "31 24 0:27 / /x rw - cgroup cgroup rw\n"), None);
    }

    #[test]
    fn cgroups_of_dead_launchers_are_removed_and_nothing_else() {
        let base = tempfile::tempdir().expect("a directory");
        let own = format!("action-{}-1", Pid::this());
        // No process has this id: it is above the kernel's maximum.
        let names = [own.as_str(), "action-2147483646-1", "action-", "action-x-1", "supervisor", "other-2147483646-1"];
        names.iter().for_each(|name| fs::create_dir(base.path().join(name)).expect("an empty directory"));
        Delegation { base: base.path().to_owned() }.remove_leftovers();
        let left: Vec<&str> = names.into_iter().filter(|name| base.path().join(name).exists()).collect();
        assert_eq!(left, [own.as_str(), "action-", "action-x-1", "supervisor", "other-2147483646-1"]);
    }

    #[test]
    fn whoever_comes_goes_or_loses_a_parent_meanwhile_is_no_stranger() {
        use std::cell::Cell;

        let pid = Pid::from_raw;
        let child = |parent: i32| Some(LiveProcess { parent: pid(parent), ..LiveProcess::unseen(pid(1)) });
        let tree = |process: Pid| match process.as_raw() {
            20 | 21 => child(10),
            30 => child(20),
            40 | 10 => child(1),
            50 => child(40),
            2 => child(0),
            _ => None,
        };
        let strange = |member: i32| is_strange(pid(member), pid(10), tree);
        assert_eq!([20, 21, 30, 99].map(strange), [false; 4], "children, a grandchild, one that has ended");
        assert_eq!([40, 50, 2].map(strange), [true; 3], "others' and the kernel's");
        // The parent ends between two reads, and the subreaper becomes the child's parent.
        let looks = Cell::new(0);
        let orphaned = |process: Pid| match process.as_raw() {
            60 => child(if looks.replace(looks.get() + 1) == 0 { 61 } else { 20 }),
            61 => None,
            _ => tree(process),
        };
        assert!(!is_strange(pid(60), pid(10), orphaned));
        assert!(is_strange(pid(60), pid(10), |process| if process == pid(60) { child(61) } else { None }), "it is never settled");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test needs a neighbour, who is no action")]
    fn a_cgroup_with_anybody_else_in_it_is_not_ours() {
        let (root, _) = stand_in(&[("cgroup.kill", ""), ("cgroup.procs", "")]);
        let with = |members: String| {
            let mut file = File::create(root.path().join("cgroup.procs")).expect("ours");
            file.write_all(members.as_bytes()).expect("ours");
            let held = |neighbours| is_held_alone(root.path(), neighbours);
            (held(Neighbours::None), held(Neighbours::OfOurService))
        };
        let (own, parent) = (Pid::this(), getppid());
        assert_eq!((with(format!("{own}\n")), with(format!("{parent}\n{own}\n"))), ((true, true), (true, true)));
        assert_eq!(with(format!("{parent}\n{own}\n1\n")), (false, false), "the shell it was started from");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("it is everywhere");
        let seen = with(format!("{parent}\n{own}\n{}\n", child.id()));
        child.kill().and_then(|()| child.wait()).expect("it is ours");
        assert_eq!(seen, (false, true), "another launcher of the same service");
        fs::remove_file(root.path().join("cgroup.kill")).expect("ours");
        assert_eq!(with(format!("{own}\n")), (false, false), "the root of the hierarchy");
    }
}
