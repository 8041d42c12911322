//! Handles the requests of people and programs: keys, requested runs, waits, signals. Pure.

use std::collections::BTreeSet;

use crate::effect::{Effect, Notice};
use crate::engine::Engine;
use crate::engine::round::{Round, RoundChecks};
use crate::engine::stage::{LookPurpose, Stage, StopProgress};
use crate::event::{Key, OsSignal};
use proctor_model::{CommandExit, StopReason, TaskId, TriggerKind};
use proctor_project::Selection;

impl Engine {
    pub(super) fn on_key(&mut self, key: Key) -> Vec<Effect> {
        match key {
            Key::Clear => vec![Effect::ClearScreen],
            Key::Quit => self.leave(CommandExit::Proceed, StopReason::Interrupted),
            Key::Help => vec![Effect::Show(Notice::Keys)],
            Key::Difference => vec![Effect::Show(Notice::DifferenceAsked)],
            Key::Log => vec![Effect::Show(Notice::LogAsked)],
            Key::OpenPage => vec![Effect::Show(Notice::PageAsked)],
            Key::Again => self.everything_now_or_next(Notice::RunningAgainAfterRun),
            Key::FailedOnly if self.known.values().all(|known| known.last_failed.is_empty()) => {
                vec![Effect::Show(Notice::NothingFailed)]
            }
            Key::FailedOnly => match self.stage {
                Stage::Idle => {
                    self.round = Some(Round::new(TriggerKind::Request, BTreeSet::new(), RoundChecks::Failed));
                    self.next_of_round(LookPurpose::Request).into_iter().collect()
                }
                Stage::Looking(_) | Stage::Recalling | Stage::Running(_) => Vec::new(),
            },
        }
    }

    pub(super) fn on_everything(&mut self) -> Vec<Effect> {
        match self.stage {
            Stage::Idle => {
                // Running every task also covers the waiting changes and the waiting repetition.
                self.burst = None;
                self.repetition = None;
                self.unrest.reset();
                self.everything(TriggerKind::Request)
            }
            Stage::Looking(_) | Stage::Recalling | Stage::Running(_) => Vec::new(),
        }
    }

    pub(super) fn everything(&mut self, kind: TriggerKind) -> Vec<Effect> {
        self.approval_owed = false;
        self.round = Some(Round::new(kind, BTreeSet::new(), RoundChecks::All));
        self.next_of_round(LookPurpose::Request).into_iter().collect()
    }

    pub(super) fn on_request(&mut self, task: TaskId, selection: Selection, kind: TriggerKind) -> Vec<Effect> {
        match self.stage {
            Stage::Idle => {
                if let Some(other) = self.repetition.take_if(|repetition| repetition.task != task) {
                    // The repetition of the other task comes after the requested run.
                    let tasks = &self.settings.tasks;
                    self.round.get_or_insert_with(|| Round::of_one(tasks, &other.task)).has_not_had(&other.task);
                }
                if matches!(selection, Selection::Every | Selection::All | Selection::Missing) {
                    // A run of all checks also covers what this task still had to run. A run of named checks does not.
                    if self.settings.tasks == [task.clone()] {
                        self.burst = None;
                    }
                    self.repetition = None;
                    self.repetitions.reset();
                    self.unrest.reset();
                }
                vec![self.start(task, LookPurpose::Request, kind, BTreeSet::new(), selection, None)]
            }
            Stage::Looking(_) | Stage::Recalling | Stage::Running(_) => Vec::new(),
        }
    }

    pub(super) fn on_signal(&mut self, signal: OsSignal) -> Vec<Effect> {
        match signal {
            OsSignal::Interrupt => self.leave(CommandExit::Interrupted, StopReason::Interrupted),
            OsSignal::Terminate => self.leave(CommandExit::Terminated, StopReason::Terminated),
            OsSignal::Reload => self.on_reload(),
        }
    }

    /// Reloads the configuration by running everything, because every run reads the configuration before it begins.
    pub(super) fn on_reload(&mut self) -> Vec<Effect> {
        self.everything_now_or_next(Notice::ReloadingAfterRun)
    }

    /// Runs everything: at once, or if a run is under way, when that run is over. `notice` then says so. Does nothing if the
    /// program is about to end.
    fn everything_now_or_next(&mut self, notice: Notice) -> Vec<Effect> {
        match self.stage {
            Stage::Idle => self.on_everything(),
            Stage::Looking(_) | Stage::Recalling | Stage::Running(_) if self.leaving.is_some() => Vec::new(),
            Stage::Looking(_) | Stage::Recalling | Stage::Running(_) => {
                self.everything_owed = true;
                vec![Effect::Show(notice)]
            }
        }
    }

    /// Ends the program after stopping the run under way. If a second request to end comes, the worker kills the run at
    /// once.
    fn leave(&mut self, exit: CommandExit, reason: StopReason) -> Vec<Effect> {
        match self.stage {
            Stage::Idle => vec![Effect::Quit(exit)],
            Stage::Looking(_) | Stage::Recalling | Stage::Running(_) => {
                self.stage = Stage::Running(StopProgress::Stopping);
                let is_first = self.leaving.replace(exit).is_none();
                let told = is_first.then_some(Effect::Show(Notice::Stopping));
                told.into_iter().chain([Effect::Stop(reason)]).collect()
            }
        }
    }
}
