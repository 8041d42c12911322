//! A child with its output read while it runs: lines as they arrive, everything at the end.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long the pipes may stay open after the child has ended; longer means that a descendant holds them.
const PIPES_BOUND: Duration = Duration::from_secs(10);

/// Which pipe a piece came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// A started child.
pub(crate) struct Running {
    child: Child,
    pieces: Receiver<(Stream, Vec<u8>)>,
    /// Everything that has arrived, a line per element, with its newline.
    pub(crate) arrived: Vec<(Stream, String)>,
    status: Option<ExitStatus>,
}

impl Running {
    /// Starts `command` with both streams captured and nothing on standard input.
    #[track_caller]
    pub(crate) fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("could not start {command:?}: {error}"));
        let (sender, pieces) = channel();
        read_lines(Stream::Stdout, child.stdout.take().expect("it was asked to be piped"), sender.clone());
        read_lines(Stream::Stderr, child.stderr.take().expect("it was asked to be piped"), sender);
        Self { child, pieces, arrived: Vec::new(), status: None }
    }

    /// Returns the child's process id, as long as it can be signalled safely.
    pub(crate) fn id(&self) -> Option<i32> {
        let id = i32::try_from(self.child.id()).expect("Linux process ids fit");
        self.status.is_none().then_some(id)
    }

    /// Takes in what has arrived, waiting at most `bound` for the first piece. `Err` when both pipes are closed.
    pub(crate) fn take_in(&mut self, bound: Duration) -> Result<(), PipesClosed> {
        match self.pieces.recv_timeout(bound) {
            Ok((stream, bytes)) => self.arrived.push((stream, String::from_utf8_lossy(&bytes).into_owned())),
            Err(RecvTimeoutError::Timeout) => return Ok(()),
            Err(RecvTimeoutError::Disconnected) => return Err(PipesClosed),
        }
        while let Ok((stream, bytes)) = self.pieces.try_recv() {
            self.arrived.push((stream, String::from_utf8_lossy(&bytes).into_owned()));
        }
        Ok(())
    }

    /// Returns the exit status, waiting at most `bound` for it; 128 plus the number for a signal, as a shell says it.
    pub(crate) fn wait(&mut self, bound: Duration) -> Option<i32> {
        let deadline = Instant::now() + bound;
        while self.status.is_none() {
            self.status = self.child.try_wait().expect("the child is ours to wait for");
            if self.status.is_none() && Instant::now() >= deadline {
                return None;
            }
            if self.status.is_none() && self.take_in(Duration::from_millis(5)).is_err() {
                thread::sleep(Duration::from_millis(1));
            }
        }
        self.status
            .map(|status| status.code().or(status.signal().map(|number| 128 + number)).expect("it ended one way or the other"))
    }

    /// Kills the child if it still runs. Its descendants are left to it: that is what the leftovers check is for.
    pub(crate) fn kill(&mut self) {
        if self.status.is_none() {
            self.child.kill().expect("an unreaped child can be signalled");
            self.status = Some(self.child.wait().expect("the child is ours to wait for"));
        }
    }

    /// Takes in everything up to the end of both pipes; panics when a descendant keeps one open.
    #[track_caller]
    pub(crate) fn drain(&mut self) {
        let deadline = Instant::now() + PIPES_BOUND;
        while self.take_in(Duration::from_millis(20)).is_ok() {
            let text = self.text_of_both();
            assert!(Instant::now() < deadline, "the child ended, but something still holds its output open:\n{text}");
        }
    }

    /// Returns what has arrived on `stream`.
    pub(crate) fn text_of(&self, stream: Stream) -> String {
        self.arrived.iter().filter(|(from, _)| *from == stream).map(|(_, line)| line.as_str()).collect()
    }

    /// Returns what has arrived on both streams, in order of arrival.
    pub(crate) fn text_of_both(&self) -> String {
        self.arrived.iter().map(|(_, line)| line.as_str()).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Both pipes of a child are at their end.
#[derive(Debug)]
pub(crate) struct PipesClosed;

fn read_lines(stream: Stream, pipe: impl Read + Send + 'static, sender: Sender<(Stream, Vec<u8>)>) {
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        loop {
            let mut line = Vec::new();
            match reader.read_until(b'\n', &mut line) {
                Ok(1..) if sender.send((stream, line)).is_ok() => {}
                _ => return,
            }
        }
    });
}
