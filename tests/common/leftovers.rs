//! Finding processes that a test left behind (house style T14).
//!
//! A process belongs to a test's directory when its working directory or executable lies in it, or when the directory stands
//! in its arguments or in the environment it was started with: proctor hands `HOME` and `TMPDIR` to checks, so a check's descendants
//! carry it too.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::poll;

/// How long ends that are on their way may take to arrive.
const BOUND: Duration = Duration::from_secs(3);
/// How many looks in a row must find nobody.
const LOOKS: usize = 3;

/// Returns the processes that belong to `root`, by id, with their command lines. Zombies have no environment and are not found.
pub(crate) fn processes_of(root: &Path) -> Vec<(i32, String)> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|id| id.unsigned_abs() != process::id() && belongs(*id, root)).map(|id| (id, command_line(id))).collect()
}

/// Waits a bounded time for `root` to have no processes; kills the ones that are left and returns them.
///
/// One look is not enough: a process that was started after the list was read, by one that ended before its turn came, is on neither.
pub(crate) fn end_processes_of(root: &Path) -> Vec<(i32, String)> {
    let start = std::time::Instant::now();
    while start.elapsed() < BOUND {
        if (0..LOOKS).all(|_| processes_of(root).is_empty()) {
            return Vec::new();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let left = processes_of(root);
    poll(BOUND, "the left processes to die", || {
        let alive = processes_of(root);
        for (id, _) in &alive {
            // It may have gone between the scan and the signal; the next scan tells.
            let _ = kill(Pid::from_raw(*id), Signal::SIGKILL);
        }
        if alive.is_empty() { Ok(()) } else { Err(format!("{alive:?}")) }
    });
    left
}

fn belongs(id: i32, root: &Path) -> bool {
    let links = ["cwd", "exe"];
    let lies_in = |link| fs::read_link(format!("/proc/{id}/{link}")).is_ok_and(|target| target.starts_with(root));
    let needle = root.as_os_str().as_bytes();
    let carries = |file| {
        let bytes = fs::read(format!("/proc/{id}/{file}")).unwrap_or_default();
        bytes.windows(needle.len()).any(|window| window == needle)
    };
    links.into_iter().any(lies_in) || ["environ", "cmdline"].into_iter().any(carries)
}

fn command_line(id: i32) -> String {
    let bytes = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim_end().to_owned()
}
