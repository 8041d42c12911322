//! What checks see outside of the tree that users can write, by its content: toolchains and installed packages. They are looked at in the
//! background while the checks run. What was never hashed is hashed there too, and no run waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::environment_digest::{EnvironmentSearch, LookDepth, LookedDirectory, SavedDirectory, paths_of_programs};
use crate::error::ProjectError;
use crate::request::RunRequest;
use crate::toolchain_places::{is_of_distribution, toolchains_of_programs};
use proctor_evidence::{BackgroundJob, BackgroundThread, LedgerLookup, Store};
use proctor_model::{
    CurrentToolchains, Digest, Plan, PlanNote, ProjectId, RunConditions, RunLine, Sequence, Timestamp, ToolchainRecord,
};
use proctor_sandbox::process::clock;
use proctor_sandbox::{home, search_path};
use proctor_tree::TreeIndex;

/// How many bytes of new files in one directory a look hashes itself. A run waits for the look, so this takes no longer than the start of an
/// interpreter.
const HASHED_AT_ONCE: u64 = 64 << 20;

const NANOS_PER_MILLI: i64 = 1_000_000;

/// How the toolchains of a run are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolchainDepth {
    /// The stamps of directories are compared, and nobody waits for a hash.
    Usual,
    /// The stamps of all files are compared, and the run waits for every hash.
    EveryFile,
}

/// What decides which programs, toolchains and installed packages the checks of a run see.
pub struct SeenByChecks {
    pub(crate) plan: Plan,
    pub(crate) index: TreeIndex,
    /// The environments in the project that the checks' snapshot shows; `None` if the checks run in the project.
    pub(crate) shown: Option<Vec<PathBuf>>,
    pub(crate) path_variable: OsString,
    /// The user's home directory, in which Python packages may be installed.
    pub(crate) home: Option<PathBuf>,
}

impl SeenByChecks {
    /// `shown` are the environments in the project that the checks' snapshot shows; `None` if the checks run in the project.
    pub fn new(
        ambient: &BTreeMap<OsString, OsString>,
        request: &RunRequest<'_>,
        index: &TreeIndex,
        shown: Option<Vec<PathBuf>>,
    ) -> Self {
        Self {
            plan: request.plan.clone(),
            index: index.clone(),
            shown,
            path_variable: search_path(ambient),
            home: home(ambient).map(Path::to_owned),
        }
    }
}

/// The look at a run's toolchains, which goes on in the background.
pub struct ToolchainSurvey {
    shared: SharedByLooks,
    begun: Timestamp,
    looks: Vec<BackgroundJob<Vec<LookedToolchain>>>,
    looked: Vec<LookedToolchain>,
    /// The directories that were added one by one.
    added: BTreeSet<PathBuf>,
}

#[derive(Clone)]
struct SharedByLooks {
    store: Store,
    hashing: BackgroundThread,
    depth: ToolchainDepth,
    names: ToolchainNames,
}

/// How directories are named for people and in the ledger.
#[derive(Debug, Clone)]
pub struct ToolchainNames {
    root: PathBuf,
    home: Option<PathBuf>,
}

struct LookedToolchain {
    name: String,
    looked: LookedDirectory,
    hashing: Option<BackgroundJob<LookedDirectory>>,
}

impl ToolchainNames {
    pub fn new(root: &Path, ambient: &BTreeMap<OsString, OsString>) -> Self {
        Self { root: root.to_owned(), home: home(ambient).map(Path::to_owned) }
    }

    /// Returns the name of a directory: relative to the project if it lies in it, and with `~` for the user's home directory.
    pub(crate) fn name(&self, path: &Path) -> String {
        let in_project = path.strip_prefix(&self.root).ok().map(|path| path.display().to_string());
        let in_home = || Some(format!("~/{}", path.strip_prefix(self.home.as_ref()?).ok()?.display()));
        in_project.or_else(in_home).unwrap_or_else(|| path.display().to_string())
    }

    /// Returns the directory of a name.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        match (name.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => self.root.join(name),
        }
    }
}

impl ToolchainSurvey {
    /// Begins to look at the environments of the project, and at the installations that the plan's programs belong to.
    pub(crate) fn begin(store: &Store, hashing: &BackgroundThread, depth: ToolchainDepth, subject: SeenByChecks) -> Self {
        let names = ToolchainNames { root: subject.index.root().to_owned(), home: subject.home.clone() };
        let shared = SharedByLooks { store: store.clone(), hashing: hashing.clone(), depth, names };
        let (look, begun) = (shared.clone(), clock::now());
        let first = store.background().begin(move || look.all(toolchains(subject).into_iter()));
        Self { shared, begun, looks: vec![first], looked: Vec::new(), added: BTreeSet::new() }
    }

    /// Returns when the look began.
    pub fn begun(&self) -> Timestamp {
        self.begun
    }

    /// Begins to look at further directories that an action sees. Those that were added before are not looked at again.
    pub fn add(&mut self, directories: impl Iterator<Item = PathBuf>) {
        let new = directories.filter(|path| !is_of_distribution(path));
        let new: Vec<PathBuf> = new.filter(|path| self.added.insert(path.clone())).collect();
        if !new.is_empty() {
            let look = self.shared.clone();
            self.looks.push(self.shared.store.background().begin(move || look.all(new.into_iter())));
        }
    }

    /// Returns the contents that are known now, by name. Waits for the looks, and not for a hash.
    pub fn contents(&mut self) -> BTreeMap<&str, Digest> {
        self.wait();
        let content = |one: &LookedToolchain| one.looked.digest();
        self.looked.iter().filter_map(|one| Some((one.name.as_str(), content(one)?))).collect()
    }

    /// Returns what the ledger records of the toolchains. One whose hash was finished meanwhile is known.
    pub fn finish(mut self) -> Vec<ToolchainRecord> {
        self.wait();
        let mut records: BTreeMap<String, ToolchainRecord> = BTreeMap::new();
        for one in self.looked {
            // A hash that ended while the checks ran may have read a file after they did, so the gate looks at each stamp again.
            let hashed = one.hashing.and_then(|hashing| hashing.result_so_far());
            let content = hashed.unwrap_or(one.looked).digest();
            let every_file = self.shared.depth == ToolchainDepth::EveryFile && content.is_some();
            records.entry(one.name.clone()).or_insert(ToolchainRecord { path: one.name, content, every_file });
        }
        // What lies in another directory is named by the content of that one.
        let paths: Vec<PathBuf> = records.keys().map(PathBuf::from).collect();
        let is_inside = |path: &Path| paths.iter().any(|other| other != path && path.starts_with(other));
        records.into_values().filter(|record| !is_inside(Path::new(&record.path))).collect()
    }

    fn wait(&mut self) {
        for look in self.looks.drain(..) {
            self.looked.extend(look.wait().unwrap_or_default());
        }
    }
}

impl SharedByLooks {
    fn all(&self, directories: impl Iterator<Item = PathBuf>) -> Vec<LookedToolchain> {
        directories.map(|directory| self.one(&directory)).collect()
    }

    fn one(&self, directory: &Path) -> LookedToolchain {
        let (saved, name) = (SavedDirectory::of(&self.store, directory), self.names.name(directory));
        let looked = match self.depth {
            ToolchainDepth::Usual => saved.look(LookDepth::Listings, HASHED_AT_ONCE),
            ToolchainDepth::EveryFile => saved.hash(),
        };
        let hashing = (looked == LookedDirectory::NotHashed).then(|| self.hashing.begin(move || saved.hash()));
        LookedToolchain { name, looked, hashing }
    }
}

/// Returns the directories outside of the tree that hold a plan's programs and the packages that they load. Links are resolved, and no
/// directory is named that lies in another one.
pub(crate) fn toolchains(subject: SeenByChecks) -> BTreeSet<PathBuf> {
    let root = subject.index.root().to_owned();
    let programs = paths_of_programs(&subject.plan, &root, &subject.path_variable);
    let mut found = toolchains_of_programs(&programs, &root, subject.home.as_deref());
    let search = EnvironmentSearch::new(subject.index, subject.shown.as_deref(), &programs, subject.home);
    found.extend(search.directories());
    let all: Vec<PathBuf> = found.iter().cloned().collect();
    found.retain(|path| !all.iter().any(|other| other != path && path.starts_with(other)));
    found
}

/// The subject of the note about toolchains that were not hashed.
pub const NOT_HASHED: &str = "toolchain";

/// Returns the note about toolchains that were not hashed; `None` if all are known.
pub fn note_not_hashed(toolchains: &[ToolchainRecord]) -> Option<PlanNote> {
    let names: Vec<String> = toolchains.iter().filter(|one| one.content.is_none()).map(|one| format!("`{}`", one.path)).collect();
    (!names.is_empty()).then(|| PlanNote {
        subject: NOT_HASHED.to_owned(),
        message: format!(
            "not hashed yet, so this run proves nothing of a commit: {}; each run hashes more of it, and `proctor run --fresh-caches` \
             waits until all is hashed",
            names.join(", ")
        ),
    })
}

/// Returns whether the toolchains of a run have the content that the run names, as far as the stamps of directories tell: a file that
/// came, went or was replaced. New files are hashed if they are few; where they are many, the content is another one. `run` is the number
/// of the run's line in the ledger.
///
/// # Errors
/// When the ledger cannot be read.
pub fn current_toolchains(
    store: &Store,
    names: &ToolchainNames,
    project: &ProjectId,
    run: Sequence,
) -> Result<CurrentToolchains, ProjectError> {
    Ok(conditions_now(store, names, Some((project, run)))?.1)
}

/// Returns what the results of a run may depend on beside the tree, as the ledger has it, and how its toolchains compare with the present
/// ones as in [`current_toolchains`].
///
/// # Errors
/// When the ledger cannot be read.
pub(crate) fn conditions_now(
    store: &Store,
    names: &ToolchainNames,
    run: Option<(&ProjectId, Sequence)>,
) -> Result<(Option<Box<RunConditions>>, CurrentToolchains), ProjectError> {
    let conditions = run.map(|(project, run)| run_conditions(store, project, run)).transpose()?.flatten();
    let toolchains = conditions.as_ref().map_or(CurrentToolchains::AsNamed, |known| compare_toolchains(store, names, known));
    Ok((conditions, toolchains))
}

/// Returns what the results of a run may depend on beside the tree; `None` if its line in the ledger does not say it.
///
/// # Errors
/// When the ledger cannot be read.
fn run_conditions(store: &Store, project: &ProjectId, run: Sequence) -> Result<Option<Box<RunConditions>>, ProjectError> {
    let ledger = LedgerLookup::open(store, project)?;
    let line = ledger.find(run)?;
    Ok(match line.as_ref().and_then(|line| line.body.about_runs()) {
        Some(RunLine::Sealed(record)) => record.conditions.clone(),
        Some(_) | None => None,
    })
}

/// Compares the toolchains that a run names with the present ones, as [`current_toolchains`] does.
fn compare_toolchains(store: &Store, names: &ToolchainNames, conditions: &RunConditions) -> CurrentToolchains {
    let is_other = |one: &ToolchainRecord| {
        let saved = SavedDirectory::of(store, &names.path(&one.path));
        one.content.is_some() && saved.look(LookDepth::Listings, HASHED_AT_ONCE).digest() != one.content
    };
    if conditions.toolchains.iter().any(is_other) { CurrentToolchains::Changed } else { CurrentToolchains::AsNamed }
}

/// Returns the toolchains of a run that are not what the run named; or of which a file was written after the run had looked at them, unless it
/// looked at every file: it may have had another content for a check. The stamp of every file is compared.
pub fn changed_toolchains(
    store: &Store,
    names: &ToolchainNames,
    (toolchains, looked): (&[ToolchainRecord], Option<Timestamp>),
) -> Vec<String> {
    let looked = looked.map(Timestamp::as_millis);
    let looked = looked.map_or(i64::MAX, |millis| millis.saturating_add(1).saturating_mul(NANOS_PER_MILLI));
    let is_other = |one: &&ToolchainRecord| {
        let path = names.path(&one.path);
        // What a run saw that looked at every file is certain. What was installed for it alone, in a checkout, is gone by now.
        if one.content.is_none() || (one.every_file && !path.exists()) {
            return false;
        }
        let (content, newest_change) = SavedDirectory::of(store, &path).hash_and_newest_change();
        content.digest() != one.content || (!one.every_file && newest_change > looked)
    };
    toolchains.iter().filter(is_other).map(|one| one.path.clone()).collect()
}
