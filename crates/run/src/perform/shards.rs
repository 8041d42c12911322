//! Runs the tests of one check in several processes, its shards, and joins their results into one.
//!
//! Each shard has a layer of the snapshot, an output directory and a launcher of its own, as checks that run side by side have. The run's
//! turn in the queue of the machine belongs to the check as a whole, so one shard always goes on; others start while turns are free.
//! What the shards left is read in their order after the last one has ended, so the result does not depend on which one ended first.

use std::collections::BTreeMap;
use std::io::{PipeReader, Read as _};
use std::num::NonZeroU32;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use crate::flow::stop_reasons_for;
use crate::perform::joined_shards::joined_end;
use crate::perform::judging::ReadAttempt;
use crate::perform::process::{PreparedAttempt, ShardPlan};
use crate::perform::{
    Attempts, BackgroundAction, BackgroundActionEnd, BackgroundActionOrder, EndReceiver, Performer, ended_not_started,
    ended_without_launcher, ended_without_process,
};
use crate::queue::QueueTurn;
use crate::test_history::last_test_times;
use proctor_evidence::Slot;
use proctor_evidence::report::{ActionFiles, ActionResult};
use proctor_model::{
    Action, ActionEnd, CategoryCode, DurationMs, EndedAction, HomeAccess, Interpretation, PlanNote, Shard, StopReason, StopStage,
};
use proctor_project::{Progress, ProjectError};
use proctor_sandbox::process::{LauncherHandle, SuperviseError, clock};
use proctor_tools::{self as tools, ShardOutcome};

/// How long a shard waits before it asks again for a turn in the queue. Other processes free turns without telling.
const TURN_SLICE: Duration = Duration::from_millis(20);

/// The longest wait for the end of a shard or a stop request. Either event ends the wait early.
const LONG_SLICE: Duration = Duration::from_secs(1);

/// A shard that runs. `background_action` is dropped first, so that `prepared` moves files back only when no process is left.
struct RunningShard {
    background_action: BackgroundAction,
    prepared: PreparedAttempt,
    turn: ShardTurn,
    /// Whether a stop request was passed on to the shard.
    is_asked: bool,
    is_second_launcher: bool,
}

/// The turn in the queue of the machine by which a shard runs.
enum ShardTurn {
    /// The turn of the check itself, which the next shard takes over.
    OfCheck,
    /// Another turn, which is given back when the shard ends.
    Further(#[expect(dead_code, reason = "dropping it frees the turn")] Option<Slot>),
}

/// The shards of one attempt. A number is a shard's position, counted from 0.
struct ShardRun<'p, 'w, 'c> {
    performer: &'p mut Performer<'w, 'c>,
    /// The check under a name of its own for each shard. The caches of a check belong to its name, so each shard keeps its own.
    shards: Vec<Action>,
    attempts: &'p Attempts,
    times: Vec<(String, u64)>,
    is_check_turn_free: bool,
    open: BTreeMap<usize, RunningShard>,
    over: BTreeMap<usize, (Option<PreparedAttempt>, EndedAction)>,
    idle: Vec<LauncherHandle>,
    receiver: EndReceiver,
    ends: Receiver<BackgroundActionEnd>,
    bell: PipeReader,
}

/// Returns the number of processors that this process may use.
pub(super) fn processors() -> NonZeroU32 {
    let number = thread::available_parallelism().ok().and_then(|number| NonZeroU32::try_from(number).ok());
    number.unwrap_or(NonZeroU32::MIN)
}

impl Performer<'_, '_> {
    /// Returns the number of processes among which the tests of a check are divided; `None` if one process runs them all.
    ///
    /// In the project itself the processes would overwrite each other's files, and an overlay home can be mounted only once at a time.
    pub(super) fn shards_of(&self, action: &Action) -> Option<u32> {
        let count = action.shards?.count(processors());
        let has_own_home = self.context.request.settings.sandbox.home != HomeAccess::Overlay;
        (count > 1 && has_own_home && self.place.snapshot_for(action).is_some()).then_some(count)
    }

    /// Carries out an attempt of a check in several processes. `slot` is the check's turn in the queue of the machine.
    pub(super) fn run_shards(
        &mut self,
        slot: Option<Slot>,
        action: &Action,
        count: u32,
        attempts: &mut Attempts,
    ) -> Result<ActionResult, ProjectError> {
        (self.show)(Progress::ActionStarted(Box::new(action.clone())));
        let begun = clock::monotonic();
        let over = ShardRun::new(self, action, count, attempts)?.run_all()?;
        let duration = DurationMs::from(clock::monotonic().since(begun));
        // No process of the check is left, so another action may start while this one is judged.
        drop(slot);
        self.begin_reading(action);
        let (mut read, mut unstarted) = (Vec::with_capacity(over.len()), None);
        for (number, (prepared, ended)) in (1..).zip(over) {
            match prepared {
                Some(prepared) => read.push(self.read_attempt(&named(action, Shard { number, of: count }), prepared, ended)?),
                None => unstarted = Some(ended.end),
            }
        }
        let mut joined = self.join(action, read, duration, attempts.number())?;
        if let Some(end) = unstarted {
            let why = "The command was stopped before all of its shards were started".to_owned();
            (joined.said, joined.ended.end) = (Interpretation::plain(CategoryCode::Stopped, why), end);
        }
        self.conclude(action, joined, attempts)
    }

    /// Makes one attempt of the shards that were started; at least one was.
    fn join(
        &mut self,
        action: &Action,
        read: Vec<ReadAttempt>,
        duration: DurationMs,
        attempt: u32,
    ) -> Result<ReadAttempt, ProjectError> {
        let outcomes: Vec<ShardOutcome> =
            read.iter().map(|one| ShardOutcome { interpretation: one.said.clone(), list: one.listed.clone() }).collect();
        let (said, decides) = tools::join_shards(&outcomes);
        drop(outcomes);
        let names = ActionFiles::for_attempt(action, attempt);
        let logs: Vec<&ActionFiles> = read.iter().map(|one| &one.names).collect();
        let streams = self.keep_joined_streams(action, &names, &logs)?;
        let ended = joined_end(&read.iter().map(|one| &one.ended).collect::<Vec<_>>(), decides, duration, &streams);
        let (mut files, mut notes, mut control) = (Vec::from(streams), Vec::<PlanNote>::new(), None);
        let mut decisive = None;
        for (place, mut one) in read.into_iter().enumerate() {
            files.append(&mut one.files);
            let new: Vec<PlanNote> = one.notes.drain(..).filter(|note| !notes.contains(note)).collect();
            notes.extend(new);
            control = control.or(one.control.take());
            if place == decides {
                decisive = Some(one);
            }
        }
        let decisive = decisive.expect("the shard that decides is one of them");
        Ok(ReadAttempt { ended, said, files, notes, control, names, ..decisive })
    }
}

/// Returns a check as one of its shards carries it out.
fn named(action: &Action, shard: Shard) -> Action {
    Action { name: format!("{} (shard {} of {})", action.name, shard.number, shard.of), ..action.clone() }
}

impl<'p, 'w, 'c> ShardRun<'p, 'w, 'c> {
    fn new(
        performer: &'p mut Performer<'w, 'c>,
        action: &Action,
        count: u32,
        attempts: &'p Attempts,
    ) -> Result<Self, ProjectError> {
        let (sender, ends) = channel();
        let failed = |source| ProjectError::LaneThread { action: action.name.clone(), source };
        let (bell, ringer) = std::io::pipe().map_err(failed)?;
        let times = last_test_times(&performer.evidence.store, performer.context.request, action);
        Ok(Self {
            shards: (1..=count).map(|number| named(action, Shard { number, of: count })).collect(),
            attempts,
            times,
            is_check_turn_free: true,
            open: BTreeMap::new(),
            over: BTreeMap::new(),
            idle: Vec::new(),
            receiver: EndReceiver { ends: sender, bell: Arc::new(ringer) },
            ends,
            bell,
            performer,
        })
    }

    /// Runs all shards, and returns how each ended, in their order. A shard that was never started has no attempt.
    fn run_all(mut self) -> Result<Vec<(Option<PreparedAttempt>, EndedAction)>, ProjectError> {
        while self.over.len() < self.shards.len() {
            let longest = self.start_shards()?;
            self.forward_stops();
            if self.open.is_empty() {
                continue;
            }
            match self.ends.try_recv() {
                Ok(over) => self.take(over)?,
                Err(TryRecvError::Empty) => self.performer.context.request.control.wait_at_most(self.bell.as_fd(), longest),
                Err(TryRecvError::Disconnected) => unreachable!("a sender is held here"),
            }
        }
        let (up, lost): (Vec<_>, Vec<_>) = self.idle.drain(..).partition(|launcher| !launcher.is_lost());
        up.into_iter().for_each(|launcher| self.performer.give_back_launcher(launcher));
        drop(lost);
        Ok(self.over.into_values().collect())
    }

    /// Starts shards while turns are free. Returns how long to wait at most before it is tried again.
    fn start_shards(&mut self) -> Result<Duration, ProjectError> {
        while let Some(place) =
            (0..self.shards.len()).find(|place| !self.open.contains_key(place) && !self.over.contains_key(place))
        {
            // The first shard always starts: a check that is stopped has a beginning, as one without shards has.
            if let Some(reason) = self.performer.requested_stop(&self.shards[place]).filter(|_| place > 0) {
                let end = ActionEnd::Stopped { reason, stage: StopStage::Sigterm };
                self.over.insert(place, (None, ended_without_process(end)));
                continue;
            }
            let turn = if std::mem::take(&mut self.is_check_turn_free) {
                ShardTurn::OfCheck
            } else if self.open.len() >= self.performer.turns() as usize {
                return Ok(LONG_SLICE);
            } else {
                match self.performer.try_take_turn()? {
                    Some(QueueTurn::Given(slot)) => ShardTurn::Further(slot),
                    Some(QueueTurn::Stopped) | None => return Ok(TURN_SLICE),
                }
            };
            self.start(place, turn)?;
        }
        Ok(LONG_SLICE)
    }

    fn start(&mut self, place: usize, turn: ShardTurn) -> Result<(), ProjectError> {
        let shard = Shard { number: place as u32 + 1, of: self.shards.len() as u32 };
        let plan = ShardPlan { shard, times: &self.times };
        let prepared = self.performer.prepare_part(&self.shards[place], self.attempts, Some(plan))?;
        if let Err(failure) = &prepared.launch.request {
            let ended = ended_not_started(failure.clone());
            self.end(place, turn, prepared, ended);
            return Ok(());
        }
        let background_action = self.background_action(place, &prepared)?;
        self.open.insert(place, RunningShard { background_action, prepared, turn, is_asked: false, is_second_launcher: false });
        Ok(())
    }

    fn background_action(&mut self, place: usize, prepared: &PreparedAttempt) -> Result<BackgroundAction, ProjectError> {
        let action = &self.shards[place];
        let mut request = prepared.launch.request.clone().expect("whoever has no program is not started");
        request.child.another_follows = self.over.len() + self.open.len() + 1 < self.shards.len();
        let (limits, sinks) = (prepared.launch.limits.clone(), prepared.launch.sinks(action)?);
        let mut take_idle = || {
            let place = self.idle.iter().position(|launcher| !launcher.is_lost())?;
            Some(self.idle.swap_remove(place))
        };
        let launcher = match self.performer.take_own_launcher().or_else(&mut take_idle) {
            Some(launcher) => launcher,
            None => self.performer.start_background_launcher()?,
        };
        BackgroundAction::start(
            action,
            BackgroundActionOrder { place, request, remote: prepared.launch.remote.clone(), limits, sinks },
            launcher,
            self.receiver.clone(),
        )
    }

    /// Passes the run's stop requests on to all shards that run. A second request kills them.
    fn forward_stops(&mut self) {
        let control = self.performer.context.request.control;
        let reasons = |shard: &Action| stop_reasons_for(shard.phase);
        let is_heeded = |reason: &StopReason| reasons(&self.shards[0]).contains(reason);
        let requests: Vec<StopReason> = control.take_requests().into_iter().filter(is_heeded).collect();
        let in_force = control.in_force().filter(is_heeded);
        for open in self.open.values_mut() {
            // Starting another shard may have read the request already.
            let missed = in_force.filter(|_| requests.is_empty() && !open.is_asked);
            requests.iter().copied().chain(missed).for_each(|reason| open.background_action.stop(reason));
            open.is_asked |= in_force.is_some();
        }
    }

    /// Handles the end of a shard, or starts it once more if its launcher was gone before it was started.
    fn take(&mut self, over: BackgroundActionEnd) -> Result<(), ProjectError> {
        let BackgroundActionEnd { place, launcher, outcome } = over;
        // After each message about an end, the lane writes one byte to the pipe `bell`.
        let _ended = self.bell.read_exact(&mut [0]);
        if !launcher.is_lost() {
            self.idle.push(launcher);
        }
        let mut open = self.open.remove(&place).expect("only what goes on ends");
        let ended = match outcome {
            Err(SuperviseError::LauncherGone) if !open.is_second_launcher => {
                tracing::warn!("the launcher of a shard was gone and is started anew");
                open.background_action = self.background_action(place, &open.prepared)?;
                self.open.insert(place, RunningShard { is_asked: false, is_second_launcher: true, ..open });
                return Ok(());
            }
            Err(SuperviseError::LauncherGone) => ended_without_launcher(),
            Err(source) => return Err(ProjectError::Supervise { action: self.shards[place].name.clone(), source }),
            Ok(ended) => ended,
        };
        let RunningShard { background_action, prepared, turn, .. } = open;
        drop(background_action);
        self.end(place, turn, prepared, ended);
        Ok(())
    }

    fn end(&mut self, place: usize, turn: ShardTurn, prepared: PreparedAttempt, ended: EndedAction) {
        self.is_check_turn_free |= matches!(turn, ShardTurn::OfCheck);
        self.over.insert(place, (Some(prepared), ended));
    }
}

/// Adds a note to the result of a check with `shards` whose tests one process ran all the same.
pub(super) fn with_note_of_undivided(mut one: ActionResult, processors: NonZeroU32) -> ActionResult {
    if one.action.shards.is_some_and(|shards| shards.count(processors) > 1) {
        let message = "its tests ran in one process: shards need a snapshot, and a home that is no overlay".to_owned();
        one.notes.push(PlanNote { subject: one.action.name.clone(), message });
    }
    one
}
