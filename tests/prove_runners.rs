//! `proctor prove` with real Jest, Vitest, `node --test`, Playwright, Cargo and Go: each word is seen by each tool, on a repository of its own.
//! Where Go or Cargo is not installed, its test ends without having tested anything.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::common::{Project, jest_modules, runner_modules, vitest_modules};
use crate::gate::git;
use crate::prove::{change, parts, prove, words};
use crate::test_runners::cargo;

/// Files with their texts, or tests with their words.
type Pairs<'t> = &'t [(&'t str, &'t str)];

fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

/// Returns a repository with one check.
pub(crate) fn repository(tool: &str, command: &str, modules: Option<&Path>, files: Pairs<'_>) -> Project {
    let visible = modules.map_or_else(String::new, |modules| format!("[sandbox]\nvisible = [\"{}\"]\n", modules.display()));
    let check = format!("[[check]]\nname = \"tests\"\ntool = \"{tool}\"\ncommand = \"{command}\"\ntimeout = \"5m\"\n");
    let project = Project::new().toml(&(visible + &check)).file(".gitignore", "node_modules\ntarget\n");
    if let Some(modules) = modules {
        symlink(modules, project.path().join("node_modules")).expect("the project is ours");
    }
    git(&project, &["init", "--quiet"]);
    change(&project, files);
    project
}

/// Makes the change and compares the words of all tests.
#[track_caller]
fn expect_words(project: &Project, files: Pairs<'_>, status: i32, expected: Pairs<'_>) {
    change(project, files);
    let answer = prove(project, &["HEAD~1..HEAD"], status);
    assert_eq!(words(&answer), expected, "{answer:#}");
}

const BEFORE: &str = "exports.quote = (net, kind) => net * 1.2;\n";
const AFTER: &str =
    "exports.quote = (net, kind) => net * (kind === 'reduced' ? 1.05 : 1.2);\nexports.label = (kind) => kind + ' rate';\n";
const NORMAL: &str = "test('normal', () => { expect(quote(100)).toBe(120); });\n";

/// Tests in the words of Jest, which Vitest and Playwright have too.
const TESTS: &str = "test('normal', () => {\n  // reformatted\n  expect(quote(100)).toBe(120)\n});\n\
    DESCRIBE('rates', () => {\n  test('reduced', () => { expect(quote(100, 'reduced')).toBe(105); });\n});\n\
    test('label', () => { expect(label('low')).toBe('low rate'); });\n\
    test('same', () => { expect(quote(100)).toBe(120); });\n\
    test('wrong', () => { expect(quote(100)).toBe(1); });\n\
    test.skip('left', () => { expect(quote(100, 'reduced')).toBe(105); });\n\
    test('made' + 1, () => { expect(quote(100, 'reduced')).toBe(105); });\n\
    test('empty', () => { quote(100, 'reduced'); });\n";

const WORDS: Pairs<'_> = &[
    ("rates > reduced", "proves it"),
    ("label", "notices it"),
    ("same", "passes either way"),
    ("wrong", "fails before and after"),
    ("left", "not tried"),
    ("empty", "passes either way"),
    ("", "not tried"),
];

#[test]
#[ignore = "wide tier"]
fn each_test_of_jest_gets_its_word() {
    let modules = jest_modules();
    let head = "const { quote, label } = require('./vat');\n";
    let command = modules.join(".bin/jest").display().to_string();
    let of = |text: &str| head.to_owned() + &text.replace("DESCRIBE", "describe");
    let rows = "test.each([100, 200])('row %i', (net) => { expect(quote(net, 'reduced')).toBe(net * 1.05); });\n";
    let files = [("package.json", "{\"name\": \"shop\"}\n"), ("vat.js", BEFORE), ("vat.test.js", &of(NORMAL))];
    let project = repository("jest", &command, Some(&modules), &files);
    let snapshot = "exports[`recorded 1`] = `105`;\n";
    let recorded = "test('recorded', () => { expect(require('./vat').quote(100, 'reduced')).toMatchSnapshot(); });\n";
    let files = [
        ("vat.js", AFTER),
        ("low.js", "exports.low = 5;\n"),
        ("vat.test.js", &of(&(TESTS.to_owned() + rows))),
        ("low.test.js", "const { low } = require('./low');\ntest('low', () => { expect(low).toBe(5); });\n"),
        ("recorded.test.js", recorded),
        (
            "__snapshots__/recorded.test.js.snap",
            &format!("// Jest Snapshot v1, https://jestjs.io/docs/snapshot-testing\n\n{snapshot}"),
        ),
    ];
    let mut expected = vec![("low", "notices it"), ("recorded", "by a snapshot of this change")];
    expected.extend(&WORDS[..6]);
    expected.extend([("row %i", "proves it"), WORDS[6]]);
    expect_words(&project, &files, 1, &expected);
    // A script of npm cannot be asked for files.
    let package = format!("{{\"name\": \"shop\", \"scripts\": {{\"test\": \"{command}\"}}}}\n");
    let first = [("package.json", package.as_str()), ("vat.js", BEFORE), ("vat.test.js", &of(NORMAL))];
    expect_words(&repository("jest", "npm test", Some(&modules), &first), &files, 1, &expected);
}

#[test]
#[ignore = "wide tier"]
fn each_test_of_vitest_gets_its_word() {
    let modules = vitest_modules();
    let command = format!("{} run", modules.join(".bin/vitest").display());
    let exported = |text: &str| text.replace("exports.", "export const ");
    let head = "import { test, describe, expect } from 'vitest';\nimport { quote, label } from './vat.js';\n";
    let of = |text: &str| head.to_owned() + &text.replace("DESCRIBE", "describe");
    let package = ("package.json", "{\"name\": \"shop\", \"type\": \"module\"}\n");
    let before = exported(BEFORE);
    let project = repository("vitest", &command, Some(&modules), &[package, ("vat.js", &before), ("vat.test.js", &of(NORMAL))]);
    let missing =
        "import { test, expect } from 'vitest';\nimport { low } from './low.js';\ntest('low', () => { expect(low).toBe(5); });\n";
    let files = [
        ("vat.js", &*exported(AFTER)),
        ("low.js", "export const low = 5;\n"),
        ("vat.test.js", &of(TESTS)),
        ("low.test.js", missing),
    ];
    let expected: Vec<_> = [("low", "notices it")].iter().chain(WORDS).copied().collect();
    expect_words(&project, &files, 1, &expected);
}

#[test]
#[ignore = "wide tier"]
fn each_test_of_playwright_gets_its_word() {
    let modules = runner_modules();
    let command = format!("{} test", modules.join(".bin/playwright").display());
    let head = "const { test, expect } = require('@playwright/test');\nconst { quote, label } = require('./vat');\n";
    let of = |text: &str| head.to_owned() + &text.replace("DESCRIBE", "test.describe");
    let package = ("package.json", "{\"name\": \"shop\"}\n");
    let project =
        repository("playwright", &command, Some(&modules), &[package, ("vat.js", BEFORE), ("vat.spec.js", &of(NORMAL))]);
    expect_words(&project, &[("vat.js", AFTER), ("vat.spec.js", &of(TESTS))], 1, WORDS);
}

#[test]
#[ignore = "wide tier"]
fn each_test_of_node_gets_its_word() {
    let head = "const { test, describe } = require('node:test');\nconst assert = require('node:assert');\nconst { quote, label } = require('./vat');\n";
    let of = |text: &str| {
        let text = text.replace("DESCRIBE", "describe");
        head.to_owned() + &text.replace("expect(", "assert.strictEqual(").replace(").toBe(", ", ")
    };
    let files = [("package.json", "{\"name\": \"shop\"}\n"), ("vat.js", BEFORE), ("vat.test.js", &of(NORMAL))];
    let project = repository("node-test", "node --test", None, &files);
    let parts = "test('whole', async (t) => { await t.test('part', () => { expect(quote(100, 'reduced')).toBe(105); }); });\n";
    // Another file has a test of the same name, which passes either way.
    let other = head.to_owned() + "test('label', () => { assert.strictEqual(quote(100), 120); });\n";
    let missing = "const { test } = require('node:test');\nconst { low } = require('./low');\ntest('low', () => {});\n";
    let files = [
        ("vat.js", AFTER),
        ("low.js", "exports.low = 5;\n"),
        ("low.test.js", missing),
        ("other.test.js", &other),
        ("vat.test.js", &of(&(TESTS.to_owned() + parts))),
    ];
    let mut expected = vec![("low", "passes either way"), ("label", "passes either way")];
    expected.extend(&WORDS[..6]);
    expected.extend([("whole", "proves it"), WORDS[6]]);
    expect_words(&project, &files, 1, &expected);
}

/// A name that a module does not export hides every test of the file that imports it. The answer of the second try is weak.
#[test]
#[ignore = "wide tier"]
fn new_exports_are_kept_before_and_each_part_of_a_module_gets_its_word() {
    let before = "export const quote = (net, kind) => {\n  return net * 1.2;\n};\n";
    let after = "export const quote = (net, kind) => {\n  return net * (kind === 'reduced' ? 1.05 : 1.2);\n};\n\nexport function label(kind) {\n  return kind + ' rate';\n}\n\nexport class Order {\n  total() {\n    return 1;\n  }\n}\n\nexport function unused() {\n}\n";
    let head = "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport { quote, label, Order } from './vat.mjs';\n";
    let tests = "test('reduced', () => { assert.strictEqual(quote(100, 'reduced'), 105); });\n\
        test('label', () => { assert.strictEqual(label('low'), 'low rate'); });\n\
        test('order', () => { assert.strictEqual(new Order().total(), 1); });\n\
        test('there', () => { assert.ok(label); });\n";
    let files = [("package.json", "{\"name\": \"shop\"}\n"), ("vat.mjs", before)];
    let project = repository("node-test", "node --test", None, &files);
    change(&project, &[("vat.mjs", after), ("vat.test.mjs", &(head.to_owned() + tests))]);
    let answer = prove(&project, &["HEAD~1..HEAD", "--hunks"], 1);
    let expected = [("reduced", "notices it"), ("label", "notices it"), ("order", "notices it"), ("there", "passes either way")];
    assert_eq!(words(&answer), expected, "{answer:#}");
    let seen = answer["tests"][0]["seen"].as_str().expect("text");
    assert_eq!(seen, "fails before with new names kept (SyntaxError before)");
    let found = parts(&answer);
    let words: Vec<(&str, &str)> = found.iter().map(|(place, word, _)| (place.as_str(), *word)).collect();
    let expected = [
        ("vat.mjs quote", "noticed"),
        ("vat.mjs label", "cannot be taken back alone"),
        ("vat.mjs Order", "cannot be taken back alone"),
        ("vat.mjs unused", "no test notices"),
    ];
    assert_eq!(words, expected, "{answer:#}");
}

#[test]
#[ignore = "wide tier"]
fn each_test_of_cargo_gets_its_word_also_beside_its_source() {
    let Some(cargo) = cargo() else { return };
    let tests = |text: &str| format!("\n/// Tests.\n#[cfg(test)]\nmod tests {{\n    use super::*;\n{text}}}\n");
    let before = "pub fn quote(net: u32, kind: &str) -> u32 {\n    assert!(net > 0);\n    let _ = kind;\n    net * 120 / 100\n}\n\npub fn find(_kind: &str) -> Option<u32> {\n    None\n}\n";
    let after = "pub fn quote(net: u32, kind: &str) -> u32 {\n    net * if kind == \"reduced\" { 105 } else { 120 } / 100\n}\n\npub fn find(kind: &str) -> Option<u32> {\n    (kind == \"low\").then_some(5)\n}\n";
    let normal = "    #[test]\n    fn normal() {\n        assert_eq!(quote(100, \"\"), 120);\n    }\n";
    let manifest = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let (first, api) =
        (before.to_owned() + &tests(normal), "#[test]\nfn adds() {\n    assert_eq!(shop::quote(100, \"\"), 120);\n}\n");
    let files = [
        ("Cargo.toml", manifest),
        ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"shop\"\nversion = \"0.1.0\"\n"),
        ("src/lib.rs", &*first),
        ("tests/api.rs", api),
    ];
    let command = format!("{} test --offline", cargo.display());
    let project = repository("cargo-test", &command, None, &files).with_program(&cargo);
    let added = "    #[test]\n    fn reduced() {\n        assert_eq!(quote(100, \"reduced\"), 105);\n    }\n    #[test]\n    fn worded() {\n        assert!(quote(100, \"reduced\") < 110, \"too large\");\n    }\n    #[test]\n    fn unwraps() {\n        assert_eq!(find(\"low\").unwrap(), 5);\n    }\n    #[test]\n    fn nothing() {\n        assert_eq!(quote(0, \"\"), 0);\n    }\n    #[test]\n    fn same() {\n        assert_eq!(quote(200, \"\"), 240);\n    }\n    #[test]\n    #[should_panic]\n    fn wrong() {\n        quote(100, \"\");\n    }\n    #[test]\n    #[ignore]\n    fn left() {}\n";
    let second = after.to_owned() + &tests(&(normal.to_owned() + added));
    let more = api.to_owned() + "#[test]\nfn reduces() {\n    assert_eq!(shop::quote(100, \"reduced\"), 105);\n}\n";
    let expected = [
        ("tests::reduced", "proves it"),
        ("tests::worded", "proves it"),
        ("tests::unwraps", "notices it"),
        ("tests::nothing", "notices it"),
        ("tests::same", "passes either way"),
        ("tests::wrong", "fails before and after"),
        ("tests::left", "not tried"),
        ("reduces", "proves it"),
    ];
    expect_words(&project, &[("src/lib.rs", &second), ("tests/api.rs", &more)], 1, &expected);
    // A new module, a new function, and an example in a comment.
    let third = second.replace("\n/// Tests.", "\nmod low;\n\n/// ```\n/// assert_eq!(shop::label(), \"low\");\n/// ```\npub fn label() -> &'static str {\n    \"low\"\n}\n\n/// Tests.")
        .replace("    fn left() {}\n", "    fn left() {}\n    #[test]\n    fn labels() {\n        assert_eq!(label(), \"low\");\n    }\n");
    let low = "#[test]\nfn low() {\n    assert_eq!(1, 1);\n}\n";
    let expected = [("", "not tried"), ("tests::labels", "cannot run before"), ("low", "cannot run before")];
    expect_words(&project, &[("src/lib.rs", &third), ("src/low.rs", low)], 3, &expected);
    // The test of a change of tests alone needs no source.
    change(&project, &[("src/lib.rs", &third.replace("    fn left() {}\n", "    fn left() {\n        assert!(true);\n    }\n"))]);
    assert_eq!(prove(&project, &["HEAD~1..HEAD"], 0)["state"], "NO SOURCE");
}

#[test]
#[ignore = "wide tier"]
fn each_test_of_go_gets_its_word() {
    if !is_installed("go") {
        return;
    }
    let head = "package shop\n\nimport \"testing\"\n\n";
    let test = |name: &str, body: &str| format!("func {name}(t *testing.T) {{\n\t{body}\n}}\n\n");
    let before = "package shop\n\nfunc Quote(net int, kind string) int {\n\treturn net * 120 / 100\n}\n\nfunc Find(kind string) *int {\n\treturn nil\n}\n";
    let after = "package shop\n\nfunc Quote(net int, kind string) int {\n\tif kind == \"reduced\" {\n\t\treturn net * 105 / 100\n\t}\n\treturn net * 120 / 100\n}\n\nfunc Find(kind string) *int {\n\tfive := 5\n\treturn &five\n}\n";
    let normal = test("TestNormal", "if Quote(100, \"\") != 120 {\n\t\tt.Error(\"no\")\n\t}");
    let first = head.to_owned() + &normal;
    let files = [("go.mod", "module example.com/shop\n\ngo 1.18\n"), ("vat.go", before), ("vat_test.go", &*first)];
    let project = repository("go-test", "go test ./...", None, &files);
    let unless = |what: &str| format!("if {what} {{\n\t\tt.Fatalf(\"no\")\n\t}}");
    let second = [
        first.clone(),
        test("TestReduced", &unless("Quote(100, \"reduced\") != 105")),
        test("TestRows", "for _, net := range []int{100, 200} {\n\t\tt.Run(\"row\", func(t *testing.T) {\n\t\t\tif Quote(net, \"reduced\") != net*105/100 {\n\t\t\t\tt.Error(net)\n\t\t\t}\n\t\t})\n\t}"),
        test("TestSame", &unless("Quote(200, \"\") != 240")),
        test("TestWrong", &unless("Quote(200, \"\") != 1")),
        test("TestLeft", "t.Skip(\"later\")"),
        test("TestPanics", &unless("*Find(\"low\") != 5")),
    ]
    .concat();
    let low = "package low\n\nimport \"testing\"\n\nfunc TestReduced(t *testing.T) {\n\tif Rate() != 5 {\n\t\tt.Error(\"no\")\n\t}\n}\n";
    let low_before = "package low\n\nfunc Other() {}\n";
    change(&project, &[("low/low.go", low_before)]);
    let expected = [
        ("TestReduced", "cannot run before"),
        ("TestReduced", "proves it"),
        ("TestRows", "proves it"),
        ("TestSame", "passes either way"),
        ("TestWrong", "fails before and after"),
        ("TestLeft", "not tried"),
        ("TestPanics", "notices it"),
    ];
    let files = [
        ("vat.go", after),
        ("vat_test.go", &second),
        ("low/low.go", "package low\n\nfunc Rate() int { return 5 }\n"),
        ("low/low_test.go", low),
    ];
    expect_words(&project, &files, 1, &expected);
}

/// Tests of Jest that prove nothing, each with its word. `quote` gets a reduced rate, and `label` is new.
const VACUOUS: &[(&str, &str, &str)] = &[
    ("asserts nothing", "quote(100, 'reduced');", "passes either way"),
    ("asserts a constant", "expect(true).toBe(true);", "passes either way"),
    ("asserts the mock", "const mock = jest.fn(() => 105); expect(mock(100, 'reduced')).toBe(105);", "passes either way"),
    (
        "spies on what it tests",
        "const vat = require('./vat'); jest.spyOn(vat, 'quote').mockReturnValue(105); expect(vat.quote(100, 'reduced')).toBe(105); jest.restoreAllMocks();",
        "passes either way",
    ),
    ("catches everything", "try { expect(quote(100, 'reduced')).toBe(105); } catch {}", "passes either way"),
    ("calls no function that asserts", "async () => { expect(quote(100, 'reduced')).toBe(105); };", "passes either way"),
    ("never calls its matcher", "expect(quote(100, 'reduced')).toBe;", "passes either way"),
    ("expects nothing of the value", "expect(quote(100, 'reduced'));", "passes either way"),
    ("compares the code with itself", "expect(quote(100, 'reduced')).toBe(quote(100, 'reduced'));", "passes either way"),
    ("loops over nothing", "for (const net of []) expect(quote(net, 'reduced')).toBe(0);", "passes either way"),
    (
        "asserts behind a condition that is never true",
        "if (quote(100) === 0) expect(quote(100, 'reduced')).toBe(105);",
        "passes either way",
    ),
    ("asserts only the type", "expect(typeof quote(100, 'reduced')).toBe('number');", "passes either way"),
    ("asserts only that it is true", "expect(quote(100, 'reduced')).toBeTruthy();", "passes either way"),
    ("expects any number", "expect(quote(100, 'reduced')).toEqual(expect.any(Number));", "passes either way"),
    ("expects only some error", "expect(() => quote.no.such()).toThrow();", "passes either way"),
    ("tests what did not change", "expect(quote(100)).toBe(120);", "passes either way"),
    ("calls what is new and asserts nothing", "label('low');", "notices it"),
    ("asserts what it computes itself", "const rate = 1.05; expect(100 * rate).toBe(105);", "passes either way"),
    ("returns before it asserts", "return; expect(quote(100, 'reduced')).toBe(105);", "passes either way"),
    ("hands its assertion to nobody", "[].forEach(() => expect(quote(100, 'reduced')).toBe(105));", "passes either way"),
];

#[test]
#[ignore = "wide tier"]
fn every_planted_test_of_jest_that_proves_nothing_is_named() {
    let modules = jest_modules();
    let command = modules.join(".bin/jest").display().to_string();
    let head = "const { quote, label } = require('./vat');\n";
    let files = [("package.json", "{\"name\": \"shop\"}\n"), ("vat.js", BEFORE), ("vat.test.js", &*(head.to_owned() + NORMAL))];
    let project = repository("jest", &command, Some(&modules), &files);
    let tests: String = VACUOUS.iter().map(|(what, body, _)| format!("test('{what}', () => {{ {body} }});\n")).collect();
    let mut expected: Vec<_> = VACUOUS.iter().map(|(what, _, word)| (*what, *word)).collect();
    let left = "test.skip('is skipped', () => {});\ntest.todo('is planned');\n";
    let text = head.to_owned() + NORMAL + &tests + left;
    expected.extend([("is skipped", "not tried"), ("is planned", "not tried")]);
    expect_words(&project, &[("vat.js", AFTER), ("vat.test.js", &text)], 1, &expected);
}
