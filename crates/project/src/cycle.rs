//! Changes of a task's TDD cycle by a command. `routing/` decides on the change, and this file writes it to the ledger
//! (R6, R9).

use crate::error::ProjectError;
use crate::request::{ProjectScope, ProjectSettings};
use crate::workspace::Workspace;
use proctor_model::{CycleRequest, LedgerBody, OverrideRecord, PhaseRecord, TddState};
use proctor_plan::routing;

/// Whether a person is present to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PersonPresence {
    /// The caller has a terminal.
    Person,
    /// The caller has no terminal, so a program makes the request.
    Nobody,
}

impl Workspace {
    /// Changes a task's cycle and returns its new state.
    ///
    /// # Errors
    ///
    /// When the change is not possible in the current state, when only a person may make it, or when the ledger cannot
    /// be written.
    pub fn change_cycle(
        &mut self,
        scope: &ProjectScope,
        settings: &ProjectSettings,
        request: &CycleRequest,
        attendance: PersonPresence,
    ) -> Result<TddState, ProjectError> {
        let lock = self.evidence.lock(scope, settings.lock_wait, &|| None, &mut |_| {})?;
        // What a person decides can be recorded on a full disk too.
        let is_decided_by_person = attendance == PersonPresence::Person;
        let _reserve = is_decided_by_person.then(|| self.evidence.store.use_reserve()).transpose()?;
        let mut ledger = self.evidence.recovered_ledger(&lock, scope, &mut |_| {})?;
        self.evidence.catch_up(&scope.project)?;
        let task = request.task();
        let before = self.evidence.tdd(&scope.project, task)?;
        if attendance == PersonPresence::Nobody && needs_a_person(request, &before) {
            return Err(ProjectError::PersonNeeded { task: task.clone() });
        }
        let body = body(&before, request, settings)?;
        self.evidence.append(&mut ledger, scope, body)?;
        self.evidence.tdd(&scope.project, task)
    }
}

/// Returns whether only a person may make the change. Only a person may end a pause of a task, whichever command is
/// used (R9).
fn needs_a_person(request: &CycleRequest, before: &TddState) -> bool {
    match request {
        CycleRequest::Resolve { .. } => true,
        CycleRequest::Reset { .. } => before.paused.is_some(),
        CycleRequest::Start { .. } | CycleRequest::Phase { .. } => false,
    }
}

fn body(before: &TddState, request: &CycleRequest, settings: &ProjectSettings) -> Result<LedgerBody, ProjectError> {
    let state = before.clone();
    let task = request.task();
    let (verb, tdd) = match request {
        CycleRequest::Start { phase, .. } => ("start", routing::start_cycle(state, Some(*phase)).map_err(ProjectError::Cycle)?),
        CycleRequest::Phase { phase, .. } => ("phase", routing::set_phase(state, *phase).map_err(ProjectError::Cycle)?),
        CycleRequest::Reset { .. } => ("reset", routing::reset(before)),
        CycleRequest::Resolve { to, reason, .. } => {
            let tdd = routing::resolve(state, *to, reason, &settings.routing).map_err(ProjectError::Cycle)?;
            return Ok(LedgerBody::Override(OverrideRecord { task: task.clone(), reason: reason.clone(), tdd }));
        }
    };
    Ok(LedgerBody::Phase(PhaseRecord { task: task.clone(), verb: verb.to_owned(), from: before.phase, tdd }))
}
