//! Runs the blocks that a page marks as run, in a project of the page's own. `readme` runs the README's blocks.

use std::collections::BTreeSet;
use std::path::Path;

use proctor_plan::config::read_allowed;

use crate::common::{Project, proctor, redact};
use crate::docs::{Block, Page, blocks, pages, run_of};

/// A line of an `allowed_signers` file, since a page shows a configuration that names such a file.
const SIGNER: &str = "lead@example.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea\n";

#[test]
#[ignore = "long tier"]
fn what_the_pages_run_runs() {
    let pages: Vec<Page> = pages().into_iter().filter(|page| page.path.starts_with("docs/")).collect();
    let run: Vec<&Page> = pages.iter().filter(|page| blocks(&page.text).iter().any(|block| run_of(block).is_some())).collect();
    assert!(run.len() >= 10, "pages with a block that is run: {}", run.len());
    run.into_iter().for_each(run_page);
}

fn run_page(page: &Page) {
    let blocks = blocks(&page.text);
    // A shell's function, because proctor would hash the build's directory in the PATH.
    let function = format!("proctor() {{ '{}' \"$@\"; }}\n", proctor().display());
    let project = Project::new();
    for block in &blocks {
        if let Some(path) = block.marked_as("file") {
            project.save(path, &block.text);
        } else if let Some((name, status)) = run_of(block) {
            assert_eq!(block.language, "sh", "{}: block `{name}`", page.path);
            let output = project.command(Path::new("/bin/sh"), ["-euc", &format!("{function}{}", block.text)]).any_status();
            assert_eq!(output.status, status, "{}: block `{name}`\n{}", page.path, output.snapshot());
            if let Some(expected) = blocks.iter().find(|other| other.marked_as("output") == Some(name)) {
                let redactions = project.redactions();
                let (seen, expected) = (redact(&output.stdout, &redactions), redact(&expected.text, &redactions));
                assert_eq!(seen, expected, "{}: output of block `{name}`", page.path);
            }
        }
    }
}

#[test]
fn every_toml_block_is_a_configuration_without_errors() {
    for page in pages() {
        for block in blocks(&page.text).into_iter().filter(|block| block.language == "toml") {
            // Some blocks show only a part of a configuration. They get a check, because a configuration must have one.
            let check = if block.text.lines().any(|line| line.starts_with("[[check]]")) {
                ""
            } else {
                "\n[[check]]\nname = \"tests\"\ncommand = [\"true\"]\n"
            };
            if block.text.starts_with("[[allow]]") {
                let read = read_allowed(&block.text, "config.toml", Path::new("/srv/shop"), Some(Path::new("/home/ada")));
                read.unwrap_or_else(|problems| panic!("{}:\n{}{problems:?}", page.path, block.text));
                continue;
            }
            let project = Project::new().file("allowed_signers", SIGNER).toml(&format!("{}{check}", block.text));
            let output = project.proctor(["check"]).any_status();
            assert_eq!(output.status, 0, "{}:\n{}{}", page.path, block.text, output.snapshot());
        }
    }
}

#[test]
fn every_mark_is_understood() {
    for page in pages() {
        let (is_readme, blocks) = (page.path == "README.md", blocks(&page.text));
        let runs: BTreeSet<&str> = blocks.iter().filter_map(|block| run_of(block)).map(|(name, _)| name).collect();
        for block in &blocks {
            let Some(mark) = block.mark.as_deref() else { continue };
            let is_known = match mark.split_once(": ") {
                // A unit test compares the entries of hooks with what is written into settings.
                Some(("run" | "script" | "hooks", name)) => !name.is_empty(),
                Some(("file", path)) => !is_readme && Path::new(path).is_relative(),
                Some(("watch", name)) => is_readme && !name.is_empty(),
                Some(("output", name)) => runs.contains(name),
                Some(_) => false,
                None => mark == "curl" || is_readme && mark == "test",
            };
            assert!(is_known, "{}: `<!-- {mark} -->` is no mark, or belongs to no run", page.path);
        }
        let names: Vec<&Block> = blocks.iter().filter(|block| run_of(block).is_some()).collect();
        assert_eq!(names.len(), runs.len(), "{}: two runs have one name", page.path);
    }
}
