//! Finds out whether the process at the other end of a Unix socket belongs to an action, that is, to a check or to
//! anything else that a launcher of proctor has started.
//!
//! The kernel says which process connected (`SO_PEERCRED`), and gives a pidfd for it (`SO_PEERPIDFD`, Linux 6.5). What
//! `/proc` then shows about this process id is about the process that connected, if that process is still alive
//! afterwards. So a process that has ended is refused: its id may belong to somebody else by now.
//!
//! Several signs are looked for, and one of them is enough. All of them are inherited by every descendant, whatever its
//! parents are and whether they still live, except the ancestry.
//!
//! * the [mark](crate::process::action_mark) of every action,
//! * a cgroup that was made for an action,
//! * another user or pid namespace than that of this process: an action at the namespace level has its own,
//! * an ancestor that this process has started: only a launcher and its actions descend from this process.
//!
//! The mount namespace is no sign of its own: nobody can have another one without another user namespace or the rights
//! of root, and a service manager may give this process a mount namespace of its own (`PrivateTmp=`). Nothing here reads
//! `/proc/PID/cmdline` or other files for which the kernel has to wait for the examined process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::RLIM_INFINITY;
use nix::sys::socket::{getsockopt, sockopt};
use nix::unistd::{Pid, geteuid};

use crate::process::action_mark::{is_marked, limit_of};
use crate::process::cgroup::action_cgroups;
use crate::process::process_table::{LiveProcess, read_process_or_zombie};
use crate::process::system_calls::{PeerPidfd, peer_pidfd};

/// The most readings of a process's ancestors. They are read again if one of them ends during a reading.
const ANCESTRY_LOOKS: usize = 16;

/// The most ancestors of a process that are read.
const MOST_ANCESTORS: usize = 4096;

/// The process at the other end of a connected Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerProcess {
    /// The process id; `None` if the process is in no pid namespace that this process sees.
    pub pid: Option<i32>,
    pub uid: u32,
    pub origin: PeerOrigin,
}

/// Where the process at the other end of a socket comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerOrigin {
    /// Nothing says that the process belongs to an action.
    Outside,
    /// The process belongs to an action of proctor.
    Action {
        sign: ActionSign,
        /// The launcher that started the action, if it is a child of this process.
        launcher: Option<Pid>,
    },
    /// The process has ended, or its ancestors change faster than they can be read.
    Unknown,
}

/// By what a process was recognised as a part of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionSign {
    /// The limit that marks every process of an action.
    Mark,
    /// The cgroup of an action.
    Cgroup,
    /// Another user or pid namespace than this process has.
    Namespace,
    /// An ancestor that this process has started.
    Ancestor,
}

impl fmt::Display for ActionSign {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Mark => "it carries the limit that marks actions",
            Self::Cgroup => "it is in the cgroup of an action",
            Self::Namespace => "it is in other namespaces",
            Self::Ancestor => "it descends from the service",
        })
    }
}

/// What is known of a process from `/proc`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ProcessFacts {
    /// The limit by which processes of actions are marked.
    limit: u64,
    /// The path of the process's cgroup.
    cgroup: String,
    /// The user and the pid namespace; `None` if they may not be read.
    namespaces: Option<[String; 2]>,
    /// In how many nested pid namespaces the process is, seen from the mounted `/proc`.
    pid_levels: usize,
    /// The process ids of the ancestors, the parent first.
    ancestors: Vec<i32>,
}

/// Examines the processes that connect to this process.
#[derive(Debug)]
pub struct PeerExaminer {
    /// What `/proc` says of this process. The facts that matter here never change, so they are read once.
    own: ProcessFacts,
}

impl PeerExaminer {
    /// Reads what the peers are compared with.
    ///
    /// # Errors
    /// When `/proc` does not show this process.
    pub fn new() -> io::Result<Self> {
        let own = read_facts(Pid::this()).ok_or_else(|| io::Error::other("`/proc` does not show this process"))?;
        Ok(Self { own })
    }

    /// Examines the process that connected the other end of `socket`.
    ///
    /// # Errors
    /// When the kernel does not say who connected.
    pub fn examine(&self, socket: BorrowedFd<'_>) -> io::Result<PeerProcess> {
        let credentials = getsockopt(&socket, sockopt::PeerCredentials)?;
        let pid = Some(credentials.pid()).filter(|pid| *pid > 0);
        let peer = |origin| PeerProcess { pid, uid: credentials.uid(), origin };
        let held = match peer_pidfd(socket) {
            PeerPidfd::Held(held) => Some(held),
            // An older kernel gives no pidfd. The process may then end, and another process may get its id, before
            // `/proc` is read.
            PeerPidfd::Unsupported => None,
            PeerPidfd::Ended => return Ok(peer(PeerOrigin::Unknown)),
        };
        let Some(process) = pid.map(Pid::from_raw) else {
            return Ok(peer(PeerOrigin::Action { sign: ActionSign::Namespace, launcher: None }));
        };
        let Some(facts) = read_facts(process) else { return Ok(peer(PeerOrigin::Unknown)) };
        if held.is_some_and(|held| has_ended(held.as_fd())) {
            return Ok(peer(PeerOrigin::Unknown));
        }
        Ok(peer(judge(&self.own, Pid::this(), &facts)))
    }
}

/// Returns the environment with which a program of this name was started: the one that listens at the other end of a socket, or the `holder`
/// of its lock, because for a socket that a service manager opened the kernel names the manager. `None` unless it is this user's process.
pub fn variables_of_listener(socket: BorrowedFd<'_>, holder: Option<i32>, name: &str) -> Option<BTreeMap<OsString, OsString>> {
    let listens = getsockopt(&socket, sockopt::PeerCredentials).ok().map(|peer| peer.pid());
    let text = listens.into_iter().chain(holder).find_map(|pid| {
        let of_process = |file: &str| fs::read(format!("/proc/{pid}/{file}")).ok();
        let is_own = fs::metadata(format!("/proc/{pid}")).is_ok_and(|found| found.uid() == geteuid().as_raw());
        of_process("comm").filter(|found| is_own && found.trim_ascii_end() == name.as_bytes()).and_then(|_| of_process("environ"))
    })?;
    let variables = text.split(|byte| *byte == 0).filter_map(|entry| {
        let end = entry.iter().position(|byte| *byte == b'=')?;
        Some((OsString::from_vec(entry[..end].to_vec()), OsString::from_vec(entry[end + 1..].to_vec())))
    });
    Some(variables.collect())
}

/// Decides from the facts about a process whether it belongs to an action. A sign that this process has too says
/// nothing: proctor itself may have been started inside an action.
fn judge(own: &ProcessFacts, this: Pid, peer: &ProcessFacts) -> PeerOrigin {
    let descends = peer.ancestors.iter().position(|ancestor| *ancestor == this.as_raw());
    // The launcher is the ancestor just below this process. If the peer is itself a child of this process, no
    // launcher is named.
    let launcher = descends.and_then(|index| index.checked_sub(1)).map(|index| Pid::from_raw(peer.ancestors[index]));
    let action = |sign| PeerOrigin::Action { sign, launcher };
    if is_marked(peer.limit, own.limit) {
        return action(ActionSign::Mark);
    }
    if action_cgroups(&peer.cgroup).any(|group| !is_within(&own.cgroup, group)) {
        return action(ActionSign::Cgroup);
    }
    let differs = |(one, other): (&[String; 2], &[String; 2])| one != other;
    if peer.pid_levels != own.pid_levels || peer.namespaces.as_ref().zip(own.namespaces.as_ref()).is_some_and(differs) {
        return action(ActionSign::Namespace);
    }
    if descends.is_some() {
        return action(ActionSign::Ancestor);
    }
    PeerOrigin::Outside
}

fn is_within(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn has_ended(pidfd: BorrowedFd<'_>) -> bool {
    let mut asked = [PollFd::new(pidfd, PollFlags::POLLIN)];
    // A pidfd is readable once its process has ended. If the pidfd cannot be polled, the process counts as ended.
    poll(&mut asked, PollTimeout::ZERO).is_err() || asked[0].any() != Some(false)
}

/// Reads what `/proc` says of a process; `None` if the process has ended, or if its files or its ancestors cannot be
/// read.
fn read_facts(process: Pid) -> Option<ProcessFacts> {
    let text = |name: &str| fs::read_to_string(format!("/proc/{process}/{name}")).ok();
    let cgroup = text("cgroup").unwrap_or_default();
    let namespace = |name: &str| {
        let link = fs::read_link(format!("/proc/{process}/ns/{name}")).ok()?;
        Some(link.to_string_lossy().into_owned())
    };
    Some(ProcessFacts {
        limit: limit_of(&text("limits")?).unwrap_or(RLIM_INFINITY),
        cgroup: cgroup.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default().to_owned(),
        namespaces: namespace("user").zip(namespace("pid")).map(|(user, pid)| [user, pid]),
        pid_levels: pid_levels(&text("status")?),
        ancestors: read_ancestors(process, read_process_or_zombie)?,
    })
}

/// Returns in how many nested pid namespaces a process is, by its `/proc/PID/status`. Anybody may read that file, also
/// where the links of the namespaces are closed.
fn pid_levels(status: &str) -> usize {
    let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    ids.map_or(1, |ids| ids.split_whitespace().count())
}

/// Reads the ancestors of a process, the parent first. If one of them ends meanwhile, all are read again, because then
/// the process has another parent. The list ends at an ancestor that `/proc` hides from this user (`hidepid=`), because it
/// is another user's process, which no action starts.
pub(super) fn read_ancestors(process: Pid, read: impl Fn(Pid) -> Option<LiveProcess>) -> Option<Vec<i32>> {
    (0..ANCESTRY_LOOKS).find_map(|_| {
        let mut ancestors = Vec::new();
        let mut child = read(process)?;
        while child.parent.as_raw() > 0 && ancestors.len() < MOST_ANCESTORS {
            let Some(parent) = read(child.parent) else {
                // A parent that has ended is not the parent any more. A parent that is hidden still is the parent.
                let is_hidden = read(child.pid).is_some_and(|again| again == child);
                return is_hidden.then_some(ancestors);
            };
            // A process that started after its child has got the id of the real parent, which has ended.
            if parent.started > child.started {
                return None;
            }
            ancestors.push(parent.pid.as_raw());
            child = parent;
        }
        Some(ancestors)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    const SERVICE: Pid = Pid::from_raw(100);

    fn facts(ancestors: &[i32]) -> ProcessFacts {
        ProcessFacts {
            limit: RLIM_INFINITY,
            cgroup: "/user.slice/app.slice/shell.scope".to_owned(),
            namespaces: Some(["user:[1]".to_owned(), "pid:[1]".to_owned()]),
            pid_levels: 1,
            ancestors: ancestors.to_vec(),
        }
    }

    fn own() -> ProcessFacts {
        ProcessFacts { cgroup: "/user.slice/app.slice/proctor.service/supervisor".to_owned(), ..facts(&[1]) }
    }

    fn sign(own: &ProcessFacts, peer: &ProcessFacts) -> Option<ActionSign> {
        match judge(own, SERVICE, peer) {
            PeerOrigin::Outside => None,
            PeerOrigin::Action { sign, .. } => Some(sign),
            PeerOrigin::Unknown => panic!("facts are known"),
        }
    }

    #[test]
    fn each_sign_alone_is_enough_and_a_shell_has_none() {
        assert_eq!(sign(&own(), &facts(&[50, 1])), None);
        assert_eq!(sign(&own(), &ProcessFacts { limit: 7, ..facts(&[1]) }), Some(ActionSign::Mark));
        let below = |path: &str| ProcessFacts { cgroup: path.to_owned(), ..facts(&[1]) };
        for path in ["/user.slice/proctor.service/action-7-1", "/a/action-7-1/of/its/own"] {
            assert_eq!(sign(&own(), &below(path)), Some(ActionSign::Cgroup), "{path}");
        }
        for path in ["/user.slice/action-movie.scope", "/user.slice/action-7", ""] {
            assert_eq!(sign(&own(), &below(path)), None, "{path}");
        }
        let namespaces = |user: &str, pid: &str| Some([user.to_owned(), pid.to_owned()]);
        let apart = |namespaces| ProcessFacts { namespaces, ..facts(&[1]) };
        assert_eq!(sign(&own(), &apart(namespaces("user:[2]", "pid:[1]"))), Some(ActionSign::Namespace));
        assert_eq!(sign(&own(), &apart(namespaces("user:[1]", "pid:[2]"))), Some(ActionSign::Namespace));
        assert_eq!(sign(&own(), &apart(None)), None, "they cannot be read of a program that hides its memory");
        assert_eq!(sign(&own(), &ProcessFacts { pid_levels: 2, namespaces: None, ..facts(&[1]) }), Some(ActionSign::Namespace));
        assert_eq!(sign(&own(), &facts(&[300, 200, 100, 1])), Some(ActionSign::Ancestor));
    }

    #[test]
    fn the_launcher_is_the_ancestor_that_the_service_started() {
        let launcher = |ancestors: &[i32]| match judge(&own(), SERVICE, &facts(ancestors)) {
            PeerOrigin::Action { launcher, .. } => launcher.map(Pid::as_raw),
            PeerOrigin::Outside | PeerOrigin::Unknown => panic!("it descends from the service"),
        };
        assert_eq!(launcher(&[300, 200, 100, 1]), Some(200));
        assert_eq!(launcher(&[200, 100]), Some(200));
        assert_eq!(launcher(&[100]), None);
    }

    #[test]
    fn a_sign_that_the_service_has_itself_says_nothing() {
        let own = ProcessFacts { limit: 7, pid_levels: 2, cgroup: "/a/action-7-1/x".to_owned(), ..own() };
        let beside = ProcessFacts { limit: 7, pid_levels: 2, cgroup: "/a/action-7-1/y".to_owned(), ..facts(&[1]) };
        assert_eq!(sign(&own, &beside), None, "proctor was started inside an action, and so was its client");
        let deeper = ProcessFacts { limit: 6, ..beside.clone() };
        assert_eq!(sign(&own, &deeper), Some(ActionSign::Mark), "an action of this service");
        let inner = ProcessFacts { cgroup: "/a/action-7-1/x/action-9-1".to_owned(), ..beside };
        assert_eq!(sign(&own, &inner), Some(ActionSign::Cgroup), "an action of this service");
    }

    #[test]
    fn ancestors_are_read_again_while_one_of_them_ends() {
        let live = |pid: i32, parent: i32, started: u64| LiveProcess {
            parent: Pid::from_raw(parent),
            started,
            ..LiveProcess::unseen(Pid::from_raw(pid))
        };
        let table = |pid: Pid| match pid.as_raw() {
            9 => Some(live(9, 8, 90)),
            8 => Some(live(8, 1, 80)),
            1 => Some(live(1, 0, 0)),
            7 => Some(live(7, 6, 70)),
            // A younger process has got this id, which belonged to a process that has ended.
            6 => Some(live(6, 1, 75)),
            4 => Some(live(4, 3, 40)),
            _ => None,
        };
        assert_eq!(read_ancestors(Pid::from_raw(9), table), Some(vec![8, 1]));
        assert_eq!(read_ancestors(Pid::from_raw(7), table), None);
        assert_eq!(read_ancestors(Pid::from_raw(5), table), None);
        assert_eq!(read_ancestors(Pid::from_raw(4), table), Some(vec![]), "its parent is another user's and hidden");
        let looks = std::cell::Cell::new(0);
        let reparented = |pid: Pid| {
            looks.set(looks.get() + 1);
            match pid.as_raw() {
                9 if looks.get() == 1 => Some(live(9, 3, 90)),
                _ => table(pid),
            }
        };
        assert_eq!(read_ancestors(Pid::from_raw(9), reparented), Some(vec![8, 1]), "its first parent has ended");
    }

    #[test]
    fn this_process_is_a_peer_from_outside_of_itself() {
        let (ours, _theirs) = UnixStream::pair().expect("a pair");
        let examiner = PeerExaminer::new().expect("we are there");
        let peer = examiner.examine(ours.as_fd()).expect("it is known");
        assert_eq!((peer.pid, peer.origin), (i32::try_from(std::process::id()).ok(), PeerOrigin::Outside));
    }

    #[test]
    fn pid_levels_are_counted_in_the_status() {
        assert_eq!(pid_levels("Name:\tx\nNSpid:\t4711\t2\n"), 2);
        assert_eq!(pid_levels("Name:\tx\nNSpid:\t4711\n"), 1);
        assert_eq!(pid_levels("Name:\tx\n"), 1);
    }
}
