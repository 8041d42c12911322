//! The queue of requests to a project's worker, and the thread that works only while something is in it.
//!
//! A project that waits has no thread, no launcher and no descriptor. The request that ends the waiting starts a thread.
//! After the last request the thread stays for a while, if there is a place for it, because the next save often comes soon.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use crate::worker::{WorkerState, WorkerTask};
use proctor_model::{Post, StopReason};
use proctor_sandbox::process::{Control, ControlError, ControlHandle};

/// The queue of requests to a project's worker. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct TaskQueue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<QueueState>,
    /// Wakes the worker's thread, and whoever waits for its end.
    changed: Condvar,
}

#[derive(Debug)]
struct QueueState {
    tasks: VecDeque<WorkerTask>,
    post: Post<WorkerState>,
    /// Set when the worker's handle is dropped: the thread ends after the requests that are in the queue.
    is_closed: bool,
    run: RunUnderWay,
    /// Stops the work that the thread does in idle time.
    idle_work: Option<ControlHandle>,
}

/// The run that was ordered last, as far as stopping it is concerned.
#[derive(Debug, Default)]
struct RunUnderWay {
    /// `None` before the run begins and after it has ended, so that a project that waits holds no descriptor.
    handle: Option<ControlHandle>,
    /// The stops that were requested before the run began.
    early: Vec<StopReason>,
}

/// What the worker's thread does next.
pub(super) enum NextTask {
    Task(WorkerTask),
    /// No request came for as long as the thread was to wait.
    Rest,
    /// The worker's handle was dropped, and every request is carried out.
    End,
}

impl TaskQueue {
    /// Returns the queue of a worker that rests until the first request.
    pub(super) fn of_resting(worker: WorkerState) -> Self {
        Self::new(Post::Resting(Box::new(worker)))
    }

    /// Returns a queue, and starts a thread that calls `open`. The worker that it returns then carries out the requests.
    pub(super) fn of_opening(open: impl FnOnce(&Self) -> Option<WorkerState> + Send + 'static) -> io::Result<Self> {
        let queue = Self::new(Post::Working);
        let own = queue.clone();
        Builder::new().name("runs".to_owned()).spawn(move || {
            let post = WorkingPost(&own);
            if let Some(worker) = open(&own) {
                post.work(Box::new(worker));
            }
        })?;
        Ok(queue)
    }

    pub(super) fn new(post: Post<WorkerState>) -> Self {
        let state = QueueState { tasks: VecDeque::new(), post, is_closed: false, run: RunUnderWay::default(), idle_work: None };
        Self(Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }))
    }

    /// Adds a request, and starts a thread if the worker rests. If the system refuses a thread, the requests are reported as failed.
    pub(super) fn push(&self, task: WorkerTask) {
        let mut state = self.lock();
        if matches!(state.post, Post::Ended) || state.is_closed {
            // The worker has reported its last run, and the loop is about to end.
            return;
        }
        if matches!(task, WorkerTask::Run(_)) {
            state.run = RunUnderWay::default();
        }
        state.tasks.push_back(task);
        if let Some(handle) = &state.idle_work {
            handle.stop(StopReason::Superseded);
        }
        self.wake_worker(&mut state);
    }

    fn wake_worker(&self, state: &mut QueueState) {
        state.post = match std::mem::replace(&mut state.post, Post::Ended) {
            Post::Resting(worker) if !state.tasks.is_empty() => {
                let own = self.clone();
                match Builder::new().name("runs".to_owned()).spawn(move || own.work()) {
                    Ok(_) => Post::Starting(worker),
                    Err(error) => {
                        state.tasks.drain(..).for_each(|task| worker.refuse_task(task, &error));
                        Post::Resting(worker)
                    }
                }
            }
            other @ (Post::Vacant | Post::Resting(_) | Post::Starting(_) | Post::Working | Post::Ended) => other,
        };
        self.0.changed.notify_all();
    }

    fn work(self) {
        let mut state = self.lock();
        let worker = match std::mem::replace(&mut state.post, Post::Working) {
            Post::Starting(worker) => worker,
            other @ (Post::Vacant | Post::Resting(_) | Post::Working | Post::Ended) => {
                state.post = other;
                return;
            }
        };
        drop(state);
        WorkingPost(&self).work(worker);
    }

    /// Waits at most `longest` for the next request; without a limit if it is `None`.
    pub(super) fn next(&self, longest: Option<Duration>) -> NextTask {
        let waits = |state: &mut QueueState| state.tasks.is_empty() && !state.is_closed;
        let mut state = self.lock();
        state = match longest {
            Some(longest) => {
                let waited = self.0.changed.wait_timeout_while(state, longest, waits);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.0.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner),
        };
        match state.tasks.pop_front() {
            Some(task) => NextTask::Task(task),
            None if state.is_closed => NextTask::End,
            None => NextTask::Rest,
        }
    }

    /// Returns the control of the run that begins now. Stops that were requested before are in force at once.
    ///
    /// # Errors
    /// When the control's pipe cannot be made.
    pub(super) fn begin_run(&self) -> Result<Control, ControlError> {
        let (control, handle) = Control::new()?;
        let mut state = self.lock();
        std::mem::take(&mut state.run.early).into_iter().for_each(|reason| handle.stop(reason));
        state.run.handle = Some(handle);
        Ok(control)
    }

    /// Notes that the run has ended.
    pub(super) fn end_run(&self) {
        self.lock().run = RunUnderWay::default();
    }

    /// Requests that the run that was ordered last is stopped.
    pub(super) fn stop_run(&self, reason: StopReason) {
        let mut state = self.lock();
        match &state.run.handle {
            Some(handle) => handle.stop(reason),
            None => state.run.early.push(reason),
        }
    }

    /// Returns why the run that was ordered last is to be stopped, if that was requested before it has begun.
    pub(super) fn stopped_early(&self) -> Option<StopReason> {
        self.lock().run.early.last().copied()
    }

    /// Returns a control for work in idle time, which the next request stops; `None` if a request waits already.
    pub(super) fn begin_idle_work(&self) -> Option<Control> {
        // Without a pipe, the work is left out. It only makes later runs faster.
        let (control, handle) = Control::new().ok()?;
        let mut state = self.lock();
        let is_idle = state.tasks.is_empty() && !state.is_closed;
        state.idle_work = is_idle.then_some(handle);
        is_idle.then_some(control)
    }

    pub(super) fn end_idle_work(&self) {
        self.lock().idle_work = None;
    }

    /// Takes no further request. The worker ends when the requests in the queue are carried out.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        if let Some(handle) = &state.idle_work {
            handle.stop(StopReason::Terminated);
        }
        let post = match std::mem::replace(&mut state.post, Post::Ended) {
            resting @ Post::Resting(_) => resting,
            other @ (Post::Vacant | Post::Starting(_) | Post::Working | Post::Ended) => std::mem::replace(&mut state.post, other),
        };
        self.0.changed.notify_all();
        drop(state);
        // A worker that rests is dropped when the queue is no longer locked.
        drop(post);
    }

    /// Returns whether the worker's handle was dropped.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Waits until the worker has ended.
    pub(super) fn wait_for_end(&self) {
        let is_there = |state: &mut QueueState| !matches!(state.post, Post::Ended);
        let _ended = self.0.changed.wait_while(self.lock(), is_there).unwrap_or_else(PoisonError::into_inner);
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held by the worker's thread while it works. Dropping it notes the end of the worker, also of one that panicked, so that
/// nobody waits for it for ever.
pub(super) struct WorkingPost<'a>(pub(super) &'a TaskQueue);

impl WorkingPost<'_> {
    /// Carries out requests until the worker rests or ends.
    fn work(self, worker: Box<WorkerState>) {
        let Some(worker) = worker.serve(self.0) else { return };
        let mut state = self.0.lock();
        if state.is_closed && state.tasks.is_empty() {
            drop(state);
            return drop(worker);
        }
        state.post = Post::Resting(worker);
        // A request may have come after the worker had looked for one.
        self.0.wake_worker(&mut state);
        drop(state);
        // Dropping the guard would end the worker that the next thread takes.
        std::mem::forget(self);
    }
}

impl Drop for WorkingPost<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.post = Post::Ended;
        state.tasks.clear();
        self.0.0.changed.notify_all();
    }
}
