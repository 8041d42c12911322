//! Reads `/proc`: which processes are alive, their parents, start times and argument vectors (`proc(5)`).
//!
//! The answers may be out of date at once. So a process id is never signalled only because it was found here; see
//! [`crate::process::group`].

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;

use nix::sys::signal::Signal;
use nix::unistd::{Pid, SysconfVar, sysconf};

use proctor_model::{DurationMs, Survivor};

/// The most survivors that are named in reports. Survivors beyond this number are killed too, but not named.
pub(super) const NAMED_CAP: usize = 64;

/// The unit of the times in `/proc/PID/stat`, which is the same on all of Linux (`USER_HZ`).
const MILLISECONDS_PER_TICK: u64 = 10;

/// The most bytes of an argument vector that are kept.
const ARGUMENTS_CAP: u64 = 4096;

/// A living process, as `/proc/PID/stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LiveProcess {
    pub(super) pid: Pid,
    pub(super) group: Pid,
    pub(super) session: Pid,
    pub(super) parent: Pid,
    /// When the process started, in clock ticks since the machine's start. Together with `pid` this identifies a
    /// process.
    pub(super) started: u64,
}

impl LiveProcess {
    /// Returns a process of which only the id is known. The other values are placeholders; `started` is 0, which means
    /// unknown.
    pub(super) fn unseen(pid: Pid) -> Self {
        Self { pid, group: pid, session: pid, parent: Pid::this(), started: 0 }
    }
}

/// Reads all living processes; zombies are left out.
pub(super) fn read_live_processes() -> Vec<LiveProcess> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter_map(|number| parse_stat(&fs::read(format!("/proc/{number}/stat")).ok()?)).collect()
}

/// Reads one process; `None` when it is not alive.
pub(super) fn read_process(process: Pid) -> Option<LiveProcess> {
    parse_stat(&fs::read(format!("/proc/{process}/stat")).ok()?)
}

/// Reads one process, also if it is a zombie. A process whose first thread has ended looks like a zombie while its other
/// threads still run and start children. `None` if `/proc` does not show the process.
pub(super) fn read_process_or_zombie(process: Pid) -> Option<LiveProcess> {
    parse_any_stat(&fs::read(format!("/proc/{process}/stat")).ok()?).map(|(process, _)| process)
}

/// Returns for each of these signals whether a process has a handler for it. A process that cannot be read has none.
pub(super) fn handles_signals<const COUNT: usize>(process: Pid, signals: [Signal; COUNT]) -> [bool; COUNT] {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let handled = parse_handled_signals(&status).unwrap_or(0);
    signals.map(|signal| handled & (1 << (signal as i32 - 1)) != 0)
}

/// Parses the set of signals with a handler from `/proc/PID/status`: the lowest bit is signal 1.
fn parse_handled_signals(status: &str) -> Option<u64> {
    let set = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

/// Returns whether this process has a child, zombies included, that is not in `spared`. Without such a child it has no
/// other descendant either: this process is the subreaper of its descendants, so orphans become its children. The
/// caller must reap ended children first: if the list has only zombies, a zombie's child may have become a child of
/// this process after the list was read.
pub(super) fn has_children(spared: &[Pid]) -> bool {
    match read_own_children() {
        Some(children) => children.iter().any(|child| !spared.contains(child)),
        None => !find_descendants(spared).is_empty(),
    }
}

/// Returns whether processes hold more than `most` bytes of memory together. What several of them share counts once, but for each process
/// whose `smaps_rollup` cannot be read.
pub(super) fn hold_more_than(most: u64, processes: &[LiveProcess]) -> bool {
    let all = || processes.iter().map(|process| process.pid);
    all().filter_map(resident).sum::<u64>() > most && all().filter_map(shared_out).sum::<u64>() > most
}

fn resident(process: Pid) -> Option<u64> {
    read_memory(process, "status", "VmRSS:")
}

/// Returns the memory of a process, in bytes; what several processes share is shared out among them. The kernel walks all pages for it.
fn shared_out(process: Pid) -> Option<u64> {
    read_memory(process, "smaps_rollup", "Pss:").or_else(|| resident(process))
}

fn read_memory(process: Pid, file: &str, key: &str) -> Option<u64> {
    parse_kibibytes(&fs::read_to_string(format!("/proc/{process}/{file}")).ok()?, key)
}

/// Returns the memory, in bytes, of the processes below the children of a process that have no children themselves.
pub(super) fn memory_of_commands(launcher: Pid) -> u64 {
    let mut commands: Vec<Pid> = read_children_of(launcher).into_iter().flat_map(read_children_of).collect();
    let mut bytes = 0;
    while let Some(command) = commands.pop() {
        let children = read_children_of(command);
        bytes += if children.is_empty() { shared_out(command).unwrap_or(0) } else { 0 };
        commands.extend(children);
    }
    bytes
}

/// Returns the value, in bytes, of the line that begins with `key`.
fn parse_kibibytes(text: &str, key: &str) -> Option<u64> {
    let kibibytes = text.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_suffix("kB"))?;
    kibibytes.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the living descendants of this process, except the processes in `spared` and their descendants. A process
/// that forks and ends while `/proc` is read may be missed: only [`has_children`] can prove that no descendant is left.
pub(super) fn find_descendants(spared: &[Pid]) -> Vec<LiveProcess> {
    let mut alive = read_live_processes();
    // The children are read last, from the kernel's own list, because a child may have come while `/proc` was read.
    alive.extend(read_own_children().unwrap_or_default().into_iter().filter_map(read_process));
    alive.retain(|process| !spared.contains(&process.pid));
    alive.sort_by_key(|process| (process.pid, process.started));
    alive.dedup();
    descendants(Pid::this(), &alive)
}

/// Returns the processes in `among` that are descendants of the process `of`, in no particular order.
pub(super) fn descendants(of: Pid, among: &[LiveProcess]) -> Vec<LiveProcess> {
    let mut children: BTreeMap<Pid, Vec<LiveProcess>> = BTreeMap::new();
    for process in among {
        children.entry(process.parent).or_default().push(*process);
    }
    let mut found = children.remove(&of).unwrap_or_default();
    let mut looked_at = 0;
    while let Some(process) = found.get(looked_at) {
        let more = children.remove(&process.pid).unwrap_or_default();
        found.extend(more);
        looked_at += 1;
    }
    found
}

/// Reads a process's argument vector and age.
pub(super) fn read_survivor(process: &LiveProcess) -> Survivor {
    let mut bytes = Vec::new();
    if let Ok(file) = fs::File::open(format!("/proc/{}/cmdline", process.pid)) {
        // If the process ends meanwhile, only the bytes read so far are kept. The survivor is named anyway.
        let _ended = file.take(ARGUMENTS_CAP).read_to_end(&mut bytes);
    }
    let mut argv = parse_arguments(&bytes);
    if argv.is_empty() {
        // A process that has ended or has cleared its arguments keeps the kernel's name for it; proc(5) puts it in brackets.
        let name = fs::read_to_string(format!("/proc/{}/comm", process.pid)).unwrap_or_default();
        argv.push(format!("[{}]", if name.trim().is_empty() { "ended" } else { name.trim() }));
    }
    Survivor { pid: process.pid.as_raw(), argv, age: age(process.started) }
}

/// Returns the age of a process that started `started` clock ticks after the machine's start; `None` if `started` is 0
/// or the system's values cannot be read.
fn age(started: u64) -> Option<DurationMs> {
    if started == 0 {
        return None;
    }
    let ticks_per_second = u64::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok()?;
    let text = fs::read_to_string("/proc/uptime").ok()?;
    let (seconds, hundredths) = text.split_whitespace().next()?.split_once('.')?;
    let up_ms = seconds.parse::<u64>().ok()? * 1000 + hundredths.parse::<u64>().ok()? * 10;
    Some(DurationMs(up_ms.saturating_sub(started * 1000 / ticks_per_second)))
}

/// Returns this process's children, including zombies; `None` if the kernel was built without `CONFIG_PROC_CHILDREN`.
///
/// The list is only reliable while no child is reaped, which a single-threaded process can ensure for its own children.
pub(super) fn read_own_children() -> Option<Vec<Pid>> {
    let text = fs::read_to_string(format!("/proc/self/task/{}/children", Pid::this())).ok()?;
    Some(text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).map(Pid::from_raw).collect())
}

/// Returns the children of a process, including zombies; none if they cannot be read.
pub(super) fn read_children_of(process: Pid) -> Vec<Pid> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).map(Pid::from_raw).collect()
}

/// Returns the processor time that a process has used so far, as user and as system.
pub(super) fn read_used_time(process: Pid) -> Option<(DurationMs, DurationMs)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let milliseconds = |at: usize| Some(DurationMs(fields.get(at)?.parse::<u64>().ok()? * MILLISECONDS_PER_TICK));
    Some((milliseconds(11)?, milliseconds(12)?))
}

fn parse_arguments(bytes: &[u8]) -> Vec<String> {
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|byte| *byte == 0).map(|argument| String::from_utf8_lossy(argument).into_owned()).collect()
}

/// Parses `/proc/PID/stat`. Returns `None` for a zombie, and for a text that cannot be parsed.
fn parse_stat(bytes: &[u8]) -> Option<LiveProcess> {
    parse_any_stat(bytes).filter(|(_, state)| !matches!(*state, "Z" | "X" | "x")).map(|(process, _)| process)
}

/// Parses `/proc/PID/stat` and returns the process with its state. The name in parentheses may itself contain parentheses
/// and spaces, so fields are counted from the last `)`.
fn parse_any_stat(bytes: &[u8]) -> Option<(LiveProcess, &str)> {
    let name_begin = bytes.iter().position(|byte| *byte == b'(')?;
    let name_end = bytes.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(&bytes[..name_begin]).ok()?.trim().parse().ok()?;
    let mut fields = std::str::from_utf8(&bytes[name_end + 1..]).ok()?.split_ascii_whitespace();
    let state = fields.next()?;
    let mut number = |skipped: usize| fields.nth(skipped)?.parse::<i32>().ok().map(Pid::from_raw);
    let (parent, group, session) = (number(0)?, number(0)?, number(0)?);
    // Field 22 of `proc_pid_stat(5)`; the session is field 6.
    let started = fields.nth(15)?.parse().ok()?;
    Some((LiveProcess { pid: Pid::from_raw(pid), group, session, parent, started }, state))
}

#[cfg(test)]
mod tests {
    use nix::unistd::{getpgrp, getppid, getsid};

    use super::*;

    #[test]
    fn memory_is_read_in_bytes_and_that_of_this_process_is_some() {
        assert_eq!(parse_kibibytes("Name:\ta\nVmHWM:\t   9 kB\nVmRSS:\t     3 kB\n", "VmRSS:"), Some(3072));
        assert_eq!(parse_kibibytes("Rss:   9 kB\nPss:   3 kB\nPss_Dirty:   1 kB\n", "Pss:"), Some(3072));
        assert_eq!(parse_kibibytes("Name:\tkthreadd\n", "VmRSS:"), None);
        let own = [LiveProcess::unseen(Pid::this())];
        assert!(hold_more_than(4096, &own) && !hold_more_than(1 << 40, &own));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test starts a process of its own and waits for its end, within a bound")]
    fn pages_that_forked_processes_share_count_once() {
        // Four processes read 64 MB that one of them has made. They end when the pipe of the first one closes.
        let script = "import os, sys\nmemory = b'1' * (64 << 20)\nfor _ in range(3):\n    if os.fork() == 0: break\n\
                      os.write(1, b'%d\\n' % os.getpid())\nsys.stdin.read()\n";
        let mut child = std::process::Command::new("python3")
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("there is a Python");
        let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().expect("it is piped")));
        let started = lines.take(4).map(|line| line.expect("a line").parse().expect("a process id"));
        let four: Vec<LiveProcess> = started.map(|pid| LiveProcess::unseen(Pid::from_raw(pid))).collect();
        let (above, far_above) = (hold_more_than(64 << 20, &four), hold_more_than(128 << 20, &four));
        drop(child.stdin.take());
        child.wait().expect("it is ours");
        assert_eq!((four.len(), above, far_above), (4, true, false));
    }

    #[test]
    fn a_name_full_of_parentheses_does_not_shift_the_fields() {
        let stat = b"42 (a) Z 1 (b)) S 7 40 39 0 -1 4194560 8 9 10 11 12 13 14 15 20 0 1 0 9876 1 1\n";
        let process = parse_stat(stat).expect("a live process");
        assert_eq!((process.pid, process.parent), (Pid::from_raw(42), Pid::from_raw(7)));
        assert_eq!((process.group, process.session), (Pid::from_raw(40), Pid::from_raw(39)));
        assert_eq!(process.started, 9876);
    }

    #[test]
    fn a_zombie_is_not_alive_and_nonsense_is_nothing() {
        assert_eq!(parse_stat(b"42 (a) Z 7 40 39 0"), None);
        assert_eq!(parse_stat(b"42 (a"), None);
        assert_eq!(parse_stat(b""), None);
        assert_eq!(parse_stat(b"42 (a) S 7"), None);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test starts a process of its own and waits for its end, within a bound")]
    fn a_survivor_without_arguments_has_the_kernels_name_and_one_that_is_gone_is_said_to_have_ended() {
        let mut child = std::process::Command::new("true").spawn().expect("it is everywhere");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("Linux process ids fit"));
        let process = LiveProcess { pid, ..read_live_processes()[0] };
        // Until it is waited for, an ended process has its name and no arguments any more.
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while read_survivor(&process).argv != ["[true]"] {
            assert!(std::time::Instant::now() < end, "{:?}", read_survivor(&process));
            std::thread::yield_now();
        }
        child.wait().expect("it is ours");
        assert_eq!(read_survivor(&process).argv, ["[ended]"]);
    }

    #[test]
    fn this_process_is_found_in_its_group_and_session() {
        let own = read_live_processes().into_iter().find(|process| process.pid == Pid::this()).expect("we are alive");
        assert_eq!(own.group, getpgrp());
        assert_eq!(own.session, getsid(None).expect("our session"));
        assert_eq!(own.parent, getppid());
        let named = read_survivor(&own);
        assert!(!named.argv.is_empty() && named.age.is_some());
    }

    #[test]
    fn descendants_are_found_through_their_parents_and_nobody_twice() {
        let process = |pid: i32, parent: i32| LiveProcess {
            pid: Pid::from_raw(pid),
            parent: Pid::from_raw(parent),
            group: Pid::from_raw(1),
            session: Pid::from_raw(1),
            started: 0,
        };
        // Processes 5 and 6 are each other's parents. The search must end although it never reaches a common ancestor.
        let among = [process(4, 3), process(3, 2), process(9, 1), process(8, 2), process(5, 6), process(6, 5)];
        let mut found: Vec<i32> = descendants(Pid::from_raw(2), &among).iter().map(|one| one.pid.as_raw()).collect();
        found.sort_unstable();
        assert_eq!(found, [3, 4, 8]);
    }

    #[test]
    fn the_signals_with_a_handler_are_read_from_the_status() {
        assert_eq!(parse_handled_signals("SigIgn:\t0000000000000001\nSigCgt:\t0000000000004020\n"), Some((1 << 5) | (1 << 14)));
        assert_eq!(parse_handled_signals("SigIgn:\t0000000000000001\n"), None);
        assert_eq!(handles_signals(Pid::this(), [Signal::SIGKILL]), [false], "nobody can handle it");
    }

    #[test]
    fn arguments_are_split_at_their_nuls_and_decoded_lossily() {
        assert_eq!(parse_arguments(b"a\0\0b c\0"), ["a", "", "b c"]);
        assert_eq!(parse_arguments(b"\xff\0"), ["\u{fffd}"]);
        assert!(parse_arguments(b"").is_empty());
    }
}
