//! The transitions of a workflow: from a state and an event to the next state and the effects to perform.
//!
//! The next effect that leads to an event follows from the state alone ([`WorkflowState::pending_effect`]), so a
//! workflow can be resumed from any stored state. An event that does not fit the state leaves the state unchanged, and
//! the same effect is asked for again.

mod deciding;
mod filing;

use std::collections::BTreeMap;

use crate::governance::event::{
    EventContext, PauseReason, PersonAnswer, WorkflowEffect, WorkflowEnding, WorkflowEvent, WorkflowTransition,
};
use crate::governance::gate::{GateChoice, WorkflowGate, parse_choice};
use crate::governance::name::Slug;
use crate::governance::prompt::{TamperedPrompt, draft_prompt, review_prompt};
use crate::governance::record::{ConsultationRecord, GATE_SCHEMA, GateV1, TrailEntry, TrailFile, TrailKind, file_name, to_text};
use crate::governance::state::{
    DecisionPhase, DecisionSubject, DraftBasis, DraftReview, LoadingStep, WorkflowNode, WorkflowState,
};
use crate::governance::verdict::parse_verdict;
use crate::governance::wording;
use crate::governance::wording::is_changed;

/// Answers an event: returns the next state, and the effects that the caller has to perform.
pub fn handle(state: WorkflowState, event: WorkflowEvent, context: &EventContext) -> WorkflowTransition {
    let step = TransitionBuilder { state, effects: Vec::new(), context: *context };
    match step.state.node.clone() {
        WorkflowNode::LoadBrief(loading) => step.load_brief(loading, event),
        WorkflowNode::Preflight => step.finish_preflight(event),
        WorkflowNode::Sandbox => step.enter_sandbox(event),
        WorkflowNode::Draft { .. } => step.receive_draft(event),
        WorkflowNode::Decide { subject, copy_number, phase } => step.decide(subject, copy_number, phase, event),
        WorkflowNode::Review { subject } => step.receive_review(subject, event),
        WorkflowNode::File { subject, overridden, filing } => step.file(subject, overridden, filing, event),
        WorkflowNode::Done { .. } => step.finish(),
    }
}

impl WorkflowState {
    /// Returns the effect whose result this state waits for. A resumed workflow begins by performing it.
    pub fn pending_effect(&self) -> WorkflowEffect {
        match &self.node {
            WorkflowNode::LoadBrief(loading) => pending_effect(self, *loading),
            WorkflowNode::Preflight => WorkflowEffect::CheckTools,
            WorkflowNode::Sandbox => WorkflowEffect::MakeSandbox,
            WorkflowNode::Draft { basis } => ask_drafter(self, basis),
            WorkflowNode::Decide { subject, copy_number, phase } => deciding::pending_effect(self, subject, *copy_number, *phase),
            WorkflowNode::Review { subject } => ask_reviewer(subject),
            WorkflowNode::File { filing, .. } => filing::pending_effect(self, filing),
            WorkflowNode::Done { issue } => WorkflowEffect::End(WorkflowEnding::Filed(issue.clone())),
        }
    }
}

/// A transition that is being built: the state so far, and the effects collected so far.
struct TransitionBuilder {
    state: WorkflowState,
    effects: Vec<WorkflowEffect>,
    context: EventContext,
}

impl TransitionBuilder {
    fn enter(mut self, node: WorkflowNode) -> WorkflowTransition {
        self.state.node = node;
        self.finish()
    }

    /// Ends the transition with the effect whose result the new state waits for.
    fn finish(mut self) -> WorkflowTransition {
        let pending = self.state.pending_effect();
        self.effects.push(pending);
        WorkflowTransition { state: self.state, effects: self.effects }
    }

    fn finish_with(mut self, ending: WorkflowEnding) -> WorkflowTransition {
        self.effects.push(WorkflowEffect::End(ending));
        WorkflowTransition { state: self.state, effects: self.effects }
    }

    fn pause(self, why: String) -> WorkflowTransition {
        self.finish_with(WorkflowEnding::Paused(PauseReason::Failed(why)))
    }

    fn say(&mut self, line: String) {
        self.effects.push(WorkflowEffect::Say(line));
    }

    /// Counts one more file of the trail, and returns the number with which the name of this file begins.
    fn next_number(&mut self) -> u32 {
        self.state.counters.files += 1;
        self.state.counters.files
    }

    /// Adds a file to the trail and returns its name.
    fn keep(&mut self, number: u32, kind: TrailKind, text: String) -> String {
        let file = TrailFile { name: file_name(number, kind), text };
        let name = file.name.clone();
        self.record_entry(file.entry());
        self.effects.push(WorkflowEffect::Keep(file));
        name
    }

    /// Adds a file to the list of the trail's files in the state. If the list has the file already, because the person
    /// edits it again, its digest is replaced.
    fn record_entry(&mut self, entry: TrailEntry) {
        match self.state.trail.iter_mut().find(|known| known.name == entry.name) {
            Some(known) => *known = entry,
            None => self.state.trail.push(entry),
        }
    }

    /// Adds a record of a person's decision to the trail, with the digests of the files that the person saw.
    fn keep_decision(&mut self, gate: WorkflowGate, choice: GateChoice, (subject, copy_number): (&DecisionSubject, u32)) {
        let (draft_copy, verdict_copy) = subject.copy_names(copy_number);
        let mut seen = vec![subject.draft_file.clone(), draft_copy];
        seen.extend(subject.review.as_ref().map(|review| review.file.clone()));
        seen.extend(verdict_copy);
        let known = self.state.trail.iter().filter(|entry| seen.contains(&entry.name));
        let inputs: BTreeMap<_, _> = known.map(|entry| (entry.name.clone(), entry.sha256)).collect();
        let record = GateV1 {
            schema: GATE_SCHEMA,
            workflow: &self.state.id,
            node: self.state.node_name(),
            gate,
            choice,
            at: self.context.now,
            user: self.context.user,
            iteration: self.state.counters.iterations,
            inputs,
            verdict: subject.verdict(),
            draft_changed_since_review: subject.review.as_ref().map(|_| is_changed(subject)),
            overrides: choice == GateChoice::Override,
        };
        let text = to_text(&record);
        let number = self.next_number();
        self.keep(number, TrailKind::Gate, text);
    }
}

// The nodes N2 and N4 of the workflow: a model is asked, and its answer goes to a person. If the model gives no
// answer, the workflow pauses (B14).

fn ask_drafter(state: &WorkflowState, basis: &DraftBasis) -> WorkflowEffect {
    draft_prompt(&state.brief, basis).map_or_else(pause_on_tampering, |prompt| WorkflowEffect::AskDrafter { prompt })
}

fn ask_reviewer(subject: &DecisionSubject) -> WorkflowEffect {
    review_prompt(&subject.draft).map_or_else(pause_on_tampering, |prompt| WorkflowEffect::AskReviewer { prompt })
}

fn pause_on_tampering(error: TamperedPrompt) -> WorkflowEffect {
    WorkflowEffect::End(WorkflowEnding::Paused(PauseReason::Failed(error.to_string())))
}

impl TransitionBuilder {
    /// N2 steps 5 to 7, and N3 step 1: writes the new draft to the trail, counts it, and opens the editor on it.
    fn receive_draft(self, event: WorkflowEvent) -> WorkflowTransition {
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
    fn receive_review(self, subject: DecisionSubject, event: WorkflowEvent) -> WorkflowTransition {
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

// The nodes N0 and N1 of the workflow: the brief is read, the slug from its file name is claimed, and the tools are
// checked before any file is written (B1).

fn pending_effect(state: &WorkflowState, loading: LoadingStep) -> WorkflowEffect {
    match loading {
        LoadingStep::Reading => WorkflowEffect::ReadBrief,
        LoadingStep::CheckingSlug | LoadingStep::CheckingNewSlug => WorkflowEffect::ClaimSlug(state.slug.clone()),
        LoadingStep::Collision => WorkflowEffect::Ask(wording::collision(&state.slug)),
        LoadingStep::Naming => WorkflowEffect::Ask(wording::new_slug()),
    }
}

impl TransitionBuilder {
    fn load_brief(mut self, loading: LoadingStep, event: WorkflowEvent) -> WorkflowTransition {
        match (loading, event) {
            (LoadingStep::Reading, WorkflowEvent::BriefRead(text)) if text.trim().is_empty() => {
                let why = format!("the brief `{}` is empty", self.state.brief_name);
                self.finish_with(WorkflowEnding::Refused(why))
            }
            (LoadingStep::Reading, WorkflowEvent::BriefRead(text)) => {
                self.state.brief = text;
                self.enter(WorkflowNode::LoadBrief(LoadingStep::CheckingSlug))
            }
            (LoadingStep::Reading, WorkflowEvent::BriefUnreadable(why)) => self.finish_with(WorkflowEnding::Refused(why)),
            (LoadingStep::CheckingSlug | LoadingStep::CheckingNewSlug, WorkflowEvent::SlugFree) => {
                self.enter(WorkflowNode::Preflight)
            }
            (LoadingStep::CheckingSlug, WorkflowEvent::SlugTaken) => self.enter(WorkflowNode::LoadBrief(LoadingStep::Collision)),
            (LoadingStep::CheckingNewSlug, WorkflowEvent::SlugTaken) => {
                let taken = wording::slug_taken(&self.state.slug);
                self.say(taken);
                self.enter(WorkflowNode::LoadBrief(LoadingStep::Naming))
            }
            // No checkpoint is stored before N1 has succeeded, so the workflow cannot be resumed after this pause. No
            // file was written either.
            (_, WorkflowEvent::Answered(PersonAnswer::Nobody)) => self.finish_with(WorkflowEnding::Paused(PauseReason::Nobody)),
            (LoadingStep::Collision, WorkflowEvent::Answered(PersonAnswer::Line(line))) => self.answer_collision(&line),
            (LoadingStep::Naming, WorkflowEvent::Answered(PersonAnswer::Line(line))) => self.choose_new_slug(&line),
            (_, _) => self.finish(),
        }
    }

    fn answer_collision(mut self, line: &str) -> WorkflowTransition {
        match parse_choice(WorkflowGate::Collision, line) {
            Some(GateChoice::Resume) => self.finish_with(WorkflowEnding::Resume),
            Some(GateChoice::NewName) => self.enter(WorkflowNode::LoadBrief(LoadingStep::Naming)),
            Some(GateChoice::Abort) => self.finish_with(WorkflowEnding::NotBegun),
            Some(_) | None => {
                self.say(wording::invalid_answer(line, WorkflowGate::Collision));
                self.finish()
            }
        }
    }

    fn choose_new_slug(mut self, line: &str) -> WorkflowTransition {
        match Slug::try_from(line.trim().to_owned()) {
            Ok(slug) => {
                self.state.slug = slug;
                self.enter(WorkflowNode::LoadBrief(LoadingStep::CheckingNewSlug))
            }
            Err(error) => {
                self.say(error.to_string());
                self.finish()
            }
        }
    }

    /// Handles the result of N1 steps 1 and 2, which check the tools. Only if every tool is there, N0 steps 4 to 6
    /// follow: the brief is written as the first file of the trail.
    fn finish_preflight(mut self, event: WorkflowEvent) -> WorkflowTransition {
        if let WorkflowEvent::ToolsMissing(why) = event {
            return self.finish_with(WorkflowEnding::Refused(why));
        }
        if event != WorkflowEvent::ToolsReady {
            return self.finish();
        }
        let number = self.next_number();
        let brief = self.state.brief.clone();
        self.keep(number, TrailKind::Brief, brief);
        self.enter(WorkflowNode::Sandbox)
    }

    /// Handles the result of N1 steps 3 and 4, which make the models' copy of the project. Then the drafter is asked
    /// for the first draft.
    fn enter_sandbox(self, event: WorkflowEvent) -> WorkflowTransition {
        if let WorkflowEvent::StepFailed(why) = event {
            return self.pause(why);
        }
        if event == WorkflowEvent::SandboxReady {
            self.enter(WorkflowNode::Draft { basis: DraftBasis::Brief })
        } else {
            self.finish()
        }
    }
}
