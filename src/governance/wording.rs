//! What people are shown and asked: the words of seed 002, with the models' names from the configuration.

use crate::governance::event::Question;
use crate::governance::gate::Gate;
use crate::governance::name::Slug;
use crate::governance::state::State;
use crate::governance::state::Subject;
use crate::governance::verdict::ReviewWord;

pub(super) fn taken(slug: &Slug) -> String {
    format!("Slug '{slug}' already exists in active/")
}

pub(super) fn collision(slug: &Slug) -> Question {
    let prompt = "[R]esume existing / [N]ew name / [A]bort?".to_owned();
    Question { gate: Some(Gate::Collision), display: vec![taken(slug)], prompt }
}

pub(super) fn new_slug() -> Question {
    Question { gate: None, display: Vec::new(), prompt: "Enter new slug:".to_owned() }
}

/// N3 steps 5 and 6, N5 steps 4 and 5.
pub(super) fn decision(state: &State, subject: &Subject) -> Question {
    let counters = state.counters;
    let counted = format!("Iteration {} | Draft #{}", counters.iterations, counters.drafts);
    let Some(word) = subject.word() else {
        let prompt = format!("[S]end to {} / [R]evise / [M]anual?", state.asked.reviewer);
        return Question { gate: Some(Gate::Draft), display: vec![counted], prompt };
    };
    let mut display = vec![format!("{counted} | Verdict #{}", counters.verdicts), verdict_line(word)];
    if is_changed(subject) {
        display.push("The draft is another than the one that was reviewed.".to_owned());
    }
    Question { gate: Some(Gate::Verdict), display, prompt: "[A]pprove / [R]evise / [M]anual?".to_owned() }
}

/// Returns whether the draft is another than the one that the reviewer was given.
pub(super) fn is_changed(subject: &Subject) -> bool {
    subject.review.as_ref().is_some_and(|review| review.of != subject.draft)
}

fn verdict_line(word: ReviewWord) -> String {
    match word {
        ReviewWord::Approve => "The verdict is APPROVE.".to_owned(),
        ReviewWord::Block => "The verdict is BLOCK.".to_owned(),
        ReviewWord::Unknown => {
            "The verdict is UNKNOWN: no line of the review is APPROVE or BLOCK. It counts as BLOCK.".to_owned()
        }
    }
}

pub(super) fn confirm_override(word: ReviewWord) -> Question {
    let display = vec![verdict_line(word), "Filing it all the same is recorded as an override.".to_owned()];
    Question { gate: Some(Gate::Override), display, prompt: "File over the verdict? [Y]es / [N]o".to_owned() }
}

pub(super) fn feedback(drafter: &str) -> Question {
    Question { gate: None, display: Vec::new(), prompt: format!("Enter feedback for {drafter}:") }
}

pub(super) fn failure(why: &str) -> Question {
    let prompt = "[R]etry / [E]dit draft / [A]bort?".to_owned();
    Question { gate: Some(Gate::Failure), display: vec![why.to_owned()], prompt }
}

pub(super) fn limited(iterations: u32) -> Question {
    let display = vec![format!("There have been {iterations} iterations.")];
    Question { gate: Some(Gate::Loops), display, prompt: "[C]ontinue / [M]anual?".to_owned() }
}

pub(super) fn tired(attempts: u32) -> Question {
    let display = vec![format!("Filing has failed {attempts} times.")];
    Question { gate: Some(Gate::Attempts), display, prompt: "[C]ontinue / [A]bort?".to_owned() }
}

pub(super) fn no_answer(line: &str, gate: Gate) -> String {
    let words: Vec<&str> = gate.offers().iter().map(|offer| offer.word).collect();
    format!("`{}` is no answer here: one of {} is", line.trim(), words.join(", "))
}
