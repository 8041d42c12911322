//! N6: the issue is filed once, and everything after that is done again until it is done; none of it files (B8).

use crate::governance::event::{Answer, Effect, Ending, Event, PauseReason, Transition};
use crate::governance::fields::read_fields;
use crate::governance::gate::{Choice, Gate, parse_choice};
use crate::governance::machine::Step;
use crate::governance::record::{FILED_SCHEMA, FiledIssue, FiledV1, to_text};
use crate::governance::state::{Attempt, Filed, Filing, Node, Phase, State, Subject};
use crate::governance::trail::Kind;
use crate::governance::wording;

pub(super) fn pending(state: &State, filing: &Filing) -> Effect {
    match filing {
        Filing::Labels(filed) => Effect::EnsureLabels(filed.labels.clone()),
        Filing::Creating(filed) => Effect::FileIssue {
            title: filed.title.clone(),
            body_file: filed.body_file.clone(),
            labels: filed.labels.clone(),
            marker: state.id.marker(),
        },
        Filing::Failed { why, .. } => Effect::Ask(wording::failure(why)),
        Filing::Tired { .. } => Effect::Ask(wording::tired(state.counters.attempts)),
        Filing::Moving(issue) => Effect::MoveToDone { issue: issue.number },
        Filing::Committing(issue) => Effect::Commit { issue: issue.number },
        Filing::Cleaning(_) => Effect::RemoveSandbox,
    }
}

impl Step {
    /// N5 step 6, and N6 step 1: labels and title come from what a person approved.
    pub(super) fn approve(mut self, subject: Subject, overridden: bool) -> Transition {
        let filing = match read_fields(&subject.draft) {
            Ok(fields) => {
                let number = self.next_number();
                let text = format!("{}\n\n{}\n", subject.draft.trim_end(), self.state.id.marker());
                Filing::Labels(Filed::new(fields, self.keep(number, Kind::Issue, text)))
            }
            Err(why) => Filing::Failed { why, next: Attempt::Fields },
        };
        self.to(Node::File { subject, overridden, filing })
    }

    pub(super) fn file(self, subject: Subject, overridden: bool, filing: Filing, event: Event) -> Transition {
        let to = |filing| Node::File { subject: subject.clone(), overridden, filing };
        match (filing, event) {
            (Filing::Labels(filed), Event::LabelsReady) => self.to(to(Filing::Creating(filed))),
            (Filing::Labels(filed), Event::TrackerFailed(why)) => self.fail(to, why, Attempt::Labels(filed)),
            (Filing::Creating(filed), Event::TrackerFailed(why)) => self.fail(to, why, Attempt::Creating(filed)),
            (Filing::Creating(filed), Event::IssueFiled { issue, already_there }) => {
                self.note_filed(to, (overridden, already_there), &filed, issue)
            }
            (Filing::Failed { .. } | Filing::Tired { .. }, Event::Answered(Answer::Nobody)) => {
                self.end(Ending::Paused(PauseReason::Nobody))
            }
            (Filing::Failed { why, next }, Event::Answered(Answer::Line(line))) => {
                self.after_failure((&subject, overridden), (why, next), &line)
            }
            (Filing::Tired { why, next }, Event::Answered(Answer::Line(line))) => {
                self.after_many((&subject, overridden), (why, next), &line)
            }
            (Filing::Moving(issue), Event::Moved) => self.to(to(Filing::Committing(issue))),
            (Filing::Committing(issue), Event::Committed) => self.to(to(Filing::Cleaning(issue))),
            (Filing::Cleaning(issue), Event::SandboxRemoved) => self.to(Node::Done { issue }),
            (Filing::Moving(_) | Filing::Committing(_) | Filing::Cleaning(_), Event::StepFailed(why)) => self.pause(why),
            (_, _) => self.go_on(),
        }
    }

    fn fail(mut self, to: impl Fn(Filing) -> Node, why: String, next: Attempt) -> Transition {
        self.state.counters.attempts += 1;
        self.to(to(Filing::Failed { why, next }))
    }

    /// N6 steps 5 to 7.
    fn note_filed(
        mut self,
        to: impl Fn(Filing) -> Node,
        (overrides, already_there): (bool, bool),
        filed: &Filed,
        issue: FiledIssue,
    ) -> Transition {
        let record = FiledV1 {
            schema: FILED_SCHEMA,
            workflow: &self.state.id,
            issue_number: issue.number,
            issue_url: &issue.url,
            title: &filed.title,
            labels: &filed.labels,
            body_file: &filed.body_file,
            filed_at: self.moment.now,
            brief_file: &self.state.brief_name,
            total_iterations: self.state.counters.iterations,
            draft_count: self.state.counters.drafts,
            verdict_count: self.state.counters.verdicts,
            already_there,
            overrides,
        };
        let text = to_text(&record);
        let number = self.next_number();
        self.keep(number, Kind::Filed, text);
        self.to(to(Filing::Moving(issue)))
    }

    /// N6 step 4.
    fn after_failure(
        mut self,
        (subject, overridden): (&Subject, bool),
        (why, next): (String, Attempt),
        line: &str,
    ) -> Transition {
        let Some(choice) = parse_choice(Gate::Failure, line) else {
            self.say(wording::no_answer(line, Gate::Failure));
            return self.go_on();
        };
        // What was seen is what was approved: the copies of the editor before this.
        let copies = self.last_copies();
        self.keep_gate(Gate::Failure, choice, (subject, copies));
        if choice == Choice::Edit {
            // New copies: those that led to the failure stay as they were.
            let copies = self.state.counters.files;
            return self.to(Node::Decide { subject: subject.clone(), copies, phase: Phase::Editing });
        }
        if choice != Choice::Retry {
            return self.end(Ending::Aborted);
        }
        if self.state.counters.attempts >= self.state.allowed.attempts {
            return self.to(Node::File { subject: subject.clone(), overridden, filing: Filing::Tired { why, next } });
        }
        self.again(subject, overridden, next)
    }

    fn after_many(mut self, (subject, overridden): (&Subject, bool), (why, next): (String, Attempt), line: &str) -> Transition {
        let Some(choice) = parse_choice(Gate::Attempts, line) else {
            self.say(wording::no_answer(line, Gate::Attempts));
            return self.go_on();
        };
        let copies = self.last_copies();
        self.keep_gate(Gate::Attempts, choice, (subject, copies));
        if choice == Choice::Continue {
            let more = self.state.limits.attempts;
            self.state.allowed.attempts = self.state.counters.attempts.saturating_add(more);
            return self.again(subject, overridden, next);
        }
        self.state.node = Node::File { subject: subject.clone(), overridden, filing: Filing::Failed { why, next } };
        self.end(Ending::Aborted)
    }

    fn again(self, subject: &Subject, overridden: bool, next: Attempt) -> Transition {
        let subject = subject.clone();
        let filing = match next {
            Attempt::Fields => return self.approve(subject, overridden),
            Attempt::Labels(filed) => Filing::Labels(filed),
            Attempt::Creating(filed) => Filing::Creating(filed),
        };
        self.to(Node::File { subject, overridden, filing })
    }

    /// Returns the number of the copies that the editor had last.
    fn last_copies(&self) -> u32 {
        let ending = Kind::DraftHuman.ending();
        let last = self.state.trail.iter().rev().find(|entry| entry.name.ends_with(ending));
        last.and_then(|entry| entry.name.split('-').next()?.parse().ok()).unwrap_or_default()
    }
}
