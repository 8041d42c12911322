//! What a workflow that is not over waits for.

use crate::governance::gate::Gate;
use crate::governance::state::{Filing, Loading, Node, Phase, State};
use crate::governance::verdict::ReviewWord;

/// Whose turn it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// A person's, at a gate.
    Person(Gate),
    /// The drafter's.
    Drafter,
    /// The reviewer's.
    Reviewer,
    /// proctor's own.
    Workflow,
}

impl State {
    /// Returns whose turn it is. Who has the texts in the editor, or is asked for words, is at the gate that this is for.
    pub fn turn(&self) -> Turn {
        match &self.node {
            Node::LoadBrief(Loading::Collision) => Turn::Person(Gate::Collision),
            Node::LoadBrief(_) | Node::Preflight | Node::Sandbox | Node::Done { .. } => Turn::Workflow,
            Node::Draft { .. } => Turn::Drafter,
            Node::Review { .. } => Turn::Reviewer,
            Node::Decide { phase: Phase::Overriding, .. } => Turn::Person(Gate::Override),
            Node::Decide { phase: Phase::Limited, .. } => Turn::Person(Gate::Loops),
            Node::Decide { subject, phase: Phase::Editing | Phase::Choosing | Phase::Feedback, .. } => {
                Turn::Person(if subject.review.is_some() { Gate::Verdict } else { Gate::Draft })
            }
            Node::File { filing: Filing::Failed { .. }, .. } => Turn::Person(Gate::Failure),
            Node::File { filing: Filing::Tired { .. }, .. } => Turn::Person(Gate::Attempts),
            Node::File { .. } => Turn::Workflow,
        }
    }

    /// Returns what the review at hand amounts to; none: there is none.
    pub fn verdict(&self) -> Option<ReviewWord> {
        match &self.node {
            Node::Decide { subject, .. } | Node::Review { subject } | Node::File { subject, .. } => subject.word(),
            Node::LoadBrief(_) | Node::Preflight | Node::Sandbox | Node::Draft { .. } | Node::Done { .. } => None,
        }
    }

    /// Returns what it waits for, in words.
    pub fn waits_for(&self) -> String {
        let verdict = self.verdict().map(|word| format!(" (the verdict is {})", word.word())).unwrap_or_default();
        match self.turn() {
            Turn::Person(gate) => {
                let words: Vec<&str> = gate.offers().iter().map(|offer| offer.word).collect();
                format!("your answer: {}{verdict}", words.join(", "))
            }
            Turn::Drafter => format!("a draft of {}", self.asked.drafter),
            Turn::Reviewer => format!("a review of {}", self.asked.reviewer),
            Turn::Workflow => self.own_step().to_owned(),
        }
    }

    fn own_step(&self) -> &'static str {
        match &self.node {
            Node::LoadBrief(_) | Node::Preflight | Node::Sandbox => "a copy of the project for the models",
            Node::File { filing: Filing::Moving(_) | Filing::Committing(_) | Filing::Cleaning(_), .. } => {
                "the trail to be moved and committed: the issue is filed"
            }
            Node::File { .. } => "the issue to be filed: you have approved it",
            Node::Draft { .. } | Node::Review { .. } | Node::Decide { .. } | Node::Done { .. } => "nothing",
        }
    }
}
