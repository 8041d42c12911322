//! A thread for work that a run need not wait for, mostly syncs. The syncs of many short actions have a thread of their
//! own (`file_syncs`).

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

/// Runs jobs one after the other on one thread. Clones share the thread, which is started by the first job and ends
/// with the last clone.
///
/// If the system refuses a thread, a job runs at once on the thread that begins it. That is slower, but gives the same
/// result.
#[derive(Debug, Clone, Default)]
pub struct BackgroundThread {
    thread: Arc<OnceLock<Option<Sender<Job>>>>,
}

/// A job that was queued; `wait` returns its result.
#[derive(Debug)]
#[must_use = "what a job finds is lost when nobody waits for it"]
pub struct BackgroundJob<T> {
    outcome: Receiver<T>,
}

impl BackgroundThread {
    /// Queues a job behind all earlier ones.
    pub fn begin<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> BackgroundJob<T> {
        let (done, outcome) = channel();
        let job: Job = Box::new(move || {
            let _nobody_waits = done.send(job());
        });
        match self.thread.get_or_init(start_thread) {
            // The thread ends early only if a job panics, and the panic message says why.
            Some(jobs) => jobs.send(job).expect("no job panics"),
            None => job(),
        }
        BackgroundJob { outcome }
    }
}

impl<T> BackgroundJob<T> {
    /// Waits until the job is done. Returns `None` if it panicked.
    pub fn wait(self) -> Option<T> {
        self.outcome.recv().ok()
    }
}

fn start_thread() -> Option<Sender<Job>> {
    let (sender, jobs) = channel::<Job>();
    let started = thread::Builder::new().name("background".to_owned()).spawn(move || jobs.into_iter().for_each(|job| job()));
    started.ok().map(|_| sender)
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
        let background = BackgroundThread { thread: Arc::new(OnceLock::from(None)) };
        let begun_by = thread::current().id();
        assert_eq!(background.begin(move || thread::current().id() == begun_by).wait(), Some(true));
    }
}
