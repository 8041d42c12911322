//! Which tests a change added or changed. Pure. A test that was moved, renamed or reformatted is not touched.

use std::collections::{BTreeMap, BTreeSet};

use proctor_model::OneTest;

use crate::braces::{joined, tokens_of};
use crate::{braced_tests, python, rust};

/// A test as its file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestInText {
    /// The name in its file: `TestX::test_y`, `quotes > adds`, `tests::adds`. Empty if this stands for all tests of the file
    /// whose names its text does not say.
    pub name: String,
    /// Its words without layout, comments and its own name.
    pub text: String,
    /// Whether a tool surely runs it. A method of a class that is only inherited from is none.
    pub is_sure: bool,
}

/// A language in which tests are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestLanguage {
    Python,
    /// JavaScript and TypeScript.
    Script,
    Rust,
    Go,
}

impl TestLanguage {
    /// Returns the language of a file, by its name; `None` if it has no code.
    pub fn of(path: &str) -> Option<Self> {
        match path.rsplit('.').next()? {
            "py" => Some(Self::Python),
            "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" => Some(Self::Script),
            "rs" => Some(Self::Rust),
            "go" => Some(Self::Go),
            _ => None,
        }
    }

    /// Returns the language of the tests that a test runner runs, by how it names one of them.
    pub fn of_form(form: OneTest) -> Self {
        match form {
            OneTest::NodeId => Self::Python,
            OneTest::FileAndPattern { .. } | OneTest::NamePattern | OneTest::FileAndName { .. } => Self::Script,
            OneTest::ExactName => Self::Rust,
            OneTest::RunPattern => Self::Go,
        }
    }

    /// Returns whether two pieces of code differ in layout and comments alone. What cannot be divided into words is compared as it is.
    pub(crate) fn is_same_code(self, one: &str, other: &str) -> bool {
        let words = |text| tokens_of(text, self).map_or_else(|| text.trim().to_owned(), |tokens| joined(&tokens));
        if self == Self::Python { python::is_same_code(one, other) } else { words(one) == words(other) }
    }

    /// Returns the tests of a text; `None` if the text cannot be read.
    fn tests_of(self, text: &str) -> Option<Vec<TestInText>> {
        match self {
            Self::Python => Some(python::tests_of(text)),
            Self::Rust => rust::tests_of(text),
            Self::Script | Self::Go => braced_tests::tests_of(text, self),
        }
    }
}

/// Why tests in a file of Rust get no word.
const AMID_SOURCE: &str = "code for tests alone changed amid its source";

/// A test that the change added or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchedTest {
    /// The path of its file.
    pub file: String,
    /// Its name in the file; empty where the file's tests are not told apart: then it stands for all of them.
    pub name: String,
    pub is_added: bool,
    pub is_sure: bool,
    /// Why nothing can be said of it, whatever a tool says.
    pub doubt: Option<&'static str>,
}

impl TouchedTest {
    /// Returns its file and name; the file alone where its tests are not told apart.
    pub fn id(&self) -> String {
        if self.name.is_empty() { self.file.clone() } else { format!("{}::{}", self.file, self.name) }
    }
}

/// A changed file that can have tests, with its texts; `None` where the side has no such file.
pub struct ChangedText {
    pub path: String,
    pub old: Option<String>,
    pub new: Option<String>,
}

/// The tests of a changed file.
struct ReadText<'f> {
    file: &'f ChangedText,
    before: Vec<TestInText>,
    after: Vec<TestInText>,
    /// Why nothing can be said of any of them.
    doubt: Option<&'static str>,
}

/// Returns whether a file has code, by its name.
pub(crate) fn is_code(path: &str) -> bool {
    TestLanguage::of(path).is_some()
}

/// Returns the tests that the change added or changed: first the files whose tests are not told apart.
pub fn touched_tests(files: &[ChangedText]) -> Vec<TouchedTest> {
    let mut touched = Vec::new();
    let mut read = Vec::new();
    for file in files {
        let (Some(language), Some(new)) = (TestLanguage::of(&file.path), &file.new) else { continue };
        let tests = |text: &Option<String>| text.as_deref().map_or_else(|| Some(Vec::new()), |text| language.tests_of(text));
        match tests(&file.old).zip(tests(&file.new)) {
            Some((before, after)) => {
                touched.extend(hidden_tests(file, language, new, &after).map(|doubt| whole(file, doubt)));
                let doubt = (language == TestLanguage::Rust && is_divided_otherwise(file)).then_some(AMID_SOURCE);
                read.push(ReadText { file, before, after, doubt });
            }
            None => touched.push(whole(file, "its text cannot be read")),
        }
    }
    // The texts of tests that are not where they were: one of them with another name or in another file is a test that was moved.
    let gone_files = files.iter().filter(|file| file.new.is_none());
    let gone_tests = gone_files.filter_map(|file| TestLanguage::of(&file.path)?.tests_of(file.old.as_deref()?)).flatten();
    let renamed = read.iter().flat_map(|ReadText { before, after, .. }| {
        let kept: BTreeSet<&str> = after.iter().map(|test| test.name.as_str()).collect();
        before.iter().filter(move |test| !kept.contains(test.name.as_str())).cloned()
    });
    let mut gone: BTreeMap<String, usize> = BTreeMap::new();
    for test in gone_tests.chain(renamed) {
        *gone.entry(test.text).or_default() += 1;
    }
    read.iter().for_each(|read| add_touched(read, &mut gone, &mut touched));
    touched
}

/// Adds the tests of a file that are neither as they were nor moved.
fn add_touched(read: &ReadText<'_>, gone: &mut BTreeMap<String, usize>, touched: &mut Vec<TouchedTest>) {
    let ReadText { file, before, after, doubt } = read;
    let language = TestLanguage::of(&file.path);
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
        let of_name = |tests: &[TestInText]| tests.iter().filter(|other| other.name == test.name).count();
        let own_doubt = match (test.name.as_str(), of_name(before).max(of_name(after))) {
            ("", _) => Some("its name is not in its text"),
            // Of two functions in Python, only the last one is there.
            (_, 2..) if language != Some(TestLanguage::Python) => Some("its file has two tests of this name"),
            (_, _) => None,
        };
        let is_added = known.is_none();
        touched.push(TouchedTest {
            file: file.path.clone(),
            name: test.name.clone(),
            is_added,
            is_sure: test.is_sure,
            doubt: own_doubt.or(*doubt),
        });
    }
}

/// Returns what stands for tests of a file that are not told apart.
fn whole(file: &ChangedText, doubt: &'static str) -> TouchedTest {
    let is_added = file.old.is_none();
    TouchedTest { file: file.path.clone(), name: String::new(), is_added, is_sure: true, doubt: Some(doubt) }
}

/// Returns whether code for tests alone changed that lies amid the source of a file, where it cannot be told from it.
fn is_divided_otherwise(file: &ChangedText) -> bool {
    let more = |text: &Option<String>| text.as_deref().map(|text| rust::divided(text).map(|divided| divided.more));
    more(&file.old).is_some_and(|old| more(&file.new) != Some(old))
}

/// Returns why further tests of a file are not told apart; `None` if there are none.
fn hidden_tests(file: &ChangedText, language: TestLanguage, new: &str, tests: &[TestInText]) -> Option<&'static str> {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    match language {
        TestLanguage::Script => {
            let is_of_tests = name.contains(".test.") || name.contains(".spec.");
            (tests.is_empty() && is_of_tests).then_some("no test is found in its text")
        }
        TestLanguage::Rust => {
            let known = rust::examples_of(file.old.as_deref().unwrap_or_default());
            let is_new = |example: &String| !known.contains(example);
            rust::examples_of(new).iter().any(is_new).then_some("examples in comments are not tried")
        }
        TestLanguage::Python | TestLanguage::Go => None,
    }
}

/// Returns the words of `after` that `before` has not: the names that a change introduces.
pub fn introduced_words(before: &str, after: &str) -> BTreeSet<String> {
    fn words(text: &str) -> impl Iterator<Item = &str> {
        text.split(|character| !python::is_of_name(character)).filter(|word| word.len() > 1)
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
            changed("web/a.test.ts", Some("test('a', f)"), Some("test('b', f); test('c', g); test('d', h); test('d', i)")),
            changed("web/gone.test.ts", Some("test('gone', h)"), None),
            changed("web/made.test.ts", None, Some("suite(() => {})")),
            changed("web/helper.ts", None, Some("export const a = 1")),
            changed("web/open.test.ts", Some(""), Some("test('a")),
            changed("tests/test_z.py", Some("def test_e():\n    assert 1\n"), Some("def test_e():\n    assert 2\n")),
        ];
        let expected = [
            ("web/open.test.ts::", false),
            ("tests/test_x.py::test_c", true),
            ("tests/test_y.py::TestY::test_d", true),
            ("web/a.test.ts::c", true),
            ("web/a.test.ts::d", true),
            ("web/made.test.ts::", true),
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
