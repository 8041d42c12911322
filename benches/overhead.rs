//! Measures the time that `proctor run` adds to a command, with evidence, report and sealing: `cargo bench --bench overhead`.
//!
//! The bare command and the run under proctor take turns, so that other load on the machine affects both. `PROCTOR_BENCH_ROUNDS` is the
//! number of rounds. `PROCTOR_BENCH_PYTHON` names an interpreter that can import pytest; without it, the interpreter that the tests have
//! installed is used, or one is installed beside the build.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench starts, measures and prints")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike as _};
use tempfile::TempDir;

const ROUNDS: usize = 40;
/// How many runs are not counted. They fill caches, hash the interpreter and register the project, which later runs need not do.
const WARM_UP: usize = 3;
const TEST: &str = "def test_sum():\n    assert 1 + 1 == 2\n";
const PYTEST: &str = "pytest==9.2.0";

/// A command that is measured bare and as the only check of a project.
struct Case {
    name: &'static str,
    argv: Vec<String>,
    root: TempDir,
}

fn main() {
    let rounds = std::env::var("PROCTOR_BENCH_ROUNDS").map_or(ROUNDS, |text| text.parse().expect("a number of rounds"));
    let python = python().display().to_string();
    let pytest = || [python.as_str(), "-m", "pytest", "-q"].map(str::to_owned).to_vec();
    let with_report: Vec<String> = pytest().into_iter().chain(["--junitxml=/dev/null".to_owned()]).collect();
    let cases = [
        (Case::new("true", vec!["true".to_owned()]), None),
        // `sleep 0.2` takes about as long as the pytest case, but always the same time. So this case shows most exactly
        // how much time proctor adds.
        (Case::new("sleep", ["sleep", "0.2"].map(str::to_owned).to_vec()), None),
        (Case::new("pytest", pytest()), Some(with_report)),
    ];
    println!("{rounds} rounds, milliseconds; the lowest tenth is nearest to what a machine that does nothing else would show");
    println!("{:<8} {:<15} {:>8} {:>8} {:>8}", "check", "", "median", "lowest", "CPU");
    for (case, asked_for_a_report) in cases {
        case.report(rounds, asked_for_a_report.as_deref());
    }
}

/// The times of one command, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Took {
    wall: f64,
    cpu: f64,
}

impl Case {
    fn new(name: &'static str, argv: Vec<String>) -> Self {
        // The files must be on a disk. So their directory is beside the build: the usual temporary directory may be in
        // memory, where files are faster.
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made");
        let words: Vec<String> = argv.iter().map(|word| format!("{word:?}")).collect();
        let settings = format!("[[check]]\nname = {name:?}\ncommand = [{}]\n", words.join(", "));
        for (file, text) in [
            ("project/proctor.toml", settings.as_str()),
            ("project/test_sum.py", TEST),
            // pytest would follow the project's link to the evidence, so the bare command gets a project without that link.
            ("bare/test_sum.py", TEST),
            ("home/.keep", ""),
        ] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("it lies in a directory")).expect("the directory is ours");
            fs::write(path, text).expect("the directory is ours");
        }
        Self { name, argv, root }
    }

    fn report(&self, rounds: usize, asked_for_a_report: Option<&[String]>) {
        let proctor = [env!("CARGO_BIN_EXE_proctor").to_owned(), "run".to_owned()];
        let (mut bare, mut under, mut reporting) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds + WARM_UP {
            let (alone, watched) = (self.time("bare", &self.argv), self.time("project", &proctor));
            let with_report = asked_for_a_report.map(|argv| self.time("bare", argv));
            if round >= WARM_UP {
                bare.push(alone);
                under.push(watched);
                reporting.extend(with_report);
            }
        }
        let bare = self.line("bare", &bare);
        if !reporting.is_empty() {
            self.line("with its report", &reporting);
        }
        let under = self.line("under proctor", &under);
        self.print("added", std::array::from_fn(|column| under[column] - bare[column]));
    }

    fn line(&self, what: &str, took: &[Took]) -> [f64; 3] {
        let wall = || took.iter().map(|took| took.wall).collect::<Vec<_>>();
        let cpu = took.iter().map(|took| took.cpu).collect::<Vec<_>>();
        let values = [at(wall(), 50), at(wall(), 10), at(cpu, 50)];
        self.print(what, values);
        values
    }

    fn print(&self, what: &str, [median, lowest, cpu]: [f64; 3]) {
        println!("{:<8} {what:<15} {median:>8.2} {lowest:>8.2} {cpu:>8.2}", self.name);
    }

    /// Runs a command in a directory. Returns its times, including those of the children that it waited for.
    fn time(&self, directory: &str, argv: &[String]) -> Took {
        let path = std::env::var_os("PATH").expect("programs are found by it");
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).env_clear().env("PATH", path).env("HOME", self.root.path().join("home"));
        command.current_dir(self.root.path().join(directory)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let (begun, cpu) = (Instant::now(), cpu_of_children());
        let status = command.status().expect("the command can be started");
        let took = Took { wall: begun.elapsed().as_secs_f64() * 1e3, cpu: cpu_of_children() - cpu };
        assert!(status.success(), "{argv:?} ended with {status}");
        took
    }
}

fn cpu_of_children() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel tells it");
    let millis = |time: TimeVal| time.num_microseconds() as f64 / 1e3;
    millis(usage.user_time()) + millis(usage.system_time())
}

/// Returns the percentile of some values: `per_cent` of them are below the result.
fn at(mut values: Vec<f64>, per_cent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() * per_cent / 100).min(values.len() - 1)]
}

fn python() -> PathBuf {
    if let Some(python) = std::env::var_os("PROCTOR_BENCH_PYTHON") {
        return python.into();
    }
    let beside = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let of_the_tests = beside.parent().expect("it lies in the build directory").join("test-tools/python/bin/python");
    if of_the_tests.exists() {
        return of_the_tests;
    }
    let own = beside.join("overhead-python");
    let python = own.join("bin/python");
    if !python.exists() {
        works(Command::new("python3").args(["-m", "venv"]).arg(&own));
        works(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PYTEST]));
    }
    python
}

fn works(command: &mut Command) {
    let status = command.status().expect("the command can be started");
    assert!(status.success(), "{command:?} ended with {status}: set PROCTOR_BENCH_PYTHON to an interpreter that has pytest");
}
