//! What a project does when proctor itself cannot judge it: it says why, tries again with growing pauses, and says when it
//! is over. Clients that wait are answered at once, because waiting alone would change nothing.

use crate::engine::Moment;
use crate::service::call::answer;
use crate::service::health::HealthNews;
use crate::service::opening::SessionMessage;
use crate::service::pending_changes::LookCare;
use crate::service::session::{ProjectSession, Stage};
use crate::worker::LookTicket;
use proctor_api::EventV1;
use proctor_model::{Activity, ServiceTrouble, TaskId};
use proctor_project::StoreReader;

impl ProjectSession {
    /// Notes that proctor itself could not judge the project. The log and the subscribers are told only if the problem is new.
    pub(super) fn troubled(&mut self, now: Moment, health: ServiceTrouble, task: Option<&TaskId>) -> Vec<SessionMessage> {
        let notify = self.notify.clone().map(|name| SessionMessage::Notify { name, problem: health.problem });
        if self.health.failed(now, health, task) == HealthNews::Known {
            return Vec::new();
        }
        let name = self.name();
        let Some(health) = self.health.problem().cloned() else { return Vec::new() };
        let mut words: Vec<_> = health.lines().map(|line| SessionMessage::Say(format!("{name}: {line}"))).into();
        words.extend(notify);
        words.extend(self.id.clone().map(|project| SessionMessage::Tell(EventV1::Health { project, health: Some(health) })));
        words
    }

    /// Says that a problem is over.
    pub(super) fn healed(&self, over: Option<ServiceTrouble>) -> Vec<SessionMessage> {
        let Some(over) = over else { return Vec::new() };
        let said = SessionMessage::Say(format!("{}: is judged again ({})", self.name(), over.problem.words()));
        let told = self.id.clone().map(|project| SessionMessage::Tell(EventV1::Health { project, health: None }));
        std::iter::once(said).chain(told).collect()
    }

    /// Begins another attempt if it is time. While a run or a status check is under way, the attempt is put off.
    pub(super) fn try_to_judge(&mut self, now: Moment) {
        if !matches!(self.stage, Stage::Open(_)) || !self.health.take_due(now) {
            return;
        }
        self.begin_first_look();
    }

    /// Makes the first status check again that ended while a run was under way.
    pub(super) fn repeat_first_look(&mut self) {
        if matches!(&self.stage, Stage::Open(open) if open.owes_first_look) {
            self.begin_first_look();
        }
    }

    /// Begins a status check of the whole tree, after which everything runs that has no fresh verdict, unless a run or a status check
    /// is under way.
    fn begin_first_look(&mut self) {
        let Stage::Open(open) = &mut self.stage else { return };
        if open.activity != Activity::Idle || open.looking.is_some() {
            return;
        }
        open.owes_first_look = false;
        open.tickets += 1;
        let ticket = LookTicket(open.tickets);
        (open.looking, open.first) = (Some(ticket), Some(ticket));
        let wanted = [open.scheduler.watched_tasks().to_vec(), self.waiters.wanted_tasks()].concat();
        self.waiters.begin_look(ticket);
        open.pending_changes.anything();
        open.scheduler.look(ticket, wanted, open.pending_changes.take(LookCare::Whole));
    }

    /// Answers the clients that wait for a run, because it could not be made and the next attempt comes only after a pause.
    pub(super) fn answer_blocked(&mut self, archive: &mut StoreReader) {
        for due in self.waiters.take_blocked() {
            let standing = self.unlooked(archive, std::slice::from_ref(&due.task));
            answer(due, &standing, self.health.problem());
        }
    }

    /// Returns the project's id, or its directory while it has no id.
    fn name(&self) -> String {
        self.id.as_ref().map_or_else(|| format!("`{}`", self.root.display()), ToString::to_string)
    }
}
