//! The transitions of a workflow: from a state and an event to the next state and the effects to perform.
//!
//! The next effect that leads to an event follows from the state alone ([`WorkflowState::pending_effect`]), so a
//! workflow can be resumed from any stored state. An event that does not fit the state leaves the state unchanged, and
//! the same effect is asked for again.

mod deciding;
mod filing;
mod loading;
mod models;

use std::collections::BTreeMap;

use crate::governance::event::{EventContext, PauseReason, WorkflowEffect, WorkflowEnding, WorkflowEvent, WorkflowTransition};
use crate::governance::gate::{GateChoice, WorkflowGate};
use crate::governance::record::{GATE_SCHEMA, GateV1, to_text};
use crate::governance::state::{DecisionSubject, WorkflowNode, WorkflowState};
use crate::governance::trail::{TrailEntry, TrailFile, TrailKind, file_name};
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
            WorkflowNode::LoadBrief(loading) => loading::pending_effect(self, *loading),
            WorkflowNode::Preflight => WorkflowEffect::CheckTools,
            WorkflowNode::Sandbox => WorkflowEffect::MakeSandbox,
            WorkflowNode::Draft { basis } => models::ask_drafter(self, basis),
            WorkflowNode::Decide { subject, copy_number, phase } => deciding::pending_effect(self, subject, *copy_number, *phase),
            WorkflowNode::Review { subject } => models::ask_reviewer(subject),
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
