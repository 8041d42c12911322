//! The output of commands is kept byte for byte, whatever its size and contents, and proctor's memory stays bounded.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use proctor_model::Digest;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::common::{Project, WRITES_TO_SHARED, fake_tool, poll, proctor};

const LOG: &str = "STEP.1-terminal-output.log";
const FRAMES: &str = "STEP.1-terminal-output.frames";
/// The most memory that proctor may need, however much its children print.
const MOST_MEMORY_KIB: u64 = 32 * 1024;
const FLOOD_BYTES: u64 = 2 << 30;
/// How much a command prints outside of the long tier: eight times the memory that proctor may need.
const SMALL_FLOOD_BYTES: u64 = 256 << 20;
const BOUND: Duration = Duration::from_secs(30);
/// The bound of a flooding run: writing and syncing the output takes as long as the disk needs.
const FLOOD_BOUND: Duration = Duration::from_secs(110);

#[test]
fn more_output_than_memory_is_kept_exactly_in_thirty_two_mebibytes() {
    is_kept_exactly(SMALL_FLOOD_BYTES);
}

#[test]
#[ignore = "long tier"]
fn two_gibibytes_of_output_are_kept_exactly_in_thirty_two_mebibytes_of_memory() {
    is_kept_exactly(FLOOD_BYTES);
}

/// Lets a command print `bytes` bytes, and compares the kept log with them.
#[track_caller]
fn is_kept_exactly(bytes: u64) {
    let project = Project::new();
    let (started, go) = (project.shared("started"), project.shared("go"));
    let flood = bytes.to_string();
    let words = ["--touch", text_of(&started), "--wait-for", text_of(&go), "--stdout-bytes", &flood];
    let project = project.toml(&check_of(&words));
    let mut run = project.proctor(["run"]).watch();
    poll(BOUND, "the check to begin", || started.exists().then_some(()));
    let launcher = only_child_of(run.id());
    let peaks = [run.id(), launcher].map(watch_peak_memory);
    fs::write(&go, "").expect("the root is ours");
    run.wait_for_line("the verdict", FLOOD_BOUND, |line| line.starts_with("PASSED"));
    let output = run.ended();
    assert_eq!(output.status, 0, "{}", output.snapshot());
    for (who, peak) in ["the program", "its launcher"].into_iter().zip(peaks) {
        let peak = peak.join().expect("watching does not panic");
        assert!((1..=MOST_MEMORY_KIB).contains(&peak), "{who} needed {peak} KiB");
    }

    let report = output.report();
    let directory = output.run_directory();
    let digest = assert_pattern(&directory.join(LOG), bytes);
    let file = file_of(&report, LOG);
    assert_eq!((file["bytes"].as_u64(), file["sha256"].as_str()), (Some(bytes), Some(&*digest)));
    let manifest = fs::read_to_string(directory.join("SHA256SUMS")).expect("the manifest can be read");
    assert!(manifest.contains(&format!("{digest}  {LOG}\n")), "{manifest}");
    let shown = &outcome(&report)["stdoutShown"];
    assert_eq!(shown["totalBytes"], bytes);
    assert_eq!(ranges(shown), [(0, 4096), (bytes - 4096, bytes)]);
}

#[test]
#[ignore = "long tier"]
fn no_output_of_a_tool_costs_more_than_thirty_two_mebibytes_to_interpret() {
    let undecodable = b"\xff\xfe";
    let (type_error, lint_error) = (b"src/a.ts(1,2): error TS2345: x\n", b"/a.js\n  1:1  error  x  no-x\n");
    flood("pytest", undecodable);
    flood("eslint", undecodable);
    flood("eslint", b"a");
    for (tool, unit) in [("tsc", type_error.as_slice()), ("eslint", lint_error)] {
        let errors = flood(tool, unit)["summary"]["errors"].as_u64().expect("a summary counts errors");
        // Only the first 4 MiB and the end of the output are interpreted.
        let least = 4 * 1024 * 1024 / unit.len() as u64;
        assert!((least..least * 11 / 10).contains(&errors), "{tool}: {errors} errors, at least {least} were printed");
    }
}

/// Lets a tool print `unit` again and again, checks that proctor's memory stays within the bound, and returns the
/// report.
fn flood(tool: &str, unit: &[u8]) -> Value {
    let project = Project::new();
    let (begun, go) = (project.shared("begun"), project.shared("go"));
    let printed = hexadecimal(unit);
    let words = ["--touch", text_of(&begun), "--wait-for", text_of(&go), "--repeated-bytes", "20000000", &printed, "--exit", "1"];
    let project = project.toml(&check_of(&words).replace("name = \"check\"", &format!("name = \"check\"\ntool = \"{tool}\"")));
    let mut run = project.proctor(["run"]).watch();
    poll(BOUND, "the check to begin", || begun.exists().then_some(()));
    let peak = watch_peak_memory(run.id());
    fs::write(&go, "").expect("the root is ours");
    run.wait_for_line("the verdict", FLOOD_BOUND, |line| line.starts_with("FAILED"));
    let report = run.ended().report();
    let peak = peak.join().expect("watching does not panic");
    assert!((1..=MOST_MEMORY_KIB).contains(&peak), "{tool} printed {printed}, and the program needed {peak} KiB");
    outcome(&report).clone()
}

#[test]
fn whatever_bytes_a_command_prints_are_in_the_log_and_the_frames_tell_the_streams_apart() {
    let project = Project::new();
    let (long_line, progress) = (project.shared("long-line"), project.shared("progress"));
    let line: Vec<u8> = (b'a'..=b'z').cycle().take(10_000_000).chain(*b"\n").collect();
    let bar: String = (0..=1000)
        .map(|per_mille| format!("\r{:>5.1} % {}", f64::from(per_mille) / 10.0, "#".repeat(per_mille as usize / 20)))
        .collect();
    fs::write(&long_line, &line).unwrap();
    fs::write(&progress, &bar).unwrap();
    let every_byte: Vec<u8> = (0..=255).collect();
    let invalid = b"\xff\xfe\xc3(\xed\xa0\x80\xf0\x9f\x92";
    let words = [
        ("--stderr", "first on stderr\n"),
        ("--raw-bytes", &hexadecimal(&every_byte)),
        ("--stderr", "größe ✓, no newline"),
        ("--raw-bytes", &hexadecimal(invalid)),
        ("--raw-bytes", &hexadecimal(&[0; 300])),
        ("--cat", text_of(&long_line)),
        ("--stderr", "\u{1b}[31mred\u{1b}[0m\r\n"),
        ("--cat", text_of(&progress)),
        ("--stderr", "last"),
    ];
    let words: Vec<&str> = words.iter().flat_map(|(option, value)| [*option, *value]).collect();
    let project = project.toml(&check_of(&words));
    let output = project.proctor(["run"]).success();
    let expected_stdout = [every_byte.as_slice(), invalid, &[0; 300], &line, bar.as_bytes()].concat();
    let expected_stderr = "first on stderr\ngröße ✓, no newline\u{1b}[31mred\u{1b}[0m\r\nlast".as_bytes();

    let directory = output.run_directory();
    let log = fs::read(directory.join(LOG)).unwrap();
    let [stdout, stderr] = reassemble(&log, &fs::read_to_string(directory.join(FRAMES)).unwrap());
    assert!(stdout == expected_stdout, "standard output differs: {} bytes for {}", stdout.len(), expected_stdout.len());
    assert!(stderr == expected_stderr, "standard error differs: {:?}", String::from_utf8_lossy(&stderr));
    assert_eq!(log.len(), expected_stdout.len() + expected_stderr.len());

    let report = output.report();
    for file in report["evidenceFiles"].as_array().unwrap() {
        let bytes = fs::read(directory.join(file["name"].as_str().unwrap())).unwrap();
        assert_eq!(
            (file["bytes"].as_u64(), file["sha256"].as_str()),
            (Some(bytes.len() as u64), Some(&*Digest::of(&bytes).hex()))
        );
    }
    let copied = project.shared("copied");
    let script = format!("{} show --log STEP.1 >{}", text_of(proctor()), text_of(&copied));
    project.command(Path::new("/bin/sh"), ["-c", &script]).success();
    assert!(fs::read(copied).unwrap() == log, "`show --log` prints the log as it is");
}

#[test]
fn c74_the_report_shows_both_ends_of_a_stream_and_says_which_bytes_they_are() {
    let project = Project::new();
    let lines: String = (0..20_000).map(|number| format!("line {number:05}\n")).collect();
    let printed = project.shared("printed");
    fs::write(&printed, &lines).unwrap();
    let project = project.toml(&check_of(&["--cat", text_of(&printed), "--stderr", "a word\n"]));
    let report = project.proctor(["run"]).success().report();
    let outcome = outcome(&report);
    let total = lines.len();
    assert_eq!(outcome["stdoutShown"]["totalBytes"], total);
    let shown = ranges(&outcome["stdoutShown"]);
    assert_eq!(shown, [(0, 4096), (total as u64 - 4096, total as u64)]);
    let left_out = total - 2 * 4096;
    let text = format!("{}\n[{left_out} bytes are only in the log]\n{}", &lines[..4096], &lines[total - 4096..]);
    assert_eq!(outcome["stdout"], text.replace("\n\n[", "\n["));
    assert_eq!((&outcome["stderr"], ranges(&outcome["stderrShown"])), (&Value::from("a word\n"), vec![(0, 7)]));
}

/// Returns the configuration of a project whose only check runs `fake-tool` with `arguments`.
fn check_of(arguments: &[&str]) -> String {
    let command: Vec<&str> = [text_of(fake_tool())].into_iter().chain(arguments.iter().copied()).collect();
    let words = serde_json::to_string(&command).expect("words are JSON");
    format!("{WRITES_TO_SHARED}[[check]]\nname = \"check\"\ncommand = {words}\n")
}

fn text_of(path: &Path) -> &str {
    path.to_str().expect("the paths of tests are text")
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn outcome(report: &Value) -> &Value {
    &report["stepExecution"]["results"][0]["result"]
}

fn file_of<'report>(report: &'report Value, name: &str) -> &'report Value {
    let files = report["evidenceFiles"].as_array().expect("a report lists its files");
    files.iter().find(|file| file["name"] == name).unwrap_or_else(|| panic!("{name} is not among {files:?}"))
}

fn ranges(shown: &Value) -> Vec<(u64, u64)> {
    let ranges = shown["ranges"].as_array().expect("it says which bytes are shown");
    let number = |range: &Value, key: &str| range[key].as_u64().expect("a position");
    ranges.iter().map(|range| (number(range, "from"), number(range, "to"))).collect()
}

/// Splits the log into standard output and standard error by its frames. The frames must cover the log without gap or
/// overlap.
#[track_caller]
fn reassemble(log: &[u8], frames: &str) -> [Vec<u8>; 2] {
    let mut streams = [Vec::new(), Vec::new()];
    let mut end = 0;
    for line in frames.lines() {
        let frame: Value = serde_json::from_str(line).expect("a frame is a line of JSON");
        let number = |key: &str| usize::try_from(frame[key].as_u64().expect("a number")).expect("it fits");
        assert_eq!(number("offset"), end, "{line}");
        end += number("length");
        let stream = if frame["stream"] == "stdout" { &mut streams[0] } else { &mut streams[1] };
        stream.extend_from_slice(&log[number("offset")..end]);
    }
    assert_eq!(end, log.len(), "the frames cover the log");
    streams
}

/// Compares the whole log of `fake-tool --stdout-bytes BYTES` with the printed bytes, where byte `n` is `n % 251`.
/// Returns the digest of the printed bytes.
#[track_caller]
fn assert_pattern(path: &Path, bytes: u64) -> String {
    let pattern: Vec<u8> = (0..=250).cycle().take(251 * 4096).collect();
    let mut file = File::open(path).expect("the log is there");
    let mut hasher = Sha256::new();
    let mut piece = vec![0; pattern.len()];
    for start in (0..bytes).step_by(pattern.len()) {
        let length = pattern.len().min(usize::try_from(bytes - start).expect("it fits"));
        file.read_exact(&mut piece[..length]).expect("the log is that long");
        assert!(piece[..length] == pattern[..length], "a piece is missing or doubled after byte {start}");
        hasher.update(&pattern[..length]);
    }
    assert_eq!(file.read(&mut piece).expect("it can be read"), 0, "nothing follows");
    Digest::from_hasher(hasher).hex()
}

/// Returns the only child of a process. The launcher has no trace of the project in its arguments or environment, so it
/// is found by its parent.
#[track_caller]
fn only_child_of(parent: i32) -> i32 {
    let parent = format!("PPid:\t{parent}");
    let entries = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |id: &i32| status_of(*id).lines().any(|line| line == parent);
    let children: Vec<i32> = ids.filter(is_child).collect();
    assert_eq!(children.len(), 1, "the launcher is the program's only child");
    children[0]
}

/// Reads a process's peak memory in KiB again and again until it has ended; the kernel keeps the highest value itself.
fn watch_peak_memory(id: i32) -> JoinHandle<u64> {
    thread::spawn(move || {
        let mut last = 0;
        loop {
            let status = status_of(id);
            let field = |name: &str| -> Option<u64> {
                status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
            };
            let Some(peak) = field("VmHWM:") else { return last };
            // A debug build is many times as large as a release build, so the pages that are mapped from the program's
            // own file are not counted for it.
            let own_file = if cfg!(debug_assertions) { field("RssFile:").unwrap_or(0) } else { 0 };
            last = peak.saturating_sub(own_file);
            thread::sleep(Duration::from_millis(2));
        }
    })
}

fn status_of(id: i32) -> String {
    fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default()
}
