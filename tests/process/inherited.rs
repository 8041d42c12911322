//! Tests what a command inherits from the supervisor, and what it must not inherit.

use std::path::Path;

use nix::sys::signal::{SigSet, Signal};
use proctor_model::{ActionEnd, IsolationLevel};

use super::{Bench, FAKE_TOOL, stdout_text, supervised_from_shell};

#[test]
fn a_child_gets_a_null_input_its_exact_environment_and_no_descriptor_of_ours() {
    let mut bench = Bench::new();
    bench.environment = vec![("ONE".into(), "1".into()), ("TWO".into(), "a b\nc".into())];
    let text = stdout_text(&bench.run(&["--environment"]));
    assert_eq!(text, "ONE=1\nTWO=a b\nc\n");
    let text = stdout_text(&bench.run(&["--descriptors"]));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!(lines[0], "/proc/self/fd/0 /dev/null");
    assert!(lines[1].starts_with("/proc/self/fd/1 pipe:") && lines[2].starts_with("/proc/self/fd/2 pipe:"), "{text}");
}

#[test]
fn what_the_supervisor_inherited_is_not_passed_on() {
    let line = supervised_from_shell("trap '' INT QUIT TERM HUP USR1; exec 9</dev/null;", &["/bin/cat", "/proc/self/status"]);
    let status = line["stdout"].as_str().expect("text");
    for field in ["SigIgn:", "SigBlk:"] {
        let value = status.lines().find_map(|line| line.strip_prefix(field)).expect("a field").trim();
        // glibc's posix_spawn ignores its own signals 32 and 33 in every child.
        let own = 0b11 << 31;
        assert_eq!(u64::from_str_radix(value, 16).map(|set| set & !own), Ok(0), "{field} {value}");
    }
    let line = supervised_from_shell("exec 9</dev/null;", &[FAKE_TOOL, "--descriptors"]);
    assert_eq!(line["stdout"].as_str().expect("text").lines().count(), 3, "{line}");
}

#[test]
fn a_signal_that_is_blocked_here_is_not_blocked_in_the_child() {
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGUSR2);
    blocked.thread_block().expect("blocked");
    let mut bench = Bench::new();
    blocked.thread_unblock().expect("unblocked");
    let text = stdout_text(&bench.run_program(Path::new("/bin/cat"), &["/proc/self/status"]));
    let value = text.lines().find_map(|line| line.strip_prefix("SigBlk:")).expect("a field").trim();
    assert_eq!(u64::from_str_radix(value, 16), Ok(0));
}

#[test]
fn an_environment_longer_than_the_socket_arrives() {
    let mut bench = Bench::new();
    bench.environment = (0..12).map(|index| (format!("N{index}").into(), "x".repeat(100_000).into())).collect();
    let ended = bench.run(&["--env", "N11"]);
    assert_eq!((ended.end, ended.captured.log_bytes), (ActionEnd::Exited { code: 0 }, 100_001));
}

#[test]
fn a_command_reads_what_it_is_given_at_every_level_and_cannot_change_it() {
    const SCRIPT: &str = "cat && cat <&0 && (echo more >> /proc/self/fd/0) 2>/dev/null; echo; wc -c < /dev/stdin";
    let input = vec![b'x'; 300_000];
    for strongest in [IsolationLevel::Namespace, IsolationLevel::Landlock, IsolationLevel::ProcessGroup] {
        let mut bench = Bench::new();
        bench.strongest = strongest;
        bench.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
        let ended = bench.run_with_input(&input, &["-c", SCRIPT]);
        assert_eq!(ended.end, ActionEnd::Exited { code: 0 }, "{strongest:?}");
        let expected = [&input[..], b"\n300000\n"].concat();
        assert!(bench.log() == expected, "{strongest:?}: {} bytes", bench.log().len());
        let nothing = bench.run_with_input(b"", &["-c", "cat"]);
        assert_eq!((nothing.end, bench.log().len()), (ActionEnd::Exited { code: 0 }, 0));
    }
}
