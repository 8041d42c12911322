//! Values that unit tests of every folder share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::model::{Action, ActionId, ActionKind, ActionPhase, CommandLine, EvidenceCapture, OnSurvivors, Reuse, Tool};

/// Returns the first action of a phase, whose tool is run as `true`. Tests change what they are about.
pub(crate) fn action(tool: Tool, phase: ActionPhase) -> Action {
    Action {
        id: ActionId::numbered(phase.prefix(), 1),
        phase,
        name: "check".into(),
        description: "a check".into(),
        tool,
        class: tool.class(),
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
        kind: ActionKind::Command,
        control: false,
        retry_attempts: 0,
        continue_on_failure: phase != ActionPhase::Prerequisite,
        after: Vec::new(),
        capture: EvidenceCapture::default(),
    }
}
