//! The errands of a project: requests such as a change of a task's cycle. They are carried out between the project's
//! runs, one after the other.

use crate::engine::Moment;
use crate::errand::{ErrandDone, ErrandTrouble};
use crate::service::call::{ErrandCall, from_open_failure, from_run_error, refuse, too_many};
use crate::service::opening::SessionMessage;
use crate::service::session::{ProjectSession, Stage};
use proctor_api::{ErrorKindV1, ErrorV1};
use proctor_model::{Activity, TaskId};
use proctor_project::StoreReader;

/// The most errands that may wait for their turn.
const MOST_ERRANDS: usize = 16;

impl ProjectSession {
    /// Adds an errand to the project's queue, or refuses it if `MOST_ERRANDS` wait already or the project could not be opened.
    pub(in crate::service) fn send_on_errand(
        &mut self,
        now: Moment,
        call: ErrandCall,
        archive: &mut StoreReader,
    ) -> Vec<SessionMessage> {
        if self.errands.len() >= MOST_ERRANDS {
            refuse(call.reply, too_many("wait for their turn"));
            return Vec::new();
        }
        if let Stage::Closed { why, .. } = &self.stage {
            refuse(call.reply, from_open_failure(why));
            return Vec::new();
        }
        self.errands.push_back(call);
        self.go_on(now, archive)
    }

    /// Starts the next errand if neither a run nor an errand is under way. Errands whose client has disconnected are dropped, so
    /// that a request that a client gave up is not carried out later.
    pub(super) fn next_errand(&mut self) {
        self.errands.retain(|call| !call.reply.is_closed());
        let Stage::Open(open) = &mut self.stage else { return };
        if open.activity != Activity::Idle || open.errand.is_some() {
            return;
        }
        if let Some(call) = self.errands.pop_front() {
            open.scheduler.send_on(call.errand.clone());
            open.errand = Some(call);
        }
    }

    /// Answers the client whose errand has ended.
    pub(super) fn errand_over(&mut self, done: Result<ErrandDone, ErrandTrouble>) -> Vec<SessionMessage> {
        let Stage::Open(open) = &mut self.stage else { return Vec::new() };
        let Some(call) = open.errand.take() else { return Vec::new() };
        let who = self.id.as_ref().map(ToString::to_string).unwrap_or_default();
        let asker = &call.errand.asker;
        let by = asker.executable.clone().unwrap_or_else(|| "a process".to_owned());
        let said = format!("{who}: {} asked by {by} (process {})", call.what, asker.pid);
        let answer = done.map_err(|trouble| from_errand_trouble(trouble, &call));
        let line = match &answer {
            Ok(_) => said,
            Err(error) => format!("{said}: {}", error.message),
        };
        let _gone = call.reply.send(answer);
        vec![SessionMessage::Say(line)]
    }

    /// Refuses all waiting errands and the one under way.
    pub(super) fn refuse_errands(&mut self, why: &ErrorV1) {
        let under_way = match &mut self.stage {
            Stage::Open(open) => open.errand.take(),
            Stage::Opening(_) | Stage::Closed { .. } | Stage::Left => None,
        };
        self.errands.drain(..).chain(under_way).for_each(|call| refuse(call.reply, why.clone()));
    }
}

fn from_errand_trouble(trouble: ErrandTrouble, call: &ErrandCall) -> ErrorV1 {
    match trouble {
        ErrandTrouble::Configuration(lines) => {
            let hint = if call.errand.task == TaskId::default_task() { "mend proctor.toml" } else { "mend the specification" };
            ErrorV1::new(ErrorKindV1::ConfigurationWrong, lines.join("; "), format!("{hint} and ask again"))
        }
        ErrandTrouble::NoSuchTask(lines) => {
            let mut lines = lines.into_iter();
            let message = lines.next().unwrap_or_default();
            let hints: Vec<String> = lines.map(|line| line.trim_start().trim_start_matches("hint: ").to_owned()).collect();
            ErrorV1::new(ErrorKindV1::NotFound, message, hints.join("; "))
        }
        ErrandTrouble::Run(error) => from_run_error(&error),
    }
}
