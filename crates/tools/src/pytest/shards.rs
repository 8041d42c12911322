//! Divides the tests of pytest among several processes. pytest cannot do that itself, so each process loads a plugin of proctor
//! (`shard.py`), which keeps one part of the collected tests. Nothing else in the run that is judged is proctor's.

use std::collections::BTreeMap;

use crate::prepare::insert_options;
use crate::shards::{DividedCheck, ShardObstacle, ShardPreparation, ShardTask, Sharding};

/// The name of the plugin's module, and its text.
const MODULE: &str = "proctor_shard";
const PLUGIN: (&str, &str) = ("proctor_shard.py", include_str!("shard.py"));

/// The file that tells the plugin which part to keep.
const PLAN: &str = "proctor-shard.json";

/// The file that the plugin writes.
const LIST: &str = "collected.json";

/// The files in which options of pytest and the settings of coverage.py may stand.
const SETTINGS: &[&str] =
    &["pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", ".coveragerc"];

/// Options that choose tests by what the last run kept in pytest's cache, which has only one part after a run with shards.
const BY_LAST_RUN: &[&str] = &["--lf", "--last-failed", "--sw", "--stepwise", "--nf", "--new-first", "--ff", "--failed-first"];

pub(crate) const SHARDING: Sharding = Sharding { obstacle, prepare, list: LIST };

fn obstacle(check: &DividedCheck<'_>) -> Option<ShardObstacle> {
    let texts: String = SETTINGS.iter().map(|name| check.text(name) + "\n").collect();
    let has_word = |start: &str| check.words().any(|word| word.starts_with(start)) || texts.contains(start);
    if has_word("--cov-fail-under") {
        return Some(ShardObstacle::threshold("`--cov-fail-under`"));
    }
    if has_word("--cov") && texts.contains("fail_under") {
        return Some(ShardObstacle::threshold("`fail_under` in the settings of coverage.py"));
    }
    if let Some(option) = check.interpreter_options().find(|word| ["-I", "-E"].contains(word)) {
        let message = format!("`{option}` makes Python ignore PYTHONPATH, by which each shard gets proctor's plugin");
        return Some(ShardObstacle { message, hint: format!("remove `{option}` or `shards`") });
    }
    let option = check.words().find(|word| BY_LAST_RUN.contains(word))?;
    let message = format!("`{option}` chooses by the last run, and each shard knows only its own part of it");
    Some(ShardObstacle { message, hint: format!("remove `{option}` or `shards`") })
}

fn prepare(task: &ShardTask<'_>, preparation: &mut ShardPreparation) {
    let directory = task.output_directory.to_string_lossy();
    insert_options(&mut preparation.argv, task.arguments_from, ["-p".to_owned(), MODULE.to_owned()]);
    let before = task.action.environment.get("PYTHONPATH").filter(|path| !path.is_empty());
    let path = before.map_or_else(|| directory.to_string(), |before| format!("{directory}:{before}"));
    preparation.environment.push(("PYTHONPATH".to_owned(), path));
    let times: BTreeMap<&str, u64> = task.times.iter().map(|(test, time)| (test.as_str(), *time)).collect();
    let plan = serde_json::json!({ "number": task.shard.number, "of": task.shard.of, "times": times });
    preparation.files.push((PLUGIN.0, PLUGIN.1.to_owned()));
    preparation.files.push((PLAN, plan.to_string()));
}
