//! What a run will do: actions in three phases, each with everything it needs to be started and judged.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{
    ActionId, ActionKind, ApprovalTerms, ByteSize, DebtSettings, EvidenceCapture, LimitKind, Service, TaskCriteria, TaskId, Tool,
    ToolClass, ToolPolicy,
};

/// The phase of a run an action belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActionPhase {
    /// Before the checks; a failure keeps them from running.
    Prerequisite,
    /// A check.
    Step,
    /// After the checks, always.
    Cleanup,
}

/// A command: an argument vector, never a shell string unless the action says `shell` (E9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandLine {
    /// Program and arguments as they are executed. With a shell: `bash -o pipefail -c SCRIPT`.
    pub argv: Vec<String>,
    /// The text the user wrote, for people.
    pub display: String,
    /// Whether the user asked for a shell.
    pub shell: bool,
}

/// A prerequisite that is skipped while nothing it depends on has changed since it last succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Once {
    /// Files (relative to the project) whose content it depends on. Empty: it runs once per registration.
    pub when_changed: Vec<String>,
    /// Files it makes; a missing one makes it run.
    pub creates: Vec<String>,
}

/// What a process left behind by an action means for the action's status (E14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnSurvivors {
    /// They are named and killed.
    #[default]
    Report,
    /// They are named and killed, and the action fails.
    Fail,
}

/// In which runs a check may be reported from an earlier verdict on the same inputs instead of being carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reuse {
    /// In none.
    #[default]
    Off,
    /// In those `proctor watch` begins by itself; whoever asks for a run gets one.
    Watch,
    /// In those too, unless it is asked for by name.
    Always,
}

/// In which order the checks of a run are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckOrder {
    /// In that of the plan.
    #[default]
    Plan,
    /// Those that did not succeed in the last run first.
    FailedFirst,
}

/// What a save during a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnChange {
    /// Stop the checks and start again on the new tree; after three restarts in a row one run is let finish.
    #[default]
    Restart,
    /// Let the run finish, then run again.
    Queue,
}

/// One action of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// `PREREQ.1`, `STEP.3`, `CLEANUP.1`.
    pub id: ActionId,
    /// The phase it belongs to.
    pub phase: ActionPhase,
    /// The name the user gave it, or the tool's.
    pub name: String,
    /// What it does, for people and the report.
    pub description: String,
    /// The tool whose output is read.
    pub tool: Tool,
    /// What its outcome means.
    pub class: ToolClass,
    /// Whether the command is ours: discovered, or `tool = …` without a command (E6 lets us ask such a command for machine output).
    pub command_is_ours: bool,
    /// What is executed.
    pub command: CommandLine,
    /// Where, relative to the project's root; empty: the root.
    pub directory: PathBuf,
    /// Variables set by the configuration for this action alone.
    pub environment: BTreeMap<String, String>,
    /// Wall-clock limit.
    pub timeout: Duration,
    /// Longest time without output; none: as long as it likes.
    pub idle_timeout: Option<Duration>,
    /// Most output; none: as much as it likes.
    pub max_output: Option<ByteSize>,
    /// Bound of the whole stop ladder (G7).
    pub grace: Duration,
    /// Globs that limit what triggers it; empty: everything.
    pub paths: Vec<String>,
    /// When an earlier verdict may stand for it; set on checks only.
    #[serde(skip_serializing_if = "Reuse::is_off")]
    pub reuse: Reuse,
    /// Set on prerequisites only.
    pub once: Option<Once>,
    /// Set on prerequisites that go on while the checks run. `timeout` is then that of its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
    /// How findings are judged; set for validation tools.
    pub policy: Option<ToolPolicy>,
    /// The coverage that is required, where the check names a report to read it from (E4).
    pub coverage: Option<CoverageTarget>,
    /// Exit codes of a GENERIC command that count as success.
    pub expected_exit_codes: Vec<i32>,
    /// What survivors mean.
    pub on_survivors: OnSurvivors,
    /// Whether the command is run once more before with tests that must fail; set on checks of pytest only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// What it does. Of another kind than a command the tool is GENERIC, and so is the class.
    #[serde(skip_serializing_if = "ActionKind::is_terminal_command")]
    pub kind: ActionKind,
    /// How often it is carried out again after an attempt that did not succeed: 0 to 5. The last attempt's result is its own.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_attempts: u8,
    /// Whether the run goes on after it did not succeed. It says nothing about the verdict (C33). Cleanup goes on always.
    #[serde(skip_serializing_if = "is_true")]
    pub continue_on_failure: bool,
    /// Steps that must have succeeded before it starts; set on steps only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<ActionId>,
    /// What the report shows of it.
    #[serde(skip_serializing_if = "EvidenceCapture::is_default")]
    pub capture: EvidenceCapture,
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

fn is_true(flag: &bool) -> bool {
    *flag
}

/// What a limit is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitValue {
    /// So long.
    Time(Duration),
    /// So many bytes.
    Size(ByteSize),
}

/// A coverage target in hundredths of a per cent, so that plans compare exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CoverageTarget {
    /// The lowest coverage that passes, in hundredths of a per cent: 8550 is 85.5 %.
    pub minimum_basis_points: u32,
    /// The coverage.py JSON report, relative to the project.
    pub report: String,
}

/// Where a plan came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanOrigin {
    /// `proctor.toml`.
    Configured,
    /// Found from the project's own files.
    Discovered,
    /// Given on the command line: `proctor watch DIR -- COMMAND`.
    CommandLine,
    /// A task of a test specification.
    Specification,
}

/// What a plan that comes from a test specification says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SpecificationSource {
    /// The file, relative to the project.
    pub file: String,
    /// The version of the format.
    pub schema_version: String,
    /// The task's title, for people.
    pub task_title: String,
    /// The sprint the specification was made for.
    pub sprint_id: String,
    /// The tasks that must be complete before this one runs.
    pub dependencies: Vec<TaskId>,
    /// What it says of type checkers' strictness, to which the project is held (C24): `typescript.strictMode: true`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strictness: Vec<String>,
}

/// Something a person should know about how the plan came to be; never an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanNote {
    /// What it is about: an action's name or a configuration key.
    pub subject: String,
    /// The note itself, lower case, no final period.
    pub message: String,
}

/// Everything a run will do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The task it belongs to.
    pub task: TaskId,
    /// The project's name for people.
    pub project_name: String,
    /// Where it came from.
    pub origin: PlanOrigin,
    /// What is said of the specification, where it came from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specification: Option<SpecificationSource>,
    /// Run first, in order; the first failure keeps the steps from running.
    pub prerequisites: Vec<Action>,
    /// The checks, in the order they were written. `order`, `after` and `continue_on_failure` say when each runs.
    pub steps: Vec<Action>,
    /// Run last, always.
    pub cleanup: Vec<Action>,
    /// What it is judged by beside the actions' results; none for checks of `proctor.toml` and of discovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub criteria: Option<TaskCriteria>,
    /// How its debt is written down; none: as schema 2.0.0 has it unless a specification says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debt: Option<DebtSettings>,
    /// What a person should know about it.
    pub notes: Vec<PlanNote>,
    /// The steps in the order they are carried out, as far as `after` allows; those that are not named come after them, in the
    /// order above (`executionOrder`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<ActionId>,
    /// Whether steps that do not need each other go on at the same time, as many as the machine's queue allows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub parallel: bool,
    /// How long prerequisites and steps together may take; none: as long as they may one by one. Cleanup runs after it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// How it is approved that the plan asks for less, and which files of the tree are protected.
    #[serde(skip_serializing_if = "ApprovalTerms::is_default")]
    pub approval: ApprovalTerms,
}

impl Reuse {
    /// Returns whether an earlier verdict never stands for the check.
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

impl ActionPhase {
    /// Returns the first part of the ids of this phase's actions.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Prerequisite => "PREREQ",
            Self::Step => "STEP",
            Self::Cleanup => "CLEANUP",
        }
    }
}

impl Action {
    /// Returns the tool's name in reports: of an action that starts no process, what looks or asks in its place.
    pub fn tool_name(&self) -> &'static str {
        match &self.kind {
            ActionKind::Command | ActionKind::CustomScript(_) | ActionKind::Review(_) => self.tool.report_name(),
            ActionKind::FileValidation(_) => "file",
            ActionKind::HttpRequest(_) => "http",
        }
    }

    /// Returns the value of one of the action's limits; none where it has no such limit.
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
    /// Returns the time; none for a limit of another kind.
    pub fn time(self) -> Option<Duration> {
        match self {
            Self::Time(time) => Some(time),
            Self::Size(_) => None,
        }
    }

    /// Returns the number of bytes; none for a limit of another kind.
    pub fn size(self) -> Option<ByteSize> {
        match self {
            Self::Size(size) => Some(size),
            Self::Time(_) => None,
        }
    }
}

impl Plan {
    /// Returns all actions in the order they run.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.prerequisites.iter().chain(&self.steps).chain(&self.cleanup)
    }
}
