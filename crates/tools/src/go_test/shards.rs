//! Divides the packages of `go test` among several processes. Go builds the tests of every package, and calls a script of proctor
//! (`shard.sh`) with each program: it lists the package, and runs the program only if the package is of its part.

use crate::shards::{DividedCheck, ShardObstacle, ShardPreparation, ShardTask, Sharding};

const SCRIPT: (&str, &str) = ("proctor-shard.sh", include_str!("shard.sh"));
const PLAN: &str = "proctor-shard.plan";

pub(crate) const SHARDING: Sharding = Sharding { obstacle, prepare, list: "collected.list" };

fn obstacle(check: &DividedCheck<'_>) -> Option<ShardObstacle> {
    let option = check.option(&["-exec", "--exec"])?;
    let message = format!("`{option}` names a program that runs the tests, and each shard needs proctor's in its place");
    Some(ShardObstacle::because(message, &format!("`{option}`")))
}

fn prepare(task: &ShardTask<'_>, preparation: &mut ShardPreparation) {
    // Go calls the script in the directory of each package, so a relative path is looked for from there upwards.
    let here = task.output_directory.to_string_lossy();
    let look = format!(
        "here=\"{here}\"; d=.; while [ ! -e \"$here/{name}\" ] && [ ${{#d}} -lt 99 ]; do d=$d/..; here=\"$d/{here}\"; done",
        name = SCRIPT.0
    );
    let runner = format!("-exec=/bin/sh -c '{look}; . \"$here/{}\"' sh", SCRIPT.0);
    let words = preparation.argv.iter().skip(task.arguments_from);
    let at = words.clone().position(|word| word == "test").map_or(preparation.argv.len(), |at| task.arguments_from + at + 1);
    // A result that Go has kept from another time would be one of a package that no script was called for.
    let anew = (!words.clone().any(|word| word.starts_with("-count"))).then(|| "-count=1".to_owned());
    preparation.argv.splice(at..at, anew.into_iter().chain([runner]));
    preparation.files.push((SCRIPT.0, SCRIPT.1.to_owned()));
    preparation.files.push((PLAN, task.plan(|test| test.split(' ').next().unwrap_or(test))));
}
