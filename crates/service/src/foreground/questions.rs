//! Questions to the person at a foreground watch: whether a refused plan is approved, or rules by which a run was judged. A question is shown when nothing runs,
//! and is withdrawn when a run begins: a save may have changed what the question is about.

use crate::foreground::{Foreground, Screen};
use crate::worker::{FinishedRun, RunFailure};
use proctor_model::{ApprovalWay, TaskId, UnapprovedPlan};
use proctor_project::{ApprovalQuestion, RunOutcome};

/// The number of a question. Its answer carries the same number, so an answer that comes late answers no other question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuestionNumber(pub u64);

/// How a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionEnd {
    /// The person typed the name of what is approved.
    Approved,
    /// The person typed anything else.
    Declined,
    /// A run begins, or the watch ends, before the person answered.
    Withdrawn,
}

/// What a foreground watch asks and has asked.
#[derive(Debug, Default)]
pub(super) struct Questions {
    /// The tasks whose rules nobody has approved, in the order of their runs, with the plan if it was refused.
    unapproved: Vec<(TaskId, Option<UnapprovedPlan>)>,
    /// The plans to which the person said no. The person is not asked about the same differences again.
    declined: Vec<UnapprovedPlan>,
    stage: QuestionStage,
}

#[derive(Debug, Default)]
enum QuestionStage {
    #[default]
    None,
    /// The worker was asked what the person has to approve.
    Requested,
    /// The question is on the screen.
    Shown(QuestionNumber, Box<ApprovalQuestion>),
}

impl<S: Screen> Foreground<'_, S> {
    /// Shows the end of a run. A refused plan that the person will be asked about is shown in one line, because the question
    /// says the rest.
    pub(super) fn show_end(&mut self, over: &FinishedRun) {
        self.questions.unapproved.retain(|(task, _)| *task != over.task);
        match &over.carried {
            Ok(RunOutcome::NotApproved(unapproved)) if self.may_ask(unapproved) => {
                self.screen.refused(unapproved);
                self.questions.unapproved.push((over.task.clone(), Some(unapproved.clone())));
                return;
            }
            Ok(RunOutcome::Judged(sealed)) if !sealed.report.rules_changed.is_empty() && self.screen.can_ask() => {
                self.questions.unapproved.push((over.task.clone(), None));
            }
            Ok(_) | Err(_) => {}
        }
        self.screen.over(over);
    }

    /// Requests the next question, unless one is under way. Called when nothing runs.
    pub(super) fn request_question(&mut self) {
        if let (QuestionStage::None, Some((task, _))) = (&self.questions.stage, self.questions.unapproved.first()) {
            self.scheduler.worker().find_question(task.clone());
            self.questions.stage = QuestionStage::Requested;
        }
    }

    /// Shows the question that the worker found.
    pub(super) fn show_question(&mut self, found: &Result<Option<Box<ApprovalQuestion>>, RunFailure>) {
        // A run has begun since the question was requested.
        if !matches!(self.questions.stage, QuestionStage::Requested) {
            return;
        }
        self.questions.stage = QuestionStage::None;
        match found {
            Ok(Some(question)) if self.may_ask(&question.unapproved) => {
                let number = self.screen.ask(&question.unapproved);
                self.questions.stage = QuestionStage::Shown(number, question.clone());
            }
            // The plan is a typed command, a person has said no to it, or approved it elsewhere and it runs in a moment.
            Ok(_) => {
                // The first one was asked about.
                if !self.questions.unapproved.is_empty() {
                    let (_, refused) = self.questions.unapproved.remove(0);
                    refused.iter().for_each(|refused| self.screen.not_asked(refused));
                    self.request_question();
                }
            }
            Err(failure) => {
                self.questions.unapproved.clear();
                self.screen.failed(failure);
            }
        }
    }

    /// Handles what the person typed as an answer.
    pub(super) fn take_answer(&mut self, number: QuestionNumber, text: &str) {
        // An answer that comes late belongs to a question that was withdrawn.
        if !matches!(&self.questions.stage, QuestionStage::Shown(shown, _) if *shown == number) {
            return;
        }
        let QuestionStage::Shown(_, question) = std::mem::take(&mut self.questions.stage) else { return };
        self.questions.unapproved.retain(|(task, _)| *task != question.unapproved.task);
        if text.strip_suffix('\n').unwrap_or(text) == question.unapproved.name_to_type() {
            self.screen.end_question(QuestionEnd::Approved);
            self.scheduler.worker().approve(question);
        } else {
            self.screen.end_question(QuestionEnd::Declined);
            self.questions.declined.push(question.unapproved);
            self.request_question();
        }
    }

    /// Withdraws the question, if there is one. Its plan is asked about again if it is refused again.
    pub(super) fn withdraw_question(&mut self) {
        if let QuestionStage::Shown(..) = std::mem::take(&mut self.questions.stage) {
            self.screen.end_question(QuestionEnd::Withdrawn);
        }
    }

    /// Lets the person be asked again about what they have said no to: they have asked for a run.
    pub(super) fn forget_declined(&mut self) {
        self.questions.declined.clear();
    }

    fn may_ask(&self, unapproved: &UnapprovedPlan) -> bool {
        let is_declined =
            |declined: &UnapprovedPlan| (&declined.task, &declined.difference) == (&unapproved.task, &unapproved.difference);
        unapproved.way == ApprovalWay::Answer && self.screen.can_ask() && !self.questions.declined.iter().any(is_declined)
    }
}
