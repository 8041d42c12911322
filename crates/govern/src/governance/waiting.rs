//! What a workflow waits for: a person, a model, or proctor itself.

use crate::governance::gate::WorkflowGate;
use crate::governance::state::{DecisionPhase, FilingStep, LoadingStep, WorkflowNode, WorkflowState};
use crate::governance::verdict::IssueVerdict;

/// Who has to act before the workflow can continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowTurn {
    /// A person has to answer the question of this gate.
    Person(WorkflowGate),
    Drafter,
    Reviewer,
    /// No person or model has to act: proctor loads the brief, makes the copy for the models, files the issue, or moves
    /// and commits the trail. The question for another slug also counts here, because it has no gate, and so does a
    /// finished workflow.
    Workflow,
}

impl WorkflowState {
    /// Returns who has to act. While a person edits the texts or types feedback, the result is the gate at which the
    /// person decides about the draft: `Draft`, or `Verdict` if the draft was reviewed.
    pub fn turn(&self) -> WorkflowTurn {
        match &self.node {
            WorkflowNode::LoadBrief(LoadingStep::Collision) => WorkflowTurn::Person(WorkflowGate::Collision),
            WorkflowNode::LoadBrief(_) | WorkflowNode::Preflight | WorkflowNode::Sandbox | WorkflowNode::Done { .. } => {
                WorkflowTurn::Workflow
            }
            WorkflowNode::Draft { .. } => WorkflowTurn::Drafter,
            WorkflowNode::Review { .. } => WorkflowTurn::Reviewer,
            WorkflowNode::Decide { phase: DecisionPhase::Overriding, .. } => WorkflowTurn::Person(WorkflowGate::Override),
            WorkflowNode::Decide { phase: DecisionPhase::AskingForMoreLoops, .. } => WorkflowTurn::Person(WorkflowGate::Loops),
            WorkflowNode::Decide {
                subject,
                phase: DecisionPhase::Editing | DecisionPhase::Choosing | DecisionPhase::Feedback,
                ..
            } => WorkflowTurn::Person(if subject.review.is_some() { WorkflowGate::Verdict } else { WorkflowGate::Draft }),
            WorkflowNode::File { filing: FilingStep::Failed { .. }, .. } => WorkflowTurn::Person(WorkflowGate::Failure),
            WorkflowNode::File { filing: FilingStep::AskingForMoreAttempts { .. }, .. } => {
                WorkflowTurn::Person(WorkflowGate::Attempts)
            }
            WorkflowNode::File { .. } => WorkflowTurn::Workflow,
        }
    }

    /// Returns the verdict of the current draft's review; `None` if the draft has not been reviewed.
    pub fn verdict(&self) -> Option<IssueVerdict> {
        match &self.node {
            WorkflowNode::Decide { subject, .. } | WorkflowNode::Review { subject } | WorkflowNode::File { subject, .. } => {
                subject.verdict()
            }
            WorkflowNode::LoadBrief(_)
            | WorkflowNode::Preflight
            | WorkflowNode::Sandbox
            | WorkflowNode::Draft { .. }
            | WorkflowNode::Done { .. } => None,
        }
    }

    /// Returns the text that completes the sentence "the workflow waits for …".
    pub fn waits_for(&self) -> String {
        let verdict = self.verdict().map(|word| format!(" (the verdict is {})", word.word())).unwrap_or_default();
        match self.turn() {
            WorkflowTurn::Person(gate) => {
                let words: Vec<&str> = gate.options().iter().map(|option| option.word).collect();
                format!("your answer: {}{verdict}", words.join(", "))
            }
            WorkflowTurn::Drafter => format!("a draft from {}", self.model_names.drafter),
            WorkflowTurn::Reviewer => format!("a review from {}", self.model_names.reviewer),
            WorkflowTurn::Workflow => self.own_step().to_owned(),
        }
    }

    fn own_step(&self) -> &'static str {
        match &self.node {
            WorkflowNode::LoadBrief(_) | WorkflowNode::Preflight | WorkflowNode::Sandbox => {
                "a copy of the project for the models"
            }
            WorkflowNode::File {
                filing: FilingStep::Moving(_) | FilingStep::Committing(_) | FilingStep::Cleaning(_), ..
            } => "the trail to be moved and committed: the issue is filed",
            WorkflowNode::File { .. } => "the issue to be filed: you have approved it",
            WorkflowNode::Draft { .. }
            | WorkflowNode::Review { .. }
            | WorkflowNode::Decide { .. }
            | WorkflowNode::Done { .. } => "nothing",
        }
    }
}
