//! A cgroup per action (`cgroups(7)`, version 2), where the service manager has delegated one to us.
//!
//! A cgroup is a directory whose files are its interface: nothing here is more than reading and writing them. A test gives it a
//! directory of ordinary files to stand for a cgroup.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use nix::poll::{PollTimeout, poll};
use nix::unistd::{AccessFlags, Pid, access, getppid};

use crate::model::{DurationMs, GroupUsage, ResourceLimits};
use crate::process::process_table::{LiveProcess, read_process};
use crate::process::protocol::ActionNumber;
use crate::process::system_calls::has_attribute;

/// How systemd marks what it has delegated, as a user's manager and as the system's (`systemd.resource-control(5)`, Delegate=).
const DELEGATED: &[&str] = &["user.delegate", "trusted.delegate"];

/// Where proctor's own processes go, so that controllers can be enabled for the cgroups beside it.
const OWN_LEAF: &str = "supervisor";

/// How the cgroup of an action is called, before the launcher's process id and the action's number.
const ACTION_PREFIX: &str = "action-";

/// The controllers that limits and peaks need.
const CONTROLLERS: &[&str] = &["memory", "pids"];

/// How long is waited for those who were killed, in milliseconds; it takes about one.
const DYING_MS: usize = 2000;

/// How often a process is looked at whose parents end meanwhile.
const ANCESTRY_LOOKS: usize = 16;

/// A cgroup in which we may make others.
#[derive(Debug)]
pub(super) struct Delegation {
    base: PathBuf,
}

/// Who else may be in a cgroup that is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Neighbours {
    /// Nobody but the parent.
    None,
    /// Whatever the parent has started, which is proctor itself.
    OfOurService,
}

/// The cgroup of one action.
#[derive(Debug)]
pub(super) struct Cgroup {
    directory: PathBuf,
}

impl Delegation {
    /// Finds the cgroup of this process, and makes ready to make others in it; says why there is none.
    ///
    /// It is ours when the service manager has marked it, and also when nobody but this process, its supervisor and what that has
    /// started is in it (a service has a launcher for each project): the user manager of systemd 252 marks nothing (measured), and whom
    /// a unit holds alone it cannot take anything from. A shell's session or a terminal's scope holds others, and is never touched.
    pub(super) fn find() -> Result<Self, String> {
        let found = Self::look(Neighbours::OfOurService)?;
        found.remove_leftovers();
        found.enable_controllers();
        Ok(found)
    }

    /// Finds the cgroup of this process and changes nothing.
    fn look(neighbours: Neighbours) -> Result<Self, String> {
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| format!("cannot read `/proc/self/cgroup`: {error}"))?;
        let mounts =
            fs::read_to_string("/proc/self/mountinfo").map_err(|error| format!("cannot read `/proc/self/mountinfo`: {error}"))?;
        let base = locate(&own, &mounts).ok_or("this system has no cgroup version 2 hierarchy")?;
        // A process that was already moved into the leaf finds it as its own.
        let base = if base.ends_with(OWN_LEAF) { base.parent().map(Path::to_owned).unwrap_or(base) } else { base };
        if !DELEGATED.iter().any(|name| has_attribute(&base, name)) && !is_held_alone(&base, neighbours) {
            return Err(format!("no cgroup was delegated to proctor (`{}` belongs to the service manager)", base.display()));
        }
        Ok(Self { base })
    }

    /// Returns the controllers that the cgroups of actions have.
    fn enabled_controllers(&self) -> Vec<String> {
        let enabled = fs::read_to_string(self.base.join("cgroup.subtree_control")).unwrap_or_default();
        enabled.split_whitespace().map(str::to_owned).collect()
    }

    /// Makes the cgroup of an action, with its limits where there are controllers for them.
    pub(super) fn make(&self, number: ActionNumber, limits: &ResourceLimits) -> io::Result<Cgroup> {
        let directory = self.base.join(format!("{ACTION_PREFIX}{}-{}", Pid::this(), number.0));
        fs::create_dir(&directory)?;
        let cgroup = Cgroup { directory };
        cgroup.limit(limits);
        Ok(cgroup)
    }

    /// Ends and removes the cgroups of actions whose launcher is dead: it was killed, and nobody else removes them.
    fn remove_leftovers(&self) {
        for entry in fs::read_dir(&self.base).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_orphan = name.to_str().and_then(launcher_of).is_some_and(|launcher| !is_alive(launcher));
            if is_orphan {
                let left = Cgroup { directory: entry.path() };
                left.clear();
                let _still_dying = left.remove();
            }
        }
    }

    /// Moves our processes out of the way and enables what is there: inner nodes have no processes of their own (`cgroups(7)`).
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
        // Refused, there are no files for limits in the cgroups below, and what is used says so.
        let _refused = set(&self.base.join("cgroup.subtree_control"), &wanted.join(" "));
    }
}

/// Returns the controllers that the cgroups of actions have, once a launcher has started an action; or why actions have no cgroups.
///
/// # Errors
/// When no cgroup is delegated to this process.
pub fn limits_offered() -> Result<Vec<String>, String> {
    Ok(Delegation::look(Neighbours::None)?.enabled_controllers())
}

impl Cgroup {
    /// Puts this process into it; whatever it starts is born there.
    pub(super) fn enter(&self) -> io::Result<()> {
        set(&self.directory.join("cgroup.procs"), "0")
    }

    /// Puts another process into it, before that starts anything.
    pub(super) fn take(&self, process: Pid) -> io::Result<()> {
        set(&self.directory.join("cgroup.procs"), &process.to_string())
    }

    /// Sets limits. Without the controller there is no such file, and no limit: what was used says so.
    fn limit(&self, limits: &ResourceLimits) {
        if let Some(bytes) = limits.memory {
            let _no_controller = set(&self.directory.join("memory.max"), &bytes.to_string());
            // Otherwise the limit only moves memory to the swap.
            let _no_swap = set(&self.directory.join("memory.swap.max"), "0");
            let _all_or_none = set(&self.directory.join("memory.oom.group"), "1");
        }
        if let Some(count) = limits.processes {
            let _no_controller = set(&self.directory.join("pids.max"), &count.to_string());
        }
    }

    /// Kills everything in it, in one step of the kernel (Linux 5.14).
    pub(super) fn kill(&self) -> io::Result<()> {
        set(&self.directory.join("cgroup.kill"), "1")
    }

    /// Returns whether nobody in it is alive; unknown is not empty.
    pub(super) fn is_empty(&self) -> bool {
        self.read("cgroup.events").and_then(|text| value_of(&text, "populated")) == Some(0)
    }

    /// Waits, within a bound, until those who were killed are dead.
    fn await_empty(&self) {
        for _ in 0..DYING_MS {
            if self.is_empty() {
                return;
            }
            let _slept = poll(&mut [], PollTimeout::from(1_u8));
        }
    }

    /// Kills whoever is left in it, and waits until they are dead.
    pub(super) fn clear(&self) {
        if !self.is_empty() {
            let _before_5_14 = self.kill();
            self.await_empty();
        }
    }

    /// Returns what everything that ran in it has used.
    pub(super) fn usage(&self) -> GroupUsage {
        let time = |key: &str| {
            let micros = self.read("cpu.stat").and_then(|text| value_of(&text, key));
            micros.map(|micros| DurationMs(micros / 1000))
        };
        GroupUsage {
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

    /// Removes it, which the kernel allows once nobody in it is alive.
    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_dir(&self.directory)
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.directory.join(file)).ok()
    }
}

/// Returns whether this process, its parent, those neighbours and nobody else is in a cgroup that we may make others in.
fn is_held_alone(base: &Path, neighbours: Neighbours) -> bool {
    let is_ours = |member: Pid| {
        member == Pid::this()
            || member == getppid()
            || (neighbours == Neighbours::OfOurService && !is_strange(member, getppid(), read_process))
    };
    // A launcher that takes a dead one's place finds us in the leaf.
    let members = [base.to_owned(), base.join(OWN_LEAF)].map(|path| fs::read_to_string(path.join("cgroup.procs")));
    let mut members = members.iter().flatten().flat_map(|text| text.split_whitespace());
    let are_ours = members.all(|member| member.parse().is_ok_and(|number| is_ours(Pid::from_raw(number))));
    // The root holds the whole system, and of a cgroup we may not move processes in nothing is ours.
    are_ours && base.join("cgroup.kill").exists() && access(&base.join("cgroup.procs"), AccessFlags::W_OK).is_ok()
}

/// Returns whether a process that was seen is alive and was not started by `ours`, directly or through others.
///
/// Members come and go while they are looked at: an action's first process is born among us and leaves for its own cgroup. So each
/// is followed from child to parent as it is now, and one whose line ends in a process that is gone is looked at again: it has
/// another parent by then, or has ended itself.
fn is_strange(member: Pid, ours: Pid, read: impl Fn(Pid) -> Option<LiveProcess>) -> bool {
    for _ in 0..ANCESTRY_LOOKS {
        let mut next = member;
        while let Some(process) = read(next) {
            if process.parent == ours {
                return false;
            }
            // The parent of the first process, or of one from outside our view, has no number.
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

/// Returns the launcher that made the cgroup of an action with this name.
fn launcher_of(name: &str) -> Option<i32> {
    name.strip_prefix(ACTION_PREFIX)?.split_once('-')?.0.parse().ok()
}

fn is_alive(process: i32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

fn set(file: &Path, text: &str) -> io::Result<()> {
    File::options().write(true).open(file)?.write_all(text.as_bytes())
}

/// Returns the number behind a key in one of the files of lines `key number`.
fn value_of(text: &str, key: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(name, _)| *name == key).and_then(|(_, value)| value.trim().parse().ok())
}

/// Finds the directory of a process's cgroup, from its `/proc/PID/cgroup` and the mounts it sees.
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

    /// A directory of ordinary files that stands for a cgroup with controllers.
    fn stand_in(files: &[(&str, &str)]) -> (tempfile::TempDir, Cgroup) {
        let root = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            File::create(root.path().join(name)).and_then(|mut file| file.write_all(text.as_bytes())).expect("a file");
        }
        let cgroup = Cgroup { directory: root.path().to_owned() };
        (root, cgroup)
    }

    fn text(root: &tempfile::TempDir, name: &str) -> String {
        fs::read_to_string(root.path().join(name)).expect("a file")
    }

    #[test]
    fn limits_are_written_where_there_is_a_file_for_them() {
        let (root, cgroup) = stand_in(&[("memory.max", ""), ("memory.swap.max", ""), ("memory.oom.group", ""), ("pids.max", "")]);
        cgroup.limit(&ResourceLimits { memory: Some(1 << 20), processes: Some(64) });
        let written = ["memory.max", "memory.swap.max", "memory.oom.group", "pids.max"].map(|name| text(&root, name));
        assert_eq!(written, ["1048576", "0", "1", "64"]);
        let (bare, cgroup) = stand_in(&[]);
        cgroup.limit(&ResourceLimits { memory: Some(1), processes: Some(1) });
        assert_eq!(fs::read_dir(bare.path()).expect("a list").count(), 0, "no file is made up");
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
        // No process has this number: it is above what the kernel gives.
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
        // The parent ends between two looks, and the child comes to the subreaper.
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
