//! A thread for work that a run need not wait for, mostly syncs. The syncs of many short actions have a thread of their
//! own (`file_syncs`).

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

type Job = Box<dyn FnOnce() + Send>;

/// How long the thread waits for another job before it ends. The jobs of one run follow each other more closely.
const LINGER: Duration = Duration::from_secs(1);

/// Runs jobs one after the other on one thread. Clones share the thread, which is started by a job and ends soon after the last
/// one, so that a project that waits has none.
///
/// If the system refuses a thread, a job runs at once on the thread that begins it. That is slower, but gives the same
/// result.
#[derive(Debug, Clone)]
pub struct BackgroundThread {
    shared: Arc<Shared>,
    start: fn(Arc<Shared>) -> io::Result<()>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    has_thread: bool,
}

/// A job that was queued; `wait` returns its result.
#[derive(Debug)]
#[must_use = "what a job finds is lost when nobody waits for it"]
pub struct BackgroundJob<T> {
    outcome: Receiver<T>,
}

impl Default for BackgroundThread {
    fn default() -> Self {
        Self { shared: Arc::default(), start: start_thread }
    }
}

impl BackgroundThread {
    /// Queues a job behind all earlier ones.
    pub fn begin<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> BackgroundJob<T> {
        let (done, outcome) = channel();
        let job: Job = Box::new(move || {
            let _nobody_waits = done.send(job());
        });
        let mut queue = self.shared.lock();
        if !queue.has_thread && (self.start)(Arc::clone(&self.shared)).is_err() {
            drop(queue);
            job();
            return BackgroundJob { outcome };
        }
        queue.has_thread = true;
        queue.jobs.push_back(job);
        self.shared.changed.notify_one();
        BackgroundJob { outcome }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits a while for the next job. Returns `None` if none came: the thread that called this ends then.
    fn next(&self) -> Option<Job> {
        let waited = self.changed.wait_timeout_while(self.lock(), LINGER, |queue| queue.jobs.is_empty());
        let mut queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        let job = queue.jobs.pop_front();
        queue.has_thread = job.is_some();
        job
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Shared")
    }
}

/// Held by the thread. If a job panics, the jobs behind it are dropped, and whoever waits for them is told.
struct EndOfThread(Arc<Shared>);

impl Drop for EndOfThread {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut queue = self.0.lock();
            queue.has_thread = false;
            queue.jobs.clear();
        }
    }
}

impl<T> BackgroundJob<T> {
    /// Waits until the job is done. Returns `None` if it panicked.
    pub fn wait(self) -> Option<T> {
        self.outcome.recv().ok()
    }

    /// Returns the result if the job is done by now. A job that is not goes on, and its result is lost.
    pub fn result_so_far(self) -> Option<T> {
        self.outcome.try_recv().ok()
    }
}

fn start_thread(shared: Arc<Shared>) -> io::Result<()> {
    let work = move || {
        let end = EndOfThread(shared);
        while let Some(job) = end.0.next() {
            job();
        }
    };
    thread::Builder::new().name("background".to_owned()).spawn(work).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_carried_out_in_their_order_and_waited_for_in_any() {
        let background = BackgroundThread::default();
        let (send, order) = channel();
        let begin = |number: u32| {
            let send = send.clone();
            background.clone().begin(move || {
                send.send(number).unwrap();
                number * 10
            })
        };
        let [first, second, third] = [1, 2, 3].map(begin);
        assert_eq!([third.wait(), first.wait(), second.wait()], [Some(30), Some(10), Some(20)]);
        drop(send);
        drop(background);
        assert_eq!(order.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn without_a_thread_a_job_is_carried_out_at_once() {
        let background = BackgroundThread { start: |_| Err(io::ErrorKind::WouldBlock.into()), ..BackgroundThread::default() };
        let begun_by = thread::current().id();
        assert_eq!(background.begin(move || thread::current().id() == begun_by).wait(), Some(true));
    }
}
