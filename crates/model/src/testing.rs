//! Values that the unit tests of all folders share.

use std::time::Duration;

use crate::{
    Action, ActionDefaults, ActionPhase, Asker, CommandLine, Digest, LEDGER_SCHEMA, LedgerBody, LedgerLine, OnSurvivors, Plan,
    PlanOrigin, Sequence, TaskId, Timestamp, Tool,
};

/// Returns the first action of a phase, with the command `true`. A test changes the fields that it is about.
pub fn action(tool: Tool, phase: ActionPhase) -> Action {
    let command = CommandLine { argv: vec!["true".into()], display: "true".into(), shell: false };
    let defaults = ActionDefaults {
        timeout: Duration::from_secs(300),
        idle_timeout: None,
        max_output: None,
        grace: Duration::from_secs(5),
        on_survivors: OnSurvivors::Report,
    };
    Action { description: "a check".into(), ..Action::plain(phase, 1, ("check", tool), command, defaults) }
}

/// Returns a plain GENERIC action of a phase.
pub fn generic_action(phase: ActionPhase) -> Action {
    action(Tool::Generic, phase)
}

/// Returns a plan without actions.
pub fn empty_plan() -> Plan {
    Plan::empty(TaskId::default_task(), "project".into(), PlanOrigin::Configured)
}

/// Returns an unsigned ledger line with this number and content; asker, time and previous digest are placeholders.
pub fn ledger_line(sequence: u64, body: LedgerBody) -> LedgerLine {
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
