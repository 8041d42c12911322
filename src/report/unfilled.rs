//! Keys of seed 004's master report that are not filled, each with the reason. Absent is better than invented.

/// A key of the seed's example that our reports do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnfilledKey {
    /// Where it stands in the seed's example; `[]` is any entry of a list. All keys below it are meant too.
    pub path: &'static str,
    /// Why it is absent.
    pub reason: &'static str,
}

const SELF_CLAIM: &str = "a file cannot attest to its own later state: `proctor verify` answers it (E13, C75)";
const NO_SPECIFICATION: &str = "checks of proctor.toml and of discovery come from no test specification";
const NO_CONDITIONS: &str = "checks of proctor.toml and of discovery have no conditions; the verdict and its reason are there";
const NO_CRITERIA: &str = "no such criterion is configured for checks of proctor.toml and of discovery";
const NO_DEBT_FILE: &str = "no debt file is written yet; each action says in debtGeneration what would be due";
const ERROR_OBJECT: &str = "seed 004's detailed example has the error as an object with this key, which is what we write";

/// The keys that are not filled.
pub const UNFILLED_KEYS: [UnfilledKey; 22] = [
    UnfilledKey { path: "agentInvolved", reason: SELF_CLAIM },
    UnfilledKey { path: "testSpecification.schemaVersion", reason: NO_SPECIFICATION },
    UnfilledKey { path: "testSpecification.taskTitle", reason: NO_SPECIFICATION },
    UnfilledKey { path: "testSpecification.sprintId", reason: NO_SPECIFICATION },
    UnfilledKey { path: "stepExecution.results[].result.errorCode", reason: ERROR_OBJECT },
    UnfilledKey { path: "stepExecution.results[].result.message", reason: ERROR_OBJECT },
    UnfilledKey { path: "stepExecution.results[].result.errno", reason: ERROR_OBJECT },
    UnfilledKey { path: "stepExecution.results[].result.syscall", reason: ERROR_OBJECT },
    UnfilledKey { path: "stepExecution.results[].result.address", reason: ERROR_OBJECT },
    UnfilledKey { path: "stepExecution.results[].result.port", reason: ERROR_OBJECT },
    UnfilledKey {
        path: "stepExecution.results[].result.eslintResults",
        reason: "one shape for all tools' findings: diagnostics and summary (C69)",
    },
    UnfilledKey { path: "validationCriteriaEvaluation.successConditions", reason: NO_CONDITIONS },
    UnfilledKey { path: "validationCriteriaEvaluation.failureConditions", reason: NO_CONDITIONS },
    UnfilledKey { path: "completionCriteriaEvaluation.allStepsMustPass", reason: NO_CRITERIA },
    UnfilledKey { path: "completionCriteriaEvaluation.minimumPassRate", reason: NO_CRITERIA },
    UnfilledKey { path: "completionCriteriaEvaluation.requiredEvidence", reason: NO_CRITERIA },
    UnfilledKey { path: "completionCriteriaEvaluation.taskStatusLock", reason: NO_CRITERIA },
    UnfilledKey { path: "technicalDebtGenerated", reason: NO_DEBT_FILE },
    UnfilledKey { path: "authenticity.nodeVersion", reason: "engineVersion stands in for it (E1)" },
    UnfilledKey { path: "authenticity.signatureAlgorithm", reason: "reports are not signed yet; a hash is no signature (C75)" },
    UnfilledKey { path: "authenticity.tamperDetection", reason: SELF_CLAIM },
    UnfilledKey { path: "authenticity.agentModificationDetected", reason: SELF_CLAIM },
];
