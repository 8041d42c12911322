//! Finds the source text of each test in its file, so that a test that was renamed is known again. Pure: texts go in, marks come out.
//!
//! No language is parsed. A test's text begins with the line that defines its name (`def test_a(`, `func TestA(`, `fn a(`,
//! `void testA(`, or a text in quotes as in `it("adds", …)`) and ends before the next line that is not indented further. A test whose
//! definition is not found, is found more than once, or may go on behind that line, has no mark. What stands above the definition, such as
//! a decorator, is no part of the text.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use proctor_model::{Digest, TestBody, TestCase};

/// At most so many files are read for one check, and so many bytes of them.
const MOST_FILES: usize = 500;
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// The words before the name of a function that is defined.
const DEFINES: &[&str] = &["def", "fn", "func", "fun", "function", "void", "Unit", "sub"];
const QUOTES: [char; 3] = ['"', '\'', '`'];

/// Adds the marks of the tests' texts. `source` returns the text of a file as it was tested, by its path relative to the project. Nothing
/// is added where not every test has a file: then the few that do may name the file in which they failed.
pub fn add_test_bodies(cases: &mut [TestCase], source: &dyn Fn(&Path) -> Option<String>) {
    let mut by_file: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, case) in cases.iter().enumerate() {
        by_file.entry(file_of(case).to_owned()).or_default().push(place);
    }
    if by_file.contains_key("") {
        return;
    }
    let mut bytes = 0;
    for (file, places) in by_file.into_iter().take(MOST_FILES) {
        let path = Path::new(&file);
        let Some(text) = path.is_relative().then(|| source(path)).flatten() else { continue };
        bytes += text.len();
        if bytes > MOST_BYTES {
            return;
        }
        let mut source = TestSource::of(&text);
        for place in places {
            let case = &mut cases[place];
            case.body = source.body(&case.title);
        }
    }
}

/// Returns the file of a test as far as it is known; else nothing. pytest's own names begin with it.
fn file_of(case: &TestCase) -> &str {
    let named = || case.full_name.split_once("::").map_or("", |(file, _)| file);
    case.test_file.as_deref().unwrap_or_else(named)
}

/// A file, with the lines that define a name.
struct TestSource<'a> {
    lines: Vec<&'a str>,
    /// The line of each defined name; `None` for a name that is defined more than once.
    defined: BTreeMap<&'a str, Option<usize>>,
    /// The hashed texts of names, without what stands in brackets behind a name. A test with 10,000 parameters is hashed once.
    hashed: BTreeMap<&'a str, Option<Sha256>>,
}

impl<'a> TestSource<'a> {
    fn of(text: &'a str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let mut defined = BTreeMap::new();
        for (number, line) in lines.iter().enumerate() {
            for name in function_name(line).into_iter().chain(quoted_name(line)) {
                defined.entry(name).and_modify(|line| *line = None).or_insert(Some(number));
            }
        }
        Self { lines, defined, hashed: BTreeMap::new() }
    }

    /// Returns the mark of a test. What stands in brackets behind its name, as pytest has it for parameters, belongs to the test.
    fn body(&mut self, title: &str) -> Option<TestBody> {
        let names = [title, title.split('[').next().unwrap_or(title)];
        let (name, first) =
            names.into_iter().find_map(|name| self.defined.get_key_value(name).map(|(name, line)| (*name, *line)))?;
        let first = first?;
        if !self.hashed.contains_key(name) {
            let hasher = self.text_from(first).map(|lines| {
                let mut hasher = Sha256::new();
                for line in lines {
                    hasher.update(without_name(line.trim_end(), name).as_bytes());
                    hasher.update(b"\n");
                }
                hasher
            });
            self.hashed.insert(name, hasher);
        }
        let mut hasher = self.hashed.get(name).cloned().flatten()?;
        hasher.update(title.strip_prefix(name).unwrap_or_default().as_bytes());
        let first = Digest::from_hasher(hasher).as_bytes().first_chunk().copied().unwrap_or_default();
        Some(TestBody(u64::from_be_bytes(first)))
    }

    /// Returns the lines of a definition: up to the next line that is not indented further. `None` if they are surely not all of it: two
    /// tests whose texts are cut short could seem to be one.
    fn text_from(&self, first: usize) -> Option<&[&'a str]> {
        let indentation = |line: &str| line.len() - line.trim_start().len();
        let own = indentation(self.lines[first]);
        let mut end = self.lines.len();
        for (number, line) in self.lines.iter().enumerate().skip(first + 1) {
            let text = line.trim();
            if text.is_empty() || indentation(line) > own {
                continue;
            }
            // A bracket on a line of its own opens the body, or closes the parameters in front of it, or the body.
            let closes = text.starts_with(['}', ')', ']']);
            if text.starts_with('{') || (closes && text.ends_with([':', '{'])) {
                continue;
            }
            end = number + usize::from(closes);
            break;
        }
        // Empty lines in front of the next definition are no part of this one.
        while end > first + 1 && self.lines[end - 1].trim().is_empty() {
            end -= 1;
        }
        let lines = &self.lines[first..end];
        is_whole(lines).then_some(lines)
    }
}

/// Returns whether the lines have as many closing as opening brackets, and no text in them is left open.
fn is_whole(lines: &[&str]) -> bool {
    let count = |part: &str| lines.iter().map(|line| line.matches(part).count()).sum::<usize>();
    let is_paired = |(opening, closing): &(&str, &str)| count(opening) == count(closing);
    let brackets = [("(", ")"), ("[", "]"), ("{", "}")];
    let has_body = lines.len() > 1 || lines.first().is_some_and(|line| !line.trim_end().ends_with([':', ')']));
    has_body && brackets.iter().all(is_paired) && ["\"\"\"", "'''", "`"].iter().all(|quote| count(quote) % 2 == 0)
}

/// Returns the name of the function that a line defines.
fn function_name(line: &str) -> Option<&str> {
    let (before, _) = line.split_once('(')?;
    let (rest, name) = before.trim_end().rsplit_once([' ', '\t'])?;
    // `func (s *Suite) TestA(` in Go has its name behind the first bracket.
    let word = rest.split_whitespace().next_back()?;
    DEFINES.contains(&word).then_some(name).filter(|name| !name.is_empty())
}

/// Returns the text in quotes that is the first argument of a call, as in `it("adds", () => {`.
fn quoted_name(line: &str) -> Option<&str> {
    let (_, arguments) = line.split_once('(')?;
    let arguments = arguments.trim_start();
    let quote = QUOTES.into_iter().find(|quote| arguments.starts_with(*quote))?;
    let (name, _) = arguments.get(1..)?.split_once(quote)?;
    Some(name).filter(|name| !name.is_empty())
}

/// Returns a line in which a NUL byte stands for each whole occurrence of a name.
fn without_name(line: &str, name: &str) -> String {
    let is_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
    let (mut text, mut done) = (String::with_capacity(line.len()), 0);
    for (place, _) in line.match_indices(name) {
        let (before, after) = (&line[..place], &line[place + name.len()..]);
        let is_part = before.chars().next_back().is_some_and(is_word) || after.chars().next().is_some_and(is_word);
        text.push_str(&line[done..place]);
        text.push_str(if is_part { name } else { "\0" });
        done = place + name.len();
    }
    text + &line[done..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::TestOutcome;

    fn case(file: Option<&str>, full_name: &str, title: &str) -> TestCase {
        TestCase {
            title: title.to_owned(),
            ancestor_titles: Vec::new(),
            full_name: full_name.to_owned(),
            report_name: None,
            test_file: file.map(str::to_owned),
            status: TestOutcome::Passed,
            expected_to_fail: false,
            duration_us: None,
            failure_messages: Vec::new(),
            body: None,
        }
    }

    fn body(text: &str, title: &str) -> Option<TestBody> {
        let mut cases = [case(Some("a"), title, title)];
        add_test_bodies(&mut cases, &|path| (path == Path::new("a")).then(|| text.to_owned()));
        cases[0].body
    }

    #[test]
    fn a_renamed_test_has_its_mark_and_a_changed_one_has_another() {
        for (before, name, after, new_name) in [
            (
                "def test_a(x):\n    assert x == 1\n\ndef test_b():\n    pass\n",
                "test_a",
                "import y\ndef test_sum(x):\n    assert x == 1\n",
                "test_sum",
            ),
            (
                "class TestX:\n    def test_a(self):\n        assert test_a2\n\n    def test_b(self): ...\n",
                "test_a",
                "class TestX:\n    def test_c(self):\n        assert test_a2\n",
                "test_c",
            ),
            ("def test_a(x):\n    assert x\n", "test_a[1-2]", "def test_b(x):\n    assert x\n", "test_b[1-2]"),
            (
                "it('adds', () => {\n  expect(1).toBe(1);\n});\n",
                "adds",
                "describe(\"x\", () => {});\nit('sums', () => {\n  expect(1).toBe(1);\n});\n",
                "sums",
            ),
            (
                "#[test]\nfn adds() {\n    assert_eq!(sum(), 2);\n}\n",
                "adds",
                "#[test]\nfn sums() {\n    assert_eq!(sum(), 2);\n}\n\n#[test]\nfn other() {}\n",
                "sums",
            ),
            ("func TestA(t *testing.T) {\n\tt.Log(1)\n}\n", "TestA", "func TestB(t *testing.T) {\n\tt.Log(1)\n}\n", "TestB"),
            ("    void testA() {\n        call();\n    }\n", "testA", "    void testB() {\n        call();\n    }\n", "testB"),
        ] {
            let first = body(before, name);
            assert!(first.is_some(), "{before}");
            assert_eq!(first, body(after, new_name), "{before}{after}");
            let changed =
                after.replace("assert", "check").replace("expect", "check").replace("Log", "Skip").replace("call", "check");
            assert_ne!(first, body(&changed, new_name), "{changed}");
        }
        let parameters = "def test_a(x):\n    assert x\n";
        assert_ne!(body(parameters, "test_a[1]"), body(parameters, "test_a[2]"));
    }

    #[test]
    fn what_is_not_found_or_found_twice_has_no_mark() {
        let twice = "class A:\n    def test_a(self): pass\nclass B:\n    def test_a(self): pass\n";
        for (text, title) in [("", "test_a"), ("test_a()\n", "test_a"), (twice, "test_a"), ("def test_a():\n", ""), ("def (", "")]
        {
            assert_eq!(body(text, title), None, "{text}");
        }
        let source = |path: &Path| (path == Path::new("b.py")).then(|| "def test_a(): pass\n".to_owned());
        let mut cases =
            [case(None, "b.py::test_a", "test_a"), case(Some("c.py"), "x", "test_a"), case(Some("/b.py"), "x", "test_a")];
        add_test_bodies(&mut cases, &source);
        assert_eq!(cases.map(|case| case.body.is_some()), [true, false, false]);
        // A test without a file: the others' files may be those in which they failed.
        let mut cases = [case(None, "b.py::test_a", "test_a"), case(None, "test_a", "test_a")];
        add_test_bodies(&mut cases, &source);
        assert_eq!(cases.map(|case| case.body.is_some()), [false, false]);
    }

    #[test]
    fn a_text_that_may_go_on_has_no_mark_and_a_definition_over_several_lines_has_its_body() {
        let text = "def test_a(\n    client, db\n):\n    assert client\n\ndef test_b(\n    client, db\n):\n    assert db\n";
        assert!(body(text, "test_a").is_some() && body(text, "test_b").is_some());
        assert_ne!(body(text, "test_a"), body(text, "test_b"));
        let braces = "void testA()\n{\n    a();\n}\nvoid testB()\n{\n    b();\n}\n";
        assert!(body(braces, "testA").is_some());
        assert_ne!(body(braces, "testA"), body(braces, "testB"));
        for cut in [
            "def test_a():\n    x = \"\"\"\nat the margin\n\"\"\"\n    assert x\n",
            "it('test_a', () => {\n  const x = `\nat the margin\n`;\n});\n",
            "def test_a():\n# at the margin\n    assert x\n",
            "def test_a(a=(1,\n2)):\n    assert a\n",
        ] {
            assert_eq!(body(cut, "test_a"), None, "{cut}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "[a-z_('\"`é \\n\\t}]{0,80}", title in "[a-z_é\\[]{0,4}") {
            let _mark = body(&text, &title);
        }
    }
}
