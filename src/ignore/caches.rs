//! Decides by the name of a cache how its tool finds out that the cache is out of date. Pure.

use serde::{Deserialize, Serialize};

use CacheKind::{Content, TimeOrder, TimeOrderOfOutputs};

use crate::ignore::class::{IgnoredClass, class_of};
use crate::model::NameRule::{self, Ends, Is};

/// How a tool finds out that its cache is out of date. This decides when proctor must drop a kept cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheKind {
    /// The tool compares contents, or it notices every time or size that differs from the recorded one.
    Content,
    /// The tool takes an input for unchanged if the input is older than the cache. The cache holds everything that the
    /// tool makes.
    TimeOrder,
    /// The tool takes an input for unchanged if the input is older than the cache, and it writes its products (the
    /// files that it builds) outside of the cache. It would not make missing products again, so such a cache is kept
    /// only if the check wrote nothing but caches.
    TimeOrderOfOutputs,
}

/// The caches whose tools compare the times of files with the time of the cache. All other caches are
/// [`CacheKind::Content`].
const BY_TIME: &[(NameRule, CacheKind)] = &[
    // `tsc -b`. The products lie in `outDir`.
    (Ends(".tsbuildinfo"), TimeOrderOfOutputs),
    // Gradle. The products lie in `build`.
    (Is(".gradle"), TimeOrderOfOutputs),
    // The build directory of cargo.
    (Is("target"), TimeOrder),
    (Is(".next"), TimeOrder),
    (Is(".nuxt"), TimeOrder),
    (Is(".svelte-kit"), TimeOrder),
];

/// A cache directly below a directory of installed packages, such as `node_modules/.cache`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheInEnvironment {
    pub name: &'static str,
    /// Whether a check sees the files that the project's own directory of this name holds. A file that the check itself
    /// writes there hides the project's file of the same name.
    pub shows_live: bool,
}

/// The caches inside of directories of installed packages.
pub const CACHES_IN_ENVIRONMENTS: &[CacheInEnvironment] = &[
    // Used by babel-loader, prettier, terser and others. Some packages download programs into this directory when they
    // are installed, so checks need the files that it has in the project.
    CacheInEnvironment { name: ".cache", shows_live: true },
    // Vite's optimised dependencies, and the results of Vitest before version 1.
    CacheInEnvironment { name: ".vite", shows_live: false },
    CacheInEnvironment { name: ".vitest", shows_live: false },
    // The build information of projects that were made with Vite's templates.
    CacheInEnvironment { name: ".tmp", shows_live: false },
];

impl CacheKind {
    /// Returns whether the tool compares times: it takes an input for unchanged if the input is older than the cache.
    pub fn compares_by_time(self) -> bool {
        match self {
            Content => false,
            TimeOrder | TimeOrderOfOutputs => true,
        }
    }
}

/// Returns the kind of the cache with this name; `None` if no cache has this name.
pub fn cache_kind(name: &[u8]) -> Option<CacheKind> {
    if class_of(name) != IgnoredClass::Cache {
        return None;
    }
    Some(BY_TIME.iter().find(|(rule, _)| rule.matches(name)).map_or(Content, |(_, kind)| *kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_has_a_kind_and_nothing_else_has_one() {
        let kinds = [
            (".mypy_cache", Some(Content)),
            (".pytest_cache", Some(Content)),
            (".ruff_cache", Some(Content)),
            (".eslintcache", Some(Content)),
            ("app.tsbuildinfo", Some(TimeOrderOfOutputs)),
            ("target", Some(TimeOrder)),
            (".next", Some(TimeOrder)),
            ("dist", None),
            ("node_modules", None),
            ("__pycache__", None),
            ("src", None),
        ];
        for (name, kind) in kinds {
            assert_eq!(cache_kind(name.as_bytes()), kind, "{name}");
        }
    }

    #[test]
    fn every_row_is_the_name_of_a_cache() {
        for (rule, kind) in BY_TIME {
            assert_eq!(cache_kind(rule.glob().replace('*', "x").as_bytes()), Some(*kind));
        }
    }
}
