//! Decides how a check that runs in a snapshot sees a file or directory that does not belong to the tree. The name
//! decides. Pure functions.

use std::fmt;

use IgnoredClass::{Cache, Environment, Input, Output};

use crate::ignore::always::find_always_out;
use proctor_model::NameRule::{self, Begins, Ends, Is};
use proctor_model::{TreePath, words};

/// How a check in a snapshot sees an ignored file or directory, that is, one that does not belong to the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IgnoredClass {
    /// Installed programs and packages. A check sees the project's real files. What the check writes there is dropped
    /// after it ends.
    Environment,
    /// A tool's cache, which is kept between runs. Each check has its own cache, which no other check sees, also not a later one of
    /// the same run: otherwise a check could poison another one's cache, and results would depend on which checks run. A cache that
    /// `writes` of the check names is a product instead, which later checks see.
    Cache,
    /// Outputs of builds and runs, such as bytecode and reports. A check does not see them, so a project with old
    /// outputs is judged like a fresh clone.
    Output,
    /// Any other ignored file, such as `.env`. A check sees a copy. The copied files have a digest of their own, apart
    /// from the tree's.
    Input,
}

/// The file in the top directory of every virtual environment of Python. An ignored directory with such a file is an environment,
/// whatever its name is.
pub const VIRTUAL_ENVIRONMENT: &str = "pyvenv.cfg";

/// Names of files and directories that a project's own rules usually ignore. Names that never belong to a tree have
/// their class in [`crate::ignore::ALWAYS_OUT`].
const ROWS: &[(NameRule, IgnoredClass)] = &[
    (Is("venv"), Environment),
    (Is(".pnp.cjs"), Environment),
    (Is(".pnpm-store"), Environment),
    (Is(".yarn"), Environment),
    (Is("__pypackages__"), Environment),
    (Is(".bundle"), Environment),
    (Is(".prettiercache"), Cache),
    (Is(".swc"), Cache),
    // By these, Nx and Wireit show the output of an earlier run.
    (Is(".nx"), Cache),
    (Is(".wireit"), Cache),
    (Is(".next"), Cache),
    (Is(".nuxt"), Cache),
    (Is(".svelte-kit"), Cache),
    (Is(".gradle"), Cache),
    (Is("target"), Cache),
    (Begins(".testmondata"), Cache),
    (Is(".stestr"), Cache),
    (Is(".testrepository"), Cache),
    (Is(".noseids"), Cache),
    (Is("dist"), Output),
    (Is("build"), Output),
    (Is("coverage"), Output),
    (Is("htmlcov"), Output),
    (Is("test-results"), Output),
    (Is("playwright-report"), Output),
    (Is("coverage.xml"), Output),
    (Is("coverage.json"), Output),
    (Is("lcov.info"), Output),
    (Ends(".log"), Output),
];

/// The names of outputs that people and later steps use, unlike reports and bytecode. Checks see such an output if a
/// prerequisite makes it.
const PRODUCTS: &[&[u8]] = &[b"dist", b"build"];

/// Returns whether a file or directory of this name is the product of a build: `dist` or `build`.
pub(super) fn is_product(name: &[u8]) -> bool {
    PRODUCTS.contains(&name)
}

/// Returns the class of an ignored file or directory with this name.
pub fn class_of(name: &[u8]) -> IgnoredClass {
    let row = ROWS.iter().find(|(rule, _)| rule.matches(name)).map(|(_, class)| *class);
    row.or_else(|| find_always_out(name).map(|always| always.class)).unwrap_or(Input)
}

/// Returns whether checks may see an ignored entry with this name as an ignored input, whatever its kind is. Outputs that a plan
/// names one by one do not count here.
pub fn may_be_input(name: &[u8]) -> bool {
    match class_of(name) {
        // A link or a file with the name of an environment is an input.
        Input | Environment => true,
        Output => is_product(name),
        Cache => false,
    }
}

/// Returns whether a path leads to a tool's by-product, such as a cache or bytecode, which people need not see. This is
/// so if one name in the path is the name of a cache or a name that never belongs to a tree.
pub fn is_by_product(path: &TreePath) -> bool {
    path.as_bytes().split(|byte| *byte == b'/').any(|name| find_always_out(name).is_some() || class_of(name) == Cache)
}

words! {
    /// Returns the word for the class in documents for programs.
    pub fn IgnoredClass::word: Environment "environment", Cache "cache", Output "output", Input "input"
}

impl fmt::Display for IgnoredClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Environment => "an environment: checks see it as it is, what they write there is dropped, and the digest of the environment covers the files that \
                 decide what its programs do",
            Self::Cache => "a tool's cache: each check has its own, which no other check sees, also not in the same run",
            Self::Output => "an output: checks do not see it, unless a prerequisite of the plan makes it",
            Self::Input => "an ignored input: checks see a copy, which has a digest of its own (`tree.snapshot.inputs` in the report)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_classed_by_its_name() {
        let classes = [
            (".venv", Environment),
            ("node_modules", Environment),
            ("__pycache__", Output),
            ("a.cpython-311.pyc", Output),
            (".mypy_cache", Cache),
            ("tsconfig.tsbuildinfo", Cache),
            (".testmondata-wal", Cache),
            ("dist", Output),
            (".coverage.host.1", Output),
            ("app.log", Output),
            (".env", Input),
            ("_version.py", Input),
            ("fast.cpython-311-x86_64-linux-gnu.so", Input),
            ("distance", Input),
            (".log", Input),
        ];
        for (name, expected) in classes {
            assert_eq!(class_of(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn caches_and_bytecode_are_by_products_and_reports_are_not() {
        let is_by_product = |path: &str| is_by_product(&TreePath::try_from(path).expect("a clean path"));
        assert!(
            [".mypy_cache/3.11/m.json", "src/__pycache__/a.pyc", "target/debug/x", ".git/config"].into_iter().all(is_by_product)
        );
        assert!(!["coverage.xml", "app.db", "dist/a.js", "src/targets/a.py"].into_iter().any(is_by_product));
    }

    #[test]
    fn every_product_is_an_output() {
        assert!(PRODUCTS.iter().all(|name| class_of(name) == Output));
    }

    #[test]
    fn no_name_has_a_row_in_both_tables() {
        for (rule, _) in ROWS {
            let sample = rule.glob().replace('*', "x");
            assert_eq!(find_always_out(sample.as_bytes()), None, "{sample}");
        }
    }
}
