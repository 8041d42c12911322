//! What `proctor run` adds to the command it runs, evidence, report and sealing included: `cargo bench --bench overhead`.
//!
//! The bare command and the run under proctor take turns, so that whatever else the machine does falls on both; medians are compared.
//! `PROCTOR_BENCH_ROUNDS` says how often, `PROCTOR_BENCH_PYTHON` which interpreter (one that can import pytest). Without it, the one
//! the tests installed is used, or one is installed beside the build.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench starts, measures and prints")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const ROUNDS: usize = 40;
/// The first runs fill caches, hash the interpreter and register the project: they are not what a save costs.
const WARM_UP: usize = 3;
const PYTEST: &str = "pytest==9.2.0";

/// A command, bare and as the only check of a project.
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
    let cases = [(Case::new("true", vec!["true".to_owned()]), None), (Case::new("pytest", pytest()), Some(with_report))];
    println!("{rounds} rounds, medians in milliseconds");
    println!(
        "{:<8} {:>10} {:>14} {:>10} {:>10} {:>22}",
        "check", "bare", "under proctor", "added", "p90", "of it pytest's report"
    );
    for (case, asked_for_a_report) in cases {
        case.report(rounds, asked_for_a_report.as_deref());
    }
}

impl Case {
    fn new(name: &'static str, argv: Vec<String>) -> Self {
        // Beside the build, not in the temporary directory, which may be in memory.
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made");
        let words: Vec<String> = argv.iter().map(|word| format!("{word:?}")).collect();
        let settings = format!("[[check]]\nname = {name:?}\ncommand = [{}]\n", words.join(", "));
        for (file, text) in [
            ("project/proctor.toml", settings.as_str()),
            ("project/test_sum.py", "def test_sum():\n    assert 1 + 1 == 2\n"),
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
        let (mut bare, mut under, mut added, mut for_the_report) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds + WARM_UP {
            let alone = self.time(&self.argv);
            let watched = self.time(&proctor);
            let reporting = asked_for_a_report.map(|argv| self.time(argv));
            if round >= WARM_UP {
                bare.push(alone);
                under.push(watched);
                added.push(watched - alone);
                for_the_report.extend(reporting.map(|reporting| reporting - alone));
            }
        }
        let report = if for_the_report.is_empty() { "-".to_owned() } else { format!("{:.2}", at(&mut for_the_report, 50)) };
        println!(
            "{:<8} {:>10.2} {:>14.2} {:>10.2} {:>10.2} {report:>22}",
            self.name,
            at(&mut bare, 50),
            at(&mut under, 50),
            at(&mut added, 50),
            at(&mut added, 90),
        );
    }

    /// Returns how many milliseconds a command takes in the project, from its start to its end.
    fn time(&self, argv: &[String]) -> f64 {
        let path = std::env::var_os("PATH").expect("programs are found by it");
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).env_clear().env("PATH", path).env("HOME", self.root.path().join("home"));
        command.current_dir(self.root.path().join("project")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let begun = Instant::now();
        let status = command.status().expect("the command can be started");
        let took: Duration = begun.elapsed();
        assert!(status.success(), "{argv:?} ended with {status}");
        took.as_secs_f64() * 1e3
    }
}

/// Returns the value below which so many per cent lie.
fn at(values: &mut [f64], per_cent: usize) -> f64 {
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
