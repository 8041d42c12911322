//! The stored formats: the execution report 2.0.0 (`…V2`) and the records beside it (`…V1`).
//!
//! This folder decides the keys and whether they are present. proctor's own types refuse unknown keys; findings, classifications
//! and routes have the form of the model's types. An `Option` key without a value is absent, except for keys that must be `null`.
//!
//! The design document seed 004 has the original format of the report. "(added to the original format)" marks a key
//! that seed 004 does not have.

mod action;
mod context;
mod criteria;
mod debt;
mod exchange;
mod observed;
mod record;
mod report;
mod tests_modified;

pub use action::{
    ActionImpactV2, ActionOutcomeV2, ActionResultV2, ByteRangeV2, DispositionV2, EarlyStartV2, ImpactV2, PrerequisiteImpactV2,
    ReusedV2, SchemaValidationV2, ShownV2, SkipReason,
};
pub use context::{
    CachesV2, ConfigurationChangeV2, ContentionV2, CustodyV2, EnvironmentComponentV2, EnvironmentV2, IsolationV2, ProjectV2,
    ReusedVerdictV2, RouteV2, SnapshotV2, SurvivorV2, TddV2, TreeIssueV2, TreeV2, UnenforcedLimitV2, WrittenV2,
};
pub use criteria::{
    ActualValueV2, CompletionV2, FailureConditionV2, FailureConditionsV2, MetCountsV2, RequiredEvidenceV2, SuccessConditionV2,
    ValidationCriteriaV2,
};
pub use debt::{
    AgentInstructionsV1, ContextV1, DebtAuthenticityV1, DebtClassificationV1, DebtDestinationsV2, DebtDiagnosticsV1,
    DebtEvidenceV1, DebtItemV1, DebtRouteV1, DebtSeveritiesV2, DebtTestFailureV1, EarlierItemV1, ErrorDetailsV1, HttpTraceV1,
    ImplementationGuidanceV1, OriginalErrorV1, RoutingSummaryV1, SprintCapacityV1, TechnicalDebtGeneratedV2, TechnicalDebtV1,
};
pub use exchange::{
    BodyV1, ExchangeDiagnosticsV1, ExchangeRecordV1, FileRecordV1, FileResultV1, JudgementV1, LookV1, RequestV1, ResponseV1,
    SeenByV1,
};
pub(in crate::report) use observed::names;
pub use observed::{AttemptV2, ConnectionDiagnosticsV2, DiagnosticsV2, HealthCheckV2, PortCheckV2, PortProcessV2, TextV2};
pub use record::{
    ActionRecordV1, DiagnosticsRecordV1, EnvironmentRecordV1, ExecutionV1, OutputV1, ProgramV1, RecordAuthenticityV1,
    RunStartDetailsV1, RunStartV1, TestLocationV1, TestRecordV1, TestResultsRecordV1, TestRunV1,
};
pub use report::{
    ActionCountsV2, ActionResultsV2, AuthenticityV2, CleanupExecutionV2, ExecutionReportV2, ExecutionSummaryV2,
    PrerequisiteExecutionV2, SpecificationErrorV2, StepExecutionV2, TestSpecificationV2, TestTotalsV2,
};
pub use tests_modified::{TestCountsChangeV2, TestCountsV2, TestsModifiedV2};
