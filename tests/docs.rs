//! Checks that the pages and `--help` are true: links lead somewhere, commands run, and generated files are up to date.
//!
//! The pages are `README.md`, `CONTRIBUTING.md`, `CHANGELOG.md`, `AGENTS.md`, `SECURITY.md` and everything below `docs/`. A comment before a fenced
//! block says what the block is:
//!
//! | comment | the block |
//! |---|---|
//! | `<!-- file: PATH -->` | a file that is written into the page's project |
//! | `<!-- run: NAME -->`, `<!-- run: NAME exit 1 -->` | `sh` commands, run in the order of the page: the README's in one copy of the bundled project `quotes`, those of another page in a project of its own |
//! | `<!-- output: NAME -->` | the standard output of the run with that name on the same page, except for texts that differ from run to run |
//! | `<!-- watch: NAME -->` | only in the README: one `sh` command that runs until it is interrupted; it must come to a verdict |
//! | `<!-- script: NAME -->` | a script; a test asks for it by its name and runs it |
//! | `<!-- curl -->` | `sh` commands that send requests to a running service; `daemon::protocol` runs them |
//! | `<!-- test -->` | only in the README: how the test suite is run; `.ci/run` runs it |
//!
//! Every `proctor` command of every `sh` block, with or without such a comment, must be a command that `--help` lists,
//! with options that it lists. Every `toml` block must be a configuration without errors. The module `readme` tests the
//! README's own blocks.

mod blocks;
mod commands;
mod contents;
mod decisions;
mod generated;
mod links;
mod messages;
mod running;
mod threat_model;

use std::fs;

use crate::common::{repository, source_files};

pub(crate) use blocks::{Block, blocks, run_of};
pub(crate) use generated::{helps, is_update_wanted};

/// The pages outside of `docs/`.
const PAGES_OF_THE_ROOT: &[&str] = &["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "AGENTS.md", "SECURITY.md"];

/// A page. Its path is relative to the repository's root.
pub(crate) struct Page {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Returns every page: those of [`PAGES_OF_THE_ROOT`], and every `.md` file below `docs/`.
pub(crate) fn pages() -> Vec<Page> {
    let of_the_root = PAGES_OF_THE_ROOT.iter().map(|path| (*path).to_owned());
    let below_docs = source_files("docs/").into_iter().map(|file| file.path).filter(|path| path.ends_with(".md"));
    of_the_root.chain(below_docs).map(|path| page(&path)).collect()
}

/// Returns the page at a path relative to the repository's root. Panics if the file cannot be read.
#[track_caller]
pub(crate) fn page(path: &str) -> Page {
    let text = fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("could not read `{path}`: {error}"));
    Page { path: path.to_owned(), text }
}

/// Returns the block with this mark. Panics unless exactly one block of all pages has the mark.
#[track_caller]
pub(crate) fn marked(mark: &str) -> Block {
    let found = pages().iter().flat_map(|page| blocks(&page.text)).filter(|block| block.mark.as_deref() == Some(mark)).collect();
    let found: Vec<Block> = found;
    let [block] =
        <[Block; 1]>::try_from(found).unwrap_or_else(|found| panic!("{} blocks are marked `<!-- {mark} -->`", found.len()));
    block
}

#[track_caller]
pub(crate) fn script(name: &str) -> String {
    marked(&format!("script: {name}")).text
}
