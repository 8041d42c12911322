//! Which file of a change is source, and which belongs to its tests. Pure.

use std::collections::BTreeSet;

use proctor_model::{TreePath, has_word};
use proctor_tools::is_lock_file;
use proctor_tree::ignore::{IgnoreVerdict, Matcher, RuleSource};
use serde::Serialize;

use crate::touched::is_code;

/// What a changed file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileRole {
    /// A file with tests.
    Test,
    /// A file that tests use: `conftest.py`, a factory, a fixture, data below a directory of tests.
    #[serde(rename = "test support")]
    TestSupport,
    /// A file that a tool recorded, such as a snapshot.
    Recorded,
    /// A lock file, or settings of the project and its tools. Both sides have that of the change.
    Settings,
    /// A text for people, which no test can notice.
    Text,
    Source,
}

/// Directories in which everything belongs to tests.
const TEST_DIRECTORIES: &[&str] = &["tests", "__tests__", "__mocks__", "__fixtures__", "testdata", "test_data", "cypress"];
/// Directories that belong to tests where a file with tests lies in or below them: products have them too.
const PERHAPS_TEST_DIRECTORIES: &[&str] =
    &["test", "testing", "testutil", "fixtures", "mocks", "integration", "spec", "specs", "e2e"];
/// Directories of products, in which `a.config.ts` may be source.
const PRODUCT_DIRECTORIES: &[&str] = &["src", "app", "lib"];
const SETTINGS: &str = "\
    pyproject.toml setup.cfg setup.py noxfile.py package.json Cargo.toml go.mod proctor.toml Makefile justfile Dockerfile \
    tsconfig.json rust-toolchain.toml rust-toolchain";
const TEXTS: &[&str] = &[".md", ".rst", ".adoc"];

/// What is known of the project beside the path of a file.
pub struct PathsOfSides<'a> {
    /// The paths of all files of both sides.
    pub all: &'a BTreeSet<&'a str>,
    /// Its patterns mean the files that `[prove] tests` names.
    pub named: &'a Matcher,
    /// The files in which tools found tests in earlier runs.
    pub collected: &'a BTreeSet<String>,
}

impl PathsOfSides<'_> {
    /// Returns what a changed file is, by its path from the project's root.
    pub fn role_of(&self, path: &str) -> FileRole {
        let name = name_of(path);
        if is_recorded(path) {
            return FileRole::Recorded;
        }
        let is_named = self.is_named(path);
        if is_test_file(path) || self.collected.contains(path) || (is_named && is_code(path)) {
            return FileRole::Test;
        }
        if is_named || name == "conftest.py" || self.is_below_tests(path) {
            return FileRole::TestSupport;
        }
        let is_lock = TreePath::try_from(path).is_ok_and(|path| is_lock_file(&path));
        let is_of_dots = path.split('/').any(|part| part.starts_with('.') && part.len() > 1);
        let is_of_tool = name.starts_with("requirements") && name.ends_with(".txt")
            || name.contains(".config.")
            || name.starts_with("tsconfig.")
            || (path == name && name.ends_with(".ini"));
        if is_lock || is_of_dots || is_of_tool || has_word(SETTINGS, name) {
            return FileRole::Settings;
        }
        let is_text = TEXTS.iter().any(|ending| name.ends_with(ending))
            || ["LICENSE", "CHANGELOG", "AUTHORS", "PKG-INFO"].contains(&name)
            || path.starts_with("docs/")
            || path.split('/').any(|part| part.ends_with(".egg-info"));
        if is_text { FileRole::Text } else { FileRole::Source }
    }

    /// Returns whether a file could be source and could belong to tests, so that people should know what it was taken for.
    pub fn is_doubtful(&self, path: &str) -> bool {
        let is_below = |names: &[&str]| directories_of(path).any(|(_, name)| names.contains(&name));
        let is_sure = is_test_file(path) || self.is_named(path);
        // A file in which a tool found tests, and that by its name may be source, may have both.
        !is_sure
            && (self.collected.contains(path)
                || is_below(PERHAPS_TEST_DIRECTORIES)
                || (name_of(path).contains(".config.") && is_below(PRODUCT_DIRECTORIES)))
    }

    /// Returns whether `[prove] tests` names a file.
    fn is_named(&self, path: &str) -> bool {
        TreePath::try_from(path).is_ok_and(|path| {
            let found = self.named.decide(&path, false);
            found.verdict == IgnoreVerdict::Out && found.rule.is_some_and(|rule| rule.source == RuleSource::Ignore)
        })
    }

    fn is_below_tests(&self, path: &str) -> bool {
        directories_of(path).any(|(directory, name)| {
            let has_tests = || {
                let below = format!("{directory}/");
                self.all.range(below.as_str()..).take_while(|other| other.starts_with(&below)).any(|other| is_test_file(other))
            };
            TEST_DIRECTORIES.contains(&name) || (PERHAPS_TEST_DIRECTORIES.contains(&name) && has_tests())
        })
    }
}

/// Returns the directories above a path, each with its name.
fn directories_of(path: &str) -> impl Iterator<Item = (&str, &str)> {
    path.match_indices('/').map(|(end, _)| (&path[..end], name_of(&path[..end])))
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns whether a file has tests, by its name.
fn is_test_file(path: &str) -> bool {
    let name = name_of(path);
    let (stem, ending) = name.split_once('.').unwrap_or((name, ""));
    match ending {
        "py" => stem.starts_with("test_") || stem.ends_with("_test") || stem == "tests",
        "go" => stem.ends_with("_test"),
        "rs" => stem == "tests" || path.split('/').any(|part| part == "tests") || stem.ends_with("_tests"),
        _ => {
            let is_script = [".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"].iter().any(|end| name.ends_with(end));
            let is_named = name.contains(".test.") || name.contains(".spec.") || stem == "test" || stem.starts_with("test-");
            is_script && (is_named || path.split('/').any(|part| part == "__tests__" || part == "tests" || part == "test"))
        }
    }
}

/// Returns whether a tool recorded a file: a snapshot or an approved output. Code is none, wherever it lies.
fn is_recorded(path: &str) -> bool {
    let name = name_of(path);
    let is_below = |names: &[&str]| directories_of(path).any(|(_, name)| names.contains(&name));
    let is_recorded = [".snap", ".ambr", ".snap.new"].iter().any(|ending| name.ends_with(ending))
        || is_below(&["__snapshots__", "__image_snapshots__"])
        // A product may have `snapshots` of its own.
        || (is_below(&["snapshots"]) && is_below(TEST_DIRECTORIES))
        || name.contains(".approved.");
    is_recorded && !is_code(path)
}

#[cfg(test)]
mod tests {
    use proctor_tree::ignore::MatcherSettings;

    use super::*;

    #[test]
    fn files_are_told_apart_by_their_paths_and_by_what_lies_beside_them() {
        let all = BTreeSet::from([
            "lib/test/client.py",
            "app/test/test_a.py",
            "app/test/data.json",
            "tests/test_a.py",
            "shop/testing/fakes.py",
            "web/fixtures/a.test.ts",
        ]);
        let named = Matcher::new(&MatcherSettings { ignore: vec!["/checks/**".to_owned()], ..MatcherSettings::default() });
        let collected = BTreeSet::from(["shop/check_vat.py".to_owned()]);
        let known = PathsOfSides { all: &all, named: &named.expect("a pattern"), collected: &collected };
        for (path, expected) in [
            ("shop/vat.py", FileRole::Source),
            ("tests/test_vat.py", FileRole::Test),
            ("shop/test_vat.py", FileRole::Test),
            ("shop/tests.py", FileRole::Test),
            ("tests/factories.py", FileRole::TestSupport),
            ("tests/data/a.bin", FileRole::TestSupport),
            ("shop/conftest.py", FileRole::TestSupport),
            ("tests/__snapshots__/test_a.ambr", FileRole::Recorded),
            ("src/a.test.tsx", FileRole::Test),
            ("src/a.ts", FileRole::Source),
            ("test/a.mjs", FileRole::Test),
            ("pkg/a_test.go", FileRole::Test),
            ("pkg/testdata/a.golden", FileRole::TestSupport),
            ("tests/cli.rs", FileRole::Test),
            ("src/lib.rs", FileRole::Source),
            ("uv.lock", FileRole::Settings),
            ("web/package.json", FileRole::Settings),
            (".github/workflows/ci.yml", FileRole::Settings),
            ("a.config.ts", FileRole::Settings),
            ("tox.ini", FileRole::Settings),
            ("shop/rates.ini", FileRole::Source),
            ("README.md", FileRole::Text),
            ("docs/conf.py", FileRole::Text),
            ("shop/rates.json", FileRole::Source),
            ("lib/test/client.py", FileRole::Source),
            ("app/test/data.json", FileRole::TestSupport),
            ("shop/testing/fakes.py", FileRole::Source),
            ("web/fixtures/b.json", FileRole::TestSupport),
            ("src/spec/rule_changes.rs", FileRole::Source),
            ("src/snapshots/store.py", FileRole::Source),
            ("src/snapshots/rates.json", FileRole::Source),
            ("tests/snapshots/test_a/out.txt", FileRole::Recorded),
            ("checks/vat.py", FileRole::Test),
            ("checks/rates.json", FileRole::TestSupport),
            ("shop/checks/vat.py", FileRole::Source),
            ("shop/check_vat.py", FileRole::Test),
        ] {
            assert_eq!(known.role_of(path), expected, "{path}");
        }
        assert!(known.is_doubtful("src/spec/rule_changes.rs") && known.is_doubtful("src/app.config.ts"));
        assert!(!known.is_doubtful("web/vite.config.ts"));
        assert!(known.is_doubtful("lib/test/client.py") && known.is_doubtful("app/test/data.json"));
        assert!(known.is_doubtful("shop/check_vat.py") && !known.is_doubtful("checks/vat.py"));
        assert!(!known.is_doubtful("tests/test_a.py") && !known.is_doubtful("shop/vat.py"));
    }
}
