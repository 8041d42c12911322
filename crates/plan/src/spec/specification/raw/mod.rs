//! The types of the file format: test specification 2.0.0 and proctor's additions, with fields in the order of the file.

mod action;
mod document;
mod parameters;
mod policy;
mod task;

pub use action::{
    RawAction, RawActionExtension, RawEvidenceCapture, RawExpectedOutcome, RawReady, RawReview, RawService, RawTaskExtension,
};
pub use document::{
    RawBrowserConfig, RawBrowserType, RawCapacityThresholds, RawCustomScriptConfig, RawDatabaseQueryConfig, RawDebtConfiguration,
    RawDevServer, RawDockerCommandConfig, RawExecutionEngine, RawExecutorConfigurations, RawFileValidationConfig,
    RawGlobalConfiguration, RawHttpRequestConfig, RawMetadata, RawMisplacedExecutorConfig, RawSpecification,
    RawTerminalCommandConfig,
};
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
    RawCompletionCriteria, RawCondition, RawDebtExpectations, RawEvidenceKind, RawExecutionWorkflow, RawExpectedOutput,
    RawLikelyFailure, RawMcpValidation, RawTask, RawTestExecution, RawValidationCriteria, RawWorkflowPrerequisite,
    RawWorkflowPrerequisiteType,
};
