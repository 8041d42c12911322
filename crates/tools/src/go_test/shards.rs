//! Divides the tests of Go among several processes, by packages. Go cannot do that itself, so each process is started by a script of
//! proctor (`shard.sh`) that lists all packages and tests its part of them.

use crate::shards::{DividedCheck, SHARDING_DEFAULTS, ShardObstacle, ShardPreparation, ShardTask, Sharding};

const SCRIPT: (&str, &str) = ("proctor-shard.sh", include_str!("shard.sh"));

/// Options that `go list` would need too, or behind which a path is no package.
const UNREADABLE: &[&str] = &["-tags", "-mod", "-modfile", "-C", "-args", "-o"];

pub(crate) const SHARDING: Sharding =
    Sharding { obstacle, prepare, list: Some("collected.json"), lists_tests: false, ..SHARDING_DEFAULTS };

fn obstacle(check: &DividedCheck<'_>) -> Option<ShardObstacle> {
    let words = &check.action.command.argv;
    let unreadable = |word: &&String| UNREADABLE.contains(&word.split('=').next().unwrap_or_default());
    if let Some(option) = words.iter().find(unreadable) {
        let message = format!("`{option}` says which packages there are, and shards find them without it");
        return Some(ShardObstacle { message, hint: "write it in the variable GOFLAGS, or remove `shards`".to_owned() });
    }
    let has_pattern = words.iter().any(|word| word == "." || word.starts_with("./"));
    let is_plain = check.located.arguments_from == 1 && words.get(1).is_some_and(|word| word == "test") && has_pattern;
    (!is_plain).then(|| ShardObstacle {
        message: "the command is not `go test` with packages such as `./...`".to_owned(),
        hint: "name the packages by paths that begin with `./`, or remove `shards`".to_owned(),
    })
}

fn prepare(task: &ShardTask<'_>, preparation: &mut ShardPreparation) {
    let script = task.output_directory.join(SCRIPT.0).to_string_lossy().into_owned();
    preparation.wrapper = vec!["/bin/sh".to_owned(), script, task.shard.number.to_string(), task.shard.of.to_string()];
    preparation.files.push((SCRIPT.0, SCRIPT.1.to_owned()));
}
