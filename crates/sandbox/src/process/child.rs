//! Starts the main process of an action as a child of the keeper (the process that watches the action), with its own
//! process group, streams, environment and working directory.
//!
//! The child inherits only the descriptors and variables that the request names, and the restrictions of the process
//! that starts it.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use crate::process::group::ProcessGroup;
use crate::process::program::explain_refusal;
use crate::process::protocol::{DescriptorRole, StartAction};
use crate::process::system_calls::{Forked, end_forked, fork_if_single_threaded};
use proctor_model::SpawnFailure;

/// The exit code of a child that could not execute its program. The error itself is reported through a pipe.
const NOT_EXECUTED: u8 = 127;

/// Starts a child in a process group of its own. The child inherits the restrictions of this process.
pub(super) fn spawn_child(start: &StartAction, descriptors: Vec<OwnedFd>) -> Result<ProcessGroup, SpawnFailure> {
    let child = command(start, descriptors).spawn().map_err(|error| refusal(start, &error))?;
    group(start, i32::try_from(child.id()).unwrap_or(0))
}

/// Starts a child that restricts itself before it executes its program. Because this process is outside those restrictions, the
/// child cannot signal it.
pub(super) fn spawn_confined(
    start: &StartAction,
    descriptors: Vec<OwnedFd>,
    confine: impl FnOnce() -> Result<(), SpawnFailure>,
) -> Result<ProcessGroup, SpawnFailure> {
    let mut command = command(start, descriptors);
    let (mut reader, mut writer) = io::pipe().map_err(|error| refusal(start, &error))?;
    match fork_if_single_threaded().map_err(|error| refusal(start, &error))? {
        Some(Forked::Child) => {
            let failure = match confine() {
                Ok(()) => refusal(start, &command.exec()),
                Err(failure) => failure,
            };
            let _unheard = serde_json::to_vec(&failure).map(|bytes| writer.write_all(&bytes));
            end_forked(NOT_EXECUTED)
        }
        Some(Forked::Parent(child)) => {
            drop(writer);
            let mut told = Vec::new();
            // The read ends when the child executes its program, because that closes the pipe, or when the child
            // reports an error and ends.
            reader.read_to_end(&mut told).map_err(|error| refusal(start, &error))?;
            if told.is_empty() {
                return group(start, child.as_raw());
            }
            Err(serde_json::from_slice(&told).unwrap_or_else(|error| refusal(start, &io::Error::other(error))))
        }
        None => Err(refusal(start, &io::Error::other("the keeper has several threads"))),
    }
}

fn command(start: &StartAction, descriptors: Vec<OwnedFd>) -> Command {
    let mut command = Command::new(&start.child.program);
    if let Some((name, arguments)) = start.child.argv.split_first() {
        command.arg0(name).args(arguments);
    }
    command.env_clear().envs(start.child.environment.iter().map(|(name, value): &(OsString, OsString)| (name, value)));
    command.current_dir(&start.child.directory).process_group(0);
    // A program that reads its input gets the given bytes and then the end of the file. The program must not wait for a
    // terminal, because no person could answer it (house style P5). The program never inherits proctor's own output
    // streams.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for (role, descriptor) in start.descriptors.iter().zip(descriptors) {
        match role {
            DescriptorRole::Stdin => command.stdin(descriptor),
            DescriptorRole::Stdout => command.stdout(descriptor),
            DescriptorRole::Stderr => command.stderr(descriptor),
            DescriptorRole::NetworkOwner | DescriptorRole::Network => continue,
        };
    }
    command
}

fn refusal(start: &StartAction, error: &io::Error) -> SpawnFailure {
    explain_refusal(&start.child.program, &start.child.directory, error)
}

fn group(start: &StartAction, leader: i32) -> Result<ProcessGroup, SpawnFailure> {
    ProcessGroup::try_from_id(leader).map_err(|error| refusal(start, &io::Error::other(error)))
}
