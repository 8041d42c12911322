//! The questions and lines that people see. Seed document 002 prescribes the words; the models' names come from the
//! configuration.

use crate::governance::event::PersonQuestion;
use crate::governance::gate::WorkflowGate;
use crate::governance::name::Slug;
use crate::governance::state::DecisionSubject;
use crate::governance::state::WorkflowState;
use crate::governance::verdict::IssueVerdict;

pub(super) fn slug_taken(slug: &Slug) -> String {
    format!("Slug '{slug}' already exists in active/")
}

pub(super) fn collision(slug: &Slug) -> PersonQuestion {
    let prompt = "[R]esume existing / [N]ew name / [A]bort?".to_owned();
    PersonQuestion { gate: Some(WorkflowGate::Collision), display: vec![slug_taken(slug)], prompt }
}

pub(super) fn new_slug() -> PersonQuestion {
    PersonQuestion { gate: None, display: Vec::new(), prompt: "Enter new slug:".to_owned() }
}

/// Returns the question what happens to a draft: at N3 for a new draft (steps 5 and 6), at N5 for a reviewed draft
/// (steps 4 and 5).
pub(super) fn decision(state: &WorkflowState, subject: &DecisionSubject) -> PersonQuestion {
    let counters = state.counters;
    let counted = format!("Iteration {} | Draft #{}", counters.iterations, counters.drafts);
    let Some(word) = subject.verdict() else {
        let prompt = format!("[S]end to {} / [R]evise / [M]anual?", state.model_names.reviewer);
        return PersonQuestion { gate: Some(WorkflowGate::Draft), display: vec![counted], prompt };
    };
    let mut display = vec![format!("{counted} | Verdict #{}", counters.verdicts), verdict_line(word)];
    if is_changed(subject) {
        display.push("The draft has changed since it was reviewed.".to_owned());
    }
    PersonQuestion { gate: Some(WorkflowGate::Verdict), display, prompt: "[A]pprove / [R]evise / [M]anual?".to_owned() }
}

/// Returns whether the draft differs from the text that the reviewer was given. False if there is no review.
pub(super) fn is_changed(subject: &DecisionSubject) -> bool {
    subject.review.as_ref().is_some_and(|review| review.reviewed_draft != subject.draft)
}

fn verdict_line(word: IssueVerdict) -> String {
    match word {
        IssueVerdict::Approve => "The verdict is APPROVE.".to_owned(),
        IssueVerdict::Block => "The verdict is BLOCK.".to_owned(),
        IssueVerdict::Unknown => {
            "The verdict is UNKNOWN: no line of the review is APPROVE or BLOCK. It counts as BLOCK.".to_owned()
        }
    }
}

pub(super) fn confirm_override(word: IssueVerdict) -> PersonQuestion {
    let display = vec![verdict_line(word), "If you file it anyway, the trail records an override.".to_owned()];
    PersonQuestion { gate: Some(WorkflowGate::Override), display, prompt: "File over the verdict? [Y]es / [N]o".to_owned() }
}

pub(super) fn feedback(drafter: &str) -> PersonQuestion {
    PersonQuestion { gate: None, display: Vec::new(), prompt: format!("Enter feedback for {drafter}:") }
}

pub(super) fn failure(why: &str) -> PersonQuestion {
    let prompt = "[R]etry / [E]dit draft / [A]bort?".to_owned();
    PersonQuestion { gate: Some(WorkflowGate::Failure), display: vec![why.to_owned()], prompt }
}

pub(super) fn more_loops(iterations: u32) -> PersonQuestion {
    let display = vec![format!("There have been {iterations} iterations.")];
    PersonQuestion { gate: Some(WorkflowGate::Loops), display, prompt: "[C]ontinue / [M]anual?".to_owned() }
}

pub(super) fn more_attempts(attempts: u32) -> PersonQuestion {
    let display = vec![format!("Filing has failed {attempts} times.")];
    PersonQuestion { gate: Some(WorkflowGate::Attempts), display, prompt: "[C]ontinue / [A]bort?".to_owned() }
}

pub(super) fn invalid_answer(line: &str, gate: WorkflowGate) -> String {
    let words: Vec<&str> = gate.options().iter().map(|option| option.word).collect();
    format!("`{}` is no answer here: type one of {}", line.trim(), words.join(", "))
}
