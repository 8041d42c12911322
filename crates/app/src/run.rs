//! Running a task's checks: by the service that watches the project, by the run of another process that is under way, or in this process.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Duration;

use crate::client::ClientError;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::inputs;
use crate::project::opening::{self, RunResources};
use crate::project::setup::{self, LoadedProject};
use crate::project::specification_files::WrongSpecification;
use crate::refusals::{not_approved_error, waits_for_a_person, waits_for_tasks, without_report};
use crate::serving::{self, ServedProject};
use proctor_api::{ErrorKindV1, MethodV1, RunAnswerV1, RunOutcomeV1, RunRequestV1, VariableV1};
use proctor_evidence::report::{EXECUTION_REPORT_FILE, ExecutionReportV2};
use proctor_model::{
    Action, AfterMovedRun, CachesMode, CommandExit, Digest, Phase, PlanNote, PlanOrigin, ProjectId, Repetitions, TaskId,
    TreePath, Trigger, TriggerKind,
};
use proctor_plan::config::Configuration;
use proctor_plan::spec;
use proctor_project::{
    DescribedProject, Progress, ProjectSettings, RecordedRun, RunOutcome, RunRequest, SealedReport, Selection, StoreReader,
    Workspace, decides_the_verdict, is_input_note,
};
use proctor_run::RefusedRequest;
use proctor_sandbox::process::Control;
use proctor_sandbox::{EnvironmentAdditions, passed_on};

/// The longest wait for a run in the service. The time limits of the checks end any run long before.
pub const LONGEST_RUN: Duration = Duration::from_secs(24 * 3600);
/// To find the previous run of the same task, at most this many of the project's newest runs are looked through.
const EARLIER_RUNS: u32 = 20;
/// How long the Python modules that the checks used may be compiled for later runs, while the verdict is on the screen.
const COMPILING: Duration = Duration::from_millis(300);
/// At most this many paths that changed during a run are named.
const SHOWN_PATHS: usize = 5;

/// Which checks of a task run, and how.
#[derive(Debug, Clone, Default)]
pub struct RunWish {
    /// The names of the checks, or the ids of a specification's steps; empty means all.
    pub checks: Vec<String>,
    /// The phase of the TDD cycle in which the run is made; `None` if the cycle says it.
    pub phase: Option<Phase>,
    /// Whether the tools' caches of earlier runs are left out.
    pub fresh_caches: bool,
    /// Whether the checks run too that wait for somebody to ask for them.
    pub every: bool,
}

/// A run in this process, or that of another one.
#[derive(Debug)]
pub enum MadeRun {
    /// The run of another process that has just tested the same files.
    Shared(RunAnswerV1),
    Own(RunOutcome),
}

/// A sealed run that another process made, read for whoever asked for it.
#[derive(Debug)]
pub struct ReadRun {
    pub exit: CommandExit,
    /// The report, as it is stored.
    pub bytes: Vec<u8>,
    pub report: ExecutionReportV2,
    /// Where the report is.
    pub report_path: PathBuf,
    pub task: TaskId,
    /// The notes about the discovery of the checks that the previous run of the same task already had.
    pub told: Vec<PlanNote>,
}

/// A run that the service that watches the project can make.
#[derive(Debug)]
pub struct ServiceRun {
    pub served: ServedProject,
    pub settings: ProjectSettings,
    request: RunRequestV1,
}

impl ServiceRun {
    /// Returns the run if the service can make it as this process would; `None` if this process must make it: the service does not watch
    /// the project, or its run could differ. `says_identity` tells whether somebody has said which project this is.
    ///
    /// # Errors
    /// When the project's settings are wrong.
    pub fn find(
        environment: &Environment,
        wish: &RunWish,
        says_identity: bool,
        loaded: &LoadedProject,
    ) -> Result<Option<Self>, CommandError> {
        // The service cannot take values of placeholders, a phase, an answer about the project's identity or `--fresh-caches` from the
        // command line. `PROCTOR_OUT` means that a check started this command. The check occupies a place in the queue until this
        // command ends, so a run in the service could wait for that place for ever.
        let is_own = !environment.values().is_empty() || wish.phase.is_some() || says_identity || wish.fresh_caches || wish.every;
        if is_own || environment.has("PROCTOR_OUT") {
            return Ok(None);
        }
        let Some(served) = serving::serving(environment, &loaded.root) else { return Ok(None) };
        let settings = opening::settings(environment, loaded)?;
        let request = RunRequestV1 {
            task: Some(loaded.plan.task.clone()),
            // The service knows only names.
            checks: wish.checks.iter().filter_map(|name| name_of(loaded, name)).collect(),
            environment: Some(variables(environment.variables(), &settings.environment)),
        };
        Ok(Some(Self { served, settings, request }))
    }

    /// Lets the service make the run; `None` if this process must make it.
    ///
    /// # Errors
    /// When the service refuses the run.
    pub fn make(&self, environment: &Environment) -> Result<Option<RunAnswerV1>, CommandError> {
        let path = format!("/v1/projects/{}/runs", self.served.project.id);
        match self.served.client.send::<RunAnswerV1>(MethodV1::Post, &path, &self.request, LONGEST_RUN) {
            Ok(answer) => Ok(Some(answer)),
            Err(ClientError::Refused(error)) if error.kind == ErrorKindV1::EnvironmentDiffers => {
                environment.note(&format!("note: {}; running here instead", error.message));
                Ok(None)
            }
            Err(error @ ClientError::Refused(_)) => Err(serving::from_client_error(&error)),
            Err(error) => {
                serving::say_unusable(environment, &error);
                Ok(None)
            }
        }
    }
}

/// Makes a run in this process, or takes over the result of another process that is making the same.
///
/// # Errors
/// When the run cannot be made.
pub fn run_or_share(
    environment: &Environment,
    wish: &RunWish,
    loaded: &LoadedProject,
    (opened, control): (&mut RunResources, &Control),
    show: &mut dyn FnMut(Progress),
) -> Result<MadeRun, CommandError> {
    if wish.fresh_caches {
        opened.settings.sandbox.caches = CachesMode::Fresh;
    }
    match share(environment, wish, loaded, (opened, control), show)? {
        Some(answer) => Ok(MadeRun::Shared(answer)),
        None => run(environment, wish, loaded, (opened, control), show).map(MadeRun::Own),
    }
}

/// Makes a run in this process. A run during which the tree changed is repeated once.
///
/// # Errors
/// When the run cannot be made.
pub fn run(
    environment: &Environment,
    wish: &RunWish,
    loaded: &LoadedProject,
    (opened, control): (&mut RunResources, &Control),
    show: &mut dyn FnMut(Progress),
) -> Result<RunOutcome, CommandError> {
    let RunResources { workspace, scope, settings } = opened;
    let mut trigger = Trigger { kind: TriggerKind::Request, paths: Vec::new() };
    // A run during which the tree changed has no verdict. It is repeated once (S6), but not if a file changed that decides
    // how the project is judged: the repeated run would still follow what the file said before.
    let mut repetitions = Repetitions::at_most(Repetitions::OF_A_COMMAND);
    loop {
        let request = RunRequest {
            checks: selection(loaded, wish),
            phase: wish.phase,
            trigger,
            ..RunRequest::new(&loaded.plan, settings, scope, TriggerKind::Request, control)
        };
        let carried = proctor_run::run_plan(workspace, &request, &mut *show)?;
        let RunOutcome::Moved(sealed) = &carried else { return Ok(carried) };
        if sealed.moved.iter().any(|path| decides_the_verdict(path.as_bytes(), settings.allowed_signers.as_deref())) {
            return Ok(carried);
        }
        let AfterMovedRun::Repeat { .. } = follow_moved_run(&mut repetitions, sealed) else { return Ok(carried) };
        let paths = moved_paths(&sealed.report);
        environment.note(&format!("{} changed while the checks ran: they are run once more", paths.join(", ")));
        trigger = Trigger { kind: TriggerKind::Moved, paths };
        // Prerequisites may have installed packages that lead to other inputs.
        *settings = settings.with_inputs_of_now(&inputs::search(environment, &scope.root));
    }
}

/// Returns the report of a run that was sealed; `None` if nothing was judged.
///
/// # Errors
/// When the run was refused: it waits for a person, for other tasks, or for an approval.
pub fn sealed_of(
    environment: &Environment,
    task: &TaskId,
    outcome: RunOutcome,
) -> Result<Option<Box<SealedReport>>, CommandError> {
    match outcome {
        RunOutcome::Judged(sealed)
        | RunOutcome::Moved(sealed)
        | RunOutcome::Interrupted(sealed)
        | RunOutcome::HelperDied(sealed) => Ok(Some(sealed)),
        RunOutcome::Paused(pause) => Err(waits_for_a_person(task, &pause)),
        RunOutcome::Waits(unmet) => Err(waits_for_tasks(task, &unmet)),
        RunOutcome::NotApproved(unapproved) => Err(not_approved_error(environment, &unapproved)),
        RunOutcome::Superseded | RunOutcome::Withdrawn | RunOutcome::Unchanged | RunOutcome::Untriggered => Ok(None),
    }
}

/// Does what is left to do after the only run of a command, while its verdict is on the screen.
pub fn finish(workspace: &mut Workspace, control: &Control) {
    workspace.save_trees();
    workspace.keep_to_limits();
    proctor_run::compile_modules(workspace, COMPILING, control);
}

fn follow_moved_run(repetitions: &mut Repetitions, sealed: &SealedReport) -> AfterMovedRun {
    let moved: BTreeSet<TreePath> = sealed.moved.iter().cloned().collect();
    let after = repetitions.follow_moved_run(&moved, sealed.on_disk);
    repetitions.begin(moved);
    after
}

/// Returns the paths that changed during a run, at most five of them.
pub fn moved_paths(report: &ExecutionReportV2) -> Vec<String> {
    let moved = report.tree.as_ref().map(|tree| tree.moved.as_slice()).unwrap_or_default();
    moved.iter().take(SHOWN_PATHS).cloned().collect()
}

/// If another process is running the task, waits for it and returns its result, as far as that is the result this run would have.
/// Returns `None` if the checks are to be run here.
fn share(
    environment: &Environment,
    wish: &RunWish,
    loaded: &LoadedProject,
    (opened, control): (&mut RunResources, &Control),
    show: &mut dyn FnMut(Progress),
) -> Result<Option<RunAnswerV1>, CommandError> {
    // A run of some checks, in a TDD phase, or with empty caches is another run. `PROCTOR_OUT` means that a check started this command:
    // the run under way may be the one that waits for it.
    let is_another = !wish.checks.is_empty() || wish.phase.is_some() || wish.fresh_caches || wish.every;
    if is_another || !environment.values().is_empty() || environment.has("PROCTOR_OUT") {
        return Ok(None);
    }
    let RunResources { workspace, scope, settings } = opened;
    let task = &loaded.plan.task;
    let described = DescribedProject { plan: &loaded.plan, settings, configuration: &loaded.configuration };
    let own = variables(environment.variables(), &settings.environment);
    let has_same_variables =
        |process| variables_of(process).is_some_and(|theirs| variables(&theirs, &settings.environment) == own);
    let shared = workspace.wait_for_shared_run((scope, described, task), control, &has_same_variables, show);
    let Some(shared) = shared? else { return Ok(None) };
    Ok(Some(RunAnswerV1 {
        project: scope.project.clone(),
        task: task.clone(),
        outcome: RunOutcomeV1::Judged,
        run_id: Some(shared.run_id),
        exit_code: shared.exit.code(),
        problems: Vec::new(),
    }))
}

/// Returns the variables that checks would get in this environment of a process, as digests without values.
///
/// Secrets that fill placeholders are among them: the service fills its own.
fn variables(environment: &BTreeMap<OsString, OsString>, settings: &EnvironmentAdditions) -> Vec<VariableV1> {
    let digest = |value: &OsStr| Digest::of(value.as_bytes());
    let listed = passed_on(environment).into_iter();
    let listed =
        listed.map(|(name, value)| VariableV1 { name: name.to_string_lossy().into_owned(), digest: Some(digest(value)) });
    let by_settings = settings
        .pass
        .iter()
        .chain(&settings.secrets)
        .map(|name| VariableV1 { name: name.clone(), digest: environment.get(OsStr::new(name)).map(|value| digest(value)) });
    let mut variables: Vec<VariableV1> = listed.chain(by_settings).collect();
    variables.sort();
    variables.dedup();
    variables
}

/// Returns the variables with which a process was started; `None` if they cannot be read.
fn variables_of(process: u32) -> Option<BTreeMap<OsString, OsString>> {
    let bytes = fs::read(format!("/proc/{process}/environ")).ok()?;
    let variable = |entry: &[u8]| {
        let at = entry.iter().skip(1).position(|byte| *byte == b'=')? + 1;
        Some((OsStr::from_bytes(&entry[..at]).to_owned(), OsStr::from_bytes(&entry[at + 1..]).to_owned()))
    };
    Some(bytes.split(|byte| *byte == 0).filter_map(variable).collect())
}

/// Reads a run that the service or another command has made.
///
/// # Errors
/// When there is no report, or it cannot be read.
pub fn read_made_run(environment: &Environment, loaded: &LoadedProject, answer: &RunAnswerV1) -> Result<ReadRun, CommandError> {
    let project = &answer.project;
    let exit = CommandExit::from_code(answer.exit_code);
    let Some(run_id) = &answer.run_id else { return Err(without_report(answer, exit)) };
    let mut archive = opening::open_archive(environment)?;
    archive.find_project(&loaded.root)?;
    let run = archive.find(project, Some(run_id.as_str()))?;
    let run = run.ok_or_else(|| without_report(answer, CommandExit::OwnFault))?;
    let (bytes, report) = archive.report(project, &run)?;
    let report_path = archive.place(project, &run).join(EXECUTION_REPORT_FILE);
    let told = told_notes(&archive, loaded, project, (&run, &report.notes));
    Ok(ReadRun { exit, bytes, report, report_path, task: run.run.task, told })
}

/// Returns those notes about the discovery of the checks and about inputs that the previous run of the same task already had.
fn told_notes(
    archive: &StoreReader,
    loaded: &LoadedProject,
    project: &ProjectId,
    (run, notes): (&RecordedRun, &[PlanNote]),
) -> Vec<PlanNote> {
    let is_discovered = loaded.plan.origin == PlanOrigin::Discovered;
    let tellable = |note: &&PlanNote| (is_discovered && loaded.plan.notes.contains(note)) || is_input_note(note);
    let tellable: Vec<&PlanNote> = notes.iter().filter(tellable).collect();
    if tellable.is_empty() {
        return Vec::new();
    }
    let is_before = |one: &RecordedRun| one.task == run.task && one.run_id.number() < run.run_id.number();
    let before = archive.runs(project, EARLIER_RUNS).ok().and_then(|runs| runs.into_iter().find(is_before));
    let before = before.and_then(|before| archive.report(project, &before).ok()).map(|(_, report)| report.notes);
    let before = before.unwrap_or_default();
    tellable.into_iter().filter(|note| before.contains(note)).cloned().collect()
}

/// Returns the project of a task whose specification has errors, with a plan that has no checks.
pub fn without_checks(wrong: &WrongSpecification) -> LoadedProject {
    let (root, configuration) = (wrong.root.clone(), wrong.configuration.clone());
    let plan = spec::plan_without_checks(&configuration, &setup::directory_name(&root));
    LoadedProject { root, configuration, plan }
}

/// Seals the refusal of a task's run. Returns `None` if the task's specification has no errors any more.
///
/// # Errors
/// When the refusal cannot be sealed.
pub fn seal_refusal(
    opened: &mut RunResources,
    (task, configuration): (&TaskId, &Configuration),
    show: &mut dyn FnMut(Progress),
) -> Result<Option<SealedReport>, CommandError> {
    let RunResources { workspace, scope, settings } = opened;
    let trigger = Trigger { kind: TriggerKind::Request, paths: Vec::new() };
    let refusal = RefusedRequest { task, scope, settings, configuration, trigger };
    proctor_run::refuse(workspace, &refusal, show).map_err(CommandError::from)
}

/// Refuses the name of a check that the plan does not have.
///
/// # Errors
/// When there is no such check.
pub fn check_names(loaded: &LoadedProject, checks: &[String]) -> Result<(), CommandError> {
    let known: Vec<_> = loaded.plan.steps.iter().map(|step| step.name.as_str()).collect();
    match checks.iter().find(|check| name_of(loaded, check).is_none()) {
        Some(unknown) => Err(CommandError::new(CommandExit::Usage, format!("there is no check `{unknown}`"))
            .hint(format!("the checks are: {}", known.join(", ")))),
        None => Ok(()),
    }
}

fn selection(loaded: &LoadedProject, wish: &RunWish) -> Selection {
    if wish.checks.is_empty() {
        return if wish.every { Selection::Every } else { Selection::All };
    }
    Selection::Named(wish.checks.iter().filter_map(|name| name_of(loaded, name)).collect())
}

/// Returns the name of a check. Steps of a specification may also be called by their ids, since their names are whole sentences.
fn name_of(loaded: &LoadedProject, called: &str) -> Option<String> {
    let by_id = loaded.plan.origin == PlanOrigin::Specification;
    let is_meant = |step: &&Action| step.name == called || (by_id && step.id.as_str() == called);
    loaded.plan.steps.iter().find(is_meant).map(|step| step.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test compares with this process's own environment")]
    fn the_variables_of_a_process_are_those_it_was_started_with() {
        let own = variables_of(std::process::id()).expect("this process");
        assert_eq!(own.get(OsStr::new("PATH")), std::env::var_os("PATH").as_ref());
        assert!(variables_of(u32::MAX).is_none(), "no such process");
    }
}
