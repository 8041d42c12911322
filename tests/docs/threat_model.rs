//! Checks that each row of the threat model's tables names the tests that show it, and that these tests exist.

use std::collections::BTreeSet;

use crate::common::source_files;
use crate::docs::page;

const PAGE: &str = "docs/explanation/threat-model.md";

#[test]
fn each_row_of_the_threat_model_names_tests_that_exist() {
    let tests = all_tests();
    let faults = faults(&page(PAGE).text, &tests);
    assert!(faults.is_empty(), "{PAGE}:\n{}", faults.join("\n"));
}

#[test]
fn a_row_without_a_test_and_a_test_that_does_not_exist_are_found() {
    let tests = BTreeSet::from(["a::first".to_owned(), "b::c::second".to_owned()]);
    let table = |rows: &str| format!("text\n\n| attack | test |\n|---|---|\n{rows}\n\nmore\n");
    for right in ["| x | `a::first` |", "| x | `a::first`, `b::c::second` |"] {
        assert!(faults(&table(right), &tests).is_empty(), "{right}");
    }
    for wrong in ["| x | y |", "| x | `a::third` |", "| x | `a::first`, `first::a` |", "| `a::first` | y |\n| x | |"] {
        assert_eq!(faults(&table(wrong), &tests).len(), 1, "{wrong}");
    }
    assert_eq!(faults("A sentence names `a::third`.\n", &tests).len(), 1);
}

/// Returns what is wrong with the tables of a page: each row without a test, and each named test that does not exist.
fn faults(page: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut previous = "";
    for line in page.lines() {
        let named = named_tests(line);
        // The first line of a table is its head.
        let is_row = line.starts_with('|') && previous.starts_with('|') && !line.starts_with("|---");
        if is_row && named.is_empty() {
            faults.push(format!("no test: {line}"));
        }
        let unknown = named.into_iter().filter(|name| !tests.contains(*name));
        faults.extend(unknown.map(|name| format!("there is no test `{name}`: {line}")));
        previous = line;
    }
    faults
}

/// Returns the names of tests in a line: what stands in backquotes and has `::`.
fn named_tests(line: &str) -> Vec<&str> {
    line.split('`').skip(1).step_by(2).filter(|text| text.contains("::")).collect()
}

/// Returns every test of the project by its path, such as `approval::settings::NAME`, as the test runner names it.
fn all_tests() -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for directory in ["tests/", "src/", "crates/"] {
        for file in source_files(directory).into_iter().filter(|file| file.path.ends_with(".rs")) {
            let is_library = directory != "tests/";
            let path = &file.path[directory.len()..];
            // A test in a module of a crate bears the module's name, another one that of the crate.
            let (crate_name, rest) = path.split_once("/src/").unwrap_or(("", path));
            let module = rest.trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::");
            let within_crate = if crate_name.is_empty() { module.clone() } else { format!("{crate_name}::{module}") };
            let mut inner = String::new();
            let mut is_test = false;
            for line in file.text.lines() {
                let line = line.trim();
                // The tests of a library file stand in a module of their own in the same file.
                if is_library && let Some(name) = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(" {")) {
                    inner = format!("::{name}");
                }
                if line == "#[test]" {
                    is_test = true;
                } else if is_test && let Some(rest) = line.trim_start_matches("async ").strip_prefix("fn ") {
                    let name = rest.split('(').next().unwrap_or_default();
                    tests.insert(format!("{module}{inner}::{name}"));
                    tests.insert(format!("{within_crate}{inner}::{name}"));
                    is_test = false;
                }
            }
        }
    }
    tests
}
