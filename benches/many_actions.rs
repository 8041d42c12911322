//! Measures a task of 1,000 actions: `proctor plan`, and `proctor run` with 1,000 times `true`, each isolated and with its own evidence:
//! `cargo bench --bench many_actions`. Fails above 100 ms for the plan or 4 ms for an action.
//!
//! After each run `true` is started 1,000 times without proctor, to see how fast the machine is at that moment. On a virtual machine the host
//! may take processor time away (steal, `proc_stat(5)`). A run that lost more than a little of it says nothing about proctor and is repeated;
//! if too few runs remain, the benchmark fails.
//!
//! `PROCTOR_BENCH_ROUNDS` is the number of rounds.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench starts, measures and prints")]

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const ACTIONS: usize = 1000;
const ROUNDS: usize = 3;
const MOST_FOR_THE_PLAN: Duration = Duration::from_millis(100);
const MOST_FOR_AN_ACTION: Duration = Duration::from_millis(4);
/// The most processor time that the host may take away during a run that counts, in per cent.
const MOST_STOLEN: u32 = 3;
/// How many rounds may be tried for each round that has to count.
const TRIES: usize = 10;

/// The measurements of one round: how long the run took (`run`), and how long 1,000 plain starts of `true` took after
/// the run (`bare`).
struct Round {
    bare: Duration,
    run: Duration,
    /// The time that the host took away during the run, summed over all processors.
    stolen: Duration,
    processors: u32,
}

fn main() -> ExitCode {
    let rounds = std::env::var("PROCTOR_BENCH_ROUNDS").map_or(ROUNDS, |text| text.parse().expect("a number of rounds"));
    // The files must be on a disk. So their directory is beside the build: the usual temporary directory may be in
    // memory, where files are faster.
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made");
    let (project, home) = (root.path().join("project"), root.path().join("home"));
    for directory in [&project, &home] {
        fs::create_dir_all(directory).expect("the directory is ours");
    }
    let specification = serde_json::to_string_pretty(&specification(&project)).expect("it is JSON");
    fs::write(project.join("test-specification.json"), specification).expect("the directory is ours");
    // This first run registers the project and fills caches. It does not count.
    time(&project, &home, &["run", "--task", "T001"]);
    let plan = median((0..rounds).map(|_| time(&project, &home, &["plan", "--task", "T001", "--json"])));
    let mut disturbed = 0;
    let mut counted = Vec::with_capacity(rounds);
    for _ in 0..rounds * TRIES {
        let round = measure(&project, &home);
        if is_own(&round) {
            counted.push(round);
        } else {
            disturbed += 1;
        }
        if counted.len() == rounds {
            break;
        }
    }
    if counted.len() < rounds {
        println!(
            "others took more than {MOST_STOLEN} % of the processors' time in {disturbed} of {} runs: measure again",
            rounds * TRIES
        );
        return ExitCode::FAILURE;
    }
    let of_one = |time: Duration| time / u32::try_from(ACTIONS).expect("it is 1000");
    let bare = of_one(median(counted.iter().map(|round| round.bare)));
    let each = of_one(median(counted.iter().map(|round| round.run)));
    println!(
        "{ACTIONS} actions, medians of {rounds}: plan {} ms; {} µs for an action, {} µs for starting its program by itself; \
         {disturbed} further runs did not count",
        plan.as_millis(),
        each.as_micros(),
        bare.as_micros()
    );
    if plan <= MOST_FOR_THE_PLAN && each <= MOST_FOR_AN_ACTION { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure(project: &Path, home: &Path) -> Round {
    let bare = time_plain_starts();
    let (before, processors) = stolen_so_far();
    let run = time(project, home, &["run", "--task", "T001"]);
    Round { bare, run, stolen: stolen_so_far().0.saturating_sub(before), processors }
}

fn is_own(round: &Round) -> bool {
    round.stolen * 100 <= round.run * round.processors * MOST_STOLEN
}

/// Returns the processor time that the host has taken away since the machine was started, which is 0 on a physical machine; and the number of
/// processors.
fn stolen_so_far() -> (Duration, u32) {
    // The fields are user, nice, system, idle, iowait, irq, softirq and steal, in hundredths of a second (`USER_HZ`).
    let statistics = fs::read_to_string("/proc/stat").expect("/proc is mounted");
    let of_all =
        statistics.lines().next().and_then(|line| line.strip_prefix("cpu ")).expect("its first line is that of all processors");
    let stolen = of_all.split_ascii_whitespace().nth(7).and_then(|ticks| ticks.parse().ok()).unwrap_or(0);
    let processors = statistics.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
    (Duration::from_millis(10 * stolen), u32::try_from(processors).expect("there are not so many"))
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times[times.len() / 2]
}

/// Starts the actions' program without proctor, as often as the actions do, one after the other.
fn time_plain_starts() -> Duration {
    let start = Instant::now();
    for _ in 0..ACTIONS {
        let status = Command::new("/bin/true").env_clear().status().expect("it can be started");
        assert!(status.success(), "{status}");
    }
    start.elapsed()
}

/// Runs one command and returns how long it took. The command must succeed.
fn time(project: &Path, home: &Path, arguments: &[&str]) -> Duration {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proctor"));
    command.args(arguments).current_dir(project).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home);
    let start = Instant::now();
    let output = command.output().expect("proctor can be started");
    let time = start.elapsed();
    assert!(output.status.success(), "{}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    time
}

fn specification(project: &Path) -> Value {
    let numbers = || 1..=ACTIONS;
    let step = |number: usize| {
        json!({
            "actionId": format!("STEP.{number}"), "type": "TERMINAL_COMMAND", "description": "one of a thousand",
            "parameters": { "command": "/bin/true", "workingDirectory": project }, "timeout": 60_000,
        })
    };
    let order: Vec<String> = numbers().map(|number| format!("STEP.{number}")).collect();
    json!({
        "schemaVersion": "2.0.0",
        "metadata": { "projectName": "parts", "sprintId": "SPRINT_1", "generatedAt": "2026-02-11T08:00:00.000Z", "generatedBy": "bench" },
        "globalConfiguration": { "workspaceRoot": project, "evidenceDirectory": "evidence" },
        "executionEngine": { "availableActionTypes": ["TERMINAL_COMMAND"] },
        "tasks": { "T001": {
            "taskId": "T001", "title": "Every part is right", "description": "Starts one program a thousand times, each time by itself.",
            "testExecution": { "steps": numbers().map(step).collect::<Vec<Value>>() },
            "validationCriteria": { "successConditions": [
                { "condition": format!("STEP.{ACTIONS}.exitCode === 0"), "description": "the last one ran" },
            ] },
            "completionCriteria": { "allStepsMustPass": true },
            "executionWorkflow": { "executionOrder": order },
        } },
    })
}
