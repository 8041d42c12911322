//! The tools' caches in a run's snapshot: each check has its own, which is kept from one run to the next.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use proctor_model::{
    Action, ActionId, ActionPhase, CachesMode, CachesSeen, Digest, EndedAction, IdentityWriter, SnapshotMount, Timestamp,
    TreePath,
};
use proctor_project::{hidden_caches, site_packages};
use proctor_sandbox::process::{Layers, SeenEntry, WrittenChange, clock, written_entries};
use proctor_sandbox::snapshot::{CacheConditions, CacheKey, CacheSource, KeptCaches, LaidCache, RunLayers, find_caches};

/// The paths in a directory of installed packages whose stamps tell that packages were installed or removed. The empty
/// path is the directory itself.
const STAMPED: &[&str] = &[
    "",
    "pyvenv.cfg",
    "bin",
    "lib",
    "lib64",
    ".package-lock.json",
    ".yarn-state.yml",
    ".yarn-integrity",
    ".modules.yaml",
    ".bin",
];

#[derive(Debug)]
pub(crate) struct CheckCaches {
    mode: CachesMode,
    kept: KeptCaches,
    /// `None` if the run uses no kept caches, or if the generations of the copies are unknown, so that no cache can be
    /// judged.
    conditions: Option<CacheConditions>,
    /// The checks whose attempts are under way, by the keys of their caches.
    in_use: BTreeMap<CacheKey, ActionId>,
    /// The layers with the caches of the attempts that have ended, the oldest first. No action sees them.
    taken: Vec<(ActionId, PathBuf)>,
    /// The caches that checks of this run wrote, by their paths, each with the last check that wrote it.
    written: BTreeMap<TreePath, (ActionId, String)>,
    /// Whether an attempt of this run was given a kept cache.
    seen: CachesSeen,
}

/// The cache with which one attempt starts.
#[derive(Debug, Default)]
pub(crate) struct CacheOfAttempt {
    kept: Option<LaidCache>,
}

impl CacheOfAttempt {
    /// Returns the directory that is laid over the copies of the project.
    pub(crate) fn in_project(&self) -> Option<PathBuf> {
        self.kept.as_ref().and_then(LaidCache::project)
    }

    /// Returns the directories that are laid over the directory of installed packages at `path`, the topmost first. They hide the
    /// caches that somebody's own use of the tools left there.
    pub(crate) fn in_environment(&self, path: &Path, layers: &mut RunLayers) -> Vec<PathBuf> {
        let there = hidden_caches(path);
        let hiding = if there.is_empty() { Ok(None) } else { layers.hide(&there).map(Some) };
        match hiding {
            Ok(hiding) => self.kept.iter().filter_map(|kept| kept.in_environment(path)).chain(hiding).collect(),
            Err(error) => {
                tracing::warn!(%error, "the caches in a directory of installed packages cannot be hidden");
                Vec::new()
            }
        }
    }
}

impl CheckCaches {
    pub(crate) fn new(mode: CachesMode, kept: KeptCaches, conditions: Option<CacheConditions>) -> Self {
        let conditions = conditions.filter(|_| mode == CachesMode::Kept);
        if mode == CachesMode::Kept {
            // A cache that cannot be removed now is removed before another run.
            let _left = kept.remove_surplus(clock::now());
        }
        let (in_use, taken, written) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        Self { mode, kept, conditions, in_use, taken, written, seen: CachesSeen::Fresh }
    }

    pub(crate) fn mode(&self) -> CachesMode {
        self.mode
    }

    /// Returns whether an attempt of this run was given a cache of an earlier run.
    pub(crate) fn seen(&self) -> CachesSeen {
        self.seen
    }

    /// Returns the layers with the caches of the attempts that have ended, the oldest first, each with the action that wrote it.
    /// proctor itself reads files there, such as a report in `target`.
    pub(crate) fn taken(&self) -> impl Iterator<Item = (&ActionId, &PathBuf)> {
        self.taken.iter().filter(|(_, path)| path.is_dir()).map(|(writer, path)| (writer, path))
    }

    /// Returns the caches that other checks of the run wrote, by their paths, each with the name of the check.
    pub(crate) fn of_others(&self, action: &ActionId) -> BTreeMap<TreePath, String> {
        let others = self.written.iter().filter(|(_, (writer, _))| writer != action);
        others.map(|(path, (_, name))| (path.clone(), name.clone())).collect()
    }

    /// Replaces the conditions, after prerequisites have changed the project.
    pub(crate) fn set_conditions(&mut self, conditions: Option<CacheConditions>) {
        self.conditions = conditions.filter(|_| self.mode == CachesMode::Kept);
    }

    /// Returns the cache for the next attempt of an action; if no kept cache fits, the attempt starts without one.
    /// `lower` has the directories below the cache, the topmost first. `layers` has the directories among these that
    /// earlier checks of the run wrote.
    pub(crate) fn prepare(&mut self, action: &Action, lower: &[PathBuf], layers: &[PathBuf]) -> CacheOfAttempt {
        let (Some(key), Some(conditions)) = (key_of(action), &self.conditions) else { return CacheOfAttempt::default() };
        // Two checks with the same name and command have the same key. Only one of them uses the cache at a time.
        if self.in_use.get(&key).is_some_and(|user| *user != action.id) {
            return CacheOfAttempt::default();
        }
        self.in_use.insert(key, action.id.clone());
        let below = Layers::new(lower.to_vec());
        let fits = |path: &TreePath| {
            let parent = path.parent().unwrap_or_default();
            Ok(below.entry(path)? == SeenEntry::Nothing && below.entry(&parent)? == SeenEntry::Directory)
        };
        let earlier = |since: Timestamp| digest_of_layers(layers, Some(since));
        let kept = self.kept.prepare(key, conditions, &fits, &earlier);
        let kept = kept.unwrap_or_else(|error| {
            tracing::warn!(%error, "the cache of a check cannot be used");
            // What the attempt writes does not belong to the kept cache, because the attempt starts without it.
            self.in_use.remove(&key);
            None
        });
        if kept.is_some() {
            self.seen = CachesSeen::Kept;
        }
        CacheOfAttempt { kept }
    }

    /// Moves the files that an attempt wrote to its caches out of the attempt's layer, so that no other check sees them,
    /// and keeps them for the next run. No process of the attempt is left. `skipped` names the mount points
    /// that were made for the attempt; they are left out. Returns why the check's kept cache was dropped; `None` if it was not.
    ///
    /// # Errors
    /// When the layer cannot be read or changed.
    pub(crate) fn take(
        &mut self,
        action: &Action,
        ended: &EndedAction,
        mount: &SnapshotMount,
        skipped: &[TreePath],
        layers: &mut RunLayers,
    ) -> io::Result<Option<String>> {
        let key = key_of(action).filter(|key| self.in_use.get(key) == Some(&action.id));
        let own = key.map(|key| self.kept.directory_in_project(key));
        let below = Layers::new(mount.lower.iter().filter(|path| own.as_ref() != Some(*path)).cloned().collect());
        let is_product = |path: &TreePath| action.writes.iter().any(|pattern| names_cache(pattern, path));
        let is_seen = |path: &TreePath| Ok(is_product(path) || below.entry(path)? != SeenEntry::Nothing);
        let written = find_caches(&mount.written.upper, skipped, &is_seen)?;
        let (mut dropped, mut is_merged) = (None, false);
        if let (Some(key), Some(conditions)) = (key, &self.conditions) {
            self.in_use.remove(&key);
            if is_complete(ended) {
                let of_run = mount.lower.iter().filter(|path| layers.kept().any(|(_, kept)| kept == *path));
                let of_run: Vec<PathBuf> = of_run.cloned().collect();
                // An environment whose caches could not be hidden is left out: there, the check's cache depends on
                // the caches that other uses of the tools left.
                let environments = mount.environments.iter();
                let environments = environments.filter(|one| !one.caches.is_empty() || hidden_caches(&one.path).is_empty());
                let source = CacheSource {
                    upper: &mount.written.upper,
                    written: &written,
                    environments: environments.map(|one| (one.path.as_path(), one.written.upper.as_path())).collect(),
                    conditions,
                    earlier: &|| digest_of_layers(&of_run, None),
                };
                dropped = self.kept.merge(key, &source, clock::now())?;
                is_merged = dropped.is_none();
            }
        }
        let discarded = layers.discard(&mount.written, written.roots())?;
        let writer = || (action.id.clone(), action.name.clone());
        self.written.extend(written.roots().map(|root| (root.clone(), writer())));
        // A merge has moved the files out of the layer, so the discarded paths hold them only if nothing was merged.
        let taken = own.into_iter().chain(discarded.filter(|_| !is_merged));
        self.taken.extend(taken.map(|path| (action.id.clone(), path)));
        Ok(dropped)
    }
}

/// Returns the key of an action's cache; `None` for an action that is no check.
fn key_of(action: &Action) -> Option<CacheKey> {
    if action.phase != ActionPhase::Step {
        return None;
    }
    let variables: Vec<String> = action.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let directory = std::os::unix::ffi::OsStrExt::as_bytes(action.directory.as_os_str());
    let writer = IdentityWriter::new("proctor-check-cache-v1")
        .part("name", action.name.as_bytes())
        .part("tool", action.tool.word().as_bytes())
        .list("command", action.command.argv.iter().map(String::as_bytes))
        .part("directory", directory)
        .list("variables", variables.iter().map(String::as_bytes))
        .list("writes", action.writes.iter().map(String::as_bytes));
    Some(CacheKey(writer.digest()))
}

/// Returns whether a pattern of `writes` names what lies in the cache at `root`, such as `target/site/**`. The cache is
/// then a product of the check and not kept as its cache. A pattern that begins with `**` is not meant for caches.
fn names_cache(pattern: &str, root: &TreePath) -> bool {
    let names: Vec<&[u8]> = root.as_bytes().split(|byte| *byte == b'/').collect();
    let mut patterns = pattern.trim_start_matches("./").split('/');
    let is_named = |(number, name): (usize, &&[u8])| match patterns.next() {
        None => number > 0,
        Some("**") => number > 0,
        Some("*") => number + 1 < names.len(),
        Some(part) => match part.strip_prefix('*') {
            Some(rest) => name.ends_with(rest.as_bytes()),
            None => part.as_bytes() == *name,
        },
    };
    names.iter().enumerate().all(is_named)
}

/// Returns whether an attempt came to its own end, so that no cache of it is half written.
fn is_complete(ended: &EndedAction) -> bool {
    ended.end.exit_code().is_some() && ended.survivors.is_empty()
}

/// Returns a digest of the paths that earlier checks of the run wrote. Returns `None` if one of these files is older
/// than `since`, or if these checks made anything but regular files, or removed anything: a tool that compares times
/// might not notice such a change.
fn digest_of_layers(layers: &[PathBuf], since: Option<Timestamp>) -> io::Result<Option<Digest>> {
    let mut paths = Vec::new();
    for layer in layers {
        for entry in written_entries(layer, &[])? {
            match entry.change {
                WrittenChange::WroteFile { .. } => {}
                WrittenChange::MadeOther | WrittenChange::ReplacedDirectory | WrittenChange::Removed => return Ok(None),
            }
            let metadata = std::fs::symlink_metadata(layer.join(entry.path.as_path()))?;
            let milliseconds = metadata.mtime() * 1_000 + metadata.mtime_nsec() / 1_000_000;
            if since.is_some_and(|since| milliseconds < since.as_millis()) {
                return Ok(None);
            }
            paths.push(entry.path);
        }
    }
    Ok(Some(IdentityWriter::new("proctor-layers-v1").list("path", paths.iter().map(TreePath::as_bytes)).digest()))
}

/// Returns a digest that changes when packages are installed or removed. It reads few files: a file that somebody changes by hand
/// inside of a package is not noticed.
pub(crate) fn stamp_environments(paths: &[PathBuf]) -> Digest {
    let mut writer = IdentityWriter::new("proctor-environments-v1");
    for path in paths {
        writer = writer.part("path", std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()));
        let fixed = STAMPED.iter().map(|name| path.join(name));
        for file in fixed.chain(site_packages(path)) {
            let stamp = std::fs::symlink_metadata(&file).ok().map(|metadata| {
                let [inode, size] = [metadata.ino(), metadata.size()];
                format!("{inode} {size} {} {} {}", metadata.mtime(), metadata.mtime_nsec(), metadata.ctime_nsec())
            });
            writer = writer.part("stamp", stamp.unwrap_or_default().as_bytes());
        }
    }
    writer.digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_writes_names_is_a_product() {
        let is_named = |pattern: &str, root: &str| names_cache(pattern, &TreePath::try_from(root).expect("a clean path"));
        assert!(is_named("target/site/**", "target"));
        assert!(is_named("./target", "target"));
        assert!(is_named("packages/*/.next/**", "packages/app/.next"));
        assert!(is_named("*.tsbuildinfo", "app.tsbuildinfo"));
        assert!(!is_named("**/*.snap", "target"));
        assert!(!is_named("*", "target"));
        assert!(!is_named("coverage/**", "target"));
        assert!(!is_named("target/**", "web/target"));
    }
}
