//! Divides the test files of Jest and Vitest among several processes. Each process loads a file of proctor (`shard.cjs`), which sees all test
//! files, keeps one part of them and lists both. `--shard` of the tools themselves would hide from everybody which files there are.

use crate::node_tests::prepare::{JEST_CONFIGURATIONS, VITEST_CONFIGURATIONS, reporters};
use crate::prepare::{insert_options, option_value};
use crate::shards::{DividedCheck, ShardObstacle, ShardPreparation, ShardTask, Sharding};
use proctor_model::Tool;

/// The name of the file that the tools load, and its text.
const PLUGIN: (&str, &str) = ("proctor-shard.cjs", include_str!("shard.cjs"));

/// The file that tells it which part to keep.
const PLAN: &str = "proctor-shard.json";

/// The files in which settings of the two may stand, besides their own.
const SETTINGS: &[&str] = &["package.json", "vite.config.ts", "vite.config.js", "vite.config.mts", "vite.config.mjs"];

/// The keys of thresholds that only the suite as a whole can reach.
const THRESHOLDS: &[&str] = &["coverageThreshold", "thresholds"];

/// What in the settings says that each run measures coverage.
const MEASURED: &[&str] = &["collectCoverage", "enabled: true"];

/// The key of a class of the project that orders test files, in whose place proctor's would stand.
const SEQUENCER: &str = "testSequencer";

pub(crate) const SHARDING: Sharding = Sharding { obstacle, prepare, list: "collected.json" };

fn obstacle(check: &DividedCheck<'_>) -> Option<ShardObstacle> {
    let arguments = &check.located.arguments;
    let own = option_value(arguments, &["--config", "-c"]);
    let names = [JEST_CONFIGURATIONS, VITEST_CONFIGURATIONS, SETTINGS].into_iter().flatten().copied().chain(own);
    let texts: String = names.map(|name| check.text(name) + "\n").collect();
    let has = |key: &&&str| check.words().any(|word| word.contains(**key)) || texts.contains(**key);
    let is_measured = check.words().any(|word| word.starts_with("--coverage")) || MEASURED.iter().any(|key| texts.contains(key));
    if let Some(key) = THRESHOLDS.iter().find(|key| is_measured && has(key)) {
        return Some(ShardObstacle::threshold(&format!("`{key}`")));
    }
    if check.action.tool == Tool::Jest && has(&&SEQUENCER) {
        let message = format!("`{SEQUENCER}` orders the test files, and proctor divides them in its place");
        return Some(ShardObstacle::because(message, &format!("`{SEQUENCER}`")));
    }
    if let Some(option) = check.option(&["--shard", "--onlyFailures", "-f"]) {
        let message = format!("`{option}` leaves out tests by itself, so nobody could say that all were run");
        return Some(ShardObstacle::because(message, &format!("`{option}`")));
    }
    None
}

fn prepare(task: &ShardTask<'_>, preparation: &mut ShardPreparation) {
    let file = task.path(PLUGIN.0);
    let arguments = task.action.command.argv.get(task.arguments_from..).unwrap_or_default();
    let options = match task.action.tool == Tool::Vitest {
        // Naming a reporter disables the default one.
        true if reporters(arguments).is_empty() => vec!["--reporter=default".to_owned(), format!("--reporter={file}")],
        true => vec![format!("--reporter={file}")],
        false => vec![format!("--testSequencer={file}")],
    };
    insert_options(&mut preparation.argv, task.arguments_from, options);
    let times = task.times_of(|test| test.split(['›', '>']).next().unwrap_or(test).trim_end());
    let plan = serde_json::json!({ "number": task.shard.number, "of": task.shard.of, "times": times });
    preparation.files.push((PLUGIN.0, PLUGIN.1.to_owned()));
    preparation.files.push((PLAN, plan.to_string()));
}
