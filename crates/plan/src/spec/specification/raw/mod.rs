//! The types of the file format: test specification 2.0.0 and proctor's additions, with fields in the order of the file.

/// Declares the words of the format for a part of the variants of another enum: `VARIANT MEANT` for each, where VARIANT is spelt as the
/// format spells its word.
macro_rules! words_of {
    ($(#[$attribute:meta])* $name:ident for $whole:ident: $($(#[$doc:meta])* $variant:ident $meant:ident,)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
        $(#[$attribute])*
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl From<$name> for $whole {
            fn from(word: $name) -> Self {
                match word { $($name::$variant => Self::$meant,)+ }
            }
        }
    };
}

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
