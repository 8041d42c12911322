//! Runs plans that cannot be written in `proctor.toml`, through the library and in the same way as the program does.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use proctor_evidence::report::to_bytes;
use proctor_model::{
    Action, ActionKind, Asker, FileCheck, FileValidation, HttpRequest, IsolationLevel, ParallelChecks, Plan, RoutingSettings,
    Trigger, TriggerKind,
};
use proctor_plan::config::{self, Configuration};
use proctor_plan::spec::{self, DiskFiles};
use proctor_project::{
    Progress, ProjectScope, ProjectSettings, QueueLimits, Registration, RunOutcome, RunRequest, Selection, Workspace,
};
use proctor_sandbox::EnvironmentAdditions;
use proctor_sandbox::process::{Control, ControlHandle, LauncherHandle};
use proctor_tree::TreeHints;
use proctor_tree::ignore::MatcherSettings;
use serde_json::Value;

use crate::common::{Project, fake_tool};

/// Returns an action that validates a file, with the id and the place of another action.
pub(super) fn file(action: &Action, path: &str, check: FileCheck) -> Action {
    let kind = ActionKind::FileValidation(FileValidation { path: path.to_owned(), check });
    of_kind(action, kind, format!("looks at {path}"))
}

/// Returns an action that sends a request, with the id and the place of another action.
pub(super) fn http(action: &Action, request: HttpRequest) -> Action {
    let shown = request.shown();
    of_kind(action, ActionKind::HttpRequest(Box::new(request)), shown)
}

fn of_kind(action: &Action, kind: ActionKind, display: String) -> Action {
    let mut action = Action { kind, ..action.clone() };
    action.command.argv.clear();
    action.command.display = display;
    action
}

/// Runs the plan that `proctor.toml` gives, after `shape` has changed it, and returns the report.
#[track_caller]
pub(super) fn run_plan(project: &Project, shape: impl FnOnce(&mut Plan)) -> Value {
    let (control, _handle) = Control::new().expect("pipes can be made");
    carry_out_under(project, &control, |plan, _| shape(plan), &mut |_| {})
}

/// Runs the plan of `proctor.toml` with another value of the setting `parallel`, so that the tree stays the same.
#[track_caller]
pub(super) fn run_with_parallel(project: &Project, parallel: ParallelChecks) -> Value {
    let (control, _handle) = Control::new().expect("pipes can be made");
    let shape = |plan: &mut Plan, settings: &mut ProjectSettings| {
        settings.parallel = parallel;
        plan.parallel = parallel == ParallelChecks::On;
    };
    carry_out_under(project, &control, shape, &mut |_| {})
}

/// Runs the plan that `proctor.toml` gives, after `shape` has changed it. Passes every progress message to a function,
/// which may request a stop.
#[track_caller]
pub(super) fn carry_out_and_tell(
    project: &Project,
    shape: impl FnOnce(&mut Plan),
    tell: &mut dyn FnMut(&Progress, &ControlHandle),
) -> Value {
    let (control, handle) = Control::new().expect("pipes can be made");
    carry_out_under(project, &control, |plan, _| shape(plan), &mut |progress| tell(&progress, &handle))
}

fn carry_out_under(
    project: &Project,
    control: &Control,
    shape: impl FnOnce(&mut Plan, &mut ProjectSettings),
    show: &mut dyn FnMut(Progress),
) -> Value {
    let root = project.path();
    let text = std::fs::read_to_string(root.join("proctor.toml")).expect("the project has settings");
    let read = config::read(&text, "proctor.toml").expect("the settings are right");
    // The user of these tests allows what the project asks for.
    let configuration = Configuration { allowed: config::judged_settings(&read), ..read };
    let mut plan = spec::plan(&configuration, &DiskFiles::new(&root), "project").expect("there is a plan");
    let mut settings = ProjectSettings {
        matcher: MatcherSettings::default(),
        named_inputs: Vec::new(),
        left_out: Vec::new(),
        routing: RoutingSettings::default(),
        environment: EnvironmentAdditions::default(),
        specification: configuration.specification.clone(),
        sandbox: configuration.sandbox.clone(),
        engine_socket: None,
        strongest_isolation: IsolationLevel::Namespace,
        nice: 0,
        lock_wait: configuration.evidence.lock_wait,
        queue: QueueLimits { max_parallel: 4, wait: configuration.queue.wait },
        started: configuration.service.started,
        order: configuration.run.order,
        parallel: configuration.run.parallel,
        link: None,
        task_list: None,
        allowed_signers: None,
        limits: Default::default(),
        exports: Default::default(),
    };
    shape(&mut plan, &mut settings);
    let tool = fake_tool();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", tool.parent().expect("it lies in a directory").display());
    let ambient: BTreeMap<OsString, OsString> = BTreeMap::from([
        ("PATH".into(), path.into()),
        ("HOME".into(), project.root().join("home").into()),
        ("PROCTOR_TEST_ROOT".into(), project.root().into()),
    ]);
    let launcher = LauncherHandle::execute(tool).expect("the launcher starts");
    let state = project.root().join("state/proctor");
    let mut workspace = Workspace::open(&state, tool, Some(launcher), ambient, Arc::new(|_| {})).expect("the store opens");
    let scope = register(&mut workspace, project, &plan, &settings);
    let request = RunRequest {
        plan: &plan,
        settings: &settings,
        scope: &scope,
        checks: Selection::All,
        phase: None,
        trigger: Trigger { kind: TriggerKind::Request, paths: Vec::new() },
        unless_tree: None,
        hints: TreeHints::Everything,
        lost_events: false,
        control,
    };
    let carried = proctor_run::run_plan(&mut workspace, &request, show).expect("nothing of proctor's own fails");
    let (RunOutcome::Judged(sealed) | RunOutcome::Interrupted(sealed)) = carried else { panic!("{carried:?}") };
    serde_json::from_slice(&to_bytes(&sealed.report)).expect("a report is JSON")
}

fn register(workspace: &mut Workspace, project: &Project, plan: &Plan, settings: &ProjectSettings) -> ProjectScope {
    let asker = Asker { pid: std::process::id(), uid: nix::unistd::getuid().as_raw(), executable: None, terminal: None };
    match workspace.register(&project.path(), plan, settings, &asker, None).expect("it can be registered") {
        Registration::Known(scope) | Registration::New { scope, .. } => scope,
        Registration::Doubtful(doubt) => panic!("{doubt:?}"),
    }
}

/// Reads a JSON file of the project's latest run.
#[track_caller]
pub(super) fn evidence(project: &Project, name: &str) -> Value {
    let path = project.store().run_directory("default").join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
}
