//! The model of a project's directory, of the kernel's events about it, and of the watcher that turns them into hints.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::draw::Draw;
use crate::watched_directory::WatchedDirectory;
use proctor_model::{Digest, GitOperation, SyncId, TreeDigest, TreePath, WatchHint, WatchProblem};
use proctor_tree::TreeIndex;
use proctor_tree::ignore::Matcher;
use proctor_tree::watch::{Pace, WatchError, WatcherHandle};

/// The number of the file that checks write.
pub(super) const OUT: usize = 5;
/// The number of the file that has the plan.
pub(super) const TOML: usize = 6;
const NAMES: [&str; 7] = ["a", "b", "c", "d/e", "dev.log", "out", "proctor.toml"];
static PATHS: LazyLock<Vec<TreePath>> =
    LazyLock::new(|| NAMES.iter().map(|name| TreePath::try_from(*name).expect("a clean path")).collect());

/// The content of a file, as a number. The last two bits of the content of `proctor.toml` say what kind of plan it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) content: u64,
    /// Grows with every write, as the times of a file do.
    pub(super) version: u64,
}

/// The files of a project, each at its number.
pub(super) type Tree = [Option<Entry>; 7];

/// What a plan asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanKind {
    Plain,
    /// More than a person has approved.
    AsksForMore,
    Wrong,
}

pub(super) fn path(file: usize) -> TreePath {
    PATHS[file].clone()
}

pub(super) fn number(path: &TreePath) -> Option<usize> {
    PATHS.iter().position(|known| known == path)
}

pub(super) fn digest(tree: &Tree) -> TreeDigest {
    let contents = tree.iter().map(|entry| entry.map_or(u64::MAX, |entry| entry.content));
    TreeDigest(mixed(contents))
}

/// A digest that is fast, which a million schedules need more than one that nobody can forge.
fn mixed(numbers: impl Iterator<Item = u64>) -> Digest {
    let mut lanes = [1_u64, 2, 3, 4];
    for number in numbers {
        for lane in &mut lanes {
            *lane = Draw::new(lane.rotate_left(5) ^ number).number();
        }
    }
    let mut bytes = [0; 32];
    bytes.chunks_exact_mut(8).zip(lanes).for_each(|(part, lane)| part.copy_from_slice(&lane.to_be_bytes()));
    Digest::from_bytes(bytes)
}

/// The numbers of the files that differ, in their content or because they were written again.
pub(super) fn differing(one: &Tree, other: &Tree) -> Vec<usize> {
    (0..NAMES.len()).filter(|file| one[*file] != other[*file]).collect()
}

pub(super) fn plan_of(tree: &Tree) -> (PlanKind, Digest) {
    let content = tree[TOML].map_or(0, |entry| entry.content);
    let kind = match content % 4 {
        1 => PlanKind::AsksForMore,
        2 => PlanKind::Wrong,
        _ => PlanKind::Plain,
    };
    (kind, mixed(std::iter::once(content)))
}

#[derive(Debug)]
pub(super) struct Disk {
    pub(super) tree: Tree,
    pub(super) is_root_there: bool,
    pub(super) git: Option<GitOperation>,
    /// The tree with which the last run began.
    pub(super) tested: Option<Tree>,
    /// Each digest that the tree had, with the moment from which it had it.
    pub(super) past: Vec<(u64, TreeDigest)>,
    /// Set by a change that no event reports, until the whole tree is compared.
    pub(super) unreported_since: Option<u64>,
    /// Whether there was such a change at all: the watcher's next sweep asks for a look.
    pub(super) owes_sweep: bool,
    before: Tree,
    written: u64,
    hints: VecDeque<(u64, WatchHint)>,
    last_due: u64,
    /// Until then, the kernel's queue is full.
    full_until: u64,
    delay: u64,
    draw: Draw,
}

impl Disk {
    pub(super) fn new(delay: u64, draw: Draw) -> Self {
        let mut tree = [Some(Entry { content: 0, version: 0 }); 7];
        tree[OUT] = None;
        let past = vec![(0, digest(&tree))];
        Self {
            tree,
            is_root_there: true,
            git: None,
            tested: None,
            past,
            unreported_since: None,
            owes_sweep: false,
            before: tree,
            written: 0,
            hints: VecDeque::new(),
            last_due: 0,
            full_until: 0,
            delay,
            draw,
        }
    }

    /// Returns content that no file ever had.
    pub(super) fn new_content(&mut self) -> u64 {
        self.written += 1;
        self.written * 4
    }

    /// Gives a file this content, or removes it.
    pub(super) fn set(&mut self, now: u64, file: usize, content: Option<u64>) {
        self.written += 1;
        if self.tree[file].map(|entry| entry.content) != content {
            self.before[file] = self.tree[file];
        }
        self.tree[file] = content.map(|content| Entry { content, version: self.written });
        let digest = digest(&self.tree);
        if self.past.last().is_none_or(|(_, last)| *last != digest) {
            self.past.push((now, digest));
        }
    }

    /// The content that a file had before it was last changed.
    pub(super) fn earlier(&self, file: usize) -> Option<u64> {
        self.before[file].map(|entry| entry.content)
    }

    /// Puts the hints of a change into the queue of the kernel and the watcher.
    pub(super) fn report(&mut self, now: u64, hints: impl IntoIterator<Item = WatchHint>) {
        if now < self.full_until || !self.is_root_there {
            return;
        }
        for hint in hints {
            let due = self.last_due.max(now + self.draw.between(0, self.delay));
            self.last_due = due;
            self.hints.push_back((due, hint));
        }
    }

    /// The queue overflows: until the watcher reads that, it hears of nothing else, and then it reads everything.
    pub(super) fn overflow(&mut self, now: u64) {
        self.report(now, [WatchHint::LookAgain(WatchProblem::Overflow)]);
        self.full_until = self.last_due;
    }

    pub(super) fn lose_root(&mut self, now: u64) {
        self.report(now, [WatchHint::RootVanished]);
        self.is_root_there = false;
    }

    pub(super) fn find_root(&mut self, now: u64) {
        if !std::mem::replace(&mut self.is_root_there, true) {
            self.full_until = 0;
            self.report(now, [WatchHint::LookAgain(WatchProblem::RootReturned)]);
        }
    }

    pub(super) fn next_hint(&self) -> Option<u64> {
        self.hints.front().map(|(due, _)| *due)
    }

    /// Takes the hints that the watcher sends by now.
    pub(super) fn take_hints(&mut self, now: u64) -> Vec<WatchHint> {
        let due = self.hints.iter().take_while(|(due, _)| *due <= now).count();
        self.hints.drain(..due).map(|(_, hint)| hint).collect()
    }

    /// Forgets the hints on their way, because their watcher ends.
    pub(super) fn forget_hints(&mut self) {
        self.hints.clear();
        (self.last_due, self.full_until) = (0, 0);
    }
}

/// The directory as its scheduler sees it.
#[derive(Debug, Clone)]
pub(super) struct DirectoryInMemory {
    pub(super) disk: Arc<Mutex<Disk>>,
    pub(super) clock: Arc<AtomicU64>,
}

impl DirectoryInMemory {
    pub(super) fn lock(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchedDirectory for DirectoryInMemory {
    /// A file that the watcher makes and hears of comes after everything that was saved before; if it is lost, the watcher says so.
    fn sync(&self, id: SyncId) {
        let (now, mut disk) = (self.clock.load(Ordering::Relaxed), self.lock());
        let is_lost = now < disk.full_until || !disk.is_root_there;
        let hints = [is_lost.then_some(WatchHint::LookAgain(WatchProblem::Unsynced)), Some(WatchHint::Synced(id))];
        let due = disk.last_due.max(now + if is_lost { 2_000 } else { disk.delay });
        disk.last_due = due;
        disk.hints.extend(hints.into_iter().flatten().map(|hint| (due, hint)));
    }

    fn watch_anew(&mut self, _matcher: Matcher, _pace: &Pace) -> Result<(), WatchError> {
        Ok(())
    }

    fn watcher(&self) -> Option<WatcherHandle> {
        None
    }

    fn git_operation(&self) -> Option<GitOperation> {
        self.lock().git
    }

    fn is_unchanged(&self, _tested: &TreeIndex, paths: &BTreeSet<TreePath>) -> bool {
        let disk = self.lock();
        let content = |tree: &Tree, file: usize| tree[file].map(|entry| entry.content);
        let is_same = |file: usize| disk.tested.is_some_and(|tested| content(&tested, file) == content(&disk.tree, file));
        disk.is_root_there && paths.iter().all(|path| number(path).is_none_or(is_same))
    }
}
