//! Reads `/proc`: who is in a group or a session, and under which argument vector (`proc(5)`).
//!
//! It only names processes. What it says may be out of date when it is read, so nothing is signalled by these process ids;
//! see [`crate::process::group`].

use std::fs;
use std::io::Read as _;

use nix::unistd::Pid;

use crate::model::Survivor;

/// As many survivors are named; all of them are killed.
pub(super) const NAMED_CAP: usize = 64;

/// As many bytes of an argument vector are kept.
const ARGUMENTS_CAP: u64 = 4096;

/// One process that is alive, as `/proc/PID/stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LiveProcess {
    /// Its id.
    pub(super) pid: Pid,
    /// Its process group.
    pub(super) group: Pid,
    /// Its session.
    pub(super) session: Pid,
}

/// Reads everything that is alive now; zombies are not.
pub(super) fn read_live_processes() -> Vec<LiveProcess> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter_map(|number| parse_stat(&fs::read(format!("/proc/{number}/stat")).ok()?)).collect()
}

/// Reads who of a group is alive, each with its argument vector; at most [`NAMED_CAP`] of them.
pub(super) fn read_members(group: Pid) -> Vec<Survivor> {
    read_live_processes().iter().filter(|process| process.group == group).take(NAMED_CAP).map(read_survivor).collect()
}

/// Reads a process's argument vector.
pub(super) fn read_survivor(process: &LiveProcess) -> Survivor {
    let mut bytes = Vec::new();
    if let Ok(file) = fs::File::open(format!("/proc/{}/cmdline", process.pid)) {
        // A process that ends meanwhile leaves the bytes read so far, or none; its id is still worth naming.
        let _ended = file.take(ARGUMENTS_CAP).read_to_end(&mut bytes);
    }
    Survivor { pid: process.pid.as_raw(), argv: parse_arguments(&bytes) }
}

/// Reads this process's children, zombies included; none where the kernel lacks `CONFIG_PROC_CHILDREN`.
///
/// The file is only reliable while no child is reaped: a single-threaded process reading its own has that in hand.
pub(super) fn read_own_children() -> Option<Vec<Pid>> {
    let text = fs::read_to_string(format!("/proc/self/task/{}/children", Pid::this())).ok()?;
    Some(text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).map(Pid::from_raw).collect())
}

fn parse_arguments(bytes: &[u8]) -> Vec<String> {
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|byte| *byte == 0).map(|argument| String::from_utf8_lossy(argument).into_owned()).collect()
}

/// The name in parentheses may itself hold parentheses and spaces, so everything is counted from the last `)`.
fn parse_stat(bytes: &[u8]) -> Option<LiveProcess> {
    let name_begin = bytes.iter().position(|byte| *byte == b'(')?;
    let name_end = bytes.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(&bytes[..name_begin]).ok()?.trim().parse().ok()?;
    let mut fields = std::str::from_utf8(&bytes[name_end + 1..]).ok()?.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X" | "x") {
        return None;
    }
    let mut number = |skipped: usize| fields.nth(skipped)?.parse().ok().map(Pid::from_raw);
    Some(LiveProcess { pid: Pid::from_raw(pid), group: number(1)?, session: number(0)? })
}

#[cfg(test)]
mod tests {
    use nix::unistd::{getpgrp, getsid};

    use super::*;

    #[test]
    fn a_name_full_of_parentheses_does_not_shift_the_fields() {
        let process = parse_stat(b"42 (a) Z 1 (b)) S 7 40 39 0 -1 4194560\n").expect("a live process");
        assert_eq!(process, LiveProcess { pid: Pid::from_raw(42), group: Pid::from_raw(40), session: Pid::from_raw(39) });
    }

    #[test]
    fn a_zombie_is_not_alive_and_nonsense_is_nothing() {
        assert_eq!(parse_stat(b"42 (a) Z 7 40 39 0"), None);
        assert_eq!(parse_stat(b"42 (a"), None);
        assert_eq!(parse_stat(b""), None);
        assert_eq!(parse_stat(b"42 (a) S 7"), None);
    }

    #[test]
    fn this_process_is_found_in_its_group_and_session() {
        let own = read_live_processes().into_iter().find(|process| process.pid == Pid::this()).expect("we are alive");
        assert_eq!(own.group, getpgrp());
        assert_eq!(own.session, getsid(None).expect("our session"));
        assert!(!read_survivor(&own).argv.is_empty());
    }

    #[test]
    fn arguments_are_split_at_their_nuls_and_decoded_lossily() {
        assert_eq!(parse_arguments(b"a\0\0b c\0"), ["a", "", "b c"]);
        assert_eq!(parse_arguments(b"\xff\0"), ["\u{fffd}"]);
        assert!(parse_arguments(b"").is_empty());
    }
}
