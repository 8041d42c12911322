//! N2 and N4: what a model's answer does. It goes to a person; one that is none goes nowhere (B14).

use crate::governance::event::{Effect, Ending, Event, PauseReason, Transition};
use crate::governance::machine::Step;
use crate::governance::prompt::{TamperedPrompt, draft_prompt, review_prompt};
use crate::governance::record::{Consulted, to_text};
use crate::governance::state::{Basis, Node, Phase, Reviewed, State, Subject};
use crate::governance::trail::Kind;
use crate::governance::verdict::read_verdict;

pub(super) fn ask_drafter(state: &State, basis: &Basis) -> Effect {
    draft_prompt(&state.brief, basis).map_or_else(refused, |prompt| Effect::AskDrafter { prompt })
}

pub(super) fn ask_reviewer(subject: &Subject) -> Effect {
    review_prompt(&subject.draft).map_or_else(refused, |prompt| Effect::AskReviewer { prompt })
}

fn refused(error: TamperedPrompt) -> Effect {
    Effect::End(Ending::Paused(PauseReason::Failed(error.to_string())))
}

impl Step {
    /// N2 steps 5 to 7, and N3 step 1.
    pub(super) fn note_draft(self, event: Event) -> Transition {
        let (mut step, number, text) = match self.take_answer(event, "drafter") {
            Ok(answered) => answered,
            Err(transition) => return *transition,
        };
        let draft_file = step.keep(number, Kind::Draft, text.clone());
        step.state.counters.drafts += 1;
        step.state.counters.iterations += 1;
        let subject = Subject { draft_file, draft: text, review: None };
        step.to(Node::Decide { subject, copies: number, phase: Phase::Editing })
    }

    /// N4 steps 5 and 6.
    pub(super) fn note_review(self, subject: Subject, event: Event) -> Transition {
        let (mut step, number, text) = match self.take_answer(event, "reviewer") {
            Ok(answered) => answered,
            Err(transition) => return *transition,
        };
        let file = step.keep(number, Kind::Verdict, text.clone());
        step.state.counters.verdicts += 1;
        let review = Reviewed { file, said: read_verdict(&text), text, of: subject.draft.clone() };
        let subject = Subject { review: Some(review), ..subject };
        step.to(Node::Decide { subject, copies: number, phase: Phase::Editing })
    }

    /// Takes a model's answer with the number it has in the trail; where there is none, what follows from that.
    fn take_answer(mut self, event: Event, who: &str) -> Result<(Self, u32, String), Box<Transition>> {
        if let Event::Consulted { text, consulted } = event {
            let number = self.keep_consultation(&consulted);
            if text.trim().is_empty() {
                return Err(Box::new(self.pause(format!("the {who} has printed nothing"))));
            }
            return Ok((self, number, text));
        }
        if let Event::ConsultationFailed { why, consulted } = event {
            self.keep_consultation(&consulted);
            return Err(Box::new(self.pause(why)));
        }
        if let Event::StepFailed(why) = event {
            return Err(Box::new(self.pause(why)));
        }
        Err(Box::new(self.go_on()))
    }

    fn keep_consultation(&mut self, consulted: &Consulted) -> u32 {
        let number = self.next_number();
        self.keep(number, Kind::Consultation, to_text(consulted));
        number
    }
}
