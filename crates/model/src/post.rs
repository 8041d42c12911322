//! The worker of a queue whose thread exists only while a message is in the queue.

/// The state of the one worker of a queue. `W` is what the worker keeps while it has no thread.
pub enum Post<W> {
    /// There is no worker yet.
    Vacant,
    /// No thread. The next message starts one.
    Resting(Box<W>),
    /// A thread was started, which takes the worker from here.
    Starting(Box<W>),
    /// A thread handles the messages.
    Working,
    /// The worker has ended. Messages are dropped.
    Ended,
}

impl<W> std::fmt::Debug for Post<W> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Vacant => "Vacant",
            Self::Resting(_) => "Resting",
            Self::Starting(_) => "Starting",
            Self::Working => "Working",
            Self::Ended => "Ended",
        })
    }
}
