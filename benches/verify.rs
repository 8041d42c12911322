//! Measures `proctor verify --all` for many runs, compared with `sha256sum` over the same files: `cargo bench --bench verify`.
//!
//! `PROCTOR_BENCH_RUNS` is the number of runs (by default 10,000, about 1 GiB). They are sealed by the code that seals every run, and
//! `proctor verify` must not find a fault in them. The two commands take turns, with the files in the page cache.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench starts, measures and prints")]

#[path = "../tests/common/many_runs.rs"]
mod many_runs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use many_runs::seal_many_runs;
use nix::sys::resource::{UsageWho, getrusage};

const RUNS: u64 = 10_000;
const LOG_BYTES: usize = 80 * 1024;
const ROUNDS: usize = 5;

fn main() {
    let runs = std::env::var("PROCTOR_BENCH_RUNS").map_or(RUNS, |text| text.parse().expect("a number of runs"));
    // The files must be on a disk. So their directory is beside the build: the usual temporary directory may be in
    // memory, where files are faster.
    let root = tempfile::tempdir_in(PathBuf::from(env!("CARGO_TARGET_TMPDIR"))).expect("a directory can be made");
    for folder in ["project", "state", "home"] {
        fs::create_dir(root.path().join(folder)).expect("the root is empty");
    }
    fs::write(
        root.path().join("project/proctor.toml"),
        "[[check]]\nname = \"check\"\ncommand = [\"/bin/echo\", \"done\"]\n[evidence]\nlink = \"\"\n",
    )
    .expect("the root is ours");
    timed("a run", &mut proctor(root.path(), &["run"]));
    let begun = Instant::now();
    seal_many_runs(&root.path().join("state/proctor"), runs, LOG_BYTES);
    println!("{runs} runs sealed in {:.1} s", begun.elapsed().as_secs_f64());
    println!("the index learns of them in {:.2} s", timed("log", &mut proctor(root.path(), &["log"])));
    let evidence = root.path().join("state/proctor/evidence");
    let (files, bytes) = sizes(&evidence);
    println!(
        "{files} files, {:.1} MB; {} threads",
        bytes as f64 / 1e6,
        std::thread::available_parallelism().map_or(1, usize::from)
    );
    timed("verify", &mut proctor(root.path(), &["verify", "--all"]));
    let memory = getrusage(UsageWho::RUSAGE_CHILDREN).expect("it is always told").max_rss();
    println!("verify: at most {:.1} MiB of memory", memory as f64 / 1024.0);
    let one = "find . -type f -print0 | xargs -0 sha256sum";
    let all = "find . -type f -print0 | xargs -0 -P \"$(nproc)\" -n 2000 sha256sum";
    let mut taken = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        taken[0].push(timed("verify", &mut proctor(root.path(), &["verify", "--all"])));
        for (column, script) in [(1, one), (2, all)] {
            taken[column].push(timed("sha256sum", Command::new("sh").args(["-c", script]).current_dir(&evidence)));
        }
    }
    for (name, mut times) in ["proctor verify --all", "sha256sum", "sha256sum, as many as processors"].into_iter().zip(taken) {
        times.sort_by(f64::total_cmp);
        let middle = times[times.len() / 2];
        println!(
            "{name}: median {middle:.2} s ({:.2} to {:.2}), {:.0} MB/s",
            times[0],
            times[times.len() - 1],
            bytes as f64 / 1e6 / middle
        );
    }
}

fn proctor(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proctor"));
    command.args(arguments).current_dir(root.join("project")).env("XDG_STATE_HOME", root.join("state"));
    command.env("HOME", root.join("home")).env_remove("XDG_RUNTIME_DIR");
    command
}

/// Runs a command, which must succeed, and returns how many seconds it took.
fn timed(name: &str, command: &mut Command) -> f64 {
    let begun = Instant::now();
    let status = command.stdout(Stdio::null()).status().expect("it can be started");
    assert!(status.success(), "{name} ended with {status}");
    begun.elapsed().as_secs_f64()
}

/// Returns the number of files below a directory, and the sum of their sizes in bytes.
fn sizes(directory: &Path) -> (u64, u64) {
    let mut total = (0, 0);
    for entry in fs::read_dir(directory).expect("it is ours").flatten() {
        let metadata = entry.path().symlink_metadata().expect("nobody else is here");
        let (files, bytes) = match (metadata.is_dir(), metadata.is_file()) {
            (true, _) => sizes(&entry.path()),
            (_, true) => (1, metadata.len()),
            _ => (0, 0),
        };
        total = (total.0 + files, total.1 + bytes);
    }
    total
}
