//! Measures how long a save is unanswered by the defaults, in a project with checks of 3, 2 and 2 s: `cargo bench --bench saves`. The tools
//! are stand-ins that sleep, found by the files of pytest, tsc and eslint: once with what `proctor init` writes, once without a file.
//!
//! A save is answered when `proctor watch` prints the verdict, or that no check is triggered. `PROCTOR_BENCH_ROUNDS` is the number of rounds.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench starts, measures and prints")]

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 3;

/// A saved file, and the longest time until the answer.
const SAVES: [(&str, Duration); 3] = [
    ("README.md", Duration::from_millis(100)),
    ("shop/cart.py", Duration::from_millis(3200)),
    ("web/table.ts", Duration::from_millis(2300)),
];

const PYTEST: &str = "case \"$*\" in *--junitxml=*) sleep 3;; *) exit 0;; esac
for word; do case $word in --junitxml=*) echo \"<testsuites><testsuite name='s' tests='1'>\
<testcase classname='c' name='n'/></testsuite></testsuites>\" > \"${word#--junitxml=}\"; echo '1 passed in 3.00s';; esac; done
";
const ESLINT: &str = "sleep 2\necho '[{\"filePath\":\"/a.ts\",\"messages\":[],\"errorCount\":0,\"warningCount\":0}]'\n";

fn main() -> ExitCode {
    let rounds = std::env::var("PROCTOR_BENCH_ROUNDS").map_or(ROUNDS, |text| text.parse().expect("a number of rounds"));
    let mut exit = ExitCode::SUCCESS;
    for with_init in [true, false] {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made");
        let (project, home) = (root.path().join("project"), root.path().join("home"));
        fs::create_dir_all(&home).expect("the directory is ours");
        make_project(&project);
        if with_init {
            assert!(proctor(&project, &home, "init").status().expect("proctor can be started").success());
        }
        let mut watch = Watch::start(&project, &home);
        watch.wait_for_answer();
        for (path, bound) in SAVES {
            let mut times: Vec<Duration> = (0..rounds).map(|round| watch.time_save(&project.join(path), round)).collect();
            times.sort();
            let median = times[times.len() / 2];
            let whose = if with_init { "what `init` writes" } else { "no file" };
            println!("{whose}: {path} is answered in {} ms (at most {})", median.as_millis(), bound.as_millis());
            if median > bound {
                exit = ExitCode::FAILURE;
            }
        }
    }
    exit
}

fn proctor(project: &Path, home: &Path, command: &str) -> Command {
    let mut proctor = Command::new(env!("CARGO_BIN_EXE_proctor"));
    proctor.arg(command).current_dir(project).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home);
    proctor
}

fn make_project(project: &Path) {
    let write = |path: &str, text: &str, mode| {
        let path = project.join(path);
        fs::create_dir_all(path.parent().expect("it lies in the project")).expect("the directory is ours");
        fs::write(&path, text).expect("the directory is ours");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("the file is ours");
    };
    for (path, text) in [
        ("pytest.ini", "[pytest]\n"),
        ("tsconfig.json", "{}"),
        ("eslint.config.js", ""),
        ("package.json", "{}"),
        (".gitignore", "node_modules/\n.venv/\n"),
    ] {
        write(path, text, 0o644);
    }
    SAVES.iter().for_each(|(path, _)| write(path, "", 0o644));
    for (path, text) in
        [(".venv/bin/python", PYTEST), ("node_modules/.bin/tsc", "sleep 2\n"), ("node_modules/.bin/eslint", ESLINT)]
    {
        write(path, &format!("#!/bin/sh\n{text}"), 0o755);
    }
}

/// A running `proctor watch`. It is killed when this value is dropped.
struct Watch {
    process: Child,
    lines: BufReader<ChildStdout>,
}

impl Watch {
    fn start(project: &Path, home: &Path) -> Self {
        let mut command = proctor(project, home, "watch");
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("proctor can be started");
        let lines = BufReader::new(process.stdout.take().expect("it was asked for"));
        Self { process, lines }
    }

    fn time_save(&mut self, path: &Path, round: usize) -> Duration {
        let begun = Instant::now();
        fs::write(path, format!("// round {round}\n")).expect("the file is ours");
        self.wait_for_answer();
        begun.elapsed()
    }

    /// Waits for a verdict, or for the line that a save triggers no check.
    fn wait_for_answer(&mut self) {
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).expect("it is text");
            assert!(read > 0, "`proctor watch` has ended");
            assert!(!line.starts_with("FAILED"), "{line}");
            if line.starts_with("PASSED") || line.contains("no check is triggered") {
                return;
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}
