//! Measures how fast large output is captured, hashed and stored: `cargo bench --bench capture`.
//!
//! A tool prints 2 GiB into proctor's capture, into a reference that only reads, writes and hashes on a second thread, and into
//! `tee f | sha256sum`. They take turns, so that other load on the machine affects all three. The files are beside the build, and nothing is
//! synced. `PROCTOR_BENCH_ROUNDS` is the number of rounds, `PROCTOR_BENCH_BYTES` the amount of output. `PROCTOR_BENCH_SHAPIPE` names one
//! more program to measure, which is called as `PROGRAM thread+write --pipe BYTES --buf BYTES --out FILE -- COMMAND…`.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench starts, measures and prints")]

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, fcntl};
use proctor_model::{ActionEnd, ActionLimits, Digest, StopStage};
use proctor_sandbox::process::{ALL_REASONS, Control, Isolation, LaunchRequest, LaunchedChild, LauncherHandle, Sinks, supervise};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

const FAKE_TOOL: &str = env!("CARGO_BIN_EXE_fake-tool");
const ROUNDS: usize = 5;
const BYTES: u64 = 2 << 30;
/// The sizes of the pipe and of one read, in bytes. The program that `PROCTOR_BENCH_SHAPIPE` names is fastest with
/// these sizes.
const PIPE_BYTES: usize = 1024 * 1024;
const BUFFER_BYTES: usize = 64 * 1024;
const BUFFERS: usize = 16;

/// A way of capturing: its name, and the ratio to its speed that proctor must reach.
struct Contender {
    name: &'static str,
    wanted: Option<f64>,
    seconds: Vec<f64>,
}

/// The directory, the launcher and the amount of output of all measurements.
struct Bench {
    root: TempDir,
    launcher: LauncherHandle,
    bytes: u64,
    shapipe: Option<PathBuf>,
}

fn main() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let rounds = number("PROCTOR_BENCH_ROUNDS").unwrap_or(ROUNDS as u64);
    let mut bench = Bench::new(number("PROCTOR_BENCH_BYTES").unwrap_or(BYTES));
    let contender = |name, wanted| Contender { name, wanted, seconds: Vec::new() };
    let mut contenders =
        vec![contender("proctor", None), contender("thread+write, here", Some(0.8)), contender("tee f | sha256sum", Some(3.0))];
    contenders.extend(bench.shapipe.is_some().then(|| contender("shapipe thread+write", Some(0.8))));
    let mut peak = 0;
    for _ in 0..rounds {
        for contender in &mut contenders {
            let seconds = match contender.name {
                "proctor" => {
                    let own = Peak::begin();
                    let seconds = bench.captured();
                    peak = peak.max(own.kib());
                    seconds
                }
                "thread+write, here" => bench.referred(),
                "tee f | sha256sum" => bench.teed(),
                _ => bench.shapiped(),
            };
            contender.seconds.push(seconds);
        }
    }
    bench.print(&contenders, rounds, peak);
}

impl Bench {
    fn new(bytes: u64) -> Self {
        Self {
            // The files must be on a disk. So their directory is beside the build: the usual temporary directory may be
            // in memory, where files are faster.
            root: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made"),
            launcher: LauncherHandle::start(Path::new(FAKE_TOOL)).expect("a launcher"),
            bytes,
            shapipe: std::env::var_os("PROCTOR_BENCH_SHAPIPE").map(PathBuf::from),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn producer(&self) -> Vec<String> {
        vec![FAKE_TOOL.to_owned(), "--stdout-bytes".to_owned(), self.bytes.to_string()]
    }

    /// Measures work that writes a log. Removing the log is not measured.
    fn timed(&mut self, work: impl FnOnce(&mut Self, &Path)) -> f64 {
        let log = self.path("log");
        let begun = Instant::now();
        work(self, &log);
        let seconds = begun.elapsed().as_secs_f64();
        assert_eq!(fs::metadata(&log).expect("the log is there").len(), self.bytes);
        fs::remove_file(&log).expect("the directory is ours");
        seconds
    }

    fn captured(&mut self) -> f64 {
        let frames = self.path("frames");
        let argv = self.producer().into_iter().map(Into::into).collect();
        let directory = self.root.path().to_owned();
        let request = LaunchRequest {
            child: LaunchedChild {
                program: FAKE_TOOL.into(),
                argv,
                another_follows: false,
                early: None,
                environment: Vec::new(),
                directory,
                isolation: Isolation::strongest(),
            },
            network: None,
            input: None,
        };
        let limits = ActionLimits {
            timeout: Duration::from_secs(600),
            idle: None,
            output: Some(self.bytes),
            grace: Duration::from_secs(1),
            ladder: vec![StopStage::Sigterm],
        };
        let (control, _handle) = Control::new().expect("pipes");
        let seconds = self.timed(|bench, log| {
            let sinks = Sinks { log: created(log), frames: created(&frames), masked: Vec::new() };
            let ended = supervise(&mut bench.launcher, &request, &limits, sinks, &control, ALL_REASONS).expect("supervised");
            assert_eq!((ended.end, ended.captured.log_bytes), (ActionEnd::Exited { code: 0 }, bench.bytes));
        });
        fs::remove_file(frames).expect("the directory is ours");
        seconds
    }

    fn referred(&mut self) -> f64 {
        let argv = self.producer();
        self.timed(|bench, log| {
            let (reader, writer) = io::pipe().expect("a pipe");
            let _refused = fcntl(&reader, FcntlArg::F_SETPIPE_SZ(i32::try_from(PIPE_BYTES).expect("small")));
            let mut child = Command::new(&argv[0]).args(&argv[1..]).stdout(writer).spawn().expect("the tool starts");
            let (bytes, _digest) = thread_and_write(reader, created(log));
            assert_eq!(bytes, bench.bytes);
            assert!(child.wait().expect("it can be waited for").success());
        })
    }

    fn teed(&mut self) -> f64 {
        let script = "\"$1\" --stdout-bytes \"$2\" | tee \"$3\" | sha256sum >/dev/null";
        self.timed(|bench, log| {
            let mut shell = Command::new("sh");
            works(shell.args(["-c", script, "sh", FAKE_TOOL, &bench.bytes.to_string()]).arg(log));
        })
    }

    fn shapiped(&mut self) -> f64 {
        let program = self.shapipe.clone().expect("it is measured where it is named");
        let argv = self.producer();
        self.timed(|_, log| {
            let mut command = Command::new(program);
            command.args(["thread+write", "--pipe", &PIPE_BYTES.to_string(), "--buf", &BUFFER_BYTES.to_string(), "--out"]);
            works(command.arg(log).arg("--").args(argv).stdout(Stdio::null()));
        })
    }

    fn print(&self, contenders: &[Contender], rounds: u64, peak: u64) {
        println!("{rounds} rounds of {} bytes, MB/s", self.bytes);
        println!("{:<22} {:>8} {:>8} {:>8} {:>10} {:>8}", "", "median", "lowest", "highest", "proctor is", "wanted");
        let speeds = |contender: &Contender| {
            let mut speeds: Vec<f64> = contender.seconds.iter().map(|seconds| self.bytes as f64 / 1e6 / seconds).collect();
            speeds.sort_by(f64::total_cmp);
            speeds
        };
        let median = |speeds: &[f64]| speeds[speeds.len() / 2];
        let own = median(&speeds(&contenders[0]));
        for contender in contenders {
            let speeds = speeds(contender);
            let wanted = contender.wanted.map(|wanted| format!("{wanted:.1} x")).unwrap_or_default();
            let (middle, lowest, highest) = (median(&speeds), speeds[0], speeds[speeds.len() - 1]);
            let ratio = own / middle;
            println!("{:<22} {middle:>8.0} {lowest:>8.0} {highest:>8.0} {ratio:>8.2} x {wanted:>8}", contender.name);
        }
        println!("peak memory of this process while proctor captured: {:.1} MiB", peak as f64 / 1024.0);
    }
}

/// Reads, writes, and hashes on a second thread: the least work that any capture has to do.
fn thread_and_write(mut reader: io::PipeReader, mut log: File) -> (u64, Digest) {
    let (full, to_hash) = sync_channel::<Vec<u8>>(BUFFERS);
    let (hashed, empty) = channel();
    let hashing = thread::spawn(move || {
        let mut hasher = Sha256::new();
        for buffer in to_hash {
            hasher.update(&buffer);
            let _unwanted = hashed.send(buffer);
        }
        Digest::from_hasher(hasher)
    });
    let mut bytes = 0;
    loop {
        let mut buffer = empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(BUFFER_BYTES));
        buffer.resize(BUFFER_BYTES, 0);
        let count = reader.read(&mut buffer).expect("the pipe can be read");
        if count == 0 {
            break;
        }
        buffer.truncate(count);
        bytes += count as u64;
        log.write_all(&buffer).expect("the disk has room");
        full.send(buffer).expect("the thread hashes");
    }
    drop(full);
    (bytes, hashing.join().expect("hashing does not panic"))
}

/// Measures the peak memory of this process from a certain moment on, by the kernel's own record.
struct Peak;

impl Peak {
    /// Resets the kernel's record. If the kernel does not allow that, the peak since the start of the process counts.
    fn begin() -> Self {
        let _refused = fs::write("/proc/self/clear_refs", "5");
        Self
    }

    fn kib(&self) -> u64 {
        let status = fs::read_to_string("/proc/self/status").expect("/proc is mounted");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel tells it");
        line.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number of KiB")
    }
}

fn created(path: &Path) -> File {
    File::create_new(path).expect("the directory is ours")
}

fn works(command: &mut Command) {
    let status = command.status().expect("the command can be started");
    assert!(status.success(), "{command:?} ended with {status}");
}
