//! The keys of the master report in the design document seed 004 that are not filled, each with the reason. An absent
//! key is better than an invented value.

/// A key of the master report in seed 004 that proctor's reports do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnfilledKey {
    /// The key's path in the master report; `[]` stands for any entry of a list. The keys below this path are not
    /// filled either.
    pub(super) path: &'static str,
    pub(super) reason: &'static str,
}

const SELF_CLAIM: &str = "a file cannot attest to its own later state: `proctor verify` answers it (E13)";
const ERROR_OBJECT: &str = "seed 004's detailed example has the error as an object with this key, which is what we write";

/// The keys of the master report in seed 004 that proctor does not fill.
pub(super) const UNFILLED_KEYS: [UnfilledKey; 12] = [
    UnfilledKey { path: "agentInvolved", reason: SELF_CLAIM },
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
    UnfilledKey { path: "authenticity.nodeVersion", reason: "engineVersion stands in for it (E1)" },
    UnfilledKey { path: "authenticity.signatureAlgorithm", reason: "the signature covers the file and lies beside it (S4)" },
    UnfilledKey { path: "authenticity.tamperDetection", reason: SELF_CLAIM },
    UnfilledKey { path: "authenticity.agentModificationDetected", reason: SELF_CLAIM },
];

const NOT_SEEN: &str = "nothing that was seen says it, and proctor does not guess (facts of this file come from results alone)";
const NO_SPRINT: &str = "proctor routes items and keeps no sprint: it knows no task of one";

/// The keys of the original debt file that proctor does not fill.
pub(super) const UNFILLED_DEBT_KEYS: [UnfilledKey; 12] = [
    UnfilledKey { path: "agentInvolved", reason: SELF_CLAIM },
    UnfilledKey { path: "debtItems[].classification.estimatedEffort", reason: NOT_SEEN },
    UnfilledKey { path: "debtItems[].routing.sprintTaskId", reason: NO_SPRINT },
    UnfilledKey {
        path: "debtItems[].evidence.relevantLogLines",
        reason: "findings are read from reports and streams, and no line of the log is known to be theirs",
    },
    UnfilledKey { path: "debtItems[].evidence.screenshots", reason: "proctor drives no browser (E8)" },
    UnfilledKey { path: "debtItems[].agentInstructions.taskFileUpdate", reason: NO_SPRINT },
    UnfilledKey { path: "debtItems[].agentInstructions.inventoryUpdate", reason: NO_SPRINT },
    UnfilledKey {
        path: "debtItems[].agentInstructions.prohibitedActions",
        reason: "what an agent may do is the same for every item, and is enforced, not written down",
    },
    UnfilledKey {
        path: "routingSummary.sprintCapacity.criticalHighTasks",
        reason: "specification 2.0.0 limits CRITICAL items alone: criticalTasks and maxCritical",
    },
    UnfilledKey {
        path: "routingSummary.sprintCapacity.maxCriticalHigh",
        reason: "specification 2.0.0 limits CRITICAL items alone: criticalTasks and maxCritical",
    },
    UnfilledKey { path: "authenticity.signatureVerification", reason: SELF_CLAIM },
    UnfilledKey { path: "authenticity.tamperDetection", reason: SELF_CLAIM },
];
