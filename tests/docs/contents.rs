//! Checks which pages exist, how long some of them may be, and that they only mention existing things.

use std::collections::BTreeSet;
use std::fs;

use proctor_plan::condition::FIELDS;

use crate::common::{repository, source_files};
use crate::docs::page;

/// The most lines that the README may have.
const README_LINES: usize = 200;
/// The most words that all pages below `docs/` may have together, counted as `wc -w` does.
const WORDS: usize = 60_000;
/// The most terms that the glossary may have.
const GLOSSARY_TERMS: usize = 50;

/// Whoever is asked something reads this guide, so it has to stay short.
#[test]
fn the_guide_to_approvals_has_at_most_900_words() {
    let words = page("docs/guides/approvals.md").text.split_whitespace().count();
    assert!(words <= 900, "{words}");
}

#[test]
fn the_summary_lists_every_page_and_no_other() {
    let summary = page("docs/SUMMARY.md").text;
    let listed: Vec<String> =
        summary.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(path, _)| path.to_owned()).collect();
    let there = source_files("docs/").into_iter().filter_map(|file| Some(file.path.strip_prefix("docs/")?.to_owned()));
    let there: BTreeSet<String> = there.filter(|path| path.ends_with(".md") && path != "SUMMARY.md").collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), there, "listed (left) and there (right)");
    assert_eq!(listed.len(), there.len(), "a page is listed twice");
}

#[test]
fn the_pages_together_are_short() {
    let pages = source_files("docs/").into_iter().filter(|file| file.path.ends_with(".md"));
    let words: usize = pages.map(|file| file.text.split_whitespace().count()).sum();
    assert!(words <= WORDS, "the pages below docs/ have {words} words, {WORDS} are the end: shorten what repeats another page");
}

#[test]
fn the_readme_and_the_glossary_are_short() {
    let lines = page("README.md").text.lines().count();
    assert!(lines <= README_LINES, "the README has {lines} lines, {README_LINES} are the end");
    let glossary = page("docs/glossary.md").text;
    let terms: Vec<&str> = glossary.lines().filter_map(|line| line.strip_prefix("* **")?.split("**").next()).collect();
    assert!(
        !terms.is_empty() && terms.len() <= GLOSSARY_TERMS,
        "the glossary has {} terms, {GLOSSARY_TERMS} are the end",
        terms.len()
    );
    let distinct: BTreeSet<&&str> = terms.iter().collect();
    assert_eq!(distinct.len(), terms.len(), "a term stands there twice");
    let is_term_or_heading = |line: &&str| line.is_empty() || line.starts_with("* **") || line.starts_with('#');
    let others: Vec<&str> = glossary.lines().skip(3).filter(|line| !is_term_or_heading(line)).collect();
    assert!(others.is_empty(), "a term has more than one line: {others:?}");
}

#[test]
fn the_page_on_specifications_has_every_field_of_conditions_and_no_other() {
    let text = page("docs/guides/test-specifications.md").text;
    let table = text.split("| field | of which actions | value |").nth(1).expect("the table is there");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let names = rows.flat_map(|row| row.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2));
    let fields: BTreeSet<&str> = FIELDS.iter().map(|row| row.name).collect();
    assert_eq!(names.collect::<BTreeSet<_>>(), fields, "the page (left) and the program (right)");
}

#[test]
fn the_page_on_architecture_has_a_row_for_every_crate() {
    let text = page("docs/design/architecture.md").text;
    let rows =
        text.lines().filter_map(|line| line.strip_prefix("| `proctor-")?.split_once("` |").map(|(name, _)| name.to_owned()));
    let entries = fs::read_dir(repository().join("crates")).expect("the source tree can be read").flatten();
    let folders = entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().to_string_lossy().into_owned());
    assert_eq!(
        rows.collect::<BTreeSet<_>>(),
        folders.collect::<BTreeSet<_>>(),
        "rows of the page (left) and folders of `crates/` (right)"
    );
}
