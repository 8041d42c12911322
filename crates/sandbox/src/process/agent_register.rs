//! The register of coding agents: which running processes called one of proctor's hooks, or started its MCP server. What descends from
//! such a process is no person, even if it has made itself a terminal.
//!
//! An agent is registered by the process that it starts, so nothing has to be set up for it. A registered process is a file
//! `PID-STARTED-BOOT` in a directory of the store. With the start time and the boot an entry never means another process that gets the
//! same id. Entries of ended processes are removed at the next registration.
//!
//! This keeps an agent from making a person's decision by the commands that it usually runs. A program that wants to deceive can leave its
//! ancestors by a service manager; [the threat model](../../docs/explanation/threat-model.md) says so.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use nix::unistd::Pid;

use crate::process::peer::read_ancestors;
use crate::process::process_table::{LiveProcess, read_process, read_process_or_zombie};

/// The most entries that are read.
const MOST_ENTRIES: usize = 4096;

/// Programs that start what a person types or what a machine is asked for, by the name in `/proc/PID/comm`, which has 15 bytes at most. They
/// are never agents themselves. Registering one of them would take a person's own terminals for an agent's; so an editor with both is not one.
const NEVER_AGENTS: &str = "\
    systemd|init|dinit|runit|s6-svscan|openrc-init|tini|docker-init|containerd-shim|conmon|sshd|sshd-session|login|su|sudo|\
    doas|runuser|tmux: server|screen|zellij|mosh-server|gnome-terminal-|gnome-shell|konsole|plasmashell|kitty|alacritty|foot|\
    wezterm-gui|xterm|ghostty|xfce4-terminal|terminator|code|cursor|windsurf|code-insiders|codium|zed|zed-editor|nvim|vim|\
    emacs|idea|java|sublime_text|electron";

/// Shells, by the same name. One that runs a single command (`sh -c`) only stands between the agent and the hook.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "ash"];

/// Registers the agent that started this process: its parent, or that of a shell in between. Registers nobody if that is a person's shell
/// or a program that starts whatever a person asks for.
///
/// # Errors
/// When the directory or the entry cannot be written.
pub fn register_agent(directory: &Path, boot: &str) -> io::Result<()> {
    let Some(agent) = agent_of(read_process(Pid::this()), read_process, read_name, is_single_command) else { return Ok(()) };
    let entry = directory.join(name_of(agent, boot));
    if entry.exists() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    remove_ended(directory, boot);
    match fs::OpenOptions::new().write(true).create_new(true).open(entry) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns the registered agent that a process descends from; `None` if it descends from none.
pub fn find_agent_above(directory: &Path, boot: &str, process: i32) -> Option<i32> {
    // Nobody has registered an agent: the usual case costs one look.
    let mut entries = fs::read_dir(directory).ok()?.peekable();
    entries.peek()?;
    let ancestors = read_ancestors(Pid::from_raw(process), read_process_or_zombie)?;
    let is_registered =
        |pid: &i32| read_process_or_zombie(Pid::from_raw(*pid)).is_some_and(|live| directory.join(name_of(live, boot)).exists());
    ancestors.into_iter().find(is_registered)
}

fn name_of(process: LiveProcess, boot: &str) -> String {
    format!("{}-{}-{boot}", process.pid, process.started)
}

/// Finds the agent among the ancestors of a process that it started.
fn agent_of(
    this: Option<LiveProcess>,
    read: impl Fn(Pid) -> Option<LiveProcess>,
    name: impl Fn(Pid) -> Option<String>,
    is_single_command: impl Fn(Pid) -> bool,
) -> Option<LiveProcess> {
    let mut child = this?;
    loop {
        let parent = read(child.parent).filter(|parent| parent.pid.as_raw() > 1 && parent.started <= child.started)?;
        let called = name(parent.pid)?;
        if NEVER_AGENTS.split('|').any(|known| known == called) {
            return None;
        }
        if !SHELLS.contains(&called.as_str()) {
            return Some(parent);
        }
        if !is_single_command(parent.pid) {
            return None;
        }
        child = parent;
    }
}

fn read_name(process: Pid) -> Option<String> {
    fs::read_to_string(format!("/proc/{process}/comm")).ok().map(|name| name.trim_end_matches('\n').to_owned())
}

/// Returns whether a shell was started for a single command: `sh -c COMMAND`.
fn is_single_command(process: Pid) -> bool {
    let arguments = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = arguments.split(|byte| *byte == 0).skip(1).collect();
    has_single_command(&words)
}

/// Returns whether the arguments of a shell name a command by `-c`. Some options in front of it have a value of their own.
fn has_single_command(words: &[&[u8]]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next().filter(|word| word.starts_with(b"-") || word.starts_with(b"+")) {
        if word.starts_with(b"-") && !word.starts_with(b"--") && word.contains(&b'c') {
            return true;
        }
        if word.ends_with(b"o") && !word.starts_with(b"--") || [&b"--rcfile"[..], b"--init-file"].contains(word) {
            words.next();
        }
    }
    false
}

/// Removes the entries of processes that have ended. What cannot be removed is left.
fn remove_ended(directory: &Path, boot: &str) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten().take(MOST_ENTRIES) {
        let file_name = entry.file_name();
        let pid = file_name.to_str().and_then(|name| name.split('-').next()?.parse().ok());
        let lives =
            pid.and_then(|pid| read_process_or_zombie(Pid::from_raw(pid))).is_some_and(|live| file_name == *name_of(live, boot));
        if !lives {
            let _best_effort = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(pid: i32, parent: i32) -> LiveProcess {
        let started = u64::try_from(pid).expect("it is positive");
        LiveProcess { parent: Pid::from_raw(parent), started, ..LiveProcess::unseen(Pid::from_raw(pid)) }
    }

    /// The agent that is found above process 90, whose ancestors have these names, the parent first. A name with ` -c` is a shell for a
    /// single command.
    fn found(names: &[&str]) -> Option<i32> {
        let pid = |index: usize| i32::try_from(90 - index).expect("few");
        let named = |of: Pid| names.iter().enumerate().find(|(index, _)| pid(index + 1) == of.as_raw()).map(|(_, name)| *name);
        let read = |of: Pid| (of.as_raw() > 80).then(|| live(of.as_raw(), of.as_raw() - 1));
        let name = |of: Pid| named(of).map(|name| name.trim_end_matches(" -c").to_owned());
        let agent = agent_of(Some(live(90, 89)), read, name, |of| named(of).is_some_and(|name| name.ends_with(" -c")));
        agent.map(|agent| agent.pid.as_raw())
    }

    #[test]
    fn an_agent_is_the_parent_or_the_parent_of_a_shell_that_runs_one_command() {
        assert_eq!(found(&["codex", "bash", "sshd"]), Some(89));
        assert_eq!(found(&["sh -c", "node", "bash"]), Some(88));
        assert_eq!(found(&["sh -c", "bash -c", "claude"]), Some(87));
    }

    #[test]
    fn a_shell_for_one_command_may_have_options_with_values() {
        for (words, expected) in [
            (&["-c", "x"][..], true),
            (&["-o", "pipefail", "-ec", "x"], true),
            (&["--norc", "-euo", "pipefail", "-c", "x"], true),
            (&["--rcfile", "file", "-i"], false),
            (&["script.sh", "-c"], false),
            (&["-i"], false),
            (&[], false),
        ] {
            let bytes: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            assert_eq!(has_single_command(&bytes), expected, "{words:?}");
        }
    }

    #[test]
    fn a_persons_shell_terminal_or_manager_is_no_agent() {
        for names in
            [&["bash", "sshd"][..], &["fish", "kitty"], &["tmux: server"], &["sh -c", "systemd"], &["sh -c", "zsh", "foot"], &[]]
        {
            assert_eq!(found(names), None, "{names:?}");
        }
    }

    #[test]
    fn what_descends_from_a_registered_process_is_found_and_ended_ones_are_forgotten() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (place, this) = (directory.path().join("agents"), i32::try_from(std::process::id()).expect("a small number"));
        assert_eq!(find_agent_above(&place, "boot", this), None, "there is no register");
        let parent = read_process(read_process(Pid::this()).expect("we are alive").parent).expect("our parent is alive");
        fs::create_dir(&place).expect("the directory is ours");
        let register = |name: &str| drop(fs::File::create(place.join(name)).expect("the directory is ours"));
        register(&format!("{}-{}-boot", parent.pid, parent.started + 1));
        assert_eq!(find_agent_above(&place, "boot", this), None, "another process had the id");
        register(&name_of(parent, "earlier"));
        assert_eq!(find_agent_above(&place, "boot", this), None, "it was another boot");
        register(&name_of(parent, "boot"));
        assert_eq!(find_agent_above(&place, "boot", this), Some(parent.pid.as_raw()));
        assert_eq!(find_agent_above(&place, "boot", parent.pid.as_raw()), None, "an agent does not descend from itself");
        remove_ended(&place, "boot");
        let left: Vec<_> = fs::read_dir(&place).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, [name_of(parent, "boot").as_str()]);
    }
}
