//! Divides the tests of cargo-nextest among several processes, by its own option `--partition`.

use crate::cargo_test::is_nextest;
use crate::shards::{DividedCheck, SHARDING_DEFAULTS, ShardObstacle, Sharding};

pub(crate) const SHARDING: Sharding =
    Sharding { option: Some("--partition=count:{shard}"), obstacle, counts_others: true, ..SHARDING_DEFAULTS };

/// `cargo test` has no option for it.
fn obstacle(check: &DividedCheck<'_>) -> Option<ShardObstacle> {
    let is_it = is_nextest(&check.located.arguments);
    (!is_it).then(|| ShardObstacle {
        message: "`cargo test` cannot run one part of the tests".to_owned(),
        hint: "use `cargo nextest run`, or remove `shards`".to_owned(),
    })
}
