//! The node N6 of the workflow: the issue is filed, and never twice. If a step after the filing fails (moving the
//! trail, committing it, removing the models' copy), the workflow pauses, and a resumed workflow repeats only that step
//! (B8).

use crate::governance::event::{PauseReason, PersonAnswer, WorkflowEffect, WorkflowEnding, WorkflowEvent, WorkflowTransition};
use crate::governance::gate::{GateChoice, WorkflowGate, parse_choice};
use crate::governance::machine::TransitionBuilder;
use crate::governance::record::{FILED_SCHEMA, FiledIssue, FiledV1, TrailKind, to_text};
use crate::governance::state::{
    DecisionPhase, DecisionSubject, FilingRetry, FilingStep, IssueToFile, WorkflowNode, WorkflowState,
};
use crate::governance::verdict::parse_fields;
use crate::governance::wording;

pub(super) fn pending_effect(state: &WorkflowState, filing: &FilingStep) -> WorkflowEffect {
    match filing {
        FilingStep::Labels(filed) => WorkflowEffect::EnsureLabels(filed.labels.clone()),
        FilingStep::Creating(filed) => WorkflowEffect::FileIssue {
            title: filed.title.clone(),
            body_file: filed.body_file.clone(),
            labels: filed.labels.clone(),
            marker: state.id.marker(),
        },
        FilingStep::Failed { why, .. } => WorkflowEffect::Ask(wording::failure(why)),
        FilingStep::AskingForMoreAttempts { .. } => WorkflowEffect::Ask(wording::more_attempts(state.counters.attempts)),
        FilingStep::Moving(issue) => WorkflowEffect::MoveToDone { issue: issue.number },
        FilingStep::Committing(issue) => WorkflowEffect::Commit { issue: issue.number },
        FilingStep::Cleaning(_) => WorkflowEffect::RemoveSandbox,
    }
}

impl TransitionBuilder {
    /// N5 step 6, and N6 step 1: reads title and labels from the draft that the person approved, and writes the issue's
    /// text to the trail. If they cannot be read, the filing has failed, and nothing is written.
    pub(super) fn approve(mut self, subject: DecisionSubject, overridden: bool) -> WorkflowTransition {
        let filing = match parse_fields(&subject.draft) {
            Ok(fields) => {
                let number = self.next_number();
                let text = format!("{}\n\n{}\n", subject.draft.trim_end(), self.state.id.marker());
                FilingStep::Labels(IssueToFile::new(fields, self.keep(number, TrailKind::Issue, text)))
            }
            Err(why) => FilingStep::Failed { why, next: FilingRetry::Fields },
        };
        self.enter(WorkflowNode::File { subject, overridden, filing })
    }

    pub(super) fn file(
        self,
        subject: DecisionSubject,
        overridden: bool,
        filing: FilingStep,
        event: WorkflowEvent,
    ) -> WorkflowTransition {
        let to = |filing| WorkflowNode::File { subject: subject.clone(), overridden, filing };
        match (filing, event) {
            (FilingStep::Labels(filed), WorkflowEvent::LabelsReady) => self.enter(to(FilingStep::Creating(filed))),
            (FilingStep::Labels(filed), WorkflowEvent::TrackerFailed(why)) => {
                self.ask_after_failure(to, why, FilingRetry::Labels(filed))
            }
            (FilingStep::Creating(filed), WorkflowEvent::TrackerFailed(why)) => {
                self.ask_after_failure(to, why, FilingRetry::Creating(filed))
            }
            (FilingStep::Creating(filed), WorkflowEvent::IssueFiled { issue, already_there }) => {
                self.record_filed_issue(to, (overridden, already_there), &filed, issue)
            }
            (
                FilingStep::Failed { .. } | FilingStep::AskingForMoreAttempts { .. },
                WorkflowEvent::Answered(PersonAnswer::Nobody),
            ) => self.finish_with(WorkflowEnding::Paused(PauseReason::Nobody)),
            (FilingStep::Failed { why, next }, WorkflowEvent::Answered(PersonAnswer::Line(line))) => {
                self.answer_failure((&subject, overridden), (why, next), &line)
            }
            (FilingStep::AskingForMoreAttempts { why, next }, WorkflowEvent::Answered(PersonAnswer::Line(line))) => {
                self.answer_more_attempts((&subject, overridden), (why, next), &line)
            }
            (FilingStep::Moving(issue), WorkflowEvent::Moved) => self.enter(to(FilingStep::Committing(issue))),
            (FilingStep::Committing(issue), WorkflowEvent::Committed) => self.enter(to(FilingStep::Cleaning(issue))),
            (FilingStep::Cleaning(issue), WorkflowEvent::SandboxRemoved) => self.enter(WorkflowNode::Done { issue }),
            (FilingStep::Moving(_) | FilingStep::Committing(_) | FilingStep::Cleaning(_), WorkflowEvent::StepFailed(why)) => {
                self.pause(why)
            }
            (_, _) => self.finish(),
        }
    }

    fn ask_after_failure(
        mut self,
        to: impl Fn(FilingStep) -> WorkflowNode,
        why: String,
        next: FilingRetry,
    ) -> WorkflowTransition {
        self.state.counters.attempts += 1;
        self.enter(to(FilingStep::Failed { why, next }))
    }

    /// N6 steps 5 to 7: writes `filed.json` to the trail, then has the trail moved to `done/`.
    fn record_filed_issue(
        mut self,
        to: impl Fn(FilingStep) -> WorkflowNode,
        (overrides, already_there): (bool, bool),
        filed: &IssueToFile,
        issue: FiledIssue,
    ) -> WorkflowTransition {
        let record = FiledV1 {
            schema: FILED_SCHEMA,
            workflow: &self.state.id,
            issue_number: issue.number,
            issue_url: &issue.url,
            title: &filed.title,
            labels: &filed.labels,
            body_file: &filed.body_file,
            filed_at: self.context.now,
            brief_file: &self.state.brief_name,
            total_iterations: self.state.counters.iterations,
            draft_count: self.state.counters.drafts,
            verdict_count: self.state.counters.verdicts,
            already_there,
            overrides,
        };
        let text = to_text(&record);
        let number = self.next_number();
        self.keep(number, TrailKind::Filed, text);
        self.enter(to(FilingStep::Moving(issue)))
    }

    /// N6 step 4: the person chooses between a retry, editing the draft and aborting.
    fn answer_failure(
        mut self,
        (subject, overridden): (&DecisionSubject, bool),
        (why, next): (String, FilingRetry),
        line: &str,
    ) -> WorkflowTransition {
        let Some(choice) = parse_choice(WorkflowGate::Failure, line) else {
            self.say(wording::invalid_answer(line, WorkflowGate::Failure));
            return self.finish();
        };
        // The decision is about the texts that the person approved, which are the texts that the person edited last.
        let copy_number = self.last_copy_number();
        self.keep_decision(WorkflowGate::Failure, choice, (subject, copy_number));
        if choice == GateChoice::Edit {
            // The editor gets files with a new number, so the approved files of the failed attempt stay unchanged in
            // the trail.
            let copy_number = self.state.counters.files;
            return self.enter(WorkflowNode::Decide { subject: subject.clone(), copy_number, phase: DecisionPhase::Editing });
        }
        if choice != GateChoice::Retry {
            return self.finish_with(WorkflowEnding::Aborted);
        }
        if self.state.counters.attempts >= self.state.raised_limits.attempts {
            return self.enter(WorkflowNode::File {
                subject: subject.clone(),
                overridden,
                filing: FilingStep::AskingForMoreAttempts { why, next },
            });
        }
        self.retry(subject, overridden, next)
    }

    fn answer_more_attempts(
        mut self,
        (subject, overridden): (&DecisionSubject, bool),
        (why, next): (String, FilingRetry),
        line: &str,
    ) -> WorkflowTransition {
        let Some(choice) = parse_choice(WorkflowGate::Attempts, line) else {
            self.say(wording::invalid_answer(line, WorkflowGate::Attempts));
            return self.finish();
        };
        let copy_number = self.last_copy_number();
        self.keep_decision(WorkflowGate::Attempts, choice, (subject, copy_number));
        if choice == GateChoice::Continue {
            let more = self.state.limits.attempts;
            self.state.raised_limits.attempts = self.state.counters.attempts.saturating_add(more);
            return self.retry(subject, overridden, next);
        }
        self.state.node = WorkflowNode::File { subject: subject.clone(), overridden, filing: FilingStep::Failed { why, next } };
        self.finish_with(WorkflowEnding::Aborted)
    }

    fn retry(self, subject: &DecisionSubject, overridden: bool, next: FilingRetry) -> WorkflowTransition {
        let subject = subject.clone();
        let filing = match next {
            FilingRetry::Fields => return self.approve(subject, overridden),
            FilingRetry::Labels(filed) => FilingStep::Labels(filed),
            FilingRetry::Creating(filed) => FilingStep::Creating(filed),
        };
        self.enter(WorkflowNode::File { subject, overridden, filing })
    }

    /// Returns the number that begins the name of the last draft that a person edited, such as 7 for
    /// `007-draft-human.md`; 0 if the trail has no such file.
    fn last_copy_number(&self) -> u32 {
        let ending = TrailKind::DraftHuman.ending();
        let last = self.state.trail.iter().rev().find(|entry| entry.name.ends_with(ending));
        last.and_then(|entry| entry.name.split('-').next()?.parse().ok()).unwrap_or_default()
    }
}
