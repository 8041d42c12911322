//! Tests which output of a command is kept: its bytes, and which stream each piece came from.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::thread;

use proctor_model::{ActionEnd, Digest, StreamExcerpt};
use proctor_sandbox::process::{ALL_REASONS, CaptureError, Sinks, SuperviseError, supervise};

use super::{Bench, FAKE_TOOL, assert_nobody, supervised_from_shell, until};

#[test]
fn odd_bytes_and_a_ten_megabyte_line_are_kept_byte_for_byte() {
    let mut bench = Bench::new();
    let ended = bench.run(&["--raw-bytes", "00ff80c3280a00", "--stdout-bytes", "10000000", "--exit", "0"]);
    let log = bench.log();
    let mut expected = vec![0x00, 0xff, 0x80, 0xc3, 0x28, 0x0a, 0x00];
    expected.extend((0..=250_u8).cycle().take(10_000_000));
    assert!(log == expected, "{} bytes", log.len());
    assert_eq!((ended.captured.log_bytes, ended.captured.log_digest), (log.len() as u64, Digest::of(&log)));
    let frames = fs::read(bench.path("1.frames")).expect("frames");
    assert_eq!((ended.captured.frames_bytes, ended.captured.frames_digest), (frames.len() as u64, Digest::of(&frames)));
    assert_eq!(ended.captured.stdout.total, log.len() as u64);
    assert!(!ended.captured.stdout.is_complete());
    assert_eq!(ended.captured.stdout.head, log[..StreamExcerpt::HEAD_CAP]);
    assert_eq!(ended.captured.stdout.tail, log[log.len() - StreamExcerpt::TAIL_CAP..]);
}

#[test]
fn two_gibibytes_of_output_fit_into_32_mebibytes_of_supervisor() {
    let line = supervised_from_shell("", &[FAKE_TOOL, "--stdout-bytes", "2147483648", "--exit", "0"]);
    assert_eq!(line["end"], "Exited { code: 0 }");
    assert_eq!(line["logBytes"], 2_147_483_648_u64);
    let peak = line["peakKib"].as_u64().expect("a number");
    assert!(peak < 32 * 1024, "{peak} KiB");
}

#[test]
fn a_log_that_cannot_be_written_is_our_fault_and_the_command_is_killed() {
    let mut bench = Bench::new();
    let pid_file = bench.text("pid");
    let request =
        bench.request(Path::new(FAKE_TOOL), &["--ignore-term", "--pid-file", &pid_file, "--stdout", "x", "--sleep", "60000"]);
    let open = |path: &str| File::options().write(true).open(path).expect("a device");
    let sinks = Sinks { log: open("/dev/full"), frames: open("/dev/null"), masked: Vec::new() };
    let outcome = supervise(&mut bench.launcher, &request, &bench.limits, sinks, &bench.control, ALL_REASONS);
    assert!(matches!(outcome, Err(SuperviseError::Capture(CaptureError::Log(_)))), "{outcome:?}");
    assert_nobody(&pid_file);
    assert_eq!(bench.run(&["--exit", "0"]).end, ActionEnd::Exited { code: 0 });
}

#[test]
fn c72_frames_say_which_bytes_came_from_which_stream() {
    let mut bench = Bench::new();
    let (log, first, second) = (bench.path("1.log"), bench.path("first"), bench.path("second"));
    // Each piece is printed only after the one before it has arrived. Otherwise pieces of both streams could be read at once, in any order.
    let pacer = thread::spawn(move || {
        for (length, signpost) in [(3, first), (7, second)] {
            until("the log's growth", || fs::metadata(&log).is_ok_and(|log| log.len() >= length));
            File::create_new(signpost).expect("created");
        }
    });
    let (first, second) = (bench.text("first"), bench.text("second"));
    let tool = ["--stdout", "one", "--wait-for", &first, "--stderr", "two!", "--wait-for", &second, "--stdout", "three"];
    bench.run(&tool);
    pacer.join().expect("no panic");
    let mut text = String::new();
    File::open(bench.path("1.frames")).and_then(|mut file| file.read_to_string(&mut text)).expect("frames");
    let frames: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
    let seen: Vec<(u64, u64, &str)> = frames
        .iter()
        .map(|frame| {
            let number = |key: &str| frame[key].as_u64().expect("a number");
            (number("offset"), number("length"), frame["stream"].as_str().expect("a name"))
        })
        .collect();
    assert_eq!(seen, [(0, 3, "stdout"), (3, 4, "stderr"), (7, 5, "stdout")]);
}
