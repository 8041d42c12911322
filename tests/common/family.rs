//! Finds processes and their descendants in `/proc`, and waits for their end.

use std::fs;
use std::time::Duration;

use crate::common::poll;

/// How long processes that were told to end may take to be gone.
const BOUND: Duration = Duration::from_secs(30);

/// Returns the children of a process; an empty list if the process is gone.
pub(crate) fn children_of(id: i32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|child| parent_of(*child) == Some(id)).collect()
}

/// Returns a process and its descendants.
pub(crate) fn family_of(id: i32) -> Vec<i32> {
    let mut family = vec![id];
    let mut seen = 0;
    while let Some(parent) = family.get(seen).copied() {
        family.extend(children_of(parent));
        seen += 1;
    }
    family
}

/// Waits until all these processes are gone, and panics if they are not.
#[track_caller]
pub(crate) fn expect_all_to_be_gone(ids: &[i32]) {
    poll(BOUND, "every process to be gone", || {
        // A zombie counts as gone: in a container, the process that inherits it may be slow to reap it.
        let lives = |id: &&i32| stat_fields(**id).is_some_and(|fields| fields[0] != "Z");
        let left: Vec<_> = ids.iter().filter(lives).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?} of {ids:?}")) }
    });
}

/// Returns the fields of `/proc/PID/stat` after the process's name. None: the process is gone.
pub(crate) fn stat_fields(id: i32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.split(' ').map(str::to_owned).collect())
}

/// Returns the number after a key of `/proc/PID/status`, in the kernel's unit.
#[track_caller]
pub(crate) fn status_number(id: i32, key: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).expect("the kernel says it");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

/// Returns how much memory a process has for itself, in KiB: its heap, its stacks and what it mapped without a file. Pages of mapped
/// files do not count, changed ones neither: how many there are depends on how the program was built.
#[track_caller]
pub(crate) fn own_memory_kib(id: i32) -> u64 {
    let maps = fs::read_to_string(format!("/proc/{id}/smaps")).expect("it lives");
    let (mut has_file, mut sum) = (false, 0);
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("Anonymous:") if !has_file => {
                sum += words.next().and_then(|number| number.parse::<u64>().ok()).expect("a number of KiB");
            }
            // The line that begins a mapping: address range, permissions, offset, device, inode, path.
            Some(range) if !range.ends_with(':') => has_file = words.nth(4).is_some_and(|path| path.starts_with('/')),
            Some(_) | None => {}
        }
    }
    sum
}

/// Returns the numbers of the signals that are ignored, by the `SigIgn` line of a `/proc/PID/status`.
///
/// Signals 32 and 33 are left out: the C library uses them itself, and its `posix_spawn(3)` ignores them in every child.
#[track_caller]
pub(crate) fn ignored(status: &str) -> Vec<u32> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("the kernel says it");
    let mask = u64::from_str_radix(mask.trim(), 16).expect("a mask");
    (1..=64).filter(|number| mask >> (number - 1) & 1 == 1 && ![32, 33].contains(number)).collect()
}

fn parent_of(id: i32) -> Option<i32> {
    stat_fields(id)?.get(1)?.parse().ok()
}
