//! A command that a parked keeper starts before its action is requested, and the handing over of the action.
//!
//! Until then the command sees an empty directory in place of the project, in which only the directories of installed packages can be
//! read. It is started twice. The rehearsal has no list: it says what the command loads before it would execute the first code of the
//! project, and ends. The second process loads that and waits. If the list no longer fits, the second process says a shorter one, or an
//! empty one for another rehearsal. What a list says is between the command and the tool that made it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, IoSlice, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, recv, sendmsg, socketpair};
use nix::unistd::Pid;

use crate::process::child::spawn_confined;
use crate::process::clock::{Monotonic, monotonic};
use crate::process::group::ProcessGroup;
use crate::process::process_table::read_used_time;
use crate::process::protocol::{ActionNumber, DescriptorRole, EarlyCommand, Isolation, LaunchedChild, StartAction};
use crate::process::system_calls::{
    MountAttribute, MountExtent, Reaping, attach_mount, clone_mount, restrict_copy, restrict_mount, wait_child,
};
use proctor_model::{DurationMs, EarlyUse, SpawnFailure, StopStage};

/// How long after the end of a run the command is started, so that it takes no time from the verdict.
const LATER: Duration = Duration::from_millis(50);
/// How long a command that is not wanted stays.
const LONGEST: Duration = Duration::from_secs(30 * 60);
/// How long a rehearsal may take, and the loading.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How long the command may take to answer when it is given its action.
const ANSWER_MS: u16 = 2_000;
/// The most bytes of a message.
const MESSAGE_CAP: usize = 1 << 20;
/// The most characters of a reason that are kept.
const REASON_CAP: usize = 300;
/// What the command says when it waits for its action.
const READY: &[u8] = b"ready";
/// What comes before a list for the next process.
const LIST: &[u8] = b"list ";
/// How many processes are started at most until one waits.
const MOST_STARTS: u32 = 6;
/// What comes before the reason why it may be ready if it is started after `MUCH_LATER`.
const YOUNG: &[u8] = b"later ";
const MUCH_LATER: Duration = Duration::from_millis(2_500);
/// How often the machine's memory is looked at while a command waits, and the part of it that must be available.
const MEMORY_LOOK: Duration = Duration::from_secs(60);
const PART_AVAILABLE: u64 = 10;
/// What it is told when it is given the action.
const GO: &[u8] = b"go";
/// What it says when it can go on as the action.
const GOING: &[u8] = b"going";

/// The command of a parked keeper.
pub(super) struct EarlyStart {
    command: EarlyCommand,
    list: Option<String>,
    /// The number of processes started so far.
    starts: u32,
    state: EarlyState,
}

enum EarlyState {
    Due(Monotonic),
    Starting(Started, Monotonic),
    Ready(Started, Monotonic),
    /// It cannot be used, for this reason.
    Over(String),
}

/// A command that was started.
struct Started {
    group: ProcessGroup,
    socket: OwnedFd,
    /// The other ends of its output. What it prints before it has its action would be missing in the action's output.
    output: [OwnedFd; 2],
    /// The directories of installed packages, with device and inode.
    environments: Vec<(PathBuf, (u64, u64))>,
}

/// An action that a started command goes on as.
pub(super) struct HandedOver {
    pub(super) group: ProcessGroup,
    /// The processor time that the command had used before, as user and as system.
    pub(super) used_before: (DurationMs, DurationMs),
}

impl EarlyStart {
    pub(super) fn new(command: EarlyCommand, list: Option<String>) -> Self {
        let due = monotonic().plus(LATER).unwrap_or_else(monotonic);
        Self { command, list: list.filter(|list| !list.is_empty()), starts: 0, state: EarlyState::Due(due) }
    }

    /// Returns what becomes readable when the command says something.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.state {
            EarlyState::Starting(started, _) | EarlyState::Ready(started, _) => Some(started.socket.as_fd()),
            EarlyState::Due(_) | EarlyState::Over(_) => None,
        }
    }

    /// Returns how many milliseconds are left until something is to be done.
    pub(super) fn patience(&self) -> PollTimeout {
        let (EarlyState::Due(until) | EarlyState::Starting(_, until) | EarlyState::Ready(_, until)) = &self.state else {
            return PollTimeout::NONE;
        };
        let left = until.since(monotonic()).min(MEMORY_LOOK).as_millis().saturating_add(1);
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    }

    /// Does what is to be done now. Returns the list for the next process, if one was said.
    pub(super) fn step(&mut self, confine: impl Fn() -> Result<(), SpawnFailure>) -> Option<String> {
        let now = monotonic();
        match std::mem::replace(&mut self.state, EarlyState::Over(String::new())) {
            EarlyState::Due(until) if until.since(now) > Duration::ZERO => self.state = EarlyState::Due(until),
            EarlyState::Due(_) => self.start(confine),
            EarlyState::Starting(started, until) => return self.hear(started, until, confine),
            EarlyState::Ready(started, until) => {
                let why = if until.since(now) == Duration::ZERO {
                    Some("no run came for a long time")
                } else if started.receive().is_some() {
                    Some("it ended while it waited")
                } else if is_memory_short() {
                    Some("the machine's memory is short")
                } else {
                    None
                };
                self.state = match why {
                    Some(why) => self.give_up(&started, why.to_owned()),
                    None => EarlyState::Ready(started, until),
                };
            }
            EarlyState::Over(why) => self.state = EarlyState::Over(why),
        }
        None
    }

    /// Hears what a process says that loads its list. Returns the list for the next process, if it says one.
    fn hear(&mut self, started: Started, until: Monotonic, confine: impl Fn() -> Result<(), SpawnFailure>) -> Option<String> {
        let now = monotonic();
        let said = match started.receive() {
            None if until.since(now) > Duration::ZERO => {
                self.state = EarlyState::Starting(started, until);
                return None;
            }
            said => said.unwrap_or_default(),
        };
        if said == READY {
            self.state = EarlyState::Ready(started, now.plus(LONGEST).unwrap_or(now));
            return None;
        }
        if said.starts_with(YOUNG) && self.starts < MOST_STARTS {
            self.drop_started(&started);
            self.state = EarlyState::Due(now.plus(MUCH_LATER).unwrap_or(now));
            return None;
        }
        let Some(list) = said.strip_prefix(LIST).filter(|_| self.starts < MOST_STARTS) else {
            self.state = self.give_up(&started, said_reason(&said, "it ended, or took too long to start"));
            return None;
        };
        let list = String::from_utf8_lossy(list).into_owned();
        self.drop_started(&started);
        self.list = Some(list.clone()).filter(|list| !list.is_empty());
        self.start(confine);
        Some(list)
    }

    fn give_up(&self, started: &Started, why: String) -> EarlyState {
        self.drop_started(started);
        EarlyState::Over(why)
    }

    fn start(&mut self, confine: impl Fn() -> Result<(), SpawnFailure>) {
        self.starts += 1;
        let tried = if is_memory_short() { Err(io::ErrorKind::OutOfMemory.into()) } else { self.try_start(confine) };
        self.state = match tried {
            Ok(started) => {
                let now = monotonic();
                EarlyState::Starting(started, now.plus(START_LIMIT).unwrap_or(now))
            }
            Err(error) => {
                let _not_mounted = umount2(&self.command.root, MntFlags::MNT_DETACH);
                EarlyState::Over(format!("it cannot be started: {error}"))
            }
        };
    }

    fn try_start(&self, confine: impl Fn() -> Result<(), SpawnFailure>) -> io::Result<Started> {
        let environments = cover(&self.command, self.list.as_deref())?;
        let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        let (stdout, out) = io::pipe()?;
        let (stderr, err) = io::pipe()?;
        let command = &self.command;
        let channel = (command.channel.clone().into(), theirs.as_raw_fd().to_string().into());
        let child = LaunchedChild {
            program: command.program.clone(),
            argv: command.argv.clone(),
            environment: command.environment.iter().cloned().chain([channel]).collect(),
            directory: command.directory.clone(),
            isolation: Isolation::weakest(),
            another_follows: false,
            early: None,
        };
        let descriptors = vec![DescriptorRole::Stdout, DescriptorRole::Stderr];
        let start = StartAction { number: ActionNumber(0), child, descriptors };
        let inherit = || {
            let _refused = fcntl(&theirs, FcntlArg::F_SETFD(FdFlag::empty()));
            confine()
        };
        let group = spawn_confined(&start, vec![out.into(), err.into()], inherit);
        let group = group.map_err(|failure| io::Error::other(failure.to_string()))?;
        Ok(Started { group, socket: ours, output: [stdout.into(), stderr.into()], environments })
    }

    /// Ends a command that is not used, and takes the empty directory away that it sees in place of the project.
    fn drop_started(&self, started: &Started) {
        let _ended = started.group.signal(StopStage::Sigkill);
        let mut ended = [PollFd::new(started.socket.as_fd(), PollFlags::empty())];
        let _waited = poll(&mut ended, PollTimeout::from(ANSWER_MS));
        started.reap();
        let _not_mounted = umount2(&self.command.root, MntFlags::MNT_DETACH);
    }

    /// Shows the command the project again, before the snapshot is mounted. Returns the command if it can be given this action.
    pub(super) fn uncover(self, start: &StartAction) -> Result<ReadyCommand, EarlyUse> {
        let is_meant = start.child.early.as_ref() == Some(&self.command.key);
        let is_plain = !start.descriptors.contains(&DescriptorRole::Stdin);
        let state = match self.state {
            EarlyState::Ready(ref started, _) if is_meant && is_plain && !started.has_printed() => {
                umount2(&self.command.root, MntFlags::MNT_DETACH).map_err(|errno| EarlyUse::Refused(errno.desc().to_owned()))?;
                let is_same = started.environments.iter().all(|(path, before)| identity(path).ok().as_ref() == Some(before));
                if is_same {
                    let EarlyState::Ready(started, _) = self.state else { return Err(EarlyUse::NotTried) };
                    return Ok(ReadyCommand(started));
                }
                "the installed packages were replaced".to_owned()
            }
            EarlyState::Ready(ref started, _) if is_meant && started.has_printed() => "it prints when it starts".to_owned(),
            EarlyState::Ready(..) => "another command was started".to_owned(),
            EarlyState::Due(_) | EarlyState::Starting(..) => "it was not ready yet".to_owned(),
            EarlyState::Over(ref why) => why.clone(),
        };
        if let EarlyState::Ready(started, _) | EarlyState::Starting(started, _) = &self.state {
            self.drop_started(started);
        }
        Err(if start.child.early.is_some() { EarlyUse::Refused(state) } else { EarlyUse::NotTried })
    }
}

/// A command that sees the files of its action, and is to go on as it.
pub(super) struct ReadyCommand(Started);

impl ReadyCommand {
    pub(super) fn process(&self) -> Pid {
        self.0.group.id()
    }

    /// Gives the action to the command. The error says why the command does not go on as the action; it has ended then.
    pub(super) fn hand_over(self, start: &StartAction, descriptors: &[OwnedFd]) -> Result<HandedOver, EarlyUse> {
        let started = self.0;
        let used_before = read_used_time(started.group.id()).unwrap_or_default();
        let said = started.give(start, descriptors).ok().and_then(|()| started.await_answer());
        match said {
            Some(said) if said == GOING && started.allow() => Ok(HandedOver { group: started.group, used_before }),
            said => {
                let _ended = started.group.signal(StopStage::Sigkill);
                let why = said_reason(&said.unwrap_or_default(), "it did not answer");
                started.reap();
                Err(EarlyUse::Refused(why))
            }
        }
    }
}

impl Started {
    /// Reaps the process, which was killed.
    fn reap(&self) {
        for _ in 0..ANSWER_MS {
            match wait_child(self.group.id(), Reaping::Reap) {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(_)) | Err(_) => break,
            }
        }
    }

    /// Returns a message that has arrived; an empty one if the command has ended.
    fn receive(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; MESSAGE_CAP];
        let count = recv(self.socket.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT).ok()?;
        bytes.truncate(count);
        Some(bytes)
    }

    /// Lets the command go on. It has not begun as the action before, so until then another process may take its place.
    fn allow(&self) -> bool {
        sendmsg::<()>(self.socket.as_raw_fd(), &[IoSlice::new(GO)], &[], MsgFlags::MSG_NOSIGNAL, None).is_ok()
    }

    fn await_answer(&self) -> Option<Vec<u8>> {
        let mut watched = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        let _ready = poll(&mut watched, PollTimeout::from(ANSWER_MS));
        self.receive()
    }

    fn has_printed(&self) -> bool {
        let mut watched = [0, 1].map(|at| PollFd::new(self.output[at].as_fd(), PollFlags::POLLIN));
        poll(&mut watched, PollTimeout::ZERO).is_ok()
            && watched.iter().any(|one| one.revents().is_some_and(|seen| seen.contains(PollFlags::POLLIN)))
    }

    /// Sends the directory, the arguments and the variables of an action with its standard streams.
    fn give(&self, start: &StartAction, descriptors: &[OwnedFd]) -> io::Result<()> {
        let child = &start.child;
        let argv: Vec<&OsStr> = child.argv.iter().map(AsRef::as_ref).collect();
        let variables: Vec<Vec<u8>> =
            child.environment.iter().map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat()).collect();
        let argv = argv.iter().map(|word| word.as_bytes()).collect::<Vec<_>>().join(&0);
        let message = [child.directory.as_os_str().as_bytes(), &argv, &variables.join(&0)].join(&[0, 0][..]);
        let nothing = File::open("/dev/null")?;
        let of = |wanted: DescriptorRole| start.descriptors.iter().zip(descriptors).find(|(role, _)| **role == wanted);
        let (Some((_, out)), Some((_, err))) = (of(DescriptorRole::Stdout), of(DescriptorRole::Stderr)) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let streams = [nothing.as_raw_fd(), out.as_raw_fd(), err.as_raw_fd()];
        let rights = [ControlMessage::ScmRights(&streams)];
        sendmsg::<()>(self.socket.as_raw_fd(), &[IoSlice::new(&message)], &rights, MsgFlags::MSG_NOSIGNAL, None)?;
        Ok(())
    }
}

/// Mounts an empty directory over the project, in which only the directories of installed packages and the files of the command are, all
/// of them read-only. Returns these directories, with device and inode.
fn cover(command: &EarlyCommand, list: Option<&str>) -> io::Result<Vec<(PathBuf, (u64, u64))>> {
    let known = command.environments.iter().map(|path| Ok((path.clone(), identity(path)?))).collect::<io::Result<Vec<_>>>()?;
    let inside = command.environments.iter().filter(|path| path.starts_with(&command.root));
    let copies = inside.map(|path| {
        let copy = clone_mount(None, path, MountExtent::Tree)?;
        restrict_copy(&copy, MountAttribute::ReadOnlyWithoutDevices)?;
        Ok((path, copy))
    });
    let copies = copies.collect::<io::Result<Vec<_>>>()?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), &command.root, Some("tmpfs"), flags, Some("mode=755,size=16m"))?;
    for (path, copy) in &copies {
        fs::create_dir_all(path)?;
        attach_mount(copy, path)?;
    }
    fs::create_dir_all(&command.directory)?;
    command.directories.iter().try_for_each(|directory| fs::create_dir_all(command.root.join(directory)))?;
    let listed = list.map(|list| (command.list.as_str(), list));
    let files = command.files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    for (path, text) in files.chain(listed) {
        let path = command.root.join(Path::new(path));
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        File::create_new(path)?.write_all(text.as_bytes())?;
    }
    restrict_mount(&command.root, MountAttribute::ReadOnly, MountExtent::One)?;
    Ok(known)
}

/// Returns whether so little of the machine's memory is available that none is to be held for a run that may come.
fn is_memory_short() -> bool {
    fs::read_to_string("/proc/meminfo").is_ok_and(|text| is_short_by(&text))
}

fn is_short_by(meminfo: &str) -> bool {
    let of = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_ascii_whitespace().next()?.parse::<u64>().ok()
    };
    of("MemTotal").zip(of("MemAvailable")).is_some_and(|(total, available)| available < total / PART_AVAILABLE)
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}

fn said_reason(said: &[u8], otherwise: &str) -> String {
    match String::from_utf8_lossy(said).split_once(' ') {
        Some((_, why)) => why.chars().take(REASON_CAP).collect(),
        None => otherwise.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_short_when_less_than_a_tenth_of_it_is_available() {
        let of = |available: u64| format!("MemTotal:       16000 kB\nMemFree:  1 kB\nMemAvailable:   {available} kB\n");
        assert!(is_short_by(&of(1_599)));
        assert!(!is_short_by(&of(1_600)));
        assert!(!is_short_by(""), "a machine that does not say it");
    }

    #[test]
    fn the_reason_of_a_command_is_what_it_says_after_its_first_word() {
        assert_eq!(said_reason(b"cold a file is new", "it ended"), "a file is new");
        assert_eq!(said_reason(b"", "it ended"), "it ended");
    }
}
