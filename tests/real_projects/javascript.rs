//! JavaScript projects: snapshots of Vitest and Jest, npm workspaces, the cache of eslint.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Project, jest_modules, node_modules, vitest_modules};
use crate::real_projects::{Suite, copy_into, prepare};

const QUOTE: &str = "export function quote(text) {\n  return { text, marks: '«»' };\n}\n";

/// Makes a project with a copy of installed packages.
#[track_caller]
fn with_packages(modules: &Path) -> Project {
    let project = Project::new().file(".gitignore", "node_modules/\n.eslintcache\n");
    copy_into(&project, modules, "node_modules");
    project
}

#[test]
#[ignore = "wide tier"]
fn vitest_with_snapshots_passes() {
    let modules = vitest_modules();
    for kept in [false, true] {
        let make = || {
            let test = "import { quote } from '../src/quote.js';\nimport { expect, test } from 'vitest';\n\n\
                 test('quotes', () => expect(quote('a')).toMatchSnapshot());\n\
                 test('marks', () => expect(quote('b').marks).toBe('«»'));\ntest.skip('later', () => {});\n";
            let project = with_packages(&modules)
                .file(
                    "package.json",
                    "{\"name\": \"quotes\", \"type\": \"module\", \"devDependencies\": {\"vitest\": \"3.2.4\"}}",
                )
                .file("vitest.config.js", "export default {};\n")
                .file("src/quote.js", QUOTE)
                .file("tests/quote.test.js", test);
            if kept {
                let snapshot = "// Vitest Snapshot v1, https://vitest.dev/guide/snapshot.html\n\nexports[`quotes 1`] = `\n{\n  \
                     \"marks\": \"«»\",\n  \"text\": \"a\",\n}\n`;\n";
                return project.file("tests/__snapshots__/quote.test.js.snap", snapshot);
            }
            project
        };
        let breaks = ("src/quote.js", "'«»'", "'»«'");
        let suite = Suite { make: &make, by_hand: &["node_modules/.bin/vitest", "run"], least: 2, breaks };
        let (project, report) = suite.is_judged_as_by_hand();
        let written = report["tree"]["snapshot"]["written"].to_string();
        assert_eq!(written.contains("quote.test.js.snap"), !kept, "{written}");
        assert_eq!(project.path().join("tests/__snapshots__").exists(), kept);
    }
}

#[test]
#[ignore = "wide tier"]
fn jest_with_snapshots_passes() {
    let modules = jest_modules();
    let make = || {
        let test = "const { quote } = require('../src/quote');\n\n\
             test('quotes', () => expect(quote('a')).toMatchSnapshot());\n\
             test('inline', () => expect(quote('b').marks).toMatchInlineSnapshot());\n\
             test('marks', () => expect(quote('b').marks).toBe('«»'));\ntest.skip('later', () => {});\n";
        with_packages(&modules)
            .file("package.json", "{\"name\": \"quotes\", \"devDependencies\": {\"jest\": \"30.5.2\"}, \"jest\": {}}")
            .file("src/quote.js", "exports.quote = (text) => ({ text, marks: '«»' });\n")
            .file("tests/quote.test.js", test)
    };
    let breaks = ("src/quote.js", "'«»'", "'»«'");
    let suite = Suite { make: &make, by_hand: &["node_modules/.bin/jest"], least: 3, breaks };
    let (_, report) = suite.is_judged_as_by_hand();
    let written = report["tree"]["snapshot"]["written"].to_string();
    assert!(written.contains("quote.test.js.snap"), "{written}");
}

#[test]
#[ignore = "wide tier"]
fn npm_workspaces_pass() {
    let modules = vitest_modules();
    let make = || {
        let (manifest, lock) = ("package.json", "package-lock.json");
        let beside = |name: &str| fs::read_to_string(modules.with_file_name(name)).expect("the packages were installed by it");
        let workspaces = beside(manifest).replacen('{', "{\n  \"workspaces\": [\"packages/*\"],", 1);
        let cart = "import { quote } from '@shop/quotes';\n\nexport const label = (name) => quote(name).marks.join(name);\n";
        let test = "import { expect, test } from 'vitest';\nimport { label } from './index.js';\n\n\
             test('label', () => expect(label('a')).toBe('«a»'));\n";
        let project = with_packages(&modules)
            .file(manifest, &workspaces)
            .file(lock, &beside(lock))
            .file("vitest.config.js", "export default {};\n")
            .file("packages/quotes/package.json", "{\"name\": \"@shop/quotes\", \"version\": \"1.0.0\", \"type\": \"module\", \"exports\": \"./index.js\"}")
            .file("packages/quotes/index.js", "export const quote = (text) => ({ text, marks: ['«', '»'] });\n")
            .file("packages/cart/package.json", "{\"name\": \"@shop/cart\", \"version\": \"1.0.0\", \"type\": \"module\", \"dependencies\": {\"@shop/quotes\": \"1.0.0\"}}")
            .file("packages/cart/index.js", cart)
            .file("packages/cart/index.test.js", test);
        let arguments = ["install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
        prepare(Command::new("npm").args(arguments).current_dir(project.path()).env("HOME", project.root().join("home")));
        let linked = project.path().join("node_modules/@shop/quotes");
        assert!(linked.is_symlink(), "npm links a workspace");
        project
    };
    // The package that is broken is another one than the tested one, and is found by a link in `node_modules`.
    let breaks = ("packages/quotes/index.js", "['«', '»']", "['»', '«']");
    let suite = Suite { make: &make, by_hand: &["node_modules/.bin/vitest", "run"], least: 1, breaks };
    suite.is_judged();
}

#[test]
#[ignore = "wide tier"]
fn eslint_with_its_cache_passes() {
    let modules = node_modules();
    let make = || {
        with_packages(&modules)
            .file("package.json", "{\"name\": \"quotes\", \"type\": \"module\", \"devDependencies\": {\"eslint\": \"*\"}}")
            .file("eslint.config.js", "export default [{ rules: { 'no-var': 'error' } }];\n")
            .file("src/quote.js", "const mark = 'a';\nexport default mark;\n")
            .toml(
                "[[check]]\nname = \"lint\"\ntool = \"eslint\"\ncommand = [\"node_modules/.bin/eslint\", \"--cache\", \"src\"]\n",
            )
    };
    let by_hand = &["node_modules/.bin/eslint", "--cache", "src"];
    Suite { make: &make, by_hand, least: 0, breaks: ("src/quote.js", "const mark", "var   mark") }.is_judged();
}
