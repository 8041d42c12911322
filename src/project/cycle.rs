//! Changes of a task's TDD cycle by command: decided in `routing/`, written to the ledger here (R6, R9).

use crate::evidence::Ledger;
use crate::model::{CycleRequest, LedgerBody, OverrideRecord, PhaseRecord, TddState};
use crate::process::clock;
use crate::project::error::RunError;
use crate::project::request::{Scope, Settings};
use crate::project::workspace::Workspace;
use crate::routing;

/// Whether a person is there to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Attendance {
    /// Who asks has a terminal.
    Person,
    /// Who asks has none: a program.
    Nobody,
}

impl Workspace {
    /// Changes a task's cycle and returns its state from here on.
    ///
    /// # Errors
    /// When the change makes no sense now, when only a person may make it, or when the ledger cannot be written.
    pub fn change_cycle(
        &mut self,
        scope: &Scope,
        settings: &Settings,
        request: &CycleRequest,
        attendance: Attendance,
    ) -> Result<TddState, RunError> {
        let lock = self.lock(scope, settings.lock_wait, &|| None, &mut |_| {})?;
        let mut ledger = self.recovered_ledger(&lock, scope, &mut |_| {})?;
        self.catch_up(&scope.project)?;
        let task = request.task();
        let before = self.tdd(&scope.project, task)?;
        if attendance == Attendance::Nobody && needs_a_person(request, &before) {
            return Err(RunError::PersonNeeded { task: task.clone() });
        }
        let body = body(&before, request, settings)?;
        self.append(&mut ledger, scope, body)?;
        self.tdd(&scope.project, task)
    }

    pub(crate) fn append(&mut self, ledger: &mut Ledger, scope: &Scope, body: LedgerBody) -> Result<(), RunError> {
        let line = ledger.append(body, &scope.asker, clock::now()).map_err(RunError::Evidence)?;
        self.apply(&scope.project, ledger.length(), line)
    }
}

/// Ending a pause is a person's decision, by whatever verb (R9).
fn needs_a_person(request: &CycleRequest, before: &TddState) -> bool {
    match request {
        CycleRequest::Resolve { .. } => true,
        CycleRequest::Reset { .. } => before.paused.is_some(),
        CycleRequest::Start { .. } | CycleRequest::Phase { .. } => false,
    }
}

fn body(before: &TddState, request: &CycleRequest, settings: &Settings) -> Result<LedgerBody, RunError> {
    let state = before.clone();
    let task = request.task();
    let (verb, tdd) = match request {
        CycleRequest::Start { phase, .. } => ("start", routing::start_cycle(state, Some(*phase)).map_err(RunError::Cycle)?),
        CycleRequest::Phase { phase, .. } => ("phase", routing::set_phase(state, *phase).map_err(RunError::Cycle)?),
        CycleRequest::Reset { .. } => ("reset", routing::reset(before)),
        CycleRequest::Resolve { to, reason, .. } => {
            let tdd = routing::resolve(state, *to, reason, &settings.routing).map_err(RunError::Cycle)?;
            return Ok(LedgerBody::Override(OverrideRecord { task: task.clone(), reason: reason.clone(), tdd }));
        }
    };
    Ok(LedgerBody::Phase(PhaseRecord { task: task.clone(), verb: verb.to_owned(), from: before.phase, tdd }))
}
