//! The types that all other folders share, in files named after what they describe.
//!
//! This folder has data only: identifiers, digests, paths, phases, result types, findings, outcomes, routes, ledger
//! lines. It does no I/O and reads no clock. A constructor refuses a value of the wrong shape, such as a malformed id,
//! and checks nothing else. The JSON form of the report belongs to `report/`.

// What `#[wire]` makes names this crate, also in this crate.
extern crate self as proctor_model;

#[macro_use]
mod enum_words;

mod action_kind;
mod action_type;
mod approval;
mod check_record;
mod client_call;
mod criteria;
mod cycle;
mod debt;
mod digest;
mod errno;
mod evidence;
mod exit_code;
mod finding;
mod freshness;
mod gate_policy;
mod health;
mod ids;
mod interpretation;
mod isolation;
mod known;
mod ledger;
mod mounts;
mod observation;
pub mod os_text;
mod other_records;
mod outcome;
mod path;
mod person_asked;
mod plan;
mod policy;
mod post;
mod problem;
mod process;
mod protection;
mod remote;
mod repetition;
mod report_file;
mod retention;
mod route;
mod run_conditions;
mod sandbox_settings;
mod service;
mod shards;
mod shown;
mod size;
mod test_history;
mod test_progress;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time;
mod tool;
mod tool_row;
mod tree;
mod tree_difference;
mod watch;
mod words;

pub use action_kind::{
    ActionKind, EvidenceCapture, FileCheck, FileValidation, HttpBody, HttpMethod, HttpRequest, ResponseChecks, Script,
};
pub use action_type::{ActionOutline, ActionType, ActionWords, UnknownActionType, WrittenActionType};
pub use approval::{
    ActionTerms, ApprovalReason, ApprovalRecord, ApprovalWay, ApprovedProgram, AsksFor, CurrentApproval, FOUND_IN_PROJECT,
    JudgedSettings, PlanTerms, ProgramWay, RuleChange, RuleDifference, SettingValue, UnapprovedPlan, approve_command,
    plan_subject,
};
pub use check_record::{
    CheckCounts, CheckCoverage, CheckOutcome, CheckProof, CheckRecord, CheckStanding, CheckState, FailingRow, FailureName,
    FailurePast, KnownCheck, LastCheckResult, checks_sentence, newest_fresh_failure,
};
pub use client_call::{
    BrowserAction, BrowserSession, BrowserStep, ClientCall, ClientFacts, ContainerCommand, Database, DatabaseQuery, QueryKind,
    SqlPart, sql_parts,
};
pub use criteria::{
    ActualValue, ConditionValue, CriteriaEvaluation, ExpectedFailure, ExpectedOutput, JudgedCondition, JudgedExpectation,
    JudgedFailure, NoScalarError, TaskCompletion, TaskCondition, TaskCriteria,
};
pub use cycle::CycleRequest;
pub use debt::{DebtDestination, DebtOrigin, DebtRouting, DebtSettings, InventoryStatus, LikelyFailure, WorkType};
pub use digest::{Digest, DigestError, IdentityWriter};
pub use enum_words::read_word;
pub use errno::errno_name;
pub use evidence::{EvidenceFile, EvidenceKind, ExportFormat};
pub use exit_code::CommandExit;
pub use finding::{
    CategoryCode, Coverage, Diagnostic, DiagnosticSummary, FindingLevel, Fix, LISTED_TESTS, RelatedInformation, TestCase,
    TestCounts, TestFailure, TestOutcome, TestResults, ToolReport, UnlistedCount, UnlistedFindings,
};
pub use freshness::{
    Activity, Approval, Attention, CurrentPlan, CurrentRoot, CurrentToolchains, Freshness, FreshnessFacts, LastVerdict, MovedRun,
    ProjectStatus, StaleReason, VerdictStatus, WaitStep, compute_freshness,
};
pub use gate_policy::{
    ClaimOrigin, ClaimSigner, ClaimedCheck, ClaimedResult, FlakyTests, GateClaim, GatePolicy, ProofAsked, WeakenedChanges,
};
pub use health::{HealthProblem, ServiceTrouble};
pub use ids::{ActionId, DebtId, IdError, NameRule, ProjectId, RunId, Sequence, TaskId};
pub use interpretation::Interpretation;
pub use isolation::{
    Access, DroppedPlace, DroppedWrites, ENGINE_SOCKET_OPEN, EarlyUse, EnvironmentMount, IsolationFacts, IsolationLevel,
    KilledBy, LimitSetting, NetworkAccess, OPEN_WORLD, PackageCredentials, Place, ReachedIsolation, ReachedLevel, Sandbox,
    SnapshotMount, SystemCallFilter, UNNAMED_FILES, UnenforcedLimit, VisibleDirectory, VisibleKind, WrittenLayer,
};
pub use known::{AttestedBy, KnownCondition, KnownFrom};
pub use ledger::{
    ApprovingLine, Asker, LEDGER_SCHEMA, LedgerBody, LedgerLine, OverrideRecord, PhaseRecord, ProgramEnding, ProgramRecord,
    RegistrationRecord, RetestRecord, RootIdentity, RunLine, RunRecord, Serving, ServingRecord, SupersededRecord,
};
pub use mounts::{Mount, MountTable, SecondPath};
pub use observation::{
    ControlObservation, Diagnosis, Examined, ExaminedUnit, Exchange, ExchangeOutcome, FileObservation, FileState, FoundFile,
    HealthObservation, HealthResult, HttpAnswer, Observation, PortObservation, ServiceObservation, SystemFault,
};
pub use other_records::{
    ClaimRecord, GovernanceRecord, KeyRecord, KeyStatement, LedgerPosition, ProofOfTest, ProofRecord, TaskListRecord,
    ViolationKind, ViolationRecord, ledger_name,
};
pub use outcome::{
    ActionJudgement, AgentAction, Blocking, Classification, CompletionStatus, DebtCategory, DebtGeneration, OverallResult,
    OverallStatus, PartialReason, PolicyApplied, ResultType, Severity, TaskStatus,
};
pub use path::{PathError, TreePath};
pub use person_asked::{PersonAsked, PersonAskedFor};
pub use plan::{
    Action, ActionDefaults, ActionPhase, CheckOrder, CommandLine, CoverageTarget, LimitValue, OnChange, OnSurvivors,
    ParallelChecks, Plan, PlanNote, PlanOrigin, PlanSettings, Reuse, SkipWhileUnchanged, SpecificationSource,
};
pub use policy::{BlockOn, PolicySource, Prompt, Review, ReviewAttempt, ReviewObservation, ReviewVerdict, ToolPolicy};
pub use post::Post;
pub use problem::{Advice, BrokenRule, Gravity, Problem, TextPosition};
pub use process::{
    ActionEnd, ActionLimits, CapturedOutput, EndedAction, GroupUsage, HelperDeath, LimitEnforcement, LimitKind, ResourceLimits,
    SpawnFailure, StopReason, StopStage, StreamExcerpt, Survivor, Usage,
};
pub use protection::{AllowedSigner, ApprovalTerms, FileChangeKind, OnProtectedChange, ProtectedChange, ProtectedFiles};
pub use remote::{RemoteCertificates, RemotePackages, RemoteRun, RemoteServer, WithoutServer, written_below};
pub use repetition::{AfterMovedRun, OnDisk, Repetitions, is_covered};
pub use report_file::{LargeReport, LargeReportReader, ReportFile, ReportFileHistory, ReportFormat};
pub use retention::{ArchiveRecord, PROPOSED_MAX_BYTES, PruneReason, PruneRecord, PrunedRun, PurgeRecord, RetentionLimits};
pub use route::{
    AttemptRecord, CollectionErrorPolicy, ExitCodeSource, NextNode, PauseRecord, Phase, RouteDestination, RouteEntry, RouteKind,
    RoutingSettings, TddState,
};
pub use run_conditions::{
    CachesSeen, ChangedRules, FewerTests, IgnoredFiles, MOST_IGNORED_NAMED, MOST_REWRITTEN_NAMED, RunConditions, ToolchainRecord,
    Trigger, TriggerKind,
};
pub use sandbox_settings::{CachesMode, HomeAccess, ProtectionMode, SandboxSettings, World};
pub use service::{HealthUrl, HealthUrlError, PortHolder, ReadyCheck, Service};
pub use shards::{CheckStart, Shard, Shards};
pub use shown::{escaped_character, has_hidden_characters, is_hidden_character, shown_json, shown_line, shown_lines};
pub use size::{ByteSize, decode_percent, encode_percent};
pub use test_history::{
    CheckCost, CheckEnd, CheckStreak, ComparedCheck, ComparedTest, FlakyTest, FormerTestName, LoggedRun, MatrixTest, NamedTest,
    OutcomeChange, PastTestResult, ProofState, RenamedTest, RunComparison, RunTrends, SlowTests, SlowerTest, TestKey,
    TestKeyError, TestPast, TimeToGreen, TimedRun, TimedTest,
};
pub use test_progress::{EndedTest, FurtherTestCounts, TestBody, TestBodyError, TestProgress};
pub use time::{DurationMs, Timestamp};
pub use tool::{NPM_SETTINGS_FILES, Tool};
pub use tool_row::{
    EvidenceNames, FindingFacts, FindingKind, InstalledPackage, JudgedBy, OneTest, PolicyCategory, PolicyOptions, ToolClass,
    WarningsExit,
};
pub use tree::{CopiedFiles, EntryKind, TestedPlace, TreeComparison, TreeDigest, TreeFormat, TreeIssue, TreeIssueKind};
pub use tree_difference::{DifferingFile, TreeDifference, TreeFile, join_differences};
pub use watch::{GitOperation, PollReason, SyncId, WatchHint, WatchProblem};
pub use words::{has_word, is_assignment, is_variable_name, join_words, quote_word, quoted_text, split_words};
