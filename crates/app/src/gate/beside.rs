//! What a commit changes beside the trusted commit by which it can be green in another way. The texts of both commits are read from git's
//! objects, and [`proctor_plan::changes`] says what of them is named.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::gate::errors::from_git_read_error;
use crate::gate::plans;
use crate::gate::policy::configuration_of;
use proctor_evidence::{AcceptedOf, Store};
use proctor_git::{GitReadError, ObjectId};
use proctor_model::{ClaimOrigin, GatePolicy, ProjectId, ProofRecord, RunId, TreeDigest, WeakenedChanges};
use proctor_plan::changes::{ChangedFile, GateChange, RecordedTests, find_gate_changes};
use proctor_plan::config::Configuration;
use proctor_project::{ChangedPath, ProjectRepository, StoreReader, ToolchainNames, changed_paths_between, changed_toolchains};

/// The largest file that is compared, in bytes.
const LARGEST: usize = 1 << 20;

/// How many commits before the trusted one are looked at for runs on their content.
const MOST_BEFORE: usize = 4;

/// The blobs of a changed file in the trusted and in the judged commit.
type Blobs = [Option<ObjectId>; 2];

/// What a commit changes beside the trusted one.
#[derive(Default)]
pub(super) struct ChangesBeside {
    pub(super) changes: Vec<GateChange>,
    /// The blobs of the files that are not the same in both commits, by path.
    pub(super) files: BTreeMap<String, Blobs>,
}

impl ChangesBeside {
    /// Returns by which acceptance a change stands in whatever commit it is made: one of its file's contents. `None` for a change that is
    /// not made in its file, such as a test that only a setting elsewhere leaves out.
    pub(super) fn accepted_by(&self, change: &GateChange) -> Option<AcceptedOf> {
        self.files.get(&change.file).map(|[before, after]| AcceptedOf::File { before: *before, after: *after })
    }

    /// Returns the same for each change, by its text.
    pub(super) fn by_text(&self) -> BTreeMap<String, AcceptedOf> {
        self.changes.iter().filter_map(|change| Some((change.to_string(), self.accepted_by(change)?))).collect()
    }
}

/// Returns what the second commit, which is judged, changes beside the first, which is trusted. Each has its configuration.
pub(super) fn changes_beside(
    repository: &ProjectRepository,
    [(trusted, before), (commit, now)]: [(ObjectId, &Configuration); 2],
) -> Result<ChangesBeside, CommandError> {
    let storage = &repository.storage;
    let failed = |error: GitReadError| from_git_read_error(storage, &error);
    let tree = |commit| repository.project_tree_of(commit).map_err(failed);
    let trees = [tree(trusted)?, tree(commit)?];
    let mut started = plans::started(storage, trees[0], before).map_err(failed)?;
    let started_now = plans::started(storage, trees[1], now).map_err(failed)?;
    started.files.extend(started_now.files);
    started.words.extend(started_now.words);
    let changed = changed_paths_between(storage, trees).map_err(failed)?;
    let text = |object: Option<ObjectId>| -> Result<Option<String>, GitReadError> {
        // What is in the place of a submodule is a commit of another repository.
        let content = match object.map(|object| storage.blob(object)).transpose() {
            Err(GitReadError::Object { .. }) => None,
            content => content?,
        };
        Ok(content.filter(|content| content.len() <= LARGEST).and_then(|content| String::from_utf8(content).ok()))
    };
    let mut texts = Vec::new();
    for ChangedPath { objects: [before, now], .. } in &changed {
        texts.push((text(*before).map_err(failed)?, text(*now).map_err(failed)?));
    }
    let files: Vec<ChangedFile<'_>> = changed
        .iter()
        .zip(&texts)
        .map(|(path, (before, after))| ChangedFile {
            path: &path.path,
            before: before.as_deref(),
            after: after.as_deref(),
            is_there: (path.objects[0].is_some(), path.objects[1].is_some()),
        })
        .collect();
    let changes = find_gate_changes(&files, &started);
    Ok(ChangesBeside { changes, files: changed.into_iter().map(|path| (path.path, path.objects)).collect() })
}

/// Returns the tests that runs recorded on the trusted commit's content. Where there was none, those of the newest of a few commits before
/// it stand for them, unless something was weakened since: whoever keeps the trusted branch took that.
pub(super) fn trusted_tests(
    archive: &mut StoreReader,
    repository: &ProjectRepository,
    (trusted, configuration): (ObjectId, &Configuration),
    policy: &GatePolicy,
    digest_of: &dyn Fn(ObjectId) -> Option<TreeDigest>,
) -> Result<Option<RecordedTests>, CommandError> {
    for back in 0..=MOST_BEFORE {
        let Ok(commit) = repository.storage.resolve(&format!("{}~{back}", trusted.hex())) else { break };
        let Some(digest) = digest_of(commit) else { continue };
        let found = archive.tests_on_tree(&repository.root, digest, policy)?;
        let Some(found) = found else { continue };
        if commit == trusted {
            return Ok(Some(found));
        }
        let before = configuration_of(repository, commit)?;
        let since = changes_beside(repository, [(commit, &before), (trusted, configuration)])?;
        let is_weakened = since.changes.iter().any(|change| change.kind.asks(WeakenedChanges::Ask));
        return Ok(Some(found).filter(|_| !is_weakened));
    }
    Ok(None)
}

// Looks whether the toolchains and installed packages of runs are what the runs name. A run of a save compares the stamps of
// directories; here the stamp of every file is compared, which a save does not wait for.

/// The toolchains of runs, each looked at once.
pub(super) struct ToolchainsNow {
    store: Store,
    own: ToolchainNames,
    /// For runs of other working trees, which name their environments relative to those.
    elsewhere: BTreeMap<RunId, ToolchainNames>,
    changed: RefCell<BTreeMap<RunId, Vec<String>>>,
}

impl ToolchainsNow {
    /// Prepares to look at the toolchains of the runs of a project, and of other projects' runs. Nothing is looked at yet.
    ///
    /// # Errors
    /// When the registered projects cannot be read.
    pub(super) fn new(
        environment: &Environment,
        archive: &mut StoreReader,
        root: &Path,
        elsewhere: &BTreeMap<RunId, ProjectId>,
    ) -> Result<Self, CommandError> {
        let projects = if elsewhere.is_empty() { Vec::new() } else { archive.projects()? };
        let names = |root: &Path| ToolchainNames::new(root, environment.variables());
        let of_project = |id: &ProjectId| projects.iter().find(|project| project.id == *id);
        let of_run = |(run, id): (&RunId, &ProjectId)| Some((run.clone(), names(Path::new(&of_project(id)?.path))));
        Ok(Self {
            store: archive.store.clone(),
            own: names(root),
            elsewhere: elsewhere.iter().filter_map(of_run).collect(),
            changed: RefCell::default(),
        })
    }

    /// Returns the toolchains that have another content now than the run names, or were written since.
    pub(super) fn changed(&self, origin: &ClaimOrigin) -> Vec<String> {
        if let Some(known) = self.changed.borrow().get(&origin.run) {
            return known.clone();
        }
        let names = self.elsewhere.get(&origin.run).unwrap_or(&self.own);
        let conditions = origin.conditions.as_ref().map(|all| (all.toolchains.as_slice(), all.toolchains_looked));
        let changed = changed_toolchains(&self.store, names, conditions.unwrap_or_default());
        self.changed.borrow_mut().insert(origin.run.clone(), changed.clone());
        changed
    }

    /// Returns the same for an answer of `proctor prove` of this store.
    pub(super) fn changed_since(&self, proof: &ProofRecord) -> Vec<String> {
        changed_toolchains(&self.store, &self.own, (&proof.toolchains, proof.toolchains_looked))
    }
}
