//! Divides the tests of Playwright among several processes, by its own `--shard`. The reporter of proctor asks Playwright for the list of
//! all tests in another process, because Playwright tells a reporter only those of the part.

use crate::prepare::{insert_options, option_value};
use crate::shards::{DividedCheck, ShardObstacle, ShardPreparation, ShardTask, Sharding};

/// The variable that makes the reporter write the list.
const VARIABLE: &str = "PROCTOR_SHARD_LIST";

const LIST: &str = "collected.json";

const CONFIGURATIONS: &[&str] =
    &["playwright.config.ts", "playwright.config.js", "playwright.config.mts", "playwright.config.mjs", "playwright.config.cjs"];

pub(crate) const SHARDING: Sharding = Sharding { obstacle, prepare, list: LIST };

fn obstacle(check: &DividedCheck<'_>) -> Option<ShardObstacle> {
    let named = option_value(&check.located.arguments, &["--config", "-c"]);
    if CONFIGURATIONS.iter().copied().chain(named).any(|name| check.text(name).contains("dependencies")) {
        let message =
            "tests on which others depend (`dependencies`) run in each shard, so they would count more than once".to_owned();
        return Some(ShardObstacle::because(message, "`dependencies` of the projects"));
    }
    let option = check.option(&["--shard", "--last-failed"])?;
    let message = format!("`{option}` leaves out tests by itself, so nobody could say that all were run");
    Some(ShardObstacle::because(message, &format!("`{option}`")))
}

fn prepare(task: &ShardTask<'_>, preparation: &mut ShardPreparation) {
    let part = format!("--shard={}/{}", task.shard.number, task.shard.of);
    insert_options(&mut preparation.argv, task.arguments_from, [part]);
    preparation.environment.push((VARIABLE.to_owned(), task.path(LIST)));
}
