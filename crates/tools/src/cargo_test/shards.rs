//! Divides the tests of cargo-nextest among several processes. nextest calls each program of tests by a runner that Cargo names for the
//! platform. A script of proctor (`shard.sh`) is that runner: it lists the tests of each program, and hides those of the other parts.
//! `--partition` of nextest itself would hide from everybody which tests there are.

use crate::cargo_test::is_nextest;
use crate::shards::{DividedCheck, ShardObstacle, ShardPreparation, ShardTask, Sharding};

const SCRIPT: (&str, &str) = ("proctor-shard.sh", include_str!("shard.sh"));
const PLAN: &str = "proctor-shard.plan";

/// The variables by which Cargo and nextest read the runner, for the platforms on which proctor runs.
const RUNNERS: &[&str] = &[
    "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
    "CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUNNER",
    "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
    "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER",
];

/// The options of nextest that choose tests by themselves.
const CHOOSE: &[&str] = &["--partition", "-E", "--filterset", "--filter-expr"];

pub(crate) const SHARDING: Sharding = Sharding { obstacle, prepare, list: "collected.list" };

fn obstacle(check: &DividedCheck<'_>) -> Option<ShardObstacle> {
    if !is_nextest(&check.located.arguments) {
        let message = "`cargo test` itself cannot divide its tests".to_owned();
        return Some(ShardObstacle { message, hint: "let the command be `cargo nextest run`, or remove `shards`".to_owned() });
    }
    if let Some(option) = check.option(CHOOSE) {
        let message = format!("`{option}` leaves out tests by itself, so nobody could say that all were run");
        return Some(ShardObstacle::because(message, &format!("`{option}`")));
    }
    let has_runner =
        check.text(".cargo/config.toml").contains("runner") || check.action.environment.keys().any(|name| is_runner(name));
    has_runner.then(|| {
        let message = "the project names a runner of its own, and each shard needs proctor's in its place".to_owned();
        ShardObstacle::because(message, "`runner` of Cargo's settings")
    })
}

fn is_runner(name: &str) -> bool {
    name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER")
}

fn prepare(task: &ShardTask<'_>, preparation: &mut ShardPreparation) {
    let script = task.path(SCRIPT.0);
    // nextest takes only the first word of a runner from its own directory, and starts it in those of the packages. By an absolute path, the
    // script is read also where the mount of its directory forbids programs.
    let runner = if task.output_directory.is_absolute() { format!("/bin/sh {script}") } else { script };
    preparation.environment.extend(RUNNERS.iter().map(|name| ((*name).to_owned(), runner.clone())));
    preparation.files.push((SCRIPT.0, SCRIPT.1.to_owned()));
    preparation.files.push((PLAN, task.plan(|test| test)));
}
