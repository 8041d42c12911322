//! Divides the tests of Jest and Vitest among several processes, by their own option `--shard`.

use crate::node_tests::prepare::{JEST_CONFIGURATIONS, VITEST_CONFIGURATIONS};
use crate::shards::{DividedCheck, SHARDING_DEFAULTS, ShardObstacle, Sharding};

const OPTION: Option<&str> = Some("--shard={shard}");

pub(crate) const SHARDING_OF_JEST: Sharding = Sharding {
    option: OPTION,
    obstacle: |check| threshold(check, JEST_CONFIGURATIONS, "coverageThreshold", "collectCoverage"),
    ..SHARDING_DEFAULTS
};

pub(crate) const SHARDING_OF_VITEST: Sharding = Sharding {
    option: OPTION,
    obstacle: |check| threshold(check, VITEST_CONFIGURATIONS, "thresholds", "enabled: true"),
    ..SHARDING_DEFAULTS
};

/// Returns the obstacle of a coverage threshold that is in force. `threshold` is its key, `switch` what measures coverage without an
/// option.
fn threshold(check: &DividedCheck<'_>, files: &[&str], threshold: &str, switch: &str) -> Option<ShardObstacle> {
    let texts: String =
        files.iter().chain(&["package.json", "vite.config.ts", "vite.config.js"]).map(|name| check.text(name)).collect();
    let is_option = |word: &&str| word.starts_with("--coverage") && word.to_lowercase().contains("threshold");
    if let Some(option) = check.words().find(is_option) {
        return Some(ShardObstacle::threshold(&format!("`{}`", option.split('=').next().unwrap_or(option))));
    }
    let scripts = || texts.split_whitespace().any(|word| word.contains("--coverage"));
    let is_measured = || check.words().any(|word| word.starts_with("--coverage")) || scripts() || texts.contains(switch);
    (texts.contains(threshold) && is_measured()).then(|| ShardObstacle::threshold(&format!("`{threshold}`")))
}
