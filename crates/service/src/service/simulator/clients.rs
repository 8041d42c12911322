//! The model of clients: they ask, wait for the answer, and may hang up.

use super::model::Model;
use super::world::Project;
use crate::service::call::Reply;
use proctor_api::{AnswerV1, ErrorV1, RunAnswerV1};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::oneshot::{Receiver, channel};

/// How long after its time limit an answer may come, because the loop is busy with other things.
const SLACK: u64 = 1_500;

/// A client that waits for an answer.
pub(super) struct Client {
    project: usize,
    asked: u64,
    /// When the answer must be there; `None` for a run, which takes as long as it takes.
    bound: Option<u64>,
    hangs_up: u64,
    answer: Answer,
}

enum Answer {
    Status(Receiver<Result<AnswerV1, ErrorV1>>),
    Run(Receiver<Result<RunAnswerV1, ErrorV1>>),
}

impl Client {
    pub(super) fn asking(project: usize, now: u64, timeout: u64, patience: u64) -> (Self, Reply<AnswerV1>) {
        let (reply, answer) = channel();
        let (bound, hangs_up) = (Some(now + timeout + SLACK), now.saturating_add(patience));
        (Self { project, asked: now, bound, hangs_up, answer: Answer::Status(answer) }, reply)
    }

    pub(super) fn requesting(project: usize, now: u64, patience: u64) -> (Self, Reply<RunAnswerV1>) {
        let (reply, answer) = channel();
        (Self { project, asked: now, bound: None, hangs_up: now.saturating_add(patience), answer: Answer::Run(answer) }, reply)
    }

    /// Returns when the client does something by itself.
    pub(super) fn next(&self) -> u64 {
        self.hangs_up.min(self.bound.map_or(u64::MAX, |bound| bound + 1))
    }

    pub(super) fn project(&self) -> usize {
        self.project
    }

    /// Takes the answer if it is there. Returns whether the client still waits.
    pub(super) fn goes_on(&mut self, now: u64, projects: &[Project], model: &mut Model) -> bool {
        let is_empty = match &mut self.answer {
            Answer::Status(answer) => match answer.try_recv() {
                Ok(Ok(answer)) => {
                    model.answered(now, self.project, self.asked, &answer, &projects[self.project].directory.lock());
                    false
                }
                Ok(Err(_)) => false,
                Err(TryRecvError::Empty) => true,
                Err(TryRecvError::Closed) => return self.is_forgotten(now, projects, model),
            },
            Answer::Run(answer) => match answer.try_recv() {
                Ok(_) => false,
                Err(TryRecvError::Empty) => true,
                Err(TryRecvError::Closed) => return self.is_forgotten(now, projects, model),
            },
        };
        if is_empty && self.bound.is_some_and(|bound| bound < now) {
            model.late(now, self.project);
            return false;
        }
        is_empty && now < self.hangs_up
    }

    /// Whoever listens at the socket says for a service that is stopping that it is.
    fn is_forgotten(&self, now: u64, projects: &[Project], model: &mut Model) -> bool {
        if !projects[self.project].is_ending {
            model.late(now, self.project);
        }
        false
    }
}
