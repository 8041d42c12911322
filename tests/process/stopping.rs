//! Tests time-outs, requests to stop, and the signals that are sent to a command one after another.

use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use proctor_model::{ActionEnd, LimitKind, StopReason, StopStage};
use proctor_sandbox::process::Control;

use super::{Bench, until};

#[test]
fn a_time_out_that_sigterm_ends_says_so() {
    let mut bench = Bench::new().timing_out(200, 10_000, &[StopStage::Sigterm]);
    let ended = bench.run(&["--stdout", "before", "--sleep", "60000"]);
    let end = ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigterm, code: None, signal: Some(15) };
    assert_eq!(ended.end, end);
    assert_eq!(bench.log(), b"before");
    assert!(ended.duration.0 >= 200);
}

#[test]
fn c17_a_time_out_that_ignores_sigterm_is_killed_at_the_end_of_the_grace() {
    let mut bench = Bench::new().timing_out(500, 300, &[StopStage::Sigterm]);
    let ended = bench.run(&["--ignore-term", "--sleep", "60000"]);
    let end = ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigkill, code: None, signal: None };
    assert_eq!(ended.end, end);
    assert!((800..20_000).contains(&ended.duration.0), "{:?}", ended.duration);
}

#[test]
fn the_ladder_of_pytest_begins_with_sigint_and_exit_0_after_it_is_still_a_time_out() {
    let mut bench = Bench::new().timing_out(500, 10_000, &[StopStage::Sigint, StopStage::Sigterm]);
    let ended = bench.run(&["--handle-int-exit", "0", "--sleep", "60000"]);
    let end = ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigint, code: Some(0), signal: None };
    assert_eq!(ended.end, end);
}

#[test]
fn output_is_still_read_while_the_ladder_is_climbed() {
    let mut bench = Bench::new().timing_out(500, 20_000, &[StopStage::Sigint, StopStage::Sigterm]);
    let ended = bench.run(&["--ignore-int", "--sleep", "700", "--stdout-bytes", "3000000", "--exit", "0"]);
    assert!(matches!(ended.end, ActionEnd::TimedOut { stage: StopStage::Sigint, code: Some(0), .. }), "{:?}", ended.end);
    assert_eq!(bench.log().len(), 3_000_000);
}

#[test]
fn a_stop_request_ends_the_action_and_stays_in_force_until_it_is_taken() {
    let mut bench = Bench::new();
    let ready = bench.text("ready");
    let asker = bench.stop_when(&[("ready", StopReason::Superseded)]);
    let ended = bench.run(&["--touch", &ready, "--sleep", "60000"]);
    asker.join().expect("no panic");
    assert_eq!(ended.end, ActionEnd::Stopped { reason: StopReason::Superseded, stage: StopStage::Sigterm });
    assert_eq!(bench.control.requested(), Some(StopReason::Superseded));
    let ended = bench.run(&["--sleep", "60000"]);
    assert_eq!(ended.end, ActionEnd::Stopped { reason: StopReason::Superseded, stage: StopStage::Sigterm });
    assert_eq!(bench.control.take(), Some(StopReason::Superseded));
    assert_eq!(bench.run(&["--exit", "0"]).end, ActionEnd::Exited { code: 0 });
}

#[test]
fn a_second_stop_request_kills_at_once() {
    let mut bench = Bench::new().timing_out(60_000, 60_000, &[StopStage::Sigint, StopStage::Sigterm]);
    let ready = bench.text("ready");
    let asker = bench.stop_when(&[("ready", StopReason::Interrupted), ("ready", StopReason::Terminated)]);
    let ended = bench.run(&["--ignore-int", "--ignore-term", "--touch", &ready, "--sleep", "50000"]);
    asker.join().expect("no panic");
    assert_eq!(ended.end, ActionEnd::Stopped { reason: StopReason::Terminated, stage: StopStage::Sigkill });
    assert!(ended.duration.0 < 20_000, "{:?}", ended.duration);
}

#[test]
fn a_byte_from_a_signal_handlers_pipe_is_a_stop_request() {
    let mut bench = Bench::new();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGUSR1, writer).expect("registered");
    bench.control = Control::new().expect("pipes").0.with_source(reader.into(), StopReason::Terminated).expect("a source");
    let ready = bench.path("ready");
    let asker = thread::spawn(move || {
        until("the ready file", || ready.exists());
        kill(Pid::this(), Signal::SIGUSR1).expect("signalled");
    });
    let ready = bench.text("ready");
    let ended = bench.run(&["--touch", &ready, "--sleep", "60000"]);
    asker.join().expect("no panic");
    assert_eq!(ended.end, ActionEnd::Stopped { reason: StopReason::Terminated, stage: StopStage::Sigterm });
}
