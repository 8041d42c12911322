//! Carries out one action: prepare → supervise → take the report → interpret → classify → write the record.
//!
//! Special cases have their own files: `services` for actions that keep running, `reusing` for reused results,
//! `file_or_request` for actions without a process. `process` takes one process from preparation to judgement,
//! `background_action` runs one in parallel with others, and `attempts` repeats an action.

mod attempts;
mod background_action;
mod control;
mod dropping;
mod early_start;
mod elsewhere;
mod file_or_request;
mod joined_shards;
mod judging;
mod keeping;
mod listing;
mod process;
mod reports;
mod reusing;
mod reviewing;
mod running_service;
mod server;
mod services;
mod shards;
mod turns;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bytecode::{PythonAction, bytecode_for};
use crate::bytecode_in_place::BytecodeInPlace;
use crate::check_place::{CheckPlace, refresh_place};
use crate::dropped_writes::InPlaceLayers;
use crate::flow::{RunClock, skip_reason, stop_reasons_for};
use crate::hidden_inputs::{hidden_caches, hidden_input_notes};
use crate::missing_directories::missing_directories;
use crate::perform::shards::{processors, with_note_of_undivided};
use crate::queue::{AwaitedTurn, QueueTurn};
use crate::run_context::{RunContext, RunNetworks};
use crate::surroundings::ActionSurroundings;
use crate::test_history::test_history;
use proctor_evidence::report::{ActionDisposition, ActionFiles, ActionResult, SkipReason, action_result};
use proctor_evidence::{OutputDirectory, ProjectLock, RunDirectory, is_our_link};
use proctor_model::{
    Action, ActionEnd, ActionJudgement, ActionLimits, ActionPhase, CachesMode, CapturedOutput, DurationMs, EndedAction,
    HelperDeath, Interpretation, IsolationLevel, Phase, PlanNote, Sandbox, SpawnFailure, StopReason, TreePath,
};
use proctor_plan::verdict;
use proctor_project::{
    EarlierLook, EnvironmentSurvey, Evidence, Installed, Progress, ProjectError, QueueLimits, Runner, SeenByChecks, SurveyExtent,
    SurveyScope, ToolchainDepth, ToolchainSurvey, Trees, Workspace,
};
use proctor_sandbox::process::{LaunchRequest, clock};
use proctor_sandbox::snapshot::InPlaceReason;
use proctor_sandbox::{
    ChildEnvironment, FailedAction, KnownReferences, Secrets, SystemPlaces, is_python_source, isolation, selects_toolchain,
};
use proctor_tools as tools;
use proctor_tree::{NameSearch, NameTopic, TreeIndex};

pub(crate) use self::attempts::Attempts;
pub(crate) use self::background_action::{BackgroundAction, BackgroundActionEnd, BackgroundActionOrder, EndReceiver};
pub(crate) use self::control::may_replace_session;
pub(crate) use self::listing::configured_files;
pub(crate) use self::process::PreparedAttempt;
pub use self::reports::{names_in, read_source, take_report_below};
pub(crate) use self::running_service::RunningService;
pub use self::server::ask_server;
pub(crate) use self::services::ServiceStart;

/// Why an action that no launcher could start has no result.
const LAUNCHER_GONE: &str = "the launcher (the process of proctor that starts commands) was gone before it started the command";

/// The most directories of which a snapshot is made up. The options of one mount have room for about 200.
const MOST_LAYERS: usize = 150;

/// The time limit of an action. `of_the_run` is the run's own limit, if less of it is left than the action's limit
/// allows.
#[derive(Debug, Clone, Copy)]
struct TimeBudget {
    timeout: Duration,
    of_the_run: Option<Duration>,
}

/// An attempt of an action, as it is recorded.
struct JudgedAttempt<'a> {
    action: &'a Action,
    ended: &'a EndedAction,
    interpretation: &'a Interpretation,
    judgement: &'a ActionJudgement,
    environment: &'a ChildEnvironment,
    program: Option<&'a Path>,
    names: &'a ActionFiles,
    /// The number of the attempt, counted from 1.
    number: u32,
}

/// Where the output of an action goes: its files in the run's directory, and the directory that the action itself writes to.
#[derive(Clone, Copy)]
struct OutputPlaces<'a> {
    names: &'a ActionFiles,
    output: &'a OutputDirectory,
    /// Whether the process is an attempt of the action, and not one that finds out something about it before.
    is_attempt: bool,
}

/// Returns the end of an action that could not be started, such as one without a program.
pub(crate) fn ended_not_started(failure: SpawnFailure) -> EndedAction {
    ended_without_process(ActionEnd::NotStarted(failure))
}

/// Returns the end of an action whose launcher (the process that starts actions) was gone before anything was started, and whose
/// next launcher too.
pub(crate) fn ended_without_launcher() -> EndedAction {
    ended_without_process(ActionEnd::Lost { why: LAUNCHER_GONE.to_owned() })
}

/// Returns the end of an action that started no process. It has no output and leaves no process behind.
fn ended_without_process(end: ActionEnd) -> EndedAction {
    let (now, captured) = (clock::now(), CapturedOutput::nothing());
    EndedAction {
        end,
        started: now,
        ended: now,
        duration: DurationMs(0),
        captured,
        survivors: Vec::new(),
        usage: None,
        kept: None,
        used_git: false,
    }
}

/// Carries out the actions of one run, while the run holds the project's lock.
pub(crate) struct Performer<'w, 'c> {
    evidence: &'w mut Evidence,
    trees: &'w mut Trees,
    installed: &'w mut Installed,
    runner: &'w mut Runner,
    lock: &'w ProjectLock,
    context: &'c RunContext<'c>,
    pub(crate) place: &'w mut CheckPlace,
    directory: &'w mut RunDirectory,
    show: &'w mut dyn FnMut(Progress),
    queue: QueueLimits,
    clock: RunClock,
    /// The output directory of a finished action. The next action may use the same directory if proctor reads no report
    /// from it.
    spare_output: Option<OutputDirectory>,
    /// The first death of a helper process while an action of the run went on.
    helper_death: Option<HelperDeath>,
    bytecode: BytecodeInPlace,
    networks: RunNetworks,
    in_place: InPlaceLayers,
    /// The tree before the run.
    index: &'c TreeIndex,
    /// The names of the tree's files that select toolchains.
    manifests: BTreeSet<String>,
    system: SystemPlaces,
    /// The references of git that were looked at for the run's actions.
    pub(crate) references: KnownReferences,
    /// The look at what the checks see outside of the tree. It begins before the first check.
    pub(crate) toolchains: Option<ToolchainSurvey>,
}

impl<'w, 'c> Performer<'w, 'c> {
    pub(crate) fn new(
        workspace: &'w mut Workspace,
        lock: &'w ProjectLock,
        context: &'c RunContext<'c>,
        place: &'w mut CheckPlace,
        index: &'c TreeIndex,
        directory: &'w mut RunDirectory,
        show: &'w mut dyn FnMut(Progress),
    ) -> Self {
        let queue = context.request.settings.queue;
        let clock = RunClock::new(context.request.plan, clock::monotonic());
        let bytecode = BytecodeInPlace::default();
        let Workspace { evidence, trees, installed, runner, .. } = workspace;
        let (spare_output, helper_death, in_place) = (None, None, InPlaceLayers::default());
        Self {
            evidence,
            trees,
            installed,
            runner,
            lock,
            context,
            place,
            directory,
            show,
            queue,
            clock,
            spare_output,
            helper_death,
            bytecode,
            networks: RunNetworks::default(),
            in_place,
            index,
            manifests: manifests(index),
            system: SystemPlaces::look(),
            references: KnownReferences::default(),
            toolchains: None,
        }
    }

    /// Returns whether the run's own time limit has passed.
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.clock.is_over(clock::monotonic())
    }

    /// Returns the time limit of an action as of now. Cleanup has its full time even if the run's limit has passed.
    fn time_budget(&self, action: &Action) -> TimeBudget {
        let left = self.clock.left(clock::monotonic()).filter(|_| action.phase != ActionPhase::Cleanup);
        match left.filter(|(left, _)| *left < action.timeout) {
            Some((left, timeout)) => TimeBudget { timeout: left, of_the_run: Some(timeout) },
            None => TimeBudget { timeout: action.timeout, of_the_run: None },
        }
    }

    /// Returns the stop request that applies to an action, if there is one.
    fn requested_stop(&self, action: &Action) -> Option<StopReason> {
        self.context.request.control.requested().filter(|reason| stop_reasons_for(action.phase).contains(reason))
    }

    /// Updates the snapshot to what prerequisites left in the project. Returns the tree that they left, if the checks run on a
    /// snapshot.
    pub(crate) fn refresh_place(&mut self) -> Result<Option<TreeIndex>, ProjectError> {
        refresh_place(&self.evidence.store, self.trees, self.runner, self.context.request, self.place)
    }

    /// Makes an action work on the snapshot, if there is one for it.
    fn put_on_snapshot(&mut self, action: &Action, request: &mut LaunchRequest) -> Result<(), ProjectError> {
        if let Some(snapshot) = self.place.snapshot_to_change(action) {
            let scope = self.context.request.scope;
            let started = PythonAction { project: &scope.project, root: &scope.root, action: &action.id, child: &request.child };
            let (run, base) = snapshot.bytecode();
            let bytecode = match self.context.request.settings.sandbox.caches {
                CachesMode::Kept => bytecode_for(&self.evidence.store, &mut self.runner.bytecode, run, base, &started),
                CachesMode::Fresh => Vec::new(),
            };
            let mount = snapshot.add_mount(Some(action), bytecode)?;
            if mount.lower.len() > MOST_LAYERS {
                return Err(ProjectError::not_copied(&InPlaceReason::TooManyLayers { bound: MOST_LAYERS }));
            }
            request.child.isolation.snapshot = Some(mount);
            // At a weaker level the action would see the project instead.
            request.child.isolation.weakest = IsolationLevel::Namespace;
        }
        self.drop_writes(action, request)
    }

    /// Begins to look for tools and installed packages in the background.
    pub(crate) fn survey(&self, index: &TreeIndex) -> EnvironmentSurvey {
        let request = self.context.request;
        // With fresh caches, a verdict must not depend on anything from before the run, so every file is read. In
        // place, checks write to the environments themselves, so only the deciding files are read.
        let extent = match request.settings.sandbox.caches {
            CachesMode::Fresh if self.place.is_snapshot() => SurveyExtent::EveryFile,
            CachesMode::Fresh | CachesMode::Kept => SurveyExtent::DecidingFiles,
        };
        let earlier = if self.context.left_before.last_run_died { EarlierLook::Compare } else { EarlierLook::Replace };
        let (project, scope) = (&request.scope.project, SurveyScope { extent, earlier });
        self.installed.begin_environment_survey(&self.evidence.store, project, self.seen_by_checks(index), scope)
    }

    /// Begins to look at the toolchains and packages outside of the tree that the checks see.
    pub(crate) fn survey_toolchains(&mut self, index: &TreeIndex) {
        let depth = match self.context.request.settings.sandbox.caches {
            CachesMode::Fresh => ToolchainDepth::EveryFile,
            CachesMode::Kept => ToolchainDepth::Usual,
        };
        let seen = self.seen_by_checks(index);
        self.toolchains = Some(self.installed.begin_toolchain_survey(&self.evidence.store, seen, depth));
    }

    fn seen_by_checks(&self, index: &TreeIndex) -> SeenByChecks {
        SeenByChecks::new(&self.runner.ambient, self.context.request, index, self.place.shown_environments())
    }

    /// Skips an action and reports it to the screen.
    pub(crate) fn skip(&mut self, action: &Action, reason: SkipReason) -> ActionResult {
        let skipped = skipped(action, reason);
        self.tell(&skipped);
        skipped
    }

    /// Waits for a turn in the queue, then carries out one attempt. A stop request during the wait skips the action.
    /// The result is not yet reported to the screen.
    fn perform_once(&mut self, action: &Action, attempts: &mut Attempts) -> Result<ActionResult, ProjectError> {
        if !action.kind.starts_a_process() {
            return self.perform_file_or_request(action, attempts);
        }
        let AwaitedTurn { turn, waited } = self.next_turn(action)?;
        let performed = match turn {
            QueueTurn::Given(slot) => match self.shards_of(action) {
                Some(count) => self.run_shards(slot, action, count, attempts)?,
                None => with_note_of_undivided(self.run_attempt(slot, action, attempts)?, processors()),
            },
            QueueTurn::Stopped => skipped(action, skip_reason(self.context.request.control)),
        };
        Ok(ActionResult { waited, ..performed })
    }

    fn tell(&mut self, result: &ActionResult) {
        (self.show)(Progress::ActionEnded(Box::new(action_result(result))));
    }

    /// Returns the path of the project's link to its evidence, if the link exists. An ordinary directory at this path
    /// is not ours and may contain tests.
    fn evidence_link(&self) -> Option<PathBuf> {
        let request = self.context.request;
        let target = self.evidence.store.project_directory(&request.scope.project);
        let link = request.settings.link.as_ref().map(|link| request.scope.root.join(link));
        link.filter(|link| is_our_link(link, &target))
    }

    fn working_directory(&self, action: &Action) -> PathBuf {
        self.context.request.scope.root.join(&action.directory)
    }

    fn surroundings(&self) -> ActionSurroundings<'_> {
        let (request, store) = (self.context.request, &self.evidence.store);
        let (manifests, networks, system) = (&self.manifests, &self.networks, &self.system);
        ActionSurroundings { runner: self.runner, store, request, manifests, networks, system, references: &self.references }
    }

    fn environment(&self, action: &Action, output: &Path) -> ChildEnvironment {
        let is_on_snapshot = self.place.snapshot_for(action).is_some();
        let mut environment = self.surroundings().environment(action, output, is_on_snapshot);
        if !is_on_snapshot {
            self.bytecode.keep_apart(&mut environment, action, &self.context.request.scope.root, output);
        }
        environment
    }

    /// Returns the secrets that fill placeholders of the plan.
    fn secrets(&self) -> Secrets {
        Secrets::read(&self.runner.ambient, &self.context.request.settings.environment.secrets)
    }

    fn hints(
        &self,
        action: &Action,
        ended: &EndedAction,
        environment: &ChildEnvironment,
        sandbox: Option<&Sandbox>,
        on_snapshot: bool,
    ) -> Vec<PlanNote> {
        let request = self.context.request;
        let failed = FailedAction {
            action,
            ended,
            environment,
            sandbox,
            on_snapshot,
            project_root: &request.scope.root,
            home: isolation::home(&self.runner.ambient),
            settings: &request.settings.sandbox,
        };
        let mut hints = failed.hints();
        let surroundings = (request, &self.runner.ambient, self.evidence.store.root());
        let hidden = hidden_input_notes(surroundings, action, ended, sandbox, &hints);
        hints.extend(hidden);
        if let Some(snapshot) = self.place.snapshot_for(action) {
            hints.extend(hidden_caches(action, ended, &snapshot.caches_of_others(&action.id)));
            let places = (request.scope.root.as_path(), self.working_directory(action));
            let is_missed = |path: &TreePath| snapshot.lacks_directory(&action.id, path, sandbox);
            hints.extend(missing_directories(action, ended, places.0, &places.1, is_missed));
        }
        hints
    }

    fn classify(
        &self,
        action: &Action,
        ended: &EndedAction,
        interpretation: &Interpretation,
        time_budget: TimeBudget,
    ) -> ActionJudgement {
        let expected_failure = self.context.expected_failure();
        let is_red = self.context.is_step_of_cycle() && self.context.phase() == Phase::Red;
        let asked = (expected_failure, is_red);
        let history = test_history(&self.evidence.store, self.context.request, asked, action, ended, interpretation);
        verdict::classify(&verdict::ActionFacts {
            action,
            end: &ended.end,
            duration: ended.duration,
            interpretation,
            phase: self.context.phase(),
            cycle_started: self.context.is_step_of_cycle(),
            run_timeout: time_budget.of_the_run,
            expected_failure,
            history: &history,
        })
    }
}

/// Returns the names of a tree's files that select toolchains.
pub fn manifests(index: &TreeIndex) -> BTreeSet<String> {
    let named = index.named(NameSearch { topic: NameTopic::Toolchains, is_wanted: selects_toolchain });
    let names = named.into_iter().filter_map(|(path, _)| Some(path.as_path().file_name()?.to_string_lossy().into_owned()));
    let has_python = index.holds(NameSearch { topic: NameTopic::PythonSources, is_wanted: is_python_source });
    names.chain(has_python.then(|| ".py".to_owned())).collect()
}

/// Returns the limits of an action's process.
pub fn limits_of(action: &Action, timeout: Duration) -> ActionLimits {
    ActionLimits {
        // `await_ready` limits the start of a service. After its start, a service runs as long as the checks, which
        // have limits of their own.
        timeout: if action.service.is_some() { Duration::MAX } else { timeout },
        idle: action.idle_timeout,
        output: action.max_output.map(|size| size.0),
        grace: action.grace,
        ladder: tools::stop_ladder(action.tool),
    }
}

/// Returns the result of an action that this run does not start.
pub(crate) fn skipped(action: &Action, reason: SkipReason) -> ActionResult {
    ActionResult::new(action.clone(), ActionDisposition::Skipped(reason))
}
