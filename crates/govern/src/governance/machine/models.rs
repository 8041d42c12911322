//! The nodes N2 and N4 of the workflow: a model is asked, and its answer goes to a person. If the model gives no
//! answer, the workflow pauses (B14).

use crate::governance::event::{PauseReason, WorkflowEffect, WorkflowEnding, WorkflowEvent, WorkflowTransition};
use crate::governance::machine::TransitionBuilder;
use crate::governance::prompt::{TamperedPrompt, draft_prompt, review_prompt};
use crate::governance::record::{ConsultationRecord, to_text};
use crate::governance::state::{DecisionPhase, DecisionSubject, DraftBasis, DraftReview, WorkflowNode, WorkflowState};
use crate::governance::trail::TrailKind;
use crate::governance::verdict::parse_verdict;

pub(super) fn ask_drafter(state: &WorkflowState, basis: &DraftBasis) -> WorkflowEffect {
    draft_prompt(&state.brief, basis).map_or_else(pause_on_tampering, |prompt| WorkflowEffect::AskDrafter { prompt })
}

pub(super) fn ask_reviewer(subject: &DecisionSubject) -> WorkflowEffect {
    review_prompt(&subject.draft).map_or_else(pause_on_tampering, |prompt| WorkflowEffect::AskReviewer { prompt })
}

fn pause_on_tampering(error: TamperedPrompt) -> WorkflowEffect {
    WorkflowEffect::End(WorkflowEnding::Paused(PauseReason::Failed(error.to_string())))
}

impl TransitionBuilder {
    /// N2 steps 5 to 7, and N3 step 1: writes the new draft to the trail, counts it, and opens the editor on it.
    pub(super) fn receive_draft(self, event: WorkflowEvent) -> WorkflowTransition {
        let (mut step, number, text) = match self.take_answer(event, "drafter") {
            Ok(answered) => answered,
            Err(transition) => return *transition,
        };
        let draft_file = step.keep(number, TrailKind::Draft, text.clone());
        step.state.counters.drafts += 1;
        step.state.counters.iterations += 1;
        let subject = DecisionSubject { draft_file, draft: text, review: None };
        step.enter(WorkflowNode::Decide { subject, copy_number: number, phase: DecisionPhase::Editing })
    }

    /// N4 steps 5 and 6: writes the review to the trail, counts it, and opens the editor on draft and review.
    pub(super) fn receive_review(self, subject: DecisionSubject, event: WorkflowEvent) -> WorkflowTransition {
        let (mut step, number, text) = match self.take_answer(event, "reviewer") {
            Ok(answered) => answered,
            Err(transition) => return *transition,
        };
        let file = step.keep(number, TrailKind::Verdict, text.clone());
        step.state.counters.verdicts += 1;
        let review = DraftReview { file, reviewer_verdict: parse_verdict(&text), text, reviewed_draft: subject.draft.clone() };
        let subject = DecisionSubject { review: Some(review), ..subject };
        step.enter(WorkflowNode::Decide { subject, copy_number: number, phase: DecisionPhase::Editing })
    }

    /// Returns a model's answer, and the number that begins the names of its files in the trail. If there is no answer,
    /// returns a transition instead: a pause if the model failed or printed nothing, or no change if the event does not
    /// fit.
    fn take_answer(mut self, event: WorkflowEvent, who: &str) -> Result<(Self, u32, String), Box<WorkflowTransition>> {
        if let WorkflowEvent::ModelAnswered { text, record: consulted } = event {
            let number = self.keep_consultation(&consulted);
            if text.trim().is_empty() {
                return Err(Box::new(self.pause(format!("the {who} has printed nothing"))));
            }
            return Ok((self, number, text));
        }
        if let WorkflowEvent::ConsultationFailed { why, record: consulted } = event {
            self.keep_consultation(&consulted);
            return Err(Box::new(self.pause(why)));
        }
        if let WorkflowEvent::StepFailed(why) = event {
            return Err(Box::new(self.pause(why)));
        }
        Err(Box::new(self.finish()))
    }

    fn keep_consultation(&mut self, consulted: &ConsultationRecord) -> u32 {
        let number = self.next_number();
        self.keep(number, TrailKind::Consultation, to_text(consulted));
        number
    }
}
