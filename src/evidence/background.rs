//! The one thread for what a run need not wait for at once: syncs, above all (those of many short actions have one of their own).

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

/// Carries jobs out one after the other, beside whoever begins them. Clones share the thread, which is made for the first job and
/// ends with the last clone.
///
/// Where the system refuses a thread, a job is carried out at once by whoever begins it: slower, not otherwise.
#[derive(Debug, Clone, Default)]
pub struct Background {
    thread: Arc<OnceLock<Option<Sender<Job>>>>,
}

/// A job that was begun.
#[derive(Debug)]
#[must_use = "what a job finds is lost when nobody waits for it"]
pub struct Pending<T> {
    outcome: Receiver<T>,
}

impl Background {
    /// Begins a job after those that were begun before.
    pub fn begin<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Pending<T> {
        let (done, outcome) = channel();
        let job: Job = Box::new(move || {
            let _nobody_waits = done.send(job());
        });
        match self.thread.get_or_init(start_thread) {
            // The thread ends only when a job panics, and says why then.
            Some(jobs) => jobs.send(job).expect("no job panics"),
            None => job(),
        }
        Pending { outcome }
    }
}

impl<T> Pending<T> {
    /// Waits until the job is over. None when it panicked.
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
        let background = Background::default();
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
        let background = Background { thread: Arc::new(OnceLock::from(None)) };
        let begun_by = thread::current().id();
        assert_eq!(background.begin(move || thread::current().id() == begun_by).wait(), Some(true));
    }
}
