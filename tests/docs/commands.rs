//! Checks that every `proctor` command on a page is listed by `--help`, and that every command is on a page.

use std::collections::BTreeSet;

use crate::docs::generated::{COMMAND_LINE, GOVERN, helps, typed};
use crate::docs::{Block, blocks, pages};

#[test]
fn commands_of_the_pages_exist() {
    let helps = helps();
    for page in pages() {
        let blocks = blocks(&page.text);
        let unknown: Vec<String> = commands(&blocks).iter().filter_map(|command| unknown_part(command, &helps)).collect();
        assert!(unknown.is_empty(), "{}: {}", page.path, unknown.join("\n"));
    }
}

#[test]
fn a_page_that_people_write_speaks_of_every_command() {
    let pages: Vec<String> = pages()
        .into_iter()
        .filter(|page| page.path != COMMAND_LINE && page.path != "CHANGELOG.md")
        .map(|page| page.text)
        .collect();
    for text in helps().iter().filter_map(|(path, _)| Some(typed(path.get(..1)?))) {
        assert!(pages.iter().any(|page| page.contains(&text)), "no page speaks of `{text}`");
    }
}

/// Returns the words after `proctor` of every command of the `sh` blocks, and all words of those of `proctor-govern`.
fn commands(blocks: &[Block]) -> Vec<Vec<String>> {
    let lines = blocks.iter().filter(|block| block.language == "sh").flat_map(|block| block.text.lines());
    let parts = lines.flat_map(|line| line.split(" #").next().unwrap_or_default().split(['|', '&', ';', '>']));
    let words = parts.map(|part| part.split_whitespace().skip_while(|word| *word == "$").map(str::to_owned).collect::<Vec<_>>());
    let is_ours = |words: &Vec<String>| words.first().is_some_and(|word| word == "proctor" || word == GOVERN);
    words.filter(is_ours).map(|words| words[usize::from(words[0] == "proctor")..].to_vec()).collect()
}

/// Returns the part of a command that is in no help text. None: every part is known.
fn unknown_part(command: &[String], helps: &[(Vec<String>, String)]) -> Option<String> {
    let fits = |path: &Vec<String>| command.starts_with(path);
    let (path, help) = helps.iter().filter(|(path, _)| fits(path)).max_by_key(|(path, _)| path.len())?;
    let rest = &command[path.len()..];
    let has_subcommands = helps.iter().any(|(other, _)| other.len() == path.len() + 1 && other.starts_with(path));
    let takes_argument = help.contains("\nArguments:\n");
    if has_subcommands && !takes_argument && rest.first().is_some_and(|word| !word.starts_with('-')) {
        return Some(format!("`proctor {}`: there is no such command", command.join(" ")));
    }
    let options = rest.iter().take_while(|word| *word != "--").filter(|word| word.starts_with('-') && word.len() > 1);
    let known: BTreeSet<&str> = help.split(|character: char| character.is_whitespace() || ",=[]<>".contains(character)).collect();
    let unknown = options.map(|word| word.split('=').next().unwrap_or_default()).find(|option| !known.contains(option))?;
    Some(format!("`proctor {}`: there is no option `{unknown}`", command.join(" ")))
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    let help = |path: &[&str], text: &str| (path.iter().map(|name| (*name).to_owned()).collect(), text.to_owned());
    let helps = [
        help(&[], "Options:\n  -V, --version  Print"),
        help(&["run"], "  -c, --check <NAME>  x"),
        help(&["tdd"], ""),
        help(&["tdd", "start"], ""),
        help(&["history"], "Usage: x\n\nArguments:\n  [TEST]\n"),
        help(&["history", "slow"], ""),
    ];
    let blocks = blocks(
        "```sh\n$ proctor run . --check a # why\nproctor tdd start T && proctor --version; proctor history test_a\necho proctor\n```\n",
    );
    let found = commands(&blocks);
    assert_eq!(
        found,
        [vec!["run", ".", "--check", "a"], vec!["tdd", "start", "T"], vec!["--version"], vec!["history", "test_a"]]
    );
    assert!(found.iter().all(|command| unknown_part(command, &helps).is_none()));
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for wrong in ["walk", "run --chec a", "tdd begin", "run -x", "--verbose"] {
        assert!(unknown_part(&words(wrong), &helps).is_some(), "{wrong}");
    }
    assert!(unknown_part(&words("run -c a -- --anything"), &helps).is_none());
}
