//! Test specifications, schema 2.0.0: from a text to tasks, or to everything that is wrong with it at once.
//!
//! Owns the wire types, the published JSON Schema, the reading and the lint. Reading has three parts: `scan` knows where things
//! stand, `shape` holds the text to the schema, and `lint` holds what it means to rules of its own;
//! `change` says what a proposed text changes. May not open files or run
//! anything; what a specification amounts to as a plan is made next door.

mod change;
mod invalid;
mod line_index;
mod lint;
mod raw;
mod read;
mod scan;
mod schema;
mod shape;
#[cfg(test)]
mod tests;

pub(super) use lint::{ROOT_WORD, STRICTNESS_UNCHECKED, SUITE_TIMEOUT, below};

pub use change::compare_specifications;
pub use invalid::InvalidAction;
pub use lint::{LINTS, LintRow};
pub use raw::{
    RawAction, RawActionExtension, RawBrowserAction, RawBrowserConfig, RawBrowserParameters, RawBrowserType,
    RawCapacityThresholds, RawCompilationPolicy, RawCompilationStrategy, RawCompletionCriteria, RawCondition,
    RawCustomScriptConfig, RawCustomScriptParameters, RawDatabaseQueryConfig, RawDatabaseQueryParameters, RawDebtConfiguration,
    RawDebtExpectations, RawDevServer, RawDockerCommandConfig, RawDockerCommandParameters, RawDockerVerb, RawEvidenceCapture,
    RawEvidenceKind, RawExecutionEngine, RawExecutionWorkflow, RawExecutorConfigurations, RawExpectedOutcome, RawExpectedOutput,
    RawFileValidationConfig, RawFileValidationParameters, RawGlobalConfiguration, RawHttpRequestConfig, RawHttpRequestParameters,
    RawInterpreter, RawLikelyFailure, RawLintToolPolicy, RawLintTools, RawLintingPolicy, RawLintingStrategy, RawMcpValidation,
    RawMetadata, RawMisplacedExecutorConfig, RawParameters, RawQueryType, RawReady, RawReview, RawService, RawShell,
    RawSpecification, RawTask, RawTaskExtension, RawTerminalCommandConfig, RawTerminalCommandParameters, RawTestExecution,
    RawTypeCheckBlockOn, RawTypeCheckToolPolicy, RawTypeCheckTools, RawTypeCheckingPolicy, RawTypeCheckingStrategy,
    RawValidateResults, RawValidationCriteria, RawValidationPolicy, RawValidationType, RawWorkflowPrerequisite,
    RawWorkflowPrerequisiteType,
};
pub use read::{Reading, SPECIFICATION_SUFFIX, Specification, Surroundings, read_specification};
pub use schema::SCHEMA_TEXT;
