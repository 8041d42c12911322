//! Asks a model and says what its answer is: a text, or why there is none.

use std::path::PathBuf;

use crate::governance::{Consulted, Event, ISSUE_TEMPLATE, REVIEW_PROMPT, Slug};
use crate::model::{ActionEnd, Digest, Ended, LimitKind, SpawnFailure};
use crate::workflow::drive::Workflow;
use crate::workflow::error::WorkflowError;
use crate::workflow::hands::{Consultation, Role};

/// The longest answer that is taken, in bytes.
const LONGEST_ANSWER: u64 = 1 << 20;

/// How much of a complaint a person is shown, in bytes.
const SHOWN_COMPLAINT: usize = 2000;

impl Workflow<'_> {
    /// Asks a model with a copy of the project in which nobody else has written.
    pub(super) fn consult(&mut self, role: Role, slug: &Slug, prompt: &str) -> Result<Event, WorkflowError> {
        if let Err(why) = self.refresh_copy(slug)? {
            return Ok(Event::StepFailed(why));
        }
        let copy = self.place.copy(slug);
        let directory = copy.join(self.place.below());
        // What other models said in other loops, and what of it people took out.
        let hidden: Vec<PathBuf> = vec![self.place.audit(self.settings)];
        let asked = Consultation { role, prompt: prompt.as_bytes(), copy: &copy, directory: &directory, hidden: &hidden };
        let ended = self.hands.consult(&asked)?;
        let consulted = self.consulted(role, prompt, &ended);
        Ok(match answer(&ended) {
            Ok(text) => Event::Consulted { text, consulted },
            Err(why) => Event::ConsultationFailed { why: self.explain(role, &why, &ended), consulted },
        })
    }

    fn consulted(&self, role: Role, prompt: &str, ended: &Ended) -> Consulted {
        let (word, settings, pinned) = match role {
            Role::Drafter => ("drafter", &self.settings.drafter, ISSUE_TEMPLATE),
            Role::Reviewer => ("reviewer", &self.settings.reviewer, REVIEW_PROMPT),
        };
        let captured = &ended.captured;
        let whole = |stream: &crate::model::StreamExcerpt| Digest::of(&[&stream.head[..], &stream.tail].concat());
        Consulted {
            role: word.to_owned(),
            command: settings.command.clone(),
            end: describe(&ended.end),
            exit_code: ended.end.exit_code(),
            isolation: ended.kept.as_ref().map(|kept| kept.level),
            obstacles: ended.kept.as_ref().map(|kept| kept.obstacles.clone()).unwrap_or_default(),
            survivors: u32::try_from(ended.survivors.len()).unwrap_or(u32::MAX),
            prompt_sha256: Digest::of(prompt.as_bytes()),
            pinned_sha256: Digest::of(pinned.text.as_bytes()),
            output_sha256: whole(&captured.stdout),
            output_bytes: captured.stdout.total,
            complaint_sha256: whole(&captured.stderr),
            complaint_bytes: captured.stderr.total,
            started: ended.started,
            duration: ended.duration,
        }
    }

    fn explain(&self, role: Role, why: &str, ended: &Ended) -> String {
        let name = match role {
            Role::Drafter => &self.settings.drafter.name,
            Role::Reviewer => &self.settings.reviewer.name,
        };
        // A model must not draw on the terminal at which its work is judged.
        let is_shown = |one: &char| !one.is_control() || *one == '\n';
        let complaint: String = ended.captured.stderr.text().chars().filter(is_shown).collect();
        let complaint = complaint.trim();
        let from = complaint.len().saturating_sub(SHOWN_COMPLAINT);
        let from = (from..complaint.len()).find(|at| complaint.is_char_boundary(*at)).unwrap_or(complaint.len());
        let said = if complaint.is_empty() { String::new() } else { format!("; it says: {}", &complaint[from..]) };
        format!("{name} gave no answer: {why}{said}")
    }
}

/// Returns what a model printed, if it is an answer: all of it, by a command that ended well.
fn answer(ended: &Ended) -> Result<String, String> {
    let stdout = &ended.captured.stdout;
    if ended.end != (ActionEnd::Exited { code: 0 }) {
        return Err(describe(&ended.end));
    }
    if ended.captured.pipes_left_open {
        return Err("it left processes behind that went on printing".to_owned());
    }
    if stdout.total > LONGEST_ANSWER || !stdout.is_complete() {
        return Err(format!("it printed more than {LONGEST_ANSWER} bytes"));
    }
    String::from_utf8([&stdout.head[..], &stdout.tail].concat()).map_err(|_| "what it printed is not UTF-8".to_owned())
}

fn describe(end: &ActionEnd) -> String {
    match end {
        ActionEnd::Exited { code } => format!("it ended with exit code {code}"),
        ActionEnd::Signalled { signal } => format!("signal {signal} ended it"),
        ActionEnd::TimedOut { limit: LimitKind::Output, .. } => "it was stopped: it printed too much".to_owned(),
        ActionEnd::TimedOut { .. } => "it was stopped: it took longer than its `timeout`".to_owned(),
        ActionEnd::Stopped { .. } => "it was stopped".to_owned(),
        ActionEnd::NotStarted(failure) => format!("it could not be started: {}", describe_failure(failure)),
        ActionEnd::Lost { why } => format!("how it ended is not known: {why}"),
    }
}

pub(super) fn describe_failure(failure: &SpawnFailure) -> String {
    match failure {
        SpawnFailure::ProgramNotFound { program, .. } => format!("there is no program `{program}`"),
        SpawnFailure::InterpreterNotFound { program, interpreter } => {
            format!("`{program}` needs `{interpreter}`, which is not there")
        }
        SpawnFailure::NotExecutable { program } => format!("`{program}` may not be executed"),
        SpawnFailure::DirectoryNotFound { directory } => format!("there is no directory `{directory}`"),
        SpawnFailure::NotIsolated { why } => format!("it cannot be kept apart: {why}"),
        SpawnFailure::Refused { program, message, .. } => format!("`{program}`: {message}"),
        SpawnFailure::PromptUnreadable { why, .. } => why.clone(),
        SpawnFailure::PortHeld { port, .. } => format!("port {port} is held"),
    }
}
