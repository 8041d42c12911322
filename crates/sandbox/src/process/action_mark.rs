//! A mark that every process of an action carries, so that the service recognises such a process when it connects.
//!
//! The mark is a lowered hard limit on `RLIMIT_LOCKS`. The kernel enforces nothing by this limit since Linux 2.4.25
//! (`getrlimit(2)`), so the mark costs the action nothing. A process inherits it whatever the process does: by forks,
//! double forks, sessions of its own, other programs, and after its parents have ended. Only a process with
//! CAP_SYS_RESOURCE in the first user namespace can raise a hard limit again, so an action cannot remove the mark at
//! any level with restrictions, and an ordinary user's action cannot remove it at any level.

use std::io;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};

/// The hard limit that marks a process. Systems leave this limit unlimited.
const MARK: u64 = 0x0050_5243;

/// The name of the marked limit in `/proc/PID/limits`.
const LIMIT_NAME: &str = "Max file locks";

/// Marks this process and all processes that it starts from now on.
pub(super) fn mark_this_process() -> io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_LOCKS)?;
    // A proctor that was started inside an action has the mark already. A lower limit cannot be raised and is kept.
    let marked = hard.min(MARK);
    Ok(setrlimit(Resource::RLIMIT_LOCKS, marked, marked)?)
}

/// Returns whether a process has the mark, by its `/proc/PID/limits`. Returns `None` if the text has no such limit, or
/// if its value cannot be read.
pub(super) fn is_marked(limits: &str) -> Option<bool> {
    let values = limits.lines().find_map(|line| line.strip_prefix(LIMIT_NAME))?;
    let hard = values.split_whitespace().nth(1)?;
    let hard = if hard == "unlimited" { RLIM_INFINITY } else { hard.parse().ok()? };
    Some(hard <= MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_read_from_the_limits_of_a_process() {
        let row =
            |soft: &str, hard: &str| format!("Max processes  63432  63432  processes\nMax file locks  {soft}  {hard}  locks\n");
        assert_eq!(is_marked(&row("unlimited", "unlimited")), Some(false));
        assert_eq!(is_marked(&row("5263939", "5263939")), Some(true));
        assert_eq!(is_marked(&row("1", "5263939")), Some(true), "a lower soft limit hides nothing");
        assert_eq!(is_marked(&row("7", "7")), Some(true), "a lower hard limit hides nothing");
        assert_eq!(is_marked(&row("7", "9999999999")), Some(false));
        assert_eq!(is_marked("Max processes 1 1 processes\n"), None);
        assert_eq!(is_marked("Max file locks\n"), None);
        assert_eq!(u64::from(5_263_939_u32), MARK);
    }

    #[test]
    fn this_process_has_such_a_limit() {
        let own = std::fs::read_to_string("/proc/self/limits").expect("our limits");
        assert!(is_marked(&own).is_some(), "{own}");
    }
}
