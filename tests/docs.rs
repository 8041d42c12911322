//! What the pages and `--help` say is so: links lead somewhere, commands run, what is generated is up to date.
//!
//! Pages are `README.md`, `CONTRIBUTING.md`, `CHANGELOG.md` and everything below `docs/`. A comment before a fenced block says what the
//! block is:
//!
//! | comment | the block |
//! |---|---|
//! | `<!-- file: PATH -->` | a file that is written into the page's project |
//! | `<!-- run: NAME -->`, `<!-- run: NAME exit 1 -->` | `sh` commands, run in order of appearance: those of the README in one copy of the bundled project `quotes`, those of another page in a project of its own |
//! | `<!-- output: NAME -->` | what the run of that name on the same page prints on stdout, but for what differs from run to run |
//! | `<!-- watch: NAME -->` | of the README: one `sh` command that goes on; it must come to a verdict, and end when it is interrupted |
//! | `<!-- script: NAME -->` | a script that a test of that name's module takes from here and runs |
//! | `<!-- curl -->` | `sh` commands that ask a service that runs; `daemon::protocol` runs them |
//! | `<!-- test -->` | of the README: how the test suite is run; `.ci/run` runs it |
//!
//! Every `proctor` command of every `sh` block, marked or not, must be one that `--help` knows, with options it knows, and every `toml`
//! block must be a configuration without errors. The README's own blocks are `readme`'s.

mod blocks;
mod commands;
mod contents;
mod decisions;
mod generated;
mod links;
mod messages;
mod running;

use std::fs;

use crate::common::{repository, source_files};

pub(crate) use blocks::{Block, blocks, run_of};
pub(crate) use generated::{helps, is_update_wanted};

/// The pages outside of `docs/`.
const PAGES_OF_THE_ROOT: &[&str] = &["README.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// A page, by its path from the repository's root.
pub(crate) struct Page {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Returns every page.
pub(crate) fn pages() -> Vec<Page> {
    let of_the_root = PAGES_OF_THE_ROOT.iter().map(|path| (*path).to_owned());
    let below_docs = source_files("docs/").into_iter().map(|file| file.path).filter(|path| path.ends_with(".md"));
    of_the_root.chain(below_docs).map(|path| page(&path)).collect()
}

/// Returns one page.
#[track_caller]
pub(crate) fn page(path: &str) -> Page {
    let text = fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("could not read `{path}`: {error}"));
    Page { path: path.to_owned(), text }
}

/// Returns the one block of all pages that has this mark.
#[track_caller]
pub(crate) fn marked(mark: &str) -> Block {
    let found = pages().iter().flat_map(|page| blocks(&page.text)).filter(|block| block.mark.as_deref() == Some(mark)).collect();
    let found: Vec<Block> = found;
    let [block] =
        <[Block; 1]>::try_from(found).unwrap_or_else(|found| panic!("{} blocks are marked `<!-- {mark} -->`", found.len()));
    block
}

/// Returns the script of this name, for the test that runs it.
#[track_caller]
pub(crate) fn script(name: &str) -> String {
    marked(&format!("script: {name}")).text
}
