//! Answering "has everything before now been seen?", and finding out whether anything is heard of at all: a file of our own is made
//! in the root, and events keep their order.

use std::path::Path;
use std::time::Duration;

use crate::model::{PollReason, SyncId, TreePath, WatchHint, WatchProblem};
use crate::watch::cookie::{COOKIE_PREFIX, Cookies, Purpose};
use crate::watch::places::Ears;
use crate::watch::placing::Report;
use crate::watch::worker::Worker;

/// How long an event of our own file may take when nothing else comes. Then nothing can be heard of here.
pub(super) const EAR_TEST: Duration = Duration::from_secs(2);

/// What is known of our own files.
#[derive(Debug, Default)]
pub(super) struct Syncing {
    cookies: Cookies,
    hearing: Hearing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Hearing {
    #[default]
    Good,
    /// A file was made and not heard of.
    Deaf,
}

impl Worker {
    /// Returns whether nothing can be heard of.
    pub(super) fn is_deaf(&self) -> bool {
        self.syncing.hearing == Hearing::Deaf
    }

    /// Returns whether a file of ours is waited for.
    pub(super) fn awaits_cookie(&self) -> bool {
        self.syncing.cookies.is_waiting()
    }

    /// Makes a file to see whether it is heard of. Where none can be made, the type of the file system has to do.
    pub(super) fn probe(&mut self) {
        if self.places.has_watch(&TreePath::root()) && !self.is_deaf() {
            let _read_only = self.syncing.cookies.bake(&self.root, Purpose::Probe);
        }
    }

    /// Answers a request when everything before it has been hinted at.
    pub(super) fn sync(&mut self, id: SyncId) {
        // What is polled is looked at now; what is watched comes in its order.
        if !self.places.polled.is_empty() {
            self.poll_round();
        }
        let root = TreePath::root();
        if !self.places.has_watch(&root) || self.is_deaf() {
            return self.tell(WatchHint::Synced(id));
        }
        if self.places.ears(&root) == Ears::Events && self.syncing.cookies.bake(&self.root, Purpose::Sync(id)).is_ok() {
            return;
        }
        // A root that nothing can be made in, or that may hear of its own file before it hears of others': a full look is as good.
        self.tell(WatchHint::LookAgain(WatchProblem::Unsynced));
        self.tell(WatchHint::Synced(id));
    }

    /// Takes notice of a path if it is a file of ours.
    pub(super) fn hear_cookie(&mut self, path: &Path) -> bool {
        let Ok(path) = TreePath::below(&self.root, path) else { return false };
        if !path.name().starts_with(COOKIE_PREFIX.as_bytes()) {
            return false;
        }
        match self.syncing.cookies.heard(path.name()) {
            Some(Purpose::Sync(id)) => self.tell(WatchHint::Synced(id)),
            Some(Purpose::Probe) | None => {}
        }
        if self.is_deaf() {
            self.hear_again();
        }
        true
    }

    /// Nothing came although a file was made: from here on everything is polled.
    pub(super) fn go_deaf(&mut self) {
        self.syncing.hearing = Hearing::Deaf;
        self.tell_polling(PollReason::Deaf);
        self.place_or_tell(&TreePath::root(), Report::Nothing);
        self.answer_all(WatchProblem::Unsynced);
    }

    /// A file of ours is heard of after all: the machine was too busy to say so in time.
    fn hear_again(&mut self) {
        self.syncing.hearing = Hearing::Good;
        self.places.polled.clear();
        self.place_or_tell(&TreePath::root(), Report::Nothing);
        self.tell(WatchHint::LookAgain(WatchProblem::Unsynced));
    }

    /// Answers everybody who waits, after a full look was asked for.
    pub(super) fn answer_all(&mut self, problem: WatchProblem) {
        self.tell(WatchHint::LookAgain(problem));
        for purpose in self.syncing.cookies.forget_all() {
            match purpose {
                Purpose::Sync(id) => self.tell(WatchHint::Synced(id)),
                Purpose::Probe => {}
            }
        }
    }
}
