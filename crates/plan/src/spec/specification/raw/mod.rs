//! The types of the file format: test specification 2.0.0 and proctor's additions, with fields in the order of the file.

mod action;
mod criteria;
mod document;
mod engine;
mod extension;
mod parameters;
mod policy;
mod task;

pub use action::{RawAction, RawEvidenceCapture};
pub use criteria::{
    RawCompletionCriteria, RawCondition, RawDebtExpectations, RawEvidenceKind, RawExpectedOutput, RawLikelyFailure,
    RawValidationCriteria,
};
pub use document::{
    RawCapacityThresholds, RawDebtConfiguration, RawDevServer, RawGlobalConfiguration, RawMetadata, RawSpecification,
};
pub use engine::{
    RawBrowserConfig, RawBrowserType, RawCustomScriptConfig, RawDatabaseQueryConfig, RawDockerCommandConfig, RawExecutionEngine,
    RawExecutorConfigurations, RawFileValidationConfig, RawHttpRequestConfig, RawMisplacedExecutorConfig,
    RawTerminalCommandConfig,
};
pub use extension::{RawActionExtension, RawExpectedOutcome, RawReady, RawReview, RawService, RawTaskExtension};
pub use parameters::{
    RawBrowserAction, RawBrowserParameters, RawCustomScriptParameters, RawDatabaseQueryParameters, RawDockerCommandParameters,
    RawDockerVerb, RawFileValidationParameters, RawHttpRequestParameters, RawInterpreter, RawParameters, RawQueryType, RawShell,
    RawTerminalCommandParameters, RawValidateResults, RawValidationType,
};
pub use policy::{
    RawCompilationPolicy, RawCompilationStrategy, RawLintToolPolicy, RawLintTools, RawLintingPolicy, RawLintingStrategy,
    RawTypeCheckBlockOn, RawTypeCheckToolPolicy, RawTypeCheckTools, RawTypeCheckingPolicy, RawTypeCheckingStrategy,
    RawValidationPolicy,
};
pub use task::{
    RawExecutionWorkflow, RawMcpValidation, RawTask, RawTestExecution, RawWorkflowPrerequisite, RawWorkflowPrerequisiteType,
};
