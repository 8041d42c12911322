//! Reads what `proctor gate` judges from: the commit and the trusted commit from git's objects, and the runs on the commit's tree from
//! the ledger, as claims.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::approval::{CONFIGURATION_FILE, unapproved_in};
use crate::checked_index::catch_up;
use crate::error::ProjectError;
use crate::followed_branch::FollowedCommit;
use crate::other_checkouts::directory_in_repository;
use crate::settings_approval::rules_digest;
use crate::store_reader::StoreReader;
use proctor_evidence::{LedgerLookup, Store};
use proctor_git::{GitEntryKind, GitReadError, GitStorage, ObjectId, SubmoduleNames};
use proctor_index::StoreIndex;
use proctor_model::{
    CheckOutcome, CheckRecord, ClaimOrigin, ClaimSigner, ClaimedCheck, ClaimedResult, EntryKind, GateClaim, IsolationLevel,
    JudgedSettings, OverallStatus, Plan, ProjectId, RuleChange, RunId, RunLine, RunRecord, Sequence, SettingValue, TreeDigest,
    TreePath,
};
use proctor_plan::spec::plan_digest;
use proctor_tools::{CONFIGURATION_DIRECTORIES, is_configuration_above};

/// The most lines of a ledger that are read for the inputs that its runs had.
const MOST_LINES_FOR_INPUTS: usize = 500;
/// The most commits that a run looks through for those of earlier runs.
const MOST_COMMITS_BEFORE: usize = 1000;

/// The repository that contains a project, and the project's place in it.
#[derive(Debug)]
pub struct ProjectRepository {
    pub storage: GitStorage,
    /// The project's directory, relative to the root of the repository's working tree.
    pub below: TreePath,
    /// The project's directory.
    pub root: PathBuf,
}

/// What a commit has in the place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommittedFile {
    Absent,
    /// A regular file, by the name of its blob.
    Regular(ObjectId),
    /// A link, a directory, a submodule, or something behind a link or in a submodule. A checkout may have any content there.
    Other,
}

/// What a path leads to in a commit.
enum PlaceInCommit {
    /// Nothing is there.
    Empty,
    Entry(EntryKind, ObjectId),
    /// The path leads through a link or to a submodule.
    Elsewhere,
}

/// What the ledgers of this store say of the sealed runs on one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimsOnTree {
    /// The runs, newest first.
    pub claims: Vec<GateClaim>,
    /// The projects of the runs that are not of the project itself.
    pub elsewhere: BTreeMap<RunId, ProjectId>,
    /// Whether the newest run of the project names its tree in an earlier format, which cannot be compared.
    pub has_other_format: bool,
}

impl ProjectRepository {
    /// Opens the repository that contains a project; `None` if the project is in no git repository.
    ///
    /// # Errors
    /// When the repository cannot be read or has a format that is not supported.
    pub fn open(root: &Path) -> Result<Option<Self>, GitReadError> {
        let Some(location) = proctor_git::find_git_location(root) else { return Ok(None) };
        let Some((git_directory, common)) = proctor_git::find_git_directories(root) else { return Ok(None) };
        let Ok(below) = TreePath::below(&location.work_tree, root) else { return Ok(None) };
        let storage = GitStorage::open(&git_directory, &common)?.with_work_tree(location.work_tree);
        Ok(Some(Self { storage, below, root: root.to_owned() }))
    }

    /// Returns what a commit has in the place of a file, by the file's path from the project's root.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn file_of(&self, commit: ObjectId, path: &str) -> Result<CommittedFile, GitReadError> {
        Ok(match self.look_up(commit, path)? {
            PlaceInCommit::Empty => CommittedFile::Absent,
            PlaceInCommit::Entry(EntryKind::File | EntryKind::Executable, blob) => CommittedFile::Regular(blob),
            PlaceInCommit::Entry(EntryKind::Directory | EntryKind::Link, _) | PlaceInCommit::Elsewhere => CommittedFile::Other,
        })
    }

    /// Returns the tree of the project's directory in a commit; `None` if the commit has no such directory.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn project_tree_of(&self, commit: ObjectId) -> Result<Option<ObjectId>, GitReadError> {
        Ok(match self.look_up(commit, "")? {
            PlaceInCommit::Entry(EntryKind::Directory, id) => Some(id),
            PlaceInCommit::Entry(EntryKind::Link | EntryKind::File | EntryKind::Executable, _)
            | PlaceInCommit::Empty
            | PlaceInCommit::Elsewhere => None,
        })
    }

    /// Returns the configuration files that a commit has in the directories above the project, as names of inputs.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn configuration_above(&self, commit: ObjectId) -> Result<Vec<String>, GitReadError> {
        let mut found = Vec::new();
        for above in (1..=self.below.as_path().components().count()).map(|level| "../".repeat(level)) {
            for directory in CONFIGURATION_DIRECTORIES {
                let PlaceInCommit::Entry(EntryKind::Directory, tree) = self.look_up(commit, &format!("{above}{directory}"))?
                else {
                    continue;
                };
                let names = self.storage.entries(tree)?.into_iter().filter_map(|entry| String::from_utf8(entry.name).ok());
                let paths = names.map(|name| format!("{directory}{name}")).filter(|path| is_configuration_above(path));
                found.extend(paths.map(|path| format!("{above}{path}")));
            }
        }
        Ok(found)
    }

    /// Returns whether a commit has something at a path from the project's root, also in a submodule. Links are not followed. What
    /// cannot be read may be there.
    pub fn may_have(&self, commit: ObjectId, path: &str) -> bool {
        let written = self.below.as_bytes().split(|byte| *byte == b'/').chain(path.as_bytes().split(|byte| *byte == b'/'));
        let names: Vec<&[u8]> = written.filter(|name| !name.is_empty()).collect();
        self.storage.tree_of(commit).and_then(|root| has_entry(&self.storage, root, &names)).unwrap_or(true)
    }

    fn look_up(&self, commit: ObjectId, path: &str) -> Result<PlaceInCommit, GitReadError> {
        let mut names: Vec<&[u8]> = Vec::new();
        let written = self.below.as_bytes().split(|byte| *byte == b'/').chain(path.as_bytes().split(|byte| *byte == b'/'));
        for name in written.filter(|name| !name.is_empty() && *name != b".") {
            match name {
                b".." if names.pop().is_none() => return Ok(PlaceInCommit::Empty),
                b".." => {}
                name => names.push(name),
            }
        }
        let mut at = (EntryKind::Directory, self.storage.tree_of(commit)?);
        for name in names {
            match at.0 {
                EntryKind::Directory => {}
                EntryKind::Link => return Ok(PlaceInCommit::Elsewhere),
                EntryKind::File | EntryKind::Executable => return Ok(PlaceInCommit::Empty),
            }
            let entries = self.storage.entries(at.1)?;
            let Some(entry) = entries.into_iter().find(|entry| entry.name == name) else { return Ok(PlaceInCommit::Empty) };
            let Some(GitEntryKind::Own(kind)) = entry.kind() else { return Ok(PlaceInCommit::Elsewhere) };
            at = (kind, entry.id);
        }
        Ok(PlaceInCommit::Entry(at.0, at.1))
    }

    /// Returns the content of the project's `proctor.toml` in a commit; `None` if the commit has no regular file there.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn configuration_of(&self, commit: ObjectId) -> Result<Option<Vec<u8>>, GitReadError> {
        match self.file_of(commit, CONFIGURATION_FILE)? {
            CommittedFile::Regular(blob) => self.storage.blob(blob).map(Some),
            CommittedFile::Absent | CommittedFile::Other => Ok(None),
        }
    }
}

/// Returns whether a tree, or a submodule in it, has an entry at this path. A submodule whose objects are not here has every entry.
fn has_entry(storage: &GitStorage, root: ObjectId, names: &[&[u8]]) -> Result<bool, GitReadError> {
    let mut at = root;
    for (position, name) in names.iter().enumerate() {
        let (path, below) = names.split_at(position + 1);
        let Some(entry) = storage.entries(at)?.into_iter().find(|entry| entry.name == **name) else { return Ok(false) };
        match entry.kind() {
            Some(GitEntryKind::Own(EntryKind::Directory)) => at = entry.id,
            Some(GitEntryKind::Own(EntryKind::Link | EntryKind::File | EntryKind::Executable)) | None => {
                return Ok(below.is_empty());
            }
            Some(GitEntryKind::Submodule) if below.is_empty() => return Ok(true),
            Some(GitEntryKind::Submodule) => {
                let modules = SubmoduleNames::of_commit(storage, root)?.unwrap_or_default();
                let Some(module) = storage.submodule(&modules, &path.join(&b'/'), entry.id) else { return Ok(true) };
                return has_entry(&module, module.tree_of(entry.id)?, below);
            }
        }
    }
    Ok(true)
}

impl StoreReader {
    /// Returns what the ledgers say of the sealed runs on a tree, newest first: the runs of the project itself, and those of `others`
    /// that were made in the same directory of a working tree. Another directory with the same content is another project, whose
    /// checks may be others. Each line of a ledger is checked that is read.
    ///
    /// The index tells only how far back a ledger must be read. Another program that removes rows from it can so hide runs, and the
    /// tree then counts as not tested; it cannot hide a failure and leave an older success of the same project.
    ///
    /// # Errors
    /// When a ledger or the index cannot be read, or a line is not as proctor wrote it.
    pub fn claims_on_tree(
        &mut self,
        own: Option<&ProjectId>,
        (others, root): (&[ProjectId], &Path),
        tree: TreeDigest,
    ) -> Result<ClaimsOnTree, ProjectError> {
        let mut found = ClaimsOnTree { claims: Vec::new(), elsewhere: BTreeMap::new(), has_other_format: false };
        if let Some(own) = own {
            let (runs, has_other_format) = self.runs_on_tree(own, tree)?;
            found.has_other_format = has_other_format;
            found.claims.extend(runs.iter().map(|run| to_claim(run, &runs)));
        }
        let directory = directory_in_repository(root);
        for other in others.iter().filter(|other| Some(*other) != own) {
            let (runs, _) = self.runs_on_tree(other, tree)?;
            let is_there = |run: &&RunRecord| {
                directory.is_some() && run.conditions.as_ref().is_some_and(|conditions| conditions.directory == directory)
            };
            found.elsewhere.extend(runs.iter().filter(is_there).map(|run| (run.run_id.clone(), other.clone())));
            found.claims.extend(runs.iter().filter(is_there).map(|run| to_claim(run, &runs)));
        }
        if !others.is_empty() {
            found.claims.sort_by_key(|claim| Reverse(claim.origin.ended));
        }
        Ok(found)
    }

    /// Returns the names of inputs that the newest runs of the project itself and of `others` in the same directory of a working tree
    /// recorded, each list once, newest first. What a project's files lead to depends on what is installed.
    ///
    /// # Errors
    /// When a ledger cannot be read, or a line is not as proctor wrote it.
    pub fn recorded_inputs(
        &mut self,
        own: Option<&ProjectId>,
        (others, root): (&[ProjectId], &Path),
    ) -> Result<Vec<Vec<String>>, ProjectError> {
        let directory = directory_in_repository(root);
        let mut found: Vec<Vec<String>> = Vec::new();
        for project in own.into_iter().chain(others.iter().filter(|other| Some(*other) != own)) {
            let ledger = LedgerLookup::open(&self.store, project)?;
            for line in ledger.newest().take(MOST_LINES_FOR_INPUTS) {
                let line = line?;
                let Some(RunLine::Sealed(record)) = line.body.about_runs() else { continue };
                let conditions = record.conditions.as_ref().filter(|conditions| conditions.directory == directory);
                let inputs = conditions.and_then(|conditions| conditions.inputs.clone());
                found.extend(inputs.filter(|names| !found.contains(names)));
            }
        }
        Ok(found)
    }

    /// Returns the sealed runs of a project on a tree, newest first, and whether the project's newest run names its tree in an earlier
    /// format, which cannot be compared.
    pub(crate) fn runs_on_tree(&mut self, project: &ProjectId, tree: TreeDigest) -> Result<(Vec<RunRecord>, bool), ProjectError> {
        runs_on_tree(&self.store, &mut self.index, project, tree)
    }

    /// Returns the newest commit of the followed branch that a fetch brought. `allowed` are the settings that the user's own
    /// configuration allows for the project at `root`.
    ///
    /// # Errors
    /// When the ledger or the index cannot be read.
    pub fn followed_commit(
        &mut self,
        repository: &ProjectRepository,
        allowed: &JudgedSettings,
    ) -> Result<Option<FollowedCommit>, ProjectError> {
        let own = self.find_project(&repository.root)?;
        let approved = own.map(|project| self.index.approved_settings(&project)).transpose().map_err(ProjectError::Index)?;
        let approved = approved.flatten().and_then(|held| held.terms.settings);
        Ok(FollowedCommit::find(repository, approved.as_ref(), allowed))
    }

    /// Returns whether a setting of the project at `root` has this text because a person approved it, or the user's own configuration
    /// allows it.
    ///
    /// # Errors
    /// When the ledger or the index cannot be read.
    pub fn is_setting_approved(
        &mut self,
        root: &Path,
        (key, text): (&str, &str),
        allowed: &JudgedSettings,
    ) -> Result<bool, ProjectError> {
        let has = |settings: &JudgedSettings| settings.values.get(key) == Some(&SettingValue::Text(text.to_owned()));
        if has(allowed) {
            return Ok(true);
        }
        let Some(project) = self.find_project(root)? else { return Ok(false) };
        let approved = self.index.approved_settings(&project).map_err(ProjectError::Index)?;
        Ok(approved.and_then(|held| held.terms.settings).is_some_and(|settings| has(&settings)))
    }

    /// Returns in words where the rules of a plan are not those that were approved for a project, nor those of the followed commit;
    /// nothing if no plan of the task was.
    ///
    /// # Errors
    /// When the ledger or the index cannot be read.
    pub fn rules_not_approved(
        &mut self,
        project: &ProjectId,
        plan: &Plan,
        (repository, followed): (&ProjectRepository, Option<&FollowedCommit>),
    ) -> Result<Vec<String>, ProjectError> {
        catch_up(&self.store, &mut self.index, project)?;
        let unapproved = unapproved_in(&self.index, project, plan, plan_digest(plan))?;
        let difference = unapproved.map(|unapproved| unapproved.difference).unwrap_or_default();
        if followed.is_some_and(|followed| followed.approves(repository, plan, &difference)) {
            return Ok(Vec::new());
        }
        Ok(RuleChange::in_short(&[difference.opens, difference.changed].concat()))
    }
}

/// Does what [`StoreReader::runs_on_tree`] says.
pub(crate) fn runs_on_tree(
    store: &Store,
    index: &mut StoreIndex,
    project: &ProjectId,
    tree: TreeDigest,
) -> Result<(Vec<RunRecord>, bool), ProjectError> {
    catch_up(store, index, project)?;
    let oldest = index.oldest_run_on_tree(project, tree)?;
    let ledger = LedgerLookup::open(store, project)?;
    let (mut found, mut has_other_format, mut is_newest) = (Vec::new(), false, true);
    for line in ledger.newest() {
        let line = line?;
        // Without a run on this tree, only the newest run is of interest, for its format.
        if oldest.map_or(!is_newest, |oldest| line.sequence < oldest) {
            break;
        }
        let Some(RunLine::Sealed(record)) = line.body.about_runs() else { continue };
        if is_newest {
            has_other_format = !record.tree_format.is_computed() && record.tree_digest.is_some();
            is_newest = false;
        }
        if record.tree_digest == Some(tree) && record.tree_format.is_computed() {
            let mut record = record.clone();
            if are_rules_approved(index, project, &record, line.sequence)? {
                record.conditions.iter_mut().for_each(|conditions| conditions.rules_changed = None);
            }
            found.push(record);
        }
    }
    Ok((found, has_other_format))
}

/// Returns whether the rules of a run, which has this line of the ledger, were approved after it.
pub(crate) fn are_rules_approved(
    index: &StoreIndex,
    project: &ProjectId,
    record: &RunRecord,
    line: Sequence,
) -> Result<bool, ProjectError> {
    let changed = record.conditions.as_ref().and_then(|conditions| conditions.rules_changed.as_ref());
    let Some(changed) = changed.filter(|changed| !changed.lacks_files) else { return Ok(false) };
    let held = index.approval(project, &record.task).map_err(ProjectError::Index)?;
    Ok(held.filter(|held| held.sequence > line).is_some_and(|held| {
        held.terms.settings.is_some_and(|settings| rules_digest(held.plan_digest, &settings) == changed.rules)
    }))
}

/// Returns which of the commits are `tip` or come before it, among the commits nearest to it. The history is walked once.
pub fn commits_before(root: &Path, commits: &BTreeSet<String>, tip: &str) -> BTreeSet<String> {
    let wanted = commits.iter().filter_map(|commit| ObjectId::parse(commit)).collect();
    let found = || {
        let storage = ProjectRepository::open(root).ok()??.storage;
        Some(storage.find_ancestors(&wanted, ObjectId::parse(tip)?, MOST_COMMITS_BEFORE))
    };
    found().unwrap_or_default().into_iter().map(ObjectId::hex).collect()
}

/// Returns what the ledger claims of a run. `runs` are the runs of the same project on the same tree: the origin of a reused result is
/// among them.
pub(crate) fn to_claim(record: &RunRecord, runs: &[RunRecord]) -> GateClaim {
    let verdict = match record.overall_status {
        OverallStatus::Success | OverallStatus::PartialSuccess | OverallStatus::RewroteTree | OverallStatus::Failed => {
            record.overall_result
        }
        OverallStatus::SpecificationError | OverallStatus::Interrupted | OverallStatus::Superseded | OverallStatus::Moved => None,
    };
    let checks =
        record.results.as_ref().map(|records| records.iter().map(|check| to_claimed_check(record, check, runs)).collect());
    GateClaim {
        run: record.run_id.clone(),
        task: record.task.clone(),
        plan: record.plan_digest,
        verdict,
        exit: record.exit,
        checks,
        origin: to_origin(record),
    }
}

fn to_claimed_check(record: &RunRecord, check: &CheckRecord, runs: &[RunRecord]) -> ClaimedCheck {
    let result = match &check.outcome {
        CheckOutcome::CarriedOut { blocking } => {
            Some(ClaimedResult { blocking: *blocking, succeeded: check.succeeded, origin: Some(to_origin(record)) })
        }
        CheckOutcome::Reused { blocking, run_id, other_tree: None } => {
            let is_own =
                |other: &&CheckRecord| matches!(other.outcome, CheckOutcome::CarriedOut { .. }) && other.name == check.name;
            let carried_out =
                |run: &&RunRecord| run.run_id == *run_id && run.results.iter().flatten().any(|other| is_own(&other));
            let origin = runs.iter().find(carried_out).map(to_origin);
            Some(ClaimedResult { blocking: *blocking, succeeded: check.succeeded, origin })
        }
        CheckOutcome::Reused { other_tree: Some(_), .. } | CheckOutcome::LeftOut | CheckOutcome::Skipped => None,
    };
    ClaimedCheck { name: check.name.clone(), result }
}

fn to_origin(record: &RunRecord) -> ClaimOrigin {
    ClaimOrigin {
        run: record.run_id.clone(),
        signer: ClaimSigner::OwnStore,
        level: record.isolation.unwrap_or(IsolationLevel::Namespace),
        ended: record.ended,
        conditions: record.conditions.as_deref().cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{ActionId, Blocking, Digest, TaskId, Timestamp};

    fn run(number: u64, outcome: CheckOutcome, isolation: IsolationLevel) -> RunRecord {
        let time = Timestamp::from_millis(i64::try_from(number).expect("small") * 1000);
        let check = CheckRecord { id: ActionId::numbered("STEP", 1), name: "tests".to_owned(), outcome, succeeded: None };
        let (id, status) = (RunId::new(Timestamp::from_millis(0), number), OverallStatus::Success);
        RunRecord {
            results: Some(vec![check]),
            isolation: Some(isolation),
            ..RunRecord::without_verdict(id, TaskId::default_task(), Digest::of(b"report"), status, (time, time))
        }
    }

    #[test]
    fn a_reused_result_is_one_of_the_run_that_carried_the_check_out() {
        let blocking = Blocking::Allowed;
        let first = run(1, CheckOutcome::CarriedOut { blocking }, IsolationLevel::ProcessGroup);
        let reused = |from: &RunId| CheckOutcome::Reused { blocking, run_id: from.clone(), other_tree: None };
        let second = run(2, reused(&first.run_id), IsolationLevel::Namespace);
        let runs = [second.clone(), first.clone()];
        let origin = |claim: &GateClaim| claim.checks.as_ref().and_then(|checks| checks[0].result.clone()?.origin);
        let found = origin(&to_claim(&second, &runs)).expect("the run is known");
        assert_eq!((found.run, found.level, found.ended), (first.run_id.clone(), IsolationLevel::ProcessGroup, first.ended));
        assert_eq!(origin(&to_claim(&second, std::slice::from_ref(&second))), None, "an unknown run is no origin");
        let third = run(3, reused(&second.run_id), IsolationLevel::Namespace);
        assert_eq!(origin(&to_claim(&third, &[third.clone(), second, first])), None, "it did not carry the check out");
    }
}
