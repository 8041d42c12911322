//! Reads the rules files of a directory for the matcher.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use nix::libc;

use crate::ignore::{Matcher, RulesFile};
use proctor_git::read_git_index;
use proctor_model::TreePath;

/// The size in bytes above which a file is not used as a rules file. `tree/content.rs` has the same limit for the tree
/// digest.
const MAX_RULES_BYTES: u64 = 1024 * 1024;

/// The result of reading the rules files of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RulesNews {
    /// The matcher has these rules already.
    Same,
    /// The matcher's rules changed because of this file. The directory's other rules files may have changed too.
    Changed(RulesFile),
}

/// Updates the matcher with the present rules files of a directory.
pub(super) fn read_rules(root: &Path, directory: &TreePath, matcher: &mut Matcher) -> RulesNews {
    let mut news = RulesNews::Same;
    for file in RulesFile::ALL {
        let before = matcher.rules_digest(directory, file);
        match read_text(&root.join(directory.as_path()).join(file.name())) {
            // Lines that are not valid patterns are ignored, as git does.
            Ok(text) => drop(matcher.add_rules(directory, file, &text)),
            // The file is missing or cannot be read. If it cannot be read, the computation of the tree digest reports
            // the error.
            Err(_) => matcher.remove_rules(directory, file),
        }
        if matcher.rules_digest(directory, file) != before {
            news = RulesNews::Changed(file);
        }
    }
    news
}

/// Updates the matcher with git's index and with the rules files of all directories above a path, as a walk of the tree would.
pub fn learn_rules_on_the_way(root: &Path, path: &TreePath, matcher: &mut Matcher) {
    matcher.set_tracked(Arc::clone(read_git_index(root, None).paths()));
    let mut way = Vec::new();
    let mut above = path.parent();
    while let Some(directory) = above {
        above = directory.parent();
        way.push(directory);
    }
    for directory in way.iter().rev() {
        // A walk of the tree does not enter excluded directories and does not read their rules.
        if matcher.scope(directory).is_some_and(|scope| scope.reads_rules()) {
            read_rules(root, directory, matcher);
        }
    }
}

fn read_text(path: &Path) -> io::Result<Vec<u8>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = Vec::new();
    let length = file.take(MAX_RULES_BYTES + 1).read_to_end(&mut text)?;
    if length as u64 > MAX_RULES_BYTES { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}
