//! Asks a model by running its command, and returns the model's answer, or the reason why there is no answer.

use std::path::PathBuf;

use crate::governance::{ConsultationRecord, ISSUE_TEMPLATE, REVIEW_PROMPT, Slug, WorkflowEvent};
use crate::workflow::error::WorkflowError;
use crate::workflow::interfaces::{Consultation, ModelRole};
use crate::workflow::runner::WorkflowRunner;
use proctor_model::{ActionEnd, Digest, EndedAction, LimitKind, SpawnFailure, shown_lines};

/// The most bytes that a model's answer may have. A longer answer does not count.
const LONGEST_ANSWER: u64 = 1 << 20;

/// How many bytes of a failed model's standard error are shown to the person, counted from its end.
const SHOWN_COMPLAINT: usize = 2000;

impl WorkflowRunner<'_> {
    /// Runs a model in a fresh copy of the project, so that it sees nothing that another model has written.
    pub(super) fn consult(&mut self, role: ModelRole, slug: &Slug, prompt: &str) -> Result<WorkflowEvent, WorkflowError> {
        if let Err(why) = self.refresh_copy(slug)? {
            return Ok(WorkflowEvent::StepFailed(why));
        }
        let copy = self.project.model_copy(slug);
        let directory = copy.join(self.project.path_in_repository());
        // The audit trails are hidden from the model. They contain the other model's answers, and sentences that people
        // removed from such answers.
        let hidden: Vec<PathBuf> = vec![self.project.trail_root(self.settings)];
        let asked = Consultation { role, prompt: prompt.as_bytes(), copy: &copy, directory: &directory, hidden: &hidden };
        let ended = self.host.consult(&asked)?;
        let consulted = self.consultation_record(role, prompt, &ended);
        Ok(match parse_answer(&ended) {
            Ok(text) => WorkflowEvent::ModelAnswered { text, record: consulted },
            Err(why) => WorkflowEvent::ConsultationFailed { why: self.explain(role, &why, &ended), record: consulted },
        })
    }

    fn consultation_record(&self, role: ModelRole, prompt: &str, ended: &EndedAction) -> ConsultationRecord {
        let (word, settings, pinned) = match role {
            ModelRole::Drafter => ("drafter", &self.settings.models.drafter, ISSUE_TEMPLATE),
            ModelRole::Reviewer => ("reviewer", &self.settings.models.reviewer, REVIEW_PROMPT),
        };
        let captured = &ended.captured;
        let whole = |stream: &proctor_model::StreamExcerpt| Digest::of(&[&stream.head[..], &stream.tail].concat());
        ConsultationRecord {
            role: word.to_owned(),
            command: settings.command.clone(),
            end: describe(&ended.end),
            exit_code: ended.end.exit_code(),
            isolation: ended.kept.as_ref().map(|kept| kept.reached.level),
            obstacles: ended.kept.as_ref().map(|kept| kept.reached.obstacles.clone()).unwrap_or_default(),
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

    fn explain(&self, role: ModelRole, why: &str, ended: &EndedAction) -> String {
        let name = match role {
            ModelRole::Drafter => &self.settings.models.drafter.name,
            ModelRole::Reviewer => &self.settings.models.reviewer.name,
        };
        // The text goes to the terminal at which the person decides, and into the trail's files, which the person opens.
        let complaint = ended.captured.stderr.text();
        let complaint = shown_lines(&complaint);
        let complaint = complaint.trim();
        let from = complaint.len().saturating_sub(SHOWN_COMPLAINT);
        let from = (from..complaint.len()).find(|at| complaint.is_char_boundary(*at)).unwrap_or(complaint.len());
        let said = if complaint.is_empty() { String::new() } else { format!("; it says: {}", &complaint[from..]) };
        format!("{name} gave no answer: {why}{said}")
    }
}

/// Returns the answer of a model: its whole standard output. The output counts only if the command ended with exit code
/// 0, left no process that could still print, and printed at most [`LONGEST_ANSWER`] bytes of UTF-8.
///
/// # Errors
/// Why the output does not count, as a clause for people.
fn parse_answer(ended: &EndedAction) -> Result<String, String> {
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
        SpawnFailure::NotIsolated { why } => format!("it cannot be isolated: {why}"),
        SpawnFailure::Refused { program, message, .. } => format!("`{program}`: {message}"),
        SpawnFailure::PromptUnreadable { why, .. } | SpawnFailure::ClientNotReady { why } | SpawnFailure::NoServer { why } => {
            why.clone()
        }
        SpawnFailure::PortHeld { port, .. } => format!("port {port} is held"),
    }
}
