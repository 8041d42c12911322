//! Handles a person's approval, given in another process while the watch or the service waits: the tasks whose runs were
//! refused run at once. Pure.

use std::collections::BTreeSet;

use crate::effect::Effect;
use crate::engine::Engine;
use crate::engine::round::{Round, RoundChecks};
use crate::engine::stage::{LookPurpose, Stage};
use crate::event::RunFinish;
use proctor_model::TriggerKind;

impl Engine {
    /// Notes whether the run that has ended was refused because its plan is not approved, and whether there was a run at all.
    pub(super) fn note_refusal(&mut self, finished: &RunFinish) {
        self.of_current().is_held = matches!(finished, RunFinish::Paused | RunFinish::Refused | RunFinish::Untriggered);
        match finished {
            RunFinish::Refused => self.of_current().is_refused = true,
            RunFinish::Verdict { .. }
            | RunFinish::Partial { .. }
            | RunFinish::Moved { .. }
            | RunFinish::Paused
            | RunFinish::Waits => self.of_current().is_refused = false,
            // These ends come before the plan is compared with the approved one, or may do so.
            RunFinish::Stopped | RunFinish::Unchanged | RunFinish::Untriggered | RunFinish::Failed => {}
        }
    }

    /// Starts the refused tasks if a person has approved something and nothing else is under way or due. If something is,
    /// the approval is kept until that is over. An approval is used once, so a task that is refused again waits for the next
    /// one.
    pub(super) fn start_approved(&mut self) -> Option<Effect> {
        let is_burst_due = self.burst.is_some() && !self.is_only_busy();
        let is_at_rest = matches!(self.stage, Stage::Idle) && !is_burst_due && self.repetition.is_none();
        if !is_at_rest || !std::mem::take(&mut self.approval_owed) {
            return None;
        }
        self.round = Some(Round::new(TriggerKind::Request, BTreeSet::new(), RoundChecks::Refused));
        self.next_of_round(LookPurpose::Request)
    }
}
