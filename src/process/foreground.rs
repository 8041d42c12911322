//! A person's own program that is handed the terminal, an editor: neither isolated nor captured nor limited, since it is the person.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Runs a program with this process's terminal, environment and process group, and waits as long as it takes.
///
/// # Errors
/// When it cannot be started.
pub fn run_at_terminal(program: &Path, arguments: &[String], directory: &Path) -> io::Result<ExitStatus> {
    Command::new(program).args(arguments).current_dir(directory).status()
}
