//! A mark that every process of an action carries, so that the service recognises such a process when it connects.
//!
//! The mark is a lowered hard limit on `RLIMIT_LOCKS`. The kernel enforces nothing by this limit since Linux 2.4.25
//! (`getrlimit(2)`), so the mark costs the action nothing. A process inherits it whatever the process does: by forks,
//! double forks, sessions of its own, other programs, and after its parents have ended. Only a process with
//! CAP_SYS_RESOURCE in the first user namespace can raise a hard limit again, so an action cannot remove the mark at
//! any level with restrictions, and an ordinary user's action cannot remove it at any level.

use std::io;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};

/// The hard limit that marks a process. Systems leave this limit unlimited. Each action in an action has a lower one.
const MARK: u64 = 0x0050_5243;

/// The name of the marked limit in `/proc/PID/limits`.
const LIMIT_NAME: &str = "Max file locks";

/// Marks this process and all processes that it starts from now on.
pub(super) fn mark_this_process() -> io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_LOCKS)?;
    // A proctor that was started inside an action has a mark already. A limit cannot be raised, and a lower one tells its actions apart.
    let marked = if hard > MARK { MARK } else { hard.saturating_sub(1) };
    Ok(setrlimit(Resource::RLIMIT_LOCKS, marked, marked)?)
}

/// Returns the hard limit by which a process may be marked, from its `/proc/PID/limits`. Returns `None` if the text has no such limit, or if
/// its value cannot be read.
pub(super) fn limit_of(limits: &str) -> Option<u64> {
    let values = limits.lines().find_map(|line| line.strip_prefix(LIMIT_NAME))?;
    let hard = values.split_whitespace().nth(1)?;
    if hard == "unlimited" { Some(RLIM_INFINITY) } else { hard.parse().ok() }
}

/// Returns whether a process with the limit `peer` has a mark that one with the limit `own` does not have.
pub(super) fn is_marked(peer: u64, own: u64) -> bool {
    peer <= MARK && peer < own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_read_from_the_limits_of_a_process() {
        let row =
            |soft: &str, hard: &str| format!("Max processes  63432  63432  processes\nMax file locks  {soft}  {hard}  locks\n");
        let marked = |soft: &str, hard: &str| is_marked(limit_of(&row(soft, hard)).expect("a limit"), RLIM_INFINITY);
        assert!(!marked("unlimited", "unlimited"));
        assert!(marked("5263939", "5263939"));
        assert!(marked("1", "5263939"), "a lower soft limit hides nothing");
        assert!(marked("7", "7"), "a lower hard limit hides nothing");
        assert!(!marked("7", "9999999999"));
        assert_eq!(limit_of("Max processes 1 1 processes\n"), None);
        assert_eq!(limit_of("Max file locks\n"), None);
        assert_eq!(u64::from(5_263_939_u32), MARK);
    }

    #[test]
    fn an_action_in_an_action_has_a_mark_of_its_own() {
        assert!(is_marked(MARK - 1, MARK) && !is_marked(MARK, MARK) && !is_marked(MARK, MARK - 1));
    }

    #[test]
    fn this_process_has_such_a_limit() {
        let own = std::fs::read_to_string("/proc/self/limits").expect("our limits");
        assert!(limit_of(&own).is_some(), "{own}");
    }
}
