//! The terminal: finds out whether there is one, reads typed lines, and reads single keys during `proctor watch`.

use std::io::{BufRead as _, IsTerminal as _, Read as _};
use std::os::fd::AsFd as _;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{FlushArg, LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcflush, tcgetattr, tcsetattr};

use crate::daemon::Key;
use crate::process::{Control, WokenBy};

#[expect(clippy::disallowed_methods, reason = "it asks what the output is, and prints nothing")]
pub(crate) fn is_output_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Returns whether standard input is a terminal, so that a person can be asked.
pub(crate) fn is_input_terminal() -> bool {
    std::io::stdin().is_terminal()
}

/// Switches the terminal to a mode without echo in which every key is read at once. Dropping it restores the old mode.
pub(crate) struct KeyMode {
    before: Termios,
}

impl KeyMode {
    /// Switches the mode; `None` if standard input is not a terminal, or its mode cannot be switched.
    pub(crate) fn enter() -> Option<Self> {
        let input = std::io::stdin();
        let before = is_input_terminal().then(|| tcgetattr(input.as_fd()).ok())??;
        let mut mode = before.clone();
        mode.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO);
        mode.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
        mode.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
        tcsetattr(input.as_fd(), SetArg::TCSANOW, &mode).ok()?;
        Some(Self { before })
    }
}

impl Drop for KeyMode {
    fn drop(&mut self) {
        let _best_effort = tcsetattr(std::io::stdin().as_fd(), SetArg::TCSANOW, &self.before);
    }
}

/// Reads keys until standard input ends or `send` returns false. The function blocks, so it needs a thread of its own.
pub(crate) fn read_keys(mut send: impl FnMut(Key) -> bool) {
    let mut input = std::io::stdin();
    let mut byte = [0_u8; 1];
    while matches!(input.read(&mut byte), Ok(1)) {
        if let Some(key) = key_of(byte[0])
            && !send(key)
        {
            return;
        }
    }
}

fn key_of(byte: u8) -> Option<Key> {
    match byte {
        b'\r' | b'\n' => Some(Key::Again),
        b'f' => Some(Key::FailedOnly),
        b'a' => Some(Key::All),
        b'c' => Some(Key::Clear),
        b'?' | b'h' => Some(Key::Help),
        b'q' => Some(Key::Quit),
        _ => None,
    }
}

/// Discards input that was typed but not read yet.
pub(crate) fn forget_input() {
    let _best_effort = tcflush(std::io::stdin().as_fd(), FlushArg::TCIFLUSH);
}

/// Reads what a person types or pastes. Lines that arrive together are one answer. Returns `None` when standard input ends
/// without an answer, or when the program is asked to stop.
pub(crate) fn read_answer(control: &Control) -> Option<String> {
    let input = std::io::stdin();
    let mut answer = Vec::new();
    loop {
        if control.wait_beside(input.as_fd()) == WokenBy::Request {
            return None;
        }
        // A terminal returns one line for each read. So the rest of a pasted text is still in the terminal, where
        // `has_input` finds it, and not in this process's buffer.
        let before = answer.len();
        let read = input.lock().read_until(b'\n', &mut answer);
        let has_ended = !matches!(read, Ok(1..));
        if has_ended && before == 0 {
            return None;
        }
        if has_ended || !has_input() {
            return Some(String::from_utf8_lossy(&answer).into_owned());
        }
    }
}

/// Returns whether standard input has more to read at once.
fn has_input() -> bool {
    let input = std::io::stdin();
    let mut awaited = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
    matches!(poll(&mut awaited, PollTimeout::ZERO), Ok(1..)) && awaited[0].revents() == Some(PollFlags::POLLIN)
}

/// Reads a line; `None` when standard input has ended or cannot be read.
pub(crate) fn read_line() -> Option<String> {
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}
