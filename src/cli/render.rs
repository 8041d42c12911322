//! The only module that prints. Results go to standard output; errors and notes go to standard error (G6).

use std::io::Write as _;

use crate::cli::error::CommandError;
use crate::model::CommandExit;

/// Prints a line of the result.
pub(crate) fn line(text: &str) {
    bytes(format!("{text}\n").as_bytes());
}

/// Prints bytes of the result unchanged. Errors are ignored, because the reader may have closed the pipe.
pub(crate) fn bytes(bytes: &[u8]) {
    let mut output = std::io::stdout().lock();
    let _gone = output.write_all(bytes).and_then(|()| output.flush());
}

/// Prints the result as one JSON document, for `--json`.
pub(crate) fn document(value: &impl serde::Serialize) {
    let mut text = serde_json::to_vec_pretty(value).expect("our own values have a JSON form");
    text.push(b'\n');
    bytes(&text);
}

/// Prints a note for people to standard error.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

/// Prints an error with its causes and hints.
pub(crate) fn error(error: &CommandError) {
    for line in error.lines() {
        eprintln!("{line}");
    }
}

/// Prints the text that the argument parser returned as an error. For `--help` and `--version` the text is a result;
/// everything else is a usage error.
pub(crate) fn usage(error: &clap::Error) -> CommandExit {
    if error.use_stderr() {
        eprint!("{error}");
        CommandExit::Usage
    } else {
        print!("{error}");
        CommandExit::Proceed
    }
}

/// Shows a line that the next line replaces.
pub(crate) fn live(text: &str) {
    bytes(format!("{text}\r").as_bytes());
}

/// Clears the line that [`live`] showed.
pub(crate) fn end_live() {
    bytes(b"\x1b[2K\r");
}

/// Prints a question without ending the line.
pub(crate) fn prompt(text: &str) {
    eprint!("{text}");
}

pub(crate) fn clear() {
    bytes(b"\x1b[2J\x1b[3J\x1b[H");
}

pub(crate) fn bell() {
    bytes(b"\x07");
}
