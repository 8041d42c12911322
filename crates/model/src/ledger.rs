//! The lines of a project's ledger: the truth about registrations, runs, routes and TDD state (S3).
//!
//! Each line is one JSON object. A new optional field or a new kind of line stays compatible with older lines. Any
//! other change needs a new [`LEDGER_SCHEMA`]: readers refuse lines with an unknown schema or kind instead of guessing.
//!
//! What the ledger lines of earlier versions record of the program of each action that a run started. Nothing is decided by it any more.

use std::collections::BTreeMap;

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use crate::{
    ApprovalRecord, ArchiveRecord, CheckRecord, ClaimRecord, CommandExit, Digest, GovernanceRecord, IsolationLevel, KeyRecord,
    OverallResult, OverallStatus, Phase, PlanTerms, ProjectId, ProofRecord, PruneRecord, PrunedRun, PurgeRecord, RouteEntry,
    RunConditions, RunId, Sequence, TaskId, TaskListRecord, TddState, TestedPlace, Timestamp, Tool, TreeDigest, TreeFormat,
    ViolationRecord,
};

/// The name and version of the format, in the `schema` field of every line.
pub const LEDGER_SCHEMA: &str = "proctor-ledger-v1";

/// One line of the ledger. Its `previous` field chains it to the line before, so a changed or deleted line is noticed.
#[wire(schema, sparse)]
pub struct LedgerLine {
    /// Always [`LEDGER_SCHEMA`].
    pub schema: String,
    /// The line's number; the first line has 1, and no number is left out.
    pub sequence: Sequence,
    /// SHA-256 of the previous line without its newline; for the first line, the SHA-256 of no bytes.
    pub previous: Digest,
    pub time: Timestamp,
    /// The process that asked for the change that this line records.
    pub asker: Asker,
    pub body: LedgerBody,
    /// The Ed25519 signature over the line without this field, in base64; `None` in lines that were written before a
    /// key existed (S3).
    pub signature: Option<String>,
}

/// The process that asked proctor for a change.
#[wire(schema)]
pub struct Asker {
    pub pid: u32,
    /// The user that the process runs as.
    pub uid: u32,
    /// The path of the process's executable; `None` if it cannot be read.
    pub executable: Option<String>,
    pub terminal: Option<String>,
}

/// What one ledger line records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum LedgerBody {
    /// A project was registered. This also approves the plan that the project had at that time (S7).
    Registered(RegistrationRecord),
    /// A run was sealed. Its verdict counts only from the moment when this line is written.
    Run(Box<RunRecord>),
    /// A newer save stopped a run, and the run's directory was deleted.
    Superseded(SupersededRecord),
    /// A TDD cycle was started, moved to another phase, or reset.
    Phase(PhaseRecord),
    /// A person decided where a paused task continues (R9).
    Override(OverrideRecord),
    /// The service was told to start or to stop watching the project.
    Serving(ServingRecord),
    /// An agent was granted a retest (R4).
    Retest(RetestRecord),
    /// proctor wrote its marked blocks into a task list.
    TaskList(TaskListRecord),
    /// Someone else changed proctor's blocks of a task list, and proctor reverted the change.
    Violation(ViolationRecord),
    /// A task's plan was approved: by rule if it demands no less than before, otherwise by a person (S7).
    Approval(Box<ApprovalRecord>),
    /// Runs were chosen for deletion, because the project keeps more than its limits allow.
    Pruned(PruneRecord),
    /// A person removed the project together with its evidence.
    Purged(Box<PurgeRecord>),
    /// An earlier version packed runs into files, which are not read any more.
    Archived(ArchiveRecord),
    /// A governance workflow stored files in its trail, the directory with its decisions.
    Governance(Box<GovernanceRecord>),
    /// A new key signs from this line on. The line says so in the ledger itself, so that the history of keys outlives `keys/`.
    KeyReplaced(Box<KeyRecord>),
    /// An agent said that the tests pass, and the verdict for the same tree says that they fail.
    Claim(ClaimRecord),
    /// `proctor prove` said which tests of a change fail without its source.
    Proof(Box<ProofRecord>),
}

/// A ledger line about runs. Lines about anything else have no variant here.
#[derive(Debug, Clone, Copy)]
pub enum RunLine<'a> {
    Sealed(&'a RunRecord),
    /// A newer save stopped the run.
    Superseded(&'a SupersededRecord),
    /// Runs were chosen for deletion, because of limits or because the project was removed with its evidence.
    Pruned(&'a [PrunedRun]),
}

/// A ledger line that approves a plan.
#[derive(Debug, Clone, Copy)]
pub enum ApprovingLine<'a> {
    /// The line registers the project, which approves the plan that the project had at that time.
    Registered(&'a RegistrationRecord),
    /// The line approves the plan of a task after the registration.
    Approved(&'a ApprovalRecord),
}

impl LedgerBody {
    /// Returns the record of a line about runs; `None` for a line about something else.
    pub fn about_runs(&self) -> Option<RunLine<'_>> {
        match self {
            Self::Run(record) => Some(RunLine::Sealed(record)),
            Self::Superseded(record) => Some(RunLine::Superseded(record)),
            Self::Pruned(record) => Some(RunLine::Pruned(&record.runs)),
            Self::Purged(record) => Some(RunLine::Pruned(&record.runs)),
            Self::Archived(record) => Some(RunLine::Pruned(&record.runs)),
            Self::Registered(_)
            | Self::Phase(_)
            | Self::Override(_)
            | Self::Serving(_)
            | Self::Retest(_)
            | Self::TaskList(_)
            | Self::Violation(_)
            | Self::Approval(_)
            | Self::Governance(_)
            | Self::KeyReplaced(_)
            | Self::Claim(_)
            | Self::Proof(_) => None,
        }
    }

    /// Returns the record of a line that approves a plan; `None` for a line that approves nothing.
    pub fn approving(&self) -> Option<ApprovingLine<'_>> {
        match self {
            Self::Registered(record) => Some(ApprovingLine::Registered(record)),
            Self::Approval(record) => Some(ApprovingLine::Approved(record)),
            Self::Run(_)
            | Self::Superseded(_)
            | Self::Phase(_)
            | Self::Override(_)
            | Self::Serving(_)
            | Self::Retest(_)
            | Self::TaskList(_)
            | Self::Violation(_)
            | Self::Pruned(_)
            | Self::Purged(_)
            | Self::Archived(_)
            | Self::Governance(_)
            | Self::KeyReplaced(_)
            | Self::Claim(_)
            | Self::Proof(_) => None,
        }
    }

    /// Returns the runs that the line removes; empty for a line that removes none.
    pub fn pruned_runs(&self) -> &[PrunedRun] {
        if let Some(RunLine::Pruned(runs)) = self.about_runs() { runs } else { &[] }
    }
}

/// A retest: a further run that proctor granted to an agent, within the task's budget of such runs. If the run takes
/// place, a later ledger line records it.
#[wire(schema)]
pub struct RetestRecord {
    pub task: TaskId,
    /// The digest of the tree at the moment when the retest was granted.
    pub tree_digest: TreeDigest,
    /// The number of this retest since the task's budget was last full; the first retest has 1.
    pub number: u32,
}

/// The ledger's record that the service was told to watch a project, or to stop watching it. The project keeps its
/// evidence and id in both cases (S7).
#[wire(schema)]
pub struct ServingRecord {
    /// Whether the project is watched from this line on.
    pub serving: Serving,
}

/// Whether the service watches a project.
#[wire(Copy, Hash, schema)]
pub enum Serving {
    /// The project was added to the service.
    Served,
    /// The project was never added, or was removed.
    NotServed,
}

/// The facts by which proctor recognises a project's root directory, even after it was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootIdentity {
    /// The absolute path of the root, with invalid UTF-8 replaced.
    pub path: String,
    pub device: u64,
    pub inode: u64,
    /// The git common directory of the root; `None` if the project does not use git.
    pub git_common_directory: Option<String>,
}

/// A line of the ledger: the project was registered.
#[wire(schema)]
pub struct RegistrationRecord {
    pub project_id: ProjectId,
    /// The absolute path of the root, with invalid UTF-8 replaced.
    pub path: String,
    pub device: u64,
    pub inode: u64,
    /// The git common directory of the root; `None` if the project does not use git.
    pub git_common_directory: Option<String>,
    /// The digest of the plan with all defaults filled in. This line approves that plan.
    pub plan_digest: Digest,
    /// The demands of the plan for the project's own checks, which this line approves. `None` if this line approves no
    /// demands; always `None` in older lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Box<PlanTerms>>,
}

/// A sealed run: its hashes, its verdict, and the state that later runs need.
#[wire(schema, sparse)]
pub struct RunRecord {
    pub run_id: RunId,
    pub task: TaskId,
    /// The hash of the run's report, as the report's own field `authenticity.reportHash` has it (E13).
    pub report_hash: Digest,
    /// SHA-256 of the run's manifest, the file `SHA256SUMS`.
    pub manifest_hash: Digest,
    /// The digest of the tree that was tested; `None` if the run was interrupted before the tree was read.
    #[kept]
    pub tree_digest: Option<TreeDigest>,
    /// The format of the tree's digest.
    #[serde(default, skip_serializing_if = "TreeFormat::is_unnamed")]
    pub tree_format: TreeFormat,
    /// Where the checks worked; `None` if nothing was carried out, and in older lines.
    pub tested: Option<TestedPlace>,
    /// The digest of the run's environment; `None` if the run was interrupted before it was computed, or the specification has
    /// errors.
    #[kept]
    pub environment_digest: Option<Digest>,
    /// The digest of the plan; `None` if the run was interrupted before the plan was made, or the specification has errors.
    #[kept]
    pub plan_digest: Option<Digest>,
    /// The checks that a person selected by name; empty if all checks ran. The run says nothing about checks that were not
    /// selected.
    pub checks: Vec<String>,
    pub overall_status: OverallStatus,
    /// The verdict; `None` if the run has no verdict (E17).
    #[kept]
    pub overall_result: Option<OverallResult>,
    /// The number of results that make the verdict FAILED.
    pub blocking: u32,
    /// The exit code of a command that reports this run (G5); `None` in older lines, which did not record it.
    pub exit: Option<CommandExit>,
    /// The weakest isolation level of the run's actions if it was weaker than namespaces; `None` for namespaces, for a run
    /// without actions, and in older lines.
    pub isolation: Option<IsolationLevel>,
    /// Where the run sent the task; `None` if no route was decided (R2).
    #[kept]
    pub route: Option<RouteEntry>,
    /// The state of the task's cycle (RED, GREEN, REFACTOR) after the run; `None` if the run does not change this
    /// state.
    #[kept]
    pub tdd: Option<TddState>,
    /// For each prerequisite that succeeded, by name, the digest of its inputs and outputs. While this digest stays the
    /// same, the prerequisite need not run again. A prerequisite that is missing here failed, or its success is not
    /// known.
    pub prerequisites: BTreeMap<String, Digest>,
    /// The digests, by path, of configuration files that can change the meaning of a run (`configurationChanged`).
    pub configuration: BTreeMap<String, Digest>,
    /// The digests, by name, of the inputs of checks whose result may be reused in a later run. Only checks that ran to
    /// a definite result are listed.
    pub inputs: BTreeMap<String, Digest>,
    /// The checks of the plan in the plan's order, and how the run came to each result. `None` in older lines, for a run that
    /// does not count, and for a command that was typed, which is no check of the task.
    pub results: Option<Vec<CheckRecord>>,
    /// The programs of all actions of the run, in lines of earlier versions. Nothing is decided by them any more.
    pub programs: Option<Vec<ProgramRecord>>,
    /// What the results may depend on beside the tree. `None` in older lines, and for a run whose process died.
    pub conditions: Option<Box<RunConditions>>,
    /// The earlier runs from which results were reused, sorted. The files of these runs are part of the proof of this
    /// verdict. Older lines have no such list.
    pub reused: Vec<RunId>,
    pub started: Timestamp,
    /// When the last process of the run had ended.
    pub ended: Timestamp,
    /// This field is never written, because [`LedgerLine::signature`] covers the whole line. It is read only because
    /// old lines have it, with the value null.
    #[serde(default, skip_serializing)]
    #[kept]
    pub signature: Option<String>,
}

/// A run that a newer save stopped (E17).
#[wire(schema, sparse)]
pub struct SupersededRecord {
    pub run_id: RunId,
    pub task: TaskId,
    pub tree_digest: TreeDigest,
    /// The prerequisites of the stopped run that succeeded or did not need to run, as in [`RunRecord::prerequisites`].
    pub prerequisites: BTreeMap<String, Digest>,
    /// The programs that the run started before it was stopped, as in [`RunRecord::programs`].
    pub programs: Option<Vec<ProgramRecord>>,
    /// What changed of the installed packages while its checks ran, as in [`RunConditions::left_in_environment`].
    pub left_in_environment: BTreeMap<String, String>,
    pub started: Timestamp,
}

/// The ledger's record that a command changed the phase of a task's cycle (RED, GREEN, REFACTOR).
#[wire(schema)]
pub struct PhaseRecord {
    pub task: TaskId,
    /// The word of the command: `start`, `phase` or `reset`.
    pub verb: String,
    /// The phase before the change.
    pub from: Phase,
    /// The state of the task's cycle after the change.
    pub tdd: TddState,
}

/// A person's decision on a task that waited for a person.
#[wire(schema)]
pub struct OverrideRecord {
    pub task: TaskId,
    /// The person's reason, in the person's own words.
    pub reason: String,
    /// The state of the task's cycle after the decision. The last entry of its route history is this decision.
    pub tdd: TddState,
}

impl RunRecord {
    /// Returns a record for a run without a verdict and without a route. Fields that no parameter sets are empty.
    pub fn without_verdict(
        run_id: RunId,
        task: TaskId,
        report_hash: Digest,
        status: OverallStatus,
        time: (Timestamp, Timestamp),
    ) -> Self {
        Self {
            run_id,
            task,
            report_hash,
            manifest_hash: Digest::of(b""),
            tree_digest: None,
            tree_format: TreeFormat::CURRENT,
            tested: None,
            environment_digest: None,
            plan_digest: None,
            checks: Vec::new(),
            overall_status: status,
            overall_result: None,
            blocking: 0,
            exit: None,
            isolation: None,
            route: None,
            tdd: None,
            prerequisites: BTreeMap::new(),
            configuration: BTreeMap::new(),
            inputs: BTreeMap::new(),
            results: None,
            programs: None,
            conditions: None,
            reused: Vec::new(),
            started: time.0,
            ended: time.1,
            signature: None,
        }
    }

    /// Returns whether the task's link `latest` points to the run: it has a verdict (E17), and the verdict covers all
    /// checks and not only selected ones.
    pub fn leads_latest(&self) -> bool {
        self.overall_status.counts() && self.checks.is_empty()
    }

    /// Returns whether the run was judged by rules that were not approved. A run by approved rules is never compared with it.
    pub fn is_by_changed_rules(&self) -> bool {
        self.conditions.as_ref().is_some_and(|conditions| conditions.rules_changed.is_some())
    }
}

/// The program of one action in a run, and whether it did any work.
#[wire(PartialOrd, Ord, schema)]
pub struct ProgramRecord {
    /// The name of the action.
    pub name: String,
    /// The first word of the action's command.
    pub program: String,
    /// The tool whose output was interpreted.
    pub tool: Tool,
    pub ending: ProgramEnding,
}

/// Whether a program did any work.
#[wire(Copy, PartialOrd, Ord, schema)]
pub enum ProgramEnding {
    /// proctor found no such program, so nothing was started.
    NotFound,
    /// The tool refused its command line or its configuration, or a launcher said that what it should start is not there.
    UsageError,
    /// Anything else, also a program that was stopped.
    Ran,
}
