//! Finds a sealed run that judged exactly the present content, by the present plan, in an environment like the present one: an earlier run
//! of the project itself, or one of another checkout of its repository in this store. So no content is tested twice.
//!
//! Whether such a run is a proof is judged as `proctor gate` judges it ([`judge_gate`]); here it is compared with what a run in this
//! directory would see. Nothing is run and nothing is locked.

mod attested;
mod likeness;

pub use self::attested::OtherStoresRun;
pub(crate) use self::likeness::told_environment;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::environment_digest::variables_digest;
use crate::error::ProjectError;
use crate::gate::{runs_on_tree, to_claim};
use crate::ignored_files::ignored_in_project;
use crate::known::likeness::{EnvironmentHere, RunThere};
use crate::made_for_plan::outputs_of_plan;
use crate::other_checkouts::{directory_in_repository, projects_with_content};
use crate::recorded_tests::{failed_for_its_content, has_equal_environment};
use crate::request::{ProjectScope, ProjectSettings};
use crate::workspace::Workspace;
use proctor_evidence::report::{EnvironmentV2, parse_with_hash};
use proctor_evidence::{Store, read_report};
use proctor_index::StoreIndex;
use proctor_model::{
    ClaimOrigin, CommandExit, Digest, GateClaim, GatePolicy, KnownCondition, KnownFrom, OverallResult, Plan, PlanOrigin,
    ProjectId, RunConditions, RunId, RunRecord, TaskId, TreePath, World,
};
use proctor_plan::verdict::{GateJudgement, GateReason, GateRules, GateState, RequiredPlan, judge_gate};
use proctor_sandbox::process::clock;
use proctor_tree::ignore::{IgnoreVerdict, Matcher, MatcherSettings};
use proctor_tree::{TreeHints, TreeIndex};

/// What is said of the checks of a run that had other variables.
pub const OTHER_VARIABLES: &str =
    "had other variables than they would have here (`PATH`, `TZ` and the like), or the store has a new key";

/// The most reasons that are named why runs on the same content do not count here.
const MOST_REASONS: usize = 5;

/// What is asked about: a task of a project, and its files as they are now.
pub(crate) struct KnownQuestion<'a> {
    pub(crate) project: &'a ProjectId,
    pub(crate) root: &'a Path,
    pub(crate) plan: &'a Plan,
    pub(crate) tree: &'a TreeIndex,
    pub(crate) settings: &'a ProjectSettings,
    pub(crate) gate: &'a GatePolicy,
    /// The environment of proctor itself.
    pub(crate) ambient: &'a BTreeMap<OsString, OsString>,
}

/// What is known of the present content.
pub(crate) enum KnownContent {
    /// A run of this project or of another one judged it.
    Known { project: ProjectId, from: KnownFrom },
    /// Nothing, and why the runs on the same content do not count here.
    Unknown(Vec<String>),
}

/// A sealed run of the task on the present content.
struct RunOnContent {
    project: ProjectId,
    /// The root of the checkout in which it was made.
    root: PathBuf,
    record: RunRecord,
    claim: GateClaim,
}

impl Workspace {
    /// Returns whether a run of this store was on just the present files, so that something may be known of them. This costs a save little.
    /// For the hints see [`Self::tree_digest`].
    ///
    /// # Errors
    /// When the tree or the index cannot be read.
    pub fn has_run_on_tree(
        &mut self,
        settings: &ProjectSettings,
        scope: &ProjectScope,
        hints: &TreeHints,
    ) -> Result<bool, ProjectError> {
        let (tree, _) = self.tree_digest(settings, scope, hints)?;
        let index = &self.evidence.index;
        for project in projects_with_content(index, &scope.root, tree)?.iter().chain([&scope.project]) {
            if index.oldest_run_on_tree(project, tree)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns what is known of the present content.
///
/// # Errors
/// When a ledger or the index cannot be read.
pub(crate) fn find_known(
    store: &Store,
    index: &mut StoreIndex,
    question: &KnownQuestion<'_>,
) -> Result<KnownContent, ProjectError> {
    let candidates = candidates(store, index, question)?;
    if candidates.is_empty() {
        return Ok(KnownContent::Unknown(vec!["no run of this repository judged just these files".to_owned()]));
    }
    if let Err(why) = sees_nothing_else((question.plan, question.tree), question.settings, question.gate) {
        return Ok(KnownContent::Unknown(vec![why]));
    }
    let search = KnownSearch { store, question, candidates: &candidates, here: RefCell::default(), reports: RefCell::default() };
    search.green().map_or_else(|| search.red(), |green| Ok(Some(green))).map(|found| match found {
        Some((run, condition)) => {
            let root = (run.project != *question.project).then(|| run.root.display().to_string());
            let from = KnownFrom { run: run.record.run_id.clone(), root, condition, attested: None };
            KnownContent::Known { project: run.project.clone(), from }
        }
        None => KnownContent::Unknown(search.reasons()),
    })
}

/// Returns the sealed runs of the task on the present content, newest first.
fn candidates(store: &Store, index: &mut StoreIndex, question: &KnownQuestion<'_>) -> Result<Vec<RunOnContent>, ProjectError> {
    let tree = question.tree.digest();
    let directory = directory_in_repository(question.root);
    // Whoever wrote to a ledger has told the index of its project. `runs_on_tree` reads newer lines of each.
    let others = projects_with_content(index, question.root, tree)?;
    let projects = [question.project].into_iter().chain(others.iter().filter(|other| *other != question.project));
    let mut found = Vec::new();
    for project in projects {
        let is_own = project == question.project;
        let (runs, _) = runs_on_tree(store, index, project, tree)?;
        let of_place = |conditions: &RunConditions| directory.is_some() && conditions.directory == directory;
        let counts =
            |run: &&RunRecord| run.task == question.plan.task && (is_own || run.conditions.as_deref().is_some_and(of_place));
        let claims: Vec<(RunRecord, GateClaim)> =
            runs.iter().filter(counts).map(|run| (run.clone(), to_claim(run, &runs))).collect();
        if claims.is_empty() {
            continue;
        }
        let Some(known) = index.project(project)? else { continue };
        let root = if is_own { question.root.to_owned() } else { PathBuf::from(known.root.path) };
        let candidate = |(record, claim)| RunOnContent { project: project.clone(), root: root.clone(), record, claim };
        found.extend(claims.into_iter().map(candidate));
    }
    found.sort_by_key(|one| Reverse(one.record.ended));
    Ok(found)
}

/// Makes sure that checks here see no ignored file that the policy does not accept: no digest names its content.
fn sees_nothing_else((plan, tree): (&Plan, &TreeIndex), settings: &ProjectSettings, gate: &GatePolicy) -> Result<(), String> {
    let own_link = settings.matcher.own_link.as_ref();
    let outputs = outputs_of_plan(plan);
    let seen = ignored_in_project(tree, &outputs, settings.task_list.as_deref(), own_link);
    let (seen, _) = seen.ok_or("the ignored files here cannot be listed")?;
    let accepted = AcceptedInputs::new(gate);
    let lost = seen.paths.iter().find(|path| !accepted.accepts(path)).cloned();
    match lost.or_else(|| (seen.unnamed() > 0).then(|| "more than can be named".to_owned())) {
        Some(path) => Err(format!("checks here may read ignored files that no digest names: {path}")),
        None => Ok(()),
    }
}

/// The ignored files that the policy accepts.
struct AcceptedInputs(Option<Matcher>);

impl AcceptedInputs {
    fn new(policy: &GatePolicy) -> Self {
        let settings = MatcherSettings { ignore: policy.ignored_inputs.clone(), ..MatcherSettings::default() };
        // A wrong pattern accepts nothing; `proctor gate` names it.
        Self(Matcher::new(&settings).ok().filter(|_| !policy.ignored_inputs.is_empty()))
    }

    /// Returns whether the policy accepts that checks read a file. A directory ends with a slash.
    fn accepts(&self, path: &str) -> bool {
        let (path, is_directory) = path.strip_suffix('/').map_or((path, false), |path| (path, true));
        let path = TreePath::try_from(path).ok().zip(self.0.as_ref());
        path.is_some_and(|(path, matcher)| matcher.decide(&path, is_directory).verdict == IgnoreVerdict::Out)
    }
}

/// The search among the runs on the present content.
struct KnownSearch<'a> {
    store: &'a Store,
    question: &'a KnownQuestion<'a>,
    candidates: &'a [RunOnContent],
    here: RefCell<Option<EnvironmentHere<'a>>>,
    reports: RefCell<BTreeMap<RunId, Result<Option<KnownCondition>, String>>>,
}

impl<'a> KnownSearch<'a> {
    /// Returns the newest run that proves the content, where no other run on it failed in an equal environment.
    fn green(&self) -> Option<(&'a RunOnContent, Option<KnownCondition>)> {
        let proof = |plan: Vec<Digest>| {
            let judged = self.judge(plan);
            let run = judged.runs.first().filter(|_| judged.state == GateState::Proved && judged.unnamed.is_empty());
            let run = self.candidates.iter().find(|one| Some(&one.record.run_id) == run)?;
            Some((run, self.condition(&judged)))
        };
        let by_plan = proof(vec![proctor_plan::spec::plan_digest(self.question.plan)]);
        // How a check that proctor finds is called depends on what is installed, and here nothing is.
        let is_found = self.question.plan.origin == PlanOrigin::Discovered;
        let by_names = || proof(Vec::new()).filter(|(_, condition)| is_found && condition.is_some());
        let found = by_plan.or_else(by_names)?;
        let is_contradicted = self.candidates.iter().any(|other| {
            other.record.overall_result == Some(OverallResult::Failed) && has_equal_environment(&other.record, &found.0.record)
        });
        let is_sure = found.0.record.exit == Some(CommandExit::Proceed) && !is_contradicted;
        is_sure.then_some(found)
    }

    /// Returns the newest run, if it is the project's own, if checks failed in it because of the content, and if no run passed.
    fn red(&self) -> Result<Option<(&'a RunOnContent, Option<KnownCondition>)>, ProjectError> {
        let own = || self.candidates.iter().filter(|one| one.project == *self.question.project);
        let plan = Some(proctor_plan::spec::plan_digest(self.question.plan));
        let passed = |one: &RunOnContent| one.record.overall_result == Some(OverallResult::Passed);
        let Some(newest) = own().find(|one| one.record.overall_status.counts()) else { return Ok(None) };
        let record = &newest.record;
        let is_red = record.overall_result == Some(OverallResult::Failed)
            && record.plan_digest == plan
            && record.leads_latest()
            && !record.is_by_changed_rules()
            && !own().any(passed);
        if !is_red || self.compare(&newest.claim.origin) != Ok(None) {
            return Ok(None);
        }
        Ok(failed_for_its_content(self.store, &newest.project, record)?.then_some((newest, None)))
    }

    /// Judges the runs that passed as a proof of the task. A run has one of `plans`; without any, only the names of checks are compared.
    fn judge(&self, plans: Vec<Digest>) -> GateJudgement {
        let question = self.question;
        let policy = GatePolicy {
            tasks: vec![question.plan.task.clone()],
            checks: Vec::new(),
            world: World::Closed,
            platforms: vec![RunConditions::platform_here()],
            signers: None,
            // A fresh verdict may rest on kept caches too.
            fresh_caches: false,
            ..question.gate.clone()
        };
        let checks = question.plan.steps.iter().map(|check| check.name.clone()).collect();
        let plans: BTreeMap<TaskId, RequiredPlan> =
            [(question.plan.task.clone(), RequiredPlan { checks, digests: plans })].into();
        let accepted = AcceptedInputs::new(&policy);
        let rules = GateRules {
            policy: &policy,
            plans: &plans,
            now: clock::now(),
            is_accepted_input: &|path| accepted.accepts(path),
            changed_toolchains: &|origin| self.compare(origin).err().into_iter().collect(),
            is_tracked_by_trusted: &|_| false,
        };
        let passed = self.candidates.iter().filter(|one| one.claim.verdict != Some(OverallResult::Failed));
        let claims: Vec<GateClaim> = passed.map(|one| one.claim.clone()).collect();
        let judged = judge_gate(&rules, &claims).pop();
        judged.expect("a policy with one task has one judgement")
    }

    /// Returns on what a proof rests beside equal content.
    fn condition(&self, judged: &GateJudgement) -> Option<KnownCondition> {
        let deciding: BTreeSet<&RunId> = judged.runs.iter().collect();
        let of_runs = self.reports.borrow();
        of_runs.iter().filter(|(run, _)| deciding.contains(run)).find_map(|(_, found)| found.clone().ok().flatten())
    }

    /// Compares the environment of a run with the one here, once for each run.
    fn compare(&self, origin: &ClaimOrigin) -> Result<Option<KnownCondition>, String> {
        if let Some(found) = self.reports.borrow().get(&origin.run) {
            return found.clone();
        }
        let found = self.compare_anew(origin);
        self.reports.borrow_mut().insert(origin.run.clone(), found.clone());
        found
    }

    fn compare_anew(&self, origin: &ClaimOrigin) -> Result<Option<KnownCondition>, String> {
        let run = self.candidates.iter().find(|one| one.record.run_id == origin.run).ok_or("its run is not known")?;
        let conditions = run.record.conditions.as_deref().ok_or("it does not say in which environment it ran")?;
        let environment =
            environment(self.store, &run.project, &run.record).ok_or("its report cannot be read, which names its programs")?;
        let KnownQuestion { root, ambient, settings, .. } = self.question;
        have_equal_variables(environment.variables, variables_digest(self.store, root, ambient, &settings.environment))?;
        let mut here = self.here.borrow_mut();
        let place = (self.question.root, self.question.plan, self.question.tree);
        let here = here.get_or_insert_with(|| EnvironmentHere::look(self.store, self.question.ambient, place));
        here.compare(&RunThere { root: &run.root, conditions, components: &environment.components })
    }

    /// Returns why the runs on the present content do not count here.
    fn reasons(&self) -> Vec<String> {
        let judged = self.judge(vec![proctor_plan::spec::plan_digest(self.question.plan)]);
        let failed = self.candidates.iter().find(|one| one.record.overall_result == Some(OverallResult::Failed));
        let failed = failed.map(|one| format!("a run on just these files failed: {}", one.record.run_id));
        let unnamed =
            judged.unnamed.iter().map(|channel| format!("checks of the run could read files that no digest names: {channel}"));
        let mut reasons: Vec<String> = judged.reasons.iter().map(in_words).chain(unnamed).chain(failed).collect();
        reasons.truncate(MOST_REASONS);
        reasons
    }
}

/// Compares the digests of the variables that checks got in a run and would get here. They are made with the key of the store.
fn have_equal_variables(there: Option<Digest>, here: Option<Digest>) -> Result<(), String> {
    match there {
        None => Err("its report does not say which variables its checks had".to_owned()),
        Some(_) if there == here => Ok(()),
        Some(_) => Err(format!("its checks {OTHER_VARIABLES}")),
    }
}

/// Returns a run's environment, from the report that the ledger knows.
pub(crate) fn environment(store: &Store, project: &ProjectId, run: &RunRecord) -> Option<EnvironmentV2> {
    let bytes = read_report(store, project, &run.task, &run.run_id).ok()?;
    let (report, hash) = parse_with_hash(&bytes).ok()?;
    report.environment.filter(|_| hash == run.report_hash)
}

/// Returns a reason in words. Environments are compared here and not by the gate, so their differences are in words already.
fn in_words(reason: &GateReason) -> String {
    let reason = reason.on_any_platform();
    if let GateReason::ToolchainChanged { run, paths } = reason {
        format!("{run}: {}", paths.join("; "))
    } else {
        reason.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report of an earlier version names no variables, so its run is not known, whatever checks would get here.
    #[test]
    fn only_a_run_with_named_and_equal_variables_is_known() {
        let [one, other] = [&b"one"[..], b"other"].map(Digest::of);
        assert_eq!(have_equal_variables(Some(one), Some(one)), Ok(()));
        for (there, here, why) in [
            (Some(one), Some(other), "other variables"),
            (None, Some(one), "does not say which variables"),
            (Some(one), None, "the store has a new key"),
            (None, None, "does not say which variables"),
        ] {
            assert!(have_equal_variables(there, here).is_err_and(|said| said.contains(why)), "{why}");
        }
    }
}
