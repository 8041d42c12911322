//! The way from a state and an event to the next state and what is to be done.
//!
//! What is to be done next follows from the state alone ([`pending`]): that is what makes a workflow resumable at any point. An event that
//! does not belong to the state changes nothing.

mod deciding;
mod filing;
mod loading;
mod models;

use std::collections::BTreeMap;

use crate::governance::event::{Effect, Ending, Event, Moment, PauseReason, Transition};
use crate::governance::gate::{Choice, Gate};
use crate::governance::record::{GATE_SCHEMA, GateV1, to_text};
use crate::governance::state::{Node, State, Subject};
use crate::governance::trail::{Kind, TrailEntry, TrailFile, file_name};
use crate::governance::wording::is_changed;

/// Returns the next state, and what is to be done.
pub fn handle(state: State, event: Event, moment: &Moment) -> Transition {
    let step = Step { state, effects: Vec::new(), moment: *moment };
    match step.state.node.clone() {
        Node::LoadBrief(loading) => step.load(loading, event),
        Node::Preflight => step.prepare(event),
        Node::Sandbox => step.enter_sandbox(event),
        Node::Draft { .. } => step.note_draft(event),
        Node::Decide { subject, copies, phase } => step.decide(subject, copies, phase, event),
        Node::Review { subject } => step.note_review(subject, event),
        Node::File { subject, overridden, filing } => step.file(subject, overridden, filing, event),
        Node::Done { .. } => step.go_on(),
    }
}

impl State {
    /// Returns what is to be done in this state.
    pub fn pending(&self) -> Effect {
        match &self.node {
            Node::LoadBrief(loading) => loading::pending(self, *loading),
            Node::Preflight => Effect::CheckTools,
            Node::Sandbox => Effect::MakeSandbox,
            Node::Draft { basis } => models::ask_drafter(self, basis),
            Node::Decide { subject, copies, phase } => deciding::pending(self, subject, *copies, *phase),
            Node::Review { subject } => models::ask_reviewer(subject),
            Node::File { filing, .. } => filing::pending(self, filing),
            Node::Done { issue } => Effect::End(Ending::Filed(issue.clone())),
        }
    }
}

/// A transition that is being made.
struct Step {
    state: State,
    effects: Vec<Effect>,
    moment: Moment,
}

impl Step {
    fn to(mut self, node: Node) -> Transition {
        self.state.node = node;
        self.go_on()
    }

    /// Goes on with what the state asks for.
    fn go_on(mut self) -> Transition {
        let pending = self.state.pending();
        self.effects.push(pending);
        Transition { state: self.state, effects: self.effects }
    }

    fn end(mut self, ending: Ending) -> Transition {
        self.effects.push(Effect::End(ending));
        Transition { state: self.state, effects: self.effects }
    }

    fn pause(self, why: String) -> Transition {
        self.end(Ending::Paused(PauseReason::Failed(why)))
    }

    fn say(&mut self, line: String) {
        self.effects.push(Effect::Say(line));
    }

    /// Begins the next number of the trail.
    fn next_number(&mut self) -> u32 {
        self.state.counters.files += 1;
        self.state.counters.files
    }

    /// Keeps a file, and returns its name.
    fn keep(&mut self, number: u32, kind: Kind, text: String) -> String {
        let file = TrailFile { name: file_name(number, kind), text };
        let name = file.name.clone();
        self.note(file.entry());
        self.effects.push(Effect::Keep(file));
        name
    }

    /// Notes a file that lies in the trail already; one that was edited again takes the place of its earlier self.
    fn note(&mut self, entry: TrailEntry) {
        match self.state.trail.iter_mut().find(|known| known.name == entry.name) {
            Some(known) => *known = entry,
            None => self.state.trail.push(entry),
        }
    }

    /// Keeps a person's decision, with the digests of what was seen.
    fn keep_gate(&mut self, gate: Gate, choice: Choice, (subject, copies): (&Subject, u32)) {
        let (draft_copy, verdict_copy) = subject.copies(copies);
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
            at: self.moment.now,
            user: self.moment.user,
            iteration: self.state.counters.iterations,
            inputs,
            verdict: subject.word(),
            draft_changed_since_review: subject.review.as_ref().map(|_| is_changed(subject)),
            overrides: choice == Choice::Override,
        };
        let text = to_text(&record);
        let number = self.next_number();
        self.keep(number, Kind::Gate, text);
    }
}
