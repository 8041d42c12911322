//! The tools' caches that are kept for each check of a project, from one run to the next.
//!
//! ```text
//! caches/kept-at            no file of a kept cache is newer than this time, in milliseconds since 1970
//! caches/CHECK/record       what the cache holds, and on what it depends; absent while the cache is changed
//! caches/CHECK/project/     the caches in the project, such as `.mypy_cache`
//! caches/CHECK/PLACE/       the caches in a directory of installed packages; PLACE is made from its path
//! ```
//!
//! A cache without a record was being changed when the process died, and is removed. Nothing is synced to the disk, so a
//! cache of an earlier boot is removed too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::{AT_FDCWD, renameat};
use serde::{Deserialize, Serialize};

use crate::snapshot::cache_merge::{CacheArea, CacheSize, MergeFailure};
use crate::snapshot::cache_search::WrittenCaches;
use crate::snapshot::entries::{empty_directory, there};
use crate::snapshot::generation::CopyGeneration;
use proctor_model::{ByteSize, Digest, Timestamp, TreePath};
use proctor_tree::ignore::{CACHES_IN_ENVIRONMENTS, CacheKind, cache_kind};
use proctor_tree::{open_below, open_root};

const CACHES: &str = "caches";
const KEPT_AT: &str = "kept-at";
const RECORD: &str = "record";
const NEW: &str = "new";
const PROJECT: &str = "project";

/// The most entries that one cache may hold.
const MAX_ENTRIES: u64 = 300_000;

/// The most caches of one check: an analyser that is run in each package of a large repository makes some hundreds.
const MAX_ROOTS: usize = 2_000;

/// The number of the present rules by which caches are kept. Under the rules of number 0, a file that decides which tests a tool runs
/// was kept too.
const FORMAT: u32 = 2;

/// A cache that no run has used for this time is removed. Its check has probably been removed or changed.
const UNUSED: Duration = Duration::from_hours(30 * 24);

/// The kept caches of one project. The caller must hold the project's lock.
#[derive(Debug, Clone)]
pub struct KeptCaches {
    directory: PathBuf,
    boot: String,
    /// The most bytes of all caches of the project together.
    limit: ByteSize,
}

/// Identifies the check to which a cache belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CacheKey(pub Digest);

/// What a cache depends on, apart from files that get the time of copying when their content changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheConditions {
    /// The generations of the copies of the tree and of the ignored inputs.
    pub copies: [CopyGeneration; 2],
    /// The stamp of the directories of installed packages.
    pub environments: Digest,
}

/// A check's kept cache, whose directories are mounted over the copies of the project for one attempt.
#[derive(Debug, Clone)]
pub struct LaidCache {
    directory: PathBuf,
}

/// What an attempt of a check wrote, where, and in which conditions.
pub struct CacheSource<'a> {
    /// The layer with what the check wrote in the project.
    pub upper: &'a Path,
    pub written: &'a WrittenCaches,
    /// For each directory of installed packages: its path, and the layer with what the check wrote there.
    pub environments: Vec<(&'a Path, &'a Path)>,
    pub conditions: &'a CacheConditions,
    /// The digest of the paths that earlier checks of the run wrote. `None` if these checks made anything but files,
    /// or removed anything, because a tool that compares times might not notice that.
    pub earlier: &'a dyn Fn() -> io::Result<Option<Digest>>,
}

/// What a kept cache holds, and on what it depends.
#[derive(Debug, Serialize, Deserialize)]
struct CacheRecord {
    /// By which rules the cache was kept. A cache that was kept by older rules is not used.
    #[serde(default)]
    format: u32,
    boot: String,
    conditions: CacheConditions,
    /// See [`CacheSource::earlier`]; only for caches whose tools compare by the order of times.
    earlier: Option<Digest>,
    kept_at: i64,
    size: CacheSize,
    /// The areas by the names of their directories.
    areas: BTreeMap<String, AreaRecord>,
}

/// The caches in one area. Paths that are not text are not kept.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
struct AreaRecord {
    /// The topmost entries of the caches.
    roots: BTreeSet<String>,
    /// The caches whose tools compare by the order of times.
    by_time: BTreeMap<String, CacheKind>,
}

impl KeptCaches {
    /// Opens the caches in a project's snapshot directory. `boot` is the kernel's id of this boot.
    pub fn new(snapshot: &Path, boot: &str, limit: ByteSize) -> Self {
        Self { directory: snapshot.join(CACHES), boot: boot.to_owned(), limit }
    }

    /// Returns a time such that no file in the kept caches of a project is newer; `None` if no such time is recorded.
    pub fn newest(snapshot: &Path) -> Option<Timestamp> {
        let text = fs::read_to_string(snapshot.join(CACHES).join(KEPT_AT)).ok()?;
        text.parse().ok().map(Timestamp::from_millis)
    }

    /// Prepares a check's cache for the next attempt. Removes the parts that must not be used. `fits` says for the
    /// topmost entry of a cache whether it may be laid over the copies. `earlier` gets the time at which the cache
    /// was kept. It returns the digest of the paths that earlier checks of this run wrote; `None` if a tool that
    /// compares times might not notice what these checks did, because a file is older than that time or because they
    /// made anything but files, or removed anything. Returns `None` if there is no usable cache.
    ///
    /// # Errors
    /// When the cache cannot be read or changed. It must not be used then.
    pub fn prepare(
        &self,
        key: CacheKey,
        conditions: &CacheConditions,
        fits: &dyn Fn(&TreePath) -> io::Result<bool>,
        earlier: &dyn Fn(Timestamp) -> io::Result<Option<Digest>>,
    ) -> io::Result<Option<LaidCache>> {
        let directory = self.of(key);
        let is_usable = |record: &CacheRecord| {
            let copies = record.conditions.copies.iter().zip(&conditions.copies);
            record.boot == self.boot && copies.into_iter().all(|(kept, now)| kept.is_of_same_copy(*now))
        };
        let Some(mut record) = CacheRecord::read(&directory).filter(is_usable) else {
            remove_directory(&directory)?;
            return Ok(None);
        };
        let mut gone: Vec<(String, String)> = Vec::new();
        if record.has_by_time() {
            let kept_at = Timestamp::from_millis(record.kept_at);
            let is_same = record.conditions == *conditions && record.earlier.is_some() && record.earlier == earlier(kept_at)?;
            if !is_same {
                gone.extend(record.by_time(&CacheKind::compares_by_time));
            }
        }
        for root in record.areas.get(PROJECT).iter().flat_map(|area| &area.roots) {
            if !fits(&TreePath::try_from(root.as_str()).map_err(io::Error::other)?)? {
                gone.push((PROJECT.to_owned(), root.clone()));
            }
        }
        if gone.is_empty() {
            // The modification time of the record is the time at which the cache was last used.
            let now = nix::sys::time::TimeSpec::UTIME_NOW;
            nix::sys::stat::futimens(&File::open(directory.join(RECORD))?, &now, &now)?;
        } else {
            fs::remove_file(directory.join(RECORD))?;
            record.remove(&directory, &gone)?;
            record.write(&directory)?;
        }
        let is_empty = record.areas.values().all(|area| area.roots.is_empty());
        Ok((!is_empty).then_some(LaidCache { directory }))
    }

    /// Merges what an attempt wrote to its caches into the kept cache. `now` is the present time. Returns why the cache
    /// was dropped instead; `None` if it was not.
    ///
    /// # Errors
    /// When a cache that cannot be kept cannot be removed either. It has no record, so it is never used.
    pub fn merge(&self, key: CacheKey, source: &CacheSource<'_>, now: Timestamp) -> io::Result<Option<String>> {
        let directory = self.of(key);
        match self.try_merge(&directory, source, now) {
            Ok(()) => Ok(None),
            Err(failure) => {
                remove_directory(&directory)?;
                Ok(Some(failure.to_string()))
            }
        }
    }

    fn try_merge(&self, directory: &Path, source: &CacheSource<'_>, now: Timestamp) -> Result<(), MergeFailure> {
        let in_environments: Vec<_> = source.environments.iter().filter(|(_, upper)| has_cache(upper)).collect();
        let known = CacheRecord::read(directory);
        let is_touched = !source.written.roots.is_empty() || !in_environments.is_empty();
        let holds_below = |path: &TreePath| known.as_ref().is_some_and(|record| record.holds_below(path));
        let replaced: Vec<&TreePath> = source.written.replaced.iter().filter(|path| holds_below(path)).collect();
        let vouches = known.as_ref().is_some_and(CacheRecord::has_by_time);
        if !is_touched && replaced.is_empty() && !vouches {
            return Ok(());
        }
        if source.written.roots.len() > MAX_ROOTS {
            return Err(MergeFailure::TooLarge);
        }
        fs::create_dir_all(directory)?;
        if known.is_none() {
            empty_directory(directory)?;
        }
        match fs::remove_file(directory.join(RECORD)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
        let mut record = known.unwrap_or_else(|| CacheRecord::new(&self.boot, source.conditions));
        record.conditions = source.conditions.clone();
        let limit = CacheSize { bytes: self.limit.0, entries: MAX_ENTRIES };
        let mut is_from_future = false;
        let project = (PROJECT.to_owned(), source.upper, source.written.roots.clone());
        let in_environments = in_environments.iter().map(|(path, upper)| (place_name(path), *upper, roots_in_environment(upper)));
        for (name, upper, roots) in std::iter::once(project).chain(in_environments) {
            let kept = make_directory(directory, &name)?;
            let known = record.areas.remove(&name).unwrap_or_default();
            let mut by_time = known.by_time_paths()?;
            let mut area =
                CacheArea { kept: &kept, by_time: &mut by_time, size: &mut record.size, limit, now, is_from_future: false };
            for path in replaced.iter().filter(|_| name == PROJECT) {
                area.remove(path)?;
            }
            let written = open_root(upper)?;
            for (path, kind) in roots.iter().filter(|(path, _)| text_of(path).is_some()) {
                area.take(&written, path, *kind)?;
            }
            is_from_future |= area.is_from_future;
            let known = known.roots.iter().filter_map(|root| TreePath::try_from(root.as_str()).ok());
            let roots = known.chain(roots.into_iter().map(|(path, _)| path)).filter(|path| is_kept(&kept, path));
            let roots = roots.filter_map(|path| text_of(&path)).collect();
            let by_time = by_time.iter().filter_map(|(path, kind)| Some((text_of(path)?, *kind))).collect();
            record.areas.insert(name, AreaRecord { roots, by_time });
        }
        if record.areas.values().map(|area| area.roots.len()).sum::<usize>() > MAX_ROOTS {
            return Err(MergeFailure::TooLarge);
        }
        record.earlier = if record.has_by_time() { (source.earlier)()? } else { None };
        let is_useless = |kind: CacheKind| {
            kind.compares_by_time() && (is_from_future || record.earlier.is_none())
                || kind == CacheKind::TimeOrderOfOutputs && source.written.wrote_more
        };
        let gone = record.by_time(&is_useless);
        record.remove(directory, &gone)?;
        record.kept_at = now.as_millis() + 1;
        self.note_time(record.kept_at)?;
        Ok(record.write(directory)?)
    }

    /// Removes the caches that were not used for the time `UNUSED`, the caches that were used least recently until the rest
    /// fits the limit, and the parts that interrupted changes left. The caller makes sure that no cache is mounted.
    /// `now` is the present time.
    pub fn remove_surplus(&self, now: Timestamp) -> io::Result<()> {
        let Some(listed) = there(fs::read_dir(&self.directory))? else { return Ok(()) };
        let mut kept = Vec::new();
        for entry in listed {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                continue;
            }
            let used = fs::metadata(entry.path().join(RECORD)).and_then(|metadata| metadata.modified());
            match (CacheRecord::read(&entry.path()), used) {
                (Some(record), Ok(used)) if record.boot == self.boot => kept.push((used, entry.path(), record.size.bytes)),
                _ => remove_directory(&entry.path())?,
            }
        }
        kept.sort();
        let mut bytes: u64 = kept.iter().map(|(_, _, bytes)| bytes).sum();
        let now = std::time::UNIX_EPOCH + Duration::from_millis(now.as_millis().try_into().unwrap_or(0));
        for (used, directory, size) in kept {
            let is_old = now.duration_since(used).is_ok_and(|unused| unused > UNUSED);
            if bytes > self.limit.0 || is_old {
                tracing::info!(cache = %directory.display(), bytes = size, "the cache of a check is removed");
                remove_directory(&directory)?;
                bytes -= size;
            }
        }
        Ok(())
    }

    /// Returns the directory with the caches of a check in the project, which need not exist.
    pub fn directory_in_project(&self, key: CacheKey) -> PathBuf {
        self.of(key).join(PROJECT)
    }

    fn of(&self, key: CacheKey) -> PathBuf {
        self.directory.join(&key.0.hex()[..32])
    }

    fn note_time(&self, time: i64) -> io::Result<()> {
        let known = self.directory.parent().and_then(Self::newest).map_or(i64::MIN, Timestamp::as_millis);
        replace_file(&self.directory, KEPT_AT, time.max(known).to_string().as_bytes())
    }
}

impl LaidCache {
    /// Returns the directory with the caches in the project, if there is one.
    pub fn project(&self) -> Option<PathBuf> {
        Some(self.directory.join(PROJECT)).filter(|path| path.is_dir())
    }

    /// Returns the directory with the caches in the directory of installed packages at `path`, if there is one.
    pub fn in_environment(&self, path: &Path) -> Option<PathBuf> {
        Some(self.directory.join(place_name(path))).filter(|path| path.is_dir())
    }
}

impl CacheRecord {
    fn new(boot: &str, conditions: &CacheConditions) -> Self {
        let (format, boot, conditions) = (FORMAT, boot.to_owned(), conditions.clone());
        Self { format, boot, conditions, earlier: None, kept_at: 0, size: CacheSize::default(), areas: BTreeMap::new() }
    }

    /// Reads the record of a cache; `None` if there is none, if it cannot be understood, or if the cache was kept by older rules.
    fn read(directory: &Path) -> Option<Self> {
        let record: Self = serde_json::from_slice(&fs::read(directory.join(RECORD)).ok()?).ok()?;
        (record.format == FORMAT).then_some(record)
    }

    fn write(&self, directory: &Path) -> io::Result<()> {
        replace_file(directory, RECORD, &serde_json::to_vec(self)?)
    }

    fn has_by_time(&self) -> bool {
        self.areas.values().any(|area| !area.by_time.is_empty())
    }

    /// Returns the recorded caches of the kinds that `is_meant` accepts, among those whose tools compare by the order of
    /// times. Each is given by the name of its area and its path.
    fn by_time(&self, is_meant: &dyn Fn(CacheKind) -> bool) -> Vec<(String, String)> {
        let of_area = |(name, area): (&String, &AreaRecord)| {
            let meant = area.by_time.iter().filter(|(_, kind)| is_meant(**kind));
            meant.map(|(path, _)| (name.clone(), path.clone())).collect::<Vec<_>>()
        };
        self.areas.iter().flat_map(of_area).collect()
    }

    /// Returns whether a cache in the project lies at or below a path.
    fn holds_below(&self, path: &TreePath) -> bool {
        let (Some(area), Some(path)) = (self.areas.get(PROJECT), text_of(path)) else { return false };
        let below = format!("{path}/");
        area.roots.contains(&path) || area.roots.range(below.clone()..).next().is_some_and(|root| root.starts_with(&below))
    }

    /// Removes caches, each named by its area and its path.
    fn remove(&mut self, directory: &Path, gone: &[(String, String)]) -> io::Result<()> {
        for (name, path) in gone {
            let Some(known) = self.areas.get_mut(name) else { continue };
            let path = TreePath::try_from(path.as_str()).map_err(io::Error::other)?;
            let kept = open_root(&directory.join(name))?;
            let mut by_time = known.by_time_paths()?;
            let (size, limit) = (&mut self.size, CacheSize::default());
            let now = Timestamp::from_millis(0);
            CacheArea { kept: &kept, by_time: &mut by_time, size, limit, now, is_from_future: false }.remove(&path)?;
            known.by_time = by_time.iter().filter_map(|(path, kind)| Some((text_of(path)?, *kind))).collect();
            known.roots.retain(|root| TreePath::try_from(root.as_str()).is_ok_and(|root| is_kept(&kept, &root)));
        }
        Ok(())
    }
}

impl AreaRecord {
    fn by_time_paths(&self) -> io::Result<BTreeMap<TreePath, CacheKind>> {
        let path = |text: &String| TreePath::try_from(text.as_str()).map_err(io::Error::other);
        self.by_time.iter().map(|(text, kind)| Ok((path(text)?, *kind))).collect()
    }
}

/// Returns the caches in a layer of a directory of installed packages.
fn roots_in_environment(upper: &Path) -> Vec<(TreePath, CacheKind)> {
    // What lies in another cache is kept with that.
    let names = CACHES_IN_ENVIRONMENTS.iter().copied().filter(|name| !name.contains('/'));
    let written = names.filter(|name| fs::symlink_metadata(upper.join(name)).is_ok());
    let root = |name: &str| (TreePath::root().join(name.as_bytes()), cache_kind(name.as_bytes()).unwrap_or(CacheKind::Content));
    written.map(root).collect()
}

fn has_cache(upper: &Path) -> bool {
    !roots_in_environment(upper).is_empty()
}

fn is_kept(kept: &OwnedFd, path: &TreePath) -> bool {
    let parent = path.parent().unwrap_or_default();
    let Ok(directory) = open_below(kept.as_fd(), parent.as_bytes()) else { return false };
    let stat = nix::sys::stat::fstatat(&directory, path.name(), nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW);
    stat.is_ok()
}

fn text_of(path: &TreePath) -> Option<String> {
    std::str::from_utf8(path.as_bytes()).ok().map(str::to_owned)
}

fn place_name(path: &Path) -> String {
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
    Digest::of(bytes).hex()[..16].to_owned()
}

fn make_directory(directory: &Path, name: &str) -> io::Result<OwnedFd> {
    let path = directory.join(name);
    fs::create_dir_all(&path)?;
    open_root(&path)
}

fn remove_directory(path: &Path) -> io::Result<()> {
    if there(fs::symlink_metadata(path))?.is_none() {
        return Ok(());
    }
    empty_directory(path)?;
    fs::remove_dir(path)
}

fn replace_file(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let new = directory.join(NEW);
    File::create(&new)?.write_all(bytes)?;
    Ok(renameat(AT_FDCWD, &new, AT_FDCWD, &directory.join(name))?)
}
