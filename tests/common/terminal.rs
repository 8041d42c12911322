//! A command at a pseudo-terminal: the text that it draws, the keys that are pressed, and the terminal modes that it leaves.
//!
//! The terminal is not the command's controlling terminal, so no key becomes a signal. Tests of signals use `Watch`.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{LocalFlags, Termios, tcgetattr};
use nix::unistd::Pid;

use crate::common::output::Output;
use crate::common::poll::poll;
use crate::common::project::Project;

/// The end of every question about an approval.
pub(crate) const APPROVAL_QUESTION: &str = "approves nothing: ";

const END_BOUND: Duration = Duration::from_secs(120);

/// A command at a terminal. Dropping this value kills the command.
#[must_use = "dropping it kills the command"]
pub(crate) struct Terminal<'project> {
    project: &'project Project,
    child: Child,
    master: File,
    pieces: Receiver<Vec<u8>>,
    /// Every byte that was drawn. The first `taken` bytes have been waited for.
    drawn: Vec<u8>,
    taken: usize,
}

impl<'project> Terminal<'project> {
    #[track_caller]
    pub(super) fn start(project: &'project Project, command: &mut Command) -> Self {
        // Both ends are closed on exec: otherwise a command that another test starts meanwhile would keep this terminal open.
        let master = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).expect("a terminal can be made");
        grantpt(&master).expect("a new terminal can be granted");
        unlockpt(&master).expect("a new terminal can be unlocked");
        let name = ptsname_r(&master).expect("a new terminal has a name");
        let slave = OpenOptions::new().read(true).write(true).open(&name).expect("a new terminal can be opened");
        let end = || Stdio::from(slave.try_clone().expect("a descriptor can be copied"));
        command.stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().unwrap_or_else(|error| panic!("could not start {command:?}: {error}"));
        // `command` still holds the terminal's descriptors. They are replaced, or the terminal would stay open after the child's end.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let master = File::from(master.as_fd().try_clone_to_owned().expect("a descriptor can be copied"));
        let mut reader = master.try_clone().expect("a descriptor can be copied");
        let (sender, pieces) = channel();
        thread::spawn(move || {
            let mut buffer = [0_u8; 4096];
            // When the other side is closed, the kernel returns an error instead of the end of the file.
            while let Ok(count) = reader.read(&mut buffer) {
                if count == 0 || sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { project, child, master, pieces, drawn: Vec::new(), taken: 0 }
    }

    /// Waits until `text` is drawn after the text that was waited for last. Returns what was drawn after that earlier
    /// text, up to the end of `text`.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str, bound: Duration) -> String {
        let deadline = Instant::now() + bound;
        loop {
            let fresh = &self.drawn[self.taken..];
            if let Some(at) = fresh.windows(text.len()).position(|window| window == text.as_bytes()) {
                let passed = String::from_utf8_lossy(&fresh[..at + text.len()]).into_owned();
                self.taken += at + text.len();
                return passed;
            }
            assert!(Instant::now() < deadline, "waited {bound:?} for `{text}` to be drawn; so far:\n{}", self.text());
            match self.pieces.recv_timeout(Duration::from_millis(20)) {
                Ok(piece) => self.drawn.extend(piece),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
                    panic!("the command ended while waiting for `{text}`; it drew:\n{}", self.text())
                }
            }
        }
    }

    /// Waits until one of these texts is drawn after the text that was waited for last. Returns its index. None: the command ended first.
    pub(crate) fn draws_one_of(&mut self, texts: &[&str]) -> Option<usize> {
        let deadline = Instant::now() + END_BOUND;
        loop {
            let fresh = &self.drawn[self.taken..];
            let place = |text: &&str| fresh.windows(text.len()).position(|window| window == text.as_bytes());
            let first = texts.iter().enumerate().filter_map(|(which, text)| Some((place(text)?, which))).min();
            if let Some((at, which)) = first {
                self.taken += at + texts[which].len();
                return Some(which);
            }
            assert!(Instant::now() < deadline, "waited {END_BOUND:?} for one of {texts:?} or an end; so far:\n{}", self.text());
            match self.pieces.recv_timeout(Duration::from_millis(20)) {
                Ok(piece) => self.drawn.extend(piece),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Waits for a question about an approval, and types the name that it asks for. Returns what was drawn up to the question.
    #[track_caller]
    pub(crate) fn type_name(&mut self) -> String {
        let shown = self.wait_for(APPROVAL_QUESTION, Duration::from_secs(60));
        let (_, name) = shown.rsplit_once("type `").expect("the question names it");
        let name = name.split('`').next().expect("a split has a first part");
        self.press(&format!("{name}\n"));
        shown
    }

    /// Sends a signal to the command alone.
    #[track_caller]
    pub(crate) fn signal(&mut self, signal: Signal) {
        kill(Pid::from_raw(self.id()), signal).expect("an unreaped child can be signalled");
    }

    pub(crate) fn id(&self) -> i32 {
        i32::try_from(self.child.id()).expect("Linux process ids fit")
    }

    #[track_caller]
    pub(crate) fn press(&mut self, keys: &str) {
        self.press_bytes(keys.as_bytes());
    }

    /// Sends these bytes as typed input. They need not be UTF-8.
    #[track_caller]
    pub(crate) fn press_bytes(&mut self, keys: &[u8]) {
        self.master.write_all(keys).expect("the terminal is open");
    }

    /// Returns the terminal's current modes.
    #[track_caller]
    pub(crate) fn modes(&self) -> Termios {
        tcgetattr(self.master.as_fd()).expect("it is a terminal")
    }

    /// Returns whether the terminal echoes typed characters and passes them on line by line, as a shell leaves it.
    #[track_caller]
    pub(crate) fn is_cooked(&self) -> bool {
        self.modes().local_flags.contains(LocalFlags::ICANON | LocalFlags::ECHO)
    }

    /// Waits for the command to end. Everything that it drew is returned as its standard output.
    #[track_caller]
    pub(crate) fn ended(self) -> Output {
        self.ended_with_modes().0
    }

    /// Waits for the command to end. Returns the terminal modes that it has left, too.
    #[track_caller]
    pub(crate) fn ended_with_modes(mut self) -> (Output, Termios) {
        let status = poll(END_BOUND, "the command to end", || {
            while let Ok(piece) = self.pieces.try_recv() {
                self.drawn.extend(piece);
            }
            let ended = self.child.try_wait().expect("the child is ours to wait for");
            ended.ok_or_else(|| String::from_utf8_lossy(&self.drawn).into_owned())
        });
        while let Ok(piece) = self.pieces.recv_timeout(END_BOUND) {
            self.drawn.extend(piece);
        }
        let modes = self.modes();
        let output = Output {
            stdout: self.text().replace("\r\n", "\n"),
            stderr: String::new(),
            status: status.code().or(status.signal().map(|number| 128 + number)).expect("it ended one way or the other"),
            store: self.project.store(),
            redactions: self.project.redactions(),
        };
        (output, modes)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.drawn).into_owned()
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.child.kill().expect("an unreaped child can be signalled");
            self.child.wait().expect("the child is ours to wait for");
        }
    }
}
