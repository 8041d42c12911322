//! Starts one child, in the launcher and nowhere else: its group, streams, environment and working directory.
//!
//! What isolates a child goes in here. It inherits nothing that the request does not name.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::model::SpawnFailure;
use crate::process::group::Group;
use crate::process::program::explain_refusal;
use crate::process::protocol::{DescriptorRole, Start};

/// Starts a child in a group of its own with exactly what was asked for.
pub(super) fn spawn_child(start: &Start, descriptors: Vec<OwnedFd>) -> Result<Group, SpawnFailure> {
    let (program, directory) = (Path::new(&start.program), Path::new(&start.directory));
    let refused = |error: &io::Error| explain_refusal(program, directory, error);
    let mut command = Command::new(program);
    if let Some((name, arguments)) = start.argv.split_first() {
        command.arg0(name).args(arguments);
    }
    command.env_clear().envs(start.environment.iter().map(|(name, value): &(OsString, OsString)| (name, value)));
    command.current_dir(directory).process_group(0);
    // No terminal and no question to it: a tool that reads gets an end at once (P5). The other streams are never inherited.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for (role, descriptor) in start.descriptors.iter().zip(descriptors) {
        match role {
            DescriptorRole::Stdout => command.stdout(descriptor),
            DescriptorRole::Stderr => command.stderr(descriptor),
        };
    }
    let child = command.spawn().map_err(|error| refused(&error))?;
    let id = i32::try_from(child.id()).unwrap_or(0);
    Group::try_from_id(id).map_err(|error| refused(&io::Error::other(error)))
}
