//! The copy of one project's tree, and how it is updated when the project changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use crate::snapshot::SnapshotError;
use crate::snapshot::copy_times::{CopiedTimes, millisecond_after};
use crate::snapshot::entries::{Copied, Copier, EntryToPut, GivenTimes, IsAged, empty_directory};
use crate::snapshot::generation::CopyGeneration;
use crate::snapshot::journal::Journal;
use proctor_model::{Digest, EntryKind, Timestamp, TreePath};
use proctor_tree::{ContentChange, TreeIndex, content_changes, possible_mode_changes};

const BASE: &str = "base";
const INCOMING: &str = "incoming";

/// From this number of files on, several threads copy.
const HELP_FROM: usize = 64;

/// The most threads that copy. More threads would mostly wait for the same disk.
const MAX_THREADS: usize = 8;

/// The index is saved again after this many changed paths, because saving a large index for a few changes takes too
/// long. `WORTH_SAVING_OF` makes the number larger for a large tree.
const WORTH_SAVING: usize = 256;
/// The number `WORTH_SAVING` grows by one for each group of this many files in the tree.
const WORTH_SAVING_OF: u64 = 64;

/// proctor's copy of one project's tree. The caller must hold the project's lock, and must not call a method during a
/// run of the project.
#[derive(Debug)]
pub struct ProjectCopy {
    directory: PathBuf,
    journal: Journal,
    /// The content of the copy, which may be wrong only at the doubtful paths; `None` if the content is unknown.
    index: Option<TreeIndex>,
    /// Paths at which the content of the copy is unknown.
    doubtful: BTreeSet<TreePath>,
    boot: String,
    given: GivenTimes,
}

/// The result of updating a copy to an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyOutcome {
    Current,
    /// At these paths the project has changed since the index was made. Update the index at these paths, and try again.
    Moved(BTreeSet<TreePath>),
}

impl ProjectCopy {
    /// Opens the copy in `directory`, which is made if it is missing. `boot` is the kernel's id of this boot.
    ///
    /// # Errors
    /// When the directory cannot be made or read.
    pub fn open(directory: &Path, root: &Path, boot: &str) -> Result<Self, SnapshotError> {
        let failed = |source| SnapshotError::Copy { path: directory.to_owned(), source };
        [BASE, INCOMING].iter().try_for_each(|name| fs::create_dir_all(directory.join(name))).map_err(failed)?;
        let (journal, left) = Journal::open(directory, root, boot).map_err(failed)?;
        let (index, doubtful) = left.map_or_else(Default::default, |left| (Some(left.index), left.doubtful));
        let given = GivenTimes { newest: journal.newest(), removed: 0 };
        Ok(Self { directory: directory.to_owned(), journal, index, doubtful, boot: boot.to_owned(), given })
    }

    /// Closes the files of the copy until it is used again.
    pub fn close_files(&mut self) {
        self.journal.close_file();
    }

    /// Returns the directory that holds the copy.
    pub fn base(&self) -> PathBuf {
        self.directory.join(BASE)
    }

    /// Returns a time that is later than that of every file of the copy. `None` if no file has a time in the future.
    pub fn newest(&self) -> Option<Timestamp> {
        self.given.newest.map(millisecond_after)
    }

    /// Updates the copy to the content of `index`. Files are copied from the project; a file is accepted only if its
    /// digest is the one in the index.
    ///
    /// `now` is the earliest modification time of changed files in the copy. It must be later than the end of the last run. The
    /// changed files get the permissions and the order of times that they have in the project.
    ///
    /// # Errors
    ///
    /// When the project cannot be read or the copy cannot be written. The paths at which the copy may be wrong are
    /// recorded.
    pub fn bring_up_to(&mut self, index: &TreeIndex, now: Timestamp) -> Result<CopyOutcome, SnapshotError> {
        self.update(index, now, &|_| false)
    }

    /// Updates a copy of ignored inputs, as [`Self::bring_up_to`] updates a copy of a tree.
    ///
    /// An ignored input may have been built from other sources than those of the tree, for example an object file of `make` from
    /// the source before the last save. So its copy gets a time before those of all sources, and tools build it anew. `is_output`
    /// says which inputs prerequisites of the plan made. Their copies get the usual times.
    ///
    /// # Errors
    ///
    /// As for [`Self::bring_up_to`].
    pub fn bring_inputs_up_to(
        &mut self,
        index: &TreeIndex,
        now: Timestamp,
        is_output: &(dyn Fn(&TreePath) -> bool + Sync),
    ) -> Result<CopyOutcome, SnapshotError> {
        self.update(index, now, &|path| !is_output(path))
    }

    fn update(&mut self, index: &TreeIndex, now: Timestamp, is_aged: IsAged<'_>) -> Result<CopyOutcome, SnapshotError> {
        if !self.journal.is_as_left() {
            // Another process has changed or removed the copy. What the copy holds now is read from its journal and its
            // saved index.
            *self = Self::open(&self.directory, index.root(), &self.boot)?;
        }
        let is_new = self.index.is_none();
        let had_doubts = !self.doubtful.is_empty();
        if is_new {
            self.begin_anew()?;
            let begun = CopyGeneration::new(now).write(&self.directory);
            begun.map_err(|source| SnapshotError::Copy { path: self.directory.clone(), source })?;
        }
        let steps = self.steps_to(index);
        let modes = self.index.as_ref().map(|known| possible_mode_changes(known, index)).unwrap_or_default();
        if steps.is_empty() {
            self.take_modes(index.root(), &modes)?;
            // The content is equal, but the times of files may differ. The new index makes the next comparison faster,
            // because it shares directories with later indexes.
            self.index = Some(index.clone());
            if is_new {
                // Without a saved index, the next process would make the empty copy anew, and drop all caches with that.
                self.save()?;
            }
            return Ok(CopyOutcome::Current);
        }
        let failed = |source| SnapshotError::Copy { path: self.directory.clone(), source };
        if !is_new {
            self.journal.note(steps.paths()).map_err(failed)?;
        }
        if !is_new && self.has_unstamped_change(&steps, is_aged) {
            // The generation is written before the copy is changed, so that the change counts even if the process
            // dies in the middle of it.
            let known = self.generation();
            let next = known.map_or(CopyGeneration::new(now), CopyGeneration::after_removal);
            next.write(&self.directory).map_err(failed)?;
        }
        let times = if is_new { CopiedTimes::AtMost(now) } else { CopiedTimes::From(now) };
        let outcome = self.follow(index, &steps, times, is_aged);
        // Every path that was to be changed counts as doubtful until its new content is verified, also if the copying failed.
        self.doubtful.extend(steps.paths().cloned());
        let moved = outcome?;
        self.take_modes(index.root(), &modes)?;
        self.doubtful.clone_from(&moved);
        self.index = Some(index.clone());
        let is_worth_it =
            self.journal.noted >= WORTH_SAVING + usize::try_from(index.files() / WORTH_SAVING_OF).unwrap_or(usize::MAX);
        // Until the index is saved, every new process copies the doubtful paths again. Their files would then get new
        // times, so tools would check these files again.
        if is_new || had_doubts || is_worth_it {
            self.save()?;
        }
        Ok(if moved.is_empty() { CopyOutcome::Current } else { CopyOutcome::Moved(moved) })
    }

    /// Returns the generation of the copy, by which caches of earlier runs are judged; `None` if it is unknown.
    pub fn generation(&self) -> Option<CopyGeneration> {
        CopyGeneration::read(&self.directory)
    }

    /// Returns whether a step makes a change that no newer file shows: an entry is removed, a link leads to another file, or an
    /// aged file has another content.
    fn has_unstamped_change(&self, steps: &CopySteps, is_aged: IsAged<'_>) -> bool {
        let is_file = |kind: EntryKind| matches!(kind, EntryKind::File | EntryKind::Executable);
        let is_link = |(kind, _): &(EntryKind, Option<Digest>)| *kind == EntryKind::Link;
        let is_gone = |path: &TreePath| {
            // What an earlier process left at a doubtful path is not in the index.
            let (was_there, was_file) = if self.doubtful.contains(path) {
                let found = fs::symlink_metadata(self.base().join(path.as_path()));
                (found.is_ok(), found.is_ok_and(|found| found.is_file()))
            } else {
                let known = self.index.as_ref().and_then(|index| index.lookup(path));
                (true, known.is_some_and(|entry| is_file(entry.kind)))
            };
            let is_rewritten = was_file && steps.put.get(path).is_some_and(|(kind, _)| is_file(*kind));
            was_there && !is_rewritten
        };
        let is_aged = |(path, (kind, _)): (&TreePath, &(EntryKind, Option<Digest>))| is_file(*kind) && is_aged(path);
        steps.put.values().any(is_link) || steps.put.iter().any(is_aged) || steps.removed.iter().any(is_gone)
    }

    /// Removes the copy to free disk space. The next run makes a new one.
    ///
    /// # Errors
    /// When the copy cannot be removed.
    pub fn discard(&mut self) -> Result<(), SnapshotError> {
        self.index = None;
        self.begin_anew()
    }

    fn save(&mut self) -> Result<(), SnapshotError> {
        let Some(index) = &self.index else { return Ok(()) };
        let failed = |source| SnapshotError::Copy { path: self.directory.clone(), source };
        self.journal.save(index).map_err(failed)?;
        self.journal.note(self.doubtful.iter()).map_err(failed)
    }

    fn begin_anew(&mut self) -> Result<(), SnapshotError> {
        self.doubtful.clear();
        self.given = GivenTimes::default();
        let emptied = self.journal.begin(&self.boot);
        let emptied =
            emptied.and_then(|()| [BASE, INCOMING].iter().try_for_each(|name| empty_directory(&self.directory.join(name))));
        emptied.map_err(|source| SnapshotError::Copy { path: self.directory.clone(), source })
    }

    /// Returns the steps that update the copy to `index`. At a doubtful path everything is removed and copied again.
    fn steps_to(&self, index: &TreeIndex) -> CopySteps {
        let mut steps = CopySteps::default();
        for change in content_changes(self.index.as_ref(), index) {
            match change {
                ContentChange::Removed(path) => steps.removed.insert(path),
                // Only ignored inputs may be unreadable: such an entry is left out.
                ContentChange::Put(path, _, None) => steps.removed.insert(path),
                ContentChange::Put(path, kind, digest) => steps.put.insert(path, (kind, digest)).is_none(),
            };
        }
        for path in &self.doubtful {
            steps.removed.insert(path.clone());
            let readable = index.below(path).filter(|entry| entry.digest.is_some());
            steps.put.extend(readable.map(|entry| (entry.path, (entry.kind, entry.digest))));
        }
        steps
    }

    /// Performs the steps on the copy. Returns the paths at which the project has changed since the index was made.
    fn follow(
        &mut self,
        index: &TreeIndex,
        steps: &CopySteps,
        times: CopiedTimes,
        is_aged: IsAged<'_>,
    ) -> Result<BTreeSet<TreePath>, SnapshotError> {
        let base = self.base();
        let at = |path: &TreePath, source| SnapshotError::Copy { path: base.join(path.as_path()), source };
        let mut copier = self.open_copier(index.root(), times, is_aged)?;
        for path in &steps.removed {
            copier.remove(path, steps.put.contains_key(path)).map_err(|source| at(path, source))?;
        }
        let (mut moved, mut files) = (BTreeSet::new(), Vec::new());
        // The paths are sorted, so a directory comes before its contents.
        for (path, &(kind, digest)) in &steps.put {
            let (modified, size) = index.modified_and_size(path).unwrap_or_default();
            let entry = EntryToPut { path, kind, digest, modified, size, time: 0 };
            if is_below_any(path, &moved) {
                // The parent directory could not be made because the project changed, so this path is reported as
                // changed too.
                moved.insert(path.clone());
            } else if kind != EntryKind::Directory {
                files.push(entry);
            } else if copier.put(&entry).map_err(|source| at(path, source))? == Copied::Moved {
                moved.insert(path.clone());
            }
        }
        copier.plan_times(&mut files);
        self.note_times(copier.given(), times)?;
        moved.extend(put_files(&copier, &files).map_err(|(path, source)| at(path, source))?);
        Ok(moved)
    }

    /// Gives the copies of files and directories the permissions that the project has. This needs no journal: the next process
    /// finds the same differences between the saved index and the project, and reads the permissions again.
    fn take_modes(&self, root: &Path, paths: &[TreePath]) -> Result<(), SnapshotError> {
        if paths.is_empty() {
            return Ok(());
        }
        let copier = self.open_copier(root, CopiedTimes::AtMost(Timestamp::from_millis(0)), &|_| false)?;
        let failed = |path: &TreePath, source| SnapshotError::Copy { path: self.base().join(path.as_path()), source };
        paths.iter().try_for_each(|path| copier.take_mode(path).map_err(|source| failed(path, source)))
    }

    fn open_copier<'a>(&self, root: &Path, times: CopiedTimes, is_aged: IsAged<'a>) -> Result<Copier<'a>, SnapshotError> {
        if let Err(source) = fs::metadata(root) {
            return Err(SnapshotError::Project { path: root.to_owned(), source });
        }
        let (base, incoming) = (self.base(), self.directory.join(INCOMING));
        // An earlier process that died may have left partly written files. They are removed first.
        let opened = empty_directory(&incoming).and_then(|()| Copier::open(root, &base, &incoming, times, is_aged, self.given));
        opened.map_err(|source| SnapshotError::Copy { path: base, source })
    }

    /// Remembers the times that files get now, also for the next process if they lie in the future. That process begins with its
    /// present time.
    fn note_times(&mut self, given: GivenTimes, times: CopiedTimes) -> Result<(), SnapshotError> {
        let is_later = given.newest > self.given.newest;
        self.given = given;
        let CopiedTimes::From(now) = times else { return Ok(()) };
        match given.newest {
            Some(newest) if is_later && millisecond_after(newest).as_millis() > now.as_millis() + 1 => {
                let noted = self.journal.note_newest(newest);
                noted.map_err(|source| SnapshotError::Copy { path: self.directory.clone(), source })
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// The steps to update a copy. First everything in `removed` is removed, then directories are made, then files are
/// copied.
#[derive(Debug, Default)]
struct CopySteps {
    removed: BTreeSet<TreePath>,
    put: BTreeMap<TreePath, (EntryKind, Option<Digest>)>,
}

impl CopySteps {
    fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.put.is_empty()
    }

    fn paths(&self) -> impl Iterator<Item = &TreePath> {
        self.removed.iter().chain(self.put.keys())
    }
}

/// Copies files and links. Returns the paths at which the project has changed since the index was made.
fn put_files<'c>(copier: &Copier<'_>, files: &[EntryToPut<'c>]) -> Result<Vec<TreePath>, (&'c TreePath, io::Error)> {
    let put = |file: &EntryToPut<'c>| match copier.put(file) {
        Ok(Copied::AsDigested) => Ok(None),
        Ok(Copied::Moved) => Ok(Some(file.path.clone())),
        Err(error) => Err((file.path, error)),
    };
    if files.len() < HELP_FROM {
        return files.iter().filter_map(|file| put(file).transpose()).collect();
    }
    let queue = Mutex::new(files.chunks(HELP_FROM / 2));
    let work = || {
        let mut moved = Vec::new();
        loop {
            let next = queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
            let Some(chunk) = next else { return Ok(moved) };
            for file in chunk {
                moved.extend(put(file)?);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS);
    thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut moved = work()?;
        for helper in helpers {
            moved.extend(helper.join().expect("a thread that copies files does not panic")?);
        }
        Ok(moved)
    })
}

fn is_below_any(path: &TreePath, directories: &BTreeSet<TreePath>) -> bool {
    !directories.is_empty()
        && std::iter::successors(path.parent(), TreePath::parent).any(|ancestor| directories.contains(&ancestor))
}
