//! Checks that the program prints the messages that the page on troubleshooting quotes.

use crate::common::program_files;
use crate::docs::page;

const PAGE: &str = "docs/guides/troubleshooting.md";

#[test]
fn every_quoted_message_stands_in_the_source() {
    let source = source_text();
    let page = page(PAGE).text;
    let messages: Vec<&str> = page.lines().filter_map(quoted_message).collect();
    assert!(messages.len() > 30, "only {} messages are quoted", messages.len());
    let unknown = messages.iter().flat_map(|message| pieces(message)).filter(|piece| !source.contains(piece)).collect::<Vec<_>>();
    assert!(unknown.is_empty(), "the program says none of: {unknown:#?}");
}

/// Returns the text of the sources with the program's messages: continued literals are joined, and quotation marks are
/// unescaped.
fn source_text() -> String {
    let files = program_files().into_iter().filter(|file| file.path.ends_with(".rs"));
    let mut text = String::new();
    for file in files {
        let mut parts = file.text.split("\\\n");
        text.push_str(parts.next().unwrap_or_default());
        parts.for_each(|part| text.push_str(part.trim_start()));
        text.push('\n');
    }
    text.replace("\\\"", "\"")
}

/// Returns the message in the first cell of a row: the text between double backticks.
fn quoted_message(line: &str) -> Option<&str> {
    let cell = line.strip_prefix("| ")?;
    let cell = cell.strip_prefix("`` ").or_else(|| cell.strip_prefix("``"))?;
    Some(cell.split_once("``")?.0)
}

/// Returns the parts of a quoted message that never differ, without backticks at their ends. `…` stands for a part that
/// differs.
fn pieces(message: &str) -> Vec<&str> {
    let parts = message.split('…').map(|part| part.trim_matches([' ', '`']));
    parts.filter(|part| part.len() > 2).collect()
}

#[test]
fn messages_are_read_and_taken_apart() {
    assert_eq!(quoted_message("| `` `…` is no `x` `` | why | what |"), Some("`…` is no `x` "));
    assert_eq!(quoted_message("| ``a b`` (3) | why | what |"), Some("a b"));
    assert_eq!(quoted_message("| message | cause | remedy |"), None);
    assert_eq!(pieces("`…` is no `x` of … kinds"), ["is no `x` of", "kinds"]);
}
