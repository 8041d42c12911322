"""Tests of budget.py. `python3 -B -m unittest discover .ci` runs them."""

import pathlib
import tempfile
import textwrap
import unittest

import budget


def lines(text):
    return budget.count(textwrap.dedent(text))[0]


class Lines(unittest.TestCase):
    def test_only_lines_with_code_count(self):
        self.assertEqual(lines("//! a\n\n/// b\nfn f() {\n    // c\n    g(); // d\n}\n"), 3)
        self.assertEqual(lines("/* a\n /* b */\n c */ fn f() {}\n"), 1)
        self.assertEqual(lines(""), 0)

    def test_what_looks_like_a_comment_within_a_literal_is_code(self):
        self.assertEqual(lines('const A: &str = "// a";\nconst B: &str = "/*";\nconst C: char = \'"\';\nfn f() {}\n'), 4)
        self.assertEqual(lines('const A: &str = r#"/* " // "#;\nconst B: &[u8] = br"\\";\nconst C: &CStr = c"\\"";\nfn f() {}\n'), 4)
        self.assertEqual(lines('const A: &str = "a \\\n\n  // b\n";\n'), 3)

    def test_characters_and_lifetimes_are_told_apart(self):
        self.assertEqual(lines("fn f<'a, 'b>(c: &'a str) -> bool { c == '\\'' || c == '\"' || c == b'/' || c == '\\u{2f}' }\nfn g() {}\n"), 2)

    def test_a_raw_identifier_is_no_raw_string(self):
        self.assertEqual(lines('fn r#type() {}\nfn g() { h("//") }\n'), 2)

    def test_what_is_not_rust_is_refused(self):
        for text in ['fn f() { "', "/* /* */", 'r#"a"', "#[cfg(test)]\nfn f() {", "#[cfg(test)]\nfn f(] {}"]:
            with self.assertRaises(budget.NotRust, msg=text):
                budget.count(text)


class Tests(unittest.TestCase):
    def test_items_for_tests_do_not_count(self):
        for item in [
            "mod tests { fn f() {} }",
            "mod tests;",
            "pub(super) use a::{\n    b,\n    c,\n};",
            "const A: B = B {\n    c: 1,\n};",
            "pub(crate) const unsafe fn f<A, B>(a: [u8; 3]) -> A\nwhere\n    A: C,\n{\n    \"}\";\n}",
            "struct A(u8, u8);",
            "struct A<B, C> {\n    d: u8,\n}",
            "impl<A, B> C for D {\n    fn f() {}\n}",
            "macro_rules! a {\n    () => {};\n}",
            "/// A comment.\n#[derive(Debug)]\nenum A {\n    B,\n}",
            "extern \"C\" {\n    fn f();\n}",
        ]:
            self.assertEqual(lines(f"fn before() {{}}\n#[cfg(test)]\n{item}\nfn after() {{}}\n"), 2, item)

    def test_parts_of_items_for_tests_do_not_count(self):
        self.assertEqual(lines("struct A {\n    #[cfg(test)]\n    a: B<u8>,\n    c: u8,\n}\n"), 3)
        self.assertEqual(lines("struct A {\n    c: u8,\n    #[cfg(test)]\n    a: [u8; 3]\n}\n"), 3)
        self.assertEqual(lines("fn f() {\n    #[cfg(test)]\n    g(1, 2);\n    h();\n}\n"), 3)
        self.assertEqual(lines("fn f() {\n    match a {\n        #[cfg(test)]\n        A => {\n            1\n        }\n        B => 2,\n    }\n}\n"), 5)

    def test_attributes_that_mean_tests(self):
        for attribute in ["cfg(test)", "test", "tokio::test(flavor = \"a\")", "cfg(all(test, unix))", "cfg(any(test, all(unix, test)))", "cfg(any(test, feature = \"testing\"))"]:
            self.assertEqual(lines(f"#[{attribute}]\nfn f() {{}}\n"), 0, attribute)
        for attribute in ["cfg(not(test))", "cfg(any(test, feature = \"a\"))", "cfg(feature = \"test\")", "cfg_attr(test, a)", "testing"]:
            self.assertEqual(lines(f"#[{attribute}]\nfn f() {{}}\n"), 2, attribute)
        self.assertIsNone(lines("#![cfg(test)]\nfn f() {}\n"))

    def test_modules_for_tests_are_told_with_their_files(self):
        self.assertEqual(budget.count("#[cfg(test)]\npub(crate) mod a;\nmod b;\n#[cfg(test)]\nmod c {}\n"), (1, [("a", None)]))
        self.assertEqual(budget.count('#[cfg(test)]\n#[path = "d.rs"]\nmod c;\n'), (0, [("c", "d.rs")]))


class Trees(unittest.TestCase):
    def test_a_workspace_is_counted_by_crate(self):
        files = {
            "Cargo.toml": '[package]\nname = "whole"\n',
            "src/lib.rs": "mod a;\n#[cfg(test)]\nmod checks;\n",
            "src/checks.rs": "fn f() {}\n",
            "src/checks/more.rs": "fn f() {}\n",
            "src/a/mod.rs": "fn f() {}\n#[cfg(test)]\nmod inner;\n",
            "src/a/inner.rs": "fn f() {}\n",
            "src/a/tests.rs": "fn f() {}\n",
            "src/a/tests/deep.rs": "fn f() {}\n",
            "src/inner.rs": "fn f() {}\n",
            "crates/part/src/lib.rs": "fn f() {\n}\n",
            "crates/part/tests/all.rs": "fn f() {}\n",
        }
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            totals = {name: sum(budget.measure(sources).values()) for name, sources in budget.crates(root).items()}
        self.assertEqual(totals, {"whole": 3, "part": 2})

    def test_a_crate_above_its_limit_and_one_without_a_limit_are_named(self):
        self.assertEqual(budget.faults_of({"a": 3}, {"a": 3}), [])
        (above,) = budget.faults_of({"a": 1004}, {"a": 1003})
        self.assertTrue("a has 1,004 lines" in above and "1,003" in above, above)
        self.assertIn("no limit", budget.faults_of({"b": 1}, {})[0])
        self.assertIn("there is no crate c", budget.faults_of({}, {"c": 1})[0])


if __name__ == "__main__":
    unittest.main()
