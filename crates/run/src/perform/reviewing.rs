//! A review in progress: the reviewer's input, the meaning of its output, and whether it is asked again. `review/`
//! makes the decisions. A review has at most two attempts, because a reviewer that gave no verdict is asked once more.
//! Both attempts use the same arguments and the same input, and each attempt records the digests of both.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::perform::reports::take_project_report;
use crate::perform::{Attempts, Performer};
use crate::review::{count_rejections, rejections_before};
use crate::snapshot::RunSnapshot;
use proctor_evidence::report::{ActionFiles, excerpt, to_bytes};
use proctor_model::{
    Action, ActionEnd, ActionId, ActionKind, CategoryCode, Digest, EndedAction, EvidenceFile, Interpretation, Observation,
    OnSurvivors, Prompt, Review, ReviewAttempt, ReviewObservation, ReviewVerdict, SpawnFailure, ToolReport,
};
use proctor_plan::review::{
    OUTPUT_CAP, ParsedReview, ReviewDecision, ReviewGate, ReviewStep, ReviewerFault, ReviewerOutput, SplitEmphasis, announcement,
    parse_review, retry_warning,
};
use proctor_project::ProjectError;

/// A review in progress: its settings, its input, and its attempts so far.
#[derive(Debug)]
pub(super) struct ActiveReview {
    settings: Review,
    /// The reviewer's standard input, the same in every attempt, or why it cannot be read.
    prompt: Result<Vec<u8>, SpawnFailure>,
    /// Decides after each attempt whether another one follows; `None` once the review is decided.
    gate: Option<ReviewGate>,
    attempts: Vec<ReviewAttempt>,
}

impl ActiveReview {
    /// Begins a review; `None` if the action is no review. The prompt is read only here, so that a repetition gets the
    /// same input. `snapshot` is the snapshot on which the reviewer works.
    pub(super) fn begin(action: &Action, root: &Path, snapshot: Option<&RunSnapshot>) -> Option<Self> {
        let ActionKind::Review(settings) = &action.kind else { return None };
        let prompt = match &settings.prompt {
            Prompt::Nothing => Ok(Vec::new()),
            Prompt::Given { bytes, sha256: _ } => Ok(bytes.clone()),
            Prompt::File(path) => read_prompt(root, path, snapshot.map(|snapshot| (snapshot, &action.id))),
        };
        Some(Self { settings: settings.clone(), prompt, gate: Some(ReviewGate::First), attempts: Vec::new() })
    }

    /// Returns the reviewer's standard input: the text of the prompt, or why it cannot be read.
    pub(super) fn input(&self) -> Result<Vec<u8>, SpawnFailure> {
        self.prompt.clone()
    }

    /// Returns whether the reviewer should be asked again.
    pub(super) fn awaits_retry(&self) -> bool {
        matches!(self.gate, Some(ReviewGate::Retry(_)))
    }

    /// Adds a finished attempt and returns its interpretation; `said` is the interpretation of how the process ended.
    pub(super) fn note(
        &mut self,
        action: &Action,
        ended: &EndedAction,
        said: Interpretation,
        log: &str,
    ) -> (Interpretation, Observation) {
        let (category, verdict, reason) = match (fault(ended), self.gate.take()) {
            (Some(fault), Some(gate)) => self.judge(action, ended, fault, gate, log),
            // The reviewer was not started, or proctor stopped it, so there is no verdict.
            (None, _) | (_, None) => (said.category, ReviewVerdict::Indeterminate, said.reason.clone()),
        };
        let seen = ReviewObservation { verdict, reason: reason.clone(), rejections: 0, attempts: self.attempts.clone() };
        (Interpretation { category, reason, ..said }, Observation::Review(Box::new(seen)))
    }

    /// Returns the category code of an attempt, the reviewer's decision, and the reason.
    fn judge(
        &mut self,
        action: &Action,
        ended: &EndedAction,
        fault: Option<ReviewerFault>,
        gate: ReviewGate,
        log: &str,
    ) -> (CategoryCode, ReviewVerdict, String) {
        let stdout = &ended.captured.stdout;
        let bytes = [&stdout.head[..], &stdout.tail].concat();
        let read = if stdout.is_complete() { &bytes[..] } else { &bytes[..bytes.len().min(OUTPUT_CAP)] };
        let split = if self.settings.accept_split_emphasis { SplitEmphasis::Accepted } else { SplitEmphasis::Refused };
        let reading = parse_review(ReviewerOutput { bytes: read, total: stdout.total, fault }, split);
        let digest = Digest::of(&bytes);
        self.attempts.push(ReviewAttempt {
            attempt: u32::try_from(self.attempts.len()).unwrap_or(u32::MAX - 1) + 1,
            reading: word(reading).to_owned(),
            reason: words(reading),
            exit_code: ended.end.exit_code(),
            duration: ended.duration,
            argv_sha256: digest_of_words(&action.command.argv),
            prompt_sha256: Digest::of(self.prompt.as_deref().unwrap_or_default()),
            output_bytes: stdout.total,
            output_sha256: stdout.is_complete().then_some(digest),
            excerpt: excerpt(stdout).text,
            evidence: log.to_owned(),
        });
        match gate.next_step(reading, digest) {
            ReviewStep::Retry { why, gate } => {
                self.gate = Some(gate);
                (CategoryCode::NoVerdict, ReviewVerdict::Indeterminate, retry_warning(why))
            }
            ReviewStep::Decided(decision) => decided(&decision, action, ended.survivors.len()),
        }
    }
}

impl Performer<'_, '_> {
    /// Stores the result of a review and the number of rejections. The reviewer's input is stored only after the first
    /// attempt, because a repetition gets the same input.
    pub(super) fn keep_review(
        &mut self,
        action: &Action,
        observed: &mut Observation,
        names: &ActionFiles,
        attempts: &Attempts,
    ) -> Result<Vec<EvidenceFile>, ProjectError> {
        let Observation::Review(seen) = observed else { return Ok(Vec::new()) };
        count_rejections(seen, rejections_before(&self.evidence.store, self.context.request, &action.name));
        let prompt = attempts.input().ok().flatten().filter(|_| attempts.number() == 1);
        let kept = [(&names.tool_report, prompt), (&names.findings, Some(to_bytes(seen)))];
        let mut files = Vec::with_capacity(kept.len());
        for (name, bytes) in kept {
            let (Some(name), Some(bytes)) = (name, bytes) else { continue };
            let kept = self.directory.write(&name.name, &bytes, name.kind, Some(&action.id));
            files.push(kept?);
        }
        Ok(files)
    }
}

fn decided(decision: &ReviewDecision, action: &Action, survivors: usize) -> (CategoryCode, ReviewVerdict, String) {
    let reason = announcement(decision);
    let (category, verdict) = match decision {
        ReviewDecision::Proceed(_) if survivors > 0 && action.on_survivors == OnSurvivors::Fail => {
            let reason = format!(
                "{survivors} process(es) were still running when the reviewer had ended, and `on_survivors = \"fail\"`: its approval does not count"
            );
            return (CategoryCode::SurvivorsLeft, ReviewVerdict::Indeterminate, reason);
        }
        ReviewDecision::Proceed(_) => (CategoryCode::ReviewApproved, ReviewVerdict::Approved),
        ReviewDecision::Fix(..) => (CategoryCode::ReviewRejected, ReviewVerdict::Rejected),
        ReviewDecision::AskPerson(_) => (CategoryCode::NoVerdict, ReviewVerdict::Indeterminate),
    };
    (category, verdict, reason)
}

/// Returns how the reviewer's command failed, whatever the text of the review says; the inner `None` means that the
/// command did not fail. The outer `None` means that the reviewer was not started or that proctor stopped it.
fn fault(ended: &EndedAction) -> Option<Option<ReviewerFault>> {
    match &ended.end {
        ActionEnd::Exited { code: 0 } => Some(ended.captured.pipes_left_open.then_some(ReviewerFault::Unknown)),
        ActionEnd::Exited { code } => Some(Some(ReviewerFault::ExitCode(*code))),
        ActionEnd::Signalled { signal } => Some(Some(ReviewerFault::Signal(*signal))),
        ActionEnd::TimedOut { .. } => Some(Some(ReviewerFault::Limit)),
        ActionEnd::Lost { .. } => Some(Some(ReviewerFault::Unknown)),
        ActionEnd::Stopped { .. } | ActionEnd::NotStarted(_) => None,
    }
}

fn word(reading: ParsedReview) -> &'static str {
    match reading {
        ParsedReview::Approved => ReviewVerdict::Approved.word(),
        ParsedReview::Rejected(_) => ReviewVerdict::Rejected.word(),
        ParsedReview::Malformed { kind, .. } => kind.word(),
    }
}

fn words(reading: ParsedReview) -> String {
    match reading {
        ParsedReview::Approved => "the review has an explicit Yes".to_owned(),
        ParsedReview::Rejected(_) => "the review has an explicit rejection".to_owned(),
        ParsedReview::Malformed { kind, .. } => format!("the review {}", kind.describe()),
    }
}

fn digest_of_words(words: &[String]) -> Digest {
    let bytes: Vec<u8> = words.iter().flat_map(|word| OsStr::new(word).as_bytes().iter().copied().chain([0])).collect();
    Digest::of(&bytes)
}

/// Reads a prompt file of the project. It must be a regular file, and its path must contain no links.
fn read_prompt(root: &Path, path: &str, snapshot: Option<(&RunSnapshot, &ActionId)>) -> Result<Vec<u8>, SpawnFailure> {
    let read = match snapshot.map(|(snapshot, action)| snapshot.place_of(action, Path::new(path))) {
        None => take_project_report(root, Path::new(path), None),
        Some(Ok(Some((directory, path)))) => take_project_report(&directory, &path, None),
        Some(Ok(None)) => ToolReport::Missing,
        Some(Err(error)) => ToolReport::Refused(error.to_string()),
    };
    let why = match read {
        ToolReport::Fresh(bytes) if bytes.len() as u64 <= Prompt::CAP => return Ok(bytes),
        ToolReport::Fresh(_) | ToolReport::Large(_) => format!("it is larger than {} bytes", Prompt::CAP),
        ToolReport::Missing | ToolReport::NotRequested => "it is not there".to_owned(),
        ToolReport::Refused(why) => why,
    };
    Err(SpawnFailure::PromptUnreadable { prompt: path.to_owned(), why })
}
