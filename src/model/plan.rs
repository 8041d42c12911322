//! The plan of a run: its actions in three phases, each with everything that is needed to start and judge it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{
    ActionId, ActionKind, ApprovalTerms, ByteSize, DebtSettings, EvidenceCapture, LimitKind, Service, TaskCriteria, TaskId, Tool,
    ToolClass, ToolPolicy,
};

/// The phase of a run that an action belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActionPhase {
    /// Runs before the checks. If it fails, the checks do not run.
    Prerequisite,
    /// Carries out a check.
    Step,
    /// Runs after the checks in every case.
    Cleanup,
}

/// A command as an argument vector. A shell is used only if the action says `shell` (E9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandLine {
    /// Program and arguments as they are executed; with a shell: `bash -o pipefail -c SCRIPT`.
    pub argv: Vec<String>,
    /// The command as the user wrote it, for display.
    pub display: String,
    /// Whether the user asked for a shell, with `shell = true`.
    pub shell: bool,
}

/// A prerequisite that is skipped as long as its inputs are unchanged since it last succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkipWhileUnchanged {
    /// The files whose content it depends on, relative to the project. Empty: it runs once per registration.
    pub when_changed: Vec<String>,
    /// The files that it creates. It runs again when one of them is missing.
    pub creates: Vec<String>,
}

/// What happens when an action leaves processes behind (E14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnSurvivors {
    /// The processes are reported and killed.
    #[default]
    Report,
    /// The processes are reported and killed, and the action fails.
    Fail,
}

/// In which runs the result of a check may be taken from an earlier run with the same inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reuse {
    /// In no run.
    #[default]
    Off,
    /// In runs that `proctor watch` starts by itself. A run that a person or a program requests is always carried out.
    Watch,
    /// In all runs, except when the check is selected by name.
    Always,
}

/// The order in which the checks of a run are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckOrder {
    /// The checks run in the order of the plan.
    #[default]
    Plan,
    /// Checks that did not succeed in the last run come first.
    FailedFirst,
}

/// What happens when a file is saved during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnChange {
    /// The checks are stopped and started again on the new tree. After three restarts in a row, one run is allowed to finish.
    #[default]
    Restart,
    /// The run finishes, then another one starts.
    Queue,
}

/// One action of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// The action's id, for example `PREREQ.1`, `STEP.3`, `CLEANUP.1`.
    pub id: ActionId,
    pub phase: ActionPhase,
    /// The name that the user gave it, otherwise the tool's name.
    pub name: String,
    /// The description for people and for the report.
    pub description: String,
    /// The tool whose output is interpreted.
    pub tool: Tool,
    /// The tool's class, which decides what the outcome means.
    pub class: ToolClass,
    /// Whether proctor chose the command: by discovery, or for `tool = …` without a command. Only to such a command may proctor
    /// add arguments for machine-readable output (E6).
    pub command_is_ours: bool,
    /// The command to execute.
    pub command: CommandLine,
    /// The working directory, relative to the project's root; empty means the root itself.
    pub directory: PathBuf,
    /// Environment variables that the configuration sets for this action only.
    pub environment: BTreeMap<String, String>,
    /// The wall-clock limit.
    pub timeout: Duration,
    /// The longest allowed time without output; `None` means no limit.
    pub idle_timeout: Option<Duration>,
    /// The largest allowed output; `None` means no limit.
    pub max_output: Option<ByteSize>,
    /// The time limit for stopping the action, from the first signal to SIGKILL (G7).
    pub grace: Duration,
    /// Globs of the paths that trigger the action; empty if every path does.
    pub paths: Vec<String>,
    /// When an earlier result may be reused; set for checks only.
    #[serde(skip_serializing_if = "Reuse::is_off")]
    pub reuse: Reuse,
    /// When the action need not run again; set for prerequisites only.
    pub once: Option<SkipWhileUnchanged>,
    /// The service settings of a prerequisite that keeps running during the checks. `timeout` then limits its start-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
    /// The policy for findings; set for validation tools only.
    pub policy: Option<ToolPolicy>,
    /// The required coverage, if the check names a coverage report (E4).
    pub coverage: Option<CoverageTarget>,
    /// The exit codes of a GENERIC command that count as success.
    pub expected_exit_codes: Vec<i32>,
    /// What happens when processes are left behind.
    pub on_survivors: OnSurvivors,
    /// Whether the command first runs with tests that must fail, to prove that the runner can fail; set for checks of pytest
    /// only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// The kind of action. For every kind but a command, tool and class are GENERIC.
    #[serde(skip_serializing_if = "ActionKind::is_terminal_command")]
    pub kind: ActionKind,
    /// How often it is repeated while it does not succeed: 0 to 5. The last attempt's result counts.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_attempts: u8,
    /// Whether the run continues after the action failed. This does not affect the verdict (C33). Cleanup always continues.
    #[serde(skip_serializing_if = "is_true")]
    pub continue_on_failure: bool,
    /// Steps that must succeed before it starts; set for steps only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<ActionId>,
    /// Which excerpts the report shows.
    #[serde(skip_serializing_if = "EvidenceCapture::is_default")]
    pub capture: EvidenceCapture,
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

fn is_true(flag: &bool) -> bool {
    *flag
}

/// The value of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitValue {
    Time(Duration),
    Size(ByteSize),
}

/// A coverage target. Hundredths of a per cent allow plans to be compared exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CoverageTarget {
    /// The lowest coverage that passes, in hundredths of a per cent: 8550 is 85.5 %.
    pub minimum_basis_points: u32,
    /// The path of coverage.py's JSON report, relative to the project.
    pub report: String,
}

/// Where a plan came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanOrigin {
    /// From `proctor.toml`.
    Configured,
    /// Found from the project's own files.
    Discovered,
    /// From the command line: `proctor watch DIR -- COMMAND`.
    CommandLine,
    /// From a task of a test specification.
    Specification,
}

/// Facts about the test specification that a plan comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SpecificationSource {
    /// The file's path, relative to the project.
    pub file: String,
    /// The version of the specification format.
    pub schema_version: String,
    pub task_title: String,
    /// The sprint that the specification belongs to.
    pub sprint_id: String,
    /// The tasks that must be complete before this one runs.
    pub dependencies: Vec<TaskId>,
    /// The settings for strict type checking that the project must keep (C24), such as `typescript.strictMode: true`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strictness: Vec<String>,
}

/// A remark for people about how the plan was made. It is never an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanNote {
    /// The subject of the remark: an action's name or a configuration key.
    pub subject: String,
    /// The text, lower case, without a final period.
    pub message: String,
}

/// `[defaults]`: limits for every action that does not set its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionDefaults {
    /// The wall-clock limit of one action.
    pub timeout: Duration,
    /// The longest time without output; `None` means no limit.
    pub idle_timeout: Option<Duration>,
    /// The most output of both streams together; `None` means no limit.
    pub max_output: Option<ByteSize>,
    /// The time limit for stopping an action: from the first signal until its last process is killed (G7).
    pub grace: Duration,
    /// Whether processes that an action leaves behind make it fail (E14).
    pub on_survivors: OnSurvivors,
}

/// The plan of a run: all of its actions and the rules by which they are judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub task: TaskId,
    /// The project's name for display.
    pub project_name: String,
    pub origin: PlanOrigin,
    /// The specification, if the plan comes from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specification: Option<SpecificationSource>,
    /// Actions that run first, in order. The first failure keeps the steps from running.
    pub prerequisites: Vec<Action>,
    /// The checks, in the order they were written. `order`, `after` and `continue_on_failure` decide when each runs.
    pub steps: Vec<Action>,
    /// Actions that run last in every case.
    pub cleanup: Vec<Action>,
    /// The criteria in addition to the actions' results; `None` for checks from `proctor.toml` or from discovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub criteria: Option<TaskCriteria>,
    /// The settings for debt items; `None` if the defaults of schema 2.0.0 apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debt: Option<DebtSettings>,
    /// Remarks for people.
    pub notes: Vec<PlanNote>,
    /// The order in which steps are carried out, as far as `after` allows. Steps that are missing here come last, in the order of
    /// `steps` (`executionOrder`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<ActionId>,
    /// Whether independent steps run at the same time, as far as the machine's queue allows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub parallel: bool,
    /// The common time limit of prerequisites and steps; `None` if only their own limits apply. Cleanup runs even after it has passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// How a weaker plan is approved, and which files of the tree are protected.
    #[serde(skip_serializing_if = "ApprovalTerms::is_default")]
    pub approval: ApprovalTerms,
}

impl Reuse {
    /// Returns whether the check is always carried out.
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

impl ActionPhase {
    /// Returns the prefix of the action ids in this phase.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Prerequisite => "PREREQ",
            Self::Step => "STEP",
            Self::Cleanup => "CLEANUP",
        }
    }
}

impl Action {
    /// Returns an action with this name and command and with default values for everything else.
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
            reuse: Reuse::Off,
            once: None,
            service: None,
            policy: None,
            coverage: None,
            // Without `expected_exit_codes`, only exit code 0 is success.
            expected_exit_codes: vec![0],
            on_survivors: defaults.on_survivors,
            kind: ActionKind::Command,
            control: false,
            retry_attempts: 0,
            continue_on_failure: phase != ActionPhase::Prerequisite,
            after: Vec::new(),
            capture: EvidenceCapture::default(),
        }
    }

    /// Returns the tool's name in reports. For an action that starts no process, it is the name of proctor's own check.
    pub fn tool_name(&self) -> &'static str {
        match &self.kind {
            ActionKind::Command | ActionKind::CustomScript(_) | ActionKind::Review(_) => self.tool.report_name(),
            ActionKind::FileValidation(_) => "file",
            ActionKind::HttpRequest(_) => "http",
        }
    }

    /// Returns the value of one of the action's limits; `None` if it has no such limit.
    pub fn limit_value(&self, limit: LimitKind) -> Option<LimitValue> {
        match limit {
            LimitKind::Wall => Some(LimitValue::Time(self.timeout)),
            LimitKind::Idle => self.idle_timeout.map(LimitValue::Time),
            LimitKind::Output => self.max_output.map(LimitValue::Size),
            LimitKind::Memory | LimitKind::Pids => None,
        }
    }
}

impl LimitValue {
    /// Returns the value of a time limit; `None` for a limit of another kind.
    pub fn time(self) -> Option<Duration> {
        match self {
            Self::Time(time) => Some(time),
            Self::Size(_) => None,
        }
    }

    /// Returns the value of a size limit in bytes; `None` for a limit of another kind.
    pub fn size(self) -> Option<ByteSize> {
        match self {
            Self::Size(size) => Some(size),
            Self::Time(_) => None,
        }
    }
}

impl Plan {
    /// Returns the plan of a task that does nothing.
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
            order: Vec::new(),
            parallel: false,
            timeout: None,
            approval: ApprovalTerms::default(),
        }
    }

    /// Returns all actions in the order they run.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.prerequisites.iter().chain(&self.steps).chain(&self.cleanup)
    }
}
