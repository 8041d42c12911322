//! A running `proctor watch`: waits for its lines, for the verdicts that it commits, and for its end.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::common::output::Output;
use crate::common::poll::poll;
use crate::common::process::{Running, Stream};
use crate::common::project::Project;

/// How long a verdict may take. Normal checks take far less.
const VERDICT_BOUND: Duration = Duration::from_secs(120);
/// How long the program may take to end after it was told to.
const END_BOUND: Duration = Duration::from_secs(120);

/// A command that runs until it is told to end. Dropping this value kills the command.
#[must_use = "dropping it kills the command"]
pub(crate) struct Watch<'project> {
    project: &'project Project,
    running: Running,
    lines_taken: usize,
    verdicts_taken: usize,
}

impl<'project> Watch<'project> {
    #[track_caller]
    pub(super) fn start(project: &'project Project, command: &mut Command) -> Self {
        let verdicts_taken = project.store().committed_runs().len();
        Self { project, running: Running::start(command), lines_taken: 0, verdicts_taken }
    }

    /// Waits for the next line of either stream for which `is_it` is true, and returns it. The lines before it are not examined again.
    #[track_caller]
    pub(crate) fn wait_for_line(&mut self, what: &str, bound: Duration, is_it: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + bound;
        loop {
            while let Some((_, line)) = self.running.arrived.get(self.lines_taken) {
                self.lines_taken += 1;
                let line = line.trim_end_matches('\n');
                if is_it(line) {
                    return line.to_owned();
                }
            }
            let open = self.running.take_in(Duration::from_millis(20)).is_ok();
            let nothing_new = self.lines_taken == self.running.arrived.len();
            if nothing_new && !open {
                panic!("the command ended while waiting for {what}; it said:\n{}", self.running.text_of_both());
            }
            if nothing_new && Instant::now() >= deadline {
                panic!("waited {bound:?} for {what}; it said:\n{}", self.running.text_of_both());
            }
        }
    }

    /// Waits until a file exists that the command, or a process that it has started, makes.
    #[track_caller]
    pub(crate) fn wait_for_file(&mut self, what: &str, bound: Duration, file: &str) {
        poll(bound, what, || {
            let ended = self.running.wait(Duration::ZERO);
            let made = Path::new(file).exists();
            assert!(made || ended.is_none(), "the command ended with {ended:?} before {what}; it said:\n{}", self.text());
            if made { Ok(()) } else { Err(format!("it said:\n{}", self.text())) }
        });
    }

    /// Waits for the next committed run, whatever its verdict, and returns its line of the ledger.
    #[track_caller]
    pub(crate) fn wait_for_verdict(&mut self) -> Value {
        let running = &mut self.running;
        let store = self.project.store();
        let taken = self.verdicts_taken;
        let verdict = poll(VERDICT_BOUND, "the next verdict", || {
            let ended = running.wait(Duration::ZERO);
            // The output is needed only for the messages below. That both pipes are closed means that the command has ended, which is
            // checked above.
            let _ = running.take_in(Duration::ZERO);
            let record = store.committed_runs().get(taken).cloned();
            assert!(
                record.is_some() || ended.is_none(),
                "the command ended with {ended:?}; it said:\n{}",
                running.text_of_both()
            );
            record.ok_or_else(|| format!("{taken} verdicts; it said:\n{}", running.text_of_both()))
        });
        self.verdicts_taken += 1;
        verdict
    }

    #[track_caller]
    pub(crate) fn id(&self) -> i32 {
        self.running.id().expect("the command has not been waited for")
    }

    /// Returns all output so far.
    pub(crate) fn text(&mut self) -> String {
        // If the pipes are closed, all output has been read already.
        let _ = self.running.take_in(Duration::ZERO);
        self.running.text_of_both()
    }

    /// Sends a signal to the command alone.
    #[track_caller]
    pub(crate) fn signal(&mut self, signal: Signal) {
        kill(Pid::from_raw(self.id()), signal).expect("an unreaped child can be signalled");
    }

    /// Interrupts the command as Ctrl-C in a terminal does, and returns how it ended.
    #[track_caller]
    pub(crate) fn interrupt(mut self) -> Output {
        self.signal(Signal::SIGINT);
        self.ended()
    }

    /// Waits for the command to end by itself, or by the signal that was sent.
    #[track_caller]
    pub(crate) fn ended(mut self) -> Output {
        let Some(status) = self.running.wait(END_BOUND) else {
            panic!("the command did not end within {END_BOUND:?}; it said:\n{}", self.running.text_of_both());
        };
        self.running.drain();
        Output {
            stdout: self.running.text_of(Stream::Stdout),
            stderr: self.running.text_of(Stream::Stderr),
            status,
            store: self.project.store(),
            redactions: self.project.redactions(),
        }
    }
}
