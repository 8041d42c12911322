//! The only module that prints. Results go to standard output, errors and notes to standard error (G6).

use std::io::Write as _;

use crate::cli::error::CommandError;
use crate::model::CommandExit;

/// Prints a line of a command's result.
pub(crate) fn line(text: &str) {
    bytes(format!("{text}\n").as_bytes());
}

/// Prints bytes of a command's result as they are. A reader that has gone away is no fault of ours.
pub(crate) fn bytes(bytes: &[u8]) {
    let mut output = std::io::stdout().lock();
    let _gone = output.write_all(bytes).and_then(|()| output.flush());
}

/// Prints the one JSON document of a command that was asked for it.
pub(crate) fn document(value: &impl serde::Serialize) {
    let mut text = serde_json::to_vec_pretty(value).expect("our own values have a JSON form");
    text.push(b'\n');
    bytes(&text);
}

/// Prints a note for people that is not part of the result.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

/// Prints an error: kind, message, causes, hints.
pub(crate) fn error(error: &CommandError) {
    for line in error.lines() {
        eprintln!("{line}");
    }
}

/// Prints what the argument reader says; `--help` and `--version` are results, everything else is a usage error.
pub(crate) fn usage(error: &clap::Error) -> CommandExit {
    if error.use_stderr() {
        eprint!("{error}");
        CommandExit::Usage
    } else {
        print!("{error}");
        CommandExit::Proceed
    }
}

/// Shows a line that the next one replaces.
pub(crate) fn live(text: &str) {
    bytes(format!("{text}\r").as_bytes());
}

/// Wipes the line that [`live`] showed.
pub(crate) fn end_live() {
    bytes(b"\x1b[2K\r");
}

/// Asks on the terminal, without ending the line.
pub(crate) fn prompt(text: &str) {
    eprint!("{text}");
}

/// Clears the terminal.
pub(crate) fn clear() {
    bytes(b"\x1b[2J\x1b[3J\x1b[H");
}

/// Rings the terminal's bell.
pub(crate) fn bell() {
    bytes(b"\x07");
}
