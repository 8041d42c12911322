//! The limit on processes that the kernel keeps for each user namespace, where no cgroup keeps one.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::utsname::uname;
use nix::unistd::geteuid;

/// Limits the processes of this user in this process's own user namespace, if the kernel counts them there. This process is one of them.
pub(super) fn limit_processes(most: Option<u32>) -> io::Result<()> {
    let Some(most) = most.filter(|_| counts_processes_by_namespace()) else { return Ok(()) };
    // Only root may raise the limit that this process has itself.
    let most = (u64::from(most) + 1).min(getrlimit(Resource::RLIMIT_NPROC)?.1);
    Ok(setrlimit(Resource::RLIMIT_NPROC, most, most)?)
}

/// Counts all processes but this one, with their threads, and with those that have ended and were not reaped, which the kernel counts too.
pub(super) fn count_others() -> u64 {
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let others = entries.filter_map(|name| name.into_string().ok().filter(|name| *name != own && name.parse::<u32>().is_ok()));
    others.filter_map(|process| count_threads(&process)).sum()
}

/// Returns `None` for a process that is gone. A directory's links are itself, its name above, and one for each directory in it.
fn count_threads(process: &str) -> Option<u64> {
    Some(fs::metadata(format!("/proc/{process}/task")).ok()?.nlink().saturating_sub(2))
}

/// Returns whether `RLIMIT_NPROC` limits the processes of a user namespace, and not all that the user has on the machine: since Linux 5.14,
/// and never for root. Source: kernel/ucount.c, getrlimit(2).
pub fn counts_processes_by_namespace() -> bool {
    let release = uname().ok().and_then(|names| names.release().to_str().map(str::to_owned));
    !geteuid().is_root() && release.is_some_and(|release| is_since_5_14(&release))
}

fn is_since_5_14(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (5, 14)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test starts a process of its own and waits for its end, within a bound")]
    fn threads_count_and_so_does_a_process_that_ended_and_was_not_reaped() {
        let threads = std::sync::Barrier::new(21);
        std::thread::scope(|scope| {
            (0..20).for_each(|_| drop(scope.spawn(|| threads.wait())));
            assert!(count_threads("self").is_some_and(|count| count > 20));
            threads.wait();
        });
        let mut child = std::process::Command::new("true").spawn().expect("it is everywhere");
        assert_eq!(count_threads(&child.id().to_string()), Some(1));
        child.wait().expect("it is ours");
        assert_eq!(count_threads(&child.id().to_string()), None);
    }

    #[test]
    fn processes_are_counted_by_namespace_since_linux_5_14() {
        let releases = ["6.1.0-13-amd64", "5.14", "5.14.0-rc1+", "5.13.19", "4.18.0-553.el8", ""];
        assert_eq!(releases.map(is_since_5_14), [true, true, true, false, false, false]);
    }
}
