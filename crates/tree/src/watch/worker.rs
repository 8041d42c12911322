//! The worker owns the matcher and the watches of a project. It turns events of the kernel into hints.
//!
//! The file systems that are mounted inside a project. The kernel reports no event when one comes or goes, and the watches
//! of the directories below it are those of the hidden directories, so the watcher compares the list from time to time.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;
use std::{fmt, fs, io};

use crate::ignore::{IgnoreVerdict, Matcher, RulesFile, may_be_input};
use crate::watch::approvals::FollowedLedger;
use crate::watch::hub::HubMember;
use crate::watch::inbox::{InboxHandle, Message, Received};
use crate::watch::interpret::{PathEvent, RawHint, RecentPathEvents};
use crate::watch::places::{Places, WatchError};
use crate::watch::placing::Report;
use crate::watch::polling::Polling;
use crate::watch::rules::{RulesNews, read_rules};
use crate::watch::syncing::{EAR_TEST, Syncing, sweep_up};
use crate::watch::ticker::TickKind;
use crate::watch::watcher::Pace;
use proctor_git::GitIndex;
use proctor_model::{MountTable, TreePath, WatchHint, WatchProblem};

/// How often to check whether a removed root exists again.
const ROOT_POLL: Duration = Duration::from_millis(500);

/// How long the worker's thread waits for another message before it ends. The steps of one save come within milliseconds, and
/// starting a thread takes a tenth of one.
const LINGER: Duration = Duration::from_millis(250);

pub(super) struct Worker {
    pub(super) root: PathBuf,
    pub(super) matcher: Matcher,
    pub(super) places: Places,
    pub(super) pace: Pace,
    pub(super) polling: Polling,
    pub(super) syncing: Syncing,
    recent: RecentPathEvents,
    root_state: RootState,
    /// What git tracks, as far as the matcher knows.
    pub(super) git: GitIndex,
    /// The directory that contains git's index.
    pub(super) git_directory: Option<PathBuf>,
    /// The project's ledger; `None` until the caller asks for approvals.
    pub(super) ledger: Option<FollowedLedger>,
    /// The file systems that are mounted inside the project.
    mounts: Vec<MountPoint>,
    /// The number of files that were found in each directory of the tree when it was last walked.
    pub(super) files: BTreeMap<TreePath, usize>,
    send: Box<dyn Fn(WatchHint) + Send>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RootState {
    Watched,
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    /// Nothing is awaited: the thread may end until the next message comes.
    Rest,
    End,
}

impl fmt::Debug for Worker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Worker").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Worker {
    /// Places all watches.
    pub(super) fn start(
        root: &Path,
        matcher: Matcher,
        pace: &Pace,
        hub: HubMember,
        count: Arc<AtomicUsize>,
        send: Box<dyn Fn(WatchHint) + Send>,
    ) -> Result<Self, WatchError> {
        if !root.is_absolute() {
            return Err(WatchError::Relative { path: root.to_owned() });
        }
        let not_there = |source| WatchError::Root { path: root.to_owned(), source };
        if !fs::symlink_metadata(root).map_err(not_there)?.is_dir() {
            return Err(not_there(io::ErrorKind::NotADirectory.into()));
        }
        if let Some(every) = pace.sweep {
            hub.start_ticks(every, TickKind::Sweep);
        }
        let places = Places::new(root, hub, count);
        let mut worker = Self {
            root: root.to_owned(),
            matcher,
            places,
            pace: pace.clone(),
            polling: Polling::default(),
            syncing: Syncing::default(),
            recent: RecentPathEvents::default(),
            root_state: RootState::Watched,
            git: GitIndex::default(),
            git_directory: None,
            ledger: None,
            mounts: read_mounts_below(root),
            files: BTreeMap::new(),
            send,
        };
        sweep_up(root);
        worker.follow_repository();
        worker.follow_inputs();
        worker.place_below(&TreePath::root(), Report::Nothing)?;
        if !worker.places.is_root_in_place() {
            return Err(not_there(io::ErrorKind::PermissionDenied.into()));
        }
        worker.probe();
        Ok(worker)
    }

    /// Handles messages until no more come for a moment, and returns the worker for a later call. Returns `None` after
    /// [`Message::Stop`]: all watches are removed then.
    pub(super) fn work(mut self: Box<Self>, inbox: &InboxHandle) -> Option<Box<Self>> {
        loop {
            match self.work_once(inbox) {
                Next::GoOn => {}
                Next::Rest => return Some(self),
                Next::End => return None,
            }
            if self.root_state == RootState::Gone && is_directory(&self.root) {
                self.rearm(WatchProblem::RootReturned);
            }
        }
    }

    fn work_once(&mut self, inbox: &InboxHandle) -> Next {
        let timeout = match self.root_state {
            RootState::Watched if self.awaits_cookie() => EAR_TEST,
            RootState::Watched => LINGER,
            RootState::Gone => ROOT_POLL,
        };
        match inbox.receive(timeout) {
            Received::Message(message) => return self.handle(message),
            Received::Lost => self.rearm(WatchProblem::Overflow),
            Received::Nothing if self.root_state == RootState::Gone => {}
            Received::Nothing if self.awaits_cookie() => self.distrust_events(),
            Received::Nothing => return Next::Rest,
        }
        Next::GoOn
    }

    fn handle(&mut self, message: Message) -> Next {
        let hints = match message {
            Message::Stop => return Next::End,
            Message::Ledger(path, length) => {
                self.follow_ledger(path, length);
                Vec::new()
            }
            Message::Rearm => vec![RawHint::Overflow],
            Message::Sync(id) => {
                match self.root_state {
                    RootState::Watched => {
                        self.compare_mounts();
                        self.read_index();
                        self.sync(id);
                    }
                    RootState::Gone => self.send_hint(WatchHint::Synced(id)),
                }
                Vec::new()
            }
            Message::Poll(ticket) => {
                if self.root_state == RootState::Watched {
                    self.read_index();
                    self.read_ledger();
                    self.poll_or_skip();
                }
                drop(ticket);
                Vec::new()
            }
            Message::Sweep(ticket) => {
                if self.root_state == RootState::Watched {
                    self.compare_mounts();
                    self.read_index();
                    self.read_ledger();
                    self.send_hint(WatchHint::LookAgain(WatchProblem::Sweep));
                }
                drop(ticket);
                Vec::new()
            }
            Message::Explain(path, reply) => {
                // Sending fails if the caller has stopped waiting.
                let _gone = reply.send(self.recent.explain(&path));
                Vec::new()
            }
            Message::Event(hint) => vec![hint],
        };
        if self.root_state == RootState::Watched {
            hints.into_iter().for_each(|hint| self.follow(hint));
        }
        Next::GoOn
    }

    /// Turns a raw hint into hints, by asking the file system and the matcher about its path.
    pub(super) fn follow(&mut self, hint: RawHint) {
        if let Some((event, path)) = hint.describe() {
            if self.note_cookie(path) || self.note_git(path) || self.note_ledger(path) || self.note_input(&hint) {
                return;
            }
            self.remember(event, path);
        }
        match hint {
            RawHint::Overflow => self.rearm(WatchProblem::Overflow),
            RawHint::Backend(text) => self.send_hint(WatchHint::LookAgain(WatchProblem::Backend(text))),
            RawHint::Saved(path) => self.with_path(&path, Self::on_saved),
            RawHint::Writing(path) => self.with_path(&path, Self::on_writing),
            RawHint::Created(path) => self.with_path(&path, Self::on_created),
            RawHint::Appeared(path) => self.with_path(&path, Self::on_appeared),
            RawHint::Vanished(path) => self.with_path(&path, Self::on_vanished),
            RawHint::Touched(path) => self.with_path(&path, Self::on_touched),
        }
    }

    fn remember(&mut self, event: &'static str, path: &Path) {
        if let Ok(path) = TreePath::below(&self.root, path) {
            let is_own_link = self.is_own_link(&path);
            let decision = if is_own_link { self.matcher.decide_own_link(&path) } else { self.matcher.decide(&path, false) };
            self.recent.note(&path, PathEvent { event, decision });
        }
    }

    fn with_path(&mut self, path: &Path, follow: fn(&mut Self, &TreePath)) {
        // This never fails, because the backend reports only paths below the root.
        if let Ok(path) = TreePath::below(&self.root, path) {
            follow(self, &path);
        }
    }

    fn on_saved(&mut self, path: &TreePath) {
        self.tell_if_in(path, WatchHint::Saved);
        self.follow_names(path);
        self.follow_rules(path);
    }

    fn on_writing(&mut self, path: &TreePath) {
        if self.belongs(path, false) {
            self.send_hint(WatchHint::Writing(path.clone()));
        }
    }

    fn on_created(&mut self, path: &TreePath) {
        match fs::symlink_metadata(self.root.join(path.as_path())) {
            // A file with one name was just made: its content is still to be written, and a close event follows. A new
            // hard link (a link count above 1) has its content already, and no close event follows, so it is treated as
            // saved.
            Ok(metadata) if metadata.is_file() && metadata.nlink() == 1 => {
                if self.belongs(path, false) {
                    self.send_hint(WatchHint::Created(path.clone()));
                } else {
                    self.tell_of_ignored(path);
                }
            }
            // The file was removed or renamed after it was created. The event of the removal or the renaming is still
            // to come, and completes this change.
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.tell_if_in(path, WatchHint::Created),
            Ok(_) | Err(_) => self.on_appeared(path),
        }
    }

    fn on_appeared(&mut self, path: &TreePath) {
        if is_directory(&self.root.join(path.as_path())) {
            self.tell_if_ignored(path, true);
            self.place_or_tell(path, Report::Saves);
        } else {
            self.tell_if_ignored(path, false);
            self.on_saved(path);
        }
    }

    fn on_vanished(&mut self, path: &TreePath) {
        if path.is_root() {
            return self.check_root();
        }
        self.tell_if_in(path, WatchHint::Removed);
        let orphans = self.places.forget(path);
        if !is_directory(&self.root.join(path.as_path())) {
            self.matcher.forget_rules(path);
            self.follow_rules(path);
        } else {
            // A new directory is at this path by now. The backend may have dropped its watch together with that of the
            // old directory.
            self.place_or_tell(path, Report::Saves);
        }
        orphans.iter().for_each(|orphan| self.place_or_tell(orphan, Report::Saves));
    }

    fn on_touched(&mut self, path: &TreePath) {
        if path.is_root() {
            return self.check_root();
        }
        self.tell_if_in(path, WatchHint::Saved);
        self.follow_names(path);
        // A change of mode may have made the directory readable.
        if is_directory(&self.root.join(path.as_path())) && !self.places.is_watched(path) {
            self.place_or_tell(path, Report::Saves);
        }
    }

    /// Asks for a scan of the whole tree if a file has several hard links. An event names only one of the file's paths,
    /// perhaps one outside the tree.
    fn follow_names(&self, path: &TreePath) {
        let metadata = fs::symlink_metadata(self.root.join(path.as_path()));
        if metadata.is_ok_and(|metadata| metadata.is_file() && metadata.nlink() > 1) {
            self.send_hint(WatchHint::LookAgain(WatchProblem::SeveralNames(path.clone())));
        }
    }

    /// Reads the rules again if the path is a rules file of the tree.
    fn follow_rules(&mut self, path: &TreePath) {
        let Some(directory) = path.parent().filter(|_| RulesFile::named(path.name()).is_some()) else { return };
        if !self.matcher.scope(&directory).is_some_and(|scope| scope.reads_rules()) {
            return;
        }
        if read_rules(&self.root, &directory, &mut self.matcher) != RulesNews::Same {
            self.withdraw_what_is_out(&directory);
            self.place_or_tell(&directory, Report::Nothing);
            self.send_hint(WatchHint::LookAgain(WatchProblem::RulesChanged(path.clone())));
        }
    }

    pub(super) fn check_root(&mut self) {
        if self.places.is_root_in_place() {
            return;
        }
        if is_directory(&self.root) {
            self.rearm(WatchProblem::RootReturned);
        } else {
            self.root_state = RootState::Gone;
            self.places.forget(&TreePath::root());
            self.send_hint(WatchHint::RootVanished);
        }
    }

    /// Places all watches again if a file system was mounted or unmounted inside the project since the last comparison.
    fn compare_mounts(&mut self) {
        let mounts = read_mounts_below(&self.root);
        if mounts != self.mounts {
            // What is mounted over the project's directory, or was, makes another directory of it.
            let is_root_the_same = self.places.is_root_in_place();
            self.rearm(if is_root_the_same { WatchProblem::MountsChanged } else { WatchProblem::RootReturned });
        }
    }

    /// Places all watches again, because after lost events some may have wrong paths.
    fn rearm(&mut self, problem: WatchProblem) {
        if let Err(error) = self.places.place_anew() {
            self.send_hint(WatchHint::LookAgain(WatchProblem::Backend(error.to_string())));
        }
        self.files.clear();
        self.matcher.forget_rules(&TreePath::root());
        self.mounts = read_mounts_below(&self.root);
        self.root_state = RootState::Watched;
        self.follow_repository();
        self.follow_inputs();
        self.watch_ledger();
        self.place_or_tell(&TreePath::root(), Report::Nothing);
        self.places.end_placing_anew();
        if self.places.is_root_in_place() {
            self.answer_all(problem);
        } else {
            self.root_state = RootState::Gone;
            self.send_hint(WatchHint::RootVanished);
        }
    }

    /// Sends a hint for a path that may be a file or a directory, if it would belong to the tree as either.
    pub(super) fn tell_if_in(&self, path: &TreePath, hint: fn(TreePath) -> WatchHint) {
        if self.belongs(path, false) || self.belongs(path, true) {
            self.send_hint(hint(path.clone()));
        }
    }

    /// Sends a hint for an entry that has come and does not belong to the tree, if checks may see it all the same.
    pub(super) fn tell_if_ignored(&self, path: &TreePath, is_directory: bool) {
        if !self.belongs(path, is_directory) {
            self.tell_of_ignored(path);
        }
    }

    fn tell_of_ignored(&self, path: &TreePath) {
        if may_be_input(path.name()) && !self.is_own_link(path) {
            self.send_hint(WatchHint::IgnoredCame(path.clone()));
        }
    }

    pub(super) fn belongs(&self, path: &TreePath, is_directory: bool) -> bool {
        self.matcher.decide(path, is_directory).verdict == IgnoreVerdict::In && !self.is_own_link(path)
    }

    /// Returns whether one of proctor's own links to the evidence is at a path now. After a removal it is not known whether the link was
    /// removed. A hint is then sent, which costs only a look at this one path.
    fn is_own_link(&self, path: &TreePath) -> bool {
        fs::read_link(self.root.join(path.as_path())).is_ok_and(|target| self.matcher.is_own_link(target.as_os_str().as_bytes()))
    }

    pub(super) fn send_hint(&self, hint: WatchHint) {
        (self.send)(hint);
    }
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// The list of this thread's mounts. Threads of one process may have different mount namespaces.
const MOUNTS: &str = "/proc/thread-self/mountinfo";

/// A mount point with the id of its mount, which is another one after the file system was unmounted and mounted again.
pub(super) type MountPoint = (u64, PathBuf);

/// Returns the mounts at or below a directory. Returns none if the list cannot be read.
pub(super) fn read_mounts_below(root: &Path) -> Vec<MountPoint> {
    fs::read(MOUNTS).map(|text| mounts_below(&MountTable::parse(&text), root)).unwrap_or_default()
}

fn mounts_below(table: &MountTable, root: &Path) -> Vec<MountPoint> {
    let below = table.mounts.iter().filter(|mount| mount.point.starts_with(root));
    let mut mounts: Vec<MountPoint> = below.map(|mount| (mount.id, mount.point.clone())).collect();
    mounts.sort();
    mounts
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "22 1 0:21 / / rw - ext4 /dev/a rw\n\
        31 22 0:30 / /home/a/shop/data rw,relatime shared:2 - tmpfs tmpfs rw\n\
        30 22 0:30 / /home/a/shop/with\\040space rw - tmpfs tmpfs rw\n\
        33 22 0:31 / /home/a/shopping rw - tmpfs tmpfs rw\n";

    fn below(list: &str, root: &str) -> Vec<MountPoint> {
        mounts_below(&MountTable::parse(list.as_bytes()), Path::new(root))
    }

    #[test]
    fn only_mounts_at_or_below_the_directory_are_found() {
        let found = [(30, PathBuf::from("/home/a/shop/with space")), (31, PathBuf::from("/home/a/shop/data"))];
        assert_eq!(below(LIST, "/home/a/shop"), found);
        assert_eq!(below(LIST, "/home/a/shop/data").len(), 1);
    }

    #[test]
    fn a_file_system_that_was_mounted_again_is_another_mount() {
        assert_ne!(below(LIST, "/home/a/shop"), below(&LIST.replace("31 22", "35 22"), "/home/a/shop"));
    }

    #[test]
    fn the_list_of_this_thread_has_the_root() {
        assert!(!read_mounts_below(Path::new("/")).is_empty());
    }
}
