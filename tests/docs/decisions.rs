//! Checks that every decision that the code names by its number has a row on the page of decisions.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::source_files;
use crate::docs::page;
use crate::rows;

/// The letters with which the numbers of decisions, nodes, scenarios and rules begin.
const LETTERS: &str = "ABCEGHJNPRSTV";
/// Words that look like a number of a decision, but are not: `T117` is the id of a task in examples.
const EXAMPLES: &[&str] = &["T117"];
/// The words before the number of a rule about the code.
const RULE: &str = "house style";

#[test]
fn every_number_that_the_code_names_has_its_row() {
    let rows = rows_of_the_page();
    let mut missing: BTreeMap<String, String> = BTreeMap::new();
    let mut count = 0;
    for file in ["src/", "crates/", "tests/"].into_iter().flat_map(source_files).filter(|file| file.path.ends_with(".rs")) {
        for (line, number) in file.text.lines().zip(1..) {
            for name in comment(line).map(named).unwrap_or_default() {
                count += 1;
                if !rows.contains(&name) {
                    missing.entry(name).or_insert_with(|| format!("{}:{number}", file.path));
                }
            }
        }
    }
    assert!(missing.is_empty(), "these numbers have no row in docs/design/decisions.md: {missing:#?}");
    assert!(count > 300, "only {count} numbers were found");
}

#[test]
fn every_row_that_is_tested_by_its_number_is_there() {
    let rows = rows_of_the_page();
    let missing: Vec<String> = rows::numbers().filter(|number| !rows.contains(number)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Returns the first cell of every row of the page.
fn rows_of_the_page() -> BTreeSet<String> {
    let text = page("docs/design/decisions.md").text;
    text.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |").map(|(cell, _)| cell.to_owned())).collect()
}

/// Returns the comment of a line of Rust. None: the line has no comment.
fn comment(line: &str) -> Option<&str> {
    let start = line.find("//")?;
    let is_comment = start == 0 || line[..start].ends_with(' ');
    is_comment.then(|| &line[start..])
}

/// Returns the numbers that a comment names. The number of a rule about the code is returned with the words before it.
fn named(comment: &str) -> Vec<String> {
    let is_part = |character: char| character.is_alphanumeric() || "-_.`\"".contains(character);
    let mut found = Vec::new();
    let mut is_rule = false;
    let mut rest = comment;
    while let Some(start) = rest.find(is_part) {
        is_rule = (is_rule || rest[..start].contains(RULE)) && !rest[..start].contains([')', ';']);
        let end = rest[start..].find(|character| !is_part(character)).map_or(rest.len(), |length| start + length);
        let word = rest[start..end].trim_end_matches('.');
        is_rule |= comment[..comment.len() - rest.len() + start].ends_with(&format!("{RULE} "));
        if is_number(word) {
            found.push(if is_rule { format!("{RULE} {word}") } else { word.to_owned() });
        }
        rest = &rest[end..];
    }
    found
}

fn is_number(word: &str) -> bool {
    let mut characters = word.chars();
    let letter = characters.next().is_some_and(|letter| LETTERS.contains(letter));
    let digits = characters.as_str();
    letter && (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()) && !EXAMPLES.contains(&word)
}

#[test]
fn numbers_are_told_from_what_looks_like_them() {
    assert_eq!(
        named("/// As C25–C27 and E3 say (R5, `C9`); T117, F401, T-01, DEBT-T1 and E0502 are none."),
        ["C25", "C27", "E3", "R5"]
    );
    assert_eq!(named("//! One loop (house style S1, S2). See S7."), ["house style S1", "house style S2", "S7"]);
    assert_eq!(comment("let x = \"a // b\"; // E3"), Some("// b\"; // E3"));
    assert_eq!(comment("let url = \"http://E3\";"), None);
}
