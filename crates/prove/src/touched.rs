//! Which tests a change added or changed. Pure. A test that was moved, renamed or reformatted is not touched.

use std::collections::{BTreeMap, BTreeSet};

use crate::python;

/// A test as its file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestInText {
    /// The name in its file: `TestX::test_y`, `quotes > adds`.
    pub name: String,
    /// Its words without layout, comments and its own name.
    pub text: String,
    /// Whether a tool surely runs it. A method of a class that is only inherited from is none.
    pub is_sure: bool,
}

/// The endings of files with code.
const CODE: &[&str] = &["py", "js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "rs", "go"];

/// A test that the change added or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchedTest {
    /// The path of its file.
    pub file: String,
    /// Its name in the file; empty where the file's tests are not told apart: then it stands for all of them.
    pub name: String,
    pub is_added: bool,
    pub is_sure: bool,
}

/// A changed file that can have tests, with its texts; `None` where the side has no such file.
pub struct ChangedText {
    pub path: String,
    pub old: Option<String>,
    pub new: Option<String>,
}

/// Returns whether a file has code, by its name.
pub(crate) fn is_code(path: &str) -> bool {
    path.rsplit('.').next().is_some_and(|ending| CODE.contains(&ending))
}

/// Returns whether the tests of a file are told apart.
pub(crate) fn has_named_tests(path: &str) -> bool {
    path.ends_with(".py")
}

/// Returns the tests that the change added or changed: first the files whose tests are not told apart.
pub fn touched_tests(files: &[ChangedText]) -> Vec<TouchedTest> {
    let tests = |text: &Option<String>| text.as_deref().map(python::tests_of).unwrap_or_default();
    let named = files.iter().filter(|file| has_named_tests(&file.path));
    let read: Vec<(&ChangedText, Vec<TestInText>, Vec<TestInText>)> =
        named.map(|file| (file, tests(&file.old), tests(&file.new))).collect();
    // The texts of tests that are not where they were: one of them with another name or in another file is a test that was moved.
    let mut gone: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, before, after) in &read {
        let kept: BTreeSet<&str> = after.iter().map(|test| test.name.as_str()).collect();
        for test in before.iter().filter(|test| !kept.contains(test.name.as_str())) {
            *gone.entry(&test.text).or_default() += 1;
        }
    }
    let others = files.iter().filter(|file| is_code(&file.path) && !has_named_tests(&file.path) && file.new.is_some());
    let whole = |file: &ChangedText| TouchedTest {
        file: file.path.clone(),
        name: String::new(),
        is_added: file.old.is_none(),
        is_sure: true,
    };
    let mut touched: Vec<TouchedTest> = others.map(whole).collect();
    for (file, before, after) in &read {
        for test in after {
            let known = before.iter().find(|known| known.name == test.name);
            if known.is_some_and(|known| known.text == test.text) {
                continue;
            }
            if known.is_none()
                && let Some(left) = gone.get_mut(test.text.as_str()).filter(|left| **left > 0)
            {
                *left -= 1;
                continue;
            }
            touched.push(TouchedTest {
                file: file.path.clone(),
                name: test.name.clone(),
                is_added: known.is_none(),
                is_sure: test.is_sure,
            });
        }
    }
    touched
}

/// Returns the words of `after` that `before` has not: the names that a change introduces.
pub fn introduced_words(before: &str, after: &str) -> BTreeSet<String> {
    fn words(text: &str) -> impl Iterator<Item = &str> {
        text.split(|character: char| !(character.is_alphanumeric() || character == '_')).filter(|word| word.len() > 1)
    }
    let known: BTreeSet<&str> = words(before).collect();
    words(after).filter(|word| !known.contains(word)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(path: &str, before: Option<&str>, after: Option<&str>) -> ChangedText {
        ChangedText { path: path.to_owned(), old: before.map(str::to_owned), new: after.map(str::to_owned) }
    }

    fn touched(files: &[ChangedText]) -> Vec<(String, bool)> {
        touched_tests(files).into_iter().map(|test| (format!("{}::{}", test.file, test.name), test.is_added)).collect()
    }

    #[test]
    fn added_and_changed_tests_are_touched_and_moved_renamed_or_reformatted_ones_are_not() {
        let old = "def test_a():\n    assert f(1)\n\ndef test_b():\n    assert f(2)\n";
        let files = [
            changed(
                "tests/test_x.py",
                Some(old),
                Some("def test_a():\n  assert f( 1 ) # why\n\ndef test_c():\n    assert f(3)\n"),
            ),
            changed(
                "tests/test_y.py",
                None,
                Some("class TestY:\n    def test_d(self):\n        assert g()\ndef test_moved():\n    assert f(2)\n"),
            ),
            changed("web/a.test.ts", Some("test('a', f)"), Some("test('b', f)")),
            changed("web/gone.test.ts", Some("test('a', f)"), None),
            changed("tests/test_z.py", Some("def test_e():\n    assert 1\n"), Some("def test_e():\n    assert 2\n")),
        ];
        let expected = [
            ("web/a.test.ts::", false),
            ("tests/test_x.py::test_c", true),
            ("tests/test_y.py::TestY::test_d", true),
            ("tests/test_z.py::test_e", false),
        ];
        assert_eq!(touched(&files), expected.map(|(name, added)| (name.to_owned(), added)));
    }

    #[test]
    fn a_copy_of_a_test_that_stays_is_an_added_test() {
        let text = "def test_a():\n    assert f(1)\n";
        let files = [changed("tests/test_x.py", Some(text), Some(&format!("{text}\ndef test_copy():\n    assert f(1)\n")))];
        assert_eq!(touched(&files), [("tests/test_x.py::test_copy".to_owned(), true)]);
    }

    #[test]
    fn introduced_words_are_those_of_the_change_alone() {
        let new = introduced_words("def quote(net): pass", "def quote(net, vat): return reduced(net)");
        assert_eq!(new.into_iter().collect::<Vec<_>>(), ["reduced", "return", "vat"]);
    }
}
