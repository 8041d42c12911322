//! A child process whose output is read while it runs.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long the pipes may stay open after the child has ended. If they stay open longer, a descendant holds them.
const PIPES_BOUND: Duration = Duration::from_secs(10);

/// The pipe that a piece of output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// A running child process, and the output that has arrived from it.
pub(crate) struct Running {
    child: Child,
    pieces: Receiver<(Stream, Vec<u8>)>,
    /// The output that has arrived so far, line by line, each with its newline.
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

    /// Returns the child's process id. None: the child was reaped, and the id may belong to another process.
    pub(crate) fn id(&self) -> Option<i32> {
        let id = i32::try_from(self.child.id()).expect("Linux process ids fit");
        self.status.is_none().then_some(id)
    }

    /// Reads the output that has arrived, waiting at most `bound` for its first piece.
    ///
    /// # Errors
    /// When both pipes are closed.
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

    /// Waits at most `bound` for the child's end. Returns its exit code, or 128 plus the number of the signal that ended it.
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

    /// Kills the child if it still runs, but not its descendants: [`Project`](super::Project) checks for descendants
    /// that are left.
    pub(crate) fn kill(&mut self) {
        if self.status.is_none() {
            self.child.kill().expect("an unreaped child can be signalled");
            self.status = Some(self.child.wait().expect("the child is ours to wait for"));
        }
    }

    /// Reads the output up to the end of both pipes. Panics if a descendant keeps one of them open.
    #[track_caller]
    pub(crate) fn drain(&mut self) {
        let deadline = Instant::now() + PIPES_BOUND;
        while self.take_in(Duration::from_millis(20)).is_ok() {
            let text = self.text_of_both();
            assert!(Instant::now() < deadline, "the child ended, but something still holds its output open:\n{text}");
        }
    }

    /// Returns the output that has arrived on `stream`.
    pub(crate) fn text_of(&self, stream: Stream) -> String {
        self.arrived.iter().filter(|(from, _)| *from == stream).map(|(_, line)| line.as_str()).collect()
    }

    /// Returns the output of both streams, in the order in which it has arrived.
    pub(crate) fn text_of_both(&self) -> String {
        self.arrived.iter().map(|(_, line)| line.as_str()).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Both pipes of a child are closed.
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
