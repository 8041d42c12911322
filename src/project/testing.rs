//! Values that the tests of this folder share.

use crate::model::{
    Action, ActionPhase, ApprovalTerms, Asker, Digest, LEDGER_SCHEMA, LedgerBody, LedgerLine, Plan, PlanOrigin, Sequence, TaskId,
    Timestamp, Tool, testing,
};

/// Returns a plain GENERIC action of a phase.
pub(crate) fn action(phase: ActionPhase) -> Action {
    testing::action(Tool::Generic, phase)
}

/// Returns a plan without actions.
pub(crate) fn plan() -> Plan {
    Plan {
        task: TaskId::default_task(),
        project_name: "project".into(),
        origin: PlanOrigin::Configured,
        specification: None,
        prerequisites: Vec::new(),
        steps: Vec::new(),
        cleanup: Vec::new(),
        criteria: None,
        debt: None,
        notes: Vec::new(),
        order: Vec::new(),
        parallel: false,
        timeout: None,
        approval: ApprovalTerms::default(),
    }
}

/// Returns a ledger line with this number and body.
pub(crate) fn ledger_line(sequence: u64, body: LedgerBody) -> LedgerLine {
    LedgerLine {
        schema: LEDGER_SCHEMA.to_owned(),
        sequence: Sequence(sequence),
        previous: Digest::of(b""),
        time: Timestamp::from_millis(0),
        asker: Asker { pid: 1, uid: 0, executable: None, terminal: None },
        body,
        signature: None,
    }
}
