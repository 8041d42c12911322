//! The clients that wait for the state of a project, and when each of them is answered. Pure: time is an argument.
//!
//! A status check (a "look") reads the tree and compares it with the verdicts. It answers only clients that asked
//! before it began, so that it sees everything saved before their question.

use crate::engine::Moment;
use crate::service::call::{Question, Wait};
use crate::service::pending_changes::LookCare;
use crate::worker::LookTicket;
use proctor_api::InTimeV1;
use proctor_model::{TaskId, WaitStep};

/// The most runs that are started for one client. If the tree changed during each of them, the client is answered
/// without a fresh verdict.
const MOST_RUNS: u32 = 3;

/// All clients that wait for one project.
#[derive(Debug)]
pub(super) struct Waiters<R> {
    waiting: Vec<Waiter<R>>,
}

#[derive(Debug)]
struct Waiter<R> {
    reply: R,
    task: TaskId,
    question: Question,
    deadline: Moment,
    stage: Stage,
    runs: u32,
}

/// The event that a client is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The beginning of a status check: none has begun since the client asked.
    New,
    /// The end of this status check.
    Looking(LookTicket),
    /// The end of a run. After it, another status check is needed.
    Blocked,
}

/// A client that must be answered now.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DueAnswer<R> {
    pub(super) reply: R,
    /// The task that the client asked about.
    pub(super) task: TaskId,
    pub(super) in_time: InTimeV1,
}

/// The result of a status check: which clients are answered, and what the clients that still wait need.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LookOutcome<R> {
    pub(super) due: Vec<DueAnswer<R>>,
    pub(super) need: WaiterNeed,
}

/// The next step that the clients that still wait need.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum WaiterNeed {
    /// Nothing: no client is left, or the run that they need is planned already.
    Nothing,
    /// A run of this task, the first one that a client needs. Clients that need another task's run get another status
    /// check after this run.
    Run(TaskId),
    /// Another status check after a pause, because another process runs the project's checks.
    LookLater,
}

/// Whether the engine will start a run by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PlannedRun {
    /// The engine will repeat a run during which the tree changed.
    Repetition,
    Nothing,
}

impl<R> Waiters<R> {
    pub(super) fn new() -> Self {
        Self { waiting: Vec::new() }
    }

    pub(super) fn add(&mut self, reply: R, task: TaskId, question: Question, deadline: Moment) {
        self.waiting.push(Waiter { reply, task, question, deadline, stage: Stage::New, runs: 0 });
    }

    /// Returns the most thorough kind of status check that a client needs. Only clients for whom no status check has
    /// begun count; returns `None` if there are no such clients.
    pub(super) fn wanted_care(&self) -> Option<LookCare> {
        self.waiting.iter().filter(|waiter| waiter.stage == Stage::New).map(|waiter| waiter.question.care).max()
    }

    /// Notes that a status check begins. It will answer all clients that have asked so far.
    pub(super) fn begin_look(&mut self, ticket: LookTicket) {
        self.waiting
            .iter_mut()
            .filter(|waiter| waiter.stage == Stage::New)
            .for_each(|waiter| waiter.stage = Stage::Looking(ticket));
    }

    /// Notes that the project is opened anew. What the clients waited for does not come any more.
    pub(super) fn begin_anew(&mut self) {
        self.waiting.iter_mut().for_each(|waiter| waiter.stage = Stage::New);
    }

    /// Notes that a planned status check is cancelled. The clients that waited for it need another status check.
    pub(super) fn put_off(&mut self, ticket: LookTicket) {
        self.waiting
            .iter_mut()
            .filter(|waiter| waiter.stage == Stage::Looking(ticket))
            .for_each(|waiter| waiter.stage = Stage::New);
    }

    /// Returns the tasks of the clients for whom no status check has begun. A client that asks how the project stands now
    /// names no task: it is answered with those that the project has, which need not have the task `default`.
    pub(super) fn wanted_tasks(&self) -> Vec<TaskId> {
        let mut tasks = Vec::new();
        let names_no_task = |waiter: &Waiter<R>| waiter.question.wait == Wait::Now && waiter.task == TaskId::default_task();
        for waiter in self.waiting.iter().filter(|waiter| waiter.stage == Stage::New && !names_no_task(waiter)) {
            if !tasks.contains(&waiter.task) {
                tasks.push(waiter.task.clone());
            }
        }
        tasks
    }

    /// Handles the end of a status check. `step` returns what the result of the status check requires for each task.
    pub(super) fn looked(
        &mut self,
        ticket: LookTicket,
        step: impl Fn(&TaskId) -> WaitStep,
        planned: PlannedRun,
    ) -> LookOutcome<R> {
        let mut outcome = LookOutcome { due: Vec::new(), need: WaiterNeed::Nothing };
        for mut waiter in std::mem::take(&mut self.waiting) {
            if waiter.stage != Stage::Looking(ticket) {
                self.waiting.push(waiter);
                continue;
            }
            let need = match (waiter.question.wait, step(&waiter.task), planned) {
                (Wait::Now, ..) | (Wait::Fresh, WaitStep::Answer, _) => None,
                (Wait::Fresh, WaitStep::GoOn, _) => Some(WaiterNeed::LookLater),
                (Wait::Fresh, WaitStep::Run, PlannedRun::Repetition) => Some(WaiterNeed::Nothing),
                (Wait::Fresh, WaitStep::Run, PlannedRun::Nothing) if waiter.runs >= MOST_RUNS => None,
                (Wait::Fresh, WaitStep::Run, PlannedRun::Nothing) => Some(WaiterNeed::Run(waiter.task.clone())),
            };
            match need {
                None => outcome.due.push(DueAnswer { reply: waiter.reply, task: waiter.task, in_time: InTimeV1::Answered }),
                Some(need) => {
                    waiter.stage = Stage::Blocked;
                    outcome.need = first_need(outcome.need, need);
                    if outcome.need == WaiterNeed::Run(waiter.task.clone()) {
                        waiter.runs += 1;
                    }
                    self.waiting.push(waiter);
                }
            }
        }
        outcome
    }

    /// Notes that the run that clients waited for may have ended. They need another status check.
    pub(super) fn unblock(&mut self) {
        self.waiting.iter_mut().filter(|waiter| waiter.stage == Stage::Blocked).for_each(|waiter| waiter.stage = Stage::New);
    }

    /// Removes and returns the clients of a status check that has failed.
    pub(super) fn failed(&mut self, ticket: LookTicket) -> Vec<DueAnswer<R>> {
        let failed = self.take_waiters(|waiter| waiter.stage == Stage::Looking(ticket));
        failed.into_iter().map(Waiter::answered).collect()
    }

    /// Removes and returns the clients that wait for the end of a run, because that run has failed for a reason that a
    /// further run at once would not change.
    pub(super) fn take_blocked(&mut self) -> Vec<DueAnswer<R>> {
        self.take_waiters(|waiter| waiter.stage == Stage::Blocked).into_iter().map(Waiter::answered).collect()
    }

    /// Removes and returns the clients that want the present state at once and for whom no status check has begun.
    pub(super) fn take_impatient(&mut self) -> Vec<DueAnswer<R>> {
        let impatient = self.take_waiters(|waiter| waiter.question.wait == Wait::Now && waiter.stage == Stage::New);
        impatient.into_iter().map(Waiter::answered).collect()
    }

    /// Removes and returns the clients whose deadline has passed.
    pub(super) fn late(&mut self, now: Moment) -> Vec<DueAnswer<R>> {
        let late = self.take_waiters(|waiter| waiter.deadline <= now);
        late.into_iter().map(|waiter| DueAnswer { in_time: InTimeV1::TimedOut, ..waiter.answered() }).collect()
    }

    /// Removes and returns all clients that wait for the project.
    pub(super) fn take_all(&mut self) -> Vec<DueAnswer<R>> {
        self.take_waiters(|_| true).into_iter().map(Waiter::answered).collect()
    }

    /// Removes the clients that have closed their connection.
    pub(super) fn forget(&mut self, is_gone: impl Fn(&R) -> bool) {
        self.waiting.retain(|waiter| !is_gone(&waiter.reply));
    }

    pub(super) fn next_deadline(&self) -> Option<Moment> {
        self.waiting.iter().map(|waiter| waiter.deadline).min()
    }

    pub(super) fn count(&self) -> usize {
        self.waiting.len()
    }

    fn take_waiters(&mut self, is_it: impl Fn(&Waiter<R>) -> bool) -> Vec<Waiter<R>> {
        let (taken, left) = std::mem::take(&mut self.waiting).into_iter().partition(is_it);
        self.waiting = left;
        taken
    }
}

impl<R> Waiter<R> {
    fn answered(self) -> DueAnswer<R> {
        DueAnswer { reply: self.reply, task: self.task, in_time: InTimeV1::Answered }
    }
}

/// Returns the more urgent of two needs. A run comes before another status check. Of two runs, the one that was needed
/// first comes first.
fn first_need(known: WaiterNeed, new: WaiterNeed) -> WaiterNeed {
    match (known, new) {
        (WaiterNeed::Run(task), _) | (WaiterNeed::Nothing | WaiterNeed::LookLater, WaiterNeed::Run(task)) => {
            WaiterNeed::Run(task)
        }
        (WaiterNeed::LookLater, WaiterNeed::Nothing | WaiterNeed::LookLater) | (WaiterNeed::Nothing, WaiterNeed::LookLater) => {
            WaiterNeed::LookLater
        }
        (WaiterNeed::Nothing, WaiterNeed::Nothing) => WaiterNeed::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: LookTicket = LookTicket(1);
    const TWO: LookTicket = LookTicket(2);
    const LATE: Moment = Moment(1000);
    const FRESH: Question = Question { wait: Wait::Fresh, care: LookCare::Whole };
    const NOW: Question = Question { wait: Wait::Now, care: LookCare::Events };

    fn own() -> TaskId {
        TaskId::default_task()
    }

    fn answered(reply: &'static str) -> DueAnswer<&'static str> {
        DueAnswer { reply, task: own(), in_time: InTimeV1::Answered }
    }

    #[test]
    fn a_look_answers_only_those_who_asked_before_it_began() {
        let mut waiters = Waiters::new();
        waiters.add("early", own(), FRESH, LATE);
        waiters.begin_look(ONE);
        waiters.add("while it looked", own(), FRESH, LATE);
        assert!(waiters.wanted_care().is_some());
        let outcome = waiters.looked(ONE, |_| WaitStep::Answer, PlannedRun::Nothing);
        assert_eq!(outcome, LookOutcome { due: vec![answered("early")], need: WaiterNeed::Nothing });
        waiters.begin_look(TWO);
        assert!(waiters.wanted_care().is_none());
        assert_eq!(waiters.looked(TWO, |_| WaitStep::Answer, PlannedRun::Nothing).due, [answered("while it looked")]);
    }

    #[test]
    fn a_stale_verdict_needs_a_run_and_is_looked_at_again_when_that_is_over() {
        let mut waiters = Waiters::new();
        waiters.add("a", own(), FRESH, LATE);
        waiters.add("b", own(), NOW, LATE);
        waiters.begin_look(ONE);
        let outcome = waiters.looked(ONE, |_| WaitStep::Run, PlannedRun::Nothing);
        assert_eq!(outcome, LookOutcome { due: vec![answered("b")], need: WaiterNeed::Run(own()) });
        assert!(waiters.wanted_care().is_none(), "nothing is looked at while the run is under way");
        waiters.unblock();
        waiters.begin_look(TWO);
        assert_eq!(waiters.looked(TWO, |_| WaitStep::Answer, PlannedRun::Nothing).due, [answered("a")]);
        assert_eq!(waiters.count(), 0);
    }

    #[test]
    fn a_planned_repetition_is_waited_for_and_a_tree_that_always_moves_is_not() {
        let mut waiters = Waiters::new();
        waiters.add("a", own(), FRESH, LATE);
        let mut look = |number, planned| {
            waiters.unblock();
            waiters.begin_look(LookTicket(number));
            waiters.looked(LookTicket(number), |_| WaitStep::Run, planned)
        };
        assert_eq!(look(1, PlannedRun::Repetition).need, WaiterNeed::Nothing);
        for number in 2..5 {
            assert_eq!(look(number, PlannedRun::Nothing).need, WaiterNeed::Run(own()));
        }
        assert_eq!(look(5, PlannedRun::Nothing).due, [answered("a")]);
    }

    #[test]
    fn whose_time_is_over_is_answered_as_it_stands() {
        let mut waiters = Waiters::new();
        waiters.add("soon", own(), FRESH, Moment(10));
        waiters.add("later", own(), FRESH, Moment(20));
        assert_eq!(waiters.next_deadline(), Some(Moment(10)));
        assert_eq!(waiters.late(Moment(9)), []);
        assert_eq!(waiters.late(Moment(10)), [DueAnswer { reply: "soon", task: own(), in_time: InTimeV1::TimedOut }]);
        waiters.forget(|reply| *reply == "later");
        assert_eq!(waiters.next_deadline(), None);
    }

    #[test]
    fn another_processs_run_is_looked_at_again_later() {
        let mut waiters = Waiters::new();
        waiters.add("a", own(), FRESH, LATE);
        waiters.begin_look(ONE);
        assert_eq!(waiters.looked(ONE, |_| WaitStep::GoOn, PlannedRun::Nothing).need, WaiterNeed::LookLater);
        assert_eq!(waiters.failed(ONE), [], "that look is over");
        assert_eq!(waiters.take_all(), [answered("a")]);
    }

    #[test]
    fn a_run_that_cannot_be_made_answers_those_who_wait_for_it_and_nobody_else() {
        let mut waiters = Waiters::new();
        waiters.add("waits for the run", own(), FRESH, LATE);
        waiters.begin_look(ONE);
        assert_eq!(waiters.looked(ONE, |_| WaitStep::Run, PlannedRun::Nothing).need, WaiterNeed::Run(own()));
        waiters.add("came later", own(), FRESH, LATE);
        assert_eq!(waiters.take_blocked(), [answered("waits for the run")]);
        assert_eq!(waiters.count(), 1);
    }

    #[test]
    fn one_careful_question_has_everybody_answered_by_a_careful_look() {
        let mut waiters = Waiters::new();
        assert_eq!(waiters.wanted_care(), None);
        waiters.add("a", own(), NOW, LATE);
        assert_eq!(waiters.wanted_care(), Some(LookCare::Events));
        waiters.add("b", own(), FRESH, LATE);
        assert_eq!(waiters.wanted_care(), Some(LookCare::Whole));
        waiters.begin_look(ONE);
        assert_eq!(waiters.wanted_care(), None);
        waiters.put_off(TWO);
        assert_eq!(waiters.wanted_care(), None, "another look is none of theirs");
        waiters.put_off(ONE);
        assert_eq!(waiters.wanted_care(), Some(LookCare::Whole));
        assert_eq!(waiters.take_impatient(), [answered("a")], "a run has begun instead");
    }

    #[test]
    fn each_is_answered_for_its_own_task_and_one_run_is_begun_at_a_time() {
        let (other, third) = (TaskId::try_from("T117").unwrap(), TaskId::try_from("T118").unwrap());
        let mut waiters = Waiters::new();
        waiters.add("fresh", own(), FRESH, LATE);
        waiters.add("stale", other.clone(), FRESH, LATE);
        waiters.add("stale too", third.clone(), FRESH, LATE);
        assert_eq!(waiters.wanted_tasks(), [own(), other.clone(), third.clone()]);
        waiters.begin_look(ONE);
        assert_eq!(waiters.wanted_tasks(), []);
        let step = |task: &TaskId| if *task == own() { WaitStep::Answer } else { WaitStep::Run };
        let outcome = waiters.looked(ONE, step, PlannedRun::Nothing);
        assert_eq!(outcome, LookOutcome { due: vec![answered("fresh")], need: WaiterNeed::Run(other.clone()) });
        waiters.unblock();
        waiters.begin_look(TWO);
        let step = |task: &TaskId| if *task == third { WaitStep::Run } else { WaitStep::Answer };
        let outcome = waiters.looked(TWO, step, PlannedRun::Nothing);
        let due = vec![DueAnswer { reply: "stale", task: other, in_time: InTimeV1::Answered }];
        assert_eq!(outcome, LookOutcome { due, need: WaiterNeed::Run(third) });
    }
}
