//! N3 and N5: a person has the texts in an editor, then decides.

use crate::governance::event::{Answer, Effect, Ending, Event, PauseReason, Transition, WorkingCopy};
use crate::governance::gate::{Choice, Gate, parse_choice};
use crate::governance::machine::Step;
use crate::governance::state::{Basis, Node, Phase, State, Subject};
use crate::governance::trail::{Kind, TrailEntry};
use crate::governance::verdict::ReviewWord;
use crate::governance::wording;
use crate::model::Digest;

pub(super) fn pending(state: &State, subject: &Subject, copies: u32, phase: Phase) -> Effect {
    match phase {
        Phase::Editing => {
            let (draft, verdict) = subject.copies(copies);
            let review = subject.review.as_ref().map(|review| review.text.clone());
            Effect::Edit {
                draft: WorkingCopy { name: draft, text: subject.draft.clone() },
                verdict: verdict.zip(review).map(|(name, text)| WorkingCopy { name, text }),
            }
        }
        Phase::Choosing => Effect::Ask(wording::decision(state, subject)),
        Phase::Overriding => Effect::Ask(wording::confirm_override(subject.word().unwrap_or(ReviewWord::Unknown))),
        Phase::Limited => Effect::Ask(wording::limited(state.counters.iterations)),
        Phase::Feedback => Effect::Ask(wording::feedback(&state.asked.drafter)),
    }
}

/// The gate of a phase; none: words are asked for, or nothing.
fn gate(subject: &Subject, phase: Phase) -> Option<Gate> {
    match phase {
        Phase::Choosing if subject.review.is_some() => Some(Gate::Verdict),
        Phase::Choosing => Some(Gate::Draft),
        Phase::Overriding => Some(Gate::Override),
        Phase::Limited => Some(Gate::Loops),
        Phase::Editing | Phase::Feedback => None,
    }
}

impl Step {
    pub(super) fn decide(self, subject: Subject, copies: u32, phase: Phase, event: Event) -> Transition {
        match (phase, event) {
            (Phase::Editing, Event::Edited { draft, verdict }) => self.note_edit(subject, copies, draft, verdict),
            (Phase::Editing, Event::StepFailed(why)) => self.pause(why),
            (Phase::Editing, _) => self.go_on(),
            (_, Event::Answered(Answer::Nobody)) => self.end(Ending::Paused(PauseReason::Nobody)),
            (Phase::Feedback, Event::Answered(Answer::Line(line))) => self.take_feedback(subject, &line),
            (_, Event::Answered(Answer::Line(line))) => match gate(&subject, phase) {
                Some(gate) => self.answer(subject, copies, gate, &line),
                None => self.go_on(),
            },
            (_, _) => self.go_on(),
        }
    }

    /// N3 step 4 and N5 step 3: what the person left is what counts from here on, the draft at N5 included (B2).
    fn note_edit(mut self, mut subject: Subject, copies: u32, draft: String, verdict: Option<String>) -> Transition {
        let (draft_copy, verdict_copy) = subject.copies(copies);
        self.note(TrailEntry { name: draft_copy, sha256: Digest::of(draft.as_bytes()) });
        subject.draft = draft;
        if let (Some(review), Some(name), Some(text)) = (subject.review.as_mut(), verdict_copy, verdict) {
            self.note(TrailEntry { name, sha256: Digest::of(text.as_bytes()) });
            review.text = text;
        }
        self.to(Node::Decide { subject, copies, phase: Phase::Choosing })
    }

    fn answer(mut self, subject: Subject, copies: u32, gate: Gate, line: &str) -> Transition {
        let Some(choice) = parse_choice(gate, line) else {
            self.say(wording::no_answer(line, gate));
            return self.go_on();
        };
        let is_empty = subject.draft.trim().is_empty();
        if is_empty && matches!(choice, Choice::Send | Choice::Approve) {
            self.say("the draft is empty: there is nothing to send".to_owned());
            return self.go_on();
        }
        if choice == Choice::Approve && subject.word().is_none_or(ReviewWord::blocks) {
            // Asked a second time before anything is recorded (B19).
            return self.to(Node::Decide { subject, copies, phase: Phase::Overriding });
        }
        self.keep_gate(gate, choice, (&subject, copies));
        let to = |phase| Node::Decide { subject: subject.clone(), copies, phase };
        match choice {
            Choice::Send => self.to(Node::Review { subject }),
            Choice::Approve | Choice::Override => self.approve(subject, choice == Choice::Override),
            Choice::Decline => self.to(to(Phase::Choosing)),
            Choice::Revise if self.state.counters.iterations >= self.state.allowed.iterations => self.to(to(Phase::Limited)),
            Choice::Continue => {
                let more = self.state.limits.iterations;
                self.state.allowed.iterations = self.state.counters.iterations.saturating_add(more);
                self.to(to(Phase::Feedback))
            }
            Choice::Revise => self.to(to(Phase::Feedback)),
            Choice::Manual => {
                self.state.node = to(Phase::Editing);
                self.end(Ending::Paused(PauseReason::Manual))
            }
            Choice::Resume | Choice::NewName | Choice::Abort | Choice::Retry | Choice::Edit => self.go_on(),
        }
    }

    /// N3 step 8 and N5 step 7.
    fn take_feedback(mut self, subject: Subject, line: &str) -> Transition {
        let feedback = line.trim().to_owned();
        if feedback.is_empty() {
            self.say("without feedback the drafter has nothing to do".to_owned());
            return self.go_on();
        }
        let number = self.next_number();
        self.keep(number, Kind::Feedback, format!("{feedback}\n"));
        let verdict = subject.review.map(|review| review.text).filter(|text| !text.trim().is_empty());
        self.to(Node::Draft { basis: Basis::Revision { feedback, draft: subject.draft, verdict } })
    }
}
