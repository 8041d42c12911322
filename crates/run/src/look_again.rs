//! What is looked at when the actions of a run are over: the tree, the installed packages, the protected files. A verdict holds for
//! what was there before and after the checks.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::check_place::CheckPlace;
use crate::environment::{LookedOnce, LookedTwice, SurveyProgress, begin_second_survey};
use crate::kept_files::{KeptOutcome, copy_out};
use crate::left_behind::{may_write_environments, note_left, stamps};
use crate::perform_all::PreparedTree;
use crate::rewritten_files::RewrittenFiles;
use crate::run_context::RunContext;
use proctor_evidence::report::{ActionResult, SnapshotV2};
use proctor_evidence::{Ledger, Store};
use proctor_model::{
    ActionEnd, CachesSeen, Digest, IgnoredFiles, RunConditions, StopReason, ToolchainRecord, TreeComparison, TreePath,
};
use proctor_project::{
    EnvironmentSurvey, Evidence, InputSearch, Installed, Progress, ProjectError, ProjectSettings, ProtectedFilesScan,
    ProtectedFilesStatus, RunRequest, Runner, SurveyedEnvironment, ToolchainSurvey, Trees, Workspace, begin_protected_scan,
    checked_out_commit, directory_in_repository, ignored_in_project, outputs_of_plan, programs_not_approved,
    protected_files_status, update_task_list, variables_digest,
};
use proctor_sandbox::home;
use proctor_sandbox::process::clock;
use proctor_tree::ignore::ShownOutputs;
use proctor_tree::{TreeError, TreeHints, TreeIndex, compare};

/// How what git keeps, and no digest names, is called among what checks could read.
const OF_GIT: &str = ".git (HEAD, tags, index)";

/// What is looked at while the actions are carried out.
pub(crate) struct BackgroundLooks {
    protected: Option<ProtectedFilesScan>,
    ignored: IgnoredBefore,
}

/// What the look after the actions starts from.
pub(crate) struct SecondLook<'r, 'c> {
    pub(crate) context: &'r RunContext<'c>,
    pub(crate) place: &'r mut CheckPlace,
    /// The tree before the actions.
    pub(crate) index: &'r TreeIndex,
    pub(crate) results: &'r [ActionResult],
    pub(crate) stopped: Option<StopReason>,
    pub(crate) known: SurveyProgress,
    pub(crate) toolchains: Option<ToolchainSurvey>,
    pub(crate) prepared: PreparedTree,
    pub(crate) looks: BackgroundLooks,
}

/// What was seen of the project after the actions.
pub(crate) struct ProjectAfter {
    pub(crate) comparison: TreeComparison,
    pub(crate) tree: TreeIndex,
    pub(crate) surveyed: SurveyedEnvironment,
    /// For each check whose result may be reused, by its name: the digest of the check's inputs.
    pub(crate) inputs: BTreeMap<String, Digest>,
    /// The state of the protected files; `None` if no files are protected.
    pub(crate) protected: Option<ProtectedFilesStatus>,
    /// Whether the checks ran on a snapshot, and if not, the reason.
    pub(crate) snapshot: SnapshotV2,
    /// What the results may depend on beside the tree.
    pub(crate) conditions: RunConditions,
    /// The digest of the variables that checks got; `None` without a key.
    pub(crate) variables: Option<Digest>,
    /// Whether a check left other content in its copy of the tree than the tree has.
    pub(crate) is_tree_rewritten: bool,
    /// What was copied from the snapshot to the project.
    pub(crate) kept: KeptOutcome,
}

/// The environment as the checks found it, and the second look at it in the background, if one is needed.
struct SurveyedOnce {
    once: LookedOnce,
    again: Option<EnvironmentSurvey>,
}

/// The tree after the actions, compared with the tree before them.
struct TreeAfter {
    comparison: TreeComparison,
    tree: TreeIndex,
}

impl BackgroundLooks {
    pub(crate) fn begin(store: &Store, request: &RunRequest<'_>, place: &CheckPlace, index: &TreeIndex) -> Self {
        let protected = begin_protected_scan(store, request.plan, index);
        Self { protected, ignored: IgnoredBefore::look(request, place, index) }
    }
}

/// Looks at the project again, and copies to it what `writes` of the checks names.
pub(crate) fn look_again(
    workspace: &mut Workspace,
    look: SecondLook<'_, '_>,
    ledger: &mut Ledger,
    show: &mut dyn FnMut(Progress),
) -> Result<ProjectAfter, ProjectError> {
    let Workspace { evidence, trees, installed, runner, .. } = workspace;
    let SecondLook { context, place, index, results, stopped, known, toolchains, prepared, looks } = look;
    let request = context.request;
    require_root(&request.scope.root, results)?;
    let SurveyedOnce { once, again } = end_survey(evidence, installed, runner, request, known, index)?;
    if stopped != Some(StopReason::HelperDied) {
        show(Progress::ChecksOver);
    }
    let in_place = names_in_place(results);
    // On a snapshot the checks saw only the tree that was digested, whatever was saved meanwhile. Only
    // prerequisites, and checks whose settings say so, worked in the project itself.
    let prepared = if place.is_snapshot() && in_place.is_empty() { prepared } else { PreparedTree::InUse };
    // Prerequisites may have installed packages that lead to other inputs. Then the run is MOVED, and the next one has these inputs.
    let settings = match request.plan.prerequisites.as_slice() {
        [] => Cow::Borrowed(request.settings),
        _ => Cow::Owned(request.settings.with_inputs_of_now(&InputSearch {
            root: &request.scope.root,
            home: home(&runner.ambient),
            store: evidence.store.root(),
        })),
    };
    let TreeAfter { mut comparison, tree } = tree_after(&evidence.store, trees, (request, &settings), prepared, index)?;
    // Files that `writes` names are copied to the project only after the second reading of the tree, if there is
    // one. Otherwise that reading would take the copied files for saves of a person.
    let mut kept = copy_out(&evidence.store, trees, context, place, stopped, index)?;
    // Changes that somebody made to the task list during the checks belong in this report.
    update_task_list(evidence, ledger, request.scope, request.settings, show)?;
    let protected = match looks.protected {
        Some(scan) => protected_files_status(&evidence.index, request.scope, request.plan, scan)?,
        None => None,
    };
    let LookedTwice { surveyed, inputs, moved } = once.look_again(again, index);
    let left = left_by_checks(context, results, &surveyed, &moved);
    comparison.moved.extend(moved);
    let is_new = |path: &&TreePath| !comparison.moved.contains(path);
    let of_earlier: Vec<TreePath> = left.iter().filter(is_new).cloned().collect();
    comparison.moved.extend(of_earlier);
    kept.notes.extend(note_left(&left));
    for path in context.guarded.changed(&request.scope.root) {
        if !comparison.moved.contains(&path) {
            comparison.moved.push(path);
        }
    }
    let snapshot = place.facts(&in_place);
    let programs = runner.program_search(request.scope, request.settings);
    let other_programs = programs_not_approved(&evidence.index, programs, request)?;
    let toolchains_looked = toolchains.as_ref().map(ToolchainSurvey::begun);
    let toolchains = toolchains.map(ToolchainSurvey::finish).unwrap_or_default();
    let mut conditions = looks.ignored.conditions(request, place, index, toolchains, other_programs);
    let used_git = results.iter().filter_map(ActionResult::executed).any(|executed| executed.ended.used_git);
    if let Some(ignored) = conditions.ignored.as_mut().filter(|_| used_git && conditions.head.is_some()) {
        ignored.others.push(OF_GIT.to_owned());
    }
    let (left_in_environment, rules_changed) = (stamps(&request.scope.root, &left), context.changed_rules.clone());
    let conditions = RunConditions { left_in_environment, toolchains_looked, rules_changed, ..conditions };
    let is_tree_rewritten = place.rewritten().is_some_and(RewrittenFiles::is_any_left);
    let variables = variables_digest(&evidence.store, &request.scope.root, &runner.ambient, &request.settings.environment);
    Ok(ProjectAfter { comparison, tree, surveyed, inputs, protected, snapshot, conditions, variables, is_tree_rewritten, kept })
}

/// Returns the files of installed packages that checks may have changed: those of this run, and those of earlier ones that nobody has
/// written since.
fn left_by_checks(
    context: &RunContext<'_>,
    results: &[ActionResult],
    surveyed: &SurveyedEnvironment,
    moved: &[TreePath],
) -> BTreeSet<TreePath> {
    let mut left = context.left_before.files.clone();
    if may_write_environments(results) {
        left.extend(moved.iter().chain(&surveyed.changed_in_died_run).cloned());
    }
    left
}

/// Returns what the checks of a run that a newer save stopped left in installed packages, with stamps.
pub(crate) fn left_by_stopped_run(
    workspace: &mut Workspace,
    context: &RunContext<'_>,
    results: &[ActionResult],
    known: SurveyProgress,
    index: &TreeIndex,
) -> Result<BTreeMap<String, String>, ProjectError> {
    if !may_write_environments(results) {
        return Ok(BTreeMap::new());
    }
    let Workspace { evidence, installed, runner, .. } = workspace;
    let SurveyedOnce { once, again } = end_survey(evidence, installed, runner, context.request, known, index)?;
    let LookedTwice { surveyed, inputs: _, moved } = once.look_again(again, index);
    Ok(stamps(&context.request.scope.root, &left_by_checks(context, results, &surveyed, &moved)))
}

/// Waits for the survey of the environment, and begins the second one.
fn end_survey(
    evidence: &mut Evidence,
    installed: &mut Installed,
    runner: &Runner,
    request: &RunRequest<'_>,
    known: SurveyProgress,
    index: &TreeIndex,
) -> Result<SurveyedOnce, ProjectError> {
    let once = known.finish(index);
    installed.remember_digests(&mut evidence.index, &request.scope.project, &once.surveyed)?;
    let again = begin_second_survey(installed, &evidence.store, &runner.ambient, request, index, &once);
    Ok(SurveyedOnce { once, again })
}

/// Compares the tree before the actions with the tree that they left. The project is read again only if an action worked in it.
fn tree_after(
    store: &Store,
    trees: &mut Trees,
    (request, settings): (&RunRequest<'_>, &ProjectSettings),
    prepared: PreparedTree,
    before: &TreeIndex,
) -> Result<TreeAfter, ProjectError> {
    // Checks see inputs beside the project where they lie, also when they run on a snapshot.
    let with_inputs = |tree: &TreeIndex| Ok::<_, ProjectError>(tree.with_inputs_of_now(&settings.new_matcher()?, clock::now()));
    let tree = match prepared {
        PreparedTree::AsDigested if settings.matcher.inputs.is_empty() && before.digested_inputs().next().is_none() => {
            let comparison = TreeComparison { after: before.digest(), moved: Vec::new(), files: before.files() };
            return Ok(TreeAfter { comparison, tree: before.clone() });
        }
        PreparedTree::AsDigested => with_inputs(before)?,
        PreparedTree::ReadAgain(after) => with_inputs(&after)?,
        PreparedTree::InUse => trees.known.scan(store, settings, request.scope, &TreeHints::Everything)?,
    };
    Ok(TreeAfter { comparison: compare(before, &tree), tree })
}

/// Returns the names of the checks that ran in the project itself because their own settings say so.
fn names_in_place(performed: &[ActionResult]) -> Vec<&str> {
    let ran = performed.iter().filter(|one| one.action.in_place && one.executed().is_some());
    ran.map(|one| one.action.name.as_str()).collect()
}

// Recognises a run whose project vanished before all of its actions were started.

/// Returns an error if an action was not started and the project's directory is not there any more. The directory's absence is then
/// the reason, and says nothing about the code, so such a run gets no verdict. A run whose actions were all started has seen what it
/// had to see.
fn require_root(root: &Path, performed: &[ActionResult]) -> Result<(), ProjectError> {
    let was_not_started = |one: &ActionResult| one.executed().is_some_and(|one| is_not_started(&one.ended.end));
    if !performed.iter().any(was_not_started) {
        return Ok(());
    }
    let missing = |source| ProjectError::Tree(TreeError::ReadRoot { path: root.to_owned(), source });
    fs::read_dir(root).map(drop).map_err(missing)
}

fn is_not_started(end: &ActionEnd) -> bool {
    matches!(end, ActionEnd::NotStarted(_))
}

// What the results of a run may depend on beside the tree.

/// The ignored files that checks could read in the project itself, before any check ran.
#[derive(Debug)]
pub(crate) enum IgnoredBefore {
    /// No check works in the project, as far as it was known then.
    NotLooked,
    /// With whether there were caches among them; `None` if they could not be listed.
    Listed(Option<(IgnoredFiles, CachesSeen)>),
}

impl IgnoredBefore {
    /// Lists the ignored files if a check works in the project itself.
    pub(crate) fn look(request: &RunRequest<'_>, place: &CheckPlace, index: &TreeIndex) -> Self {
        if request.is_typed() {
            // A typed command proves nothing of the task's checks.
            return Self::Listed(None);
        }
        let is_any_in_place = !place.is_snapshot() || request.plan.steps.iter().any(|step| step.in_place);
        if is_any_in_place { Self::Listed(in_project(request, index)) } else { Self::NotLooked }
    }

    /// Returns what the results of the run may depend on beside the tree.
    pub(crate) fn conditions(
        self,
        request: &RunRequest<'_>,
        place: &CheckPlace,
        index: &TreeIndex,
        toolchains: Vec<ToolchainRecord>,
        other_programs: Vec<String>,
    ) -> RunConditions {
        let (ignored, caches) = match (self, place.seen_beside_the_tree()) {
            (Self::NotLooked, Some((ignored, caches))) => (Some(ignored), Some(caches)),
            // The snapshot was given up during the run. What was there before the run is not known.
            (Self::NotLooked, None) => (in_project(request, index).map(|(ignored, _)| ignored), None),
            (Self::Listed(None), _) => (None, None),
            (Self::Listed(Some((ignored, in_project))), place) => {
                let caches = match place {
                    Some((_, CachesSeen::Kept)) => CachesSeen::Kept,
                    Some((_, CachesSeen::Fresh)) | None => in_project,
                };
                (Some(ignored), Some(caches))
            }
        };
        let ignored = ignored.map(|ignored| with_those_of_inputs(ignored, request, index));
        let platform = RunConditions::platform_here();
        let directory = directory_in_repository(&request.scope.root);
        let (rewritten, restored) = place.rewritten().map(|files| (files.rewritten(), files.restored())).unwrap_or_default();
        RunConditions {
            platform,
            directory,
            ignored,
            caches,
            rewritten,
            restored,
            unnamed: Vec::new(),
            left_in_environment: BTreeMap::new(),
            toolchains,
            inputs: Some(index.digested_inputs().map(|(name, _, _)| name.to_owned()).collect()),
            toolchains_looked: None,
            other_programs,
            rules_changed: None,
            tests_not_run: request.plan.tests_not_run.clone(),
            head: checked_out_commit(&request.scope.root),
            fewer_tests: None,
        }
    }
}

/// Adds what rules ignore in the inputs beside the project: checks can read it, and no digest names it.
fn with_those_of_inputs(mut ignored: IgnoredFiles, request: &RunRequest<'_>, index: &TreeIndex) -> IgnoredFiles {
    let own_link = request.settings.matcher.own_link.as_ref();
    for (name, input) in index.input_directories() {
        match ignored_in_project(input, &ShownOutputs::default(), None, own_link) {
            Some((found, _)) => {
                let paths = found.paths.iter().chain(&found.others);
                ignored.others.extend(paths.map(|path| format!("{name}/{path}")));
            }
            None => ignored.others.push(format!("{name}/")),
        }
    }
    ignored
}

fn in_project(request: &RunRequest<'_>, index: &TreeIndex) -> Option<(IgnoredFiles, CachesSeen)> {
    let settings = request.settings;
    let own_link = settings.matcher.own_link.as_ref();
    ignored_in_project(index, &outputs_of_plan(request.plan), settings.task_list.as_deref(), own_link)
}
