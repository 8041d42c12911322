//! The names of files that never belong to a tree: data of version control, caches of tools, temporary files of editors
//! (S5).

use crate::ignore::class::IgnoredClass;
use proctor_model::NameRule::{self, Begins, Between, Ends, Is};
use proctor_model::Tool;

/// A built-in rule: files and directories with these names never belong to the tree. Rules files such as `.gitignore`
/// cannot change that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlwaysOut {
    /// The names that are excluded, in every directory.
    pub name: NameRule,
    /// The reason, which `proctor why` prints.
    pub reason: &'static str,
    /// How a check that runs in a snapshot sees such a file or directory.
    pub class: IgnoredClass,
}

/// Returns whether a file or directory with this name never belongs to a tree.
pub fn is_always_out(name: &[u8]) -> bool {
    find_always_out(name).is_some()
}

/// The names that no check sees below an ignored directory either: data of version control, Python's bytecode, and proctor's
/// own files.
const NEVER_SHOWN: &[NameRule] = &[
    Is(".git"),
    Is(".hg"),
    Is(".jj"),
    Is(".svn"),
    Is("__pycache__"),
    Ends(".pyc"),
    Ends(".pyo"),
    Ends(".before-proctor"),
    Begins(".proctor-cookie-"),
];

/// Returns whether no check on a snapshot sees an ignored entry with this name, wherever it lies.
pub fn is_never_shown(name: &[u8]) -> bool {
    NEVER_SHOWN.iter().any(|rule| rule.matches(name))
}

const fn row(name: NameRule, reason: &'static str) -> AlwaysOut {
    AlwaysOut { name, reason, class: IgnoredClass::Output }
}

const fn cache(name: NameRule, reason: &'static str) -> AlwaysOut {
    AlwaysOut { name, reason, class: IgnoredClass::Cache }
}

const fn environment(name: NameRule, reason: &'static str) -> AlwaysOut {
    AlwaysOut { name, reason, class: IgnoredClass::Environment }
}

/// The names of files and directories that are excluded everywhere in a project. Neither rules files nor
/// `watch.include` can put them back.
///
/// The table lists files that tools and editors write by themselves during work or tests. If the digest contained such
/// files, the tree would change during every run (S6). If they triggered runs, each run would start the next one.
pub const ALWAYS_OUT: &[AlwaysOut] = &with_leftovers_of_tools();

/// The rows for version control, for editors, for proctor's own files, and for tools that are not in [`Tool::ALL`].
const OF_NO_TOOL: [AlwaysOut; 38] = [
    row(Is(".git"), "git's own data; in worktrees and submodules a file"),
    row(Is(".hg"), "Mercurial's own data"),
    row(Is(".jj"), "Jujutsu's own data"),
    row(Is(".svn"), "Subversion's own data"),
    row(Is("__pycache__"), "Python's compiled modules"),
    row(Ends(".pyc"), "Python's compiled modules"),
    row(Ends(".pyo"), "Python's compiled modules"),
    row(Ends(".before-proctor"), "a report that was put aside while its command runs"),
    row(Begins(".proctor-cookie-"), "made by proctor to see whether changes are heard of, and removed at once"),
    cache(Is(".pytype"), "pytype's cache"),
    cache(Is(".pyre"), "Pyre's cache"),
    cache(Is(".hypothesis"), "Hypothesis' example database"),
    cache(Is(".tox"), "tox's environments"),
    cache(Is(".nox"), "nox's environments"),
    environment(Is(".venv"), "a virtual environment"),
    row(Is(".coverage"), "coverage.py's data"),
    row(Begins(".coverage."), "coverage.py's data of one process"),
    row(Is(".ipynb_checkpoints"), "Jupyter's copies"),
    environment(Is("node_modules"), "installed packages"),
    cache(Is(".stylelintcache"), "stylelint's cache"),
    cache(Is(".parcel-cache"), "Parcel's cache"),
    cache(Is(".turbo"), "Turborepo's cache"),
    row(Is(".nyc_output"), "nyc's coverage data"),
    row(Ends(".swp"), "vim's swap file"),
    row(Ends(".swo"), "vim's second swap file"),
    row(Ends(".swx"), "vim's probe for swap files"),
    row(Is("4913"), "vim's probe whether a directory can be written"),
    row(Ends("~"), "backup and undo files of vim, emacs, gedit and others"),
    row(Begins(".#"), "emacs' lock link"),
    row(Between("#", "#"), "emacs' auto-save file"),
    row(Ends("___jb_tmp___"), "JetBrains' safe write, new content"),
    row(Ends("___jb_old___"), "JetBrains' safe write, old content"),
    row(Ends("___jb_bak___"), "JetBrains' safe write, backup"),
    row(Begins(".goutputstream-"), "temporary of GNOME's programs"),
    row(Ends(".kate-swp"), "Kate's swap file"),
    row(Is(".DS_Store"), "the Finder's view settings"),
    row(Begins(".fuse_hidden"), "a deleted file that is still open on a FUSE file system"),
    row(Begins(".nfs0"), "a deleted file that is still open on NFS"),
];

/// The number of rows that the tools of [`Tool::ALL`] add for the files that they leave behind.
const LEFTOVERS: usize = {
    let (mut count, mut tool) = (0, 0);
    while tool < Tool::ALL.len() {
        count += Tool::ALL[tool].leftovers().len();
        tool += 1;
    }
    count
};

const fn with_leftovers_of_tools() -> [AlwaysOut; OF_NO_TOOL.len() + LEFTOVERS] {
    let mut rows = [OF_NO_TOOL[0]; OF_NO_TOOL.len() + LEFTOVERS];
    let mut place = 0;
    while place < OF_NO_TOOL.len() {
        rows[place] = OF_NO_TOOL[place];
        place += 1;
    }
    let mut tool = 0;
    while tool < Tool::ALL.len() {
        let leftovers = Tool::ALL[tool].leftovers();
        let mut number = 0;
        while number < leftovers.len() {
            let (name, reason) = leftovers[number];
            rows[place] = cache(name, reason);
            place += 1;
            number += 1;
        }
        tool += 1;
    }
    rows
}

/// For each first or last byte of a name: the rows of [`ALWAYS_OUT`] that can match the name, one bit per row. Every
/// name in a tree is tested, and almost none matches. Without this table, comparing each name with all rows took a
/// third of a rescan's computing time (measured).
struct RowsByByte {
    first: [u64; 256],
    last: [u64; 256],
}

static ROWS_BY_BYTE: RowsByByte = index_rows();

const fn index_rows() -> RowsByByte {
    assert!(ALWAYS_OUT.len() <= 64, "a row needs a bit");
    let mut rows = RowsByByte { first: [0; 256], last: [0; 256] };
    let mut number = 0;
    while number < ALWAYS_OUT.len() {
        let bit = 1 << number;
        match ALWAYS_OUT[number].name {
            Is(text) | Begins(text) | Between(text, _) => rows.first[text.as_bytes()[0] as usize] |= bit,
            Ends(text) => rows.last[text.as_bytes()[text.len() - 1] as usize] |= bit,
        }
        number += 1;
    }
    rows
}

/// Returns the row of [`ALWAYS_OUT`] that excludes a name; `None` if no row matches.
pub(super) fn find_always_out(name: &[u8]) -> Option<&'static AlwaysOut> {
    let (first, last) = (name.first()?, name.last()?);
    let mut candidates = ROWS_BY_BYTE.first[usize::from(*first)] | ROWS_BY_BYTE.last[usize::from(*last)];
    while candidates != 0 {
        let row = &ALWAYS_OUT[candidates.trailing_zeros() as usize];
        if row.name.matches(name) {
            return Some(row);
        }
        candidates &= candidates - 1;
    }
    None
}
