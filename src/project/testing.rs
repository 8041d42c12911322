//! Values the tests of this folder share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::model::{
    Action, ActionId, ActionKind, ActionPhase, ApprovalTerms, Asker, CommandLine, Digest, EvidenceCapture, LEDGER_SCHEMA,
    LedgerBody, LedgerLine, OnSurvivors, Plan, PlanOrigin, Reuse, Sequence, TaskId, Timestamp, Tool, ToolClass,
};

/// Returns a plain GENERIC action of a phase.
pub(crate) fn action(phase: ActionPhase) -> Action {
    Action {
        id: ActionId::numbered(phase.prefix(), 1),
        phase,
        name: "check".into(),
        description: "a check".into(),
        tool: Tool::Generic,
        class: ToolClass::Generic,
        command_is_ours: false,
        command: CommandLine { argv: vec!["true".into()], display: "true".into(), shell: false },
        directory: PathBuf::new(),
        environment: BTreeMap::new(),
        timeout: Duration::from_secs(300),
        idle_timeout: None,
        max_output: None,
        grace: Duration::from_secs(5),
        paths: Vec::new(),
        reuse: Reuse::Off,
        once: None,
        service: None,
        policy: None,
        coverage: None,
        expected_exit_codes: vec![0],
        on_survivors: OnSurvivors::Report,
        kind: ActionKind::TerminalCommand,
        control: false,
        retry_attempts: 0,
        continue_on_failure: phase != ActionPhase::Prerequisite,
        after: Vec::new(),
        capture: EvidenceCapture::default(),
    }
}

/// Returns a plan that does nothing.
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

/// Returns a line of a ledger.
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
