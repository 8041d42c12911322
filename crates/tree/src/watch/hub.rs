//! The one inotify instance and the one thread by which a process watches any number of projects.
//!
//! A hub holds two descriptors: the inotify instance and a timer. Its thread reads the kernel's events and hands each one
//! to the projects that watch the directory, as a hint with the path by which the project knows the directory. It also sends
//! the projects' ticks. It never asks the file system for anything, so one project on a slow file system does not hold up the others.
//!
//! The kernel attaches a watch to an inode. If two projects watch the same directory (one project below the other, or two
//! projects of one repository, whose `.git` both watch), they share the watch, and both get its events. The kernel's queue
//! (`max_queued_events`) is shared too: after an overflow, every project is told to examine its whole tree.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};
use nix::unistd::{AccessFlags, access};

use crate::watch::inbox::{InboxHandle, Message};
use crate::watch::interpret::{RawHint, interpret};
use crate::watch::places::WatchError;
use crate::watch::ticker::{TickKind, Timers};

/// The events that the kernel reports. Reading is not among them: a pytest run over 1,000 files would cause 1,400 events
/// that mean nothing, and the kernel's queue holds 16,384.
const EVENTS: AddWatchFlags = AddWatchFlags::IN_CREATE
    .union(AddWatchFlags::IN_MODIFY)
    .union(AddWatchFlags::IN_CLOSE_WRITE)
    .union(AddWatchFlags::IN_ATTRIB)
    .union(AddWatchFlags::IN_MOVED_FROM)
    .union(AddWatchFlags::IN_MOVED_TO)
    .union(AddWatchFlags::IN_DELETE)
    .union(AddWatchFlags::IN_DELETE_SELF)
    .union(AddWatchFlags::IN_MOVE_SELF)
    .union(AddWatchFlags::IN_DONT_FOLLOW);

/// After how many milliseconds a thread is asked for again that the system refused.
const THREAD_RETRY_MS: u16 = 1_000;

/// Watches the directories of any number of projects with one inotify instance and one thread. Clones share them. Both
/// end with the last clone and the last watcher that uses them.
#[derive(Debug, Clone)]
pub struct WatchHub(Arc<HubThread>);

#[derive(Debug)]
struct HubThread {
    hub: Arc<Hub>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Hub {
    table: Mutex<Table>,
    /// Wakes the thread: at the next tick, or at once after a change of the table.
    timer: TimerFd,
}

#[derive(Debug, Default)]
struct Table {
    is_stopped: bool,
    /// `None` while nothing is watched, or because the kernel's limit on inotify instances is reached.
    inotify: Option<Arc<Inotify>>,
    members: BTreeMap<MemberId, Member>,
    /// The projects that watch the directory of each watch, and the path by which each of them knows it.
    watches: HashMap<WatchDescriptor, Vec<(MemberId, Arc<Path>)>>,
    timers: Timers,
    next: u64,
}

/// Identifies a watcher in its hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct MemberId(u64);

/// The receiver of the events of a member.
enum Listener {
    Project(InboxHandle),
    /// Called at every event of a file, see [`WatchHub::follow_file`].
    File(Box<dyn Fn() + Send>),
}

/// A file that a hub watches. Dropping it ends that.
#[derive(Debug)]
pub struct FollowedFile {
    _member: HubMember,
}

#[derive(Debug)]
struct Member {
    listener: Listener,
    watches: HashMap<Arc<Path>, MemberWatch>,
    /// The number of files in the project's tree, as far as its watcher has counted them.
    files: usize,
}

#[derive(Debug, Clone, Copy)]
struct MemberWatch {
    descriptor: WatchDescriptor,
    /// Whether the watch was placed since [`HubMember::place_anew`] was called last.
    is_current: bool,
}

/// A watcher's place in a hub. Dropping it removes the watcher's watches and ticks. No message arrives afterwards.
#[derive(Debug)]
pub(super) struct HubMember {
    hub: WatchHub,
    id: MemberId,
}

impl WatchHub {
    /// Starts the thread. An inotify instance is opened when the first directory is watched.
    ///
    /// # Errors
    /// When the system refuses the timer or the thread.
    pub fn start() -> Result<Self, WatchError> {
        let refused = |source| WatchError::Thread { source };
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags).map_err(|errno| refused(errno.into()))?;
        let hub = Arc::new(Hub { table: Mutex::default(), timer });
        let shared = Arc::clone(&hub);
        let thread = Builder::new().name("proctor-watch".to_owned()).spawn(move || shared.work()).map_err(refused)?;
        Ok(Self(Arc::new(HubThread { hub, thread: Some(thread) })))
    }

    /// Gives a watcher, which reads `inbox`, a place in this hub.
    ///
    /// # Errors
    /// When the inotify instance cannot be opened for another reason than the limit on instances.
    pub(super) fn join(&self, inbox: InboxHandle) -> Result<HubMember, WatchError> {
        self.add(Listener::Project(inbox))
    }

    /// Calls `changed` at every event of one file, for example when its name is given to another file. `changed` must not block.
    ///
    /// # Errors
    /// When the file cannot be watched.
    pub fn follow_file(&self, path: &Path, changed: impl Fn() + Send + 'static) -> Result<FollowedFile, WatchError> {
        let member = self.add(Listener::File(Box::new(changed)))?;
        member.watch(path).map_err(|errno| WatchError::Watch { path: path.to_owned(), source: errno.into() })?;
        Ok(FollowedFile { _member: member })
    }

    fn add(&self, listener: Listener) -> Result<HubMember, WatchError> {
        let mut table = self.0.hub.lock();
        let id = MemberId(table.next);
        table.next += 1;
        table.members.insert(id, Member { listener, watches: HashMap::new(), files: 0 });
        drop(table);
        let member = HubMember { hub: self.clone(), id };
        member.open_instance()?;
        Ok(member)
    }
}

impl Drop for HubThread {
    fn drop(&mut self) {
        self.hub.lock().is_stopped = true;
        self.hub.wake();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

impl HubMember {
    fn hub(&self) -> &Hub {
        &self.hub.0.hub
    }

    /// Opens the hub's inotify instance if it has none. Returns whether there is one now: at the kernel's limit on
    /// instances there is not.
    pub(super) fn open_instance(&self) -> Result<bool, WatchError> {
        let mut table = self.hub().lock();
        if table.inotify.is_some() {
            return Ok(true);
        }
        match Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC) {
            Ok(inotify) => table.inotify = Some(Arc::new(inotify)),
            // inotify_init(2) returns EMFILE for the limit on instances and also for the limit on open files.
            Err(Errno::EMFILE) => return Ok(false),
            Err(errno) => return Err(WatchError::Backend { source: errno.into() }),
        }
        drop(table);
        self.hub().wake();
        Ok(true)
    }

    pub(super) fn has_instance(&self) -> bool {
        self.hub().lock().inotify.is_some()
    }

    /// Watches the directory or file at a path, and returns the kernel's error if that fails. Without an inotify instance it
    /// fails with `EMFILE`. If this watcher watches the same inode by another path already, the new path replaces the old one.
    pub(super) fn watch(&self, path: &Path) -> Result<(), Errno> {
        // A file system that is slow to answer, or hangs, is asked before the table is locked, which all projects share.
        let _answered = access(path, AccessFlags::R_OK);
        // The table stays locked until the new watch is in it. The thread hands on no event in between, so none is lost.
        let mut table = self.hub().lock();
        let inotify = table.inotify.clone().ok_or(Errno::EMFILE)?;
        let descriptor = inotify.add_watch(path, EVENTS)?;
        table.note_watch(self.id, descriptor, path);
        Ok(())
    }

    /// Stops watching a path. Does nothing if the path is not watched.
    pub(super) fn unwatch(&self, path: &Path) {
        self.hub().lock().unwatch(self.id, path);
    }

    /// Marks all watches of this watcher as outdated. They stay in force, so that nothing is missed: each is either placed again or removed by
    /// [`Self::remove_outdated`]. Removing them all at once would fill the kernel's queue with one event for each.
    pub(super) fn place_anew(&self) {
        if let Some(member) = self.hub().lock().members.get_mut(&self.id) {
            member.watches.values_mut().for_each(|watch| watch.is_current = false);
        }
    }

    /// Removes the watches that were not placed again since [`Self::place_anew`].
    pub(super) fn remove_outdated(&self) {
        let mut table = self.hub().lock();
        let Some(member) = table.members.get(&self.id) else { return };
        let outdated: Vec<Arc<Path>> =
            member.watches.iter().filter(|(_, watch)| !watch.is_current).map(|(path, _)| Arc::clone(path)).collect();
        outdated.iter().for_each(|path| table.unwatch(self.id, path));
    }

    /// Notes how many files the project's tree has, which decides how often the trees are swept.
    pub(super) fn note_files(&self, files: usize) {
        if let Some(member) = self.hub().lock().members.get_mut(&self.id) {
            member.files = files;
        }
    }

    /// Begins to send this watcher ticks. Ticks of the same kind that were begun before end.
    pub(super) fn start_ticks(&self, every: Duration, kind: TickKind) {
        self.hub().lock().timers.start(self.id, every, kind, &self.hub().timer);
        self.hub().wake();
    }

    pub(super) fn stop_ticks(&self, kind: TickKind) {
        self.hub().lock().timers.stop(self.id, kind);
    }
}

impl Drop for HubMember {
    fn drop(&mut self) {
        let mut table = self.hub().lock();
        table.timers.stop_all(self.id);
        let Some(member) = table.members.get(&self.id) else { return };
        let paths: Vec<Arc<Path>> = member.watches.keys().cloned().collect();
        if table.members.len() == 1 {
            // Closing the instance removes all watches at once, and no event tells of it.
            table.inotify = None;
            table.watches.clear();
        } else {
            paths.iter().for_each(|path| table.unwatch(self.id, path));
        }
        let member = table.members.remove(&self.id);
        drop(table);
        // The inbox is dropped when the table is no longer locked.
        drop(member);
        self.hub().wake();
    }
}

impl Listener {
    fn push(&self, message: Message) {
        match self {
            Self::Project(inbox) => inbox.push(message),
            Self::File(changed) => changed(),
        }
    }

    fn push_event(&self, event: RawHint) {
        match self {
            Self::Project(inbox) => inbox.push_event(event),
            Self::File(changed) => changed(),
        }
    }

    /// Asks again for a thread that the system refused. Returns whether messages still wait for one.
    fn retry(&self) -> bool {
        match self {
            Self::Project(inbox) => inbox.retry(),
            Self::File(_) => false,
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Listener")
    }
}

impl Hub {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the thread, so that it reads the table again.
    fn wake(&self) {
        self.lock().timers.wake(&self.timer);
    }

    /// Hands on events and ticks until the hub is stopped.
    fn work(&self) {
        loop {
            let mut table = self.lock();
            if table.is_stopped {
                return;
            }
            table.send_ticks(&self.timer);
            let inotify = table.inotify.clone();
            let waiting = table.members.values().filter(|member| member.listener.retry()).count();
            drop(table);
            let limit = if waiting > 0 { PollTimeout::from(THREAD_RETRY_MS) } else { PollTimeout::NONE };
            if wait(&self.timer, inotify.as_deref(), limit)
                && let Some(inotify) = inotify
            {
                self.read(&inotify);
            }
        }
    }

    fn read(&self, inotify: &Inotify) {
        loop {
            match inotify.read_events() {
                Ok(events) => {
                    let mut table = self.lock();
                    events.into_iter().for_each(|event| table.hand_on(event));
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                Err(errno) => {
                    let table = self.lock();
                    let error = || Message::Event(RawHint::Backend(format!("the kernel's events cannot be read: {errno}")));
                    return table.members.values().for_each(|member| member.listener.push(error()));
                }
            }
        }
    }
}

/// Waits for the timer or for events, at most for `limit`. Returns whether events can be read.
fn wait(timer: &TimerFd, inotify: Option<&Inotify>, limit: PollTimeout) -> bool {
    let mut awaited = vec![PollFd::new(timer.as_fd(), PollFlags::POLLIN)];
    awaited.extend(inotify.map(|inotify| PollFd::new(inotify.as_fd(), PollFlags::POLLIN)));
    // After an interruption the caller reads the table and waits again.
    let _interrupted = poll(&mut awaited, limit);
    awaited.get(1).is_some_and(|events| events.any().unwrap_or(false))
}

impl Table {
    fn note_watch(&mut self, id: MemberId, descriptor: WatchDescriptor, path: &Path) {
        let Some(member) = self.members.get_mut(&id) else { return };
        let path: Arc<Path> = Arc::from(path);
        let replaced = member.watches.insert(Arc::clone(&path), MemberWatch { descriptor, is_current: true });
        let sharers = self.watches.entry(descriptor).or_default();
        match sharers.iter_mut().find(|(sharer, _)| *sharer == id) {
            Some((_, known)) if *known == path => {}
            Some((_, known)) => {
                member.watches.remove(known);
                *known = path;
            }
            None => sharers.push((id, path)),
        }
        if let Some(replaced) = replaced.filter(|replaced| replaced.descriptor != descriptor) {
            self.remove_member(id, replaced.descriptor);
        }
    }

    fn unwatch(&mut self, id: MemberId, path: &Path) {
        let watch = self.members.get_mut(&id).and_then(|member| member.watches.remove(path));
        if let Some(watch) = watch {
            self.remove_member(id, watch.descriptor);
        }
    }

    /// Takes a project off the list of those that share a watch. The kernel's watch goes with the last of them.
    fn remove_member(&mut self, id: MemberId, descriptor: WatchDescriptor) {
        let Some(sharers) = self.watches.get_mut(&descriptor) else { return };
        sharers.retain(|(sharer, _)| *sharer != id);
        if sharers.is_empty() {
            self.watches.remove(&descriptor);
            // The kernel has removed the watch itself if the directory was deleted.
            let _gone = self.inotify.as_ref().map(|inotify| inotify.rm_watch(descriptor));
        }
    }

    /// Hands an event to every project that shares its watch.
    fn hand_on(&mut self, event: InotifyEvent) {
        if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
            return self.members.values().for_each(|member| member.listener.push(Message::Event(RawHint::Overflow)));
        }
        for (id, directory) in self.watches.get(&event.wd).into_iter().flatten() {
            let Some(member) = self.members.get(id) else { continue };
            let path = event.name.as_ref().map_or_else(|| PathBuf::from(&**directory), |name| directory.join(name));
            interpret(event.mask, &path).into_iter().for_each(|hint| member.listener.push_event(hint));
        }
        if event.mask.contains(AddWatchFlags::IN_IGNORED) {
            // The kernel has removed the watch, because the directory was deleted or its file system unmounted.
            for (id, path) in self.watches.remove(&event.wd).into_iter().flatten() {
                self.members.get_mut(&id).and_then(|member| member.watches.remove(&path));
            }
        }
    }

    fn send_ticks(&mut self, timer: &TimerFd) {
        let files = self.members.values().map(|member| member.files).sum();
        for (id, message) in self.timers.due(timer, self.members.len(), files) {
            if let Some(member) = self.members.get(&id) {
                member.listener.push(message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;
    use crate::watch::inbox::Received;

    fn next(inbox: &InboxHandle) -> RawHint {
        match inbox.receive(Duration::from_secs(10)) {
            Received::Message(Message::Event(hint)) => hint,
            other @ (Received::Message(_) | Received::Lost | Received::Nothing) => panic!("no event: {other:?}"),
        }
    }

    #[test]
    fn two_projects_share_the_watch_of_one_directory_and_each_gets_its_own_path() {
        let root = TempDir::new().expect("a directory");
        fs::create_dir(root.path().join("inner")).expect("a directory");
        std::os::unix::fs::symlink(root.path().join("inner"), root.path().join("link")).expect("a link");
        let hub = WatchHub::start().expect("a hub");
        let inboxes = [InboxHandle::open(), InboxHandle::open()];
        let outer = hub.join(inboxes[0].clone()).expect("a member");
        let inner = hub.join(inboxes[1].clone()).expect("a member");
        outer.watch(&root.path().join("inner")).expect("it is watched");
        // The second project knows the directory by the path of a link above it, with a final component of its own.
        inner.watch(&root.path().join("link/.")).expect("it is watched");
        fs::create_dir(root.path().join("inner/a")).expect("a directory");
        assert_eq!(next(&inboxes[0]), RawHint::Created(root.path().join("inner/a")));
        assert_eq!(next(&inboxes[1]), RawHint::Created(root.path().join("link/./a")));
        drop(outer);
        fs::remove_dir(root.path().join("inner/a")).expect("it is removed");
        assert_eq!(next(&inboxes[1]), RawHint::Vanished(root.path().join("link/./a")), "the watch of the other one stays");
        assert!(matches!(inboxes[0].receive(Duration::ZERO), Received::Nothing));
    }

    #[test]
    fn an_overflow_reaches_every_project_and_an_unknown_watch_nobody() {
        let hub = WatchHub::start().expect("a hub");
        let inboxes = [InboxHandle::open(), InboxHandle::open()];
        let members = [hub.join(inboxes[0].clone()).expect("a member"), hub.join(inboxes[1].clone()).expect("a member")];
        let root = TempDir::new().expect("a directory");
        members[0].watch(root.path()).expect("it is watched");
        let descriptor = *hub.0.hub.lock().watches.keys().next().expect("a watch");
        members[0].unwatch(root.path());
        let event = |mask| InotifyEvent { wd: descriptor, mask, cookie: 0, name: None };
        hub.0.hub.lock().hand_on(event(AddWatchFlags::IN_CREATE));
        hub.0.hub.lock().hand_on(event(AddWatchFlags::IN_Q_OVERFLOW));
        for inbox in &inboxes {
            assert_eq!(next(inbox), RawHint::Overflow);
        }
    }

    #[test]
    fn watches_that_are_not_placed_again_are_removed_and_the_others_never_were() {
        let root = TempDir::new().expect("a directory");
        for name in ["kept", "left"] {
            fs::create_dir(root.path().join(name)).expect("a directory");
        }
        let hub = WatchHub::start().expect("a hub");
        let inbox = InboxHandle::open();
        let member = hub.join(inbox.clone()).expect("a member");
        let watch = |name: &str| member.watch(&root.path().join(name)).expect("it is watched");
        watch("kept");
        watch("left");
        member.place_anew();
        watch("kept");
        member.remove_outdated();
        assert_eq!(hub.0.hub.lock().watches.len(), 1);
        fs::create_dir(root.path().join("left/a")).expect("a directory");
        fs::create_dir(root.path().join("kept/a")).expect("a directory");
        assert_eq!(next(&inbox), RawHint::Created(root.path().join("kept/a")));
    }
}
