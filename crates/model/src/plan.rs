//! The plan of a run: its actions in three phases, and everything that is needed to start and judge each action.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use proctor_wire::wire;

use crate::{
    ActionId, ActionKind, ApprovalTerms, ByteSize, CheckStart, DebtSettings, EvidenceCapture, JudgedSettings, LimitKind,
    NetworkAccess, RemotePackages, RemoteRun, ReportFile, Service, Shards, TaskCriteria, TaskId, Tool, ToolClass, ToolPolicy,
    WithoutServer,
};

/// The phase of a run that an action belongs to.
#[wire(Copy, PartialOrd, Ord, Hash, lower, schema)]
pub enum ActionPhase {
    /// The action runs before the checks. If it fails, the checks do not run, unless `continue_on_failure` is set.
    Prerequisite,
    /// A check, whose result decides the verdict.
    Step,
    /// The action runs after the checks in every case, even after a failure.
    Cleanup,
}

/// A command as an argument vector. A shell is used only if the action says `shell` (E9).
#[wire(open, schema)]
pub struct CommandLine {
    /// Program and arguments as they are executed; with a shell: `bash -o pipefail -c SCRIPT`.
    pub argv: Vec<String>,
    /// The command as the user wrote it, for display.
    pub display: String,
    /// Whether the user asked for a shell, with `shell = true`.
    pub shell: bool,
}

/// When a prerequisite need not run again: its inputs are the same as when it last succeeded.
#[wire(Default, open, schema)]
pub struct SkipWhileUnchanged {
    /// The files whose content the prerequisite depends on, relative to the project. If the list is empty, the
    /// prerequisite runs once for each registration of the project.
    pub when_changed: Vec<String>,
    /// The files that the prerequisite creates. The prerequisite runs again when one of these files is missing.
    pub creates: Vec<String>,
}

/// What happens when processes of an action are still running after the action has ended (E14).
#[wire(Copy, Default, kebab, schema)]
pub enum OnSurvivors {
    /// The processes are reported and killed.
    #[default]
    Report,
    /// The processes are reported and killed, and the action fails.
    Fail,
}

/// In which runs the result of a check may be taken from an earlier run with the same inputs.
#[wire(Copy, Default, kebab, schema)]
pub enum Reuse {
    /// No run takes over an earlier result: the check is carried out in every run.
    Off,
    /// A save after which the files are just those that an earlier run judged brings no run. No run takes over the result of this check
    /// alone.
    #[default]
    Own,
    /// As `Own`, and runs that `proctor watch` starts by itself may take over an earlier result. In a run that a person or a program
    /// requests, the check is always carried out.
    Watch,
    /// Every run may take over an earlier result, except when the check is selected by name.
    Always,
    /// As `Watch`. Where every check says so, a requested run also takes a verdict that is known of just the present files, from a run
    /// of this store or one that a trusted key attested.
    Attested,
}

/// The order in which the checks of a run are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckOrder {
    /// The checks run in the order in which the plan has them.
    #[default]
    Plan,
    /// Checks that did not succeed in the last run come first.
    FailedFirst,
}

/// Which checks of a run may be carried out at the same time. This setting does not concern the checks of a test
/// specification: `parallelExecution` of their task decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParallelChecks {
    /// On a snapshot, validations run beside at most one other check. In the project itself, checks run one by one.
    #[default]
    Auto,
    /// Checks run at the same time, except that a check waits for the checks that its `after` names.
    On,
    /// The checks run one by one.
    Off,
}

/// What happens when a file is saved during a run.
#[wire(Copy, Default, kebab)]
pub enum OnChange {
    /// The checks are stopped and started again on the new tree. After `watch.max_restarts` restarts in a row, one run
    /// is allowed to finish.
    #[default]
    Restart,
    /// The run finishes, and then a run on the new tree starts.
    Queue,
}

/// One action of a plan, with everything that is needed to start the action and to judge its result.
#[wire(open, written, schema)]
pub struct Action {
    /// The action's id, for example `PREREQ.1`, `STEP.3`, `CLEANUP.1`.
    pub id: ActionId,
    pub phase: ActionPhase,
    /// The name that the user gave to the action; without one, the tool's name.
    pub name: String,
    pub description: String,
    /// The tool whose output is interpreted.
    pub tool: Tool,
    /// The tool's class, which decides what the exit code and the findings mean for the verdict.
    pub class: ToolClass,
    /// Whether proctor chose the command: by discovery, or for `tool = …` without a command. Only to such a command may
    /// proctor add arguments for machine-readable output (E6).
    pub command_is_ours: bool,
    pub command: CommandLine,
    /// The working directory, relative to the project's root; empty means the root itself.
    pub directory: PathBuf,
    pub environment: BTreeMap<String, String>,
    /// The limit on the whole duration of one attempt.
    pub timeout: Duration,
    /// The limit on the time in which the action prints nothing; `None` means no limit.
    pub idle_timeout: Option<Duration>,
    /// The most bytes that the action may print; `None` means no limit.
    pub max_output: Option<ByteSize>,
    /// The limit on the time between the first signal that asks the action to stop and SIGKILL, which ends it (G7).
    pub grace: Duration,
    /// Globs of the paths whose change triggers the action; empty if every change does.
    pub paths: Vec<String>,
    /// Globs of the files that are copied from the check's snapshot to the project after the run. If the list is empty,
    /// everything that the check writes is dropped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// In which runs the result of an earlier run is used instead of running the check. Always `Off` for prerequisites
    /// and clean-up.
    #[serde(skip_serializing_if = "Reuse::is_never_in_a_run")]
    pub reuse: Reuse,
    /// Which runs carry the action out.
    #[serde(skip_serializing_if = "CheckStart::is_save")]
    pub when: CheckStart,
    /// When the prerequisite need not run again. `None` if the prerequisite runs each time; always `None` for checks
    /// and clean-up.
    pub once: Option<SkipWhileUnchanged>,
    /// The settings of a service, a prerequisite that keeps running during the checks; `None` for other actions.
    /// `timeout` then limits the service's start-up only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
    /// Which findings make the verdict FAILED; set for validation tools only.
    pub policy: Option<ToolPolicy>,
    /// The required coverage, if the check names a coverage report (E4).
    pub coverage: Option<CoverageTarget>,
    /// The report that the check's command writes and that decides its result; `None` if the check names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportFile>,
    /// The exit codes of a GENERIC command that count as success.
    pub expected_exit_codes: Vec<i32>,
    /// What happens when processes of the action are still running after it has ended.
    pub on_survivors: OnSurvivors,
    /// Whether the command is first run on a control: tests that must fail. If they do not fail, the runner's other
    /// results prove nothing. Set for checks of pytest only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// Into how many parts the tests are divided, each run by a process of its own; `None` if one process runs them all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<Shards>,
    /// Whether the check runs in the project itself, also where the other checks run on a snapshot.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    /// The server that carries the check out; `None` for this machine.
    #[serde(rename = "run", skip_serializing_if = "Option::is_none")]
    pub remote: Option<Box<RemoteRun>>,
    /// The network that the action's processes have.
    #[serde(skip_serializing_if = "NetworkAccess::is_open")]
    pub network: NetworkAccess,
    /// What the action does. If the kind is not `Command`, `class` is GENERIC, and so is `tool`, except for a review.
    #[serde(skip_serializing_if = "ActionKind::is_terminal_command")]
    pub kind: ActionKind,
    /// The largest number of times that the action is repeated while it does not succeed: 0 to 5. The last attempt's result
    /// counts.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_attempts: u8,
    /// Whether the run continues after the action failed. A step blocks all the same; a prerequisite or clean-up is then a
    /// warning (C33). The other clean-up always continues.
    #[serde(skip_serializing_if = "is_true")]
    pub continue_on_failure: bool,
    /// The steps that must succeed before this step starts; empty for prerequisites and clean-up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<ActionId>,
    #[serde(skip_serializing_if = "EvidenceCapture::is_default")]
    pub capture: EvidenceCapture,
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

fn is_true(flag: &bool) -> bool {
    *flag
}

/// The value of a limit: a time, or a number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitValue {
    Time(Duration),
    Size(ByteSize),
}

/// The coverage that a check must reach. Hundredths of a per cent are whole numbers, so that plans can be compared
/// exactly.
#[wire(open, schema)]
pub struct CoverageTarget {
    /// The lowest coverage that passes, in hundredths of a per cent: 8550 is 85.5 %.
    pub minimum_basis_points: u32,
    /// The path of coverage.py's JSON report, relative to the project.
    pub report: String,
}

/// Where a plan's checks come from.
#[wire(kebab, schema)]
pub enum PlanOrigin {
    /// The checks are configured in `proctor.toml`.
    Configured,
    /// The checks were discovered from the project's own files.
    Discovered,
    /// The only check is a command from the command line: `proctor watch DIR -- COMMAND`.
    CommandLine,
    /// The checks are the steps of a task in a test specification.
    Specification,
}

/// Facts about the test specification that a plan comes from.
#[wire(open, written, schema, sparse)]
pub struct SpecificationSource {
    /// The file's path, relative to the project.
    pub file: String,
    pub schema_version: String,
    pub task_title: String,
    /// The specification's own word for when its task is to be done. It is only shown.
    pub sprint_id: String,
    /// The tasks that must be complete before this one runs.
    #[kept]
    pub dependencies: Vec<TaskId>,
    /// The settings for strict type checking that the project must keep (C24), each written as `typescript.strictMode:
    /// true`.
    pub strictness: Vec<String>,
    /// The values that fill the task's placeholders, by name. A secret is left out: the plan has its placeholder.
    pub filled: BTreeMap<String, String>,
}

/// A remark for people about how the plan was made. It is never an error.
#[wire(open, schema)]
pub struct PlanNote {
    /// What the remark is about: an action's name or a configuration key.
    pub subject: String,
    /// The remark's text, lower case, without a final period.
    pub message: String,
}

impl PlanNote {
    /// The subject of the note about a test command that no check runs.
    pub const TEST_COMMAND: &str = "test command";
    /// The subject of the note about other commands of the project that no check runs.
    pub const NOT_CHECKED: &str = "not checked";
}

/// The `[defaults]` of `proctor.toml`: limits for every action that does not set its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionDefaults {
    pub timeout: Duration,
    /// The limit on the time in which an action prints nothing; `None` means no limit.
    pub idle_timeout: Option<Duration>,
    /// The most bytes that an action may print, standard output and standard error together; `None` means no limit.
    pub max_output: Option<ByteSize>,
    /// The limit on the time between the first signal that asks an action to stop and SIGKILL, which ends it (G7).
    pub grace: Duration,
    /// Whether an action fails because it leaves processes behind (E14).
    pub on_survivors: OnSurvivors,
}

/// The plan of a run: all of its actions and the rules by which they are judged.
#[wire(open, written, schema, sparse)]
pub struct Plan {
    pub task: TaskId,
    pub project_name: String,
    pub origin: PlanOrigin,
    pub specification: Option<SpecificationSource>,
    /// The actions that run before the checks, in order. If one fails without `continue_on_failure`, the checks do not
    /// run.
    #[kept]
    pub prerequisites: Vec<Action>,
    /// The checks, in the order they were written. `order`, `after` and `continue_on_failure` decide when each runs.
    #[kept]
    pub steps: Vec<Action>,
    /// The actions that run after the checks in every case, even after a failure.
    #[kept]
    pub cleanup: Vec<Action>,
    /// What the task demands in addition to its actions' results; `None` for checks from `proctor.toml` or from
    /// discovery.
    pub criteria: Option<TaskCriteria>,
    /// The settings for debt items; `None` if the defaults of specification 2.0.0 apply.
    pub debt: Option<DebtSettings>,
    #[kept]
    pub notes: Vec<PlanNote>,
    /// The project's test command that no check runs, such as `"test" of package.json (mocha)`: a run of this plan proves nothing of a
    /// commit. `None` if a check runs it, or the project names none. It is no part of the plan's digest.
    pub tests_not_run: Option<String>,
    /// The order in which steps are carried out, as far as `after` allows. Steps that are missing here come last, in
    /// the order of `steps` (`executionOrder`).
    pub order: Vec<ActionId>,
    /// Whether steps that do not wait for each other run at the same time, as far as the machine's queue allows. This
    /// is part of the plan's digest, so it is true only if the specification or the configuration says so. What proctor
    /// decides by itself (`ParallelChecks::Auto`) is a setting of the run and changes no approved plan.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub parallel: bool,
    /// The time limit for all prerequisites and steps together; `None` if each of them has only its own limit. Clean-up
    /// runs even after this limit has passed.
    pub timeout: Option<Duration>,
    /// How a weaker plan is approved, and which files of the tree are protected.
    #[serde(skip_serializing_if = "ApprovalTerms::is_default")]
    pub approval: ApprovalTerms,
    /// The settings of the project that are approved together with the plan, and what the user allows of them. They are
    /// no part of the plan's digest.
    #[serde(skip)]
    pub settings: PlanSettings,
}

/// The settings of a project that are approved together with a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanSettings {
    /// The settings as the project's files give them now.
    pub now: JudgedSettings,
    /// What the user's own configuration allows for this project without an approval.
    pub allowed: JudgedSettings,
}

impl Reuse {
    /// Returns whether the check is carried out in every run that there is.
    pub fn is_never_in_a_run(&self) -> bool {
        matches!(self, Self::Off | Self::Own)
    }
}

words! {
    /// Returns the prefix of the action ids in this phase.
    pub fn ActionPhase::prefix: Prerequisite "PREREQ", Step "STEP", Cleanup "CLEANUP"
}

impl Action {
    /// Returns whether the action starts a program that lies on this machine, or is sent from it. A program of another machine is not known
    /// here.
    pub fn starts_program_of_this_machine(&self) -> bool {
        self.remote
            .as_ref()
            .is_none_or(|run| run.without_result == WithoutServer::RunHere || run.server.environment == RemotePackages::Upload)
    }

    /// Returns an action with this name and command; all other fields have default values.
    pub fn plain(
        phase: ActionPhase,
        number: usize,
        (name, tool): (&str, Tool),
        command: CommandLine,
        defaults: ActionDefaults,
    ) -> Self {
        Self {
            id: ActionId::numbered(phase.prefix(), number),
            phase,
            name: name.to_owned(),
            description: String::new(),
            tool,
            class: tool.class(),
            command_is_ours: false,
            command,
            directory: PathBuf::new(),
            environment: BTreeMap::new(),
            timeout: defaults.timeout,
            idle_timeout: defaults.idle_timeout,
            max_output: defaults.max_output,
            grace: defaults.grace,
            paths: Vec::new(),
            writes: Vec::new(),
            reuse: Reuse::Own,
            when: CheckStart::Save,
            once: None,
            service: None,
            policy: None,
            coverage: None,
            report: None,
            // Without `expected_exit_codes`, only exit code 0 is success.
            expected_exit_codes: vec![0],
            on_survivors: defaults.on_survivors,
            kind: ActionKind::Command,
            control: false,
            shards: None,
            in_place: false,
            remote: None,
            network: NetworkAccess::Open,
            retry_attempts: 0,
            continue_on_failure: phase == ActionPhase::Step,
            after: Vec::new(),
            capture: EvidenceCapture::default(),
        }
    }

    /// Returns the tool's name in reports. For an action that starts no process, the name says what proctor itself
    /// checks: `file` or `http`. For a client command it says what is asked: `database`, `container` or `browser`.
    pub fn tool_name(&self) -> &'static str {
        match &self.kind {
            ActionKind::Command | ActionKind::CustomScript(_) | ActionKind::Review(_) => self.tool.report_name(),
            ActionKind::ClientCommand(call) => call.report_name(),
            ActionKind::FileValidation(_) => "file",
            ActionKind::HttpRequest(_) => "http",
        }
    }

    /// Returns the value of one of the action's limits; `None` if the action has no such limit. Memory and processes
    /// are limited by `[sandbox]` instead.
    pub fn limit_value(&self, limit: LimitKind) -> Option<LimitValue> {
        match limit {
            LimitKind::Wall => Some(LimitValue::Time(self.timeout)),
            LimitKind::Idle => self.idle_timeout.map(LimitValue::Time),
            LimitKind::Output => self.max_output.map(LimitValue::Size),
            LimitKind::Memory | LimitKind::Pids | LimitKind::Written => None,
        }
    }
}

impl LimitValue {
    /// Returns the limit if it is a time; `None` if it is a size.
    pub fn time(self) -> Option<Duration> {
        match self {
            Self::Time(time) => Some(time),
            Self::Size(_) => None,
        }
    }

    /// Returns the limit if it is a size; `None` if it is a time.
    pub fn size(self) -> Option<ByteSize> {
        match self {
            Self::Size(size) => Some(size),
            Self::Time(_) => None,
        }
    }
}

impl Plan {
    /// Returns a plan without any action.
    pub fn empty(task: TaskId, project_name: String, origin: PlanOrigin) -> Self {
        Self {
            task,
            project_name,
            origin,
            specification: None,
            prerequisites: Vec::new(),
            steps: Vec::new(),
            cleanup: Vec::new(),
            criteria: None,
            debt: None,
            notes: Vec::new(),
            tests_not_run: None,
            order: Vec::new(),
            parallel: false,
            timeout: None,
            approval: ApprovalTerms::default(),
            settings: PlanSettings::default(),
        }
    }

    /// Returns all actions: first the prerequisites, then the steps, then the clean-up.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.prerequisites.iter().chain(&self.steps).chain(&self.cleanup)
    }
}
