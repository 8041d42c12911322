//! The nodes N3 and N5 of the workflow: a person edits the draft (N3), or the draft and its review (N5), and then
//! decides what happens to the draft.

use crate::governance::event::{
    EditorFile, PauseReason, PersonAnswer, WorkflowEffect, WorkflowEnding, WorkflowEvent, WorkflowTransition,
};
use crate::governance::gate::{GateChoice, WorkflowGate, parse_choice};
use crate::governance::machine::TransitionBuilder;
use crate::governance::record::{TrailEntry, TrailKind};
use crate::governance::state::{DecisionPhase, DecisionSubject, DraftBasis, WorkflowNode, WorkflowState};
use crate::governance::verdict::IssueVerdict;
use crate::governance::wording;
use proctor_model::Digest;

pub(super) fn pending_effect(
    state: &WorkflowState,
    subject: &DecisionSubject,
    copy_number: u32,
    phase: DecisionPhase,
) -> WorkflowEffect {
    match phase {
        DecisionPhase::Editing => {
            let (draft, verdict) = subject.copy_names(copy_number);
            let review = subject.review.as_ref().map(|review| review.text.clone());
            WorkflowEffect::Edit {
                draft: EditorFile { name: draft, text: subject.draft.clone() },
                verdict: verdict.zip(review).map(|(name, text)| EditorFile { name, text }),
            }
        }
        DecisionPhase::Choosing => WorkflowEffect::Ask(wording::decision(state, subject)),
        DecisionPhase::Overriding => {
            WorkflowEffect::Ask(wording::confirm_override(subject.verdict().unwrap_or(IssueVerdict::Unknown)))
        }
        DecisionPhase::AskingForMoreLoops => WorkflowEffect::Ask(wording::more_loops(state.counters.iterations)),
        DecisionPhase::Feedback => WorkflowEffect::Ask(wording::feedback(&state.model_names.drafter)),
    }
}

/// Returns the gate whose question is asked in a phase; `None` while the person edits or is asked for feedback.
fn gate(subject: &DecisionSubject, phase: DecisionPhase) -> Option<WorkflowGate> {
    match phase {
        DecisionPhase::Choosing if subject.review.is_some() => Some(WorkflowGate::Verdict),
        DecisionPhase::Choosing => Some(WorkflowGate::Draft),
        DecisionPhase::Overriding => Some(WorkflowGate::Override),
        DecisionPhase::AskingForMoreLoops => Some(WorkflowGate::Loops),
        DecisionPhase::Editing | DecisionPhase::Feedback => None,
    }
}

impl TransitionBuilder {
    pub(super) fn decide(
        self,
        subject: DecisionSubject,
        copy_number: u32,
        phase: DecisionPhase,
        event: WorkflowEvent,
    ) -> WorkflowTransition {
        match (phase, event) {
            (DecisionPhase::Editing, WorkflowEvent::Edited { draft, verdict }) => {
                self.apply_edit(subject, copy_number, draft, verdict)
            }
            (DecisionPhase::Editing, WorkflowEvent::StepFailed(why)) => self.pause(why),
            (DecisionPhase::Editing, _) => self.finish(),
            (_, WorkflowEvent::Answered(PersonAnswer::Nobody)) => self.finish_with(WorkflowEnding::Paused(PauseReason::Nobody)),
            (DecisionPhase::Feedback, WorkflowEvent::Answered(PersonAnswer::Line(line))) => self.take_feedback(subject, &line),
            (_, WorkflowEvent::Answered(PersonAnswer::Line(line))) => match gate(&subject, phase) {
                Some(gate) => self.apply_answer(subject, copy_number, gate, &line),
                None => self.finish(),
            },
            (_, _) => self.finish(),
        }
    }

    /// N3 step 4 and N5 step 3: takes over the texts as the person left them in the editor: the draft, and at N5 also
    /// the review (B2). Later steps use only these texts.
    fn apply_edit(
        mut self,
        mut subject: DecisionSubject,
        copy_number: u32,
        draft: String,
        verdict: Option<String>,
    ) -> WorkflowTransition {
        let (draft_copy, verdict_copy) = subject.copy_names(copy_number);
        self.record_entry(TrailEntry { name: draft_copy, sha256: Digest::of(draft.as_bytes()) });
        subject.draft = draft;
        if let (Some(review), Some(name), Some(text)) = (subject.review.as_mut(), verdict_copy, verdict) {
            self.record_entry(TrailEntry { name, sha256: Digest::of(text.as_bytes()) });
            review.text = text;
        }
        self.enter(WorkflowNode::Decide { subject, copy_number, phase: DecisionPhase::Choosing })
    }

    fn apply_answer(mut self, subject: DecisionSubject, copy_number: u32, gate: WorkflowGate, line: &str) -> WorkflowTransition {
        let Some(choice) = parse_choice(gate, line) else {
            self.say(wording::invalid_answer(line, gate));
            return self.finish();
        };
        let is_empty = subject.draft.trim().is_empty();
        if is_empty && matches!(choice, GateChoice::Send | GateChoice::Approve) {
            self.say("the draft is empty: there is nothing to send".to_owned());
            return self.finish();
        }
        if choice == GateChoice::Approve && subject.verdict().is_none_or(IssueVerdict::blocks) {
            // The review blocks, so the person must confirm the approval before the decision is recorded (B19).
            return self.enter(WorkflowNode::Decide { subject, copy_number, phase: DecisionPhase::Overriding });
        }
        self.keep_decision(gate, choice, (&subject, copy_number));
        let to = |phase| WorkflowNode::Decide { subject: subject.clone(), copy_number, phase };
        match choice {
            GateChoice::Send => self.enter(WorkflowNode::Review { subject }),
            GateChoice::Approve | GateChoice::Override => self.approve(subject, choice == GateChoice::Override),
            GateChoice::Decline => self.enter(to(DecisionPhase::Choosing)),
            GateChoice::Revise if self.state.counters.iterations >= self.state.raised_limits.iterations => {
                self.enter(to(DecisionPhase::AskingForMoreLoops))
            }
            GateChoice::Continue => {
                let more = self.state.limits.iterations;
                self.state.raised_limits.iterations = self.state.counters.iterations.saturating_add(more);
                self.enter(to(DecisionPhase::Feedback))
            }
            GateChoice::Revise => self.enter(to(DecisionPhase::Feedback)),
            GateChoice::Manual => {
                self.state.node = to(DecisionPhase::Editing);
                self.finish_with(WorkflowEnding::Paused(PauseReason::Manual))
            }
            GateChoice::Resume | GateChoice::NewName | GateChoice::Abort | GateChoice::Retry | GateChoice::Edit => self.finish(),
        }
    }

    /// N3 step 8 and N5 step 7: writes the feedback to the trail, and asks the drafter for another draft. If the
    /// feedback is empty, the person is asked again.
    fn take_feedback(mut self, subject: DecisionSubject, line: &str) -> WorkflowTransition {
        let feedback = line.trim().to_owned();
        if feedback.is_empty() {
            self.say("without feedback the drafter has nothing to do".to_owned());
            return self.finish();
        }
        let number = self.next_number();
        self.keep(number, TrailKind::Feedback, format!("{feedback}\n"));
        let verdict = subject.review.map(|review| review.text).filter(|text| !text.trim().is_empty());
        self.enter(WorkflowNode::Draft { basis: DraftBasis::Revision { feedback, draft: subject.draft, verdict } })
    }
}
