//! The terminal: finds out whether there is one, and reads typed lines. `keyboard.rs` reads single keys during `proctor watch`.

use std::io::{BufRead as _, IsTerminal as _};
use std::os::fd::AsFd as _;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{FlushArg, tcflush};

use proctor_sandbox::process::{Control, WokenBy};

#[expect(clippy::disallowed_methods, reason = "it asks what the output is, and prints nothing")]
pub(crate) fn is_output_terminal() -> bool {
    std::io::stdout().is_terminal()
}

#[expect(clippy::disallowed_methods, reason = "it asks what the error output is, and prints nothing")]
pub(crate) fn is_error_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Returns whether standard input is a terminal, so that a person can be asked.
pub(crate) fn is_input_terminal() -> bool {
    std::io::stdin().is_terminal()
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
pub(crate) fn has_input() -> bool {
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
