//! Finds processes that a test has left behind (house style T14).
//!
//! A process belongs to a test's directory if its working directory or its executable is in it, or if the directory's path is in its
//! arguments or its environment. proctor passes `HOME` and `TMPDIR` to checks, so the path is in the environment of their descendants too.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::poll;

/// How long processes that were told to end may take to be gone.
const BOUND: Duration = Duration::from_secs(3);
/// How many scans in a row must find no process.
const LOOKS: usize = 3;

/// Returns the ids and command lines of the processes that belong to `root`. Zombies are not found: they have no environment.
pub(crate) fn processes_of(root: &Path) -> Vec<(i32, String)> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|id| id.unsigned_abs() != process::id() && belongs(*id, root)).map(|id| (id, command_line(id))).collect()
}

/// Waits a bounded time until no process belongs to `root`. Kills the processes that are left after that time, and
/// returns them.
///
/// One scan is not enough: it misses a process that is started after the list of processes was read, by a parent that ends before it is
/// looked at.
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
            // The process may have ended between the scan and the signal; the next scan shows that.
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
